//! The shape of a transformer, and how many parameters it has.
//!
//! In:  the object of a configuration.  Out: [`Shape`], and the parameter count of families whose parts are known.
//! Not here: bytes.
//!
//! Counted: embeddings, attention with its biases, gated feed-forward layers or experts with their router, norms. A family with other parts
//! is not in [`FAMILIES`], because a wrong count is worse than none.

use super::super::at::At;
use super::number;

/// Families that are counted, and the biases of their attention.
const FAMILIES: &[Family] = &[
    Family { name: "llama", bias: Bias::None, head_norms: false, sinks: false },
    Family { name: "mistral", bias: Bias::None, head_norms: false, sinks: false },
    Family { name: "mixtral", bias: Bias::None, head_norms: false, sinks: false },
    Family { name: "phi3", bias: Bias::None, head_norms: false, sinks: false },
    Family { name: "qwen2", bias: Bias::Inward, head_norms: false, sinks: false },
    Family { name: "qwen3", bias: Bias::None, head_norms: true, sinks: false },
    Family { name: "qwen3_moe", bias: Bias::None, head_norms: true, sinks: false },
    Family { name: "gpt_oss", bias: Bias::All, head_norms: false, sinks: true },
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bias {
    None,
    /// On queries, keys and values.
    Inward,
    /// On the output as well, and on router and experts.
    All,
}

#[derive(Debug)]
struct Family {
    name: &'static str,
    bias: Bias,
    head_norms: bool,
    sinks: bool,
}

/// Content of a configuration.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// `model_type`.
    pub family: String,
    pub layers: Option<f64>,
    hidden: Option<f64>,
    heads: Option<f64>,
    /// Heads of keys and values. 1 for latent attention.
    pub kv_heads: Option<f64>,
    /// Size of a head.
    pub head_dim: Option<f64>,
    intermediate: Option<f64>,
    vocabulary: Option<f64>,
    /// Experts a layer.
    pub experts: Option<f64>,
    /// Experts chosen for a token.
    pub experts_per_token: Option<f64>,
    expert_intermediate: Option<f64>,
    /// Latent attention: rank and rotary size together.
    latent: Option<f64>,
    /// Layers that do not follow the plain pattern (dense ones between experts, shared experts): not counted.
    irregular: bool,
    /// True where the output head is the input embedding.
    pub tied: bool,
    /// Layers with a window.
    pub windowed_layers: Option<f64>,
    /// Its length.
    pub window: Option<f64>,
}

impl Shape {
    /// Reads what is there.
    pub(super) fn read(at: &At<'_>) -> Self {
        let get = |names: &[&str]| number(at, names);
        let truth = |name: &str| at.get(name).and_then(|found| truth(&found));
        let family = at.get("model_type").and_then(|found| found.text().ok().flatten().map(str::to_owned));
        let hidden = get(&["hidden_size", "n_embd"]);
        let heads = get(&["num_attention_heads", "n_head"]);
        let layers = get(&["num_hidden_layers", "n_layer"]);
        let latent = get(&["kv_lora_rank"]).zip(get(&["qk_rope_head_dim"])).map(|(rank, rotary)| rank + rotary);
        let experts = get(&["num_local_experts", "num_experts", "n_routed_experts"]).filter(|n| *n > 1.0);
        let listed =
            |name: &str| at.get(name).is_some_and(|list| list.items().is_ok_and(|mut items| items.next().is_some()));
        let (windowed_layers, window) = windows(at, layers).unzip();
        Self {
            family: family.unwrap_or_default(),
            layers,
            hidden,
            heads,
            kv_heads: get(&["num_key_value_heads"]).or(heads),
            head_dim: get(&["head_dim"]).or_else(|| Some(hidden? / heads?)),
            intermediate: get(&["intermediate_size", "n_inner"]),
            vocabulary: get(&["vocab_size"]),
            experts,
            experts_per_token: get(&["num_experts_per_tok", "experts_per_token", "num_experts_per_token"])
                .filter(|_| experts.is_some()),
            expert_intermediate: get(&["moe_intermediate_size", "intermediate_size"]),
            latent,
            irregular: latent.is_some()
                || listed("mlp_only_layers")
                || get(&["n_shared_experts", "first_k_dense_replace", "shared_expert_intermediate_size"]).is_some()
                || get(&["decoder_sparse_step"]).is_some_and(|step| step > 1.0),
            // The library's own default where a configuration is silent.
            tied: truth("tie_word_embeddings").unwrap_or(true),
            windowed_layers,
            window,
        }
    }

    fn known(&self) -> Option<&'static Family> {
        FAMILIES.iter().find(|family| family.name == self.family).filter(|_| !self.irregular)
    }

    /// Parameters of the input embedding.
    pub(super) fn embedding(&self) -> Option<f64> {
        Some(self.vocabulary? * self.hidden?)
    }

    /// Weights of all expert matrices.
    pub(super) fn expert_matrices(&self) -> Option<f64> {
        Some(self.layers? * self.experts? * 3.0 * self.hidden? * self.expert_intermediate?)
    }

    /// Biases of all experts. 0 for families without.
    pub(super) fn expert_biases(&self) -> f64 {
        let biases = || {
            self.known().filter(|family| family.bias == Bias::All)?;
            Some(self.layers? * self.experts? * (2.0 * self.expert_intermediate? + self.hidden?))
        };
        biases().unwrap_or(0.0)
    }

    /// All parameters of experts. Absent for dense models.
    pub(super) fn expert_parameters(&self) -> Option<f64> {
        Some(self.expert_matrices()? + self.expert_biases())
    }

    /// Values of keys and values that a token leaves in the cache.
    pub(super) fn kv_values(&self) -> Option<f64> {
        match self.latent {
            Some(latent) => Some(self.layers? * latent),
            None => Some(2.0 * self.layers? * self.kv_heads? * self.head_dim?),
        }
    }

    /// All parameters. Absent for families that are not counted.
    pub(super) fn parameters(&self) -> Option<f64> {
        let family = self.known()?;
        let (hidden, layers) = (self.hidden?, self.layers?);
        let (outward, inward) = (self.heads? * self.head_dim?, self.kv_heads? * self.head_dim?);
        let mut layer = 2.0 * hidden * outward + 2.0 * hidden * inward + 2.0 * hidden;
        if family.bias != Bias::None {
            layer += outward + 2.0 * inward;
        }
        if family.bias == Bias::All {
            layer += hidden;
        }
        if family.head_norms {
            layer += 2.0 * self.head_dim?;
        }
        if family.sinks {
            layer += self.heads?;
        }
        layer += match self.experts {
            Some(experts) => experts * hidden + if family.bias == Bias::All { experts } else { 0.0 },
            None => 3.0 * hidden * self.intermediate?,
        };
        let experts = if self.experts.is_some() { self.expert_parameters()? } else { 0.0 };
        let embeddings = self.embedding()? * if self.tied { 1.0 } else { 2.0 };
        let all = layers * layer + experts + embeddings + hidden;
        all.is_finite().then_some(all)
    }
}

fn truth(at: &At<'_>) -> Option<bool> {
    match at.node.kind {
        super::super::json::Kind::Bool(value) => Some(value),
        _ => None,
    }
}

/// Layers that look back over a window, and its length: as listed, else all of them where a window is set and in use.
fn windows(at: &At<'_>, layers: Option<f64>) -> Option<(f64, f64)> {
    let window = number(at, &["sliding_window"])?;
    if at.get("use_sliding_window").and_then(|used| truth(&used)) == Some(false) {
        return None;
    }
    let listed = at.get("layer_types").and_then(|types| {
        let items = types.items().ok()?;
        Some(items.filter(|item| item.text().is_ok_and(|kind| kind == Some("sliding_attention"))).count() as f64)
    });
    listed.or(layers).filter(|windowed| *windowed > 0.0).map(|windowed| (windowed, window))
}
