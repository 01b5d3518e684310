//! A single value: in quotes, or one run of signs of a class.
//!
//! In:  bytes, the place where it begins, its kind.  Out: [`Hit`], unless it says nothing.
//! Not here: what stands between a name and its value (see `value`).

use std::borrow::Cow;

use super::hit::{Hit, tag};
use super::lexical::{Class, closing};
use super::names;

/// Shorter values are words of a log more often than secrets.
pub(super) const VALUE_LEAST: usize = 4;

pub(super) fn run(text: &[u8], from: usize, kind: &'static str, class: Class) -> Option<Hit<'static>> {
    // It says that something was replaced, and its end need not be known.
    if text.get(from..)?.starts_with(b"<masked:") {
        return None;
    }
    let end = match class {
        Class::Quoted(quote @ b'\'') => {
            let mut end = closing(text, from, quote);
            // YAML and shells double a quote that belongs to the value, or go on with the next part of it.
            while end > from && text.get(end..end + 2) == Some(b"''".as_slice()) {
                end = closing(text, end + 2, quote);
            }
            end
        }
        Class::Quoted(quote) => closing(text, from, quote),
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
