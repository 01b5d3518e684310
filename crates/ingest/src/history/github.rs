//! The data of github-action-benchmark: suites of benchmarks, commit by commit.
//!
//! In:  `data.js` as the action keeps it on the branch of the pages, or the same object as JSON.
//! Out: a series for each benchmark.
//! Not here: the comparison that the action itself makes.

use serde::Deserialize;
use serde_json::Value;

use super::found_series::FoundSeries;
use super::order::in_order;
use sparkbench_model::{Direction, Instant, TimePoint, TimeSeries};
use sparkbench_text::error::Error;

/// Beginning of `data.js`.
const SCRIPT: &str = "window.BENCHMARK_DATA";

/// Tools whose figures are better when they are larger: rates.
const LARGER_IS_BETTER: &[&str] = &["customBiggerIsBetter", "benchmarkjs", "pytest"];

#[derive(Deserialize)]
struct WireData {
    /// Suites in the order of the file.
    entries: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct WireEntry {
    commit: WireCommit,
    date: Option<f64>,
    #[serde(default)]
    tool: String,
    benches: Vec<WireBench>,
}

impl WireEntry {
    /// When it was measured, or else committed. Empty where nothing says it.
    fn milliseconds(&self) -> String {
        let committed = || self.commit.timestamp.as_deref().and_then(Instant::parse).map(|moment| moment.0.to_string());
        self.date.map(|date| date.to_string()).or_else(committed).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct WireCommit {
    id: String,
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct WireBench {
    name: String,
    value: Value,
    range: Option<Value>,
    #[serde(default)]
    unit: String,
}

/// Whether a file begins like this.
pub(super) fn is_ours(head: &str) -> bool {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    head.starts_with(SCRIPT) || head.starts_with('{') && head.contains("\"entries\"") && head.contains("\"commit\"")
}

/// Reads the file.
///
/// # Errors
/// Text that is not JSON, or has no entries.
pub(super) fn read(text: &str) -> Result<FoundSeries, Error> {
    let wrong = |cause: serde_json::Error| {
        Error::archive("cannot read this as data of github-action-benchmark").detail(cause.to_string())
    };
    let start = text.find('{').unwrap_or(0);
    let body = text[start..].trim_end().trim_end_matches(';');
    let data: WireData = serde_json::from_str(body).map_err(wrong)?;
    let mut found = FoundSeries::default();
    for (suite, entries) in data.entries {
        let texts: Vec<String> = entries.as_array().into_iter().flatten().map(Value::to_string).collect();
        let entries: Vec<WireEntry> = serde_json::from_value(entries).map_err(wrong)?;
        let times: Vec<String> = entries.iter().map(WireEntry::milliseconds).collect();
        let order = in_order(texts.iter().zip(times.iter().map(String::as_str)));
        found.notes.extend(order.said.iter().map(|line| format!("{suite}: {line}")));
        let mut own: Vec<TimeSeries> = Vec::new();
        for row in order.rows {
            let entry = &entries[row];
            let time = entry.commit.timestamp.clone();
            let time = time.or_else(|| Some(Instant::from_unix_seconds(entry.date? / 1000.0)?.iso()));
            for bench in &entry.benches {
                let Some(value) = number(&bench.value) else {
                    found.notes.push(format!("{suite}, {}, commit {}: no number", bench.name, entry.commit.id));
                    continue;
                };
                let at = own.iter().position(|s| s.metric == bench.name).unwrap_or_else(|| {
                    let larger = LARGER_IS_BETTER.contains(&entry.tool.as_str());
                    own.push(TimeSeries {
                        subject: suite.clone(),
                        metric: bench.name.clone(),
                        unit: bench.unit.clone(),
                        direction: Some(if larger { Direction::HigherIsBetter } else { Direction::LowerIsBetter }),
                        points: Vec::new(),
                    });
                    own.len() - 1
                });
                own[at].points.push(TimePoint {
                    row,
                    time: time.clone().unwrap_or_default(),
                    name: Some(entry.commit.id.clone()),
                    value,
                    // The spread of how many values is not said, so it is no standard error.
                    n: None,
                    sd: bench.range.as_ref().and_then(|range| spread(range, value)),
                    labels: vec![
                        ("commit".to_owned(), entry.commit.id.clone()),
                        ("tool".to_owned(), entry.tool.clone()),
                    ],
                });
            }
        }
        found.series.append(&mut own);
    }
    Ok(found)
}

fn number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().replace(',', "").parse().ok()));
    number.filter(|x: &f64| x.is_finite())
}

/// `± 3.2`, `± 5%`, or a bare number.
fn spread(range: &Value, value: f64) -> Option<f64> {
    if let Some(number) = range.as_f64() {
        return Some(number);
    }
    let text = range.as_str()?.trim().trim_start_matches(['±', '+', '/', '-', ' ']).replace(',', "");
    match text.strip_suffix('%') {
        Some(share) => share.trim().parse::<f64>().ok().map(|pct| value.abs() * pct / 100.0),
        None => text.trim().parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = r#"window.BENCHMARK_DATA = {"lastUpdate": 2, "repoUrl": "https://example.org/x", "entries": {"Rust": [
      {"commit": {"id": "bb", "timestamp": "2026-01-02T00:00:00Z"}, "date": 2000, "tool": "cargo",
       "benches": [{"name": "fib", "value": 21, "range": "± 1.5", "unit": "ns/iter"}]},
      {"commit": {"id": "aa", "timestamp": "2026-01-01T00:00:00Z"}, "date": 1000, "tool": "cargo",
       "benches": [{"name": "fib", "value": "1,020", "range": "± 10%", "unit": "ns/iter"}, {"name": "bad", "value": null}]}
    ]}}"#;

    #[test]
    fn benchmarks_become_series_in_order_of_time() {
        assert!(is_ours(DATA));
        let found = read(DATA).unwrap();
        assert_eq!(found.series.len(), 1);
        let fib = &found.series[0];
        assert_eq!(
            (fib.subject.as_str(), fib.unit.as_str(), fib.direction),
            ("Rust", "ns/iter", Some(Direction::LowerIsBetter))
        );
        let points: Vec<(f64, &str, Option<f64>)> =
            fib.points.iter().map(|p| (p.value, p.name.as_deref().unwrap(), p.sd)).collect();
        assert_eq!(points, [(1020.0, "aa", Some(102.0)), (21.0, "bb", Some(1.5))]);
        let put_in_order = "Rust: the rows are not in order of time, and were put in order";
        assert_eq!(found.notes, [put_in_order, "Rust, bad, commit aa: no number"]);
    }

    #[test]
    fn a_file_that_is_cut_off_is_an_error() {
        assert!(read(&DATA[..200]).is_err());
    }
}
