//! Known answers.

use super::*;
use crate::{PartialRun, Record};
use sparkbench_model::known_extra;

fn read(text: &str) -> (PartialRun, Parsed) {
    assert!(GuideLlmCsv.sniff(&Head::new("benchmarks.csv", text, 1)));
    let mut input = text.as_bytes();
    let mut parsed = GuideLlmCsv.parse(&mut SourceFile::new("benchmarks.csv", text.len() as u64, &mut input)).unwrap();
    match parsed.records.remove(0) {
        Record::Run(partial) => (*partial, parsed),
        other => panic!("{other:?}"),
    }
}

fn figures(partial: &PartialRun) -> Vec<(&str, f64, &str)> {
    partial.readings.iter().map(|r| (r.metric.as_str(), r.value, r.origin.field.as_deref().unwrap())).collect()
}

#[test]
fn one_line_of_headers_gives_metrics_by_their_words() {
    let (partial, parsed) = read(
        "Type,Run Id,Id,Name,Start Time,End Time,Duration,Successful Requests,Successful Request latency mean,\
         \"Successful Request latency [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]\",Successful Output token count mean,\
         \"Successful Time to first token ms [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]\",Successful Time to first token ms mean,\
         Errored Requests,Errored Request latency mean,Incomplete Requests,Total Requests,Total Request latency mean,Args\r\n\
         generative_benchmark,r,i,synchronous,2025-08-01 10:00:00,2025-08-01 10:00:02,2.0,4,0.5,\
         \"[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.6, 0.7, 0.8, 0.9, 1.0]\",10.0,\"[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\",0.0,\
         0,0.0,0,4,0.5,\"{\"\"strategy\"\": {\"\"type_\"\": \"\"synchronous\"\"}}\"\r\n",
    );
    let column = "Successful Request latency [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]";
    let found = figures(&partial);
    assert_eq!(found[0], ("output_throughput_tok_s", 20.0, "Successful Output token count mean"));
    assert_eq!(found[1], ("e2e_latency_ms", 500.0, "Successful Request latency mean"));
    assert_eq!(found[2].0, "e2e_latency_ms_p90");
    assert!(found[2].2.starts_with(column), "{found:?}");
    assert!(!found.iter().any(|(metric, ..)| metric.starts_with("ttft")), "zeros are no latency: {found:?}");
    assert!(!partial.extras.iter().any(|extra| extra.name.contains(".errored") || extra.name.contains(".total")));
    assert_eq!(
        (partial.setup.batch, partial.setup.requests, partial.workload.as_deref()),
        (Some(1.0), Some(4.0), Some("c1"))
    );
    assert_eq!((partial.fingerprint.as_deref(), partial.started), (Some("guidellm|i"), None));
    assert_eq!(partial.setup.more.get("client_start_time").map(String::as_str), Some("2025-08-01 10:00:00"));
    assert!(parsed.left_out.is_empty(), "{:?}", parsed.left_out);
}

#[test]
fn three_lines_of_headers_are_one_name() {
    let (partial, parsed) = read(
        "Run Info,Benchmark,Benchmark,Timings,Request Counts,Request Counts,Time to First Token,Time to First Token,Scheduler Metrics\n\
         Run ID,ID,Strategy,Duration,Successful,Errored,Successful ms,Errored ms,Queued Time Avg\n\
         ,,,Sec,,,Mean,Mean,Sec\n\
         r,i,concurrent@2,2.0,4,1,12.5,7.5,0.25\n",
    );
    assert_eq!(figures(&partial), [("ttft_ms", 12.5, "Time to First Token / Successful ms / Mean")]);
    let extras: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
    assert!(extras.contains(&"time_to_first_token_ms.errored_mean") && extras.contains(&"duration"), "{extras:?}");
    assert!(extras.contains(&"scheduler_metrics_queued_time_avg_sec"), "{extras:?}");
    assert_eq!((partial.setup.batch, partial.workload.as_deref()), (Some(2.0), Some("c2")));
    assert_eq!(partial.readings[0].origin.line, Some(4));
    assert!(parsed.left_out.is_empty(), "{:?}", parsed.left_out);
}

#[test]
fn intervals_have_the_names_and_units_of_the_json() {
    let (partial, _) = read(
        "Run Info,Benchmark,Request Counts,Request Latency,Request Latency,Time to First Token,Token Metrics\n\
         Run ID,ID,Errored,Successful Sec,Successful Sec,Successful ms,Successful Input Tokens\n\
         ,,,Mean,Mean CI,Mean CI,Percentile CIs\n\
         r,i,2,0.5,\"[0.25, 0.75]\",\"[23.5, 30.5]\",\"{\"\"p50\"\": null}\"\n",
    );
    let extras: Vec<(&str, &str)> = partial.extras.iter().map(|e| (e.name.as_str(), e.unit.as_str())).collect();
    assert_eq!(
        extras,
        [
            ("request_counts_errored", ""),
            ("request_latency_mean_ci.lower", "s"),
            ("request_latency_mean_ci.upper", "s"),
            ("time_to_first_token_ms_mean_ci.lower", "ms"),
            ("time_to_first_token_ms_mean_ci.upper", "ms"),
        ]
    );
    assert!(known_extra::FAILED_REQUESTS.contains(&extras[0].0), "the check of failed requests finds it");
}

#[test]
fn a_row_without_a_success_has_no_metric() {
    let (partial, _) = read(
        "Type,Run Id,Id,Name,Successful Requests,Successful Request latency mean,Errored Requests,Incomplete Requests\n\
         generative_benchmark,r,i,x,0,0.0,3,1\n",
    );
    assert!(partial.readings.is_empty() && matches!(partial.status, Some(Status::Failed(_))), "{partial:?}");
}

#[test]
fn a_row_of_another_length_is_left_out_and_named() {
    let (_, parsed) = read(
        "Type,Run Id,Id,Name,Successful Requests,Successful Request latency mean,Errored Requests,Incomplete Requests\n\
         generative_benchmark,r,i,x,4,0.5,0,0\n# remark\n",
    );
    let faults: Vec<String> = parsed.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(faults, ["a row is left out\n  where: line 3: expected 8 cells, found 1"]);
    assert!(parsed.records.is_empty(), "it is no run: {:?}", parsed.records);
}
