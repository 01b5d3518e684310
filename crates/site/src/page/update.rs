//! Updates a site file by file: unchanged files stay untouched, and a reader meets no half-written page.
//!
//! In:  the finished files of a site, and the earlier content of its folder.  Out: the folder with these files and none of our old ones.
//! Not here: the first writing and the replacing of a whole site (see `write`).
//!
//! New files come first, so that no link leads to a page that is not there yet. They are listed before: what a list does not name is taken
//! for somebody else's file, also after this was ended half-way. Changed files come next. Then files that the site no longer has are
//! removed. The hashes come last. Each file is written under another name and renamed. During the update the folder holds pages of
//! two states, each of them whole. Whoever needs one state of everything waits for the hashes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::HashedPage;
use super::Page;
use super::others::{LIST as LAST, Others, in_the_way_of_a_page};
use super::write::{fault, is_ours, plain, settle};
use sparkbench_archive::FileName;
use sparkbench_archive::disk::read_plain;
use sparkbench_archive::disk::sha256_of;
use sparkbench_text::error::Error;

/// What the folder of a site holds after we wrote it: hash and size by path.
#[derive(Debug, Default)]
pub struct Written(BTreeMap<String, (String, u64)>);

impl Written {
    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Number of files that an update wrote and took away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Files written.
    pub written: usize,
    /// Files removed.
    pub removed: usize,
    /// What stood in the folder where the whole site was written. Otherwise the files that somebody had changed.
    pub others: Others,
}

/// Brings the site in `dir` up to date. What is there and was not written by the holder of `written` is replaced as a whole, as
/// [`write`](super::write()) does.
///
/// # Errors
/// When a file cannot be written or removed. Completed steps are recorded, and the next update continues from there.
pub fn update(dir: &Path, sheets: &[Arc<HashedPage>], written: &mut Written) -> Result<Changes, Error> {
    if written.0.is_empty() || !is_ours(dir) {
        written.0.clear();
        let pages: Vec<Page> = sheets.iter().map(|sheet| sheet.page.clone()).collect();
        let others = super::write(dir, &pages)?;
        written.0 = sheets.iter().map(|sheet| (sheet.page.path.clone(), state(sheet))).collect();
        return Ok(Changes { written: sheets.len(), removed: 0, others });
    }
    let dir = settle(dir)?;
    let stale: Vec<&Arc<HashedPage>> = sheets.par_iter().filter(|sheet| !is_there(&dir, sheet, written)).collect();
    let is_new = |sheet: &HashedPage| !written.0.contains_key(&sheet.page.path);
    let (new, changed): (Vec<&Arc<HashedPage>>, Vec<&Arc<HashedPage>>) = stale.iter().partition(|sheet| is_new(sheet));
    let changed: Vec<&Arc<HashedPage>> = changed.into_iter().filter(|sheet| sheet.page.path != LAST).collect();
    let is_last =
        |sheet: &&Arc<HashedPage>| sheet.page.path == LAST && (!new.is_empty() || !is_there(&dir, sheet, written));
    let last: Vec<&Arc<HashedPage>> = sheets.iter().filter(is_last).collect();
    let gone = vanished(sheets, written);
    let touched =
        || new.iter().chain(&changed).map(|sheet| sheet.page.path.as_str()).chain(gone.iter().map(String::as_str));
    touched().try_for_each(|path| expect_own_folders(&dir, path))?;
    let edited: Vec<FileName> = touched().filter(|path| is_edited(&dir, path, written)).map(FileName::from).collect();
    if !new.is_empty() {
        make_way(&dir, &new)?;
        list(&dir, &new, written)?;
        forget(LAST, written);
    }
    put_all(&dir, &new, written)?;
    put_all(&dir, &changed, written)?;
    for path in &gone {
        take_away(&dir, path)?;
        written.0.remove(path);
    }
    put_all(&dir, &last, written)?;
    Ok(Changes { written: stale.len(), removed: gone.len(), others: Others { changed: edited, ..Others::default() } })
}

/// Fails where a folder above a page is a link: what lies behind it is not of this site.
fn expect_own_folders(dir: &Path, path: &str) -> Result<(), Error> {
    let linked = |end: usize| {
        let folder = dir.join(path.get(..end).unwrap_or_default());
        folder.symlink_metadata().is_ok_and(|meta| meta.is_symlink()).then_some(folder)
    };
    match path.match_indices('/').find_map(|(end, _)| linked(end)) {
        Some(folder) => Err(in_the_way_of_a_page(&folder, 0)),
        None => Ok(()),
    }
}

/// Whether a file that we wrote, and that is written anew or taken away now, was changed by somebody meanwhile.
fn is_edited(dir: &Path, path: &str, written: &Written) -> bool {
    let known = written.0.get(path).filter(|(hash, _)| path != LAST && !hash.is_empty());
    known.is_some_and(|(hash, _)| sha256_of(&dir.join(path)).is_ok_and(|(found, _)| found != *hash))
}

/// Fails where somebody else's file stands in the place of a page that we never wrote. The same bytes are no loss.
fn make_way(dir: &Path, new: &[&Arc<HashedPage>]) -> Result<(), Error> {
    for sheet in new {
        let path = plain(dir, &sheet.page.path)?;
        let is_same = || fs::read(&path).is_ok_and(|bytes| bytes == sheet.page.bytes);
        if path.symlink_metadata().is_ok_and(|meta| !(meta.is_file() && is_same())) {
            return Err(in_the_way_of_a_page(&path, 0));
        }
    }
    Ok(())
}

/// Lists what is there and what comes, before it comes.
fn list(dir: &Path, new: &[&Arc<HashedPage>], written: &Written) -> Result<(), Error> {
    let path = plain(dir, LAST)?;
    // Versions that were published are in the list and not among the files of this site.
    let old = read_plain(&path).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let mut lines: BTreeMap<&str, &str> =
        old.lines().filter_map(|line| line.split_once("  ")).map(|(hash, path)| (path, hash)).collect();
    lines.extend(
        written.0.iter().filter(|(path, _)| *path != LAST).map(|(path, (hash, _))| (path.as_str(), hash.as_str())),
    );
    lines.extend(new.iter().map(|sheet| (sheet.page.path.as_str(), sheet.sha256.as_str())));
    let text: String = lines.iter().map(|(path, hash)| format!("{hash}  {path}\n")).collect();
    put(dir, LAST, text.as_bytes())
}

/// A file of ours whose content is not known any more.
fn forget(path: &str, written: &mut Written) {
    if let Some(known) = written.0.get_mut(path) {
        *known = <(String, u64)>::default();
    }
}

fn state(sheet: &HashedPage) -> (String, u64) {
    (sheet.sha256.clone(), sheet.page.bytes.len() as u64)
}

/// Whether the folder holds the file already: we wrote it, and it still has its size.
fn is_there(dir: &Path, sheet: &HashedPage, written: &Written) -> bool {
    let known = written.0.get(&sheet.page.path).is_some_and(|(hash, _)| *hash == sheet.sha256);
    known
        && fs::symlink_metadata(dir.join(&sheet.page.path))
            .is_ok_and(|meta| meta.is_file() && meta.len() == sheet.page.bytes.len() as u64)
}

fn vanished(sheets: &[Arc<HashedPage>], written: &Written) -> Vec<String> {
    let now: std::collections::BTreeSet<&str> = sheets.iter().map(|sheet| sheet.page.path.as_str()).collect();
    written.0.keys().filter(|path| !now.contains(path.as_str())).cloned().collect()
}

/// Writes these in parallel and records what was written. If several fail, the first error is reported.
fn put_all(dir: &Path, sheets: &[&Arc<HashedPage>], written: &mut Written) -> Result<(), Error> {
    let done: Vec<Result<(), Error>> =
        sheets.par_iter().map(|sheet| put(dir, &sheet.page.path, &sheet.page.bytes)).collect();
    for (sheet, done) in sheets.iter().zip(&done) {
        if done.is_ok() {
            written.0.insert(sheet.page.path.clone(), state(sheet));
        } else {
            forget(&sheet.page.path, written);
        }
    }
    done.into_iter().collect()
}

/// Writes aside and renames. The place aside begins with a dot, which no page of a site does.
fn put(dir: &Path, path: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = plain(dir, path)?;
    let folder = path.parent().unwrap_or(dir);
    fs::create_dir_all(folder).map_err(|e| fault("create", folder, e))?;
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".part");
    let aside = folder.join(name);
    fs::write(&aside, bytes).and_then(|()| fs::rename(&aside, &path)).map_err(|e| {
        // The first failure is the one to report. What is left over is replaced the next time.
        let _ = fs::remove_file(&aside);
        fault("write", &path, e)
    })
}

/// Takes a file away, and the folders that it leaves empty.
fn take_away(dir: &Path, path: &str) -> Result<(), Error> {
    let file = plain(dir, path)?;
    match fs::remove_file(&file) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(fault("remove", &file, cause)),
        _ => {}
    }
    let mut folder = file.parent();
    // A folder that is not empty refuses, and its own parents are not empty then either.
    while let Some(at) = folder.filter(|at| *at != dir && fs::remove_dir(at).is_ok()) {
        folder = at.parent();
    }
    Ok(())
}

#[cfg(test)]
mod tests {

    use super::super::write::MARK;
    use super::*;
    use sparkbench_testing::Folder;

    fn scratch(name: &str) -> Folder {
        Folder::new(&format!("update-{name}"))
    }

    fn site(files: &[(&str, &str)]) -> Vec<Arc<HashedPage>> {
        let mark = format!("{{\"schema\":\"{}\"}}", sparkbench_verdict::report::SCHEMA);
        let own = [(MARK, mark.as_str()), (LAST, "")];
        own.iter().chain(files).map(|(path, text)| HashedPage::new(Page::new(*path, *text))).collect()
    }

    fn read(dir: &Path, path: &str) -> Option<String> {
        fs::read_to_string(dir.join(path)).ok()
    }

    #[test]
    fn only_what_changed_is_written_and_what_is_gone_is_taken_away() {
        let root = scratch("few");
        let dir = root.join("site");
        let mut written = Written::default();
        update(&dir, &site(&[("a.html", "1"), ("r/x/b.html", "1"), ("c.html", "1")]), &mut written).unwrap();
        let untouched = fs::metadata(dir.join("c.html")).unwrap().modified().unwrap();
        let changes = update(&dir, &site(&[("a.html", "2"), ("r/y/d.html", "1"), ("c.html", "1")]), &mut written);
        assert_eq!(changes.unwrap(), Changes { written: 2, removed: 1, others: Others::default() });
        assert_eq!(read(&dir, "a.html").as_deref(), Some("2"));
        assert_eq!(read(&dir, "r/y/d.html").as_deref(), Some("1"));
        assert!(!dir.join("r/x").exists(), "the folder of a run that is gone is gone");
        assert_eq!(fs::metadata(dir.join("c.html")).unwrap().modified().unwrap(), untouched);
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 4, "something is left aside");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "something is left beside the site");
    }

    #[test]
    fn a_file_that_somebody_changed_or_took_away_is_written_again() {
        let root = scratch("mended");
        let dir = root.join("site");
        let mut written = Written::default();
        let sheets = site(&[("a.html", "one"), ("b.html", "one")]);
        update(&dir, &sheets, &mut written).unwrap();
        fs::write(dir.join("a.html"), "scribbled").unwrap();
        fs::remove_file(dir.join("b.html")).unwrap();
        let changes = update(&dir, &sheets, &mut written).unwrap();
        assert_eq!((changes.written, changes.others.changed), (2, vec![FileName::from("a.html")]));
        assert_eq!((read(&dir, "a.html"), read(&dir, "b.html")), (Some("one".into()), Some("one".into())));
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(update(&dir, &sheets, &mut written).unwrap().written, 4, "the whole site again");
    }

    #[test]
    fn a_failure_leaves_what_was_there_and_the_next_update_goes_on() {
        let root = scratch("fails");
        let dir = root.join("site");
        let mut written = Written::default();
        update(&dir, &site(&[("a.html", "1"), ("b.html", "1")]), &mut written).unwrap();
        // A folder is in the place of the page.
        fs::remove_file(dir.join("b.html")).unwrap();
        fs::create_dir_all(dir.join("b.html/in")).unwrap();
        let next = site(&[("a.html", "2"), ("b.html", "2")]);
        assert!(update(&dir, &next, &mut written).is_err());
        assert!(!dir.join(".b.html.part").exists());
        fs::remove_dir_all(dir.join("b.html")).unwrap();
        update(&dir, &next, &mut written).unwrap();
        assert_eq!((read(&dir, "a.html"), read(&dir, "b.html")), (Some("2".into()), Some("2".into())));
    }

    /// Issue 30: what somebody else puts beside the pages is neither replaced nor removed, whatever pages come and go.
    #[test]
    fn files_of_others_stay_and_are_not_replaced_by_a_new_page() {
        let root = scratch("others");
        let dir = root.join("site");
        let mut written = Written::default();
        update(&dir, &site(&[("r/x/a.html", "1")]), &mut written).unwrap();
        fs::write(dir.join("r/x/mine.txt"), "mine").unwrap();
        fs::write(dir.join("b.html"), "mine").unwrap();
        let error = update(&dir, &site(&[("b.html", "1")]), &mut written).unwrap_err();
        assert!(error.what.contains("b.html"), "{error}");
        assert_eq!(read(&dir, "r/x/a.html").as_deref(), Some("1"), "nothing was changed");
        update(&dir, &site(&[("b.html", "mine"), ("c.html", "1")]), &mut written).unwrap();
        assert_eq!((read(&dir, "r/x/a.html"), read(&dir, "r/x/mine.txt")), (None, Some("mine".into())));
        assert_eq!(read(&dir, LAST).as_deref(), Some(""), "the last list is that of the site");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_or_removed_behind_a_link() {
        let root = scratch("linked");
        let (dir, elsewhere) = (root.join("site"), root.join("elsewhere"));
        let mut written = Written::default();
        update(&dir, &site(&[("m/x/index.html", "1")]), &mut written).unwrap();
        fs::rename(dir.join("m"), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.join("m")).unwrap();
        for next in [site(&[("m/x/index.html", "2")]), site(&[]), site(&[("m/y/index.html", "1")])] {
            let error = update(&dir, &next, &mut written).unwrap_err();
            assert!(error.what.contains("/m'"), "{error}");
        }
        assert_eq!(read(&elsewhere, "x/index.html").as_deref(), Some("1"));
        assert!(!elsewhere.join("y").exists());
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone_and_no_path_leaves_the_site() {
        let root = scratch("foreign");
        fs::write(root.join("thesis.tex"), "years of work").unwrap();
        assert!(update(&root, &site(&[]), &mut Written::default()).is_err());
        let dir = root.join("site");
        let mut written = Written::default();
        update(&dir, &site(&[]), &mut written).unwrap();
        assert!(update(&dir, &site(&[("../outside", "x")]), &mut written).is_err());
        assert!(!root.join("outside").exists());
    }
}
