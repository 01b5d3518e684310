//! A server with known emission times, for tests and for whoever doubts a client.
//!
//! In:  when tokens are due, the shape of the stream.  Out: answers on a socket; a truth file; totals on standard error.
//! Not here: the server (see `mock`).

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Kind};
use crate::host::Host as _;
use crate::host::machine::Machine;
use crate::host::net::resolve;
use crate::mock::ask::from_ms;
use crate::mock::settings::{Honours, ReasoningKey};
use crate::mock::{self, Settings, Totals, shape};

use super::talk::Talk;

/// How often we look whether we are to end.
const LOOK: Duration = Duration::from_millis(20);

/// Serve answers at known times, in any shape
///
/// Prints its address on standard output when it listens. Ends on SIGINT, SIGTERM or after --for-s, and says on standard error what
/// it did and how late its own writes were. Token k of an answer is due at the request's last byte + TTFT + k x ITL; with both 0,
/// answers come as fast as possible, a write a token.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sparkbench mock --port 8000 --ttft-ms 50 --itl-ms 10   a server that takes 50 ms to the first token, then 10 ms a token\n  \
    sparkbench load --url localhost:8000 --requests 20     in another terminal: measure it\n  \
    sparkbench mock --shapes                               every shape of stream that it can send")]
pub struct Mock {
    /// Print every stream shape, and what a right client reports of it, and end
    #[arg(long)]
    shapes: bool,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// Port; 0 is any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Name of the model
    #[arg(long, value_name = "NAME", default_value = "mock")]
    model: String,
    /// Longest request: input and output tokens together
    #[arg(long, value_name = "N", default_value_t = 131_072)]
    max_model_len: u32,
    /// From the request's last byte to the first token
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    ttft_ms: f64,
    /// Between tokens
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    itl_ms: f64,
    /// Added to the time to the first token, for each input token that is not cached
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    ttft_per_input_token_us: f64,
    /// Largest random delay of a token
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    jitter_ms: f64,
    /// Seed of what is random
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Tokens of an answer, where a request gives no max_tokens
    #[arg(long, value_name = "N", default_value_t = 128)]
    tokens: u32,
    /// Tokens after which the model ends an answer by itself
    #[arg(long, value_name = "N")]
    natural_tokens: Option<u32>,
    /// Tokens in each chunk
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tokens_per_chunk: u32,
    /// Requests answered at the same time; others wait in order
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_running: Option<u32>,
    /// The whole response in one write, when its last token is due
    #[arg(long)]
    whole: bool,
    /// Requests for an exact length that are honoured: ignore_eos, min_tokens, min_new_tokens, none
    #[arg(long, value_name = "WORDS", default_value = "ignore_eos,min_tokens")]
    honours: String,
    /// Shape of answers whose request names none
    #[arg(long, value_name = "NAME", default_value = "plain")]
    shape: String,
    /// Tokens before the fault, in shapes that have one [default: half of the answer]
    #[arg(long, value_name = "N")]
    after: Option<u32>,
    /// Tokens of reasoning, in shapes that reason [default: a third of the answer]
    #[arg(long, value_name = "N")]
    reasoning_tokens: Option<u32>,
    /// Member that carries reasoning
    #[arg(long, value_name = "NAME", default_value = "reasoning_content")]
    #[arg(value_parser = ["reasoning_content", "reasoning", "both"])]
    reasoning_key: String,
    /// Key that a client must give
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// Close connections without a request for so long
    #[arg(long, value_name = "MS")]
    close_idle_ms: Option<f64>,
    /// Tokens in a block of the prefix cache; 0 is no cache
    #[arg(long, value_name = "N", default_value_t = 16)]
    block_tokens: u32,
    /// Write what was done with each request, a JSON line each, times in nanoseconds of the monotonic clock
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Write the time of every chunk, not of the first and the last alone
    #[arg(long, requires = "truth")]
    truth_chunks: bool,
    /// Write the totals as JSON
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Stay awake for so long before a due moment: more exact, and costs processor time
    #[arg(long, value_name = "US", default_value_t = 0.0)]
    spin_us: f64,
    /// End after so many seconds
    #[arg(long, value_name = "S")]
    for_s: Option<f64>,
}

pub fn run(args: &Mock, talk: &Talk) -> Result<(), Error> {
    if args.shapes {
        return super::print(&shape::table());
    }
    let machine = Machine::new()?;
    let running = mock::start(args.settings()?)?;
    super::print(&format!("{}\n", running.url()))?;
    let begin = machine.monotonic();
    let end = |now: Duration| args.for_s.is_some_and(|limit| (now - begin).as_secs_f64() >= limit);
    while !machine.interrupted() && !end(machine.monotonic()) && !running.failed() {
        machine.pause(LOOK);
    }
    let totals = running.finish()?.totals;
    talk.say(&said(&totals));
    if let Some(path) = &args.summary {
        let failed = |cause| Error::archive(format!("cannot write '{}'", path.display())).because(cause);
        let text = serde_json::to_string_pretty(&totals)
            .map_err(|cause| Error::new(Kind::Archive, "cannot write the totals").because(cause))?;
        std::fs::write(path, text + "\n").map_err(failed)?;
    }
    Ok(())
}

impl Mock {
    fn settings(&self) -> Result<Settings, Error> {
        let time = |name: &str, ms: f64| {
            from_ms(ms).ok_or_else(|| Error::usage(format!("{name}: {ms} is no time")).hint("give a number from 0 on"))
        };
        let shape = shape::find(&self.shape).ok_or_else(|| {
            Error::usage(format!("there is no stream shape '{}'", self.shape)).hint("see `sparkbench mock --shapes`")
        })?;
        let honours = Honours::parse(&self.honours).map_err(|word| {
            Error::usage(format!("--honours: '{word}' is not known"))
                .hint("give ignore_eos, min_tokens, min_new_tokens, with commas between, or none")
        })?;
        let unknown = || Error::usage(format!("--host: '{}' is no address of this machine", self.host));
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
            format!("; {} timed writes late by p50 {p50:.0} us, p99 {p99:.0} us, max {max:.0} us", totals.timed_writes)
        }
        _ => String::new(),
    };
    format!(
        "mock: {} requests, {} of them to the model, on {} connections; {} tokens; at most {} at the same time{late}",
        totals.requests, totals.asks, totals.connections, totals.tokens, totals.most_running
    )
}
