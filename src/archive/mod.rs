//! Files on disk: finds, reads within limits and hashes them. Writes, masks and verifies an archive.
//!
//! In:  paths as typed, runs one by one.  Out: [`Discovery`], bounded readers, [`Writer`], [`Mask`].
//! Not here: what a file means (see `ingest`), clocks.

mod append;
mod discover;
pub mod disk;
pub mod journal;
pub mod lock;
pub mod manifest;
pub mod mask;
mod progress;
mod read;
pub(crate) mod retain;
pub mod verify;
mod write;
pub mod writer;

pub use append::Appender;
pub use discover::{Discovery, Found, Unread, discover};
pub use journal::{Event, Moment};
pub use mask::{Identity, Mask, MaskRules, Places, Scrub, Tally};
pub use progress::{Failure, Progress};
pub use read::{HEAD_BYTES, Hashing, LINE_LIMIT, Line, Lines, WHOLE_LIMIT, hash};
pub use retain::Retention;
pub use write::write_atomic;
pub use writer::{Extra, Session, Writer, read_campaign};
