//! Whether the name of a metric means the same in two arms.
//!
//! In:  two cells and a metric.  Out: [`DefinitionCheck`]: alike, alike with a caveat, not known, or two things under one name.
//! Not here: what each tool measures (see `model::definition`).

use std::collections::BTreeMap;

use super::case::Cell;
use super::number::list;
use sparkbench_model::{Definition, DefinitionMatch, Metric, Run, within};

/// Reason code of two definitions under one name, and the trap of that id.
pub(crate) const DEFINITION: &str = "definition-differs";

/// Result of comparing the definitions of two arms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DefinitionCheck {
    /// One tool and one definition on both sides, or definitions that are the same.
    Same,
    /// One definition with deviations. Fits after a semicolon.
    Alike(String),
    /// A side does not say how it measured, and the sides were not read by one rule. Fits after a semicolon.
    Unknown(String),
    /// Two definitions. Fits after "because".
    Differ(String),
}

/// Rule that read a figure of a run. A figure made of the requests was read by the rule that read them.
fn rule_of(run: &Run, metric: &Metric) -> Option<&'static str> {
    let rule = run.reading(&metric.name)?.origin.rule;
    if !rule.starts_with("summary.") {
        return Some(rule);
    }
    run.series.iter().find(|series| series.metric == metric.base()).map_or(Some(rule), |s| Some(s.origin.rule))
}

/// Meaning of a metric in the runs of a cell: definition by rule, `None` where unknown.
fn meanings(cell: &Cell<'_>, metric: &Metric) -> BTreeMap<&'static str, Option<Definition>> {
    let rules = cell.runs.iter().filter_map(|run| rule_of(run, metric));
    rules.map(|rule| (rule, Definition::of(rule, metric.base()))).collect()
}

/// Holds the meanings of two cells against each other. `None` where a side has no figure.
pub(crate) fn hold(a: &Cell<'_>, b: &Cell<'_>, metric: &Metric) -> Option<DefinitionCheck> {
    let (left, right) = (meanings(a, metric), meanings(b, metric));
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let all: Vec<(&str, Option<Definition>)> = left.iter().chain(&right).map(|(rule, d)| (*rule, *d)).collect();
    let mut classes: Vec<Definition> = all.iter().filter_map(|(_, d)| *d).collect();
    classes.sort_by_key(|d| (d.class, d.family));
    classes.dedup_by_key(|d| (d.class, d.family));
    let mut first = classes.iter();
    if let Some(one) = first.next()
        && let Some(other) = first.find(|d| d.class != one.class)
    {
        return Some(DefinitionCheck::Differ(format!(
            "{} is measured as {} by {}, and as {} by {}",
            within(&metric.label),
            one.measures,
            named(&classes, one.class),
            other.measures,
            named(&classes, other.class)
        )));
    }
    let unknown: Vec<&str> = all.iter().filter(|(_, d)| d.is_none()).map(|(rule, _)| *rule).collect();
    if !unknown.is_empty() {
        let one_rule = unknown.windows(2).all(|pair| matches!(pair, [a, b] if a == b)) && classes.is_empty();
        return Some(if one_rule {
            DefinitionCheck::Same
        } else {
            let mut rules = unknown;
            rules.sort_unstable();
            rules.dedup();
            DefinitionCheck::Unknown(format!("how {} measured it is not known", list(&rules)))
        });
    }
    let families: Vec<&str> = classes.iter().map(|d| d.family).collect();
    let deviations: Vec<String> = classes
        .iter()
        .filter_map(|d| match d.likeness {
            DefinitionMatch::Like(how) => Some(format!("{}: {how}", d.family)),
            DefinitionMatch::Same | DefinitionMatch::Other => None,
        })
        .collect();
    Some(if families.len() < 2 || deviations.is_empty() {
        DefinitionCheck::Same
    } else {
        DefinitionCheck::Alike(format!("measured alike, not the same ({})", deviations.join(". ")))
    })
}

fn named(classes: &[Definition], class: &str) -> String {
    let families: Vec<String> =
        classes.iter().filter(|d| d.class == class).map(|d| format!("{} ({})", d.family, d.source)).collect();
    list(&families)
}
