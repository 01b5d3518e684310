//! Bootstrap limits against SciPy, within the Monte-Carlo error of both.
//!
//! The fixture and its generator lie in `tests/fixtures/bootstrap/`. SciPy draws other random numbers, so a limit
//! may differ by the spread over seeds that the fixture records, times six (`statistics.md`, section 11).

use serde_json::Value;
use sparkbench::stats::bootstrap::{Job, Limits, Statistic, TwoSample, one_sample, two_sample};
use sparkbench::stats::hierarchical;
use sparkbench::stats::overhead::Direction;

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bootstrap/cases.json");
    let text = std::fs::read_to_string(path).unwrap();
    let fixture: Value = serde_json::from_str(&text).unwrap();
    fixture["cases"].as_array().unwrap().clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn job(name: &str, resamples: usize) -> Job {
    Job { seed: 42, key: name.into(), resamples, confidence: 0.95, threads: 0 }
}

/// Six times the larger of the recorded spread and the error of a quantile of B normal draws.
fn assert_close(name: &str, expected: &Value, lo: f64, hi: f64, resamples: usize) {
    let field = |key: &str| expected[key].as_f64().unwrap();
    let se = (field("hi") - field("lo")) / (2.0 * 1.959_964);
    let floor = (0.025 * 0.975 / resamples as f64).sqrt() * se / 0.058_445;
    for (end, ours) in [("lo", lo), ("hi", hi)] {
        let tolerance = 6.0 * field(&format!("sd_{end}")).max(floor);
        assert!((ours - field(end)).abs() <= tolerance, "{name}, {end}: {ours}, not {} +- {tolerance}", field(end));
        // A tolerance as wide as the interval would let anything through.
        assert!(tolerance < 0.5 * (field("hi") - field("lo")), "{name}, {end}: tolerance {tolerance} says nothing");
    }
}

#[test]
fn limits_of_one_and_two_samples_are_those_of_scipy() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| case["runs"].is_null()) {
        let name = case["name"].as_str().unwrap();
        let (a, job) = (numbers(&case["a"]), job(name, 10_000));
        let statistic = case["statistic"].as_str().unwrap();
        let one = |statistic| one_sample(&a, statistic, &job).map(|r| [r.percentile, r.basic, r.bca]);
        let two = |what| two_sample(&a, &numbers(&case["b"]), what, &job).map(|r| [r.percentile, r.basic, r.bca]);
        let limits: [Limits; 3] = match statistic {
            "mean" => one(Statistic::Mean),
            "median" => one(Statistic::Median),
            "p99" => one(Statistic::P99),
            "difference" => two(TwoSample::Difference),
            "overhead_pct" => two(TwoSample::OverheadPct(Direction::LowerIsBetter)),
            other => panic!("the fixture names a statistic we do not know: {other}"),
        }
        .unwrap();
        for (limits, method) in limits.iter().zip(["percentile", "basic", "BCa"]) {
            assert_close(&format!("{name}, {method}"), &case[method], limits.lo, limits.hi, 10_000);
            compared += 1;
        }
    }
    assert!(compared >= 30, "only {compared} intervals compared");
}

#[test]
fn hierarchical_limits_are_those_of_a_plain_numpy_loop() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| !case["runs"].is_null()) {
        let name = case["name"].as_str().unwrap();
        let runs: Vec<Vec<f64>> = case["runs"].as_array().unwrap().iter().map(numbers).collect();
        let resamples = case["resamples"].as_u64().unwrap() as usize;
        let [got] =
            &hierarchical::percentiles(&runs, &[case["p"].as_f64().unwrap()], &job(name, resamples)).unwrap()[..]
        else {
            panic!("one percentile")
        };
        assert_close(name, &case["percentile"], got.lo, got.hi, resamples);
        compared += 1;
    }
    assert_eq!(compared, 3);
}
