//! `profile_export_genai_perf.json` and its CSV: the summary of one GenAI-Perf run.
//!
//! In:  metric objects at the top level beside `input_config` (for the CSV see `tables`).  Out: one partial run.
//! Not here: the requests (see `genai_raw`).
//!
//! GenAI-Perf is the predecessor of AIPerf and its metrics mean the same. Its `inter_token_latency` is per request too. Written from the
//! source of 0.0.4 to 0.0.16, because no output of a run was found. Units may be `per sec`, and nanoseconds in older versions.

use super::super::at::At;
use super::super::json;
use super::super::sheet::{Sheet, cell, load, number_at, raw_at};
use super::super::{About, Format, Head, JoinRole, Parsed, SourceFile};
use super::{GENAI, GENAI_DERIVED, gpus, is_metric, mark, spread, tables, tag_of};
use sparkbench_model::Status;
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct GenaiPerf;

impl Format for GenaiPerf {
    fn name(&self) -> &'static str {
        "genai-perf"
    }

    fn about(&self) -> About {
        About {
            tool: "GenAI-Perf, profile_export_genai_perf.json and .csv",
            versions: "0.0.4 to 0.0.16",
            sign: "an object with metric objects `request_throughput` or `request_latency` and `input_config`, or a header `Metric,avg,min,max,p99`",
            reads: "throughput, TTFT, TPOT, E2E latency, figures of GPUs, all other metrics",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let header = head.header();
        if tables::is_header(&header) && tables::counts_down(&header) {
            return true;
        }
        let Some(object) = head.object() else { return false };
        let is_metric = |key: &str| object.get(key).is_some_and(|at| at.has(&["unit", "avg"]));
        (is_metric("request_throughput") || is_metric("request_latency")) && object.get("records").is_none()
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let name = file.name().to_ascii_lowercase();
        if name.ends_with(".csv") {
            return tables::read(file, GENAI, "genai-perf");
        }
        let text = file.text()?;
        if !text.trim_start().starts_with('{') {
            let mut input = text.as_bytes();
            return tables::read(&mut SourceFile::new(file.path, file.bytes, &mut input), GENAI, "genai-perf");
        }
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let mut sheet = Sheet::new(file, GENAI, GENAI_DERIVED).with_zero_tpot();
        let count = number_at(&root, ["request_count", "avg"]);
        let failed = count.is_some_and(|count| count <= 0.0);
        for (key, at) in root.entries()? {
            match key {
                "input_config" => sheet.configuration(&at, ""),
                "telemetry_stats" => gpus::by_metric(&mut sheet, &at),
                "sessions" => {
                    for (place, (_, session)) in at.entries().into_iter().flatten().enumerate() {
                        for (tag, metric) in session.entries().into_iter().flatten() {
                            spread(&mut sheet, &format!("session{place}."), &tag_of(tag), &metric, false);
                        }
                    }
                }
                _ if is_metric(&at) => spread(&mut sheet, "", &tag_of(key), &at, !failed),
                _ => sheet.numbers(&at, &tag_of(key), "", None),
            }
        }
        setup(&mut sheet, &root);
        sheet.partial.setup.requests = count;
        sheet.partial.status =
            Some(if failed { Status::Failed("no request succeeded".to_owned()) } else { Status::Done });
        sheet.partial.fingerprint = mark(
            "genai-perf",
            [
                count,
                number_at(&root, ["request_throughput", "avg"]),
                number_at(&root, ["output_token_throughput", "avg"]),
                number_at(&root, ["request_latency", "avg"]),
            ],
        );
        sheet.partial.join_role = JoinRole::Base;
        sheet.finish(&mut parsed);
        Ok(parsed)
    }
}

/// Model, lengths and load: flat in the older settings, in groups in the newer ones.
fn setup(sheet: &mut Sheet<'_, '_>, root: &At<'_>) {
    let at = |paths: &[&[&str]]| -> Option<f64> {
        paths.iter().find_map(|path| {
            let path: Vec<&str> = std::iter::once("input_config").chain(path.iter().copied()).collect();
            number_at(root, path.as_slice())
        })
    };
    let model: [&[&str]; 4] = [
        &["input_config", "model_names"],
        &["input_config", "model"],
        &["input_config", "models"],
        &["input_config", "endpoint", "model_names"],
    ];
    if let Some(model) = model.iter().find_map(|path| raw_at(root, *path)) {
        sheet.model(&model);
    }
    let setup = &mut sheet.partial.setup;
    setup.tool = Some("genai-perf".to_owned());
    setup.batch = at(&[&["perf_analyzer", "stimulus", "concurrency"], &["concurrency"]]);
    setup.request_rate = at(&[&["perf_analyzer", "stimulus", "request_rate"], &["request_rate"]]);
    setup.isl = number_at(root, ["input_sequence_length", "avg"]);
    setup.osl = number_at(root, ["output_sequence_length", "avg"]);
    let isl = at(&[&["input", "synthetic_tokens", "mean"], &["synthetic_input_tokens_mean"]]);
    let osl = at(&[&["input", "output_tokens", "mean"], &["output_tokens_mean"]]).filter(|osl| *osl > 0.0);
    let load = load(setup.batch, setup.request_rate);
    sheet.partial.workload = cell(None, isl, osl, load);
}
