//! The manual is understood at first reading: its sentences are short, and a full stop stands where a semicolon could.
//!
//! In:  `README.md`, `CHANGELOG.md`, `benches/README.md`, `docs/*.md` and `docs/design/*.md`.
//! Out: the sentences to be rewritten, each with its file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::prose::{LONGEST, NINETIETH, faults, sentences};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Pages of the manual, from the root of the repository.
fn manual() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = ["README.md", "CHANGELOG.md", "benches/README.md"].map(PathBuf::from).to_vec();
    for folder in ["docs", "docs/design"] {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of the manual");
        let mut found: Vec<PathBuf> = entries
            .map(|entry| Path::new(folder).join(entry.expect("an entry of the folder").file_name()))
            .filter(|path| path.extension().is_some_and(|end| end == "md"))
            .collect();
        found.sort();
        pages.extend(found);
    }
    pages
}

/// The prose of Markdown: without code, tables, headings, pictures, HTML and the addresses of links.
fn prose(markdown: &str) -> String {
    let text = without(&without(markdown, "```", "```"), "<!--", "-->");
    let other = |line: &str| ["|", "#", "![", "[!", "<"].iter().any(|start| line.trim_start().starts_with(start));
    let lines: Vec<&str> = text.lines().filter(|line| !other(line)).collect();
    unlinked(&lines.join("\n")).replace(['`', '*', '_'], "")
}

/// The text without what stands from each `open` to the next `close`.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(open) {
        let Some((_, after)) = inside.split_once(close) else { break };
        kept.push_str(before);
        rest = after;
    }
    kept + rest
}

/// Links as the words that a reader sees.
fn unlinked(text: &str) -> String {
    let mut seen = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('[') {
        seen.push_str(before);
        let link = inside.split_once(']').and_then(|(words, after)| {
            let (_, after) = after.strip_prefix('(')?.split_once(')')?;
            Some((words, after))
        });
        if let Some((words, after)) = link {
            seen.push_str(words);
            rest = after;
        } else {
            seen.push('[');
            rest = inside;
        }
    }
    seen + rest
}

/// Fails with every fault, so that an editor sees all of them in one run.
fn assert_easy(faults: &[String]) {
    assert!(faults.is_empty(), "{}\n{} in all", faults.join("\n"), faults.len());
}

#[test]
fn the_manual_is_understood_at_first_reading() {
    let pages = manual();
    assert!(pages.len() > 40, "{pages:?}");
    let read = |path: &PathBuf| fs::read_to_string(root().join(path)).expect("a page of the manual");
    let found: Vec<String> =
        pages.iter().flat_map(|path| faults(&path.display().to_string(), &prose(&read(path)))).collect();
    assert_easy(&found);
}

#[test]
fn code_tables_headings_and_addresses_are_no_prose() {
    let page = "# A heading; long\n\nRead [the `page`](a;b.md) of [nodes] *first*.\n\n| a; | b |\n|---|---|\n\n\
                ```sh\na; b\n```\n\n<!-- a;\nb -->\n![a;](b.png)\n<img alt=\"a;\">\nThen go on.";
    let seen = prose(page);
    let seen: Vec<&str> = seen.split_whitespace().collect();
    assert_eq!(seen.join(" "), "Read the page of [nodes] first. Then go on.");
}

#[test]
fn a_sentence_ends_at_a_stop_at_an_empty_line_and_at_an_item() {
    let text = "One sentence goes on\nover a line. Another one ends here!\n\nA paragraph without its stop\n \n\
                a list begins like this:\n- an item without a stop\n- and one more of them\n\
                12. a number before an item\nNo, three words.";
    let wanted = [
        "One sentence goes on over a line.",
        "Another one ends here!",
        "A paragraph without its stop",
        "a list begins like this:",
        "an item without a stop",
        "and one more of them",
        "a number before an item No, three words.",
    ];
    assert_eq!(sentences(text), wanted);
}

#[test]
fn a_fault_names_the_text_and_the_sentence() {
    let short = "These are five short words. ".repeat(20);
    assert_eq!(faults("a.md", &short), Vec::<String>::new());
    let long = format!("{}end.", "word ".repeat(LONGEST));
    let found = faults("a.md", &format!("{short}{long}"));
    assert!(found.len() == 1 && found[0].starts_with("a.md: 41 words, at most 40: word word"), "{found:?}");
    let found = faults("a.md", &format!("{short}One idea stands here; another follows."));
    assert!(found.len() == 1 && found[0].ends_with("could end: One idea stands here; another follows."), "{found:?}");
    let wide = format!("{}end. ", "word ".repeat(NINETIETH));
    let found = faults("a.md", &wide.repeat(20));
    assert!(found.len() == 2 && found[0].contains("median") && found[1].contains("90th"), "{found:?}");
}
