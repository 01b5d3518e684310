//! No test waits for ever, and no child of a test inherits ignored signals.

use std::process::{Child, Command, Output};
use std::sync::{Once, mpsc};
use std::time::Duration;

/// A test that writes to a program which has gone gets an error, as every program of Rust does.
#[cfg(all(feature = "collect", target_os = "linux"))]
const SIGPIPE: i32 = 13;

/// Longest life of one program under test: it has hung then. The longest takes a minute on a quiet machine.
const PROGRAM: Duration = Duration::from_secs(600);

/// What a program printed and how it ended. One that does not end is killed, and the test fails.
#[track_caller]
pub fn finished(child: Child) -> Output {
    let pid = child.id().to_string();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match ended.recv_timeout(PROGRAM) {
        Ok(output) => output.expect("the output of a child can be read"),
        Err(_) => {
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
            panic!("process {pid} has not ended within {PROGRAM:?}");
        }
    }
}

/// To be called before a child is started: `sh` starts tests in the background with SIGINT ignored, and a child would inherit it.
pub fn fair_start() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        #[cfg(all(feature = "collect", target_os = "linux"))]
        sparkbench::host::signals::restore(&[SIGPIPE]);
    });
}
