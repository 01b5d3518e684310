use super::*;
use crate::{JoinRole, Record};
use sparkbench_model::Status;

fn read(text: &str) -> (Vec<PartialRun>, Parsed) {
    let mut input = text.as_bytes();
    let mut parsed = GenaiBench.parse(&mut SourceFile::new("run.json", text.len() as u64, &mut input)).unwrap();
    let partials = parsed.records.drain(..).filter_map(|r| if let Record::Run(p) = r { Some(*p) } else { None });
    (partials.collect(), parsed)
}

fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
    partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

const RUN: &str = r#"{"aggregated_metrics": {"scenario": "D(20,8)", "num_concurrency": 2, "iteration_type": "num_concurrency", "run_duration": 4.0,
        "mean_output_throughput_tokens_per_s": 30.0, "requests_per_minute": 120, "error_codes_frequency": {"503": 1},
        "num_error_requests": 1, "num_completed_requests": 2, "num_requests": 3,
        "stats": {"ttft": {"mean": 0.25, "p25": 0.2, "max": 0.5}, "e2e_latency": {"max": 2.0}, "output_throughput": {"mean": 15.0}}},
        "individual_request_metrics": [{"ttft": 0.25, "tpot": 0.01, "e2e_latency": 2.0, "error_code": null},
          {"ttft": null, "error_code": 503, "error_message": "no"}, {"ttft": 0.5, "e2e_latency": 1.0}]}"#;

#[test]
fn a_run_is_read_in_seconds_and_failed_requests_enter_nothing() {
    let (partials, parsed) = read(RUN);
    let [partial] = partials.as_slice() else { panic!("{partials:?}") };
    assert_eq!((value(partial, "ttft_ms"), value(partial, "ttft_ms_max")), (Some(250.0), Some(500.0)));
    assert_eq!((value(partial, "request_throughput_req_s"), value(partial, "itl_ms")), (Some(2.0), None));
    assert_eq!(partial.series[0].values, [250.0, 500.0]);
    assert_eq!(
        (partial.setup.isl, partial.setup.batch, partial.workload.as_deref()),
        (Some(20.0), Some(2.0), Some("d-20-8-c2"))
    );
    assert!(partial.extras.iter().any(|extra| extra.name == "output_throughput_mean" && extra.why == Some(SINGLE)));
    assert_eq!(parsed.notes, ["1 of 3 requests failed. They are excluded from latencies"]);
    assert_eq!(partial.join_role, JoinRole::Base);
}

#[test]
fn the_unit_is_what_the_file_says_or_what_alone_is_possible() {
    let milliseconds = RUN.replace("\"individual", "\"_time_unit\": \"ms\", \"individual");
    assert_eq!(value(&read(&milliseconds).0[0], "ttft_ms"), Some(0.25));
    let outlasting = RUN.replace("\"max\": 2.0", "\"max\": 2000.0");
    let (partials, parsed) = read(&outlasting);
    assert_eq!(value(&partials[0], "e2e_latency_ms_max"), Some(2000.0));
    assert!(parsed.notes.iter().any(|note| note.contains("outlasted")));
}

#[test]
fn runs_nested_by_scenario_and_concurrency_are_runs_of_their_own() {
    let (partials, _) =
        read(&format!("{{\"D(20,8)\": {{\"1\": {RUN}, \"2\": {RUN}}}, \"N(1,2)/(3,4)\": {{\"1\": {RUN}}}}}"));
    assert_eq!((partials.len(), partials[0].join_role), (3, JoinRole::Alone));
    assert_eq!(partials[1].readings[0].origin.field.as_deref().unwrap().split('/').nth(2), Some("2"));
    assert_eq!(lengths("N(480,240)/(300,150)"), Some((480.0, 300.0)));
    assert_eq!((lengths("U(50,100)/(200,250)"), lengths("D(1"), lengths("")), (None, None, None));
}

#[test]
fn a_run_without_an_answer_has_failed_and_measured_nothing() {
    let (partials, _) = read(
        r#"{"aggregated_metrics": {"num_completed_requests": 0, "num_error_requests": 2, "requests_per_second": 0.0, "stats": {"ttft": {"mean": 0.0}}}, "individual_request_metrics": []}"#,
    );
    assert!(partials[0].readings.is_empty());
    assert_eq!(partials[0].status, Some(Status::Failed("all 2 requests failed".to_owned())));
}
