//! What varied: settings of runs, factors of a campaign, the question, and which runs are repeats of each other.
//!
//! In:  runs as they were read, and where their files lie.  Out: the same runs in cells, and campaigns that know their factors.
//! Not here: reading files (see `ingest`), comparing (see `verdict`).
//!
//! Words are those of the design of experiments. A setting is what somebody chose, a level is one value of it, and a factor is a setting with
//! two levels or more. The treatment is the factor that is asked about, a load axis is a part of the work, and a stratum is the levels of all
//! other factors. Runs are averaged only where no setting differs.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

mod baseline;
mod cells;
mod confounded;
mod counters;
mod fill;
mod keep;
mod levels;
pub mod path_labels;
mod table;
mod words;

pub use cells::{Asked, CAMPAIGN, SIDE, lay_out};
pub use fill::fill;
pub use keep::{Keep, is_name, keep, named};
pub use words::{Placed, words};
