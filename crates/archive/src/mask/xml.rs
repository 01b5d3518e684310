//! Secrets in elements of XML: `<password>x</password>`, `<property name="password">x</property>`, `<name>password</name><value>x</value>`.
//!
//! In:  bytes, the end of a start tag.  Out: [`Hit`].
//! Not here: attributes, `password="x"` and `<add key="password" value="x"/>`, which are read like any other name and value (see `setting`).
//!
//! An element counts only with its end tag right behind the text. Types of programs (`Option<Password>`) have none.

use super::drawn::is_drawn;
use super::hit::Hit;
use super::lexical::{NAME, find, in_name};
use super::names;
use super::scalar::VALUE_LEAST;

/// Longest start tag.
const TAG: usize = 256;
/// Longest text of an element.
const LONGEST: usize = 16 << 10;
const CDATA: &[u8] = b"<![CDATA[";

/// Elements that hold a setting which an attribute names.
const SETTINGS: &[&str] = &["property", "entry", "param", "parameter", "prop", "setting", "variable", "env"];

/// The text of an element with the name of a secret. `at` is the end of its start tag.
pub(super) fn element(text: &[u8], at: usize) -> Option<Hit<'static>> {
    let before = text.get(at.saturating_sub(TAG)..at)?;
    let back = before.iter().rev().position(|byte| matches!(byte, b'<' | b'>'))?;
    let tag = before.get(before.len() - back..)?;
    let open = at - back - 1;
    let length = tag.iter().take_while(|byte| in_name(**byte) || b":.".contains(byte)).count();
    let full = tag.get(..length)?;
    if text.get(open) != Some(&b'<') || length == 0 || tag.ends_with(b"/") {
        return None;
    }
    let name = std::str::from_utf8(full.rsplit(|byte| *byte == b':').next()?).ok()?;
    let plain = names::in_text(name).or_else(|| of_attribute(name, tag));
    let plain = plain.or_else(|| beside(name, text.get(..open)?));
    // Most elements have another name, and need no search for their end.
    let perhaps = if plain.is_none() { Some(names::perhaps_in_text(name)?) } else { None };
    let inner = text.get(at + 1..text.len().min(at + 1 + LONGEST))?;
    let blanks = inner.len() - inner.trim_ascii_start().len();
    let is_cdata = inner.get(blanks..).is_some_and(|inner| inner.starts_with(CDATA));
    let (skipped, end) = if is_cdata { (blanks + CDATA.len(), "]]>") } else { (0, "<") };
    let inner = inner.get(skipped..)?;
    // Another one begins before the end: every byte is read for one element only.
    let next = if skipped > 0 { find(inner, CDATA) } else { None };
    let inner = inner.get(..next.unwrap_or(inner.len()))?;
    let raw = inner.get(..find(inner, end.as_bytes())?)?;
    let behind = inner.get(raw.len()..)?;
    let behind = behind.strip_prefix(b"]]>").map_or(behind, <[u8]>::trim_ascii_start);
    let closed = behind.strip_prefix(b"</")?.strip_prefix(full)?.trim_ascii_start().first() == Some(&b'>');
    let value = raw.trim_ascii();
    if !closed || value.len() < VALUE_LEAST || names::is_void(value) {
        return None;
    }
    let kind = plain.or_else(|| perhaps.filter(|_| is_drawn(name, value)))?;
    let from = at + 1 + skipped + (raw.len() - raw.trim_ascii_start().len());
    (!names::is_count(kind, value)).then(|| Hit::closed(from, from + value.len(), kind))
}

/// What the text of a setting is, by the attribute that names it.
fn of_attribute(name: &str, tag: &[u8]) -> Option<&'static str> {
    SETTINGS.iter().any(|setting| name.eq_ignore_ascii_case(setting)).then(|| of_name(tag)).flatten()
}

/// What the value of an attribute is, by the attribute behind it: `<entry value="x" key="password"/>`. `at` is where the word `value` begins.
pub(super) fn behind(text: &[u8], at: usize) -> Option<&'static str> {
    let before = text.get(at.saturating_sub(TAG)..at)?;
    let open = before.iter().rposition(|byte| matches!(byte, b'<' | b'>'))?;
    let in_tag = before.get(open) == Some(&b'<') && before.get(open + 1).is_some_and(u8::is_ascii_alphabetic);
    let rest = text.get(at..text.len().min(at + TAG)).filter(|_| in_tag)?;
    of_name(rest.get(..rest.iter().position(|byte| *byte == b'>')?)?)
}

/// What the attribute `name` or `key` of a tag speaks of.
fn of_name(tag: &[u8]) -> Option<&'static str> {
    ["name", "key"].iter().find_map(|word| names::in_text(attribute(tag, word.as_bytes())?))
}

/// The value of an attribute.
fn attribute<'t>(tag: &'t [u8], word: &[u8]) -> Option<&'t str> {
    let value = |(at, found): (usize, &[u8])| {
        let begins = at.checked_sub(1).and_then(|before| tag.get(before)).is_some_and(u8::is_ascii_whitespace);
        let is_it = begins && found.eq_ignore_ascii_case(word);
        let rest = tag.get(at + word.len()..).filter(|_| is_it)?.trim_ascii_start();
        Some(rest.strip_prefix(b"=")?.trim_ascii_start())
    };
    let value = tag.windows(word.len()).enumerate().find_map(value)?;
    let quote = value.first().copied().filter(|byte| b"\"'".contains(byte));
    let ends = |byte: &u8| quote.map_or(byte.is_ascii_whitespace(), |quote| *byte == quote);
    let value = value.get(usize::from(quote.is_some())..)?;
    std::str::from_utf8(value.get(..value.iter().position(ends).unwrap_or(value.len()))?).ok()
}

/// What the text of a value is, by the element that names it just before, or by the tag that it is in: `<setting name="password"><value>`.
fn beside(name: &str, before: &[u8]) -> Option<&'static str> {
    (name.eq_ignore_ascii_case("value") || name == "string").then_some(())?;
    let before = before.trim_ascii_end();
    let named = before.strip_suffix(b"</name>").or_else(|| before.strip_suffix(b"</key>"));
    let Some(before) = named else {
        let before = before.strip_suffix(b">")?;
        let before = before.get(before.len().saturating_sub(TAG)..)?;
        let tag = before.get(before.iter().rposition(|byte| matches!(byte, b'<' | b'>'))?..)?.strip_prefix(b"<")?;
        let length = tag.iter().take_while(|byte| in_name(**byte)).count();
        return of_attribute(std::str::from_utf8(tag.get(..length)?).ok()?, tag);
    };
    let length = before.iter().rev().take(NAME).take_while(|byte| in_name(**byte) || **byte == b'.').count();
    let start = before.len() - length;
    let opened = start.checked_sub(1).and_then(|last| before.get(last)) == Some(&b'>');
    names::in_text(std::str::from_utf8(before.get(start..)?).ok()?).filter(|_| opened)
}
