//! Any bytes as any file: read or named, never a panic, and never more taken than a small multiple of what was given.
//!
//! The first byte picks the ending of the name; the rest is the file.
#![no_main]

use libfuzzer_sys::fuzz_target;

const NAMES: &[&str] = &["a.json", "a.jsonl", "a.csv", "a.log", "a.txt", "a.md", "a.toml", "a_gpu.csv"];

fuzz_target!(|data: &[u8]| {
    let Some((pick, rest)) = data.split_first() else { return };
    let name = NAMES[usize::from(*pick) % NAMES.len()];
    let _ = sparkbench::ingest::read(name, rest.len() as u64, rest);
});
