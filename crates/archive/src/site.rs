//! The folder of a site on disk: one writer at a time, and a new site in the place of the old one in one step.
//!
//! In:  the folder.  Out: [`SiteLock`], released by dropping it or by the death of the process. [`exchange`].
//! Not here: what the site holds (see `page`).
//!
//! The lock is a file beside the folder, because the folder itself is replaced. It is advisory (`flock`) and belongs to the open file, so
//! the kernel lets go of it however the process ends. Whoever lets go of it in order takes the file away. A file that a dead process left
//! holds nobody up: the next writer takes it over.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{mounts, shown};
use sparkbench_text::error::Error;

/// Between two tries to take the lock.
const BETWEEN: Duration = Duration::from_millis(100);

/// Tries before the wait ends: ten minutes. The largest sites that we know are written in one.
const TRIES: u32 = 6_000;

/// Tries for a site that another process keeps up to date: it will not let go, unless it is ending just now.
const TRIES_STAYING: u32 = 10;

/// Bytes of the lock file that are read.
const NOTE: u64 = 64;

/// Says in the lock file that its holder stays.
const STAYS: &str = "stays";

/// The right to write a site.
#[derive(Debug)]
pub struct SiteLock {
    /// Absent where the file system has no locks.
    file: Option<File>,
    path: PathBuf,
    /// Folders that were made for the file, the deepest first.
    made: Vec<PathBuf>,
}

/// The process that holds a lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its number. Absent in the moment before it has written it down.
    pub pid: Option<u32>,
    /// Whether it keeps the site up to date until somebody ends it.
    pub stays: bool,
}

impl SiteLock {
    /// Takes the lock of a site. `stays`: whether the holder will keep the site up to date until somebody ends it. While another process has
    /// the lock, `waits` is asked before each further try. None when it says no.
    ///
    /// # Errors
    /// For a path that can be no site. When the file cannot be made beside it. When its holder stays, or does not let go for ten minutes: it is named.
    pub fn take(site: &Path, stays: bool, mut waits: impl FnMut(Holder) -> bool) -> Result<Option<Self>, Error> {
        let Some(path) = beside(site) else {
            return Err(Error::archive(format!("cannot use '{}' as the site's folder", shown(site)))
                .detail("it has no name of its own. Or it was replaced by a new site while a shell stood in it")
                .hint(
                    "name a folder, such as --site site. Where the shell stands in the site, enter it anew with cd",
                ));
        };
        refuse(site)?;
        let failed = |cause: io::Error| {
            Error::archive(format!("cannot lock '{}'", shown(site)))
                .detail(format!("'{}' cannot be written, so another run could write the same site", shown(&path)))
                .hint("name a folder with --site whose parent folder can be written")
                .because(cause)
        };
        let mut made = Vec::new();
        for attempt in 0.. {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
                made = parent.ancestors().take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
                made.retain(|folder| !folder.as_os_str().is_empty());
                fs::create_dir_all(parent).map_err(failed)?;
            }
            // Its content is that of its holder until the lock is taken.
            let mut options = OpenOptions::new();
            stays_here(&mut options);
            let file = options.read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
            if !file.metadata().is_ok_and(|meta| meta.is_file()) {
                return Err(Error::archive(format!("'{}' is no file", shown(&path))).hint("move it away"));
            }
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => {
                    note(&file, stays);
                    return Ok(Some(Self { file: Some(file), path, made }));
                }
                // Its last holder took the file away before it let go. The next one is another file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let holder = Holder::of(&file);
                    let most = if holder.stays { TRIES_STAYING } else { TRIES };
                    if attempt >= most {
                        return Err(taken(site, holder));
                    }
                    if !waits(holder) {
                        return Ok(None);
                    }
                    std::thread::sleep(BETWEEN);
                }
                Err(TryLockError::Error(_)) => {
                    drop(file);
                    let _ = fs::remove_file(&path);
                    return Ok(Some(Self { file: None, path, made }));
                }
            }
        }
        Ok(None)
    }

    /// Whether another writer is held up. Not on a file system that has no locks.
    pub const fn holds(&self) -> bool {
        self.file.is_some()
    }
}

impl Drop for SiteLock {
    fn drop(&mut self) {
        // The file goes while it is locked: whoever takes it afterwards sees that it is no longer there. What cannot be removed is taken
        // over by the next writer.
        if let Some(file) = &self.file {
            let _ = fs::remove_file(&self.path);
            let _ = file.unlock();
        }
        // No site came into these, so they are as empty as they were.
        let _ = self.made.iter().try_for_each(fs::remove_dir);
    }
}

impl Holder {
    fn of(file: &File) -> Self {
        let mut text = String::new();
        // What cannot be read names nobody.
        let _ = file.take(NOTE).read_to_string(&mut text);
        let mut words = text.split_whitespace();
        Self { pid: words.next().and_then(|pid| pid.parse().ok()), stays: words.next() == Some(STAYS) }
    }
}

/// Writes down who holds the lock. It only serves those who wait, so nothing is lost where it fails.
fn note(mut file: &File, stays: bool) {
    let word = if stays { STAYS } else { "writes" };
    let _ = file.set_len(0).and_then(|()| file.write_all(format!("{} {word}\n", std::process::id()).as_bytes()));
}

/// The lock file of a site. None for a path without a name, such as `/`.
fn beside(site: &Path) -> Option<PathBuf> {
    // A link to a folder and the folder are one site.
    let whole = fs::canonicalize(site).ok();
    let site = whole.as_deref().unwrap_or(site);
    let mut name = OsString::from(".");
    name.push(site.file_name()?);
    name.push(".sparkbench-lock");
    Some(site.with_file_name(name))
}

/// Refuses a path that no site can take, as far as that shows before anything is read or written.
fn refuse(site: &Path) -> Result<(), Error> {
    // Without a closing `/`, behind which a file is not found.
    let plain: PathBuf = site.components().collect();
    if let Some(file) = plain.ancestors().find(|at| fs::metadata(at).is_ok_and(|meta| !meta.is_dir())) {
        return Err(Error::archive(format!("'{}' is not a folder", shown(file)))
            .detail("a site is a folder of pages")
            .hint("name a folder with --site, such as --site site. --single-file writes the report as one HTML file"));
    }
    // Where the mounts of this machine are not known, writing the site tells.
    match mounts::below(site).ok().and_then(|mut mounted| mounted.remove(site)) {
        Some(kind) => Err(Error::archive(format!("cannot put a site in the place of '{}'", shown(site)))
            .detail(format!("a file system ({kind}) is mounted on it, and no other folder can take its place"))
            .hint(format!("name a folder below it, such as --site {}", shown(&site.join("site"))))),
        None => Ok(()),
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same = |a: &fs::Metadata, b: &fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    matches!((file.metadata(), fs::metadata(path)), (Ok(a), Ok(b)) if same(&a, &b))
}

/// Elsewhere an open file cannot be taken away.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

fn taken(site: &Path, holder: Holder) -> Error {
    let site = shown(site);
    let error = match holder.stays {
        true => Error::archive(format!("another run keeps '{site}' up to date, with analyse --watch")),
        false => Error::archive(format!("another run has been writing '{site}' for more than ten minutes")),
    };
    match holder.pid {
        Some(pid) => error
            .detail(format!("process {pid}"))
            .hint(format!("end it with Ctrl-C or `kill {pid}`, or name another folder with --site")),
        None => error.hint("wait for it, or name another folder with --site"),
    }
}

/// Puts `fresh` in the place of `dir`, and `dir` in the place of `fresh`, in one step. False where the system or the file system cannot do
/// that: nothing is changed then.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn exchange(fresh: &Path, dir: &Path) -> io::Result<bool> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, fresh, AT_FDCWD, dir, RenameFlags::RENAME_EXCHANGE) {
        Ok(()) => Ok(true),
        // A kernel before 3.15, file systems of networks, lower layers of an overlay.
        Err(Errno::ENOSYS | Errno::EINVAL | Errno::EOPNOTSUPP | Errno::EXDEV) => Ok(false),
        Err(cause) => Err(cause.into()),
    }
}

/// Other systems have no such step.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn exchange(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// An open that follows no link and waits for no pipe: somebody else can have put either there.
fn stays_here(options: &mut OpenOptions) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags((nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK).bits());
    }
    #[cfg(not(target_os = "linux"))]
    let _ = options;
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_testing::Folder;

    fn take(site: &Path) -> SiteLock {
        SiteLock::take(site, false, |holder| panic!("held by {holder:?}")).unwrap().unwrap()
    }

    #[test]
    fn one_writer_at_a_time_and_nothing_is_left() {
        let folder = Folder::new("site-lock");
        let site = folder.join("deep/site");
        let lock = take(&site);
        let mut seen = Vec::new();
        let second = SiteLock::take(&site, false, |holder| {
            seen.push(holder);
            seen.len() < 3
        });
        assert!(second.unwrap().is_none(), "it stopped waiting");
        assert_eq!(seen, [Holder { pid: Some(std::process::id()), stays: false }; 3]);
        drop(lock);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "the folders that were made for the lock are gone");
        drop(take(&site));
    }

    #[test]
    fn a_wait_ends_when_the_other_lets_go() {
        let folder = Folder::new("site-lock-wait");
        let site = folder.join("site");
        let mut first = Some(take(&site));
        let second = SiteLock::take(&site, true, |_| {
            drop(first.take());
            true
        });
        assert!(second.unwrap().unwrap().holds());
    }

    #[test]
    fn what_a_dead_process_left_is_taken_over() {
        let folder = Folder::new("site-lock-stale");
        fs::write(folder.join(".site.sparkbench-lock"), "1 stays\n").unwrap();
        drop(take(&folder.join("site")));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn a_site_that_is_kept_up_to_date_is_refused_with_its_keeper() {
        let folder = Folder::new("site-lock-stays");
        let site = folder.join("site");
        let _keeper = SiteLock::take(&site, true, |_| true).unwrap().unwrap();
        let error = SiteLock::take(&site, false, |_| true).unwrap_err().to_string();
        assert!(
            error.contains("analyse --watch") && error.contains(&format!("kill {}", std::process::id())),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_and_its_folder_have_one_lock() {
        let folder = Folder::new("site-lock-link");
        let (site, link) = (folder.join("site"), folder.join("elsewhere"));
        fs::create_dir(&site).unwrap();
        std::os::unix::fs::symlink(&site, &link).unwrap();
        let _lock = take(&site);
        assert!(SiteLock::take(&link, false, |_| false).unwrap().is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let folder = Folder::new("site-lock-followed");
        let (lock, elsewhere) = (folder.join(".site.sparkbench-lock"), folder.join("elsewhere"));
        for there in [false, true] {
            if there {
                fs::write(&elsewhere, "of somebody").unwrap();
            }
            std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
            let error = SiteLock::take(&folder.join("site"), false, |_| true).unwrap_err();
            assert!(error.what.starts_with("cannot lock"), "{error}");
            assert_eq!(fs::read_to_string(&elsewhere).ok().as_deref(), there.then_some("of somebody"));
            assert!(fs::symlink_metadata(&lock).is_ok_and(|meta| meta.is_symlink()), "it stays where it is");
            fs::remove_file(&lock).unwrap();
        }
    }

    #[test]
    fn a_path_without_a_name_is_an_error_and_no_end_of_a_wait() {
        for path in ["/", "no-such-folder/.."] {
            let error = SiteLock::take(Path::new(path), false, |_| true).unwrap_err();
            assert!(error.what.contains("site's folder"), "{error}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_or_of_one_above_it_is_named() {
        let folder = Folder::new("site-file");
        let file = folder.join("report.html");
        fs::write(&file, "x").unwrap();
        for site in [file.clone(), file.join(""), file.join("deep/site")] {
            let error = SiteLock::take(&site, false, |_| true).unwrap_err();
            assert_eq!(error.what, format!("'{}' is not a folder", file.display()));
            assert!(error.hint.is_some_and(|hint| hint.contains("--site") && hint.contains("--single-file")));
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no lock is left");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_mount_point_is_refused_with_a_folder_below_it_as_the_remedy() {
        let error = SiteLock::take(Path::new("/proc"), false, |_| true).unwrap_err();
        assert!(error.detail.as_ref().is_some_and(|detail| detail.contains("(proc) is mounted on it")), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.ends_with("--site /proc/site")));
    }

    #[test]
    fn two_folders_change_places() {
        let folder = Folder::new("site-exchange");
        let (a, b) = (folder.join("a"), folder.join("b"));
        for (path, text) in [(&a, "a"), (&b, "b")] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("x"), text).unwrap();
        }
        let changed = exchange(&a, &b).unwrap();
        let found = [&a, &b].map(|path| fs::read_to_string(path.join("x")).unwrap());
        assert_eq!(found, if changed { ["b", "a"] } else { ["a", "b"] });
    }
}
