//! Issue 30: something else in the place of a file of an archive is damage that is named. Nobody waits for it, and every remedy works.

#![cfg(target_os = "linux")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::mkfifo;
use sparkbench::archive::{Event, Writer, discover, disk, journal};
use sparkbench::error::Error;

use super::maker::*;
use crate::support::folder::Folder;
use crate::support::program::run_in;

/// Files that verbs read before anything else.
const RECORDS: [&str; 4] = ["campaign.json", "journal.jsonl", "seal.json", "runs/r1/run.json"];

/// Something that is no file: what it is called, and how it comes there.
type Thing = (&'static str, fn(&Path));

const THINGS: [Thing; 4] = [
    ("a pipe", |path| mkfifo(path, Mode::S_IRWXU).unwrap()),
    ("a socket", |path| mknod(path, SFlag::S_IFSOCK, Mode::S_IRWXU, 0).unwrap()),
    ("a folder", |path| fs::create_dir(path).unwrap()),
    // Without an end.
    ("a link", |path| symlink("/dev/zero", path).unwrap()),
];

/// A complete archive with a thing in the place of one of its files.
fn harmed(folder: &Folder, name: &str, put: fn(&Path)) -> std::path::PathBuf {
    let path = complete(folder.path());
    fs::remove_file(path.join(name)).unwrap();
    put(&path.join(name));
    path
}

/// Takes a campaign up without what does not fit, and makes what is left.
fn accept_and_end(path: &Path) -> Result<(), Error> {
    let (mut writer, plan, _) = Writer::resume(path, session(), true, &mut |_, _| {})?;
    writer.settle()?;
    go_on(&mut writer, &plan, &[])
}

#[test]
fn what_is_no_file_in_the_place_of_a_record_is_named_by_every_verb_and_waited_for_by_none() {
    for name in RECORDS {
        for (what, put) in THINGS {
            let folder = Folder::new("archive-opens");
            let path = harmed(&folder, name, put);
            let verified = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
            let line = format!("{:<13}  {name}  it is {what}", "changed");
            assert!(verified.out.lines().any(|told| told.starts_with(&line)), "{name}, {what}:\n{}", verified.out);
            let again = verified.out.lines().filter(|told| told.contains(&format!("  {name}  "))).count();
            assert_eq!(again, 1, "{name}, {what}: it is named once\n{}", verified.out);
            let status = run_in(folder.path(), &["status", "archive"], &[]);
            if name == "campaign.json" {
                status.expect(5).complains(&["campaign.json' is not the file that was written", "not a file", "try:"]);
            } else {
                let told = format!("note: '{name}' is {what}, not the file that was written");
                let status = status.expect(0);
                assert!(status.out.contains(&told), "{name}, {what}:\n{}", status.out);
            }
            let error = Writer::resume(&path, session(), false, &mut |_, _| {}).map(|_| ()).unwrap_err();
            assert_eq!(error.kind.exit_code(), 5, "{name}, {what}");
            let file = name.rsplit('/').next().unwrap();
            assert!(error.what.contains(file) && error.hint.is_some(), "{name}, {what}: {error}");
        }
    }
}

#[test]
fn a_loss_of_a_seal_or_a_run_is_accepted_whatever_lies_in_its_place_and_a_journal_is_moved_away_first() {
    for (what, put) in THINGS {
        for name in ["seal.json", "runs/r1/run.json", "journal.jsonl"] {
            let folder = Folder::new("archive-opens-accept");
            let path = harmed(&folder, name, put);
            if name == "journal.jsonl" || (name, what) == ("seal.json", "a folder") {
                let error = accept_and_end(&path).unwrap_err();
                let hint = error.hint.as_deref().unwrap_or_default();
                assert!(hint.contains("move it away and use --resume --accept-loss"), "{name}, {what}: {error}");
                fs::rename(path.join(name), folder.path().join("away")).unwrap();
            }
            accept_and_end(&path).unwrap_or_else(|error| panic!("{name}, {what}: {error}"));
            // A seal that is merely missing is written again.
            let is_lost = (name, what) != ("seal.json", "a folder");
            assert_eq!(!expect_sealed(&path).lost.is_empty(), is_lost, "{name}, {what}");
        }
    }
}

#[test]
fn only_plain_files_and_links_to_them_are_opened() {
    let folder = Folder::new("archive-opens-plain");
    let file = folder.put("file", "x");
    symlink("file", folder.path().join("link")).unwrap();
    for path in [&file, &folder.path().join("link")] {
        assert_eq!(disk::read_plain(path).unwrap(), b"x");
    }
    for (what, put) in THINGS {
        let path = folder.path().join(what);
        put(&path);
        let error = disk::open_plain(&path).unwrap_err();
        let what = if what == "a link" { "a device" } else { what };
        assert_eq!(error.to_string(), format!("it is {what}, not a file"));
        assert!(disk::sha256_of(&path).is_err());
    }
}

#[test]
fn the_loss_of_a_journal_says_that_it_is_gone_and_not_what_follows_from_that() {
    let harms: [Thing; 2] =
        [("emptied", |path| fs::write(path, "").unwrap()), ("removed", |path| fs::remove_file(path).unwrap())];
    for (harm, cause) in harms {
        let folder = Folder::new("archive-opens-journal");
        let path = complete(folder.path());
        cause(&path.join("journal.jsonl"));
        let ending = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
        ending.complains(&["restore the changed files from a copy", "--resume --accept-loss"]);
        // Its runs are no leftovers, and whoever moved them away would lose them.
        assert!(!ending.err.contains("move away") && !ending.err.contains("a crash"), "{harm}: {}", ending.err);
        accept_and_end(&path).unwrap();
        let whys = journal::read(&path).unwrap().entries.into_iter().filter_map(|entry| match entry.event {
            Some(Event::Lost { path, why, .. }) if path == "journal.jsonl" => Some(why),
            _ => None,
        });
        assert_eq!(whys.collect::<Vec<_>>(), ["no line of it is left"], "{harm}");
        expect_sealed(&path);
    }
}

#[test]
fn a_lost_campaign_file_has_no_remedy_that_collect_refuses() {
    let harms: [fn(&Path); 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, "{\"schema\": \"sparkb").unwrap(),
        |path| {
            fs::remove_file(path).unwrap();
            mkfifo(path, Mode::S_IRWXU).unwrap();
        },
    ];
    for harm in harms {
        let folder = Folder::new("archive-opens-campaign");
        let path = complete(folder.path());
        harm(&path.join("campaign.json"));
        let ending = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
        ending.complains(&["restore campaign.json from a copy", "Collect anew with --archive ANOTHER-FOLDER"]);
        assert!(!ending.err.contains("--accept-loss"), "{}", ending.err);
        let error = accept_and_end(&path).unwrap_err();
        assert!(error.what.contains("campaign.json"), "{error}");
        // Another archive beside it has the remedies that work there.
        let other = Folder::new("archive-opens-campaign-other");
        fs::write(complete(other.path()).join("runs/r1/stdout.log"), "other").unwrap();
        fs::rename(other.path().join("archive"), folder.path().join("second")).unwrap();
        let ending = run_in(folder.path(), &["verify", "."], &[]).expect(5);
        ending.complains(&["restore campaign.json from a copy", "--archive ./second --resume --accept-loss"]);
    }
}

#[test]
fn version_control_at_the_top_of_an_archive_belongs_to_its_owner() {
    let folder = Folder::new("archive-opens-git");
    let path = complete(folder.path());
    for name in [".git/HEAD", ".git/objects/ab/cdef", ".gitattributes"] {
        folder.put(&format!("archive/{name}"), "x");
    }
    fs::create_dir_all(path.join(".git/refs")).unwrap();
    let ending = run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
    ending.complains(&[
        "'.git' belongs to version control",
        "'.gitattributes' belongs to version control",
        "all match",
    ]);
    assert!(!ending.err.contains("HEAD"), "{}", ending.err);
    assert!(Writer::resume(&path, session(), false, &mut |_, _| {}).is_ok());
    // Elsewhere, and under a name that only begins so, it is an addition.
    for name in ["runs/r1/.git/HEAD", ".github/x", "probes/.gitignore"] {
        let added = folder.put(&format!("archive/{name}"), "x");
        let ending = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
        assert!(ending.out.contains(&format!("{:<13}  {name}  ", "extra")), "{}", ending.out);
        fs::remove_file(&added).unwrap();
        let _ = fs::remove_dir(added.parent().unwrap());
    }
    run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
}

#[test]
fn names_that_are_no_text_are_shown_by_their_bytes() {
    let folder = Folder::new("archive-opens-shown");
    let odd = OsStr::from_bytes(b"odd\xff\x1b");
    let run = |verb: &str, path: &OsStr| run_in(folder.path(), &[OsString::from(verb), path.to_owned()], &[]);
    run("verify", odd).expect(5).complains(&["cannot open 'odd\\xFF\\x1B'"]);
    run("status", odd).expect(5).complains(&["'odd\\xFF\\x1B' is not a folder"]);
    fs::create_dir(folder.path().join(odd)).unwrap();
    run("verify", odd).expect(5).complains(&["'odd\\xFF\\x1B' holds no archive"]);
    run("status", odd).expect(5).complains(&["'odd\\xFF\\x1B' is not the archive of a campaign"]);
}

#[test]
fn two_folders_that_look_alike_stay_two_and_each_stays_one() {
    let folder = Folder::new("archive-opens-alike");
    let put = |name: &[u8], file: &str| {
        let place = folder.path().join("in").join(OsStr::from_bytes(name));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(file), name).unwrap();
    };
    // The byte, the four letters, and a folder whose name the number must not take.
    for name in [&b"x\xff"[..], b"x\\xFF", b"x\\xFF-2"] {
        put(name, "a.csv");
        put(name, "b.csv");
    }
    let found = discover(&[folder.path().join("in")]).unwrap();
    let told: Vec<(&str, Vec<u8>)> =
        found.files.iter().map(|file| (file.path.as_str(), fs::read(&file.disk).unwrap())).collect();
    let expected: Vec<(&str, Vec<u8>)> = [
        ("x\\xFF-2/a.csv", &b"x\\xFF-2"[..]),
        ("x\\xFF-2/b.csv", b"x\\xFF-2"),
        ("x\\xFF-3/a.csv", b"x\xff"),
        ("x\\xFF-3/b.csv", b"x\xff"),
        ("x\\xFF/a.csv", b"x\\xFF"),
        ("x\\xFF/b.csv", b"x\\xFF"),
    ]
    .map(|(path, name)| (path, name.to_vec()))
    .into();
    assert_eq!(told, expected);
    assert!(found.files.iter().all(|file| found.get(&file.path) == Some(file)));
}

#[test]
fn a_link_that_leads_nowhere_in_the_place_of_a_campaign_file_is_named_by_every_verb() {
    for (to, what) in [("gone.json", "a link to 'gone.json'"), ("campaign.json", "a link")] {
        let folder = Folder::new("archive-opens-nowhere");
        let path = complete(folder.path());
        fs::remove_file(path.join("campaign.json")).unwrap();
        symlink(to, path.join("campaign.json")).unwrap();
        let why = if to == "gone.json" { "which does not exist" } else { "a link that leads to itself" };
        let status = run_in(folder.path(), &["status", "archive"], &[]).expect(5);
        status.complains(&["campaign.json' is not the file that was written", why, "not a file", "try:"]);
        let verified = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
        let named: Vec<&str> = verified.out.lines().filter(|told| told.contains("  campaign.json  ")).collect();
        assert!(matches!(named[..], [one] if one.contains(what)), "{to}:\n{}", verified.out);
        // Alone in a folder it is still the rest of an archive.
        let alone = Folder::new("archive-opens-nowhere-alone");
        symlink(to, alone.path().join("campaign.json")).unwrap();
        run_in(alone.path(), &["status", "."], &[]).expect(5).complains(&[why]);
        assert!(run_in(alone.path(), &["verify", "."], &[]).expect(5).out.contains(what), "{to}");
    }
}

#[test]
fn runs_are_not_counted_against_a_plan_that_cannot_be_read() {
    let folder = Folder::new("archive-opens-plan");
    let path = complete(folder.path());
    fs::remove_file(path.join("campaign.json")).unwrap();
    let verified = run_in(folder.path(), &["verify", "archive", "--json"], &[]).expect(5);
    verified.complains(&["2 runs done, their plan cannot be read, 1 failed, 1 interrupted"]);
    assert!(!verified.err.contains("planned runs"), "{}", verified.err);
    let said: serde_json::Value = serde_json::from_str(&verified.out).unwrap();
    assert_eq!((&said["runs"]["planned"], &said["runs"]["left"]), (&serde_json::Value::Null, &serde_json::Value::Null));
    // Nor are those of a folder in which one plan is lost.
    let other = Folder::new("archive-opens-plan-other");
    fs::rename(complete(other.path()), folder.path().join("second")).unwrap();
    let verified = run_in(folder.path(), &["verify", "."], &[]).expect(5);
    verified
        .complains(&["a folder of 2 archives, 4 runs done", "./second: a sealed campaign, 2 of 3 planned runs done"]);
}

#[test]
fn a_link_to_the_very_campaign_file_becomes_the_file_when_its_loss_is_accepted() {
    let folder = Folder::new("archive-opens-very");
    let path = complete(folder.path());
    let (place, kept) = (path.join("campaign.json"), folder.path().join("kept.json"));
    fs::rename(&place, &kept).unwrap();
    symlink("../kept.json", &place).unwrap();
    let whole = fs::read(&kept).unwrap();
    let verified = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
    verified.complains(&["--resume --accept-loss"]);
    accept_and_end(&path).unwrap();
    assert_eq!(expect_sealed(&path).lost.len(), 1);
    assert!(fs::symlink_metadata(&place).unwrap().is_file());
    assert_eq!((fs::read(&place).unwrap(), fs::read(&kept).unwrap()), (whole.clone(), whole));
}

/// What `verify` advises is done, word by word.
#[test]
fn a_link_in_the_place_of_the_runs_or_the_journal_has_a_remedy_that_works() {
    for name in ["runs", "journal.jsonl", "probes", "prepared", "interrupted"] {
        let folder = Folder::new("archive-opens-link");
        let path = complete(folder.path());
        let (place, kept) = (path.join(name), folder.path().join("kept of ann"));
        fs::rename(&place, &kept).unwrap();
        symlink("../kept of ann", &place).unwrap();
        assert!(accept_and_end(&path).is_err(), "{name}: no loss can be accepted yet");
        let verified = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
        assert!(!verified.err.contains("--resume"), "{name}: {}", verified.err);
        let command =
            verified.err.lines().find_map(|line| line.split_once(" leads to in its place, then verify again: "));
        let (_, command) = command.unwrap_or_else(|| panic!("{name}: {}", verified.err));
        let shell = std::process::Command::new("sh").args(["-c", command]).current_dir(folder.path()).status().unwrap();
        assert!(shell.success(), "{name}: {command}");
        expect_sealed(&path);
        run_in(folder.path(), &["verify", "archive"], &[]).expect(0);
    }
}

#[test]
fn what_leads_nowhere_in_the_place_of_the_runs_or_the_journal_is_moved_away_before_its_loss_is_accepted() {
    for name in ["runs", "journal.jsonl"] {
        let folder = Folder::new("archive-opens-gone");
        let path = complete(folder.path());
        let place = path.join(name);
        fs::rename(&place, folder.path().join("kept")).unwrap();
        symlink("../gone", &place).unwrap();
        let json = run_in(folder.path(), &["verify", "archive", "--json"], &[]).expect(5);
        let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        let flaws = json["flaws"].as_array().unwrap();
        let own: Vec<_> = flaws.iter().filter(|flaw| flaw["path"] == name).collect();
        assert!(matches!(own[..], [flaw] if flaw["remedy"] == "replace" && flaw["kind"] == "changed"), "{own:?}");
        let verified = run_in(folder.path(), &["verify", "archive"], &[]).expect(5);
        verified.complains(&[
            &format!("move 'archive/{name}' away and restore it from a copy, then verify again"),
            "Without a copy, move it away and record the loss: sparkbench collect SUITE --archive archive --resume --accept-loss",
        ]);
        assert!(accept_and_end(&path).is_err(), "{name}");
        fs::remove_file(&place).unwrap();
        accept_and_end(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!expect_sealed(&path).lost.is_empty(), "{name}");
    }
    // Of several archives each has its own.
    let folder = Folder::new("archive-opens-several");
    for archive in ["one", "two"] {
        fs::rename(complete(folder.path()), folder.path().join(archive)).unwrap();
    }
    fs::remove_dir_all(folder.path().join("one/runs")).unwrap();
    symlink("gone", folder.path().join("one/runs")).unwrap();
    fs::write(folder.path().join("two/runs/r1/stdout.log"), "other").unwrap();
    let verified = run_in(folder.path(), &["verify", "."], &[]).expect(5);
    verified.complains(&[
        "move './one/runs' away",
        "record the loss: sparkbench collect SUITE --archive ./two --resume --accept-loss",
    ]);
}
