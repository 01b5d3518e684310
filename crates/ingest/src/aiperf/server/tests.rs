//! Known answers.

use super::*;

fn read(name: &str, text: &str) -> Vec<(String, f64, Option<u64>)> {
    assert!(Server.sniff(&Head::new(name, text, 1)), "{name}");
    let mut input = text.as_bytes();
    let mut parsed = Server.parse(&mut SourceFile::new(name, text.len() as u64, &mut input)).unwrap();
    assert!(parsed.left_out.is_empty(), "{:?}", parsed.left_out);
    let Record::Run(partial) = parsed.records.remove(0) else { panic!() };
    assert!(!format!("{partial:?}").contains("box"), "no address is taken");
    let number = |extra: &Extra| extra.as_number().unwrap_or(f64::NAN);
    partial.extras.iter().map(|extra| (extra.name.clone(), number(extra), extra.origin.line)).collect()
}

#[test]
fn families_of_the_measured_phase_are_extras_in_json_and_csv_alike() {
    let json = read(
        "server_metrics_export.json",
        r#"{"aiperf_version": "0.13.0", "summary": {"endpoints_configured": ["http://box:1/metrics"]}, "metrics": {
        "vllm:kv_cache_usage_perc": {"type": "gauge", "unit": "ratio", "series": [{"endpoint_url": "http://box:1/metrics", "labels": {"engine": "0", "model_name": "m"}, "stats": {"avg": 0.5, "p99": 0.75}}]},
        "vllm:request_success": {"type": "counter", "series": [{"labels": {"finished_reason": "stop"}, "stats": {"total": 4.0}, "timeslices": [{"total": 4.0}]}]}}}"#,
    );
    let csv = read(
        "server_metrics_export.csv",
        "# AIPerf Server Metrics Export (CSV)\n# aiperf_version: 0.13.0\n#\n\
         Endpoint,Type,Metric,Unit,avg,p99,engine,model_name,Description\r\nbox:1,gauge,vllm:kv_cache_usage_perc,ratio,0.5000,0.7500,0,m,Usage\r\n\r\n\
         Endpoint,Type,Metric,Unit,total,rate,finished_reason,Description\r\nbox:1,counter,vllm:request_success,,4,,stop,Count\r\n\r\n\
         Endpoint,Metric,Key,Value,Description\r\nbox:1,vllm:cache_config_info,block_size,16,Info\r\n",
    );
    let names = |found: &[(String, f64, Option<u64>)]| -> Vec<(String, f64)> {
        found.iter().map(|(name, value, _)| (name.clone(), *value)).collect()
    };
    assert_eq!(names(&json), names(&csv));
    assert_eq!((json[1].0.as_str(), json[1].1, json[1].2), ("server.vllm:kv_cache_usage_perc_p99", 0.75, Some(2)));
    assert_eq!((csv[0].2, csv.len()), (Some(5), 3));
    assert!(json[2].0 == "server.vllm:request_success_total finished_reason=stop", "{json:?}");
}

#[test]
fn a_family_of_information_is_left_out_and_rates_are_a_second() {
    let found = read(
        "server_metrics_export.json",
        r#"{"summary": {"endpoints_configured": []}, "metrics": {
        "vllm:cache_config_info": {"type": "gauge", "series": [{"labels": {"block_size": "16"}, "stats": {"avg": 1.0}}]},
        "vllm:generation_tokens": {"type": "counter", "unit": "tokens", "series": [{"labels": {}, "stats": {"rate": 47.5}}]}}}"#,
    );
    assert_eq!(found, [("server.vllm:generation_tokens_rate".to_owned(), 47.5, Some(3))]);
    for (stat, unit, expected) in [
        ("rate_avg", "tokens", "tok/s"),
        ("rate", "requests", "req/s"),
        ("rate", "", "1/s"),
        ("count_rate", "seconds", "1/s"),
        ("sum_rate", "seconds", "seconds/s"),
        ("count", "seconds", ""),
        ("p99", "ratio", "ratio"),
    ] {
        assert_eq!(unit_of(stat, unit), expected, "{stat} of {unit}");
    }
}

#[test]
fn of_the_scrapes_of_the_measured_phase_the_last_counts() {
    let line = |phase: &str, value: u32| {
        format!(
            r#"{{"endpoint_url": "http://box:1/metrics", "timestamp_ns": 5, "endpoint_latency_ns": 1, "metrics": {{"running": [{{"value": {value}.0}}], "ttft": [{{"buckets": {{"+Inf": 2.0}}, "sum": 1.5, "count": {value}.0}}]}}, "benchmark_phase": "{phase}"}}"#
        )
    };
    let found = read(
        "server_metrics_export.jsonl",
        &[line("warmup", 9), line("profiling", 2), line("profiling", 3)].join("\n"),
    );
    assert_eq!(
        found,
        [
            ("server.running".to_owned(), 3.0, Some(3)),
            ("server.ttft_sum".to_owned(), 1.5, Some(3)),
            ("server.ttft_count".to_owned(), 3.0, Some(3))
        ]
    );
}

#[test]
fn a_scrape_without_a_phase_is_none_of_the_measured_phase() {
    let line = |phase: &str, value: u32| {
        format!(
            r#"{{"endpoint_url": "u", "timestamp_ns": 5, "metrics": {{"at_{value}": [{{"value": {value}.0}}]}}{phase}}}"#
        )
    };
    let parse = |lines: &[String]| {
        let text = lines.join("\n");
        let mut input = text.as_bytes();
        Server.parse(&mut SourceFile::new("server_metrics_export.jsonl", text.len() as u64, &mut input)).unwrap()
    };
    let named = |parsed: &Parsed| match &parsed.records[0] {
        Record::Run(partial) => partial.extras.iter().map(|extra| extra.name.clone()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let phased = parse(&[line("", 1), line(r#", "phase_kind": "profiling""#, 2), line("", 3)]);
    assert_eq!(
        (named(&phased), phased.notes[0].split(". ").next()),
        (vec!["server.at_2".to_owned()], Some("1 scrapes of the measured phase"))
    );
    let older = parse(&[line("", 1), line("", 2)]);
    assert_eq!((named(&older).len(), older.notes[0].split(". ").next()), (2, Some("2 scrapes, without phases")));
}

#[test]
fn a_row_of_another_length_is_left_out_and_named() {
    let text = "# aiperf_version: 0.13.0\nEndpoint,Type,Metric,Unit,avg,Description\nbox:1,gauge,a,ratio,0.5,Usage\n# remark\n";
    let mut input = text.as_bytes();
    let parsed =
        Server.parse(&mut SourceFile::new("server_metrics_export.csv", text.len() as u64, &mut input)).unwrap();
    let faults: Vec<String> = parsed.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(faults, ["a row is left out\n  where: line 4: expected 6 cells, found 1"]);
}
