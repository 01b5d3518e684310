//! Hashes that were recorded beside files, held against the files as they were read.
//!
//! In:  discovered files, and the hash of each as its reader took it.  Out: [`Recorded`]: files that are not what was recorded of them.
//! Not here: what a file means, verifying an archive to its last byte (see `verify`).
//!
//! A hash counts where it stands: the journal and the seal of an archive, `run.json` of a run, a list such as `SHA256SUMS`, and
//! `NAME.sha256` beside `NAME`. Where none stands nothing is compared. No file is read twice: what the analysis has read it has hashed on
//! the way. The rest of a run, hidden files say, is read here. What lies aside of the runs of an archive is analysed by nobody, so only its
//! presence is looked at.

mod above;
mod list;
mod owners;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use self::above::{Above, root_of, run_of};
use self::owners::Owners;
use super::discover::{Discovery, Found, WRITTEN_FILES};
use super::disk;
use super::manifest::{CAMPAIGN_FILE, JOURNAL_FILE, RUN_FILE, RUNS_FOLDER, SEAL_FILE};
use super::name::FileName;
use super::verify::{self, Kind, Mismatch, Remedy};
use sparkbench_model::{Alteration, Altered};

/// Largest list of hashes that is read: some hundred thousand files.
const LIST_MOST: u64 = 16 << 20;

/// What the recorded hashes show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Files that are not what was recorded of them, by path, each once.
    pub altered: Vec<Altered>,
    /// Paths of files, as the analysis spells them, whose bytes are those that were recorded.
    pub held: BTreeSet<String>,
}

/// Holds every discovered file against the hashes that stand beside it. `sum` gives the hash of a file by its number, where it was read to
/// its end.
pub fn check_recorded<'s>(found: &Discovery, sum: &dyn Fn(usize) -> Option<&'s str>) -> Recorded {
    let mut check = Check {
        found,
        sum,
        by_disk: found.files.iter().enumerate().map(|(number, file)| (file.disk.as_path(), number)).collect(),
        own: Owners::of(found),
        recorded: Recorded::default(),
    };
    check.archives_and_runs();
    check.lists();
    check.above();
    check.recorded.settled()
}

struct Check<'f, 's> {
    found: &'f Discovery,
    sum: &'f dyn Fn(usize) -> Option<&'s str>,
    by_disk: HashMap<&'f Path, usize>,
    own: Owners,
    recorded: Recorded,
}

impl Check<'_, '_> {
    /// Every archive and every run by itself, against its own records.
    fn archives_and_runs(&mut self) {
        let mut known: BTreeMap<&str, BTreeMap<FileName, String>> = BTreeMap::new();
        for (number, file) in self.found.files.iter().enumerate().filter(|(_, file)| !file.alone) {
            if let (Some((folder, owner)), Some(sum)) = (self.own.owner(file.folder()), (self.sum)(number)) {
                let name = FileName::below(&owner.disk, &file.disk);
                known.entry(folder).or_default().insert(name, sum.to_owned());
            }
        }
        for (folder, owner) in &self.own.folders {
            let sums = known.remove(folder.as_str()).unwrap_or_default();
            if owner.is_archive {
                self.recorded.archive(folder, &owner.disk, sums);
            } else {
                self.recorded.run(folder, &owner.disk, sums);
            }
        }
    }

    /// Every list of hashes that somebody put beside files. A list inside an archive or a run of ours came from a program. The collector may
    /// have kept less than it lists, and masked the rest.
    fn lists(&mut self) {
        for file in self.found.files.iter().filter(|file| !file.alone && list::is_list(last(&file.path))) {
            if self.own.owner(file.folder()).is_none() {
                let folder = parent(&file.disk);
                for (name, expected) in list::read(&file.disk, LIST_MOST, &folder) {
                    self.listed(file, &folder, &name, &expected);
                }
            }
        }
        // A file that was given by itself has its lists beside it.
        for (number, file) in self.found.files.iter().enumerate().filter(|(_, file)| file.alone) {
            let folder = parent(&file.disk);
            let Some(name) = file.disk.file_name() else { continue };
            let beside = fs::read_dir(&folder).into_iter().flatten().flatten().filter(|entry| {
                list::is_list(&entry.file_name().to_string_lossy())
                    && entry.file_type().is_ok_and(|kind| kind.is_file())
            });
            for entry in beside {
                for (listed, expected) in list::read(&entry.path(), LIST_MOST, &folder) {
                    if listed.as_os_str() == name && entry.file_name() != name {
                        let record = entry.file_name().to_string_lossy().into_owned();
                        self.compare(number, &expected, &record);
                    }
                }
            }
        }
    }

    /// One entry of a list.
    fn listed(&mut self, list: &Found, folder: &Path, name: &Path, expected: &str) {
        let disk = folder.join(name);
        // The shell makes a list before the program that fills it hashes the folder. No list can hold its own hash.
        if disk == list.disk {
            return;
        }
        if let Some(number) = self.by_disk.get(disk.as_path()).copied() {
            return self.compare(number, expected, &list.path);
        }
        let path = join(list.folder(), &FileName::below(folder, &disk).to_string());
        match fs::symlink_metadata(&disk) {
            // Links, pipes and folders have no bytes that were read.
            Ok(meta) if !meta.is_file() => {}
            Ok(_) => match disk::sha256_of(&disk) {
                Ok((sum, _)) if sum == expected => {
                    self.recorded.held.insert(path);
                }
                Ok((sum, _)) => {
                    self.recorded.push(path, Alteration::Changed, unlike(expected, &sum), &list.path, list.folder())
                }
                Err(cause) => {
                    self.recorded.push(path, Alteration::Unreadable, cause.to_string(), &list.path, list.folder());
                }
            },
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
                let what = format!("'{}' lists it", list.path);
                self.recorded.push(path, Alteration::Missing, what, &list.path, list.folder());
            }
            Err(_) => {}
        }
    }

    /// A discovered file against a hash.
    fn compare(&mut self, number: usize, expected: &str, record: &str) {
        let Some(file) = self.found.files.get(number) else { return };
        let read = (self.sum)(number).map(str::to_owned);
        // A file that is too large for its format was not read to its end.
        let Some(sum) = read.or_else(|| disk::sha256_of(&file.disk).ok().map(|(sum, _)| sum)) else { return };
        if sum == expected {
            self.recorded.held.insert(file.path.clone());
        } else {
            self.recorded.push(file.path.clone(), Alteration::Changed, unlike(expected, &sum), record, file.folder());
        }
    }

    /// Files of which the record lies above the folder that was given: one run of an archive, or one file of a run.
    fn above(&mut self) {
        let mut records: BTreeMap<PathBuf, Above> = BTreeMap::new();
        for (number, file) in self.found.files.iter().enumerate() {
            let in_archive = !file.alone && self.own.owner(file.folder()).is_some_and(|(_, owner)| owner.is_archive);
            if in_archive {
                continue;
            }
            let Some(root) = root_of(file) else { continue };
            let above = records.entry(root.clone()).or_insert_with(|| Above::of(&root, file.alone));
            if let Some((expected, record)) = above.expected(&root, &file.disk) {
                self.compare(number, &expected, &record);
            }
        }
    }
}

/// The bytes of a plain file of limited size. A pipe in its place would be waited for.
fn plain(path: &Path, most: u64) -> Option<Vec<u8>> {
    if !fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= most) {
        return None;
    }
    let mut bytes = Vec::new();
    disk::open_plain(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

impl Recorded {
    /// A whole archive. Runs that its journal does not list, or no longer, are held against their own record at least.
    fn archive(&mut self, folder: &str, disk: &Path, known: BTreeMap<FileName, String>) {
        if let Some((odd, what)) = odd_records(disk).into_iter().next() {
            let what = format!("it is {what}, but only a plain file belongs here");
            return self.push(join(folder, &odd), Alteration::Changed, what, &join(folder, JOURNAL_FILE), folder);
        }
        let runs = runs_in(&known);
        let verified = match verify::with_sums(disk, known.clone()) {
            Ok(verified) => verified,
            Err(error) => {
                let path = join(folder, RUNS_FOLDER);
                return self.push(path, Alteration::Unreadable, error.in_short(), &join(folder, JOURNAL_FILE), folder);
            }
        };
        // Without a whole journal nothing says which files belong there.
        let is_blind = verified.flaws.iter().any(|flaw| {
            flaw.path == JOURNAL_FILE && matches!(flaw.kind, Kind::Changed | Kind::Missing | Kind::Unreadable)
        });
        let extra: BTreeSet<&str> =
            verified.flaws.iter().filter(|flaw| flaw.kind == Kind::Extra).map(|flaw| flaw.path.as_str()).collect();
        for flaw in &verified.flaws {
            let inside = ancestors(&flaw.path).any(|at| at != flaw.path && extra.contains(at));
            let is_extra = flaw.kind == Kind::Extra;
            // What a collector had not finished when it was killed has a hidden name. Nobody analyses it.
            let unfinished = flaw.remedy == Remedy::Resume && flaw.path.split('/').any(|part| part.starts_with('.'));
            // Words of a person on the archive, which the analysis takes from there.
            let written = is_extra && WRITTEN_FILES.contains(&flaw.path.as_str());
            if unfinished || written || (is_extra && (inside || is_blind)) {
                continue;
            }
            self.flaw(folder, flaw, JOURNAL_FILE);
        }
        for run in runs {
            let path = format!("{RUNS_FOLDER}/{run}");
            if is_blind || extra.contains(path.as_str()) {
                let start = format!("{path}/");
                let below = known.iter().filter_map(|(name, sum)| {
                    let rest = name.as_bytes().strip_prefix(start.as_bytes())?;
                    Some((FileName::new(rest), sum.clone()))
                });
                self.run(&join(folder, &path), &disk.join(&path), below.collect());
            }
        }
        let altered: BTreeSet<String> = self.altered.iter().map(|altered| altered.path.clone()).collect();
        self.held
            .extend(known.keys().map(|name| join(folder, &name.to_string())).filter(|path| !altered.contains(path)));
    }

    /// The folder of one run against its `run.json`.
    fn run(&mut self, folder: &str, disk: &Path, known: BTreeMap<FileName, String>) {
        let Some(run) = run_of(disk).filter(|run| !run.files.is_empty()) else { return };
        let listed: Vec<FileName> = run.files.iter().map(|file| FileName::from(&file.path)).collect();
        match verify::run_with_sums(disk, &run, known) {
            Ok(flaws) => {
                flaws.iter().for_each(|flaw| self.flaw(folder, flaw, RUN_FILE));
                let altered: BTreeSet<String> = self.altered.iter().map(|altered| altered.path.clone()).collect();
                let paths = listed.iter().map(|name| join(folder, &name.to_string()));
                self.held.extend(paths.filter(|path| !altered.contains(path)));
            }
            Err(error) => {
                let path = join(folder, RUN_FILE);
                self.push(path.clone(), Alteration::Unreadable, error.in_short(), &path, folder);
            }
        }
    }

    fn flaw(&mut self, folder: &str, flaw: &Mismatch, record: &str) {
        let kind = match flaw.kind {
            Kind::Changed | Kind::Differs => Alteration::Changed,
            Kind::Missing => Alteration::Missing,
            Kind::Extra => Alteration::Added,
            Kind::Unreadable => Alteration::Unreadable,
            Kind::Contradiction => Alteration::Contradiction,
        };
        let path = join(folder, &flaw.path);
        // The journal holds the record of a run, and that holds the other files of the run.
        let of_run = match flaw.path.split('/').collect::<Vec<_>>().as_slice() {
            [RUNS_FOLDER, id, rest @ ..] if record == JOURNAL_FILE && !matches!(rest, [] | [RUN_FILE]) => {
                Some(format!("{RUNS_FOLDER}/{id}/{RUN_FILE}"))
            }
            _ => None,
        };
        let record = of_run.as_deref().unwrap_or(record);
        self.push(path, kind, flaw.what.clone(), &join(folder, record), folder);
        if let Some(altered) = self.altered.last_mut().filter(|_| flaw.remedy == Remedy::Resume) {
            altered.is_error = false;
            altered.remedy = "continue the campaign with 'sparkbench collect --resume'".to_owned();
        }
    }

    fn push(&mut self, path: String, kind: Alteration, what: String, record: &str, within: &str) {
        let remedy = match (kind, last(record)) {
            (Alteration::Added, _) => "move it out of the archive".to_owned(),
            // Nobody corrects a record of ours.
            (_, JOURNAL_FILE | RUN_FILE) => {
                "restore it from a copy. 'sparkbench verify' lists everything that differs".to_owned()
            }
            _ => format!("restore it from a copy, or correct '{record}' if the change was meant"),
        };
        let (record, within) = (record.to_owned(), within.to_owned());
        self.altered.push(Altered { path, kind, what, record, remedy, is_error: true, within });
    }

    /// Each path once. A file that two records contradict is told with what both say.
    fn settled(mut self) -> Self {
        let mut by_path: BTreeMap<String, Altered> = BTreeMap::new();
        for altered in std::mem::take(&mut self.altered) {
            match by_path.get_mut(&altered.path) {
                Some(known) => {
                    if !known.what.contains(&altered.what) {
                        known.what = format!("{}, {}", known.what, altered.what);
                    }
                    known.is_error |= altered.is_error;
                }
                None => {
                    by_path.insert(altered.path.clone(), altered);
                }
            }
        }
        self.held.retain(|path| !by_path.contains_key(path));
        self.altered = by_path.into_values().collect();
        self
    }
}

/// Records of an archive that are no plain files, such as a link or a pipe: the path below it, and what it is. None is opened. Those of the
/// archive come first, then those of its runs by name.
pub fn odd_records(folder: &Path) -> Vec<(String, &'static str)> {
    let odd = |path: &Path| fs::symlink_metadata(path).ok().and_then(|meta| disk::not_plain(meta.file_type()));
    let of_archive = [CAMPAIGN_FILE, JOURNAL_FILE, SEAL_FILE].into_iter();
    let mut found: Vec<(String, &'static str)> =
        of_archive.filter_map(|name| Some((name.to_owned(), odd(&folder.join(name))?))).collect();
    let runs = fs::read_dir(folder.join(RUNS_FOLDER)).into_iter().flatten().flatten();
    let of_run = |run: fs::DirEntry| {
        let name = FileName::new(run.file_name().as_encoded_bytes());
        Some((format!("{RUNS_FOLDER}/{name}/{RUN_FILE}"), odd(&run.path().join(RUN_FILE))?))
    };
    let mut of_runs: Vec<(String, &'static str)> = runs.filter_map(of_run).collect();
    of_runs.sort_unstable();
    found.extend(of_runs);
    found
}

/// Names of the runs of an archive of which files were read.
fn runs_in(known: &BTreeMap<FileName, String>) -> BTreeSet<String> {
    let run = |name: &FileName| {
        let mut parts = name.text()?.split('/');
        (parts.next()? == RUNS_FOLDER).then_some(())?;
        let run = parts.next()?;
        parts.next().map(|_| run.to_owned())
    };
    known.keys().filter_map(run).collect()
}

/// The folder of a file. Of a bare name it is the present one.
fn parent(disk: &Path) -> PathBuf {
    match disk.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn unlike(expected: &str, found: &str) -> String {
    format!("expected SHA-256 {expected}, found {found}")
}

fn last(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn join(folder: &str, rest: &str) -> String {
    if folder.is_empty() { rest.to_owned() } else { format!("{folder}/{rest}") }
}

/// A path and everything above it, the topmost (empty) first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let cuts = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    std::iter::once("").chain(cuts.filter(|at| *at > 0).filter_map(|at| path.get(..at)))
}
