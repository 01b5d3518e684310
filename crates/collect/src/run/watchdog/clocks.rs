//! Did the GPU keep its clocks under load?
//!
//! In:  SM clock, utilisation and power in every sample.  Out: the watchdogs `stuck-clock`, which ends the run, and `clock-sag`.
//! Not here: reasons that the driver gives (see `throttle`).
//!
//! A stuck DGX Spark shows P0, 96 % in use, a cool chip and no reason of lower clocks. It runs at a third of its speed (see the gate
//! `gpu-clock-probe`). It can also come and go within half an hour, so it is looked for during every run.

use super::kind::{Moment, Start, Watchdog, absent};
use crate::run::Row;
use crate::run::gates::load::{LOADED_PCT, SET_BY_SOMEONE, STUCK_MHZ, STUCK_W, UNSTICK, is_spark};
use sparkbench_host::gpu::{GpuSample, THROTTLE_LIMITS};
use sparkbench_model::Finding;

const STUCK: &str = "stuck-clock";
const SAG: &str = "clock-sag";

/// Seconds that a clock must stay low to count as stuck. Utilisation is an average over up to a second, and a change of state of the chip
/// takes less. A stuck clock stays for minutes.
const STUCK_S: f64 = 10.0;

/// How long a clock must stay below the limit to count as sagging, seconds.
const SAG_S: f64 = 5.0;

fn loaded(gpu: &GpuSample) -> bool {
    gpu.util_pct.is_some_and(|util| util >= LOADED_PCT)
}

/// A period of samples with something in common.
#[derive(Default)]
struct Stretch {
    since: Option<f64>,
    longest_s: f64,
}

impl Stretch {
    /// Takes one sample. Seconds for which it has held by now.
    fn take(&mut self, at_s: f64, holds: bool) -> f64 {
        if !holds {
            self.since = None;
            return 0.0;
        }
        let for_s = at_s - *self.since.get_or_insert(at_s);
        self.longest_s = self.longest_s.max(for_s);
        for_s
    }
}

struct Stuck {
    on: bool,
    spark: bool,
    slow: Stretch,
    weak: Stretch,
    under_load: u64,
}

pub(super) fn stuck(start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Stuck {
        on: start.settings.clock_sag_pct.is_some(),
        spark: is_spark(start.identity.name.as_deref()),
        slow: Stretch::default(),
        weak: Stretch::default(),
        under_load: 0,
    })
}

impl Stuck {
    fn row(&mut self, row: &Row) -> Option<Finding> {
        let gpu = row.gpu.as_ref()?;
        let bits = gpu.throttle_bits.unwrap_or(0);
        // A reason that the driver gives, or a clock that someone set, is another matter.
        let explained = bits & SET_BY_SOMEONE != 0 || THROTTLE_LIMITS.iter().any(|(bit, _)| bits & bit != 0);
        let loaded = loaded(gpu);
        self.under_load += u64::from(loaded);
        let weak = gpu.power_w.is_some_and(|watts| watts < STUCK_W);
        self.weak.take(row.monotonic_s, loaded && weak);
        let clock = gpu.sm_clock_mhz?;
        let for_s = self.slow.take(row.monotonic_s, loaded && !explained && clock < STUCK_MHZ);
        (for_s >= STUCK_S).then(|| {
            let power = gpu.power_w.map(|watts| format!(" and {watts:.1} W")).unwrap_or_default();
            Finding::refused(
                STUCK,
                format!("stuck clock: SM {clock:.0} MHz{power} at full use for {for_s:.0} s, without a reason from the driver"),
                UNSTICK,
            )
            .value(clock, "MHz")
            .limit(LIMIT)
        })
    }
}

const LIMIT: &str = "1400 MHz and 30 W under load";

impl Watchdog for Stuck {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        if !self.on || !self.spark {
            return None;
        }
        now.rows.iter().find_map(|row| self.row(row))
    }

    fn end(&mut self, _now: &Moment<'_>) -> Finding {
        if !self.on {
            return absent(STUCK, "switched off", "set 'clock_sag_pct' in [watchdogs]");
        }
        if !self.spark {
            return absent(
                STUCK,
                "not a DGX Spark, or its GPU cannot be read: no figures of a stuck clock are published",
                "see 'clock-sag', which compares the clocks with the highest of the run",
            );
        }
        if self.under_load == 0 {
            return absent(
                STUCK,
                "the GPU was never in full use, so its clocks show nothing",
                "ignore this if the workload needs no GPU",
            );
        }
        if self.weak.longest_s >= STUCK_S {
            return Finding::warned(
                STUCK,
                format!("below {STUCK_W:.0} W at full use for {:.0} s", self.weak.longest_s),
                "compare heavy work with 'sparkbench gpu-probe', and use the adapter that came with the machine. Light work needs little power",
            )
            .limit(LIMIT);
        }
        Finding::passed(STUCK, format!("not in {} samples under load", self.under_load)).limit(LIMIT)
    }
}

struct Sag {
    limit_pct: Option<f64>,
    /// Moment and SM clock of every sample with a reading. No clock where the GPU was not at full use, which ends a period.
    points: Vec<(f64, Option<f64>)>,
}

pub(super) fn sag(start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Sag { limit_pct: start.settings.clock_sag_pct, points: Vec::new() })
}

impl Watchdog for Sag {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        for row in now.rows {
            let Some(gpu) = &row.gpu else { continue };
            self.points.push((row.monotonic_s, gpu.sm_clock_mhz.filter(|_| loaded(gpu))));
        }
        None
    }

    // The highest clock may come last, so the judgement waits for the end.
    fn end(&mut self, _now: &Moment<'_>) -> Finding {
        let Some(limit_pct) = self.limit_pct else {
            return absent(SAG, "switched off", "set 'clock_sag_pct' in [watchdogs]");
        };
        let clocks = || self.points.iter().filter_map(|(_, clock)| *clock);
        let (Some(highest), Some(lowest)) = (clocks().reduce(f64::max), clocks().reduce(f64::min)) else {
            return absent(
                SAG,
                "the GPU was never at full use, or its clock is not reported",
                "ignore this if the workload needs no GPU",
            );
        };
        let mut low = Stretch::default();
        for (at_s, clock) in &self.points {
            low.take(*at_s, clock.is_some_and(|clock| 100.0 * clock < limit_pct * highest));
        }
        let reading = format!("SM {lowest:.0} to {highest:.0} MHz at full use");
        if low.longest_s < SAG_S {
            Finding::passed(SAG, reading)
        } else {
            Finding::warned(
                SAG,
                format!("{reading}, {:.0} s in a row below {limit_pct} % of the highest", low.longest_s),
                "see 'throttle-reasons'. If there is no reason, compare with 'sparkbench gpu-probe', and lock the clock for every run",
            )
        }
        .value(100.0 * lowest / highest, "%")
        .limit(format!("at least {limit_pct} % of its own highest, except for {SAG_S} s"))
    }
}
