//! The settings of a load, the same from a command line and from a suite.
//!
//! In:  nothing.  Out: [`OPTIONS`], the one table of the options of a load, [`Settings`] and its parts with their defaults.
//! Not here: arguments (see `cli::load`), keys of a suite (see `suite`), checking them against a server (see `session`).

mod entry;
mod members;
mod numbers;
mod options;
mod values;

pub(crate) use entry::found;
pub use entry::{CONVERSATIONS, ValueKind};
pub(crate) use members::unmeasurable;
pub use options::{LoadOption, LoadOptions, OPTIONS, Settings};
pub use values::{
    Arrival, Cache, ConversationInput, Conversations, Dataset, Endpoint, Exact, Gaps, Lengths, Prefix, Preset, Ramp,
    Sampling, Shape, Share, Slos, Word, Work,
};
