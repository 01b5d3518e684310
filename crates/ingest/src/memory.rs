//! Results of earlier reads: a long-running program reads only changed files.
//!
//! In:  discovered files, the moment.  Out: a [`Look`] at each, of now or of before, which are the same.
//! Not here: waiting for a change, and any judgement.
//!
//! A file counts as already read when its path, its size and the time of its last write are the same. The clock of a disk has ticks, and a
//! file that is written twice within one shows no change. So what was written shortly before it was read is read again the next time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rayon::iter::IndexedParallelIterator as _;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::discovered;
use super::format::Look;
use super::places::{self, Places, ReadBy};
use sparkbench_archive::manifest::ReportWire;
use sparkbench_archive::{Discovery, Found};

/// A file that was written less than this before it was read is read again. This is twice the resolution of FAT, the coarsest clock of a
/// disk.
const SETTLED: Duration = Duration::from_secs(4);

/// Files as they were read, by path.
#[derive(Debug, Default)]
pub struct Memory {
    looks: BTreeMap<String, (Mark, ReadBy, Look)>,
    tables: BTreeMap<String, (Mark, Option<Vec<ReportWire>>)>,
}

/// Distinguishes one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    disk: PathBuf,
    bytes: u64,
    modified: SystemTime,
}

/// The mark of a file. None where the disk does not say when it was written, or where that is too short ago to be relied on.
fn mark(file: &Found, now: SystemTime) -> Option<Mark> {
    let modified = file.modified?;
    // A moment that is yet to come, by another machine's clock, is never settled.
    now.duration_since(modified).is_ok_and(|age| age >= SETTLED).then(|| Mark {
        disk: file.disk.clone(),
        bytes: file.bytes,
        modified,
    })
}

impl Memory {
    /// Looks at every file, and keeps the outcome in place of what was kept before.
    pub(super) fn look(&mut self, found: &Discovery, now: SystemTime) -> (Places, Vec<Look>) {
        let mut tables = BTreeMap::new();
        let places = places::places(found, |file| {
            let mark = mark(file, now);
            let table = match (self.tables.remove(&file.path), &mark) {
                (Some((before, table)), Some(mark)) if before == *mark => table,
                _ => places::reports_of(file),
            };
            tables.extend(mark.map(|mark| (file.path.clone(), (mark, table.clone()))));
            table
        });
        self.tables = tables;
        let looks: Vec<Look> = found
            .files
            .par_iter()
            .enumerate()
            .map(|(number, file)| {
                let reader = places.reader(number);
                match (self.looks.get(&file.path), mark(file, now)) {
                    (Some((before, by, look)), Some(mark)) if *before == mark && by == reader => look.clone(),
                    _ => discovered::look_at(file, reader),
                }
            })
            .collect();
        self.keep(found, &places, &looks, now);
        (places, looks)
    }

    fn keep(&mut self, found: &Discovery, places: &Places, looks: &[Look], now: SystemTime) {
        let mut kept = BTreeMap::new();
        for (number, (file, look)) in found.files.iter().zip(looks).enumerate() {
            let Some(mark) = mark(file, now) else { continue };
            let reader = places.reader(number);
            let known = self.looks.remove(&file.path).filter(|(before, by, _)| *before == mark && by == reader);
            kept.insert(file.path.clone(), known.unwrap_or_else(|| (mark, reader.clone(), look.clone())));
        }
        self.looks = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_archive::discover;
    use sparkbench_testing::Folder;

    fn folder(name: &str) -> Folder {
        Folder::new(&format!("memory-{name}"))
    }

    fn write(path: &std::path::Path, text: &str, modified: SystemTime) {
        std::fs::write(path, text).unwrap();
        std::fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
    }

    fn hashes(memory: &mut Memory, folder: &std::path::Path, now: SystemTime) -> Vec<Option<String>> {
        let found = discover(&[folder.to_owned()]).unwrap();
        memory.look(&found, now).1.into_iter().map(|look| look.sha256).collect()
    }

    #[test]
    fn a_file_of_the_same_size_and_moment_is_not_read_again_and_any_other_is() {
        let (folder, old) = (folder("same"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        let (now, path) = (old + Duration::from_secs(60), folder.join("a.txt"));
        let mut memory = Memory::default();
        write(&path, "one", old);
        let first = hashes(&mut memory, &folder, now);
        // Behind the back of size and moment: what is given is what was read.
        write(&path, "two", old);
        assert_eq!(hashes(&mut memory, &folder, now), first);
        write(&path, "two", old + Duration::from_secs(1));
        let second = hashes(&mut memory, &folder, now);
        assert_ne!(second, first, "another moment");
        write(&path, "three", old + Duration::from_secs(1));
        assert_ne!(hashes(&mut memory, &folder, now), second, "another size");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_was_written_just_now_is_read_again() {
        let (folder, moment) = (folder("fresh"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        let path = folder.join("a.txt");
        let mut memory = Memory::default();
        write(&path, "one", moment);
        for now in [moment - Duration::from_secs(9), moment, moment + Duration::from_secs(1)] {
            write(&path, "one", moment);
            let first = hashes(&mut memory, &folder, now);
            write(&path, "two", moment);
            assert_ne!(hashes(&mut memory, &folder, now), first);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
