//! Did the GPU hold its clocks back, as the driver reports it?
//!
//! In:  the reasons in every sample, the accumulated causes.  Out: the watchdogs `throttle-reasons`, `throttle-time`.
//! Not here: clocks that sag without a reason (see `clocks`).
//!
//! One sample a second misses events of a tenth of a second. The counters miss nothing, where the driver has them (580 and later). Source:
//! NVIDIA/k8s-test-infra pull request 691.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::kind::{Moment, Start, Watchdog, absent};
use sparkbench_host::gpu::THROTTLE_LIMITS;
use sparkbench_model::Finding;

const REASONS: &str = "throttle-reasons";
const TIME: &str = "throttle-time";

const REMEDY: &str = "check fan, air flow and power supply. Lock the clock below what the machine can hold (nvidia-smi -lgc) for every run, or cool down longer";

/// Share of the run, per cent, from which accumulated causes are a mark: less moves no figure beyond what repeats differ by.
const NOTABLE_PCT: f64 = 1.0;

/// Words in the name of a cause that is no limit of this GPU.
const NO_LIMIT: &str = "sync";

#[derive(Default)]
struct Reasons {
    samples: u64,
    seen: BTreeMap<u64, u64>,
}

pub(super) fn reasons(_start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Reasons::default())
}

impl Watchdog for Reasons {
    fn tick(&mut self, now: &Moment<'_>) -> Option<Finding> {
        for bits in now.rows.iter().filter_map(|row| row.gpu.as_ref()?.throttle_bits) {
            self.samples += 1;
            for (bit, _) in THROTTLE_LIMITS.iter().filter(|(bit, _)| bits & bit != 0) {
                *self.seen.entry(*bit).or_default() += 1;
            }
        }
        None
    }

    fn end(&mut self, _now: &Moment<'_>) -> Finding {
        if self.samples == 0 {
            return absent(
                REASONS,
                "no sample has the driver's reasons of lower clocks",
                "see 'nvidia-smi -q -d PERFORMANCE'",
            );
        }
        if self.seen.is_empty() {
            return Finding::passed(REASONS, format!("none in {} samples", self.samples)).limit("none");
        }
        let named = THROTTLE_LIMITS.iter().filter_map(|(bit, name)| Some((*name, *self.seen.get(bit)?)));
        let list: Vec<String> =
            named.map(|(name, count)| format!("{name} in {count} of {} samples", self.samples)).collect();
        Finding::warned(REASONS, list.join(", "), REMEDY).limit("none")
    }
}

struct Counters {
    before: BTreeMap<String, u64>,
}

fn counted(gpu: Option<&std::sync::Mutex<Box<dyn sparkbench_host::gpu::Gpu>>>) -> BTreeMap<String, u64> {
    gpu.map(|gpu| gpu.lock().unwrap_or_else(PoisonError::into_inner).throttle_counters()).unwrap_or_default()
}

pub(super) fn counters(start: &Start<'_>) -> Box<dyn Watchdog> {
    Box::new(Counters { before: counted(start.gpu) })
}

impl Watchdog for Counters {
    fn tick(&mut self, _now: &Moment<'_>) -> Option<Finding> {
        None
    }

    fn end(&mut self, now: &Moment<'_>) -> Finding {
        let after = counted(now.gpu);
        if self.before.is_empty() || after.is_empty() {
            return absent(
                TIME,
                "the driver does not report accumulated causes of lower clocks",
                "use driver 580 or later ('nvidia-smi -q -d PERFORMANCE'). The samples have reasons of their own",
            );
        }
        let mut causes: Vec<(&str, f64)> = Vec::new();
        for (name, after) in &after {
            let Some(before) = self.before.get(name) else { continue };
            let Some(microseconds) = after.checked_sub(*before) else {
                return absent(TIME, "the counters went back: the driver was reloaded during the run", "run it again");
            };
            causes.push((name, microseconds as f64 / 1e6));
        }
        causes.retain(|(_, seconds)| *seconds > 0.0);
        let total: f64 = causes.iter().filter(|(name, _)| !name.contains(NO_LIMIT)).map(|(_, seconds)| seconds).sum();
        let list: Vec<String> = causes.iter().map(|(name, seconds)| format!("{name} {seconds:.3} s")).collect();
        let reading = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        let share = if now.passed_s > 0.0 { 100.0 * total / now.passed_s } else { 0.0 };
        if share < NOTABLE_PCT { Finding::passed(TIME, reading) } else { Finding::warned(TIME, reading, REMEDY) }
            .value(total, "s")
            .limit(format!("below {NOTABLE_PCT} % of the run"))
    }
}
