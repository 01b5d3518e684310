//! Any bytes as the data of events, one a line: what is known from earlier events is what parsing gives, and JSON is what `serde_json`
//! takes for it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sparkbench::load::wire::Deltas;

#[path = "../../tests/support/wire.rs"]
#[allow(dead_code)]
mod wire;

fuzz_target!(|bytes: &[u8]| {
    let mut deltas = Deltas::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        wire::delta_holds(&mut deltas, line.strip_prefix(b"data: ").unwrap_or(line));
    }
});
