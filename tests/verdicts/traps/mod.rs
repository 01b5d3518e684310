//! Every trap has a campaign that trips it, one that does not, and one in which it cannot look.

mod archives;
mod intake;
mod mini;
mod pairs;

use std::collections::BTreeSet;
use std::path::Path;

use mini::Mini;
use sparkbench::model::Facts;
use sparkbench::verdict::columns::Relation;
use sparkbench::verdict::facts::builtin;
use sparkbench::verdict::layout::lay_out;
use sparkbench::verdict::report::{Severity, TrapReport, TrapStatus};
use sparkbench::verdict::trap::{TRAPS, look};
use sparkbench::verdict::{Settings, case::Case};

fn settings() -> Settings {
    Settings { confidence: 0.95, resamples: 999, seed: 42, baseline: None, margins_pct: Default::default() }
}

fn facts() -> Facts {
    builtin().expect("the shipped facts parse")
}

fn fixture(path: &str) -> Mini {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/traps").join(path);
    Mini::read(&std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

fn with<T>(mini: &Mini, then: impl FnOnce(&Case<'_>) -> T) -> T {
    let (facts, settings) = (facts(), settings());
    then(&lay_out(&mini.campaign, mini.runs.iter().collect(), &facts, &settings))
}

fn reports(mini: &Mini) -> Vec<TrapReport> {
    with(mini, look)
}

fn of<'r>(reports: &'r [TrapReport], id: &str) -> Vec<&'r TrapReport> {
    reports.iter().filter(|r| r.id == id).collect()
}

fn fired<'r>(reports: &'r [TrapReport], id: &str) -> Vec<&'r TrapReport> {
    of(reports, id).into_iter().filter(|r| r.status == TrapStatus::Fired).collect()
}

#[test]
fn each_trap_fires_passes_and_says_what_is_missing() {
    for trap in TRAPS {
        let id = trap.id();
        for (name, wanted) in
            [("fires", TrapStatus::Fired), ("passes", TrapStatus::Passed), ("missing", TrapStatus::NotEvaluated)]
        {
            let all = reports(&fixture(&format!("{id}/{name}.toml")));
            let own = of(&all, id);
            let said: Vec<String> = own.iter().map(|r| format!("{:?}: {}", r.status, r.message)).collect();
            assert!(own.iter().any(|r| r.status == wanted), "{id}/{name}: {said:?}");
            if wanted != TrapStatus::Fired {
                assert!(own.iter().all(|r| r.status != TrapStatus::Fired), "{id}/{name}: {said:?}");
            }
            for report in own.iter().filter(|r| r.status == TrapStatus::Fired) {
                assert!(
                    !report.remedy.is_empty() && !report.evidence.is_empty(),
                    "{id}/{name}: no remedy or no evidence"
                );
            }
        }
    }
}

#[test]
fn each_trap_is_explained_in_four_short_paragraphs_and_named_once() {
    let ids: BTreeSet<&str> = TRAPS.iter().map(|t| t.id()).collect();
    assert_eq!(ids.len(), TRAPS.len());
    let mut all: Vec<usize> = Vec::new();
    for trap in TRAPS {
        let about = trap.about();
        assert!(about.chars().count() >= 200, "{}: {} letters", trap.id(), about.chars().count());
        // What it is, why it matters, how it is checked, how to avoid it.
        let paragraphs: Vec<&str> = about.split("\n\n").collect();
        assert_eq!(paragraphs.len(), 4, "{}: four paragraphs", trap.id());
        assert!(!about.contains("  ") && !about.contains(';'), "{}: single spaces, no semicolons", trap.id());
        let mut words: Vec<usize> = paragraphs
            .iter()
            .flat_map(|paragraph| paragraph.split_inclusive(". "))
            .map(|sentence| sentence.split_whitespace().count())
            .collect();
        words.sort_unstable();
        let longest = words[words.len() - 1];
        assert!(longest <= 40, "{}: {longest} words in a sentence", trap.id());
        all.append(&mut words);
        assert!(paragraphs[0].split_whitespace().count() <= 25, "{}: the first sentence can be quoted", trap.id());
    }
    all.sort_unstable();
    let (median, ninetieth) = (all[all.len() / 2], all[all.len() * 9 / 10]);
    assert!(median <= 15 && ninetieth <= 25, "{median} and {ninetieth} words in the median and the 90th sentence");
    let codes: Vec<&str> = TRAPS.iter().filter_map(|t| t.code()).collect();
    let expected: Vec<String> = (1..=17).map(|n| format!("P{n}")).collect();
    assert_eq!(codes, expected, "P1 to P17 in the order of the contract");
}

#[test]
fn no_subject_is_told_two_things_and_no_message_is_empty() {
    let mut fixtures: Vec<String> = vec!["study.toml".into(), "h200.toml".into()];
    fixtures.extend(TRAPS.iter().flat_map(|t| ["fires", "passes", "missing"].map(|n| format!("{}/{n}.toml", t.id()))));
    for name in fixtures {
        let all = reports(&fixture(&name));
        let mut seen = BTreeSet::new();
        for report in &all {
            assert!(
                seen.insert((report.id, report.subject.clone())),
                "{name}: {} speaks twice of {:?}",
                report.id,
                report.subject
            );
            assert!(
                !report.message.is_empty() && !report.message.contains("NaN") && !report.message.contains("inf "),
                "{name}: {}",
                report.message
            );
        }
        for trap in TRAPS {
            assert!(!of(&all, trap.id()).is_empty(), "{name}: {} is silent", trap.id());
        }
    }
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    let mini = fixture("study.toml");
    let mut turned = fixture("study.toml");
    turned.runs.reverse();
    let words = |mini: &Mini| reports(mini).into_iter().map(|r| (r.id, r.subject, r.message)).collect::<Vec<_>>();
    assert_eq!(words(&mini), words(&turned));
}
