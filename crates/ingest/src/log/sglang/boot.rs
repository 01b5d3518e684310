//! One start of an SGLang server: its output until it answers, and its settings.
//!
//! In:  lines.  Out: figures, settings, faults, traffic.
//! Not here: where a start begins.
//!
//! A server with a draft model loads weights and allocates a cache twice. What the GPU holds is their sum. Each part is beside it.

use std::collections::BTreeMap;

use super::super::cut::{after, number, number_after, set, with_unit};
use super::super::faults::Faults;
use super::super::findings::LogFindings;
use super::traffic::SglangTraffic;
use crate::figure::Figure;
use sparkbench_model::Setup;

/// Marks of these lines.
pub(super) const MARKS: &[&str] = &[
    "SGLang Version",
    "server_args=",
    "Load weight begin",
    "Memory pool end",
    "uda graph end",
    "UDA graph end",
    "Init torch distributed end",
    "Reported total GPU memory",
    "Using KV cache dtype",
    "Mamba Cache is allocated",
    "max_num_reqs=",
];

/// Most parts of one rank that are kept: a model, a draft, and what comes beside them.
const PARTS: usize = 8;

/// Rank, figures of its parts with the line of the last.
type Parts = BTreeMap<String, (Vec<Figure>, u64)>;

/// Output of one start.
#[derive(Debug, Default)]
pub(super) struct SglangBoot {
    pub found: LogFindings,
    pub faults: Faults,
    pub traffic: SglangTraffic,
    pub setup: Setup,
    up: bool,
    weights: Parts,
    load: Parts,
    pool: Parts,
}

/// The words behind the time in the first bracket: `TP0`, `DP1 TP3`.
fn rank(line: &str) -> &str {
    let inside = line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(inside, _)| inside);
    let mut words = inside.splitn(3, ' ');
    let dated =
        words.next().is_some_and(|date| date.len() == 10) && words.next().is_some_and(|time| time.contains(':'));
    words.next().filter(|_| dated).unwrap_or("")
}

/// A size in GB of 2^30.
fn gb(text: &str) -> Option<Figure> {
    with_unit(text, "GB").or_else(|| with_unit(text, "GiB"))
}

impl SglangBoot {
    /// The pool of tokens exists.
    pub(super) fn is_up(&self) -> bool {
        self.up
    }

    /// One line.
    pub(super) fn read(&mut self, line_number: u64, line: &str) {
        self.faults.read(line_number, line);
        self.weights(line_number, line);
        self.pools(line_number, line);
        self.graphs(line_number, line);
        if let Some(arguments) = after(line, "server_args=") {
            self.arguments(arguments);
        }
        if let Some(dtype) = after(line, "Using KV cache dtype:") {
            self.kv_dtype(dtype);
        }
        // Of the MiB of each GPU, one after the other.
        if let Some(figure) = after(line, "Reported total GPU memory").and_then(|rest| number_after(rest, "[")) {
            self.setup.device_memory_gib = Some(figure.value / 1024.0);
        }
    }

    fn weights(&mut self, line_number: u64, line: &str) {
        if let Some(figure) = after(line, "Load weight begin").and_then(|rest| gb(after(rest, "avail mem=")?)) {
            self.found.extra("available_before_weights", "GiB", figure.value, line_number);
        }
        if let Some(rest) = after(line, "Load weight end.") {
            let who = rank(line);
            if let Some(figure) = after(rest, "mem usage=").and_then(gb) {
                part(&mut self.weights, who, figure, line_number);
            }
            if let Some(figure) = number_after(rest, "elapsed=") {
                part(&mut self.load, who, figure, line_number);
            }
            if let Some(figure) = after(rest, "avail mem=").and_then(gb) {
                self.found.extra("available_after_weights", "GiB", figure.value, line_number);
            }
            if let Some(dtype) = set(rest, "dtype=") {
                self.setup.quantisation =
                    self.setup.quantisation.take().or_else(|| Some(dtype.trim_start_matches("torch.").to_owned()));
            }
            if let Some(class) = set(rest, "type=") {
                self.more("model_class", class);
            }
        }
        if let Some(rest) = after(line, "Init torch distributed end") {
            if let Some(figure) = number_after(rest, "elapsed=") {
                self.found.extra("init_distributed_s", "s", figure.value, line_number);
            }
            if let Some(figure) = after(rest, "mem usage=").and_then(gb) {
                self.found.extra("init_distributed_memory", "GiB", figure.value, line_number);
            }
        }
    }

    fn pools(&mut self, line_number: u64, line: &str) {
        if let Some(rest) = after(line, "KV Cache is allocated.") {
            let who = rank(line);
            let sized = |phrase: &str| after(rest, phrase).and_then(gb);
            let size = match (sized("K size:"), sized("V size:")) {
                (Some(keys), Some(values)) => {
                    for (name, figure) in [("kv_cache_keys", keys), ("kv_cache_values", values)] {
                        self.found.extra(name, "GiB", figure.value, line_number);
                    }
                    Some(Figure::computed(keys.value + values.value))
                }
                // Models with one latent per token print one size.
                _ => sized("KV size:"),
            };
            if let Some(size) = size {
                part(&mut self.pool, who, size, line_number);
            }
            if let Some(tokens) = number_after(rest, "#tokens:") {
                let nth = self.pool.get(who).map_or(1, |(parts, _)| parts.len());
                if nth > 1 {
                    self.found.extra(&format!("kv_cache_tokens of part {nth}"), "tokens", tokens.value, line_number);
                } else if !self.up {
                    self.found.of_rank("kv_cache_tokens", who, tokens, line_number);
                }
            }
            if let Some(dtype) = set(rest, "dtype:") {
                self.kv_dtype(dtype);
            }
        }
        if let Some(figure) = after(line, "Memory pool end.").and_then(|rest| gb(after(rest, "avail mem=")?)) {
            self.found.extra("available_after_pool", "GiB", figure.value, line_number);
        }
        if let Some(rest) = after(line, "Mamba Cache is allocated.") {
            for (phrase, name) in [("conv_state size:", "mamba_conv_state"), ("ssm_state size:", "mamba_ssm_state")] {
                if let Some(figure) = after(rest, phrase).and_then(gb) {
                    self.found.extra(name, "GiB", figure.value, line_number);
                }
            }
        }
        if let Some(tokens) = number_after(line, "max_total_num_tokens=")
            .filter(|_| line.contains("max_running_requests=") || line.contains("context_len="))
        {
            self.up = tokens.value >= 0.0;
            self.found.of_rank("kv_cache_tokens", rank(line), tokens, line_number);
            for key in ["chunked_prefill_size=", "max_prefill_tokens=", "max_running_requests="] {
                if let Some(value) = set(line, key) {
                    self.more(key.trim_end_matches('='), value);
                }
            }
            if let Some(length) = set(line, "context_len=").and_then(number) {
                self.setup.max_model_len = Some(length.value);
            }
            if let Some(figure) = after(line, "available_gpu_mem=").and_then(gb) {
                self.found.extra("available_when_ready", "GiB", figure.value, line_number);
            }
        }
    }

    /// `Capture cuda graph end. Time elapsed: 13.63 s. mem usage=2.99 GB. avail mem=9.19 GB.`, also `piecewise` and `draft`.
    fn graphs(&mut self, line_number: u64, line: &str) {
        let lower = line.to_ascii_lowercase();
        let Some(what) = after(&lower, "capture ").and_then(|rest| rest.split_once("cuda graph end")) else { return };
        let (kind, rest) = (what.0.trim(), what.1);
        if kind.len() > 40 {
            return;
        }
        let name = if kind.is_empty() { "cuda_graph".to_owned() } else { format!("cuda_graph {kind}") };
        if let Some(figure) = number_after(rest, "time elapsed:") {
            self.found.extra(&format!("{name} capture_s"), "s", figure.value, line_number);
        }
        for (phrase, word) in [("mem usage=", "memory"), ("avail mem=", "available_after")] {
            if let Some(figure) = after(rest, phrase).and_then(|rest| with_unit(rest, "gb")) {
                self.found.extra(&format!("{name} {word}"), "GiB", figure.value, line_number);
            }
        }
    }

    /// Parts of each rank become its figure.
    pub(super) fn close(&mut self) {
        let lists = [
            ("model_memory_gib", "GiB", std::mem::take(&mut self.weights)),
            ("model_load_s", "s", std::mem::take(&mut self.load)),
            ("kv_cache_gib", "GiB", std::mem::take(&mut self.pool)),
        ];
        for (metric, unit, parts) in lists {
            for (who, (figures, line)) in parts {
                let [only] = figures.as_slice() else {
                    let sum: f64 = figures.iter().map(|figure| figure.value).sum();
                    for (place, figure) in figures.iter().enumerate() {
                        let of = if who.is_empty() { String::new() } else { format!(" on {who}") };
                        self.found.extra(&format!("{metric} of part {}{of}", place + 1), unit, figure.value, line);
                    }
                    self.keep(metric, &who, Figure::computed(sum), line);
                    continue;
                };
                self.keep(metric, &who, *only, line);
            }
        }
    }

    fn keep(&mut self, metric: &'static str, who: &str, figure: Figure, line: u64) {
        self.found.of_rank(metric, who, figure, line);
        if metric == "model_memory_gib" {
            self.setup.model_memory_gib = Some(figure.value.max(self.setup.model_memory_gib.unwrap_or(0.0)));
        }
    }
}

fn part(parts: &mut Parts, who: &str, figure: Figure, line: u64) {
    const RANKS: usize = 256;
    if parts.len() >= RANKS && !parts.contains_key(who) {
        return;
    }
    let (figures, last) = parts.entry(who.to_owned()).or_default();
    if figures.len() < PARTS {
        figures.push(figure);
        *last = line;
    }
}
