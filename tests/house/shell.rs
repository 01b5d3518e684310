//! What a shell and `man` know of the program, and what `--help` lists.

use std::sync::LazyLock;

use crate::support::advice;
use crate::support::folder::Folder;
use crate::support::program;
use crate::support::program::run_in;

/// Verbs that the help lists, read once: the folder has one name, and tests run beside each other.
static VERBS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Folder::new("shell-verbs");
    let help = run_in(folder.path(), &["--help"], &[]).expect(0).out;
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list of verbs");
    let first = |line: &str| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')).map(str::to_owned);
    let names = list.lines().filter_map(first).filter_map(|line| line.split(' ').next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
});

#[test]
fn every_verb_is_listed_and_its_help_has_an_example_and_one_place_for_global_options() {
    let folder = Folder::new("shell-help");
    let verbs = &*VERBS;
    if cfg!(all(feature = "analyse", feature = "collect", target_os = "linux")) {
        assert!(verbs.len() >= 16 && ["mock", "completions", "man"].iter().all(|name| verbs.iter().any(|v| v == name)));
    }
    for verb in verbs {
        let help = run_in(folder.path(), &[verb.as_str(), "--help"], &[]).expect(0).out;
        assert!(help.contains("Examples:"), "{verb} has no example");
        assert_eq!(help.matches("Global options:").count(), 1, "{verb}:\n{help}");
        let global = help.split("Global options:").nth(1).unwrap();
        for option in ["--quiet", "--verbose", "--color"] {
            assert!(global.contains(option), "{verb}: {option} is not among the global options");
        }
    }
}

#[test]
fn each_shell_gets_a_script_that_knows_every_verb() {
    let folder = Folder::new("shell-completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run_in(folder.path(), &["completions", shell], &[]).expect(0).out;
        for verb in VERBS.iter() {
            assert!(script.contains(verb.as_str()), "{shell} does not know {verb}");
        }
    }
    // Bash reads its script without a fault.
    let script = run_in(folder.path(), &["completions", "bash"], &[]).expect(0).out;
    let file = folder.put("sparkbench.bash", &script);
    let Ok(read) = std::process::Command::new("bash").arg("-n").arg(file).status() else { return };
    assert!(read.success());
    run_in(folder.path(), &["completions", "no-such-shell"], &[]).expect(2);
}

#[test]
fn there_is_a_manual_page_for_the_program_and_for_each_verb() {
    let folder = Folder::new("shell-man");
    run_in(folder.path(), &["man", "pages"], &[]).expect(0).complains(&["manual pages"]);
    let page = |name: &str| std::fs::read_to_string(folder.path().join(format!("pages/{name}.1"))).expect(name);
    assert!(page("sparkbench").contains(".TH sparkbench 1"), "{}", page("sparkbench"));
    for verb in &*VERBS {
        let page = page(&format!("sparkbench-{verb}"));
        assert!(page.contains(&format!(".TH sparkbench-{verb} 1")), "{page}");
        assert!(page.contains("Examples"), "{verb}");
    }
}

#[test]
fn formats_are_a_line_each_and_a_word_gives_the_details() {
    let folder = Folder::new("shell-formats");
    let ending = run_in(folder.path(), &["formats"], &[]).expect(0);
    ending.complains(&["sparkbench formats vllm"]);
    let lines: Vec<&str> = ending.out.lines().collect();
    assert!(lines.len() > 20 && lines.iter().all(|line| line.contains("  ")), "{}", ending.out);
    let details = run_in(folder.path(), &["formats", "vllm"], &[]).expect(0).out;
    assert!(details.contains("  sign ") && details.contains("  reads "), "{details}");
}

/// Words behind the program's name that are no verb: a sentence goes on, or a key of text begins with the name.
const PROSE: [&str; 9] = ["as", "sets", "removes", "attaches", "with", "that", "by", "publish", "probe"];

/// Options that advice names and that belong to another program: where, which, whose.
const OF_OTHERS: &[(&str, &[&str], &str)] = &[
    ("crates/collect/src/env/docker/", &["restart", "shm-size", "ipc", "user", "flag"], "docker run"),
    ("crates/collect/src/env/docker/ready.rs", &["runtime", "output"], "nvidia-ctk"),
    ("crates/ingest/src/sglang/lines.rs", &["output-details"], "sglang.bench_serving"),
    ("crates/collect/src/run/gates/", &["gpus", "cap-add"], "docker run"),
    ("crates/host/src/cuda/", &["gpus"], "docker run"),
    ("crates/collect/src/run/gates/memory_available.rs", &["sort"], "ps"),
    ("crates/collect/src/run/mounts.rs", &["recursive", "lazy"], "umount"),
    ("crates/load/src/session/", &["max-model-len"], "vllm serve"),
];

/// Issue 15: "check every remedy in the program". What hints, remedies and examples name is there, in the help of the verb that they name.
#[test]
fn every_command_and_option_that_the_program_recommends_is_in_the_help() {
    let folder = Folder::new("shell-advice");
    let all = cfg!(all(feature = "analyse", feature = "collect", target_os = "linux"));
    if !all {
        eprintln!("skipped: this build lacks verbs that its sources name");
        return;
    }
    let mut helps = std::collections::BTreeMap::new();
    for verb in &*VERBS {
        let help = run_in(folder.path(), &[verb.as_str(), "--help"], &[]).expect(0).out;
        helps.insert(verb.clone(), help);
    }
    let has = |verb: &str, option: &str| {
        helps.get(verb).is_some_and(|help| {
            help.match_indices(&format!("--{option}"))
                .any(|(at, name)| !help[at + name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-'))
        })
    };
    let source = program::repository();
    let (mut wrong, mut seen) = (Vec::new(), (0, 0));
    for file in ["src", "crates"].iter().flat_map(|folder| sources(&source.join(folder))) {
        let name = file.strip_prefix(source).unwrap().display().to_string();
        // A file of a verb speaks of that verb, and so does the crate behind `load`.
        let stem = name.strip_prefix("src/cli/").and_then(|rest| rest.split(['/', '.']).next()).unwrap_or_default();
        let own = match stem {
            _ if name.starts_with("crates/load/") => Some("load"),
            _ => helps.keys().map(String::as_str).find(|verb| verb.replace('-', "_") == stem),
        };
        for text in advice::texts(&std::fs::read_to_string(&file).unwrap()) {
            let mut spoken_for = Vec::new();
            for (verb, line) in advice::commands(&text) {
                if PROSE.contains(&verb.as_str()) {
                    continue;
                }
                seen.0 += 1;
                if !helps.contains_key(&verb) {
                    wrong.push(format!("{name}: 'sparkbench {verb}' is not a command: {text}"));
                }
                for option in advice::options(&line) {
                    seen.1 += 1;
                    if !has(&verb, &option) {
                        wrong.push(format!("{name}: 'sparkbench {verb}' has no --{option}: {text}"));
                    }
                    spoken_for.push(option);
                }
            }
            for option in advice::options(&text).into_iter().filter(|option| !spoken_for.contains(option)) {
                seen.1 += 1;
                let there = match own {
                    Some(verb) => has(verb, &option),
                    None => helps.keys().any(|verb| has(verb, &option)),
                };
                let other = |(place, options, _): &(&str, &[&str], &str)| {
                    name.starts_with(place) && options.contains(&option.as_str())
                };
                if !there && !OF_OTHERS.iter().any(other) {
                    wrong.push(format!(
                        "{name}: there is no --{option}{}: {text}",
                        own.map_or_else(String::new, |verb| format!(" of {verb}"))
                    ));
                }
            }
        }
    }
    assert!(seen.0 > 40 && seen.1 > 80, "too little was found to look at: {seen:?}");
    assert!(wrong.is_empty(), "{}\n{} in all", wrong.join("\n"), wrong.len());
}

fn sources(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && !path.to_string_lossy().ends_with("tests.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}
