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
    Arrival, Cache, ConversationInput, Conversations, Endpoint, Exact, Lengths, Prefix, Ramp, Sampling, Settings,
    Shape, Share, Slos, Work,
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
/// Longest time that a load can be given, seconds: a week.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;
/// Most requests at any time: descriptors of a process end about there.
const CONCURRENCY_MAX: i64 = 1_000_000;

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
    let defaults = Settings::default();
    let endpoint = match keys.choice("endpoint", &["chat", "completions"]).as_deref() {
        Some("completions") => Endpoint::Completions,
        _ => Endpoint::Chat,
    };
    let set = role::Set::read(keys);
    let shapes = shapes(keys, folder);
    let ramp = ramp(keys);
    let work = work(keys, folder);
    let seed = whole(keys, "seed", 0);
    let mut settings = Settings {
        endpoint,
        model: keys.text("model"),
        ramp,
        requests: whole(keys, "requests", 1),
        duration_s: keys.number_within("duration_s", 0.1, SECONDS_MAX),
        until: until(keys),
        drain_s: keys.number_within("drain_s", 0.0, SECONDS_MAX).unwrap_or(defaults.drain_s),
        warmup: whole(keys, "warmup", 0).unwrap_or(defaults.warmup),
        cooldown_cut_s: keys.number_within("cooldown_cut_s", 0.0, SECONDS_MAX).unwrap_or(defaults.cooldown_cut_s),
        seed: seed.unwrap_or(defaults.seed),
        timeout_s: keys.number_within("timeout_s", 0.001, SECONDS_MAX).unwrap_or(defaults.timeout_s),
        retries: small(keys, "retries", 0, 1000).unwrap_or(defaults.retries),
        cache: match keys.choice("cache", &["cold", "primed", "natural"]).as_deref() {
            Some("primed") => Cache::Primed,
            Some("natural") => Cache::Natural,
            _ => Cache::Cold,
        },
        exact: match keys.choice("exact", &["auto", "min-tokens", "min-new-tokens", "ignore-eos", "off"]).as_deref() {
            Some("min-tokens") => Exact::MinTokens,
            Some("min-new-tokens") => Exact::MinNewTokens,
            Some("ignore-eos") => Exact::IgnoreEos,
            Some("off") => Exact::Off,
            _ => Exact::Auto,
        },
        temperature: keys.number_within("temperature", 0.0, 100.0).unwrap_or(defaults.temperature),
        extra_body: extra_body(keys),
        headers: headers(keys),
        api_key_env: keys.text("api_key_env"),
        tokenizer: file(keys, "tokenizer", folder),
        token_ids: keys.switch("token_ids").unwrap_or(false),
        continuous_usage: keys.switch("continuous_usage").unwrap_or(false),
        slos: slos(keys),
        share: share(keys),
        insecure: keys.switch("insecure").unwrap_or(false),
        ca_file: file(keys, "ca_file", folder),
        ..defaults
    };
    if settings.token_ids && (settings.endpoint != Endpoint::Completions || settings.tokenizer.is_none()) {
        keys.fault(
            "token_ids",
            "needs the completions route and a tokenizer",
            "add endpoint = \"completions\" and tokenizer = \"tokenizer.json\"",
        );
    }
    let (Some(shapes), Some(work)) = (shapes, work) else { return Vec::new() };
    let shapes = match &work {
        Work::Conversations(chat) => vec![(String::new(), clients(keys, &shapes, chat.clients))],
        _ => shapes,
    };
    settings.work = work;
    set.planned(keys, shapes, &settings, seed.is_some())
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

fn shapes(keys: &mut Reader<'_>, folder: &Path) -> Option<Vec<(String, Shape)>> {
    let (concurrency, rate) = (keys.words("concurrency"), keys.words("rate"));
    let trace = file(keys, "trace", folder);
    let max_concurrency = small(keys, "max_concurrency", 1, CONCURRENCY_MAX);
    let burstiness = keys.number_within("burstiness", 0.001, 1000.0);
    let arrival = match keys.choice("arrival", &["poisson", "constant", "gamma"]).as_deref() {
        Some("constant") => Arrival::Constant,
        Some("gamma") => Arrival::Gamma(burstiness.unwrap_or(1.0)),
        _ => Arrival::Poisson,
    };
    if burstiness.is_some() && !matches!(arrival, Arrival::Gamma(_)) {
        keys.fault("burstiness", "only works with gamma gaps", "add arrival = \"gamma\", or leave it out");
    }
    let speed = keys.number_within("trace_speed", 0.001, 1e6).unwrap_or(1.0);
    match (concurrency, rate, trace) {
        (None, None, None) => Some(vec![(String::new(), Shape::Closed { concurrency: 1 })]),
        (Some(text), None, None) => {
            let points = said(keys, "concurrency", concurrencies(&text))?;
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
            let points = said(keys, "rate", rates(&text))?;
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

fn ramp(keys: &mut Reader<'_>) -> Option<Ramp> {
    let over_s = keys.number_within("ramp_s", 0.001, SECONDS_MAX);
    let (from, exponential) = (keys.number_within("ramp_from", 0.001, 1e9), keys.switch("ramp_exponential"));
    if over_s.is_none() && (from.is_some() || exponential.is_some()) {
        keys.fault("ramp_from", "needs a ramp with a length", "add ramp_s, its length in seconds");
    }
    Some(Ramp { from: from.unwrap_or(1.0), over_s: over_s?, exponential: exponential.unwrap_or(false) })
}

fn work(keys: &mut Reader<'_>, folder: &Path) -> Option<Work> {
    let typed = keys.has("osl");
    let isl = lengths(keys, "isl", Lengths::PLAIN);
    let osl = lengths(keys, "osl", Lengths::PLAIN);
    let prompts = file(keys, "prompts", folder);
    let prefix = Prefix {
        tokens: small(keys, "prefix_tokens", 0, i64::from(u32::MAX)).unwrap_or(0),
        groups: small(keys, "prefix_groups", 1, i64::from(u32::MAX)).unwrap_or(1),
    };
    let conversations = keys.table("conversations");
    match (prompts, conversations) {
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
        (None, None) => Some(Work::Synthetic { isl: isl?, osl: osl?, prefix }),
    }
}

/// Names are those of the known multi-turn scripts, with `_` for `-`. Lengths that are not given are those of the load.
fn conversations(keys: &mut Reader<'_>, folder: &Path, isl: Lengths, osl: Lengths) -> Option<Conversations> {
    let defaults = Conversations::default();
    let (input, generate) = (file(keys, "input", folder), file(keys, "generate", folder));
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
    let most = i64::from(u32::MAX);
    Some(Conversations {
        input,
        clients: small(keys, "num_clients", 1, CONCURRENCY_MAX).unwrap_or(defaults.clients),
        max_active: small(keys, "max_active_conversations", 1, CONCURRENCY_MAX),
        count: small(keys, "count", 1, most),
        request_rate: keys.number_within("request_rate", 0.0, 1e9).filter(|rate| *rate > 0.0),
        max_requests: whole(keys, "max_num_requests", 1),
        max_turns: small(keys, "max_turns", 1, most),
        warmup_step: keys.switch("warmup_step").unwrap_or(false),
        min_tokens: small(keys, "limit_min_tokens", 1, most),
        max_tokens: small(keys, "limit_max_tokens", 1, most),
        sampling: match keys.choice("conversation_sampling", &["round_robin", "random"]).as_deref() {
            Some("random") => Sampling::Random,
            _ => Sampling::RoundRobin,
        },
        print_content: keys.switch("print_content").unwrap_or(false),
        early_stop: keys.switch("early_stop").unwrap_or(false),
        recorded_answers: keys.switch("recorded_answers").unwrap_or(false),
        turns: lengths(keys, "turns", defaults.turns)?,
        isl: lengths(keys, "isl", isl)?,
        osl: lengths(keys, "osl", osl)?,
        common_prefix: lengths(keys, "common_prefix", defaults.common_prefix)?,
        own_prefix: lengths(keys, "own_prefix", defaults.own_prefix)?,
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
fn until(keys: &mut Reader<'_>) -> Option<Until> {
    let least = whole(keys, "until_least", 1);
    let Some(text) = keys.text("until") else {
        if least.is_some() {
            keys.fault("until_least", "only works with 'until'", "add until = \"ttft_p99=2%\", or leave it out");
        }
        return None;
    };
    match Until::parse(&text, least.unwrap_or(until::LEAST)) {
        Ok(until) => Some(until),
        Err(why) => {
            keys.fault("until", why, "write it as until = \"ttft_p99=2%\"");
            None
        }
    }
}

/// One client of several that load apart.
fn share(keys: &mut Reader<'_>) -> Share {
    let most = i64::from(u32::MAX);
    let (rank, world) = (small(keys, "rank", 0, most).unwrap_or(0), small(keys, "world", 1, most).unwrap_or(1));
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

/// A distribution. The default where the key is not there, nothing after a fault.
fn lengths(keys: &mut Reader<'_>, key: &'static str, default: Lengths) -> Option<Lengths> {
    match keys.words(key) {
        Some(text) => said(keys, key, Lengths::parse(&text)),
        None if keys.has(key) => None,
        None => Some(default),
    }
}

fn whole(keys: &mut Reader<'_>, key: &'static str, low: i64) -> Option<u64> {
    keys.whole_within(key, low, i64::MAX).and_then(|number| u64::try_from(number).ok())
}

fn small(keys: &mut Reader<'_>, key: &'static str, low: i64, high: i64) -> Option<u32> {
    keys.whole_within(key, low, high.min(i64::from(u32::MAX))).and_then(|number| u32::try_from(number).ok())
}

fn file(keys: &mut Reader<'_>, key: &'static str, folder: &Path) -> Option<PathBuf> {
    let name = keys.text(key)?;
    found(keys, key, folder, &name)
}

fn found(keys: &mut Reader<'_>, key: &'static str, folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    keys.fault(
        key,
        format!("names \"{name}\", which is not a file"),
        "give a path relative to the suite, or an absolute one",
    );
    None
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
