//! Whatever is changed, removed or added in a complete archive is found.

use std::fs;
use std::path::{Path, PathBuf};

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use sparkbench::archive::verify::verify;

use super::maker::*;
use crate::support::folder::Folder;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    entries.filter(|entry| entry.file_type().is_file()).map(|entry| entry.into_path()).collect()
}

#[track_caller]
fn expect_flaw(folder: &Path, what: &str) {
    let verified = verify(folder, &[], &mut |_, _| {});
    assert!(verified.is_err() || verified.is_ok_and(|v| !v.flaws.is_empty()), "not found: {what}");
}

#[test]
fn a_changed_inserted_or_removed_byte_is_found_in_every_file() {
    let folder = Folder::new("archive-flips");
    let path = complete(folder.path());
    expect_sealed(&path);
    let mut rng = SmallRng::seed_from_u64(7);
    for file in files(&path) {
        let whole = fs::read(&file).unwrap();
        let shown = file.strip_prefix(&path).unwrap().display().to_string();
        // Ends are where lines are cut and closing characters stand.
        let mut places: Vec<usize> = (0..24).map(|_| rng.random_range(0..whole.len())).collect();
        places.extend([0, 1, whole.len() - 1, whole.len().saturating_sub(2), whole.len().saturating_sub(3)]);
        for at in places {
            let at = at.min(whole.len() - 1);
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << rng.random_range(0..8);
            fs::write(&file, &flipped).unwrap();
            expect_flaw(&path, &format!("{shown}: byte {at} flipped"));
            let mut longer = whole.clone();
            longer.insert(at, if rng.random_range(0..2) == 0 { b'\n' } else { rng.random_range(0..=255) });
            fs::write(&file, &longer).unwrap();
            expect_flaw(&path, &format!("{shown}: a byte inserted at {at}"));
            let mut shorter = whole.clone();
            shorter.remove(at);
            fs::write(&file, &shorter).unwrap();
            expect_flaw(&path, &format!("{shown}: byte {at} removed"));
            fs::write(&file, &whole[..at]).unwrap();
            expect_flaw(&path, &format!("{shown}: cut at {at}"));
        }
        fs::write(&file, [&whole[..], b"\n"].concat()).unwrap();
        expect_flaw(&path, &format!("{shown}: a line end added"));
        fs::write(&file, &whole).unwrap();
    }
    expect_sealed(&path);
}

#[test]
fn a_removed_renamed_or_replaced_file_is_found() {
    let folder = Folder::new("archive-removed");
    let path = complete(folder.path());
    for file in files(&path) {
        let shown = file.strip_prefix(&path).unwrap().display().to_string();
        let away = folder.path().join("away");
        fs::rename(&file, &away).unwrap();
        expect_flaw(&path, &format!("{shown} removed"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&away, &file).unwrap();
            expect_flaw(&path, &format!("{shown} replaced by a link to its own bytes"));
            fs::remove_file(&file).unwrap();
        }
        let renamed = file.with_extension("renamed");
        fs::rename(&away, &renamed).unwrap();
        expect_flaw(&path, &format!("{shown} renamed"));
        fs::rename(&renamed, &file).unwrap();
    }
    expect_sealed(&path);
}

#[test]
fn an_added_file_or_folder_is_found_anywhere() {
    let folder = Folder::new("archive-added");
    let path = complete(folder.path());
    let folders: Vec<PathBuf> = walkdir::WalkDir::new(&path)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_dir())
        .map(|entry| entry.into_path())
        .collect();
    assert!(folders.len() > 8);
    for inside in folders {
        for name in ["x", ".x", "run.json.2", "r9", ".r3.part", ".seal.json.sparkbench-aside"] {
            let added = inside.join(name);
            fs::write(&added, "").unwrap();
            expect_flaw(&path, &format!("{} added", added.display()));
            fs::remove_file(&added).unwrap();
            fs::create_dir(&added).unwrap();
            expect_flaw(&path, &format!("folder {} added", added.display()));
            fs::remove_dir(&added).unwrap();
        }
    }
    expect_sealed(&path);
}

#[test]
fn runs_that_change_places_and_whole_folders_that_go_are_found() {
    let folder = Folder::new("archive-swapped");
    let path = complete(folder.path());
    let (one, two, away) = (path.join("runs/r1"), path.join("runs/r3"), folder.path().join("away"));
    let swap = || {
        fs::rename(&one, &away).unwrap();
        fs::rename(&two, &one).unwrap();
        fs::rename(&away, &two).unwrap();
    };
    swap();
    expect_flaw(&path, "two runs changed places");
    swap();
    for name in ["runs/r2", "runs", "probes", "prepared", "interrupted", "interrupted/r1-1"] {
        fs::rename(path.join(name), &away).unwrap();
        expect_flaw(&path, &format!("{name} removed"));
        fs::rename(&away, path.join(name)).unwrap();
    }
    // Lines of the journal: each one removed, doubled, and changed with its neighbour.
    let journal = fs::read_to_string(path.join("journal.jsonl")).unwrap();
    let lines: Vec<&str> = journal.split_inclusive('\n').collect();
    for at in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        let mut twice = lines.clone();
        twice.insert(at, lines[at]);
        let mut swapped = lines.clone();
        swapped.swap(at, (at + 1) % lines.len());
        for changed in [without, twice, swapped] {
            fs::write(path.join("journal.jsonl"), changed.concat()).unwrap();
            expect_flaw(&path, &format!("line {} of the journal", at + 1));
        }
    }
    fs::write(path.join("journal.jsonl"), &journal).unwrap();
    expect_sealed(&path);
}
