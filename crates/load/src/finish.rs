//! What the reason for which an answer ended says of it.
//!
//! In:  `finish_reason` as a server gives it.  Out: [`Finish`].
//! Not here: what becomes of the request (see `engine::outcome`), which reasons a summary names.
//!
//! The words are those of the APIs and engines that were read in 2026: OpenAI, vLLM, SGLang, TensorRT-LLM, llama.cpp, TGI, Anthropic, Gemini,
//! Cohere, Mistral, DeepSeek, Zhipu, Dynamo. Capitals do not matter, and what stands behind a colon is a message.

/// Ends as an answer ends: by itself, by a call, at a length.
const WHOLE: &[&str] = &[
    "stop",
    "length",
    "tool_calls",
    "tool_call",
    "tool_use",
    "function_call",
    "eos",
    "eos_token",
    "stop_sequence",
    "stop_word",
    "end_turn",
    "end_id",
    "complete",
    "completed",
    "max_tokens",
    "max_length",
    "model_length",
    "model_context_window_exceeded",
    "pause_turn",
    "repetition",
];
/// The server gave it up: vLLM and SGLang say `abort`, TensorRT-LLM `cancelled` or `timeout`, gateways and hosted models the others.
const GIVEN_UP: &[&str] = &[
    "abort",
    "aborted",
    "error",
    "cancelled",
    "canceled",
    "timeout",
    "network_error",
    "connection_error",
    "server_error",
    "internal_error",
    "engine_error",
    "model_error",
    "failed",
    "failure",
    "insufficient_system_resource",
    "malformed_function_call",
    "load_shed",
];
/// A filter cut it.
const FILTERED: &[&str] = &[
    "content_filter",
    "content_filtered",
    "content-filter",
    "safety",
    "sensitive",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "guardrail_intervened",
    "error_toxic",
    "refusal",
];

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// It came whole, or as long as it was to be.
    Whole,
    /// The server gave it up.
    GivenUp,
    /// A filter of content cut it.
    Filtered,
    /// Nobody here knows the word.
    Unknown,
}

impl Finish {
    /// By its word.
    pub(crate) fn of(reason: &str) -> Self {
        let word = reason.split(':').next().unwrap_or_default().trim();
        let among = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
        match word {
            _ if among(WHOLE) => Self::Whole,
            _ if among(GIVEN_UP) => Self::GivenUp,
            _ if among(FILTERED) => Self::Filtered,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_whether_the_answer_is_whole() {
        for (reason, finish) in [
            ("stop", Finish::Whole),
            ("STOP", Finish::Whole),
            ("length", Finish::Whole),
            ("tool_calls", Finish::Whole),
            ("abort", Finish::GivenUp),
            ("Error: out of blocks", Finish::GivenUp),
            ("network_error", Finish::GivenUp),
            ("content_filter", Finish::Filtered),
            ("SAFETY", Finish::Filtered),
            ("glorious", Finish::Unknown),
            ("", Finish::Unknown),
        ] {
            assert_eq!(Finish::of(reason), finish, "{reason}");
        }
    }

    #[test]
    fn no_word_has_two_meanings() {
        let all: Vec<&str> = [WHOLE, GIVEN_UP, FILTERED].concat();
        assert!(all.iter().enumerate().all(|(place, word)| !all.iter().skip(place + 1).any(|other| other == word)));
    }
}
