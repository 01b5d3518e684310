//! What the report must say of the published study, by itself and from the rows: one test a statement of issue 2.

use serde_json::Value;

use crate::support::report::{kind, list, number, row, text, texts};
use crate::{published, published_site};

const STUDY: &str = "phase1";
const THROUGHPUT: &str = "output_throughput_tok_s";
const MEMORY: &str = "peak_memory_gib";
/// Labels of the study: what was asked for, and never what the tool knows.
const MODELS: [&str; 3] = ["deepseek", "gpt120b", "qwen72b"];

fn comparison(model: &str, metric: &str) -> &'static Value {
    published().comparison(STUDY, model, "throughput", metric)
}

/// Figures of one arm in the rows of the report, with their repeat.
fn arm(model: &str, environment: &str, metric: &str) -> Vec<(u64, f64)> {
    list(&published().0, "runs")
        .iter()
        .filter(|run| run["campaign"] == STUDY && run["model"] == model && run["environment"] == environment)
        .map(|run| (run["repeat"].as_u64().expect("a repeat"), number(&run["metrics"], metric)))
        .collect()
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn thirty_two_of_thirty_three_published_figures_reproduce_and_the_other_one_is_named() {
    let campaign = published().campaign(STUDY);
    let checks = list(campaign, "published");
    let (good, bad): (Vec<&Value>, Vec<&Value>) = checks.iter().partition(|check| check["reproduces"] == true);
    assert_eq!((good.len(), bad.len()), (32, 1));
    assert_eq!(
        (text(bad[0], "model"), text(bad[0], "metric"), text(bad[0], "statistic")),
        ("qwen72b", THROUGHPUT, "loss_pct")
    );
    assert_eq!((text(bad[0], "printed"), text(bad[0], "rounded")), ("-0.2", "-0.1"));
    published().says(
        STUDY,
        "supported",
        &["32 of 33 published figures reproduce", "printed as -0.2 and comes out as -0.1"],
    );
    // Worked out here a second time: the mean of the rows, at the printed digits.
    for check in checks.iter().filter(|check| check["statistic"] == "mean") {
        let values = arm(text(check, "model"), text(check, "environment"), text(check, "metric"));
        let printed: f64 = text(check, "printed").parse().expect("a number");
        assert!((mean(values.iter().map(|(_, value)| *value)) - printed).abs() <= 0.005 + 1e-6, "{check}");
        assert_eq!(check["n"], values.len(), "{check}");
    }
}

#[test]
fn one_arm_reproduces_only_with_all_its_13_runs_where_10_were_planned() {
    published().says(STUDY, "supported", &["gpt120b native arm only with all its 13 runs where 10 were planned"]);
    let trap = published().trap(STUDY, "run-count", Some("gpt120b"));
    assert_eq!(
        (row(trap), &trap["subject"]["environment"]),
        (("run-count", "warning", "fired"), &Value::from("native"))
    );
    assert!(text(trap, "message").contains("13 runs where 10 were planned"), "{trap}");
    assert_eq!(published().traps(STUDY, "run-count").len(), 1, "every other arm has its 10");
    for check in list(published().campaign(STUDY), "published") {
        let touched = check["model"] == "gpt120b" && text(check, "environment") != "container";
        let noted = check["note"].as_str().is_some_and(|note| note.contains("all its 13 runs where 10 were planned"));
        assert_eq!(noted, touched, "{check}");
    }
    // The reason for "only": whichever of the four first iterations is kept, ten runs do not give the printed mean.
    let rows = arm("gpt120b", "native", THROUGHPUT);
    let (firsts, others): (Vec<_>, Vec<_>) = rows.iter().partition(|(repeat, _)| *repeat == 1);
    assert_eq!((firsts.len(), others.len()), (4, 9));
    for (_, kept) in firsts {
        let ten = mean(others.iter().map(|(_, value)| *value).chain([kept]));
        assert!((ten - 120.26).abs() > 0.005, "{ten}");
    }
}

#[test]
fn all_container_runs_came_after_the_native_ones() {
    for order in list(published().campaign(STUDY), "order") {
        assert_eq!((text(order, "kind"), order["stretches"].as_u64()), ("blocked", Some(2)), "{order:.200}");
        let mut environments = texts(order, "sequence");
        environments.dedup();
        assert_eq!(environments, ["native", "container"]);
    }
    for model in MODELS {
        let trap = published().trap(STUDY, "order-not-interleaved", Some(model));
        assert_eq!((text(trap, "severity"), text(trap, "status")), ("warning", "fired"));
        assert!(text(trap, "message").contains("one environment after the other"), "{trap}");
        assert_eq!(text(comparison(model, THROUGHPUT), "order"), "blocked");
        assert_eq!(comparison(model, THROUGHPUT)["paired"], false);
    }
    // Every verdict that can be given at all carries the caveat.
    for comparison in published().comparisons(STUDY).iter().filter(|c| kind(c) != "not_comparable") {
        let caveats = texts(&comparison["verdict"], "caveats");
        let costs = "the arms ran one after the other, which costs four times the runs";
        assert!(caveats.contains(&costs) && comparison["design"] == "one-after-the-other", "{caveats:?}");
        assert!(comparison["paired_t"].is_null() && comparison["wilcoxon"].is_null(), "no pairs without blocks");
    }
    published().says(STUDY, "unsupported", &["environment, and not time", "one environment after the other"]);
}

#[test]
fn the_7b_native_arm_drifts_by_more_than_the_difference_it_is_compared_with() {
    let drift = &published().group(STUDY, "deepseek", "throughput", "native", THROUGHPUT)["drift"];
    let compared = comparison("deepseek", THROUGHPUT);
    let (drifts, differs) = (number(drift, "drift_pct"), number(compared, "overhead_pct"));
    assert!((-1.35..=-1.25).contains(&drifts), "{drifts}");
    assert!(drifts.abs() > differs.abs() && number(drift, "p") < 0.05, "{drifts} {differs}");
    // At equal time the arms may lie further apart than their means say.
    let (plain, wide) = (&compared["fieller_overhead_pct"], &compared["overhead_ci"]);
    assert!(number(wide, "low") < number(plain, "low") && number(wide, "high") > number(plain, "high"), "{wide}");
    assert_eq!(text(wide, "method"), "fieller-and-covariance");
    let fired = published().traps(STUDY, "drift").into_iter().any(|trap| {
        let subject = &trap["subject"];
        trap["status"] == "fired"
            && (&subject["model"], &subject["environment"], &subject["metric"])
                == (&"deepseek".into(), &"native".into(), &THROUGHPUT.into())
    });
    assert!(fired, "{:?}", published().traps(STUDY, "drift"));
}

#[test]
fn four_columns_hold_two_findings() {
    let derived = published().trap(STUDY, "derived-column", None);
    assert_eq!(row(derived), ("derived-column", "note", "fired"));
    for word in ["63 of 63 rows", "output_throughput_tok_s = 128 x request_throughput_req_s"] {
        assert!(text(derived, "message").contains(word), "{derived}");
    }
    let affine = published().trap(STUDY, "affine-columns", None);
    assert_eq!(row(affine), ("affine-columns", "note", "fired"));
    for word in ["all 63 rows", "kv_cache_gib = 0.9 x (119.7", "- peak_memory_gib)"] {
        assert!(text(affine, "message").contains(word), "{affine}");
    }
    published().says(STUDY, "supported", &["2 independent measurements, not 4", "128 x", "0.9 x (119.7"]);
    for model in MODELS {
        assert_eq!(comparison(model, "request_throughput_req_s")["derived_from"], THROUGHPUT);
        assert_eq!(comparison(model, "kv_cache_gib")["derived_from"], MEMORY);
        for made in ["usd_per_million_tokens", "roofline_pct"] {
            assert_eq!(comparison(model, made)["derived_from"], THROUGHPUT, "{made}");
        }
        for metric in [THROUGHPUT, MEMORY] {
            let compared = comparison(model, metric);
            assert_eq!((&compared["derived_from"], &compared["primary"]), (&Value::Null, &Value::Bool(true)));
            assert_eq!(
                compared["p_adjusted"]["family_size"], 6,
                "3 models x 2 findings; functions of them do not count"
            );
        }
    }
}

#[test]
fn a_72b_model_in_bf16_does_not_fit_the_machine_and_could_not_decode_at_that_speed() {
    for (id, words) in [
        ("weights-exceed-memory", ["145.4 GB = 135.4 GiB", "119.7 GiB"]),
        ("decode-above-roofline", ["15.0 tok/s at batch 8", "119.4 tok/s"]),
    ] {
        for model in MODELS {
            let trap = published().trap(STUDY, id, Some(model));
            let status = if model == "qwen72b" { "fired" } else { "passed" };
            assert_eq!(row(trap), (id, "error", status), "{model}");
        }
        let message = text(published().trap(STUDY, id, Some("qwen72b")), "message");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    for metric in [THROUGHPUT, MEMORY] {
        let compared = comparison("qwen72b", metric);
        let reasons = texts(&compared["verdict"], "reasons");
        assert_eq!(kind(compared), "not_comparable");
        assert!(reasons.contains(&"P1") && reasons.contains(&"P2"), "{reasons:?}");
    }
    published().says(STUDY, "unsupported", &["weights of qwen72b cannot be loaded", "135.4 GiB"]);
    published().says(STUDY, "unsupported", &["speed reported for this model", "15.0 tok/s"]);
}

#[test]
fn three_unlike_models_show_one_speed() {
    let traps = published().traps(STUDY, "same-speed-unlike-models");
    assert_eq!(traps.len(), 6, "three models in two environments");
    for trap in &traps {
        let culprit = trap["subject"]["model"] == "qwen72b";
        assert_eq!(row(trap).1, if culprit { "error" } else { "warning" }, "{trap:.300}");
        assert_eq!(row(trap).2, "fired");
        assert!(
            text(trap, "message").contains("within 0.") || text(trap, "message").contains("within 1"),
            "{trap:.300}"
        );
    }
    published().says(STUDY, "unsupported", &["comparison of these models with each other"]);
    assert!(texts(&comparison("qwen72b", THROUGHPUT)["verdict"], "reasons").contains(&"P3"));
}

#[test]
fn three_unlike_models_show_one_footprint() {
    // Weights of 14, 61 and 135 GiB, and memory in use within 2 GiB of each other in the native runs.
    let uses: Vec<f64> = MODELS
        .iter()
        .map(|model| number(published().group(STUDY, model, "throughput", "native", MEMORY), "mean"))
        .collect();
    assert!(uses.iter().all(|use_| (use_ - uses[0]).abs() < 2.0), "{uses:?}");
    let traps = published().traps(STUDY, "same-speed-unlike-models");
    let native = traps
        .iter()
        .find(|t| t["subject"]["model"] == "qwen72b" && t["subject"]["environment"] == "native")
        .expect("a report about the largest model");
    let said = "They have one footprint too, 70.03 to 71.72 GiB in use";
    assert!(text(native, "message").contains(said), "{native}");
    for page in ["traps/index.html", "data/ANALYSIS.md"] {
        let page = std::fs::read_to_string(published_site().join(page)).expect("a page of the site");
        assert!(page.replace('\u{a0}', " ").contains(said));
    }
}

#[test]
fn most_runs_ran_another_model_than_their_label_says_and_are_read_again_as_one_workload() {
    for (model, runs) in [("gpt120b", "all 23 runs"), ("qwen72b", "all 20 runs")] {
        let trap = published().trap(STUDY, "model-mismatch", Some(model));
        assert_eq!(row(trap), ("model-mismatch", "error", "fired"));
        assert!(
            text(trap, "message").contains(runs) && text(trap, "message").contains("43 of the campaign's 63 runs"),
            "{trap}"
        );
    }
    let pooled = list(published().campaign(STUDY), "pooled");
    let read: Vec<(&str, &str, Option<u64>, Option<u64>)> = pooled
        .iter()
        .map(|c| (text(c, "metric"), kind(c), c["n_baseline"].as_u64(), c["n_candidate"].as_u64()))
        .collect();
    assert_eq!(read, [(THROUGHPUT, "equivalent", Some(33), Some(30)), (MEMORY, "more", Some(33), Some(30))]);
    for comparison in pooled {
        assert_eq!(text(comparison, "model"), "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B");
        let caveat = "the arms took turns in part only, which costs more runs";
        assert!(texts(&comparison["verdict"], "caveats").contains(&caveat), "{comparison:.300}");
    }
}

#[test]
fn the_rows_support_no_throughput_difference_beyond_drift() {
    published().says(
        STUDY,
        "supported",
        &["No clear difference in output throughput", "and every interval includes zero"],
    );
    let usual: Vec<(&str, &str)> = MODELS.iter().map(|model| (*model, kind(comparison(model, THROUGHPUT)))).collect();
    assert_eq!(usual, [("deepseek", "inconclusive"), ("gpt120b", "not_comparable"), ("qwen72b", "not_comparable")]);
    for model in MODELS {
        let compared = comparison(model, THROUGHPUT);
        assert!(!["slower", "faster"].contains(&kind(compared)), "{model}");
    }
}

#[test]
fn the_rows_support_a_memory_reading_20_to_31_gib_higher_and_show_no_cause() {
    published().says(
        STUDY,
        "supported",
        &[
            "container has 30.3 to 43.7 % more peak memory than native (by 21.7 to 30.8 GiB) in 2 of 3 comparisons",
            "The data do not show the cause",
        ],
    );
    for model in MODELS {
        let difference = number(comparison(model, MEMORY), "difference");
        assert!((19.9..=30.9).contains(&difference), "{model}: {difference}");
    }
    let deepseek = comparison("deepseek", MEMORY);
    assert_eq!(kind(deepseek), "more", "a neutral metric has no winner");
    assert_eq!(row(published().trap(STUDY, "memory-scope", None)), ("memory-scope", "warning", "fired"));
    published().says(STUDY, "unsupported", &["makes the engine use more memory", "page cache"]);
}

#[test]
fn what_the_rows_do_not_support_is_said_beside_it() {
    for words in [
        ["a metric that the runs do not report", "latency is promised and missing in 63 of 63 runs"],
        ["That every row is a run of its own", "gpt120b in native has 4 runs called repeat 1"],
        ["statements that the files contradict", "50 is said"],
        ["repeats of these cells differ by chance alone", "Mann-Kendall"],
        ["a model other than the one that ran", "43 of the campaign's 63 runs"],
    ] {
        published().says(STUDY, "unsupported", &words);
    }
    let headline = published().sentences(STUDY, "headline");
    assert!(
        headline[0].starts_with(
            "Only one of the three models, deepseek, was really measured: another model ran under the names gpt120b and qwen72b."
        ),
        "{}",
        headline[0]
    );
    assert!((1..=3).contains(&headline.len()), "{headline:?}");
}

#[test]
fn the_first_run_of_an_arm_and_what_a_rule_cannot_see_are_named() {
    let firsts: Vec<&str> = published()
        .traps(STUDY, "first-run-effect")
        .into_iter()
        .filter(|t| {
            t["status"] == "fired" && t["subject"]["environment"] == "container" && t["subject"]["metric"] == MEMORY
        })
        .map(|t| text(&t["subject"], "model"))
        .collect();
    assert_eq!(firsts, MODELS);
    for model in MODELS {
        let trap = published().trap(STUDY, "outlier-rule-cannot-fire", Some(model));
        assert_eq!(row(trap).2, "fired");
        assert!(text(trap, "message").contains("n = 10"), "{trap}");
        let group = published().group(STUDY, model, "throughput", "container", THROUGHPUT);
        assert_eq!(group["outliers"]["three_sigma_can_fire"], false);
    }
}

#[test]
fn what_the_study_did_not_keep_is_named_as_missing_and_never_as_passed() {
    for model in MODELS {
        for (id, missing) in
            [("work-time-mismatch", "number of requests"), ("kv-tokens-mismatch", "KV cache in tokens")]
        {
            let trap = published().trap(STUDY, id, Some(model));
            assert_eq!(row(trap), (id, "error", "not_evaluated"));
            assert!(text(trap, "message").contains(missing), "{trap}");
        }
    }
}

#[test]
fn figures_of_mislabelled_models_carry_their_errors_wherever_they_stand() {
    let page = |path: &str| std::fs::read_to_string(published_site().join(path)).expect(path);
    let title = "Another model ran than the label says";
    for model in ["gpt120b", "qwen72b"] {
        assert!(page(&format!("m/{model}/index.html")).contains(title), "{model}");
    }
    assert!(!page("m/deepseek/index.html").contains(title) && !page("m/llama1b/index.html").contains(title));
    for path in ["m/index.html", "p/index.html", "cost/index.html"] {
        assert!(page(path).contains("error: "), "{path}");
    }
    for run in list(&published().0, "runs") {
        let says = page(&format!("r/{}/index.html", text(run, "id"))).contains(title);
        assert_eq!(says, ["gpt120b", "qwen72b"].contains(&text(run, "model")), "{run}");
    }
    // Of six findings of one trap two are errors.
    assert!(page("c/phase1/index.html").contains("in 2 cases</span> <span class=\"times\">and 4 warnings</span>"));
}

#[test]
fn what_was_in_use_before_the_cache_is_no_peak_that_holds_it() {
    let stacks = list(&published().0, "memory_stacks");
    let of_study: Vec<&Value> = stacks.iter().filter(|stack| stack["campaign"] == STUDY).collect();
    assert_eq!(of_study.len(), MODELS.len());
    for arm in of_study.iter().flat_map(|stack| list(stack, "arms")) {
        assert_eq!(arm["whole_is"], "device", "{arm}");
        let mean = |part: &str| number(&arm[part], "mean");
        let (whole, sum) = (mean("whole_gib"), mean("before_cache_gib") + mean("kv_cache_gib") + mean("rest_gib"));
        assert!((whole - sum).abs() < 1e-9 * whole, "{arm}");
        // The pool takes nine tenths of what is free, to the rounding of the files.
        assert!((mean("rest_gib") / (whole - mean("before_cache_gib")) - 0.1).abs() < 0.01, "{arm}");
    }
}
