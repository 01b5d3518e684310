//! The shift of the requests of one comparison: where in the distribution a difference lies.
//!
//! In:  the runs of two cells with their requests.  Out: [`ShiftReport`], for metrics that are measured at every request.
//! Not here: the formula (see `stats::shift`), verdicts, which rest on runs.

use std::borrow::Cow;

use super::Settings;
use super::case::Cell;
use super::group::{FLAG_LATER, OfRequests, finite};
use super::report::{Interval, ShiftDecile, ShiftReport};
use sparkbench_model::{Direction, Metric};
use sparkbench_stats::{bootstrap, shift};

/// Resamples of a shift function: nine deciles of two arms, of which a drawing shows the limits. The Monte-Carlo error of a 95 % limit is
/// an eighth of a standard error. A verdict, which these limits do not decide, takes twenty times as many.
pub(crate) const RESAMPLES: usize = 500;

/// Draws beyond which there is no interval: some seconds of one processor.
const MOST_DRAWS: usize = 2_000_000_000;

/// Passes over the requests for nine deciles, three at a time.
const PASSES: usize = 3;

/// The shift from the requests of `a` to those of `b`. Absent where an arm has none, and for metrics that are no figure of a request.
pub(crate) fn of(
    a: &Cell<'_>,
    b: &Cell<'_>,
    metric: &Metric,
    settings: &Settings,
    of_requests: OfRequests,
) -> Option<ShiftReport> {
    // A percentile of percentiles says nothing: the bare per-request metrics only.
    if metric.base() != metric.name || metric.direction != Direction::LowerIsBetter {
        return None;
    }
    let (x, y) = (requests(a, &metric.name), requests(b, &metric.name));
    if x.is_empty() || y.is_empty() {
        return None;
    }
    let draws = RESAMPLES.min(settings.resamples);
    let total: usize = x.iter().chain(&y).map(|run| run.len()).sum();
    let too_many = total.saturating_mul(draws * PASSES) > MOST_DRAWS;
    let key = format!("{}|{}|{}~{}|shift", a.model, metric.name, a.environment, b.environment);
    let later = !too_many && of_requests == OfRequests::Point;
    let resamples = if too_many || later { 0 } else { draws };
    let found = shift::shift(&x, &y, &bootstrap::Job { resamples, ..settings.job(key) })?;
    let interval = |pair: Option<(f64, f64)>| pair.map(|(low, high)| Interval::new(low, high));
    let deciles: Vec<ShiftDecile> = found
        .deciles
        .iter()
        .map(|d| ShiftDecile {
            percent: (d.p * 100.0).round() as u32,
            baseline: d.a,
            candidate: d.b,
            difference: d.difference,
            interval: interval(d.interval),
            band: interval(d.band),
        })
        .collect();
    let mut flags: Vec<String> = found.flags.iter().map(|f| (*f).to_owned()).collect();
    if too_many {
        flags.push("too_many_to_resample".to_owned());
    }
    if later {
        flags.push(FLAG_LATER.to_owned());
    }
    let bands = || deciles.iter().filter_map(|d| d.band);
    Some(ShiftReport {
        above: bands().filter(|band| band.low > 0.0).count(),
        below: bands().filter(|band| band.high < 0.0).count(),
        runs_baseline: found.runs.0,
        runs_candidate: found.runs.1,
        requests_baseline: found.requests.0,
        requests_candidate: found.requests.1,
        resamples: found.resamples,
        flags,
        deciles,
    })
}

/// Finite values of the requests, run by run. Runs without any are left out.
fn requests<'a>(cell: &Cell<'a>, metric: &str) -> Vec<Cow<'a, [f64]>> {
    let series = cell.runs.iter().filter_map(|run| run.series.iter().find(|s| s.metric == metric));
    series.map(|series| finite(&series.values)).filter(|values| !values.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::testing::run;
    use sparkbench_model::{Origin, Run, Series};

    fn settings() -> Settings {
        Settings { confidence: 0.95, resamples: 10_000, seed: 42, baseline: None, margins_pct: BTreeMap::new() }
    }

    fn with_requests(id: &str, metric: &str, values: Vec<f64>) -> Run {
        let origin = Origin { file: "x.json".to_owned(), line: None, field: None, rule: "test" };
        Run { series: vec![Series { metric: metric.to_owned(), values, origin }], ..run(id) }
    }

    fn cell<'a>(environment: &'a str, runs: &'a [Run]) -> Cell<'a> {
        Cell { model: "m", workload: "w", environment, runs: runs.iter().collect() }
    }

    fn arm(metric: &str, level: f64, runs: usize) -> Vec<Run> {
        let values = |r: usize| (0..=50).map(|k| level + r as f64 + f64::from(k)).collect();
        (0..runs).map(|r| with_requests(&format!("{level}-{r}"), metric, values(r))).collect()
    }

    #[test]
    fn every_decile_of_shifted_requests_is_above() {
        let (a, b) = (arm("ttft_ms", 100.0, 6), arm("ttft_ms", 200.0, 6));
        let metric = Metric::find("ttft_ms").unwrap();
        let found =
            of(&cell("native", &a), &cell("container", &b), &metric, &settings(), OfRequests::Resampled).unwrap();
        assert_eq!((found.above, found.below, found.resamples), (9, 0, Some(RESAMPLES)));
        assert_eq!(found.deciles.iter().map(|d| d.percent).collect::<Vec<_>>(), [10, 20, 30, 40, 50, 60, 70, 80, 90]);
        assert!(found.deciles.iter().all(|d| (d.difference - 100.0).abs() < 1e-9));
    }

    #[test]
    fn intervals_that_are_left_to_later_are_said_to_follow() {
        let (a, b) = (arm("ttft_ms", 100.0, 6), arm("ttft_ms", 200.0, 6));
        let metric = Metric::find("ttft_ms").unwrap();
        let found =
            |of_requests| of(&cell("native", &a), &cell("container", &b), &metric, &settings(), of_requests).unwrap();
        let (point, whole) = (found(OfRequests::Point), found(OfRequests::Resampled));
        assert_eq!((point.resamples, &point.flags[..]), (None, &[FLAG_LATER.to_owned()][..]));
        assert!(point.deciles.iter().all(|d| d.interval.is_none() && d.band.is_none()));
        let differences = |of: &ShiftReport| of.deciles.iter().map(|d| d.difference).collect::<Vec<_>>();
        assert_eq!(differences(&point), differences(&whole));
    }

    #[test]
    fn single_runs_have_deciles_and_no_interval_and_no_requests_have_no_shift() {
        let (a, b) = (arm("ttft_ms", 1.0, 1), arm("ttft_ms", 2.0, 4));
        let metric = Metric::find("ttft_ms").unwrap();
        let found =
            of(&cell("native", &a), &cell("container", &b), &metric, &settings(), OfRequests::Resampled).unwrap();
        assert_eq!((found.resamples, found.above, &found.flags[..]), (None, 0, &["one_run".to_owned()][..]));
        assert!(
            of(&cell("native", &[]), &cell("container", &b), &metric, &settings(), OfRequests::Resampled).is_none()
        );
        let p99 = Metric::find("ttft_ms_p99").unwrap();
        assert!(of(&cell("native", &a), &cell("container", &b), &p99, &settings(), OfRequests::Resampled).is_none());
    }
}
