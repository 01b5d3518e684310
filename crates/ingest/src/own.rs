//! The archive layout of this program: `campaign.json` and `runs/<id>/run.json`.
//!
//! In:  the files of [`manifest`](sparkbench_archive::manifest).  Out: a campaign, one partial run for each run.
//! Not here: `requests.jsonl` (see `requests`), `telemetry.csv` (see `telemetry`), raw reports of other tools.

use super::figure::Figure;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::custom::faults;
use super::flat::status;
use super::schema::unknown_schema;
use super::{About, Format, Head, JoinRole, Parsed, PartialRun, Record, SourceFile};
use sparkbench_archive::manifest::{
    CAMPAIGN_FILE, CAMPAIGN_SCHEMA, CampaignWire, HypothesisWire, NodeWire, PlannedRun, RUN_SCHEMAS, RunWire, StateWire,
};
use sparkbench_model::{
    Campaign, Course, Extra, Hypothesis, Instant, Metric, MissingRun, Node, SequentialDesign, Setup, Status,
    known_extra,
};
use sparkbench_text::error::{Error, Place};

/// `campaign.json`.
pub(super) struct CampaignFile;
/// `run.json`.
pub(super) struct RunFile;

const RULE_RUN: &str = "sparkbench.run";

impl Format for CampaignFile {
    fn name(&self) -> &'static str {
        "campaign"
    }

    fn about(&self) -> About {
        About {
            tool: "sparkbench collect",
            versions: "sparkbench.campaign/1",
            sign: "`campaign.json` with that schema",
            reads: "name, question, plan, margins, environments, models",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.name == CAMPAIGN_FILE || (head.is_object() && head.text.contains("\"sparkbench.campaign/"))
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let wire: CampaignWire = from_json(&text, &[CAMPAIGN_SCHEMA])?;
        if wire.name.is_empty() {
            return Err(missing("/name"));
        }
        let mut parsed = Parsed::default();
        for (field, names) in [("/primary", &wire.primary), ("/planned_metrics", &wire.planned_metrics)] {
            if let Some(name) =
                names.iter().find(|name| !wire.metrics.contains_key(*name) && Metric::of_catalogue(name).is_none())
            {
                return Err(Error::archive("a metric is not known")
                    .at(Place::Field(field.into()))
                    .detail(format!("found \"{name}\"")));
            }
        }
        if let Some(fault) = wire.design.as_ref().and_then(SequentialDesign::fault) {
            return Err(Error::archive("the design is not valid").at(Place::Field("/design".into())).detail(fault));
        }
        faults(&wire.metrics)?;
        parsed.records.push(Record::Campaign(Box::new(campaign(wire))));
        Ok(parsed)
    }
}

fn campaign(wire: CampaignWire) -> Campaign {
    let mut cells: BTreeMap<(&str, &str, &str), u32> = BTreeMap::new();
    for run in &wire.plan {
        *cells.entry((&run.environment, &run.model, &run.workload)).or_default() += 1;
    }
    // Cells planned unequally have no one number. The run-count check then has nothing to hold against.
    let least = cells.values().min().copied();
    let planned_repeats = least.filter(|count| cells.values().all(|other| other == count));
    let mut margins_pct = wire.margins_pct;
    for expected in &wire.hypotheses {
        if let (Some(metric), Some(margin)) = (&expected.metric, expected.margin_pct) {
            margins_pct.entry(metric.clone()).or_insert(margin);
        }
    }
    Campaign {
        name: wire.name,
        title: wire.title,
        question: wire.question,
        prose: wire.prose,
        study: None,
        machine: wire.machine,
        compare_by: None,
        declared: true,
        factors: Vec::new(),
        asked: None,
        baseline: wire.baseline,
        truth: wire.truth,
        primary: wire.primary,
        margins_pct,
        hypotheses: wire.hypotheses.into_iter().map(hypothesis).collect(),
        design: wire.design,
        planned_repeats,
        cooldown_s: wire.cooldown_s,
        start_temp_limit_c: wire.start_temp_limit_c,
        models: wire.models,
        planned_metrics: wire.planned_metrics,
        metrics: wire.metrics,
        stated: Vec::new(),
        published: Vec::new(),
        planned_runs: 0,
        missing_runs: wire.plan.into_iter().map(planned).collect(),
        losses: Vec::new(),
        links: wire.links,
        provenance: wire.provenance,
        archive_sha256: String::new(),
        recorded_files: 0,
        altered: Vec::new(),
        facts_files: 0,
        fact_conflicts: Vec::new(),
    }
}

/// As the analysis holds it. A margin that it fixes is one of the campaign's.
fn hypothesis(wire: HypothesisWire) -> Hypothesis {
    let HypothesisWire { claim, metric, baseline, candidate, expect, margin_pct } = wire;
    Hypothesis { claim, metric, baseline, candidate, expect, margin_pct }
}

/// A planned run before anything is known of it.
fn planned(run: PlannedRun) -> MissingRun {
    MissingRun {
        id: run.id,
        environment: run.environment,
        model: run.model,
        workload: run.workload,
        repeat: run.repeat,
        position: run.position,
        ..MissingRun::default()
    }
}

impl Format for RunFile {
    fn name(&self) -> &'static str {
        "run"
    }

    fn about(&self) -> About {
        About {
            tool: "sparkbench collect",
            versions: "sparkbench.run/1 and 2",
            sign: "`run.json` with that schema",
            reads: "labels, times, temperatures, exit status, what was asked against what ran",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.is_object() && head.text.contains("\"sparkbench.run/")
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let wire: RunWire = from_json(&text, RUN_SCHEMAS)?;
        let partial = run(file, wire)?;
        Ok(Parsed { records: vec![Record::Run(Box::new(partial))], ..Parsed::default() })
    }
}

fn run(file: &SourceFile<'_>, wire: RunWire) -> Result<PartialRun, Error> {
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
    // The window counts on the monotonic clock. The start is on both clocks.
    let measured = wire.window.zip(started).zip(wire.started_monotonic_s).and_then(|((window, started), zero)| {
        let at = |seconds: f64| Instant::from_unix_seconds(started.0 as f64 / 1000.0 + seconds - zero);
        at(window.from_s).zip(at(window.to_s)).filter(|(from, to)| from < to)
    });
    let temperature =
        |state: &Option<sparkbench_archive::manifest::StateWire>| state.as_ref().and_then(|state| state.gpu_c);
    let (before, after) = (temperature(&wire.before), temperature(&wire.after));
    let reading = |metric: &str, value: f64, field: &str| {
        Figure::computed(value).reading(metric, file.origin(None, Some(field.to_owned()), RULE_RUN))
    };
    let mut readings = Vec::new();
    readings.extend(before.map(|value| reading("gpu_temp_start_c", value, "/before/gpu_c")));
    readings.extend(after.map(|value| reading("gpu_temp_end_c", value, "/after/gpu_c")));
    let extras = [("before", &wire.before), ("after", &wire.after)].into_iter().flat_map(|(when, state)| {
        let figures = state.iter().flat_map(figures).map(move |(name, value)| (when, name, value));
        figures.filter_map(|(when, name, value)| Some((when, name, value?)))
    });
    let mut extras: Vec<Extra> = extras
        .map(|(when, (name, unit), value)| {
            let origin = file.origin(None, Some(format!("/{when}/{name}")), RULE_RUN);
            Extra::number(format!("{name}_{when}"), unit, value, None, origin)
        })
        .collect();
    extras.extend(wire.process.and_then(|process| process.user_s.zip(process.system_s)).map(|(user, system)| {
        let origin = file.origin(None, Some("/process".to_owned()), RULE_RUN);
        Extra::number(known_extra::PROCESSOR_S, "s", user + system, None, origin)
    }));
    let either = |seen: Option<String>, asked: Option<String>| seen.or(asked);
    let (asked, seen) = (wire.asked, wire.seen);
    Ok(PartialRun {
        join_role: JoinRole::Base,
        campaign: None,
        id: wire.id,
        environment: Some(wire.environment),
        model: Some(wire.model),
        workload: Some(wire.workload),
        part: None,
        repeat: wire.repeat,
        block: wire.block,
        position: wire.position,
        launch: wire.launch,
        started,
        ended,
        measured,
        status: wire.failure.map(Status::Failed).or_else(|| status(wire.exit_code)),
        readings,
        extras,
        course: Course { gates: wire.gates, watched: wire.watched, nodes: nodes(wire.nodes), ..Course::default() },
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
            ..Setup::default()
        },
        ..PartialRun::default()
    })
}

/// Further machines, by rank.
fn nodes(wires: BTreeMap<String, NodeWire>) -> Vec<Node> {
    let of = |(name, wire): (String, NodeWire)| Node {
        name,
        rank: wire.rank,
        command: wire.command,
        failure: wire.failure,
        gates: wire.gates,
        watched: wire.watched,
        clock_before: wire.clock_before,
        clock_after: wire.clock_after,
        telemetry: Vec::new(),
    };
    let mut nodes: Vec<Node> = wires.into_iter().map(of).collect();
    nodes.sort_by_key(|node| node.rank);
    nodes
}

/// The figures of a state, in the order of [`known_extra::STATE`].
fn figures(state: &StateWire) -> impl Iterator<Item = (&'static (&'static str, &'static str), Option<f64>)> + use<> {
    let values = [
        state.memory_free_gib,
        state.memory_available_gib,
        state.page_cache_gib,
        state.swap_used_gib,
        state.gpu_memory_used_gib,
        state.load_1m,
    ];
    known_extra::STATE.iter().zip(values)
}

fn missing(field: &str) -> Error {
    Error::archive("a field is missing").at(Place::Field(field.into())).detail("expected text, found nothing")
}

/// Reads one of our own files: the schema first, then every field, naming the JSON pointer of what does not fit.
fn from_json<T: DeserializeOwned>(text: &str, known: &[&str]) -> Result<T, Error> {
    #[derive(serde::Deserialize)]
    struct Any {
        schema: Option<String>,
    }
    if let Ok(Any { schema: Some(found) }) = serde_json::from_str::<Any>(text)
        && !known.contains(&found.as_str())
    {
        return Err(unknown_schema(&found, known));
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

/// The message of `serde_json` without the line, which the text before it already has.
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

    #[test]
    fn the_window_of_a_load_is_carried_from_the_monotonic_clock_to_the_date() {
        let text = r#"{"schema":"sparkbench.run/1","environment":"a","model":"m","workload":"w","started_utc":"2026-01-01T00:00:00Z",
            "started_monotonic_s":100.0,"window":{"from_s":110.5,"to_s":130.0}}"#;
        let mut input = text.as_bytes();
        let parsed = RunFile.parse(&mut SourceFile::new("run.json", text.len() as u64, &mut input)).unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let (from, to) = partial.measured.unwrap();
        assert_eq!((from.iso().as_str(), to.iso().as_str()), ("2026-01-01T00:00:10.500Z", "2026-01-01T00:00:30Z"));
    }

    #[test]
    fn a_run_of_either_schema_is_read_whatever_its_files_are_called() {
        for (schema, path) in [
            ("sparkbench.run/1", "\"a\""),
            ("sparkbench.run/2", "\"a\""),
            ("sparkbench.run/2", "{\"name_bytes\":\"/w==\"}"),
        ] {
            let text = format!("{{\"schema\":\"{schema}\",\"files\":[{{\"path\":{path},\"sha256\":\"\"}}]}}");
            let run: RunWire = from_json(&text, RUN_SCHEMAS).unwrap();
            assert_eq!(run.files.len(), 1, "{text}");
        }
    }

    #[test]
    fn a_wrong_type_is_named_by_pointer_and_another_schema_by_name() {
        let read = |text: &str| from_json::<RunWire>(text, RUN_SCHEMAS).unwrap_err().to_string();
        let wrong = read("{\"schema\":\"sparkbench.run/1\",\"before\":{\"gpu_c\":\"warm\"}}");
        assert!(wrong.contains("field '/before/gpu_c'") && wrong.contains("\"warm\""), "{wrong}");
        assert!(read("{\"schema\":\"sparkbench.run/3\"}").contains("found \"sparkbench.run/3\""));
        assert!(read("{\"schema\":\"sparkbench.run/1\"").contains("not valid JSON\n  where: line 1"));
    }
}
