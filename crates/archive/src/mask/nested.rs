//! Lists and objects of secrets: `api_key=['a', 'b']`, `"api_keys": {"a": "x"}`.
//!
//! In:  bytes, the place behind a bracket or of a brace, the kind of all in it.  Out: [`Hit`].
//! Not here: lists of YAML without brackets (see `yaml`).

use std::borrow::Cow;

use super::brackets::{Words, in_brackets};
use super::hit::{Hit, tag};
use super::lexical::{bare, closing, lead};
use super::names;
use super::scalar::{VALUE_LEAST, in_quotes};

/// Longest list or object. Of a longer one as much is replaced.
pub(super) const NESTED: usize = 64 << 10;

/// Members of an object that describes the form of a field.
pub(super) const OF_SCHEMA: &[&str] = &["type", "$ref", "anyOf", "allOf", "oneOf", "description", "title", "default"];

/// Every text in an object: `"api_keys": {"a": "x", "b": "y"}`. `from` is the brace. The description of a field is left alone.
pub(super) fn in_object(text: &[u8], from: usize, kind: &'static str) -> Option<Hit<'static>> {
    /// Deeper ones are no secrets, and every brace would be followed to the end of all.
    const DEEPEST: usize = 8;
    let inner = text.get(from..text.len().min(from + NESTED))?;
    let is_cut = inner.len() == NESTED;
    let (mut at, mut depth) = (0usize, 0usize);
    // The first text, the end of the last one, and what comes in place of all between.
    let (mut first, mut last, mut with) = (None, 0usize, Vec::new());
    loop {
        let Some(byte) = inner.get(at) else {
            is_cut.then_some(())?;
            break;
        };
        match *byte {
            b'{' | b'[' if depth == DEEPEST => break,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    break;
                }
            }
            quote @ (b'"' | b'\'') => {
                let end = closing(inner, at + 1, quote);
                if is_cut && end == inner.len() {
                    break;
                }
                let found = inner.get(at + 1..end).filter(|_| inner.get(end) == Some(&quote))?;
                let behind = inner.get(end + 1..)?;
                let is_name = behind.get(lead(behind)..)?.first() == Some(&b':');
                if is_name && OF_SCHEMA.iter().any(|word| word.as_bytes() == found) {
                    return None;
                }
                if !is_name && found.len() >= VALUE_LEAST && !names::is_void(found) {
                    if first.is_none() {
                        first = Some(at + 1);
                    } else {
                        with.extend_from_slice(inner.get(last..=at)?);
                    }
                    with.extend_from_slice(tag(kind).as_bytes());
                    last = end;
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    let first = first?;
    Some(Hit { start: from + first, end: from + last, kind, with: Cow::Owned(with), open: None, secret: true })
}

/// Everything between the quotes of a list, as one: `api_key=['a', 'b']`. `from` is behind the bracket.
pub(super) fn listed(text: &[u8], from: usize, kind: &'static str, quotes: &str) -> Option<Hit<'static>> {
    let inner = text.get(from..text.len().min(from + NESTED))?;
    let inner = inner.get(..list_end(inner)?)?;
    let mut first = lead(inner);
    let mut last = first + bare(inner).len();
    let quote = inner.get(first).filter(|byte| b"\"'".contains(byte));
    if let Some(quote) = quote {
        let ends = inner.iter().rposition(|byte| byte == quote)?;
        let behind = inner.get(ends + 1..last).unwrap_or_default();
        if behind.split(|byte| b", \t\r\n".contains(byte)).any(is_word) {
            // Others of its texts have no quotes.
            return in_brackets(text, from.checked_sub(1)?, kind, Words::Together, &is_word);
        }
        last = ends;
        first += 1;
    }
    let value = inner.get(first..last)?;
    let hit = Hit::closed(from + first, from + last, kind);
    let hit = if quote.is_some() { hit } else { in_quotes(hit, quotes) };
    (value.len() >= VALUE_LEAST && !names::is_void(value)).then_some(hit)
}

/// Whether a text of a list says something. A number beside others is a count more often than a secret.
fn is_word(text: &[u8]) -> bool {
    !names::is_void(text) && !is_number(text)
}

pub(super) fn is_number(text: &[u8]) -> bool {
    text.iter().all(|byte| b"0123456789.+-eE".contains(byte))
}

/// Where the list closes that a text goes on with, or where the last text of it does where that cannot be seen. A bracket between quotes is
/// a letter.
fn list_end(inner: &[u8]) -> Option<usize> {
    const PLAIN: usize = 4096;
    let near = inner.get(..PLAIN).unwrap_or(inner);
    let plain = || memchr::memchr(b']', near);
    if !inner.get(lead(inner)..)?.first().is_some_and(|byte| b"\"'".contains(byte)) {
        return plain();
    }
    let (mut at, mut last) = (0, None);
    while let Some(byte) = inner.get(at) {
        match *byte {
            b']' => return Some(at),
            quote @ (b'"' | b'\'') => {
                let end = closing(inner, at + 1, quote);
                if inner.get(end) != Some(&quote) {
                    break;
                }
                last = Some(end + 1);
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    if inner.len() == NESTED { last } else { plain() }
}
