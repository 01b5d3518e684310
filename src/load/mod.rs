//! Streaming load against an OpenAI-compatible server: what is sent when, what came back when, and whether the client was the limit.
//!
//! In:  [`settings::Settings`], a server's address.  Out: `requests.jsonl`, `chunks.sbc`, `conversations.jsonl`, a summary, a certificate of the client.
//! Not here: starting a server (see `workload`), judging what a figure means (see `verdict`), sockets themselves (see `host::net`).
//!
//! ```text
//! settings ─▶ plan ─▶ build ─▶ schedule ─▶ engine ─▶ store ─▶ summary
//!             pure     thread   pure        one       thread   certificate
//! ```
//!
//! The plan is a pure function of the settings and the seed. Bodies are built ahead on a thread of their own, so that the one thread that
//! sends and reads never builds text. It takes the time where bytes arrive (the kernel's stamp, see [`crate::host::net`]), reads the
//! event stream in place, and hands what it saw to a thread that writes it down. Nothing grows with the length of a run but the files.

pub mod build;
pub mod calibrate;
pub mod certificate;
pub mod chat;
pub mod engine;
pub mod matrix;
pub mod order;
pub mod plan;
pub mod ranks;
pub mod schedule;
pub mod server;
pub mod session;
pub mod settings;
pub mod store;
pub mod suite;
pub mod summary;
pub mod sweep;
pub mod target;
pub mod tokens;
pub mod wire;
mod words;
