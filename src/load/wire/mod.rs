//! Between the bytes of a socket and what an event says: HTTP/1.1 responses, event streams, deltas.
//!
//! In:  bytes as they arrive, in any pieces.  Out: [`Head`], [`Event`], [`Delta`], or the [`Fault`] that ends the answer.
//! Not here: sockets, clocks, time-outs, what a fault means for the load (see `load::engine`).
//!
//! ```text
//! bytes ─▶ Response ─▶ Part::Head, Part::Body ─▶ EventStream ─▶ Event ─▶ Deltas ─▶ Delta
//! ```
//!
//! Everything is read in place: a body is a slice of what was fed, the data of an event a slice of the body, the text of a delta a
//! slice of the data. Bytes are copied only where an event arrives in several pieces. Each reader is a plain state machine: what it
//! gives does not depend on where the bytes were split, it holds no more than its stated limit, and it never panics, whatever comes.
//! The same property is tested with seeds in every run of the tests and can be searched with the fuzz targets in `fuzz/`.

mod chunked;
pub mod delta;
pub mod events;
pub mod fault;
mod json;
mod parse;
mod raw;
pub mod request;
pub mod response;
mod shape;

pub use delta::{Delta, Deltas};
pub use events::{Event, EventStream};
pub use fault::{Fault, Missing};
pub use raw::Raw;
pub use request::request_head;
pub use response::{Fed, HEAD_LIMIT, Head, Part, Response};

#[cfg(test)]
mod tests;
