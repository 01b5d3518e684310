//! Is the machine otherwise at rest?
//!
//! In:  the load average over one minute and the number of cores.  Out: the gate `host-load`, which waits.
//! Not here: its cause.

use super::gate::{Context, Gate, Patience, absent, unlimited};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct HostLoad;

impl Gate for HostLoad {
    fn name(&self) -> &'static str {
        "host-load"
    }

    fn patience(&self) -> Patience {
        Patience::Waits
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        let (Some(load), Some(cores)) = (seen.host.load_1m, seen.cores) else {
            return absent(
                self,
                "/proc/loadavg or the list of cores cannot be read",
                "run where /proc and /sys are mounted, or set 'host_load_max_per_core = false'",
            );
        };
        let each = load / f64::from(cores);
        let reading = format!("{load:.2} over one minute, {each:.2} per core ({cores} cores)");
        let Some(limit) = ctx.gates.host_load_max_per_core else {
            return unlimited(self, &reading, "host_load_max_per_core").value(each, "per core");
        };
        if each <= limit {
            Finding::passed(self.name(), reading)
        } else {
            Finding::refused(
                self.name(),
                reading,
                "end programs that keep the cores busy (find them with top), or raise 'host_load_max_per_core'. The average takes a minute to fall",
            )
        }
        .value(each, "per core")
        .limit(format!("at most {limit} per core"))
    }
}
