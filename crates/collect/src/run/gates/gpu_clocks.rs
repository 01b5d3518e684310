//! Is the GPU at rest, by its clocks, state and use?
//!
//! In:  performance state, SM clock, utilisation.  Out: the gate `gpu-clocks`.
//! Not here: clocks under load (see `gpu_clock_probe`): an idle clock says nothing about them.
//!
//! Inside a container the list of processes can be empty while another container keeps the GPU busy. Its utilisation shows that.

use super::gate::{Context, Gate, Patience, absent};
use super::load::{BUSY_PCT, SET_BY_SOMEONE};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct GpuClocks;

/// SM clock at rest, as a share of the highest, from which the clocks are being held up.
const HELD_UP: f64 = 0.9;

impl Gate for GpuClocks {
    fn name(&self) -> &'static str {
        "gpu-clocks"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    // Utilisation is an average over up to a second, and a run before may just have ended.
    fn patience(&self) -> Patience {
        Patience::Settles
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        let gpu = match seen.gpu(self) {
            Ok(gpu) => gpu,
            Err(finding) => return finding,
        };
        let mut words = Vec::new();
        words.extend(gpu.pstate.map(|state| format!("P{state}")));
        words.extend(gpu.sm_clock_mhz.map(|clock| match seen.identity.sm_clock_max_mhz {
            Some(most) => format!("SM {clock:.0} of {most:.0} MHz"),
            None => format!("SM {clock:.0} MHz"),
        }));
        words.extend(gpu.util_pct.map(|util| format!("{util:.0} % in use")));
        if words.is_empty() {
            return absent(
                self,
                "the driver reports neither state nor clocks nor utilisation",
                "see 'nvidia-smi -q -d PERFORMANCE,CLOCK,UTILIZATION'",
            );
        }
        if gpu.throttle_bits.is_some_and(|bits| bits & SET_BY_SOMEONE != 0) {
            words.push("clocks were set by hand (nvidia-smi -lgc or -ac)".to_owned());
        } else if let (Some(clock), Some(most)) = (gpu.sm_clock_mhz, seen.identity.sm_clock_max_mhz)
            && clock >= HELD_UP * most
        {
            words.push("clocks stay high at rest: they are locked, or a program keeps a context open".to_owned());
        }
        let reading = words.join(", ");
        let limit = format!("below {BUSY_PCT} % in use");
        let finding = match gpu.util_pct {
            Some(util) if util >= BUSY_PCT => {
                let remedy = "find what uses the GPU (nvidia-smi on the host, not in a container) and end it";
                if ctx.gates.gpu_exclusive {
                    Finding::refused(self.name(), reading, remedy)
                } else {
                    Finding::warned(self.name(), reading, remedy)
                }
            }
            _ => Finding::passed(self.name(), reading),
        };
        match gpu.sm_clock_mhz {
            Some(clock) => finding.value(clock, "MHz").limit(limit),
            None => finding.limit(limit),
        }
    }
}
