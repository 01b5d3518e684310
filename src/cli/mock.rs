//! A server with known emission times, for tests and for whoever doubts a client.
//!
//! In:  when tokens are due, the shape of the stream.  Out: answers on a socket; a truth file; totals on standard error.
//! Not here: the server (see `mock`).

use std::path::PathBuf;
use std::time::Duration;

use sparkbench_archive::write_atomic;
use sparkbench_host::Host as _;
use sparkbench_host::machine::Machine;
use sparkbench_host::net::resolve;
use sparkbench_mock::ask::from_ms;
use sparkbench_mock::settings::{Honours, ReasoningKey};
use sparkbench_mock::{self as mock, Settings, Totals, shape};
use sparkbench_text::error::{Error, Kind};

use super::stdout::print;
use super::talk::Talk;

/// How often we look whether we are to end.
const LOOK: Duration = Duration::from_millis(20);

/// Serve answers at known times, in any shape of stream
///
/// Prints its address on standard output when it listens. Ends on SIGINT, on SIGTERM or after --for-s. Then it says on standard error what
/// it did and how late its own writes were. Token k of an answer is due at the request's last byte + TTFT + k x ITL. With both 0, answers
/// come as fast as possible, with one write per token.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sparkbench mock --port 8000 --ttft-ms 50 --itl-ms 10   a server that takes 50 ms to the first token, then 10 ms a token\n  \
    sparkbench load --url localhost:8000 --requests 20     in another terminal: measure it\n  \
    sparkbench mock --shapes                               every shape of stream that it can send")]
pub(crate) struct Mock {
    /// Print every stream shape, with what a correct client reports of it, and end
    #[arg(long)]
    shapes: bool,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on. 0 takes any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Name of the served model
    #[arg(long, value_name = "NAME", default_value = "mock")]
    model: String,
    /// Longest request, in tokens of input and output together
    #[arg(long, value_name = "N", default_value_t = 131_072)]
    max_model_len: u32,
    /// Time from the request's last byte to the first token, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    ttft_ms: f64,
    /// Time between two tokens, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    itl_ms: f64,
    /// Time added before the first token for each input token that is not cached, in microseconds
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    ttft_per_input_token_us: f64,
    /// Largest random delay of a token, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    jitter_ms: f64,
    /// Seed of every random draw
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Number of tokens of an answer to a request without max_tokens
    #[arg(long, value_name = "N", default_value_t = 128)]
    tokens: u32,
    /// Number of tokens after which the model ends an answer by itself [default: never]
    #[arg(long, value_name = "N")]
    natural_tokens: Option<u32>,
    /// Number of tokens in each chunk
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tokens_per_chunk: u32,
    /// Maximum number of requests answered at the same time. Others wait in order [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_running: Option<u32>,
    /// Send the whole response in one write when its last token is due
    #[arg(long)]
    whole: bool,
    /// Ways to ask for an exact length that are honoured: ignore_eos, min_tokens, min_new_tokens or none
    #[arg(long, value_name = "WORDS", default_value = "ignore_eos,min_tokens")]
    honours: String,
    /// Stream shape of answers to requests that name none
    #[arg(long, value_name = "NAME", default_value = "plain")]
    shape: String,
    /// Number of tokens before the fault, in shapes that have one [default: half of the answer]
    #[arg(long, value_name = "N")]
    after: Option<u32>,
    /// Number of reasoning tokens, in shapes that reason [default: a third of the answer]
    #[arg(long, value_name = "N")]
    reasoning_tokens: Option<u32>,
    /// JSON member that carries the reasoning
    #[arg(long, value_name = "NAME", default_value = "reasoning_content")]
    #[arg(value_parser = ["reasoning_content", "reasoning", "both"])]
    reasoning_key: String,
    /// API key that a client must send [default: none]
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// Time after which a connection without a request is closed, in milliseconds [default: never]
    #[arg(long, value_name = "MS")]
    close_idle_ms: Option<f64>,
    /// Number of tokens in a block of the prefix cache. 0 turns the cache off
    #[arg(long, value_name = "N", default_value_t = 16)]
    block_tokens: u32,
    /// Write one JSON line per request with what was sent when, in nanoseconds of the monotonic clock
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Write the time of every chunk, not only of the first and the last
    #[arg(long, requires = "truth")]
    truth_chunks: bool,
    /// Write the totals as JSON
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Busy-wait for this long before each due time, in microseconds. Times are more exact and cost processor time
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    spin_us: f64,
    /// Time after which the server ends, in seconds [default: never]
    #[arg(long, value_name = "S")]
    for_s: Option<f64>,
}

pub(crate) fn run(args: &Mock, talk: &Talk) -> Result<(), Error> {
    if args.shapes {
        return print(&shape::table());
    }
    let machine = Machine::new()?;
    let running = mock::start(args.settings()?)?;
    print(&format!("{}\n", running.url()))?;
    let begin = machine.monotonic();
    let end = |now: Duration| args.for_s.is_some_and(|limit| (now - begin).as_secs_f64() >= limit);
    while !machine.interrupted() && !end(machine.monotonic()) && !running.failed() {
        machine.pause(LOOK);
    }
    let totals = running.finish()?.totals;
    talk.say(&said(&totals));
    if let Some(path) = &args.summary {
        let text = serde_json::to_string_pretty(&totals)
            .map_err(|cause| Error::new(Kind::Archive, "cannot write the totals").because(cause))?;
        write_atomic(path, (text + "\n").as_bytes())?;
    }
    Ok(())
}

impl Mock {
    fn settings(&self) -> Result<Settings, Error> {
        let time = |name: &str, ms: f64| {
            from_ms(ms).ok_or_else(|| {
                Error::usage(format!("{name} {ms} is not a valid time")).hint("give a number of at least 0")
            })
        };
        let shape = shape::find(&self.shape).ok_or_else(|| {
            Error::usage(format!("there is no stream shape '{}'", self.shape))
                .hint("list the shapes with: sparkbench mock --shapes")
        })?;
        let honours = Honours::parse(&self.honours).map_err(|word| {
            Error::usage(format!("--honours '{word}' is not known"))
                .hint("give ignore_eos, min_tokens and min_new_tokens, separated by commas, or none")
        })?;
        let unknown = || {
            Error::usage(format!("--host '{}' is not an address of this machine", self.host))
                .hint("use 127.0.0.1 for this machine alone, or 0.0.0.0 for other machines too")
        };
        let addresses = resolve(&self.host, self.port).map_err(|cause| unknown().because(cause))?;
        let address = addresses.first().copied().ok_or_else(unknown)?;
        Ok(Settings {
            address,
            model: self.model.clone(),
            max_model_len: self.max_model_len,
            ttft_ns: time("--ttft-ms", self.ttft_ms)?,
            ttft_per_input_token_ns: time("--ttft-per-input-token-us", self.ttft_per_input_token_us / 1e3)?,
            itl_ns: time("--itl-ms", self.itl_ms)?,
            jitter_ns: time("--jitter-ms", self.jitter_ms)?,
            seed: self.seed,
            tokens: self.tokens.max(1),
            natural_tokens: self.natural_tokens,
            tokens_per_chunk: self.tokens_per_chunk,
            max_running: self.max_running,
            whole: self.whole,
            honours,
            shape,
            reasoning_tokens: self.reasoning_tokens,
            reasoning_key: match self.reasoning_key.as_str() {
                "reasoning" => ReasoningKey::Short,
                "both" => ReasoningKey::Both,
                _ => ReasoningKey::Content,
            },
            after: self.after,
            api_key: self.api_key.clone(),
            close_idle_ns: self.close_idle_ms.map(|ms| time("--close-idle-ms", ms)).transpose()?,
            block_tokens: self.block_tokens,
            truth_file: self.truth.clone(),
            truth_chunks: self.truth_chunks,
            keep_truth: false,
            spin_ns: time("--spin-us", self.spin_us / 1e3)?,
            ..Settings::default()
        })
    }
}

fn said(totals: &Totals) -> String {
    let late = match (totals.late_p50_us, totals.late_p99_us, totals.late_max_us) {
        (Some(p50), Some(p99), Some(max)) => {
            format!(", {} timed writes late by p50 {p50:.0} us, p99 {p99:.0} us, max {max:.0} us", totals.timed_writes)
        }
        _ => String::new(),
    };
    format!(
        "mock: {} requests, {} of them to the model, on {} connections, {} tokens, at most {} at the same time{late}",
        totals.requests, totals.asks, totals.connections, totals.tokens, totals.most_running
    )
}
