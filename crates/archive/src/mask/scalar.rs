//! A single value: in quotes, or one run of signs of a class.
//!
//! In:  bytes, the place where it begins, its kind.  Out: [`Hit`], unless it says nothing.
//! Not here: what stands between a name and its value (see `value`).

use std::borrow::Cow;

use super::hit::{Hit, tag};
use super::lexical::{Class, closing_all};
use super::names;

/// Shorter values are words of a log more often than secrets.
pub(super) const VALUE_LEAST: usize = 4;

pub(super) fn run(text: &[u8], from: usize, kind: &'static str, class: Class) -> Option<Hit<'static>> {
    // It says that something was replaced, and its end need not be known.
    if text.get(from..)?.starts_with(b"<masked:") {
        return None;
    }
    let end = match class {
        Class::Quoted(quote) => closing_all(text, from, quote),
        _ => class.end(text, from),
    };
    let value = text.get(from..end)?;
    if matches!(class, Class::Quoted(quote) if text.get(end) != Some(&quote)) && value.starts_with(b"-----BEGIN ") {
        // A private key shows by itself, to its last line.
        return None;
    }
    let elsewhere = class == Class::Value && is_reference(text.get(from..)?);
    let secret = value.len() >= VALUE_LEAST && !elsewhere && !names::is_void(value) && !names::is_count(kind, value);
    secret.then(|| Hit::new(from, end, kind, class))
}

/// A value of known places, unless it says nothing.
pub(super) fn judged(text: &[u8], from: usize, end: usize, kind: &'static str) -> Option<Hit<'static>> {
    let value = text.get(from..end)?;
    let secret = value.len() >= VALUE_LEAST && !names::is_void(value) && !names::is_count(kind, value);
    secret.then(|| Hit::closed(from, end, kind))
}

/// Length of a quote that stands in a text in quotes, with its backslashes: `\"`, and `\\\"` one text deeper.
pub(super) fn inner_quote(text: &[u8]) -> Option<usize> {
    /// Texts of more than so many backslashes are deeper than programs write them.
    const DEEPEST: usize = 15;
    let slashes = text.iter().take(DEEPEST + 1).take_while(|byte| **byte == b'\\').count();
    let is_quote = text.get(slashes).is_some_and(|byte| b"\"'".contains(byte));
    (slashes > 0 && slashes <= DEEPEST && is_quote).then_some(slashes + 1)
}

/// A value in such quotes: `\"name\": \"a b\"`. The first one begins at `at` and has a length of `quote`.
pub(super) fn in_inner_quotes(text: &[u8], at: usize, quote: usize, kind: &'static str) -> Option<Hit<'static>> {
    let inner = at + quote;
    let from = inner + scheme(text.get(inner..)?);
    match inner_closing(text, inner, quote) {
        Some(end) => judged(text, from, end, kind),
        None => run(text, from, kind, Class::Value),
    }
}

/// Where the quote that closes such a value begins. The value begins at `from`, behind a quote of the length `quote`. Quotes of the value have more backslashes before them, and its own backslashes stand
/// before the closing one too. The quote of the text around has fewer.
pub(super) fn inner_closing(text: &[u8], from: usize, quote: usize) -> Option<usize> {
    let sign = *text.get(from.checked_sub(1)?)?;
    let slashes = quote.checked_sub(1)?;
    let mut at = from;
    loop {
        let found = at + memchr::memchr2(sign, b'\n', text.get(at..)?)?;
        let before = text.get(from..found)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        if text.get(found) == Some(&b'\n') || before < slashes {
            return None;
        }
        if before % (2 * quote) == slashes {
            return Some(found - slashes);
        }
        at = found + 1;
    }
}

/// Whether a value without quotes is a reference to one elsewhere: `${NAME}`, `$(command)`, `{{ name }}`, `%(name)s`.
pub(super) fn is_reference(text: &[u8]) -> bool {
    const LONGEST: usize = 256;
    const SIGNS: &[(&str, u8)] = &[("${", b'}'), ("$(", b')'), ("{", b'}'), ("%(", b')')];
    let line = || text.iter().take(LONGEST).take_while(|byte| **byte != b'\n');
    SIGNS.iter().any(|(open, close)| text.starts_with(open.as_bytes()) && line().any(|byte| byte == close))
}

/// A hit whose replacement has quotes around it.
pub(super) fn in_quotes(hit: Hit<'static>, quotes: &str) -> Hit<'static> {
    let with = format!("{quotes}{}{quotes}", tag(hit.kind));
    Hit { with: Cow::Owned(with.into_bytes()), ..hit }
}

/// Length of `Bearer `, `Basic ` and their like before the secret itself.
pub(super) fn scheme(text: &[u8]) -> usize {
    const SCHEMES: &[&str] = &["bearer ", "basic ", "token ", "digest ", "apikey ", "api-key "];
    let starts =
        |scheme: &&&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()));
    SCHEMES.iter().find(starts).map_or(0, |scheme| scheme.len())
}
