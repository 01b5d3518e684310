//! From the bytes of a socket to the content of an event: HTTP/1.1 responses, event streams, deltas.
//!
//! In:  bytes as they arrive, in any pieces.  Out: [`ResponseHead`], [`Event`], [`Delta`], or the [`Fault`] that ends the answer.
//! Not here: sockets, clocks, time-outs, what a fault means for the load (see `load::engine`).
//!
//! ```text
//! bytes ─▶ Response ─▶ ResponsePart::Head, ResponsePart::Body ─▶ EventStream ─▶ Event ─▶ Deltas ─▶ Delta
//! ```
//!
//! Everything is read in place. A body is a slice of the input. The data of an event is a slice of the body, and the text of a delta a slice
//! of the data. Bytes are copied only where an event arrives in several pieces. Each reader is a plain state machine. Its output does not
//! depend on where the bytes were split, it holds no more than its stated limit, and it never panics. Tests check this property with seeds
//! in every run, and the fuzz targets in `fuzz/` search for violations.

mod chunked;
pub(crate) mod delta;
mod deltas;
pub(crate) mod events;
pub(crate) mod fault;
mod json;
mod parse;
mod raw;
pub(crate) mod request;
pub(crate) mod response;
mod response_part;
mod shape;

pub use delta::Delta;
pub use deltas::Deltas;
pub use events::{Event, EventStream};
pub use fault::{Fault, Missing};
pub use raw::Raw;
pub use request::request_head;
pub use response::{Response, ResponseProgress};
pub use response_part::{HEAD_LIMIT, ResponseHead, ResponsePart};

#[cfg(test)]
mod tests;
