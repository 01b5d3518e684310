//! The rooms that measure a Linux machine. See `lib.rs` for the map.
//!
//! In: `sparkbench_core` and `sparkbench_read`. Out: the crate `sparkbench_collect`, empty on other systems, which `lib.rs` shows
//! again under the names of its rooms. Not here: what is made of the measurements.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]
#![cfg(target_os = "linux")]

pub mod env;
pub mod host;
pub mod load;
pub mod mock;
pub mod run;
pub mod workload;

#[cfg(test)]
mod testing;

use sparkbench_core::{archive, error, escape, model, stats};
use sparkbench_read::{ingest, plan};

/// The folder of the repository, where tests find their fixtures.
#[cfg(test)]
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
