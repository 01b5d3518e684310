//! Disks that are full, folders that cannot be written, two collectors.

use std::{fs, io};

use sparkbench::archive::lock::held;
use sparkbench::archive::{Writer, disk};
use sparkbench::error::Error;

use super::maker::*;
use crate::support::folder::Folder;
#[cfg(target_os = "linux")]
use crate::support::needs;

#[test]
fn a_second_collector_is_told_who_holds_the_archive() {
    let folder = Folder::new("archive-two");
    let path = folder.path().join("a");
    let writer = Writer::create(&path, campaign(1), session()).unwrap();
    assert_eq!(held(&path), Some(true));
    let error = Writer::resume(&path, session(), false, &mut |_, _| {}).err().unwrap();
    assert!(error.what.starts_with("another collector is writing"), "{error}");
    assert!(error.detail.as_deref().unwrap().contains(&format!("process {}", std::process::id())), "{error}");
    assert_eq!(error.kind.exit_code(), 5);
    drop(writer);
    assert_eq!(held(&path), Some(false));
    drop(Writer::resume(&path, session(), false, &mut |_, _| {}).unwrap());
    let names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the lock leaves nothing behind: {names:?}");
}

#[test]
fn a_folder_that_holds_something_is_not_written_to() {
    let folder = Folder::new("archive-foreign");
    folder.put("notes.txt", "mine");
    let error = Writer::create(folder.path(), campaign(1), session()).err().unwrap();
    assert_eq!(error.kind.exit_code(), 2);
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_campaign_or_a_journal_that_was_changed_is_not_gone_on_with() {
    let folder = Folder::new("archive-changed");
    let path = folder.path().join("a");
    let mut writer = Writer::create(&path, campaign(2), session()).unwrap();
    leave_files(&writer.begin("r1").unwrap());
    writer.finish("r1", run_wire()).unwrap();
    drop(writer);
    let (campaign, journal) =
        (fs::read(path.join("campaign.json")).unwrap(), fs::read(path.join("journal.jsonl")).unwrap());
    fs::write(path.join("campaign.json"), [&campaign[..], b"\n"].concat()).unwrap();
    assert!(Writer::resume(&path, session(), false, &mut |_, _| {}).err().unwrap().to_string().contains("was changed"));
    fs::write(path.join("campaign.json"), &campaign).unwrap();
    let mut changed = journal.clone();
    changed[20] ^= 1;
    fs::write(path.join("journal.jsonl"), &changed).unwrap();
    assert!(Writer::resume(&path, session(), false, &mut |_, _| {}).err().unwrap().to_string().contains("line 1"));
    fs::remove_file(path.join("journal.jsonl")).unwrap();
    assert!(
        Writer::resume(&path, session(), false, &mut |_, _| {})
            .err()
            .unwrap()
            .to_string()
            .contains("has lost its journal.jsonl")
    );
    fs::write(path.join("journal.jsonl"), &journal).unwrap();
    resume_and_end(&path).unwrap();
    expect_sealed(&path);
}

#[test]
fn each_refusal_of_the_file_system_has_the_remedy_that_helps() {
    let folder = Folder::new("archive-refusals");
    let path = folder.path().join("a");
    let writer = Writer::create(&path, campaign(1), session()).unwrap();
    // Linux: EPERM, EACCES, ENOSPC, EROFS.
    for (number, detail, remedy) in [
        (1, "the file system forbids the change", "'lsattr -aR ARCHIVE'"),
        (1, "the file system forbids the change", "'chattr -i -a' as root, then continue with --resume"),
        (13, "permission is denied", "give this user write access to the archive"),
        (28, "the disk is full", "free space"),
        (30, "the file system is read-only", "mount it writable"),
    ] {
        let cause = || io::Error::from_raw_os_error(number);
        let of_a_step = disk::trouble("write", &path, "1 run is complete", cause());
        let of_a_file = Error::archive(format!("cannot write '{}/x'", path.display())).because(cause());
        for error in [of_a_step, writer.explained(of_a_file)] {
            let (told, hint) = (error.detail.clone().unwrap_or_default(), error.hint.clone().unwrap_or_default());
            assert!(told.starts_with(detail) && hint.contains(remedy), "{error}");
        }
    }
}

/// A file or folder that nobody may change, until the test ends.
#[cfg(target_os = "linux")]
struct Fixed(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl Fixed {
    fn new(path: &std::path::Path) -> Option<Self> {
        let fixed = std::process::Command::new("chattr").arg("+i").arg(path).output();
        if !fixed.is_ok_and(|output| output.status.success()) {
            needs::skip("chattr +i needs root, and a file system that knows it");
            return None;
        }
        Some(Self(path.to_path_buf()))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Fixed {
    fn drop(&mut self) {
        let _ = std::process::Command::new("chattr").arg("-i").arg(&self.0).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_run_made_immutable_is_not_called_a_lack_of_rights() {
    let folder = Folder::new("archive-immutable");
    let path = folder.path().join("a");
    for name in ["", "secret.txt"] {
        let mut writer = Writer::create(&path, campaign(1), session()).unwrap();
        let run = writer.begin("r1").unwrap();
        leave_files(&run);
        fs::write(run.join("secret.txt"), format!("a {SECRET}")).unwrap();
        let Some(fixed) = Fixed::new(&run.join(name)) else { return };
        let error = writer.finish("r1", run_wire()).unwrap_err().to_string();
        assert!(error.contains("'chattr -i -a' as root") && !error.contains("write access"), "{error}");
        drop((fixed, writer));
        resume_and_end(&path).unwrap();
        expect_sealed(&path);
        fs::remove_dir_all(&path).unwrap();
    }
}

#[cfg(target_os = "linux")]
mod mounted {
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;
    use crate::support::wait::until;

    /// A file system of its own in memory, gone when the test ends.
    struct Small(PathBuf);

    impl Small {
        fn new(folder: &Folder, kib: u32) -> Option<Self> {
            let path = folder.path().join("small");
            fs::create_dir_all(&path).unwrap();
            let mounted =
                Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"]).arg(&path).output();
            match mounted {
                Ok(output) if output.status.success() => Some(Self(path)),
                Ok(output) => {
                    needs::skip(&format!("no file system can be mounted: {}", String::from_utf8_lossy(&output.stderr)));
                    None
                }
                Err(cause) => {
                    needs::skip(&format!("no file system can be mounted: {cause}"));
                    None
                }
            }
        }

        /// A program that another test is just starting holds copies of our open files for a moment, and the kernel refuses until then.
        fn remount(&self, options: &str) {
            let options = format!("remount,{options}");
            until("the file system is mounted anew", || {
                Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success()
            });
        }
    }

    impl Drop for Small {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        }
    }

    #[test]
    fn a_disk_that_fills_up_anywhere_stops_the_campaign_and_loses_nothing() {
        let folder = Folder::new("archive-full");
        let Some(small) = Small::new(&folder, 4096) else { return };
        let filler = small.0.join("filler");
        let mut stopped = 0;
        // Less and less room, so that every step meets the end of the disk once.
        for room_kib in (0..200).step_by(4) {
            let path = small.0.join("a");
            let filling = |kib: u64| {
                let free = 4096 - kib - used(&path);
                fs::write(&filler, vec![b'x'; (free * 1024) as usize]).ok();
            };
            let made = Writer::create(&path, campaign(2), session()).and_then(|mut writer| {
                leave_files(&writer.begin("r1")?);
                writer.finish("r1", run_wire())?;
                filling(room_kib);
                go_on(&mut writer, &campaign(2), &[])
            });
            match made {
                Ok(()) => {}
                Err(error) => {
                    stopped += 1;
                    assert!(error.to_string().contains("the disk is full"), "{error}");
                    assert!(error.to_string().contains("complete and safe"), "{error}");
                    // Taking it up again on a full disk stops again, or fits into what there is.
                    if let Err(error) = resume_and_end(&path) {
                        assert!(error.to_string().contains("the disk is full"), "{error}");
                    }
                }
            }
            let r1 = fs::read(path.join("runs/r1/run.json")).unwrap();
            fs::remove_file(&filler).unwrap();
            resume_and_end(&path).unwrap_or_else(|error| panic!("with {room_kib} KiB: {error}"));
            assert_eq!(fs::read(path.join("runs/r1/run.json")).unwrap(), r1);
            expect_sealed(&path);
            fs::remove_dir_all(&path).unwrap();
        }
        assert!(stopped > 3, "only {stopped} campaigns met the end of the disk");
    }

    fn used(path: &std::path::Path) -> u64 {
        let files =
            walkdir::WalkDir::new(path).into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
        files.map(|entry| entry.metadata().unwrap().len().div_ceil(4096) * 4).sum()
    }

    #[test]
    fn a_file_system_that_turns_read_only_is_said_and_gone_on_with_later() {
        let folder = Folder::new("archive-readonly");
        let Some(small) = Small::new(&folder, 4096) else { return };
        let path = small.0.join("a");
        let mut writer = Writer::create(&path, campaign(2), session()).unwrap();
        leave_files(&writer.begin("r1").unwrap());
        writer.finish("r1", run_wire()).unwrap();
        drop(writer);
        small.remount("ro");
        let error = Writer::resume(&path, session(), false, &mut |_, _| {}).err().unwrap();
        assert!(error.to_string().contains("the file system is read-only"), "{error}");
        assert_eq!(look(&path).flaws, [], "verifying writes nothing");
        small.remount("rw");
        resume_and_end(&path).unwrap();
        expect_sealed(&path);
    }

    #[test]
    fn an_archive_that_vanishes_under_the_collector_is_said() {
        let folder = Folder::new("archive-vanished");
        let path = folder.path().join("a");
        let mut writer = Writer::create(&path, campaign(1), session()).unwrap();
        writer.begin("r1").unwrap();
        fs::remove_dir_all(&path).unwrap();
        let error = writer.finish("r1", run_wire()).unwrap_err();
        assert!(error.to_string().contains("it is no longer there"), "{error}");
    }
}
