//! Everything of an archive that its state is read from, taken in one look.
//!
//! In:  a folder, which may be written at the same moment.  Out: [`Parts`].
//! Not here: what follows from them (see `view`).
//!
//! A folder can be renamed between being listed and being read, and a line can end in the middle. Neither is an error: what cannot be
//! read in this look is there in the next.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use sparkbench_archive::journal::{self, Entry, Tail};
use sparkbench_archive::manifest::{
    CAMPAIGN_FILE, CampaignWire, INTERRUPTED_FOLDER, PART, RUNS_FOLDER, SEAL_FILE, TELEMETRY_FILE,
};
use sparkbench_archive::{self as archive, Progress, disk, lock, read_campaign, shown};
use sparkbench_ingest as ingest;
use sparkbench_model::Run;
use sparkbench_text::error::Error;
use sparkbench_verdict::summary;

/// Bytes at the end of a telemetry file that are looked at. A line has a few hundred.
const TAIL_BYTES: u64 = 64 << 10;
/// Bytes at its start that hold the header.
const HEADER_BYTES: u64 = 16 << 10;

/// What one look found.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// `campaign.json`.
    pub campaign: CampaignWire,
    /// Lines of the journal. Absent where the archive has none.
    pub journal: Option<(Vec<Entry>, Tail)>,
    /// Whether a collector holds the archive. Absent where that cannot be told.
    pub held: Option<bool>,
    /// Whether the seal is there.
    pub sealed: bool,
    /// Complete runs with their figures.
    pub runs: Vec<Run>,
    /// Cells of the last line of the running run's telemetry, by column. Empty cells left out.
    pub telemetry: Vec<(String, String)>,
    /// What could not be read, for people.
    pub unread: Vec<String>,
    /// Files of the archive in whose place something else lies: path below it, and what it is.
    pub odd: Vec<(String, &'static str)>,
}

/// Archives that lie in a folder, by name.
fn archives_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join(CAMPAIGN_FILE).is_file()).collect();
    found.sort_unstable();
    found
}

/// Looks at one archive again and again. Runs are read anew only when one was added.
pub(super) struct Gatherer {
    folder: PathBuf,
    known: Option<(BTreeSet<String>, Vec<Run>)>,
}

impl Gatherer {
    /// For an archive of ours.
    ///
    /// # Errors
    /// When the folder is none.
    pub(super) fn new(folder: &Path) -> Result<Self, Error> {
        if !folder.is_dir() {
            return Err(Error::archive(format!("'{}' is not a folder", shown(folder)))
                .hint("give the folder that `sparkbench collect` writes, such as archive/smoke"));
        }
        // A pipe or a link to nothing in its place is told by whoever reads it.
        if folder.join(CAMPAIGN_FILE).symlink_metadata().is_err() {
            let error = Error::archive(format!("'{}' is not the archive of a campaign", shown(folder)))
                .detail(format!("it has no {CAMPAIGN_FILE}"));
            return Err(match archives_in(folder).first() {
                Some(first) => error.hint(format!("give one of the archives in it, such as {}", shown(first))),
                None => error.hint(
                    "give a folder that `sparkbench collect` writes. For folders of other tools, use `sparkbench analyse`",
                ),
            });
        }
        Ok(Self { folder: folder.to_owned(), known: None })
    }

    /// One look.
    ///
    /// # Errors
    /// When `campaign.json` cannot be read: it is written before everything else and never changes.
    pub(super) fn look(&mut self) -> Result<Parts, Error> {
        let campaign = read_campaign(&self.folder)?;
        let mut unread = Vec::new();
        // Whether someone is at work is asked before the journal is read: a collector that ends between the two has then left its last line.
        let held = lock::held(&self.folder);
        let journal = match journal::read(&self.folder) {
            Ok(journal) => Some((journal.entries, journal.tail)),
            // What lies in its place is told as such.
            Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::InvalidData) => None,
            Err(cause) => {
                unread.push(format!("the journal cannot be read: {cause}"));
                None
            }
        };
        let progress = Progress::of(journal.as_ref().map_or(&[], |(entries, _)| entries));
        let runs = self.runs(&mut unread);
        let telemetry = progress.in_flight.as_deref().map(|run| self.telemetry(run)).unwrap_or_default();
        let (sealed, odd) = (self.folder.join(SEAL_FILE).is_file(), archive::odd_records(&self.folder));
        Ok(Parts { campaign, journal, held, sealed, runs, telemetry, unread, odd })
    }

    fn runs(&mut self, unread: &mut Vec<String>) -> Vec<Run> {
        let names = names(&self.folder.join(RUNS_FOLDER));
        if let Some((known, runs)) = &self.known
            && *known == names
        {
            return runs.clone();
        }
        let read = archive::discover(std::slice::from_ref(&self.folder)).and_then(|mut found| {
            // What was broken off has no figures that count.
            found.files.retain(|file| !file.path.starts_with(&format!("{INTERRUPTED_FOLDER}/")));
            ingest::all(
                &found,
                &ingest::Options { derive: Some(sparkbench_verdict::derive::all), ..ingest::Options::default() },
            )
        });
        match read {
            Ok(intake) => {
                let mut runs = intake.runs;
                runs.iter_mut().for_each(summary::of_requests);
                self.known = Some((names, runs.clone()));
                runs
            }
            Err(error) => {
                unread.push(format!("figures cannot be read: {}", error.what));
                Vec::new()
            }
        }
    }

    /// Last whole line of the telemetry of a run that is not complete.
    fn telemetry(&self, run: &str) -> Vec<(String, String)> {
        let aside = self.folder.join(RUNS_FOLDER).join(format!(".{run}{PART}")).join(TELEMETRY_FILE);
        let Ok(mut file) = disk::open_plain(&aside) else { return Vec::new() };
        let mut header = String::new();
        let mut end = Vec::new();
        let length = file.metadata().map_or(0, |meta| meta.len());
        let read = (&mut file).take(HEADER_BYTES).read_to_string(&mut header).and_then(|_| {
            file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
            file.take(TAIL_BYTES).read_to_end(&mut end)
        });
        match read {
            Ok(_) => last_line(&header, &String::from_utf8_lossy(&end)),
            Err(_) => Vec::new(),
        }
    }
}

/// Names of the complete runs: what a crash or the present left unfinished is hidden.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect()
}

/// Cells of the last line that has an end, by the columns of the first line.
fn last_line(start: &str, end: &str) -> Vec<(String, String)> {
    let Some((header, _)) = start.split_once('\n') else { return Vec::new() };
    let whole = end.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = whole.rsplit('\n').next().unwrap_or_default();
    let cells = |text: &str| -> Vec<String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
        record.iter().map(|cell| cell.trim().to_owned()).collect()
    };
    if line.is_empty() || line.trim_end() == header.trim_end() {
        return Vec::new();
    }
    cells(header).into_iter().zip(cells(line)).filter(|(_, value)| !value.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        last_line(text, text).iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_last_whole_line_counts_and_empty_cells_do_not() {
        assert_eq!(of("t,gpu_c,power_w\n1,40,\n2,41,80.5\n"), "t=2 gpu_c=41 power_w=80.5");
        assert_eq!(of("t,gpu_c,power_w\n1,40,\n2,4"), "t=1 gpu_c=40");
        assert_eq!(of("t,gpu_c\r\n1,40\r\n"), "t=1 gpu_c=40");
    }

    #[test]
    fn a_file_without_a_sample_says_nothing() {
        for text in ["", "t,gpu_c", "t,gpu_c\n", "t,gpu_c\n1,4", "\n\n\n"] {
            assert_eq!(of(text), "", "{text:?}");
        }
    }

    #[test]
    fn the_end_alone_is_enough_when_the_file_is_long() {
        assert_eq!(last_line("t,c\n0,0\n", "8,8\n9,9\n"), [("t".into(), "9".into()), ("c".into(), "9".into())]);
    }
}
