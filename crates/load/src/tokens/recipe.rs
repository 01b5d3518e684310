//! A text with a given number of tokens.
//!
//! In:  a [`Counter`], a [`Gauge`] where one could be taken.  Out: [`Recipe`].
//! Not here: which words (see `plan`).
//!
//! The number of words comes from a straight line. Where the words are one token each, the line is exact, and nothing is counted twice. That
//! is checked once over the whole list. Where they are not and a tokenizer is available, the text is counted and made longer or shorter, a
//! few times at most. Shared heads are not, since they must be the same bytes for all.

use std::fmt;
use std::sync::Arc;

use super::{Counter, Gauge, Origin};
use crate::plan::{Plan, PromptHead, Purpose, Text, TextWriter, all_words};
use sparkbench_text::error::Error;

/// Times that a text is corrected.
const ROUNDS: u32 = 4;
/// Words of a text that the line is drawn from, and how many of them.
const SAMPLE: u32 = 512;
const SAMPLES: u64 = 3;

/// See the module.
#[derive(Clone)]
pub(crate) struct Recipe {
    counter: Arc<dyn Counter>,
    /// Tokens of the server's template. Absent where unknown.
    overhead: Option<u32>,
    tokens_per_word: f64,
    /// Every word is one token.
    exact: bool,
}

impl Recipe {
    /// A word is a token, nothing is known of a template.
    #[cfg(test)]
    pub(crate) fn unknown() -> Self {
        Self { counter: Arc::new(super::Words), overhead: None, tokens_per_word: 1.0, exact: false }
    }

    /// Draws the line, asking the counter a few times.
    ///
    /// # Errors
    /// Errors of the counter.
    pub(crate) fn new(counter: Arc<dyn Counter>, gauge: Option<&Gauge>) -> Result<Self, Error> {
        let mut words = 0u64;
        let mut tokens = 0u64;
        let mut exact = true;
        for number in 0..SAMPLES {
            let mut text = String::new();
            let what = Text { purpose: Purpose::Probe, number: 1000 + number, nonce: false };
            if number == 0 {
                text = all_words();
            } else {
                TextWriter::new(number, 0).write(what, SAMPLE, &mut text);
            }
            let Some(counted) = counter.count(&text)? else {
                let (overhead, tokens_per_word) = gauge
                    .map_or((None, 1.0), |gauge| (Some(gauge.overhead.round().max(0.0) as u32), gauge.tokens_per_word));
                return Ok(Self { counter, overhead, tokens_per_word, exact: false });
            };
            exact &= counted == SAMPLE;
            words += u64::from(SAMPLE);
            tokens += u64::from(counted);
        }
        let overhead = match gauge {
            None => None,
            Some(gauge) => {
                let mut over = Vec::new();
                for point in &gauge.points {
                    let own = counter.count(&point.text)?.unwrap_or(0);
                    over.push(f64::from(point.tokens) - f64::from(own));
                }
                (!over.is_empty()).then(|| sparkbench_stats::mean(&over))
            }
        };
        Ok(Self {
            counter,
            overhead: overhead.map(|mean| mean.round().max(0.0) as u32),
            tokens_per_word: if exact { 1.0 } else { (tokens as f64 / words as f64).max(0.1) },
            exact,
        })
    }

    /// Who counts.
    pub(crate) fn origin(&self) -> Origin {
        match self.counter.origin() {
            Origin::Unknown if self.overhead.is_some() => Origin::Gauge,
            origin => origin,
        }
    }

    /// Tokens that the server's template adds. Absent where unknown.
    pub(crate) fn overhead(&self) -> Option<u32> {
        self.overhead
    }

    /// Tokens a word, on average.
    pub(crate) fn tokens_per_word(&self) -> f64 {
        self.tokens_per_word
    }

    /// Whether token ids can be made.
    pub(crate) fn has_ids(&self) -> bool {
        self.counter.live() && matches!(self.counter.ids("a"), Ok(Some(_)))
    }

    /// Number of words for a number of tokens.
    pub(crate) fn words(&self, tokens: u32) -> u32 {
        (f64::from(tokens) / self.tokens_per_word).round() as u32
    }

    /// Replaces `out` with the prompt of `isl` tokens, as the server should report them. Writes at least one word, even where the template
    /// alone is as long. Returns its tokens without the template, where a local tokenizer counted them.
    ///
    /// # Errors
    /// Errors of the counter.
    pub(crate) fn write(
        &self,
        plan: &Plan,
        head: PromptHead,
        own: Text,
        isl: u32,
        out: &mut String,
    ) -> Result<Option<u32>, Error> {
        let wanted = isl.saturating_sub(self.overhead.unwrap_or(0)).max(1);
        self.fill(plan, head, own, wanted, out)
    }

    /// The token ids of a prompt of exactly `isl` of them: without a template there is no overhead.
    ///
    /// # Errors
    /// Errors of the counter, or when it knows no ids.
    pub(crate) fn ids(
        &self,
        plan: &Plan,
        head: PromptHead,
        own: Text,
        isl: u32,
        text: &mut String,
    ) -> Result<Vec<u32>, Error> {
        let mut more = 0;
        loop {
            self.fill(plan, head, own, isl + more, text)?;
            let mut ids = self.counter.ids(text)?.ok_or_else(|| Error::usage("the tokenizer gives no token ids"))?;
            if ids.len() >= isl as usize || more > isl {
                ids.truncate(isl as usize);
                return Ok(ids);
            }
            more += (isl - ids.len() as u32).max(1);
        }
    }

    fn fill(
        &self,
        plan: &Plan,
        head: PromptHead,
        own: Text,
        wanted: u32,
        out: &mut String,
    ) -> Result<Option<u32>, Error> {
        out.clear();
        let headed = plan.write_head(head, wanted, &|tokens| self.words(tokens), out);
        let kept = out.len();
        let mut words = self.words(wanted - headed);
        if kept == 0 {
            words = words.max(1);
        }
        plan.write_text(own, words, out);
        if !self.counter.live() {
            return Ok(None);
        }
        if self.exact {
            return Ok(Some(headed + words));
        }
        let mut counted = self.counter.count(out)?;
        let mut best = (words, counted);
        for _ in 0..ROUNDS {
            let Some(is) = counted else { break };
            if is == wanted {
                break;
            }
            let step = ((f64::from(wanted) - f64::from(is)) / self.tokens_per_word).round();
            let step = if step != 0.0 {
                step
            } else if is < wanted {
                1.0
            } else {
                -1.0
            };
            let next = (f64::from(words) + step).max(if kept == 0 { 1.0 } else { 0.0 }) as u32;
            if next == words {
                break;
            }
            words = next;
            out.truncate(kept);
            plan.write_text(own, words, out);
            counted = self.counter.count(out)?;
            let off = |counted: Option<u32>| counted.map_or(u32::MAX, |is| is.abs_diff(wanted));
            if off(counted) < off(best.1) {
                best = (words, counted);
            }
        }
        if best.0 != words {
            out.truncate(kept);
            plan.write_text(own, best.0, out);
        }
        Ok(best.1)
    }

    /// Tokens of a text that is given as the inside of two JSON strings, where a local tokenizer counts.
    ///
    /// # Errors
    /// Errors of the counter.
    pub(crate) fn count_json(&self, head: &str, tail: &str) -> Result<Option<u32>, Error> {
        if !self.counter.live() {
            return Ok(None);
        }
        match serde_json::from_str::<String>(&format!("\"{head}{tail}\"")) {
            Ok(text) => self.counter.count(&text),
            Err(_) => Ok(None),
        }
    }
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recipe")
            .field("origin", &self.origin())
            .field("overhead", &self.overhead)
            .field("tokens_per_word", &self.tokens_per_word)
            .field("exact", &self.exact)
            .finish_non_exhaustive()
    }
}
