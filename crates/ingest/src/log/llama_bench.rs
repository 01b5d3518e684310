//! The table of `llama-bench`, in Markdown or on a console, with other text around it.
//!
//! In:  rows with a `t/s` column, the lines of the devices above, the line of the build below.  Out: a run for each row.
//! Not here: JSON and CSV of the tool (see `llama::bench`), tables of llama-benchy, which have more columns.
//!
//! The figure after `±` is one standard deviation over the repetitions, whose number is not printed. A column exists only when its parameter
//! is not at its default, so columns are found by header. Seen: builds of 2023 (`pp 512`) to 9859 (2026).

use std::collections::BTreeSet;

use super::columns::{Columns, cell, pair};
use super::kind::{LogReader, TextKind};
use crate::figure::{Figure, excerpt};
use crate::llama::sweep::{self, Absent};
use crate::llama::{COMBINED, Test, bench_mark, quantisation};
use crate::{About, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Extra, Setup, Status};

const RULE: &str = "llama-bench-markdown";
const DERIVED: &str = "llama-bench-markdown.derived";

/// Most rows that are kept of one text.
const ROWS: usize = 20_000;

/// The table of llama-bench.
pub(super) static LLAMA_BENCH: TextKind = TextKind {
    name: "llama-bench-markdown",
    about: About {
        tool: "llama-bench of llama.cpp, -o md",
        versions: "2023 to build 9859 (2026)",
        sign: "a table with the columns `model`, `test` and `t/s` and none of llama-benchy",
        reads: "a run for each row: decode rate, TPOT, prefill rate and time, with size, parameters, backend, devices and build",
    },
    signs: &[" t/s |", "|t/s|"],
    marks: &[
        "t/s",
        "±",
        "+/-",
        "\u{fffd}",
        " pp",
        " tg",
        "|pp",
        "|tg",
        "build:",
        "compute capability",
        "CUDA devices (Total",
        ": Found ",
        "# ",
        "==",
        "**",
    ],
    start: || Box::<Table>::default(),
};

/// Columns that mean what llama-benchy measures.
const BENCHY: &[&str] = &["t/s (total)", "t/s (req)", "peak t/s", "ttfr (ms)", "est_ppt (ms)", "e2e_ttft (ms)"];
/// Columns that are taken one by one. All others are settings.
const TAKEN: &[&str] = &["", "model", "size", "params", "test", "t/s"];

/// One row.
struct LogFindings {
    line: u64,
    model: String,
    test: Test,
    rate: Figure,
    deviation: Option<Figure>,
    size: Option<String>,
    params: Option<String>,
    more: Vec<(String, String)>,
    build: Option<String>,
    /// The heading above its table.
    heading: Option<String>,
    /// Devices that the program found before its table.
    found: Option<u32>,
}

#[derive(Default)]
struct Table {
    columns: Columns,
    rows: Vec<LogFindings>,
    passed: usize,
    /// Rows that have no build yet.
    open: usize,
    machine: Option<String>,
    heading: Option<String>,
    found: Option<u32>,
    devices: usize,
    memory_mib: Option<f64>,
    not_understood: Vec<String>,
}

impl LogReader for Table {
    fn line(&mut self, number: u64, line: &str) {
        if line.contains('|') {
            self.row(number, line);
        }
        if let Some((_, rest)) = line.split_once("build:") {
            self.build(rest);
        }
        self.device(line);
        self.heading = heading(line).or_else(|| self.heading.take());
        self.found = found(line).or(self.found);
    }

    fn finish(mut self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        if self.rows.is_empty() {
            return None;
        }
        self.without_remarks();
        let mut parsed = Parsed { not_understood: self.not_understood.clone(), ..Parsed::default() };
        if self.passed > 0 {
            parsed.notes.push(format!("{} rows behind the first {ROWS} are skipped", self.passed));
        }
        for row in &self.rows {
            parsed.records.push(Record::Run(Box::new(self.partial(row, file))));
        }
        sweep::tell(&mut parsed.records, Absent::Default);
        Some(parsed)
    }
}

/// Longest heading, letters. What is longer is prose.
const HEADING: usize = 60;

/// `### GPU 0 only ###`, `== both ==`: words behind signs that underline or enclose them.
fn heading(line: &str) -> Option<String> {
    let line = line.trim();
    let text = line.trim_matches(|c: char| matches!(c, '#' | '=' | '*' | '-' | ' '));
    let marked =
        line.starts_with('#') || ["==", "**"].iter().any(|sign| line.starts_with(sign) && line.ends_with(sign));
    let words = text.chars().any(char::is_alphabetic) && !text.contains('|') && text.chars().count() <= HEADING;
    (marked && words).then(|| text.to_owned())
}

/// `ggml_vulkan: Found 2 Vulkan devices:`
fn found(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once(": Found ")?;
    let mut words = rest.split_whitespace();
    let number = words.next()?.parse().ok()?;
    words.any(|word| word.starts_with("device")).then_some(number)
}

/// A heading without what stands in parentheses at its end.
fn without_remark(heading: &str) -> &str {
    heading.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')).map_or(heading, |(words, _)| words.trim_end())
}

impl Table {
    /// Takes remarks in parentheses from headings that stay apart without them: another version of a script has other remarks.
    fn without_remarks(&mut self) {
        let whole: BTreeSet<&str> = self.rows.iter().filter_map(|row| row.heading.as_deref()).collect();
        let short: BTreeSet<&str> = whole.iter().map(|heading| without_remark(heading)).collect();
        if short.len() == whole.len() && !short.contains("") {
            for heading in self.rows.iter_mut().filter_map(|row| row.heading.as_mut()) {
                *heading = without_remark(heading).to_owned();
            }
        }
    }

    fn row(&mut self, number: u64, line: &str) {
        let has = |names: &[String], wanted: &str| names.iter().any(|name| name == wanted);
        let is_ours = |names: &[String]| has(names, "test") && has(names, "model") && has(names, "t/s");
        let Some(row) = self.columns.line(line, is_ours) else { return };
        // A header of the other tool fits as well. Its rows are not ours.
        if row.iter().any(|(name, _)| BENCHY.contains(&name.as_str())) {
            self.columns.forget();
            return;
        }
        let Some(test) = cell(&row, "test").and_then(Test::parse).filter(|test| test.context.is_none()) else {
            return;
        };
        let Some((rate, deviation)) = cell(&row, "t/s").and_then(pair) else {
            if self.not_understood.len() < 20 {
                self.not_understood.push(format!("line {number}: {}", excerpt(line.trim())));
            }
            return;
        };
        if self.rows.len() >= ROWS {
            self.passed += 1;
            return;
        }
        let owned = |name: &str| cell(&row, name).map(str::to_owned);
        let more = row.iter().filter(|(name, cell)| !TAKEN.contains(&name.as_str()) && !cell.is_empty());
        self.rows.push(LogFindings {
            line: number,
            model: owned("model").unwrap_or_default(),
            test,
            rate,
            deviation,
            size: owned("size"),
            params: owned("params"),
            more: more.map(|(name, cell)| (name.clone(), (*cell).to_owned())).collect(),
            build: None,
            heading: self.heading.clone(),
            found: self.found,
        });
    }

    /// `308f61c31 (9536)`, for the rows since the last one.
    fn build(&mut self, rest: &str) {
        let mut words = rest.split_whitespace();
        let (Some(commit), Some(number)) = (words.next(), words.next()) else { return };
        let is_commit = commit.len() >= 6 && commit.bytes().all(|b| b.is_ascii_alphanumeric());
        let digits = number.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        if !is_commit || !digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit())) {
            return;
        }
        for row in self.rows.iter_mut().skip(self.open) {
            row.build = Some(format!("{commit} {number}"));
        }
        self.open = self.rows.len();
    }

    /// `Device 0: NVIDIA GB10, compute capability 12.1, VMM: yes, VRAM: 122501 MiB`.
    fn device(&mut self, line: &str) {
        if let Some((_, rest)) = line.split_once("Total VRAM:") {
            self.memory_mib = rest.split_whitespace().next().and_then(|word| word.parse().ok());
        }
        let Some((before, _)) = line.split_once(", compute capability") else { return };
        let Some((_, device)) = before.split_once("Device ") else { return };
        let Some((_, name)) = device.split_once(": ") else { return };
        self.devices += 1;
        self.machine.get_or_insert_with(|| name.trim().to_owned());
    }

    fn partial(&self, row: &LogFindings, file: &SourceFile<'_>) -> PartialRun {
        let field = |column: &str| file.origin(Some(row.line), Some(column.to_owned()), RULE);
        let computed = |column: &str| file.origin(Some(row.line), Some(column.to_owned()), DERIVED);
        let mut setup = Setup {
            machine: self.machine.clone(),
            engine: Some("llama.cpp".to_owned()),
            engine_version: row.build.clone(),
            tool: Some("llama-bench".to_owned()),
            tool_version: row.build.clone(),
            quantisation: quantisation(&row.model),
            batch: Some(1.0),
            isl: Some(row.test.prompt.unwrap_or(0) as f64),
            osl: Some(row.test.generated.unwrap_or(0) as f64),
            parameters: row.params.as_deref().and_then(params),
            device_memory_gib: self.memory_mib.map(|mib| mib / 1024.0),
            model_memory_gib: row.size.as_deref().and_then(gib).and_then(Figure::finite),
            more: row.more.iter().cloned().collect(),
            ..Setup::default()
        };
        let of = |name: &str| row.more.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        setup.kv_dtype = match (of("type_k"), of("type_v")) {
            (Some(k), Some(v)) if k != v => Some(format!("{k}/{v}")),
            (k, v) => k.or(v),
        };
        if self.devices > 1 {
            setup.more.insert("devices".to_owned(), self.devices.to_string());
        }
        // A script that measures several things names each above its table. What is above all of them says nothing.
        let parts = self.rows.iter().any(|other| other.heading != row.heading);
        setup.more.extend(row.heading.clone().filter(|_| parts).map(|heading| ("section".to_owned(), heading)));
        if let (None, Some(found)) = (setup.more.get("devices"), row.found) {
            setup.more.insert("devices".to_owned(), found.to_string());
        }
        if row.test.depth > 0 {
            setup.more.insert("n_depth".to_owned(), row.test.depth.to_string());
        }
        let mut partial = PartialRun {
            join_role: JoinRole::Body,
            model: Some(row.model.clone()).filter(|model| !model.is_empty()),
            workload: Some(row.test.workload()),
            status: Some(Status::Done),
            setup,
            ..PartialRun::default()
        };
        let mut metric = |name: &str, figure: Figure, origin| {
            partial.readings.push(figure.reading(name, origin));
        };
        let made = Figure::computed;
        let rate = row.rate.value;
        let extra = match (row.test.prompt, row.test.generated) {
            (None, Some(_)) => {
                metric("output_throughput_tok_s", row.rate, field("t/s"));
                metric("decode_tok_s", row.rate, field("t/s"));
                if rate > 0.0 {
                    metric("tpot_ms", made(1000.0 / rate), computed("t/s"));
                }
                None
            }
            (Some(tokens), None) => {
                if rate > 0.0 {
                    metric("ttft_ms", made(1000.0 * tokens as f64 / rate), computed("t/s"));
                }
                metric("prefill_tok_s", row.rate, field("t/s"));
                None
            }
            _ => Some(("combined_throughput", COMBINED)),
        };
        if let Some(figure) = row.size.as_deref().and_then(gib) {
            metric("model_memory_gib", figure, field("size"));
        }
        let deviation = row.deviation.map(|figure| ("stddev_ts", figure.value, None));
        let extra = extra.map(|(name, why)| (name, rate, Some(why)));
        for (name, value, why) in extra.into_iter().chain(deviation) {
            partial.extras.push(Extra::number(name, "tok/s", value, why, field("t/s")));
        }
        let deviation = row.deviation.map_or(0.0, |figure| figure.value);
        partial.fingerprint = Some(bench_mark(&row.model, &row.test, rate, deviation));
        partial
    }
}

/// `1.04 GiB`, `638.74 MiB`.
fn gib(text: &str) -> Option<Figure> {
    let (number, unit) = text.split_once(' ')?;
    let figure = Figure::parse(number).filter(|figure| figure.value.is_finite())?;
    match unit.trim() {
        "GiB" => Some(figure),
        "MiB" => Some(Figure::computed(figure.value / 1024.0)),
        _ => None,
    }
}

/// `1.78 B`, `494.03 M`.
fn params(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit.trim() {
        "B" => 1e9,
        "M" => 1e6,
        "K" => 1e3,
        _ => return None,
    };
    Figure::parse(number)?.finite().map(|value| value * factor)
}

#[cfg(test)]
mod tests {
    use super::super::Text;
    use super::*;
    use crate::Format as _;

    fn read(text: &str) -> (Vec<PartialRun>, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed = Text.parse(&mut SourceFile::new("bench.txt", text.len() as u64, &mut input)).unwrap();
        let partials =
            parsed.records.drain(..).map(|r| if let Record::Run(partial) = r { *partial } else { panic!() }).collect();
        (partials, parsed)
    }

    /// A script that runs the benchmark on one GPU, on another and on both tells so above each table alone.
    #[test]
    fn the_heading_above_a_table_is_a_setting_where_tables_have_several() {
        let table = "| model | size | params | backend | ngl | test | t/s |\n|---|---|---|---|---|---|---|\n\
                     | llama 7B Q4_0 | 3.56 GiB | 6.74 B | Vulkan | 100 | tg128 | 85.99 ± 0.02 |\n";
        let text = format!(
            "=== Results ===\n### GPU 0 ONLY ###\nggml_vulkan: Found 1 Vulkan devices:\n{table}\n### DUAL GPU ###\nggml_vulkan: Found 2 Vulkan devices:\n{table}"
        );
        let (runs, _) = read(&text);
        let said =
            |run: &PartialRun| ["section", "devices"].map(|name| run.setup.more.get(name).cloned().unwrap_or_default());
        assert_eq!(runs.iter().map(said).collect::<Vec<_>>(), [["GPU 0 ONLY", "1"], ["DUAL GPU", "2"]]);
        // Another version of the script writes remarks behind its headings. One that alone tells two apart is no remark.
        let of = |a: &str, b: &str| read(&format!("### {a} ###\n{table}\n### {b} ###\n{table}")).0;
        let said_of = |a: &str, b: &str| of(a, b).iter().map(|run| said(run)[0].clone()).collect::<Vec<_>>();
        assert_eq!(said_of("GPU 0 ONLY (slot 6)", "DUAL GPU"), ["GPU 0 ONLY", "DUAL GPU"]);
        assert_eq!(said_of("GPU 0 (cold)", "GPU 0 (warm)"), ["GPU 0 (cold)", "GPU 0 (warm)"]);
        let (runs, _) = read(&format!("# Results\n{table}"));
        assert_eq!(said(&runs[0])[0], "", "one heading above everything tells nothing apart");
    }

    #[test]
    fn rows_are_runs_with_the_device_above_and_the_build_below() {
        let (runs, parsed) = read(
            "ggml_cuda_init: found 1 CUDA devices (Total VRAM: 122501 MiB):\n  Device 0: NVIDIA GB10, compute capability 12.1, VMM: yes\n\
             | model            |       size |     params | backend    | ngl | fa |            test |                  t/s |\n\
             | ---------------- | ---------: | ---------: | ---------- | --: | -: | --------------: | -------------------: |\n\
             | qwen2 1.5B Q4_0  | 512.00 MiB |     1.78 B | CUDA       | 999 |  1 |           pp500 |      5000.00 ± 15.87 |\n\
             | qwen2 1.5B Q4_0  | 512.00 MiB |     1.78 B | CUDA       | 999 |  1 |   tg128 @ d4096 |        200.00 ± 0.95 |\n\
             | qwen2 1.5B Q4_0  | 512.00 MiB |     1.78 B | CUDA       | 999 |  1 |     pp512+tg128 |        900.00 ± 0.95 |\n\n\
             build: 308f61c31 (9536)\n",
        );
        assert_eq!(parsed.kinds, ["llama-bench-markdown"]);
        let [pp, tg, both] = runs.as_slice() else { panic!("{runs:?}") };
        let found = |run: &PartialRun| -> Vec<(String, f64)> {
            run.readings.iter().map(|reading| (reading.metric.clone(), reading.value)).collect()
        };
        assert_eq!(
            found(pp),
            [("ttft_ms".into(), 100.0), ("prefill_tok_s".into(), 5000.0), ("model_memory_gib".into(), 0.5)]
        );
        assert_eq!(
            found(tg),
            [
                ("output_throughput_tok_s".into(), 200.0),
                ("decode_tok_s".into(), 200.0),
                ("tpot_ms".into(), 5.0),
                ("model_memory_gib".into(), 0.5)
            ]
        );
        assert_eq!((both.extras[0].name.as_str(), both.readings.len()), ("combined_throughput", 1));
        assert_eq!(
            (tg.workload.as_deref(), tg.setup.engine_version.as_deref()),
            (Some("tg128-d4096"), Some("308f61c31 (9536)"))
        );
        assert_eq!((pp.setup.machine.as_deref(), pp.setup.parameters), (Some("NVIDIA GB10"), Some(1.78e9)));
        assert_eq!((pp.setup.more.get("fa").map(String::as_str), pp.setup.more.len()), (Some("1"), 3));
    }

    #[test]
    fn rows_that_differ_in_a_setting_alone_are_no_repeats() {
        let (runs, _) = read(
            "| model | threads | n_batch |  fa | test |             t/s |\n|---|---|---|---|---|---|\n\
             | m Q4_0 |    1 |      64 |   0 | tg16 | 1796.94 ± 565.73 |\n| m Q4_0 | 1 | 64 | 1 | tg16 | 1796.94 ± 565.73 |\n\
             | m Q4_0 |    1 |     512 |   1 | tg16 | 2483.58 ± 100.43 |\n",
        );
        let labels: Vec<_> = runs.iter().filter_map(|run| run.workload.as_deref()).collect();
        assert_eq!(labels, ["tg16-b64-fa0", "tg16-b64-fa1", "tg16-b512-fa1"]);
        assert_ne!(runs[0].fingerprint, runs[1].fingerprint);
    }

    #[test]
    fn a_table_of_another_kind_is_not_taken() {
        let (runs, parsed) = read("| model | quant | t/s |\n|---|---|---|\n| m | q4 | 12.0 ± 1.0 |\n");
        assert!(parsed.kinds.is_empty() && runs.len() == 1, "{parsed:?}");
    }
}
