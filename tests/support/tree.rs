//! Trees of processes for tests, and a look at what is left of them.

use std::path::Path;

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

/// Living processes one of whose arguments is a word.
pub fn with_argument(word: &str) -> Vec<u32> {
    let is_argument = |pid: &u32| process::arguments(*pid).is_some_and(|words| words.iter().any(|one| one == word));
    with_word(word).into_iter().filter(is_argument).collect()
}

/// What a file holds, nothing while it is not there.
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
