//! Each discovered file, read by the reader that its place says.
//!
//! In:  discovered files, and where they belong.  Out: a [`Look`] at each.
//! Not here: where a file belongs (see `places`), the look at a file of which nothing is known (see `look`).

use std::io::{self, BufRead, BufReader};

use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};

use super::format::{Format as _, Look, Parsed};
use super::load_summary::LoadSummary;
use super::look::{named, read};
use super::not_analysed::NotAnalysed;
use super::partial_run::{JoinRole, PartialRun};
use super::places::{Places, ReadBy};
use super::record::Record;
use super::reports;
use super::source_file::{SourceFile, unpacked, unreadable};
use sparkbench_archive::manifest::ReportWire;
use sparkbench_archive::{Discovery, Found, HEAD_BYTES, Hashing, shown};
use sparkbench_model::Setup;
use sparkbench_text::error::Error;

/// Looks at every file, in parallel. The results are in the order of the files. `without_gaps`: as in [`super::Options`].
pub(super) fn look_at_all(found: &Discovery, places: &Places, without_gaps: bool) -> Vec<Look> {
    let look = |(number, file)| {
        let mut look = look_at(file, places.reader(number));
        for record in look.outcome.iter_mut().flat_map(|parsed| &mut parsed.records) {
            if let (Record::Run(partial), true) = (record, without_gaps) {
                partial.series.retain(|series| series.metric != GAPS);
            }
        }
        look
    };
    found.files.par_iter().enumerate().map(look).collect()
}

/// Looks at one file, by its reader.
pub(super) fn look_at(found: &Found, reader: &ReadBy) -> Look {
    let refused = |cause: io::Error| Look {
        format: None,
        sha256: None,
        outcome: Err(Error::archive(format!("cannot open '{}'", found.path))
            .hint("check its permissions")
            .because(cause)),
    };
    match found.open() {
        Ok(file) => {
            let input = BufReader::with_capacity(HEAD_BYTES, file);
            match reader {
                ReadBy::Sniffed => read(&found.path, found.bytes, input),
                ReadBy::Run(missing) => {
                    let mut look = read(&found.path, found.bytes, input);
                    if let Ok(parsed) = &mut look.outcome {
                        parsed.left_out.extend(missing.iter().map(|path| {
                            Error::archive(format!("the report '{}' is not there", shown(path.as_ref())))
                                .hint("`sparkbench verify` tells what else is missing")
                        }));
                    }
                    look
                }
                ReadBy::Named(report) => named_report(&found.path, found.bytes, input, report),
                ReadBy::Summary(test) => summary(&found.path, found.bytes, input, test.as_deref()),
                ReadBy::NotAnalysed(word) => kept(input, word),
            }
        }
        Err(cause) => refused(cause),
    }
}

/// Reads a file by the parser that the run names for it.
fn named_report(path: &str, bytes: u64, input: impl BufRead, report: &ReportWire) -> Look {
    let mut reader = Hashing::new(input);
    let name = reports::find(&report.parser).map(|parser| parser.name());
    let outcome = unpacked(&mut reader, |text| reports::parse(&mut SourceFile::new(path, bytes, text), report));
    let outcome = outcome.map_err(|mut error| {
        error.what = match name {
            Some(name) => format!("cannot read '{path}' as {name}: {}", error.what),
            None => format!("cannot read '{path}': {}", error.what),
        };
        error
    });
    Look { format: name, sha256: reader.finish().ok().map(|(hash, _)| hash), outcome }
}

/// Reads the summary of a load for what its requests beside it cannot say: the gaps between tokens, whose times lie in `chunks.sbc`.
fn summary(path: &str, bytes: u64, input: impl BufRead, test: Option<&str>) -> Look {
    let mut reader = Hashing::new(input);
    let outcome = unpacked(&mut reader, |text| LoadSummary.parse(&mut SourceFile::new(path, bytes, text)));
    let outcome = outcome.map(|mut parsed| {
        for record in &mut parsed.records {
            if let Record::Run(partial) = record {
                // No request holds the requested lengths. Without them no two cells of a matrix can be distinguished.
                let Setup { batch, isl, osl, .. } = partial.setup;
                let share = partial.share.take();
                let gaps = std::mem::take(&mut partial.readings)
                    .into_iter()
                    .filter(|reading| reading.metric.starts_with(GAPS));
                **partial = PartialRun {
                    join_role: JoinRole::Detail,
                    part: test.map(str::to_owned),
                    readings: gaps.collect(),
                    setup: Setup { batch, isl, osl, ..Setup::default() },
                    share,
                    ..PartialRun::default()
                };
            }
        }
        parsed
    });
    let outcome = outcome.map_err(|error| named(error, path, Some(&LoadSummary)));
    Look { format: Some(LoadSummary.name()), sha256: reader.finish().ok().map(|(hash, _)| hash), outcome }
}

/// The metric of gaps, and beginning of the others of them.
const GAPS: &str = "itl_ms";

/// Hashes a file and takes nothing from it.
fn kept(input: impl BufRead, word: &str) -> Look {
    let parsed = Parsed { notes: vec![word.to_owned()], ..Parsed::default() };
    match Hashing::new(input).finish() {
        Ok((hash, _)) => Look { format: Some(NotAnalysed.name()), sha256: Some(hash), outcome: Ok(parsed) },
        Err(cause) => Look { format: None, sha256: None, outcome: Err(unreadable(cause)) },
    }
}
