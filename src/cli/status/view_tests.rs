//! Tests of the state, from journals made line by line.

use super::*;
use sparkbench_archive::manifest::CampaignWire;
use sparkbench_model::{Origin, Reading, Source};
use sparkbench_plan::estimate::AROUND_S;

const BEGUN: i64 = 1_790_000_000_000;

fn planned(environment: &str, repeat: u32) -> PlannedRun {
    PlannedRun {
        id: format!("{environment}-{repeat}"),
        environment: environment.to_owned(),
        model: "m".to_owned(),
        workload: "w".to_owned(),
        repeat: Some(repeat),
        ..PlannedRun::default()
    }
}

/// Two environments, two repeats, interleaved.
fn campaign() -> CampaignWire {
    let plan = [planned("a", 1), planned("b", 1), planned("b", 2), planned("a", 2)];
    CampaignWire { name: "test".to_owned(), plan: plan.into(), cooldown_s: Some(60.0), ..CampaignWire::default() }
}

/// Lines at seconds since the beginning, on both clocks.
fn journal(lines: &[(f64, Event)]) -> Vec<Entry> {
    let entry = |(at, (seconds, event)): (usize, &(f64, Event))| Entry {
        line: at as u64 + 1,
        seq: at as u64 + 1,
        utc: Some(moment(*seconds)),
        monotonic_s: Some(5000.0 + seconds),
        name: "event".to_owned(),
        event: Some(event.clone()),
    };
    lines.iter().enumerate().map(entry).collect()
}

fn moment(seconds: f64) -> Instant {
    Instant(BEGUN + (seconds * 1000.0) as i64)
}

fn opened() -> Event {
    Event::Opened { tool: "t".to_owned(), pid: 1, boot_id: None }
}

fn started(run: &str) -> Event {
    Event::Started { run: run.to_owned() }
}

fn finished(run: &str) -> Event {
    Event::Finished { run: run.to_owned(), run_sha256: String::new() }
}

fn failed(run: &str) -> Event {
    Event::Failed { run: run.to_owned(), run_sha256: String::new(), why: "exit status 1".to_owned() }
}

fn done(environment: &str, repeat: u32, rate: f64) -> Run {
    let origin = Origin { file: "f".to_owned(), line: None, field: None, rule: "test" };
    let reading =
        |metric: &str, value| Reading { metric: metric.to_owned(), value, decimals: None, origin: origin.clone() };
    Run {
        id: format!("{environment}-{repeat}"),
        campaign: "test".to_owned(),
        environment: environment.to_owned(),
        model: "m".to_owned(),
        workload: "w".to_owned(),
        repeat: Some(repeat),
        ended: Some(moment(f64::from(repeat))),
        status: Status::Done,
        readings: vec![reading("output_throughput_tok_s", rate), reading("gpu_temp_end_c", 60.0)],
        source: Source { path: "p".to_owned(), format: "f".to_owned(), sha256: "s".to_owned(), joined: None },
        ..Run::default()
    }
}

fn parts(lines: &[(f64, Event)], held: Option<bool>) -> Parts {
    Parts {
        campaign: campaign(),
        journal: Some((journal(lines), Tail::Whole)),
        held,
        sealed: false,
        runs: Vec::new(),
        telemetry: Vec::new(),
        unread: Vec::new(),
        odd: Vec::new(),
    }
}

#[test]
fn every_planned_run_is_counted_once_in_its_cell() {
    let lines = [
        (0.0, opened()),
        (10.0, started("a-1")),
        (40.0, finished("a-1")),
        (100.0, started("b-1")),
        (110.0, failed("b-1")),
        (170.0, started("b-2")),
    ];
    let view = View::of(&parts(&lines, Some(true)), moment(180.0));
    assert_eq!(view.state, State::Running);
    let expected = Counts { planned: 4, done: 1, running: 1, failed: 1, left: 1, ..Counts::default() };
    assert_eq!(view.runs, expected);
    let of = |environment: &str| view.cells.iter().find(|row| row.environment == environment).unwrap().runs.unwrap();
    assert_eq!((of("a").done, of("a").left, of("b").failed, of("b").running), (1, 1, 1, 1));
    let current = view.current.clone().unwrap();
    assert_eq!((current.run.as_str(), current.for_s), ("b-2", Some(10.0)));
    assert_eq!(view.next.as_deref(), Some("a-2"));
    assert_eq!(view.elapsed_s, Some(180.0));
    assert_eq!(view.failures, [Reason { run: "b-1".to_owned(), why: "exit status 1".to_owned() }]);
    // One run took 30 s. Its like in the other environment is taken to take as long, 10 s of which have passed. The pause before the
    // first of them is over. No pause between two good runs was seen, so the other has the least pause and what is around a run.
    let left = view.left.unwrap();
    assert_eq!((left.measured, left.guessed), (2, 0));
    assert!((left.seconds - (20.0 + 60.0 + AROUND_S + 30.0)).abs() < 1e-9, "{left:?}");
}

#[test]
fn a_broken_off_run_a_stop_and_a_pause_are_told_apart() {
    let begun = [(0.0, opened()), (10.0, started("a-1"))];
    let state = |lines: &[(f64, Event)], held| View::of(&parts(lines, held), moment(500.0));
    let broken = state(&begun, Some(false));
    assert_eq!((broken.state, broken.elapsed_s), (State::BrokenOff, Some(10.0)));
    assert!(broken.notes[0].contains("--resume"));
    assert_eq!(state(&begun, None).state, State::Unknown);
    let mut between = begun.to_vec();
    between.push((20.0, finished("a-1")));
    assert_eq!(state(&between, Some(true)).state, State::BetweenRuns);
    assert_eq!(state(&between, Some(false)).state, State::Stopped);
    between.push((21.0, Event::Stopped { why: "interrupted by the user".to_owned() }));
    assert!(state(&between, Some(false)).notes[0].contains("interrupted by the user"));
    // What an earlier collector said is not why this one stopped.
    between.push((30.0, opened()));
    assert!(!state(&between, Some(false)).notes[0].contains("interrupted by the user"));
}

#[test]
fn an_interrupted_run_is_left_and_counted_and_made_again() {
    let lines = [
        (0.0, opened()),
        (10.0, started("a-1")),
        (
            5.0,
            Event::Interrupted {
                run: "a-1".to_owned(),
                folder: "interrupted/a-1".to_owned(),
                files: Vec::new(),
                dropped: Vec::new(),
                why: "crash".to_owned(),
            },
        ),
    ];
    let view = View::of(&parts(&lines, Some(false)), moment(20.0));
    assert_eq!((view.runs.left, view.runs.interrupted, view.runs.running), (4, 1, 0));
    assert_eq!(view.next.as_deref(), Some("a-1"));
    // The clock went back. No negative time comes of it.
    assert_eq!(View::of(&parts(&lines, Some(true)), moment(-100.0)).elapsed_s, None);
}

#[test]
fn nothing_left_is_complete_and_a_missing_seal_is_said() {
    let mut lines = vec![(0.0, opened())];
    for (at, run) in ["a-1", "b-1", "b-2"].iter().enumerate() {
        lines.push((at as f64 * 10.0, started(run)));
        lines.push((at as f64 * 10.0 + 5.0, finished(run)));
    }
    lines.push((50.0, Event::Skipped { run: "a-2".to_owned(), why: "does not fit".to_owned() }));
    let open = View::of(&parts(&lines, Some(false)), moment(90.0));
    assert_eq!((open.state, open.left, open.elapsed_s), (State::Complete, None, Some(50.0)));
    assert!(open.notes[0].contains("seal") && !open.preliminary);
    assert_eq!(open.skipped[0].why, "does not fit");
    lines.push((60.0, Event::Closed { finished: 3, failed: 0 }));
    let sealed = Parts { sealed: true, ..parts(&lines, Some(false)) };
    assert_eq!(View::of(&sealed, moment(90.0)).notes, Vec::<String>::new());
}

#[test]
fn a_lost_run_of_a_campaign_that_had_ended_is_no_run_that_was_not_needed() {
    let why = || "it was decided".to_owned();
    let lines = [
        (0.0, opened()),
        (1.0, started("a-1")),
        (2.0, finished("a-1")),
        (3.0, started("b-1")),
        (4.0, finished("b-1")),
        (5.0, Event::Looked { look: 1, blocks: 1, decided: 1, open: 0, end: Some(why()) }),
        (6.0, Event::Skipped { run: "b-2".to_owned(), why: why() }),
        (7.0, Event::Skipped { run: "a-2".to_owned(), why: why() }),
        (
            8.0,
            Event::Lost {
                path: "runs/a-1".to_owned(),
                run: Some("a-1".to_owned()),
                files: Vec::new(),
                left: Vec::new(),
                why: "run.json was changed".to_owned(),
            },
        ),
        (9.0, Event::Skipped { run: "a-1".to_owned(), why: why() }),
    ];
    let view = View::of(&parts(&lines, Some(false)), moment(20.0));
    assert_eq!((view.runs.done, view.runs.skipped, view.runs.lost, view.runs.left), (1, 2, 1, 0));
    assert_eq!((view.skipped.len(), view.lost.len()), (2, 1));
    assert_eq!(view.json()["runs"]["lost"], 1);
    // Where nothing is lost the word is not there.
    let whole = View::of(&parts(&lines[..8], Some(false)), moment(20.0));
    assert_eq!((whole.runs.skipped, whole.json()["runs"].get("lost")), (2, None));
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_told_and_no_remedy_of_a_crash() {
    let lines = [(0.0, opened()), (1.0, Event::Skipped { run: "a-1".to_owned(), why: "no".to_owned() })];
    let odd = |name: &str| vec![(name.to_owned(), "a pipe")];
    let seal = Parts { odd: odd(SEAL_FILE), ..parts(&lines, Some(false)) };
    let notes = View::of(&Parts { campaign: CampaignWire::default(), ..seal }, moment(1.0)).notes;
    assert!(
        notes[0].contains("'seal.json' is a pipe") && !notes.iter().any(|note| note.contains("missing")),
        "{notes:?}"
    );
    let journal = Parts { odd: odd(JOURNAL_FILE), journal: None, ..parts(&[], Some(false)) };
    let notes = View::of(&journal, moment(1.0)).notes;
    assert!(notes[0].contains("'journal.jsonl' is a pipe"), "{notes:?}");
    assert!(!notes.iter().any(|note| note.contains("no journal")), "{notes:?}");
}

#[test]
fn figures_are_means_of_the_runs_that_ended_well() {
    let mut bad = done("b", 1, 1.0);
    bad.status = Status::Failed("exit status 1".to_owned());
    let with = |campaign: CampaignWire| {
        let runs = vec![done("a", 1, 100.0), done("a", 2, 110.0), bad.clone()];
        let part = Parts { runs, campaign, ..parts(&[(0.0, opened())], Some(true)) };
        View::of(&part, moment(1.0))
    };
    let view = with(campaign());
    // No primary metric is named, so what is reported is shown. Temperatures stand in their own place.
    assert_eq!(view.metrics, ["output_throughput_tok_s"]);
    let figure = |at: usize| (view.cells[at].figures[0].n, view.cells[at].figures[0].mean);
    assert_eq!((figure(0), figure(1)), ((2, Some(105.0)), (0, None)));
    assert_eq!(view.last_runs[0].run, "a-2");
    // A primary metric that nobody reports gives way to one that is there.
    let named = CampaignWire { primary: vec!["ttft_ms".to_owned()], ..campaign() };
    assert_eq!(with(named).metrics, ["output_throughput_tok_s"]);
}

#[test]
fn an_archive_without_a_journal_is_read_from_its_runs() {
    let mut broken = done("b", 1, 1.0);
    broken.status = Status::Failed("out of memory".to_owned());
    let part = Parts { journal: None, runs: vec![done("a", 1, 1.0), broken], ..parts(&[], Some(false)) };
    let view = View::of(&part, moment(0.0));
    assert_eq!((view.runs.done, view.runs.failed, view.runs.left), (1, 1, 2));
    assert!(view.notes.iter().any(|note| note.contains("no journal")));
    let bare = Parts { campaign: CampaignWire::default(), ..part };
    let bare = View::of(&bare, moment(0.0));
    assert_eq!((bare.state, bare.runs.planned, bare.cells.len()), (State::Complete, 0, 2));
    assert_eq!(bare.cells[0].runs, None);
}

#[test]
fn tests_of_one_launch_are_one_run_of_the_plan() {
    let test = |name: &str, status: Status| {
        let mut run = done("a", 1, 1.0);
        run.id = format!("a-1-{name}");
        run.workload = format!("w-{name}");
        run.source.path = "runs/a-1/work/result.json".to_owned();
        run.status = status;
        run
    };
    let of = |second: Status| {
        let runs = vec![test("t1", Status::Done), test("t2", second), test("t3", Status::Done)];
        View::of(&Parts { journal: None, runs, ..parts(&[], Some(false)) }, moment(0.0))
    };
    let good = of(Status::Done);
    assert_eq!((good.runs.done, good.runs.left, good.last_runs.len()), (1, 3, 1));
    assert_eq!(of(Status::Failed("crash".to_owned())).runs.failed, 1);
    assert!(!good.notes.iter().any(|note| note.contains("--resume")));
    // The tests have figures and no counts of their own.
    assert_eq!(good.cells.iter().filter(|row| row.runs.is_none()).count(), 3);
}

#[test]
fn durations_do_not_reach_across_two_collectors() {
    let plan = campaign().plan;
    let lines = [
        (0.0, opened()),
        (1.0, started("a-1")),
        (2.0, opened()),
        (3.0, finished("a-1")),
        (10.0, started("b-1")),
        (30.0, finished("b-1")),
    ];
    let seen = observed(&plan, &journal(&lines));
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].took_s, seen[0].pause_s), (20.0, Some(7.0)));
}

#[test]
fn a_torn_line_is_news_only_when_nobody_is_writing_it() {
    let torn = |held| {
        let tail = Tail::Torn { line: 2, bytes: 4, sha256: String::new(), ended: false };
        let part = Parts { journal: Some((journal(&[(0.0, opened())]), tail)), ..parts(&[], held) };
        View::of(&part, moment(0.0)).notes.iter().any(|note| note.contains("incomplete after a crash"))
    };
    assert!(torn(Some(false)) && !torn(Some(true)));
}
