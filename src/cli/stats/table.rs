//! The report as text for a terminal: one line a statistic, the arms side by side.
//!
//! In:  the report as JSON.  Out: aligned lines.
//! Not here: numbers that the JSON does not have.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sparkbench_text::digits::{decimals, trimmed};
use sparkbench_text::table;

/// Significant digits of a number in the table. The JSON has all of them.
const DIGITS: usize = 6;
/// What stands for an absent value.
const ABSENT: &str = "-";

/// Draws the report.
pub(super) fn draw(report: &Value) -> String {
    let mut text = String::new();
    let arms: Vec<(&str, Vec<Row>)> = [("A", "a"), ("B", "b")]
        .iter()
        .filter_map(|(head, arm)| Some((*head, rows(&judged(report.get(arm)?)))))
        .collect();
    if !arms.is_empty() {
        section(&mut text, "", side_by_side(&arms));
    }
    for (key, title) in [
        ("b_vs_a", "B against A"),
        ("paired", "Pairs, B minus A"),
        ("order", "Order of runs"),
        ("hierarchical_percentile", "Percentiles of requests"),
        ("bonferroni", "Bonferroni"),
        ("holm", "Holm"),
        ("bh", "Benjamini-Hochberg"),
        ("settings", "Settings"),
    ] {
        if let Some(value) = report.get(key) {
            let lines = rows(value).into_iter().map(|row| (row.name, vec![row.value])).collect();
            section(&mut text, title, lines);
        }
    }
    text
}

/// An arm without the intervals of percentiles that too few values lie beyond. The JSON has every formula of the contract.
fn judged(arm: &Value) -> Value {
    let mut arm = arm.clone();
    let few: Vec<String> =
        arm["not_judged"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    for whole in ["order_stat_ci", "bootstrap"] {
        if let Some(parts) = arm.get_mut(whole).and_then(Value::as_object_mut) {
            parts.retain(|name, _| !few.contains(name));
        }
    }
    arm
}

struct Row {
    name: String,
    value: String,
}

/// A heading, then one line a name. What one arm has and the other has not is absent there, and a whole that is absent in one arm
/// gives way to its parts in the other.
fn side_by_side(arms: &[(&str, Vec<Row>)]) -> Vec<(String, Vec<String>)> {
    let mut names: Vec<&str> = Vec::new();
    for row in arms.iter().flat_map(|(_, rows)| rows) {
        if !names.contains(&row.name.as_str()) {
            // Parts of the same whole stay together.
            let whole = row.name.split(' ').next().unwrap_or_default();
            let after = names.iter().rposition(|name| name.split(' ').next() == Some(whole));
            names.insert(after.map_or(names.len(), |i| i + 1), &row.name);
        }
    }
    let has_parts = |name: &str| names.iter().any(|n| n.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let value = |rows: &[Row], name: &str| {
        rows.iter().find(|row| row.name == name).map_or(ABSENT.into(), |row| row.value.clone())
    };
    let heads = (String::new(), arms.iter().map(|(head, _)| (*head).to_owned()).collect());
    let lines = names
        .iter()
        .filter(|name| !has_parts(name))
        .map(|name| ((*name).to_owned(), arms.iter().map(|(_, rows)| value(rows, name)).collect()));
    std::iter::once(heads).chain(lines).collect()
}

/// Leaves of a value with their path in words. An interval is one leaf.
fn rows(value: &Value) -> Vec<Row> {
    let mut found = Vec::new();
    collect(value, String::new(), &mut found);
    found
}

fn collect(value: &Value, name: String, found: &mut Vec<Row>) {
    let under = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name} {key}") };
    match value {
        Value::Object(map) => {
            let interval = interval(map);
            if let Some(text) = &interval {
                found.push(Row { name: under("interval"), value: text.clone() });
            }
            for (key, value) in map {
                if interval.is_none() || !matches!(key.as_str(), "lo" | "hi" | "flags") {
                    collect(value, under(key), found);
                }
            }
        }
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            found.push(Row { name, value: if words.is_empty() { ABSENT.into() } else { words.join(", ") } });
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect(item, under(&(i + 1).to_string()), found);
            }
        }
        leaf => found.push(Row { name, value: cell(leaf) }),
    }
}

fn interval(map: &Map<String, Value>) -> Option<String> {
    let (lo, hi) = (map.get("lo")?, map.get("hi")?);
    let flags = map.get("flags").and_then(Value::as_array).map(|flags| {
        let words: Vec<&str> = flags.iter().filter_map(Value::as_str).collect();
        format!("  ({})", words.join(", "))
    });
    Some(format!("[{}, {}]{}", cell(lo), cell(hi), flags.unwrap_or_default()))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => ABSENT.into(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
        Value::String(word) => word.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().map_or(ABSENT.into(), significant),
        other => other.to_string(),
    }
}

/// Six significant digits, without trailing zeros. Very large and very small as powers of ten.
pub(super) fn significant(x: f64) -> String {
    let magnitude = if x == 0.0 { 0.0 } else { x.abs().log10().floor() };
    if !(-5.0..=9.0).contains(&magnitude) {
        return format!("{x:.*e}", DIGITS - 1);
    }
    trimmed(format!("{x:.*}", decimals(x, DIGITS, 12)))
}

fn section(text: &mut String, title: &str, lines: Vec<(String, Vec<String>)>) {
    if !title.is_empty() {
        let _ = writeln!(text, "\n{title}");
    }
    let rows: Vec<Vec<String>> =
        lines.into_iter().map(|(name, cells)| std::iter::once(name).chain(cells).collect()).collect();
    for line in table::lines(&rows).lines() {
        let _ = writeln!(text, "  {line}");
    }
}
