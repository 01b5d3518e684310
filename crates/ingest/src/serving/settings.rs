//! Settings as command lines, dumps of arguments and sheets of settings name them.
//!
//! In:  a name and a value as text.  Out: the field of [`Setup`] that means it, or a line among the further settings.
//! Not here: figures. What may hold a secret, a prompt or the name of a machine is not taken.

use crate::figure::{Figure, excerpt, is_missing};
use crate::json::{Kind, Node};
use sparkbench_model::Setup;

/// Parts of names that mark private values.
const PRIVATE: &[&str] = &[
    "secret",
    "passw",
    "api_key",
    "apikey",
    "auth",
    "access_token",
    "hf_token",
    "bearer",
    "header",
    "host",
    "url",
    "username",
    "user_name",
    "email",
    "mail",
    "prompt_text",
    "generated_text",
    "serial",
    "uuid",
    "ip_addr",
    "address",
    "proxy",
    "cookie",
    "_dir",
    "_path",
    "filename",
    "output_file",
    "credential",
];

/// Parts of values that show what they hold.
const PRIVATE_VALUES: &[&str] =
    &["://", "hf_", "sk-", "api-key", "api_key", "password", "secret", "bearer ", "/home/", "/root/", "/users/"];

/// Beginnings and names of what is set and not measured.
const SET: &[&str] = &[
    "random_",
    "sonnet_",
    "sharegpt_",
    "prefix_repetition_",
    "custom_",
    "hf_",
    "gsp_",
    "ramp_up_",
    "max_num_",
    "num_",
    "seed",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "best_of",
    "burstiness",
    "block_size",
    "swap_space",
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
    "expert_parallel",
    "max_model_len",
    "gpu_memory_utilization",
    "max_tokens",
    "min_tokens",
    "input_len",
    "output_len",
    "isl",
    "osl",
    "concurrency_limit",
    "batch_size",
    "max_batch",
    "enable_",
    "disable_",
    "use_",
    "cuda_graph",
    "long_prefill",
    "request_rate",
    "max_concurrency",
    "tp",
    "pp",
    "dp",
    "repeat",
    "iteration",
    "logprobs",
    "turns_per_conversation",
    "inter_turn_delay",
    "n_gpu",
    "gpus",
];

/// True when a number under this name is a setting and not a measurement.
pub(crate) fn is_setting(name: &str) -> bool {
    let key = plain(name);
    // `tp` is a setting and `tpot` is not, so short names must match completely.
    SET.iter().any(|set| if set.len() < 4 { key == *set } else { key.starts_with(set) })
}

/// Takes a setting. False when it is not taken because it may hold something private.
pub(crate) fn take(setup: &mut Setup, name: &str, value: &str) -> bool {
    let (key, value) = (plain(name), value.trim());
    if is_private(&key, value) {
        return false;
    }
    if is_missing(value) {
        return true;
    }
    let figure = || Figure::parse(value).and_then(Figure::finite);
    let text = || Some(value.to_owned());
    match key.as_str() {
        "max_model_len" => setup.max_model_len = figure(),
        "gpu_memory_utilization" | "mem_fraction_static" => setup.memory_utilisation = figure(),
        "kv_cache_dtype" => setup.kv_dtype = text(),
        "enable_prefix_caching" => match truth(value) {
            Some(on) => setup.prefix_cache = Some(on),
            None => return more(setup, name, value),
        },
        "no_enable_prefix_caching" | "disable_radix_cache" => match truth(value) {
            Some(off) => setup.prefix_cache = Some(!off),
            None => return more(setup, name, value),
        },
        "quantization" => setup.quantisation = text(),
        "dtype" if setup.quantisation.is_none() && value != "auto" => setup.quantisation = text(),
        "speculative_config" => setup.speculative = Some(excerpt(value)),
        "tensor_parallel_size" | "tp" => parallel(setup, "tp", value),
        "pipeline_parallel_size" | "pp" => parallel(setup, "pp", value),
        "data_parallel_size" | "dp" => parallel(setup, "dp", value),
        "engine" => setup.engine = text(),
        "engine_version" => setup.engine_version = text(),
        "vllm_version" | "vllm_version_reported" => {
            setup.engine.get_or_insert_with(|| "vLLM".to_owned());
            setup.engine_version = text();
        }
        "sglang_version" | "sglang_version_reported" => {
            setup.engine.get_or_insert_with(|| "SGLang".to_owned());
            setup.engine_version = text();
        }
        "hardware" | "machine" | "gpu" | "gpu_name" | "device_name" => setup.machine = text(),
        _ => return more(setup, name, value),
    }
    true
}

fn more(setup: &mut Setup, name: &str, value: &str) -> bool {
    setup.more.insert(excerpt(name.trim_start_matches('-')), excerpt(value));
    true
}

fn parallel(setup: &mut Setup, kind: &str, value: &str) {
    let part = format!("{kind}{value}");
    setup.parallel = Some(match setup.parallel.take() {
        Some(parts) if parts.split(' ').any(|have| have == part) => parts,
        Some(parts) => format!("{parts} {part}"),
        None => part,
    });
}

fn truth(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn plain(name: &str) -> String {
    name.trim_start_matches('-').replace('-', "_").to_ascii_lowercase()
}

fn is_private(key: &str, value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    PRIVATE.iter().any(|part| key.contains(part))
        || lower.starts_with(['/', '~'])
        || PRIVATE_VALUES.iter().any(|part| lower.contains(part))
}

/// Whether nothing is taken under a name.
pub(crate) fn is_private_name(name: &str) -> bool {
    is_private(&plain(name), name)
}

/// Whether an item of a list is the value of an option that is not taken: `["--api-key", "x"]`.
pub(crate) fn behind_private(items: &[Node<'_>], place: usize) -> bool {
    let text = |place: usize| match &items.get(place)?.kind {
        Kind::Text(text) => Some(text.as_ref()),
        _ => None,
    };
    let option = place.checked_sub(1).and_then(text).filter(|text| text.starts_with('-') && !text.contains('='));
    option.is_some_and(is_private_name) && text(place).is_some_and(|text| !text.starts_with('-'))
}

/// Whether a member is the value of a pair whose name is not taken: `{"name": "HF_TOKEN", "value": "x"}`.
pub(crate) fn beside_private(node: &Node<'_>, member: &str) -> bool {
    names_beside(node, member).any(is_private_name)
}

/// The names of the pair whose value a member is.
pub(crate) fn names_beside<'n>(node: &'n Node<'_>, member: &str) -> impl Iterator<Item = &'n str> {
    let is_name = |key: &str| ["name", "key", "header"].iter().any(|word| key.eq_ignore_ascii_case(word));
    let entries = match &node.kind {
        Kind::Map(entries) if member.eq_ignore_ascii_case("value") => entries.as_slice(),
        _ => &[],
    };
    entries.iter().filter_map(move |(key, node)| match &node.kind {
        Kind::Text(text) if is_name(key) => Some(text.as_ref()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_find_their_fields_and_secrets_find_none() {
        let mut setup = Setup::default();
        for (name, value) in [
            ("--max-model-len", "4096"),
            ("gpu_memory_utilization", "0.90"),
            ("enable_prefix_caching", "False"),
            ("tensor_parallel_size", "2"),
            ("tp", "2"),
            ("pp", "1"),
            ("vllm_version", "0.19.0"),
            ("run of", "tuesday"),
            ("seed", "None"),
        ] {
            assert!(take(&mut setup, name, value), "{name}");
        }
        for (name, value) in
            [("api_key", "sk-1"), ("note", "http://u:p@host/"), ("hostname", "spark-1"), ("where", "/home/somebody/x")]
        {
            assert!(!take(&mut setup, name, value), "{name}");
        }
        assert_eq!(
            (setup.max_model_len, setup.memory_utilisation, setup.prefix_cache),
            (Some(4096.0), Some(0.9), Some(false))
        );
        assert_eq!((setup.parallel.as_deref(), setup.engine.as_deref()), (Some("tp2 pp1"), Some("vLLM")));
        assert_eq!(setup.more.iter().collect::<Vec<_>>(), [(&"run of".to_owned(), &"tuesday".to_owned())]);
    }

    #[test]
    fn what_is_set_is_told_from_what_is_measured() {
        for (name, set) in [
            ("random_input_len", true),
            ("max-num-seqs", true),
            ("tp", true),
            ("tpot", false),
            ("duration", false),
            ("total_input_tokens", false),
        ] {
            assert_eq!(is_setting(name), set, "{name}");
        }
    }
}
