//! Text of a wanted number of tokens.
//!
//! In:  a stream of random numbers or a text to cut from, a number of tokens.  Out: [`Piece`]s.
//! Not here: which text a turn gets (see `library`), tokenizers themselves (see `load::tokens`).
//!
//! What a token is only the served model's tokenizer knows. With a `tokenizer.json` at hand an implementation of [`Texts`] counts with it
//! and says so; without one [`Estimate`] counts by rule of thumb, and says that too: nothing that was only estimated is ever written down
//! as counted. In both cases the server's own count is what a result stands on.

use std::collections::VecDeque;

use crate::load::words::WORDS;
use crate::stats::random::Stream;

/// A text and what it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// Its tokens, by the count of whoever made it.
    pub tokens: u32,
}

/// Makes, cuts and counts text. The same arguments give the same text.
pub trait Texts: Send {
    /// Made text of so many tokens.
    fn made(&mut self, stream: &mut Stream, tokens: u32) -> Piece;
    /// Head of a text with so many tokens, or all of it where it has fewer. Ends at a character's end.
    fn head(&mut self, text: &str, tokens: u32) -> Piece;
    /// Tokens of a text.
    fn count(&mut self, text: &str) -> u32;
    /// Whether tokens are counted by the model's tokenizer; otherwise they are estimated.
    fn exact(&self) -> bool;
}

/// Bytes of English text to a token, on average over the tokenizers in use.
const BYTES_PER_TOKEN: usize = 4;

/// Counts by rule of thumb: a word of our own list is a token, and so are four bytes of anything else.
#[derive(Debug, Clone, Copy, Default)]
pub struct Estimate;

impl Texts for Estimate {
    fn made(&mut self, stream: &mut Stream, tokens: u32) -> Piece {
        let mut text = String::with_capacity(tokens as usize * 6);
        for at in 0..tokens {
            if at > 0 {
                text.push(' ');
            }
            text.push_str(WORDS[stream.index(WORDS.len())]);
        }
        Piece { text, tokens }
    }

    fn head(&mut self, text: &str, tokens: u32) -> Piece {
        let wanted = (tokens as usize).saturating_mul(BYTES_PER_TOKEN);
        let mut end = wanted.min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let head = text.get(..end).unwrap_or(text);
        Piece { text: head.to_owned(), tokens: if end < text.len() { tokens } else { self.count(head).min(tokens) } }
    }

    fn count(&mut self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(BYTES_PER_TOKEN)).unwrap_or(u32::MAX)
    }

    fn exact(&self) -> bool {
        false
    }
}

/// Tries at a text of exactly so many tokens; what remains then is off by a token or two, and is counted as it is.
const TRIES: usize = 12;

/// Counts with whoever can, e.g. the model's tokenizer on this machine. Where that fails once, everything from then on is estimated and
/// [`Texts::exact`] says so.
pub struct Counted<F> {
    count: F,
    known: bool,
}

impl<F: FnMut(&str) -> Option<u32> + Send> Counted<F> {
    /// With a counter; absent is an answer it could not give.
    pub fn new(count: F) -> Self {
        Self { count, known: true }
    }

    /// Longest head with at most so many tokens that a few tries find, or one with the least above it.
    fn cut(&mut self, text: &str, tokens: u32) -> Piece {
        let mut guess = (tokens as usize).saturating_mul(BYTES_PER_TOKEN).min(text.len());
        let (mut low, mut high) = (0, text.len());
        let mut best: Option<Piece> = None;
        for _ in 0..TRIES {
            let mut end = guess.clamp(low, high);
            while !text.is_char_boundary(end) {
                end += 1;
            }
            let head = text.get(..end).unwrap_or(text);
            let found = self.count(head);
            if best.as_ref().is_none_or(|best| found.abs_diff(tokens) < best.tokens.abs_diff(tokens)) {
                best = Some(Piece { text: head.to_owned(), tokens: found });
            }
            if found == tokens || (end == text.len() && found < tokens) {
                break;
            }
            if found < tokens {
                low = (end + 1).min(high);
            } else {
                high = end.saturating_sub(1).max(low);
            }
            // By proportion first, then by halves once the borders are near.
            let by_share = end as f64 * f64::from(tokens) / f64::from(found.max(1));
            guess = if (by_share as usize) > low && (by_share as usize) < high {
                by_share as usize
            } else {
                (low + high) / 2
            };
            if low >= high {
                break;
            }
        }
        best.unwrap_or_default()
    }
}

impl<F: FnMut(&str) -> Option<u32> + Send> Texts for Counted<F> {
    fn made(&mut self, stream: &mut Stream, tokens: u32) -> Piece {
        let mut piece = Estimate.made(stream, tokens);
        let mut found = self.count(&piece.text);
        // Words of two tokens make it too long, words that melt together too short.
        for _ in 0..TRIES {
            if found == tokens || !self.known {
                break;
            }
            if found > tokens {
                piece = self.cut(&piece.text, tokens);
                found = piece.tokens;
                break;
            }
            let more = Estimate.made(stream, tokens - found);
            piece.text.push(' ');
            piece.text.push_str(&more.text);
            found = self.count(&piece.text);
        }
        Piece { tokens: found, ..piece }
    }

    fn head(&mut self, text: &str, tokens: u32) -> Piece {
        self.cut(text, tokens)
    }

    fn count(&mut self, text: &str) -> u32 {
        if self.known
            && let Some(found) = (self.count)(text)
        {
            return found;
        }
        self.known = false;
        Estimate.count(text)
    }

    fn exact(&self) -> bool {
        self.known
    }
}

/// A text that is read from a place on and, at its end, from its beginning again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corpus(String);

/// Largest number of bytes that a token may have when a stretch is looked for; what is longer is cut in several steps.
const STRETCH: usize = 8;

impl Corpus {
    /// Of texts one after the other; nothing where they hold nothing but white space.
    pub fn of(texts: &[String]) -> Option<Self> {
        let text =
            texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n");
        (!text.is_empty()).then_some(Self(text))
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never, by construction.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The beginning of a word at or after a byte.
    pub fn word_from(&self, at: usize) -> usize {
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

    /// So many tokens from a byte on, and the byte behind them.
    pub fn cut(&self, from: usize, tokens: u32, texts: &mut dyn Texts) -> (Piece, usize) {
        let mut at = from.min(self.0.len());
        let mut parts = VecDeque::new();
        let mut left = tokens;
        while left > 0 {
            let rest = self.0.get(at..).unwrap_or_default();
            if rest.is_empty() {
                at = 0;
                parts.push_back(Piece { text: "\n\n".to_owned(), tokens: 0 });
                continue;
            }
            // The stretch alone is looked at, so that a turn costs its own length whatever the text's.
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
        (Piece { text, tokens }, at)
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

    /// A tokenizer for tests: every three letters of a word are a token.
    fn threes(text: &str) -> Option<u32> {
        let words = text.split_whitespace().map(|word| word.chars().count().div_ceil(3));
        u32::try_from(words.sum::<usize>()).ok()
    }

    #[test]
    fn a_counter_makes_text_as_long_as_asked() {
        let mut texts = Counted::new(threes);
        for tokens in [1, 2, 7, 50, 333] {
            let made = texts.made(&mut Stream::new(3, 0), tokens);
            assert_eq!(threes(&made.text), Some(tokens), "{made:?}");
            assert_eq!(made.tokens, tokens);
            let head = texts.head(&"a text that goes on, ".repeat(100), tokens);
            assert_eq!((threes(&head.text), head.tokens), (Some(tokens), tokens));
        }
        assert!(texts.exact());
        assert_eq!(texts.head("short", 9).text, "short");
    }

    #[test]
    fn a_counter_that_fails_once_is_no_longer_called_exact() {
        let mut left = 1;
        let mut texts = Counted::new(move |_: &str| {
            left -= 1;
            (left >= 0).then_some(3)
        });
        assert_eq!((texts.count("abc"), texts.exact()), (3, true));
        assert_eq!((texts.count("abcde"), texts.exact()), (2, false));
        assert!(!texts.made(&mut Stream::new(3, 0), 5).text.is_empty());
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
