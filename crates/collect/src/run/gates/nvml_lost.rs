//! Does the driver still answer? A GPU can be there when a campaign begins and gone an hour later.
//!
//! In:  the reading of the GPU, or the complaint in its place.  Out: the gate `nvml-lost`.
//! Not here: what the complaints mean (see `lost`).

use super::gate::{Context, Gate, Patience, absent};
use super::lost;
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct NvmlLost;

impl Gate for NvmlLost {
    fn name(&self) -> &'static str {
        "nvml-lost"
    }

    fn of_gpu(&self) -> bool {
        true
    }

    // A child of nvidia-smi that ended is started again by its reader. The reading after that counts.
    fn patience(&self) -> Patience {
        Patience::Settles
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        if seen.gpu.is_some() {
            return Finding::passed(self.name(), "the driver answers");
        }
        match (lost::classify(&seen.no_gpu), ctx.gpu) {
            (Some((meaning, remedy)), _) => {
                Finding::refused(self.name(), format!("{meaning} ({})", seen.no_gpu), remedy)
            }
            (None, Some(_)) => Finding::refused(
                self.name(),
                format!("no reading: {}", seen.no_gpu),
                "run nvidia-smi by hand and follow its message. Look for NVRM and Xid lines with 'dmesg'",
            ),
            (None, None) => absent(self, "no driver to ask", "see the gate 'gpu-present'"),
        }
        .limit("the driver answers")
    }
}
