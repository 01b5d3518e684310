//! What the readers of responses, event streams and deltas promise, on streams of known servers and on damaged ones.

#![cfg(all(feature = "collect", target_os = "linux"))]

use rand::{RngExt as _, SeedableRng as _, rngs::SmallRng};
use sparkbench::load::order::{ChunkKind, Usage};
use sparkbench::load::wire::Deltas;

use crate::support::wire;
use wire::{cut, delta_holds, event_stream_holds, read_events, read_response, response_holds};

const SEED: u64 = 20_261_121;
/// Longest event of these tests, bytes.
const LIMIT: usize = 4_096;

/// Streams as the servers write them, by name.
const STREAMS: &[(&str, &str)] = &[
    ("vLLM", include_str!("../fixtures/wire/vllm.sse")),
    ("vLLM completions", include_str!("../fixtures/wire/vllm_completions.sse")),
    ("SGLang", include_str!("../fixtures/wire/sglang.sse")),
    ("TensorRT-LLM", include_str!("../fixtures/wire/trtllm.sse")),
    ("llama-server", include_str!("../fixtures/wire/llama_server.sse")),
    ("errors", include_str!("../fixtures/wire/error.sse")),
];

/// What damage likes to leave behind.
const SPLICES: &[&[u8]] = &[
    b"",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b",",
    b":",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"null",
    b"-1",
    b"0",
    b"99999999999",
    b"1e5",
    b"\\ud83d",
    b"\\u00e9",
    b"\xf0\x9f",
    b"data:",
    b"data: ",
    b"event: error\n",
    b": x\n",
    b"error: ",
    b"\"content\":\"x\",",
    b"\"usage\":{\"completion_tokens\":3},",
    b"\"model\":\"z\",",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"100-continue",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
];

/// Changes a few places.
fn damage(bytes: &mut Vec<u8>, rng: &mut SmallRng) {
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..=bytes.len());
        let end = (at + rng.random_range(0..6)).min(bytes.len());
        let splice = SPLICES[rng.random_range(0..SPLICES.len())];
        match rng.random_range(0..5) {
            0 => drop(bytes.splice(at..end, [])),
            1 if at < bytes.len() => bytes[at] = rng.random_range(0..=255),
            2 => bytes.truncate(at.max(1)),
            _ => drop(bytes.splice(at..end, splice.iter().copied())),
        }
    }
}

/// The data of the events of a stream.
fn data_of(stream: &[u8]) -> Vec<Vec<u8>> {
    read_events([stream], LIMIT).events.into_iter().map(|event| event.1).collect()
}

/// Kind, bytes and text of each event.
fn deltas_of(stream: &str) -> Vec<(ChunkKind, u32, String)> {
    let mut deltas = Deltas::new();
    let read = |data: Vec<u8>| {
        let delta = deltas.read(&data).unwrap();
        let mut text = Vec::new();
        delta.text.unescape_into(&mut text);
        (delta.kind, delta.text_bytes, String::from_utf8(text).unwrap())
    };
    data_of(stream.as_bytes()).into_iter().map(read).collect()
}

/// A whole response around a body: chunked with chunks of random sizes, with a length, or until the connection ends.
fn respond(body: &[u8], framing: usize, rng: &mut SmallRng) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/event-stream; charset=utf-8\r\n".to_vec();
    match framing {
        0 => {
            bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
            for chunk in cut(body, || rng.random_range(1..400)) {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
        1 => {
            bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(body);
        }
        _ => {
            bytes.extend_from_slice(b"connection: close\r\n\r\n");
            bytes.extend_from_slice(body);
        }
    }
    bytes
}

#[test]
fn streams_of_known_servers_say_what_they_say() {
    use ChunkKind::{Closing, Content, Empty, Reasoning, Tool, Usage};
    let said: &[(&str, &[(ChunkKind, &str)])] = &[
        (
            "vLLM",
            &[
                (Empty, ""),
                (Reasoning, "Hm"),
                (Reasoning, " so"),
                (Content, "Cafés"),
                (Content, " \"open\"\n"),
                (Content, "😀"),
                (Usage, ""),
                (Empty, ""),
            ],
        ),
        ("vLLM completions", &[(Content, " one"), (Content, " two three"), (Closing, ""), (Usage, ""), (Empty, "")]),
        (
            "SGLang",
            &[
                (Empty, ""),
                (Reasoning, "First"),
                (Content, "Yes"),
                (Content, ", 你好"),
                (Tool, "weather"),
                (Closing, ""),
                (Usage, ""),
                (Empty, ""),
            ],
        ),
        (
            "TensorRT-LLM",
            &[(Empty, ""), (Content, "In"), (Content, " C:\\dir\t"), (Closing, ""), (Usage, ""), (Empty, "")],
        ),
        ("llama-server", &[(Empty, ""), (Content, "Once"), (Content, " upon"), (Closing, ""), (Empty, "")]),
    ];
    for ((name, stream), (same, events)) in STREAMS.iter().zip(said) {
        assert_eq!(name, same);
        let expected: Vec<_> =
            events.iter().map(|(kind, text)| (*kind, text.len() as u32, (*text).to_owned())).collect();
        assert_eq!(deltas_of(stream), expected, "{name}");
    }
}

#[test]
fn usage_is_taken_in_the_shape_of_each_server() {
    let last = |name: &str| {
        let stream = STREAMS.iter().find(|stream| stream.0 == name).unwrap().1;
        let mut deltas = Deltas::new();
        data_of(stream.as_bytes()).iter().filter_map(|data| deltas.read(data).unwrap().usage).last()
    };
    let usage =
        |input, output, cached, reasoning| Some(Usage { input: Some(input), output: Some(output), cached, reasoning });
    assert_eq!(last("vLLM"), usage(19, 9, Some(16), None));
    assert_eq!(last("vLLM completions"), usage(5, 3, None, None));
    assert_eq!(last("SGLang"), usage(30, 9, Some(7), Some(1)));
    assert_eq!(last("TensorRT-LLM"), usage(12, 3, Some(0), None));
    assert_eq!(last("llama-server"), usage(14, 2, Some(3), None));
}

#[test]
fn every_way_of_writing_an_error_is_seen() {
    let events = read_events([STREAMS[5].1.as_bytes()], LIMIT).events;
    let mut deltas = Deltas::new();
    let seen: Vec<_> = events
        .iter()
        .map(|(name, data, _)| (String::from_utf8_lossy(name).into_owned(), deltas.read(data).unwrap().error))
        .collect();
    let error = |text: &str| Some(text.to_owned());
    let named = |name: &str| name.to_owned();
    assert_eq!(
        seen,
        [
            (named(""), None),
            (named(""), error("CUDA error: out of memory (InternalServerError, 500)")),
            (named(""), error("the engine is dead")),
            (named("error"), error("context shift is disabled")),
            (named("error"), error("worker lost")),
            (named(""), None),
        ]
    );
}

#[test]
fn split_at_any_byte_a_stream_gives_the_same_events_whatever_its_line_ends() {
    let mut rng = SmallRng::seed_from_u64(SEED);
    for (name, stream) in STREAMS {
        let data = data_of(stream.as_bytes());
        for end in ["\n", "\r\n", "\r"] {
            let bytes = stream.replace('\n', end).into_bytes();
            let whole = event_stream_holds(&bytes, LIMIT, || rng.random_range(1..300));
            assert_eq!(whole.fault, None);
            assert_eq!(whole.events.iter().map(|event| event.1.clone()).collect::<Vec<_>>(), data, "{name}, {end:?}");
            assert_eq!(read_events(cut(&bytes, || 2), LIMIT), whole, "{name} in pairs");
            // A sample of the places. Byte by byte, above, goes through all of them.
            for at in (0..bytes.len()).step_by(if end == "\r\n" { 2 } else { 7 }) {
                let (one, other) = bytes.split_at(at);
                assert_eq!(read_events([one, other], LIMIT), whole, "{name}, {end:?}, split at {at}");
            }
        }
    }
}

#[test]
fn split_at_any_byte_a_response_has_the_same_head_and_body() {
    let mut rng = SmallRng::seed_from_u64(SEED);
    for (name, stream) in STREAMS {
        for framing in 0..3 {
            let bytes = respond(stream.as_bytes(), framing, &mut rng);
            let whole = response_holds(&bytes, || rng.random_range(1..50));
            assert_eq!((whole.fault.as_ref(), &whole.body[..]), (None, stream.as_bytes()), "{name}");
            assert_eq!(whole.used, (framing < 2).then_some(bytes.len()));
            for at in (0..bytes.len()).step_by(if framing == 0 { 2 } else { 7 }) {
                let (one, other) = bytes.split_at(at);
                assert_eq!(read_response([one, other]), whole, "{name}, framing {framing}, split at {at}");
            }
        }
    }
}

#[test]
fn damaged_streams_are_read_the_same_way_wherever_they_are_split() {
    let mut rng = SmallRng::seed_from_u64(SEED);
    let mut faults = 0;
    for _ in 0..300 {
        let (_, stream) = STREAMS[rng.random_range(0..STREAMS.len())];
        let mut bytes = stream.replace('\n', ["\n", "\r\n", "\r"][rng.random_range(0..3)]).into_bytes();
        damage(&mut bytes, &mut rng);
        let limit = [64, 400, LIMIT][rng.random_range(0..3)];
        let mut sizes = rng.clone();
        faults += usize::from(event_stream_holds(&bytes, limit, || sizes.random_range(1..80)).fault.is_some());
        let framing = rng.random_range(0..3);
        let mut bytes = respond(&bytes, framing, &mut rng);
        damage(&mut bytes, &mut rng);
        faults += usize::from(response_holds(&bytes, || sizes.random_range(1..80)).fault.is_some());
    }
    assert!(faults > 80, "the damage does no harm: {faults}");
}

#[test]
fn an_event_like_an_earlier_one_is_read_as_if_parsed() {
    let mut rng = SmallRng::seed_from_u64(SEED);
    let events: Vec<Vec<u8>> = STREAMS.iter().flat_map(|stream| data_of(stream.1.as_bytes())).collect();
    let mut deltas = Deltas::new();
    let mut read = [0; 2];
    for _ in 0..3_000 {
        let mut data = events[rng.random_range(0..events.len())].clone();
        // The undamaged one is known when the damaged one comes.
        delta_holds(&mut deltas, &data);
        damage(&mut data, &mut rng);
        read[usize::from(delta_holds(&mut deltas, &data))] += 1;
    }
    assert!(read[0] > 300 && read[1] > 300, "{read:?}");
}
