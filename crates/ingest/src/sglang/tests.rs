use super::*;
use crate::{JoinRole, Record};
use sparkbench_model::Status;

fn read(text: &str) -> Parsed {
    let mut input = text.as_bytes();
    BenchServing.parse(&mut SourceFile::new("runs.jsonl", text.len() as u64, &mut input)).unwrap()
}

fn partials(parsed: &Parsed) -> Vec<&PartialRun> {
    parsed
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Run(partial) => Some(&**partial),
            _ => None,
        })
        .collect()
}

fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
    partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

fn series<'a>(partial: &'a PartialRun, metric: &str) -> &'a [f64] {
    partial.series.iter().find(|series| series.metric == metric).map_or(&[], |series| &series.values)
}

const EARLY: &str = r#"{"backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "max_concurrency": null, "total_input_tokens": 100, "total_output_tokens": 200, "total_output_tokens_retokenized": 199, "median_ttft_ms": 12.5, "median_itl_ms": 3.0, "mean_e2e_latency_ms": 50.0, "output_throughput": 100.0, "random_input_len": 10, "random_output_len": 20, "random_range_ratio": 1.0, "duration": 2.0, "completed": 10}"#;

#[test]
fn an_early_line_has_its_request_throughput_derived_and_several_lines_are_several_runs() {
    let parsed = read(&format!("{EARLY}\r\n\r\n{EARLY}\n"));
    let [one, two] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!((one.join_role, value(one, "request_throughput_req_s")), (JoinRole::Alone, Some(5.0)));
    let rate = one.readings.iter().find(|r| r.metric == "total_throughput_tok_s").unwrap();
    assert_eq!((rate.value, rate.origin.rule), (150.0, DERIVED));
    assert_eq!(
        (value(one, "ttft_ms_p50"), value(one, "e2e_latency_ms"), value(one, "ttft_ms")),
        (Some(12.5), Some(50.0), None)
    );
    assert_eq!(one.setup.request_rate, Some(f64::INFINITY));
    assert_eq!((one.setup.isl, one.setup.osl, one.setup.batch), (Some(10.0), Some(20.0), None));
    assert_eq!(one.workload.as_deref(), Some("random-10-20-ratio1-rinf"));
    assert_eq!(two.readings[0].origin.line, Some(3));
    assert_eq!(partials(&read(EARLY))[0].join_role, JoinRole::Base);
}

#[test]
fn a_line_that_calls_itself_a_warm_up_is_no_run() {
    let parsed = read(&format!("{}\n{EARLY}\n", EARLY.replacen('{', r#"{"tag": "warmup", "#, 1)));
    assert_eq!((partials(&parsed).len(), parsed.left_out.len()), (1, 0));
    assert_eq!(parsed.notes, ["what `tag` calls a warm-up is no run and is not counted"]);
}

#[test]
fn an_object_over_several_lines_is_one_run_and_a_line_that_was_cut_off_is_named() {
    let wide = EARLY.replace(", ", ",\n  ").replacen('{', "{\n", 1);
    let parsed = read(&format!("{wide}\n{}\n{EARLY}", &EARLY[..200]));
    assert_eq!(partials(&parsed).len(), 2);
    assert_eq!(parsed.left_out.len(), 1);
    assert!(parsed.left_out[0].to_string().contains("line 18"), "{}", parsed.left_out[0]);
}

#[test]
fn requests_of_a_detailed_run_become_series_and_failed_ones_do_not() {
    let parsed = read(
        r#"{"backend": "sglang", "completed": 2, "duration": 1.0, "mean_e2e_latency_ms": 1.0, "total_output_tokens": 4,
           "output_lens": [3, 0, 1], "ttfts": [0.1, 0.0, 0.2], "itls": [[0.1, 0.3], [], []], "errors": ["", "boom", ""], "generated_texts": ["a", "", "b"]}"#,
    );
    let partial = partials(&parsed)[0];
    assert_eq!(series(partial, "ttft_ms"), [100.0, 200.0]);
    assert_eq!(series(partial, "e2e_latency_ms"), [500.0, 200.0]);
    assert_eq!(series(partial, "tpot_ms"), [200.0]);
    assert_eq!(series(partial, "itl_ms"), [100.0, 300.0]);
    assert!(parsed.notes.iter().any(|note| note.starts_with("1 requests without an answer")), "{:?}", parsed.notes);
    assert!(!format!("{parsed:?}").contains("boom"));
}

#[test]
fn memory_is_that_of_the_largest_rank_and_never_summed() {
    let parsed = read(
        r#"{"completed": 1, "mean_e2e_latency_ms": 1.0, "server_info": {"model_path": "/models/m", "version": "0.5", "tp_size": 2, "dp_size": 2, "disable_radix_cache": false,
           "speculative_algorithm": null, "api_key": "sk-1", "internal_states": [
             {"memory_usage": {"weight": 5.5, "kvcache": 7, "token_capacity": 100, "graph": 0.5}, "last_gen_throughput": 9.0},
             {"memory_usage": {"weight": 5.0, "kvcache": 8, "token_capacity": 110, "graph": 0.5}, "tp_size": 2}]}}"#,
    );
    let partial = partials(&parsed)[0];
    assert_eq!(
        (value(partial, "model_memory_gib"), value(partial, "kv_cache_gib"), value(partial, "kv_cache_tokens")),
        (Some(5.5), Some(8.0), Some(110.0))
    );
    assert_eq!((partial.model.as_deref(), partial.setup.model_id.as_deref()), (Some("m"), Some("m")));
    assert_eq!((partial.setup.parallel.as_deref(), partial.setup.prefix_cache), (Some("tp2 dp2"), Some(true)));
    assert_eq!(partial.setup.speculative.as_deref(), Some("off"));
    let names: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
    assert!(
        names.contains(&"internal_states.1.memory_usage.weight")
            && names.contains(&"internal_states.0.last_gen_throughput")
    );
    assert!(!format!("{parsed:?}").contains("sk-1") && !format!("{parsed:?}").contains("/models"));
}

#[test]
fn prefill_and_decode_are_kept_apart_and_decode_is_not_counted_twice() {
    let state = |kv: u32| format!(r#"{{"memory_usage": {{"kvcache": {kv}}}}}"#);
    let parsed = read(&format!(
        r#"{{"completed": 1, "mean_e2e_latency_ms": 1.0, "server_info": {{"internal_states": [{}],
           "prefill": [{{"served_model_name": "org/m", "version": "0.5", "disable_radix_cache": false, "internal_states": [{}]}}],
           "decode": [{{"served_model_name": "org/m", "version": "0.6", "disable_radix_cache": true, "internal_states": [{}]}}]}}}}"#,
        state(5),
        state(9),
        state(5)
    ));
    let partial = partials(&parsed)[0];
    assert_eq!(value(partial, "kv_cache_gib"), Some(5.0));
    let all: Vec<&str> =
        partial.extras.iter().filter(|e| e.name.contains("kvcache")).map(|e| e.name.as_str()).collect();
    assert_eq!(all, ["prefill.0.internal_states.0.memory_usage.kvcache"]);
    assert_eq!((partial.setup.prefix_cache, partial.setup.engine_version.as_deref()), (Some(true), Some("0.6")));
}

#[test]
fn zeros_of_a_run_without_an_answer_measure_nothing() {
    let parsed = read(r#"{"completed": 0, "duration": 3.0, "mean_e2e_latency_ms": 0.0, "output_throughput": 0.0}"#);
    let partial = partials(&parsed)[0];
    assert!(partial.readings.is_empty() && matches!(partial.status, Some(Status::Failed(_))));
}

#[test]
fn a_server_that_did_not_stream_has_no_time_per_token_and_unlike_counts_are_said() {
    let parsed = read(
        r#"{"completed": 2, "duration": 1.0, "mean_e2e_latency_ms": 9.0, "mean_tpot_ms": 1.76, "median_tpot_ms": -0.0, "mean_itl_ms": 0.0, "median_itl_ms": 0.0,
           "total_output_tokens": 100, "total_output_tokens_retokenized": 50, "max_itl_ms": 0.0}"#,
    );
    let partial = partials(&parsed)[0];
    assert_eq!(
        (value(partial, "tpot_ms"), value(partial, "itl_ms"), value(partial, "e2e_latency_ms")),
        (None, None, Some(9.0))
    );
    assert_eq!(parsed.notes.len(), 2, "{:?}", parsed.notes);
    assert!(partial.extras.iter().any(|extra| extra.name == "mean_tpot" && extra.why.is_some()));
}

#[test]
fn an_answer_in_one_piece_has_no_first_token() {
    let whole = r#"{"backend": "sglang-oai", "random_range_ratio": 1.0, "completed": 2, "duration": 1.0, "total_input_tokens": 8, "total_output_tokens": 32,
        "mean_ttft_ms": 24.5, "median_tpot_ms": 0.0, "mean_itl_ms": 0.0, "median_itl_ms": 0.0, "mean_e2e_latency_ms": 24.5, "ttfts": [0.02, 0.03],
        "itls": [[], []], "output_lens": [16, 16], "cached_tokens": [0, 4]}"#
        .replace('\n', "");
    let parsed = read(&whole);
    let [partial] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!((value(partial, "ttft_ms"), value(partial, "e2e_latency_ms")), (None, Some(24.5)));
    assert_eq!((series(partial, "ttft_ms").len(), series(partial, "e2e_latency_ms").len()), (0, 2));
    assert!(parsed.lists.iter().any(|list| list.name == "cached_tokens" && list.values == [0.0, 4.0]));
    // Of one token each, the first is all there is.
    let single =
        whole.replace("\"total_output_tokens\": 32", "\"total_output_tokens\": 2").replace("[16, 16]", "[1, 1]");
    let parsed = read(&single);
    let [partial] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!((value(partial, "ttft_ms"), series(partial, "ttft_ms").len()), (Some(24.5), 2));
    // Half of them one token long, the others streamed: the median TPOT is zero, and every first token was seen.
    let mixed = whole
        .replace("\"mean_itl_ms\": 0.0", "\"mean_tpot_ms\": 3.1, \"mean_itl_ms\": 6.2")
        .replace("\"itls\": [[], []]", "\"itls\": [[], [0.006]]");
    let parsed = read(&mixed);
    let [partial] = partials(&parsed)[..] else { panic!("{parsed:?}") };
    assert_eq!((value(partial, "ttft_ms"), series(partial, "ttft_ms").len()), (Some(24.5), 2));
}
