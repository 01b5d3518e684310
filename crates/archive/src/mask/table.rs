//! Secrets in the columns of a table, CSV and its like, whose first line names them: `user,password`.
//!
//! In:  a reader of a text.  Out: [`WithoutColumns`], which reads the same text without them.
//! Not here: texts whose head stands elsewhere than at their beginning, secrets in cells of other columns (see `scan`).
//!
//! A text is a table when its first line has names alone, the line below has as many cells, and one name is that of a secret. Where
//! it is `token`, `key` or the like, each cell must look drawn.
//! Comments may stand above. Memory does not grow with the text: a cell of any length is read in pieces.
//!
//! Source: RFC 4180 for quotes.

use std::io::{self, Chain, Cursor, Read};

use super::drawn::is_drawn;
use super::hit::tag;
use super::lexical::MARK;
use super::scalar::VALUE_LEAST;
use super::{Tally, count, names};

/// Bytes in which the head and the line below must stand.
const HEAD: usize = 64 << 10;
/// Longest piece of a cell, and longest cell whose quotes count.
const CELL: usize = 64 << 10;
/// Bytes read at once.
const CHUNK: usize = 256 << 10;
const SEPARATORS: &[u8] = b",;\t|";

/// A table with columns of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    separator: u8,
    /// Bytes of the head and of what stands above it.
    head: usize,
    columns: Vec<Column>,
}

/// A column of secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Column {
    /// Its number.
    at: usize,
    kind: &'static str,
    /// A name such as `token` or `key`, which is not plain about it. A cell must look drawn then.
    perhaps: Option<String>,
}

impl Column {
    fn of(at: usize, name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let plain = names::in_text(name).map(|kind| Self { at, kind, perhaps: None });
        plain.or_else(|| Some(Self { at, kind: names::perhaps_in_text(name)?, perhaps: Some(name.to_owned()) }))
    }

    fn is_secret(&self, cell: &[u8]) -> bool {
        cell.len() >= VALUE_LEAST
            && !names::is_void(cell)
            && !names::is_count(self.kind, cell)
            && self.perhaps.as_ref().is_none_or(|name| is_drawn(name, cell))
    }
}

impl Table {
    /// The table that a text is, if it has such columns.
    fn of(text: &[u8]) -> Option<Self> {
        let (mut head, mut first) = (0, &b""[..]);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            head += line.len();
            first = without_end(line.strip_prefix(MARK).unwrap_or(line));
            if !first.trim_ascii().is_empty() && !first.starts_with(b"#") {
                break;
            }
        }
        let below = text.get(head..).filter(|below| !below.is_empty())?;
        SEPARATORS.iter().find_map(|separator| {
            let cells = |text| Cells { text, separator: *separator, at: Some(0) };
            let heads: Vec<&[u8]> = cells(first).collect();
            let named = || heads.iter().map(|head| bare(head)).enumerate();
            // Parts of a sentence have blanks before them and between their words.
            let prose = b",;".contains(separator)
                && heads.iter().any(|head| head.starts_with(b" "))
                && named().any(|(_, name)| name.contains(&b' '));
            let is_table = heads.len() > 1 && !prose && named().all(|(_, name)| is_name(name));
            let columns: Vec<Column> = named().filter_map(|(at, name)| Column::of(at, name)).collect();
            let fits = is_table && !columns.is_empty() && cells(below).count() == heads.len();
            fits.then_some(Self { separator: *separator, head, columns })
        })
    }

    fn column(&self, number: usize) -> Option<&Column> {
        self.columns.iter().find(|column| column.at == number)
    }
}

/// A line without what ends it. Blanks and tabs before that may separate.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Cells of one line.
struct Cells<'t> {
    text: &'t [u8],
    separator: u8,
    at: Option<usize>,
}

impl<'t> Iterator for Cells<'t> {
    type Item = &'t [u8];

    fn next(&mut self) -> Option<&'t [u8]> {
        let rest = self.text.get(self.at?..)?;
        let end = cell_end(rest, self.separator);
        self.at = (rest.get(end) == Some(&self.separator)).then_some(self.at? + end + 1);
        rest.get(..end)
    }
}

/// The bytes that end lines.
fn line_ends(cell: &[u8]) -> impl Iterator<Item = u8> {
    cell.iter().copied().filter(|byte| matches!(byte, b'\n' | b'\r'))
}

/// A cell without blanks and quotes around it.
fn bare(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(cell)
}

/// Whether a cell can be the name of a column: few words, and no sign that stands in sentences and in values. A column of row numbers has no
/// name.
fn is_name(cell: &[u8]) -> bool {
    const LONGEST: usize = 64;
    const BLANKS: usize = 2;
    cell.len() <= LONGEST
        && cell.iter().filter(|byte| **byte == b' ').count() <= BLANKS
        && cell.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80 || b" _-./%()[]#".contains(byte))
        && (cell.is_empty() || !cell.iter().all(u8::is_ascii_digit))
}

/// Where the cell ends that a text begins with: at a separator, at the end of the line, or where the text is cut.
fn cell_end(text: &[u8], separator: u8) -> usize {
    let text = text.get(..CELL).unwrap_or(text);
    let ends = |byte: &u8| *byte == separator || *byte == b'\n';
    let plain = || text.iter().position(ends).unwrap_or(text.len());
    let blanks = text.iter().take_while(|byte| **byte == b' ').count();
    if text.get(blanks) != Some(&b'"') {
        return plain();
    }
    let mut at = blanks + 1;
    while let Some(length) = text.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'"')) {
        at += length + 1;
        if text.get(at) != Some(&b'"') {
            // What stands behind the quote belongs to the cell.
            return at + text.get(at..).and_then(|rest| rest.iter().position(ends)).unwrap_or(text.len() - at);
        }
        at += 1;
    }
    // A quote that nothing closes is a letter like any other.
    plain()
}

/// Reads a table without the secrets in its columns.
pub(super) struct Columns<R> {
    inner: R,
    table: Table,
    /// Read, and not looked at yet.
    raw: Vec<u8>,
    more: bool,
    /// Bytes of the head that are still to come.
    head: usize,
    column: usize,
    /// Of this cell the beginning was replaced, and the rest is to go.
    drops: bool,
    ready: Vec<u8>,
    at: usize,
    /// How often something was replaced.
    tally: Tally,
}

impl<R: Read> Columns<R> {
    fn new(inner: R, table: Table) -> Self {
        let head = table.head;
        let (raw, ready, tally) = (Vec::new(), Vec::new(), Tally::new());
        Self { inner, table, raw, more: true, head, column: 0, drops: false, ready, at: 0, tally }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.at = 0;
        if self.more {
            let wanted = CHUNK + CELL;
            self.more = self.inner.by_ref().take(wanted as u64).read_to_end(&mut self.raw)? == wanted;
        }
        // A cell that begins before the limit is in sight as far as it is looked at.
        let limit = if self.more { self.raw.len().saturating_sub(CELL) } else { self.raw.len() };
        let raw = std::mem::take(&mut self.raw);
        let mut at = self.head.min(limit);
        self.ready.extend_from_slice(raw.get(..at).unwrap_or_default());
        self.head -= at;
        while at < limit {
            let rest = raw.get(at..).unwrap_or_default();
            let end = cell_end(rest, self.table.separator);
            let cell = rest.get(..end).unwrap_or_default();
            let replaced = self.drops || self.cell(cell);
            if self.drops {
                self.ready.extend(line_ends(cell));
            }
            let sign = rest.get(end).filter(|sign| **sign == self.table.separator || **sign == b'\n').copied();
            match sign {
                Some(b'\n') => self.column = 0,
                Some(_) => self.column += 1,
                None => {}
            }
            self.drops = replaced && sign.is_none();
            self.ready.extend(sign);
            at += end + usize::from(sign.is_some());
        }
        self.raw = raw.get(at..).unwrap_or_default().to_vec();
        Ok(())
    }

    /// Whether it was replaced.
    fn cell(&mut self, cell: &[u8]) -> bool {
        let inner = bare(cell);
        let column = self.table.column(self.column).filter(|column| column.is_secret(inner));
        let Some(kind) = column.map(|column| column.kind) else {
            self.ready.extend_from_slice(cell);
            return false;
        };
        // The quotes, the blanks and the ends of lines stay.
        let blanks = cell.len() - cell.trim_ascii_start().len();
        let before = blanks + usize::from(inner.len() < cell.trim_ascii().len());
        self.ready.extend_from_slice(cell.get(..before).unwrap_or_default());
        self.ready.extend_from_slice(tag(kind).as_bytes());
        self.ready.extend(line_ends(inner));
        self.ready.extend_from_slice(cell.get(before + inner.len()..).unwrap_or_default());
        count(&mut self.tally, kind);
        true
    }
}

impl<R: Read> Read for Columns<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.ready.len() && (self.more || !self.raw.is_empty()) {
            self.fill()?;
        }
        let rest = self.ready.get(self.at..).unwrap_or_default();
        let length = rest.len().min(into.len());
        into.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.at += length;
        Ok(length)
    }
}

/// Reads a text. Where it is a table, without the secrets in its columns.
pub(super) enum WithoutColumns<R> {
    Text(Chain<Cursor<Vec<u8>>, R>),
    Table(Columns<Chain<Cursor<Vec<u8>>, R>>),
}

impl<R: Read> WithoutColumns<R> {
    /// Reads the beginning, which tells.
    pub(super) fn new(mut input: R) -> io::Result<Self> {
        let mut head = Vec::new();
        input.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let table = Table::of(&head);
        let text = Cursor::new(head).chain(input);
        Ok(match table {
            Some(table) => Self::Table(Columns::new(text, table)),
            None => Self::Text(text),
        })
    }

    /// How often something was replaced.
    pub(super) fn into_tally(self) -> Tally {
        match self {
            Self::Text(_) => Tally::new(),
            Self::Table(columns) => columns.tally,
        }
    }
}

impl<R: Read> Read for WithoutColumns<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Text(text) => text.read(into),
            Self::Table(columns) => columns.read(into),
        }
    }
}
