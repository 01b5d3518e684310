//! Any bytes as an event stream: the same events wherever they are split, none over the limit, no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/wire.rs"]
#[allow(dead_code)]
mod wire;

fuzz_target!(|bytes: &[u8]| wire::event_stream_input(bytes));
