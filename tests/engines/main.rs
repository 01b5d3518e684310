//! Real engines on this machine's processor. Each is prepared once, and passed over where it was not.

#[path = "../support/mod.rs"]
mod support;

mod real_server;
mod vllm_server;
