//! `config.json`: the shape of a model, and from it the bytes of its weights and of its KV cache.
//!
//! In:  one object with `num_hidden_layers` and `hidden_size`.  Out: model facts.
//! Not here: counting parameters (see `shape`).

use super::super::at::At;
use super::super::{About, Format, Head, Parsed, SourceFile, json};
use super::shape::Shape;
use super::{is_hub_id, keys, number, parsed};
use sparkbench_model::ModelFacts;
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct Config;

/// Bits of a weight in a checkpoint that is not quantised.
const PLAIN_BITS: f64 = 16.0;
/// Bits of a weight at MXFP4: 4, and a scale of 8 for 32 weights.
const MXFP4_BITS: f64 = 4.25;

/// Names that stand for the shape of a transformer, new and old.
const SIGNS: &[[&str; 2]] = &[["num_hidden_layers", "hidden_size"], ["n_layer", "n_embd"]];

impl Format for Config {
    fn name(&self) -> &'static str {
        "model-config"
    }

    fn about(&self) -> About {
        About {
            tool: "Hugging Face Transformers",
            versions: "4.31 to 5, `text_config` of multimodal models",
            sign: "an object with `num_hidden_layers` and `hidden_size`, or `n_layer` and `n_embd`",
            reads: "layers, heads, experts, windows, parameters, bytes of weights and of the KV cache: facts of the model",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|outline| {
            SIGNS
                .iter()
                .any(|sign| outline.has(sign) || outline.get("text_config").is_some_and(|inner| inner.has(sign)))
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let inner = root.get("text_config");
        let body =
            inner.as_ref().filter(|inner| SIGNS.iter().any(|[layers, _]| inner.get(layers).is_some())).unwrap_or(&root);
        let shape = Shape::read(body);
        let own = root
            .get("_name_or_path")
            .and_then(|at| at.text().ok().flatten().filter(|id| is_hub_id(id)).map(str::to_owned));
        let mut ids = keys(file.path);
        ids.extend(own.filter(|own| !ids.contains(own)));
        if ids.is_empty() {
            return Err(Error::archive("the model of this configuration has no name")
                .hint("put the file into a folder with the name of the model, as it lies in its checkpoint"));
        }
        let precision = precision(&root, body);
        let mut facts = facts(&shape, &precision);
        facts.title = ids.last().map_or_else(String::new, |id| id.rsplit('/').next().unwrap_or(id).to_owned());
        facts.sources = sources(file.path, &shape, &precision, &facts);
        let note = format!("facts of the model {}: {}", ids.join(", "), told(&facts));
        Ok(parsed(ids, &facts, note))
    }
}

/// The precision of the matrices: a name and the bits of a weight. No bits where the name is not known.
struct Precision {
    name: String,
    bits: Option<f64>,
}

fn precision(root: &At<'_>, body: &At<'_>) -> Precision {
    let text =
        |at: &At<'_>, key: &str| at.get(key).and_then(|found| found.text().ok().flatten().map(str::to_lowercase));
    let named = |name: &str, bits: f64| Precision { name: name.to_owned(), bits: Some(bits) };
    let block = root.get("quantization_config");
    if let Some(block) = block.as_ref().filter(|block| block.entries().is_ok()) {
        let method = text(block, "quant_method").unwrap_or_default();
        let algorithm = text(block, "quant_algo").unwrap_or_default();
        let bits = number(block, &["bits", "w_bit"]).or_else(|| grouped(block, "num_bits"));
        let floats = grouped_text(block, "type").as_deref() == Some("float");
        return match (method.as_str(), algorithm.as_str(), bits) {
            ("mxfp4", ..) => named("mxfp4", MXFP4_BITS),
            ("fp8" | "fbgemm_fp8", ..) | (_, "fp8", _) => named("fp8", 8.0),
            (_, "nvfp4", _) => named("nvfp4", 4.5),
            (_, _, Some(8.0)) if floats => named("fp8", 8.0),
            (_, _, Some(4.0)) if floats => named("nvfp4", 4.5),
            (_, _, Some(8.0)) => named("int8", 8.0),
            (_, _, Some(4.0)) => named("int4", 4.0),
            (method, algorithm, _) => {
                let name = if algorithm.is_empty() { method } else { algorithm };
                Precision { name: name.to_owned(), bits: None }
            }
        };
    }
    let kind = ["dtype", "torch_dtype"].iter().find_map(|key| text(root, key).or_else(|| text(body, key)));
    match kind.as_deref() {
        Some("float32") => named("float32", 32.0),
        Some("float16") => named("float16", PLAIN_BITS),
        _ => named("bf16", PLAIN_BITS),
    }
}

/// A figure of the weights in the first group of compressed-tensors.
fn grouped(block: &At<'_>, key: &str) -> Option<f64> {
    let groups = block.get("config_groups")?;
    let (_, first) = groups.entries().ok()?.next()?;
    number(&first.get("weights")?, &[key])
}

fn grouped_text(block: &At<'_>, key: &str) -> Option<String> {
    let groups = block.get("config_groups")?;
    let (_, first) = groups.entries().ok()?.next()?;
    let weights = first.get("weights")?;
    weights.get(key)?.text().ok().flatten().map(str::to_owned)
}

/// Facts at the precision of the checkpoint. Bytes only where the parameters could be counted.
fn facts(shape: &Shape, precision: &Precision) -> ModelFacts {
    let parameters = shape.parameters();
    let plain = ModelFacts {
        parameters,
        weight_bytes: parameters.map(|n| n * PLAIN_BITS / 8.0),
        expert_bytes: shape.expert_parameters().filter(|_| parameters.is_some()).map(|n| n * PLAIN_BITS / 8.0),
        experts: shape.experts,
        experts_per_token: shape.experts_per_token,
        kv_bytes_per_token: shape.kv_values().map(|values| values * PLAIN_BITS / 8.0),
        layers: shape.layers,
        kv_heads: shape.kv_heads,
        head_dim: shape.head_dim,
        embedding_parameters: shape.embedding(),
        tied: shape.tied,
        windowed_layers: shape.windowed_layers,
        window: shape.window,
        computed: true,
        ..ModelFacts::default()
    };
    let bare = ModelFacts {
        quantisation: Some(precision.name.clone()),
        weight_bytes: None,
        expert_bytes: None,
        ..plain.clone()
    };
    match precision.bits {
        Some(MXFP4_BITS) => experts_only(&plain, shape, MXFP4_BITS).unwrap_or(bare),
        // A checkpoint of one precision keeps its embedding and head at it. A quantised one keeps them at 16 bits.
        Some(bits) => plain.at_precision(&precision.name, bits, bits.max(PLAIN_BITS)).unwrap_or(bare),
        None => bare,
    }
}

/// Expert matrices at few bits, their biases and everything else at 16: how gpt-oss is kept.
fn experts_only(plain: &ModelFacts, shape: &Shape, bits: f64) -> Option<ModelFacts> {
    let (all, matrices, biases) = (plain.parameters?, shape.expert_matrices()?, shape.expert_biases());
    let expert_bytes = matrices * bits / 8.0 + biases * PLAIN_BITS / 8.0;
    let rest = (all - matrices - biases) * PLAIN_BITS / 8.0;
    let unread = if plain.tied { 0.0 } else { plain.embedding_parameters? * PLAIN_BITS / 8.0 };
    let share = plain.experts_per_token? / plain.experts?;
    Some(ModelFacts {
        quantisation: Some("mxfp4".to_owned()),
        weight_bytes: Some(expert_bytes + rest),
        step_bytes: Some(expert_bytes * share + rest - unread),
        expert_bytes: Some(expert_bytes),
        ..plain.clone()
    })
}

fn sources(path: &str, shape: &Shape, precision: &Precision, facts: &ModelFacts) -> Vec<String> {
    let mut sources = vec![format!("Layers, heads, experts and windows: {path}.")];
    if facts.parameters.is_some() {
        let tied = if facts.tied { "tied" } else { "untied" };
        sources
            .push(format!("Parameters: computed from it by the architecture of {}, embeddings {tied}.", shape.family));
    }
    if facts.weight_bytes.is_some() {
        sources.push(format!(
            "Bytes: computed at {} for matrices. A quantised checkpoint keeps its embeddings at 16 bits.",
            precision.name
        ));
    }
    if facts.kv_bytes_per_token.is_some() {
        sources.push("kv_bytes_per_token = 2 x layers x KV heads x head size x 2 bytes. For latent attention layers x (rank + rotary size) x 2 bytes.".to_owned());
    }
    sources
}

fn told(facts: &ModelFacts) -> String {
    let figure = |name: &str, value: Option<f64>| match value {
        Some(value) => format!("{name} {value}"),
        None => format!("{name} not computed"),
    };
    [
        figure("parameters", facts.parameters),
        figure("weight bytes", facts.weight_bytes),
        figure("bytes a step", facts.step_bytes),
        figure("KV bytes a token", facts.kv_bytes_per_token),
        format!("precision {}", facts.quantisation.as_deref().unwrap_or("unknown")),
    ]
    .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    fn read(path: &str, text: &str) -> (Vec<String>, ModelFacts) {
        let mut bytes = text.as_bytes();
        let parsed = Config.parse(&mut SourceFile::new(path, text.len() as u64, &mut bytes)).unwrap();
        let Some(Record::Facts(facts)) = parsed.records.into_iter().next() else { panic!("no facts") };
        let keys = facts.models.keys().cloned().collect();
        (keys, facts.models.into_values().next().unwrap())
    }

    const LLAMA: &str = r#"{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,"intermediate_size":14336,
        "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false,
        "torch_dtype":"bfloat16"}"#;

    #[test]
    fn a_dense_model_has_the_parameters_and_bytes_that_the_shipped_facts_have() {
        let (keys, facts) = read("m/Llama-3.1-8B/config.json", LLAMA);
        assert_eq!(keys, ["Llama-3.1-8B"]);
        assert_eq!(facts.parameters, Some(8_030_261_248.0));
        assert_eq!((facts.weight_bytes, facts.step_bytes), (Some(16_060_522_496.0), Some(15_009_849_344.0)));
        assert_eq!((facts.kv_bytes_per_token, facts.embedding_parameters), (Some(131_072.0), Some(525_336_576.0)));
    }

    #[test]
    fn a_quantised_checkpoint_keeps_its_embeddings() {
        let fp8 =
            LLAMA.replace("\"torch_dtype\"", "\"quantization_config\":{\"quant_method\":\"fp8\"},\"torch_dtype\"");
        let (_, facts) = read("m/x/config.json", &fp8);
        assert_eq!(facts.quantisation.as_deref(), Some("fp8"));
        let body = 8_030_261_248.0 - 2.0 * 525_336_576.0;
        assert_eq!(facts.step_bytes, Some(body + 2.0 * 525_336_576.0));
        let odd =
            LLAMA.replace("\"torch_dtype\"", "\"quantization_config\":{\"quant_method\":\"quip\"},\"torch_dtype\"");
        let (_, facts) = read("m/x/config.json", &odd);
        assert_eq!((facts.quantisation.as_deref(), facts.weight_bytes), (Some("quip"), None));
    }

    #[test]
    fn a_mixture_of_experts_at_mxfp4_has_the_bytes_that_the_shipped_facts_have() {
        let text = r#"{"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,"num_hidden_layers":24,"num_local_experts":32,
            "num_experts_per_tok":4,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"vocab_size":201088,
            "tie_word_embeddings":false,"attention_bias":true,"sliding_window":128,
            "layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"],
            "quantization_config":{"quant_method":"mxfp4"}}"#;
        let (_, facts) = read("openai/gpt-oss-20b/config.json", text);
        let shipped = &sparkbench_verdict::facts::builtin().unwrap().models["openai/gpt-oss-20b"];
        assert_eq!(facts.parameters, shipped.parameters);
        assert_eq!((facts.weight_bytes, facts.step_bytes), (shipped.weight_bytes, shipped.step_bytes));
        assert_eq!((facts.expert_bytes, facts.kv_bytes_per_token), (shipped.expert_bytes, shipped.kv_bytes_per_token));
        assert_eq!((facts.windowed_layers, facts.window), (Some(2.0), Some(128.0)));
    }

    #[test]
    fn other_families_agree_with_the_shipped_facts_too() {
        let shipped = sparkbench_verdict::facts::builtin().unwrap().models;
        for (id, text) in [
            (
                "Qwen/Qwen2.5-7B-Instruct",
                r#"{"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,"num_attention_heads":28,
                "num_key_value_heads":4,"vocab_size":152064,"tie_word_embeddings":false,"use_sliding_window":false,"sliding_window":131072}"#,
            ),
            (
                "Qwen/Qwen3-8B",
                r#"{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,"num_attention_heads":32,
                "num_key_value_heads":8,"head_dim":128,"vocab_size":151936,"tie_word_embeddings":false}"#,
            ),
            (
                "Qwen/Qwen3-30B-A3B",
                r#"{"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_experts":128,
                "num_experts_per_tok":8,"num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,
                "vocab_size":151936,"tie_word_embeddings":false,"mlp_only_layers":[]}"#,
            ),
        ] {
            let (_, facts) = read("x/y/config.json", text);
            let known = &shipped[id];
            assert_eq!(facts.parameters, known.parameters, "{id}");
            assert_eq!((facts.expert_bytes, facts.step_bytes), (known.expert_bytes, known.step_bytes), "{id}");
            assert_eq!(facts.windowed_layers, None, "{id}");
        }
    }

    #[test]
    fn latent_attention_keeps_one_vector_a_layer() {
        let text = r#"{"model_type":"deepseek_v3","hidden_size":7168,"num_hidden_layers":61,"num_attention_heads":128,
            "num_key_value_heads":128,"kv_lora_rank":512,"qk_rope_head_dim":64,"vocab_size":129280,"n_routed_experts":256,
            "num_experts_per_tok":8,"text":"ignored"}"#;
        let (_, facts) = read("x/y/config.json", text);
        assert_eq!(facts.kv_bytes_per_token, Some(61.0 * 576.0 * 2.0));
        assert_eq!((facts.parameters, facts.weight_bytes, facts.experts), (None, None, Some(256.0)));
    }

    #[test]
    fn the_language_model_of_a_multimodal_one_stands_inside() {
        let text = format!("{{\"model_type\":\"some_vl\",\"_name_or_path\":\"org/VL\",\"text_config\":{LLAMA}}}");
        let head = Head::new("config.json", &text, text.len() as u64);
        assert!(Config.sniff(&head));
        let (keys, facts) = read("config.json", &text);
        assert_eq!((keys, facts.layers), (vec!["org/VL".to_owned()], Some(32.0)));
    }

    #[test]
    fn nonsense_gives_an_error_or_no_figure_and_never_a_panic() {
        for text in [
            r#"{"num_hidden_layers":null,"hidden_size":"x"}"#,
            r#"{"num_hidden_layers":-3,"hidden_size":0,"layer_types":{}}"#,
            r#"{"num_hidden_layers":1e308,"hidden_size":1e308,"vocab_size":1e308,"quantization_config":[],"model_type":"llama"}"#,
        ] {
            let (_, facts) = read("x/y/config.json", text);
            assert!(facts.weight_bytes.is_none_or(f64::is_finite), "{text}");
        }
    }
}
