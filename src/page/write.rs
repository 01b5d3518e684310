//! The only access of this room to the disk: a finished site replaces the old one in one step.
//!
//! In:  pages in memory.  Out: a folder that is wholly the old site or wholly the new one.
//! Not here: what the pages say.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::{Page, earlier};
use crate::error::Error;

/// The file that marks a folder as a site of this program.
pub(super) const MARK: &str = "data/analysis.json";

/// Writes every page into a fresh folder beside `dir`, then swaps it in.
///
/// A folder that holds anything else than a site of this program is left alone, with an error. When this fails half-way, `dir`
/// is what it was. A folder beside it may be left over and is cleared by the next run.
pub fn write(dir: &Path, pages: &[Page]) -> Result<(), Error> {
    let dir = settle(dir)?;
    refuse_foreign(&dir)?;
    let (fresh, old) = (beside(&dir, ".sparkbench-new"), beside(&dir, ".sparkbench-old"));
    clear(&fresh)?;
    clear(&old)?;
    fs::create_dir_all(&fresh).map_err(|e| fault("create", &fresh, e))?;
    pages.par_iter().try_for_each(|page| put(&fresh, page))?;
    earlier::carry(&dir, &fresh)?;
    let replaced = dir.symlink_metadata().is_ok();
    if replaced {
        fs::rename(&dir, &old).map_err(|e| fault("move the old site aside", &dir, e))?;
    }
    if let Err(cause) = fs::rename(&fresh, &dir) {
        if replaced {
            // Put back what was there. If even that fails, the error below names the place where it lies.
            let _ = fs::rename(&old, &dir);
        }
        return Err(
            fault("move the new site into place", &dir, cause).hint("the old site is where it was, or beside it")
        );
    }
    if replaced { clear(&old) } else { Ok(()) }
}

/// Without a trailing `.` or `/`, and through a link: a link to a folder stays a link.
pub(super) fn settle(dir: &Path) -> Result<PathBuf, Error> {
    match fs::canonicalize(dir) {
        Ok(path) => Ok(path),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            let named = dir.components().next_back().is_some_and(|c| matches!(c, Component::Normal(_)));
            if named && dir.symlink_metadata().is_err() {
                Ok(dir.components().collect())
            } else {
                Err(fault("use as the site's folder", dir, cause).hint("name a folder of its own, such as --site site"))
            }
        }
        Err(cause) => Err(fault("look at", dir, cause)),
    }
}

fn refuse_foreign(dir: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(fault("look into", dir, cause)),
    };
    if entries.count() == 0 || is_ours(dir) || earlier::holds_versions_alone(dir) {
        return Ok(());
    }
    Err(Error::archive(format!("'{}' is not empty and holds no site of this program", dir.display()))
        .detail(format!("expected '{MARK}' of schema {}", crate::verdict::report::SCHEMA))
        .hint("name another folder with --site, or empty this one"))
}

/// The mark must say its schema in its first bytes, whatever else it says.
pub(super) fn is_ours(dir: &Path) -> bool {
    use io::Read;
    const HEAD: u64 = 256;
    let mut head = Vec::new();
    let read = fs::File::open(dir.join(MARK)).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains("sparkbench.analysis/")
}

fn beside(dir: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(dir.file_name().unwrap_or_default());
    name.push(suffix);
    dir.with_file_name(name)
}

fn clear(path: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(fault("clear", path, cause)),
        _ => Ok(()),
    }
}

/// The place of a file of the site, which must be below it.
pub(super) fn plain(root: &Path, path: &str) -> Result<PathBuf, Error> {
    let relative = Path::new(path);
    if !relative.components().all(|c| matches!(c, Component::Normal(_))) {
        return Err(Error::archive(format!("refusing to write '{path}': it would leave the site")));
    }
    Ok(root.join(relative))
}

fn put(root: &Path, page: &Page) -> Result<(), Error> {
    let path = plain(root, &page.path)?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|e| fault("create", parent, e))?;
    }
    fs::write(&path, &page.bytes).map_err(|e| fault("write", &path, e))
}

pub(super) fn fault(doing: &str, path: &Path, cause: io::Error) -> Error {
    Error::archive(format!("cannot {doing} '{}'", path.display())).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    fn scratch(name: &str) -> Folder {
        Folder::new(&format!("write-{name}"))
    }

    fn site(word: &str) -> Vec<Page> {
        vec![
            Page::new("index.html", word),
            Page::new(MARK, format!("{{\"schema\":\"{}\"}}", crate::verdict::report::SCHEMA)),
        ]
    }

    #[test]
    fn a_new_site_replaces_the_old_one_whole() {
        let root = scratch("whole");
        let dir = root.join("site");
        let mut first = site("one");
        first.push(Page::new("r/gone/index.html", "gone"));
        write(&dir, &first).unwrap();
        write(&dir, &site("two")).unwrap();
        assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), "two");
        assert!(!dir.join("r").exists(), "a page of the old site is left");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "something is left beside the site");
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let root = scratch("foreign");
        fs::write(root.join("thesis.tex"), "years of work").unwrap();
        let error = write(&root, &site("one")).unwrap_err();
        assert!(error.what.contains("not empty"), "{error}");
        assert_eq!(fs::read_to_string(root.join("thesis.tex")).unwrap(), "years of work");
    }

    #[test]
    fn an_empty_folder_is_taken() {
        let root = scratch("empty");
        let dir = root.join("site");
        fs::create_dir(&dir).unwrap();
        write(&dir, &site("one")).unwrap();
        assert!(dir.join("index.html").exists());
    }

    #[test]
    fn a_path_that_leaves_the_site_is_refused_and_the_old_site_stands() {
        let root = scratch("escape");
        let dir = root.join("site");
        write(&dir, &site("one")).unwrap();
        for path in ["../outside", "/etc/outside", "a/../../b"] {
            let mut pages = site("two");
            pages.push(Page::new(path, "x"));
            assert!(write(&dir, &pages).is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), "one");
        assert!(!root.join("outside").exists());
    }
}
