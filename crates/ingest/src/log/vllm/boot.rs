//! One start of a vLLM server: its output until it answers, and its settings.
//!
//! In:  lines.  Out: figures, settings, faults, traffic.
//! Not here: where a start begins.
//!
//! The process in brackets in front of a line is its rank: `(Worker_TP1 pid=7)`, `(EngineCore_DP0 pid=5)`. Some versions print the lines on
//! memory for rank 0 alone, others for every worker.

use std::collections::BTreeMap;

use super::super::cut::{after, gib, number, number_after, with_unit};
use super::super::faults::Faults;
use super::super::findings::LogFindings;
use super::traffic::VllmTraffic;
use sparkbench_model::Setup;

/// Marks of these lines.
pub(super) const MARKS: &[&str] = &[
    "LLM engine (v",
    "█  version ",
    "█  model ",
    "non-default args",
    "Using max model len",
    "data type to store kv cache",
    "Chunked prefill is enabled",
    "Loading weights took",
    "oading model weights took",
    "Model loading took",
    "Initializing model took",
    "GiB for KV cache on node",
    "GiB; non_torch_memory takes",
    "# GPU blocks:",
    "Maximum concurrency for",
    "Graph capturing finished in",
    "CUDA graph pool memory:",
    "Estimated CUDA graph memory:",
    "Profiling CUDA graph memory:",
    "torch.compile took",
    "init engine (profile",
    "profiling/warmup run took",
    "downloading weights",
    "Checkpoint size:",
    "gpu-memory-utilization=",
    "gpu_memory_utilization",
    "ttention backend",
    "AttentionBackendEnum",
    "padding layers, may waste",
    "cudagraph_mode",
];

const PLANNED: &str = "an estimate made before the graphs were captured, which can be negative on unified memory";
const BOTH: &str = "one part of the loading, while model_load_s is all of it";

/// Output of one start.
#[derive(Debug, Default)]
pub(super) struct VllmBoot {
    pub found: LogFindings,
    pub faults: Faults,
    pub traffic: VllmTraffic,
    pub setup: Setup,
    /// Process names of the engines that began.
    engines: Vec<String>,
    /// A worker has less memory than none left for the KV cache.
    short: bool,
    /// Seconds of the parts of the loading, where no line says the whole: the model set up, and its weights read.
    parts: [Option<(f64, u64)>; 2],
    /// Name of a figure and process, how often it was printed.
    printed: BTreeMap<(&'static str, String), u32>,
}

/// True for the line by which an engine begins.
pub(super) fn is_start(line: &str) -> bool {
    line.contains("LLM engine (v") && line.contains("Initializing a")
}

/// True for lines that the server prints before its engine begins.
pub(super) fn is_early(line: &str) -> bool {
    [
        "█  version ",
        "█  model ",
        "vLLM API server version",
        "non-default args",
        "Using max model len",
        "data type to store kv cache",
    ]
    .iter()
    .any(|phrase| line.contains(phrase))
}

/// The process in brackets in front of a line: without its number.
pub(super) fn rank(line: &str) -> &str {
    let Some(rest) =
        line.trim_start().split_once('(').filter(|(before, _)| !before.contains(['[', ':'])).map(|(_, rest)| rest)
    else {
        return "";
    };
    rest.split([')', ' ']).next().filter(|_| rest.contains("pid=")).unwrap_or("")
}

impl VllmBoot {
    /// An engine of this process began.
    pub(super) fn begin(&mut self, rank: &str) {
        if self.engines.len() < 1024 {
            self.engines.push(rank.to_owned());
        }
    }

    pub(super) fn knows(&self, rank: &str) -> bool {
        self.engines.iter().any(|engine| engine == rank)
    }

    /// No engine began yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.engines.is_empty()
    }

    /// The KV cache exists.
    pub(super) fn is_up(&self) -> bool {
        let cache = ["kv_cache_tokens", "kv_cache_gib"].iter().any(|metric| self.found.has(metric));
        !self.short && (cache || self.found.has_extra("gpu_blocks"))
    }

    /// One line.
    pub(super) fn read(&mut self, number: u64, line: &str) {
        self.faults.read(number, line);
        self.memory(number, line);
        self.times(number, line);
        self.graphs(number, line);
        self.settings(line);
    }

    fn memory(&mut self, line_number: u64, line: &str) {
        let who = rank(line);
        if let Some(rest) = after(line, "Model loading took") {
            if let Some(figure) = gib(rest).or_else(|| with_unit(rest, "GB")) {
                self.found.of_rank("model_memory_gib", who, figure, line_number);
                self.setup.model_memory_gib = Some(figure.value.max(self.setup.model_memory_gib.unwrap_or(0.0)));
            }
            if let Some(figure) = number_after(rest, " and ") {
                self.found.of_rank("model_load_s", who, figure, line_number);
            }
        }
        // Versions before 0.7 print GB and count 2^30.
        if let Some(figure) =
            after(line, "oading model weights took").and_then(|rest| gib(rest).or_else(|| with_unit(rest, "GB")))
        {
            self.found.of_rank("model_memory_gib", who, figure, line_number);
            self.setup.model_memory_gib = Some(figure.value.max(self.setup.model_memory_gib.unwrap_or(0.0)));
        }
        if let Some(figure) = after(line, "Available KV cache memory:").and_then(gib) {
            self.found.of_rank("kv_cache_gib", who, figure, line_number);
            if figure.value < 0.0 {
                self.short = true;
                self.faults.short_of_memory(line_number, format!("{} GiB are left for the KV cache", figure.value));
            }
        }
        // `CPU KV cache size:` and, where the cache is set by hand, `Explicitly set (1.0/13.96) GiB for KV cache` of the processor build.
        if let Some(figure) = number_after(line, "PU KV cache size:") {
            self.found.of_rank("kv_cache_tokens", who, figure, line_number);
        }
        if let Some(rest) = after(line, "Explicitly set (").filter(|rest| rest.contains("GiB for KV cache"))
            && let Some(figure) = number(rest)
        {
            self.found.of_rank("kv_cache_gib", who, figure, line_number);
        }
        if let Some(rest) = after(line, "Maximum concurrency for")
            && let (Some(tokens), Some(times)) = (number(rest), number_after(rest, "per request:"))
        {
            self.found.extra("maximum_concurrency", "x", times.value, line_number);
            self.found.extra("maximum_concurrency_at", "tokens", tokens.value, line_number);
        }
        self.old_memory(line_number, line);
        if let Some(figure) = after(line, "Checkpoint size:").and_then(gib) {
            self.repeated("checkpoint_size", "GiB", figure.value, line_number, line, None);
            if let Some(figure) = after(line, "Available RAM:").and_then(gib) {
                self.repeated("available_ram", "GiB", figure.value, line_number, line, None);
            }
        }
        if let Some(figure) = number_after(line, "may waste at most") {
            self.found.extra("kv_cache_wasted_at_most", "%", figure.value, line_number);
        }
        // `Free memory on device cuda:0 (10.1/119.6 GiB) on startup is less than ...`
        if let Some(rest) = after(line, "Free memory on device").and_then(|rest| after(rest, "("))
            && let (Some(free), Some(total)) = (number(rest), number_after(rest, "/"))
        {
            self.found.extra("free_memory_on_startup", "GiB", free.value, line_number);
            self.setup.device_memory_gib = Some(total.value);
        }
    }

    /// Memory as versions before 0.8 print it.
    fn old_memory(&mut self, line_number: u64, line: &str) {
        if let Some(figure) = after(line, "reserved for KV Cache is").and_then(gib) {
            self.found.of_rank("kv_cache_gib", rank(line), figure, line_number);
        }
        for (phrase, name) in [
            ("model weights take", "weights"),
            ("non_torch_memory takes", "non_torch_memory"),
            ("activation peak memory takes", "activation_peak"),
        ] {
            if let Some(figure) = after(line, phrase).and_then(gib) {
                self.found.extra(name, "GiB", figure.value, line_number);
            }
        }
        if let Some(figure) = number_after(line, "# GPU blocks:") {
            self.found.extra("gpu_blocks", "", figure.value, line_number);
        }
        if let Some(figure) = number_after(line, "# CPU blocks:") {
            self.found.extra("cpu_blocks", "", figure.value, line_number);
        }
    }

    fn times(&mut self, line_number: u64, line: &str) {
        if let Some(figure) = number_after(line, "Loading weights took") {
            self.repeated("loading_weights_s", "s", figure.value, line_number, line, BOTH);
            self.part(1, figure.value, line_number);
        }
        if let Some(figure) = number_after(line, "Initializing model took") {
            self.repeated("initializing_model_s", "s", figure.value, line_number, line, BOTH);
            self.part(0, figure.value, line_number);
        }
        if let Some(rest) = after(line, "init engine (profile")
            && let Some(figure) = number_after(rest, "took")
        {
            self.found.extra("init_engine_s", "s", figure.value, line_number);
            if let Some(figure) = number_after(rest, "compilation:") {
                self.found.extra("init_engine_compilation_s", "s", figure.value, line_number);
            }
        }
        if let Some(figure) = number_after(line, "torch.compile took") {
            self.repeated("torch_compile_s", "s", figure.value, line_number, line, None);
        }
        if let Some(figure) = number_after(line, "profiling/warmup run took") {
            self.repeated("profiling_run_s", "s", figure.value, line_number, line, None);
        }
        if let Some(rest) = after(line, "downloading weights")
            && let Some(figure) = rest.rsplit_once(": ").and_then(|(_, rest)| number(rest))
        {
            self.repeated("download_weights_s", "s", figure.value, line_number, line, None);
        }
    }

    /// One of two parts of the loading: those of the model itself, which come before those of a draft.
    fn part(&mut self, which: usize, seconds: f64, line_number: u64) {
        if let Some(part) = self.parts.get_mut(which) {
            *part = part.or(Some((seconds, line_number)));
        }
    }

    /// The whole of the loading from its parts, where no line said it: builds for a processor print none.
    pub(super) fn add_parts(&mut self) {
        if let [Some((set_up, _)), Some((weights, line_number))] = self.parts
            && !self.found.has("model_load_s")
        {
            self.found.derived("model_load_s", set_up + weights, line_number);
        }
    }

    /// A figure that one process prints several times, for the model and for its draft: the second has a number, another process its name.
    fn repeated(
        &mut self,
        name: &'static str,
        unit: &'static str,
        value: f64,
        line_number: u64,
        line: &str,
        why: impl Into<Option<&'static str>>,
    ) {
        const KEPT: usize = 256;
        /// A model, a draft, and what may come beside them. A log that prints more is not of one start.
        const PARTS: u32 = 8;
        let who = rank(line);
        let first = self.printed.keys().filter(|(known, _)| *known == name).all(|(_, process)| process == who);
        let of = if first { String::new() } else { format!(" of {who}") };
        if self.printed.len() >= KEPT && !self.printed.contains_key(&(name, who.to_owned())) {
            return;
        }
        let times = self.printed.entry((name, who.to_owned())).or_default();
        *times = times.saturating_add(1);
        if *times > PARTS {
            return;
        }
        let nth = if *times == 1 { String::new() } else { format!(" {times}") };
        self.found.extra_because(&format!("{name}{nth}{of}"), unit, value, line_number, why);
    }

    fn graphs(&mut self, line_number: u64, line: &str) {
        if let Some(rest) = after(line, "Graph capturing finished in") {
            if let Some(figure) = number(rest) {
                self.found.extra("cuda_graph_capture_s", "s", figure.value, line_number);
            }
            if let Some(figure) = after(rest, "took").and_then(gib) {
                self.found.extra("cuda_graph_memory", "GiB", figure.value, line_number);
            }
        }
        if let Some(rest) = after(line, "CUDA graph pool memory:") {
            if let Some(figure) = gib(rest) {
                self.found.extra("cuda_graph_pool", "GiB", figure.value, line_number);
            }
            if let Some(figure) = after(rest, "difference:").and_then(gib) {
                self.found.extra("cuda_graph_pool_difference", "GiB", figure.value, line_number);
            }
        }
        if let Some(figure) = after(line, "Estimated CUDA graph memory:").and_then(gib) {
            self.found.extra_because("estimated_cuda_graph_memory", "GiB", figure.value, line_number, PLANNED);
        }
        if let Some(rest) = after(line, "Profiling CUDA graph memory:") {
            for part in rest.split("),") {
                let Some((mode, sizes)) = part.trim().split_once('=') else { continue };
                if !["PIECEWISE", "FULL"].contains(&mode) {
                    continue;
                }
                if let Some(figure) = number(sizes.split('(').next().unwrap_or_default()) {
                    self.found.extra(&format!("cuda_graphs {mode}"), "", figure.value, line_number);
                }
                if let Some(figure) = number_after(sizes, "largest=") {
                    self.found.extra(&format!("cuda_graphs {mode} largest"), "", figure.value, line_number);
                }
            }
        }
    }
}
