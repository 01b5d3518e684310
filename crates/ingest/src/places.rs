//! Which files of our own archive are read, and by whom.
//!
//! In:  discovered files, and the `run.json` among them.  Out: [`Places`]: the run and the reader of each file.
//! Not here: reading them.
//!
//! A program may leave any file in its folder, among them some that look like a result, a table or a campaign. A `run.json` with
//! the key `reports` therefore says which files below its folder are read, and by which parser. The others are kept. A `run.json`
//! without that key, as an earlier version or a person writes it, leaves it to the look of each file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use serde::Deserialize;

use sparkbench_archive::manifest::{NODES_FOLDER, REQUESTS_FILE, RUN_FILE, ReportWire, TELEMETRY_FILE};
use sparkbench_archive::{Discovery, FileName, Found, WHOLE_LIMIT};

/// Remark on a file of a run that `run.json` does not name.
const LEFT_BY_RUN: &str = "raw output of a run, kept and not analysed";

/// Ends the name of a file packed by gzip.
const PACKED: &str = ".gz";

/// Name of the summary that a load leaves beside its requests.
const SUMMARY_FILE: &str = "summary.json";

/// Who reads a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ReadBy {
    /// The format that recognised it.
    Sniffed,
    /// The format of `run.json`. These reports of it are not there.
    Run(Vec<String>),
    /// The parser that its run names.
    Named(ReportWire),
    /// The summary of a load whose requests are beside it. The test of these requests. Only what they cannot say is taken.
    Summary(Option<String>),
    /// Nobody. With a word on why.
    NotAnalysed(&'static str),
}

/// For each file, by its number: its run and its reader.
#[derive(Debug, Default)]
pub(super) struct Places {
    owners: Vec<Option<String>>,
    readers: Vec<ReadBy>,
}

impl Places {
    /// Folder of the run to which a file belongs, where a `run.json` says so.
    pub(super) fn owner(&self, number: usize) -> Option<&str> {
        self.owners.get(number)?.as_deref()
    }

    /// Who reads the file.
    pub(super) fn reader(&self, number: usize) -> &ReadBy {
        self.readers.get(number).unwrap_or(&ReadBy::Sniffed)
    }
}

/// Looks through every `run.json` once. `reports_of` gives the table of one.
pub(super) fn places(found: &Discovery, mut reports_of: impl FnMut(&Found) -> Option<Vec<ReportWire>>) -> Places {
    let mut tables = Tables::new();
    for file in found.files.iter().filter(|file| file.name.last() == RUN_FILE.as_bytes()) {
        if let Some(reports) = reports_of(file) {
            tables.insert(folder_of(&file.name), (file.folder(), reports));
        }
    }
    let names = found.files.iter().map(|file| file.name.as_bytes()).collect();
    let mut places = Places::default();
    for file in &found.files {
        let (owner, reader) = place(file, &names, &tables);
        places.owners.push(owner);
        places.readers.push(reader);
    }
    places
}

/// Folders of runs by their bytes on disk, because `run.json` names a report by its bytes. Each with its form for people and its reports.
type Tables<'f> = BTreeMap<&'f [u8], (&'f str, Vec<ReportWire>)>;

fn place(file: &Found, names: &BTreeSet<&[u8]>, tables: &Tables<'_>) -> (Option<String>, ReadBy) {
    // The outermost folder decides: what a program wrote below its own cannot speak for the archive.
    for folder in ancestors(folder_of(&file.name)) {
        let Some((shown, reports)) = tables.get(folder) else { continue };
        // A table names reports as text. It names no file whose name is none.
        let inside = std::str::from_utf8(below(folder, file.name.as_bytes())).ok();
        // A suite may have files packed. They are read by the name that they had.
        let inside = inside.map(|inside| inside.strip_suffix(PACKED).unwrap_or(inside));
        let reader = match inside {
            Some(RUN_FILE) => ReadBy::Run(
                reports
                    .iter()
                    .map(|report| report.path.clone())
                    .filter(|path| {
                        let is_there = |ending: &str| names.contains(&*join(folder, &format!("{path}{ending}")));
                        !is_there("") && !is_there(PACKED)
                    })
                    .collect(),
            ),
            Some(REQUESTS_FILE | TELEMETRY_FILE) => ReadBy::Sniffed,
            Some(inside) if is_telemetry_of_a_machine(inside) => ReadBy::Sniffed,
            Some(inside) => match reports.iter().find(|report| report.path == inside) {
                Some(report) => ReadBy::Named(report.clone()),
                None => summary_of(inside, reports).unwrap_or(ReadBy::NotAnalysed(LEFT_BY_RUN)),
            },
            None => ReadBy::NotAnalysed(LEFT_BY_RUN),
        };
        return (Some((*shown).to_owned()), reader);
    }
    (None, ReadBy::Sniffed)
}

/// `nodes/<name>/telemetry.csv`
fn is_telemetry_of_a_machine(inside: &str) -> bool {
    let below = inside.strip_prefix(NODES_FOLDER).and_then(|rest| rest.strip_prefix('/'));
    below.and_then(|rest| rest.split_once('/')).is_some_and(|(_, file)| file == TELEMETRY_FILE)
}

/// Who reads the summary of a load, if the file is one: it is beside the requests that a report names.
fn summary_of(inside: &str, reports: &[ReportWire]) -> Option<ReadBy> {
    let folder = inside.strip_suffix(SUMMARY_FILE)?;
    let report = reports.iter().find(|report| report.path.strip_suffix(REQUESTS_FILE) == Some(folder))?;
    Some(ReadBy::Summary(report.test.clone()))
}

/// Folder part of a name, empty for a file at the top.
fn folder_of(name: &FileName) -> &[u8] {
    let bytes = name.as_bytes();
    bytes.iter().rposition(|byte| *byte == b'/').and_then(|cut| bytes.get(..cut)).unwrap_or_default()
}

/// A folder and everything above it, the topmost (empty) first.
fn ancestors(folder: &[u8]) -> impl Iterator<Item = &[u8]> {
    let cuts = folder.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).chain([folder.len()]);
    std::iter::once(&b""[..]).chain(cuts.filter(|at| *at > 0).filter_map(|at| folder.get(..at)))
}

fn below<'a>(folder: &[u8], path: &'a [u8]) -> &'a [u8] {
    let inside = path.strip_prefix(folder).unwrap_or(path);
    if folder.is_empty() { inside } else { inside.strip_prefix(b"/").unwrap_or(inside) }
}

fn join(folder: &[u8], path: &str) -> Vec<u8> {
    if folder.is_empty() { path.as_bytes().to_vec() } else { [folder, b"/", path.as_bytes()].concat() }
}

/// The table of reports, where the file is a run of ours and has one. Its faults are reported when it is read.
pub(super) fn reports_of(file: &Found) -> Option<Vec<ReportWire>> {
    #[derive(Deserialize)]
    struct Any {
        #[serde(default)]
        schema: String,
        reports: Option<Vec<ReportWire>>,
    }
    let mut bytes = Vec::new();
    file.open().ok()?.take(WHOLE_LIMIT).read_to_end(&mut bytes).ok()?;
    let any: Any = serde_json::from_slice(&bytes).ok()?;
    any.reports.filter(|_| any.schema.starts_with("sparkbench.run/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_load_belongs_to_the_requests_beside_it() {
        let report = |path: &str, test: Option<&str>| ReportWire {
            path: path.to_owned(),
            parser: "requests".to_owned(),
            test: test.map(str::to_owned),
            ..ReportWire::default()
        };
        let reports = [report("requests.jsonl", None), report("loads/c8/requests.jsonl", Some("c8"))];
        assert_eq!(summary_of("summary.json", &reports), Some(ReadBy::Summary(None)));
        assert_eq!(summary_of("loads/c8/summary.json", &reports), Some(ReadBy::Summary(Some("c8".to_owned()))));
        assert_eq!(summary_of("loads/c9/summary.json", &reports), None);
        assert_eq!(summary_of("work/summary.json", &reports), None, "a program's own");
    }

    #[test]
    fn folders_are_asked_from_the_outside_in() {
        let list = |folder: &'static str| {
            ancestors(folder.as_bytes()).map(|at| std::str::from_utf8(at).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(list("a/b/c"), ["", "a", "a/b", "a/b/c"]);
        assert_eq!((list(""), list("a")), (vec![""], vec!["", "a"]));
        assert_eq!((below(b"a/b", b"a/b/c/d"), below(b"", b"x")), (&b"c/d"[..], &b"x"[..]));
        assert_eq!((folder_of(&"a/b/c".into()), folder_of(&"c".into())), (&b"a/b"[..], &b""[..]));
    }

    #[test]
    fn a_report_is_found_by_the_bytes_of_its_name_in_a_folder_of_any_name() {
        let (escape, byte) = ("out\u{1b}.json", FileName::new(*b"r\xff/work/out\x1b.json"));
        let file = |name: FileName| Found {
            path: name.to_string(),
            name,
            root: String::new(),
            base: String::new(),
            bytes: 0,
            modified: None,
            disk: std::path::PathBuf::new(),
            alone: false,
        };
        let mut files = vec![file(byte), file(FileName::new(*b"r\xff/run.json")), file(FileName::new(*b"r\xff/x\xfe"))];
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let found = Discovery { files, ..Discovery::default() };
        let report = |path: String| ReportWire { path, parser: "requests".to_owned(), ..ReportWire::default() };
        let (there, lost) = (report(format!("work/{escape}")), report("work/lost\n".to_owned()));
        let places = places(&found, |_| Some(vec![there.clone(), lost.clone()]));
        let readers: BTreeMap<&str, &ReadBy> =
            found.files.iter().enumerate().map(|(at, file)| (file.path.as_str(), places.reader(at))).collect();
        assert_eq!(readers["r\\xFF/work/out\\x1B.json"], &ReadBy::Named(there));
        assert_eq!(readers["r\\xFF/run.json"], &ReadBy::Run(vec![lost.path]), "only the other one is missing");
        assert_eq!(readers["r\\xFF/x\\xFE"], &ReadBy::NotAnalysed(LEFT_BY_RUN));
        assert_eq!(places.owner(0), Some("r\\xFF"), "a run is told from others by its name for people");
    }
}
