//! `sparkbench inspect`: what is read in one file, from where, and what is not understood. Of a folder, a line each file.
//!
//! In:  files and folders.  Out: a text for people, or JSON that golden files rest on.
//! Not here: reading (see `ingest`), judging.

mod folder;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::outcome::Outcome;
use super::stdout::print;
use super::talk::Talk;
use sparkbench_ingest::{self as ingest, List, Look, PartialRun, Record};
use sparkbench_model::{CustomMetric, Extra, Origin, Setup};
use sparkbench_text::error::Error;

/// Values of a list that are shown. The rest is counted.
const SHOWN: usize = 4;

/// Show what sparkbench reads in a file, from where, and what it does not understand
///
/// For a file, each figure is listed with its line or JSON pointer and the name of the rule that read it. For a folder, each file is listed
/// with its format, tool, model and number of runs, and with the files it was joined to. Nothing is judged and nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sparkbench inspect results/bench.json\n  sparkbench inspect results/\n  \
                        sparkbench inspect --json server.log\n\n\
                        Exit codes: 0 read, 2 usage, 5 a file, alone or in a folder, has no known format or cannot\n\
                        be read, or a folder is empty.")]
pub(crate) struct Inspect {
    /// Files of any format that `sparkbench formats` lists, or folders of them
    #[arg(required = true, value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Print JSON instead of text: one object per path
    #[arg(long)]
    json: bool,
}

/// The whole of the verb.
///
/// # Errors
/// When a file, alone or in a folder, cannot be read. Of several errors the worst, and of those the last. The others are printed.
pub(crate) fn run(args: &Inspect, talk: &Talk) -> Result<Outcome, Error> {
    let mut worst: Option<Error> = None;
    for path in &args.files {
        let Err(error) = show(path, args, talk) else { continue };
        let (earlier, later) = match worst.take() {
            Some(kept) if kept.kind.exit_code() > error.kind.exit_code() => (Some(error), kept),
            kept => (kept, error),
        };
        earlier.iter().for_each(|earlier| talk.error(earlier));
        worst = Some(later);
    }
    worst.map_or(Ok(Outcome::Done), Err)
}

/// One path.
fn show(path: &Path, args: &Inspect, talk: &Talk) -> Result<(), Error> {
    if path.is_dir() {
        let listed = folder::List::of(path)?;
        print(&if args.json { format!("{:#}\n", listed.document()) } else { listed.text(talk.width()) })?;
        return listed.failure().map_or(Ok(()), Err);
    }
    let look = ingest::inspect(path)?;
    let document = document(&sparkbench_archive::shown(path), &look);
    look.outcome?;
    print(&if args.json { format!("{document:#}\n") } else { text(&document) })
}

/// Everything that was read, as JSON. Only what is there.
fn document(path: &str, look: &Look) -> Value {
    let mut runs = Vec::new();
    let mut other = Vec::new();
    let mut models = BTreeMap::new();
    let Ok(parsed) = &look.outcome else { return Value::Null };
    for record in &parsed.records {
        match record {
            Record::Run(partial) => runs.push(run_of(partial)),
            Record::Campaign(campaign) => other.push(format!("campaign {}", campaign.name)),
            Record::Labels(_) => other.push("labels".to_owned()),
            Record::Metrics(definitions) => {
                let one = |(name, custom): (&String, &CustomMetric)| format!("metric {name}: {}", custom.definition());
                other.extend(definitions.iter().map(one));
            }
            Record::Facts(facts) => {
                other.push(format!(
                    "facts of {} machines and {} models, {} prices, {} published figures",
                    facts.machines.len(),
                    facts.models.len(),
                    facts.prices.len(),
                    facts.references.len()
                ));
                models.extend(facts.models.iter().filter(|(_, model)| model.computed));
            }
            Record::Losses(lost) => other.extend(lost.iter().map(|loss| format!("lost: {loss}"))),
            Record::Journal(outcomes) => other.push(format!("outcomes of {} runs", outcomes.len())),
            Record::Published(cells) => other.push(format!("{} published figures", cells.len())),
        }
    }
    let mut root = Map::new();
    root.insert("path".into(), json!(path));
    let format = if parsed.kinds.is_empty() { look.format.unwrap_or("").to_owned() } else { parsed.kinds.join(" + ") };
    root.insert("format".into(), json!(format));
    root.insert("sha256".into(), json!(look.sha256));
    root.insert("runs".into(), json!(runs));
    if !models.is_empty() {
        root.insert("models".into(), json!(models));
    }
    if !parsed.lists.is_empty() {
        root.insert("lists".into(), Value::Array(parsed.lists.iter().map(list_of).collect()));
    }
    let left_out: Vec<String> = parsed.left_out.iter().map(ingest::one_line).collect();
    for (key, lines) in [
        ("also", &other),
        ("notes", &parsed.notes),
        ("left_out", &left_out),
        ("not_understood", &parsed.not_understood),
    ] {
        if !lines.is_empty() {
            root.insert(key.into(), json!(lines));
        }
    }
    Value::Object(root)
}

fn run_of(partial: &PartialRun) -> Value {
    let mut run = Map::new();
    run.insert("standing".into(), json!(partial.join_role));
    for (name, text) in [
        ("id", &partial.id),
        ("campaign", &partial.campaign),
        ("environment", &partial.environment),
        ("model", &partial.model),
        ("workload", &partial.workload),
        ("part", &partial.part),
        ("fingerprint", &partial.fingerprint),
    ] {
        if let Some(text) = text {
            run.insert(name.into(), json!(text));
        }
    }
    if let Some(repeat) = partial.repeat {
        run.insert("repeat".into(), json!(repeat));
    }
    for (name, at) in [("started_utc", partial.started), ("ended_utc", partial.ended)] {
        if let Some(at) = at {
            run.insert(name.into(), json!(at));
        }
    }
    if let Some(status) = &partial.status {
        run.insert("status".into(), json!(status));
    }
    let setup = setup_of(&partial.setup);
    if !setup.is_empty() {
        run.insert("setup".into(), Value::Object(setup));
    }
    let metrics: Vec<Value> = partial
        .readings
        .iter()
        .map(|reading| placed(json!({"metric": reading.metric, "value": number(reading.value)}), &reading.origin))
        .collect();
    let series: Vec<Value> = partial
        .series
        .iter()
        .map(|series| {
            let first: Vec<Value> = series.values.iter().take(SHOWN).map(|value| number(*value)).collect();
            placed(json!({"metric": series.metric, "n": series.values.len(), "first": first}), &series.origin)
        })
        .collect();
    let extras: Vec<Value> = partial.extras.iter().map(extra_of).collect();
    for (name, list) in [("metrics", metrics), ("series", series), ("extras", extras)] {
        if !list.is_empty() {
            run.insert(name.into(), Value::Array(list));
        }
    }
    if let (Some(first), Some(last)) = (partial.telemetry.first(), partial.telemetry.last()) {
        // Seconds elapsed have no date.
        let span = if first.at.is_relative() {
            json!({"samples": partial.telemetry.len(), "from_s": first.at.0 as f64 / 1000.0, "to_s": last.at.0 as f64 / 1000.0, "first": first})
        } else {
            json!({"samples": partial.telemetry.len(), "from_utc": first.at, "to_utc": last.at, "first": first})
        };
        run.insert("telemetry".into(), span);
    }
    Value::Object(run)
}

/// A list of values that is no metric.
fn list_of(list: &List) -> Value {
    let first: Vec<Value> = list.values.iter().take(SHOWN).map(|value| number(*value)).collect();
    let mut shown = json!({"name": list.name, "n": list.values.len(), "first": first});
    if let (Value::Object(shown), Some(part)) = (&mut shown, &list.part) {
        shown.insert("part".into(), json!(part));
    }
    shown
}

fn extra_of(extra: &Extra) -> Value {
    let mut shown = json!({"name": extra.name, "value": extra.value});
    if let Value::Object(shown) = &mut shown {
        if !extra.unit.is_empty() {
            shown.insert("unit".into(), json!(extra.unit));
        }
        if let Some(why) = extra.why {
            shown.insert("why_no_metric".into(), json!(why));
        }
    }
    placed(shown, &extra.origin)
}

/// A figure with the place it was taken from.
fn placed(mut value: Value, origin: &Origin) -> Value {
    if let Value::Object(value) = &mut value {
        if let Some(line) = origin.line {
            value.insert("line".into(), json!(line));
        }
        if let Some(field) = &origin.field {
            value.insert("field".into(), json!(field));
        }
        value.insert("rule".into(), json!(origin.rule));
    }
    value
}

/// What is missing is null and what is infinite is a word: JSON has neither.
fn number(value: f64) -> Value {
    if value.is_infinite() { json!(if value > 0.0 { "inf" } else { "-inf" }) } else { json!(value) }
}

/// The settings that are known.
fn setup_of(setup: &Setup) -> Map<String, Value> {
    match serde_json::to_value(setup) {
        Ok(Value::Object(map)) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

/// The document for people.
fn text(document: &Value) -> String {
    let mut out = String::new();
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}\n  format: {}", word(&document["path"]), word(&document["format"]));
    for run in document["runs"].as_array().into_iter().flatten() {
        let Some(run) = run.as_object() else { continue };
        let title: Vec<String> = ["environment", "model", "workload", "id"]
            .iter()
            .filter_map(|name| Some(format!("{name} {}", word(run.get(*name)?))))
            .collect();
        let _ =
            writeln!(out, "\n  run: {}", if title.is_empty() { "not labelled".to_owned() } else { title.join(", ") });
        for name in ["started_utc", "ended_utc", "status", "repeat"] {
            if let Some(value) = run.get(name) {
                let _ = writeln!(out, "    {name}: {}", word(value));
            }
        }
        for (name, value) in run.get("setup").and_then(Value::as_object).into_iter().flatten() {
            let _ = writeln!(out, "    {name}: {}", word(value));
        }
        for (list, key) in [("metrics", "metric"), ("series", "metric"), ("extras", "name")] {
            for entry in run.get(list).and_then(Value::as_array).into_iter().flatten() {
                let value = match list {
                    "series" => format!("{} values, {}", entry["n"], entry["first"]),
                    _ => word(&entry["value"]),
                };
                let place: Vec<String> = [("line ", "line"), ("", "field")]
                    .iter()
                    .filter_map(|(before, name)| Some(format!("{before}{}", word(entry.get(*name)?))))
                    .collect();
                let unit = entry.get("unit").map_or_else(String::new, |unit| format!(" {}", word(unit)));
                let why = entry
                    .get("why_no_metric")
                    .map_or_else(String::new, |why| format!(". Not read as metrics: {}", word(why)));
                let _ = writeln!(
                    out,
                    "    {:<32} {value}{unit}   ({}, {}{why})",
                    word(&entry[key]),
                    place.join(", "),
                    word(&entry["rule"])
                );
            }
        }
        if let Some(telemetry) = run.get("telemetry") {
            let (from, to) = match telemetry.get("from_s") {
                Some(from) => (format!("{from} s"), format!("{} s", telemetry["to_s"])),
                None => (word(&telemetry["from_utc"]), word(&telemetry["to_utc"])),
            };
            let _ = writeln!(out, "    telemetry: {} samples from {from} to {to}", telemetry["samples"]);
        }
    }
    for list in document["lists"].as_array().into_iter().flatten() {
        let part = list.get("part").map_or_else(String::new, |part| format!("{}: ", word(part)));
        let _ = writeln!(
            out,
            "  list, not a metric: {part}{}   {} values, {}",
            word(&list["name"]),
            list["n"],
            list["first"]
        );
    }
    for (key, title) in
        [("also", "also"), ("notes", "note"), ("left_out", "left out"), ("not_understood", "not understood")]
    {
        for line in document[key].as_array().into_iter().flatten() {
            let _ = writeln!(out, "  {title}: {}", word(line));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::ExtraValue;

    #[test]
    fn an_extra_says_why_it_is_no_metric() {
        let origin = Origin { file: "f".into(), line: Some(3), field: None, rule: "guidellm" };
        let extra = Extra {
            name: "time_per_output_token_ms".into(),
            unit: "ms".into(),
            value: ExtraValue::Number(2.5),
            why: Some("it holds the first token too"),
            origin,
        };
        let shown = extra_of(&extra);
        assert_eq!((&shown["line"], &shown["value"]), (&json!(3), &json!(2.5)));
        assert_eq!(shown["why_no_metric"], "it holds the first token too");
    }
}
