//! Connections between rank 0 and the other processes of one job, and the offset between their clocks.
//!
//! In:  an address, a [`Secret`], ranks.  Out: [`Event`]s to a [`Handler`], [`Clock`]s.
//! Not here: the messages and what follows from them (see `load::ranks`).
//!
//! Rank 0 listens at the one address that it is given. Whoever connects must prove that it knows the secret, and rank 0 proves the same.
//! Each side hears from the other at least every second. A peer that is silent for [`SILENCE`] or closes the connection counts as gone.
//!
//! All of this runs on one thread beside the measurement. That thread sleeps except for a message now and then.

mod client;
mod connection;
pub(crate) mod frame;
mod server;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use self::client::Client;
pub use self::frame::Secret;
pub use self::server::{Server, drawn};
use super::net::Ns;

/// After so long a silence the other side counts as gone, because a cut link sends no notice.
pub const SILENCE: Duration = Duration::from_secs(5);
/// Between two words to a side that has nothing to say.
const WORD: Duration = Duration::from_secs(1);
/// The most that greeting each other may take. Some hundreds may come at once, to a machine that does something else.
const GREETING: Duration = Duration::from_secs(20);
/// Round trips that a clock is read by: the shortest of them counts.
const TRIPS: u32 = 32;

/// Messages to a side.
#[derive(Debug)]
pub enum Event {
    /// The other side is there.
    Joined(u32),
    /// It said something.
    Message(u32, Value),
    /// It sent part of a file.
    Bytes(u32, Vec<u8>),
    /// How far its clock is.
    Clock(u32, Clock),
    /// It is gone, and why.
    Left(u32, String),
    /// Someone did not know the secret, or came as a rank that is there.
    Refused(String),
}

/// Told on the thread of the connections: no call may take long.
pub type Handler = Arc<dyn Fn(Event) + Send + Sync>;

/// How far a clock is from ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    /// Its time less ours, nanoseconds.
    pub ahead_ns: i64,
    /// The most by which that may be wrong: half of the shortest round trip.
    pub bound_ns: u64,
}

impl Clock {
    /// From one round trip: asked and heard on our clock, answered on the other.
    pub fn of(asked: Ns, answered: Ns, heard: Ns) -> Self {
        let trip = heard.saturating_sub(asked);
        Self { ahead_ns: answered.wrapping_sub(asked + trip / 2).cast_signed(), bound_ns: trip.div_ceil(2) }
    }

    /// The better known of two.
    #[must_use]
    pub fn better(self, other: Self) -> Self {
        if other.bound_ns < self.bound_ns { other } else { self }
    }

    /// A moment of ours on that clock.
    pub const fn there(&self, here: Ns) -> Ns {
        here.wrapping_add_signed(self.ahead_ns)
    }
}
