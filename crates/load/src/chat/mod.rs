//! Multi-turn chat: clients wait for each answer and send it back as part of the next turn.
//!
//! In:  [`settings::Conversations`](crate::settings::Conversations), files of conversations or texts.
//! Out: [`ChatSource`] (a [`Source`](crate::order::Source) for the engine), `conversations.jsonl`, [`Figures`].
//! Not here: sending (see `engine`), figures over all requests (see `summary`), options of the command line (see `cli::load::chat`).
//!
//! ```text
//! recorded | generate | texts ─▶ library ─▶ builder (a thread) ─▶ orders ─▶ source ─▶ engine
//!                                   ▲            │  ▲                          │
//!                                  draw          ▼  └── answers ◀──────────────┘
//!                                      log (conversations.jsonl), figures
//! ```
//!
//! The reference is `benchmark_serving_multi_turn.py` of vLLM, whose options exist under their names. Differences:
//!
//! | the script | here |
//! | --- | --- |
//! | a conversation goes to the client that asks first | client g of N leads conversations g, g+N, ...: the seed alone decides |
//! | `max-num-requests` is divided and rounded down | the first clients take the remainder, so the sum is exact |
//! | one active conversation for each client by default | three, so that sampling has a choice |
//! | a rate sleeps after each answer, so it is never reached | scheduled times are a Poisson process, and waits are counted |
//! | a client that fails once stops, and all others with it | the conversation ends and is replaced, and everything is counted |
//! | the load ends with the first client that runs out | all conversations are led, and `early-stop` ends as the script does |
//! | answers are counted by re-encoding the text | the server's own count |
//!
//! Reasoning is not sent back. Clients of such models send back visible text, and servers' templates drop the rest.

pub(crate) mod builder;
pub(crate) mod draw;
pub(crate) mod faults;
pub(crate) mod figures;
pub(crate) mod frame;
pub(crate) mod generate;
pub(crate) mod library;
pub(crate) mod log;
pub(crate) mod recorded;
pub mod settings;
pub(crate) mod source;
pub(crate) mod texts;

pub use figures::Figures;
pub use frame::Frame;
pub use library::{Library, recognise};
pub use settings::parse_lengths;
pub use source::{ChatSource, Parts};
pub use texts::{CountedText, Estimate, Texts};

#[cfg(test)]
mod tests;
