//! Results across cells and campaigns: where each cell was measured, sweeps of load, trade-offs, grids of lengths, rooflines,
//! parts of memory, engine beside engine.
//!
//! In:  filled by `verdict::across`.  Out: JSON with the same names, every list an array of the analysis.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use super::{Comparison, Estimate};

/// Everything across cells, flattened into the analysis.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Across {
    /// Every cell with its machine, engine and load.
    pub places: Vec<Place>,
    /// Data of each model, by its label.
    pub model_summaries: Vec<Summary>,
    /// Data of each machine, by its key. The last is for files that name none.
    pub machine_summaries: Vec<Summary>,
    /// Output against load, where a shape of requests was measured at several loads.
    pub sweeps: Vec<Sweep>,
    /// Latency or speed for a user against output, for the same cells.
    pub frontiers: Vec<Frontier>,
    /// Output by input and output length, where several shapes of requests were measured.
    pub grids: Vec<Grid>,
    /// Limits from memory and arithmetic of a machine, and the positions of its cells.
    pub rooflines: Vec<Roofline>,
    /// Weights, KV cache and rest of the memory of each cell.
    pub memory_stacks: Vec<MemoryStack>,
    /// The same model, lengths and load under several engines.
    pub engines: Vec<EngineTable>,
    /// Clients that measured the same server.
    pub agreements: Vec<AgreementTable>,
}

/// Key of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CellName {
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    pub workload: String,
    pub environment: String,
}

/// One cell: where it was measured, with what, under which load.
#[derive(Debug, Clone, Serialize)]
pub struct Place {
    #[serde(flatten)]
    pub cell: CellName,
    /// Machine by its key in the facts, else as the files print it. Absent where nothing names it.
    pub machine: Option<String>,
    /// The same for people.
    pub machine_title: Option<String>,
    /// Devices that work together.
    pub devices: f64,
    /// Model id, where the runs or the campaign say it.
    pub model_id: Option<String>,
    pub engine: Option<String>,
    /// Version of the engine, where all runs have one.
    pub engine_version: Option<String>,
    /// Precision of the weights.
    pub quantisation: Option<String>,
    /// Input tokens of a request, mean over runs.
    pub isl: Option<f64>,
    /// Output tokens of a request, mean over runs.
    pub osl: Option<f64>,
    /// Batch or concurrency limit.
    pub batch: Option<f64>,
    /// Requests sent a second. Absent where all are sent as fast as they are served.
    pub request_rate: Option<f64>,
    pub runs: usize,
    /// Runs that failed.
    pub failed: usize,
    /// Output tokens a second.
    pub output_tok_s: Option<Estimate>,
}

/// Data of one model or machine.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// Label of the model, key of the machine. Absent where no file names the machine.
    pub name: Option<String>,
    /// For people: the machine's title, the model's id.
    pub title: Option<String>,
    /// Campaign slugs.
    pub campaigns: Vec<String>,
    /// Model labels.
    pub models: Vec<String>,
    /// Keys of machines.
    pub machines: Vec<String>,
    pub engines: Vec<String>,
    pub cells: usize,
    pub runs: usize,
    /// Runs that failed.
    pub failed: usize,
    /// The cell with the highest output, whatever its lengths and load.
    pub best: Option<Best>,
}

/// The cell with the highest output.
#[derive(Debug, Clone, Serialize)]
pub struct Best {
    #[serde(flatten)]
    pub cell: CellName,
    /// Batch or concurrency limit.
    pub batch: Option<f64>,
    /// Output tokens a second.
    pub output_tok_s: Estimate,
}

/// One shape of requests at several loads.
#[derive(Debug, Clone, Serialize)]
pub struct Sweep {
    /// Unique among the sweeps of a model. A slug.
    pub id: String,
    pub model: String,
    /// Machine, as in [`Place`].
    pub machine: Option<String>,
    /// The same for people.
    pub machine_title: Option<String>,
    /// Devices that work together.
    pub devices: f64,
    /// Precision of the weights.
    pub quantisation: Option<String>,
    /// Input tokens of a request, mean over cells.
    pub isl: Option<f64>,
    /// Output tokens of a request, mean over cells.
    pub osl: Option<f64>,
    /// How far the lengths of two of its cells lie apart at most, per cent.
    pub length_spread_pct: f64,
    /// `batch` or `request_rate`.
    pub load: &'static str,
    /// One line per environment and engine.
    pub lines: Vec<SweepLine>,
    /// Description in words.
    pub finding: String,
}

/// One environment and engine of a sweep.
#[derive(Debug, Clone, Serialize)]
pub struct SweepLine {
    /// Distinguishes it from the other lines.
    pub label: String,
    /// Campaign slug.
    pub campaign: String,
    pub environment: String,
    pub engine: Option<String>,
    /// Points by load.
    pub points: Vec<SweepPoint>,
}

/// One load of a sweep.
#[derive(Debug, Clone, Serialize)]
pub struct SweepPoint {
    /// Batch or concurrency limit, or requests a second.
    pub load: f64,
    /// Workload label of the cell.
    pub workload: String,
    /// Output tokens a second.
    pub output_tok_s: Option<Estimate>,
    /// Output tokens a second for one user: a thousand over TPOT, run by run.
    pub user_tok_s: Option<Estimate>,
    /// Time to first token.
    pub ttft_ms: Option<Estimate>,
    /// Time per output token.
    pub tpot_ms: Option<Estimate>,
    /// End-to-end latency.
    pub e2e_latency_ms: Option<Estimate>,
}

/// A trade-off between what a user waits for and what the machine gives.
#[derive(Debug, Clone, Serialize)]
pub struct Frontier {
    /// Id of the sweep it belongs to.
    pub sweep: String,
    pub model: String,
    /// `e2e_latency_ms`, `ttft_ms` or `user_tok_s`.
    pub x: &'static str,
    /// `panel`: a point is compared with those of all lines. `line`: against those of its own.
    pub scope: &'static str,
    /// Why the lines are not compared with each other.
    pub because: Option<String>,
    /// By line, then by load.
    pub points: Vec<FrontierPoint>,
    /// Description in words.
    pub finding: String,
}

/// One point of a trade-off.
#[derive(Debug, Clone, Serialize)]
pub struct FrontierPoint {
    /// Label of its line.
    pub line: String,
    #[serde(flatten)]
    pub cell: CellName,
    pub load: f64,
    /// Latency for the user.
    pub x: Estimate,
    /// Output tokens a second of all users together.
    pub output_tok_s: Estimate,
    /// No other point of the scope is at least as good in both and better in one, by the means.
    pub best: bool,
}

/// Output by lengths, for one machine, model, engine and environment.
#[derive(Debug, Clone, Serialize)]
pub struct Grid {
    /// Unique among the grids of a machine. A slug.
    pub id: String,
    /// Machine, as in [`Place`].
    pub machine: Option<String>,
    /// The same for people.
    pub machine_title: Option<String>,
    /// Devices that work together.
    pub devices: f64,
    pub model: String,
    /// Precision of the weights.
    pub quantisation: Option<String>,
    pub engine: Option<String>,
    /// Campaign slug.
    pub campaign: String,
    pub environment: String,
    /// Input lengths, ascending.
    pub isl: Vec<f64>,
    /// Output lengths, ascending.
    pub osl: Vec<f64>,
    /// Filled squares by input, then output length.
    pub squares: Vec<Square>,
    /// Description in words.
    pub finding: String,
}

/// One square: of several loads the one with the highest output.
#[derive(Debug, Clone, Serialize)]
pub struct Square {
    /// Input length of its row.
    pub isl: f64,
    /// Output length of its column.
    pub osl: f64,
    /// Workload label of the cell.
    pub workload: String,
    /// Batch or concurrency limit of the cell.
    pub batch: Option<f64>,
    /// Loads that were measured at these lengths.
    pub loads: usize,
    /// Output tokens a second.
    pub output_tok_s: Estimate,
}

/// A machine's ceilings and the cells below them.
#[derive(Debug, Clone, Serialize)]
pub struct Roofline {
    /// Machine, as in [`Place`].
    pub machine: Option<String>,
    /// The same for people.
    pub machine_title: Option<String>,
    /// Devices that work together.
    pub devices: f64,
    /// Ceilings, those of memory first.
    pub ceilings: Vec<Ceiling>,
    /// Cells.
    pub points: Vec<RoofPoint>,
    /// Description in words.
    pub finding: String,
}

/// One ceiling.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    /// `memory` or `arithmetic`.
    pub kind: &'static str,
    /// `facts` or `probe`.
    pub source: &'static str,
    /// In words, with its unit.
    pub label: String,
    /// GB/s of a ceiling of memory, TFLOP/s of one of arithmetic, all devices together.
    pub value: f64,
}

/// One cell under the ceilings.
#[derive(Debug, Clone, Serialize)]
pub struct RoofPoint {
    #[serde(flatten)]
    pub cell: CellName,
    /// Operations for each byte that a step of decoding reads.
    pub intensity_flop_per_byte: f64,
    /// Operations a second, TFLOP/s, that the rate of tokens means.
    pub tflops: Estimate,
    /// Share of the lower nominal ceiling, per cent, as in the physics of the cell.
    pub share_pct: Estimate,
    /// `decode`, or `output_throughput`, a lower bound of it.
    pub basis: &'static str,
}

/// Parts of the memory of one model in one campaign, cell by cell.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryStack {
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    /// By workload, then the baseline first.
    pub arms: Vec<MemoryArm>,
    /// Description in words.
    pub finding: String,
}

/// Memory of one cell, GiB.
#[derive(Debug, Clone, Serialize)]
pub struct MemoryArm {
    pub workload: String,
    pub environment: String,
    pub runs: usize,
    /// What the whole is: `peak` in use, or the `device`.
    pub whole_is: Option<&'static str>,
    pub whole_gib: Option<Estimate>,
    /// Weights as the engine or the process reports them.
    pub weights_gib: Option<Estimate>,
    /// Reported peak of the runs, where it was read before the KV cache existed: memory in use then, weights included.
    pub before_cache_gib: Option<Estimate>,
    pub kv_cache_gib: Option<Estimate>,
    /// Rest of the whole, run by run.
    pub rest_gib: Option<Estimate>,
    /// Absent or contradicting parts, in words.
    pub notes: Vec<String>,
}

/// The same model, lengths and load on one machine under several engines.
#[derive(Debug, Clone, Serialize)]
pub struct EngineTable {
    /// Unique among the tables. A slug.
    pub id: String,
    /// Model id, or the label where there is none.
    pub model: String,
    /// Machine, as in [`Place`].
    pub machine: Option<String>,
    /// The same for people.
    pub machine_title: Option<String>,
    /// Devices that work together.
    pub devices: f64,
    /// Input tokens of a request.
    pub isl: Option<f64>,
    /// Output tokens of a request.
    pub osl: Option<f64>,
    /// Batch or concurrency limit.
    pub batch: Option<f64>,
    /// Requests sent a second.
    pub request_rate: Option<f64>,
    /// The engine that others are compared with first, then by name.
    pub rows: Vec<EngineRow>,
    /// Every other row against the first, metric by metric. `baseline` and `candidate` are labels of rows.
    pub comparisons: Vec<Comparison>,
}

/// One engine of a table.
#[derive(Debug, Clone, Serialize)]
pub struct EngineRow {
    /// Distinguishes it from the other rows.
    pub label: String,
    #[serde(flatten)]
    pub cell: CellName,
    pub engine: String,
    pub engine_version: Option<String>,
    /// Precision of the weights.
    pub quantisation: Option<String>,
    pub runs: usize,
    /// Output tokens a second.
    pub output_tok_s: Option<Estimate>,
    /// Time to first token.
    pub ttft_ms: Option<Estimate>,
    /// Time per output token.
    pub tpot_ms: Option<Estimate>,
    /// End-to-end latency.
    pub e2e_latency_ms: Option<Estimate>,
    pub peak_memory_gib: Option<Estimate>,
}

/// Clients that measured the same server in one campaign.
#[derive(Debug, Clone, Serialize)]
pub struct AgreementTable {
    /// Unique among the tables. A slug.
    pub id: String,
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    /// Machine, as in [`Place`].
    pub machine: Option<String>,
    /// The same for people.
    pub machine_title: Option<String>,
    /// Engine of the server, where a client or the campaign names it.
    pub engine: Option<String>,
    pub engine_version: Option<String>,
    /// Label of the client that others are compared with.
    pub reference: Option<String>,
    /// Every client, by label.
    pub clients: Vec<AgreementClient>,
    /// Metric by metric, how far apart they are.
    pub metrics: Vec<AgreementMetric>,
    /// All of it in a sentence or two for each of the truth and the reference.
    pub said: Vec<String>,
}

/// One client of a table.
#[derive(Debug, Clone, Serialize)]
pub struct AgreementClient {
    /// Distinguishes it from the others.
    pub label: String,
    /// Environment label of its cells.
    pub environment: String,
    pub version: Option<String>,
    pub runs: usize,
    /// Of them failed.
    pub failed: usize,
    /// Input tokens of a request, as it reports them.
    pub isl: Option<Estimate>,
    /// Output tokens of a request, as it reports them.
    pub osl: Option<Estimate>,
    /// Processor time of its processes for 1,000 output tokens, seconds.
    pub cpu_s_per_1k_tok: Option<Estimate>,
}

/// How far apart the clients are by one metric.
#[derive(Debug, Clone, Serialize)]
pub struct AgreementMetric {
    /// Metric name.
    pub metric: String,
    /// The same for people.
    pub label: String,
    pub unit: &'static str,
    /// Difference that does not matter, per cent.
    pub margin_pct: f64,
    /// The true value, where the server knows it.
    pub truth: Option<f64>,
    /// Clients against the truth, then against the reference.
    pub pairs: Vec<AgreementPair>,
}

/// A client compared with another, or against the truth.
#[derive(Debug, Clone, Serialize)]
pub struct AgreementPair {
    /// Label of the client.
    pub client: String,
    /// Label of the reference, or `truth`.
    pub against: String,
    pub rounds: usize,
    /// Pairs of runs.
    pub pairs: usize,
    /// Mean difference, per cent: the geometric mean of the ratios less one.
    pub bias_pct: f64,
    /// The same with its interval. Absent for a single round.
    pub bias: Option<Ranged>,
    /// Lower limit of agreement, per cent.
    pub lower: Option<Ranged>,
    /// Upper limit of agreement, per cent.
    pub upper: Option<Ranged>,
    /// Relation of the two.
    pub kind: Agreeing,
    /// The same in words.
    pub sentence: String,
    /// How the definitions of the two differ. Absent where they are the same, or one side is the truth.
    pub definition: Option<String>,
    /// Mean difference under each load, by workload label.
    pub by_load: Vec<(String, Ranged)>,
    /// Every pair.
    pub points: Vec<AgreementPoint>,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ranged {
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Relation of two clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreeing {
    /// Both limits of agreement lie within the margin.
    Interchangeable,
    /// The mean difference lies within the margin, single ones do not.
    OnAverage,
    /// The mean difference lies beyond the margin.
    Apart,
    /// The interval of the mean difference reaches over the margin.
    Undecided,
}

/// One pair of runs.
#[derive(Debug, Clone, Serialize)]
pub struct AgreementPoint {
    pub workload: String,
    pub round: u32,
    /// Run of the reference. Absent where that is the truth.
    pub reference_run: Option<String>,
    /// Run of the client.
    pub run: String,
    /// Geometric mean of the two figures, in the unit of the metric.
    pub mean: f64,
    /// Difference of the client's figure from the other, per cent.
    pub difference_pct: f64,
}
