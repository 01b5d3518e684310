//! `requests.jsonl`: each request of a run, with its times and tokens.
//!
//! In:  one [`RequestWire`] a line, any number of them.  Out: one partial run: a series of each latency, and the rates over the window.
//! Not here: means and percentiles.
//!
//! Latencies follow the house definitions. TTFT is sent to first token. End-to-end is sent to last token. TPOT is (end-to-end - TTFT) /
//! (output tokens - 1) and absent below two tokens. A failed request is in none of them. One that is shorter than asked for is in all. Lines
//! that name their phase come from `sparkbench load`. Their measured phase is the measured one. Latencies of an open loop count from the
//! intended time, as in its summary. TPOT leaves out the tokens of the first chunk where they are known, and answers that came at one moment.
//! Each request has its decode rate. A count of tokens that contradicts the chunks that came makes no rate and no time by token.
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
        let further = counted(request).and_then(|tokens| tokens.checked_sub(request.first_tokens.unwrap_or(1)));
        let unknown = request.phase.is_some() && delivery(request).spans_nothing();
        let spent = || ttft.zip(e2e).filter(|_| !unknown).map_or(f64::NAN, |(ttft, e2e)| e2e - ttft);
        let tpot = further.filter(|further| *further > 0).map(|further| spent() / f64::from(further));
        Self { ttft, tpot, e2e, decode: tpot.filter(|tpot| *tpot > 0.0).map(|tpot| 1000.0 / tpot) }
    }
}

/// Output tokens. Absent where what came contradicts the count.
fn counted(request: &RequestWire) -> Option<u32> {
    request.output_tokens.filter(|_| !Claim::of(request).is_some_and(Claim::contradicted))
}

/// How its tokens came.
fn delivery(request: &RequestWire) -> Delivery {
    Delivery {
        chunks: request.pieces,
        tokens: request.output_tokens,
        first_tokens: request.first_tokens,
        one_moment: request.first_token_s.is_some() && request.first_token_s == request.last_token_s(),
        unplaced: request.first_reasoning_s.is_none() && request.first_tokens.is_none() && unplaced(request),
    }
}

/// Whether the tokens that are no reasoning are more than one for each piece and one for the end.
fn unplaced(request: &RequestWire) -> bool {
    let shown = |reasoning: u32| request.output_tokens?.checked_sub(reasoning)?.checked_sub(request.pieces?);
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
        self.contradicted += usize::from(request.output_tokens.is_some() && counted(request).is_none());
        match counted(request) {
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
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn requests(text: &str) -> (PartialRun, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed =
            Requests.parse(&mut SourceFile::new("runs/a/requests.jsonl", text.len() as u64, &mut input)).unwrap();
        match parsed.records.pop() {
            Some(Record::Run(partial)) => (*partial, parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn latencies_and_rates_are_those_computed_by_hand() {
        let (partial, parsed) = requests(concat!(
            r#"{"index":0,"warmup":true,"sent_s":0,"first_token_s":9,"output_tokens":9,"status":"ok"}"#,
            "\n",
            r#"{"index":1,"sent_s":10,"first_token_s":10.5,"further_tokens_s":[11,12],"input_tokens":7,"output_tokens":3,"status":"ok"}"#,
            "\n",
            r#"{"index":2,"sent_s":10,"status":"timeout","error":"gave up"}"#,
            "\n",
            r#"{"index":3,"sent_s":12,"first_token_s":14,"input_tokens":7,"output_tokens":1,"status":"ok"}"#,
            "\n\n",
        ));
        let series: BTreeMap<&str, &[f64]> =
            partial.series.iter().map(|s| (s.metric.as_str(), s.values.as_slice())).collect();
        assert_eq!(series["ttft_ms"], [500.0, 2000.0]);
        assert_eq!(series["e2e_latency_ms"], [2000.0, 2000.0]);
        assert_eq!(series["tpot_ms"], [750.0], "one token has no time per further token");
        let rates: BTreeMap<&str, f64> = partial.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(
            (rates["request_throughput_req_s"], rates["output_throughput_tok_s"], rates["total_throughput_tok_s"]),
            (0.5, 1.0, 4.5)
        );
        assert_eq!((partial.setup.requests, parsed.notes.len(), &partial.status), (Some(3.0), 1, &None));
    }

    #[test]
    fn reasoning_that_may_be_in_the_pieces_or_was_not_sent_leaves_no_time_per_token() {
        let line = |output: u32, more: &str| {
            let line = format!(
                r#"{{"index":0,"phase":"measured","sent_s":0,"first_token_s":1,"last_token_s":2,"output_tokens":{output},"pieces":11,"status":"ok"{more}}}"#
            );
            serde_json::from_str::<RequestWire>(&line).unwrap()
        };
        let tpot = |request: &RequestWire| Latencies::of(request).tpot.filter(|tpot| tpot.is_finite());
        assert_eq!(tpot(&line(71, r#","reasoning_tokens":30"#)), None);
        // What the load settled, what came, and what no reasoning is counted for.
        assert_eq!(tpot(&line(41, r#","reasoning_tokens":30,"first_tokens":31"#)), Some(100.0));
        for more in [r#","reasoning_tokens":30,"first_reasoning_s":1"#, r#","reasoning_tokens":0"#, ""] {
            assert!(tpot(&line(71, more)).is_some(), "{more}");
        }
        // Fewer tokens would be left than there are pieces: it is in the text.
        assert!(tpot(&line(31, r#","reasoning_tokens":30"#)).is_some());
    }

    #[test]
    fn lines_of_a_load_count_from_the_intended_time_and_by_their_phase() {
        let (partial, parsed) = requests(concat!(
            r#"{"index":0,"warmup":true,"phase":"warmup","sent_s":0,"first_token_s":9,"last_token_s":10,"status":"ok"}"#,
            "\n",
            r#"{"index":1,"phase":"prime","sent_s":0,"first_token_s":9,"last_token_s":10,"status":"ok"}"#,
            "\n",
            r#"{"index":2,"phase":"measured","intended_s":10,"sent_s":10.5,"first_token_s":11,"last_token_s":13,"#,
            r#""input_tokens":7,"output_tokens":6,"first_tokens":2,"pieces":3,"status":"short"}"#,
            "\n",
            r#"{"index":3,"phase":"measured","intended_s":10,"status":"not-sent"}"#,
            "\n",
        ));
        let series: BTreeMap<&str, &[f64]> =
            partial.series.iter().map(|s| (s.metric.as_str(), s.values.as_slice())).collect();
        assert_eq!(series["ttft_ms"], [1000.0]);
        assert_eq!(series["e2e_latency_ms"], [3000.0]);
        assert_eq!((series["tpot_ms"], series["decode_tok_s"]), (&[500.0][..], &[2.0][..]));
        assert_eq!((partial.setup.requests, &partial.status), (Some(2.0), &Some(Status::Done)));
        assert_eq!(
            parsed.notes,
            [
                "1 of 2 requests failed. They are excluded from latencies",
                "1 answers are shorter than was asked for. They are in the latencies"
            ]
        );
    }

    #[test]
    fn an_answer_that_came_at_one_moment_is_counted_and_has_no_time_per_token() {
        let line = |last: u32, tokens: u32| {
            format!(
                "{{\"index\":0,\"phase\":\"measured\",\"sent_s\":0,\"first_token_s\":1,\"last_token_s\":{last},\"output_tokens\":{tokens},\
                 \"pieces\":{tokens},\"status\":\"ok\"}}\n"
            )
        };
        let (partial, _) = requests(&[line(1, 8), line(2, 5), line(1, 1)].concat());
        let of = |metric: &str| &partial.series.iter().find(|series| series.metric == metric).unwrap().values;
        assert!(of("tpot_ms")[0].is_nan() && of("decode_tok_s")[0].is_nan());
        assert_eq!(of("tpot_ms")[1..], [250.0], "one token has no time per further token");
        let whole = partial.extras.iter().find(|extra| extra.name == known_extra::WHOLE_ANSWERS);
        assert_eq!(whole.and_then(Extra::as_number), Some(1.0));
    }

    #[test]
    fn a_count_that_contradicts_what_came_makes_no_rate_and_an_unknown_length_no_total() {
        let line = |tokens: u32, input: &str| {
            format!(
                "{{\"index\":0,\"phase\":\"measured\",\"sent_s\":0,\"first_token_s\":1,\"last_token_s\":2{input},\"output_tokens\":{tokens},\
                 \"pieces\":20,\"text_bytes\":80,\"output_tokens_asked\":20,\"status\":\"ok\"}}\n"
            )
        };
        let input = ",\"input_tokens\":7";
        let metrics = |partial: &PartialRun| -> Vec<String> {
            let names = partial
                .readings
                .iter()
                .map(|r| r.metric.clone())
                .chain(partial.series.iter().map(|s| s.metric.clone()));
            names.collect()
        };
        let (partial, parsed) = requests(&[line(20, input), line(0, input)].concat());
        assert_eq!(
            metrics(&partial),
            ["request_throughput_req_s", "ttft_ms", "tpot_ms", "e2e_latency_ms", "decode_tok_s"]
        );
        assert_eq!(partial.series[1].values.len(), 1, "the count that holds has its time by token");
        assert!(parsed.notes[0].contains("contradicts what came in 1 of 2 answers"), "{:?}", parsed.notes);
        let (partial, _) = requests(&[line(20, input), line(20, "")].concat());
        assert!(metrics(&partial).iter().all(|metric| metric != "total_throughput_tok_s"), "{:?}", metrics(&partial));
        let rate = partial.readings.iter().find(|reading| reading.metric == "output_throughput_tok_s");
        assert_eq!(rate.map(|reading| reading.value), Some(20.0));
    }

    #[test]
    fn requests_that_all_failed_measure_nothing_and_fail_the_run() {
        let (partial, _) = requests("{\"sent_s\":0,\"status\":\"refused\"}\n");
        assert_eq!(partial.status, Some(Status::Failed("all 1 requests failed".into())));
        assert!(partial.readings.is_empty() && partial.series.is_empty());
        let (none, _) = requests("");
        assert_eq!((none.status, none.series.len()), (None, 0));
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_count() {
        let (partial, parsed) = requests("{\"sent_s\":0,\"status\":\"ok\",\"first_token_s\":1}\n{\"sent_s\":\n");
        assert_eq!(partial.series[0].values, [1000.0]);
        assert!(parsed.left_out[0].to_string().contains("line 2"), "{}", parsed.left_out[0]);
    }
}
