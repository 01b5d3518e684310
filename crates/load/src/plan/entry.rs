//! One request of the plan, without its text.
//!
//! In:  nothing.  Out: [`Entry`], [`PromptSpec`], [`PromptHead`].
//! Not here: which entry has which (see [`super::Plan`]), the words (see `text`).

use super::text::Text;
use crate::order::Phase;

/// One request of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Place in the plan, from 0.
    pub index: u64,
    /// Its part of the load.
    pub phase: Phase,
    /// When it is due, nanoseconds from the start of the measured part. Absent in a closed loop, in the warm-up and while priming.
    pub at: Option<u64>,
    /// Input tokens that the server should report. Absent for a prompt of a file that says nothing of them.
    pub isl: Option<u32>,
    /// Output tokens.
    pub osl: u32,
    /// Number of the head it shares, from 0.
    pub prefix_group: Option<u32>,
    /// The request.
    pub prompt: PromptSpec,
}

/// Where the prompt of an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptSpec {
    /// Made text behind a shared head.
    Made {
        /// Text before its own text.
        head: PromptHead,
        /// Its own text.
        own: Text,
    },
    /// Line of the file, counted from 0 among those that are not empty. With a nonce of the run and the request, or as it is.
    Line(u64, Option<Text>),
}

/// The shared head of a made prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptHead {
    None,
    /// A text of a group, and its tokens.
    Group(Text, u32),
    /// The blocks of a line of the trace. The first has a nonce of the run, or not.
    Blocks(u64, bool),
}
