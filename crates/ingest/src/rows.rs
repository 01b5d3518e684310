//! Rows of a CSV text, each with the line it really starts on.
//!
//! In:  text.  Out: rows of trimmed cells.
//! Not here: what a cell means.
//!
//! The `csv` crate counts a row from the end of the last one. After CRLF, an empty line or a comment that is a line too early. A message
//! that names the wrong line is worse than one that names none.

use csv::{Reader, ReaderBuilder, StringRecord};

use sparkbench_text::error::{Error, Place};

/// See the module. Lines above the header that start with `#` are comments. Below it they are rows, as a `#` may begin a name. Rows may
/// differ in length.
pub(super) struct Rows<'t> {
    text: &'t str,
    /// Byte at which the header begins.
    start: usize,
    reader: Reader<&'t [u8]>,
    counted: usize,
    line: u64,
}

impl<'t> Rows<'t> {
    /// From the first row, the header included.
    pub(super) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let mut start = 0;
        loop {
            match bytes.get(start) {
                Some(b'\n' | b'\r') => start += 1,
                Some(b'#') => {
                    start += bytes.iter().skip(start).take_while(|byte| !matches!(byte, b'\n' | b'\r')).count()
                }
                _ => break,
            }
        }
        let reader = ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(bytes.get(start..).unwrap_or_default());
        Self { text, start, reader, counted: 0, line: 1 }
    }

    /// Line of the row that the reader would give next.
    fn advance(&mut self) -> u64 {
        let bytes = self.text.as_bytes();
        let read = usize::try_from(self.reader.position().byte()).unwrap_or(usize::MAX);
        let mut at = self.start.saturating_add(read).min(bytes.len());
        while matches!(bytes.get(at), Some(b'\n' | b'\r')) {
            at += 1;
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

/// Refuses a row of another number of cells than its header: they would stand under wrong names.
pub(super) fn fits(line: u64, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    Err(Error::archive("a row is left out")
        .at(Place::Line(line))
        .detail(format!("expected {expected} cells, found {found}")))
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
        assert_eq!(lines, [2, 4, 6, 8, 9]);
        assert_eq!((&*rows[2].1, &*rows[3].1), (&["# d".to_owned()][..], &["2".to_owned(), "3".to_owned()][..]));
    }

    #[test]
    fn only_lines_above_the_header_are_comments() {
        let rows = |text: &str| -> Vec<(u64, String)> {
            Rows::new(text)
                .map(|row| row.map(|(line, row)| (line, row.iter().collect::<Vec<_>>().join("|"))).unwrap())
                .collect()
        };
        let row = |line: u64, cells: &str| (line, cells.to_owned());
        assert_eq!(rows("\n# x\r\n#\n\na,b\n#1,2\n#\n"), [row(5, "a|b"), row(6, "#1|2"), row(7, "#")]);
        assert_eq!(rows("# x\n# y"), []);
        assert_eq!(rows(""), []);
    }
}
