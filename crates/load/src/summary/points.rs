//! Several loads beside each other, a line each: the points of a sweep, the cells of a matrix, the runs of an archive.
//!
//! In:  names, summaries as JSON, of this process or read from an archive.  Out: a table for people.
//! Not here: one load in full (see `text`).

use std::fmt::Write as _;

use serde_json::Value;

use super::cells::{self, Across, CellPasses};
use super::text::figure;

/// Narrowest column. A longer head makes its own wider.
const COLUMN: usize = 9;

/// Heads, and the path of the figure in a summary.
const COLUMNS: &[(&str, &str)] = &[
    ("answered", "/completed"),
    ("failed", "/failed"),
    ("requests/s", "/request_throughput_req_s"),
    ("output tok/s", "/output_throughput_tok_s"),
    ("TTFT p50", "/ttft_ms/p50"),
    ("TTFT p99", "/ttft_ms/p99"),
    ("TPOT p50", "/tpot_ms/p50"),
    ("E2E p50", "/e2e_latency_ms/p50"),
];

/// Head of the column that counts the passes of a cell.
pub const PASSES: &str = "passes";
/// Heads whose figures are summed over passes. All others are means.
const SUMMED: usize = 2;
/// Column of a mean with its spread, e.g. `1600.2 ±12.50`.
const SPREAD: usize = 16;

/// How a table of loads is laid out, known before the first of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// Width of the names.
    pub first: usize,
    /// Objectives were stated.
    pub goodput: bool,
    /// Each row is a cell of several passes.
    pub passes: bool,
}

impl Layout {
    /// For existing loads.
    pub fn of(loads: &[(String, Value)]) -> Self {
        let cells = cells::group(loads);
        Self {
            first: cells.iter().map(|cell| called(cell).chars().count()).max().unwrap_or(0),
            goodput: loads.iter().any(|(_, summary)| !summary["goodput"].is_null()),
            passes: cells.len() < loads.len(),
        }
    }

    /// Heads behind the name, as wide as their column.
    fn heads(self) -> Vec<(&'static str, usize)> {
        let passes = self.passes.then_some((PASSES, 7));
        let columns = COLUMNS.iter().enumerate().map(|(at, (head, _))| {
            let least = if self.passes && at >= SUMMED { SPREAD } else { COLUMN };
            (*head, least.max(head.len()) + 1)
        });
        let goodput = self.goodput.then_some(("good %", COLUMN + 1));
        passes.into_iter().chain(columns).chain(goodput).collect()
    }

    /// The first line.
    pub fn line(self) -> String {
        let mut out = format!("{:1$}", "load", self.first.max("load".len()));
        for (head, width) in self.heads() {
            let _ = write!(out, "{head:>width$}");
        }
        out.push_str("  client limited\n");
        out
    }

    /// One cell below [`Layout::line`].
    pub fn row(self, cell: &CellPasses) -> String {
        let cells = self.cells(cell);
        let mut out = format!("{:1$}", called(cell), self.first.max("load".len()));
        for ((_, width), text) in self.heads().into_iter().zip(&cells) {
            let _ = write!(out, "{text:>width$}");
        }
        let _ = writeln!(out, "  {}", cells.last().map_or("", String::as_str));
        out
    }

    /// The texts of a row behind its name. The last is of the client and of whether the load counts.
    fn cells(self, cell: &CellPasses) -> Vec<String> {
        let dash = || "-".to_owned();
        let mut texts = Vec::new();
        if self.passes {
            texts.push(cell.passes.len().to_string());
        }
        for (at, (_, pointer)) in COLUMNS.iter().enumerate() {
            texts.push(match cell.across(pointer) {
                Some(_) if at < SUMMED => cell.sum(pointer).to_string(),
                Some(Across { mean, sd: Some(sd) }) if self.passes => format!("{} ±{}", figure(mean), figure(sd)),
                Some(Across { mean, .. }) => figure(mean),
                None => dash(),
            });
        }
        if self.goodput {
            let share = cell.across("/goodput/fraction");
            texts.push(share.map_or_else(dash, |share| format!("{:.1}", share.mean * 100.0)));
        }
        let any = |pointer: &str, value: bool| {
            cell.passes.iter().any(|pass| pass.pointer(pointer) == Some(&Value::Bool(value)))
        };
        let limited = if any("/client/limited", true) { "yes" } else { "no" };
        texts.push(format!("{limited}{}", if any("/valid", false) { ", not valid" } else { "" }));
        texts
    }
}

/// A line for each load, or for each cell of several passes, latencies in ms. A load without a name is called as the server's address is.
pub fn table(loads: &[(String, Value)]) -> String {
    let layout = Layout::of(loads);
    let rows: String = cells::group(loads).iter().map(|cell| layout.row(cell)).collect();
    layout.line() + &rows
}

/// The same table as heads and texts.
pub fn cells(loads: &[(String, Value)]) -> (Vec<String>, Vec<Vec<String>>) {
    let layout = Layout::of(loads);
    let heads =
        std::iter::once("load").chain(layout.heads().into_iter().map(|(head, _)| head)).chain(["client limited"]);
    let rows = cells::group(loads);
    let rows = rows.iter().map(|cell| std::iter::once(called(cell).to_owned()).chain(layout.cells(cell)).collect());
    (heads.map(str::to_owned).collect(), rows.collect())
}

fn called(cell: &CellPasses) -> &str {
    let url = || cell.passes.first().and_then(|pass| pass["url"].as_str()).unwrap_or_default();
    if cell.name.is_empty() { url() } else { &cell.name }
}

/// Why a load cannot be used, in a sentence. Absent where it is valid.
pub fn fault((name, summary): &(String, Value)) -> Option<String> {
    if summary["valid"] != Value::Bool(false) {
        return None;
    }
    let why: Vec<&str> =
        summary["invalid_because"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let what = if name.is_empty() { "the load".to_owned() } else { format!("load {name}") };
    Some(format!("{what} is not valid: {}", why.join("; ")))
}

/// Notes of a load that change the meaning of a figure.
pub fn loud((_, summary): &(String, Value)) -> impl Iterator<Item = &str> {
    let many = summary["notes_loud"].as_u64().and_then(|many| usize::try_from(many).ok()).unwrap_or(0);
    summary["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).take(many)
}

/// Why the figures of a load may be the client's own, in a sentence. Absent where they are not.
pub fn limit((name, summary): &(String, Value)) -> Option<String> {
    if summary["client"]["limited"] != Value::Bool(true) {
        return None;
    }
    let why: Vec<&str> =
        summary["client"]["because"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let what = if name.is_empty() { String::new() } else { format!(" of {name}") };
    Some(format!("the client may be the limit{what}: {}", why.join(". Also: ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_that_change_a_figure_are_told_and_others_are_left_to_the_file() {
        let load = |loud: Value| ("c1".to_owned(), json!({ "notes": ["one", "two"], "notes_loud": loud }));
        assert_eq!(loud(&load(json!(1))).collect::<Vec<_>>(), ["one"]);
        assert_eq!(loud(&load(Value::Null)).count(), 0);
    }

    #[test]
    fn each_load_is_a_line_and_what_is_absent_is_a_dash() {
        let summary = |limited: bool, p99: Value| {
            json!({
                "url": "http://h", "completed": 40, "failed": 1, "valid": !limited, "request_throughput_req_s": 12.5,
                "output_throughput_tok_s": 1600.25, "ttft_ms": { "p50": 20.125, "p99": p99 }, "tpot_ms": { "p50": 2.0 },
                "e2e_latency_ms": { "p50": null }, "client": { "limited": limited },
            })
        };
        let mut loads =
            vec![("c1".to_owned(), summary(false, Value::Null)), (String::new(), summary(true, json!(30.5)))];
        assert_eq!(
            table(&loads),
            "load      answered    failed requests/s output tok/s  TTFT p50  TTFT p99  TPOT p50   E2E p50  client limited\n\
             c1              40         1      12.50       1600.2     20.12         -     2.000         -  no\n\
             http://h        40         1      12.50       1600.2     20.12     30.50     2.000         -  yes, not valid\n"
        );
        loads[0].1["goodput"] = json!({ "fraction": 0.95 });
        let text = table(&loads);
        assert!(text.lines().next().unwrap().contains(" good %") && text.contains(" 95.0  no"), "{text}");
    }

    #[test]
    fn passes_of_a_cell_are_one_line_with_their_spread() {
        let load = |name: &str, rate: f64| {
            let summary = json!({ "completed": 4, "failed": 0, "output_throughput_tok_s": rate, "valid": true });
            (name.to_owned(), summary)
        };
        let loads = [load("128/128 pass 1", 100.0), load("128/128 pass 2", 110.0), load("1024/128 pass 1", 50.0)];
        let text = table(&loads);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(
            lines[0].contains(PASSES) && lines[1].contains("105.0 ±7.071") && lines[1].starts_with("128/128"),
            "{text}"
        );
        assert_eq!(lines[1].split_whitespace().take(4).collect::<Vec<_>>(), ["128/128", "2", "8", "0"]);
        let before = |line: usize, word: &str| lines[line].split(word).next().map(|text| text.chars().count());
        assert_eq!(before(0, "client"), before(1, "no"), "{text}");
    }
}
