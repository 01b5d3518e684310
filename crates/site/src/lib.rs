//! The site: charts and pages.
//!
//! In:  a finished analysis.  Out: HTML, SVG and what they need.
//! Not here: the numbers that a page shows (see `verdict`).
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

pub mod chart;
pub mod page;
