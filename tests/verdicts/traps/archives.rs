//! What the traps say of two real archives: the published phase 1 study (last column of statistics contract 7), and our own two environments on an H200.

use super::*;

fn study() -> Vec<TrapReport> {
    reports(&fixture("study.toml"))
}

/// The one report about a model.
fn about<'r>(all: &'r [TrapReport], id: &str, model: &str) -> &'r TrapReport {
    let found: Vec<&TrapReport> =
        of(all, id).into_iter().filter(|r| r.subject.model.as_deref() == Some(model)).collect();
    assert_eq!(found.len(), 1, "{id}, {model}");
    found[0]
}

fn the<'r>(all: &'r [TrapReport], id: &str) -> &'r TrapReport {
    let found = of(all, id);
    assert_eq!(found.len(), 1, "{id}");
    found[0]
}

fn says(report: &TrapReport, status: TrapStatus, severity: Severity, words: &[&str]) {
    assert_eq!((report.status, report.severity), (status, severity), "{}: {}", report.id, report.message);
    let evidence: Vec<&str> = report.evidence.iter().map(|e| e.text.as_str()).collect();
    for word in words {
        assert!(
            report.message.contains(word) || evidence.iter().any(|e| e.contains(word)),
            "{}: '{word}' is not in: {} {evidence:?}",
            report.id,
            report.message
        );
    }
}

use Severity::{Error, Note, Warning};
use TrapStatus::{Fired, NotEvaluated, Passed};

#[test]
fn a_72b_model_neither_fits_nor_could_be_that_fast() {
    let all = study();
    says(
        about(&all, "weights-exceed-memory", "qwen72b"),
        Fired,
        Error,
        &["145.4 GB = 135.4 GiB", "119.7 GiB", "20 runs"],
    );
    says(
        about(&all, "decode-above-roofline", "qwen72b"),
        Fired,
        Error,
        &["15.0 tok/s at batch 8", "119.4 tok/s", "at least 64", "all 20 runs"],
    );
    says(about(&all, "decode-above-roofline", "deepseek"), Passed, Error, &["143 tok/s", "83 %"]);
    // The contract says "about 129". The experts' biases and the exact bytes of the checkpoint make it 130.
    says(about(&all, "decode-above-roofline", "gpt120b"), Passed, Error, &["130 tok/s"]);
    for model in ["deepseek", "gpt120b"] {
        says(about(&all, "weights-exceed-memory", model), Passed, Error, &["fit"]);
    }
}

#[test]
fn two_of_three_pairs_of_models_share_one_speed_and_physics_names_the_culprit() {
    let all = study();
    let found = fired(&all, "same-speed-unlike-models");
    assert_eq!(found.len(), 6, "three models in two environments");
    for report in found {
        let culprit = report.subject.model.as_deref() == Some("qwen72b");
        assert_eq!(report.severity, if culprit { Error } else { Warning }, "{}", report.message);
        assert_eq!(
            report.message.contains("is that of qwen72b (145 GB): "),
            !culprit,
            "7B and 120B are no unlike pair: {}",
            report.message
        );
    }
}

#[test]
fn sixty_three_rows_hold_two_measurements_and_not_four() {
    let all = study();
    says(
        the(&all, "derived-column"),
        Fired,
        Note,
        &["63 of 63 rows", "output_throughput_tok_s = 128 x request_throughput_req_s"],
    );
    says(the(&all, "affine-columns"), Fired, Note, &["all 63 rows", "0.9 x (119.708 - peak_memory_gib)", "0.0079 GiB"]);
    says(the(&all, "memory-scope"), Fired, Warning, &["sized", "page cache"]);
    with(&fixture("study.toml"), |case| {
        let derived = case.derived();
        let columns: Vec<(&str, &str)> = derived.iter().map(|d| (d.column.as_str(), d.from[0].as_str())).collect();
        assert_eq!(
            columns,
            [("request_throughput_req_s", "output_throughput_tok_s"), ("kv_cache_gib", "peak_memory_gib")]
        );
        let Relation::Affine { slope, residual, .. } = derived[1].relation else { panic!("a straight line") };
        assert!((slope + 0.9).abs() < 1e-4 && residual <= 0.008, "{slope} {residual}");
    });
}

#[test]
fn memory_in_use_belongs_to_none_of_the_named_models() {
    let all = study();
    says(about(&all, "memory-inconsistent", "qwen72b"), Fired, Error, &["135.4 GiB"]);
    says(about(&all, "memory-inconsistent", "deepseek"), Fired, Warning, &["14.2 GiB", "69.28 to 104.4 GiB"]);
    says(about(&all, "memory-inconsistent", "gpt120b"), Passed, Error, &[]);
}

#[test]
fn forty_three_of_sixty_three_runs_carry_the_wrong_label() {
    let all = study();
    says(about(&all, "model-mismatch", "qwen72b"), Fired, Error, &["all 20 runs", "43 of the campaign's 63 runs"]);
    says(about(&all, "model-mismatch", "gpt120b"), Fired, Error, &["all 23 runs", "43 of the campaign's 63 runs"]);
    says(about(&all, "model-mismatch", "deepseek"), Passed, Error, &[]);
}

#[test]
fn the_books_of_the_study_do_not_balance() {
    let all = study();
    says(
        the(&all, "duplicate-runs"),
        Fired,
        Warning,
        &["gpt120b in native has 4 runs called repeat 1", "no two of 63 runs"],
    );
    says(
        the(&all, "run-count"),
        Fired,
        Warning,
        &["gpt120b in native has 13 runs where 10 were planned", "use all of them"],
    );
    says(the(&all, "missing-metric"), Fired, Warning, &["latency", "missing in 63 of 63 runs"]);
    says(the(&all, "stated-facts-contradict"), Fired, Warning, &["50 is said", "GiB is found", "Grace Hopper is said"]);
    says(the(&all, "temperature-out-of-range"), Passed, Warning, &["38 to 40", "57 to 61"]);
    says(the(&all, "failed-runs"), Passed, Error, &["all 63 runs"]);
}

#[test]
fn runs_do_not_overlap_and_containers_take_two_minutes_longer_from_start_to_start() {
    let all = study();
    let report = the(&all, "runs-overlap");
    says(report, Passed, Error, &["761 s"]);
    let longer: Vec<f64> = report
        .evidence
        .iter()
        .filter_map(|e| {
            e.text
                .split_once(", ")?
                .1
                .rsplit_once(" s longer than in native")
                .map(|(n, _)| n.rsplit(' ').next().unwrap_or_default().to_owned())
        })
        .map(|n| n.parse().expect("seconds"))
        .collect();
    assert_eq!(longer.len(), 3, "{:?}", report.evidence);
    assert!(longer.iter().all(|s| (117.0..=138.0).contains(s)), "{longer:?}");
}

#[test]
fn what_the_study_did_not_keep_is_named() {
    let all = study();
    for model in ["deepseek", "gpt120b", "qwen72b"] {
        says(about(&all, "work-time-mismatch", model), NotEvaluated, Error, &["the end", "the number of requests"]);
        says(
            about(&all, "kv-tokens-mismatch", model),
            NotEvaluated,
            Error,
            &["the capacity of the KV cache in tokens"],
        );
        says(about(&all, "order-not-interleaved", model), Fired, Warning, &["one environment after the other"]);
        says(about(&all, "outlier-rule-cannot-fire", model), Fired, Note, &["n = 10", "2.846"]);
    }
    assert!(
        fired(&all, "drift")
            .iter()
            .any(|r| r.subject.model.as_deref() == Some("deepseek")
                && r.subject.environment.as_deref() == Some("native"))
    );
    let firsts = fired(&all, "first-run-effect");
    for model in ["deepseek", "gpt120b", "qwen72b"] {
        let container = firsts.iter().any(|r| {
            r.subject.model.as_deref() == Some(model)
                && r.subject.environment.as_deref() == Some("container")
                && r.message.contains("peak memory")
        });
        assert!(container, "the first container run of {model} stands out");
    }
}

#[test]
fn three_workloads_of_one_launch_are_no_duplicates_and_do_not_overlap() {
    let all = reports(&fixture("h200.toml"));
    for id in ["duplicate-runs", "runs-overlap", "failed-runs", "missing-metric", "temperature-out-of-range"] {
        assert_eq!(the(&all, id).status, Passed, "{id}: {}", the(&all, id).message);
    }
    let errors: Vec<&str> =
        all.iter().filter(|r| r.status == Fired && r.severity == Error).map(|r| r.message.as_str()).collect();
    assert!(errors.is_empty(), "an honest archive has no errors: {errors:?}");
    assert!(of(&all, "order-not-interleaved").iter().all(|r| r.status == Passed));
    assert!(of(&all, "small-n").iter().all(|r| r.status == Fired && r.severity == Note));
    assert!(of(&all, "outlier-rule-cannot-fire").iter().all(|r| r.message.contains("n = 7")));
    for report in of(&all, "few-requests-for-percentile") {
        says(report, Fired, Warning, &["30 requests", "p99 needs 500", "p95 needs 100"]);
    }
    assert!(of(&all, "first-run-effect").iter().all(|r| r.status == Passed || r.severity == Note));
}

#[test]
fn latency_that_was_turned_into_a_rate_is_found_across_workloads() {
    with(&fixture("h200.toml"), |case| {
        let derived = case.derived();
        let latency =
            derived.iter().find(|d| d.column == "e2e_latency_ms").expect("latency is a function of throughput");
        assert_eq!(latency.rule, "e2e_latency_ms = 1000 x batch x osl / output_throughput_tok_s");
        assert_eq!((latency.rows, latency.matching), (42, 42));
        assert!(!derived.iter().any(|d| d.column == "ttft_ms"), "time to first token is a measurement of its own");
    });
}

#[test]
fn one_edited_row_does_not_hide_a_derived_column_and_is_pointed_at() {
    let mut mini = fixture("study.toml");
    let edited = mini.runs[5].id.clone();
    let reading = mini.runs[5].readings.iter_mut().find(|r| r.metric == "request_throughput_req_s").expect("the rate");
    reading.value += 0.01;
    with(&mini, |case| {
        let derived = case.derived();
        let rate = derived.iter().find(|d| d.column == "request_throughput_req_s").expect("still derived");
        assert_eq!((rate.rows, rate.matching, rate.exceptions.as_slice()), (63, 62, [edited].as_slice()));
    });
}
