//! Settings of `llama-server`, as it prints them while it loads.
//!
//! In:  lines.  Out: the setup of a start, and the figures in it.
//! Not here: memory.

use super::super::cut::{after, number, number_after, place, with_unit};
use super::boot::{LlamaBoot, build};
use crate::sheet::{last_part, model_id};

impl LlamaBoot {
    /// One line.
    pub(super) fn settings(&mut self, line_number: u64, line: &str) {
        // At the verbosity of default the path is there once, in quotes.
        let loaded = after(line, "tensors from ").and_then(|rest| rest.split(" (version").next());
        let loading = || after(line, "load_model: loading model '").and_then(|rest| rest.split('\'').next());
        if let Some(path) = loaded.or_else(loading) {
            let file = model_id(path).map(|id| last_part(&id).to_owned());
            self.setup.model_id = self.setup.model_id.take().or(file);
        }
        if let Some(build) = build(line) {
            let word = build.split(" with ").next().unwrap_or_default().trim();
            self.setup.engine_version = Some(word.chars().take(60).collect());
        }
        if let Some(before) = place(line, ", compute capability ").and_then(|at| line.get(..at))
            && let Some((_, name)) = before.rsplit_once(": ")
        {
            self.setup.machine = self.setup.machine.take().or_else(|| Some(name.chars().take(80).collect()));
        }
        if let Some((layers, _)) = after(line, "offloaded ").and_then(|rest| rest.split_once(" layers to GPU"))
            && let (Some(on), Some(all)) = (number(layers), number_after(layers, "/"))
            && !self.is_behind_the_first()
        {
            self.found.extra("layers_on_gpu", "", on.value, line_number);
            self.found.extra("layers", "", all.value, line_number);
        }
        let value = || line.rsplit_once("= ").map(|(_, value)| value.trim());
        let key_is = |name: &str| line.split_once(" = ").is_some_and(|(key, _)| key.trim_end().ends_with(name));
        if (line.contains("print_info:") || line.contains("print_meta:")) && line.contains(" = ") {
            if key_is("file type") || key_is("model ftype") {
                self.setup.quantisation = self.setup.quantisation.take().or_else(|| value().map(str::to_owned));
            } else if key_is("model params") {
                let scale = |text: &str| match text.split_whitespace().nth(1) {
                    Some("B") => Some(1e9),
                    Some("M") => Some(1e6),
                    Some("T") => Some(1e12),
                    _ => None,
                };
                let count = value().and_then(|text| Some((number(text)?.value * scale(text)?).round()));
                self.setup.parameters = self.setup.parameters.take().or(count);
            } else if key_is("model type") || key_is("general.name") {
                let text = value().unwrap_or_default().to_owned();
                self.more(if line.contains("general.name") { "general.name" } else { "model type" }, &text);
            } else if (key_is("file size") || key_is("model size")) && !self.is_behind_the_first() {
                let mib = |text| with_unit(text, "MiB").map(|figure| figure.value / 1024.0);
                let gib = |text| with_unit(text, "GiB").map(|figure| figure.value);
                if let Some(size) = value().and_then(|text| gib(text).or_else(|| mib(text))) {
                    self.found.extra("file_size", "GiB", size, line_number);
                }
            }
        }
        if line.contains("llama_context:") || line.contains("llama_new_context_with_model:") {
            for key in ["n_seq_max", "n_ctx", "n_ctx_per_seq", "n_ctx_seq", "n_batch", "n_ubatch", "flash_attn"] {
                if key_is(&format!(" {key}"))
                    && let Some(value) = value()
                {
                    let value = value.to_owned();
                    self.more(key, &value);
                    if self.is_behind_the_first() {
                        continue;
                    }
                    if key.starts_with("n_ctx_") || (key == "n_ctx" && self.setup.max_model_len.is_none()) {
                        self.setup.max_model_len = number(&value).map(|figure| figure.value);
                    }
                }
            }
        }
        if let Some(slots) = number_after(line, "n_slots =") {
            self.more("n_slots", &slots.value.to_string());
        }
        if let Some(slot) = number_after(line, "n_ctx_slot =") {
            self.setup.max_model_len = self.setup.max_model_len.or(Some(slot.value));
        }
    }

    fn more(&mut self, key: &str, value: &str) {
        const LONGEST: usize = 80;
        if self.setup.more.len() < 100 && !value.is_empty() {
            self.setup.more.entry(key.to_owned()).or_insert_with(|| value.chars().take(LONGEST).collect());
        }
    }
}
