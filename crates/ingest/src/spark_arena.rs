//! The leaderboard that a Spark Arena keeps of one target: the rates that stand, and where they began.
//!
//! In:  one object.  Out: one partial run, of the rates that stand.
//! Not here: attempts and probes, of which the arena says itself that they are no scores, and `baseline.json`, which the rates at the start repeat.
//!
//! `decodeTps` and `prefillTps` are medians over prompts of one request at a time. Seen: files of July 2026.

use super::at::At;
use super::sheet::{self, Sheet};
use super::{About, Format, Head, Parsed, SourceFile, json};
use sparkbench_model::Status;
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct SparkArena;

const RULE: &str = "spark-arena";
const DERIVED: &str = "spark-arena.derived";

/// Key and metric.
const FIGURES: &[(&str, &str)] = &[("decodeTps", "decode_tok_s"), ("prefillTps", "prefill_tok_s")];
/// Ratios to the start.
const RATIOS: &[sheet::ExtraOf<'_>] =
    &[("cumulativeDecodeSpeedup", "", None), ("cumulativePrefillSpeedup", "", None), ("promotionCount", "", None)];

impl Format for SparkArena {
    fn name(&self) -> &'static str {
        "spark-arena"
    }

    fn about(&self) -> About {
        About {
            tool: "Spark Arena",
            versions: "contractVersion 1",
            sign: "an object with `contractVersion`, `origin` and `current`",
            reads: "decode and prefill rate of the target as it stands, the engine and the machine",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|object| {
            object.has(&["contractVersion", "origin"]) && object.get("current").is_some_and(|at| at.has(&["decodeTps"]))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let current = root.need("current")?;
        let mut parsed = Parsed::default();
        let mut sheet = Sheet::new(file, RULE, DERIVED);
        for (key, metric) in FIGURES {
            if let Some(at) = current.get(key) {
                sheet.metric(&at, metric);
            }
        }
        sheet.extras(&current, RATIOS);
        let text = |key: &str| sheet::text_at(&root, key);
        if let Some(target) = text("target") {
            sheet.model(&target);
        }
        let setup = &mut sheet.partial.setup;
        (setup.tool, setup.batch) = (Some(RULE.to_owned()), Some(1.0));
        (setup.engine, setup.engine_version, setup.machine) = (text("engine"), text("vendorPin"), text("hardware"));
        sheet.partial.status = Some(Status::Done);
        sheet.finish(&mut parsed);
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn the_rates_that_stand_are_a_run_and_where_they_began_is_none() {
        let text = r#"{"contractVersion": 1, "target": "m-27b-nvfp4", "engine": "vllm", "hardware": "NVIDIA DGX Spark", "vendorPin": "vllm 0.26.0",
            "origin": {"decodeTps": 10.0, "prefillTps": 500.0},
            "current": {"decodeTps": 12.5, "prefillTps": 660.0, "cumulativeDecodeSpeedup": 1.25, "promotionCount": 1}}"#;
        assert!(SparkArena.sniff(&Head::new("leaderboard.json", text, text.len() as u64)));
        let mut input = text.as_bytes();
        let parsed = SparkArena.parse(&mut SourceFile::new("leaderboard.json", 1, &mut input)).unwrap();
        let [Record::Run(run)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let found: Vec<(&str, f64)> = run.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(found, [("decode_tok_s", 12.5), ("prefill_tok_s", 660.0)]);
        assert_eq!(
            (run.model.as_deref(), run.setup.machine.as_deref()),
            (Some("m-27b-nvfp4"), Some("NVIDIA DGX Spark"))
        );
    }
}
