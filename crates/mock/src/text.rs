//! The mock's words and its tokenizer.
//!
//! In:  text.  Out: its tokens, and the words that answers are made of.
//! Not here: JSON around them (see `job`).
//!
//! A token is a run of characters that are not white space. Each word of an answer begins with its space, as the tokens of most models do.
//! So the pieces of an answer joined have as many tokens as there were pieces.

/// Tokens that the chat template adds to each message.
pub(crate) const TEMPLATE_TOKENS: u32 = 4;

/// A word of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    /// As a reader sees it.
    pub text: &'static str,
    /// Between the quotes of JSON.
    pub json: &'static str,
}

const fn same(text: &'static str) -> Word {
    Word { text, json: text }
}

/// Words of answers, in turn: plain ones, and ones that readers of streams get wrong. Those have characters of several bytes, escapes, or
/// look like parts of the stream.
pub(crate) const WORDS: [Word; 24] = [
    same(" tok"),
    same(" größer"),
    same(" the"),
    same(" データ"),
    Word { text: " \"quoted\"", json: " \\\"quoted\\\"" },
    same(" spark"),
    same(" 😀"),
    same(" latency"),
    Word { text: " café", json: " caf\\u00e9" },
    same(" data:"),
    same(" machine,"),
    Word { text: " 🚀", json: " \\ud83d\\ude80" },
    same(" benchmark"),
    same(" 数据"),
    Word { text: " back\\slash", json: " back\\\\slash" },
    same(" [DONE]"),
    same(" of"),
    same(" naïve"),
    same(" {}"),
    same(" данные"),
    same(" word"),
    same(" a"),
    same(" end."),
    same(" tokens"),
];

/// Words that need no escape and no second byte, for arguments of tools, which are JSON within JSON.
const PLAIN: [Word; 6] =
    [same(" tok"), same(" spark"), same(" latency"), same(" benchmark"), same(" word"), same(" end.")];

/// Word k of an answer.
pub(crate) fn word(k: u32) -> Word {
    WORDS[k as usize % WORDS.len()]
}

/// Word k of an answer that has only plain ASCII words.
pub(crate) fn plain_word(k: u32) -> Word {
    PLAIN[k as usize % PLAIN.len()]
}

/// The words of a text. White space is that of ASCII: cheap, and the same in any language that a test is written in.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_n_words_has_n_tokens() {
        let text: String = (0..100).map(|k| word(k).text).collect();
        assert_eq!(words(&text).count(), 100);
        assert_eq!(words("  two\n words\t").count(), 2);
        assert_eq!(words("").count(), 0);
    }

    #[test]
    fn every_word_is_what_its_json_says() {
        for word in WORDS {
            let text: String = serde_json::from_str(&format!("\"{}\"", word.json)).unwrap();
            assert_eq!(text, word.text);
        }
        assert!(PLAIN.iter().all(|word| word.text.is_ascii() && word.text == word.json));
    }
}
