//! Sockets that tell when the kernel received what they give, and a poller with exact timers.
//!
//! In:  addresses, moments.  Out: [`Stream`], [`Listener`], [`Poller`], all non-blocking; [`clock`].
//! Not here: HTTP, what is sent, what an answer means (see `load` and `mock`).
//!
//! Everything is measured on one clock, `CLOCK_MONOTONIC` in nanoseconds ([`Ns`]): the same for every process of the machine. The
//! kernel stamps a packet on the wall clock when it enters the network stack; the stamp is carried over by the two clocks' difference
//! at the moment of reading, so that a read which comes late (the process was not scheduled) still knows when the bytes arrived.

pub mod clock;
pub mod limits;
mod listen;
mod poll;
mod resolve;
mod stream;
pub mod tls;
pub mod usage;

pub use clock::{Ns, now};
pub use listen::Listener;
pub use poll::{Interest, Poller, Ready, Waker};
pub use resolve::resolve;
pub use stream::{Received, Stamp, Stamping, Stream};

#[cfg(test)]
mod tests;
