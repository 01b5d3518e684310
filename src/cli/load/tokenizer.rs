//! `--tokenizer` with the name of a model, as other clients take it.
//!
//! In:  what was typed, the variables of this process.  Out: an error that says where the file is, or how to get it.
//! Not here: reading the file (see `load::tokens`). Nothing is downloaded.

use std::path::{Path, PathBuf};

use sparkbench_host::Host;
use sparkbench_load::settings::Settings;
use sparkbench_text::error::Error;
use sparkbench_text::escape::shell;

/// The file in a cache, below the folder of a model.
const FILE: &str = "tokenizer.json";

/// Refuses the name of a model.
///
/// # Errors
/// Of usage.
pub(super) fn check(settings: &Settings, host: &dyn Host) -> Result<(), Error> {
    let Some(path) = settings.tokenizer.as_deref().filter(|path| !path.exists()) else { return Ok(()) };
    let Some((owner, model)) = path.to_str().and_then(name) else { return Ok(()) };
    let what = format!("'{owner}/{model}' is the name of a model, but --tokenizer takes its file {FILE}");
    let hint = match roots(host).iter().find_map(|root| cached(root, owner, model)) {
        Some(file) => format!("it is in the cache of Hugging Face on this machine: --tokenizer {}", shell(&file)),
        None => format!(
            "get it with 'hf download {owner}/{model} {FILE}', which prints where it is. Here nothing is downloaded"
        ),
    };
    Err(Error::usage(what).hint(hint))
}

/// Owner and name of a model, if it can be one.
fn name(text: &str) -> Option<(&str, &str)> {
    let part = |text: &str| {
        let lawful = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        !text.is_empty() && !text.starts_with('.') && text.chars().all(lawful) && !text.ends_with(".json")
    };
    text.split_once('/').filter(|(owner, model)| part(owner) && part(model))
}

/// Where the cache may be.
fn roots(host: &dyn Host) -> Vec<PathBuf> {
    let below = |name: &str, rest: &str| host.variable(name).map(|folder| Path::new(&folder).join(rest));
    [
        below("HF_HUB_CACHE", ""),
        below("HUGGINGFACE_HUB_CACHE", ""),
        below("HF_HOME", "hub"),
        below("XDG_CACHE_HOME", "huggingface/hub"),
        below("HOME", ".cache/huggingface/hub"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The file of the last of its versions.
fn cached(root: &Path, owner: &str, model: &str) -> Option<PathBuf> {
    let versions = root.join(format!("models--{owner}--{model}")).join("snapshots");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(versions).ok()?.flatten().map(|version| version.path().join(FILE)).collect();
    files.retain(|file| file.is_file());
    files.sort();
    files.pop()
}

#[cfg(test)]
mod tests {
    use sparkbench_host::replay::Replay;
    use sparkbench_testing::Folder;

    use super::*;

    fn of(path: &str) -> Settings {
        Settings { tokenizer: Some(path.into()), ..Settings::default() }
    }

    #[test]
    fn the_name_of_a_model_is_refused_with_the_place_of_its_file() {
        let folder = Folder::new("load-tokenizer");
        let nobody = Replay::new().with_variable("HOME", "/nowhere");
        let absent = check(&of("Qwen/Qwen3-8B"), &nobody).unwrap_err();
        assert_eq!(
            absent.what,
            "'Qwen/Qwen3-8B' is the name of a model, but --tokenizer takes its file tokenizer.json"
        );
        assert!(absent.hint.unwrap().contains("hf download Qwen/Qwen3-8B tokenizer.json"));
        let version = folder.join("hub/models--Qwen--Qwen3-8B/snapshots/abc");
        std::fs::create_dir_all(&version).unwrap();
        std::fs::write(version.join(FILE), "{}").unwrap();
        let here = Replay::new().with_variable("HF_HOME", &folder.to_string_lossy());
        let cached = check(&of("Qwen/Qwen3-8B"), &here).unwrap_err().hint.unwrap();
        assert!(cached.contains("--tokenizer ") && cached.contains("/snapshots/abc/tokenizer.json"), "{cached}");
        // What is there, and what is a path, is read or refused by whoever reads it.
        for path in [
            "/Qwen/Qwen3-8B",
            "./models/qwen",
            "models/tokenizer.json",
            "tokenizer",
            "a/b/c",
            &version.to_string_lossy(),
        ] {
            assert!(check(&of(path), &here).is_ok(), "{path}");
        }
    }
}
