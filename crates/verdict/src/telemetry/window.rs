//! The part of the telemetry that belongs to the run.
//!
//! In:  a run with its times and samples.  Out: [`Window`], seconds since the first sample, and how it was found.
//! Not here: figures over it.

use super::BUSY_PCT;
use sparkbench_model::{Instant, Run, Sample};

/// How a window was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The period in which the load measured, as the archive says it.
    Measured,
    /// From start to end of the run.
    StartToEnd,
    /// From the first to the last sample at work: the run's own times are not known on the clock of the telemetry.
    Busy,
}

impl Cut {
    /// For origins.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Measured => "by the measured window of the load",
            Self::StartToEnd => "by the start and end of the run",
            Self::Busy => "by utilisation, first to last sample at work",
        }
    }
}

/// A period of telemetry, seconds since the first sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// How it was found.
    pub cut: Cut,
    first: Instant,
}

impl Window {
    /// Its length.
    pub(crate) fn seconds(&self) -> f64 {
        self.to - self.from
    }

    /// Seconds from the first sample to this one.
    pub(crate) fn time(&self, sample: &Sample) -> f64 {
        sample.at.seconds_since(self.first)
    }

    /// True for times within.
    pub(crate) fn holds(&self, time: f64) -> bool {
        (self.from..=self.to).contains(&time)
    }

    /// Times and values of one quantity over all samples that have it.
    pub(crate) fn column(&self, samples: &[Sample], read: fn(&Sample) -> Option<f64>) -> (Vec<f64>, Vec<f64>) {
        samples.iter().filter_map(|sample| Some((self.time(sample), read(sample).filter(|v| v.is_finite())?))).unzip()
    }
}

/// The window of a run. Nothing without telemetry, and nothing where neither times nor utilisation tell it.
pub(crate) fn window(run: &Run) -> Option<Window> {
    let (first, last) = (run.telemetry.first()?.at, run.telemetry.last()?.at);
    let end = last.seconds_since(first);
    if !first.is_relative() {
        let told = [(run.measured, Cut::Measured), (run.started.zip(run.ended), Cut::StartToEnd)];
        for (times, cut) in told {
            let Some((from, to)) = times else { continue };
            let (from, to) = (from.seconds_since(first), to.seconds_since(first));
            // Clocks that do not meet (another zone) leave it to the utilisation.
            if to > from && from < end && to > 0.0 {
                return Some(Window { from, to, cut, first });
            }
        }
    }
    let start = run.started.filter(|_| !first.is_relative()).map_or(0.0, |at| at.seconds_since(first));
    let after = if (0.0..end).contains(&start) { start } else { 0.0 };
    let mut at_work = run
        .telemetry
        .iter()
        .filter(|sample| sample.gpu_util_pct.is_some_and(|util| util >= BUSY_PCT))
        .map(|sample| sample.at.seconds_since(first))
        .filter(|time| *time >= after);
    let from = at_work.next()?;
    let to = at_work.next_back()?;
    (to > from).then_some(Window { from, to, cut: Cut::Busy, first })
}
