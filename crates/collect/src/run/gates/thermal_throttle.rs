//! Does the GPU hold its clocks back already, before anything runs?
//!
//! In:  the driver's reasons of lower clocks.  Out: the gate `thermal-throttle`, which waits.
//! Not here: throttling during a run (see `watchdog`).

use super::gate::{Context, Gate, Patience, absent};
use super::readings::Readings;
use sparkbench_host::gpu::THROTTLE_LIMITS;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct ThermalThrottle;

/// Software power cap: at rest it points to a weak supply, which is a mark and no proof.
const POWER_CAP: u64 = 0x4;

impl Gate for ThermalThrottle {
    fn name(&self) -> &'static str {
        "thermal-throttle"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    fn patience(&self) -> Patience {
        Patience::Waits
    }

    fn look(&self, _ctx: &Context<'_>, seen: &Readings) -> Finding {
        let bits = match seen.gpu(self) {
            Ok(gpu) => gpu.throttle_bits,
            Err(finding) => return finding,
        };
        let Some(bits) = bits else {
            return absent(
                self,
                "the driver does not report reasons of lower clocks",
                "see 'nvidia-smi -q -d PERFORMANCE'. The watchdogs compare clocks with the highest of the run instead",
            );
        };
        let causes = named(bits);
        if causes.is_empty() {
            return Finding::passed(self.name(), "none").limit("none");
        }
        let reading = causes.join(", ");
        if bits & !POWER_CAP & limits() == 0 {
            Finding::warned(
                self.name(),
                reading,
                "plug in the adapter that came with the machine directly: a power cap at rest points to a weak supply",
            )
        } else {
            Finding::refused(
                self.name(),
                reading,
                "let it cool down and check fan, air flow and power supply. If it stays, cut the power for a minute",
            )
        }
        .limit("none")
    }
}

fn limits() -> u64 {
    THROTTLE_LIMITS.iter().fold(0, |all, (bit, _)| all | bit)
}

/// Names of the limits among the reasons.
pub(super) fn named(bits: u64) -> Vec<&'static str> {
    THROTTLE_LIMITS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect()
}
