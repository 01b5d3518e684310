//! Settings: what somebody chose about a run and nobody measured. Declared once, with the names that files have for them.
//!
//! In:  a [`Run`].  Out: the declaration of each setting, and its value in a run.
//! Not here: which settings vary and what that means (see the crate `design`).
//!
//! A new setting is one row of [`SETTINGS`]. Columns, `--compare-by`, `--where` and the manual follow from it.

use std::fmt;

use super::factor::SettingKind;
use super::run::Run;

/// The declaration of one setting.
pub struct Setting {
    /// As `analysis.json`, `--compare-by` and `--where` spell it.
    pub name: &'static str,
    /// For people. Fits after "the".
    pub label: &'static str,
    pub kind: SettingKind,
    /// Empty for words and bare numbers.
    pub unit: &'static str,
    /// Keys of files that mean it, in lower case with `_` between words.
    pub synonyms: &'static [&'static str],
    /// Its value in what was read, where a field of its own holds it.
    pub of: fn(&Run) -> Option<String>,
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Setting").field(&self.name).finish()
    }
}

/// A number without needless digits.
fn number(value: Option<f64>) -> Option<String> {
    value
        .filter(|value| !value.is_nan())
        .map(|value| if value.is_infinite() { "unlimited".to_owned() } else { format!("{value}") })
}

fn nothing(_: &Run) -> Option<String> {
    None
}

fn known(label: &str) -> Option<String> {
    (label != super::Campaign::UNLABELLED).then(|| label.to_owned())
}

macro_rules! settings {
    ($($name:literal, $label:literal, $kind:ident, $unit:literal, [$($synonym:literal),*], $of:expr;)*) => {
        &[$(Setting {
            name: $name,
            label: $label,
            kind: SettingKind::$kind,
            unit: $unit,
            synonyms: &[$($synonym),*],
            of: $of,
        }),*]
    };
}

/// Every setting that has a name of ours. Treatments come in the order in which a question is taken where nobody asked one. A key of a file
/// that is not among them is a treatment of its own, behind these and before `folder` and `file`.
pub const SETTINGS: &[Setting] = settings![
    "environment", "environment", Treatment, "", [], |run| known(&run.environment);
    "engine", "engine", Treatment, "", ["framework", "inference_engine"], |run| run.setup.engine.clone();
    "engine_version", "engine version", Treatment, "",
        ["vllm_version", "sglang_version", "build", "build_commit", "build_number", "commit"],
        |run| run.setup.engine_version.clone();
    "backend", "back end", Treatment, "", ["backends", "back_end"], nothing;
    "quantisation", "quantisation", Treatment, "", ["quantization", "quant", "quant_type", "quantization_type", "precision", "weights_dtype"],
        |run| run.setup.quantisation.clone();
    "model", "model", Treatment, "", ["model_id", "model_name", "served_model_name"], |run| known(&run.model);
    "speculative", "speculative decoding", Treatment, "", ["speculative_decoding", "draft_model"],
        |run| run.setup.speculative.clone();
    "kv_dtype", "data type of the KV cache", Treatment, "", ["kv_cache_dtype", "type_k", "kv_cache_type"],
        |run| run.setup.kv_dtype.clone();
    "gpu", "GPU", Treatment, "", ["gpu_name", "gpu_info", "device_name", "hardware", "machine"],
        |run| run.setup.machine.clone();
    "gpus", "number of GPUs", Treatment, "", ["num_gpus", "gpu_count", "devices", "device_count", "n_gpus"], nothing;
    "parallel", "parallelism", Treatment, "", ["parallelism"], |run| run.setup.parallel.clone();
    "memory_utilisation", "memory utilisation", Treatment, "",
        ["gpu_memory_utilization", "gpu_memory_utilisation", "mem_fraction_static"],
        |run| number(run.setup.memory_utilisation);
    "max_model_len", "longest context", Treatment, "tokens", ["max_context", "n_ctx", "ctx_size"],
        |run| number(run.setup.max_model_len);
    "prefix_cache", "prefix cache", Treatment, "", ["enable_prefix_caching", "prefix_caching"],
        |run| run.setup.prefix_cache.map(|on| if on { "on" } else { "off" }.to_owned());
    "tool", "benchmark", Treatment, "", ["benchmark", "client"], |run| run.setup.tool.clone();
    "tool_version", "version of the benchmark", Treatment, "", [], |run| run.setup.tool_version.clone();
    "folder", "folder", Treatment, "", [], nothing;
    "file", "file", Treatment, "", [], nothing;
    "workload", "workload", Load, "", ["dataset", "dataset_name", "scenario", "test"], nothing;
    "concurrency", "concurrency", Load, "", ["batch", "batch_size", "max_concurrency", "users"],
        |run| number(run.setup.batch);
    "request_rate", "request rate", Load, "req/s", ["rate", "qps", "rps"], |run| number(run.setup.request_rate);
    "isl", "input length", Load, "tokens", ["input_len", "prompt_tokens", "input_length", "n_prompt", "random_input_len"],
        |run| number(run.setup.isl);
    "osl", "output length", Load, "tokens", ["output_len", "output_tokens", "output_length", "n_gen", "random_output_len"],
        |run| number(run.setup.osl);
    "depth", "depth", Load, "tokens", ["n_depth", "context_size", "context", "context_length", "context_tokens"], nothing;
    "burstiness", "burstiness", Load, "", [], nothing;
    "client_backend", "protocol", Load, "", ["endpoint_type"], nothing;
    "turns", "turns", Load, "", ["num_turns", "n_turns"], nothing;
    "requests", "number of requests", Load, "", ["num_prompts", "n_requests", "num_requests"],
        |run| number(run.setup.requests);
];

impl Setting {
    /// The declaration of a name, or of a synonym of it.
    pub fn find(name: &str) -> Option<&'static Self> {
        let by_name = SETTINGS.iter().find(|setting| setting.name == name);
        by_name.or_else(|| SETTINGS.iter().find(|setting| setting.synonyms.contains(&name)))
    }

    /// For people: the label of a declared setting, else the name itself with blanks.
    pub fn label_of(name: &str) -> String {
        SETTINGS
            .iter()
            .find(|setting| setting.name == name)
            .map_or_else(|| name.replace('_', " "), |setting| setting.label.to_owned())
    }

    /// What a setting is for. One without a declaration is a treatment.
    pub fn kind_of(name: &str) -> SettingKind {
        SETTINGS.iter().find(|setting| setting.name == name).map_or(SettingKind::Treatment, |setting| setting.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_means_two_settings() {
        let mut seen = BTreeSet::new();
        for setting in SETTINGS {
            for name in setting.synonyms.iter().chain([&setting.name]) {
                assert!(seen.insert(*name), "{name}");
            }
        }
    }

    #[test]
    fn the_manual_has_a_row_for_each_setting() {
        let page = include_str!("../../../docs/settings.md");
        for setting in SETTINGS {
            let kind = if setting.kind == SettingKind::Load { "load" } else { "treatment" };
            let unit = if setting.unit.is_empty() { String::new() } else { format!(", {}", setting.unit) };
            let names: Vec<String> = setting.synonyms.iter().map(|name| format!("`{name}`")).collect();
            let row = format!("| `{}` | {}{unit} | {kind} | {} |", setting.name, setting.label, names.join(", "));
            assert!(page.contains(&row), "docs/settings.md lacks: {row}");
        }
    }

    #[test]
    fn a_key_without_a_declaration_is_a_treatment_under_its_own_name() {
        assert_eq!(Setting::find("n_ubatch").map(|setting| setting.name), None);
        assert_eq!(
            (Setting::label_of("n_ubatch"), Setting::kind_of("n_ubatch")),
            ("n ubatch".to_owned(), SettingKind::Treatment)
        );
        assert_eq!(Setting::find("max_concurrency").map(|setting| setting.name), Some("concurrency"));
        assert_eq!(Setting::kind_of("isl"), SettingKind::Load);
    }
}
