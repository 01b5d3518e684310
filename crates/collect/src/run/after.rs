//! Checks after a run: did it end well, leave its files, do the requested work, and clean up everything?
//!
//! In:  [`Evidence`] from gates, guard, environment, workload and watchdogs.  Out: [`Judged`]: one [`Finding`] for each check. A failed run
//! also has all causes of its failure, the first one first.
//! Not here: reading files (see `workload`), asking the environment (see `env`), what figures mean.

use nix::sys::signal::Signal;

use crate::env::Examined;
use crate::workload::Outcome;
use sparkbench_archive::manifest::CheckWire;
use sparkbench_host::{Closed, Ended};
use sparkbench_model::{Finding, Level};

/// Names of the checks, in the order in which they are made, shown and archived.
#[cfg(test)]
pub(crate) const CHECKS: &[&str] =
    &[EXIT_STATUS, OUT_OF_MEMORY, ASKED_AND_RAN, ENVIRONMENT, RESULTS, ITERATIONS, LEFT_RUNNING, CLEAN_UP];

const EXIT_STATUS: &str = "exit-status";
const OUT_OF_MEMORY: &str = "out-of-memory";
const ASKED_AND_RAN: &str = "asked-and-ran";
const ENVIRONMENT: &str = "environment-state";
const RESULTS: &str = "results";
const ITERATIONS: &str = "iterations";
const LEFT_RUNNING: &str = "left-running";
const CLEAN_UP: &str = "clean-up";

/// Everything that is known of a run that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    /// Its gates. When one of them refuses it was never started.
    pub gates: &'a [Finding],
    /// Why it could not be started, or not be followed to its end.
    pub trouble: &'a [String],
    /// How its first process ended. Absent when it was never started.
    pub ended: Option<&'a Ended>,
    /// Effort to end its tree.
    pub closed: Option<&'a Closed>,
    /// The environment's word.
    pub examined: &'a Examined,
    /// The workload's word.
    pub outcome: &'a Outcome,
    /// Findings of the watchdogs.
    pub watched: &'a [Finding],
    /// It does not end by itself, and was ended by us once its work was done.
    pub dismissed: bool,
}

/// The judgement.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Judged {
    /// Why it counts as failed. Absent when it does not.
    pub failure: Option<String>,
    /// What the watchdogs saw, then the checks of this file.
    pub findings: Vec<Finding>,
}

/// Judges a run. Pure: nothing is read here.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Judged {
    let mut causes: Vec<String> = evidence.gates.iter().filter_map(|gate| cause("gate", gate)).collect();
    let mut findings = evidence.watched.to_vec();
    causes.extend(evidence.trouble.iter().cloned());
    let lost = evidence.closed.and_then(|closed| closed.lost.as_ref());
    if let Some(ended) = evidence.ended {
        // What we ended carries the reason as its first cause. The signal that ended it is ours, then.
        let cut = ended.why.as_ref().filter(|_| !evidence.dismissed);
        causes.extend(cut.iter().map(|why| format!("ended by sparkbench: {why}")));
        // A guard that was lost after the end, or beside another reason to end it. What it would have seen at the end was not seen.
        causes.extend(lost.filter(|lost| ended.why.as_ref() != Some(*lost)).cloned());
        let known =
            |finding: &Finding| ended.why.as_ref().is_some_and(|why| why.starts_with(&format!("{}: ", finding.gate)));
        causes.extend(
            evidence.watched.iter().filter(|finding| !known(finding)).filter_map(|found| cause("watchdog", found)),
        );
        let checks = [
            if evidence.dismissed {
                dismissal(ended, evidence.examined)
            } else {
                exit_status(ended, evidence.examined)
            },
            out_of_memory(evidence.examined),
            asked_and_ran(&evidence.examined.checks, &evidence.outcome.checks),
            list(
                ENVIRONMENT,
                &evidence.examined.faults,
                "read the raw files of the environment beside the logs of the run",
            ),
            list(
                RESULTS,
                &evidence.outcome.faults,
                "read stdout.log and stderr.log of the run: the workload may have stopped early",
            ),
            marks(&evidence.outcome.marks),
        ];
        causes.extend(
            checks
                .iter()
                .filter(|check| !(check.gate == EXIT_STATUS && ended.why.is_some()))
                .filter(|check| check.level == Level::Refused)
                .map(|check| check.reading.clone()),
        );
        findings.extend(checks);
    } else if causes.is_empty() {
        causes.push("how it ended is not known".to_owned());
    }
    if let Some(closed) = evidence.closed {
        findings.extend([left_running(closed), clean_up(closed)]);
    }
    Judged { failure: (!causes.is_empty()).then(|| causes.join("; ")), findings }
}

fn cause(what: &str, finding: &Finding) -> Option<String> {
    let limit = finding.limit.as_deref().map(|limit| format!(" (limit: {limit})")).unwrap_or_default();
    (finding.level == Level::Refused).then(|| format!("{what} '{}': {}{limit}", finding.gate, finding.reading))
}

fn exit_status(ended: &Ended, examined: &Examined) -> Finding {
    let limit = "exit status 0";
    if let Some(why) = &ended.why {
        return Finding::refused(EXIT_STATUS, format!("ended by sparkbench: {why}"), "see the watchdog that ended it")
            .limit(limit);
    }
    // Inside a container the program's own status counts. That of the wrapper may differ.
    let code = examined.code.or(ended.code);
    let reading = match (code, ended.signal) {
        (Some(0), None) => return Finding::passed(EXIT_STATUS, "exit status 0").value(0.0, "status").limit(limit),
        (Some(code), None) if code > 128 => {
            format!("exit status {code}, as after {}", signal(code - 128))
        }
        (Some(code), None) => format!("exit status {code}"),
        (_, Some(number)) => format!("ended by {}", signal(number)),
        (None, None) => "neither exit status nor signal is known".to_owned(),
    };
    let finding = Finding::refused(EXIT_STATUS, reading, "read the last lines of stderr.log and stdout.log of the run")
        .limit(limit);
    match code {
        Some(code) => finding.value(f64::from(code), "status"),
        None => finding,
    }
}

/// How a server took its dismissal. Whatever it does then, its work was done: an odd end is worth a look and fails nothing.
fn dismissal(ended: &Ended, examined: &Examined) -> Finding {
    let limit = "ends when it is asked to";
    let code = examined.code.or(ended.code);
    let (polite, words) = match (code, ended.signal) {
        (Some(0), _) => (true, "exit status 0".to_owned()),
        (Some(code), _) if code > 128 => {
            (asked_for(code - 128), format!("exit status {code}, as after {}", signal(code - 128)))
        }
        (Some(code), _) => (false, format!("exit status {code}")),
        (None, Some(number)) => (asked_for(number), format!("ended by {}", signal(number))),
        // Nothing of ours was running.
        (None, None) => (true, "nothing was started".to_owned()),
    };
    let reading = format!("{words}, when it was asked to end after the load");
    let finding = if polite {
        Finding::passed(EXIT_STATUS, reading)
    } else {
        let remedy = "read the last lines of its log. The load was done by then, and its figures are valid";
        Finding::warned(EXIT_STATUS, reading, remedy)
    };
    finding.limit(limit)
}

/// SIGTERM, or SIGINT for programs that pass it on as that.
fn asked_for(number: i32) -> bool {
    matches!(Signal::try_from(number), Ok(Signal::SIGTERM | Signal::SIGINT))
}

/// A signal's number and name.
fn signal(number: i32) -> String {
    Signal::try_from(number).map_or_else(|_| format!("signal {number}"), |name| format!("signal {number} ({name})"))
}

fn out_of_memory(examined: &Examined) -> Finding {
    if examined.out_of_memory {
        Finding::refused(
            OUT_OF_MEMORY,
            "the environment says that the program was killed for lack of memory",
            "raise the memory limit of the environment, or give the workload less memory",
        )
    } else {
        Finding::passed(OUT_OF_MEMORY, "the environment reports no kill for lack of memory")
    }
}

fn asked_and_ran(environment: &[CheckWire], workload: &[CheckWire]) -> Finding {
    let all = || environment.iter().chain(workload);
    let words = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
    let mismatches: Vec<String> = all()
        .filter(|check| check.result == "mismatch")
        .map(|check| {
            format!(
                "{}: asked for {}, but ran {} ({})",
                check.item,
                words(&check.asked),
                words(&check.ran),
                check.source
            )
        })
        .collect();
    let limit = "the run did what was asked for";
    if !mismatches.is_empty() {
        return Finding::refused(
            ASKED_AND_RAN,
            mismatches.join(", "),
            "find where the setting is lost between suite and program. The command line is in run.json",
        )
        .value(mismatches.len() as f64, "mismatches")
        .limit(limit);
    }
    let count = |result: &str| all().filter(|check| check.result == result).count();
    let (matched, unknown) = (count("match"), count("unknown"));
    if matched == 0 {
        return Finding {
            level: Level::NotAvailable,
            ..Finding::warned(
                ASKED_AND_RAN,
                "nothing shows what really ran",
                "let the workload leave a report that names its model and its requests",
            )
            .limit(limit)
        };
    }
    let rest = if unknown > 0 { format!(", {unknown} not known") } else { String::new() };
    Finding::passed(ASKED_AND_RAN, format!("{matched} items match{rest}")).limit(limit)
}

fn list(name: &str, faults: &[String], remedy: &str) -> Finding {
    if faults.is_empty() {
        Finding::passed(name, "nothing is missing").limit("nothing is missing")
    } else {
        Finding::refused(name, faults.join(", "), remedy)
            .value(faults.len() as f64, "faults")
            .limit("nothing is missing")
    }
}

fn marks(marks: &[String]) -> Finding {
    if marks.is_empty() {
        return Finding::passed(ITERATIONS, "no marks");
    }
    Finding::warned(
        ITERATIONS,
        marks.join(", "),
        "compare with the telemetry of the same time. Marked figures are kept",
    )
    .value(marks.len() as f64, "marks")
}

fn left_running(closed: &Closed) -> Finding {
    if closed.outlived.is_empty() {
        return Finding::passed(LEFT_RUNNING, "nothing").value(0.0, "processes").limit("nothing");
    }
    Finding::warned(
        LEFT_RUNNING,
        format!("{} were still running after the first process and had to be ended", closed.outlived.join(", ")),
        "let the workload wait for its own processes. No figure includes their work after its end",
    )
    .value(closed.outlived.len() as f64, "processes")
    .limit("nothing")
}

fn clean_up(closed: &Closed) -> Finding {
    if closed.after_failed.is_empty() {
        return Finding::passed(CLEAN_UP, "complete");
    }
    Finding::warned(
        CLEAN_UP,
        closed.after_failed.join(", "),
        "look for leftovers with the name of the run ('docker ps -a', 'machinectl'). The next start of the collector removes them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(code: Option<i32>, signal: Option<i32>, why: Option<&str>) -> Ended {
        Ended { code, signal, why: why.map(str::to_owned), ..Ended::default() }
    }

    fn check(item: &str, result: &str) -> CheckWire {
        CheckWire {
            item: item.to_owned(),
            asked: Some("meta-llama/Llama-3.1-70B".to_owned()),
            ran: (result != "unknown").then(|| "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B".to_owned()),
            source: "report.json".to_owned(),
            result: result.to_owned(),
        }
    }

    fn judged(ended: Option<Ended>, examined: &Examined, outcome: &Outcome, watched: &[Finding]) -> Judged {
        judge(&Evidence {
            gates: &[],
            trouble: &[],
            ended: ended.as_ref(),
            closed: Some(&Closed::default()),
            examined,
            outcome,
            watched,
            dismissed: false,
        })
    }

    fn level(judged: &Judged, name: &str) -> Level {
        judged.findings.iter().find(|finding| finding.gate == name).unwrap().level
    }

    #[test]
    fn a_run_that_ended_well_has_no_failure_and_every_check() {
        let outcome =
            Outcome { checks: vec![check("requests", "match"), check("revision", "unknown")], ..Outcome::default() };
        let judged = judged(
            Some(ended(Some(0), None, None)),
            &Examined::default(),
            &outcome,
            &[Finding::passed("memory-floor", "60 GiB")],
        );
        assert_eq!(judged.failure, None);
        let names: Vec<&str> = judged.findings.iter().map(|finding| finding.gate.as_str()).collect();
        assert_eq!(names[0], "memory-floor");
        assert_eq!(&names[1..], CHECKS);
        assert!(judged.findings.iter().all(|finding| finding.level == Level::Passed), "{:?}", judged.findings);
    }

    #[test]
    fn another_model_than_the_one_asked_for_fails_the_run_however_well_it_ended() {
        let outcome = Outcome { checks: vec![check("model_id", "mismatch")], ..Outcome::default() };
        let judged = judged(Some(ended(Some(0), None, None)), &Examined::default(), &outcome, &[]);
        assert_eq!(
            judged.failure.unwrap(),
            "model_id: asked for meta-llama/Llama-3.1-70B, but ran deepseek-ai/DeepSeek-R1-Distill-Qwen-7B (report.json)"
        );
    }

    #[test]
    fn the_first_cause_comes_first_and_every_cause_is_named() {
        let floor = Finding::refused("memory-floor", "only 3.10 GiB available", "less");
        let xid = Finding::refused("driver-faults", "Xid 31", "look");
        let examined =
            Examined { out_of_memory: true, faults: vec!["cut off from its GPU".to_owned()], ..Examined::default() };
        let outcome = Outcome { faults: vec!["no report.json".to_owned()], ..Outcome::default() };
        let why = "memory-floor: only 3.10 GiB available";
        let judged = judged(Some(ended(None, Some(15), Some(why))), &examined, &outcome, &[floor, xid]);
        assert_eq!(
            judged.failure.unwrap(),
            "ended by sparkbench: memory-floor: only 3.10 GiB available; watchdog 'driver-faults': Xid 31; the environment says that the \
             program was killed for lack of memory; cut off from its GPU; no report.json"
        );
    }

    #[test]
    fn an_exit_is_told_by_status_or_by_signal() {
        let cases = [
            (Some(1), None, None, "exit status 1"),
            (None, Some(9), None, "ended by signal 9 (SIGKILL)"),
            (Some(137), None, None, "exit status 137, as after signal 9 (SIGKILL)"),
            (Some(0), None, Some(3), "exit status 3"),
            (None, None, None, "neither exit status nor signal is known"),
        ];
        for (code, signal, inside, words) in cases {
            let examined = Examined { code: inside, ..Examined::default() };
            let judged = judged(Some(ended(code, signal, None)), &examined, &Outcome::default(), &[]);
            assert_eq!(judged.failure.as_deref(), Some(words));
        }
        // The wrapper failed to say so, the program inside did well.
        let inside = Examined { code: Some(0), ..Examined::default() };
        assert_eq!(judged(Some(ended(Some(125), None, None)), &inside, &Outcome::default(), &[]).failure, None);
    }

    #[test]
    fn a_server_that_is_dismissed_has_not_failed_however_it_goes() {
        for (code, signal, level, words) in [
            (Some(0), None, Level::Passed, "exit status 0"),
            (None, Some(15), Level::Passed, "ended by signal 15 (SIGTERM)"),
            (Some(143), None, Level::Passed, "exit status 143, as after signal 15 (SIGTERM)"),
            (None, Some(9), Level::Warned, "ended by signal 9 (SIGKILL)"),
            (Some(1), None, Level::Warned, "exit status 1"),
            (None, None, Level::Passed, "nothing was started"),
        ] {
            let judge_it = |outcome: &Outcome| {
                judge(&Evidence {
                    gates: &[],
                    trouble: &[],
                    ended: Some(&ended(code, signal, Some("the load against it is done"))),
                    closed: None,
                    examined: &Examined::default(),
                    outcome,
                    watched: &[],
                    dismissed: true,
                })
            };
            let judged = judge_it(&Outcome::default());
            assert_eq!(judged.failure, None, "{words}");
            let found = judged.findings.iter().find(|finding| finding.gate == EXIT_STATUS).unwrap();
            assert_eq!(found.level, level, "{words}");
            assert!(found.reading.starts_with(words), "{}", found.reading);
            let faulty = Outcome { faults: vec!["all 3 requests failed".to_owned()], ..Outcome::default() };
            assert_eq!(judge_it(&faulty).failure.as_deref(), Some("all 3 requests failed"));
        }
    }

    #[test]
    fn a_run_that_was_never_started_says_which_gates_refused() {
        let gates = [
            Finding::passed("gpu-present", "NVIDIA GB10"),
            Finding::refused("gpu-temperature", "61 C", "wait"),
            Finding::refused("disk-space", "0.1 GiB free", "free"),
        ];
        let none = (Examined::default(), Outcome::default());
        let evidence = Evidence {
            gates: &gates,
            trouble: &[],
            ended: None,
            closed: None,
            examined: &none.0,
            outcome: &none.1,
            watched: &[],
            dismissed: false,
        };
        let judged = judge(&evidence);
        assert_eq!(judged.failure.unwrap(), "gate 'gpu-temperature': 61 C; gate 'disk-space': 0.1 GiB free");
        assert_eq!(judged.findings, []);
        let trouble = ["cannot start 'docker'".to_owned()];
        assert_eq!(
            judge(&Evidence { gates: &[], trouble: &trouble, ..evidence }).failure.unwrap(),
            "cannot start 'docker'"
        );
        assert!(judge(&Evidence { gates: &[], ..evidence }).failure.is_some(), "a run without an end is not a success");
    }

    #[test]
    fn a_run_whose_guard_was_lost_has_failed_and_says_so_once() {
        let lost = "its guard was killed by signal 9 (SIGKILL)";
        let closed = Closed { lost: Some(lost.to_owned()), ..Closed::default() };
        for (ended, words) in [
            (ended(None, Some(9), Some(lost)), format!("ended by sparkbench: {lost}")),
            (ended(Some(0), None, None), lost.to_owned()),
            (ended(None, Some(9), Some("x: y")), format!("ended by sparkbench: x: y; {lost}")),
        ] {
            let judged = judge(&Evidence {
                gates: &[],
                trouble: &[],
                ended: Some(&ended),
                closed: Some(&closed),
                examined: &Examined::default(),
                outcome: &Outcome::default(),
                watched: &[],
                dismissed: false,
            });
            assert_eq!(judged.failure, Some(words));
        }
    }

    #[test]
    fn what_outlived_the_run_and_odd_iterations_are_marks() {
        let closed = Closed {
            outlived: vec!["ray".to_owned()],
            after_failed: vec!["docker rm: no daemon".to_owned()],
            ..Closed::default()
        };
        let outcome = Outcome { marks: vec!["iteration 7 took 4 times the median".to_owned()], ..Outcome::default() };
        let well = ended(Some(0), None, None);
        let judged = judge(&Evidence {
            gates: &[],
            trouble: &[],
            ended: Some(&well),
            closed: Some(&closed),
            examined: &Examined::default(),
            outcome: &outcome,
            watched: &[],
            dismissed: false,
        });
        assert_eq!(judged.failure, None);
        for name in [ITERATIONS, LEFT_RUNNING, CLEAN_UP] {
            assert_eq!(level(&judged, name), Level::Warned, "{name}");
        }
        assert_eq!(level(&judged, ASKED_AND_RAN), Level::NotAvailable);
        assert!(judged.findings.iter().all(|finding| finding.level == Level::Passed || finding.remedy.is_some()));
    }
}
