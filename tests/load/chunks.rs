//! `chunks.sbc` as others read it: the verb, and a reader in another language that was written from the manual alone.
#![cfg(all(feature = "collect", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::folder::Folder;
use crate::support::needs;
use sparkbench::load::order::{Chunk, ChunkKind, Record, Sink as _};
use sparkbench::load::store::{Store, chunks};

const ORIGIN: u64 = 1_000_000_000_000;

/// Three requests side by side, long and short, steady and not, every kind of chunk.
fn write(folder: &Folder) -> PathBuf {
    let (mut sink, handle) = Store::begin(folder.path(), ORIGIN).unwrap();
    let kinds = [
        ChunkKind::Empty,
        ChunkKind::Reasoning,
        ChunkKind::Content,
        ChunkKind::Tool,
        ChunkKind::Refusal,
        ChunkKind::Usage,
    ];
    for number in 0..300_u32 {
        for request in 0..3_u64 {
            let step = [10_000_000, 10_000_000 + u64::from(number * 7919 % 1000) * 100, 1][request as usize];
            let kind = if request == 2 { kinds[number as usize % 6] } else { ChunkKind::Content };
            // The first one came before the origin.
            let at = ORIGIN - 5 + u64::from(number) * step;
            let chunk = Chunk {
                at,
                lag_ns: number * 1700,
                bytes: 180 + number % 7,
                text: number % 7,
                tokens: (request == 1) as u16,
                kind,
            };
            sink.chunks(request, number, &[chunk]);
        }
    }
    for index in 0..3 {
        sink.ended(Record { index, ..Record::default() });
    }
    handle.finish(sink).unwrap();
    folder.path().join(chunks::FILE)
}

fn verb(arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sparkbench")).arg("chunks").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_verb_prints_every_chunk_and_what_a_file_holds() {
    let folder = Folder::new("load-chunks-verb");
    let path = write(&folder);
    let (csv, _) = verb(&[path.to_str().unwrap(), "--csv"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 901);
    assert_eq!(lines[0], "request,chunk,at_s,lag_us,bytes,text_bytes,tokens,kind");
    assert_eq!(lines[1], "0,0,-0.000000005,0.0,180,0,,content");
    assert!(
        lines.contains(&"1,299,2.989999995,508.3,185,5,1,content")
            || lines.iter().any(|line| line.starts_with("1,299,"))
    );
    let (account, _) = verb(&[path.to_str().unwrap()]);
    assert!(account.starts_with("900 chunks of 3 requests in 9 blocks\nfrom -0.000000005 s"), "{account}");
    assert!(account.contains("50 empty, 650 content, 50 reasoning, 50 tool, 50 usage, 50 refusal"), "{account}");
}

#[test]
fn a_torn_file_is_printed_up_to_the_tear_and_said_to_be_torn() {
    let folder = Folder::new("load-chunks-torn");
    let path = write(&folder);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let (csv, said) = verb(&[path.to_str().unwrap(), "--csv"]);
    assert!((600..900).contains(&csv.lines().count()), "{}", csv.lines().count());
    assert!(said.contains("is cut off after byte") && said.contains("a block is cut short"), "{said}");
}

#[test]
fn a_reader_in_another_language_gives_the_same() {
    let folder = Folder::new("load-chunks-python");
    let path = write(&folder);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/read_chunks.py");
    let Ok(output) = Command::new("python3").arg(script).arg(&path).output() else {
        return needs::skip("there is no python3 here");
    };
    assert!(output.status.success(), "{output:?}");
    let (csv, _) = verb(&[path.to_str().unwrap(), "--csv"]);
    assert!(String::from_utf8(output.stdout).unwrap() == csv);
}
