//! `sparkbench.result/1`: the figures of one program in one JSON object, for anyone who writes a program.
//!
//! In:  the object.  Out: one partial run, or one for each test.
//! Not here: figures of iterations that come one by one (see `iterations`).
//!
//! ```json
//! {"schema": "sparkbench.result/1",
//!  "metrics": {"gemm_tflops": 91.6, "memory_bandwidth_gb_s": null},
//!  "iterations": [{"name": "multiply", "metric": "e2e_latency_ms", "unit": "ms", "values": [1.2, 1.3]}],
//!  "seen": {"model_id": "org/model", "engine": "PyTorch", "requests": 10},
//!  "notes": ["the first product is not counted"],
//!  "tests": {"T1": {"metrics": {}, "iterations": [], "seen": {}}}}
//! ```
//!
//! Every key but `schema` may be absent. Unknown keys are not read. A metric that is `null` was promised and not obtained. An entry of
//! `iterations` with a `metric` is a series of the run. One without is not a figure of the run. It is counted and checked for outliers when
//! the run is checked.

use super::parser::Parser;
use super::seen;
use crate::at::At;
use crate::schema::check_schema;
use crate::{About, Format, Head, JoinRole, List, Parsed, PartialRun, Record, SourceFile, json};
use sparkbench_archive::manifest::ReportWire;
use sparkbench_model::{Metric, Series, Setup};
use sparkbench_text::error::{Error, Place};

/// Schema of the object.
pub const RESULT_SCHEMA: &str = "sparkbench.result/1";

/// See the module.
pub struct ResultFile;

const RULE: &str = "sparkbench.result";

impl Parser for ResultFile {
    fn name(&self) -> &'static str {
        "result-json"
    }

    fn parse(&self, file: &mut SourceFile<'_>, _: &ReportWire) -> Result<Parsed, Error> {
        read(file)
    }
}

impl Format for ResultFile {
    fn name(&self) -> &'static str {
        "result"
    }

    fn about(&self) -> About {
        About {
            tool: "a program of your own",
            versions: "sparkbench.result/1",
            sign: "an object with that schema",
            reads: "metrics by their contract names, per-request lists",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_object() && head.text.contains("\"sparkbench.result/")
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        read(file)
    }
}

fn read(file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
    let text = file.text()?;
    let node = json::parse(&text)?;
    let root = At::root(&node);
    check_schema(&root, &[RESULT_SCHEMA])?;
    let mut parsed = Parsed::default();
    let common = root.get("seen").map_or_else(|| Ok(Setup::default()), |at| seen::setup(&at))?;
    if let Some(notes) = root.get("notes") {
        for note in notes.items()? {
            parsed.notes.extend(note.text()?.map(crate::figure::excerpt));
        }
    }
    let mut tests = Vec::new();
    if let Some(list) = root.get("tests") {
        for (name, test) in list.entries()? {
            let mut partial =
                PartialRun { join_role: JoinRole::Body, part: Some(name.to_owned()), ..PartialRun::default() };
            match test.get("seen").map_or_else(|| Ok(Setup::default()), |at| seen::setup(&at)) {
                Ok(own) => partial.setup = own,
                Err(error) => parsed.left_out.push(error),
            }
            seen::fill(&mut partial.setup, &common);
            figures(file, &test, &mut partial, &mut parsed);
            tests.push(partial);
        }
    }
    // Figures of the whole launch stand for every test of it. Without tests they are the run.
    let join_role = if tests.is_empty() { JoinRole::Trace } else { JoinRole::Detail };
    let mut whole = PartialRun { join_role, setup: common, ..PartialRun::default() };
    figures(file, &root, &mut whole, &mut parsed);
    parsed.records.extend(tests.into_iter().chain([whole]).map(|partial| Record::Run(Box::new(partial))));
    Ok(parsed)
}

/// Takes `metrics` and `iterations` of an object. What does not fit is left out and named.
fn figures(file: &SourceFile<'_>, at: &At<'_>, partial: &mut PartialRun, parsed: &mut Parsed) {
    if let Some(metrics) = at.get("metrics") {
        match metrics.entries() {
            Ok(entries) => {
                for (name, value) in entries {
                    let reading = known(name, &value).and_then(|_| file.reading(name, &value, RULE));
                    match reading {
                        Ok(reading) => partial.readings.push(reading),
                        Err(error) => parsed.left_out.push(error),
                    }
                }
            }
            Err(error) => parsed.left_out.push(error),
        }
    }
    if let Some(list) = at.get("iterations") {
        match list.items() {
            Ok(items) => {
                for item in items {
                    match series(file, &item) {
                        Ok(Values::Series(series)) => partial.series.push(series),
                        Ok(Values::List(name, values)) => {
                            parsed.lists.push(List { part: partial.part.clone(), name, values });
                        }
                        Err(error) => parsed.left_out.push(error),
                    }
                }
            }
            Err(error) => parsed.left_out.push(error),
        }
    }
}

/// The metric of a name, or an error that says where it is.
fn known(name: &str, at: &At<'_>) -> Result<Metric, Error> {
    Metric::of_catalogue(name).ok_or_else(|| {
        Error::archive("a metric is not known")
            .at(Place::Field(at.pointer()))
            .detail(format!("found \"{}\"", crate::figure::excerpt(name)))
            .hint("the method page lists the names")
    })
}

/// Values of iterations: of a metric of ours, or under a name of the program's own.
enum Values {
    Series(Series),
    List(String, Vec<f64>),
}

fn series(file: &SourceFile<'_>, item: &At<'_>) -> Result<Values, Error> {
    let values = item.need("values")?;
    let list = values.items()?.map(|value| Ok(value.figure()?.value)).collect::<Result<Vec<f64>, Error>>()?;
    let own = || -> Result<Values, Error> {
        let name = item.get("name").map_or(Ok(None), |at| at.text())?;
        Ok(Values::List(name.unwrap_or("iterations").to_owned(), list.clone()))
    };
    let Some(name) = item.get("metric") else { return own() };
    let Some(metric) = name.text()? else { return own() };
    let entry = known(metric, &name)?;
    if entry.base() != metric {
        return Err(Error::archive("a series has the name of one statistic")
            .at(Place::Field(name.pointer()))
            .detail(format!("expected \"{}\", found \"{metric}\"", entry.base())));
    }
    if let Some(at) = item.get("unit")
        && let Some(unit) = at.text()?
        && unit != entry.unit
    {
        return Err(Error::archive("a unit is not that of the metric").at(Place::Field(at.pointer())).detail(format!(
            "expected \"{}\", found \"{}\"",
            entry.unit,
            crate::figure::excerpt(unit)
        )));
    }
    let origin = file.origin(Some(values.node.line.into()), Some(values.pointer()), RULE);
    Ok(Values::Series(Series { metric: metric.to_owned(), values: list, origin }))
}
