//! What the fuzz targets of `fuzz/ingest` found worth keeping is read again: no panic, no hang, no memory beyond a small multiple of the
//! bytes. The fixtures too, each by every format of its family: a file may always be something else than it looks.

use std::path::{Path, PathBuf};

use sparkbench::ingest::reports::PARSERS;
use sparkbench::ingest::{self, FORMATS, KINDS};

use crate::MEMORY;
use crate::support::again;
use crate::support::files::files_below;
use crate::support::fuzzed;
use crate::support::fuzzed::{FAMILIES, FOUND, Family, holds};

/// Size of the corpus in the repository: to be read in seconds, and looked through by a person.
const CORPUS_BYTES: usize = 2 << 20;

/// Files above it are no seeds: what is in them is in smaller ones, and a search that carries them is slow.
const SEED_BYTES: usize = 64 << 10;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Families whose formats would take a file, with the member that does.
fn takers(path: &str, bytes: &[u8]) -> Vec<(&'static Family, u8)> {
    let look = ingest::read(path, bytes.len() as u64, bytes);
    let Some(format) = look.format else { return Vec::new() };
    let kinds = look.outcome.map(|parsed| parsed.kinds).unwrap_or_default();
    let is_server = kinds.iter().any(|kind| kind.ends_with("-server-log"));
    let mut takers = Vec::new();
    for family in FAMILIES {
        let reports = ["json", "log", "txt", "jsonl"].iter().any(|ending| path.ends_with(ending))
            && ["result", "iterations", "trtllm-bench-report", "log", "requests"].contains(&format);
        let wanted = match family.name {
            "servers" => is_server,
            "consoles" => !is_server,
            "reports" if reports => {
                takers.extend((0u8..).zip(family.members).map(|(member, _)| (family, member)));
                continue;
            }
            _ => true,
        };
        let member = (0u8..).zip(family.members).find(|(_, (name, _))| *name == format);
        takers.extend(member.filter(|_| wanted).map(|(member, _)| (family, member)));
    }
    takers
}

#[test]
fn every_format_and_every_named_parser_is_fuzzed() {
    let member = |family: &&Family, name: &str| family.members.iter().any(|(member, _)| *member == name);
    for format in FORMATS {
        let found =
            FAMILIES.iter().filter(|family| family.name != "reports").any(|family| member(&family, format.name()));
        assert!(found, "'{}' is in no family of tests/support/fuzzed.rs", format.name());
    }
    for parser in PARSERS {
        assert!(member(&fuzzed::family("reports"), parser.name()), "'{}' is not among the reports", parser.name());
    }
    let fixtures = files_below(&root().join("tests/fixtures/ingest"));
    for kind in KINDS {
        let shown = |(path, bytes): (&String, &Vec<u8>)| {
            bytes.len() <= SEED_BYTES
                && ingest::read(path, bytes.len() as u64, bytes.as_slice())
                    .outcome
                    .is_ok_and(|parsed| parsed.kinds.contains(&kind.name))
        };
        assert!(fixtures.iter().any(shown), "no seed of '{}'", kind.name);
    }
    for family in FAMILIES {
        assert!(
            root().join(format!("fuzz/ingest/targets/{}.rs", family.name)).is_file(),
            "no target '{}'",
            family.name
        );
    }
}

#[test]
fn the_kept_corpus_is_read_in_bounded_memory() {
    again::alone(module_path!(), "the_kept_corpus");
}

#[test]
#[ignore = "started by another test"]
fn the_kept_corpus() {
    if !again::is_inside() {
        return;
    }
    let mut size = 0;
    for family in FAMILIES {
        let corpus = files_below(&root().join("fuzz/ingest/corpus").join(family.name));
        assert!(!corpus.is_empty(), "no corpus of '{}'", family.name);
        for (name, input) in &corpus {
            // Shown when the test fails.
            println!("{}/{name}", family.name);
            holds(family, input, &MEMORY);
        }
        size += corpus.values().map(Vec::len).sum::<usize>();
    }
    assert!(size <= CORPUS_BYTES, "{size} bytes");
}

#[test]
fn every_fixture_is_read_in_bounded_memory_by_every_format_of_its_families() {
    again::alone(module_path!(), "every_fixture");
}

#[test]
#[ignore = "started by another test"]
fn every_fixture() {
    if !again::is_inside() {
        return;
    }
    let mut read = 0;
    for (path, bytes) in files_below(&root().join("tests/fixtures/ingest")) {
        for (family, _) in takers(&path, &bytes) {
            for member in (0u8..).zip(family.members).map(|(member, _)| member) {
                println!("{path} as {:?}", family.members[usize::from(member)]);
                let mut input = vec![member];
                input.extend(&bytes);
                holds(family, &input, &MEMORY);
                read += 1;
            }
        }
    }
    assert!(read > 500, "{read}");
}

/// `SPARKBENCH_SEEDS=FOLDER cargo test --test formats -- --ignored ingest_corpus::seeds` writes the fixtures as inputs of the targets.
#[test]
#[ignore = "writes files where it is told to"]
fn seeds() {
    let to = PathBuf::from(std::env::var_os("SPARKBENCH_SEEDS").expect("SPARKBENCH_SEEDS names a folder"));
    let put = |family: &Family, name: &str, pick: u8, bytes: &[u8]| {
        let folder = to.join(family.name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut input = vec![pick];
        input.extend(bytes);
        std::fs::write(folder.join(format!("{pick:02x}-{}", name.replace('/', "-"))), input).unwrap();
    };
    for (path, bytes) in files_below(Path::new(&root().join("tests/fixtures/ingest"))) {
        if bytes.len() > SEED_BYTES {
            continue;
        }
        for (family, member) in takers(&path, &bytes) {
            put(family, &path, member, &bytes);
            put(family, &path, member | FOUND, &bytes);
        }
    }
}
