//! `bench_full`: one stream at a time over a matrix of input and output lengths. It repeats each a few times, with the server's CUDA graphs.
//!
//! In:  one object.  Out: one partial run for each cell of the matrix.
//! Not here: memory, which such a file never holds (it is in the log of the server).
//!
//! Each figure is the average, least and largest of a few repeats of one request. There are no single values, so nothing but the range can
//! be said. `decode_throughput` is that of one stream **after** its first token and becomes the decode rate. `e2e_throughput` holds the
//! prefill too and is the output throughput at concurrency one. Seen: files of early 2026.

use super::at::At;
use super::serving::warm_up;
use super::sheet::{self, ExtraOf, Sheet};
use super::{About, Format, Head, Parsed, PartialRun, SourceFile, json};
use sparkbench_model::Status;
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct BenchFull;

const RULE: &str = "bench-full";
const DERIVED: &str = "bench-full.derived";

/// Key, metric, unit of what is no metric.
const FIGURES: &[(&str, &str, &str)] = &[
    ("ttft_ms", "ttft_ms", "ms"),
    ("tpot_ms", "tpot_ms", "ms"),
    ("decode_throughput", "decode_tok_s", "tok/s"),
    ("e2e_throughput", "output_throughput_tok_s", "tok/s"),
];
/// Lengths in tokens: asked for, and measured.
const LENGTHS: &[ExtraOf<'_>] = &[
    ("isl_target", "tokens", None),
    ("osl_target", "tokens", None),
    ("isl_actual", "tokens", None),
    ("osl_actual", "tokens", None),
];
const DECODE_ONLY: &str = "one stream, without its prefill";
const ONE_STREAM: &str = "one stream, with its prefill";

impl Format for BenchFull {
    fn name(&self) -> &'static str {
        "bench-full"
    }

    fn about(&self) -> About {
        About {
            tool: "bench_full",
            versions: "early 2026",
            sign: "an object with `test_matrix` and `results` that have `isl_target`",
            reads: "TTFT, TPOT, decode rate and output throughput of each cell with their range, the CUDA graph block",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let Some(outline) = head.object() else { return false };
        let cell = |key: &str, part: &str| outline.get(key).is_some_and(|list| list.is_list() && list.has(&[part]));
        cell("results", "isl_target") || (cell("test_matrix", "isl") && outline.has(&["cuda_graph_info"]))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let results = root.need("results")?;
        let mut parsed = Parsed::default();
        let mut partials = Vec::new();
        for result in results.items()?.take(sheet::RUNS) {
            match warm_up::note(&result) {
                Some(note) if !parsed.notes.contains(&note) => parsed.notes.push(note),
                Some(_) => {}
                None => partials.push(cell(file, &root, &result, &mut parsed)),
            }
        }
        let found = partials.len();
        sheet::records(partials, &mut parsed);
        let planned = root.get("test_matrix").and_then(|at| Some(at.items().ok()?.count())).unwrap_or(0);
        if planned > found {
            parsed.notes.push(format!("{} of {planned} cells of the matrix have no result", planned - found));
        }
        Ok(parsed)
    }
}

fn cell(file: &SourceFile<'_>, root: &At<'_>, result: &At<'_>, parsed: &mut Parsed) -> PartialRun {
    let mut sheet = Sheet::new(file, RULE, DERIVED);
    let count = |key: &str| sheet::number_at(result, key);
    for (key, metric, unit) in FIGURES {
        let Some(at) = result.get(key) else { continue };
        let why = match *key {
            "decode_throughput" => Some(DECODE_ONLY),
            "e2e_throughput" => Some(ONE_STREAM),
            _ => None,
        };
        for (statistic, value) in at.entries().into_iter().flatten() {
            match statistic {
                "avg" | "mean" => {
                    sheet.metric(&value, metric);
                }
                "max" if metric.ends_with("_ms") => {
                    sheet.metric(&value, &format!("{metric}_max"));
                }
                _ => sheet.extra(&value, &format!("{}_{statistic}", sheet::unit_of(key).0), unit, why),
            }
        }
    }
    if !sheet.partial.readings.is_empty() {
        sheet.partial.status = Some(Status::Done);
    }
    let target = [count("isl_target"), count("osl_target")];
    sheet.partial.workload = sheet::cell(None, target[0], target[1], None);
    let setup = &mut sheet.partial.setup;
    setup.tool = Some(RULE.to_owned());
    setup.batch = Some(1.0);
    setup.requests = sheet::number_at(root, "bench_runs");
    setup.max_model_len = sheet::number_at(root, "max_model_len");
    setup.isl = count("isl_actual").or(target[0]);
    setup.osl = count("osl_actual").or(target[1]);
    if let Some(id) = sheet::text_at(root, "model") {
        sheet.model(&id);
    }
    sheet.extras(result, LENGTHS);
    for key in ["regime", "label"] {
        if let Some(text) = sheet::text_at(result, key) {
            sheet.setting(key, text);
        }
    }
    // The time of writing: the last cell had ended by then, when the others did is not said.
    if let Some(at) = root.get("timestamp") {
        sheet.setting_at(&at, "written");
    }
    let lengths = LENGTHS.iter().map(|(key, ..)| *key);
    let known: Vec<&str> = FIGURES.iter().map(|(key, ..)| *key).chain(lengths).chain(["regime", "label"]).collect();
    sheet.rest(result, &known, None);
    if let Some(graphs) = root.get("cuda_graph_info") {
        sheet.leaf(&graphs, "cuda_graph_info", None);
    }
    sheet.rest(
        root,
        &["model", "max_model_len", "bench_runs", "cuda_graph_info", "test_matrix", "results", "timestamp"],
        None,
    );
    sheet.into(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn a_cell_is_a_run_and_decode_throughput_is_no_output_throughput() {
        let text = r#"{"model": "org/m", "max_model_len": 4096, "bench_runs": 3,
          "cuda_graph_info": {"compilation_mode": null, "capture_sizes": [], "num_graphs": null},
          "test_matrix": [{"isl": 128, "osl": 64, "label": "a"}, {"isl": 1, "osl": 1, "label": "b"}],
          "results": [{"regime": "r", "label": "a", "isl_target": 128, "osl_target": 64, "isl_actual": 115, "osl_actual": 64,
            "ttft_ms": {"avg": 11.5, "min": 10.0, "max": 13.0}, "decode_throughput": {"avg": 40.5, "min": 40.0, "max": 41.0},
            "e2e_throughput": {"avg": 30.1, "min": 30.0, "max": 30.2}}], "timestamp": "2026-02-19T15:55:38"}"#;
        let mut input = text.as_bytes();
        let parsed = BenchFull.parse(&mut SourceFile::new("b.json", text.len() as u64, &mut input)).unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(
            found,
            [("ttft_ms", 11.5), ("ttft_ms_max", 13.0), ("decode_tok_s", 40.5), ("output_throughput_tok_s", 30.1)]
        );
        assert_eq!(
            (partial.workload.as_deref(), partial.setup.isl, partial.setup.batch),
            (Some("128-64"), Some(115.0), Some(1.0))
        );
        let names: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
        assert_eq!(
            names[..5],
            ["ttft_min", "decode_throughput_min", "decode_throughput_max", "e2e_throughput_min", "e2e_throughput_max"]
        );
        assert_eq!(parsed.notes, ["1 of 2 cells of the matrix have no result"]);
    }
}
