//! Processes of one job that talk to each other: connections between rank 0 and the others, and how far their clocks are apart.
//!
//! In:  an address, a [`Secret`], ranks.  Out: [`Event`]s to a [`Handler`]; [`Clock`]s.
//! Not here: what is said and what follows from it (see `load::ranks`).
//!
//! Rank 0 listens at the one address that it is given. Whoever connects must show that it knows the secret, and is shown the same. Each
//! side hears of the other at least every second; who is silent for [`SILENCE`] counts as gone, as does who ends the connection.
//!
//! All of it runs on one thread beside the measurement, which is asleep but for a message now and then.

mod client;
mod connection;
pub mod frame;
mod server;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use self::client::Client;
pub use self::frame::Secret;
pub use self::server::Server;
use super::net::Ns;

/// After so long without a word the other side counts as gone: a cut link says nothing.
pub const SILENCE: Duration = Duration::from_secs(5);
/// Between two words to a side that has nothing to say.
const WORD: Duration = Duration::from_secs(1);
/// The most that greeting each other may take.
const GREETING: Duration = Duration::from_secs(5);
/// Round trips that a clock is read by: the shortest of them counts.
const TRIPS: u32 = 32;

/// What a side hears.
#[derive(Debug)]
pub enum Event {
    /// The other side is there.
    Joined(u32),
    /// It said something.
    Said(u32, Value),
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
