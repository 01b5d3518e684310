//! Values behind a name and a sign: `NAME=VALUE`, `"name": "value"`, `name: value`, settings of connections.
//!
//! In:  bytes, the place of the sign.  Out: [`Hit`].
//! Not here: pairs and options, the value itself (see `value`), lines of files of variables (see `variables`), names that are not plain
//! about it (see `perhaps`).

use super::brackets::{Words, in_brackets};
use super::drawn::is_drawn;
use super::hit::Hit;
use super::lexical::{Class, NAME, colour_before, in_name, is_quote, lead};
use super::nested::{in_object, is_number, listed};
use super::pair::{above_brace, listed_before};
use super::scalar::{VALUE_LEAST, run};
use super::value::{ALIGNED, begin, gap, value, wrapped};
use super::variables::{in_line, in_lines, is_shouted, line_start};
use super::{names, perhaps, xml, yaml};

/// A name before a sign, which is `=` or `:`.
pub(super) struct Setting<'t> {
    pub text: &'t [u8],
    pub sign: usize,
    pub name: &'t str,
    /// Where the name begins.
    pub start: usize,
    /// Where it ends.
    end: usize,
    /// The quote behind the name, with its backslashes. Empty where there is none.
    pub quotes: &'t str,
    /// `cfg["name"] = "x"`
    is_index: bool,
}

pub(super) fn behind_name(text: &[u8], sign: usize) -> Option<Hit<'static>> {
    let setting = Setting::before(text, sign)?;
    let Setting { name, start, .. } = setting;
    let from = sign + 1;
    if setting.is_index {
        // A program that puts a variable there tells no secret.
        let rest = text.get(from + gap(text.get(from..)?, true, false)..)?;
        rest.get(wrapped(rest, false)).filter(|byte| is_quote(byte))?;
    }
    if name.eq_ignore_ascii_case("pwd") && is_of_connection(text, start, sign) {
        return run(text, from, "password", Class::Value);
    }
    if let Some(kind) = names::in_text(name) {
        let below = || setting.below(kind, &|item| setting.is_plain(kind) || is_drawn("", item));
        return setting.line(kind).or_else(below).or_else(|| setting.value(kind));
    }
    if let Some(hit) = names::of_several(name).and_then(|kind| setting.several(kind)) {
        return Some(hit);
    }
    if OF_MAPPING.iter().any(|word| name.eq_ignore_ascii_case(word)) {
        return setting.member();
    }
    perhaps::value_of(&setting)
}

/// Names of the member that holds the secret of a mapping. Others name its file, its kind or who it is of.
const OF_MAPPING: &[&str] = &["value", "val", "plain", "plaintext", "content", "data"];

impl<'t> Setting<'t> {
    /// The name before a sign.
    fn before(text: &'t [u8], sign: usize) -> Option<Self> {
        /// Backslashes before a quote in a text in quotes that is in such a text again.
        const DEEPEST: usize = 16;
        let mut end = sign;
        loop {
            let behind = end;
            while end > 0 && end + ALIGNED > sign && matches!(text.get(end - 1), Some(b' ' | b'\t')) {
                end -= 1;
            }
            end -= colour_before(text, end);
            if end == behind {
                break;
            }
        }
        let is_index =
            text.get(sign) == Some(&b'=') && matches!(text.get(end.saturating_sub(2)..end), Some([b'"' | b'\'', b']']));
        end -= usize::from(is_index);
        // `"name":`, `'name' =`, `\"name\":`
        let behind = end;
        while end > 0 && end + 4 > behind && matches!(text.get(end - 1), Some(b'"' | b'\'' | b' ' | b'\\')) {
            end -= 1;
        }
        while end > 0 && end + DEEPEST > behind && text.get(end - 1) == Some(&b'\\') {
            end -= 1;
        }
        let quote = text.get(end..behind)?;
        let slashes = quote.iter().take_while(|byte| **byte == b'\\').count();
        let is_quote = quote.get(slashes).is_some_and(|byte| b"\"'".contains(byte));
        let quotes = if is_quote { std::str::from_utf8(quote.get(..=slashes)?).ok()? } else { "" };
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
        Some(Self { text, sign, name, start, end, quotes, is_index })
    }

    pub(super) fn is(&self, sign: u8) -> bool {
        self.text.get(self.sign) == Some(&sign)
    }

    /// Whether it is written as a variable of the environment, right before its `=`.
    pub(super) fn is_shouted(&self) -> bool {
        self.is(b'=') && self.end == self.sign && is_shouted(self.name.as_bytes())
    }

    /// Where its value begins, behind blanks and colours.
    pub(super) fn value_start(&self) -> usize {
        begin(self.text, self.sign + 1, !self.quotes.is_empty(), yaml::begins_line(self.text, self.sign))
    }

    /// The value of a line of a file of variables.
    pub(super) fn line(&self, kind: &'static str) -> Option<Hit<'static>> {
        let Self { text, sign, start, .. } = *self;
        let of_file = self.is(b'=') && self.end == sign && line_start(text, start);
        of_file.then_some(())?;
        in_line(text, sign + 1, kind, self.is_shouted()).or_else(|| in_lines(text, sign + 1, kind))
    }

    /// The items of a list of YAML below the name.
    pub(super) fn below(&self, kind: &'static str, is_secret: &dyn Fn(&[u8]) -> bool) -> Option<Hit<'static>> {
        if self.is(b':') { yaml::list(self.text, self.sign, kind, is_secret) } else { None }
    }

    /// The value of a name that is plain about it, to the end of its line where it goes on there.
    fn value(&self, kind: &'static str) -> Option<Hit<'static>> {
        let Self { text, sign, quotes, .. } = *self;
        let hit = value(text, sign + 1, kind, quotes);
        if !quotes.is_empty() {
            return hit;
        }
        hit.map(|hit| to_line_end(text, sign, hit)).or_else(|| short(text, sign, kind))
    }

    /// Whether the items of a list below the name are secrets whatever they look like. Below `secrets` and names in capitals stand names too.
    fn is_plain(&self, kind: &'static str) -> bool {
        kind == "password" || (matches!(kind, "token" | "key") && !is_shouted(self.name.as_bytes()))
    }

    /// What a list or a mapping holds whose name speaks of several secrets. Without quotes around it the name may head a list of names, as
    /// `secrets` does: what stands there must look drawn then.
    fn several(&self, kind: &'static str) -> Option<Hit<'static>> {
        let Self { text, quotes, .. } = *self;
        let plain = self.is_plain(kind);
        if let Some(hit) = self.below(kind, &|item| plain || is_drawn("", item)) {
            return Some(hit);
        }
        let sure = plain || !quotes.is_empty();
        let at = self.value_start();
        let inner = text.get(at + 1..).unwrap_or_default();
        let first = inner.get(lead(inner));
        match text.get(at)? {
            b'[' if sure && first.is_some_and(is_quote) => listed(text, at + 1, kind, quotes),
            b'{' if sure && quotes.len() == 1 => in_object(text, at, kind),
            b'{' if !plain => None,
            b'[' | b'{' => {
                let one = self.name.strip_suffix(['s', 'S']).unwrap_or(self.name);
                // In JSON a number is a count more often.
                let is_text = |text: &[u8]| quotes.is_empty() || !is_number(text);
                in_brackets(text, at, kind, self.words(at), &|text| is_text(text) && (plain || is_drawn(one, text)))
            }
            _ => None,
        }
    }

    /// What words without quotes are in the brackets at a place: behind `= [` the variables of a program.
    pub(super) fn words(&self, at: usize) -> Words {
        match at - self.sign {
            1 => Words::Apart,
            _ if self.is(b'=') => Words::Variables,
            _ => Words::Together,
        }
    }

    /// The value of a member that says only that it is one. The name beside it tells what it is, the tag or the mapping that it is in.
    fn member(&self) -> Option<Hit<'static>> {
        let Self { text, sign, start, quotes, .. } = *self;
        let of = |name: &str| {
            let plain = names::in_text(name).or_else(|| names::of_several(name));
            match plain {
                Some(kind) => self.value(kind),
                None => {
                    let kind = names::perhaps_in_text(name)?;
                    let drawn = |hit: &Hit<'_>| is_drawn(name, text.get(hit.start..hit.end).unwrap_or_default());
                    value(text, sign + 1, kind, quotes).filter(drawn)
                }
            }
        };
        // A number beside a name is a figure more often, but a password may be one.
        let figure = |hit: &Hit<'_>| hit.kind != "password" && text.get(hit.start..hit.end).is_some_and(is_number);
        let beside = || {
            let is_value = self.name.eq_ignore_ascii_case("value");
            let named = if is_value { listed_before(text, start) } else { None };
            named.and_then(|name| of(&name)).filter(|hit| !figure(hit))
        };
        let in_tag = || {
            let names = if self.is(b'=') { xml::names_of_tag(text, start) } else { Vec::new() };
            names.into_iter().find_map(of)
        };
        let in_mapping = || if self.is(b':') { yaml::above(text, sign).and_then(of) } else { None };
        let in_braces = || above_brace(text, start).and_then(of);
        beside().or_else(in_tag).or_else(in_mapping).or_else(in_braces)
    }
}

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

/// A value of few characters before a sign that belongs to it, where its name begins the line: `password: ab&x`. A sign may come first too.
fn short(text: &[u8], sign: usize, kind: &'static str) -> Option<Hit<'static>> {
    /// More than a short value has, with an escape at its end.
    const NEAR: usize = 4 * VALUE_LEAST;
    let from = begin(text, sign + 1, false, true);
    // A run of such names without a blank would be read to its end from each of them.
    let near = text.get(..text.len().min(from + NEAR))?;
    let end = Class::Value.end(near, from);
    let first = match text.get(from)? {
        b'[' | b'{' => return None,
        b')' | b',' | b';' | b']' | b'}' => true,
        b'\\' => text.get(from + 1).is_some_and(u8::is_ascii_alphanumeric),
        _ => false,
    };
    (end - from < VALUE_LEAST && (end > from || first)).then_some(())?;
    let hit = to_line_end(text, sign, Hit::new(from, end, kind, Class::Value));
    let value = text.get(hit.start..hit.end)?;
    // `yes|no` are words to choose from.
    let says = !value.split(|byte| b",;|".contains(byte)).all(names::is_void);
    (value.len() >= VALUE_LEAST && says && !names::is_count(kind, value)).then_some(hit)
}

/// Without what closes something around a value: brackets, quotes, the end of a line that is escaped, the backslash of one that goes on.
fn without_end(rest: &[u8]) -> &[u8] {
    let mut rest = rest;
    loop {
        let escaped = [&b"\\n"[..], b"\\r", b"\\t", b"\\"].iter().find_map(|escape| rest.strip_suffix(*escape));
        let closed = || rest.split_last().filter(|(last, _)| b"\"'`;,)]}>".contains(last)).map(|(_, before)| before);
        match escaped.or_else(closed) {
            Some(before) => rest = before,
            None => return rest,
        }
    }
}

/// A value without quotes whose name begins the line goes on to the end of the line, where no blank stands in it: `password: a&b`. What
/// closes something around it stays, as do further settings.
fn to_line_end(text: &[u8], sign: usize, hit: Hit<'static>) -> Hit<'static> {
    if hit.open != Some(Class::Value) || !yaml::begins_line(text, sign) {
        return hit;
    }
    let end = Class::Blank.end(text, hit.end);
    let rest = text.get(hit.end..end).unwrap_or_default();
    let tail = without_end(rest).len();
    let behind = text.get(end..).unwrap_or_default();
    let blanks = behind.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    let ends_line = matches!(behind.get(blanks), None | Some(b'\n'));
    let is_name = |part: &[u8]| {
        let name = part.iter().take_while(|byte| in_name(**byte)).count();
        name > 0 && matches!(part.get(name), Some(b'=' | b':'))
    };
    let others = rest.split(|byte| b",;&|".contains(byte)).any(is_name);
    // A colour and a tag end it, and an escape where the line is a text in quotes.
    let escaped = rest.contains(&b'\\') && yaml::begins_quote(text, sign);
    let closed = rest.contains(&0x1b) || escaped || rest.starts_with(b"</");
    if !ends_line || others || closed {
        return hit;
    }
    let open = if tail == rest.len() { Some(Class::Blank) } else { None };
    Hit { end: hit.end + tail, open: if tail == 0 { hit.open } else { open }, ..hit }
}
