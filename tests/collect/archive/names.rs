//! Names of files that are no text, act on a terminal, look alike, or are as long as Linux allows: archived, hashed and verified.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sparkbench::archive::manifest::RunWire;
use sparkbench::archive::verify::Kind;
use sparkbench::archive::{FileName, Retention, Session, Writer, hash};
use sparkbench::error::Error;
use sparkbench::ingest;

use super::maker::*;
use crate::support::files::files_below;
use crate::support::folder::Folder;

/// Two with bytes that are no text, which read alike when these bytes are replaced by one sign, and two that are spelled like them.
const ALIKE: [&[u8]; 4] =
    [b"Gr\xf6\xdfe.dat", b"Gr\xdf\xf6e.dat", "Gr\u{fffd}\u{fffd}e.dat".as_bytes(), b"Gr\\xF6\\xDFe.dat"];

/// Every other kind of odd name.
const ODD: [&[u8]; 18] = [
    b"line\nfeed",
    b"end\n",
    b"\r",
    b"\x1b[31m\x07",
    b"back\\slash",
    b"-rf",
    b" ",
    b"...",
    b".hidden\xff",
    b"*?[x]{a,b}!",
    b"\"quoted'",
    "\u{202e}txt".as_bytes(),
    "\u{85}".as_bytes(),
    b"a%FFb",
    &[b'n'; 255],
    &[0xff; 255],
    b"folder\xff/inner\xf6/deep.txt",
    b"folder\xff/run.json",
];

fn all() -> impl Iterator<Item = &'static [u8]> {
    ALIKE.into_iter().chain(ODD)
}

fn place(folder: &Path, name: &[u8]) -> PathBuf {
    folder.join(OsStr::from_bytes(name))
}

/// Each holds its own name, so that no two have the same hash.
fn leave(folder: &Path) {
    for name in all() {
        let path = place(folder, name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    std::os::unix::fs::symlink(OsStr::from_bytes(b"to\xf6"), place(folder, b"link\xf6")).unwrap();
}

/// Demands every file of [`leave`] with its bytes.
#[track_caller]
fn expect_all(folder: &Path) {
    for name in all() {
        assert_eq!(fs::read(place(folder, name)).ok().as_deref(), Some(name), "{:?}", FileName::new(name));
    }
}

fn begin(path: &Path, session: Session<'static>) -> Writer<'static> {
    Writer::create(path, campaign(1), session).unwrap()
}

#[test]
fn every_name_that_linux_allows_is_archived_with_its_bytes() {
    let folder = Folder::new("archive-names");
    let path = folder.path().join("a");
    let mut writer = begin(&path, session());
    leave(&writer.begin_extra(&probe()).unwrap());
    let probed = writer.finish_extra(&probe()).unwrap();
    leave(&writer.begin("r1").unwrap());
    let finished = writer.finish("r1", run_wire()).unwrap();
    writer.close(&mut |_, _| {}).unwrap();
    expect_sealed(&path);
    expect_all(&probed);
    expect_all(&finished.folder);
    let bytes = fs::read(finished.folder.join("run.json")).unwrap();
    let run: RunWire = serde_json::from_slice(&bytes).unwrap();
    let listed: BTreeMap<&[u8], &str> =
        run.files.iter().map(|file| (file.path.as_bytes(), file.sha256.as_str())).collect();
    assert_eq!(listed.len(), all().count());
    for name in all() {
        assert_eq!(listed[name], hash(name));
    }
    let [link] = run.dropped.as_slice() else { panic!("{:?}", run.dropped) };
    assert_eq!((link.path.as_bytes(), link.why.as_str()), (&b"link\xf6"[..], "a link to 'to\\xF6'"));
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(json["schema"], "sparkbench.run/2");
    assert_eq!(json["dropped"][0]["path"], serde_json::json!({"name_bytes": "bGlua/Y="}));
    let has = |path: serde_json::Value| json["files"].as_array().unwrap().iter().any(|file| file["path"] == path);
    assert!(has(serde_json::json!({"name_bytes": "R3L232UuZGF0"})));
    assert!(has("Gr\\xF6\\xDFe.dat".into()) && has("line\nfeed".into()), "what is text stays a string");
}

#[test]
fn an_archive_that_such_a_name_had_blocked_is_taken_up_again() {
    let folder = Folder::new("archive-names-blocked");
    let path = folder.path().join("a");
    let mut writer = begin(&path, session());
    leave(&writer.begin("r1").unwrap());
    // As an earlier version left it: begun, complete on disk, and not finished.
    drop(writer);
    resume_and_end(&path).unwrap();
    expect_sealed(&path);
    expect_all(&path.join("interrupted/r1-1"));
    let journal = fs::read_to_string(path.join("journal.jsonl")).unwrap();
    assert!(journal.contains("{\"path\":{\"name_bytes\":\"R3L232UuZGF0\"}"), "{journal}");
}

#[test]
fn of_two_names_that_look_alike_the_one_that_changed_is_told() {
    let folder = Folder::new("archive-names-alike");
    let path = folder.path().join("a");
    let mut writer = begin(&path, session());
    leave(&writer.begin("r1").unwrap());
    let run = writer.finish("r1", run_wire()).unwrap().folder;
    writer.close(&mut |_, _| {}).unwrap();
    for name in all() {
        let file = place(&run, name);
        fs::write(&file, "another").unwrap();
        let told = look(&path).flaws;
        let shown = FileName::new(name).inside("runs/r1").to_string();
        assert_eq!((told.len(), told[0].kind, told[0].path.as_str()), (1, Kind::Changed, shown.as_str()), "{told:?}");
        fs::remove_file(&file).unwrap();
        let told = look(&path).flaws;
        assert!(told.iter().any(|flaw| flaw.kind == Kind::Missing && flaw.path == shown), "{told:?}");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, name).unwrap();
    }
    expect_sealed(&path);
    fs::write(place(&run, b"Gr\xfe\xfee.dat"), "more").unwrap();
    let told = look(&path).flaws;
    assert_eq!((told.len(), told[0].kind, told[0].path.as_str()), (1, Kind::Extra, "runs/r1/Gr\\xFE\\xFEe.dat"));
}

#[test]
fn every_file_with_an_odd_name_is_read_and_has_a_path_of_its_own() {
    let folder = Folder::new("archive-names-read");
    let path = folder.path().join("a");
    let mut writer = begin(&path, session());
    leave(&writer.begin("r1").unwrap());
    writer.finish("r1", run_wire()).unwrap();
    writer.close(&mut |_, _| {}).unwrap();
    let found = sparkbench::archive::discover(&[path]).unwrap();
    for file in found.files.iter().filter(|file| file.path.starts_with("runs/r1/") && file.path.contains("Gr")) {
        let bytes = fs::read(&file.disk).unwrap();
        assert_eq!(file.name, FileName::new(bytes).inside("runs/r1"));
        assert_eq!(found.get(&file.path).map(|same| &same.name), Some(&file.name));
    }
    let paths: Vec<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
    for path in ["runs/r1/Gr\\xF6\\xDFe.dat", "runs/r1/Gr\\xF6\\xDFe-2.dat", "runs/r1/line\\x0Afeed"] {
        assert!(paths.contains(&path), "{path} is not in {paths:?}");
    }
    let intake = ingest::all(&found, &ingest::Options::default()).unwrap();
    let input = |path: &str| intake.inputs.iter().find(|input| input.path == path).unwrap();
    let (text, bytes) = (input("runs/r1/Gr\\xF6\\xDFe.dat"), input("runs/r1/Gr\\xF6\\xDFe-2.dat"));
    assert_eq!((text.name_bytes.as_deref(), text.sha256.as_deref()), (None, Some(hash(ALIKE[3]).as_str())));
    assert_eq!(bytes.name_bytes.as_deref(), Some("cnVucy9yMS9HcvbfZS5kYXQ="));
    assert_eq!(bytes.sha256.as_deref(), Some(hash(ALIKE[0]).as_str()));
}

#[test]
fn names_as_long_as_linux_allows_are_masked_and_packed_where_there_is_room() {
    let folder = Folder::new("archive-names-long");
    let path = folder.path().join("a");
    let retention = Retention::new(&[], None).unwrap().packing(&["**".to_owned()]).unwrap();
    let mut writer = begin(&path, Session { retention, ..session() });
    let run = writer.begin("r1").unwrap();
    let (short, long) = ([b'\xff'; 252], [b'\xff'; 255]);
    for name in [&short[..], &long] {
        fs::write(place(&run, name), format!("{SECRET}\n")).unwrap();
    }
    let run = writer.finish("r1", run_wire()).unwrap();
    writer.close(&mut |_, _| {}).unwrap();
    expect_sealed(&path);
    assert_eq!(run.run.masked.get("token"), Some(&2));
    assert!(place(&run.folder, &[&short[..], b".gz"].concat()).exists());
    assert_eq!(fs::read_to_string(place(&run.folder, &long)).unwrap(), "<masked:token>\n", "there is no room for .gz");
}

#[test]
fn what_is_masked_in_a_name_that_is_no_text_is_not_in_the_archive() {
    let folder = Folder::new("archive-names-masked");
    let path = folder.path().join("a");
    let mut writer = begin(&path, session());
    let run = writer.begin("r1").unwrap();
    for name in [&b"\xff.lab-spark-7.log"[..], b"jane/\xfe.txt"] {
        let file = place(&run, name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "x").unwrap();
    }
    std::os::unix::fs::symlink("/nowhere", place(&run, b"\xfd.lab-spark-7.link")).unwrap();
    let run = writer.finish("r1", run_wire()).unwrap().run;
    writer.close(&mut |_, _| {}).unwrap();
    expect_sealed(&path);
    let names = run.files.iter().map(|file| &file.path).chain(run.dropped.iter().map(|file| &file.path));
    let names: Vec<String> = names.map(FileName::to_string).collect();
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| !name.contains("lab-spark-7") && !name.contains("jane")), "{names:?}");
    assert_eq!(names.iter().filter(|name| name.contains(".host-")).count(), 2, "{names:?}");
}

/// Enters one folder after the other, below which no path can be opened as a whole, and leaves a file at the end.
fn leave_deep(folder: &Path, levels: usize, text: &str) {
    let mut at = File::open(folder).unwrap();
    let below = |at: &File, name: &str| Path::new("/proc/self/fd").join(at.as_raw_fd().to_string()).join(name);
    for _ in 0..levels {
        let next = below(&at, &"d".repeat(200));
        fs::create_dir_all(&next).unwrap();
        at = File::open(next).unwrap();
        fs::write(below(&at, "beside.txt"), text).unwrap();
    }
    fs::write(below(&at, "deepest.txt"), text).unwrap();
}

#[test]
fn a_path_too_long_to_be_opened_is_kept_at_a_shorter_one_and_named() {
    let folder = Folder::new("archive-names-deep");
    let path = folder.path().join("a");
    let mut writer = begin(&path, session());
    leave_deep(&writer.begin("r1").unwrap(), 60, "deep");
    let finished = writer.finish("r1", run_wire()).unwrap();
    writer.close(&mut |_, _| {}).unwrap();
    expect_sealed(&path);
    let kept = files_below(&finished.folder);
    assert_eq!(kept.iter().filter(|(path, _)| path.ends_with("beside.txt")).count(), 60);
    assert_eq!(kept.iter().filter(|(path, _)| path.ends_with("deepest.txt")).count(), 1);
    let moved: Vec<&str> = finished.run.dropped.iter().map(|dropped| dropped.why.as_str()).collect();
    assert!(moved.len() > 1 && moved.iter().all(|why| why.starts_with("moved to 'deep-")), "{moved:?}");
}

#[test]
fn folders_with_odd_names_that_somebody_put_there_do_not_block_an_archive() -> Result<(), Error> {
    let folder = Folder::new("archive-names-foreign");
    let path = folder.path().join("a");
    drop(begin(&path, session()));
    let long = [b'x'; 255];
    for name in [&b"probes/\xff/a.txt"[..], b"interrupted/old\xff/b.txt", &[b"probes/", &long[..], b"/c.txt"].concat()]
    {
        let file = place(&path, name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "mine").unwrap();
    }
    resume_and_end(&path)?;
    expect_sealed(&path);
    let cut = format!("interrupted/probes-{}-1/c.txt", "x".repeat(240 - "probes-".len()));
    for name in ["interrupted/probes-\\xFF-1/a.txt", "interrupted/old\\xFF-1/b.txt", &cut] {
        assert_eq!(fs::read_to_string(path.join(name)).unwrap(), "mine");
    }
    Ok(())
}
