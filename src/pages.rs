//! The rooms that draw and write the site. See `lib.rs` for the map.
//!
//! In: `sparkbench_core` and `sparkbench_read`. Out: the crate `sparkbench_pages`, which `lib.rs` shows again under the names of its rooms.
//! Not here: the numbers that a page shows (see `verdict`).
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

pub mod chart;
pub mod page;

#[cfg(test)]
mod testing;

use sparkbench_core::{archive, error, escape, model, verdict};
use sparkbench_read::plan;
