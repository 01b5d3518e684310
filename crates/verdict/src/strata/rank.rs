//! Arms of a stratum in order, the best first, each with its ratio to the best.
//!
//! In:  strata, a measure.  Out: [`Ranked`] arms.
//! Not here: whether a difference is shown (see `compare` and `grammar`), sentences.

use std::collections::BTreeMap;

use super::Stratum;
use super::counted;
use crate::case::Cell;
use crate::distinct::distinct;
use crate::estimate;
use crate::report::Estimate;
use sparkbench_model::{Direction, Metric, Run};
use sparkbench_stats::mean;

/// A figure by which arms are put in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    /// Contract name.
    pub name: String,
    /// For people, without the unit.
    pub label: String,
    pub unit: &'static str,
    pub direction: Direction,
}

impl Measure {
    /// A metric with a true zero, of which ratios mean something.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let metric = Metric::find(name).filter(|metric| metric.ratio_scale)?;
        Some(Self { name: metric.name, label: metric.label, unit: metric.unit, direction: metric.direction })
    }

    /// Whether more of it is faster, or less of it.
    pub(crate) fn is_speed(&self) -> bool {
        match self.direction {
            Direction::HigherIsBetter => self.unit.ends_with("/s"),
            Direction::LowerIsBetter => matches!(self.unit, "ms" | "s"),
            Direction::Neutral => false,
        }
    }

    /// The figure of a run.
    fn of(&self, run: &Run) -> Option<f64> {
        run.value(&self.name).filter(|value| *value > 0.0)
    }

    /// Whether a figure is better than another.
    pub(crate) fn is_better(&self, own: f64, other: f64) -> bool {
        if self.direction == Direction::LowerIsBetter { own < other } else { own > other }
    }

    /// How good a figure is beside another: 0.5 is half as good.
    fn share(&self, own: f64, best: f64) -> f64 {
        if self.direction == Direction::LowerIsBetter { best / own } else { own / best }
    }
}

/// Mean of a cell over the runs that count. Runs of one launch are one value.
pub(crate) fn figure(cell: &Cell<'_>, measure: &Measure, confidence: f64) -> Option<Estimate> {
    let mut launches: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut values = Vec::new();
    for run in counted::runs(cell) {
        let Some(value) = measure.of(run) else { continue };
        match run.launch {
            Some(launch) => launches.entry(launch).or_default().push(value),
            None => values.push(value),
        }
    }
    values.extend(launches.values().map(|own| mean(own)));
    estimate::of(&values, confidence)
}

/// An arm among others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ranked<'a> {
    pub arm: &'a str,
    pub figure: Estimate,
    /// To the best, 1 of the best itself: how fast beside it, or how much beside the most where nothing is better.
    pub ratio: f64,
}

/// The arms of a stratum that have a figure and with which the server kept up, the best first, ties by name.
pub(crate) fn ranked<'a>(stratum: &Stratum<'_, 'a>, measure: &Measure, confidence: f64) -> Vec<Ranked<'a>> {
    let told = stratum.cells.iter().filter(|cell| counted::keeps_up(cell) != Some(false));
    let mut arms: Vec<Ranked<'a>> = told
        .filter_map(|cell| {
            Some(Ranked { arm: cell.environment, figure: figure(cell, measure, confidence)?, ratio: 1.0 })
        })
        .collect();
    arms.sort_by(|a, b| {
        let order = b.figure.mean.total_cmp(&a.figure.mean);
        let order = if measure.direction == Direction::LowerIsBetter { order.reverse() } else { order };
        order.then_with(|| a.arm.cmp(b.arm))
    });
    let best = arms.first().map(|arm| arm.figure.mean);
    for arm in &mut arms {
        arm.ratio = best.map_or(1.0, |best| measure.share(arm.figure.mean, best));
    }
    arms
}

/// Arms over several strata: each with the geometric mean of its ratios, beside that of the best. Over the strata that all these arms share.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Overall<'a> {
    /// The best first.
    pub arms: Vec<(&'a str, f64)>,
    /// Number of strata.
    pub strata: usize,
    /// Strata in which the best arm is also the best of the stratum.
    pub best_in: usize,
}

/// Absent where no stratum holds all arms.
pub(crate) fn overall<'a>(strata: &[&Stratum<'_, 'a>], measure: &Measure, confidence: f64) -> Option<Overall<'a>> {
    let tables: Vec<Vec<Ranked<'a>>> = strata.iter().map(|stratum| ranked(stratum, measure, confidence)).collect();
    let names: Vec<&str> = distinct(tables.iter().flatten().map(|arm| arm.arm));
    let whole: Vec<&Vec<Ranked<'a>>> = tables.iter().filter(|table| table.len() == names.len()).collect();
    if whole.is_empty() || names.len() < 2 {
        return None;
    }
    let of_arm = |name: &str| {
        let logs: Vec<f64> = whole
            .iter()
            .flat_map(|table| table.iter().filter(|arm| arm.arm == name))
            .map(|arm| arm.ratio.ln())
            .collect();
        mean(&logs)
    };
    let mut arms: Vec<(&'a str, f64)> = names.iter().map(|name| (*name, of_arm(name))).collect();
    arms.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let (best, most) = *arms.first()?;
    for (_, log) in &mut arms {
        *log = (*log - most).exp();
    }
    let best_in = whole.iter().filter(|table| table.first().is_some_and(|arm| arm.arm == best)).count();
    Some(Overall { arms, strata: whole.len(), best_in })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;
    use crate::strata;
    use crate::testing::run_of;
    use sparkbench_model::{Campaign, Facts};

    fn measure(name: &str) -> Measure {
        Measure::find(name).unwrap()
    }

    #[test]
    fn the_best_comes_first_and_runs_of_one_launch_count_once() {
        let mut runs = [
            run_of("a", "w", "fp8", &[("decode_tok_s", 50.0)]),
            run_of("b", "w", "fp8", &[("decode_tok_s", 70.0)]),
            run_of("c", "w", "bf16", &[("decode_tok_s", 30.0)]),
            run_of("d", "w", "fp8", &[("decode_tok_s", 40.0)]),
        ];
        (runs[0].launch, runs[1].launch) = (Some(1), Some(1));
        let (campaign, facts) = (Campaign::default(), Facts::default());
        let case = Case::of_runs(&campaign, runs.iter().collect(), &facts);
        let strata = strata::of(&case);
        let arms = ranked(&strata[0], &measure("decode_tok_s"), 0.95);
        let said: Vec<(&str, f64, usize, f64)> =
            arms.iter().map(|arm| (arm.arm, arm.figure.mean, arm.figure.n, arm.ratio)).collect();
        assert_eq!(said, [("fp8", 50.0, 2, 1.0), ("bf16", 30.0, 1, 0.6)]);
    }

    #[test]
    fn a_time_is_better_where_it_is_shorter_and_arms_meet_where_all_of_them_are() {
        let runs = [
            run_of("a", "w1", "x", &[("ttft_ms", 100.0)]),
            run_of("b", "w1", "y", &[("ttft_ms", 200.0)]),
            run_of("c", "w2", "x", &[("ttft_ms", 400.0)]),
            run_of("d", "w2", "y", &[("ttft_ms", 400.0)]),
            run_of("e", "w3", "x", &[("ttft_ms", 1.0)]),
        ];
        let (campaign, facts) = (Campaign::default(), Facts::default());
        let case = Case::of_runs(&campaign, runs.iter().collect(), &facts);
        let strata = strata::of(&case);
        let all: Vec<&Stratum<'_, '_>> = strata.iter().collect();
        let found = overall(&all, &measure("ttft_ms"), 0.95).unwrap();
        assert_eq!((found.strata, found.best_in, found.arms[0]), (2, 2, ("x", 1.0)));
        assert!((found.arms[1].1 - 0.5f64.sqrt()).abs() < 1e-12, "{found:?}");
    }
}
