//! A request to the model from its place to its truth: it waits for one, it runs, it ends.
//!
//! In:  an [`Ask`], how its answer ended.  Out: a [`Job`] that begins, a [`Truth`] in the book, the next in the queue.
//! Not here: the bytes of an answer (see `job`), their way to the socket (see `write`).

use crate::ask::Ask;
use crate::http::Head;
use crate::job::{End, Job, Next, Setting};
use crate::metrics::Counts;
use crate::shape::IDLE_NS;
use crate::truth::{Outcome, Truth};
use sparkbench_host::net::{Ns, clock, now};

use super::conn::{Active, Conn, ConnAction};
use super::{Server, Todo};

impl Server {
    /// Begins a job, or lets it wait for a place.
    pub(super) fn take(&mut self, conn: &mut Conn, key: (u32, u32), head: &Head, ask: Ask) -> ConnAction {
        let id = head.id.clone().unwrap_or_else(|| format!("mock-{}", self.totals.asks));
        let tokens = ask.tokens;
        let setting = Setting {
            model: &self.settings.model,
            key: self.settings.reasoning_key,
            tokens_per_chunk: self.settings.tokens_per_chunk,
            reasoning: self.settings.reasoning_tokens,
            jitter: self.settings.jitter_ns,
            seed: self.settings.seed,
            created: clock::wall() / 1_000_000_000,
            keep_alive: head.keep_alive,
        };
        let list = || self.settings.truth_chunks.then(|| Vec::with_capacity(tokens as usize));
        let mut truth = Truth {
            shape: ask.shape.name,
            connection: conn.number,
            before: conn.requests,
            received_ns: conn.stamp.kernel,
            received_user_ns: conn.stamp.user,
            planned_tokens: tokens,
            prompt_tokens: ask.prompt_tokens,
            due_ns: list(),
            begun_ns: list(),
            emitted_ns: list(),
            ..Truth::default()
        };
        let job = Job::new(ask, &id, setting);
        (truth.id, truth.mode) = (id, job.mode());
        if !self.cache.is_off() {
            truth.cached_tokens = self.cache.take(&self.hashes);
            self.counts.cache_queries += self.hashes.len() as u64;
            self.counts.cache_hits += u64::from(truth.cached_tokens);
        }
        let running = self.settings.max_running.is_none_or(|most| self.counts.running < most);
        conn.active = Some(Box::new(Active { job, truth, running, stalled: false }));
        if !running {
            self.counts.waiting += 1;
            self.queue.push_back(key);
            return ConnAction::Stay;
        }
        self.counts.running += 1;
        self.begin(conn, key, conn.stamp.at().max(conn.free_at))
    }

    /// A place came free for a request that waited.
    pub(super) fn admit(&mut self, conn: &mut Conn, key: (u32, u32)) -> ConnAction {
        self.begin(conn, key, now())
    }

    fn begin(&mut self, conn: &mut Conn, key: (u32, u32), at: Ns) -> ConnAction {
        self.totals.most_running = self.totals.most_running.max(self.counts.running);
        let Some(active) = conn.active.as_mut() else { return ConnAction::Stay };
        active.truth.started_ns = at;
        let Truth { prompt_tokens, cached_tokens, .. } = active.truth;
        self.counts.prompt_tokens += u64::from(prompt_tokens);
        let prefill = u64::from(prompt_tokens - cached_tokens).saturating_mul(self.settings.ttft_per_input_token_ns);
        match active.job.begin(at, prefill, cached_tokens) {
            Next::At(due) => {
                self.schedule(conn, key.0, due);
                ConnAction::Stay
            }
            _ => self.drive(conn, key),
        }
    }

    /// The response is made. What is left of it is written first, unless the shape breaks it off.
    pub(super) fn finish(&mut self, conn: &mut Conn, key: (u32, u32), end: End) -> ConnAction {
        if conn.pending_at < conn.pending.len() && !matches!(end, End::Reset | End::Stall) {
            conn.ending = Some(end);
            return ConnAction::Stay;
        }
        let outcome = match end {
            End::Keep | End::CloseAfter | End::CloseIdle => Outcome::Complete,
            End::Close => Outcome::Closed,
            End::Reset => Outcome::Reset,
            End::Stall => {
                if let Some(active) = &mut conn.active {
                    active.stalled = true;
                }
                return ConnAction::Stay;
            }
        };
        self.over(conn, outcome);
        conn.free_at = now();
        match end {
            End::Reset => return ConnAction::Reset,
            End::Close | End::CloseAfter => return ConnAction::Close,
            _ if !conn.keep_alive => return ConnAction::Close,
            End::CloseIdle => self.schedule(conn, key.0, conn.free_at + IDLE_NS),
            _ => {
                if let Some(idle) = self.settings.close_idle_ns {
                    self.schedule(conn, key.0, conn.free_at.saturating_add(idle));
                }
            }
        }
        // The next request may have come already.
        self.todo.push_back((key.0, key.1, Todo::Request));
        ConnAction::Stay
    }

    /// A request to the model has ended: its truth is written, and its place goes to the next.
    pub(super) fn over(&mut self, conn: &mut Conn, outcome: Outcome) {
        conn.marks.clear();
        conn.cutting = None;
        conn.held.clear();
        conn.tick = 0;
        let Some(mut active) = conn.active.take() else { return };
        let Counts { stopped, length, aborted, .. } = &mut self.counts;
        active.truth.outcome = match outcome {
            Outcome::ClientGone | Outcome::Stopped if active.stalled => Outcome::Stalled,
            Outcome::Complete if active.job.code().is_some_and(|code| code != 200) => Outcome::Refused,
            other => other,
        };
        if outcome == Outcome::Complete {
            active.truth.end_ns = Some(conn.last_write);
            *if active.job.ask().by_length { length } else { stopped } += 1;
        } else {
            *aborted += 1;
        }
        self.book.add(active.truth);
        if !active.running {
            // It left while it waited. Its entry in the queue is skipped when its turn comes.
            self.counts.waiting = self.counts.waiting.saturating_sub(1);
            return;
        }
        self.counts.running -= 1;
        while self.settings.max_running.is_some_and(|most| self.counts.running < most) {
            let Some((slot, generation)) = self.queue.pop_front() else { return };
            let place = self.slots.get_mut(slot as usize).filter(|place| place.generation == generation);
            if let Some(next) = place.and_then(|place| place.conn.as_mut()?.active.as_mut()) {
                next.running = true;
                self.counts.waiting = self.counts.waiting.saturating_sub(1);
                self.counts.running += 1;
                self.todo.push_back((slot, generation, Todo::Admit));
            }
        }
    }
}
