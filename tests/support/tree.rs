//! Trees of processes for tests, and a look at what is left of them.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use sparkbench::host::{Job, process};

/// Beginning of a script that goes on once a file `go` is in its working folder. A program that waits so is there to be looked at.
pub const HELD: &str = "until [ -e go ]; do sleep 0.01; done; ";

/// A job that writes beside its folder, in a shell. Its tree is given little time to end by itself: what a test says of its end holds with
/// and without that time, or the test gives it more.
pub fn shell(folder: &Path, marker: &str, script: &str) -> Job {
    Job {
        marker: marker.to_owned(),
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        cwd: Some(folder.to_path_buf()),
        stdout: folder.join("stdout.log"),
        stderr: folder.join("stderr.log"),
        grace_s: 0.3,
        ..Job::default()
    }
}

/// Name of an archive that nobody else has. What is left of an archive is found by its name and ended, so another test, or the same one in
/// a second process, must not share it.
pub fn archive_id() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{:08x}{:04x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A number of seconds that nobody else sleeps, to find a process by.
pub fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{:07}", 7000 + COUNT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

/// Living processes that carry a word among their arguments.
pub fn with_word(word: &str) -> Vec<u32> {
    let all = process::all().unwrap().into_iter().filter(process::Process::lives);
    all.map(|process| process.pid)
        .filter(|pid| process::arguments(*pid).is_some_and(|words| words.iter().any(|w| w.contains(word))))
        .filter(|pid| *pid != std::process::id())
        .collect()
}

/// Those of [`with_word`] that are `sleep` by now. Before that they are a shell, `setsid` or `nohup`.
pub fn sleepers(word: &str) -> Vec<u32> {
    let sleeps = |pid: &u32| process::Process::read(*pid).is_some_and(|process| process.name == "sleep");
    with_word(word).into_iter().filter(sleeps).collect()
}

/// Living processes one of whose arguments is a word.
pub fn with_argument(word: &str) -> Vec<u32> {
    let is_argument = |pid: &u32| process::arguments(*pid).is_some_and(|words| words.iter().any(|one| one == word));
    with_word(word).into_iter().filter(is_argument).collect()
}

/// What a file holds, nothing while it is not there.
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Makes a program of a text. Another process writes it: a file that this one has open for writing is open in every child that another
/// test starts just then, until that has become its program, and the kernel runs no program that is open for writing.
pub fn put_program(path: &Path, text: &str) {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "printf %s \"$2\" > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).arg(text);
    assert!(shell.status().unwrap().success(), "{}", path.display());
}

/// Copies a program. Another process does it, for the reason of [`put_program`].
pub fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success(), "{}", to.display());
}
