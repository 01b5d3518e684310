//! What a shell and `man` know of the program, and what `--help` lists.

#[path = "support/folder.rs"]
mod folder;
#[path = "support/program.rs"]
mod program;

use folder::Folder;
use program::run_in;

/// Verbs that the help lists.
fn verbs() -> Vec<String> {
    let folder = Folder::new("shell-verbs");
    let help = run_in(folder.path(), &["--help"], &[]).expect(0).out;
    let list = help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list of verbs");
    let first = |line: &str| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')).map(str::to_owned);
    let names = list.lines().filter_map(first).filter_map(|line| line.split(' ').next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
}

#[test]
fn every_verb_is_listed_and_its_help_has_an_example_and_one_place_for_global_options() {
    let folder = Folder::new("shell-help");
    let verbs = verbs();
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
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell} does not know {verb}");
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
    for verb in verbs() {
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
