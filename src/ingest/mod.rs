//! Files become runs: one pure parser per format, and one place that puts their records together.
//!
//! In:  what `archive` discovered.  Out: [`Intake`]: campaigns, runs, facts, and a line on every file that was looked at.
//! Not here: walking folders, tables, formulas.
//!
//! A format is one file below this folder and one line in [`FORMATS`]. A bad file, row or field is left out with a message that
//! names it, and the rest is read: no input can stop the analysis of another.

mod aiperf;
mod arms;
mod ask;
mod assemble;
mod at;
mod belong;
mod bench_full;
mod checkpoint;
mod dgx_spark_bench;
mod facts;
mod figure;
mod fill;
mod flat;
mod folders;
mod genai_bench;
mod guidellm;
mod h200_ab;
mod inference_benchmarker;
mod inference_perf;
mod inferencex;
mod journal;
mod json;
mod kept;
mod labels;
mod llama;
mod load_summary;
mod log;
mod long_words;
mod look;
mod memory;
mod name;
mod nameless;
mod outline;
mod own;
mod packed;
mod path_labels;
mod phase1;
mod prometheus;
mod published;
pub mod raw;
mod report;
pub mod reports;
mod requests;
mod rows;
mod serving;
mod sglang;
mod sheet;
mod slug;
mod study;
mod table;
mod telemetry;
mod unmade;
mod vllm;
mod words;
mod workbook;
mod yaml;

use std::path::PathBuf;
use std::time::SystemTime;

use serde::Serialize;

use crate::archive::Discovery;
use crate::error::Error;
use crate::model::{Campaign, Course, Extra, Facts, Reading, Run, Sample, Series, Setup, Status};
use crate::verdict::report::Input;

pub use arms::{meet, meets};
pub use ask::Ask;
pub use facts::parse_facts;
pub use figure::Figure;
pub use labels::{FileLabels, Labels};
pub use log::{KINDS, Kind};
pub use look::{Head, Look, SourceFile, inspect, read};
pub use memory::Memory;
pub use outline::Outline;
pub use report::one_line;

pub use slug::slug;

/// Every format that is read. Asked in this order, so the most specific comes first.
pub static FORMATS: &[&dyn Format] = &[
    &own::CampaignFile,
    &own::RunFile,
    &journal::Journal,
    &load_summary::LoadSummary,
    &requests::Requests,
    &reports::ResultFile,
    &reports::IterationsFile,
    &labels::LabelsFile,
    &facts::FactsFile,
    &phase1::Phase1,
    &h200_ab::H200Ab,
    &flat::Metadata,
    &published::Published,
    &checkpoint::Config,
    &checkpoint::Index,
    // Result objects of benchmarks; those whose keys another tool shares come first.
    &guidellm::GuideLlm,
    &llama::LlamaBenchy,
    &genai_bench::GenaiBench,
    &genai_bench::Metadata,
    &reports::TrtllmReport,
    &aiperf::Server,
    &aiperf::Timeslices,
    &aiperf::Summary,
    &aiperf::Records,
    &aiperf::GenaiPerf,
    &aiperf::GenaiPerfRaw,
    &llama::LlamaBench,
    &llama::LlamaBatchedBench,
    &inference_perf::InferencePerf,
    &inference_benchmarker::InferenceBenchmarker,
    &bench_full::BenchFull,
    &dgx_spark_bench::DgxSparkBench,
    &inferencex::InferenceX,
    &sglang::BenchServing,
    &vllm::Serve,
    &vllm::Throughput,
    &vllm::Latency,
    &vllm::MultiTurn,
    &vllm::Workbook,
    &vllm::Sidecar,
    // Tables of benchmarks, then telemetry; its last takes any JSON in which enough keys are those of a GPU.
    &aiperf::Csv,
    &llama::LlamaBenchyCsv,
    &guidellm::GuideLlmCsv,
    &prometheus::Prometheus,
    &telemetry::Query,
    &telemetry::BoxTable,
    &telemetry::Dmon,
    &telemetry::FreeLog,
    &telemetry::PerWatt,
    &telemetry::SmiCsv,
    &telemetry::Script,
    &telemetry::Report,
    &table::Table,
    &log::Text,
    &kept::Kept,
];

/// One file format: how it is recognised and what it holds.
pub trait Format: Sync {
    /// Name shown beside every file that it took.
    fn name(&self) -> &'static str;
    /// What the format is, for `sparkbench formats`.
    fn about(&self) -> About;
    /// Cheap look at name and first bytes. "Not mine" is an answer, not an error.
    fn sniff(&self, head: &Head<'_>) -> bool;
    /// The whole file in, records out. Pure: the same bytes always give the same records.
    ///
    /// # Errors
    /// When nothing of the file can be used. What is wrong with a part of it goes to [`Parsed::left_out`].
    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error>;
}

/// What a format is, in the words of `sparkbench formats` and of the manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The program that writes it.
    pub tool: &'static str,
    /// Versions whose files were seen or described, and how they differ.
    pub versions: &'static str,
    /// How it is recognised.
    pub sign: &'static str,
    /// What is taken from it.
    pub reads: &'static str,
}

/// What one file gave.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// What it says.
    pub records: Vec<Record>,
    /// Parts that could not be used, each with its place.
    pub left_out: Vec<Error>,
    /// What a reader should know although nothing was left out.
    pub notes: Vec<String>,
    /// What a file of several kinds turned out to hold (a log with a result block of a benchmark and the memory lines of a server): names
    /// as of formats. Empty: the format that read it.
    pub kinds: Vec<&'static str>,
    /// Lines, keys or rows that look like figures and were not understood, each with its place: shown by `sparkbench inspect`.
    pub not_understood: Vec<String>,
    /// Lists of values that are no metric of ours: nothing is made of them, but whoever checks a run counts them.
    pub lists: Vec<List>,
}

/// Values of iterations under a name of the program's own.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// Test of a launch that makes several.
    pub part: Option<String>,
    /// As the program names it.
    pub name: String,
    /// In the order of measuring, missing as NaN.
    pub values: Vec<f64>,
}

/// One statement of a file.
#[derive(Debug, Clone)]
pub enum Record {
    /// Something about one run, or about all runs of one launch.
    Piece(Box<Piece>),
    /// A campaign's own words.
    Campaign(Box<Campaign>),
    /// Words that a person wrote beside foreign files.
    Labels(Box<Labels>),
    /// Machines and models.
    Facts(Facts),
    /// What the journal of a campaign says of its runs.
    Journal(Vec<crate::model::Outcome>),
    /// Figures that were published about the campaign.
    Published(Vec<crate::model::PublishedCell>),
}

/// What the log of a server says of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// It came up, or nothing in the log speaks against it.
    Served,
    /// It ended before it came up.
    NeverUp,
}

/// How a [`Piece`] becomes a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A run for itself; nothing joins it.
    #[default]
    Alone,
    /// A run; details of the same launch join it.
    Body,
    /// Joins the bodies of its launch; a run of its own when there are none.
    Base,
    /// Joins the bodies or the base of its launch; a run of its own when there are neither.
    Trace,
    /// Joins the runs of its launch and is nothing without them.
    Detail,
    /// Speaks of all runs whose files lie in its folder or below (the log of the server, a sheet of settings): joins them as a detail; a
    /// run of its own where there are none and it has a figure. Two of one format in one folder join nobody: which is whose is not known.
    Beside,
}

/// What one file says of one run. Everything may be absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Piece {
    /// How it becomes a run.
    pub standing: Standing,
    /// Of the log of a server: whether it came up, where the log tells. Absent for everything else.
    pub server: Option<ServerState>,
    /// Campaign that the row itself names.
    pub campaign: Option<String>,
    /// Id that the source gives the run.
    pub id: Option<String>,
    /// Environment label.
    pub environment: Option<String>,
    /// Model label.
    pub model: Option<String>,
    /// Workload label.
    pub workload: Option<String>,
    /// Test of a launch that makes several: the run's workload becomes `WORKLOAD-TEST`. A detail with one joins that test alone.
    pub part: Option<String>,
    /// The k-th run of its cell.
    pub repeat: Option<u32>,
    /// Group of runs close in time.
    pub block: Option<u32>,
    /// Place in the order of execution.
    pub position: Option<u32>,
    /// Start.
    pub started: Option<crate::model::Instant>,
    /// End.
    pub ended: Option<crate::model::Instant>,
    /// The stretch in which a load measured.
    pub measured: Option<(crate::model::Instant, crate::model::Instant)>,
    /// Outcome, where the source says one.
    pub status: Option<Status>,
    /// Whole-run figures.
    pub readings: Vec<Reading>,
    /// Per-request figures.
    pub series: Vec<Series>,
    /// Figures that are no metric of ours.
    pub extras: Vec<Extra>,
    /// Telemetry.
    pub telemetry: Vec<Sample>,
    /// What happened beside the figures.
    pub course: Course,
    /// Settings.
    pub setup: Setup,
    /// What is the same in every copy of this run (a summary that repeats the runs of a sweep, a console block beside the JSON of the same
    /// run): of runs of one campaign with one mark only the fullest is kept, the others are said to be copies. Two with different starts are two.
    pub fingerprint: Option<String>,
    /// Which part of a plan it is, where several clients loaded apart.
    pub share: Option<Share>,
}

/// One client's part of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of the client, from 0.
    pub rank: u32,
    /// Clients in all.
    pub world: u32,
    /// Hash of the plan.
    pub plan: String,
    /// From when the times of its requests count.
    pub started: Option<crate::model::Instant>,
}

/// What the person who asks adds to the files.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A `labels.toml` for everything below the given folders that has none of its own.
    pub labels: Option<PathBuf>,
    /// Label that tells the arms apart, one of [`Campaign::LABELS`], in place of what campaigns say.
    pub compare_by: Option<String>,
    /// Whether the first folders in which paths differ are the arms.
    pub arms_by_folder: bool,
}

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct Intake {
    /// Campaigns with at least one run, by name.
    pub campaigns: Vec<Campaign>,
    /// Runs by campaign, then start (unknown last), then the order of the files; ids are unique slugs.
    pub runs: Vec<Run>,
    /// Machines and models from files below the given folders.
    pub facts: Facts,
    /// One line a file, by path.
    pub inputs: Vec<Input>,
    /// Labels that nobody said, and a file to say them in; absent when all are known.
    pub ask: Option<Ask>,
    /// What a person should know before the verdicts, a sentence each: labels that fit no file, files of one run that disagree.
    pub warnings: Vec<String>,
    /// Whether any run was measured. False where all that was found shows a machine: telemetry and looks at a GPU.
    pub measured: bool,
}

impl Intake {
    /// Number of files of which something was left out.
    pub fn skipped(&self) -> usize {
        self.inputs.iter().filter(|input| input.skipped).count()
    }
}

/// Reads every file once and puts the records together.
///
/// Files are read in parallel, at most as many as there are threads at a time; the result does not depend on their number.
///
/// # Errors
/// Only when the labels named in `options` cannot be used. Whatever is wrong with a discovered file is said in [`Intake::inputs`].
pub fn all(found: &Discovery, options: &Options) -> Result<Intake, Error> {
    let given = options.labels.as_deref().map(labels::from_command_line).transpose()?;
    let places = belong::places(found, belong::reports_of);
    let looks = look::at_all(found, &places);
    assemble::assemble(found, looks, &places, given, options)
}

/// As [`all`], and reads only those files again that are not the ones which `memory` holds.
///
/// # Errors
/// As [`all`].
pub fn again(found: &Discovery, options: &Options, memory: &mut Memory, now: SystemTime) -> Result<Intake, Error> {
    let given = options.labels.as_deref().map(labels::from_command_line).transpose()?;
    let (places, looks) = memory.look(found, now);
    assemble::assemble(found, looks, &places, given, options)
}
