//! One cell and metric: the statistics of its own runs.
//!
//! In:  the values of a cell in order of time, the requests of its runs.  Out: [`Group`].
//! Not here: comparisons.

use std::borrow::Cow;

use super::report::{BootstrapReport, DriftReport, Group, Interval, MedianInterval, OutlierReport, RequestPercentile};
use super::trap::tail_of;
use super::{CellValues, Settings};
use sparkbench_model::{Direction, Metric, Run};
use sparkbench_stats::hierarchical::{self, Estimand};
use sparkbench_stats::{self as stats, Sample, bootstrap};

/// Percentiles over all requests of a cell: what a typical request, a slow one and a very slow one see.
const POOLED: [(&str, f64); 3] = [("p50", 0.50), ("p95", 0.95), ("p99", 0.99)];

/// Flag of a percentile that too few values lie beyond ([`stats::is_supported`]).
const UNSUPPORTED: &str = "tail";
/// Flag of a group whose percentile rests on too few requests in some run.
pub(crate) const FEW_REQUESTS: &str = "few_requests";

/// Inputs of a cell's estimates from one run beside the value. They can depend on nothing else, which
/// is what lets them be kept (see `memory`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunInputs<'a> {
    /// Whether the moment of its start is known.
    pub started: bool,
    /// Requests that it counted for the metric.
    pub counted: Option<usize>,
    /// Requests that it states.
    pub stated: Option<f64>,
    /// Its values of the metric, one a request.
    pub requests: Option<&'a [f64]>,
}

impl<'a> RunInputs<'a> {
    /// Of one run and metric.
    pub(crate) fn of(run: &'a Run, metric: &Metric) -> Self {
        let values = |name: &str| run.series.iter().find(|s| s.metric == name).map(|s| s.values.as_slice());
        Self {
            started: run.started.is_some(),
            counted: values(metric.base()).map(<[f64]>::len),
            stated: run.setup.requests,
            requests: values(&metric.name),
        }
    }
}

/// Notes on the requests of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfRequests {
    /// Percentiles with their intervals: every request is resampled, which takes longer than everything else together.
    Resampled,
    /// Percentiles. Their intervals are made later, which is reported.
    Point,
    Nothing,
}

/// The flag of a percentile or a decile whose interval is made later.
pub(crate) const FLAG_LATER: &str = "intervals_to_follow";

/// Estimates of one cell. `runs` are the runs of the cell in the order of `cell.run_ids`.
pub(crate) fn describe(
    cell: &CellValues,
    metric: &Metric,
    runs: &[RunInputs<'_>],
    settings: &Settings,
    of_requests: OfRequests,
) -> Group {
    let sample = Sample::new(cell.values.iter().copied());
    let values = sample.values();
    let run_ids: Vec<String> =
        cell.run_ids.iter().zip(&cell.values).filter(|(_, v)| v.is_finite()).map(|(id, _)| id.clone()).collect();
    let about = stats::describe(&sample, settings.confidence);
    let flags = flags(&sample, metric, runs);
    let median =
        (!values.is_empty()).then(|| stats::quantile_interval(&stats::sorted(values), 0.5, settings.confidence));
    Group {
        campaign: cell.campaign.clone(),
        model: cell.model.clone(),
        workload: cell.workload.clone(),
        environment: cell.environment.clone(),
        metric: metric.name.clone(),
        unit: metric.unit,
        direction: metric.direction,
        n: about.n,
        n_missing: about.n_missing,
        n_infinite: about.n_infinite,
        mean: about.mean,
        sd: about.sd,
        se: about.se,
        cv_pct: about.cv_pct.filter(|_| metric.ratio_scale),
        min: about.min,
        max: about.max,
        median: about.median,
        mad: about.mad,
        iqr: about.iqr,
        p5: about.p5,
        p25: about.p25,
        p75: about.p75,
        p90: about.p90,
        p95: about.p95,
        p99: about.p99,
        skewness: about.skewness,
        shapiro_p: stats::shapiro(values).map(|s| s.p),
        t_interval: about.t_lo.zip(about.t_hi).map(|(low, high)| Interval::new(low, high)),
        bootstrap: of_mean(cell, values, settings),
        median_interval: median.map_or_else(MedianInterval::default, |i| MedianInterval {
            low: i.lo,
            high: i.hi,
            coverage: Some(i.coverage),
        }),
        outliers: outliers(values, &run_ids),
        drift: drift(cell, values, runs, settings, metric.ratio_scale),
        request_percentiles: pooled(cell, metric, runs, settings, of_requests),
        flags,
        run_ids,
        values: values.to_vec(),
    }
}

/// Reason codes for what a reader will find absent, or must read with care.
fn flags(sample: &Sample, metric: &Metric, runs: &[RunInputs<'_>]) -> Vec<String> {
    let values = sample.values();
    let mut flags = Vec::new();
    match values.len() {
        0 => flags.push("N2"),
        1 => flags.push("N1"),
        _ if values.iter().all(|v| *v == values[0]) => flags.push("constant"),
        _ => {}
    }
    if sample.n_infinite() > 0 {
        flags.push("N3");
    }
    if metric.is_positive() && values.iter().any(|v| *v <= 0.0) {
        flags.push("N4");
    }
    if !values.is_empty() && !stats::is_supported(values.len(), 0.99) {
        flags.push(UNSUPPORTED);
    }
    if fewest_requests(metric, runs).is_some_and(|(p, n)| !stats::is_supported(n, p)) {
        flags.push(FEW_REQUESTS);
    }
    flags.into_iter().map(str::to_owned).collect()
}

/// Of a metric that is a percentile far from the middle: that percentile, and the fewest requests that a run has behind it. `None` where no
/// run says how many.
fn fewest_requests(metric: &Metric, runs: &[RunInputs<'_>]) -> Option<(f64, usize)> {
    Some((tail_of(&metric.name)?, runs.iter().filter_map(requests).min()?))
}

/// Requests behind a per-request figure of a run, as counted, else as stated.
fn requests(run: &RunInputs<'_>) -> Option<usize> {
    // A stated count is a whole number. A fraction of a request is no request.
    run.counted.or_else(|| run.stated.map(|n| n as usize))
}

fn of_mean(cell: &CellValues, values: &[f64], settings: &Settings) -> Option<BootstrapReport> {
    let job = settings.job(format!("{}|{}|{}|mean", cell.model, cell.metric, cell.environment));
    let all = bootstrap::one_sample(values, bootstrap::Statistic::Mean, &job)?;
    Some(BootstrapReport {
        statistic: "mean",
        method: all.bca.method.to_owned(),
        low: all.bca.lo,
        high: all.bca.hi,
        resamples: settings.resamples,
        flags: all.bca.flags.iter().map(|f| (*f).to_owned()).collect(),
    })
}

fn outliers(values: &[f64], run_ids: &[String]) -> OutlierReport {
    let Some(found) = stats::outliers(values) else { return OutlierReport::default() };
    let ids = |places: &[usize]| places.iter().filter_map(|i| run_ids.get(*i).cloned()).collect();
    OutlierReport {
        three_sigma: ids(&found.three_sigma),
        mad: ids(&found.modified_z),
        tukey: ids(&found.tukey),
        three_sigma_can_fire: found.three_sigma_can_fire,
        z_bound: Some(found.z_bound),
    }
}

/// Order means order of time: without start times there is none, and every figure here is absent.
fn drift(
    cell: &CellValues,
    values: &[f64],
    runs: &[RunInputs<'_>],
    settings: &Settings,
    ratio_scale: bool,
) -> DriftReport {
    let absent = DriftReport {
        kendall_tau: None,
        p: None,
        method: None,
        drift_pct: None,
        sen_slope: None,
        lag1: None,
        effective_n: None,
        autocorrelated: false,
        t_interval_effective: None,
    };
    if runs.len() != cell.values.len() || runs.iter().any(|run| !run.started) {
        return absent;
    }
    let Some(found) = stats::drift(values, settings.confidence) else { return absent };
    let effective = found.t_interval_eff.map(|(low, high)| Interval::new(low, high));
    DriftReport {
        kendall_tau: Some(found.tau_b),
        p: Some(found.p),
        method: Some(found.method.word().to_owned()),
        drift_pct: found.drift_pct.filter(|_| ratio_scale),
        sen_slope: Some(found.sen_slope),
        lag1: Some(found.lag1),
        effective_n: Some(found.n_eff),
        autocorrelated: found.autocorrelated,
        t_interval_effective: effective,
    }
}

/// Random draws of one hierarchical bootstrap beyond which there is no interval: some seconds of one processor. Values of requests stay far
/// below, at 200,000 in a cell. Gaps between tokens of some hundred detailed runs do not.
const MOST_DRAWS: usize = 2_000_000_000;

/// The finite ones of these, which are most often all: gaps between tokens are the largest part of an analysis, and are not copied.
pub(super) fn finite(values: &[f64]) -> Cow<'_, [f64]> {
    match values.iter().all(|v| v.is_finite()) {
        true => Cow::Borrowed(values),
        false => values.iter().copied().filter(|v| v.is_finite()).collect(),
    }
}

/// Percentiles over all requests, for the bare per-request metrics only: a percentile of percentiles says nothing.
fn pooled(
    cell: &CellValues,
    metric: &Metric,
    runs: &[RunInputs<'_>],
    settings: &Settings,
    of_requests: OfRequests,
) -> Vec<RequestPercentile> {
    let is_bare = metric.base() == metric.name && metric.direction == Direction::LowerIsBetter;
    if of_requests == OfRequests::Nothing || !is_bare {
        return Vec::new();
    }
    let requests: Vec<Cow<'_, [f64]>> =
        runs.iter().filter_map(|run| run.requests).map(finite).filter(|values| !values.is_empty()).collect();
    let counts: Vec<usize> = requests.iter().map(|run| run.len()).collect();
    let total: usize = counts.iter().sum();
    if total < 2 {
        return Vec::new();
    }
    let estimands = POOLED.map(|(_, p)| Estimand::of(&counts, p));
    let resampled = estimands.contains(&Some(Estimand::AllRequests));
    let (found, flag) = if !resampled {
        (None, None)
    } else if total.saturating_mul(settings.resamples) > MOST_DRAWS {
        (None, Some("too_many_to_resample"))
    } else if of_requests == OfRequests::Point {
        (None, Some(FLAG_LATER))
    } else {
        let job = settings.job(format!("{}|{}|{}|request_percentiles", cell.model, cell.metric, cell.environment));
        // The longest job of all: shared out, so that no core waits for the last one. What is drawn does not depend on it.
        let job = bootstrap::Job { threads: 0, ..job };
        (hierarchical::percentiles(&requests, &POOLED.map(|(_, p)| p), &job), None)
    };
    let ps = POOLED.map(|(_, p)| p);
    let mut all: Vec<f64> = Vec::with_capacity(total);
    let mut of_run = |values: &[f64]| {
        let start = all.len();
        all.extend_from_slice(values);
        stats::quantiles_and_max(&mut all[start..], ps).0
    };
    let of_runs: Vec<[f64; POOLED.len()]> = requests.iter().map(|values| of_run(values)).collect();
    let (estimates, _) = stats::quantiles_and_max(&mut all, ps);
    let report = |(place, (percentile, _)): (usize, (&'static str, f64))| {
        let own: Vec<f64> = of_runs.iter().map(|of_run| of_run[place]).collect();
        let about = stats::describe(&Sample::new(own.iter().copied()), settings.confidence);
        let drawn = found.as_ref().and_then(|found| found.get(place));
        let interval = match estimands[place] {
            None => None,
            Some(Estimand::AllRequests) => drawn.map(|drawn| Interval::new(drawn.lo, drawn.hi)),
            Some(Estimand::MeanOfRuns) => about.t_lo.zip(about.t_hi).map(|(low, high)| Interval::new(low, high)),
        };
        let flags = match estimands[place] {
            None if requests.len() < 2 => vec!["one_run"],
            None => vec![UNSUPPORTED],
            Some(Estimand::AllRequests) => {
                drawn.map_or_else(Vec::new, |d| d.flags.clone()).into_iter().chain(flag).collect()
            }
            Some(Estimand::MeanOfRuns) => Vec::new(),
        };
        RequestPercentile {
            percentile,
            estimate: estimates[place],
            mean_of_runs: about.mean.unwrap_or(estimates[place]),
            interval,
            interval_of: interval.and(estimands[place]).map(Estimand::word),
            median_of_runs: stats::quantile_sorted(&stats::sorted(&own), 0.5),
            requests: total,
            runs: requests.len(),
            flags: flags.into_iter().map(str::to_owned).collect(),
        }
    };
    POOLED.into_iter().enumerate().map(report).collect()
}
