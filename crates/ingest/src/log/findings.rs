//! Findings of a log reader so far, in bounded memory.
//!
//! In:  figures with their lines.  Out: readings and extras of one partial run, in the order in which they were first seen.
//! Not here: what a line means.
//!
//! If a figure is printed again, the last one counts. If each rank of a parallel engine prints a figure, it is kept once for each rank. The
//! headline is the largest, because memory is bounded by the fullest GPU. A sum over ranks is never formed.

use std::collections::BTreeMap;

use crate::SourceFile;
use crate::figure::Figure;
use sparkbench_model::{Extra, ExtraValue, Metric, Reading};

/// Most names that are kept of one log. A log that prints more is no log of an engine.
const NAMES: usize = 1024;

const BELOW_ZERO: &str = "below zero, where no size, count or time can be: what was missing, and no measurement";

/// Figures of one log, or of one start of a server within it.
#[derive(Debug, Clone, Default)]
pub(super) struct LogFindings {
    metrics: Vec<Taken<Figure>>,
    extras: Vec<Taken<ExtraValue>>,
    ranked: BTreeMap<(&'static str, String), (Figure, u64)>,
}

#[derive(Debug, Clone)]
struct Taken<T> {
    name: String,
    unit: &'static str,
    value: T,
    line: Option<u64>,
    why: Option<&'static str>,
    derived: bool,
}

impl LogFindings {
    /// A metric of the whole run.
    pub(super) fn metric(&mut self, name: &str, figure: Figure, line: u64) {
        self.metric_of(name, figure, Some(line), false);
    }

    /// A metric that was computed from figures of the log.
    pub(super) fn derived(&mut self, name: &str, value: f64, line: u64) {
        self.metric_of(name, Figure::computed(value), Some(line), true);
    }

    fn metric_of(&mut self, name: &str, value: Figure, line: Option<u64>, derived: bool) {
        if value.value < 0.0 {
            return self.below_zero(name, "", value.value, line);
        }
        let taken = Taken { name: name.to_owned(), unit: "", value, line, why: None, derived };
        put(&mut self.metrics, taken);
    }

    /// A metric of one rank. The rank as the log names it.
    pub(super) fn of_rank(&mut self, name: &'static str, rank: &str, figure: Figure, line: u64) {
        if figure.value < 0.0 {
            self.below_zero(name, rank, figure.value, Some(line));
        } else if self.ranked.len() < NAMES {
            self.ranked.insert((name, rank.to_owned()), (figure, line));
        }
    }

    /// No metric of a log can be below zero. The figure is kept beside them.
    fn below_zero(&mut self, metric: &str, rank: &str, value: f64, line: Option<u64>) {
        let of = if rank.is_empty() { String::new() } else { format!(" of {rank}") };
        let unit = Metric::of_catalogue(metric).map_or("", |metric| metric.unit);
        let (name, value) = (format!("{metric} below zero{of}"), ExtraValue::Number(value));
        put(&mut self.extras, Taken { name, unit, value, line, why: Some(BELOW_ZERO), derived: false });
    }

    /// A figure that is no metric.
    pub(super) fn extra(&mut self, name: &str, unit: &'static str, value: f64, line: u64) {
        self.extra_because(name, unit, value, line, None);
    }

    /// A figure that one could take for a metric.
    pub(super) fn extra_because(
        &mut self,
        name: &str,
        unit: &'static str,
        value: f64,
        line: u64,
        why: impl Into<Option<&'static str>>,
    ) {
        if value.is_finite() {
            let value = ExtraValue::Number(value);
            let why = why.into();
            put(&mut self.extras, Taken { name: name.to_owned(), unit, value, line: Some(line), why, derived: false });
        }
    }

    /// A figure made of many lines of the log. It has no line of its own.
    pub(super) fn over_all(
        &mut self,
        name: &str,
        unit: &'static str,
        value: f64,
        why: impl Into<Option<&'static str>>,
    ) {
        if value.is_finite() {
            let (value, why) = (ExtraValue::Number(value), why.into());
            put(&mut self.extras, Taken { name: name.to_owned(), unit, value, line: None, why, derived: true });
        }
    }

    /// True when a metric was found, on whatever rank.
    pub(super) fn has(&self, metric: &str) -> bool {
        self.metrics.iter().any(|taken| taken.name == metric) || self.ranked.keys().any(|(name, _)| *name == metric)
    }

    /// True when there is an extra of this name.
    pub(super) fn has_extra(&self, name: &str) -> bool {
        self.extras.iter().any(|taken| taken.name == name)
    }

    /// The finished lists. `rules`: of figures in the log, and of figures computed from it.
    pub(super) fn finish(
        mut self,
        file: &SourceFile<'_>,
        rules: (&'static str, &'static str),
    ) -> (Vec<Reading>, Vec<Extra>) {
        self.join_ranks();
        let rule = |derived: bool| if derived { rules.1 } else { rules.0 };
        let readings = self
            .metrics
            .into_iter()
            .map(|taken| taken.value.reading(taken.name, file.origin(taken.line, None, rule(taken.derived))));
        let extras = self.extras.into_iter().map(|taken| Extra {
            name: taken.name,
            unit: taken.unit.to_owned(),
            value: taken.value,
            why: taken.why,
            origin: file.origin(taken.line, None, rule(taken.derived)),
        });
        (readings.collect(), extras.collect())
    }

    /// The largest over the ranks becomes the metric. With more than one rank each is an extra beside it.
    fn join_ranks(&mut self) {
        let ranked = std::mem::take(&mut self.ranked);
        let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, _) in ranked.keys() {
            *ranks.entry(*name).or_default() += 1;
        }
        for ((name, rank), (figure, line)) in &ranked {
            let best = ranked.iter().filter(|((other, _), _)| other == name).map(|(_, (figure, _))| figure.value);
            if best.fold(f64::NEG_INFINITY, f64::max) <= figure.value && !self.metrics.iter().any(|t| t.name == *name) {
                // What is printed has digits. What has none is a sum of parts.
                self.metric_of(name, *figure, Some(*line), figure.decimals.is_none());
            }
            if ranks.get(name).is_some_and(|count| *count > 1) {
                let unit = Metric::of_catalogue(name).map_or("", |metric| metric.unit);
                self.extra(
                    &format!("{name} of {}", if rank.is_empty() { "one rank" } else { rank }),
                    unit,
                    figure.value,
                    *line,
                );
            }
        }
    }
}

/// The last value of a name counts. A name beyond the limit is dropped.
fn put<T>(list: &mut Vec<Taken<T>>, taken: Taken<T>) {
    if let Some(entry) = list.iter_mut().find(|entry| entry.name == taken.name) {
        *entry = taken;
    } else if list.len() < NAMES {
        list.push(taken);
    }
}

/// Sum, count and maximum of figures that come in any number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spread {
    /// How many.
    pub count: u64,
    pub sum: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// One more value. A value that is not finite is ignored.
    pub(super) fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.max = if self.count == 0 { value } else { self.max.max(value) };
            self.count += 1;
            self.sum += value;
        }
    }

    /// Their mean. Nothing without any.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ranks_the_largest_is_the_headline_and_nothing_is_summed() {
        let mut found = LogFindings::default();
        let figure = |value| Figure { value, decimals: Some(1) };
        found.of_rank("kv_cache_gib", "TP0", figure(10.0), 3);
        found.of_rank("kv_cache_gib", "TP1", figure(12.0), 4);
        found.of_rank("kv_cache_gib", "TP1", figure(11.5), 9);
        let mut input = &b""[..];
        let (readings, extras) = found.finish(&SourceFile::new("a.log", 0, &mut input), ("x", "x.derived"));
        assert_eq!((readings.len(), readings[0].value, readings[0].origin.line), (1, 11.5, Some(9)));
        assert_eq!(
            extras.iter().map(|extra| extra.name.as_str()).collect::<Vec<_>>(),
            ["kv_cache_gib of TP0", "kv_cache_gib of TP1"]
        );
        assert_eq!(extras[0].unit, "GiB");
    }

    #[test]
    fn what_is_below_zero_is_no_metric_and_is_kept_beside_them() {
        let mut found = LogFindings::default();
        let figure = |value| Figure { value, decimals: Some(2) };
        found.of_rank("kv_cache_gib", "TP0", figure(-0.53), 3);
        found.metric("model_load_s", figure(-1.0), 4);
        found.metric("model_memory_gib", figure(0.0), 5);
        assert!(!found.has("kv_cache_gib") && !found.has("model_load_s") && found.has("model_memory_gib"));
        let mut input = &b""[..];
        let (readings, extras) = found.finish(&SourceFile::new("a.log", 0, &mut input), ("x", "x.derived"));
        assert_eq!((readings.len(), extras.len()), (1, 2));
        assert_eq!((extras[0].name.as_str(), extras[0].unit.as_str()), ("kv_cache_gib below zero of TP0", "GiB"));
        assert_eq!(
            (extras[0].as_number(), extras[0].origin.line, extras[0].why),
            (Some(-0.53), Some(3), Some(BELOW_ZERO))
        );
    }

    #[test]
    fn names_are_bounded() {
        let mut found = LogFindings::default();
        for number in 0..5000 {
            found.extra(&format!("n{number}"), "", 1.0, 1);
            found.of_rank("kv_cache_gib", &number.to_string(), Figure { value: 1.0, decimals: None }, 1);
        }
        assert!(found.extras.len() <= NAMES && found.ranked.len() <= NAMES);
    }
}
