//! The catalogue of definitions: what each tool measures under the name of a metric.
//!
//! In:  the rule that read a figure, and its metric.  Out: [`Definition`]: class, words, likeness to ours, source.
//! Not here: what a comparison makes of it (see `verdict::definitions`).
//!
//! Figures of one class may be compared, figures of two classes may not. Within a class a tool can deviate a little (`Like`). That is a
//! caveat. Tools outside the catalogue (a table, a pattern of a suite, a script's own JSON) do not state how they measured. Nothing is
//! claimed for them, which is a caveat too.

/// Relation of a tool's figure to ours of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionMatch {
    /// The same thing.
    Same,
    /// The same thing except for a stated difference: comparable, with that caveat.
    Like(&'static str),
    /// Another thing under the same name: never compared with ours.
    Other,
}

/// What one tool measures under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// The tool, as in [`family`].
    pub family: &'static str,
    /// Base name of the metric.
    pub metric: &'static str,
    /// Figures of one class are comparable.
    pub class: &'static str,
    /// What the class measures. Fits after "as".
    pub measures: &'static str,
    /// Against ours.
    pub likeness: DefinitionMatch,
    /// Where that is seen.
    pub source: &'static str,
}

/// Beginning of a rule, and the tool it reads. The longest that fits counts. After it the rule must end or go on with `.` or `-`.
const FAMILIES: &[(&str, &str)] = &[
    ("sparkbench.load", "sparkbench-load"),
    ("sparkbench.requests", "sparkbench-load"),
    ("sparkbench.iterations", "sparkbench-iterations"),
    ("h200-ab", "sparkbench-iterations"),
    ("vllm-bench-serve", "vllm-bench-serve"),
    ("vllm-bench-sweep", "vllm-bench-serve"),
    ("vllm-serve", "vllm-bench-serve"),
    ("vllm-bench-throughput", "vllm-bench-throughput"),
    ("vllm-throughput", "vllm-bench-throughput"),
    ("vllm-bench-latency", "vllm-bench-latency"),
    ("vllm-latency", "vllm-bench-latency"),
    ("vllm-multi-turn", "vllm-multi-turn"),
    ("vllm-multiturn", "vllm-multi-turn"),
    ("sglang", "sglang-bench-serving"),
    ("sglang-bench-serving", "sglang-bench-serving"),
    ("sglang-server", "sglang-server"),
    ("sglang-log", "sglang-server"),
    ("genai-bench", "genai-bench"),
    ("guidellm", "guidellm"),
    ("aiperf", "aiperf"),
    ("genai-perf", "genai-perf"),
    ("llama-batched-bench", "llama-batched-bench"),
    ("llama-bench", "llama-bench"),
    ("llama-benchy", "llama-benchy"),
    ("inference-perf", "inference-perf"),
    ("inference-benchmarker", "inference-benchmarker"),
    ("inferencex", "inferencex"),
    ("inferencemax", "inferencex"),
    ("trtllm-bench", "trtllm-bench"),
    ("trtllm-server", "trtllm-server"),
    ("trtllm-serve", "trtllm-server"),
    ("trtllm-log", "trtllm-server"),
    ("trtllm-memory", "trtllm-server"),
    ("vllm-server", "vllm-server"),
    ("vllm-log", "vllm-server"),
    ("llama-server", "llama-server"),
    ("mlperf", "mlperf-loadgen"),
    ("mlperf-loadgen", "mlperf-loadgen"),
    ("llmperf", "llmperf"),
    ("bench-full", "bench-full"),
    ("spark-arena", "spark-arena"),
    ("prometheus", "server-metrics"),
];

/// The tool behind a rule. `None` where the source does not say how it measured.
pub fn family(rule: &str) -> Option<&'static str> {
    FAMILIES
        .iter()
        .filter(|(start, _)| {
            rule.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
        })
        .max_by_key(|(start, _)| start.len())
        .map(|(_, family)| *family)
}

/// Class, metric, and what it measures.
struct Class(&'static str, &'static str, &'static str);

const CLASSES: &[Class] = &[
    Class(
        "ttft-first-generated",
        "ttft_ms",
        "time from sending to the first generated piece (reasoning, content or part of a call)",
    ),
    Class(
        "ttft-first-chunk",
        "ttft_ms",
        "time from sending to the first chunk with choices, which on a chat endpoint holds a role and no token",
    ),
    Class("ttft-first-content", "ttft_ms", "time from sending to the first piece of content. Reasoning does not count"),
    Class(
        "ttft-in-process",
        "ttft_ms",
        "time inside the engine's process, without HTTP, from enqueueing to the first token",
    ),
    Class("ttft-from-schedule", "ttft_ms", "time from the scheduled moment, sent or not, to the first token"),
    Class("ttft-prefill-test", "ttft_ms", "duration of a prefill test of a single sequence, without a server"),
    Class(
        "ttft-in-server",
        "ttft_ms",
        "time from the arrival of a request in the server to its first token, as the server counts it",
    ),
    Class("tpot-after-first", "tpot_ms", "time after the first token over the tokens after it, per request"),
    Class("tpot-with-first", "tpot_ms", "whole request over all its tokens, the time to the first token included"),
    Class("tpot-gaps-with-first", "tpot_ms", "mean of the gaps between chunks, the time to the first one among them"),
    Class("tpot-chunk-mean", "tpot_ms", "mean gap between chunks, corrected by the tokens of the first chunk"),
    Class(
        "tpot-in-process",
        "tpot_ms",
        "time after the first token over the tokens after it, inside the engine's process",
    ),
    Class(
        "tpot-decode-test",
        "tpot_ms",
        "reciprocal rate of a decode test of a single sequence, without a prompt or a server",
    ),
    Class(
        "tpot-from-stream-rate",
        "tpot_ms",
        "reciprocal rate of one stream, in which chunks may have counted as tokens",
    ),
    Class("tpot-in-server", "tpot_ms", "time after the first token over the tokens after it, as the server counts it"),
    Class("itl-chunk-gaps", "itl_ms", "gaps between pieces as they arrive, of one or more tokens each"),
    Class("itl-token-gaps", "itl_ms", "gaps between pieces divided by the new tokens of each"),
    Class("itl-tokenised-chunks", "itl_ms", "gaps between pieces, each counted by tokenising it alone"),
    Class("itl-in-server", "itl_ms", "gaps between the tokens of a request as the server makes them"),
    Class(
        "e2e-in-server",
        "e2e_latency_ms",
        "time from the arrival of a request in the server to its end, as the server counts it",
    ),
    Class("e2e-request", "e2e_latency_ms", "time from sending to the end of the answer, per request"),
    Class("e2e-in-process", "e2e_latency_ms", "time of a request inside the engine's process, without HTTP"),
    Class("e2e-batch", "e2e_latency_ms", "time of a whole batch, not of a request"),
    Class("e2e-from-schedule", "e2e_latency_ms", "time from the scheduled moment to the end of the answer"),
    Class("output-served", "output_throughput_tok_s", "output tokens of all requests over the wall time of the load"),
    Class(
        "output-in-process",
        "output_throughput_tok_s",
        "output tokens over the wall time of a run inside the engine's process, all requests at once",
    ),
    Class(
        "output-decode-test",
        "output_throughput_tok_s",
        "rate of a decode test of a single sequence, without any prefill",
    ),
    Class(
        "output-decode-batch",
        "output_throughput_tok_s",
        "rate of all sequences of a batch after all their prompts, without any prefill",
    ),
    Class(
        "output-chunks",
        "output_throughput_tok_s",
        "pieces or tokens over wall time. Older versions count each chunk as a token",
    ),
    Class(
        "output-tokenised-chunks",
        "output_throughput_tok_s",
        "tokens found by tokenising each piece alone, over wall time",
    ),
    Class(
        "output-other-tokenizer",
        "output_throughput_tok_s",
        "tokens of one fixed tokenizer, whatever the model, over wall time",
    ),
    Class("total-served", "total_throughput_tok_s", "input and output tokens over the wall time of the load"),
    Class(
        "total-in-process",
        "total_throughput_tok_s",
        "input and output tokens over the wall time of a run inside the engine's process",
    ),
    Class("requests-answered", "request_throughput_req_s", "answered requests over the wall time of the load"),
    Class("requests-all", "request_throughput_req_s", "requests over wall time, the failed ones among them"),
    Class(
        "requests-in-process",
        "request_throughput_req_s",
        "requests over the wall time of a run inside the engine's process",
    ),
    Class(
        "decode-after-first",
        "decode_tok_s",
        "mean over requests of the tokens after the first over the time after it",
    ),
    Class("decode-test", "decode_tok_s", "rate of a decode test of a single sequence, without any prefill"),
    Class("decode-stream", "decode_tok_s", "tokens over decode time of one stream"),
    Class("prefill-test", "prefill_tok_s", "rate of a prompt test of a single sequence, without a server"),
    Class(
        "prefill-stream",
        "prefill_tok_s",
        "prompt tokens of one stream over the time to its first chunk, less the network's latency",
    ),
    Class("prefill-batch", "prefill_tok_s", "prompt tokens over the time of all prompts, of one sequence"),
    Class("weights-loaded", "model_memory_gib", "memory that loading the weights took"),
    Class("weights-free-memory", "model_memory_gib", "free memory before less free memory after loading"),
    Class("weights-file", "model_memory_gib", "size of the weights' file"),
    Class("kv-pool", "kv_cache_gib", "size of the pool of KV blocks that the engine reserved"),
    Class("kv-pool-tokens", "kv_cache_tokens", "tokens that the reserved pool of KV blocks can hold"),
    Class("kv-context-tokens", "kv_cache_tokens", "length of the context that the server was started for"),
];

/// Tools, class, likeness to ours, source.
struct Entry(&'static [&'static str], &'static str, DefinitionMatch, &'static str);

use DefinitionMatch::{Like, Other, Same};

const OURS: &str = "docs/load-figures.md";
const VLLM: &str = "vLLM, bench/serve, as of 2026-09, vllm-project/vllm#15106";
const SGLANG: &str = "SGLang, bench_serving, as of 2026-09";
const GUIDELLM: &str = "GuideLLM as of 2026-08-07";
const AIPERF: &str = "AIPerf 0.11 to 0.13, its documentation of metrics";
const GENAI_BENCH: &str = "genai-bench as of 2026-07-22";
const GENAI_PERF: &str = "GenAI-Perf as of 2025-12";
const INF_PERF: &str = "inference-perf as of 2026-08-19, kubernetes-sigs/inference-perf#559";
const BENCHMARKER: &str = "inference-benchmarker as of 2026-04-24";
const BENCHY: &str = "llama-benchy 0.2 to 0.4";
const LLAMA_BENCH: &str = "llama.cpp, tools/llama-bench";
const LLAMA_BATCHED: &str = "llama.cpp, tools/batched-bench";
const INFERENCEX: &str = "InferenceX as of 2026-08-21, a fork of vLLM's script";
const TRTLLM: &str = "TensorRT-LLM, trtllm-bench, as of 2026-09";
const MULTI: &str = "vLLM, benchmark_serving_multi_turn.py, as of 2026-09";
const MLPERF: &str = "MLPerf Inference rules of 2026-07-23";
const SERVERS: &str = "the servers' /metrics: histograms of vLLM, SGLang and TensorRT-LLM";
const SPARK_ARENA: &str = "github.com/Sapid-Labs/vllm-spark-arena as of 2026-07";
const LLMPERF: &str = "llmperf as of 2024-12-08";

const ENTRIES: &[Entry] = &[
    // Time to first token.
    Entry(&["sparkbench-load"], "ttft-first-generated", Same, OURS),
    Entry(&["aiperf"], "ttft-first-generated", Like("counted from the dispatch to a worker"), AIPERF),
    Entry(&["guidellm"], "ttft-first-generated", Like("read on the wall clock"), GUIDELLM),
    Entry(
        &["sglang-bench-serving"],
        "ttft-first-generated",
        Like(
            "before sgl-project/sglang#23954 the first chunk counted, and an empty answer still enters the mean as 0 (sgl-project/sglang#23949)",
        ),
        SGLANG,
    ),
    Entry(
        &["genai-bench"],
        "ttft-first-generated",
        Like("requests are sent by Locust users, whose own delay is within it"),
        GENAI_BENCH,
    ),
    Entry(
        &["llama-benchy"],
        "ttft-first-generated",
        Like("end to end. The time to the first chunk is kept apart as ttfr"),
        BENCHY,
    ),
    Entry(&["vllm-bench-serve"], "ttft-first-chunk", Other, VLLM),
    Entry(&["inferencex"], "ttft-first-chunk", Other, INFERENCEX),
    Entry(&["vllm-multi-turn"], "ttft-first-content", Other, MULTI),
    Entry(&["inference-perf"], "ttft-first-content", Other, INF_PERF),
    Entry(&["inference-benchmarker"], "ttft-first-content", Other, BENCHMARKER),
    Entry(&["genai-perf"], "ttft-first-content", Other, GENAI_PERF),
    Entry(&["llmperf"], "ttft-first-content", Other, LLMPERF),
    Entry(&["trtllm-bench"], "ttft-in-process", Other, TRTLLM),
    Entry(&["sparkbench-iterations"], "ttft-in-process", Other, "docs/workloads.md"),
    Entry(&["mlperf-loadgen"], "ttft-from-schedule", Other, MLPERF),
    Entry(&["llama-bench"], "ttft-prefill-test", Other, LLAMA_BENCH),
    Entry(&["server-metrics"], "ttft-in-server", Other, SERVERS),
    // Time per output token.
    Entry(&["sparkbench-load"], "tpot-after-first", Same, OURS),
    Entry(
        &["aiperf"],
        "tpot-after-first",
        Like("printed as inter_token_latency. Tokens are counted again by a local tokenizer"),
        AIPERF,
    ),
    Entry(
        &["genai-perf"],
        "tpot-after-first",
        Like("printed as inter_token_latency. Tokens are counted again by a local tokenizer"),
        GENAI_PERF,
    ),
    Entry(
        &["guidellm"],
        "tpot-after-first",
        Like(
            "printed as inter_token_latency. Its own time_per_output_token holds the first token too and is not read as ours",
        ),
        GUIDELLM,
    ),
    Entry(
        &["vllm-bench-serve"],
        "tpot-after-first",
        Like(
            "counted from the first chunk, which on a chat endpoint may hold no token. A token count of 1 gives 0 for goodput",
        ),
        VLLM,
    ),
    Entry(
        &["inferencex"],
        "tpot-after-first",
        Like("counted from the first chunk, which on a chat endpoint may hold no token, to the chunk of the usage"),
        INFERENCEX,
    ),
    Entry(
        &["sglang-bench-serving"],
        "tpot-after-first",
        Like(
            "the requested length stands for the tokens where the server reports no usage, and it is not asked for on OpenAI routes",
        ),
        SGLANG,
    ),
    Entry(&["genai-bench"], "tpot-after-first", Like("the end is that of the stream"), GENAI_BENCH),
    Entry(
        &["inference-perf"],
        "tpot-after-first",
        Like(
            "the first token is the first of the content. normalised_time_per_output_token holds it too and is not read as ours",
        ),
        INF_PERF,
    ),
    Entry(&["mlperf-loadgen"], "tpot-after-first", Like("the average interval between generated tokens"), MLPERF),
    Entry(&["bench-full"], "tpot-after-first", Like("one stream at a time"), "the script's own JSON"),
    Entry(&["llmperf"], "tpot-gaps-with-first", Other, LLMPERF),
    Entry(&["vllm-multi-turn"], "tpot-chunk-mean", Other, MULTI),
    Entry(&["trtllm-bench", "sparkbench-iterations"], "tpot-in-process", Other, TRTLLM),
    Entry(&["llama-bench"], "tpot-decode-test", Other, LLAMA_BENCH),
    Entry(&["llama-benchy"], "tpot-from-stream-rate", Other, BENCHY),
    Entry(&["server-metrics"], "tpot-in-server", Other, SERVERS),
    // Gaps.
    Entry(&["sparkbench-load"], "itl-chunk-gaps", Same, OURS),
    Entry(
        &["vllm-bench-serve"],
        "itl-chunk-gaps",
        Like(
            "printed as inter-token latency. With speculative decoding a gap holds several tokens (vllm-project/vllm#27485)",
        ),
        VLLM,
    ),
    Entry(&["inferencex"], "itl-chunk-gaps", Like("the chunk of the usage is one of them"), INFERENCEX),
    Entry(&["aiperf"], "itl-chunk-gaps", Like("printed as inter_chunk_latency"), AIPERF),
    Entry(&["inference-perf"], "itl-chunk-gaps", Like("gaps of content only"), INF_PERF),
    Entry(&["sglang-bench-serving"], "itl-token-gaps", Other, SGLANG),
    Entry(&["inference-benchmarker"], "itl-tokenised-chunks", Other, BENCHMARKER),
    Entry(&["server-metrics"], "itl-in-server", Other, SERVERS),
    // Whole requests.
    Entry(&["sparkbench-load"], "e2e-request", Same, OURS),
    Entry(&["aiperf", "inference-perf", "genai-perf"], "e2e-request", Like("ends with the last response"), AIPERF),
    Entry(
        &["vllm-bench-serve"],
        "e2e-request",
        Like("ends with the chunk of the usage before vllm-project/vllm#55508"),
        VLLM,
    ),
    Entry(&["inferencex"], "e2e-request", Like("ends with the chunk of the usage"), INFERENCEX),
    Entry(
        &[
            "sglang-bench-serving",
            "genai-bench",
            "guidellm",
            "inference-benchmarker",
            "vllm-multi-turn",
            "llama-benchy",
            "llmperf",
        ],
        "e2e-request",
        Like("ends with the stream, its closing marker included"),
        "the tools' sources, as of 2026",
    ),
    Entry(&["trtllm-bench", "sparkbench-iterations"], "e2e-in-process", Other, TRTLLM),
    Entry(&["vllm-bench-latency"], "e2e-batch", Other, "vLLM, bench/latency"),
    Entry(&["mlperf-loadgen"], "e2e-from-schedule", Other, MLPERF),
    Entry(&["server-metrics"], "e2e-in-server", Other, SERVERS),
    // Output throughput.
    Entry(&["sparkbench-load"], "output-served", Same, OURS),
    Entry(
        &["vllm-bench-serve"],
        "output-served",
        Like("over the time of the event loop. One token a chunk where the server counts none"),
        VLLM,
    ),
    Entry(&["inferencex"], "output-served", Like("over the time of the event loop"), INFERENCEX),
    Entry(
        &["sglang-bench-serving"],
        "output-served",
        Like("the requested length stands for the tokens where the server reports no usage"),
        SGLANG,
    ),
    Entry(
        &["aiperf"],
        "output-served",
        Like("tokens are counted again by a local tokenizer unless it was told otherwise"),
        AIPERF,
    ),
    Entry(&["genai-perf"], "output-served", Like("tokens are counted again by a local tokenizer"), GENAI_PERF),
    Entry(
        &["guidellm"],
        "output-served",
        Like("its own mean is weighted by time. One token a chunk where the server counts none"),
        GUIDELLM,
    ),
    Entry(
        &["genai-bench"],
        "output-served",
        Like("tokens without warm-up and ramp over the whole run with them"),
        GENAI_BENCH,
    ),
    Entry(&["inference-perf"], "output-served", Like("per stage of the load"), INF_PERF),
    Entry(&["vllm-multi-turn"], "output-served", Like("derived: requests times mean length over the run time"), MULTI),
    Entry(&["bench-full"], "output-served", Like("one stream at a time"), "the script's own JSON"),
    Entry(&["mlperf-loadgen"], "output-served", Like("tokens completed a second under its scenario"), MLPERF),
    Entry(&["trtllm-bench", "vllm-bench-throughput", "sparkbench-iterations"], "output-in-process", Other, TRTLLM),
    Entry(&["llama-bench"], "output-decode-test", Other, LLAMA_BENCH),
    Entry(&["llama-batched-bench"], "output-decode-batch", Other, LLAMA_BATCHED),
    Entry(&["llama-benchy"], "output-chunks", Other, BENCHY),
    Entry(&["inference-benchmarker"], "output-tokenised-chunks", Other, BENCHMARKER),
    Entry(&["llmperf"], "output-other-tokenizer", Other, LLMPERF),
    // Total and request throughput.
    Entry(&["sparkbench-load"], "total-served", Same, OURS),
    Entry(
        &[
            "vllm-bench-serve",
            "inferencex",
            "sglang-bench-serving",
            "aiperf",
            "guidellm",
            "genai-bench",
            "inference-perf",
            "genai-perf",
        ],
        "total-served",
        Like("wall time is the tool's own"),
        "the tools' sources, as of 2026",
    ),
    Entry(&["trtllm-bench", "vllm-bench-throughput", "sparkbench-iterations"], "total-in-process", Other, TRTLLM),
    Entry(&["llama-batched-bench"], "total-in-process", Other, LLAMA_BATCHED),
    Entry(&["sparkbench-load"], "requests-answered", Same, OURS),
    Entry(
        &[
            "vllm-bench-serve",
            "inferencex",
            "sglang-bench-serving",
            "aiperf",
            "guidellm",
            "genai-bench",
            "inference-perf",
            "vllm-multi-turn",
            "inference-benchmarker",
            "llmperf",
            "mlperf-loadgen",
        ],
        "requests-answered",
        Like("wall time is the tool's own"),
        "the tools' sources, as of 2026",
    ),
    Entry(&["genai-perf"], "requests-all", Other, GENAI_PERF),
    Entry(&["trtllm-bench", "vllm-bench-throughput", "sparkbench-iterations"], "requests-in-process", Other, TRTLLM),
    // Decode rate.
    Entry(&["sparkbench-load"], "decode-after-first", Same, OURS),
    Entry(&["genai-bench"], "decode-after-first", Like("printed as output_inference_speed"), GENAI_BENCH),
    Entry(&["aiperf"], "decode-after-first", Like("printed as output_token_throughput_per_user"), AIPERF),
    Entry(&["llama-bench"], "decode-test", Other, LLAMA_BENCH),
    Entry(&["llama-benchy", "bench-full"], "decode-stream", Other, BENCHY),
    Entry(&["llama-bench"], "prefill-test", Other, LLAMA_BENCH),
    Entry(&["llama-benchy"], "prefill-stream", Other, BENCHY),
    Entry(&["spark-arena"], "decode-stream", Other, SPARK_ARENA),
    Entry(&["spark-arena"], "prefill-stream", Other, SPARK_ARENA),
    Entry(&["llama-batched-bench"], "prefill-batch", Other, LLAMA_BATCHED),
    // Memory, as the engines' logs print it.
    Entry(
        &["vllm-server", "trtllm-bench", "trtllm-server", "llama-server"],
        "weights-loaded",
        Like("as the engine counts its own allocations"),
        "the engines' logs",
    ),
    Entry(
        &["sglang-server", "sglang-bench-serving"],
        "weights-free-memory",
        Other,
        "SGLang, `mem usage` of `Load weight end`",
    ),
    Entry(&["llama-bench"], "weights-file", Other, LLAMA_BENCH),
    Entry(
        &["vllm-server", "sglang-server", "sglang-bench-serving", "trtllm-bench", "trtllm-server", "llama-server"],
        "kv-pool",
        Like("as the engine prints it. SGLang says GB and means GiB"),
        "the engines' logs",
    ),
    Entry(
        &["vllm-server", "sglang-server", "sglang-bench-serving", "trtllm-bench", "trtllm-server"],
        "kv-pool-tokens",
        Like("as the engine prints it"),
        "the engines' logs",
    ),
    Entry(&["llama-server"], "kv-context-tokens", Other, "llama.cpp, tools/server"),
];

impl Definition {
    /// What the tool behind a rule measures as this metric (a base name). `None` where that is not known.
    pub fn of(rule: &str, metric: &str) -> Option<Self> {
        let family = family(rule)?;
        Self::all().find(|definition| definition.family == family && definition.metric == metric)
    }

    /// Every definition, by metric and then as the catalogue has them.
    pub fn all() -> impl Iterator<Item = Self> {
        ENTRIES.iter().flat_map(|Entry(families, class, likeness, source)| {
            families.iter().filter_map(move |family| {
                let Class(class, metric, measures) = CLASSES.iter().find(|known| known.0 == *class)?;
                Some(Self { family, metric, class, measures, likeness: *likeness, source })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Metric;
    use super::*;

    #[test]
    fn the_longest_beginning_names_the_tool_and_a_part_of_a_word_names_none() {
        for (rule, tool) in [
            ("vllm-bench-serve", Some("vllm-bench-serve")),
            ("vllm-bench-serve-console", Some("vllm-bench-serve")),
            ("sglang.derived", Some("sglang-bench-serving")),
            ("sglang-server.memory", Some("sglang-server")),
            ("aiperf-records", Some("aiperf")),
            ("llama-benchy", Some("llama-benchy")),
            ("llama-bench", Some("llama-bench")),
            ("guidellmx", None),
            ("table.row", None),
            ("summary.of_requests", None),
        ] {
            assert_eq!(family(rule), tool, "{rule}");
        }
    }

    #[test]
    fn every_entry_has_its_class_and_every_class_its_metric() {
        for Entry(families, class, ..) in ENTRIES {
            assert!(CLASSES.iter().any(|known| known.0 == *class), "{class}");
            for tool in *families {
                assert!(FAMILIES.iter().any(|(_, known)| known == tool), "{tool}");
            }
        }
        for Class(class, metric, _) in CLASSES {
            assert!(Metric::names().any(|name| name == *metric), "{class}: {metric}");
        }
        let mut seen = BTreeSet::new();
        for one in Definition::all() {
            assert!(seen.insert((one.family, one.metric)), "{} measures {} twice", one.family, one.metric);
        }
    }

    #[test]
    fn what_the_tools_call_alike_is_told_apart() {
        let class = |rule: &str, metric: &str| Definition::of(rule, metric).map(|d| d.class);
        assert_ne!(class("vllm-bench-serve", "ttft_ms"), class("guidellm", "ttft_ms"));
        assert_eq!(class("aiperf", "tpot_ms"), class("sparkbench.requests", "tpot_ms"));
        assert_ne!(
            class("llama-bench", "output_throughput_tok_s"),
            class("sparkbench.load", "output_throughput_tok_s")
        );
        assert_eq!(class("pattern", "ttft_ms"), None);
    }
}
