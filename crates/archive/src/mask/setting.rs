//! Values behind a name and a sign: `NAME=VALUE`, `"name": "value"`, `name: value`, settings of connections.
//!
//! In:  bytes, the place of the sign.  Out: [`Hit`].
//! Not here: pairs and options, the value itself (see `value`), lines of files of variables (see `variables`).

use super::drawn::is_drawn;
use super::hit::Hit;
use super::lexical::{Class, NAME, colour_before, in_name, is_quote};
use super::nested::{in_object, listed};
use super::pair::listed_before;
use super::scalar::{VALUE_LEAST, run};
use super::value::{ALIGNED, gap, value, wrapped};
use super::variables::{in_line, in_lines, is_shouted, line_start};
use super::{names, tokens, xml, yaml};

pub(super) fn behind_name(text: &[u8], sign: usize) -> Option<Hit<'static>> {
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
        if of_file { in_line(text, from, kind, shouted).or_else(|| in_lines(text, from, kind)) } else { None }
    };
    let below = |kind| if text.get(sign) == Some(&b':') { yaml::list(text, sign, kind) } else { None };
    if let Some(kind) = names::in_text(name) {
        let to_end = |hit| if quotes.is_empty() { to_line_end(text, sign, hit) } else { hit };
        let short = || if quotes.is_empty() { short(text, sign, kind) } else { None };
        let here = || value(text, from, kind, quotes).map(to_end).or_else(short);
        return line(kind).or_else(|| below(kind)).or_else(here);
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
    let found = |hit: &Hit<'_>| text.get(hit.start..hit.end).unwrap_or_default();
    if name.eq_ignore_ascii_case("value") {
        let in_tag = || if text.get(sign) == Some(&b'=') { xml::behind(text, start) } else { None };
        if let Some(kind) = listed_before(text, start).or_else(in_tag) {
            let number = |hit: &Hit<'_>| found(hit).iter().all(|byte| b"0123456789.+-eE".contains(byte));
            return value(text, from, kind, quotes).filter(|hit| !number(hit));
        }
    }
    if OF_MAPPING.iter().any(|word| name.eq_ignore_ascii_case(word)) && text.get(sign) == Some(&b':') {
        let above = yaml::above(text, sign)?;
        if let Some(kind) = names::in_text(above).or_else(|| names::of_several(above)) {
            return value(text, from, kind, quotes).map(|hit| to_line_end(text, sign, hit));
        }
        let kind = names::perhaps_in_text(above)?;
        return value(text, from, kind, quotes).filter(|hit| is_drawn(above, found(hit)));
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
        let value = near.get(hit.start..hit.end.min(hit.start + BLOCK)).unwrap_or_default();
        // The last line of a long block may be cut.
        let whole = if value.len() == BLOCK { value.iter().rposition(|byte| *byte == b'\n') } else { None };
        let value = value.get(..whole.unwrap_or(value.len())).unwrap_or_default();
        let mut lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines.all(|line| line.is_empty() || is_drawn(name, line))
    };
    let mut hit = value(near, from, kind, quotes).filter(drawn)?;
    if let Some(class) = hit.open.filter(|_| hit.end == near.len()) {
        hit.end = class.end(text, hit.end);
    }
    Some(hit)
}

/// Names of the member that holds the secret of a mapping in YAML. Others name its file, its kind or who it is of.
const OF_MAPPING: &[&str] = &["value", "val", "plain", "plaintext", "content", "data"];
/// Bytes behind a name that tell whether its value is drawn.
const JUDGED: usize = 1 << 10;
/// And of a block.
const BLOCK: usize = 64 << 10;

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

/// A value of few characters before a sign that belongs to it, where its name begins the line: `password: ab&x`.
fn short(text: &[u8], sign: usize, kind: &'static str) -> Option<Hit<'static>> {
    let from = sign + 1 + gap(text.get(sign + 1..)?, false, true);
    let end = Class::Value.end(text, from);
    (1..VALUE_LEAST).contains(&(end - from)).then_some(())?;
    let hit = to_line_end(text, sign, Hit::new(from, end, kind, Class::Value));
    let value = text.get(hit.start..hit.end)?;
    // `yes|no` are words to choose from.
    let says = !value.split(|byte| b",;|".contains(byte)).all(names::is_void);
    (value.len() >= VALUE_LEAST && says && !names::is_count(kind, value)).then_some(hit)
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
