//! A request in flight: the received part of its answer, and the resulting status.
//!
//! In:  bytes of a connection with the stamp of the read that gave them.  Out: chunks to the sink, a [`Record`] at the end.
//! Not here: connections, time-outs, sending again (see the engine), reading HTTP and events (see `wire`).
//!
//! The time of an event is the stamp of the read that completed it. It was taken before anything was parsed.

use super::error_text;
use super::hidden::Unseen;
use crate::order::{Chunk, ChunkKind, Order, Phase, Record, ResendCause, Sink, Status, Usage};
use crate::wire::{Deltas, Event, EventStream, Fault, Response, ResponseHead, ResponsePart, ResponseProgress};
use sparkbench_host::net::{Ns, Stamp};

/// Chunks that are handed to the sink at a time.
pub(super) const BATCH: usize = 128;
/// Bytes of a body that is no event stream which are kept for a message.
const BODY_KEPT: usize = 64 * 1024;
/// Bytes after which a body that is no event stream is not read any further.
const BODY_MAX: u64 = 1 << 20;

/// How the body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Events,
    /// Something else, for a message.
    Other,
}

/// Result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// More is to come.
    More,
    /// The answer is complete.
    Complete {
        /// Bytes of the read that are its own.
        used: usize,
    },
    /// There is no use in reading on: [`Job::outcome`] says why.
    Hopeless,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct Job {
    /// Events so far.
    pub record: Record,
    /// The body, kept as long as it may have to be sent again.
    pub request: Vec<u8>,
    /// Text of the answer, where requested.
    pub text: Option<Vec<u8>>,
    /// When it is given up.
    pub deadline: Ns,
    /// Sent again because its connection had been closed.
    pub anew: bool,
    /// Tries left after a refusal.
    pub retries: u32,
    pub(super) body: Body,
    pub(super) typed: Option<String>,
    pub(super) untyped: bool,
    pub(super) location: Option<String>,
    pub(super) challenge: Option<String>,
    keep_alive: bool,
    pub(super) kept: Vec<u8>,
    tokens: u32,
    given: u32,
    /// Chunks without text, until the server's count says what they were.
    pub(super) unseen: Unseen,
    pub(super) in_stream: Option<String>,
    pub(super) fault: Option<String>,
}

impl Job {
    /// Nothing has happened yet.
    pub(super) fn new(order: Order, retries: u32) -> Self {
        let record = Record {
            index: order.index,
            phase: order.phase,
            turn: order.turn,
            request_id: order.request_id,
            asked: order.asked,
            intended: order.intended,
            ..Record::default()
        };
        Self {
            record,
            request: order.body,
            text: order.keep_text.then(Vec::new),
            deadline: 0,
            anew: false,
            retries,
            body: Body::Other,
            typed: None,
            untyped: false,
            location: None,
            challenge: None,
            keep_alive: false,
            kept: Vec::new(),
            tokens: 0,
            given: 0,
            unseen: Unseen::default(),
            in_stream: None,
            fault: None,
        }
    }

    /// As if nothing of an answer had come, to be sent again. What was sent first stays as it was.
    pub(super) fn again(&mut self, cause: ResendCause) {
        let mut old = std::mem::take(&mut self.record);
        old.resends[cause as usize] += 1;
        self.record = Record {
            index: old.index,
            phase: old.phase,
            turn: old.turn,
            request_id: old.request_id,
            asked: old.asked,
            intended: old.intended,
            sent: old.sent,
            retry_after: old.retry_after,
            resent: old.resent + 1,
            resends: old.resends,
            ..Record::default()
        };
        if let Some(text) = &mut self.text {
            text.clear();
        }
        (self.typed, self.location, self.challenge, self.in_stream, self.fault) = (None, None, None, None, None);
        (self.body, self.untyped, self.keep_alive) = (Body::Other, false, false);
        self.kept.clear();
        (self.tokens, self.given, self.unseen) = (0, 0, Unseen::default());
    }

    /// Takes what was read.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        stamp: Stamp,
        (response, events): (&mut Response, &mut EventStream),
        deltas: &mut Deltas,
        chunks: &mut Vec<Chunk>,
        sink: &mut dyn Sink,
    ) -> Taken {
        if self.record.first_byte.is_none() {
            self.record.first_byte = Some(stamp);
        }
        let fed = response.feed(bytes, &mut |part| match part {
            ResponsePart::Head(head) => self.head(head, stamp),
            ResponsePart::Body(body) => {
                self.record.bytes += body.len() as u64;
                if self.fault.is_some() {
                    return;
                }
                match self.body {
                    Body::Events => {
                        if self.untyped {
                            self.keep(body);
                        }
                        let read = events.feed(body, &mut |event| self.event(&event, stamp, deltas, chunks, sink));
                        self.wrong(read);
                    }
                    Body::Other => self.keep(body),
                }
            }
        });
        if self.fault.is_some() {
            // We end it here.
            self.record.end = Some(stamp);
            return Taken::Hopeless;
        }
        match fed {
            Ok(ResponseProgress::Complete { used }) => {
                self.record.end = Some(stamp);
                if self.body == Body::Events {
                    let read = events.closed(&mut |event| self.event(&event, stamp, deltas, chunks, sink));
                    self.wrong(read);
                }
                Taken::Complete { used }
            }
            Ok(ResponseProgress::More) if self.body == Body::Other && self.record.bytes > BODY_MAX => {
                self.record.end = Some(stamp);
                Taken::Hopeless
            }
            Ok(ResponseProgress::More) => Taken::More,
            Err(fault) => {
                self.record.end = Some(stamp);
                // An alert of TLS is how such a server says that it understood nothing.
                let alert = self.record.http.is_none() && bytes.starts_with(&[0x15, 3]);
                self.fault = Some(if alert {
                    "the server speaks TLS. Give its address with https://".to_owned()
                } else {
                    fault.to_string()
                });
                Taken::Hopeless
            }
        }
    }

    /// The connection ended. `error` is what the system says, absent for an orderly end.
    pub(super) fn closed(
        &mut self,
        stamp: Stamp,
        error: Option<String>,
        (response, events): (&mut Response, &mut EventStream),
        deltas: &mut Deltas,
        chunks: &mut Vec<Chunk>,
        sink: &mut dyn Sink,
    ) -> Status {
        self.record.end = Some(stamp);
        let whole = match error {
            Some(error) => Err(error),
            None => response.closed().map_err(|fault| fault.to_string()),
        };
        if whole.is_ok() && self.body == Body::Events {
            let read = events.closed(&mut |event| self.event(&event, stamp, deltas, chunks, sink));
            self.wrong(read);
        }
        match whole {
            // After [DONE] nothing is missing but manners.
            Err(error) if !self.record.done && self.in_stream.is_none() && self.fault.is_none() => {
                self.record.error = Some(error);
                Status::Broken
            }
            _ => Status::Ok,
        }
    }

    fn wrong(&mut self, read: Result<(), Fault>) {
        if let (Err(fault), None) = (read, &self.fault) {
            self.fault = Some(fault.to_string());
        }
    }

    fn keep(&mut self, body: &[u8]) {
        let room = (if self.untyped { 4 * error_text::EXCERPT } else { BODY_KEPT }).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&body[..body.len().min(room)]);
    }

    fn head(&mut self, head: &ResponseHead, stamp: Stamp) {
        let record = &mut self.record;
        record.headers = Some(stamp);
        record.http = Some(head.status);
        if head.retry_after.is_some() {
            record.retry_after.clone_from(&head.retry_after);
        }
        self.keep_alive = head.keep_alive;
        self.location.clone_from(&head.location);
        self.challenge.clone_from(&head.www_authenticate);
        let kind = head.content_type.as_deref().map(|kind| kind.trim().to_ascii_lowercase());
        self.untyped = kind.is_none();
        let stream = kind.as_deref().is_none_or(|kind| kind.starts_with("text/event-stream"));
        self.body = if head.status == 200 && stream { Body::Events } else { Body::Other };
        self.typed = head.content_type.clone().filter(|_| !stream);
    }

    fn event(
        &mut self,
        event: &Event<'_>,
        stamp: Stamp,
        deltas: &mut Deltas,
        chunks: &mut Vec<Chunk>,
        sink: &mut dyn Sink,
    ) {
        if self.fault.is_some() {
            return;
        }
        let delta = match deltas.read(event.data) {
            Ok(delta) => delta,
            Err(fault) => {
                if event.name == b"error" {
                    self.in_stream.get_or_insert_with(|| error_text::excerpt(event.data));
                } else {
                    self.fault = Some(fault.to_string());
                }
                return;
            }
        };
        let record = &mut self.record;
        if delta.done {
            record.done = true;
            return;
        }
        record.events = record.events.saturating_add(1);
        // A first count behind text is the total of the answer: such a server does not count along.
        let along = self.tokens > 0 || record.pieces == 0;
        let counted = delta.tokens.filter(|_| along).map(|total| total.saturating_sub(self.tokens)).or(delta.ids);
        self.tokens = delta.tokens.unwrap_or(self.tokens);
        let tokens = counted.unwrap_or(0);
        let kind = match (delta.kind, counted) {
            (ChunkKind::Silent | ChunkKind::Closing | ChunkKind::Unread | ChunkKind::Bare, Some(0)) => ChunkKind::Empty,
            (ChunkKind::Empty | ChunkKind::Bare, Some(1..)) => ChunkKind::Silent,
            (kind, _) => kind,
        };
        if delta.choice && record.first_event.is_none() {
            record.first_event = Some(stamp);
        }
        self.unseen.take(kind, counted, stamp);
        if kind.generated() {
            record.pieces = record.pieces.saturating_add(1);
            record.text_bytes += u64::from(delta.text_bytes);
            match record.pieces {
                1 => {
                    record.first_token = Some(stamp);
                    record.first_tokens = counted;
                    record.first_text = delta.text_bytes;
                }
                2 => record.second_token = Some(stamp),
                _ => {}
            }
            record.last_token = Some(stamp);
            if kind == ChunkKind::Reasoning {
                record.first_reasoning.get_or_insert(stamp);
            } else if matches!(kind, ChunkKind::Content | ChunkKind::Refusal) {
                record.first_content.get_or_insert(stamp);
                if let Some(text) = &mut self.text {
                    delta.text.unescape_into(text);
                }
            }
        }
        if let Some(usage) = delta.usage {
            record.usage = later(record.usage, usage);
        }
        if let Some(finish) = delta.finish {
            record.finish = Some(finish.into_owned());
        }
        if record.model.is_none() {
            record.model = delta.model.map(std::borrow::Cow::into_owned);
        }
        if let Some(error) = delta.error {
            self.in_stream.get_or_insert(error);
        } else if event.name == b"error" {
            self.in_stream.get_or_insert_with(|| error_text::excerpt(event.data));
        }
        let lag = u32::try_from(stamp.lag().unwrap_or(0)).unwrap_or(u32::MAX);
        chunks.push(Chunk {
            at: stamp.at(),
            lag_ns: lag,
            bytes: event.bytes,
            text: delta.text_bytes,
            tokens: u16::try_from(tokens).unwrap_or(u16::MAX),
            kind,
        });
        if chunks.len() >= BATCH {
            self.hand_over(chunks, sink);
        }
    }

    /// Gives the chunks that are available to the sink.
    pub(super) fn hand_over(&mut self, chunks: &mut Vec<Chunk>, sink: &mut dyn Sink) {
        if !chunks.is_empty() {
            sink.chunks(self.record.index, self.given, chunks);
            self.given = self.given.saturating_add(u32::try_from(chunks.len()).unwrap_or(u32::MAX));
            chunks.clear();
        }
    }

    /// Whether the answer lacks nothing but the end of the connection's message.
    pub(super) fn said_all(&self) -> bool {
        self.record.done
    }

    /// Whether the server keeps the connection for another request.
    pub(super) fn keeps(&self) -> bool {
        self.keep_alive
    }

    /// Whether the server asks to come again later, and how it says so.
    pub(super) fn refused(&self) -> Option<ResendCause> {
        match self.record.http {
            Some(429) => Some(ResendCause::TooMany),
            Some(503) => Some(ResendCause::Unavailable),
            _ => None,
        }
    }

    /// Whether the request was measured, for counts.
    pub(super) fn measured(&self) -> bool {
        self.record.phase == Phase::Measured
    }
}

/// A count that came later wins. What it does not say stays.
fn later(old: Usage, new: Usage) -> Usage {
    Usage {
        input: new.input.or(old.input),
        output: new.output.or(old.output),
        cached: new.cached.or(old.cached),
        reasoning: new.reasoning.or(old.reasoning),
    }
}
