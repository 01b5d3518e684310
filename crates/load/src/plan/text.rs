//! The text of made prompts: any number of words, the same for the same number of the plan.
//!
//! In:  seed, nonce, number of the text, a number of words.  Out: words, appended to the output.
//! Not here: words for a number of tokens (see `load::tokens`), the length of a prompt (see `lengths`).
//!
//! A text is the first n words of an endless sequence. A text of one word more begins with the same words, so its length can be corrected
//! without changing the rest.
//!
//! The nonce of a cold cache is four words. They encode the number of the request, carried through a permutation of 36 bits that the nonce
//! of the run chooses. Two requests of a run never share all four. So no two prompts agree in the first block of a prefix cache (16 tokens
//! or more). Nor do they agree for long in a cache of single tokens. Two runs with different nonces agree in all four words once in 69
//! thousand million pairs.

use crate::vocabulary::WORDS;
use sparkbench_stats::random::{Stream, job_base, mix};

/// Words of a nonce.
pub const NONCE_WORDS: u32 = 4;
/// Bits of a word.
const WORD_BITS: u32 = 9;
/// Words in one draw of 64 bits.
const WORDS_A_DRAW: u32 = 7;
/// Bits of half a nonce.
const HALF: u32 = NONCE_WORDS * WORD_BITS / 2;

/// Purpose of a text. Texts of two purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A measured prompt.
    Measured,
    /// A prompt of the warm-up.
    Warmup,
    /// A shared head.
    Group,
    /// A block of a trace, by its hash.
    Block,
    /// Asked before the load.
    Probe,
}

impl Purpose {
    const fn key(self) -> &'static str {
        match self {
            Self::Measured => "load|text|measured",
            Self::Warmup => "load|text|warmup",
            Self::Group => "load|text|group",
            Self::Block => "load|text|block",
            Self::Probe => "load|text|probe",
        }
    }
}

/// A text of the plan, without its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text {
    /// Its purpose.
    pub purpose: Purpose,
    /// Its number among those.
    pub number: u64,
    /// Whether a nonce of the run is at its head.
    pub nonce: bool,
}

/// Writes texts of one seed and one nonce.
#[derive(Debug, Clone, Copy)]
pub struct TextWriter {
    seed: u64,
    nonce: u64,
}

impl TextWriter {
    /// Of the settings' seed and nonce.
    pub const fn new(seed: u64, nonce: u64) -> Self {
        Self { seed, nonce }
    }

    /// Writes the first `words` words of a text behind what `out` holds, with a space between the two.
    pub fn write(&self, text: Text, words: u32, out: &mut String) {
        // The longest word has seven letters.
        out.reserve(words as usize * 8);
        let mut put = |word: usize| {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(WORDS[word & 511]);
        };
        let mut left = words;
        if text.nonce {
            let mut code = self.nonce_of(text);
            for _ in 0..NONCE_WORDS.min(left) {
                put(code as usize);
                code >>= WORD_BITS;
            }
            left -= NONCE_WORDS.min(left);
        }
        let mut stream = self.stream(text);
        while left > 0 {
            let mut bits = stream.next_u64();
            for _ in 0..WORDS_A_DRAW.min(left) {
                put(bits as usize);
                bits >>= WORD_BITS;
            }
            left -= WORDS_A_DRAW.min(left);
        }
    }

    /// Tells texts apart in the plan's file: the first draw of its words, which the nonce of the run does not touch.
    pub fn mark(&self, text: Text) -> u64 {
        self.stream(text).next_u64()
    }

    fn stream(&self, text: Text) -> Stream {
        Stream::new(job_base(self.seed, text.purpose.key()), text.number)
    }

    /// Thirty-six bits: a permutation of the text's number in four rounds of Feistel's, keyed by the run.
    fn nonce_of(&self, text: Text) -> u64 {
        let key = job_base(mix(self.nonce ^ self.seed.rotate_left(32)), text.purpose.key());
        let mask = (1u64 << HALF) - 1;
        let (mut left, mut right) = ((text.number >> HALF) & mask, text.number & mask);
        for round in 0..4 {
            (left, right) = (right, left ^ (mix(key ^ (right << 8) ^ round) & mask));
        }
        (left << HALF) | right
    }
}

/// All words once, in one text.
pub fn all_words() -> String {
    WORDS.join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn text(purpose: Purpose, number: u64, nonce: bool) -> Text {
        Text { purpose, number, nonce }
    }

    fn made(writer: TextWriter, what: Text, words: u32) -> String {
        let mut out = String::new();
        writer.write(what, words, &mut out);
        out
    }

    #[test]
    fn words_are_plain_and_all_different() {
        assert_eq!(WORDS.iter().collect::<HashSet<_>>().len(), 512);
        assert!(WORDS.iter().all(|word| word.len() <= 7 && word.bytes().all(|byte| byte.is_ascii_lowercase())));
    }

    #[test]
    fn a_text_has_so_many_words_and_begins_like_a_longer_one() {
        let writer = TextWriter::new(42, 7);
        for nonce in [false, true] {
            let long = made(writer, text(Purpose::Measured, 3, nonce), 100);
            for words in [0, 1, 2, 4, 5, 11, 12, 99] {
                let short = made(writer, text(Purpose::Measured, 3, nonce), words);
                assert_eq!(short.split_whitespace().count(), words as usize);
                assert!(long.starts_with(&short));
            }
        }
    }

    #[test]
    fn no_two_prompts_share_their_first_words_when_cold() {
        let writer = TextWriter::new(42, 99);
        let heads: HashSet<String> =
            (0..20_000).map(|i| made(writer, text(Purpose::Measured, i, true), NONCE_WORDS)).collect();
        assert_eq!(heads.len(), 20_000);
        // Nor with an earlier run of the same seed.
        let other = TextWriter::new(42, 100);
        assert!((0..20_000).all(|i| !heads.contains(&made(other, text(Purpose::Measured, i, true), NONCE_WORDS))));
        // First words alone: as different as 512 words allow.
        let firsts: HashSet<String> = (0..20_000).map(|i| made(writer, text(Purpose::Measured, i, true), 1)).collect();
        assert_eq!(firsts.len(), 512);
    }

    #[test]
    fn a_nonce_changes_the_head_alone() {
        let (one, other) = (
            made(TextWriter::new(1, 1), text(Purpose::Measured, 5, true), 40),
            made(TextWriter::new(1, 2), text(Purpose::Measured, 5, true), 40),
        );
        let tail = |text: &str| text.split(' ').skip(4).map(str::to_owned).collect::<Vec<_>>();
        assert_ne!(one, other);
        assert_eq!(tail(&one), tail(&other));
        assert_ne!(tail(&one), tail(&made(TextWriter::new(2, 1), text(Purpose::Measured, 5, true), 40)));
        assert_ne!(tail(&one), tail(&made(TextWriter::new(1, 1), text(Purpose::Warmup, 5, true), 40)));
    }
}
