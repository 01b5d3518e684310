//! What reading the events of an answer costs on this machine, in nanoseconds an event.
//!
//! In:  nothing.  Out: a table on standard output: answers of several servers, read by the shapes of earlier events, parsed anew each time,
//! and by `serde_json::Value` for comparison; fed whole, and one event at a time in chunked coding, as they arrive.
//! Not here: sockets, assertions.
//!
//! `cargo run --release --no-default-features --features collect,examples --example wire_speed`

#[cfg(all(feature = "collect", target_os = "linux"))]
fn main() {
    speed::run();
}

#[cfg(not(all(feature = "collect", target_os = "linux")))]
fn main() {
    eprintln!("loading is for Linux, with the feature 'collect'");
}

#[cfg(all(feature = "collect", target_os = "linux"))]
mod speed {
    use std::hint::black_box;
    use std::time::Instant;

    use sparkbench::load::wire::{Deltas, EventStream, Response, ResponsePart};

    /// Events of one answer.
    const EVENTS: usize = 1_000;
    /// Times that each case is measured; the fastest counts, as the others were disturbed.
    const ROUNDS: usize = 60;

    /// Events as a server writes them; `text` is quoted JSON, `n` the number of the token, `id` differs for each answer.
    type Write = fn(id: usize, n: usize, text: &str) -> String;

    const SERVERS: &[(&str, Write)] = &[
        ("vLLM chat", |id, _, text| {
            format!(
                r#"{{"id":"chatcmpl-{id:032x}","object":"chat.completion.chunk","created":1790000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{{"index":0,"delta":{{"content":{text}}},"logprobs":null,"finish_reason":null,"token_ids":null}}]}}"#
            )
        }),
        ("vLLM chat, counting along", |id, n, text| {
            format!(
                r#"{{"id":"chatcmpl-{id:032x}","object":"chat.completion.chunk","created":1790000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{{"index":0,"delta":{{"content":{text}}},"logprobs":null,"finish_reason":null}}],"usage":{{"prompt_tokens":128,"total_tokens":{},"completion_tokens":{n}}}}}"#,
                128 + n
            )
        }),
        ("SGLang chat", |id, _, text| {
            format!(
                r#"{{"id":"{id:032x}","object":"chat.completion.chunk","created":1790000000,"model":"default","choices":[{{"index":0,"delta":{{"role":null,"content":{text},"reasoning_content":null,"tool_calls":null}},"logprobs":null,"finish_reason":null,"matched_stop":null}}],"usage":null}}"#
            )
        }),
        ("llama-server chat", |id, _, text| {
            format!(
                r#"{{"choices":[{{"finish_reason":null,"index":0,"delta":{{"content":{text}}}}}],"created":1790000000,"id":"chatcmpl-{id:032}","model":"gpt-3.5-turbo","system_fingerprint":"b6000-0123abcd","object":"chat.completion.chunk"}}"#
            )
        }),
        ("vLLM completions", |id, _, text| {
            format!(
                r#"{{"id":"cmpl-{id:032x}","object":"text_completion","created":1790000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{{"index":0,"text":{text},"logprobs":null,"finish_reason":null,"stop_reason":null}}],"usage":null}}"#
            )
        }),
    ];

    const WORDS: [&str; 6] = [r#"" the""#, r#"" token""#, r#""\n""#, r#""é""#, r#"" \"quoted\"""#, r#"".""#];

    /// Fastest of some rounds, nanoseconds for each of [`EVENTS`].
    fn fastest(mut work: impl FnMut()) -> f64 {
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let before = Instant::now();
            work();
            best = best.min(before.elapsed().as_secs_f64());
        }
        best * 1e9 / EVENTS as f64
    }

    pub fn run() {
        println!(
            "{:26} {:>6} {:>8} {:>8} {:>8} {:>10} {:>10}",
            "ns an event", "bytes", "known", "parsed", "serde", "whole", "chunked"
        );
        for (name, write) in SERVERS {
            // Events of sixteen answers by turns, as one reader serves all connections.
            let events: Vec<String> = (0..EVENTS).map(|n| write(n % 16, n / 16, WORDS[n % WORDS.len()])).collect();
            let bytes = events.iter().map(String::len).sum::<usize>() / EVENTS;
            let mut deltas = Deltas::new();
            let known = fastest(|| {
                for event in &events {
                    black_box(deltas.read(black_box(event.as_bytes())).is_ok());
                }
            });
            let parsed = fastest(|| {
                for event in &events {
                    black_box(Deltas::read_anew(black_box(event.as_bytes())).is_ok());
                }
            });
            let serde = fastest(|| {
                for event in &events {
                    black_box(serde_json::from_slice::<serde_json::Value>(black_box(event.as_bytes())).is_ok());
                }
            });
            let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            let mut stream = EventStream::new(1 << 20);
            let whole = fastest(|| {
                let read = stream.feed(black_box(body.as_bytes()), &mut |event| {
                    black_box(deltas.read(event.data).is_ok());
                });
                black_box(read.is_ok());
            });
            let chunks: Vec<String> =
                events.iter().map(|event| format!("{:x}\r\ndata: {event}\n\n\r\n", event.len() + 8)).collect();
            let mut response = Response::new();
            let chunked = fastest(|| {
                response.reset();
                stream.reset();
                let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                for piece in std::iter::once(&head[..]).chain(chunks.iter().map(String::as_bytes)) {
                    let fed = response.feed(black_box(piece), &mut |part| {
                        if let ResponsePart::Body(body) = part {
                            let read = stream.feed(body, &mut |event| {
                                black_box(deltas.read(event.data).is_ok());
                            });
                            black_box(read.is_ok());
                        }
                    });
                    black_box(fed.is_ok());
                }
            });
            println!("{name:26} {bytes:>6} {known:>8.0} {parsed:>8.0} {serde:>8.0} {whole:>10.0} {chunked:>10.0}");
        }
    }
}
