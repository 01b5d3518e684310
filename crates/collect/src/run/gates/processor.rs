//! Settings of the processor's clocks and of large pages: choices of the machine's owner that every run inherits.
//!
//! In:  `/sys`.  Out: the advice `cpu-governor` and `huge-pages`.
//! Not here: clocks during a run (see telemetry).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::gate::{Context, Gate, absent};
use super::readings::Readings;
use sparkbench_model::Finding;

/// Advice: the frequency governor of every core.
pub(super) struct Governor;

const CORES: &str = "/sys/devices/system/cpu";

impl Gate for Governor {
    fn name(&self) -> &'static str {
        "cpu-governor"
    }

    fn look(&self, ctx: &Context<'_>, _seen: &Readings) -> Finding {
        let cores: Vec<PathBuf> = ctx
            .host
            .list(Path::new(CORES))
            .unwrap_or_default()
            .iter()
            .filter(|name| name.strip_prefix("cpu").is_some_and(|rest| rest.parse::<u32>().is_ok()))
            .map(|name| Path::new(CORES).join(name).join("cpufreq"))
            .collect();
        let text = |path: PathBuf| ctx.host.read(&path).ok().map(|text| text.trim().to_owned());
        let governors: BTreeSet<String> = cores.iter().filter_map(|core| text(core.join("scaling_governor"))).collect();
        if governors.is_empty() {
            return absent(
                self,
                "the kernel offers no frequency governor here",
                "load a cpufreq driver, unless this is a virtual machine",
            );
        }
        let number = |path: PathBuf| text(path).and_then(|text| text.parse::<u64>().ok());
        let capped = cores
            .iter()
            .filter(|core| match (number(core.join("scaling_max_freq")), number(core.join("cpuinfo_max_freq"))) {
                (Some(allowed), Some(most)) => allowed < most,
                _ => false,
            })
            .count();
        let list: Vec<&str> = governors.iter().map(String::as_str).collect();
        let mut reading = list.join(", ");
        if capped > 0 {
            reading.push_str(&format!(", {capped} of {} cores are limited below their highest clock", cores.len()));
        }
        if capped == 0 && list == ["performance"] {
            Finding::passed(self.name(), reading)
        } else {
            Finding::warned(
                self.name(),
                reading,
                "set it with cpupower frequency-set -g performance as root, without a cap, or keep it the same for every run",
            )
        }
        .limit("performance, no cap")
    }
}

/// Advice: transparent huge pages.
pub(super) struct HugePages;

const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

impl Gate for HugePages {
    fn name(&self) -> &'static str {
        "huge-pages"
    }

    fn look(&self, ctx: &Context<'_>, _seen: &Readings) -> Finding {
        let text = ctx.host.read(Path::new(HUGE_PAGES)).unwrap_or_default();
        // The kernel marks the choice: `always [madvise] never`.
        match text.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
            Some(("never", _)) => Finding::warned(
                self.name(),
                "never",
                "run echo madvise > /sys/kernel/mm/transparent_hugepage/enabled as root, or keep it the same for every run",
            ),
            Some((choice, _)) => Finding::passed(self.name(), choice),
            None => absent(self, "the kernel has no transparent huge pages", "nothing to do"),
        }
    }
}
