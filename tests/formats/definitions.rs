//! The manual has the catalogue of definitions, and every rule that reads a latency or a rate is in it or said not to be.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use sparkbench::model::{Definition, DefinitionMatch, Metric, definition};

/// Rules of sources that do not say how they measured.
const NOT_SAID: &[&str] = &[
    "table",
    "pattern",
    "phase1",
    "flat",
    "lines",
    "sparkbench.",
    "dgx-spark-bench",
    "token-per-watt",
    "script-results",
];

fn table() -> String {
    let mut text =
        String::from("| metric | tool | class | measured as | against ours | source |\n|---|---|---|---|---|---|\n");
    let mut all: Vec<Definition> = Definition::all().collect();
    let rank = |d: &Definition| Metric::find(d.metric).map_or(usize::MAX, |metric| metric.rank());
    all.sort_by_key(|d| (rank(d), d.likeness == DefinitionMatch::Other, d.class, d.family));
    for d in all {
        let against = match d.likeness {
            DefinitionMatch::Same => "the same".to_owned(),
            DefinitionMatch::Like(how) => format!("like it: {how}"),
            DefinitionMatch::Other => "**not comparable**".to_owned(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | `{}` | {} | {against} | {} |",
            d.metric, d.family, d.class, d.measures, d.source
        );
    }
    text
}

#[test]
fn the_manual_has_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/definitions.md");
    let manual = std::fs::read_to_string(&path).unwrap();
    let (before, _) = manual.split_once("| metric |").unwrap();
    let wanted = format!("{before}{}", table());
    if std::env::var_os("SPARKBENCH_GOLDEN").is_some() {
        std::fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(manual == wanted, "docs/definitions.md is behind; SPARKBENCH_GOLDEN=write rewrites its table");
    assert!(manual.contains("within 2 %") && sparkbench::verdict::alike::TOKENS_TOLERANCE_PCT == 2.0);
}

/// Metrics of which a definition matters.
fn judged(metric: &str) -> bool {
    const BASES: &[&str] = &["ttft_ms", "tpot_ms", "itl_ms", "e2e_latency_ms", "output_throughput_tok_s"];
    Metric::find(metric).is_some_and(|metric| BASES.contains(&metric.base()))
}

fn rules(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            if let (Some(Value::String(rule)), Some(Value::String(metric))) = (map.get("rule"), map.get("metric"))
                && judged(metric)
            {
                found.insert(rule.clone());
            }
            map.values().for_each(|value| rules(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| rules(value, found)),
        _ => {}
    }
}

#[test]
fn a_rule_that_reads_a_latency_is_in_the_catalogue_or_does_not_say_how() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ingest");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(golden).into_iter().flatten().flatten() {
        if let Ok(value) = serde_json::from_slice(&std::fs::read(entry.path()).unwrap()) {
            rules(&value, &mut found);
        }
    }
    let unknown: Vec<&String> = found
        .iter()
        .filter(|rule| definition::family(rule).is_none() && !NOT_SAID.iter().any(|start| rule.starts_with(start)))
        .collect();
    assert!(unknown.is_empty(), "crates/model/src/definition.rs says nothing of what these measure: {unknown:?}");
}
