//! A command on several lines of a console: continued by `\`, or wrapped by the terminal.
//!
//! In:  the lines behind its first.  Out: the command as one line.
//! Not here: its options (see `arguments`).
//!
//! A continued line ends in `\`, in PowerShell in a back quote, in Windows' shell in `^`. The shell may print `> ` in front of the next. A
//! wrapped line has no sign of it. It goes on where the next line begins with an option, completes one or gives the value that one lacks. Where
//! all lines have the width of a terminal, words are cut anywhere.

use super::arguments::{names_program, takes_value};

/// Longest command.
const LONGEST: usize = 64 << 10;
/// Width below which a line is not believed to be wrapped inside a word.
const NARROW: usize = 60;
/// Usual widths of terminals, in letters.
const WIDTHS: &[usize] = &[80, 100, 120, 132, 160, 200];

/// Programs that begin a command of their own.
const PROGRAMS: &[&str] =
    &["bash", "curl", "docker", "echo", "export", "podman", "python", "python3", "sudo", "uv", "vllm"];

/// A command whose end was not seen yet.
pub(super) struct Command {
    /// Line that it begins on.
    pub number: u64,
    pub text: String,
    continued: bool,
    /// Letters of its last line, and of its widest.
    last: usize,
    widest: usize,
    lines: u32,
}

impl Command {
    /// A command of a benchmark that may go on behind this line.
    pub(super) fn begin(number: u64, line: &str) -> Option<Self> {
        if !names_program(line) || line.contains("Namespace(") {
            return None;
        }
        let (text, continued) = without_sign(line);
        (continued || text.contains(" --")).then(|| {
            let letters = line.chars().count();
            Self { number, text: text.to_owned(), continued, last: letters, widest: letters, lines: 1 }
        })
    }

    /// Takes the next line if the command goes on in it.
    pub(super) fn take(&mut self, line: &str) -> bool {
        let ends = line.trim().is_empty() || line.trim_start().starts_with("===");
        if ends || (!self.continued && names_program(line)) || self.text.len() > LONGEST {
            return false;
        }
        let (text, continued) = without_sign(line);
        if self.continued {
            let text = text.trim_start();
            self.text.push(' ');
            self.text.push_str(text.strip_prefix("> ").unwrap_or(text));
        } else {
            let Some(between) = self.wrapped(line) else { return false };
            self.text.push_str(between);
            self.text.push_str(text);
        }
        self.continued = continued;
        self.last = line.chars().count();
        self.widest = self.widest.max(self.last);
        self.lines += 1;
        true
    }

    /// What to put between the command so far and a line that a terminal wrapped. `None` where it is another line.
    fn wrapped(&self, line: &str) -> Option<&'static str> {
        let first = line.split_whitespace().next()?;
        let cut = self.text.split_whitespace().next_back().unwrap_or_default();
        let spaced = self.text.ends_with(' ') || line.starts_with(' ');
        if is_option(first) {
            return Some(" ");
        }
        let whole = cut.starts_with('-') && !cut.contains('=');
        if whole && !spaced && !takes_value(cut) && takes_value(&format!("{cut}{first}")) {
            return Some("");
        }
        let options = line.split_whitespace().any(is_option);
        let alone = line.split_whitespace().count() == 1;
        // Lines that a program prints have a colon or brackets. Prompts have a sign of their own.
        let printed =
            line.contains(": ") || line.contains(['(', '|']) || line.starts_with(['$', '#', '+', '=', '[', '*']);
        let rule = !first.contains(char::is_alphanumeric);
        if printed || rule || PROGRAMS.contains(&first) || !(options || alone) {
            return None;
        }
        if takes_value(cut) {
            return Some(" ");
        }
        // The end of a name, not a word on its own.
        if !options && !first.contains(|c: char| c.is_ascii_digit() || "-_/".contains(c)) {
            return None;
        }
        let letters = line.chars().count();
        let as_wide = |width: usize| self.last == width || self.last + 1 == width;
        let width = WIDTHS
            .iter()
            .copied()
            .chain((self.lines > 1).then_some(self.widest))
            .chain(Some(letters).filter(|_| options))
            .filter(|width| *width >= NARROW)
            .find(|width| as_wide(*width))?;
        // A blank at the end of a line is lost where text is copied.
        Some(if !spaced && self.last + 1 == width { " " } else { "" })
    }
}

/// `--name`, not a rule of dashes.
fn is_option(word: &str) -> bool {
    word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// A line without the sign that it goes on, and whether it had one.
fn without_sign(line: &str) -> (&str, bool) {
    let trimmed = line.trim_end();
    match trimmed.strip_suffix('\\').or_else(|| trimmed.strip_suffix(" `")).or_else(|| trimmed.strip_suffix(" ^")) {
        Some(text) => (text, true),
        None => (line, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command, and how many lines behind its first it took.
    fn joined(lines: &[&str]) -> (String, usize) {
        let (first, rest) = lines.split_first().unwrap();
        let mut command = Command::begin(1, first).unwrap();
        let taken = rest.iter().take_while(|line| command.take(line)).count();
        (command.text.split_whitespace().collect::<Vec<_>>().join(" "), taken)
    }

    const WHOLE: &str = "$ vllm bench serve --backend vllm --model org/model-a --num-prompts 200";

    #[test]
    fn a_continued_command_is_one_line() {
        for lines in [
            ["$ vllm bench serve --backend vllm \\", "--model org/model-a \\", "--num-prompts 200", "Namespace(a=1)"],
            [
                "$ vllm bench serve \\",
                ">   --backend vllm --model \\",
                "> org/model-a --num-prompts 200",
                "INFO 1: --x",
            ],
            ["$ vllm bench serve `", "--backend vllm --model org/model-a `", "--num-prompts 200", "--------"],
            ["$ vllm bench serve ^", "--backend vllm --model org/model-a ^  ", "--num-prompts 200", ""],
            ["$ vllm bench serve\\", "--backend vllm --model org/model-a\\", "--num-prompts 200", "=== Result"],
        ] {
            assert_eq!(joined(&lines), (WHOLE.to_owned(), 2), "{lines:?}");
        }
        // A blank line or the result ends it although a sign says that it goes on.
        assert_eq!(joined(&["vllm bench serve --model m \\", "", "--num-prompts 2"]).1, 0);
        assert_eq!(joined(&["vllm bench serve --model m \\", "--seed 1 \\", "=== Result"]).1, 1);
    }

    #[test]
    fn a_wrapped_command_is_one_line_wherever_it_is_cut() {
        let long = "$ vllm bench serve --backend vllm --endpoint /v1/completions --model org/model-a --dataset-name random \
                    --random-input-len 200 --random-output-len 128 --max-concurrency 16 --num-prompts 200";
        for width in [80, 100, 120] {
            for trimmed in [false, true] {
                let letters: Vec<char> = long.chars().collect();
                let lines: Vec<String> = letters.chunks(width).map(|part| part.iter().collect()).collect();
                let mut lines: Vec<&str> =
                    lines.iter().map(|line| if trimmed { line.trim_end() } else { line.as_str() }).collect();
                let count = lines.len() - 1;
                lines.push("Namespace(model='x')");
                assert_eq!(joined(&lines), (long.to_owned(), count), "{width} {trimmed}");
            }
        }
        // Only the width of a terminal tells that a name goes on.
        let (first, rest) =
            ("$ vllm bench serve --backend vllm --endpoint /v1/completions --model org/model", "-a --seed 1");
        assert_eq!(first.len(), 78);
        assert_eq!(joined(&[&format!("{first}-a"), "-a --seed 1"]).0, format!("{first}-a-a --seed 1"));
        assert_eq!(joined(&[first, rest]).1, 0, "no terminal has 78 letters");
        assert_eq!(
            joined(&["vllm bench serve --model m --num-pro", "mpts 20", "x"]).0,
            "vllm bench serve --model m --num-prompts 20"
        );
        assert_eq!(
            joined(&["vllm bench serve --model m --num-prompts", "20", "x"]).0,
            "vllm bench serve --model m --num-prompts 20"
        );
    }

    #[test]
    fn lines_that_are_no_part_of_a_command_stay_apart() {
        let command = "vllm bench serve --backend vllm --endpoint /v1/completions --model org/model-abc"; // 80 letters
        assert_eq!(command.len(), 80);
        for next in [
            "Namespace(subparser='bench', model='x')",
            "INFO 01-01 10:00:00 [api.py:1] args: --model x",
            "Starting initial single prompt test run...",
            "$ vllm bench serve --model org/b",
            "$ python x.py --model y",
            "python x.py --model y",
            "Done",
            "Traffic request rate: inf",
            "--- Turn 1 ---",
            "--------------------",
            "============ Serving Benchmark Result ============",
            "",
        ] {
            assert_eq!(joined(&[command, next]).1, 0, "{next}");
        }
        assert!(Command::begin(1, "vllm serve org/m --port 1 \\").is_none());
    }
}
