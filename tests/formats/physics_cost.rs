//! Shares of the roofline and costs of the archives that ship, with facts of the program and of a user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sparkbench::archive;
use sparkbench::ingest::{self, Intake, Options};
use sparkbench::model::Run;
use sparkbench::verdict::report::Analysis;
use sparkbench::verdict::{self, CellValues, Settings, Study, derive, summary};

use crate::support::folder::Folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn settings() -> Settings {
    Settings { confidence: 0.95, resamples: 999, seed: 42, baseline: None, margins_pct: Default::default() }
}

/// Values by cell and metric, in the order of the runs.
fn cells(runs: &[Run]) -> Vec<CellValues> {
    let mut found: BTreeMap<[String; 5], (Vec<String>, Vec<f64>)> = BTreeMap::new();
    for run in runs {
        for reading in &run.readings {
            let key = [&run.campaign, &run.model, &run.workload, &run.environment, &reading.metric].map(Clone::clone);
            let (ids, values) = found.entry(key).or_default();
            ids.push(run.id.clone());
            values.push(reading.value);
        }
    }
    type Found = ([String; 5], (Vec<String>, Vec<f64>));
    let cell = |([campaign, model, workload, environment, metric], (run_ids, values)): Found| CellValues {
        campaign,
        model,
        workload,
        environment,
        metric,
        run_ids,
        values,
    };
    found.into_iter().map(cell).collect()
}

/// As `analyse` does it, without tables: the rows here need none.
fn judged(paths: &[PathBuf]) -> (Analysis, Intake) {
    let intake = ingest::all(&archive::discover(paths).unwrap(), &Options::default()).unwrap();
    let facts = verdict::facts::with(&intake.facts).unwrap();
    let mut runs = intake.runs.clone();
    runs.iter_mut().for_each(summary::of_requests);
    derive::of_facts(&intake.campaigns, &mut runs, &facts);
    let study = Study { campaigns: intake.campaigns.clone(), runs, facts, inputs: intake.inputs.clone() };
    (verdict::judge(&study, &cells(&study.runs), &settings(), &|_| {}), intake)
}

#[track_caller]
fn near(found: Option<f64>, expected: f64, by: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() <= by), "{found:?} is not {expected}");
}

#[test]
fn the_published_study_has_shares_costs_and_references_with_their_sources() {
    let (analysis, _) = judged(&[root().join("data/phase1")]);
    assert_eq!((analysis.physics.len(), analysis.costs.len()), (6, 6), "three labels in two environments");
    for cost in &analysis.costs {
        let price = cost.price.as_ref().unwrap();
        assert_eq!((price.key.as_str(), price.date.as_str()), ("gb10-owned", "2026-06-12"));
        let usd = cost.usd_per_million_output.unwrap();
        assert!((0.44..0.46).contains(&usd.mean) && usd.low < Some(usd.mean) && usd.high > Some(usd.mean), "{usd:?}");
        assert_eq!(cost.other_prices.len(), 1);
        assert!(cost.missing.iter().any(|why| why.contains("input tokens")), "{:?}", cost.missing);
    }
    let share = |model: &str| {
        let row = analysis.physics.iter().find(|row| row.model == model && row.environment == "native").unwrap();
        row.roofline_pct.map(|share| share.mean)
    };
    near(share("deepseek"), 83.6, 1.0);
    near(share("qwen72b"), 796.0, 10.0);
    let run = analysis.runs.iter().find(|run| run.model == "deepseek").unwrap();
    assert!(run.metrics["roofline_pct"].is_some() && run.metrics["usd_per_million_tokens"].is_some());
    assert_eq!(run.origins["usd_per_million_tokens"].rule, "cost.derived");
    // A cost is a rate turned round: the same verdict, and a share that has no per cent of its own is never compared by one.
    let compared = |metric: &str| {
        let found = analysis.comparisons.iter().find(|c| c.model == "deepseek" && c.metric == metric);
        found.unwrap_or_else(|| panic!("no comparison of {metric}"))
    };
    let (rate, cost) = (compared("output_throughput_tok_s"), compared("usd_per_million_tokens"));
    assert_eq!(rate.verdict.kind, cost.verdict.kind, "{} / {}", rate.verdict.text, cost.verdict.text);
    near(cost.overhead_pct, rate.overhead_pct.unwrap(), 0.01);
    let share = compared("roofline_pct");
    println!("{}\n{}", cost.verdict.text, share.verdict.text);
    assert_eq!((share.overhead_pct, cost.primary || share.primary), (None, false));
    let beside = analysis.references.iter().find(|row| row.key == "gb10-19").unwrap();
    assert_eq!(beside.own.len(), 2, "the same model natively and in a container");
    assert!(analysis.machines.is_empty() && analysis.best_batches.is_empty());
    // What is computed here is no column of the study: the checks of columns speak of its own.
    for trap in analysis.traps.iter().filter(|t| ["derived-column", "affine-columns", "missing-metric"].contains(&t.id))
    {
        assert!(!trap.message.contains("roofline") && !trap.message.contains("ost per million"), "{}", trap.message);
    }
}

#[test]
fn a_steps_worth_of_a_small_model_on_a_large_device_is_measured_by_time_per_token() {
    let (analysis, _) = judged(&[root().join("data/h200-chroot")]);
    let decodes: Vec<_> = analysis.physics.iter().filter(|row| row.roofline_pct.is_some()).collect();
    assert!(!decodes.is_empty());
    for row in decodes {
        let share = row.roofline_pct.unwrap();
        assert!(share.mean > 5.0 && share.mean < 100.0, "{} {}: {share:?}", row.workload, row.environment);
    }
    let best = analysis.best_batches.iter().find(|best| best.environment == "native").unwrap();
    assert_eq!((best.isl, best.osl), (512.0, 128.0));
    assert_eq!(best.by_cost.as_ref().unwrap().batch, *best.batches.last().unwrap());
}

#[test]
fn a_file_of_a_user_adds_machines_prices_and_models() {
    let folder = Folder::new("physics");
    folder.put(
        "results/runs.csv",
        "environment,model,workload,ttft_ms,output_throughput_tok_s\nnative,m,chat,10,100\nnative,m,chat,10,101\n",
    );
    folder.put(
        "results/labels.toml",
        "schema = \"sparkbench.labels/1\"\nmachine = \"kiln\"\n[models.m]\nid = \"Mine-8B\"\nbatch = 8.0\n",
    );
    folder.put(
        "results/facts.toml",
        "schema = \"sparkbench.facts/1\"\n[machines.kiln]\ntitle = \"Kiln\"\nbandwidth_gb_s = 500.0\nsources = [\"s\"]\n\
         [prices.kiln]\ntitle = \"Kiln, rented\"\nmachine = \"kiln\"\ndate = \"2026-01-01\"\nusd_per_hour = 3.6\nsources = [\"s\"]\n",
    );
    let config = root().join("tests/fixtures/ingest/formats/model-config/Sample-8B/config.json");
    folder.put("Mine-8B/config.json", std::fs::read(config).unwrap());
    let (analysis, intake) = judged(&[folder.path().to_owned()]);
    assert!(intake.inputs.iter().all(|input| !input.skipped), "{:?}", intake.inputs);
    let cost = analysis.costs.first().unwrap();
    near(cost.usd_per_million_output.map(|usd| usd.mean), 1e3 / 100.5, 1e-9);
    assert!(cost.price.as_ref().unwrap().own);
    // 8.03 GB a step at 500 GB/s and 8 at a time are 498 tok/s.
    near(analysis.physics.first().unwrap().roofline_pct.map(|share| share.mean), 100.5 / 498.1 * 100.0, 0.05);
}
