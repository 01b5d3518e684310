//! The value behind the sign of a name: what stands before it, and what it is.
//!
//! In:  bytes, the place behind a sign, the kind that the name speaks of.  Out: [`Hit`].
//! Not here: names and signs (see `setting`, `pair`, `option`).

use super::hit::Hit;
use super::lexical::{Class, closing, closing_all, colours, find, is_quote};
use super::names;
use super::nested::{in_object, listed};
use super::scalar::{VALUE_LEAST, in_inner_quotes, in_quotes, inner_quote, run, scheme};
use super::yaml;

/// Most blanks of a column of signs or of values.
pub(super) const ALIGNED: usize = 64;

/// Blanks before a value. Behind a name in quotes, as JSON has it, the value may stand on the next line. Values may be `aligned` below each
/// other.
pub(super) fn gap(text: &[u8], quoted: bool, aligned: bool) -> usize {
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

/// Where a value begins behind a sign: behind blanks, as [`gap`] counts them, and colours.
pub(super) fn begin(text: &[u8], from: usize, quoted: bool, aligned: bool) -> usize {
    let rest = |at: usize| text.get(at..).unwrap_or_default();
    let mut at = from + gap(rest(from), quoted, aligned);
    loop {
        match colours(rest(at)) {
            0 => return at,
            length => at += length,
        }
        at += gap(rest(at), quoted, false);
    }
}

/// Length of what stands before the quote of a value: `Some(`, `Secret(`, `(`, `b`. In YAML, `!!str ` and `&anchor ` before any value.
pub(super) fn wrapped(text: &[u8], yaml: bool) -> usize {
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

/// The value that begins at `from`, behind blanks and a quote. `quotes` are those around its name.
pub(super) fn value(text: &[u8], from: usize, kind: &'static str, quotes: &str) -> Option<Hit<'static>> {
    let sign = from.checked_sub(1)?;
    let yaml = text.get(sign) == Some(&b':');
    let begins_line = yaml::begins_line(text, sign);
    let mut from = begin(text, from, !quotes.is_empty(), begins_line);
    from += wrapped(text.get(from..)?, yaml);
    match text.get(from)? {
        b'[' => return listed(text, from + 1, kind, quotes),
        b'{' => return if quotes.len() == 1 { in_object(text, from, kind) } else { None },
        b'|' | b'>' if yaml && begins_line => return yaml::block(text, sign, from + 1, kind),
        b'|' | b'>' => return in_block(text, from + 1, kind),
        _ => {}
    }
    if let Some(quote) = inner_quote(text.get(from..)?) {
        // Inside a text that is itself JSON. The closing quote has as many backslashes.
        return in_inner_quotes(text, from, quote, kind);
    }
    let quote = text.get(from).copied().filter(is_quote);
    if yaml
        && begins_line
        && quote.is_some_and(|quote| text.get(closing_all(text, from + 1, quote)) != Some(&quote))
        && let Some(hit) = yaml::in_quotes(text, sign, from, kind)
    {
        return Some(hit);
    }
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

/// Everything between three quotes and the next three. `from` is behind the first.
fn in_triple(text: &[u8], from: usize, kind: &'static str, quote: u8) -> Option<Hit<'static>> {
    const LONGEST: usize = 16 << 10;
    let inner = text.get(from..text.len().min(from + LONGEST))?;
    let inner = inner.get(..find(inner, &[quote; 3])?)?;
    let first = inner.len() - inner.trim_ascii_start().len();
    let value = inner.trim_ascii();
    let secret = value.len() >= VALUE_LEAST && !names::is_void(value) && !names::is_count(kind, value);
    secret.then(|| Hit::closed(from + first, from + first + value.len(), kind))
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
