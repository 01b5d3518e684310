//! Records as frames: schemas, group-bys, and the tables people download. The only room that says `polars`.
//!
//! In:  runs as plain values.  Out: groups of values by cell, and bytes of CSV, Parquet and workbooks.
//! Not here: formulas beyond counting and grouping.

mod export;
mod flat;
mod measures;
mod workbook;

pub use export::{comparisons_parquet, requests_parquet, runs_csv, runs_parquet, units_csv};
pub use measures::{Frames, Requests, build, requests};
pub use workbook::{REQUEST_ROWS, report_xlsx};
