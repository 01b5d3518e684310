//! Any bytes as the data of events, one a line: what is known from earlier events is what parsing gives, and JSON is what `serde_json`
//! takes for it.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/wire.rs"]
#[allow(dead_code)]
mod wire;

fuzz_target!(|bytes: &[u8]| wire::delta_input(bytes));
