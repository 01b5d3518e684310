//! Records and chunks through the queue and the thread, onto the disk and back.

use super::*;
use crate::order::{Asked, ChunkKind, Phase, Status, TurnPlace, Usage};
use sparkbench_archive::manifest::RequestWire;
use sparkbench_host::net::Stamp;
use sparkbench_testing::Folder;

fn folder(name: &str) -> Folder {
    Folder::new(&format!("store-{name}"))
}

const ORIGIN: Ns = 1_000_000_000_000;

fn stamp(at: Ns, lag: Ns) -> Option<Stamp> {
    Some(Stamp { kernel: Some(ORIGIN + at), user: ORIGIN + at + lag })
}

fn chunk(at: Ns) -> Chunk {
    Chunk { at: ORIGIN + at, lag_ns: 2000, bytes: 200, text: 4, tokens: 0, kind: ChunkKind::Content }
}

#[test]
fn a_record_becomes_a_line_with_every_moment_and_nothing_that_is_absent() {
    let folder = folder("line");
    let (mut sink, handle) = Store::begin(&folder, ORIGIN).unwrap();
    sink.chunks(3, 0, &[chunk(100_000_001), chunk(200_000_000)]);
    sink.ended(Record {
        index: 3,
        phase: Phase::Measured,
        turn: Some(TurnPlace { conversation: 5, turn: 1, client: 2 }),
        request_id: "sb-3".into(),
        asked: Asked { isl: Some(10), isl_sent: Some(11), osl: Some(2), exact: true },
        sent: Some(ORIGIN + 1),
        written: Some(ORIGIN + 2),
        first_token: stamp(100_000_001, 2000),
        last_token: stamp(200_000_000, 0),
        end: stamp(200_000_005, 0),
        first_byte: stamp(90_000_000, 0),
        pieces: 2,
        events: 3,
        done: true,
        usage: Usage { input: Some(12), output: Some(2), cached: Some(0), reasoning: None },
        http: Some(200),
        ..Record::default()
    });
    sink.ended(Record { index: 4, phase: Phase::Warmup, status: Status::NotSent, ..Record::default() });
    let stored = handle.finish(sink).unwrap();
    assert_eq!(
        (stored.requests, stored.chunks, stored.before, stored.rows.count(), stored.waits),
        (2, 2, (1, 0), 1, 0)
    );
    let text = std::fs::read_to_string(folder.join(REQUESTS_FILE)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "{\"index\":3,\"phase\":\"measured\",\"request_id\":\"sb-3\",\"conversation\":5,\"turn\":1,\"client\":2,\"sent_s\":1e-9,\
         \"written_s\":2e-9,\"first_byte_s\":0.09,\"first_token_s\":0.100000001,\"first_token_read_s\":0.100002001,\
         \"last_token_s\":0.2,\"end_s\":0.200000005,\"input_tokens\":12,\"cached_tokens\":0,\"output_tokens\":2,\
         \"input_tokens_asked\":10,\"input_tokens_sent\":11,\"output_tokens_asked\":2,\"output_exact\":true,\"events\":3,\
         \"pieces\":2,\"bytes\":0,\"text_bytes\":0,\"done\":true,\"http\":200,\"reused\":false,\"status\":\"ok\"}"
    );
    assert_eq!(lines[1], "{\"index\":4,\"warmup\":true,\"phase\":\"warmup\",\"status\":\"not-sent\"}");
    let wire: RequestWire = serde_json::from_str(lines[0]).unwrap();
    assert!(wire.measured() && wire.answered() && wire.last_token_s() == Some(0.2));
    // Someone else's records are never written over.
    let error = Store::begin(&folder, ORIGIN).unwrap_err().to_string();
    assert!(error.contains("requests.jsonl") && error.contains("another load"), "{error}");
}

#[test]
fn chunks_of_many_requests_at_once_come_back_each_in_its_order() {
    let folder = folder("chunks");
    let (mut sink, handle) = Store::begin(&folder, ORIGIN).unwrap();
    const STREAMS: u64 = 50;
    const TOKENS: u32 = 700;
    for token in 0..TOKENS {
        for stream in 0..STREAMS {
            sink.chunks(stream, token, &[chunk(u64::from(token) * 1_000_000 + stream)]);
        }
    }
    // The last one never ends, and the outcome is there all the same.
    for stream in 0..STREAMS - 1 {
        sink.ended(Record { index: stream, ..Record::default() });
    }
    let mut stored = handle.finish(sink).unwrap();
    assert_eq!(stored.chunks, STREAMS * u64::from(TOKENS));
    let mut next = vec![0_u32; STREAMS as usize];
    let mut reader = stored.chunks().unwrap();
    while let Some(block) = reader.next_block().unwrap() {
        let next = &mut next[block.request as usize];
        assert_eq!(block.first, *next);
        for found in block.chunks {
            assert_eq!(found, chunk(u64::from(*next) * 1_000_000 + block.request));
            *next += 1;
        }
    }
    assert_eq!(*reader.ending(), chunks::Ending::Whole);
    assert!(next.iter().all(|count| *count == TOKENS));
    assert_eq!(std::fs::metadata(folder.join(chunks::FILE)).unwrap().len(), stored.chunk_bytes);
}

#[test]
fn a_load_without_an_archive_leaves_nothing() {
    let folder = folder("scratch");
    let (mut sink, handle) = Store::scratch(&folder, ORIGIN).unwrap();
    sink.chunks(0, 0, &[chunk(1)]);
    sink.ended(Record { sent: Some(ORIGIN), ..Record::default() });
    let mut stored = handle.finish(sink).unwrap();
    assert!(stored.chunks().unwrap().next_block().unwrap().is_some());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn words_of_a_hostile_server_stay_few_and_short() {
    let folder = folder("hostile");
    let (mut sink, handle) = Store::scratch(&folder, ORIGIN).unwrap();
    for index in 0..1000 {
        let model = Some(format!("{index}{}", "x".repeat(1000)));
        sink.ended(Record { index, model, http: Some(429), retry_after: Some("1".into()), ..Record::default() });
    }
    let stored = handle.finish(sink).unwrap();
    assert!(stored.models.len() <= 16 && stored.models.keys().all(|model| model.len() <= 120));
    assert_eq!((stored.retry_after["1"], stored.http[&429]), (1000, 1000));
}

#[test]
fn a_disk_that_is_full_is_an_error_at_the_end_and_never_holds_the_engine() {
    let Ok(full) = OpenOptions::new().read(true).write(true).open("/dev/full") else { return };
    let folder = folder("full");
    let (mut sink, handle) = Store::start(&folder, None, full, ORIGIN).unwrap();
    for token in 0..1_000_000 {
        sink.chunks(0, token, &[chunk(u64::from(token) * 1_000_003)]);
    }
    let error = handle.finish(sink).unwrap().failure.unwrap().to_string();
    assert!(error.contains("cannot write the records"), "{error}");
}
