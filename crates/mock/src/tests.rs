//! Over raw sockets: every shape byte for byte, times against the truth, connections that stay, clients that do not read.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use sparkbench_host::net::{Interest, Ns, Poller, Received, Stream, now};

use super::settings::ReasoningKey;
use super::shape::{Form, Framing, Portion, Reply};
use super::text::{plain_word, word};
use super::*;

/// Nothing here takes longer, whatever the machine does beside it.
const PATIENCE_NS: Ns = 3_600_000_000_000;
/// Nothing may come in this time from shapes that have gone silent.
const SILENCE_NS: Ns = 100_000_000;
/// Tokens of an answer in the walk over all shapes.
const TOKENS: u32 = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The wanted amount.
    Enough,
    Closed,
    Reset,
    Silent,
}

struct Client {
    stream: Stream,
    poller: Poller,
    got: Vec<u8>,
}

impl Client {
    fn open(address: SocketAddr) -> Self {
        let stream = Stream::connect(address).unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(&stream, 0, Interest::Both).unwrap();
        let mut ready = Vec::new();
        poller.wait(Some(now() + PATIENCE_NS), &mut ready).unwrap();
        stream.connected().unwrap();
        poller.change(&stream, 0, Interest::Read).unwrap();
        Self { stream, poller, got: Vec::new() }
    }

    fn send(&self, bytes: &[u8]) {
        let mut sent = 0;
        while sent < bytes.len() {
            sent += self.stream.send(&bytes[sent..]).unwrap();
        }
    }

    /// Reads until `enough` says so, the connection ends, or nothing comes for that long.
    fn read_for(&mut self, silence: Ns, enough: impl Fn(&[u8]) -> bool) -> Last {
        let (mut buffer, mut ready) = (vec![0; 1 << 16], Vec::new());
        loop {
            if enough(&self.got) {
                return Last::Enough;
            }
            self.poller.wait(Some(now() + silence), &mut ready).unwrap();
            if ready.is_empty() {
                return Last::Silent;
            }
            match self.stream.receive(&mut buffer) {
                Ok(Received::Bytes(count, _)) => self.got.extend_from_slice(&buffer[..count]),
                Ok(Received::End(_)) => return Last::Closed,
                Ok(Received::Nothing) => {}
                Err(_) => return Last::Reset,
            }
        }
    }

    fn response(&mut self) -> Response {
        let last = self.read_for(PATIENCE_NS, |got| Response::length(got).is_some());
        assert_eq!(last, Last::Enough, "{}", String::from_utf8_lossy(&self.got));
        let length = Response::length(&self.got).unwrap();
        let bytes: Vec<u8> = self.got.drain(..length).collect();
        Response::of(&bytes)
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Response {
    code: u16,
    lines: BTreeMap<String, String>,
    /// With the date taken out.
    body: String,
    /// Bytes of the body as it came.
    length: usize,
}

impl Response {
    fn head(bytes: &[u8]) -> Option<usize> {
        bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
    }

    /// Length of the first response, when it is whole. One that ends with the connection never is.
    fn length(bytes: &[u8]) -> Option<usize> {
        let head = Self::head(bytes)?;
        let lines = std::str::from_utf8(&bytes[..head]).unwrap();
        if let Some((_, rest)) = lines.split_once("content-length: ") {
            let length: usize = rest.split('\r').next().unwrap().parse().unwrap();
            return (bytes.len() >= head + length).then_some(head + length);
        }
        lines.contains("transfer-encoding: chunked").then_some(())?;
        let mut at = head;
        loop {
            let line = bytes[at..].windows(2).position(|two| two == b"\r\n")?;
            let size = usize::from_str_radix(std::str::from_utf8(&bytes[at..at + line]).unwrap(), 16).unwrap();
            at += line + 2 + size + 2;
            if at > bytes.len() {
                return None;
            }
            if size == 0 {
                return Some(at);
            }
        }
    }

    /// Whatever is there of a response. The chunks' frames are taken off.
    fn of(bytes: &[u8]) -> Self {
        let head = Self::head(bytes).unwrap();
        let text = std::str::from_utf8(&bytes[..head]).unwrap();
        let mut lines = text.trim_end().split("\r\n");
        let code = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let lines: BTreeMap<String, String> =
            lines.map(|line| line.split_once(": ").unwrap()).map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        let mut body = Vec::new();
        if lines.contains_key("transfer-encoding") {
            let mut at = head;
            while let Some(line) = bytes[at..].windows(2).position(|two| two == b"\r\n") {
                let size = usize::from_str_radix(std::str::from_utf8(&bytes[at..at + line]).unwrap(), 16).unwrap();
                at += line + 2;
                body.extend_from_slice(&bytes[at..at + size]);
                at += size + 2;
            }
        } else {
            body.extend_from_slice(&bytes[head..]);
        }
        let body = String::from_utf8(body).unwrap();
        let length = body.len();
        // The one thing that differs from day to day.
        let body = match body.split_once("\"created\":") {
            Some((_, rest)) => {
                let created: String = rest.chars().take_while(char::is_ascii_digit).collect();
                body.replace(&format!("\"created\":{created}"), "\"created\":0")
            }
            None => body,
        };
        Self { code, lines, body, length }
    }
}

fn post(path: &str, id: &str, lines: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: mock\r\nx-request-id: {id}\r\n{lines}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn chat(id: &str, shape: &str, tokens: u32) -> Vec<u8> {
    let body = format!(
        "{{\"model\":\"mock\",\"messages\":[{{\"role\":\"user\",\"content\":\"say something\"}}],\"stream\":true,\
         \"max_tokens\":{tokens},\"stream_options\":{{\"include_usage\":true}}}}"
    );
    post("/v1/chat/completions", id, &format!("x-mock-shape: {shape}\r\n"), &body)
}

fn fast() -> Settings {
    Settings { truth_chunks: true, ..Settings::default() }
}

/// JSON of an event of chat.
fn event(id: &str, delta: &str, finish: Option<&str>) -> String {
    let finish = finish.map_or_else(|| "null".to_owned(), |finish| format!("\"{finish}\""));
    format!(
        "{{\"id\":\"chatcmpl-{id}\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"mock\",\"choices\":[{{\"index\":0,\
         \"delta\":{{{delta}}},\"logprobs\":null,\"finish_reason\":{finish}}}]}}"
    )
}

fn usage(id: &str, output: u32, more: &str) -> String {
    format!(
        "{{\"id\":\"chatcmpl-{id}\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"mock\",\"choices\":[],\
         \"usage\":{{\"prompt_tokens\":6,\"total_tokens\":{},\"completion_tokens\":{output},\
         \"prompt_tokens_details\":{{\"cached_tokens\":0}}{more}}}}}",
        6 + output
    )
}

fn contents(first: &str, keys: impl Fn(u32) -> &'static str) -> Vec<String> {
    (0..TOKENS).map(|k| format!("{}\"{}\":\"{}\"", if k == 0 { first } else { "" }, keys(k), word(k).json)).collect()
}

const ROLE: &str = "\"role\":\"assistant\",";
const ROLE_ONLY: &str = "\"role\":\"assistant\",\"content\":\"\"";

/// Expected body of a shape.
fn expected(shape: &Shape) -> String {
    let id = shape.name;
    let plain = contents(ROLE, |_| "content");
    let bare = contents("", |_| "content");
    let all = |deltas: &[String], finish: &str| -> Vec<String> {
        let last = deltas.len() - 1;
        deltas.iter().enumerate().map(|(k, delta)| event(id, delta, (k == last).then_some(finish))).collect()
    };
    let lines = |events: &[String], end: &str| -> String {
        let mut text: String = events.iter().map(|event| format!("data: {event}{end}{end}")).collect();
        text.push_str(&format!("data: [DONE]{end}{end}"));
        text
    };
    let whole = |mut events: Vec<String>| {
        events.push(usage(id, TOKENS, ""));
        lines(&events, "\n")
    };
    let reasoned = |mut events: Vec<String>, count: u32| {
        let more = format!(",\"completion_tokens_details\":{{\"reasoning_tokens\":{count}}}");
        events.push(usage(id, TOKENS, &more));
        lines(&events, "\n")
    };
    let role_then =
        |events: Vec<String>| -> Vec<String> { std::iter::once(event(id, ROLE_ONLY, None)).chain(events).collect() };
    let half =
        || -> String { plain[..3].iter().map(|delta| format!("data: {}\n\n", event(id, delta, None))).collect() };
    let error = "data: {\"error\":{\"message\":\"the engine has died\",\"type\":\"InternalServerError\",\"param\":null,\"code\":500}}\n\n";
    let call = |k: u32, begins: bool, ends: bool| {
        let open = if begins { "{\\\"at\\\":\\\"" } else { "" };
        let close = if ends { "\\\"}" } else { "" };
        let name = if begins { "\"id\":\"call-1\",\"type\":\"function\"," } else { "" };
        let inner = if begins { "\"name\":\"look\"," } else { "" };
        format!(
            "\"tool_calls\":[{{\"index\":0,{name}\"function\":{{{inner}\"arguments\":\"{open}{}{close}\"}}}}]",
            plain_word(k).json
        )
    };
    match shape.name {
        "role-first" => whole(role_then(all(&bare, "length"))),
        "reasoning-first" => {
            let deltas = contents("", |k| if k < 2 { "reasoning_content" } else { "content" });
            reasoned(role_then(all(&deltas, "length")), 2)
        }
        "reasoning-only" => reasoned(all(&contents(ROLE, |_| "reasoning_content"), "length"), 6),
        "tool-call" => {
            let mut deltas: Vec<String> = (0..TOKENS).map(|k| call(k, k == 0, k == 5)).collect();
            deltas[0].insert_str(0, ROLE);
            whole(all(&deltas, "tool_calls"))
        }
        "mixed" => {
            let mut deltas = contents("", |k| if k < 2 { "reasoning_content" } else { "content" });
            deltas[4] = call(4, true, false);
            deltas[5] = call(5, false, true);
            reasoned(role_then(all(&deltas, "tool_calls")), 2)
        }
        "refusal" => whole(all(&contents(ROLE, |_| "refusal"), "length")),
        "multi-token" => {
            let words = |from: u32, to: u32| -> String { (from..to).map(|k| word(k).json).collect() };
            whole(all(
                &[format!("{ROLE}\"content\":\"{}\"", words(0, 4)), format!("\"content\":\"{}\"", words(4, 6))],
                "length",
            ))
        }
        "finish-apart" => {
            let mut deltas = bare.clone();
            deltas.push("\"content\":\"\"".to_owned());
            whole(role_then(all(&deltas, "length")))
        }
        "no-usage" => lines(&all(&plain, "length"), "\n"),
        "crlf" | "split-crlf" | "cr" => {
            let mut events = all(&plain, "length");
            events.push(usage(id, TOKENS, ""));
            lines(&events, if id == "cr" { "\r" } else { "\r\n" })
        }
        "comments" => {
            let text = whole(all(&plain, "length")).replace("data: {", ": ping\n\ndata: {");
            text + ": bye\n\n"
        }
        "keepalive-comments" => ": keep-alive\n\n".repeat(4) + &whole(all(&plain, "length")),
        "fields" => {
            let mut text = String::new();
            for (k, line) in whole(all(&plain, "length")).split("\n\n").enumerate() {
                match line.strip_prefix("data: ") {
                    Some("[DONE]") => text.push_str("data:[DONE]\n\n"),
                    Some(json) => {
                        let json = json.replacen("\"model\"", "\ndata:\"model\"", 1);
                        text.push_str(&format!("event:message\nid:{k}\nretry:1000\ndata:{json}\n\n"));
                    }
                    None => {}
                }
            }
            text
        }
        "error-in-stream" => half() + error + "data: [DONE]\n\n",
        "error-at-end" => half() + error,
        "no-done" => whole(all(&plain, "length")).replace("data: [DONE]\n\n", ""),
        "no-finish" => whole(plain.iter().map(|delta| event(id, delta, None)).collect()),
        "cut" | "truncated" | "reset" | "stall" => half(),
        "only-role" => {
            let usage = usage(id, 0, "");
            lines(&[event(id, ROLE_ONLY, None), event(id, "\"content\":\"\"", Some("stop")), usage], "\n")
        }
        "only-usage" => lines(&[usage(id, 0, "")], "\n"),
        "empty-200" => String::new(),
        _ => whole(all(&plain, "length")),
    }
}

/// Asks once for a shape, alone on a connection.
fn once(address: SocketAddr, shape: &Shape) -> (Last, Vec<u8>) {
    let mut client = Client::open(address);
    client.send(&chat(shape.name, shape.name, TOKENS));
    let Form { reply, framing, end, .. } = shape.form;
    if reply == Reply::Never || end == super::shape::Ending::Stall {
        // First what comes before the silence, however late.
        let events = if reply == Reply::Never { 0 } else { TOKENS as usize / 2 };
        let before = |got: &[u8]| {
            let ends = got.windows(2).filter(|two| *two == b"\n\n").count();
            ends == events && (events == 0 || got.ends_with(b"\n\n\r\n"))
        };
        assert_eq!(client.read_for(PATIENCE_NS, before), Last::Enough);
        // A mock that answers others has nothing left to do for this one.
        let mut other = Client::open(address);
        other.send(b"GET /health HTTP/1.1\r\n\r\n");
        assert_eq!(other.response().code, 200);
        return (client.read_for(SILENCE_NS, |_| false), client.got);
    }
    let last = client.read_for(PATIENCE_NS, |got| framing != Framing::Close && Response::length(got).is_some());
    (last, client.got)
}

/// Waits until so many requests run and so many wait for a place.
fn counted(client: &mut Client, running: u32, waiting: u32) {
    sparkbench_testing::until("requests run and wait", || {
        client.send(b"GET /metrics HTTP/1.1\r\n\r\n");
        let page = client.response().body;
        [("running", running), ("waiting", waiting)].iter().all(|(what, count)| {
            page.contains(&format!("vllm:num_requests_{what}{{engine=\"0\",model_name=\"mock\"}} {count}.0"))
        })
    });
}

#[test]
fn every_shape_of_a_stream_is_what_it_says_byte_for_byte() {
    let running = start(fast()).unwrap();
    let streams = |shape: &&Shape| {
        !matches!(
            shape.form.reply,
            Reply::Status(_) | Reply::Html | Reply::Json | Reply::Never | Reply::Close | Reply::HugeLine
        )
    };
    for shape in SHAPES.iter().filter(streams) {
        let (last, got) = once(running.address(), shape);
        let wanted = match shape.name {
            "truncated" | "until-close" => Last::Closed,
            "reset" => Last::Reset,
            "stall" => Last::Silent,
            _ => Last::Enough,
        };
        assert_eq!(last, wanted, "{}", shape.name);
        let response = Response::of(&got);
        assert_eq!(response.body, expected(shape), "{}", shape.name);
        assert_eq!(Some(response.code), shape.expect.http, "{}", shape.name);
        assert_eq!(response.lines["x-request-id"], shape.name);
        assert_eq!(response.lines["content-type"], "text/event-stream; charset=utf-8");
        assert_eq!(
            response.body.contains("data: [DONE]") || shape.name == "fields",
            shape.expect.done,
            "{}",
            shape.name
        );
        assert_eq!(response.body.contains("\"usage\":{"), shape.expect.usage, "{}", shape.name);
        match shape.form.framing {
            Framing::Chunked => assert_eq!(response.lines["transfer-encoding"], "chunked"),
            Framing::Length => assert_eq!(response.lines["content-length"], response.length.to_string()),
            Framing::Close => assert_eq!(response.lines["connection"], "close"),
        }
    }
    let truths = running.stop().unwrap();
    for truth in &truths {
        let shape = shape::find(truth.shape).unwrap();
        let tokens = match shape.expect.tokens {
            Portion::All => TOKENS,
            Portion::BeforeFault => TOKENS / 2,
            Portion::Nothing => 0,
        };
        assert_eq!((truth.tokens, truth.planned_tokens, truth.prompt_tokens), (tokens, TOKENS, 6), "{}", shape.name);
        let emitted = truth.emitted_ns.as_ref().unwrap();
        assert_eq!(emitted.len(), truth.chunks as usize, "{}", shape.name);
        assert_eq!((emitted.first().copied(), emitted.last().copied()), (truth.first_ns, truth.last_ns));
        let outcome = match shape.name {
            "truncated" => Outcome::Closed,
            "reset" => Outcome::Reset,
            "stall" => Outcome::Stalled,
            _ => Outcome::Complete,
        };
        assert_eq!(truth.outcome, outcome, "{}", shape.name);
    }
}

#[test]
fn what_is_no_stream_comes_with_its_status_and_its_lines() {
    let running = start(fast()).unwrap();
    let ask = |name: &str| once(running.address(), shape::find(name).unwrap());
    let respond = |name: &str| Response::of(&ask(name).1);
    for (name, code, line) in [
        ("http-401", 401, ("www-authenticate", "Bearer")),
        ("http-429", 429, ("retry-after", "7")),
        ("http-500", 500, ("content-type", "application/json")),
        ("http-503", 503, ("retry-after", "7")),
        ("redirect", 307, ("location", "/v1/elsewhere")),
        ("html", 200, ("content-type", "text/html; charset=utf-8")),
    ] {
        let response = respond(name);
        assert_eq!((response.code, response.lines[line.0].as_str()), (code, line.1), "{name}");
    }
    let json: serde_json::Value = serde_json::from_str(&respond("not-streamed").body).unwrap();
    let text: String = (0..TOKENS).map(|k| word(k).text).collect();
    assert_eq!(json["choices"][0]["message"]["content"], text);
    assert_eq!(json["usage"]["completion_tokens"], TOKENS);
    assert_eq!(ask("never"), (Last::Silent, Vec::new()));
    assert_eq!(ask("close-at-once"), (Last::Closed, Vec::new()));

    let mut client = Client::open(running.address());
    client.send(&chat("huge", "huge-line", 1));
    assert_eq!(client.read_for(PATIENCE_NS, |got| got.len() > 3 << 20), Last::Enough);
    let body = Response::head(&client.got).unwrap();
    assert!(!client.got[body + 20..].windows(2).any(|two| two == b"\n\n"), "no event ends");
    drop(client);
    let outcomes: Vec<_> = running.stop().unwrap().iter().map(|truth| (truth.shape, truth.outcome)).collect();
    assert!(outcomes.contains(&("http-429", Outcome::Refused)));
    assert!(outcomes.contains(&("never", Outcome::Stalled)));
    assert!(outcomes.contains(&("close-at-once", Outcome::Closed)));
    assert!(outcomes.contains(&("not-streamed", Outcome::Complete)));
}

#[test]
fn no_token_is_written_before_it_is_due_and_times_never_go_back() {
    let running = start(Settings {
        ttft_ns: 4_000_000,
        itl_ns: 500_000,
        jitter_ns: 300_000,
        truth_chunks: true,
        ..Settings::default()
    })
    .unwrap();
    let mut clients: Vec<Client> = (0..8).map(|_| Client::open(running.address())).collect();
    for (number, client) in clients.iter().enumerate() {
        client.send(&chat(&format!("r-{number}"), "plain", 20));
    }
    for client in &mut clients {
        client.response();
    }
    let ended = running.finish().unwrap();
    assert_eq!((ended.totals.tokens, ended.totals.timed_writes, ended.totals.asks), (160, 160, 8));
    assert!(
        ended.totals.late_p50_us <= ended.totals.late_p99_us
            // Counted in whole microseconds, each from its begin to that of the next.
            && ended.totals.late_p99_us <= ended.totals.late_max_us.map(|us| us.floor() + 1.0)
    );
    assert_eq!(ended.truths.len(), 8);
    for truth in &ended.truths {
        assert!(truth.received_ns.is_none_or(|kernel| kernel <= truth.received_user_ns));
        assert_eq!(truth.started_ns, truth.received_ns.unwrap_or(truth.received_user_ns));
        let (due, begun, emitted) =
            (truth.due_ns.as_ref().unwrap(), truth.begun_ns.as_ref().unwrap(), truth.emitted_ns.as_ref().unwrap());
        assert_eq!((due.len(), begun.len(), emitted.len()), (20, 20, 20));
        for k in 0..20 {
            let exact = truth.started_ns + 4_000_000 + k as u64 * 500_000;
            assert!(due[k] >= exact && due[k] <= exact + 300_000, "jitter is bounded");
            assert!(begun[k] >= due[k], "token {k} was early");
            assert!(emitted[k] >= begun[k]);
        }
        assert!(emitted.is_sorted() && due.is_sorted());
        assert!(truth.headers_ns.unwrap() <= emitted[0] && truth.end_ns.unwrap() >= emitted[19]);
    }
}

#[test]
fn the_truth_is_when_the_client_could_have_seen_it() {
    let running = start(Settings { ttft_ns: 3_000_000, ..Settings::default() }).unwrap();
    let mut client = Client::open(running.address());
    let sent = now();
    client.send(&chat("r", "plain", 1));
    client.response();
    let seen = now();
    let truth = running.stop().unwrap().pop().unwrap();
    let first = truth.first_ns.unwrap();
    assert!(sent <= truth.received_user_ns && truth.received_user_ns <= first && first <= seen);
    // Carried over from the wall clock, so not exact to the last microsecond.
    assert!(truth.received_ns.is_none_or(|kernel| kernel + 1_000_000 >= sent));
}

#[test]
fn a_connection_stays_and_takes_requests_that_come_before_the_answer() {
    let running = start(Settings { ttft_ns: 1_000_000, ..fast() }).unwrap();
    let mut client = Client::open(running.address());
    let mut both = chat("a", "plain", 3);
    both.extend_from_slice(&chat("b", "no-usage", 2));
    both.extend_from_slice(b"GET /health HTTP/1.1\r\n\r\n");
    let (front, back) = both.split_at(both.len() - 9);
    client.send(front);
    assert_eq!(client.response().lines["x-request-id"], "a");
    assert_eq!(client.response().lines["x-request-id"], "b");
    client.send(back);
    assert_eq!(client.response().code, 200);
    client.send(&chat("c", "plain", 1));
    assert_eq!(client.response().lines["x-request-id"], "c");
    client.send(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(client.response().lines["connection"], "close");
    assert_eq!(client.read_for(PATIENCE_NS, |_| false), Last::Closed);
    let ended = running.finish().unwrap();
    assert_eq!((ended.totals.connections, ended.totals.requests, ended.totals.asks), (1, 5, 3));
    let places: Vec<_> = ended.truths.iter().map(|truth| (truth.id.as_str(), truth.before)).collect();
    assert_eq!(places, [("a", 0), ("b", 1), ("c", 3)]);
    assert!(ended.truths[1].started_ns >= ended.truths[0].end_ns.unwrap());
}

#[test]
fn the_server_closes_without_a_word_where_the_shape_does() {
    let running = start(fast()).unwrap();
    for name in ["close-after", "close-idle"] {
        let mut client = Client::open(running.address());
        client.send(&chat("r", name, 2));
        assert!(!client.response().lines.contains_key("connection"));
        assert_eq!(client.read_for(PATIENCE_NS, |_| false), Last::Closed, "{name}");
    }
    // The request is there before the server is, so that its connection is never idle before.
    let server = server::Server::new(Settings { close_idle_ns: Some(500_000_000), ..fast() }).unwrap();
    let (address, stop, waker) = (server.address(), server.stop_flag(), server.waker());
    let mut client = Client::open(address);
    client.send(&chat("r", "plain", 2));
    let thread = std::thread::spawn(move || server.run());
    client.response();
    assert_eq!(client.read_for(PATIENCE_NS, |_| false), Last::Closed);
    // So is one that never asks.
    assert_eq!(Client::open(address).read_for(PATIENCE_NS, |_| false), Last::Closed);
    stop.store(true, Ordering::Release);
    waker.wake();
    assert_eq!(thread.join().unwrap().unwrap().totals.asks, 1);
}

#[test]
fn a_client_that_does_not_read_holds_up_nobody_and_still_gets_everything() {
    // More than the buffers of both sockets can hold.
    let tokens = 60_000;
    let running = start(fast()).unwrap();
    let mut slow = Client::open(running.address());
    slow.send(&chat("slow", "plain", tokens));
    for number in 0..20 {
        let mut quick = Client::open(running.address());
        quick.send(&chat(&format!("quick-{number}"), "plain", 5));
        quick.response();
    }
    let response = slow.response();
    assert_eq!(response.body.matches("\"content\":\"").count(), tokens as usize);
    let truths = running.stop().unwrap();
    let slow = truths.iter().find(|truth| truth.id == "slow").unwrap();
    assert_eq!((slow.tokens, slow.chunks, slow.outcome), (tokens, tokens, Outcome::Complete));
    assert!(slow.emitted_ns.as_ref().unwrap().is_sorted());
    assert!(truths.iter().filter(|truth| truth.id != "slow").all(|truth| truth.end_ns < slow.end_ns));
}

#[test]
fn requests_beyond_the_places_wait_in_order() {
    let running = start(Settings { ttft_ns: 2_000_000, max_running: Some(1), ..fast() }).unwrap();
    let mut counts = Client::open(running.address());
    // One that does not end has the place until the others wait.
    let holder = Client::open(running.address());
    holder.send(&chat("holder", "stall", 4));
    counted(&mut counts, 1, 0);
    let mut clients = Vec::new();
    for number in 0..3 {
        let client = Client::open(running.address());
        client.send(&chat(&format!("r-{number}"), "plain", 2));
        clients.push(client);
        counted(&mut counts, 1, number + 1);
    }
    drop(holder);
    for client in &mut clients {
        client.response();
    }
    let ended = running.finish().unwrap();
    assert_eq!(ended.totals.most_running, 1);
    let ids: Vec<&str> = ended.truths.iter().map(|truth| truth.id.as_str()).collect();
    assert_eq!(ids, ["holder", "r-0", "r-1", "r-2"], "in the order in which they came");
    for pair in ended.truths[1..].windows(2) {
        assert!(pair[1].started_ns >= pair[0].end_ns.unwrap(), "one at a time");
    }
    for truth in &ended.truths[1..] {
        assert!(truth.first_ns.unwrap() >= truth.started_ns + 2_000_000);
    }
}

#[test]
fn a_client_that_leaves_gives_its_place_to_the_next() {
    let running = start(Settings { max_running: Some(1), ..fast() }).unwrap();
    let mut first = Client::open(running.address());
    first.send(&chat("first", "stall", 4));
    assert_eq!(first.read_for(PATIENCE_NS, |got| got.windows(3).any(|three| three == b" gr")), Last::Enough);
    let mut waits = Client::open(running.address());
    waits.send(&chat("waits", "plain", 4));
    let leaves = Client::open(running.address());
    leaves.send(&chat("leaves", "plain", 4));
    let mut counts = Client::open(running.address());
    counted(&mut counts, 1, 2);
    drop(leaves);
    counted(&mut counts, 1, 1);
    drop(first);
    waits.response();
    let outcomes: BTreeMap<String, Outcome> =
        running.stop().unwrap().into_iter().map(|truth| (truth.id, truth.outcome)).collect();
    assert_eq!(outcomes["first"], Outcome::Stalled);
    assert_eq!(outcomes["waits"], Outcome::Complete);
    assert_eq!(outcomes["leaves"], Outcome::ClientGone);
}

#[test]
fn the_other_routes_answer_as_vllm_does() {
    let running = start(Settings { api_key: Some("secret".to_owned()), max_model_len: 50, ..fast() }).unwrap();
    let mut client = Client::open(running.address());
    let mut ask = |bytes: &[u8]| {
        client.send(bytes);
        client.response()
    };
    let key = "Authorization: Bearer secret\r\n";
    assert_eq!(ask(b"GET /health HTTP/1.1\r\n\r\n").code, 200);
    assert_eq!(ask(b"GET /v1/models HTTP/1.1\r\n\r\n").code, 401);
    let models = ask(format!("GET /v1/models HTTP/1.1\r\n{key}\r\n").as_bytes());
    let models: serde_json::Value = serde_json::from_str(&models.body).unwrap();
    assert_eq!((&models["data"][0]["id"], &models["data"][0]["max_model_len"]), (&"mock".into(), &50.into()));
    let counted = ask(&post("/tokenize", "t", key, "{\"prompt\":\"three small words\"}"));
    let counted: serde_json::Value = serde_json::from_str(&counted.body).unwrap();
    assert_eq!((&counted["count"], counted["tokens"].as_array().unwrap().len()), (&3.into(), 3));
    let long = ask(&post("/v1/completions", "l", key, "{\"prompt\":\"a b\",\"max_tokens\":49}"));
    assert_eq!(long.code, 400);
    assert!(long.body.contains("maximum context length is 50 tokens"));
    assert_eq!(ask(&post("/v1/completions", "m", key, "{\"model\":\"other\",\"prompt\":\"a\"}")).code, 404);
    assert_eq!(ask(&post("/v1/completions", "m", key, "no JSON")).code, 400);
    assert_eq!(ask(&post("/v1/other", "m", key, "")).code, 404);
    assert_eq!(ask(format!("DELETE /metrics HTTP/1.1\r\n{key}\r\n").as_bytes()).code, 405);

    // Thirty-two tokens are two blocks, of which a prompt of the same thirty-two may take one.
    let prompt = vec!["word"; 32].join(" ");
    let body = format!("{{\"prompt\":\"{prompt}\",\"max_tokens\":3}}");
    let first: serde_json::Value = serde_json::from_str(&ask(&post("/v1/completions", "p", key, &body)).body).unwrap();
    assert_eq!(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    let second: serde_json::Value = serde_json::from_str(&ask(&post("/v1/completions", "q", key, &body)).body).unwrap();
    assert_eq!(second["usage"]["prompt_tokens_details"]["cached_tokens"], 16);
    let page = ask(b"GET /metrics HTTP/1.1\r\n\r\n").body;
    for (name, value) in [
        ("prompt_tokens_total", 64),
        ("generation_tokens_total", 6),
        ("prefix_cache_queries_total", 64),
        ("prefix_cache_hits_total", 16),
        ("num_requests_running", 0),
    ] {
        assert!(
            page.contains(&format!("\nvllm:{name}{{engine=\"0\",model_name=\"mock\"}} {value}.0\n")),
            "{name}: {page}"
        );
    }
    client.send(b"nonsense\r\n\r\n");
    assert_eq!(client.response().code, 400);
    assert_eq!(client.read_for(PATIENCE_NS, |_| false), Last::Closed);
}

#[test]
fn completions_stream_text_and_count_along_where_asked() {
    let running = start(Settings { whole: true, tokens_per_chunk: 2, ..fast() }).unwrap();
    let mut client = Client::open(running.address());
    let body = "{\"prompt\":\"a b\",\"max_tokens\":3,\"stream\":true,\
                \"stream_options\":{\"include_usage\":true,\"continuous_usage_stats\":true}}";
    client.send(&post("/v1/completions", "c", "", body));
    let head = "{\"id\":\"cmpl-c\",\"object\":\"text_completion\",\"created\":0,\"model\":\"mock\",\"choices\":[";
    assert_eq!(
        client.response().body,
        format!(
            "data: {head}{{\"index\":0,\"text\":\" tok größer\",\"logprobs\":null,\"finish_reason\":null}}],\
             \"usage\":{{\"prompt_tokens\":2,\"total_tokens\":4,\"completion_tokens\":2}}}}\n\n\
             data: {head}{{\"index\":0,\"text\":\" the\",\"logprobs\":null,\"finish_reason\":\"length\"}}],\
             \"usage\":{{\"prompt_tokens\":2,\"total_tokens\":5,\"completion_tokens\":3}}}}\n\n\
             data: {head}],\"usage\":{{\"prompt_tokens\":2,\"total_tokens\":5,\"completion_tokens\":3,\
             \"prompt_tokens_details\":{{\"cached_tokens\":0}}}}}}\n\ndata: [DONE]\n\n"
        )
    );
    let truth = running.stop().unwrap().pop().unwrap();
    assert_eq!((truth.chunks, truth.tokens), (2, 3));
    assert_eq!(truth.headers_ns, truth.last_ns, "all in one write");
}

#[test]
fn reasoning_under_both_names_is_the_same_text_twice() {
    let settings = Settings { reasoning_key: ReasoningKey::Both, reasoning_tokens: Some(1), ..fast() };
    let running = start(settings).unwrap();
    let mut client = Client::open(running.address());
    client.send(&chat("r", "reasoning-first", 2));
    let body = client.response().body;
    assert!(body.contains("\"delta\":{\"reasoning\":\" tok\",\"reasoning_content\":\" tok\"}"), "{body}");
    let truth = running.stop().unwrap().pop().unwrap();
    assert_eq!(truth.text_bytes, (word(0).text.len() + word(1).text.len()) as u64);
}

#[test]
fn cut_events_come_in_pieces_and_count_with_the_last_of_them() {
    let running = start(fast()).unwrap();
    let mut client = Client::open(running.address());
    client.send(&chat("r", "split-bytes", 2));
    client.response();
    let truth = running.stop().unwrap().pop().unwrap();
    let (begun, emitted) = (truth.begun_ns.unwrap(), truth.emitted_ns.unwrap());
    for (begun, emitted) in begun.iter().zip(&emitted) {
        assert!(emitted - begun >= 100 * shape::CUT_NS, "an event has more than a hundred bytes");
    }
}

#[test]
fn a_truth_file_holds_a_line_for_each_request() {
    let folder = sparkbench_testing::Folder::new("mock");
    let path = folder.join("truth.jsonl");
    let running = start(Settings { truth_file: Some(path.clone()), keep_truth: false, ..fast() }).unwrap();
    let mut client = Client::open(running.address());
    for id in ["a", "b"] {
        client.send(&chat(id, "plain", 2));
        client.response();
    }
    assert!(running.stop().unwrap().is_empty());
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["id"], &lines[1]["outcome"]), (2, &"a".into(), &"complete".into()));
    assert_eq!(lines[1]["emitted_ns"].as_array().unwrap().len(), 2);
    assert!(start(Settings { truth_file: Some("/nowhere/truth".into()), ..fast() }).is_err());
}
