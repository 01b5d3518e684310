//! The real machine for tests.

use sparkbench::host::machine::Machine;

/// The machine, with this build of the program for its guards.
pub fn machine() -> Machine {
    Machine::new().unwrap().with_program(env!("CARGO_BIN_EXE_sparkbench"))
}
