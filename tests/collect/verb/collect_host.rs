//! Archives at paths that are no text, mounts that a workload leaves outside of its own folder, and names that a suite may give.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::scene::{LENIENT, SHORT, campaign, collect, head, runs, verifies, watched};
use super::short::{WELL, WIDE, suite};
use crate::support::folder::Folder;
use crate::support::needs::skip;
use crate::support::program::run_in;

fn bytes(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}

fn arguments(archive: &OsStr) -> [OsString; 4] {
    [OsStr::new("collect"), OsStr::new("suite.toml"), OsStr::new("--archive"), archive].map(OsStr::to_owned)
}

#[test]
fn an_archive_may_lie_at_a_path_that_is_no_text() {
    let folder = Folder::new("path-bytes");
    folder.put("suite.toml", format!("{}{SHORT}{LENIENT}", head(2)));
    let archive = folder.path().join(bytes(b"a\xff"));
    run_in(folder.path(), &arguments(archive.as_os_str()), &[]).expect(0);
    let finished = fs::read_dir(archive.join("runs")).unwrap().count();
    assert_eq!(finished, 2);
    run_in(folder.path(), &[OsStr::new("verify"), archive.as_os_str()], &[]).expect(0);
    // The folder of the suite too, and a relative path below it.
    let below = folder.path().join(bytes(b"w\xfe"));
    fs::create_dir(&below).unwrap();
    fs::copy(folder.path().join("suite.toml"), below.join("suite.toml")).unwrap();
    run_in(&below, &arguments(OsStr::new("archive")), &[]).expect(0);
    run_in(&below, &["verify", "archive"], &[]).expect(0);
}

#[test]
fn what_is_told_the_path_as_text_is_refused_before_the_first_run() {
    let folder = Folder::new("path-refused");
    let docker = "[environments.box]\nkind = \"docker\"\nimage = \"x:1\"\nallow_moving_tag = true\n";
    let reports = "reports = [{ path = \"stdout\", parser = \"lines\" }]\n";
    for (environment, command, words) in [
        ("[environments.native]\n", "['cat', '{work}/x']", "workload 'job' in environment 'native'"),
        (docker, "['true']", "environment 'box'"),
    ] {
        folder.put(
            "suite.toml",
            format!(
                "schema = \"sparkbench.suite/1\"\nname = \"scene\"\nrepeats = 1\nseed = 7\n{environment}\
                 [workloads.job]\nkind = \"command\"\ncommand = {command}\n{reports}{LENIENT}"
            ),
        );
        let archive = folder.path().join(bytes(b"a\xff"));
        run_in(folder.path(), &arguments(archive.as_os_str()), &[]).expect(2).complains(&[
            "is not UTF-8",
            "a\\xFF'",
            words,
            "--archive",
        ]);
        assert!(!archive.exists(), "nothing was begun");
    }
}

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

/// A folder with an empty one in it that carries a mount later, and the path of that. Nothing where nothing may be mounted.
fn stage(name: &str, inner: &str) -> Option<(Folder, String)> {
    let folder = Folder::new(name);
    let at = folder.path().join(inner);
    fs::create_dir_all(&at).unwrap();
    let at = at.canonicalize().unwrap().to_str().expect("folders of tests are text").to_owned();
    if !(done("mount", &["-t", "tmpfs", "none", &at]) && done("umount", &[&at])) {
        skip("mounting needs root");
        return None;
    }
    Some((folder, at))
}

fn mounted(folder: &Path) -> usize {
    let (table, shown) = (fs::read_to_string("/proc/self/mountinfo").unwrap(), folder.display().to_string());
    table.lines().filter(|line| line.contains(&shown)).count()
}

#[test]
fn mounts_over_other_runs_and_over_the_archive_are_undone_and_those_elsewhere_are_named() {
    let Some((folder, elsewhere)) = stage("mounts-archive", "elsewhere") else { return };
    let unmounted = Unmounted(elsewhere.clone());
    // In the second run only: the folder of the first one is there then, and the journal.
    let script = format!(
        "{WELL}archive=$(cd \"$1/../../..\" && pwd) && first=$(ls -d \"$archive\"/runs/0* | head -n 1)\n\
         [ -n \"$first\" ] || exit 0\n\
         mount -t tmpfs none \"$first\" && mount -t tmpfs none \"$archive/runs\" && mount -t tmpfs none \"$archive\" && \
         mount -t tmpfs none '{elsewhere}' || exit 9\n"
    );
    suite(folder.path(), &script, 2, &WIDE);
    let ending = collect(&folder, &[], &[]).expect(0);
    ending.complains(&["tmpfs on the archive", "tmpfs on 'runs' of the archive", "mounted outside of the archive"]);
    assert_eq!(mounted(&folder.path().join("archive")), 0);
    assert_eq!(mounted(Path::new(&elsewhere)), 1, "it may be somebody else's");
    let all = runs(&folder);
    let (id, second) = all.iter().next_back().unwrap();
    let finding = watched(second, "left-mounted");
    assert_eq!((finding["level"].as_str(), finding["value"].as_f64()), (Some("warned"), Some(3.0)), "{id}: {finding}");
    // Other programs of this machine may mount something at the same time.
    let named = watched(second, "mounted-elsewhere");
    assert!(named["value"].as_f64() >= Some(1.0), "{named}");
    assert!(named["remedy"].as_str().unwrap().contains(" && umount --recursive "), "{named}");
    drop(unmounted);
    verifies(&folder);
}

#[test]
fn a_mount_over_a_folder_above_the_archive_is_named_as_what_hides_it() {
    let Some((folder, parent)) = stage("mounts-above", "parent") else { return };
    let (unmounted, flag) = (Unmounted(parent.clone()), folder.path().join("begun"));
    let script = format!(
        "{WELL}if [ ! -e '{flag}' ]; then\n: > '{flag}'\nmount -t tmpfs none '{parent}' || exit 9\nfi\n",
        flag = flag.display()
    );
    suite(folder.path(), &script, 1, &WIDE);
    let words = ["collect", "suite.toml", "--archive", "parent/archive"];
    let ending = run_in(folder.path(), &words, &[]).expect(5);
    ending.complains(&["mounted over it", "tmpfs on '", &format!("umount --recursive {parent}"), "--resume"]);
    drop(unmounted);
    run_in(folder.path(), &[&words[..], &["--resume"]].concat(), &[]).expect(0);
    run_in(folder.path(), &["verify", "parent/archive"], &[]).expect(0);
}

#[test]
fn a_report_may_have_a_backslash_in_its_name() {
    let folder = Folder::new("name-backslash");
    folder.put("leave.sh", "#!/bin/sh\necho ttft_ms=12.5 > \"$1/res\\\\ult.txt\"\n");
    folder.put(
        "suite.toml",
        format!(
            "{}[environments.native]\n[workloads.job]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"{{work}}/leave.sh\", \"{{work}}\"]\n\
             assets = [\"leave.sh\"]\nreports = [{{ path = 'res\\ult.txt', parser = \"lines\" }}]\n\
             expect = {{ files = ['res\\ult.txt'], metrics = [\"ttft_ms\"] }}\n{LENIENT}",
            head(1)
        ),
    );
    collect(&folder, &[], &[]).expect(0);
    verifies(&folder);
    let all = runs(&folder);
    let run: &Value = all.values().next().unwrap();
    assert_eq!(run["reports"][0]["path"], "work/res\\ult.txt");
}

#[test]
fn links_and_pipes_among_the_assets_are_named_on_the_terminal_and_in_the_record() {
    let folder = Folder::new("assets-named");
    let tool = folder.put("tools/plain.py", "print(1)\n");
    std::os::unix::fs::symlink("plain.py", tool.with_file_name("link.py")).unwrap();
    nix::unistd::mkfifo(&tool.with_file_name("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    folder.put("suite.toml", format!("{}{SHORT}assets = [\"tools\"]\n{LENIENT}", head(1)));
    let words =
        ["leaves out \"tools/link.py\", which is a link to 'plain.py'", "leaves out \"tools/pipe\", which is a pipe"];
    collect(&folder, &[], &[]).expect(0).complains(&words);
    let record = campaign(&folder)["provenance"].to_string();
    for word in words {
        assert!(record.contains(&word.replace('"', "\\\"")), "{record}");
    }
    let all = runs(&folder);
    let files = all.values().next().unwrap()["files"].to_string();
    assert!(files.contains("work/tools/plain.py") && !files.contains("link.py"), "{files}");
}
