//! A string of a JSON text in raw form, and its value.
//!
//! In:  bytes behind an opening quote.  Out: [`Raw`], its length, its text.
//! Not here: everything around strings (see [`super::json`]).
//!
//! Most pieces of an answer are a few plain bytes. So the literal is kept unchanged and eight bytes are checked in one step. Escapes are
//! resolved only where the text is needed. Half a surrogate pair stands for U+FFFD. Bytes that are no UTF-8 stay as they came.

use std::borrow::Cow;

/// A string literal, without its quotes, escapes unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Raw<'a> {
    literal: &'a [u8],
    escaped: bool,
}

const EVERY: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = EVERY << 7;

/// Which of eight bytes is the first that ends the plain run of a string: a quote, a backslash, a control character.
///
/// The usual tests of a word for a zero byte and for a byte below a bound (Hacker's Delight, 6-1). What a borrow falsely marks lies
/// behind a byte that is marked rightly, so the first mark is exact.
const fn first_special(eight: [u8; 8]) -> Option<usize> {
    let word = u64::from_le_bytes(eight);
    let control = word.wrapping_sub(EVERY * 0x20) & !word;
    let quote = word ^ (EVERY * b'"' as u64);
    let backslash = word ^ (EVERY * b'\\' as u64);
    let zero = (quote.wrapping_sub(EVERY) & !quote) | (backslash.wrapping_sub(EVERY) & !backslash);
    match (control | zero) & HIGH {
        0 => None,
        marks => Some(marks.trailing_zeros() as usize / 8),
    }
}

impl<'a> Raw<'a> {
    /// The string whose opening quote lies just before `text`, and the index of its closing quote.
    pub(super) fn scan(text: &'a [u8]) -> Option<(Self, usize)> {
        let mut at = 0;
        let mut escaped = false;
        loop {
            if let Some(eight) = text.get(at..)?.first_chunk::<8>() {
                let Some(plain) = first_special(*eight) else {
                    at += 8;
                    continue;
                };
                at += plain;
            }
            at += match text.get(at)? {
                b'"' => return Some((Self { literal: text.get(..at)?, escaped }, at)),
                b'\\' => {
                    escaped = true;
                    match text.get(at + 1)? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 2,
                        b'u' if text.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => 6,
                        _ => return None,
                    }
                }
                0..=0x1f => return None,
                _ => 1,
            };
        }
    }

    /// The bytes between the quotes, escapes unchanged.
    pub const fn literal(&self) -> &'a [u8] {
        self.literal
    }

    /// Whether there is nothing between the quotes.
    pub const fn is_empty(&self) -> bool {
        self.literal.is_empty()
    }

    /// Whether there are escapes.
    pub(super) const fn escaped(&self) -> bool {
        self.escaped
    }

    /// Bytes of the text once its escapes are resolved.
    pub fn unescaped_len(&self) -> u32 {
        let mut length = self.literal.len();
        if self.escaped {
            length = 0;
            self.pieces(&mut |piece| length += piece.len());
        }
        u32::try_from(length).unwrap_or(u32::MAX)
    }

    /// Appends the text with its escapes resolved. Bytes that are no UTF-8 stay as they came.
    pub fn unescape_into(&self, out: &mut Vec<u8>) {
        if self.escaped {
            self.pieces(&mut |piece| out.extend_from_slice(piece));
        } else {
            out.extend_from_slice(self.literal);
        }
    }

    /// The text with its escapes resolved.
    pub fn bytes(&self) -> Cow<'a, [u8]> {
        if !self.escaped {
            return Cow::Borrowed(self.literal);
        }
        let mut out = Vec::with_capacity(self.literal.len());
        self.unescape_into(&mut out);
        Cow::Owned(out)
    }

    /// The text as a string. What is no UTF-8 becomes U+FFFD.
    pub fn text(&self) -> Cow<'a, str> {
        match self.bytes() {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The pieces that the text consists of.
    fn pieces(&self, on: &mut impl FnMut(&[u8])) {
        let mut rest = self.literal;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            on(&rest[..at]);
            let mut used = 2;
            let plain: &[u8] = match rest.get(at + 1) {
                Some(b'b') => b"\x08",
                Some(b'f') => b"\x0c",
                Some(b'n') => b"\n",
                Some(b'r') => b"\r",
                Some(b't') => b"\t",
                Some(b'u') => {
                    let (character, length) = code_point(&rest[at..]);
                    used = length;
                    on(character.encode_utf8(&mut [0; 4]).as_bytes());
                    b""
                }
                // A quote, a backslash, a slash.
                Some(_) => &rest[at + 1..at + 2],
                None => b"",
            };
            on(plain);
            rest = rest.get(at + used..).unwrap_or_default();
        }
        on(rest);
    }
}

/// The character of the `\u` escape that `text` begins with, or of two that make a pair, and the length of what it took.
fn code_point(text: &[u8]) -> (char, usize) {
    let unit = |from: usize| -> Option<u32> {
        let digits = text.get(from..from + 6)?.strip_prefix(b"\\u")?;
        Some(digits.iter().fold(0, |sum, digit| sum << 4 | (*digit as char).to_digit(16).unwrap_or_default()))
    };
    let first = unit(0).unwrap_or(0xfffd);
    if let (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) = (first, unit(6)) {
        let joined = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}
