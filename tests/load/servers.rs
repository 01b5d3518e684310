//! `sparkbench load` against servers and gateways that are not as one wishes: what it says of them, and what it does not do to them.
//!
//! In:  small servers in this process, each with one habit.  Out: nothing.
//! Not here: shapes of streams (see `verb`), single answers byte by byte (see `load::engine`).

#![cfg(all(feature = "collect", target_os = "linux"))]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::folder::Folder;
use crate::support::program::{Ending, run_in};
use sparkbench::mock::{self, Settings};

/// An answer: status, further lines of the head, type, body.
pub(super) type Reply = (u16, &'static str, &'static str, String);

/// A server for as long as the test runs. It is left to the end of the process.
pub(super) struct Small {
    pub(super) url: String,
    /// Path and body of each request.
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Small {
    pub(super) fn start(reply: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (heard, reply) = (Arc::clone(&asked), Arc::new(reply));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (heard, reply) = (Arc::clone(&heard), Arc::clone(&reply));
                std::thread::spawn(move || serve(stream, &heard, reply.as_ref()));
            }
        });
        Self { url, asked }
    }

    /// Requests to the routes of completions, which are streamed.
    fn streamed(&self) -> usize {
        self.asked.lock().unwrap().iter().filter(|(_, body)| body["stream"] == true).count()
    }
}

fn serve(mut stream: TcpStream, heard: &Mutex<Vec<(String, Value)>>, reply: &dyn Fn(&str, &Value) -> Reply) {
    stream.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    loop {
        let head = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            let mut room = [0; 65536];
            match stream.read(&mut room) {
                Ok(count @ 1..) => bytes.extend_from_slice(&room[..count]),
                _ => return,
            }
        };
        let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or("0");
        let whole = head + length.trim().parse::<usize>().unwrap();
        while bytes.len() < whole {
            let mut room = [0; 65536];
            match stream.read(&mut room) {
                Ok(count @ 1..) => bytes.extend_from_slice(&room[..count]),
                _ => return,
            }
        }
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        let body = serde_json::from_slice(&bytes[head..whole]).unwrap_or(Value::Null);
        bytes.drain(..whole);
        let (status, more, kind, answer) = reply(&path, &body);
        heard.lock().unwrap().push((path, body));
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{more}\r\n{answer}",
            answer.len()
        );
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
    }
}

const JSON: &str = "application/json";

/// A refusal with words.
pub(super) fn refusal(status: u16, more: &'static str, words: &str) -> Reply {
    (status, more, JSON, json!({ "error": { "message": words } }).to_string())
}

/// What a server without habits answers.
pub(super) fn plain(path: &str, body: &Value) -> Reply {
    let tokens = body["max_tokens"].as_u64().unwrap_or(16);
    let usage = json!({ "prompt_tokens": 16, "completion_tokens": tokens, "total_tokens": 16 + tokens });
    if path == "/v1/models" {
        let list = json!({ "data": [{ "id": "m", "object": "model", "owned_by": "nobody", "max_model_len": 4096 }] });
        return (200, "", JSON, list.to_string());
    }
    if !path.ends_with("/completions") {
        return refusal(404, "", "Not Found");
    }
    if body["stream"] != true {
        let choice = json!({ "index": 0, "message": { "content": "yes" }, "finish_reason": "length" });
        return (200, "", JSON, json!({ "choices": [choice], "usage": usage }).to_string());
    }
    let piece = json!({ "choices": [{ "index": 0, "delta": { "content": "word " } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "length" }] });
    let counts = json!({ "choices": [], "usage": usage });
    let mut events: Vec<String> = (0..tokens).map(|_| piece.to_string()).collect();
    events.extend([end.to_string(), counts.to_string(), "[DONE]".to_owned()]);
    let stream = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    (200, "", "text/event-stream", stream)
}

fn load(folder: &Folder, server: &Small, words: &str) -> Ending {
    let shared = ["load", "--url", &server.url, "--osl", "4"];
    let arguments: Vec<&str> = shared.into_iter().chain(words.split_whitespace()).collect();
    run_in(folder.path(), &arguments, &[])
}

/// Issue 34: more than ten thousand requests a second went to a server that asked for five seconds of peace.
#[test]
fn a_server_that_refuses_is_asked_once_a_place_until_it_wants_to_be_asked_again() {
    let folder = Folder::new("load-flood");
    let server = Small::start(|path, body| match body["stream"] == true {
        true => refusal(429, "retry-after: 50\r\n", "Too many requests"),
        false => plain(path, body),
    });
    let ending = load(&folder, &server, "--duration 1 --concurrency 4 --warmup 0").expect(4);
    assert_eq!(server.streamed(), 4, "{}", ending.out);
    ending.complains(&["no request was answered"]);
    for words in ["Retry-After 50", "Too many requests", "note: 4 places were not taken again at once after failures"] {
        assert!(ending.out.contains(words), "{words}: {}", ending.out);
    }
}

/// Issue 34: conversations asked again after 10 ms whatever the server asked for.
#[test]
fn clients_of_conversations_wait_as_long_as_the_server_asks_and_end_with_the_load() {
    let folder = Folder::new("load-flood-chat");
    let server = Small::start(|path, body| match body["stream"] == true {
        true => refusal(429, "retry-after: 50\r\n", "Too many requests"),
        false => plain(path, body),
    });
    let chat = "--conversations 40 --turns 3 --isl 20 --num-clients 4";
    let ending = load(&folder, &server, &format!("{chat} --duration 5")).expect(4);
    assert_eq!(server.streamed(), 4, "{}", ending.out);
    for words in ["Retry-After 50", "note: clients waited after 4 failed turns, for 200.0 s in all"] {
        assert!(ending.out.contains(words), "{words}: {}", ending.out);
    }
    // Where as many fail as end the load, nobody waits any more.
    let ending = load(&folder, &server, &format!("{chat} --max-errors 4 --json x.json")).expect(4);
    assert_eq!(server.streamed(), 8, "{}", ending.out);
    let summary: Value = serde_json::from_slice(&std::fs::read(folder.path().join("x.json")).unwrap()).unwrap();
    assert_eq!(summary["ended_by"], "max-errors");
    // Nobody listens: the time of one load is not spent on failures of connections either.
    let nobody = Small { url: "http://127.0.0.1:1".to_owned(), asked: Arc::default() };
    let line = format!("{chat} --model m --exact off --max-errors 5");
    load(&folder, &nobody, &line).expect(4).complains(&["127.0.0.1:1"]);
}

#[test]
fn a_load_that_does_nothing_but_fail_ends_and_says_so() {
    let folder = Folder::new("load-hopeless");
    let server = Small::start(|path, body| match body["stream"] == true {
        true => refusal(500, "", "out of order"),
        false => plain(path, body),
    });
    // The last requests are on their way when the hundredth has failed.
    let ending = load(&folder, &server, "--requests 100000 --concurrency 16 --json x.json").expect(4);
    assert!((100..116).contains(&server.streamed()), "{}", server.streamed());
    let words = ["requests all failed (see --max-errors), and ", " of 100000 planned requests were never sent"];
    let said = ending.out.split_whitespace().collect::<Vec<_>>().join(" ");
    words.iter().for_each(|words| assert!(said.contains(words.trim()), "{words}: {said}"));
    let summary: Value = serde_json::from_slice(&std::fs::read(folder.path().join("x.json")).unwrap()).unwrap();
    assert_eq!(summary["ended_by"], "max-errors");
    assert_eq!(summary["warmup_failed"]["count"], 16);
    let (sent, not_sent) = (summary["failed"].as_u64().unwrap(), summary["not_sent"].as_u64().unwrap());
    assert_eq!((sent + 16, sent + not_sent), (server.streamed() as u64, 100_000));
}

#[test]
fn a_load_ends_after_as_many_failures_in_a_row_as_it_was_given() {
    let folder = Folder::new("load-max-errors");
    let server = Small::start(|path, body| match body["stream"] == true {
        true => refusal(500, "", "out of order"),
        false => plain(path, body),
    });
    let ending = load(&folder, &server, "--requests 50 --max-errors 3 --warmup 0").expect(4);
    assert_eq!(server.streamed(), 3);
    let why = "it ended because the last 3 requests all failed (see --max-errors), and 47 of 50 planned requests were never sent";
    assert!(ending.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(why), "{}", ending.out);
}

/// Issue 34: nothing was warmed up where nobody asked for it.
#[test]
fn a_load_warms_up_once_a_place_and_says_what_failed_there() {
    let folder = Folder::new("load-warmed");
    let asked = AtomicU64::new(0);
    let server = Small::start(move |path, body| match body["stream"] == true && asked.fetch_add(1, SeqCst) == 0 {
        true => refusal(500, "", "still compiling"),
        false => plain(path, body),
    });
    let ending = load(&folder, &server, "--requests 8 --concurrency 2 --json x.json --archive kept").expect(0);
    assert_eq!(server.streamed(), 2 + 8, "{}", ending.out);
    // The table of an archived load has no room for it.
    assert!(ending.err.contains("1 of 2 warm-up requests failed (1 x \"status 500"), "{}", ending.err);
    let summary: Value = serde_json::from_slice(&std::fs::read(folder.path().join("x.json")).unwrap()).unwrap();
    assert_eq!((&summary["completed"], &summary["before"]["requests"]), (&json!(8), &json!(2)));
    assert_eq!(
        (&summary["settings"]["warmup"], &summary["ended_by"], &summary["not_sent"]),
        (&json!(2), &json!("plan"), &json!(0))
    );
}

/// Issue 34: a gateway lists its models while nobody is behind it.
#[test]
fn waiting_ends_when_a_request_is_answered_and_not_when_models_are_listed() {
    let folder = Folder::new("load-wait-route");
    let refused = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&refused);
    let server = Small::start(move |path, body| {
        if path.ends_with("/completions") && counts.fetch_add(1, SeqCst) < 2 {
            return refusal(503, "", "no healthy upstream");
        }
        plain(path, body)
    });
    let ending = load(&folder, &server, "--requests 2 --wait 600s").expect(0);
    ending.complains(&["waiting for", "/v1/chat/completions answers with status 503: no healthy upstream"]);
    assert!(refused.load(SeqCst) > 2);
}

/// Issue 34: questions that failed were taken for a no, and another workload was sent.
#[test]
fn a_question_that_fails_for_another_reason_than_a_no_sends_no_other_workload() {
    let folder = Folder::new("load-questions");
    for (status, words) in [
        (500, "did not answer: status 500"),
        (408, "did not answer: status 408"),
        (529, "did not answer: status 529"),
        (401, "refused to answer: status 401"),
    ] {
        let server = Small::start(move |path, body| {
            let question = path.ends_with("/completions") && body.get("ignore_eos").is_some();
            if question { refusal(status, "", "trouble") } else { plain(path, body) }
        });
        let ending = load(&folder, &server, "--requests 2").expect(4);
        ending.complains(&["for an answer of an exact length", words, "try:"]);
        assert_eq!(server.streamed(), 0, "{status}");
    }
    // A no is a no.
    let server = Small::start(|path, body| match body.get("min_tokens").or(body.get("min_new_tokens")) {
        Some(_) => refusal(400, "", "min_tokens: extra inputs are not permitted"),
        None => plain(path, body),
    });
    load(&folder, &server, "--requests 2 --warmup 0").expect(0).complains(&["exact lengths by ignore-eos"]);
    assert_eq!(server.streamed(), 2);
}

/// Issue 34: a wrong path failed each request and named no other one.
#[test]
fn a_route_that_is_not_there_is_told_with_those_that_answer() {
    let folder = Folder::new("load-no-route");
    let server = Small::start(|path, body| match path {
        "/v1/models" | "/v1/completions" => plain(path, body),
        _ => refusal(404, "", "Not Found"),
    });
    folder.put("prompts.jsonl", "{\"prompt\": \"say something\"}\n".repeat(4));
    let answers = format!("--url {}/v1/completions", server.url);
    for more in [
        "--path /v2/chat/completions",
        "",
        "--exact off",
        "--path /v2/chat/completions --exact off --prompts prompts.jsonl",
    ] {
        load(&folder, &server, &format!("--requests 2 {more}")).expect(4).complains(&["status 404", &answers]);
    }
    // Where the model is named, its list is not needed.
    let named = "--requests 2 --model m --path /v2/chat/completions";
    load(&folder, &server, named).expect(4).complains(&["/v2/chat/completions answers with status 404", &answers]);
}

/// Issue 34: the words of the server were cut in the middle.
#[test]
fn the_words_of_a_server_are_shown_whole() {
    let folder = Folder::new("load-words");
    let words =
        format!("Unrecognized request argument supplied: stream_options. {}. The end.", "Read the manual".repeat(10));
    let said = words.clone();
    let server = Small::start(move |path, body| match body.get("stream_options") {
        Some(_) => refusal(400, "", &said),
        None => plain(path, body),
    });
    let ending = load(&folder, &server, "--requests 4 --json s.json").expect(4);
    ending.complains(&["--extra-body '{\"stream_options\":null}'"]);
    let json: Value = serde_json::from_slice(&std::fs::read(folder.path().join("s.json")).unwrap()).unwrap();
    let kept: Vec<&String> = json["said"].as_object().unwrap().keys().collect();
    assert!(kept.len() == 1 && kept[0].ends_with(&words), "{kept:?}");
}

/// Issue 34: each unknown option of a pasted line had a message of its own, with a tip that was wrong.
#[test]
fn a_pasted_line_of_another_client_is_answered_in_one_message() {
    let folder = Folder::new("load-pasted");
    let run = |line: &str| run_in(folder.path(), &line.split(' ').collect::<Vec<_>>(), &[]).expect(2);
    run("load --host 127.0.0.1 --port 8000 --num-prompts 2 --percentile-metrics ttft").complains(&[
        "load has no options --host, --port and --percentile-metrics",
        "for --host, --port write --url http://HOST:PORT",
        "for --percentile-metrics write nothing: every percentile is measured",
    ]);
    // The whole line, with its program, and whatever a parser would stumble over first.
    run("load vllm bench serve --dataset-name hf --dataset-path a/b --base-url http://localhost:8000").complains(&[
        "load has no option --base-url",
        "for vllm bench serve write nothing",
        "for --dataset-name hf write --prompts FILE",
    ]);
    run("load --url localhost:1 --concurrency 1 2 4").complains(&["--concurrency 1 2 4 write --concurrency 1,2,4"]);
    let secret = run("load --url localhost:1 --api-key sk-hidden-7391");
    secret.complains(&["--api-key", "--api-key-env NAME"]);
    assert!(!secret.err.contains("sk-hidden-7391"), "{}", secret.err);
    run("load --url localhost:1 --tokenizer no-such-owner-here/model").complains(&[
        "'no-such-owner-here/model' is the name of a model",
        "hf download no-such-owner-here/model tokenizer.json",
    ]);
}

/// Issue 34: no limit was archived as a limit of none, which a suite refuses.
#[test]
fn a_limit_of_no_tokens_can_be_archived() {
    let folder = Folder::new("load-no-limit");
    let running =
        mock::start(Settings { ttft_ns: 1_000_000, itl_ns: 100_000, tokens: 4, ..Settings::default() }).unwrap();
    let url = format!("http://{}", running.address());
    let shared = ["load", "--url", &url, "--conversations", "1", "--turns", "2", "--isl", "16", "--osl", "4"];
    let more = ["--limit-min-tokens", "-1", "--limit-max-tokens", "8", "--archive", "kept"];
    run_in(folder.path(), &[&shared[..], &more[..]].concat(), &[]).expect(0);
    run_in(folder.path(), &["verify", "kept"], &[]).expect(0);
    running.stop().unwrap();
}
