//! What one event of an answer says: a piece of text, a count, an end, an error.
//!
//! In:  the data of an event.  Out: [`Delta`].
//! Not here: event framing (see [`super::events`]), what an `event: error` means (see `load::engine`), counting tokens.
//!
//! Chat answers (`choices[].delta`) and completions (`choices[].text`) are read alike; which keys are there decides. Decisions:
//! - Text of reasoning comes as `reasoning` or `reasoning_content`; where both are there and equal, it counts once.
//! - Where an event has content and reasoning, [`Delta::kind`] and [`Delta::text`] are those of the content; [`Delta::text_bytes`]
//!   counts both. Order of the kinds: content, reasoning, tool, refusal.
//! - We ask for one choice. Should a server send several, the text of each counts: all of it was generated.
//! - An empty string is no text. With it alone an event is [`ChunkKind::Silent`], with a reason to end [`ChunkKind::Closing`]: either
//!   may stand for a token that shows nothing. A role and an empty delta are [`ChunkKind::Empty`].
//! - `usage` is taken where servers put it: at the top, or in a choice; cached tokens as `prompt_tokens_details.cached_tokens` or
//!   `prompt_cache_hit_tokens`, reasoning tokens as `completion_tokens_details.reasoning_tokens` or `reasoning_tokens` (SGLang).
//!   Without a `usage`, the `timings` of llama-server: `predicted_n`; `prompt_n` leaves out what was cached, so the input is known
//!   only with `cache_n` beside it.
//! - An error is `error` (an object with a `message`, or text), or, without `choices`, a `message` or `detail` at the top.
//! - What has the wrong type is treated as absent: a count of `"12"` is no count. Only what is no JSON object is a fault.

use std::borrow::Cow;

use super::fault::Fault;
use super::parse::parse;
use super::raw::Raw;
use super::shape::Shapes;
use crate::load::order::{ChunkKind, Usage};

/// Longest error text that is kept, characters.
pub const ERROR_LIMIT: usize = 300;

/// What an event says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delta<'a> {
    /// A `choices` entry was there, whatever it said.
    pub choice: bool,
    /// What the event carried.
    pub kind: ChunkKind,
    /// Bytes of generated text, escapes resolved; of every kind together.
    pub text_bytes: u32,
    /// The text of [`Delta::kind`]; empty without. For a part of a call of a tool: its name or, without, its arguments.
    pub text: Raw<'a>,
    /// Tokens generated so far, where the server counts along: `usage` beside a choice.
    pub tokens: Option<u32>,
    /// Tokens of this event, where the server names each (`token_ids`).
    pub ids: Option<u32>,
    /// What the server counted so far.
    pub usage: Option<Usage>,
    /// `finish_reason` as given; absent when null or empty.
    pub finish: Option<Cow<'a, str>>,
    /// The model that the event names.
    pub model: Option<Cow<'a, str>>,
    /// What the server says went wrong: one line, at most [`ERROR_LIMIT`] characters. Secrets are not removed here.
    pub error: Option<String>,
    /// The event is `[DONE]`.
    pub done: bool,
}

/// Reader of events, of one answer or of many; events alike those before are read without parsing (see `super::shape`).
#[derive(Debug, Default)]
pub struct Deltas {
    shapes: Shapes,
}

impl Deltas {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the data of one event says. Empty data says nothing.
    ///
    /// What was read before makes it fast and never changes what it gives.
    pub fn read<'a>(&mut self, data: &'a [u8]) -> Result<Delta<'a>, Fault> {
        if let Some(delta) = self.shapes.read(data) {
            return Ok(delta);
        }
        let mut notes = None;
        let delta = parse(data, &mut notes)?;
        if let Some(notes) = notes {
            self.shapes.learn(data, &notes, &delta);
        }
        Ok(delta)
    }

    /// The same without remembering or using anything: what [`Deltas::read`] must give, at its full price.
    pub fn read_anew(data: &[u8]) -> Result<Delta<'_>, Fault> {
        parse(data, &mut None)
    }
}
