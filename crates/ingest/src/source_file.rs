//! A file as a format sees it: its head, then its bytes.
//!
//! In:  any reader.  Out: [`Head`] and [`SourceFile`].
//! Not here: which format reads it (see `look`).

use std::cell::OnceCell;
use std::io::{self, BufRead, BufReader, Read as _};

use super::at::At;
use super::figure::Figure;
use super::outline::Outline;
use super::{long_words, toml_file};
use sparkbench_archive::{Found, HEAD_BYTES, LINE_LIMIT, Lines, WHOLE_LIMIT};
use sparkbench_model::{Origin, Reading};
use sparkbench_text::error::Error;

/// Longest line of a JSON Lines file: one request with the arrival times of some 50,000 tokens.
pub(super) const JSON_LINE_LIMIT: usize = 1 << 20;

/// Name and first bytes of a file.
#[derive(Debug)]
pub struct Head<'a> {
    /// Last part of the path.
    pub name: &'a str,
    /// First bytes as text, without a byte order mark. Invalid bytes replaced.
    pub text: &'a str,
    /// Size of the whole file. Of a packed one, its packed size.
    pub bytes: u64,
    outline: OnceCell<Option<Outline<'a>>>,
}

/// Longest first line that may be the header of a table: some thousand columns.
const HEADER_BYTES: usize = 64 << 10;

/// Bytes in which a file that is no text shows it.
const TEXT_BYTES: usize = 16 << 10;

impl<'a> Head<'a> {
    /// A head of these parts.
    pub const fn new(name: &'a str, text: &'a str, bytes: u64) -> Self {
        Self { name, text, bytes, outline: OnceCell::new() }
    }

    /// Which keys lie where, when the text opens an object or a list. Made once.
    pub fn outline(&self) -> Option<&Outline<'a>> {
        self.outline.get_or_init(|| Outline::of(self.text)).as_ref()
    }

    /// The outline of a file that is one object, or JSON Lines of objects.
    pub fn object(&self) -> Option<&Outline<'a>> {
        self.outline().filter(|outline| outline.is_map())
    }

    /// The outline of the first item of a file that is a list.
    pub fn list(&self) -> Option<&Outline<'a>> {
        self.outline().filter(|outline| outline.is_list())
    }

    /// True when the head is text: no zero bytes where every format would have some. Further on a log may hold what a program printed by
    /// mistake.
    pub fn is_text(&self) -> bool {
        !self.text.is_empty() && !self.text.bytes().take(TEXT_BYTES).any(|byte| byte == 0)
    }

    /// True when the first character that is no blank opens an object.
    pub fn is_object(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// True when every one of the keys is in the head, in quotes.
    pub fn has_keys(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.text.contains(&format!("\"{key}\"")))
    }

    /// Cells of the first line that is no comment and not empty, trimmed and without quotes.
    pub fn header(&self) -> Vec<&str> {
        let first = self.text.get(..HEADER_BYTES).unwrap_or(self.text);
        // The line of a JSON document without line ends is no header. Otherwise every table format would split it again.
        if self.text.len() > HEADER_BYTES && memchr::memchr2(b'\n', b'\r', first.as_bytes()).is_none() {
            return Vec::new();
        }
        let line = self.text.split(['\n', '\r']).find(|line| !line.trim().is_empty() && !line.starts_with('#'));
        line.map_or_else(Vec::new, |line| line.split(',').map(|cell| cell.trim().trim_matches('"')).collect())
    }
}

/// A file as a format reads it: a stream, held whole only on request and only below [`WHOLE_LIMIT`].
pub struct SourceFile<'a> {
    /// Path as the analysis spells it.
    pub path: &'a str,
    /// Size in bytes.
    pub bytes: u64,
    /// Its lines are those of a person who writes about something, as far as somebody looked.
    pub(super) is_prose: bool,
    pub(super) input: &'a mut dyn BufRead,
}

impl<'a> SourceFile<'a> {
    /// A file of this path and size behind a reader.
    pub fn new(path: &'a str, bytes: u64, input: &'a mut dyn BufRead) -> Self {
        Self { path, bytes, is_prose: false, input }
    }

    /// Last part of the path, without the ending of a packed file.
    pub fn name(&self) -> &'a str {
        let name = self.path.rsplit_once('/').map_or(self.path, |(_, name)| name);
        name.strip_suffix(".gz").unwrap_or(name)
    }

    /// Some bytes from the beginning, which are still to be read.
    ///
    /// # Errors
    /// Whatever the reader reports.
    pub fn beginning(&mut self) -> Result<&[u8], Error> {
        self.input.fill_buf().map_err(unreadable)
    }

    /// The whole file as it is.
    ///
    /// # Errors
    /// Above the limit, and whatever the reader reports.
    pub fn all_bytes(&mut self) -> Result<Vec<u8>, Error> {
        // Of a packed file this is the packed size, and only a beginning.
        let mut bytes = Vec::with_capacity(usize::try_from(self.bytes.min(WHOLE_LIMIT)).unwrap_or(0) + 1);
        let read = if self.bytes > WHOLE_LIMIT {
            WHOLE_LIMIT + 1
        } else {
            self.input.take(WHOLE_LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)? as u64
        };
        if read > WHOLE_LIMIT {
            return Err(self.too_large(read));
        }
        Ok(bytes)
    }

    fn too_large(&self, read: u64) -> Error {
        let size = self.bytes.max(read) >> 20;
        Error::archive("the file is too large to be read whole")
            .detail(format!("{size} MiB, and the limit is {} MiB", WHOLE_LIMIT >> 20))
            .hint("split it, or keep one result a file")
    }

    /// The whole file as text, without a byte order mark, invalid bytes replaced by U+FFFD. JSON above the limit comes without its long
    /// words, where that brings it below.
    ///
    /// # Errors
    /// Like [`all_bytes`](Self::all_bytes).
    pub fn text(&mut self) -> Result<String, Error> {
        let large = self.bytes > WHOLE_LIMIT;
        let bytes = if large && matches!(self.beginning()?.trim_ascii_start(), [b'{' | b'[', ..]) {
            let read = long_words::read(&mut *self.input, WHOLE_LIMIT).map_err(unreadable)?;
            read.ok_or_else(|| self.too_large(0))?
        } else {
            self.all_bytes()?
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(invalid) => String::from_utf8_lossy(invalid.as_bytes()).into_owned(),
        };
        Ok(match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        })
    }

    /// The whole file as text, without a byte order mark. For files that a person wrote, in which every letter counts.
    ///
    /// # Errors
    /// Like [`all_bytes`](Self::all_bytes), and when it is no UTF-8.
    pub fn utf8(&mut self) -> Result<String, Error> {
        toml_file::utf8(self.all_bytes()?)
    }

    /// The file line by line, each of at most `limit` bytes.
    pub fn lines(&mut self, limit: usize) -> Lines<&mut dyn BufRead> {
        Lines::new(&mut *self.input, limit)
    }

    /// Where a value is.
    pub fn origin(&self, line: Option<u64>, field: Option<String>, rule: &'static str) -> Origin {
        Origin { file: self.path.to_owned(), line, field, rule }
    }

    /// A reading taken from a JSON value.
    pub fn reading(&self, metric: &str, at: &At<'_>, rule: &'static str) -> Result<Reading, Error> {
        let Figure { value, decimals } = at.figure()?;
        let origin = self.origin(Some(at.node.line.into()), Some(at.pointer()), rule);
        Ok(Reading { metric: metric.to_owned(), value, decimals, origin })
    }
}

/// The error for a read that failed half way.
pub(super) fn unreadable(cause: io::Error) -> Error {
    Error::archive("reading stopped").because(cause)
}

/// First bytes of a file packed by gzip.
pub(super) const GZIP: &[u8] = &[0x1f, 0x8b];

/// Gives what is in a file, packed by gzip or not, to `read`.
pub(super) fn unpacked<T>(file: &mut dyn BufRead, read: impl FnOnce(&mut dyn BufRead) -> T) -> T {
    if file.fill_buf().is_ok_and(|start| start.starts_with(GZIP)) {
        read(&mut BufReader::with_capacity(HEAD_BYTES, flate2::bufread::MultiGzDecoder::new(file)))
    } else {
        read(file)
    }
}

/// Gives what is in a discovered file, packed by gzip or not, to `read`.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn opened<T>(found: &Found, read: impl FnOnce(&mut SourceFile<'_>) -> T) -> Result<T, Error> {
    let file = found.open().map_err(|cause| Error::archive(format!("cannot open '{}'", found.path)).because(cause))?;
    let mut input = BufReader::with_capacity(HEAD_BYTES, file);
    Ok(unpacked(&mut input, |text| read(&mut SourceFile::new(&found.path, found.bytes, text))))
}

/// Reads a log: lines of at most [`LINE_LIMIT`] bytes, as text without terminal escapes.
pub(super) fn each_log_line(file: &mut SourceFile<'_>, mut take: impl FnMut(u64, &str)) -> Result<(), Error> {
    let mut lines = file.lines(LINE_LIMIT);
    while let Some(line) = lines.next_line().map_err(unreadable)? {
        let text = String::from_utf8_lossy(line.bytes);
        if text.contains('\u{1b}') {
            take(line.number, &without_escapes(&text));
        } else {
            take(line.number, &text);
        }
    }
    Ok(())
}

/// Drops `ESC [ ... letter`. Engines colour fragments in the middle of a line.
pub(super) fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = match after.strip_prefix('[') {
            Some(code) => {
                code.find(|c: char| ('@'..='~').contains(&c)).and_then(|end| code.get(end + 1..)).unwrap_or_default()
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    #[test]
    fn a_document_above_the_limit_is_read_without_its_long_words() {
        let text = format!("{{\"a\": 1.50, \"generated_texts\": [\"{}\"]}}", "word ".repeat(100));
        let mut input = text.as_bytes();
        let short = SourceFile::new("r.json", WHOLE_LIMIT + 1, &mut input).text().unwrap();
        assert!(short.starts_with("{\"a\": 1.50") && short.len() < 120 && json::parse(&short).is_ok(), "{short}");
        let mut input = text.as_bytes();
        assert_eq!(SourceFile::new("r.json", text.len() as u64, &mut input).text().unwrap(), text);
        let mut input = "a,b\n".as_bytes();
        assert!(SourceFile::new("r.csv", WHOLE_LIMIT + 1, &mut input).text().is_err());
    }

    #[test]
    fn escapes_go_and_text_stays() {
        assert_eq!(without_escapes("\u{1b}[33;20m[TRT]\u{1b}[0m x\u{1b}[K"), "[TRT] x");
        assert_eq!(without_escapes("plain"), "plain");
        assert_eq!(without_escapes("cut \u{1b}[3"), "cut ");
    }
}
