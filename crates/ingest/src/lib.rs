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
mod arms;
mod ask;
mod assemble;
mod at;
mod belong;
mod bench_full;
mod checkpoint;
pub mod custom;
mod dgx_spark_bench;
mod facts;
mod figure;
mod flat;
mod folders;
mod genai_bench;
mod guidellm;
mod h200_ab;
pub mod history;
mod inference_benchmarker;
mod inference_perf;
mod inferencex;
mod journal;
mod json;
mod labels;
mod llama;
mod load_summary;
mod log;
mod long_words;
mod look;
mod memory;
mod missing_runs;
mod name;
mod nameless;
mod not_analysed;
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
mod study;
mod table;
mod telemetry;
mod vllm;
mod words;
mod workbook;
mod written;
mod yaml;

use std::path::PathBuf;
use std::time::SystemTime;

use serde::Serialize;

use sparkbench_archive::Discovery;
use sparkbench_model::{
    Campaign, Course, Extra, Facts, Input, LocalFacts, Reading, Run, Sample, Series, Setup, Status,
};
use sparkbench_text::error::Error;

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
pub use written::unusable;

pub use sparkbench_text::slug::slug;

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
    &custom::MetricsFile,
    &facts::FactsFile,
    &phase1::Phase1,
    &h200_ab::H200Ab,
    &flat::Metadata,
    &published::Published,
    &checkpoint::Config,
    &checkpoint::Index,
    // Result objects of benchmarks. Those whose keys another tool shares come first.
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
    // Tables of benchmarks, then telemetry. Its last takes any JSON in which enough keys are those of a GPU.
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
    &not_analysed::NotAnalysed,
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
    /// The parts taken from it.
    pub reads: &'static str,
}

/// Result of one file.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    pub records: Vec<Record>,
    /// Parts that could not be used, each with its place.
    pub left_out: Vec<Error>,
    /// Notes for the reader although nothing was left out.
    pub notes: Vec<String>,
    /// The formats that a file of several kinds really held. An example is a log with a result block and a server's memory lines. Empty when
    /// the format that read it is the only one.
    pub kinds: Vec<&'static str>,
    /// Lines, keys or rows that look like figures and were not understood, each with its place: shown by `sparkbench inspect`.
    pub not_understood: Vec<String>,
    /// Lists of values that are not among our metrics: nothing is made of them, but whoever checks a run counts them.
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
    Run(Box<PartialRun>),
    /// A campaign's own words.
    Campaign(Box<Campaign>),
    /// Words that a person wrote beside foreign files.
    Labels(Box<Labels>),
    /// Metrics that a person defines.
    Metrics(custom::Definitions),
    /// Machines and models.
    Facts(Box<Facts>),
    /// Outcomes of a campaign's runs, from its journal.
    Journal(Vec<sparkbench_model::Outcome>),
    /// What the owner of a campaign's archive gave up as lost, from its journal: each with its reason.
    Losses(Vec<String>),
    /// Figures that were published about the campaign.
    Published(Vec<sparkbench_model::PublishedCell>),
}

/// Facts about the server from its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// It came up, or nothing in the log speaks against it.
    Served,
    /// It ended before it came up.
    NeverUp,
}

/// How a [`PartialRun`] becomes a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinRole {
    /// A run for itself. Nothing joins it.
    #[default]
    Alone,
    /// A run. Details of the same launch join it.
    Body,
    /// Joins the bodies of its launch. A run of its own when there are none.
    Base,
    /// Joins the bodies or the base of its launch. A run of its own when there are neither.
    Trace,
    /// Joins the runs of its launch and is nothing without them.
    Detail,
    /// Describes all runs whose files lie in its folder or below, and joins them as a detail. Examples are the log of the server and a sheet
    /// of settings. It is a run of its own where there are no others and it has a figure. Two of one format in one folder join no run,
    /// because it is unclear which belongs where.
    #[serde(rename = "beside")]
    WholeFolder,
}

/// Data of one file about one run. Everything may be absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartialRun {
    /// How it becomes a run.
    pub join_role: JoinRole,
    /// For the log of a server: whether it came up, where the log shows it. Absent for everything else.
    pub server: Option<ServerState>,
    /// Campaign that the row itself names.
    pub campaign: Option<String>,
    /// Id that the source gives the run.
    pub id: Option<String>,
    pub environment: Option<String>,
    pub model: Option<String>,
    pub workload: Option<String>,
    /// Test of a launch that makes several: the run's workload becomes `WORKLOAD-TEST`. A detail with one joins that test alone.
    pub part: Option<String>,
    /// The k-th run of its cell.
    pub repeat: Option<u32>,
    /// Group of runs close in time.
    pub block: Option<u32>,
    /// Place in the order of execution.
    pub position: Option<u32>,
    pub started: Option<sparkbench_model::Instant>,
    pub ended: Option<sparkbench_model::Instant>,
    /// The period in which a load measured.
    pub measured: Option<(sparkbench_model::Instant, sparkbench_model::Instant)>,
    /// Outcome, where the source says one.
    pub status: Option<Status>,
    /// Whole-run figures.
    pub readings: Vec<Reading>,
    /// Per-request figures.
    pub series: Vec<Series>,
    /// Figures that are not among our metrics.
    pub extras: Vec<Extra>,
    pub telemetry: Vec<Sample>,
    /// Events beside the figures.
    pub course: Course,
    pub setup: Setup,
    /// Mark that is the same in every copy of this run. Copies are a summary that repeats the runs of a sweep, or a console block beside the
    /// JSON. Of runs with one mark in one campaign only the fullest is kept, and the others are reported as copies. Two with different
    /// starts are two runs.
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
    pub started: Option<sparkbench_model::Instant>,
}

/// Settings of the user beside the files.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A `labels.toml` for everything below the given folders that has none of its own.
    pub labels: Option<PathBuf>,
    /// A `metrics.toml` for every campaign, in addition to its own.
    pub metrics: Option<PathBuf>,
    /// Facts that come before the shipped ones.
    pub facts: Option<PathBuf>,
    /// Label that distinguishes the arms, one of [`Campaign::LABELS`], in place of what campaigns say.
    pub compare_by: Option<String>,
    /// Whether the first folders in which paths differ are the arms.
    pub arms_by_folder: bool,
    /// What an analysis makes of the figures that were read. Expressions of metrics may name those too. Without it they name what was read.
    pub derive: Option<Derive>,
}

/// Adds figures that follow from others and from facts to runs.
///
/// # Errors
/// Facts that come with the program and cannot be read.
pub type Derive = fn(&mut [Run], &[Campaign], &[LocalFacts]) -> Result<(), Error>;

/// Content of the files named on the command line.
#[derive(Default)]
struct Given {
    labels: Option<Labels>,
    metrics: Option<custom::Definitions>,
    facts: Option<LocalFacts>,
}

impl Given {
    fn read(options: &Options) -> Result<Self, Error> {
        Ok(Self {
            labels: options.labels.as_deref().map(labels::from_command_line).transpose()?,
            metrics: options.metrics.as_deref().map(custom::from_command_line).transpose()?,
            facts: options.facts.as_deref().map(facts::from_command_line).transpose()?,
        })
    }
}

/// Everything that was read.
#[derive(Debug, Clone, Default)]
pub struct Intake {
    /// Campaigns with at least one run, by name.
    pub campaigns: Vec<Campaign>,
    /// Runs by campaign, then start (unknown last), then the order of the files. Ids are unique slugs.
    pub runs: Vec<Run>,
    /// Machines and models from files below the given folders, and from the file that was named. `verdict::facts::with` puts them beside the
    /// shipped ones.
    pub facts: Vec<LocalFacts>,
    /// One line for each file, by path.
    pub inputs: Vec<Input>,
    /// Why nothing of a file could be read, in the order of the files.
    pub refused: Vec<Error>,
    /// Missing labels, and a file to fill them in. Absent when all are known.
    pub ask: Option<Ask>,
    /// Notes to read before the verdicts, a sentence each: labels that fit no file, files of one run that disagree.
    pub warnings: Vec<String>,
    /// Whether any run was measured. False where all that was found shows a machine: telemetry and snapshots of a GPU.
    pub measured: bool,
}

impl Intake {
    /// Number of files of which something was left out.
    #[allow(dead_code, reason = "for tests, which look at how much was read")]
    pub fn skipped(&self) -> usize {
        self.inputs.iter().filter(|input| input.skipped).count()
    }
}

/// Reads every file once and puts the records together.
///
/// Files are read in parallel, at most as many as there are threads at a time. The result does not depend on their number.
///
/// # Errors
/// Only when the labels, metrics or facts named in `options` cannot be used. Faults of a discovered file are in [`Intake::inputs`].
pub fn all(found: &Discovery, options: &Options) -> Result<Intake, Error> {
    let given = Given::read(options)?;
    let places = belong::places(found, belong::reports_of);
    let looks = look::at_all(found, &places);
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
