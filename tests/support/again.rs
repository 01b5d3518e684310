//! This test program once more, for one test that needs a process of its own: its signals, its memory, its environment.
//!
//! The inner test is `#[ignore]`d, and does nothing unless it was started from here.

use std::process::{Command, Stdio};

use super::limit::{fair_start, finished};

/// Set for the inner test.
const INSIDE: &str = "SPARKBENCH_INNER_TEST";

/// A command that runs the test `inner` of a module (`module_path!()`) alone.
pub fn command(module: &str, inner: &str) -> Command {
    let (_program, module) = module.split_once("::").expect("a module of a test program");
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([&format!("{module}::{inner}"), "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
    command.env(INSIDE, "1");
    command
}

/// Runs the test `inner` of a module alone. It must pass.
#[track_caller]
pub fn alone(module: &str, inner: &str) {
    passes(command(module, inner));
}

/// Runs a command of [`command`] to its end. Its test must pass.
#[track_caller]
pub fn passes(mut command: Command) {
    fair_start();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let output = finished(child);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// Whether this is the inner run.
pub fn is_inside() -> bool {
    let inside = std::env::var_os(INSIDE).is_some();
    if !inside {
        eprintln!("skipped: another test starts this one in a process of its own");
    }
    inside
}
