//! Compares the requested program with the one that ran, in the same way for every environment.
//!
//! In:  the request, the observation and its source.  Out: [`CheckWire`].
//! Not here: what follows from a mismatch (see `run`).
//!
//! The published study measured one model under three names, because a script dropped its arguments on the way. So the arguments are
//! read back from the far end.

use sparkbench_archive::manifest::CheckWire;

/// Source of arguments that the kernel showed.
pub(super) const CMDLINE: &str = "/proc/<pid>/cmdline just after the start";

/// Item name of [`arguments`].
pub(super) const ARGUMENTS: &str = "arguments";
/// Item name of an image compared with the one asked for.
pub(super) const IMAGE: &str = "image_digest";
/// Item name of a root file system compared with what it was at the start of the campaign.
pub(super) const ROOT: &str = "root_contents";

/// A word for both being known and equal.
pub(super) const MATCH: &str = "match";
/// A word for both being known and unequal.
pub(super) const MISMATCH: &str = "mismatch";
/// A word for one of them not being known.
pub(super) const UNKNOWN: &str = "unknown";

/// One item: equal, unequal, or not known.
pub(super) fn equal(item: &str, asked: Option<&str>, ran: Option<&str>, source: &str) -> CheckWire {
    let result = match (asked, ran) {
        (Some(asked), Some(ran)) if asked == ran => MATCH,
        (Some(_), Some(_)) => MISMATCH,
        _ => UNKNOWN,
    };
    wire(item, asked.map(str::to_owned), ran.map(str::to_owned), source, result)
}

/// Compares the requested arguments with those that the kernel or the engine showed. Both are written as JSON lists, so that blanks, quotes
/// and empty arguments stay visible.
///
/// The kernel shows what a process runs now, which may differ from its start.
///
/// - A script is shown as its interpreter, at most one argument of the `#!` line, the script's path and its arguments. This is a match.
/// - A program may be shown by another path with the same file name. This is a match.
/// - A process may have turned into another program (`exec` at the end of a script). Then the result is unknown.
///
/// `source` names the case.
pub(super) fn arguments(asked: &[String], seen: Option<&[String]>, source: &str) -> CheckWire {
    let (result, rule) = match seen {
        None => (UNKNOWN, ""),
        Some(seen) if seen == asked => (MATCH, ""),
        Some(seen) => match likeness(asked, seen) {
            CommandMatch::Script => (MATCH, " (a script, run by its interpreter)"),
            CommandMatch::Path => (MATCH, " (found by another path)"),
            CommandMatch::Same => (MISMATCH, ""),
            CommandMatch::None => (UNKNOWN, " (the process had turned into another program by then)"),
        },
    };
    wire(ARGUMENTS, Some(list(asked)), seen.map(list), &format!("{source}{rule}"), result)
}

enum CommandMatch {
    /// `[interpreter, (its one argument,) script, arguments ...]`.
    Script,
    /// The same arguments behind another path of the program.
    Path,
    /// The same program, or the same script, with other arguments.
    Same,
    /// Another program.
    None,
}

fn likeness(asked: &[String], seen: &[String]) -> CommandMatch {
    let (Some((program, rest)), Some((first, behind))) = (asked.split_first(), seen.split_first()) else {
        return CommandMatch::Same;
    };
    if last_name(first) == last_name(program) && (first.contains('/') || program.contains('/')) && behind == rest {
        return CommandMatch::Path;
    }
    // Where the script is: second, or third behind the one argument that a `#!` line can hold.
    let found_as =
        |word: &String| word == program || (!program.contains('/') && word.ends_with(&format!("/{program}")));
    let script = (1..=2).find(|at| seen.get(*at).is_some_and(found_as));
    match script {
        Some(at) if seen[at + 1..] == *rest => CommandMatch::Script,
        Some(_) => CommandMatch::Same,
        None if last_name(first) == last_name(program) => CommandMatch::Same,
        None => CommandMatch::None,
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Arguments as a JSON list.
pub(super) fn list(argv: &[String]) -> String {
    serde_json::Value::from(argv.to_vec()).to_string()
}

fn wire(item: &str, asked: Option<String>, ran: Option<String>, source: &str, result: &str) -> CheckWire {
    CheckWire { item: item.to_owned(), asked, ran, source: source.to_owned(), result: result.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn arguments_match_only_one_for_one() {
        let asked = argv(&["bench", "--model", "a b", ""]);
        for (seen, expected) in [
            (Some(argv(&["bench", "--model", "a b", ""])), MATCH),
            (Some(argv(&["/usr/bin/bench", "--model", "a b", ""])), MATCH),
            (Some(argv(&["bench", "--model", "a", "b", ""])), MISMATCH),
            (Some(argv(&["/usr/bin/bench", "--model", "a b"])), MISMATCH),
            (Some(argv(&["bench"])), MISMATCH),
            (Some(Vec::new()), MISMATCH),
            (Some(argv(&["other", "--model", "a b", ""])), UNKNOWN),
            (None, UNKNOWN),
        ] {
            assert_eq!(arguments(&asked, seen.as_deref(), "test").result, expected, "{seen:?}");
        }
    }

    #[test]
    fn a_script_is_shown_with_its_interpreter_and_is_still_what_was_asked() {
        for (asked, seen, expected) in [
            (&["run.sh", "x"][..], &["/bin/sh", "/usr/local/bin/run.sh", "x"][..], MATCH),
            (&["./run.sh"], &["/bin/sh", "-e", "./run.sh"], MATCH),
            (&["trtllm-bench", "-m", "m"], &["/usr/bin/python3", "/usr/local/bin/trtllm-bench", "-m", "m"], MATCH),
            (
                &["trtllm-bench", "-m", "m"],
                &["/usr/bin/python3", "/usr/local/bin/trtllm-bench", "-m", "other"],
                MISMATCH,
            ),
            (&["trtllm-bench", "-m", "m"], &["/usr/bin/python3", "/usr/local/bin/trtllm-bench"], MISMATCH),
            (&["run.sh", "x"], &["/bin/sh", "/usr/local/bin/other.sh", "x"], UNKNOWN),
            (&["run.sh", "x"], &["env", "a", "b", "/usr/local/bin/run.sh", "x"], UNKNOWN),
            (&["/a/run.sh"], &["/bin/sh", "/b/a/run.sh"], UNKNOWN),
            (&["sh", "-c", "sleep 1"], &["sleep", "1"], UNKNOWN),
        ] {
            let check = arguments(&argv(asked), Some(&argv(seen)), "test");
            assert_eq!(check.result, expected, "{asked:?} {seen:?}");
            assert_eq!(check.source.contains("interpreter"), expected == MATCH);
            assert_eq!(check.source.contains("another program"), expected == UNKNOWN);
        }
    }

    #[test]
    fn what_is_not_known_is_neither_equal_nor_unequal() {
        assert_eq!(equal(IMAGE, Some("a"), Some("a"), "t").result, MATCH);
        assert_eq!(equal(IMAGE, Some("a"), Some("b"), "t").result, MISMATCH);
        assert_eq!(equal(IMAGE, None, Some("b"), "t").result, UNKNOWN);
        assert_eq!(equal(IMAGE, Some("a"), None, "t").result, UNKNOWN);
    }

    #[test]
    fn blanks_quotes_and_empty_arguments_stay_visible() {
        let check = arguments(&argv(&["p", "", "a \"b\"", "n\nl"]), None, "test");
        assert_eq!(check.asked.as_deref(), Some(r#"["p","","a \"b\"","n\nl"]"#));
    }
}
