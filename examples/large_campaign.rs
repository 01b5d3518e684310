//! Writes a campaign of any size in our own archive format, for measuring how long an analysis takes and how much memory it needs.
//!
//! usage: `cargo run --release --features examples --example large_campaign -- FOLDER [RUNS] [REQUESTS]`, by default 1,000 runs of 1,000 requests.
//!
//! The figures are drawn, not measured: two environments, five models, two workloads, interleaved in blocks.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

const ENVIRONMENTS: [&str; 2] = ["native", "docker"];
const MODELS: [&str; 5] = ["model-a", "model-b", "model-c", "model-d", "model-e"];
const WORKLOADS: [&str; 2] = ["chat", "summary"];
/// 2026-01-01T00:00:00Z.
const EPOCH: i64 = 1_767_225_600;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().ok_or("usage: large_campaign FOLDER [RUNS] [REQUESTS]")?);
    let runs: usize = args.next().map_or(Ok(1000), |n| n.parse())?;
    let requests: usize = args.next().map_or(Ok(1000), |n| n.parse())?;
    let mut random = SmallRng::seed_from_u64(42);
    let mut plan = Vec::new();
    fs::create_dir_all(folder.join("runs"))?;
    for position in 0..runs {
        let cells = ENVIRONMENTS.len() * MODELS.len() * WORKLOADS.len();
        let (block, place) = (position / cells, position % cells);
        let environment = ENVIRONMENTS[(place + block) % 2];
        let model = MODELS[place / 2 % MODELS.len()];
        let workload = WORKLOADS[place / (2 * MODELS.len()) % WORKLOADS.len()];
        let id = format!("{environment}-{model}-{workload}-{block}");
        let start = EPOCH + 120 * i64::try_from(position)?;
        let run = json!({
            "schema": "sparkbench.run/1", "id": id, "environment": environment, "model": model, "workload": workload,
            "repeat": block + 1, "block": block + 1, "position": position + 1,
            "started_utc": stamp(start), "ended_utc": stamp(start + 100), "exit_code": 0,
            "before": {"gpu_c": 38.0}, "after": {"gpu_c": 60.0},
            "asked": {"model_id": model, "batch": 8, "isl": 128, "osl": 128},
        });
        let home = folder.join("runs").join(&id);
        fs::create_dir_all(&home)?;
        fs::write(home.join("run.json"), serde_json::to_string_pretty(&run)?)?;
        let pace = 0.010 * (1.0 + 0.02 * (random.random::<f64>() - 0.5));
        let mut lines = std::io::BufWriter::new(fs::File::create(home.join("requests.jsonl"))?);
        let mut sent = 0.0;
        for index in 0..requests {
            let first = sent + 0.040 + 0.010 * random.random::<f64>();
            let last = first + 7.0 * pace * (1.0 + 0.1 * random.random::<f64>());
            let further: Vec<f64> = (1..=7).map(|k| first + (last - first) * f64::from(k) / 7.0).collect();
            let line = json!({
                "index": index, "intended_s": sent, "sent_s": sent, "first_token_s": first, "further_tokens_s": further,
                "input_tokens": 128, "output_tokens": 8, "status": "ok",
            });
            writeln!(lines, "{line}")?;
            sent = last + 0.001;
        }
        plan.push(json!({
            "id": id, "environment": environment, "model": model, "workload": workload, "repeat": block + 1,
            "block": block + 1, "position": position + 1,
        }));
    }
    let campaign = json!({
        "schema": "sparkbench.campaign/1", "name": "large", "title": "Drawn, not measured", "seed": 42, "plan": plan,
        "baseline": "native", "primary": ["ttft_ms", "tpot_ms", "e2e_latency_ms"],
    });
    fs::write(folder.join("campaign.json"), serde_json::to_string_pretty(&campaign)?)?;
    Ok(())
}

/// Seconds since the epoch as ISO 8601.
fn stamp(seconds: i64) -> String {
    sparkbench::model::Instant(seconds * 1000).iso()
}
