//! What conversations are asked for: read from a suite, and checked.
//!
//! In:  a table of a suite, or settings of a command line.  Out: [`Conversations`]; every contradiction at once.
//! Not here: the options of the command line (see `cli::load_chat`), files (see `library`).
//!
//! The keys of a suite are the options of the command line with underscores. Limits on output tokens mean what they mean in vLLM's
//! `benchmark_serving_multi_turn.py`: absent or 0 asks for the length of the input's own answer (recorded, or drawn), a negative number
//! sets no limit, a positive one is the limit. In [`Conversations`] absent is absent, and "no limit" is `Some(0)`.

use std::path::PathBuf;

use crate::error::Error;
use crate::load::settings::{Cache, ConversationInput, Conversations, Endpoint, Lengths, Sampling, Settings, Shape};
use crate::plan::Reader;

/// Active conversations for each client where nothing is said.
pub const ACTIVE_PER_CLIENT: u32 = 3;
/// Most clients: each has a place in several lists.
const CLIENTS_MAX: i64 = 1_000_000;

/// A limit as it is typed: absent or 0 is the input's own length (`None`), negative is none at all (`Some(0)`).
pub fn limit(typed: Option<i64>) -> Option<u32> {
    match typed {
        None | Some(0) => None,
        Some(typed) if typed < 0 => Some(0),
        Some(typed) => Some(u32::try_from(typed).unwrap_or(u32::MAX)),
    }
}

/// Takes the keys of multi-turn chat from a table; the caller finishes the reader. Absent after a fault.
pub fn read_settings(reader: &mut Reader<'_>) -> Option<Conversations> {
    let plain = Conversations::default();
    let small = |number: i64| u32::try_from(number).ok();
    let input_file = reader.text("input_file").map(PathBuf::from);
    let generate = reader.text("generation_file").map(PathBuf::from);
    let texts: Vec<PathBuf> = reader.texts("text_files").into_iter().map(PathBuf::from).collect();
    let given = usize::from(input_file.is_some()) + usize::from(generate.is_some()) + usize::from(!texts.is_empty());
    if given > 1 {
        reader.fault(
            "input_file",
            "stands beside generation_file or text_files",
            "conversations come from one place: keep one of the three",
        );
    }
    let input = match (input_file, generate) {
        (Some(path), _) => ConversationInput::File(path),
        (None, Some(path)) => ConversationInput::Generate(path),
        (None, None) if texts.is_empty() => ConversationInput::Synthetic,
        (None, None) => ConversationInput::Texts(texts),
    };
    let whole = |reader: &mut Reader<'_>, key, low, high| reader.whole_within(key, low, high);
    let limits = ["limit_min_tokens", "limit_max_tokens"].map(|key| limit(whole(reader, key, -1, 1 << 24)));
    let sampling = match reader.choice("conversation_sampling", &["round_robin", "random"]).as_deref() {
        Some("random") => Sampling::Random,
        _ => Sampling::RoundRobin,
    };
    let chat = Conversations {
        input,
        clients: whole(reader, "num_clients", 1, CLIENTS_MAX).and_then(small).unwrap_or(plain.clients),
        max_active: whole(reader, "max_active_conversations", 1, CLIENTS_MAX).and_then(small),
        count: whole(reader, "conversations", 1, i64::from(u32::MAX)).and_then(small),
        request_rate: reader.number_within("request_rate", 0.0, 1e6).filter(|rate| *rate > 0.0),
        max_requests: whole(reader, "max_num_requests", 1, i64::MAX).and_then(|most| u64::try_from(most).ok()),
        max_turns: whole(reader, "max_turns", 1, i64::from(u32::MAX)).and_then(small),
        warmup_step: reader.switch("warmup_step").unwrap_or_default(),
        min_tokens: limits[0],
        max_tokens: limits[1],
        sampling,
        print_content: reader.switch("print_content").unwrap_or_default(),
        early_stop: reader.switch("early_stop").unwrap_or_default(),
        recorded_answers: reader.switch("recorded_answers").unwrap_or_default(),
        turns: lengths(reader, "turns", plain.turns, 1),
        isl: lengths(reader, "isl", plain.isl, 1),
        osl: lengths(reader, "osl", plain.osl, 1),
        common_prefix: lengths(reader, "common_prefix", plain.common_prefix, 0),
        own_prefix: lengths(reader, "own_prefix", plain.own_prefix, 0),
    };
    (given <= 1).then_some(chat)
}

/// `isl = 128`, `isl = [100, 200]` for uniform, or a text as on the command line: `normal:200,20`, `lognormal:400,100`, `zipf:1.2,100`.
fn lengths(reader: &mut Reader<'_>, key: &'static str, plain: Lengths, least: u32) -> Lengths {
    if !reader.has(key) {
        return plain;
    }
    if reader.is_list(key) {
        let ends = reader.numbers(key);
        if let [low, high] = ends.as_slice()
            && low.fract() == 0.0
            && high.fract() == 0.0
            && f64::from(least) <= *low
            && low <= high
            && *high <= f64::from(super::draw::LENGTH_MAX)
        {
            return Lengths::Uniform(*low as u32, *high as u32);
        }
        reader.fault(key, "is no range", format!("give the least and the greatest, at least {least}, e.g. [100, 200]"));
        return plain;
    }
    if !reader.is_text(key) {
        let fixed = reader.whole_within(key, i64::from(least), i64::from(super::draw::LENGTH_MAX));
        return fixed.and_then(|fixed| u32::try_from(fixed).ok()).map_or(plain, Lengths::Fixed);
    }
    let Some(typed) = reader.text(key) else { return plain };
    match parse_lengths(&typed, least) {
        Ok(lengths) => lengths,
        Err(what) => {
            reader.fault(key, format!("is \"{typed}\": {what}"), LENGTHS_REMEDY);
            plain
        }
    }
}

/// How lengths are written.
pub const LENGTHS_REMEDY: &str = "use 128, 100-200, uniform:100,200, normal:512,64, lognormal:512,128 or zipf:1.2,2048";

/// Lengths as they are typed: see [`LENGTHS_REMEDY`].
///
/// # Errors
/// What is wrong with them, in words.
pub fn parse_lengths(typed: &str, least: u32) -> Result<Lengths, String> {
    let typed = typed.trim();
    let (word, rest) = match (typed.split_once(':'), typed.split_once('-')) {
        (Some((word, rest)), _) => (word.trim(), rest.split(',').map(str::trim).collect()),
        (None, Some((low, high))) => ("uniform", vec![low.trim(), high.trim()]),
        (None, None) => (typed, Vec::new()),
    };
    let whole = |text: &str| {
        let number = text.parse::<u32>().map_err(|_| format!("\"{text}\" is no whole number"))?;
        if number < least || number > super::draw::LENGTH_MAX {
            return Err(format!("{number} is not within {least} and {}", super::draw::LENGTH_MAX));
        }
        Ok(number)
    };
    let number = |text: &str| {
        let found = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        found.ok_or_else(|| format!("\"{text}\" is no number of at least 0"))
    };
    let positive = |text: &str| {
        number(text).and_then(|found| if found > 0.0 { Ok(found) } else { Err(format!("\"{text}\" is not above 0")) })
    };
    let far = super::draw::LENGTH_MAX;
    match (word, rest.as_slice()) {
        (fixed, []) => Ok(Lengths::Fixed(whole(fixed)?)),
        ("uniform", [low, high]) => match (whole(low)?, whole(high)?) {
            (low, high) if low <= high => Ok(Lengths::Uniform(low, high)),
            (low, high) => Err(format!("{low} is more than {high}")),
        },
        ("normal", [mean, deviation]) => Ok(Lengths::Normal(positive(mean)?, number(deviation)?, least, far)),
        ("normal", [mean, deviation, low, high]) => {
            Ok(Lengths::Normal(positive(mean)?, number(deviation)?, whole(low)?, whole(high)?))
        }
        ("lognormal", [mean, deviation]) => Ok(Lengths::LogNormal(positive(mean)?, number(deviation)?, least, far)),
        ("lognormal", [mean, deviation, low, high]) => {
            Ok(Lengths::LogNormal(positive(mean)?, number(deviation)?, whole(low)?, whole(high)?))
        }
        ("zipf", [alpha, most]) => Ok(Lengths::Zipf(number(alpha)?, whole(most)?.max(1))),
        _ => Err("is no distribution".to_owned()),
    }
}

/// Turns that may be sent in the measured part, over all clients: `max-num-requests`, else the load's own number of requests.
pub fn most_requests(settings: &Settings, chat: &Conversations) -> Option<u64> {
    chat.max_requests.or(settings.requests)
}

/// Everything that the settings alone tell to be impossible.
///
/// # Errors
/// All contradictions in one.
pub(super) fn check(settings: &Settings, chat: &Conversations) -> Result<(), Error> {
    let mut wrong = Vec::new();
    if settings.endpoint != Endpoint::Chat {
        wrong.push("conversations go to the chat endpoint alone: leave --endpoint away".to_owned());
    }
    if chat.clients == 0 {
        wrong.push("--num-clients is 0: at least one has to send".to_owned());
    }
    if chat.clients < settings.share.world {
        wrong.push(format!(
            "--num-clients is {}, and {} machines share them: give each at least one",
            chat.clients, settings.share.world
        ));
    }
    if let Some(active) = chat.max_active
        && active < chat.clients
    {
        wrong.push(format!(
            "--max-active-conversations is {active}, less than the {} clients: each needs one of its own",
            chat.clients
        ));
    }
    if let (Some(least @ 1..), Some(most @ 1..)) = (chat.min_tokens, chat.max_tokens)
        && least > most
    {
        wrong.push(format!("--limit-min-tokens is {least}, more than --limit-max-tokens, which is {most}"));
    }
    if chat.request_rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
        wrong.push("--request-rate is no number above 0: leave it away to send at once".to_owned());
    }
    if most_requests(settings, chat).is_some_and(|most| most < u64::from(chat.clients)) {
        wrong.push(format!("--max-num-requests is less than the {} clients: at least one for each", chat.clients));
    }
    if settings.cache == Cache::Primed {
        wrong.push(
            "a primed cache is none that live conversations can have: their prompts hold answers that are not known yet; \
             --warmup-step sends the first turns before"
                .to_owned(),
        );
    }
    if chat.recorded_answers
        && matches!(
            chat.input,
            ConversationInput::Synthetic | ConversationInput::Generate(_) | ConversationInput::Texts(_)
        )
    {
        wrong.push("recorded answers are asked for, and made conversations have none".to_owned());
    }
    if settings.extra_body.contains_key("messages") {
        wrong.push("the extra body holds \"messages\", which conversations write themselves".to_owned());
    }
    let closed =
        matches!(settings.shape, Shape::Closed { concurrency } if concurrency == 1 || concurrency == chat.clients);
    if !closed || settings.ramp.is_some() {
        wrong.push(
            "conversations have clients instead of a concurrency, a rate of all together, a trace or a ramp: --num-clients says how many, \
             --request-rate how often each sends"
                .to_owned(),
        );
    }
    if settings.warmup > 0 {
        wrong.push("single warm-up requests are none of a conversation: use --warmup-step".to_owned());
    }
    if settings.token_ids {
        wrong.push("conversations are sent as text: leave token ids away".to_owned());
    }
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(Error::usage(one.clone())),
        several => {
            Err(Error::usage(format!("{} settings do not go together\n  - {}", several.len(), several.join("\n  - "))))
        }
    }
}

/// Made conversations without a number go on for ever, so something else has to end the load.
pub(super) fn needs_an_end(settings: &Settings, chat: &Conversations) -> Result<(), Error> {
    if chat.warmup_step {
        return Err(Error::usage("a warm-up step of every conversation needs their number")
            .hint("say how many, e.g. --conversations 24"));
    }
    if most_requests(settings, chat).is_none() && settings.duration_s.is_none() {
        return Err(Error::usage("made conversations without a number have no end")
            .hint("say how many with --conversations, or end by --max-num-requests or --max-time-sec"));
    }
    Ok(())
}
