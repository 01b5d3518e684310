//! Walks the folders that were given and lists every file once, in a fixed order.
//!
//! In:  paths.  Out: [`Discovery`]: files by path below their root, and what could not be examined, with the reason.
//! Not here: what a file holds, apart from the marker of a site of this program.
//!
//! Links below a root are not followed, so loops cannot trap the walk and nothing outside the root is read. A root that is itself
//! a link is taken at its word.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use walkdir::{DirEntry, WalkDir};

use super::disk::open_plain;
use super::manifest::{CAMPAIGN_FILE, INTERRUPTED_FOLDER, PREPARED_FOLDER, PROBES_FOLDER, RUN_FILE};
use super::name::{FileName, shown};
use sparkbench_text::error::Error;
use sparkbench_text::escape::spelled;

/// Bytes of `data/analysis.json` that are read to tell a site of this program from a folder of that name.
const MARKER_BYTES: u64 = 256;

/// Why a pipe, a socket or a device is not read.
const NOT_REGULAR: &str = "not a regular file";

/// Files in which a person says what the results beside them mean. One that cannot be read ends an analysis.
pub(super) const WRITTEN_FILES: [&str; 2] = ["labels.toml", "metrics.toml"];

/// Names of folders of packages and caches.
const OF_PROGRAMS: [&str; 5] = ["__pycache__", "node_modules", "site-packages", "dist-packages", "__MACOSX"];
/// What lies in a virtual environment, in one of conda, and in a cache that says so.
const SIGNS_OF_PROGRAMS: [&str; 3] = ["pyvenv.cfg", "conda-meta", "CACHEDIR.TAG"];

/// Findings below the given paths.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    /// Regular files, by path. Paths are unique.
    pub files: Vec<Found>,
    /// Unreadable paths.
    pub unread: Vec<Unread>,
    /// Folders in which programs keep what is theirs, and no result can be. As people see them, with `/` at the end.
    pub passed_over: Vec<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Below the folder that was given, with `/`, never absolute. Starts with the root's name where several were given. As people see it:
    /// bytes that are no text and control characters are `\xNN`, and a number follows where two names in one folder look alike.
    pub path: String,
    /// That path with the bytes that are on disk. No two files have the same.
    pub name: FileName,
    /// Name of the folder that was given, for files that lie directly in it.
    pub root: String,
    /// Folder part of `path` that stands for the root: empty, or the root's name where several were given.
    pub base: String,
    /// Size in bytes at the time of the walk.
    pub bytes: u64,
    /// When it was last written to, where the disk says so. Tells whether it has to be read again, and is shown nowhere.
    pub modified: Option<SystemTime>,
    /// Where it is on this machine. Never shown.
    pub disk: PathBuf,
    /// True where the file itself was given, so that nothing beside it was looked for.
    pub alone: bool,
}

/// Something the walk met and did not open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Like [`Found::path`].
    pub path: String,
    /// Why.
    pub reason: String,
    /// Where it is on this machine. Never shown.
    pub disk: PathBuf,
}

impl Discovery {
    /// The file at a path as the analysis spells it.
    pub fn get(&self, path: &str) -> Option<&Found> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().and_then(|at| self.files.get(at))
    }
}

impl Found {
    /// Opens it for reading.
    ///
    /// # Errors
    /// When it cannot be opened, or is no plain file any more.
    pub fn open(&self) -> std::io::Result<File> {
        open_plain(&self.disk)
    }

    /// Folder part of the path, without the closing `/`. Empty for files directly below a single root.
    pub fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// Lists the files below `paths`, each of which may be a folder or a file.
///
/// Passes over hidden entries and folders that hold a site of this program. Also passes over the parts of a campaign that hold no
/// measurements (interrupted runs, probes, prepared files), and over virtual environments, packages and caches.
///
/// # Errors
/// When a path does not exist, or when all of them are empty.
pub fn discover(paths: &[PathBuf]) -> Result<Discovery, Error> {
    let mut found = Discovery::default();
    let mut bases = BTreeSet::new();
    for path in paths {
        let root = name_of(path);
        let base = if paths.len() > 1 { unique(&root, &mut bases) } else { String::new() };
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() => found.files.push(Found {
                path: join(&base, &clean(path.file_name().unwrap_or_else(|| OsStr::new("input")))),
                name: FileName::new(path.file_name().unwrap_or_default().as_encoded_bytes()).inside(&base),
                root: path.canonicalize().ok().as_deref().and_then(Path::parent).map_or_else(|| root.clone(), name_of),
                base,
                bytes: meta.len(),
                modified: meta.modified().ok(),
                disk: path.clone(),
                alone: true,
            }),
            Ok(meta) if meta.is_dir() => walk(path, &root, &base, &mut found),
            // A pipe would be waited for, and a device can be endless.
            Ok(_) => found.unread.push(Unread {
                path: join(&base, &root),
                reason: NOT_REGULAR.to_owned(),
                disk: path.clone(),
            }),
            Err(cause) => {
                return Err(Error::archive(format!("cannot open '{}'", shown(path)))
                    .hint("give a folder with results, or one result file")
                    .because(cause));
            }
        }
    }
    distinguish(&mut found.files);
    found.unread.sort_by(|a, b| a.path.cmp(&b.path));
    if found.files.is_empty() {
        return Err(nothing(paths, &found));
    }
    Ok(found)
}

/// The sentence for an empty input.
fn nothing(paths: &[PathBuf], found: &Discovery) -> Error {
    let named: Vec<String> = paths.iter().map(|path| format!("'{}'", shown(path))).collect();
    let error = Error::archive(format!("nothing to read in {}", named.join(", "))).hint(
        "give a folder with a table (runs.csv), a campaign (campaign.json and runs/), or result files of a benchmark \
         (see docs/archive.md)",
    );
    match (found.unread.first(), found.passed_over.first()) {
        (Some(first), _) => error.detail(format!("{}: {}", first.path, first.reason)),
        (None, Some(first)) => error.detail(format!("{first} holds packages or a cache and is passed over")),
        (None, None) => error,
    }
}

fn walk(path: &Path, root: &str, base: &str, found: &mut Discovery) {
    let walker = WalkDir::new(path).follow_links(false).follow_root_links(true).sort_by_file_name();
    let mut of_programs = Vec::new();
    let wanted = |entry: &DirEntry| {
        if entry.depth() == 0 {
            return true;
        }
        if is_hidden(entry.file_name()) || is_site(entry) || is_aside(entry) {
            return false;
        }
        let is_clutter = is_of_programs(entry);
        if is_clutter {
            of_programs.push(format!("{}/", join(base, &below(entry.path(), path))));
        }
        !is_clutter
    };
    for entry in walker.into_iter().filter_entry(wanted) {
        match entry {
            Ok(entry) => {
                let kind = entry.file_type();
                // The root itself shows as a link when it is one.
                if entry.depth() == 0 {
                    continue;
                }
                if kind.is_dir() {
                    if is_written(entry.path()) {
                        found.unread.push(Unread {
                            path: join(base, &below(entry.path(), path)),
                            reason: "a folder, where a file is expected".to_owned(),
                            disk: entry.into_path(),
                        });
                    }
                    continue;
                }
                let shown = join(base, &below(entry.path(), path));
                if kind.is_file() {
                    match entry.metadata() {
                        Ok(meta) => found.files.push(Found {
                            path: shown,
                            name: FileName::below(path, entry.path()).inside(base),
                            root: root.to_owned(),
                            base: base.to_owned(),
                            bytes: meta.len(),
                            modified: meta.modified().ok(),
                            disk: entry.into_path(),
                            alone: false,
                        }),
                        Err(cause) => found.unread.push(Unread {
                            path: shown,
                            reason: format!("cannot be examined: {cause}"),
                            disk: entry.into_path(),
                        }),
                    }
                } else {
                    let what = if kind.is_symlink() { "a link, and links are not followed" } else { NOT_REGULAR };
                    found.unread.push(Unread { path: shown, reason: what.to_owned(), disk: entry.into_path() });
                }
            }
            Err(cause) => {
                let shown = cause.path().map_or_else(String::new, |at| below(at, path));
                let why = cause.io_error().map_or_else(|| "a loop of folders".to_owned(), ToString::to_string);
                found.unread.push(Unread {
                    path: join(base, &shown),
                    reason: format!("cannot be opened: {why}"),
                    disk: cause.path().unwrap_or(path).to_owned(),
                });
            }
        }
    }
    found.passed_over.extend(of_programs);
}

/// Whether a path is that of a file that a person writes about results. In the folder of a run of ours it is whatever a program left.
pub fn is_written(path: &Path) -> bool {
    path.file_name().is_some_and(|name| WRITTEN_FILES.iter().any(|written| name == *written)) && !is_of_run(path)
}

/// Whether a path lies in the folder of a run of ours.
pub fn is_of_run(path: &Path) -> bool {
    path.ancestors().skip(1).any(|folder| folder.join(RUN_FILE).is_file())
}

/// A site of this program below the input: its numbers are derived, and reading them back would count every run twice.
pub(super) fn is_site(entry: &DirEntry) -> bool {
    if !entry.file_type().is_dir() {
        return false;
    }
    let mut head = Vec::new();
    let Ok(file) = open_plain(&entry.path().join("data").join("analysis.json")) else { return false };
    file.take(MARKER_BYTES).read_to_end(&mut head).is_ok()
        && String::from_utf8_lossy(&head).contains("sparkbench.analysis/")
}

/// A virtual environment, packages or a cache. In a run of ours whatever lies there was kept on purpose.
fn is_of_programs(entry: &DirEntry) -> bool {
    entry.file_type().is_dir()
        && (OF_PROGRAMS.iter().any(|name| entry.file_name() == *name)
            || SIGNS_OF_PROGRAMS.iter().any(|sign| entry.path().join(sign).exists()))
        && !is_of_run(entry.path())
}

/// Folders of a campaign that hold no complete run: what was interrupted would count as measured.
fn is_aside(entry: &DirEntry) -> bool {
    let aside = [INTERRUPTED_FOLDER, PROBES_FOLDER, PREPARED_FOLDER].iter().any(|name| entry.file_name() == *name);
    aside
        && entry.file_type().is_dir()
        && entry.path().parent().is_some_and(|folder| folder.join(CAMPAIGN_FILE).is_file())
}

pub(super) fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().first() == Some(&b'.')
}

/// Path of `at` below `root`, with `/`, as people see it.
fn below(at: &Path, root: &Path) -> String {
    FileName::below(root, at).to_string()
}

fn clean(name: &OsStr) -> String {
    spelled(name.as_encoded_bytes())
}

fn join(base: &str, rest: &str) -> String {
    match (base, rest) {
        ("", rest) => rest.to_owned(),
        (base, "") => base.to_owned(),
        (base, rest) => format!("{base}/{rest}"),
    }
}

/// Last component of a path. Of the folder it stands for where it is `.`, `..` or a root.
fn name_of(path: &Path) -> String {
    let named = path.file_name().map(clean).or_else(|| path.canonicalize().ok()?.file_name().map(clean));
    named.unwrap_or_else(|| "input".to_owned())
}

/// Longest part of an ending: `parquet`.
const LONGEST_ENDING: usize = 7;

/// A name that nobody has taken: with a number before its ending, such as `.json.gz`. What `v1.2` ends in is none.
fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let is_ending = |part: &str| part.len() <= LONGEST_ENDING && part.starts_with(|c: char| c.is_ascii_alphabetic());
    let dots = name.rmatch_indices('.').map(|(at, _)| at).filter(|at| *at > 0);
    let at = dots.take_while(|at| name[at + 1..].split('.').all(is_ending)).last().unwrap_or(name.len());
    let (stem, ending) = name.split_at(at);
    let mut candidate = name.to_owned();
    let mut count = 2u32;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{stem}-{count}{ending}");
        count += 1;
    }
    candidate
}

/// Two names in one folder that look alike get a number: a byte that is `\xF6` to people, and a name with these four letters. So a path names
/// one file, and two folders are never taken for one campaign.
fn distinguish(files: &mut [Found]) {
    // What looks like itself everywhere cannot look like anything else.
    if files.iter().any(|file| file.path.as_bytes() != file.name.as_bytes()) {
        let names = Names::of(files);
        files.iter_mut().for_each(|file| file.path = names.path(file.name.as_bytes()));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
}

/// Names as people see them, by folder: its path in bytes, then the name in bytes.
struct Names(BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, String>>);

impl Names {
    fn of(files: &[Found]) -> Self {
        let mut folders: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, String>> = BTreeMap::new();
        for (folder, name) in files.iter().flat_map(|file| parts(file.name.as_bytes())) {
            folders.entry(folder.to_vec()).or_default().entry(name.to_vec()).or_insert_with(|| spelled(name));
        }
        for names in folders.values_mut() {
            let mut taken: BTreeSet<String> = names.values().cloned().collect();
            let mut seen = BTreeSet::new();
            // The first of those that look alike keeps its name. No other one gets a name that stands for something else.
            for name in names.values_mut().filter(|name| !seen.insert((*name).clone())) {
                *name = unique(name, &mut taken);
            }
        }
        Self(folders)
    }

    fn path(&self, name: &[u8]) -> String {
        let names: Vec<&str> =
            parts(name).filter_map(|(folder, name)| Some(self.0.get(folder)?.get(name)?.as_str())).collect();
        names.join("/")
    }
}

/// Every name on the way to a file, after the folder that it is in.
fn parts(path: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut start = 0;
    path.split(|byte| *byte == b'/').map(move |name| {
        let folder = path.get(..start).unwrap_or_default();
        start += name.len() + 1;
        (folder, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_testing::Folder;

    /// Issue 32: a virtual environment below the folder gave 800 lines.
    #[test]
    fn environments_packages_and_caches_are_passed_over_and_named() {
        let folder = Folder::new("discover-of-programs");
        for path in [
            "results/a.json",
            "py/pyvenv.cfg",
            "py/lib/notes.txt",
            "node_modules/x/package.json",
            "deep/__pycache__/a.pyc",
            "cache/CACHEDIR.TAG",
            "cache/b.json",
            ".git/config",
            // What a run of ours kept is its own.
            "runs/r1/run.json",
            "runs/r1/__pycache__/kept.json",
        ] {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "{}").unwrap();
        }
        let found = discover(&[folder.to_path_buf()]).unwrap();
        let files: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(files, ["results/a.json", "runs/r1/__pycache__/kept.json", "runs/r1/run.json"]);
        assert_eq!(found.passed_over, ["cache/", "deep/__pycache__/", "node_modules/", "py/"]);
        // Whoever names such a folder means it.
        assert_eq!(discover(&[folder.join("py")]).unwrap().files.len(), 2);
    }
}
