//! Chunks without text: whether they hold tokens is known when the answer has ended.
//!
//! In:  the kind, count and stamp of each event.  Out: the times and counts of a [`Record`] with those that hold tokens among them.
//! Not here: what kind an event is (see `wire`).
//!
//! An engine sends a chunk for each step. A special token, half a character or a hidden mark shows nothing, so its chunk is empty. If
//! such chunks were left out, TTFT would end too late and TPOT would divide a short time by all tokens.

use crate::order::{ChunkKind, Hidden, Record};
use sparkbench_host::net::Stamp;

/// Observations of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unseen {
    /// Times of the first two [`ChunkKind::Silent`].
    first: Option<Stamp>,
    second: Option<Stamp>,
    /// Tokens of the first, where the server counts along.
    first_tokens: Option<u32>,
    last: Option<Stamp>,
    silent: u32,
    closing: Option<Stamp>,
}

impl Unseen {
    /// Takes an event. `counted` are its tokens, where the server counts along.
    pub(super) fn take(&mut self, kind: ChunkKind, counted: Option<u32>, stamp: Stamp) {
        match kind {
            ChunkKind::Silent => {
                match self.silent {
                    0 => (self.first, self.first_tokens) = (Some(stamp), counted),
                    1 => self.second = Some(stamp),
                    _ => {}
                }
                self.silent = self.silent.saturating_add(1);
                self.last = Some(stamp);
            }
            ChunkKind::Closing => self.closing = Some(stamp),
            _ => {}
        }
    }

    /// Which of them hold tokens, by the count of tokens and the number of chunks with text.
    fn hidden(&self, output: Option<u32>, pieces: u32) -> Hidden {
        let closing = u32::from(self.closing.is_some());
        // Without any text no chunk can hide tokens, whatever was counted.
        if self.silent + closing == 0 || pieces == 0 {
            return Hidden::None;
        }
        let room = output.map_or(0, |output| output.saturating_sub(pieces));
        if room >= self.silent + closing && closing > 0 {
            if self.silent > 0 { Hidden::All } else { Hidden::Ending }
        } else if room >= self.silent && self.silent > 0 {
            Hidden::Between
        } else {
            Hidden::None
        }
    }

    /// Counts those that hold tokens among the pieces.
    pub(super) fn settle(self, record: &mut Record) {
        record.hidden = self.hidden(record.usage.output, record.pieces);
        if record.hidden == Hidden::None {
            return;
        }
        let closing = self.closing.filter(|_| matches!(record.hidden, Hidden::All | Hidden::Ending));
        record.silent = self.silent + u32::from(closing.is_some());
        record.pieces = record.pieces.saturating_add(record.silent);
        let mut times: Vec<Stamp> =
            [record.first_token, record.second_token, self.first, self.second, closing].into_iter().flatten().collect();
        times.sort_by_key(|stamp| stamp.at());
        let before = |a: Option<Stamp>, b: Option<Stamp>| a.zip(b).is_some_and(|(a, b)| a.at() < b.at());
        if before(self.first, record.first_token) {
            record.first_tokens = self.first_tokens;
        }
        record.first_token = times.first().copied();
        record.second_token = times.get(1).copied();
        record.last_token =
            [record.last_token, self.last, closing].into_iter().flatten().max_by_key(|stamp| stamp.at());
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
}
