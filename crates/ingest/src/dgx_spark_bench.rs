//! Results of the dgx-spark-bench leaderboard.
//!
//! In:  one object with series of points, one for each concurrency.  Out: one partial run for each point.
//! Not here: what a series that was not measured would mean: its figures are shown, and are no metrics.
//!
//! A point without samples is a run in which all requests failed, whatever zeros are in it. Seen: schema 1.0.

use super::at::At;
use super::serving::warm_up;
use super::sheet::{self, Scale, Sheet};
use super::{About, Format, Head, Parsed, PartialRun, SourceFile, json};
use sparkbench_model::Status;
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct DgxSparkBench;

const RULE: &str = "dgx-spark-bench";
const DERIVED: &str = "dgx-spark-bench.derived";
/// Parameters that a model counts in.
const BILLION: f64 = 1e9;
/// The status of a series that may enter statistics.
const MEASURED: &str = "measured";

const PROJECTED: &str = "the file says that it was not measured";
const SESSION: &str = "of one session, and the file does not say whether it includes the prefill";
const ONE_SAMPLE: &str = "the file does not say over what time";
const FILE_SIZE: &str = "size of the checkpoint, not memory in use";

impl Format for DgxSparkBench {
    fn name(&self) -> &'static str {
        "dgx-spark-bench"
    }

    fn about(&self) -> About {
        About {
            tool: "dgx-spark-bench",
            versions: "schema 1.0",
            sign: "an object with `schema_version`, `run`, and `series` that have `points`",
            reads: "output throughput, TTFT and ITL percentiles by concurrency, hardware, settings, power and temperature samples",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(outline) = head.object().filter(|outline| outline.has(&["schema_version", "run"])) else {
            return false;
        };
        // A long list of settings may push the points out of sight.
        outline.get("series").is_some_and(|series| {
            series.is_list() && (series.has(&["points"]) || series.has(&["model", "status", "config"]))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let series = root.need("series")?;
        let mut parsed = Parsed::default();
        let mut partials = Vec::new();
        for line in series.items()?.take(sheet::RUNS) {
            let status = sheet::text_at(&line, "status");
            let measured = status.as_deref() == Some(MEASURED);
            if !measured {
                let name = sheet::text_at(&line, "model").unwrap_or_else(|| "a series".to_owned());
                let word = status.unwrap_or_else(|| "nothing on how it was obtained".to_owned());
                parsed
                    .notes
                    .push(format!("{name}: the file says '{word}', so its figures are shown and enter no statistics"));
            }
            let Some(points) = line.get("points") else { continue };
            for point in points.items()?.take(sheet::RUNS - partials.len()) {
                match warm_up::note(&point) {
                    Some(note) if !parsed.notes.contains(&note) => parsed.notes.push(note),
                    Some(_) => {}
                    None => partials.push(run(file, &root, &line, &point, measured, &mut parsed)),
                }
            }
        }
        sheet::records(partials, &mut parsed);
        Ok(parsed)
    }
}

fn run(
    file: &SourceFile<'_>,
    root: &At<'_>,
    line: &At<'_>,
    point: &At<'_>,
    measured: bool,
    parsed: &mut Parsed,
) -> PartialRun {
    let mut sheet = Sheet::new(file, RULE, DERIVED);
    sheet.partial.setup.tool = Some(RULE.to_owned());
    let (samples, failures) = (sheet::number_at(point, "samples"), sheet::number_at(point, "_failures"));
    let failed = samples == Some(0.0);
    sheet.partial.status = measured.then(|| sheet::outcome(samples, failures).unwrap_or(Status::Done));
    let why = (!measured).then_some(PROJECTED);
    // Zeros of a point that failed are nothing, and figures that were not measured are no metrics.
    if let Some(at) = point.get("agg_tok_s").filter(|_| !failed) {
        if measured {
            sheet.metric(&at, "output_throughput_tok_s");
        } else {
            sheet.extra(&at, "agg", "tok/s", why);
        }
    }
    for key in ["ttft_ms", "itl_ms"] {
        if let Some(at) = point.get(key).filter(|_| !failed) {
            let metric = measured.then_some((key, Scale::One));
            sheet.statistics(&at, metric, (sheet::unit_of(key).0, "ms", why));
        }
    }
    if let Some(at) = point.get("per_session_tok_s").filter(|_| !failed) {
        sheet.extra(&at, "per_session", "tok/s", why.or(Some(SESSION)));
    }
    for (key, name) in [("samples", "samples"), ("_failures", "failures")] {
        if let Some(at) = point.get(key) {
            sheet.extra(&at, name, "requests", why);
        }
    }
    if let Some(gpu) = point.get("gpu") {
        for (key, at) in gpu.entries().into_iter().flatten() {
            let (name, unit) = sheet::unit_of(key);
            match at.node.kind {
                json::Kind::Number(_) => sheet.extra(&at, &format!("gpu.{name}"), unit, why.or(Some(ONE_SAMPLE))),
                _ => sheet.leaf(&at, &format!("gpu.{key}"), None),
            }
        }
    }
    let known = ["concurrency", "agg_tok_s", "per_session_tok_s", "ttft_ms", "itl_ms", "samples", "_failures", "gpu"];
    sheet.rest(point, &known, why);
    labels(root, line, point, &mut sheet);
    sheet.partial.setup.requests =
        samples.map(|samples| samples + failures.unwrap_or(0.0)).filter(|requests| *requests > 0.0);
    sheet.into(parsed)
}

fn labels(root: &At<'_>, line: &At<'_>, point: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    if let Some(id) = sheet::text_at(line, "model") {
        sheet.partial.model = Some(id.clone());
        sheet.partial.setup.model_id = Some(id);
    }
    let setup = &mut sheet.partial.setup;
    setup.batch = sheet::number_at(point, "concurrency");
    setup.quantisation = sheet::text_at(line, "quant");
    setup.engine = sheet::text_at(line, "backend");
    setup.parameters = sheet::number_at(line, "params_b").map(|billions| billions * BILLION);
    if let Some(config) = line.get("config") {
        let setup = &mut sheet.partial.setup;
        setup.max_model_len = sheet::number_at(&config, "max_model_len").or_else(|| sheet::number_at(&config, "ctx"));
        setup.memory_utilisation = sheet::number_at(&config, "gpu_memory_utilization");
        setup.kv_dtype = sheet::text_at(&config, "kv_cache_dtype");
        setup.speculative = sheet::text_at(&config, "speculative");
        setup.prefix_cache = sheet::bool_at(&config, "prefix_caching");
        sheet.settings_but(&config, "", &["note"]);
    }
    if let Some(at) = line.get("weights_gb") {
        sheet.extra(&at, "weights", "GB", Some(FILE_SIZE));
    }
    sheet.settings_of(line, "", &["id"]);
    sheet.rest(
        line,
        &["id", "model", "quant", "backend", "params_b", "config", "weights_gb", "points", "recipe_url"],
        None,
    );
    let mut name = None;
    if let Some(run) = root.get("run") {
        // One moment for the whole sweep: no point's own.
        if let Some(at) = run.get("timestamp") {
            sheet.setting_at(&at, "sweep_timestamp");
        }
        sheet.partial.setup.tool_version = sheet::text_at(&run, "harness_version");
        if let Some(hardware) = run.get("hardware") {
            sheet.partial.setup.machine = sheet::text_at(&hardware, "name");
            sheet.settings_but(&hardware, "hardware.", &["name"]);
        }
        if let Some(workload) = run.get("workload") {
            name = sheet::text_at(&workload, "name");
            sheet.partial.setup.isl = sheet::number_at(&workload, "prompt_tokens");
            sheet.partial.setup.osl = sheet::number_at(&workload, "output_tokens");
            sheet.rest(&workload, &["name", "prompt_tokens", "output_tokens"], None);
        }
        if let Some(sweep) = run.get("sweep") {
            sheet.settings_but(&sweep, "", &[]);
        }
        sheet.rest(&run, &["id", "timestamp", "harness_version", "hardware", "workload", "sweep"], None);
    }
    let setup = &sheet.partial.setup;
    let load = sheet::load(setup.batch, None);
    sheet.partial.workload = sheet::cell(name.as_deref(), setup.isl, setup.osl, load);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    fn read(series: &str) -> (Vec<PartialRun>, Parsed) {
        let text = format!(
            r#"{{"schema_version": "1.0", "run": {{"timestamp": "2026-07-21T11:46:31Z", "hardware": {{"name": "box", "mem_gb": 128}},
               "workload": {{"name": "chat", "prompt_tokens": 8, "output_tokens": 4}}}}, "series": [{series}]}}"#
        );
        let mut input = text.as_bytes();
        let mut parsed = DgxSparkBench.parse(&mut SourceFile::new("r.json", text.len() as u64, &mut input)).unwrap();
        let partials = parsed.records.drain(..).filter_map(|r| if let Record::Run(p) = r { Some(*p) } else { None });
        (partials.collect(), parsed)
    }

    #[test]
    fn a_point_is_a_run_with_the_percentiles_that_are_there() {
        let (partials, _) = read(
            r#"{"model": "m", "status": "measured", "points": [{"concurrency": 2, "agg_tok_s": 40.5, "per_session_tok_s": 21.0,
               "ttft_ms": {"p50": 500, "p95": 600}, "samples": 9, "gpu": {"power_draw_w": 40.2, "temperature_c": 60}}]}"#,
        );
        let found: Vec<(&str, f64)> = partials[0].readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(found, [("output_throughput_tok_s", 40.5), ("ttft_ms_p50", 500.0), ("ttft_ms_p95", 600.0)]);
        assert_eq!(
            (partials[0].workload.as_deref(), partials[0].setup.machine.as_deref()),
            (Some("chat-8-4-c2"), Some("box"))
        );
        assert!(partials[0].extras.iter().any(|extra| extra.name == "gpu.power_draw" && extra.unit == "W"));
    }

    #[test]
    fn what_was_not_measured_is_no_metric_and_zeros_of_failed_requests_are_nothing() {
        let (partials, parsed) = read(
            r#"{"model": "m", "status": "projected", "points": [{"concurrency": 1, "agg_tok_s": 40.5}]},
               {"model": "n", "status": "measured", "points": [{"concurrency": 1, "agg_tok_s": 0.0, "ttft_ms": {"p50": 0}, "samples": 0, "_failures": 7}]}"#,
        );
        assert!(partials[0].readings.is_empty() && partials[0].extras.iter().any(|extra| extra.why == Some(PROJECTED)));
        assert_eq!(parsed.notes.len(), 1);
        assert!(partials[1].readings.is_empty());
        assert_eq!(partials[1].status, Some(Status::Failed("all 7 requests failed".to_owned())));
    }
}
