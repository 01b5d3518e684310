//! Lines of files of variables: `export NAME=value`, `NAME="a value over several lines"`. Variables without a sign: `ENV NAME value`.
//!
//! In:  bytes, the place behind the sign or of the first word, the kind that the name speaks of.  Out: [`Hit`].
//! Not here: names before a sign (see `setting`).
//!
//! Source: the references of Dockerfiles, csh, fish and Windows.

use super::hit::Hit;
use super::joined::Joined;
use super::lexical::{Class, MARK, NAME, bare, closing_all, is_escaped, is_quote};
use super::names;
use super::scalar::{VALUE_LEAST, is_reference, judged, scheme};
use super::value::wrapped;

pub(super) fn is_shouted(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Whether a name begins a line of a file of variables, perhaps behind `export`.
pub(super) fn line_start(text: &[u8], start: usize) -> bool {
    const BACK: usize = 64;
    let before = text.get(start.saturating_sub(BACK)..start).unwrap_or_default();
    let line = before.rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let whole = line.len() < before.len() || before.len() == start;
    let line = if before.len() == start { line.strip_prefix(MARK).unwrap_or(line) } else { line };
    whole && matches!(line.trim_ascii(), b"" | b"export" | b"set" | b"ENV" | b"-")
}

/// The value of a line `NAME=value` of a file of variables without quotes, up to white space. A blank behind a backslash belongs to it.
/// Other names than `NAME` must have the line for themselves.
pub(super) fn in_line(text: &[u8], from: usize, kind: &'static str, shouted: bool) -> Option<Hit<'static>> {
    let rest = text.get(from..)?;
    let first = rest.first()?;
    let elsewhere =
        is_quote(first) || matches!(first, b'[' | b'\x1b') || wrapped(rest, false) > 0 || is_reference(rest);
    if elsewhere || kind == "cookie" {
        return None;
    }
    let from = from + scheme(rest);
    let mut end = Class::Blank.end(text, from);
    while matches!(text.get(end), Some(b' ' | b'\t')) && is_escaped(text, from, end) {
        end = Class::Blank.end(text, end + 1);
    }
    let ends_line = matches!(text.get(end), None | Some(b'\n' | b'\r'));
    let run = text.get(from..end)?;
    // What closes something around it stays.
    let length = run.len() - run.iter().rev().take_while(|byte| b"\"'`;,)]}>".contains(byte)).count();
    let value = run.get(..length)?;
    let is_next = |part: &[u8]| {
        part.iter().position(|byte| *byte == b'=').is_some_and(|at| part.get(..at).is_some_and(is_shouted))
    };
    let alone = if shouted {
        !value.split(|byte| b",;&|".contains(byte)).skip(1).any(is_next)
    } else {
        ends_line && !value.contains(&b'=')
    };
    let secret =
        value.len() >= VALUE_LEAST && !names::is_void(run) && !names::is_void(value) && !names::is_count(kind, value);
    (alone && secret).then(|| Hit::new(from, from + length, kind, Class::Blank))
}

/// The value of a line `NAME="value"` whose quote closes on another line, each line on its own. No line before may be that of another
/// variable: else the quote was never closed.
pub(super) fn in_lines(text: &[u8], from: usize, kind: &'static str) -> Option<Hit<'static>> {
    over_lines(text, from, kind, &|next| !is_variable(next))
}

/// A value whose quote, at `from`, closes on another line, each line on its own. `goes_on` says of what follows an end of a line whether the
/// value may go on there. Behind the closing quote the line must end.
pub(super) fn over_lines(
    text: &[u8],
    from: usize,
    kind: &'static str,
    goes_on: &dyn Fn(&[u8]) -> bool,
) -> Option<Hit<'static>> {
    const LONGEST: usize = 64 << 10;
    let quote = *text.get(from).filter(|byte| b"\"'".contains(byte))?;
    let within = text.get(..text.len().min(from + LONGEST))?;
    let mut found = Joined::new(kind);
    let mut start = from + 1;
    let end = loop {
        let end = closing_all(within, start, quote);
        let line = within.get(start..end)?;
        let first = start + (line.len() - line.trim_ascii_start().len());
        found.add(text, first, first + line.trim_ascii().len());
        if within.get(end)? == &quote {
            break end;
        }
        start = end + 1;
        let next = within.get(end).filter(|byte| **byte == b'\n').and_then(|_| within.get(start..))?;
        goes_on(next).then_some(())?;
    };
    let behind = text.get(end + 1..)?;
    let behind = bare(behind.split(|byte| *byte == b'\n').next()?);
    let ends_line = behind.is_empty() || behind.starts_with(b"#");
    (start > from + 1 && ends_line).then(|| found.hit()).flatten()
}

/// Whether a line begins as that of a variable. What is in base 64 may end on `=`, and on the quote behind it.
fn is_variable(line: &[u8]) -> bool {
    let name = line.strip_prefix(b"export ").unwrap_or(line);
    let length = name.iter().take(NAME).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let is_shouted = name.get(..length).is_some_and(is_shouted);
    let value = name.get(length..).and_then(|rest| rest.strip_prefix(b"=")).and_then(<[u8]>::first);
    value.is_some_and(|first| is_shouted || !b"=\"'\r\n".contains(first))
}

/// Words with which a command begins that sets a variable without a sign, and whether its value goes on to the end of the line.
const WORDS: &[(&[u8], bool)] = &[(b"ENV", true), (b"setenv", false), (b"setx", false), (b"set", false)];

/// The value of `ENV NAME value` of a Dockerfile, of `setenv NAME value`, `set -x NAME value` and `setx NAME value`. `at` is the first word,
/// which must begin its command: prose has other words before it.
pub(super) fn behind_word(text: &[u8], at: usize) -> Option<Hit<'static>> {
    let here = text.get(at..)?;
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let (word, to_end) = WORDS.iter().find(|(word, _)| here.starts_with(word) && is_blank(here.get(word.len())))?;
    let mut from = at + word.len();
    from += gap(text, from);
    if *word == b"set" {
        // `-x`, `-gx`: for the programs that are started too.
        let options = text.get(from..)?.strip_prefix(b"-")?;
        let length = options.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        options.get(..length).filter(|options| options.contains(&b'x'))?;
        from += 1 + length;
        from += gap(text, from);
    }
    let length = text.get(from..)?.iter().take(NAME).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
    let length = length.count();
    let name = text.get(from..from + length).filter(|name| is_shouted(name))?;
    let name = std::str::from_utf8(name).ok()?;
    let begun = begun(text, at)?;
    let kind = names::in_text(name).or_else(|| names::perhaps_in_text(name).filter(|_| begun == Begun::Line))?;
    let blanks = gap(text, from + length);
    from += length + blanks;
    let rest = text.get(from..).filter(|rest| blanks > 0 && rest.first() != Some(&b'='))?;
    let line = rest.get(..rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()))?.trim_ascii_end();
    let quote = line.first().copied().filter(is_quote);
    if let Some(quote) = quote
        && let Some(inner) = line.get(1..).and_then(|inner| inner.strip_suffix(&[quote]))
        && (*to_end || !inner.contains(&quote))
    {
        return judged(text, from + 1, from + 1 + inner.len(), kind);
    }
    let end = match begun {
        Begun::Line if *to_end => from + line.len(),
        Begun::Line => {
            from + line.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b';').unwrap_or(line.len())
        }
        Begun::Text => Class::Value.end(text, from),
    };
    judged(text, from, end, kind)
}

/// Length of blanks. A line goes on behind a backslash.
fn gap(text: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        at += match text.get(at..) {
            Some([b' ' | b'\t', ..]) => 1,
            Some([b'\\', b'\n', ..]) => 2,
            Some([b'\\', b'\r', b'\n', ..]) => 3,
            _ => return at - from,
        };
    }
}

/// Where a command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    /// On a line, perhaps behind the number of its step: `Step 3/5 : ENV ...`, `#7 [3/5] ENV ...`.
    Line,
    /// In a text in quotes.
    Text,
}

fn begun(text: &[u8], at: usize) -> Option<Begun> {
    const BACK: usize = 128;
    let before = text.get(at.saturating_sub(BACK)..at)?;
    if before.ends_with(b"\\n") || before.ends_with(b"\"") {
        return Some(Begun::Text);
    }
    let line = before.rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let whole = line.len() < before.len() || before.len() == at;
    let line = bare(line.strip_prefix(MARK).unwrap_or(line));
    let is_step = || {
        let step = line.strip_suffix(b"]").or_else(|| line.strip_suffix(b":")).map(<[u8]>::trim_ascii_end);
        step.is_some_and(|step| {
            let all = step.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let step = step.get(..step.len() - all).unwrap_or_default();
            all > 0 && step.strip_suffix(b"/").and_then(<[u8]>::last).is_some_and(u8::is_ascii_digit)
        })
    };
    let is_command = matches!(line, b"" | b"$" | b">") || is_step();
    (whole && is_command).then_some(Begun::Line)
}
