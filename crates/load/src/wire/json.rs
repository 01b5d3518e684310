//! JSON text read in place: a cursor that walks objects and arrays and skips unwanted values.
//!
//! In:  the bytes of one JSON text.  Out: keys, string literals as [`Raw`] slices, whole numbers.
//! Not here: which keys matter (see [`super::delta`]).
//!
//! A tree or typed structs of `serde_json` cost an allocation for each string. They also forget the place of a string in the text, which the
//! reader of repeated events ([`super::shape`]) needs. The grammar is that of RFC 8259, depth up to [`DEPTH`], with two allowances. Nothing
//! here may fail because of the text that a model wrote:
//! - Bytes of a string need not be UTF-8. A server that splits a character between two events sends two broken halves. Joined again they are
//!   whole.
//! - An escaped half of a surrogate pair becomes U+FFFD.
//!
//! Tested against `serde_json`: outside these allowances both accept the same texts and read the same values.

use super::raw::Raw;

/// Deepest nesting that is read. Deeper text is refused, as by `serde_json`.
pub(super) const DEPTH: u8 = 127;

/// The text is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bad;

/// Kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    True,
    False,
    Number,
    String,
    Array,
    Object,
}

/// A place in a text.
#[derive(Debug)]
pub(super) struct JsonCursor<'a> {
    text: &'a [u8],
    at: usize,
    depth: u8,
}

impl<'a> JsonCursor<'a> {
    pub(super) const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Where it is, bytes from the start.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// Where the string lies that was read just now, without its quotes.
    pub(super) const fn place(&self, raw: &Raw<'_>) -> (usize, usize) {
        let end = self.at.saturating_sub(1);
        (end.saturating_sub(raw.literal().len()), end)
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    /// Goes over `byte` after white space, if it is there.
    fn takes(&mut self, byte: u8) -> bool {
        self.space();
        let there = self.byte() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// Kind of the value that begins here, after white space.
    pub(super) fn peek(&mut self) -> Result<Kind, Bad> {
        self.space();
        match self.byte() {
            Some(b'n') => Ok(Kind::Null),
            Some(b't') => Ok(Kind::True),
            Some(b'f') => Ok(Kind::False),
            Some(b'"') => Ok(Kind::String),
            Some(b'[') => Ok(Kind::Array),
            Some(b'{') => Ok(Kind::Object),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            _ => Err(Bad),
        }
    }

    /// Nothing may follow but white space.
    pub(super) fn end(&mut self) -> Result<(), Bad> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { Err(Bad) }
    }

    /// A string, which begins here.
    pub(super) fn string(&mut self) -> Result<Raw<'a>, Bad> {
        if !self.takes(b'"') {
            return Err(Bad);
        }
        let rest = self.text.get(self.at..).ok_or(Bad)?;
        let (raw, length) = Raw::scan(rest).ok_or(Bad)?;
        self.at += length + 1;
        Ok(raw)
    }

    /// A string, or nothing for another value, which is skipped.
    pub(super) fn string_or_skip(&mut self) -> Result<Option<Raw<'a>>, Bad> {
        if self.peek()? == Kind::String { self.string().map(Some) } else { self.skip().map(|()| None) }
    }

    /// The value that begins here, unchanged, checked.
    pub(super) fn value(&mut self) -> Result<&'a [u8], Bad> {
        self.space();
        let from = self.at;
        self.skip()?;
        self.text.get(from..self.at).ok_or(Bad)
    }

    /// Goes over a value of any kind.
    pub(super) fn skip(&mut self) -> Result<(), Bad> {
        match self.peek()? {
            Kind::Null => self.word(b"null"),
            Kind::True => self.word(b"true"),
            Kind::False => self.word(b"false"),
            Kind::Number => self.number(),
            Kind::String => self.string().map(|_| ()),
            Kind::Array => self.array(&mut |cursor| cursor.skip()),
            Kind::Object => self.object(&mut |cursor, _| cursor.skip()),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Bad> {
        if !self.text.get(self.at..).ok_or(Bad)?.starts_with(word) {
            return Err(Bad);
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Bad> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(Bad) }
    }

    fn number(&mut self) -> Result<(), Bad> {
        self.at += usize::from(self.byte() == Some(b'-'));
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    /// An array, which begins here. `each` must go over one value.
    pub(super) fn array(&mut self, each: &mut dyn FnMut(&mut Self) -> Result<(), Bad>) -> Result<(), Bad> {
        self.enter(b'[')?;
        if !self.takes(b']') {
            loop {
                each(self)?;
                if !self.takes(b',') {
                    break;
                }
            }
            if !self.takes(b']') {
                return Err(Bad);
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// An object, which begins here. `each` is given the key and must go over one value.
    pub(super) fn object(&mut self, each: &mut dyn FnMut(&mut Self, Raw<'a>) -> Result<(), Bad>) -> Result<(), Bad> {
        self.enter(b'{')?;
        if !self.takes(b'}') {
            loop {
                let key = self.string()?;
                if !self.takes(b':') {
                    return Err(Bad);
                }
                each(self, key)?;
                if !self.takes(b',') {
                    break;
                }
            }
            if !self.takes(b'}') {
                return Err(Bad);
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The fields of an object, or nothing for another value, which is skipped.
    pub(super) fn object_or_skip(
        &mut self,
        each: &mut dyn FnMut(&mut Self, Raw<'a>) -> Result<(), Bad>,
    ) -> Result<(), Bad> {
        if self.peek()? == Kind::Object { self.object(each) } else { self.skip() }
    }

    /// The values of an array, or nothing for another value, which is skipped.
    pub(super) fn array_or_skip(&mut self, each: &mut dyn FnMut(&mut Self) -> Result<(), Bad>) -> Result<(), Bad> {
        if self.peek()? == Kind::Array { self.array(each) } else { self.skip() }
    }

    fn enter(&mut self, bracket: u8) -> Result<(), Bad> {
        if self.depth == DEPTH || !self.takes(bracket) {
            return Err(Bad);
        }
        self.depth += 1;
        Ok(())
    }
}

/// A whole number without sign, fraction or exponent, if it fits.
pub(super) fn whole(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |sum, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        sum.checked_mul(10)?.checked_add(u32::from(digit))
    })
}
