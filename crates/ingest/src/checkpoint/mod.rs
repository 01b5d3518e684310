//! Files of a checkpoint that say what a model is: `config.json` and `model.safetensors.index.json` of Hugging Face Transformers.
//!
//! In:  one object.  Out: model facts, keyed so that the runs of the model find them. No weights are read.
//! Not here: the arithmetic of precisions (see `model::weights`), what follows from the facts (see `verdict::physics`).
//!
//! Seen: configurations of Transformers 4.31 to 4.57 (`torch_dtype`) and 5 (`dtype`). Those of multimodal models, whose language
//! model is under `text_config`. The quantisation blocks of fp8, mxfp4, AWQ, GPTQ, compressed-tensors and ModelOpt.

mod config;
mod index;
mod shape;

use super::Parsed;
use super::Record;
use super::at::At;
use sparkbench_model::{Facts, ModelFacts};

pub(super) use config::Config;
pub(super) use index::Index;

/// Ids under which the runs of a model may ask for it: that of the cache folder `models--ORG--NAME`, else the name of the folder.
fn keys(path: &str) -> Vec<String> {
    let folders: Vec<&str> = path.split('/').rev().skip(1).collect();
    let cached = folders.iter().find_map(|folder| folder.strip_prefix("models--")).map(|id| id.replacen("--", "/", 1));
    let own = folders.first().filter(|folder| !folder.is_empty() && **folder != ".").map(|folder| (*folder).to_owned());
    cached.or(own).into_iter().collect()
}

/// An id of a hub: one slash, and no path of a machine.
fn is_hub_id(id: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    id.split_once('/').is_some_and(|(org, name)| plain(org) && plain(name))
}

/// The facts under every key, with a line that says what was found.
fn parsed(keys: Vec<String>, facts: &ModelFacts, note: String) -> Parsed {
    let mut all = Facts::default();
    for key in keys {
        all.models.insert(key, facts.clone());
    }
    Parsed { records: vec![Record::Facts(Box::new(all))], notes: vec![note], ..Parsed::default() }
}

/// The first of several names that is a number above zero.
fn number(at: &At<'_>, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| at.get(name)?.figure().ok()?.finite().filter(|value| *value > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_id_of_the_cache_or_the_name_of_the_folder() {
        assert_eq!(keys("hub/models--org--a-b/snapshots/0f1e/config.json"), ["org/a-b"]);
        assert_eq!(keys("models/Tiny/config.json"), ["Tiny"]);
        assert!(keys("config.json").is_empty());
    }

    #[test]
    fn a_path_of_a_machine_is_no_id() {
        assert!(is_hub_id("meta-llama/Llama-3.1-8B"));
        for path in ["/data/ckpt", "./out", "a/b/c", "name", "../x", "~/m"] {
            assert!(!is_hub_id(path), "{path}");
        }
    }
}
