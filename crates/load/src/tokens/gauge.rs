//! The cost of a template and of a word in tokens, from the server's counts for a few prompts.
//!
//! In:  a closure that sends a text as a prompt and returns `usage.prompt_tokens`.  Out: [`Gauge`].
//! Not here: how it is sent.
//!
//! Prompts of 16, 128 and 512 words, each of other words. The template costs the same for every text, so the points lie on a
//! straight line. A line that fits badly says that words do not cost the same each, and then so does the residual.

use super::{Counter, Origin};
use crate::plan::{Purpose, Text, TextWriter};
use sparkbench_text::error::Error;

/// Words of the probes.
const PROBES: [u32; 3] = [16, 128, 512];

/// One probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenProbe {
    /// The sent data.
    pub text: String,
    pub words: u32,
    /// `prompt_tokens` that the server reported.
    pub tokens: u32,
}

/// A straight line through the probes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gauge {
    /// Tokens of the server's template: what a prompt without words would have.
    pub overhead: f64,
    pub tokens_per_word: f64,
    /// Greatest distance of a probe from the line, tokens.
    pub residual: f64,
    /// The probes.
    pub points: Vec<TokenProbe>,
}

impl Gauge {
    /// Sends the probes. Nothing where the server reports no usage, or counts that do not grow with the words.
    ///
    /// # Errors
    /// Errors of the closure.
    pub(crate) fn take(
        writer: TextWriter,
        ask: &mut dyn FnMut(&str) -> Result<Option<u32>, Error>,
    ) -> Result<Option<Self>, Error> {
        let mut points = Vec::with_capacity(PROBES.len());
        for (number, words) in (0..).zip(PROBES) {
            let mut text = String::new();
            writer.write(Text { purpose: Purpose::Probe, number, nonce: true }, words, &mut text);
            // The longest may be more than a small server takes: two points are a line too.
            let Some(tokens) = ask(&text)? else { break };
            points.push(TokenProbe { text, words, tokens });
        }
        Ok(Self::through(points))
    }

    /// The least-squares line. Absent with fewer than two different numbers of words, and for a slope that makes no sense.
    pub(crate) fn through(points: Vec<TokenProbe>) -> Option<Self> {
        let n = points.len() as f64;
        let at = |point: &TokenProbe| (f64::from(point.words), f64::from(point.tokens));
        let (x, y) = points.iter().map(at).fold((0.0, 0.0), |sum, at| (sum.0 + at.0 / n, sum.1 + at.1 / n));
        let (xx, xy) = points.iter().map(at).fold((0.0, 0.0), |sum, (words, tokens)| {
            (sum.0 + (words - x) * (words - x), sum.1 + (words - x) * (tokens - y))
        });
        let tokens_per_word = xy / xx;
        // A word of our list can hardly be less than half a token or more than ten.
        if !(0.5..=10.0).contains(&tokens_per_word) {
            return None;
        }
        let overhead = y - tokens_per_word * x;
        let residual = points
            .iter()
            .map(at)
            .map(|(words, tokens)| (tokens - overhead - tokens_per_word * words).abs())
            .fold(0.0, f64::max);
        Some(Self { overhead, tokens_per_word, residual, points })
    }
}

impl Counter for Gauge {
    fn origin(&self) -> Origin {
        Origin::Gauge
    }

    /// It knows lengths of our own words alone, and those on average: no text is counted with it.
    fn count(&self, _text: &str) -> Result<Option<u32>, Error> {
        Ok(None)
    }
}
