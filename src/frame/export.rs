//! The tables people download: `runs.csv`, one row a run, and `requests.parquet`, one row a request and metric.
//!
//! In:  the finished analysis, the frames.  Out: bytes.
//! Not here: any new number.

use std::collections::BTreeSet;

use polars::prelude::*;

use super::measures::{Frames, broken};
use crate::error::Error;
use crate::model::Metric;
use crate::verdict::report::RunReport;

/// Keeps a spreadsheet from reading a cell as a formula: a leading `=`, `+`, `-`, `@`, tab or return gets an apostrophe before it.
pub fn neutral(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() }
}

/// One row a run, the columns of the table format, then every metric by catalogue order. Absent is empty.
pub fn runs_csv(runs: &[RunReport]) -> Result<Vec<u8>, Error> {
    let names: BTreeSet<&str> = runs.iter().flat_map(|run| run.metrics.keys().map(String::as_str)).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| (Metric::find(name).map_or(usize::MAX, |m| m.rank()), *name));

    let text = |name: &str, of: &dyn Fn(&RunReport) -> Option<String>| {
        Column::new(name.into(), runs.iter().map(|run| of(run).map(|t| neutral(&t))).collect::<Vec<_>>())
    };
    let mut columns = vec![
        text("campaign", &|r| Some(r.campaign.clone())),
        text("id", &|r| Some(r.id.clone())),
        text("environment", &|r| Some(r.environment.clone())),
        text("model", &|r| Some(r.model.clone())),
        text("workload", &|r| Some(r.workload.clone())),
        Column::new("repeat".into(), runs.iter().map(|r| r.repeat).collect::<Vec<_>>()),
        Column::new("block".into(), runs.iter().map(|r| r.block).collect::<Vec<_>>()),
        text("started_utc", &|r| r.started_utc.map(|at| at.iso())),
        text("ended_utc", &|r| r.ended_utc.map(|at| at.iso())),
        text("status", &|r| Some(r.status.word().to_owned())),
        Column::new("exit_code".into(), runs.iter().map(|r| r.setup.exit_code).collect::<Vec<_>>()),
        text("model_id", &|r| r.setup.model_id.clone()),
        text("flags", &|r| Some(r.flags.join(" "))),
        text("source", &|r| Some(r.source.path.clone())),
    ];
    for name in names {
        let values: Vec<Option<f64>> = runs.iter().map(|run| run.metrics.get(name).copied().flatten()).collect();
        columns.push(Column::new(name.into(), values));
    }
    let mut frame = DataFrame::new(runs.len(), columns).map_err(broken)?;
    let mut bytes = Vec::new();
    CsvWriter::new(&mut bytes).n_threads(1).finish(&mut frame).map_err(broken)?;
    Ok(bytes)
}

/// Every request value, with the unit and the direction of each metric in the file's key-value metadata.
pub fn requests_parquet(frames: &Frames) -> Result<Vec<u8>, Error> {
    let metrics = frames.requests.column("metric").and_then(|c| c.str().cloned()).map_err(broken)?;
    let names: BTreeSet<&str> = metrics.iter().flatten().collect();
    let mut facts = vec![("schema".to_owned(), "sparkbench.requests/1".to_owned())];
    for metric in names.into_iter().filter_map(Metric::find) {
        facts.push((format!("{}.unit", metric.name), metric.unit.to_owned()));
    }
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Zstd(None))
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(facts)))
        .set_parallel(false)
        .finish(&mut frames.requests.clone())
        .map_err(broken)?;
    Ok(bytes)
}
