//! Settings of TensorRT-LLM, as its engine prints them while it starts.
//!
//! In:  lines.  Out: the setup of a start.
//! Not here: memory, and the settings of a report (see `block`).

use super::super::cut::{after, number, set, value_after};
use super::engine::Engine;
use crate::sheet::model_id;

/// Settings of one line, as `key=`.
const SETTINGS: &[&str] =
    &["max_seq_len=", "max_num_requests=", "max_num_tokens=", "max_batch_size=", "max_beam_width="];

impl Engine {
    /// One line.
    pub(super) fn settings(&mut self, line: &str) {
        for phrase in ["TensorRT-LLM version:", "TensorRT LLM version:"] {
            if let Some(version) = after(line, phrase).and_then(|rest| rest.split_whitespace().next()) {
                self.setup.engine_version = Some(version.to_owned());
            }
        }
        if let Some(size) = value_after(line, "MPI size:") {
            self.world = Some(size.max(1.0) as usize);
        }
        if let Some(algorithm) = set(line, "quant_algo=") {
            self.setup.quantisation = Some(algorithm.to_owned());
        }
        if let Some(algorithm) = set(line, "kv_cache_quant_algo=") {
            self.setup.kv_dtype = Some(algorithm.to_owned());
        }
        if line.contains("max_num_requests=") {
            for key in SETTINGS {
                if let Some(value) = set(line, key) {
                    self.more(key.trim_end_matches('='), value);
                }
            }
            self.setup.max_model_len = set(line, "max_seq_len=").and_then(number).map(|figure| figure.value);
        }
        if let Some(rest) = after(line, "TRTGptModel ")
            && let Some((key, value)) = rest.split_once(": ")
            && key.starts_with("max")
            && !key.contains(' ')
            && let Some(word) = value.split_whitespace().next()
        {
            self.more(key, word);
        }
        if let Some(policy) = after(line, "Capacity Scheduler Policy:") {
            self.more("scheduling_policy", policy.trim());
        }
        self.arguments(line);
    }

    /// The arguments of the engine, printed as one line: `model='org/m' tokenizer=None tensor_parallel_size=1 ...`.
    fn arguments(&mut self, line: &str) {
        let Some(tp) = set(line, "tensor_parallel_size=").and_then(number) else { return };
        let Some(model) = set(line, "model=") else { return };
        self.setup.model_id = model_id(model);
        let pp = set(line, "pipeline_parallel_size=").and_then(number).map_or(1.0, |figure| figure.value);
        self.world = Some((tp.value.max(1.0) * pp.max(1.0)) as usize);
        self.setup.parallel = Some(format!("tp{} pp{pp}", tp.value));
        for key in ["dtype=", "max_batch_size=", "max_num_tokens=", "max_seq_len=", "enable_chunked_prefill="] {
            if let Some(value) = set(line, key) {
                self.more(key.trim_end_matches('='), value);
            }
        }
        if let Some(value) = set(line, "free_gpu_memory_fraction=").and_then(number) {
            self.setup.memory_utilisation = Some(value.value);
        }
        if let Some(value) = set(line, "enable_block_reuse=") {
            self.setup.prefix_cache = Some(value == "True");
        }
        if let Some(value) = setting_of_speculation(line) {
            self.setup.speculative = Some(value);
        }
    }

    pub(super) fn more(&mut self, key: &str, value: &str) {
        if self.setup.more.len() < 200 && !value.is_empty() {
            self.setup.more.insert(key.to_owned(), value.chars().take(200).collect());
        }
    }
}

/// Method and length of the drafts.
fn setting_of_speculation(line: &str) -> Option<String> {
    let config = super::super::cut::setting(line, "speculative_config=")?;
    if config == "None" {
        return Some("off".to_owned());
    }
    let method = set(config, "decoding_type=").or_else(|| config.split('(').next())?;
    Some(match set(config, "max_draft_len=") {
        Some(length) => format!("{method} {length}"),
        None => method.to_owned(),
    })
}
