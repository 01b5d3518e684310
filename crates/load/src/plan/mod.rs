//! The plan of a load: which request, of what length, with which text, at what time.
//!
//! In:  [`Settings`], the contents of files they name ([`PlanInput`]).  Out: [`Plan`], which gives any [`Entry`] in any order.
//! Not here: bodies (see `build`), sending (see `schedule`), conversations (see `chat`).
//!
//! A plan is a pure function of the settings and the seed, and it is not a list. Entry `i` is computed on request, from streams of its own
//! number. So a load without an end needs no memory for its plan. The first entries are the warm-up, with texts that no measured request
//! has. If the cache is to be primed, each measured prompt follows once with one token of output. Then comes the measured part.
//!
//! Each of several clients makes the same plan and takes the entries i ≡ rank (mod world), at the times of the whole. Equal values of
//! [`Plan::sha256`] prove that their plans agree. The hash leaves out the nonce, which only sets the texts of two loads apart.
//!
//! ISL is the length that the *server* should report, including the template that the chat route puts around the text. `build` makes the
//! text shorter by the measured cost of the template (see `tokens`).

pub(crate) mod arrivals;
mod check;
mod described;
mod entry;
pub(crate) mod input;
pub(crate) mod lengths;
pub(crate) mod prompts;
pub(crate) mod sharegpt;
pub(crate) mod text;
pub(crate) mod trace;
mod walk;
mod write;

pub use entry::{Entry, PromptHead, PromptSpec};
pub use input::PlanInput;
pub use text::{NONCE_WORDS, Purpose, Text, TextWriter, all_words};
pub use walk::{Entries, Walk};

use arrivals::Arrivals;
use check::What;
use lengths::LONGEST;
use prompts::Line;
use trace::BLOCK_TOKENS;

use super::order::Phase;
use super::settings::{Cache, Lengths, Settings, Shape, Share};
use sparkbench_stats::random::{Stream, job_base};
use sparkbench_text::error::Error;

/// Requests of a plan whose lengths are all drawn beforehand, to know the longest: some tens of milliseconds.
const DRAWN: u64 = 1_000_000;

/// See the module.
#[derive(Debug)]
pub struct Plan {
    writer: TextWriter,
    warmup: u64,
    /// Lines of a file that are the warm-up's and are not measured.
    taken: u64,
    primed: u64,
    measured: Option<u64>,
    share: Share,
    cold: bool,
    times: Times,
    what: What,
    bases: Bases,
    described: String,
}

#[derive(Debug)]
enum Times {
    Closed,
    Open(Arrivals),
    Trace { speed: f64 },
}

/// Where the streams of lengths start, by phase.
#[derive(Debug)]
struct Bases {
    isl: [u64; 2],
    osl: [u64; 2],
}

impl Plan {
    /// Checks the settings and makes the plan. `input` is what [`PlanInput::read`] gave for the same settings.
    ///
    /// # Errors
    /// Settings that make no plan: no bound, a rate of 0, a prefix longer than the prompt, fewer lines than requests, conversations.
    pub fn new(settings: &Settings, input: &PlanInput) -> Result<Self, Error> {
        check::shape(settings)?;
        let (what, available) = check::what(settings, input)?;
        let times = match &settings.shape {
            Shape::Closed { .. } => Times::Closed,
            Shape::Open { rate, arrival, .. } => {
                Times::Open(Arrivals::new(*arrival, *rate, settings.ramp, settings.seed))
            }
            Shape::Trace { speed, .. } => Times::Trace { speed: *speed },
        };
        let measured = check::bound(settings, available)?;
        let primed = match (settings.cache, measured) {
            (Cache::Primed, Some(measured)) => measured,
            (Cache::Primed, None) => {
                return Err(Error::usage(
                    "a primed cache needs a number of requests, because each is sent once before",
                )
                .hint("give --requests, with or without --duration"));
            }
            _ => 0,
        };
        let base = |name: &str| {
            [
                job_base(settings.seed, &format!("load|{name}|measured")),
                job_base(settings.seed, &format!("load|{name}|warmup")),
            ]
        };
        Ok(Self {
            writer: TextWriter::new(settings.seed, settings.nonce),
            warmup: settings.warmups(),
            taken: settings.warmup.unwrap_or(0),
            primed,
            measured,
            share: settings.share,
            cold: settings.cache == Cache::Cold,
            times,
            what,
            bases: Bases { isl: base("isl"), osl: base("osl") },
            described: described::describe(settings, input),
        })
    }

    /// Entries of the whole plan. Absent where only time bounds it.
    pub fn size(&self) -> Option<u64> {
        self.measured.map(|measured| self.warmup + self.primed + measured)
    }

    /// Entries of a phase. Absent where only time bounds it.
    pub fn count(&self, phase: Phase) -> Option<u64> {
        match phase {
            Phase::Probe => Some(0),
            Phase::Warmup => Some(self.warmup),
            Phase::Prime => Some(self.primed),
            Phase::Measured => self.measured,
        }
    }

    /// Of the entries of a phase, those that this client sends. Absent where only time bounds it.
    pub fn own(&self, phase: Phase) -> Option<u64> {
        let from = match phase {
            Phase::Probe | Phase::Warmup => 0,
            Phase::Prime => self.warmup,
            Phase::Measured => self.warmup + self.primed,
        };
        Some(self.share.first(from + self.count(phase)?) - self.share.first(from))
    }

    /// Whether this client sends entry `i`.
    pub fn mine(&self, i: u64) -> bool {
        i % u64::from(self.share.world) == u64::from(self.share.rank)
    }

    /// Entry `i`, or nothing behind the end. In an open loop with drawn gaps up to a thousand of them are redrawn. To go through the plan in
    /// order, [`Plan::entries`] is quicker.
    pub fn entry(&self, i: u64) -> Option<Entry> {
        let mut entry = self.untimed(i)?;
        if entry.phase == Phase::Measured {
            entry.at = self.at(i - self.warmup - self.primed);
        }
        Some(entry)
    }

    /// When measured entry `j` is due.
    fn at(&self, j: u64) -> Option<u64> {
        match (&self.times, &self.what) {
            (Times::Open(arrivals), _) => Some(arrivals.at(j)),
            (Times::Trace { speed }, What::Trace(trace)) => Some((trace.get(j)?.0 as f64 / speed).round() as u64),
            _ => None,
        }
    }

    fn untimed(&self, index: u64) -> Option<Entry> {
        if self.size().is_some_and(|size| index >= size) {
            return None;
        }
        if index < self.warmup {
            return self.made(index, Phase::Warmup, index);
        }
        let j = index - self.warmup;
        if j < self.primed {
            // The same prompt as the measured one, and the least of an answer.
            return self.made(index, Phase::Prime, j).map(|entry| Entry { osl: 1, ..entry });
        }
        self.made(index, Phase::Measured, j - self.primed)
    }

    /// Entry number `j` of a phase.
    fn made(&self, index: u64, phase: Phase, j: u64) -> Option<Entry> {
        let warmup = phase == Phase::Warmup;
        let which = usize::from(warmup);
        let purpose = if warmup { Purpose::Warmup } else { Purpose::Measured };
        let own = Text { purpose, number: j, nonce: self.cold };
        let draw = |lengths: &Lengths, bases: [u64; 2]| lengths.draw(&mut Stream::new(bases[which], j));
        let entry = |isl, osl, prefix_group, prompt| Entry { index, phase, at: None, isl, osl, prefix_group, prompt };
        Some(match &self.what {
            What::Synthetic { isl, osl, prefix } => {
                let (isl, osl) = (draw(isl, self.bases.isl).max(1), draw(osl, self.bases.osl).max(1));
                let groups = prefix.groups.max(1);
                let group = (prefix.tokens > 0).then(|| (j % u64::from(groups)) as u32);
                let head = group.map_or(PromptHead::None, |group| {
                    // The warm-up has heads of its own: else it would prime those of the measured part.
                    let number = u64::from(group) + if warmup { 1 << 32 } else { 0 };
                    PromptHead::Group(Text { purpose: Purpose::Group, number, nonce: self.cold }, prefix.tokens)
                });
                entry(Some(isl), osl, group, PromptSpec::Made { head, own })
            }
            What::Prompts { lines, osl } => {
                // The first lines of the file are the warm-up's. Where nobody asked for one they are measured too, with another beginning.
                let all = lines.0.len() as u64;
                let line = if warmup { j % all.max(1) } else { self.taken + j };
                let given = lines.0.get(usize::try_from(line).ok()?)?;
                let osl = given.osl.unwrap_or_else(|| draw(osl, self.bases.osl).max(1));
                entry(None, osl, None, PromptSpec::Line(line, self.cold.then_some(own)))
            }
            What::Trace(trace) => {
                let (_, isl, osl) = trace.get(if warmup { j % trace.requests() } else { j })?;
                let head = if warmup { PromptHead::None } else { PromptHead::Blocks(j, self.cold) };
                entry(Some(isl), osl, None, PromptSpec::Made { head, own })
            }
        })
    }

    /// Line of the file that an entry asks.
    pub fn line(&self, number: u64) -> Option<&Line> {
        match &self.what {
            What::Prompts { lines, .. } => lines.0.get(usize::try_from(number).ok()?),
            _ => None,
        }
    }

    /// Lines of the file, where there is one.
    pub fn lines(&self) -> &[Line] {
        match &self.what {
            What::Prompts { lines, .. } => &lines.0,
            _ => &[],
        }
    }

    /// Writes the shared head of a made prompt behind what `out` holds, at most `budget` tokens of it. `words` says how many words make
    /// so many tokens. Returns the tokens it stands for. Heads of one group have the same bytes wherever the budget does not cut them.
    pub fn write_head(&self, head: PromptHead, budget: u32, words: &dyn Fn(u32) -> u32, out: &mut String) -> u32 {
        match (head, &self.what) {
            (PromptHead::Group(text, tokens), _) => {
                let tokens = tokens.min(budget);
                self.writer.write(text, words(tokens), out);
                tokens
            }
            (PromptHead::Blocks(line, nonce), What::Trace(trace)) => {
                let mut left = budget;
                for (place, hash) in trace.blocks(line).iter().enumerate() {
                    let tokens = BLOCK_TOKENS.min(left);
                    let text = Text { purpose: Purpose::Block, number: *hash, nonce: nonce && place == 0 };
                    self.writer.write(text, words(tokens), out);
                    left -= tokens;
                }
                budget - left
            }
            _ => 0,
        }
    }

    /// Appends a number of words of a text to `out`.
    pub fn write_text(&self, text: Text, words: u32, out: &mut String) {
        self.writer.write(text, words, out);
    }

    fn longest_of(&self, lengths: &Lengths, bases: [u64; 2]) -> u32 {
        let (_, most) = lengths.bounds();
        let Some(measured) = self.measured.filter(|measured| most == LONGEST && *measured <= DRAWN) else {
            return most;
        };
        [measured, self.warmup]
            .into_iter()
            .zip(bases)
            .flat_map(|(count, base)| (0..count.min(DRAWN)).map(move |j| lengths.draw(&mut Stream::new(base, j))))
            .max()
            .unwrap_or(most)
    }

    /// Longest prompt and answer that the plan can ask for, tokens. The prompt is absent for those of a file. A distribution without an
    /// end counts as what is drawn from it, where the number of requests is known.
    pub fn longest(&self) -> (Option<u32>, u32) {
        match &self.what {
            What::Synthetic { isl, osl, .. } => {
                (Some(self.longest_of(isl, self.bases.isl)), self.longest_of(osl, self.bases.osl))
            }
            What::Prompts { lines, osl } => {
                let given = lines.0.iter().filter_map(|line| line.osl).max().unwrap_or(0);
                (None, given.max(osl.bounds().1))
            }
            What::Trace(trace) => (0..trace.requests())
                .filter_map(|i| trace.get(i))
                .fold((Some(0), 0), |most, (_, isl, osl)| (most.0.max(Some(isl)), most.1.max(osl))),
        }
    }
}

#[cfg(test)]
mod tests;
