//! Known answers.

use super::*;

fn read(text: &str) -> PartialRun {
    let mut input = text.as_bytes();
    let parsed = Prometheus.parse(&mut SourceFile::new("metrics.txt", text.len() as u64, &mut input)).unwrap();
    let Some(Record::Run(partial)) = parsed.records.into_iter().next() else { panic!() };
    *partial
}

fn value(partial: &PartialRun, name: &str) -> Option<f64> {
    partial.extras.iter().find(|extra| extra.name == name).and_then(Extra::as_number)
}

#[test]
fn of_two_snapshots_the_last_counts_and_a_histogram_gives_its_mean() {
    let partial = read(
        "# TYPE vllm:time_to_first_token_seconds histogram\n\
         vllm:time_to_first_token_seconds_bucket{le=\"0.1\",model_name=\"org/m\"} 1\n\
         vllm:time_to_first_token_seconds_sum{engine=\"0\",model_name=\"org/m\"} 1.0\n\
         vllm:time_to_first_token_seconds_count{engine=\"0\",model_name=\"org/m\"} 2\n\
         vllm:request_success_total{finished_reason=\"stop\",model_name=\"org/m\"} 7.0\n\
         vllm:time_to_first_token_seconds_sum{engine=\"0\",model_name=\"org/m\"} 3.0\n\
         vllm:time_to_first_token_seconds_count{engine=\"0\",model_name=\"org/m\"} 4\n\
         vllm:time_to_first_token_seconds_sum{engine=\"1\",model_name=\"org/m\"} 9.0\n\
         vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"100\",gpu_memory_utilization=\"0.9\",cache_dtype=\"fp8\"} 1.0\n\
         process_resident_memory_bytes 1.5e+09 1700000000000\n",
    );
    assert_eq!(value(&partial, "vllm:time_to_first_token_seconds_sum"), Some(3.0));
    assert_eq!(value(&partial, "vllm:time_to_first_token_seconds_sum engine=1"), Some(9.0));
    assert_eq!(value(&partial, "vllm:time_to_first_token_seconds mean"), Some(0.75));
    assert_eq!(value(&partial, "vllm:request_success_total finished_reason=stop"), Some(7.0));
    assert_eq!(value(&partial, "process_resident_memory_bytes"), Some(1.5e9));
    assert_eq!(value(&partial, "kv_cache_tokens of cache_config_info"), Some(1600.0));
    assert_eq!((partial.model.as_deref(), partial.setup.kv_dtype.as_deref()), (Some("m"), Some("fp8")));
    assert!(partial.readings.is_empty(), "nothing since the start of a server is a figure of a run");
    let mean = partial.extras.iter().find(|extra| extra.name.ends_with(" mean")).unwrap();
    assert_eq!((mean.unit.as_str(), mean.why, mean.origin.rule), ("s", Some(MEAN), DERIVED));
}

#[test]
fn rates_that_are_named_seconds_are_rates() {
    let partial = read(
        "llamacpp:predicted_tokens_seconds 47.5\nllamacpp:tokens_predicted_seconds_total 3\nllamacpp:prompt_tokens_total 10\n\
         llamacpp:n_busy_slots_per_decode 1.5\nllamacpp:prompt_tokens_cached_total 4\nllamacpp:requests_processing 1\n",
    );
    let units: Vec<(&str, &str, Option<&str>)> =
        partial.extras.iter().map(|extra| (extra.name.as_str(), extra.unit.as_str(), extra.why)).collect();
    assert_eq!(
        units,
        [
            ("llamacpp:n_busy_slots_per_decode", "", Some(MEAN)),
            ("llamacpp:predicted_tokens_seconds", "tok/s", Some(MEAN)),
            ("llamacpp:prompt_tokens_cached_total", "tokens", Some(SINCE_START)),
            ("llamacpp:prompt_tokens_total", "tokens", Some(SINCE_START)),
            ("llamacpp:requests_processing", "", None),
            ("llamacpp:tokens_predicted_seconds_total", "s", Some(SINCE_START)),
        ]
    );
    assert_eq!(partial.setup.engine.as_deref(), Some("llama.cpp"));
}

#[test]
fn rows_that_only_machines_part_are_not_lost() {
    let partial = read("# TYPE x gauge\nx{instance=\"a\"} 1\nx{instance=\"b\"} 2\nx{instance=\"a\"} 3\n");
    assert_eq!((value(&partial, "x"), value(&partial, "x (2)")), (Some(3.0), Some(2.0)));
}

#[test]
fn the_label_that_tells_several_models_apart_stays() {
    let partial = read(
        "# TYPE busy counter\nbusy{model=\"ensemble\",version=\"1\"} 4\nbusy{model=\"preprocessing\",version=\"1\"} 2\n\
         # TYPE wait histogram\nwait_sum{model=\"ensemble\"} 6\nwait_sum{model=\"/home/ann/small\"} 3\n\
         wait_count{model=\"ensemble\"} 2\nwait_count{model=\"/home/ann/small\"} 3\n\
         # TYPE alone gauge\nalone{model=\"ensemble\"} 9\n",
    );
    let named = ["busy model=ensemble", "busy model=preprocessing", "alone"].map(|name| value(&partial, name));
    assert_eq!(named, [Some(4.0), Some(2.0), Some(9.0)]);
    assert_eq!(
        (value(&partial, "wait mean model=ensemble"), value(&partial, "wait mean model=small")),
        (Some(3.0), Some(1.0))
    );
    assert!(partial.extras.iter().all(|extra| !extra.name.contains('(') && !extra.name.contains("ann")));
}

#[test]
fn machines_part_rows_and_are_not_named() {
    let partial = read(
        "# TYPE x gauge\nx{gpu_uuid=\"GPU-1\",lane=\"a\"} 1\nx{gpu_uuid=\"GPU-2\",lane=\"a\"} 2\nx{gpu_uuid=\"GPU-1\",lane=\"b\"} 3\n\
         # TYPE y gauge\ny{peer=\"10.0.0.1:8000\"} 4\ny{peer=\"10.0.0.2:8000\"} 5\n",
    );
    let names: Vec<&str> = partial.extras.iter().map(|extra| extra.name.as_str()).collect();
    assert_eq!(names, ["x lane=a", "x lane=a (2)", "x lane=b", "y", "y (2)"]);
}

#[test]
fn a_snapshot_is_told_from_other_files() {
    let is = |text: &str| Prometheus.sniff(&Head::new("m.txt", text, text.len() as u64));
    assert!(is("# HELP a b\n# TYPE a gauge\na 1\n") && is("vllm:a{b=\"c\"} 1\n"));
    assert!(!is("# a title\nwords and words\n") && !is("a 1\nb 2\n"));
}
