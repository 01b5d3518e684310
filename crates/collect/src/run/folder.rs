//! The run's own folder: made, filled with files and with this program, and emptied of the latter.
//!
//! In:  paths, names, bytes.  Out: files.
//! Not here: the archive's own files (see `archive`).

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::workload::Workload;
use sparkbench_archive::shown;
use sparkbench_host::Host;
use sparkbench_text::error::Error;

/// Path of this program inside the environment. It is the program itself where the run's folder has the same path inside, else a copy in
/// that folder.
pub(super) fn own_program(
    host: &dyn Host,
    workload: &dyn Workload,
    work: &Path,
    inside: &Path,
) -> Result<Option<PathBuf>, Error> {
    if !workload.needs_own_program() {
        return Ok(None);
    }
    let failed = |cause| Error::archive("cannot bring this program into the environment").because(cause);
    let program = host.own_program().map_err(failed)?;
    if work == inside {
        return Ok(Some(program));
    }
    fs::copy(&program, work.join(OWN_PROGRAM)).map_err(failed)?;
    Ok(Some(inside.join(OWN_PROGRAM)))
}

/// The copy is not a result: its version is in `campaign.json`.
pub(super) fn remove_own_program(work: &Path) -> Result<(), Error> {
    let path = work.join(OWN_PROGRAM);
    match fs::remove_file(&path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::archive(format!("cannot remove '{}'", shown(&path))).because(cause))
        }
        _ => Ok(()),
    }
}

/// Name of our own program in a run's own folder.
const OWN_PROGRAM: &str = ".sparkbench-program";

/// The run's own folder, open to whoever the program runs as inside.
pub(super) fn make_folder(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)
        .map_err(|cause| Error::archive(format!("cannot create '{}'", shown(folder))).because(cause))
}

/// A file of a run's folder, with the folders above it. What a program has put in its place is removed first: a link would lead elsewhere,
/// and a pipe would be waited for without end.
pub(super) fn write_asset(folder: &Path, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    let path = folder.join(name);
    let written = || -> io::Result<()> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
            _ => {}
        }
        fs::File::create_new(&path)?.write_all(bytes)
    };
    written().map_err(|cause| Error::archive(format!("cannot write '{}'", shown(&path))).because(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_run_is_written_where_a_program_has_put_a_link_or_a_pipe() {
        let folder = sparkbench_testing::Folder::new("write-asset");
        let (elsewhere, link, pipe) = (folder.join("elsewhere"), folder.join("link"), folder.join("pipe"));
        fs::write(&elsewhere, "kept").unwrap();
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for name in ["link", "pipe", "deep/new"] {
            write_asset(&folder, name, b"one").unwrap();
            write_asset(&folder, name, b"two").unwrap();
            assert_eq!(fs::read(folder.join(name)).unwrap(), b"two");
            assert!(fs::symlink_metadata(folder.join(name)).unwrap().is_file());
        }
        assert_eq!(fs::read(&elsewhere).unwrap(), b"kept");
    }
}
