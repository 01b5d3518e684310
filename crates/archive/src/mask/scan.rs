//! Scans bytes once, left to right, for the next text to replace.
//!
//! In:  bytes, a place, known names and values.  Out: [`Hit`].
//! Not here: where the bytes come from and go, what a secret is (see the files beside).

use std::borrow::Cow;

use super::hit::Hit;
use super::lexical::{is_word, word_start};
use super::{command, option, pair, setting, tokens, xml};

/// Bytes known beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    pub bytes: Vec<u8>,
    pub kind: &'static str,
    pub with: Vec<u8>,
    /// Not inside longer words.
    pub whole: bool,
    /// Whatever the case of its letters.
    pub any_case: bool,
    pub secret: bool,
}

/// Everything known beforehand, ordered for looking up.
#[derive(Debug, Clone)]
pub(super) struct Scanner {
    /// Longest first.
    literals: Vec<Literal>,
    /// By first byte, indices into `literals`.
    by_first: Vec<Vec<usize>>,
    /// By byte, whether a look at it is worth it: [`AT_WORD`], [`ANYWHERE`].
    look: [u8; 256],
    /// Whether secrets are found by their shape and by the names before them too.
    shapes: bool,
}

/// Something to be replaced may begin here if a word does.
const AT_WORD: u8 = 1;
/// Something to be replaced may begin here in any case.
const ANYWHERE: u8 = 2;

impl Scanner {
    /// Finds what is known, and secrets by their shape and by the names before them.
    pub(super) fn new(literals: Vec<Literal>) -> Self {
        Self::made(literals, true)
    }

    /// Finds what is known and nothing else.
    pub(super) fn of_literals(literals: Vec<Literal>) -> Self {
        Self::made(literals, false)
    }

    fn made(mut literals: Vec<Literal>, shapes: bool) -> Self {
        literals.retain(|literal| !literal.bytes.is_empty());
        literals.sort_by(|a, b| b.bytes.len().cmp(&a.bytes.len()).then_with(|| a.bytes.cmp(&b.bytes)));
        literals.dedup_by(|a, b| a.bytes == b.bytes);
        let mut by_first = vec![Vec::new(); 256];
        let mut look = [0; 256];
        let mut mark = |byte: u8, how: u8, index: Option<usize>| {
            if let Some(seen) = look.get_mut(usize::from(byte)) {
                *seen |= how;
            }
            if let (Some(index), Some(list)) = (index, by_first.get_mut(usize::from(byte))) {
                list.push(index);
            }
        };
        for (index, literal) in literals.iter().enumerate() {
            let Some(first) = literal.bytes.first().copied() else { continue };
            let how = if literal.whole { AT_WORD } else { ANYWHERE };
            mark(first, how, Some(index));
            let other =
                if first.is_ascii_lowercase() { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() };
            if literal.any_case && other != first {
                mark(other, how, Some(index));
            }
        }
        if shapes {
            tokens::FIRST.iter().for_each(|byte| mark(*byte, AT_WORD, None));
            b"=:-,>".iter().for_each(|byte| mark(*byte, ANYWHERE, None));
        }
        Self { literals, by_first, look, shapes }
    }

    /// Whether nothing is known beforehand.
    pub(super) fn is_empty(&self) -> bool {
        self.literals.is_empty()
    }

    /// The next thing to be replaced whose first sign lies in `from..limit`. Bytes before `from` are looked back at, never replaced.
    pub(super) fn next(&self, text: &[u8], from: usize, limit: usize) -> Option<Hit<'_>> {
        let mut before = from.checked_sub(1).and_then(|before| text.get(before)).copied().unwrap_or(b' ');
        for (at, byte) in text.get(..limit)?.iter().enumerate().skip(from) {
            let how = self.look.get(usize::from(*byte)).copied().unwrap_or(0);
            let behind = std::mem::replace(&mut before, *byte);
            // Most bytes are inside a word. The letters that may end an escape are examined more closely.
            if how == 0 || (how == AT_WORD && is_word(behind) && !matches!(behind, b'n' | b'r' | b't' | b'm' | 0xbf)) {
                continue;
            }
            let hit = self
                .literal(text, at)
                .or_else(|| if self.shapes { tokens::at(text, at).or_else(|| named(text, at)) } else { None });
            // A value that was replaced already may still be seen by looking back.
            if let Some(hit) = hit.filter(|hit| hit.start >= from && hit.end > hit.start) {
                return Some(hit);
            }
        }
        None
    }

    fn literal(&self, text: &[u8], at: usize) -> Option<Hit<'_>> {
        let first = text.get(at)?;
        self.by_first.get(usize::from(*first))?.iter().filter_map(|index| self.literals.get(*index)).find_map(
            |literal| {
                let end = at + literal.bytes.len();
                let here = text.get(at..end)?;
                let same =
                    if literal.any_case { here.eq_ignore_ascii_case(&literal.bytes) } else { here == literal.bytes };
                let whole =
                    !literal.whole || (word_start(text, at) && !text.get(end).is_some_and(|next| is_word(*next)));
                (same && whole).then_some(Hit {
                    start: at,
                    end,
                    kind: literal.kind,
                    with: Cow::Borrowed(literal.with.as_slice()),
                    open: None,
                    secret: literal.secret,
                })
            },
        )
    }
}

/// A value behind the name of a secret: `NAME=VALUE`, `"name": "value"`, `name: value`, `--name value`, `("name", "value")`,
/// `<name>value</name>`.
fn named(text: &[u8], at: usize) -> Option<Hit<'static>> {
    match text.get(at)? {
        b'=' | b':' => setting::behind_name(text, at),
        b'-' => option::behind_option(text, at).or_else(|| command::password(text, at)),
        b',' => pair::in_pair(text, at),
        b'>' => xml::element(text, at),
        _ => None,
    }
}
