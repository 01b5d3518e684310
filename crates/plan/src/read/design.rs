//! Decisions before the first run: metrics, margins, hypotheses.
//!
//! In:  tables of a suite.  Out: their words, checked.
//! Not here: verdicts.

use std::collections::BTreeMap;

use crate::{Faults, Hypothesis, Reader, Settings};
use sparkbench_model::Metric;
use sparkbench_model::metric::Direction;
use sparkbench_text::nearest::did_you_mean;

use super::parts::listed;

/// Verdict kinds that a hypothesis may expect, as the analysis spells them. A test holds them to it.
pub(super) const VERDICTS: &[&str] =
    &["slower", "faster", "more", "less", "equivalent", "inconclusive", "not_comparable"];

/// A list of metrics: each known, none twice.
pub(super) fn metrics(reader: &mut Reader<'_>, key: &'static str) -> Vec<String> {
    let names = reader.texts(key);
    for (at, name) in names.iter().enumerate() {
        if let Some(remedy) = unknown(name) {
            reader.fault(key, format!("holds \"{name}\", which is not a metric"), remedy);
        } else if names[..at].contains(name) {
            reader.fault(key, format!("holds \"{name}\" twice"), "name it once");
        }
    }
    names
}

/// Margins by metric, per cent.
pub(super) fn margins(table: &Settings, faults: &mut Faults) -> BTreeMap<String, f64> {
    by_metric(table, is_margin, MARGIN_REMEDY, faults)
}

/// Figures by metric that are true by construction.
pub(super) fn truth(table: &Settings, faults: &mut Faults) -> BTreeMap<String, f64> {
    by_metric(table, |value| value > 0.0, "give the figure in the unit of the metric, above 0", faults)
}

fn by_metric(table: &Settings, fits: fn(f64) -> bool, remedy: &str, faults: &mut Faults) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    for (name, entry) in &table.entries {
        let key = format!("{}.{name}", table.path);
        if let Some(remedy) = unknown(name) {
            faults.add(Some(entry.line), key, "is not a metric", remedy);
            continue;
        }
        match entry.value.number() {
            Some(value) if fits(value) => {
                figures.insert(name.clone(), value);
            }
            Some(value) => faults.add(Some(entry.line), key, format!("is {value}"), remedy),
            None => faults.add(Some(entry.line), key, format!("holds {}", entry.value.kind()), remedy),
        }
    }
    figures
}

const MARGIN_REMEDY: &str =
    "give the difference that would not matter to you, in per cent of the baseline, above 0 and below 100";

fn is_margin(margin: f64) -> bool {
    margin > 0.0 && margin < 100.0
}

/// One `[[hypotheses]]`.
pub(super) fn hypothesis(
    table: &Settings,
    labels: &[String],
    baseline: Option<&str>,
    margins: &BTreeMap<String, f64>,
    faults: &mut Faults,
) -> Hypothesis {
    let mut reader = table.reader(faults);
    let claim = reader
        .required_text("claim", "write in a sentence what you expect, e.g. claim = \"docker is as fast as native\"")
        .unwrap_or_default();
    let metric = reader.text("metric");
    if let Some(name) = &metric
        && let Some(remedy) = unknown(name)
    {
        reader.fault("metric", format!("is \"{name}\", which is not a metric"), remedy);
    }
    let mut environment = |key: &'static str| {
        let label = reader.text(key)?;
        if !labels.contains(&label) {
            let near = did_you_mean(&label, labels.iter().map(String::as_str));
            let remedy = format!("{near}environments of this suite: {}", listed(labels));
            reader.fault(key, format!("is \"{label}\", which is not an environment of this suite"), remedy);
        }
        Some(label)
    };
    let own_baseline = environment("baseline");
    let candidate = environment("candidate");
    if candidate.is_some() && candidate.as_deref() == own_baseline.as_deref().or(baseline) {
        reader.fault("candidate", "is the baseline itself", "name the environment that is compared with it");
    }
    let expect = reader.choice("expect", VERDICTS);
    if let (Some(expected), Some(metric)) = (&expect, metric.as_deref().and_then(Metric::find)) {
        let (wrong, right) = match metric.direction {
            Direction::Neutral => (["slower", "faster"], "\"more\" or \"less\""),
            Direction::LowerIsBetter | Direction::HigherIsBetter => (["more", "less"], "\"slower\" or \"faster\""),
        };
        if wrong.contains(&expected.as_str()) {
            let what = format!("is \"{expected}\", which the verdict on {} never is", metric.name);
            reader.fault("expect", what, format!("write {right}"));
        }
    }
    let margin_pct = reader.number("margin_pct");
    if let Some(margin) = margin_pct {
        let fixed = metric.as_deref().and_then(|name| margins.get(name));
        if !is_margin(margin) {
            reader.fault("margin_pct", format!("is {margin}"), MARGIN_REMEDY);
        } else if let Some(fixed) = fixed.filter(|fixed| **fixed != margin) {
            let what = format!("is {margin}, but margins_pct fixes {fixed} for the same metric");
            reader.fault("margin_pct", what, "leave out one of the two: a metric has one margin");
        }
    }
    reader.finish();
    Hypothesis { claim, metric, baseline: own_baseline, candidate, expect, margin_pct }
}

/// The remedy for a name that is no metric.
fn unknown(name: &str) -> Option<String> {
    if Metric::find(name).is_some() {
        return None;
    }
    let near = did_you_mean(name, Metric::names());
    Some(format!("{near}docs/suite.md lists the metrics. Times may end in _p50, _p90, _p95, _p99 or _max"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_verdict::report::VerdictKind::{
        Equivalent, Faster, Inconclusive, Less, More, NotComparable, Slower,
    };

    #[test]
    fn the_verdicts_that_may_be_expected_are_those_of_the_analysis() {
        let words = [Slower, Faster, More, Less, Equivalent, Inconclusive, NotComparable].map(|kind| kind.word());
        assert_eq!(VERDICTS, words);
    }
}
