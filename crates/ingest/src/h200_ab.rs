//! Results of our own engine-free workload, `"schema": "h200-ab/1"`: several tests of one process in one file.
//!
//! In:  the object.  Out: one partial run for each test. They share one launch.
//! Not here: means. Each iteration's latency and time to first token stay a series.
//!
//! An iteration is one batch, so its latency is that of every sequence in it. Time per output token is (end-to-end - TTFT) / (OSL - 1), one
//! value for each iteration. It is absent when OSL < 2.

use super::at::At;
use super::json;
use super::schema::check_schema;
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Instant, Series, Setup};
use sparkbench_text::error::{Error, Place};

/// See the module.
pub(super) struct H200Ab;

const SCHEMA: &str = "h200-ab/1";
const RULE: &str = "h200-ab.test";
const RULE_TPOT: &str = "h200-ab.tpot";

impl Format for H200Ab {
    fn name(&self) -> &'static str {
        "h200-ab result"
    }

    fn about(&self) -> About {
        About {
            tool: "the script of the H200 run",
            versions: "2026",
            sign: "an object with the keys of that script",
            reads: "iterations of each test, memory, settings",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_object() && head.text.contains("\"h200-ab/")
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        check_schema(&root, &[SCHEMA])?;
        let mut parsed = Parsed::default();
        for (name, test) in root.need("tests")?.entries()? {
            match run(file, &root, name, &test) {
                Ok(partial) => parsed.records.push(Record::Run(Box::new(partial))),
                Err(error) => parsed.left_out.push(error),
            }
        }
        Ok(parsed)
    }
}

fn run(file: &SourceFile<'_>, root: &At<'_>, name: &str, test: &At<'_>) -> Result<PartialRun, Error> {
    let text = |key: &str| -> Result<Option<String>, Error> {
        root.get(key).map_or(Ok(None), |at| Ok(at.text()?.map(str::to_owned)))
    };
    let figure = |of: &At<'_>, key: &str| -> Result<Option<f64>, Error> {
        of.get(key).map_or(Ok(None), |at| Ok(at.figure()?.finite()))
    };
    let moment =
        |key: &str| -> Result<Option<Instant>, Error> { Ok(figure(root, key)?.and_then(Instant::from_unix_seconds)) };
    let (batch, osl) = (figure(test, "batch")?, figure(test, "osl")?);
    let iterations = figure(root, "measure")?;

    let mut readings = Vec::new();
    for metric in ["output_throughput_tok_s", "peak_memory_gib", "kv_cache_gib"] {
        if let Some(at) = test.get(metric) {
            readings.push(file.reading(metric, &at, RULE)?);
        }
    }
    for metric in ["model_memory_gib", "model_load_s"] {
        if let Some(at) = root.get(metric) {
            readings.push(file.reading(metric, &at, RULE)?);
        }
    }
    let mut series = Vec::new();
    for (theirs, ours) in [("latency_ms", "e2e_latency_ms"), ("ttft_ms", "ttft_ms")] {
        if let Some(at) = test.get(theirs) {
            let values = at.items()?.map(|item| Ok(item.figure()?.value)).collect::<Result<Vec<f64>, Error>>()?;
            let origin = file.origin(Some(at.node.line.into()), Some(at.pointer()), RULE);
            series.push(Series { metric: ours.to_owned(), values, origin });
        }
    }
    if let ([whole, first], Some(tokens)) = (series.as_slice(), osl.filter(|tokens| *tokens >= 2.0)) {
        if whole.values.len() != first.values.len() {
            return Err(Error::archive("two lists differ in length")
                .at(Place::Field(format!("{}/ttft_ms", test.pointer())))
                .detail(format!(
                    "expected {} values as in latency_ms, found {}",
                    whole.values.len(),
                    first.values.len()
                )));
        }
        let values = whole.values.iter().zip(&first.values).map(|(e2e, ttft)| (e2e - ttft) / (tokens - 1.0)).collect();
        let origin = file.origin(Some(test.node.line.into()), Some(test.pointer()), RULE_TPOT);
        series.push(Series { metric: "tpot_ms".to_owned(), values, origin });
    }
    Ok(PartialRun {
        join_role: JoinRole::Body,
        environment: text("environment")?,
        workload: Some(name.to_owned()),
        repeat: root.get("iteration").map_or(Ok(None), |at| at.count())?,
        started: moment("started_unix")?,
        ended: moment("ended_unix")?,
        readings,
        series,
        setup: Setup {
            model_served: text("model")?,
            machine: text("gpu")?,
            engine: text("torch")?.map(|_| "PyTorch".to_owned()),
            engine_version: text("torch")?,
            quantisation: text("dtype")?,
            batch,
            isl: figure(test, "isl")?,
            osl,
            requests: iterations.zip(batch).map(|(iterations, batch)| iterations * batch),
            parameters: figure(root, "parameters")?,
            device_memory_gib: figure(root, "total_gib")?,
            model_memory_gib: figure(root, "model_memory_gib")?,
            ..Setup::default()
        },
        ..PartialRun::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_per_output_token_follows_from_the_other_two_by_hand() {
        let text = r#"{"schema":"h200-ab/1","measure":2,"tests":{"T1":{"batch":1,"isl":8,"osl":5,
            "latency_ms":[50.0,90.0],"ttft_ms":[10.0,10.0]},"T0":{"osl":1,"latency_ms":[5],"ttft_ms":[5]},
            "bad":{"osl":5,"latency_ms":[5,6],"ttft_ms":[5]}}}"#;
        let mut input = text.as_bytes();
        let parsed = H200Ab.parse(&mut SourceFile::new("x.json", text.len() as u64, &mut input)).unwrap();
        let [Record::Run(t1), Record::Run(t0)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        assert_eq!(t1.series[2].values, [10.0, 20.0]);
        assert_eq!((t1.setup.requests, t0.series.len()), (Some(2.0), 2));
        assert!(parsed.left_out[0].to_string().contains("/tests/bad/ttft_ms"), "{}", parsed.left_out[0]);
    }
}
