//! Against a server in the test that follows its script, byte by byte, on the loopback interface.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;

use super::options::EarlyRule;
use super::*;
use crate::order::{Asked, Chunk, ChunkKind, Doubt, Hidden, Order, Phase, Record, ResendCause};
use sparkbench_host::net::Stamp;

/// Sends what a source gives, until it has no more.
pub(super) fn run(
    target: &Target,
    options: &Options,
    source: &mut dyn Source,
    sink: &mut dyn Sink,
    control: &Control,
) -> Result<EngineReport, Error> {
    Engine::new(target, options)?.run(source, sink, control)
}

/// What the server does on a connection, in order.
#[derive(Clone)]
enum Step {
    /// Reads a request to its end.
    Request,
    /// Sends this.
    Send(Vec<u8>),
    /// Sends each byte by itself.
    Drip(Vec<u8>),
    /// Does nothing until the client has gone.
    Hold,
    /// Ends the connection with a reset.
    Reset,
    /// Sends this again and again until the client has gone.
    Flood(Vec<u8>),
    /// Waits until the test says so.
    Gate,
}

use Step::{Drip, Flood, Gate, Hold, Request, Reset, Send};

/// A server. Connection k does what script k says, and later ones what the last one says.
struct Server {
    url: String,
    requests: mpsc::Receiver<(usize, Vec<u8>)>,
    gate: mpsc::Sender<()>,
    thread: Option<JoinHandle<()>>,
    port: u16,
    stop: Arc<AtomicBool>,
}

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

impl Server {
    fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, requests) = mpsc::channel();
        let (gate, gated) = mpsc::channel();
        let gated = Arc::new(Mutex::new(gated));
        let stop = Arc::new(AtomicBool::new(false));
        let ending = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut threads = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                if ending.load(Relaxed) {
                    break;
                }
                let script = scripts[number.min(scripts.len() - 1)].clone();
                let (heard, gated) = (heard.clone(), Arc::clone(&gated));
                threads.push(std::thread::spawn(move || play(number, stream.unwrap(), &script, &heard, &gated)));
            }
            for thread in threads {
                thread.join().unwrap();
            }
        });
        let url = format!("http://127.0.0.1:{port}");
        Self { url, requests, gate, thread: Some(thread), port, stop }
    }

    /// Requests so far, with the number of their connection.
    fn heard(&self) -> Vec<(usize, String)> {
        self.requests.try_iter().map(|(number, bytes)| (number, String::from_utf8_lossy(&bytes).into_owned())).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn play(
    number: usize,
    mut stream: TcpStream,
    script: &[Step],
    heard: &mpsc::Sender<(usize, Vec<u8>)>,
    gate: &Mutex<mpsc::Receiver<()>>,
) {
    stream.set_nodelay(true).unwrap();
    for step in script {
        let done = match step {
            Request => match request(&mut stream) {
                Some(bytes) => {
                    let _ = heard.send((number, bytes));
                    true
                }
                None => false,
            },
            Send(bytes) => stream.write_all(bytes).is_ok(),
            Drip(bytes) => bytes.iter().all(|byte| stream.write_all(&[*byte]).is_ok()),
            Hold => {
                let _ = stream.read(&mut [0; 64]);
                true
            }
            Flood(bytes) => {
                while stream.write_all(bytes).is_ok() {}
                false
            }
            Reset => {
                nix::sys::socket::setsockopt(
                    &stream,
                    nix::sys::socket::sockopt::Linger,
                    &nix::libc::linger { l_onoff: 1, l_linger: 0 },
                )
                .unwrap();
                false
            }
            Gate => gate.lock().unwrap().recv().is_ok(),
        };
        if !done {
            return;
        }
    }
}

fn request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut whole = None;
    loop {
        let mut room = [0; 65536];
        let count = stream.read(&mut room).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&room[..count]);
        whole = whole.or_else(|| {
            let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
            let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
            let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or("0");
            Some(head + 4 + length.parse::<usize>().unwrap())
        });
        if whole.is_some_and(|whole| bytes.len() >= whole) {
            return Some(bytes);
        }
    }
}

/// The same answer to so many requests on one connection.
fn repeated(answer: Vec<u8>, times: usize) -> Vec<Step> {
    [Request, Send(answer)].into_iter().cycle().take(2 * times).chain([Hold]).collect()
}

/// Gives orders one after the other, with a limit at a time.
pub(super) struct Queue {
    orders: std::collections::VecDeque<Order>,
    concurrency: usize,
    ended: Vec<(Record, Option<Vec<u8>>)>,
}

impl Source for Queue {
    fn next(&mut self, now: Ns, in_flight: usize) -> Next {
        if self.orders.is_empty() {
            return Next::Done;
        }
        if in_flight >= self.concurrency {
            return Next::Wait;
        }
        match self.orders.front().and_then(|order| order.intended) {
            Some(at) if at > now => Next::At(at),
            _ => Next::Send(Box::new(self.orders.pop_front().unwrap())),
        }
    }

    fn ended(&mut self, _: Ns, record: &Record, text: Option<Vec<u8>>) {
        self.ended.push((record.clone(), text));
    }
}

#[derive(Default)]
pub(super) struct Kept {
    chunks: BTreeMap<u64, Vec<Chunk>>,
    pub(super) records: Vec<Record>,
}

impl Sink for Kept {
    fn chunks(&mut self, index: u64, first: u32, chunks: &[Chunk]) {
        let kept = self.chunks.entry(index).or_default();
        assert_eq!(kept.len(), first as usize, "chunks of request {index} come in order, none twice");
        kept.extend_from_slice(chunks);
    }

    fn ended(&mut self, record: Record) {
        self.records.push(record);
    }
}

fn order(index: u64) -> Order {
    Order {
        index,
        body: format!("{{\"number\":{index}}}").into_bytes(),
        request_id: format!("r-{index}"),
        keep_text: true,
        ..Order::default()
    }
}

pub(super) fn queue(count: u64, concurrency: usize) -> Queue {
    Queue { orders: (0..count).map(order).collect(), concurrency, ended: Vec::new() }
}

/// Nothing is given up because a machine is slow.
pub(super) fn options() -> Options {
    Options { timeout: 3_600_000_000_000, early: None, ..Options::default() }
}

fn load_with(url: &str, options: &Options, mut queue: Queue) -> (Vec<Record>, Kept, EngineReport, Queue) {
    let target = Target::parse(url).unwrap();
    let mut kept = Kept::default();
    let report = run(&target, options, &mut queue, &mut kept, &Control::default()).unwrap();
    let mut records = kept.records.clone();
    records.sort_by_key(|record| record.index);
    (records, kept, report, queue)
}

/// One request to a server that does this. Its record and its chunks.
fn one(script: Vec<Step>) -> (Record, Vec<Chunk>) {
    let server = Server::start(vec![script]);
    let (records, mut kept, report, _) = load_with(&server.url, &options(), queue(1, 1));
    assert_eq!((records.len(), report.requests), (1, 1));
    (records[0].clone(), kept.chunks.remove(&0).unwrap_or_default())
}

pub(super) fn chunked(body: &str) -> Vec<u8> {
    let mut out = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for event in body.split_inclusive("\n\n") {
        out.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

fn plain(status: &str, kind: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

const ROLE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],\"model\":\"m\"}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

pub(super) fn content(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n")
}

pub(super) fn finish() -> String {
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n".into()
}

fn ended_by(reason: &str) -> String {
    finish().replace("stop", reason)
}

fn good() -> String {
    [ROLE, &content("Hel"), &content("lo"), &finish(), USAGE, DONE].concat()
}

#[test]
fn tokens_without_text_begin_and_end_an_answer_where_the_server_counted_them() {
    let counted = |tokens: u32| USAGE.replace("\"completion_tokens\":2", &format!("\"completion_tokens\":{tokens}"));
    // Two tokens that show nothing, two words, the token that ends the answer.
    let stream = |tokens| {
        [ROLE, &content(""), &content(""), &content("Hel"), &content("lo"), &finish(), &counted(tokens), DONE].concat()
    };
    let (record, chunks) = one(vec![Request, Send(chunked(&stream(5))), Hold]);
    assert_eq!((record.status, record.pieces, record.silent, record.hidden), (Status::Ok, 5, 3, Hidden::All));
    let holding = chunks.iter().filter(|chunk| chunk.kind.holds_tokens(record.hidden)).count();
    assert_eq!(holding, 5, "{chunks:?}");
    // Where the count has no room for them they are fillers.
    let (record, _) = one(vec![Request, Send(chunked(&stream(2))), Hold]);
    assert_eq!((record.status, record.pieces, record.hidden), (Status::Ok, 2, Hidden::None));
    // A total beside the end is not a count of that chunk. Each word was a token, and the end is not.
    let total = finish().replace("}]}", "}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}");
    let ended = [ROLE, &content("Hel"), &content("lo"), &total, DONE].concat();
    let (record, chunks) = one(vec![Request, Send(chunked(&ended)), Hold]);
    assert_eq!((record.pieces, record.usage.output, record.hidden), (2, Some(2), Hidden::None));
    assert!(chunks.iter().all(|chunk| chunk.tokens == 0), "{chunks:?}");
    // Nothing to see is no answer, whatever was counted.
    let blank = [ROLE, &content(""), &content(""), &finish(), &counted(3), DONE].concat();
    let (record, _) = one(vec![Request, Send(chunked(&blank)), Hold]);
    assert_eq!(record.status, Status::Empty);
}

#[test]
fn tokens_in_unknown_fields_and_hidden_reasoning_are_counted_as_the_server_counts_them() {
    let usage = |tokens: u32, more: &str| {
        USAGE.replace("\"completion_tokens\":2", &format!("\"completion_tokens\":{tokens}{more}"))
    };
    let unknown = content("r").replace("\"content\"", "\"cogitation\"");
    let stream = [ROLE, &unknown, &unknown, &content("Hel"), &content("lo"), &usage(4, ""), DONE].concat();
    let (record, chunks) = one(vec![Request, Send(chunked(&stream)), Hold]);
    assert_eq!((record.status, record.pieces, record.hidden), (Status::Ok, 4, Hidden::Between));
    assert_eq!(chunks.iter().filter(|chunk| chunk.kind.holds_tokens(record.hidden)).count(), 4, "{chunks:?}");
    // Such text alone is an answer.
    let (record, _) =
        one(vec![Request, Send(chunked(&[ROLE, &unknown, &unknown, &usage(2, ""), DONE].concat())), Hold]);
    assert_eq!((record.status, record.pieces), (Status::Ok, 2), "{:?}", record.error);
    // Thirty tokens of reasoning that nobody saw, and two words.
    let details = ",\"completion_tokens_details\":{\"reasoning_tokens\":30}";
    let stream = [ROLE, &content("Hel"), &content("lo"), &usage(32, details), DONE].concat();
    let (record, _) = one(vec![Request, Send(chunked(&stream)), Hold]);
    assert_eq!((record.pieces, record.first_tokens, record.doubt), (2, Some(31), Doubt::Unsent));
}

#[test]
fn a_role_alone_is_the_first_event_and_not_the_first_token() {
    let (record, chunks) = one(vec![Request, Send(chunked(&good())), Hold]);
    assert_eq!(record.status, Status::Ok, "{:?}", record.error);
    assert_eq!((record.events, record.pieces, record.text_bytes, record.done), (5, 2, 5, true));
    assert_eq!(record.usage.output, Some(2));
    assert_eq!((record.finish.as_deref(), record.model.as_deref(), record.http), (Some("stop"), Some("m"), Some(200)));
    let kinds: Vec<ChunkKind> = chunks.iter().map(|chunk| chunk.kind).collect();
    use ChunkKind::{Closing, Content, Empty, Usage};
    assert_eq!(kinds, [Empty, Content, Content, Closing, Usage]);
    assert!(record.sent <= record.connected && record.connected <= record.written);
    let at = |stamp: Option<Stamp>| stamp.unwrap().user;
    assert!(at(record.first_byte) <= at(record.headers) && at(record.headers) <= at(record.first_event));
    assert!(at(record.first_event) <= at(record.first_token) && at(record.first_token) <= at(record.second_token));
    assert!(at(record.last_token) <= at(record.end));
}

#[test]
fn bytes_that_come_one_by_one_say_the_same() {
    let (record, chunks) = one(vec![Request, Drip(chunked(&good())), Hold]);
    assert_eq!((record.status, record.events, record.pieces, chunks.len()), (Status::Ok, 5, 2, 5));
    // In the order in which they were read. A moment of arrival is carried over from another clock, and the kernel may begin to
    // stamp in the middle of an answer: it may come before that of the chunk ahead.
    let read = |chunk: &Chunk| chunk.at + u64::from(chunk.lag_ns);
    assert!(chunks.windows(2).all(|pair| read(&pair[0]) <= read(&pair[1])), "{chunks:?}");
    assert!(record.first_token.unwrap().user >= record.first_event.unwrap().user);
}

#[test]
fn the_text_comes_back_where_it_is_wanted() {
    let server = Server::start(vec![vec![Request, Send(chunked(&good())), Request, Send(chunked(&good())), Hold]]);
    let mut orders = queue(2, 1);
    orders.orders[1].keep_text = false;
    let (_, _, _, queue) = load_with(&server.url, &options(), orders);
    assert_eq!(queue.ended[0].1.as_deref(), Some(b"Hello".as_slice()));
    assert_eq!(queue.ended[1].1, None);
}

#[test]
fn a_connection_is_used_again_and_the_request_is_as_it_should_be() {
    let answer = chunked(&good());
    let server = Server::start(vec![vec![
        Request,
        Send(answer.clone()),
        Request,
        Send(answer.clone()),
        Request,
        Send(answer),
        Hold,
    ]]);
    let (records, _, report, _) = load_with(&server.url, &options(), queue(3, 1));
    assert!(records.iter().all(|record| record.status == Status::Ok));
    assert_eq!(records.iter().map(|record| record.reused).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!((report.opened, report.reused, report.resent, report.in_flight_peak), (1, 2, 0, 1));
    assert_eq!(report.schedule_lag.len(), 2, "a place was taken again twice");
    let heard = server.heard();
    assert_eq!(heard.len(), 3);
    let text = &heard[1].1;
    assert!(text.starts_with("POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:"), "{text}");
    assert!(text.contains("\r\nx-request-id: r-1\r\n") && text.ends_with("\r\n\r\n{\"number\":1}"), "{text}");
}

/// Issue 34: a second answer to a request passed for the answer to the next one.
#[test]
fn an_answer_behind_another_ends_the_connection_and_becomes_no_answer() {
    let (answer, surplus) = (chunked(&good()), chunked(&good().replace("Hel", "Early")));
    let server = Server::start(vec![
        vec![Request, Send([answer.clone(), surplus].concat()), Request, Hold],
        vec![Request, Send(answer.clone()), Hold],
    ]);
    let (records, _, report, _) = load_with(&server.url, &options(), queue(3, 1));
    assert!(records.iter().all(|record| record.status == Status::Ok && record.text_bytes == 5), "{records:?}");
    // From then on each request has a connection of its own.
    assert_eq!((report.unasked, report.reused, report.resent), (1, 0, 0));
    let connections: Vec<usize> = server.heard().into_iter().map(|(connection, _)| connection).collect();
    assert_eq!(connections.len(), 3);
    assert!(connections.windows(2).all(|pair| pair[0] != pair[1]), "{connections:?}");
    // Line ends behind an answer are no answer.
    let server = Server::start(vec![vec![Request, Send([answer, b"\r\n".to_vec()].concat()), Request, Hold]]);
    let (records, _, report, _) = load_with(&server.url, &options(), queue(1, 1));
    assert_eq!((records[0].status, report.unasked), (Status::Ok, 0));
}

#[test]
fn an_early_answer_is_none_where_the_true_one_comes_after_it() {
    let (answer, surplus) = (chunked(&good()), chunked(&good().replace("Hel", "Early")));
    let server = Server::start(vec![
        vec![Request, Send(answer.clone()), Request, Send(surplus), Gate, Send(answer.clone()), Hold],
        vec![Request, Send(answer), Hold],
    ]);
    let target = Target::parse(&server.url).unwrap();
    // Whatever comes on a kept connection is early, and is watched until the true answer is there.
    let rule = EarlyRule { slow: 0, part: 0, watch: (3_600_000_000_000, 3_600_000_000_000) };
    let engine = Engine::new(&target, &Options { early: Some(rule), ..options() }).unwrap();
    let control = Control::default();
    let (gate, other) = (server.gate.clone(), control.clone());
    let thread = std::thread::spawn(move || {
        while other.progress.ok.load(Relaxed) < 3 {
            std::thread::yield_now();
        }
        gate.send(()).unwrap();
    });
    let mut kept = Kept::default();
    let report = engine.run(&mut queue(3, 1), &mut kept, &control).unwrap();
    thread.join().unwrap();
    kept.records.sort_by_key(|record| record.index);
    let found: Vec<Status> = kept.records.iter().map(|record| record.status).collect();
    assert_eq!(found, [Status::Ok, Status::Malformed, Status::Ok], "{:?}", kept.records);
    assert!(kept.records[1].error.as_deref().unwrap().contains("nobody had asked for"), "{:?}", kept.records[1].error);
    assert_eq!((report.unasked, report.opened), (1, 2));
}

#[test]
fn a_request_that_met_a_connection_just_closed_is_sent_anew_once_and_says_so() {
    // The server reads the second request and ends the connection without a byte of answer.
    let server = Server::start(vec![
        vec![Request, Send(chunked(&good())), Request],
        vec![Request, Send(chunked(&good())), Hold],
    ]);
    let (records, _, report, _) = load_with(&server.url, &options(), queue(2, 1));
    assert_eq!(records[1].status, Status::Ok);
    assert_eq!((records[1].resent, records[1].reused, report.resent, report.opened), (1, false, 1, 2));
    assert_eq!(by_cause(&records[1]), [(ResendCause::Broken, 1)]);
    assert!(records[1].sent < records[1].connected, "the moment it was first sent stays");
    // On a new connection the same is a failure.
    let (record, _) = one(vec![Request]);
    assert_eq!((record.status, record.resent), (Status::Broken, 0));
    assert!(record.error.is_some());
    // And on a used one after the first byte as well.
    let server = Server::start(vec![vec![Request, Send(chunked(&good())), Request, Send(b"HTTP/1.1 2".to_vec())]]);
    let (records, _, report, _) = load_with(&server.url, &options(), queue(2, 1));
    assert_eq!((records[1].status, report.resent), (Status::Broken, 0));
}

#[test]
fn every_way_an_answer_can_be_wrong_has_its_status() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let until_close = |body: &str| vec![Request, Send(format!("{head}{body}").into_bytes())];
    let whole = |bytes: Vec<u8>| vec![Request, Send(bytes), Hold];
    let json = "application/json";
    let cases: Vec<(&str, Vec<Step>, Status, &[&str])> = vec![
        ("no [DONE], but a finish_reason", until_close(&[&content("a"), finish().as_str()].concat()), Status::Ok, &[]),
        ("neither", until_close(&content("a")), Status::Broken, &["finish_reason"]),
        (
            "no manners after [DONE]",
            vec![Request, Send(chunked(&good())[..chunked(&good()).len() - 5].to_vec())],
            Status::Ok,
            &[],
        ),
        ("nothing", until_close(""), Status::Empty, &["without an event"]),
        ("a role alone", whole(chunked(&[ROLE, USAGE, DONE].concat())), Status::Empty, &["without a generated"]),
        (
            "an error in the stream",
            whole(chunked(&[&content("a"), "data: {\"error\":{\"message\":\"out of memory\"}}\n\n", DONE].concat())),
            Status::InStream,
            &["out of memory"],
        ),
        (
            "an answer that the engine gave up",
            whole(chunked(&[&content("a"), ended_by("abort").as_str(), USAGE, DONE].concat())),
            Status::InStream,
            &["gave the answer up (finish_reason abort)"],
        ),
        (
            "an error behind the word",
            until_close(&[content("a"), ended_by("Error: out of blocks")].concat()),
            Status::InStream,
            &["out of blocks"],
        ),
        (
            "one given up before its first token",
            whole(chunked(&[ROLE, ended_by("cancelled").as_str(), DONE].concat())),
            Status::InStream,
            &["cancelled"],
        ),
        (
            "a filter",
            whole(chunked(&[&content("a"), ended_by("content_filter").as_str(), DONE].concat())),
            Status::InStream,
            &["a content filter ended the answer (finish_reason content_filter)"],
        ),
        (
            "a fault of the network behind a gateway",
            whole(chunked(&[&content("a"), ended_by("network_error").as_str(), DONE].concat())),
            Status::InStream,
            &["gave the answer up (finish_reason network_error)"],
        ),
        (
            "an end that is none of these",
            whole(chunked(&[&content("a"), ended_by("glorious").as_str(), DONE].concat())),
            Status::Ok,
            &[],
        ),
        ("no JSON", whole(chunked("data: {\"choices\":[\n\n")), Status::Malformed, &["JSON"]),
        ("no HTTP", whole(b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec()), Status::Malformed, &["SSH-2.0"]),
        (
            "HTML",
            whole(plain("200 OK", "text/html; charset=utf-8", "<html>\n<body>Hello</body>")),
            Status::Malformed,
            &["text/html", "<html> <body>Hello"],
        ),
        (
            "not streamed",
            whole(plain("200 OK", json, "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}")),
            Status::Malformed,
            &["did not stream"],
        ),
        (
            "an error with status 200",
            whole(plain("200 OK", json, "{\"error\":{\"message\":\"busy\"}}")),
            Status::Malformed,
            &["busy"],
        ),
        (
            "no type at all",
            whole(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello".to_vec()),
            Status::Malformed,
            &["hello"],
        ),
        ("429", whole(plain("429 Slow", json, "{\"error\":\"too many\"}")), Status::Http, &["429", "too many"]),
        ("500", whole(plain("500 No", "text/plain", "")), Status::Http, &["status 500"]),
        (
            "a redirection",
            whole(
                b"HTTP/1.1 307 Go\r\nlocation: http://u:geheim@other:9/v1/x?token=geheim\r\ncontent-length: 0\r\n\r\n"
                    .to_vec(),
            ),
            Status::Http,
            &["http://other:9/v1/x", "--url"],
        ),
        (
            "a key that is missing",
            whole(b"HTTP/1.1 401 No\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\n\r\n".to_vec()),
            Status::Http,
            &["no 'authorization' header was sent", "--api-key-env", "Bearer"],
        ),
        (
            "a member that the server does not know",
            whole(plain("400 No", json, r#"{"error":{"message":"Unrecognized request argument: stream_options"}}"#)),
            Status::Http,
            &["status 400", "--extra-body '{\"stream_options\":null}'", "Unrecognized request argument"],
        ),
        ("a reset", vec![Request, Send(b"HTTP/1.1 200 OK\r\n".to_vec()), Gate, Reset], Status::Broken, &[]),
        (
            "the body cut off",
            vec![
                Request,
                Send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n: x".to_vec()),
            ],
            Status::Broken,
            &["96 bytes"],
        ),
    ];
    for (what, script, status, words) in cases {
        let server = Server::start(vec![script]);
        server.gate.send(()).unwrap();
        let (records, _, _, _) = load_with(&server.url, &options(), queue(1, 1));
        let said = records[0].error.clone().unwrap_or_default();
        assert_eq!(records[0].status, status, "{what}: {said}");
        assert_eq!(status == Status::Ok, said.is_empty(), "{what}: {said}");
        for word in words {
            assert!(said.contains(word), "{what}: {said}");
        }
        assert!(!said.contains("geheim") && !said.contains('\n') && said.chars().count() <= 420, "{what}: {said}");
        assert!(records[0].end.is_some(), "{what}");
    }
}

#[test]
fn an_exact_answer_that_is_too_short_is_told_apart() {
    let server = Server::start(vec![vec![Request, Send(chunked(&good())), Hold]]);
    for (asked, exact, status) in [(3, true, Status::Short), (3, false, Status::Ok), (2, true, Status::Ok)] {
        let mut orders = queue(1, 1);
        orders.orders[0].asked = Asked { osl: Some(asked), exact, ..Asked::default() };
        let (records, ..) = load_with(&server.url, &options(), orders);
        assert_eq!(records[0].status, status);
    }
    // Two words and a count of none: the count is wrong, and nothing says that the answer is short.
    let miscounted = good().replace("\"completion_tokens\":2", "\"completion_tokens\":0");
    let server = Server::start(vec![vec![Request, Send(chunked(&miscounted)), Hold]]);
    let mut orders = queue(1, 1);
    orders.orders[0].asked = Asked { osl: Some(2), exact: true, ..Asked::default() };
    let (records, ..) = load_with(&server.url, &options(), orders);
    assert_eq!((records[0].status, records[0].usage.output), (Status::Ok, Some(0)), "as given, and not short");
}

#[test]
fn gigabytes_on_one_line_end_at_the_limit() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: ".to_vec();
    let server = Server::start(vec![vec![Request, Send(head), Flood(vec![b'x'; 65536])]]);
    let limited = Options { max_event_bytes: 1 << 20, ..options() };
    let (records, _, report, _) = load_with(&server.url, &limited, queue(1, 1));
    assert_eq!(records[0].status, Status::Malformed);
    assert!(records[0].error.as_deref().unwrap().contains("1048576"), "{:?}", records[0].error);
    assert!(report.bytes < 4 << 20, "{} bytes were read", report.bytes);
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let server = Server::start(vec![vec![Request, Hold]]);
    let hasty = Options { timeout: 50_000_000, ..Options::default() };
    let (records, ..) = load_with(&server.url, &hasty, queue(2, 2));
    assert!(records.iter().all(|record| record.status == Status::Timeout && record.sent.is_some()));
    assert_eq!(records[0].error.as_deref(), Some("no answer within 0.05 s"));
}

/// Issue 34: of an answer that was too long for its time limit it was said that there was none.
#[test]
fn an_answer_that_is_not_complete_in_time_is_told_from_none_and_keeps_what_came() {
    let part = chunked(&[ROLE, &content("Hel"), &content("lo")].concat());
    let part = part[..part.len() - 5].to_vec();
    let server = Server::start(vec![vec![Request, Send(part), Hold]]);
    // Whatever came by then is kept. On a machine that stands still it may be nothing.
    let hasty = Options { timeout: 400_000_000, ..options() };
    let (records, kept, ..) = load_with(&server.url, &hasty, queue(1, 1));
    let record = &records[0];
    let chunks = kept.chunks.get(&0).map_or(0, |chunks| chunks.iter().filter(|chunk| chunk.kind.generated()).count());
    assert_eq!(
        (record.status, record.pieces as usize, record.first_token.is_some()),
        (Status::Timeout, chunks, chunks > 0)
    );
    let said = if chunks > 0 {
        "not complete within 0.4 s, though tokens had come: raise --timeout"
    } else {
        "no answer within 0.4 s"
    };
    assert_eq!(record.error.as_deref(), Some(said));
}

#[test]
fn nobody_there_is_a_status_of_each_request_or_an_error_before_the_first() {
    let url = "http://127.0.0.1:1";
    let (records, _, report, _) = load_with(url, &options(), queue(3, 1));
    assert!(records.iter().all(|record| record.status == Status::Connect));
    assert!(records[0].error.as_deref().unwrap().contains("refused"), "{:?}", records[0].error);
    assert_eq!((report.opened, report.unsent), (0, 3));
    let ahead = Options { preconnect: 2, ..options() };
    let target = Target::parse(url).unwrap();
    let error = run(&target, &ahead, &mut queue(1, 1), &mut Kept::default(), &Control::default()).unwrap_err();
    assert!(error.to_string().contains("cannot connect to http://127.0.0.1"), "{error}");
    assert!(error.hint.is_some());
}

#[test]
fn connections_opened_ahead_are_there_before_the_first_order() {
    let server = Server::start(vec![vec![Request, Send(chunked(&good())), Hold]]);
    let ahead = Options { preconnect: 3, ..options() };
    let (records, _, report, _) = load_with(&server.url, &ahead, queue(3, 3));
    assert!(records.iter().all(|record| record.status == Status::Ok && record.connected.is_none() && !record.reused));
    assert_eq!((report.opened, report.in_flight_peak), (3, 3));
}

/// Times that a request was sent again, by cause.
fn by_cause(record: &Record) -> Vec<(ResendCause, u32)> {
    ResendCause::ALL.into_iter().zip(record.resends).filter(|(_, times)| *times > 0).collect()
}

/// Issue 34: a request that was refused counted as one whose connection broke.
#[test]
fn what_a_request_was_sent_again_for_is_counted_by_cause() {
    let refusal = |status: &str| {
        let head = format!("HTTP/1.1 {status}\r\nretry-after: 0\r\ncontent-length: 4\r\n\r\nbusy");
        [Request, Send(head.into_bytes())]
    };
    let script = [refusal("429 Slow"), refusal("503 Busy"), refusal("429 Slow")].concat();
    let server = Server::start(vec![[script, vec![Request, Send(chunked(&good())), Hold]].concat()]);
    let (records, ..) = load_with(&server.url, &Options { retries: 3, ..options() }, queue(1, 1));
    assert_eq!((records[0].status, records[0].resent), (Status::Ok, 3));
    assert_eq!(by_cause(&records[0]), [(ResendCause::TooMany, 2), (ResendCause::Unavailable, 1)]);
    let (records, ..) = load_with("http://127.0.0.1:1", &Options { retries: 1, ..options() }, queue(1, 1));
    assert_eq!((records[0].status, by_cause(&records[0])), (Status::Connect, vec![(ResendCause::NoConnection, 1)]));
}

#[test]
fn a_refusal_is_tried_again_only_where_that_is_asked_for_and_it_is_counted() {
    let busy = b"HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 4\r\n\r\nbusy".to_vec();
    let script = vec![Request, Send(busy.clone()), Request, Send(busy), Request, Send(chunked(&good())), Hold];
    let server = Server::start(vec![script.clone()]);
    let (records, _, report, _) = load_with(&server.url, &Options { retries: 2, ..options() }, queue(1, 1));
    assert_eq!((records[0].status, records[0].resent, report.resent), (Status::Ok, 2, 2));
    assert_eq!((report.requests, server.heard().len()), (1, 3));
    let server = Server::start(vec![script]);
    let (records, _, report, _) = load_with(&server.url, &options(), queue(1, 1));
    assert_eq!((records[0].status, records[0].resent, report.resent), (Status::Http, 0, 0));
    assert_eq!(records[0].retry_after.as_deref(), Some("0"));
}

#[test]
fn a_long_body_is_sent_in_parts() {
    let server = Server::start(vec![vec![Gate, Request, Send(chunked(&good())), Hold]]);
    let mut orders = queue(1, 1);
    orders.orders[0].body = vec![b'p'; 12 << 20];
    let gate = server.gate.clone();
    let opener = std::thread::spawn(move || gate.send(()).unwrap());
    let (records, ..) = load_with(&server.url, &options(), orders);
    opener.join().unwrap();
    assert_eq!(records[0].status, Status::Ok);
    let heard = server.heard();
    assert!(heard[0].1.len() > 12 << 20 && heard[0].1.ends_with("ppp"));
}

#[test]
fn a_stop_cancels_what_is_in_flight_with_what_it_had() {
    let part = chunked(&[ROLE, &content("Hel")].concat());
    let part = part[..part.len() - 5].to_vec();
    let server = Server::start(vec![vec![Request, Send(part), Hold]]);
    let target = Target::parse(&server.url).unwrap();
    let engine = Engine::new(&target, &options()).unwrap();
    let (waker, control) = (engine.waker(), Control::default());
    let other = control.clone();
    let thread = std::thread::spawn(move || {
        while other.progress.pieces.load(Relaxed) < 2 {
            std::thread::yield_now();
        }
        other.stop.store(true, Relaxed);
        waker.wake();
    });
    let mut kept = Kept::default();
    engine.run(&mut queue(5, 2), &mut kept, &control).unwrap();
    thread.join().unwrap();
    assert_eq!(kept.records.len(), 2, "the others were never taken");
    assert!(kept.records.iter().all(|record| record.status == Status::Cancelled && record.pieces == 1));
    assert_eq!(kept.chunks[&0].len(), 2);
    assert_eq!((control.progress.cancelled.load(Relaxed), control.progress.in_flight.load(Relaxed)), (2, 0));
}

#[test]
fn what_is_in_flight_when_the_source_is_done_may_take_as_long_as_the_drain() {
    let server = Server::start(vec![vec![Request, Hold]]);
    let (records, ..) = load_with(&server.url, &Options { drain: Some(10_000_000), ..options() }, queue(2, 2));
    assert!(records.iter().all(|record| record.status == Status::Cancelled && record.error.is_none()));
}

#[test]
fn many_answers_at_once_are_each_told_whole() {
    let long: String = (0..300).map(|_| content("ab")).collect();
    let answer = chunked(&[&long, finish().as_str(), USAGE, DONE].concat());
    // Whichever connection is the quickest: each can answer all of them.
    let server = Server::start(vec![repeated(answer, 100)]);
    let control = Control::default();
    let mut kept = Kept::default();
    let target = Target::parse(&server.url).unwrap();
    let options = Options { preconnect: 8, ..options() };
    let report = run(&target, &options, &mut queue(100, 8), &mut kept, &control).unwrap();
    assert!(kept.records.iter().all(|record| record.status == Status::Ok && record.pieces == 300));
    assert!(kept.chunks.values().all(|chunks| chunks.len() == 302), "302 events each");
    assert_eq!((kept.records.len(), report.in_flight_peak), (100, 8));
    assert_eq!(report.events_stamped + report.events_unstamped, 100 * 302);
    assert_eq!(control.progress.pieces.load(Relaxed), 30_000);
    assert_eq!((control.progress.ok.load(Relaxed), control.progress.ttft.count()), (100, 100));
    assert!(report.in_flight_mean.unwrap() <= 8.0 && report.in_flight_mean.unwrap() > 0.0);
    assert!(report.busy > 0.0 && report.busy <= 1.0);
}

#[test]
fn an_open_loop_sends_when_the_moment_has_come_and_not_before() {
    let server = Server::start(vec![repeated(chunked(&good()), 3)]);
    let mut orders = queue(3, 3);
    let start = net::now() + 20_000_000;
    for order in &mut orders.orders {
        order.intended = Some(start + order.index * 3_000_000);
        order.phase = Phase::Measured;
    }
    let (records, _, report, _) = load_with(&server.url, &options(), orders);
    assert!(records.iter().all(|record| record.status == Status::Ok && record.sent >= record.intended), "{records:?}");
    assert_eq!((report.schedule_lag.len(), report.resent), (3, 0));
}

#[test]
fn the_key_is_in_no_error_and_in_no_debugging_text() {
    let body = "{\"error\":{\"message\":\"Incorrect API key provided: sk-geheim-1\"}}";
    let server = Server::start(vec![vec![Request, Send(plain("401 No", "application/json", body)), Hold]]);
    let keyed = Options { headers: vec![("authorization".into(), "Bearer sk-geheim-1".into())], ..options() };
    let (records, ..) = load_with(&server.url, &keyed, queue(1, 1));
    let said = records[0].error.clone().unwrap();
    assert!(said.contains("was sent and refused") && said.contains("Incorrect API key provided: ***"), "{said}");
    assert!(!format!("{keyed:?}").contains("geheim"));
    assert!(server.heard()[0].1.contains("\r\nauthorization: Bearer sk-geheim-1\r\n"));
    let server = Server::start(vec![vec![Request, Send(plain("401 No", "application/json", "{}")), Hold]]);
    let named = Options {
        headers: vec![("api-key".into(), "sk-geheim-1".into())],
        key_header: Some("api-key".into()),
        ..options()
    };
    let (records, ..) = load_with(&server.url, &named, queue(1, 1));
    let said = records[0].error.clone().unwrap();
    assert!(said.contains("an 'api-key' header was sent and refused"), "{said}");
}

#[test]
fn more_streams_than_descriptors_are_refused_before_the_first_request() {
    let target = Target::parse("http://127.0.0.1:9").unwrap();
    let greedy = Options { streams: Some(1 << 40), ..options() };
    let Err(error) = Engine::new(&target, &greedy) else { panic!("nobody has so many descriptors") };
    assert_eq!(error.kind.exit_code(), 3);
    assert!(error.hint.is_some());
}
