//! The GPU: its model, settings and users.
//!
//! In:  a host, a GPU where there is one.  Out: the group `gpu`, and whether the GPU shares the machine's memory.
//! Not here: readings (see `telemetry`).

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use super::sheet::Sheet;
use sparkbench_archive::hash;
use sparkbench_host::Host;
use sparkbench_host::gpu::smi::columns::known;
use sparkbench_host::gpu::smi::{cell, query};
use sparkbench_host::gpu::{Gpu, GpuIdentity, lock_within};

/// How long a driver is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Settings that only `nvidia-smi` tells.
const SETTINGS: &[(&str, &str)] = &[
    ("applications_clock_mhz", "clocks.applications.graphics"),
    ("applications_memory_clock_mhz", "clocks.applications.memory"),
    ("memory_clock_max_mhz", "clocks.max.memory"),
    ("compute_mode", "compute_mode"),
    ("mig_mode", "mig.mode.current"),
    ("ecc_mode", "ecc.mode.current"),
    ("addressing_mode", "addressing_mode"),
];

/// Parts whose GPU has no memory of its own.
const UNIFIED: &[&str] = &["GB10", "N1X", "Thor", "Orin", "Xavier"];

/// Whether CPU and GPU share one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unified {
    /// Absent when names and driver leave it open.
    pub unified: Option<bool>,
    /// Why.
    pub because: String,
}

/// Decides by the known name first, then by whether the driver tells a size.
///
/// The compute capability does not decide: a GH200 has that of an H100. A size alone does not either, since some parts of this family tell
/// one that means little. Sources: leptonai/gpud pull request 1170 (no size on a GB10), unslothai/unsloth pull request 10283 (a size on an
/// N1X).
pub fn unified(identity: &GpuIdentity) -> Unified {
    let name = identity.name.as_deref().unwrap_or_default();
    let known = UNIFIED.iter().find(|part| has_word(name, part));
    let (unified, because) = match (known, identity.memory_mib) {
        (Some(part), None) => (Some(true), format!("a {part}, and the driver reports no memory of its own")),
        (Some(part), Some(_)) => (Some(true), format!("a {part}, although the driver reports a size")),
        (None, Some(mib)) => (Some(false), format!("the driver reports {mib:.0} MiB of its own")),
        (None, None) => (
            None,
            "the driver reports no size, and the name is not one that shares the memory of the machine".to_owned(),
        ),
    };
    Unified { unified, because }
}

/// Whether a name holds a whole word: `GB10` is in `NVIDIA GB10` and not in `NVIDIA GB100`.
pub(super) fn has_word(name: &str, word: &str) -> bool {
    name.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|part| part.eq_ignore_ascii_case(word))
}

/// A stable name for a GPU that does not give away which one it is.
pub(super) fn pseudonym(uuid: &str) -> String {
    format!("gpu-{}", hash(uuid.trim().to_ascii_lowercase().as_bytes()).get(..6).unwrap_or_default())
}

/// Fills the group, and tells the GPU's name.
pub(super) fn read(host: &dyn Host, gpu: Option<&Mutex<Box<dyn Gpu>>>, sheet: &mut Sheet) -> Option<String> {
    let Some(gpu) = gpu else {
        sheet.put::<Value>("gpu", "all", Err("no GPU can be read, the gate 'gpu-present' says why".to_owned()));
        return None;
    };
    let Some(mut gpu) = lock_within(host, gpu, PATIENCE) else {
        sheet.put::<Value>("gpu", "all", Err("the driver does not answer".to_owned()));
        return None;
    };
    let identity = gpu.identity();
    let untold = "the driver does not report it";
    sheet.put("gpu", "source", Ok(gpu.source()));
    sheet.maybe("gpu", "name", identity.name.clone(), untold);
    sheet.maybe("gpu", "pseudonym", identity.uuid.as_deref().map(pseudonym), untold);
    sheet.put("gpu", "pseudonym_note", Ok("the first six digits of the SHA-256 of the UUID, which itself is not kept"));
    sheet.maybe("gpu", "driver", identity.driver.clone(), untold);
    sheet.maybe("gpu", "cuda", identity.cuda.clone(), untold);
    sheet.maybe("gpu", "vbios", identity.vbios.clone(), untold);
    sheet.maybe("gpu", "pci", identity.pci.clone(), untold);
    sheet.maybe(
        "gpu",
        "memory_mib",
        identity.memory_mib,
        "the driver reports no size: the memory may be that of the machine",
    );
    sheet.maybe("gpu", "count", identity.count, untold);
    sheet.maybe("gpu", "sm_clock_max_mhz", identity.sm_clock_max_mhz, untold);
    sheet.maybe("gpu", "persistence", identity.persistence, untold);
    sheet.maybe("gpu", "compute_capability", identity.compute_capability.clone(), untold);
    sheet.maybe("gpu", "power_limit_w", identity.power_limit_w, untold);
    let unified = unified(&identity);
    sheet.maybe("gpu", "unified_memory", unified.unified, &unified.because);
    sheet.put("gpu", "unified_memory_because", Ok(unified.because));
    let locked = "drivers do not report a lock by 'nvidia-smi -lgc', but the telemetry of each run shows its effect";
    sheet.put::<Value>("gpu", "clock_lock", Err(locked.to_owned()));
    sheet.put(
        "gpu",
        "users",
        gpu.processes().map_err(|error| error.what).map(|users| {
            let user = |user: &sparkbench_host::gpu::GpuProcess| {
                // The path may lead through a user's home. The program's own name is enough.
                let name = user.name.rsplit('/').next().unwrap_or_default();
                json!({ "program": name, "mib": user.bytes.map(|bytes| bytes as f64 / (1024.0 * 1024.0)) })
            };
            users.iter().map(user).collect::<Vec<Value>>()
        }),
    );
    drop(gpu);
    settings(host, &identity, sheet);
    identity.name
}

/// Data from `nvidia-smi` beyond the source itself, asked under the names that its version knows.
fn settings(host: &dyn Host, identity: &GpuIdentity, sheet: &mut Sheet) {
    let which = identity.pci.as_deref().unwrap_or("0");
    let answer = query::ask(host, &["--help-query-gpu"]).and_then(|help| {
        let known = known(&help);
        let names: Vec<&str> = SETTINGS.iter().map(|(_, name)| *name).filter(|name| known.contains(name)).collect();
        query::properties(host, which, &names)
    });
    match answer {
        Ok(values) => {
            for (key, name) in SETTINGS {
                let value = values.get(*name).ok_or_else(|| "this version of nvidia-smi does not know it".to_owned());
                let value = value.and_then(|value| cell::text(value).map(str::to_owned));
                let value = value.map(|text| cell::figure(&text).map_or(Value::String(text), Value::from));
                sheet.put("gpu", key, value);
            }
        }
        Err(error) => {
            for (key, _) in SETTINGS {
                sheet.put::<Value>("gpu", key, Err(error.what.clone()));
            }
        }
    }
}
