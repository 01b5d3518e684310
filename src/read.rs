//! The rooms that read what others wrote: result files and suites. See `lib.rs` for the map.
//!
//! In: `sparkbench_core`. Out: the crate `sparkbench_read`, which `lib.rs` shows again under the names of its rooms.
//! Not here: judging the records (`core.rs`), measuring (`collect.rs`), pages (`pages.rs`).
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

pub mod formula;
pub mod ingest;
pub mod plan;

#[cfg(test)]
mod testing;

use sparkbench_core::{archive, error, escape, model, stats, verdict};
