//! Names of files and folders as people write them.

use super::*;

#[test]
fn names_of_files_and_folders_say_what_ran() {
    let said =
        of_path("spark/docker/vllm/Qwen_Qwen3-0.6B-FP8_conc100_in32000_out1024_long_context_rag_20260210_011320.json");
    assert_eq!(
        (said.environment.as_deref(), said.engine.as_deref(), said.quantisation.as_deref()),
        (Some("docker"), Some("vLLM"), Some("fp8"))
    );
    assert_eq!((said.batch, said.isl, said.osl), (Some(100.0), Some(32000.0), Some(1024.0)));
    assert_eq!(said.workload().as_deref(), Some("32000-1024-c100"));
    assert_eq!((said.model.as_deref(), said.repeat), (Some("Qwen3-0.6B"), None));
}

#[test]
fn each_pattern_is_read_and_none_is_seen_where_it_is_not() {
    type Of = fn(&PathLabels) -> Option<String>;
    let cases: &[(&str, Of, Option<&str>)] = &[
        ("bare-metal/a.json", |p| p.environment.clone(), Some("native")),
        ("docker-container/a.json", |p| p.environment.clone(), Some("docker")),
        ("sglang-native_1123_12_24_16.jsonl", |p| p.environment.clone(), None),
        ("sglang-native_run3.jsonl", |p| p.environment.clone(), Some("native")),
        ("native-vs-container.json", |p| p.environment.clone(), None),
        ("native/x-container.json", |p| p.environment.clone(), Some("container")),
        ("alternative/contained.json", |p| p.environment.clone(), None),
        ("vllm_bench_serve/a.json", |p| p.engine.clone(), None),
        ("sglang-vs-vllm.json", |p| p.engine.clone(), None),
        ("tensorrt-llm/run-2.log", |p| p.engine.clone(), Some("TensorRT-LLM")),
        ("llama.cpp/a.json", |p| p.engine.clone(), Some("llama.cpp")),
        ("model-Q4_K_M.json", |p| p.quantisation.clone(), Some("q4_k_m")),
        ("27B_Heretic_Q3_K_M_d0.json", |p| p.quantisation.clone(), Some("q3_k_m")),
        ("qwen_kv_fp8.json", |p| p.quantisation.clone(), None),
        ("awq-int4/a.json", |p| p.quantisation.clone(), Some("awq")),
        ("nvfp4/fp8.json", |p| p.quantisation.clone(), Some("fp8")),
        ("tp8_ep8.json", |p| p.parallel.clone(), Some("tp8 ep8")),
        ("A100_tp4_dp2_in1024.json", |p| p.parallel.clone(), Some("tp4 dp2")),
        ("sgl-project/genai-bench.json", |p| p.engine.clone(), None),
        ("kubernetes-sigs/a.json", |p| p.environment.clone(), None),
        ("pp512.json", |p| p.parallel.clone(), None),
        ("throughput_llama8B_tp1.json", |p| p.model.clone(), Some("llama8B")),
        ("nemotron-3-nano-30b-a3b/a.json", |p| p.model.clone(), Some("nemotron-3-nano-30b-a3b")),
        ("run-3b.json", |p| p.model.clone(), None),
        ("a100-80gb/h200-141gb.json", |p| p.model.clone(), None),
        ("runs.json", |p| p.repeat.map(|n| n.to_string()), None),
        ("x/run=3.json", |p| p.repeat.map(|n| n.to_string()), Some("3")),
        ("iter10/a.json", |p| p.repeat.map(|n| n.to_string()), Some("10")),
        ("run-20260101.json", |p| p.repeat.map(|n| n.to_string()), None),
        ("bench-medium-rate4.log", |p| p.request_rate.map(|n| n.to_string()), Some("4")),
        ("short-rateinf.json", |p| p.request_rate.map(|n| n.to_string()), Some("inf")),
        ("c32/c64/a_bs8_c16.json", |p| p.batch.map(|n| n.to_string()), Some("64")),
    ];
    for (path, of, expected) in cases {
        assert_eq!(of(&of_path(path)).as_deref(), *expected, "{path}");
    }
}

#[test]
fn hostile_paths_are_only_paths() {
    for path in ["", "/", "///", "..", "\u{202e}native", &"a/".repeat(10_000), &"run".repeat(10_000)] {
        assert_eq!(of_path(path).repeat, None);
    }
}
