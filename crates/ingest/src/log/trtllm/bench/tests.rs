//! Known answers.

use super::*;
use crate::log::parse_kind;

fn read(text: &str) -> Vec<PartialRun> {
    let mut input = text.as_bytes();
    let parsed = parse_kind(&mut SourceFile::new("bench.log", text.len() as u64, &mut input), &TRTLLM).unwrap();
    let partials = parsed.records.into_iter().map(|record| match record {
        Record::Run(partial) => *partial,
        other => panic!("{other:?}"),
    });
    partials.collect()
}

fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
    partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

fn extra(partial: &PartialRun, name: &str) -> Option<f64> {
    partial.extras.iter().find(|extra| extra.name == name).and_then(Extra::as_number)
}

const BLOCK: &str = "= PERFORMANCE OVERVIEW \nRequest Throughput (req/sec):  3.25\nTotal Latency (ms):  1000.0\n";

#[test]
fn token_throughput_of_the_oldest_version_is_that_of_the_output() {
    let partials = read(
        "= PERFORMANCE OVERVIEW\nToken Throughput (tokens/sec):\t10.5\nTotal Token Throughput (tokens/sec): 30.0\n",
    );
    assert_eq!(
        (value(&partials[0], "output_throughput_tok_s"), value(&partials[0], "total_throughput_tok_s")),
        (Some(10.5), Some(30.0))
    );
}

#[test]
fn total_tokens_of_the_old_latency_mode_are_those_of_the_output() {
    let partials = read(
        "[TRT-LLM] x\n= THROUGHPUT OVERVIEW\nTotal Token Throughput (tokens/sec): 32.2742\n= LATENCY OVERVIEW\nAverage inter-token latency (ms): 30.9\n",
    );
    assert_eq!(
        (value(&partials[0], "output_throughput_tok_s"), value(&partials[0], "tpot_ms")),
        (Some(32.2742), Some(30.9))
    );
    assert_eq!((value(&partials[0], "total_throughput_tok_s"), value(&partials[0], "itl_ms")), (None, None));
}

#[test]
fn rows_of_the_data_set_are_tokens_and_no_latencies() {
    let text = format!("{BLOCK}= DATASET DETAILS\nMIN:   128.0  64.0  192.0\nP50:   130.0  64.0  194.0\n");
    let partials = read(&text);
    assert_eq!(value(&partials[0], "e2e_latency_ms_p50"), None);
    assert_eq!(
        (extra(&partials[0], "dataset isl p50"), extra(&partials[0], "dataset osl min")),
        (Some(130.0), Some(64.0))
    );
}

#[test]
fn lines_of_ranks_are_never_summed_and_the_trial_pool_is_not_the_pool() {
    let pool = |gib: &str| {
        format!("[TensorRT-LLM][INFO] [MemUsageChange] Allocated {gib} GiB for max tokens in paged KV cache (640).\n")
    };
    let text = format!(
        "[TensorRT-LLM][INFO] MPI size: 2, rank: 0\n{0}{0}{1}{2}{BLOCK}",
        pool("0.30"),
        pool("50.00"),
        pool("50.02")
    );
    let partial = &read(&text)[0];
    assert_eq!(value(partial, "kv_cache_gib"), Some(50.02));
    assert_eq!(
        (extra(partial, "kv_cache_gib of process 1"), extra(partial, "kv_cache_gib before the last")),
        (Some(50.0), Some(0.3))
    );
}

#[test]
fn prefixes_of_launchers_and_colours_do_not_hide_a_figure() {
    for prefix in ["bench  | ", "2026-01-02T03:04:05Z ", "\u{1b}[0m", "[1,0]<stdout>: "] {
        let text = format!(
            "{prefix}= PERFORMANCE OVERVIEW \r\n{prefix}Request Throughput (req/sec):\t 3.25\r\n{prefix}TP Size:   2\r\n{prefix}[Latency] P99    : 7.5\r"
        );
        let partial = &read(&text)[0];
        assert_eq!(
            (value(partial, "request_throughput_req_s"), value(partial, "e2e_latency_ms_p99")),
            (Some(3.25), Some(7.5)),
            "{prefix}"
        );
        assert_eq!(partial.setup.parallel.as_deref(), Some("tp2 pp1"), "{prefix}");
    }
}

#[test]
fn a_log_of_several_runs_is_several_runs_and_the_one_without_a_report_failed() {
    let begin = "[TRT-LLM] [I] Preparing to run throughput benchmark...\n";
    let partials = read(&format!("{begin}{BLOCK}{begin}{BLOCK}{begin}Killed\n"));
    assert_eq!(partials.len(), 3);
    assert!(partials.iter().all(|partial| partial.join_role == JoinRole::Alone));
    assert_eq!((&partials[1].status, value(&partials[2], "request_throughput_req_s")), (&Some(Status::Done), None));
    let Some(Status::Failed(why)) = &partials[2].status else { panic!("{:?}", partials[2].status) };
    assert!(why.contains("killed"), "{why}");
}

#[test]
fn figures_of_the_planner_are_no_metrics() {
    let text = format!(
        "[TRT-LLM] [I] Estimated engine size: 7.48 GB\n[TRT-LLM] [I] Rank 0 uses 8.46 GB for model weights.\n\
         [TRT-LLM] [I] Memory used after loading model weights (inside torch) in memory usage profiling: 8.55 GiB\n{BLOCK}"
    );
    let partial = &read(&text)[0];
    assert_eq!((value(partial, "model_memory_gib"), extra(partial, "checkpoint_size")), (Some(8.55), Some(8.46)));
    assert_eq!(extra(partial, "estimated engine size"), Some(7.48));
    assert!(partial.extras.iter().filter(|extra| extra.name.starts_with("estimated")).all(|extra| extra.why.is_some()));
}

#[test]
fn a_log_of_something_else_is_not_taken() {
    for text in [
        "Request Throughput (req/sec): 3\n",
        "Preparing to run my benchmark\nTraceback (most recent call last)\nKilled\n",
        "[TRT-LLM] [I] x\nINFO: Application startup complete.\nTraceback (most recent call last)\n",
    ] {
        let mut input = text.as_bytes();
        let parsed = parse_kind(&mut SourceFile::new("x.log", 1, &mut input), &TRTLLM).unwrap();
        assert!(parsed.kinds.is_empty(), "{text}");
    }
}
