//! Lines of files of variables: `export NAME=value`, `NAME="a value over several lines"`.
//!
//! In:  bytes, the place behind the sign, the kind that the name speaks of.  Out: [`Hit`].
//! Not here: names (see `setting`).

use super::hit::Hit;
use super::joined::Joined;
use super::lexical::{Class, MARK, NAME, closing, is_escaped, is_quote};
use super::names;
use super::scalar::{VALUE_LEAST, is_reference, scheme};
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

/// The value of a line `NAME="value"` whose quote closes on another line, each line on its own. Behind the quote the line must end, and no
/// line before may be that of another variable: else the quote was never closed.
pub(super) fn in_lines(text: &[u8], from: usize, kind: &'static str) -> Option<Hit<'static>> {
    const LONGEST: usize = 64 << 10;
    let quote = *text.get(from).filter(|byte| b"\"'".contains(byte))?;
    let within = text.get(..text.len().min(from + LONGEST))?;
    let mut found = Joined::new(kind);
    let mut start = from + 1;
    let end = loop {
        let end = closing(within, start, quote);
        let line = within.get(start..end)?;
        let first = start + (line.len() - line.trim_ascii_start().len());
        found.add(text, first, first + line.trim_ascii().len());
        if within.get(end)? == &quote {
            break end;
        }
        start = end + 1;
        let next = within.get(end).filter(|byte| **byte == b'\n').and_then(|_| within.get(start..))?;
        (!is_variable(next)).then_some(())?;
    };
    let behind = text.get(end + 1..)?;
    let behind = behind.split(|byte| *byte == b'\n').next()?.trim_ascii();
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
