//! A server log of any size is read in the memory of a small one. The peak of memory is that of the whole process, so each test has one of its own.

use std::io::{BufReader, Read};

use sparkbench::ingest::{FORMATS, Parsed, Record, SourceFile};
use sparkbench::model::ExtraValue;

use crate::MEMORY;
use crate::support::again;

/// Growth of the peak that is allowed: tables of the marks, a line, and what the allocator adds.
const ALLOWED_BYTES: usize = 24 << 20;

const START: &str = "(EngineCore pid=9) INFO 05-04 21:49:57 [core.py:107] Initializing a V1 LLM engine (v0.20.0) with config: model='org/m', speculative_config=None, max_seq_len=8192\n\
(EngineCore pid=9) INFO 05-04 21:50:57 [x.py:1] Available KV cache memory: 40.61 GiB\n";

/// What a busy server prints again and again: a window, drafts, answers, an error of a client with another number each time it is read.
const AGAIN: &str = "(APIServer pid=1) INFO 05-05 12:46:01 [loggers.py:271] Engine 000: Avg prompt throughput: 15.5 tokens/s, Avg generation throughput: 4.5 tokens/s, Running: 3 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.5%, Prefix cache hit rate: 0.0%\n\
(APIServer pid=1) INFO 05-05 12:46:01 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.18, Accepted: 33 tokens, Drafted: 420 tokens, Per-position acceptance rate: 0.643, 0.286, Avg Draft acceptance rate: 7.9%\n\
(APIServer pid=1) INFO:     127.0.0.1:51908 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n\
(APIServer pid=1) ERROR 05-05 12:46:02 [serving.py:1] ValueError: the prompt is too long\n\
(Worker_TP0 pid=77) INFO 05-05 12:46:03 [x.py:1] Loading weights took 1.50 seconds\n\
slot print_timing:        eval time =      51.77 ms /     4 tokens (   12.94 ms per token,    77.26 tokens per second)\n";

/// The text of a log, made while it is read.
struct Made {
    left: u64,
    text: &'static [u8],
    at: usize,
}

impl Read for Made {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            if self.left == 0 {
                return Ok(0);
            }
            (self.left, self.text, self.at) = (self.left - 1, AGAIN.as_bytes(), 0);
        }
        let mut rest = &self.text[self.at..];
        let read = rest.read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

fn read(rounds: u64) -> Parsed {
    let format = FORMATS.iter().find(|format| format.name() == "log").unwrap();
    let mut input = BufReader::with_capacity(1 << 18, Made { left: rounds, text: START.as_bytes(), at: 0 });
    format
        .parse(&mut SourceFile::new("server.log", START.len() as u64 + rounds * AGAIN.len() as u64, &mut input))
        .unwrap()
}

fn is_read_in_bounded_memory(mib: u64) {
    let rounds = (mib << 20) / AGAIN.len() as u64;
    // The tables of the marks are made once, and are no matter of the size.
    read(1);
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let parsed = read(rounds);
    let grown = MEMORY.peak_usage().saturating_sub(before);
    assert!(parsed.kinds.contains(&"vllm-server-log"), "{:?}", parsed.kinds);
    let partial = parsed.records.iter().find_map(|record| match record {
        Record::Run(partial) if partial.setup.engine.as_deref() == Some("vLLM") => Some(partial),
        _ => None,
    });
    let partial = partial.unwrap();
    let extra = |name: &str| partial.extras.iter().find(|extra| extra.name == name).map(|extra| extra.value.clone());
    assert_eq!(
        partial.readings.iter().find(|reading| reading.metric == "kv_cache_gib").map(|reading| reading.value),
        Some(40.61)
    );
    assert_eq!(extra("windows"), Some(ExtraValue::Number(rounds as f64)));
    assert_eq!(extra("answers 2xx"), Some(ExtraValue::Number(rounds as f64)));
    assert_eq!(extra("spec_decode_accepted"), Some(ExtraValue::Number(33.0 * rounds as f64)));
    assert_eq!(extra("window_generation_throughput mean"), Some(ExtraValue::Number(4.5)));
    assert!(grown <= ALLOWED_BYTES, "memory grew by {grown} bytes");
}

#[test]
fn a_server_log_of_8_mib_is_read_in_bounded_memory() {
    again::alone(module_path!(), "a_server_log_of_8_mib");
}

#[test]
#[ignore = "started by another test"]
fn a_server_log_of_8_mib() {
    if again::is_inside() {
        is_read_in_bounded_memory(8);
    }
}

#[test]
#[ignore = "takes long without optimisation; `.ci/run` has it among the long ones"]
fn a_server_log_of_256_mib_is_read_in_bounded_memory() {
    again::alone(module_path!(), "a_server_log_of_256_mib");
}

#[test]
#[ignore = "started by another test"]
fn a_server_log_of_256_mib() {
    if again::is_inside() {
        is_read_in_bounded_memory(256);
    }
}

#[test]
#[ignore = "takes half an hour without optimisation"]
fn a_server_log_of_4_gib_is_read_in_bounded_memory() {
    again::alone(module_path!(), "a_server_log_of_4_gib");
}

#[test]
#[ignore = "started by another test"]
fn a_server_log_of_4_gib() {
    if again::is_inside() {
        is_read_in_bounded_memory(4096);
    }
}
