//! Requests of one run, as they follow each other.
//!
//! In:  the values of one metric, request by request.  Out: drawings with a table of bounded length.
//! Not here: requests of several runs (see `cell_figures`).

use super::{FigureView, MOST_DRAWN, MOST_ROWS};
use crate::chart::run_order::{Run, RunOrder, RunOrderArm};
use crate::chart::thin::{extremes, stretch};
use crate::chart::{Layouts, Table, ecdf};
use crate::page::index::Site;
use crate::page::labels;
use crate::page::number;
use sparkbench_model::within;
use sparkbench_verdict::report::RunReport;

/// Steps of a distribution that `chart` draws.
pub(crate) const MOST_STEPS: usize = ecdf::STEPS;

/// Median and 90th percentile of the requests, where the run reports them.
fn shares(metric: &str, run: &RunReport) -> Option<String> {
    let of = |part: &str| run.metrics.get(&format!("{metric}_{part}")).copied().flatten().map(number::plain);
    let (half, most) = (of("p50")?, of("p90")?);
    Some(format!(
        "Half of the requests take {half}\u{a0}{unit} or less, nine in ten {most}\u{a0}{unit} or less.",
        unit = labels::unit(metric)
    ))
}

/// Between which values the requests lie.
fn between(values: &[(f64, f64)], metric: &str) -> String {
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, v)| (low.min(*v), high.max(*v)));
    let (n, unit) = (number::count(values.len() as u64), labels::unit(metric));
    format!("{n} requests between {} and {}\u{a0}{unit}.", number::plain(low), number::plain(high))
}

/// Requests of one run in the order they were measured.
pub(crate) fn sequence(site: &Site<'_>, id: &str, metric: &str, run: &RunReport, values: &[f64]) -> Option<FigureView> {
    let finite: Vec<(f64, f64)> =
        values.iter().enumerate().filter(|(_, v)| v.is_finite()).map(|(k, v)| ((k + 1) as f64, *v)).collect();
    if finite.len() < 2 {
        return None;
    }
    let stretch = stretch(finite.len(), MOST_DRAWN);
    let runs = extremes(&finite, stretch)
        .into_iter()
        .map(|(x, y)| Run { label: format!("request {x}"), x, y, ..Run::default() })
        .collect();
    let chart = RunOrder {
        title: format!("{} in the order of the requests", labels::metric(metric)),
        finding: Some(shares(metric, run).unwrap_or_else(|| between(&finite, metric))),
        axis: within(&labels::metric(metric)),
        unit: labels::unit(metric).to_owned(),
        x_axis: "request".into(),
        x_step: "request".into(),
        noun: "request".into(),
        interleaved: false,
        arms: vec![RunOrderArm { label: run.environment.clone(), runs, drift: None }],
    };
    let table = request_table(&chart.title, labels::unit(metric), &finite);
    let mut view = FigureView::compact(id, chart.draw_as(id, Layouts::Narrow, table));
    if stretch > 1 {
        view.note = Some(format!(
            "Drawn: the least and the greatest of every {stretch} of {} requests in a row: {}.",
            number::count(finite.len() as u64),
            whole_series(site)
        ));
    }
    Some(view)
}

/// Requests one by one, or the least and the greatest of each segment of them.
fn request_table(title: &str, unit: &str, values: &[(f64, f64)]) -> Table {
    let step = values.len().div_ceil(MOST_ROWS);
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    if step == 1 {
        let mut table = Table::new(format!("{title}{unit}"), ["Request", "Value"]);
        for (k, value) in values {
            table.row([number::fixed_or_plain(*k), number::plain(*value)], None);
        }
        return table;
    }
    let mut table = Table::new(format!("{title}{unit}, {step} requests a row"), ["Requests", "Least", "Greatest"]);
    for part in values.chunks(step) {
        let (Some(first), Some(last)) = (part.first(), part.last()) else { continue };
        let ends = extremes(part, part.len());
        let least = ends.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
        let most = ends.iter().map(|(_, v)| *v).fold(f64::NEG_INFINITY, f64::max);
        let name = format!("{} to {}", number::fixed_or_plain(first.0), number::fixed_or_plain(last.0));
        table.row([name, number::plain(least), number::plain(most)], None);
    }
    table
}

/// Place of the values that a drawing leaves out.
pub(crate) fn whole_series(site: &Site<'_>) -> &'static str {
    if site.extras.extra_files.iter().any(|file| file.page.path == "data/requests.parquet") {
        "every value is in data/requests.parquet"
    } else {
        "every value is in the files of the run"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_table_of_requests_has_every_request_in_some_row() {
        let values: Vec<(f64, f64)> = (1..=1_001).map(|k| (f64::from(k), f64::from(k % 7))).collect();
        let table = request_table("T", "ms", &values);
        assert!(table.rows.len() <= MOST_ROWS);
        assert_eq!(table.rows[0].cells[0], "1 to 26");
        assert!(table.rows.last().unwrap().cells[0].ends_with("1\u{202f}001"));
        assert!(table.rows[0].cells[1..] == ["0", "6"]);
    }
}
