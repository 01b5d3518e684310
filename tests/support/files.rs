//! Every file of a folder at once, to be compared with another moment or another folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every file below a folder, by path with `/`.
pub fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("a folder can be read").path();
            if path.is_dir() {
                collect(root, &path, found);
            } else {
                let below: PathBuf = path.strip_prefix(root).expect("below its root").to_owned();
                let name: Vec<_> = below.components().map(|c| c.as_os_str().to_string_lossy()).collect();
                found.insert(name.join("/"), std::fs::read(&path).expect("a file can be read"));
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(folder, folder, &mut found);
    found
}
