//! Streaming load against an OpenAI-compatible server: requests, answers, and whether the client was the limit.
//!
//! In:  [`settings::Settings`], a server's address.  Out: `requests.jsonl`, `chunks.sbc`, `conversations.jsonl`, summary, client
//! certificate.
//! Not here: starting a server (see `workload`), judging figures (see `verdict`), sockets (see `host::net`).
//!
//! ```text
//! settings ─▶ plan ─▶ build ─▶ schedule ─▶ engine ─▶ store ─▶ summary
//!             pure     thread   pure        one       thread   certificate
//! ```
//!
//! The plan is a pure function of the settings and the seed. Bodies are built ahead on a separate thread, so that the one thread that sends
//! and reads never builds text. That thread takes the time when bytes arrive (the kernel's stamp, see [`sparkbench_host::net`]). It reads the
//! event stream in place and hands the result to a thread that writes it. Nothing grows with the length of a run but the files.
// What no other crate, test or bench reaches is `pub(crate)`, so that the compiler sees when nobody uses it any more.
#![warn(unreachable_pub)]
#![cfg(target_os = "linux")]

// Cargo builds this crate again in a clone that shares its target folder with another one (docs/design/0023).
const _: Option<&str> = option_env!("SPARKBENCH_ROOT");

mod again;
pub(crate) mod build;
pub mod calibrate;
pub(crate) mod certificate;
pub mod chat;
mod contradiction;
pub mod engine;
mod finish;
mod live;
pub mod matrix;
pub mod order;
pub mod plan;
pub mod ranks;
pub(crate) mod schedule;
pub mod secrets;
pub mod server;
pub mod session;
pub mod settings;
pub mod store;
pub mod suite;
pub mod summary;
pub mod sweep;
pub mod target;
pub(crate) mod tokens;
pub mod until;
mod vocabulary;
pub mod wire;
