//! GuideLLM's `benchmarks.json`: one benchmark for each rate of a sweep.
//!
//! In:  one object with `benchmarks`.  Out: a run for each.
//! Not here: its CSV, YAML and HTML, which say less; prompts and answers.
//!
//! Traps, each of which is handled: `request_latency` is in seconds beside `*_ms`; `time_per_output_token_ms` holds the first token and is
//! no TPOT, `inter_token_latency_ms` is one number a request and is ours; means of tokens per second weigh by time, so throughput is
//! computed from sums and the duration where both are there; a category without requests is filled with zeros; requests that the end of
//! a timed run cut off are `incomplete` and enter no latency; lists of requests may be samples.
//!
//! Seen: schema 1 (2025, to 0.3: `args`, `worker`, `run_stats`) and schema 2 (0.4 to 0.8.1: `config`, `scheduler_state`,
//! `scheduler_metrics`, totals inside `metrics`), in which `inter_token_latency_ms` weighs each request by its tokens.

mod measures;
mod requests;
mod setup;

use super::at::At;
use super::fill::{Fill, number_at, text_at};
use super::json;
use super::{About, Format, Head, Parsed, SourceFile, Standing};
use crate::error::{Error, Place};
use crate::model::{Instant, Status};

/// See the module.
pub struct GuideLlm;

const RULE: &str = "guidellm";
const DERIVED: &str = "guidellm.derived";

/// Parts of a benchmark whose numbers are figures of the run.
const FIGURES: &[&str] = &["run_stats", "scheduler_state", "scheduler_metrics", "request_totals"];
/// Numbers of a benchmark, in seconds.
const SECONDS: &[&str] = &["duration", "warmup_duration", "cooldown_duration"];

impl Format for GuideLlm {
    fn name(&self) -> &'static str {
        "guidellm"
    }

    fn about(&self) -> About {
        About {
            tool: "GuideLLM, benchmarks.json",
            versions: "schema 1 (to 0.3) and schema 2 (0.4 to 0.8.1)",
            sign: "an object whose `benchmarks` begin with a `generative_benchmark`",
            reads: "a run for each benchmark of a sweep: throughput, TTFT, TPOT, E2E latency, each successful request",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(object) = head.object() else { return false };
        let kind = object.get("benchmarks").and_then(|list| list.get("type_")).and_then(super::Outline::text);
        kind.is_some_and(|kind| kind.starts_with("generative_benchmark"))
            || object.get("metadata").is_some_and(|at| at.get("guidellm_version").is_some())
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let benchmarks = root.need("benchmarks")?;
        for benchmark in benchmarks.items()? {
            if benchmark.get("metrics").is_none() {
                parsed.left_out.push(
                    Error::archive("a benchmark is left out")
                        .at(Place::Field(benchmark.pointer()))
                        .detail("it has no 'metrics'"),
                );
                continue;
            }
            let mut fill = Fill::new(file, RULE, DERIVED);
            one(&mut fill, &root, &benchmark);
            fill.finish(&mut parsed);
        }
        if let Some(conclusions) = root.get("conclusions")
            && conclusions.items().is_ok_and(|mut items| items.next().is_some())
        {
            parsed.not_understood.push(format!("line {}: '/conclusions' of the profile", conclusions.node.line));
        }
        Ok(parsed)
    }
}

/// One benchmark.
fn one(fill: &mut Fill<'_, '_>, root: &At<'_>, benchmark: &At<'_>) {
    let total = |name: &str| {
        number_at(benchmark, &["metrics", "request_totals", name])
            .or_else(|| number_at(benchmark, &["request_totals", name]))
            .or_else(|| number_at(benchmark, &["run_stats", "requests_made", name]))
    };
    let (good, bad, cut) = (total("successful"), total("errored"), total("incomplete"));
    let failed = good.is_some_and(|good| good <= 0.0);
    setup::fill(fill, root, benchmark);
    measures::all(fill, benchmark, good, failed);
    requests::all(fill, benchmark, good);
    for key in FIGURES {
        if let Some(at) = benchmark.get(key) {
            fill.numbers(key, &at, None);
        }
    }
    for key in SECONDS {
        if let Some(at) = benchmark.get(key) {
            fill.extra(key, "s", &at, None);
        }
    }
    let piece = &mut fill.piece;
    piece.started = number_at(benchmark, &["start_time"]).and_then(Instant::from_unix_seconds);
    piece.ended = number_at(benchmark, &["end_time"]).and_then(Instant::from_unix_seconds);
    piece.setup.requests = total("total").or(good);
    piece.status = good.map(|_| match failed {
        true => Status::Failed(format!(
            "no request succeeded: {} failed, {} were cut off",
            bad.unwrap_or(0.0),
            cut.unwrap_or(0.0)
        )),
        false => Status::Done,
    });
    let id = text_at(benchmark, &["id_"]).or_else(|| text_at(benchmark, &["config", "id_"]));
    piece.fingerprint = id.map(|id| format!("guidellm|{id}"));
    piece.standing = Standing::Body;
    for (count, word) in [(bad, "failed"), (cut, "were cut off at the end")] {
        if let Some(count) = count.filter(|count| *count > 0.0 && !failed) {
            let all = total("total").unwrap_or(count);
            let name = fill.piece.workload.clone().unwrap_or_default();
            fill.note(format!("{name}: {count} of {all} requests {word}; they enter no latency"));
        }
    }
}
