use std::collections::BTreeMap;

use super::*;

fn entry(parser: &str) -> ReportWire {
    ReportWire { path: "work/x".into(), parser: parser.into(), ..ReportWire::default() }
}

fn read(parser: &str, text: &str) -> RunReport {
    report("work/x", text.as_bytes(), &entry(parser)).unwrap()
}

#[test]
fn names_are_unique_and_every_parser_says_what_is_wrong_with_nothing_and_with_garbage() {
    let all: std::collections::BTreeSet<&str> = PARSERS.iter().map(|parser| parser.name()).collect();
    assert_eq!(all.len(), PARSERS.len());
    for parser in PARSERS {
        for text in ["", "\0\0\u{fffd}", "{", "[1]", "{\"schema\": 3}", "a\nb\n"] {
            // Whatever it says, it neither stops the program nor finds a figure.
            if let Ok(report) = report("x", text.as_bytes(), &entry(parser.name())) {
                assert!(report.parts.iter().all(|part| part.metrics.is_empty()), "{} on {text:?}", parser.name());
            }
        }
    }
    assert!(report("x", b"", &entry("nonesuch")).unwrap_err().to_string().contains("known: result-json"));
}

#[test]
fn a_result_gives_figures_series_and_settings_and_names_what_does_not_fit() {
    let report = read(
        "result-json",
        r#"{"schema":"sparkbench.result/1","metrics":{"gemm_tflops":91.60,"memory_bandwidth_gb_s":null,"speed":3,"power_w":"hot"},
            "iterations":[{"name":"a","metric":"e2e_latency_ms","unit":"ms","values":[1,2.5,null]},
                          {"name":"b","values":[1]},
                          {"name":"c","metric":"ttft_ms","unit":"s","values":[1]},
                          {"name":"d","metric":"ttft_ms_p99","values":[1]}],
            "seen":{"model_id":"org/m","requests":3,"engine":""},"notes":["two are not counted"],"later":{}}"#,
    );
    let [part] = report.parts.as_slice() else { panic!("{report:?}") };
    assert_eq!(
        part.metrics,
        BTreeMap::from([("gemm_tflops".into(), Some(91.6)), ("memory_bandwidth_gb_s".into(), None)])
    );
    assert_eq!(part.series["e2e_latency_ms"][..2], [1.0, 2.5]);
    assert!(part.series["e2e_latency_ms"][2].is_nan());
    assert_eq!(
        (part.seen.model_id.as_deref(), part.seen.requests, part.seen.engine.as_deref()),
        (Some("org/m"), Some(3.0), None)
    );
    assert_eq!(report.notes, ["two are not counted"]);
    let all = report.left_out.join("\n");
    assert_eq!(report.left_out.len(), 4, "{all}");
    for word in [
        "/metrics/speed",
        "/metrics/power_w",
        "expected \"ms\", found \"s\"",
        "expected \"ttft_ms\", found \"ttft_ms_p99\"",
    ] {
        assert!(all.contains(word), "{word} in {all}");
    }
}

#[test]
fn a_result_of_another_schema_is_refused() {
    let error = report("x", br#"{"schema":"sparkbench.result/2"}"#, &entry("result-json")).unwrap_err();
    assert!(error.to_string().contains("found \"sparkbench.result/2\""), "{error}");
}

#[test]
fn tests_of_one_launch_are_parts_with_the_settings_of_the_launch() {
    let report = read(
        "result-json",
        r#"{"schema":"sparkbench.result/1","metrics":{"model_load_s":3},"seen":{"model_id":"m","batch":9},
            "tests":{"T1":{"metrics":{"decode_tok_s":5},"seen":{"batch":1}},"T2":{"metrics":{"decode_tok_s":6}}}}"#,
    );
    let names: Vec<Option<&str>> = report.parts.iter().map(|part| part.name.as_deref()).collect();
    assert_eq!(names, [Some("T1"), Some("T2"), None]);
    assert_eq!((report.parts[0].seen.batch, report.parts[1].seen.batch), (Some(1.0), Some(9.0)));
    assert_eq!(report.parts[0].seen.model_id.as_deref(), Some("m"));
}

const ITERATIONS: &str = r#"{"schema":"sparkbench.iterations/1","kind":"seen","seen":{"model_id":"org/m","engine":"e","batch":99}}
{"kind":"memory","moment":"T0","meminfo":{"MemFree":1}}
{"kind":"metric","metric":"model_load_s","value":2.5}
{"kind":"test","test":"T1","batch":2,"isl":8,"osl":5,"planned":2}
{"kind":"iteration","test":"T1","warmup":true,"started_s":0,"ended_s":9,"output_tokens":10}
{"kind":"iteration","test":"T1","started_s":10,"ended_s":10.5,"input_tokens":16,"output_tokens":10,"ttft_ms":100}
{"kind":"iteration","test":"T1","started_s":20,"ended_s":21.5,"input_tokens":16,"output_tokens":10,"ttft_ms":300}
{"kind":"test","test":"B64","batch":64,"planned":2,"sweep":true}
{"kind":"out_of_memory","test":"B64","error":"CUDA out of memory"}
{"kind":"end"}
"#;

#[test]
fn iterations_add_up_as_computed_by_hand() {
    let report = read("iterations", ITERATIONS);
    let [whole, t1] = report.parts.as_slice() else { panic!("{report:?}") };
    assert_eq!((whole.name.as_deref(), whole.metrics["model_load_s"]), (None, Some(2.5)));
    assert_eq!(t1.series["e2e_latency_ms"], [500.0, 1500.0], "warm-up enters nothing");
    assert_eq!(t1.series["ttft_ms"], [100.0, 300.0]);
    // 10 tokens for 2 sequences: 5 each, so 4 further tokens.
    assert_eq!(t1.series["tpot_ms"], [100.0, 300.0]);
    // 20 tokens and 4 requests in 2 seconds of work. The pause between counts for nothing.
    assert_eq!(t1.metrics["output_throughput_tok_s"], Some(10.0));
    assert_eq!(t1.metrics["total_throughput_tok_s"], Some(26.0));
    assert_eq!(t1.metrics["request_throughput_req_s"], Some(2.0));
    assert_eq!((t1.seen.batch, t1.seen.requests, t1.seen.model_id.as_deref()), (Some(2.0), Some(4.0), Some("org/m")));
    assert_eq!(t1.failure, None);
    assert_eq!(report.notes, ["B64: out of memory after 0 iterations. The sweep ends there"]);
    assert!(report.left_out.is_empty());
}

#[test]
fn what_was_written_before_a_crash_counts_and_the_torn_line_is_said() {
    let cut = ITERATIONS.find("\"started_s\":20").unwrap();
    let report = read("iterations", &ITERATIONS[..cut]);
    let t1 = &report.parts[1];
    assert_eq!(
        (t1.series["e2e_latency_ms"].as_slice(), t1.failure.as_deref()),
        ([500.0].as_slice(), Some("1 of 2 iterations"))
    );
    assert_eq!(report.notes, ["the last line is torn: the program was stopped while it wrote"]);
    assert!(report.left_out.is_empty());
}

#[test]
fn memory_that_ends_a_test_asked_for_by_name_fails_it_and_bad_lines_are_named() {
    let report = read(
        "iterations",
        "{\"schema\":\"sparkbench.iterations/1\",\"kind\":\"test\",\"test\":\"T6\",\"planned\":1}\n\
         {\"kind\":\"iteration\",\"test\":\"T6\",\"started_s\":5,\"ended_s\":4}\n{\"kind\":\n\
         {\"kind\":\"metric\",\"test\":\"T6\",\"metric\":\"speed\",\"value\":1}\n\
         {\"kind\":\"out_of_memory\",\"test\":\"T6\"}\n{\"kind\":\"end\"}\n",
    );
    assert_eq!(report.parts[1].failure.as_deref(), Some("out of memory"));
    assert_eq!(report.left_out.len(), 3, "{:?}", report.left_out);
    for (number, said) in [(2, 0), (3, 1), (4, 2)] {
        assert!(report.left_out[said].contains(&format!("line {number}")), "{:?}", report.left_out);
    }
}

#[test]
fn patterns_catch_figures_and_settings_and_say_what_they_miss() {
    let patterns = [
        ("output_throughput_tok_s", r"speed: ([\d,.]+) t/s"),
        ("seen.model_id", r"loaded (\S+)"),
        ("seen.requests", r"served (\d+)"),
        ("ttft_ms", "first after (.*)"),
        ("power_w", "nothing says (this)"),
    ];
    let entry = ReportWire {
        path: "stdout.log".into(),
        parser: "pattern".into(),
        patterns: patterns.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect(),
        ..ReportWire::default()
    };
    let text = "loaded org/m now\nspeed: 9.5 t/s\n\u{1b}[1mspeed: 1,234.5 t/s\nserved 7 users\nfirst after a while\n";
    let report = report("stdout.log", text.as_bytes(), &entry).unwrap();
    let part = &report.parts[0];
    assert_eq!(part.metrics, BTreeMap::from([("output_throughput_tok_s".into(), Some(1234.5))]));
    assert_eq!((part.seen.model_id.as_deref(), part.seen.requests), (Some("org/m"), Some(7.0)));
    assert!(report.left_out[0].contains("line 5") && report.left_out[0].contains("a while"), "{:?}", report.left_out);
    assert_eq!(
        report.notes,
        [
            "the pattern of output_throughput_tok_s fits 2 lines. The last one is read",
            "the pattern of power_w fits no line"
        ]
    );
}

#[test]
fn only_one_parser_takes_patterns() {
    let some = BTreeMap::from([("ttft_ms".to_owned(), "(x)".to_owned())]);
    for parser in PARSERS {
        assert_eq!(parser.accepts(&some).is_ok(), parser.name() == "pattern", "{}", parser.name());
        assert_eq!(parser.accepts(&BTreeMap::new()).is_ok(), parser.name() != "pattern", "{}", parser.name());
    }
}

/// Keys as the documentation of 1.3 lists them. The values are made up.
const TRTLLM: &str = r#"{"engine":{"model":"org/m","model_path":"/models/m","engine_dir":"None","version":"1.3.0rc13","backend":"Pytorch",
  "dtype":"bfloat16","kv_cache_dtype":null,"quantization":null},"machine":{"name":"NVIDIA GB10","memory.total":119.64,"clocks.mem":null},
  "world_info":{"tp_size":1,"max_batch_size":8},"request_info":{"num_requests":50,"avg_input_length":512.0,"avg_output_length":128.0},
  "performance":{"total_latency_ms":1000.0,"avg_request_latency_ms":250.5,"request_throughput_req_s":50.0,"system_output_throughput_tok_s":6400.25,
    "system_total_throughput_tok_s":32000.0,"request_latency_percentiles_ms":{"p50":240.0,"p90":260.0,"p99":280.0,"minimum":200.0,"maximum":281.0}},
  "streaming_metrics":{"avg_ttft_ms":30.5,"avg_tpot_ms":1.7,"ttft_percentiles":{"p99":44.0},"tpot_percentiles":{"p50":1.6}}}"#;

#[test]
fn a_report_of_trtllm_bench_gives_its_figures_under_our_names() {
    let report = read("trtllm-bench-json", TRTLLM);
    let part = &report.parts[0];
    let expected = [
        ("e2e_latency_ms", 250.5),
        ("e2e_latency_ms_max", 281.0),
        ("e2e_latency_ms_p50", 240.0),
        ("e2e_latency_ms_p90", 260.0),
        ("e2e_latency_ms_p99", 280.0),
        ("output_throughput_tok_s", 6400.25),
        ("request_throughput_req_s", 50.0),
        ("total_throughput_tok_s", 32000.0),
        ("tpot_ms", 1.7),
        ("tpot_ms_p50", 1.6),
        ("ttft_ms", 30.5),
        ("ttft_ms_p99", 44.0),
    ];
    assert_eq!(part.metrics, expected.iter().map(|(name, value)| ((*name).to_owned(), Some(*value))).collect());
    assert_eq!(
        (part.seen.quantisation.as_deref(), part.seen.batch, part.seen.requests),
        (Some("bfloat16"), Some(8.0), Some(50.0))
    );
    assert_eq!((part.seen.model_id.as_deref(), part.seen.device_memory_gib), (Some("org/m"), Some(119.64)));
    assert!(report.left_out.is_empty());
}

#[test]
fn times_of_single_requests_are_those_computed_by_hand() {
    // Four milliseconds to the first token and six to the end, three tokens. Without streaming. Failed.
    let report = read(
        "trtllm-bench-requests",
        r#"[{"id":1,"start_timestamp":1000000,"first_token_timestamp":5000000,"end_timestamp":7000000,"output_tokens":3,"error_tokens":0},
            {"id":2,"start_timestamp":1000000,"first_token_timestamp":-1,"end_timestamp":3000000,"output_tokens":3},
            {"id":3,"start_timestamp":1000000,"end_timestamp":3000000,"error_tokens":1}]"#,
    );
    let part = &report.parts[0];
    assert_eq!(part.series["e2e_latency_ms"], [6.0, 2.0]);
    assert_eq!(
        (part.series["ttft_ms"].as_slice(), part.series["tpot_ms"].as_slice()),
        ([4.0].as_slice(), [1.0].as_slice())
    );
    assert_eq!(report.notes, ["1 of 3 requests failed. They are excluded from latencies"]);
}

#[test]
fn a_file_that_belongs_to_one_test_of_a_launch_is_a_run_of_its_own() {
    let line = b"{\"index\":0,\"sent_s\":0,\"first_token_s\":0.5,\"status\":\"ok\",\"output_tokens\":1}\n";
    let named = ReportWire { test: Some("c8".into()), ..entry("requests") };
    let parts = report("loads/c8/requests.jsonl", line, &named).unwrap().parts;
    assert_eq!((parts.len(), parts[0].name.as_deref()), (1, Some("c8")));
    let mut input = &line[..];
    let parsed = parse(&mut SourceFile::new("x", line.len() as u64, &mut input), &named).unwrap();
    assert!(matches!(&parsed.records[0], Record::Run(partial) if partial.join_role == JoinRole::Body));
    let plain = report("requests.jsonl", line, &entry("requests")).unwrap().parts;
    assert_eq!(plain[0].name, None);
}
