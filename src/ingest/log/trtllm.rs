//! The console output of `trtllm-bench`: the result block, and the memory lines around it.
//!
//! In:  a log of any size, line by line.  Out: one piece, with what the log prints for the whole run.
//! Not here: planner estimates (`Estimated ...`, `... GB for model weights`): they are no measurements.
//!
//! Phrases are looked for anywhere in a line, because every launcher puts its own prefix in front. The PyTorch backend allocates a
//! small trial pool before the real one, so of each memory line the last counts. A log of this tool without a result block is a
//! failed run, whatever the exit code says.
//!
//! Seen: TensorRT-LLM 0.16 to 1.3.

use super::{Kind, Reader};
use crate::ingest::figure::Figure;
use crate::ingest::{About, Parsed, Piece, Record, SourceFile, Standing};
use crate::model::{Reading, Setup, Status};

const RULE: &str = "trtllm-bench.log";

/// Words that only this engine prints.
const MARKS: &[&str] = &[
    "[TRT-LLM]",
    "[TensorRT-LLM]",
    "[MemUsageChange]",
    "= PERFORMANCE OVERVIEW",
    "TensorRT-LLM Version",
    "TensorRT LLM Version",
];

/// What a line must hold to be looked at.
const PHRASES: &[&str] = &[
    "[TRT-LLM]",
    "[TensorRT-LLM]",
    "[MemUsageChange]",
    "PERFORMANCE OVERVIEW",
    "TensorRT-LLM Version",
    "TensorRT LLM Version",
    "Throughput (",
    "Average request latency",
    "Average time-",
    "Peak memory during memory usage profiling",
    "[Latency]",
    "[TTFT]",
    "[TPOT]",
    "Memory used after loading model weights",
    "device total memory",
    "Model:",
    "Model\t",
    "Quantization:",
    "Dtype:",
    "Number of requests:",
    "Average Input Length",
    "Average Output Length",
    "Max Runtime Batch Size",
    "OutOfMemoryError",
    "out of memory",
    "Traceback (most recent call last)",
    "Killed",
];

/// Label up to the colon, metric.
const RESULTS: &[(&str, &str)] = &[
    ("Request Throughput (req/sec):", "request_throughput_req_s"),
    ("Total Output Throughput (tokens/sec):", "output_throughput_tok_s"),
    ("Total Token Throughput (tokens/sec):", "total_throughput_tok_s"),
    ("Average request latency (ms):", "e2e_latency_ms"),
    ("Average time-to-first-token [TTFT] (ms):", "ttft_ms"),
    ("Average time-per-output-token [TPOT] (ms):", "tpot_ms"),
    ("Peak memory during memory usage profiling (torch + non-torch):", "peak_memory_gib"),
];

/// Output tokens in 0.16; later versions end their total with the same words.
const OLD_OUTPUT: &str = "Token Throughput (tokens/sec):";

/// Tag of a breakdown line, metric.
const BREAKDOWNS: &[(&str, &str)] = &[("[Latency]", "e2e_latency_ms"), ("[TTFT]", "ttft_ms"), ("[TPOT]", "tpot_ms")];

/// Key of a breakdown line, suffix.
const STATISTICS: &[(&str, &str)] =
    &[("P50", "_p50"), ("P90", "_p90"), ("P95", "_p95"), ("P99", "_p99"), ("MAXIMUM", "_max"), ("AVERAGE", "")];

/// What ends a run early, as logs say it.
const FAILURES: &[&str] = &["OutOfMemoryError", "out of memory", "Traceback (most recent call last)", "Killed"];

/// The console of `trtllm-bench` and the memory lines of its engine.
pub static TRTLLM: Kind = Kind {
    name: "trtllm-bench-console",
    about: About {
        tool: "trtllm-bench",
        versions: "TensorRT-LLM 0.16 to 1.3; 0.16 prints output tokens as `Token Throughput`",
        sign: "words that only this engine prints, anywhere in a line",
        reads: "result block, latency breakdown, memory lines, settings; a log without a result block is a failed run",
    },
    signs: MARKS,
    marks: PHRASES,
    start: || Box::<Log>::default(),
};

impl Reader for Log {
    fn line(&mut self, number: u64, line: &str) {
        self.read(number, line);
    }

    fn finish(self: Box<Self>, file: &SourceFile<'_>) -> Option<Parsed> {
        if !self.ours {
            return None;
        }
        let mut parsed = Parsed::default();
        let reader = *self;
        if reader.blocks > 1 {
            parsed.notes.push(format!("{} result blocks; the last one is read", reader.blocks));
        }
        let status = (reader.blocks == 0).then(|| {
            let why = reader.failure.as_deref().map_or_else(String::new, |word| format!(": {word}"));
            Status::Failed(format!("the log has no result block{why}"))
        });
        let readings = reader
            .found
            .into_iter()
            .map(|(metric, figure, line)| Reading {
                metric,
                value: figure.value,
                decimals: figure.decimals,
                origin: file.origin(Some(line), None, RULE),
            })
            .collect();
        let setup = Setup { engine: Some("TensorRT-LLM".to_owned()), ..reader.setup };
        let piece = Piece { standing: Standing::Trace, status, readings, setup, ..Piece::default() };
        parsed.records.push(Record::Piece(Box::new(piece)));
        Some(parsed)
    }
}

#[derive(Default)]
struct Log {
    ours: bool,
    blocks: usize,
    failure: Option<String>,
    found: Vec<(String, Figure, u64)>,
    setup: Setup,
}

impl Log {
    fn read(&mut self, number: u64, line: &str) {
        self.ours |= MARKS.iter().any(|mark| line.contains(mark));
        self.blocks += usize::from(line.contains("= PERFORMANCE OVERVIEW"));
        if let Some(word) = FAILURES.iter().find(|word| line.contains(*word)) {
            self.failure = Some((*word).to_owned());
        }
        for (label, metric) in RESULTS {
            if let Some(figure) = after(line, label).and_then(number_in) {
                self.take(metric, figure, number);
            }
        }
        if !line.contains("Total Token")
            && let Some(figure) = after(line, OLD_OUTPUT).and_then(number_in)
        {
            self.take("output_throughput_tok_s", figure, number);
        }
        for (tag, metric) in BREAKDOWNS {
            if let Some((key, value)) = after(line, tag).and_then(|rest| rest.split_once(':'))
                && let Some((_, suffix)) = STATISTICS.iter().find(|(name, _)| *name == key.trim())
                && let Some(figure) = number_in(value)
            {
                self.take(&format!("{metric}{suffix}"), figure, number);
            }
        }
        self.memory(number, line);
        self.settings(line);
    }

    /// KV pool, weights, and the size of the device.
    fn memory(&mut self, number: u64, line: &str) {
        if line.contains("for max tokens in paged KV cache")
            && let Some(rest) = after(line, "[MemUsageChange] Allocated")
        {
            if let Some(figure) = gib(rest) {
                self.take("kv_cache_gib", figure, number);
            }
            if let Some(figure) =
                after(rest, "paged KV cache (").and_then(|tokens| number_in(tokens.split(')').next()?))
            {
                self.take("kv_cache_tokens", figure, number);
            }
        }
        if let Some(figure) = after(line, "Memory used after loading model weights (inside torch)")
            .and_then(|rest| gib(rest.split_once(':')?.1))
        {
            self.take("model_memory_gib", figure, number);
            self.setup.model_memory_gib = figure.finite();
        }
        if let Some(figure) = after(line, "device total memory").and_then(gib) {
            self.setup.device_memory_gib = figure.finite();
        }
    }

    /// Lines of the sections on backend, requests and runtime.
    fn settings(&mut self, line: &str) {
        let Some((label, value)) = line.split_once(':') else { return };
        let value = value.trim();
        if value.is_empty() || value == "None" {
            return;
        }
        let text = || Some(value.to_owned());
        let figure = || number_in(value).and_then(Figure::finite);
        match label.trim() {
            "Model" => self.setup.model_served = text(),
            "TensorRT-LLM Version" | "TensorRT LLM Version" => self.setup.engine_version = text(),
            // "Quantization" names more than the data type does, where there is one.
            "Quantization" => self.setup.quantisation = text(),
            "Dtype" => self.setup.quantisation = self.setup.quantisation.take().or_else(text),
            "Number of requests" => self.setup.requests = figure(),
            "Average Input Length (tokens)" => self.setup.isl = figure(),
            "Average Output Length (tokens)" => self.setup.osl = figure(),
            "Max Runtime Batch Size" => self.setup.batch = figure(),
            _ => {}
        }
    }

    /// The last line of each kind counts.
    fn take(&mut self, metric: &str, figure: Figure, line: u64) {
        match self.found.iter_mut().find(|(name, _, _)| name == metric) {
            Some(entry) => (entry.1, entry.2) = (figure, line),
            None => self.found.push((metric.to_owned(), figure, line)),
        }
    }
}

fn after<'a>(line: &'a str, phrase: &str) -> Option<&'a str> {
    line.split_once(phrase).map(|(_, rest)| rest)
}

/// The first word as a number; a full stop that ends the sentence goes.
fn number_in(text: &str) -> Option<Figure> {
    let word = text.split_whitespace().next()?;
    let figure = Figure::parse(word.trim_end_matches([',', ';']).trim_end_matches('.'))?;
    figure.value.is_finite().then_some(figure)
}

/// A figure followed by `GiB`; one in any other unit is another kind of line.
fn gib(text: &str) -> Option<Figure> {
    let mut words = text.split_whitespace();
    let figure = number_in(words.next()?)?;
    words.next()?.starts_with("GiB").then_some(figure)
}
