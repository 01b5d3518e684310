//! Whole folders of people who benchmark: put in as they are, flattened and renamed, each is answered with what its files say.
//!
//! The folders are other people's and are no part of this repository. They are looked for where `SPARKBENCH_SAMPLES` says, else beside the
//! project, and passed over where they are absent. The figures that the answers are held against are read once more by `owners.py`, which
//! shares nothing with the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::needs;
use crate::support::program::{FEW, repository, run_in};

/// The folder of an owner, where there is one.
fn owner(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("SPARKBENCH_SAMPLES").map(PathBuf::from);
    let beside = || repository().parent().map(|parent| parent.join("shared/data/owners"));
    let folder = named.or_else(beside).map(|samples| samples.join(name)).filter(|folder| folder.is_dir());
    if folder.is_none() {
        // Not a lack of this machine: nobody may hand the folders on.
        eprintln!("skipped: no samples of {name}");
    }
    folder
}

/// What is printed for a folder.
fn answer(place: &Folder, input: &Path) -> String {
    let arguments = ["analyse", input.to_str().expect("a path of text"), "--site", "site"];
    run_in(place.path(), &[&arguments[..], &FEW].concat(), &[]).expect(0).out
}

/// What a small script, which shares nothing with the program, reads from the files of an owner: figures of the first sentence.
fn figures(name: &str, folder: &Path) -> Option<Vec<String>> {
    let script = repository().join("tests/analyse/owners.py");
    let read = Command::new("python3").args([script.as_os_str(), name.as_ref(), folder.as_os_str()]).output().ok()?;
    Some(serde_json::from_slice(&read.stdout).unwrap_or_else(|cause| panic!("{name}: {cause}: {read:?}")))
}

/// A folder in its own form, with everything in one folder, and with its folders renamed.
fn forms(place: &Folder, name: &str, folder: &Path) -> [PathBuf; 3] {
    for (path, bytes) in files_below(folder) {
        place.put(&format!("{name}-flat/{}", path.replace('/', "-")), &bytes);
        let (folders, file) = path.rsplit_once('/').map_or((String::new(), path.as_str()), |(folders, file)| {
            (folders.split('/').map(|folder| format!("set-{folder}/")).collect(), file)
        });
        place.put(&format!("{name}-renamed/{folders}{file}"), &bytes);
    }
    let at = |form: &str| place.path().join(format!("{name}-{form}"));
    [folder.to_owned(), at("flat"), at("renamed")]
}

/// Each owner's question has its figures in the answer, whatever the folders are called.
#[test]
fn the_figures_of_an_answer_are_those_of_the_owners_files_in_every_form_of_the_folder() {
    let Some(first) = owner("djangodevreng__dgx-spark-benchmarks") else { return };
    let place = Folder::new("owners-figures");
    let samples = first.parent().expect("the folder of all");
    for entry in fs::read_dir(samples).expect("samples").flatten().filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(wanted) = figures(&name, &entry.path()) else { return needs::skip("there is no python3 here") };
        if wanted.is_empty() {
            continue;
        }
        for input in forms(&place, &name, &entry.path()) {
            let out = answer(&place, &input);
            let sentence = out.lines().nth(1).unwrap_or_default();
            let numbers: Vec<&str> = sentence
                .split(|c: char| !(c.is_ascii_digit() || c == '.'))
                .map(|word| word.trim_end_matches('.'))
                .collect();
            for figure in &wanted {
                assert!(numbers.contains(&figure.as_str()), "{}: {figure} is not in: {sentence}", input.display());
            }
        }
    }
}

/// "Which precision is fastest, for one user and for many?" One campaign is asked about its precisions, in every form of the folder.
#[test]
fn precisions_in_folders_of_their_own_are_compared_within_one_campaign() {
    let Some(folder) = owner("djangodevreng__dgx-spark-benchmarks") else { return };
    let place = Folder::new("owners-precision");
    for input in forms(&place, "precisions", &folder) {
        let out = answer(&place, &input);
        assert!(out.contains("For one user") && out.contains("From 5 users on"), "{out}");
        let analysis = fs::read_to_string(place.path().join("site/data/analysis.json")).expect("an analysis");
        let analysis: serde_json::Value = serde_json::from_str(&analysis).expect("JSON");
        assert_eq!(analysis["campaigns"].as_array().map(Vec::len), Some(1), "{input:?}");
        assert_eq!(analysis["campaigns"][0]["asked"]["factor"], "quantisation");
        let overlaps = |trap: &&serde_json::Value| {
            trap["id"] == "runs-overlap" && trap["status"] == "fired" && trap["severity"] == "error"
        };
        assert_eq!(analysis["traps"].as_array().expect("traps").iter().filter(overlaps).count(), 0, "{input:?}");
    }
}

/// Every folder that holds results gets an answer, and none ends in a panic.
#[test]
fn every_owner_gets_a_first_sentence() {
    let Some(first) = owner("djangodevreng__dgx-spark-benchmarks") else { return };
    let place = Folder::new("owners-all");
    let samples = first.parent().expect("the folder of all");
    for entry in fs::read_dir(samples).expect("samples").flatten().filter(|entry| entry.path().is_dir()) {
        let input = entry.path();
        let arguments = ["analyse", input.to_str().expect("a path of text"), "--site", "site"];
        let ending = run_in(place.path(), &[&arguments[..], &FEW].concat(), &[]);
        assert!(matches!(ending.code, Some(0 | 5)) && !ending.err.contains("panicked"), "{input:?}: {}", ending.err);
        if ending.code == Some(0) {
            let sentence = ending.out.lines().nth(1).unwrap_or_default().trim();
            assert!(!sentence.is_empty(), "{input:?}: {}", ending.out);
        }
    }
}
