//! `sparkbench.iterations/1`: measurements of a program, one line at a time, so that a crash loses nothing.
//!
//! In:  JSON lines.  Out: one partial run for each test, or one for the whole file where it names no tests.
//! Not here: percentiles.
//!
//! The first line has the `schema`. `kind` distinguishes the lines: `seen`, `metric`, `test`, `iteration`,
//! `no_room`, `out_of_memory`, `failed`, `end`.
//! Other kinds are kept in the file and not read. An iteration is one batch: its latency, end less start, is that of every
//! sequence in it. Throughput is the tokens of the measured iterations over the sum of their times: pauses between them do not count.
//! Time per output token is (end-to-end - TTFT) / (tokens a sequence - 1).

use serde::Deserialize;

use super::parser::Parser;
use crate::figure::{Figure, excerpt};
use crate::schema::unknown_schema;
use crate::source_file::{JSON_LINE_LIMIT, unreadable};
use crate::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_archive::manifest::{ReportWire, SeenWire};
use sparkbench_model::{Metric, Origin, Reading, Series, Setup, Status};
use sparkbench_text::error::{Error, Place};

/// Schema of the first line.
pub const ITERATIONS_SCHEMA: &str = "sparkbench.iterations/1";

/// See the module.
pub struct IterationsFile;

const RULE: &str = "sparkbench.iterations";

impl Parser for IterationsFile {
    fn name(&self) -> &'static str {
        "iterations"
    }

    fn parse(&self, file: &mut SourceFile<'_>, _: &ReportWire) -> Result<Parsed, Error> {
        read(file)
    }
}

impl Format for IterationsFile {
    fn name(&self) -> &'static str {
        "iterations"
    }

    fn about(&self) -> About {
        About {
            tool: "a program of your own",
            versions: "sparkbench.iterations/1",
            sign: "JSON Lines with that schema",
            reads: "values of each iteration, load time",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.text.lines().next().is_some_and(|line| line.starts_with('{') && line.contains("\"sparkbench.iterations/"))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        read(file)
    }
}

/// Any line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    schema: Option<String>,
    kind: String,
    test: Option<String>,
    seen: Option<SeenWire>,
    metric: Option<String>,
    value: Option<f64>,
    batch: Option<f64>,
    isl: Option<f64>,
    osl: Option<f64>,
    planned: Option<u64>,
    sweep: bool,
    warmup: bool,
    started_s: Option<f64>,
    ended_s: Option<f64>,
    requests: Option<f64>,
    input_tokens: Option<f64>,
    output_tokens: Option<f64>,
    ttft_ms: Option<f64>,
    error: Option<String>,
}

/// Totals of the lines of one test.
#[derive(Debug, Default)]
struct Test {
    name: Option<String>,
    batch: Option<f64>,
    isl: Option<f64>,
    osl: Option<f64>,
    planned: Option<u64>,
    sweep: bool,
    failure: Option<String>,
    out_of_memory: bool,
    /// Why not all of a batch runs at once.
    no_room: Option<String>,
    readings: Vec<Reading>,
    first_line: Option<u64>,
    measured: u64,
    seconds: f64,
    requests: Option<f64>,
    input_tokens: Option<f64>,
    output_tokens: Option<f64>,
    uncounted: bool,
    e2e: Vec<f64>,
    ttft: Vec<f64>,
    tpot: Vec<f64>,
}

fn read(file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
    let mut parsed = Parsed::default();
    let mut seen = Setup::default();
    let mut tests: Vec<Test> = vec![Test::default()];
    let path = file.path;
    let origin = |line: u64| Origin { file: path.to_owned(), line: Some(line), field: None, rule: RULE };
    let (mut first, mut ended) = (true, false);
    // A crash may tear the last line. One in the middle is damage.
    let mut torn: Option<Error> = None;
    let mut lines = file.lines(JSON_LINE_LIMIT);
    while let Some(line) = lines.next_line().map_err(unreadable)? {
        if line.bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        parsed.left_out.extend(torn.take());
        let number = line.number;
        let left_out = |error: Error| error.at(Place::Line(number));
        if line.cut {
            parsed.left_out.push(left_out(Error::archive("a line is left out").detail("it is too long")));
            continue;
        }
        let entry = match serde_json::from_slice::<Line>(line.bytes) {
            Ok(entry) => entry,
            Err(cause) if first => {
                return Err(Error::archive("the first line is not a line of iterations")
                    .at(Place::Line(number))
                    .because(cause));
            }
            Err(cause) => {
                torn = Some(left_out(Error::archive("a line is left out").because(cause)));
                continue;
            }
        };
        if std::mem::take(&mut first) && entry.schema.as_deref() != Some(ITERATIONS_SCHEMA) {
            return Err(unknown_schema(entry.schema.as_deref().unwrap_or_default(), &[ITERATIONS_SCHEMA]));
        }
        if let Some(more) = entry.seen.clone() {
            take_seen(&mut seen, more);
        }
        ended |= entry.kind == "end";
        let at = tests.iter().position(|test| test.name == entry.test).unwrap_or_else(|| {
            tests.push(Test { name: entry.test.clone(), ..Test::default() });
            tests.len() - 1
        });
        let Some(test) = tests.get_mut(at) else { continue };
        if let Err(error) = test.take(entry, origin(number)) {
            parsed.left_out.push(left_out(error));
        }
    }
    if first {
        return Err(Error::archive("the file is empty").hint("the program may have stopped before it wrote anything"));
    }
    if torn.is_some() {
        parsed.notes.push("the last line is torn: the program was stopped while it wrote".to_owned());
    } else if !ended {
        parsed.notes.push("there is no line of the end: the program did not come to it".to_owned());
    }
    partials(file, tests, &seen, &mut parsed);
    Ok(parsed)
}

/// Later lines replace earlier ones, key by key.
fn take_seen(seen: &mut Setup, more: SeenWire) {
    let newer = Setup {
        model_served: more.model_id,
        machine: more.machine,
        engine: more.engine,
        engine_version: more.engine_version,
        quantisation: more.quantisation,
        batch: more.batch,
        isl: more.isl,
        osl: more.osl,
        requests: more.requests,
        parameters: more.parameters,
        device_memory_gib: more.device_memory_gib,
        model_memory_gib: more.model_memory_gib,
        ..Setup::default()
    };
    let older = std::mem::replace(seen, newer);
    super::seen::fill(seen, &older);
}

impl Test {
    fn take(&mut self, line: Line, origin: Origin) -> Result<(), Error> {
        match line.kind.as_str() {
            "test" => {
                (self.batch, self.isl, self.osl) = (line.batch, line.isl, line.osl);
                (self.planned, self.sweep) = (line.planned, line.sweep);
            }
            "metric" => {
                let name = line.metric.unwrap_or_default();
                if Metric::of_catalogue(&name).is_none() {
                    return Err(Error::archive("a metric is not known").detail(format!("found \"{}\"", excerpt(&name))));
                }
                // Measured again, the last counts.
                self.readings.retain(|reading| reading.metric != name);
                self.readings.push(Figure::computed(line.value.unwrap_or(f64::NAN)).reading(name, origin));
            }
            "out_of_memory" => self.out_of_memory = true,
            "no_room" => {
                self.no_room = Some(line.error.as_deref().map_or_else(|| "it does not fit".to_owned(), excerpt))
            }
            "failed" => self.failure = Some(line.error.as_deref().map_or_else(|| "failed".to_owned(), excerpt)),
            "iteration" if !line.warmup => return self.iteration(&line, &origin),
            _ => {}
        }
        Ok(())
    }

    fn iteration(&mut self, line: &Line, origin: &Origin) -> Result<(), Error> {
        let seconds = line.started_s.zip(line.ended_s).map(|(start, end)| end - start);
        let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) else {
            return Err(Error::archive("an iteration is left out")
                .detail("expected 'started_s' and a later 'ended_s' on one monotonic clock"));
        };
        self.first_line = self.first_line.or(origin.line);
        self.measured += 1;
        self.seconds += seconds;
        let e2e = seconds * 1000.0;
        self.e2e.push(e2e);
        let requests = line.requests.or(self.batch);
        add(&mut self.requests, requests);
        add(&mut self.input_tokens, line.input_tokens);
        add(&mut self.output_tokens, line.output_tokens);
        self.uncounted |= line.output_tokens.is_none();
        if let Some(ttft) = line.ttft_ms {
            self.ttft.push(ttft);
            let each = line.output_tokens.zip(requests).map(|(tokens, requests)| tokens / requests);
            if let Some(tokens) = each.filter(|tokens| *tokens >= 2.0) {
                self.tpot.push((e2e - ttft) / (tokens - 1.0));
            }
        }
        Ok(())
    }
}

fn add(sum: &mut Option<f64>, more: Option<f64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0.0) + more);
    }
}

/// One partial run for each test. What belongs to no test stands for all.
fn partials(file: &SourceFile<'_>, tests: Vec<Test>, seen: &Setup, parsed: &mut Parsed) {
    let named = tests.iter().any(|test| test.name.is_some());
    for test in tests {
        let join_role = match (&test.name, named) {
            (Some(_), _) => JoinRole::Body,
            (None, true) => JoinRole::Detail,
            (None, false) => JoinRole::Trace,
        };
        if test.sweep && test.out_of_memory {
            // The end of a sweep is what was asked for. It is no failed run.
            let name = test.name.as_deref().unwrap_or_default();
            let done = test.measured;
            parsed
                .notes
                .push(format!("{}: out of memory after {done} iterations. The sweep ends there", excerpt(name)));
            continue;
        }
        if let Some(why) = &test.no_room {
            let name = excerpt(test.name.as_deref().unwrap_or_default());
            if test.sweep {
                parsed.notes.push(format!("{name}: {why}. The sweep ends there"));
                continue;
            }
            parsed.notes.push(format!("{name}: {why}. Some of the batch waited for others"));
        }
        let status = match (&test.failure, test.planned) {
            _ if test.out_of_memory => Some(Status::Failed("out of memory".to_owned())),
            (Some(why), _) => Some(Status::Failed(why.clone())),
            (None, Some(planned)) if test.measured < planned => {
                Some(Status::Failed(format!("{} of {planned} iterations", test.measured)))
            }
            _ => None,
        };
        let origin = || file.origin(test.first_line, None, RULE);
        let mut readings = test.readings;
        let tokens = test.output_tokens.filter(|_| !test.uncounted);
        let total = tokens.zip(test.input_tokens).map(|(output, input)| output + input);
        for (metric, amount) in [
            ("output_throughput_tok_s", tokens),
            ("total_throughput_tok_s", total),
            ("request_throughput_req_s", test.requests),
        ] {
            if let Some(amount) = amount.filter(|_| test.seconds > 0.0)
                && readings.iter().all(|reading| reading.metric != metric)
            {
                readings.push(Figure::computed(amount / test.seconds).reading(metric, origin()));
            }
        }
        let series = [("e2e_latency_ms", test.e2e), ("ttft_ms", test.ttft), ("tpot_ms", test.tpot)]
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(metric, values)| Series { metric: metric.to_owned(), values, origin: origin() })
            .collect();
        // What the engine counted is what ran. What the line of the test says is what was meant.
        let each = |tokens: Option<f64>| tokens.zip(test.requests).map(|(tokens, requests)| tokens / requests);
        let mut setup = Setup {
            batch: test.batch,
            isl: each(test.input_tokens).or(test.isl),
            osl: each(tokens).or(test.osl),
            requests: test.requests,
            ..Setup::default()
        };
        super::seen::fill(&mut setup, seen);
        let partial =
            PartialRun { join_role, part: test.name, status, readings, series, setup, ..PartialRun::default() };
        parsed.records.push(Record::Run(Box::new(partial)));
    }
}
