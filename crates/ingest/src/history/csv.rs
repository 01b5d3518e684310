//! A table with a column of times: every column of numbers is a metric, every other column a label.
//!
//! In:  the text of a CSV file with a header line.  Out: a series for each metric, and for each `branch` where there is such a column.
//! Not here: what the labels mean.
//!
//! Cells that are empty or say `null`, `NaN` or `NA` are missing: the row counts, the point is absent. Rows are put in order of time.

use std::collections::BTreeMap;

use super::found_series::FoundSeries;
use super::order::in_order;
use sparkbench_model::{Metric, TimePoint, TimeSeries};
use sparkbench_text::error::{Error, Place};
use sparkbench_text::escape::of_cell;

/// Columns that say which series a row belongs to.
const BRANCH: &str = "branch";

/// Columns that name a point for people, the best first.
const NAMES: &[&str] = &["commit", "campaign", "version", "name"];

/// Whether the first line of `head` has a column of this name.
pub fn has_column(head: &str, name: &str) -> bool {
    let first = head.trim_start_matches('\u{feff}').lines().next().unwrap_or_default();
    let mut reader = reader(first);
    reader.headers().is_ok_and(|header| header.len() > 1 && header.iter().any(|cell| cell == name))
}

fn reader(text: &str) -> ::csv::Reader<&[u8]> {
    let first = text.lines().next().unwrap_or_default();
    // As people have them. A comma within a semicolon table is a decimal comma, which is not read as a number.
    let delimiter =
        [b',', b';', b'\t'].into_iter().max_by_key(|d| (first.bytes().filter(|b| b == d).count(), *d == b','));
    ::csv::ReaderBuilder::new()
        .trim(::csv::Trim::All)
        .delimiter(delimiter.unwrap_or(b','))
        .flexible(false)
        .from_reader(text.as_bytes())
}

/// A cell of a column of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Missing,
    Number(f64),
    Word,
}

fn cell(text: &str) -> Cell {
    if text.is_empty() || ["null", "nan", "na", "n/a", "none"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Cell::Missing;
    }
    match text.parse::<f64>() {
        // A number out of range or an infinity is no measurement.
        Ok(value) if value.is_finite() => Cell::Number(value),
        Ok(_) => Cell::Missing,
        Err(_) => Cell::Word,
    }
}

/// Reads the table.
///
/// # Errors
/// A row of another length, two columns of one name, no column of times, no column of numbers.
pub(super) fn read(text: &str, time: &str) -> Result<FoundSeries, Error> {
    let wrong = || Error::archive("this is not a table with a column of times");
    let mut reader = reader(text.trim_start_matches('\u{feff}'));
    let header: Vec<String> =
        reader.headers().map_err(|cause| wrong().because(cause))?.iter().map(str::to_owned).collect();
    for (k, name) in header.iter().enumerate() {
        if header[..k].contains(name) {
            return Err(wrong().at(Place::Field(name.clone())).detail("two columns have this name"));
        }
    }
    let Some(time_at) = header.iter().position(|name| name == time) else {
        return Err(wrong().detail(format!("its columns are {}", header.join(", "))));
    };
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|cause| match cause.position().map(::csv::Position::line) {
            Some(line) => wrong().at(Place::Line(line)).detail(cause.to_string()),
            None => wrong().because(cause),
        })?;
        rows.push(record);
    }
    let numbers = |at: usize| -> Option<Vec<Cell>> {
        let cells: Vec<Cell> = rows.iter().map(|row| cell(&row[at])).collect();
        let is_metric = !cells.contains(&Cell::Word) && cells.iter().any(|c| matches!(c, Cell::Number(_)));
        is_metric.then_some(cells)
    };
    let columns: Vec<(usize, Option<Vec<Cell>>)> = (0..header.len())
        .filter(|&at| at != time_at)
        // A commit may consist of digits alone. It is a name all the same.
        .map(|at| (at, if NAMES.contains(&header[at].as_str()) || header[at] == BRANCH { None } else { numbers(at) }))
        .collect();
    let labels: Vec<usize> = columns.iter().filter(|(_, cells)| cells.is_none()).map(|(at, _)| *at).collect();
    if labels.len() == columns.len() {
        return Err(wrong().detail("no column beside the times holds numbers only"));
    }
    let branch_at = header.iter().position(|name| name == BRANCH);
    let name_at = NAMES.iter().find_map(|name| header.iter().position(|h| h == name).filter(|at| labels.contains(at)));
    let time_of = |row: usize| if cell(&rows[row][time_at]) == Cell::Missing { "" } else { &rows[row][time_at] };
    let order = in_order((0..rows.len()).map(|row| (rows[row].iter().collect::<Vec<_>>(), time_of(row))));
    let mut found = FoundSeries { notes: order.said, ..FoundSeries::default() };
    for (at, cells) in &columns {
        let Some(cells) = cells else { continue };
        let mut by_branch: BTreeMap<&str, Vec<TimePoint>> = BTreeMap::new();
        for &row in &order.rows {
            let (record, Cell::Number(value)) = (&rows[row], cells[row]) else { continue };
            let said = labels.iter().filter(|&&at| Some(at) != branch_at && !record[at].is_empty());
            let point = TimePoint {
                row,
                time: record[time_at].to_owned(),
                name: name_at.map(|at| of_cell(&record[at]).to_owned()).filter(|name| !name.is_empty()),
                value,
                labels: said.map(|&at| (header[at].clone(), of_cell(&record[at]).to_owned())).collect(),
                ..TimePoint::default()
            };
            by_branch.entry(branch_at.map_or("", |at| of_cell(&record[at]))).or_default().push(point);
        }
        let known = Metric::of_catalogue(&header[*at]);
        found.series.extend(by_branch.into_iter().map(|(branch, points)| TimeSeries {
            subject: branch.to_owned(),
            metric: header[*at].clone(),
            unit: known.as_ref().map_or_else(String::new, |metric| metric.unit.to_owned()),
            direction: known.as_ref().map(|metric| metric.direction),
            points,
        }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_metrics_and_words_are_labels() {
        let text = "time,commit,ttft_ms,speed\n2026-01-01,a1,10,5\n2026-01-02,17,,6\n2026-01-03,c3,12,nan\n";
        let found = read(text, "time").unwrap();
        assert_eq!(found.series.iter().map(|s| s.metric.as_str()).collect::<Vec<_>>(), ["ttft_ms", "speed"]);
        let ttft = &found.series[0];
        assert_eq!((ttft.unit.as_str(), ttft.points.len(), ttft.points[1].row), ("ms", 2, 2));
        assert_eq!(ttft.points[1].labels, [("commit".to_owned(), "c3".to_owned())]);
        assert_eq!(found.series[1].points[1].name.as_deref(), Some("17"));
    }

    #[test]
    fn rows_are_put_in_order_of_time_and_copies_count_once() {
        let text = "time,x\n2026-01-03,3\n2026-01-01,1\n2026-01-03,3\n2026-01-01,2\nna,9\n";
        let found = read(text, "time").unwrap();
        let points: Vec<(usize, f64)> = found.series[0].points.iter().map(|p| (p.row, p.value)).collect();
        assert_eq!(points, [(1, 1.0), (3, 2.0), (0, 3.0)]);
        assert_eq!(found.notes.len(), 3, "{:?}", found.notes);
    }

    #[test]
    fn each_branch_is_a_series() {
        let found = read("time;branch;x\n1;main;1\n2;dev;2\n3;main;3\n", "time").unwrap();
        let rows = |k: usize| found.series[k].points.iter().map(|p| p.row).collect::<Vec<_>>();
        assert_eq!((found.series[0].subject.as_str(), rows(0)), ("dev", vec![1]));
        assert_eq!((found.series[1].subject.as_str(), rows(1)), ("main", vec![0, 2]));
    }

    #[test]
    fn what_is_no_such_table_is_named() {
        assert!(read("time,x\n1,2,3\n", "time").unwrap_err().to_string().contains("not a table"));
        assert_eq!(read("a,b\n1,2\n", "time").unwrap_err().detail.unwrap(), "its columns are a, b");
        assert_eq!(read("time,x,x\n1,2,3\n", "time").unwrap_err().detail.unwrap(), "two columns have this name");
        assert!(read("time,x\n1,fast\n", "time").unwrap_err().detail.unwrap().contains("numbers only"));
        assert!(has_column("time,x\n", "time") && !has_column("timed,x\n", "time"));
    }
}
