//! The words of a suite file.
//!
//! In:  nothing.  Out: [`Suite`] and its parts.
//! Not here: reading the file, checking it, expanding it.

use std::collections::BTreeMap;

use super::{Faults, Reader, Settings};

/// Schema of a suite file.
pub const SUITE_SCHEMA: &str = "sparkbench.suite/1";

/// Most runs that one suite may plan: a hundred thousand runs of a second each take a day.
pub const RUNS_MAX: usize = 100_000;
/// Below this many repeats a comparison has next to no chance to decide anything.
pub const REPEATS_FEW: u32 = 3;

/// One experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// Name of the campaign; its slug names the archive.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// The question.
    pub question: Option<String>,
    /// Markdown of its authors.
    pub prose: Option<String>,
    /// Label of the machine facts.
    pub machine: Option<String>,
    /// Environment others are held against.
    pub baseline: Option<String>,
    /// Seed of the order.
    pub seed: u64,
    /// Runs of each cell.
    pub repeats: u32,
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
    /// What its authors expect.
    pub hypotheses: Vec<Hypothesis>,
    /// By label, in the order of the file.
    pub environments: Vec<Part>,
    /// By label; a suite without models has one of the label `none`.
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
    /// What is kept of the files that a workload leaves.
    pub retention: Retention,
    /// What is replaced before anything is written.
    pub privacy: Privacy,
    /// The file as it was written.
    pub text: String,
}

/// An environment or a workload: its kind, and settings that the kind reads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Label in plan, archive and pages.
    pub label: String,
    /// Name of the kind, e.g. `docker`, `trtllm-bench`; the label where the suite gives none and a kind of that name exists.
    pub kind: String,
    /// What is done with the page cache before its runs, where that differs from [`Gates::page_cache`]; environments only.
    pub page_cache: Option<PageCache>,
    /// The whole table. Read it with [`Part::reader`], which knows what has been taken.
    pub settings: Settings,
    /// Keys that were taken from the table already.
    pub taken: &'static [&'static str],
}

impl Part {
    /// Begins to take the keys that the kind itself knows; [`Reader::finish`] must follow.
    pub fn reader<'a>(&'a self, faults: &'a mut Faults) -> Reader<'a> {
        let mut reader = self.settings.reader(faults);
        reader.ignore(self.taken);
        reader
    }
}

/// A model.
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
pub const NO_MODEL: &str = crate::model::Campaign::NO_MODEL;

/// Order of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Block after block, each one run of every environment under one model and workload; see `expand` for the order by the seed.
    #[default]
    Interleaved,
    /// All runs of an environment before the next; asked for in words, and said in the archive.
    Blocked,
}

/// What the authors expect of one comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hypothesis {
    /// In words.
    pub claim: String,
    /// Metric that decides.
    pub metric: Option<String>,
    /// Environment held against.
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
    /// Glob over labels; absent is every one.
    pub environment: Option<String>,
    /// Likewise.
    pub model: Option<String>,
    /// Likewise.
    pub workload: Option<String>,
    /// Why.
    pub reason: String,
}

impl Order {
    /// As suites and archives spell it.
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
                "each block holds one run of every environment, close in time, in an order drawn by the seed, so that drift of the \
                 machine falls on all environments alike"
            }
            Self::Blocked => {
                "all runs of one environment come before the first of the next, so that a drift of the machine cannot be told from \
                 a difference between environments"
            }
        }
    }
}

/// What is done with the page cache before each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageCache {
    /// Left as it is, and recorded.
    #[default]
    Keep,
    /// Written back and dropped (root), and recorded.
    Drop,
}

impl PageCache {
    /// As suites spell it.
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
    /// Longest wait for all gates that wait, seconds; then the run fails.
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
    /// Refuse when another process uses the GPU; otherwise only recorded as a warning.
    pub gpu_exclusive: bool,
    /// Refuse when no GPU can be read at all.
    pub gpu_required: bool,
    /// Least SM clock under the short probe, MHz; the probe runs only when this is set.
    pub clock_probe_min_mhz: Option<f64>,
}

/// Conditions during each run. `None` is "no such watchdog".
#[derive(Debug, Clone, PartialEq)]
pub struct Watchdogs {
    /// The run is ended when `MemAvailable` falls below, GiB.
    pub memory_floor_gib: Option<f64>,
    /// The run is ended after this time, seconds; a workload may set its own.
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
    /// Seconds between samples; absent is 1 s, and 0.1 s for runs expected to be shorter than 30 s.
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

/// What is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privacy {
    /// Host and user names become stable pseudonyms.
    pub pseudonyms: bool,
    /// Further names of variables whose values are secret, as globs.
    pub secret_variables: Vec<String>,
    /// Further words replaced wherever they stand.
    pub words: Vec<String>,
}

impl Suite {
    /// What is done with the page cache before a run in this environment.
    pub fn page_cache(&self, environment: &str) -> PageCache {
        let own = self.environments.iter().find(|part| part.label == environment).and_then(|part| part.page_cache);
        own.unwrap_or(self.gates.page_cache)
    }
}

impl Default for Gates {
    /// Temperature and pause as the published study stated them; the rest from what stops a machine with unified memory from wedging.
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
