//! Entering a root file system: a mount namespace of our own, the mounts in order, then the root.
//!
//! In:  a [`Root`].  Out: this process inside it, and the mount points it had to make.
//! Not here: choosing the mounts (see `env`), starting the program.
//!
//! The namespace is private before anything is mounted. So nothing propagates to the machine, and everything vanishes with the last process
//! in it. Links inside the root are followed as the program inside would follow them: a link to `/run` never leads to the machine's own
//! `/run`.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{chdir, chroot};

use super::messages::Refusal;
use crate::mounts::mount_points;
use crate::{Mount, Root};

/// As many links as the kernel follows in one path.
const LINKS: usize = 40;

/// No source, no type, no options.
const NONE: Option<&str> = None;

/// Enters, and leaves us in `/` of the root. What was made inside is reported as it is made, so that it is known even when a later step
/// fails.
pub(super) fn enter(root: &Root, mut made: impl FnMut(&[PathBuf])) -> Result<(), Refusal> {
    let shown = root.path.display();
    let path = fs::canonicalize(&root.path)
        .map_err(|cause| Refusal::new(format!("cannot enter '{shown}' as a root file system"), cause))?;
    unshare(CloneFlags::CLONE_NEWNS).map_err(|cause| {
        Refusal::new(format!("cannot enter '{shown}': a mount namespace of its own is refused"), cause)
            .hint("entering a root file system needs root (CAP_SYS_ADMIN)")
    })?;
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)
        .map_err(|cause| Refusal::new("cannot keep mounts from travelling back to the machine", cause))?;
    for item in &root.mounts {
        place(&path, item, &mut made)?;
    }
    let step = |cause| Refusal::new(format!("cannot enter '{shown}' as a root file system"), cause);
    chdir(&path).map_err(step)?;
    chroot(".").map_err(step)?;
    chdir("/").map_err(step)
}

fn place(root: &Path, item: &Mount, made: &mut impl FnMut(&[PathBuf])) -> Result<(), Refusal> {
    let at = match item {
        Mount::Proc { at } | Mount::Tmpfs { at } | Mount::Bind { at, .. } => at,
    };
    let failed = |what: &str, cause: &dyn std::fmt::Display| {
        Refusal::new(format!("cannot mount {what} on '{}' inside '{}'", at.display(), root.display()), cause)
    };
    let kernel = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    match item {
        Mount::Proc { .. } => {
            let target = point(root, at, true, made).map_err(|cause| failed("proc", &cause))?;
            mount(Some("proc"), &target, Some("proc"), kernel | MsFlags::MS_NOEXEC, NONE)
                .map_err(|cause| failed("proc", &cause))
        }
        Mount::Tmpfs { .. } => {
            let target = point(root, at, true, made).map_err(|cause| failed("tmpfs", &cause))?;
            mount(Some("tmpfs"), &target, Some("tmpfs"), kernel, Some("mode=1777"))
                .map_err(|cause| failed("tmpfs", &cause))
        }
        Mount::Bind { from, read_only, recursive, optional, .. } => {
            let what = format!("'{}'", from.display());
            let kind = match fs::metadata(from) {
                Err(cause) if *optional && cause.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(cause) => return Err(failed(&what, &cause)),
                Ok(kind) => kind,
            };
            let target = point(root, at, kind.is_dir(), made).map_err(|cause| failed(&what, &cause))?;
            let deep = if *recursive { MsFlags::MS_REC } else { MsFlags::empty() };
            mount(Some(from), &target, NONE, MsFlags::MS_BIND | deep, NONE).map_err(|cause| failed(&what, &cause))?;
            if *read_only {
                shut(&target, *recursive).map_err(|cause| failed(&format!("{what} read-only"), &cause))?;
            }
            Ok(())
        }
    }
}

/// Makes a bind mount read-only, with everything mounted below it. The kernel takes the flag only in a second step and for one mount at a
/// time. The other flags stay as they are.
fn shut(target: &Path, recursive: bool) -> io::Result<()> {
    let table = fs::read("/proc/self/mountinfo")?;
    let mut points: Vec<PathBuf> =
        mount_points(&table).filter(|point| recursive && point.starts_with(target)).collect();
    points.push(target.to_path_buf());
    points.sort();
    points.dedup();
    for point in points {
        let flags = statvfs(&point)?.flags();
        let kept = [
            (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
            (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
            (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
            (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
            (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
            (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
        ];
        let kept = kept.iter().filter(|(has, _)| flags.contains(*has)).map(|(_, keep)| *keep).collect::<MsFlags>();
        mount(NONE, &point, NONE, MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | kept, NONE)?;
    }
    Ok(())
}

/// A mount point inside the root, made where it is missing.
fn point(root: &Path, at: &Path, folder: bool, made: &mut impl FnMut(&[PathBuf])) -> io::Result<PathBuf> {
    let path = inside(root, at)?;
    if path.symlink_metadata().is_ok() {
        return Ok(path);
    }
    let mut new: Vec<PathBuf> =
        path.ancestors().take_while(|above| above.symlink_metadata().is_err()).map(Path::to_path_buf).collect();
    new.reverse();
    made(&new);
    if folder {
        fs::create_dir_all(&path)?;
    } else {
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        fs::File::create_new(&path)?;
    }
    Ok(path)
}

/// Path on the host of a path inside a root, links followed as inside. What is missing at its end is kept as it is written.
pub(super) fn inside(root: &Path, at: &Path) -> io::Result<PathBuf> {
    let mut todo: VecDeque<OsString> = parts(at).collect();
    let mut path = root.to_path_buf();
    let mut links = 0;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            if path != root {
                path.pop();
            }
            continue;
        }
        let next = path.join(&part);
        match fs::read_link(&next) {
            Ok(to) => {
                links += 1;
                if links > LINKS {
                    return Err(io::Error::other(format!("too many links in '{}'", at.display())));
                }
                if to.is_absolute() {
                    path = root.to_path_buf();
                }
                for part in parts(&to).collect::<Vec<_>>().into_iter().rev() {
                    todo.push_front(part);
                }
            }
            // No link, or nothing there.
            Err(_) => path = next,
        }
    }
    Ok(path)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// Takes away the mount points that were made, the last first. One that is no longer empty stays: someone has put something there.
pub(super) fn tidy(made: &[PathBuf]) {
    for path in made.iter().rev() {
        let empty_file = path.symlink_metadata().is_ok_and(|kind| kind.is_file() && kind.len() == 0);
        // Both only ever remove what is empty. A failure leaves an empty name behind, and nothing worse.
        let _ = if empty_file { fs::remove_file(path) } else { fs::remove_dir(path) };
    }
}

/// A program as it is found inside: by its path, or by the folders of `PATH`.
///
/// Without `PATH` the folders are those of the C library, `/bin` and `/usr/bin`.
pub(super) fn program(name: &str, path: Option<&str>) -> Result<PathBuf, Refusal> {
    let missing = |detail: String| Refusal::new(format!("no program '{name}'"), detail);
    if name.contains('/') {
        return match fs::metadata(name) {
            Ok(kind) if kind.is_dir() => Err(missing("it is a folder".to_owned())),
            Ok(_) => Ok(PathBuf::from(name)),
            Err(cause) => Err(missing(cause.to_string())),
        };
    }
    let path = path.unwrap_or("/bin:/usr/bin");
    let mut unfit = None;
    for folder in path.split(':').filter(|_| !name.is_empty()) {
        let candidate = Path::new(if folder.is_empty() { "." } else { folder }).join(name);
        match fs::metadata(&candidate) {
            Ok(kind) if kind.is_file() && executable(&kind) => return Ok(candidate),
            Ok(_) => unfit = Some(candidate),
            Err(_) => {}
        }
    }
    Err(match unfit {
        Some(candidate) => missing(format!("'{}' may not be executed", candidate.display())),
        None => missing(format!("not found in PATH '{path}'")),
    })
}

fn executable(kind: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    kind.permissions().mode() & 0o111 != 0
}
