//! Known answers.

use super::*;
use crate::log::parse_kind;
use crate::{PartialRun, Record};
use sparkbench_model::ExtraValue;

fn read(text: &str) -> (PartialRun, Vec<String>) {
    let mut input = text.as_bytes();
    let parsed = parse_kind(&mut SourceFile::new("server.log", text.len() as u64, &mut input), &SGLANG).unwrap();
    match parsed.records.into_iter().next() {
        Some(Record::Run(partial)) => (*partial, parsed.notes),
        other => panic!("{other:?}"),
    }
}

fn value(partial: &PartialRun, metric: &str) -> Option<f64> {
    partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

fn extra(partial: &PartialRun, name: &str) -> Option<f64> {
    partial.extras.iter().find(|extra| extra.name == name).and_then(|extra| match extra.value {
        ExtraValue::Number(value) => Some(value),
        ExtraValue::Text(_) => None,
    })
}

#[test]
fn the_cache_is_keys_and_values_or_one_size_in_either_wording() {
    for (line, gib) in [
        ("KV Cache is allocated. #tokens: 6827, K size: 0.25 GB, V size: 0.5 GB", 0.75),
        ("KV Cache is allocated. dtype: torch.bfloat16, #tokens: 6827, K size: 0.25 GB, V size: 0.25 GB", 0.5),
        ("KV Cache is allocated. #tokens: 6827, KV size: 1.25 GB", 1.25),
    ] {
        let (partial, _) = read(&format!("[2026-06-07 11:57:43] {line}\n"));
        assert_eq!(
            (value(&partial, "kv_cache_gib"), value(&partial, "kv_cache_tokens")),
            (Some(gib), Some(6827.0)),
            "{line}"
        );
    }
}

#[test]
fn a_draft_model_adds_to_the_model_and_ranks_do_not() {
    let text: String = ["TP0", "TP1"]
        .iter()
        .flat_map(|rank| {
            ["7.50", "0.50"].map(|size| format!("[2026-06-07 11:57:43 {rank}] Load weight end. elapsed=2.0 s, type=X, avail mem=13.46 GB, mem usage={size} GB.\n"))
        })
        .collect();
    let (partial, _) = read(&text);
    assert_eq!((value(&partial, "model_memory_gib"), value(&partial, "model_load_s")), (Some(8.0), Some(4.0)));
    assert_eq!(partial.readings[0].origin.rule, "sglang-server-log.derived");
    assert_eq!(extra(&partial, "model_memory_gib of part 2 on TP1"), Some(0.5));
}

#[test]
fn a_second_start_without_its_pool_leaves_the_first() {
    let ready = "[2026-06-07 11:58:16] max_total_num_tokens=6827, chunked_prefill_size=8192, max_running_requests=2048, context_len=32768, available_gpu_mem=8.34 GB\n";
    let text = format!(
        "server_args=ServerArgs(model_path='org/a', tp_size=1)\n{ready}server_args=ServerArgs(model_path='org/b', tp_size=1)\n[2026-06-07 12:00:00] Load weight end. avail mem=1.00 GB, mem usage=9.00 GB.\n"
    );
    let (partial, notes) = read(&text);
    assert_eq!((partial.model.as_deref(), value(&partial, "kv_cache_tokens")), (Some("a"), Some(6827.0)));
    assert!(notes[1].contains("did not come up"), "{notes:?}");
    let (partial, _) = read(&format!("{text}{ready}"));
    assert_eq!(
        (partial.model.as_deref(), value(&partial, "model_memory_gib"), partial.setup.max_model_len),
        (Some("b"), Some(9.0), Some(32768.0))
    );
}

#[test]
fn both_ways_to_write_a_batch_are_read_and_hits_come_from_tokens() {
    let (partial, _) = read(
        "x Prefill batch, #new-seq: 1, #new-token: 30, #cached-token: 10, token usage: 0.00\n\
         x Prefill batch. #new-seq: 1, #new-token: 30, #cached-token: 10, token usage: 0.00\n\
         x Decode batch, #running-req: 1, #token: 73, token usage: 0.10, accept len: 2.00, gen throughput (token/s): 50.00, #queue-req: 0\n\
         x Decode batch. #running-req: 3, #token: 73, token usage: 0.30, accept len: 3.00, gen throughput (token/s): 70.00, #queue-req: 0\n\
         x KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.5 -> 0.7\n",
    );
    assert_eq!(
        (extra(&partial, "prefix_cache_hit_rate"), extra(&partial, "batch_generation_throughput mean")),
        (Some(25.0), Some(60.0))
    );
    assert_eq!(
        (extra(&partial, "spec_decode_acceptance_length mean"), extra(&partial, "preemptions")),
        (Some(2.5), Some(3.0))
    );
    assert!(partial.readings.is_empty());
}
