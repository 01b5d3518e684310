//! A root file system is entered without a trace outside and with none inside.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::folder::Folder;
use crate::support::machine::machine;
use crate::support::needs::skip;
use crate::support::tree::{archive_id, copy_program, shell, text, unique, with_word};
use crate::support::wait;
use crate::support::wait::until;
use sparkbench::host::{Ended, Host as _, Job, Launched, Mount, Root, process};

const BUSYBOX: &str = "/bin/busybox";

/// A root with nothing but busybox, and a folder of the host beside it. Nothing, with the reason said, where that cannot be tested.
fn root(name: &str) -> Option<Folder> {
    if !machine().is_root() {
        skip("entering a root file system needs root");
        return None;
    }
    let linked = Command::new("ldd").arg(BUSYBOX).output();
    if !Path::new(BUSYBOX).exists() || linked.is_ok_and(|out| out.status.success()) {
        skip("no statically linked busybox (Debian: busybox-static)");
        return None;
    }
    let folder = Folder::new(name);
    let bin = folder.path().join("root/bin");
    std::fs::create_dir_all(&bin).unwrap();
    copy_program(Path::new(BUSYBOX), &bin.join("busybox"));
    for applet in ["sh", "cat", "ls", "env", "touch", "sleep", "mount", "echo", "pwd", "mkdir", "rm"] {
        symlink("busybox", bin.join(applet)).unwrap();
    }
    folder.put("host/data/file", "of the host");
    Some(folder)
}

fn bind(from: impl Into<PathBuf>, at: &str) -> Mount {
    Mount::Bind { from: from.into(), at: at.into(), read_only: false, recursive: false, optional: false }
}

/// A job of a run that nobody else has.
fn job(folder: &Folder, script: &str, mounts: Vec<Mount>) -> Job {
    let root = Some(Root { path: folder.path().join("root"), mounts });
    Job { cwd: None, root, ..shell(folder.path(), &format!("{}/r", archive_id()), script) }
}

fn run(job: &Job) -> (Ended, String, String) {
    finish(machine().launch(job).unwrap(), job)
}

fn finish(mut program: Box<dyn Launched>, job: &Job) -> (Ended, String, String) {
    let ended = program.wait(wait::LIMIT).unwrap().expect("it ends by itself");
    program.close().unwrap();
    (ended, text(&job.stdout), text(&job.stderr))
}

/// Mounts that this test can see of its own folder. Other tests mount in theirs meanwhile.
fn own_mounts(folder: &Folder) -> Vec<String> {
    let own = folder.path().to_str().unwrap();
    text(Path::new("/proc/self/mountinfo")).lines().filter(|line| line.contains(own)).map(str::to_owned).collect()
}

/// Every path below a folder, links not followed.
fn everything(folder: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path()).collect()
}

#[test]
fn mounts_are_there_inside_and_nowhere_else_and_nothing_stays() {
    let Some(folder) = root("root-mounts") else { return };
    let mounts = vec![
        Mount::Proc { at: "/proc".into() },
        Mount::Tmpfs { at: "/tmp".into() },
        Mount::Bind { from: "/dev".into(), at: "/dev".into(), read_only: false, recursive: true, optional: false },
        Mount::Bind { from: "/sys".into(), at: "/sys".into(), read_only: true, recursive: true, optional: false },
        bind(folder.path().join("host/data"), "/deep/er/data"),
        bind(folder.path().join("host/data/file"), "/etc/one file"),
        Mount::Bind {
            from: "/no/such/thing".into(),
            at: "/none".into(),
            read_only: false,
            recursive: false,
            optional: true,
        },
    ];
    // It goes on when it has been looked at. The shell would become a program that came last.
    let script = "pwd; cat /deep/er/data/file '/etc/one file'; echo new > /deep/er/data/new; touch /tmp/x; ls /; \
                  touch /sys/kernel/x 2>/dev/null || echo shut; cat /proc/self/mounts >&2; ls /dev/pts /dev/shm > /dev/null && echo deep; \
                  until [ -e /deep/er/data/go ]; do sleep 0.01; done; :";
    let job = job(&folder, script, mounts);
    let (outside, before) = (own_mounts(&folder), everything(&folder.path().join("root")));
    let program = machine().launch(&job).unwrap();
    folder.put("host/data/go", "");
    let (ended, out, err) = finish(program, &job);
    assert_eq!(ended.code, Some(0), "{out}{err}");
    assert_eq!(out, "/\nof the hostof the hostbin\ndeep\ndev\netc\nproc\nsys\ntmp\nshut\ndeep\n");
    assert!(err.contains(" /deep/er/data ") && err.contains(" /etc/one\\040file "), "{err}");
    assert_eq!(text(&folder.path().join("host/data/new")), "new\n");
    assert_eq!(own_mounts(&folder), outside);
    assert_eq!(everything(&folder.path().join("root")), before, "mount points that were made are taken away");
    assert_eq!(ended.seen_argv.unwrap()[0], "/bin/sh");
}

#[test]
fn what_is_bound_read_only_cannot_be_written_also_below() {
    let Some(folder) = root("root-read-only") else { return };
    let data = folder.path().join("host/data");
    let inner = folder.path().join("host/data/inner");
    std::fs::create_dir_all(&inner).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "noexec,size=1m", "inner"]).arg(&inner).status().unwrap();
    assert!(mounted.success());
    let both =
        |recursive| Mount::Bind { from: data.clone(), at: "/data".into(), read_only: true, recursive, optional: false };
    let script = "echo x > /data/x; echo $?; echo x > /data/inner/x; echo $?; cat /data/file; cat /proc/self/mounts";
    let proc = Mount::Proc { at: "/proc".into() };
    let (_, deep, err) = run(&job(&folder, script, vec![proc, both(true)]));
    let writable = std::fs::write(inner.join("outside"), "y").is_ok();
    let (_, flat, _) = run(&job(&folder, "echo x > /data/inner/x; echo $?", vec![both(false)]));
    assert!(Command::new("umount").arg(&inner).status().unwrap().success());
    assert!(deep.starts_with("1\n1\nof the host"), "{deep}{err}");
    assert!(err.contains("Read-only file system"), "{err}");
    let line = deep.lines().find(|line| line.contains(" /data/inner ")).unwrap();
    assert!(line.contains(" ro,noexec"), "other flags stay: {line}");
    assert!(writable, "outside it is as it was");
    assert_eq!(flat, "1\n", "what is mounted below is not there at all");
    assert!(!data.join("x").exists());
}

#[test]
fn links_inside_never_lead_outside() {
    let Some(folder) = root("root-links") else { return };
    let trap = folder.path().join("trap");
    std::fs::create_dir(&trap).unwrap();
    let root = folder.path().join("root");
    symlink(&trap, root.join("absolute")).unwrap();
    let name = format!("relative-of-guard-{}", unique());
    symlink(format!("../../../../../../../../tmp/{name}"), root.join("relative")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let mounts = vec![
        bind(folder.path().join("host/data"), "/absolute/data"),
        bind(folder.path().join("host/data"), "/relative/data"),
    ];
    let script = "cat /absolute/data/file /relative/data/file";
    let (ended, out, err) = run(&job(&folder, script, mounts));
    assert_eq!((ended.code, out.as_str()), (Some(0), "of the hostof the host"), "{err}");
    assert!(everything(&trap).len() == 1, "nothing was made outside");
    assert!(!Path::new("/tmp").join(name).exists() && !root.join("tmp").exists());
    let endless = job(&folder, "", vec![bind("/tmp", "/loop/x")]);
    let error = machine().launch(&endless).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("too many links"), "{error}");
}

#[test]
fn what_is_missing_inside_is_named_with_the_root() {
    let Some(folder) = root("root-missing") else { return };
    let shown = folder.path().join("root").display().to_string();
    let refused = |job: &Job| machine().launch(job).map(|_| ()).unwrap_err().to_string();
    let mut missing = job(&folder, "", vec![]);
    missing.argv = vec!["python3".into()];
    let error = refused(&missing);
    assert!(error.contains("no program 'python3'") && error.contains(&shown), "{error}");
    let before = everything(Path::new(&shown));
    let error = refused(&job(&folder, "", vec![bind("/tmp", "/x/y"), bind("/no/such", "/z")]));
    assert!(error.contains("'/no/such'") && error.contains("'/z'"), "{error}");
    assert_eq!(everything(Path::new(&shown)), before, "also after a failure half way");
    let mut nowhere = job(&folder, "", vec![]);
    nowhere.root = Some(Root { path: folder.path().join("nowhere"), mounts: vec![] });
    assert!(refused(&nowhere).contains("nowhere"));
    let mut cwd = job(&folder, "", vec![]);
    cwd.cwd = Some("/not/here".into());
    assert!(refused(&cwd).contains("/not/here"));
    // A dynamically linked program without its loader.
    copy_program(Path::new("/bin/ls"), &folder.path().join("root/bin/linked"));
    let mut linked = job(&folder, "", vec![]);
    linked.argv = vec!["/bin/linked".into()];
    assert!(refused(&linked).contains("loader"), "{}", refused(&linked));
}

#[test]
fn programs_that_stop_and_clean_are_those_of_the_machine() {
    let Some(folder) = root("root-after") else { return };
    let (stop, after) = (folder.path().join("stop"), folder.path().join("after"));
    let mut job = job(&folder, "echo ready; sleep 7777", vec![]);
    job.cgroup = true;
    job.cwd = Some("/bin".into());
    // perl and python are not in the root. Touch with a path of the machine would not be found there either.
    job.stop = vec![vec!["/usr/bin/touch".into(), stop.display().to_string()]];
    job.after = vec![vec!["/usr/bin/touch".into(), after.display().to_string()]];
    let mut program = machine().launch(&job).unwrap();
    until("it runs", || text(&job.stdout).contains("ready"));
    assert_eq!(std::fs::read_link(format!("/proc/{}/cwd", program.pid())).unwrap(), folder.path().join("root/bin"));
    program.end("enough").unwrap();
    program.close().unwrap();
    assert!(stop.exists() && after.exists());
}

#[test]
fn a_killed_guard_leaves_no_mount_and_no_process() {
    let Some(folder) = root("root-killed") else { return };
    let (mark, archive) = (unique(), archive_id());
    let mounts = vec![Mount::Tmpfs { at: "/tmp".into() }, bind(folder.path().join("host/data"), "/data")];
    let script = format!("(sleep {mark} &); echo ready; sleep {mark}");
    let mut job = job(&folder, &script, mounts);
    job.marker = format!("{archive}/r");
    let program = machine().launch(&job).unwrap();
    until("it runs", || text(&job.stdout).contains("ready"));
    let guard = process::Process::read(program.pid()).unwrap().parent;
    assert!(Command::new("kill").args(["-9", &guard.to_string()]).status().unwrap().success());
    until("the first process dies with its guard", || process::Process::read(program.pid()).is_none_or(|p| !p.lives()));
    machine().end_marked(&archive).unwrap();
    assert!(with_word(&mark).is_empty());
    let mounts = text(Path::new("/proc/self/mountinfo"));
    assert!(!mounts.contains(&folder.path().display().to_string()), "{mounts}");
    let left = folder.path().join("root");
    until("nothing holds the root", || std::fs::remove_dir_all(&left).is_ok());
}
