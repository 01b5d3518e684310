//! Versions of container software and of firmware.
//!
//! In:  a host.  Out: the groups `software` and `firmware`.
//! Not here: the content of an environment, which describes itself.

use serde_json::{Value, json};

use super::sheet::{Sheet, says};
use sparkbench_host::Host;

/// Programs that tell a version, by key.
const VERSIONS: &[(&str, &[&str])] = &[
    ("docker", &["docker", "version", "--format", "{{.Server.Version}}"]),
    ("docker_client", &["docker", "version", "--format", "{{.Client.Version}}"]),
    ("containerd", &["containerd", "--version"]),
    ("runc", &["runc", "--version"]),
    ("podman", &["podman", "--version"]),
    ("nvidia_container_toolkit", &["nvidia-ctk", "--version"]),
    ("systemd", &["systemctl", "--version"]),
    ("nspawn", &["systemd-nspawn", "--version"]),
    ("cuda_compiler", &["nvcc", "--version"]),
];

/// Fills the groups.
pub(super) fn read(host: &dyn Host, sheet: &mut Sheet) {
    for (key, argv) in VERSIONS {
        sheet.put("software", key, says(host, argv).map(|text| version(&text)));
    }
    let devices = says(host, &["fwupdmgr", "get-devices", "--json", "--no-unreported-check"])
        .or_else(|_| says(host, &["fwupdmgr", "get-devices", "--json"]));
    sheet.put("firmware", "devices", devices.and_then(|text| firmware(&text)));
}

/// The line that names the version: the last one for the compiler, whose first is a title, else the first.
fn version(text: &str) -> String {
    let release = text.lines().find(|line| line.contains("release "));
    release.or_else(|| text.lines().find(|line| !line.trim().is_empty())).unwrap_or_default().trim().to_owned()
}

/// Name, maker and version of each device. Serial numbers and ids are not taken.
fn firmware(text: &str) -> Result<Vec<Value>, String> {
    let tree: Value = serde_json::from_str(text).map_err(|cause| format!("'fwupdmgr' prints no JSON: {cause}"))?;
    let devices = tree.get("Devices").and_then(Value::as_array).ok_or("'fwupdmgr' names no devices")?;
    let device = |device: &Value| {
        let text = |key: &str| device.get(key).and_then(Value::as_str);
        Some(json!({ "name": text("Name")?, "vendor": text("Vendor"), "version": text("Version")? }))
    };
    Ok(devices.iter().filter_map(device).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firmware_keeps_versions_and_drops_what_names_one_machine() {
        let text = r#"{"Devices": [
            {"Name": "UEFI Device Firmware", "DeviceId": "abc", "Serial": "1234", "Version": "0x02009418", "Vendor": "NVIDIA"},
            {"Name": "no version"}]}"#;
        assert_eq!(
            firmware(text).unwrap(),
            [json!({"name": "UEFI Device Firmware", "vendor": "NVIDIA", "version": "0x02009418"})]
        );
        assert!(firmware("{}").is_err() && firmware("no").is_err());
    }

    #[test]
    fn the_line_with_the_version_is_kept() {
        assert_eq!(
            version("nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n"),
            "Cuda compilation tools, release 13.0, V13.0.88"
        );
        assert_eq!(
            version("\nNVIDIA Container Toolkit CLI version 1.18.0\ncommit: 1\n"),
            "NVIDIA Container Toolkit CLI version 1.18.0"
        );
    }
}
