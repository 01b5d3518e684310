//! Scans bytes once, left to right, for the next text to replace.
//!
//! In:  bytes, a place, known names and values.  Out: [`Hit`].
//! Not here: where the bytes come from and go.

use std::borrow::Cow;

use super::names;
use super::tokens::{self, Class};

/// Something to be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit<'a> {
    pub start: usize,
    pub end: usize,
    /// Kind, for the count.
    pub kind: &'static str,
    /// The replacement.
    pub with: Cow<'a, [u8]>,
    /// What more of it would be, where it may go on behind the available bytes.
    pub open: Option<Class>,
    /// A secret, not a name: binary files lose it too.
    pub secret: bool,
}

impl Hit<'static> {
    /// A secret made of one class of characters to its end.
    pub(super) fn new(start: usize, end: usize, kind: &'static str, open: Class) -> Self {
        Self { open: Some(open), ..Self::closed(start, end, kind) }
    }

    /// A secret with an end of its own.
    pub(super) fn closed(start: usize, end: usize, kind: &'static str) -> Self {
        Self { start, end, kind, with: tag(kind).into_bytes().into(), open: None, secret: true }
    }
}

/// The placeholder of a secret.
pub(super) fn tag(kind: &str) -> String {
    format!("<masked:{kind}>")
}

/// Bytes known beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    pub bytes: Vec<u8>,
    pub kind: &'static str,
    pub with: Vec<u8>,
    /// Not inside longer words.
    pub whole: bool,
    /// Whatever the case of its letters.
    pub any_case: bool,
    pub secret: bool,
}

/// Everything known beforehand, ordered for looking up.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    /// Longest first.
    literals: Vec<Literal>,
    /// By first byte, indices into `literals`.
    by_first: Vec<Vec<usize>>,
    /// By byte, whether a look at it is worth it: [`AT_WORD`], [`ANYWHERE`].
    look: [u8; 256],
}

/// Something to be replaced may begin here if a word does.
const AT_WORD: u8 = 1;
/// Something to be replaced may begin here in any case.
const ANYWHERE: u8 = 2;

impl Scanner {
    pub(super) fn new(mut literals: Vec<Literal>) -> Self {
        literals.retain(|literal| !literal.bytes.is_empty());
        literals.sort_by(|a, b| b.bytes.len().cmp(&a.bytes.len()).then_with(|| a.bytes.cmp(&b.bytes)));
        literals.dedup_by(|a, b| a.bytes == b.bytes);
        let mut by_first = vec![Vec::new(); 256];
        let mut look = [0; 256];
        let mut mark = |byte: u8, how: u8, index: Option<usize>| {
            if let Some(seen) = look.get_mut(usize::from(byte)) {
                *seen |= how;
            }
            if let (Some(index), Some(list)) = (index, by_first.get_mut(usize::from(byte))) {
                list.push(index);
            }
        };
        for (index, literal) in literals.iter().enumerate() {
            let Some(first) = literal.bytes.first().copied() else { continue };
            let how = if literal.whole { AT_WORD } else { ANYWHERE };
            mark(first, how, Some(index));
            let other =
                if first.is_ascii_lowercase() { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() };
            if literal.any_case && other != first {
                mark(other, how, Some(index));
            }
        }
        tokens::FIRST.iter().for_each(|byte| mark(*byte, AT_WORD, None));
        b"=:-".iter().for_each(|byte| mark(*byte, ANYWHERE, None));
        Self { literals, by_first, look }
    }

    /// The next thing to be replaced whose first sign lies in `from..limit`. Bytes before `from` are looked back at, never replaced.
    pub(super) fn next(&self, text: &[u8], from: usize, limit: usize) -> Option<Hit<'_>> {
        let mut before = from.checked_sub(1).and_then(|before| text.get(before)).copied().unwrap_or(b' ');
        for (at, byte) in text.get(..limit)?.iter().enumerate().skip(from) {
            let how = self.look.get(usize::from(*byte)).copied().unwrap_or(0);
            let behind = std::mem::replace(&mut before, *byte);
            // Most bytes are inside a word. The letters that may end an escape are examined more closely.
            if how == 0 || (how == AT_WORD && is_word(behind) && !matches!(behind, b'n' | b'r' | b't' | b'm')) {
                continue;
            }
            let hit = self.literal(text, at).or_else(|| tokens::at(text, at)).or_else(|| named(text, at));
            // A value that was replaced already may still be seen by looking back.
            if let Some(hit) = hit.filter(|hit| hit.start >= from && hit.end > hit.start) {
                return Some(hit);
            }
        }
        None
    }

    fn literal(&self, text: &[u8], at: usize) -> Option<Hit<'_>> {
        let first = text.get(at)?;
        self.by_first.get(usize::from(*first))?.iter().filter_map(|index| self.literals.get(*index)).find_map(
            |literal| {
                let end = at + literal.bytes.len();
                let here = text.get(at..end)?;
                let same =
                    if literal.any_case { here.eq_ignore_ascii_case(&literal.bytes) } else { here == literal.bytes };
                let whole =
                    !literal.whole || (word_start(text, at) && !text.get(end).is_some_and(|next| is_word(*next)));
                (same && whole).then_some(Hit {
                    start: at,
                    end,
                    kind: literal.kind,
                    with: Cow::Borrowed(literal.with.as_slice()),
                    open: None,
                    secret: literal.secret,
                })
            },
        )
    }
}

/// Letters and digits of any script.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Whether a word can begin here. It may not follow a letter or digit, except those that end an escape (`\n` in JSON, a terminal colour).
pub(super) fn word_start(text: &[u8], at: usize) -> bool {
    const COLOUR: usize = 12;
    let Some(before) = at.checked_sub(1).and_then(|before| text.get(before)) else { return true };
    if !is_word(*before) {
        return true;
    }
    if matches!(before, b'n' | b'r' | b't') && at.checked_sub(2).and_then(|two| text.get(two)) == Some(&b'\\') {
        return true;
    }
    let recent = text.get(at.saturating_sub(COLOUR)..at - 1).unwrap_or_default();
    *before == b'm'
        && recent.iter().rposition(|byte| *byte == 0x1b).is_some_and(|escape| {
            recent.get(escape + 1..).is_some_and(|code| {
                code.first() == Some(&b'[') && code.iter().skip(1).all(|byte| byte.is_ascii_digit() || *byte == b';')
            })
        })
}

/// Longest name looked back at.
const NAME: usize = 64;

/// A value behind the name of a secret: `NAME=VALUE`, `"name": "value"`, `name: value`, `--name value`.
fn named(text: &[u8], at: usize) -> Option<Hit<'static>> {
    match text.get(at)? {
        b'=' | b':' => behind_name(text, at),
        b'-' => behind_option(text, at),
        _ => None,
    }
}

const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn behind_name(text: &[u8], sign: usize) -> Option<Hit<'static>> {
    let mut end = sign;
    // `"name":`, `'name' =`, `\"name\":`
    while end > 0 && end + 4 > sign && matches!(text.get(end - 1), Some(b'"' | b'\'' | b' ' | b'\\')) {
        end -= 1;
    }
    let mut start = end;
    while start > 0 && end - start < NAME && text.get(start - 1).is_some_and(|byte| in_name(*byte)) {
        start -= 1;
    }
    if start > 0 && text.get(start - 1) == Some(&b'\\') {
        // The letter belongs to an escape, as in `\nHF_TOKEN=`.
        start += 1;
    }
    let name = std::str::from_utf8(text.get(start..end)?).ok()?;
    let from = sign + 1;
    if name.eq_ignore_ascii_case("token") && text.get(sign) == Some(&b'=') {
        // A notebook's address: `?token=` and 48 hexadecimal digits. Short words behind it are no secrets.
        const LEAST: usize = 16;
        let value = Class::Alnum.end(text, from);
        let run = text.get(from..value)?;
        return (run.len() >= LEAST && run.iter().any(u8::is_ascii_digit))
            .then(|| Hit::new(from, value, "token", Class::Alnum));
    }
    let kind = names::in_text(name)?;
    value(text, from, kind)
}

fn behind_option(text: &[u8], at: usize) -> Option<Hit<'static>> {
    // Two dashes and no more: a line of them with words in it is a heading, `-----Inter-token Latency-----`.
    let is_option = text.get(at + 1) == Some(&b'-') && text.get(at + 2) != Some(&b'-');
    if !is_option || (at > 0 && text.get(at - 1).is_some_and(|byte| in_name(*byte))) {
        return None;
    }
    let mut end = at + 2;
    while end < at + 2 + NAME && text.get(end).is_some_and(|byte| in_name(*byte)) {
        end += 1;
    }
    let name = std::str::from_utf8(text.get(at + 2..end)?).ok()?;
    let kind = names::of_variable(name)?;
    // `--name value`, `"--name", "value"`. `--name=value`.
    const BETWEEN: usize = 12;
    let gap = text.get(end..text.len().min(end + BETWEEN))?;
    let skipped = gap.iter().take_while(|byte| b"\"'\\, \t\r\n=".contains(byte)).count();
    let parts = gap.get(..skipped)?;
    if skipped == 0 || !parts.iter().any(|byte| b" ,=\n".contains(byte)) || gap.get(skipped) == Some(&b'-') {
        return None;
    }
    let quote = parts.last().copied().filter(|byte| b"\"'".contains(byte));
    let from = end + skipped;
    match quote {
        Some(quote) => run(text, from, kind, Class::Quoted(quote)),
        None => run(text, from, kind, Class::Value),
    }
}

/// The value that begins at `from`, behind blanks and a quote.
fn value(text: &[u8], from: usize, kind: &'static str) -> Option<Hit<'static>> {
    const BLANKS: usize = 4;
    let blanks = text.get(from..)?.iter().take(BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let mut from = from + blanks;
    if text.get(from..from + 2) == Some(b"\\\"") {
        // Inside a JSON string that is itself JSON. The closing quote is escaped likewise.
        return run(text, from + 2, kind, Class::Value);
    }
    let quote = text.get(from).copied().filter(|byte| b"\"'`".contains(byte));
    from += usize::from(quote.is_some());
    from += scheme(text.get(from..)?);
    match quote {
        Some(quote) => run(text, from, kind, Class::Quoted(quote)),
        None => run(text, from, kind, Class::Value),
    }
}

/// Length of `Bearer `, `Basic ` and their like before the secret itself.
fn scheme(text: &[u8]) -> usize {
    const SCHEMES: &[&str] = &["bearer ", "basic ", "token ", "digest "];
    let starts =
        |scheme: &&&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()));
    SCHEMES.iter().find(starts).map_or(0, |scheme| scheme.len())
}

fn run(text: &[u8], from: usize, kind: &'static str, class: Class) -> Option<Hit<'static>> {
    /// Shorter values are words of a log more often than secrets.
    const LEAST: usize = 4;
    let mut end = class.end(text, from);
    if matches!(class, Class::Quoted(_)) {
        // An escaped quote belongs to the value.
        while text.get(end.wrapping_sub(1)) == Some(&b'\\') && text.get(end).is_some_and(|byte| *byte != b'\n') {
            end = class.end(text, end + 1);
        }
    }
    let value = text.get(from..end)?;
    let secret = value.len() >= LEAST && !names::is_void(value) && !names::is_count(kind, value);
    secret.then(|| Hit::new(from, end, kind, class))
}
