//! `unsafe` has few homes, each block says why it is sound, and `fuzz/README.md` lists them all.
//!
//! In:  the sources, the table of `fuzz/README.md`.  Out: nothing.
//! Not here: that the blocks do what they say (see the tests beside them).

use std::collections::BTreeMap;

use crate::support::program::repository;

/// Lines above a block in which its reason is looked for.
const NEAR: usize = 3;

/// Lines of a file that are compiled into the program, comments blanked, and as they stand.
fn code(text: &str) -> Vec<(String, String)> {
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let line = |line: &str| {
        let bare = if line.trim_start().starts_with("//") { "" } else { line };
        // The type of a function of a library that is loaded, and the name of the lint.
        (bare.replace("unsafe extern \"C\" fn()", "").replace("unsafe_code", ""), line.to_owned())
    };
    product.lines().map(line).collect()
}

#[test]
fn the_table_of_unsafe_code_names_every_block_and_every_block_gives_its_reason() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let folders = ["src", "crates"].map(|folder| walkdir::WalkDir::new(repository().join(folder)).sort_by_file_name());
    for entry in folders.into_iter().flatten().flatten() {
        if entry.path().extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let name = entry.path().strip_prefix(repository()).unwrap().display().to_string();
        let lines = code(&std::fs::read_to_string(entry.path()).unwrap());
        for (at, (bare, _)) in lines.iter().enumerate() {
            let count = bare.matches("unsafe").count();
            if count == 0 {
                continue;
            }
            *found.entry(name.clone()).or_default() += count;
            let above = &lines[at.saturating_sub(NEAR)..at];
            assert!(above.iter().any(|(_, line)| line.contains("// SAFETY: ")), "{name}:{}: why is it sound?", at + 1);
        }
    }
    let readme = std::fs::read_to_string(repository().join("fuzz/README.md")).unwrap();
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `crates/")?.split(" | ");
        let path = cells.next()?.trim_end_matches('`');
        Some((format!("crates/{path}"), cells.next()?.trim().parse::<usize>().ok()?))
    };
    let told: BTreeMap<String, usize> = readme.lines().filter_map(row).collect();
    assert_eq!(told, found, "the table of fuzz/README.md, and the sources");
}
