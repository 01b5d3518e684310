//! [`Veil`]: secrets that are known, ready to be taken out of texts, JSON, errors and of what is written.
//!
//! In:  scanners of the known values.  Out: the same texts with `***`.
//! Not here: which values are secrets (see `secrets`).

use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::scan::Scanner;
use super::{Secrets, Tally, stream};
use sparkbench_text::error::Error;

/// Least length of a value that is searched for, in bytes.
pub(super) const LEAST: usize = 4;
/// What stands in place of a secret that is shown to people. Archives have `<masked:kind>`.
pub(super) const SHOWN: &str = "***";

/// [`Secrets`], ready to be looked for.
#[derive(Clone)]
pub struct Veil {
    /// For our own words.
    pub(super) ours: Scanner,
    /// For the words of others.
    pub(super) theirs: Scanner,
    /// Values that an excerpt may end in the middle of.
    pub(super) values: Vec<String>,
}

impl Veil {
    /// Whether it takes nothing out.
    pub fn is_empty(&self) -> bool {
        self.theirs.is_empty()
    }

    /// A text of ours without the secrets.
    pub fn text(&self, text: &str) -> String {
        stream::replaced(&self.ours, text, &mut Tally::new())
    }

    /// A text of others without the secrets, plain words among them too. An excerpt may end in the middle of one: that part goes as well.
    pub fn said(&self, text: &str) -> String {
        let text = stream::replaced(&self.theirs, text, &mut Tally::new());
        let uncut = |piece: &str| {
            let body = piece.trim_end_matches(['"', '\'', ')', ' ', '\\']);
            let tail = piece.get(body.len()..).unwrap_or_default();
            match self.cut(body) {
                0 => piece.to_owned(),
                length => format!("{}{SHOWN}{tail}", body.get(..body.len() - length).unwrap_or_default()),
            }
        };
        text.split('…').map(uncut).collect::<Vec<_>>().join("…")
    }

    /// Bytes at the end of a text with which a value begins that goes on behind it. A few letters say little and may be chance.
    fn cut(&self, text: &str) -> usize {
        const TELLING: usize = 8;
        let of = |value: &String| {
            let least = LEAST.max(TELLING.min(value.len() / 2));
            let mut ends = value.char_indices().rev().map(|(at, _)| at).take_while(|at| *at >= least);
            ends.find(|at| value.get(..*at).is_some_and(|head| text.ends_with(head))).unwrap_or(0)
        };
        self.values.iter().map(of).max().unwrap_or(0)
    }

    /// Takes them out of every text of a value. Keys stay.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => fields.iter_mut().for_each(|(_, field)| self.json(field)),
            _ => {}
        }
    }

    /// The error without them.
    #[must_use]
    pub fn error(&self, error: Error) -> Error {
        error.reworded(&|text| self.said(text))
    }

    /// A writer that takes them out of what is written line by line.
    pub fn over<W: Write>(self, out: W) -> Veiled<W> {
        Veiled { veil: self, line: Vec::new(), out }
    }
}

impl Default for Veil {
    fn default() -> Self {
        Secrets::default().veil()
    }
}

impl fmt::Debug for Veil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Veil")
    }
}

/// See [`Veil::over`].
#[derive(Debug)]
pub struct Veiled<W: Write> {
    veil: Veil,
    /// What has no end of a line yet.
    line: Vec<u8>,
    out: W,
}

impl<W: Write> Veiled<W> {
    fn put(&mut self, length: usize) -> io::Result<()> {
        let rest = self.line.split_off(length);
        let line = std::mem::replace(&mut self.line, rest);
        self.out.write_all(self.veil.said(&String::from_utf8_lossy(&line)).as_bytes())
    }
}

impl<W: Write> Write for Veiled<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if let Some(last) = self.line.iter().rposition(|byte| *byte == b'\n') {
            self.put(last + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put(self.line.len())?;
        self.out.flush()
    }
}
