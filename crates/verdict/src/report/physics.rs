//! The limits of a cell from memory and arithmetic, and the share that it reaches.
//!
//! In:  filled by `verdict::physics`.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use serde::Serialize;

/// A mean over runs with its interval. An end that does not exist is absent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    pub n: usize,
    /// The point.
    pub mean: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl Estimate {
    /// Whether two intervals share a value. Points where there is no interval.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (self.low.unwrap_or(self.mean), self.high.unwrap_or(self.mean));
        let (c, d) = (other.low.unwrap_or(other.mean), other.high.unwrap_or(other.mean));
        a <= d && c <= b
    }
}

/// One cell under its roofline.
#[derive(Debug, Clone, Serialize)]
pub struct PhysicsReport {
    /// Campaign slug.
    pub campaign: String,
    pub model: String,
    pub workload: String,
    pub environment: String,
    /// Machine as the facts name it.
    pub machine: Option<String>,
    /// Devices of it that work together.
    pub devices: f64,
    /// Precision of the weights, as stated.
    pub quantisation: Option<String>,
    /// Sequences that share a step.
    pub sequences: Option<f64>,
    /// Mean context of a sequence while it decodes. Absent: lengths unknown, no cache counted.
    pub context_tokens: Option<f64>,
    /// Bytes of weights that a step reads.
    pub weight_bytes_per_step: Option<f64>,
    /// Bytes of the KV cache that a step reads, all sequences together.
    pub kv_bytes_per_step: Option<f64>,
    /// Tokens that a sequence gains in a step. Above 1 where tokens are speculated.
    pub tokens_per_step: Option<f64>,
    pub steps_per_second: Option<f64>,
    /// The rate that is compared with the ceiling.
    pub rate_tok_s: Option<Estimate>,
    /// `decode`, or `output_throughput`, which holds the prefill too and gives a lower bound.
    pub basis: Option<&'static str>,
    /// Nominal bandwidth of one device.
    pub bandwidth_gb_s: Option<f64>,
    /// Bandwidth that a probe in this campaign measured.
    pub measured_bandwidth_gb_s: Option<f64>,
    /// Ceiling by nominal bandwidth.
    pub memory_bound_tok_s: Option<f64>,
    /// Ceiling by nominal dense arithmetic.
    pub compute_bound_tok_s: Option<f64>,
    /// Share of the lower ceiling, per cent.
    pub roofline_pct: Option<Estimate>,
    /// Share of the ceiling by what a probe measured, per cent.
    pub measured_roofline_pct: Option<Estimate>,
    /// Room for a KV cache, where the share of the memory is stated.
    pub kv: Option<KvReport>,
    /// Missing facts where there is no share. Empty otherwise.
    pub missing: Vec<String>,
}

/// Room for a KV cache by the settings, an upper bound, against what the run reports.
#[derive(Debug, Clone, Serialize)]
pub struct KvReport {
    /// How the engine reads its share of the memory.
    pub formula: &'static str,
    /// Room, GiB.
    pub expected_gib: f64,
    /// Room in tokens of the model, where its bytes per token are known.
    pub expected_tokens: Option<f64>,
    /// What the run reports, GiB.
    pub reported_gib: Option<f64>,
    /// What the run reports, tokens.
    pub reported_tokens: Option<f64>,
}
