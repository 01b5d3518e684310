//! Issue 30: a pipe that is given beside a folder is told, and folders whose names look alike are not mixed.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::analyse;
use crate::support::folder::Folder;
use crate::support::program::{FEW, run_in};
use crate::support::report::{Report, list, text};

const TABLE: &str = "environment,model,workload,ttft_ms\na,m,chat,10\na,m,chat,11\nb,m,chat,12\nb,m,chat,13\n";

#[test]
fn labels_that_are_a_pipe_are_told_where_they_were_given_by_their_path() {
    let folder = Folder::new("archive-opens-labels");
    folder.put("in/t/runs.csv", TABLE);
    for name in ["labels.toml", "metrics.toml"] {
        mkfifo(&folder.path().join(name), Mode::S_IRWXU).unwrap();
        let ending = run_in(folder.path(), &[&["analyse", "in", name, "--site", "site"], &FEW[..]].concat(), &[]);
        ending.expect(5).complains(&[&format!("{name}' as "), "not a regular file", "try:"]);
    }
    // Alone there is nothing else to read.
    let ending = run_in(folder.path(), &["analyse", "labels.toml", "--site", "site"], &[]).expect(5);
    ending.complains(&["nothing to read in 'labels.toml'", "labels.toml: not a regular file"]);
}

#[test]
fn folders_whose_names_look_alike_are_campaigns_of_their_own() {
    let folder = Folder::new("archive-opens-alike");
    for (name, tens) in [(&b"x\xff"[..], ",2"), (b"x\\xFF", ",1")] {
        let place = folder.path().join("in").join(OsStr::from_bytes(name));
        fs::create_dir_all(&place).unwrap();
        let table = TABLE.replace(",1", tens);
        fs::write(place.join("more.csv"), table.replace(",m,", ",n,")).unwrap();
        fs::write(place.join("runs.csv"), table).unwrap();
    }
    analyse(&folder, &[]).expect(0);
    let report = Report::of_site(&folder.path().join("site"));
    let mut by_campaign: BTreeMap<&str, usize> = BTreeMap::new();
    for run in list(&report.0, "runs") {
        *by_campaign.entry(text(run, "campaign")).or_default() += 1;
    }
    assert_eq!(by_campaign.into_values().collect::<Vec<_>>(), [8, 8]);
}
