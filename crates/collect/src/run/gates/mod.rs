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
mod gate;
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

pub use before::before;
pub use gate::{Context, Gate, Patience};
pub use readings::Readings;

use sparkbench_model::{Finding, Level};

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

/// Reads every gate and all advice once, without waiting and without changing anything: the pre-flight of `check`.
pub fn look(ctx: &Context<'_>) -> Vec<Finding> {
    let seen = Readings::take(ctx);
    GATES.iter().chain(ADVICE).map(|gate| read(*gate, ctx, &seen)).collect()
}

/// Like [`look`] for the gates alone, before the first run of a campaign. A fault that waiting can cure is a warning here, because each run
/// waits for it.
pub fn lasting(ctx: &Context<'_>) -> Vec<Finding> {
    let seen = Readings::take(ctx);
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
fn read(gate: &dyn Gate, ctx: &Context<'_>, seen: &Readings) -> Finding {
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

#[cfg(test)]
mod tests;
