//! Can the wall clock be believed?
//!
//! In:  the wall clock, the monotonic clock, the answer of the time service.  Out: the gate `clock`.
//! Not here: durations: those are taken from the monotonic clock, which no one sets.

use std::path::Path;

use super::gate::{Context, Gate, absent};
use super::readings::Readings;
use sparkbench_host::Question;
use sparkbench_model::{Finding, Instant};

/// The gate.
pub(super) struct Clock;

/// Nothing of ours ran before this moment (2025-01-01T00:00:00Z): a clock that says otherwise was never set.
const SANE_FROM: Instant = Instant(1_735_689_600_000);

/// How far the wall clock may part from the monotonic clock since the campaign began, seconds. A time service slews by at most 0.5 ms a
/// second, which makes 1.8 s an hour. A step is larger.
const STEP_S: f64 = 2.0;
/// Like [`STEP_S`], for every second since then.
const SLEW: f64 = 0.0005;

/// Left by systemd-timesyncd once it has set the clock. Source: systemd-timesyncd.service(8).
const TIMESYNC: &str = "/run/systemd/timesync/synchronized";

impl Gate for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn look(&self, ctx: &Context<'_>, _seen: &Readings) -> Finding {
        let now = ctx.host.utc();
        let remedy = "switch a time service on (timedatectl set-ntp true) and let it settle";
        if now < SANE_FROM {
            return Finding::warned(
                self.name(),
                format!("the wall clock says {}: it was never set", now.iso()),
                remedy,
            );
        }
        if let Some((then_utc, then)) = ctx.began {
            let passed = ctx.host.monotonic().saturating_sub(then).as_secs_f64();
            let parted = now.seconds_since(then_utc) - passed;
            if parted.abs() > STEP_S + SLEW * passed {
                return Finding::warned(
                    self.name(),
                    format!("the wall clock was set by {parted:+.1} s during the campaign"),
                    "let the time service settle before a campaign. Durations are not affected: they come from the monotonic clock",
                )
                .value(parted, "s");
            }
        }
        match synchronised(ctx) {
            Some(true) => Finding::passed(self.name(), "kept by a time service"),
            Some(false) => Finding::warned(self.name(), "the time service is off or has not settled", remedy),
            None => absent(
                self,
                "no time service answers, but the clock has not jumped",
                "if you compare several machines, make sure that their clocks agree (timedatectl, chronyc tracking)",
            ),
        }
    }
}

fn synchronised(ctx: &Context<'_>) -> Option<bool> {
    if ctx.host.exists(Path::new(TIMESYNC)) {
        return Some(true);
    }
    let question = Question::new(["timedatectl", "show", "--property=NTPSynchronized", "--value"]);
    let answer = ctx.host.ask(&question).ok().filter(sparkbench_host::Answer::ok)?;
    match answer.text().trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}
