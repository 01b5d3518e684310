//! Memory, swap and load of the machine, from `/proc/meminfo`, `/proc/vmstat` and `/proc/loadavg`.
//!
//! In:  a host.  Out: the memory fields of a [`HostSample`]. What the kernel does not print is absent.
//! Not here: limits, which memory counts as free on a GPU with unified memory (see `run::gates`).
//!
//! `MemAvailable` counts page cache that can be given back, `MemFree` does not. On a GPU with unified memory `cudaMemGetInfo` follows
//! `MemFree`, so both are kept.

use std::path::Path;

use super::Host;
use super::sample::HostSample;

/// Where the kernel prints memory.
pub const MEMINFO: &str = "/proc/meminfo";
/// Where the kernel counts pages.
pub const VMSTAT: &str = "/proc/vmstat";

/// Takes the reading.
pub fn read(host: &dyn Host, sample: &mut HostSample) {
    if let Ok(text) = host.read(Path::new(MEMINFO)) {
        meminfo(&text, sample);
    }
    if let Ok(text) = host.read(Path::new(VMSTAT)) {
        sample.swapped_in_pages = counter(&text, "pswpin");
        sample.swapped_out_pages = counter(&text, "pswpout");
    }
}

/// Fills the fields that `/proc/meminfo` has.
pub(crate) fn meminfo(text: &str, sample: &mut HostSample) {
    let mib = |name| kib(text, name).map(|kib| kib as f64 / 1024.0);
    sample.memory_total_mib = mib("MemTotal");
    sample.memory_free_mib = mib("MemFree");
    sample.memory_available_mib = mib("MemAvailable");
    sample.cached_mib = mib("Cached");
    sample.buffers_mib = mib("Buffers");
    sample.sreclaimable_mib = mib("SReclaimable");
    sample.shmem_mib = mib("Shmem");
    sample.anon_mib = mib("AnonPages");
    sample.dirty_mib = mib("Dirty");
    // Swapping can move between two lines of one reading: the difference is never below 0.
    sample.swap_used_mib = mib("SwapTotal").zip(mib("SwapFree")).map(|(total, free)| (total - free).max(0.0));
}

/// One line of `/proc/meminfo`, in KiB (the kernel writes `kB` and means 1,024 bytes). A line without the unit is a count, not a size.
pub fn kib(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    rest.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// One line of `/proc/vmstat` and its relatives: a name, a blank, a number.
pub fn counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Replay;

    /// This kernel's own, 6.18, a machine without swap.
    const PLAIN: &str = include_str!("../../../tests/fixtures/proc/meminfo-x86.txt");
    /// Total of a DGX Spark, cache and free as published for one (see the head of the file's folder).
    const SPARK: &str = include_str!("../../../tests/fixtures/proc/meminfo-spark.txt");

    #[test]
    fn a_real_meminfo_is_read_in_mebibytes() {
        let mut sample = HostSample::default();
        meminfo(PLAIN, &mut sample);
        assert_eq!(sample.memory_total_mib, Some(24_684_092.0 / 1024.0));
        assert_eq!(sample.cached_mib, Some(2_499_716.0 / 1024.0), "not SwapCached");
        assert_eq!(sample.shmem_mib, Some(8_856.0 / 1024.0), "not ShmemHugePages");
        assert_eq!(sample.swap_used_mib, Some(0.0), "no swap is none in use");
    }

    #[test]
    fn on_unified_memory_free_falls_with_the_page_cache_and_available_does_not() {
        let mut sample = HostSample::default();
        meminfo(SPARK, &mut sample);
        let gib = |mib: Option<f64>| (mib.unwrap() / 1024.0 * 100.0).round() / 100.0;
        assert_eq!((gib(sample.memory_total_mib), gib(sample.memory_free_mib)), (121.69, 41.52));
        assert_eq!((gib(sample.memory_available_mib), gib(sample.cached_mib)), (115.65, 72.64));
    }

    #[test]
    fn what_the_kernel_does_not_print_is_absent() {
        let mut sample = HostSample::default();
        meminfo("MemTotal: 5 kB\nMemFree: lots kB\nHugePages_Total: 3\nDirty:\n", &mut sample);
        assert_eq!(sample, HostSample { memory_total_mib: Some(5.0 / 1024.0), ..HostSample::default() });
        assert_eq!(kib("HugePages_Total:       3", "HugePages_Total"), None, "a count is not a size");
        read(&Replay::new(), &mut sample);
        assert_eq!(sample.swapped_in_pages, None);
    }

    #[test]
    fn counters_are_found_by_their_whole_name() {
        let text = "pswpin_extra 1\npswpin 7\npswpout 9\n";
        assert_eq!(
            (counter(text, "pswpin"), counter(text, "pswpout"), counter(text, "pswp")),
            (Some(7), Some(9), None)
        );
    }

    #[test]
    fn swap_in_use_is_never_below_nothing() {
        let mut sample = HostSample::default();
        meminfo("SwapTotal: 0 kB\nSwapFree: 8 kB\n", &mut sample);
        assert_eq!(sample.swap_used_mib, Some(0.0));
    }
}
