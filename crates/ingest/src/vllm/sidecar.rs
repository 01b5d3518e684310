//! `meta.json`: a sheet of settings that result sets put beside their runs.
//!
//! In:  one object with the served model and its settings.  Out: settings for every run of the folder and below.
//! Not here: figures. The file has none.
//!
//! No program prescribes its keys. A file is taken for such a sheet when it has `server_config`. It is also taken for one when it names a
//! model and the version or image of a server. The name under which a model is served is an alias, not the id of the model that ran.

use crate::at::At;
use crate::json::{self, Kind};
use crate::serving::settings;
use crate::sheet::{last_part, model_id};
use crate::{About, Format, Head, JoinRole, Outline, Parsed, PartialRun, Record, SourceFile};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct Sidecar;

/// Profiles that are the name of a data type of weights, and nothing else.
const TYPES: &[&str] = &[
    "bf16", "fp16", "fp8", "nvfp4", "fp4", "mxfp4", "int8", "int4", "awq", "gptq", "w4a16", "w8a8", "w4a4", "bfloat16",
    "float16",
];

/// Keys of a file that is something else: results, plans and metadata of other programs.
const FOREIGN: &[&str] =
    &["results", "benchmarks", "runs", "num_prompts", "completed", "iteration", "schema", "traffic_scenario"];

const DEPTH: usize = 3;

impl Format for Sidecar {
    fn name(&self) -> &'static str {
        "sidecar-meta"
    }

    fn about(&self) -> About {
        About {
            tool: "scripts around vllm bench",
            versions: "as published result sets have it",
            sign: "an object with `server_config`, or with a model and the version or image of a server",
            reads: "model, engine and version, machine, settings of the server, for all runs of the folder",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_ours = |outline: &Outline<'_>| {
            let server = outline.get("server_config").is_some_and(Outline::is_map);
            let named = outline.get("model").is_some_and(|model| model.text().is_some())
                && ["vllm_version_reported", "vllm_version", "vllm_image", "sglang_version", "sglang_image"]
                    .iter()
                    .any(|key| outline.get(key).is_some());
            (server || named) && FOREIGN.iter().all(|key| outline.get(key).is_none())
        };
        head.object().is_some_and(is_ours)
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let mut partial = PartialRun { join_role: JoinRole::WholeFolder, ..PartialRun::default() };
        for (key, at) in root.entries()? {
            match (key, &at.node.kind) {
                ("model" | "model_id", Kind::Text(text)) => {
                    partial.setup.model_id = model_id(text);
                    partial.model = partial.setup.model_id.as_deref().map(|id| last_part(id).to_owned());
                }
                ("environment", Kind::Text(text)) => partial.environment = Some(text.to_string()),
                ("profile" | "quant" | "quantisation", Kind::Text(text)) => {
                    if TYPES.contains(&text.to_ascii_lowercase().as_str()) {
                        partial.setup.quantisation = Some(text.to_string());
                    }
                    settings::take(&mut partial.setup, key, text);
                }
                _ => setting(&mut partial, key, &at, 0),
            }
        }
        parsed.records.push(Record::Run(Box::new(partial)));
        Ok(parsed)
    }
}

fn setting(partial: &mut PartialRun, key: &str, at: &At<'_>, depth: usize) {
    match &at.node.kind {
        Kind::Null => {}
        Kind::Bool(value) => {
            settings::take(&mut partial.setup, key, &value.to_string());
        }
        Kind::Number(digits) => {
            settings::take(&mut partial.setup, key, digits);
        }
        Kind::Text(text) => {
            settings::take(&mut partial.setup, key, text);
        }
        Kind::Map(_) if depth < DEPTH => {
            if let Ok(entries) = at.entries() {
                entries
                    .filter(|(name, _)| !settings::beside_private(at.node, name))
                    .for_each(|(name, inner)| setting(partial, name, &inner, depth + 1));
            }
        }
        Kind::List(all) if depth < DEPTH => {
            if let Ok(items) = at.items() {
                items
                    .enumerate()
                    .take(64)
                    .filter(|(place, _)| !settings::behind_private(all, *place))
                    .for_each(|(place, inner)| setting(partial, &format!("{key}.{place}"), &inner, depth + 1));
            }
        }
        Kind::List(_) | Kind::Packed(_) | Kind::Map(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = r#"{"profile": "fp8", "model": "org/Some-8B", "served_name": "some-8b-fp8", "vllm_version_reported": "0.26.0",
        "hardware": "DGX Spark NVIDIA GB10", "driver_version": "580.1", "generated_at": "2026-08-06T05:29:55+02:00",
        "hf_token": "hf_abc", "server_config": {"max_model_len": 49152, "gpu_memory_utilization": 0.90, "kv_cache_dtype": "fp8_e4m3",
        "enable_prefix_caching": false, "async_scheduling": true, "extra_vllm_args": "--trust-remote-code", "profile_env_vars": ""}}"#;

    #[test]
    fn settings_of_a_server_stand_beside_the_runs_of_its_folder() {
        assert!(Sidecar.sniff(&Head::new("anything.json", META, 1)));
        let mut input = META.as_bytes();
        let parsed = Sidecar.parse(&mut SourceFile::new("meta.json", META.len() as u64, &mut input)).unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        let setup = &partial.setup;
        assert_eq!((partial.join_role, partial.model.as_deref()), (JoinRole::WholeFolder, Some("Some-8B")));
        assert_eq!(
            (setup.max_model_len, setup.memory_utilisation, setup.prefix_cache),
            (Some(49152.0), Some(0.9), Some(false))
        );
        assert_eq!((setup.engine.as_deref(), setup.engine_version.as_deref()), (Some("vLLM"), Some("0.26.0")));
        assert_eq!((setup.kv_dtype.as_deref(), setup.quantisation.as_deref()), (Some("fp8_e4m3"), Some("fp8")));
        assert_eq!((setup.machine.as_deref(), &setup.model_served), (Some("DGX Spark NVIDIA GB10"), &None));
        let keys: Vec<&str> = setup.more.keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            ["async_scheduling", "driver_version", "extra_vllm_args", "generated_at", "profile", "served_name"]
        );
    }

    #[test]
    fn other_objects_with_a_model_are_not_taken() {
        for text in [
            r#"{"model": "m", "results": []}"#,
            r#"{"model": "m", "environment": "native"}"#,
            r#"{"server_config": 1}"#,
        ] {
            assert!(!Sidecar.sniff(&Head::new("meta.json", text, 1)), "{text}");
        }
    }
}
