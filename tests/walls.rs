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
    ("cli", &["polars", "plotters", "askama"]),
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
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
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
