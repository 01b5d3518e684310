//! JSON as benchmarks write it: bare `NaN` and `Infinity`, a byte order mark, and digits that matter.
//!
//! In:  text.  Out: a tree of [`Node`]s that borrows from it, read through `At`, which knows its JSON pointer.
//! Not here: what a key means.
//!
//! A tree of `serde_json` would forget two needed things: the line of each value, and the digits behind the point. `70.10` and `70.1` round
//! differently. It also refuses the words above. Text in quotes is still left to it.

use std::borrow::Cow;

use super::figure::excerpt;
use super::packed::{self, Packed};
use sparkbench_text::error::{Error, Place};

/// Deepest nesting that is followed: far above every tool's output, far below the stack.
const DEPTH: usize = 96;

/// A value and the line it starts on, counted from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'a> {
    /// Line of its first byte.
    pub line: u32,
    pub kind: Kind<'a>,
}

/// Kind of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind<'a> {
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// The digits as written, or a bare `NaN`, `Infinity`, `-Infinity`.
    Number(&'a str),
    Text(Cow<'a, str>),
    /// In order.
    List(Vec<Node<'a>>),
    /// Finite numbers alone, or lists of them: only of keys that the reader was told (see [`documents`]).
    Packed(Packed),
    /// In order. Of equal keys the last counts.
    Map(Vec<(Cow<'a, str>, Node<'a>)>),
}

/// Reads one document. `what` completes "cannot read 'x' as ...".
///
/// # Errors
/// Names line and column of the first byte that does not fit.
pub(super) fn parse(text: &str) -> Result<Node<'_>, Error> {
    let mut reader = Reader { text, at: 0, line: 1, line_start: 0, packing: &[] };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
        reader.line_start = reader.at;
    }
    reader.space();
    let node = reader.value(0)?;
    reader.space();
    if matches!(reader.peek(), Some(b'{' | b'[')) {
        let detail = "another document begins here: JSON Lines of no known format, or files that were appended";
        return Err(Error::archive("several JSON documents in one file")
            .at(Place::Line(reader.line.into()))
            .detail(detail));
    }
    if reader.at < text.len() {
        return Err(reader.fault("expected the end of the file"));
    }
    Ok(node)
}

/// Reads one document after another, as appended files and JSON Lines hold them. Lines count on through all of them.
///
/// Lists under the keys of `packing`, of the outermost objects, are packed where they hold numbers and nothing else.
///
/// After one that does not parse the next is looked for at the beginning of a line.
pub(super) fn documents<'a>(text: &'a str, packing: &'static [&'static str]) -> Documents<'a> {
    let skipped = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    Documents { reader: Reader { text, at: skipped, line: 1, line_start: skipped, packing } }
}

/// See [`documents`].
pub(super) struct Documents<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<Node<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = &mut self.reader;
        reader.space();
        // A hand-written list has a comma between documents.
        while reader.take(b',') {
            reader.space();
        }
        reader.peek()?;
        let start = (reader.at, reader.line, reader.line_start);
        let node = reader.value(0);
        if node.is_err() {
            // One that lacks its end may have taken the next for its own, so the search begins where it began. The limit of nesting
            // bounds how often a line is read again.
            (reader.at, reader.line, reader.line_start) = start;
            reader.next_line_with(b'{');
        }
        Some(node)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
    packing: &'static [&'static str],
}

/// Depth of the values of an object that is the document, or an item of the list that is.
const OUTERMOST: usize = 1;

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self, expected: &str) -> Error {
        let column = self.text.get(self.line_start..self.at).map_or(0, |part| part.chars().count()) + 1;
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => format!("found '{}'", excerpt(&c.to_string())),
            None => "the file ends here: it was cut off".to_owned(),
        };
        Error::archive("not valid JSON")
            .at(Place::Line(self.line.into()))
            .detail(format!("column {column}: {expected}, {found}"))
    }

    fn space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.line += 1;
                    self.line_start = self.at;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                _ => return,
            }
        }
    }

    /// Goes on to the next line that begins with a byte, or to the end.
    fn next_line_with(&mut self, byte: u8) {
        while self.at < self.text.len() {
            if self.peek() == Some(b'\n') {
                self.at += 1;
                self.line += 1;
                self.line_start = self.at;
                if self.peek() == Some(byte) {
                    return;
                }
            } else {
                self.at += 1;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node<'a>, Error> {
        if depth > DEPTH {
            return Err(self.fault("expected less than 96 levels of nesting"));
        }
        let line = self.line;
        let kind = match self.peek() {
            Some(b'{') => self.map(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"') => Kind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { line, kind })
    }

    fn map(&mut self, depth: usize) -> Result<Kind<'a>, Error> {
        let mut entries = Vec::new();
        self.at += 1;
        self.space();
        if self.take(b'}') {
            return Ok(Kind::Map(entries));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.fault("expected a key in quotes"));
            }
            let key = self.string()?;
            self.space();
            if !self.take(b':') {
                return Err(self.fault("expected ':'"));
            }
            self.space();
            let packed = if depth <= OUTERMOST && self.packing.contains(&key.as_ref()) { self.packed() } else { None };
            let value = match packed {
                Some(node) => node,
                None => self.value(depth + 1)?,
            };
            entries.push((key, value));
            self.space();
            if self.take(b'}') {
                return Ok(Kind::Map(entries));
            }
            if !self.take(b',') {
                return Err(self.fault("expected ',' or '}'"));
            }
            self.space();
        }
    }

    /// A list of numbers here, or nothing and nothing skipped.
    fn packed(&mut self) -> Option<Node<'a>> {
        let packed::Read { list, end, lines, line_start } = packed::read(self.text, self.at)?;
        let node = Node { line: self.line, kind: Kind::Packed(list) };
        self.at = end;
        self.line += lines;
        self.line_start = line_start.unwrap_or(self.line_start);
        Some(node)
    }

    fn list(&mut self, depth: usize) -> Result<Kind<'a>, Error> {
        let mut items = Vec::new();
        self.at += 1;
        self.space();
        if self.take(b']') {
            return Ok(Kind::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.take(b']') {
                return Ok(Kind::List(items));
            }
            if !self.take(b',') {
                return Err(self.fault("expected ',' or ']'"));
            }
            self.space();
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        let start = self.at;
        let mut plain = true;
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let end = memchr::memchr2(b'"', b'\\', rest);
            let before = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            // Without a stop at the first one this is vector work, and there hardly ever is one.
            if before.iter().fold(false, |any, byte| any | (*byte < 0x20)) {
                self.at += before.iter().position(|byte| *byte < 0x20).unwrap_or_default();
                return Err(self.fault("expected the closing quote before a control character"));
            }
            let Some(end) = end else {
                self.at = self.text.len();
                return Err(self.fault("expected a closing quote"));
            };
            self.at += end;
            if self.peek() == Some(b'"') {
                break;
            }
            plain = false;
            // What follows a backslash may be a quote. A cut-off file ends the loop at the next look.
            self.at += 2;
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        if plain {
            return Ok(Cow::Borrowed(quoted.get(1..quoted.len() - 1).unwrap_or_default()));
        }
        serde_json::from_str::<String>(quoted).map(Cow::Owned).map_err(|_| {
            self.at = start;
            self.fault("expected text with valid escapes")
        })
    }

    fn number(&mut self) -> Result<Kind<'a>, Error> {
        let start = self.at;
        self.take(b'-');
        if self.text.get(self.at..).is_some_and(|rest| rest.starts_with("Infinity")) {
            self.at += "Infinity".len();
            return Ok(Kind::Number(self.text.get(start..self.at).unwrap_or_default()));
        }
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let mut valid = whole > 0 && !(leading_zero && whole > 1);
        if self.take(b'.') {
            valid &= self.digits() > 0;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            valid &= self.digits() > 0;
        }
        if !valid {
            return Err(self.fault("expected a number"));
        }
        Ok(Kind::Number(self.text.get(start..self.at).unwrap_or_default()))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn word(&mut self) -> Result<Kind<'a>, Error> {
        let words = [
            ("null", Kind::Null),
            ("true", Kind::Bool(true)),
            ("false", Kind::Bool(false)),
            ("NaN", Kind::Number("NaN")),
            ("Infinity", Kind::Number("Infinity")),
        ];
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (word, kind) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(kind);
            }
        }
        Err(self.fault("expected a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_said_to_be() {
        let error = parse("{\n  \"a\": [1, 2").unwrap_err();
        assert_eq!(
            error.to_string(),
            "not valid JSON\n  where: line 2: column 13: expected ',' or ']', the file ends here: it was cut off"
        );
    }

    #[test]
    fn several_documents_are_called_so() {
        let error = parse("{\"a\": 1}\n{\"a\": 2}\n").unwrap_err().to_string();
        assert!(error.starts_with("several JSON documents in one file\n  where: line 2: another document"), "{error}");
        assert!(parse("{} x").unwrap_err().to_string().contains("expected the end of the file, found 'x'"));
    }

    #[test]
    fn valid_and_invalid_documents_are_told_apart_as_serde_json_does() {
        for text in [
            "null",
            "[]",
            "{}",
            "0",
            "-0.5e+3",
            "\"a\\u00e9\\ud83d\\ude00\\n\"",
            "[1,[2,{\"k\":[]}]]",
            " \t\r\n1 ",
            "{\"a\":1,\"a\":2}",
            "",
            "01",
            "1.",
            "-",
            ".5",
            "1e",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\u{1}\"",
            "nul",
            "tru",
            "[1 2]",
            "1 2",
            "\"abc",
            "\"abc\\",
            "{\"a\":}",
            "+1",
            "'a'",
        ] {
            assert_eq!(parse(text).is_ok(), serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn documents_that_were_appended_are_read_one_by_one_and_a_broken_one_is_passed_over() {
        let text = "\u{feff}{\"a\": 1}\n{\"a\": [2,\n{\"a\":\n 3}{\"a\": 4}\n\n";
        let found: Vec<Option<u32>> = documents(text, &[]).map(|node| node.ok().map(|node| node.line)).collect();
        assert_eq!(found, [Some(1), None, Some(3), Some(4)]);
        assert_eq!(documents(" \n", &[]).count(), 0);
    }

    #[test]
    fn a_packed_list_is_the_list_and_leaves_lines_and_faults_as_they_are() {
        const PACKING: &[&str] = &["a", "b"];
        let first = |text| documents(text, PACKING).next().unwrap();
        let kinds = |text| match first(text).unwrap().kind {
            Kind::Map(entries) => {
                entries.into_iter().map(|(_, node)| (node.line, matches!(node.kind, Kind::Packed(_)))).collect()
            }
            other => vec![(0, matches!(other, Kind::Packed(_)))],
        };
        assert_eq!(kinds("{\"a\": [1,\n2],\n\"c\": [3],\n\"b\": [[4]]}"), [(1, true), (3, false), (4, true)]);
        // A word, another kind of value, a key further in: the tree.
        assert_eq!(kinds("{\"a\": [1, null], \"b\": \"[1]\", \"c\": {\"a\": [1]}}"), [(1, false); 3]);
        for text in ["{\"a\": [1,\n 2", "{\"a\": [1,\n2}", "{\"a\": [1,\n2] \"b\"}", "{\"a\": [01]}"] {
            let plain = documents(text, &[]).next().unwrap().unwrap_err();
            assert_eq!(first(text).unwrap_err().to_string(), plain.to_string());
        }
    }

    #[test]
    fn nesting_without_end_is_refused_not_followed() {
        assert!(parse(&"[".repeat(1 << 20)).is_err());
    }
}
