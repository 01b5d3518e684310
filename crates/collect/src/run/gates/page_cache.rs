//! How large is the page cache, and is it dropped when the suite says so?
//!
//! In:  `/proc/meminfo`.  Out: the gate `page-cache`. With `page_cache = "drop"` also an emptied cache.
//! Not here: whether memory suffices (see `memory_available`).
//!
//! Where CPU and GPU share memory, an engine that sizes its KV cache from `cudaMemGetInfo` counts page cache as used. Runs with and without
//! cached model files are two different experiments, so the amount is archived either way. Source: unslothai/unsloth pull request 10704.
//! NVIDIA's playbooks drop it with the same two steps.

use std::path::Path;
use std::time::Duration;

use super::gate::{Context, Gate, absent};
use super::readings::{Readings, machine};
use sparkbench_host::Question;
use sparkbench_host::sample::HostSample;
use sparkbench_model::Finding;
use sparkbench_plan::PageCache;

/// The gate.
pub(super) struct PageCacheState;

const MIB_PER_GIB: f64 = 1024.0;

/// The kernel's switch, and the value for it: page cache, directory entries and inodes.
/// Source: Linux, Documentation/admin-guide/sysctl/vm.rst, "drop_caches".
const SWITCH: &str = "/proc/sys/vm/drop_caches";
const EVERYTHING: &str = "3";

/// Writing back a cache full of dirty pages to a slow disk takes minutes.
const SYNC_LIMIT: Duration = Duration::from_secs(600);

/// Share of memory from which a kept cache is marked, on a machine whose GPU shares the memory. Engines take nine tenths of the memory that
/// they see as free. Below a tenth the cache changes less than they leave unused anyway.
const NOTABLE: f64 = 0.1;

impl Gate for PageCacheState {
    fn name(&self) -> &'static str {
        "page-cache"
    }

    fn look(&self, ctx: &Context<'_>, seen: &Readings) -> Finding {
        let Some(cached) = cached_gib(&seen.host) else {
            return absent(self, "/proc/meminfo cannot be read", "run where /proc is mounted");
        };
        let reading = format!("{cached:.2} GiB cached");
        if ctx.gates.page_cache == PageCache::Drop {
            return if ctx.host.is_root() {
                Finding::passed(self.name(), format!("{reading}, dropped before each run"))
            } else {
                refused(self, format!("{reading}, and only root may drop it"))
            }
            .value(cached, "GiB")
            .limit("dropped before each run");
        }
        let total = seen.host.memory_total_mib.map(|mib| mib / MIB_PER_GIB);
        let notable = seen.unified() && ctx.needs_gpu && total.is_some_and(|total| cached > NOTABLE * total);
        if notable {
            Finding::warned(
                self.name(),
                format!("{reading} and kept. The GPU shares this memory, and an engine may count it as used"),
                "set page_cache = \"drop\" in [gates] (needs root), or make sure that every run finds the same cache",
            )
        } else {
            Finding::passed(self.name(), format!("{reading}, kept"))
        }
        .value(cached, "GiB")
    }

    fn act(&self, ctx: &Context<'_>, seen: &Readings) -> Option<Finding> {
        if ctx.gates.page_cache == PageCache::Keep {
            return None;
        }
        Some(drop_it(self, ctx, seen).limit("dropped before each run"))
    }
}

fn drop_it(gate: &PageCacheState, ctx: &Context<'_>, seen: &Readings) -> Finding {
    let before = cached_gib(&seen.host);
    // Dirty pages cannot be dropped, so they are written back first.
    match ctx.host.ask(&Question::new(["sync"]).within(SYNC_LIMIT)) {
        Ok(answer) if answer.ok() => {}
        Ok(answer) => {
            return refused(gate, format!("'sync' failed before the cache could be dropped: {}", answer.complaint()));
        }
        Err(cause) => return refused(gate, format!("'sync' cannot be started: {cause}")),
    }
    if let Err(cause) = ctx.host.write(Path::new(SWITCH), EVERYTHING) {
        return refused(gate, format!("the cache cannot be dropped: '{SWITCH}': {cause}"));
    }
    let after = cached_gib(&machine(ctx.host));
    match (before, after) {
        (Some(before), Some(after)) => {
            Finding::passed(gate.name(), format!("dropped: {before:.2} GiB before, {after:.2} GiB after"))
                .value(after, "GiB")
        }
        _ => absent(gate, "dropped, but /proc/meminfo does not say how much it was", "run where /proc is mounted"),
    }
}

fn refused(gate: &PageCacheState, reading: String) -> Finding {
    Finding::refused(
        gate.name(),
        reading,
        "run sparkbench collect as root on the host itself, or set page_cache = \"keep\" in [gates] and read the archived amounts",
    )
}

/// Memory that dropping can free. Shared memory is in `Cached` too and stays.
fn cached_gib(host: &HostSample) -> Option<f64> {
    let shared = host.shmem_mib.unwrap_or(0.0);
    let rest = host.buffers_mib.unwrap_or(0.0) + host.sreclaimable_mib.unwrap_or(0.0);
    host.cached_mib.map(|cached| ((cached - shared).max(0.0) + rest) / MIB_PER_GIB)
}
