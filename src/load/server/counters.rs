//! Which metric of which engine counts what, over its versions, and what two snapshots differ by.
//!
//! In:  [`Snapshot`]s.  Out: [`Difference`]; gauges at one moment.
//! Not here: whether that is what was promised (see `cache`).
//!
//! Counters only ever grow: one that is smaller afterwards says that the server was started anew in between, and the difference is
//! then unknown. A counter that the server has only since its first event (SGLang's cached tokens) counts from nothing.
//!
//! Sources: vllm/v1/metrics/loggers.py and v1/spec_decode/metrics.py; SGLang docs, "Production Metrics" and srt/observability;
//! tensorrt_llm/metrics/collector.py; llama.cpp tools/server. Names before a rename come later in their line.

use super::prometheus::Snapshot;

/// An engine that names itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// trtllm-serve of TensorRT-LLM.
    TrtllmServe,
    /// llama-server of llama.cpp.
    LlamaServer,
}

impl Engine {
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
        snapshot.samples.iter().find_map(|sample| {
            let engine = Self::ALL.iter().find(|engine| sample.name.starts_with(engine.prefix()))?;
            Some((*engine, sample.name.as_str()))
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
const GENERATION_TOKENS: Names = [
    &["vllm:generation_tokens_total", "vllm:generation_tokens"],
    &["sglang:generation_tokens_total"],
    &["trtllm_generation_tokens_total"],
    &["llamacpp:tokens_predicted_total"],
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
/// Tokens that were found there; SGLang's by source (device, host, storage), which is summed. llama-server has them since late 2025.
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
/// Requests that lost their place and were computed anew. SGLang calls it retraction; its gauge of the last batch is another metric.
const PREEMPTIONS: Names = [
    &["vllm:num_preemptions_total", "vllm:num_preemptions"],
    &["sglang:num_retracted_requests_total", "sglang:num_preemptions_total"],
    &[],
    &[],
];
const RUNNING: Names = [
    &["vllm:num_requests_running"],
    &["sglang:num_running_reqs"],
    &["trtllm_num_requests_running"],
    &["llamacpp:requests_processing"],
];
const WAITING: Names = [
    &["vllm:num_requests_waiting"],
    &["sglang:num_queue_reqs"],
    &["trtllm_num_requests_waiting"],
    &["llamacpp:requests_deferred"],
];
/// Share of the KV cache in use, 0 to 1, whatever the name says.
const KV_USAGE: Names = [
    &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
    &["sglang:token_usage"],
    &["trtllm_kv_cache_utilization"],
    &["llamacpp:kv_cache_usage_ratio"],
];
const DRAFTS: Names = [
    &["vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_drafts"],
    &[],
    &[],
    &["llamacpp:spec_decode_num_drafts_total"],
];
const DRAFT_TOKENS: Names = [
    &["vllm:spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_draft_tokens"],
    &[],
    &[],
    &["llamacpp:spec_decode_num_draft_tokens_total"],
];
const ACCEPTED_TOKENS: Names = [
    &["vllm:spec_decode_num_accepted_tokens_total", "vllm:spec_decode_num_accepted_tokens"],
    &[],
    &[],
    &["llamacpp:spec_decode_num_accepted_tokens_total"],
];

/// What a load added to the counters of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Difference {
    /// Prompt tokens; llama-server: those that were not in its cache.
    pub prompt_tokens: Option<f64>,
    /// Generated tokens.
    pub generation_tokens: Option<f64>,
    /// Tokens looked for in the prefix cache.
    pub cache_queries: Option<f64>,
    /// Tokens found there.
    pub cache_hits: Option<f64>,
    /// The metric that the hits come from.
    pub cache_source: Option<&'static str>,
    /// Requests that lost their place and were computed anew; above zero, latencies are those of a server short of memory.
    pub preemptions: Option<f64>,
    /// Rounds of speculative decoding.
    pub drafts: Option<f64>,
    /// Tokens proposed in them.
    pub draft_tokens: Option<f64>,
    /// Tokens accepted, the bonus token of each round not counted.
    pub accepted_tokens: Option<f64>,
    /// What could not be told, and why.
    pub notes: Vec<String>,
}

impl Difference {
    /// Hits over queries, 0 to 1; nothing where nothing was looked for.
    pub fn hit_rate(&self) -> Option<f64> {
        let (hits, queries) = (self.cache_hits?, self.cache_queries?);
        (queries > 0.0).then(|| hits / queries)
    }

    /// Accepted over proposed tokens, 0 to 1.
    pub fn acceptance_rate(&self) -> Option<f64> {
        let (accepted, proposed) = (self.accepted_tokens?, self.draft_tokens?);
        (proposed > 0.0).then(|| accepted / proposed)
    }

    /// Tokens that a round gives on average, the bonus token counted, as vLLM logs it.
    pub fn acceptance_length(&self) -> Option<f64> {
        let (accepted, drafts) = (self.accepted_tokens?, self.drafts?);
        (drafts > 0.0).then(|| 1.0 + accepted / drafts)
    }

    /// Without the prompts that filled the cache before the measured part: they were looked for and, being the first, not found.
    #[must_use]
    pub fn without_priming(mut self, prompt_tokens: f64) -> Self {
        self.cache_queries = self.cache_queries.map(|queries| (queries - prompt_tokens).max(0.0));
        self
    }

    /// What lies between two snapshots of one server.
    pub fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let mut difference = Self::default();
        let Some((engine, _)) = Engine::of_metrics(after).or_else(|| Engine::of_metrics(before)) else {
            difference.notes.push("no metric has a name that is known".to_owned());
            return difference;
        };
        let mut notes = Vec::new();
        let mut grown = |names: &Names| {
            let name = names.get(engine.index())?.iter().find(|name| after.of(name).next().is_some())?;
            let (first, last) = (before.sum(name).unwrap_or(0.0), after.sum(name)?);
            if last < first {
                notes.push(format!("{name} fell from {first} to {last}: the server was started anew in between"));
                return None;
            }
            Some((last - first, *name))
        };
        let mut amount = |names: &Names| grown(names).map(|(amount, _)| amount);
        difference.prompt_tokens = amount(&PROMPT_TOKENS);
        difference.generation_tokens = amount(&GENERATION_TOKENS);
        difference.cache_queries = amount(&CACHE_QUERIES);
        difference.preemptions = amount(&PREEMPTIONS);
        difference.drafts = amount(&DRAFTS);
        difference.draft_tokens = amount(&DRAFT_TOKENS);
        difference.accepted_tokens = amount(&ACCEPTED_TOKENS);
        if let Some((hits, name)) = grown(&CACHE_HITS) {
            (difference.cache_hits, difference.cache_source) = (Some(hits), Some(name));
        }
        difference.notes = notes;
        difference.hits_that_never_came(engine, before, after);
        if engine == Engine::LlamaServer {
            // Its two counters part the prompt tokens: computed, and found. Every one was looked for.
            difference.cache_queries =
                difference.prompt_tokens.zip(difference.cache_hits).map(|(computed, found)| computed + found);
        }
        difference
    }

    /// SGLang shows its counter of cached tokens only once there was one: with metrics switched on and none of them, there was none.
    fn hits_that_never_came(&mut self, engine: Engine, before: &Snapshot, after: &Snapshot) {
        const HITS: &str = "sglang:cached_tokens_total";
        let shown = before.of(HITS).chain(after.of(HITS)).next().is_some();
        if engine == Engine::Sglang && !shown && self.prompt_tokens.is_some_and(|tokens| tokens > 0.0) {
            (self.cache_hits, self.cache_source) = (Some(0.0), Some(HITS));
        }
    }
}

/// Gauges of a server at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gauges {
    /// Requests being computed.
    pub running: Option<f64>,
    /// Requests that wait for their turn.
    pub waiting: Option<f64>,
    /// Share of the KV cache in use, 0 to 1.
    pub kv_usage: Option<f64>,
}

impl Gauges {
    /// As a snapshot has them.
    pub fn of(snapshot: &Snapshot) -> Self {
        let Some((engine, _)) = Engine::of_metrics(snapshot) else { return Self::default() };
        let first = |names: &Names, take: fn(&Snapshot, &str) -> Option<f64>| {
            names.get(engine.index())?.iter().find_map(|name| take(snapshot, name))
        };
        Self {
            running: first(&RUNNING, Snapshot::sum),
            waiting: first(&WAITING, Snapshot::sum),
            kv_usage: first(&KV_USAGE, Snapshot::mean),
        }
    }
}
