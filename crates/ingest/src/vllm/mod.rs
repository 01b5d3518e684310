//! The benchmarks of vLLM, as files: serving, throughput, latency, conversations, and the sheet of settings beside them.
//!
//! In:  JSON, CSV and workbooks.  Out: one partial run for each run.
//! Not here: what the same programs print (see `log`).

mod detail;
mod multi_turn;
mod offline;
mod serve;
mod sidecar;
mod table;
mod workbook;

pub(super) use multi_turn::{MultiTurn, TOOL as MULTI_TURN, workload as multi_turn_workload};
pub(super) use offline::{LATENCY_TOOL, Latency, THROUGHPUT_TOOL, Throughput, throughput_mark};
pub(super) use serve::{Serve, TOOL as SERVE, mark_of};
pub(super) use sidecar::Sidecar;
pub(super) use workbook::Workbook;
