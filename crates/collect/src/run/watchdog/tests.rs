//! Watchdogs on replayed runs: figures of published and recorded machines, and cases without an alarm.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use super::{WATCHDOGS, Watch};
use crate::run::Row;
use crate::run::testing::{Fake, Machine, idle_spark, meminfo};
use sparkbench_host::Host as _;
use sparkbench_host::gpu::GpuSample;
use sparkbench_host::replay::Replay;
use sparkbench_host::sample::{HostSample, TreeSample};
use sparkbench_model::{Finding, Level};
use sparkbench_plan::Watchdogs;

/// A Spark that decodes. Source: Blackwellboy/model-serving-minefield, trap 124.
fn busy() -> GpuSample {
    GpuSample {
        util_pct: Some(96.0),
        power_w: Some(92.0),
        temp_c: Some(60.0),
        sm_clock_mhz: Some(2405.0),
        pstate: Some(0),
        throttle_bits: Some(0),
        ..idle_spark()
    }
}

fn row(second: u32, gpu: Option<GpuSample>) -> Row {
    let host = HostSample {
        memory_available_mib: Some(60.0 * 1024.0),
        pressure_memory_pct: Some(0.4),
        ..HostSample::default()
    };
    let tree = TreeSample { cgroup_oom_kills: Some(3), cgroup_cpu_throttled: Some(40), ..TreeSample::default() };
    let now = Machine::spark().host;
    Row { utc: now.utc(), monotonic_s: 1000.0 + f64::from(second), gpu, host, tree }
}

/// One row a second, the GPU as told.
fn rows(seconds: u32, gpu: impl Fn(u32) -> GpuSample) -> Vec<Row> {
    (0..seconds).map(|second| row(second, Some(gpu(second)))).collect()
}

struct Course {
    machine: Machine,
    settings: Watchdogs,
}

impl Course {
    fn new(machine: Machine) -> Self {
        Self { machine, settings: Watchdogs::default() }
    }

    fn on(change: impl FnOnce(Replay) -> Replay) -> Self {
        Self::new(Machine::spark().on(change))
    }

    fn set(mut self, change: impl FnOnce(&mut Watchdogs)) -> Self {
        change(&mut self.settings);
        self
    }

    /// A run of one tick a second over these rows: the first stop with its second, and the findings at the end.
    fn run(&self, rows: &[Row]) -> (Option<(usize, Finding)>, BTreeMap<String, Finding>) {
        let (host, gpu) = (&self.machine.host, self.machine.gpu.as_ref());
        let mut watch = Watch::begin(host, gpu, &self.settings);
        let mut stop = None;
        for second in 0..rows.len().max(1) {
            host.advance(Duration::from_secs(1));
            let new = rows.get(second..=second).unwrap_or_default();
            if let Some(finding) = watch.tick(host, gpu, new) {
                stop = stop.or(Some((second, finding)));
            }
        }
        let findings = watch.end(host, gpu);
        let names: Vec<&str> = findings.iter().map(|finding| finding.gate.as_str()).collect();
        assert_eq!(names, WATCHDOGS.iter().map(|kind| kind.name).collect::<Vec<_>>());
        for finding in &findings {
            assert_eq!(finding.remedy.is_some(), finding.level != Level::Passed, "{finding:?}");
            assert!(finding.at_utc.is_some(), "{finding:?}");
        }
        (stop, findings.into_iter().map(|finding| (finding.gate.clone(), finding)).collect())
    }
}

/// The finding of one watchdog after a run that was not stopped.
fn at_end(course: &Course, rows: &[Row], name: &str) -> Finding {
    let (stop, mut findings) = course.run(rows);
    assert_eq!(stop, None);
    findings.remove(name).unwrap()
}

#[test]
fn a_healthy_run_alarms_nobody() {
    let (stop, findings) = Course::new(Machine::spark()).run(&rows(120, |_| busy()));
    assert_eq!(stop, None);
    for finding in findings.values() {
        // This driver has no counters.
        let level = if finding.gate == "throttle-time" { Level::NotAvailable } else { Level::Passed };
        assert_eq!(finding.level, level, "{finding:?}");
    }
    assert_eq!(findings["clock-sag"].reading, "SM 2405 to 2405 MHz at full use");
    assert_eq!(findings["time-limit"].value, Some(120.0));
}

#[test]
fn a_run_without_any_sample_says_so_of_every_reading() {
    let machine = Machine { host: Replay::new(), ..Machine::without_gpu() };
    let (stop, findings) = Course::new(machine).run(&[]);
    assert_eq!(stop, None);
    for finding in findings.values() {
        let level = if finding.gate == "time-limit" { Level::Passed } else { Level::NotAvailable };
        assert_eq!(finding.level, level, "{finding:?}");
    }
}

#[test]
fn names_of_watchdogs_are_stable_words_and_none_stands_twice() {
    let names: BTreeSet<&str> = WATCHDOGS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), WATCHDOGS.len());
}

#[test]
fn memory_below_the_floor_ends_the_run_at_once() {
    let course = Course::on(|host| host.file_at("/proc/meminfo", Machine::at(8), meminfo(0.4, 3.2, 0.1)));
    let (stop, findings) = course.run(&rows(20, |_| busy()));
    let (second, finding) = stop.unwrap();
    assert_eq!((second, finding.gate.as_str(), finding.level), (7, "memory-floor", Level::Refused));
    assert!(finding.reading.contains("3.20 GiB"), "{}", finding.reading);
    assert_eq!(findings["memory-floor"], finding, "the finding stays in the archive");
    // A line of telemetry alone will do.
    let mut low = rows(3, |_| busy());
    low[1].host.memory_available_mib = Some(3.9 * 1024.0);
    assert_eq!(Course::new(Machine::spark()).run(&low).0.unwrap().0, 1);
    let off = Course::new(Machine::spark()).set(|settings| settings.memory_floor_gib = None);
    let finding = at_end(&off, &low, "memory-floor");
    assert_eq!((finding.level, finding.value), (Level::NotAvailable, Some(3.9)));
}

#[test]
fn the_time_limit_ends_the_run() {
    let course = Course::new(Machine::spark()).set(|settings| settings.time_limit_s = 30.0);
    let (second, finding) = course.run(&rows(40, |_| busy())).0.unwrap();
    assert_eq!((second, finding.gate.as_str(), finding.value), (30, "time-limit", Some(31.0)));
    assert_eq!(at_end(&course, &rows(30, |_| busy()), "time-limit").level, Level::Passed);
}

#[test]
fn an_xid_ends_the_run_and_is_named() {
    let line = "NVRM: Xid (PCI:000f:01:00): 79, GPU has fallen off the bus.";
    let course = Course::on(|host| host.kernel(&[(Machine::at(5), line)]));
    let (second, finding) = course.run(&rows(20, |_| busy())).0.unwrap();
    assert_eq!((second, finding.gate.as_str()), (4, "driver-faults"));
    assert!(finding.reading.starts_with("Xid 79, GPU has fallen off the bus: NVRM:"), "{}", finding.reading);
    assert_eq!(finding.value, Some(79.0));
}

#[test]
fn an_xid_of_another_gpu_and_a_line_of_the_driver_are_marks() {
    let lines = [
        (Machine::at(2), "usb 1-1: new device"),
        (Machine::at(5), "NVRM: Xid (PCI:0000:2b:00): 13, Graphics Exception"),
        (Machine::at(6), "NVRM: knvlinkDiscoverPostRxDetLinks_GH100: Getting peer failed"),
        (Machine::at(7), "Out of memory: Killed process 4711 (firefox) total-vm:1kB"),
        (Machine::at(8), "NVRM: again"),
    ];
    let course = Course::on(|host| host.kernel(&lines));
    let finding = at_end(&course, &rows(20, |_| busy()), "driver-faults");
    assert_eq!((finding.level, finding.value), (Level::Warned, Some(4.0)));
    assert!(finding.reading.starts_with("on another GPU: Xid 13"), "{}", finding.reading);
    assert!(finding.reading.ends_with("firefox) total-vm:1kB, and 1 more"), "{}", finding.reading);
}

#[test]
fn a_driver_without_memory_ends_the_run() {
    let line = "NVRM: nvAssertOkFailedNoLog: Assertion failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051)";
    let course = Course::on(|host| host.kernel(&[(Machine::at(3), line)]));
    let (second, finding) = course.run(&rows(20, |_| busy())).0.unwrap();
    assert_eq!((second, finding.level), (2, Level::Refused));
    assert!(finding.reading.starts_with("the driver is out of memory"), "{}", finding.reading);
    let off = Course::on(|host| host.kernel(&[(Machine::at(3), line)])).set(|settings| settings.kernel_log = false);
    assert_eq!(at_end(&off, &rows(20, |_| busy()), "driver-faults").level, Level::NotAvailable);
}

#[test]
fn a_flood_of_lines_is_taken_in_parts_and_cut() {
    let long = format!("NVRM: {}", "x".repeat(5000));
    let lines: Vec<(Duration, &str)> = (0..2500).map(|_| (Machine::at(1), long.as_str())).collect();
    let course = Course::on(|host| host.kernel(&lines));
    let finding = at_end(&course, &rows(5, |_| busy()), "driver-faults");
    assert_eq!(finding.value, Some(2500.0));
    assert!(finding.reading.len() < 700, "{}", finding.reading.len());
}

/// The stuck state as published: full use, no reason, 799 MHz, 19.5 W.
fn stuck() -> GpuSample {
    GpuSample { sm_clock_mhz: Some(799.0), power_w: Some(19.5), ..busy() }
}

#[test]
fn a_stuck_clock_ends_the_run_after_ten_seconds_and_not_before() {
    let course = Course::new(Machine::spark());
    let (second, finding) = course.run(&rows(60, |second| if second < 20 { busy() } else { stuck() })).0.unwrap();
    assert_eq!((second, finding.gate.as_str()), (30, "stuck-clock"));
    assert_eq!(
        finding.reading,
        "stuck clock: SM 799 MHz and 19.5 W at full use for 10 s, without a reason from the driver"
    );
    // It comes and goes: nine seconds of it are no proof.
    let short = rows(60, |second| if second % 15 < 10 { stuck() } else { busy() });
    assert_eq!(course.run(&short).0, None);
}

#[test]
fn a_low_clock_with_a_reason_or_of_another_gpu_or_at_rest_is_not_stuck() {
    let hot = |_| GpuSample { throttle_bits: Some(0x20), ..stuck() };
    let set = |_| GpuSample { throttle_bits: Some(0x2), power_w: Some(35.0), ..stuck() };
    let resting = |_| GpuSample { util_pct: Some(50.0), ..stuck() };
    let spark = || Course::new(Machine::spark());
    for gpu in [&hot as &dyn Fn(u32) -> GpuSample, &set, &resting] {
        assert_eq!(spark().run(&rows(60, gpu)).0, None);
    }
    assert_eq!(Course::new(Machine::h200()).run(&rows(60, |_| stuck())).0, None);
    assert_eq!(spark().set(|settings| settings.clock_sag_pct = None).run(&rows(60, |_| stuck())).0, None);
    let weak = rows(60, |_| GpuSample { power_w: Some(22.0), ..busy() });
    assert_eq!(at_end(&spark(), &weak, "stuck-clock").level, Level::Warned);
}

#[test]
fn clocks_that_sag_for_five_seconds_under_load_are_marked() {
    let at = |mhz: f64| GpuSample { sm_clock_mhz: Some(mhz), ..busy() };
    let course = Course::new(Machine::h200());
    // 60 % of 1,980 MHz is 1,188 MHz.
    let sagging = rows(60, |second| at(if (20..26).contains(&second) { 1100.0 } else { 1980.0 }));
    let finding = at_end(&course, &sagging, "clock-sag");
    assert_eq!((finding.level, finding.value.unwrap().round()), (Level::Warned, 56.0), "{finding:?}");
    let brief = rows(60, |second| at(if (20..25).contains(&second) { 1100.0 } else { 1980.0 }));
    assert_eq!(at_end(&course, &brief, "clock-sag").level, Level::Passed);
    let resting = rows(60, |second| if second % 2 == 0 { idle_spark() } else { at(1980.0) });
    assert_eq!(at_end(&course, &resting, "clock-sag").level, Level::Passed, "a GPU at rest lowers its clock");
    let never = rows(60, |_| idle_spark());
    assert_eq!(at_end(&course, &never, "clock-sag").level, Level::NotAvailable);
}

#[test]
fn reasons_of_lower_clocks_are_counted_by_sample() {
    let course = Course::new(Machine::spark());
    let capped = rows(10, |second| GpuSample { throttle_bits: Some(if second < 3 { 0x24 } else { 0x1 }), ..busy() });
    let finding = at_end(&course, &capped, "throttle-reasons");
    assert_eq!(finding.level, Level::Warned);
    assert_eq!(finding.reading, "software power cap in 3 of 10 samples, software thermal slowdown in 3 of 10 samples");
}

fn counters(power_cap: u64, sync: u64) -> BTreeMap<String, u64> {
    BTreeMap::from([("sw_power_cap".to_owned(), power_cap), ("sync_boost".to_owned(), sync)])
}

fn counting(before: BTreeMap<String, u64>, after: BTreeMap<String, u64>) -> Course {
    let mut machine = Machine::spark();
    let fake = Fake {
        host: machine.host.clone(),
        began: machine.began,
        identity: machine.gpu.as_ref().unwrap().lock().unwrap().identity(),
        says: Box::new(|_| Ok(busy())),
        processes: Ok(Vec::new()),
        counters: vec![before, after],
    };
    machine.gpu = Some(Mutex::new(Box::new(fake)));
    Course::new(machine)
}

#[test]
fn accumulated_causes_are_a_difference_in_seconds() {
    let long = rows(100, |_| busy());
    // 27.6 s had accumulated before. 1.5 s more of a run of 100 s.
    let course = counting(counters(27_600_000, 5), counters(29_100_000, 9_000_005));
    let finding = at_end(&course, &long, "throttle-time");
    assert_eq!((finding.level, finding.value), (Level::Warned, Some(1.5)));
    assert_eq!(finding.reading, "sw_power_cap 1.500 s, sync_boost 9.000 s");
    let course = counting(counters(27_600_000, 5), counters(27_600_000, 5));
    let finding = at_end(&course, &long, "throttle-time");
    assert_eq!((finding.level, finding.reading.as_str()), (Level::Passed, "none"));
    let finding = at_end(&counting(counters(0, 0), counters(999_000, 0)), &long, "throttle-time");
    assert_eq!(finding.level, Level::Passed, "below one per cent of the run");
    let finding = at_end(&counting(counters(900, 0), counters(100, 0)), &long, "throttle-time");
    assert_eq!(finding.level, Level::NotAvailable, "a counter that goes back is not a difference");
}

#[test]
fn swapped_pages_are_a_difference_and_a_mark() {
    let course = Course::on(|host| host.file_at("/proc/vmstat", Machine::at(3), "pswpin 110\npswpout 250\n"));
    let finding = at_end(&course, &rows(5, |_| busy()), "swap-activity");
    assert_eq!((finding.level, finding.reading.as_str()), (Level::Warned, "10 pages swapped in, 50 out"));
    let still = at_end(&Course::new(Machine::spark()), &rows(5, |_| busy()), "swap-activity");
    assert_eq!(still.level, Level::Passed);
}

#[test]
fn stalls_for_want_of_memory_are_marked() {
    let mut stalled = rows(5, |_| busy());
    stalled[2].host.pressure_memory_pct = Some(34.5);
    let finding = at_end(&Course::new(Machine::spark()), &stalled, "memory-pressure");
    assert_eq!((finding.level, finding.value), (Level::Warned, Some(34.5)));
}

#[test]
fn a_kill_for_want_of_memory_ends_the_run_and_a_held_back_processor_marks_it() {
    let mut killed = rows(5, |_| busy());
    killed[3].tree.cgroup_oom_kills = Some(4);
    let (second, finding) = Course::new(Machine::spark()).run(&killed).0.unwrap();
    assert_eq!((second, finding.gate.as_str(), finding.value), (3, "out-of-memory-kills", Some(1.0)));
    let mut held = rows(5, |_| busy());
    held[4].tree.cgroup_cpu_throttled = Some(52);
    let finding = at_end(&Course::new(Machine::spark()), &held, "cpu-throttled");
    assert_eq!((finding.level, finding.value), (Level::Warned, Some(12.0)));
}

#[test]
fn a_lost_gpu_ends_a_run_that_used_it_and_is_named() {
    let gone = |from: f64| {
        Machine::spark().saying(Box::new(move |now| {
            if now < from { Ok(busy()) } else { Err("Unable to determine the device handle for GPU".to_owned()) }
        }))
    };
    let mut missing: Vec<Row> = rows(10, |_| busy());
    missing.iter_mut().skip(5).for_each(|row| row.gpu = None);
    let (second, finding) = Course::new(gone(5.0)).run(&missing).0.unwrap();
    assert_eq!((second, finding.gate.as_str(), finding.level), (7, "gpu-lost", Level::Refused));
    assert!(finding.reading.starts_with("the GPU has stopped answering"), "{}", finding.reading);
    // It answers when it is asked: the samples were late.
    let finding = at_end(&Course::new(gone(1e9)), &missing, "gpu-lost");
    assert_eq!((finding.level, finding.value), (Level::Warned, Some(5.0)));
    // Nothing in this run used it.
    let mut unused: Vec<Row> = rows(10, |_| idle_spark());
    unused.iter_mut().skip(5).for_each(|row| row.gpu = None);
    assert_eq!(Course::new(gone(5.0)).run(&unused).0, None);
}

#[test]
fn rows_that_were_seen_before_are_passed_over() {
    let course = Course::new(Machine::spark());
    let (host, gpu) = (&course.machine.host, course.machine.gpu.as_ref());
    let all = rows(10, |_| GpuSample { throttle_bits: Some(0x4), ..busy() });
    let mut watch = Watch::begin(host, gpu, &course.settings);
    for end in 1..=all.len() {
        assert_eq!(watch.tick(host, gpu, &all[..end]), None);
    }
    let findings = watch.end(host, gpu);
    let finding = findings.iter().find(|finding| finding.gate == "throttle-reasons").unwrap();
    assert_eq!(finding.reading, "software power cap in 10 of 10 samples");
}
