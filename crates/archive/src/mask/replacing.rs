//! Reads bytes of any size with secrets and names replaced, one window at a time.
//!
//! In:  a reader, a scanner, a way of replacing.  Out: [`Replacing`], a reader of the same bytes, and counts by kind.
//! Not here: finding the texts to replace (see `scan`), files (see `stream`).

use std::borrow::Cow;
use std::io::{self, Read};

use super::hit::Hit;
use super::lexical::Class;
use super::scan::Scanner;
use super::{Tally, count, yaml};

/// Bytes that are read before any are given out.
pub(super) const CHUNK: usize = 1 << 20;
/// Bytes that the longest thing replaced may have, beyond which its class of characters tells where it ends. A variable of the environment
/// can be 128 KiB long (`MAX_ARG_STRLEN` of Linux).
pub(super) const AHEAD: usize = 256 << 10;
/// Bytes looked back at: a name before its value, the program before its option.
const BACK: usize = 1 << 10;

/// The replacement of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A word that says what it was.
    Tag,
    /// The same, and as many ends of lines as there were.
    Lines,
    /// As many `*`, secrets only: the lengths inside a binary file must stay true.
    Blot,
}

/// See the module. Memory does not grow with what is read.
pub(super) struct Replacing<'s, R> {
    input: R,
    scanner: &'s Scanner,
    way: Way,
    window: Vec<u8>,
    /// Place in the window up to which all was given out.
    at: usize,
    more: bool,
    /// The rest of a secret that reached the end of the window, and its kind.
    open: Option<(Class, &'static str)>,
    /// Ends of lines that secrets had. They follow before the next one that stays, so that a text in quotes keeps its quotes on one line.
    owed: usize,
    pub ready: Vec<u8>,
    given: usize,
    tally: Tally,
}

impl<'s, R: Read> Replacing<'s, R> {
    pub(super) fn new(scanner: &'s Scanner, way: Way, input: R) -> Self {
        let (window, ready, tally) = (Vec::new(), Vec::new(), Tally::new());
        Self { input, scanner, way, window, at: 0, more: true, open: None, owed: 0, ready, given: 0, tally }
    }

    /// What was read from, and how often something was replaced.
    pub(super) fn into_parts(self) -> (R, Tally) {
        (self.input, self.tally)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        let wanted = CHUNK + AHEAD;
        self.more = self.input.by_ref().take(wanted as u64).read_to_end(&mut self.window)? == wanted;
        let window = std::mem::take(&mut self.window);
        let limit = if self.more { window.len().saturating_sub(AHEAD) } else { window.len() };
        if let Some((class, kind)) = self.open.take() {
            let hit = match class {
                Class::Lines(column) => yaml::rest(&window, self.at, column, kind),
                _ => Hit { with: Cow::default(), ..Hit::new(self.at, class.end(&window, self.at), kind, class) },
            };
            self.put(&window, &hit);
        }
        while let Some(hit) = self.scanner.next(&window, self.at, limit) {
            self.keep(window.get(self.at..hit.start).unwrap_or_default());
            if self.way != Way::Blot || hit.secret {
                count(&mut self.tally, hit.kind);
            }
            self.put(&window, &hit);
        }
        if self.at < limit {
            self.keep(window.get(self.at..limit).unwrap_or_default());
            self.at = limit;
        }
        // A secret may go on for gigabytes.
        if !self.more || self.owed > CHUNK {
            self.settle();
        }
        let drop = self.at.saturating_sub(BACK);
        self.at -= drop;
        self.window = window;
        self.window.drain(..drop);
        Ok(())
    }

    /// Replaces, and goes on behind it. More of it may follow in the next window.
    fn put(&mut self, window: &[u8], hit: &Hit<'_>) {
        let old = window.get(hit.start..hit.end).unwrap_or_default();
        match self.way {
            Way::Blot if hit.secret => self.ready.resize(self.ready.len() + old.len(), b'*'),
            Way::Blot => self.ready.extend_from_slice(old),
            Way::Tag => self.ready.extend_from_slice(&hit.with),
            Way::Lines => {
                self.ready.extend_from_slice(&hit.with);
                self.owed += line_ends(old).saturating_sub(line_ends(&hit.with));
            }
        }
        self.at = hit.end;
        // Behind the last line of several there may be blanks.
        let reaches = |class: &Class| matches!(class, Class::Lines(_)) || hit.end == window.len();
        self.open = hit.open.filter(|class| self.more && reaches(class)).map(|class| (class, hit.kind));
        if self.open.is_some() {
            self.keep(window.get(hit.end..).unwrap_or_default());
            self.at = window.len();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).filter(|_| self.owed > 0);
        let (line, rest) = bytes.split_at(end.unwrap_or(0));
        self.ready.extend_from_slice(line);
        if end.is_some() {
            self.settle();
        }
        self.ready.extend_from_slice(rest);
    }

    /// Gives out the ends of lines that are owed.
    fn settle(&mut self) {
        let owed = std::mem::take(&mut self.owed);
        self.ready.resize(self.ready.len() + owed, b'\n');
    }
}

impl<R: Read> Read for Replacing<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() && self.more {
            self.fill()?;
        }
        let rest = self.ready.get(self.given..).unwrap_or_default();
        let length = rest.len().min(into.len());
        into.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        self.given += length;
        Ok(length)
    }
}

/// Ends of lines: LF, CR, or both together.
pub(super) fn line_ends(bytes: &[u8]) -> usize {
    let pairs = bytes.windows(2).filter(|pair| *pair == b"\r\n").count();
    bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() - pairs
}
