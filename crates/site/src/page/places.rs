//! Where a figure was read: the files of each run, the lines that its figures name, and the address of each on the page of the run.
//!
//! In:  the raw files and the runs.  Out: [`Places`], asked by every page that shows a figure.
//! Not here: how a line is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sparkbench_model::{Origin, RawRow, RawText};
use sparkbench_verdict::report::RunReport;

/// A figure that was read from a row.
#[derive(Debug, Clone, Copy)]
pub struct Cite<'a> {
    /// Contract name.
    pub metric: &'a str,
    /// Rule that read it.
    pub rule: &'static str,
}

/// A file of a run, with what the run took from it.
#[derive(Debug)]
pub struct RunFile<'a> {
    /// As in [`sparkbench_model::Source::path`].
    pub path: &'a str,
    /// Absent where the file was not read for the pages.
    pub text: Option<&'a RawText>,
    /// Figures by the row they were read from.
    pub cites: BTreeMap<u64, Vec<Cite<'a>>>,
}

impl RunFile<'_> {
    /// The rows that figures were read from, and those around them, in their order.
    pub fn rows(&self) -> impl Iterator<Item = &RawRow> {
        let near = |n: &u64| n.saturating_sub(RawText::AROUND)..=n.saturating_add(RawText::AROUND);
        let shown: BTreeSet<u64> = self.cites.keys().flat_map(near).collect();
        let rows = self.text.map_or(&[][..], |text| &text.rows);
        rows.iter().filter(move |row| shown.contains(&row.number))
    }
}

/// Every raw file, by run.
#[derive(Debug, Default)]
pub struct Places<'a> {
    texts: BTreeMap<&'a str, &'a RawText>,
    runs: BTreeMap<&'a str, Vec<RunFile<'a>>>,
}

impl<'a> Places<'a> {
    /// Finds what each run took from which file.
    pub fn new(texts: &'a [Arc<RawText>], runs: &'a [RunReport]) -> Self {
        let texts: BTreeMap<&str, &RawText> = texts.iter().map(|text| (text.file.as_str(), &**text)).collect();
        let runs = runs.iter().map(|run| (run.id.as_str(), files(&texts, run))).collect();
        Self { texts, runs }
    }

    /// Files of a run in the order of its page: the run's own, then others that its figures were read from.
    pub fn of(&self, run: &str) -> &[RunFile<'a>] {
        self.runs.get(run).map_or(&[], Vec::as_slice)
    }

    /// Texts that were read for the page of a run, those of logs beside its files included.
    pub fn texts(&self, run: &str) -> impl Iterator<Item = &'a RawText> {
        let files = self.of(run);
        let own = move |text: &&RawText| text.run == run || files.iter().any(|file| file.path == text.file);
        self.texts.values().copied().filter(own)
    }

    /// The anchor, on the page of a run, of the row that a figure was read from. That of the file where no row is known.
    pub fn anchor(&self, run: &str, origin: &Origin) -> Option<String> {
        let (at, file) = self.of(run).iter().enumerate().find(|(_, file)| file.path == origin.file)?;
        let row = file.text.and_then(|text| text.row_of(origin)).filter(|row| file.cites.contains_key(&row.number));
        Some(row.map_or_else(|| of_file(at), |row| of_row(at, row.number)))
    }
}

/// The anchor of a file on the page of its run.
pub(super) fn of_file(at: usize) -> String {
    format!("file-{at}")
}

/// The anchor of a row of a file on the page of its run.
pub(super) fn of_row(at: usize, number: u64) -> String {
    format!("file-{at}-L{number}")
}

fn files<'a>(texts: &BTreeMap<&str, &'a RawText>, run: &'a RunReport) -> Vec<RunFile<'a>> {
    let mut files: Vec<RunFile<'a>> = Vec::new();
    let own = std::iter::once(&run.source).chain(&run.files).map(|file| file.path.as_str());
    for path in own.chain(run.origins.values().map(|origin| origin.file.as_str())) {
        if files.iter().all(|file| file.path != path) {
            files.push(RunFile { path, text: texts.get(path).copied(), cites: BTreeMap::new() });
        }
    }
    for (metric, origin) in &run.origins {
        let Some(file) = files.iter_mut().find(|file| file.path == origin.file) else { continue };
        if let Some(row) = file.text.and_then(|text| text.row_of(origin)) {
            file.cites.entry(row.number).or_default().push(Cite { metric, rule: origin.rule });
        }
    }
    files
}
