//! The lines that the engine prints while it starts, in a benchmark and in a server alike: memory, KV pool, settings, trouble.
//!
//! In:  lines.  Out: figures, settings, faults.
//! Not here: results.
//!
//! Lines of ranks carry no mark of their rank. The last N lines of one kind belong to the N ranks of the world. The headline is the largest
//! of them, a sum is never formed. The PyTorch backend allocates a small trial pool before the real one, so the last counts here too. What
//! the planner prints (`Estimated ...`, `... GB for model weights`) is no measurement and is kept as extra figures. The weights are taken
//! from it only where the engine prints none.

use std::collections::VecDeque;

use super::super::cut::{after, gib, number, number_after, place, with_unit};
use super::super::faults::Faults;
use super::super::findings::LogFindings;
use super::super::quoted;
use crate::figure::Figure;
use sparkbench_model::{Metric, Setup};

/// Most ranks of which lines are kept.
const RANKS: usize = 256;

/// Rule, and rule of what was computed.
pub(super) const RULES: (&str, &str) = ("trtllm-bench.log", "trtllm-bench.log.derived");
/// Likewise, of a server.
pub(super) const SERVER_RULES: (&str, &str) = ("trtllm-server-log", "trtllm-server-log.derived");

/// Phrases of which a line must hold one to be read.
pub(super) const MARKS: &[&str] = &[
    "[TRT-LLM]",
    "[TensorRT-LLM]",
    "[MemUsageChange]",
    "Memory used after loading model weights",
    "memory usage profiling",
    "device total memory",
    "TensorRT-LLM version",
    "TensorRT LLM version",
    "Model init total",
    "tensor_parallel_size=",
];

const PLANNED: &str = "an estimate of the planner, made before the engine took any memory";
const NOT_THE_POOL: &str = "memory that was free for the KV cache, while kv_cache_gib is the allocated pool";
const TRIAL: &str = "of the pass that measures memory, or of an earlier start of the engine";
const CHECKPOINT: &str = "size of the files of weights, not of what the engine holds";

/// Phrase, unit behind the figure, name, why it is no metric.
const EXTRAS: &[(&str, &str, &str, Option<&str>)] = &[
    ("available KV cache memory when calculating max tokens:", "GiB", "available_kv_cache_memory", Some(NOT_THE_POOL)),
    ("tmp kv_mem", "GiB", "trial_kv_cache_memory", None),
    ("temporary kv cache memory during profiling", "GiB", "trial_kv_cache_memory", None),
    ("(outside torch) in memory usage profiling:", "GiB", "weights_outside_torch", None),
    ("during inference (inside torch) in memory usage profiling:", "GiB", "dynamic_inside_torch", None),
    ("(e.g., NCCL and CUDA graphs) in memory usage profiling:", "GiB", "outside_torch", None),
    ("in paged kv cache: total:", "GiB", "device_total_memory", None),
    ("Loaded engine size:", "MiB", "engine_size", None),
];

/// Phrase, name, unit of the bare figure behind it.
const BARE: &[(&str, &str, &str)] = &[
    ("fraction is set", "kv_cache_fraction", ""),
    ("kv size is", "kv_bytes_per_token", "B"),
    ("kv size per token is", "kv_bytes_per_token", "B"),
    ("Number of tokens per block:", "tokens_per_block", "tokens"),
    ("tokens per block=", "tokens_per_block", "tokens"),
    ("primary blocks=", "kv_blocks", ""),
    ("secondary blocks=", "kv_blocks_secondary", ""),
    ("Number of blocks in KV cache primary pool:", "kv_blocks", ""),
    ("Number of blocks in KV cache secondary pool:", "kv_blocks_secondary", ""),
    ("Max KV cache pages per sequence:", "kv_blocks_per_sequence", ""),
    ("Max KV cache blocks per sequence:", "kv_blocks_per_sequence", ""),
    ("Creating CUDA graph instances for", "cuda_graph_batch_sizes", ""),
    ("Setting PyTorch memory fraction to", "torch_memory_fraction", ""),
];

/// What the engine printed.
#[derive(Debug, Default)]
pub(super) struct Engine {
    /// True when a word of [`super::SIGNS`] was seen.
    pub ours: bool,
    pub found: LogFindings,
    pub faults: Faults,
    pub setup: Setup,
    /// Ranks, where the log says how many.
    pub world: Option<usize>,
    last: Vec<(&'static str, VecDeque<(Figure, u64)>)>,
    planned_weights: Option<(f64, u64)>,
    managed_weights: Option<(f64, u64)>,
}

impl Engine {
    /// True once the KV pool exists.
    pub(super) fn is_up(&self) -> bool {
        self.last.iter().any(|(metric, _)| *metric == "kv_cache_gib")
    }

    /// One line.
    pub(super) fn read(&mut self, number: u64, line: &str) {
        self.ours = self.ours || quoted::is_printed(line, super::SIGNS);
        self.faults.read(number, line);
        self.pools(number, line);
        self.weights(number, line);
        self.others(number, line);
        self.settings(line);
    }

    fn pools(&mut self, line_number: u64, line: &str) {
        if let Some(rest) = after(line, "[MemUsageChange] Allocated") {
            if let Some(tokens) = after(rest, "for max tokens in paged KV cache") {
                if let Some(figure) = gib(rest) {
                    self.keep("kv_cache_gib", figure, line_number);
                }
                if let Some(figure) = after(tokens, "(").and_then(number) {
                    self.keep("kv_cache_tokens", figure, line_number);
                }
            } else if let Some(figure) = number(rest) {
                let unit =
                    ["GiB", "MiB", "GB", "MB"].into_iter().find(|unit| with_unit(rest, unit).is_some()).unwrap_or("");
                let purpose = after(rest, " for ").unwrap_or("").trim().trim_end_matches('.');
                let name: String = purpose.chars().take(40).map(|c| if c == ' ' { '_' } else { c }).collect();
                self.found.extra(&name, unit, figure.value, line_number);
            }
        }
        if let Some(rest) = after(line, "Peak memory during memory usage profiling (torch + non-torch):")
            && let Some(figure) = gib(rest)
        {
            self.keep("peak_memory_gib", figure, line_number);
        }
        if let Some(figure) = after(line, "device total memory").and_then(gib) {
            self.setup.device_memory_gib = Some(figure.value);
        }
        if let Some(figure) = after(line, "in paged kv cache: total:").and_then(gib) {
            self.setup.device_memory_gib = Some(figure.value);
            if let Some(figure) = after(line, "available:").and_then(gib) {
                self.found.extra_because("available_kv_cache_memory", "GiB", figure.value, line_number, NOT_THE_POOL);
            }
        }
    }

    fn weights(&mut self, line_number: u64, line: &str) {
        if let Some(figure) = after(line, "Memory used after loading model weights (inside torch)")
            .and_then(|rest| gib(rest.split_once(':')?.1))
        {
            self.keep("model_memory_gib", figure, line_number);
        }
        if let Some(before) = place(line, " GB for model weights").and_then(|at| line.get(..at))
            && let Some(figure) = before.split_whitespace().next_back().and_then(number)
        {
            self.planned_weights = Some((figure.value, line_number));
            self.found.extra_because("checkpoint_size", "GB", figure.value, line_number, CHECKPOINT);
        }
        if let Some(rest) = after(line, "TensorRT-managed allocation in IExecutionContext creation:")
            && let Some(figure) = after(rest, "now:").and_then(|rest| number_after(rest, "GPU"))
        {
            self.managed_weights = Some((figure.value / 1024.0, line_number));
            self.found.extra("tensorrt_managed", "MiB", figure.value, line_number);
        }
        if let Some(figure) = number_after(line, "Model init total --") {
            self.keep("model_load_s", figure, line_number);
        }
    }

    fn others(&mut self, line_number: u64, line: &str) {
        for (phrase, unit, name, why) in EXTRAS {
            if let Some(figure) = after(line, phrase).and_then(|rest| with_unit(rest, unit)) {
                self.found.extra_because(name, unit, figure.value, line_number, *why);
            }
        }
        for (phrase, name, unit) in BARE {
            if let Some(figure) = number_after(line, phrase) {
                self.found.extra(name, unit, figure.value, line_number);
            }
        }
        // `[I] Estimated engine size: 7.48 GB`
        if let Some((label, rest)) = after(line, "] Estimated ").and_then(|rest| rest.split_once(':'))
            && let Some(figure) = number(rest)
        {
            let unit = ["GiB", "GB"].into_iter().find(|unit| with_unit(rest, unit).is_some()).unwrap_or("");
            let label: String = label.trim().chars().take(60).collect();
            self.found.extra_because(&format!("estimated {label}"), unit, figure.value, line_number, PLANNED);
        }
    }

    fn keep(&mut self, metric: &'static str, figure: Figure, line: u64) {
        let place = match self.last.iter().position(|(name, _)| *name == metric) {
            Some(place) => place,
            None => {
                self.last.push((metric, VecDeque::new()));
                self.last.len() - 1
            }
        };
        if let Some((_, values)) = self.last.get_mut(place) {
            if values.len() == RANKS {
                values.pop_front();
            }
            values.push_back((figure, line));
        }
    }

    /// The last line of each rank becomes a figure.
    pub(super) fn close(&mut self) {
        let world = self.world.unwrap_or(1).clamp(1, RANKS);
        for (metric, values) in std::mem::take(&mut self.last) {
            let ranks = world.min(values.len());
            if let Some((figure, line)) = (values.len() - ranks).checked_sub(1).and_then(|before| values.get(before)) {
                let unit = Metric::of_catalogue(metric).map_or("", |metric| metric.unit);
                self.found.extra_because(&format!("{metric} before the last"), unit, figure.value, *line, TRIAL);
            }
            for (rank, (figure, line)) in values.iter().skip(values.len() - ranks).enumerate() {
                let name = if ranks > 1 { format!("process {}", rank + 1) } else { String::new() };
                self.found.of_rank(metric, &name, *figure, *line);
                if metric == "model_memory_gib" {
                    let known = self.setup.model_memory_gib.unwrap_or(0.0);
                    self.setup.model_memory_gib = Some(figure.value.max(known));
                }
            }
        }
        if !self.found.has("model_memory_gib")
            && let Some((value, line)) = self.managed_weights.or(self.planned_weights)
        {
            self.found.derived("model_memory_gib", value, line);
        }
    }
}
