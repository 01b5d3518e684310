use std::collections::BTreeMap;

use super::*;

fn requests(text: &str) -> (PartialRun, Parsed) {
    let mut input = text.as_bytes();
    let mut parsed =
        Requests.parse(&mut SourceFile::new("runs/a/requests.jsonl", text.len() as u64, &mut input)).unwrap();
    match parsed.records.pop() {
        Some(Record::Run(partial)) => (*partial, parsed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn latencies_and_rates_are_those_computed_by_hand() {
    let (partial, parsed) = requests(concat!(
        r#"{"index":0,"warmup":true,"sent_s":0,"first_token_s":9,"output_tokens":9,"status":"ok"}"#,
        "\n",
        r#"{"index":1,"sent_s":10,"first_token_s":10.5,"further_tokens_s":[11,12],"input_tokens":7,"output_tokens":3,"status":"ok"}"#,
        "\n",
        r#"{"index":2,"sent_s":10,"status":"timeout","error":"gave up"}"#,
        "\n",
        r#"{"index":3,"sent_s":12,"first_token_s":14,"input_tokens":7,"output_tokens":1,"status":"ok"}"#,
        "\n\n",
    ));
    let series: BTreeMap<&str, &[f64]> =
        partial.series.iter().map(|s| (s.metric.as_str(), s.values.as_slice())).collect();
    assert_eq!(series["ttft_ms"], [500.0, 2000.0]);
    assert_eq!(series["e2e_latency_ms"], [2000.0, 2000.0]);
    assert_eq!(series["tpot_ms"], [750.0], "one token has no time per further token");
    let rates: BTreeMap<&str, f64> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
    assert_eq!(
        (rates["request_throughput_req_s"], rates["output_throughput_tok_s"], rates["total_throughput_tok_s"]),
        (0.5, 1.0, 4.5)
    );
    assert_eq!((partial.setup.requests, parsed.notes.len(), &partial.status), (Some(3.0), 1, &None));
}

#[test]
fn reasoning_that_may_be_in_the_pieces_or_was_not_sent_leaves_no_time_per_token() {
    let line = |output: u32, more: &str| {
        let line = format!(
            r#"{{"index":0,"phase":"measured","sent_s":0,"first_token_s":1,"last_token_s":2,"output_tokens":{output},"pieces":11,"status":"ok"{more}}}"#
        );
        serde_json::from_str::<RequestWire>(&line).unwrap()
    };
    let tpot = |request: &RequestWire| Latencies::of(request).tpot.filter(|tpot| tpot.is_finite());
    assert_eq!(tpot(&line(71, r#","reasoning_tokens":30"#)), None);
    // What the load settled, what came, and what no reasoning is counted for.
    assert_eq!(tpot(&line(41, r#","reasoning_tokens":30,"first_tokens":31"#)), Some(100.0));
    for more in [r#","reasoning_tokens":30,"first_reasoning_s":1"#, r#","reasoning_tokens":0"#, ""] {
        assert!(tpot(&line(71, more)).is_some(), "{more}");
    }
    // Fewer tokens would be left than there are pieces: it is in the text.
    assert!(tpot(&line(31, r#","reasoning_tokens":30"#)).is_some());
}

#[test]
fn lines_of_a_load_count_from_the_intended_time_and_by_their_phase() {
    let (partial, parsed) = requests(concat!(
        r#"{"index":0,"warmup":true,"phase":"warmup","sent_s":0,"first_token_s":9,"last_token_s":10,"status":"ok"}"#,
        "\n",
        r#"{"index":1,"phase":"prime","sent_s":0,"first_token_s":9,"last_token_s":10,"status":"ok"}"#,
        "\n",
        r#"{"index":2,"phase":"measured","intended_s":10,"sent_s":10.5,"first_token_s":11,"last_token_s":13,"#,
        r#""input_tokens":7,"output_tokens":6,"first_tokens":2,"pieces":3,"status":"short"}"#,
        "\n",
        r#"{"index":3,"phase":"measured","intended_s":10,"status":"not-sent"}"#,
        "\n",
    ));
    let series: BTreeMap<&str, &[f64]> =
        partial.series.iter().map(|s| (s.metric.as_str(), s.values.as_slice())).collect();
    assert_eq!(series["ttft_ms"], [1000.0]);
    assert_eq!(series["e2e_latency_ms"], [3000.0]);
    assert_eq!((series["tpot_ms"], series["decode_tok_s"]), (&[500.0][..], &[2.0][..]));
    assert_eq!((partial.setup.requests, &partial.status), (Some(2.0), &Some(Status::Done)));
    assert_eq!(
        parsed.notes,
        [
            "1 of 2 requests failed. They are excluded from latencies",
            "1 answers are shorter than was asked for. They are in the latencies"
        ]
    );
}

#[test]
fn an_answer_that_came_at_one_moment_is_counted_and_has_no_time_per_token() {
    let line = |last: u32, tokens: u32| {
        format!(
            "{{\"index\":0,\"phase\":\"measured\",\"sent_s\":0,\"first_token_s\":1,\"last_token_s\":{last},\"output_tokens\":{tokens},\
             \"pieces\":{tokens},\"status\":\"ok\"}}\n"
        )
    };
    let (partial, _) = requests(&[line(1, 8), line(2, 5), line(1, 1)].concat());
    let of = |metric: &str| &partial.series.iter().find(|series| series.metric == metric).unwrap().values;
    assert!(of("tpot_ms")[0].is_nan() && of("decode_tok_s")[0].is_nan());
    assert_eq!(of("tpot_ms")[1..], [250.0], "one token has no time per further token");
    let whole = partial.extras.iter().find(|extra| extra.name == known_extra::WHOLE_ANSWERS);
    assert_eq!(whole.and_then(Extra::as_number), Some(1.0));
}

#[test]
fn a_count_that_contradicts_what_came_makes_no_rate_and_an_unknown_length_no_total() {
    let line = |tokens: u32, input: &str| {
        format!(
            "{{\"index\":0,\"phase\":\"measured\",\"sent_s\":0,\"first_token_s\":1,\"last_token_s\":2{input},\"output_tokens\":{tokens},\
             \"pieces\":20,\"text_bytes\":80,\"output_tokens_asked\":20,\"status\":\"ok\"}}\n"
        )
    };
    let input = ",\"input_tokens\":7";
    let metrics = |partial: &PartialRun| -> Vec<String> {
        let names =
            partial.readings.iter().map(|r| r.metric.clone()).chain(partial.series.iter().map(|s| s.metric.clone()));
        names.collect()
    };
    let (partial, parsed) = requests(&[line(20, input), line(0, input)].concat());
    assert_eq!(metrics(&partial), ["request_throughput_req_s", "ttft_ms", "tpot_ms", "e2e_latency_ms", "decode_tok_s"]);
    assert_eq!(partial.series[1].values.len(), 1, "the count that holds has its time by token");
    assert!(parsed.notes[0].contains("contradicts what came in 1 of 2 answers"), "{:?}", parsed.notes);
    let (partial, _) = requests(&[line(20, input), line(20, "")].concat());
    assert!(metrics(&partial).iter().all(|metric| metric != "total_throughput_tok_s"), "{:?}", metrics(&partial));
    let rate = partial.readings.iter().find(|reading| reading.metric == "output_throughput_tok_s");
    assert_eq!(rate.map(|reading| reading.value), Some(20.0));
}

#[test]
fn a_count_above_the_length_asked_for_gives_way_to_the_chunks_as_in_the_load() {
    let line = |tokens: u32| {
        format!(
            "{{\"index\":0,\"phase\":\"measured\",\"sent_s\":0,\"first_token_s\":1,\"last_token_s\":20,\"output_tokens\":{tokens},\
             \"pieces\":20,\"text_bytes\":80,\"output_tokens_asked\":20,\"status\":\"ok\"}}\n"
        )
    };
    let (partial, parsed) = requests(&[line(40), line(20)].concat());
    let of = |metric: &str| &partial.series.iter().find(|series| series.metric == metric).unwrap().values;
    assert_eq!((&of("tpot_ms")[..], &of("decode_tok_s")[..]), (&[1000.0, 1000.0][..], &[1.0, 1.0][..]));
    let rate = partial.readings.iter().find(|reading| reading.metric == "output_throughput_tok_s");
    assert_eq!(rate.map(|reading| reading.value), Some(2.0));
    assert!(parsed.notes[0].contains("above the length asked for in 1 of 2 answers"), "{:?}", parsed.notes);
}

#[test]
fn requests_that_all_failed_measure_nothing_and_fail_the_run() {
    let (partial, _) = requests("{\"sent_s\":0,\"status\":\"refused\"}\n");
    assert_eq!(partial.status, Some(Status::Failed("all 1 requests failed".into())));
    assert!(partial.readings.is_empty() && partial.series.is_empty());
    let (none, _) = requests("");
    assert_eq!((none.status, none.series.len()), (None, 0));
}

#[test]
fn a_bad_line_is_named_and_the_others_count() {
    let (partial, parsed) = requests("{\"sent_s\":0,\"status\":\"ok\",\"first_token_s\":1}\n{\"sent_s\":\n");
    assert_eq!(partial.series[0].values, [1000.0]);
    assert!(parsed.left_out[0].to_string().contains("line 2"), "{}", parsed.left_out[0]);
}
