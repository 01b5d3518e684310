//! The folder of a model: its files with their sizes, and hashes of those that identify the model.
//!
//! In:  a host, folders.  Out: the group `models`, one entry for each folder that holds a model.
//! Not here: hashes of the weights, which would take minutes and fill the page cache that is measured.
//!
//! Two checkpoints of one name differ in configuration, quantisation or tokenizer: small files, hashed whole. Weights are told apart by
//! the sizes of their files and by the index that names their tensors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::sheet::{Sheet, says};
use sparkbench_archive::shown;
use sparkbench_host::Host;

/// Endings of files that describe a model: configuration, index of tensors, quantisation, tokenizer, template of chats.
const DESCRIBE: &[&str] = &[".json", ".jinja", ".txt", ".model", ".tiktoken"];
/// Endings of weights.
const WEIGHTS: &[&str] = &[".safetensors", ".gguf", ".bin"];
/// Largest file that is hashed. Tokenizers have up to about 35 MB.
const HASHED_MAX: u64 = 128 << 20;

/// Fills the group. A folder without a configuration or weights is no model's, and is left out.
pub(super) fn read(host: &dyn Host, paths: &[PathBuf], sheet: &mut Sheet) {
    for path in paths {
        let name = shown(path);
        if !host.exists(path) {
            let why = "it does not exist on this machine, and a path inside an environment is not read";
            sheet.put::<Value>("models", &name, Err(why.to_owned()));
        } else if host.list(path).is_ok_and(|names| names.iter().any(|name| tells_a_model(name))) {
            sheet.put("models", &name, files(host, path));
        }
    }
}

fn tells_a_model(name: &str) -> bool {
    name == "config.json" || name.ends_with(".safetensors") || name.ends_with(".gguf")
}

fn files(host: &dyn Host, path: &Path) -> Result<Value, String> {
    let folder = path.to_string_lossy();
    // Links are followed: a downloaded snapshot is a folder of links.
    let listed = says(host, &["find", "-L", &folder, "-maxdepth", "1", "-type", "f", "-printf", "%s %f\\n"])?;
    let sizes = sizes(&listed);
    let small: Vec<String> = sizes
        .iter()
        .filter(|(name, size)| **size <= HASHED_MAX && DESCRIBE.iter().any(|end| name.ends_with(end)))
        .map(|(name, _)| path.join(name).to_string_lossy().into_owned())
        .collect();
    let mut argv = vec!["sha256sum", "--"];
    argv.extend(small.iter().map(String::as_str));
    let hashes = if small.is_empty() { BTreeMap::new() } else { hashes(&says(host, &argv)?) };
    let weights = sizes.iter().filter(|(name, _)| WEIGHTS.iter().any(|end| name.ends_with(end)));
    let weights_bytes: u64 = weights.map(|(_, size)| size).sum();
    Ok(json!({ "files_bytes": sizes, "sha256": hashes, "weights_bytes": weights_bytes }))
}

/// Lines of a size and a name.
fn sizes(text: &str) -> BTreeMap<String, u64> {
    let pair = |line: &str| line.split_once(' ').and_then(|(size, name)| Some((name.to_owned(), size.parse().ok()?)));
    text.lines().filter_map(pair).collect()
}

/// Lines of a hash and a path, of which the last part is kept.
fn hashes(text: &str) -> BTreeMap<String, String> {
    let pair = |line: &str| {
        let (hash, path) = line.split_once("  ")?;
        Some((path.rsplit('/').next()?.to_owned(), hash.to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_host::machine::Machine;

    #[test]
    fn a_model_is_told_by_the_sizes_of_its_files_and_the_hashes_of_its_small_ones() {
        let folder = sparkbench_testing::Folder::new("a model");
        std::fs::write(folder.join("config.json"), "abc").unwrap();
        std::fs::write(folder.join("model.safetensors"), [0_u8; 10]).unwrap();
        let absent = folder.join("absent");
        let mut sheet = Sheet::default();
        let paths = [folder.to_path_buf(), PathBuf::from("/proc/self"), absent.clone()];
        read(&Machine::new().unwrap(), &paths, &mut sheet);
        let tree = sheet.finish();
        let model = &tree["models"][&folder.display().to_string()];
        assert_eq!(model["files_bytes"]["config.json"], 3, "{tree}");
        assert_eq!(model["weights_bytes"], 10);
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(model["sha256"], json!({ "config.json": abc }));
        assert!(tree["models"].get("/proc/self").is_none());
        let why = &tree["absent"][&format!("models.{}", absent.display())];
        assert!(why.as_str().unwrap().contains("does not exist"), "{tree}");
    }
}
