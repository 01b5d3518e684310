use super::*;
use sparkbench_model::{Instant, Source, Status};

const START: i64 = 1_800_000_000_000;

fn run(samples: Vec<Sample>) -> Run {
    Run {
        id: "r".into(),
        campaign: "c".into(),
        environment: "native".into(),
        model: "m".into(),
        workload: "w".into(),
        status: Status::Done,
        telemetry: samples,
        source: Source { path: "r.json".into(), format: "run".into(), sha256: String::new(), joined: None },
        files: vec![Source {
            path: "r_gpu.csv".into(),
            format: "nvidia-smi-csv".into(),
            sha256: String::new(),
            joined: None,
        }],
        ..Run::default()
    }
}

/// One sample a second: idle for 10 s, at work for `work` s, idle for 10 s.
fn course(start: i64, work: i64) -> Vec<Sample> {
    (0..20 + work)
        .map(|k| {
            let busy = (10..10 + work).contains(&k);
            Sample {
                gpu_util_pct: Some(if busy { 96.0 } else { 0.0 }),
                power_w: Some(if busy { 90.0 + (k % 2) as f64 * 2.0 } else { 10.0 }),
                sm_clock_mhz: Some(if busy { 2400.0 } else { 208.0 }),
                ..Sample::new(Instant(start + k * 1000))
            }
        })
        .collect()
}

fn seconds(at: i64) -> Option<Instant> {
    Some(Instant(START + at * 1000))
}

fn extra(run: &Run, name: &str) -> Option<f64> {
    run.extras.iter().find(|extra| extra.name == name).and_then(Extra::as_number)
}

#[test]
fn the_window_is_the_measured_one_then_start_to_end_then_work() {
    let mut all = run(course(START, 20));
    (all.started, all.ended) = (seconds(8), seconds(31));
    all.measured = seconds(12).zip(seconds(28));
    let of = |run: &Run| window(run).map(|found| (found.from, found.to, found.cut));
    assert_eq!(of(&all), Some((12.0, 28.0, Cut::Measured)));
    all.measured = None;
    assert_eq!(of(&all), Some((8.0, 31.0, Cut::StartToEnd)));
    // Another zone: the two clocks do not meet.
    (all.started, all.ended) = (seconds(7208), seconds(7231));
    assert_eq!(of(&all), Some((10.0, 29.0, Cut::Busy)));
    all.telemetry.iter_mut().for_each(|sample| sample.gpu_util_pct = None);
    assert_eq!(of(&all), None, "neither times nor utilisation");
}

#[test]
fn power_energy_clock_and_utilisation_come_by_hand() {
    let mut all = run(course(START, 20));
    all.measured = seconds(12).zip(seconds(28));
    (all.setup.requests, all.setup.osl) = (Some(10.0), Some(100.0));
    of_samples(&mut all, false);
    // Watts alternate between 90 and 92, so every trapezoid is 91.
    assert_eq!(all.value("power_w"), Some(91.0));
    assert_eq!((all.value("gpu_util_pct"), all.value("sm_clock_mhz")), (Some(96.0), Some(2400.0)));
    assert_eq!(
        (extra(&all, "energy"), all.value("energy_j_per_token")),
        (Some(91.0 * 16.0), Some(91.0 * 16.0 / 1000.0))
    );
    assert_eq!(extra(&all, "power before the run"), Some((10.0 * 10.0 + 90.0 + 92.0) / 12.0));
    let origin = &all.reading("power_w").unwrap().origin;
    assert_eq!((origin.file.as_str(), origin.rule), ("r_gpu.csv", RULE));
    assert!(
        origin.field.as_deref().unwrap().contains("17 samples, 100 % covered, by the measured window"),
        "{origin:?}"
    );
}

#[test]
fn a_reported_figure_is_never_replaced() {
    let mut all = run(course(START, 20));
    all.measured = seconds(12).zip(seconds(28));
    let origin = Origin { file: "x".into(), line: None, field: None, rule: "source" };
    all.readings.push(Reading { metric: "power_w".into(), value: 55.0, decimals: None, origin });
    of_samples(&mut all, false);
    assert_eq!(all.value("power_w"), Some(55.0));
    assert_eq!(all.readings.iter().filter(|reading| reading.metric == "power_w").count(), 1);
}

#[test]
fn what_samples_cannot_carry_is_absent_and_says_why() {
    // Three samples of a window of three seconds.
    let mut few = run(course(START, 20));
    few.measured = seconds(12).zip(seconds(14));
    of_samples(&mut few, false);
    assert_eq!(few.value("power_w"), None);
    // Half of the window lies behind the last sample.
    let mut short = run(course(START, 20));
    short.measured = seconds(20).zip(seconds(60));
    of_samples(&mut short, false);
    assert_eq!((short.value("power_w"), short.value("energy_j_per_token")), (None, None));
    let why = short.extras.iter().find(|extra| extra.name == "no mean power").unwrap();
    assert!(format!("{:?}", why.value).contains("48 % of the window covered"), "{why:?}");
    // Four times a second over one second, and the driver refreshed once.
    let quick = (0..6)
        .map(|k| Sample { power_w: Some(if k < 3 { 20.0 } else { 30.0 }), ..Sample::new(Instant(START + k * 250)) });
    let mut quick = run(quick.collect());
    quick.measured = Some((Instant(START), Instant(START + 1250)));
    of_samples(&mut quick, false);
    assert_eq!(quick.value("power_w"), None, "six rows, two readings");
}

#[test]
fn the_counter_goes_before_the_sum_of_power() {
    let mut samples = course(START, 20);
    for (k, sample) in samples.iter_mut().enumerate() {
        sample.energy_j = Some(5_000_000.0 + 100.0 * k as f64);
    }
    let mut all = run(samples);
    all.measured = seconds(12).zip(seconds(28));
    all.setup.requests = Some(16.0);
    all.setup.osl = Some(1.0);
    of_samples(&mut all, false);
    assert_eq!(
        (extra(&all, "energy"), all.value("energy_j_per_token"), all.value("power_w")),
        (Some(1600.0), Some(100.0), Some(91.0))
    );
}

#[test]
fn tokens_by_throughput_only_where_the_window_is_that_of_the_work() {
    let rate = |run: &mut Run| {
        let origin = Origin { file: "x".into(), line: None, field: None, rule: "source" };
        run.readings.push(Reading { metric: "output_throughput_tok_s".into(), value: 10.0, decimals: None, origin });
    };
    let mut measured = run(course(START, 20));
    measured.measured = seconds(12).zip(seconds(28));
    rate(&mut measured);
    of_samples(&mut measured, false);
    assert!((measured.value("energy_j_per_token").unwrap() - 9.1).abs() < 1e-12);
    let mut loading = run(course(START, 20));
    (loading.started, loading.ended) = (seconds(1), seconds(38));
    rate(&mut loading);
    of_samples(&mut loading, false);
    assert_eq!(loading.value("energy_j_per_token"), None, "loading lies in it");
    assert!(loading.value("power_w").is_some());
}

#[test]
fn seconds_elapsed_are_cut_by_work_and_runs_of_one_launch_share_their_figures() {
    let mut elapsed = run(course(0, 20));
    (elapsed.started, elapsed.ended) = (seconds(0), seconds(40));
    of_samples(&mut elapsed, false);
    assert_eq!(window(&elapsed).unwrap().cut, Cut::Busy);
    assert!(elapsed.value("power_w").unwrap() > 90.0);
    let mut launch: Vec<Run> = (0..2).map(|_| Run { together: Some("l".into()), ..run(course(START, 20)) }).collect();
    assert_eq!(shared(&launch), [2, 2]);
    launch.iter_mut().for_each(|run| of_samples(run, true));
    assert!(launch.iter().all(|run| run.readings.is_empty() && extra(run, "power_w of the launch").is_some()));
}

#[test]
fn throttling_is_told_in_stretches_of_time() {
    let mut samples = course(START, 20);
    for (k, sample) in samples.iter_mut().enumerate() {
        sample.throttle_bits = Some(match k {
            15 | 16 => 0x20,
            20 => 0x08 | 0x40,
            25 => 0x04,
            _ => 0,
        });
    }
    let mut all = run(samples);
    all.measured = seconds(12).zip(seconds(28));
    let found = window(&all).unwrap();
    assert_eq!(intervals(&all, &found, SLOWDOWN_BITS), Some(vec![(15.0, 17.0), (20.0, 21.0)]));
    assert_eq!((held(&all, &found, SLOWDOWN_BITS), held(&all, &found, 0x04)), (Some(3.0), Some(1.0)));
    of_samples(&mut all, false);
    assert_eq!(extra(&all, "clock held by software thermal slowdown"), Some(2.0));
    let untold = run(course(START, 20));
    assert_eq!(intervals(&untold, &window(&untold).unwrap(), SLOWDOWN_BITS), None);
}
