//! Gates: what must hold before a run may start, each one reading against one limit.
//!
//! In:  a [`Context`]: the machine, the suite's limits, the run before.  Out: one [`Finding`] for each gate, always all of them.
//! Not here: checks during a run (see `watchdog`) and after it (see `after`), the limits themselves (see `plan::Gates`).
//!
//! A gate is one file beside this one, one line in [`GATES`] (or in [`ADVICE`]) and one paragraph in `docs/gates.md`. Every reading is
//! archived, because a gate that passed is evidence too.

mod before;
mod clock;
mod cooldown;
mod disk_space;
mod gpu_clock_probe;
mod gpu_clocks;
mod gpu_idle_power;
mod gpu_present;
mod gpu_processes;
mod gpu_temperature;
mod host_load;
mod kernel_log;
pub(crate) mod load;
pub(crate) mod lost;
mod memory_available;
mod nvml_lost;
mod page_cache;
mod processor;
mod readings;
mod swap;
mod thermal_throttle;

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

pub use before::before;
pub use readings::Seen;

use sparkbench_host::Host;
use sparkbench_host::gpu::Gpu;
use sparkbench_model::{Finding, Instant, Level};
use sparkbench_plan::Gates;

/// Every gate, in the order in which they are read, shown and archived.
pub static GATES: &[&dyn Gate] = &[
    &gpu_present::GpuPresent,
    &nvml_lost::NvmlLost,
    &gpu_processes::GpuProcesses,
    &gpu_clocks::GpuClocks,
    &gpu_clock_probe::GpuClockProbe,
    &thermal_throttle::ThermalThrottle,
    &gpu_temperature::GpuTemperature,
    &gpu_idle_power::GpuIdlePower,
    &cooldown::Cooldown,
    &host_load::HostLoad,
    &memory_available::MemoryAvailable,
    &swap::Swap,
    &page_cache::PageCacheState,
    &disk_space::DiskSpace,
    &kernel_log::KernelLog,
    &clock::Clock,
];

/// Read by `check` only: they do not change between runs, and what they find is a choice to be made once.
pub static ADVICE: &[&dyn Gate] = &[&processor::Governor, &processor::HugePages, &gpu_present::Persistence];

/// Seconds that a settling gate may wait. The driver and the kernel free the memory of an ended process within seconds, not at once. A GPU's
/// reading of its own use is an average over up to one second.
pub const SETTLE_S: f64 = 60.0;

/// Whether waiting helps a gate that refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Nothing: a person has to act. Such a refusal ends the waiting for all the others.
    None,
    /// Leftovers of the last run vanish by themselves within [`SETTLE_S`], or not at all.
    Settles,
    /// The machine cools down, the load falls: waited for as long as the suite allows.
    Waits,
}

/// One condition.
pub trait Gate: Sync {
    /// Stable name, as in the archive.
    fn name(&self) -> &'static str;
    /// Takes its reading and holds it against the limit. Changes nothing on the machine.
    fn look(&self, ctx: &Context<'_>, seen: &Seen) -> Finding;
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
    fn act(&self, _ctx: &Context<'_>, _seen: &Seen) -> Option<Finding> {
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

/// Reads every gate and all advice once, without waiting and without changing anything: the pre-flight of `check`.
pub fn look(ctx: &Context<'_>) -> Vec<Finding> {
    let seen = Seen::take(ctx);
    GATES.iter().chain(ADVICE).map(|gate| read(*gate, ctx, &seen)).collect()
}

/// Like [`look`] for the gates alone, before the first run of a campaign. A fault that waiting can cure is a warning here, because each run
/// waits for it.
pub fn lasting(ctx: &Context<'_>) -> Vec<Finding> {
    let seen = Seen::take(ctx);
    let soften = |gate: &dyn Gate| {
        let mut finding = read(gate, ctx, &seen);
        if gate.patience() != Patience::None && finding.level == Level::Refused {
            finding.level = Level::Warned;
            finding.reading.push_str(" (every run waits for it)");
        }
        finding
    };
    GATES.iter().map(|gate| soften(*gate)).collect()
}

/// One gate's finding, with its time, and with its level as this run takes it.
fn read(gate: &dyn Gate, ctx: &Context<'_>, seen: &Seen) -> Finding {
    finish(gate, ctx, gate.look(ctx, seen))
}

fn finish(gate: &dyn Gate, ctx: &Context<'_>, mut finding: Finding) -> Finding {
    if gate.of_gpu() && !ctx.needs_gpu && finding.level == Level::Refused {
        finding.level = Level::Warned;
        finding.reading.push_str(" (advice only: nothing here needs a GPU)");
    }
    finding.at_utc = Some(ctx.host.utc().iso());
    finding
}

/// Nothing could be read: why, and what to do to have it read.
fn absent(gate: &dyn Gate, why: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { remedy: Some(remedy.into()), ..Finding::not_available(gate.name(), why) }
}

/// The suite sets no limit: the reading is archived all the same.
fn unlimited(gate: &dyn Gate, reading: &str, key: &str) -> Finding {
    absent(
        gate,
        format!("{reading}, no limit is set"),
        format!("set '{key}' in [gates] of the suite to give it a limit"),
    )
}

#[cfg(test)]
mod tests;
