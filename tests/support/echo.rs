//! A server that repeats what it is sent, as some gateways do: headers and body in every error, in its metrics, or in the answer itself.
//!
//! In:  how it answers.  Out: its address. It lives as long as the test program.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// What requests for an answer get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// Status 401, and everything that was sent in its message.
    Refuses,
    /// A stream of one piece, which holds everything that was sent. What is not to be streamed is refused with the same.
    Answers,
}

/// Starts one. Gives host and port.
pub fn start(echo: Echo) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Several clients at a time, each of which may keep its connection open before it asks.
            std::thread::spawn(move || serve(echo, &stream));
        }
    });
    address
}

/// One request, one answer, the end of the connection.
fn serve(echo: Echo, stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split_whitespace();
    let (method, path) = (words.next()?, words.next()?);
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(given) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = given.trim().parse().ok()?;
        }
        head.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    // Secrets first: an excerpt of an answer is short.
    head.sort_by_key(|line| !["authorization", "x-tok"].iter().any(|name| line.to_ascii_lowercase().starts_with(name)));
    let said = format!("{}{}", head.concat(), String::from_utf8_lossy(&body));
    let (status, kind, body) = answer(echo, method, path, &said);
    let mut out = stream;
    write!(
        out,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nRetry-After: {}\r\nConnection: close\r\n\r\n{body}",
        body.len(),
        percent(&said)
    )
    .ok()
}

/// Status line, type and body.
fn answer(echo: Echo, method: &str, path: &str, said: &str) -> (&'static str, &'static str, String) {
    let json = "application/json";
    if path.ends_with("/models") {
        let list = r#"{"data":[{"id":"mock","max_model_len":4096}]}"#;
        return ("200 OK", json, list.to_owned());
    }
    if path.contains("metrics") {
        let label = said.replace(['"', '\\', '\r', '\n'], " ");
        return ("200 OK", "text/plain", format!("# HELP x {label}\nvllm:x{{key=\"{label}\"}} 1\n"));
    }
    if echo == Echo::Answers && path.contains("completions") && said.contains("\"stream\":true") {
        let piece = serde_json::json!({
            "model": "mock",
            "choices": [{ "index": 0, "delta": { "content": said }, "finish_reason": "stop" }],
        });
        let usage = serde_json::json!({ "choices": [], "usage": { "prompt_tokens": 8, "completion_tokens": 1 } });
        return ("200 OK", "text/event-stream", format!("data: {piece}\n\ndata: {usage}\n\ndata: [DONE]\n\n"));
    }
    let message = format!("bad key, you sent {} that is {said} or {}", percent(said), hexadecimal(said));
    // What is not there tells the same. A server that refuses to say that it is ready is not loaded, and one that answers nothing before the
    // load but with another key is neither.
    let status = match (method, echo) {
        ("GET", _) => "404 Not Found",
        (_, Echo::Answers) => "400 Bad Request",
        (_, Echo::Refuses) => "401 Unauthorized",
    };
    (status, json, serde_json::json!({ "error": { "message": message } }).to_string())
}

fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a string takes all");
        }
    }
    out
}

fn hexadecimal(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("a string takes all");
        out
    })
}
