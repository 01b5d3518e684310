//! What the fuzz targets of the wire found worth keeping is read again in every run of the tests: no panic, the same wherever it is split.

#![cfg(all(feature = "collect", target_os = "linux"))]

use crate::support::files;
use crate::support::wire;
use std::path::Path;

/// Size of the corpus in the repository: to be read in seconds, and looked through by a person.
const CORPUS_BYTES: usize = 300_000;

/// What a target does with its bytes.
type Holds = fn(&[u8]);

const TARGETS: &[(&str, Holds)] =
    &[("event_stream", wire::event_stream_input), ("response", wire::response_input), ("delta", wire::delta_input)];

#[test]
fn what_the_search_kept_still_holds() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let mut size = 0;
    for (name, holds) in TARGETS {
        assert!(fuzz.join(format!("fuzz_targets/{name}.rs")).is_file(), "no target '{name}'");
        let corpus = files::files_below(&fuzz.join("corpus").join(name));
        assert!(!corpus.is_empty(), "no corpus of '{name}'");
        for (input, bytes) in &corpus {
            // Shown when the test fails.
            println!("{name}/{input}");
            holds(bytes);
        }
        size += corpus.values().map(Vec::len).sum::<usize>();
    }
    assert!(size <= CORPUS_BYTES, "{size} bytes");
}
