//! Values beside a name: `("name", "value")`, `{"name": "HF_TOKEN", "value": "x"}`, `password: {value: x}`.
//!
//! In:  bytes, the place of a comma or of the word `value`.  Out: [`Hit`], or the name.
//! Not here: values behind the sign of their name (see `setting`).

use std::borrow::Cow;

use super::drawn::is_drawn;
use super::hit::Hit;
use super::lexical::{NAME, bare, colours, in_name};
use super::names;
use super::value::value;

/// The name that tells what the value of a pair is, which stands just before it: `{"name": "HF_TOKEN", "value": "x"}`, `- name: HF_TOKEN` and
/// `value: x` on the next line. `at` is where the word `value` begins.
pub(super) fn listed_before(text: &[u8], at: usize) -> Option<String> {
    const BACK: usize = 160;
    /// Colours take more room.
    const COLOURED: usize = 480;
    let before = text.get(at.saturating_sub(COLOURED)..at)?;
    let before = if memchr::memchr(0x1b, before).is_some() { Cow::Owned(plain(before)) } else { Cow::Borrowed(before) };
    let before = before.get(before.len().saturating_sub(BACK)..)?;
    paired(before, b"name").or_else(|| paired(before, b"key")).map(str::to_owned)
}

/// Without the colours of a terminal.
fn plain(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        match colours(rest) {
            0 => {
                plain.push(*first);
                rest = behind;
            }
            length => rest = rest.get(length..).unwrap_or_default(),
        }
    }
    plain
}

/// As [`listed_before`], by the word that stands before the name.
fn paired<'t>(before: &'t [u8], word: &[u8]) -> Option<&'t str> {
    let gap = |from: usize| {
        let rest = before.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| b"\"'\\ :=".contains(byte)).count()
    };
    let begins =
        |from: usize| before.get(from..from + gap(from)).is_some_and(|gap| gap.iter().any(|b| b":=".contains(b)));
    let is_it = |(at, window): &(usize, &[u8])| window.eq_ignore_ascii_case(word) && begins(at + word.len());
    let all: Vec<(usize, &[u8])> = before.windows(word.len()).enumerate().collect();
    let last = all.iter().rev().find(|found| is_it(found))?.0 + word.len();
    let rest = before.get(last..)?;
    let skipped = gap(last);
    let length = rest.get(skipped..)?.iter().take_while(|byte| in_name(**byte)).count();
    let name = std::str::from_utf8(rest.get(skipped..skipped + length)?).ok()?;
    let between = rest.get(skipped + length..)?;
    let next = between.iter().all(|byte| b"\"'\\ ,\r\n\t-".contains(byte));
    // Further members of the same object: `"name": "HF_TOKEN", "type": "plain", "value": "x"`. Of a tag: `key="password" type="x" value="x"`.
    let member = |byte: &u8| in_name(*byte) || b"\"'\\ ,:=\r\n\t".contains(byte);
    let further = between.first().is_some_and(|byte| b"\"'\\".contains(byte)) && between.iter().all(member);
    let joined = skipped > 0 && (next || further);
    (joined && (names::in_text(name).is_some() || names::perhaps_in_text(name).is_some())).then_some(name)
}

/// The name of the mapping in braces that a member stands in: `password: {value: x}`, `password = { kind = "plain", value = "x" }`. `at` is where
/// the word `value` begins.
pub(super) fn above_brace(text: &[u8], at: usize) -> Option<&str> {
    const BACK: usize = 256;
    let before = text.get(at.saturating_sub(BACK)..at)?;
    let open = before.iter().rposition(|byte| matches!(byte, b'{' | b'}' | b'[' | b']'))?;
    (before.get(open) == Some(&b'{')).then_some(())?;
    let head = bare(before.get(..open)?);
    let head = bare(head.strip_suffix(b":").or_else(|| head.strip_suffix(b"="))?);
    let quoted = head.iter().rev().take_while(|byte| b"\"'\\".contains(byte)).count();
    let head = head.get(..head.len() - quoted)?;
    let length = head.iter().rev().take(NAME).take_while(|byte| in_name(**byte)).count();
    std::str::from_utf8(head.get(head.len() - length..)?).ok()
}

/// The second of a pair as Python prints headers: `('x-api-key', 'value')`. `at` is the comma. In brackets, `["Authorization", "Bearer x"]`, it
/// must show by itself.
pub(super) fn in_pair(text: &[u8], at: usize) -> Option<Hit<'static>> {
    let quote = at.checked_sub(1).and_then(|before| text.get(before)).filter(|byte| b"\"'".contains(byte))?;
    let length = text.get(..at - 1)?.iter().rev().take(NAME).take_while(|byte| in_name(**byte)).count();
    let start = at - 1 - length;
    let opened = start.checked_sub(1).and_then(|before| text.get(before)) == Some(quote);
    // A list of names has no values: only what a parenthesis opens is a pair.
    let before = text.get(..start.checked_sub(1)?)?;
    let before = before.strip_suffix(b"b").unwrap_or(before);
    let bracket = before.trim_ascii_end().last() == Some(&b'[');
    if !opened || !(bracket || before.last() == Some(&b'(')) {
        return None;
    }
    let kind = names::in_text(std::str::from_utf8(text.get(start..at - 1)?).ok()?)?;
    let blanks = text.get(at + 1..)?.iter().take_while(|byte| matches!(byte, b' ' | b'\r' | b'\n' | b'\t')).count();
    let from = at + 1 + blanks;
    let quotes = if *quote == b'"' { "\"" } else { "'" };
    let is_plain = |hit: &Hit<'_>| {
        let opening = text.get(from..hit.start).unwrap_or_default();
        opening.last() == Some(&b' ') || text.get(hit.start..hit.end).is_some_and(|run| is_drawn("", run))
    };
    value(text, from, kind, quotes).filter(|hit| !bracket || is_plain(hit))
}
