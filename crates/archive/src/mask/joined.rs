//! Several parts of a text that are replaced as one, with what stands between them.
//!
//! In:  places of the parts, their kind.  Out: [`Hit`], which keeps what stands between.
//! Not here: finding the parts (see `yaml`, `variables`).

use std::borrow::Cow;

use super::hit::{Hit, tag};
use super::names;
use super::scalar::VALUE_LEAST;

/// What is replaced, together with what stands between.
pub(super) struct Joined {
    kind: &'static str,
    start: Option<usize>,
    end: usize,
    with: Vec<u8>,
    /// Bytes of it that say something.
    secret: usize,
}

impl Joined {
    pub(super) const fn new(kind: &'static str) -> Self {
        Self { kind, start: None, end: 0, with: Vec::new(), secret: 0 }
    }

    /// Adds a part, unless it says nothing.
    pub(super) fn add(&mut self, text: &[u8], start: usize, end: usize) {
        let value = text.get(start..end).unwrap_or_default();
        if !names::is_void(value) && !names::is_count(self.kind, value) {
            self.put(text, start, end);
        }
    }

    /// Adds a part, whatever it says.
    pub(super) fn put(&mut self, text: &[u8], start: usize, end: usize) {
        if self.start.is_none() {
            self.start = Some(start);
        } else {
            self.with.extend_from_slice(text.get(self.end..start).unwrap_or_default());
        }
        self.with.extend_from_slice(tag(self.kind).as_bytes());
        self.secret += end - start;
        self.end = end;
    }

    /// Goes on at `start`, where everything up to `end` goes.
    pub(super) fn behind(start: usize, end: usize, kind: &'static str) -> Self {
        Self { start: Some(start), end, ..Self::new(kind) }
    }

    /// All of it, unless it says nothing.
    pub(super) fn hit(self) -> Option<Hit<'static>> {
        let start = self.start.filter(|_| self.secret >= VALUE_LEAST)?;
        Some(self.rest(start))
    }

    /// All of it from a place on, however little.
    pub(super) fn rest(self, start: usize) -> Hit<'static> {
        Hit { with: Cow::Owned(self.with), ..Hit::closed(start, self.end, self.kind) }
    }
}
