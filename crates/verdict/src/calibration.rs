//! The method applied to identical arms: how often it finds a difference where there is none.
//!
//! In:  the groups of one campaign.  Out: [`CalibrationReport`]: each arm split into two halves that are the same by construction, and the
//! verdict of the rules on them.
//! Not here: any difference between environments.
//!
//! There are three ways to split. At random, many times: the share called different should be near the level of the test. It shows whether
//! the test keeps its level on values of this shape. By turns (first, third, fifth ... against second, fourth ...): the design that this
//! program runs by default. By halves of time (the first half against the second): the design of a campaign that runs one arm after the
//! other. A difference by halves where there is none by turns is an effect of time, and would have been taken for the environment.
//!
//! Halves are judged without the family, which only makes false alarms rarer.

use super::Settings;
use super::grammar::{self, VerdictInputs};
use super::memory::Round;
use super::report::{CalibrationArm, CalibrationReport, CampaignReport, Group, VerdictKind};
use rayon::prelude::*;

use sparkbench_model::{Direction, Metric};
use sparkbench_stats::random::{Stream, job_base};
use sparkbench_stats::{self as stats, Direction as Way};

/// Random splits of each arm. The share of one arm is steady to about a point. All arms together to less.
pub const SPLITS: usize = 400;

/// Fewest runs of an arm: four on each side.
pub const LEAST_RUNS: usize = 8;

/// Arms of one campaign that are tried. The first by cell, which for most campaigns is all of them.
const MOST_ARMS: usize = 60;

/// Tries the method on every arm of a campaign's primary metrics. Absent where no arm has runs enough.
pub(super) fn of(campaign: &CampaignReport, groups: &[Group], round: &Round<'_>) -> Option<CalibrationReport> {
    let own = groups.iter().filter(|g| {
        g.campaign == campaign.name && g.values.len() >= LEAST_RUNS && campaign.primary.contains(&g.metric)
    });
    let tried: Vec<(&Group, Metric)> =
        own.filter_map(|group| Some((group, Metric::find(&group.metric)?))).take(MOST_ARMS).collect();
    let arms: Vec<CalibrationArm> =
        tried.par_iter().map(|(group, metric)| arm(group, metric, campaign, round)).collect();
    if arms.is_empty() {
        return None;
    }
    let splits = arms.len() * SPLITS;
    let different: usize = arms.iter().map(|arm| arm.different).sum();
    let count = |of: fn(&CalibrationArm) -> VerdictKind| arms.iter().filter(|arm| of(arm).is_difference()).count();
    Some(CalibrationReport {
        campaign: campaign.name.clone(),
        splits,
        different,
        different_pct: 100.0 * different as f64 / splits as f64,
        expected_pct: 100.0 * (1.0 - round.settings.confidence),
        different_by_turns: count(|arm| arm.by_turns),
        different_by_halves: count(|arm| arm.by_halves),
        arms,
    })
}

fn arm(group: &Group, metric: &Metric, campaign: &CampaignReport, round: &Round<'_>) -> CalibrationArm {
    let way = super::compare::direction_of(metric);
    let margin = campaign.margins_pct.get(&group.metric).copied().filter(|_| way != Way::DifferenceOnly);
    round.calibrated(group, margin, || split(group, way, margin, round.settings))
}

/// An arm split in every way.
fn split(group: &Group, way: Way, margin: Option<f64>, settings: &Settings) -> CalibrationArm {
    let judge = |a: &[f64], b: &[f64]| judged(a, b, group.direction, way, margin, settings);
    let key = format!(
        "calibration|{}|{}|{}|{}|{}",
        group.campaign, group.model, group.workload, group.environment, group.metric
    );
    let base = job_base(settings.seed, &key);
    let (mut different, mut equivalent) = (0, 0);
    for split in 0..SPLITS {
        let (a, b) = shuffled(&group.values, &mut Stream::new(base, split as u64));
        match judge(&a, &b) {
            VerdictKind::Equivalent => equivalent += 1,
            kind if kind.is_difference() => different += 1,
            _ => {}
        }
    }
    let every_other = |from: usize| group.values.iter().skip(from).step_by(2).copied().collect::<Vec<f64>>();
    let (first, second) = group.values.split_at(group.values.len() / 2);
    CalibrationArm {
        model: group.model.clone(),
        workload: group.workload.clone(),
        environment: group.environment.clone(),
        metric: group.metric.clone(),
        n: group.values.len(),
        splits: SPLITS,
        different,
        equivalent,
        inconclusive: SPLITS - different - equivalent,
        by_turns: judge(&every_other(0), &every_other(1)),
        by_halves: judge(first, second),
    }
}

/// Result of the rules for two halves.
fn judged(
    a: &[f64],
    b: &[f64],
    direction: Direction,
    way: Way,
    margin: Option<f64>,
    settings: &Settings,
) -> VerdictKind {
    let test = stats::student::welch(a, b, settings.confidence);
    let per_cent = stats::overhead::overhead_pct(stats::mean(a), stats::mean(b), way);
    let (size, interval) = match (per_cent, &test) {
        (Some(size), _) => (Some(size), stats::fieller::overhead_pct(a, b, way, settings.confidence)),
        (None, Some(test)) => (Some(stats::mean(b) - stats::mean(a)), Some((test.diff_lo, test.diff_hi))),
        (None, None) => (None, None),
    };
    let inner_level = 2.0 * settings.confidence - 1.0;
    let equivalent = margin
        .and_then(|margin| stats::fieller::overhead_equivalence_p(a, b, way, margin))
        .is_some_and(|p| p < settings.alpha());
    let grounds = VerdictInputs {
        baseline: String::new(),
        candidate: String::new(),
        direction,
        unit: "%".into(),
        obstacles: Vec::new(),
        size,
        interval,
        p: test.map(|test| test.p),
        test: String::new(),
        family: 1,
        alpha: 1.0 - settings.confidence,
        margin,
        equivalent,
        inner: interval,
        inner_level,
    };
    grammar::decide(&grounds).kind
}

/// Two halves at random. Of an odd number the second has one more.
fn shuffled(values: &[f64], stream: &mut Stream) -> (Vec<f64>, Vec<f64>) {
    let mut order = values.to_vec();
    for k in (1..order.len()).rev() {
        order.swap(k, stream.index(k + 1));
    }
    let second = order.split_off(values.len() / 2);
    (order, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            confidence: 0.95,
            resamples: 999,
            seed: 42,
            baseline: None,
            margins_pct: std::collections::BTreeMap::new(),
        }
    }

    fn judge(a: &[f64], b: &[f64]) -> VerdictKind {
        judged(a, b, Direction::LowerIsBetter, Way::LowerIsBetter, Some(2.0), &settings())
    }

    #[test]
    fn halves_that_are_apart_are_called_different_and_halves_that_agree_equivalent() {
        assert_eq!(judge(&[10.0, 10.1, 9.9, 10.0], &[12.0, 12.1, 11.9, 12.0]), VerdictKind::Slower);
        assert_eq!(judge(&[10.0, 10.01, 9.99, 10.0], &[10.01, 10.0, 9.99, 10.0]), VerdictKind::Equivalent);
        assert_eq!(judge(&[10.0, 14.0, 7.0, 9.0], &[9.0, 13.0, 8.0, 11.0]), VerdictKind::Inconclusive);
    }

    #[test]
    fn a_random_split_keeps_every_value() {
        let values: Vec<f64> = (0..9).map(f64::from).collect();
        let (a, b) = shuffled(&values, &mut Stream::new(1, 2));
        assert_eq!((a.len(), b.len()), (4, 5));
        let mut all = [a, b].concat();
        all.sort_by(f64::total_cmp);
        assert_eq!(all, values);
    }

    #[test]
    fn on_values_of_a_plain_shape_random_splits_are_called_different_about_as_often_as_the_level_says() {
        let mut stream = Stream::new(7, 7);
        let mut different = 0;
        const ARMS: usize = 60;
        const EACH: usize = 20;
        for _ in 0..ARMS {
            let values: Vec<f64> = (0..20).map(|_| 100.0 + (0..12).map(|_| stream.uniform()).sum::<f64>()).collect();
            for _ in 0..EACH {
                let (a, b) = shuffled(&values, &mut stream);
                different += usize::from(judge(&a, &b).is_difference());
            }
        }
        let share = different as f64 / (ARMS * EACH) as f64;
        // Four standard errors of a share of 1,200 at 5 % are 2.5 points.
        assert!((0.025..=0.075).contains(&share), "{share}");
    }
}
