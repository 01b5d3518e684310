//! TensorRT-LLM: the console of `trtllm-bench`, and the log of `trtllm-serve` or of whatever else runs the engine.
//!
//! In:  a log of any size, line by line.  Out: one partial run for each run of the benchmark, or one for the server.
//! Not here: the file of `--report_json` (see `reports::trtllm_json`).
//!
//! Both print the lines of the engine (`engine`). A log is a benchmark when it says so or holds a result block. A log that shows neither and
//! ended with an error is taken for a benchmark that failed.

mod bench;
mod block;
mod engine;
mod labels;
mod serve;
mod settings;

pub(crate) use bench::{TRTLLM, fingerprint, shape};
pub(super) use serve::TRTLLM_SERVER;

/// Words that only this engine prints.
const SIGNS: &[&str] = &[
    "[TRT-LLM]",
    "[TensorRT-LLM]",
    "[MemUsageChange]",
    "= PERFORMANCE OVERVIEW",
    "TensorRT-LLM Version",
    "TensorRT LLM Version",
];

/// Words of a benchmark.
const BENCH: &[&str] = &[
    "= PERFORMANCE OVERVIEW",
    "= THROUGHPUT OVERVIEW",
    "Preparing to run ",
    "Setting up throughput benchmark",
    "trtllm-bench",
];

/// Words of a server.
const SERVER: &[&str] =
    &["Application startup complete", "Uvicorn running on", "Started server process", "trtllm-serve"];
