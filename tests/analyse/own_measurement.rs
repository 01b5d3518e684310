//! What the report must say of our own measurement: what 7 + 7 interleaved runs support, with the slow run in it.

use serde_json::Value;

use crate::support::report::{kind, list, number, row, text, texts};
use crate::{published, published_site};

const OWN: &str = "h200-chroot";
const SLOW: &str = "native_llama1b_iter3_20261120_234531_t1";

fn comparison(workload: &str, metric: &str) -> &'static Value {
    published().comparison(OWN, "llama1b", workload, metric)
}

#[test]
fn seven_and_seven_interleaved_runs_are_judged_in_pairs_for_each_workload() {
    let orders = list(published().campaign(OWN), "order");
    assert_eq!(orders.iter().map(|o| text(o, "workload")).collect::<Vec<_>>(), ["T1", "T2", "T5"]);
    for order in orders {
        assert_eq!((text(order, "kind"), number(order, "balanced_share")), ("interleaved", 1.0));
    }
    for comparison in published().comparisons(OWN) {
        assert_eq!((comparison["n_baseline"].as_u64(), comparison["n_candidate"].as_u64()), (Some(7), Some(7)));
        assert_eq!((text(comparison, "design"), &comparison["paired"]), ("in-blocks", &Value::Bool(true)));
    }
    for metric in ["e2e_latency_ms", "ttft_ms"] {
        for workload in ["T1", "T2", "T5"] {
            let compared = comparison(workload, metric);
            assert_eq!(number(&compared["paired_t"], "df"), 6.0);
            assert!(!compared["wilcoxon"].is_null() && compared["overhead_ci"]["method"] == "paired-t");
        }
    }
}

#[test]
fn each_workload_has_its_verdict_and_an_open_answer_says_what_would_decide_it() {
    for (workload, metric, expected) in [
        ("T1", "e2e_latency_ms", "inconclusive"),
        ("T2", "e2e_latency_ms", "equivalent"),
        ("T5", "e2e_latency_ms", "equivalent"),
        ("T1", "ttft_ms", "inconclusive"),
        ("T2", "ttft_ms", "inconclusive"),
        ("T5", "ttft_ms", "equivalent"),
        ("T1", "peak_memory_gib", "equivalent"),
        ("T2", "peak_memory_gib", "equivalent"),
        ("T5", "peak_memory_gib", "equivalent"),
    ] {
        let compared = comparison(workload, metric);
        let said = text(&compared["verdict"], "text");
        let line = text(&compared["verdict"], "said");
        assert_eq!(
            (kind(compared), &compared["primary"]),
            (expected, &Value::Bool(true)),
            "{workload} {metric}: {said}"
        );
        assert!(said.contains("n = 7, below 20"), "{said}");
        // How many are missing is promised of the answer over all loads alone.
        assert!(compared["promise"].is_null(), "{said}");
        assert!(expected != "inconclusive" || line.starts_with("undecided: the difference could be up to"), "{line}");
    }
    let answers = published().over_all_loads(OWN);
    let kinds: Vec<(&str, &str)> = answers.iter().map(|c| (text(c, "metric"), kind(c))).collect();
    assert_eq!(
        kinds,
        [("e2e_latency_ms", "equivalent"), ("peak_memory_gib", "equivalent"), ("ttft_ms", "inconclusive")]
    );
    for answer in answers.iter().filter(|c| kind(c) == "inconclusive") {
        let (promise, line) = (&answer["promise"], text(&answer["verdict"], "said"));
        let probability = number(promise, "probability");
        assert!((0.8..1.0).contains(&probability) && promise["blocks"].as_u64() > Some(0), "{promise}");
        let blocks = format!("undecided: {} more blocks (", promise["blocks"]);
        assert!(line.starts_with(&blocks) && line.contains("decide it with probability 0.8"), "{line}");
    }
    published().says(
        OWN,
        "headline",
        &["End-to-end latency: no difference larger than 2 %", "for T2 and T5. T1 is undecided"],
    );
    published().says(
        OWN,
        "headline",
        &["Time to first token: no difference larger than 5 %", "for T5. T1 and T2 are undecided"],
    );
}

#[test]
fn the_slow_native_run_is_flagged_and_kept() {
    let run = list(&published().0, "runs").iter().find(|run| run["id"] == SLOW).expect("the slow run is there");
    assert_eq!(text(run, "status"), "done");
    let flags = texts(run, "flags");
    for flag in ["outlier:modified_z:e2e_latency_ms", "outlier:tukey:e2e_latency_ms", "outlier:modified_z:ttft_ms"] {
        assert!(flags.contains(&flag), "{flags:?}");
    }
    let group = published().group(OWN, "llama1b", "T1", "native", "e2e_latency_ms");
    assert_eq!(group["n"], 7, "kept");
    assert!(texts(&group["outliers"], "mad").contains(&SLOW) && texts(&group["outliers"], "tukey").contains(&SLOW));
    assert_eq!(group["outliers"]["three_sigma_can_fire"], false, "and the study's own rule could not have seen it");
    let values: Vec<f64> = list(group, "values").iter().filter_map(Value::as_f64).collect();
    let mean = values.iter().sum::<f64>() / 7.0;
    assert!(
        (number(group, "mean") - mean).abs() < 1e-9 && values.iter().any(|v| *v > 76.0),
        "the mean counts it: {mean}"
    );
    let without = &comparison("T1", "e2e_latency_ms")["without_flagged"];
    assert!(texts(without, "left_out").contains(&SLOW), "with and without stand side by side: {without}");
    published().says(OWN, "supported", &["kept in every figure", SLOW]);
    let page =
        std::fs::read_to_string(published_site().join("c").join(OWN).join("index.html")).expect("the campaign's page");
    assert!(page.contains(SLOW));
}

#[test]
fn an_honest_archive_has_no_errors() {
    let errors: Vec<_> = list(&published().0, "traps")
        .iter()
        .filter(|t| t["subject"]["campaign"] == OWN && t["severity"] == "error" && t["status"] == "fired")
        .map(|t| text(t, "message"))
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    for id in ["order-not-interleaved", "drift", "autocorrelated-runs", "duplicate-runs", "run-count", "missing-metric"]
    {
        assert!(published().traps(OWN, id).iter().all(|trap| row(trap).2 == "passed"), "{id}");
    }
    for trap in published().traps(OWN, "few-requests-for-percentile") {
        assert_eq!(row(trap).2, "fired");
        assert!(text(trap, "message").contains("30 requests"), "{trap}");
    }
}

#[test]
fn throughput_that_was_computed_from_latency_is_no_further_finding() {
    for workload in ["T1", "T2", "T5"] {
        let throughput = comparison(workload, "output_throughput_tok_s");
        assert_eq!(
            (&throughput["derived_from"], &throughput["primary"]),
            (&"e2e_latency_ms".into(), &Value::Bool(false))
        );
        // What its tokens cost is a function of that again: one finding still.
        let (cost, latency) = (comparison(workload, "usd_per_million_tokens"), comparison(workload, "e2e_latency_ms"));
        assert_eq!(cost["derived_from"], "output_throughput_tok_s");
        assert_eq!(cost["p_adjusted"]["holm"], latency["p_adjusted"]["holm"], "{workload}");
        assert_eq!(cost["verdict"]["kind"], throughput["verdict"]["kind"], "{workload}");
        assert_eq!(
            comparison(workload, "e2e_latency_ms")["p_adjusted"]["family_size"],
            9,
            "3 workloads x 3 primary metrics"
        );
    }
}
