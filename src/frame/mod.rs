//! Records as frames: schemas, group-bys, and the tables people download. The only room that says `polars`.
//!
//! In:  runs as plain values.  Out: groups of values by cell, CSV and Parquet bytes.
//! Not here: formulas beyond counting and grouping.

mod export;
mod measures;

pub use export::{requests_parquet, runs_csv};
pub use measures::{Frames, build};
