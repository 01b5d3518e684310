//! The raw files of runs, as text for the pages: which files, and how much of each.
//!
//! In:  what was discovered, and the runs that were judged.  Out: [`RawText`]s, by path.
//! Not here: what is kept of one file (see `ingest::raw`), how it is shown.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::cli::privacy::{self, Scrubbed};
use sparkbench_archive::manifest::RUN_FILE;
use sparkbench_archive::{Discovery, HEAD_BYTES, Tally};
use sparkbench_ingest::raw::{self, Named};
use sparkbench_model::{RawText, Status};
use sparkbench_verdict::report::{Input, RunReport};

/// A file that will be shown.
#[derive(Default)]
struct LogRequest {
    run: String,
    /// Path on disk, where that is not the published one.
    disk: Option<String>,
    named: Named,
}

/// Reads every raw file that figures were read from, and the logs of runs that failed, each once. Files that are no text are left out.
///
/// Where names and secrets were replaced in what the runs say, they are replaced in these texts too.
pub(super) fn read(found: &Discovery, runs: &[RunReport], scrubbed: Option<&Scrubbed>) -> Vec<Arc<RawText>> {
    let wishes = wishes(found, runs, scrubbed);
    let text = |(path, wish): (String, LogRequest)| fresh(found, &path, &wish, scrubbed).0;
    wishes.into_par_iter().filter_map(text).collect()
}

/// Texts as they are published, by path, each with what it was read for.
#[derive(Debug, Default)]
pub(super) struct LogMemory(BTreeMap<String, (Reason, Option<Arc<RawText>>, Tally)>);

/// A text with what was replaced in it, and the path and the reason under which it is kept. Without these where nothing tells whether the
/// file has changed.
type Looked = (Option<(String, Reason)>, Option<Arc<RawText>>, Tally);

/// Hash of the file, run, what figures name in it, and what is a name, which depends on all runs.
type Reason = (String, String, Named, String);

impl LogMemory {
    /// As [`read`], and reads only what is new. `inputs` tell the hashes of the files.
    pub(super) fn read(
        &mut self,
        found: &Discovery,
        runs: &[RunReport],
        inputs: &[Input],
        scrubbed: Option<&Scrubbed>,
    ) -> Vec<Arc<RawText>> {
        let hashes: BTreeMap<&str, &str> =
            inputs.iter().filter_map(|input| Some((input.path.as_str(), input.sha256.as_deref()?))).collect();
        let wishes = wishes(found, runs, scrubbed);
        let names = scrubbed.map_or_else(String::new, |scrubbed| scrubbed.scrub.mark());
        let read = |(path, wish): (String, LogRequest)| -> Looked {
            let Some(hash) = hashes.get(path.as_str()) else {
                let (text, tally) = fresh(found, &path, &wish, scrubbed);
                return (None, text, tally);
            };
            let reason = ((*hash).to_owned(), wish.run.clone(), wish.named.clone(), names.clone());
            let (text, tally) = match self.0.get(&path) {
                Some((before, text, tally)) if *before == reason => {
                    scrubbed.into_iter().for_each(|scrubbed| scrubbed.scrub.note(privacy::LOGS, tally.clone()));
                    (text.clone(), tally.clone())
                }
                _ => fresh(found, &path, &wish, scrubbed),
            };
            (Some((path, reason)), text, tally)
        };
        let read: Vec<Looked> = wishes.into_par_iter().map(read).collect();
        let keep = |(key, text, tally): &Looked| {
            key.clone().map(|(path, reason)| (path, (reason, text.clone(), tally.clone())))
        };
        self.0 = read.iter().filter_map(keep).collect();
        read.into_iter().filter_map(|(_, text, _)| text).collect()
    }
}

/// A text as it is published, and how often something was replaced in it, which is noted.
fn fresh(
    found: &Discovery,
    path: &str,
    wish: &LogRequest,
    scrubbed: Option<&Scrubbed>,
) -> (Option<Arc<RawText>>, Tally) {
    let Some((mut text, mut tally)) = one(found, path, wish, scrubbed.is_some()) else {
        return (None, Tally::new());
    };
    if let Some(scrubbed) = scrubbed {
        scrubbed.scrub.note(privacy::LOGS, tally.clone());
        let names = scrubbed.scrub.rows(privacy::LOGS, text.rows.iter_mut().map(|row| &mut row.text).collect());
        names.into_iter().for_each(|(kind, times)| *tally.entry(kind).or_default() += times);
    }
    (Some(Arc::new(text)), tally)
}

/// The text of a file, and how often a secret was replaced in it, if they are to be.
fn one(found: &Discovery, path: &str, wish: &LogRequest, masks: bool) -> Option<(RawText, Tally)> {
    let file = found.get(wish.disk.as_deref().unwrap_or(path)).filter(|file| file.bytes > 0)?;
    let input = BufReader::with_capacity(HEAD_BYTES, file.open().ok()?);
    if masks {
        raw::read_masked(path, &wish.run, file.bytes, input, &wish.named)
    } else {
        Some((raw::read(path, &wish.run, file.bytes, input, &wish.named)?, Tally::new()))
    }
}

/// The files that will be shown, by published path.
fn wishes(found: &Discovery, runs: &[RunReport], scrubbed: Option<&Scrubbed>) -> Vec<(String, LogRequest)> {
    let mut wishes: BTreeMap<String, LogRequest> = BTreeMap::new();
    for run in runs {
        wish(found, run, scrubbed, &mut wishes);
    }
    wishes.into_iter().collect()
}

fn wish(found: &Discovery, run: &RunReport, scrubbed: Option<&Scrubbed>, wishes: &mut BTreeMap<String, LogRequest>) {
    let on_disk = |path: &str| scrubbed.map_or_else(|| path.to_owned(), |scrubbed| scrubbed.on_disk(path).to_owned());
    let published = |path: &str| scrubbed.map_or_else(|| path.to_owned(), |scrubbed| scrubbed.path(path));
    let fresh = |path: &str| {
        let disk = on_disk(path);
        LogRequest { run: run.id.clone(), disk: (disk != path).then_some(disk), ..LogRequest::default() }
    };
    let own = std::iter::once(&run.source).chain(&run.files).map(|file| file.path.as_str());
    if matches!(run.status.0, Status::Failed(_)) {
        for path in own {
            wishes.entry(path.to_owned()).or_insert_with(|| fresh(path));
            let disk = on_disk(path);
            let folder = disk.strip_suffix(RUN_FILE).filter(|folder| folder.ends_with('/'));
            let beside = folder.into_iter().flat_map(|folder| below(found, folder));
            for log in beside.filter(|path| RawText::LOGS.iter().any(|ending| path.ends_with(ending))) {
                let shown = published(log);
                let disk = (shown != log).then(|| log.to_owned());
                wishes.entry(shown).or_insert(LogRequest { run: run.id.clone(), disk, ..LogRequest::default() });
            }
        }
    }
    for origin in run.origins.values() {
        let wish = wishes.entry(origin.file.clone()).or_insert_with(|| fresh(&origin.file));
        wish.named.lines.extend(origin.line);
        wish.named.pointers.extend(origin.field.iter().filter(|field| field.starts_with('/')).cloned());
    }
}

/// Files below a folder, which ends in `/`. Files are listed by path.
fn below<'a>(found: &'a Discovery, folder: &'a str) -> impl Iterator<Item = &'a str> {
    let first = found.files.partition_point(|file| file.path.as_str() < folder);
    let rest = found.files.get(first..).unwrap_or_default();
    rest.iter().map(|file| file.path.as_str()).take_while(move |path| path.starts_with(folder))
}
