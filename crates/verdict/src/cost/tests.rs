//! Cells with figures that can be computed by hand.

use super::*;
use crate::facts::builtin;
use crate::testing::measured;
use sparkbench_model::{Campaign, Facts, Setup};

fn settings() -> Settings {
    Settings { confidence: 0.95, resamples: 999, seed: 1, baseline: None, margins_pct: BTreeMap::new() }
}

fn setup(machine: &str, batch: f64) -> Setup {
    Setup {
        model_id: Some("org/m".into()),
        machine: Some(machine.into()),
        quantisation: Some("fp8".into()),
        batch: Some(batch),
        isl: Some(512.0),
        osl: Some(128.0),
        ..Setup::default()
    }
}

fn of(workload: &str, setup: &Setup, figures: &[(&str, f64)], rates: &[f64]) -> Vec<Run> {
    rates
        .iter()
        .enumerate()
        .map(|(k, rate)| {
            let mut all = vec![("output_throughput_tok_s", *rate)];
            all.extend_from_slice(figures);
            Run { workload: workload.into(), ..measured(&format!("{workload}-{k}"), setup.clone(), &all) }
        })
        .collect()
}

fn costs(runs: &[Run], facts: &Facts) -> Vec<CostReport> {
    let campaign = Campaign { name: "c".into(), ..Campaign::default() };
    report(&Case::of_runs(&campaign, runs.iter().collect(), facts), &settings())
}

#[track_caller]
fn near(found: Option<f64>, expected: f64, by: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() <= by), "{found:?} is not {expected}");
}

#[test]
fn the_published_rows_of_t4_and_l4_come_out_of_runs() {
    let facts = builtin().unwrap();
    for (machine, rate, expected) in [("Tesla T4", 200.0, 0.73), ("Tesla T4", 50.0, 2.92), ("NVIDIA L4", 120.0, 2.55)] {
        let rows = costs(&of("w", &setup(machine, 1.0), &[], &[rate]), &facts);
        near(rows[0].usd_per_million_output.map(|cost| cost.mean), expected, 0.005);
        assert!(rows[0].price.as_ref().is_some_and(|price| !price.sources.is_empty() && !price.date.is_empty()));
    }
}

#[test]
fn the_published_rows_of_70b_differ_by_the_number_of_instances_that_they_leave_out() {
    let facts = builtin().unwrap();
    let mean = |machine: &str, rate: f64| {
        costs(&of("w", &setup(machine, 1.0), &[], &[rate]), &facts)[0].usd_per_million_output.map(|cost| cost.mean)
    };
    // Published as about 20: one instance. Four carry the model, so the cost is four times that.
    near(mean("NVIDIA L4", 15.0), 20.4, 0.05);
    near(mean("4x NVIDIA L4", 15.0), 81.5, 0.05);
    // Published as about 15: an eighth of the instance is 19.0, the whole of it 151.7.
    near(mean("NVIDIA A100-SXM4-40GB", 60.0), 19.0, 0.05);
    near(mean("8x NVIDIA A100-SXM4-40GB", 60.0), 151.7, 0.05);
}

#[test]
fn input_output_and_energy_are_counted_apart() {
    let facts = builtin().unwrap();
    let figures = [("total_throughput_tok_s", 500.0), ("power_w", 50.0), ("energy_j_per_token", 0.5)];
    let row = costs(&of("w", &setup("T4", 1.0), &figures, &[100.0]), &facts).remove(0);
    near(row.input_tok_s.map(|e| e.mean), 400.0, 1e-9);
    near(row.usd_per_million_input.map(|e| e.mean), 0.526 / 1.44, 1e-9);
    near(row.usd_per_million_total.map(|e| e.mean), 0.526 / 1.8, 1e-9);
    near(row.apart.as_ref().map(|a| a.usd_per_million_input), 0.526 / 2.88, 1e-9);
    near(row.output_tokens_per_usd.map(|e| e.mean), 360_000.0 / 0.526, 1e-6);
    assert_eq!((row.tok_s_per_w.map(|e| e.mean), row.output_tokens_per_j.map(|e| e.mean)), (Some(2.0), Some(2.0)));
    assert!(row.missing.is_empty(), "{:?}", row.missing);
}

#[test]
fn an_empty_cell_says_why() {
    let facts = builtin().unwrap();
    let row = costs(&of("w", &setup("NVIDIA B200", 1.0), &[], &[100.0]), &facts).remove(0);
    assert_eq!((row.price.is_none(), row.usd_per_million_output), (true, None));
    assert_eq!(row.missing[0], "no price of NVIDIA B200 in the list");
}

#[test]
fn the_best_batch_is_chosen_by_throughput_by_cost_and_under_a_limit() {
    let facts = builtin().unwrap();
    let mut runs = of("b1", &setup("T4", 1.0), &[("tpot_ms", 20.0), ("ttft_ms", 100.0)], &[50.0, 50.5, 49.5]);
    runs.extend(of("b8", &setup("T4", 8.0), &[("tpot_ms", 50.0), ("ttft_ms", 500.0)], &[160.0, 161.0, 159.0]));
    runs.extend(of("b32", &setup("T4", 32.0), &[("tpot_ms", 250.0), ("ttft_ms", 900.0)], &[200.0, 190.0, 210.0]));
    runs.extend(of("b64", &setup("T4", 64.0), &[("ttft_ms", 900.0)], &[201.0, 191.0, 211.0]));
    let found = best_batches(&costs(&runs, &facts), &LimitFacts::default());
    let [best] = found.as_slice() else { panic!("{found:?}") };
    let fastest = best.by_throughput.as_ref().unwrap();
    assert_eq!((fastest.batch, fastest.not_told_apart.as_slice()), (64.0, &[32.0][..]));
    assert_eq!(best.by_cost.as_ref().unwrap().batch, 64.0);
    assert_eq!(best.within_limits.as_ref().unwrap().batch, 8.0);
    let why: Vec<(f64, &str)> = best.excluded.iter().map(|e| (e.batch, e.why.as_str())).collect();
    assert_eq!(why, [(32.0, "TPOT is 250 ms"), (64.0, "TPOT was not measured")]);
    let strict = LimitFacts { tpot_ms: Some(30.0), ttft_ms: None };
    assert_eq!(best_batches(&costs(&runs, &facts), &strict)[0].within_limits.as_ref().unwrap().batch, 1.0);
}

#[test]
fn machines_stand_against_each_other_cheapest_first_with_a_ratio_and_its_interval() {
    let facts = builtin().unwrap();
    let mut runs = of("w-t4", &setup("T4", 1.0), &[], &[50.0, 51.0, 49.0]);
    runs.extend(of("w-l4", &setup("L4", 1.0), &[], &[120.0, 121.0, 119.0]));
    runs.extend(of("w-b200", &setup("B200", 1.0), &[], &[900.0, 910.0, 890.0]));
    let found = machine_against_machine(&costs(&runs, &facts), &settings());
    let [table] = found.as_slice() else { panic!("{found:?}") };
    let names: Vec<&str> = table.rows.iter().map(|row| row.machine.as_str()).collect();
    assert_eq!(names, ["NVIDIA L4", "NVIDIA T4", "NVIDIA B200"]);
    let t4 = table.rows[1].cost_ratio.unwrap();
    near(Some(t4.mean), (0.526 / 50.0) / (1.10 / 120.0), 1e-9);
    assert!(t4.low.unwrap() < t4.mean && t4.mean < t4.high.unwrap() && t4.low.unwrap() > 1.0, "{t4:?}");
    assert_eq!(table.rows[0].cost_ratio.unwrap().mean, 1.0);
    assert!(table.rows[2].cost_ratio.is_none(), "no price, no ratio");
}
