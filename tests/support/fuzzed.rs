//! Any bytes as a file of any format, and what must hold whatever they are. Used by the replay of the corpus and by the fuzz targets.
//!
//! The first byte of an input says which member of the family reads it, and whether the format is named (below 128) or found by
//! [`ingest::read`]. The rest is the file.
//!
//! Not here: how long a reader takes. A test cannot tell a slow reader from a busy machine. libFuzzer finds one (`-timeout`), and
//! `benches/` measures them.

use peak_alloc::PeakAlloc;
use sparkbench::archive::manifest::ReportWire;
use sparkbench::ingest::{self, FORMATS, Look, Parsed, Record, SourceFile, reports};

/// Bytes a reader may hold at once for each byte of the file: an empty value of JSON takes two bytes of text and forty of a tree, and a
/// list that grows holds its old and its new place for a moment.
const BYTES_A_BYTE: usize = 160;
/// What a reader may hold whatever the file: its head, twice, as bytes and as text, the outline of its keys, and buffers.
const BYTES_ALWAYS: usize = 8 << 20;
/// What a file packed by gzip may unfold to is held to the limit of a whole file, not to its own size. So is each part of a workbook.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const WORKBOOK: [u8; 2] = *b"PK";

/// Formats whose files look alike, fuzzed together: partial runs of one make a file of another.
pub struct Family {
    /// Name of the target and of its folder in the corpus.
    pub name: &'static str,
    /// Names of formats, or of named parsers, each with the name of a file that it would take.
    pub members: &'static [(&'static str, &'static str)],
}

/// Every family. Each format of `FORMATS` is a member of at least one. A test says so.
pub static FAMILIES: &[Family] = &[
    Family {
        name: "results",
        members: &[
            ("guidellm", "benchmarks.json"),
            ("llama-benchy", "r.json"),
            ("genai-bench", "r.json"),
            ("genai-bench-metadata", "experiment_metadata.json"),
            ("trtllm-bench-report", "report.json"),
            ("aiperf", "profile_export_aiperf.json"),
            ("genai-perf", "profile_export_genai_perf.json"),
            ("genai-perf-requests", "profile_export.json"),
            ("llama-bench", "bench.json"),
            ("inference-perf", "summary_lifecycle_metrics.json"),
            ("inference-benchmarker", "r.json"),
            ("bench-full", "r.json"),
            ("dgx-spark-bench", "r.json"),
            ("inferencex", "r.json"),
            ("sglang-bench-serving", "r.jsonl"),
            ("vllm-bench-serve", "r.json"),
            ("vllm-bench-throughput", "r.json"),
            ("vllm-bench-latency", "r.json"),
            ("vllm-multi-turn", "r.json"),
            ("sidecar-meta", "r.json"),
            ("phase1 results", "all_benchmark_results.json"),
            ("h200-ab result", "native_m_iter1_20261120_234334.json"),
            ("guidellm", "benchmarks.yaml"),
            ("aiperf-timeslices", "profile_export_aiperf_timeslices.json"),
            ("aiperf-server-metrics", "server_metrics_export.json"),
            ("llmperf", "r.json"),
            ("spark-arena", "r.json"),
        ],
    },
    Family {
        name: "lines",
        members: &[
            ("requests", "requests.jsonl"),
            ("iterations", "iterations.jsonl"),
            ("aiperf-records", "profile_export.jsonl"),
            ("sglang-bench-serving", "r.jsonl"),
            ("llama-bench", "bench.jsonl"),
            ("vllm-bench-serve", "appended.json"),
            ("telemetry-json", "samples.jsonl"),
            ("journal", "journal.jsonl"),
            ("aiperf-server-metrics", "server_metrics_export.jsonl"),
            ("llama-batched-bench", "batched.jsonl"),
        ],
    },
    Family {
        name: "tables",
        members: &[
            ("table", "runs.csv"),
            ("aiperf-csv", "profile_export_aiperf.csv"),
            ("llama-benchy-csv", "result.csv"),
            ("llama-bench", "bench.csv"),
            ("vllm-bench-serve", "summary.csv"),
            ("vllm-multi-turn", "raw-data.csv"),
            ("published figures", "published.csv"),
            ("token-per-watt", "token_per_watt.csv"),
            ("inference-perf", "r.csv"),
            ("guidellm-csv", "benchmarks.csv"),
            ("aiperf-timeslices", "profile_export_aiperf_timeslices.csv"),
            ("aiperf-server-metrics", "server_metrics_export.csv"),
            ("llama-bench", "bench.sql"),
            ("vllm-multi-turn-workbook", "statistics.xlsx"),
            ("aiperf-sweep", "profile_export_aiperf_sweep.csv"),
        ],
    },
    Family { name: "servers", members: &[("log", "server.log")] },
    Family { name: "consoles", members: &[("log", "console.txt"), ("log", "report.md"), ("kept", "notes.md")] },
    Family {
        name: "telemetry",
        members: &[
            ("prometheus", "metrics.prom"),
            ("nvidia-smi-q", "q.txt"),
            ("nvidia-smi-table", "t.txt"),
            ("nvidia-smi-dmon", "dmon.txt"),
            ("free-log", "hostmem.log"),
            ("token-per-watt", "token_per_watt.csv"),
            ("nvidia-smi-csv", "log.csv"),
            ("telemetry-csv", "telemetry.csv"),
            ("telemetry-json", "report.json"),
        ],
    },
    Family {
        name: "documents",
        members: &[
            ("campaign", "campaign.json"),
            ("run", "run.json"),
            ("load summary", "summary.json"),
            ("result", "result.json"),
            ("labels", "labels.toml"),
            ("metrics", "metrics.toml"),
            ("facts", "facts.toml"),
            ("flat metadata", "native_m_iter1_20260101_000000_metadata.json"),
            ("model-config", "config.json"),
            ("safetensors-index", "model.safetensors.index.json"),
            ("kept", "pip-freeze.txt"),
        ],
    },
    Family {
        name: "reports",
        members: &[
            ("result-json", "r.json"),
            ("iterations", "i.jsonl"),
            ("lines", "values.txt"),
            ("pattern", "out.log"),
            ("trtllm-bench-json", "report.json"),
            ("trtllm-bench-requests", "requests.json"),
            ("trtllm-bench-log", "out.log"),
            ("requests", "requests.jsonl"),
            ("by-look", "result.json"),
        ],
    },
];

/// The family of a name.
pub fn family(name: &str) -> &'static Family {
    FAMILIES.iter().find(|family| family.name == name).unwrap()
}

/// Bit of the first byte that has the format found, not named.
pub const FOUND: u8 = 0x80;

/// Reads an input and checks what must hold.
pub fn holds(family: &Family, input: &[u8], memory: &PeakAlloc) {
    let Some((pick, bytes)) = input.split_first() else { return };
    let (member, name) = family.members[usize::from(*pick & !FOUND) % family.members.len()];
    let before = memory.current_usage();
    memory.reset_peak_usage();
    let parsed = if *pick & FOUND > 0 {
        let Look { outcome, sha256, .. } = ingest::read(name, bytes.len() as u64, bytes);
        assert!(sha256.is_some(), "a file that could be read has a hash");
        outcome.ok()
    } else if family.name == "reports" {
        named_report(member, name, bytes)
    } else {
        let format = FORMATS.iter().find(|format| format.name() == member).unwrap();
        let mut rest = bytes;
        format.parse(&mut SourceFile::new(name, bytes.len() as u64, &mut rest)).ok()
    };
    let held = memory.peak_usage().saturating_sub(before);
    let room = BYTES_ALWAYS + BYTES_A_BYTE * bytes.len();
    let packed = bytes.starts_with(&GZIP) || bytes.starts_with(&WORKBOOK);
    assert!(packed || held <= room, "{member}: {} bytes took {held} bytes of memory", bytes.len());
    if let Some(parsed) = parsed {
        speaks_of_the_file(&parsed, name, bytes);
    }
}

/// Every figure says where it stands, and stands there.
fn speaks_of_the_file(parsed: &Parsed, name: &str, bytes: &[u8]) {
    let packed = bytes.starts_with(&GZIP) || bytes.starts_with(&WORKBOOK);
    let lines = 1 + bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
    for record in &parsed.records {
        let Record::Run(partial) = record else { continue };
        let origins = partial.readings.iter().map(|reading| &reading.origin);
        for origin in origins.chain(partial.series.iter().map(|series| &series.origin)) {
            assert_eq!(origin.file, name, "{origin:?}");
            let there = origin.line.is_none_or(|line| (1..=lines).contains(&line)) || packed;
            assert!(there, "{origin:?} of {lines} lines");
        }
    }
}

fn named_report(parser: &str, name: &str, bytes: &[u8]) -> Option<Parsed> {
    let patterns: &[(&str, &str)] = match parser {
        "pattern" => &[
            ("ttft_ms", "TTFT[^0-9]*([0-9.eE+-]+)"),
            ("output_throughput_tok_s", "(?m)^.*?([0-9.]+) tok"),
            ("seen.model_id", "model=([^ ]*)"),
        ],
        _ => &[],
    };
    let entry = ReportWire {
        path: name.to_owned(),
        parser: parser.to_owned(),
        patterns: patterns.iter().map(|(key, pattern)| ((*key).to_owned(), (*pattern).to_owned())).collect(),
        ..ReportWire::default()
    };
    let mut rest = bytes;
    reports::parse(&mut SourceFile::new(name, bytes.len() as u64, &mut rest), &entry).ok()
}
