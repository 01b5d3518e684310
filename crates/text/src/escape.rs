//! Text of others where it would act: in Markdown, in a cell of a spreadsheet, as the name of a file. Bytes where only text may stand.
//!
//! In:  any text.  Out: text that shows the same and does nothing.
//! Not here: HTML (the templates escape it), XML and drawings (see `chart`), the terminal (see `cli::talk`).
//!
//! Markdown is posted by a workflow that may comment on pull requests, so a name in a result file must not call people or link anywhere.
//! A backslash ends what Markdown itself would do. GitHub and GitLab then search the finished text, where no backslash and no entity is
//! left, for mentions, references and addresses. `\@name` and `&#64;name` still call somebody (github/markup#1168, github/cmark-gfm#181).
//! A code span does not, but its text reads as code. An empty HTML comment does not either, but it is lost in a reply by mail, and the
//! mention is back (dependabot/dependabot-core#3157). What holds everywhere is a zero-width space behind the sign. Dependabot and Renovate
//! do the same.
//!
//! Hashes of commits are left alone. They link to a commit of the same repository, call nobody, and are there to be copied.

use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::hash::hash as sha256;

/// Shown by nobody. Parts a sign from what GitHub and GitLab look for behind it.
const BREAK: char = '\u{200b}';

/// Longest name of a file or a folder that is made of a name, bytes. File systems allow 255. Room is left for what is put before and behind
/// it: a number, an ending, the marks of a file that is being written.
const LONGEST: usize = 200;

/// Digits of the hash that stands for what was cut off.
const DIGITS: usize = 8;

/// Names that Windows takes for devices. A repository with a folder of this name cannot be checked out there.
const DEVICES: &[&str] = &[
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// Bytes in base64, with padding (RFC 4648, section 4).
pub fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Text as Markdown that shows it and does nothing else, in a paragraph, a heading, a list or a cell of a table.
///
/// - Line breaks and further spaces become one space. Other control characters, and those that turn the direction of text, become U+FFFD.
/// - What is read back is the same text with zero-width spaces in it.
pub fn markdown(text: &str) -> String {
    let text = settled(text);
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut letters = text.chars();
    // Whether nothing but spaces came before: a list, a rule or a command would begin here.
    let mut first = true;
    // Digits at the beginning and nothing else: the number of a list would be ended by the next sign.
    let mut numbered = false;
    while let Some(c) = letters.next() {
        let after = letters.as_str();
        let before = text.get(..text.len() - after.len() - c.len_utf8()).unwrap_or_default();
        let next = after.chars().next();
        let ends = matches!(next, None | Some(' '));
        let acts = match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' => true,
            '&' => next.is_some_and(|next| next == '#' || next.is_ascii_alphanumeric()),
            // A list, a rule, the line below a heading or below the head of a table.
            '-' | '+' | '=' => first && (ends || next == Some(c) || next == Some(':')),
            // A description, the line below the head of a table.
            ':' => first && (ends || next == Some('-')),
            // A command of GitLab.
            '/' => first,
            '.' | ')' => numbered && ends,
            _ => false,
        };
        if c == '$' {
            // GitHub looks for formulas in the finished text, where only a tag parts two signs. GitLab looks in the Markdown.
            out.push_str("<span>\\$</span>");
        } else {
            if acts {
                out.push('\\');
            }
            out.push(c);
        }
        if is_looked_for(before, c, after) {
            out.push(BREAK);
        }
        numbered = c.is_ascii_digit() && (first || numbered);
        first = first && c == ' ';
    }
    out
}

/// Text as a code span, for what people copy: an address, a command. Not for cells of tables, where a bar would end the cell.
pub fn code(text: &str) -> String {
    let text = settled(text);
    if text.trim().is_empty() {
        return String::new();
    }
    let longest = text.split(|c: char| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // One space at both ends belongs to the fence.
    let room = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{room}{text}{room}{fence}")
}

/// Without what breaks a line or turns its direction.
fn settled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let c = match c {
            '\t' | '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        };
        if !(c == ' ' && out.ends_with(' ')) {
            out.push(c);
        }
    }
    out
}

/// Whether GitHub or GitLab may find something in the finished text that begins or goes on with this sign.
fn is_looked_for(before: &str, c: char, after: &str) -> bool {
    let next = after.chars().next();
    let is_digit = next.is_some_and(|next| next.is_ascii_digit());
    match c {
        // Mentions of people and teams, mail addresses, commits of another repository.
        '@' => next.is_some_and(|next| !next.is_whitespace()),
        // Issues and pull requests, merge requests, epics.
        '#' | '!' | '&' => is_digit,
        // Labels and milestones of GitLab.
        '~' | '%' => next.is_some_and(|next| next == '"' || next == '_' || next.is_alphanumeric()),
        // Added and removed words, and further references of GitLab: `[vulnerability:1]`.
        '[' | '{' => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == '_');
            matches!(next, Some('+' | '-')) || c == '[' && rest.len() < after.len() && rest.starts_with(':')
        }
        // Addresses of any scheme, emoji. No emoji has one or two digits for its name, and times of day stay as they are.
        ':' => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-'));
            let word = after.get(..after.len() - rest.len()).unwrap_or_default();
            let is_time = word.len() <= 2 && word.bytes().all(|digit| digit.is_ascii_digit());
            after.starts_with("//") || rest.starts_with(':') && !is_time
        }
        // The other spelling of an issue.
        '-' => is_digit && ["gh", "gl"].iter().any(|prefix| ends_with_word(before, prefix)),
        // Addresses without a scheme.
        'w' | 'W' => next == Some('.') && ends_with(before, "ww"),
        _ => false,
    }
}

fn ends_with(text: &str, end: &str) -> bool {
    text.len().checked_sub(end.len()).and_then(|at| text.get(at..)).is_some_and(|last| last.eq_ignore_ascii_case(end))
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let before = text.len().checked_sub(word.len()).and_then(|at| text.get(..at));
    ends_with(text, word) && before.is_some_and(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Text as a cell of a CSV. What a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets hide. For words only:
/// a number below zero is written as it is, by whoever knows that it is one.
pub fn cell(text: &str) -> String {
    if is_formula(text) { format!("'{text}") } else { text.to_owned() }
}

/// The text that [`cell`] wrote.
pub fn of_cell(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if is_formula(text) => text,
        _ => cell,
    }
}

/// Whether a spreadsheet may take a text for a formula. Quotes, spaces and what nobody sees do not count: some programs drop them. East
/// Asian spreadsheets also know the signs in their full width.
pub fn is_formula(text: &str) -> bool {
    let is_unseen = |c: char| matches!(c, '"' | '\'' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}');
    let text = text.trim_start_matches(is_unseen);
    text.starts_with(['\t', '\r', '\n'])
        || text
            .trim_start_matches(|c: char| c.is_whitespace() || is_unseen(c))
            .starts_with(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
}

/// A path for people, where bytes that are no text and control characters are `\xNN`.
pub fn shown(path: &Path) -> String {
    spelled(path.as_os_str().as_encoded_bytes())
}

/// Likewise, of bytes.
pub fn spelled(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    let odd = |bytes: &[u8], out: &mut String| {
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = write!(out, "\\x{byte:02X}");
        }
    };
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() {
                odd(letter.encode_utf8(&mut [0; 4]).as_bytes(), &mut out);
            } else {
                out.push(letter);
            }
        }
        odd(chunk.invalid(), &mut out);
    }
    out
}

/// A path as it can be typed into a shell. Bytes that are no text, and control characters, are written in the way of Bash, Zsh and POSIX 2024.
pub fn shell(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@%".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let letter = |byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            };
            format!("$'{}'", bytes.iter().map(letter).collect::<String>())
        }
    }
}

/// A plain name (a slug, an id) that a file or a folder can have on every system. One that is too long keeps its beginning and gets a hash
/// of the whole, so that two of one beginning stay two. Every other name stays as it is.
pub fn file_name(name: &str) -> String {
    let is_device = DEVICES.iter().any(|device| name.eq_ignore_ascii_case(device));
    if name.len() <= LONGEST && !is_device {
        return name.to_owned();
    }
    let hash = sha256(name.as_bytes());
    let mut kept = LONGEST - DIGITS - 1;
    while !name.is_char_boundary(kept.min(name.len())) {
        kept -= 1;
    }
    let begin = name.get(..kept.min(name.len())).unwrap_or_default().trim_end_matches('-');
    format!("{begin}-{}", hash.get(..DIGITS).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// The texts that a reader of Markdown finds, parted by tags: what GitHub and GitLab then look through.
    fn finished(markdown: &str) -> Vec<String> {
        let mut texts = vec![String::new()];
        for (at, part) in markdown.replace("</span>", "<span>").split("<span>").enumerate() {
            if at > 0 {
                texts.push(String::new());
            }
            let mut letters = part.chars();
            while let Some(c) = letters.next() {
                let c = if c == '\\' { letters.next().unwrap_or(c) } else { c };
                texts.last_mut().unwrap().push(c);
            }
        }
        texts
    }

    #[test]
    fn a_path_can_be_typed_into_a_shell_whatever_it_holds() {
        for (path, typed) in [
            ("/a/b-1", "/a/b-1"),
            ("/a b", "'/a b'"),
            ("/el'se x", r"'/el'\''se x'"),
            ("a\n'\\", r"$'a\x0a\'\\'"),
            ("", "''"),
        ] {
            assert_eq!(shell(Path::new(path)), typed);
        }
    }

    #[test]
    fn text_of_others_cannot_break_out_of_its_cell() {
        assert_eq!(markdown("a|b\n<i>`x`"), "a\\|b \\<i\\>\\`x\\`");
        assert_eq!(markdown("a\r\n\r\n# b\u{2028}c\u{202e}d\u{0}"), "a \\# b c\u{fffd}d\u{fffd}");
    }

    #[test]
    fn nothing_that_github_or_gitlab_look_for_is_left_in_the_finished_text() {
        let looked_for = [
            r"@[A-Za-z0-9_.]",
            r"(?i)[a-z][a-z0-9+.-]*://\S",
            r"(?i)www\.",
            r"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9]",
            r"#[0-9]",
            r"![0-9]",
            r"&[0-9]",
            r"(?i)\b(GH|GL)-[0-9]",
            r":[A-Za-z0-9_+-]*([A-Za-z_+-]|[0-9]{3})[A-Za-z0-9_+-]*:",
            r#"~["A-Za-z0-9]"#,
            r#"%["A-Za-z0-9]"#,
            r"[\[{][+-]",
            r"\[[a-z_]+:",
            r"\$.+\$",
        ]
        .map(|pattern| Regex::new(pattern).unwrap());
        for text in [
            "@user",
            "@org/team",
            "(@user)",
            "a@user",
            "\\@user",
            "@@user",
            "&#64;user",
            "https://evil.example/x",
            "HTTP://evil.example",
            "ftp://evil.example",
            "javascript://x",
            "www.evil.example",
            "WwW.evil.example",
            "mailto:a@b.example",
            "a.b+c@mail.example.org",
            "#1",
            "owner/repo#12",
            "owner/repo@0123abc",
            "GH-1",
            "gh-12",
            "GL-3",
            "!7",
            "&8",
            "group&9",
            ":rocket:",
            ":+1::-1:",
            ":100:",
            "~bug",
            "~\"two words\"",
            "~~gone~~",
            "%1",
            "%\"next release\"",
            "{+ added +} [- gone -]",
            "[vulnerability:1]",
            "[feature_flag:2]",
            "$x$ and $$y$$",
            "$`z`$",
        ] {
            let shown = markdown(text);
            for finished in finished(&shown) {
                let found = looked_for.iter().find(|pattern| pattern.is_match(&finished));
                assert!(found.is_none(), "{text} became {shown}, in which {found:?} is found");
            }
            assert_eq!(finished(&shown).concat().replace(BREAK, ""), text);
        }
    }

    #[test]
    fn usual_names_and_figures_stay_as_they_are() {
        for text in [
            "llama3:8b",
            "Qwen2.5-7B-Instruct",
            "-3.1 %",
            "1600.2",
            "+4.5 to -2 ms",
            "a & b",
            "native, n = 7",
            "8 · 128/128",
            "mail me at noon",
            "2026-01-31T10:20:30Z",
        ] {
            assert_eq!(markdown(text), text);
        }
    }

    #[test]
    fn what_begins_a_block_begins_none() {
        for (text, shown) in [
            ("- a", "\\- a"),
            ("---", "\\---"),
            ("+ a", "\\+ a"),
            ("===", "\\==="),
            ("1. a", "1\\. a"),
            ("12) a", "12\\) a"),
            ("3.", "3\\."),
            ("> a", "\\> a"),
            ("    a", " a"),
            ("  # a", " \\# a"),
            (": a", "\\: a"),
            ("/close", "\\/close"),
            ("[^1]: a", "\\[^1\\]: a"),
            ("![a](b)", "!\\[a\\](b)"),
        ] {
            assert_eq!(markdown(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_code_span_is_longer_than_any_in_its_text() {
        for (text, shown) in [
            ("http://h:1/v1", "`http://h:1/v1`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            (" a", "`  a `"),
            ("a\nb", "`a b`"),
            ("\n", ""),
        ] {
            assert_eq!(code(text), shown, "{text:?}");
        }
    }

    #[test]
    fn a_cell_that_would_be_run_is_text_and_reads_back_as_it_was() {
        for text in [
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\tx",
            "\rx",
            "\nx",
            "\"=1",
            "'=1",
            "''=1",
            " =1",
            "\u{feff}=1",
            "\u{ff1d}1",
            "\u{ff0b}1",
            "\u{ff0d}1",
            "\u{ff20}x",
        ] {
            assert_eq!(cell(text), format!("'{text}"));
        }
        let signs = ["", "'", "\"", " ", "\t", "\n", "=", "-", "a", "\u{feff}"];
        for a in signs {
            for b in signs {
                for text in signs.map(|c| format!("{a}{b}{c}=x{c}")) {
                    assert_eq!(of_cell(&cell(&text)), text);
                }
            }
        }
        for text in ["", "native", "'quoted'", "it's", "a=b", "\u{2212}1", "1.5", "'"] {
            assert_eq!((cell(text).as_str(), of_cell(text)), (text, text));
        }
    }

    #[test]
    fn a_long_name_is_cut_and_two_of_one_beginning_stay_two() {
        let [a, b] = ["a", "b"].map(|end| file_name(&format!("{}{end}", "m".repeat(300))));
        assert!(a.len() <= LONGEST && b.len() <= LONGEST && a != b, "{a} {b}");
        assert_eq!(a, file_name(&format!("{}a", "m".repeat(300))), "the same every time");
        for name in ["llama-8b", "x-", "m".repeat(LONGEST).as_str()] {
            assert_eq!(file_name(name), name);
        }
        assert!(file_name("con").starts_with("con-") && file_name("NUL") != "NUL");
        assert!(file_name(&"é".repeat(200)).len() <= LONGEST);
    }
}
