//! One start of `llama-server`: memory, settings, and the requests that it answered.
//!
//! In:  lines.  Out: figures, settings, faults, times of requests.
//! Not here: where a start begins.

use super::super::cut::{after, number, value_after, with_unit};
use super::super::faults::Faults;
use super::super::findings::{LogFindings, Spread};
use crate::figure::Figure;
use sparkbench_model::Setup;

/// Marks of the lines of a log of llama.cpp.
pub(super) const MARKS: &[&str] = &[
    "model buffer size =",
    "KV buffer size =",
    "compute buffer size =",
    "output buffer size =",
    "RS buffer size =",
    "llama_model_loader:",
    "llama_kv_cache",
    "kv self size",
    "llm_load_tensors:",
    "load_tensors:",
    "llama_context:",
    "llama_new_context_with_model:",
    "llama_server:",
    "print_info:",
    "llm_load_print_meta:",
    "eval time =",
    "total time =",
    "load time =",
    "draft acceptance",
    "loading model '",
    "loading draft model",
    "n_slots =",
    "llama-bench: ",
    "build: ",
    "build_info: ",
    ", compute capability ",
    "failed to load model",
    "error loading model",
    "failed to allocate",
    "GGML_ASSERT",
    "CUDA error",
    "out of memory",
    "Segmentation fault",
    "Killed",
];

/// Most requests that are listed one by one. Sums hold the others too.
const REQUESTS: usize = 100_000;
const MIB_PER_GIB: f64 = 1024.0;

const PREFILL: &str = "time of the prompt on the GPU, without waiting in the queue, so it is not a time to first token";
const LIFE: &str = "over the life of the server, warm-up and other clients included";

/// Output of one start.
#[derive(Debug, Default)]
pub(super) struct LlamaBoot {
    pub found: LogFindings,
    pub faults: Faults,
    pub setup: Setup,
    /// Milliseconds a token of each request.
    pub tpot: Vec<f64>,
    /// Requests beyond those.
    pub dropped: u64,
    /// Buffers of the model, of the cache.
    model: Vec<Buffer>,
    cache: Vec<Buffer>,
    /// MiB and line of each whole cache.
    caches: Vec<(f64, u64)>,
    /// Tokens of the first cache, how many streams share them out, and the line.
    cells: Option<(Figure, f64, u64)>,
    /// `model loaded`, which is there at any verbosity.
    loaded: bool,
    /// Models that were loaded, and whether a draft was among them.
    models: u32,
    draft: bool,
    /// A context has gone. A cache that comes now is that of the next one.
    gone: bool,
    /// MiB of the caches of a context before, and whether any two differ.
    before: Option<f64>,
    varied: bool,
    requests: u64,
    prompt_ms: f64,
    prompt_tokens: f64,
    prompt_rate: Spread,
    eval_ms: f64,
    eval_tokens: f64,
    eval_rate: Spread,
    accepted: f64,
    drafted: f64,
}

/// Share of a model or a cache on one device.
#[derive(Debug)]
struct Buffer {
    device: String,
    mib: f64,
    line: u64,
    draft: bool,
}

/// Build line of a starting process. The line below a table of llama-bench does not count: `build: 308f61c31 (9536)`.
pub(super) fn build(line: &str) -> Option<&str> {
    // A commit of digits alone is longer than the number of any build.
    let numbered = |word: &str| word.len() < 7 && word.bytes().all(|b| b.is_ascii_digit());
    let is_process = |rest: &&str| {
        rest.contains(" with ") || rest.split_once(" (").is_some_and(|(word, _)| numbered(word.trim_start()))
    };
    after(line, "build_info: ")
        .or_else(|| after(line, "print_info: build "))
        .or_else(|| after(line, "build: ").filter(is_process))
}

impl LlamaBoot {
    /// Something of the model is loaded.
    pub(super) fn is_up(&self) -> bool {
        self.loaded || !self.cache.is_empty() || !self.caches.is_empty() || self.requests > 0
    }

    /// The tests of llama-bench had caches of several sizes.
    pub(super) fn has_varied(&self) -> bool {
        self.varied
    }

    /// The model being loaded is a draft model, or another one after the first.
    pub(super) fn is_behind_the_first(&self) -> bool {
        self.draft || self.models > 1
    }

    /// One line.
    pub(super) fn read(&mut self, line_number: u64, line: &str) {
        // Each test of llama-bench has a context of its own, whose times are printed at its end.
        self.gone = self.gone || line.contains(PERF) || (line.contains("llama-bench: ") && line.contains(": starting"));
        if line.contains(" time =") {
            self.times(line_number, line);
            return;
        }
        if let Some(rest) = after(line, "draft acceptance") {
            // `rate = 0.57576 ( 171 accepted / 297 generated)`. Without `rate` since 2026, and with `mean len` behind.
            if let (Some(accepted), Some(drafted)) = (value_after(rest, "("), value_after(rest, "/")) {
                self.accepted += accepted;
                self.drafted += drafted;
            }
            return;
        }
        self.loaded = self.loaded || line.contains("llama_server: model loaded");
        self.draft = self.draft || line.contains("loading draft model");
        self.models += u32::from(line.contains(" tensors from "));
        if self.gone && ["KV buffer size =", "llama_kv_cache", "KV self size"].iter().any(|word| line.contains(word)) {
            self.next_context();
        }
        self.faults.read(line_number, line);
        self.buffers(line_number, line);
        self.cache(line_number, line);
        self.settings(line_number, line);
    }

    /// Sets the caches of a context that has gone aside.
    fn next_context(&mut self) {
        self.gone = false;
        self.compare();
        self.caches.clear();
        self.cache.clear();
        self.cells = None;
    }

    fn compare(&mut self) {
        if self.caches.is_empty() {
            return;
        }
        let sum: f64 = self.caches.iter().map(|(size, _)| size).sum();
        self.varied = self.varied || self.before.is_some_and(|before| before.total_cmp(&sum).is_ne());
        self.before = Some(sum);
    }

    /// `load_tensors:        CUDA0 model buffer size =  8045.05 MiB`
    fn buffers(&mut self, line_number: u64, line: &str) {
        for (phrase, kind) in [
            (" model buffer size =", "model"),
            (" KV buffer size =", "kv"),
            (" compute buffer size =", "compute"),
            (" output buffer size =", "output"),
            (" RS buffer size =", "recurrent state"),
        ] {
            let Some((before, rest)) = line.split_once(phrase) else { continue };
            let (Some(device), Some(size)) = (before.split_whitespace().next_back(), with_unit(rest, "MiB")) else {
                continue;
            };
            let device: String = device.chars().take(40).collect();
            let draft = self.is_behind_the_first();
            let list = match kind {
                "model" => Some(&mut self.model),
                "kv" => Some(&mut self.cache),
                _ => None,
            };
            // A draft model has buffers of its own. Only those of the first are the model's.
            let nth = list.as_ref().map_or(1, |list| 1 + list.iter().filter(|part| part.device == device).count());
            if let Some(list) = list.filter(|list| list.len() < 64) {
                list.push(Buffer { device: device.clone(), mib: size.value, line: line_number, draft });
            }
            let name = if nth > 1 {
                format!("{kind} buffer {device} of part {nth}")
            } else {
                format!("{kind} buffer {device}")
            };
            self.found.extra(&name, "MiB", size.value, line_number);
        }
    }

    /// `llama_kv_cache: size = 1024.00 MiB (  8192 cells,  32 layers,  1/1 seqs), K (f16):  512.00 MiB, V (f16):  512.00 MiB`
    fn cache(&mut self, line_number: u64, line: &str) {
        let rest = after(line, ": size =").filter(|_| line.contains("llama_kv_cache"));
        let rest = rest.or_else(|| after(line, "KV self size  =")).or_else(|| after(line, "KV self size ="));
        let Some(rest) = rest else { return };
        // Models with a sliding window have two caches, and so has a server with a draft model.
        if let Some(size) = with_unit(rest, "MiB").filter(|_| self.caches.len() < 16) {
            self.caches.push((size.value, line_number));
            let nth = self.caches.len();
            let name = if nth == 1 { "kv cache".to_owned() } else { format!("kv cache {nth}") };
            self.found.extra(&name, "MiB", size.value, line_number);
        }
        let first = self.caches.len() < 2;
        if let Some(cells) = rest.split_once(" cells").and_then(|(before, _)| number(before.rsplit('(').next()?)) {
            // `2/2 seqs`: sequences and streams. The cells are those of one stream. Old versions print no streams and have one.
            let seqs = rest.split_once(" seqs").and_then(|(before, _)| before.rsplit(',').next());
            let streams = seqs.and_then(|seqs| value_after(seqs, "/")).filter(|count| *count >= 1.0).unwrap_or(1.0);
            if self.cells.is_none() {
                self.cells = Some((cells, streams, line_number));
            } else {
                let name = format!("kv cache {} cells", self.caches.len());
                self.found.extra(&name, "tokens", cells.value * streams, line_number);
            }
        }
        if let Some(dtype) = after(rest, "K (").and_then(|rest| rest.split(')').next()).filter(|_| first) {
            self.setup.kv_dtype = Some(dtype.trim().to_owned());
        }
        for (phrase, name) in [("K (", "kv cache K"), ("V (", "kv cache V")].into_iter().filter(|_| first) {
            if let Some(size) = after(rest, phrase).and_then(|rest| with_unit(rest.split_once(':')?.1, "MiB")) {
                self.found.extra(name, "MiB", size.value, line_number);
            }
        }
    }

    /// `prompt eval time = 229.95 ms / 22 tokens (...)`, `eval time = 51.77 ms / 4 tokens (12.94 ms per token, 77.26 tokens per second)`
    fn times(&mut self, line_number: u64, line: &str) {
        if let Some(rest) = after(line, "load time =") {
            if let Some(figure) = number(rest).filter(|_| !self.found.has_extra("load_time_ms")) {
                self.found.extra("load_time_ms", "ms", figure.value, line_number);
            }
            return;
        }
        // Over all that a context did: of llama-bench its warm-up and every repetition, and no request.
        if line.contains(PERF) {
            return;
        }
        let Some(rest) = after(line, "eval time =") else { return };
        let (Some(ms), Some(tokens)) = (number(rest), value_after(rest, "/")) else { return };
        let rate = after(rest, "per token,").and_then(number).map(|figure| figure.value);
        if line.contains("prompt eval time") {
            self.prompt_ms += ms.value;
            self.prompt_tokens += tokens;
            rate.into_iter().filter(|rate| *rate < NO_RATE).for_each(|rate| self.prompt_rate.add(rate));
            return;
        }
        self.requests += 1;
        self.eval_ms += ms.value;
        self.eval_tokens += tokens;
        // One token has no time per token.
        if tokens < 2.0 || ms.value <= 0.0 {
            return;
        }
        rate.into_iter().filter(|rate| *rate < NO_RATE).for_each(|rate| self.eval_rate.add(rate));
        let printed = after(rest, "(").filter(|rest| rest.contains("ms per token")).and_then(number);
        if self.tpot.len() < REQUESTS {
            self.tpot.push(printed.map_or(ms.value / tokens, |figure| figure.value));
        } else {
            self.dropped += 1;
        }
    }

    fn close_caches(&mut self) {
        match self.cells {
            Some((cells, streams, line)) if streams > 1.0 => {
                self.found.derived("kv_cache_tokens", cells.value * streams, line);
            }
            Some((cells, _, line)) => self.found.metric("kv_cache_tokens", cells, line),
            None => {}
        }
        match self.caches.as_slice() {
            [] => {}
            [(size, line)] => {
                self.found.metric("kv_cache_gib", Figure::computed(size / MIB_PER_GIB), *line);
            }
            [.., (_, line)] => {
                let sum: f64 = self.caches.iter().map(|(size, _)| size).sum();
                self.found.derived("kv_cache_gib", sum / MIB_PER_GIB, *line);
            }
        }
    }

    /// Devices become the figures of the model, requests become sums.
    pub(super) fn close(&mut self) {
        self.compare();
        if self.varied {
            self.setup.max_model_len = None;
        } else {
            self.close_caches();
        }
        let lists = [("model_memory_gib", &self.model), ("kv_cache_gib", &self.cache)];
        for (metric, list) in lists.into_iter().filter(|(metric, _)| *metric == "model_memory_gib" || !self.varied) {
            let on_gpu = |name: &str| !name.starts_with("CPU") && !name.ends_with("_Host");
            let largest = |gpu: bool| {
                let parts = || list.iter().filter(|part| on_gpu(&part.device) == gpu);
                let of_main = parts().filter(|part| !part.draft).max_by(|a, b| a.mib.total_cmp(&b.mib));
                of_main.or_else(|| parts().max_by(|a, b| a.mib.total_cmp(&b.mib)))
            };
            if let Some(Buffer { mib, line, .. }) = largest(true).or_else(|| largest(false))
                && !self.found.has(metric)
            {
                let value = mib / MIB_PER_GIB;
                self.found.metric(metric, Figure::computed(value), *line);
                if metric == "model_memory_gib" {
                    self.setup.model_memory_gib = Some(value);
                }
            }
        }
        if self.requests > 0 {
            self.found.over_all("requests", "", self.requests as f64, LIFE);
            self.found.over_all("eval_tokens", "tokens", self.eval_tokens, LIFE);
            self.found.over_all("eval_time_ms", "ms", self.eval_ms, LIFE);
        }
        if self.prompt_tokens > 0.0 {
            self.found.over_all("prompt_tokens", "tokens", self.prompt_tokens, LIFE);
            self.found.over_all("prompt_time_ms", "ms", self.prompt_ms, PREFILL);
        }
        for (name, spread) in [("prompt_rate", self.prompt_rate), ("eval_rate", self.eval_rate)] {
            if let Some(mean) = spread.mean() {
                self.found.over_all(&format!("{name} mean"), "tok/s", mean, LIFE);
                self.found.over_all(&format!("{name} max"), "tok/s", spread.max, LIFE);
            }
        }
        if self.drafted > 0.0 {
            self.found.over_all("spec_decode_accepted", "tokens", self.accepted, LIFE);
            self.found.over_all("spec_decode_drafted", "tokens", self.drafted, LIFE);
            self.found.over_all("spec_decode_acceptance_rate", "%", 100.0 * self.accepted / self.drafted, LIFE);
        }
    }
}

/// Printed text for a rate over no time at all.
const NO_RATE: f64 = 999_999.0;
/// In front of the times of a whole context.
const PERF: &str = "llama_perf_context_print:";
