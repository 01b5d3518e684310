//! The words of a suite file.
//!
//! In:  nothing.  Out: [`Suite`] and its parts.
//! Not here: reading the file, checking it, expanding it.

use std::collections::BTreeMap;

use super::{Faults, Reader, Settings};
use sparkbench_model::{CustomMetric, SequentialDesign};

/// Schema of a suite file.
pub const SUITE_SCHEMA: &str = "sparkbench.suite/1";

/// Most runs that one suite may plan: a hundred thousand runs of a second each take a day.
pub const RUNS_MAX: usize = 100_000;
/// Below this many repeats a comparison has next to no chance to decide anything.
pub const REPEATS_FEW: u32 = 3;

/// One experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Name of the campaign. Its slug names the archive.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    pub question: Option<String>,
    /// Markdown of its authors.
    pub prose: Option<String>,
    /// Label of the machine facts.
    pub machine: Option<String>,
    /// Environment others are compared with.
    pub baseline: Option<String>,
    /// Seed of the order.
    pub seed: u64,
    /// Runs of each cell. The most there can be where the campaign stops when it is decided.
    pub repeats: u32,
    /// When the campaign looks at its figures, where it stops when it is decided.
    pub sequential: Option<SequentialDesign>,
    /// Order of the runs.
    pub order: Order,
    /// Metrics that decide.
    pub primary: Vec<String>,
    /// Metrics that each run is to report.
    pub planned_metrics: Vec<String>,
    /// Margins, per cent, by metric.
    pub margins_pct: BTreeMap<String, f64>,
    /// Figures that are true by construction, by metric.
    pub truth: BTreeMap<String, f64>,
    /// Metrics that the suite defines, by name.
    pub metrics: BTreeMap<String, CustomMetric>,
    /// The authors' expectations.
    pub hypotheses: Vec<Hypothesis>,
    /// By label, in the order of the file.
    pub environments: Vec<Part>,
    /// By label. A suite without models has one of the label `none`.
    pub models: Vec<Model>,
    /// By label, in the order of the file.
    pub workloads: Vec<Part>,
    /// Cells left out: globs over labels, and why.
    pub skip: Vec<Skip>,
    /// Conditions before each run.
    pub gates: Gates,
    /// Conditions during each run.
    pub watchdogs: Watchdogs,
    /// Sampling.
    pub telemetry: TelemetrySettings,
    /// Retention of the files that a workload leaves.
    pub retention: Retention,
    /// Masking before anything is written.
    pub privacy: Privacy,
    /// Further machines that are measured with this one.
    pub nodes: Option<Nodes>,
    /// The file as it was written.
    pub text: String,
}

/// Machines that are measured as one system. The one that `collect` runs on is the head, whether it is listed or not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nodes {
    /// Where the list comes from.
    pub source: NodeSource,
    /// Launcher of a process on each of them.
    pub launcher: Launcher,
    /// Range of addresses of the fast link, e.g. `192.168.177.0/24`. Absent is the device that reaches them.
    pub link: Option<String>,
    /// Address of this machine at which the others meet it. Absent is its address on that link.
    pub head: Option<String>,
    /// Where sparkbench lies on the other machines.
    pub program: String,
    /// Words before the name of a machine. Only the launcher `ssh` needs them.
    pub ssh: Vec<String>,
    /// Words behind `mpirun` or `srun`, e.g. `--mca btl_tcp_if_include 192.168.177.0/24`.
    pub launcher_args: Vec<String>,
    /// Port that the head listens at. 0 takes one that is free.
    pub port: u16,
    /// Seconds of the link measurement before the first run, for each direction and number of streams. 0 leaves it out.
    pub link_probe_s: f64,
}

/// An environment or a workload: its kind, and settings that the kind reads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Label in plan, archive and pages.
    pub label: String,
    /// Name of the kind, e.g. `docker`, `trtllm-bench`. The label where the suite gives none and a kind of that name exists.
    pub kind: String,
    /// What is done with the page cache before its runs, where that differs from [`Gates::page_cache`]. Environments only.
    pub page_cache: Option<PageCache>,
    /// The whole table. Read it with [`Part::reader`], which knows what has been taken.
    pub settings: Settings,
    /// Keys that were taken from the table already.
    pub taken: &'static [&'static str],
}

impl Part {
    /// Begins to take the keys that the kind itself knows. [`Reader::finish`] must follow.
    pub fn reader<'a>(&'a self, faults: &'a mut Faults) -> Reader<'a> {
        let mut reader = self.settings.reader(faults);
        reader.ignore(self.taken);
        reader
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// Label in plan, archive and pages.
    pub label: String,
    /// Id, e.g. `meta-llama/Llama-3.1-8B-Instruct`.
    pub id: Option<String>,
    /// For people.
    pub title: Option<String>,
    /// Where the weights lie, as the environment sees it.
    pub path: Option<String>,
    /// Revision of the weights.
    pub revision: Option<String>,
    /// Data type or quantisation.
    pub quantisation: Option<String>,
}

/// Label of the one model of a suite that names none.
pub const NO_MODEL: &str = sparkbench_model::Campaign::NO_MODEL;

/// Where the list of machines comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NodeSource {
    /// Names or addresses.
    Hosts(Vec<String>),
    /// A file, one host a line. Relative to the suite's folder.
    Hostfile(String),
    /// Avahi: machines that offer ssh on this device, or on any wired one.
    Discover(Option<String>),
    /// Slurm's list, inside a job.
    #[default]
    Slurm,
}

/// Launcher of a process on the other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Launcher {
    /// One `ssh` for each.
    #[default]
    Ssh,
    /// Open MPI, one rank a machine.
    Mpirun,
    /// Slurm, one task a machine.
    Srun,
}

impl Launcher {
    /// Every launcher.
    pub const ALL: [Self; 3] = [Self::Ssh, Self::Mpirun, Self::Srun];

    /// Name in suites.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Mpirun => "mpirun",
            Self::Srun => "srun",
        }
    }
}

/// Order of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Block after block, each one run of every environment under one model and workload. See `expand` for the order by the seed.
    #[default]
    Interleaved,
    /// All runs of an environment before the next. Asked for in words, and said in the archive.
    Blocked,
}

/// The authors' expectation for one comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hypothesis {
    /// In words.
    pub claim: String,
    /// Metric that decides.
    pub metric: Option<String>,
    /// Environment to compare with.
    pub baseline: Option<String>,
    /// Environment under question.
    pub candidate: Option<String>,
    /// Verdict kind.
    pub expect: Option<String>,
    /// Margin, per cent.
    pub margin_pct: Option<f64>,
}

/// Cells left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skip {
    /// Glob over labels. Absent is every one.
    pub environment: Option<String>,
    /// Likewise.
    pub model: Option<String>,
    /// Likewise.
    pub workload: Option<String>,
    /// Why.
    pub reason: String,
}

impl Order {
    /// Name in suites and archives.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Interleaved => "interleaved",
            Self::Blocked => "blocked",
        }
    }

    /// What it means for the comparison, in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Interleaved => {
                "each block holds one run of every environment, in an order drawn by the seed, so drift of the machine affects all \
                 environments alike"
            }
            Self::Blocked => {
                "all runs of one environment come before the first of the next, so drift of the machine looks like a difference \
                 between environments"
            }
        }
    }
}

/// Treatment of the page cache before each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageCache {
    /// Left as it is, and recorded.
    #[default]
    Keep,
    /// Written back and dropped (root), and recorded.
    Drop,
}

impl PageCache {
    /// Name in suites.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Drop => "drop",
        }
    }
}

/// Conditions before each run. `None` is "no such gate".
#[derive(Debug, Clone, PartialEq)]
pub struct Gates {
    /// Highest GPU temperature at the start, degrees Celsius.
    pub gpu_temp_max_c: Option<f64>,
    /// Least pause before each run but the first, seconds.
    pub cooldown_min_s: f64,
    /// Longest wait for all gates that wait, seconds. Then the run fails.
    pub wait_max_s: f64,
    /// Highest power draw of the idle GPU, watts.
    pub gpu_idle_power_max_w: Option<f64>,
    /// Highest load average over one minute, per core.
    pub host_load_max_per_core: Option<f64>,
    /// Least `MemAvailable`, GiB.
    pub memory_available_min_gib: Option<f64>,
    /// Most swap in use, GiB.
    pub swap_used_max_gib: Option<f64>,
    /// Least free space for the archive, GiB.
    pub disk_free_min_gib: f64,
    /// Page cache before each run.
    pub page_cache: PageCache,
    /// Refuse when another process uses the GPU. Otherwise only recorded as a warning.
    pub gpu_exclusive: bool,
    /// Refuse when no GPU can be read at all.
    pub gpu_required: bool,
    /// Least SM clock under the short probe, MHz. The probe runs only when this is set.
    pub clock_probe_min_mhz: Option<f64>,
}

/// Conditions during each run. `None` is "no such watchdog".
#[derive(Debug, Clone, PartialEq)]
pub struct Watchdogs {
    /// The run is ended when `MemAvailable` falls below, GiB.
    pub memory_floor_gib: Option<f64>,
    /// The run is ended after this time, seconds. A workload may set its own.
    pub time_limit_s: f64,
    /// Time between the polite end and SIGKILL, seconds.
    pub grace_s: f64,
    /// SM clock below this share of the run's own highest, per cent, at full utilisation, is marked as sag.
    pub clock_sag_pct: Option<f64>,
    /// Xid and NVRM lines of the kernel log fail the run.
    pub kernel_log: bool,
}

/// Sampling.
#[derive(Debug, Clone, PartialEq)]
pub struct TelemetrySettings {
    /// Seconds between samples. Absent is 1 s, and 0.1 s for runs expected to be shorter than 30 s.
    pub interval_s: Option<f64>,
    /// `auto`, `nvml`, `nvidia-smi` or `off`.
    pub gpu: String,
    /// Which GPU.
    pub gpu_index: u32,
}

/// What is kept of the files that a workload leaves in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Globs of files not kept (their names, sizes and hashes are).
    pub drop: Vec<String>,
    /// Files above this size are not kept either, MiB.
    pub file_max_mib: u64,
    /// Globs of files that are kept packed by gzip.
    pub pack: Vec<String>,
}

/// The masking rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privacy {
    /// Host and user names become stable pseudonyms.
    pub pseudonyms: bool,
    /// Further names of variables whose values are secret, as globs.
    pub secret_variables: Vec<String>,
    /// Further words replaced wherever they occur.
    pub words: Vec<String>,
}

impl Suite {
    /// Treatment of the page cache before a run in this environment.
    pub fn page_cache(&self, environment: &str) -> PageCache {
        let own = self.environments.iter().find(|part| part.label == environment).and_then(|part| part.page_cache);
        own.unwrap_or(self.gates.page_cache)
    }
}

impl Default for Gates {
    /// Temperature and pause as the published study stated them. The rest from what stops a machine with unified memory from wedging.
    fn default() -> Self {
        Self {
            gpu_temp_max_c: Some(45.0),
            cooldown_min_s: 300.0,
            wait_max_s: 3600.0,
            gpu_idle_power_max_w: None,
            host_load_max_per_core: Some(0.5),
            memory_available_min_gib: Some(6.0),
            swap_used_max_gib: None,
            disk_free_min_gib: 2.0,
            page_cache: PageCache::Keep,
            gpu_exclusive: true,
            gpu_required: true,
            clock_probe_min_mhz: None,
        }
    }
}

impl Default for Watchdogs {
    fn default() -> Self {
        Self {
            memory_floor_gib: Some(4.0),
            time_limit_s: 3600.0,
            grace_s: 10.0,
            clock_sag_pct: Some(60.0),
            kernel_log: true,
        }
    }
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self { interval_s: None, gpu: "auto".to_owned(), gpu_index: 0 }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self { drop: Vec::new(), file_max_mib: 1024, pack: Vec::new() }
    }
}

impl Default for Privacy {
    fn default() -> Self {
        Self { pseudonyms: true, secret_variables: Vec::new(), words: Vec::new() }
    }
}
