//! Files of the site.
//!
//! In:  a path and bytes.  Out: [`Page`], [`HashedPage`], and [`Download`] for a list of files for machines.

use std::sync::Arc;

use sparkbench_text::hash::hash;

/// One file of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Below the site, with `/`, without a leading one: `c/phase1/index.html`.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Page {
    /// A file of the site.
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes: Vec<u8> = bytes.into();
        // Every page stays until the last one is made, and text that grew as it was written has room for as much again.
        bytes.shrink_to_fit();
        Self { path: path.into(), bytes }
    }
}

/// A finished file of the site with its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedPage {
    /// The file.
    pub page: Page,
    /// SHA-256 of its bytes, lower-case hexadecimal.
    pub sha256: String,
}

impl HashedPage {
    /// Hashes a file.
    pub fn new(page: Page) -> Arc<Self> {
        let sha256 = hash(&page.bytes);
        Arc::new(Self { page, sha256 })
    }
}

/// A file for machines.
#[derive(Debug, Clone)]
pub struct Download {
    /// Below the site.
    pub path: String,
    /// Bytes.
    pub size: usize,
    /// SHA-256, lower-case hexadecimal.
    pub sha256: String,
}

impl Download {
    pub(super) fn of(file: &HashedPage) -> Self {
        Self { path: file.page.path.clone(), size: file.page.bytes.len(), sha256: file.sha256.clone() }
    }
}
