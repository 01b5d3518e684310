//! A text to replace, and what comes in its place.
//!
//! In:  a place, a kind.  Out: [`Hit`].
//! Not here: finding it.

use std::borrow::Cow;

use super::lexical::Class;

/// Something to be replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit<'a> {
    pub start: usize,
    pub end: usize,
    /// Kind, for the count.
    pub kind: &'static str,
    /// The replacement.
    pub with: Cow<'a, [u8]>,
    /// What more of it would be, where it may go on behind the available bytes.
    pub open: Option<Class>,
    /// A secret, not a name: binary files lose it too.
    pub secret: bool,
}

impl Hit<'static> {
    /// A secret made of one class of characters to its end.
    pub(super) fn new(start: usize, end: usize, kind: &'static str, open: Class) -> Self {
        Self { open: Some(open), ..Self::closed(start, end, kind) }
    }

    /// A secret with an end of its own.
    pub(super) fn closed(start: usize, end: usize, kind: &'static str) -> Self {
        Self { start, end, kind, with: tag(kind).into_bytes().into(), open: None, secret: true }
    }
}

/// The placeholder of a secret.
pub(super) fn tag(kind: &str) -> String {
    format!("<masked:{kind}>")
}
