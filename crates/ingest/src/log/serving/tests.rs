use super::*;
use crate::PartialRun;
use crate::log::parse_kind;
use sparkbench_model::Status;

const VLLM_TEXT: &str = "\
Namespace(seed=0, dataset_name='random', random_input_len=1024, random_output_len=128, host='127.0.0.1', model='org/Some-32B', request_rate=inf)
Traffic request rate: inf
Burstiness factor: 1.0 (Poisson process)
Maximum request concurrency: 100
============ Serving Benchmark Result ============
Successful requests:                     100       
Failed requests:                         0         
Maximum request concurrency:             100       
Benchmark duration (s):                  2.47      
Total input tokens:                      102400    
Total generated tokens:                  12800     
Request throughput (req/s):              40.55     
Output token throughput (tok/s):         5190.30   
Peak output token throughput (tok/s):    9223.00   
Total Token throughput (tok/s):          46712.66  
---------------Time to First Token----------------
Mean TTFT (ms):                          867.85    
Median TTFT (ms):                        851.41    
P99 TTFT (ms):                           1397.78   
P99.9 TTFT (ms):                         1400.00   
---------------Speculative Decoding---------------
Acceptance rate (%):                     61.50     
Acceptance length:                       2.23      
Drafts:                                  5740      
Per-position acceptance (%):
  Position 0:                            75.00     
Watts of the wall (W):                   38.50     
==================================================
";

const SGLANG_TEXT: &str = "\
============ Serving Benchmark Result ============
Backend:                                 sglang    
Traffic request rate:                    4.0       
Max reqeuest concurrency:                not set   
Successful requests:                     10        
Benchmark duration (s):                  8.42      
Total input tokens:                      1000      
Total generated tokens:                  2000      
Total generated tokens (retokenized):    900       
Total throughput (tok/s):                356.30    
Concurrency:                             7.96      
----------------End-to-End Latency----------------
Mean E2E Latency (ms):                   6709.25   
Median E2E Latency (ms):                 6754.96   
P90 E2E Latency (ms):                    8046.13   
---------------Time to First Token----------------
Mean TTFT (ms):                          4037.96   
Median TPOT (ms):                        -0.00     
P95 ITL (ms):                            27.22     
Max ITL (ms):                            3322.13   
==================================================
";

fn read(kind: &TextKind, text: &str) -> Option<(Vec<PartialRun>, Parsed)> {
    let mut input = text.as_bytes();
    let mut parsed = parse_kind(&mut SourceFile::new("x.log", text.len() as u64, &mut input), kind).unwrap();
    let partials = std::mem::take(&mut parsed.records).into_iter().map(|record| match record {
        Record::Run(partial) => *partial,
        other => panic!("{other:?}"),
    });
    let partials = partials.collect();
    (!parsed.kinds.is_empty()).then_some((partials, parsed))
}

fn one(kind: &TextKind, text: &str) -> (PartialRun, Parsed) {
    let (mut partials, parsed) = read(kind, text).unwrap();
    assert_eq!(partials.len(), 1);
    (partials.remove(0), parsed)
}

fn value(partial: &PartialRun, metric: &str) -> Option<(f64, Option<u64>)> {
    partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| (reading.value, reading.origin.line))
}

fn extra(partial: &PartialRun, name: &str) -> Option<String> {
    partial.extras.iter().find(|extra| extra.name == name).map(|extra| format!("{:?} {}", extra.value, extra.unit))
}

#[test]
fn a_block_gives_what_its_json_would() {
    let (partial, parsed) = one(&VLLM, VLLM_TEXT);
    assert_eq!(value(&partial, "total_throughput_tok_s"), Some((46712.66, Some(15))));
    assert_eq!(
        (value(&partial, "ttft_ms"), value(&partial, "ttft_ms_p50").map(|v| v.0)),
        (Some((867.85, Some(17))), Some(851.41))
    );
    for (name, shown) in [
        ("completed", "Number(100.0) requests"),
        ("failed", "Number(0.0) requests"),
        ("max_output_tokens_per_s", "Number(9223.0) tok/s"),
        ("p99.9_ttft", "Number(1400.0) ms"),
        ("spec_decode_acceptance_rate", "Number(61.5) %"),
        ("spec_decode_num_drafts", "Number(5740.0) "),
        ("spec_decode_acceptance_pct.0", "Number(75.0) %"),
        ("Watts of the wall", "Number(38.5) W"),
    ] {
        assert_eq!(extra(&partial, name).as_deref(), Some(shown), "{name}");
    }
    let setup = &partial.setup;
    assert_eq!((setup.batch, setup.request_rate, setup.isl), (Some(100.0), Some(f64::INFINITY), Some(1024.0)));
    assert_eq!((partial.model.as_deref(), partial.workload.as_deref()), (Some("Some-32B"), Some("1024-128-c100")));
    assert_eq!((setup.speculative.as_deref(), &partial.status), (Some("on"), &Some(Status::Done)));
    assert!(!setup.more.contains_key("host") && setup.more.contains_key("dataset_name"));
    assert!(parsed.notes.is_empty() && parsed.not_understood.is_empty(), "{parsed:?}");
    assert!(read(&SGLANG, VLLM_TEXT).is_none());
}

#[test]
fn a_command_on_several_lines_above_a_block_is_read_as_one_line() {
    let at = VLLM_TEXT.find("====").unwrap();
    let block = &VLLM_TEXT[at..];
    let of = |command: &str| {
        let (partial, _) = one(&VLLM, &format!("{command}\n\n{block}"));
        (partial.model, partial.workload, format!("{:?}", partial.setup))
    };
    let whole =
        of("$ vllm bench serve --backend vllm --endpoint /v1/completions --model org/model-a --dataset-name random \
                    --num-prompts 100 --random-input-len 1024 --random-output-len 128");
    assert_eq!(whole.0.as_deref(), Some("model-a"));
    let continued = "$ vllm bench serve --backend vllm \\\n--endpoint /v1/completions --model org/model-a --dataset-name random \\\n\
                     --num-prompts 100 \\\n--random-input-len 1024 \\\n--random-output-len 128";
    assert_eq!(of(continued), whole);
    let wrapped = "$ vllm bench serve --backend vllm --endpoint /v1/completions --model org/model-a\n\
                    --dataset-name random --num-prompts 100 --random-input-len 1024 --random-output-\n\
                   len 128";
    assert_eq!(of(wrapped), whole);
}

#[test]
fn a_model_that_a_shell_put_in_is_unknown() {
    let at = VLLM_TEXT.find("====").unwrap();
    for model in ["$MODEL", "${MODEL}", "\"$1\""] {
        let text = format!("$ vllm bench serve --model {model} --num-prompts 100 --seed 3\n{}", &VLLM_TEXT[at..]);
        let (partial, _) = one(&VLLM, &text);
        assert_eq!((partial.model, partial.setup.model_id), (None, None), "{model}");
        assert_eq!(partial.setup.requests, Some(100.0));
    }
}

#[test]
fn the_mark_is_that_of_the_json_with_all_its_digits() {
    let json = r#"{"model_id": "m", "num_prompts": 100, "request_rate": "inf", "completed": 100, "mean_ttft_ms": 867.8507895, "median_ttft_ms": 851.4132410055026}"#;
    let mut input = json.as_bytes();
    let format = &crate::vllm::Serve as &dyn crate::Format;
    let parsed = format.parse(&mut SourceFile::new("x", json.len() as u64, &mut input)).unwrap();
    let Some(Record::Run(partial)) = parsed.records.first() else { panic!("{parsed:?}") };
    assert_eq!(partial.fingerprint, one(&VLLM, VLLM_TEXT).0.fingerprint);
}

#[test]
fn a_block_of_sglang_is_told_by_its_backend_and_its_traps_are_known() {
    let (partial, parsed) = one(&SGLANG, SGLANG_TEXT);
    assert_eq!(
        (value(&partial, "e2e_latency_ms_p90").map(|v| v.0), value(&partial, "itl_ms_max").map(|v| v.0)),
        (Some(8046.13), Some(3322.13))
    );
    assert_eq!((value(&partial, "tpot_ms_p50"), value(&partial, "itl_ms_p95").map(|v| v.0)), (None, Some(27.22)));
    assert_eq!(value(&partial, "total_throughput_tok_s").map(|v| v.0), Some(356.3));
    assert_eq!(
        (partial.setup.engine.as_deref(), partial.setup.batch, partial.setup.request_rate),
        (Some("SGLang"), None, Some(4.0))
    );
    assert_eq!(extra(&partial, "concurrency").as_deref(), Some("Number(7.96) requests"));
    assert_eq!(
        parsed.notes,
        ["2000 tokens were counted and 900 are in the answers: rates and times by tokens are doubtful"]
    );
    assert_eq!(partial.fingerprint.as_deref(), Some("sglang-bench|10|1000|2000|8.42"));
    assert!(read(&VLLM, SGLANG_TEXT).is_none());
    let dump = "benchmark_args=Namespace(dataset_name='random', random_input_len=100, random_output_len=200, random_range_ratio=0.0)";
    assert_eq!(partial.workload.as_deref(), Some("100-200-r4"));
    let (asked, _) = one(&SGLANG, &format!("{dump}\n{SGLANG_TEXT}"));
    assert_eq!(asked.workload.as_deref(), Some("random-100-200-r4"), "as its file names it");
}

#[test]
fn blocks_of_one_text_are_runs_in_order_and_each_kind_keeps_its_own() {
    let text = format!(
        "{VLLM_TEXT}noise\n{SGLANG_TEXT}{VLLM_TEXT}{}",
        VLLM_TEXT.replace("867.85", "900.00").replace("inf", "2.0")
    );
    let (partials, parsed) = read(&VLLM, &text).unwrap();
    let order: Vec<(JoinRole, Option<u32>)> =
        partials.iter().map(|partial| (partial.join_role, partial.position)).collect();
    assert_eq!(order, [(JoinRole::Alone, Some(1)), (JoinRole::Alone, Some(2))], "the copy is counted once");
    assert_eq!((partials[1].setup.request_rate, parsed.notes.len()), (Some(2.0), 1));
    assert_eq!(read(&SGLANG, &text).unwrap().0.len(), 1);
}

#[test]
fn a_block_below_arguments_that_call_it_a_warm_up_is_no_run() {
    let dump = "Namespace(backend='vllm', metadata=['type=warmup'], max_concurrency=8)";
    let text = format!("{dump}\n{VLLM_TEXT}\n{VLLM_TEXT}");
    let (partials, parsed) = read(&VLLM, &text).unwrap();
    assert_eq!((partials.len(), parsed.notes.len()), (1, 1), "{:?}", parsed.notes);
    assert!(parsed.notes[0].contains("`type` calls a warm-up"), "{:?}", parsed.notes);
    assert_eq!(read(&VLLM, &format!("{dump}\n{VLLM_TEXT}")).unwrap().0.len(), 0);
}

#[test]
fn two_repeats_of_one_duration_are_two_runs() {
    let again = SGLANG_TEXT.replace("8046.13", "8047.99");
    let (partials, _) = read(&SGLANG, &format!("{SGLANG_TEXT}{again}")).unwrap();
    assert_eq!(partials[0].fingerprint, partials[1].fingerprint);
    assert_eq!((partials.len(), read(&SGLANG, &format!("{SGLANG_TEXT}{SGLANG_TEXT}")).unwrap().0.len()), (2, 1));
}

#[test]
fn prefixes_bars_and_escapes_do_not_hide_a_block() {
    let plain = one(&VLLM, VLLM_TEXT).0;
    let composed: String = VLLM_TEXT.lines().map(|line| format!("bench-1  | {line}\r\n")).collect();
    let bar = VLLM_TEXT
        .replace("====== Serving", "\u{1b}[32m====== Serving")
        .replace("Traffic", " 28%|██▊  | 28/100\r100%|█| 100/100\rTraffic");
    for text in [composed, bar, format!("> {}", VLLM_TEXT.replace('\n', "\n> "))] {
        let (partial, _) = one(&VLLM, &text);
        assert_eq!(
            (partial.readings.len(), partial.extras.len()),
            (plain.readings.len(), plain.extras.len()),
            "{text}"
        );
        assert_eq!(partial.fingerprint, plain.fingerprint);
    }
}

#[test]
fn a_block_that_is_cut_off_or_failed_says_so() {
    let (cut, _) = VLLM_TEXT.split_once("P99 TTFT").unwrap();
    let (partial, parsed) = one(&VLLM, cut);
    assert_eq!(value(&partial, "ttft_ms").map(|v| v.0), Some(867.85));
    assert_eq!(parsed.notes, ["the block of line 5 has no end: the text was cut off"]);
    let failed = VLLM_TEXT
        .replace("requests:                     100", "requests:                     0")
        .replace("867.85", "0.00");
    let (partial, _) = one(&VLLM, &failed);
    assert!(matches!(partial.status, Some(Status::Failed(_))) && partial.readings.is_empty());
    assert_eq!(partial.fingerprint, None);
}

#[test]
fn a_block_of_conversations_has_its_turns_beside_it() {
    let text = "============ Multi-Turn Benchmark Result =============\nConversations completed/total:           4/4\n\
        Turns per conversation (configured):     3\nConcurrency:                             2\nInter-turn delay (ms):                   0\n\
        Benchmark duration (s):                  0.95\n------------- Overall (All Turns) --------------\nSuccessful requests:                     11\n\
        Failed requests:                         1\nTotal input tokens:                      880\nTotal generated tokens:                  176\n\
        Mean TTFT (ms):                          34.69\n------------- Turn 1 (4 samples) ---------------\nSuccessful requests:                     4\n\
        Mean TTFT (ms):                          32.11\n==================================================\n";
    let mut input = text.as_bytes();
    let mut parsed = parse_kind(&mut SourceFile::new("x.log", text.len() as u64, &mut input), &VLLM).unwrap();
    let Some(Record::Run(partial)) = parsed.records.pop() else { panic!("{parsed:?}") };
    assert_eq!((partial.setup.batch, partial.setup.requests), (Some(2.0), Some(12.0)));
    assert_eq!(partial.workload.as_deref(), Some("multi-turn-80-16-c2"));
    let ttft: Vec<f64> = partial.readings.iter().filter(|r| r.metric == "ttft_ms").map(|r| r.value).collect();
    assert_eq!(ttft, [34.69]);
    assert!(
        partial.extras.iter().any(|e| e.name == "per_turn_metrics.0.mean_ttft" && e.unit == "ms" && e.why.is_some())
    );
    assert!(parsed.not_understood.is_empty(), "{:?}", parsed.not_understood);
}

#[test]
fn limits_per_cents_and_requests_without_an_answer_are_read_as_such() {
    let text = SGLANG_TEXT.replace(
        "Concurrency:                             7.96",
        "Concurrency:                             7.96\nSLOs (ms):                               ttft:60 tpot:7.5\nTTFT SLO attainment (%):                 91.67\nCache hit rate:                          12.5%",
    );
    let mut input = text.as_bytes();
    let mut parsed = parse_kind(&mut SourceFile::new("x.log", text.len() as u64, &mut input), &SGLANG).unwrap();
    assert!(parsed.not_understood.is_empty(), "{:?}", parsed.not_understood);
    let Some(Record::Run(partial)) = parsed.records.pop() else { panic!("{parsed:?}") };
    assert_eq!(partial.setup.more.get("goodput").map(String::as_str), Some("ttft:60 tpot:7.5"));
    for (name, value) in [("slo_attainment_by_metric_pct.ttft", 91.67), ("cache_report.cache_hit_rate_pct", 12.5)] {
        let extra = partial.extras.iter().find(|extra| extra.name == name).unwrap();
        assert_eq!((extra.unit.as_str(), &extra.value), ("%", &sparkbench_model::ExtraValue::Number(value)));
    }
    let embeddings = VLLM_TEXT.replace("Total generated tokens:                  12800     \n", "");
    let mut input = embeddings.as_bytes();
    let mut parsed = parse_kind(&mut SourceFile::new("x.log", embeddings.len() as u64, &mut input), &VLLM).unwrap();
    let Some(Record::Run(partial)) = parsed.records.pop() else { panic!("{parsed:?}") };
    assert_eq!(partial.setup.osl, None);
}
