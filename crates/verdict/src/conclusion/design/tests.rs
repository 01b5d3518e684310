//! Answers of campaigns made by hand, each shape once. The figures are those of files of their owners where a comment says so.

use super::*;
use crate::testing::{asked, comparison, factor, measured, run_of, set};
use sparkbench_model::{Campaign, Extra, Facts, Metric, Origin, Run, Setup, Status};

fn settings() -> Settings {
    Settings { confidence: 0.95, resamples: 999, seed: 1, baseline: None, margins_pct: Default::default() }
}

fn campaign(factors: Vec<sparkbench_model::Factor>, question: Option<&str>) -> Campaign {
    Campaign { name: "c".into(), factors, asked: question.map(asked), ..Campaign::default() }
}

fn answer_of(campaign: &Campaign, runs: &[Run], comparisons: &[&Comparison]) -> Option<DesignAnswer> {
    let (facts, settings) = (Facts::default(), settings());
    let case = crate::layout::lay_out(campaign, runs.iter().collect(), &facts, &settings);
    answer(&case, comparisons, &settings)
}

fn lead(campaign: &Campaign, runs: &[Run]) -> Vec<String> {
    let found = answer_of(campaign, runs, &[]).expect("an answer");
    found.lead.into_iter().map(|sentence| sentence.text).collect()
}

/// One run of a precision at a concurrency, of one test of llama-benchy.
fn pass(arm: &str, isl: &str, users: &str, decode: f64, output: f64) -> Run {
    let workload = format!("pp{isl}-c{users}");
    let run = run_of(
        &format!("{arm}-{workload}"),
        &workload,
        arm,
        &[("decode_tok_s", decode), ("output_throughput_tok_s", output)],
    );
    set(run, &[("quantisation", arm), ("isl", isl), ("osl", "1024"), ("concurrency", users)])
}

/// djangodevreng/dgx-spark-benchmarks, 01-chat.md of the three precisions.
fn precisions() -> (Campaign, Vec<Run>) {
    let factors = vec![
        factor("quantisation", &["bf16", "fp8", "nvfp4"], &["model", "folder"]),
        factor("concurrency", &["1", "5", "10"], &[]),
    ];
    let mut runs = Vec::new();
    for (arm, one, five, ten) in [
        ("bf16", (30.49, 30.49), (13.02, 64.61), (8.63, 84.61)),
        ("fp8", (51.86, 51.86), (22.15, 109.52), (15.29, 150.15)),
        ("nvfp4", (42.62, 42.62), (27.56, 133.38), (20.27, 196.13)),
    ] {
        for (users, (decode, output)) in [("1", one), ("5", five), ("10", ten)] {
            runs.push(pass(arm, "1024", users, decode, output));
        }
    }
    (campaign(factors, Some("quantisation")), runs)
}

#[test]
fn which_precision_is_fastest_for_one_user_and_for_many() {
    let (campaign, runs) = precisions();
    assert_eq!(
        lead(&campaign, &runs),
        [
            "For one user fp8 is fastest, in one run each: 51.9 tok/s decode rate. Then come nvfp4 with 42.6 (0.82 times) and bf16 with \
             30.5 (0.59 times).",
            "From 5 users on nvfp4 is fastest, in one run each: 196 tok/s output throughput for 10 users. Then come fp8 with 150 (0.77 times) \
             and bf16 with 84.6 (0.43 times).",
        ]
    );
    let found = answer_of(&campaign, &runs, &[]).unwrap();
    assert!(found.lead[0].caveats[0].starts_with("single runs"), "{found:?}");
    assert_eq!(
        found.further[0].text,
        "Over all 3 workloads that they share, nvfp4 has the best decode rate in 2. Beside it, on average: fp8 0.90 and bf16 0.52 times."
    );
}

#[test]
fn other_work_is_named_and_does_not_change_the_figures() {
    let (mut campaign, mut runs) = precisions();
    let before = lead(&campaign, &runs);
    for (arm, decode) in [("bf16", 29.0), ("fp8", 49.0), ("nvfp4", 60.0)] {
        runs.push(pass(arm, "8192", "1", decode, decode));
    }
    campaign.factors.push(factor("isl", &["1024", "8192"], &[]));
    let after = lead(&campaign, &runs);
    assert_eq!(after[0], before[0].replace("one user", "one user with 1024 tokens in and 1024 out"));
    assert_eq!(after[1], before[1].replace("users on", "users on with 1024 tokens in and 1024 out"));
}

#[test]
fn two_files_of_single_runs_are_told_with_both_figures_and_no_proof() {
    let run = |arm: &str, decode: f64| set(run_of(arm, "w", arm, &[("decode_tok_s", decode)]), &[("file", arm)]);
    let runs = [run("before", 94.4), run("after", 61.5)];
    let mut campaign = campaign(vec![factor("file", &["after", "before"], &[])], Some("file"));
    assert_eq!(
        lead(&campaign, &runs),
        ["before is 1.53 times as fast as after, in one run each: 94.4 against 61.5 tok/s decode rate."]
    );
    campaign.baseline = Some("before".into());
    assert_eq!(
        lead(&campaign, &runs),
        ["after is 0.65 times as fast as before, in one run each: 61.5 against 94.4 tok/s decode rate."]
    );
    let near = [run("before", 94.4), run("after", 94.5)];
    assert_eq!(
        lead(&Campaign { baseline: None, ..campaign }, &near),
        ["after and before lie within 0.1 % of each other, in one run each: 94.5 against 94.4 tok/s decode rate."]
    );
}

#[test]
fn of_several_treatments_the_best_combination_is_told_and_which_matters_most() {
    let run = |engine: &str, quantisation: &str, decode: f64| {
        let id = format!("{engine}-{quantisation}");
        set(
            run_of(&id, quantisation, engine, &[("decode_tok_s", decode)]),
            &[("engine", engine), ("quantisation", quantisation)],
        )
    };
    let runs =
        [run("sglang", "bf16", 30.0), run("vllm", "bf16", 33.0), run("sglang", "fp8", 60.0), run("vllm", "fp8", 55.0)];
    let factors = vec![factor("engine", &["sglang", "vllm"], &[]), factor("quantisation", &["bf16", "fp8"], &[])];
    let mut campaign = campaign(factors, Some("engine"));
    campaign.asked.as_mut().unwrap().others = vec!["quantisation".into()];
    assert_eq!(
        lead(&campaign, &runs),
        [
            "The best of 4 combinations is sglang, fp8: 60 tok/s decode rate, in one run each.",
            // Precision: 2.00 and 1.67, so 1.83. Engine: 1.10 and 0.92, so 1.004.
            "Quantisation matters most: fp8 is 1.83 times as fast as bf16 on average. For engine the same ratio is 1.00.",
        ]
    );
    // Whoever asks about one factor is answered about it.
    campaign.asked.as_mut().unwrap().taken = sparkbench_model::Taken::Asked;
    assert_eq!(
        lead(&campaign, &runs)[0],
        "vllm is 1.10 times as fast as sglang, in one run each: 33 against 30 tok/s decode rate."
    );
}

#[test]
fn repeats_are_answered_by_their_verdicts_and_a_ranking_only_where_all_is_shown() {
    let run =
        |id: &str, arm: &str, decode: f64| set(run_of(id, "w", arm, &[("decode_tok_s", decode)]), &[("engine", arm)]);
    let runs = [
        run("a1", "a", 90.0),
        run("a2", "a", 92.0),
        run("b1", "b", 50.0),
        run("b2", "b", 52.0),
        run("c1", "c", 40.0),
        run("c2", "c", 42.0),
    ];
    let campaign = campaign(vec![factor("engine", &["a", "b", "c"], &[])], Some("engine"));
    let shown = |arm: &str, kind| {
        let mut c = comparison(&Metric::find("decode_tok_s").unwrap());
        (c.baseline, c.candidate, c.verdict.kind) = ("a".into(), arm.into(), kind);
        c
    };
    use crate::report::VerdictKind::{Inconclusive, Slower};
    let undecided = [shown("b", Slower), shown("c", Inconclusive)];
    assert_eq!(answer_of(&campaign, &runs, &undecided.iter().collect::<Vec<_>>()), None);
    let decided = [shown("b", Slower), shown("c", Slower)];
    let found = answer_of(&campaign, &runs, &decided.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(
        found.lead[0].text,
        "a is fastest: 91 tok/s decode rate. Then come b with 51 (0.56 times) and c with 41 (0.45 times)."
    );
}

/// A test of llama-bench: prompt or output, at a depth.
fn test(arm: &str, prefill: bool, depth: &str, rate: f64) -> Run {
    let (name, isl, osl) = if prefill { ("pp512", "512", "0") } else { ("tg128", "0", "128") };
    let workload = format!("{name}-d{depth}");
    let id = format!("{arm}-{workload}");
    let metric = if prefill { "prefill_tok_s" } else { "decode_tok_s" };
    let run = run_of(&id, &workload, arm, &[(metric, rate)]);
    set(run, &[("backend", arm), ("isl", isl), ("osl", osl), ("depth", depth), ("concurrency", "1")])
}

#[test]
fn back_ends_are_ranked_in_decode_and_in_prefill_at_both_ends_of_the_depth() {
    let runs: Vec<Run> = [("rocm", 1210.0, 70.0, 402.0, 61.3), ("vulkan", 900.0, 82.1, 350.0, 40.0)]
        .into_iter()
        .flat_map(|(arm, a, b, c, d)| {
            [
                test(arm, true, "0", a),
                test(arm, false, "0", b),
                test(arm, true, "32768", c),
                test(arm, false, "32768", d),
            ]
        })
        .collect();
    let factors = vec![
        factor("backend", &["rocm", "vulkan"], &["file"]),
        factor("isl", &["0", "512"], &["osl"]),
        factor("depth", &["0", "32768"], &[]),
    ];
    let campaign = campaign(factors, Some("backend"));
    assert_eq!(
        lead(&campaign, &runs),
        [
            "At a depth of 0 vulkan is 1.17 times as fast as rocm, in one run each: 82.1 against 70 tok/s decode rate with 128 tokens out.",
            "At a depth of 0 rocm is 1.34 times as fast as vulkan, in one run each: 1210 against 900 tok/s prefill rate with 512 tokens in.",
        ]
    );
    let found = answer_of(&campaign, &runs, &[]).unwrap();
    assert_eq!(
        found.further[0].text,
        "At a depth of 32768 rocm is 1.53 times as fast as vulkan, in one run each: 61.3 against 40 tok/s decode rate with 128 tokens out."
    );
}

#[test]
fn prefill_and_decode_by_depth_give_both_rates_at_both_ends() {
    let runs: Vec<Run> = [("0", 1210.0, 82.1), ("4096", 800.0, 70.0), ("32768", 402.0, 61.3)]
        .into_iter()
        .flat_map(|(depth, a, b)| [test("unlabelled", true, depth, a), test("unlabelled", false, depth, b)])
        .collect();
    let factors = vec![factor("isl", &["0", "512"], &["osl"]), factor("depth", &["0", "4096", "32768"], &[])];
    assert_eq!(
        lead(&campaign(factors, None), &runs),
        [
            "At a depth of 0 the prefill rate is 1210 tok/s and the decode rate 82.1 tok/s. At a depth of 32768 they are 402 tok/s and \
             61.3 tok/s."
        ]
    );
    let flat: Vec<Run> = vec![test("unlabelled", true, "0", 1210.0), test("unlabelled", false, "0", 82.1)];
    let factors = vec![factor("isl", &["0", "512"], &["osl"])];
    assert_eq!(
        lead(&campaign(factors, None), &flat),
        ["The prefill rate is 1210 tok/s with 512 tokens in, and the decode rate is 82.1 tok/s with 128 tokens out."]
    );
}

#[test]
fn the_time_to_the_first_token_grows_with_the_context() {
    // cases/files/03: 121, 411 and 1713 ms.
    let runs: Vec<Run> = [("512", 121.0), ("2048", 411.0), ("8192", 1713.0)]
        .into_iter()
        .map(|(depth, ttft)| set(run_of(depth, depth, "unlabelled", &[("ttft_ms", ttft)]), &[("depth", depth)]))
        .collect();
    assert_eq!(
        lead(&campaign(vec![factor("depth", &["512", "2048", "8192"], &[])], None), &runs),
        ["The time to first token grows from 121 ms at a depth of 512 to 1713 ms at a depth of 8192 (14.2 times)."]
    );
}

fn users(level: &str, output: f64, ttft: f64) -> Run {
    let figures = [("output_throughput_tok_s", output), ("ttft_ms", ttft)];
    set(run_of(level, &format!("c{level}"), "unlabelled", &figures), &[("concurrency", level)])
}

#[test]
fn a_sweep_says_up_to_where_throughput_grows_and_what_a_user_waits_there() {
    let axis = || vec![factor("concurrency", &["4", "16", "64"], &[])];
    let runs = [users("4", 90.0, 300.0), users("16", 260.0, 1078.0), users("64", 210.0, 9000.0)];
    assert_eq!(
        lead(&campaign(axis(), None), &runs),
        [
            "Output throughput grows up to 16 users: from 90 for 4 users to 260 tok/s, and a user waits 1078 ms for the first token."
        ]
    );
    let runs = [users("4", 90.0, 300.0), users("16", 260.0, 1078.0), users("64", 700.0, 2000.0)];
    assert_eq!(
        lead(&campaign(axis(), None), &runs),
        [
            "Output throughput grows up to the most that was tried, 64 users: from 90 for 4 users to 700 tok/s, and a user waits 2000 ms \
          for the first token."
        ]
    );
    let runs = [users("4", 90.0, 300.0), users("16", 80.0, 1078.0), users("64", 70.0, 2000.0)];
    assert_eq!(
        lead(&campaign(axis(), None), &runs),
        [
            "Output throughput is highest for 4 users: 90 tok/s, and a user waits 300 ms for the first token. More at once does not pay."
        ]
    );
}

/// A rate of vllm bench serve: what was asked, requests, duration, mean latency, TTFT, output.
fn rate(asked: f64, requests: f64, seconds: f64, latency_ms: f64, ttft: f64, output: f64) -> Run {
    let setup = Setup { request_rate: Some(asked), ..Setup::default() };
    let figures = [("output_throughput_tok_s", output), ("ttft_ms", ttft), ("e2e_latency_ms", latency_ms)];
    let mut run = measured(&format!("r{asked}"), setup, &figures);
    (run.workload, run.environment) = (format!("r{asked}"), "unlabelled".into());
    let origin = Origin { file: "a".into(), line: None, field: None, rule: "test" };
    run.extras.push(Extra::number("completed", "", requests, None, origin.clone()));
    run.extras.push(Extra::number("duration", "s", seconds, None, origin));
    set(run, &[("request_rate", &asked.to_string())])
}

#[test]
fn a_rate_that_the_server_cannot_follow_is_never_the_headline() {
    let runs = [
        rate(0.5, 125.0, 309.4, 97_400.0, 2_447.0, 198.0),
        rate(0.7, 175.0, 366.0, 140_000.0, 3_901.0, 233.0),
        rate(1.0, 250.0, 461.0, 170_000.0, 34_572.0, 266.0),
    ];
    let campaign = campaign(vec![factor("request_rate", &["0.5", "0.7", "1"], &[])], None);
    assert_eq!(
        lead(&campaign, &runs),
        [
            "The server keeps up with 0.7 requests a second: 233 tok/s output throughput, and a request waits 3901 ms for the first token. \
          At 1 request a second it falls behind."
        ]
    );
    assert_eq!(
        lead(
            &campaign,
            &runs[2..].iter().cloned().chain([rate(2.0, 250.0, 461.0, 170_000.0, 1.0, 300.0)]).collect::<Vec<_>>()
        ),
        ["The server keeps up with none of the loads, not even with 1 request a second."]
    );
}

#[test]
fn a_run_that_failed_is_named_first_and_gives_no_figure() {
    let mut runs = vec![users("4", 90.0, 300.0), users("16", 260.0, 1078.0), users("64", 999.0, 1.0)];
    runs[2].status = Status::Failed("exit status 1".into());
    let campaign = campaign(vec![factor("concurrency", &["4", "16", "64"], &[])], None);
    assert_eq!(
        lead(&campaign, &runs),
        [
            "Run 64 is left out, because it failed: exit status 1.",
            "Output throughput grows up to the most that was tried, 16 users: from 90 for 4 users to 260 tok/s, and a user waits 1078 ms \
             for the first token.",
        ]
    );
}

#[test]
fn a_long_reason_ends_at_a_colon_or_a_word() {
    let why = "it failed: engine did not start: RuntimeError: cutlass_gemm_caller, /workspace/csrc/libtorch_stable";
    assert_eq!(short(why), "it failed: engine did not start: RuntimeError");
    let why = "its load is not valid: the shortest duration that the rules allow was not reached";
    assert_eq!(short(why), "its load is not valid: the shortest duration that the rules");
}

#[test]
fn levels_that_are_numbers_carry_the_name_of_their_setting_and_memory_has_no_winner() {
    let run = |level: &str, gib: f64| {
        set(run_of(level, "w", level, &[("kv_cache_gib", gib)]), &[("memory_utilisation", level)])
    };
    let runs = [run("0.25", 4.5), run("0.5", 24.25)];
    let campaign = campaign(vec![factor("memory_utilisation", &["0.25", "0.5"], &[])], Some("memory_utilisation"));
    assert_eq!(
        lead(&campaign, &runs),
        ["KV cache is 4.5 GiB with memory utilisation 0.25, 24.2 with 0.5, in one run each."]
    );
}

#[test]
fn repeats_of_one_setting_and_cases_without_a_layout_have_no_answer_by_design() {
    let mut runs =
        vec![run_of("a", "w", "native", &[("ttft_ms", 1.0)]), run_of("b", "w", "native", &[("ttft_ms", 2.0)])];
    assert_eq!(answer_of(&campaign(Vec::new(), None), &runs, &[]), None);
    for run in &mut runs {
        run.cell = "x".into();
    }
    assert_eq!(answer_of(&campaign(Vec::new(), None), &runs, &[]), None);
}
