//! The result folder of airspeed velocity: a folder for each machine, a file for each commit and environment.
//!
//! In:  the files of the folder by their paths.  Out: a series for each machine, environment, benchmark and set of parameters.
//! Not here: the steps that airspeed velocity itself finds.
//!
//! Versions 1 and 2 of its result files are read. In version 2 a benchmark is a list whose first two entries are the values and the parameters.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::found_series::FoundSeries;
use sparkbench_model::{Direction, Instant, TimePoint, TimeSeries};

/// Paths below the folder, with `/`, and the text of each file.
pub type Folder = BTreeMap<String, String>;

/// File that describes the benchmarks, and with its presence the folder.
const BENCHMARKS: &str = "benchmarks.json";

/// File beside the results of a machine.
const MACHINE: &str = "machine.json";

/// One result file.
struct Commit {
    machine: String,
    environment: String,
    date_ms: f64,
    hash: String,
    python: Option<String>,
    results: Map<String, Value>,
    columns: Vec<String>,
}

/// Reads the folder. `None` when it is not from airspeed velocity.
pub fn folder(files: &Folder) -> Option<FoundSeries> {
    let benchmarks: Map<String, Value> = serde_json::from_str(files.get(BENCHMARKS)?).ok()?;
    let mut found = FoundSeries::default();
    let mut commits = Vec::new();
    let mut seen = HashSet::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".json")) {
        let Some((machine, file)) = path.split_once('/').filter(|(_, file)| *file != MACHINE) else { continue };
        if !seen.insert((machine, text)) {
            found.notes.push(format!("{path}: a copy of another file"));
            continue;
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => match commit(machine, &value) {
                Some(commit) => commits.push(commit),
                None => found.notes.push(format!("{path}: no commit with results")),
            },
            Err(cause) => found.notes.push(format!("{machine}/{file}: {cause}")),
        }
    }
    commits.sort_by(|a, b| a.date_ms.total_cmp(&b.date_ms).then_with(|| a.hash.cmp(&b.hash)));
    let mut series: BTreeMap<(String, String), TimeSeries> = BTreeMap::new();
    let mut rows: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for commit in &commits {
        let row = rows.entry((&commit.machine, &commit.environment)).or_default();
        for (name, result) in &commit.results {
            let subject = format!("{} · {}", commit.machine, commit.environment);
            for (parameters, value) in values(result, &commit.columns) {
                let metric = if parameters.is_empty() { name.clone() } else { format!("{name}({parameters})") };
                let about = benchmarks.get(name);
                let text = |key: &str| about.and_then(|b| b.get(key)).and_then(Value::as_str).unwrap_or_default();
                let entry = series.entry((subject.clone(), metric.clone())).or_insert_with(|| TimeSeries {
                    subject: subject.clone(),
                    metric,
                    unit: text("unit").to_owned(),
                    // Times and memory. The unit of a `track_` benchmark is unknown.
                    direction: (text("type") != "track").then_some(Direction::LowerIsBetter),
                    points: Vec::new(),
                });
                let mut labels = vec![("commit".to_owned(), commit.hash.clone())];
                labels.extend(commit.python.iter().map(|version| ("python".to_owned(), version.clone())));
                entry.points.push(TimePoint {
                    row: *row,
                    time: Instant::from_unix_seconds(commit.date_ms / 1000.0).map_or_else(String::new, Instant::iso),
                    name: Some(commit.hash.clone()),
                    value,
                    labels,
                    ..TimePoint::default()
                });
            }
        }
        *row += 1;
    }
    found.series.extend(series.into_values());
    Some(found)
}

fn commit(machine: &str, value: &Value) -> Option<Commit> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let columns = value.get("result_columns").and_then(Value::as_array);
    Some(Commit {
        machine: machine.to_owned(),
        environment: text("env_name").or_else(|| text("python")).unwrap_or_default(),
        date_ms: value.get("date")?.as_f64()?,
        hash: text("commit_hash")?,
        python: text("python"),
        results: value.get("results")?.as_object()?.clone(),
        columns: columns.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
    })
}

/// Finite values of one benchmark with their parameters in words. The last parameter changes fastest.
fn values(result: &Value, columns: &[String]) -> Vec<(String, f64)> {
    if let Some(value) = result.as_f64() {
        return vec![(String::new(), value)];
    }
    let column = |name: &str| match result {
        Value::Object(parts) => parts.get(name),
        Value::Array(parts) => columns.iter().position(|c| c == name).and_then(|at| parts.get(at)),
        _ => None,
    };
    let Some(Value::Array(list)) = column("result") else { return Vec::new() };
    let parameters: Vec<Vec<&str>> = column("params")
        .and_then(Value::as_array)
        .map(|lists| {
            lists.iter().map(|l| l.as_array().into_iter().flatten().filter_map(Value::as_str).collect()).collect()
        })
        .unwrap_or_default();
    let words = |mut at: usize| -> String {
        let mut words: Vec<&str> = Vec::new();
        for choices in parameters.iter().rev().filter(|choices| !choices.is_empty()) {
            words.push(choices[at % choices.len()]);
            at /= choices.len();
        }
        words.reverse();
        words.join(", ")
    };
    let finite = list.iter().enumerate().filter_map(|(at, value)| Some((at, value.as_f64()?)));
    finite.map(|(at, value)| (words(at), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Folder {
        let result = |hash: &str, date: u64, value: f64| {
            format!(
                r#"{{"commit_hash": "{hash}", "env_name": "py3.12", "date": {date}, "python": "3.12", "version": 2,
                "result_columns": ["result", "params", "version"],
                "results": {{"bench.time_a": [[{value}, null], [["1", "2"]], "v"], "bench.peakmem_b": [[7], [], "v"]}}}}"#
            )
        };
        [
            (BENCHMARKS, r#"{"bench.time_a": {"unit": "seconds", "type": "time"}, "version": 2}"#.to_owned()),
            ("box/machine.json", "{}".to_owned()),
            ("box/bb-py3.12.json", result("bb", 2_000_000, 0.2)),
            ("box/aa-py3.12.json", result("aa", 1_000_000, 0.1)),
            ("box/broken.json", "{".to_owned()),
            ("box/copy of bb.json", result("bb", 2_000_000, 0.2)),
        ]
        .into_iter()
        .map(|(path, text)| (path.to_owned(), text))
        .collect()
    }

    #[test]
    fn a_result_folder_becomes_series_in_order_of_commits() {
        let found = folder(&files()).unwrap();
        let names: Vec<&str> = found.series.iter().map(|s| s.metric.as_str()).collect();
        assert_eq!(names, ["bench.peakmem_b", "bench.time_a(1)"]);
        let time = &found.series[1];
        assert_eq!((time.subject.as_str(), time.unit.as_str()), ("box · py3.12", "seconds"));
        assert_eq!(time.points.iter().map(|p| (p.row, p.value)).collect::<Vec<_>>(), [(0, 0.1), (1, 0.2)]);
        assert_eq!(time.points[0].time, "1970-01-01T00:16:40Z");
        assert_eq!(found.notes.len(), 2);
        assert_eq!(found.notes[1], "box/copy of bb.json: a copy of another file");
    }

    #[test]
    fn parameters_count_like_the_digits_of_a_number() {
        let result = serde_json::json!([[1, 2, 3, 4], [["a", "b"], ["x", "y"]]]);
        let columns = ["result".to_owned(), "params".to_owned()];
        let words: Vec<String> = values(&result, &columns).into_iter().map(|(words, _)| words).collect();
        assert_eq!(words, ["a, x", "a, y", "b, x", "b, y"]);
    }

    #[test]
    fn another_folder_is_not_ours() {
        assert!(folder(&Folder::new()).is_none());
    }
}
