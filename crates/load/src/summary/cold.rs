//! A cold start: first requests that took far longer than later ones, where too little was warmed up.
//!
//! In:  rows, places of a closed loop.  Out: [`ColdStart`].
//! Not here: whether a load grew slower to its end (see `open`).
//!
//! Requests are taken in the order of the plan, which is that of sending. The second half says how slow this server is when it is warm. From the
//! first request on, those count as cold that are all far slower than that half. A closed loop sends as many requests at once as it has
//! places, and each may wait for the prefill of all others. So there a first token is late only beyond what that explains.

use std::collections::BinaryHeap;

use serde::Serialize;

use super::definitions as define;
use super::pass::{ms, tpot};
use super::samples::Samples;
use super::text::figure;
use crate::store::{RequestRow, Rows};
use sparkbench_text::error::Error;
use sparkbench_text::plural::count;

/// Answers below which nothing is said: the half that is compared with has a 90th percentile from ten on.
const ANSWERS: u64 = 20;
/// First requests that are looked at, at most, and as a part of all. A longer beginning is no beginning.
const FIRST: usize = 256;
const FIRST_PART: u64 = 4;
/// A TTFT is far off beyond so many times the 90th percentile of the warm half. A single one may be chance, so it has to be further off.
const TTFT_FAR: f64 = 2.0;
const TTFT_ALONE: f64 = 3.0;
/// And beyond so many times the median for each place.
const TTFT_PLACE: f64 = 1.5;
/// The same of a TPOT, which varies less.
const TPOT_FAR: f64 = 1.25;
/// Fewest requests with such a TPOT.
const TPOT_LEAST: usize = 2;

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColdStart {
    /// First requests that are far slower than the later ones.
    pub requests: u64,
    /// Mean of those among them whose first token came late, from sending.
    pub ttft_ms: Option<f64>,
    /// Median of the second half of the requests.
    pub ttft_warm_ms: Option<f64>,
    /// Mean of those among them whose further tokens came late.
    pub tpot_ms: Option<f64>,
    /// Median of the second half of the requests.
    pub tpot_warm_ms: Option<f64>,
}

impl ColdStart {
    /// `the first 8 requests were far slower than later ones (TTFT 2,052 against 50.8 ms), and nothing was warmed up: add --warmup 8`
    ///
    /// `warmed` are the requests before the measured part and those of them that were answered. `step`: they are first turns.
    pub(super) fn sentence(&self, warmed: (u64, u64), step: bool) -> String {
        let pair = |name: &str, cold: Option<f64>, warm: Option<f64>| {
            Some(format!("{name} {} against {} ms", figure(cold?), figure(warm?)))
        };
        let parts: Vec<String> =
            [pair("TTFT", self.ttft_ms, self.ttft_warm_ms), pair("TPOT", self.tpot_ms, self.tpot_warm_ms)]
                .into_iter()
                .flatten()
                .collect();
        let (first, were) = match self.requests {
            1 => ("the first request".to_owned(), "was"),
            several => (format!("the first {}", count(several as usize, "request")), "were"),
        };
        let why = match warmed {
            (_, 0) => "nothing was warmed up: add".to_owned(),
            (requests, _) => format!("a warm-up of {} was too short: use", count(requests as usize, "request")),
        };
        let remedy = match (step, warmed) {
            (true, (_, 0)) => "--warmup-step".to_owned(),
            (true, _) => "more conversations".to_owned(),
            (false, (_, 0)) => format!("--warmup {}", self.requests),
            (false, (requests, _)) => format!("--warmup {}", requests + self.requests),
        };
        format!("{first} {were} far slower than later ones ({}), and {why} {remedy}", parts.join(", "))
    }
}

/// The times of one answer: index, TTFT from sending, TPOT. By the index in a heap.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Times {
    index: u64,
    ttft: Option<f64>,
    tpot: Option<f64>,
}

impl Eq for Times {}

impl PartialOrd for Times {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Times {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.index.cmp(&other.index)
    }
}

/// Looks for it. `places` are those of a closed loop, 1 else.
pub(super) fn look(rows: &mut Rows, places: f64) -> Result<Option<ColdStart>, Error> {
    let (mut answered, mut least, mut most) = (0_u64, u64::MAX, 0);
    rows.each(|row| {
        if row.status.answered() {
            answered += 1;
            (least, most) = (least.min(row.index), most.max(row.index));
        }
    })?;
    if answered < ANSWERS {
        return Ok(None);
    }
    let half = least + (most - least) / 2;
    let room = FIRST.min(usize::try_from(answered / FIRST_PART).unwrap_or(FIRST));
    let mut first: BinaryHeap<Times> = BinaryHeap::with_capacity(room + 1);
    let (mut ttft, mut tpots) = (Samples::default(), Samples::default());
    rows.each(|row| {
        if !row.status.answered() {
            return;
        }
        let times = Times { index: row.index, ttft: from_sent(row), tpot: tpot(row) };
        if row.index > half {
            times.ttft.into_iter().for_each(|value| ttft.add(value));
            times.tpot.into_iter().for_each(|value| tpots.add(value));
        } else {
            first.push(times);
            if first.len() > room {
                first.pop();
            }
        }
    })?;
    let (ttft, tpots) = (ttft.metric(&define::TTFT_SENT, ""), tpots.metric(&define::TPOT, ""));
    let first = first.into_sorted_vec();
    let places = places.max(1.0);
    let late = |far: f64| Some((far * ttft.p90?).max(TTFT_PLACE * places * ttft.p50?));
    let slow = beyond(&first, late(TTFT_FAR), |times| times.ttft);
    let slow = if slow.len() == 1 { beyond(&first, late(TTFT_ALONE), |times| times.ttft) } else { slow };
    let dragging = beyond(&first, tpots.p90.map(|p90| TPOT_FAR * p90), |times| times.tpot);
    let dragging = if dragging.len() < TPOT_LEAST.max(places as usize) { Vec::new() } else { dragging };
    let requests = slow.len().max(dragging.len()) as u64;
    Ok((requests > 0).then(|| ColdStart {
        requests,
        ttft_ms: mean(&slow),
        ttft_warm_ms: ttft.p50,
        tpot_ms: mean(&dragging),
        tpot_warm_ms: tpots.p50,
    }))
}

fn from_sent(row: &RequestRow) -> Option<f64> {
    ms(row.first_token, row.sent)
}

/// The values from the first request on that are all beyond a limit.
fn beyond(first: &[Times], limit: Option<f64>, of: impl Fn(&Times) -> Option<f64>) -> Vec<f64> {
    let Some(limit) = limit else { return Vec::new() };
    first.iter().map_while(|times| of(times).filter(|value| *value > limit)).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
