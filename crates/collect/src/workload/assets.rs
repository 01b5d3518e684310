//! Files beside a suite that travel into each run's own folder.
//!
//! In:  names relative to the suite's folder.  Out: [`Assets`]: names below the run's own folder, and bytes.
//! Not here: putting them there (see `run`).
//!
//! A file keeps its last name, a folder its last name and what is below it: `tools/bench.py` becomes `bench.py`. Links below a
//! folder are not followed. They are named, as are pipes, sockets and devices. What an asset holds is small, a program or its settings.
//! Models and data sets lie in the environment.

use std::fs;
use std::path::{Component, Path, PathBuf};

use walkdir::WalkDir;

use sparkbench_archive::{FileName, disk, shown};
use sparkbench_plan::{Fault, Reader};
use sparkbench_text::error::{Error, Kind};

/// Most that the assets of one workload hold together, bytes.
pub(crate) const BYTES_MAX: u64 = 64 << 20;
/// Most files. Links, pipes and the like count too.
pub(crate) const FILES_MAX: usize = 1000;

/// Files by their name below the run's own folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Assets {
    files: Vec<(FileName, PathBuf)>,
    left_out: Vec<Fault>,
}

impl Assets {
    /// Finds what a key names. What is missing, doubled or too large goes to the faults.
    pub(crate) fn read(settings: &mut Reader<'_>, key: &'static str, folder: &Path) -> Self {
        let mut assets = Self::default();
        for name in settings.texts(key) {
            assets.add(settings, key, folder, &name);
        }
        assets
    }

    /// Finds one more.
    pub(crate) fn add(&mut self, settings: &mut Reader<'_>, key: &'static str, folder: &Path, name: &str) {
        match find(&folder.join(name), name) {
            Ok(found) => {
                for (inside, path) in found.files {
                    if self.files.iter().any(|(taken, _)| *taken == inside) {
                        settings.fault(key, format!("gives \"{inside}\" twice"), "rename one of the two");
                    } else {
                        self.files.push((inside, path));
                    }
                }
                for (inside, what) in found.others {
                    let what = format!("leaves out \"{inside}\", which is {what}");
                    let remedy = "put a file in its place if the program needs it: nothing else is copied into a run";
                    self.left_out.push(settings.warning(key, what, remedy));
                }
            }
            Err((what, remedy)) => settings.fault(key, what, remedy),
        }
        let bytes: u64 = self.files.iter().filter_map(|(_, path)| fs::metadata(path).ok()).map(|meta| meta.len()).sum();
        let count = self.files.len() + self.left_out.len();
        if bytes > BYTES_MAX || count > FILES_MAX {
            let what = format!("holds {count} files and {} MiB", bytes >> 20);
            let remedy = format!(
                "put large files into the environment: at most {FILES_MAX} files and {} MiB can be copied into a run",
                BYTES_MAX >> 20
            );
            settings.fault(key, what, remedy);
        }
    }

    /// What lies in the folders and is not copied, each as a remark on its key.
    pub(crate) fn left_out(&self) -> &[Fault] {
        &self.left_out
    }

    /// The bytes of each.
    ///
    /// # Errors
    /// When a file cannot be read any more.
    pub(crate) fn load(&self) -> Result<Vec<(FileName, Vec<u8>)>, Error> {
        self.files
            .iter()
            .map(|(name, path)| {
                let bytes = disk::read_plain(path).map_err(|cause| {
                    Error::new(Kind::Usage, format!("cannot read the asset '{name}'"))
                        .hint("keep the file in place while the campaign runs: it was there when the suite was read")
                        .because(cause)
                })?;
                Ok((name.clone(), bytes))
            })
            .collect()
    }
}

/// What one name stands for, by names below the run's own folder.
#[derive(Debug, Default)]
struct Found {
    /// With their places beside the suite.
    files: Vec<(FileName, PathBuf)>,
    /// With what they are.
    others: Vec<(FileName, String)>,
}

/// The fault and its remedy where a name stands for nothing that can be copied.
fn find(path: &Path, name: &str) -> Result<Found, (String, String)> {
    let inside = match Path::new(name).components().next_back() {
        Some(Component::Normal(last)) => last.to_str().map(str::to_owned),
        _ => None,
    };
    let beside = || "name a file or a folder beside the suite, e.g. \"bench.py\"".to_owned();
    let Some(inside) = inside.filter(|_| !Path::new(name).is_absolute()) else {
        return Err((format!("names \"{name}\""), beside()));
    };
    let missing = |cause: &dyn std::fmt::Display| {
        (
            format!("names \"{name}\", which cannot be read: {cause}"),
            "put it beside the suite, or correct the name".to_owned(),
        )
    };
    let kind = fs::metadata(path).map_err(|cause| missing(&cause))?.file_type();
    let mut found = Found::default();
    match disk::not_plain(kind) {
        None => {
            found.files.push((inside.into(), path.to_owned()));
            return Ok(found);
        }
        Some(what) if !kind.is_dir() => return Err((format!("names \"{name}\", which is {what}"), beside())),
        Some(_) => {}
    }
    for entry in WalkDir::new(path).min_depth(1).sort_by_file_name() {
        let entry = entry.map_err(|cause| missing(&cause))?;
        let kind = entry.file_type();
        if kind.is_dir() {
            continue;
        }
        let below = FileName::below(path, entry.path()).inside(&inside);
        if let Some(what) = disk::not_plain(kind) {
            let to = fs::read_link(entry.path()).map_or_else(|_| String::new(), |to| format!(" to '{}'", shown(&to)));
            found.others.push((below, format!("{what}{to}")));
        } else {
            found.files.push((below, entry.into_path()));
        }
        if found.files.len() + found.others.len() > FILES_MAX {
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;
    use sparkbench_plan::{Faults, Settings};

    /// The assets that a suite with this line beside `folder` has, and its faults.
    fn assets(folder: &Path, text: &str) -> (Assets, Vec<String>) {
        let mut faults = Faults::default();
        let settings = Settings::from_toml("workloads.job", 1, toml::de::DeTable::parse(text).unwrap().get_ref(), text);
        let mut reader = settings.reader(&mut faults);
        let assets = Assets::read(&mut reader, "assets", folder);
        reader.finish();
        (assets, faults.sorted().into_iter().map(|fault| fault.to_string()).collect())
    }

    #[test]
    fn links_pipes_and_sockets_in_a_folder_are_named_and_not_followed() {
        let folder = sparkbench_testing::Folder::new("assets");
        let tools = folder.join("tools");
        fs::create_dir_all(tools.join("deep")).unwrap();
        fs::write(tools.join("deep/plain.py"), "print(1)\n").unwrap();
        std::os::unix::fs::symlink("deep/plain.py", tools.join("link.py")).unwrap();
        std::os::unix::fs::symlink("missing", tools.join("dangling")).unwrap();
        nix::unistd::mkfifo(&tools.join("deep/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _socket = UnixListener::bind(tools.join("socket")).unwrap();
        let (found, faults) = assets(&folder, "assets = ['tools']");
        assert_eq!(faults, Vec::<String>::new());
        let names: Vec<String> = found.load().unwrap().iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(names, ["tools/deep/plain.py"]);
        let left_out: Vec<String> = found.left_out().iter().map(ToString::to_string).collect();
        let line = |name: &str, what: &str| {
            format!("line 1, workloads.job.assets: leaves out \"tools/{name}\", which is {what}")
        };
        assert_eq!(
            left_out,
            [
                line("dangling", "a link to 'missing'"),
                line("deep/pipe", "a pipe"),
                line("link.py", "a link to 'deep/plain.py'"),
                line("socket", "a socket"),
            ]
        );
    }

    #[test]
    fn a_pipe_is_no_asset_and_is_never_waited_for() {
        let folder = sparkbench_testing::Folder::new("assets-pipe");
        nix::unistd::mkfifo(&folder.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let (_, faults) = assets(&folder, "assets = ['pipe']");
        assert_eq!(faults, ["line 1, workloads.job.assets: names \"pipe\", which is a pipe"]);
        fs::write(folder.join("later"), "x").unwrap();
        let (found, _) = assets(&folder, "assets = ['later']");
        fs::remove_file(folder.join("later")).unwrap();
        nix::unistd::mkfifo(&folder.join("later"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(found.load().unwrap_err().to_string().contains("it is a pipe, not a file"));
    }
}
