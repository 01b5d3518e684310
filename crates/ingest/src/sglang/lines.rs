//! The objects of a file of JSON Lines, also when printed over several lines.
//!
//! In:  a file.  Out: the text of one object after the other, and the number of lines above it.
//! Not here: JSON itself. Brackets are counted only to know where an object ends.

use std::io::BufRead;

use crate::SourceFile;
use crate::source_file::unreadable;
use sparkbench_archive::{Lines, WHOLE_LIMIT};
use sparkbench_text::error::{Error, Place};

/// Longest object: as long as a file that is read whole.
const LONGEST: usize = WHOLE_LIMIT as usize;

/// One object.
pub(super) struct Object<'a> {
    /// Its text, lines ended by LF.
    pub text: &'a str,
    /// Lines of the file above its first.
    pub above: u64,
}

/// Hands out objects one by one. Keeps the memory of the longest.
pub(super) struct Objects<'f> {
    lines: Lines<&'f mut dyn BufRead>,
    text: String,
    above: u64,
    waiting: Option<(String, u64)>,
    depth: i64,
    quoted: bool,
    escaped: bool,
}

impl<'f> Objects<'f> {
    /// Over the lines of a file.
    pub(super) fn new(file: &'f mut SourceFile<'_>) -> Self {
        let lines = file.lines(LONGEST);
        Self { lines, text: String::new(), above: 0, waiting: None, depth: 0, quoted: false, escaped: false }
    }

    /// The next object. None at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Object<'_>>, Error> {
        self.text.clear();
        (self.depth, self.quoted, self.escaped) = (0, false, false);
        if let Some((text, above)) = self.waiting.take() {
            self.above = above;
            self.add(&text);
            if self.depth <= 0 {
                return Ok(self.rest());
            }
        }
        while let Some(line) = self.lines.next_line().map_err(unreadable)? {
            let number = line.number.saturating_sub(1);
            if line.cut {
                let limit = LONGEST >> 20;
                return Err(Error::archive("a line is too long to be read")
                    .at(Place::Line(line.number))
                    .detail(format!("the limit is {limit} MiB"))
                    .hint("keep one run a file, or leave out --output-details"));
            }
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            if self.text.is_empty() && text.trim().is_empty() {
                continue;
            }
            // An object printed over several lines never has another's beginning in its first column: what came before was cut off.
            if !self.text.is_empty() && (text.starts_with("{\"") || self.text.len() + text.len() > LONGEST) {
                self.waiting = Some((text.to_owned(), number));
                return Ok(self.rest());
            }
            if self.text.is_empty() {
                self.above = number;
            }
            self.add(text);
            if self.depth <= 0 {
                return Ok(self.rest());
            }
        }
        Ok(self.rest())
    }

    fn rest(&self) -> Option<Object<'_>> {
        (!self.text.is_empty()).then_some(Object { text: &self.text, above: self.above })
    }

    fn add(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        for byte in line.bytes() {
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                _ if self.quoted => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
        }
        // A text never goes on in the next line.
        (self.quoted, self.escaped) = (false, false);
    }
}
