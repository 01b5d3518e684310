//! Processors: kinds of core, governors, highest clocks, affinity, limits.
//!
//! In:  a host.  Out: the groups `processor` and `limits`.
//! Not here: current clocks and load (see `telemetry`).
//!
//! Cores are grouped by their highest clock and their part number, never by their ids. On a DGX Spark the two kinds alternate in groups of
//! five. The same work takes half as long again on the slower kind. Source of part numbers: Linux, `arch/arm64/include/asm/cputype.h`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::sheet::{Sheet, file, number};
use sparkbench_host::Host;

const FOLDER: &str = "/sys/devices/system/cpu";

/// Names of parts of Arm's own design.
const PARTS: &[(u64, &str)] = &[
    (0xd40, "Neoverse V1"),
    (0xd42, "Cortex-A78AE"),
    (0xd49, "Neoverse N2"),
    (0xd4f, "Neoverse V2"),
    (0xd83, "Neoverse V3AE"),
    (0xd84, "Neoverse V3"),
    (0xd85, "Cortex-X925"),
    (0xd87, "Cortex-A725"),
];

/// Shared properties of the cores of a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cluster {
    max_khz: Option<u64>,
    part: Option<String>,
    driver: Option<String>,
    governor: Option<String>,
    limit_khz: Option<u64>,
}

/// Fills the groups.
pub(super) fn read(host: &dyn Host, sheet: &mut Sheet) {
    let cpuinfo = file(host, "/proc/cpuinfo");
    let labelled = |label: &str| cpuinfo.as_ref().ok().and_then(|text| value(text, label));
    sheet.maybe(
        "processor",
        "model",
        labelled("model name").or_else(|| labelled("Model")),
        "'/proc/cpuinfo' names no model",
    );
    sheet.maybe("processor", "microcode", labelled("microcode"), "'/proc/cpuinfo' gives none");
    sheet.put("processor", "online", file(host, &format!("{FOLDER}/online")));
    sheet.put("processor", "isolated", isolated(host));
    sheet.put("processor", "smt_active", number(host, &format!("{FOLDER}/smt/active")).map(|active| active > 0.0));
    sheet.put("processor", "numa_nodes", file(host, "/sys/devices/system/node/online"));
    sheet.put("processor", "boost", number(host, &format!("{FOLDER}/cpufreq/boost")).map(|boost| boost > 0.0));
    sheet.put("processor", "idle_driver", file(host, &format!("{FOLDER}/cpuidle/current_driver")));
    let status = file(host, "/proc/self/status");
    let affinity = status
        .and_then(|text| value(&text, "Cpus_allowed_list").ok_or_else(|| "not in '/proc/self/status'".to_owned()));
    sheet.put("processor", "affinity", affinity);
    clusters(host, sheet);
    limits(host, sheet);
}

fn isolated(host: &dyn Host) -> Result<String, String> {
    let path = format!("{FOLDER}/isolated");
    let text = host.read(Path::new(&path)).map_err(|cause| format!("'{path}' cannot be read: {cause}"))?;
    Ok(if text.trim().is_empty() { "none".to_owned() } else { text.trim().to_owned() })
}

fn clusters(host: &dyn Host, sheet: &mut Sheet) {
    let names = host.list(Path::new(FOLDER)).unwrap_or_default();
    let mut ids: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
    ids.sort_unstable();
    let mut found: BTreeMap<Cluster, Vec<u32>> = BTreeMap::new();
    for id in ids {
        found.entry(cluster(host, id)).or_default().push(id);
    }
    if found.is_empty() {
        return sheet.put::<Value>("processor", "clusters", Err(format!("'{FOLDER}' cannot be read")));
    }
    if found.keys().all(|cluster| cluster.max_khz.is_none()) {
        let why = "no cpufreq here: the firmware or the hypervisor controls the clocks";
        sheet.put::<Value>("processor", "governor", Err(why.to_owned()));
    }
    let mhz = |khz: Option<u64>| khz.map(|khz| khz as f64 / 1000.0);
    let list = found.into_iter().rev().map(|(cluster, ids)| {
        json!({
            "cpus": ranges(&ids),
            "count": ids.len(),
            "max_mhz": mhz(cluster.max_khz),
            "limit_mhz": mhz(cluster.limit_khz),
            "part": cluster.part,
            "driver": cluster.driver,
            "governor": cluster.governor,
        })
    });
    sheet.put("processor", "clusters", Ok(list.collect::<Vec<Value>>()));
}

fn cluster(host: &dyn Host, id: u32) -> Cluster {
    let text = |name: &str| file(host, &format!("{FOLDER}/cpu{id}/{name}")).ok();
    let khz = |name: &str| text(name).and_then(|text| text.parse().ok());
    Cluster {
        max_khz: khz("cpufreq/cpuinfo_max_freq"),
        part: text("regs/identification/midr_el1").and_then(|text| part(&text)),
        driver: text("cpufreq/scaling_driver"),
        governor: text("cpufreq/scaling_governor"),
        limit_khz: khz("cpufreq/scaling_max_freq"),
    }
}

/// Bits 4 to 15 of the main id register are the part, bits 24 to 31 its maker, 0x41 being Arm.
fn part(midr: &str) -> Option<String> {
    let bits = u64::from_str_radix(midr.strip_prefix("0x")?, 16).ok()?;
    let (maker, part) = (bits >> 24 & 0xff, bits >> 4 & 0xfff);
    let name = PARTS.iter().find(|(known, _)| maker == 0x41 && *known == part).map(|(_, name)| (*name).to_owned());
    Some(name.unwrap_or_else(|| format!("maker {maker:#04x}, part {part:#05x}")))
}

/// `0-4,10-14`.
pub(super) fn ranges(ids: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for id in ids {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*id) => *last = *id,
            _ => parts.push((*id, *id)),
        }
    }
    let text = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The first line `label : value` of a file of the kernel.
fn value(text: &str, label: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(name, _)| name.trim() == label).map(|(_, value)| value.trim().to_owned())
}

/// Limits of our own process, which its children inherit: columns of fixed places, soft and hard.
fn limits(host: &dyn Host, sheet: &mut Sheet) {
    let text = match file(host, "/proc/self/limits") {
        Ok(text) => text,
        Err(reason) => return sheet.put::<Value>("limits", "all", Err(reason)),
    };
    for line in text.lines().skip(1) {
        // Names hold blanks, so two blanks separate the columns.
        let mut cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        if let (Some(name), Some(soft), Some(hard)) = (cells.next(), cells.next(), cells.next()) {
            let key = name.to_ascii_lowercase().replace(' ', "_");
            sheet.put("limits", &key, Ok(json!({ "soft": soft, "hard": hard })));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3, 4, 10, 12, 13]), "0-4,10,12-13");
        assert_eq!(ranges(&[7]), "7");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn parts_are_read_from_the_id_register() {
        assert_eq!(part("0x00000000410fd851").as_deref(), Some("Cortex-X925"));
        assert_eq!(part("0x00000000410fd871").as_deref(), Some("Cortex-A725"));
        assert_eq!(part("0x00000000510fd850").as_deref(), Some("maker 0x51, part 0xd85"));
        assert_eq!(part("nothing"), None);
    }
}
