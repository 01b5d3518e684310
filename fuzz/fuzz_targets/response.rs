//! Any bytes as a response: the same head and body wherever they are split, no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/wire.rs"]
#[allow(dead_code)]
mod wire;

fuzz_target!(|bytes: &[u8]| wire::response_input(bytes));
