//! What a verdict makes of settings and definitions: reasons with both values, caveats for what one side alone tells.

use sparkbench::verdict::report::{Analysis, Comparison, VerdictKind};
use sparkbench::verdict::{CellValues, Study, judge};

use super::*;

/// Judges a mini campaign from end to end. The cells are those of its runs.
fn judged(mini: Mini) -> Analysis {
    let mut cells: Vec<CellValues> = Vec::new();
    for run in &mini.runs {
        for reading in &run.readings {
            let key = |c: &CellValues| (c.model.clone(), c.workload.clone(), c.environment.clone(), c.metric.clone());
            let own = (run.model.clone(), run.workload.clone(), run.environment.clone(), reading.metric.clone());
            let place = cells.iter().position(|c| key(c) == own).unwrap_or_else(|| {
                let (model, workload, environment, metric) = own;
                let (run_ids, values) = (Vec::new(), Vec::new());
                cells.push(CellValues {
                    campaign: "mini".into(),
                    model,
                    workload,
                    environment,
                    metric,
                    run_ids,
                    values,
                });
                cells.len() - 1
            });
            cells[place].run_ids.push(run.id.clone());
            cells[place].values.push(reading.value);
        }
    }
    let study = Study { campaigns: vec![mini.campaign], runs: mini.runs, facts: facts(), inputs: Vec::new() };
    judge(&study, &cells, &settings(), &|_| {})
}

fn only(analysis: &Analysis) -> &Comparison {
    assert_eq!(analysis.comparisons.len(), 1);
    &analysis.comparisons[0]
}

fn forbidden(path: &str, codes: &[&str], words: &[&str]) {
    let analysis = judged(fixture(path));
    let verdict = &only(&analysis).verdict;
    assert_eq!(verdict.kind, VerdictKind::NotComparable, "{path}: {}", verdict.text);
    for code in codes {
        assert!(verdict.reasons.iter().any(|reason| reason == code), "{path}: {:?}", verdict.reasons);
    }
    for word in words {
        assert!(verdict.text.contains(word), "{path}: '{word}' is not in: {}", verdict.text);
    }
}

#[test]
fn a_setting_that_differs_is_named_with_both_values() {
    forbidden("settings-differ/fires.toml", &["settings-differ"], &["maximum model length", "4096", "8192"]);
    forbidden("engine-differs/fires.toml", &["C4", "engine-differs"], &["engine version", "0.19.0 against 0.18.1"]);
    forbidden("token-counts-differ/fires.toml", &["C3", "token-counts-differ"], &["1000 tokens against 1050 tokens"]);
}

#[test]
fn two_definitions_under_one_name_are_both_cited() {
    forbidden(
        "definition-differs/fires.toml",
        &["definition-differs"],
        &[
            "first generated piece",
            "guidellm",
            "first chunk with choices",
            "vllm-bench-serve",
            "vllm-project/vllm#15106",
        ],
    );
}

#[test]
fn what_agrees_or_is_known_of_one_side_alone_forbids_nothing() {
    for path in ["settings-differ/passes.toml", "token-counts-differ/passes.toml", "definition-differs/passes.toml"] {
        let analysis = judged(fixture(path));
        assert_ne!(only(&analysis).verdict.kind, VerdictKind::NotComparable, "{}", only(&analysis).verdict.text);
    }
    let analysis = judged(fixture("settings-differ/missing.toml"));
    let verdict = &only(&analysis).verdict;
    assert_ne!(verdict.kind, VerdictKind::NotComparable, "{}", verdict.text);
    assert!(verdict.caveats.iter().any(|c| c == "maximum model length known of native alone"), "{:?}", verdict.caveats);
}
