//! The rooms that know no file format of others: words, archive, formulas, verdicts. See `lib.rs` for the map.
//!
//! In: nothing. Out: the crate `sparkbench_core`, which `lib.rs` shows again under the names of its rooms.
//! Not here: parsers of results and suites (`read.rs`), measuring (`collect.rs`), pages (`pages.rs`).
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

pub mod archive;
pub mod error;
pub mod escape;
pub mod model;
pub mod stats;
pub mod verdict;

#[cfg(test)]
mod testing;
