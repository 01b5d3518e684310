//! Is the GPU cool enough that every run starts alike?
//!
//! In:  the GPU's temperature.  Out: the gate `gpu-temperature`, which waits.
//! Not here: throttling (see `thermal_throttle`).
//!
//! The limit of the published study was 45 C. A limit of "idle + 5 C" holds the starts closer together. `check` shows the temperature of the
//! idle GPU, and that plus 5 goes into `gpu_temp_max_c`.

use super::gate::{Context, Gate, Patience, unlimited};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct GpuTemperature;

impl Gate for GpuTemperature {
    fn name(&self) -> &'static str {
        "gpu-temperature"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    fn patience(&self) -> Patience {
        Patience::Waits
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        let celsius = match seen.gpu_field(self, "temperature", |gpu| gpu.temp_c) {
            Ok(celsius) => celsius,
            Err(finding) => return finding,
        };
        let reading = format!("{celsius:.0} C");
        let Some(limit) = ctx.gates.gpu_temp_max_c else {
            return unlimited(self, &reading, "gpu_temp_max_c").value(celsius, "C");
        };
        if celsius <= limit {
            Finding::passed(self.name(), reading)
        } else {
            Finding::refused(
                self.name(),
                reading,
                "let it cool down, check fan and air flow, or raise 'gpu_temp_max_c' if the idle GPU is never cooler",
            )
        }
        .value(celsius, "C")
        .limit(format!("at most {limit} C"))
    }
}
