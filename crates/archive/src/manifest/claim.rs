//! Whether a count of output tokens can be that of the answer that came.
//!
//! In:  the count, chunks and bytes of an answer, the length asked for.  Out: yes or no, and the tokens to go by.
//! Not here: which figures are left out.
//!
//! A chunk of text holds at least one token, and a token that shows something has at least one byte. A gateway that puts its usage into the
//! first chunk counts 0. One that leaves out reasoning counts too few, one that sums up requests too many. A rate of such a count is no rate.
//!
//! A count above the length asked for may still be possible: an answer of several tokens a chunk. Where there are just as many chunks as
//! tokens were asked for, the chunks are the better count. Each is one token then, and no server goes on behind the limit and stops at it.

use super::request::RequestWire;

/// Chunks for each counted token above which the count is not theirs. Parsers of calls and of reasoning send a chunk or two beyond the tokens.
const CHUNKS_PER_TOKEN: f64 = 1.1;

/// A count, and what came.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    pub tokens: u32,
    /// Generated chunks.
    pub chunks: u32,
    /// Bytes of generated text.
    pub bytes: u64,
    /// Tokens asked for.
    pub asked: Option<u32>,
}

impl Claim {
    /// That of a request, where it says all that it takes.
    pub fn of(request: &RequestWire) -> Option<Self> {
        let (tokens, chunks, bytes) = (request.output_tokens?, request.pieces?, request.text_bytes?);
        Some(Self { tokens, chunks, bytes, asked: request.output_tokens_asked })
    }

    /// Output tokens of a request: see [`Claim::credible`]. As counted where the request does not say what came.
    pub fn tokens(request: &RequestWire) -> Option<u32> {
        Self::of(request).map_or(request.output_tokens, Self::credible)
    }

    /// Whether the count contradicts what came. Too many it is only beyond the length asked for: reasoning may be counted and not shown.
    pub fn contradicted(self) -> bool {
        let few = f64::from(self.chunks) > CHUNKS_PER_TOKEN * f64::from(self.tokens);
        let longer = self.asked.is_some_and(|asked| self.tokens > asked);
        // A chunk may be a token that shows nothing.
        let many = self.chunks > 0 && u64::from(self.tokens) > self.bytes + u64::from(self.chunks);
        few || (longer && many)
    }

    /// Whether the count is above the length asked for, and the chunks are as many as that, or one less: the last token may show nothing.
    pub fn above_limit(self) -> bool {
        let all = |asked: u32| self.chunks == asked || self.chunks.checked_add(1) == Some(asked);
        !self.contradicted() && self.asked.is_some_and(|asked| self.tokens > asked && self.chunks > 0 && all(asked))
    }

    /// Tokens of the answer: as counted, or one a chunk where that count is above what was asked for. Absent where what came contradicts it.
    pub fn credible(self) -> Option<u32> {
        match (self.contradicted(), self.above_limit()) {
            (true, _) => None,
            (_, true) => Some(self.chunks),
            _ => Some(self.tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_held_against_chunks_text_and_length() {
        let cases = [
            ("one a chunk", 20, 20, 80, Some(20), false),
            ("none for text", 0, 20, 80, Some(20), true),
            ("none, and nothing came", 0, 0, 0, Some(20), false),
            ("half", 20, 40, 160, Some(40), true),
            ("a call with a chunk more than tokens", 20, 21, 80, None, false),
            ("four a chunk", 80, 20, 320, Some(80), false),
            ("longer than asked, and it shows", 80, 80, 320, Some(40), false),
            ("more than there are bytes", 50_000, 8, 32, Some(8), true),
            ("hidden reasoning within the length", 500, 8, 32, Some(512), false),
            ("no length asked for", 500, 8, 32, None, false),
        ];
        for (what, tokens, chunks, bytes, asked, contradicted) in cases {
            assert_eq!(Claim { tokens, chunks, bytes, asked }.contradicted(), contradicted, "{what}");
        }
    }

    #[test]
    fn a_count_above_the_limit_gives_way_to_as_many_chunks_as_were_asked_for() {
        let credible = |tokens, chunks, asked| Claim { tokens, chunks, bytes: 400, asked }.credible();
        let cases = [
            ("twice as many as chunks, which are all that were asked for", 40, 20, Some(20), Some(20)),
            ("the last token shows nothing", 40, 19, Some(20), Some(19)),
            ("as asked", 20, 20, Some(20), Some(20)),
            ("really longer: the chunks are too", 80, 80, Some(40), Some(80)),
            ("several a chunk, and longer or miscounted", 60, 20, Some(40), Some(60)),
            ("no length asked for", 40, 20, None, Some(40)),
            ("no chunk, and one asked for", 2, 0, Some(1), Some(2)),
            ("impossible", 50_000, 20, Some(20), None),
        ];
        for (what, tokens, chunks, asked, expected) in cases {
            assert_eq!(credible(tokens, chunks, asked), expected, "{what}");
        }
    }
}
