//! The passes over what was stored: totals of the rows, weights of their chunks, and one reading of the chunks.
//!
//! In:  [`Rows`], the file of chunks.  Out: sums and [`Samples`].
//! Not here: which figure is made of them (see `count`).

use std::collections::{BTreeMap, HashMap};

use super::samples::Samples;
use super::window::Window;
use crate::contradiction::Claim;
use crate::order::{Doubt, Hidden, Status};
use crate::store::{RequestRow, Rows, Stored};
use sparkbench_archive::manifest::Delivery;
use sparkbench_host::net::Ns;
use sparkbench_text::error::Error;

/// `later - earlier` in milliseconds, below zero where it is the other way round.
pub(super) fn ms(later: Option<Ns>, earlier: Option<Ns>) -> Option<f64> {
    Some(later?.wrapping_sub(earlier?).cast_signed() as f64 / 1e6)
}

/// Its count of output tokens as a claim. Absent without a count.
pub(super) fn claim(row: &RequestRow) -> Option<Claim> {
    Some(Claim { tokens: row.output?, chunks: row.pieces, bytes: row.text_bytes.into(), asked: row.osl })
}

/// Its output tokens, see [`Claim::credible`].
pub(super) fn tokens(row: &RequestRow) -> Option<u32> {
    claim(row)?.credible()
}

/// How its tokens came.
pub(super) fn delivery(row: &RequestRow) -> Delivery {
    Delivery {
        chunks: Some(row.pieces),
        tokens: tokens(row),
        first_tokens: row.first_tokens,
        one_moment: row.first_token.is_some() && row.last_token == row.first_token,
        unplaced: row.doubt == Doubt::Unplaced,
    }
}

/// `tpot.generated-span`.
pub(super) fn tpot(row: &RequestRow) -> Option<f64> {
    if delivery(row).spans_nothing() {
        return None;
    }
    let further = tokens(row)?.checked_sub(row.first_tokens.unwrap_or(1)).filter(|further| *further > 0)?;
    Some(ms(row.last_token, row.first_token)? / f64::from(further))
}

/// No engine makes a token in less: 10,000 tokens a second for one stream. What comes faster was kept and handed over at once.
pub(super) const FASTEST_TOKEN_MS: f64 = 0.1;

/// Whether an answer was handed over at one moment, at its end: one that was not streamed, or a single token. When its tokens were made, its
/// chunks do not say.
pub(super) fn at_once(row: &RequestRow) -> bool {
    let one = row.first_token.is_some() && row.first_token == row.last_token;
    row.status.answered() && (one || tpot(row).is_some_and(|tpot| tpot < FASTEST_TOKEN_MS))
}

/// Whether its time limit ended it behind its first token.
pub(super) fn unfinished(row: &RequestRow) -> bool {
    row.status == Status::Timeout && row.pieces > 0
}

/// Sums of one pass over the rows.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub recorded: u64,
    pub completed: u64,
    pub short: u64,
    /// Answers with more tokens than were asked for, exactly or at most.
    pub longer: u64,
    pub errors: BTreeMap<&'static str, u64>,
    pub resent: u64,
    /// Requests whose time limit ended them behind their first token: how many, and their fewest and most chunks.
    pub unfinished: Option<(u64, u32, u32)>,
    pub first_sent: Option<Ns>,
    pub last_sent: Option<Ns>,
    pub last_token: Option<Ns>,
    pub last_end: Option<Ns>,
    pub sent: u64,
    pub intended: u64,
    pub first_intended: Option<Ns>,
    pub last_intended: Option<Ns>,
    pub input: u64,
    pub input_known: u64,
    pub cached: u64,
    pub cached_known: u64,
    pub output: u64,
    pub output_known: u64,
    /// Answers whose count of output tokens what came contradicts, and the first of these counts.
    pub contradicted: u64,
    pub contradiction: Option<Claim>,
    /// Answers whose count is above what was asked for, where the chunks are counted in its place, and the first of these counts.
    pub above_limit: u64,
    pub first_above: Option<Claim>,
    pub stamped: u64,
    pub first_tokens: u64,
    pub one_token: u64,
    /// Answers with [`Delivery::spans_nothing`].
    pub unspanned: u64,
    /// Answers with tokens that showed nothing.
    pub silent: u64,
    /// Answers by [`Doubt`].
    pub doubts: [u64; Doubt::ALL.len()],
}

impl Totals {
    /// Requests that were in flight when the load was stopped.
    pub(super) fn cancelled(&self) -> u64 {
        self.errors.get(Status::Cancelled.word()).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, row: &RequestRow) {
        let least = |old: &mut Option<Ns>, new: Option<Ns>| *old = old.iter().copied().chain(new).min();
        let most = |old: &mut Option<Ns>, new: Option<Ns>| *old = old.iter().copied().chain(new).max();
        self.recorded += 1;
        self.resent += u64::from(row.resent > 0);
        self.sent += u64::from(row.sent.is_some());
        self.intended += u64::from(row.intended.is_some());
        least(&mut self.first_sent, row.sent);
        most(&mut self.last_sent, row.sent);
        most(&mut self.last_end, row.end);
        least(&mut self.first_intended, row.intended);
        most(&mut self.last_intended, row.intended);
        if !row.status.answered() {
            *self.errors.entry(row.status.word()).or_default() += 1;
            if unfinished(row) {
                let (number, fewest, most) = self.unfinished.unwrap_or((0, u32::MAX, 0));
                self.unfinished = Some((number + 1, fewest.min(row.pieces), most.max(row.pieces)));
            }
            return;
        }
        self.completed += 1;
        self.short += u64::from(row.status == Status::Short);
        self.longer += u64::from(tokens(row).zip(row.osl).is_some_and(|(tokens, asked)| tokens > asked));
        most(&mut self.last_token, row.last_token);
        for (sum, known, value) in [
            (&mut self.input, &mut self.input_known, row.input),
            (&mut self.cached, &mut self.cached_known, row.cached),
            (&mut self.output, &mut self.output_known, tokens(row)),
        ] {
            *sum += u64::from(value.unwrap_or(0));
            *known += u64::from(value.is_some());
        }
        if let Some(claim) = claim(row).filter(|claim| claim.contradicted()) {
            self.contradicted += 1;
            self.contradiction.get_or_insert(claim);
        }
        if let Some(claim) = claim(row).filter(|claim| claim.above_limit()) {
            self.above_limit += 1;
            self.first_above.get_or_insert(claim);
        }
        self.first_tokens += u64::from(row.first_token.is_some());
        self.stamped += u64::from(row.kernel);
        self.one_token += u64::from(tokens(row) == Some(row.pieces));
        self.unspanned += u64::from(delivery(row).spans_nothing());
        // That an answer ends with a token of its own is how answers end.
        self.silent += u64::from(row.hidden.between());
        self.doubts[row.doubt as usize] += 1;
    }

    /// A sum that is complete. What is counted for some requests only is no total.
    pub(super) fn whole(&self, sum: u64, known: u64) -> Option<u64> {
        (self.completed > 0 && known == self.completed).then_some(sum)
    }
}

/// Tokens that each generated chunk of a request stands for, and which chunks without text are among them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    /// Not answered is NaN, answered without a count that holds is 0.
    tokens: f32,
    hidden: Hidden,
    /// The count is not that of the answer, so the counts of its chunks are none either.
    miscounted: bool,
    /// See [`at_once`].
    at_once: bool,
}

/// The weight of each request, eight bytes each.
pub(super) enum Weights {
    Dense(u64, Vec<Weight>),
    Sparse(HashMap<u64, Weight>),
}

impl Weights {
    pub(super) fn new(rows: &mut Rows) -> Result<Self, Error> {
        let (mut least, mut most) = (u64::MAX, 0);
        rows.each(|row| (least, most) = (least.min(row.index), most.max(row.index)))?;
        // One client of several takes every n-th request of the plan, a plan that was cut short its beginning.
        let span = most.checked_sub(least).map_or(0, |span| span.saturating_add(1));
        let dense = span <= rows.count().saturating_mul(16).saturating_add(4096);
        let mut weights = if dense {
            let none = Weight { tokens: f32::NAN, hidden: Hidden::None, miscounted: false, at_once: false };
            Self::Dense(least, vec![none; usize::try_from(span).unwrap_or(0)])
        } else {
            Self::Sparse(HashMap::new())
        };
        rows.each(|row| {
            if !row.status.answered() {
                return;
            }
            let tokens = match tokens(row) {
                Some(output) if row.pieces > 0 => (f64::from(output) / f64::from(row.pieces)) as f32,
                _ => 0.0,
            };
            let miscounted = claim(row).is_some_and(|claim| claim.contradicted() || claim.above_limit());
            let weight = Weight { tokens, hidden: row.hidden, miscounted, at_once: at_once(row) };
            match &mut weights {
                Self::Dense(first, list) => {
                    if let Some(place) = list.get_mut((row.index - *first) as usize) {
                        *place = weight;
                    }
                }
                Self::Sparse(map) => drop(map.insert(row.index, weight)),
            }
        })?;
        Ok(weights)
    }

    fn of(&self, index: u64) -> Option<Weight> {
        match self {
            Self::Dense(first, list) => list.get(usize::try_from(index.checked_sub(*first)?).ok()?).copied(),
            Self::Sparse(map) => map.get(&index).copied(),
        }
        .filter(|weight| !weight.tokens.is_nan())
    }
}

/// Sums of the pass over the chunks.
#[derive(Default)]
pub(super) struct FromChunks {
    pub gaps: Samples,
    pub itl: Samples,
    /// Whether `itl` is filled: only where not every answer has one token a chunk, else it is the same as `gaps`.
    pub itl_apart: bool,
    pub lag: Samples,
    /// Tokens of chunks that arrived in the window.
    pub in_window: f64,
    /// Of these, of answers that came [`at_once`].
    pub at_once: f64,
    pub uncounted: bool,
    pub counted: bool,
    pub even: bool,
}

/// Reads the chunks once.
pub(super) fn chunks(
    stored: &mut Stored,
    weights: &Weights,
    window: Option<Window>,
    itl_apart: bool,
    kernel: bool,
) -> Result<FromChunks, Error> {
    let mut found = FromChunks { itl_apart, ..FromChunks::default() };
    // Only requests whose block is not their last are remembered.
    let mut before: HashMap<u64, Ns> = HashMap::new();
    let mut reader = stored.chunks()?;
    while let Some(block) = reader.next_block()? {
        let mut last = before.remove(&block.request);
        let Some(Weight { tokens: weight, hidden, miscounted, at_once }) = weights.of(block.request) else {
            continue;
        };
        for chunk in block.chunks.iter().filter(|chunk| chunk.kind.holds_tokens(hidden)) {
            if let Some(gap) = ms(Some(chunk.at), last) {
                found.gaps.add(gap);
                if found.itl_apart && weight == 1.0 {
                    found.itl.add(gap);
                }
            }
            last = Some(chunk.at);
            if kernel {
                found.lag.add(f64::from(chunk.lag_ns) / 1e6);
            }
            if window.is_some_and(|window| window.holds(chunk.at)) {
                let counted = chunk.tokens > 0 && !miscounted;
                let tokens = if counted { f64::from(chunk.tokens) } else { f64::from(weight) };
                found.counted |= counted;
                found.uncounted |= !counted && weight == 0.0;
                found.even |= !counted && weight != 1.0;
                found.in_window += tokens;
                found.at_once += if at_once { tokens } else { 0.0 };
            }
        }
        if let (true, Some(last)) = (block.more, last) {
            before.insert(block.request, last);
        }
    }
    Ok(found)
}
