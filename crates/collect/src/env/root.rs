//! A root file system of a suite: its variables, binds, driver libraries, and what it is made of. Shared by `chroot` and `nspawn`.
//!
//! In:  `root`, `env`, `image_env`, `binds`, `driver_libraries`, `from`.  Out: variables, files to bind, findings, a description.
//! Not here: entering it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::contents::{self, Contents};
use super::driver::{File, Libraries};
use super::place::WORK_INSIDE;
use super::{checks, variables};
use sparkbench_archive as archive;
use sparkbench_archive::manifest::CheckWire;
use sparkbench_host::Host;
use sparkbench_model::Finding;
use sparkbench_plan::Reader;
use sparkbench_text::error::{Error, Kind};

/// A file or folder of the host inside a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    /// On the host.
    pub from: PathBuf,
    /// Inside.
    pub at: PathBuf,
    /// Not writable inside.
    pub read_only: bool,
}

/// A root file system as a suite wants it.
#[derive(Debug, Clone)]
pub(super) struct RootFolder {
    /// Folder on the host.
    pub path: PathBuf,
    env: BTreeMap<String, String>,
    /// File with the image's variables, where the suite names one.
    image_env: Option<PathBuf>,
    /// Declared binds.
    pub binds: Vec<Bind>,
    /// Libraries of the driver.
    pub libraries: Libraries,
    /// Working folder inside. Absent is the run's own.
    pub cwd: Option<PathBuf>,
    /// Where the root comes from, in the suite's words, e.g. the digest of the image it was exported from.
    from: Option<String>,
}

impl RootFolder {
    /// Takes its keys.
    pub(super) fn read(settings: &mut Reader<'_>, folder: &Path) -> Option<Self> {
        let path = settings.required_text("root", "name the folder of the root file system, relative to the suite");
        let env = variables::declared(settings);
        let image_env = settings.text("image_env").map(|path| folder.join(path));
        let binds = binds(settings, folder);
        let libraries = Libraries::read(settings);
        let from = settings.text("from");
        let cwd = settings.text("cwd").map(PathBuf::from);
        if cwd.as_ref().is_some_and(|path| !path.is_absolute()) {
            settings.fault("cwd", "is not a whole path", "give the folder as it is seen inside the root, from / on");
        }
        let path = folder.join(path?);
        if path.to_str().is_none() {
            // Programs that clean up in it are given its path, and a command line is text.
            let what = format!("lies at a path that is not UTF-8: '{}'", archive::shown(&path));
            settings.fault("root", what, "move it, or the suite that it is named relative to");
        }
        Some(Self { path, env, image_env, binds, libraries, cwd, from })
    }

    /// The file with the image's variables: the one named, else `<root>.env` beside the root where it is there.
    fn image_env(&self, host: &dyn Host) -> Option<PathBuf> {
        if self.image_env.is_some() {
            return self.image_env.clone();
        }
        let mut name = self.path.file_name()?.to_os_string();
        name.push(".env");
        let beside = self.path.with_file_name(name);
        host.exists(&beside).then_some(beside)
    }

    /// Variables of a program inside: the image's, or a path for programs where there are none. Over them those of the suite.
    ///
    /// # Errors
    /// When the file with the image's variables cannot be read as such.
    pub(super) fn variables(&self, host: &dyn Host) -> Result<BTreeMap<String, String>, Error> {
        let mut image = BTreeMap::new();
        if let Some(path) = self.image_env(host) {
            let text = host.read(&path).map_err(|error| {
                Error::new(Kind::Preflight, format!("cannot read the image's variables '{}'", path.display()))
                    .hint("write them with: docker inspect -f '{{range .Config.Env}}{{println .}}{{end}}' IMAGE")
                    .because(error)
            })?;
            image = variables::image(&text).map_err(|line| {
                Error::new(Kind::Preflight, format!("cannot read '{}' as variables", path.display()))
                    .at(sparkbench_text::error::Place::Line(line as u64))
                    .hint("write each line as NAME=value. Set a variable with a line break in `env` instead")
            })?;
        }
        image.entry("PATH".to_owned()).or_insert_with(|| variables::DEFAULT_PATH.to_owned());
        Ok(variables::merged(&[&image, &self.env]))
    }

    /// Checks its requirements before the first run.
    pub(super) fn ready(&self, host: &dyn Host) -> Vec<Finding> {
        let shown = self.path.display();
        if !host.exists(&self.path) {
            let remedy =
                "make it with debootstrap, or with: docker create IMAGE; docker export CONTAINER | tar -x -C ROOT";
            return vec![Finding::refused("root", format!("'{shown}' does not exist"), remedy)];
        }
        let mut findings = Vec::new();
        if ["usr/bin", "bin"].iter().all(|name| !host.exists(&self.path.join(name))) {
            findings.push(Finding::refused(
                "root",
                format!("'{shown}' has neither /usr/bin nor /bin"),
                "name the folder that holds the root file system itself, not one above it",
            ));
        } else {
            findings.push(Finding::passed("root", format!("'{shown}', {}", release_name(host, &self.path))));
        }
        match self.variables(host) {
            Ok(_) if self.image_env(host).is_none() => findings.push(Finding::passed(
                "image-variables",
                "no file with variables of an image, so the program gets a default PATH and the variables in `env`",
            )),
            Ok(variables) => {
                findings.push(Finding::passed("image-variables", format!("{} variables", variables.len())));
            }
            Err(error) => findings.push(Finding::refused(
                "image-variables",
                error.what.clone(),
                error.hint.unwrap_or_else(|| "correct the file".to_owned()),
            )),
        }
        for bind in self.binds.iter().filter(|bind| !host.exists(&bind.from)) {
            findings.push(Finding::refused(
                "bind",
                format!("'{}' does not exist", archive::shown(&bind.from)),
                "make it, or remove it from `binds`",
            ));
        }
        let found = self.libraries.find(host);
        for file in found.files.iter().filter(|file| self.libraries != Libraries::Auto && !host.exists(&file.from)) {
            findings.push(Finding::refused(
                "driver-libraries",
                format!("'{}' does not exist", file.from.display()),
                "remove it from `driver_libraries`",
            ));
        }
        findings.push(Finding::passed("driver-libraries", format!("{} files: {}", found.files.len(), found.source)));
        findings
    }

    /// Files of the driver that exist now.
    pub(super) fn driver_files(&self, host: &dyn Host) -> Vec<File> {
        self.libraries.find(host).files.into_iter().filter(|file| host.exists(&file.from)).collect()
    }

    /// Where the driver, the suite's binds and the run's own folder are mounted inside.
    pub(super) fn mount_points(&self, host: &dyn Host) -> Vec<PathBuf> {
        let files = self.driver_files(host).into_iter().map(|file| file.at);
        files.chain(self.binds.iter().map(|bind| bind.at.clone())).chain([PathBuf::from(WORK_INSIDE)]).collect()
    }

    /// Its contents.
    pub(super) fn describe(&self, host: &dyn Host) -> Result<Value, Error> {
        let found = self.libraries.find(host);
        let contents = Contents::of(host, &self.path);
        let hash = contents.hash();
        Ok(json!({
            "root": self.path.display().to_string(),
            "from": self.from,
            "release": contents.release,
            "contents_sha256": hash,
            // A list and not a table: a package's name is no secret, even that of `base-passwd`.
            "packages": contents.packages.map(|all| all.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>()),
            "python_packages": contents.python,
            "variables": self.variables(host)?,
            "env": self.env,
            "image_env": self.image_env(host).map(|path| archive::shown(&path)),
            "binds": self.binds.iter().map(shown).collect::<Vec<_>>(),
            "driver_libraries": {
                "source": found.source,
                "files": found.files.iter().map(|file| file.at.display().to_string()).collect::<Vec<_>>(),
            },
            "cwd": self.cwd.as_ref().map(|path| path.display().to_string()),
        }))
    }

    /// Its packages now against those at the start of the campaign.
    pub(super) fn check(&self, host: &dyn Host, at_start: Option<&str>) -> CheckWire {
        let now = Contents::of(host, &self.path).hash();
        checks::equal(checks::ROOT, at_start, Some(&now), "hash of release, packages and Python packages of the root")
    }
}

fn release_name(host: &dyn Host, root: &Path) -> String {
    let name = contents::release(host, root).remove("PRETTY_NAME");
    name.unwrap_or_else(|| "a root without os-release".to_owned())
}

fn shown(bind: &Bind) -> String {
    let end = if bind.read_only { ":ro" } else { "" };
    format!("{}:{}{end}", archive::shown(&bind.from), bind.at.display())
}

/// Takes `binds`: `FROM:AT` or `FROM:AT:ro`.
fn binds(settings: &mut Reader<'_>, folder: &Path) -> Vec<Bind> {
    let mut binds = Vec::new();
    for text in settings.texts("binds") {
        match bind(&text, folder) {
            Some(bind) => binds.push(bind),
            None => settings.fault(
                "binds",
                format!("holds \"{text}\""),
                "write FROM:AT or FROM:AT:ro, with AT from / on and without further colons",
            ),
        }
    }
    binds
}

fn bind(text: &str, folder: &Path) -> Option<Bind> {
    let parts: Vec<&str> = text.split(':').collect();
    let (from, at, read_only) = match parts.as_slice() {
        [from, at] | [from, at, "rw"] => (from, at, false),
        [from, at, "ro"] => (from, at, true),
        _ => return None,
    };
    let lawful = !from.is_empty() && at.starts_with('/') && *at != "/" && !at.split('/').any(|part| part == "..");
    lawful.then(|| Bind { from: folder.join(from), at: PathBuf::from(at), read_only })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bind_is_a_pair_of_paths() {
        let folder = Path::new("/suites");
        let some = |from: &str, at: &str, read_only| Some(Bind { from: from.into(), at: at.into(), read_only });
        for (text, expected) in [
            ("/models:/models:ro", some("/models", "/models", true)),
            ("data:/data", some("/suites/data", "/data", false)),
            ("/a:/b:rw", some("/a", "/b", false)),
            ("/a", None),
            ("/a:b", None),
            (":/b", None),
            ("/a:/", None),
            ("/a:/../b", None),
            ("/a:/b:r", None),
            ("/a:/b:ro:x", None),
        ] {
            assert_eq!(bind(text, folder), expected, "{text}");
        }
    }
}
