//! The archive layout of this program: `campaign.json`, `runs/<id>/run.json`, `requests.jsonl`.
//!
//! In:  the files of [`manifest`](crate::archive::manifest).  Out: a campaign, one piece a run, the series of its requests.
//! Not here: `telemetry.csv` (see `nvidia_smi`, whose columns it shares) and the raw reports of other tools.
//!
//! Latencies follow the definitions of the words: TTFT is sent to first token, end-to-end is sent to last token, TPOT is
//! (end-to-end - TTFT) / (output tokens - 1) and absent below two tokens. A failed request enters none of them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::flat::status;
use super::h200_ab::unknown_schema;
use super::look::{JSON_LINE_LIMIT, unreadable};
use super::{Format, Head, Parsed, Piece, Record, SourceFile, Standing};
use crate::archive::manifest::{
    CAMPAIGN_FILE, CAMPAIGN_SCHEMA, CampaignWire, REQUESTS_FILE, RUN_SCHEMA, RequestWire, RunWire,
};
use crate::error::{Error, Place};
use crate::model::{Campaign, Instant, Metric, Reading, Series, Setup, Status};

/// `campaign.json`.
pub struct CampaignFile;
/// `run.json`.
pub struct RunFile;
/// `requests.jsonl`.
pub struct Requests;

const RULE_RUN: &str = "sparkbench.run";
const RULE_REQUESTS: &str = "sparkbench.requests";

impl Format for CampaignFile {
    fn name(&self) -> &'static str {
        "campaign"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name == CAMPAIGN_FILE || (head.is_object() && head.text.contains("\"sparkbench.campaign/"))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let wire: CampaignWire = from_json(&text, CAMPAIGN_SCHEMA)?;
        if wire.name.is_empty() {
            return Err(missing("/name"));
        }
        let mut parsed = Parsed::default();
        for (field, names) in [("/primary", &wire.primary), ("/planned_metrics", &wire.planned_metrics)] {
            if let Some(name) = names.iter().find(|name| Metric::find(name).is_none()) {
                return Err(Error::archive("a metric is not known")
                    .at(Place::Field(field.into()))
                    .detail(format!("found \"{name}\"")));
            }
        }
        parsed.records.push(Record::Campaign(Box::new(campaign(wire))));
        Ok(parsed)
    }
}

fn campaign(wire: CampaignWire) -> Campaign {
    let mut cells: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
    for run in &wire.plan {
        *cells.entry((&run.environment, &run.model, &run.workload)).or_default() += 1;
    }
    // Cells planned unequally have no one number; the run-count check then has nothing to hold against.
    let least = cells.values().min().copied();
    let planned_repeats = least.filter(|count| cells.values().all(|other| other == count));
    Campaign {
        name: wire.name,
        title: wire.title,
        question: wire.question,
        prose: wire.prose,
        machine: wire.machine,
        baseline: wire.baseline,
        primary: wire.primary,
        margins_pct: wire.margins_pct,
        planned_repeats,
        cooldown_s: wire.cooldown_s,
        start_temp_limit_c: wire.start_temp_limit_c,
        models: wire.models,
        planned_metrics: wire.planned_metrics,
        stated: Vec::new(),
        published: Vec::new(),
        provenance: wire.provenance,
        archive_sha256: String::new(),
    }
}

impl Format for RunFile {
    fn name(&self) -> &'static str {
        "run"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_object() && head.text.contains("\"sparkbench.run/")
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let wire: RunWire = from_json(&text, RUN_SCHEMA)?;
        let piece = run(file, wire)?;
        Ok(Parsed { records: vec![Record::Piece(Box::new(piece))], ..Parsed::default() })
    }
}

fn run(file: &SourceFile<'_>, wire: RunWire) -> Result<Piece, Error> {
    for (name, value) in [("/environment", &wire.environment), ("/model", &wire.model), ("/workload", &wire.workload)] {
        if value.is_empty() {
            return Err(missing(name));
        }
    }
    let moment = |field: &str, text: Option<&str>| -> Result<Option<Instant>, Error> {
        text.map(|text| {
            Instant::parse(text).ok_or_else(|| {
                Error::archive("a moment is not valid")
                    .at(Place::Field(field.to_owned()))
                    .detail(format!("expected ISO 8601, found \"{}\"", super::figure::excerpt(text)))
            })
        })
        .transpose()
    };
    let (started, ended) =
        (moment("/started_utc", wire.started_utc.as_deref())?, moment("/ended_utc", wire.ended_utc.as_deref())?);
    let temperature =
        |state: &Option<crate::archive::manifest::StateWire>| state.as_ref().and_then(|state| state.gpu_c);
    let (before, after) = (temperature(&wire.before), temperature(&wire.after));
    let reading = |metric: &str, value: f64, field: &str| Reading {
        metric: metric.to_owned(),
        value,
        decimals: None,
        origin: file.origin(None, Some(field.to_owned()), RULE_RUN),
    };
    let mut readings = Vec::new();
    readings.extend(before.map(|value| reading("gpu_temp_start_c", value, "/before/gpu_c")));
    readings.extend(after.map(|value| reading("gpu_temp_end_c", value, "/after/gpu_c")));
    let either = |seen: Option<String>, asked: Option<String>| seen.or(asked);
    let (asked, seen) = (wire.asked, wire.seen);
    Ok(Piece {
        standing: Standing::Base,
        campaign: None,
        id: wire.id,
        environment: Some(wire.environment),
        model: Some(wire.model),
        workload: Some(wire.workload),
        repeat: wire.repeat,
        block: wire.block,
        position: wire.position,
        started,
        ended,
        status: wire.failure.map(Status::Failed).or_else(|| status(wire.exit_code)),
        readings,
        series: Vec::new(),
        telemetry: Vec::new(),
        setup: Setup {
            model_id: asked.model_id,
            model_served: seen.model_id,
            machine: either(seen.machine, asked.machine),
            engine: either(seen.engine, asked.engine),
            engine_version: either(seen.engine_version, asked.engine_version),
            quantisation: either(seen.quantisation, asked.quantisation),
            batch: seen.batch.or(asked.batch),
            isl: seen.isl.or(asked.isl),
            osl: seen.osl.or(asked.osl),
            requests: seen.requests.or(asked.requests),
            parameters: seen.parameters.or(asked.parameters),
            device_memory_gib: seen.device_memory_gib,
            model_memory_gib: seen.model_memory_gib,
            start_temp_c: before,
            end_temp_c: after,
            exit_code: wire.exit_code,
        },
    })
}

impl Format for Requests {
    fn name(&self) -> &'static str {
        "requests"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name == REQUESTS_FILE && (head.bytes == 0 || head.has_keys(&["sent_s", "status"]))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let mut parsed = Parsed::default();
        let mut window = Window::default();
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
                Ok(request) => window.add(&request),
                Err(cause) => parsed.left_out.push(at(Error::archive("a request is left out").because(cause))),
            }
        }
        if window.failed > 0 {
            let all = window.failed + window.answered;
            parsed.notes.push(format!("{} of {all} requests failed; they enter no latency", window.failed));
        }
        let piece = window.piece(file);
        parsed.records.push(Record::Piece(Box::new(piece)));
        Ok(parsed)
    }
}

/// What the measured requests of one run add up to.
#[derive(Default)]
struct Window {
    answered: usize,
    failed: usize,
    first_sent: Option<f64>,
    last_token: Option<f64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    uncounted: bool,
    ttft: Vec<f64>,
    tpot: Vec<f64>,
    e2e: Vec<f64>,
}

impl Window {
    fn add(&mut self, request: &RequestWire) {
        if request.warmup {
            return;
        }
        // A failed request took its share of the window: the clock starts with whatever was sent first.
        self.first_sent = least(self.first_sent, request.sent_s);
        if request.status != RequestWire::OK {
            self.failed += 1;
            return;
        }
        self.answered += 1;
        let (sent, first, last) = (request.sent_s, request.first_token_s, request.last_token_s());
        self.last_token = match (self.last_token, last) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        match request.output_tokens {
            Some(tokens) => self.output_tokens = Some(self.output_tokens.unwrap_or(0) + u64::from(tokens)),
            None => self.uncounted = true,
        }
        if let Some(tokens) = request.input_tokens {
            self.input_tokens = Some(self.input_tokens.unwrap_or(0) + u64::from(tokens));
        }
        let between =
            |from: Option<f64>, to: Option<f64>| from.zip(to).map_or(f64::NAN, |(from, to)| (to - from) * 1000.0);
        let (ttft, e2e) = (between(sent, first), between(sent, last));
        self.ttft.push(ttft);
        self.e2e.push(e2e);
        if let Some(tokens) = request.output_tokens.filter(|tokens| *tokens >= 2) {
            self.tpot.push((e2e - ttft) / (f64::from(tokens) - 1.0));
        }
    }

    fn piece(self, file: &SourceFile<'_>) -> Piece {
        let mut piece = Piece { standing: Standing::Detail, ..Piece::default() };
        if self.answered + self.failed == 0 {
            return piece;
        }
        piece.setup.requests = Some((self.answered + self.failed) as f64);
        if self.answered == 0 {
            piece.status = Some(Status::Failed(format!("all {} requests failed", self.failed)));
            return piece;
        }
        for (metric, values) in [("ttft_ms", self.ttft), ("tpot_ms", self.tpot), ("e2e_latency_ms", self.e2e)] {
            if !values.is_empty() {
                piece.series.push(Series {
                    metric: metric.into(),
                    values,
                    origin: file.origin(None, None, RULE_REQUESTS),
                });
            }
        }
        let seconds = self.first_sent.zip(self.last_token).map(|(first, last)| last - first).filter(|s| *s > 0.0);
        let tokens = self.output_tokens.filter(|_| !self.uncounted).map(|tokens| tokens as f64);
        let total = tokens.zip(self.input_tokens).map(|(output, input)| output + input as f64);
        for (metric, amount) in [
            ("request_throughput_req_s", Some(self.answered as f64)),
            ("output_throughput_tok_s", tokens),
            ("total_throughput_tok_s", total),
        ] {
            if let (Some(amount), Some(seconds)) = (amount, seconds) {
                piece.readings.push(Reading {
                    metric: metric.into(),
                    value: amount / seconds,
                    decimals: None,
                    origin: file.origin(None, None, RULE_REQUESTS),
                });
            }
        }
        piece
    }
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn missing(field: &str) -> Error {
    Error::archive("a field is missing").at(Place::Field(field.into())).detail("expected text, found nothing")
}

/// Reads one of our own files: the schema first, then every field, naming the JSON pointer of what does not fit.
fn from_json<T: DeserializeOwned>(text: &str, known: &str) -> Result<T, Error> {
    #[derive(serde::Deserialize)]
    struct Any {
        schema: Option<String>,
    }
    if let Ok(Any { schema: Some(found) }) = serde_json::from_str::<Any>(text)
        && found != known
    {
        return Err(unknown_schema(&found, &[known]));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|cause| {
        let pointer = pointer(cause.path());
        let cause = cause.into_inner();
        let line = cause.line() as u64;
        if cause.is_data() {
            Error::archive("a value is not what it should be").at(Place::LineField(line, pointer)).detail(words(&cause))
        } else {
            Error::archive("not valid JSON").at(Place::Line(line)).detail(words(&cause))
        }
    })?;
    reader
        .end()
        .map_err(|cause| Error::archive("not valid JSON").at(Place::Line(cause.line() as u64)).detail(words(&cause)))?;
    Ok(value)
}

/// What `serde_json` says, without the line, which stands in front already.
fn words(cause: &serde_json::Error) -> String {
    let text = cause.to_string();
    let said = text.split(" at line ").next().unwrap_or(&text);
    format!("column {}: {said}", cause.column())
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => format!("/{variant}"),
            Segment::Unknown => "/?".to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(text: &str) -> (Piece, Parsed) {
        let mut input = text.as_bytes();
        let mut parsed =
            Requests.parse(&mut SourceFile::new("runs/a/requests.jsonl", text.len() as u64, &mut input)).unwrap();
        match parsed.records.pop() {
            Some(Record::Piece(piece)) => (*piece, parsed),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn latencies_and_rates_are_those_computed_by_hand() {
        let (piece, parsed) = requests(concat!(
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
            piece.series.iter().map(|s| (s.metric.as_str(), s.values.as_slice())).collect();
        assert_eq!(series["ttft_ms"], [500.0, 2000.0]);
        assert_eq!(series["e2e_latency_ms"], [2000.0, 2000.0]);
        assert_eq!(series["tpot_ms"], [750.0], "one token has no time per further token");
        let rates: BTreeMap<&str, f64> = piece.readings.iter().map(|r| (r.metric.as_str(), r.value)).collect();
        assert_eq!(
            (rates["request_throughput_req_s"], rates["output_throughput_tok_s"], rates["total_throughput_tok_s"]),
            (0.5, 1.0, 4.5)
        );
        assert_eq!((piece.setup.requests, parsed.notes.len()), (Some(3.0), 1));
    }

    #[test]
    fn requests_that_all_failed_measure_nothing_and_fail_the_run() {
        let (piece, _) = requests("{\"sent_s\":0,\"status\":\"refused\"}\n");
        assert_eq!(piece.status, Some(Status::Failed("all 1 requests failed".into())));
        assert!(piece.readings.is_empty() && piece.series.is_empty());
        let (none, _) = requests("");
        assert_eq!((none.status, none.series.len()), (None, 0));
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_count() {
        let (piece, parsed) = requests("{\"sent_s\":0,\"status\":\"ok\",\"first_token_s\":1}\n{\"sent_s\":\n");
        assert_eq!(piece.series[0].values, [1000.0]);
        assert!(parsed.left_out[0].to_string().contains("line 2"), "{}", parsed.left_out[0]);
    }

    #[test]
    fn a_wrong_type_is_named_by_pointer_and_another_schema_by_name() {
        let read = |text: &str| from_json::<RunWire>(text, RUN_SCHEMA).unwrap_err().to_string();
        let wrong = read("{\"schema\":\"sparkbench.run/1\",\"before\":{\"gpu_c\":\"warm\"}}");
        assert!(wrong.contains("field '/before/gpu_c'") && wrong.contains("\"warm\""), "{wrong}");
        assert!(read("{\"schema\":\"sparkbench.run/2\"}").contains("found \"sparkbench.run/2\""));
        assert!(read("{\"schema\":\"sparkbench.run/1\"").contains("not valid JSON\n  where: line 1"));
    }
}
