//! Changes in a series over time, what changed with them, and whether the newest point still belongs to the last stable period.
//!
//! In:  a [`TimeSeries`] and a margin.  Out: [`SeriesReport`], [`NewestReport`].
//! Not here: the search itself (see `stats::change`), files, words of a page.
//!
//! A change lists the labels that differ between the point before it and the point at it. Both points must have the label. Such labels
//! changed at the same time. That is no proof of a cause.

use std::collections::BTreeMap;

use super::report::series::{
    ChangeReport, LabelChange, NewestKind, NewestReport, PointName, SeriesReport, StretchReport, Turn,
};
use sparkbench_model::{Direction, TimePoint, TimeSeries};
use sparkbench_stats::change::{self, Change, Kind, Point, Segmentation};
use sparkbench_stats::{dist, sample};

pub use sparkbench_stats::change::LEAST_POINTS;

/// Fewest points of a period that a new point can be compared with.
pub const LEAST_STRETCH: usize = 3;

/// Labels whose values are readings: they change a little from run to run, and only a step of this size is reported.
const READINGS: &[(&str, f64)] = &[("start temperature, °C", 3.0), ("clock, MHz", 30.0)];

/// Changes, outliers and periods of one series.
pub fn report(series: &TimeSeries, margin_pct: f64, seed: u64) -> SeriesReport {
    let found = found(&series.points, margin_pct, seed);
    let told = |changes: &[Change]| changes.iter().map(|c| told(series, c)).collect::<Vec<_>>();
    SeriesReport {
        subject: series.subject.clone(),
        metric: series.metric.clone(),
        unit: series.unit.clone(),
        direction: series.direction,
        points: series.points.len(),
        margin_pct,
        autocorrelation: found.autocorrelation,
        change_points: told(&found.changes),
        within_margin: told(&found.within_margin),
        outliers: found.outliers.iter().map(|&at| name(&series.points[at])).collect(),
        stretches: found
            .stretches
            .iter()
            .map(|stretch| StretchReport {
                from: series.points[stretch.from].row,
                to: series.points[stretch.to - 1].row,
                n: stretch.to - stretch.from,
                mean: stretch.mean,
                sd: stretch.sd,
                interval: stretch.interval,
            })
            .collect(),
    }
}

fn found(points: &[TimePoint], margin_pct: f64, seed: u64) -> Segmentation {
    let measured: Vec<Point> =
        points.iter().map(|p| Point { value: p.value, standard_error: p.standard_error() }).collect();
    // Points are finite by their definition. One that is not makes a series without changes.
    change::segment(&measured, margin_pct, seed).unwrap_or_else(|| Segmentation {
        changes: Vec::new(),
        within_margin: Vec::new(),
        outliers: Vec::new(),
        stretches: Vec::new(),
        autocorrelation: 0.0,
    })
}

fn name(point: &TimePoint) -> PointName {
    PointName { index: point.row, time: point.time.clone(), name: point.name.clone(), value: point.value }
}

fn told(series: &TimeSeries, change: &Change) -> ChangeReport {
    let at = &series.points[change.index];
    let before = &series.points[change.index - 1];
    ChangeReport {
        index: at.row,
        time: at.time.clone(),
        kind: match change.kind {
            Kind::Level => "level",
            Kind::Scatter => "scatter",
            Kind::Cycle => "cycle",
        },
        before: change.before,
        after: change.after,
        change_pct: change.change_pct,
        p: change.p,
        turn: turn(series.direction, change.kind, change.before, change.after),
        last_before: name(before),
        first_after: name(at),
        changed: changed(before, at),
    }
}

fn turn(direction: Option<Direction>, kind: Kind, before: f64, after: f64) -> Turn {
    // Another phase is neither more nor less.
    if kind == Kind::Cycle {
        return Turn::Different;
    }
    // More scatter is worse whatever is measured.
    let lower_is_better = match (kind, direction) {
        (Kind::Scatter, _) | (_, Some(Direction::LowerIsBetter)) => Some(true),
        (_, Some(Direction::HigherIsBetter)) => Some(false),
        (_, Some(Direction::Neutral) | None) => None,
    };
    match (lower_is_better, after > before) {
        (Some(lower), more) if lower == more => Turn::Worse,
        (Some(_), _) => Turn::Better,
        (None, true) => Turn::More,
        (None, false) => Turn::Less,
    }
}

/// Labels that both points have and that differ.
fn changed(before: &TimePoint, after: &TimePoint) -> Vec<LabelChange> {
    let old: BTreeMap<&str, &str> = before.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let differs = |name: &str, was: &str, is: &str| match READINGS.iter().find(|(reading, _)| *reading == name) {
        Some((_, step)) => match (was.parse::<f64>(), is.parse::<f64>()) {
            (Ok(was), Ok(is)) => (was - is).abs() >= *step,
            _ => was != is,
        },
        None => was != is,
    };
    let new = after.labels.iter().filter_map(|(name, is)| {
        let was = old.get(name.as_str()).filter(|was| differs(name, was, is))?;
        Some(LabelChange { name: name.clone(), before: (*was).to_owned(), after: is.clone() })
    });
    new.collect()
}

/// Whether the newest point belongs to the last stable period.
///
/// The period is found without the newest point. Its points scatter from campaign to campaign, and the newest one may lie anywhere within their
/// 95 % prediction interval without anything having changed. Beyond the interval and beyond the margin it is worse or better. `None` below
/// [`LEAST_STRETCH`] points before it.
pub fn newest(series: &TimeSeries, margin_pct: f64, seed: u64) -> Option<NewestReport> {
    let (last, earlier) = series.points.split_last()?;
    if earlier.len() < LEAST_STRETCH {
        return None;
    }
    // Within the margin or not, a period ends where its level changes.
    let found = found(earlier, margin_pct, seed);
    let stretch = found.stretches.last()?;
    let fine = (stretch.from..stretch.to).filter(|at| found.outliers.binary_search(at).is_err());
    let values: Vec<f64> = fine.map(|at| earlier[at].value).collect();
    let mean = sample::mean(&values);
    // Scatter between campaigns, and never less than the runs of the newest one say of their own mean.
    let between = sample::sd(&values).unwrap_or(0.0);
    let error = last.standard_error().unwrap_or(0.0);
    let n = values.len() as f64;
    let spread = (between * between * (1.0 + 1.0 / n)).max(error * error + between * between / n).sqrt();
    // One point has no scatter: nothing can be said then.
    let half = if n > 1.0 { dist::t_quantile(0.975, n - 1.0) * spread } else { f64::INFINITY };
    let interval = (mean - half, mean + half);
    let change_pct = (mean > 0.0).then(|| 100.0 * (last.value / mean - 1.0));
    let turn = turn(series.direction, Kind::Level, mean, last.value);
    let beyond_margin = change_pct.is_none_or(|pct| pct.abs() > margin_pct);
    let outside = last.value < interval.0 || last.value > interval.1;
    let half_pct = (mean > 0.0).then(|| 100.0 * half / mean);
    let kind = if values.len() < LEAST_STRETCH {
        NewestKind::Undecided
    } else if outside && beyond_margin {
        match turn {
            Turn::Worse => NewestKind::Worse,
            Turn::Better => NewestKind::Better,
            Turn::More | Turn::Less | Turn::Different => NewestKind::Moved,
        }
    } else if !beyond_margin || !outside && (margin_pct == 0.0 || half_pct.is_some_and(|half| half <= margin_pct)) {
        // Without a margin all that can be asked is whether the point is new, and it is not.
        NewestKind::Steady
    } else {
        // Beyond the margin, and the period scatters too much to say that this is new.
        NewestKind::Undecided
    };
    Some(NewestReport {
        subject: series.subject.clone(),
        metric: series.metric.clone(),
        unit: series.unit.clone(),
        direction: series.direction,
        margin_pct,
        newest: name(last),
        stretch: StretchReport {
            from: earlier[stretch.from].row,
            to: earlier[stretch.to - 1].row,
            n: stretch.to - stretch.from,
            mean,
            sd: stretch.sd,
            interval: stretch.interval,
        },
        first: name(&earlier[stretch.from]),
        last: name(&earlier[stretch.to - 1]),
        prediction: interval,
        change_pct,
        kind,
        turn,
        changed: changed(&earlier[stretch.to - 1], last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64], direction: Option<Direction>) -> TimeSeries {
        let point = |(row, &value): (usize, &f64)| TimePoint {
            row,
            time: format!("day {row}"),
            value,
            labels: vec![
                ("engine version".to_owned(), if row < 6 { "1.0" } else { "1.1" }.to_owned()),
                ("start temperature, °C".to_owned(), format!("{}", 40 + row % 2)),
            ],
            ..TimePoint::default()
        };
        TimeSeries {
            metric: "ttft_ms".to_owned(),
            direction,
            points: values.iter().enumerate().map(point).collect(),
            ..TimeSeries::default()
        }
    }

    #[test]
    fn a_change_names_what_changed_with_it_and_which_way_it_went() {
        let values = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 12.0, 12.1, 11.9, 12.0];
        let report = report(&series(&values, Some(Direction::LowerIsBetter)), 2.0, 42);
        let [change] = report.change_points.as_slice() else { panic!("{report:?}") };
        assert_eq!((change.index, change.turn, change.time.as_str()), (6, Turn::Worse, "day 6"));
        assert_eq!((change.last_before.index, change.first_after.index), (5, 6));
        // A start temperature of one degree more is no change.
        assert_eq!(change.changed.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["engine version"]);
        assert!((change.change_pct.unwrap() - 20.0).abs() < 0.5);
        let higher = super::report(&series(&values, Some(Direction::HigherIsBetter)), 2.0, 42);
        assert_eq!(higher.change_points[0].turn, Turn::Better);
        assert_eq!(super::report(&series(&values, None), 2.0, 42).change_points[0].turn, Turn::More);
    }

    #[test]
    fn the_newest_point_is_held_against_the_last_stretch_alone() {
        let mut values = vec![20.0, 20.1, 19.9, 20.0, 20.1, 19.9, 10.0, 10.1, 9.9, 10.0, 10.05, 9.95];
        let judged = |values: &[f64]| newest(&series(values, Some(Direction::LowerIsBetter)), 2.0, 42).unwrap();
        values.push(10.02);
        let steady = judged(&values);
        assert_eq!((steady.kind, steady.stretch.from, steady.stretch.n), (NewestKind::Steady, 6, 6));
        *values.last_mut().unwrap() = 12.0;
        assert_eq!(judged(&values).kind, NewestKind::Worse);
        *values.last_mut().unwrap() = 8.0;
        assert_eq!(judged(&values).kind, NewestKind::Better);
    }

    #[test]
    fn a_stretch_that_scatters_beyond_the_margin_decides_nothing_small() {
        let values = [10.0, 11.0, 9.0, 10.5, 9.5, 10.0, 10.8];
        let judged = newest(&series(&values, Some(Direction::LowerIsBetter)), 2.0, 42).unwrap();
        assert_eq!(judged.kind, NewestKind::Undecided);
        assert!(newest(&series(&values[..3], None), 2.0, 42).is_none());
    }
}
