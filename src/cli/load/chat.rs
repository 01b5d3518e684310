//! What the options of multi-turn chat mean: those of the known multi-turn scripts under their names, and a few of our own.
//!
//! In:  options as typed.  Out: [`Conversations`], where any of them asks for conversations.
//! Not here: leading them (see `load::chat`), the options themselves (see `load::settings`).

use sparkbench_load::chat;
use sparkbench_load::settings::{
    CONVERSATIONS, ConversationInput, Conversations, Lengths, LoadOptions, OPTIONS, Settings,
};
use sparkbench_text::error::Error;

/// Options among those of conversations that every load has under another name. They ask for none.
const OF_EVERY_LOAD: [&str; 2] = ["max_time_sec", "request_timeout_sec"];

/// Whether any option asks for conversations.
pub(super) fn asked(options: &LoadOptions) -> bool {
    let mut here = OPTIONS.iter().filter(|option| option.group == CONVERSATIONS);
    here.any(|option| !OF_EVERY_LOAD.contains(&option.name) && option.value(options).is_some())
}

/// What is to be led, with the lengths of `--isl` and `--osl`. Absent where nothing asks for conversations.
///
/// # Errors
/// Of usage.
pub(super) fn read(options: &LoadOptions, isl: &str, osl: &str) -> Result<Option<Conversations>, Error> {
    if !asked(options) {
        return Ok(None);
    }
    let lengths = |option: &str, typed: Option<&str>, default: Lengths, least: u32| match typed {
        None => Ok(default),
        Some(typed) => chat::parse_lengths(typed, least).map_err(|what| {
            Error::usage(format!("{option} is '{typed}': {what}")).hint(chat::settings::LENGTHS_REMEDY)
        }),
    };
    if let Some(rate) = options.request_rate.filter(|rate| !(rate.is_finite() && *rate >= 0.0)) {
        return Err(Error::usage(format!("--request-rate {rate} is not a valid rate"))
            .hint("give turns per second of each client, or 0 to send at once"));
    }
    let chat = options.chat();
    Ok(Some(Conversations {
        input: input(options)?,
        turns: lengths("--turns", options.turns.as_deref(), chat.turns, 1)?,
        isl: lengths("--isl", Some(isl), chat.isl, 1)?,
        osl: lengths("--osl", Some(osl), chat.osl, 1)?,
        common_prefix: lengths("--common-prefix", options.common_prefix.as_deref(), chat.common_prefix, 0)?,
        own_prefix: lengths("--own-prefix", options.own_prefix.as_deref(), chat.own_prefix, 0)?,
        ..chat
    }))
}

/// Sets what the script's names say of every load: `--max-time-sec` and `--request-timeout-sec`.
///
/// # Errors
/// Of usage.
pub(super) fn bound(options: &LoadOptions, settings: &mut Settings) -> Result<(), Error> {
    let seconds = |option: &str, value: f64| {
        let fits = value > 0.0 && value.is_finite();
        fits.then_some(value)
            .ok_or_else(|| Error::usage(format!("{option} {value} is not a valid time")).hint("give seconds above 0"))
    };
    if let Some(value) = options.max_time_sec {
        settings.duration_s = Some(seconds("--max-time-sec", value)?);
    }
    if let Some(value) = options.request_timeout_sec {
        settings.timeout_s = seconds("--request-timeout-sec", value)?;
    }
    Ok(())
}

fn input(options: &LoadOptions) -> Result<ConversationInput, Error> {
    match options.input_file.as_deref().unwrap_or_default() {
        [] => Ok(ConversationInput::Synthetic),
        [one] => chat::recognise(one),
        several => {
            for path in several {
                if !matches!(chat::recognise(path)?, ConversationInput::Texts(_)) {
                    return Err(Error::usage(format!(
                        "'{}' is not a text file, and several files are given",
                        path.display()
                    ))
                    .hint("give one file of conversations, one generation file, or only text files"));
                }
            }
            Ok(ConversationInput::Texts(several.to_vec()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::LoadArgs;
    use super::*;
    use clap::Parser;
    use sparkbench_load::settings::Sampling;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        load: LoadArgs,
    }

    fn typed(line: &str) -> LoadArgs {
        let words = ["load", "--url", "http://h"].into_iter().chain(line.split_whitespace());
        Alone::try_parse_from(words).unwrap().load
    }

    #[test]
    fn the_scripts_own_command_line_is_understood() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/load/chat/generate.json");
        let args = typed(&format!(
            "--input-file {file} --num-clients 2 --max-active-conversations 6 --request-rate 0.5 --max-num-requests 100 --max-turns 8 \
             --warmup-step --limit-min-tokens -1 --limit-max-tokens 64 --conversation-sampling random --max-time-sec 30 \
             --request-timeout-sec 120 --print-content --no-early-stop"
        ));
        let chat = read(&args, "128", "128").unwrap().unwrap();
        assert_eq!(
            chat,
            Conversations {
                input: ConversationInput::Generate(file.into()),
                clients: 2,
                max_active: Some(6),
                request_rate: Some(0.5),
                max_requests: Some(100),
                max_turns: Some(8),
                warmup_step: true,
                min_tokens: Some(0),
                max_tokens: Some(64),
                sampling: Sampling::Random,
                print_content: true,
                ..Conversations::default()
            }
        );
        let mut settings = Settings::default();
        bound(&args, &mut settings).unwrap();
        assert_eq!((settings.duration_s, settings.timeout_s), (Some(30.0), 120.0));
    }

    #[test]
    fn nothing_typed_is_no_conversation() {
        assert_eq!(read(&typed(""), "128", "128").unwrap(), None);
        assert_eq!(read(&typed("--max-time-sec 3 --request-timeout-sec 4"), "128", "128").unwrap(), None);
    }

    #[test]
    fn one_option_is_enough_and_lengths_are_those_of_the_load() {
        let chat = read(&typed("--num-clients 4 --turns 2-6 --request-rate 0"), "200", "normal:50,5").unwrap().unwrap();
        assert_eq!((chat.clients, chat.isl, chat.turns), (4, Lengths::Fixed(200), Lengths::Uniform(2, 6)));
        assert_eq!((chat.request_rate, chat.max_requests), (None, None));
    }

    #[test]
    fn what_does_not_make_sense_is_refused_with_a_remedy() {
        for line in ["--request-rate -1", "--turns x"] {
            let line = line.replace("rate -1", "rate=-1");
            assert!(read(&typed(&line), "128", "128").unwrap_err().hint.is_some(), "{line}");
        }
        assert!(bound(&typed("--max-time-sec 0"), &mut Settings::default()).is_err());
        assert!(Alone::try_parse_from(["load", "--url", "http://h", "--num-clients", "0"]).is_err());
        assert!(read(&typed("--input-file nothing-of-that-name.json"), "1", "1").is_err());
    }
}
