//! Any bytes as a file of this family of formats (see `FAMILIES`).
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../../tests/support/fuzzed.rs"]
#[allow(dead_code)]
mod fuzzed;

#[global_allocator]
static MEMORY: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

fuzz_target!(|input: &[u8]| fuzzed::holds(fuzzed::family("telemetry"), input, &MEMORY));
