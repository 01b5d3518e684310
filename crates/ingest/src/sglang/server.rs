//! The server's own data in `server_info`: launch arguments, version, and the memory of each rank.
//!
//! In:  the object.  Out: typed settings, memory metrics, and every further figure of the state as an extra.
//! Not here: launch arguments that change no figure (log levels, ports, limits that were not reached, paths, keys).
//!
//! There is one state a data-parallel rank. `GB` is computed with 2^30, so it is GiB. The headline is the largest rank, never a sum. The
//! other ranks are extras. A server split into prefill and decode has a list of each. Its top level repeats one decode state, which is
//! not counted again. There the decode side is the headline, because its pool bounds how much can be in flight.

use crate::at::At;
use crate::json::Kind;
use crate::sheet::{self, Sheet};

/// Launch arguments that can change a figure, kept as the server names them.
const ARGUMENTS: &[&str] = &[
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "load_format",
    "mem_fraction_static",
    "context_length",
    "max_running_requests",
    "max_queued_requests",
    "max_total_tokens",
    "chunked_prefill_size",
    "max_prefill_tokens",
    "schedule_policy",
    "schedule_conservativeness",
    "page_size",
    "swa_full_tokens_ratio",
    "hybrid_kvcache_ratio",
    "radix_eviction_policy",
    "device",
    "tp_size",
    "pp_size",
    "dp_size",
    "ep_size",
    "nnodes",
    "stream_interval",
    "random_seed",
    "load_balance_method",
    "attention_backend",
    "decode_attention_backend",
    "prefill_attention_backend",
    "mm_attention_backend",
    "sampling_backend",
    "grammar_backend",
    "moe_runner_backend",
    "moe_a2a_backend",
    "fp8_gemm_runner_backend",
    "fp4_gemm_runner_backend",
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "disable_radix_cache",
    "enable_hierarchical_cache",
    "hicache_ratio",
    "hicache_size",
    "disable_cuda_graph",
    "disable_cuda_graph_padding",
    "cuda_graph_max_bs",
    "cuda_graph_bs",
    "enable_piecewise_cuda_graph",
    "piecewise_cuda_graph_max_tokens",
    "disable_overlap_schedule",
    "disable_custom_all_reduce",
    "enable_mixed_chunk",
    "enable_dp_attention",
    "enable_two_batch_overlap",
    "enable_single_batch_overlap",
    "enable_torch_compile",
    "torchao_config",
    "num_continuous_decode_steps",
    "enable_deterministic_inference",
    "enable_lora",
    "max_loras_per_batch",
    "cpu_offload_gb",
    "reasoning_parser",
    "sampling_defaults",
    "disaggregation_mode",
    "disaggregation_transfer_backend",
    "num_reserved_decode_tokens",
    "model_impl",
    "is_embedding",
    "status",
];

/// Memory of a state: key, metric, unit.
const MEMORY: &[(&str, &str, &str)] = &[
    ("weight", "model_memory_gib", "GiB"),
    ("kvcache", "kv_cache_gib", "GiB"),
    ("token_capacity", "kv_cache_tokens", "tokens"),
];

/// Figures of the server itself, in tokens.
const FIGURES: &[&str] = &["max_total_num_tokens", "max_req_input_len"];

/// Longest id of a model, in characters.
const LONGEST_ID: usize = 200;
/// Limit for ranks that are read.
const RANKS: usize = 1024;

const OTHER_RANK: &str = "another rank than the one that is read";
const PREFILL: &str = "the prefill side, while the decode side is read";

/// See the module.
pub(super) fn read(info: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    sheet.partial.setup.engine.get_or_insert_with(|| "SGLang".to_owned());
    let (prefill, decode) = (info.get("prefill"), info.get("decode"));
    let items =
        |at: &Option<At<'_>>| at.as_ref().is_some_and(|at| at.items().is_ok_and(|mut items| items.next().is_some()));
    if !items(&prefill) && !items(&decode) {
        arguments(info, "", sheet);
        memory(info, "", None, sheet);
        typed(info, sheet);
        return;
    }
    sheet.note("prefill and decode run apart: memory is that of the decode side, the prefill side is kept beside it");
    // Cached prefixes are the prefill side's, whatever the decode side says.
    for (role, list, why) in [("prefill", &prefill, Some(PREFILL)), ("decode", &decode, None)] {
        for (place, item) in
            list.as_ref().and_then(|list| list.items().ok()).into_iter().flatten().take(RANKS).enumerate()
        {
            let name = format!("{role}.{place}.");
            arguments(&item, &name, sheet);
            memory(&item, &name, why, sheet);
            if let Some(version) = sheet::text_at(&item, "version") {
                sheet.setting(&format!("{name}version"), version);
            }
            if role == "prefill" && place == 0 {
                sheet.partial.setup.prefix_cache =
                    sheet::bool_at(&item, "disable_radix_cache").map(|disabled| !disabled);
            }
            if role == "decode" && place == 0 {
                typed(&item, sheet);
            }
        }
        let count = list.as_ref().and_then(|list| list.items().ok()).map_or(0, Iterator::count);
        sheet.setting(&format!("{role}_servers"), count.to_string());
    }
    if let Some(item) = prefill.as_ref().and_then(|list| list.items().ok()?.next()) {
        typed(&item, sheet);
    }
}

/// Launch arguments as settings. What is null was not given.
fn arguments(item: &At<'_>, role: &str, sheet: &mut Sheet<'_, '_>) {
    sheet.settings_of(item, role, ARGUMENTS);
    for key in FIGURES {
        if let Some(at) = item.get(key) {
            sheet.extra(&at, &format!("{role}{key}"), "tokens", None);
        }
    }
}

/// Settings that have a field of their own. The first to say something is right.
fn typed(item: &At<'_>, sheet: &mut Sheet<'_, '_>) {
    let number = |key: &str| sheet::number_at(item, key);
    // `auto` does not state the result.
    let text = |key: &str| sheet::text_at(item, key).filter(|word| word != "auto");
    let model = ["served_model_name", "model_path"].into_iter().find_map(|key| sheet::raw_at(item, key));
    if let Some(id) = model.filter(|id| id.chars().count() <= LONGEST_ID).and_then(|id| sheet::model_id(&id)) {
        sheet.partial.model.get_or_insert_with(|| sheet::last_part(&id).to_owned());
        sheet.partial.setup.model_id.get_or_insert(id);
    }
    let setup = &mut sheet.partial.setup;
    setup.engine_version = setup.engine_version.take().or_else(|| text("version"));
    setup.max_model_len = setup.max_model_len.or_else(|| number("context_length"));
    setup.memory_utilisation = setup.memory_utilisation.or_else(|| number("mem_fraction_static"));
    setup.kv_dtype = setup.kv_dtype.take().or_else(|| text("kv_cache_dtype"));
    setup.quantisation = setup.quantisation.take().or_else(|| text("quantization")).or_else(|| text("dtype"));
    setup.prefix_cache =
        setup.prefix_cache.or_else(|| sheet::bool_at(item, "disable_radix_cache").map(|disabled| !disabled));
    if setup.parallel.is_none() {
        let parts: Vec<String> = [("tp", "tp_size"), ("pp", "pp_size"), ("dp", "dp_size"), ("ep", "ep_size")]
            .iter()
            .filter_map(|(short, key)| number(key).map(|n| format!("{short}{n}")))
            .collect();
        setup.parallel = (!parts.is_empty()).then(|| parts.join(" "));
    }
    if setup.speculative.is_none()
        && let Some(at) = item.get("speculative_algorithm")
    {
        setup.speculative = match sheet::scalar(&at) {
            None => (at.node.kind == Kind::Null).then(|| "off".to_owned()),
            Some(method) => {
                let mut parts = vec![method];
                for (word, key) in [
                    ("steps", "speculative_num_steps"),
                    ("topk", "speculative_eagle_topk"),
                    ("draft", "speculative_num_draft_tokens"),
                ] {
                    parts.extend(number(key).map(|n| format!("{word}{n}")));
                }
                Some(parts.join(" "))
            }
        };
    }
}

/// Memory and further figures of every state of one server.
fn memory(item: &At<'_>, role: &str, why: Option<&'static str>, sheet: &mut Sheet<'_, '_>) {
    let Some(states) = item.get("internal_states") else { return without_states(item, why, sheet) };
    let states: Vec<At<'_>> = states.items().into_iter().flatten().take(RANKS).collect();
    let mut found = false;
    for (key, metric, unit) in MEMORY {
        let largest = states
            .iter()
            .enumerate()
            .filter_map(|(rank, state)| Some((rank, sheet::number_at(state, ["memory_usage", key])?)))
            .reduce(|best, other| if other.1 > best.1 { other } else { best })
            .map(|(rank, _)| rank);
        found |= largest.is_some();
        for (rank, state) in states.iter().enumerate() {
            let Some(usage) = state.get("memory_usage") else { continue };
            let Some(at) = usage.get(key) else { continue };
            let headline = largest == Some(rank) && why.is_none() && sheet.reading(metric).is_none();
            if !(headline && sheet.metric(&at, metric).is_some()) {
                let name = format!("{role}internal_states.{rank}.memory_usage.{key}");
                sheet.extra(&at, &name, unit, why.or(Some(OTHER_RANK)));
            }
        }
    }
    for (rank, state) in states.iter().enumerate() {
        let name = format!("{role}internal_states.{rank}");
        if let Some(usage) = state.get("memory_usage") {
            let known: Vec<&str> = MEMORY.iter().map(|(key, ..)| *key).collect();
            for (key, at) in usage.entries().into_iter().flatten().filter(|(key, _)| !known.contains(key)) {
                sheet.extra(&at, &format!("{name}.memory_usage.{key}"), "GiB", why);
            }
        }
        for (key, at) in state.entries().into_iter().flatten() {
            // Every state repeats the start options of the server.
            if matches!(at.node.kind, Kind::Number(_)) && item.get(key).is_none() {
                let (unit, why) = match key {
                    "last_gen_throughput" => ("tok/s", Some("the server's last interval, not the run")),
                    _ => ("", why),
                };
                sheet.extra(&at, &format!("{name}.{key}"), unit, why);
            }
        }
    }
    if states.len() > 1 {
        sheet.note(format!("memory of {} data-parallel ranks: the largest is read, nothing is summed", states.len()));
    }
    if !found {
        without_states(item, why, sheet);
    }
}

/// Versions that tell no memory still tell the capacity of the KV pool.
fn without_states(item: &At<'_>, why: Option<&'static str>, sheet: &mut Sheet<'_, '_>) {
    if let (None, Some(at)) = (why, item.get("max_total_num_tokens"))
        && sheet.reading("kv_cache_tokens").is_none()
    {
        sheet.metric(&at, "kv_cache_tokens");
    }
}
