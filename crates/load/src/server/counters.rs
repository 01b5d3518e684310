//! Meanings of each engine's metrics over its versions, and the difference of two snapshots.
//!
//! In:  [`Snapshot`]s.  Out: [`Difference`].
//! Not here: whether a promise is kept (see `cache`).
//!
//! Counters only ever grow: one that is smaller afterwards says that the server was restarted in between, and the difference is
//! then unknown. A counter that the server has only since its first event (SGLang's cached tokens) counts from nothing.
//!
//! Sources: vllm/v1/metrics/loggers.py and v1/spec_decode/metrics.py. SGLang docs, "Production Metrics" and srt/observability.
//! tensorrt_llm/metrics/collector.py. Llama.cpp tools/server. Names before a rename come later in their line.

use super::prometheus::Snapshot;

/// An engine that names itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InferenceEngine {
    Vllm,
    Sglang,
    /// trtllm-serve of TensorRT-LLM.
    TrtllmServe,
    /// llama-server of llama.cpp.
    LlamaServer,
}

impl InferenceEngine {
    /// All of them.
    pub const ALL: &[Self] = &[Self::Vllm, Self::Sglang, Self::TrtllmServe, Self::LlamaServer];

    /// Word in suites, archives and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::TrtllmServe => "trtllm-serve",
            Self::LlamaServer => "llama-server",
        }
    }

    /// By `owned_by` of its models.
    pub fn of_owner(owner: &str) -> Option<Self> {
        match owner {
            "vllm" => Some(Self::Vllm),
            "sglang" => Some(Self::Sglang),
            "tensorrt_llm" => Some(Self::TrtllmServe),
            "llamacpp" => Some(Self::LlamaServer),
            _ => None,
        }
    }

    /// Prefix of its metrics.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Vllm => "vllm:",
            Self::Sglang => "sglang:",
            Self::TrtllmServe => "trtllm_",
            Self::LlamaServer => "llamacpp:",
        }
    }

    /// By the first metric with the prefix of an engine.
    pub fn of_metrics(snapshot: &Snapshot) -> Option<(Self, &str)> {
        snapshot.samples.iter().find_map(|(name, _)| {
            let engine = Self::ALL.iter().find(|engine| name.starts_with(engine.prefix()))?;
            Some((*engine, name.as_str()))
        })
    }

    /// Where its metrics lie, the likelier first. `/metrics` of trtllm-serve is a list of iterations that is emptied by reading it.
    pub const fn metrics_paths(engine: Option<Self>) -> &'static [&'static str] {
        match engine {
            Some(Self::TrtllmServe) => &["/prometheus/metrics"],
            Some(_) => &["/metrics"],
            None => &["/metrics", "/prometheus/metrics"],
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Vllm => 0,
            Self::Sglang => 1,
            Self::TrtllmServe => 2,
            Self::LlamaServer => 3,
        }
    }
}

/// Names of one quantity: vLLM, SGLang, trtllm-serve, llama-server.
type Names = [&'static [&'static str]; 4];

/// Prompt tokens. llama-server counts those that it computed, the others all of them.
const PROMPT_TOKENS: Names = [
    &["vllm:prompt_tokens_total", "vllm:prompt_tokens"],
    &["sglang:prompt_tokens_total"],
    &["trtllm_prompt_tokens_total"],
    &["llamacpp:prompt_tokens_total"],
];
/// Tokens that were looked for in the prefix cache. SGLang looks for every prompt token.
const CACHE_QUERIES: Names = [
    &[
        "vllm:prefix_cache_queries_total",
        "vllm:prefix_cache_queries",
        "vllm:gpu_prefix_cache_queries_total",
        "vllm:gpu_prefix_cache_queries",
    ],
    &["sglang:prompt_tokens_total"],
    &[],
    &[],
];
/// Tokens that were found there. SGLang's by source (device, host, storage), which is summed. llama-server has them since late 2025.
const CACHE_HITS: Names = [
    &[
        "vllm:prefix_cache_hits_total",
        "vllm:prefix_cache_hits",
        "vllm:gpu_prefix_cache_hits_total",
        "vllm:gpu_prefix_cache_hits",
    ],
    &["sglang:cached_tokens_total"],
    &[],
    &["llamacpp:prompt_tokens_cached_total"],
];
/// Requests that lost their place and were recomputed. SGLang calls it retraction. Its gauge of the last batch is another metric.
const PREEMPTIONS: Names = [
    &["vllm:num_preemptions_total", "vllm:num_preemptions"],
    &["sglang:num_retracted_requests_total", "sglang:num_preemptions_total"],
    &[],
    &[],
];

/// Growth of the counters of a server during a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Difference {
    /// Prompt tokens. Llama-server: those that were not in its cache.
    pub prompt_tokens: Option<f64>,
    /// Tokens looked for in the prefix cache.
    pub cache_queries: Option<f64>,
    /// Tokens found there.
    pub cache_hits: Option<f64>,
    /// The metric that the hits come from.
    pub cache_source: Option<&'static str>,
    /// Requests that lost their place and were recomputed. Above zero, latencies are those of a server short of memory.
    pub preemptions: Option<f64>,
}

impl Difference {
    /// Hits over queries, 0 to 1. Nothing where nothing was looked for.
    pub fn hit_rate(&self) -> Option<f64> {
        let (hits, queries) = (self.cache_hits?, self.cache_queries?);
        (queries > 0.0).then(|| hits / queries)
    }

    /// Without the prompts that filled the cache before the measured part: they were looked for and, being the first, not found.
    #[must_use]
    pub fn without_priming(mut self, prompt_tokens: f64) -> Self {
        self.cache_queries = self.cache_queries.map(|queries| (queries - prompt_tokens).max(0.0));
        self
    }

    /// Difference of two snapshots of one server.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let mut difference = Self::default();
        let Some((engine, _)) = InferenceEngine::of_metrics(after).or_else(|| InferenceEngine::of_metrics(before))
        else {
            return difference;
        };
        let grown = |names: &Names| {
            let name = names.get(engine.index())?.iter().find(|name| after.of(name).next().is_some())?;
            let (first, last) = (before.sum(name).unwrap_or(0.0), after.sum(name)?);
            (last >= first).then_some((last - first, *name))
        };
        let amount = |names: &Names| grown(names).map(|(amount, _)| amount);
        difference.prompt_tokens = amount(&PROMPT_TOKENS);
        difference.cache_queries = amount(&CACHE_QUERIES);
        difference.preemptions = amount(&PREEMPTIONS);
        if let Some((hits, name)) = grown(&CACHE_HITS) {
            (difference.cache_hits, difference.cache_source) = (Some(hits), Some(name));
        }
        difference.hits_that_never_came(engine, before, after);
        if engine == InferenceEngine::LlamaServer {
            // Its two counters part the prompt tokens: computed, and found. Every one was looked for.
            difference.cache_queries =
                difference.prompt_tokens.zip(difference.cache_hits).map(|(computed, found)| computed + found);
        }
        difference
    }

    /// SGLang shows its counter of cached tokens only once there was one: with metrics switched on and none of them, there was none.
    fn hits_that_never_came(&mut self, engine: InferenceEngine, before: &Snapshot, after: &Snapshot) {
        const HITS: &str = "sglang:cached_tokens_total";
        let shown = before.of(HITS).chain(after.of(HITS)).next().is_some();
        if engine == InferenceEngine::Sglang && !shown && self.prompt_tokens.is_some_and(|tokens| tokens > 0.0) {
            (self.cache_hits, self.cache_source) = (Some(0.0), Some(HITS));
        }
    }
}
