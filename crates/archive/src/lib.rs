//! Files on disk: finds, reads within limits and hashes them. Writes, masks and verifies an archive.
//!
//! In:  paths as typed, runs one by one.  Out: [`Discovery`], bounded readers, [`Writer`], [`Mask`].
//! Not here: what a file means (see `ingest`), clocks.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

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
pub use write::{write_atomic, write_atomic_by};
pub use writer::{Extra, Session, Writer, read_campaign};
