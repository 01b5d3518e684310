//! Damaged files never bring the reader down, and are read the same way every time.

use std::path::Path;

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use sparkbench::archive;
use sparkbench::ingest::{self, Options};

use crate::support::folder::Folder;

/// Damaged versions of each fixture.
const ROUNDS: usize = 60;
const SEED: u64 = 20_261_120;
/// What damage likes to leave behind.
const SPLICES: &[&[u8]] = &[
    b"",
    b"\"",
    b"{",
    b"]",
    b",",
    b"\n",
    b"\r",
    b"\0",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-1",
    b"\xff\xfe",
    b"null",
    b"[N/A]",
    b"99999999999999999999",
];

#[test]
fn damaged_files_are_read_or_named_and_never_stop_the_reader() {
    let fixtures = archive::discover(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ingest")]).unwrap();
    let mut rng = SmallRng::seed_from_u64(SEED);
    let mut outcomes = [0usize; 2];
    for round in 0..ROUNDS {
        let folder = Folder::new("ingest-mutations");
        for file in &fixtures.files {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut file.open().unwrap(), &mut bytes).unwrap();
            damage(&mut bytes, &mut rng);
            folder.put(&file.path, bytes);
        }
        let found = archive::discover(&[folder.path().to_owned()]).unwrap();
        let once = ingest::all(&found, &Options::default()).unwrap();
        let again = ingest::all(&found, &Options::default()).unwrap();
        assert_eq!(format!("{once:?}"), format!("{again:?}"), "round {round}, seed {SEED}");
        assert_eq!(once.inputs.len(), fixtures.files.len(), "every file has its line");
        for input in &once.inputs {
            assert!(!input.skipped || input.reason.is_some(), "left out without a word: {input:?}");
            outcomes[usize::from(input.skipped)] += 1;
        }
        let mut ids: Vec<&str> = once.runs.iter().map(|run| run.id.as_str()).collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "ids stay unique");
        for run in &once.runs {
            let safe = |text: &str| {
                !text.is_empty()
                    && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
            };
            assert!(
                safe(&run.id) && safe(&run.campaign) && !run.id.starts_with('.'),
                "{:?} {:?}",
                run.id,
                run.campaign
            );
        }
    }
    assert!(
        outcomes.iter().all(|count| *count > ROUNDS),
        "the damage must neither spare all nor break all: {outcomes:?}"
    );
}

fn damage(bytes: &mut Vec<u8>, rng: &mut SmallRng) {
    if bytes.is_empty() {
        return;
    }
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..bytes.len().max(1));
        match rng.random_range(0..4u8) {
            0 => bytes.truncate(at),
            1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << rng.random_range(0..8u8);
                }
            }
            2 => {
                let end = (at + rng.random_range(0..40)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
            _ => {
                let splice = SPLICES[rng.random_range(0..SPLICES.len())];
                let at = at.min(bytes.len());
                bytes.splice(at..at, splice.iter().copied());
            }
        }
    }
}
