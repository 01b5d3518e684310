//! Trees of processes for tests, and a look at what is left of them.

use std::path::Path;
use std::time::{Duration, Instant};

use sparkbench::host::{Job, process};

/// A job that writes beside its folder, in a shell.
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

/// Living processes that carry a word among their arguments.
pub fn with_word(word: &str) -> Vec<u32> {
    let all = process::all().unwrap().into_iter().filter(process::Process::lives);
    all.map(|process| process.pid)
        .filter(|pid| process::arguments(*pid).is_some_and(|words| words.iter().any(|w| w.contains(word))))
        .filter(|pid| *pid != std::process::id())
        .collect()
}

/// Waits for something that must come.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a file holds, nothing while it is not there.
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
