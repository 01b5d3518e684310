use super::*;
use sparkbench_model::Status;

const PLAIN: &str = r#"{"date": "20260129-002801", "endpoint_type": "vllm", "backend": "vllm", "label": null, "model_id": "org/Some-32B",
"tokenizer_id": "org/Some-32B", "num_prompts": 100, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 32, "quantisation_note": "none of it",
"duration": 2.5, "completed": 100, "failed": 0, "total_input_tokens": 102400, "total_output_tokens": 12800, "request_throughput": 40.5,
"request_goodput": null, "output_throughput": 5190.25, "total_token_throughput": 46712.5, "max_output_tokens_per_s": 9223.0, "rtfx": 0.0,
"mean_ttft_ms": 867.85, "median_ttft_ms": 851.5, "std_ttft_ms": 319.5, "p50_ttft_ms": 851.5, "p99_ttft_ms": 1397.75, "p99.9_ttft_ms": 1400.5}"#;

fn all(text: &str) -> (Vec<PartialRun>, Parsed) {
    assert!(Serve.sniff(&Head::new("x.json", text, 1)), "{text}");
    let mut input = text.as_bytes();
    let mut parsed = Serve.parse(&mut SourceFile::new("x.json", text.len() as u64, &mut input)).unwrap();
    let partials = std::mem::take(&mut parsed.records).into_iter().map(|record| match record {
        Record::Run(partial) => *partial,
        other => panic!("{other:?}"),
    });
    (partials.collect(), parsed)
}

fn one(text: &str) -> (PartialRun, Parsed) {
    let (mut partials, parsed) = all(text);
    assert_eq!(partials.len(), 1);
    (partials.remove(0), parsed)
}

fn series<'a>(partial: &'a PartialRun, metric: &str) -> &'a [f64] {
    partial.series.iter().find(|series| series.metric == metric).map_or(&[], |series| &series.values)
}

#[test]
fn every_figure_of_a_result_is_a_metric_a_setting_or_kept_beside() {
    let (partial, parsed) = one(PLAIN);
    let found: Vec<(&str, f64)> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
    assert_eq!(
        found,
        [
            ("request_throughput_req_s", 40.5),
            ("output_throughput_tok_s", 5190.25),
            ("total_throughput_tok_s", 46712.5),
            ("ttft_ms", 867.85),
            ("ttft_ms_p50", 851.5),
            ("ttft_ms_p99", 1397.75)
        ]
    );
    let extras: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
    assert_eq!(
        extras,
        [
            "duration",
            "completed",
            "failed",
            "total_input_tokens",
            "total_output_tokens",
            "max_output_tokens_per_s",
            "std_ttft",
            "p99.9_ttft"
        ]
    );
    let setup = &partial.setup;
    assert_eq!(
        (setup.requests, setup.batch, setup.isl, setup.osl),
        (Some(100.0), Some(32.0), Some(1024.0), Some(128.0))
    );
    assert_eq!((setup.request_rate, setup.engine.as_deref()), (Some(f64::INFINITY), None));
    assert_eq!((partial.model.as_deref(), setup.model_id.as_deref()), (Some("Some-32B"), Some("org/Some-32B")));
    assert_eq!((partial.workload.as_deref(), partial.join_role), (Some("1024-128-c32"), JoinRole::Base));
    assert_eq!((partial.ended, &partial.status), (Instant::parse("20260129_002801"), &Some(Status::Done)));
    assert_eq!(partial.started.map(|at| at.iso()).as_deref(), Some("2026-01-29T00:27:58.500Z"));
    assert_eq!(setup.more.get("quantisation_note").map(String::as_str), Some("none of it"));
    assert_eq!(partial.readings[0].origin.field.as_deref(), Some("/request_throughput"));
    assert!(parsed.notes.is_empty() && parsed.left_out.is_empty(), "{parsed:?}");
}

#[test]
fn a_run_in_which_everything_failed_has_no_metric() {
    let text = r#"{"date": "20260129-002801", "model_id": "m", "num_prompts": 5, "request_rate": 2.0, "duration": 0.25, "completed": 0, "failed": 5,
        "request_throughput": 0.0, "mean_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "ttfts": [0.0], "itls": [[]], "errors": ["refused"], "output_lens": [0]}"#;
    let (partial, parsed) = one(text);
    assert_eq!(partial.status, Some(Status::Failed("all 5 requests failed".into())));
    assert_eq!((partial.readings.len(), partial.series.len(), partial.extras.len()), (0, 0, 3));
    assert_eq!(parsed.notes, ["all 5 requests failed. Its zeros are no measurements"]);
    assert!(partial.fingerprint.is_some(), "its copy in a summary is still its copy");
}

#[test]
fn a_file_of_early_2025_holds_times_alone_and_they_are_read() {
    let (partial, _) = one(
        r#"{"date": "20250227-025025", "backend": "vllm", "model_id": "/root/models/Some-8B-Instruct", "tokenizer_id": "/root/models/Some-8B-Instruct",
        "best_of": 1, "num_prompts": 200, "request_rate": 4.0, "burstiness": 1.0, "max_concurrency": null, "mean_ttft_ms": 191.5, "p99_itl_ms": 305.25}"#,
    );
    assert_eq!((partial.setup.model_id.as_deref(), partial.setup.request_rate), (Some("Some-8B-Instruct"), Some(4.0)));
    assert_eq!((partial.started, partial.ended.is_some()), (None, true), "without a duration the start is not known");
    assert_eq!((partial.setup.more.get("best_of").map(String::as_str), partial.readings.len()), (Some("1"), 2));
    assert_eq!(partial.workload.as_deref(), Some("r4"));
}

#[test]
fn lists_of_requests_become_series_in_milliseconds_without_the_failed() {
    let text = r#"{"model_id": "m", "num_prompts": 4, "request_rate": "inf", "completed": 3, "failed": 1, "mean_ttft_ms": 250.0,
        "input_lens": [7, 7, 7, 7], "output_lens": [3, 0, 1, 2], "ttfts": [0.5, 0.0, 0.25, 0.125], "itls": [[0.25, 0.75], [], [], [0.5]],
        "start_times": [1.0, 2.0, 3.0, 4.0], "generated_texts": ["a \"secret\"", "", "b", "c"], "errors": ["", "Connection refused", "", ""]}"#;
    let (partial, parsed) = one(text);
    assert_eq!(series(&partial, "ttft_ms"), [500.0, 250.0, 125.0]);
    assert_eq!(series(&partial, "itl_ms"), [250.0, 750.0, 500.0]);
    assert_eq!(series(&partial, "e2e_latency_ms"), [1500.0, 250.0, 625.0]);
    assert_eq!(series(&partial, "tpot_ms"), [500.0, 500.0], "one token has no time per further token");
    let lists: Vec<&str> = parsed.lists.iter().map(|list| list.name.as_str()).collect();
    assert_eq!(lists, ["input_lens", "output_lens", "start_times"]);
    assert_eq!(parsed.notes, ["1 of 4 requests failed. They are excluded from latencies"]);
    assert!(!format!("{partial:?}{parsed:?}").contains("secret"));
}

#[test]
fn latencies_that_a_version_writes_are_taken_as_they_are() {
    let (partial, _) = one(
        r#"{"model_id": "m", "num_prompts": 2, "request_rate": 1, "completed": 2, "mean_e2el_ms": 1500.0, "latencies": [1.0, 2.0], "queue_times": [0.0, 0.5]}"#,
    );
    assert_eq!((series(&partial, "e2e_latency_ms"), partial.series.len()), (&[1000.0, 2000.0][..], 1));
    assert_eq!(partial.series[0].origin.rule, "vllm-bench-serve");
}

#[test]
fn lists_of_unlike_length_are_left_out_and_named() {
    let text = r#"{"model_id": "m", "num_prompts": 2, "request_rate": 1, "completed": 2, "ttfts": [0.1, 0.2], "itls": [[0.1]]}"#;
    let (partial, parsed) = one(text);
    assert!(partial.series.is_empty());
    assert!(
        parsed.left_out[0].to_string().contains("'/itls': expected 2 values as in the others, found 1"),
        "{parsed:?}"
    );
}

#[test]
fn objects_that_were_appended_are_runs_in_order_and_a_copy_counts_once() {
    let text = format!("{PLAIN}\n{}\n{PLAIN}\n{{\"model_id\": \"cut", PLAIN.replace("867.85", "900.25"));
    let (partials, parsed) = all(&text);
    let places: Vec<(JoinRole, Option<u32>)> =
        partials.iter().map(|partial| (partial.join_role, partial.position)).collect();
    assert_eq!(places, [(JoinRole::Alone, Some(1)), (JoinRole::Alone, Some(2))]);
    assert_eq!((parsed.notes.len(), parsed.left_out.len()), (1, 1));
}

#[test]
fn the_list_of_a_sweep_has_the_marks_of_its_runs() {
    let varied = PLAIN
        .replacen('{', r#"{"run_number": 1, "max-num-seqs": 64, "tensor_parallel_size": 2, "#, 1)
        .replace("867.85", "868.85");
    let (partials, _) = all(&format!("[\n{PLAIN},\n{varied}]"));
    assert_eq!(partials[0].fingerprint, one(PLAIN).0.fingerprint);
    assert_ne!(partials[0].fingerprint, partials[1].fingerprint);
    assert_eq!((partials[1].repeat, partials[1].setup.parallel.as_deref()), (Some(2), Some("tp2")));
    assert_eq!(partials[1].setup.more.get("max-num-seqs").map(String::as_str), Some("64"));
}

#[test]
fn speculative_decoding_and_unknown_figures_are_kept_with_their_place() {
    let text = r#"{"model_id": "m", "num_prompts": 2, "request_rate": 1, "completed": 2, "spec_decode_acceptance_rate": 61.5,
        "spec_decode_per_position_acceptance_rates": [0.75, 0.5], "watts": 38.5, "api_key": "sk-1", "rps_change_events": [{"rps": 1, "timestamp": "t"}]}"#;
    let (partial, parsed) = one(text);
    let extras: Vec<(&str, &str)> =
        partial.extras.iter().map(|extra| (extra.name.as_str(), extra.unit.as_str())).collect();
    assert_eq!(
        extras,
        [
            ("completed", "requests"),
            ("spec_decode_acceptance_rate", "%"),
            ("spec_decode_per_position_acceptance_rates.0", ""),
            ("spec_decode_per_position_acceptance_rates.1", ""),
            ("watts", "")
        ]
    );
    assert_eq!(partial.extras[3].origin.field.as_deref(), Some("/spec_decode_per_position_acceptance_rates/1"));
    assert_eq!((partial.setup.speculative.as_deref(), parsed.notes.len()), (Some("on"), 1));
    let steps: Vec<&str> = parsed.lists.iter().map(|list| list.name.as_str()).collect();
    assert_eq!((steps, partial.setup.more.get("rps_change_events.0.timestamp")), (vec!["rps_change_events"], None));
    assert!(!format!("{partial:?}").contains("sk-1"));
}

#[test]
fn results_of_other_tools_are_not_taken() {
    for text in [
        r#"{"model_id": "m", "num_prompts": 1, "request_rate": 1, "median_ttft": 0.5}"#,
        r#"{"model_id": "m", "mean_e2e_latency_ms": 1, "completed": 1, "request_throughput": 1}"#,
        r#"{"model": "m", "mean_ttft_ms": 1}"#,
        r#"{"model_id": "m"}"#,
        "[]",
    ] {
        assert!(!Serve.sniff(&Head::new("x.json", text, 1)), "{text}");
    }
}

#[test]
fn figures_beyond_all_bounds_do_no_harm() {
    for (wild, lasted) in [("-1e300", false), ("1e300", false), ("3.0", true)] {
        let text = PLAIN.replace("\"duration\": 2.5", &format!("\"duration\": {wild}")).replace("102400", wild);
        assert_eq!(one(&text).0.started.is_some(), lasted, "{wild}");
    }
}

#[test]
fn a_file_that_is_cut_off_says_so() {
    let text = r#"{"model_id": "m", "num_prompts": 1, "request_rate": 1, "ttfts": [0.1, "#;
    let mut input = text.as_bytes();
    let error = Serve.parse(&mut SourceFile::new("x", text.len() as u64, &mut input)).unwrap_err().to_string();
    assert!(error.contains("cut off"), "{error}");
}

#[test]
fn a_warm_up_of_a_sweep_is_no_run() {
    let (partials, parsed) = all(&PLAIN.replacen('{', r#"{"run_number": -1, "#, 1));
    assert_eq!((partials.len(), parsed.left_out.len()), (0, 0));
    assert_eq!(parsed.notes, ["a warm-up of a sweep is not counted"]);
    assert_eq!(one(&PLAIN.replacen('{', r#"{"run_number": 1, "#, 1)).0.repeat, Some(2));
}

/// Issue 32: `--metadata type=warmup` with `--append-result`.
#[test]
fn a_record_that_calls_itself_a_warm_up_is_no_run() {
    let warm = |field: &str| PLAIN.replacen('{', field, 1).replace("5190.25", "56.9").replace("867.85", "2400.5");
    for field in [r#"{"type": "warmup", "#, r#"{"phase": "warm-up", "#, r#"{"stage": "Warm_Up", "#] {
        let (partials, parsed) = all(&format!("{}\n{PLAIN}", warm(field)));
        let rates: Vec<f64> = partials.iter().map(|partial| partial.readings[1].value).collect();
        assert_eq!((rates, parsed.left_out.len()), (vec![5190.25], 0));
        assert!(parsed.notes[0].ends_with("calls a warm-up is no run and is not counted"), "{:?}", parsed.notes);
        assert_eq!(all(&warm(field)).0.len(), 0);
    }
    assert_eq!(all(&format!("{}\n{PLAIN}", warm(r#"{"type": "measured", "#))).0.len(), 2);
}

#[test]
fn the_compiled_client_tells_its_zone_and_the_steady_part() {
    let more = r#"{"failed_requests": [{"request_index": 4, "error": "HTTP 503 somebody's text"}], "rps_change_events": [{"rps": 5, "timestamp": "x"}],
        "steady_state": {"output_throughput": 414.5, "percentiles_ttft_ms": [[50.0, 31.5], [99.0, 35.25]], "window": {"duration_s": 0.75,
        "warning": "steady-state window is 0.8s"}}, "#;
    let text = PLAIN.replace("20260129-002801", "2026-01-29T00:28:01Z").replacen('{', more, 1);
    let (partial, parsed) = one(&text);
    assert_eq!(partial.ended.map(|at| at.iso()).as_deref(), Some("2026-01-29T00:28:01Z"));
    assert_eq!((parsed.left_out.len(), partial.readings.len()), (0, 6));
    let steady: Vec<(&str, &str, bool)> =
        partial.extras[..4].iter().map(|e| (e.name.as_str(), e.unit.as_str(), e.why.is_some())).collect();
    assert_eq!(
        steady,
        [
            ("steady_state.output_throughput", "tok/s", true),
            ("steady_state.p50_ttft", "ms", true),
            ("steady_state.p99_ttft", "ms", true),
            ("steady_state.window.duration", "s", true)
        ]
    );
    assert!(
        partial.setup.more.iter().all(|(_, value)| !value.contains("503") && !value.contains("0.8s")),
        "{:?}",
        partial.setup.more
    );
}

#[test]
fn conversations_of_the_compiled_client_are_a_load_of_their_own() {
    let turns = r#"{"mode": "multi_turn", "model_id": "org/m", "num_conversations": 4, "turns_per_conversation": 3, "multi_turn_concurrency": 2,
        "conversations_completed": 4, "duration": 1.0, "completed": 11, "failed": 1, "total_input_tokens": 880, "total_output_tokens": 176,
        "request_throughput": 11.0, "mean_ttft_ms": 34.5, "per_turn_metrics": [{"turn_index": 0, "request_throughput": 4.25, "mean_ttft_ms": 32.0}]}"#;
    let (partial, _) = one(turns);
    assert_eq!((partial.setup.batch, partial.setup.requests), (Some(2.0), Some(12.0)));
    assert_eq!(partial.workload.as_deref(), Some("multi-turn-80-16-c2"));
    assert_eq!(partial.readings.iter().filter(|reading| reading.metric == "ttft_ms").count(), 1);
    let rate = partial.extras.iter().find(|extra| extra.name == "per_turn_metrics.0.request_throughput").unwrap();
    assert_eq!((rate.unit.as_str(), rate.why.is_some()), ("req/s", true));
}

#[test]
fn a_rate_that_rises_is_a_load_of_its_own() {
    let text =
        PLAIN.replacen('{', r#"{"ramp_up_strategy": "linear", "ramp_up_start_rps": 5, "ramp_up_end_rps": 40, "#, 1);
    assert_eq!(one(&text).0.workload.as_deref(), Some("1024-128-c32-ramp5-40"));
}

#[test]
fn what_a_server_told_of_itself_is_kept_and_no_setting() {
    let detailed = r#"{"model_id": "org/m", "num_prompts": 2, "request_rate": "inf", "completed": 2, "duration": 1.0, "input_lens": [4, 4],
        "output_lens": [2, 2], "ttfts": [0.5, 0.25], "itls": [[0.5], [0.5]], "server_ttfts": [0.25, null], "server_queue_times": [0.0]}"#;
    let (partial, parsed) = one(detailed);
    assert_eq!(series(&partial, "ttft_ms"), [500.0, 250.0]);
    let lists: Vec<(&str, usize)> = parsed.lists.iter().map(|list| (list.name.as_str(), list.values.len())).collect();
    assert_eq!(lists, [("input_lens", 2), ("output_lens", 2), ("server_ttfts", 2), ("server_queue_times", 1)]);
    assert!(partial.extras.iter().all(|extra| !extra.name.starts_with("server_")));
}
