//! The cost of a cell's tokens, its price, and the best choice.
//!
//! In:  filled by `verdict::cost` and `verdict::reference`.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

use super::physics::Estimate;

/// The price that a cell is charged.
#[derive(Debug, Clone, Serialize)]
pub struct PriceReport {
    /// Key of the list.
    pub key: String,
    /// For people.
    pub title: String,
    /// Day it was read.
    pub date: String,
    /// USD an hour that the run is charged.
    pub usd_per_hour: f64,
    /// How that follows from the list, in words.
    pub basis: String,
    /// True where a user's file gives it.
    pub own: bool,
    /// Where it comes from.
    pub sources: Vec<String>,
}

/// Another price of the same machine, and what it would make of the cost.
#[derive(Debug, Clone, Serialize)]
pub struct OtherPrice {
    pub price: PriceReport,
    /// USD per million output tokens.
    pub usd_per_million_output: Option<Estimate>,
}

/// Input and output priced apart: one hour pays for both.
#[derive(Debug, Clone, Serialize)]
pub struct ApartReport {
    /// Value of an output token in input tokens.
    pub output_weight: f64,
    /// USD per million input tokens.
    pub usd_per_million_input: f64,
    /// USD per million output tokens.
    pub usd_per_million_output: f64,
}

/// One cell and what its tokens cost.
#[derive(Debug, Clone, Serialize)]
pub struct CostReport {
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    pub workload: String,
    pub environment: String,
    /// Model id, where the runs say it.
    pub model_id: Option<String>,
    /// Machine label of the facts.
    pub machine: Option<String>,
    /// Machine for people: the facts' name, else as the files print it.
    pub machine_title: Option<String>,
    /// Devices that work together.
    pub devices: f64,
    pub engine: Option<String>,
    /// Precision of the weights.
    pub quantisation: Option<String>,
    /// Batch or concurrency limit.
    pub batch: Option<f64>,
    /// Input tokens of a request.
    pub isl: Option<f64>,
    /// Output tokens of a request.
    pub osl: Option<f64>,
    /// Output tokens a second of successful requests.
    pub output_tok_s: Option<Estimate>,
    /// Input tokens a second, where the runs report output and total.
    pub input_tok_s: Option<Estimate>,
    /// Time per output token: the p99 where the runs report it, else the mean.
    pub tpot_ms: Option<Estimate>,
    /// Time to first token, likewise.
    pub ttft_ms: Option<Estimate>,
    pub price: Option<PriceReport>,
    /// The whole hour charged to the output tokens.
    pub usd_per_million_output: Option<Estimate>,
    /// The whole hour charged to the input tokens.
    pub usd_per_million_input: Option<Estimate>,
    /// The whole hour charged to all tokens alike.
    pub usd_per_million_total: Option<Estimate>,
    /// Both, priced apart.
    pub apart: Option<ApartReport>,
    /// Output tokens for one USD.
    pub output_tokens_per_usd: Option<Estimate>,
    /// Power as the runs report it, W. Of the device, not of the wall.
    pub power_w: Option<Estimate>,
    /// Output tokens a second for each watt of it.
    pub tok_s_per_w: Option<Estimate>,
    /// Output tokens for a joule, from the energy that the runs report.
    pub output_tokens_per_j: Option<Estimate>,
    /// Other prices of the machine.
    pub other_prices: Vec<OtherPrice>,
    /// Missing facts where something is absent.
    pub missing: Vec<String>,
    /// Output rates run by run, for what is computed from several cells.
    #[serde(skip)]
    pub rates: Vec<f64>,
}

/// A batch size with the figure that chose it.
#[derive(Debug, Clone, Serialize)]
pub struct Choice {
    /// Batch or concurrency limit.
    pub batch: f64,
    /// Workload label of the cell.
    pub workload: String,
    /// The figure: tok/s or USD per million output tokens.
    pub value: Estimate,
    /// Other batch sizes whose intervals overlap with its own, so that these runs do not separate them.
    pub not_told_apart: Vec<f64>,
}

/// The best batch size of one model, machine and shape of requests.
#[derive(Debug, Clone, Serialize)]
pub struct BestBatch {
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    pub environment: String,
    /// Machine for people.
    pub machine: Option<String>,
    /// Input tokens of a request.
    pub isl: f64,
    /// Output tokens of a request.
    pub osl: f64,
    /// Batch sizes that were measured.
    pub batches: Vec<f64>,
    /// Highest output throughput.
    pub by_throughput: Option<Choice>,
    /// Lowest cost per output token.
    pub by_cost: Option<Choice>,
    /// Lowest cost among those that keep the limits. By throughput where there is no price.
    pub within_limits: Option<Choice>,
    /// Limit on the time per output token, ms.
    pub limit_tpot_ms: f64,
    /// Limit on the time to first token, ms.
    pub limit_ttft_ms: f64,
    /// Batch sizes that do not keep the limits, or of which it is not known, with the reason.
    pub excluded: Vec<Excluded>,
}

/// A batch size that is not chosen under the limits.
#[derive(Debug, Clone, Serialize)]
pub struct Excluded {
    /// Batch or concurrency limit.
    pub batch: f64,
    pub why: String,
}

/// One machine of a table of several.
#[derive(Debug, Clone, Serialize)]
pub struct MachineRow {
    /// Machine for people.
    pub machine: String,
    /// Devices that work together.
    pub devices: f64,
    /// Campaign slug.
    pub campaign: String,
    pub workload: String,
    pub environment: String,
    /// Output tokens a second.
    pub output_tok_s: Estimate,
    /// USD per million output tokens.
    pub usd_per_million_output: Option<Estimate>,
    /// Cost over that of the cheapest row. Of the rates alone the inverse ratio to the fastest where nothing has a price.
    pub cost_ratio: Option<Estimate>,
}

/// The same model and shape of requests on several machines.
#[derive(Debug, Clone, Serialize)]
pub struct MachineTable {
    /// Model id, or the label where there is none.
    pub model: String,
    /// Precision of the weights.
    pub quantisation: Option<String>,
    /// Input tokens of a request.
    pub isl: f64,
    /// Output tokens of a request.
    pub osl: f64,
    /// Batch or concurrency limit.
    pub batch: f64,
    /// Cheapest first, those without a price last.
    pub rows: Vec<MachineRow>,
}

/// A published figure beside one's own.
#[derive(Debug, Clone, Serialize)]
pub struct ReferenceReport {
    /// Key of the list.
    pub key: String,
    /// Machine for people.
    pub machine: String,
    /// Machines that worked together.
    pub machines: f64,
    /// Model as the source names it.
    pub model: String,
    /// Precision.
    pub quantisation: Option<String>,
    pub engine: Option<String>,
    /// Further information of the source on the workload.
    pub workload: Option<String>,
    /// Requests at a time.
    pub concurrency: Option<f64>,
    /// Prompt tokens a second.
    pub prefill_tok_s: Option<f64>,
    /// Output tokens a second, all requests together.
    pub decode_tok_s: Option<f64>,
    /// Upper end of a range.
    pub decode_tok_s_high: Option<f64>,
    /// Matrix products, TFLOP/s.
    pub gemm_tflops: Option<f64>,
    /// Notes for the reader.
    pub note: Option<String>,
    /// Day of the source.
    pub date: Option<String>,
    /// Where it was published.
    pub sources: Vec<String>,
    /// Cells of this analysis with the same model on the same machine.
    pub own: Vec<OwnFigure>,
}

/// One of one's own cells beside a published figure.
#[derive(Debug, Clone, Serialize)]
pub struct OwnFigure {
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    pub workload: String,
    pub environment: String,
    /// Precision of the weights.
    pub quantisation: Option<String>,
    /// Batch or concurrency limit.
    pub batch: Option<f64>,
    /// Output tokens a second.
    pub output_tok_s: Estimate,
}
