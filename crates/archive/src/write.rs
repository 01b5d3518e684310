//! Writes a file completely or not at all.
//!
//! In:  a path, and bytes or what writes them.  Out: the file, under its name only once every byte is on disk.
//! Not here: what the bytes are.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::disk::open_special;
use super::shown;
use sparkbench_text::error::Error;

/// Puts `bytes` at `path`, making its folders. An older file of that name is replaced in one step.
///
/// # Errors
/// When a folder or the file cannot be written. Nothing is left behind then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_atomic_by(path, &mut |out| out.write_all(bytes))
}

/// Like [`write_atomic`], with the bytes that `fill` writes, for what is too long to be held.
///
/// # Errors
/// Like [`write_atomic`], and when `fill` fails.
pub fn write_atomic_by(path: &Path, fill: &mut dyn FnMut(&mut dyn io::Write) -> io::Result<()>) -> Result<(), Error> {
    let failed = |cause: io::Error| {
        Error::archive(format!("cannot write '{}'", shown(path)))
            .hint("check that the folder exists, is writable and its disk has free space")
            .because(cause)
    };
    // A link stays a link, and a device or a pipe what it is: renamed over, `/dev/null` would be a file.
    let behind =
        behind_links(path).map_err(|cause| failed(cause).hint("remove the link, or give the name of a file"))?;
    let path = behind.as_path();
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return open_special(path).and_then(|mut file| fill(&mut file)).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotConnected => failed(cause).hint("start what reads it first, or give the name of a file"),
            _ => failed(cause),
        });
    }
    let Some(name) = path.file_name() else {
        return Err(Error::archive(format!("cannot write '{}'", shown(path))).detail("it names no file"));
    };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut aside_name = std::ffi::OsString::from(".");
    aside_name.push(name);
    aside_name.push(format!(".{}.part", std::process::id()));
    let aside = folder.join(aside_name);
    let written = File::create(&aside)
        .and_then(|mut file| fill(&mut file).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&aside, path));
    written.map_err(|cause| {
        // The first failure is the one to report. A leftover that cannot be removed either is hidden and harmless.
        let _ = fs::remove_file(&aside);
        failed(cause)
    })
}

/// Where a path leads, whether there is anything or not.
///
/// # Errors
/// For a link that leads to itself.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    /// Linux follows as many.
    const MOST: usize = 40;
    if let Ok(behind) = fs::canonicalize(path) {
        return Ok(behind);
    }
    // What a shell opened has no name behind its link: `/dev/fd/63` leads to `pipe:[4026]`, and opens all the same.
    if fs::metadata(path).is_ok() {
        return Ok(path.to_owned());
    }
    let mut path = path.to_owned();
    for _ in 0..=MOST {
        let Ok(to) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or_else(|| Path::new("")).join(to);
    }
    Err(io::Error::other("it is a link that leads to itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_whole_or_not_at_all_and_nothing_else_is_left() {
        let folder = sparkbench_testing::Folder::new("write");
        let path = folder.join("deep").join("a.txt");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // What stops in the middle leaves the older file as it is.
        let stopped = write_atomic_by(&path, &mut |out| out.write_all(b"thr").and(Err(io::Error::other("gone"))));
        assert!(stopped.unwrap_err().to_string().contains("gone"));
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // A folder is in the place of the file: the write fails, the folder stays, no leftover beside it.
        let error = write_atomic(&folder.join("deep"), b"three").unwrap_err();
        assert!(error.what.starts_with("cannot write"), "{error}");
        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["deep"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        let folder = sparkbench_testing::Folder::new("write-link");
        let (file, link, nowhere) = (folder.join("a.txt"), folder.join("link"), folder.join("nowhere"));
        write_atomic(&file, b"one").unwrap();
        symlink(&file, &link).unwrap();
        symlink("/dev/null", &nowhere).unwrap();
        write_atomic(&link, b"two").unwrap();
        write_atomic(&nowhere, b"three").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::symlink_metadata(&nowhere).unwrap().is_symlink());
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_to_a_link_that_leads_nowhere_is_where_the_link_points() {
        use std::os::unix::fs::symlink;
        let folder = sparkbench_testing::Folder::new("write-nowhere");
        let (first, second) = (folder.join("first"), folder.join("second"));
        symlink("second", &first).unwrap();
        symlink(folder.join("deep").join("a.txt"), &second).unwrap();
        write_atomic(&first, b"one").unwrap();
        assert_eq!(fs::read(folder.join("deep").join("a.txt")).unwrap(), b"one");
        assert!([&first, &second].iter().all(|link| fs::symlink_metadata(link).unwrap().is_symlink()));
        let circle = folder.join("circle");
        symlink("circle", &circle).unwrap();
        let error = write_atomic(&circle, b"one").unwrap_err();
        assert!(error.to_string().contains("it is a link that leads to itself"), "{error}");
        assert!(fs::symlink_metadata(&circle).unwrap().is_symlink());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_that_nobody_reads_is_refused_and_one_that_is_read_gets_every_byte() {
        use std::io::Read as _;
        let folder = sparkbench_testing::Folder::new("write-pipe");
        let pipe = folder.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = write_atomic(&pipe, b"one").unwrap_err();
        assert!(error.to_string().contains("nothing reads from the other end of it"), "{error}");
        // Opened for both, it is open at once. More than a pipe holds.
        let mut reader = File::options().read(true).write(true).open(&pipe).unwrap();
        let bytes = vec![7; 1 << 20];
        let mut read = vec![0; bytes.len()];
        let reading = std::thread::spawn(move || reader.read_exact(&mut read).map(|()| read));
        write_atomic(&pipe, &bytes).unwrap();
        assert!(reading.join().unwrap().unwrap() == bytes);
    }
}
