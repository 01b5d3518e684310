//! Options of multi-turn chat: those of the known multi-turn scripts under their names, and a few of our own.
//!
//! In:  arguments as typed.  Out: [`Conversations`], where any of them asks for conversations.
//! Not here: what they mean (see `load::chat`), options that every load has (see `cli::load`).
//!
//! [`SCRIPT_OPTIONS`] lists every option of vLLM's `benchmarks/multi_turn/benchmark_serving_multi_turn.py` and what it is here, so that a
//! command line can be carried over without guessing.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::error::Error;
use crate::load::chat;
use crate::load::settings::{ConversationInput, Conversations, Lengths, Sampling, Settings};

/// What became of an option of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// It exists under this name.
    Same,
    /// This option does it.
    As(&'static str),
    /// There is nothing to ask for: why.
    Not(&'static str),
}

/// Every option of `benchmark_serving_multi_turn.py` (vLLM, `benchmarks/multi_turn`, read in 2026), and the two that forks of it add.
pub const SCRIPT_OPTIONS: &[(&str, Here)] = &[
    ("input-file", Here::Same),
    ("num-clients", Here::Same),
    ("max-active-conversations", Here::Same),
    ("request-rate", Here::Same),
    ("max-num-requests", Here::Same),
    ("max-turns", Here::Same),
    ("max-time-sec", Here::Same),
    ("warmup-step", Here::Same),
    ("limit-min-tokens", Here::Same),
    ("limit-max-tokens", Here::Same),
    ("conversation-sampling", Here::Same),
    ("request-timeout-sec", Here::Same),
    ("print-content", Here::Same),
    ("no-early-stop", Here::Same),
    ("seed", Here::Same),
    ("model", Here::Same),
    ("url", Here::Same),
    ("header", Here::Same),
    ("served-model-name", Here::As("model")),
    ("api-key", Here::As("api-key-env")),
    ("max-retries", Here::As("retries")),
    ("output-file", Here::As("archive")),
    ("stats-json-output", Here::As("json")),
    ("excel-output", Here::Not("sparkbench analyse writes a workbook")),
    ("verify-output", Here::Not("conversations.jsonl holds every answer to compare")),
    ("warmup-percentages", Here::Not("the archive holds every request, so any share can be left out afterwards")),
    ("no-stream", Here::Not("without a stream there is no time to the first token")),
    ("send-conversation-id", Here::Not("the x-request-id of each turn names its conversation")),
    ("trust-remote-code", Here::Not("no code of a model is ever run")),
    ("verbose", Here::Not("conversations.jsonl says what each client did")),
];

/// See the module.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Conversations")]
pub struct ChatArgs {
    /// Multi-turn chat from a file: ShareGPT-like JSON, a generation file (generate_conversations), or a text that is cut into turns.
    /// Several texts may be given
    #[arg(long, value_name = "FILE")]
    pub input_file: Vec<PathBuf>,
    /// Conversations to lead in all; of a file at most so many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub conversations: Option<u32>,
    /// Clients, each of which waits for its answer before its next turn [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub num_clients: Option<u32>,
    /// Conversations at any time, over all clients [default: 3 for each client]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_active_conversations: Option<u32>,
    /// Turns per second of each client, with exponential gaps; 0 sends the next turn at once [default: 0]. Without conversations the same
    /// as --rate, and inf sends as many at once as --max-concurrency allows
    #[arg(long, value_name = "R", visible_alias = "client-rate")]
    pub request_rate: Option<f64>,
    /// Measured turns over all clients
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_num_requests: Option<u64>,
    /// Cut conversations after so many turns; the user's and the assistant's both count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Measured time, seconds; as --duration
    #[arg(long, value_name = "S")]
    pub max_time_sec: Option<f64>,
    /// A turn may take so long, seconds; as --timeout
    #[arg(long, value_name = "S")]
    pub request_timeout_sec: Option<f64>,
    /// Send the first turn of every conversation as a warm-up, then measure from the second on
    #[arg(long)]
    pub warmup_step: bool,
    /// Least output tokens; 0 is the length of the input's own answer, below 0 no limit [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit_min_tokens: Option<i64>,
    /// Most output tokens; 0 is the length of the input's own answer, below 0 no limit [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit_max_tokens: Option<i64>,
    /// Which of its conversations a client goes on with [default: round_robin]
    #[arg(long, value_enum, value_name = "HOW")]
    pub conversation_sampling: Option<SamplingWord>,
    /// Print each turn's prompt and answer when it ends
    #[arg(long)]
    pub print_content: bool,
    /// End with the first client that has no conversation left
    #[arg(long, conflicts_with = "no_early_stop")]
    pub early_stop: bool,
    /// Lead every conversation to its end; always so without --early-stop
    #[arg(long)]
    pub no_early_stop: bool,
    /// Carry the recorded answers of the file over instead of the live ones
    #[arg(long)]
    pub recorded_answers: bool,
    /// Turns of the user in a made conversation, in the forms of --isl [default: 4]
    #[arg(long, value_name = "TURNS")]
    pub turns: Option<String>,
    /// Tokens that all made conversations begin with [default: 0]
    #[arg(long, value_name = "TOKENS")]
    pub common_prefix: Option<String>,
    /// Tokens at the head of each made conversation [default: 0]
    #[arg(long, value_name = "TOKENS")]
    pub own_prefix: Option<String>,
}

/// `--conversation-sampling`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SamplingWord {
    /// One after the other
    #[value(name = "round_robin", alias = "round-robin")]
    RoundRobin,
    /// Any of them, by the seed
    Random,
}

impl ChatArgs {
    /// Whether any option asks for conversations. Bounds of time and the time-out are those of every load, under the script's names.
    pub fn asked(&self) -> bool {
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

    /// What is to be led, with the lengths of `--isl` and `--osl`; absent where nothing asks for conversations.
    ///
    /// # Errors
    /// Of usage.
    pub fn read(&self, isl: &str, osl: &str) -> Result<Option<Conversations>, Error> {
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
                return Err(Error::usage(format!("--request-rate is {rate}"))
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
    pub fn bound(&self, settings: &mut Settings) -> Result<(), Error> {
        let seconds = |option: &str, value: f64| {
            let fits = value > 0.0 && value.is_finite();
            fits.then_some(value)
                .ok_or_else(|| Error::usage(format!("{option} is {value}")).hint("give seconds, above 0"))
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
                            "'{}' is no text, and several files are given",
                            path.display()
                        ))
                        .hint("give one file of conversations, one generation file, or texts alone"));
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
    use clap::{CommandFactory as _, Parser};

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        chat: ChatArgs,
    }

    fn typed(line: &str) -> ChatArgs {
        Alone::try_parse_from(std::iter::once("load").chain(line.split_whitespace())).unwrap().chat
    }

    /// Options that other parts of the load have.
    const ELSEWHERE: &[&str] = &["seed", "model", "url", "header"];

    #[test]
    fn every_option_of_the_script_is_here_under_its_name_or_said_to_be_elsewhere() {
        let command = Alone::command();
        let known: Vec<_> = command.get_arguments().filter_map(|arg| arg.get_long()).collect();
        for (option, here) in SCRIPT_OPTIONS {
            if *here == Here::Same && !ELSEWHERE.contains(option) {
                assert!(known.contains(option), "--{option} does not exist");
            }
        }
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
