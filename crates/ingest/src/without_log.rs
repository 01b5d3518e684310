//! A result amid the lines of a log: `llama-bench -o jsonl 2>&1 | tee run.jsonl`.
//!
//! In:  the head of a file, its bytes.  Out: where a result may begin, and the same bytes in which the lines of the log are empty.
//! Not here: which format the result is of (see `look`).
//!
//! Lines are emptied and not removed, so every other line keeps its number. A text in JSON has no end of a line inside its strings. So each of
//! its lines begins with a bracket, a quote, a comma, a number or one of five words. A line of a log hardly ever does.

use std::io::{self, BufRead, Read};

use sparkbench_archive::LINE_LIMIT;

/// Places in one head at which a result may begin. Each is shown to all formats.
const MOST: usize = 4;
/// Cells that the header of a table has at least. Prose has commas too.
const CELLS: usize = 4;
/// Longest name in a header.
const NAME: usize = 64;
/// Bytes that tell whether a line is one of JSON.
const START: usize = 256;
/// Bytes that are made ready at once.
const READY: usize = 16 << 10;

/// What the result is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Json,
    /// Rows with this many commas.
    Rows(usize),
}

/// Where a result begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begin {
    /// Lines above it.
    pub above: u64,
    pub written: Written,
}

/// Where results may begin in a text, each with the text from there on.
pub(super) fn begins(text: &str) -> Vec<(Begin, &str)> {
    let mut found = Vec::new();
    let (mut at, mut last) = (0, "");
    for (above, line) in (0..).zip(lines(text.as_bytes())) {
        let rest = text.get(at..).unwrap_or_default();
        at += line.len();
        let line = rest.get(..line.len()).unwrap_or_default();
        let whole = !goes_on(last);
        if whole && opens(line) {
            found.push((Begin { above, written: Written::Json }, rest));
        } else if whole
            && !last.is_empty()
            && let Some(commas) = header(line, rest)
        {
            found.push((Begin { above, written: Written::Rows(commas) }, rest));
        }
        last = Some(line.trim()).filter(|line| !line.is_empty()).unwrap_or(last);
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// Whether what a line is of goes on behind it.
fn goes_on(line: &str) -> bool {
    line.ends_with(['[', '{', '(', ',']) || (is_of_json(line) && !line.is_empty() && !line.ends_with(['}', ']']))
}

/// True for a text that begins with a document of JSON.
pub(super) fn is_json(text: &str) -> bool {
    lines(text.as_bytes())
        .find_map(|line| Some(start(line)).filter(|line| !line.trim().is_empty()))
        .is_some_and(|line| opens(&line))
}

/// Lines with their ends: LF, CRLF or CR.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = match memchr::memchr2(b'\n', b'\r', rest) {
            Some(end) if rest.get(end..).is_some_and(|end| end.starts_with(b"\r\n")) => end + 2,
            Some(end) => end + 1,
            None => rest.len(),
        };
        let (line, behind) = rest.split_at(length);
        rest = behind;
        Some(line)
    })
}

/// The beginning of a line as text.
fn start(line: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(line.get(..START).unwrap_or(line))
}

/// Whether a document may begin in this line: an object, or a list of objects or lists.
fn opens(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim();
    let inner = line.trim_start_matches(|c: char| c == '[' || c.is_whitespace());
    let listed = line.starts_with('[') && inner.is_empty();
    listed || (inner.starts_with('{') && is_of_json(inner))
}

/// Whether a line may be one of a document.
fn is_of_json(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim();
    let line = line.trim_start_matches(|c: char| c == '[' || c.is_whitespace());
    let ends = |rest: &str| rest.trim_start().is_empty() || rest.trim_start().starts_with([',', ']', '}']);
    match line.chars().next() {
        None | Some('"' | ']' | '}' | ',' | ':') => true,
        Some('{') => {
            let inner = line.get(1..).unwrap_or_default().trim_start();
            inner.is_empty() || inner.starts_with(['"', '}'])
        }
        Some('-' | '0'..='9') => {
            ends(line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')))
                || line.strip_prefix("-Infinity").is_some_and(ends)
        }
        Some(_) => {
            ["null", "true", "false", "NaN", "Infinity"].iter().any(|word| line.strip_prefix(word).is_some_and(ends))
        }
    }
}

/// The commas of a line that names columns, where the next line has as many.
fn header(line: &str, rest: &str) -> Option<usize> {
    let is_name = |cell: &str| {
        let cell = cell.trim().trim_matches('"');
        cell.len() <= NAME
            && cell.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && !cell.contains([':', ';', '{', '}', '='])
    };
    let commas = line.matches(',').count();
    if commas + 1 < CELLS || !line.split(',').all(is_name) {
        return None;
    }
    let next = rest.get(line.len()..)?.split(['\n', '\r']).find(|line| !line.trim().is_empty())?;
    (next.matches(',').count() >= commas).then_some(commas)
}

/// Reads a file in which the lines of a log are empty.
pub(super) struct WithoutLog<'r> {
    input: &'r mut dyn BufRead,
    begin: Begin,
    /// Lines so far.
    number: u64,
    /// Whether an object or a list ends in what was kept last.
    closed: bool,
    /// Whether the line that is not at its end is kept.
    open: Option<bool>,
    /// Lines of the log, and the first of them.
    skipped: u64,
    first: u64,
    line: Vec<u8>,
    ready: Vec<u8>,
    given: usize,
}

impl<'r> WithoutLog<'r> {
    pub(super) fn new(input: &'r mut dyn BufRead, begin: Begin) -> Self {
        let (line, ready) = (Vec::new(), Vec::new());
        Self { input, begin, number: 0, closed: true, open: None, skipped: 0, first: 0, line, ready, given: 0 }
    }

    /// Says how many lines were skipped.
    pub(super) fn note(&self) -> Option<String> {
        match self.skipped {
            0 => None,
            1 => Some(format!("line {} is of a log and is skipped", self.first)),
            many => Some(format!("{many} lines of a log are skipped, the first is line {}", self.first)),
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        while self.ready.len() < READY {
            self.line.clear();
            if self.input.take(LINE_LIMIT as u64).read_until(b'\n', &mut self.line)? == 0 {
                break;
            }
            let read = std::mem::take(&mut self.line);
            lines(&read).for_each(|line| self.pass(line));
            self.line = read;
        }
        Ok(())
    }

    /// One line, or a part of a long one.
    fn pass(&mut self, line: &[u8]) {
        let ended = line.ends_with(b"\n") || line.ends_with(b"\r");
        let words = line.trim_ascii();
        let kept = self.open.unwrap_or_else(|| {
            self.number += 1;
            let kept = words.is_empty() || (self.number > self.begin.above && self.is_of_result(line, ended));
            if !kept {
                self.first = if self.skipped == 0 { self.number } else { self.first };
                self.skipped += 1;
            }
            kept
        });
        self.open = (!ended).then_some(kept);
        if kept {
            self.ready.extend_from_slice(line);
            self.closed = words.last().map_or(self.closed, |last| matches!(last, b'}' | b']'));
        } else if ended {
            let end = if line.ends_with(b"\r\n") { 2 } else { 1 };
            self.ready.extend_from_slice(line.get(line.len() - end..).unwrap_or_default());
        }
    }

    fn is_of_result(&self, line: &[u8], ended: bool) -> bool {
        if let Written::Rows(commas) = self.begin.written {
            return line.iter().filter(|byte| **byte == b',').count() >= commas;
        }
        if is_of_json(&start(line)) || (!ended && line.len() >= LINE_LIMIT) {
            return true;
        }
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        // A damaged line of a document is left to its reader, which names it.
        let damaged = text.contains("\":") || text.contains("\" :");
        let value = text.ends_with([',', '"']) || !text.contains(char::is_whitespace);
        damaged || (value && !self.closed)
    }
}

impl Read for WithoutLog<'_> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let length = available.read(target)?;
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for WithoutLog<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.given == self.ready.len() {
            self.fill()?;
        }
        Ok(self.ready.get(self.given..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.given = (self.given + amount).min(self.ready.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, begin: Begin) -> (String, Option<String>) {
        let mut input = io::BufReader::with_capacity(7, text.as_bytes());
        let mut without = WithoutLog::new(&mut input, begin);
        let mut out = String::new();
        without.read_to_string(&mut out).unwrap();
        (out, without.note())
    }

    const JSON: Begin = Begin { above: 0, written: Written::Json };

    #[test]
    fn a_result_begins_behind_the_lines_of_a_log() {
        let of = |text: &str| -> Vec<(u64, Written)> {
            begins(text).into_iter().map(|(begin, _)| (begin.above, begin.written)).collect()
        };
        assert_eq!(of("init: found 1 device\n  Device 0: x\n{\"a\": 1}\n"), [(2, Written::Json)]);
        assert_eq!(of("bar 1\rbar 2\r\n[\n  {\n"), [(2, Written::Json)]);
        assert_eq!(of("\"runs\": [\n{\"a\": 1},\n{\"a\": 2}\n]\n"), [], "a document whose beginning is lost");
        assert_eq!(of("loading, a, b, c\n\nmodel,n,avg_ns,avg_ts\nx,1,2,3\n"), [(2, Written::Rows(3))]);
        assert_eq!(of("[INFO] up\n[1/3] step\n{'a': 1}\n{x}\n[2026-01-01] y\na, b, c, d\nno more\n"), []);
        assert_eq!(of("a,b,c,d\n1,2,3,4\n"), [], "a table that begins at once is one already");
        assert!(is_json("\n {\"a\"") && is_json("[\n") && !is_json("x\n{\"a\": 1}") && !is_json("[INFO] a"));
    }

    #[test]
    fn lines_of_a_log_are_empty_and_all_others_keep_their_number() {
        let log = "load: 3 of 4, done {\n12.5 s for it\n{\"a\": 1,\n \"b\": [true,\n 2.5e-3, null]}\nmain: between\n{\"a\": 2}\ndone\n";
        let (text, note) = read(log, Begin { above: 2, ..JSON });
        assert_eq!(text, "\n\n{\"a\": 1,\n \"b\": [true,\n 2.5e-3, null]}\n\n{\"a\": 2}\n\n");
        assert_eq!(note.as_deref(), Some("4 lines of a log are skipped, the first is line 1"));
        let (text, note) =
            read("x, y\r\na,b,c,d\r\n1,2,3,4\r\nstep\r\n5,6,7,8", Begin { above: 1, written: Written::Rows(3) });
        assert_eq!(text, "\r\na,b,c,d\r\n1,2,3,4\r\n\r\n5,6,7,8");
        assert_eq!(note.as_deref(), Some("2 lines of a log are skipped, the first is line 1"));
        assert_eq!(read("{\"a\": 1}\nsaved it", JSON).1.as_deref(), Some("line 2 is of a log and is skipped"));
    }

    #[test]
    fn damaged_lines_of_a_document_and_long_ones_stay() {
        for text in [
            "{\"a\": [1,\nx2.5,\n3]}\n",
            "{\"a\": 1,\nx\"b\": 2}\n",
            "{\"a\": 1,\nx b\": 2}\n",
            "[\"one\",\nx two\",\n\"three\"]\n",
            "[-1,\n-Infinity,\nNaN\n]",
            "\u{feff}{\"a\": 1}\n\n{\"a\": 2",
            "",
        ] {
            assert_eq!(read(text, JSON), (text.to_owned(), None));
        }
        let long = format!("{{\"a\": \"{}\"}}\nthe end\n", "x ".repeat(LINE_LIMIT));
        let (text, note) = read(&long, JSON);
        assert_eq!(text.len(), long.len() - "the end".len());
        assert_eq!(note.as_deref(), Some("line 2 is of a log and is skipped"));
    }
}
