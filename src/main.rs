//! Parse, dispatch, print the error, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    sparkbench::cli::main()
}
