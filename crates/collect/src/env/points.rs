//! Mount points that a root lacks. They are made for each run and removed afterwards, so that the root is left unchanged.
//!
//! In:  the root and its mounts.  Out: names for `campaign.json`, and a program that removes the mount points.
//! Not here: mounting.
//!
//! The list is made before the first run and kept with the campaign. So a mount point of ours is recognised even after collector and guard
//! were both killed. One that existed before us is never touched.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::place::below;
use sparkbench_host::{Host, Question};
use sparkbench_text::error::{Error, Kind};

/// Key of the list in the description of an environment.
pub(super) const KEY: &str = "mount_points";

/// Folders of every root that kernel file systems are mounted on.
const KERNEL: &[&str] = &["/proc", "/sys", "/dev", "/tmp", "/run"];

/// As many links as the kernel follows in one path.
const LINKS: usize = 40;

/// Removes what is empty, and nothing else: what someone has put something into is no longer ours.
const REMOVE: &str = "for f; do [ ! -L \"$f\" ] || continue; \
    if [ -d \"$f\" ]; then rmdir \"$f\" 2>/dev/null; elif [ -f \"$f\" ] && [ ! -s \"$f\" ]; then rm -f \"$f\"; fi; done; exit 0";

/// Mount points of one root that are ours, as paths on the host, the folders above before what is in them.
#[derive(Debug, Default)]
pub(super) struct Points(Mutex<Vec<PathBuf>>);

impl Points {
    /// Takes them from a description of the environment.
    pub(super) fn hold_to(&self, root: &Path, described: &Value) {
        let names = described.get(KEY).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let plain = |path: &&str| Path::new(path).components().all(|part| part != Component::ParentDir);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            names.filter(plain).map(|name| below(root, Path::new(name))).collect();
    }

    /// A program that takes them away. Nothing where the root has all of them by itself.
    pub(super) fn after(&self) -> Option<Vec<String>> {
        let points = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let words = ["sh", "-c", REMOVE, "sh"].into_iter().map(str::to_owned);
        (!points.is_empty())
            .then(|| words.chain(points.iter().rev().map(|point| point.display().to_string())).collect())
    }

    /// Takes away what a crash left of them, and says what that was.
    ///
    /// # Errors
    /// When the program for it cannot be started.
    pub(super) fn sweep(&self, host: &dyn Host) -> Result<Vec<String>, Error> {
        let there = || {
            let points = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            points.iter().filter(|point| host.exists(point)).cloned().collect::<Vec<_>>()
        };
        let (before, Some(argv)) = (there(), self.after()) else { return Ok(Vec::new()) };
        if before.is_empty() {
            return Ok(Vec::new());
        }
        host.ask(&Question::new(argv)).map_err(|cause| {
            Error::new(Kind::Preflight, "cannot remove the mount points that a killed run left in its root")
                .because(cause)
        })?;
        let after = there();
        let gone = before.iter().filter(|point| !after.contains(point));
        Ok(gone.map(|point| format!("mount point {}", point.display())).collect())
    }
}

/// Missing mount points inside a root, as seen from inside.
pub(super) fn missing(host: &dyn Host, root: &Path, at: impl IntoIterator<Item = PathBuf>) -> Value {
    let mut found: Vec<String> = Vec::new();
    for at in KERNEL.iter().map(PathBuf::from).chain(at) {
        // Everything below /dev, /proc, /sys is in a file system that is mounted there.
        if at.components().count() > 2
            && ["/dev", "/proc", "/sys", "/tmp", "/run"].iter().any(|top| at.starts_with(top))
        {
            continue;
        }
        let Some(path) = followed(host, root, &at) else { continue };
        let mut new: Vec<&Path> = path.ancestors().take_while(|above| *above != root && !host.exists(above)).collect();
        new.reverse();
        for path in new {
            let inside = Path::new("/").join(path.strip_prefix(root).unwrap_or(path)).display().to_string();
            if !found.contains(&inside) {
                found.push(inside);
            }
        }
    }
    json!(found)
}

/// Path on the host of a path inside, links followed as inside. Absent where they go in a circle.
fn followed(host: &dyn Host, root: &Path, at: &Path) -> Option<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        names.rev().map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut todo = parts(at);
    let mut path = root.to_path_buf();
    let mut links = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            if path != root {
                path.pop();
            }
            continue;
        }
        let next = path.join(&part);
        match host.link(&next) {
            Ok(to) => {
                links += 1;
                if links > LINKS {
                    return None;
                }
                if to.is_absolute() {
                    path = root.to_path_buf();
                }
                todo.extend(parts(&to));
            }
            // No link, or nothing there.
            Err(_) => path = next,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_host::machine::Machine;

    #[test]
    fn what_a_root_lacks_is_listed_and_only_that_is_taken_away() {
        let folder = sparkbench_testing::Folder::new("points");
        let root = folder.join("root");
        for name in ["proc", "sys", "dev", "tmp", "run", "data/theirs", "usr/lib"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("/usr/lib", root.join("lib")).unwrap();
        let host = Machine::new().unwrap();
        let at =
            ["/sparkbench/work", "/data/ours", "/data/theirs", "/lib/driver/a.so", "/dev/nvidia0"].map(PathBuf::from);
        let listed = missing(&host, &root, at);
        let wanted = ["/sparkbench", "/sparkbench/work", "/data/ours", "/usr/lib/driver", "/usr/lib/driver/a.so"];
        assert_eq!(listed, json!(wanted));
        let points = Points::default();
        assert_eq!(points.after(), None);
        points.hold_to(&root, &json!({ KEY: listed }));
        assert_eq!(points.sweep(&host).unwrap(), Vec::<String>::new(), "nothing is there yet");
        std::fs::create_dir_all(root.join("sparkbench/work")).unwrap();
        std::fs::create_dir_all(root.join("usr/lib/driver")).unwrap();
        std::fs::write(root.join("usr/lib/driver/a.so"), "").unwrap();
        std::fs::create_dir_all(root.join("data/ours")).unwrap();
        std::fs::write(root.join("data/ours/result"), "x").unwrap();
        assert_eq!(points.sweep(&host).unwrap().len(), 4);
        assert!(!root.join("sparkbench").exists() && !root.join("usr/lib/driver").exists());
        assert!(root.join("data/ours/result").exists() && root.join("data/theirs").exists());
    }

    #[test]
    fn a_list_that_was_tampered_with_does_not_reach_out_of_the_root() {
        let points = Points::default();
        points.hold_to(Path::new("/r"), &json!({ KEY: ["/../etc", "/a", 3] }));
        assert_eq!(points.after().unwrap().split_off(4), ["/r/a"]);
    }
}
