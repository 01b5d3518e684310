//! A bare hyper client: closed loop at a given concurrency against a streaming server, the yardstick for `sparkbench load`.
//!
//! In:  `http://host:port/path`, options as `--name value`.  Out: one JSON object on standard output; with `--samples FILE` a CSV of requests.
//! Not here: anything that a user of hyper would have to add: events split between reads are joined, and that is all.
//!
//! One thread, tokio's current-thread runtime, one kept connection for each place of the loop. The time of a read is taken when the frame is
//! given to us, before it is looked at. A token is a line `data:` whose `content` or `text` is a string that is not empty.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use memchr::memmem;
use tokio::net::TcpStream;

type Failure = Box<dyn std::error::Error>;

struct Options {
    host: String,
    path: String,
    concurrency: usize,
    requests: usize,
    max_tokens: u32,
    model: String,
    prompt: String,
    samples: Option<String>,
}

/// Times of a request that was answered, seconds from its sending.
struct Sample {
    id: usize,
    first: f64,
    last: f64,
    end: f64,
    tokens: u32,
}

fn options() -> Result<Options, Failure> {
    let mut words = std::env::args().skip(1);
    let url = words.next().ok_or("usage: load_baseline http://HOST:PORT/v1/chat/completions [--concurrency N] [--requests N] [--max-tokens N] [--model M] [--prompt TEXT] [--samples FILE]")?;
    let (host, path) = match url.strip_prefix("http://").ok_or("the URL must begin with http://")? {
        rest if rest.contains('/') => rest.split_at(rest.find('/').unwrap_or_default()),
        rest => (rest, "/v1/chat/completions"),
    };
    let mut options = Options {
        host: host.to_owned(),
        path: path.to_owned(),
        concurrency: 64,
        requests: 256,
        max_tokens: 128,
        model: "mock".to_owned(),
        prompt: "Hello".to_owned(),
        samples: None,
    };
    while let Some(name) = words.next() {
        let value = words.next().ok_or_else(|| format!("{name} wants a value"))?;
        match name.as_str() {
            "--concurrency" => options.concurrency = value.parse()?,
            "--requests" => options.requests = value.parse()?,
            "--max-tokens" => options.max_tokens = value.parse()?,
            "--model" => options.model = value,
            "--prompt" => options.prompt = value,
            "--samples" => options.samples = Some(value),
            _ => return Err(format!("unknown option {name}").into()),
        }
    }
    Ok(options)
}

/// Text as a JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => drop(write!(out, "\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

async fn connect(host: &str) -> Result<SendRequest<Full<Bytes>>, Failure> {
    let stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::task::spawn_local(connection);
    Ok(sender)
}

/// Whether a line carries text.
fn token(line: &[u8], content: &memmem::Finder, text: &memmem::Finder) -> bool {
    line.starts_with(b"data:")
        && [content, text]
            .iter()
            .any(|key| key.find(line).is_some_and(|at| !matches!(line.get(at + key.needle().len()), None | Some(b'"'))))
}

async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    options: &Options,
    body: &Bytes,
    id: usize,
) -> Result<Sample, Failure> {
    let (content, text) = (memmem::Finder::new(b"\"content\":\""), memmem::Finder::new(b"\"text\":\""));
    let request = Request::post(&options.path)
        .header("host", &options.host)
        .header("content-type", "application/json")
        .header("x-request-id", format!("baseline-{id}"))
        .body(Full::new(body.clone()))?;
    sender.ready().await?;
    let sent = Instant::now();
    let mut response = sender.send_request(request).await?;
    if response.status() != 200 {
        return Err(format!("status {}", response.status()).into());
    }
    let mut sample = Sample { id, first: 0.0, last: 0.0, end: 0.0, tokens: 0 };
    let mut carried: Vec<u8> = Vec::new();
    while let Some(frame) = response.frame().await {
        let now = sent.elapsed().as_secs_f64();
        sample.end = now;
        let Ok(data) = frame?.into_data() else { continue };
        let mut rest = &data[..];
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let found = if carried.is_empty() {
                token(&rest[..end], &content, &text)
            } else {
                carried.extend_from_slice(&rest[..end]);
                let found = token(&carried, &content, &text);
                carried.clear();
                found
            };
            if found {
                if sample.tokens == 0 {
                    sample.first = now;
                }
                sample.last = now;
                sample.tokens += 1;
            }
            rest = &rest[end + 1..];
        }
        carried.extend_from_slice(rest);
    }
    if sample.tokens == 0 { Err("no token".into()) } else { Ok(sample) }
}

/// Processor time of all threads so far, seconds.
fn processor_s() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        std::fs::read_to_string(task.path().join("schedstat")).ok()?.split(' ').next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().split(' ').next()?.parse::<f64>().ok()? / 1024.0)
}

/// Mean, median, 99th percentile (linear between ranks) and maximum, milliseconds.
fn spread(mut seconds: Vec<f64>) -> String {
    seconds.sort_by(f64::total_cmp);
    let Some(last) = seconds.len().checked_sub(1) else { return "null".to_owned() };
    let quantile = |level: f64| {
        let rank = level * last as f64;
        let (low, high) = (seconds[rank.floor() as usize], seconds[rank.ceil() as usize]);
        (low + (high - low) * rank.fract()) * 1e3
    };
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64 * 1e3;
    format!(
        "{{\"mean\":{mean:.4},\"p50\":{:.4},\"p99\":{:.4},\"max\":{:.4}}}",
        quantile(0.5),
        quantile(0.99),
        quantile(1.0)
    )
}

async fn load(options: Rc<Options>) -> Result<(Vec<Sample>, usize, Option<String>), Failure> {
    let body = Bytes::from(format!(
        r#"{{"model":{},"messages":[{{"role":"user","content":{}}}],"prompt":{1},"stream":true,"stream_options":{{"include_usage":true}},"max_tokens":{},"temperature":0,"ignore_eos":true}}"#,
        quoted(&options.model),
        quoted(&options.prompt),
        options.max_tokens
    ));
    let next = Rc::new(Cell::new(0));
    let samples = Rc::new(RefCell::new(Vec::new()));
    let failures = Rc::new(RefCell::new((0_usize, None)));
    let places: Vec<_> = (0..options.concurrency)
        .map(|_| {
            let (options, body) = (options.clone(), body.clone());
            let (next, samples, failures) = (next.clone(), samples.clone(), failures.clone());
            tokio::task::spawn_local(async move {
                let mut sender = None;
                loop {
                    let id = next.get();
                    if id >= options.requests {
                        return;
                    }
                    next.set(id + 1);
                    let asked = async {
                        if sender.is_none() {
                            sender = Some(connect(&options.host).await?);
                        }
                        match &mut sender {
                            Some(sender) => ask(sender, &options, &body, id).await,
                            None => Err("no connection".into()),
                        }
                    };
                    match asked.await {
                        Ok(sample) => samples.borrow_mut().push(sample),
                        Err(failure) => {
                            sender = None;
                            let mut failures = failures.borrow_mut();
                            failures.0 += 1;
                            failures.1.get_or_insert_with(|| failure.to_string());
                        }
                    }
                }
            })
        })
        .collect();
    for place in places {
        place.await?;
    }
    let (failed, why) = failures.take();
    Ok((samples.take(), failed, why))
}

fn run() -> Result<(), Failure> {
    let options = Rc::new(options()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (began, processor) = (Instant::now(), processor_s());
    let (samples, failed, why) = tokio::task::LocalSet::new().block_on(&runtime, load(options.clone()))?;
    let (seconds, processor) = (began.elapsed().as_secs_f64(), processor_s() - processor);
    let tokens: u64 = samples.iter().map(|sample| u64::from(sample.tokens)).sum();
    let tpot = samples.iter().filter(|sample| sample.tokens > 1);
    println!(
        "{{\"concurrency\":{},\"requests\":{},\"failed\":{failed},\"why\":{},\"tokens\":{tokens},\"seconds\":{seconds:.4},\"output_tok_s\":{:.0},\"ttft_ms\":{},\"tpot_ms\":{},\"e2e_ms\":{},\"cpu_s\":{processor:.4},\"cpu_s_per_1000_tokens\":{},\"peak_rss_mib\":{}}}",
        options.concurrency,
        samples.len() + failed,
        why.as_deref().map_or("null".to_owned(), quoted),
        tokens as f64 / seconds,
        spread(samples.iter().map(|sample| sample.first).collect()),
        spread(tpot.map(|sample| (sample.last - sample.first) / f64::from(sample.tokens - 1)).collect()),
        spread(samples.iter().map(|sample| sample.last).collect()),
        if tokens == 0 { "null".to_owned() } else { format!("{:.6}", processor * 1e3 / tokens as f64) },
        peak_mib().map_or("null".to_owned(), |mib| format!("{mib:.1}")),
    );
    if let Some(path) = &options.samples {
        let mut text = String::from("request_id,ttft_ms,last_token_ms,end_ms,tokens\n");
        for Sample { id, first, last, end, tokens } in &samples {
            writeln!(text, "baseline-{id},{:.6},{:.6},{:.6},{tokens}", first * 1e3, last * 1e3, end * 1e3)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
