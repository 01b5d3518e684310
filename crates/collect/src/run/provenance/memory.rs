//! Memory: size, huge pages, swap, and the kernel's habits with it.
//!
//! In:  a host.  Out: the group `memory`.
//! Not here: how much is free (see `state`).

use std::path::Path;

use serde_json::{Value, json};

use super::sheet::{Sheet, chosen, file, number};
use sparkbench_host::{Host, memory};

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// Fills the group.
pub(super) fn read(host: &dyn Host, sheet: &mut Sheet) {
    let meminfo = file(host, memory::MEMINFO);
    let kib = |name: &str| {
        let text = meminfo.clone()?;
        memory::kib(&text, name).ok_or_else(|| format!("'{}' has no {name}", memory::MEMINFO))
    };
    sheet.put("memory", "total_kib", kib("MemTotal"));
    sheet.put("memory", "swap_total_kib", kib("SwapTotal"));
    sheet.put("memory", "huge_page_kib", kib("Hugepagesize"));
    sheet.put("memory", "thp_enabled", file(host, &format!("{THP}/enabled")).and_then(|text| chosen(&text)));
    sheet.put("memory", "thp_defrag", file(host, &format!("{THP}/defrag")).and_then(|text| chosen(&text)));
    for (key, path) in [
        ("swappiness", "/proc/sys/vm/swappiness"),
        ("overcommit_memory", "/proc/sys/vm/overcommit_memory"),
        ("overcommit_ratio", "/proc/sys/vm/overcommit_ratio"),
        ("min_free_kbytes", "/proc/sys/vm/min_free_kbytes"),
        ("watermark_scale_factor", "/proc/sys/vm/watermark_scale_factor"),
        ("zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode"),
        ("reserved_huge_pages", "/proc/sys/vm/nr_hugepages"),
        ("numa_balancing", "/proc/sys/kernel/numa_balancing"),
        ("same_page_merging", "/sys/kernel/mm/ksm/run"),
    ] {
        sheet.put("memory", key, number(host, path));
    }
    sheet.put("memory", "zswap", file(host, "/sys/module/zswap/parameters/enabled"));
    sheet.put("memory", "swaps", file(host, "/proc/swaps").map(|text| swaps(&text)));
    sheet.put("memory", "zram", zram(host));
}

/// Areas for swapping: kind, size, priority. Their names point at disks of this machine and are left out, but for zram.
fn swaps(text: &str) -> Vec<Value> {
    let area = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let [name, kind, size, _, priority] = cells[..] else { return None };
        let zram = name.starts_with("/dev/zram");
        Some(json!({
            "kind": if zram { "zram" } else { kind },
            "size_kib": size.parse::<u64>().ok()?,
            "priority": priority.parse::<i64>().ok()?,
        }))
    };
    text.lines().skip(1).filter_map(area).collect()
}

fn zram(host: &dyn Host) -> Result<Vec<Value>, String> {
    let names = host.list(Path::new("/sys/block")).map_err(|cause| format!("'/sys/block' cannot be read: {cause}"))?;
    let device = |name: &String| {
        let folder = format!("/sys/block/{name}");
        let size = number(host, &format!("{folder}/disksize")).ok()?;
        let algorithm = file(host, &format!("{folder}/comp_algorithm")).ok().and_then(|text| chosen(&text).ok());
        Some(json!({ "size_mib": size / (1024.0 * 1024.0), "algorithm": algorithm }))
    };
    Ok(names.iter().filter(|name| name.starts_with("zram")).filter_map(device).collect())
}
