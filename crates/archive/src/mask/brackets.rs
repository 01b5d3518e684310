//! Lists and mappings in brackets whose texts need no quotes: `passwords: [a, b]` of YAML, `passwords=[a, b]` of Java, `{ann: x, bob: y}`.
//!
//! In:  bytes, the place of a bracket, the kind of all in it.  Out: [`Hit`], with every text in its place.
//! Not here: lists and objects of JSON (see `nested`), lists of YAML without brackets (see `yaml`).

use super::hit::Hit;
use super::joined::Joined;
use super::lexical::{closing, colours, lead};
use super::nested::NESTED;
use super::scalar::{inner_closing, inner_quote};

/// Deeper ones are no secrets, and every bracket would be followed to the end of all.
const DEEPEST: usize = 4;

/// What words without quotes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// Texts, as long as they are no sentence.
    Together,
    /// Texts with nothing but a blank between, as Go prints them: `Passwords:[a b c]`.
    Apart,
    /// Names of variables: `api_keys = [first, second]`.
    Variables,
}

/// Words from which on they are a sentence.
const SENTENCE: usize = 3;

/// Every text in brackets for which `is_secret` holds, one by one. `from` is the first bracket. Names of a mapping stay. Of what is no list, such
/// as a sentence behind a bracket that nothing closes, nothing goes.
pub(super) fn in_brackets(
    text: &[u8],
    from: usize,
    kind: &'static str,
    words: Words,
    is_secret: &dyn Fn(&[u8]) -> bool,
) -> Option<Hit<'static>> {
    let inner = text.get(from..text.len().min(from + NESTED))?;
    let mut found = Joined::new(kind);
    let mut open: Vec<u8> = Vec::new();
    // Whether the next text may be a name of a mapping.
    let mut named = false;
    let mut at = 0;
    loop {
        let Some(byte) = inner.get(at) else {
            // A longer list loses as much of it.
            (inner.len() == NESTED && words != Words::Apart).then_some(())?;
            break;
        };
        let rest = inner.get(at..)?;
        at += match *byte {
            b'[' | b'{' if open.len() == DEEPEST => return None,
            b'[' | b'{' => {
                open.push(*byte);
                named = *byte == b'{';
                1
            }
            b']' | b'}' => {
                open.pop();
                if open.is_empty() {
                    break;
                }
                1
            }
            b',' | b';' => {
                named = open.last() == Some(&b'{');
                1
            }
            b':' | b'=' if open.last() == Some(&b'{') => 1,
            b'#' if inner.get(..at).and_then(<[u8]>::last).is_some_and(u8::is_ascii_whitespace) => {
                rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
            }
            0x1b => colours(rest).max(1),
            blank if blank.is_ascii_whitespace() => 1,
            quote @ (b'"' | b'\'') => {
                let end = closing(rest, 1, quote);
                let value = rest.get(1..end).filter(|_| rest.get(end) == Some(&quote))?;
                if !(std::mem::take(&mut named) && is_name(rest, end + 1)) && is_secret(value) {
                    found.add(text, from + at + 1, from + at + end);
                }
                end + 1
            }
            b'\\' if inner_quote(rest).is_some() => {
                // A text in quotes that is in such a text.
                let quote = inner_quote(rest)?;
                let end = inner_closing(rest, quote, quote)?;
                let value = rest.get(quote..end)?;
                if !(std::mem::take(&mut named) && is_name(rest, end + quote)) && is_secret(value) {
                    found.add(text, from + at + quote, from + at + end);
                }
                end + quote
            }
            _ => {
                let value = plain(rest, named);
                let is_name = std::mem::take(&mut named) && is_name(rest, value.len());
                let parts = || value.split(u8::is_ascii_whitespace);
                if words != Words::Apart && parts().count() >= SENTENCE {
                    return None;
                }
                let mut start = from + at;
                for word in parts().filter(|_| !is_name && words != Words::Variables) {
                    if !word.is_empty() && is_secret(word) {
                        found.add(text, start, start + word.len());
                    }
                    start += word.len() + 1;
                }
                value.len().max(1)
            }
        };
    }
    found.hit()
}

/// Whether a text that ends at a place is the name of a member.
fn is_name(text: &[u8], end: usize) -> bool {
    let behind = text.get(end..).unwrap_or_default();
    matches!(behind.get(lead(behind)), Some(b':' | b'='))
}

/// A text without quotes: to the next sign of the brackets, without blanks at its end. A name ends with its colon or its sign too.
fn plain(rest: &[u8], is_name: bool) -> &[u8] {
    let ends = |(at, byte): (usize, &u8)| match byte {
        b',' | b'[' | b']' | b'{' | b'}' | b'\n' | b'\r' | 0x1b => true,
        b':' | b'=' => is_name,
        b'#' => at > 0 && rest.get(at - 1).is_some_and(u8::is_ascii_whitespace),
        _ => false,
    };
    let end = rest.iter().enumerate().position(ends).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default().trim_ascii_end()
}
