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

    /// End of the run that begins at `from`. A backslash ends a value only where it begins an escape.
    pub(super) fn end(self, text: &[u8], from: usize) -> usize {
        let run = |from: usize| {
            let run = text.get(from..).unwrap_or_default().iter().position(|byte| !self.has(*byte));
            run.map_or(text.len(), |length| from + length)
        };
        let mut end = run(from);
        while matches!(self, Self::Value | Self::Cookies)
            && let Some(length) = plain_backslashes(text, end)
        {
            end = run(end + length);
        }
        end
    }
}

/// Length of the backslashes at a place that are letters of a value: `ab\Cd`, and `ab\\Cd` in JSON. Before other letters they begin an
/// escape, such as `\n`.
fn plain_backslashes(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let length = rest.iter().take_while(|byte| **byte == b'\\').count();
    let next = rest.get(length).filter(|_| length > 0)?;
    let hexadecimal = |digits: usize| {
        rest.get(length + 1..length + 1 + digits).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    };
    let is_escape = match next {
        b'u' => hexadecimal(4),
        b'x' => hexadecimal(2),
        // `\/` is a slash in JSON.
        b'/' => false,
        b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'a' | b'e' | b'0'..=b'7' => true,
        next => !next.is_ascii_alphanumeric(),
    };
    (!is_escape).then_some(length)
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
    let Some(before) = at.checked_sub(1).and_then(|before| text.get(before)) else { return true };
    if !is_word(*before) || text.get(..at) == Some(MARK) {
        return true;
    }
    if matches!(before, b'n' | b'r' | b't') && at.checked_sub(2).and_then(|two| text.get(two)) == Some(&b'\\') {
        return true;
    }
    one_colour_before(text, at).is_some()
}

pub(super) const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(super) fn is_quote(byte: &u8) -> bool {
    b"\"'`".contains(byte)
}

/// The beginning of a terminal's colour, as it is and as texts of JSON and of programs have it.
const ESCAPES: &[&[u8]] = &[b"\x1b", b"\\u001b", b"\\u001B", b"\\x1b", b"\\x1B", b"\\033", b"\\e"];
/// Longest code of a colour: `38;2;255;255;255`.
const CODE: usize = 24;

fn in_code(byte: &u8) -> bool {
    byte.is_ascii_digit() || *byte == b';'
}

/// Length of the colours of a terminal that end at `end`: `jq -C` writes two behind a name.
pub(super) fn colour_before(text: &[u8], end: usize) -> usize {
    let mut at = end;
    while let Some(length) = one_colour_before(text, at) {
        at -= length;
    }
    end - at
}

fn one_colour_before(text: &[u8], end: usize) -> Option<usize> {
    let before = text.get(..end)?.strip_suffix(b"m")?;
    let code = before.iter().rev().take(CODE).take_while(|byte| in_code(byte)).count();
    let before = before.get(..before.len() - code)?.strip_suffix(b"[")?;
    let escape = ESCAPES.iter().find(|escape| before.ends_with(escape))?;
    Some(escape.len() + code + 2)
}

/// Length of the colours of a terminal.
pub(super) fn colours(text: &[u8]) -> usize {
    let one = |text: &[u8]| {
        let escape = ESCAPES.iter().find(|escape| text.starts_with(escape))?;
        let rest = text.get(escape.len()..)?.strip_prefix(b"[")?;
        let code = rest.iter().take(CODE).take_while(|byte| in_code(byte)).count();
        (rest.get(code) == Some(&b'm')).then_some(escape.len() + code + 2)
    };
    let mut length = 0;
    while let Some(more) = text.get(length..).and_then(one) {
        length += more;
    }
    length
}

/// Length of white space and colours.
pub(super) fn lead(text: &[u8]) -> usize {
    let mut length = 0;
    loop {
        let rest = text.get(length..).unwrap_or_default();
        let blanks = rest.len() - rest.trim_ascii_start().len();
        let more = blanks + colours(rest.get(blanks..).unwrap_or_default());
        if more == 0 {
            return length;
        }
        length += more;
    }
}

/// Without white space and colours around it.
pub(super) fn bare(text: &[u8]) -> &[u8] {
    let mut text = text.get(lead(text)..).unwrap_or_default();
    loop {
        let end = text.trim_ascii_end().len();
        let end = end - colour_before(text, end);
        if end == text.len() {
            return text;
        }
        text = text.get(..end).unwrap_or_default();
    }
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

/// As [`closing`]. YAML and shells double a single quote that belongs to the value, or go on with the next part of it.
pub(super) fn closing_all(text: &[u8], from: usize, quote: u8) -> usize {
    let mut end = closing(text, from, quote);
    while quote == b'\'' && end > from && text.get(end..end + 2) == Some(b"''".as_slice()) {
        end = closing(text, end + 2, quote);
    }
    end
}

/// First position of `needle`.
pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    memmem::find(text, needle)
}
