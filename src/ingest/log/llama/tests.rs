//! Known answers.

use super::*;
use crate::ingest::log::parse_kind;
use crate::ingest::{Piece, Record};
use crate::model::ExtraValue;

fn read(text: &str) -> Piece {
    let mut input = text.as_bytes();
    let parsed = parse_kind(&mut SourceFile::new("server.log", text.len() as u64, &mut input), &LLAMA).unwrap();
    match parsed.records.into_iter().next() {
        Some(Record::Piece(piece)) => *piece,
        other => panic!("{other:?}"),
    }
}

fn value(piece: &Piece, metric: &str) -> Option<f64> {
    piece.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
}

fn extra(piece: &Piece, name: &str) -> Option<f64> {
    piece.extras.iter().find(|extra| extra.name == name).and_then(|extra| match extra.value {
        ExtraValue::Number(value) => Some(value),
        ExtraValue::Text(_) => None,
    })
}

#[test]
fn an_answer_of_one_token_has_no_time_per_token() {
    let piece = read(
        "prompt eval time =     229.95 ms /    22 tokens (   10.45 ms per token,    95.67 tokens per second)\n\
                eval time =      51.77 ms /     4 tokens (   12.94 ms per token,    77.26 tokens per second)\n\
                eval time =       0.00 ms /     1 tokens (    0.00 ms per token, 1000000.00 tokens per second)\n",
    );
    let [series] = piece.series.as_slice() else { panic!("{:?}", piece.series) };
    assert_eq!((series.metric.as_str(), series.values.as_slice()), ("tpot_ms", &[12.94][..]));
    assert_eq!(
        (extra(&piece, "requests"), extra(&piece, "eval_rate max"), extra(&piece, "prompt_tokens")),
        (Some(2.0), Some(77.26), Some(22.0))
    );
}

#[test]
fn memory_is_that_of_the_gpu_and_each_buffer_stands_beside_it() {
    let piece = read(
        "0.14.342 I load_tensors:   CPU_Mapped model buffer size =  9000.00 MiB\n\
         load_tensors:        CUDA0 model buffer size =  2048.00 MiB\nload_tensors:        CUDA1 model buffer size =  4096.00 MiB\n\
         llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB\n\
         llama_kv_cache: size =  512.00 MiB (  8192 cells,  32 layers,  1/1 seqs), K (q8_0):  256.00 MiB, V (q8_0):  256.00 MiB\n\
         llama_kv_cache: size =  256.00 MiB (  1024 cells,  32 layers,  1/1 seqs), K (q8_0):  128.00 MiB, V (q8_0):  128.00 MiB\n",
    );
    assert_eq!((value(&piece, "model_memory_gib"), value(&piece, "kv_cache_gib")), (Some(4.0), Some(0.75)));
    assert_eq!((value(&piece, "kv_cache_tokens"), piece.setup.kv_dtype.as_deref()), (Some(8192.0), Some("q8_0")));
    assert_eq!(extra(&piece, "model buffer CPU_Mapped"), Some(9000.0));
    let old = read(
        "llm_load_tensors: x\nllama_new_context_with_model: KV self size  =  256.00 MiB, K (f16):  128.00 MiB, V (f16):  128.00 MiB\n",
    );
    assert_eq!(value(&old, "kv_cache_gib"), Some(0.25));
}

#[test]
fn of_the_file_of_the_model_only_its_name_is_taken() {
    let piece = read(
        "llama_model_loader: loaded meta data with 30 key-value pairs and 291 tensors from /home/someone/x-Q4_K_M.gguf (version GGUF V3 (latest))\n",
    );
    assert_eq!(piece.model.as_deref(), Some("x-Q4_K_M.gguf"));
    assert!(!format!("{piece:?}").contains("someone"));
}
