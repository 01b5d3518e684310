//! Values behind names that are not plain about them: `token`, `key`, `auth`, and `tokens` before a list. They must look drawn.
//!
//! In:  a name before its sign.  Out: [`Hit`].
//! Not here: names that are plain (see `setting`), what looks drawn (see `drawn`).

use super::brackets::in_brackets;
use super::drawn::{is_drawn, is_none_at};
use super::hit::Hit;
use super::lexical::{Class, is_quote};
use super::setting::Setting;
use super::value::{value, wrapped};
use super::{names, tokens, yaml};

/// Bytes behind a name that tell whether its value is drawn.
const JUDGED: usize = 1 << 10;
/// And of a block.
const BLOCK: usize = 64 << 10;

pub(super) fn value_of(setting: &Setting<'_>) -> Option<Hit<'static>> {
    let Setting { text, sign, name, start, .. } = *setting;
    let several = || names::perhaps_of_several(name).map(|kind| (kind, name.strip_suffix(['s', 'S']).unwrap_or(name)));
    let (kind, one) = names::perhaps_in_text(name).map(|kind| (kind, name)).or_else(several)?;
    if setting.is_shouted() && one == name && name.bytes().all(|byte| byte.is_ascii_uppercase()) {
        // `TOKEN=x` of a file of variables.
        return setting.line(kind).or_else(|| value(text, sign + 1, kind, setting.quotes));
    }
    // `block key: 0123...`
    if ["key", "token"].iter().any(|word| one.eq_ignore_ascii_case(word)) && tokens::is_of_models(text, start) {
        return in_address(setting);
    }
    let is_secret = |item: &[u8]| is_drawn(one, item);
    let at = setting.value_start();
    let in_list = || {
        let opened = text.get(at) == Some(&b'[');
        if opened { in_brackets(text, at, kind, setting.words(at), &is_secret) } else { None }
    };
    let listed = setting.below(kind, &is_secret).or_else(in_list);
    if listed.is_some() || one != name {
        return listed;
    }
    drawn(setting, kind).or_else(|| in_address(setting))
}

/// A value that looks drawn.
fn drawn(setting: &Setting<'_>, kind: &'static str) -> Option<Hit<'static>> {
    let Setting { text, sign, name, quotes, .. } = *setting;
    // Its beginning tells whether it is drawn. A run of such names would be read to its end from each of them.
    let near = if yaml::begins_line(text, sign) { text } else { text.get(..text.len().min(sign + 1 + JUDGED))? };
    let drawn = |hit: &Hit<'_>| {
        let value = near.get(hit.start..hit.end.min(hit.start + BLOCK)).unwrap_or_default();
        // The last line of a long block may be cut.
        let whole = if value.len() == BLOCK { value.iter().rposition(|byte| *byte == b'\n') } else { None };
        let value = value.get(..whole.unwrap_or(value.len())).unwrap_or_default();
        let mut lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines.all(|line| line.is_empty() || is_drawn(name, line))
    };
    (!is_none_at(name, near.get(setting.value_start()..)?)).then_some(())?;
    let mut hit = value(near, sign + 1, kind, quotes).filter(drawn)?;
    if let Some(class) = hit.open.filter(|_| hit.end == near.len()) {
        hit.end = class.end(text, hit.end);
    }
    Some(hit)
}

/// The token in a notebook's address: `?token=` and 48 hexadecimal digits. Short words behind it are no secrets.
fn in_address(setting: &Setting<'_>) -> Option<Hit<'static>> {
    const LEAST: usize = 16;
    let Setting { text, sign, name, .. } = *setting;
    let from = sign + 1;
    let rest = text.get(from..)?;
    let is_token = name.eq_ignore_ascii_case("token") && name != "TOKEN" && setting.is(b'=');
    if !is_token || rest.get(wrapped(rest, false)).is_some_and(is_quote) {
        return None;
    }
    let end = Class::Alnum.end(text, from);
    let run = text.get(from..end)?;
    (run.len() >= LEAST && run.iter().any(u8::is_ascii_digit)).then(|| Hit::new(from, end, "token", Class::Alnum))
}
