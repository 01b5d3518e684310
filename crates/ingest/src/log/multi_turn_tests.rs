use super::*;
use crate::log::parse_kind;

const TABLE: &str = "\
                   count     mean     std      min      25%      50%      75%      90%      99%      max
ttft_ms            166.0    78.22   67.63    45.91    59.94    62.26    64.43    69.66   353.18   567.54
tpot_ms            166.0    25.37    0.57    24.40    25.07    25.31    25.50    25.84    27.50    28.05
latency_ms         166.0  2591.07  326.90  1998.53  2341.62  2573.01  2860.10  3003.50  3268.46  3862.94
input_num_turns    166.0     7.43    4.57     1.00     3.00     7.00    11.00    13.00    17.00    17.00
input_num_tokens   166.0  2006.20  893.56   522.00  1247.75  2019.00  2718.00  3233.00  3736.45  3899.00
output_num_tokens  166.0   100.01   11.80    80.00    91.00    99.00   109.75   116.00   120.00   120.00
";
const VALUES: &str = "runtime_sec = 215.810\nrequests_per_sec = 0.769\n--------\n";

fn read(text: &str) -> Vec<PartialRun> {
    let mut input = text.as_bytes();
    let parsed = parse_kind(&mut SourceFile::new("x.log", text.len() as u64, &mut input), &MULTI_TURN).unwrap();
    assert!(!parsed.kinds.is_empty(), "{parsed:?}");
    let partials = parsed.records.into_iter().map(|record| match record {
        Record::Run(partial) => *partial,
        other => panic!("{other:?}"),
    });
    partials.collect()
}

fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
    partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

#[test]
fn a_table_gives_its_metrics_and_keeps_the_rest() {
    let text = format!(
        "\u{1b}[33mParameters:\u{1b}[0m\nmodel=org/Some-8B\nnum_clients=2\nseed=0\n---\n\u{1b}[33mStatistics summary:\u{1b}[0m\n{VALUES}{TABLE}---\n"
    );
    let partials = read(&text);
    let [partial] = partials.as_slice() else { panic!("{partials:?}") };
    for (metric, expected) in [
        ("ttft_ms", 78.22),
        ("ttft_ms_p99", 353.18),
        ("tpot_ms_p90", 25.84),
        ("e2e_latency_ms_p50", 2573.01),
        ("e2e_latency_ms_max", 3862.94),
        ("request_throughput_req_s", 0.769),
        ("output_throughput_tok_s", 166.0 * 100.01 / 215.81),
    ] {
        assert_eq!(value(partial, metric), Some(expected), "{metric}");
    }
    // Of 60 cells and 2 lines, 15 and 1 are metrics. One is computed.
    assert_eq!((partial.readings.len(), partial.extras.len()), (15 + 1 + 1, 60 - 15 + 1));
    assert_eq!(
        (partial.setup.batch, partial.setup.requests, partial.setup.osl),
        (Some(2.0), Some(166.0), Some(100.01))
    );
    assert_eq!((partial.model.as_deref(), partial.workload.as_deref()), (Some("Some-8B"), Some("multi-turn-c2")));
    assert_eq!(partial.fingerprint.as_deref(), Some("vllm-multi-turn|166.00|78.22|2591.07"));
}

#[test]
fn tables_of_growing_warm_up_are_one_run_and_the_first_counts() {
    let later = TABLE.replace("78.22", "70.00");
    let text = format!(
        "Statistics summary (assuming 0% warmup samples):\n{VALUES}{TABLE}Statistics summary (assuming 20% warmup samples):\n{VALUES}{later}"
    );
    let partials = read(&text);
    let [partial] = partials.as_slice() else { panic!("{partials:?}") };
    assert_eq!(value(partial, "ttft_ms"), Some(78.22));
    let extra = partial.extras.iter().find(|extra| extra.name == "ttft mean after 20% warm-up").unwrap();
    assert_eq!((&extra.value, extra.unit.as_str()), (&sparkbench_model::ExtraValue::Number(70.0), "ms"));
    let twice = read(&format!("{text}{text}"));
    assert_eq!((twice.len(), twice[1].position), (2, Some(2)), "a share that falls back begins a new run");
}

#[test]
fn statistics_with_the_zeros_of_answers_in_one_piece_are_no_metric() {
    let partials = read(&format!("Statistics summary:\n{VALUES}{}", TABLE.replace("24.40", " 0.00")));
    assert_eq!((value(&partials[0], "tpot_ms"), value(&partials[0], "ttft_ms")), (None, Some(78.22)));
    let mean = partials[0].extras.iter().find(|extra| extra.name == "tpot mean").unwrap();
    assert_eq!(mean.why, Some(WITH_ZEROS));
}

#[test]
fn a_table_that_a_narrow_terminal_broke_is_whole_again() {
    let text = "Statistics summary:\nruntime_sec = 10.0\nrequests_per_sec = 0.2\n            count   mean  \\\nttft_ms       2.0  50.00   \nlatency_ms    2.0  900.0   \n\n                50%    max  \nttft_ms      50.00  60.00  \nlatency_ms   900.0  950.0\n";
    let partials = read(text);
    assert_eq!(
        (value(&partials[0], "ttft_ms_max"), value(&partials[0], "e2e_latency_ms_p50")),
        (Some(60.0), Some(900.0))
    );
}

#[test]
fn times_per_token_of_a_table_that_was_cut_count_where_they_cannot_hold_a_zero() {
    let table = |tpot: &str, chunks: &str| {
        format!(
            "Statistics summary:\n{VALUES}            count   mean    std  ...    90%     max\nttft_ms 15.0 43.73 32.61 ... 83.81 131.12\ntpot_ms 15.0 {tpot}\n\
             output_num_tokens 15.0 2.00 0.93 ... 3.00 3.00\noutput_num_chunks 15.0 {chunks}\n---\n"
        )
    };
    let tpot = |text: &str| value(&read(text)[0], "tpot_ms");
    // One zero among 15 of mean 18 makes a deviation of 5 at the least.
    assert_eq!(tpot(&table("18.00 4.90 ... 19.00 20.00", "1.00 0.93 ... 2.00 2.00")), Some(18.0));
    let doubtful = table("11.06 14.94 ... 24.98 54.57", "1.00 0.93 ... 2.00 2.00");
    assert_eq!(tpot(&doubtful), None);
    let partials = read(&doubtful);
    let extra = partials[0].extras.iter().find(|extra| extra.name == "tpot mean").unwrap();
    assert_eq!(extra.why, Some(PERHAPS_ZEROS));
    let whole = read(&table("0.00 0.00 ... 0.00 0.00", "0.00 0.00 ... 0.00 0.00"));
    assert_eq!(value(&whole[0], "ttft_ms"), None, "several tokens in one piece have no first");
}
