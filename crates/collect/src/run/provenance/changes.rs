//! Changes between two inventories that a campaign does not allow.
//!
//! In:  two trees of `inventory`.  Out: one sentence a change.
//! Not here: what follows from it. Readings that change by themselves (uptime, users, the clock's offset) are not compared.

use serde_json::Value;

/// Group, key, and how a sentence calls it. A key of `*` is every key of the group.
const FIXED: &[(&str, &str, &str)] = &[
    ("gpu", "name", "the GPU"),
    ("gpu", "pseudonym", "the GPU's identity"),
    ("gpu", "driver", "the driver"),
    ("gpu", "cuda", "the driver's CUDA version"),
    ("gpu", "vbios", "the GPU's firmware"),
    ("gpu", "persistence", "persistence mode"),
    ("gpu", "power_limit_w", "the power limit, W"),
    ("gpu", "sm_clock_max_mhz", "the highest SM clock, MHz"),
    ("gpu", "applications_clock_mhz", "the applications clock, MHz"),
    ("gpu", "compute_mode", "compute mode"),
    ("gpu", "mig_mode", "MIG mode"),
    ("gpu", "ecc_mode", "ECC mode"),
    ("machine", "product_name", "the machine"),
    ("machine", "bios_version", "the machine's firmware"),
    ("system", "os", "the operating system"),
    ("system", "kernel", "the kernel"),
    ("system", "cmdline", "the kernel's command line"),
    ("processor", "online", "the processors in use"),
    ("processor", "affinity", "our processor affinity"),
    ("processor", "clusters", "clocks and governors of the processors"),
    ("processor", "smt_active", "hardware threads"),
    ("memory", "total_kib", "the size of memory, KiB"),
    ("memory", "swaps", "swap"),
    ("memory", "thp_enabled", "transparent huge pages"),
    ("memory", "thp_defrag", "defragmentation for huge pages"),
    ("memory", "swappiness", "swappiness"),
    ("memory", "overcommit_memory", "overcommitment of memory"),
    ("software", "docker", "Docker"),
    ("software", "containerd", "containerd"),
    ("software", "podman", "Podman"),
    ("software", "nvidia_container_toolkit", "the NVIDIA container toolkit"),
    ("software", "nspawn", "systemd-nspawn"),
    ("firmware", "devices", "firmware"),
    ("vulnerabilities", "*", "the mitigation of"),
    ("file_systems", "*", "the file system below"),
    ("models", "*", "the files of the model in"),
];

/// Sentences of the kind "the driver was 580.95.05 and is 580.142".
pub fn changes(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (group, key, words) in FIXED {
        if *key == "*" {
            let keys = |tree: &Value| {
                tree.get(group).and_then(Value::as_object).map(|fields| fields.keys().cloned().collect::<Vec<_>>())
            };
            let mut all: Vec<String> = [before, after].into_iter().filter_map(keys).flatten().collect();
            all.sort();
            all.dedup();
            found.extend(all.iter().filter_map(|key| change(before, after, group, key, &format!("{words} {key}"))));
        } else {
            found.extend(change(before, after, group, key, words));
        }
    }
    found
}

fn change(before: &Value, after: &Value, group: &str, key: &str, words: &str) -> Option<String> {
    let value = |tree: &Value| tree.get(group).and_then(|group| group.get(key)).cloned();
    match (value(before), value(after)) {
        (Some(was), Some(is)) if was != is => Some(format!("{words} was {} and is {}", text(&was), text(&is))),
        (Some(was), None) => {
            Some(format!("{words} was {} and is no longer reported{}", text(&was), reason(after, group, key)))
        }
        (None, Some(is)) => {
            Some(format!("{words} was not reported{} and is {}", reason(before, group, key), text(&is)))
        }
        _ => None,
    }
}

fn reason(tree: &Value, group: &str, key: &str) -> String {
    let absent = |name: String| tree.get("absent").and_then(|absent| absent.get(name)).and_then(Value::as_str);
    let found = absent(format!("{group}.{key}")).or_else(|| absent(format!("{group}.all")));
    found.map(|reason| format!(" ({reason})")).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| format!("'{text}'"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_driver_that_changed_is_a_sentence_and_an_uptime_is_none() {
        let before = json!({
            "gpu": {"driver": "580.95.05", "power_limit_w": 700.0},
            "system": {"kernel": "6.11.0-1016-nvidia", "uptime_s": 5.0},
            "vulnerabilities": {"spectre_v2": "Mitigation: A"},
            "absent": {"software.docker": "not there"},
        });
        let after = json!({
            "gpu": {"driver": "580.142"},
            "system": {"kernel": "6.11.0-1016-nvidia", "uptime_s": 9.0},
            "vulnerabilities": {"spectre_v2": "Vulnerable"},
            "software": {"docker": "29.2.1"},
            "absent": {"gpu.power_limit_w": "the driver does not report it"},
        });
        assert_eq!(
            changes(&before, &after),
            [
                "the driver was '580.95.05' and is '580.142'",
                "the power limit, W was 700.0 and is no longer reported (the driver does not report it)",
                "Docker was not reported (not there) and is '29.2.1'",
                "the mitigation of spectre_v2 was 'Mitigation: A' and is 'Vulnerable'",
            ]
        );
        assert!(changes(&before, &before).is_empty());
        assert!(changes(&json!({}), &json!(null)).is_empty());
    }
}
