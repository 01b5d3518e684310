//! Whether a value was drawn at random, or written by somebody.
//!
//! In:  a value, the name before it.  Out: yes or no.
//! Not here: names, shapes of known tokens.

use super::lexical::Class;
use super::scalar::scheme;

/// Words and ids of their own making are shorter.
const LEAST: usize = 16;
/// A key of a table is longer than that only where it is drawn.
const OF_KEY: usize = 20;

/// The letters of a drawn value behind a name, and how many there are at least.
fn of_name(name: &str) -> (Class, usize) {
    let is_key = name.len() >= 3 && name.get(name.len() - 3..).is_some_and(|end| end.eq_ignore_ascii_case("key"));
    if is_key { (Class::Alnum, OF_KEY) } else { (Class::Bearer, LEAST) }
}

/// Whether the first letters of a text tell that no drawn value begins there. A quick no for nearly every word.
pub(super) fn is_none_at(name: &str, text: &[u8]) -> bool {
    const NEAR: usize = 256;
    let near = text.get(..NEAR).unwrap_or(text);
    let (class, least) = of_name(name);
    let length = class.end(near, 0);
    let word = near.get(..length).unwrap_or_default();
    let telling = length >= least && word.iter().any(u8::is_ascii_digit);
    match near.get(length) {
        // Quotes, brackets and what a value may begin with elsewhere.
        _ if length == 0 => false,
        // `Some("x")`, `b"x"`.
        Some(b'(' | b'.' | b':' | b'"' | b'\'' | b'`') => false,
        Some(b' ') => !telling && scheme(near) == 0,
        Some(next) => !telling || Class::Value.has(*next),
        None => !telling,
    }
}

/// Whether a value looks drawn at random rather than written: behind names such as `token` and `key`, which stand before words too.
pub(super) fn is_drawn(name: &str, value: &[u8]) -> bool {
    let (class, least) = of_name(name);
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
