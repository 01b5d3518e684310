//! Links of pages.
//!
//! In:  names of runs and traps.  Out: [`Link`]s and addresses.
//! Not here: which pages the site has (see `index`).

/// A link, or text where there is nowhere to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Relative to the page it is on.
    pub href: Option<String>,
    /// Title: the subject of the drawing.
    pub text: String,
}

/// Evidence of a sentence: a link with a short name beside the sentence and a full one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLink {
    /// Where it is, with its whole name.
    pub link: Link,
    /// Shown in small beside the sentence.
    pub short: String,
}

/// The address of a trap.
pub(super) fn trap_href(root: &str, id: &str) -> String {
    format!("{root}traps/index.html#{id}")
}

/// The address of a run.
pub(super) fn run_href(root: &str, id: &str) -> String {
    format!("{root}r/{id}/index.html")
}
