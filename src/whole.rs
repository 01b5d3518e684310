//! All rooms as private modules of one program, so that the compiler sees what nobody uses. See `lib.rs` for the map.
//!
//! In: the rooms.  Out: nothing. `.ci/run` checks it and never builds it.
//! Not here: anything that the program needs. The five crates export their rooms to each other and to tests, and exports count as used.
//!
//! Items that only tests use are marked at their place, with the reason.
#![deny(unused)]
#![allow(unused_imports, reason = "names that a room shows at its door, for the other rooms and for tests")]

mod archive;
mod chart;
mod cli;
mod error;
mod escape;
mod formula;
mod frame;
mod ingest;
mod model;
mod page;
mod plan;
mod stats;
mod verdict;

#[cfg(target_os = "linux")]
mod env;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod mock;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod workload;

fn main() -> std::process::ExitCode {
    cli::main()
}
