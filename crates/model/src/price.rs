//! Prices of machines, published figures, and service objectives: dated, sourced, and replaceable by a user.
//!
//! In:  nothing.  Out: [`PriceFacts`], [`ReferenceFacts`], [`LimitFacts`], read by `ingest` from TOML files.
//! Not here: values of our own (`data/facts/prices.toml`, `reference.toml`), the cost of a token (see `stats::economy`).

use serde::{Deserialize, Serialize};

/// How much of an instance with several GPUs a run on some of them is charged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Billing {
    /// Whole instances, as many as the run needs, because idle ones are paid for too.
    #[default]
    Whole,
    /// The run's share of the GPUs: the others are put to use.
    Share,
}

/// A price of a machine: rented by the hour, or bought.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceFacts {
    /// For people.
    pub title: String,
    /// Machine label, a key of the machine facts.
    pub machine: String,
    /// Day the price was read, `2026-06-17`, or what is known of it. `undated` where nothing is.
    pub date: String,
    /// GPUs of one instance. 1 where absent.
    pub gpus: Option<f64>,
    /// Price of a whole instance, USD an hour. For a machine of one's own the next fields are used instead.
    pub usd_per_hour: Option<f64>,
    /// How a run on some of the GPUs is charged.
    #[serde(default)]
    pub billing: Billing,
    /// Purchase price, USD.
    pub purchase_usd: Option<f64>,
    /// Years until it is written off.
    pub years: Option<f64>,
    /// Share of those years in which it works, above 0 and at most 1.
    pub utilisation: Option<f64>,
    /// Power at the wall while it works, W.
    pub wall_power_w: Option<f64>,
    /// Tariff, USD for a kWh.
    pub usd_per_kwh: Option<f64>,
    /// Energy of cooling and distribution on top, as a factor. 1 where absent.
    pub overhead: Option<f64>,
    /// What an output token is worth, in input tokens, where both are priced together.
    pub output_weight: Option<f64>,
    /// Campaigns, environments or workloads that this price is for. Empty: every run on the machine.
    #[serde(default)]
    pub labels: Vec<String>,
    /// True where a user's file gives it.
    #[serde(skip)]
    pub own: bool,
    /// That file.
    #[serde(skip)]
    pub from: Option<String>,
    /// True where that file was allowed to come before ours.
    #[serde(skip)]
    pub wins: bool,
    /// Where each figure comes from.
    pub sources: Vec<String>,
}

/// A published figure, shown beside one's own as context and never judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceFacts {
    /// Model as the source names it.
    pub model: String,
    /// Model id, where the source leaves no doubt.
    pub model_id: Option<String>,
    /// Machine label, a key of the machine facts.
    pub machine: String,
    /// Machines that worked together. 1 where absent.
    pub machines: Option<f64>,
    /// Precision as served.
    pub quantisation: Option<String>,
    /// Engine and version.
    pub engine: Option<String>,
    /// Lengths, flags and whatever else the source says of the workload.
    pub workload: Option<String>,
    /// Requests at a time.
    pub concurrency: Option<f64>,
    /// Prompt tokens a second.
    pub prefill_tok_s: Option<f64>,
    /// Output tokens a second of all requests together.
    pub decode_tok_s: Option<f64>,
    /// Upper end, where the source gives a range.
    pub decode_tok_s_high: Option<f64>,
    /// Matrix products, TFLOP/s.
    pub gemm_tflops: Option<f64>,
    /// Notes for the reader.
    pub note: Option<String>,
    /// Day of the source, or what is known of it.
    pub date: Option<String>,
    /// File that gives it, where it is none of ours.
    #[serde(skip)]
    pub from: Option<String>,
    /// Where it was published.
    pub sources: Vec<String>,
}

/// Latencies that a service must keep, for the choice of a batch size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitFacts {
    /// Highest mean time per output token, ms.
    pub tpot_ms: Option<f64>,
    /// Highest mean time to first token, ms.
    pub ttft_ms: Option<f64>,
}

impl LimitFacts {
    /// Later limits win, one by one.
    pub fn extend(&mut self, other: &Self) {
        self.tpot_ms = other.tpot_ms.or(self.tpot_ms);
        self.ttft_ms = other.ttft_ms.or(self.ttft_ms);
    }
}
