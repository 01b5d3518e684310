//! The only access of this room to the disk: a finished site replaces the old one in one step.
//!
//! In:  pages in memory.  Out: a folder that is wholly the old site or wholly the new one, with the files of others in it.
//! Not here: what the pages say, which files are those of others (see `others`), the lock (see `archive::site`).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::others::Others;
use super::{Page, earlier};
use sparkbench_archive::disk::open_plain;
use sparkbench_archive::shown;
use sparkbench_archive::site::exchange;
use sparkbench_text::error::Error;

/// Behind the name of a site, beside it: the new site while it is made, and the old one while it is moved.
const NEW: &str = ".sparkbench-new";
const OLD: &str = ".sparkbench-old";

/// The file that marks a folder as a site of this program.
pub(super) const MARK: &str = "data/analysis.json";

/// Writes every page into a fresh folder beside `dir`, then swaps it in. Files in `dir` that this program did not write are in the new site
/// too, at their place: the result names them. The caller holds the lock of the site ([`SiteLock`](sparkbench_archive::site::SiteLock)).
///
/// A folder that holds no site of this program is left alone, with an error. So is one where a page belongs in the place of somebody else's
/// file. When this fails half-way, or the process is ended, `dir` is what it was or what it was to be. A folder beside it may be left over
/// and is cleared by the next run.
pub fn write(dir: &Path, pages: &[Page]) -> Result<Others, Error> {
    mend(dir)?;
    let dir = settle(dir)?;
    refuse_foreign(&dir)?;
    let others = Others::of(&dir, pages)?;
    let (fresh, old) = (beside(&dir, NEW), beside(&dir, OLD));
    clear(&fresh)?;
    clear(&old)?;
    fs::create_dir_all(&fresh).map_err(|e| fault("create", &fresh, e))?;
    pages.par_iter().try_for_each(|page| put(&fresh, page))?;
    earlier::carry(&dir, &fresh)?;
    others.carry(&dir, &fresh)?;
    let replaced = dir.symlink_metadata().is_ok();
    if replaced
        && exchange(&fresh, &dir).map_err(|e| in_the_way(fault("put the new site into the place of", &dir, e), &dir))?
    {
        // The old site stands where the new one stood.
        others.follow(&fresh, &dir, pages)?;
        clear(&fresh)?;
        return Ok(others);
    }
    // Where two folders cannot change places in one step, `mend` brings the old one back if this is ended between its two steps.
    if replaced {
        fs::rename(&dir, &old).map_err(|e| in_the_way(fault("move the old site aside", &dir, e), &dir))?;
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
    if replaced {
        others.follow(&old, &dir, pages)?;
        clear(&old)?;
    }
    Ok(others)
}

/// Brings the old site back where a run was ended when it had moved it aside and the new one was not yet in its place. Files of others are
/// in it, so nothing may clear it before. To be called before anything is read from the folder.
///
/// # Errors
/// When it cannot be moved.
pub fn mend(dir: &Path) -> Result<(), Error> {
    // What is wrong with the folder itself is said by whoever writes it.
    let Ok(dir) = settle(dir) else { return Ok(()) };
    let old = beside(&dir, OLD);
    let is_empty = |dir: &Path| fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if old.is_dir() && (dir.symlink_metadata().is_err() || is_empty(&dir)) {
        // An empty folder makes room.
        let _ = fs::remove_dir(&dir);
        fs::rename(&old, &dir).map_err(|e| fault("bring back the old site from", &old, e))?;
    }
    Ok(())
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
    Err(Error::archive(format!("'{}' is not empty and holds no site of this program", shown(dir)))
        .detail(format!("expected '{MARK}' of schema {}", sparkbench_verdict::report::SCHEMA))
        .hint("name another folder with --site, or empty this one"))
}

/// The mark must say its schema in its first bytes, whatever else it says.
pub(super) fn is_ours(dir: &Path) -> bool {
    use io::Read;
    const HEAD: u64 = 256;
    let mut head = Vec::new();
    let read = open_plain(&dir.join(MARK)).and_then(|file| file.take(HEAD).read_to_end(&mut head));
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

/// What stands at the site's own place cannot be moved, as a mount point cannot.
fn in_the_way(fault: Error, dir: &Path) -> Error {
    fault.hint(format!("name a folder below it, such as --site '{}'", shown(&dir.join("site"))))
}

pub(super) fn fault(doing: &str, path: &Path, cause: io::Error) -> Error {
    Error::archive(format!("cannot {doing} '{}'", shown(path))).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_testing::Folder;

    fn scratch(name: &str) -> Folder {
        Folder::new(&format!("write-{name}"))
    }

    fn hashed(pages: &[Page]) -> Page {
        let hashes: Vec<_> = pages.iter().map(|page| sparkbench_text::hash::hash(&page.bytes)).collect();
        super::super::export::sums(
            pages.iter().zip(&hashes).map(|(page, hash)| (page.path.as_str(), hash.as_str())),
            &[],
        )
    }

    /// A site with its list of hashes.
    fn site(word: &str, more: &[(&str, &str)]) -> Vec<Page> {
        let mut pages = vec![
            Page::new("index.html", word),
            Page::new(MARK, format!("{{\"schema\":\"{}\"}}", sparkbench_verdict::report::SCHEMA)),
        ];
        pages.extend(more.iter().map(|(path, text)| Page::new(*path, *text)));
        let sums = hashed(&pages);
        pages.push(sums);
        pages
    }

    fn names(paths: &[sparkbench_archive::FileName]) -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_new_site_replaces_the_old_one_whole() {
        let root = scratch("whole");
        let dir = root.join("site");
        write(&dir, &site("one", &[("r/gone/index.html", "gone")])).unwrap();
        let others = write(&dir, &site("two", &[])).unwrap();
        assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), "two");
        assert!(!dir.join("r").exists(), "a page of the old site is left");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "something is left beside the site");
        assert_eq!(others, Others::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_whose_name_is_no_text_is_named_byte_for_byte() {
        use std::os::unix::ffi::OsStrExt as _;
        let root = scratch("bytes");
        let dir = root.join(std::ffi::OsStr::from_bytes(b"bad\xff"));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("mine.txt"), "x").unwrap();
        let error = write(&dir, &site("one", &[])).unwrap_err().to_string();
        assert!(error.contains("bad\\xFF'"), "{error}");
    }

    #[test]
    fn a_folder_of_somebody_else_is_left_alone() {
        let root = scratch("foreign");
        fs::write(root.join("thesis.tex"), "years of work").unwrap();
        let error = write(&root, &site("one", &[])).unwrap_err();
        assert!(error.what.contains("not empty"), "{error}");
        assert_eq!(fs::read_to_string(root.join("thesis.tex")).unwrap(), "years of work");
    }

    #[test]
    fn an_empty_folder_is_taken() {
        let root = scratch("empty");
        let dir = root.join("site");
        fs::create_dir(&dir).unwrap();
        write(&dir, &site("one", &[])).unwrap();
        assert!(dir.join("index.html").exists());
    }

    #[test]
    fn a_path_that_leaves_the_site_is_refused_and_the_old_site_stands() {
        let root = scratch("escape");
        let dir = root.join("site");
        write(&dir, &site("one", &[])).unwrap();
        for path in ["../outside", "/etc/outside", "a/../../b"] {
            assert!(write(&dir, &site("two", &[(path, "x")])).is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), "one");
        assert!(!root.join("outside").exists());
    }

    /// Issue 30: a person's own files in the folder of the site were removed by the next analysis.
    #[test]
    fn files_of_others_stay_where_they_are() {
        let root = scratch("others");
        let dir = root.join("site");
        write(&dir, &site("one", &[("c/gone/index.html", "x")])).unwrap();
        let put = |path: &str| {
            fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
            fs::write(dir.join(path), path).unwrap();
        };
        let own = [".git/objects/ab/cd", ".nojekyll", "CNAME", "c/gone/mine.txt", "c/x/mine.txt", "talks/a.html"];
        own.iter().for_each(|path| put(path));
        fs::create_dir_all(dir.join("empty/deeper")).unwrap();
        // Left by an update that was ended in the middle of a file.
        put("c/x/.index.html.part");
        let others = write(&dir, &site("two", &[("c/x/index.html", "x")])).unwrap();
        assert_eq!((names(&others.kept), names(&others.changed)), (own.map(str::to_owned).to_vec(), Vec::new()));
        for path in own {
            assert_eq!(fs::read_to_string(dir.join(path)).unwrap(), path);
        }
        assert!(dir.join("empty/deeper").is_dir() && dir.join("c/x/index.html").is_file());
        assert!(!dir.join("c/gone/index.html").exists() && !dir.join("c/x/.index.html.part").exists());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "something is left beside the site");
    }

    #[test]
    fn what_somebody_writes_while_the_new_site_is_made_is_in_it() {
        let root = scratch("late");
        let (dir, fresh) = (root.join("site"), root.join("fresh"));
        write(&dir, &site("one", &[])).unwrap();
        fs::write(dir.join("CNAME"), "early.example").unwrap();
        let pages = site("two", &[("talks/index.html", "ours")]);
        let others = Others::of(&dir, &pages).unwrap();
        pages.iter().try_for_each(|page| put(&fresh, page)).unwrap();
        others.carry(&dir, &fresh).unwrap();
        // As an editor saves a file: another one takes its place.
        fs::write(dir.join("other"), "late.example").unwrap();
        fs::rename(dir.join("other"), dir.join("CNAME")).unwrap();
        fs::create_dir(dir.join("notes")).unwrap();
        fs::write(dir.join("notes/late.txt"), "late").unwrap();
        fs::rename(&dir, root.join("old")).unwrap();
        fs::rename(&fresh, &dir).unwrap();
        others.follow(&root.join("old"), &dir, &pages).unwrap();
        let read = |path: &str| fs::read_to_string(dir.join(path)).unwrap();
        assert_eq!((read("index.html").as_str(), read("CNAME").as_str()), ("two", "late.example"));
        assert_eq!(read("notes/late.txt"), "late");
        // A file in the place of a page is not put over it, and stays where it is.
        fs::create_dir_all(root.join("old/talks")).unwrap();
        fs::write(root.join("old/talks/index.html"), "mine").unwrap();
        let error = others.follow(&root.join("old"), &dir, &pages).unwrap_err().to_string();
        assert!(error.contains("/old'") && read("talks/index.html") == "ours", "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_of_others_stay_links_and_what_they_lead_to_is_not_touched() {
        use std::os::unix::fs::symlink;
        let root = scratch("links");
        let (dir, outside) = (root.join("site"), root.join("outside"));
        write(&dir, &site("one", &[("a.html", "1")])).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("x"), "kept").unwrap();
        symlink("../outside", dir.join("talks")).unwrap();
        fs::remove_file(dir.join("a.html")).unwrap();
        symlink("../outside/x", dir.join("a.html")).unwrap();
        let others = write(&dir, &site("two", &[("a.html", "2")])).unwrap();
        assert_eq!((names(&others.kept), names(&others.changed)), (vec!["talks".into()], vec!["a.html".into()]));
        assert_eq!(fs::read_link(dir.join("talks")).unwrap(), Path::new("../outside"));
        assert_eq!(fs::read_to_string(outside.join("x")).unwrap(), "kept");
        assert!(fs::symlink_metadata(dir.join("a.html")).unwrap().is_file());
    }

    #[test]
    fn a_page_that_somebody_changed_is_replaced_and_named() {
        let root = scratch("changed");
        let dir = root.join("site");
        write(&dir, &site("one", &[("gone.html", "x")])).unwrap();
        fs::write(dir.join("index.html"), "mine").unwrap();
        fs::write(dir.join("gone.html"), "mine too").unwrap();
        let others = write(&dir, &site("two", &[])).unwrap();
        assert_eq!(names(&others.changed), ["gone.html", "index.html"]);
        assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), "two");
    }

    #[test]
    fn a_file_of_somebody_else_is_not_replaced_by_a_page() {
        let root = scratch("way");
        let dir = root.join("site");
        write(&dir, &site("one", &[])).unwrap();
        for (mine, page) in [("talk.html", "talk.html"), ("talk.html", "talk.html/a"), ("talk.html/a", "talk.html")] {
            let path = dir.join(mine);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "mine").unwrap();
            let error = write(&dir, &site("two", &[(page, "x")])).unwrap_err();
            assert!(error.what.contains("talk.html") && error.what.contains("not written by this program"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
            assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), "one", "nothing was changed");
            fs::remove_file(&path).unwrap();
            let _ = fs::remove_dir(dir.join("talk.html"));
        }
        // The same bytes are no loss: an update that was cut off wrote them.
        fs::write(dir.join("talk.html"), "x").unwrap();
        assert_eq!(write(&dir, &site("two", &[("talk.html", "x")])).unwrap(), Others::default());
    }

    #[test]
    fn a_site_without_its_list_is_left_alone() {
        let root = scratch("list");
        let dir = root.join("site");
        write(&dir, &site("one", &[])).unwrap();
        fs::remove_file(dir.join("data/SHA256SUMS")).unwrap();
        let error = write(&dir, &site("two", &[])).unwrap_err();
        assert!(error.what.contains("SHA256SUMS"), "{error}");
        assert_eq!(fs::read_to_string(dir.join("index.html")).unwrap(), "one");
    }

    #[test]
    fn what_a_run_left_that_was_ended_between_its_two_steps_is_brought_back() {
        let root = scratch("mend");
        let dir = root.join("site");
        write(&dir, &site("one", &[])).unwrap();
        fs::write(dir.join("CNAME"), "bench.example").unwrap();
        fs::rename(&dir, root.join(".site.sparkbench-old")).unwrap();
        fs::create_dir(root.join(".site.sparkbench-new")).unwrap();
        let others = write(&dir, &site("two", &[])).unwrap();
        assert_eq!(names(&others.kept), ["CNAME"]);
        assert_eq!(fs::read_to_string(dir.join("CNAME")).unwrap(), "bench.example");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "something is left beside the site");
    }
}
