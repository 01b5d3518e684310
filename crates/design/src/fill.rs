//! The settings of one run, each with who says it.
//!
//! In:  a run as it was read.  Out: [`RunSettings`].
//! Not here: words of paths (see `words`), which of them vary (see `table`).

use std::collections::BTreeMap;

use sparkbench_model::{Run, RunSettings, Setting, SettingOrigin, SettingValue, setting::SETTINGS, spelling::plain};

/// Keys of files that are no choice of anybody: when, where and under which name a file was written, and what follows from other settings.
const NO_SETTINGS: &[&str] = &[
    "seed",
    "date",
    "day",
    "time",
    "timestamp",
    "datetime",
    "created",
    "started",
    "start",
    "ended",
    "end",
    "finished",
    "duration",
    "elapsed",
    "result",
    "status",
    "host",
    "hostname",
    "port",
    "url",
    "base_url",
    "endpoint",
    "user",
    "username",
    "pid",
    "uuid",
    "id",
    "run",
    "run_id",
    "job_id",
    "index",
    "label",
    "title",
    "note",
    "notes",
    "comment",
    "command",
    "cmd",
    "argv",
    "model_size",
    "model_n_params",
    "model_type",
    "model_params",
    "model_filename",
    "served_name",
    "output",
    "log",
    "errors",
    "cpu_mask",
    // Follows from the rest of the command line.
    "model_path",
];
/// Last words of such keys.
const NO_SETTING_ENDS: &[&str] = &[
    "at",
    "time",
    "timestamp",
    "date",
    "path",
    "dir",
    "directory",
    "file",
    "filename",
    "url",
    "seed",
    "uuid",
    "hash",
    "utc",
];

/// Settings of a run by name. `named` holds who says a setting, where that is not the result itself.
pub fn fill(run: &Run, named: &BTreeMap<&'static str, SettingOrigin>) -> RunSettings {
    let mut settings = RunSettings::new();
    for setting in SETTINGS {
        if let Some(value) = (setting.of)(run).filter(|value| !value.trim().is_empty()) {
            let origin = named.get(setting.name).copied().unwrap_or(SettingOrigin::Result);
            settings.insert(setting.name.to_owned(), SettingValue { value: value.trim().to_owned(), origin });
        }
    }
    if run.workload != DEFAULT_WORKLOAD && !run.workload.is_empty() {
        let origin = named.get("workload").copied().unwrap_or(SettingOrigin::Result);
        settings.insert("workload".to_owned(), SettingValue { value: run.workload.clone(), origin });
    }
    for (key, value) in &run.setup.more {
        let name = plain(key);
        if !is_setting(&name) || value.trim().is_empty() {
            continue;
        }
        let name = match name.as_str() {
            // A load generator calls so the protocol that it speaks. Of an engine it is what computes.
            "backend" if run.setup.tool.as_deref().is_some_and(|tool| !tool.starts_with("llama")) => {
                "client_backend".to_owned()
            }
            _ => Setting::find(&name).map_or(name, |setting| setting.name.to_owned()),
        };
        let value = SettingValue { value: value.trim().to_owned(), origin: SettingOrigin::Result };
        settings.entry(name).or_insert(value);
    }
    settings
}

/// Stands where a source names no workload.
const DEFAULT_WORKLOAD: &str = "default";

fn is_setting(name: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or(name);
    !name.is_empty()
        && !NO_SETTINGS.contains(&name)
        && !NO_SETTING_ENDS.contains(&last)
        && !name.starts_with("generated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_and_where_a_file_was_written_is_no_setting() {
        for name in ["seed", "generated_at", "start_time", "model_path", "client_start_time", "random_seed", ""] {
            assert!(!is_setting(name), "{name}");
        }
        for name in ["n_ubatch", "temperature", "vllm_image", "attention_backend", "sampling_method"] {
            assert!(is_setting(name), "{name}");
        }
    }
}
