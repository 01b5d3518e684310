//! Memory during a run: the floor that ends it, swapping, stalls.
//!
//! In:  `/proc/meminfo` and `/proc/vmstat`, lines of telemetry.  Out: the watchdogs `memory-floor`, `swap-activity`, `memory-pressure`.
//! Not here: memory before a run (see `gates`).
//!
//! On a machine whose GPU shares the host's memory, taking too much can stop the whole machine. Nothing is killed, the driver reports
//! NV_ERR_NO_MEMORY, and only cutting the power helps. So the floor is checked at every tick, not only with each sample. Source:
//! NVIDIA/open-gpu-kernel-modules issue 1358.

use super::kind::{Moment, Start, Watchdog, absent};
use sparkbench_host::sample::HostSample;
use sparkbench_host::{Host, memory};
use sparkbench_model::Finding;

const FLOOR: &str = "memory-floor";
const SWAPPING: &str = "swap-activity";
const PRESSURE: &str = "memory-pressure";

const MIB_PER_GIB: f64 = 1024.0;

/// Share of the last ten seconds, in per cent, in which something waited for memory. From this share a run is marked. A tenth of the time
/// lost to waiting is more than any overhead that a campaign sets out to find.
const STALLED_PCT: f64 = 10.0;

fn read(host: &dyn Host) -> HostSample {
    let mut sample = HostSample::default();
    memory::read(host, &mut sample);
    sample
}

struct Floor {
    floor_gib: Option<f64>,
    lowest_gib: Option<f64>,
}

pub(super) fn floor(start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Floor { floor_gib: start.settings.memory_floor_gib, lowest_gib: None })
}

impl Watchdog for Floor {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        let own = read(now.host).memory_available_mib;
        let all = now.rows.iter().filter_map(|row| row.host.memory_available_mib).chain(own);
        let lowest = all.map(|mib| mib / MIB_PER_GIB).chain(self.lowest_gib).reduce(f64::min)?;
        self.lowest_gib = Some(lowest);
        let floor = self.floor_gib.filter(|floor| lowest < *floor)?;
        Some(
            Finding::refused(
                FLOOR,
                format!("only {lowest:.2} GiB available, ended before the machine hangs"),
                "give the workload less memory (a smaller model or batch, a lower share for the KV cache), or free some before the campaign",
            )
            .value(lowest, "GiB")
            .limit(format!("at least {floor} GiB")),
        )
    }

    fn end(&mut self, _now: &Moment<'_>) -> Finding {
        let Some(lowest) = self.lowest_gib else {
            return absent(FLOOR, "/proc/meminfo has no MemAvailable", "run where /proc is mounted");
        };
        let reading = format!("lowest {lowest:.2} GiB available");
        match self.floor_gib {
            Some(floor) => Finding::passed(FLOOR, reading).limit(format!("at least {floor} GiB")),
            None => absent(
                FLOOR,
                format!("{reading}, no limit is set"),
                "set 'memory_floor_gib' in [watchdogs]. Without it, a run can make the machine hang",
            ),
        }
        .value(lowest, "GiB")
    }
}

/// Pages swapped in and out since boot.
type Pages = Option<(u64, u64)>;

struct Swapping {
    before: Pages,
}

fn pages(host: &dyn Host) -> Pages {
    let sample = read(host);
    sample.swapped_in_pages.zip(sample.swapped_out_pages)
}

pub(super) fn swapping(start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Swapping { before: pages(start.host) })
}

impl Watchdog for Swapping {
    fn tick(&mut self, _now: &Moment<'_>) -> Option<Finding> {
        None
    }

    fn end(&mut self, now: &Moment<'_>) -> Finding {
        let moved = self.before.zip(pages(now.host)).and_then(|((in_before, out_before), (in_after, out_after))| {
            in_after.checked_sub(in_before).zip(out_after.checked_sub(out_before))
        });
        match moved {
            None => absent(SWAPPING, "/proc/vmstat does not count swapped pages", "run where /proc is mounted"),
            Some((0, 0)) => Finding::passed(SWAPPING, "none").value(0.0, "pages"),
            Some((into, out)) => Finding::warned(
                SWAPPING,
                format!("{into} pages swapped in, {out} out"),
                "free memory or switch off swap ('swapoff -a'), then run it again: its times include waits for the disk",
            )
            .value((into + out) as f64, "pages"),
        }
        .limit("no page")
    }
}

#[derive(Default)]
struct Pressure {
    highest_pct: Option<f64>,
}

pub(super) fn pressure(_start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Pressure::default())
}

impl Watchdog for Pressure {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        let all = now.rows.iter().filter_map(|row| row.host.pressure_memory_pct);
        self.highest_pct = all.chain(self.highest_pct).reduce(f64::max);
        None
    }

    fn end(&mut self, _now: &Moment<'_>) -> Finding {
        let Some(highest) = self.highest_pct else {
            return absent(
                PRESSURE,
                "the kernel does not report pressure (/proc/pressure/memory)",
                "use a kernel with CONFIG_PSI, and start it with psi=1 if that is off by default",
            );
        };
        let reading = format!("at most {highest:.1} % of ten seconds stalled");
        if highest < STALLED_PCT {
            Finding::passed(PRESSURE, reading)
        } else {
            Finding::warned(
                PRESSURE,
                reading,
                "give the workload less memory, raise the limit of its control group, or free memory before the campaign",
            )
        }
        .value(highest, "%")
        .limit(format!("below {STALLED_PCT} %"))
    }
}
