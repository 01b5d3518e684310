//! The moment of a row: with its date, as a time of day, or as seconds elapsed.
//!
//! In:  cells.  Out: moments. Those without a date count from the start of the file.
//! Not here: zones. nvidia-smi prints local time without one.

use crate::telemetry::{cell, plain};
use sparkbench_model::Instant;

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// Source of the time of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timing {
    /// A moment with its date.
    Moment,
    /// A time of day.
    Clock,
    /// Seconds since some start.
    Elapsed,
}

/// The moment of a row, by the way that its first row told.
pub(super) fn when(
    timing: &mut Option<Timing>,
    clock: &mut (f64, f64),
    date: Option<&str>,
    text: &str,
) -> Option<Instant> {
    let moment = || date.map_or_else(|| cell::moment(text), |date| cell::date_and_time(date, text));
    let way = match *timing {
        Some(way) => way,
        None if moment().is_some() => Timing::Moment,
        None if cell::clock(text).is_some() => Timing::Clock,
        None => Timing::Elapsed,
    };
    let found = match way {
        Timing::Moment => moment(),
        Timing::Clock => {
            let seconds = cell::clock(text)?;
            Instant::from_unix_seconds(after_midnight(clock, seconds))
        }
        Timing::Elapsed => {
            let seconds = plain(text)?.0;
            (0.0..cell::EPOCH_FROM / 10.0).contains(&seconds).then(|| Instant::from_unix_seconds(seconds)).flatten()
        }
    };
    if found.is_some() {
        *timing = Some(way);
    }
    found
}

/// Seconds since the first midnight: a step back by more than half a day is the next one.
pub(crate) fn after_midnight(clock: &mut (f64, f64), seconds: f64) -> f64 {
    if seconds + DAY_S / 2.0 < clock.0 {
        clock.1 += DAY_S;
    }
    clock.0 = seconds;
    clock.1 + seconds
}
