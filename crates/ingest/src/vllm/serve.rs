//! Results of `vllm bench serve`, and of `benchmark_serving.py` before it.
//!
//! In:  one flat object, several appended ones, the list of a sweep, or its table (`summary.csv`).  Out: one partial run for each run.
//! Not here: the lists of `--save-detailed` (see `detail`), the console (see `log`), the aggregate of InferenceX, which renames the keys.
//!
//! Seen: early 2025 (`best_of`, latency statistics only) to 0.33 (`failed`, `rtfx`, speculative decoding, queue times, probes). Which
//! percentiles and which of TTFT, TPOT, ITL and E2E latency exist was chosen on the command line. `--metadata` adds keys of anybody's
//! choice, and sweeps add the parameters they vary. Their texts are settings. Their numbers are figures unless the name is that of a
//! setting. `date` is the end of the run: the local time, without a zone, at which the result was written. The compiled client that 0.33
//! carries (`VLLM_USE_RUST_BENCH`) writes it in UTC with a zone. It also writes its own `steady_state` and conversations
//! (`mode: multi_turn`).

use std::collections::BTreeMap;

use super::{detail, table};
use crate::at::At;
use crate::figure::Figure;
use crate::json::{self, Kind};
use crate::serving::figures::Figures;
use crate::serving::{self, Load, settings, warm_up};
use crate::sheet::{last_part, model_id};
use crate::{About, Format, Head, JoinRole, List, Outline, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Instant, Setup};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct Serve;

/// Slug of the tool.
pub(crate) const TOOL: &str = "vllm-bench-serve";
const RULE: &str = "vllm-bench-serve";

/// Nested figures that are followed of one key: acceptance by position, changes of the rate.
const NESTED: usize = 64;

/// Longer durations are rejected as corrupt.
const LONGEST_S: f64 = 3.2e8;

/// Keys that no other serving benchmark writes beside `model_id`.
const FOREIGN: &[&str] =
    &["mean_e2e_latency_ms", "total_output_tokens_retokenized", "server_info", "median_ttft", "p99_ttft", "benchmarks"];

/// Keys whose values would be the texts of people, or that say nothing.
const PASSED_OVER: &[&str] = &[
    "generated_texts",
    "errors",
    "failed_requests",
    // Audio alone has it. Everything else prints 0.0.
    "rtfx",
    // A list of its own, see `steps`.
    "rps_change_events",
];

impl Format for Serve {
    fn name(&self) -> &'static str {
        "vllm-bench-serve"
    }

    fn about(&self) -> About {
        About {
            tool: "vllm bench serve, benchmark_serving.py",
            versions: "early 2025 (latency statistics only) to 0.33, and its compiled client: one object, objects appended to each other, list and table of a sweep",
            sign: "an object with `model_id` and the load or the statistics of this tool",
            reads: "throughput, TTFT, TPOT, ITL, E2E latency, their lists where saved, tokens, load, speculative decoding, metadata",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.outline().map_or_else(|| table::is_ours(&head.header()), is_ours)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let mut parsed = Parsed::default();
        let mut partials: Vec<PartialRun> = Vec::new();
        let mut documents = 0;
        if !text.trim_start().starts_with(['{', '[']) {
            table::each(&text, &mut parsed, |node, parsed| partials.extend(partial(file, &At::root(node), parsed)));
            return finish(partials, parsed, 0);
        }
        for node in json::documents(&text, detail::TIMES) {
            documents += 1;
            let node = match node {
                Ok(node) => node,
                Err(error) => {
                    parsed.left_out.push(error);
                    continue;
                }
            };
            let root = At::root(&node);
            match &node.kind {
                Kind::List(_) => partials.extend(root.items()?.filter_map(|at| partial(file, &at, &mut parsed))),
                _ => partials.extend(partial(file, &root, &mut parsed)),
            }
        }
        finish(partials, parsed, documents)
    }
}

/// One result is the base of a run. Several are runs of their own.
fn finish(mut partials: Vec<PartialRun>, mut parsed: Parsed, documents: usize) -> Result<Parsed, Error> {
    if partials.is_empty() && parsed.left_out.is_empty() && !parsed.notes.is_empty() {
        // A warm-up was understood, and gives no run.
        return Ok(parsed);
    }
    if partials.is_empty() {
        // One document that is cut off is a bad file. Nothing else can be said of it.
        let cause = (documents == 1).then(|| parsed.left_out.pop()).flatten();
        return Err(cause.unwrap_or_else(|| Error::archive("it holds no result")));
    }
    copies(&mut partials, &mut parsed);
    let several = partials.len() > 1;
    for (place, partial) in (1..).zip(partials) {
        let (join_role, position) =
            if several { (JoinRole::Alone, Some(place)) } else { (JoinRole::Base, partial.position) };
        parsed.records.push(Record::Run(Box::new(PartialRun { join_role, position, ..partial })));
    }
    Ok(parsed)
}

fn is_ours(outline: &Outline<'_>) -> bool {
    let statistic = |key: &&str| {
        ["_ttft_ms", "_tpot_ms", "_itl_ms", "_e2el_ms"].iter().any(|end| key.ends_with(end))
            && !key.starts_with("probe")
    };
    outline.has(&["model_id"])
        && FOREIGN.iter().all(|key| outline.get(key).is_none())
        && (outline.has(&["num_prompts", "request_rate"])
            || outline.has(&["request_throughput", "completed"])
            || outline.keys().iter().any(statistic))
}

/// The mark of a run by its times: they are in the files and the consoles of every version.
pub(crate) fn mark_of(figures: &Figures) -> Option<String> {
    serving::mark(
        TOOL,
        &figures.marks(&[
            "mean_ttft_ms",
            "median_ttft_ms",
            "mean_tpot_ms",
            "median_tpot_ms",
            "mean_itl_ms",
            "mean_e2el_ms",
            "median_e2el_ms",
        ]),
    )
}

/// Drops a result that the file holds twice.
fn copies(partials: &mut Vec<PartialRun>, parsed: &mut Parsed) {
    let all = partials.len();
    let mut kept: BTreeMap<String, Vec<PartialRun>> = BTreeMap::new();
    partials.retain(|partial| {
        let Some(mark) = &partial.fingerprint else { return true };
        let known = kept.entry(mark.clone()).or_default();
        let is_new = !known.iter().any(|other| partial.repeats(other));
        // What tells two of them apart, and no lists of requests.
        let PartialRun { fingerprint, started, setup, readings, .. } = partial.clone();
        known.push(PartialRun { fingerprint, started, setup, readings, ..PartialRun::default() });
        is_new
    });
    if partials.len() < all {
        parsed.notes.push(format!("{} of {all} results stand in it twice. Each is counted once", all - partials.len()));
    }
}

/// Values from the keys of one result so far.
struct Found {
    partial: PartialRun,
    figures: Figures,
    load: Option<String>,
    date: Option<Instant>,
    /// The date names its zone.
    zoned: bool,
    private: usize,
    /// One of the runs that a sweep makes before those that count.
    warm_up: bool,
}

fn partial(file: &SourceFile<'_>, root: &At<'_>, parsed: &mut Parsed) -> Option<PartialRun> {
    let entries = match root.entries() {
        Ok(entries) => entries,
        Err(error) => {
            parsed.left_out.push(error);
            return None;
        }
    };
    if let Some(note) = warm_up::note(root) {
        if !parsed.notes.contains(&note) {
            parsed.notes.push(note);
        }
        return None;
    }
    let setup = Setup { tool: Some(TOOL.to_owned()), ..Setup::default() };
    let mut found = Found {
        partial: PartialRun { setup, ..PartialRun::default() },
        figures: Figures::default(),
        load: None,
        date: None,
        zoned: false,
        private: 0,
        warm_up: false,
    };
    for (key, at) in entries {
        if PASSED_OVER.contains(&key) && !(key == "rtfx" && at.figure().is_ok_and(|rtfx| rtfx.value > 0.0))
            || detail::lists().any(|list| list == key)
        {
            continue;
        }
        if let Err(error) = found.key(file, key, &at) {
            parsed.left_out.push(error);
        }
    }
    let Found { mut partial, figures, load, date, zoned, private, warm_up } = found;
    if warm_up {
        parsed.notes.push("a warm-up of a sweep is not counted".to_owned());
        return None;
    }
    conversations(&mut partial.setup, &figures);
    steps(root, parsed);
    if private > 0 {
        parsed.notes.push(format!("{private} texts are not taken: they may hold an address, a path or a key"));
    }
    let lengths = Load {
        dataset: load.as_deref(),
        completed: figures.get("completed"),
        input: figures.get("total_input_tokens"),
        output: figures.get("total_output_tokens"),
    };
    (partial.setup.isl, partial.setup.osl) = lengths.lengths();
    partial.workload = lengths.workload(&partial.setup);
    partial.ended = date;
    let lasted = figures.get("duration").filter(|seconds| (0.0..LONGEST_S).contains(seconds));
    let started = date.zip(lasted).map(|(end, seconds)| Instant(end.0 - (seconds * 1000.0).round() as i64));
    if zoned {
        partial.started = started;
    } else {
        partial.started_somewhere(started);
    }
    // Times that are all zero mark nothing. Of a run that failed its moment does.
    partial.fingerprint = match (figures.failure(), date) {
        (None, _) => mark_of(&figures),
        (Some(_), Some(date)) => Some(format!("{TOOL}|failed|{}|{:?}", date.iso(), figures.get("duration"))),
        (Some(_), None) => None,
    };
    match figures.failure() {
        None => {
            let failed = detail::read(file, root, &mut partial, parsed);
            let unfinished = partial.setup.requests.zip(figures.get("completed")).filter(|(all, done)| done < all);
            if let Some((all, done)) = unfinished.filter(|_| failed == 0) {
                let missing = all - done;
                parsed.notes.push(format!(
                    "{missing} of {all} requests are not among the completed. The rates count the others alone"
                ));
            }
        }
        Some(why) => parsed.notes.push(format!("{why}. Its zeros are no measurements")),
    }
    figures.give(&mut partial);
    Some(partial)
}

impl Found {
    fn key(&mut self, file: &SourceFile<'_>, key: &str, at: &At<'_>) -> Result<(), Error> {
        let setup = &mut self.partial.setup;
        match key {
            "date" => {
                let text = at.text()?;
                (self.date, self.zoned) = (text.and_then(moment), text.is_some_and(Instant::names_zone));
            }
            "model_id" | "model" => {
                if let Some(id) = at.text()?.and_then(model_id) {
                    self.partial.model = Some(last_part(&id).to_owned());
                    setup.model_id = Some(id);
                }
            }
            "tokenizer_id" => {
                let id = at.text()?.and_then(model_id).filter(|id| Some(id) != setup.model_id.as_ref());
                setup.more.extend(id.map(|id| (key.to_owned(), id)));
            }
            "num_prompts" => setup.requests = at.figure()?.finite(),
            "max_concurrency" | "multi_turn_concurrency" => setup.batch = at.figure()?.finite(),
            "mode" if at.text()? == Some("multi_turn") => self.load = Some("multi-turn".to_owned()),
            "request_rate" => setup.request_rate = Some(at.figure()?.value).filter(|rate| !rate.is_nan()),
            "run_number" => {
                // Counted from 0, and the k-th run of its cell. Below 0 are warm-ups.
                if at.figure()?.value < 0.0 {
                    self.warm_up = true;
                } else {
                    self.partial.repeat = at.count()?.and_then(|run| run.checked_add(1));
                }
            }
            "dataset" | "dataset_name" => self.load = at.text()?.map(str::to_owned),
            "environment" => self.partial.environment = at.text()?.map(str::to_owned),
            "backend" | "endpoint_type" => {
                if let Some(text) = at.text()? {
                    setup.engine = setup.engine.take().or_else(|| serving::engine_of(text).map(str::to_owned));
                    self.setting(key, text);
                }
            }
            _ => self.other(file, key, at, 0)?,
        }
        if key.starts_with("spec_decode_") && self.partial.setup.speculative.is_none() {
            self.partial.setup.speculative = Some("on".to_owned());
        }
        Ok(())
    }

    fn setting(&mut self, key: &str, text: &str) {
        self.private += usize::from(!settings::take(&mut self.partial.setup, key, text));
    }

    /// A key that the user chose.
    fn other(&mut self, file: &SourceFile<'_>, key: &str, at: &At<'_>, depth: usize) -> Result<(), Error> {
        match &at.node.kind {
            Kind::Null | Kind::Packed(_) => {}
            // A time that was measured, in words.
            Kind::Text(_) if key.ends_with(".warning") => {}
            Kind::Bool(value) => self.setting(key, &value.to_string()),
            Kind::Text(text) => self.setting(key, text),
            Kind::Number(digits) if settings::is_setting(key) => self.setting(key, digits),
            Kind::Number(digits) => {
                let figure = Figure::parse(digits).ok_or_else(|| at.unlike("a number"))?;
                self.figures.put(key, figure, file.origin(Some(at.node.line.into()), Some(at.pointer()), RULE));
            }
            Kind::List(items) if items.len() > NESTED => return Err(at.unlike("at most 64 values")),
            Kind::List(_) if family(key).is_some() => self.percentiles(file, key, at)?,
            Kind::List(_) | Kind::Map(_) if depth > 2 => {}
            Kind::List(items) => {
                for (place, item) in at.items()?.enumerate() {
                    if settings::behind_private(items, place) {
                        self.private += 1;
                        continue;
                    }
                    self.other(file, &format!("{key}.{place}"), &item, depth + 1)?;
                }
            }
            Kind::Map(_) => {
                for (name, item) in at.entries()?.take(NESTED) {
                    if settings::beside_private(at.node, name) {
                        self.private += 1;
                        continue;
                    }
                    self.other(file, &format!("{key}.{name}"), &item, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    /// Pairs of a percentile and its time, as `p99_ttft_ms` would have said it.
    fn percentiles(&mut self, file: &SourceFile<'_>, key: &str, at: &At<'_>) -> Result<(), Error> {
        let Some((before, name)) = family(key) else { return Ok(()) };
        for pair in at.items()? {
            let mut both = pair.items()?;
            let (Some(share), Some(time)) = (both.next(), both.next()) else { continue };
            let origin = file.origin(Some(time.node.line.into()), Some(time.pointer()), RULE);
            self.figures.put(format!("{before}p{}_{name}", share.figure()?.value), time.figure()?, origin);
        }
        Ok(())
    }
}

/// Text before and after `percentiles_` in the key of a list of pairs.
fn family(key: &str) -> Option<(&str, &str)> {
    key.rsplit_once("percentiles_")
        .filter(|(before, name)| (before.is_empty() || before.ends_with('.')) && name.ends_with("_ms"))
}

/// The local time of the Python client, `20260131-235959`, or a moment with its zone.
fn moment(text: &str) -> Option<Instant> {
    if text.ends_with('Z') { Instant::parse(text) } else { Instant::parse(&text.replace('-', "_")) }
}

/// The rates that a rising load went through. Their times are not a setting.
fn steps(root: &At<'_>, parsed: &mut Parsed) {
    let Some(events) = root.get("rps_change_events") else { return };
    let rate = |event: At<'_>| event.get("rps").and_then(|at| at.figure().ok()).map_or(f64::NAN, |figure| figure.value);
    let values: Vec<f64> = events.items().into_iter().flatten().map(rate).collect();
    if !values.is_empty() {
        parsed.lists.push(List { part: None, name: "rps_change_events".to_owned(), values });
    }
}

/// Turns of conversations are requests, and no key says how many.
fn conversations(setup: &mut Setup, figures: &Figures) {
    if setup.requests.is_none() && figures.get("conversations_completed").is_some() {
        setup.requests = figures.get("completed").map(|done| done + figures.get("failed").unwrap_or(0.0));
    }
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
