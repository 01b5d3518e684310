//! A table of runs in JSON: a list of flat objects, or an object a line.
//!
//! In:  text.  Out: one partial run for each object, as for a row of CSV.
//! Not here: what a key means (see `columns`).

use std::collections::BTreeMap;

use super::columns::{self, TableColumns};
use super::row;
use crate::at::At;
use crate::json::{self, Kind};
use crate::{Head, Outline, Parsed, Record, SourceFile, sheet};
use sparkbench_text::error::Error;

/// Ending of a file with an object a line.
const LINES: &str = ".jsonl";

/// True for a list of flat objects, or lines of them, whose keys are those of a table of runs.
pub(super) fn is(head: &Head<'_>) -> bool {
    let rows = head.list().or_else(|| head.object().filter(|_| head.name.ends_with(LINES)));
    rows.is_some_and(|row| columns::is_rows(&flat(row)))
}

/// Keys whose values are no lists or objects.
fn flat<'o>(row: &'o Outline<'_>) -> Vec<&'o str> {
    let is_flat = |key: &&str| matches!(row.get(key), Some(Outline::Text(_) | Outline::Bare(_)));
    row.keys().into_iter().filter(is_flat).collect()
}

/// Reads all rows.
pub(super) fn parse(file: &SourceFile<'_>, text: &str) -> Result<Parsed, Error> {
    let mut parsed = Parsed::default();
    let mut nodes = Vec::new();
    for node in json::documents(text, &[]).take(sheet::RUNS) {
        match node {
            Ok(node) => nodes.push(node),
            Err(error) => parsed.left_out.push(error),
        }
    }
    let roots: Vec<At<'_>> = nodes.iter().map(At::root).collect();
    let mut rows: Vec<At<'_>> = Vec::new();
    for root in &roots {
        match root.items() {
            Ok(items) => rows.extend(items.take((sheet::RUNS + 1).saturating_sub(rows.len()))),
            Err(_) => rows.push(*root),
        }
    }
    let mut names: Vec<&str> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (key, _) in rows.iter().filter_map(|row| row.entries().ok()).flatten() {
        places.entry(key).or_insert_with(|| {
            names.push(key);
            names.len() - 1
        });
    }
    let mut columns = TableColumns::new(&names)?;
    if rows.len() > sheet::RUNS {
        parsed.notes.push(format!("the file holds more than {} rows. The others are skipped", sheet::RUNS));
    }
    let mut warm_ups = Vec::new();
    for at in rows.iter().take(sheet::RUNS) {
        let entries = match at.entries() {
            Ok(entries) => entries,
            Err(error) => {
                parsed.left_out.push(error);
                continue;
            }
        };
        // Of equal keys the last counts.
        let mut cells: BTreeMap<usize, &str> = BTreeMap::new();
        for (key, value) in entries {
            let Some(place) = places.get(key) else { continue };
            let cell = match &value.node.kind {
                Kind::Null => "",
                Kind::Bool(true) => "true",
                Kind::Bool(false) => "false",
                Kind::Number(digits) => digits,
                Kind::Text(text) => text.as_ref(),
                Kind::List(_) | Kind::Map(_) | Kind::Packed(_) => continue,
            };
            columns.see(*place, cell);
            cells.insert(*place, cell);
        }
        let cells: Vec<(usize, &str)> = cells.into_iter().collect();
        if let Some(note) = row::warm_up(&columns, &cells) {
            if !warm_ups.contains(&note) {
                warm_ups.push(note);
            }
            continue;
        }
        let place = row::RowPlace { line: at.node.line.into(), pointer: Some(at.pointer()) };
        match row::run(file, &place, &columns, &cells) {
            Ok(partial) => parsed.records.push(Record::Run(Box::new(partial))),
            Err(error) => parsed.left_out.push(error),
        }
    }
    parsed.notes.extend(warm_ups);
    parsed.notes.extend(columns.notes());
    Ok(parsed)
}
