//! Multi-turn chat: conversations whose live answers are carried over, led by clients that wait for their answers.
//!
//! In:  [`settings::Conversations`](crate::load::settings::Conversations), files of conversations or texts.
//! Out: [`ChatSource`], a [`Source`](crate::load::order::Source) for the engine; `conversations.jsonl`; [`Figures`].
//! Not here: sending (see `engine`), figures over all requests (see `summary`), options of the command line (see `cli::load_chat`).
//!
//! ```text
//! recorded | generate | texts ─▶ library ─▶ builder (a thread) ─▶ orders ─▶ source ─▶ engine
//!                                   ▲            │  ▲                          │
//!                                  draw          ▼  └── answers ◀──────────────┘
//!                                      log (conversations.jsonl), figures
//! ```
//!
//! The measure of things is `benchmark_serving_multi_turn.py` of vLLM, whose options exist under their names. What is done otherwise:
//!
//! | the script | here |
//! | --- | --- |
//! | a conversation goes to the client that asks first | client g of N leads conversations g, g+N, ...: the plan is the seed's alone |
//! | `max-num-requests` is divided and rounded down | the first clients take what does not divide; the sum is exact |
//! | one active conversation for each client where nothing is said | three, so that sampling has a choice |
//! | a rate sleeps after each answer, so it is never reached | intended times are a Poisson process; waits are counted, the rate is kept |
//! | a client that fails once stops; with it all | the conversation ends and is replaced; everything is counted |
//! | the load ends with the first client that runs out | all conversations are led; `early-stop` ends as the script does |
//! | answers are counted by re-encoding the text | the server's own count |
//!
//! Reasoning is not carried over: clients of such models send visible text back, and servers' templates drop the rest.

pub mod builder;
pub mod draw;
pub mod faults;
pub mod figures;
pub mod frame;
pub mod generate;
pub mod library;
pub mod log;
pub mod recorded;
pub mod settings;
pub mod source;
pub mod texts;

pub use figures::Figures;
pub use frame::Frame;
pub use library::{Library, recognise};
pub use settings::{limit, parse_lengths, read_settings};
pub use source::{ChatSource, Parts};
pub use texts::{Counted, Estimate, Piece, Texts};

#[cfg(test)]
mod tests;
