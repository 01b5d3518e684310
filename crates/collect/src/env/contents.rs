//! Contents of a root file system: release, packages, Python packages, and one hash over them.
//!
//! In:  the folder of a root.  Out: [`Contents`].
//! Not here: reading every file. The hash distinguishes states of a root by its package lists.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use sha2::{Digest, Sha256};

use super::place::below;
use sparkbench_host::Host;

/// Distinguishes one state of a root from another without reading all of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Contents {
    /// Fields of `os-release`.
    pub release: BTreeMap<String, String>,
    /// Version by name. Absent where the root has no package list of a form we read (dpkg, apk).
    pub packages: Option<BTreeMap<String, String>>,
    /// `name version`.
    pub python: Vec<String>,
}

impl Contents {
    /// Looks into a root.
    pub(super) fn of(host: &dyn Host, root: &Path) -> Self {
        let dpkg = host.read(&below(root, Path::new("/var/lib/dpkg/status"))).map(|text| dpkg(&text));
        let apk = || host.read(&below(root, Path::new("/lib/apk/db/installed"))).map(|text| apk(&text));
        let packages = dpkg.or_else(|_| apk()).ok();
        Self { release: release(host, root), packages, python: python(host, root) }
    }

    /// SHA-256 over all of it.
    pub(super) fn hash(&self) -> String {
        let text = json!([self.release, self.packages, self.python]).to_string();
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Fields of `os-release`.
pub(super) fn release(host: &dyn Host, root: &Path) -> BTreeMap<String, String> {
    let text = ["usr/lib/os-release", "etc/os-release"]
        .iter()
        .find_map(|name| host.read(&root.join(name)).ok())
        .unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| ["ID", "VERSION_ID", "VERSION_CODENAME", "PRETTY_NAME"].contains(name))
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

/// Names and versions of Python packages, from the names of their `.dist-info` folders, where Debian and images keep them.
fn python(host: &dyn Host, root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for lib in ["usr/lib", "usr/local/lib"] {
        let lib = root.join(lib);
        let versions = host.list(&lib).unwrap_or_default();
        for version in versions.iter().filter(|name| name.starts_with("python3")) {
            for folder in ["dist-packages", "site-packages"] {
                let names = host.list(&lib.join(version).join(folder)).unwrap_or_default();
                let bare = |name: &str| {
                    let bare = name.strip_suffix(".dist-info").or_else(|| name.strip_suffix(".egg-info"))?;
                    Some(bare.replacen('-', " ", 1))
                };
                found.extend(names.iter().filter_map(|name| bare(name)));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Version by name of the installed packages of a dpkg status file. Of two architectures of one package both are kept.
fn dpkg(text: &str) -> BTreeMap<String, String> {
    let mut packages = BTreeMap::new();
    for paragraph in text.split("\n\n") {
        let field = |name: &str| {
            let start = format!("{name}: ");
            paragraph.lines().find_map(|line| line.strip_prefix(&start)).map(str::trim)
        };
        let (Some(name), Some(version), Some(status)) = (field("Package"), field("Version"), field("Status")) else {
            continue;
        };
        if !status.ends_with(" installed") {
            continue;
        }
        let mut key = name.to_owned();
        if packages.contains_key(&key) {
            key = format!("{name}:{}", field("Architecture").unwrap_or("other"));
        }
        packages.insert(key, version.to_owned());
    }
    packages
}

/// Version by name of an apk database.
fn apk(text: &str) -> BTreeMap<String, String> {
    let mut packages = BTreeMap::new();
    for paragraph in text.split("\n\n") {
        let field = |start: &str| paragraph.lines().find_map(|line| line.strip_prefix(start)).map(str::trim);
        if let (Some(name), Some(version)) = (field("P:"), field("V:")) {
            packages.insert(name.to_owned(), version.to_owned());
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_a_root_are_those_that_are_installed() {
        let status = "Package: a\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.0-1\n\n\
                      Package: a\nStatus: install ok installed\nArchitecture: i386\nVersion: 1.0-2\n\n\
                      Package: gone\nStatus: deinstall ok config-files\nVersion: 2\n\n\
                      Package: half\nStatus: install ok half-installed\nVersion: 2\n\nPackage: torn\nStat";
        let packages = dpkg(status);
        assert_eq!(packages.len(), 2);
        assert_eq!((packages["a"].as_str(), packages["a:i386"].as_str()), ("1.0-1", "1.0-2"));
        assert!(dpkg("").is_empty());
        assert_eq!(apk("C:Q1x=\nP:busybox\nV:1.36.1-r2\n\nP:torn")["busybox"], "1.36.1-r2");
    }

    #[test]
    fn another_package_gives_another_hash() {
        let of = |packages: &[(&str, &str)]| {
            let packages = packages.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect();
            Contents { packages: Some(packages), ..Contents::default() }.hash()
        };
        assert_eq!(of(&[("a", "1")]), of(&[("a", "1")]));
        assert_ne!(of(&[("a", "1")]), of(&[("a", "2")]));
        assert_ne!(of(&[]), Contents::default().hash(), "no packages is not the same as no package list");
    }
}
