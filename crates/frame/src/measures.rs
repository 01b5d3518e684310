//! Two frames hold everything measured: `measures` has a row for each run and metric, `requests` a row for each request and metric.
//!
//! In:  runs.  Out: [`Frames`] and [`Requests`], and the values of each cell in order of time.
//! Not here: what a value means.

use polars_core::prelude::*;

use sparkbench_model::{Run, Series};
use sparkbench_text::error::Error;
use sparkbench_verdict::CellValues;

/// The measured values of an analysis.
#[derive(Debug)]
pub struct Frames {
    /// `campaign, model, workload, environment, metric, run, value`, in order of time within a campaign.
    pub measures: DataFrame,
    ids: Vec<String>,
}

/// `campaign, run, metric, index, value`, in the order of the source: the rows of a run are adjacent. No judgement reads it, only downloads
/// are made of it. It is the largest table, so it is laid out for them and then dropped.
#[derive(Debug)]
pub struct Requests(pub(super) DataFrame);

/// The metric of the gaps between tokens.
const GAPS: &str = "itl_ms";

/// Wraps what polars reports. It can only fail here on shapes that this file builds itself.
pub(super) fn broken(cause: PolarsError) -> Error {
    Error::archive("cannot build a table").because(cause)
}

/// Lays runs out as a frame, without those that failed: they are no repeats. `runs` must be in the wanted order of a cell's values.
///
/// # Errors
/// When polars cannot build it.
pub fn build(runs: &[Run]) -> Result<Frames, Error> {
    let rows: usize = runs.iter().map(|run| run.readings.len()).sum();
    let mut index = Vec::with_capacity(rows);
    let mut value = Vec::with_capacity(rows);
    let (mut campaign, mut model, mut workload, mut environment, mut metric) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (position, run) in (0u32..).zip(runs).filter(|(_, run)| !run.has_failed()) {
        for reading in &run.readings {
            index.push(position);
            value.push(reading.value);
            campaign.push(run.campaign.as_str());
            model.push(run.model.as_str());
            workload.push(run.workload.as_str());
            environment.push(run.environment.as_str());
            metric.push(reading.metric.as_str());
        }
    }
    let measures = DataFrame::new(
        index.len(),
        vec![
            Column::new("campaign".into(), campaign),
            Column::new("model".into(), model),
            Column::new("workload".into(), workload),
            Column::new("environment".into(), environment),
            Column::new("metric".into(), metric),
            Column::new("run".into(), index),
            Column::new("value".into(), value),
        ],
    )
    .map_err(broken)?;
    Ok(Frames { measures, ids: runs.iter().map(|run| run.id.clone()).collect() })
}

pub(super) const REQUEST_COLUMNS: [&str; 5] = ["campaign", "run", "metric", "index", "value"];

/// Series of a run with a value for each request.
pub(super) fn listed(run: &Run) -> impl Iterator<Item = &Series> {
    run.series.iter().filter(|series| series.metric != GAPS)
}

/// One row for each request and metric. Gaps between tokens are left out: a run has as many gaps as tokens, and no row number leads back to
/// a request. At sixty bytes a row they would take most of the memory of an analysis.
///
/// # Errors
/// When polars cannot build it.
pub fn requests(runs: &[Run]) -> Result<Requests, Error> {
    let rows = runs.iter().flat_map(listed).map(|series| series.values.len()).sum();
    let (mut index, mut values) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    // Each series stores the names once, and each row points at them. A copy in each row would be most of the table.
    let (mut campaigns, mut run_ids, mut metrics) = (Vec::new(), Vec::new(), Vec::new());
    let mut of_series: Vec<IdxSize> = Vec::with_capacity(rows);
    for run in runs {
        for series in listed(run) {
            of_series.extend(std::iter::repeat_n(metrics.len() as IdxSize, series.values.len()));
            campaigns.push(run.campaign.as_str());
            run_ids.push(run.id.as_str());
            metrics.push(series.metric.as_str());
            index.extend(0..series.values.len() as u32);
            values.extend(series.values.iter().map(|value| value.is_finite().then_some(*value)));
        }
    }
    let [name_campaign, name_run, name_metric, name_index, name_value] = REQUEST_COLUMNS;
    let names = |name: &str, names: Vec<&str>| Column::new(name.into(), names).take_slice(&of_series).map_err(broken);
    DataFrame::new(
        index.len(),
        vec![
            names(name_campaign, campaigns)?,
            names(name_run, run_ids)?,
            names(name_metric, metrics)?,
            Column::new(name_index.into(), index),
            Column::new(name_value.into(), values),
        ],
    )
    .map(Requests)
    .map_err(broken)
}

impl Frames {
    /// Values by campaign, model, workload, environment and metric. Within a cell in the order of the runs.
    pub fn cells(&self) -> Result<Vec<CellValues>, Error> {
        const KEYS: [&str; 5] = ["campaign", "model", "workload", "environment", "metric"];
        if self.measures.height() == 0 {
            return Ok(Vec::new());
        }
        let grouped = self.measures.group_by_stable(KEYS).map_err(broken)?;
        let runs = self.measures.column("run").and_then(|c| c.u32().cloned()).map_err(broken)?;
        let values = self.measures.column("value").and_then(|c| c.f64().cloned()).map_err(broken)?;
        let text = |key: &str| self.measures.column(key).and_then(|c| c.str().cloned()).map_err(broken);
        let (campaign, model, workload, environment, metric) =
            (text(KEYS[0])?, text(KEYS[1])?, text(KEYS[2])?, text(KEYS[3])?, text(KEYS[4])?);
        let mut cells = Vec::new();
        for group in grouped.get_groups().iter() {
            let rows: Vec<usize> = match group {
                GroupsIndicator::Idx((_, rows)) => rows.iter().map(|row| *row as usize).collect(),
                GroupsIndicator::Slice([first, length]) => (first as usize..first as usize + length as usize).collect(),
            };
            let Some(first) = rows.first().copied() else { continue };
            let word = |column: &StringChunked| column.get(first).unwrap_or_default().to_owned();
            cells.push(CellValues {
                campaign: word(&campaign),
                model: word(&model),
                workload: word(&workload),
                environment: word(&environment),
                metric: word(&metric),
                run_ids: rows
                    .iter()
                    .map(|row| runs.get(*row).and_then(|run| self.ids.get(run as usize)).cloned().unwrap_or_default())
                    .collect(),
                values: rows.iter().map(|row| values.get(*row).unwrap_or(f64::NAN)).collect(),
            });
        }
        Ok(cells)
    }
}
