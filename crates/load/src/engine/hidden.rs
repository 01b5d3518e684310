//! Chunks without text: whether they hold tokens is known when the answer has ended.
//!
//! In:  the kind, count and stamp of each event.  Out: the times and counts of a [`Record`] with those that hold tokens among them.
//! Not here: what kind an event is (see `wire`).
//!
//! An engine sends a chunk for each step. A special token, half a character or a hidden mark shows nothing, so its chunk is empty. If
//! such chunks were left out, TTFT would end too late and TPOT would divide a short time by all tokens. The same holds for tokens in fields
//! that are not known, for reasoning that is counted and not sent, and for a first piece of many tokens.
//!
//! Reasoning may also be part of the text, in pieces of several tokens. By chance there are then as many pieces as tokens without the
//! reasoning. So the number of pieces is no proof that reasoning was not sent. The text is: it has too few bytes for all tokens that were
//! counted. Or it would have very few for each, and there was time to make the reasoning before the first piece.

use crate::order::{ChunkKind, Doubt, Hidden, Record};
use sparkbench_host::net::Stamp;

/// Chunks without anything from which on they may be tokens. A single one is what some servers begin or end with.
const SEVERAL: u32 = 2;
/// Pieces after the first that say how much text a token has.
const REST: u32 = 4;
/// Tokens by which a first piece is more than another.
const MANY: f64 = 4.0;
/// The same where the count of tokens does not agree with the text.
const FAR_MORE: f64 = 8.0;
/// How far the tokens of a first piece by its text may be from those by the count, as a factor.
const ALIKE: f64 = 1.5;
/// Bytes of text for each token below which not all tokens are in the text, if time speaks for that too. Words of any language have three to
/// five for a token. Only digits one by one have fewer.
const SCANT: u64 = 2;
/// Share of the time that hidden reasoning takes by the speed of the pieces, which must have passed before the first of them. Some engines
/// are quicker in one part than in the other.
const TIME_FOR_IT: f64 = 0.5;

/// Observations of chunks of one sort.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    count: u32,
    first: Option<Stamp>,
    second: Option<Stamp>,
    last: Option<Stamp>,
    /// Tokens of the first, where the server counts along.
    first_tokens: Option<u32>,
}

impl Group {
    fn take(&mut self, counted: Option<u32>, stamp: Stamp) {
        match self.count {
            0 => (self.first, self.first_tokens) = (Some(stamp), counted),
            1 => self.second = Some(stamp),
            _ => {}
        }
        self.count = self.count.saturating_add(1);
        self.last = Some(stamp);
    }
}

/// Observations of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unseen {
    /// [`ChunkKind::Silent`] and [`ChunkKind::Unread`].
    quiet: Group,
    /// Of these [`ChunkKind::Unread`].
    unread: u32,
    /// [`ChunkKind::Bare`].
    bare: Group,
    closing: Option<Stamp>,
}

impl Unseen {
    /// Takes an event. `counted` are its tokens, where the server counts along.
    pub(super) fn take(&mut self, kind: ChunkKind, counted: Option<u32>, stamp: Stamp) {
        match kind {
            ChunkKind::Silent | ChunkKind::Unread => {
                self.unread = self.unread.saturating_add(u32::from(kind == ChunkKind::Unread));
                self.quiet.take(counted, stamp);
            }
            ChunkKind::Bare => self.bare.take(counted, stamp),
            ChunkKind::Closing => self.closing = Some(stamp),
            _ => {}
        }
    }

    /// Whether an answer without a known piece has tokens all the same.
    pub(super) fn answers(&self, record: &Record) -> bool {
        self.hidden(record.usage.output, record) != Hidden::None
    }

    /// Which of them hold tokens, by the count of tokens and the number of chunks with text.
    fn hidden(&self, output: Option<u32>, record: &Record) -> Hidden {
        let pieces = record.pieces;
        let (quiet, bare) = (self.quiet.count, self.bare.count);
        // Where all tokens that were asked for came, none is left to end the answer, whatever was counted.
        let all_came = quiet == 0 && bare == 0 && record.asked.osl == Some(pieces);
        let closing = u32::from(self.closing.is_some() && !all_came);
        // Without any text no chunk can hide tokens, whatever was counted.
        if pieces == 0 && self.unread == 0 {
            return Hidden::None;
        }
        let room = output.map_or(0, |output| output.saturating_sub(pieces));
        if bare >= SEVERAL {
            // The token that ends an answer may have a chunk or none.
            match room.checked_sub(quiet.saturating_add(bare)) {
                Some(0) => return Hidden::Bare,
                Some(1) => return if closing > 0 { Hidden::BareAll } else { Hidden::Bare },
                _ => {}
            }
        }
        if closing > 0 && room >= quiet.saturating_add(closing) {
            if quiet > 0 { Hidden::All } else { Hidden::Ending }
        } else if quiet > 0 && room >= quiet {
            Hidden::Between
        } else {
            Hidden::None
        }
    }

    /// Tokens of reasoning that were counted and never sent, or may not have been sent where each piece holds several tokens.
    fn unsent(&self, record: &Record) -> u32 {
        let (Some(output), Some(reasoning @ 1..)) = (record.usage.output, record.usage.reasoning) else { return 0 };
        // The chunks without text may be the reasoning, and what is counted along is known.
        let came = record.first_reasoning.is_some() || self.quiet.count.saturating_add(self.bare.count) >= reasoning;
        let along = record.first_tokens.is_some() || self.quiet.first_tokens.is_some();
        // Reasoning that is part of the text leaves fewer tokens than there are chunks with text.
        let shown = output.checked_sub(reasoning).filter(|shown| record.pieces > 0 && *shown >= record.pieces);
        let Some(shown) = shown.filter(|_| !came && !along) else { return 0 };
        // As many pieces as other tokens are there by chance too.
        let one_each = shown <= record.pieces.saturating_add(1);
        if !one_each || self.too_little_text(record, output) || scant(record, reasoning, output) {
            reasoning
        } else {
            0
        }
    }

    /// Whether the text cannot hold all tokens that were counted: a token that shows something has at least one byte.
    fn too_little_text(&self, record: &Record, output: u32) -> bool {
        let silent = u64::from(self.quiet.count) + u64::from(self.bare.count) + u64::from(self.closing.is_some());
        record.text_bytes + silent < u64::from(output)
    }

    /// Counts those that hold tokens among the pieces. Says how many tokens the first piece stands for where that follows.
    pub(super) fn settle(self, record: &mut Record) {
        let unsent = self.unsent(record);
        let output = record.usage.output.map(|output| output.saturating_sub(unsent));
        let room = output.map(|output| output.saturating_sub(record.pieces));
        record.hidden = self.hidden(output, record);
        let bare = matches!(record.hidden, Hidden::Bare | Hidden::BareAll);
        let may_be = |room: u32| room > self.quiet.count.saturating_add(self.bare.count);
        record.doubt = if record.pieces == 0 && record.hidden == Hidden::None {
            Doubt::None
        } else if unsent > 0 {
            Doubt::Unsent
        } else if self.unread >= SEVERAL && room.is_none() {
            Doubt::Unread
        } else if self.bare.count >= SEVERAL && !bare && room.is_none_or(may_be) {
            Doubt::Bare
        } else {
            Doubt::None
        };
        let text_pieces = record.pieces;
        if record.hidden != Hidden::None {
            self.join(record);
        }
        if record.doubt == Doubt::Unsent {
            // One token a piece, and perhaps one that ended the answer: there is no room for reasoning among them.
            if output.is_some_and(|output| output <= record.pieces.saturating_add(1)) {
                record.first_tokens = Some(unsent.saturating_add(1));
            } else {
                record.doubt = Doubt::Unplaced;
            }
        } else if record.doubt == Doubt::None && !record.hidden.between() {
            (record.first_tokens, record.doubt) = long_first(record, text_pieces);
        }
    }

    /// The times and the count of pieces with those that hold tokens among them.
    fn join(self, record: &mut Record) {
        let none = Group::default();
        let quiet = if record.hidden.between() { self.quiet } else { none };
        let bare = if ChunkKind::Bare.holds_tokens(record.hidden) { self.bare } else { none };
        let closing = self.closing.filter(|_| ChunkKind::Closing.holds_tokens(record.hidden));
        record.silent = quiet.count.saturating_add(bare.count).saturating_add(u32::from(closing.is_some()));
        record.pieces = record.pieces.saturating_add(record.silent);
        let times = [
            (record.first_token, record.first_tokens),
            (record.second_token, None),
            (quiet.first, quiet.first_tokens),
            (quiet.second, None),
            (bare.first, bare.first_tokens),
            (bare.second, None),
            (closing, None),
        ];
        let mut sorted = [None; 7];
        for (place, (stamp, tokens)) in sorted.iter_mut().zip(times) {
            *place = stamp.map(|stamp| (stamp, tokens));
        }
        // In a stable order a piece with text stays before one without that came with it.
        sorted.sort_by_key(|found| found.map_or(u64::MAX, |(stamp, _)| stamp.at()));
        record.first_tokens = sorted[0].and_then(|(_, tokens)| tokens);
        record.first_token = sorted[0].map(|(stamp, _)| stamp);
        record.second_token = sorted[1].map(|(stamp, _)| stamp);
        let last = [record.last_token, quiet.last, bare.last, closing];
        record.last_token = last.into_iter().flatten().max_by_key(|stamp| stamp.at());
    }
}

/// Whether the text has few bytes for all tokens, and the reasoning had time before the first piece.
fn scant(record: &Record, reasoning: u32, output: u32) -> bool {
    let span = record.first_token.zip(record.last_token).map(|(first, last)| last.at().saturating_sub(first.at()));
    let waited = record.sent.zip(record.first_token).map(|(sent, first)| first.at().saturating_sub(sent));
    let (Some(span), Some(waited), further @ 1..) = (span, waited, record.pieces.saturating_sub(1)) else {
        return false;
    };
    let takes = span as f64 / f64::from(further) * f64::from(reasoning);
    record.text_bytes < SCANT * u64::from(output) && waited as f64 >= TIME_FOR_IT * takes
}

/// Tokens of a first piece that holds many of them, as whole reasoning that was kept and sent at once. `pieces` have text.
///
/// The count alone does not tell them from several tokens in each piece. The length of its text does, where both say about the same.
fn long_first(record: &Record, pieces: u32) -> (Option<u32>, Doubt) {
    let known = (record.first_tokens, Doubt::None);
    let Some(output) = record.usage.output.filter(|_| record.first_tokens.is_none()) else { return known };
    let rest = pieces.saturating_sub(1);
    let rest_bytes = record.text_bytes.saturating_sub(u64::from(record.first_text));
    let more = output.saturating_sub(record.pieces);
    if rest < REST || rest_bytes == 0 || more == 0 {
        return known;
    }
    let by_text = f64::from(record.first_text) * f64::from(rest) / rest_bytes as f64;
    let by_count = f64::from(more) + 1.0;
    let alike = by_text <= ALIKE * by_count && by_count <= ALIKE * by_text;
    if alike && by_text >= MANY && by_count >= MANY {
        (Some(more + 1), Doubt::First)
    } else if by_text >= FAR_MORE {
        (None, Doubt::Long)
    } else {
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Stamp {
        Stamp { user: ms * 1_000_000, kernel: None }
    }

    /// A record of an answer with text at these times, then what came without text.
    fn settled(text: &[u64], output: Option<u32>, silent: &[u64], closing: Option<u64>) -> Record {
        let mut record = Record {
            pieces: text.len() as u32,
            first_token: text.first().map(|ms| at(*ms)),
            second_token: text.get(1).map(|ms| at(*ms)),
            last_token: text.last().map(|ms| at(*ms)),
            ..Record::default()
        };
        record.usage.output = output;
        let mut unseen = Unseen::default();
        silent.iter().for_each(|ms| unseen.take(ChunkKind::Silent, None, at(*ms)));
        closing.into_iter().for_each(|ms| unseen.take(ChunkKind::Closing, None, at(ms)));
        unseen.settle(&mut record);
        record
    }

    fn ms(stamp: Option<Stamp>) -> Option<u64> {
        stamp.map(|stamp| stamp.at() / 1_000_000)
    }

    #[test]
    fn tokens_before_the_first_text_begin_the_answer() {
        let record = settled(&[40, 50], Some(5), &[10, 20, 30], None);
        assert_eq!(
            (ms(record.first_token), ms(record.second_token), ms(record.last_token)),
            (Some(10), Some(20), Some(50))
        );
        assert_eq!((record.pieces, record.silent, record.hidden), (5, 3, Hidden::Between));
    }

    #[test]
    fn the_token_that_ends_an_answer_counts_where_the_server_counted_it() {
        let record = settled(&[10, 20], Some(3), &[], Some(30));
        assert_eq!((record.pieces, record.hidden, ms(record.last_token)), (3, Hidden::Ending, Some(30)));
        let record = settled(&[10, 20], Some(2), &[], Some(30));
        assert_eq!((record.pieces, record.hidden, ms(record.last_token)), (2, Hidden::None, Some(20)));
    }

    #[test]
    fn an_answer_that_has_all_tokens_asked_for_ends_with_none() {
        let settled = |asked: Option<u32>, output: u32| {
            let mut record =
                Record { pieces: 2, first_token: Some(at(10)), last_token: Some(at(20)), ..Record::default() };
            (record.asked.osl, record.usage.output) = (asked, Some(output));
            let mut unseen = Unseen::default();
            unseen.take(ChunkKind::Closing, None, at(30));
            unseen.settle(&mut record);
            (record.pieces, record.hidden)
        };
        assert_eq!(settled(Some(2), 4), (2, Hidden::None), "a count above the limit");
        assert_eq!(settled(Some(3), 3), (3, Hidden::Ending));
        assert_eq!(settled(None, 3), (3, Hidden::Ending));
    }

    #[test]
    fn fillers_hold_none() {
        // Text for each token that was counted: what came beside it is no token.
        let record = settled(&[10, 20], Some(2), &[15], Some(30));
        assert_eq!((record.pieces, record.hidden, ms(record.second_token)), (2, Hidden::None, Some(20)));
        // Nobody counted, or nothing had text.
        assert_eq!(settled(&[10], None, &[5], None).hidden, Hidden::None);
        assert_eq!(settled(&[], Some(3), &[5, 6, 7], None).pieces, 0);
    }

    #[test]
    fn the_tokens_of_a_first_chunk_without_text_are_those_of_the_first_chunk() {
        let mut record = Record { pieces: 1, first_token: Some(at(20)), last_token: Some(at(20)), ..Record::default() };
        record.usage.output = Some(3);
        let mut unseen = Unseen::default();
        unseen.take(ChunkKind::Silent, Some(2), at(10));
        unseen.settle(&mut record);
        assert_eq!((record.first_tokens, record.pieces, record.hidden), (Some(2), 2, Hidden::Between));
    }

    /// A record of so many pieces of four letters, 10 ms apart from 50 ms on, and its first text.
    fn shown(pieces: u64, output: Option<u32>, first_text: u32) -> Record {
        let time = |number: u64| (number < pieces).then(|| at(50 + 10 * number));
        let mut record = Record {
            pieces: pieces as u32,
            first_token: time(0),
            second_token: time(1),
            last_token: time(pieces.saturating_sub(1)),
            first_text,
            text_bytes: u64::from(first_text) + 4 * pieces.saturating_sub(1),
            ..Record::default()
        };
        record.usage.output = output;
        record
    }

    fn after(mut record: Record, kinds: &[(ChunkKind, u64)]) -> Record {
        let mut unseen = Unseen::default();
        kinds.iter().for_each(|(kind, ms)| unseen.take(*kind, None, at(*ms)));
        unseen.settle(&mut record);
        record
    }

    /// As `count` chunks, 10 ms apart from 10 ms on.
    fn several(kind: ChunkKind, count: u64) -> Vec<(ChunkKind, u64)> {
        (1..=count).map(|number| (kind, 10 * number)).collect()
    }

    #[test]
    fn text_in_unknown_fields_holds_tokens_where_they_were_counted() {
        let record = after(shown(20, Some(40), 4), &several(ChunkKind::Unread, 20));
        assert_eq!((ms(record.first_token), record.pieces, record.silent), (Some(10), 40, 20));
        assert_eq!((record.hidden, record.doubt), (Hidden::Between, Doubt::None));
        // Without a count it is said, and with one that has no room it is something else.
        let record = after(shown(20, None, 4), &several(ChunkKind::Unread, 20));
        assert_eq!((ms(record.first_token), record.doubt), (Some(50), Doubt::Unread));
        let record = after(shown(20, Some(20), 4), &several(ChunkKind::Unread, 20));
        assert_eq!((ms(record.first_token), record.doubt), (Some(50), Doubt::None));
        // An answer that has nothing else is one.
        let mut unseen = Unseen::default();
        several(ChunkKind::Unread, 3).iter().for_each(|(kind, ms)| unseen.take(*kind, None, at(*ms)));
        assert!(unseen.answers(&shown(0, Some(3), 0)) && !unseen.answers(&shown(0, None, 0)));
        assert_eq!(after(shown(0, Some(3), 0), &several(ChunkKind::Unread, 3)).pieces, 3);
    }

    #[test]
    fn chunks_without_anything_hold_tokens_where_the_count_is_one_for_each() {
        let ending = [several(ChunkKind::Bare, 20), vec![(ChunkKind::Closing, 900)]].concat();
        let record = after(shown(20, Some(40), 4), &ending);
        assert_eq!((ms(record.first_token), record.pieces, record.hidden), (Some(10), 40, Hidden::Bare));
        let record = after(shown(20, Some(41), 4), &ending);
        assert_eq!((ms(record.last_token), record.pieces, record.hidden), (Some(900), 41, Hidden::BareAll));
        // What keeps a connection alive is none, and neither is a single one.
        let record = after(shown(20, Some(20), 4), &several(ChunkKind::Bare, 3));
        assert_eq!((ms(record.first_token), record.hidden, record.doubt), (Some(50), Hidden::None, Doubt::None));
        let record = after(shown(20, Some(21), 4), &several(ChunkKind::Bare, 1));
        assert_eq!((record.hidden, record.doubt), (Hidden::None, Doubt::None));
        // Pieces of several tokens and fillers look like pieces of one token and chunks of several.
        let record = after(shown(20, Some(60), 4), &several(ChunkKind::Bare, 10));
        assert_eq!((ms(record.first_token), record.doubt), (Some(50), Doubt::Bare));
    }

    #[test]
    fn reasoning_that_was_counted_and_not_sent_is_before_the_first_piece() {
        let reasoned = |reasoning: u32, output: u32, kinds: &[(ChunkKind, u64)]| {
            // Ten pieces of three letters: 30 bytes cannot be 40 tokens.
            let mut record = Record { text_bytes: 30, ..shown(10, Some(output), 3) };
            record.usage.reasoning = Some(reasoning);
            after(record, kinds)
        };
        let record = reasoned(30, 40, &[]);
        assert_eq!((record.first_tokens, record.doubt, record.pieces), (Some(31), Doubt::Unsent, 10));
        // A filler before the text does not become the first token.
        let record = reasoned(30, 40, &several(ChunkKind::Silent, 1));
        assert_eq!((ms(record.first_token), record.first_tokens), (Some(50), Some(31)));
        // The token that ends the answer is one of those that came.
        let record = reasoned(30, 41, &[(ChunkKind::Closing, 150)]);
        assert_eq!((record.pieces, record.first_tokens, ms(record.last_token)), (11, Some(31), Some(150)));
        // Pieces of several tokens may hold it.
        let record = reasoned(30, 70, &[]);
        assert_eq!((record.first_tokens, record.doubt), (None, Doubt::Unplaced));
        // Within the text, or in chunks that show nothing, it came.
        assert_eq!(reasoned(4, 10, &[]).doubt, Doubt::None);
        let record = reasoned(30, 40, &several(ChunkKind::Silent, 30));
        assert_eq!((record.pieces, record.first_tokens, record.doubt), (40, None, Doubt::None));
    }

    #[test]
    fn as_many_pieces_as_other_tokens_are_no_proof_that_reasoning_was_not_sent() {
        // Twenty pieces of two tokens, the first half of them reasoning within the text: 40 tokens, 20 of reasoning, 20 pieces.
        let reasoned = |bytes: u64, sent: u64| {
            let sent = Some(sent * 1_000_000);
            let mut record = Record { text_bytes: bytes, sent, ..shown(20, Some(40), 4) };
            record.usage.reasoning = Some(20);
            let record = after(record, &[]);
            (record.first_tokens, record.doubt)
        };
        let (all, hidden) = ((None, Doubt::None), (Some(21), Doubt::Unsent));
        // Eight bytes a piece, however long the first one took.
        assert_eq!((reasoned(160, 0), reasoned(160, 40)), (all, all));
        // Two pieces later than it was sent there were no 20 tokens yet, whatever is in the text.
        assert_eq!(reasoned(60, 30), all);
        // A wait of a second and one byte and a half for each token, or fewer bytes than tokens.
        let long = |bytes: u64| {
            let record = shown(20, Some(40), 4);
            let later = |stamp: Option<Stamp>| stamp.map(|stamp| at(stamp.at() / 1_000_000 + 1_000));
            let mut record = Record {
                text_bytes: bytes,
                sent: Some(0),
                first_token: later(record.first_token),
                second_token: later(record.second_token),
                last_token: later(record.last_token),
                ..record
            };
            record.usage.reasoning = Some(20);
            let record = after(record, &[]);
            (record.first_tokens, record.doubt)
        };
        assert_eq!((long(60), long(160), reasoned(39, 40)), (hidden, all, hidden));
    }

    #[test]
    fn a_first_piece_of_many_tokens_is_known_by_its_text() {
        let record = after(shown(10, Some(40), 124), &[]);
        assert_eq!((record.first_tokens, record.doubt), (Some(31), Doubt::First));
        // Several tokens in each piece, and one in each.
        let record = after(shown(10, Some(40), 4), &[]);
        assert_eq!((record.first_tokens, record.doubt), (None, Doubt::None));
        assert_eq!(after(shown(10, Some(10), 124), &[]).doubt, Doubt::None);
        // Long, and the count says something else.
        let record = after(shown(10, Some(90), 124), &[]);
        assert_eq!((record.first_tokens, record.doubt), (None, Doubt::Long));
    }
}
