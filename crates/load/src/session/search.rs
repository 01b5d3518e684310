//! A search for the load beyond which more load brings no more throughput.
//!
//! In:  a [`Session`], [`Settings`], a [`Search`].  Out: [`Loaded`] for each point, and the result in a sentence.
//! Not here: which point is next (see `sweep`).

use std::path::Path;

use super::passes::{RepeatedLoad, point};
use super::{Loaded, Session};
use crate::settings::{Settings, Shape};
use crate::suite::{bounded, filled};
use crate::summary::{Goodput, IN_FLIGHT, Summary, figure};
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
    /// Measures point after point. Without a count or time of its own each gets as many requests as suit its concurrency.
    ///
    /// # Errors
    /// Like [`Session::load`].
    pub fn search(&self, search: &Search, settings: &Settings, folder: &Path) -> Result<Searched, Error> {
        let (mut loaded, mut points) = (Vec::new(), Vec::new());
        let mut raised = false;
        while let Some(value) = search.next(&points) {
            let mut settings = settings.clone();
            match &mut settings.shape {
                Shape::Closed { concurrency } => *concurrency = value as u32,
                Shape::Open { rate, .. } => *rate = value,
                Shape::Trace { speed, .. } => *speed = value,
            }
            bounded(&mut settings);
            raised |= filled(&mut settings);
            let name = point(&settings.shape);
            let done = self.all(&[RepeatedLoad::once(name.clone(), settings)], &folder.join(&name), &|_| true)?;
            let Some(done) = done.into_iter().next() else { break };
            points.push(seen(value, &done.summary));
            let stop = done.interrupted;
            loaded.push(Loaded { name, ..done });
            if stop {
                return Ok(Searched { loaded, found: None });
            }
        }
        let outcome = search.outcome(&points);
        let of = |value: f64| {
            let at = points.iter().position(|point: &SweepPoint| point.value == value)?;
            loaded.get(at).map(|load: &Loaded| &load.summary)
        };
        let ended = outcome.limit.and_then(|(value, _)| of(value));
        let found = told(&outcome, outcome.best.and_then(|best| of(best.value)), ended, raised);
        Ok(Searched { loaded, found: Some(found) })
    }
}

/// The result, a sentence a line. The first summary is that of the best point, the second that of the least which did not pay.
fn told(outcome: &SearchOutcome, summary: Option<&Summary>, ended: Option<&Summary>, raised: bool) -> String {
    let unknown = outcome.limit.filter(|(_, limit)| *limit == Limit::SloUnknown).map(|(value, limit)| {
        let why = ended.and_then(|summary| unjudged(summary.goodput.as_ref()?)).map(|why| format!(": {why}"));
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
    let steady = summary.and_then(|summary| summary.steady.as_ref());
    let part = match steady.filter(|steady| steady.output_throughput_tok_s.is_some()).map(|steady| steady.basis) {
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
    if summary.is_some_and(|summary| summary.client.limited) {
        lines.push("The client may have been the limit there, and not the server.".to_owned());
    }
    if raised {
        lines.push("More requests were sent than asked for, so that each place had its share.".to_owned());
    }
    lines.join("\n")
}

fn seen(value: f64, summary: &Summary) -> SweepPoint {
    let steady = summary.steady.as_ref();
    let failed = if summary.planned == 0 { 0.0 } else { summary.failed as f64 / summary.planned as f64 };
    let slo_met = summary.goodput.as_ref().and_then(met);
    SweepPoint {
        value,
        output_tok_s: steady.and_then(|steady| steady.output_throughput_tok_s).or(summary.output_throughput_tok_s),
        request_s: summary.request_throughput_req_s.unwrap_or(0.0),
        failed,
        slo_met,
        slo_unknown: slo_met.is_none() && summary.goodput.as_ref().is_some_and(|goodput| goodput.unjudged > 0),
        oversaturated: summary.oversaturated == Some(true),
    }
}

/// Whether the objectives are met, by what is known: that no answer that cannot be judged would change it.
fn met(goodput: &Goodput) -> Option<bool> {
    let least = |good: u64| good as f64 >= SLO_SHARE * goodput.planned as f64;
    match (least(goodput.good), least(goodput.good + goodput.unjudged)) {
        _ if goodput.planned == 0 => None,
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    }
}

/// Why the objectives cannot be judged.
fn unjudged(goodput: &Goodput) -> Option<String> {
    let some = || format!("{} of {} requests break no limit and lack a figure", goodput.unjudged, goodput.planned);
    goodput.absent.clone().or_else(|| (goodput.unjudged > 0).then(some))
}

/// Share of requests that must meet the stated objectives: the 99th percentile is what limits of the field are stated for.
const SLO_SHARE: f64 = 0.99;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn objectives_are_met_where_no_unknown_answer_could_change_it() {
        let of = |good, unjudged, planned| {
            let slos = BTreeMap::from([("tpot_ms", 50.0)]);
            met(&Goodput { slos, good, planned, fraction: None, req_s: None, unjudged, absent: None, definition: "" })
        };
        assert_eq!([of(99, 1, 100), of(50, 10, 100), of(90, 10, 100)], [Some(true), Some(false), None]);
        assert_eq!([of(0, 20, 20), of(0, 0, 20), of(0, 0, 0)], [None, Some(false), None]);
    }
}
