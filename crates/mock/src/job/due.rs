//! Which tokens come next, and when.
//!
//! In:  how many there were, times and kinds of the [`Job`].  Out: [`Next`].
//! Not here: their bytes (see `piece`, `event`).

use crate::shape::Pieces;
use sparkbench_host::net::Ns;

use super::{Job, Next, Phase};

/// Comments until the first token, in the shape that has them.
const KEEP_ALIVES: u64 = 4;

impl Job {
    pub(super) fn token_due(&mut self, k: u32) -> Ns {
        let exact = self.begin.saturating_add(self.ttft).saturating_add(self.ask.itl_ns.saturating_mul(u64::from(k)));
        let more = if self.jitter > 0 { self.draw() % (self.jitter + 1) } else { 0 };
        self.floor = self.floor.max(exact.saturating_add(more));
        self.floor
    }
    pub(super) fn keep_alive_comment(&mut self, k: u64) -> Next {
        if k >= KEEP_ALIVES {
            return self.until_token();
        }
        self.phase = Phase::KeepAlive(k);
        if self.timed() {
            Next::At(self.begin.saturating_add(self.ttft / (KEEP_ALIVES + 1) * (k + 1)))
        } else {
            Next::Now
        }
    }

    /// The next chunk of tokens: how many, and when.
    pub(super) fn until_token(&mut self) -> Next {
        self.phase = Phase::Tokens;
        let last = self.done + self.in_chunk() - 1;
        if self.timed() {
            self.due = self.token_due(last);
            Next::At(self.due)
        } else {
            Next::Now
        }
    }

    /// Tokens in the next chunk: all of one kind, none beyond the fault.
    pub(super) fn in_chunk(&self) -> u32 {
        let end = self.fault.unwrap_or(self.ask.tokens);
        let mut count = self.per_chunk.min(end.saturating_sub(self.done)).max(1);
        let kind = self.kind(self.done);
        while count > 1 && self.kind(self.done + count - 1) != kind {
            count -= 1;
        }
        count
    }

    pub(super) fn kind(&self, k: u32) -> Pieces {
        match self.form.pieces {
            Pieces::Reasoning if k < self.reasoning => Pieces::ReasoningOnly,
            Pieces::Reasoning => Pieces::Content,
            Pieces::Mixed if k < self.reasoning => Pieces::ReasoningOnly,
            Pieces::Mixed if k < self.reasoning + (self.ask.tokens - self.reasoning) / 2 => Pieces::Content,
            Pieces::Mixed => Pieces::Tool,
            other => other,
        }
    }

    pub(super) fn finish(&self) -> &'static str {
        match self.form.pieces {
            Pieces::Tool | Pieces::Mixed => "tool_calls",
            _ if self.ask.by_length => "length",
            _ => "stop",
        }
    }
}
