//! What lies on disk: finding files, reading them within bounds, hashing, writing whole files at once.
//!
//! In:  paths as a person typed them.  Out: [`Discovery`], bounded readers, files written completely or not at all.
//! Not here: what a file means (see `ingest`).

mod discover;
pub mod manifest;
mod read;
mod write;

pub use discover::{Discovery, Found, Unread, discover};
pub use read::{HEAD_BYTES, Hashing, LINE_LIMIT, Line, Lines, WHOLE_LIMIT, hash};
pub use write::write_atomic;
