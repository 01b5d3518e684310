//! The content of one event: a piece of text, a count, an end, an error.
//!
//! In:  the data of an event.  Out: [`Delta`].
//! Not here: event framing (see [`super::events`]), what an `event: error` means (see `load::engine`), counting tokens.
//!
//! Chat answers (`choices[].delta`) and completions (`choices[].text`) are read alike. Which keys are there decides. Decisions:
//! - Text of reasoning comes as `reasoning` or `reasoning_content`, or under a few names like them. Where two are there and equal, it counts
//!   once.
//! - Where an event has content and reasoning, [`Delta::kind`] and [`Delta::text`] are those of the content. [`Delta::text_bytes`]
//!   counts both. Order of the kinds: content, reasoning, tool, refusal.
//! - We ask for one choice, and a load that would ask for several is refused. Should a server send several, the text of each counts: all
//!   of it was generated.
//! - An empty string is no text. With it alone an event is [`ChunkKind::Silent`], with a reason to end [`ChunkKind::Closing`]: either
//!   may stand for a token that shows nothing. So may a delta with nothing in it ([`ChunkKind::Bare`]), and one with text in a field that is
//!   not known ([`ChunkKind::Unread`]). A role without text is [`ChunkKind::Empty`].
//! - `usage` is taken where servers put it: at the top, or in a choice. Cached tokens as `prompt_tokens_details.cached_tokens` or
//!   `prompt_cache_hit_tokens`, reasoning tokens as `completion_tokens_details.reasoning_tokens` or `reasoning_tokens` (SGLang).
//!   Without a `usage`, the `timings` of llama-server: `predicted_n`. `prompt_n` leaves out what was cached, so the input is known
//!   only with `cache_n` beside it.
//! - An error is `error` (an object with a `message`, or text), or, without `choices`, a `message` or `detail` at the top.
//! - What has the wrong type is treated as absent: a count of `"12"` is no count. Only what is no JSON object is a fault.

use std::borrow::Cow;

use super::raw::Raw;
use crate::order::{ChunkKind, Usage};

/// Longest error text that is kept, characters.
pub(crate) const ERROR_LIMIT: usize = 300;

/// Content of an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delta<'a> {
    /// A `choices` entry was there, whatever it said.
    pub choice: bool,
    /// Content of the event.
    pub kind: ChunkKind,
    /// Bytes of generated text, escapes resolved. Of every kind together.
    pub text_bytes: u32,
    /// The text of [`Delta::kind`]. Empty without. For a part of a call of a tool: its name or, without, its arguments.
    pub text: Raw<'a>,
    /// Tokens generated so far, where the server counts along: `usage` beside a choice.
    pub tokens: Option<u32>,
    /// Tokens of this event, where the server names each (`token_ids`).
    pub ids: Option<u32>,
    /// Counts of the server so far.
    pub usage: Option<Usage>,
    /// `finish_reason` as given. Absent when null or empty.
    pub finish: Option<Cow<'a, str>>,
    /// The model that the event names.
    pub model: Option<Cow<'a, str>>,
    /// The server's error: one line, at most `ERROR_LIMIT` characters. Secrets are not removed here.
    pub error: Option<String>,
    /// The event is `[DONE]`.
    pub done: bool,
}
