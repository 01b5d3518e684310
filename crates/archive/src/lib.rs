//! Files on disk: finds, reads within limits and hashes them. Writes, masks and verifies an archive.
//!
//! In:  paths as typed, runs one by one.  Out: [`Discovery`], bounded readers, [`Writer`], [`Mask`].
//! Not here: what a file means (see `ingest`), clocks.

mod append;
mod discover;
pub mod disk;
pub mod given;
pub mod journal;
pub mod lock;
pub mod manifest;
pub mod mask;
mod mounts;
mod name;
mod progress;
mod read;
mod recorded;
pub(crate) mod retain;
pub mod site;
pub mod verify;
mod write;
pub mod writer;

pub use append::Appender;
pub use discover::{Discovery, Found, Unread, discover, is_of_run, is_written};
pub use journal::{Event, Moment};
pub use mask::{Identity, Mask, MaskRules, Places, Scrub, Tally};
pub use name::{FileName, shown};
pub use progress::{Failure, Progress};
pub use read::{HEAD_BYTES, Hashing, LINE_LIMIT, Line, Lines, WHOLE_LIMIT, hash};
pub use recorded::{Recorded, check_recorded, odd_records};
pub use retain::Retention;
pub use write::write_atomic;
pub use writer::{Extra, Session, Writer, read_campaign};
