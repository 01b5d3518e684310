//! Known facts of machines and models apart from any run: the input of the physical checks.
//!
//! In:  nothing.  Out: [`Facts`], read by `ingest` from TOML files with sources.
//! Not here: the values. Every figure is in `data/facts/` with its source.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::price::{LimitFacts, PriceFacts, ReferenceFacts};

/// A machine, by the label its archives use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineFacts {
    /// For people.
    pub title: String,
    /// Names that files use for it, matched without case as whole words of the machine name.
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
    /// SM clock at work below which the machine is stuck, MHz, where that is known to happen without a flag.
    pub stuck_clock_mhz: Option<f64>,
    /// Highest plausible GPU temperature, degrees Celsius.
    pub max_temp_c: Option<f64>,
    /// Dense peak of BF16 (of FP16 where the device has no BF16), TFLOP/s, without sparsity.
    pub bf16_tflops: Option<f64>,
    /// Dense peak of FP8, TFLOP/s. Absent where the device has none.
    pub fp8_tflops: Option<f64>,
    /// Dense peak of FP4, TFLOP/s. Absent where the device has none.
    pub fp4_tflops: Option<f64>,
    /// Power limit of one device, W.
    pub power_w: Option<f64>,
    /// File that gives it, where it is none of ours.
    #[serde(skip)]
    pub from: Option<String>,
    /// True where that file was allowed to come before ours.
    #[serde(skip)]
    pub wins: bool,
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
    #[serde(alias = "quantization")]
    pub quantisation: Option<String>,
    /// Bytes of all weights as served.
    pub weight_bytes: Option<f64>,
    /// Bytes read for each decode step at batch 1: all weights but the input embedding, and only the active experts.
    pub step_bytes: Option<f64>,
    /// Bytes of all experts together, of those in `weight_bytes`. Absent for dense models.
    pub expert_bytes: Option<f64>,
    /// Experts per layer.
    pub experts: Option<f64>,
    /// Experts chosen per token.
    pub experts_per_token: Option<f64>,
    /// Bytes of keys and values per token in the KV cache, at 16 bits a value.
    pub kv_bytes_per_token: Option<f64>,
    pub layers: Option<f64>,
    /// Heads of keys and values.
    pub kv_heads: Option<f64>,
    /// Size of a head.
    pub head_dim: Option<f64>,
    /// Parameters of the input embedding. An untied output head has as many again.
    pub embedding_parameters: Option<f64>,
    /// True where the output head is the input embedding.
    #[serde(default)]
    pub tied: bool,
    /// Layers that look back over [`Self::window`] tokens only.
    pub windowed_layers: Option<f64>,
    /// How far back they look, tokens.
    pub window: Option<f64>,
    /// True where the program computed it from a checkpoint's own files.
    #[serde(skip)]
    pub computed: bool,
    /// True where it counted bytes rather than parameters times bits.
    #[serde(skip)]
    pub counted: bool,
    /// File that gives it, where it is none of ours.
    #[serde(skip)]
    pub from: Option<String>,
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
    /// What machines cost, by a key of the list.
    #[serde(default)]
    pub prices: BTreeMap<String, PriceFacts>,
    /// Figures that others published, by a key of the list.
    #[serde(default)]
    pub references: BTreeMap<String, ReferenceFacts>,
    /// Limits that a service must keep.
    #[serde(default)]
    pub limits: LimitFacts,
    /// The tables of a file as they stand there. A table that leaves a figure out says nothing of it. Null for what ships.
    #[serde(skip)]
    pub stated: serde_json::Value,
    /// Files that were held against what ships.
    #[serde(skip)]
    pub files: Vec<String>,
    /// Figures on which these files contradict what ships, or each other.
    #[serde(skip)]
    pub conflicts: Vec<FactConflict>,
}

/// The facts of one file that does not ship.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LocalFacts {
    /// Path as pages show it.
    pub file: String,
    pub facts: Facts,
    /// Whether it comes before what ships: it was named on the command line, or the labels of its folder say so.
    pub wins: bool,
}

/// One figure that two sources give differently.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FactConflict {
    /// `machines`, `models`, `prices`, `references` or `limits`.
    pub table: String,
    /// Key of the table that is used.
    pub key: String,
    /// Label of the machine that it is about. Absent for models and limits.
    pub machine: Option<String>,
    pub figure: String,
    /// The value that counts.
    pub used: String,
    /// [`FactConflict::SHIPPED`], or a file.
    pub used_from: String,
    /// The value that does not.
    pub unused: String,
    /// Likewise.
    pub unused_from: String,
}

impl FactConflict {
    /// Source of what ships with the program.
    pub const SHIPPED: &'static str = "the shipped facts";

    /// The file, or the files, that a person can change.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        [self.used_from.as_str(), self.unused_from.as_str()].into_iter().filter(|from| *from != Self::SHIPPED)
    }

    /// One sentence without its end.
    pub fn sentence(&self) -> String {
        let Self { table, key, figure, used, used_from, unused, unused_from, .. } = self;
        let place = if table == key { table.clone() } else { format!("{table}.{key}") };
        format!("{figure} of {place} is {used} by {used_from}, and {unused} by {unused_from}. The first counts")
    }
}

impl Facts {
    /// The machine with this label, or whose aliases appear in the name that the files print.
    pub fn machine(&self, name: &str) -> Option<&MachineFacts> {
        self.machine_entry(name).map(|(_, machine)| machine)
    }

    /// The same with its label.
    pub fn machine_entry(&self, name: &str) -> Option<(&str, &MachineFacts)> {
        // A file that was allowed to comes before ours, and any other after them: no alias of it takes a machine of ours.
        let ranks: [fn(&MachineFacts) -> bool; 3] = [|m| m.wins, |m| m.from.is_none(), |m| !m.wins && m.from.is_some()];
        ranks.into_iter().find_map(|of| self.machine_among(name, of))
    }

    fn machine_among(&self, name: &str, of: fn(&MachineFacts) -> bool) -> Option<(&str, &MachineFacts)> {
        let all = || self.machines.iter().filter(|(_, machine)| of(machine));
        let exact = self.machines.get_key_value(name).filter(|(_, machine)| of(machine));
        let found = exact.or_else(|| all().find(|(label, _)| label.eq_ignore_ascii_case(name))).or_else(|| {
            let name = name.to_lowercase();
            all().find(|(_, m)| m.aliases.iter().any(|alias| holds_word(&name, &alias.to_lowercase())))
        });
        found.map(|(label, machine)| (label.as_str(), machine))
    }

    /// The model of this id. A key without a slash, such as the name of a folder with a `config.json`, is also found by the last part.
    pub fn model(&self, id: &str) -> Option<&ModelFacts> {
        let of_ours = || self.models.iter().find(|(key, m)| m.from.is_none() && key.eq_ignore_ascii_case(id));
        let last = || self.models.get(id.trim_end_matches('/').rsplit('/').next()?);
        self.models.get(id).or_else(|| of_ours().map(|(_, model)| model)).or_else(last)
    }

    /// Adds facts of the same rank. Later entries win, key by key. For files of others see `verdict::facts`.
    pub fn extend(&mut self, other: Self) {
        self.machines.extend(other.machines);
        // What a checkpoint's index and its settings say apart belongs together: a later entry wins figure by figure.
        for (id, more) in other.models {
            match self.models.get_mut(&id) {
                Some(known) if known.computed && more.computed => known.complete(more),
                // A shape without bytes says less than what is known.
                Some(known) if more.computed && more.weight_bytes.is_none() && known.weight_bytes.is_some() => {}
                _ => {
                    self.models.insert(id, more);
                }
            }
        }
        self.prices.extend(other.prices);
        self.references.extend(other.references);
        self.limits.extend(&other.limits);
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
