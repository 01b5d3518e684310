//! The state of the machine at one moment: before the first process of a run, and after the last.
//!
//! In:  a host, a GPU where there is one.  Out: [`StateWire`], and the kernel's raw text as files of the run.
//! Not here: samples while the run goes on (see `telemetry`), limits.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use super::folder::write_asset;
use sparkbench_archive::manifest::StateWire;
use sparkbench_host::gpu::{Gpu, lock_within};
use sparkbench_host::sample::HostSample;
use sparkbench_host::{Host, cpu, memory};
use sparkbench_text::error::Error;

/// How long a driver is waited for. One that hangs leaves the state of the GPU absent, not the run unstarted.
const PATIENCE: Duration = Duration::from_secs(5);

/// Files kept whole or in part, and their names in the run's folder before the moment's own.
const KEPT: &[(&str, &str)] = &[("/proc/meminfo", "meminfo"), ("/proc/pressure/memory", "pressure-memory")];

/// Counters of `/proc/vmstat` that tell what memory went through: paging, reclaim, huge pages, the out-of-memory killer.
const VMSTAT: &[&str] = &[
    "nr_free_pages",
    "nr_file_pages",
    "nr_dirty",
    "nr_writeback",
    "nr_anon_pages",
    "nr_anon_transparent_hugepages",
    "nr_shmem",
    "nr_slab_reclaimable",
    "nr_slab_unreclaimable",
    "pgpgin",
    "pgpgout",
    "pswpin",
    "pswpout",
    "pgfault",
    "pgmajfault",
    "pgscan_kswapd",
    "pgscan_direct",
    "pgsteal_kswapd",
    "pgsteal_direct",
    "allocstall_normal",
    "allocstall_movable",
    "compact_stall",
    "thp_fault_alloc",
    "thp_fault_fallback",
    "drop_pagecache",
    "drop_slab",
    "oom_kill",
];

/// Takes the state now. What cannot be read is absent.
pub(crate) fn take(host: &dyn Host, gpu: Option<&Mutex<Box<dyn Gpu>>>) -> StateWire {
    let mut sample = HostSample::default();
    memory::read(host, &mut sample);
    cpu::load(host, &mut sample);
    let reading = gpu.and_then(|gpu| lock_within(host, gpu, PATIENCE)?.sample().ok());
    let gib = |mib: Option<f64>| mib.map(|mib| mib / 1024.0);
    StateWire {
        gpu_c: reading.as_ref().and_then(|gpu| gpu.temp_c),
        memory_free_gib: gib(sample.memory_free_mib),
        memory_available_gib: gib(sample.memory_available_mib),
        page_cache_gib: gib(sample.cached_mib),
        swap_used_gib: gib(sample.swap_used_mib),
        gpu_memory_used_gib: gib(reading.and_then(|gpu| gpu.memory_used_mib)),
        load_1m: sample.load_1m,
    }
}

/// Keeps the kernel's own words of this moment in the run's folder: `meminfo-<when>.txt`, `vmstat-<when>.txt` and so on. A file that this
/// machine does not have is left out.
///
/// # Errors
/// When the folder cannot be written.
pub(crate) fn snapshot(host: &dyn Host, folder: &Path, when: &str) -> Result<(), Error> {
    for (file, name) in KEPT {
        if let Ok(text) = host.read(Path::new(file)) {
            write_asset(folder, format!("{name}-{when}.txt"), text.as_bytes())?;
        }
    }
    if let Ok(text) = host.read(Path::new(memory::VMSTAT)) {
        let lines: String =
            VMSTAT.iter().filter_map(|name| Some(format!("{name} {}\n", memory::counter(&text, name)?))).collect();
        write_asset(folder, format!("vmstat-{when}.txt"), lines.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_host::replay::Replay;

    const SPARK: &str = include_str!("../../../../tests/fixtures/proc/meminfo-spark.txt");

    #[test]
    fn the_state_is_in_gibibytes_and_what_is_not_told_is_absent() {
        let host = Replay::new().file("/proc/meminfo", SPARK).file("/proc/loadavg", "0.25 0 0 1/1 1\n");
        let state = take(&host, None);
        let round = |value: Option<f64>| value.map(|value| (value * 100.0).round() / 100.0);
        assert_eq!(round(state.memory_free_gib), Some(41.52));
        assert_eq!(round(state.page_cache_gib), Some(72.64));
        assert_eq!((state.swap_used_gib, state.load_1m), (Some(0.0), Some(0.25)));
        assert_eq!((state.gpu_c, state.gpu_memory_used_gib), (None, None));
        assert_eq!(take(&Replay::new(), None), StateWire::default());
    }

    #[test]
    fn the_kernel_s_own_words_are_kept_whole_and_in_part() {
        let folder = sparkbench_testing::Folder::new("state");
        let host = Replay::new()
            .file("/proc/meminfo", SPARK)
            .file("/proc/vmstat", "nr_zone_inactive 5\npswpin 7\noom_kill 0\npswpout_other 9\n");
        snapshot(&host, &folder, "before").unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("meminfo-before.txt")).unwrap(), SPARK);
        assert_eq!(std::fs::read_to_string(folder.join("vmstat-before.txt")).unwrap(), "pswpin 7\noom_kill 0\n");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "no pressure here");
    }
}
