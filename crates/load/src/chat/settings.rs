//! Checked settings of conversations.
//!
//! In:  settings of a command line.  Out: limits and lengths, or every contradiction at once.
//! Not here: the options of the command line (see `cli::load::chat`), files (see `library`).
//!
//! Limits on output tokens mean the same as in vLLM's `benchmark_serving_multi_turn.py`. Absent or 0 asks for the length of the input's own
//! answer (recorded, or drawn). A negative number sets no limit. A positive number is the limit. In [`Conversations`] absent is `None`, and
//! "no limit" is `Some(0)`.

use crate::settings::{Cache, ConversationInput, Conversations, Endpoint, Lengths, Settings, Shape, unmeasurable};
use sparkbench_text::error::Error;

/// Active conversations for each client by default.
pub const ACTIVE_PER_CLIENT: u32 = 3;

/// How lengths are written.
pub const LENGTHS_REMEDY: &str = "use 128, 100-200, uniform:100,200, normal:512,64, lognormal:512,128 or zipf:1.2,2048";

/// Lengths as they are typed: see [`LENGTHS_REMEDY`].
///
/// # Errors
/// Their faults, in words.
pub fn parse_lengths(typed: &str, least: u32) -> Result<Lengths, String> {
    let typed = typed.trim();
    let (word, rest) = match (typed.split_once(':'), typed.split_once('-')) {
        (Some((word, rest)), _) => (word.trim(), rest.split(',').map(str::trim).collect()),
        (None, Some((low, high))) => ("uniform", vec![low.trim(), high.trim()]),
        (None, None) => (typed, Vec::new()),
    };
    let whole = |text: &str| {
        let number = text.parse::<u32>().map_err(|_| format!("\"{text}\" is not a whole number"))?;
        if number < least || number > super::draw::LENGTH_MAX {
            return Err(format!("{number} is not within {least} and {}", super::draw::LENGTH_MAX));
        }
        Ok(number)
    };
    let number = |text: &str| {
        let found = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        found.ok_or_else(|| format!("\"{text}\" is not a number of at least 0"))
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
        _ => Err("is not a distribution".to_owned()),
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
        wrong.push("conversations only work with the chat endpoint: leave out --endpoint".to_owned());
    }
    if chat.clients == 0 {
        wrong.push("--num-clients is 0, but must be at least 1".to_owned());
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
            "--max-active-conversations is {active}, less than the {} clients: each client needs its own",
            chat.clients
        ));
    }
    if let (Some(least @ 1..), Some(most @ 1..)) = (chat.min_tokens, chat.max_tokens)
        && least > most
    {
        wrong.push(format!("--limit-min-tokens is {least}, more than --limit-max-tokens, which is {most}"));
    }
    if chat.request_rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
        wrong.push("--request-rate is not a number above 0: leave it out to send at once".to_owned());
    }
    if most_requests(settings, chat).is_some_and(|most| most < u64::from(chat.clients)) {
        wrong.push(format!("--max-num-requests is less than the {} clients: at least one for each", chat.clients));
    }
    if settings.cache == Cache::Primed {
        wrong.push(
            "live conversations cannot have a primed cache, because their prompts hold answers that are not known yet. \
             Send the first turns before with --warmup-step"
                .to_owned(),
        );
    }
    if chat.recorded_answers
        && matches!(
            chat.input,
            ConversationInput::Synthetic | ConversationInput::Generate(_) | ConversationInput::Texts(_)
        )
    {
        wrong.push("generated conversations have no recorded answers: leave out --recorded-answers".to_owned());
    }
    if settings.extra_body.contains_key("messages") {
        wrong.push("the extra body holds \"messages\", which conversations write themselves".to_owned());
    }
    wrong.extend(unmeasurable(&settings.extra_body));
    let closed =
        matches!(settings.shape, Shape::Closed { concurrency } if concurrency == 1 || concurrency == chat.clients);
    if !closed || settings.ramp.is_some() {
        wrong.push(
            "conversations have clients instead of a concurrency, an overall rate, a trace or a ramp: use --num-clients and \
             --request-rate"
                .to_owned(),
        );
    }
    if settings.warmups() > 0 {
        wrong.push("conversations have no single warm-up requests: use --warmup-step".to_owned());
    }
    if settings.token_ids {
        wrong.push("conversations are sent as text: leave out token ids".to_owned());
    }
    match wrong.as_slice() {
        [] => Ok(()),
        [one] => Err(Error::usage(one.clone())),
        several => {
            Err(Error::usage(format!("{} settings cannot be combined\n  - {}", several.len(), several.join("\n  - "))))
        }
    }
}

/// Made conversations without a number go on for ever, so something else has to end the load.
pub(super) fn needs_an_end(settings: &Settings, chat: &Conversations) -> Result<(), Error> {
    if chat.warmup_step {
        return Err(Error::usage("a warm-up step of every conversation needs their number")
            .hint("give it, e.g. --conversations 24"));
    }
    if most_requests(settings, chat).is_none() && settings.duration_s.is_none() {
        return Err(Error::usage("generated conversations without a number have no end")
            .hint("give --conversations, --max-num-requests or --max-time-sec"));
    }
    Ok(())
}
