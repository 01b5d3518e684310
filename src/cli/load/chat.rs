//! Options of multi-turn chat: those of the known multi-turn scripts under their names, and a few of our own.
//!
//! In:  arguments as typed.  Out: [`Conversations`], where any of them asks for conversations.
//! Not here: what they mean (see `load::chat`), options that every load has (see `cli::load`).

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use sparkbench_load::chat;
use sparkbench_load::settings::{ConversationInput, Conversations, Lengths, Sampling, Settings};
use sparkbench_text::error::Error;

/// See the module.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Conversations")]
pub(crate) struct ChatArgs {
    /// Multi-turn chat from a file: ShareGPT-like JSON, a generation file (generate_conversations), or a text that is cut into turns. May be
    /// repeated for texts
    #[arg(long, value_name = "FILE")]
    pub input_file: Vec<PathBuf>,
    /// Number of conversations in total. From a file, at most this many are taken
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub conversations: Option<u32>,
    /// Number of clients. Each waits for its answer before its next turn [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub num_clients: Option<u32>,
    /// Maximum number of conversations in progress, over all clients [default: 3 per client]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_active_conversations: Option<u32>,
    /// Turns per second of each client, with exponential gaps. 0 sends the next turn at once. Without conversations it is the same as --rate,
    /// and inf sends as many requests at once as --max-concurrency allows [default: 0]
    #[arg(long, value_name = "R", visible_alias = "client-rate")]
    pub request_rate: Option<f64>,
    /// Number of measured turns, over all clients
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_num_requests: Option<u64>,
    /// Maximum number of turns of a conversation. Turns of the user and of the assistant both count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Measured time, in seconds. The same as --duration
    #[arg(long, value_name = "S")]
    pub max_time_sec: Option<f64>,
    /// Timeout of one turn, in seconds. The same as --timeout
    #[arg(long, value_name = "S")]
    pub request_timeout_sec: Option<f64>,
    /// Send the first turn of every conversation as a warm-up, then measure from the second on
    #[arg(long)]
    pub warmup_step: bool,
    /// Minimum number of output tokens. 0 takes the length of the recorded answer, a negative number sets no limit [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit_min_tokens: Option<i64>,
    /// Maximum number of output tokens. 0 takes the length of the recorded answer, a negative number sets no limit [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit_max_tokens: Option<i64>,
    /// Order in which a client continues its conversations [default: round_robin]
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversation_sampling: Option<SamplingWord>,
    /// Print the prompt and the answer of each turn when it ends
    #[arg(long)]
    pub print_content: bool,
    /// End when the first client has no conversation left
    #[arg(long, conflicts_with = "no_early_stop")]
    pub early_stop: bool,
    /// Finish every conversation. This is the default, unless --early-stop is given
    #[arg(long)]
    pub no_early_stop: bool,
    /// Continue conversations with the recorded answers of the file instead of the live ones
    #[arg(long)]
    pub recorded_answers: bool,
    /// Number of user turns in a generated conversation, in the forms of --isl [default: 4]
    #[arg(long, value_name = "TURNS")]
    pub turns: Option<String>,
    /// Number of tokens that all generated conversations begin with [default: 0]
    #[arg(long, value_name = "TOKENS")]
    pub common_prefix: Option<String>,
    /// Number of further tokens at the start of each generated conversation, different in each [default: 0]
    #[arg(long, value_name = "TOKENS")]
    pub own_prefix: Option<String>,
}

/// `--conversation-sampling`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SamplingWord {
    /// One after another
    #[value(name = "round_robin", alias = "round-robin")]
    RoundRobin,
    /// At random, by the seed
    Random,
}

impl ChatArgs {
    /// Whether any option asks for conversations. Bounds of time and the time-out are those of every load, under the script's names.
    pub(crate) fn asked(&self) -> bool {
        !self.input_file.is_empty()
            || self.conversations.is_some()
            || self.num_clients.is_some()
            || self.max_active_conversations.is_some()
            || self.request_rate.is_some()
            || self.max_num_requests.is_some()
            || self.max_turns.is_some()
            || self.warmup_step
            || self.limit_min_tokens.is_some()
            || self.limit_max_tokens.is_some()
            || self.conversation_sampling.is_some()
            || self.print_content
            || self.early_stop
            || self.no_early_stop
            || self.recorded_answers
            || self.turns.is_some()
            || self.common_prefix.is_some()
            || self.own_prefix.is_some()
    }

    /// What is to be led, with the lengths of `--isl` and `--osl`. Absent where nothing asks for conversations.
    ///
    /// # Errors
    /// Of usage.
    pub(crate) fn read(&self, isl: &str, osl: &str) -> Result<Option<Conversations>, Error> {
        if !self.asked() {
            return Ok(None);
        }
        let plain = Conversations::default();
        let lengths = |option: &str, typed: Option<&str>, default: Lengths, least: u32| match typed {
            None => Ok(default),
            Some(typed) => chat::parse_lengths(typed, least).map_err(|what| {
                Error::usage(format!("{option} is '{typed}': {what}")).hint(chat::settings::LENGTHS_REMEDY)
            }),
        };
        let request_rate = match self.request_rate {
            Some(rate) if !(rate.is_finite() && rate >= 0.0) => {
                return Err(Error::usage(format!("--request-rate {rate} is not a valid rate"))
                    .hint("give turns per second of each client, or 0 to send at once"));
            }
            rate => rate.filter(|rate| *rate > 0.0),
        };
        Ok(Some(Conversations {
            input: self.input()?,
            clients: self.num_clients.unwrap_or(plain.clients),
            max_active: self.max_active_conversations,
            count: self.conversations,
            request_rate,
            max_requests: self.max_num_requests,
            max_turns: self.max_turns,
            warmup_step: self.warmup_step,
            min_tokens: chat::limit(self.limit_min_tokens),
            max_tokens: chat::limit(self.limit_max_tokens),
            sampling: match self.conversation_sampling {
                Some(SamplingWord::Random) => Sampling::Random,
                Some(SamplingWord::RoundRobin) | None => Sampling::RoundRobin,
            },
            print_content: self.print_content,
            early_stop: self.early_stop,
            recorded_answers: self.recorded_answers,
            turns: lengths("--turns", self.turns.as_deref(), plain.turns, 1)?,
            isl: lengths("--isl", Some(isl), plain.isl, 1)?,
            osl: lengths("--osl", Some(osl), plain.osl, 1)?,
            common_prefix: lengths("--common-prefix", self.common_prefix.as_deref(), plain.common_prefix, 0)?,
            own_prefix: lengths("--own-prefix", self.own_prefix.as_deref(), plain.own_prefix, 0)?,
        }))
    }

    /// Sets what the script's names say of every load: `--max-time-sec` and `--request-timeout-sec`.
    ///
    /// # Errors
    /// Of usage.
    pub(crate) fn bound(&self, settings: &mut Settings) -> Result<(), Error> {
        let seconds = |option: &str, value: f64| {
            let fits = value > 0.0 && value.is_finite();
            fits.then_some(value).ok_or_else(|| {
                Error::usage(format!("{option} {value} is not a valid time")).hint("give seconds above 0")
            })
        };
        if let Some(value) = self.max_time_sec {
            settings.duration_s = Some(seconds("--max-time-sec", value)?);
        }
        if let Some(value) = self.request_timeout_sec {
            settings.timeout_s = seconds("--request-timeout-sec", value)?;
        }
        Ok(())
    }

    fn input(&self) -> Result<ConversationInput, Error> {
        match self.input_file.as_slice() {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        chat: ChatArgs,
    }

    fn typed(line: &str) -> ChatArgs {
        Alone::try_parse_from(std::iter::once("load").chain(line.split_whitespace())).unwrap().chat
    }

    #[test]
    fn the_scripts_own_command_line_is_understood() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/load/chat/generate.json");
        let args = typed(&format!(
            "--input-file {file} --num-clients 2 --max-active-conversations 6 --request-rate 0.5 --max-num-requests 100 --max-turns 8 \
             --warmup-step --limit-min-tokens -1 --limit-max-tokens 64 --conversation-sampling random --max-time-sec 30 \
             --request-timeout-sec 120 --print-content --no-early-stop"
        ));
        let chat = args.read("128", "128").unwrap().unwrap();
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
        args.bound(&mut settings).unwrap();
        assert_eq!((settings.duration_s, settings.timeout_s), (Some(30.0), 120.0));
    }

    #[test]
    fn nothing_typed_is_no_conversation() {
        assert_eq!(typed("").read("128", "128").unwrap(), None);
        assert_eq!(typed("--max-time-sec 3 --request-timeout-sec 4").read("128", "128").unwrap(), None);
    }

    #[test]
    fn one_option_is_enough_and_lengths_are_those_of_the_load() {
        let chat = typed("--num-clients 4 --turns 2-6 --request-rate 0").read("200", "normal:50,5").unwrap().unwrap();
        assert_eq!((chat.clients, chat.isl, chat.turns), (4, Lengths::Fixed(200), Lengths::Uniform(2, 6)));
        assert_eq!((chat.request_rate, chat.max_requests), (None, None));
    }

    #[test]
    fn what_does_not_make_sense_is_refused_with_a_remedy() {
        for line in ["--request-rate -1", "--turns x"] {
            let line = line.replace("rate -1", "rate=-1");
            assert!(typed(&line).read("128", "128").unwrap_err().hint.is_some(), "{line}");
        }
        assert!(typed("--max-time-sec 0").bound(&mut Settings::default()).is_err());
        assert!(Alone::try_parse_from(["load", "--num-clients", "0"]).is_err());
        assert!(typed("--input-file nothing-of-that-name.json").read("1", "1").is_err());
    }
}
