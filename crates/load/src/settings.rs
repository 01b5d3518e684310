//! The settings of a load, the same from a command line and from a suite.
//!
//! In:  nothing.  Out: [`Settings`] and its parts, with their defaults.
//! Not here: reading them (see `cli::load` and `load::suite`), checking them against a server (see `session`).

mod values;

pub use values::{
    Arrival, Cache, ConversationInput, Conversations, Endpoint, Exact, Lengths, Prefix, Ramp, Sampling, Settings,
    Shape, Share, Slos, Work,
};
