//! Metrics of a run that follow from its own figures and from facts: its share of the roofline, and what its tokens cost.
//!
//! In:  campaigns, runs, facts.  Out: the same runs with one more reading each where all that is needed is known.
//! Not here: the formulas (see `stats`), rows and tables (see `physics`, `cost`).
//!
//! A figure that the source reports itself is kept as it is. A run that failed has neither.

use std::collections::BTreeMap;

use super::case::Case;
use super::physics::{Basis, PhysicsFacts};
use super::price;
use sparkbench_model::{Campaign, Facts, LocalFacts, Origin, Reading, Run};
use sparkbench_stats::economy;
use sparkbench_text::error::Error;

/// Prefix of an origin's field where a figure was computed from another.
pub const FROM: &str = "from ";

/// Rules of what is made here.
const RULES: [&str; 2] = ["roofline.derived", "cost.derived"];

/// Everything that an analysis makes of the figures of runs: from their telemetry, from each other, from facts.
///
/// # Errors
/// Facts that come with the program and cannot be read.
pub fn all(runs: &mut [Run], campaigns: &[Campaign], facts: &[LocalFacts]) -> Result<(), Error> {
    let known = crate::facts::with(facts)?;
    crate::Memory::none().derive(runs);
    of_facts(campaigns, runs, &known);
    Ok(())
}

/// Adds `roofline_pct` and `usd_per_million_tokens`.
pub fn of_facts(campaigns: &[Campaign], runs: &mut [Run], facts: &Facts) {
    let mut more: BTreeMap<String, Vec<Reading>> = BTreeMap::new();
    for campaign in campaigns {
        let own: Vec<&Run> = runs.iter().filter(|run| run.campaign == campaign.name).collect();
        let case = Case::of_runs(campaign, own, facts);
        let grounds = PhysicsFacts::of(&case);
        for run in &case.runs {
            let readings = of_run(&grounds, facts, run);
            if !readings.is_empty() {
                more.insert(run.id.clone(), readings);
            }
        }
    }
    for run in runs {
        run.readings.extend(more.remove(&run.id).unwrap_or_default());
    }
}

/// The metric that a figure was made of here. Nothing where it was read.
pub fn source<'r>(run: &'r Run, metric: &str) -> Option<&'r str> {
    let origin = &run.reading(metric)?.origin;
    origin.field.as_deref()?.strip_prefix(FROM).filter(|_| RULES.contains(&origin.rule))
}

fn of_run<'a>(grounds: &PhysicsFacts<'_, 'a>, facts: &Facts, run: &'a Run) -> Vec<Reading> {
    if run.has_failed() {
        return Vec::new();
    }
    let mut readings = Vec::new();
    let mut add = |metric: &str, value: f64, from: &str, rule: &'static str| {
        if run.reading(metric).is_none() && value.is_finite() && value > 0.0 {
            let origin =
                Origin { file: run.source.path.clone(), line: None, field: Some(format!("{FROM}{from}")), rule };
            readings.push(Reading { metric: metric.to_owned(), value, decimals: None, origin });
        }
    };
    if let Ok(reach) = grounds.reach(run) {
        let from = match reach.basis {
            Basis::Decode if run.value("tpot_ms").is_some() => "tpot_ms",
            Basis::Output if run.value("output_throughput_tok_s").is_some() => "output_throughput_tok_s",
            _ => "decode_tok_s",
        };
        add("roofline_pct", reach.pct, from, "roofline.derived");
    }
    if let Some(rate) = run.value("output_throughput_tok_s")
        && let Some((machine, _)) = grounds.machine(run)
        && let Some(bill) = price::fitting(facts, machine, grounds.devices(run), run).first()
        && let Some(cost) = economy::usd_per_million(bill.usd_per_hour, rate)
    {
        add("usd_per_million_tokens", cost, "output_throughput_tok_s", "cost.derived");
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::COMPUTED;
    use crate::facts::builtin;
    use crate::testing::measured;
    use sparkbench_model::{Setup, Status};

    fn setup(model: &str, machine: &str, batch: f64) -> Setup {
        Setup { model_id: Some(model.into()), machine: Some(machine.into()), batch: Some(batch), ..Setup::default() }
    }

    fn enriched(run: Run) -> Run {
        let campaign = Campaign { name: "c".into(), ..Campaign::default() };
        let mut runs = [run];
        of_facts(&[campaign], &mut runs, &builtin().unwrap());
        let [run] = runs;
        run
    }

    #[track_caller]
    fn near(found: Option<f64>, expected: f64, by: f64) {
        assert!(found.is_some_and(|found| (found - expected).abs() <= by), "{found:?} is not {expected}");
    }

    #[test]
    fn the_published_runs_of_a_spark_reach_three_quarters_and_cost_half_a_dollar() {
        let id = "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B";
        let run = enriched(measured("a", setup(id, "NVIDIA GB10", 8.0), &[("output_throughput_tok_s", 120.0)]));
        // 15.2 GB a step, the input embedding counted as the contract does.
        near(run.value("roofline_pct"), 83.7, 0.1);
        near(run.value("usd_per_million_tokens"), 0.447, 0.001);
        assert!(run.readings.iter().skip(1).all(|r| COMPUTED.contains(&r.origin.rule)));
    }

    #[test]
    fn the_published_table_of_rooflines_comes_out() {
        for (id, quantisation, rate, pct) in [
            ("meta-llama/Llama-3.1-8B-Instruct", "fp8", 20.5, 60.0),
            ("meta-llama/Llama-3.1-8B-Instruct", "nvfp4", 38.65, 70.0),
            ("meta-llama/Llama-3.1-70B-Instruct", "fp8", 2.7, 70.0),
            ("meta-llama/Llama-3.3-70B-Instruct", "nvfp4", 4.1, 61.0),
            ("Qwen/Qwen3-8B", "bf16", 13.1, 73.0),
            ("Qwen/Qwen3-32B", "bf16", 3.7, 87.0),
            ("Qwen/Qwen3-30B-A3B", "fp8", 52.0, 64.0),
            ("openai/gpt-oss-120b", "mxfp4", 33.5, 62.0),
        ] {
            let setup = Setup { quantisation: Some(quantisation.into()), ..setup(id, "GB10", 1.0) };
            let run = enriched(measured("a", setup, &[("decode_tok_s", rate)]));
            near(run.value("roofline_pct"), pct, 1.2);
        }
    }

    #[test]
    fn a_packed_file_of_a_mixed_model_reads_less_than_its_first_checkpoint() {
        for (id, rate, pct) in [("openai/gpt-oss-120b", 59.05, 76.0), ("openai/gpt-oss-20b", 82.74, 78.0)] {
            let setup = Setup {
                quantisation: Some("MXFP4".into()),
                engine: Some("llama.cpp b7486".into()),
                ..setup(id, "GB10", 1.0)
            };
            near(enriched(measured("a", setup, &[("decode_tok_s", rate)])).value("roofline_pct"), pct, 2.0);
        }
    }

    #[test]
    fn speculated_tokens_are_counted_in_steps() {
        let id = "Qwen/Qwen3-8B";
        let plain = enriched(measured("a", setup(id, "GB10", 1.0), &[("decode_tok_s", 13.0)]));
        let mut run = measured("a", setup(id, "GB10", 1.0), &[("decode_tok_s", 32.5)]);
        run.setup.speculative = Some("eagle3, 3 tokens".into());
        assert_eq!(enriched(run.clone()).value("roofline_pct"), None, "how many were accepted is not said");
        run.extras.push(sparkbench_model::Extra {
            name: "mean_acceptance_length".into(),
            unit: "tokens".into(),
            value: sparkbench_model::ExtraValue::Number(2.5),
            why: None,
            origin: run.readings[0].origin.clone(),
        });
        near(enriched(run).value("roofline_pct"), plain.value("roofline_pct").unwrap(), 1e-9);
    }

    #[test]
    fn a_long_context_lowers_the_ceiling() {
        let id = "Qwen/Qwen3-8B";
        let short = enriched(measured("a", setup(id, "GB10", 32.0), &[("output_throughput_tok_s", 200.0)]));
        let long = Setup { isl: Some(8192.0), osl: Some(1024.0), ..setup(id, "GB10", 32.0) };
        let long = enriched(measured("a", long, &[("output_throughput_tok_s", 200.0)]));
        // 32 x 8,704 tokens x 147,456 bytes are 41 GB beside 15 GB of weights.
        near(
            long.value("roofline_pct").map(|l| l / short.value("roofline_pct").unwrap()),
            (15.14 + 41.07) / 15.14,
            0.01,
        );
    }

    #[test]
    fn a_failed_run_and_an_unknown_machine_have_neither() {
        let id = "Qwen/Qwen3-8B";
        let mut failed = measured("a", setup(id, "GB10", 1.0), &[("output_throughput_tok_s", 12.0)]);
        failed.status = Status::Failed("exit status 1".into());
        let other = measured("a", setup(id, "abacus", 1.0), &[("output_throughput_tok_s", 12.0)]);
        for run in [enriched(failed), enriched(other)] {
            assert_eq!((run.value("roofline_pct"), run.value("usd_per_million_tokens")), (None, None));
        }
    }

    #[test]
    fn a_reported_figure_is_kept() {
        let figures = [("output_throughput_tok_s", 12.0), ("usd_per_million_tokens", 9.0)];
        let run = enriched(measured("a", setup("Qwen/Qwen3-8B", "T4", 1.0), &figures));
        assert_eq!(run.value("usd_per_million_tokens"), Some(9.0));
    }
}
