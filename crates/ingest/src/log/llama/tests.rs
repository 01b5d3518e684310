//! Known answers.

use super::*;
use crate::log::parse_kind;
use crate::{PartialRun, Record};
use sparkbench_model::ExtraValue;

fn read(text: &str) -> PartialRun {
    read_with_notes(text).0
}

fn read_with_notes(text: &str) -> (PartialRun, Vec<String>) {
    let mut input = text.as_bytes();
    let parsed = parse_kind(&mut SourceFile::new("server.log", text.len() as u64, &mut input), &LLAMA).unwrap();
    match parsed.records.into_iter().next() {
        Some(Record::Run(partial)) => (*partial, parsed.notes),
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

#[test]
fn an_answer_of_one_token_has_no_time_per_token() {
    let partial = read(
        "prompt eval time =     229.95 ms /    22 tokens (   10.45 ms per token,    95.67 tokens per second)\n\
                eval time =      51.77 ms /     4 tokens (   12.94 ms per token,    77.26 tokens per second)\n\
                eval time =       0.00 ms /     1 tokens (    0.00 ms per token, 1000000.00 tokens per second)\n",
    );
    let [series] = partial.series.as_slice() else { panic!("{:?}", partial.series) };
    assert_eq!((series.metric.as_str(), series.values.as_slice()), ("tpot_ms", &[12.94][..]));
    assert_eq!(
        (extra(&partial, "requests"), extra(&partial, "eval_rate max"), extra(&partial, "prompt_tokens")),
        (Some(2.0), Some(77.26), Some(22.0))
    );
}

#[test]
fn memory_is_that_of_the_gpu_and_each_buffer_stands_beside_it() {
    let partial = read(
        "0.14.342 I load_tensors:   CPU_Mapped model buffer size =  9000.00 MiB\n\
         load_tensors:        CUDA0 model buffer size =  2048.00 MiB\nload_tensors:        CUDA1 model buffer size =  4096.00 MiB\n\
         llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB\n\
         llama_kv_cache: size =  512.00 MiB (  8192 cells,  32 layers,  1/1 seqs), K (q8_0):  256.00 MiB, V (q8_0):  256.00 MiB\n\
         llama_kv_cache: size =  256.00 MiB (  1024 cells,  32 layers,  1/1 seqs), K (q8_0):  128.00 MiB, V (q8_0):  128.00 MiB\n",
    );
    assert_eq!((value(&partial, "model_memory_gib"), value(&partial, "kv_cache_gib")), (Some(4.0), Some(0.75)));
    assert_eq!((value(&partial, "kv_cache_tokens"), partial.setup.kv_dtype.as_deref()), (Some(8192.0), Some("q8_0")));
    assert_eq!(extra(&partial, "model buffer CPU_Mapped"), Some(9000.0));
    let old = read(
        "llm_load_tensors: x\nllama_new_context_with_model: KV self size  =  256.00 MiB, K (f16):  128.00 MiB, V (f16):  128.00 MiB\n",
    );
    assert_eq!(value(&old, "kv_cache_gib"), Some(0.25));
}

#[test]
fn of_the_file_of_the_model_only_its_name_is_taken() {
    let partial = read(
        "llama_model_loader: loaded meta data with 30 key-value pairs and 291 tensors from /home/someone/x-Q4_K_M.gguf (version GGUF V3 (latest))\n",
    );
    assert_eq!(partial.model.as_deref(), Some("x-Q4_K_M.gguf"));
    assert!(!format!("{partial:?}").contains("someone"));
}

#[test]
fn a_start_is_announced_by_the_server_or_its_build_and_both_are_one() {
    const SERVER: &str = "0.00 I srv  llama_server: initializing ...\n";
    const LIBRARY: &str = "0.00 I srv          init: initializing ...\n";
    const BUILD: &str =
        "0.00 I cmn  common_param: common_params_print_info: build 7 (abc1234) with GNU 12.2.0 for Linux\n";
    const INFO: &str = "build_info: b7-abc1234\n";
    const WITH: &str = "build: 7 (abc1234) with cc 13\n";
    const UP: &str = "prompt eval time = 9.00 ms / 22 tokens (0.4 ms per token, 2444.4 tokens per second)\n\
                      eval time = 51.77 ms / 4 tokens (12.94 ms per token, 77.26 tokens per second)\n";
    for (text, starts, version) in [
        (format!("{SERVER}{BUILD}{UP}"), 1, Some("7 (abc1234)")),
        (format!("{SERVER}{BUILD}{UP}{SERVER}{BUILD}{UP}"), 2, Some("7 (abc1234)")),
        (format!("{SERVER}{UP}{SERVER}{UP}"), 2, None),
        (format!("{LIBRARY}{INFO}{UP}{LIBRARY}{INFO}{UP}"), 2, Some("b7-abc1234")),
        (format!("{WITH}{SERVER}{UP}{WITH}{SERVER}{UP}"), 2, Some("7 (abc1234)")),
        (format!("{SERVER}{SERVER}{UP}"), 2, None),
        // That of llama-bench is below its table.
        (format!("{SERVER}{UP}build: 308f61c31 (9536)\nbuild: unknown (0)\n"), 1, None),
    ] {
        let (partial, notes) = read_with_notes(&text);
        assert_eq!(extra(&partial, "requests"), Some(1.0), "{text}");
        assert_eq!(partial.setup.engine_version.as_deref(), version, "{text}");
        let told = notes.iter().any(|note| note.contains(&format!("started {starts} times")));
        assert_eq!(told, starts > 1, "{text} {notes:?}");
    }
}

#[test]
fn cells_are_those_of_one_stream() {
    for (seqs, tokens) in [("2/2 seqs", 8192.0), (" 4/ 1 seqs", 4096.0), ("4 seqs", 4096.0)] {
        let partial = read(&format!(
            "llama_kv_cache: size =    8.00 MiB (  4096 cells,   4 layers,  {seqs}), K (f16):    4.00 MiB, V (f16):    4.00 MiB\n"
        ));
        assert_eq!(value(&partial, "kv_cache_tokens"), Some(tokens), "{seqs}");
    }
}

#[test]
fn accepted_drafts_are_read_with_and_without_the_word_rate() {
    let partial = read(
        "slot print_timing: id  0 | task 0 | prompt eval time = 9.00 ms / 22 tokens\n\
         slot print_timing: id  0 | task 0 | draft acceptance = 0.10000 (    1 accepted /    10 generated), mean len =  1.11\n\
         draft acceptance rate = 0.30000 (   9 accepted /    30 generated)\n",
    );
    assert_eq!(
        (extra(&partial, "spec_decode_accepted"), extra(&partial, "spec_decode_drafted")),
        (Some(10.0), Some(40.0))
    );
    assert_eq!(extra(&partial, "spec_decode_acceptance_rate"), Some(25.0));
}

#[test]
fn with_a_draft_model_the_figures_are_those_of_the_model() {
    let model = "llama_model_loader: loaded meta data with 26 key-value pairs and 39 tensors from m/main.gguf (version GGUF V3 (latest))\n\
        print_info: file size   = 512.00 MiB (32.00 BPW) \nload_tensors:        CUDA0 model buffer size =   512.00 MiB\n\
        llama_context: n_ctx_seq             = 4096\n\
        llama_kv_cache: size =    4.00 MiB (  4096 cells,   4 layers,  1/1 seqs), K (f16):    2.50 MiB, V (f16):    1.50 MiB\n";
    let draft = model.replace("main", "draft").replace("f16", "q8_0").replace("4096", "1024").replace("2.50", "0.50");
    let text = format!("{model}common_speculative_init_result: loading draft model 'm/draft.gguf'\n{draft}");
    let partial = read(&text);
    let memory = partial.readings.iter().find(|reading| reading.metric == "model_memory_gib").unwrap();
    assert_eq!((memory.value, memory.origin.line), (0.5, Some(3)));
    assert_eq!((value(&partial, "kv_cache_tokens"), extra(&partial, "kv cache 2 cells")), (Some(4096.0), Some(1024.0)));
    assert_eq!((extra(&partial, "kv cache K"), extra(&partial, "kv cache V")), (Some(2.5), Some(1.5)));
    assert_eq!((partial.setup.kv_dtype.as_deref(), partial.setup.max_model_len), (Some("f16"), Some(4096.0)));
    assert_eq!((partial.model.as_deref(), extra(&partial, "file_size")), (Some("main.gguf"), Some(0.5)));
}

#[test]
fn at_the_verbosity_of_default_the_model_and_the_context_are_named_once() {
    let partial = read(
        "srv    load_model: loading model '/home/someone/x-Q4_0.gguf'\n\
         srv    load_model: initializing, n_slots = 2, n_ctx_slot = 4096, kv_unified = 'false'\nsrv  llama_server: model loaded\n",
    );
    assert_eq!((partial.model.as_deref(), partial.setup.max_model_len), (Some("x-Q4_0.gguf"), Some(4096.0)));
    assert!(!format!("{partial:?}").contains("someone"));
}

#[test]
fn tests_of_llama_bench_are_no_requests_and_their_caches_are_not_added_up() {
    let test = |number: u32, cells: u32| {
        format!(
            "llama-bench: benchmark {number}/2: starting\n\
             llama_kv_cache:        CPU KV buffer size =     {cells}.00 MiB\n\
             llama_kv_cache: size =    {cells}.00 MiB (   {cells} cells,   4 layers,  1/1 seqs), K (f16):    1.00 MiB, V (f16):    1.00 MiB\n\
             llama_perf_context_print:        load time =      1{number}.00 ms\n\
             llama_perf_context_print: prompt eval time =       0.00 ms /   128 tokens (    0.00 ms per token,      inf tokens per second)\n\
             llama_perf_context_print:        eval time =       5.00 ms /    49 runs   (    0.10 ms per token,      10.0 tokens per second)\n"
        )
    };
    let same = read(&(test(1, 512) + &test(2, 512)));
    assert_eq!((value(&same, "kv_cache_gib"), value(&same, "kv_cache_tokens")), (Some(0.5), Some(512.0)));
    assert_eq!((same.series.len(), extra(&same, "requests"), extra(&same, "kv cache 2")), (0, None, None));
    assert_eq!(extra(&same, "load_time_ms"), Some(11.0));
    let (partial, notes) = read_with_notes(&(test(1, 512) + &test(2, 256)));
    assert_eq!((value(&partial, "kv_cache_gib"), value(&partial, "kv_cache_tokens")), (None, None));
    assert_eq!(notes, ["its tests have caches of several sizes, so none is taken"]);
}
