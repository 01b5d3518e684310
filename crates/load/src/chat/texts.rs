//! Text of a wanted number of tokens.
//!
//! In:  a stream of random numbers or a text to cut from, a number of tokens.  Out: [`CountedText`]s.
//! Not here: which text a turn gets (see `library`), tokenizers themselves (see `load::tokens`).
//!
//! What a token is only the served model's tokenizer knows. With a `tokenizer.json` available an implementation of [`Texts`] counts with it
//! and says so. Without one [`Estimate`] counts by rule of thumb, and says that too: nothing that was only estimated is ever written down
//! as counted. In both cases a result rests on the server's own count.

use std::collections::VecDeque;

use crate::vocabulary::WORDS;
use sparkbench_stats::random::Stream;

/// A text and what it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedText {
    pub text: String,
    /// Its tokens, by the count of its maker.
    pub tokens: u32,
}

/// Makes, cuts and counts text. The same arguments give the same text.
pub trait Texts: Send {
    /// Made text with a number of tokens.
    fn made(&mut self, stream: &mut Stream, tokens: u32) -> CountedText;
    /// Head of a text with a number of tokens, or all of it where it has fewer. Ends at the end of a character.
    fn head(&mut self, text: &str, tokens: u32) -> CountedText;
    /// Tokens of a text.
    fn count(&mut self, text: &str) -> u32;
    /// Whether tokens are counted by the model's tokenizer. Otherwise they are estimated.
    fn exact(&self) -> bool;
}

/// Bytes of English text to a token, on average over the tokenizers in use.
const BYTES_PER_TOKEN: usize = 4;

/// Counts by rule of thumb: a word of our own list is a token, and so are four bytes of anything else.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate;

impl Texts for Estimate {
    fn made(&mut self, stream: &mut Stream, tokens: u32) -> CountedText {
        let mut text = String::with_capacity(tokens as usize * 6);
        for at in 0..tokens {
            if at > 0 {
                text.push(' ');
            }
            text.push_str(WORDS[stream.index(WORDS.len())]);
        }
        CountedText { text, tokens }
    }

    fn head(&mut self, text: &str, tokens: u32) -> CountedText {
        let wanted = (tokens as usize).saturating_mul(BYTES_PER_TOKEN);
        let mut end = wanted.min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let head = text.get(..end).unwrap_or(text);
        CountedText {
            text: head.to_owned(),
            tokens: if end < text.len() { tokens } else { self.count(head).min(tokens) },
        }
    }

    fn count(&mut self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
    }

    fn exact(&self) -> bool {
        false
    }
}

/// A text that is read from a place on and, at its end, from its beginning again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Corpus(String);

/// Largest number of bytes of a token in the search for a segment. A longer text is cut in several steps.
const STRETCH: usize = 8;

impl Corpus {
    /// Of texts one after the other. Nothing where they hold nothing but white space.
    pub(crate) fn of(texts: &[String]) -> Option<Self> {
        let text =
            texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        (!text.is_empty()).then_some(Self(text))
    }

    /// How long it is.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The beginning of a word at or after a byte.
    pub(crate) fn word_from(&self, at: usize) -> usize {
        let mut from = at % self.0.len().max(1);
        while !self.0.is_char_boundary(from) {
            from += 1;
        }
        if from == 0 {
            return 0;
        }
        let rest = self.0.get(from..).unwrap_or_default();
        rest.find(char::is_whitespace)
            .and_then(|gap| rest.get(gap..).map(|tail| from + gap + (tail.len() - tail.trim_start().len())))
            .filter(|start| *start < self.0.len())
            .unwrap_or(0)
    }

    /// A number of tokens from a byte on, and the byte behind them.
    pub(crate) fn cut(&self, from: usize, tokens: u32, texts: &mut dyn Texts) -> (CountedText, usize) {
        let mut at = from.min(self.0.len());
        let mut parts = VecDeque::new();
        let mut left = tokens;
        while left > 0 {
            let rest = self.0.get(at..).unwrap_or_default();
            if rest.is_empty() {
                at = 0;
                parts.push_back(CountedText { text: "\n\n".to_owned(), tokens: 0 });
                continue;
            }
            // Only the segment is read, so that a turn costs its own length and not that of the text.
            let mut stretch = (left as usize).saturating_mul(STRETCH).min(rest.len());
            while !rest.is_char_boundary(stretch) {
                stretch += 1;
            }
            let piece = texts.head(rest.get(..stretch).unwrap_or(rest), left);
            // A text that counts as no token at all would never come to an end.
            let (bytes, counted) = (piece.text.len().max(1), piece.tokens.max(1));
            at += bytes;
            left = left.saturating_sub(counted);
            parts.push_back(piece);
        }
        let text = parts.into_iter().map(|piece| piece.text).collect::<String>();
        (CountedText { text, tokens }, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_read_on_from_its_beginning_when_it_ends() {
        let corpus = Corpus::of(&["abcd efgh".to_owned()]).unwrap();
        let (piece, at) = corpus.cut(5, 2, &mut Estimate);
        assert_eq!(piece.text, "efgh\n\nabcd");
        assert_eq!(at, 4);
        assert_eq!(piece.tokens, 2);
    }

    #[test]
    fn a_text_is_never_cut_inside_a_character() {
        let corpus = Corpus::of(&["ä€𝄞ö".repeat(10)]).unwrap();
        for tokens in 1..30 {
            let (piece, at) = corpus.cut(0, tokens, &mut Estimate);
            assert!(piece.text.len() >= tokens as usize, "{tokens}: {piece:?} until {at}");
        }
    }

    #[test]
    fn a_cut_begins_with_a_word() {
        let corpus = Corpus::of(&["one two three".to_owned()]).unwrap();
        assert_eq!([0, 1, 4, 5, 12].map(|at| corpus.word_from(at)), [0, 4, 8, 8, 0]);
    }

    #[test]
    fn texts_of_white_space_are_no_corpus() {
        assert_eq!(Corpus::of(&[" \n".to_owned()]), None);
    }

    #[test]
    fn made_text_is_the_same_for_the_same_stream_and_as_long_as_asked() {
        let piece = |seed| Estimate.made(&mut Stream::new(seed, 0), 40);
        assert_eq!(piece(1), piece(1));
        assert_ne!(piece(1), piece(2));
        assert_eq!(piece(1).text.split(' ').count(), 40);
    }
}
