//! Every gate with each of its outcomes, and the waiting, on replayed machines.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use super::{ADVICE, GATES, before, lasting, look};
use crate::run::testing::{Ear, Machine, idle_spark, meminfo, steady};
use sparkbench_host::gpu::{GpuProcess, GpuSample};
use sparkbench_host::replay::{HostCall, Replay};
use sparkbench_model::{Finding, Instant, Level};
use sparkbench_plan::PageCache;

fn level(finding: &Finding) -> &'static str {
    match finding.level {
        Level::Passed => "passed",
        Level::NotAvailable => "not available",
        Level::Warned => "warned",
        Level::Refused => "refused",
    }
}

fn without(field: impl Fn(&mut GpuSample)) -> Machine {
    Machine::spark().idling(|gpu| field(gpu))
}

fn lost(message: &str) -> Machine {
    let message = message.to_owned();
    Machine::spark().saying(Box::new(move |_| Err(message.clone())))
}

fn process(pid: u32) -> GpuProcess {
    GpuProcess { pid, name: "python3".to_owned(), bytes: Some(512 << 20) }
}

/// Gate, outcome, words of its reading, machine.
#[allow(clippy::too_many_lines)]
fn cases() -> Vec<(&'static str, &'static str, &'static str, Machine)> {
    let spark = Machine::spark;
    let mut rested = spark();
    rested.last_ended = Some(Machine::at(0).checked_sub(Duration::from_secs(301)).unwrap());
    let mut restless = spark();
    restless.last_ended = Some(Machine::at(0).checked_sub(Duration::from_secs(299)).unwrap());
    let mut set = spark();
    set.clocks = Some((Instant(1_767_225_600_000), Duration::from_secs(10)));
    let untimed = |host: Replay| {
        host.unreadable_at("/run/systemd/timesync/synchronized", Duration::ZERO, io::ErrorKind::NotFound)
    };
    let timedatectl = ["timedatectl", "show", "--property=NTPSynchronized", "--value"];
    let drop = |machine: Machine| machine.limits(|gates| gates.page_cache = PageCache::Drop);
    let memory =
        |free, available, cached| spark().on(|host| host.file("/proc/meminfo", meminfo(free, available, cached)));
    let no_memory = || spark().on(|host| host.unreadable_at("/proc/meminfo", Duration::ZERO, io::ErrorKind::NotFound));
    let mut no_load = spark();
    no_load.host = no_load.host.unreadable_at("/proc/loadavg", Duration::ZERO, io::ErrorKind::PermissionDenied);
    vec![
        ("gpu-present", "passed", "NVIDIA GB10, driver 580.173.02, no memory figure", spark()),
        ("gpu-present", "passed", "NVIDIA H200, 140.4 GiB of its own", Machine::h200()),
        ("gpu-present", "refused", "no nvidia-smi and no libnvidia-ml", Machine::without_gpu()),
        (
            "gpu-present",
            "not available",
            "no nvidia-smi",
            Machine::without_gpu().limits(|gates| gates.gpu_required = false),
        ),
        ("nvml-lost", "passed", "answers", spark()),
        ("nvml-lost", "refused", "device nodes", lost("Failed to initialize NVML: Unknown Error")),
        ("nvml-lost", "refused", "no reading: gone", lost("gone")),
        ("nvml-lost", "not available", "no driver to ask", Machine::without_gpu()),
        ("gpu-processes", "passed", "none", spark().used_by(Ok(vec![process(77)]))),
        (
            "gpu-processes",
            "refused",
            "python3 (pid 4711, 512 MiB)",
            spark().used_by(Ok(vec![process(77), process(4711)])),
        ),
        (
            "gpu-processes",
            "warned",
            "pid 4711",
            spark().used_by(Ok(vec![process(4711)])).limits(|gates| gates.gpu_exclusive = false),
        ),
        ("gpu-processes", "not available", "does not list", spark().used_by(Err("not supported".to_owned()))),
        ("gpu-clocks", "passed", "P8, SM 208 of 3003 MHz, 0 % in use", spark()),
        ("gpu-clocks", "passed", "P0, SM 345 of 1980 MHz, 0 % in use", Machine::h200()),
        ("gpu-clocks", "passed", "clocks stay high at rest", without(|gpu| gpu.sm_clock_mhz = Some(3000.0))),
        ("gpu-clocks", "passed", "set by hand", without(|gpu| gpu.throttle_bits = Some(0x3))),
        ("gpu-clocks", "refused", "97 % in use", without(|gpu| gpu.util_pct = Some(97.0))),
        ("gpu-clocks", "not available", "neither", spark().saying(steady(GpuSample::default()))),
        ("gpu-clock-probe", "not available", "no limit is set", spark()),
        (
            "gpu-clock-probe",
            "not available",
            "right before each run",
            spark().limits(|gates| gates.clock_probe_min_mhz = Some(2000.0)),
        ),
        ("thermal-throttle", "passed", "none", spark()),
        ("thermal-throttle", "refused", "software thermal slowdown", without(|gpu| gpu.throttle_bits = Some(0x20))),
        ("thermal-throttle", "warned", "software power cap", without(|gpu| gpu.throttle_bits = Some(0x5))),
        ("thermal-throttle", "not available", "does not report", without(|gpu| gpu.throttle_bits = None)),
        ("gpu-temperature", "passed", "38 C", spark()),
        ("gpu-temperature", "passed", "45 C", without(|gpu| gpu.temp_c = Some(45.0))),
        ("gpu-temperature", "refused", "61 C", without(|gpu| gpu.temp_c = Some(60.6))),
        ("gpu-temperature", "not available", "38 C, no limit", spark().limits(|gates| gates.gpu_temp_max_c = None)),
        ("gpu-temperature", "not available", "does not report the temperature", without(|gpu| gpu.temp_c = None)),
        ("gpu-idle-power", "passed", "4.5 W", spark().limits(|gates| gates.gpu_idle_power_max_w = Some(15.0))),
        (
            "gpu-idle-power",
            "refused",
            "75.9 W",
            Machine::h200().limits(|gates| gates.gpu_idle_power_max_w = Some(15.0)),
        ),
        ("gpu-idle-power", "not available", "75.9 W, no limit", Machine::h200()),
        ("cooldown", "passed", "no run before", spark()),
        ("cooldown", "passed", "301 s", rested),
        ("cooldown", "refused", "299 s", restless),
        ("host-load", "passed", "0.42 over one minute, 0.02 per core (20 cores)", spark()),
        ("host-load", "refused", "0.60 per core", spark().on(|host| host.file("/proc/loadavg", "12.00 9 8 1/9 7\n"))),
        ("host-load", "not available", "cannot be read", no_load),
        ("host-load", "not available", "no limit", spark().limits(|gates| gates.host_load_max_per_core = None)),
        ("memory-available", "passed", "115.9 GiB available of 121.7 GiB (103.2 free, 5.0 page cache)", spark()),
        // The cache reads as used by the GPU, and is available all the same.
        ("memory-available", "passed", "(2.8 free", memory(2.77, 52.0, 49.0)),
        ("memory-available", "refused", "5.0 GiB available", memory(4.0, 5.0, 1.0)),
        ("memory-available", "not available", "no MemAvailable", no_memory()),
        ("swap", "passed", "0.50 GiB in use", spark().limits(|gates| gates.swap_used_max_gib = Some(0.5))),
        ("swap", "refused", "0.50 GiB in use", spark().limits(|gates| gates.swap_used_max_gib = Some(0.0))),
        ("swap", "not available", "0.50 GiB in use, no limit", spark()),
        ("page-cache", "passed", "5.50 GiB cached, kept", spark()),
        ("page-cache", "warned", "an engine may count it as used", memory(40.0, 115.0, 72.6)),
        ("page-cache", "refused", "only root may drop it", drop(spark())),
        ("page-cache", "passed", "dropped before each run", drop(spark().on(Replay::as_root))),
        ("page-cache", "not available", "cannot be read", no_memory()),
        ("disk-space", "passed", "500.0 GiB free at '/data'", spark()),
        ("disk-space", "refused", "1.5 GiB free", spark().on(|host| host.disk("/data", 3 << 29))),
        ("disk-space", "not available", "cannot be read", spark().on(no_disk)),
        ("kernel-log", "passed", "can be read", spark()),
        ("kernel-log", "warned", "cannot be read", Machine { host: Replay::new(), ..spark() }),
        ("clock", "passed", "time service", spark()),
        ("clock", "passed", "time service", spark().on(|host| untimed(host).prints(&timedatectl, "yes\n"))),
        ("clock", "warned", "has not settled", spark().on(|host| untimed(host).prints(&timedatectl, "no\n"))),
        ("clock", "warned", "never set", spark().on(|host| host.booted(Instant(0)))),
        ("clock", "warned", "was set by", set),
        ("clock", "not available", "no time service", spark().on(untimed)),
        ("cpu-governor", "passed", "performance", spark()),
        (
            "cpu-governor",
            "warned",
            "performance, powersave",
            spark().on(|host| host.file("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n")),
        ),
        (
            "cpu-governor",
            "warned",
            "1 of 20 cores are limited below",
            spark().on(|host| host.file("/sys/devices/system/cpu/cpu5/cpufreq/scaling_max_freq", "1500000\n")),
        ),
        ("cpu-governor", "not available", "no frequency governor", Machine { host: Replay::new(), ..spark() }),
        ("huge-pages", "passed", "madvise", spark()),
        (
            "huge-pages",
            "warned",
            "never",
            spark().on(|host| host.file("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")),
        ),
        ("huge-pages", "not available", "no transparent", Machine { host: Replay::new(), ..spark() }),
        ("gpu-persistence", "passed", "on", spark()),
        ("gpu-persistence", "warned", "off", spark().being(|identity| identity.persistence = Some(false))),
        ("gpu-persistence", "not available", "does not report", spark().being(|identity| identity.persistence = None)),
    ]
}

/// A host whose disks cannot be asked.
fn no_disk(_: Replay) -> Replay {
    Replay::new()
}

#[test]
fn every_gate_passes_refuses_and_says_when_it_cannot_tell() {
    let mut seen = BTreeSet::new();
    for (gate, outcome, words, machine) in cases() {
        let finding = machine.look(gate);
        assert_eq!(level(&finding), outcome, "{finding:?}");
        assert!(finding.reading.contains(words), "{gate}: '{}' does not say '{words}'", finding.reading);
        seen.insert((gate, outcome));
    }
    // Tried in the tests of the probe itself, beside its file.
    seen.extend([("gpu-clock-probe", "passed"), ("gpu-clock-probe", "refused")]);
    for gate in GATES.iter().chain(ADVICE).map(|gate| gate.name()) {
        assert!(seen.contains(&(gate, "passed")), "{gate} has no test in which it passes");
        let says_no = seen.contains(&(gate, "refused")) || seen.contains(&(gate, "warned"));
        assert!(says_no, "{gate} has no test in which it refuses or warns");
        // A pause and an attempt to open have an answer on every machine.
        let always = ["cooldown", "kernel-log"].contains(&gate);
        assert!(always || seen.contains(&(gate, "not available")), "{gate} has no test in which it cannot be read");
    }
}

#[test]
fn whatever_does_not_pass_names_a_remedy_and_has_a_time() {
    for (.., machine) in cases() {
        for finding in look(&machine.context()) {
            assert_eq!(finding.remedy.is_some(), finding.level != Level::Passed, "{finding:?}");
            assert!(!finding.reading.is_empty(), "{finding:?}");
            assert!(finding.at_utc.is_some(), "{finding:?}");
        }
    }
}

#[test]
fn names_of_gates_are_stable_words_and_none_stands_twice() {
    let all: Vec<&str> = GATES.iter().chain(ADVICE).map(|gate| gate.name()).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    for name in all {
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{name}");
    }
}

#[test]
fn a_machine_at_rest_is_ready_at_once() {
    for machine in [Machine::spark(), Machine::h200()] {
        let ear = Ear::default();
        let findings = before(&machine.context(), &ear);
        assert_eq!(findings.len(), GATES.len());
        assert!(findings.iter().all(|finding| finding.level < Level::Refused), "{findings:?}");
        assert_eq!(machine.passed(), 0.0);
        assert!(ear.heard.lock().unwrap().is_empty());
        for (gate, finding) in GATES.iter().zip(&findings) {
            assert_eq!(gate.name(), finding.gate);
            assert_eq!(finding.waited_s, (gate.patience() != super::Patience::None).then_some(0.0), "{}", finding.gate);
        }
    }
}

/// The GPU of a Spark whose temperature follows the clock.
fn cooling(celsius: impl Fn(f64) -> f64 + Send + 'static) -> Machine {
    Machine::spark().saying(Box::new(move |now| Ok(GpuSample { temp_c: Some(celsius(now)), ..idle_spark() })))
}

fn found<'a>(findings: &'a [Finding], gate: &str) -> &'a Finding {
    findings.iter().find(|finding| finding.gate == gate).unwrap()
}

#[test]
fn a_gate_waits_seven_minutes_for_the_gpu_to_cool_and_says_so_all_the_time() {
    // From 60.6 C, as decoding leaves it, to 45 C after 7 minutes.
    let machine = cooling(|now| (60.6 - 15.6 * now / 420.0).max(38.0));
    let ear = Ear::default();
    let findings = before(&machine.context(), &ear);
    let finding = found(&findings, "gpu-temperature");
    assert_eq!((finding.level, finding.waited_s), (Level::Passed, Some(420.0)));
    assert_eq!(found(&findings, "host-load").waited_s, Some(0.0));
    assert_eq!(machine.passed(), 420.0);
    let heard = ear.heard.lock().unwrap();
    assert_eq!(heard.len(), 421, "once a second, and once at the end");
    assert_eq!(heard[0], ("gpu-temperature".to_owned(), 0.0, 3600.0, false));
    assert_eq!(heard[420], ("gpu-temperature".to_owned(), 420.0, 3600.0, true));
}

#[test]
fn a_gpu_that_never_cools_is_refused_after_the_limit_with_every_other_reading_beside_it() {
    let machine = cooling(|_| 52.0).limits(|gates| gates.wait_max_s = 900.0);
    let ear = Ear::default();
    let findings = before(&machine.context(), &ear);
    let finding = found(&findings, "gpu-temperature");
    assert_eq!((finding.level, finding.waited_s), (Level::Refused, Some(900.0)));
    assert!(finding.remedy.is_some());
    assert_eq!(findings.len(), GATES.len());
    assert_eq!(findings.iter().filter(|finding| finding.level == Level::Refused).count(), 1);
    assert_eq!(machine.passed(), 900.0);
    assert!(ear.heard.lock().unwrap().last().unwrap().3);
}

#[test]
fn the_pause_and_the_temperature_are_waited_for_together() {
    let mut machine = cooling(|now| 50.0 - now / 10.0);
    machine.last_ended = Some(machine.began);
    let findings = before(&machine.context(), &Ear::default());
    assert_eq!(found(&findings, "gpu-temperature").waited_s, Some(50.0));
    assert_eq!(found(&findings, "cooldown").waited_s, Some(300.0));
    assert_eq!(machine.passed(), 300.0);
}

#[test]
fn an_interrupt_ends_the_waiting() {
    let machine = cooling(|_| 60.0).on(|host| host.interrupted_at(Machine::at(90)));
    let findings = before(&machine.context(), &Ear::default());
    assert_eq!(machine.passed(), 90.0);
    assert_eq!(found(&findings, "gpu-temperature").level, Level::Refused);
    assert_eq!(findings.len(), GATES.len());
}

#[test]
fn what_waiting_cannot_mend_is_said_at_once() {
    let machine = cooling(|_| 60.0).on(|host| host.disk("/data", 1 << 30));
    let findings = before(&machine.context(), &Ear::default());
    assert_eq!(machine.passed(), 0.0);
    let refused: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.level == Level::Refused)
        .map(|finding| finding.gate.as_str())
        .collect();
    assert_eq!(refused, ["gpu-temperature", "disk-space"], "both are named");
}

#[test]
fn a_load_that_rises_while_the_gpu_cools_is_waited_for_too() {
    let machine = cooling(|now| if now < 120.0 { 60.0 } else { 40.0 }).on(|host| {
        host.file_at("/proc/loadavg", Machine::at(119), "19.0 9 8 1/9 7\n").file_at(
            "/proc/loadavg",
            Machine::at(180),
            "1.0 9 8 1/9 7\n",
        )
    });
    let findings = before(&machine.context(), &Ear::default());
    assert_eq!(found(&findings, "gpu-temperature").waited_s, Some(120.0));
    let load = found(&findings, "host-load");
    assert_eq!((load.level, load.waited_s), (Level::Passed, Some(180.0)));
}

#[test]
fn what_does_not_wait_is_read_again_after_the_waiting() {
    // Someone fills the disk while the GPU cools.
    let machine = Machine::spark();
    let shared = machine.host.clone();
    let machine = machine.saying(Box::new(move |now| {
        if now >= 60.0 {
            let _ = shared.clone().disk("/data", 1 << 20);
        }
        Ok(GpuSample { temp_c: Some(if now < 120.0 { 60.0 } else { 40.0 }), ..idle_spark() })
    }));
    let findings = before(&machine.context(), &Ear::default());
    assert_eq!(found(&findings, "gpu-temperature").level, Level::Passed);
    assert_eq!(found(&findings, "disk-space").level, Level::Refused);
    assert_eq!(machine.passed(), 120.0);
}

#[test]
fn memory_that_the_run_before_still_holds_is_given_a_minute_and_no_more() {
    let slow = |until: u64| {
        Machine::spark().on(|host| {
            host.file("/proc/meminfo", meminfo(1.0, 2.0, 0.5)).file_at(
                "/proc/meminfo",
                Machine::at(until),
                meminfo(100.0, 110.0, 0.5),
            )
        })
    };
    let machine = slow(8);
    let findings = before(&machine.context(), &Ear::default());
    let memory = found(&findings, "memory-available");
    assert_eq!((memory.level, memory.waited_s), (Level::Passed, Some(8.0)));
    let machine = slow(80);
    let findings = before(&machine.context(), &Ear::default());
    let memory = found(&findings, "memory-available");
    assert_eq!((memory.level, memory.waited_s), (Level::Refused, Some(60.0)));
}

#[test]
fn a_gate_of_the_gpu_is_advice_where_nothing_needs_one() {
    let mut machine = cooling(|_| 70.0);
    machine.needs_gpu = false;
    let findings = before(&machine.context(), &Ear::default());
    let hot = found(&findings, "gpu-temperature");
    assert_eq!((hot.level, machine.passed()), (Level::Warned, 0.0));
    assert!(hot.reading.contains("advice only"));

    let mut machine = Machine::without_gpu();
    machine.needs_gpu = false;
    let findings = before(&machine.context(), &Ear::default());
    assert!(findings.iter().all(|finding| finding.level != Level::Refused), "{findings:?}");
    let gpu = found(&findings, "gpu-present");
    assert_eq!((gpu.level, gpu.reading.as_str()), (Level::NotAvailable, "no nvidia-smi and no libnvidia-ml"));
}

#[test]
fn a_missing_gpu_refuses_a_run_that_needs_one_without_waiting_for_it() {
    let machine = Machine::without_gpu();
    let findings = before(&machine.context(), &Ear::default());
    assert_eq!(found(&findings, "gpu-present").level, Level::Refused);
    assert_eq!(machine.passed(), 0.0);
}

#[test]
fn the_page_cache_is_dropped_after_the_waiting_and_only_then() {
    let machine = cooling(|now| if now < 30.0 { 60.0 } else { 40.0 })
        .limits(|gates| gates.page_cache = PageCache::Drop)
        .on(|host| host.as_root().prints(&["sync"], "").file("/proc/sys/vm/drop_caches", "0\n"));
    let findings = before(&machine.context(), &Ear::default());
    let cache = found(&findings, "page-cache");
    assert_eq!(cache.level, Level::Passed, "{cache:?}");
    assert!(cache.reading.starts_with("dropped: 5.50 GiB before"), "{}", cache.reading);
    let deeds = machine.host.deeds();
    let wrote = deeds
        .iter()
        .position(|deed| matches!(deed, HostCall::Wrote(path, text) if path.ends_with("drop_caches") && text == "3"));
    let paused = deeds.iter().rposition(|deed| matches!(deed, HostCall::Paused(_)));
    assert!(wrote > paused && paused.is_some(), "{deeds:?}");
    assert_eq!(deeds.iter().filter(|deed| matches!(deed, HostCall::Wrote(..))).count(), 1);
}

#[test]
fn a_page_cache_that_cannot_be_dropped_refuses_the_run_and_looking_drops_nothing() {
    let machine = Machine::spark().limits(|gates| gates.page_cache = PageCache::Drop).on(|host| {
        host.as_root().prints(&["sync"], "").unwritable("/proc/sys/vm/drop_caches", io::ErrorKind::ReadOnlyFilesystem)
    });
    look(&machine.context());
    lasting(&machine.context());
    assert_eq!(machine.host.asked(), Vec::<String>::new(), "a look changes nothing");
    let findings = before(&machine.context(), &Ear::default());
    let cache = found(&findings, "page-cache");
    assert_eq!(cache.level, Level::Refused, "{cache:?}");
    assert!(cache.reading.contains("drop_caches"), "{}", cache.reading);

    let machine = Machine::spark()
        .limits(|gates| gates.page_cache = PageCache::Drop)
        .on(|host| host.as_root().fails(&["sync"], 1, "sync: input/output error"));
    let findings = before(&machine.context(), &Ear::default());
    assert!(found(&findings, "page-cache").reading.contains("input/output error"));
}

/// A Spark that is probed: what the probe prints, and how warm it leaves the GPU.
fn probed(printed: &str, after_c: f64) -> Machine {
    let machine = Machine::spark().limits(|gates| gates.clock_probe_min_mhz = Some(2000.0)).on(|host| {
        host.with_program("/usr/bin/sparkbench")
            .prints(&["/usr/bin/sparkbench", "gpu-probe", "--quick", "--json"], printed)
    });
    let shared = machine.host.clone();
    machine.saying(Box::new(move |now| {
        let warm = !shared.asked().is_empty() && now < 20.0;
        Ok(GpuSample { temp_c: Some(if warm { after_c } else { 38.0 }), ..idle_spark() })
    }))
}

const HEALTHY: &str = r#"{"probe":{"parts":[{"gpu_under_load":{"sm_clock_mhz":2405,"power_w":92,"util_pct":96}}]}}"#;
const STUCK: &str = r#"{"probe":{"parts":[{"gpu_under_load":{"sm_clock_mhz":799,"power_w":19.5,"util_pct":96}}]}}"#;

#[test]
fn the_probe_runs_once_and_the_gpu_cools_down_again_after_it() {
    let machine = probed(HEALTHY, 50.0);
    let findings = before(&machine.context(), &Ear::default());
    let probe = found(&findings, "gpu-clock-probe");
    assert_eq!((probe.level, probe.value), (Level::Passed, Some(2405.0)), "{probe:?}");
    assert_eq!(found(&findings, "gpu-temperature").waited_s, Some(20.0));
    assert_eq!(machine.host.asked(), ["/usr/bin/sparkbench gpu-probe --quick --json"]);
}

#[test]
fn a_stuck_clock_refuses_the_run_and_a_probe_that_fails_does_too() {
    let machine = probed(STUCK, 38.0);
    let findings = before(&machine.context(), &Ear::default());
    let probe = found(&findings, "gpu-clock-probe");
    assert_eq!(probe.level, Level::Refused);
    assert!(probe.reading.starts_with("stuck clock"), "{}", probe.reading);

    let machine = probed("not JSON", 38.0);
    let findings = before(&machine.context(), &Ear::default());
    assert!(found(&findings, "gpu-clock-probe").reading.contains("cannot be read"));

    let machine = Machine::spark().limits(|gates| gates.clock_probe_min_mhz = Some(2000.0)).on(|host| {
        host.with_program("/usr/bin/sparkbench").fails(&["/usr/bin/sparkbench"], 3, "error: no CUDA driver")
    });
    let findings = before(&machine.context(), &Ear::default());
    let probe = found(&findings, "gpu-clock-probe");
    assert_eq!((probe.level, probe.reading.as_str()), (Level::Refused, "the probe failed: error: no CUDA driver"));
}

/// The manual of gates, watchdogs and checks.
const MANUAL: &str = include_str!("../../../../../docs/gates.md");

/// Paragraphs by the name in their heading.
fn paragraphs() -> Vec<(&'static str, &'static str)> {
    let parts = MANUAL.split("\n### ").skip(1);
    parts.filter_map(|part| part.split_once('\n')).map(|(name, text)| (name.trim(), text.trim())).collect()
}

#[test]
fn every_gate_watchdog_and_check_has_one_paragraph_in_the_manual_and_nothing_else_has() {
    let gates = GATES.iter().chain(ADVICE).map(|gate| gate.name());
    let watchdogs = crate::run::watchdog::WATCHDOGS.iter().map(|kind| kind.name);
    let known: Vec<&str> = gates.chain(watchdogs).chain(crate::run::after::CHECKS.iter().copied()).collect();
    let written: Vec<&str> = paragraphs().iter().map(|(name, _)| *name).collect();
    assert_eq!(written, known, "in the order in which they are read");
    for (name, text) in paragraphs() {
        assert!(text.len() > 40, "{name} has next to no paragraph");
    }
}

#[test]
fn the_manual_says_of_each_gate_how_long_it_waits_and_which_limit_is_the_default() {
    let words = |patience| match patience {
        super::Patience::None => "At once",
        super::Patience::Settles => "Settles",
        super::Patience::Waits => "Waits",
    };
    let all = paragraphs();
    let text = |name: &str| all.iter().find(|(known, _)| *known == name).unwrap().1;
    for gate in GATES {
        assert!(text(gate.name()).contains(words(gate.patience())), "{}", gate.name());
    }
    let gates = sparkbench_plan::Gates::default();
    let dogs = sparkbench_plan::Watchdogs::default();
    let limits = [
        ("gpu-temperature", format!("At most {} C", gates.gpu_temp_max_c.unwrap())),
        ("cooldown", format!("At least {} s", gates.cooldown_min_s)),
        ("host-load", format!("At most {}", gates.host_load_max_per_core.unwrap())),
        ("memory-available", format!("At least {} GiB", gates.memory_available_min_gib.unwrap())),
        ("disk-space", format!("At least {} GiB", gates.disk_free_min_gib)),
        ("memory-floor", format!("below {} GiB", dogs.memory_floor_gib.unwrap())),
        ("clock-sag", format!("below {} %", dogs.clock_sag_pct.unwrap())),
    ];
    for (name, limit) in limits {
        assert!(text(name).contains(&limit), "{name} does not say '{limit}'");
    }
    assert_eq!((gates.wait_max_s, dogs.time_limit_s), (3600.0, 3600.0), "'one hour' in the manual");
    assert_eq!(
        (gates.gpu_idle_power_max_w, gates.swap_used_max_gib),
        (None, None),
        "'No limit by default' in the manual"
    );
}
