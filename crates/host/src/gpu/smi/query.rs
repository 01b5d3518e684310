//! Occasional queries to `nvidia-smi`: the GPU's identity, its users, and the causes of lower clocks so far.
//!
//! In:  a host, the number of the GPU.  Out: identity, processes, counters.
//! Not here: the readings of a run, which come from one child that stays (see the folder's `mod`).
//!
//! Each question starts a program that reloads the driver's library, tens to hundreds of milliseconds: never asked with each sample.

use std::collections::BTreeMap;
use std::time::Duration;

use super::PROGRAM;
use super::cell;
use super::columns::first_known;
use crate::gpu::{GpuIdentity, GpuProcess};
use crate::{Host, Question};
use sparkbench_text::error::{Error, Kind};

/// A driver that has to be loaded first takes seconds, a sick one forever.
const LIMIT: Duration = Duration::from_secs(30);

/// Asks, and takes what is printed.
pub fn ask(host: &dyn Host, arguments: &[&str]) -> Result<String, Error> {
    let argv: Vec<&str> = std::iter::once(PROGRAM).chain(arguments.iter().copied()).collect();
    let command = argv.join(" ");
    let answer = host.ask(&Question::new(argv).within(LIMIT)).map_err(|cause| {
        Error::new(Kind::Preflight, format!("cannot start '{PROGRAM}'"))
            .hint("install the driver's utilities, or put nvidia-smi on the PATH")
            .because(cause)
    })?;
    let text = answer.text();
    if answer.ok() {
        return Ok(text);
    }
    // It complains on standard output.
    let printed = text.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
    let complaint = match printed {
        Some(line) if !answer.timed_out => line.to_owned(),
        _ => answer.complaint(),
    };
    Err(Error::new(Kind::Preflight, format!("'{command}' failed"))
        .detail(complaint)
        .hint("run it by hand. The driver and its utilities must have the same version"))
}

/// Names of the properties of an identity, by field.
const IDENTITY: &[&[&str]] = &[
    &["count"],
    &["driver_version"],
    &["vbios_version"],
    &["pci.bus_id", "gpu_bus_id"],
    &["uuid", "gpu_uuid"],
    &["memory.total"],
    &["clocks.max.sm"],
    &["persistence_mode"],
    &["compute_cap"],
    &["enforced.power.limit", "power.limit"],
    // Last: a name may hold a comma.
    &["name", "gpu_name"],
];

/// Identity of the GPU. Properties that this version does not know stay absent.
pub(crate) fn identity(host: &dyn Host, index: u32, known: &[&str]) -> Result<GpuIdentity, Error> {
    let names: Vec<Option<&str>> = IDENTITY.iter().map(|names| first_known(names, known)).collect();
    let asked: Vec<&str> = names.iter().copied().flatten().collect();
    let values = properties(host, &index.to_string(), &asked)?;
    let text = |place: usize| {
        let name = names.get(place).copied().flatten()?;
        cell::text(values.get(name)?).ok().map(str::to_owned)
    };
    let figure = |place: usize| cell::figure(&text(place)?).ok();
    Ok(GpuIdentity {
        count: figure(0).map(|count| count as u32),
        driver: text(1),
        vbios: text(2),
        pci: text(3),
        uuid: text(4),
        memory_mib: figure(5),
        sm_clock_max_mhz: figure(6),
        persistence: text(7).and_then(|text| cell::switch(&text).ok()),
        compute_capability: text(8),
        power_limit_w: figure(9),
        name: text(10),
        cuda: None,
    })
}

/// Properties of one GPU by name, as printed. The last one may hold commas.
///
/// - `which`: its number or its PCI address.
pub fn properties(host: &dyn Host, which: &str, names: &[&str]) -> Result<BTreeMap<String, String>, Error> {
    let query = format!("--query-gpu={}", names.join(","));
    let text = ask(host, &["-i", which, &query, "--format=csv,noheader,nounits"])?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let cells: Vec<&str> = line.splitn(names.len().max(1), ',').map(str::trim).collect();
    if cells.len() != names.len() {
        return Err(Error::new(Kind::Preflight, "nvidia-smi does not answer as expected")
            .detail(format!("expected {} values, found '{line}'", names.len()))
            .hint("run 'nvidia-smi' by hand: the driver may have lost the GPU"));
    }
    Ok(names.iter().map(|name| (*name).to_owned()).zip(cells.into_iter().map(str::to_owned)).collect())
}

/// Programs that compute on the GPU now.
pub(crate) fn processes(host: &dyn Host, index: u32) -> Result<Vec<GpuProcess>, Error> {
    let columns = "--query-compute-apps=pid,used_memory,process_name";
    let text = ask(host, &["-i", &index.to_string(), columns, "--format=csv,noheader,nounits"])?;
    Ok(text.lines().filter_map(process).collect())
}

fn process(line: &str) -> Option<GpuProcess> {
    let mut cells = line.splitn(3, ',');
    let pid = cells.next()?.trim().parse().ok()?;
    let mib = cells.next().and_then(|cell| cell::figure(cell).ok()).filter(|mib| *mib >= 0.0);
    let name = cells.next().and_then(|cell| cell::text(cell).ok()).unwrap_or_default();
    Some(GpuProcess { pid, name: name.to_owned(), bytes: mib.map(|mib| (mib * 1024.0 * 1024.0) as u64) })
}

/// The driver's report on performance: accumulated causes of lower clocks, and its CUDA version on the way.
pub(crate) fn performance(host: &dyn Host, index: u32) -> Result<String, Error> {
    ask(host, &["-i", &index.to_string(), "-q", "-d", "PERFORMANCE"])
}

/// The driver's CUDA version, in the head of any `nvidia-smi -q`.
pub(crate) fn cuda(text: &str) -> Option<String> {
    labelled(text, "CUDA Version").and_then(|value| cell::text(value).ok()).map(str::to_owned)
}

/// Words of `nvidia-smi -q` for accumulated causes, and ours.
const COUNTERS: &[(&str, &str)] = &[
    ("SW Power Capping", "sw_power_cap"),
    ("Sync Boost", "sync_boost"),
    ("SW Thermal Slowdown", "sw_thermal_slowdown"),
    ("HW Thermal Slowdown", "hw_thermal_slowdown"),
    ("HW Power Braking", "hw_power_brake_slowdown"),
];

/// Accumulated causes of lower clocks, microseconds. Empty where this version prints none.
pub(crate) fn counters(text: &str) -> BTreeMap<String, u64> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().skip_while(|line| {
        let line = line.trim();
        line != "Clocks Event Reasons Counters" && line != "Clocks Throttle Reasons Counters"
    });
    let Some(head) = lines.next() else { return BTreeMap::new() };
    let below = lines.take_while(|line| depth(line) > depth(head));
    let counter = |line: &str| {
        let (label, value) = line.split_once(':')?;
        let (_, name) = COUNTERS.iter().find(|(known, _)| *known == label.trim())?;
        let micros = value.trim().strip_suffix("us")?.trim().replace(',', "").parse().ok()?;
        Some(((*name).to_owned(), micros))
    };
    below.filter_map(counter).collect()
}

fn labelled<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(name, _)| name.trim() == label).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::super::columns::known;
    use super::*;
    use crate::replay::Replay;

    const HELP: &str = include_str!("../../../../../tests/fixtures/nvidia-smi/h200/help-query-gpu.txt");
    const Q: &str = include_str!("../../../../../tests/fixtures/nvidia-smi/h200/q.txt");

    #[test]
    fn accumulated_causes_are_read_from_real_output() {
        let expected = [
            ("hw_power_brake_slowdown", 0),
            ("hw_thermal_slowdown", 0),
            ("sw_power_cap", 2_663_750),
            ("sw_thermal_slowdown", 0),
            ("sync_boost", 0),
        ];
        assert_eq!(counters(Q), expected.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(cuda(Q).as_deref(), Some("13.0"));
    }

    #[test]
    fn counters_that_are_refused_or_not_printed_are_absent() {
        let text = "    Clocks Event Reasons Counters\n        SW Power Capping : N/A\n        Sync Boost : 5 us\n    Sparse Operation Mode : N/A\n        HW Thermal Slowdown : 7 us\n";
        assert_eq!(counters(text), [("sync_boost".to_owned(), 5)].into());
        assert!(counters("    Clocks Event Reasons\n        Sync Boost : Not Active\n").is_empty());
        assert_eq!(cuda("no head"), None);
    }

    #[test]
    fn the_identity_takes_what_this_version_knows() {
        let host = Replay::new().prints(
            &["nvidia-smi", "-i", "0"],
            "1, 580.95.05, 9C.0B.00.00.01, 0000000F:01:00.0, GPU-1, [N/A], 3003, Enabled, 12.1, [N/A], NVIDIA GB10, rev 2\n",
        );
        let identity = identity(&host, 0, &known(HELP)).unwrap();
        assert_eq!(identity.name.as_deref(), Some("NVIDIA GB10, rev 2"));
        assert_eq!(identity.pci.as_deref(), Some("0000000F:01:00.0"));
        assert_eq!((identity.memory_mib, identity.power_limit_w), (None, None));
        assert_eq!((identity.count, identity.persistence), (Some(1), Some(true)));
        assert_eq!((identity.sm_clock_max_mhz, identity.compute_capability.as_deref()), (Some(3003.0), Some("12.1")));
    }

    #[test]
    fn an_answer_of_another_shape_is_an_error_that_shows_it() {
        let host = Replay::new().prints(&["nvidia-smi"], "Unable to determine the device handle\n");
        let error = properties(&host, "0", &["name", "uuid"]).unwrap_err().to_string();
        assert!(error.contains("Unable to determine the device handle"), "{error}");
        let host = Replay::new().answer(
            &["nvidia-smi"],
            crate::Answer {
                code: Some(9),
                stdout: b"NVIDIA-SMI has failed because it couldn't communicate\n\n".to_vec(),
                ..Default::default()
            },
        );
        let error = properties(&host, "0", &["name"]).unwrap_err().to_string();
        assert!(error.contains("couldn't communicate"), "{error}");
        let error = properties(&Replay::new(), "0", &["name"]).unwrap_err().to_string();
        assert!(error.starts_with("cannot start 'nvidia-smi'") && error.contains("PATH"), "{error}");
    }

    #[test]
    fn processes_keep_their_memory_where_it_is_told() {
        let host = Replay::new().prints(
            &["nvidia-smi"],
            "4711, 19135, /usr/local/bin/python\n12, [N/A], [Insufficient Permissions]\n\nNo running processes found\n",
        );
        let expected = vec![
            GpuProcess { pid: 4711, name: "/usr/local/bin/python".to_owned(), bytes: Some(19_135 << 20) },
            GpuProcess { pid: 12, name: String::new(), bytes: None },
        ];
        assert_eq!(processes(&host, 0).unwrap(), expected);
    }
}
