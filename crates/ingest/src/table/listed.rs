//! A table of runs in JSON: flat objects in a list, an object a line, or such rows within an object that says what they share.
//!
//! In:  text.  Out: one partial run for each row, as for a row of CSV.
//! Not here: what a key means (see `columns`).
//!
//! Within an object, rows are the items of a list and the members of an object whose keys are numbers:
//! `"concurrency": {"1": {..}, "8": {..}}`. Each has the labels around it. What was measured around rows is a row too, unless they are its
//! repeats.

use std::collections::BTreeMap;

use super::columns::{self, TableColumns};
use super::row;
use crate::at::At;
use crate::json::{self, Kind};
use crate::{Head, Outline, Parsed, Record, SourceFile, sheet};
use sparkbench_text::error::Error;

/// Ending of a file with an object a line.
const LINES: &str = ".jsonl";

/// Keys of an object that holds one figure several times: `"ttft_ms": {"mean": 46.7, "stdev": 24.0}`.
const STATISTICS: &[&str] = &["mean", "avg", "average", "median", "p50", "p90", "p95", "p99", "max"];

/// What else stands beside these.
const BESIDE_STATISTICS: &[&str] = &["std", "stdev", "sd", "min", "n", "count", "runs", "values", "samples"];

/// Name of the cell that holds a key by which figures are told apart: `"generation_tok_s": {"short": 62.9, "long": 56.8}`.
const KEY: &str = "scenario";

/// Name and text of each cell.
type Cells = Vec<(String, String)>;

/// One row and where it stands.
struct Row {
    line: u64,
    pointer: String,
    cells: Cells,
    /// Those of its cells that rows within it have too.
    labels: Cells,
}

/// True for a list of objects, lines of them, or an object around such rows, whose keys are those of a table of runs.
pub(super) fn is(head: &Head<'_>) -> bool {
    head.outline().is_some_and(|outline| match outline {
        Outline::List(Some(row)) => is_row(row, &[]) || holds_rows(row, &[]),
        row => head.name.ends_with(LINES) && is_row(row, &[]) || holds_rows(row, &[]),
    })
}

/// Whether an object is a row beside the labels around it.
fn is_row(row: &Outline<'_>, around: &[String]) -> bool {
    let own = own_keys(row);
    let names: Vec<&str> = around.iter().chain(&own).map(String::as_str).collect();
    columns::has_figure(own.iter().map(String::as_str)) && columns::is_rows(&names)
}

/// Whether rows stand within an object.
fn holds_rows(outline: &Outline<'_>, around: &[String]) -> bool {
    let Outline::Map(entries) = outline else { return false };
    let own = own_keys(outline).into_iter().filter(|name| columns::is_label(name));
    let around: Vec<String> = around.iter().cloned().chain(own).collect();
    let is = |row: &Outline<'_>, around: &[String]| is_row(row, around) || holds_rows(row, around);
    entries.iter().any(|(key, value)| match value {
        Outline::List(Some(row)) => is(row, &around),
        Outline::Map(_) if is_number(key) => is(value, &around),
        Outline::Map(members)
            if parts_a_figure(
                key,
                members.iter().map(|(name, value)| (*name, !value.is_map() && !value.is_list())),
            ) =>
        {
            columns::is_rows(&around.iter().map(String::as_str).chain([KEY, key]).collect::<Vec<_>>())
        }
        Outline::Map(members) => {
            let beside: Vec<String> = around.iter().cloned().chain([(*key).to_owned()]).collect();
            members.iter().any(|(name, member)| is_number(name) && is(member, &beside)) || holds_rows(value, &around)
        }
        _ => false,
    })
}

/// Names of the cells of an object: its keys without lists and objects, and those of its figures.
fn own_keys(row: &Outline<'_>) -> Vec<String> {
    let Outline::Map(entries) = row else { return Vec::new() };
    let of = |(key, value): &(&str, Outline<'_>)| match value {
        Outline::Text(_) | Outline::Bare(_) => vec![(*key).to_owned()],
        Outline::Map(_) => {
            let statistics = value.keys().into_iter().filter(|name| STATISTICS.contains(name));
            statistics.map(|name| format!("{key}/{name}")).filter(|name| columns::is_figure(name)).collect()
        }
        Outline::List(_) => Vec::new(),
    };
    entries.iter().flat_map(of).collect()
}

/// Reads all rows.
pub(super) fn parse(file: &SourceFile<'_>, text: &str) -> Result<Parsed, Error> {
    let mut parsed = Parsed::default();
    let mut rows: Vec<Row> = Vec::new();
    for node in json::documents(text, &[]).take(sheet::RUNS) {
        match node {
            Ok(node) => top(&At::root(&node), file.path.ends_with(LINES), &mut rows, &mut parsed),
            Err(error) => parsed.left_out.push(error),
        }
    }
    let mut names: Vec<&str> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in rows.iter().flat_map(|row| &row.cells) {
        places.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        });
    }
    let mut columns = TableColumns::new(&names)?;
    if rows.len() > sheet::RUNS {
        parsed.notes.push(format!("the file holds more than {} rows. The others are skipped", sheet::RUNS));
    }
    let mut warm_ups = Vec::new();
    for row in rows.iter().take(sheet::RUNS) {
        // Of equal keys the last counts.
        let cells: BTreeMap<usize, &str> =
            row.cells.iter().filter_map(|(name, cell)| Some((*places.get(name.as_str())?, cell.as_str()))).collect();
        let cells: Vec<(usize, &str)> = cells.into_iter().collect();
        cells.iter().for_each(|(place, cell)| columns.see(*place, cell));
        if let Some(note) = row::warm_up(&columns, &cells) {
            if !warm_ups.contains(&note) {
                warm_ups.push(note);
            }
            continue;
        }
        let place = row::RowPlace { line: row.line, pointer: Some(row.pointer.clone()) };
        match row::run(file, &place, &columns, &cells) {
            Ok(partial) => parsed.records.push(Record::Run(Box::new(partial))),
            Err(error) => parsed.left_out.push(error),
        }
    }
    parsed.notes.extend(warm_ups);
    parsed.notes.extend(columns.notes());
    Ok(parsed)
}

/// When an object is a row itself.
#[derive(Clone, Copy, PartialEq)]
enum Itself {
    /// Whatever it holds: an item of the outermost list, or a line.
    Always,
    /// Where it holds a figure, and rows within it are not its repeats.
    Measured,
    /// It only holds rows.
    Never,
}

/// The rows of one document.
fn top(root: &At<'_>, is_line: bool, rows: &mut Vec<Row>, parsed: &mut Parsed) {
    let Ok(items) = root.items() else {
        return within(root, &[], if is_line { Itself::Always } else { Itself::Measured }, rows);
    };
    for item in items.take((sheet::RUNS + 1).saturating_sub(rows.len())) {
        match item.entries() {
            Ok(_) => within(&item, &[], Itself::Always, rows),
            Err(error) => parsed.left_out.push(error),
        }
    }
}

/// The rows within an object, and the object.
fn within(at: &At<'_>, around: &[(String, String)], itself: Itself, rows: &mut Vec<Row>) {
    let entries: Vec<(&str, At<'_>)> = at.entries().into_iter().flatten().collect();
    let own: Cells = entries.iter().flat_map(|(key, value)| cells_of(key, value)).collect();
    let names: Vec<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
    if rows.len() > sheet::RUNS || itself == Itself::Measured && columns::is_of_requests(&names) {
        return;
    }
    let outer = around.iter().filter(|(name, _)| !names.contains(&name.as_str())).cloned();
    let cells: Cells = outer.chain(own.iter().cloned()).collect();
    let labels: Cells = cells.iter().filter(|(name, cell)| columns::is_shared(name, cell)).cloned().collect();
    let before = rows.len();
    for (key, value) in &entries {
        if is_number(key) {
            within(value, &labels, Itself::Measured, rows);
        } else if parts_a_figure(
            key,
            value.entries().into_iter().flatten().map(|(name, at)| (name, text_of(&at).is_some())),
        ) {
            for (name, member) in value.entries().into_iter().flatten() {
                let Some(cell) = text_of(&member) else { continue };
                let own = [(KEY.to_owned(), name.to_owned()), ((*key).to_owned(), cell)];
                let cells = labels.iter().cloned().chain(own).collect();
                rows.push(Row { line: member.node.line.into(), pointer: at.pointer(), cells, labels: Vec::new() });
            }
        } else if let Ok(items) = value.items() {
            items.for_each(|item| within(&item, &labels, Itself::Measured, rows));
        } else {
            for (name, member) in value.entries().into_iter().flatten().filter(|(name, _)| is_number(name)) {
                let beside: Cells = labels.iter().cloned().chain([((*key).to_owned(), name.to_owned())]).collect();
                within(&member, &beside, Itself::Measured, rows);
            }
            if value.entries().is_ok_and(|mut members| !members.any(|(name, _)| is_number(name))) {
                within(value, &labels, Itself::Never, rows);
            }
        }
    }
    let is_row = match itself {
        Itself::Always if rows.len() == before => true,
        Itself::Never => false,
        _ => {
            let all: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
            let sums_up = rows.iter().skip(before).any(|row| row.labels == labels);
            columns::has_figure(names.iter().copied()) && columns::is_rows(&all) && !sums_up
        }
    };
    if is_row {
        rows.push(Row { line: at.node.line.into(), pointer: at.pointer(), cells, labels });
    }
}

/// The cell of a key, or the cells of an object that holds one figure several times.
fn cells_of(key: &str, value: &At<'_>) -> Cells {
    if let Some(cell) = text_of(value) {
        return vec![(key.to_owned(), cell)];
    }
    let members = value.entries().into_iter().flatten().filter(|(name, _)| STATISTICS.contains(name));
    let figures = members.filter_map(|(name, at)| Some((format!("{key}/{name}"), text_of(&at)?)));
    figures.filter(|(name, _)| columns::is_figure(name)).collect()
}

/// The key of a cell, and the rest of its pointer where its object holds one figure several times.
pub(super) fn parted(name: &str) -> (&str, &str) {
    let is_statistic = |at: &usize| name.get(at + 1..).is_some_and(|rest| STATISTICS.contains(&rest));
    name.rfind('/').filter(is_statistic).and_then(|at| name.split_at_checked(at)).unwrap_or((name, ""))
}

fn text_of(value: &At<'_>) -> Option<String> {
    Some(match &value.node.kind {
        Kind::Null => String::new(),
        Kind::Bool(flag) => flag.to_string(),
        Kind::Number(digits) => (*digits).to_owned(),
        Kind::Text(text) => text.to_string(),
        Kind::List(_) | Kind::Map(_) | Kind::Packed(_) => return None,
    })
}

/// Whether the members of an object are one figure under several names that are no statistics. Each comes with whether it is flat.
fn parts_a_figure<'n>(key: &str, members: impl Iterator<Item = (&'n str, bool)>) -> bool {
    let members: Vec<(&str, bool)> = members.collect();
    let is_plain = |(name, is_flat): &(&str, bool)| {
        *is_flat && !STATISTICS.contains(name) && !BESIDE_STATISTICS.contains(name) && !is_number(name)
    };
    !members.is_empty() && members.iter().all(is_plain) && columns::is_figure(key)
}

fn is_number(key: &str) -> bool {
    key.parse::<f64>().is_ok_and(f64::is_finite)
}
