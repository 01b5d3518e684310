//! One gate: what it is given, and what it answers.
//!
//! In:  a [`Context`] and the [`Readings`] that all gates share.  Out: a [`Finding`].
//! Not here: the gates themselves, their order (see `GATES`).

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use super::readings::Readings;
use sparkbench_host::Host;
use sparkbench_host::gpu::Gpu;
use sparkbench_model::{Finding, Instant};
use sparkbench_plan::Gates;

/// Seconds that a settling gate may wait. The driver and the kernel free the memory of an ended process within seconds, not at once. A GPU's
/// reading of its own use is an average over up to one second.
pub(super) const SETTLE_S: f64 = 60.0;

/// Whether waiting helps a gate that refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Nothing: a person has to act. Such a refusal ends the waiting for all the others.
    None,
    /// Leftovers of the last run vanish by themselves within `SETTLE_S`, or not at all.
    Settles,
    /// The machine cools down, the load falls: waited for as long as the suite allows.
    Waits,
}

/// One condition.
pub trait Gate: Sync {
    /// Stable name, as in the archive.
    fn name(&self) -> &'static str;
    /// Takes its reading and holds it against the limit. Changes nothing on the machine.
    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding;
    /// Whether waiting helps.
    fn patience(&self) -> Patience {
        Patience::None
    }
    /// Whether it is about the GPU: advice, not a refusal, for a workload that does not need one.
    fn of_gpu(&self) -> bool {
        false
    }
    /// Action on the machine right before a run, once everything else holds. The finding replaces that of
    /// [`Gate::look`]. Nothing for a gate that only reads, or when the suite does not ask for it.
    fn act(&self, _ctx: &Context<'_>, _seen: &Readings) -> Option<Finding> {
        None
    }
    /// Whether [`Gate::act`] warms the GPU up, so that the gates that wait have to be asked again.
    fn warms(&self) -> bool {
        false
    }
}

/// Input of the gates.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The machine.
    pub host: &'a dyn Host,
    /// The GPU, where one can be read.
    pub gpu: Option<&'a Mutex<Box<dyn Gpu>>>,
    /// Why none can be read: what each source said.
    pub no_gpu: &'a str,
    /// Limits.
    pub gates: &'a Gates,
    /// Folder of the archive. It need not exist yet.
    pub archive: &'a Path,
    /// Whether the run needs a GPU.
    pub needs_gpu: bool,
    /// When the run before ended, on the monotonic clock. Absent before the first.
    pub last_ended: Option<Duration>,
    /// Wall clock and monotonic clock at one earlier moment, to see whether the wall clock has jumped since.
    pub began: Option<(Instant, Duration)>,
    /// Processes of ours that may use the GPU.
    pub ours: &'a [u32],
}

/// Nothing could be read: why, and what to do to have it read.
pub(super) fn absent(gate: &dyn Gate, why: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { remedy: Some(remedy.into()), ..Finding::not_available(gate.name(), why) }
}

/// The suite sets no limit: the reading is archived all the same.
pub(super) fn unlimited(gate: &dyn Gate, reading: &str, key: &str) -> Finding {
    absent(
        gate,
        format!("{reading}, no limit is set"),
        format!("set '{key}' in [gates] of the suite to give it a limit"),
    )
}
