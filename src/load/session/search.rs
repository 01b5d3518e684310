//! A search for the load beyond which more load brings no more throughput.
//!
//! In:  a [`Session`], [`Settings`], a [`Search`].  Out: [`Loaded`] for each point, and the result in a sentence.
//! Not here: which point is next (see `sweep`).

use std::path::Path;

use super::passes::{Cell, point};
use super::{Loaded, Session};
use crate::error::Error;
use crate::load::settings::{Settings, Shape};
use crate::load::suite::bounded;
use crate::load::summary::Summary;
use crate::load::sweep::{Point, Search};

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
        while let Some(value) = search.next(&points) {
            let mut settings = settings.clone();
            match &mut settings.shape {
                Shape::Closed { concurrency } => *concurrency = value as u32,
                Shape::Open { rate, .. } => *rate = value,
                Shape::Trace { speed, .. } => *speed = value,
            }
            bounded(&mut settings);
            let name = point(&settings.shape);
            let done = self.all(&[Cell::once(name.clone(), settings)], &folder.join(&name), &|_| true)?;
            let Some(done) = done.into_iter().next() else { break };
            points.push(seen(value, &done.summary));
            let stop = done.interrupted;
            loaded.push(Loaded { name, ..done });
            if stop {
                return Ok(Searched { loaded, found: None });
            }
        }
        let outcome = search.outcome(&points);
        let best = outcome.best.map(|best| {
            let rate = match best.output_tok_s {
                Some(tokens) => format!("{tokens:.1} output tok/s"),
                None => format!("{:.2} requests/s", best.request_s),
            };
            match outcome.limit {
                Some(_) => format!("saturation at {}: {rate}", best.value),
                None => format!("no saturation up to {}: {rate} there, search further", best.value),
            }
        });
        let limit = outcome.limit.map(|(value, limit)| format!("at {value} {}", limit.words()));
        let words: Vec<String> = best.into_iter().chain(limit).collect();
        let found = if words.is_empty() { "the search found no point that pays".to_owned() } else { words.join("; ") };
        Ok(Searched { loaded, found: Some(found) })
    }
}

fn seen(value: f64, summary: &Summary) -> Point {
    let steady = summary.steady.as_ref();
    let failed = if summary.planned == 0 { 0.0 } else { summary.failed as f64 / summary.planned as f64 };
    let slo = |goodput: &crate::load::summary::Goodput| goodput.fraction.map(|share| share >= SLO_SHARE);
    Point {
        value,
        output_tok_s: steady.and_then(|steady| steady.output_throughput_tok_s).or(summary.output_throughput_tok_s),
        request_s: summary.request_throughput_req_s.unwrap_or(0.0),
        failed,
        slo_met: summary.goodput.as_ref().and_then(slo),
        oversaturated: summary.oversaturated == Some(true),
    }
}

/// Share of requests that must meet the stated objectives: the 99th percentile is what limits of the field are stated for.
const SLO_SHARE: f64 = 0.99;
