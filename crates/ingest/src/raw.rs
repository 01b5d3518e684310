//! A raw file as text to show: the surroundings of every line that a figure was read from, and its end.
//!
//! In:  a stream of bytes, and the lines and JSON pointers that figures name.  Out: [`RawText`], of bounded size whatever the file.
//! Not here: disk, markup, what the lines mean.
//!
//! Lines pass one at a time and only the kept ones stay in memory. So a log of gigabytes costs no more than its excerpt. A JSON document on
//! a single line has no lines to point at. It is written out value by value, one row each, and a pointer is a place.

mod clean;
mod keep;
mod values;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read};

use sparkbench_archive::mask::WithoutSecrets;
use sparkbench_archive::{HEAD_BYTES, Lines, Tally};
use sparkbench_model::{RawText, Shape};

use keep::Keep;

/// Largest JSON document that is held as a tree to find the places of pointers. Of a larger one the lines are shown as they are.
const TREE_LIMIT: u64 = 32 << 20;

/// Longest line of a JSON document that is still shown unchanged when a figure was read from it.
const LONG_LINE: usize = 1_000;

/// Longest part of one line that is read. Far more than is shown.
const LINE_BYTES: usize = 64 << 10;

/// First bytes of a file packed by gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Bytes in which a file that is no text shows it.
const TEXT_BYTES: usize = 16 << 10;

/// Places in a file that figures name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Lines, counted from 1.
    pub lines: BTreeSet<u64>,
    /// JSON pointers.
    pub pointers: BTreeSet<String>,
}

/// Reads a file for showing.
///
/// `None` for a file that is no text.
pub fn read(path: &str, run: &str, bytes: u64, input: impl BufRead, named: &Named) -> Option<RawText> {
    open(path, run, bytes, input, named, None)
}

/// As [`read`], without the secrets of the file, and how often one was replaced in all of it.
///
/// They are replaced before lines are told apart and cut: a secret may stretch over lines, and half of one has no shape of its own.
pub fn read_masked(path: &str, run: &str, bytes: u64, input: impl BufRead, named: &Named) -> Option<(RawText, Tally)> {
    let mut tally = Tally::new();
    let text = open(path, run, bytes, input, named, Some(&mut tally))?;
    Some((text, tally))
}

/// Secrets are replaced where they are to be counted.
fn open(
    path: &str,
    run: &str,
    bytes: u64,
    mut input: impl BufRead,
    named: &Named,
    masked: Option<&mut Tally>,
) -> Option<RawText> {
    let mut text = RawText { file: path.to_owned(), run: run.to_owned(), bytes, ..RawText::default() };
    let mut head = Vec::new();
    if let Err(cause) = input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head) {
        text.stopped = Some(cause.to_string());
        return Some(text);
    }
    text.packed = head.starts_with(GZIP);
    if !text.packed {
        let whole = io::Cursor::new(head.clone()).chain(input);
        return rows(text, &head, bytes, whole, named, masked);
    }
    let mut unpacked =
        BufReader::with_capacity(HEAD_BYTES, flate2::bufread::MultiGzDecoder::new(io::Cursor::new(head).chain(input)));
    let mut inner = Vec::new();
    if let Err(cause) = unpacked.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut inner) {
        text.stopped = Some(cause.to_string());
    }
    let whole = io::Cursor::new(inner.clone()).chain(unpacked);
    // The size of what is in it is not known before it was read.
    rows(text, &inner, 0, whole, named, masked)
}

fn rows(
    mut text: RawText,
    head: &[u8],
    bytes: u64,
    input: impl BufRead,
    named: &Named,
    masked: Option<&mut Tally>,
) -> Option<RawText> {
    if head.iter().take(TEXT_BYTES).any(|byte| *byte == 0) {
        return None;
    }
    let Some(tally) = masked else { return Some(excerpt(text, head, bytes, input, named)) };
    let mut source = UntilFailure { inner: input, failed: None };
    let mut clean = match WithoutSecrets::new(&mut source) {
        Ok(clean) => BufReader::with_capacity(HEAD_BYTES, clean),
        Err(cause) => {
            text.stopped = Some(cause.to_string());
            return Some(text);
        }
    };
    let mut text = excerpt(text, head, bytes, &mut clean, named);
    *tally = clean.into_inner().into_tally();
    text.stopped = text.stopped.or_else(|| source.failed.map(|cause| cause.to_string()));
    Some(text)
}

/// Ends where its input fails. So what was read before is masked and shown like everything else.
struct UntilFailure<R> {
    inner: R,
    failed: Option<io::Error>,
}

impl<R: Read> Read for UntilFailure<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.failed.is_some() {
            return Ok(0);
        }
        match self.inner.read(into) {
            Err(cause) if cause.kind() != io::ErrorKind::Interrupted => {
                self.failed = Some(cause);
                Ok(0)
            }
            read => read,
        }
    }
}

fn excerpt(mut text: RawText, head: &[u8], bytes: u64, mut input: impl BufRead, named: &Named) -> RawText {
    if !named.pointers.is_empty() && bytes <= TREE_LIMIT && opens_document(head) {
        let mut whole = Vec::new();
        match input.by_ref().take(TREE_LIMIT + 1).read_to_end(&mut whole) {
            Ok(_) if whole.len() as u64 <= TREE_LIMIT => {
                document(&mut text, &whole, named);
                return text;
            }
            Ok(_) => lines(&mut text, io::Cursor::new(whole).chain(input), &named.lines),
            Err(cause) => {
                document(&mut text, &whole, named);
                text.stopped = Some(cause.to_string());
            }
        }
        return text;
    }
    lines(&mut text, input, &named.lines);
    text
}

/// A document, not a file with one document a line: those have lines to point at.
fn opens_document(head: &[u8]) -> bool {
    let start = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    matches!(start.first(), Some(b'{' | b'['))
}

fn document(text: &mut RawText, whole: &[u8], named: &Named) {
    let content = str::from_utf8(whole).map_or_else(|_| String::from_utf8_lossy(whole), Cow::Borrowed);
    let Ok(tree) = super::json::parse(&content) else {
        return lines(text, whole, &named.lines);
    };
    let places: BTreeMap<String, u64> =
        named.pointers.iter().filter_map(|pointer| Some((pointer.clone(), values::line(&tree, pointer)?))).collect();
    let distinct: BTreeSet<u64> = places.values().copied().collect();
    let mut lengths = content.split('\n').map(str::len).zip(1_u64..);
    let long = lengths.any(|(length, number)| length > LONG_LINE && distinct.contains(&number));
    if !long && !values::has_texts(&tree) {
        let wanted = named.lines.iter().copied().chain(distinct).collect();
        lines(text, whole, &wanted);
        text.pointers = places;
        return;
    }
    let written = values::rows(&tree);
    text.shape = Shape::Values;
    text.pointers = values::places(&written, &named.pointers);
    let wanted: BTreeSet<u64> = text.pointers.values().copied().collect();
    let mut keep = Keep::new(&wanted);
    for row in written {
        keep.take(row);
    }
    (text.total, text.rows) = keep.finish();
}

fn lines(text: &mut RawText, input: impl BufRead, wanted: &BTreeSet<u64>) {
    let mut keep = Keep::new(wanted);
    let mut reader = Lines::new(input, LINE_BYTES);
    loop {
        match reader.next_line() {
            Ok(Some(line)) => keep.line(line.number, line.bytes, line.cut),
            Ok(None) => break,
            Err(cause) => {
                text.stopped = Some(cause.to_string());
                break;
            }
        }
    }
    (text.total, text.rows) = keep.finish();
}

#[cfg(test)]
#[path = "raw/tests.rs"]
mod tests;
