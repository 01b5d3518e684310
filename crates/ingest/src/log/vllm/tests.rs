//! Known answers.

use super::*;
use crate::log::parse_kind;
use crate::{PartialRun, Record, ServerState};
use sparkbench_model::{ExtraValue, Status};

fn read(text: &str) -> Option<(PartialRun, Vec<String>)> {
    let mut input = text.as_bytes();
    let parsed = parse_kind(&mut SourceFile::new("server.log", text.len() as u64, &mut input), &VLLM).unwrap();
    if parsed.kinds.is_empty() {
        return None;
    }
    match parsed.records.into_iter().next() {
        Some(Record::Run(partial)) => Some((*partial, parsed.notes)),
        other => panic!("{other:?}"),
    }
}

fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
    partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

fn extra(partial: &PartialRun, name: &str) -> Option<f64> {
    partial.extras.iter().find(|extra| extra.name == name).and_then(|extra| match extra.value {
        ExtraValue::Number(value) => Some(value),
        ExtraValue::Text(_) => None,
    })
}

fn start(who: &str, model: &str) -> String {
    format!(
        "({who} pid=1) INFO 05-04 21:49:57 [core.py:1] Initializing a V1 LLM engine (v0.20.0) with config: model='{model}', speculative_config=None, max_seq_len=8192\n"
    )
}

#[test]
fn both_wordings_of_the_loading_and_one_line_for_size_and_concurrency_are_read() {
    for (line, memory, seconds) in [
        ("Model loading took 75.03 GiB memory and 7505.432981 seconds", 75.03, Some(7505.432981)),
        ("Model loading took 7.43 GiB and 12.5 seconds", 7.43, Some(12.5)),
        ("Loading model weights took 2.05 GB", 2.05, None),
    ] {
        let (partial, _) = read(&format!("{}INFO [x.py:1] {line}\n", start("EngineCore", "org/m"))).unwrap();
        assert_eq!(
            (value(&partial, "model_memory_gib"), value(&partial, "model_load_s")),
            (Some(memory), seconds),
            "{line}"
        );
    }
    let (partial, _) = read("INFO [x.py:1] GPU KV cache size: 1,253,392 tokens, Maximum concurrency for 65,536 tokens per request: 19.12x (process-scoped)\n").unwrap();
    assert_eq!(
        (value(&partial, "kv_cache_tokens"), extra(&partial, "maximum_concurrency")),
        (Some(1_253_392.0), Some(19.12))
    );
    assert_eq!(extra(&partial, "maximum_concurrency_at"), Some(65_536.0));
}

#[test]
fn a_second_engine_of_another_name_is_the_same_server_and_one_of_the_same_name_a_new_start() {
    let kv = |who: &str, gib: &str| format!("({who} pid=2) INFO [x.py:1] Available KV cache memory: {gib} GiB\n");
    let text = [
        start("EngineCore_DP0", "org/m"),
        start("EngineCore_DP1", "org/m"),
        kv("EngineCore_DP0", "10.0"),
        kv("EngineCore_DP1", "11.0"),
    ]
    .concat();
    let (partial, notes) = read(&text).unwrap();
    assert_eq!(
        (value(&partial, "kv_cache_gib"), extra(&partial, "kv_cache_gib of EngineCore_DP0")),
        (Some(11.0), Some(10.0))
    );
    assert!(notes.is_empty(), "{notes:?}");
    let (partial, notes) =
        read(&format!("{text}{}{}", start("EngineCore_DP0", "org/n"), kv("EngineCore_DP0", "9.0"))).unwrap();
    assert_eq!((value(&partial, "kv_cache_gib"), partial.model.as_deref()), (Some(9.0), Some("n")));
    assert!(notes[0].contains("started 2 times"), "{notes:?}");
}

#[test]
fn accepted_and_drafted_tokens_are_summed_and_rates_are_not_averaged() {
    let line = |accepted: u32, drafted: u32, rates: &str| {
        format!(
            "INFO [m.py:1] SpecDecoding metrics: Mean acceptance length: 2.18, Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {rates}, Avg Draft acceptance rate: 1.0%\n"
        )
    };
    let (partial, _) =
        read(&[start("EngineCore", "m"), line(10, 100, "0.1, 0.1"), line(90, 100, "0.9, 0.9")].concat()).unwrap();
    assert_eq!(
        (extra(&partial, "spec_decode_accepted"), extra(&partial, "spec_decode_drafted")),
        (Some(100.0), Some(200.0))
    );
    // A hundred drafts of two tokens each.
    assert_eq!(
        (extra(&partial, "spec_decode_acceptance_rate"), extra(&partial, "spec_decode_acceptance_length")),
        (Some(50.0), Some(2.0))
    );
}

#[test]
fn idle_windows_do_not_enter_the_mean() {
    let line = |rate: &str| {
        format!(
            "INFO Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {rate} tokens/s, Running: 1 reqs, Waiting: 2 reqs, GPU KV cache usage: 3.5%, Prefix cache hit rate: 4.0%, External prefix cache hit rate: 9.0%\n"
        )
    };
    let (partial, _) = read(&[line("10.0"), line("0.0"), line("30.0")].concat()).unwrap();
    assert_eq!(extra(&partial, "window_generation_throughput mean"), Some(20.0));
    assert_eq!((extra(&partial, "windows"), extra(&partial, "prefix_cache_hit_rate")), (Some(3.0), Some(4.0)));
    assert!(partial.readings.is_empty(), "a window is not a benchmark");
}

#[test]
fn a_start_that_dies_is_a_failure_with_its_first_error() {
    let text = format!(
        "{}ERROR [core.py:1] EngineCore failed to start.\nERROR [core.py:1] ValueError: no kernel\nRuntimeError: Engine core initialization failed. See root cause above.\n",
        start("EngineCore", "m")
    );
    let (partial, _) = read(&text).unwrap();
    assert_eq!(partial.status, Some(Status::Failed("engine did not start: ValueError: no kernel (line 3)".to_owned())));
}

#[test]
fn a_cache_below_zero_is_no_size_and_says_why_the_start_failed() {
    let text = format!(
        "{}(EngineCore pid=2) INFO [x.py:1] Model loading took 14.2487 GiB and 19.1 seconds\n\
         (Worker_TP0 pid=3) INFO [x.py:1] Available KV cache memory: 1.25 GiB\n\
         (Worker_TP1 pid=4) INFO [x.py:1] Available KV cache memory: -0.53 GiB\n\
         (EngineCore pid=2) ERROR [core.py:700] EngineCore failed to start.\n",
        start("EngineCore", "m")
    );
    let (partial, _) = read(&text).unwrap();
    let why = "too little free memory: -0.53 GiB are left for the KV cache (line 4)";
    assert_eq!(partial.status, Some(Status::Failed(why.to_owned())));
    assert_eq!(partial.server, Some(ServerState::NeverUp));
    assert!(partial.readings.iter().all(|reading| reading.value >= 0.0), "{:?}", partial.readings);
    // Loading that came to nothing is kept, and is no load time.
    assert_eq!((value(&partial, "model_load_s"), extra(&partial, "model_load")), (None, Some(19.1)));
    assert_eq!(extra(&partial, "kv_cache_gib below zero of Worker_TP1"), Some(-0.53));
}

#[test]
fn words_that_another_file_quotes_are_no_log() {
    let notes = "# Notes\n\n```\nAvailable KV cache memory: 18.08 GiB\nGPU KV cache size: 2,493,464 tokens\n```\n";
    assert!(read(notes).is_none(), "the logger puts a level in front");
    assert!(read("the log says `INFO [x.py:1] GPU KV cache size: 2,493,464 tokens`\n").is_none());
    let log = "INFO [x.py:1] GPU KV cache size: 2,493,464 tokens\n";
    assert!(read(log).is_some());
    let mut input = log.as_bytes();
    let parsed = parse_kind(&mut SourceFile::new("RESULTS.md", log.len() as u64, &mut input), &VLLM).unwrap();
    assert!(!parsed.kinds.contains(&VLLM.name), "prose quotes what it shows");
}

#[test]
fn a_server_that_was_up_may_be_killed_at_the_end() {
    let up = format!("{}INFO [x.py:1] Available KV cache memory: 9.5 GiB\n", start("EngineCore", "m"));
    assert_eq!(read(&format!("{up}Killed\n")).unwrap().0.status, None);
    let down = read(&format!("{}Killed\n", start("EngineCore", "m"))).unwrap().0.status;
    assert_eq!(down, Some(Status::Failed("killed (line 2)".to_owned())));
}

#[test]
fn settings_are_taken_and_keys_of_clients_are_not() {
    let text = format!(
        "INFO [u.py:1] non-default args: {{'model': '/models/m', 'gpu_memory_utilization': 0.85, 'api_key': ['sk-secret'], 'max_num_seqs': 8}}\n\
         INFO [m.py:1] Using max model len 8192\nINFO [m.py:1] Using max model len 262144\n{}",
        start("EngineCore", "/models/m', served_model_name=good-name, x='")
    );
    let (partial, _) = read(&text).unwrap();
    let setup = &partial.setup;
    assert_eq!(
        (setup.memory_utilisation, setup.max_model_len, setup.speculative.as_deref()),
        (Some(0.85), Some(8192.0), Some("off"))
    );
    assert_eq!((setup.more["max_num_seqs"].as_str(), partial.model.as_deref()), ("8", Some("good-name")));
    assert!(!format!("{partial:?}").contains("secret"));
}

#[test]
fn a_line_that_only_sounds_like_the_server_is_not_enough() {
    let other = "  File \"/x/sglang/srt/model_executor/model_runner.py\", line 3, in load\nRuntimeError: x\n";
    assert!(read(other).is_none());
    assert!(read("[bench] Model loading took 2.05 GiB and 0.349 seconds\n").is_none());
}

#[test]
fn a_build_for_a_processor_says_its_cache_and_the_parts_of_its_loading() {
    let text = format!(
        "{}(Worker pid=2) INFO [base_loader.py:82] Initializing model took 0.269230 seconds\n\
         (Worker pid=2) INFO [default_loader.py:501] Loading weights took 0.03 seconds\n\
         (Worker pid=2) INFO [cpu_worker.py:260] Explicitly set (1.0/13.96) GiB for KV cache on node 0.\n\
         (EngineCore pid=1) INFO [kv_cache_utils.py:2327] CPU KV cache size: 524,288 tokens, Maximum concurrency for 4,096 tokens per request: 128.00x\n\
         (EngineCore pid=1) INFO [core.py:402] init engine (profile, create kv cache, warmup model) took 3.53 s\n\
         (APIServer pid=3) INFO [loggers.py:335] Engine 000: Avg prompt throughput: 2.6 tokens/s, Avg generation throughput: 4.2 tokens/s, Running: 1 reqs, Waiting: 0 reqs, CPU KV cache usage: 2.5%, Prefix cache hit rate: 0.0%\n",
        start("EngineCore", "/models/tiny")
    );
    let (partial, _) = read(&text).unwrap();
    let figures = ["kv_cache_tokens", "kv_cache_gib", "model_load_s"].map(|name| value(&partial, name).unwrap());
    assert_eq!(figures, [524_288.0, 1.0, 0.269_23 + 0.03]);
    assert_eq!((extra(&partial, "init_engine_s"), extra(&partial, "maximum_concurrency")), (Some(3.53), Some(128.0)));
    // A line with the total wins, wherever it is.
    let whole = "(Worker pid=2) INFO [x.py:1] Model loading took 7.43 GiB and 12.5 seconds\n";
    assert_eq!(value(&read(&format!("{text}{whole}")).unwrap().0, "model_load_s"), Some(12.5));
}
