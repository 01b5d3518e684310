//! GPU telemetry end to end: a real child that prints what nvidia-smi once printed, the real sampler, the real machine.
//!
//! The stand-in is found on the `PATH`, as the program would be. Changing one's own environment is not safe beside other threads, so each
//! test starts this test program again, with the stand-in in front, and runs the test of the same name with `_inside` behind it.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sparkbench::archive::Appender;
use sparkbench::host::Host;
use sparkbench::host::gpu::smi::columns::{choose, known};
use sparkbench::host::gpu::smi::row::{self, Line};
use sparkbench::host::gpu::{Missing, Opened, open};
use sparkbench::host::machine::Machine;
use sparkbench::run::provenance;
use sparkbench::run::telemetry::{Sampler, TreeSource};

use crate::support::again;
use crate::support::folder::Folder;
use crate::support::wait::{until, until_some};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs an inner test with the stand-in in front of the `PATH`.
fn with_the_stand_in(inner: &str, variables: &[(&str, &str)]) {
    let folder = root().join("tests/fixtures/nvidia-smi");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = again::command(module_path!(), inner);
    command.env("PATH", format!("{}:{path}", folder.display())).envs(variables.iter().copied());
    again::passes(command);
}

fn machine() -> Arc<dyn Host> {
    Arc::new(Machine::new().unwrap())
}

fn opened(host: &Arc<dyn Host>, interval_ms: u64) -> Opened {
    let opened = open(host, "nvidia-smi", 0, Duration::from_millis(interval_ms));
    assert!(opened.gpu.is_some(), "{}", opened.why());
    opened
}

#[test]
fn a_discrete_gpu_is_sampled_through_one_child() {
    with_the_stand_in("a_discrete_gpu_is_sampled_through_one_child_inside", &[("FAKE_GPU", "h200")]);
}

#[test]
#[ignore = "started by the test of the same name"]
fn a_discrete_gpu_is_sampled_through_one_child_inside() {
    if !again::is_inside() {
        return;
    }
    let host = machine();
    let mut opened = opened(&host, 1000);
    assert!(opened.raw["nvidia-smi-columns.txt"].starts_with("timestamp\nutilization.gpu\n"));
    assert!(opened.raw["nvidia-smi-help-query-gpu.txt"].contains("clocks_event_reasons.active"));
    let gpu = opened.share().unwrap();
    {
        let mut gpu = gpu.lock().unwrap();
        let identity = gpu.identity();
        assert_eq!(identity.name.as_deref(), Some("NVIDIA H200"));
        assert_eq!((identity.memory_mib, identity.power_limit_w), (Some(143_771.0), Some(700.0)));
        assert_eq!((identity.cuda.as_deref(), identity.driver.as_deref()), (Some("13.0"), Some("580.159.04")));
        assert_eq!(gpu.throttle_counters()["sw_power_cap"], 2_663_750);
        assert!(gpu.processes().unwrap().is_empty());
    }
    let folder = Folder::new("discrete");
    let file = folder.path().join("telemetry.csv");
    let tree = Arc::new(Mutex::new(TreeSource { main: Some(std::process::id()), ..TreeSource::default() }));
    // Another pace than it was opened with: the child is changed over while the machine is sampled already.
    let samples = Appender::create(&file).unwrap();
    let sampler = Sampler::start(Arc::clone(&host), Some(gpu), Duration::from_millis(100), samples, tree).unwrap();
    let read =
        |sampler: &Sampler| sampler.latest().is_some_and(|row| row.gpu.is_some_and(|gpu| gpu.power_w > Some(140.0)));
    let lines = || std::fs::read_to_string(&file).unwrap().lines().count();
    until("six rows, the last with a reading of the GPU", || read(&sampler) && lines() >= 6);
    let stopped = sampler.stop();
    assert!(stopped.failure.is_none());
    assert_eq!(stopped.wire.gpu_source, "nvidia-smi");
    assert!(stopped.wire.samples >= 5 && stopped.wire.cpu_s > 0.0);
    let ages: Vec<f64> = stopped.rows.iter().filter_map(|row| row.gpu.as_ref()?.age_ms).collect();
    // How old depends on the machine. That each is told does not.
    assert!(!ages.is_empty() && ages.iter().all(|age| *age >= 0.0), "{ages:?}");
    assert!(stopped.absent["energy_mj"].contains("no column"), "{:?}", stopped.absent);
    assert!(stopped.absent["power_instant_w"].contains("'N/A'"), "{:?}", stopped.absent);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count() as u64, stopped.wire.samples + 1);
}

#[test]
fn a_gpu_with_unified_memory_reports_what_it_can() {
    let variables = [("FAKE_GPU", "gb10"), ("FAKE_GPU_APPS", "1")];
    with_the_stand_in("a_gpu_with_unified_memory_reports_what_it_can_inside", &variables);
}

#[test]
#[ignore = "started by the test of the same name"]
fn a_gpu_with_unified_memory_reports_what_it_can_inside() {
    if !again::is_inside() {
        return;
    }
    let host = machine();
    let gpu = opened(&host, 50).share().unwrap();
    let (sample, users, counters, absent) = {
        let mut gpu = gpu.lock().unwrap();
        // One that is too old when it is read is none.
        let sample = until_some("a reading in time", || gpu.sample().ok());
        (sample, gpu.processes().unwrap(), gpu.throttle_counters(), gpu.absent())
    };
    assert_eq!((sample.memory_used_mib, sample.memory_clock_mhz), (None, None));
    assert_eq!((sample.power_w, sample.sm_clock_mhz, sample.util_pct), (Some(92.0), Some(2405.0), Some(96.0)));
    assert_eq!(absent["memory_used_mib"], "the driver answers 'N/A'");
    assert_eq!((users[0].pid, users[0].bytes), (114_687, Some(19_135 << 20)));
    assert_eq!(counters["sw_thermal_slowdown"], 27_600_000);
    let tree = provenance::inventory(host.as_ref(), Some(&gpu));
    assert_eq!((&tree["gpu"]["unified_memory"], &tree["gpu"]["pci"]), (&true.into(), &"0000000F:01:00.0".into()));
    assert_eq!(tree["gpu"]["users"][0]["program"], "python");
    assert!(!tree.to_string().contains("GPU-0000"), "the UUID is not kept");
}

#[test]
fn a_child_that_dies_is_replaced_and_the_gap_is_told() {
    let variables = [("FAKE_GPU_LINES", "3")];
    with_the_stand_in("a_child_that_dies_is_replaced_and_the_gap_is_told_inside", &variables);
}

#[test]
#[ignore = "started by the test of the same name"]
fn a_child_that_dies_is_replaced_and_the_gap_is_told_inside() {
    if !again::is_inside() {
        return;
    }
    let host = machine();
    let mut gpu = opened(&host, 20).gpu.unwrap();
    until("a gap is told", || {
        // Whether the end is met by a reading or between two of them is chance. The gap is told either way.
        let _ = gpu.sample();
        gpu.absent().contains_key("gpu_gaps")
    });
    let gap = &gpu.absent()["gpu_gaps"];
    assert!(gap.contains("Unable to determine the device handle") && gap.contains("was started again after"), "{gap}");
}

#[test]
fn every_recorded_reading_of_a_real_gpu_is_read_to_the_last_cell() {
    let help = std::fs::read_to_string(root().join("tests/fixtures/nvidia-smi/h200/help-query-gpu.txt")).unwrap();
    let names = known(&help);
    let (mut files, mut rows) = (0, 0);
    for entry in std::fs::read_dir(root().join("data/h200-chroot")).unwrap().flatten() {
        if !entry.file_name().to_string_lossy().ends_with("_gpu.csv") {
            continue;
        }
        files += 1;
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let header: Vec<&str> =
            text.lines().next().unwrap().split(", ").map(|cell| cell.split(" [").next().unwrap()).collect();
        let choice = choose(&names);
        // The recording has further columns. Ours are put into the order of a reading, its units left in.
        let columns: Vec<_> = choice.columns.into_iter().filter(|(_, name)| header.contains(&name.as_str())).collect();
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(", ").collect();
            let place = |name: &str| header.iter().position(|cell| *cell == name).unwrap();
            let line = columns.iter().map(|(_, name)| cells[place(name)]).collect::<Vec<_>>().join(", ");
            let mut missing = Missing::default();
            match row::read(&line, &columns, 0, &mut missing) {
                Line::Reading(sample, Some(_)) => {
                    assert!(
                        sample.power_w.is_some() && sample.memory_used_mib.is_some() && missing.reasons().is_empty()
                    );
                    assert!((30.0..90.0).contains(&sample.temp_c.unwrap()), "{line}");
                }
                other => panic!("{line}: {other:?}"),
            }
            rows += 1;
        }
    }
    assert_eq!((files, rows), (14, 895));
}
