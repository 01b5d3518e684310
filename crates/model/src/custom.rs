//! Metrics that a campaign defines for itself.
//!
//! In:  a name and its [`CustomMetric`].  Out: [`Metric`], which every room then finds by [`Metric::find`].
//! Not here: reading and checking a definition, computing it (see `formula` and `ingest::custom`).
//!
//! A definition is known to the whole program, like the catalogue. Tables, charts and verdicts ask for a metric by name and need not know
//! who defined it. A name means one thing at a time. Two campaigns that mean different things by one name get two names at intake.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock};

use serde::{Deserialize, Serialize};

use super::metric::{Direction, MARGIN_WIDE_PCT, Metric};

/// The definition of a metric, as a suite, `labels.toml` or `metrics.toml` gives it below `[metrics.NAME]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CustomMetric {
    /// For people. Absent is the name with blanks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Unit of its figures. Absent is that of the expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Which way is better. Absent is neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Equivalence margin, per cent of the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_pct: Option<f64>,
    /// Over metrics, settings, requests and metrics of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// File of the run that holds it, as a pattern below the folder of the run. Absent is the file that the run was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// JSON pointer into that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Column of that file, which is a CSV.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Regular expression on lines of that file. Its group `value`, or else its first one, is the figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// What becomes one figure of several: `mean`, `p99`, `last` and so on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<String>,
    /// Command that is run after each run. What it prints takes the place of a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Seconds after which the command is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_s: Option<f64>,
}

/// Seconds after which a command is ended, where its definition gives none.
pub const TIME_LIMIT_S: f64 = 30.0;

impl CustomMetric {
    /// What it is, in one line: the expression, or what is read from which file.
    pub fn definition(&self) -> String {
        if let Some(expression) = &self.expression {
            return expression.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        let from = if self.command.is_empty() {
            self.file.clone().unwrap_or_else(|| "the file of the run".to_owned())
        } else {
            format!("the output of `{}`", self.command.join(" "))
        };
        let what = match (&self.pointer, &self.column, &self.pattern) {
            (Some(pointer), ..) => format!("{pointer} of {from}"),
            (_, Some(column), _) => format!("column {column} of {from}"),
            (.., Some(pattern)) => format!("/{pattern}/ in {from}"),
            _ => format!("the number that is {from}"),
        };
        match &self.aggregate {
            Some(aggregate) => format!("{aggregate} of {what}"),
            None => what,
        }
    }

    /// Whether figures by both may be compared: they come about in the same way, and mean the same. Label, margin and time limit do not
    /// matter.
    pub fn same_as(&self, other: &Self) -> bool {
        let core = |one: &Self| {
            let direction = one.direction.unwrap_or(Direction::Neutral);
            (one.definition(), one.unit.clone().unwrap_or_default(), direction)
        };
        core(self) == core(other)
    }
}

static DEFINED: RwLock<BTreeMap<String, Metric>> = RwLock::new(BTreeMap::new());
/// Units and definitions that were given.
static TEXTS: RwLock<BTreeSet<&'static str>> = RwLock::new(BTreeSet::new());

/// Makes a metric known. `unit` is the one that its figures have. `zero_is_arbitrary` where no per cent of it means anything. A second
/// definition of a name takes the place of the first.
pub fn define(name: &str, custom: &CustomMetric, unit: &str, zero_is_arbitrary: bool) {
    let metric = Metric {
        name: name.to_owned(),
        label: custom.label.clone().unwrap_or_else(|| in_words(name)),
        unit: kept(unit),
        direction: custom.direction.unwrap_or(Direction::Neutral),
        ratio_scale: !zero_is_arbitrary,
        margin_pct: custom.margin_pct.unwrap_or(MARGIN_WIDE_PCT),
        about: kept(&custom.definition()),
        custom: true,
    };
    DEFINED.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), metric);
}

/// The name with blanks: `slow_share` is `Slow share`.
fn in_words(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A text that lives as long as the program. There are few, and the same one is kept once.
fn kept(text: &str) -> &'static str {
    let mut texts = TEXTS.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    texts.insert(text);
    text
}

pub(super) fn find(name: &str) -> Option<Metric> {
    DEFINED.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

pub(super) fn rank(name: &str) -> usize {
    DEFINED.read().unwrap_or_else(PoisonError::into_inner).keys().take_while(|known| known.as_str() < name).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_defined_is_found_by_name_behind_the_catalogue() {
        let custom = CustomMetric {
            expression: Some("output_throughput_tok_s\n  / power_w".into()),
            direction: Some(Direction::HigherIsBetter),
            ..CustomMetric::default()
        };
        assert_eq!(Metric::find("test_tokens_per_joule"), None);
        define("test_tokens_per_joule", &custom, "tok/J", false);
        let found = Metric::find("test_tokens_per_joule").unwrap();
        assert_eq!((found.label.as_str(), found.unit, found.margin_pct), ("Test tokens per joule", "tok/J", 5.0));
        assert!(found.custom && found.ratio_scale && !found.is_positive());
        assert_eq!(found.base(), "test_tokens_per_joule");
        assert!(found.rank() > Metric::find("roofline_pct").unwrap().rank());
        assert_eq!(custom.definition(), "output_throughput_tok_s / power_w");
    }

    #[test]
    fn label_and_margin_do_not_make_another_metric_and_the_unit_does() {
        let one = CustomMetric { file: Some("a.json".into()), pointer: Some("/x".into()), ..CustomMetric::default() };
        let labelled = CustomMetric { label: Some("X".into()), margin_pct: Some(1.0), ..one.clone() };
        let other = CustomMetric { unit: Some("s".into()), ..one.clone() };
        assert!(one.same_as(&labelled) && !one.same_as(&other));
        assert_eq!(one.definition(), "/x of a.json");
    }
}
