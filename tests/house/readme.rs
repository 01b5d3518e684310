//! The README is short, and what it and the pages behind it show and name is what the program prints and has.
//!
//! In:  `README.md` and the pages of `docs/` that continue it, the program.
//! Out: commands, options, addresses and outputs that differ.
//! Not here: whether sentences are short (see `prose.rs`), links within the manual (see `tests/pages/manual.rs`).
#![cfg(feature = "analyse")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::support::advice;
use crate::support::folder::Folder;
use crate::support::program::repository;

/// What is longer belongs to the manual.
const LINES_MOST: usize = 200;

/// Pages of the manual that took in what is too long for the README, and are held to the program like it.
const PAGES: [&str; 7] = [
    "README.md",
    "docs/analyse-a-folder.md",
    "docs/compare-two-folders.md",
    "docs/collect.md",
    "docs/commands.md",
    "docs/site.md",
    "docs/table.md",
];

/// A text of the repository.
fn page(name: &str) -> String {
    std::fs::read_to_string(repository().join(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"))
}

/// Blocks fenced as `kind`, in order.
fn blocks<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```{kind}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

/// Pieces of code in a text: spans within a line, and the lines of blocks of commands.
fn code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, part) in text.split("```").enumerate() {
        if at % 2 == 0 {
            found.extend(part.split('`').skip(1).step_by(2).map(str::to_owned));
        } else if let Some(lines) = part.strip_prefix("sh\n") {
            found.extend(
                lines.lines().filter_map(|line| line.split(" #").next()).map(|line| line.trim_end().to_owned()),
            );
        }
    }
    found
}

/// The part of a page between a heading and the next one.
fn section<'t>(text: &'t str, heading: &str) -> &'t str {
    let rest = text.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no '{heading}'")).1;
    rest.split("\n## ").next().unwrap_or(rest)
}

/// Code in the first column of the tables of a text.
fn first_column(text: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    rows.flat_map(code).collect()
}

/// Whether something stands below the folder at an address with `<names>` in it.
fn stands(folder: &Path, parts: &[&str]) -> bool {
    let Some((first, rest)) = parts.split_first() else { return true };
    if !first.contains('<') {
        let next = folder.join(first);
        return next.exists() && stands(&next, rest);
    }
    let fixed: Vec<&str> =
        first.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, after)| after)).collect();
    let fits = |name: &str| fixed.iter().all(|piece| name.contains(piece));
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_name().to_str().is_some_and(fits)).any(|entry| stands(&entry.path(), rest))
}

fn run(args: &[&str]) -> (String, String, Option<i32>) {
    let out = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    (text(&out.stdout), text(&out.stderr), out.status.code())
}

/// Answers and talk in the order in which a terminal shows them.
fn shown(args: &[&str]) -> (String, Option<i32>) {
    let out = Command::new("sh")
        .args(["-c", "exec \"$0\" \"$@\" 2>&1", env!("CARGO_BIN_EXE_sparkbench")])
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("a shell starts");
    (String::from_utf8_lossy(&out.stdout).trim_end().to_owned(), out.status.code())
}

#[test]
fn the_readme_is_short_shows_one_example_and_leads_on_to_what_there_is() {
    let text = page("README.md");
    let lines = text.lines().count();
    assert!(lines <= LINES_MOST, "the README has {lines} lines, at most {LINES_MOST}: details belong to the manual");
    let shown = blocks(&text, "text").len() + blocks(&text, "console").len() + text.matches("![").count();
    assert!(shown <= 1, "the README shows {shown} outputs and pictures");
    let links: Vec<&str> = text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let local: Vec<&&str> = links.iter().filter(|link| !link.starts_with("http")).collect();
    assert!(local.len() > 10 && local.contains(&&"docs/README.md"), "{links:?}");
    for link in local {
        assert!(repository().join(link).exists(), "the README leads to {link}, which is not there");
    }
    let tutorials = section(&page("docs/README.md"), "Tutorials").matches(".md) |").count();
    let words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
    let counted = format!("begins with {} tutorials", words.get(tutorials).copied().unwrap_or("many"));
    assert!(text.contains(&counted), "the manual {counted}");
}

#[test]
fn the_first_command_says_what_the_readme_shows() {
    // As on a new machine: a version that stood there before would be carried over.
    let folder = Folder::new("readme-site");
    let site = folder.path().join("site");
    let path = site.to_str().expect("a path in words");
    let (said, code) = shown(&["analyse", "--site", path]);
    assert_eq!(code, Some(0), "{said}");
    let text = page("README.md");
    assert!(blocks(&text, "sh").contains(&"cargo run --release -- analyse"), "the README has another first command");
    let shown = blocks(&text, "text").first().copied().unwrap_or_default();
    assert_eq!(said.replace(path, "site"), shown, "the README's output is not what the program prints");
    let traps = std::fs::read_dir(site.join("traps")).expect("pages of traps");
    let traps = traps.filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_dir())).count();
    assert!(text.contains(&format!("looks for {traps} known ways")), "the README counts other than {traps} traps");
    let addresses = first_column(section(&page("docs/site.md"), "Addresses"));
    assert!(addresses.len() > 15, "{addresses:?}");
    for address in addresses {
        let file = address.split('#').next().unwrap_or_default();
        let parts: Vec<&str> = file.split('/').filter(|part| !part.is_empty()).collect();
        assert!(stands(&site, &parts), "docs/site.md names {address}, and the site has nothing there");
    }
}

#[test]
fn the_comparison_of_the_readme_prints_what_its_tutorial_shows() {
    let command = "sparkbench compare data/phase1#native data/phase1#container";
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    let (printed, said, code) = run(&args);
    assert_eq!(code, Some(6), "{said}");
    for name in ["README.md", "docs/compare-two-folders.md"] {
        assert!(blocks(&page(name), "sh").contains(&command), "{name} has another comparison");
    }
    let tutorial = page("docs/compare-two-folders.md");
    assert_eq!(blocks(&tutorial, "text"), [printed.as_str()], "the tutorial shows other than the program prints");
}

/// What `--help` of each verb says, and that of the program under the empty name.
fn helps() -> BTreeMap<String, String> {
    let own = run(&["--help"]).0;
    let list = own.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list of verbs");
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut helps: BTreeMap<String, String> = names
        .filter(|name| !name.is_empty() && *name != "help")
        .map(|name| (name.to_owned(), run(&[name, "--help"]).0))
        .collect();
    helps.insert(String::new(), own);
    helps
}

#[test]
fn every_verb_and_option_that_the_readme_and_its_pages_name_exists() {
    if cfg!(not(all(feature = "collect", target_os = "linux"))) {
        eprintln!("skipped: this build lacks verbs that the manual names");
        return;
    }
    let helps = helps();
    let has = |help: &String, option: &String| advice::options(help).contains(option);
    let mut seen = (0, 0);
    for name in PAGES {
        for piece in code(&page(name)) {
            let commands = advice::commands(&piece);
            for (verb, line) in &commands {
                let asked = if verb.starts_with('-') { "" } else { verb };
                let help = helps.get(asked).unwrap_or_else(|| panic!("{name}: 'sparkbench {verb}' is no command"));
                for option in advice::options(line) {
                    assert!(has(help, &option), "{name}: 'sparkbench {verb}' has no --{option}");
                }
                seen.0 += 1;
            }
            if commands.is_empty() && piece.starts_with("--") {
                for option in advice::options(&piece) {
                    assert!(helps.values().any(|help| has(help, &option)), "{name}: --{option} is in no help");
                    seen.1 += 1;
                }
            }
        }
    }
    assert!(seen.0 > 40 && seen.1 > 30, "{seen:?}");
}

#[test]
fn the_page_of_commands_has_every_verb_and_every_option_of_analyse_and_compare() {
    if cfg!(not(all(feature = "collect", target_os = "linux"))) {
        eprintln!("skipped: this build lacks verbs that the manual names");
        return;
    }
    let helps = helps();
    let text = page("docs/commands.md");
    let rows = first_column(section(&text, "Verbs"));
    let rows: BTreeSet<String> = rows.iter().flat_map(|row| advice::commands(row)).map(|(verb, _)| verb).collect();
    let verbs: BTreeSet<String> = helps.keys().filter(|verb| !verb.is_empty()).cloned().collect();
    assert_eq!(rows, verbs, "the table of verbs, and the help");
    let named: BTreeSet<String> =
        code(&text).iter().filter(|piece| piece.starts_with("--")).flat_map(|piece| advice::options(piece)).collect();
    for verb in ["analyse", "compare"] {
        // Options of the verb itself: each begins a line, and those of all verbs stand apart.
        let own = helps[verb].split("Global options:").next().unwrap_or_default();
        let own = own.lines().filter(|line| line.trim_start().starts_with("--"));
        let missing: Vec<String> =
            own.filter_map(|line| advice::options(line).into_iter().next()).filter(|o| !named.contains(o)).collect();
        assert!(missing.is_empty(), "docs/commands.md lacks options of {verb}: {missing:?}");
    }
}

#[test]
fn the_page_of_campaigns_to_collect_has_every_suite() {
    let named = first_column(section(&page("docs/collect.md"), "Suites to begin with"));
    let named: BTreeSet<String> = named.into_iter().collect();
    let entries = std::fs::read_dir(repository().join("suites")).expect("suites/");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let suites: BTreeSet<String> = names.filter(|name| name.ends_with(".toml")).collect();
    assert_eq!(named, suites, "the table of docs/collect.md, and suites/");
}

#[test]
fn the_page_of_campaigns_has_every_campaign_of_this_repository() {
    let text = page("docs/campaigns.md");
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    let named: BTreeSet<String> = headings.into_iter().flat_map(code).collect();
    let entries = std::fs::read_dir(repository().join("data")).expect("data/");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let campaigns: BTreeSet<String> = names.filter(|name| name != "facts").map(|name| format!("data/{name}")).collect();
    assert_eq!(named, campaigns, "the headings of docs/campaigns.md, and data/");
}

#[test]
fn the_table_in_the_tutorial_is_read_whole() {
    let text = page("docs/analyse-a-folder.md");
    let table = blocks(&text, "csv").first().copied().unwrap_or_default();
    let folder = Folder::new("readme-table");
    folder.put("runs.csv", table);
    let site = folder.path().join("site");
    let (_, said, code) =
        run(&["analyse", folder.path().to_str().expect("words"), "--site", site.to_str().expect("words"), "--strict"]);
    assert_eq!(code, Some(0), "{said}");
    let analysis = std::fs::read_to_string(site.join("data/analysis.json")).expect("an analysis");
    let analysis: serde_json::Value = serde_json::from_str(&analysis).expect("JSON");
    let runs = analysis["runs"].as_array().expect("runs");
    let rates: Vec<(&str, f64)> = runs
        .iter()
        .filter_map(|run| Some((run["environment"].as_str()?, run["metrics"]["output_throughput_tok_s"].as_f64()?)))
        .collect();
    assert_eq!(rates, [("docker", 118.94), ("native", 119.7)]);
}
