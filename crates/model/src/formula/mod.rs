//! Expressions that define a metric: `output_throughput_tok_s / power_w`, `p99(e2e_latency_ms / output_tokens)`.
//!
//! In:  the text of an expression, the figures, requests and server metrics of one run.  Out: [`Formula`], and a figure or the reason why
//! there is none.
//! Not here: where an expression is written down (see `ingest::custom`), reading files.
//!
//! An expression is checked completely before it is applied to any run: every name, every function, and the unit of every part. The language
//! is a part of SQL's expressions, read by the parser of Apache DataFusion. It has no tables and no queries. Nothing in it loops over
//! anything but the requests of a run, so an expression always ends.

mod check;
pub mod definition;
mod syntax;
#[cfg(test)]
mod tests;
mod unit;
mod vocabulary;
mod work_out;

pub use self::check::Formula;
pub use self::unit::Unit;
pub use self::vocabulary::{AGGREGATES, Aggregate, FIELDS, FUNCTIONS, Field, SERVER_FUNCTIONS, SETTINGS};
pub use self::work_out::{Requests, RunFigures, over};

/// Longest text of an expression, bytes.
pub const TEXT_MAX: usize = 2_000;

/// Fault of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Column of the text, from 1. Absent where the whole is at fault.
    pub column: Option<u64>,
    /// What is wrong. Fits after the name of a key: `names "tokens", which is not known`.
    pub what: String,
    pub remedy: String,
}

impl Fault {
    fn new(column: Option<u64>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { column, what: what.into(), remedy: remedy.into() }
    }
}

/// A figure of a server's metrics that an expression asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerFigure {
    /// Aggregation of the samples.
    pub what: ServerWhat,
    /// Name of the sample, e.g. `vllm:prompt_tokens_total`.
    pub name: String,
    /// Labels that a sample must have, with their values.
    pub labels: Vec<(String, String)>,
}

/// Aggregation of the samples of a server's metrics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServerWhat {
    /// Growth of a counter for each second.
    Rate,
    /// Growth of a counter.
    Delta,
    /// Mean of a gauge over the snapshots.
    Level,
    /// Largest value of a gauge in the snapshots.
    Peak,
    /// Mean of what a histogram counted during the load.
    HistogramMean,
    /// Quantile of what a histogram counted during the load, from 0 to 1.
    HistogramQuantile(f64),
}
