//! Secrets in elements of XML: `<password>x</password>`, `<property name="password">x</property>`, `<name>password</name><value>x</value>`.
//!
//! In:  bytes, the end of a start tag, or an attribute in one.  Out: [`Hit`], or the names that tell what the attribute is.
//! Not here: attributes, `password="x"` and `<add key="password" value="x"/>`, which are read like any other name and value (see `setting`).
//!
//! An element counts only with its end tag right behind the text. Types of programs (`Option<Password>`) have none.

use super::drawn::is_drawn;
use super::hit::Hit;
use super::joined::Joined;
use super::lexical::{NAME, find, in_name};
use super::names;
use super::scalar::VALUE_LEAST;

/// Longest start tag.
const TAG: usize = 256;
/// Longest text of an element.
const LONGEST: usize = 16 << 10;
const CDATA: &[u8] = b"<![CDATA[";
const COMMENT: &[u8] = b"<!--";

/// Elements that hold a setting which an attribute names.
const SETTINGS: &[&str] = &[
    "property",
    "entry",
    "param",
    "parameter",
    "prop",
    "setting",
    "variable",
    "env",
    "value",
    "string",
    "item",
    "field",
    "attribute",
    "arg",
];

/// The text of an element with the name of a secret. `at` is the end of its start tag.
pub(super) fn element(text: &[u8], at: usize) -> Option<Hit<'static>> {
    let (open, tag) = start_tag(text, at)?;
    let full = name_of(tag);
    if full.is_empty() || tag.ends_with(b"/") {
        return None;
    }
    let name = local(full)?;
    let plain = names::in_text(name).or_else(|| of_attribute(name, tag));
    let plain = plain.or_else(|| beside(name, text.get(..open)?));
    // Most elements have another name, and need no search for their end.
    let kind = plain.or_else(|| names::perhaps_in_text(name))?;
    let inner = text.get(at + 1..text.len().min(at + 1 + LONGEST))?;
    let (parts, length) = content(inner)?;
    let behind = inner.get(length..)?;
    let closed = behind.strip_prefix(b"</")?.strip_prefix(full)?.trim_ascii_start().first() == Some(&b'>');
    let value: Vec<u8> = parts.iter().filter_map(|(from, to)| inner.get(*from..*to)).flatten().copied().collect();
    if !closed || value.len() < VALUE_LEAST || names::is_void(&value) || names::is_count(kind, &value) {
        return None;
    }
    if plain.is_none() && !is_drawn(name, &value) {
        return None;
    }
    let mut found = Joined::new(kind);
    parts.iter().for_each(|(from, to)| found.put(text, at + 1 + from, at + 1 + to));
    found.hit()
}

/// The texts of an element, CDATA too, and where its end tag begins. Comments stay. None for one with other elements in it.
fn content(inner: &[u8]) -> Option<(Vec<(usize, usize)>, usize)> {
    let mut parts = Vec::new();
    let mut add = |from: usize, to: usize| {
        let raw = inner.get(from..to).unwrap_or_default();
        let from = from + (raw.len() - raw.trim_ascii_start().len());
        let length = raw.trim_ascii().len();
        if length > 0 {
            parts.push((from, from + length));
        }
    };
    let mut at = 0;
    loop {
        let next = at + find(inner.get(at..)?, b"<")?;
        add(at, next);
        let rest = inner.get(next..)?;
        // Another one begins before the end: every byte is read for one element only.
        let body = |open: &[u8]| {
            let body = rest.get(open.len()..)?;
            body.get(..find(body, open).unwrap_or(body.len()))
        };
        if rest.starts_with(b"</") {
            return Some((parts, next));
        } else if rest.starts_with(CDATA) {
            let from = next + CDATA.len();
            let to = from + find(body(CDATA)?, b"]]>")?;
            add(from, to);
            at = to + 3;
        } else if rest.starts_with(COMMENT) {
            at = next + COMMENT.len() + find(body(COMMENT)?, b"-->")? + 3;
        } else {
            return None;
        }
    }
}

/// The start tag that ends at `at`: where it opens, and what stands in it. A `>` between quotes ends none.
fn start_tag(text: &[u8], at: usize) -> Option<(usize, &[u8])> {
    let cut = at.saturating_sub(TAG);
    let before = text.get(cut..at)?;
    let open = memchr::memrchr(b'<', before)?;
    let tag = before.get(open + 1..)?;
    (tag_end(tag) == End::Beyond).then_some((cut + open, tag))
}

/// Where a tag ends.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// At this place.
    At(usize),
    /// Behind what was read.
    Beyond,
    /// Behind a value that goes on behind what was read.
    InQuotes,
}

fn tag_end(tag: &[u8]) -> End {
    let (mut quote, mut last) = (None, b' ');
    for (at, byte) in tag.iter().enumerate() {
        match (quote, *byte) {
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'>') => return End::At(at),
            // Elsewhere it is a letter.
            (None, b'"' | b'\'') if last == b'=' => quote = Some(*byte),
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = *byte;
        }
    }
    if quote.is_some() { End::InQuotes } else { End::Beyond }
}

/// The name that a tag begins with, with its namespace.
fn name_of(tag: &[u8]) -> &[u8] {
    let length = tag.iter().take_while(|byte| in_name(**byte) || b":.".contains(byte)).count();
    tag.get(..length).unwrap_or_default()
}

/// A name without its namespace.
fn local(full: &[u8]) -> Option<&str> {
    std::str::from_utf8(full.rsplit(|byte| *byte == b':').next()?).ok()
}

/// What the text of a setting is, by the attribute that names it.
fn of_attribute(name: &str, tag: &[u8]) -> Option<&'static str> {
    let is_setting = SETTINGS.iter().any(|setting| name.eq_ignore_ascii_case(setting));
    is_setting.then(|| names_in(tag).find_map(names::in_text)).flatten()
}

/// Names that tell what the value of an attribute is: those of the attributes `name` and `key` of its tag, and the tag's own:
/// `<entry value="x" key="password"/>`, `<password value="x"/>`. `at` is where the word `value` begins.
pub(super) fn names_of_tag(text: &[u8], at: usize) -> Vec<&str> {
    let cut = at.saturating_sub(TAG);
    let before = text.get(cut..at).unwrap_or_default();
    let Some(open) = memchr::memrchr(b'<', before) else { return Vec::new() };
    let begun = before.get(open + 1..).unwrap_or_default();
    let rest = text.get(cut + open + 1..text.len().min(at + TAG)).unwrap_or_default();
    let is_tag = begun.first().is_some_and(u8::is_ascii_alphabetic) && tag_end(begun) == End::Beyond;
    match tag_end(rest) {
        End::At(end) if is_tag => {
            let tag = rest.get(..end).unwrap_or_default();
            names_in(tag).chain(local(name_of(tag))).collect()
        }
        _ => Vec::new(),
    }
}

/// The values of the attributes `name` and `key` of a tag.
fn names_in(tag: &[u8]) -> impl Iterator<Item = &str> {
    ["name", "key"].iter().filter_map(|word| attribute(tag, word.as_bytes()))
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
        let (_, tag) = start_tag(before, before.strip_suffix(b">")?.len())?;
        return of_attribute(local(name_of(tag))?, tag);
    };
    let length = before.iter().rev().take(NAME).take_while(|byte| in_name(**byte) || **byte == b'.').count();
    let start = before.len() - length;
    let opened = start.checked_sub(1).and_then(|last| before.get(last)) == Some(&b'>');
    names::in_text(std::str::from_utf8(before.get(start..)?).ok()?).filter(|_| opened)
}
