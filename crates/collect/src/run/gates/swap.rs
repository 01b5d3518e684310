//! Is memory swapped out already?
//!
//! In:  `/proc/meminfo`.  Out: the gate `swap`.
//! Not here: swapping during a run (see `watchdog`).

use super::gate::{Context, Gate, absent, unlimited};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct Swap;

impl Gate for Swap {
    fn name(&self) -> &'static str {
        "swap"
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        let Some(used) = seen.host.swap_used_mib.map(|mib| mib / 1024.0) else {
            return absent(self, "/proc/meminfo has no SwapTotal and SwapFree", "run where /proc is mounted");
        };
        let reading = format!("{used:.2} GiB in use");
        let Some(limit) = ctx.gates.swap_used_max_gib else {
            return unlimited(self, &reading, "swap_used_max_gib").value(used, "GiB");
        };
        if used <= limit {
            Finding::passed(self.name(), reading)
        } else {
            Finding::refused(
                self.name(),
                reading,
                "bring it back with 'swapoff -a && swapon -a' as root once memory allows, or raise 'swap_used_max_gib'",
            )
        }
        .value(used, "GiB")
        .limit(format!("at most {limit} GiB"))
    }
}
