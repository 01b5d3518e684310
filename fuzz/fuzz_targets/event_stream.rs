//! Any bytes as an event stream: the same events wherever they are split, none over the limit, no panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/wire.rs"]
#[allow(dead_code)]
mod wire;

fuzz_target!(|bytes: &[u8]| {
    // The first two bytes choose the limit and where to split.
    let [limit, step, stream @ ..] = bytes else { return };
    let mut length = usize::from(*step);
    wire::event_stream_holds(stream, 16 + 8 * usize::from(*limit), || {
        length = (length * 31 + 7) % 97;
        length
    });
});
