//! Records as frames: schemas, group-bys, and the tables people download. The only room that says `polars`.
//!
//! In:  runs as plain values.  Out: groups of values by cell, tables of runs and requests, and bytes of CSV, JSON lines, Parquet and workbooks.
//! Not here: formulas beyond counting and grouping.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

mod export;
mod flat;
mod measures;
mod request_table;
mod table;
mod table_writer;
#[cfg(test)]
mod testing;
mod workbook;

pub use export::{comparisons_parquet, extras_parquet, requests_parquet, runs_csv, runs_parquet, units_csv};
pub use flat::Cell;
pub use measures::{Frames, Requests, build, requests};
pub use request_table::RequestTable;
pub use table::{GroupSummary, Role, Table, TableColumn};
pub use table_writer::{TableFormat, TableWriter};
pub use workbook::{REQUEST_ROWS, report_xlsx};
