//! One line of `requests.jsonl`: when a request was sent, when each part of its answer came, and how it ended.
//!
//! In:  nothing.  Out: [`RequestWire`], [`Delivery`].
//! Not here: what latencies are made of these times (see `docs/definitions.md`).

use serde::{Deserialize, Serialize};

/// One line of `requests.jsonl`. Times are seconds on one monotonic clock of the run, `sparkbench load` counts them from its start.
/// Every field but `index` and `status` may be absent, and is then left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestWire {
    /// Place in the order of sending, from 0.
    pub index: u64,
    /// Name of the test, where one launch makes several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// True for requests before the measured window. They are excluded from all figures.
    #[serde(skip_serializing_if = "is_false")]
    pub warmup: bool,
    /// Part of the load: `probe`, `prime`, `warmup`, `measured`. A request with another part than `measured` is excluded from all figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// `x-request-id` as sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Number of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<u32>,
    /// Number of the user's turn in it, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Client that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<u32>,
    /// When the schedule wanted it sent. Absent in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended_s: Option<f64>,
    /// When it was sent: just before its first byte, or before connecting where there was no connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_s: Option<f64>,
    /// When the connection was there, where one had to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected_s: Option<f64>,
    /// When its last byte had been handed to the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_s: Option<f64>,
    /// First byte of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_s: Option<f64>,
    /// Last byte of the response's head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers_s: Option<f64>,
    /// First event with `choices`, whatever it carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_event_s: Option<f64>,
    /// When the first output token came: reasoning, content or part of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_s: Option<f64>,
    /// When we had read it. `first_token_s` is then the kernel's time. Absent where the platform gives no such time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_read_s: Option<f64>,
    /// First piece of reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_reasoning_s: Option<f64>,
    /// First piece that a user sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_content_s: Option<f64>,
    /// Second generated piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_token_s: Option<f64>,
    /// When each further piece of output came. A piece may hold several tokens. Absent where `chunks.sbc` has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub further_tokens_s: Vec<f64>,
    /// Last generated piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_token_s: Option<f64>,
    /// End of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_s: Option<f64>,
    /// Input tokens, as reported by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u32>,
    /// Of these, served from the prefix cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u32>,
    /// Output tokens, as reported by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// Of these, reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u32>,
    /// Output tokens in the first generated piece, where the server counts along.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_tokens: Option<u32>,
    /// Input tokens that the plan wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_asked: Option<u32>,
    /// Input tokens of what was sent, counted by a local tokenizer, without the server's template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_sent: Option<u32>,
    /// Output tokens that the plan wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_asked: Option<u32>,
    /// Whether exactly this number was requested.
    #[serde(skip_serializing_if = "is_false")]
    pub output_exact: bool,
    /// Events of the stream, comments and `[DONE]` not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u32>,
    /// Events with a generated piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pieces: Option<u32>,
    /// Of these without text: tokens that show nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_pieces: Option<u32>,
    /// Bytes of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes of generated text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// Whether `[DONE]` came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<bool>,
    /// As given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The model that the response names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Status line's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<u16>,
    /// As given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// Its connection had answered requests before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reused: Option<bool>,
    /// Times it was sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resent: Option<u32>,
    /// `ok`, `short` (answered with fewer tokens than exactly asked for), or the kind of failure.
    pub status: String,
    /// Message of the server or the client about a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl RequestWire {
    /// [`RequestWire::status`] of a request that was answered to its end.
    pub const OK: &'static str = "ok";
    /// [`RequestWire::status`] of one that was answered with fewer tokens than were asked for.
    pub const SHORT: &'static str = "short";
    /// [`RequestWire::phase`] of what is measured.
    pub const MEASURED: &'static str = "measured";

    /// Whether it belongs to the measured part.
    pub fn measured(&self) -> bool {
        !self.warmup && self.phase.as_deref().is_none_or(|phase| phase == Self::MEASURED)
    }

    /// Whether its times enter latencies.
    pub fn answered(&self) -> bool {
        self.status == Self::OK || self.status == Self::SHORT
    }

    /// When the last piece of output came.
    pub fn last_token_s(&self) -> Option<f64> {
        self.last_token_s.or_else(|| self.further_tokens_s.last().copied()).or(self.first_token_s)
    }
}

/// Chunks from which on a span holds the tokens of its answer, whatever the first of them held.
const SPAN_CHUNKS: u32 = 4;
/// Tokens a chunk beyond which fewer chunks hold no span.
const SPAN_TOKENS: u32 = 4;

/// Chunks and tokens of one answer.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    pub chunks: Option<u32>,
    pub tokens: Option<u32>,
    /// Tokens of the first chunk, where the server counts along.
    pub first_tokens: Option<u32>,
    /// Whether the first and the last token came at the same moment.
    pub one_moment: bool,
    /// Whether reasoning was counted that may be within the chunks or may not have been sent.
    pub unplaced: bool,
}

impl Delivery {
    /// Whether all of several tokens came at one moment.
    pub fn whole(&self) -> bool {
        self.one_moment && self.tokens.is_some_and(|tokens| tokens > self.first_tokens.unwrap_or(1))
    }

    /// Whether the time from the first to the last token says nothing about the time of each: a few chunks bring many uncounted tokens, most
    /// of which may have come before the first chunk or with it, or all tokens came at one moment, or nobody knows which tokens came.
    pub fn spans_nothing(&self) -> bool {
        let few = self.first_tokens.is_none()
            && self
                .chunks
                .zip(self.tokens)
                .is_some_and(|(chunks, tokens)| chunks < SPAN_CHUNKS && tokens > chunks.saturating_mul(SPAN_TOKENS));
        few || self.unplaced || self.whole()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
