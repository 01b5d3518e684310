//! Sockets that report when the kernel received their data, and a poller with exact timers.
//!
//! In:  addresses, moments.  Out: [`Stream`], [`Listener`] and [`Poller`], all non-blocking, and [`clock`].
//! Not here: HTTP, the messages and their meaning (see `load` and `mock`).
//!
//! Everything is measured on one clock, `CLOCK_MONOTONIC` in nanoseconds ([`Ns`]), which is the same for every process of the machine. The
//! kernel stamps a packet on the wall clock when it enters the network stack. The stamp is converted by the difference between the two
//! clocks at the moment of reading. So a late read (the process was not scheduled) still knows when the bytes arrived.

pub mod clock;
pub mod limits;
mod listen;
mod poll;
mod resolve;
mod stream;
pub mod tls;
mod towards;
pub mod usage;

pub use std::net::{IpAddr, SocketAddr};

pub use clock::{Ns, now};
pub use listen::Listener;
pub use poll::{Interest, Poller, Ready, Waker};
pub use resolve::resolve;
pub use stream::{Received, Stamp, Stamping, Stream};
pub use towards::{address_towards, listens};

#[cfg(test)]
mod tests;
