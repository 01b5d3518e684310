//! Sweeps, fronts, grids, parts of memory and engines of campaigns made by hand.

use super::frontier::front;
use super::naming::{labels, slug};
use super::report;
use super::shape::clusters;
use crate::Settings;
use crate::case::Case;
use crate::memory::Memory;
use crate::report::across::Agreeing;
use crate::report::{Across, VerdictKind};
use crate::testing::measured;
use sparkbench_model::{Campaign, Extra, ExtraValue, Facts, Origin, Run, Setup, Status, known_extra};

fn settings() -> Settings {
    Settings { confidence: 0.95, resamples: 999, seed: 42, baseline: None, margins_pct: Default::default() }
}

/// One run of a cell: workload, engine, batch, lengths, figures.
fn run(
    id: &str,
    workload: &str,
    engine: &str,
    batch: Option<f64>,
    lengths: (f64, f64),
    figures: &[(&str, f64)],
) -> Run {
    let setup = Setup {
        machine: Some("Box 9".into()),
        model_id: Some("org/model".into()),
        engine: Some(engine.into()),
        engine_version: Some("1.0".into()),
        batch,
        isl: Some(lengths.0),
        osl: Some(lengths.1),
        ..Setup::default()
    };
    Run { workload: workload.into(), environment: engine.into(), ..measured(id, setup, figures) }
}

fn seen(runs: &[Run]) -> Across {
    let campaign = Campaign { name: "c".into(), ..Campaign::default() };
    let facts = Facts::default();
    let case = Case::of_runs(&campaign, runs.iter().collect(), &facts);
    report(&[case], &Memory::none().round(&settings()))
}

const OUT: &str = "output_throughput_tok_s";

#[test]
fn cells_of_one_shape_at_several_loads_are_a_line_in_order_of_load() {
    let mut runs = Vec::new();
    for (batch, rate) in [(16.0, 900.0), (1.0, 100.0), (4.0, 350.0)] {
        for k in 0..3 {
            let figures = [(OUT, rate + f64::from(k)), ("tpot_ms", 10.0), ("ttft_ms", 20.0 * batch)];
            runs.push(run(&format!("{batch}-{k}"), &format!("b{batch}"), "one", Some(batch), (128.0, 64.0), &figures));
        }
    }
    // Another length is another shape, and alone it is no sweep.
    runs.push(run("x", "long", "one", Some(4.0), (128.0, 640.0), &[(OUT, 5.0)]));
    let across = seen(&runs);
    assert_eq!(across.sweeps.len(), 1);
    let line = &across.sweeps[0].lines[0];
    assert_eq!(line.points.iter().map(|p| p.load).collect::<Vec<_>>(), [1.0, 4.0, 16.0]);
    let point = line.points[1].output_tok_s.unwrap();
    assert_eq!((point.n, point.mean), (3, 351.0));
    assert!(point.low.is_some_and(|low| low < 351.0) && point.high.is_some_and(|high| high > 351.0));
    assert_eq!(line.points[0].user_tok_s.unwrap().mean, 100.0);
    assert!(across.sweeps[0].finding.contains(", the last load"), "{}", across.sweeps[0].finding);
    // TTFT grows with the output, so every point is on that front. At one TPOT only the highest output is.
    let best = |x: &str| -> Vec<bool> {
        across.frontiers.iter().find(|f| f.x == x).unwrap().points.iter().map(|p| p.best).collect()
    };
    assert_eq!(best("ttft_ms"), [true, true, true]);
    assert_eq!(best("user_tok_s"), [false, false, true]);
    assert!(!across.frontiers.iter().any(|f| f.x == "e2e_latency_ms"), "nobody reports it");
}

#[test]
fn a_load_that_only_the_label_says_counts_and_lengths_of_one_label_belong_together() {
    let runs = [
        run("a", "chat-512-c8", "one", None, (500.0, 100.0), &[(OUT, 80.0)]),
        run("b", "chat-512-c16", "one", None, (540.0, 100.0), &[(OUT, 150.0)]),
    ];
    let across = seen(&runs);
    assert_eq!(across.sweeps.len(), 1);
    assert_eq!(across.sweeps[0].length_spread_pct.round(), 8.0);
    assert!(across.sweeps[0].finding.contains("2 points of a single run"), "{}", across.sweeps[0].finding);
    // Without a common label such lengths are two shapes.
    let apart = [
        run("a", "first", "one", Some(8.0), (500.0, 100.0), &[(OUT, 80.0)]),
        run("b", "second", "one", Some(16.0), (540.0, 100.0), &[(OUT, 150.0)]),
    ];
    assert!(seen(&apart).sweeps.is_empty());
}

#[test]
fn a_load_measured_twice_begins_a_further_line_and_one_point_is_none() {
    let at = |id: &str, workload: &str, batch: f64| {
        run(id, workload, "one", Some(batch), (128.0, 64.0), &[(OUT, 10.0 * batch)])
    };
    let runs = [at("a", "p", 1.0), at("b", "q", 1.0), at("c", "r", 2.0), at("d", "s", 2.0), at("e", "t", 4.0)];
    let lines = &seen(&runs).sweeps[0].lines;
    assert_eq!(lines.iter().map(|l| l.points.len()).collect::<Vec<_>>(), [3, 2]);
    assert_ne!(lines[0].label, lines[1].label);
}

#[test]
fn cells_of_two_campaigns_share_a_sweep_only_where_their_machine_is_named() {
    let at = |campaign: &str, batch: f64, machine: Option<&str>| {
        let mut run = run(campaign, "w", "one", Some(batch), (128.0, 64.0), &[(OUT, 10.0 * batch)]);
        run.setup.machine = machine.map(str::to_owned);
        Run { id: format!("{campaign}{batch}"), campaign: campaign.into(), workload: format!("b{batch}"), ..run }
    };
    let sweeps = |machine: Option<&str>| {
        let runs = [at("c", 1.0, machine), at("c", 2.0, machine), at("d", 1.0, machine), at("d", 4.0, machine)];
        let campaigns = ["c", "d"].map(|name| Campaign { name: name.into(), ..Campaign::default() });
        let facts = Facts::default();
        let cases: Vec<Case<'_>> = campaigns
            .iter()
            .map(|campaign| {
                let own = runs.iter().filter(|run| run.campaign == campaign.name).collect();
                Case::of_runs(campaign, own, &facts)
            })
            .collect();
        report(&cases, &Memory::none().round(&settings()))
            .sweeps
            .iter()
            .map(|sweep| sweep.lines.len())
            .collect::<Vec<_>>()
    };
    assert_eq!(sweeps(Some("Box 9")), [2]);
    assert_eq!(sweeps(None), [1, 1]);
}

#[test]
fn a_front_holds_what_nothing_beats_both_ways() {
    let points = [(1.0, 9.0, 0), (5.0, 5.0, 0), (4.0, 4.0, 0), (9.0, 1.0, 0), (9.0, 1.0, 0), (0.5, 0.5, 1)];
    assert_eq!(
        front(&points),
        [true, true, false, true, true, true],
        "equal points share the front; classes do not meet"
    );
    assert_eq!(front(&[]), Vec::<bool>::new());
}

#[test]
fn a_grid_needs_two_shapes_and_shows_the_best_of_several_loads() {
    let runs = [
        run("a", "p", "one", Some(1.0), (128.0, 64.0), &[(OUT, 10.0)]),
        run("b", "q", "one", Some(8.0), (128.0, 64.0), &[(OUT, 70.0)]),
        run("c", "r", "one", Some(8.0), (129.0, 640.0), &[(OUT, 60.0)]),
    ];
    let across = seen(&runs);
    let grid = &across.grids[0];
    assert_eq!((grid.isl.len(), grid.osl.as_slice()), (1, &[64.0, 640.0][..]), "129 is within 2 % of 128");
    assert_eq!((grid.squares[0].batch, grid.squares[0].loads, grid.squares[0].output_tok_s.mean), (Some(8.0), 2, 70.0));
    assert!(seen(&runs[..2]).grids.is_empty());
}

#[test]
fn parts_of_memory_that_exceed_the_peak_leave_no_rest_and_say_so() {
    let memory = |id: &str, peak: f64| {
        let figures = [("model_memory_gib", 10.0), ("kv_cache_gib", 5.0), ("peak_memory_gib", peak)];
        run(id, "w", "one", Some(1.0), (1.0, 1.0), &figures)
    };
    let arm = |runs: &[Run]| seen(runs).memory_stacks[0].arms[0].clone();
    let sound = arm(&[memory("a", 17.0), memory("b", 19.0)]);
    assert_eq!(sound.rest_gib.unwrap().mean, 3.0);
    assert!(sound.notes.is_empty());
    let broken = arm(&[memory("a", 17.0), memory("b", 12.0)]);
    assert!(broken.rest_gib.is_none());
    assert_eq!(broken.notes, ["weights and KV cache exceed the peak in 1 of 2 runs"]);
    let absent = arm(&[run("a", "w", "one", Some(1.0), (1.0, 1.0), &[("kv_cache_gib", 5.0)])]);
    assert_eq!((absent.whole_is, absent.rest_gib), (None, None));
    assert_eq!(absent.notes, ["weights and peak not reported"]);
    assert!(seen(&[run("a", "w", "one", Some(1.0), (1.0, 1.0), &[(OUT, 1.0)])]).memory_stacks.is_empty());
}

#[test]
fn engines_with_the_same_work_are_compared_by_the_rules_and_a_setting_that_differs_forbids_it() {
    let mut runs = Vec::new();
    for (engine, rate) in [("one", 100.0), ("two", 80.0)] {
        for k in 0..5 {
            let rate = rate + 0.1 * f64::from(k);
            runs.push(run(&format!("{engine}{k}"), "w", engine, Some(8.0), (128.0, 64.0), &[(OUT, rate)]));
        }
    }
    let across = seen(&runs);
    let table = &across.engines[0];
    assert_eq!(table.rows.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(table.comparisons[0].verdict.kind, VerdictKind::Slower, "{}", table.comparisons[0].verdict.text);
    for run in runs.iter_mut().filter(|run| run.environment == "two") {
        run.setup.quantisation = Some("fp8".into());
    }
    for run in runs.iter_mut().filter(|run| run.environment == "one") {
        run.setup.quantisation = Some("bf16".into());
    }
    let verdict = seen(&runs).engines[0].comparisons[0].verdict.clone();
    assert_eq!(verdict.kind, VerdictKind::NotComparable);
    assert!(verdict.reasons.contains(&"C2".to_owned()), "{:?}", verdict.reasons);
    // Another environment is another question.
    for (k, run) in runs.iter_mut().enumerate() {
        run.setup.quantisation = None;
        run.environment = if k < 5 { "native" } else { "container" }.into();
    }
    let verdict = seen(&runs).engines[0].comparisons[0].verdict.clone();
    assert!(verdict.text.contains("the environment differs: native against container"), "{}", verdict.text);
    for run in &mut runs {
        run.environment = Campaign::UNLABELLED.into();
        // Separate cells: rows that no label distinguishes are one cell.
        run.workload = run.setup.engine.clone().unwrap_or_default();
    }
    let verdict = seen(&runs).engines[0].comparisons[0].verdict.clone();
    assert_eq!(verdict.kind, VerdictKind::Slower, "what both leave untold forbids nothing: {}", verdict.text);
    assert!(verdict.text.contains("environment not told"), "{}", verdict.text);
    for run in &mut runs {
        run.environment = run.setup.engine.clone().unwrap_or_default();
    }
    let alone: Vec<Run> = runs.into_iter().filter(|run| run.environment == "one").collect();
    assert!(seen(&alone).engines.is_empty());
}

#[test]
fn nothing_gives_nothing() {
    let across = report(&[], &Memory::none().round(&settings()));
    assert!(across.places.is_empty() && across.sweeps.is_empty() && across.rooflines.is_empty());
}

#[test]
fn lengths_within_two_per_cent_are_one() {
    assert_eq!(clusters(&[Some(100.0), Some(102.0), Some(102.1), None]), [Some(0), Some(0), Some(1), None]);
    assert_eq!(clusters(&[Some(0.0), Some(0.0), Some(5.0)]), [Some(0), Some(0), Some(1)]);
}

#[test]
fn labels_hold_what_differs() {
    let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned(), "same".to_owned()];
    assert_eq!(labels(&[row("x", "1"), row("y", "1")]), ["x", "y"]);
    assert_eq!(labels(&[row("x", "1"), row("y", "2")]), ["x", "y"], "one part is enough");
    assert_eq!(labels(&[row("x", "1"), row("x", "2")]), ["x, 1", "x, 2"]);
    assert_eq!(labels(&[row("x", "1")]), ["x"]);
    assert_eq!(labels(&[]), Vec::<String>::new());
    assert_eq!(slug(&["", "A b/C", "é"]), "a-b-c");
}

/// Rounds of several clients against one server: what each says of it, by client, load and round.
fn clients(of: impl Fn(&str, f64, u32) -> f64) -> Vec<Run> {
    let mut runs = Vec::new();
    for round in 1..=10 {
        for tool in ["plain", "same", "long"] {
            for load in [1.0, 8.0] {
                let (id, workload) = (format!("{tool}-{load}-{round}"), format!("c{load}"));
                let figures = [("ttft_ms", of(tool, load, round))];
                let mut own = run(&id, &workload, "vLLM", Some(load), (128.0, 64.0), &figures);
                own.setup.tool = Some(tool.to_owned());
                own.environment = tool.to_owned();
                own.setup.requests = Some(10.0);
                own.repeat = Some(round);
                own.block = Some(2 * round + u32::from(load > 1.0));
                runs.push(own);
            }
        }
    }
    runs
}

fn wobble(load: f64, round: u32) -> f64 {
    // What the server does in a round is the same for all clients.
    load * (20.0 + f64::from(round % 4))
}

fn agreeing(runs: &[Run], campaign: &Campaign) -> Across {
    let facts = Facts::default();
    let case = Case::of_runs(campaign, runs.iter().collect(), &facts);
    report(&[case], &Memory::none().round(&settings()))
}

#[test]
fn clients_of_one_server_are_held_against_the_reference_round_by_round() {
    let runs = clients(|tool, load, round| {
        let noise = 1.0 + 0.001 * f64::from(round % 3);
        wobble(load, round) * noise * if tool == "long" { 1.2 } else { 1.0 }
    });
    let campaign = Campaign { name: "c".into(), baseline: Some("plain".into()), ..Campaign::default() };
    let across = agreeing(&runs, &campaign);
    let [table] = across.agreements.as_slice() else { panic!("{:?}", across.agreements) };
    assert_eq!(table.reference.as_deref(), Some("plain"));
    assert_eq!(table.clients.len(), 3);
    let [metric] = table.metrics.as_slice() else { panic!("{:?}", table.metrics) };
    let of = |client: &str| metric.pairs.iter().find(|pair| pair.client == client).unwrap();
    let (same, long) = (of("same"), of("long"));
    assert_eq!((same.rounds, same.pairs, same.kind), (10, 20, Agreeing::Interchangeable));
    assert!((long.bias_pct - 20.0).abs() < 1e-9 && long.kind == Agreeing::Apart, "{long:?}");
    assert_eq!(long.by_load.iter().map(|(load, _)| load.as_str()).collect::<Vec<_>>(), ["c1", "c8"]);
    assert_eq!(long.points[0].reference_run.as_deref(), Some("plain-1-1"));
    assert!(long.sentence.contains("may not be compared with plain"), "{}", long.sentence);
    assert_eq!(
        table.said,
        [
            "Of 2 figures that 2 load clients share with plain, 1 agrees in each run and 1 differs by more than the margin. Farthest from plain: time to first token by long, +20 %."
        ]
    );
}

#[test]
fn a_client_costs_its_processor_time_over_all_loads_of_a_round_and_the_engine_is_what_all_name() {
    let mut runs = clients(|_, load, round| wobble(load, round));
    for run in &mut runs {
        // One second a run, whatever it sends: mostly its start.
        run.setup.requests = run.setup.batch.map(|batch| 10.0 * batch);
        run.extras.push(Extra {
            name: known_extra::PROCESSOR_S.into(),
            unit: "s".into(),
            value: ExtraValue::Number(1.0),
            why: None,
            origin: Origin { file: String::new(), line: None, field: None, rule: "test" },
        });
    }
    let campaign = Campaign { name: "c".into(), baseline: Some("plain".into()), ..Campaign::default() };
    let table = &agreeing(&runs, &campaign).agreements[0];
    let cost = table.clients[0].cpu_s_per_1k_tok.as_ref().unwrap();
    assert_eq!((cost.n, (cost.mean * 64.0 * 90.0 / 2000.0 - 1.0).abs() < 1e-9), (10, true), "{cost:?}");
    assert_eq!(table.engine.as_deref(), Some("vLLM"));
    for run in runs.iter_mut().filter(|run| run.environment == "long") {
        run.setup.engine = None;
    }
    assert_eq!(agreeing(&runs, &campaign).agreements[0].engine, None);
}

#[test]
fn a_server_that_was_told_how_fast_to_be_is_the_truth_for_every_client() {
    let runs = clients(|tool, load, round| if tool == "long" { 30.0 + f64::from(round) * load } else { 20.0 });
    let truth = [("ttft_ms".to_owned(), 20.0)].into();
    let campaign = Campaign { name: "c".into(), baseline: Some("plain".into()), truth, ..Campaign::default() };
    let across = agreeing(&runs, &campaign);
    let pairs = &across.agreements[0].metrics[0].pairs;
    let names: Vec<_> = pairs.iter().map(|pair| (pair.client.as_str(), pair.against.as_str())).collect();
    assert_eq!(names, [("long", "truth"), ("plain", "truth"), ("same", "truth"), ("long", "plain"), ("same", "plain")]);
    assert_eq!((pairs[1].bias_pct, pairs[1].kind), (0.0, Agreeing::Interchangeable));
    assert!(pairs[1].points.iter().all(|point| point.reference_run.is_none()));
    assert!(pairs[1].sentence.starts_with("plain is right: "), "{}", pairs[1].sentence);
    assert!(pairs[0].sentence.contains("off by"), "{}", pairs[0].sentence);
    assert_eq!(across.agreements[0].said.len(), 2);
}

#[test]
fn a_failed_run_is_in_no_pair_and_one_round_or_one_client_decides_nothing() {
    let mut runs = clients(|_, load, round| wobble(load, round));
    runs[0].status = Status::Failed("it fell".into());
    let campaign = Campaign { name: "c".into(), baseline: Some("plain".into()), ..Campaign::default() };
    let pairs = &agreeing(&runs, &campaign).agreements[0].metrics[0].pairs;
    assert!(pairs.iter().all(|pair| pair.pairs == 19), "the pair of that run is gone");
    let one: Vec<Run> =
        clients(|_, load, round| wobble(load, round)).into_iter().filter(|run| run.repeat == Some(1)).collect();
    let pair = &agreeing(&one, &campaign).agreements[0].metrics[0].pairs[0];
    assert_eq!((pair.kind, pair.bias), (Agreeing::Undecided, None));
    assert!(pair.sentence.contains("single round"), "{}", pair.sentence);
    let alone: Vec<Run> = runs.into_iter().filter(|run| run.environment == "plain").collect();
    assert!(agreeing(&alone, &campaign).agreements.is_empty());
}
