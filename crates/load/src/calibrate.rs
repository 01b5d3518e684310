//! The instrument's error: the same load against a server with known times.
//!
//! In:  a way to run the load, the machine.  Out: [`Calibration`].
//! Not here: the permitted error (see `certificate`). Nothing is ever subtracted from a result.
//!
//! The mock runs as a separate process on the same machine. On the client's clock it records when it received each request and when it sent
//! each token. The client's records are joined to that by the id of the request. The error is the client's time minus the mock's time. It
//! includes both ways through the network stack and any delay of the client itself. It also includes the scheduler of a machine that runs
//! the mock too. It is stated beside results as their error bar.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::order::Chunk;
use super::store::chunks::{self, Reader};
use super::summary::{Metric, Samples, definitions};
use sparkbench_archive::manifest::{REQUESTS_FILE, RequestWire};
use sparkbench_host::{Host, Job};
use sparkbench_text::error::{Error, Kind};

/// Beginning of the ids that a load gives its requests.
const REQUEST_IDS: &str = "sparkbench-";
/// Name of the mock's file beside the client's.
pub const TRUTH_FILE: &str = "truth.jsonl";
/// A mock that has not said its address after this time will not.
const READY: Duration = Duration::from_secs(10);
/// Between two looks for it.
const LOOK: Duration = Duration::from_millis(5);
/// The mock writes its file to the end within this time.
const GRACE_S: f64 = 10.0;

/// An error, ms: what the client says less what the server did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorSpread {
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile. Null below 100 values.
    pub p99: Option<f64>,
    /// Smallest, with its sign.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Values.
    pub n: u64,
}

impl ErrorSpread {
    fn of(samples: Samples) -> Self {
        let Metric { mean, p50, p99, min, max, n, .. } = samples.metric(&definitions::READ_LAG, "");
        Self { mean, p50, p99, min, max, n }
    }
}

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Requests wanted in flight. Null in an open loop.
    pub streams: Option<f64>,
    /// Answered requests that were compared.
    pub requests: u64,
    /// Requests of the client that the server does not know, and the other way round.
    pub unmatched: u64,
    /// From sending to the first generated piece.
    pub ttft_error_ms: ErrorSpread,
    /// The same with the time of reading instead of the kernel's: what a client without it would have reported.
    pub user_ttft_error_ms: ErrorSpread,
    /// Time per output token.
    pub tpot_error_ms: ErrorSpread,
    /// Each gap between chunks, where both sides have as many.
    pub itl_error_ms: ErrorSpread,
    /// From sending to the last generated piece.
    pub e2e_error_ms: ErrorSpread,
    /// Each chunk's time of arrival minus its time of sending: one way through the network stack.
    pub chunk_error_ms: ErrorSpread,
    /// Mean of the read lag that the client states, over the mean time from sending a first token to reading it. 1 is agreement.
    pub read_lag_ratio: Option<f64>,
    /// Tokens that the server sent and the client did not count, or counted twice. Over complete answers.
    pub tokens_missed: u64,
    /// Answers that the server did not complete and the client counted as complete.
    pub faults_missed: u64,
    /// Answers that the server completed and the client took for failed. Those that the client itself gave up do not count.
    pub faults_made_up: u64,
}

impl Calibration {
    /// For the last line of a summary.
    pub fn sentence(&self) -> String {
        let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        let of = |name: &str, spread: &ErrorSpread| {
            let (what, tail) = if spread.p99.is_some() { ("p99", spread.p99) } else { ("max", spread.max) };
            format!("{name} mean {} {what} {}", figure(spread.mean), figure(tail))
        };
        let streams = self.streams.map_or_else(String::new, |streams| format!(" at {streams} streams"));
        let mut text = format!(
            "{}, {}, {} ms over {} requests{streams}",
            of("TTFT", &self.ttft_error_ms),
            of("TPOT", &self.tpot_error_ms),
            of("E2E", &self.e2e_error_ms),
            self.requests
        );
        for (number, what) in [
            (self.tokens_missed, "tokens missed"),
            (self.faults_missed, "faults missed"),
            (self.faults_made_up, "faults made up"),
            (self.unmatched, "requests unmatched"),
        ] {
            if number > 0 {
                text.push_str(&format!(", {number} {what}"));
            }
        }
        text
    }
}

/// How the mock is to answer: like the server that was or will be measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Like {
    /// To the first token, ms.
    pub ttft_ms: f64,
    /// Between tokens, ms.
    pub itl_ms: f64,
    pub tokens_per_chunk: u32,
}

impl Default for Like {
    /// A small model on a small machine.
    fn default() -> Self {
        Self { ttft_ms: 50.0, itl_ms: 10.0, tokens_per_chunk: 1 }
    }
}

/// Starts the mock, lets `load` run against its address, which is to leave `requests.jsonl` and `chunks.sbc` in `folder`, ends the
/// mock, and compares. The mock's files stay in `folder` too.
///
/// # Errors
/// When the mock cannot be started or ended, the load fails, or a file cannot be read.
pub fn run(
    host: &dyn Host,
    folder: &Path,
    like: Like,
    streams: Option<f64>,
    load: impl FnOnce(&str) -> Result<(), Error>,
) -> Result<Calibration, Error> {
    let failed = |what: &str| Error::new(Kind::Workload, format!("the calibration failed: {what}"));
    let program = host.own_program().map_err(|cause| failed("the path of this program is not known").because(cause))?;
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let argv = [
        program.to_string_lossy().into_owned(),
        "mock".into(),
        "--port=0".into(),
        format!("--ttft-ms={}", like.ttft_ms),
        format!("--itl-ms={}", like.itl_ms),
        format!("--tokens-per-chunk={}", like.tokens_per_chunk),
        format!("--truth={}", path(TRUTH_FILE)),
        "--truth-chunks".into(),
    ];
    let said = folder.join("mock.out");
    let job = Job {
        marker: "calibration/mock".into(),
        argv: argv.to_vec(),
        env: host.variables(),
        stdout: said.clone(),
        stderr: folder.join("mock.log"),
        grace_s: GRACE_S,
        ..Job::default()
    };
    let mut mock = host.launch(&job)?;
    let begin = host.monotonic();
    let address = loop {
        let text = std::fs::read_to_string(&said).unwrap_or_default();
        if let Some((line, _)) = text.split_once('\n') {
            break line.trim().to_owned();
        }
        if let Some(ended) = mock.wait(Duration::ZERO)? {
            return Err(failed("the mock ended immediately").detail(format!(
                "exit status {:?}. Its output is in '{}'",
                ended.code,
                path("mock.log")
            )));
        }
        if host.monotonic().saturating_sub(begin) > READY || host.interrupted() {
            return Err(failed("the mock did not give its address"));
        }
        host.pause(LOOK);
    };
    let loaded = load(&address);
    let ended = mock.end("the calibration is over");
    mock.close()?;
    loaded?;
    ended?;
    compare(folder, &folder.join(TRUTH_FILE), streams)
}

/// Fields that are read from the mock's file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Truth {
    id: String,
    outcome: String,
    mode: String,
    received_ns: Option<u64>,
    received_user_ns: u64,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    tokens: u32,
    emitted_ns: Option<Vec<u64>>,
}

impl Truth {
    fn complete(&self) -> bool {
        self.outcome == "complete"
    }

    fn received(&self) -> u64 {
        self.received_ns.unwrap_or(self.received_user_ns)
    }
}

/// Joins the files of a load to the mock's.
///
/// # Errors
/// When one of them cannot be read.
pub fn compare(folder: &Path, truth: &Path, streams: Option<f64>) -> Result<Calibration, Error> {
    let mut truths: HashMap<String, Truth> = HashMap::new();
    lines(truth, |truth: Truth| {
        // What is no request to the model has no id of ours, and the last of several is the one that was answered.
        drop(truths.insert(truth.id.clone(), truth));
    })?;
    let chunk_file = folder.join(chunks::FILE);
    let open = File::open(&chunk_file).map_err(|cause| unread(&chunk_file).because(cause))?;
    let mut reader = Reader::new(BufReader::new(open))?;
    let origin = reader.header().origin_ns;
    let mut join = Join { origin, ..Join::default() };
    let mut pairs: BTreeMap<u64, String> = BTreeMap::new();
    let mut known = 0_usize;
    lines(&folder.join(REQUESTS_FILE), |wire: RequestWire| {
        let Some(id) = &wire.request_id else { return };
        let Some(truth) = truths.get(id) else {
            join.found.unmatched += u64::from(wire.measured() && wire.sent_s.is_some());
            return;
        };
        known += 1;
        if wire.measured() {
            join.request(&wire, truth);
            if wire.answered() {
                pairs.insert(wire.index, id.clone());
            }
        }
    })?;
    // Questions before the load (lengths, tokens of a prompt) have no id of ours.
    let asked = truths.values().filter(|truth| truth.mode != "none" && truth.id.starts_with(REQUEST_IDS)).count();
    join.found.unmatched += asked.saturating_sub(known) as u64;
    let mut last: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut place: HashMap<u64, usize> = HashMap::new();
    while let Some(block) = reader.next_block()? {
        let Some(emitted) = pairs.get(&block.request).and_then(|id| truths.get(id)?.emitted_ns.as_deref()) else {
            continue;
        };
        let place = place.entry(block.request).or_default();
        for chunk in block.chunks.iter().filter(|chunk| chunk.kind.generated()) {
            let Some(&true_at) = emitted.get(*place) else { break };
            *place += 1;
            let before = last.insert(block.request, (chunk.at, true_at));
            join.chunk(chunk, true_at, before);
        }
    }
    Ok(join.end(streams))
}

#[derive(Default)]
struct Join {
    origin: u64,
    found: Calibration,
    ttft: Samples,
    user: Samples,
    tpot: Samples,
    itl: Samples,
    e2e: Samples,
    chunk: Samples,
    stated: (f64, u64),
    taken: (f64, u64),
}

impl Join {
    /// A moment of a record on the machine's clock.
    fn at(&self, second: Option<f64>) -> Option<u64> {
        Some(self.origin.wrapping_add(((second? * 1e9).round() as i64).cast_unsigned()))
    }

    fn request(&mut self, wire: &RequestWire, truth: &Truth) {
        if !wire.answered() {
            self.found.faults_made_up +=
                u64::from(truth.complete() && !matches!(wire.status.as_str(), "cancelled" | "not-sent"));
            return;
        }
        if !truth.complete() {
            self.found.faults_missed += 1;
            return;
        }
        self.found.requests += 1;
        let counted = wire.output_tokens.or(wire.pieces).unwrap_or(0);
        self.found.tokens_missed += u64::from(counted.abs_diff(truth.tokens));
        let sent = self.at(wire.sent_s);
        let (first, last) = (self.at(wire.first_token_s), self.at(wire.last_token_s()));
        let read = self.at(wire.first_token_read_s).or(first);
        let received = Some(truth.received());
        let error = |to: Option<u64>, true_to: Option<u64>| Some(ms(sent?, to?) - ms(received?, true_to?));
        add(&mut self.ttft, error(first, truth.first_ns));
        add(&mut self.user, error(read, truth.first_ns));
        add(&mut self.e2e, error(last, truth.last_ns));
        let further = truth.tokens.saturating_sub(wire.first_tokens.unwrap_or(1));
        if let (Some(first), Some(last), Some(true_first), Some(true_last)) =
            (first, last, truth.first_ns, truth.last_ns)
            && further > 0
        {
            self.tpot.add((ms(first, last) - ms(true_first, true_last)) / f64::from(further));
        }
        if let (Some(first), Some(read), Some(true_first), true) =
            (first, read, truth.first_ns, wire.first_token_read_s.is_some())
        {
            self.stated = (self.stated.0 + ms(first, read), self.stated.1 + 1);
            self.taken = (self.taken.0 + ms(true_first, read), self.taken.1 + 1);
        }
    }

    fn chunk(&mut self, chunk: &Chunk, true_at: u64, before: Option<(u64, u64)>) {
        self.chunk.add(ms(true_at, chunk.at));
        if let Some((at, true_before)) = before {
            self.itl.add(ms(at, chunk.at) - ms(true_before, true_at));
        }
    }

    fn end(self, streams: Option<f64>) -> Calibration {
        let ratio = (self.taken.0 > 0.0).then(|| self.stated.0 / self.taken.0);
        Calibration {
            streams,
            ttft_error_ms: ErrorSpread::of(self.ttft),
            user_ttft_error_ms: ErrorSpread::of(self.user),
            tpot_error_ms: ErrorSpread::of(self.tpot),
            itl_error_ms: ErrorSpread::of(self.itl),
            e2e_error_ms: ErrorSpread::of(self.e2e),
            chunk_error_ms: ErrorSpread::of(self.chunk),
            read_lag_ratio: ratio,
            ..self.found
        }
    }
}

fn add(samples: &mut Samples, value: Option<f64>) {
    value.into_iter().for_each(|value| samples.add(value));
}

/// `later - earlier`, ms.
fn ms(earlier: u64, later: u64) -> f64 {
    later.wrapping_sub(earlier).cast_signed() as f64 / 1e6
}

fn unread(path: &Path) -> Error {
    Error::archive(format!("cannot read '{}'", path.display())).hint("a calibration needs the files of both sides")
}

/// Each line of a file as JSON.
fn lines<T: for<'a> Deserialize<'a>>(path: &Path, mut take: impl FnMut(T)) -> Result<(), Error> {
    let file = File::open(path).map_err(|cause| unread(path).because(cause))?;
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|cause| unread(path).because(cause))?;
        if line.is_empty() {
            continue;
        }
        let value = serde_json::from_str(&line)
            .map_err(|cause| unread(path).at(sparkbench_text::error::Place::Line(number)).because(cause))?;
        take(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::order::{Asked, ChunkKind, Record, Sink as _, Status, Usage};
    use super::super::store::Store;
    use super::*;
    use sparkbench_host::net::Stamp;

    const ORIGIN: u64 = 7_000_000_000_000;

    #[test]
    fn an_error_is_what_the_client_says_less_what_the_server_did() {
        let folder = sparkbench_testing::Folder::new("calibrate");
        let (mut sink, handle) = Store::begin(&folder, ORIGIN).unwrap();
        let ms = |at: f64| ORIGIN + (at * 1e6) as u64;
        let stamp = |at: f64, lag: f64| Some(Stamp { kernel: Some(ms(at)), user: ms(at + lag) });
        let chunk = |at: f64| Chunk { at: ms(at), kind: ChunkKind::Content, bytes: 9, text: 1, ..Chunk::default() };
        // Sent at 0, the server has it at 0.01, lets go of tokens at 50.01 and 60.01. They arrive 0.02 and 0.03 later. Read 0.5 later.
        sink.chunks(0, 0, &[chunk(50.03), chunk(60.04)]);
        let good = Record {
            request_id: "sparkbench-a".into(),
            sent: Some(ms(0.0)),
            first_token: stamp(50.03, 0.5),
            last_token: stamp(60.04, 0.5),
            pieces: 2,
            usage: Usage { output: Some(2), ..Usage::default() },
            asked: Asked::default(),
            ..Record::default()
        };
        sink.ended(good.clone());
        // A reset that passes for an answer, an answer that passes for a reset, one that the server never saw.
        sink.ended(Record { index: 1, request_id: "sparkbench-b".into(), ..good.clone() });
        sink.ended(Record { index: 2, request_id: "sparkbench-c".into(), status: Status::Broken, ..good.clone() });
        sink.ended(Record { index: 3, request_id: "sparkbench-d".into(), ..good });
        handle.finish(sink).unwrap();
        let truth = |id: &str, outcome: &str| {
            format!(
                "{{\"id\":\"{id}\",\"shape\":\"plain\",\"outcome\":\"{outcome}\",\"mode\":\"stream\",\"received_ns\":{},\
                 \"received_user_ns\":1,\"first_ns\":{},\"last_ns\":{},\"tokens\":3,\"emitted_ns\":[{1},{2}]}}\n",
                ms(0.01),
                ms(50.01),
                ms(60.01)
            )
        };
        let text = truth("sparkbench-a", "complete")
            + &truth("sparkbench-b", "reset")
            + &truth("sparkbench-c", "complete")
            + &truth("sparkbench-e", "complete");
        std::fs::write(folder.join(TRUTH_FILE), text).unwrap();
        let found = compare(&folder, &folder.join(TRUTH_FILE), Some(1.0)).unwrap();
        let near = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1e-6;
        assert!(near(found.ttft_error_ms.mean, 0.03), "{found:?}");
        assert!(near(found.user_ttft_error_ms.mean, 0.53));
        assert!(near(found.e2e_error_ms.mean, 0.04));
        assert!(near(found.tpot_error_ms.mean, 0.005), "0.01 ms over the two further tokens that the server sent");
        assert!(near(found.itl_error_ms.mean, 0.01) && near(found.chunk_error_ms.mean, 0.025));
        assert!(near(found.read_lag_ratio, 0.5 / 0.52));
        assert_eq!(
            (found.requests, found.tokens_missed, found.faults_missed, found.faults_made_up, found.unmatched),
            (1, 1, 1, 1, 2)
        );
        assert!(found.sentence().contains("at 1 streams, 1 tokens missed, 1 faults missed"), "{}", found.sentence());
    }
}
