//! The next step of each client: which conversation, which turn, from when.
//!
//! In:  moments, turns that were built, answers that ended.  Out: clients that are due or ready, tasks for the builder.
//! Not here: the caller (see [`super`]), building a turn (see `builder`).

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::ChatSource;
use super::client::{ClientState, Held};
use crate::chat::builder::{BuiltTurn, Task, Then};
use crate::chat::draw::exponential;
use crate::chat::log::Why;
use crate::order::{Order, Phase, Status};
use crate::settings::Sampling;
use sparkbench_host::net::Ns;

impl ChatSource {
    pub(super) fn send(&self, task: Task) {
        // Fails only when the thread broke off. `next` finds that out and ends the load.
        let _ = self.tasks.send(task);
    }

    pub(super) fn start(&mut self, now: Ns) {
        self.started = true;
        self.send(Task::Origin(self.origin.unwrap_or(now)));
        self.begin(now);
    }

    /// Begins a phase.
    pub(super) fn begin(&mut self, now: Ns) {
        self.finished = 0;
        if self.phase == Phase::Measured {
            self.measured_from = Some(now);
            self.deadline = self.duration.map(|duration| now.saturating_add(duration));
        }
        for at in 0..self.clients.len() {
            if let Some(client) = self.clients.get_mut(at) {
                client.state = ClientState::Fresh;
            }
            self.free(at, now, now);
        }
    }

    /// Number of the next conversation of a client that has not begun.
    fn fresh(&mut self, at: usize) -> Option<u32> {
        let here = self.clients.len() as u64;
        let client = self.clients.get_mut(at)?;
        let local = at as u64 + client.begun.checked_mul(here)?;
        let number = local.checked_mul(self.world)?.checked_add(self.rank)?;
        if self.count.is_some_and(|count| number >= count) {
            return None;
        }
        client.begun += 1;
        u32::try_from(number).ok()
    }

    /// Gives a client conversations up to its number.
    fn fill(&mut self, at: usize) {
        let warm = self.phase == Phase::Warmup;
        loop {
            let Some(client) = self.clients.get_mut(at) else { return };
            // In the warm-up step one after the other: nothing is gained by several that never go on.
            if client.active.len() >= if warm { 1 } else { client.most_active } {
                return;
            }
            let number = client.number;
            let parked = if warm { None } else { client.parked.pop_front() };
            let conversation = match parked {
                Some(conversation) => {
                    self.send(Task::Resume { conversation });
                    conversation
                }
                None => {
                    let Some(conversation) = self.fresh(at) else { return };
                    self.send(Task::Open { conversation, client: number });
                    self.held.insert(conversation, Held { client: at, turns: 0, order: None });
                    conversation
                }
            };
            self.pending += 1;
            if let Some(client) = self.clients.get_mut(at) {
                client.active.push_back(conversation);
            }
        }
    }

    /// A client has no turn in flight: what does it do next, and when? Not before `earliest`.
    pub(super) fn free(&mut self, at: usize, now: Ns, earliest: Ns) {
        if self.clients.get(at).is_none_or(|client| self.phase == Phase::Measured && client.left == Some(0)) {
            self.done_with(at);
            return;
        }
        self.fill(at);
        let (rate, from, measured, sampling) =
            (self.rate, self.measured_from, self.phase == Phase::Measured, self.sampling);
        let Some(client) = self.clients.get_mut(at) else { return };
        let place = match sampling {
            _ if client.active.is_empty() => None,
            Sampling::RoundRobin => Some(0),
            Sampling::Random => Some(client.picks.index(client.active.len())),
        };
        let Some(conversation) = place.and_then(|place| client.active.get(place).copied()) else {
            self.done_with(at);
            return;
        };
        if sampling == Sampling::RoundRobin {
            client.active.rotate_left(1);
        }
        client.chosen = Some(conversation);
        let mut due = earliest;
        if measured && let (Some(rate), Some(from)) = (rate, from) {
            let gap = (exponential(&mut client.gaps) / rate * 1e9) as Ns;
            let intended = client.intended.unwrap_or(from).saturating_add(gap);
            client.intended = Some(intended);
            due = due.max(intended);
        }
        client.state = ClientState::Until;
        if due > now {
            self.due.push(Reverse((due, at)));
        } else {
            self.come(at, now);
        }
    }

    /// The time of a client's turn has come.
    pub(super) fn come(&mut self, at: usize, now: Ns) {
        let Some(client) = self.clients.get_mut(at) else { return };
        let built = client.chosen.and_then(|chosen| self.held.get(&chosen)).is_some_and(|held| held.order.is_some());
        client.state = if built { ClientState::Ready } else { ClientState::Unbuilt(now) };
        if built {
            self.ready.push_back(at);
        }
    }

    /// A client has nothing left to send in this phase.
    fn done_with(&mut self, at: usize) {
        let Some(client) = self.clients.get_mut(at) else { return };
        if client.state == ClientState::Finished {
            return;
        }
        client.state = ClientState::Finished;
        client.chosen = None;
        self.finished += 1;
        // What it still leads will not go on: its limit of requests is reached.
        let open: Vec<u32> = client
            .active
            .drain(..)
            .chain(if self.phase == Phase::Measured { client.parked.split_off(0) } else { VecDeque::new() })
            .collect();
        for conversation in open {
            self.held.remove(&conversation);
            self.send(Task::Close { conversation, why: Why::Cut });
        }
        if self.early_stop && self.phase == Phase::Measured {
            self.over = true;
        }
    }

    /// Takes a turn that has been built.
    pub(super) fn take(&mut self, built: BuiltTurn, now: Ns) {
        self.pending = self.pending.saturating_sub(1);
        let Some(held) = self.held.get_mut(&built.conversation) else { return };
        held.turns = built.turns;
        held.order = built.order;
        let at = held.client;
        if let Some(client) = self.clients.get_mut(at)
            && client.chosen == Some(built.conversation)
            && let ClientState::Unbuilt(since) = client.state
        {
            client.state = ClientState::Ready;
            self.ready.push_back(at);
            self.send(Task::Late(now.saturating_sub(since) as f64 / 1e6));
        }
    }

    /// The turn of a client that is ready.
    pub(super) fn order(&mut self, at: usize) -> Option<Box<Order>> {
        let client = self.clients.get_mut(at)?;
        let mut order = self.held.get_mut(&client.chosen?)?.order.take()?;
        order.index = client.sent.saturating_mul(self.all_clients).saturating_add(u64::from(client.number));
        order.phase = self.phase;
        order.intended = if self.phase == Phase::Measured && self.rate.is_some() { client.intended } else { None };
        client.sent += 1;
        if self.phase == Phase::Measured {
            client.left = client.left.map(|left| left.saturating_sub(1));
        }
        client.state = ClientState::Waiting;
        Some(order)
    }

    /// Next step after a turn of a conversation.
    pub(super) fn after(&self, conversation: u32, turn: u32, status: Status) -> Then {
        let turns = self.held.get(&conversation).map_or(0, |held| held.turns);
        if status == Status::Cancelled || status == Status::NotSent {
            Then::Close(Why::Cut)
        } else if !status.answered() {
            Then::Close(Why::Failed)
        } else if turn.saturating_add(1) >= turns {
            Then::Close(Why::Done)
        } else if self.phase == Phase::Warmup {
            Then::Park
        } else if self.over {
            Then::Close(Why::Cut)
        } else {
            Then::Build
        }
    }
}
