//! Scans bytes once, left to right, for the next text to replace.
//!
//! In:  bytes, a place, known names and values.  Out: [`Hit`].
//! Not here: where the bytes come from and go.

use std::borrow::Cow;

use super::tokens::{self, Class};
use super::{command, names, xml, yaml};

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
            b"=:-,>".iter().for_each(|byte| mark(*byte, ANYWHERE, None));
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
            if how == 0 || (how == AT_WORD && is_word(behind) && !matches!(behind, b'n' | b'r' | b't' | b'm' | 0xbf)) {
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
    if !is_word(*before) || text.get(..at) == Some(MARK) {
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

/// What a text in UTF-8 may begin with.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";
/// Most blanks of a column of signs or of values.
const ALIGNED: usize = 64;
/// Longest name looked back at.
pub(super) const NAME: usize = 64;

/// A value behind the name of a secret: `NAME=VALUE`, `"name": "value"`, `name: value`, `--name value`, `("name", "value")`,
/// `<name>value</name>`.
fn named(text: &[u8], at: usize) -> Option<Hit<'static>> {
    match text.get(at)? {
        b'=' | b':' => behind_name(text, at),
        b'-' => behind_option(text, at).or_else(|| command::password(text, at)),
        b',' => in_pair(text, at),
        b'>' => xml::element(text, at),
        _ => None,
    }
}

pub(super) const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Length of a terminal's colour that ends at `end`.
fn colour_before(text: &[u8], end: usize) -> usize {
    const COLOUR: usize = 12;
    let recent = text.get(end.saturating_sub(COLOUR)..end).unwrap_or_default();
    let escape = recent.iter().rposition(|byte| *byte == 0x1b);
    let code = escape.and_then(|escape| recent.get(escape..)).unwrap_or_default();
    if code.is_empty() || colours(code) < code.len() { 0 } else { code.len() }
}

fn behind_name(text: &[u8], sign: usize) -> Option<Hit<'static>> {
    let mut end = sign;
    while end > 0 && end + ALIGNED > sign && matches!(text.get(end - 1), Some(b' ' | b'\t')) {
        end -= 1;
    }
    end -= colour_before(text, end);
    // `cfg["name"] = "x"`
    let is_index =
        text.get(sign) == Some(&b'=') && matches!(text.get(end.saturating_sub(2)..end), Some([b'"' | b'\'', b']']));
    end -= usize::from(is_index);
    // `"name":`, `'name' =`, `\"name\":`
    let behind = end;
    while end > 0 && end + 4 > behind && matches!(text.get(end - 1), Some(b'"' | b'\'' | b' ' | b'\\')) {
        end -= 1;
    }
    end -= colour_before(text, end);
    let mut start = end;
    while start > 0 && end - start < NAME && text.get(start - 1).is_some_and(|byte| in_name(*byte)) {
        start -= 1;
    }
    if start > 0 && text.get(start - 1) == Some(&b'\\') {
        // The letter belongs to an escape, as in `\nHF_TOKEN=`.
        start += 1;
    }
    let name = text.get(start..end)?;
    // `36m` of a colour is no part of it.
    let code = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if name.get(code) == Some(&b'm') && colour_before(text, start + code + 1) > 0 {
        start += code + 1;
    }
    let name = std::str::from_utf8(text.get(start..end)?).ok()?;
    let from = sign + 1;
    if is_index {
        // A program that puts a variable there tells no secret.
        let rest = text.get(from + gap(text.get(from..)?, true, false)..)?;
        rest.get(wrapped(rest, false)).filter(|byte| is_quote(byte))?;
    }
    if name.eq_ignore_ascii_case("pwd") && is_of_connection(text, start, sign) {
        return run(text, from, "password", Class::Value);
    }
    if name.eq_ignore_ascii_case("token") && name != "TOKEN" && text.get(sign) == Some(&b'=') {
        // A notebook's address: `?token=` and 48 hexadecimal digits. Short words behind it are no secrets.
        const LEAST: usize = 16;
        let rest = text.get(from..)?;
        if !rest.get(wrapped(rest, false)).is_some_and(is_quote) {
            let value = Class::Alnum.end(text, from);
            let run = text.get(from..value)?;
            return (run.len() >= LEAST && run.iter().any(u8::is_ascii_digit))
                .then(|| Hit::new(from, value, "token", Class::Alnum));
        }
    }
    let quotes = match text.get(end..sign)? {
        [b'"', ..] => "\"",
        [b'\'', ..] => "'",
        [b'\\', b'"', ..] => "\\\"",
        _ => "",
    };
    let shouted = text.get(sign) == Some(&b'=') && end == sign && is_shouted(name.as_bytes());
    let line = |kind| {
        let of_file = text.get(sign) == Some(&b'=') && end == sign && line_start(text, start);
        if of_file { in_line(text, from, kind, shouted) } else { None }
    };
    let below = |kind| if text.get(sign) == Some(&b':') { yaml::list(text, sign, kind) } else { None };
    if let Some(kind) = names::in_text(name) {
        let to_end = |hit| if quotes.is_empty() { to_line_end(text, sign, hit) } else { hit };
        return line(kind).or_else(|| below(kind)).or_else(|| value(text, from, kind, quotes).map(to_end));
    }
    let several = names::of_several(name);
    if let Some(hit) = several.and_then(below) {
        return Some(hit);
    }
    // Without quotes around it, the name may head a list of names, as `secrets` does.
    let sure = |kind: &&str| {
        !quotes.is_empty() || (matches!(*kind, "password" | "token" | "key") && !is_shouted(name.as_bytes()))
    };
    if let Some(kind) = several.filter(sure) {
        let at = from + gap(text.get(from..)?, !quotes.is_empty(), false);
        let inner = text.get(at + 1..).unwrap_or_default().trim_ascii_start();
        match text.get(at) {
            Some(b'[') if inner.first().is_some_and(is_quote) => return listed(text, at + 1, kind, quotes),
            Some(b'{') if quotes.len() == 1 => return in_object(text, at, kind),
            _ => {}
        }
    }
    if name.eq_ignore_ascii_case("value") {
        let number = |hit: &Hit<'_>| {
            text.get(hit.start..hit.end).is_some_and(|run| run.iter().all(|byte| b"0123456789.+-eE".contains(byte)))
        };
        return value(text, from, listed_before(text, start)?, quotes).filter(|hit| !number(hit));
    }
    let kind = names::perhaps_in_text(name)?;
    // `TOKEN=x` of a file of variables.
    let shouted = shouted && name.bytes().all(|byte| byte.is_ascii_uppercase());
    if shouted {
        return line(kind).or_else(|| value(text, from, kind, quotes));
    }
    // `block key: 0123...`
    if ["key", "token"].iter().any(|word| name.eq_ignore_ascii_case(word)) && tokens::is_of_models(text, start) {
        return None;
    }
    // Its beginning tells whether it is drawn. A run of such names would be read to its end from each of them.
    let near = if yaml::begins_line(text, sign) { text } else { text.get(..text.len().min(from + JUDGED))? };
    let drawn = |hit: &Hit<'_>| {
        let mut lines =
            near.get(hit.start..hit.end).unwrap_or_default().split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines.all(|line| line.is_empty() || is_drawn(name, line))
    };
    let mut hit = value(near, from, kind, quotes).filter(drawn)?;
    if let Some(class) = hit.open.filter(|_| hit.end == near.len()) {
        hit.end = class.end(text, hit.end);
    }
    Some(hit)
}

/// Bytes behind a name that tell whether its value is drawn.
const JUDGED: usize = 1 << 10;

/// Whether `Pwd` stands in a connection's settings, `Uid=ann;Pwd=x`, and is not the folder of a shell.
fn is_of_connection(text: &[u8], start: usize, sign: usize) -> bool {
    const BACK: usize = 64;
    let before = text.get(start.saturating_sub(BACK)..start).unwrap_or_default().trim_ascii_end();
    let setting =
        before.strip_suffix(b";").and_then(|before| before.rsplit(|byte| matches!(byte, b';' | b'\n')).next());
    let value = text.get(sign + 1);
    text.get(sign) == Some(&b'=')
        && setting.is_some_and(|setting| setting.contains(&b'='))
        && value.is_some_and(|first| !b"/~\"'$".contains(first))
}

/// A value without quotes whose name begins the line goes on to the end of the line, where no blank stands in it: `password: a&b`. What
/// closes something around it stays, as do further settings.
fn to_line_end(text: &[u8], sign: usize, hit: Hit<'static>) -> Hit<'static> {
    if hit.open != Some(Class::Value) || !yaml::begins_line(text, sign) {
        return hit;
    }
    let end = Class::Blank.end(text, hit.end);
    let rest = text.get(hit.end..end).unwrap_or_default();
    let tail = rest.len() - rest.iter().rev().take_while(|byte| b"\"'`;,)]}>".contains(byte)).count();
    let behind = text.get(end..).unwrap_or_default();
    let blanks = behind.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    let ends_line = matches!(behind.get(blanks), None | Some(b'\n'));
    let is_name = |part: &[u8]| {
        let name = part.iter().take_while(|byte| in_name(**byte)).count();
        name > 0 && matches!(part.get(name), Some(b'=' | b':'))
    };
    let others = rest.split(|byte| b",;&|".contains(byte)).any(is_name);
    // A colour, an escape and a tag end it.
    let closed = rest.iter().any(|byte| matches!(byte, 0x1b | b'\\')) || rest.starts_with(b"</");
    if !ends_line || others || closed {
        return hit;
    }
    let open = if tail == rest.len() { Some(Class::Blank) } else { None };
    Hit { end: hit.end + tail, open: if tail == 0 { hit.open } else { open }, ..hit }
}

fn is_shouted(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

fn is_quote(byte: &u8) -> bool {
    b"\"'`".contains(byte)
}

/// Whether a name begins a line of a file of variables, perhaps behind `export`.
fn line_start(text: &[u8], start: usize) -> bool {
    const BACK: usize = 64;
    let before = text.get(start.saturating_sub(BACK)..start).unwrap_or_default();
    let line = before.rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let whole = line.len() < before.len() || before.len() == start;
    let line = if before.len() == start { line.strip_prefix(MARK).unwrap_or(line) } else { line };
    whole && matches!(line.trim_ascii(), b"" | b"export" | b"set" | b"ENV" | b"-")
}

/// The value of a line `NAME=value` of a file of variables without quotes, up to white space. A blank behind a backslash belongs to it.
/// Other names than `NAME` must have the line for themselves.
fn in_line(text: &[u8], from: usize, kind: &'static str, shouted: bool) -> Option<Hit<'static>> {
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
        && !has_word(value)
        // A path or an address is no secret.
        && !value.contains(&b'/')
}

/// Whether a word stands between dashes and dots, as in the names of models.
pub(super) fn has_word(value: &[u8]) -> bool {
    const LONGEST: usize = 5;
    let is_word = |part: &[u8]| {
        let small = part.get(1..).is_some_and(|rest| rest.iter().all(u8::is_ascii_lowercase));
        part.len() > LONGEST && small && part.first().is_some_and(u8::is_ascii_alphabetic)
    };
    let parts = || value.split(|byte| b"-.".contains(byte));
    parts().count() > 1 && parts().any(is_word)
}

/// What the value of a pair is, judged by the name just before it: `{"name": "HF_TOKEN", "value": "x"}`, `- name: HF_TOKEN` and `value: x`
/// on the next line. `at` is where the word `value` begins.
fn listed_before(text: &[u8], at: usize) -> Option<&'static str> {
    const BACK: usize = 160;
    let before = text.get(at.saturating_sub(BACK)..at)?;
    paired(before, b"name").or_else(|| paired(before, b"key"))
}

/// As [`listed_before`], by the word that stands before the name.
fn paired(before: &[u8], word: &[u8]) -> Option<&'static str> {
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
    // Further members of the same object: `"name": "HF_TOKEN", "type": "plain", "value": "x"`.
    let member = |byte: &u8| in_name(*byte) || b"\"'\\ ,:\r\n\t".contains(byte);
    let further = between.first().is_some_and(|byte| b"\"'\\".contains(byte)) && between.iter().all(member);
    let joined = skipped > 0 && (next || further);
    if joined { names::in_text(name) } else { None }
}

/// The second of a pair as Python prints headers: `('x-api-key', 'value')`. `at` is the comma. In brackets, `["Authorization", "Bearer x"]`, it
/// must show by itself.
fn in_pair(text: &[u8], at: usize) -> Option<Hit<'static>> {
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
    let (skipped, parts) = between(text, at, end)?;
    let next = text.get(end + skipped);
    if skipped == 0 || !parts.iter().any(|byte| b" \t,=\n\0".contains(byte)) || next == Some(&b'-') {
        return None;
    }
    let quote = parts.last().copied().filter(|byte| b"\"'".contains(byte));
    let from = end + skipped;
    match quote {
        Some(quote) => run(text, from, kind, Class::Quoted(quote)),
        None => run(text, from + colours(text.get(from..)?), kind, Class::Value),
    }
}

/// What stands between an option and its value, and how long it is: quotes, commas, blanks. The option begins at `at` and ends at `end`. In
/// a list of JSON the value may stand on the next line, behind the blanks before it, and in one of YAML behind a dash: `- --name`, `- x`.
pub(super) fn between(text: &[u8], at: usize, end: usize) -> Option<(usize, &[u8])> {
    const NEAR: usize = 12;
    const FAR: usize = 256;
    let gap = text.get(end..text.len().min(end + FAR))?;
    let signs = |from: usize| {
        let rest = gap.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| b"\"'\\, \t\r\n=\0".contains(byte)).count()
    };
    let mut skipped = signs(0);
    let parts = gap.get(..skipped)?;
    let back = text.get(at.saturating_sub(FAR)..at)?;
    let is_item = || {
        let line = back.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        line.contains(&b'-') && line.iter().all(|byte| b" -\"'".contains(byte))
    };
    if parts.contains(&b'\n') && gap.get(skipped..)?.starts_with(b"- ") && is_item() {
        skipped += 2;
        skipped += signs(skipped);
    } else if skipped > NEAR && !parts.contains(&b',') {
        // The words of a help stand so.
        return None;
    }
    Some((skipped, gap.get(..skipped)?))
}

/// Blanks before a value. Behind a name in quotes, as JSON has it, the value may stand on the next line. Values may be `aligned` below each
/// other.
fn gap(text: &[u8], quoted: bool, aligned: bool) -> usize {
    const BLANKS: usize = 4;
    const LINES: usize = 256;
    let most = if aligned { ALIGNED } else { BLANKS };
    let short = text.iter().take(most).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let long = text.iter().take(LINES).take_while(|byte| byte.is_ascii_whitespace()).count();
    let fits = match text.get(long) {
        Some(b'[' | b'{') => true,
        // Not the next name.
        Some(b'"') => {
            let behind = text.get(closing(text, long + 1, b'"') + 1..).unwrap_or_default();
            behind.trim_ascii_start().first() != Some(&b':')
        }
        _ => false,
    };
    if quoted && fits { long } else { short }
}

/// Length of the colours of a terminal.
fn colours(text: &[u8]) -> usize {
    let mut length = 0;
    while let Some([0x1b, b'[', rest @ ..]) = text.get(length..) {
        let code = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
        if rest.get(code) != Some(&b'm') {
            break;
        }
        length += code + 3;
    }
    length
}

/// Length of what stands before the quote of a value: `Some(`, `Secret(`, `(`, `b`. In YAML, `!!str ` and `&anchor ` before any value.
fn wrapped(text: &[u8], yaml: bool) -> usize {
    const LONGEST: usize = 40;
    const DEEPEST: usize = 3;
    let mut tags = 0;
    while let Some([b'!' | b'&', rest @ ..]) = text.get(tags..).filter(|_| yaml) {
        let word = rest.iter().take_while(|byte| byte.is_ascii_alphabetic() || b"!_-".contains(byte)).count();
        let blanks = rest.get(word..).unwrap_or_default().iter().take_while(|byte| **byte == b' ').count();
        let next = rest.get(word + blanks);
        if word == 0 || blanks == 0 || next.is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'#') {
            break;
        }
        tags += 1 + word + blanks;
    }
    let mut at = tags;
    for _ in 0..DEEPEST {
        let rest = text.get(at..).unwrap_or_default();
        let in_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.:".contains(*byte);
        let word = rest.iter().take(LONGEST).take_while(in_word).count();
        if rest.get(word) != Some(&b'(') {
            break;
        }
        let inner = rest.get(word + 1..).unwrap_or_default();
        at += word + 1 + inner.iter().take(LONGEST).take_while(|byte| byte.is_ascii_whitespace()).count();
    }
    // `b'x'`, `u'x'`, `rb'x'`.
    let rest = text.get(at..).unwrap_or_default();
    at += rest.iter().take(2).take_while(|byte| b"bBuUrRfF".contains(byte)).count();
    if text.get(at).is_some_and(is_quote) { at } else { tags }
}

/// Whether a value without quotes is a reference to one elsewhere: `${NAME}`, `$(command)`, `{{ name }}`, `%(name)s`.
fn is_reference(text: &[u8]) -> bool {
    const LONGEST: usize = 256;
    const SIGNS: &[(&str, u8)] = &[("${", b'}'), ("$(", b')'), ("{", b'}'), ("%(", b')')];
    let line = || text.iter().take(LONGEST).take_while(|byte| **byte != b'\n');
    SIGNS.iter().any(|(open, close)| text.starts_with(open.as_bytes()) && line().any(|byte| byte == close))
}

/// The value that begins at `from`, behind blanks and a quote. `quotes` are those around its name.
fn value(text: &[u8], from: usize, kind: &'static str, quotes: &str) -> Option<Hit<'static>> {
    let sign = from.checked_sub(1)?;
    let yaml = text.get(sign) == Some(&b':');
    let mut from = from + gap(text.get(from..)?, !quotes.is_empty(), yaml::begins_line(text, sign));
    from += colours(text.get(from..)?);
    from += wrapped(text.get(from..)?, yaml);
    match text.get(from)? {
        b'[' => return listed(text, from + 1, kind, quotes),
        b'{' => return if quotes.len() == 1 { in_object(text, from, kind) } else { None },
        b'|' | b'>' if yaml && yaml::begins_line(text, sign) => return yaml::block(text, sign, from + 1, kind),
        b'|' | b'>' => return in_block(text, from + 1, kind),
        _ => {}
    }
    if text.get(from..from + 2) == Some(b"\\\"") {
        // Inside a JSON string that is itself JSON. The closing quote is escaped likewise.
        return run(text, from + 2, kind, Class::Value);
    }
    let quote = text.get(from).copied().filter(is_quote);
    from += usize::from(quote.is_some());
    if let Some(quote) = quote
        && text.get(from..from + 2) == Some([quote; 2].as_slice())
        && let Some(hit) = in_triple(text, from + 2, kind, quote)
    {
        return Some(hit);
    }
    let scheme = scheme(text.get(from..)?);
    from += scheme;
    let hit = match quote {
        Some(quote) => run(text, from, kind, Class::Quoted(quote)),
        // A line of HTTP with several values.
        None if kind == "cookie" => run(text, from, kind, Class::Cookies),
        None => run(text, from, kind, Class::Value),
    };
    // Next to a name in quotes it must stay JSON.
    if quote.is_none() && scheme == 0 { hit.map(|hit| in_quotes(hit, quotes)) } else { hit }
}

/// A hit whose replacement has quotes around it.
fn in_quotes(hit: Hit<'static>, quotes: &str) -> Hit<'static> {
    let with = format!("{quotes}{}{quotes}", tag(hit.kind));
    Hit { with: Cow::Owned(with.into_bytes()), ..hit }
}

/// Everything between three quotes and the next three. `from` is behind the first.
fn in_triple(text: &[u8], from: usize, kind: &'static str, quote: u8) -> Option<Hit<'static>> {
    const LONGEST: usize = 16 << 10;
    let inner = text.get(from..text.len().min(from + LONGEST))?;
    let inner = inner.get(..tokens::find(inner, &[quote; 3])?)?;
    let first = inner.len() - inner.trim_ascii_start().len();
    let value = inner.trim_ascii();
    let secret = value.len() >= VALUE_LEAST && !names::is_void(value) && !names::is_count(kind, value);
    secret.then(|| Hit::closed(from + first, from + first + value.len(), kind))
}

/// Longest list or object. Of a longer one as much is replaced.
const NESTED: usize = 64 << 10;

/// Every text in an object: `"api_keys": {"a": "x", "b": "y"}`. `from` is the brace. The description of a field is left alone.
fn in_object(text: &[u8], from: usize, kind: &'static str) -> Option<Hit<'static>> {
    /// Deeper ones are no secrets, and every brace would be followed to the end of all.
    const DEEPEST: usize = 8;
    const OF_SCHEMA: &[&str] = &["type", "$ref", "anyOf", "allOf", "oneOf", "description", "title", "default"];
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
                let is_name = inner.get(end + 1..)?.trim_ascii_start().first() == Some(&b':');
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
fn listed(text: &[u8], from: usize, kind: &'static str, quotes: &str) -> Option<Hit<'static>> {
    let inner = text.get(from..text.len().min(from + NESTED))?;
    let inner = inner.get(..list_end(inner)?)?;
    let mut first = inner.len() - inner.trim_ascii_start().len();
    let mut last = inner.trim_ascii_end().len();
    let quote = inner.get(first).filter(|byte| b"\"'".contains(byte));
    if let Some(quote) = quote {
        last = inner.iter().rposition(|byte| byte == quote)?;
        first += 1;
    }
    let value = inner.get(first..last)?;
    let hit = Hit::closed(from + first, from + last, kind);
    let hit = if quote.is_some() { hit } else { in_quotes(hit, quotes) };
    (value.len() >= VALUE_LEAST && !names::is_void(value)).then_some(hit)
}

/// Where the list closes that a text goes on with, or where the last text of it does where that cannot be seen. A bracket between quotes is
/// a letter.
fn list_end(inner: &[u8]) -> Option<usize> {
    const PLAIN: usize = 4096;
    let near = inner.get(..PLAIN).unwrap_or(inner);
    let plain = || memchr::memchr(b']', near);
    if !inner.trim_ascii_start().first().is_some_and(|byte| b"\"'".contains(byte)) {
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

/// The first line of a block of YAML whose name does not begin its line: `api_key: |` and the value on the next line. `from` is behind the
/// sign.
fn in_block(text: &[u8], from: usize, kind: &'static str) -> Option<Hit<'static>> {
    let rest = text.get(from..)?;
    let signs = rest.iter().take_while(|byte| b"+-0123456789 \r".contains(byte)).count();
    if rest.get(signs) != Some(&b'\n') {
        return None;
    }
    let indent = rest.get(signs + 1..)?.iter().take_while(|byte| **byte == b' ').count();
    let first = from + signs + 1 + indent;
    // A private key shows by itself, to its last line.
    if indent == 0 || text.get(first) == Some(&b'-') { None } else { run(text, first, kind, Class::Value) }
}

/// Length of `Bearer `, `Basic ` and their like before the secret itself.
fn scheme(text: &[u8]) -> usize {
    const SCHEMES: &[&str] = &["bearer ", "basic ", "token ", "digest ", "apikey ", "api-key "];
    let starts =
        |scheme: &&&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()));
    SCHEMES.iter().find(starts).map_or(0, |scheme| scheme.len())
}

/// Shorter values are words of a log more often than secrets.
pub(super) const VALUE_LEAST: usize = 4;

/// Whether an odd number of backslashes stands before a place.
fn is_escaped(text: &[u8], from: usize, at: usize) -> bool {
    let before = text.get(from..at).unwrap_or_default();
    !before.iter().rev().take_while(|byte| **byte == b'\\').count().is_multiple_of(2)
}

/// Where the quote that closes a value stands, or its line ends. An escaped quote belongs to the value.
pub(super) fn closing(text: &[u8], from: usize, quote: u8) -> usize {
    let class = Class::Quoted(quote);
    let mut end = class.end(text, from);
    while text.get(end).is_some_and(|byte| *byte != b'\n') && is_escaped(text, from, end) {
        end = class.end(text, end + 1);
    }
    end
}

fn run(text: &[u8], from: usize, kind: &'static str, class: Class) -> Option<Hit<'static>> {
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
    let elsewhere = class == Class::Value && is_reference(text.get(from..)?);
    let secret = value.len() >= VALUE_LEAST && !elsewhere && !names::is_void(value) && !names::is_count(kind, value);
    secret.then(|| Hit::new(from, end, kind, class))
}
