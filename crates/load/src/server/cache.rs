//! Checks the cache contract against the server's own counters.
//!
//! In:  the promise, a [`Difference`].  Out: [`CacheCheck`]: kept, broken or unknown, with its figure.
//! Not here: making prompts that keep it (see `plan`), whether a broken one fails a run (see `workload`).

use serde::{Deserialize, Serialize};

use super::counters::Difference;
use crate::settings::{Cache, Word};

/// A cold load finds less than this share of its prompt tokens in the cache. Engines share whole blocks (16 tokens and more) and the
/// nonce is in the first one, so that nothing is shared. One per cent leaves room for the few words of a health check.
pub(crate) const COLD_MAX: f64 = 0.01;

/// Cached tokens in each request that are no breach. Servers that share single tokens (llama-server, SGLang) find the marks before the
/// user's words again in every prompt. They are `<|im_start|>`, `user`, a line end, and the like. Measured on llama-server with such a
/// template: 3 to 4. A template with its own system prompt goes beyond it. Then the cache is not cold. Declare it as `natural`, or switch
/// the server's cache off.
pub(crate) const HEAD: f64 = 8.0;

/// Where single tokens are shared, by the counter for them.
const BY_TOKEN: &[&str] = &["llamacpp:", "sglang:"];

/// A primed load finds at least this share. The last block of a prompt is never shared unless it is full, and the last token is always
/// recomputed. With blocks of 16, 112 of 128 tokens can be found (87.5 %), and 240 of 256 (93.8 %).
pub(crate) const PRIMED_MIN: f64 = 0.90;

/// Tokens in a block of the cache that are allowed to miss at the end of each primed prompt, see [`PRIMED_MIN`].
pub(crate) const BLOCK: f64 = 16.0;

/// Outcome of the promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromiseOutcome {
    /// The counters agree with it.
    Yes,
    /// The counters speak against it.
    No,
    /// Nothing was promised: the figure is reported.
    NotPromised,
    /// The server does not count it.
    Unknown,
}

/// The contract and what the server counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheCheck {
    /// `cold`, `primed` or `natural`.
    pub promised: String,
    /// Its outcome.
    pub kept: PromiseOutcome,
    /// Tokens found over tokens looked for, 0 to 1.
    pub hit_rate: Option<f64>,
    /// The metric it comes from.
    pub source: Option<String>,
    /// In words, for people.
    pub words: String,
}

impl CacheCheck {
    /// Holds a promise against the counters of the measured part.
    ///
    /// - `difference`: of snapshots just before and just after the measured part (priming done before). Absent without metrics.
    /// - `requests`: that were answered in it, to allow each primed prompt its last block, and each cold one its head.
    pub fn judge(promised: Cache, difference: Option<&Difference>, requests: u64) -> Self {
        let word = promised.word();
        let source = difference.and_then(|difference| difference.cache_source).map(str::to_owned);
        let Some((difference, rate)) = difference.and_then(|found| Some((found, found.hit_rate()?))) else {
            return Self {
                promised: word.to_owned(),
                kept: if promised == Cache::Natural { PromiseOutcome::NotPromised } else { PromiseOutcome::Unknown },
                hit_rate: None,
                source,
                words: "the server does not report how much of the prompts its cache held".to_owned(),
            };
        };
        // By queries, so that a mean over prompts of any length is allowed its last blocks.
        let queries = difference.cache_queries.unwrap_or_default();
        let last_blocks = BLOCK * requests as f64 / queries;
        let least = (PRIMED_MIN - last_blocks).clamp(0.0, PRIMED_MIN);
        let by_token =
            difference.cache_source.is_some_and(|name| BY_TOKEN.iter().any(|prefix| name.starts_with(prefix)));
        let heads = if by_token { HEAD * requests as f64 / queries } else { 0.0 };
        let most = (COLD_MAX + heads).min(1.0);
        let kept = match promised {
            Cache::Cold if rate < most => PromiseOutcome::Yes,
            Cache::Primed if rate >= least => PromiseOutcome::Yes,
            Cache::Natural => PromiseOutcome::NotPromised,
            Cache::Cold | Cache::Primed => PromiseOutcome::No,
        };
        let limit = match promised {
            Cache::Cold => format!(" (cold: below {:.1} %)", most * 100.0),
            Cache::Primed => format!(" (primed: at least {:.0} %)", least * 100.0),
            Cache::Natural => String::new(),
        };
        let words = format!("{:.1} % of the prompt tokens were in the server's cache{limit}", rate * 100.0);
        Self { promised: word.to_owned(), kept, hit_rate: Some(rate), source, words }
    }
}

impl CacheCheck {
    /// Note for the reader: it is broken, or could not be checked.
    pub fn note(&self) -> Option<String> {
        match self.kept {
            PromiseOutcome::No => Some(format!("the cache contract '{}' is broken: {}", self.promised, self.words)),
            PromiseOutcome::Unknown => {
                Some(format!("the cache contract '{}' cannot be checked: {}", self.promised, self.words))
            }
            PromiseOutcome::Yes | PromiseOutcome::NotPromised => None,
        }
    }
}
