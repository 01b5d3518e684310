//! Maker and model, firmware, system, kernel.
//!
//! In:  a host, the name of its GPU.  Out: the groups `machine`, `system` and `vulnerabilities`.
//! Not here: processors, memory.
//!
//! Makers sell the same board under other names. So a DGX Spark is known by both the firmware's name of the machine and its GPU. Source:
//! lablup/all-smi issue 147, what DMI tells on one (`NVIDIA_DGX_Spark`, board `P4242`).

use std::path::Path;

use serde_json::{Map, Value};

use super::sheet::{Sheet, file, says};
use sparkbench_host::Host;

const DMI: &str = "/sys/class/dmi/id";

/// Fields of DMI that every user may read and that name no single machine.
const FIELDS: &[&str] = &[
    "product_name",
    "product_family",
    "product_version",
    "sys_vendor",
    "board_name",
    "board_vendor",
    "board_version",
    "bios_vendor",
    "bios_version",
    "bios_date",
    "chassis_type",
];

/// Lines of `/etc/dgx-release` that name no single machine. It also holds a serial number.
const RELEASE: &[&str] =
    &["DGX_NAME", "DGX_PRETTY_NAME", "DGX_SWBUILD_VERSION", "DGX_SWBUILD_DATE", "DGX_OTA_VERSION", "DGX_OTA_DATE"];

/// Fills the groups.
pub(super) fn read(host: &dyn Host, gpu: Option<&str>, sheet: &mut Sheet) {
    let mut product = None;
    for field in FIELDS {
        let value = file(host, &format!("{DMI}/{field}"));
        if *field == "product_name" {
            product = value.clone().ok();
        }
        sheet.put("machine", field, value);
    }
    sheet.put("machine", "kind", kind(product.as_deref(), gpu).map(str::to_owned));
    let release = file(host, "/etc/os-release");
    let of = |key: &str| {
        release.clone().and_then(|text| assigned(&text, key).ok_or_else(|| format!("'/etc/os-release' has no {key}")))
    };
    sheet.put("system", "os", of("PRETTY_NAME"));
    sheet.put("system", "os_version", of("VERSION_ID"));
    sheet.put("system", "dgx_release", file(host, "/etc/dgx-release").map(|text| lines(&text, RELEASE)));
    sheet.put("system", "kernel", file(host, "/proc/sys/kernel/osrelease"));
    sheet.put("system", "kernel_build", file(host, "/proc/sys/kernel/version"));
    sheet.put(
        "system",
        "architecture",
        file(host, "/proc/sys/kernel/arch").map_or_else(|_| says(host, &["uname", "-m"]), Ok),
    );
    sheet.put("system", "cmdline", file(host, "/proc/cmdline").map(|text| without_addresses(&text)));
    sheet.put("system", "clock_source", file(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    // It answers "none" with a status other than 0, which is an answer.
    sheet.put("system", "virtualisation", virtualisation(host));
    let uptime = file(host, "/proc/uptime").ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    sheet.maybe("system", "uptime_s", uptime, "'/proc/uptime' cannot be read");
    vulnerabilities(host, sheet);
}

/// Identity of the machine, by names.
pub(super) fn kind(product: Option<&str>, gpu: Option<&str>) -> Result<&'static str, String> {
    let spark =
        product.is_some_and(|product| product.replace(['_', '-'], " ").to_ascii_lowercase().contains("dgx spark"));
    let gb10 = gpu.is_some_and(|gpu| super::gpu::has_word(gpu, "GB10"));
    match (spark, gb10, product, gpu) {
        (true, true, ..) => Ok("DGX Spark"),
        (false, true, ..) => Ok("GB10 machine, not named DGX Spark by its firmware"),
        (true, false, _, None) => Ok("DGX Spark by its firmware. Its GPU could not be read"),
        (true, false, ..) => Ok("DGX Spark by its firmware, with another GPU"),
        (false, false, None, None) => Err("neither firmware nor driver names the machine".to_owned()),
        (false, false, ..) => Ok("other"),
    }
}

fn virtualisation(host: &dyn Host) -> Result<String, String> {
    let argv = ["systemd-detect-virt"];
    let answer = host
        .ask(&sparkbench_host::Question::new(argv))
        .map_err(|cause| format!("'{}' cannot be started: {cause}", argv[0]))?;
    let word = answer.text().trim().to_owned();
    if word.is_empty() { Err(format!("'{}' failed: {}", argv[0], answer.complaint())) } else { Ok(word) }
}

/// `KEY="value"` of a file of assignments.
fn assigned(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(value.trim().trim_matches('"').to_owned()).filter(|value| !value.is_empty())
}

fn lines(text: &str, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), Value::String(assigned(text, key)?)))).collect()
}

/// The kernel's command line without what points at one machine: disks by their ids, addresses, names.
pub(super) fn without_addresses(text: &str) -> String {
    const HIDDEN: &[&str] = &["root", "resume", "ip", "nfsroot", "ifname", "hostname", "BOOT_IMAGE"];
    let hide = |word: &str| match word.split_once('=') {
        Some((key, _)) if HIDDEN.contains(&key) || key.starts_with("rd.") || key.starts_with("systemd.hostname") => {
            format!("{key}=[hidden]")
        }
        _ => word.to_owned(),
    };
    text.split_whitespace().map(hide).collect::<Vec<_>>().join(" ")
}

fn vulnerabilities(host: &dyn Host, sheet: &mut Sheet) {
    const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";
    match host.list(Path::new(FOLDER)) {
        Ok(names) => {
            for name in names {
                sheet.put("vulnerabilities", &name, file(host, &format!("{FOLDER}/{name}")));
            }
        }
        Err(cause) => sheet.put::<String>("vulnerabilities", "all", Err(format!("'{FOLDER}' cannot be read: {cause}"))),
    }
}
