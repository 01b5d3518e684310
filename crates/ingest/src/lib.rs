//! Files become runs: one pure parser per format, and one place that joins their records.
//!
//! In:  what `archive` discovered.  Out: [`Intake`]: campaigns, runs, facts, and a line on every file that was examined.
//! Not here: walking folders, tables, formulas.
//!
//! A format is one file below this folder and one line in [`FORMATS`]. A bad file, row or field is left out with a message that names it,
//! and the rest is read. So no input can stop the analysis of another.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

mod aiperf;
mod ask;
mod assemble;
mod at;
mod bench_full;
mod checkpoint;
pub mod custom;
mod dgx_spark_bench;
mod discovered;
mod facts;
mod figure;
mod file_report;
mod flat;
mod format;
mod formats;
mod genai_bench;
mod given;
mod guidellm;
mod h200_ab;
pub mod history;
mod inference_benchmarker;
mod inference_perf;
mod inferencex;
mod intake;
mod journal;
mod json;
mod labelling;
mod labels;
mod labels_file;
mod llama;
mod llmperf;
mod load_summary;
mod log;
mod long_words;
mod look;
mod markdown;
mod memory;
mod missing_runs;
mod name;
mod nameless;
mod not_analysed;
mod one_line;
mod options;
mod outline;
mod own;
mod packed;
mod partial_run;
mod phase1;
mod places;
mod prometheus;
mod published;
pub mod raw;
mod record;
pub mod reports;
mod requests;
mod rows;
mod schema;
mod serving;
mod sglang;
mod sheet;
mod source_file;
mod spark_arena;
mod study;
mod table;
mod telemetry;
mod toml_file;
mod unusable;
mod vllm;
mod without_log;
mod workbook;
mod yaml;

use std::time::SystemTime;

use sparkbench_archive::Discovery;
use sparkbench_text::error::Error;

use given::Given;

pub use ask::Ask;
pub use facts::parse_facts;
pub use figure::Figure;
pub use file_report::left_out;
pub use format::{About, Format, List, Look, Parsed};
pub use formats::FORMATS;
pub use intake::Intake;
pub use labels::{FileLabels, Labels};
pub use log::{KINDS, TextKind};
pub use look::{inspect, read};
pub use markdown::SEEN as MARKDOWN_TABLE;
pub use memory::Memory;
pub use one_line::one_line;
pub use options::{Derive, Options};
pub use outline::Outline;
pub use partial_run::{JoinRole, PartialRun, ServerState, Share};
pub use record::Record;
pub use source_file::{Head, SourceFile};
pub use unusable::unusable;

pub use sparkbench_text::slug::slug;

/// Reads every file once and puts the records together.
///
/// Files are read in parallel, at most as many as there are threads at a time. The result does not depend on their number.
///
/// # Errors
/// Only when the labels, metrics or facts named in `options` cannot be used. Faults of a discovered file are in [`Intake::inputs`].
pub fn all(found: &Discovery, options: &Options) -> Result<Intake, Error> {
    let given = Given::read(options)?;
    let places = places::places(found, places::reports_of);
    let looks = discovered::look_at_all(found, &places, options.without_gaps);
    assemble::assemble(found, looks, &places, given, options)
}

/// Like [`all`], and reads only those files again that are not the ones which `memory` holds.
///
/// # Errors
/// Like [`all`].
pub fn again(found: &Discovery, options: &Options, memory: &mut Memory, now: SystemTime) -> Result<Intake, Error> {
    let given = Given::read(options)?;
    let (places, looks) = memory.look(found, now);
    assemble::assemble(found, looks, &places, given, options)
}
