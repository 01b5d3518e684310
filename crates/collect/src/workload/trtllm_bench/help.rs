//! The help text of a program about its options, read once in each environment.
//!
//! In:  the output of a probe: several help texts, each between two lines of ours.  Out: [`Helps`], asked for options by name.
//! Not here: which options a run wants.
//!
//! Only words at the place of an option count: a word in the description of another option is not an option.

use std::collections::{BTreeMap, BTreeSet};

/// Line before a help text. Its name follows.
pub(crate) const BEGIN: &str = "== sparkbench probe: ";
/// Line after it. The exit status follows.
pub(crate) const END: &str = "== sparkbench status: ";

/// Runs each command of the arguments and prints its output between the two lines. `$1` is a program, `$2` a model id, the rest a script
/// with its interpreter. A group of commands wants the model even for a help text.
pub(crate) const SCRIPT: &str = r#"show() {
  printf '\n== sparkbench probe: %s\n' "$1"; shift
  "$@" 2>&1
  printf '\n== sparkbench status: %s\n' "$?"
}
program=$1 model=$2; shift 2
show group "$program" --help
show throughput "$program" --model "$model" throughput --help
show latency "$program" --model "$model" latency --help
show prepare-dataset "$program" --model "$model" prepare-dataset --help
if [ "$#" -gt 0 ]; then show prepare-script "$@" --help; fi
exit 0
"#;

/// One help text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Help {
    /// Exit status of the command, where the probe came so far.
    pub status: Option<i32>,
    options: BTreeSet<String>,
    commands: BTreeSet<String>,
    choices: BTreeMap<String, Vec<String>>,
}

/// All of a probe, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Helps(BTreeMap<String, Help>);

impl Helps {
    /// Reads the output of [`SCRIPT`].
    pub(crate) fn read(text: &str) -> Self {
        let mut helps = BTreeMap::new();
        let mut now: Option<(String, Vec<&str>)> = None;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix(BEGIN) {
                now = Some((name.trim().to_owned(), Vec::new()));
            } else if let Some(status) = line.strip_prefix(END) {
                if let Some((name, lines)) = now.take() {
                    helps.insert(name, Help::read(&lines, status.trim().parse().ok()));
                }
            } else if let Some((_, lines)) = &mut now {
                lines.push(line);
            }
        }
        Self(helps)
    }

    /// The text of one command, where the command is there.
    pub(crate) fn of(&self, name: &str) -> Option<&Help> {
        self.0.get(name).filter(|help| help.status == Some(0))
    }
}

impl Help {
    fn read(lines: &[&str], status: Option<i32>) -> Self {
        let mut help = Self { status, ..Self::default() };
        let mut in_commands = false;
        for (at, line) in lines.iter().enumerate() {
            let trimmed = line.trim_start();
            if !line.starts_with(' ') {
                in_commands = line.starts_with("Commands:") || line.starts_with("positional arguments:");
            }
            if in_commands {
                help.command(line, trimmed);
            }
            if trimmed.starts_with('-') && line.starts_with(' ') {
                // The description begins behind two blanks, or on the next line.
                let column = trimmed.split("  ").next().unwrap_or(trimmed);
                let mut choices = column.to_owned();
                if choices.contains('[') && !choices.contains(']') {
                    for more in lines.iter().skip(at + 1).take(3) {
                        choices.push_str(more.trim());
                    }
                }
                help.option(column, &choices);
            }
        }
        help
    }

    fn command(&mut self, line: &str, trimmed: &str) {
        // Names are indented by two blanks. A deeper line continues a description. A list in braces is how argparse writes them.
        if let Some(list) = trimmed.strip_prefix('{').and_then(|rest| rest.split('}').next()) {
            self.commands.extend(list.split(',').map(str::to_owned));
        } else if line.len() - trimmed.len() <= 4 {
            self.commands.extend(trimmed.split_whitespace().next().map(str::to_owned));
        }
    }

    fn option(&mut self, column: &str, choices: &str) {
        let mut last = None;
        for word in column.split([' ', ',', '/']).filter(|word| word.starts_with('-')) {
            let name = word.split(['=', '[']).next().unwrap_or(word);
            self.options.insert(name.to_owned());
            last = Some(name.to_owned());
        }
        if let (Some(name), Some((_, list))) = (last, choices.split_once('['))
            && let Some((list, _)) = list.split_once(']')
            && list.contains('|')
        {
            self.choices.insert(name, list.split('|').map(|choice| choice.trim().to_owned()).collect());
        }
    }

    /// True when the option is there.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.contains(option)
    }

    /// True when the command is there.
    pub(crate) fn has_command(&self, name: &str) -> bool {
        self.commands.contains(name)
    }

    /// The first of several names of one option that is there.
    pub(crate) fn first_of<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().find(|name| self.has(name)).copied()
    }

    /// The words that an option takes, where the text lists them.
    pub(crate) fn choices(&self, option: &str) -> Option<&[String]> {
        self.choices.get(option).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\n== sparkbench probe: throughput\nUsage: x [OPTIONS]\n\n  Words that name --nothing.\n\nOptions:\n  \
        Engine:                  --not_here either\n    -m, --model TEXT         Of --engine_dir.  [required]\n    \
        --backend [pytorch|\n                       _autodeploy]\n                             Which.\n    \
        --on / --off             Switch.\n  --streaming              Also -x.\n\nCommands:\n  prepare-dataset  Makes\n                   \
        throughput figures\n\n== sparkbench status: 0\n== sparkbench probe: latency\nError: No such command\n== sparkbench status: 2\n";

    #[test]
    fn options_are_told_from_words_in_descriptions() {
        let helps = Helps::read(TEXT);
        let help = helps.of("throughput").unwrap();
        for option in ["-m", "--model", "--backend", "--on", "--off", "--streaming"] {
            assert!(help.has(option), "{option}");
        }
        for word in ["--nothing", "--engine_dir", "--not_here", "-x"] {
            assert!(!help.has(word), "{word}");
        }
        assert_eq!(help.choices("--backend").unwrap(), ["pytorch", "_autodeploy"]);
        assert!(help.has_command("prepare-dataset") && !help.has_command("throughput"));
        assert_eq!(help.first_of(&["--config", "--off"]), Some("--off"));
    }

    #[test]
    fn a_command_that_failed_or_was_cut_off_is_not_there() {
        assert_eq!(Helps::read(TEXT).of("latency"), None);
        assert_eq!(Helps::read(&TEXT[..60]).of("throughput"), None);
        assert_eq!(Helps::read("").of("throughput"), None);
    }
}
