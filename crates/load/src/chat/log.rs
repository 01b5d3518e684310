//! `conversations.jsonl`: one line for each conversation at its end, with every answer in full. Writer and reader.
//!
//! In:  a conversation that has ended.  Out: a line.
//! Not here: masking of secrets and the place of the file (see `archive`), the times of single tokens (see `chunks.sbc`).
//!
//! ```text
//! {"id":"tides","conversation":0,"client":1,"ended":"done","planned_turns":2,"not_sent":0,
//!  "messages":[{"role":"user","content":"..."},{"role":"assistant","content":"..."}, ...],
//!  "requests":[{"turn":0,"request":0,"phase":"measured","status":"ok","input_tokens":12,"output_tokens":5,"cached_tokens":null,
//!               "intended_s":null,"sent_s":0.0008,"first_token_s":0.0512,"last_token_s":0.091,"end_s":0.0911,"finish":"length","error":null,
//!               "answer":null}, ...]}
//! ```
//!
//! `messages` is the history as it was sent, byte for byte. It holds the live answers, or the recorded ones where those were requested. It
//! has the shape of the input, so the file can be the input of another load. `answer` holds the answer to a turn where `messages` lacks it.
//! That is part of a failed answer, or a live answer beside a recorded one. `turn` counts the user's turns from 0 and `request` is the
//! `index` of `requests.jsonl`. Times are seconds from the start of the load, as there.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::order::{Phase, Record, Status, Usage};
use sparkbench_host::net::Ns;

/// Name of the file in the folder of a load.
pub(crate) const CONVERSATIONS_FILE: &str = "conversations.jsonl";

/// The part of a [`Record`] that a conversation keeps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ended {
    /// Client over all machines.
    pub client: u32,
    /// Turn of the user, from 0.
    pub turn: u32,
    /// [`Record::index`].
    pub index: u64,
    /// [`Record::phase`].
    pub phase: Phase,
    /// [`Record::status`].
    pub status: Status,
    /// [`Record::usage`].
    pub usage: Usage,
    /// [`Record::intended`].
    pub intended: Option<Ns>,
    /// [`Record::sent`].
    pub sent: Option<Ns>,
    /// First generated piece.
    pub first_token: Option<Ns>,
    /// Last generated piece.
    pub last_token: Option<Ns>,
    /// End of the response.
    pub end: Option<Ns>,
    /// [`Record::finish`].
    pub finish: Option<String>,
    /// [`Record::error`].
    pub error: Option<String>,
}

impl Ended {
    /// Of a record.
    pub fn of(record: &Record, client: u32, turn: u32) -> Self {
        Self {
            client,
            turn,
            index: record.index,
            phase: record.phase,
            status: record.status,
            usage: record.usage,
            intended: record.intended,
            sent: record.sent,
            first_token: record.first_token.map(sparkbench_host::net::Stamp::at),
            last_token: record.last_token.map(sparkbench_host::net::Stamp::at),
            end: record.end.map(sparkbench_host::net::Stamp::at),
            finish: record.finish.clone(),
            error: record.error.clone(),
        }
    }
}

/// How a conversation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Why {
    /// Every turn was answered.
    Done,
    /// A turn failed.
    Failed,
    /// The load ended first.
    Cut,
}

/// A request of a conversation, as it is written and read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// User's turn, from 0.
    pub turn: u32,
    /// Place in the plan.
    pub request: u64,
    /// `warmup` or `measured`.
    pub phase: String,
    /// Word of the status.
    pub status: String,
    /// As the server counted.
    pub input_tokens: Option<u32>,
    /// As the server counted.
    pub output_tokens: Option<u32>,
    /// As the server counted.
    pub cached_tokens: Option<u32>,
    /// From the start of the load.
    pub intended_s: Option<f64>,
    /// From the start of the load.
    pub sent_s: Option<f64>,
    /// From the start of the load.
    pub first_token_s: Option<f64>,
    /// From the start of the load.
    pub last_token_s: Option<f64>,
    /// From the start of the load.
    pub end_s: Option<f64>,
    /// As the server gave it.
    pub finish: Option<String>,
    /// Message of a failure.
    pub error: Option<String>,
    /// The answer, where the messages do not have it.
    pub answer: Option<String>,
}

impl Request {
    /// As it is written, with times counted from `origin`.
    pub(crate) fn of(ended: &Ended, answer: Option<String>, origin: Ns) -> Self {
        // What lies before the origin is negative, as in requests.jsonl.
        let s = |at: Option<Ns>| at.map(|at| at.wrapping_sub(origin).cast_signed() as f64 / 1e9);
        Self {
            turn: ended.turn,
            request: ended.index,
            phase: match ended.phase {
                Phase::Probe => "probe",
                Phase::Prime => "prime",
                Phase::Warmup => "warmup",
                Phase::Measured => "measured",
            }
            .to_owned(),
            status: ended.status.word().to_owned(),
            input_tokens: ended.usage.input,
            output_tokens: ended.usage.output,
            cached_tokens: ended.usage.cached,
            intended_s: s(ended.intended),
            sent_s: s(ended.sent),
            first_token_s: s(ended.first_token),
            last_token_s: s(ended.last_token),
            end_s: s(ended.end),
            finish: ended.finish.clone(),
            error: ended.error.clone(),
            answer,
        }
    }
}

/// Text before the messages of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConversationHead {
    /// Name of the conversation.
    pub id: String,
    /// Its number over all machines.
    pub conversation: u32,
    /// Client that led it, over all machines.
    pub client: u32,
    /// How it ended.
    pub ended: Why,
    /// Turns of the user that it was to have.
    pub planned_turns: u32,
    /// Of them, never sent.
    pub not_sent: u32,
}

/// Writes a line. `messages` are serialised already, without their brackets.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(
    out: &mut dyn Write,
    head: &ConversationHead,
    messages: &[u8],
    requests: &[Request],
) -> std::io::Result<()> {
    let head = serde_json::to_string(head)?;
    out.write_all(head.strip_suffix('}').unwrap_or(&head).as_bytes())?;
    out.write_all(b",\"messages\":[")?;
    out.write_all(messages)?;
    out.write_all(b"],\"requests\":")?;
    serde_json::to_writer(&mut *out, requests)?;
    out.write_all(b"}\n")
}
