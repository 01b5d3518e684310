//! Chunks written and read back. Files that are torn. What a chunk costs.

use super::*;
use crate::order::ChunkKind;

/// A stream with the jitter of a real one: tokens every 10 ms, give or take 60 us, lag around 30 us.
pub(super) fn stream(count: u32, seed: u64) -> Vec<Chunk> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut at = 5_000_000_000;
    (0..count)
        .map(|number| {
            at += 9_940_000 + draw(120_000);
            let text = 1 + draw(9) as u32;
            Chunk {
                at,
                lag_ns: (10 + draw(40) as u32) * 1000,
                bytes: 190 + text,
                text,
                tokens: 0,
                kind: if number == 0 { ChunkKind::Empty } else { ChunkKind::Content },
            }
        })
        .collect()
}

fn file(blocks: &[(u64, u32, &[Chunk])], end: bool) -> Vec<u8> {
    let origin = 4_000_000_000;
    let mut bytes = header(origin).into_bytes();
    bytes.push(b'\n');
    let mut encoder = Encoder::default();
    for (index, first, chunks) in blocks {
        encoder.block(origin, &ChunkBlock { request: *index, first: *first, more: false, chunks }, &mut bytes);
    }
    if end {
        bytes.extend_from_slice(&END);
    }
    bytes
}

#[test]
fn what_was_written_comes_back() {
    let (long, other) = (stream(300, 1), stream(2, 2));
    // Before the origin, backwards in time, text longer than its event, every kind: nothing is impossible.
    let odd: Vec<Chunk> = (0..6_u8)
        .map(|kind| Chunk {
            at: 3_000_000_000 - u64::from(kind) * 7,
            lag_ns: 4_000_000_000,
            bytes: 1,
            text: 100,
            tokens: u16::MAX,
            kind: [
                ChunkKind::Empty,
                ChunkKind::Content,
                ChunkKind::Reasoning,
                ChunkKind::Tool,
                ChunkKind::Usage,
                ChunkKind::Refusal,
            ][usize::from(kind)],
        })
        .collect();
    let bytes = file(&[(0, 0, &long[..128]), (u64::MAX, 0, &other), (0, 128, &long[128..]), (3, 0, &odd)], true);
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    assert_eq!(reader.header().origin_ns, 4_000_000_000);
    let mut found = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        found.push(block);
    }
    assert_eq!(reader.ending(), &Ending::Whole);
    assert_eq!(
        found.iter().map(|b| (b.request, b.first)).collect::<Vec<_>>(),
        [(0, 0), (u64::MAX, 0), (0, 128), (3, 0)]
    );
    assert_eq!([&found[0].chunks[..], &found[2].chunks[..]].concat(), long);
    assert_eq!((&found[1].chunks, &found[3].chunks), (&other, &odd));
}

#[test]
fn a_chunk_costs_about_five_bytes() {
    let chunks = stream(128 * 64, 7);
    let blocks: Vec<_> = chunks.chunks(128).enumerate().map(|(n, part)| (n as u64, 0, part)).collect();
    let cost = file(&blocks, true).len() as f64 / chunks.len() as f64;
    assert!(cost < 6.5, "{cost} bytes");
}

#[test]
fn a_torn_file_is_read_up_to_the_tear_wherever_it_is() {
    let (one, two) = (stream(20, 1), stream(20, 2));
    let whole = file(&[(0, 0, &one), (1, 0, &two)], true);
    let start = header(4_000_000_000).len() + 1;
    let good = file(&[(0, 0, &one)], false).len();
    for cut in start..whole.len() {
        let mut reader = Reader::new(&whole[..cut]).unwrap();
        let mut blocks = 0;
        while reader.next_block().unwrap().is_some() {
            blocks += 1;
        }
        let both = whole.len() - END.len();
        assert_eq!(blocks, usize::from(cut >= good) + usize::from(cut >= both), "cut at {cut}");
        let Ending::Torn { at, .. } = reader.ending() else { panic!("cut at {cut} and not torn") };
        assert_eq!(
            *at as usize,
            if cut >= both {
                both
            } else if cut >= good {
                good
            } else {
                start
            }
        );
    }
}

#[test]
fn damage_is_found_and_never_more_than_a_tear() {
    let chunks = stream(40, 3);
    let whole = file(&[(0, 0, &chunks)], true);
    let start = header(4_000_000_000).len() + 1;
    for at in start..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x21;
        let mut reader = Reader::new(damaged.as_slice()).unwrap();
        while let Some(block) = reader.next_block().unwrap() {
            assert_eq!(block.chunks, chunks, "a block that passes is the one that was written");
        }
        assert!(matches!(reader.ending(), Ending::Torn { .. }), "byte {at}");
    }
}

#[test]
fn other_files_are_refused_in_words() {
    for (bytes, word) in [
        (&b""[..], "is not a file of chunks"),
        (b"index,at\n1,2\n", "is not a file of chunks"),
        (b"{\"schema\":\"sparkbench.chunks/2\",\"origin_ns\":0}\n", "another version"),
    ] {
        let error = Reader::new(bytes).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
