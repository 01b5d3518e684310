//! Is there enough memory, in the sense that counts where CPU and GPU share it?
//!
//! In:  `/proc/meminfo`.  Out: the gate `memory-available`.
//! Not here: the page cache as such (see `page_cache`), swap (see `swap`).
//!
//! `MemAvailable` counts what the kernel can hand out after giving up page cache. On a GPU with unified memory `cudaMemGetInfo` follows
//! `MemFree`, which does not. On a GB10, 60 GiB of freshly written file took it from 103 to 42 GiB while `MemAvailable` did not change.
//! Source: unslothai/unsloth pull request 10704.

use super::gate::{Context, Gate, Patience, absent, unlimited};
use super::readings::Readings;
use sparkbench_model::Finding;

/// The gate.
pub(super) struct MemoryAvailable;

const MIB_PER_GIB: f64 = 1024.0;

impl Gate for MemoryAvailable {
    fn name(&self) -> &'static str {
        "memory-available"
    }

    // What the run before held comes back within seconds of its end, not at once.
    fn patience(&self) -> Patience {
        Patience::Settles
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        let host = &seen.host;
        let Some(available) = host.memory_available_mib.map(|mib| mib / MIB_PER_GIB) else {
            return absent(
                self,
                "/proc/meminfo has no MemAvailable",
                "run where /proc is mounted, on Linux 3.14 or later",
            );
        };
        let mut reading = format!("{available:.1} GiB available");
        if let Some(total) = host.memory_total_mib {
            reading.push_str(&format!(" of {:.1} GiB", total / MIB_PER_GIB));
        }
        if let (Some(free), Some(cached)) = (host.memory_free_mib, host.cached_mib) {
            let (free, cached) = (free / MIB_PER_GIB, cached / MIB_PER_GIB);
            reading.push_str(&format!(" ({free:.1} free, {cached:.1} page cache)"));
        }
        let Some(limit) = ctx.gates.memory_available_min_gib else {
            return unlimited(self, &reading, "memory_available_min_gib").value(available, "GiB");
        };
        if available >= limit {
            Finding::passed(self.name(), reading)
        } else {
            Finding::refused(
                self.name(),
                reading,
                "end processes that hold memory (find them with ps aux --sort=-rss, and with nvidia-smi for GPU memory). Page cache counts as \
                 available here. cudaMemGetInfo and some engines count it as used, so dropping it can help them",
            )
        }
        .value(available, "GiB")
        .limit(format!("at least {limit} GiB"))
    }
}
