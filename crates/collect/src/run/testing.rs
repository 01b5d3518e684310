//! Machines for the tests of gates and watchdogs: a DGX Spark as published, an H200 as recorded, and a GPU that follows the clock.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use std::collections::BTreeMap;

use crate::run::Watcher;
use crate::run::gates::{self, Context};
use sparkbench_host::Host as _;
use sparkbench_host::gpu::{Gpu, GpuIdentity, GpuProcess, GpuSample};
use sparkbench_host::replay::Replay;
use sparkbench_model::{Finding, Instant};
use sparkbench_plan::Gates;
use sparkbench_text::error::Error;

/// Readings of a GPU at a moment, seconds since the test began.
pub(super) type Says = Box<dyn FnMut(f64) -> Result<GpuSample, String> + Send>;

/// A GPU that follows the clock of a recording.
pub(super) struct Fake {
    pub host: Replay,
    pub began: Duration,
    pub identity: GpuIdentity,
    pub says: Says,
    pub processes: Result<Vec<GpuProcess>, String>,
    pub counters: Vec<BTreeMap<String, u64>>,
}

impl Gpu for Fake {
    fn source(&self) -> &'static str {
        "nvml"
    }

    fn identity(&self) -> GpuIdentity {
        self.identity.clone()
    }

    fn sample(&mut self) -> Result<GpuSample, Error> {
        let now = (self.host.monotonic() - self.began).as_secs_f64();
        (self.says)(now).map_err(Error::archive)
    }

    fn absent(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn processes(&mut self) -> Result<Vec<GpuProcess>, Error> {
        self.processes.clone().map_err(Error::archive)
    }

    fn throttle_counters(&mut self) -> BTreeMap<String, u64> {
        if self.counters.len() > 1 {
            self.counters.remove(0)
        } else {
            self.counters.first().cloned().unwrap_or_default()
        }
    }

    fn child_cpu_s(&self) -> f64 {
        0.0
    }
}

/// A machine before a run.
pub(super) struct Machine {
    pub host: Replay,
    pub began: Duration,
    pub gpu: Option<Mutex<Box<dyn Gpu>>>,
    pub no_gpu: String,
    pub gates: Gates,
    pub needs_gpu: bool,
    pub last_ended: Option<Duration>,
    pub clocks: Option<(Instant, Duration)>,
}

/// `/proc/meminfo` with these figures, GiB.
pub(super) fn meminfo(free: f64, available: f64, cached: f64) -> String {
    let kib = |gib: f64| format!("{:.0} kB", gib * 1_048_576.0);
    format!(
        "MemTotal: {}\nMemFree: {}\nMemAvailable: {}\nBuffers: {}\nCached: {}\nShmem: {}\nSReclaimable: {}\nSwapTotal: {}\nSwapFree: {}\n",
        kib(121.69),
        kib(free),
        kib(available),
        kib(0.25),
        kib(cached),
        kib(0.0),
        kib(0.25),
        kib(16.0),
        kib(15.5),
    )
}

/// The idle GPU of a DGX Spark. Source: snowflakedb/ArcticTraining pull request 345. XuehaiPan/nvitop pull request 208.
pub(super) fn idle_spark() -> GpuSample {
    GpuSample {
        util_pct: Some(0.0),
        power_w: Some(4.5),
        temp_c: Some(38.0),
        sm_clock_mhz: Some(208.0),
        pstate: Some(8),
        throttle_bits: Some(0x1),
        ..GpuSample::default()
    }
}

/// A GPU that always says the same.
pub(super) fn steady(sample: GpuSample) -> Says {
    Box::new(move |_| Ok(sample.clone()))
}

impl Machine {
    /// A DGX Spark at rest, ready for a run. Memory as measured on one (unslothai/unsloth pull request 10704).
    pub(super) fn spark() -> Self {
        let mut host = Replay::new()
            .file("/proc/meminfo", meminfo(103.25, 115.85, 5.0))
            .file("/proc/vmstat", "pswpin 100\npswpout 200\n")
            .file("/proc/loadavg", "0.42 0.30 0.20 1/900 4711\n")
            .file("/sys/devices/system/cpu/online", "0-19\n")
            .file("/run/systemd/timesync/synchronized", "")
            .file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .folder("/data")
            .disk("/", 500 << 30)
            .kernel(&[]);
        for core in 0..20 {
            let most = if core % 10 < 5 { "2808000\n" } else { "3900000\n" };
            let folder = format!("/sys/devices/system/cpu/cpu{core}/cpufreq");
            host = host
                .file(format!("{folder}/scaling_governor"), "performance\n")
                .file(format!("{folder}/scaling_max_freq"), most)
                .file(format!("{folder}/cpuinfo_max_freq"), most);
        }
        let began = host.monotonic();
        let machine = Self {
            host,
            began,
            gpu: None,
            no_gpu: String::new(),
            gates: Gates::default(),
            needs_gpu: true,
            last_ended: None,
            clocks: None,
        };
        let identity = GpuIdentity {
            name: Some("NVIDIA GB10".to_owned()),
            driver: Some("580.173.02".to_owned()),
            pci: Some("0000000F:01:00.0".to_owned()),
            count: Some(1),
            sm_clock_max_mhz: Some(3003.0),
            persistence: Some(true),
            ..GpuIdentity::default()
        };
        machine.with_gpu(identity, steady(idle_spark()))
    }

    /// The H200 whose idle figures are in `nvidia-smi` output recorded on 2026-11-20.
    pub(super) fn h200() -> Self {
        let identity = GpuIdentity {
            name: Some("NVIDIA H200".to_owned()),
            memory_mib: Some(143_771.0),
            sm_clock_max_mhz: Some(1980.0),
            persistence: Some(true),
            ..GpuIdentity::default()
        };
        let idle = GpuSample {
            util_pct: Some(0.0),
            power_w: Some(75.86),
            temp_c: Some(34.0),
            sm_clock_mhz: Some(345.0),
            memory_clock_mhz: Some(3201.0),
            memory_used_mib: Some(0.0),
            pstate: Some(0),
            throttle_bits: Some(0x1),
            ..GpuSample::default()
        };
        Self::spark().with_gpu(identity, steady(idle))
    }

    /// A machine without a GPU, as its two sources say it.
    pub(super) fn without_gpu() -> Self {
        Self { gpu: None, no_gpu: "no nvidia-smi and no libnvidia-ml".to_owned(), ..Self::spark() }
    }

    fn with_gpu(mut self, identity: GpuIdentity, says: Says) -> Self {
        let (host, began) = (self.host.clone(), self.began);
        let fake = Fake { host, began, identity, says, processes: Ok(Vec::new()), counters: Vec::new() };
        self.gpu = Some(Mutex::new(Box::new(fake)));
        self
    }

    /// The GPU says this instead.
    #[must_use]
    pub(super) fn saying(self, says: Says) -> Self {
        let identity = self.identity();
        self.with_gpu(identity, says)
    }

    /// The idle GPU of a Spark, with a change.
    #[must_use]
    pub(super) fn idling(self, change: impl FnOnce(&mut GpuSample)) -> Self {
        let mut sample = idle_spark();
        change(&mut sample);
        self.saying(steady(sample))
    }

    /// The GPU is another one.
    #[must_use]
    pub(super) fn being(self, change: impl FnOnce(&mut GpuIdentity)) -> Self {
        let mut identity = self.identity();
        change(&mut identity);
        self.with_gpu(identity, steady(idle_spark()))
    }

    /// These processes use the GPU.
    #[must_use]
    pub(super) fn used_by(mut self, processes: Result<Vec<GpuProcess>, String>) -> Self {
        let (host, began, identity) = (self.host.clone(), self.began, self.identity());
        let fake = Fake { host, began, identity, says: steady(idle_spark()), processes, counters: Vec::new() };
        self.gpu = Some(Mutex::new(Box::new(fake)));
        self
    }

    fn identity(&self) -> GpuIdentity {
        self.gpu.as_ref().map(|gpu| gpu.lock().unwrap().identity()).unwrap_or_default()
    }

    /// Other limits.
    #[must_use]
    pub(super) fn limits(mut self, change: impl FnOnce(&mut Gates)) -> Self {
        change(&mut self.gates);
        self
    }

    /// Another host.
    #[must_use]
    pub(super) fn on(mut self, change: impl FnOnce(Replay) -> Replay) -> Self {
        self.host = change(self.host);
        self
    }

    /// Seconds since the test began.
    pub(super) fn passed(&self) -> f64 {
        (self.host.monotonic() - self.began).as_secs_f64()
    }

    /// A moment of the recording, seconds since the test began.
    pub(super) fn at(seconds: u64) -> Duration {
        Replay::new().monotonic() + Duration::from_secs(seconds)
    }

    /// Input of the gates.
    pub(super) fn context(&self) -> Context<'_> {
        Context {
            host: &self.host,
            gpu: self.gpu.as_ref(),
            no_gpu: &self.no_gpu,
            gates: &self.gates,
            archive: Path::new("/data/archive/campaign"),
            needs_gpu: self.needs_gpu,
            last_ended: self.last_ended,
            began: self.clocks,
            ours: &[77],
        }
    }

    /// The finding of one gate at one look.
    pub(super) fn look(&self, gate: &str) -> Finding {
        gates::look(&self.context()).into_iter().find(|finding| finding.gate == gate).unwrap()
    }
}

/// Hears what is waited for.
#[derive(Default)]
pub(super) struct Ear {
    /// Gate, seconds waited, limit, done.
    pub heard: Mutex<Vec<(String, f64, f64, bool)>>,
}

impl Watcher for Ear {
    fn say(&self, _line: &str) {}

    fn warn(&self, _line: &str) {}

    fn waiting(&self, gate: &Finding, waited_s: f64, limit_s: f64, done: bool) {
        self.heard.lock().unwrap().push((gate.gate.clone(), waited_s, limit_s, done));
    }

    fn progress(&self, _done: usize, _of: usize, _running: &str, _left_s: Option<f64>) {}
}
