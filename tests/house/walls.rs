//! The rooms keep their walls: words that may not appear in a room's code, and arrows that may not be drawn.

use std::fs;
use std::path::{Path, PathBuf};

/// Words banned from a room. Tests and comments do not count: they may speak of what the code may not do.
const WALLS: &[(&str, &[&str])] = &[
    ("model", &["polars", "plotters", "askama", "std::fs", "std::time", "println!", "crate::"]),
    ("archive", &["polars", "plotters", "askama", "crate::ingest", "crate::stats", "crate::verdict", "crate::page"]),
    ("ingest", &["polars", "plotters", "askama", "crate::stats", "crate::frame", "crate::page", "println!"]),
    ("frame", &["plotters", "askama", "crate::stats", "crate::ingest", "crate::page", "std::fs", "println!"]),
    (
        "stats",
        &[
            "polars",
            "plotters",
            "askama",
            "std::fs",
            "std::time",
            "println!",
            "crate::verdict",
            "crate::model",
            "crate::ingest",
            "crate::frame",
            "crate::page",
            "crate::chart",
        ],
    ),
    (
        "verdict",
        &[
            "polars",
            "plotters",
            "askama",
            "std::fs",
            "std::time",
            "println!",
            "crate::ingest",
            "crate::frame",
            "crate::page",
            "crate::chart",
            "crate::archive",
        ],
    ),
    (
        "chart",
        &[
            "polars",
            "askama",
            "std::fs",
            "std::time",
            "println!",
            "crate::verdict",
            "crate::frame",
            "crate::ingest",
            "crate::page",
            "crate::archive",
        ],
    ),
    ("page", &["polars", "plotters::", "crate::stats", "crate::frame", "crate::ingest", "std::time", "println!"]),
    (
        "plan",
        &[
            "polars",
            "std::fs",
            "std::process",
            "std::time",
            "std::net",
            "std::thread",
            "std::env::",
            "nix::",
            "println!",
            "crate::host",
            "crate::env",
            "crate::workload",
            "crate::run",
            "crate::verdict",
            "crate::frame",
            "crate::page",
            "crate::cli",
        ],
    ),
    (
        "host",
        &[
            "polars",
            "println!",
            "crate::plan",
            "crate::env",
            "crate::workload",
            "crate::run",
            "crate::archive",
            "crate::ingest",
            "crate::stats",
            "crate::verdict",
            "crate::frame",
            "crate::page",
            "crate::cli",
        ],
    ),
    (
        "env",
        &[
            "polars",
            "std::process",
            "std::fs",
            "std::time::Instant",
            "std::time::SystemTime",
            "std::net",
            "std::thread",
            "println!",
            "crate::run",
            "crate::ingest",
            "crate::stats",
            "crate::verdict",
            "crate::frame",
            "crate::page",
            "crate::cli",
        ],
    ),
    // Reads the files that a run left and the assets of the suite, hence no ban on `std::fs`.
    (
        "workload",
        &[
            "polars",
            "std::process",
            "std::time::Instant",
            "std::time::SystemTime",
            "std::net",
            "std::thread",
            "println!",
            "crate::run",
            "crate::verdict",
            "crate::frame",
            "crate::page",
            "crate::cli",
        ],
    ),
    (
        "run",
        &[
            "polars",
            "std::process",
            "std::time::Instant",
            "std::time::SystemTime",
            "std::net",
            "println!",
            "crate::stats",
            "crate::verdict",
            "crate::frame",
            "crate::page",
            "crate::cli",
        ],
    ),
    // Reads the files that settings name and writes those of a run, hence no ban on `std::fs`. Has threads beside the engine's.
    (
        "load",
        &[
            "polars",
            "std::process",
            "std::net::Tcp",
            "std::time::Instant",
            "std::time::SystemTime",
            "println!",
            "crate::env",
            "crate::workload",
            "crate::run",
            "crate::mock",
            "crate::verdict",
            "crate::frame",
            "crate::page",
            "crate::cli",
        ],
    ),
    (
        "mock",
        &[
            "polars",
            "std::process",
            "std::net::Tcp",
            "std::time::Instant",
            "std::time::SystemTime",
            "println!",
            // It must not share what it is there to check.
            "crate::load",
            "crate::workload",
            "crate::run",
            "crate::archive",
            "crate::cli",
        ],
    ),
    ("cli", &["polars", "plotters", "askama", "std::net", "Command::new"]),
];

/// Words with few homes: a file may say the word only where its path begins with one of them.
/// What is not a room's home here is a named exception, with its reason.
const HOMES: &[(&str, &[&str])] = &[
    (
        "std::process",
        &[
            "host/",
            "main.rs",
            "whole.rs",
            // The exit code of the program.
            "cli/mod.rs",
            // The own number alone: in the name of a file written aside or of a folder, and in the lock. Nothing is started.
            "cli/load.rs",
            "archive/write.rs",
            "archive/writer/open.rs",
            "archive/site.rs",
        ],
    ),
    (
        "nix::",
        &[
            "host/",
            "archive/lock",
            // An open that does not wait.
            "archive/disk.rs",
            // Two folders change places.
            "archive/site.rs",
            // The names of signals, to say which one ended a program. Nothing is sent.
            "run/after.rs",
        ],
    ),
    ("nvml_wrapper", &["host/"]),
    ("cudarc", &["host/"]),
    ("rustls", &["host/"]),
    ("ureq", &["host/"]),
    ("tokio::", &["host/"]),
    ("ring::", &["host/"]),
    ("std::net::Tcp", &["host/"]),
    ("tokenizers::", &["load/tokens"]),
    ("httparse", &["load/wire", "mock/"]),
];

/// What a room may use although a word above is part of it.
fn allowed(room: &str, line: &str) -> bool {
    match room {
        // Its own words.
        "model" => line.contains("crate::model"),
        // Inputs are reported in the words of the report.
        "ingest" => line.contains("println!") && line.trim_start().starts_with("//"),
        _ => false,
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && !path.to_string_lossy().ends_with("tests.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn rooms_keep_their_walls() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut broken = Vec::new();
    for (room, banned) in WALLS {
        let files = sources(&src.join(room));
        assert!(!files.is_empty(), "the room {room}/ has no files");
        for file in files {
            let text = fs::read_to_string(&file).expect("source files are text");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in (1..).zip(code.lines()) {
                if line.trim_start().starts_with("//") || allowed(room, line) {
                    continue;
                }
                for word in banned.iter().filter(|word| line.contains(**word)) {
                    broken.push(format!("{}:{number}: `{word}` does not belong in {room}/", file.display()));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn only_one_room_says_polars_and_only_one_says_plotters() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (word, home) in
        [("polars::", "frame"), ("plotters::", "chart"), ("plotters_backend::", "chart"), ("askama", "page")]
    {
        for file in sources(&src).into_iter().filter(|file| !file.starts_with(src.join(home))) {
            let text = fs::read_to_string(&file).expect("source files are text");
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                assert!(!line.contains(word), "{}: `{word}` belongs in {home}/ alone", file.display());
            }
        }
    }
}

#[test]
fn every_file_says_what_goes_in_what_comes_out_and_what_is_elsewhere() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in sources(&src) {
        let text = fs::read_to_string(&file).expect("source files are text");
        assert!(text.starts_with("//!"), "{}: begins without a module essay", file.display());
    }
}

#[test]
fn processes_system_calls_and_the_driver_of_the_gpu_have_few_homes() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut broken = Vec::new();
    for file in sources(&src) {
        let place = file.strip_prefix(&src).expect("found below src").to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).expect("source files are text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for (word, homes) in HOMES {
                if says(line, word) && !homes.iter().any(|home| place.starts_with(home)) {
                    broken.push(format!("{place}:{number}: `{word}` belongs in {} alone", homes.join(", ")));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Whether a line has the word, and not as the end of another one: `unix::` is not `nix::`.
fn says(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
}

/// Words that make a test depend on how fast a machine is or on what else it does, and what stands in their place.
const CHANCE: &[(&str, &str)] = &[
    (
        "Instant::now",
        "`wait::until` for a state, `wait::takes_at_least` for a lower bound, `benches/` for an upper one",
    ),
    (".elapsed()", "`wait::until` for a state, `wait::takes_at_least` for a lower bound, `benches/` for an upper one"),
    ("SystemTime::now", "a moment that the test gives"),
    ("thread::sleep", "`wait::until` for a state, `wait::let_pass` where nothing may happen meanwhile"),
    ("recv_timeout", "`wait::until_some` with `try_recv`"),
    ("temp_dir().join", "`Folder::new`, which nobody else has"),
    ("env!(\"CARGO_TARGET_TMPDIR\")).join", "`Folder::new`, which nobody else has"),
    ("time.sleep(", "a wait for a state"),
    ("wait_for_timeout(", "a wait for a state"),
];

/// Where such a word may stand, and why.
const CHANCE_HOMES: &[(&str, &str)] = &[
    ("tests/support/wait.rs", "the one place that waits"),
    ("tests/support/limit.rs", "ends a program that hangs"),
    ("tests/support/folder.rs", "the one place that makes folders"),
    ("src/testing.rs", "the same for unit tests"),
    ("tests/house/walls.rs", "the words themselves"),
];

/// Code of tests: what is in `tests/`, and what is compiled for tests alone in `src/`.
fn code_of_tests(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in walkdir::WalkDir::new(root.join("tests")).sort_by_file_name().into_iter().flatten() {
        let path = entry.path();
        // Stand-ins for engines take their time, as engines do.
        if path.starts_with(root.join("tests/fixtures")) {
            continue;
        }
        if path.extension().is_some_and(|ending| ending == "rs" || ending == "py") {
            let text = fs::read_to_string(path).expect("source files are text");
            found.push((name_below(root, path), text));
        }
    }
    for entry in walkdir::WalkDir::new(root.join("src")).sort_by_file_name().into_iter().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let text = fs::read_to_string(path).expect("source files are text");
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if stem.ends_with("tests") || stem == "testing" {
            found.push((name_below(root, path), text));
        } else if let Some(at) = text.find("#[cfg(test)]\nmod ") {
            // Lines before it keep their numbers and say nothing.
            let before = "\n".repeat(text[..at].matches('\n').count());
            found.push((name_below(root, path), before + &text[at..]));
        }
    }
    found
}

fn name_below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).expect("found below the root").to_string_lossy().into_owned()
}

#[test]
fn no_test_can_be_failed_by_a_slow_or_a_busy_machine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut broken = Vec::new();
    let all = code_of_tests(root);
    assert!(all.len() > 200, "{} files of tests", all.len());
    for (name, text) in &all {
        if CHANCE_HOMES.iter().any(|(home, _)| home == name) {
            continue;
        }
        let is_comment = |line: &str| line.trim_start().starts_with("//") || line.trim_start().starts_with('#');
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !is_comment(line)) {
            for (word, instead) in CHANCE.iter().filter(|(word, _)| line.contains(word)) {
                broken.push(format!("{name}:{number}: `{word}` in a test. In its place: {instead}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
