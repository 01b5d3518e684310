//! The house keeps its walls: words that may not appear in the code of a folder, and the arrows between the crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Words banned from a folder: what Cargo cannot say. Which crates a crate may use stands in its `Cargo.toml`, and nothing else compiles.
/// Tests and comments do not count: they may speak of what the code may not do.
const WALLS: &[(&str, &[&str])] = &[
    ("crates/text", &["std::fs", "std::time", "println!"]),
    ("crates/model", &["std::fs", "std::time", "println!"]),
    ("crates/stats", &["std::fs", "std::time", "println!"]),
    ("crates/design", &["std::fs", "std::time", "println!"]),
    ("crates/ingest", &["println!"]),
    ("crates/verdict", &["std::fs", "std::time", "println!"]),
    ("crates/frame", &["std::fs", "println!"]),
    (
        "crates/site/src/chart",
        &[
            "askama",
            "std::fs",
            "std::time",
            "println!",
            "sparkbench_archive",
            "sparkbench_model",
            "sparkbench_verdict",
            "crate::page",
        ],
    ),
    ("crates/site/src/page", &["plotters::", "std::time", "println!"]),
    ("crates/plan", &["std::fs", "std::process", "std::time", "std::net", "std::thread", "std::env::", "println!"]),
    ("crates/host", &["println!"]),
    (
        "crates/collect/src/env",
        &[
            "std::process",
            "std::fs",
            "std::time::Instant",
            "std::time::SystemTime",
            "std::net",
            "std::thread",
            "println!",
            "crate::run",
            "sparkbench_ingest",
            "sparkbench_stats",
        ],
    ),
    // Reads the files that a run left and the assets of the suite, hence no ban on `std::fs`.
    (
        "crates/collect/src/workload",
        &[
            "std::process",
            "std::time::Instant",
            "std::time::SystemTime",
            "std::net",
            "std::thread",
            "println!",
            "crate::run",
            ".display())",
        ],
    ),
    // What people read is spelled by `archive::shown`. An argument of a program is `.display().to_string()`.
    (
        "crates/collect/src/run",
        &[
            "std::process",
            "std::time::Instant",
            "std::time::SystemTime",
            "std::net",
            "println!",
            "sparkbench_stats",
            ".display())",
        ],
    ),
    // Reads the files that settings name and writes those of a run, hence no ban on `std::fs`. Has threads beside the engine's.
    ("crates/load", &["std::process", "std::net::Tcp", "std::time::Instant", "std::time::SystemTime", "println!"]),
    ("crates/mock", &["std::process", "std::net::Tcp", "std::time::Instant", "std::time::SystemTime", "println!"]),
    ("src/cli", &["std::net", "Command::new"]),
];

/// Words with few homes: a file may say the word only where its path begins with one of them.
/// What is not a crate's home here is a named exception, with its reason.
const HOMES: &[(&str, &[&str])] = &[
    (
        "std::process",
        &[
            "crates/host/",
            "src/main.rs",
            // The exit code of the program.
            "src/cli/mod.rs",
            // The own number alone: in the name of a file written aside or of a folder, and in the lock. Nothing is started.
            "src/cli/load/scratch.rs",
            "crates/archive/src/write.rs",
            "crates/archive/src/writer/open.rs",
            "crates/archive/src/site.rs",
        ],
    ),
    (
        "nix::",
        &[
            "crates/host/",
            "crates/archive/src/lock",
            // An open that does not wait.
            "crates/archive/src/disk.rs",
            // Two folders change places.
            "crates/archive/src/site.rs",
            // The names of signals, to say which one ended a program. Nothing is sent.
            "crates/collect/src/run/after.rs",
        ],
    ),
    ("ring::", &["crates/host/"]),
    ("rustls", &["crates/host/"]),
    ("std::net::Tcp", &["crates/host/"]),
    ("tokenizers::", &["crates/load/src/tokens"]),
    ("httparse", &["crates/load/src/wire", "crates/mock/"]),
    ("askama", &["crates/site/src/page"]),
    ("plotters", &["crates/site/src/chart"]),
];

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

/// Every file of the product: the program and its crates.
fn product() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = sources(&root.join("src")).into_iter().chain(sources(&root.join("crates")));
    all.map(|path| (name_below(root, &path), path)).filter(|(name, _)| !name.starts_with("crates/testing/")).collect()
}

#[test]
fn folders_keep_their_walls() {
    let all = product();
    let mut broken = Vec::new();
    for (folder, banned) in WALLS {
        let inside = format!("{folder}/");
        let files: Vec<_> = all.iter().filter(|(name, _)| name.starts_with(&inside)).collect();
        assert!(!files.is_empty(), "{folder}/ has no files");
        for (name, path) in files {
            let text = fs::read_to_string(path).expect("source files are text");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//")) {
                for word in banned.iter().filter(|word| line.contains(**word)) {
                    broken.push(format!("{name}:{number}: `{word}` does not belong in {folder}/"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The arrows of CONTRIBUTING, as the manifests draw them: what a crate may use of ours.
#[test]
fn crates_use_those_that_contributing_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).expect("a text");
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `crates/")?.split(" | ");
        let name = cells.next()?.trim_end_matches('`').to_owned();
        let used = cells.nth(1)?.trim_end_matches(" |").split(", ").filter(|word| *word != "nothing of ours");
        Some((name, used.map(str::to_owned).collect::<BTreeSet<String>>()))
    };
    let told: BTreeMap<String, BTreeSet<String>> = text.lines().filter_map(row).collect();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root.join("crates")).expect("a folder").flatten() {
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).expect("a manifest");
        let product = manifest.split("dev-dependencies]").next().unwrap_or_default();
        let ours =
            product.lines().filter_map(|line| line.strip_prefix("sparkbench-")?.strip_suffix(".workspace = true"));
        found.insert(entry.file_name().to_string_lossy().into_owned(), ours.map(str::to_owned).collect());
    }
    assert_eq!(told, found, "the table of CONTRIBUTING.md, and the manifests");
}

#[test]
fn every_file_says_what_goes_in_what_comes_out_and_what_is_elsewhere() {
    for (name, file) in product() {
        let text = fs::read_to_string(&file).expect("source files are text");
        assert!(text.starts_with("//!"), "{name}: begins without a module essay");
    }
}

#[test]
fn processes_system_calls_and_the_driver_of_the_gpu_have_few_homes() {
    let mut broken = Vec::new();
    for (place, file) in product() {
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
    ("crates/testing/src/lib.rs", "the same for unit tests"),
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
    let folders = ["src", "crates"].map(|folder| walkdir::WalkDir::new(root.join(folder)).sort_by_file_name());
    for entry in folders.into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let text = fs::read_to_string(path).expect("source files are text");
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if stem.ends_with("tests") || stem == "testing" || path.starts_with(root.join("crates/testing")) {
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
