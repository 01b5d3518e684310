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
    /// Whether secrets are found by their shape and by the names before them too.
    shapes: bool,
}

/// Something to be replaced may begin here if a word does.
const AT_WORD: u8 = 1;
/// Something to be replaced may begin here in any case.
const ANYWHERE: u8 = 2;

impl Scanner {
    /// Finds what is known, and secrets by their shape and by the names before them.
    pub(super) fn new(literals: Vec<Literal>) -> Self {
        Self::made(literals, true)
    }

    /// Finds what is known and nothing else.
    pub(super) fn of_literals(literals: Vec<Literal>) -> Self {
        Self::made(literals, false)
    }

    fn made(mut literals: Vec<Literal>, shapes: bool) -> Self {
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
        if shapes {
            tokens::FIRST.iter().for_each(|byte| mark(*byte, AT_WORD, None));
            b"=:-,".iter().for_each(|byte| mark(*byte, ANYWHERE, None));
        }
        Self { literals, by_first, look, shapes }
    }

    /// Whether nothing is known beforehand.
    pub(super) fn is_empty(&self) -> bool {
        self.literals.is_empty()
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
            let hit = self
                .literal(text, at)
                .or_else(|| if self.shapes { tokens::at(text, at).or_else(|| named(text, at)) } else { None });
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

/// A value behind the name of a secret: `NAME=VALUE`, `"name": "value"`, `name: value`, `--name value`, `("name", "value")`.
fn named(text: &[u8], at: usize) -> Option<Hit<'static>> {
    match text.get(at)? {
        b'=' | b':' => behind_name(text, at),
        b'-' => behind_option(text, at),
        b',' => in_pair(text, at),
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
    if name.eq_ignore_ascii_case("token") && name != "TOKEN" && text.get(sign) == Some(&b'=') {
        // A notebook's address: `?token=` and 48 hexadecimal digits. Short words behind it are no secrets.
        const LEAST: usize = 16;
        let value = Class::Alnum.end(text, from);
        let run = text.get(from..value)?;
        return (run.len() >= LEAST && run.iter().any(u8::is_ascii_digit))
            .then(|| Hit::new(from, value, "token", Class::Alnum));
    }
    if let Some(kind) = names::in_text(name) {
        return value(text, from, kind);
    }
    if name.eq_ignore_ascii_case("value") {
        let number = |hit: &Hit<'_>| {
            text.get(hit.start..hit.end).is_some_and(|run| run.iter().all(|byte| b"0123456789.+-eE".contains(byte)))
        };
        return value(text, from, listed_before(text, start)?).filter(|hit| !number(hit));
    }
    let kind = names::perhaps_in_text(name)?;
    // `TOKEN=x` of a file of variables.
    let shouted = text.get(sign) == Some(&b'=') && end == sign && name.bytes().all(|byte| byte.is_ascii_uppercase());
    value(text, from, kind).filter(|hit| shouted || text.get(hit.start..hit.end).is_some_and(|run| is_drawn(name, run)))
}

/// Whether a value looks drawn at random rather than written: behind names such as `token` and `key`, which stand before words too.
pub(super) fn is_drawn(name: &str, value: &[u8]) -> bool {
    /// Words and ids of their own making are shorter.
    const LEAST: usize = 16;
    /// A key of a table is longer than that only where it is drawn.
    const OF_KEY: usize = 20;
    let is_key = name.len() >= 3 && name.get(name.len() - 3..).is_some_and(|end| end.eq_ignore_ascii_case("key"));
    let least = if is_key { OF_KEY } else { LEAST };
    let class = if is_key { Class::Alnum } else { Class::Bearer };
    value.len() >= least
        && value.iter().all(|byte| class.has(*byte))
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
        // A path or an address is no secret.
        && !value.contains(&b'/')
}

/// What the value of a pair is, judged by the name just before it: `{"name": "HF_TOKEN", "value": "x"}`, `- name: HF_TOKEN` and `value: x`
/// on the next line. `at` is where the word `value` begins.
fn listed_before(text: &[u8], at: usize) -> Option<&'static str> {
    const BACK: usize = 160;
    const WORD: &[u8] = b"name";
    let before = text.get(at.saturating_sub(BACK)..at)?;
    let last = before.windows(WORD.len()).rposition(|window| window.eq_ignore_ascii_case(WORD))? + WORD.len();
    let rest = before.get(last..)?;
    let skipped = rest.iter().take_while(|byte| b"\"'\\ :=".contains(byte)).count();
    let length = rest.get(skipped..)?.iter().take_while(|byte| in_name(**byte)).count();
    let name = std::str::from_utf8(rest.get(skipped..skipped + length)?).ok()?;
    let between = rest.get(skipped + length..)?;
    let joined = skipped > 0 && between.iter().all(|byte| b"\"'\\ ,\r\n\t-".contains(byte));
    if joined { names::in_text(name) } else { None }
}

/// The second of a pair as Python prints headers: `('x-api-key', 'value')`. `at` is the comma.
fn in_pair(text: &[u8], at: usize) -> Option<Hit<'static>> {
    let quote = at.checked_sub(1).and_then(|before| text.get(before)).filter(|byte| b"\"'".contains(byte))?;
    let length = text.get(..at - 1)?.iter().rev().take(NAME).take_while(|byte| in_name(**byte)).count();
    let start = at - 1 - length;
    let opened = start.checked_sub(1).and_then(|before| text.get(before)) == Some(quote);
    // A list of names has no values: only what a parenthesis opens is a pair.
    let before = text.get(..start.checked_sub(1)?)?;
    let before = before.strip_suffix(b"b").unwrap_or(before);
    if !opened || before.last() != Some(&b'(') {
        return None;
    }
    let kind = names::in_text(std::str::from_utf8(text.get(start..at - 1)?).ok()?)?;
    let blanks = text.get(at + 1..)?.iter().take_while(|byte| **byte == b' ').count();
    let bytes = usize::from(text.get(at + 1 + blanks) == Some(&b'b'));
    value(text, at + 1 + blanks + bytes, kind)
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
    match text.get(from)? {
        b'[' => return listed(text, from + 1, kind),
        b'|' | b'>' => return in_block(text, from + 1, kind),
        _ => {}
    }
    if text.get(from..from + 2) == Some(b"\\\"") {
        // Inside a JSON string that is itself JSON. The closing quote is escaped likewise.
        return run(text, from + 2, kind, Class::Value);
    }
    let quote = text.get(from).copied().filter(|byte| b"\"'`".contains(byte));
    from += usize::from(quote.is_some());
    from += scheme(text.get(from..)?);
    match quote {
        Some(quote) => run(text, from, kind, Class::Quoted(quote)),
        // A line of HTTP with several values.
        None if kind == "cookie" => run(text, from, kind, Class::Cookies),
        None => run(text, from, kind, Class::Value),
    }
}

/// Everything between the quotes of a list, as one: `api_key=['a', 'b']`. `from` is behind the bracket.
fn listed(text: &[u8], from: usize, kind: &'static str) -> Option<Hit<'static>> {
    const LONGEST: usize = 4096;
    let inner = text.get(from..text.len().min(from + LONGEST))?;
    let inner = inner.get(..inner.iter().position(|byte| *byte == b']')?)?;
    let mut first = inner.len() - inner.trim_ascii_start().len();
    let mut last = inner.trim_ascii_end().len();
    if let Some(quote) = inner.get(first).filter(|byte| b"\"'".contains(byte)) {
        last = inner.iter().rposition(|byte| byte == quote)?;
        first += 1;
    }
    let value = inner.get(first..last)?;
    (value.len() >= VALUE_LEAST && !names::is_void(value)).then(|| Hit::closed(from + first, from + last, kind))
}

/// The first line of a block of YAML: `api_key: |` and the value on the next line. `from` is behind the sign.
fn in_block(text: &[u8], from: usize, kind: &'static str) -> Option<Hit<'static>> {
    let rest = text.get(from..)?;
    let signs = rest.iter().take_while(|byte| b"+-0123456789 \r".contains(byte)).count();
    if rest.get(signs) != Some(&b'\n') {
        return None;
    }
    let indent = rest.get(signs + 1..)?.iter().take_while(|byte| **byte == b' ').count();
    if indent == 0 { None } else { run(text, from + signs + 1 + indent, kind, Class::Value) }
}

/// Length of `Bearer `, `Basic ` and their like before the secret itself.
fn scheme(text: &[u8]) -> usize {
    const SCHEMES: &[&str] = &["bearer ", "basic ", "token ", "digest ", "apikey ", "api-key "];
    let starts =
        |scheme: &&&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()));
    SCHEMES.iter().find(starts).map_or(0, |scheme| scheme.len())
}

/// Shorter values are words of a log more often than secrets.
const VALUE_LEAST: usize = 4;

fn run(text: &[u8], from: usize, kind: &'static str, class: Class) -> Option<Hit<'static>> {
    let mut end = class.end(text, from);
    if matches!(class, Class::Quoted(_)) {
        // An escaped quote belongs to the value.
        while text.get(end.wrapping_sub(1)) == Some(&b'\\') && text.get(end).is_some_and(|byte| *byte != b'\n') {
            end = class.end(text, end + 1);
        }
    }
    let value = text.get(from..end)?;
    let secret = value.len() >= VALUE_LEAST && !names::is_void(value) && !names::is_count(kind, value);
    secret.then(|| Hit::new(from, end, kind, class))
}
