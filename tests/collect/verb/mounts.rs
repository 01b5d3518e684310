//! Mounts that a native workload leaves in its own folder: taken away, told, and never walked into.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use sparkbench::archive::{Retention, disk};

use super::left;
use super::scene::{LENIENT, SHORT, collect, head, path_with, script, verifies, watched};
use super::short::{Collector, WELL, WIDE, at_work, events, suite};
use crate::support::folder::Folder;
use crate::support::needs::skip;
use crate::support::program::run_in;
use crate::support::wait::until;

const COLLECT: [&str; 4] = ["collect", "suite.toml", "--archive", "archive"];

fn done(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Takes a mount away, also when the test fails.
struct Unmounted(String);

impl Drop for Unmounted {
    fn drop(&mut self) {
        done("umount", &[&self.0]);
    }
}

/// A folder with something of the machine's in `host/`. Nothing, with the reason said, where nothing may be mounted.
fn stage(name: &str) -> Option<Folder> {
    let folder = Folder::new(name);
    folder.put("host/kept.txt", "of the machine");
    folder.put("host/deep/kept.txt", "also of the machine");
    let at = folder.path().join("host/deep").display().to_string();
    if !(done("mount", &["-t", "tmpfs", "none", &at]) && done("umount", &[&at])) {
        skip("mounting needs root");
        return None;
    }
    Some(folder)
}

/// What is mounted below a folder.
fn mounted(folder: &Path) -> Vec<String> {
    let (table, shown) = (fs::read_to_string("/proc/self/mountinfo").unwrap(), folder.display().to_string());
    table.lines().filter(|line| line.contains(&shown)).map(str::to_owned).collect()
}

fn expect_the_machine_whole(folder: &Folder) {
    assert_eq!(mounted(folder.path()), Vec::<String>::new());
    let host = folder.path().join("host");
    assert_eq!(fs::read_to_string(host.join("kept.txt")).unwrap(), "of the machine");
    assert_eq!(fs::read_to_string(host.join("deep/kept.txt")).unwrap(), "also of the machine");
}

/// Folder and `run.json` of the only run that an event names.
fn only(archive: &Path, event: &str) -> (PathBuf, Value) {
    let found = events(archive, event);
    assert_eq!(found.len(), 1, "{found:?}");
    let folder = archive.join("runs").join(found[0]["run"].as_str().unwrap());
    let run = serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
    (folder, run)
}

#[test]
fn mounts_that_a_run_left_are_taken_away_and_told_and_their_files_are_nobodys() {
    let Some(folder) = stage("mounts-left") else { return };
    let archive = folder.path().join("archive");
    let host = folder.path().join("host").display().to_string();
    // In memory, of the same file system, upon another, of one file, and below a name with a blank.
    let script = format!(
        "cd \"$1\" && mkdir memory bound upon 'with blank' && : > file && \
         mount -t tmpfs none memory && mkdir memory/inner && mount -t tmpfs none memory/inner && echo lost > memory/inner/lost.txt && \
         mount --bind '{host}' bound && mount --bind '{host}' upon && mount -t tmpfs none upon && \
         mount --bind '{host}/kept.txt' file && mount --bind '{host}' 'with blank' || exit 9\n{WELL}"
    );
    suite(folder.path(), &script, 1, &WIDE);
    let ending = run_in(folder.path(), &COLLECT, &[]).expect(0);
    ending.complains(&["it was unmounted", "tmpfs on 'work/memory'", "What lies in it is not archived"]);
    expect_the_machine_whole(&folder);
    let (place, run) = only(&archive, "finished");
    let finding = run["watched"].as_array().unwrap().iter().find(|finding| finding["gate"] == "left-mounted").unwrap();
    assert_eq!((finding["level"].as_str(), finding["value"].as_f64()), (Some("warned"), Some(7.0)), "{finding}");
    let files = run["files"].as_array().unwrap();
    assert!(files.iter().all(|file| !file["path"].as_str().unwrap().contains("kept")), "{files:?}");
    assert!(files.iter().any(|file| file["path"] == "work/left.txt"), "{files:?}");
    assert!(!place.join("work/memory").exists() && !place.join("work/bound").exists(), "empty folders are not kept");
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
}

#[test]
fn a_mount_upon_the_runs_own_folder_does_not_hide_what_the_run_wrote() {
    let Some(folder) = stage("mounts-upon") else { return };
    let archive = folder.path().join("archive");
    let host = folder.path().join("host").display().to_string();
    suite(
        folder.path(),
        &format!("{WELL}mount --bind '{host}' \"$1\" && mount --bind '{host}' \"$1/..\" || exit 9\n"),
        1,
        &WIDE,
    );
    run_in(folder.path(), &COLLECT, &[]).expect(0);
    expect_the_machine_whole(&folder);
    let (place, _) = only(&archive, "finished");
    assert!(place.join("work/left.txt").exists());
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
}

/// An engine whose container mounts over the archive, as one with a shared mount of it can, and then ends.
const ENGINE: &str = "#!/bin/sh\nstate=\"${0%/*}/work\"\ncase \"$1\" in\nversion | info) echo '{\"Server\":{\"Version\":\"1\"}}' ;;\n\
    image) echo '[{\"Id\":\"IMAGE\"}]' ;;\n\
    container) [ \"$3\" = --format ] && echo 0 ||\n\
    echo '[{\"Id\":\"c\",\"Image\":\"IMAGE\",\"State\":{\"Status\":\"exited\",\"ExitCode\":0}}]' ;;\n\
    cp) case \"$2\" in\n-) cat > /dev/null ;;\n*:*) echo kept > \"$3/left.txt\" ;;\n*) echo \"$2\" > \"$state\" ;;\nesac ;;\n\
    start) mount -t tmpfs none \"$(cat \"$state\")/../../..\" || exit 9\necho ttft_ms=12.5 ;;\nesac\n";

#[test]
fn what_a_container_left_mounted_over_the_archive_does_not_hide_its_results_from_it() {
    let Some(folder) = stage("mounts-container") else { return };
    let archive = folder.path().join("archive");
    let image = format!("sha256:{}", "a".repeat(64));
    script(&folder, "bin/docker", &ENGINE.replace("IMAGE", &image));
    let text = format!(
        "{}[environments.box]\nkind = \"docker\"\nimage = \"{image}\"\n[workloads.job]\nkind = \"command\"\ncommand = [\"bench\"]\n\
         reports = [{{ path = \"stdout\", parser = \"lines\" }}]\nexpect = {{ files = [\"left.txt\"] }}\nexpected_s = 0.1\n{LENIENT}",
        head(1).replace("native", "box")
    );
    folder.put("suite.toml", text);
    let path = path_with(&folder.path().join("bin"));
    collect(&folder, &[], &[("PATH", &path)]).expect(0).complains(&["it was unmounted", "tmpfs on the archive"]);
    expect_the_machine_whole(&folder);
    let (place, run) = only(&archive, "finished");
    assert_eq!(fs::read_to_string(place.join("work/left.txt")).unwrap(), "kept\n");
    assert_eq!(watched(&run, "left-mounted")["value"], 1.0, "told once");
    verifies(&folder);
}

#[test]
fn mounts_that_the_command_of_a_metric_left_are_taken_away_and_told() {
    let Some(folder) = stage("mounts-metric") else { return };
    let metric = "[metrics.mounts]\ncommand = [\"/bin/sh\", \"-c\", \"\"\"mkdir $SPARKBENCH_RUN/m && mount -t tmpfs none $SPARKBENCH_RUN/m && \
         echo lost > $SPARKBENCH_RUN/m/lost.txt && echo 7 points\"\"\"]\npattern = '(?<value>[0-9]+) points'\n";
    folder.put("suite.toml", format!("{}{SHORT}{metric}{LENIENT}", head(1)));
    collect(&folder, &[], &[]).expect(0).complains(&["it was unmounted", "tmpfs on 'm'"]);
    expect_the_machine_whole(&folder);
    let (place, run) = only(&folder.path().join("archive"), "finished");
    assert_eq!(watched(&run, "left-mounted")["value"], 1.0);
    assert_eq!(fs::read_to_string(place.join("commands/mounts.txt")).unwrap(), "7 points\n");
    assert!(!place.join("m").exists(), "empty folders are not kept");
    verifies(&folder);
}

#[test]
fn mounts_of_a_run_that_a_crash_interrupted_are_taken_away_by_the_next_collector() {
    let Some(folder) = stage("mounts-crash") else { return };
    let archive = folder.path().join("archive");
    let (host, flag) = (folder.path().join("host").display().to_string(), folder.path().join("begun"));
    let script = format!(
        "if [ ! -e '{flag}' ]; then\n: > '{flag}'\nmkdir \"$1/bound\" && mount --bind '{host}' \"$1/bound\" || exit 9\n\
         echo > \"$1/here\"\nsleep 100000\nfi\n{WELL}",
        flag = flag.display()
    );
    suite(folder.path(), &script, 1, &WIDE);
    let collector = Collector::start(folder.path(), &archive, &[]);
    until("the run is at work", || at_work(&archive).is_some());
    let guards = left::guards(&archive);
    kill(Pid::from_raw(collector.pid() as i32), Signal::SIGKILL).unwrap();
    left::kill_all(&guards);
    assert_eq!(collector.end().code, None);
    assert!(!mounted(folder.path()).is_empty());
    run_in(folder.path(), &[&COLLECT[..], &["--resume"]].concat(), &[]).expect(0);
    expect_the_machine_whole(&folder);
    let swept = events(&archive, "swept");
    assert!(swept.iter().any(|event| event["what"].to_string().contains("work/bound")), "{swept:?}");
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
}

#[test]
fn a_mount_that_stays_is_named_and_neither_listed_nor_touched() {
    let Some(folder) = stage("mounts-stay") else { return };
    let (run, host) = (folder.path().join("run"), folder.path().join("host").display().to_string());
    folder.put("run/own.txt", "of the run");
    fs::create_dir_all(run.join("work/bound")).unwrap();
    let at = run.join("work/bound").display().to_string();
    assert!(done("mount", &["--bind", &host, &at]));
    // Declared after the folder, so dropped before it.
    let _unmounted = Unmounted(at);
    let tree = disk::tree(&run).unwrap();
    let shown: Vec<String> = tree.files.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["own.txt"]);
    assert_eq!(tree.mounted.len(), 1);
    assert_eq!(tree.mounted[0].0.to_string(), "work/bound");
    // It would drop every file that it sees.
    let dropped = Retention::new(&["**".to_owned()], None).unwrap().apply(&run).unwrap();
    let why = |path: &str| dropped.iter().find(|wire| wire.path == *path).map(|wire| wire.why.clone());
    assert!(why("work/bound").unwrap().contains("is mounted there"), "{dropped:?}");
    assert!(why("own.txt").is_some() && dropped.len() == 2, "{dropped:?}");
    assert_eq!(fs::read_to_string(folder.path().join("host/kept.txt")).unwrap(), "of the machine");
    // Upon the folder itself it hides the run: nothing is done to either.
    assert!(disk::tree(&run.join("work/bound")).unwrap_err().to_string().contains("is mounted on it"));
}
