//! Settings of a vLLM server, from the line of its engine and from its arguments.
//!
//! In:  lines.  Out: the setup of a start.
//! Not here: figures.

use super::super::cut::{after, number, place, set, setting, value_after};
use super::boot::{VllmBoot, is_start};
use crate::sheet::model_id;

impl VllmBoot {
    /// One line.
    pub(super) fn settings(&mut self, line: &str) {
        if let Some(version) = after(line, "█  version ").or_else(|| after(line, "vLLM API server version ")) {
            self.setup.engine_version = version.split_whitespace().next().map(str::to_owned);
        }
        if let Some(model) = after(line, "█  model ") {
            self.setup.model_id = model_id(model);
        }
        if is_start(line) {
            self.engine(line);
        }
        if line.contains("non-default args") || line.contains(" args: Namespace(") {
            self.arguments(line);
        }
        // A draft model prints a second one.
        if self.setup.max_model_len.is_none() {
            self.setup.max_model_len = value_after(line, "Using max model len");
        }
        if let Some(before) = place(line, " data type to store kv cache").and_then(|at| line.get(..at)) {
            self.setup.kv_dtype = before.split_whitespace().next_back().map(str::to_owned);
        }
        if let Some(tokens) = value_after(line, "max_num_batched_tokens=") {
            self.more("max_num_batched_tokens", &tokens.to_string());
        }
        if let Some(share) = value_after(line, "The current --gpu-memory-utilization=")
            .or_else(|| value_after(line, "gpu_memory_utilization ("))
        {
            self.setup.memory_utilisation = Some(share);
        }
        if let Some(backend) = after(line, "AttentionBackendEnum.")
            .or_else(|| after(line, "] Using ").filter(|rest| rest.contains("ttention backend")))
            && let Some(word) = backend.split([' ', '.']).next()
        {
            let known = self.setup.more.contains_key("attention_backend");
            if !known {
                self.more("attention_backend", word);
            }
        }
        if let Some(mode) = after(line, "setting cudagraph_mode=") {
            self.more("cudagraph_mode", mode.split([' ', ',']).next().unwrap_or_default());
        }
    }

    /// `Initializing a V1 LLM engine (v0.20.0) with config: model='org/m', speculative_config=None, ...`
    fn engine(&mut self, line: &str) {
        if let Some(version) = after(line, "LLM engine (v").and_then(|rest| rest.split(')').next()) {
            self.setup.engine_version = Some(version.to_owned());
        }
        let number_of = |key: &str| set(line, key).and_then(number).map(|figure| figure.value);
        // A folder is named for where it lies. The name by which the model is served says more.
        let folder = set(line, "model=").is_some_and(|model| model.starts_with('/') && !model.contains("models--"));
        let served = set(line, "served_model_name=").filter(|name| folder && !name.starts_with('/'));
        self.setup.model_id = served.or_else(|| set(line, "model=")).and_then(model_id).or(self.setup.model_id.take());
        if let Some(length) = number_of("max_seq_len=") {
            self.setup.max_model_len = Some(length);
        }
        let quantisation = set(line, "quantization=").or_else(|| set(line, "dtype="));
        self.setup.quantisation = quantisation.map(|text| text.trim_start_matches("torch.").to_owned());
        if let Some(dtype) = set(line, "kv_cache_dtype=") {
            self.setup.kv_dtype = Some(dtype.to_owned());
        }
        if let Some(on) = set(line, "enable_prefix_caching=") {
            self.setup.prefix_cache = Some(on == "True");
        }
        self.setup.speculative = match setting(line, "speculative_config=") {
            None => self.setup.speculative.take(),
            Some("None") => Some("off".to_owned()),
            Some(config) => {
                let method = set(config, "method=").unwrap_or("draft model");
                let length = set(config, "num_spec_tokens=").or_else(|| set(config, "num_speculative_tokens="));
                Some(length.map_or_else(|| method.to_owned(), |length| format!("{method} {length}")))
            }
        };
        let sizes = [("tp", "tensor_parallel_size="), ("pp", "pipeline_parallel_size="), ("dp", "data_parallel_size=")];
        let parallel: Vec<String> =
            sizes.iter().filter_map(|(name, key)| Some(format!("{name}{}", number_of(key)?))).collect();
        self.setup.parallel = (!parallel.is_empty()).then(|| parallel.join(" "));
        for key in ["dtype=", "enforce_eager=", "load_format=", "enable_chunked_prefill=", "seed=", "tokenizer_mode="] {
            if let Some(value) = set(line, key) {
                self.more(key.trim_end_matches('='), value);
            }
        }
    }

    /// `non-default args: {'model': 'org/m', 'gpu_memory_utilization': 0.8, ...}`. Keys that could hold anything private are skipped.
    fn arguments(&mut self, line: &str) {
        const KEPT: &[&str] = &[
            "max_num_seqs",
            "max_num_batched_tokens",
            "enforce_eager",
            "attention_backend",
            "load_format",
            "block_size",
            "swap_space",
            "cpu_offload_gb",
            "async_scheduling",
            "kv_cache_memory_bytes",
        ];
        let value = |key: &str| set(line, &format!("'{key}':")).or_else(|| set(line, &format!("{key}=")));
        let figure = |key: &str| value(key).and_then(number).map(|figure| figure.value);
        if let Some(model) = value("model").and_then(model_id) {
            self.setup.model_id = Some(model);
        }
        if let Some(share) = figure("gpu_memory_utilization") {
            self.setup.memory_utilisation = Some(share);
        }
        if let Some(length) = figure("max_model_len") {
            self.setup.max_model_len = Some(length);
        }
        if let Some(dtype) = value("kv_cache_dtype") {
            self.setup.kv_dtype = Some(dtype.to_owned());
        }
        if let Some(on) = value("enable_prefix_caching") {
            self.setup.prefix_cache = Some(on == "True");
        }
        let kept: Vec<(&str, String)> = KEPT.iter().filter_map(|key| Some((*key, value(key)?.to_owned()))).collect();
        for (key, text) in kept {
            self.more(key, &text);
        }
    }

    fn more(&mut self, key: &str, value: &str) {
        const LONGEST: usize = 80;
        if self.setup.more.len() < 100 && !value.is_empty() {
            self.setup.more.insert(key.to_owned(), value.chars().take(LONGEST).collect());
        }
    }
}
