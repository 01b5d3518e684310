//! Does the GPU draw no more than an idle one should?
//!
//! In:  the GPU's power.  Out: the gate `gpu-idle-power`, which waits.
//! Not here: its users (see `gpu_processes`).
//!
//! An idle GB10 draws 3 to 11 W, an idle H200 about 76 W. No limit fits all, so the suite sets one or none.

use super::gate::{Context, Gate, Patience, unlimited};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct GpuIdlePower;

impl Gate for GpuIdlePower {
    fn name(&self) -> &'static str {
        "gpu-idle-power"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    fn patience(&self) -> Patience {
        Patience::Waits
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        let watts = match seen.gpu_field(self, "power draw", |gpu| gpu.power_w) {
            Ok(watts) => watts,
            Err(finding) => return finding,
        };
        let reading = format!("{watts:.1} W");
        let Some(limit) = ctx.gates.gpu_idle_power_max_w else {
            return unlimited(self, &reading, "gpu_idle_power_max_w").value(watts, "W");
        };
        if watts <= limit {
            Finding::passed(self.name(), reading)
        } else {
            Finding::refused(
                self.name(),
                reading,
                "end what uses the GPU (nvidia-smi), undo locked clocks (nvidia-smi -rgc), or raise 'gpu_idle_power_max_w'",
            )
        }
        .value(watts, "W")
        .limit(format!("at most {limit} W"))
    }
}
