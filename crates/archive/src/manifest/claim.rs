//! Whether a count of output tokens can be that of the answer that came.
//!
//! In:  the count, chunks and bytes of an answer, the length asked for.  Out: yes or no.
//! Not here: which figures are left out.
//!
//! A chunk of text holds at least one token, and a token that shows something has at least one byte. A gateway that puts its usage into the
//! first chunk counts 0. One that leaves out reasoning counts too few, one that sums up requests too many. A rate of such a count is no rate.

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

    /// Whether the count contradicts what came. Too many it is only beyond the length asked for: reasoning may be counted and not shown.
    pub fn contradicted(self) -> bool {
        let few = f64::from(self.chunks) > CHUNKS_PER_TOKEN * f64::from(self.tokens);
        let longer = self.asked.is_some_and(|asked| self.tokens > asked);
        // A chunk may be a token that shows nothing.
        let many = self.chunks > 0 && u64::from(self.tokens) > self.bytes + u64::from(self.chunks);
        few || (longer && many)
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
}
