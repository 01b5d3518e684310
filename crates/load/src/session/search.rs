//! A search for the load beyond which more load brings no more throughput.
//!
//! In:  a [`Session`], [`Settings`], a [`Search`].  Out: [`Loaded`] for each point, and the result in a sentence.
//! Not here: which point is next (see `sweep`).

use std::path::Path;

use serde_json::{Value, json};

use super::passes::{RepeatedLoad, point};
use super::{Loaded, Session};
use crate::settings::{Settings, Shape};
use crate::suite::{bounded, filled};
use crate::summary::{IN_FLIGHT, figure};
use crate::sweep::{Limit, Search, SearchOutcome, SweepPoint};
use sparkbench_text::error::Error;

/// State of a search.
#[derive(Debug)]
pub struct Searched {
    /// Its points, in the order in which they were measured.
    pub loaded: Vec<Loaded>,
    /// Its result, in a sentence. Absent where it was stopped.
    pub found: Option<String>,
}

impl Session<'_> {
    /// Measures point after point. Without a count or time of its own each gets as many requests as suit its concurrency. A point that
    /// `kept` has by its name is taken from there.
    ///
    /// # Errors
    /// Like [`Session::load`].
    pub fn search(
        &self,
        search: &Search,
        settings: &Settings,
        folder: &Path,
        kept: &dyn Fn(&str) -> Option<Value>,
    ) -> Result<Searched, Error> {
        let (mut loaded, mut points) = (Vec::new(), Vec::new());
        let mut summaries: Vec<Value> = Vec::new();
        let mut raised = false;
        while let Some(value) = search.next(&points) {
            let (settings, more) = at(settings, value);
            raised |= more;
            let name = point(&settings.shape);
            if let Some(summary) = kept(&name) {
                points.push(seen(value, &summary));
                summaries.push(summary);
                continue;
            }
            let done = self.all(&[RepeatedLoad::once(name.clone(), settings)], &folder.join(&name), &|_| true)?;
            let Some(done) = done.into_iter().next() else { break };
            let summary = json!(done.summary);
            points.push(seen(value, &summary));
            summaries.push(summary);
            let stop = done.interrupted;
            loaded.push(Loaded { name, ..done });
            if stop {
                return Ok(Searched { loaded, found: None });
            }
        }
        let outcome = search.outcome(&points);
        let of = |value: f64| {
            let at = points.iter().position(|point: &SweepPoint| point.value == value)?;
            summaries.get(at)
        };
        let ended = outcome.limit.and_then(|(value, _)| of(value));
        let found = told(&outcome, outcome.best.and_then(|best| of(best.value)), ended, raised);
        Ok(Searched { loaded, found: Some(found) })
    }
}

/// The settings of a point of a search, and whether it has more requests than were asked for.
pub fn at(settings: &Settings, value: f64) -> (Settings, bool) {
    let mut settings = settings.clone();
    match &mut settings.shape {
        Shape::Closed { concurrency } => *concurrency = value as u32,
        Shape::Open { rate, .. } => *rate = value,
        Shape::Trace { speed, .. } => *speed = value,
    }
    bounded(&mut settings);
    let raised = filled(&mut settings);
    (settings, raised)
}

/// The result, a sentence a line. The first summary is that of the best point, the second that of the least which did not pay.
fn told(outcome: &SearchOutcome, summary: Option<&Value>, ended: Option<&Value>, raised: bool) -> String {
    let unknown = outcome.limit.filter(|(_, limit)| *limit == Limit::SloUnknown).map(|(value, limit)| {
        let why = ended.and_then(|summary| unjudged(&summary["goodput"])).map(|why| format!(": {why}"));
        format!("at {value} {}{}", limit.words(), why.unwrap_or_default())
    });
    if let Some(unknown) = unknown {
        let paid = outcome.best.map(|best| format!(" Up to {} more load paid.", best.value)).unwrap_or_default();
        return format!("the search found no saturation: {unknown}.{paid}");
    }
    let Some(best) = outcome.best else {
        let limit = outcome.limit.map(|(value, limit)| format!(": at {value} {}", limit.words()));
        return format!("the search found no point that pays{}", limit.unwrap_or_default());
    };
    let rate = match best.output_tok_s {
        Some(tokens) => format!("{} output tok/s", figure(tokens)),
        None => format!("{} requests/s", figure(best.request_s)),
    };
    // The table has the whole load, its beginning and its end among it.
    let steady = summary.map(|summary| &summary["steady"]);
    let counted = steady.filter(|steady| steady["output_throughput_tok_s"].is_number());
    let part = match counted.and_then(|steady| steady["basis"].as_str()) {
        Some(IN_FLIGHT) => " while all places are taken",
        Some(_) => " while requests arrive",
        None => "",
    };
    let mut lines = match outcome.limit {
        Some((value, limit)) => {
            vec![format!("saturation at {}: {rate}{part}.", best.value), format!("At {value} {}.", limit.words())]
        }
        None => vec![
            format!("no saturation up to {}: {rate}{part}.", best.value),
            "A greater end of the range searches further.".to_owned(),
        ],
    };
    if summary.is_some_and(|summary| summary["client"]["limited"] == true) {
        lines.push("The client may have been the limit there, and not the server.".to_owned());
    }
    if raised {
        lines.push("More requests were sent than asked for, so that each place had its share.".to_owned());
    }
    lines.join("\n")
}

fn seen(value: f64, summary: &Value) -> SweepPoint {
    let number = |pointer: &str| summary.pointer(pointer).and_then(Value::as_f64);
    let planned = number("/planned").filter(|planned| *planned > 0.0);
    let goodput = &summary["goodput"];
    let slo_met = met(goodput);
    SweepPoint {
        value,
        output_tok_s: number("/steady/output_throughput_tok_s").or(number("/output_throughput_tok_s")),
        request_s: number("/request_throughput_req_s").unwrap_or(0.0),
        failed: planned.map_or(0.0, |planned| number("/failed").unwrap_or(0.0) / planned),
        slo_met,
        slo_unknown: slo_met.is_none() && count(goodput, "unjudged") > 0,
        oversaturated: summary["oversaturated"] == true,
    }
}

fn count(goodput: &Value, name: &str) -> u64 {
    goodput[name].as_u64().unwrap_or(0)
}

/// Whether the objectives are met, by what is known: that no answer that cannot be judged would change it.
fn met(goodput: &Value) -> Option<bool> {
    let [good, unjudged, planned] = ["good", "unjudged", "planned"].map(|name| count(goodput, name));
    let least = |good: u64| good as f64 >= SLO_SHARE * planned as f64;
    match (least(good), least(good + unjudged)) {
        _ if planned == 0 => None,
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    }
}

/// Why the objectives cannot be judged.
fn unjudged(goodput: &Value) -> Option<String> {
    let (unjudged, planned) = (count(goodput, "unjudged"), count(goodput, "planned"));
    let some = || format!("{unjudged} of {planned} requests break no limit and lack a figure");
    goodput["absent"].as_str().map(str::to_owned).or_else(|| (unjudged > 0).then(some))
}

/// Share of requests that must meet the stated objectives: the 99th percentile is what limits of the field are stated for.
const SLO_SHARE: f64 = 0.99;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objectives_are_met_where_no_unknown_answer_could_change_it() {
        let of = |good: u64, unjudged: u64, planned: u64| {
            met(&json!({ "good": good, "unjudged": unjudged, "planned": planned }))
        };
        assert_eq!([of(99, 1, 100), of(50, 10, 100), of(90, 10, 100)], [Some(true), Some(false), None]);
        assert_eq!([of(0, 20, 20), of(0, 0, 20), of(0, 0, 0)], [None, Some(false), None]);
    }
}
