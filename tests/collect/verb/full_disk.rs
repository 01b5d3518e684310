//! Disks that fill, that are read-only, and that go away: what is finished stays, the message says so, and `--resume` goes on.
//!
//! `SPARKBENCH_DISK_TRIES` sets how many sizes of disk are tried (16 without it), each filling at another step.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::left;
use super::short::{Collector, WELL, WIDE, at_work, events, expect_no_process, hold, sampled, suite};
use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program::{Ending, run_in};
use crate::support::wait::until;

const TRIES: usize = 16;

/// A small disk in memory, taken down with the test.
struct Disk(PathBuf);

impl Disk {
    /// Nothing where this user may not mount.
    fn new(at: PathBuf, kib: usize) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "sparkbench-test"])
            .arg(&at)
            .output()
            .is_ok_and(|output| output.status.success());
        if !made {
            needs::skip("no tmpfs may be mounted here");
        }
        made.then_some(Self(at))
    }

    /// Mounts it with other options. The kernel refuses while somebody has a file open for writing.
    fn again(&self, options: &str) {
        let options = format!("remount,{options}");
        until("the disk is mounted anew", || {
            Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success()
        });
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--recursive", "--lazy"]).arg(&self.0).status();
    }
}

#[track_caller]
fn mount(options: &[&str], paths: &[&Path]) {
    let output = Command::new("mount").args(options).args(paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn collect(folder: &Path, archive: &Path) -> Ending {
    let archive = archive.to_str().unwrap();
    run_in(folder, &["collect", "suite.toml", "--archive", archive, "--resume"], &[])
}

fn verify(archive: &Path) {
    run_in(archive.parent().unwrap(), &["verify", archive.to_str().unwrap()], &[]).expect(0);
}

/// `run.json` of what is complete, by run.
fn complete(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let runs = fs::read_dir(archive.join("runs")).into_iter().flatten().flatten();
    runs.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| {
            let run = fs::read(entry.path().join("run.json")).expect("a folder under its final name is complete");
            (entry.file_name().to_string_lossy().into_owned(), run)
        })
        .collect()
}

fn outcomes(archive: &Path) -> usize {
    events(archive, "finished").len() + events(archive, "adopted").len()
}

#[test]
fn a_disk_that_fills_at_any_step_loses_nothing_and_the_campaign_goes_on_after_room_is_made() {
    let folder = Folder::new("full-disk");
    let tries = std::env::var("SPARKBENCH_DISK_TRIES").map_or(TRIES, |text| text.parse().unwrap());
    // How much three runs take.
    let Some(disk) = Disk::new(folder.path().join("disk"), 65_536) else { return };
    suite(folder.path(), WELL, 3, &WIDE);
    let archive = disk.0.join("archive");
    collect(folder.path(), &archive).expect(0);
    let output = Command::new("du").args(["-sk"]).arg(&archive).output().unwrap();
    let whole: usize = String::from_utf8(output.stdout).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    drop(disk);
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for attempt in 1..=tries {
        let kib = (whole * attempt / tries).next_multiple_of(4).max(4);
        let disk = Disk::new(folder.path().join("disk"), kib).unwrap();
        let ending = collect(folder.path(), &archive);
        let done = complete(&archive);
        if ending.code != Some(0) {
            assert_eq!(ending.code, Some(5), "a disk of {kib} KiB of {whole}: {}", ending.err);
            ending.complains(&["disk is full", "--resume"]);
        }
        let what = ending.err.lines().find(|line| line.contains("cannot")).unwrap_or("all fits").to_owned();
        *met.entry(what.split('\'').next().unwrap().trim().to_owned()).or_default() += 1;
        if let Some(id) = left::archive_id(&archive) {
            expect_no_process(&id);
        }
        // Still full: refused again, and nothing is worse than before.
        if ending.code != Some(0) {
            let again = collect(folder.path(), &archive);
            assert_eq!(again.code, Some(5), "{}", again.err);
            again.complains(&["disk is full"]);
            let now = complete(&archive);
            assert!(done.iter().all(|(id, run)| now.get(id) == Some(run)), "what was finished stays");
        }
        disk.again("size=65536k");
        let ending = collect(folder.path(), &archive);
        assert_eq!(ending.code, Some(0), "after a disk of {kib} KiB: {}", ending.err);
        verify(&archive);
        let now = complete(&archive);
        assert!(done.iter().all(|(id, run)| now.get(id) == Some(run)), "what was finished stays");
        assert_eq!((now.len(), outcomes(&archive)), (3, 3), "every run once");
    }
    eprintln!("{tries} disks of up to {whole} KiB; what did not fit:");
    met.iter().for_each(|(what, times)| eprintln!("  {times:4}  {what}"));
}

#[test]
fn runs_that_fill_the_disk_end_the_campaign_with_what_is_safe() {
    let folder = Folder::new("filling-runs");
    let Some(disk) = Disk::new(folder.path().join("disk"), 2048) else { return };
    suite(folder.path(), &format!("head -c 300000 /dev/urandom > $1/data.bin || exit 1\n{WELL}"), 10, &WIDE);
    let archive = disk.0.join("archive");
    let ending = collect(folder.path(), &archive).expect(5);
    let done = complete(&archive);
    assert!((1..10).contains(&done.len()), "{} runs fit", done.len());
    ending.complains(&["disk is full", "complete", "free space", "--resume"]);
    disk.again("size=32768k");
    collect(folder.path(), &archive).expect(0);
    verify(&archive);
    let now = complete(&archive);
    assert!(done.iter().all(|(id, run)| now.get(id) == Some(run)));
    assert_eq!((now.len(), outcomes(&archive)), (10, 10));
}

#[test]
fn an_archive_that_turns_read_only_is_told_and_gone_on_with() {
    let folder = Folder::new("read-only");
    let Some(disk) = Disk::new(folder.path().join("disk"), 32_768) else { return };
    let archive = disk.0.join("archive");
    let go = folder.path().join("go");
    suite(folder.path(), &format!("echo > $1/here\n{}{WELL}", hold(&go)), 2, &WIDE);
    let collector = Collector::start(folder.path(), &archive, &[]);
    until("a run is at work", || at_work(&archive).is_some());
    // Made read-only beside it first: laid over the archive writable, the collector could open a file through it before it turns.
    let beside = folder.path().join("read-only");
    fs::create_dir(&beside).unwrap();
    // Over the disk and not over the archive: what is new in the archive is taken for the run's, and taken away.
    mount(&["--bind"], &[&disk.0, &beside]);
    mount(&["-o", "remount,bind,ro"], &[&beside]);
    mount(&["--bind"], &[&beside, &disk.0]);
    fs::write(&go, "").unwrap();
    collector.end().expect(5).complains(&["read-only", "--resume"]);
    expect_no_process(&left::archive_id(&archive).unwrap());
    // And from the start on.
    collect(folder.path(), &archive).expect(5).complains(&["read-only", "--resume"]);
    for mounted in [&disk.0, &beside] {
        // Also where somebody is just looking around in it.
        assert!(Command::new("umount").arg("--lazy").arg(mounted).status().unwrap().success());
    }
    collect(folder.path(), &archive).expect(0);
    verify(&archive);
    assert_eq!((complete(&archive).len(), outcomes(&archive)), (2, 2));
}

#[test]
fn an_archive_that_goes_away_during_a_run_is_told_and_leaves_no_process() {
    let folder = Folder::new("gone-away");
    let archive = folder.path().join("archive");
    let go = folder.path().join("go");
    suite(folder.path(), &format!("echo > $1/here\n{}{WELL}", hold(&go)), 2, &WIDE);
    let collector = Collector::start(folder.path(), &archive, &[]);
    until("a run is at work and sampled", || sampled(&archive).is_some());
    let id = left::archive_id(&archive).unwrap();
    let away = folder.path().join("away");
    fs::rename(&archive, &away).unwrap();
    fs::write(&go, "").unwrap();
    collector.end().expect(5).complains(&["no longer there", "--resume"]);
    expect_no_process(&id);
    assert!(!archive.exists(), "nothing is begun anew where it was");
    fs::rename(&away, &archive).unwrap();
    collect(folder.path(), &archive).expect(0);
    verify(&archive);
    assert_eq!((complete(&archive).len(), outcomes(&archive)), (2, 2));
    // Removed for good.
    fs::remove_dir_all(&archive).unwrap();
    fs::remove_file(&go).unwrap();
    let collector = Collector::start(folder.path(), &archive, &[]);
    until("a run is at work and sampled", || sampled(&archive).is_some());
    let id = left::archive_id(&archive).unwrap();
    until("the archive is gone", || {
        let _ = fs::remove_dir_all(&archive);
        !archive.exists()
    });
    fs::write(&go, "").unwrap();
    collector.end().expect(5).complains(&["no longer there"]);
    expect_no_process(&id);
    assert!(!archive.join("seal.json").exists() && complete(&archive).is_empty(), "no archive without a journal");
}

/// Issue 15: a load whose disk filled printed no figures.
#[test]
fn a_load_whose_disk_fills_prints_the_figures_so_far_the_error_and_ends_with_5() {
    use sparkbench::mock::{self, Settings};
    let folder = Folder::new("full-disk-load");
    let Some(disk) = Disk::new(folder.path().join("disk"), 200) else { return };
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 100_000, ..Settings::default() }).unwrap();
    let address = format!("http://{}", running.address());
    let scratch = disk.0.display().to_string();
    let load = |more: &[&str]| {
        let shared = ["load", "--url", &address, "--osl", "128", "--requests", "4000", "--json", "so-far.json"];
        run_in(folder.path(), &[&shared[..], more].concat(), &[("TMPDIR", &scratch)]).expect(5)
    };
    let one = load(&["--concurrency", "16"]);
    one.complains(&["cannot write the records of the load", "No space left on device", "TMPDIR"]);
    for word in ["answered", "ttft_ms", "output tok/s", "not valid: cannot write the records"] {
        assert!(one.out.contains(word), "{word} is not in\n{}", one.out);
    }
    let text = fs::read_to_string(folder.path().join("so-far.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (completed, n) = (found["completed"].as_u64().unwrap(), found["chunk_gap_ms"]["n"].as_u64().unwrap());
    assert!(completed >= 1 && found["valid"].as_bool() == Some(false), "{found:#}");
    // Every answer that counts has all its chunks, those among them that the disk did not take.
    assert_eq!((found["output_tokens"].as_u64(), n), (Some(completed * 128), completed * 127), "{found:#}");
    let several = load(&["--concurrency", "16,32"]);
    assert!(several.out.lines().any(|line| line.starts_with("c16 ") && line.ends_with("not valid")), "{}", several.out);
    several.complains(&["measured before the error: 1"]);
    running.stop().unwrap();
}

/// Issue 15: a load was told to use `check SUITE` and `disk_free_min_gib`, and has neither.
#[test]
fn what_an_archived_load_is_advised_to_do_exists_and_works() {
    use sparkbench::mock::{self, Settings};
    let folder = Folder::new("advice-of-load");
    let running = mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 100_000, ..Settings::default() }).unwrap();
    let address = format!("http://{}", running.address());
    let help = run_in(folder.path(), &["load", "--help"], &[]).expect(0).out;
    let load = |more: &[&str]| {
        let shared = ["load", "--url", &address, "--osl", "8", "--requests", "4"];
        run_in(folder.path(), &[&shared[..], more].concat(), &[])
    };
    let advised = |ending: Ending, wanted: &str| {
        ending.complains(&[wanted]);
        for foreign in ["check SUITE", "disk_free_min_gib", "[gates]"] {
            assert!(!ending.err.contains(foreign), "a load has no {foreign}:\n{}", ending.err);
        }
        let words = ending.err.split(|c: char| c.is_whitespace() || "(),".contains(c));
        for option in words.filter(|word| word.starts_with("--")) {
            let is_option = help.split_whitespace().any(|word| word == option);
            assert!(is_option, "{option} is not an option of load:\n{}", ending.err);
        }
    };
    // A folder that holds a campaign, and one that holds something else.
    load(&["--archive", "one"]).expect(0);
    advised(load(&["--archive", "one"]).expect(2), "--resume");
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/notes.txt"), "mine").unwrap();
    advised(load(&["--archive", "mine"]).expect(2), "--archive DIR");
    load(&["--archive", "another"]).expect(0);
    let Some(disk) = Disk::new(folder.path().join("disk"), 200) else { return };
    let small = disk.0.join("archive").display().to_string();
    advised(load(&["--archive", &small]).expect(3), "leave out --archive");
    load(&[]).expect(0);
    // A disk that cannot be written at all.
    disk.again("ro");
    let ending = load(&["--archive", &small]);
    assert!(matches!(ending.code, Some(3 | 5)), "{ending:?}");
    advised(ending, "--archive");
    running.stop().unwrap();
}
