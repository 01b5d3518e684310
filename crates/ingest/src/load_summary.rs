//! The summary of a streaming load, `sparkbench.load/1`: what `sparkbench load --json FILE` writes.
//!
//! In:  one object, or a list of them: a sweep.  Out: one partial run for each, with every figure in it. Null means not measured.
//! Not here: the requests behind it (see `requests`). Where both are in the folder of one run, the requests are read.
//!
//! Latencies of such a file are those of its definitions (`definition` beside each figure), which are those of `requests.jsonl`.

use super::at::At;
use super::schema::unknown_schema;
use super::sheet::STATISTICS;
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, Share, SourceFile, json};
use sparkbench_model::{Extra, ExtraValue, Instant, Setup, Status, known_extra};
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct LoadSummary;

const RULE: &str = "sparkbench.load";
const SCHEMA: &str = "sparkbench.load/1";
const WORKLOAD: &str = "load";
/// How the CSV of the same loads begins.
const CSV: &str = "load,url,model,started_utc,";

/// Figures that are one number.
const PLAIN: &[&str] = &["request_throughput_req_s", "output_throughput_tok_s", "total_throughput_tok_s"];
/// Figures over requests.
const SPREAD: &[&str] = &["ttft_ms", "tpot_ms", "itl_ms", "e2e_latency_ms", "decode_tok_s"];

impl Format for LoadSummary {
    fn name(&self) -> &'static str {
        "load summary"
    }

    fn about(&self) -> About {
        About {
            tool: "sparkbench load",
            versions: "sparkbench.load/1",
            sign: "an object with that schema, or a list of them",
            reads: "throughput, TTFT, TPOT, ITL, E2E latency, lengths, the certificate of the client",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_json = head.is_object() || head.text.trim_start().starts_with('[');
        (is_json && head.text.contains("\"sparkbench.load/")) || head.text.starts_with(CSV)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        if text.starts_with(CSV) {
            return Err(Error::archive("the CSV of 'sparkbench load' is for spreadsheets and lacks most of a load")
                .hint("give the file of --json, or the archive"));
        }
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        if matches!(node.kind, json::Kind::List(_)) {
            for load in root.items()? {
                // Each load is a run of its own: nothing beside the file can tell which of them it belongs to.
                let run = PartialRun { join_role: JoinRole::Alone, ..one(file, &load, &mut parsed)? };
                parsed.records.push(Record::Run(Box::new(run)));
            }
        } else {
            let run = one(file, &root, &mut parsed)?;
            parsed.records.push(Record::Run(Box::new(run)));
        }
        Ok(parsed)
    }
}

/// Reads one summary.
fn one(file: &SourceFile<'_>, root: &At<'_>, parsed: &mut Parsed) -> Result<PartialRun, Error> {
    let schema = root.need("schema")?.text()?.unwrap_or_default();
    if schema != SCHEMA {
        return Err(unknown_schema(schema, &[SCHEMA]));
    }
    partial(file, root, parsed)
}

/// `load-128-32-c4`: loads that ask for different work are never repeats of each other. Lengths as they were asked for.
fn workload(root: &At<'_>) -> String {
    let shown = |name: &str| -> Option<String> {
        let settings = root.get("settings")?;
        let at = settings.get(name)?;
        at.text()
            .ok()
            .flatten()
            .map(str::to_owned)
            .or_else(|| at.figure().ok()?.finite().map(|found| found.to_string()))
    };
    let lengths = shown("isl").zip(shown("osl")).map(|(isl, osl)| format!("-{isl}-{osl}"));
    let amount = [("num_clients", "clients"), ("rate_req_s", "r"), ("concurrency", "c")]
        .into_iter()
        .find_map(|(name, short)| Some(format!("-{short}{}", shown(name)?)));
    format!("{WORKLOAD}{}{}", lengths.unwrap_or_default(), amount.unwrap_or_default())
}

fn partial(file: &SourceFile<'_>, root: &At<'_>, parsed: &mut Parsed) -> Result<PartialRun, Error> {
    let text = |name: &str| -> Result<Option<String>, Error> {
        let Some(found) = root.get(name) else { return Ok(None) };
        Ok(found.text()?.filter(|text| !text.is_empty()).map(str::to_owned))
    };
    let count = |name: &str| -> Result<Option<i64>, Error> { root.get(name).map_or(Ok(None), |found| found.whole()) };
    let started = root.get("started_utc").and_then(|at| Some((at, at.text().ok()??)));
    let started =
        started.map(|(at, text)| Instant::parse(text).ok_or_else(|| at.unlike("a moment as ISO 8601"))).transpose()?;
    let (completed, failed) = (count("completed")?, count("failed")?);
    let model = text("model")?;
    let length = |name: &str| {
        let median = |which: &str| figure_at(root, &["lengths", &format!("{name}_{which}_p50")]);
        median("asked").or_else(|| median("reported"))
    };
    let mut partial = PartialRun {
        join_role: JoinRole::Trace,
        model: model.clone(),
        workload: Some(workload(root)),
        started,
        setup: Setup {
            tool: Some(Setup::OWN_CLIENT.to_owned()),
            tool_version: version(root),
            model_id: model,
            model_served: served(root),
            requests: completed.zip(failed).map(|(completed, failed)| (completed + failed) as f64),
            // Of conversations each client has one turn in flight. What stood beside it as concurrency was once a default.
            batch: figure_at(root, &["settings", "num_clients"])
                .or_else(|| figure_at(root, &["settings", "concurrency"])),
            // The setting, where there is one: the outcome may differ from run to run.
            isl: length("isl"),
            osl: length("osl"),
            ..Setup::default()
        },
        ..PartialRun::default()
    };
    partial.share = share(root, started);
    partial.status = match (completed, failed) {
        (Some(0), Some(failed)) => Some(Status::Failed(format!("all {failed} requests failed"))),
        (Some(_), Some(_)) => Some(Status::Done),
        _ => None,
    };
    for name in PLAIN {
        if let Some(at) = root.get(name) {
            reading(file, &at, name, &mut partial, parsed);
        }
    }
    for name in SPREAD {
        let Some(at) = root.get(name) else { continue };
        for (key, suffix) in STATISTICS {
            if let Some(value) = at.get(key) {
                reading(file, &value, &format!("{name}{suffix}"), &mut partial, parsed);
            }
        }
    }
    if let Some(failed) = failed.filter(|failed| *failed > 0) {
        let all = failed + completed.unwrap_or(0);
        parsed.notes.push(format!("{failed} of {all} requests failed. They are excluded from latencies"));
    }
    let place = root.pointer();
    let mut extra = |name: &str, value: ExtraValue, field: &str| {
        let origin = file.origin(None, Some(format!("{place}{field}")), RULE);
        partial.extras.push(Extra { name: name.to_owned(), unit: String::new(), value, why: None, origin });
    };
    if let Some((answered, failed)) = completed.zip(failed) {
        extra("completed_requests", ExtraValue::Number(answered as f64), "/completed");
        extra("failed_requests", ExtraValue::Number(failed as f64), "/failed");
    }
    if let Some(client) = root.get("client")
        && let Some(because) = client.get("because")
        && let Ok(reasons) = because.items()
    {
        let reasons: Vec<&str> = reasons.filter_map(|at| node_text(&at)).collect();
        let said = if reasons.is_empty() { "no".to_owned() } else { reasons.join("; ") };
        extra(known_extra::CLIENT_LIMITED, ExtraValue::Text(said), "/client/because");
        if !reasons.is_empty() {
            parsed.notes.push(format!("the client may have been the limit: {}", reasons.join("; ")));
        }
    }
    Ok(partial)
}

/// Which part of a plan it is, where a client of several loaded apart. One that met the others says how many they were and no rank.
fn share(root: &At<'_>, started: Option<Instant>) -> Option<Share> {
    let settings = root.get("settings")?;
    let number = |name: &str| -> Option<u32> { u32::try_from(settings.get(name)?.whole().ok()??).ok() };
    let plan = settings.get("plan_sha256").and_then(|at| node_text(&at).map(str::to_owned))?;
    Some(Share { rank: number("rank")?, world: number("world").filter(|world| *world > 1)?, plan, started })
}

/// The text of a place, for as long as the document lives.
fn node_text<'a>(at: &At<'a>) -> Option<&'a str> {
    match &at.node.kind {
        json::Kind::Text(text) => Some(text.as_ref()),
        _ => None,
    }
}

/// A figure that is there. Null was not measured, anything else is left out and named.
fn reading(file: &SourceFile<'_>, at: &At<'_>, metric: &str, partial: &mut PartialRun, parsed: &mut Parsed) {
    match file.reading(metric, at, RULE) {
        Ok(reading) if reading.value.is_nan() => {}
        Ok(reading) => partial.readings.push(reading),
        Err(error) => parsed.left_out.push(error),
    }
}

/// The model that responses named, where it was one.
fn served(root: &At<'_>) -> Option<String> {
    let models = root.get("models_seen")?;
    let mut names = models.entries().ok()?.map(|(name, _)| name.to_owned());
    names.next().filter(|_| names.next().is_none())
}

/// The version of this program that wrote it.
fn version(root: &At<'_>) -> Option<String> {
    let tool = root.get("tool")?;
    let at = tool.get("version")?;
    node_text(&at).map(str::to_owned)
}

/// A number at the end of a path, where there is one.
fn figure_at(root: &At<'_>, path: &[&str]) -> Option<f64> {
    let [outer, inner] = path else { return None };
    root.get(outer)?.get(inner)?.figure().ok()?.finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Parsed, Error> {
        let mut input = text.as_bytes();
        LoadSummary.parse(&mut SourceFile::new("load.json", text.len() as u64, &mut input))
    }

    #[test]
    fn a_figure_that_is_null_is_no_reading_and_a_limited_client_is_said() {
        let parsed = read(
            "{\"schema\": \"sparkbench.load/1\", \"tool\": {\"name\": \"sparkbench\", \"version\": \"0.1.0\"}, \"model\": \"m\", \"models_seen\": {\"org/m\": 3}, \"completed\": 3, \"failed\": 1,\n\
             \"started_utc\": \"2026-01-01T00:00:00Z\", \"output_throughput_tok_s\": null, \"request_throughput_req_s\": 2.5,\n\
             \"ttft_ms\": {\"mean\": 12.5, \"p50\": 12, \"p99\": null}, \"itl_ms\": {\"mean\": \"soon\"},\n\
             \"client\": {\"limited\": true, \"because\": [\"its thread was busy\"]}}",
        )
        .unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(found, [("request_throughput_req_s", 2.5), ("ttft_ms", 12.5), ("ttft_ms_p50", 12.0)]);
        assert_eq!((partial.setup.requests, partial.setup.model_served.as_deref()), (Some(4.0), Some("org/m")));
        assert_eq!(
            (partial.setup.tool.as_deref(), partial.setup.tool_version.as_deref()),
            (Some(Setup::OWN_CLIENT), Some("0.1.0"))
        );
        assert_eq!((&partial.status, partial.started.is_some()), (&Some(Status::Done), true));
        assert_eq!(parsed.notes.len(), 2);
        assert!(parsed.left_out[0].to_string().contains("/itl_ms/mean"), "{}", parsed.left_out[0]);
    }

    #[test]
    fn a_sweep_is_a_run_for_each_load_and_none_is_a_repeat_of_another() {
        let load = |settings: &str| {
            format!(
                "{{\"schema\": \"sparkbench.load/1\", \"settings\": {{{settings}}}, \"completed\": 3, \"failed\": 0, \"ttft_ms\": {{\"mean\": 12}}}}"
            )
        };
        let loads = [
            load("\"concurrency\": 1, \"isl\": \"128\", \"osl\": \"32\""),
            load("\"concurrency\": 4, \"isl\": \"128\", \"osl\": \"32\""),
            load("\"rate_req_s\": 2.5"),
            load("\"num_clients\": 3, \"concurrency\": 1"),
        ];
        let parsed = read(&format!("[{}]", loads.join(", "))).unwrap();
        let runs: Vec<&PartialRun> = parsed
            .records
            .iter()
            .filter_map(|record| match record {
                Record::Run(run) => Some(run.as_ref()),
                _ => None,
            })
            .collect();
        let names: Vec<&str> = runs.iter().filter_map(|run| run.workload.as_deref()).collect();
        assert_eq!(names, ["load-128-32-c1", "load-128-32-c4", "load-r2.5", "load-clients3"]);
        assert!(runs.iter().all(|run| run.join_role == JoinRole::Alone));
        assert_eq!(runs[1].readings[0].origin.field.as_deref(), Some("/1/ttft_ms/mean"));
        assert_eq!(runs[1].extras[0].origin.field.as_deref(), Some("/1/completed"));
    }

    #[test]
    fn the_csv_is_refused_with_what_to_give_instead() {
        let error = read("load,url,model,started_utc,settings.engine\nc1,u,m,,\n").unwrap_err().to_string();
        assert!(error.contains("--json"), "{error}");
    }

    #[test]
    fn another_version_is_refused_by_name() {
        let error = read("{\"schema\": \"sparkbench.load/2\"}").unwrap_err().to_string();
        assert!(error.contains("sparkbench.load/2"), "{error}");
    }
}
