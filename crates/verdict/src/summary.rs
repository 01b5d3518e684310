//! From the requests of a run to the figures of the run: mean, percentiles and maximum of each per-request metric.
//!
//! In:  a run with its series.  Out: the same run with one more reading per statistic.
//! Not here: anything across runs. Requests of one run share a server and a temperature and are never replicates of an environment.

use sparkbench_model::{Metric, Origin, Reading, Run};
use sparkbench_stats as stats;

/// Statistics taken of each series. The bare name is the mean.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.50), ("p90", 0.90), ("p95", 0.95), ("p99", 0.99)];

/// Adds what the requests say and the source did not already report. A reported figure is kept as it is: it is the source's word.
pub fn of_requests(run: &mut Run) {
    let mut more = Vec::new();
    for series in &run.series {
        if Metric::find(&series.metric).is_none() {
            continue;
        }
        let mut values: Vec<f64> = series.values.iter().copied().filter(|v| v.is_finite()).collect();
        if values.is_empty() {
            continue;
        }
        let mean = stats::mean(&values);
        let (percentiles, max) = stats::quantiles_and_max(&mut values, PERCENTILES.map(|(_, p)| p));
        let mut add = |suffix: &str, value: f64| {
            let metric = if suffix.is_empty() { series.metric.clone() } else { format!("{}_{suffix}", series.metric) };
            if run.reading(&metric).is_none() {
                let origin = Origin { rule: "summary.of_requests", ..series.origin.clone() };
                more.push(Reading { metric, value, decimals: None, origin });
            }
        };
        add("", mean);
        for ((suffix, _), value) in PERCENTILES.into_iter().zip(percentiles) {
            add(suffix, value);
        }
        add("max", max);
    }
    run.readings.extend(more);
    temperatures(run);
}

/// Start and end temperatures are settings of the launch and figures of the run at once. The figures are made where a source gave only settings.
fn temperatures(run: &mut Run) {
    let pairs = [("gpu_temp_start_c", run.setup.start_temp_c), ("gpu_temp_end_c", run.setup.end_temp_c)];
    for (metric, value) in pairs {
        if let (Some(value), None) = (value, run.reading(metric)) {
            let origin = Origin { file: run.source.path.clone(), line: None, field: None, rule: "summary.temperature" };
            run.readings.push(Reading { metric: metric.to_owned(), value, decimals: None, origin });
        }
    }
}
