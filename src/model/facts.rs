//! What is known of machines and models apart from any run: the input of the physical checks.
//!
//! In:  nothing.  Out: [`Facts`], read by `ingest` from TOML files with sources.
//! Not here: values of our own; every figure stands in `data/facts/` with its source.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A machine, by the label its archives use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFacts {
    /// For people.
    pub title: String,
    /// Names under which files speak of it, matched without case as whole words of the machine name.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Words that would contradict the machine (another architecture's name, say).
    #[serde(default)]
    pub not: Vec<String>,
    /// Memory a process on the device can use, GiB.
    pub memory_gib: Option<f64>,
    /// Peak memory bandwidth, GB/s (10^9).
    pub bandwidth_gb_s: Option<f64>,
    /// True where host and device share one memory.
    #[serde(default)]
    pub unified_memory: bool,
    /// Highest plausible GPU temperature, degrees Celsius.
    pub max_temp_c: Option<f64>,
    /// Where each figure comes from.
    pub sources: Vec<String>,
}

/// A model, by its id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFacts {
    /// For people.
    pub title: String,
    /// Parameters in all.
    pub parameters: Option<f64>,
    /// Precision the weights are stored and served in.
    pub quantisation: Option<String>,
    /// Bytes of all weights as served.
    pub weight_bytes: Option<f64>,
    /// Bytes read for each decode step at batch 1 (all weights but the input embedding; active experts only).
    pub step_bytes: Option<f64>,
    /// Bytes of all experts together, of those in `weight_bytes`; absent for dense models.
    pub expert_bytes: Option<f64>,
    /// Experts per layer.
    pub experts: Option<f64>,
    /// Experts chosen per token.
    pub experts_per_token: Option<f64>,
    /// Bytes of keys and values per token in the KV cache.
    pub kv_bytes_per_token: Option<f64>,
    /// Where each figure comes from, or how it was computed.
    pub sources: Vec<String>,
}

/// Everything known, by key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// By label.
    #[serde(default)]
    pub machines: BTreeMap<String, MachineFacts>,
    /// By model id.
    #[serde(default)]
    pub models: BTreeMap<String, ModelFacts>,
}

impl Facts {
    /// The machine with this label, or whose aliases appear in the name that the files print.
    pub fn machine(&self, name: &str) -> Option<&MachineFacts> {
        self.machines.get(name).or_else(|| {
            let name = name.to_lowercase();
            self.machines.values().find(|m| m.aliases.iter().any(|alias| holds_word(&name, &alias.to_lowercase())))
        })
    }

    /// Later entries win, key by key: a user's file extends or replaces ours.
    pub fn extend(&mut self, other: Self) {
        self.machines.extend(other.machines);
        self.models.extend(other.models);
    }
}

/// Whether a name holds another as a whole word: an L40S is no L4. A count before it, as in `8xH100`, does not join the word.
fn holds_word(name: &str, word: &str) -> bool {
    name.match_indices(word).any(|(start, _)| {
        let before = name[..start].trim_end_matches('x');
        let counted = before.len() < start && before.ends_with(|c: char| c.is_ascii_digit());
        let free = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        (counted || free(name[..start].chars().next_back())) && free(name[start + word.len()..].chars().next())
    })
}

impl ModelFacts {
    /// Bytes read in one decode step that serves `batch` sequences. Experts touched grow with the batch:
    /// E (1 - (1 - k/E)^batch) of E are expected when tokens choose independently.
    pub fn bytes_per_step(&self, batch: f64) -> Option<f64> {
        match (self.expert_bytes, self.experts, self.experts_per_token, self.weight_bytes) {
            (Some(expert_bytes), Some(experts), Some(chosen), Some(all)) if experts > 0.0 => {
                let rest = self.step_bytes.map_or(all - expert_bytes, |one| one - expert_bytes * chosen / experts);
                Some(expert_bytes * (1.0 - (1.0 - chosen / experts).powf(batch)) + rest)
            }
            _ => self.step_bytes.or(self.weight_bytes),
        }
    }
}
