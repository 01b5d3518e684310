//! Rows of a CSV text, each with the line it really starts on.
//!
//! In:  text.  Out: rows of trimmed cells.
//! Not here: what a cell means.
//!
//! The `csv` crate counts a row from the end of the last one. After CRLF, an empty line or a comment that is a line too early. A message
//! that names the wrong line is worse than one that names none.

use csv::{Reader, ReaderBuilder, StringRecord};

use crate::error::{Error, Place};

/// See the module. Lines that start with `#` are comments. Rows may differ in length.
pub(super) struct Rows<'t> {
    text: &'t str,
    reader: Reader<&'t [u8]>,
    counted: usize,
    line: u64,
}

impl<'t> Rows<'t> {
    /// From the first row, the header included.
    pub(super) fn new(text: &'t str) -> Self {
        let reader = ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        Self { text, reader, counted: 0, line: 1 }
    }

    /// Line of the row that the reader would give next.
    fn advance(&mut self) -> u64 {
        let bytes = self.text.as_bytes();
        let mut at = usize::try_from(self.reader.position().byte()).unwrap_or(usize::MAX).min(bytes.len());
        loop {
            match bytes.get(at) {
                Some(b'\n' | b'\r') => at += 1,
                Some(b'#') => at += bytes.iter().skip(at).take_while(|byte| !matches!(byte, b'\n' | b'\r')).count(),
                _ => break,
            }
        }
        let passed = bytes.get(self.counted..at).unwrap_or_default();
        let ends = passed.iter().enumerate().filter(|(place, byte)| match byte {
            b'\n' => true,
            // A return before a line feed ends the same line.
            b'\r' => bytes.get(self.counted + place + 1) != Some(&b'\n'),
            _ => false,
        });
        self.line += ends.count() as u64;
        self.counted = self.counted.max(at);
        self.line
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<(u64, StringRecord), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.advance();
        let mut row = StringRecord::new();
        match self.reader.read_record(&mut row) {
            Ok(true) => Some(Ok((line, row))),
            Ok(false) => None,
            Err(cause) => Some(Err(Error::archive("a row is left out").at(Place::Line(line)).because(cause))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_knows_its_line_through_crlf_comments_blanks_and_quoted_breaks() {
        let text = "# c\r\na,b\r\n\r\n1,\"x\r\ny\"\r\n# d\n\n2, 3 \r4,5";
        let rows: Vec<(u64, Vec<String>)> = Rows::new(text)
            .map(|row| row.map(|(line, row)| (line, row.iter().map(str::to_owned).collect())).unwrap())
            .collect();
        let lines: Vec<u64> = rows.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 4, 8, 9]);
        assert_eq!(rows[2].1, ["2", "3"]);
    }
}
