//! The summary of a load: `sparkbench.load/1` for scripts, and a table for people.
//!
//! In:  [`Stored`], what the session knows ([`Facts`]), the client's certificate.  Out: [`Summary`].
//! Not here: whether one server is faster than another (see `verdict`), running anything.
//!
//! Every figure carries the id of its definition (see `definitions`). An unknown figure is null with the reason beside it. Examples are a
//! percentile of too few requests, and a rate without a count of tokens. Another is a gap between tokens where a chunk holds several.
//! Latencies are those of answered requests (`ok` and `short`). Failed requests are in the counts. Nothing is subtracted and nothing is made
//! up.

pub mod cells;
mod cold;
mod count;
pub(crate) mod definitions;
pub mod export;
mod open;
mod pass;
pub mod points;
mod rank_line;
mod samples;
mod text;
mod unseen;
mod window;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::cold::ColdStart;
#[cfg(test)]
pub use self::definitions::DEFINITIONS;
pub use self::definitions::Definition;
pub use self::rank_line::RankLine;
pub use self::samples::{EXACT, Metric, RESOLUTION_PCT, Samples};
pub(crate) use self::text::figure;
pub use self::text::{brief, text};
pub use self::window::{REACHED, Window};
use super::certificate::{ClientCertificate, Lags};
use super::chat::Figures;
use super::order::EndedBy;
use super::schedule::gaps::Fit;
use super::settings::{Arrival, Settings, Shape, Slos};
use super::store::Stored;
use super::until::UntilReport;
use sparkbench_archive::mask::Veil;
use sparkbench_host::net::Ns;
use sparkbench_text::error::Error;
use sparkbench_text::plural::counted;

/// Basis of the steady part of a closed loop: every place is taken.
pub(crate) const IN_FLIGHT: &str = "in-flight";

/// Schema of [`Summary`].
pub const SCHEMA: &str = "sparkbench.load/1";
/// Share of failed requests beyond which a run is invalid.
pub const ERRORS_MAX: f64 = 0.01;
/// Per cent: a median of reported input tokens further than this from the request is reported.
pub const ISL_OFF_PCT: f64 = 2.0;
/// Least share of answers with one token a chunk for which gaps between tokens are given. Below it the gaps would show a choice of the
/// server, not the load.
pub const ONE_TOKEN_SHARE: f64 = 0.95;
/// Share of answers that cannot be judged beyond which there is no goodput. With more of them it would be the share of what is known, and
/// not of what is good.
pub const UNJUDGED_MAX: f64 = 0.5;

/// Different reasons of failed warm-up requests that a note quotes, the most frequent ones.
const REASONS_SAID: usize = 3;

/// Who counted the output tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenSource {
    /// The server's `usage`.
    Usage,
}

/// Wanted number in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// A fixed number in flight at any time.
    Closed(f64),
    /// Arrivals at a rate (per second, where there is one), with a limit in flight.
    Open(Option<f64>, Option<u32>),
}

/// Facts of the session beside the records.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Address without credentials.
    pub url: String,
    /// Model asked for.
    pub model: Option<String>,
    /// Start, ISO 8601 in UTC.
    pub started_utc: String,
    /// The settings, in the form for the summary.
    pub settings: serde_json::Value,
    /// Wanted number in flight.
    pub goal: Goal,
    /// The arrival process of an open loop and its rate per second, where it is one and keeps to it (no ramp, no cap).
    pub process: Option<(Arrival, f64)>,
    /// The rate that an open loop keeps to from its first request on, per second. Absent with a ramp.
    pub asked_rate: Option<f64>,
    /// Measured requests of the plan, where it has a number.
    pub planned: Option<u64>,
    /// Objectives.
    pub slos: Slos,
    /// Cut off the end for steady figures, seconds.
    pub cooldown_cut_s: f64,
    /// Who counted. Absent takes the records' word, which is the server's usage.
    pub token_source: Option<TokenSource>,
    /// A round trip without work, where one was measured, ms.
    pub rtt_ms: Option<f64>,
    /// Further remarks for people (lengths not honoured, cache contract broken, sizes skipped).
    pub notes: Vec<String>,
    /// Those that change the meaning of a figure.
    pub loud: Vec<String>,
}

impl Facts {
    /// Summary of the settings for this client's share. The rest is empty.
    pub fn of(settings: &Settings) -> Self {
        let share = settings.share;
        let own = |most: Option<u32>| most.map(|most| share.of(most));
        let rate_of = |rate: f64| rate / f64::from(share.world);
        Self {
            url: String::new(),
            model: settings.model.clone(),
            started_utc: String::new(),
            settings: serde_json::Value::Null,
            goal: match &settings.shape {
                Shape::Closed { concurrency } => Goal::Closed(f64::from(share.of(*concurrency))),
                Shape::Open { rate, max_concurrency, .. } => Goal::Open(Some(rate_of(*rate)), own(*max_concurrency)),
                Shape::Trace { max_concurrency, .. } => Goal::Open(None, own(*max_concurrency)),
            },
            process: match settings.shape {
                Shape::Open { rate, arrival, max_concurrency: None } if settings.ramp.is_none() => {
                    Some((every(arrival, share.world), rate_of(rate)))
                }
                _ => None,
            },
            asked_rate: match settings.shape {
                Shape::Open { rate, .. } if settings.ramp.is_none() => Some(rate_of(rate)),
                _ => None,
            },
            planned: settings.requests,
            slos: settings.slos,
            cooldown_cut_s: settings.cooldown_cut_s,
            token_source: None,
            rtt_ms: None,
            notes: Vec::new(),
            loud: Vec::new(),
        }
    }
}

/// The gaps between every n-th arrival: sums of n gaps. Those of a gamma process, of which Poisson's is one, are gamma again.
fn every(arrival: Arrival, n: u32) -> Arrival {
    match arrival {
        _ if n == 1 => arrival,
        Arrival::Constant => Arrival::Constant,
        Arrival::Poisson => Arrival::Gamma(f64::from(n)),
        Arrival::Gamma(shape) => Arrival::Gamma(shape * f64::from(n)),
    }
}

/// `sparkbench.load/1`. Absent is null. What does not apply is left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    pub schema: &'static str,
    /// Program and version.
    pub tool: Tool,
    /// Address without credentials.
    pub url: String,
    /// Model asked for.
    pub model: Option<String>,
    /// Models that responses named, and how often.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models_seen: BTreeMap<String, u64>,
    /// `finish_reason` of the answers as given, and how often. Only the first few different ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub finish_reasons: BTreeMap<String, u64>,
    /// Start, ISO 8601 in UTC.
    pub started_utc: String,
    /// As set.
    pub settings: serde_json::Value,
    /// False where requests were never sent, or more than [`ERRORS_MAX`] failed, or none was answered.
    pub valid: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid_because: Vec<String>,
    /// What ended the load.
    pub ended_by: EndedBy,
    /// Measured requests that were planned.
    pub planned: u64,
    /// Of the planned, those that were never sent.
    pub not_sent: u64,
    /// Answered, short ones included.
    pub completed: u64,
    /// Not answered.
    pub failed: u64,
    /// Requests in flight when the load was stopped. They are neither answered nor failed.
    pub cancelled: u64,
    /// Of the completed, those with fewer tokens than exactly asked for.
    pub short: u64,
    /// Of the completed, those with more tokens than asked for.
    pub longer: u64,
    /// Of the completed, those whose count of output tokens what came contradicts. They are in no figure of tokens.
    pub contradicted: u64,
    /// Of the completed, those that the server counts as longer than asked for although just as many chunks came. Their chunks are counted as
    /// tokens. Left out without any.
    #[serde(skip_serializing_if = "is_none")]
    pub above_limit: u64,
    /// Answers that nobody had asked for, which a kept connection brought. Left out without any.
    #[serde(skip_serializing_if = "is_none")]
    pub unasked: u64,
    /// Failed requests by kind.
    pub errors: BTreeMap<&'static str, u64>,
    /// Of the failed, those whose time limit ended them behind their first token. Left out without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
    /// Codes of responses that are not 200.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub http: BTreeMap<u16, u64>,
    /// `Retry-After` as given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub retry_after: BTreeMap<String, u64>,
    /// Messages of the server or the system about failures, with counts. Only the first few different ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub said: BTreeMap<String, u64>,
    /// Requests that were sent again.
    pub resent: u64,
    /// How often requests were sent again, by cause. A request may be sent again several times.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resent_after: BTreeMap<String, u64>,
    /// Requests before the measured part, and those of them that were answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
    /// Of the requests before the measured part, those that failed. Left out without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_failed: Option<WarmupFailures>,
    /// First requests that were far slower than later ones, where too little was warmed up. Left out where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold_start: Option<ColdStart>,
    /// From the first send to the last generated piece, seconds.
    pub duration_s: Option<f64>,
    /// Of answered requests.
    pub input_tokens: Option<u64>,
    /// Of these from the prefix cache.
    pub cached_tokens: Option<u64>,
    /// Of answered requests.
    pub output_tokens: Option<u64>,
    /// Their counter. Null when they were not counted.
    pub token_source: Option<TokenSource>,
    /// Over [`Summary::duration_s`].
    pub request_throughput_req_s: Option<f64>,
    /// Over [`Summary::duration_s`].
    pub output_throughput_tok_s: Option<f64>,
    /// Over [`Summary::duration_s`].
    pub total_throughput_tok_s: Option<f64>,
    /// Mean in flight over [`Summary::duration_s`].
    pub concurrency_mean: Option<f64>,
    /// Arrivals that the schedule wanted, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_rate_req_s: Option<f64>,
    /// Sends, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achieved_rate_req_s: Option<f64>,
    /// The steady window.
    pub steady: Option<Steady>,
    /// For an open loop: how far the gaps between sends are from the requested process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Fit>,
    /// For an open loop: whether requests in flight and the time to the first token grew together to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oversaturated: Option<bool>,
    /// Under the stated objectives. Left out without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput: Option<Goodput>,
    /// Time to first token.
    pub ttft_ms: Metric,
    /// Time per output token.
    pub tpot_ms: Metric,
    /// Gaps between tokens.
    pub itl_ms: Metric,
    /// End-to-end latency.
    pub e2e_latency_ms: Metric,
    /// In an open loop, from sending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_from_sent_ms: Option<Metric>,
    /// To the first event.
    pub ttft_first_chunk_ms: Metric,
    /// To the first visible piece.
    pub ttfo_ms: Metric,
    /// Gaps between chunks.
    pub chunk_gap_ms: Metric,
    /// To the end of the response.
    pub e2e_stream_end_ms: Metric,
    /// Of each request.
    pub decode_tok_s: Metric,
    /// Of each request.
    pub e2e_tok_s: Metric,
    /// Of each request.
    pub prefill_tok_s: Metric,
    /// Of each request.
    pub tokens_per_chunk: Metric,
    /// By turn and by client, where the load was one of conversations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversations: Option<Figures>,
    /// How well the figure is known that was to end the load, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilReport>,
    /// Definitions of the figures that are plain numbers.
    pub definitions: BTreeMap<&'static str, &'static str>,
    /// Medians of the lengths.
    pub lengths: LengthMedians,
    /// For people. Those that change the meaning of a figure come first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How many of the notes, from the first on, change the meaning of a figure. Nobody may leave them out.
    #[serde(rename = "notes_loud", skip_serializing_if = "is_zero")]
    pub loud: usize,
    /// The client's certificate. Of several clients that of all together.
    pub client: ClientCertificate,
    /// The clients of a load that several made together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankLine>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Program and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tool {
    pub name: &'static str,
    pub version: &'static str,
}

/// Requests before the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Before {
    /// All.
    pub requests: u64,
    /// Answered.
    pub completed: u64,
}

/// Requests before the measured part that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WarmupFailures {
    /// All.
    pub count: u64,
    /// What the server or the system said of them, with counts. Only the first few different ones.
    pub reasons: BTreeMap<String, u64>,
}

impl WarmupFailures {
    /// Of what was stored.
    fn of(stored: &Stored) -> Option<Self> {
        (stored.before_failed > 0).then(|| Self { count: stored.before_failed, reasons: stored.before_said.clone() })
    }

    /// `5 of 5 warm-up requests failed (5 x "status 500: out of memory"), so nothing was warmed up`
    fn sentence(&self, of: u64) -> String {
        let mut often: Vec<(&String, &u64)> = self.reasons.iter().collect();
        often.sort_by(|one, other| other.1.cmp(one.1));
        let said: Vec<String> =
            often.iter().take(REASONS_SAID).map(|(words, number)| format!("{number} x \"{words}\"")).collect();
        let effect = if self.count < of { "the warm-up was not whole" } else { "nothing was warmed up" };
        format!("{} of {of} warm-up requests failed ({}), so {effect}", self.count, said.join(", "))
    }
}

/// Requests whose time limit ended them behind their first token. They are in no other figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unfinished {
    pub requests: u64,
    /// Fewest generated chunks that one of them had received.
    pub chunks_min: u32,
    /// Most of them.
    pub chunks_max: u32,
    /// Their time to first token.
    pub ttft_ms: Metric,
}

impl Unfinished {
    /// `4 requests were not complete in time, after 95 to 96 chunks each (mean TTFT 51.2 ms). That is in no figure. Raise --timeout`
    fn sentence(&self) -> String {
        let requests = counted(usize::try_from(self.requests).unwrap_or(usize::MAX), "request was", "requests were");
        let chunks = match (self.chunks_min, self.chunks_max) {
            (1, 1) => "1 chunk".to_owned(),
            (least, most) if least == most => format!("{least} chunks"),
            (least, most) => format!("{least} to {most} chunks"),
        };
        let ttft = self.ttft_ms.mean.map_or_else(String::new, |mean| format!(" (mean TTFT {} ms)", figure(mean)));
        let each = if self.requests == 1 { "" } else { " each" };
        format!("{requests} not complete in time, after {chunks}{each}{ttft}. That is in no figure. Raise --timeout")
    }
}

/// The window of full load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Steady {
    /// `in-flight`: at least 95 % of the concurrency asked for was in flight. `arrivals`: from the first send to the last, in an open loop.
    pub basis: &'static str,
    /// Concurrency asked for. Absent in an open loop.
    pub target: Option<f64>,
    /// Beginning, seconds from the origin of the files.
    pub from_s: f64,
    pub to_s: f64,
    /// Its length.
    pub duration_s: f64,
    /// Share of it in which the target was reached.
    pub share_at_target: f64,
    /// Mean in flight.
    pub concurrency_mean: f64,
    /// Answered requests that ended in it.
    pub completed: u64,
    /// Work on answered requests in it: the sum of the share of each that lies in it, by its time from sending to the last piece.
    pub requests: f64,
    /// `requests` per second.
    pub request_throughput_req_s: f64,
    /// Output tokens of answered requests that arrived in it, by the time of each chunk. Where many answers came at one moment each, the
    /// tokens of these count with the share of their time that lies in it, see `definition`.
    pub output_tokens: Option<f64>,
    /// Of these, per second. Absent where none arrived: the window is shorter than an answer's gaps then.
    pub output_throughput_tok_s: Option<f64>,
    /// How tokens were laid to chunks: `counted` by the server in each, `one` a chunk, `even` over the chunks of an answer.
    pub tokens_by: &'static str,
    /// Id of the definition of the output tokens per second.
    pub definition: &'static str,
}

/// Requests that met every objective.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goodput {
    /// The objectives: figure to the most allowed.
    pub slos: BTreeMap<&'static str, f64>,
    /// Requests that are known to have met all of them.
    pub good: u64,
    /// All planned, failed ones included.
    pub planned: u64,
    /// `good / planned`. Where some answers cannot be judged, it is the least that it may be.
    pub fraction: Option<f64>,
    /// Per second.
    pub req_s: Option<f64>,
    /// Answered requests that break no objective and have no value for one of them (a TPOT of one token, no count of tokens). They are
    /// not known to be good.
    pub unjudged: u64,
    /// Why the share and the rate are null: too few answers can be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// Id of the definition.
    pub definition: &'static str,
}

/// Medians of the lengths, tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LengthMedians {
    /// Input wanted.
    pub isl_asked_p50: Option<f64>,
    /// Input sent, by the local tokenizer.
    pub isl_sent_p50: Option<f64>,
    /// Input as the server counts it, with its template.
    pub isl_reported_p50: Option<f64>,
    /// Output wanted.
    pub osl_asked_p50: Option<f64>,
    /// Output as the server counts it.
    pub osl_reported_p50: Option<f64>,
}

/// Totals of a load, and figures of the client itself.
#[derive(Debug, Clone)]
pub struct Counted {
    /// Everything but [`Summary::client`], which is empty yet.
    pub summary: Summary,
    /// Sent minus intended, ms. Absent in a closed loop.
    pub schedule_lag_ms: Option<Lags>,
    /// Read minus arrived, ms. Absent without times of the kernel.
    pub read_lag_ms: Option<Lags>,
    /// Whether every first token has a time of the kernel.
    pub kernel_clock: bool,
    /// First send and last generated piece of the measured part, on the monotonic clock. Absent where one of them is.
    pub span: Option<(Ns, Ns)>,
}

impl Counted {
    /// With the certificate.
    pub fn certified(mut self, client: ClientCertificate) -> Summary {
        self.summary.client = client;
        self.summary
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Summary {
    /// Counts what was stored.
    ///
    /// # Errors
    /// When the rows or the chunks cannot be read back.
    pub fn count(facts: Facts, stored: &mut Stored) -> Result<Counted, Error> {
        count::count(facts, stored)
    }

    /// What is to stand on the run of an archive about the lengths of its answers, and about who counted them.
    pub fn marks_of_lengths(&self) -> Vec<String> {
        let of_all = |answers: u64| format!("{answers} of {}", self.completed);
        let mut marks = Vec::new();
        let mut mark = |answers: u64, words: &dyn Fn(String) -> String| {
            marks.extend((answers > 0).then(|| words(of_all(answers))));
        };
        mark(self.short, &|of| format!("{of} answers are shorter than was asked for exactly"));
        mark(self.longer, &|of| format!("{of} answers are longer than was asked for"));
        mark(self.contradicted, &|of| format!("{} in {of} answers", count::CONTRADICTED));
        mark(self.above_limit, &|of| {
            format!(
                "the server counts more output tokens than were asked for in {of} answers, whose chunks are counted in their place"
            )
        });
        marks
    }

    /// Takes secrets out of everything that it repeats of the server and of the settings.
    pub fn hide(&mut self, veil: &Veil) {
        if veil.is_empty() {
            return;
        }
        let keys = |counts: &mut BTreeMap<String, u64>| {
            for (said, count) in std::mem::take(counts) {
                *counts.entry(veil.said(&said)).or_default() += count;
            }
        };
        [&mut self.models_seen, &mut self.finish_reasons, &mut self.retry_after, &mut self.said]
            .into_iter()
            .for_each(keys);
        self.warmup_failed.iter_mut().for_each(|failed| keys(&mut failed.reasons));
        self.url = veil.text(&self.url);
        self.model.iter_mut().for_each(|model| *model = veil.text(model));
        veil.json(&mut self.settings);
        self.notes.iter_mut().chain(&mut self.invalid_because).for_each(|text| *text = veil.said(text));
        self.ranks.iter_mut().filter_map(|rank| rank.missing.as_mut()).for_each(|why| *why = veil.said(why));
    }

    /// As JSON with line ends, for a file or standard output.
    pub fn json(&self) -> String {
        // Strings, numbers and maps with plain keys cannot fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests;
