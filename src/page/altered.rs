//! Files that are not what was recorded of them, as pages show them.
//!
//! In:  what the analysis found.  Out: [`AlteredFiles`] for the box of a page.
//! Not here: finding them (see `archive`).

use super::words::{self, Badge, counted};
use crate::model::Altered;
use crate::verdict::report::Severity;

/// Files that a box names. The page of data has all.
const MOST: usize = 12;

/// A box at the top of a page.
pub(super) struct AlteredFiles {
    /// How many there are.
    pub line: String,
    /// Those that are errors first.
    pub files: Vec<AlteredFile>,
    /// Files that the box does not name.
    pub more: usize,
}

/// One file.
pub(super) struct AlteredFile {
    pub badge: Badge,
    pub sentence: String,
    pub remedy: String,
}

/// The box for these files. None without any.
pub(super) fn files<'a>(found: impl Iterator<Item = &'a Altered>) -> Option<AlteredFiles> {
    let mut found: Vec<&Altered> = found.collect();
    found.sort_by_key(|altered| !altered.is_error);
    let file = |altered: &&Altered| AlteredFile {
        badge: words::severity(if altered.is_error { Severity::Error } else { Severity::Warning }),
        sentence: altered.sentence(),
        remedy: altered.remedy.clone(),
    };
    (!found.is_empty()).then(|| AlteredFiles {
        line: format!("{} not what was recorded", counted(found.len(), "file is", "files are")),
        files: found.iter().take(MOST).map(file).collect(),
        more: found.len().saturating_sub(MOST),
    })
}
