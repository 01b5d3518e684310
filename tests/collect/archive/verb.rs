//! `sparkbench verify` as a person or a script meets it.

use std::fs;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::maker::*;
use crate::support::folder::Folder;
use crate::support::program::run_in;

fn verify(folder: &Path, arguments: &[&str]) -> crate::support::program::Ending {
    run_in(folder, &[&["verify"], arguments].concat(), &[])
}

#[test]
fn an_archive_that_fits_is_told_in_one_line_and_one_that_does_not_by_every_path() {
    let folder = Folder::new("archive-verb");
    let path = complete(folder.path());
    let fits = verify(folder.path(), &["archive"]).expect(0);
    assert_eq!(fits.out, "");
    fits.complains(&[
        "archive: a sealed campaign, 2 of 3 planned runs done, 1 failed, 1 interrupted.",
        "files,",
        "all match",
    ]);
    fs::write(path.join("runs/r1/stdout.log"), "other").unwrap();
    fs::remove_file(path.join("runs/r2/telemetry.csv")).unwrap();
    fs::write(path.join("notes.txt"), "").unwrap();
    let ending = verify(folder.path(), &["archive"]).expect(5);
    let lines: Vec<&str> = ending.out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ending.out);
    assert!(lines[0].starts_with("extra          notes.txt  nothing in the archive lists it"), "{}", lines[0]);
    assert!(lines[1].starts_with("changed        runs/r1/stdout.log  expected SHA-256 "), "{}", lines[1]);
    assert!(lines[2].starts_with("missing        runs/r2/telemetry.csv  "), "{}", lines[2]);
    ending.complains(&["'archive' does not verify: 1 changed, 1 missing, 1 extra", "try:"]);
    let json = verify(folder.path(), &["archive", "--json"]).expect(5);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["schema"], "sparkbench.verify/1");
    assert_eq!(value["fits"], false);
    assert_eq!(value["state"], "sealed");
    assert_eq!(value["flaws"][1]["path"], "runs/r1/stdout.log");
    assert_eq!(value["flaws"][1]["kind"], "changed");
    assert_eq!(value["runs"]["planned"], 3);
}

#[test]
fn what_is_no_archive_is_refused() {
    let folder = Folder::new("archive-verb-none");
    verify(folder.path(), &["."]).expect(5).complains(&["holds no archive, no site and no file", "try:"]);
    verify(folder.path(), &["nowhere"]).expect(5).complains(&["cannot open 'nowhere'"]);
    let path = complete(folder.path());
    verify(&path, &[".", "--archive", "."]).expect(2).complains(&["is not a site"]);
}

/// Issue 15, point 18: `verify data` in the workflow of `init` ended with an error, since `data` is a folder of archives.
#[test]
fn in_a_folder_every_archive_is_verified_and_what_no_hash_covers_is_said() {
    let folder = Folder::new("archive-verb-folder");
    let path = complete(folder.path());
    folder.put("all/table/runs.csv", "environment,ttft_ms\nnative,1\n");
    let none = verify(folder.path(), &["all"]).expect(0);
    none.complains(&[
        "'table/runs.csv' is not in an archive",
        "all: a folder of 0 archives. 0 files, 0.0 KiB: nothing to verify",
    ]);
    fs::create_dir_all(folder.path().join("all/deep")).unwrap();
    fs::rename(&path, folder.path().join("all/deep/one")).unwrap();
    fs::rename(complete(folder.path()), folder.path().join("all/two")).unwrap();
    let fits = verify(folder.path(), &["all"]).expect(0);
    fits.complains(&[
        "all/deep/one: a sealed campaign, 2 of 3 planned runs done, 1 failed, 1 interrupted.",
        "all/two: a sealed campaign,",
        "all: a folder of 2 archives, 4 of 6 planned runs done, 2 failed, 2 interrupted.",
        "all match",
        "'table/runs.csv' is not in an archive and has no recorded hash",
    ]);
    fs::write(folder.path().join("all/two/runs/r1/stdout.log"), "other").unwrap();
    let ending = verify(folder.path(), &["all", "--json"]).expect(5);
    let value: serde_json::Value = serde_json::from_str(&ending.out).unwrap();
    assert_eq!((&value["state"], &value["fits"]), (&"folder".into(), &false.into()));
    assert_eq!(value["flaws"][0]["path"], "two/runs/r1/stdout.log");
    let archives: Vec<_> = value["archives"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["path"], one["flaws"].as_array().unwrap().len()))
        .collect();
    assert_eq!(archives, [(&"deep/one".into(), 0), (&"two".into(), 1)]);
}

/// A site as `analyse` writes it, made from the folder `input`.
fn site(folder: &Folder) {
    let input = folder.put("input/runs.csv", "environment,ttft_ms\nnative,1\n");
    let sha256 = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let analysis = serde_json::json!({
        "schema": "sparkbench.analysis/1",
        "inputs": [{"path": "runs.csv", "sha256": sha256(&fs::read(input).unwrap())}],
    });
    let files = [("data/analysis.json", analysis.to_string()), ("index.html", "<p>".to_owned())];
    let lines: Vec<String> =
        files.iter().map(|(path, text)| format!("{}  {path}\n", sha256(text.as_bytes()))).collect();
    for (path, text) in &files {
        folder.put(&format!("site/{path}"), text);
    }
    folder.put("site/data/SHA256SUMS", lines.concat());
}

#[test]
fn a_site_is_held_against_its_list_and_against_what_it_was_made_from() {
    let folder = Folder::new("archive-verb-site");
    site(&folder);
    verify(folder.path(), &["site"]).expect(0).complains(&["site: a site. 3 files"]);
    verify(folder.path(), &["site", "--archive", "input"]).expect(0).complains(&["site: a site. 4 files"]);
    folder.put("input/more.csv", "x");
    folder.put("input/runs.csv", "environment,ttft_ms\nnative,2\n");
    let ending = verify(folder.path(), &["site", "--archive", "input"]).expect(5);
    assert!(ending.out.contains("extra          more.csv"), "{}", ending.out);
    assert!(ending.out.contains("changed        runs.csv  the site was made from SHA-256 "), "{}", ending.out);
    fs::remove_file(folder.path().join("input/runs.csv")).unwrap();
    let ending = verify(folder.path(), &["site", "--archive", "input"]).expect(5);
    assert!(ending.out.contains("missing        runs.csv"), "{}", ending.out);
}

#[test]
fn any_byte_of_a_site_that_changes_is_found() {
    let folder = Folder::new("archive-verb-flips");
    site(&folder);
    let root = folder.path().join("site");
    for name in ["data/analysis.json", "data/SHA256SUMS", "index.html"] {
        let path = root.join(name);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for changed in [
                [&whole[..at], &[whole[at] ^ 1], &whole[at + 1..]].concat(),
                [&whole[..at], &whole[at + 1..]].concat(),
                [&whole[..at], b"\n", &whole[at..]].concat(),
            ] {
                if changed != whole {
                    fs::write(&path, changed).unwrap();
                    assert!(!look(&root).flaws.is_empty(), "{name}: byte {at}");
                }
            }
        }
        fs::remove_file(&path).unwrap();
        assert!(!look(&root).flaws.is_empty(), "{name} removed");
        fs::write(&path, whole).unwrap();
    }
}

/// Issue 30: people keep files of their own in the folder of a site, and `analyse` leaves them there.
#[test]
fn files_of_somebody_else_in_a_site_are_named_and_no_flaw() {
    let folder = Folder::new("archive-verb-others");
    site(&folder);
    for path in ["CNAME", "talks/a.html", "data/extra", ".git/HEAD"] {
        folder.put(&format!("site/{path}"), "x");
    }
    let ending = verify(folder.path(), &["site"]).expect(0);
    ending.complains(&["site: a site. 3 files", "4 files not listed in data/SHA256SUMS were not checked"]);
    ending.complains(&[".git/HEAD, CNAME, data/extra and 1 more"]);
    folder.put("site/index.html", "<p>?");
    assert!(verify(folder.path(), &["site"]).expect(5).out.contains("changed        index.html"));
}

#[test]
fn only_complete_runs_are_found_for_the_analysis() {
    let folder = Folder::new("archive-verb-discover");
    let path = complete(folder.path());
    let found = sparkbench::archive::discover(&[path]).unwrap();
    let tops: std::collections::BTreeSet<&str> =
        found.files.iter().map(|file| file.path.split('/').next().unwrap()).collect();
    assert_eq!(tops.into_iter().collect::<Vec<_>>(), ["campaign.json", "journal.jsonl", "runs", "seal.json"]);
    let intake = sparkbench::ingest::all(&found, &sparkbench::ingest::Options::default()).unwrap();
    let skipped: Vec<_> = intake.inputs.iter().filter(|input| input.skipped).map(|input| &input.path).collect();
    assert!(skipped.iter().all(|path| path.starts_with("runs/")), "{skipped:?}");
    assert_eq!(intake.runs.len(), 3);
    // A folder of that name elsewhere is a folder like any other.
    folder.put("results/interrupted/runs.csv", "x");
    assert_eq!(sparkbench::archive::discover(&[folder.path().join("results")]).unwrap().files.len(), 1);
}

#[cfg(unix)]
#[test]
fn a_site_whose_data_is_a_link_to_nothing_is_no_folder_without_archives() {
    let folder = Folder::new("archive-verb-nowhere");
    folder.put("site/index.html", "<p>");
    for to in ["gone", "data"] {
        let data = folder.path().join("site/data");
        std::os::unix::fs::symlink(to, &data).unwrap();
        let ending = verify(folder.path(), &["site"]).expect(5);
        ending.complains(&["'site/data' leads nowhere", &format!("a link to '{to}'"), "try:"]);
        fs::remove_file(data).unwrap();
    }
}
