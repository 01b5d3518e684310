//! The shape of an earlier event, used to read the next one of the same shape without parsing it.
//!
//! In:  an event that was parsed, with the places of its [`Hole`]s.  Out: the [`Delta`] of another event, if it differs in the holes alone.
//! Not here: parsing (see [`super::parse`]).
//!
//! The events of an answer differ in the text, in a count, and between answers in `id` and `created`. A shape is one event cut at
//! these places: fixed pieces and holes between them. Another event fits when it has the same pieces, byte for byte, and in each
//! hole a well-formed value of the same type.
//!
//! **Why this is exact.** The parser reads from left to right. Over equal pieces it does the same. At a hole it reads a value of the same
//! type under the same key. It ends behind the value in the same state, and goes on with an equal piece. So both events have the same
//! structure. Their deltas differ at most by the values in the holes, each of which is known:
//! - `id` and `created` are never read.
//! - a count becomes its field of the usage. There is at most one hole for each field, and a count that does not fit does not match.
//! - the text. An event is learnt only if it has one literal of text that is not empty (or two equal ones of reasoning). A new event fits
//!   only if its text is not empty either. So kind and order of the kinds cannot change. Other literals, being empty, are in the pieces.
//! - text in a field that is not known decides the kind by not being empty. That holds for the new event too.
//!
//! Pieces are whole. A string's hole begins behind its opening quote and the next piece begins with its closing quote. After a number's hole
//! comes a byte that cannot be part of a number, because the pieces come from a parsed text. Events with errors are never learnt. A seeded
//! test compares every answer given here with that of the parser, on events damaged at random.

use std::borrow::Cow;

use super::delta::Delta;
use super::json::whole;
use super::raw::Raw;
use crate::order::{ChunkKind, Usage};

/// Most holes of a shape. An event with more is not learnt.
const HOLES: usize = 8;
/// Of these for text in fields that are not known. There is room for the others beside it.
const UNREAD: usize = 2;
/// Longest pieces of a shape together, bytes. Shapes are for the small events of which there are many.
const PIECES: usize = 4 << 10;
/// Shapes kept: the role, reasoning, content, a call of a tool, the end, the usage, and two to spare.
const SHAPES: usize = 8;

/// Content of a hole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Fill {
    /// A string that is not read.
    #[default]
    AnyString,
    /// A whole number that is not read.
    AnyNumber,
    Text,
    /// The same literal once more.
    Twin,
    /// Text in a field that is not known, with at least one letter.
    Unread,
    /// Counts of the usage.
    Input,
    Output,
    Cached,
    Reasoning,
}

/// A place in an event where its like may differ: bytes from `from` to before `to`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hole {
    fill: Fill,
    from: usize,
    to: usize,
}

/// Notes of a parse for a shape.
#[derive(Debug, Default)]
pub(super) struct Notes {
    holes: [Option<Hole>; HOLES],
    count: usize,
    /// Places of the model and the finish reason.
    pub(super) model: Option<(usize, usize)>,
    pub(super) finish: Option<(usize, usize)>,
    /// Something was met that no shape can stand for.
    pub(super) odd: bool,
}

impl Notes {
    /// A hole, in the order of the text.
    pub(super) fn hole(&mut self, fill: Fill, (from, to): (usize, usize)) {
        let several = matches!(fill, Fill::AnyString | Fill::AnyNumber | Fill::Unread);
        if fill == Fill::Unread && self.holes.iter().flatten().filter(|hole| hole.fill == fill).count() >= UNREAD {
            // It stays in its piece.
            return;
        }
        let again = !several && self.holes.iter().flatten().any(|hole| hole.fill == fill);
        match self.holes.get_mut(self.count) {
            Some(place) if !again => *place = Some(Hole { fill, from, to }),
            _ => self.odd = true,
        }
        self.count += 1;
    }
}

/// Shapes of the events read last.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    known: Vec<Shape>,
    /// The one that fitted last.
    recent: usize,
    /// The one to be replaced next.
    oldest: usize,
}

/// An event cut into pieces.
#[derive(Debug, Default)]
struct Shape {
    /// The pieces, one behind the other.
    pieces: Vec<u8>,
    /// For each hole, in order, where the piece before it ends in `pieces`.
    holes: [(usize, Fill); HOLES],
    count: usize,
    kind: ChunkKind,
    choice: bool,
    ids: Option<u32>,
    usage: Option<Usage>,
    model: Option<Fixed>,
    finish: Option<Fixed>,
}

/// A string within a piece.
#[derive(Debug, Clone, Copy)]
struct Fixed {
    /// Number of the piece.
    piece: usize,
    /// From the start of the piece.
    from: usize,
    length: usize,
}

impl Shapes {
    /// Content of an event, if it has a known shape.
    pub(super) fn read<'a>(&mut self, data: &'a [u8]) -> Option<Delta<'a>> {
        if let Some(delta) = self.known.get(self.recent).and_then(|shape| shape.read(data)) {
            return Some(delta);
        }
        for (place, shape) in self.known.iter().enumerate() {
            if place == self.recent {
                continue;
            }
            if let Some(delta) = shape.read(data) {
                self.recent = place;
                return Some(delta);
            }
        }
        None
    }

    /// Remembers an event and what was read in it.
    pub(super) fn learn(&mut self, data: &[u8], notes: &Notes, delta: &Delta<'_>) {
        if notes.odd || data.len() > PIECES + delta.text.literal().len() {
            return;
        }
        let place = if self.known.len() < SHAPES {
            self.known.push(Shape::default());
            self.known.len() - 1
        } else {
            // Not the one that is in use.
            self.oldest = (self.oldest + 1) % SHAPES;
            if self.oldest == self.recent {
                self.oldest = (self.oldest + 1) % SHAPES;
            }
            self.oldest
        };
        if let Some(shape) = self.known.get_mut(place) {
            shape.cut(data, notes, delta);
            self.recent = place;
        }
    }
}

impl Shape {
    fn cut(&mut self, data: &[u8], notes: &Notes, delta: &Delta<'_>) {
        self.pieces.clear();
        (self.kind, self.choice, self.ids, self.usage) = (delta.kind, delta.choice, delta.ids, delta.usage);
        (self.model, self.finish, self.count) = (None, None, 0);
        let mut from = 0;
        for hole in notes.holes.iter().flatten() {
            self.piece(data, from, hole.from, notes);
            if let Some(place) = self.holes.get_mut(self.count) {
                *place = (self.pieces.len(), hole.fill);
            }
            self.count += 1;
            from = hole.to;
        }
        self.piece(data, from, data.len(), notes);
    }

    fn piece(&mut self, data: &[u8], from: usize, to: usize, notes: &Notes) {
        self.pieces.extend_from_slice(data.get(from..to).unwrap_or_default());
        let within = |place: Option<(usize, usize)>| {
            let (begin, end) = place.filter(|(begin, end)| from <= *begin && *end <= to)?;
            Some(Fixed { piece: self.count, from: begin - from, length: end - begin })
        };
        let (model, finish) = (within(notes.model), within(notes.finish));
        (self.model, self.finish) = (self.model.or(model), self.finish.or(finish));
    }

    /// Content of an event of this shape.
    fn read<'a>(&self, data: &'a [u8]) -> Option<Delta<'a>> {
        let mut rest = data;
        let mut from = 0;
        let mut begins = [data; HOLES + 1];
        let mut delta =
            Delta { choice: self.choice, kind: self.kind, ids: self.ids, usage: self.usage, ..Delta::default() };
        for (number, (to, fill)) in self.holes.iter().enumerate().take(self.count) {
            begins[number] = rest;
            rest = rest.strip_prefix(self.pieces.get(from..*to)?)?;
            from = *to;
            let end = match fill {
                Fill::AnyString => Raw::scan(rest)?.1,
                Fill::Text => {
                    let (text, end) = Raw::scan(rest)?;
                    delta.text = text;
                    delta.text_bytes = text.unescaped_len();
                    end
                }
                Fill::Unread => Raw::scan(rest).filter(|(text, _)| !text.is_empty())?.1,
                Fill::Twin => {
                    let text = delta.text.literal();
                    rest.starts_with(text).then_some(text.len())?
                }
                Fill::AnyNumber => digits(rest)?.len(),
                Fill::Input | Fill::Output | Fill::Cached | Fill::Reasoning => {
                    let digits = digits(rest)?;
                    let count = Some(whole(digits)?);
                    let usage = delta.usage.as_mut()?;
                    match fill {
                        Fill::Input => usage.input = count,
                        Fill::Output => usage.output = count,
                        Fill::Cached => usage.cached = count,
                        _ => usage.reasoning = count,
                    }
                    digits.len()
                }
            };
            rest = rest.get(end..)?;
        }
        *begins.get_mut(self.count)? = rest;
        if rest != self.pieces.get(from..)? || (delta.text.is_empty() && self.kind.generated()) {
            return None;
        }
        let fixed = |place: Option<Fixed>| -> Option<Cow<'a, str>> {
            let Fixed { piece, from, length } = place?;
            Some(String::from_utf8_lossy(begins.get(piece)?.get(from..from + length)?))
        };
        delta.model = fixed(self.model);
        delta.finish = fixed(self.finish);
        delta.tokens = delta.usage.filter(|_| self.choice).and_then(|usage| usage.output);
        Some(delta)
    }
}

/// The digits of the whole number from 0 that `text` begins with.
pub(super) fn digits(text: &[u8]) -> Option<&[u8]> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = text.get(..length)?;
    match digits {
        [] | [b'0', _, ..] => None,
        _ => Some(digits),
    }
}
