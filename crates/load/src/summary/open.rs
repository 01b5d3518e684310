//! Figures of an open loop only: did requests leave as the arrival process says, and could the server keep up?
//!
//! In:  rows, the window of arrivals, the arrival process.  Out: [`Open`].
//! Not here: the tests themselves (see `schedule::gaps`, `sweep::oversaturated`).

use super::pass::ms;
use super::window::Window;
use crate::schedule::gaps::{Fit, fit};
use crate::settings::Arrival;
use crate::store::Rows;
use crate::sweep;
use sparkbench_text::error::Error;

/// Slices of the window for the growth of requests in flight: twice what the test of a trend needs at least.
const SLICES: usize = 16;
/// Gaps are tested at this level. Below it they are not what they were called.
const FIT_LEVEL: f64 = 0.001;

/// See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Open {
    /// Distance of the gaps between sends from the process that was asked for. Absent for constant gaps and for fewer than nine requests.
    pub arrivals: Option<Fit>,
    /// Requests in flight and the time to the first token grew together over the window. Absent when there are too few requests.
    pub oversaturated: Option<bool>,
}

/// Looks at the sends of an open loop.
pub(super) fn look(rows: &mut Rows, window: Option<Window>, process: Option<(Arrival, f64)>) -> Result<Open, Error> {
    let Some(window) = window else { return Ok(Open::default()) };
    let mut sent = Vec::new();
    let mut slices = [(0_u128, 0.0_f64, 0_u32); SLICES];
    let width = (window.to.saturating_sub(window.from) / SLICES as u64).max(1);
    rows.each(|row| {
        let Some(at) = row.sent.filter(|at| window.holds(*at)) else { return };
        sent.push(at);
        if let Some(ttft) = ms(row.first_token, row.start()).filter(|_| row.status.answered())
            && let Some(slice) = slices.get_mut(((at - window.from) / width) as usize)
        {
            slice.1 += ttft;
            slice.2 += 1;
        }
        let Some(end) = row.end else { return };
        for (place, slice) in (0_u64..).zip(&mut slices) {
            let (from, to) = (window.from + place * width, window.from + (place + 1) * width);
            slice.0 += u128::from(end.min(to).saturating_sub(at.max(from)));
        }
    })?;
    sent.sort_unstable();
    let gaps: Vec<f64> = sent.windows(2).filter_map(|pair| Some((pair.get(1)? - pair.first()?) as f64 / 1e9)).collect();
    let arrivals = process.and_then(|(arrival, rate)| fit(&gaps, arrival, rate));
    let oversaturated = slices.iter().all(|slice| slice.2 > 0).then(|| {
        let in_flight: Vec<f64> = slices.iter().map(|slice| slice.0 as f64 / width as f64).collect();
        let ttft: Vec<f64> = slices.iter().map(|slice| slice.1 / f64::from(slice.2)).collect();
        sweep::oversaturated(&in_flight, &ttft)
    });
    Ok(Open { arrivals, oversaturated })
}

/// A drawn rate this far from the requested one is reported, per cent.
pub(super) const RATE_OFF_PCT: f64 = 5.0;

/// Says that the gaps drawn give another rate than was asked for. Nothing where they are near. Few gaps scatter, and they are not rescaled:
/// a Poisson process stays one.
pub(super) fn drawn_off(asked: f64, drawn: f64, arrivals: u64) -> Option<String> {
    let off = 100.0 * (drawn / asked - 1.0);
    let than = if off > 0.0 { "more" } else { "less" };
    (off.abs() > RATE_OFF_PCT).then(|| {
        format!(
            "the random gaps give {drawn:.2} requests/s, {:.1} % {than} than the {asked} asked for. {arrivals} arrivals vary that much. \
             Use more requests, or equal gaps (--arrival constant)",
            off.abs()
        )
    })
}

impl Open {
    /// Notes on it for the reader.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(fit) = self.arrivals.filter(|fit| fit.p < FIT_LEVEL) {
            notes.push(format!(
                "the gaps between sends differ from the arrival process that was asked for (Kolmogorov's D {:.3} over {} gaps, p {:.1e}). \
                 Late sends, a limit of concurrency or a slow server can cause this",
                fit.d, fit.n, fit.p
            ));
        }
        if self.oversaturated == Some(true) {
            notes.push(
                "the server could not keep up: requests in flight and the time to the first token grew to the end. The latencies are \
                 those of a queue and depend on the duration of the load"
                    .to_owned(),
            );
        }
        notes
    }
}
