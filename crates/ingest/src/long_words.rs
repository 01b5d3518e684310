//! A JSON document that is too large to be held, without its long words.
//!
//! In:  the bytes of a document.  Out: the same document, each string longer than [`LONG`] cut to its beginning.
//! Not here: its meaning.
//!
//! Detailed results keep every prompt and every answer. Nothing is ever taken from those, and no figure, label or key is as long. So most of
//! a file of gigabytes need not be held. A string is cut and not emptied: a text that is not empty marks an error.

use std::io::{self, BufRead};

/// Longest string that is kept as it is.
const LONG: usize = 256;
/// Limit for the kept part of a longer one.
const KEPT: usize = 64;

/// Reads a document to its end. `None` when more than `limit` bytes are left of it, or where it is no document.
pub(super) fn read(input: &mut dyn BufRead, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut cut = Cut::default();
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(Some(cut.out));
        }
        // A file that was made longer than what was written into it ends in a hole.
        if memchr::memchr(0, bytes).is_some() {
            return Ok(None);
        }
        cut.take(bytes);
        let passed = bytes.len();
        input.consume(passed);
        if cut.out.len() > limit {
            return Ok(None);
        }
    }
}

#[derive(Default)]
struct Cut {
    out: Vec<u8>,
    /// Where in `out` the string that is open began.
    word: Option<usize>,
    /// The next byte belongs to an escape.
    escaped: bool,
}

impl Cut {
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first() {
            let Some(start) = self.word else {
                let end = memchr::memchr(b'"', bytes).map_or(bytes.len(), |place| place + 1);
                let (plain, rest) = bytes.split_at(end);
                self.out.extend(plain);
                self.word = plain.ends_with(b"\"").then_some(self.out.len());
                bytes = rest;
                continue;
            };
            if self.escaped {
                self.escaped = false;
                self.put(start, &[*first]);
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
            let (inside, rest) = bytes.split_at(end);
            self.put(start, inside);
            match rest.split_first() {
                Some((b'"', rest)) => {
                    self.close(start);
                    bytes = rest;
                }
                Some((_, rest)) => {
                    self.put(start, b"\\");
                    self.escaped = true;
                    bytes = rest;
                }
                None => return,
            }
        }
    }

    /// Adds to a string that is not yet too long.
    fn put(&mut self, start: usize, bytes: &[u8]) {
        let room = (start + LONG + 1).saturating_sub(self.out.len());
        self.out.extend(bytes.iter().take(room));
    }

    fn close(&mut self, start: usize) {
        if self.out.len() > start + LONG {
            let kept = self.out.get(start..).map_or(0, whole);
            self.out.truncate(start + kept);
        }
        self.out.push(b'"');
        self.word = None;
    }
}

/// Bytes of the beginning of a string that end neither within an escape nor within a letter.
fn whole(word: &[u8]) -> usize {
    let mut end = 0;
    loop {
        let rest = word.get(end..).unwrap_or_default();
        let step = match rest {
            // The first half of a pair is before the second.
            [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B', ..] => 12,
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            [first, ..] if *first < 0x80 => 1,
            [_, more @ ..] => 1 + more.iter().take_while(|byte| **byte & 0xc0 == 0x80).count(),
            [] => return end,
        };
        if end + step > KEPT {
            return end;
        }
        end += step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, partial: usize) -> String {
        let mut input = io::BufReader::with_capacity(partial, text.as_bytes());
        String::from_utf8(read(&mut input, 1 << 20).unwrap().unwrap()).unwrap()
    }

    #[test]
    fn long_words_are_cut_and_all_else_stays() {
        let long = "x".repeat(300);
        let plain = format!("{{\"a\": [1.5, \"it \\\"is\\\" \\\\\", \"{}\"],\n \"b\": \"\"}}", "y".repeat(LONG));
        for partial in [1, 2, 7, 4096] {
            assert_eq!(cut(&plain, partial), plain);
            let text = format!("[\"{long}\", 2,\n\"{long}\\\"\"]");
            assert_eq!(cut(&text, partial), format!("[\"{0}\", 2,\n\"{0}\"]", "x".repeat(KEPT)));
        }
    }

    #[test]
    fn no_escape_and_no_letter_is_cut_in_two() {
        for unit in ["é", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\\\", "\\\"", "x\u{1f600}"] {
            for before in 0..8 {
                let text = format!("[\"{}{}\"]", "z".repeat(before), unit.repeat(300));
                let short = cut(&text, 5);
                assert!(short.len() <= KEPT + 4 && short.len() > KEPT / 2, "{short}");
                assert!(serde_json::from_str::<serde_json::Value>(&short).is_ok(), "{short}");
            }
        }
    }

    #[test]
    fn a_document_of_many_short_words_ends_at_the_limit() {
        let text = "[\"ab\", ".repeat(100);
        assert!(read(&mut text.as_bytes(), 50).unwrap().is_none());
        assert!(read(&mut &b"[1, \0"[..], 50).unwrap().is_none());
        assert_eq!(cut("[\"open", 3), "[\"open");
    }
}
