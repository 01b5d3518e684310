//! `llama-bench -o json`, `-o jsonl`, `-o csv` and `-o sql`: each test is one run.
//!
//! In:  a list of tests, a line for each, rows, or statements that insert rows (see `sql`).  Out: a run for each test.
//! Not here: its tables (see `log::llama_bench`).
//!
//! A test without generation measures the prefill. Its rate is an extra, and its time is used as the TTFT, marked as derived. A test without
//! a prompt measures decoding at concurrency 1. Its TPOT is the mean time over the tokens, marked as derived. A test of both gives one rate
//! of both, which is neither. The size of the model is that of its file. `flash_attn` is true or false in older files and a number in newer
//! ones. `n_depth` came in 2025.
//!
//! Seen: builds of 2023 to 9859 (2026).

use std::borrow::Cow;

use super::super::at::At;
use super::super::json::{self, Kind, Node};
use super::super::rows::Rows;
use super::super::sheet::{Sheet, last_part, model_id, number_at, raw_at, text_at};
use super::super::source_file::JSON_LINE_LIMIT;
use super::super::{About, Format, Head, JoinRole, Parsed, SourceFile};
use super::{COMBINED, Test, bench_mark, quantisation, sql, sweep};
use sparkbench_model::Status;
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(crate) struct LlamaBench;

const RULE: &str = "llama-bench";
const DERIVED: &str = "llama-bench.derived";

/// Keys that every test has.
const SIGNS: &[&str] = &["model_filename", "avg_ns", "avg_ts"];
/// Keys that are taken one by one. All others are settings.
const TAKEN: &[&str] = &[
    "model_filename",
    "avg_ns",
    "stddev_ns",
    "avg_ts",
    "stddev_ts",
    "samples_ns",
    "samples_ts",
    "test_time",
    "cpu_info",
    "gpu_info",
];

impl Format for LlamaBench {
    fn name(&self) -> &'static str {
        "llama-bench"
    }

    fn about(&self) -> About {
        About {
            tool: "llama-bench of llama.cpp, -o json, -o jsonl, -o csv, -o sql",
            versions: "2023 to build 9859 (2026)",
            sign: "tests with `model_filename`, `avg_ns` and `avg_ts`",
            reads: "a run for each test: decode rate, TPOT, prefill rate and time, each repetition, the settings",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.outline().is_some_and(|outline| outline.has(SIGNS))
            || SIGNS.iter().all(|sign| head.header().contains(sign))
            || sql::is(head.text, SIGNS)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        match text.trim_start().chars().next() {
            Some('[') => list(file, &text, &mut parsed)?,
            Some('{') => lines(file, &text, &mut parsed)?,
            _ if sql::is(&text, SIGNS) => inserted(file, &text, &mut parsed),
            _ => rows(file, &text, &mut parsed),
        }
        sweep::tell(&mut parsed.records, sweep::Absent::Unknown);
        if parsed.records.is_empty() && parsed.left_out.is_empty() {
            return Err(Error::archive("no test of it has a result").hint("the program may have stopped early"));
        }
        Ok(parsed)
    }
}

fn list(file: &SourceFile<'_>, text: &str, parsed: &mut Parsed) -> Result<(), Error> {
    // A program that was stopped leaves a list without its end, and whole tests in it.
    let closed = |cause: Error| -> Result<String, Error> {
        let whole = text.rfind('}').and_then(|end| text.get(..=end)).map(|part| format!("{part}]"));
        whole.filter(|part| json::parse(part).is_ok()).ok_or(cause)
    };
    let (node, mended);
    match json::parse(text) {
        Ok(parsed) => node = parsed,
        Err(cause) => {
            mended = closed(cause)?;
            node = json::parse(&mended)?;
            parsed
                .notes
                .push("the list has no end: the program was stopped. The tests that are whole are read".to_owned());
        }
    }
    let root = At::root(&node);
    for test in root.items()? {
        one(Sheet::new(file, RULE, DERIVED), &test, parsed);
    }
    Ok(())
}

fn lines(file: &SourceFile<'_>, text: &str, parsed: &mut Parsed) -> Result<(), Error> {
    // One test as an object over several lines is no JSON Lines.
    if let Ok(node) = json::parse(text) {
        one(Sheet::new(file, RULE, DERIVED), &At::root(&node), parsed);
        return Ok(());
    }
    for (number, line) in (1u64..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        if line.len() > JSON_LINE_LIMIT {
            parsed.left_out.push(Error::archive("a line that is too long is left out").at(Place::Line(number)));
            continue;
        }
        match json::parse(line) {
            Ok(node) => one(Sheet::new(file, RULE, DERIVED).below(number - 1), &At::root(&node), parsed),
            Err(error) => parsed.left_out.push(error.at(Place::Line(number))),
        }
    }
    Ok(())
}

fn rows(file: &SourceFile<'_>, text: &str, parsed: &mut Parsed) {
    let mut header = csv::StringRecord::new();
    for row in Rows::new(text) {
        match row {
            Ok((_, row)) if header.is_empty() => header = row,
            // Files of several launches repeat the header.
            Ok((_, row)) if row == header => {}
            Ok((line, row)) => by_name(file, line, header.iter().zip(row.iter()), parsed),
            Err(error) => parsed.left_out.push(error),
        }
    }
}

fn inserted(file: &SourceFile<'_>, text: &str, parsed: &mut Parsed) {
    for row in sql::rows(text) {
        match row {
            Ok(row) => by_name(file, row.line, row.cells.iter().map(|(name, cell)| (*name, cell.as_ref())), parsed),
            Err(error) => parsed.left_out.push(error),
        }
    }
}

/// A row becomes the object that the JSON would hold.
fn by_name<'c>(file: &SourceFile<'_>, line: u64, cells: impl Iterator<Item = (&'c str, &'c str)>, parsed: &mut Parsed) {
    let node =
        |cell: &'c str| Node { line: u32::try_from(line).unwrap_or(u32::MAX), kind: Kind::Text(Cow::Borrowed(cell)) };
    let cells = cells.filter(|(_, cell)| !cell.is_empty());
    let map = cells.map(|(name, cell)| (Cow::Borrowed(name), node(cell))).collect();
    let root = Node { line: 0, kind: Kind::Map(map) };
    one(Sheet::new(file, RULE, DERIVED).row(line), &At::root(&root), parsed);
}

/// One test.
fn one(mut sheet: Sheet<'_, '_>, at: &At<'_>, parsed: &mut Parsed) {
    let count = |key: &str| number_at(at, key).map_or(0, |value| value.max(0.0) as u64);
    let (prompt, generated) = (count("n_prompt"), count("n_gen"));
    let test = Test {
        prompt: Some(prompt).filter(|count| *count > 0),
        generated: Some(generated).filter(|count| *count > 0),
        depth: count("n_depth"),
        ..Test::default()
    };
    let rate = number_at(at, "avg_ts");
    if test.prompt.or(test.generated).is_none() || rate.is_none() {
        let detail = "expected 'n_prompt' or 'n_gen', and 'avg_ts'";
        let place = Place::LineField(at.node.line.into(), at.pointer());
        sheet.wrong(Error::archive("a test is left out").at(place).detail(detail));
        sheet.into(parsed);
        return;
    }
    figures(&mut sheet, at, &test);
    settings(&mut sheet, at, &test);
    let kind = text_at(at, "model_type").unwrap_or_default();
    let deviation = number_at(at, "stddev_ts").unwrap_or(0.0);
    sheet.partial.fingerprint = rate.map(|rate| bench_mark(&kind, &test, rate, deviation));
    sheet.partial.join_role = JoinRole::Body;
    sheet.partial.status = Some(Status::Done);
    sheet.finish(parsed);
}

fn figures(sheet: &mut Sheet<'_, '_>, at: &At<'_>, test: &Test) {
    let (rate, time) = (at.get("avg_ts"), at.get("avg_ns"));
    match (test.prompt, test.generated) {
        (Some(_), None) => {
            if let Some(rate) = &rate {
                sheet.metric(rate, "prefill_tok_s");
            }
            if let Some((time, ns)) = time.as_ref().zip(number_at(at, "avg_ns")) {
                sheet.derive(time, "ttft_ms", ns / 1e6);
            }
            if let Some(samples) = at.get("samples_ns") {
                sheet.series_at(&samples, "ttft_ms", 1e-6, true);
            }
            if let Some(samples) = at.get("samples_ts") {
                sheet.series_at(&samples, "prefill_tok_s", 1.0, false);
            }
        }
        (None, Some(tokens)) => {
            if let Some(rate) = &rate {
                sheet.metric(rate, "output_throughput_tok_s");
                let value = sheet.metric(rate, "decode_tok_s").filter(|value| *value > 0.0);
                // The mean of the times is not one over the mean of the rates: the tests that took longest weigh more.
                if let Some((time, ns)) = time.as_ref().zip(number_at(at, "avg_ns").filter(|ns| *ns > 0.0)) {
                    sheet.derive(time, "tpot_ms", ns / 1e6 / tokens as f64);
                } else if let Some(value) = value {
                    sheet.derive(rate, "tpot_ms", 1000.0 / value);
                }
            }
            if let Some(time) = &time {
                sheet.extra(time, "avg_ns", "ns", None);
            }
            if let Some(samples) = at.get("samples_ts") {
                sheet.series_at(&samples, "output_throughput_tok_s", 1.0, false);
            }
            if let Some(samples) = at.get("samples_ns") {
                sheet.list_at(&samples, "samples_ns");
            }
        }
        _ => {
            if let Some(rate) = &rate {
                sheet.extra(rate, "combined_throughput", "tok/s", Some(COMBINED));
            }
            if let Some(time) = &time {
                sheet.extra(time, "avg_ns", "ns", None);
            }
            for key in ["samples_ts", "samples_ns"] {
                if let Some(samples) = at.get(key) {
                    sheet.list_at(&samples, key);
                }
            }
        }
    }
    sheet.extras(at, &[("stddev_ts", "tok/s", None), ("stddev_ns", "ns", None)]);
    if let Some((size, bytes)) = at.get("model_size").zip(number_at(at, "model_size")).filter(|(_, bytes)| *bytes > 0.0)
    {
        let gib = bytes / f64::from(1u32 << 30);
        sheet.derive(&size, "model_memory_gib", gib);
        sheet.partial.setup.model_memory_gib = Some(gib);
    }
}

fn settings(sheet: &mut Sheet<'_, '_>, at: &At<'_>, test: &Test) {
    for (key, value) in at.entries().into_iter().flatten().filter(|(key, _)| !TAKEN.contains(key)) {
        sheet.configuration(&value, key);
    }
    let text = |key: &str| text_at(at, key);
    let file = raw_at(at, "model_filename");
    let (file_id, model) = file.as_deref().map_or((None, None), names);
    let build = text("build_commit").map(|commit| match number_at(at, "build_number") {
        Some(number) => format!("{commit} ({number})"),
        None => commit,
    });
    let partial = &mut sheet.partial;
    partial.model = model.or_else(|| text("model_type"));
    partial.workload = Some(test.workload());
    if let Some(time) = text("test_time") {
        partial.started_as(&time);
    }
    let setup = &mut partial.setup;
    setup.model_id = file_id;
    setup.machine = text("gpu_info").or_else(|| text("cpu_info"));
    if let Some(cpu) = text("cpu_info") {
        setup.more.insert("cpu_info".to_owned(), cpu);
    }
    setup.engine = Some("llama.cpp".to_owned());
    setup.engine_version.clone_from(&build);
    setup.tool = Some("llama-bench".to_owned());
    setup.tool_version = build;
    setup.quantisation = text("model_type").as_deref().and_then(quantisation);
    if let Some(kind) = text("model_type") {
        setup.more.insert("model_type".to_owned(), kind);
    }
    setup.parameters = number_at(at, "model_n_params").filter(|count| *count > 0.0);
    setup.batch = Some(1.0);
    (setup.isl, setup.osl) = (Some(test.prompt.unwrap_or(0) as f64), Some(test.generated.unwrap_or(0) as f64));
    setup.requests = at.get("samples_ns").and_then(|samples| samples.items().ok().map(|items| items.count() as f64));
    setup.kv_dtype = match (text("type_k"), text("type_v")) {
        (Some(k), Some(v)) if k != v => Some(format!("{k}/{v}")),
        (k, v) => k.or(v),
    };
}

/// Id and label of a model file: a cache of Hugging Face names the repository in the path.
fn names(path: &str) -> (Option<String>, Option<String>) {
    let file = last_part(path);
    let id = if path.contains("models--") { model_id(path) } else { model_id(file) };
    (id, Some(file.strip_suffix(".gguf").unwrap_or(file).to_owned()).filter(|label| !label.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::super::super::{PartialRun, Record};
    use super::*;

    const PP: &str = r#"{"build_commit": "abc", "build_number": 7, "model_filename": "/home/someone/models/m-Q4_0.gguf", "model_type": "llama 7B Q4_0",
        "model_size": 1073741824, "model_n_params": 7000, "gpu_info": "NVIDIA GB10", "type_k": "f16", "type_v": "f16", "flash_attn": true,
        "n_prompt": 512, "n_gen": 0, "n_depth": 4096, "test_time": "2026-01-02T03:04:05Z", "avg_ns": 2000000, "stddev_ns": 5,
        "avg_ts": 256000.5, "stddev_ts": 1.25, "samples_ns": [1000000, 3000000], "samples_ts": [512000, 170666.7]}"#;

    fn read(text: &str) -> (Vec<PartialRun>, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed = LlamaBench.parse(&mut SourceFile::new("bench.json", text.len() as u64, &mut input)).unwrap();
        let partials =
            parsed.records.drain(..).map(|r| if let Record::Run(partial) = r { *partial } else { panic!() }).collect();
        (partials, parsed)
    }

    fn readings(partial: &PartialRun) -> Vec<(&str, f64, &str)> {
        partial.readings.iter().map(|r| (r.metric.as_str(), r.value, r.origin.rule)).collect()
    }

    #[test]
    fn a_prefill_test_gives_a_time_that_is_said_to_be_derived() {
        let (partials, _) = read(&format!("[{PP}]"));
        let run = &partials[0];
        assert_eq!(
            readings(run),
            [("prefill_tok_s", 256000.5, RULE), ("ttft_ms", 2.0, DERIVED), ("model_memory_gib", 1.0, DERIVED)]
        );
        assert_eq!(run.series[0].values, [1.0, 3.0]);
        assert_eq!((run.workload.as_deref(), run.model.as_deref()), (Some("pp512-d4096"), Some("m-Q4_0")));
        assert_eq!(
            (run.setup.model_id.as_deref(), run.setup.quantisation.as_deref()),
            (Some("m-Q4_0.gguf"), Some("Q4_0"))
        );
        assert_eq!(run.fingerprint.as_deref(), Some("llama-bench|llama 7B Q4_0|pp512 @ d4096|256000.50|1.25"));
        assert_eq!(run.series[1].values, [512000.0, 170666.7]);
        assert!(!format!("{run:?}").contains("someone"), "no part of a path is taken");
    }

    #[test]
    fn a_decode_test_is_output_throughput_at_concurrency_one() {
        let text = PP.replace("\"n_prompt\": 512, \"n_gen\": 0", "\"n_prompt\": 0, \"n_gen\": 128").replace('\n', " ");
        let (partials, _) = read(&format!("{text}\n{text}\n"));
        assert_eq!(partials.len(), 2);
        assert_eq!(
            readings(&partials[1]),
            [
                ("output_throughput_tok_s", 256000.5, RULE),
                ("decode_tok_s", 256000.5, RULE),
                ("tpot_ms", 2.0 / 128.0, DERIVED),
                ("model_memory_gib", 1.0, DERIVED)
            ]
        );
        assert_eq!((partials[1].readings[0].origin.line, partials[1].setup.batch), (Some(2), Some(1.0)));
    }

    #[test]
    fn a_combined_test_is_neither_and_a_list_without_its_end_is_read_as_far_as_it_goes() {
        let both = PP.replace("\"n_gen\": 0", "\"n_gen\": 128");
        let (partials, parsed) = read(&format!("[{both}, {PP},\n  {{\"build_commit\": "));
        assert_eq!(partials.len(), 2);
        assert_eq!(readings(&partials[0]), [("model_memory_gib", 1.0, DERIVED)]);
        assert_eq!(
            (partials[0].extras[0].name.as_str(), partials[0].workload.as_deref()),
            ("combined_throughput", Some("pp512-tg128-d4096"))
        );
        assert_eq!(parsed.notes.len(), 1);
    }

    #[test]
    fn tests_of_a_sweep_are_no_repeats() {
        let test = |batch: u32| PP.replace("\"n_prompt\"", &format!("\"n_batch\": {batch}, \"n_prompt\""));
        let (partials, _) = read(&format!("[{}, {}]", test(64), test(512)));
        let labels: Vec<_> = partials.iter().filter_map(|partial| partial.workload.as_deref()).collect();
        assert_eq!(labels, ["pp512-d4096-b64", "pp512-d4096-b512"]);
    }

    #[test]
    fn rows_are_tests_too() {
        let (partials, _) = read(
            "build_commit,model_filename,model_type,n_prompt,n_gen,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts\r\n\
             \"abc\",\"m.gguf\",\"llama 7B Q4_0\",\"0\",\"64\",\"2026-01-02T03:04:05Z\",\"640000000\",\"1\",\"100.500000\",\"0.25\"\r\n",
        );
        let rate = &partials[0].readings[0];
        assert_eq!(
            (rate.value, rate.decimals, rate.origin.line, rate.origin.field.as_deref()),
            (100.5, Some(6), Some(2), Some("avg_ts"))
        );
    }

    #[test]
    fn inserted_rows_are_the_rows_of_the_table_in_csv() {
        let (partials, parsed) = read(
            "CREATE TABLE IF NOT EXISTS llama_bench (\n  model_filename TEXT,\n  avg_ns INTEGER,\n  avg_ts REAL\n);\n\n\
             INSERT INTO llama_bench (model_filename, model_type, n_prompt, n_gen, avg_ns, avg_ts) VALUES ('a/it''s, so-Q4_0.gguf', 'llama 7B Q4_0', '0', '64', '640000000', '100.500000');\n\
             INSERT INTO llama_bench (model_filename, n_gen) VALUES ('cut",
        );
        let rate = &partials[0].readings[0];
        assert_eq!((rate.value, rate.decimals, rate.origin.line), (100.5, Some(6), Some(7)));
        assert_eq!(rate.origin.field.as_deref(), Some("avg_ts"));
        assert_eq!((partials[0].model.as_deref(), partials.len()), (Some("it's, so-Q4_0"), 1));
        assert_eq!(parsed.left_out.len(), 1);
    }
}
