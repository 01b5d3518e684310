//! One reading of the machine beside the GPU: memory, swap, pressure, clocks, and the run's own tree.
//!
//! In:  nothing.  Out: [`HostSample`], [`TreeSample`]: plain values with units in their names.
//! Not here: taking the reading (see `memory`, `cpu`, `tree` beside this file), writing it (see `run`).

use std::collections::BTreeMap;

/// The machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostSample {
    /// `MemTotal`, MiB.
    pub memory_total_mib: Option<f64>,
    /// `MemFree`, MiB: what `cudaMemGetInfo` follows on a GPU with unified memory.
    pub memory_free_mib: Option<f64>,
    /// `MemAvailable`, MiB.
    pub memory_available_mib: Option<f64>,
    /// `Cached`, MiB.
    pub cached_mib: Option<f64>,
    /// `Buffers`, MiB.
    pub buffers_mib: Option<f64>,
    /// `SReclaimable`, MiB.
    pub sreclaimable_mib: Option<f64>,
    /// `Shmem`, MiB.
    pub shmem_mib: Option<f64>,
    /// `AnonPages`, MiB.
    pub anon_mib: Option<f64>,
    /// `Dirty`, MiB.
    pub dirty_mib: Option<f64>,
    /// `SwapTotal` - `SwapFree`, MiB.
    pub swap_used_mib: Option<f64>,
    /// Pages swapped in since boot.
    pub swapped_in_pages: Option<u64>,
    /// Pages swapped out since boot.
    pub swapped_out_pages: Option<u64>,
    /// `some avg10` of `/proc/pressure/memory`, per cent.
    pub pressure_memory_pct: Option<f64>,
    /// `some avg10` of `/proc/pressure/cpu`, per cent.
    pub pressure_cpu_pct: Option<f64>,
    /// `some avg10` of `/proc/pressure/io`, per cent.
    pub pressure_io_pct: Option<f64>,
    /// Load average over one minute.
    pub load_1m: Option<f64>,
    /// Busy share of all cores since the reading before, per cent.
    pub cpu_busy_pct: Option<f64>,
    /// Lowest current clock of a core, MHz.
    pub cpu_clock_min_mhz: Option<f64>,
    /// Highest current clock of a core, MHz.
    pub cpu_clock_max_mhz: Option<f64>,
    /// Every hwmon reading found, `<chip>_<label>_<unit>` to value.
    pub hwmon: BTreeMap<String, f64>,
}

/// The tree of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TreeSample {
    pub processes: Option<u32>,
    /// Resident memory of all of them, pages shared counted each time, MiB.
    pub rss_mib: Option<f64>,
    /// `memory.current` of its control group, MiB.
    pub cgroup_memory_mib: Option<f64>,
    /// `anon` of its `memory.stat`, MiB.
    pub cgroup_anon_mib: Option<f64>,
    /// `file` of its `memory.stat`: page cache first touched by this tree, MiB.
    pub cgroup_file_mib: Option<f64>,
    /// `oom_kill` of its `memory.events`.
    pub cgroup_oom_kills: Option<u64>,
    /// `nr_throttled` of its `cpu.stat`.
    pub cgroup_cpu_throttled: Option<u64>,
}
