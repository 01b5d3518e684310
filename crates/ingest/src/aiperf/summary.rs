//! `profile_export_aiperf.json`: the summary of one AIPerf run.
//!
//! In:  one object.  Out: one partial run. Figures by request are in `profile_export.jsonl` (see `records`).
//! Not here: prompts, addresses, command lines.
//!
//! Seen: four generations. Mid 2025: `records` by display name ("Time to First Token"). Autumn 2025: `records` by tag, at first with `ttft`
//! and `ttst`, with nulls in metrics that are one number. From November 2025 (0.3): metrics at the top. 2026 (0.8 to 0.13):
//! `schema_version`, `aiperf_version`, later `count` and `sum`, `run_info`, `warmup_metrics` and settings in groups (`models`, `phases`).
//! From 0.13 a run also leaves `phases/<phase>/` with the same files. Those of the warm-up are not a run. Those of a single measured phase
//! repeat the summary above.

use super::super::at::At;
use super::super::json::{self, Kind};
use super::super::sheet::{Sheet, bool_at, cell, find, load, number_at, raw_at, text_at};
use super::super::{About, Format, Head, JoinRole, Parsed, SourceFile};
use super::{DERIVED, RULE, gpus, is_metric, mark, spread, tag_of};
use sparkbench_model::{Instant, Status};
use sparkbench_text::error::Error;
use sparkbench_text::slug::slug;

/// See the module.
pub(crate) struct Summary;

/// Keys at the top that are no metric.
const NO_METRIC: &[&str] = &[
    "records",
    "input_config",
    "telemetry_data",
    "error_summary",
    "errors_by_type",
    "run_info",
    "warmup_metrics",
    "metadata",
    "schema_version",
    "aiperf_version",
    "benchmark_id",
    "start_time",
    "end_time",
];

/// Keys of which only AIPerf writes one at the top.
const OURS: &[&str] = &[
    "records",
    "was_cancelled",
    "error_summary",
    "errors_by_type",
    "aiperf_version",
    "schema_version",
    "telemetry_data",
    "run_info",
];

impl Format for Summary {
    fn name(&self) -> &'static str {
        "aiperf"
    }

    fn about(&self) -> About {
        About {
            tool: "AIPerf, profile_export_aiperf.json",
            versions: "mid 2025 to 0.13: metrics under `records` by display name, under `records` by tag, and at the top",
            sign: "an object with `input_config`, metric objects with `unit` and `avg`, and a key such as `error_summary`",
            reads: "throughput, TTFT, TPOT, ITL, E2E latency, figures of GPUs, counts, lengths and all other metrics",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(object) = head.object() else { return false };
        let is_metric = |at: &super::super::Outline<'_>| at.has(&["unit", "avg"]);
        let any = |at: &super::super::Outline<'_>| at.keys().into_iter().any(|key| at.get(key).is_some_and(is_metric));
        if object.get("records").is_some_and(|records| records.is_map() && any(records)) {
            return true;
        }
        OURS.iter().any(|key| object.get(key).is_some()) && any(object)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let phase = phase_of(file.path);
        if let Some(phase) = phase {
            let (kind, measured) = kind_of(&root, phase);
            if kind == Phase::WarmUp {
                parsed
                    .notes
                    .push("the warm-up of a run that is read from the folder above. It is not a run".to_owned());
                return Ok(parsed);
            }
            if measured <= 1 {
                parsed.notes.push("the only measured phase of a run that is read from the folder above".to_owned());
                return Ok(parsed);
            }
        }
        let mut sheet = Sheet::new(file, RULE, DERIVED).with_zero_tpot();
        let records = root.get("records");
        let metrics = records.as_ref().filter(|records| matches!(records.node.kind, Kind::Map(_))).unwrap_or(&root);
        let of = |tag: &str| average(metrics, tag);
        let (good, bad) = (of("request_count"), of("error_request_count").unwrap_or(0.0));
        let failed = bad > 0.0 && good.is_none_or(|good| good <= 0.0);
        for (key, at) in metrics.entries()? {
            if NO_METRIC.contains(&key) {
                continue;
            }
            if is_metric(&at) {
                spread(&mut sheet, "", &tag_of(key), &at, !failed);
            } else {
                sheet.numbers(&at, &tag_of(key), "", None);
            }
        }
        if let Some(data) = root.get("telemetry_data") {
            gpus::endpoints(&mut sheet, &data);
        }
        errors(&mut sheet, &root);
        if let Some(warm) = root.get("warmup_metrics") {
            for (key, at) in warm.entries().into_iter().flatten() {
                spread(&mut sheet, "warmup.", &tag_of(key), &at, false);
            }
        }
        if let Some(more) = root.get("metadata") {
            sheet.numbers(&more, "metadata", "", None);
        }
        let cancelled = bool_at(&root, "was_cancelled") == Some(true);
        let incomplete = bool_at(&root, "is_complete") == Some(false);
        sheet.partial.status = Some(match (failed, cancelled, incomplete) {
            (true, ..) => Status::Failed(format!("all {bad} requests failed")),
            (_, true, _) => Status::Failed("the run was cancelled before its end".to_owned()),
            (.., true) => Status::Failed("the tool marks the run as incomplete".to_owned()),
            _ => Status::Done,
        });
        if !failed {
            sheet.failures(bad, bad + good.unwrap_or(0.0));
        }
        times(&mut sheet, metrics, &root);
        setup(&mut sheet, metrics, &root);
        sheet.partial.setup.requests = good.map(|good| good + bad).or_else(|| (bad > 0.0).then_some(bad));
        sheet.partial.fingerprint =
            mark("aiperf", [good, of("benchmark_duration"), of("output_token_throughput"), of("request_latency")]);
        sheet.partial.join_role = JoinRole::Base;
        if let (Some(phase), Some(workload)) = (phase, &mut sheet.partial.workload) {
            *workload = format!("{workload}-{}", slug(phase));
        }
        sheet.finish(&mut parsed);
        Ok(parsed)
    }
}

/// The mean of a metric, whatever the file calls it.
fn average(metrics: &At<'_>, tag: &str) -> Option<f64> {
    let at = metrics.entries().ok()?.find(|(key, _)| tag_of(key) == tag)?.1;
    number_at(&at, "avg")
}

/// The length that all requests have, where they have one.
fn common(metrics: &At<'_>, tag: &str) -> Option<f64> {
    let at = metrics.entries().ok()?.find(|(key, _)| tag_of(key) == tag)?.1;
    let (low, high) = (number_at(&at, "min")?, number_at(&at, "max")?);
    (low.to_bits() == high.to_bits()).then_some(low)
}

/// Counts of errors by kind. Messages quote addresses and are not taken.
fn errors(sheet: &mut Sheet<'_, '_>, root: &At<'_>) {
    for key in ["error_summary", "errors_by_type"] {
        let Some(list) = root.get(key) else { continue };
        for item in list.items().into_iter().flatten() {
            let Some(count) = item.get("count") else { continue };
            let kind = text_at(&item, ["error_details", "type"]).or_else(|| text_at(&item, "error_type"));
            let code = number_at(&item, ["error_details", "code"]).map(|code| format!("_{code}"));
            let kind = kind.map_or_else(|| "unknown".to_owned(), |kind| slug(&kind));
            sheet.extra(&count, &format!("errors.{kind}{}", code.unwrap_or_default()), "", None);
        }
    }
}

/// Start and end: the time stamps of the requests, which are UTC. `start_time` has the zone of the client and does not name it.
fn times(sheet: &mut Sheet<'_, '_>, metrics: &At<'_>, root: &At<'_>) {
    let stamp = |tag: &str| average(metrics, tag).and_then(|ns| Instant::from_unix_seconds(ns / 1e9));
    let said = |key: &str| text_at(root, key).and_then(|text| Instant::parse(&text));
    let (first, last) = (stamp("min_request_timestamp"), stamp("max_response_timestamp"));
    let known = first.is_some() && last.is_some();
    if known {
        sheet.partial.started = first;
    } else {
        sheet.partial.started_somewhere(said("start_time"));
    }
    sheet.partial.ended = if known { last } else { said("end_time") };
}

fn setup(sheet: &mut Sheet<'_, '_>, metrics: &At<'_>, root: &At<'_>) {
    sheet.partial.setup.tool = Some("aiperf".to_owned());
    sheet.partial.setup.tool_version = text_at(root, "aiperf_version");
    sheet.partial.setup.isl = average(metrics, "input_sequence_length");
    sheet.partial.setup.osl = average(metrics, "output_sequence_length");
    for key in ["schema_version", "was_cancelled", "is_complete", "run_info"] {
        if let Some(at) = root.get(key) {
            sheet.configuration(&at, key);
        }
    }
    let Some(config) = root.get("input_config") else { return };
    sheet.configuration(&config, "");
    let ways: [&[&str]; 4] = [&["endpoint", "model_names"], &["models"], &["model_names"], &["endpoint", "model"]];
    let named = ways.iter().find_map(|way| raw_at(&config, *way));
    let first = |items: &At<'_>| raw_at(&items.items().ok()?.next()?, "name");
    if let Some(model) = named.or_else(|| find(&config, ["models", "items"], first)) {
        sheet.model(&model);
    }
    let (concurrency, rate) = pace(&config);
    sheet.partial.setup.batch = concurrency;
    sheet.partial.setup.request_rate = rate;
    let length = |old: &str, new: &str, measured: &str| {
        number_at(&config, ["input", "prompt", old, "mean"])
            .or_else(|| dataset(&config, new))
            .or_else(|| common(metrics, measured))
    };
    sheet.partial.workload = cell(
        text_at(&config, ["input", "public_dataset"]).or_else(|| public(&config)).as_deref(),
        length("input_tokens", "isl", "input_sequence_length"),
        length("output_tokens", "osl", "output_sequence_length"),
        load(concurrency, rate),
    );
}

/// Concurrency and rate, of the settings in one group or of the first measured phase.
fn pace(config: &At<'_>) -> (Option<f64>, Option<f64>) {
    let phase = |keys: &[&str]| {
        find(config, "phases", |phases| {
            let phase = phases.items().ok()?.find(|phase| !is_warm_up(phase))?;
            keys.iter().find_map(|key| number_at(&phase, *key))
        })
    };
    (
        number_at(config, ["loadgen", "concurrency"]).or_else(|| phase(&["concurrency"])),
        number_at(config, ["loadgen", "request_rate"]).or_else(|| phase(&["rate", "request_rate"])),
    )
}

fn is_warm_up(phase: &At<'_>) -> bool {
    text_at(phase, "kind").as_deref() == Some("warmup")
        || text_at(phase, "name").as_deref() == Some("warmup")
        || bool_at(phase, "exclude_from_results") == Some(true)
}

/// Mean length that the first data set of the newer settings asks for.
fn dataset(config: &At<'_>, which: &str) -> Option<f64> {
    find(config, "datasets", |list| {
        let first = list.items().ok()?.next()?;
        number_at(&first, ["prompts", which, "mean"]).or_else(|| number_at(&first, ["prompts", which]))
    })
}

/// Name of the public data set of the newer settings.
fn public(config: &At<'_>) -> Option<String> {
    find(config, "datasets", |list| {
        let first = list.items().ok()?.next().filter(|set| text_at(set, "type").as_deref() == Some("public"))?;
        text_at(&first, "dataset").or_else(|| text_at(&first, "name"))
    })
}

/// The phase in whose folder a file lies: `.../phases/warmup/profile_export_aiperf.json`.
pub(super) fn phase_of(path: &str) -> Option<&str> {
    let mut parts = path.rsplit('/').skip(1);
    let phase = parts.next()?;
    (parts.next() == Some("phases")).then_some(phase)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Measured,
}

/// Whether a phase is a warm-up, and how many phases are measured.
fn kind_of(root: &At<'_>, name: &str) -> (Phase, usize) {
    let named = if name == "warmup" { Phase::WarmUp } else { Phase::Measured };
    let found = find(root, ["input_config", "phases"], |phases| {
        let (mut kind, mut measured) = (named, 0);
        for phase in phases.items().ok()? {
            let warm = is_warm_up(&phase);
            measured += usize::from(!warm);
            if text_at(&phase, "name").as_deref() == Some(name) {
                kind = if warm { Phase::WarmUp } else { Phase::Measured };
            }
        }
        Some((kind, measured))
    });
    found.unwrap_or((named, 1))
}

#[cfg(test)]
mod tests {
    use super::super::super::{PartialRun, Record};
    use super::*;

    const RUN: &str = r#"{"aiperf_version": "0.13.0", "request_count": {"unit": "requests", "avg": 4.0}, "error_request_count": null,
        "time_to_first_token": {"unit": "s", "avg": 0.5, "p99": null}, "telemetry_data": null,
        "input_config": {"models": {"items": [{"name": "org/m"}]}, "endpoint": {"urls": ["http://u:pw@box:1"]},
          "phases": [{"name": "warmup", "kind": "warmup", "concurrency": 9}, {"name": "profiling", "concurrency": 2, "rate": 1.5}]},
        "start_time": "2026-01-02T03:04:05", "was_cancelled": CANCELLED, "error_summary": []}"#;

    fn read(path: &str, cancelled: bool) -> (Option<PartialRun>, Parsed) {
        let text = RUN.replace("CANCELLED", &cancelled.to_string());
        assert!(Summary.sniff(&Head::new("x.json", &text, 1)));
        let mut input = text.as_bytes();
        let mut parsed = Summary.parse(&mut SourceFile::new(path, text.len() as u64, &mut input)).unwrap();
        let partial = parsed.records.pop().map(|r| if let Record::Run(partial) = r { *partial } else { panic!() });
        (partial, parsed)
    }

    #[test]
    fn units_of_the_file_decide_and_the_measured_phase_gives_the_load() {
        let (run, _) = read("r/profile_export_aiperf.json", false);
        let run = run.unwrap();
        assert_eq!((run.readings[0].metric.as_str(), run.readings[0].value, run.readings.len()), ("ttft_ms", 500.0, 1));
        assert_eq!((run.workload.as_deref(), run.setup.model_id.as_deref()), (Some("r1.5-c2"), Some("org/m")));
        assert_eq!((run.setup.requests, run.status.clone()), (Some(4.0), Some(Status::Done)));
        assert!(!format!("{run:?}").contains("box"), "no address is taken");
    }

    #[test]
    fn a_warm_up_is_no_run_and_a_cancelled_run_is_a_failed_one() {
        assert!(read("r/phases/warmup/profile_export_aiperf.json", false).0.is_none());
        assert!(
            read("r/phases/profiling/profile_export_aiperf.json", false).0.is_none(),
            "it repeats the summary above"
        );
        assert!(matches!(read("profile_export_aiperf.json", true).0.unwrap().status, Some(Status::Failed(_))));
    }
}
