//! The signs of a text: words, names, quotes, escapes, the colours of a terminal, classes of characters.
//!
//! In:  bytes and a place in them.  Out: where something ends, and what a byte is.
//! Not here: what is a secret.

use memchr::memmem;

/// Characters that a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters and digits.
    Alnum,
    /// And `_`, `-`.
    Dashed,
    /// Capitals and digits.
    Capital,
    /// And `.`, `~`, `+`, `/`, `=`: RFC 6750.
    Bearer,
    /// The body of a private key in base 64, with line ends, real or escaped.
    Pem,
    /// Anything up to a blank or a quote.
    Value,
    /// Anything up to a blank: the value of a file of variables.
    Blank,
    /// Values of HTTP up to the end of the line or of what quotes it.
    Cookies,
    /// Anything up to a double quote.
    Quoted(u8),
    /// Lines with more blanks before them than so many: a block of YAML, which `yaml::rest` reads.
    Lines(usize),
}

impl Class {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Dashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Bearer => byte.is_ascii_alphanumeric() || b"_-.~+/=".contains(&byte),
            Self::Pem => byte.is_ascii_alphanumeric() || b"+/=\r\n\\ \t:,-".contains(&byte),
            Self::Value => !byte.is_ascii_whitespace() && !b"\"'`,;&)]}<>|\\\0\x1b".contains(&byte),
            Self::Blank => !byte.is_ascii_whitespace() && byte != 0,
            Self::Cookies => !byte.is_ascii_control() && !b"\"'`<>\\".contains(&byte),
            Self::Quoted(quote) => byte != quote && byte != b'\n' && byte != 0,
            Self::Lines(_) => byte != b'\n',
        }
    }

    /// End of the run that begins at `from`.
    pub(super) fn end(self, text: &[u8], from: usize) -> usize {
        let run = text.get(from..).unwrap_or_default().iter().position(|byte| !self.has(*byte));
        run.map_or(text.len(), |length| from + length)
    }
}

/// What a text in UTF-8 may begin with.
pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Longest name looked back at.
pub(super) const NAME: usize = 64;

/// Letters and digits of any script.
pub(super) fn is_word(byte: u8) -> bool {
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

pub(super) const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(super) fn is_quote(byte: &u8) -> bool {
    b"\"'`".contains(byte)
}

/// Length of a terminal's colour that ends at `end`.
pub(super) fn colour_before(text: &[u8], end: usize) -> usize {
    const COLOUR: usize = 12;
    let recent = text.get(end.saturating_sub(COLOUR)..end).unwrap_or_default();
    let escape = recent.iter().rposition(|byte| *byte == 0x1b);
    let code = escape.and_then(|escape| recent.get(escape..)).unwrap_or_default();
    if code.is_empty() || colours(code) < code.len() { 0 } else { code.len() }
}

/// Length of the colours of a terminal.
pub(super) fn colours(text: &[u8]) -> usize {
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

/// Whether an odd number of backslashes stands before a place.
pub(super) fn is_escaped(text: &[u8], from: usize, at: usize) -> bool {
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

/// First position of `needle`.
pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    memmem::find(text, needle)
}
