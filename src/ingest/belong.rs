//! Which files of our own archive are read, and by whom.
//!
//! In:  discovered files, and the `run.json` among them.  Out: [`Places`]: the run and the reader of each file.
//! Not here: reading them.
//!
//! A program may leave any file in its folder, among them some that look like a result, a table or a campaign. A `run.json` with
//! the key `reports` therefore says which files below its folder are read, and by which parser. The others are kept. A `run.json`
//! without that key, as an earlier version or a person writes it, leaves it to the look of each file.

use std::collections::BTreeMap;
use std::io::Read as _;

use serde::Deserialize;

use crate::archive::manifest::{NODES_FOLDER, REQUESTS_FILE, RUN_FILE, ReportWire, TELEMETRY_FILE};
use crate::archive::{Discovery, Found, WHOLE_LIMIT};

/// Remark on a file of a run that `run.json` does not name.
const LEFT_BY_RUN: &str = "raw output of a run, kept and not analysed";

/// Ends the name of a file packed by gzip.
const PACKED: &str = ".gz";

/// Name of the summary that a load leaves beside its requests.
const SUMMARY_FILE: &str = "summary.json";

/// Who reads a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reader {
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
    readers: Vec<Reader>,
}

impl Places {
    /// Folder of the run to which a file belongs, where a `run.json` says so.
    pub(super) fn owner(&self, number: usize) -> Option<&str> {
        self.owners.get(number)?.as_deref()
    }

    /// Who reads the file.
    pub(super) fn reader(&self, number: usize) -> &Reader {
        self.readers.get(number).unwrap_or(&Reader::Sniffed)
    }
}

/// Looks through every `run.json` once. `reports_of` gives the table of one.
pub(super) fn places(found: &Discovery, mut reports_of: impl FnMut(&Found) -> Option<Vec<ReportWire>>) -> Places {
    let mut tables: BTreeMap<&str, Vec<ReportWire>> = BTreeMap::new();
    for file in found.files.iter().filter(|file| file.path.rsplit('/').next() == Some(RUN_FILE)) {
        if let Some(reports) = reports_of(file) {
            tables.insert(file.folder(), reports);
        }
    }
    let mut places = Places::default();
    for file in &found.files {
        let (owner, reader) = place(file, found, &tables);
        places.owners.push(owner);
        places.readers.push(reader);
    }
    places
}

fn place(file: &Found, found: &Discovery, tables: &BTreeMap<&str, Vec<ReportWire>>) -> (Option<String>, Reader) {
    // The outermost folder decides: what a program wrote below its own cannot speak for the archive.
    for folder in ancestors(file.folder()) {
        let Some(reports) = tables.get(folder) else { continue };
        let inside = below(folder, &file.path);
        // A suite may have files packed. They are read by the name that they had.
        let inside = inside.strip_suffix(PACKED).unwrap_or(inside);
        let reader = match inside {
            RUN_FILE => Reader::Run(
                reports
                    .iter()
                    .map(|report| report.path.clone())
                    .filter(|path| {
                        let path = join(folder, path);
                        found.get(&path).is_none() && found.get(&format!("{path}{PACKED}")).is_none()
                    })
                    .collect(),
            ),
            REQUESTS_FILE | TELEMETRY_FILE => Reader::Sniffed,
            _ if is_telemetry_of_a_machine(inside) => Reader::Sniffed,
            _ => match reports.iter().find(|report| report.path == inside) {
                Some(report) => Reader::Named(report.clone()),
                None => summary_of(inside, reports).unwrap_or(Reader::NotAnalysed(LEFT_BY_RUN)),
            },
        };
        return (Some(folder.to_owned()), reader);
    }
    (None, Reader::Sniffed)
}

/// `nodes/<name>/telemetry.csv`
fn is_telemetry_of_a_machine(inside: &str) -> bool {
    let below = inside.strip_prefix(NODES_FOLDER).and_then(|rest| rest.strip_prefix('/'));
    below.and_then(|rest| rest.split_once('/')).is_some_and(|(_, file)| file == TELEMETRY_FILE)
}

/// Who reads the summary of a load, if the file is one: it is beside the requests that a report names.
fn summary_of(inside: &str, reports: &[ReportWire]) -> Option<Reader> {
    let folder = inside.strip_suffix(SUMMARY_FILE)?;
    let report = reports.iter().find(|report| report.path.strip_suffix(REQUESTS_FILE) == Some(folder))?;
    Some(Reader::Summary(report.test.clone()))
}

/// A folder and everything above it, the topmost (empty) first.
fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    let cuts = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
    std::iter::once("").chain(cuts.filter(|at| *at > 0).filter_map(|at| folder.get(..at)))
}

fn below<'a>(folder: &str, path: &'a str) -> &'a str {
    if folder.is_empty() { path } else { path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/')) }
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
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
        assert_eq!(summary_of("summary.json", &reports), Some(Reader::Summary(None)));
        assert_eq!(summary_of("loads/c8/summary.json", &reports), Some(Reader::Summary(Some("c8".to_owned()))));
        assert_eq!(summary_of("loads/c9/summary.json", &reports), None);
        assert_eq!(summary_of("work/summary.json", &reports), None, "a program's own");
    }

    #[test]
    fn folders_are_asked_from_the_outside_in() {
        let list = |folder| ancestors(folder).collect::<Vec<_>>();
        assert_eq!(list("a/b/c"), ["", "a", "a/b", "a/b/c"]);
        assert_eq!((list(""), list("a")), (vec![""], vec!["", "a"]));
        assert_eq!((below("a/b", "a/b/c/d"), below("", "x")), ("c/d", "x"));
    }
}
