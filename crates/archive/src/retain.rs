//! Which files of a run are kept. Globs and a size limit decide whether a file stays or only its name, size and hash. Other globs pack.
//!
//! In:  a folder that nobody else writes to.  Out: the same folder with plain files and folders only, and what was left out.
//! Not here: masking, which comes between the two. Packed files are already masked.

use std::fs;
use std::io;
use std::path::Path;

use flate2::{Compression, write::GzEncoder};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::manifest::DroppedWire;
use super::{FileName, disk};
use sparkbench_text::error::Error;

/// Ends the name of a file that was packed.
const PACKED: &str = ".gz";

/// Files that are dropped, and files that are packed.
#[derive(Debug, Clone, Default)]
pub struct Retention {
    drop: GlobSet,
    globs: Vec<String>,
    most_bytes: Option<u64>,
    pack: GlobSet,
}

impl Retention {
    /// Globs over paths below a run's folder, where `*` stays within a folder. Sizes above `max_mib` MiB go too.
    ///
    /// # Errors
    /// When a glob does not make sense.
    pub fn new(drop: &[String], max_mib: Option<u64>) -> Result<Self, Error> {
        let most_bytes = max_mib.map(|mib| mib.saturating_mul(1 << 20));
        Ok(Self { drop: set_of(drop)?, globs: drop.to_vec(), most_bytes, ..Self::default() })
    }

    /// The same, and files that match these globs are packed by gzip.
    ///
    /// # Errors
    /// When a glob does not make sense.
    pub fn packing(self, pack: &[String]) -> Result<Self, Error> {
        Ok(Self { pack: set_of(pack)?, ..self })
    }

    fn why(&self, path: &FileName, bytes: u64) -> Option<String> {
        if let Some(glob) = self.drop.matches(path).first().and_then(|index| self.globs.get(*index)) {
            return Some(format!("the suite drops '{glob}'"));
        }
        let most = self.most_bytes.filter(|most| bytes > *most)?;
        Some(format!("{} MiB are more than the {} MiB that are kept of one file", bytes.div_ceil(1 << 20), most >> 20))
    }

    /// Removes dropped files, links and other non-files, unreadable files, empty folders, and our own unfinished files. Says what it
    /// removed, but for the last two, which hold nothing. Moves what lies too deep, and says where.
    ///
    /// # Errors
    /// Errors of the file system. The call can be made again.
    pub fn apply(&self, folder: &Path) -> io::Result<Vec<DroppedWire>> {
        let mut dropped: Vec<DroppedWire> = disk::lift(folder)?.into_iter().map(moved).collect();
        let tree = disk::tree(folder)?;
        for (path, kind) in tree.mounted {
            // It stays, and so does everything in it: neither is the run's.
            let why = format!("a file system ({kind}) is mounted there");
            dropped.push(DroppedWire { path, why, ..DroppedWire::default() });
        }
        for (path, what) in tree.others {
            fs::remove_file(folder.join(&path))?;
            dropped.push(DroppedWire { path, why: what, ..DroppedWire::default() });
        }
        for path in tree.files {
            let file = folder.join(&path);
            if disk::is_aside(path.last()) {
                fs::remove_file(&file)?;
                continue;
            }
            let bytes = fs::symlink_metadata(&file)?.len();
            let readable = match disk::open_plain(&file) {
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => false,
                opened => opened.map(|_| true)?,
            };
            let why =
                if readable { self.why(&path, bytes) } else { Some("it may not be read by this user".to_owned()) };
            if let Some(why) = why {
                let sha256 = if readable { Some(disk::sha256_of(&file)?.0) } else { None };
                fs::remove_file(&file)?;
                dropped.push(DroppedWire { path, bytes: Some(bytes), sha256, why });
            }
        }
        for path in tree.folders.iter().rev() {
            let folder = folder.join(path);
            if fs::read_dir(&folder)?.next().is_none() {
                fs::remove_dir(&folder)?;
            }
        }
        dropped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(dropped)
    }

    /// Packs what is to be packed: the file `x` becomes `x.gz`. It stays as it is where that name is taken, or longer than a name may be.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn pack(&self, folder: &Path) -> io::Result<()> {
        for path in disk::tree(folder)?.files {
            let (file, packed) = (folder.join(&path), [path.as_bytes(), PACKED.as_bytes()].concat());
            let packed = folder.join(FileName::new(packed));
            if !self.pack.is_match(&path) || path.as_bytes().ends_with(PACKED.as_bytes()) || packed.exists() {
                continue;
            }
            let target = match fs::File::create(&packed) {
                Err(cause) if cause.kind() == io::ErrorKind::InvalidFilename => continue,
                made => made?,
            };
            // No name and no time in the head, so that the same bytes are packed to the same bytes.
            let mut encoder = GzEncoder::new(target, Compression::best());
            io::copy(&mut disk::open_plain(&file)?, &mut encoder)?;
            encoder.finish()?;
            fs::remove_file(&file)?;
        }
        Ok(())
    }
}

/// The record of a folder that was moved.
pub(super) fn moved((old, new): (FileName, FileName)) -> DroppedWire {
    let why = format!("moved to '{new}': paths in it are too long to be opened");
    DroppedWire { path: old, why, ..DroppedWire::default() }
}

fn set_of(patterns: &[String]) -> Result<GlobSet, Error> {
    let mut globs = GlobSetBuilder::new();
    for text in patterns {
        let glob = GlobBuilder::new(text).literal_separator(true).build().map_err(|cause| {
            Error::usage(format!("'{text}' is not a pattern for files"))
                .hint("use `*` within a folder and `**` across folders, as in `work/**/*.bin`")
                .because(cause)
        })?;
        globs.add(glob);
    }
    globs.build().map_err(|cause| Error::usage("too many patterns for files").because(cause))
}
