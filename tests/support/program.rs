//! The program as a person or a script meets it: arguments in. Exit code, words and files out.

use std::path::Path;
use std::process::{Command, Output, Stdio};

pub use super::limit::{fair_start, finished};

/// Draws that are enough where no limit of a bootstrap is looked at: the least that the program takes.
pub const FEW: [&str; 2] = ["--resamples", "999"];

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ending {
    /// Exit code. Absent when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ending {
    /// Of a child whose output is piped, when it has ended.
    #[track_caller]
    pub fn of(child: std::process::Child) -> Self {
        let Output { status, stdout, stderr } = finished(child);
        Self {
            code: status.code(),
            out: String::from_utf8(stdout).expect("results are UTF-8"),
            err: String::from_utf8(stderr).expect("talk is UTF-8"),
        }
    }

    /// Demands an exit code, with the talk of the program in the message when it was another.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "standard error:\n{}\nstandard output:\n{}", self.err, self.out);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// Demands words on standard output, where answers stand.
    #[track_caller]
    pub fn answers(&self, words: &[&str]) {
        for word in words {
            assert!(self.out.contains(word), "'{word}' is not in:\n{}", self.out);
        }
    }

    /// Demands words on standard error.
    #[track_caller]
    pub fn complains(&self, words: &[&str]) {
        for word in words {
            assert!(self.err.contains(word), "'{word}' is not in:\n{}", self.err);
        }
    }
}

/// The root of this repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs the program in a folder with variables of the environment added. Standard input is closed.
pub fn run_in<S: AsRef<std::ffi::OsStr>>(folder: &Path, arguments: &[S], variables: &[(&str, &str)]) -> Ending {
    fair_start();
    let child = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(arguments)
        .current_dir(folder)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    Ending::of(child)
}
