//! Text: errors, addresses, escapes, slugs, digits, plurals, excerpts, tables on a terminal, the nearest word, hashes, Prometheus' text format.
//!
//! In:  words and bytes.  Out: text for people, and names for files.
//! Not here: what is said (see `verdict`, `cli`).
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

pub mod address;
pub mod digits;
pub mod error;
pub mod escape;
pub mod excerpt;
pub mod hash;
pub mod nearest;
pub mod plural;
pub mod prometheus;
pub mod slug;
pub mod table;
