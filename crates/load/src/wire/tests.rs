//! Known answers: heads, framing, event streams, deltas, each trap once.

use super::fault::excerpt;
use super::json::{Bad, JsonCursor};
use super::shape::Shapes;
use super::*;
use crate::order::{ChunkKind, Usage};

/// Content of a response: its head, its body, its state.
fn respond(text: &str) -> (Option<ResponseHead>, String, Result<ResponseProgress, Fault>) {
    let (mut head, mut body) = (None, String::new());
    let fed = Response::new().feed(text.as_bytes(), &mut |part| match part {
        ResponsePart::Head(found) => head = Some(found.clone()),
        ResponsePart::Body(bytes) => body.push_str(std::str::from_utf8(bytes).expect("text")),
    });
    (head, body, fed)
}

/// Name, data and size of each event of a whole stream.
fn events(text: &str) -> Vec<(String, String, u32)> {
    let mut stream = EventStream::new(1 << 20);
    let mut events = Vec::new();
    let text_of = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let mut on = |event: Event<'_>| events.push((text_of(event.name), text_of(event.data), event.bytes));
    stream.feed(text.as_bytes(), &mut on).expect("a stream");
    stream.closed(&mut on).expect("a stream");
    events
}

fn data(text: &str) -> Vec<String> {
    events(text).into_iter().map(|event| event.1).collect()
}

fn delta(data: &str) -> Delta<'_> {
    Deltas::new().read(data.as_bytes()).expect("an event")
}

/// Kind, size and text of an event with this delta.
fn piece(inner: &str) -> (ChunkKind, u32, String) {
    let data = format!(r#"{{"choices":[{{"index":0,"delta":{inner}}}]}}"#);
    let delta = delta(&data);
    assert!(delta.choice);
    (delta.kind, delta.text_bytes, delta.text.text().into_owned())
}

fn says(kind: ChunkKind, bytes: u32, text: &str) -> (ChunkKind, u32, String) {
    (kind, bytes, text.to_owned())
}

#[test]
fn a_chunked_answer_is_read_to_its_end() {
    let whole = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                 3\r\nabc\r\n00A;name=\"v\"\r\n0123456789\r\n1 \r\n!\r\n0\r\nTrailer: x\r\n\r\n";
    let (head, body, fed) = respond(&format!("{whole}HTTP/1.1 500 not ours\r\n"));
    assert_eq!(fed, Ok(ResponseProgress::Complete { used: whole.len() }));
    assert_eq!(body, "abc0123456789!");
    assert!(head.is_some_and(|head| head.status == 200 && head.keep_alive));
}

#[test]
fn a_head_says_what_a_load_wants_to_know() {
    let (head, _, fed) = respond(
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 7\r\nLocation: /b\r\n\
         WWW-Authenticate: Bearer\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n",
    );
    let text = |text: &str| Some(text.to_owned());
    let expected = ResponseHead {
        status: 429,
        content_type: text("application/json"),
        retry_after: text("7"),
        location: text("/b"),
        www_authenticate: text("Bearer"),
        keep_alive: false,
    };
    assert_eq!(head, Some(expected));
    assert!(matches!(fed, Ok(ResponseProgress::Complete { .. })));
}

#[test]
fn the_end_of_a_body_is_where_the_head_says() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let cases: &[(&str, &str, Result<(), Missing>)] = &[
        ("content-length: 3\r\n\r\nabc", "abc", Ok(())),
        ("content-length: 3\r\ncontent-length: 3\r\n\r\nabc", "abc", Ok(())),
        ("content-length: 3, 3\r\n\r\nabc", "abc", Ok(())),
        ("content-length: 5\r\n\r\nabc", "abc", Err(Missing::Bytes(2))),
        ("content-length: 9\r\ntransfer-encoding: Chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab", Ok(())),
        ("transfer-encoding: chunked\r\n\r\n2\r\nab\r\n", "ab", Err(Missing::LastChunk)),
        ("transfer-encoding: chunked\n\n2\nab\n0\n\n", "ab", Ok(())),
        ("transfer-encoding: identity\r\n\r\nabc", "abc", Ok(())),
        ("\r\nuntil the end", "until the end", Ok(())),
        ("content-le", "", Err(Missing::Head)),
    ];
    for (rest, expected, end) in cases {
        let mut response = Response::new();
        let mut body = Vec::new();
        response
            .feed(format!("{ok}{rest}").as_bytes(), &mut |part| {
                if let ResponsePart::Body(bytes) = part {
                    body.extend_from_slice(bytes);
                }
            })
            .unwrap_or_else(|fault| panic!("{rest:?}: {fault}"));
        assert_eq!(body, expected.as_bytes(), "{rest:?}");
        assert_eq!(response.closed(), end.map_err(|missing| Fault::Truncated { missing }), "{rest:?}");
    }
    let nothing = Fault::Truncated { missing: Missing::Everything };
    assert_eq!(Response::new().closed(), Err(nothing));
}

#[test]
fn answers_without_a_body_are_complete_with_their_head() {
    for status in ["204 No Content", "304 Not Modified"] {
        let (_, body, fed) = respond(&format!("HTTP/1.1 {status}\r\ncontent-length: 5\r\n\r\n"));
        assert!(body.is_empty() && matches!(fed, Ok(ResponseProgress::Complete { .. })), "{status}");
    }
}

#[test]
fn interim_answers_are_skipped_and_old_ones_end_their_connection() {
    let (head, body, _) =
        respond("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.0 200 OK\r\n\r\nabc");
    assert_eq!((head.map(|head| (head.status, head.keep_alive)), body.as_str()), (Some((200, false)), "abc"));
    let (head, ..) = respond("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n");
    assert!(head.is_some_and(|head| head.keep_alive));
}

#[test]
fn what_is_no_sound_response_is_refused_with_a_reason() {
    let chunked = |rest: &str| format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{rest}");
    let cases = [
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), "the answer is not HTTP/1.1, it begins with \"SSH-2.0-OpenSSH_9.2\""),
        ("<html>".to_owned(), "the answer is not HTTP/1.1, it begins with \"<html>\""),
        ("HTTP/2 200\r\n\r\n".to_owned(), "the answer is not HTTP/1.1, it begins with \"HTTP/2 200\""),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n".to_owned(),
            "the Content-Length of the answer is not a number, or there are two that differ",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n".to_owned(),
            "the Content-Length of the answer is not a number, or there are two that differ",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n".to_owned(),
            "the answer is coded as \"gzip\", which was not asked for",
        ),
        (chunked("x\r\n"), "the chunked coding of the answer is broken"),
        (chunked("\r\n"), "the chunked coding of the answer is broken"),
        (chunked("10000000000000000\r\n"), "the chunked coding of the answer is broken"),
        (chunked("2\r\nabc"), "the chunked coding of the answer is broken"),
        (chunked("1\rX"), "the chunked coding of the answer is broken"),
        (chunked(&format!("1;{}", "x".repeat(20_000))), "the chunked coding of the answer is broken"),
        (chunked(&format!("0\r\n{}", "a: b\r\n".repeat(20_000))), "the chunked coding of the answer is broken"),
        (
            format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(HEAD_LIMIT)),
            "the head of the answer is longer than 64 KiB or has too many fields",
        ),
        (
            format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(200)),
            "the head of the answer is longer than 64 KiB or has too many fields",
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\n".repeat(4_000),
            "the head of the answer is longer than 64 KiB or has too many fields",
        ),
    ];
    for (text, expected) in cases {
        let fault = respond(&text).2.expect_err(expected);
        assert_eq!(fault.to_string(), expected);
    }
}

#[test]
fn events_end_with_any_line_end_and_mixtures_of_them() {
    for text in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data: a\r\rdata: b\r\r",
        "data:a\r\n\ndata:b\n\r\n",
    ] {
        assert_eq!(data(text), ["a", "b"], "{text:?}");
    }
}

#[test]
fn fields_are_read_by_the_standard() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (": a comment\n\n:\n\n", &[]),
        ("data:  two spaces\n\n", &[("", " two spaces")]),
        ("data: one\ndata\ndata: three\n\n", &[("", "one\n\nthree")]),
        ("event: error\ndata: x\n\ndata: y\n\n", &[("error", "x"), ("", "y")]),
        ("event: lost\n\ndata: y\n\n", &[("", "y")]),
        ("id: 7\nretry: 10\nunknown: z\nDATA: no\ndata: y\n\n", &[("", "y")]),
        ("data:\n\n", &[("", "")]),
        ("\u{feff}data: marked\n\n", &[("", "marked")]),
        ("\n\n\ndata: y\n\n\n\n", &[("", "y")]),
        ("data: [DONE]", &[("", "[DONE]")]),
        ("data: [DONE]\n", &[("", "[DONE]")]),
        ("error: {\"code\":500}\n\n", &[("error", "{\"code\":500}")]),
        ("", &[]),
    ];
    for (text, expected) in cases {
        let found = events(text);
        let found: Vec<_> = found.iter().map(|(name, data, _)| (name.as_str(), data.as_str())).collect();
        assert_eq!(found, *expected, "{text:?}");
    }
}

#[test]
fn the_size_of_an_event_counts_its_line_ends_and_the_comments_before_it() {
    let sizes = |text| events(text).into_iter().map(|event| event.2).collect::<Vec<_>>();
    assert_eq!(sizes("data: a\n\n: ping\n\ndata: b\n\n"), [9, 17]);
    // The LF of the last CR LF comes after the event is complete.
    assert_eq!(sizes("data: a\r\n\r\ndata: b\r\n\r\n"), [10, 11]);
}

#[test]
fn an_event_longer_than_the_limit_is_refused_and_the_memory_given_back() {
    let mut stream = EventStream::new(16);
    assert_eq!(stream.feed(b"data: 0123456789\n\n", &mut |_| ()), Ok(()));
    for text in ["data: 0123456789a\n\n", "data: 01234567\ndata: 01234567\n\n", ": a comment without any end"] {
        for size in [1, 5, 100] {
            stream.reset();
            let pieces = text.as_bytes().chunks(size);
            let read = pieces.map(|piece| stream.feed(piece, &mut |_| ())).find(Result::is_err);
            assert_eq!(read, Some(Err(Fault::EventTooLong { limit: 16 })), "{text:?} in pieces of {size}");
        }
    }
    stream.reset();
    for _ in 0..1_000 {
        assert_eq!(stream.feed(b": ping\n", &mut |_| ()), Ok(()), "comments alone do not grow");
    }
}

#[test]
fn a_role_alone_is_empty_and_no_first_token() {
    assert_eq!(piece(r#"{"role":"assistant"}"#), says(ChunkKind::Empty, 0, ""));
    assert_eq!(piece(r#"{"role":"assistant","content":""}"#), says(ChunkKind::Empty, 0, ""));
    assert_eq!(piece(r#"{"role":"assistant","provider_note":"x"}"#), says(ChunkKind::Empty, 0, ""));
    assert_eq!(delta(r#"{"id":"x"}"#).kind, ChunkKind::Empty);
}

#[test]
fn what_may_stand_for_a_token_is_told_apart_from_what_cannot() {
    use ChunkKind::{Bare, Closing, Reasoning, Silent, Unread};
    for inner in ["{}", "null", r#"{"content":null,"reasoning_content":null,"tool_calls":[]}"#, r#"{"content":[]}"#] {
        assert_eq!(piece(inner), says(Bare, 0, ""), "{inner}");
    }
    for inner in [
        r#"{"cogitation":" r"}"#,
        r#"{"content":"","cogitation":" r"}"#,
        r#"{"reasoning_details":[{"type":"reasoning.text","text":"r"}]}"#,
        r#"{"reasoning_content":["r"]}"#,
        r#"{"content":["r"]}"#,
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]}]}"#,
    ] {
        assert_eq!(piece(inner), says(Unread, 0, ""), "{inner}");
    }
    // No text: empty, a number, a name.
    for inner in [r#"{"cogitation":""}"#, r#"{"cogitation":3}"#, r#"{"id":"x","type":"y"}"#, r#"{"a":{"id":"x"}}"#] {
        assert_eq!(piece(inner), says(Bare, 0, ""), "{inner}");
    }
    assert_eq!(piece(r#"{"content":"","cogitation":""}"#), says(Silent, 0, ""));
    for name in ["reasoning_text", "thinking", "thinking_content", "thought"] {
        assert_eq!(piece(&format!(r#"{{"role":"assistant","content":"","{name}":"hm"}}"#)), says(Reasoning, 2, "hm"));
    }
    let last = delta(r#"{"choices":[{"delta":{"cogitation":"r"},"finish_reason":"length"}]}"#);
    assert_eq!(last.kind, Closing);
}

#[test]
fn each_kind_of_text_is_told_apart() {
    use ChunkKind::{Content, Reasoning, Refusal, Tool};
    let cases = [
        (r#"{"content":" the"}"#, says(Content, 4, " the")),
        (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"bc"}]}"#, says(Content, 3, "a")),
        (r#"{"reasoning":"hm"}"#, says(Reasoning, 2, "hm")),
        (r#"{"reasoning_content":"hm"}"#, says(Reasoning, 2, "hm")),
        (r#"{"reasoning":"hm","reasoning_content":"hm"}"#, says(Reasoning, 2, "hm")),
        (r#"{"reasoning":"hm\n","reasoning_content":"hm\u000a"}"#, says(Reasoning, 3, "hm\n")),
        (r#"{"reasoning":"hm","reasoning_content":"other"}"#, says(Reasoning, 7, "hm")),
        (r#"{"reasoning":"hm","content":"yes"}"#, says(Content, 5, "yes")),
        (r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}"#, says(Tool, 1, "f")),
        (r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}"#, says(Tool, 4, "{\"a\"")),
        (r#"{"function_call":{"name":"f","arguments":"12"}}"#, says(Tool, 3, "f")),
        (r#"{"refusal":"no"}"#, says(Refusal, 2, "no")),
    ];
    for (inner, expected) in cases {
        assert_eq!(piece(inner), expected, "{inner}");
    }
    let both = delta(r#"{"choices":[{"index":1,"text":"a"},{"index":0,"text":"bc"}]}"#);
    assert_eq!((both.kind, both.text_bytes), (Content, 3), "every choice was generated");
}

#[test]
fn escapes_are_resolved_and_half_a_pair_fails_nothing() {
    let cases = [
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""\u00e9\u00C9""#, "éÉ"),
        (r#""\ud83d\ude00!""#, "😀!"),
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ude00\ud83d x""#, "\u{fffd}\u{fffd} x"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ud83d\n""#, "\u{fffd}\n"),
        (r#""12345678\n12345678é""#, "12345678\n12345678é"),
    ];
    for (literal, expected) in cases {
        let (_, bytes, text) = piece(&format!("{{\"content\":{literal}}}"));
        assert_eq!((text.as_str(), bytes as usize), (expected, expected.len()), "{literal}");
    }
}

#[test]
fn a_character_parted_between_two_events_is_whole_when_joined() {
    let mut deltas = Deltas::new();
    let mut text = Vec::new();
    for part in "é".as_bytes() {
        let data = [&br#"{"choices":[{"delta":{"content":""#[..], &[*part], br#""}}]}"#].concat();
        let delta = deltas.read(&data).expect("an event");
        assert_eq!(delta.text_bytes, 1);
        delta.text.unescape_into(&mut text);
    }
    assert_eq!(text, "é".as_bytes());
}

#[test]
fn counts_come_from_the_usage_and_the_wrong_type_is_none() {
    let last = delta(r#"{"choices":[],"model":"m","usage":{"prompt_tokens":3,"completion_tokens":4}}"#);
    let usage = Usage { input: Some(3), output: Some(4), cached: None, reasoning: None };
    assert_eq!((last.kind, last.choice, last.usage, last.tokens), (ChunkKind::Usage, false, Some(usage), None));
    let along = delta(r#"{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#);
    assert_eq!((along.kind, along.tokens), (ChunkKind::Content, Some(4)));
    assert_eq!(delta(r#"{"choices":[],"usage":null}"#).usage, None);
    let odd =
        delta(r#"{"choices":[],"usage":{"prompt_tokens":"3","completion_tokens":-1,"prompt_tokens_details":null}}"#);
    assert_eq!(odd.usage, Some(Usage::default()));
    let in_choice = delta(r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"completion_tokens":9}}]}"#);
    assert_eq!((in_choice.tokens, in_choice.finish.as_deref()), (Some(9), Some("stop")));
    let timings = delta(r#"{"choices":[],"timings":{"prompt_n":5,"predicted_n":8}}"#);
    assert_eq!(timings.usage, Some(Usage { output: Some(8), ..Usage::default() }), "what was cached is not known");
}

#[test]
fn errors_are_one_bounded_line() {
    let cases = [
        (r#"{"error":{"message":"too long","type":"BadRequest","code":400}}"#, Some("too long (BadRequest, 400)")),
        (r#"{"error":{"message":"lost\n\u001b[31mworker"}}"#, Some("lost  [31mworker")),
        (r#"{"error":"plain"}"#, Some("plain")),
        (r#"{"error":{"status":3}}"#, Some("{'status':3}")),
        (r#"{"object":"error","message":"dead","code":500}"#, Some("dead")),
        (r#"{"detail":"Not Found"}"#, Some("Not Found")),
        (r#"{"detail":[{"loc":1}]}"#, Some("[{'loc':1}]")),
        (r#"{"error":null,"choices":[]}"#, None),
        (r#"{"error":""}"#, None),
        (r#"{"message":{"role":"assistant"}}"#, None),
        (r#"{"choices":[{"text":"x"}],"message":"beside"}"#, None),
    ];
    for (data, expected) in cases {
        assert_eq!(delta(data).error.as_deref(), expected, "{data}");
    }
    let long = format!(r#"{{"error":"{}"}}"#, "x".repeat(5_000));
    assert_eq!(delta(&long).error.map(|text| text.chars().count()), Some(delta::ERROR_LIMIT + 1));
}

#[test]
fn what_is_no_json_object_is_named() {
    for data in
        ["{", "null", "[1]", "{} x", "{\"a\":01}", "{\"a\":\"\t\"}", "{\"a\":\"\\x\"}", "{\"a\" 1}", "{,}", "[DONE] x"]
    {
        let fault = Deltas::new().read(data.as_bytes()).expect_err(data);
        assert_eq!(fault, Fault::NotJson { excerpt: excerpt(data.as_bytes()) }, "{data}");
    }
    let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(Deltas::new().read(deep(100).as_bytes()).is_ok());
    assert!(Deltas::new().read(deep(100_000).as_bytes()).is_err());
    assert_eq!(JsonCursor::new(b"truth").skip(), Err(Bad));
    assert_eq!(delta(" "), Delta::default());
    assert!(delta(" [DONE] ").done);
}

#[test]
fn the_next_event_of_an_answer_and_of_another_one_is_known() {
    let event = |id: &str, created: u32, content: &str, output: u32| {
        format!(
            r#"{{"id":"{id}","created":{created},"model":"m","choices":[{{"index":0,"delta":{{"content":{content}}},"finish_reason":null}}],"usage":{{"prompt_tokens":7,"completion_tokens":{output},"total_tokens":{}}}}}"#,
            7 + output
        )
    };
    let first = event("a", 5, r#"" x""#, 1);
    let mut notes = None;
    let mut known = Shapes::default();
    let read = parse::parse(first.as_bytes(), &mut notes).expect("an event");
    known.learn(first.as_bytes(), &notes.expect("JSON"), &read);
    for (id, created, content, output) in
        [("a", 5, r#""y""#, 2), ("bb", 60, r#""\n \"longer\"""#, 1_000), ("", 0, r#""é""#, 0)]
    {
        let next = event(id, created, content, output);
        let expected = Deltas::read_anew(next.as_bytes()).expect("an event");
        assert_eq!(known.read(next.as_bytes()), Some(expected), "{next}");
    }
    for (content, change) in [(r#""""#, ""), ("null", ""), (r#""z""#, "},"), (r#""z"#, "")] {
        let other = format!("{}{change}", event("a", 5, content, 2));
        assert_eq!(known.read(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn the_next_event_with_text_in_an_unknown_field_is_known_and_an_empty_one_is_not() {
    let event =
        |text: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"cogitation":{text},"more":["a","b"]}}}}]}}"#);
    let (first, mut notes) = (event(r#"" x""#), None);
    let read = parse::parse(first.as_bytes(), &mut notes).expect("an event");
    assert_eq!(read.kind, ChunkKind::Unread);
    let mut known = Shapes::default();
    known.learn(first.as_bytes(), &notes.expect("JSON"), &read);
    let next = event(r#""other \" text""#);
    assert_eq!(known.read(next.as_bytes()), Some(Deltas::read_anew(next.as_bytes()).expect("an event")));
    for other in [event(r#""""#), event("null"), event("7")] {
        assert_eq!(known.read(other.as_bytes()), None, "{other}");
    }
}

#[test]
fn a_request_has_one_line_a_header_whatever_its_values_hold() {
    let mut head = Vec::new();
    let headers = [("Authorization".to_owned(), "Bearer k\r\nx: y".to_owned())];
    request_head(&mut head, "POST", "/v1/chat/completions?a b", "localhost:8000", &headers, "r-1", 12);
    let text = String::from_utf8(head).expect("text");
    assert_eq!(
        text,
        "POST /v1/chat/completions?ab HTTP/1.1\r\nhost: localhost:8000\r\nAuthorization: Bearer k  x: y\r\n\
         x-request-id: r-1\r\ncontent-length: 12\r\n\r\n"
    );
    let mut head = Vec::new();
    request_head(&mut head, "GET", "", "h", &[], "", 0);
    assert_eq!(head, b"GET / HTTP/1.1\r\nhost: h\r\n\r\n");
}
