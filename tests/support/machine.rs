//! The real machine for tests, and what it may lack.

use sparkbench::host::machine::Machine;

#[path = "limit.rs"]
mod limit;

#[allow(unused_imports, reason = "not every file of tests starts programs by itself")]
pub use limit::{fair_start, finished};

/// The machine, with this build of the program for its guards.
pub fn machine() -> Machine {
    Machine::new().unwrap().with_program(env!("CARGO_BIN_EXE_sparkbench"))
}

/// Says that a test is passed over, and why. Where everything is required, that is a failure.
#[track_caller]
pub fn skip(why: &str) {
    assert!(
        std::env::var_os("SPARKBENCH_REQUIRE_ALL").is_none_or(|value| value != "1"),
        "required, and missing: {why}"
    );
    eprintln!("skipped: {why}");
}
