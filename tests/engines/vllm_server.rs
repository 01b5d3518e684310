//! `sparkbench` measures a real vLLM server on this machine's processor, with tiny random models.
//!
//! In:  the server of `tests/server/vllm/`.  Out: nothing.
//! Not here: what a GPU would make of it; how exact the times are (that needs a server whose truth is known, the mock).
//!
//! ```text
//! SPARKBENCH_VLLM=1 cargo test --test engines vllm_server:: -- --nocapture
//! ```
//!
//! What the client says is held against what the server counts about the same work. A server takes half a minute to start and both
//! processors, so the tests share three of them and run one after the other. How long anything takes is said by `benches/engine.py`.

#![cfg(all(feature = "collect", feature = "analyse", target_os = "linux"))]

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::adds_up;
use crate::support::folder::Folder;
use crate::support::program::{Ending, FEW, run_in};
use crate::support::real_server::{RealServer, VLLM};
use crate::support::wait;
use serde_json::Value;

/// One server at a time, of this process and of others that run the same tests: each takes some gigabytes of memory.
fn alone() -> (MutexGuard<'static, ()>, File) {
    static ONE: Mutex<()> = Mutex::new(());
    let here = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    std::fs::create_dir_all(VLLM.home()).unwrap();
    let everywhere = File::create(VLLM.home().join("one-server")).unwrap();
    everywhere.lock().unwrap();
    (here, everywhere)
}

/// A load's end and its summary.
fn load(server: &RealServer, folder: &Folder, options: &[&str], variables: &[(&str, &str)]) -> (Ending, Value) {
    let url = server.url();
    let ending =
        run_in(folder.path(), &[&["load", "--url", &url, "--json", "-", "--warmup", "0"], options].concat(), variables);
    let summary = serde_json::from_str(&ending.out).unwrap_or(Value::Null);
    (ending, summary)
}

#[track_caller]
fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {value:#}"))
}

/// How much a counter grew. Counters of this server are there from its start.
fn grown(server: &RealServer, before: &std::collections::BTreeMap<String, f64>, name: &str) -> f64 {
    server.metrics().get(name).copied().unwrap_or(f64::NAN) - before.get(name).copied().unwrap_or(f64::NAN)
}

/// A tool of the server's own environment.
fn tool(folder: &Path, arguments: &[&str]) {
    let vllm = VLLM.home().join("venv/bin/vllm");
    let ended = Command::new(vllm)
        .args(arguments)
        .current_dir(folder)
        .envs([
            ("VLLM_TARGET_DEVICE", "cpu"),
            ("VLLM_CPU_KVCACHE_SPACE", "1"),
            ("HF_HUB_OFFLINE", "1"),
            ("VLLM_NO_USAGE_STATS", "1"),
        ])
        .output()
        .unwrap();
    std::fs::write(folder.join("tool.log"), [ended.stdout.as_slice(), &ended.stderr].concat()).unwrap();
    assert!(ended.status.success(), "{arguments:?}\n{}", String::from_utf8_lossy(&ended.stderr));
}

/// What `analyse` makes of a folder.
fn analysis(folder: &Path) -> Value {
    let own = Folder::new("vllm-analysis");
    let path = folder.display().to_string();
    run_in(own.path(), &[&["analyse", &path][..], &FEW].concat(), &[]).expect(0);
    let text = std::fs::read_to_string(own.path().join("site/data/analysis.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Values of a metric over the runs of an analysis, by run.
fn values(analysis: &Value, metric: &str) -> Vec<f64> {
    let runs = analysis["runs"].as_array().unwrap();
    runs.iter().filter_map(|run| run["metrics"][metric]["value"].as_f64().or(run["metrics"][metric].as_f64())).collect()
}

#[test]
fn one_server_from_its_first_question_to_its_death() {
    let _alone = alone();
    let folder = Folder::new("vllm-first");
    let log = folder.path().join("server.log").display().to_string();
    let Some(mut server) = RealServer::of(&VLLM, &["--log", &log]) else { return };

    // Model, length and engine are found, and the exact length is honoured. The server counts the same tokens.
    let before = server.metrics();
    let archive = folder.path().join("archive").display().to_string();
    let shape = ["--concurrency", "4", "--requests", "24", "--isl", "100", "--osl", "40", "--archive", &archive];
    let (ending, summary) = load(&server, &folder, &shape, &[]);
    let ending = ending.expect(0);
    assert!(ending.err.contains("vllm 0.32.0"), "{}", ending.err);
    assert_eq!((&summary["model"], &summary["completed"]), (&"tiny-llama".into(), &24.into()), "{summary:#}");
    assert_eq!(number(&summary, "/output_tokens"), 24.0 * 40.0);
    assert_eq!(summary["short"], 0);
    let probes = grown(&server, &before, "request_success_total") - 24.0;
    let made = grown(&server, &before, "generation_tokens_total") - number(&summary, "/output_tokens");
    let read = grown(&server, &before, "prompt_tokens_total") - number(&summary, "/input_tokens");
    assert!((1.0..=8.0).contains(&probes), "{probes} requests beside the load");
    assert!(made >= probes && made <= 64.0 * probes, "{made} tokens of {probes} probes");
    assert!(read >= 0.0 && read <= 1_000.0 * probes, "{read} tokens of the prompts of {probes} probes");
    // One stream takes a step of the engine for each token. The parts of the time are the whole, however they were sent.
    let (_, one) =
        load(&server, &folder, &["--concurrency", "1", "--requests", "8", "--isl", "60", "--osl", "64"], &[]);
    adds_up(&one, 63.0, false);

    // The cache contract is held against the server's own counters of hits.
    let before = server.metrics();
    let primed = ["--cache", "primed", "--requests", "8", "--concurrency", "2", "--isl", "512", "--osl", "8"];
    let (ending, _) = load(&server, &folder, &primed, &[]);
    ending.expect(0);
    let hits = grown(&server, &before, "prefix_cache_hits_total");
    assert!(hits > 0.8 * 8.0 * 400.0, "{hits} tokens were found");
    let before = server.metrics();
    let (ending, cold) = load(&server, &folder, &["--requests", "8", "--isl", "512", "--osl", "8"], &[]);
    ending.expect(0);
    let (hits, asked) =
        (grown(&server, &before, "prefix_cache_hits_total"), grown(&server, &before, "prefix_cache_queries_total"));
    assert!(hits < 0.1 * asked, "{hits} of {asked} tokens were found of cold prompts");
    assert!(!cold["notes"].to_string().contains("cache contract"), "{:#}", cold["notes"]);

    // A prompt beyond the limit is refused by the server in its own words, and counted.
    let (ending, beyond) = load(&server, &folder, &["--requests", "2", "--isl", "5000", "--osl", "8"], &[]);
    assert_ne!(ending.code, Some(0), "{beyond:#}");
    ending.complains(&["4096"]);

    // The log of this start: its cache, the parts of its loading, its graphs.
    let found = analysis_of_log(&folder, &log);
    assert_eq!(values(&found, "kv_cache_gib"), [1.0]);
    assert!(values(&found, "kv_cache_tokens")[0] > 100_000.0);
    assert!(values(&found, "model_load_s")[0] > 0.0);
    assert!(found.to_string().contains("enforce_eager"), "no graphs were captured, and the log says why");

    // vLLM's own client against the same server, read by our parser.
    let url = server.url();
    let tokenizer = VLLM.home().join("tiny").display().to_string();
    let bench = Folder::new("vllm-bench");
    tool(
        bench.path(),
        &[
            "bench",
            "serve",
            "--backend",
            "openai-chat",
            "--endpoint",
            "/v1/chat/completions",
            "--base-url",
            &url,
            "--model",
            "tiny-llama",
            "--tokenizer",
            &tokenizer,
            "--dataset-name",
            "random",
            "--random-input-len",
            "64",
            "--random-output-len",
            "32",
            "--num-prompts",
            "16",
            "--max-concurrency",
            "4",
            "--ignore-eos",
            "--save-result",
        ],
    );
    let theirs = analysis(bench.path());
    assert_eq!(theirs["runs"].as_array().unwrap().len(), 1, "{:#}", theirs["runs"]);
    assert!(values(&theirs, "ttft_ms")[0] > 0.0 && values(&theirs, "output_throughput_tok_s")[0] > 0.0);

    // Killed in the middle of a load: counted, not waited for.
    // Whoever waited for any of these answers would wait until the program is ended by force.
    let options = ["--concurrency", "4", "--requests", "200", "--isl", "40", "--osl", "2000", "--timeout", "3600"];
    let before = server.metrics();
    let (ending, killed) = std::thread::scope(|scope| {
        let running = scope.spawn(|| load_of(&url, &options));
        // A server without a core of its own may say that requests run only after they have ended. What it has made it says at once, and the
        // questions before a load do not come to as much, see above.
        wait::until("answers are under way", || {
            assert!(!running.is_finished(), "the load is over before its server is");
            grown(&server, &before, "generation_tokens_total") > 8.0 * 64.0
        });
        server.kill();
        running.join().unwrap()
    });
    assert_eq!(ending.code, Some(4), "{}", ending.err);
    let (completed, failed) = (number(&killed, "/completed"), number(&killed, "/failed"));
    // The load may end before it has tried all: nobody is there any more.
    assert!(completed + failed <= 200.0 && failed > 0.0, "{killed:#}");
    assert_eq!(killed["valid"], false, "{killed:#}");
}

fn load_of(url: &str, options: &[&str]) -> (Ending, Value) {
    let folder = Folder::new("vllm-killed");
    let ending = run_in(folder.path(), &[&["load", "--url", url, "--json", "-"], options].concat(), &[]);
    let summary = serde_json::from_str(&ending.out).unwrap_or(Value::Null);
    (ending, summary)
}

fn analysis_of_log(folder: &Folder, log: &str) -> Value {
    let own = folder.path().join("log-alone");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::copy(log, own.join("server.log")).unwrap();
    analysis(&own)
}

#[test]
fn tokens_without_text_a_key_two_names_and_a_cache_that_is_too_small() {
    let _alone = alone();
    let folder = Folder::new("vllm-marks");
    let few_blocks = [
        "--num-gpu-blocks-override",
        "24",
        "--max-model-len",
        "2048",
        "--max-num-seqs",
        "4",
        "--no-enable-prefix-caching",
    ];
    let names = ["--model", "marks", "--served-model-name", "first", "second", "--api-key", "sesame-42"];
    let Some(server) = RealServer::of(&VLLM, &[&names[..], &few_blocks].concat()) else { return };
    let key = [("VLLM_KEY", "sesame-42")];

    // Without the key nothing is measured. With it and two names the program asks which.
    let (refused, _) = load(&server, &folder, &["--requests", "2"], &[]);
    assert_ne!(refused.code, Some(0));
    refused.complains(&["--api-key-env"]);
    let (unclear, _) = load(&server, &folder, &["--requests", "2", "--api-key-env", "VLLM_KEY"], &key);
    assert_eq!(unclear.code, Some(2), "{}", unclear.err);
    unclear.complains(&["first", "second"]);

    // Answers of special tokens and half characters among words. The same tokens with and without a count in each chunk.
    let ids = r#"{"allowed_token_ids": [3, 4, 2, 200, 201, 1000, 1001], "temperature": 1.0}"#;
    let common = [
        "--api-key-env",
        "VLLM_KEY",
        "--model",
        "first",
        "--requests",
        "12",
        "--concurrency",
        "1",
        "--isl",
        "60",
        "--osl",
        "64",
        "--extra-body",
        ids,
    ];
    let (ending, plain) = load(&server, &folder, &common, &key);
    ending.expect(0);
    let (ending, counted) = load(&server, &folder, &[&common[..], &["--continuous-usage"]].concat(), &key);
    ending.expect(0);
    for (summary, counted_along) in [(&plain, false), (&counted, true)] {
        assert_eq!((&summary["completed"], &summary["short"]), (&12.into(), &0.into()), "{summary:#}");
        assert_eq!(number(summary, "/output_tokens"), 12.0 * 64.0);
        // A busy server may send several tokens in one chunk, and one of them has text. Where each token came alone, many came without.
        let alone = number(summary, "/tokens_per_chunk/max") <= 1.0;
        let noted = summary["notes"].to_string().contains("without visible text");
        assert!(noted || !alone, "{:#}", summary["notes"]);
        // The first token is one of any kind. What a user sees comes no earlier.
        assert!(number(summary, "/ttft_ms/mean") <= number(summary, "/ttfo_ms/mean") + 1e-9, "{summary:#}");
        adds_up(summary, 63.0, counted_along);
    }

    // More tokens in flight than the cache holds: the server preempts, and its counter says so. Three answers are enough for that, and until
    // the last ones are sent there are eight.
    let before = server.metrics();
    let crowd = [
        "--api-key-env",
        "VLLM_KEY",
        "--model",
        "second",
        "--requests",
        "16",
        "--concurrency",
        "8",
        "--isl",
        "700",
        "--osl",
        "400",
    ];
    let (ending, crowded) = load(&server, &folder, &crowd, &key);
    ending.expect(0);
    assert_eq!(crowded["completed"], 16, "{crowded:#}");
    let preempted = grown(&server, &before, "num_preemptions_total");
    assert!(preempted > 0.0, "{preempted} preemptions");
    assert!(crowded.to_string().contains("preempt"), "the summary says it: {:#}", crowded["notes"]);

    // Each point of a sweep is a run of its own, with fewer streams than the server has places and with more.
    let archive = folder.path().join("points").display().to_string();
    let points = ["--requests", "8", "--concurrency", "1,8", "--isl", "60", "--osl", "64"];
    let with = ["--api-key-env", "VLLM_KEY", "--model", "first", "--archive", &archive];
    let (ending, _) = load(&server, &folder, &[&points[..], &with].concat(), &key);
    ending.expect(0);
    let states = states(&analysis(Path::new(&archive)));
    assert_eq!(states.len(), 2, "{states:?}");
    for load in ["c1", "c8"] {
        let state = states.iter().find(|(name, _)| name.ends_with(load)).map(|(_, state)| state.as_str());
        assert_eq!(state, Some("\"done\""), "{states:?}");
    }
}

/// The states of the runs of an analysis, by workload.
fn states(analysis: &Value) -> std::collections::BTreeMap<String, String> {
    let runs = analysis["runs"].as_array().unwrap();
    runs.iter().map(|run| (run["workload"].as_str().unwrap().to_owned(), run["status"].to_string())).collect()
}

#[test]
fn reasoning_and_calls_of_tools_are_streams_of_tokens_too() {
    let _alone = alone();
    let folder = Folder::new("vllm-reasoning");
    let parsers = ["--reasoning-parser", "deepseek_r1", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"];
    let Some(server) = RealServer::of(&VLLM, &parsers) else { return };
    let common = ["--requests", "6", "--concurrency", "2", "--isl", "60", "--osl", "48"];

    // Nothing ends the thoughts of this model: all of its answer is reasoning, and none of it is seen by a user.
    let (ending, thoughts) = load(&server, &folder, &common, &[]);
    ending.expect(0);
    assert_eq!(thoughts["completed"], 6, "{thoughts:#}");
    assert_eq!(number(&thoughts, "/output_tokens"), 6.0 * 48.0);
    assert!(thoughts["ttfo_ms"]["mean"].is_null(), "{:#}", thoughts["ttfo_ms"]);
    adds_up(&thoughts, 47.0, false);

    // A call of a tool, forced by a grammar: its parts are tokens like any other.
    let call = r#"{"tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object",
        "properties": {"place": {"type": "string", "maxLength": 12}}, "required": ["place"]}}}],
        "tool_choice": {"type": "function", "function": {"name": "look"}}}"#;
    let options = [&common[..], &["--exact", "off", "--extra-body", call]].concat();
    let (ending, calls) = load(&server, &folder, &options, &[]);
    assert_eq!(calls["completed"], 6, "{}\n{calls:#}", ending.err);
    assert!(number(&calls, "/ttft_ms/mean") > 0.0, "{calls:#}");
}

/// Where the engine and its models lie, prepared where that is asked for.
fn prepared() -> Option<std::path::PathBuf> {
    if !VLLM.is_asked_for() {
        return None;
    }
    let home = VLLM.home();
    if !home.join("prepared").exists() {
        // Says why, and prepares where that is asked for.
        drop(RealServer::of(&VLLM, &[]));
    }
    home.join("prepared").exists().then_some(home)
}

#[test]
fn the_driver_measures_all_six_tests_and_a_sweep_until_memory_is_short() {
    let _alone = alone();
    let Some(home) = prepared() else { return };
    let folder = Folder::new("vllm-driver");
    // 199 blocks of 128 tokens: 32 requests of 639 tokens need 160 of them, 64 need 320.
    let suite = format!(
        "schema = \"sparkbench.suite/1\"\nname = \"offline\"\nrepeats = 1\n\
         [models.tiny]\npath = \"{home}/tiny\"\n\
         [environments.native]\nkind = \"native\"\n\
         env = {{ PATH = \"/usr/bin:/bin\", VLLM_TARGET_DEVICE = \"cpu\", VLLM_CPU_KVCACHE_SPACE = \"1\", HF_HUB_OFFLINE = \"1\", VLLM_NO_USAGE_STATS = \"1\" }}\n\
         [workloads.offline]\nkind = \"python\"\nengine = \"vllm\"\nprogram = [\"{home}/venv/bin/python\"]\n\
         tests = [\"T1\", \"T2\", \"T3\", \"T4\", \"T5\", \"T6\"]\nsweep = {{ from = 16, to = 128, isl = 512, osl = 128 }}\n\
         iterations = 2\nwarmup = 1\neager = true\nmax_model_len = 4096\n\
         engine_options = {{ num_gpu_blocks_override = 200, block_size = 128 }}\n\
         [gates]\ngpu_required = false\ngpu_temp_max_c = false\ncooldown_min_s = 0\nhost_load_max_per_core = false\n\
         memory_available_min_gib = false\ndisk_free_min_gib = 0\npage_cache = \"keep\"\n\
         [watchdogs]\nmemory_floor_gib = false\nkernel_log = false\n[telemetry]\ngpu = \"off\"\n",
        home = home.display()
    );
    folder.put("offline.toml", suite);
    run_in(folder.path(), &["collect", "offline.toml"], &[]).expect(0);
    let found = analysis(&folder.path().join("archive/offline"));
    let states = states(&found);
    let names: Vec<&str> = states.keys().map(String::as_str).collect();
    let tests = ["B16", "B32", "T1", "T2", "T3", "T4", "T5", "T6"].map(|name| format!("offline-{name}"));
    assert_eq!(names, tests, "the sweep ends before 64");
    assert!(states.values().all(|state| state == "\"done\""), "{states:?}");
    for metric in ["output_throughput_tok_s", "e2e_latency_ms", "ttft_ms", "tpot_ms", "model_load_s", "kv_cache_tokens"]
    {
        let values = values(&found, metric);
        assert!(values.len() == 8 && values.iter().all(|value| *value > 0.0), "{metric}: {values:?}");
    }
    let marks =
        std::fs::read_to_string(folder.path().join("archive/offline/runs/001-native-tiny-offline-r01/run.json"))
            .unwrap();
    assert!(marks.contains("The sweep ends there"), "{marks}");
}

#[test]
fn the_offline_tools_of_the_same_version_are_run_and_read() {
    let _alone = alone();
    let folder = Folder::new("vllm-offline");
    let Some(home) = prepared() else { return };
    let model = home.join("tiny").display().to_string();
    let common = ["--model", &model, "--max-model-len", "1024", "--enforce-eager", "--output-json"];
    let latency = ["latency.json", "--input-len", "64", "--output-len", "16", "--batch-size", "4", "--num-iters", "5"];
    tool(folder.path(), &[&["bench", "latency"], &common[..], &latency, &["--num-iters-warmup", "1"]].concat());
    let throughput =
        ["throughput.json", "--random-input-len", "64", "--random-output-len", "16", "--num-prompts", "16"];
    tool(folder.path(), &[&["bench", "throughput"], &common[..], &throughput].concat());
    std::fs::remove_file(folder.path().join("tool.log")).unwrap();
    let found = analysis(folder.path());
    assert_eq!(found["runs"].as_array().unwrap().len(), 2, "{:#}", found["runs"]);
    assert!(values(&found, "e2e_latency_ms").iter().any(|value| *value > 0.0), "{:#}", found["runs"]);
    assert!(values(&found, "total_throughput_tok_s").iter().any(|value| *value > 0.0), "{:#}", found["runs"]);
}
