//! Any bytes as a response: the same head and body wherever they are split, no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/wire.rs"]
#[allow(dead_code)]
mod wire;

fuzz_target!(|bytes: &[u8]| {
    let [step, response @ ..] = bytes else { return };
    let mut length = usize::from(*step);
    wire::response_holds(response, || {
        length = (length * 31 + 7) % 97;
        length
    });
});
