//! A client: its conversations and its state.
//!
//! In:  settings, this machine's share.  Out: [`ChatClient`]s.
//! Not here: its next step (see `deal`).

use std::collections::VecDeque;

use crate::chat::settings::{ACTIVE_PER_CLIENT, most_requests};
use crate::order::Order;
use crate::settings::{Conversations, Settings};
use sparkbench_host::net::Ns;
use sparkbench_stats::random::{Stream, job_base};

/// State of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientState {
    /// Not begun, or begun again after the warm-up step.
    Fresh,
    /// Its next conversation is chosen and its time has not come.
    Until,
    /// Its time came at this moment, and the body is not built yet.
    Unbuilt(Ns),
    /// It may send.
    Ready,
    /// It waits for an answer.
    Waiting,
    /// It has nothing left to send.
    Finished,
}

#[derive(Debug)]
pub(super) struct ChatClient {
    /// Over all machines.
    pub(super) number: u32,
    pub(super) state: ClientState,
    /// Conversations that it leads, in the order of their turns.
    pub(super) active: VecDeque<u32>,
    /// The one chosen for its next turn.
    pub(super) chosen: Option<u32>,
    pub(super) most_active: usize,
    /// Conversations of its share that it has begun.
    pub(super) begun: u64,
    /// Begun in the warm-up step, to go on with.
    pub(super) parked: VecDeque<u32>,
    /// Turns that it has sent, over both phases.
    pub(super) sent: u64,
    /// Turns that it may still send in the measured part. Absent without a limit.
    pub(super) left: Option<u64>,
    pub(super) gaps: Stream,
    pub(super) picks: Stream,
    /// Intended time of its last turn.
    pub(super) intended: Option<Ns>,
}

#[derive(Debug)]
pub(super) struct Held {
    pub(super) client: usize,
    pub(super) turns: u32,
    pub(super) order: Option<Box<Order>>,
}

/// The clients of this machine.
pub(super) fn clients(settings: &Settings, chat: &Conversations) -> Vec<ChatClient> {
    let all = chat.clients.max(1);
    let most_active = chat.max_active.unwrap_or_else(|| all.saturating_mul(ACTIVE_PER_CLIENT));
    let share = |of: u64, number: u32| of / u64::from(all) + u64::from(u64::from(number) < of % u64::from(all));
    let streams = |key: &str, number: u32| Stream::new(job_base(settings.seed, key), u64::from(number));
    (settings.share.rank..all)
        .step_by(settings.share.world.max(1) as usize)
        .map(|number| ChatClient {
            number,
            state: ClientState::Fresh,
            active: VecDeque::new(),
            chosen: None,
            most_active: usize::try_from(share(u64::from(most_active), number)).unwrap_or(usize::MAX).max(1),
            begun: 0,
            parked: VecDeque::new(),
            sent: 0,
            left: most_requests(settings, chat).map(|most| share(most, number)),
            gaps: streams("chat|gaps", number),
            picks: streams("chat|picks", number),
            intended: None,
        })
        .collect()
}
