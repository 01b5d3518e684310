//! The combined results of the published container study, `all_benchmark_results.json`.
//!
//! In:  an object `models` -> model -> environment -> list of runs.  Out: one partial run for each run.
//! Not here: repair. `latency` is null in every run of the one file known and stays a missing reading.
//!
//! Seen: github.com/brandonrc/benchmark-spark, commit 326cc72574cb450d28d3beeacb2141b50953ccc6. Memory is in GiB there.

use super::at::At;
use super::json;
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile, flat};
use sparkbench_model::Instant;
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct Phase1;

const RULE: &str = "phase1.run";

/// Their name, ours.
const METRICS: &[(&str, &str)] = &[
    ("throughput", "request_throughput_req_s"),
    ("output_throughput", "output_throughput_tok_s"),
    ("latency", "e2e_latency_ms"),
    ("peak_memory", "peak_memory_gib"),
    ("kv_cache", "kv_cache_gib"),
    ("start_temp_celsius", "gpu_temp_start_c"),
    ("end_temp_celsius", "gpu_temp_end_c"),
];

impl Format for Phase1 {
    fn name(&self) -> &'static str {
        "phase1 results"
    }

    fn about(&self) -> About {
        About {
            tool: "the combined results of the phase 1 study",
            versions: "2025",
            sign: "`models` with lists of runs for each environment",
            reads: "throughput, peak memory, KV cache, temperatures, exit codes",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_object() && head.has_keys(&["models", "peak_memory", "kv_cache", "iteration"])
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let models = root.need("models")?;
        for (model, environments) in models.entries()? {
            let environments = match environments.entries() {
                Ok(entries) => entries,
                Err(error) => {
                    parsed.left_out.push(error);
                    continue;
                }
            };
            for (environment, list) in environments {
                let runs = match list.items() {
                    Ok(items) => items,
                    Err(error) => {
                        parsed.left_out.push(error);
                        continue;
                    }
                };
                for at in runs {
                    match run(file, model, environment, &at) {
                        Ok(partial) => parsed.records.push(Record::Run(Box::new(partial))),
                        Err(error) => parsed.left_out.push(error),
                    }
                }
            }
        }
        Ok(parsed)
    }
}

fn run(file: &SourceFile<'_>, model: &str, environment: &str, at: &At<'_>) -> Result<PartialRun, Error> {
    let mut partial = PartialRun { join_role: JoinRole::Alone, ..flat::common(at)? };
    partial.environment.get_or_insert_with(|| environment.to_owned());
    partial.model.get_or_insert_with(|| model.to_owned());
    if let Some(at) = at.get("timestamp")
        && let Some(stamp) = at.text()?
    {
        let started = Instant::parse(stamp).ok_or_else(|| at.unlike("a moment as YYYYMMDD_HHMMSS"))?;
        partial.started_somewhere(Some(started));
        // The name that the files of this run had in the flat layout.
        partial.id = partial.repeat.map(|n| format!("{environment}_{model}_iter{n}_{stamp}"));
    }
    for (theirs, ours) in METRICS {
        if let Some(value) = at.get(theirs) {
            partial.readings.push(file.reading(ours, &value, RULE)?);
        }
    }
    Ok(partial)
}
