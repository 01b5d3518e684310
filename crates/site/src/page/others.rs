//! Files in the folder of a site that this program did not write: a `CNAME`, a `.git`, talks. They stay where they are.
//!
//! In:  the folder of a site, the pages that will be written.  Out: [`Others`], and their files in the new site.
//! Not here: the writing of pages, versions that were published (see `earlier`).
//!
//! What this program wrote is what the site's own list of hashes names. Everything else is somebody else's, whatever it is called.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::Page;
use super::earlier;
use super::write::{fault, is_ours};
use sparkbench_archive::disk::read_plain;
use sparkbench_archive::disk::{self, Tree};
use sparkbench_archive::{FileName, shown};
use sparkbench_text::error::Error;

/// The list of what this program wrote into a site, with a hash for each file.
pub(super) const LIST: &str = "data/SHA256SUMS";

/// What stood in the folder of a site and does not come from this program as it stood there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    /// Files and links of somebody else, by path. They are kept.
    pub kept: Vec<FileName>,
    /// Files of this program that were changed since it wrote them, by path. They are replaced, or removed with their page.
    pub changed: Vec<FileName>,
    /// Folders of somebody else, those above others first.
    pub(super) folders: Vec<FileName>,
}

impl Others {
    /// Of the site in `dir`, before these pages take its place.
    ///
    /// # Errors
    /// A site without its list. A file of somebody else where a page belongs.
    pub(super) fn of(dir: &Path, pages: &[Page]) -> Result<Self, Error> {
        Self::found(dir, pages, true)
    }

    /// Likewise. `compares`: whether our own files are held against their hashes.
    fn found(dir: &Path, pages: &[Page], compares: bool) -> Result<Self, Error> {
        if dir.symlink_metadata().is_err() {
            return Ok(Self::default());
        }
        let listed = listed(dir)?;
        let Tree { files, folders, others, deep, mounted, .. } =
            disk::tree(dir).map_err(|e| fault("look into", dir, e))?;
        if let Some(path) = deep.iter().chain(mounted.iter().map(|(path, _)| path)).next() {
            return Err(Error::archive(format!("'{}' cannot be taken over into the new site", shown(&dir.join(path))))
                .detail("a disk is mounted there, or the paths in it are too long")
                .hint("move it out of the site, or name another folder with --site"));
        }
        let wanted: BTreeMap<&str, &Page> = pages.iter().map(|page| (page.path.as_str(), page)).collect();
        let written = |path: &FileName| path.text().and_then(|path| listed.get(path));
        let is_own = |path: &FileName| {
            path.text().is_some_and(|path| path == LIST || listed.contains_key(path) || earlier::is_of_version(path))
                || is_half_written(path, &|path| listed.contains_key(path) || wanted.contains_key(path))
        };
        let changed = files.par_iter().filter(|path| {
            let is_as_written =
                |sha256: &String| disk::sha256_of(&dir.join(path)).is_ok_and(|(found, _)| found == *sha256);
            compares && written(path).is_some_and(|sha256| !is_as_written(sha256))
        });
        let mut changed: Vec<FileName> = changed.cloned().collect();
        let mut kept = Vec::new();
        for path in files.into_iter().filter(|path| !is_own(path)) {
            let page = path.text().and_then(|path| wanted.get(path));
            match page {
                // An update that was cut off wrote it and did not come to list it.
                Some(page) if fs::read(dir.join(&path)).is_ok_and(|bytes| bytes == page.bytes) => {}
                _ => kept.push(path),
            }
        }
        for (path, _) in others {
            // A link in the place of a page is a change of that page.
            let list = if written(&path).is_some() { &mut changed } else { &mut kept };
            list.push(path);
        }
        kept.sort();
        changed.sort();
        let parents: BTreeSet<FileName> =
            listed.keys().chain([&LIST.to_owned()]).flat_map(|path| above(path)).map(FileName::from).collect();
        let is_foreign = |path: &FileName| !parents.contains(path) && !path.text().is_some_and(earlier::is_version);
        let folders: Vec<FileName> = folders.into_iter().filter(is_foreign).collect();
        let found = Self { kept, changed, folders };
        found.make_way(dir, &wanted)?;
        Ok(found)
    }

    /// Fails where a page needs the place of something that is kept.
    fn make_way(&self, dir: &Path, wanted: &BTreeMap<&str, &Page>) -> Result<(), Error> {
        let folders: BTreeSet<&str> = wanted.keys().flat_map(|path| above(path)).collect();
        let is_page = |path: &FileName| path.text().is_some_and(|path| wanted.contains_key(path));
        let is_folder = |path: &FileName| path.text().is_some_and(|path| folders.contains(path));
        let mut in_the_way = self.kept.iter().filter(|path| is_page(path) || is_folder(path));
        let first = in_the_way.next().or_else(|| self.folders.iter().find(|path| is_page(path)));
        match first {
            None => Ok(()),
            Some(first) => Err(in_the_way_of_a_page(&dir.join(first), in_the_way.count())),
        }
    }

    /// Puts what is kept into the new site: the same files under the same names, not copies, where the disk can do that.
    pub(super) fn carry(&self, dir: &Path, fresh: &Path) -> Result<(), Error> {
        for folder in &self.folders {
            let to = fresh.join(folder);
            fs::create_dir_all(&to).map_err(|e| fault("create", &to, e))?;
        }
        for path in &self.kept {
            let (from, to) = (dir.join(path), fresh.join(path));
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(|e| fault("create", parent, e))?;
            }
            same(&from, &to).map_err(|e| fault("take over into the new site", &from, e))?;
        }
        // The deepest first: nothing can be put into a folder that may not be written.
        for folder in self.folders.iter().rev() {
            let from = dir.join(folder);
            let mode = fs::metadata(&from).map(|meta| meta.permissions());
            mode.and_then(|mode| fs::set_permissions(fresh.join(folder), mode))
                .map_err(|e| fault("take over into the new site", &from, e))?;
        }
        Ok(())
    }

    /// Puts what came into the old site, now in `old`, while the new one was made beside it into the new one.
    ///
    /// # Errors
    /// When something cannot be taken over. It stays in `old`, which the error names.
    pub(super) fn follow(&self, old: &Path, dir: &Path, pages: &[Page]) -> Result<(), Error> {
        let stays =
            |error: Error| error.hint(format!("it is in '{}'. Take it from there before the next run", shown(old)));
        let now = Self::found(old, pages, false).map_err(stays)?;
        for path in now.kept.iter().filter(|path| !is_same(&old.join(path), &dir.join(path))) {
            let (from, to) = (old.join(path), dir.join(path));
            let there = to.symlink_metadata().is_ok();
            if there && !self.kept.contains(path) {
                return Err(stays(in_the_way_of_a_page(&to, 0)));
            }
            let taken = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| match there {
                // What was carried is replaced by what took its place.
                true => fs::remove_file(&to).and_then(|()| same(&from, &to)),
                false => same(&from, &to),
            });
            taken.map_err(|e| stays(fault("take over into the new site", &from, e)))?;
        }
        Ok(())
    }
}

/// Whether two paths are one file, or hold the same. Links are compared by where they lead.
fn is_same(a: &Path, b: &Path) -> bool {
    let kind = |path: &Path| path.symlink_metadata().map(|meta| (meta.file_type(), meta.len())).ok();
    match (kind(a), kind(b)) {
        (Some((of_a, _)), Some(_)) if of_a.is_symlink() => fs::read_link(a).ok() == fs::read_link(b).ok(),
        (Some((of_a, a_bytes)), Some((of_b, b_bytes))) if of_a.is_file() && of_b.is_file() => {
            is_one_file(a, b) || (a_bytes == b_bytes && fs::read(a).ok() == fs::read(b).ok())
        }
        (Some((of_a, _)), Some((of_b, _))) => of_a == of_b,
        _ => false,
    }
}

#[cfg(unix)]
fn is_one_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let number = |path: &Path| path.symlink_metadata().map(|meta| (meta.dev(), meta.ino())).ok();
    number(a).is_some() && number(a) == number(b)
}

#[cfg(not(unix))]
fn is_one_file(_: &Path, _: &Path) -> bool {
    false
}

/// The error for a file of somebody else that a page would replace. `more`: how many further ones.
pub(super) fn in_the_way_of_a_page(path: &Path, more: usize) -> Error {
    let error = Error::archive(format!("'{}' was not written by this program, and a page belongs there", shown(path)));
    let error = match more {
        0 => error,
        more => error.detail(format!("{more} more stand where pages belong")),
    };
    error.hint("move it away, or name another folder with --site. Nothing was changed")
}

/// What the list of the site names: hash by path. Nothing where there is no site of this program.
fn listed(dir: &Path) -> Result<BTreeMap<String, String>, Error> {
    if !is_ours(dir) {
        return Ok(BTreeMap::new());
    }
    let path = dir.join(LIST);
    let text =
        read_plain(&path).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)).map_err(|cause| {
            Error::archive(format!("cannot read '{}'", shown(&path)))
            .detail(
                "it lists what this program wrote into the site. Without it, pages look like files of somebody else",
            )
            .hint("bring it back from a copy. Or move your own files out of the folder, then remove the folder")
            .because(cause)
        })?;
    let entries = text.lines().filter_map(|line| line.split_once("  "));
    Ok(entries.map(|(sha256, path)| (path.to_owned(), sha256.to_owned())).collect())
}

/// Folders above a path, the top one not.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(end, _)| path.get(..end))
}

/// Whether it is what an update left that was ended while it wrote a file: `.NAME.part` beside its place.
fn is_half_written(path: &FileName, is_known: &dyn Fn(&str) -> bool) -> bool {
    let of = |path: &str| {
        let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
        let name = name.strip_prefix('.')?.strip_suffix(".part")?;
        Some(if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") })
    };
    path.text().and_then(of).is_some_and(|path| is_known(&path))
}

/// The same file at a second place. A link is made anew, and what cannot have two names is copied.
fn same(from: &Path, to: &Path) -> io::Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let kind = fs::symlink_metadata(from)?.file_type();
    if kind.is_symlink() {
        #[cfg(unix)]
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    } else if kind.is_file() {
        return fs::copy(from, to).map(drop);
    }
    Err(io::Error::other("it is neither a file nor a folder"))
}
