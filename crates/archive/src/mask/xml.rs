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
const SETTINGS: &[&str] = &["property", "entry", "param", "parameter", "setting", "variable", "env"];

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
    let (skipped, end) = if inner.starts_with(CDATA) { (CDATA.len(), "]]>") } else { (0, "<") };
    let inner = inner.get(skipped..)?;
    // Another one begins before the end: every byte is read for one element only.
    let next = if skipped > 0 { find(inner, CDATA) } else { None };
    let inner = inner.get(..next.unwrap_or(inner.len()))?;
    let raw = inner.get(..find(inner, end.as_bytes())?)?;
    let behind = inner.get(raw.len()..)?;
    let behind = behind.strip_prefix(b"]]>").unwrap_or(behind);
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
    SETTINGS.contains(&name).then_some(())?;
    tag.split(u8::is_ascii_whitespace).find_map(|part| {
        let value = part.strip_prefix(b"name=").or_else(|| part.strip_prefix(b"key="))?;
        names::in_text(std::str::from_utf8(value).ok()?.trim_matches(['"', '\'']))
    })
}

/// What the text of a value is, by the element that names it just before.
fn beside(name: &str, before: &[u8]) -> Option<&'static str> {
    matches!(name, "value" | "string").then_some(())?;
    let before = before.trim_ascii_end();
    let before = before.strip_suffix(b"</name>").or_else(|| before.strip_suffix(b"</key>"))?;
    let length = before.iter().rev().take(NAME).take_while(|byte| in_name(**byte) || **byte == b'.').count();
    let start = before.len() - length;
    let opened = start.checked_sub(1).and_then(|last| before.get(last)) == Some(&b'>');
    names::in_text(std::str::from_utf8(before.get(start..)?).ok()?).filter(|_| opened)
}
