//! The child against a recording: ages, gaps, ends, new starts.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::replay::Replay;

const HELP: &str = include_str!("../../../../../tests/fixtures/nvidia-smi/h200/help-query-gpu.txt");
const Q: &str = include_str!("../../../../../tests/fixtures/nvidia-smi/h200/q.txt");
const LOOP: &[&str] = &[
    "nvidia-smi",
    "-i",
    "0",
    "--query-gpu=timestamp,utilization.gpu,power.draw,power.draw.instant,temperature.gpu,clocks.current.sm,clocks.current.memory,memory.used,pstate,clocks_event_reasons.active,index",
];
const SECOND: Duration = Duration::from_secs(1);

/// A machine with the program, and nothing to follow yet. Its clock is at 2026-01-01T00:00:00Z.
fn machine() -> Replay {
    Replay::new()
        .prints(&["nvidia-smi", "--help-query-gpu"], HELP)
        .prints(&["nvidia-smi", "-i", "0", "-q", "-d", "PERFORMANCE"], Q)
        .prints(
            &["nvidia-smi", "-i", "0"],
            "1, 580.159.04, 96.00.A5.00.1A, 00000000:00:06.0, GPU-0, 143771, 1980, Enabled, 9.0, 700.00, NVIDIA H200\n",
        )
}

/// A line as the driver prints it `after` the start of the recording, in the zone of New York.
fn line(after: f64, power: f64) -> String {
    let at = Instant(1_767_225_600_000 + (after * 1000.0) as i64 - 5 * 3_600_000).iso();
    let at = at.replace('-', "/").replace('T', " ").replace('Z', "");
    format!("{at}, 50, {power}, {power}, 61, 1980, 3201, 2412, P0, 0x0000000000000004, 0")
}

fn follows(machine: Replay, lines: &[(f64, String)], end: Option<&str>) -> Replay {
    let lines: Vec<(Duration, &str)> =
        lines.iter().map(|(after, line)| (Duration::from_secs_f64(*after), line.as_str())).collect();
    machine.follows(LOOP, &lines, end)
}

fn open(machine: &Replay) -> Result<Smi, Error> {
    Smi::open(Arc::new(machine.clone()), 0, SECOND)
}

#[test]
fn one_child_stays_and_each_question_takes_its_newest_line() {
    let lines: Vec<(f64, String)> =
        (0..5).map(|k| (f64::from(k) + 0.25, line(f64::from(k) + 0.25, f64::from(k)))).collect();
    let machine = follows(machine(), &lines, None);
    let mut smi = open(&machine).unwrap();
    assert_eq!(smi.identity().name.as_deref(), Some("NVIDIA H200"));
    assert_eq!(smi.identity().cuda.as_deref(), Some("13.0"));
    let first = smi.sample().unwrap();
    assert_eq!((first.power_w, first.age_ms), (Some(0.0), Some(0.0)));
    machine.advance(Duration::from_secs(3));
    let newest = smi.sample().unwrap();
    assert_eq!((newest.power_w, newest.age_ms), (Some(3.0), Some(0.0)), "the lines between are skipped");
    machine.advance(Duration::from_millis(600));
    assert_eq!(smi.sample().unwrap().age_ms, Some(600.0), "the same line, and its age says so");
    assert_eq!(machine.asked().len(), 3, "nothing is started for a reading");
    let absent = smi.absent();
    assert_eq!(absent["energy_mj"], "nvidia-smi has no column for it");
    assert!(!absent.contains_key("gpu_gaps"));
}

#[test]
fn a_reading_that_is_too_old_is_waited_for_and_then_refused() {
    let lines = [(0.0, line(0.0, 1.0)), (2.9, line(2.9, 2.0)), (9.0, line(9.0, 3.0))];
    let machine = follows(machine(), &lines, None);
    let mut smi = open(&machine).unwrap();
    machine.advance(Duration::from_secs(2));
    assert_eq!(smi.sample().unwrap().power_w, Some(2.0), "it came 0.9 s later");
    machine.advance(Duration::from_secs(2));
    let error = smi.sample().unwrap_err().to_string();
    assert!(error.contains("too old"), "{error}");
    machine.advance(Duration::from_secs(3));
    assert_eq!(smi.sample().unwrap().power_w, Some(3.0), "it is back");
}

#[test]
fn a_child_that_ends_is_started_again_and_the_gap_is_noted() {
    let said = "Unable to determine the device handle for GPU0: Unknown Error".to_owned();
    let machine = follows(machine(), &[(0.0, line(0.0, 1.0)), (1.0, said)], Some("status 255"));
    let mut smi = open(&machine).unwrap();
    machine.advance(SECOND);
    let error = smi.sample().unwrap_err().to_string();
    assert!(
        error.contains("it said 'Unable to determine the device handle") && error.contains("status 255"),
        "{error}"
    );
    machine.advance(SECOND);
    // The recording plays the same lines again, from 2 s on. Its time stamp is of before, as after a clock that was set.
    assert!(smi.sample().is_err(), "the line is older than it should be, and then the child ends again");
    let gaps = &smi.absent()["gpu_gaps"];
    assert!(gaps.starts_with("2026-01-01T00:00:02Z: nvidia-smi had ended") && gaps.contains("after 1.0 s"), "{gaps}");
}

#[test]
fn new_starts_are_paced_and_come_to_an_end() {
    let machine = follows(machine(), &[(0.0, line(0.0, 1.0))], Some("status 9"));
    let mut smi = open(&machine).unwrap();
    let follows = |machine: &Replay| {
        machine.deeds().iter().filter(|deed| matches!(deed, crate::replay::HostCall::Followed(_))).count()
    };
    for _ in 0..120 {
        assert!(smi.sample().is_err() || follows(&machine) == 1);
        machine.advance(SECOND);
    }
    assert_eq!(follows(&machine), 1 + PAUSES.len());
    let error = smi.sample().unwrap_err().to_string();
    assert!(error.contains("Started again 3 times in vain") && error.contains("status 9"), "{error}");
    machine.advance(WINDOW);
    let _ = smi.sample();
    assert_eq!(follows(&machine), 2 + PAUSES.len(), "after the window it is tried once more");
}

#[test]
fn a_child_that_hangs_is_given_up() {
    let machine = follows(machine(), &[(0.0, line(0.0, 1.0))], None);
    let mut smi = open(&machine).unwrap();
    machine.advance(Duration::from_secs(30));
    let error = smi.sample().unwrap_err().to_string();
    assert!(error.contains("silent for 3"), "{error}");
    assert!(smi.child.is_none());
}

#[test]
fn lines_that_are_cut_short_are_counted() {
    let machine =
        follows(machine(), &[(0.0, line(0.0, 1.0)), (0.5, "2026/01/01 00:0".to_owned()), (1.0, line(1.0, 2.0))], None);
    let mut smi = open(&machine).unwrap();
    machine.advance(SECOND);
    assert_eq!(smi.sample().unwrap().power_w, Some(2.0));
    assert_eq!(smi.absent()["gpu_gaps"], "1 lines were cut short and passed over");
}

#[test]
fn another_pace_is_another_child() {
    let machine = follows(machine(), &[(0.0, line(0.0, 1.0))], None);
    let mut smi = open(&machine).unwrap();
    smi.set_interval(SECOND).unwrap();
    smi.set_interval(Duration::from_millis(100)).unwrap();
    let started: Vec<String> = machine
        .deeds()
        .iter()
        .filter_map(|deed| match deed {
            crate::replay::HostCall::Followed(argv) => argv.last().cloned(),
            _ => None,
        })
        .collect();
    assert_eq!(started, ["--loop-ms=1000", "--loop-ms=100"]);
}

#[test]
fn a_machine_without_the_program_or_without_a_gpu_says_so() {
    let error = open(&Replay::new()).err().unwrap().to_string();
    assert!(error.starts_with("cannot start 'nvidia-smi'"), "{error}");
    let none = Replay::new().prints(&["nvidia-smi", "--help-query-gpu"], HELP).answer(
        &["nvidia-smi", "-i"],
        crate::Answer { code: Some(6), stdout: b"No devices were found\n".to_vec(), ..Default::default() },
    );
    let error = open(&none).err().unwrap().to_string();
    assert!(error.contains("No devices were found"), "{error}");
    let silent = machine().follows(LOOP, &[], None);
    let error = open(&silent).err().unwrap().to_string();
    assert!(error.contains("no reading within 15 seconds"), "{error}");
    let unknown = machine().follows(
        LOOP,
        &[(Duration::ZERO, "Field \"index\" is not a valid field to query.")],
        Some("status 2"),
    );
    let error = open(&unknown).err().unwrap().to_string();
    assert!(error.contains("not a valid field"), "{error}");
}
