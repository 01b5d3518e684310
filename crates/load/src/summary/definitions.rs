//! Definition of each figure: an id beside it, a sentence, the formula, and whose figure of the same name it equals.
//!
//! In:  nothing.  Out: one constant each, with which summaries are written, and the table of the manual.
//! Not here: the figures themselves.
//!
//! Four different events are called "first token" by tools that people compare every day, and three different quotients "time per
//! output token". A number without its definition is therefore no result. An id is never given a second meaning.

use serde::Serialize;

/// One definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Definition {
    /// Stands beside the figure.
    pub id: &'static str,
    /// Key of the figure in the summary.
    pub figure: &'static str,
    /// In words.
    pub meaning: &'static str,
    /// From the fields of `requests.jsonl` and `chunks.sbc`. `start` is `intended_s` in an open loop, `sent_s` in a closed one.
    pub formula: &'static str,
    /// Whose figure equals it, and whose of the same name does not.
    pub peers: &'static str,
}

macro_rules! definitions {
    ($($name:ident: $figure:literal, $id:literal, $meaning:literal, $formula:literal, $peers:literal;)*) => {
        $(
            #[doc = $meaning]
            pub(crate) const $name: Definition =
                Definition { id: $id, figure: $figure, meaning: $meaning, formula: $formula, peers: $peers };
        )*
        /// Every definition, in the order in which a summary shows the figures.
        #[cfg(test)]
        pub const DEFINITIONS: &[Definition] = &[$($name),*];
    };
}

definitions! {
    TTFT_SENT: "ttft_ms", "ttft.first-generated.from-sent",
        "from sending to the first generated piece, be it reasoning, content or part of a call. Role-only and empty events do not count, unless the server's count shows that they hold tokens",
        "first_token_s - sent_s",
        "AIPerf, GuideLLM, SGLang and genai-bench TTFT. vLLM and TensorRT-LLM take the first event (see ttft_first_chunk_ms)";
    TTFT_INTENDED: "ttft_ms", "ttft.first-generated.from-intended",
        "from the time at which the schedule wanted the request sent to the first generated piece: a wait in the client is counted",
        "first_token_s - intended_s",
        "MLPerf and wrk2 count from the planned time. The other tools from sending (see ttft_from_sent_ms)";
    TTFT_FROM_SENT: "ttft_from_sent_ms", "ttft.first-generated.from-sent",
        "in an open loop, beside ttft_ms: from sending, whatever the schedule wanted",
        "first_token_s - sent_s",
        "AIPerf, GuideLLM, SGLang and genai-bench TTFT";
    TTFT_FIRST_CHUNK: "ttft_first_chunk_ms", "ttft.first-event.from-start",
        "to the first event with `choices`, even one that holds a role alone",
        "first_event_s - start",
        "vLLM chat, TensorRT-LLM and InferenceX TTFT. llama-benchy TTFR";
    TTFO: "ttfo_ms", "ttfo.first-visible.from-start",
        "to the first piece that a user sees, reasoning not counted",
        "first_content_s - start",
        "AIPerf TTFO, GuideLLM TTFOT. inference-perf, vLLM multi-turn and llmperf TTFT";
    TPOT: "tpot_ms", "tpot.generated-span",
        "time for each further output token of a request, from the first generated piece to the last. Absent when there is no further token, when all tokens came at one moment, when counted reasoning may be in the pieces or may not have been sent, or when fewer than 4 chunks bring more than 4 times as many tokens and nobody counted those of the first",
        "(last_token_s - first_token_s) / (output_tokens - tokens of the first piece, or 1 where that is not known)",
        "vLLM, SGLang, genai-bench and trtllm-bench TPOT, AIPerf ITL. GuideLLM's includes TTFT";
    ITL: "itl_ms", "itl.one-token-chunks",
        "each gap between successive tokens, over answers in which every generated chunk is known to hold one token",
        "gaps between generated chunks, where pieces = output_tokens",
        "vLLM and SGLang ITL where their chunks hold one token. AIPerf prints TPOT under this name";
    CHUNK_GAP: "chunk_gap_ms", "chunk-gap.generated",
        "each gap between successive generated chunks as they arrived, however many tokens they hold",
        "gaps between generated chunks",
        "AIPerf ICL. vLLM and SGLang ITL";
    E2E: "e2e_latency_ms", "e2e.last-generated",
        "to the last generated piece. The usage and the end of the stream do not count",
        "last_token_s - start",
        "AIPerf, and vLLM since 2026. SGLang, genai-bench and GuideLLM wait for the end of the stream (see e2e_stream_end_ms)";
    E2E_STREAM_END: "e2e_stream_end_ms", "e2e.stream-end",
        "to the end of the response as the socket sees it",
        "end_s - start",
        "SGLang, genai-bench and GuideLLM request latency";
    DECODE_RATE: "decode_tok_s", "decode-rate.generated-span",
        "further tokens of a request per second of its generation: 1000 / tpot_ms, request by request",
        "(output_tokens - tokens of the first piece) / (last_token_s - first_token_s)",
        "AIPerf and genai-bench 'per user'";
    E2E_RATE: "e2e_tok_s", "e2e-rate",
        "output tokens of a request per second of its whole latency",
        "output_tokens / (last_token_s - start)",
        "GuideLLM and llmperf 'per user'";
    PREFILL_RATE: "prefill_tok_s", "prefill-rate.uncached",
        "input tokens that the cache did not have, per second from sending to the first generated piece, less the round trip where it was measured",
        "(input_tokens - cached_tokens) / (first_token_s - sent_s - round trip)",
        "llama-benchy pp. AIPerf and genai-bench divide all input tokens by TTFT";
    TOKENS_PER_CHUNK: "tokens_per_chunk", "tokens-per-chunk",
        "output tokens of a request for each generated chunk",
        "output_tokens / pieces",
        "none";
    REQUEST_RATE: "request_throughput_req_s", "request-rate.whole-run",
        "requests answered, over the time from the first send to the last generated piece",
        "completed / duration_s",
        "AIPerf and vLLM. GenAI-Perf counts failures too";
    OUTPUT_RATE: "output_throughput_tok_s", "output-rate.whole-run",
        "output tokens of answered requests, over the time from the first send to the last generated piece",
        "output_tokens / duration_s",
        "AIPerf. vLLM and llmperf divide by a slightly longer time";
    TOTAL_RATE: "total_throughput_tok_s", "total-rate.whole-run",
        "input and output tokens of answered requests, over the same time",
        "(input_tokens + output_tokens) / duration_s",
        "vLLM total token throughput";
    STEADY_REQUEST_RATE: "steady.request_throughput_req_s", "request-rate.steady-window",
        "work on answered requests in the steady window, over that time: each request counts with the share of its time, from sending to its last generated piece, that lies in the window",
        "sum of (part of sent_s to last_token_s in [from_s, to_s]) / (last_token_s - sent_s), over (to_s - from_s)",
        "none. Tools that count the requests that end in the window leave out those under way at its end";
    STEADY_RATE: "steady.output_throughput_tok_s", "output-rate.steady-window",
        "output tokens that arrived while at least 95 % of the concurrency asked for was in flight, by the time of each chunk, over that time",
        "tokens of generated chunks in [from_s, to_s] / (to_s - from_s)",
        "vllm-bench steady state. GuideLLM and genai-bench cut the ends instead";
    STEADY_RATE_BY_SHARE: "steady.output_throughput_tok_s", "output-rate.steady-window.by-share",
        "the same where one in twenty answers or more came at one moment, such as those that are not streamed: their tokens count with the share of their time, from sending to that moment, that lies in the window",
        "(tokens of generated chunks in [from_s, to_s], and of an answer that came at one moment output_tokens * part of sent_s to last_token_s in [from_s, to_s] / (last_token_s - sent_s)) / (to_s - from_s)",
        "none. Tools that lay tokens to the moment at which they came count those of the answers that ended in the window";
    GOODPUT: "goodput", "goodput.all-slos",
        "requests that met every stated objective. The share is of all that were planned, failures included. Absent where more than half of the answers break no objective and lack the figure of one",
        "good / duration_s and good / planned",
        "MLPerf and AIPerf count failures in the share. inference-perf does not";
    SCHEDULE_LAG: "client.schedule_lag_ms", "schedule-lag",
        "how much later than intended a request was sent",
        "sent_s - intended_s",
        "inference-perf schedule_delay";
    READ_LAG: "client.read_lag_ms", "read-lag",
        "how long what arrived lay in the kernel before this program read it. It is in none of the times above",
        "lag of generated chunks in chunks.sbc",
        "none";
}

/// The table of the manual, as Markdown.
#[cfg(test)]
pub(crate) fn markdown() -> String {
    let mut text = String::from("| figure | definition | meaning | formula | others |\n|---|---|---|---|---|\n");
    for Definition { id, figure, meaning, formula, peers } in DEFINITIONS {
        text.push_str(&format!("| `{figure}` | `{id}` | {meaning} | {formula} | {peers} |\n"));
    }
    text
}
