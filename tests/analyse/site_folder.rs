//! The folder of a site beside its pages: long names in addresses, two runs at once, files of somebody else.

use std::fs;

use crate::analyse;
use crate::support::files::files_below;
use crate::support::folder::Folder;
use crate::support::program::{FEW, run_in};
use crate::support::site_check;

/// Longest name of a file or a folder on the file systems that sites lie on, bytes.
const NAME_MOST: usize = 255;

/// A table of runs of two environments and these models.
fn table(environments: [&str; 2], models: &[&str]) -> Vec<u8> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let head = ["environment", "model", "workload", "machine", "repeat", "output_throughput_tok_s", "ttft_ms"];
    table.write_record(head).expect("in memory");
    let long = |letter: &str| letter.repeat(300);
    for repeat in 1..=4 {
        for environment in environments {
            for model in models {
                let figures = [format!("{repeat}"), format!("12{repeat}"), format!("1{repeat}")];
                let labels = [environment.to_owned(), (*model).to_owned(), long("w"), long("p")];
                table.write_record(labels.iter().chain(&figures)).expect("in memory");
            }
        }
    }
    table.into_inner().expect("in memory")
}

fn small(model: &str) -> String {
    let rows: String = (1..=4)
        .flat_map(|repeat| {
            ["native", "docker"].map(|environment| format!("{environment},{model},chat,{repeat},12{repeat}\n"))
        })
        .collect();
    format!("environment,model,workload,repeat,output_throughput_tok_s\n{rows}")
}

#[test]
fn names_of_hundreds_of_characters_are_shortened_in_addresses_and_whole_on_pages() {
    let folder = Folder::new("analyse-long-names");
    let models = ["a", "b"].map(|first| format!("{first}{}", "m".repeat(300)));
    let environments = ["x", "y"].map(|first| format!("{first}{}", "v".repeat(300)));
    let [x, y] = environments.each_ref().map(String::as_str);
    folder.put("in/long/runs.csv", table([x, y], &models.each_ref().map(String::as_str)));
    folder.put("in/good/runs.csv", small("llama-8b"));
    analyse(&folder, &[]).expect(0);
    let files = files_below(&folder.path().join("site"));
    let faults = site_check::faults(&files);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    for part in files.keys().flat_map(|path| path.split('/')) {
        assert!(part.len() <= NAME_MOST, "{part}");
    }
    assert!(files.contains_key("m/llama-8b/index.html"), "a usual name keeps its address");
    for model in &models {
        let shown = files.iter().filter(|(path, _)| path.starts_with("m/") && path.ends_with("/index.html"));
        let page = shown
            .map(|(_, bytes)| String::from_utf8_lossy(bytes))
            .find(|page| page.contains(&format!("<h1 class=\"run\">{model}</h1>")));
        assert!(page.is_some(), "a page whose heading is the whole name");
    }
    run_in(folder.path(), &["verify", "site"], &[]).expect(0);
}

#[test]
fn names_of_one_beginning_or_without_a_plain_letter_have_pages_of_their_own() {
    let folder = Folder::new("analyse-odd-names");
    let long = ["1", "2"].map(|last| format!("{}{last}", "m".repeat(300)));
    let models = [long[0].as_str(), long[1].as_str(), "模型", "型模", ".", "..", "con", "A", "a"];
    folder.put("in/runs.csv", table(["native", "docker"], &models));
    analyse(&folder, &[]).expect(0);
    let files = files_below(&folder.path().join("site"));
    let pages = |path: &&String| path.starts_with("m/") && path.matches('/').count() == 2 && path.ends_with(".html");
    let folders: Vec<String> = files.keys().filter(pages).map(|path| path.to_lowercase()).collect();
    assert_eq!(folders.len(), models.len(), "{folders:#?}");
    let mut apart = folders.clone();
    apart.dedup();
    assert_eq!(apart, folders, "two names that differ by case only are two folders everywhere");
    assert!(!folders.iter().any(|path| path.contains("/con/")), "no folder has the name of a device: {folders:#?}");
    run_in(folder.path(), &["verify", "site"], &[]).expect(0);
}

#[cfg(unix)]
mod at_once {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::support::program::{Ending, fair_start};
    use crate::support::wait;

    #[test]
    fn two_runs_into_one_site_wait_for_each_other() {
        let folder = Folder::new("analyse-at-once");
        for model in ["x", "y"] {
            folder.put(&format!("{model}/runs.csv"), small(model));
        }
        run_in(folder.path(), &[&["analyse", "x", "--site", "site"], &FEW[..]].concat(), &[]).expect(0);
        let start = |data: &str| {
            fair_start();
            Command::new(env!("CARGO_BIN_EXE_sparkbench"))
                .args([&["analyse", data, "--site", "site"], &FEW[..]].concat())
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the program starts")
        };
        let children = ["x", "y", "x", "y"].map(start);
        for child in children {
            Ending::of(child).expect(0);
        }
        run_in(folder.path(), &["verify", "site"], &[]).expect(0);
        let names: Vec<String> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        assert!(!names.iter().any(|name| name.contains("sparkbench")), "something is left beside the site: {names:?}");
    }

    #[test]
    fn a_site_that_somebody_watches_is_refused_and_says_who_and_is_free_again_afterwards() {
        let folder = Folder::new("analyse-watched");
        folder.put("in/runs.csv", small("x"));
        fair_start();
        let mut watching = Command::new(env!("CARGO_BIN_EXE_sparkbench"))
            .args([&["analyse", "in", "--site", "site", "--watch", "--quiet"], &FEW[..]].concat())
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        wait::until("the site of the one that watches", || folder.path().join("site/data/SHA256SUMS").exists());
        let ending = analyse(&folder, &[]);
        let _ = watching.kill();
        watching.wait().expect("it has ended");
        ending.expect(5).complains(&["analyse --watch", &format!("process {}", watching.id()), "try:"]);
        // It was killed and could not take its lock away. That holds nobody up.
        assert!(folder.path().join(".site.sparkbench-lock").exists());
        analyse(&folder, &[]).expect(0);
        assert!(!folder.path().join(".site.sparkbench-lock").exists());
    }
}

#[test]
fn files_of_somebody_else_stay_in_the_site_and_its_own_are_replaced() {
    let folder = Folder::new("analyse-own-files");
    folder.put("in/runs.csv", small("x"));
    analyse(&folder, &[]).expect(0);
    let own = [".git/HEAD", ".nojekyll", "CNAME", "c/x.txt", "data/notes.md", "talks/a.html"];
    for path in own {
        folder.put(&format!("site/{path}"), path);
    }
    folder.put("site/index.html", "mine");
    let ending = analyse(&folder, &["--verbose"]).expect(0);
    ending.complains(&["somebody changed 1 file of the old site: index.html"]);
    ending.complains(&[
        "6 files in the site that this program did not write stay: .git/HEAD, .nojekyll, CNAME and 3 more",
    ]);
    for path in own {
        assert_eq!(fs::read_to_string(folder.path().join("site").join(path)).expect("it stays"), path);
    }
    assert_ne!(fs::read(folder.path().join("site/index.html")).expect("a page"), b"mine");
    let ending = run_in(folder.path(), &["verify", "site"], &[]).expect(0);
    ending.complains(&["6 files not listed in data/SHA256SUMS were not checked"]);
    // Another model brings a page where somebody has put a file.
    folder.put("site/m/y/index.html", "my own page of y");
    folder.put("in/runs.csv", small("y"));
    let before = files_below(folder.path());
    analyse(&folder, &[]).expect(5).complains(&["site/m/y/index.html", "not written by this program", "try:"]);
    assert!(files_below(folder.path()) == before, "not a byte has changed, and nothing lies beside it");
    fs::remove_file(folder.path().join("site/m/y/index.html")).expect("it was there");
    analyse(&folder, &[]).expect(0);
    assert!(!folder.path().join("site/m/x").exists(), "pages of what is gone are gone");
}

#[cfg(target_os = "linux")]
#[test]
fn a_mount_in_the_place_of_the_site_stays_and_the_error_names_a_folder_below_it() {
    use crate::support::needs::skip;
    use std::process::Command;
    let folder = Folder::new("analyse-site-mounted");
    folder.put("in/runs.csv", small("llama-8b"));
    let site = folder.path().join("site");
    fs::create_dir(&site).unwrap();
    let done = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).arg(&site).output().is_ok_and(|output| output.status.success())
    };
    if !done("mount", &["-t", "tmpfs", "none"]) {
        skip("mounting needs root");
        return;
    }
    fs::write(site.join("CNAME"), "mine").unwrap();
    let ending = analyse(&folder, &[]);
    let kept = fs::read_to_string(site.join("CNAME"));
    assert!(done("umount", &[]));
    ending.expect(5).complains(&["is mounted on it", "name a folder below it, such as --site site/site"]);
    assert_eq!(kept.unwrap(), "mine");
    assert!(!folder.path().join("site").join("index.html").exists(), "nothing was put below the mount");
}
