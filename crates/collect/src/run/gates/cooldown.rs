//! Has the machine rested since the last run?
//!
//! In:  when the run before ended.  Out: the gate `cooldown`, which waits.
//! Not here: temperatures: the chip cools within a minute, the case and the memory do not, and they have no reading of their own.

use super::gate::{Context, Gate, Patience};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct Cooldown;

impl Gate for Cooldown {
    fn name(&self) -> &'static str {
        "cooldown"
    }

    fn patience(&self) -> Patience {
        Patience::Waits
    }

    fn look(&self, ctx: &Context<'_>, _seen: &Readings) -> Finding {
        let least = ctx.gates.cooldown_min_s;
        let limit = format!("at least {least} s");
        let Some(ended) = ctx.last_ended else {
            return Finding::passed(self.name(), "no run before this one").limit(limit);
        };
        let passed = ctx.host.monotonic().saturating_sub(ended).as_secs_f64();
        let reading = format!("{passed:.0} s since the last run");
        if passed >= least {
            Finding::passed(self.name(), reading)
        } else {
            Finding::refused(
                self.name(),
                reading,
                "wait, or shorten the pause with 'cooldown_min_s' in [gates]. 'wait_max_s' must be at least as long",
            )
        }
        .value(passed, "s")
        .limit(limit)
    }
}
