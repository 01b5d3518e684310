//! The collector is killed with SIGKILL again and again at seeded moments. Nothing that was finished is lost or done twice, and nothing is
//! left on the machine.
//!
//! Every fourth time the guard is killed too, at once or while it cleans up, so that only `--resume` is left to do it.
//!
//! `SPARKBENCH_KILLS` sets the number of kills (24 without it; the landing check uses 60), `SPARKBENCH_KILL_SEED` their moments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use sparkbench::archive::lock::held;

use super::left::{self, Machine};
use crate::support::folder::Folder;
use crate::support::program::run_in;
use crate::support::roots;
use crate::support::wait::{let_pass, until};

/// Kills without the variable: enough to meet every step, and over within a minute.
const KILLS: usize = 24;

/// A moment that has not been met while the journal has grown by so many lines, a few runs, has been missed: it is not waited for longer.
const MISSED: usize = 12;

/// Looks for a moment in a row. Moments of milliseconds are looked for without a longer pause.
const LOOKS: usize = 400;

#[test]
fn a_collector_that_is_killed_at_any_moment_loses_nothing_and_leaves_nothing() {
    let kills = number("SPARKBENCH_KILLS").map_or(KILLS, |kills| kills as usize);
    let seed = number("SPARKBENCH_KILL_SEED").unwrap_or(20_261_121);
    let folder = Folder::new("kill");
    let roots = roots::make(folder.path());
    // About as many runs as kills let through: the last kills still find something to do.
    // More runs than kills, so that the campaign is not over before the last of them.
    let suite = roots.suite(folder.path(), (5 * kills).div_ceil(4 * roots.labels.len()).max(3));
    let before = Machine::look(folder.path());
    let archive = folder.path().join("archive");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut done = BTreeMap::new();
    let mut moments: BTreeMap<String, usize> = BTreeMap::new();
    let mut guards = 0;
    for kill in 0..kills {
        let mut collector = start(folder.path(), &suite);
        let wait = match kill % 4 {
            0 => Wait::Nothing(Duration::from_micros(random.random_range(0..1_500_000))),
            1 if kill % 8 == 5 => Wait::Named(Duration::from_micros(random.random_range(0..4_000))),
            // Close behind a line: a step of the archive takes a few milliseconds.
            1 => Wait::Lines(random.random_range(1..9), Duration::from_micros(random.random_range(0..20_000))),
            2 => Wait::Work(Duration::from_micros(random.random_range(0..500_000))),
            _ => Wait::Guard(Duration::from_micros(random.random_range(0..300_000))),
        };
        wait.on(&mut collector, &archive);
        let _ = collector.kill();
        let _ = collector.wait();
        if kill % 4 == 3 {
            // At once, or while the guard ends the tree of the dead collector.
            let_pass(Duration::from_millis(random.random_range(0..3) * random.random_range(0..40)));
            guards += left::kill_all(&left::guards(&archive));
        }
        // A program that it was just starting holds a copy of its lock until it is started.
        until("the lock of the dead collector is gone", || held(&archive) != Some(true));
        *moments.entry(moment(&archive)).or_default() += 1;
        // What was complete stays exactly as it was.
        let now = complete(&archive);
        for (id, hash) in &done {
            assert_eq!(now.get(id), Some(hash), "kill {kill}: run {id} was lost or changed");
        }
        done = now;
    }
    eprintln!("{kills} kills with seed {seed}, {guards} of them of the guard too; what each met:");
    moments.iter().for_each(|(moment, times)| eprintln!("  {times:4}  {moment}"));
    eprintln!("{} runs were complete after the last kill", done.len());
    run_in(folder.path(), &["collect", "suite.toml", "--archive", "archive", "--resume"], &[]).expect(0);
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
    every_run_once(&archive, &done);
    before.expect_nothing_more(&archive);
    // Going on with what is complete changes nothing.
    let journal = fs::read(archive.join("journal.jsonl")).unwrap();
    run_in(folder.path(), &["collect", "suite.toml", "--archive", "archive", "--resume"], &[]).expect(0);
    assert_eq!(fs::read(archive.join("journal.jsonl")).unwrap(), journal);
}

/// Which step a kill came after, as the archive shows it.
fn moment(archive: &Path) -> String {
    if !archive.join("campaign.json").exists() {
        return "before campaign.json".to_owned();
    }
    let journal = fs::read_to_string(archive.join("journal.jsonl")).unwrap_or_default();
    let torn = if journal.is_empty() || journal.ends_with('\n') { "" } else { ", the next line torn" };
    let last = journal.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(last) = last else { return format!("before the first line{torn}") };
    let event = last["event"].as_str().unwrap_or_default();
    if event != "started" {
        return format!("{event}{torn}");
    }
    let run = last["run"].as_str().unwrap_or_default();
    let hidden = hidden(archive, run);
    let has = |name: &str| hidden.as_ref().is_some_and(|folder| folder.join(name).exists());
    let stage = match &hidden {
        None if archive.join("runs").join(run).exists() => "named, its line not written",
        None => "no folder yet",
        Some(_) if has("run.json") => "run.json written, not named yet",
        Some(_) if has("work/left.txt") && has("vmstat-after.txt") => "over, being kept",
        Some(_) if has("work/left.txt") => "the program has done its work, being ended or examined",
        Some(_) if has("telemetry.csv") => "running",
        Some(_) if has("stdout.log") => "being launched",
        Some(_) => "being made ready",
    };
    format!("{event}: {stage}{torn}")
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is '{text}'")))
}

fn start(folder: &Path, suite: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .arg("collect")
        .arg(suite)
        .args(["--archive", "archive", "--resume", "--quiet"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("talk.txt")).unwrap())
        .spawn()
        .expect("the program starts")
}

/// What a kill waits for, and how long after it. Whatever it meets then, nothing may be lost.
enum Wait {
    /// From the start on.
    Nothing(Duration),
    /// Some more lines of the journal.
    Lines(usize, Duration),
    /// A program has done its work: what follows is the end of the run.
    Work(Duration),
    /// `run.json` is being written: naming the folder and the line of the journal follow within a few milliseconds.
    Named(Duration),
    /// A guard is there.
    Guard(Duration),
}

impl Wait {
    fn on(self, collector: &mut Child, archive: &Path) {
        let lines = || {
            fs::read(archive.join("journal.jsonl")).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
        };
        let first = lines();
        let met = |wait: &Self| match wait {
            Self::Nothing(_) => true,
            Self::Lines(steps, _) => lines() >= first + steps,
            Self::Work(_) => hidden(archive, "").is_some_and(|folder| folder.join("work/left.txt").exists()),
            Self::Named(_) => hidden(archive, "").is_some_and(|folder| {
                [".run.json.sparkbench-aside", "run.json"].iter().any(|name| folder.join(name).exists())
            }),
            Self::Guard(_) => !left::guards(archive).is_empty(),
        };
        let between = Duration::from_micros(if matches!(self, Self::Named(_)) { 50 } else { 1_000 });
        until("the moment has come, was missed, or will not come any more", || {
            (0..LOOKS).any(|look| {
                if look > 0 {
                    let_pass(between);
                }
                met(&self) || lines() >= first + MISSED || collector.try_wait().unwrap().is_some()
            })
        });
        let (Self::Nothing(more) | Self::Lines(_, more) | Self::Work(more) | Self::Named(more) | Self::Guard(more)) =
            self;
        let_pass(more);
        if let Some(status) = collector.try_wait().unwrap() {
            assert!(status.success(), "the collector ended with {status}: {}", talk(archive));
        }
    }
}

/// Folder of a run that is not finished.
fn hidden(archive: &Path, run: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(archive.join("runs")).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with('.') && name.contains(run)
    })
}

fn talk(archive: &Path) -> String {
    archive.parent().and_then(|folder| fs::read_to_string(folder.join("talk.txt")).ok()).unwrap_or_default()
}

/// Runs under their final names, with the hash of their `run.json`.
fn complete(archive: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(archive.join("runs")) else { return BTreeMap::new() };
    entries
        .map(|entry| entry.unwrap())
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| {
            let run = fs::read(entry.path().join("run.json")).expect("a folder under its final name is complete");
            (entry.file_name().to_string_lossy().into_owned(), sparkbench::archive::hash(&run))
        })
        .collect()
}

/// Every planned run has one outcome in the journal and one folder.
fn every_run_once(archive: &Path, before_the_end: &BTreeMap<String, String>) {
    let campaign: Value = serde_json::from_slice(&fs::read(archive.join("campaign.json")).unwrap()).unwrap();
    let planned: BTreeSet<String> =
        campaign["plan"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
    let folders: BTreeSet<String> = complete(archive).into_keys().collect();
    assert_eq!(folders, planned);
    assert!(before_the_end.keys().all(|id| planned.contains(id)));
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut ended: BTreeSet<String> = BTreeSet::new();
    let mut events: BTreeMap<String, usize> = BTreeMap::new();
    for line in fs::read_to_string(archive.join("journal.jsonl")).unwrap().lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let event = line["event"].as_str().unwrap_or_default().to_owned();
        if let Some(run) = line["run"].as_str() {
            match event.as_str() {
                "finished" | "adopted" => {
                    *outcomes.entry(run.to_owned()).or_default() += 1;
                    ended.insert(run.to_owned());
                }
                "failed" => panic!("{run} failed: {line}"),
                "started" => assert!(!ended.contains(run), "{run} was begun again after its end"),
                _ => {}
            }
        }
        *events.entry(event).or_default() += 1;
    }
    eprintln!("events of the journal: {events:?}");
    assert!(outcomes.values().all(|times| *times == 1), "{outcomes:?}");
    assert_eq!(outcomes.into_keys().collect::<BTreeSet<_>>(), planned);
}
