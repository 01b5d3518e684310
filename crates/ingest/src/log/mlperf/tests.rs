use super::*;
use crate::PartialRun;
use sparkbench_model::ExtraValue;

fn read(text: &str) -> Option<Parsed> {
    let mut reader = (MLPERF.start)();
    for (number, line) in (1u64..).zip(text.lines()) {
        if MLPERF.marks.iter().any(|mark| line.to_ascii_lowercase().contains(&mark.to_ascii_lowercase())) {
            reader.line(number, line);
        }
    }
    let mut nothing: &[u8] = b"";
    reader.finish(&SourceFile::new("mlperf_log_summary.txt", 0, &mut nothing))
}

fn partial(parsed: &Parsed, at: usize) -> &PartialRun {
    match &parsed.records[at] {
        Record::Run(partial) => partial,
        other => panic!("{other:?}"),
    }
}

const SERVER: &str = "\
================================================
MLPerf Results Summary
================================================
SUT name : box-17
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 74.96
Completed tokens per second: 22020.92
Result is : INVALID
  Performance constraints satisfied : NO
TTFT Early Stopping Result:
 * Run unsuccessful.

Additional Stats
Scheduled samples per second : 76.17
Mean latency (ns)               : 2000000000
97.00 percentile latency (ns)   : 3000000000
99.00 percentile latency (ns)   : 4000000000
Max First Token latency (ns)                : 500000000
99.00 percentile first token latency (ns)   : 450000000
Mean Time to Output Token (ns)               : 50000000
99.90 percentile time to output token (ns)   : 90000000

Test Parameters Used
samples_per_query : 1
target_qps : 76.5
ttft_latency (ns): 2000000000
min_duration (ms): 600000

No warnings encountered during test.
";

#[test]
fn nanoseconds_become_milliseconds_and_the_offered_rate_is_no_throughput() {
    let parsed = read(SERVER).unwrap();
    let found: Vec<(&str, f64)> = partial(&parsed, 0).readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
    assert_eq!(
        found,
        [
            ("request_throughput_req_s", 74.96),
            ("output_throughput_tok_s", 22020.92),
            ("e2e_latency_ms", 2000.0),
            ("e2e_latency_ms_p99", 4000.0),
            ("ttft_ms_max", 500.0),
            ("ttft_ms_p99", 450.0),
            ("tpot_ms", 50.0)
        ]
    );
    let run = partial(&parsed, 0);
    let extras: Vec<&str> = run.extras.iter().map(|extra| extra.name.as_str()).collect();
    assert_eq!(
        extras,
        [
            "Scheduled samples per second",
            "97.00 percentile latency",
            "99.90 percentile time to output token",
            "result_invalid"
        ]
    );
    assert_eq!((run.workload.as_deref(), run.setup.request_rate), (Some("server"), Some(76.5)));
    assert_eq!(
        (run.setup.more["result"].as_str(), run.setup.more["ttft_latency (ns)"].as_str()),
        ("INVALID", "2000000000")
    );
    assert_eq!(parsed.notes.len(), 1);
    assert!(!format!("{parsed:?}").contains("box-17"));
}

#[test]
fn a_single_stream_has_its_headline_percentile_once() {
    let parsed = read(
            "MLPerf Results Summary\nScenario : Single Stream\nMode     : Performance\n90th percentile latency (ns) : 5000000\nResult is : VALID\n\
             Early Stopping Result:\n * Early stopping 90th percentile estimate: 5100000\n\
             QPS w/ loadgen overhead         : 2.19\nQPS w/o loadgen overhead        : 2.20\n90.00 percentile latency (ns)   : 5000000\n",
        )
        .unwrap();
    let run = partial(&parsed, 0);
    let found: Vec<(&str, f64)> = run.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
    assert_eq!(found, [("e2e_latency_ms_p90", 5.0), ("request_throughput_req_s", 2.19)]);
    assert_eq!((run.workload.as_deref(), run.extras.len()), (Some("singlestream"), 2));
}

#[test]
fn the_detailed_log_speaks_beside_the_summary_and_training_is_another_matter() {
    let parsed = read(
            ":::MLLOG {\"key\": \"loadgen_version\", \"value\": \"5.0 @ abc\", \"time_ms\": 0.1, \"namespace\": \"mlperf::logging\"}\n\
             :::MLLOG {\"key\": \"effective_scenario\", \"value\": \"Server\", \"namespace\": \"mlperf::logging\"}\n\
             :::MLLOG {\"key\": \"effective_target_qps\", \"value\": 76.5, \"namespace\": \"mlperf::logging\"}\n\
             :::MLLOG {\"key\": \"result_query_count\", \"value\": 24, \"namespace\": \"mlperf::logging\"}\n\
             :::MLLOG {\"key\": \"result_first_token_99.00_percentile_latency_ns\", \"value\": 450000000, \"namespace\": \"mlperf::logging\"}\n\
             :::MLLOG {\"key\": \"result_time_to_output_token_mean\", \"value\": 50000000, \"namespace\": \"mlperf::logging\"}\n",
        )
        .unwrap();
    let run = partial(&parsed, 0);
    let found: Vec<(&str, f64)> = run.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
    assert_eq!(found, [("ttft_ms_p99", 450.0), ("tpot_ms", 50.0)]);
    assert_eq!((run.join_role, run.setup.requests), (JoinRole::WholeFolder, Some(24.0)));
    assert_eq!(run.setup.tool_version.as_deref(), Some("5.0 @ abc"));
    assert!(read(":::MLLOG {\"key\": \"eval_accuracy\", \"value\": 0.7}\n").is_none());
    assert!(read("some log: 5\nother : 6\n").is_none());
}

fn found(partial: &PartialRun) -> Vec<(&str, f64)> {
    partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect()
}

fn text<'p>(partial: &'p PartialRun, name: &str) -> Option<&'p str> {
    partial.extras.iter().find(|extra| extra.name == name).and_then(|extra| match &extra.value {
        ExtraValue::Text(text) => Some(text.as_str()),
        ExtraValue::Number(_) => None,
    })
}

#[test]
fn of_a_multi_stream_only_the_latency_is_that_of_a_query() {
    let parsed = read(
        "MLPerf Results Summary\nScenario : MultiStream\nMode     : PerformanceOnly\n\
         99.0th percentile latency (ns) : 84089489\n99.0th first token percentile latency (ns) : 41962387\n\
         Result is : INVALID\n  Min duration satisfied : Yes\n  Early stopping satisfied: NO\n\
         Per-query latency:  \nMean latency (ns)                : 52837699\n\
         Mean First Token latency (ns)               : 19025171\n99.00 percentile first token latency (ns)   : 41962387\n\
         Max Time per Output Token (ns)                : 9759906\nMean Time per Output Token (ns)               : 2128818\n",
    )
    .unwrap();
    let run = partial(&parsed, 0);
    assert_eq!(
        found(run),
        [("ttft_ms_p99", 41.962387), ("ttft_ms", 19.025171), ("tpot_ms_max", 9.759906), ("tpot_ms", 2.128818)]
    );
    let extras: Vec<(&str, bool)> = run.extras.iter().map(|extra| (extra.name.as_str(), extra.why.is_some())).collect();
    assert_eq!(extras, [("99.0th percentile latency", true), ("mean latency", true), ("result_invalid", false)]);
    assert_eq!(text(run, "result_invalid"), Some("not met: early stopping"));
}

#[test]
fn early_stopping_of_first_tokens_and_of_tpot_keep_their_names() {
    let parsed = read(
        "MLPerf Results Summary\nScenario : SingleStream\nMode     : PerformanceOnly\n\
         90.0th percentile latency (ns) : 32752788\n90.0th first token percentile latency (ns) : 11689152\nResult is : VALID\n\
         TTFT Early Stopping Result:\n * Early stopping 90.0th percentile estimate: 20924044\n\
         TPOT Early Stopping Result:\n * Early stopping 90.0th percentile estimate: 3839887\n",
    )
    .unwrap();
    let run = partial(&parsed, 0);
    assert_eq!(found(run), [("e2e_latency_ms_p90", 32.752788), ("ttft_ms_p90", 11.689152)]);
    let extras: Vec<&str> = run.extras.iter().map(|extra| extra.name.as_str()).collect();
    assert_eq!(
        extras,
        ["ttft early stopping 90.0th percentile estimate", "tpot early stopping 90.0th percentile estimate"]
    );
}

/// Lines of a detailed log.
fn detailed(scenario: &str, lines: &[(&str, &str)]) -> Parsed {
    let scenario = format!("\"{scenario}\"");
    let all = [("loadgen_version", "\"6.0.17\""), ("effective_scenario", scenario.as_str())];
    let lines: Vec<String> = all
        .iter()
        .chain(lines)
        .map(|(key, value)| {
            format!(":::MLLOG {{\"key\": \"{key}\", \"value\": {value}, \"namespace\": \"mlperf::logging\"}}")
        })
        .collect();
    read(&lines.join("\n")).unwrap()
}

#[test]
fn the_detailed_log_counts_queries_and_gives_tokens_a_nanosecond() {
    let parsed = detailed(
        "MultiStream",
        &[
            ("effective_samples_per_query", "8"),
            ("result_validity", "\"INVALID\""),
            ("early_stopping_met", "false"),
            ("result_query_count", "64"),
            ("early_stopping_latency_ms", "0"),
            ("result_token_throughput_with_loadgen_overhead", "1185.48"),
            ("result_token_throughput", "2.33793e-07"),
            ("result_completed_tokens_per_second", "1170.89"),
        ],
    );
    let run = partial(&parsed, 0);
    assert!(run.readings.is_empty(), "the summary of a multi-stream gives no rate: {:?}", run.readings);
    assert_eq!((run.setup.requests, text(run, "result_invalid")), (Some(512.0), Some("not met: early stopping")));
    let extras: Vec<_> = run.extras.iter().map(|e| (e.name.as_str(), e.unit.as_str(), e.why.is_some())).collect();
    assert_eq!(
        extras,
        [
            ("result_query_count", "", false),
            ("result_token_throughput_with_loadgen_overhead", "tok/s", false),
            ("result_token_throughput", "tok/s", true),
            ("result_completed_tokens_per_second", "tok/s", false),
            ("result_invalid", "", false),
        ]
    );
    assert_eq!(run.extras[2].value, ExtraValue::Number(233.793));
}

#[test]
fn the_detailed_log_alone_gives_the_rate_of_tokens_that_the_summary_gives() {
    let both = [
        ("result_token_throughput_with_loadgen_overhead", "344.529"),
        ("result_completed_tokens_per_second", "337.348"),
    ];
    for (scenario, rate) in [("SingleStream", 344.529), ("Server", 337.348)] {
        let parsed = detailed(scenario, &both);
        assert_eq!(found(partial(&parsed, 0)), [("output_throughput_tok_s", rate)], "{scenario}");
    }
}
