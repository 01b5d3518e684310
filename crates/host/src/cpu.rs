//! Processors: load, busy share, current clocks.
//!
//! In:  a host.  Out: the processor fields of a [`HostSample`].
//! Not here: governors and highest clocks (see `run::provenance`).
//!
//! Clocks come from cpufreq where it is, else from `/proc/cpuinfo`, which has them on x86-64 only. Nothing is derived from the ids of
//! processors: on a DGX Spark the two kinds of core alternate in groups of five.

use std::path::{Path, PathBuf};

use super::Host;
use super::sample::HostSample;

/// Load averages.
pub(crate) const LOADAVG: &str = "/proc/loadavg";
/// Time of each processor by state.
pub(crate) const STAT: &str = "/proc/stat";
/// Clocks, on x86-64.
pub(crate) const CPUINFO: &str = "/proc/cpuinfo";
/// One folder for each group of processors that share a clock.
pub(crate) const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// Reads the load average over one minute.
pub fn load(host: &dyn Host, sample: &mut HostSample) {
    let text = host.read(Path::new(LOADAVG)).ok();
    sample.load_1m = text.and_then(|text| text.split_whitespace().next()?.parse().ok());
}

/// Processor time of the whole machine since boot, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    all: u64,
}

/// Busy share between two readings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Busy {
    last: Option<Ticks>,
}

impl Busy {
    /// Takes the reading. The first one has nothing to be compared with and stays absent.
    pub(crate) fn read(&mut self, host: &dyn Host, sample: &mut HostSample) {
        let now = host.read(Path::new(STAT)).ok().and_then(|text| ticks(&text));
        sample.cpu_busy_pct = self.last.zip(now).and_then(|(last, now)| share(last, now));
        self.last = now;
    }
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal. Guest time is already in user and nice.
fn ticks(text: &str) -> Option<Ticks> {
    let figures: Option<Vec<u64>> =
        text.lines().next()?.strip_prefix("cpu ")?.split_whitespace().take(8).map(|word| word.parse().ok()).collect();
    let figures = figures.filter(|figures| figures.len() >= 4)?;
    let all = figures.iter().sum();
    let idle = figures[3] + figures.get(4).copied().unwrap_or(0);
    Some(Ticks { busy: all - idle, all })
}

/// Absent when no time has passed, or when the counters went back (iowait may, and a restored machine does).
fn share(last: Ticks, now: Ticks) -> Option<f64> {
    let all = now.all.checked_sub(last.all).filter(|all| *all > 0)?;
    let busy = now.busy.checked_sub(last.busy)?;
    Some((busy as f64 / all as f64 * 100.0).min(100.0))
}

/// Current clocks, by files found once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clocks {
    files: Vec<PathBuf>,
}

impl Clocks {
    /// Looks for the clocks of this machine.
    pub(crate) fn find(host: &dyn Host) -> Self {
        let policies = host.list(Path::new(CPUFREQ)).unwrap_or_default();
        let files = policies.iter().filter(|name| name.starts_with("policy"));
        let files = files.map(|name| Path::new(CPUFREQ).join(name).join("scaling_cur_freq"));
        Self { files: files.filter(|file| host.exists(file)).collect() }
    }

    /// Takes the reading.
    pub(crate) fn read(&self, host: &dyn Host, sample: &mut HostSample) {
        let clocks: Vec<f64> = if self.files.is_empty() {
            host.read(Path::new(CPUINFO)).map(|text| cpuinfo(&text)).unwrap_or_default()
        } else {
            let texts = self.files.iter().filter_map(|file| host.read(file).ok());
            texts.filter_map(|text| Some(text.trim().parse::<f64>().ok()? / 1000.0)).collect()
        };
        sample.cpu_clock_min_mhz = clocks.iter().copied().reduce(f64::min);
        sample.cpu_clock_max_mhz = clocks.iter().copied().reduce(f64::max);
    }
}

/// Clocks in `/proc/cpuinfo`, MHz, in its order. None on machines that print none.
fn cpuinfo(text: &str) -> Vec<f64> {
    let value = |line: &str| line.strip_prefix("cpu MHz")?.trim_start().strip_prefix(':')?.trim().parse().ok();
    text.lines().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Replay;

    #[test]
    fn busy_is_what_was_not_idle_nor_waiting_between_two_readings() {
        let host = Replay::new().file(STAT, "cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 1 1 1\n");
        let (mut busy, mut sample) = (Busy::default(), HostSample::default());
        busy.read(&host, &mut sample);
        assert_eq!(sample.cpu_busy_pct, None, "one reading has no share");
        host.set_file(STAT, "cpu  140 0 60 830 70 0 0 0 99 0\n");
        busy.read(&host, &mut sample);
        assert_eq!(sample.cpu_busy_pct, Some(50.0), "50 of 100 ticks; guest time is part of user");
    }

    #[test]
    fn counters_that_went_back_or_stood_still_give_no_share() {
        let at = |busy, all| Ticks { busy, all };
        assert_eq!(share(at(5, 10), at(5, 10)), None);
        assert_eq!(share(at(5, 10), at(4, 20)), None);
        assert_eq!(share(at(5, 10), at(2, 4)), None);
        assert_eq!(ticks("cpu0 1 2 3 4\n"), None);
        assert_eq!(ticks("cpu  1 2 x 4\n"), None);
        assert_eq!(ticks(""), None);
    }

    #[test]
    fn clocks_come_from_cpufreq_and_else_from_cpuinfo() {
        let spark = Replay::new()
            .file("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "2808000\n")
            .file("/sys/devices/system/cpu/cpufreq/policy5/scaling_cur_freq", "3900000\n")
            .file("/sys/devices/system/cpu/cpufreq/boost", "1\n");
        let clocks = Clocks::find(&spark);
        let mut sample = HostSample::default();
        clocks.read(&spark, &mut sample);
        assert_eq!((sample.cpu_clock_min_mhz, sample.cpu_clock_max_mhz), (Some(2808.0), Some(3900.0)));

        let x86 = Replay::new().file(CPUINFO, include_str!("../../../tests/fixtures/proc/cpuinfo-x86.txt"));
        Clocks::find(&x86).read(&x86, &mut sample);
        assert_eq!((sample.cpu_clock_min_mhz, sample.cpu_clock_max_mhz), (Some(2596.12), Some(2596.12)));

        let arm = Replay::new().file(CPUINFO, "processor\t: 0\nBogoMIPS\t: 2000.00\nCPU part\t: 0xd85\n");
        Clocks::find(&arm).read(&arm, &mut sample);
        assert_eq!((sample.cpu_clock_min_mhz, sample.cpu_clock_max_mhz), (None, None));
    }

    #[test]
    fn the_load_is_the_first_figure() {
        let mut sample = HostSample::default();
        load(&Replay::new().file(LOADAVG, "1.47 1.03 0.67 2/134 4161\n"), &mut sample);
        assert_eq!(sample.load_1m, Some(1.47));
        load(&Replay::new(), &mut sample);
        assert_eq!(sample.load_1m, None);
    }
}
