//! `requests.jsonl`: each request of a run, with its times and tokens.
//!
//! In:  one [`RequestWire`] a line, any number of them.  Out: one partial run: a series of each latency, and the rates over the window.
//! Not here: means and percentiles.
//!
//! Latencies follow the house definitions. TTFT is sent to first token. End-to-end is sent to last token. TPOT is (end-to-end - TTFT) /
//! (output tokens - 1) and absent below two tokens. A failed request is in none of them. One that is shorter than asked for is in all. Lines
//! that name their phase come from `sparkbench load`. Their measured phase is the measured one. Latencies of an open loop count from the
//! intended time, as in its summary. TPOT leaves out the tokens of the first chunk where they are known, and answers that came at one moment.
//! Each request has its decode rate. Tokens are counted as the load counts them (see [`Claim`]): a count that contradicts the chunks that came
//! makes no rate and no time by token, and one above the length asked for may give way to the chunks.
//! The times of its chunks are in `chunks.sbc` and are not read here.

use super::figure::Figure;
use super::source_file::{JSON_LINE_LIMIT, unreadable};
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_archive::manifest::{Claim, Delivery, REQUESTS_FILE, RequestWire};
use sparkbench_model::{Extra, Series, Span, Status, known_extra};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(super) struct Requests;

const RULE: &str = "sparkbench.requests";

impl Format for Requests {
    fn name(&self) -> &'static str {
        "requests"
    }

    fn about(&self) -> About {
        About {
            tool: "sparkbench",
            versions: "sparkbench.run/1 and 2",
            sign: "`requests.jsonl`: one request a line",
            reads: "TTFT, TPOT, ITL, E2E latency of each request, rates",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name == REQUESTS_FILE
            && (head.bytes == 0 || head.has_keys(&["sent_s", "status"]) || head.has_keys(&["index", "phase", "status"]))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        // By test, in the order in which the tests come.
        let mut windows: Vec<(Option<String>, Window)> = Vec::new();
        let mut lines = file.lines(JSON_LINE_LIMIT);
        while let Some(line) = lines.next_line().map_err(unreadable)? {
            if line.bytes.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let at = |error: Error| error.at(Place::Line(line.number));
            if line.cut {
                let limit = JSON_LINE_LIMIT >> 10;
                parsed.left_out.push(at(
                    Error::archive("a request is left out").detail(format!("its line is longer than {limit} KiB"))
                ));
                continue;
            }
            match serde_json::from_slice::<RequestWire>(line.bytes) {
                Ok(request) => match windows.iter_mut().find(|(test, _)| *test == request.test) {
                    Some((_, window)) => window.add(&request),
                    None => {
                        let mut window = Window::default();
                        window.add(&request);
                        windows.push((request.test, window));
                    }
                },
                Err(cause) => parsed.left_out.push(at(Error::archive("a request is left out").because(cause))),
            }
        }
        if windows.is_empty() {
            windows.push((None, Window::default()));
        }
        let failed: usize = windows.iter().map(|(_, window)| window.failed).sum();
        if failed > 0 {
            let all: usize = failed + windows.iter().map(|(_, window)| window.answered).sum::<usize>();
            parsed.notes.push(format!("{failed} of {all} requests failed. They are excluded from latencies"));
        }
        let short: usize = windows.iter().map(|(_, window)| window.short).sum();
        if short > 0 {
            parsed.notes.push(format!("{short} answers are shorter than was asked for. They are in the latencies"));
        }
        let contradicted: usize = windows.iter().map(|(_, window)| window.contradicted).sum();
        if contradicted > 0 {
            let answered: usize = windows.iter().map(|(_, window)| window.answered).sum();
            parsed.notes.push(format!(
                "the count of output tokens contradicts what came in {contradicted} of {answered} answers. No rate and no time by token is \
                 made of it"
            ));
        }
        let above: usize = windows.iter().map(|(_, window)| window.above_limit).sum();
        if above > 0 {
            let answered: usize = windows.iter().map(|(_, window)| window.answered).sum();
            parsed.notes.push(format!(
                "the count of output tokens is above the length asked for in {above} of {answered} answers, and as many chunks came as \
                 tokens were asked for. Each chunk counts as one token there"
            ));
        }
        for (part, window) in windows {
            let partial = PartialRun { part, ..window.partial(file) };
            parsed.records.push(Record::Run(Box::new(partial)));
        }
        Ok(parsed)
    }
}

/// Latencies of one answered request, milliseconds, and its decode rate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Latencies {
    pub ttft: Option<f64>,
    /// NaN where the count of tokens is known and a time is not, or where the times tell nothing of single tokens.
    pub tpot: Option<f64>,
    pub e2e: Option<f64>,
    /// Tokens a second.
    pub decode: Option<f64>,
}

impl Latencies {
    /// By the rules of this file.
    pub(super) fn of(request: &RequestWire) -> Self {
        let sent = request.intended_s.filter(|_| request.phase.is_some()).or(request.sent_s);
        let between = |to: Option<f64>| sent.zip(to).map(|(from, to)| (to - from) * 1000.0);
        let (ttft, e2e) = (between(request.first_token_s), between(request.last_token_s()));
        let further = Claim::tokens(request).and_then(|tokens| tokens.checked_sub(request.first_tokens.unwrap_or(1)));
        let unknown = request.phase.is_some() && delivery(request).spans_nothing();
        let spent = || ttft.zip(e2e).filter(|_| !unknown).map_or(f64::NAN, |(ttft, e2e)| e2e - ttft);
        let tpot = further.filter(|further| *further > 0).map(|further| spent() / f64::from(further));
        Self { ttft, tpot, e2e, decode: tpot.filter(|tpot| *tpot > 0.0).map(|tpot| 1000.0 / tpot) }
    }
}

/// How its tokens came.
fn delivery(request: &RequestWire) -> Delivery {
    Delivery {
        chunks: request.pieces,
        tokens: Claim::tokens(request),
        first_tokens: request.first_tokens,
        one_moment: request.first_token_s.is_some() && request.first_token_s == request.last_token_s(),
        unplaced: request.first_reasoning_s.is_none() && request.first_tokens.is_none() && unplaced(request),
    }
}

/// Whether the tokens that are no reasoning are more than one for each piece and one for the end.
fn unplaced(request: &RequestWire) -> bool {
    let shown = |reasoning: u32| Claim::tokens(request)?.checked_sub(reasoning)?.checked_sub(request.pieces?);
    request.reasoning_tokens.filter(|reasoning| *reasoning > 0).and_then(shown).is_some_and(|more| more > 1)
}

/// Totals of the measured requests of one run.
#[derive(Default)]
struct Window {
    answered: usize,
    failed: usize,
    first_sent: Option<f64>,
    last_token: Option<f64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    /// Some answer has no count of output tokens, or one of no use.
    uncounted: bool,
    /// Some has no count of input tokens.
    unknown_input: bool,
    /// Answers whose count contradicts what came.
    contradicted: usize,
    /// Answers whose chunks are counted in place of it, because it is above the length asked for.
    above_limit: usize,
    ttft: Vec<f64>,
    tpot: Vec<f64>,
    e2e: Vec<f64>,
    decode: Vec<f64>,
    short: usize,
    /// Answers of several tokens that came at one moment.
    whole: usize,
    /// Lines of a load of ours, which says by itself when a run failed.
    ours: bool,
    spans: Vec<Span>,
}

impl Window {
    fn add(&mut self, request: &RequestWire) {
        if !request.measured() {
            return;
        }
        self.spans.extend(request.sent_s.filter(|sent| sent.is_finite()).map(|sent_s| Span {
            sent_s,
            first_token_s: request.first_token_s,
            end_s: request.last_token_s().or(request.end_s),
            answered: request.answered(),
        }));
        // A failed request took its share of the window: the clock starts with whatever was sent first.
        self.first_sent = least(self.first_sent, request.sent_s);
        if !request.answered() {
            self.failed += 1;
            return;
        }
        self.answered += 1;
        self.short += usize::from(request.status == RequestWire::SHORT);
        let ours = request.phase.is_some();
        self.ours |= ours;
        self.whole += usize::from(ours && delivery(request).whole());
        self.last_token = match (self.last_token, request.last_token_s()) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        self.contradicted += usize::from(request.output_tokens.is_some() && Claim::tokens(request).is_none());
        self.above_limit += usize::from(Claim::of(request).is_some_and(Claim::above_limit));
        match Claim::tokens(request) {
            Some(tokens) => self.output_tokens = Some(self.output_tokens.unwrap_or(0) + u64::from(tokens)),
            None => self.uncounted = true,
        }
        match request.input_tokens {
            Some(tokens) => self.input_tokens = Some(self.input_tokens.unwrap_or(0) + u64::from(tokens)),
            None => self.unknown_input = true,
        }
        let Latencies { ttft, tpot, e2e, decode } = Latencies::of(request);
        self.ttft.push(ttft.unwrap_or(f64::NAN));
        self.e2e.push(e2e.unwrap_or(f64::NAN));
        if let Some(tpot) = tpot {
            self.tpot.push(tpot);
            if ours {
                self.decode.push(decode.unwrap_or(f64::NAN));
            }
        }
    }

    fn partial(self, file: &SourceFile<'_>) -> PartialRun {
        let mut partial = PartialRun { join_role: JoinRole::Detail, ..PartialRun::default() };
        if self.answered + self.failed == 0 {
            return partial;
        }
        partial.course.requests = self.spans;
        partial.setup.requests = Some((self.answered + self.failed) as f64);
        let whole = (self.whole > 0).then_some((known_extra::WHOLE_ANSWERS, self.whole));
        let counts = [("completed_requests", self.answered), ("failed_requests", self.failed)];
        for (name, requests) in counts.into_iter().chain(whole) {
            partial.extras.push(Extra::number(name, "", requests as f64, None, file.origin(None, None, RULE)));
        }
        if self.answered == 0 {
            partial.status = Some(Status::Failed(format!("all {} requests failed", self.failed)));
            return partial;
        }
        // Where the server stood already no program ended, so no exit code says that the run is done.
        partial.status = self.ours.then_some(Status::Done);
        for (metric, values) in [
            ("ttft_ms", self.ttft),
            ("tpot_ms", self.tpot),
            ("e2e_latency_ms", self.e2e),
            ("decode_tok_s", self.decode),
        ] {
            if !values.is_empty() {
                partial.series.push(Series { metric: metric.into(), values, origin: file.origin(None, None, RULE) });
            }
        }
        let seconds = self.first_sent.zip(self.last_token).map(|(first, last)| last - first).filter(|s| *s > 0.0);
        let tokens = self.output_tokens.filter(|_| !self.uncounted).map(|tokens| tokens as f64);
        let input = self.input_tokens.filter(|_| !self.unknown_input);
        let total = tokens.zip(input).map(|(output, input)| output + input as f64);
        for (metric, amount) in [
            ("request_throughput_req_s", Some(self.answered as f64)),
            ("output_throughput_tok_s", tokens),
            ("total_throughput_tok_s", total),
        ] {
            if let (Some(amount), Some(seconds)) = (amount, seconds) {
                let origin = file.origin(None, None, RULE);
                partial.readings.push(Figure::computed(amount / seconds).reading(metric, origin));
            }
        }
        partial
    }
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
