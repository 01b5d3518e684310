//! `experiment_metadata.json` of genai-bench: the subject and setup of a benchmark.
//!
//! In:  one object.  Out: one partial run for all runs in its folder.
//! Not here: `cmd` and `auth_config`, which may hold keys, addresses, folders. A sheet without runs beside it is an experiment that was
//! stopped. That is not a fault.

use crate::at::At;
use crate::sheet::{self, Sheet};
use crate::{About, Format, Head, JoinRole, Parsed, SourceFile, json};
use sparkbench_text::error::Error;

/// See the module.
pub(crate) struct GenaiBenchMetadata;

const RULE: &str = "genai-bench-metadata";
const DERIVED: &str = "genai-bench-metadata.derived";

/// Keys kept as settings.
const SETTINGS: &[&str] = &[
    "api_backend",
    "api_model_name",
    "server_model_tokenizer",
    "task",
    "num_concurrency",
    "batch_size",
    "iteration_type",
    "traffic_scenario",
    "server_gpu_type",
    "server_gpu_count",
    "max_time_per_run_s",
    "max_requests_per_run",
    "metrics_time_unit",
    "dataset_prompt_column_index",
];

impl Format for GenaiBenchMetadata {
    fn name(&self) -> &'static str {
        RULE
    }

    fn about(&self) -> About {
        About {
            tool: "genai-bench (`experiment_metadata.json`)",
            versions: "2024 to 0.0.5",
            sign: "an object with `benchmark_version` or `cmd`, and `traffic_scenario` and `num_concurrency` as lists",
            reads: "model, engine, GPU and settings for the runs of its folder, but not the command line, which may hold a key",
        }
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.object().is_some_and(|outline| {
            ["traffic_scenario", "num_concurrency"]
                .iter()
                .all(|key| outline.get(key).is_some_and(|value| value.is_list()))
                && (outline.get("benchmark_version").is_some() || outline.get("cmd").is_some())
        })
    }

    fn parse(&self, file: &mut SourceFile<'_>) -> Result<Parsed, Error> {
        let text = file.text()?;
        let node = json::parse(&text)?;
        let root = At::root(&node);
        let mut parsed = Parsed::default();
        let mut sheet = Sheet::new(file, RULE, DERIVED);
        sheet.partial.join_role = JoinRole::WholeFolder;
        let word = |key: &str| sheet::text_at(&root, key).filter(|text| text != "None");
        sheet.partial.model = word("model").map(|id| sheet::last_part(&id).to_owned());
        let setup = &mut sheet.partial.setup;
        setup.tool = Some("genai-bench".to_owned());
        setup.tool_version = word("benchmark_version");
        setup.model_id = word("api_model_name").or_else(|| word("model"));
        setup.engine = word("server_engine");
        setup.engine_version = word("server_version");
        setup.machine = word("server_gpu_type").map(|gpu| {
            let count = root.get("server_gpu_count").and_then(|at| sheet::scalar(&at)).filter(|count| count != "1");
            count.map_or_else(|| gpu.clone(), |count| format!("{count} x {gpu}"))
        });
        sheet.settings_of(&root, "", SETTINGS);
        if let Some(params) = root.get("additional_request_params") {
            sheet.rest(&params, &[], None);
        }
        sheet.extras(&root, &[("character_token_ratio", "", None)]);
        sheet.finish(&mut parsed);
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn labels_are_read_and_the_command_line_is_not() {
        let text = r#"{"cmd": "bench --api_key sk-123", "benchmark_version": "0.0.5", "auth_config": {"api_key": "sk-9"}, "api_model_name": "org/m", "model": "m",
          "server_model_tokenizer": "/mnt/m", "num_concurrency": [1, 2], "traffic_scenario": ["D(1,2)"], "server_engine": "SGLang", "server_gpu_type": "H100",
          "server_gpu_count": "4", "max_time_per_run_s": 60, "experiment_folder_name": "/home/somebody/x", "dataset_path": "None", "character_token_ratio": 4.5}"#;
        let mut input = text.as_bytes();
        let parsed = GenaiBenchMetadata
            .parse(&mut SourceFile::new("experiment_metadata.json", text.len() as u64, &mut input))
            .unwrap();
        let [Record::Run(partial)] = parsed.records.as_slice() else { panic!("{parsed:?}") };
        assert_eq!((partial.join_role, partial.model.as_deref()), (JoinRole::WholeFolder, Some("m")));
        assert_eq!(
            (partial.setup.machine.as_deref(), partial.setup.engine.as_deref()),
            (Some("4 x H100"), Some("SGLang"))
        );
        assert_eq!(partial.setup.more["num_concurrency"], "1 2");
        let all = format!("{parsed:?}");
        assert!(!all.contains("sk-") && !all.contains("somebody") && !all.contains("/mnt"), "{all}");
    }
}
