//! The table `load` of a suite: every setting of a load under its own name, and lists that make several loads.
//!
//! In:  a [`Reader`].  Out: [`Planned`] loads in order, and faults with their lines.
//! Not here: arguments of a command line (see `cli::load`), whether a server can do it (see `session`).
//!
//! `concurrency` and `rate` take one value or several. Several make a sweep, and each point is a load with its own name. `matrix` makes the
//! cells of a preset, `saturation` a search (see [`Role`]).

mod role;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::settings::{
    Arrival, CONVERSATIONS, ConversationInput, Conversations, Endpoint, Lengths, LoadOption, LoadOptions, OPTIONS,
    Ramp, Settings, Shape, Share, Slos, Work, found, unmeasurable,
};
use super::until::{self, Until};
use sparkbench_plan::Reader;
use sparkbench_text::error::Error;

pub use role::{Role, own_keys};
pub use write::write;

/// Least number of requests of a load when neither a count nor a time is given.
const REQUESTS_MIN: u64 = 20;
/// The same for each slot of a closed loop, so that every slot is refilled a few times.
const REQUESTS_PER_PLACE: u64 = 4;
/// Between two points of a range of concurrencies.
const RANGE_FACTOR: u32 = 2;
/// More points than this are taken for a typing error.
const POINTS_MAX: usize = 64;

/// One load of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Name among the loads of one table, e.g. `c8`. Empty for the only one.
    pub name: String,
    /// Whether the table gives a seed of its own. Otherwise it is for the caller to give one.
    pub seeded: bool,
    /// Its purpose.
    pub role: Role,
    /// Whole passes before the measured one, which are excluded from all figures.
    pub warmups: u32,
    pub settings: Settings,
}

/// Takes the keys of one table. The caller calls [`Reader::finish`]. Paths are relative to `folder`, where the suite lies. Empty after a
/// fault.
pub fn read(keys: &mut Reader<'_>, folder: &Path) -> Vec<Planned> {
    let options = take(keys, folder, |option| option.group != CONVERSATIONS);
    let set = role::Set::read(keys, &options);
    let shapes = shapes(keys, &options);
    let work = work(keys, folder, &options);
    let mut settings = Settings {
        ramp: ramp(keys, &options),
        warmup: options.warmup,
        until: until(keys, &options),
        extra_body: extra_body(keys),
        headers: headers(keys),
        slos: slos(keys),
        share: share(keys, &options),
        ..options.plain()
    };
    if settings.token_ids && (settings.endpoint != Endpoint::Completions || settings.tokenizer.is_none()) {
        keys.fault(
            "token_ids",
            "needs the completions route and a tokenizer",
            "add endpoint = \"completions\" and tokenizer = \"tokenizer.json\"",
        );
    }
    if let Some(why) = unmeasurable(&settings.extra_body) {
        keys.fault("extra_body", format!("cannot be measured: {why}"), "leave that member out");
        return Vec::new();
    }
    if settings.api_key_header.is_some() && settings.api_key_env.is_none() {
        keys.fault("api_key_header", "needs a key", "add api_key_env = \"NAME\", the variable that holds it");
    }
    let (Some(shapes), Some(work)) = (shapes, work) else { return Vec::new() };
    let shapes = match &work {
        Work::Conversations(chat) => vec![(String::new(), clients(keys, &shapes, chat.clients))],
        _ => shapes,
    };
    settings.work = work;
    set.planned(keys, shapes, &settings, options.seed.is_some())
}

/// The options of one table.
fn take(keys: &mut Reader<'_>, folder: &Path, here: fn(&LoadOption) -> bool) -> LoadOptions {
    let mut options = LoadOptions::default();
    for option in OPTIONS.iter().filter(|option| option.is_key() && here(option)) {
        option.read(&mut options, keys, folder);
    }
    options
}

/// A load without a bound of its own gets a count. Files, traces and conversations end by themselves.
pub fn bounded(settings: &mut Settings) {
    let endless = matches!(settings.work, Work::Synthetic { .. }) && !matches!(settings.shape, Shape::Trace { .. });
    if endless && settings.requests.is_none() && settings.duration_s.is_none() {
        let places = match settings.shape {
            Shape::Closed { concurrency } => u64::from(concurrency),
            _ => 1,
        };
        settings.requests = Some(REQUESTS_MIN.max(REQUESTS_PER_PLACE * places));
    }
}

/// Raises a count that could not fill every place of a closed loop for long enough to judge its throughput. Whether it did.
pub fn filled(settings: &mut Settings) -> bool {
    let Shape::Closed { concurrency } = settings.shape else { return false };
    let least = REQUESTS_PER_PLACE * u64::from(concurrency);
    let endless = matches!(settings.work, Work::Synthetic { .. }) && settings.duration_s.is_none();
    let Some(requests) = settings.requests.as_mut().filter(|requests| endless && **requests < least) else {
        return false;
    };
    *requests = least;
    true
}

/// `4`, `1,2,4`, `1..128`: points of a sweep over the concurrency. A range goes by powers of two.
///
/// # Errors
/// A usage error with the forms that are understood.
pub fn concurrencies(text: &str) -> Result<Vec<u32>, Error> {
    let wrong = || {
        Error::usage(format!("'{text}' is not a concurrency"))
            .hint("a number from 1, a list (1,4,16), or a range by powers of two (1..128)")
    };
    let number = |part: &str| part.trim().parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(wrong);
    let points = match text.split_once("..") {
        Some((low, high)) => {
            let (low, high) = (number(low)?, number(high.trim_start_matches('='))?);
            if low > high {
                return Err(wrong());
            }
            let doubled = std::iter::successors(Some(low), |n| n.checked_mul(RANGE_FACTOR));
            let mut points: Vec<u32> = doubled.take_while(|n| *n < high).collect();
            points.push(high);
            points
        }
        None => text.split(',').map(number).collect::<Result<_, _>>()?,
    };
    if points.len() > POINTS_MAX { Err(wrong().detail(format!("more than {POINTS_MAX} points"))) } else { Ok(points) }
}

/// `2.5`, `1,2,4`: points of a sweep over the rate, requests per second.
///
/// # Errors
/// A usage error with the forms that are understood.
pub fn rates(text: &str) -> Result<Vec<f64>, Error> {
    let wrong =
        || Error::usage(format!("'{text}' is not a rate")).hint("requests per second above 0, or a list: 1,2.5,10");
    let number =
        |part: &str| part.trim().parse::<f64>().ok().filter(|rate| *rate > 0.0 && rate.is_finite()).ok_or_else(wrong);
    let points: Vec<f64> = text.split(',').map(number).collect::<Result<_, _>>()?;
    if points.len() > POINTS_MAX { Err(wrong().detail(format!("more than {POINTS_MAX} points"))) } else { Ok(points) }
}

fn shapes(keys: &mut Reader<'_>, options: &LoadOptions) -> Option<Vec<(String, Shape)>> {
    let (arrival, max_concurrency) = (options.gaps(), options.max_concurrency);
    if options.burstiness.is_some() && !matches!(arrival, Arrival::Gamma(_)) {
        keys.fault("burstiness", "only works with gamma gaps", "add arrival = \"gamma\", or leave it out");
    }
    let speed = options.trace_speed.unwrap_or(1.0);
    match (&options.concurrency, &options.rate, options.trace.clone()) {
        (None, None, None) => Some(vec![(String::new(), Shape::Closed { concurrency: 1 })]),
        (Some(text), None, None) => {
            let points = said(keys, "concurrency", concurrencies(text))?;
            if max_concurrency.is_some() {
                keys.fault(
                    "max_concurrency",
                    "only works with rates and traces",
                    "leave it out: a closed loop has only its concurrency",
                );
            }
            Some(points.into_iter().map(|n| (format!("c{n}"), Shape::Closed { concurrency: n })).collect())
        }
        (None, Some(text), None) => {
            let points = said(keys, "rate", rates(text))?;
            let open = |rate| (format!("r{rate}"), Shape::Open { rate, arrival, max_concurrency });
            Some(points.into_iter().map(open).collect())
        }
        (None, None, Some(path)) => Some(vec![(String::new(), Shape::Trace { path, speed, max_concurrency })]),
        _ => {
            let key = if keys.has("rate") { "rate" } else { "trace" };
            keys.fault(key, "cannot be combined with another way to send", "keep one of concurrency, rate and trace");
            None
        }
    }
}

/// The shape of conversations: each client waits for its answer, so it is a closed loop of as many.
fn clients(keys: &mut Reader<'_>, shapes: &[(String, Shape)], clients: u32) -> Shape {
    let shape = Shape::Closed { concurrency: clients };
    for key in ["concurrency", "rate", "trace"] {
        if keys.has(key) && !matches!(shapes, [(_, given)] if *given == shape) {
            let why = "cannot be combined with conversations, whose clients decide what is sent when";
            keys.fault(key, why, "leave this out: num_clients of the conversations is the number of clients");
        }
    }
    shape
}

fn ramp(keys: &mut Reader<'_>, options: &LoadOptions) -> Option<Ramp> {
    if options.ramp_s.is_none() && (options.ramp_from.is_some() || options.ramp_exponential.is_some()) {
        keys.fault("ramp_from", "needs a ramp with a length", "add ramp_s, its length in seconds");
    }
    options.ramp()
}

fn work(keys: &mut Reader<'_>, folder: &Path, options: &LoadOptions) -> Option<Work> {
    let typed = keys.has("osl");
    let isl = lengths(keys, "isl", options.isl.as_deref(), Lengths::PLAIN);
    let osl = lengths(keys, "osl", options.osl.as_deref(), Lengths::PLAIN);
    let conversations = keys.table("conversations");
    match (options.prompts.clone(), conversations) {
        (Some(_), Some(_)) => {
            keys.fault("prompts", "cannot be combined with conversations", "keep one of them");
            None
        }
        (Some(path), None) => Some(Work::Prompts { path, osl: Some(osl?).filter(|_| typed) }),
        (None, Some(table)) => {
            let mut below = keys.below(table);
            let read = self::conversations(&mut below, folder, isl?, osl?);
            below.finish();
            read.map(|conversations| Work::Conversations(Box::new(conversations)))
        }
        (None, None) => Some(Work::Synthetic { isl: isl?, osl: osl?, prefix: options.prefix() }),
    }
}

/// Names are those of the known multi-turn scripts, with `_` for `-`. Lengths that are not given are those of the load.
fn conversations(keys: &mut Reader<'_>, folder: &Path, isl: Lengths, osl: Lengths) -> Option<Conversations> {
    let options = take(keys, folder, |option| option.group == CONVERSATIONS);
    let mut file = |key| keys.text(key).and_then(|name| found(keys, key, folder, &name));
    let (input, generate) = (file("input"), file("generate"));
    let texts: Vec<PathBuf> =
        keys.texts("texts").iter().filter_map(|name| found(keys, "texts", folder, name)).collect();
    let input = match (input, generate, texts.is_empty()) {
        (Some(path), None, true) => ConversationInput::File(path),
        (None, Some(path), true) => ConversationInput::Generate(path),
        (None, None, false) => ConversationInput::Texts(texts),
        (None, None, true) => ConversationInput::Synthetic,
        _ => {
            keys.fault(
                "input",
                "cannot be combined with another source of conversations",
                "keep one of input, generate and texts",
            );
            return None;
        }
    };
    let chat = options.chat();
    // Lengths of their own, where those of the load do not hold.
    let (own_isl, own_osl) = (keys.words("isl"), keys.words("osl"));
    Some(Conversations {
        input,
        turns: lengths(keys, "turns", options.turns.as_deref(), chat.turns)?,
        isl: lengths(keys, "isl", own_isl.as_deref(), isl)?,
        osl: lengths(keys, "osl", own_osl.as_deref(), osl)?,
        common_prefix: lengths(keys, "common_prefix", options.common_prefix.as_deref(), chat.common_prefix)?,
        own_prefix: lengths(keys, "own_prefix", options.own_prefix.as_deref(), chat.own_prefix)?,
        ..chat
    })
}

fn slos(keys: &mut Reader<'_>) -> Slos {
    let Some(table) = keys.table("slos") else { return Slos::default() };
    let mut below = keys.below(table);
    let mut limit = |key| below.number_within(key, 0.001, 1e9);
    let slos = Slos { ttft_ms: limit("ttft_ms"), tpot_ms: limit("tpot_ms"), e2e_ms: limit("e2e_ms") };
    below.finish();
    slos
}

/// The figure that ends the load, and the requests before the first look at it.
fn until(keys: &mut Reader<'_>, options: &LoadOptions) -> Option<Until> {
    let least = options.until_least;
    let Some(text) = &options.until else {
        if least.is_some() {
            keys.fault("until_least", "only works with 'until'", "add until = \"ttft_p99=2%\", or leave it out");
        }
        return None;
    };
    match Until::parse(text, least.unwrap_or(until::LEAST)) {
        Ok(until) => Some(until),
        Err(why) => {
            keys.fault("until", why, "write it as until = \"ttft_p99=2%\"");
            None
        }
    }
}

/// One client of several that load apart.
fn share(keys: &mut Reader<'_>, options: &LoadOptions) -> Share {
    let Share { rank, world } = options.share();
    if rank >= world {
        keys.fault("rank", format!("is {rank} of {world}"), "count ranks from 0. world is the number of ranks");
    }
    Share { rank, world }
}

fn headers(keys: &mut Reader<'_>) -> BTreeMap<String, String> {
    let lawful = |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_control());
    let mut headers = BTreeMap::new();
    for (name, value) in keys.text_table("headers") {
        if lawful(&name) && !name.contains([' ', ':']) && lawful(&value) {
            headers.insert(name.to_ascii_lowercase(), value);
        } else {
            // The value may be a secret and is not repeated.
            keys.fault(
                "headers",
                format!("holds \"{name}\", which is not a header"),
                "give a name without blanks, and a value on one line",
            );
        }
    }
    headers
}

fn extra_body(keys: &mut Reader<'_>) -> BTreeMap<String, Json> {
    let table = keys.table("extra_body");
    table.into_iter().flat_map(|table| &table.entries).map(|(name, entry)| (name.clone(), entry.value.json())).collect()
}

/// A distribution as it was given. The default where the key is not there, nothing after a fault.
fn lengths(keys: &mut Reader<'_>, key: &'static str, given: Option<&str>, default: Lengths) -> Option<Lengths> {
    match given {
        Some(text) => said(keys, key, Lengths::parse(text)),
        None if keys.has(key) => None,
        None => Some(default),
    }
}

/// A parser's error becomes a fault of the key.
fn said<T>(keys: &mut Reader<'_>, key: &str, parsed: Result<T, Error>) -> Option<T> {
    match parsed {
        Ok(value) => Some(value),
        Err(error) => {
            let remedy = error.hint.clone().unwrap_or_else(|| "see docs/suite.md".to_owned());
            keys.fault(key, format!("is not understood: {}", error.what), remedy);
            None
        }
    }
}

#[cfg(test)]
mod tests;
