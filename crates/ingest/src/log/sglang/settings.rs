//! Settings of an SGLang server, from the line of its arguments.
//!
//! In:  the line.  Out: the setup of a start.
//! Not here: figures.

use super::super::cut::{number, set};
use super::boot::SglangBoot;
use crate::sheet::model_id;

impl SglangBoot {
    /// `ServerArgs(model_path='org/m', ...)`. Only the settings named here are taken, keys of clients are among the others.
    pub(super) fn arguments(&mut self, line: &str) {
        const KEPT: &[&str] = &[
            "attention_backend",
            "chunked_prefill_size",
            "cuda_graph_max_bs",
            "disable_cuda_graph",
            "disable_overlap_schedule",
            "enable_torch_compile",
            "load_format",
            "max_running_requests",
            "max_total_tokens",
            "moe_runner_backend",
            "page_size",
            "random_seed",
            "sampling_backend",
            "schedule_policy",
            "schedule_conservativeness",
        ];
        let text = |key: &str| set(line, key);
        let figure = |key: &str| text(key).and_then(number).map(|figure| figure.value);
        self.setup.model_id = text("model_path=").and_then(model_id);
        self.setup.memory_utilisation = figure("mem_fraction_static=");
        self.setup.max_model_len = figure("context_length=");
        self.setup.quantisation =
            text("quantization=").or_else(|| text("dtype=").filter(|dtype| *dtype != "auto")).map(str::to_owned);
        self.setup.kv_dtype = text("kv_cache_dtype=").map(str::to_owned);
        self.setup.prefix_cache = text("disable_radix_cache=").map(|off| off != "True");
        let size = |name: &str, key: &str| Some(format!("{name}{}", figure(key)?));
        let sizes: Vec<String> = [("tp", "tp_size="), ("pp", "pp_size="), ("dp", "dp_size="), ("ep", "ep_size=")]
            .iter()
            .filter_map(|(name, key)| size(name, key))
            .collect();
        self.setup.parallel = (!sizes.is_empty()).then(|| sizes.join(" "));
        self.setup.speculative = match text("speculative_algorithm=") {
            Some(algorithm) => {
                let length = figure("speculative_num_draft_tokens=").or_else(|| figure("speculative_num_steps="));
                Some(length.map_or_else(|| algorithm.to_owned(), |length| format!("{algorithm} {length}")))
            }
            None => line.contains("speculative_algorithm=None").then(|| "off".to_owned()),
        };
        let kept: Vec<(&str, String)> =
            KEPT.iter().filter_map(|key| Some((*key, text(&format!("{key}="))?.to_owned()))).collect();
        for (key, value) in kept {
            self.more(key, &value);
        }
    }

    /// Data type of the cache.
    pub(super) fn kv_dtype(&mut self, dtype: &str) {
        let word = dtype.trim().trim_start_matches("torch.").split([' ', ',']).next().unwrap_or_default();
        if !word.is_empty() {
            self.setup.kv_dtype = Some(word.to_owned());
        }
    }

    /// A further setting.
    pub(super) fn more(&mut self, key: &str, value: &str) {
        const LONGEST: usize = 80;
        if self.setup.more.len() < 100 && !value.is_empty() {
            self.setup.more.insert(key.to_owned(), value.chars().take(LONGEST).collect());
        }
    }
}
