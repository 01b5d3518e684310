//! The plan of a load: which request, of what length, with which text, at what time.
//!
//! In:  [`Settings`], the contents of files they name ([`PlanInput`]).  Out: [`Plan`], of which any [`Entry`] can be asked for, in any order.
//! Not here: bodies (see `build`), sending (see `schedule`), conversations (see `chat`).
//!
//! A plan is a pure function of the settings and the seed, and it is not a list: entry `i` is computed when it is asked for, from streams
//! of its own number, so that a load without an end needs no memory for its plan. The first entries are the warm-up, with texts that no
//! measured request has; then, where the cache is to be primed, each measured prompt once with one token of output; then what is measured.
//!
//! Of several clients each makes the same plan and takes the entries i ≡ rank (mod world), at the times of the whole. The plan's
//! [`Plan::sha256`] tells that they do have the same. It leaves out the nonce, which sets texts of two loads apart and nothing else.
//!
//! ISL is the length that the *server* should report: with the template that the chat route puts around the text. `build` makes the
//! text shorter by as much as the template was found to cost (see `tokens`).

pub mod arrivals;
pub mod input;
pub mod lengths;
pub mod prompts;
pub mod text;
pub mod trace;
mod words;
mod write;

use std::fmt;
use std::sync::Arc;

pub use input::PlanInput;
pub use text::{NONCE_WORDS, Purpose, Text, Writer, all_words};

use arrivals::{Arrivals, Cursor};
use prompts::{Line, Prompts};
use trace::{BLOCK_TOKENS, Trace};

use super::order::Phase;
use super::settings::{Arrival, Cache, Lengths, Prefix, Settings, Shape, Share, Work};
use crate::error::Error;
use crate::stats::random::{Stream, job_base};

/// One request of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Place in the plan, from 0.
    pub index: u64,
    /// Its part of the load.
    pub phase: Phase,
    /// When it is due, nanoseconds from the start of the measured part; absent in a closed loop, in the warm-up and while priming.
    pub at: Option<u64>,
    /// Input tokens that the server should report; absent for a prompt of a file that says nothing of them.
    pub isl: Option<u32>,
    /// Output tokens.
    pub osl: u32,
    /// Number of the head it shares, from 0.
    pub prefix_group: Option<u32>,
    /// What is asked.
    pub prompt: PromptSpec,
}

/// Where the prompt of an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptSpec {
    /// Made text behind a shared head.
    Made {
        /// What stands before the text of its own.
        head: Head,
        /// Its own text.
        own: Text,
    },
    /// Line of the file, counted from 0 among those that are not empty; with a nonce of the run and the request, or as it is.
    Line(u64, Option<Text>),
}

/// The shared head of a made prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// None.
    None,
    /// A text of a group, and its tokens.
    Group(Text, u32),
    /// The blocks of a line of the trace; the first has a nonce of the run, or not.
    Blocks(u64, bool),
}

/// See the module.
#[derive(Debug)]
pub struct Plan {
    writer: Writer,
    warmup: u64,
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

#[derive(Debug)]
enum What {
    Synthetic { isl: Lengths, osl: Lengths, prefix: Prefix },
    Prompts { lines: Arc<Prompts>, osl: Lengths },
    Trace(Arc<Trace>),
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
        check_shape(settings)?;
        let (what, available) = what(settings, input)?;
        let times = match &settings.shape {
            Shape::Closed { .. } => Times::Closed,
            Shape::Open { rate, arrival, .. } => {
                Times::Open(Arrivals::new(*arrival, *rate, settings.ramp, settings.seed))
            }
            Shape::Trace { speed, .. } => Times::Trace { speed: *speed },
        };
        let measured = bound(settings, available)?;
        let primed = match (settings.cache, measured) {
            (Cache::Primed, Some(measured)) => measured,
            (Cache::Primed, None) => {
                return Err(Error::usage("a primed cache needs a number of requests: each is sent once before")
                    .hint("give --requests beside or instead of --duration"));
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
            writer: Writer::new(settings.seed, settings.nonce),
            warmup: settings.warmup,
            primed,
            measured,
            share: settings.share,
            cold: settings.cache == Cache::Cold,
            times,
            what,
            bases: Bases { isl: base("isl"), osl: base("osl") },
            described: describe(settings, input),
        })
    }

    /// Entries of the whole plan; absent where only time bounds it.
    pub fn len(&self) -> Option<u64> {
        self.measured.map(|measured| self.warmup + self.primed + measured)
    }

    /// Whether nothing is measured.
    pub fn is_empty(&self) -> bool {
        self.measured == Some(0)
    }

    /// Entries of a phase; absent where only time bounds it.
    pub fn count(&self, phase: Phase) -> Option<u64> {
        match phase {
            Phase::Probe => Some(0),
            Phase::Warmup => Some(self.warmup),
            Phase::Prime => Some(self.primed),
            Phase::Measured => self.measured,
        }
    }

    /// Whether this client sends entry `i`.
    pub fn mine(&self, i: u64) -> bool {
        i % u64::from(self.share.world) == u64::from(self.share.rank)
    }

    /// Entry `i`, or nothing behind the end. In an open loop with drawn gaps up to a thousand of them are drawn anew: to go through the
    /// plan in order, [`Plan::entries`] is quicker.
    pub fn entry(&self, i: u64) -> Option<Entry> {
        let mut entry = self.untimed(i)?;
        if entry.phase == Phase::Measured {
            entry.at = self.at(i - self.warmup - self.primed);
        }
        Some(entry)
    }

    /// All entries from `first` on, in order.
    pub fn entries(&self, first: u64) -> Entries<'_> {
        Entries { plan: self, walk: Walk::new(first) }
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
        if self.len().is_some_and(|len| index >= len) {
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
                let head = group.map_or(Head::None, |group| {
                    // The warm-up has heads of its own: else it would prime those of the measured part.
                    let number = u64::from(group) + if warmup { 1 << 32 } else { 0 };
                    Head::Group(Text { purpose: Purpose::Group, number, nonce: self.cold }, prefix.tokens)
                });
                entry(Some(isl), osl, group, PromptSpec::Made { head, own })
            }
            What::Prompts { lines, osl } => {
                // The first lines of the file are the warm-up's.
                let line = if warmup { j } else { self.warmup + j };
                let given = lines.0.get(usize::try_from(line).ok()?)?;
                let osl = given.osl.unwrap_or_else(|| draw(osl, self.bases.osl).max(1));
                entry(None, osl, None, PromptSpec::Line(line, self.cold.then_some(own)))
            }
            What::Trace(trace) => {
                let (_, isl, osl) = trace.get(if warmup { j % trace.len() } else { j })?;
                let head = if warmup { Head::None } else { Head::Blocks(j, self.cold) };
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

    /// Writes the shared head of a made prompt behind what `out` holds, at most `budget` tokens of it; `words` says how many words make
    /// so many tokens. Returns the tokens it stands for. Heads of one group have the same bytes wherever the budget does not cut them.
    pub fn write_head(&self, head: Head, budget: u32, words: &dyn Fn(u32) -> u32, out: &mut String) -> u32 {
        match (head, &self.what) {
            (Head::Group(text, tokens), _) => {
                let tokens = tokens.min(budget);
                self.writer.write(text, words(tokens), out);
                tokens
            }
            (Head::Blocks(line, nonce), What::Trace(trace)) => {
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

    /// Writes so many words of a text behind what `out` holds.
    pub fn write_text(&self, text: Text, words: u32, out: &mut String) {
        self.writer.write(text, words, out);
    }

    /// Longest prompt and answer that the plan can ask for, tokens; the prompt is absent for those of a file.
    pub fn longest(&self) -> (Option<u32>, u32) {
        match &self.what {
            What::Synthetic { isl, osl, .. } => (Some(isl.bounds().1), osl.bounds().1),
            What::Prompts { lines, osl } => {
                let given = lines.0.iter().filter_map(|line| line.osl).max().unwrap_or(0);
                (None, given.max(osl.bounds().1))
            }
            What::Trace(trace) => (0..trace.len())
                .filter_map(|i| trace.get(i))
                .fold((Some(0), 0), |most, (_, isl, osl)| (most.0.max(Some(isl)), most.1.max(osl))),
        }
    }
}

/// Goes through a plan in order, and draws each gap once; the plan is lent step by step.
#[derive(Debug)]
pub struct Walk {
    next: u64,
    cursor: Option<Cursor>,
}

impl Walk {
    /// From entry `first` on.
    pub const fn new(first: u64) -> Self {
        Self { next: first, cursor: None }
    }

    /// The next entry; always of the same plan.
    pub fn next(&mut self, plan: &Plan) -> Option<Entry> {
        let mut entry = plan.untimed(self.next)?;
        self.next += 1;
        if entry.phase == Phase::Measured {
            let j = entry.index - plan.warmup - plan.primed;
            entry.at = match &plan.times {
                Times::Open(arrivals) => Some(arrivals.step(self.cursor.get_or_insert_with(|| arrivals.from(j)))),
                _ => plan.at(j),
            };
        }
        Some(entry)
    }
}

/// Entries in order: each gap is drawn once.
#[derive(Debug)]
pub struct Entries<'a> {
    plan: &'a Plan,
    walk: Walk,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        self.walk.next(self.plan)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described)
    }
}

fn check_shape(settings: &Settings) -> Result<(), Error> {
    let positive = |value: f64, name: &str| {
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(Error::usage(format!("{name} is {value}: expected a number above 0")))
        }
    };
    let share = settings.share;
    if share.world == 0 || share.rank >= share.world {
        return Err(Error::usage(format!("this is client {} of {}", share.rank, share.world))
            .hint("ranks count from 0, and there is at least one client"));
    }
    let full = match &settings.shape {
        Shape::Closed { concurrency } => {
            if *concurrency < share.world {
                return Err(Error::usage(format!(
                    "{concurrency} requests at a time cannot be shared by {} clients",
                    share.world
                ))
                .hint("the concurrency is that of all clients together: raise it, or start fewer"));
            }
            f64::from(*concurrency)
        }
        Shape::Open { rate, arrival, max_concurrency } => {
            positive(*rate, "the rate")?;
            if let Arrival::Gamma(shape) = arrival {
                positive(*shape, "the shape of gamma arrivals")?;
            }
            check_cap(*max_concurrency, share)?;
            *rate
        }
        Shape::Trace { speed, max_concurrency, .. } => {
            positive(*speed, "the speed of the trace")?;
            check_cap(*max_concurrency, share)?;
            if settings.ramp.is_some() {
                return Err(Error::usage("a trace has its own times: it cannot ramp"));
            }
            return Ok(());
        }
    };
    if let Some(ramp) = settings.ramp {
        positive(ramp.over_s, "the time of the ramp")?;
        if !ramp.from.is_finite() || ramp.from < 0.0 || ramp.from > full || (ramp.exponential && ramp.from == 0.0) {
            return Err(Error::usage(format!("a ramp cannot go from {} to {full}", ramp.from))
                .hint("start it at or below the full load; an exponential one above 0"));
        }
    }
    Ok(())
}

fn check_cap(cap: Option<u32>, share: Share) -> Result<(), Error> {
    match cap {
        Some(cap) if cap < share.world => {
            Err(Error::usage(format!("at most {cap} requests at a time cannot be shared by {} clients", share.world))
                .hint("the greatest concurrency is that of all clients together"))
        }
        _ => Ok(()),
    }
}

/// What is sent, and how many measured requests there can be of it.
fn what(settings: &Settings, input: &PlanInput) -> Result<(What, Option<u64>), Error> {
    let lengths = |name: &str, lengths: Lengths| {
        let lengths = lengths.checked().map_err(|why| Error::usage(format!("{name} {lengths} cannot be: {why}")))?;
        if lengths == Lengths::Fixed(0) {
            Err(Error::usage(format!("{name} is 0 tokens: expected at least 1")))
        } else {
            Ok(lengths)
        }
    };
    if let Shape::Trace { path, .. } = &settings.shape {
        let Some(trace) = &input.trace else {
            return Err(Error::usage(format!("the trace '{}' was not read", path.display())));
        };
        let Work::Synthetic { .. } = &settings.work else {
            return Err(Error::usage(
                "a trace says itself what is sent: prompts of a file and conversations do not go with it",
            ));
        };
        return Ok((What::Trace(Arc::clone(trace)), Some(trace.len())));
    }
    match &settings.work {
        Work::Synthetic { isl, osl, prefix } => {
            let (isl, osl) = (lengths("ISL", *isl)?, lengths("OSL", *osl)?);
            if prefix.tokens > isl.bounds().1 {
                return Err(Error::usage(format!(
                    "a shared prefix of {} tokens is longer than a prompt of {isl}",
                    prefix.tokens
                ))
                .hint("the prefix is part of the ISL: raise --isl, or shorten the prefix"));
            }
            if settings.cache == Cache::Cold && prefix.tokens == isl.bounds().1 {
                return Err(Error::usage(format!(
                    "a shared prefix of {} tokens leaves nothing of a prompt of {isl}",
                    prefix.tokens
                ))
                .hint("with a cold cache each prompt has a text of its own behind the prefix: raise --isl"));
            }
            Ok((What::Synthetic { isl, osl, prefix: *prefix }, None))
        }
        Work::Prompts { path, osl } => {
            let Some(lines) = &input.prompts else {
                return Err(Error::usage(format!("the prompts '{}' were not read", path.display())));
            };
            let count = lines.0.len() as u64;
            let Some(left) = count.checked_sub(settings.warmup).filter(|left| *left > 0) else {
                return Err(Error::usage(format!(
                    "'{}' has {count} prompts, and {} are wanted to warm up",
                    path.display(),
                    settings.warmup
                ))
                .hint("the warm-up takes the first lines of the file, which are then not measured"));
            };
            Ok((What::Prompts { lines: Arc::clone(lines), osl: lengths("OSL", *osl)? }, Some(left)))
        }
        Work::Conversations(_) => Err(Error::usage("conversations have a plan of their own")),
    }
}

fn bound(settings: &Settings, available: Option<u64>) -> Result<Option<u64>, Error> {
    match (settings.requests, available) {
        (Some(0), _) => {
            Err(Error::usage("0 requests are asked for").hint("--requests counts the measured ones: at least 1"))
        }
        (Some(asked), Some(there)) if asked > there => Err(Error::usage(format!(
            "{asked} requests are asked for, and the file has {there} to measure"
        ))
        .hint(
            "prompts are not sent twice, since a cache would know them: leave --requests out, or give a longer file",
        )),
        (Some(asked), _) => Ok(Some(asked)),
        (None, Some(there)) => Ok(Some(there)),
        (None, None) if settings.duration_s.is_some() => Ok(None),
        (None, None) => Err(Error::usage("nothing bounds the load").hint("give --requests N or --duration SECONDS")),
    }
}

/// What the plan depends on, in one line of JSON.
fn describe(settings: &Settings, input: &PlanInput) -> String {
    let shape = match &settings.shape {
        // The concurrency is not part of it: who waits for whom does not change what is sent.
        Shape::Closed { .. } => "closed".to_owned(),
        Shape::Open { rate, arrival, .. } => match arrival {
            Arrival::Constant => format!("constant:{rate}"),
            Arrival::Poisson => format!("poisson:{rate}"),
            Arrival::Gamma(shape) => format!("gamma({shape}):{rate}"),
        },
        Shape::Trace { speed, .. } => format!("trace:{speed}"),
    };
    let ramp = settings.ramp.filter(|_| !matches!(settings.shape, Shape::Closed { .. })).map(|ramp| {
        format!("{}:{}:{}", if ramp.exponential { "exponential" } else { "linear" }, ramp.from, ramp.over_s)
    });
    let work = match &settings.work {
        Work::Synthetic { isl, osl, prefix } => {
            format!("{isl}/{osl} prefix {}x{}", prefix.groups.max(1), prefix.tokens)
        }
        Work::Prompts { osl, .. } => format!("prompts/{osl}"),
        Work::Conversations(_) => "conversations".to_owned(),
    };
    let cache = match settings.cache {
        Cache::Cold => "cold",
        Cache::Primed => "primed",
        Cache::Natural => "natural",
    };
    serde_json::json!({
        "schema": "sparkbench.load-plan/1", "seed": settings.seed, "shape": shape, "ramp": ramp, "work": work, "cache": cache,
        "warmup": settings.warmup, "requests": settings.requests, "files": input.sha256,
    })
    .to_string()
}

#[cfg(test)]
mod tests;
