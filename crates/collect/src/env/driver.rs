//! The driver's user libraries and device nodes, for roots that lack them.
//!
//! In:  `driver_libraries`, `devices`, the machine's CDI description, linker cache and `/dev`.  Out: files to bind read-only, and device
//! nodes.
//! Not here: mounting.
//!
//! An exported image holds CUDA but not the driver's half of it (`libcuda.so.1` and its kin). A container toolkit adds that half when a
//! container starts, and it must fit the kernel module of the machine. The CDI description that the toolkit generates is the exact list.
//! Without one, the linker's cache names the same libraries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sparkbench_host::{Host, Question};
use sparkbench_plan::Reader;

/// Where the container toolkit keeps its description of the GPUs, the administrator's first.
pub(super) const CDI: &[&str] = &["/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"];

/// Which libraries of the driver are bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Libraries {
    /// Answer of the machine.
    Auto,
    None,
    /// These files, at the same paths.
    List(Vec<PathBuf>),
}

/// One file of the host and where it goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct File {
    /// On the host.
    pub from: PathBuf,
    /// Inside.
    pub at: PathBuf,
}

/// The driver's libraries, and the source of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DriverFiles {
    /// Sorted by their path inside, no path twice.
    pub files: Vec<File>,
    /// For people and the archive.
    pub source: String,
}

impl Libraries {
    /// Takes `driver_libraries`: `"auto"` (also when absent), `"none"`, or a list of files.
    pub(super) fn read(settings: &mut Reader<'_>) -> Self {
        match word_or_list(settings, "driver_libraries") {
            WordOrList::Auto => Self::Auto,
            WordOrList::None => Self::None,
            WordOrList::List(paths) => Self::List(paths),
        }
    }

    /// The files. Nothing when the machine has no driver.
    pub(super) fn find(&self, host: &dyn Host) -> DriverFiles {
        match self {
            Self::None => DriverFiles { files: Vec::new(), source: "none, as the suite asks".to_owned() },
            Self::List(paths) => {
                let files = paths.iter().map(|path| File { from: path.clone(), at: path.clone() }).collect();
                DriverFiles { files, source: "listed in the suite".to_owned() }
            }
            Self::Auto => auto(host),
        }
    }
}

/// Which device nodes are bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Devices {
    /// Every `/dev/nvidia*`.
    Nvidia,
    None,
    /// These.
    List(Vec<PathBuf>),
}

impl Devices {
    /// Takes `devices`: `"nvidia"` (also when absent), `"none"`, or a list of nodes.
    pub(super) fn read(settings: &mut Reader<'_>) -> Self {
        match word_or_list(settings, "devices") {
            WordOrList::Auto => Self::Nvidia,
            WordOrList::None => Self::None,
            WordOrList::List(paths) => Self::List(paths),
        }
    }

    /// The nodes that exist now, sorted. Majors are dynamic, so nodes are taken by name and never made.
    pub(super) fn find(&self, host: &dyn Host) -> Vec<PathBuf> {
        match self {
            Self::None => Vec::new(),
            Self::List(paths) => paths.clone(),
            Self::Nvidia => host
                .list(Path::new("/dev"))
                .unwrap_or_default()
                .into_iter()
                .filter(|name| name.starts_with("nvidia"))
                .map(|name| Path::new("/dev").join(name))
                .collect(),
        }
    }
}

enum WordOrList {
    Auto,
    None,
    List(Vec<PathBuf>),
}

/// A word or a list under one key. The word for "as the machine says" is `auto` for libraries and `nvidia` for nodes.
fn word_or_list(settings: &mut Reader<'_>, key: &'static str) -> WordOrList {
    let auto = if key == "devices" { "nvidia" } else { "auto" };
    if !settings.has(key) {
        return WordOrList::Auto;
    }
    if !settings.is_list(key) {
        return match settings.choice(key, &[auto, "none"]).as_deref() {
            Some("none") => WordOrList::None,
            _ => WordOrList::Auto,
        };
    }
    let paths: Vec<PathBuf> = settings.texts(key).into_iter().map(PathBuf::from).collect();
    for path in paths.iter().filter(|path| !path.is_absolute()) {
        settings.fault(key, format!("holds '{}'", path.display()), "give whole paths, from / on");
    }
    WordOrList::List(paths)
}

fn auto(host: &dyn Host) -> DriverFiles {
    for path in CDI {
        if let Ok(text) = host.read(Path::new(path)) {
            let mut files: BTreeSet<File> = cdi(&text).into_iter().collect();
            // The description names files by their version, and the toolkit makes the short names (`libcuda.so.1`) inside the container.
            // Nobody does so here, so the host's short names are bound beside them.
            let short: Vec<File> = files.iter().flat_map(|file| short_names(host, file)).collect();
            files.extend(short);
            return found(files, format!("the CDI description {path}"));
        }
    }
    let answer = host.ask(&Question::new(["/sbin/ldconfig", "-p"]));
    match answer {
        Ok(answer) if answer.ok() => {
            let files = linker(&answer.text()).into_iter().map(|path| File { from: path.clone(), at: path }).collect();
            found(files, "the linker's cache (ldconfig -p), because no CDI description was found".to_owned())
        }
        Ok(answer) => {
            DriverFiles { files: Vec::new(), source: format!("nothing: ldconfig -p: {}", answer.complaint()) }
        }
        Err(error) => DriverFiles { files: Vec::new(), source: format!("nothing: ldconfig -p: {error}") },
    }
}

fn found(files: BTreeSet<File>, source: String) -> DriverFiles {
    let mut inside = BTreeSet::new();
    let files: Vec<File> = files.into_iter().filter(|file| inside.insert(file.at.clone())).collect();
    let source = if files.is_empty() { format!("no library of the driver in {source}") } else { source };
    DriverFiles { files, source }
}

/// Pairs of `hostPath` and `containerPath` below the `mounts` of a CDI description.
///
/// One program generates this YAML in one shape: one mapping on each line, no anchors, no folded text. Read in the output of toolkit 1.14 to 1.18
/// (`nvidia-ctk cdi generate`). Device nodes carry `path` and hooks carry `args`, so the two keys occur nowhere else.
fn cdi(text: &str) -> Vec<File> {
    let mut files = Vec::new();
    let (mut from, mut at) = (None, None);
    for line in text.lines() {
        let bare = line.trim_start();
        let begins = bare.starts_with("- ");
        let bare = bare.trim_start_matches("- ").trim_start();
        if begins && (bare.starts_with("hostPath:") || bare.starts_with("containerPath:")) {
            (from, at) = (None, None);
        }
        if let Some(value) = bare.strip_prefix("hostPath:") {
            from = Some(PathBuf::from(plain(value)));
        } else if let Some(value) = bare.strip_prefix("containerPath:") {
            at = Some(PathBuf::from(plain(value)));
        }
        if let (Some(source), Some(target)) = (&from, &at) {
            if source.is_absolute() && target.is_absolute() {
                files.push(File { from: source.clone(), at: target.clone() });
            }
            (from, at) = (None, None);
        }
    }
    files
}

fn plain(value: &str) -> &str {
    value.trim().trim_matches(|quote| quote == '"' || quote == '\'')
}

/// `libcuda.so` and `libcuda.so.1` beside `libcuda.so.580.95.05`, where the host has them.
fn short_names(host: &dyn Host, file: &File) -> Vec<File> {
    let (Some(name), Some(folder), Some(inside)) =
        (file.from.file_name().and_then(|name| name.to_str()), file.from.parent(), file.at.parent())
    else {
        return Vec::new();
    };
    let Some((stem, _)) = name.split_once(".so.") else { return Vec::new() };
    let is_short = |other: &str| {
        other.strip_prefix(stem).and_then(|rest| rest.strip_prefix(".so")).is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('.').is_some_and(|digits| digits.parse::<u32>().is_ok())
        })
    };
    let names = host.list(folder).unwrap_or_default();
    names
        .into_iter()
        .filter(|other| other != name && is_short(other))
        .map(|other| File { from: folder.join(&other), at: inside.join(&other) })
        .collect()
}

/// Libraries of the driver in the output of `ldconfig -p`, those for 64 bits only. `libnvidia-container*` belongs to the toolkit.
fn linker(text: &str) -> BTreeSet<PathBuf> {
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.trim().split_once(' ')?;
            let (kind, path) = rest.split_once("=>")?;
            let ours = name.starts_with("libcuda.so")
                || name.starts_with("libcudadebugger.so")
                || (name.starts_with("libnvidia-") && !name.starts_with("libnvidia-container"));
            let wide = kind.contains("x86-64") || kind.contains("AArch64");
            (ours && wide).then(|| PathBuf::from(path.trim()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shape of `nvidia-ctk cdi generate`, trimmed.
    const DESCRIPTION: &str = "---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  hooks:
  - args:
    - nvidia-cdi-hook
    - create-symlinks
    - --link
    - libcuda.so.1::/usr/lib/aarch64-linux-gnu/libcuda.so
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  - containerPath: /usr/lib/aarch64-linux-gnu/libcuda.so.580.95.05
    hostPath: /usr/lib/aarch64-linux-gnu/libcuda.so.580.95.05
    options:
    - ro
    - bind
  - hostPath: \"/opt/driver/libnvidia-ml.so.580.95.05\"
    containerPath: /usr/lib/aarch64-linux-gnu/libnvidia-ml.so.580.95.05
  - containerPath: relative
    hostPath: /x
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: \"0\"
kind: nvidia.com/gpu
";

    #[test]
    fn the_cdi_description_is_the_exact_list() {
        let at = |name: &str| PathBuf::from(format!("/usr/lib/aarch64-linux-gnu/{name}.580.95.05"));
        assert_eq!(
            cdi(DESCRIPTION),
            [
                File { from: at("libcuda.so"), at: at("libcuda.so") },
                File { from: "/opt/driver/libnvidia-ml.so.580.95.05".into(), at: at("libnvidia-ml.so") },
            ]
        );
        assert_eq!(cdi(""), []);
        assert_eq!(cdi("mounts:\n- containerPath: /a\n- containerPath: /b\n  hostPath: /c\n").len(), 1);
    }

    #[test]
    fn the_linkers_cache_gives_the_drivers_libraries_of_64_bits() {
        let text = "5 libs found in cache `/etc/ld.so.cache'
\tlibnvidia-ml.so.1 (libc6,AArch64) => /lib/aarch64-linux-gnu/libnvidia-ml.so.1
\tlibcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1
\tlibcuda.so.1 (libc6) => /lib/i386-linux-gnu/libcuda.so.1
\tlibnvidia-container.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnvidia-container.so.1
\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12
";
        let paths: Vec<_> = linker(text).into_iter().collect();
        assert_eq!(
            paths,
            [PathBuf::from("/lib/aarch64-linux-gnu/libnvidia-ml.so.1"), "/lib/x86_64-linux-gnu/libcuda.so.1".into()]
        );
        assert!(linker("").is_empty());
    }
}
