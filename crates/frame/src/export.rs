//! Tables for download: runs as CSV and Parquet, comparisons and requests as Parquet, and the units of their columns.
//!
//! In:  the finished analysis, the frames.  Out: bytes.
//! Not here: any new number, what a column means (see `model::column`).
//!
//! A Parquet file has no place of its own for a unit, and the writer of polars gives columns no metadata. So each file carries
//! `sparkbench.columns` as JSON among its key-value metadata. It states for each column the unit, which way is better, and the meaning. A
//! file with rows of several metrics carries the same for metrics as `sparkbench.metrics`.

use std::collections::BTreeSet;

use polars_core::prelude::*;
use polars_io::parquet::write::{KeyValueMetadata, ParquetCompression, ParquetWriter};

use super::flat::{self, Cell, Flat};
use super::measures::{REQUEST_COLUMNS, Requests, broken};
use sparkbench_model::column::{Kind, Meaning, meaning};
use sparkbench_model::{Extra, ExtraValue, Instant, Metric};
use sparkbench_text::error::Error;
use sparkbench_text::escape::cell as neutral;
use sparkbench_verdict::report::{Analysis, RunReport};

/// One row for each run, the columns of the table format, then every metric by catalogue order. Absent is empty.
///
/// # Errors
/// When it cannot be written.
pub fn runs_csv(runs: &[RunReport]) -> Result<Vec<u8>, Error> {
    const LABELS: [&str; 14] = [
        "campaign",
        "id",
        "environment",
        "model",
        "workload",
        "repeat",
        "block",
        "started_utc",
        "ended_utc",
        "status",
        "exit_code",
        "model_id",
        "flags",
        "source",
    ];
    let fault = |cause: csv::Error| Error::archive("the runs cannot be written as CSV").because(cause);
    let names: BTreeSet<&str> = runs.iter().flat_map(|run| run.metrics.keys().map(String::as_str)).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| (Metric::find(name).map_or(usize::MAX, |m| m.rank()), *name));

    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(LABELS.iter().chain(&names).map(|name| neutral(name))).map_err(fault)?;
    for run in runs {
        let whole = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        let moment = |at: Option<Instant>| at.map(|at| at.iso()).unwrap_or_default();
        let labels: [String; LABELS.len()] = [
            neutral(&run.campaign),
            neutral(&run.id),
            neutral(&run.environment),
            neutral(&run.model),
            neutral(&run.workload),
            whole(run.repeat.map(i64::from)),
            whole(run.block.map(i64::from)),
            moment(run.started_utc),
            moment(run.ended_utc),
            run.status.word().to_owned(),
            whole(run.setup.exit_code),
            run.setup.model_id.as_deref().map(neutral).unwrap_or_default(),
            neutral(&run.flags.join(" ")),
            neutral(&run.source.path),
        ];
        // As JSON writes them: the shortest digits that are read as the same figure, as in `analysis.json`.
        let figure =
            |name: &&str| run.metrics.get(*name).copied().flatten().map(|value| serde_json::json!(value).to_string());
        writer
            .write_record(labels.into_iter().chain(names.iter().map(|name| figure(name).unwrap_or_default())))
            .map_err(fault)?;
    }
    writer.into_inner().map_err(|cause| Error::archive("the runs cannot be written as CSV").detail(cause.to_string()))
}

/// Every request value, one row for each request and metric.
///
/// # Errors
/// When the file cannot be written.
pub fn requests_parquet(requests: &mut Requests) -> Result<Vec<u8>, Error> {
    let metrics = requests.0.column("metric").and_then(|c| c.str().cloned()).map_err(broken)?;
    let names: BTreeSet<&str> = metrics.iter().flatten().collect();
    let columns = requests.0.get_column_names().into_iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let mut facts = vec![
        ("schema".to_owned(), "sparkbench.requests/1".to_owned()),
        ("sparkbench.columns".to_owned(), described(columns.iter().map(String::as_str))),
        ("sparkbench.metrics".to_owned(), described(names.iter().copied())),
    ];
    for metric in names.into_iter().filter_map(Metric::find) {
        facts.push((format!("{}.unit", metric.name), metric.unit.to_owned()));
    }
    parquet(&mut requests.0, facts)
}

/// Columns of the table of what is no metric.
const EXTRA_COLUMNS: [&str; 10] = ["run", "extra", "number", "text", "unit", "why", "file", "line", "field", "rule"];

/// Figures and words of the runs that are no metric, one a row, each with its place.
///
/// # Errors
/// When the file cannot be written.
pub fn extras_parquet(runs: &[RunReport]) -> Result<Vec<u8>, Error> {
    let rows: Vec<(&str, &Extra)> =
        runs.iter().flat_map(|run| run.extras.iter().map(|extra| (run.id.as_str(), extra))).collect();
    let texts = |of: &dyn Fn(&str, &Extra) -> Option<String>| -> Vec<Option<String>> {
        rows.iter().map(|(run, extra)| of(run, extra)).collect()
    };
    let [run, name, number, text, unit, why, file, line, field, rule] = EXTRA_COLUMNS;
    let columns = vec![
        Column::new(run.into(), texts(&|run, _| Some(run.to_owned()))),
        Column::new(name.into(), texts(&|_, extra| Some(extra.name.clone()))),
        Column::new(number.into(), rows.iter().map(|(_, extra)| extra.as_number()).collect::<Vec<_>>()),
        Column::new(
            text.into(),
            texts(&|_, extra| match &extra.value {
                ExtraValue::Text(text) => Some(text.clone()),
                ExtraValue::Number(_) => None,
            }),
        ),
        Column::new(unit.into(), texts(&|_, extra| Some(extra.unit.clone()))),
        Column::new(why.into(), texts(&|_, extra| extra.why.map(str::to_owned))),
        Column::new(file.into(), texts(&|_, extra| Some(extra.origin.file.clone()))),
        Column::new(line.into(), rows.iter().map(|(_, extra)| extra.origin.line).collect::<Vec<_>>()),
        Column::new(field.into(), texts(&|_, extra| extra.origin.field.clone())),
        Column::new(rule.into(), texts(&|_, extra| Some(extra.origin.rule.to_owned()))),
    ];
    let mut frame = DataFrame::new(rows.len(), columns).map_err(broken)?;
    let facts = vec![
        ("schema".to_owned(), "sparkbench.extras/1".to_owned()),
        ("sparkbench.columns".to_owned(), described(EXTRA_COLUMNS.into_iter())),
    ];
    parquet(&mut frame, facts)
}

/// Every run, with the columns of `analysis.json`.
///
/// # Errors
/// When the file cannot be written.
pub fn runs_parquet(analysis: &Analysis) -> Result<Vec<u8>, Error> {
    table("sparkbench.runs/1", &flat::runs(analysis)?)
}

/// Every comparison with its verdict, with the columns of `analysis.json`.
///
/// # Errors
/// When the file cannot be written.
pub fn comparisons_parquet(analysis: &Analysis) -> Result<Vec<u8>, Error> {
    table("sparkbench.comparisons/1", &flat::comparisons(analysis)?)
}

fn table(schema: &str, flat: &Flat) -> Result<Vec<u8>, Error> {
    let meanings = flat.meanings();
    let columns = flat
        .columns
        .iter()
        .zip(&meanings)
        .enumerate()
        .map(|(place, (name, meaning))| column(flat, place, name, meaning.kind))
        .collect();
    let mut frame = DataFrame::new(flat.rows.len(), columns).map_err(broken)?;
    let about = flat.columns.iter().map(String::as_str).zip(&meanings).map(|(name, meaning)| (name, meaning.clone()));
    let facts = vec![("schema".to_owned(), schema.to_owned()), ("sparkbench.columns".to_owned(), as_json(about))];
    parquet(&mut frame, facts)
}

fn column(flat: &Flat, place: usize, name: &str, kind: Kind) -> Column {
    match kind {
        Kind::Text | Kind::Moment => {
            let text = |cell: &Cell| match cell {
                Cell::Empty => None,
                Cell::Text(text) => Some(text.clone()),
                Cell::Number(value) => Some(value.to_string()),
                Cell::Flag(flag) => Some(flag.to_string()),
            };
            Column::new(name.into(), flat.column(place).map(text).collect::<Vec<_>>())
        }
        Kind::Boolean => {
            let flag = |cell: &Cell| if let Cell::Flag(flag) = cell { Some(*flag) } else { None };
            Column::new(name.into(), flat.column(place).map(flag).collect::<Vec<_>>())
        }
        Kind::Number | Kind::Integer => {
            let number = |cell: &Cell| if let Cell::Number(value) = cell { Some(*value) } else { None };
            Column::new(name.into(), flat.column(place).map(number).collect::<Vec<_>>())
        }
    }
}

fn parquet(frame: &mut DataFrame, facts: Vec<(String, String)>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Zstd(None))
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(facts)))
        .set_parallel(false)
        .finish(frame)
        .map_err(broken)?;
    Ok(bytes)
}

fn described<'a>(names: impl Iterator<Item = &'a str>) -> String {
    as_json(names.filter_map(|name| Some((name, meaning(name)?))))
}

pub(super) fn as_json<'a>(columns: impl Iterator<Item = (&'a str, Meaning)>) -> String {
    let described: serde_json::Map<String, serde_json::Value> = columns
        .map(|(name, meaning)| {
            let Meaning { kind, unit, direction, about } = meaning;
            let value = serde_json::json!({
                "type": kind.word(), "unit": unit, "direction": direction, "definition": about,
            });
            (name.to_owned(), value)
        })
        .collect();
    serde_json::Value::Object(described).to_string()
}

/// `units.csv`: for every column of every table what its cells are, the unit, which way is better, and what it says. `others`: tables that
/// are made elsewhere, by their path with the names of their columns.
///
/// # Errors
/// When it cannot be written.
pub fn units_csv(analysis: &Analysis, others: &[(&str, Vec<String>)]) -> Result<Vec<u8>, Error> {
    let fault = |cause: csv::Error| Error::archive("the units cannot be written as CSV").because(cause);
    let mut rows: Vec<(String, String, Meaning)> = Vec::new();
    for (path, columns) in others {
        for name in columns {
            let unknown = || Meaning { kind: Kind::Text, unit: "", direction: "", about: "see analysis.json".into() };
            rows.push(((*path).to_owned(), name.clone(), meaning(name).unwrap_or_else(unknown)));
        }
    }
    for name in REQUEST_COLUMNS {
        rows.extend(meaning(name).map(|meaning| ("data/requests.parquet".to_owned(), name.to_string(), meaning)));
    }
    for name in EXTRA_COLUMNS {
        rows.extend(meaning(name).map(|meaning| ("data/extras.parquet".to_owned(), name.to_owned(), meaning)));
    }
    for (files, flat) in [
        (&["data/comparisons.parquet", "data/report.xlsx#summary"][..], flat::comparisons(analysis)?),
        (&["data/report.xlsx#groups"][..], flat::groups(analysis)?),
        (&["data/runs.parquet", "data/report.xlsx#runs"][..], flat::runs(analysis)?),
    ] {
        for file in files {
            let columns = flat.columns.iter().cloned().zip(flat.meanings());
            rows.extend(columns.map(|(name, meaning)| ((*file).to_owned(), name, meaning)));
        }
    }
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(["file", "column", "type", "unit", "direction", "definition"]).map_err(fault)?;
    for (file, name, meaning) in rows {
        let cells = [file.as_str(), &name, meaning.kind.word(), meaning.unit, meaning.direction, &meaning.about];
        writer.write_record(cells.map(neutral)).map_err(fault)?;
    }
    writer.into_inner().map_err(|cause| Error::archive("the units cannot be written as CSV").detail(cause.to_string()))
}
