//! Kinds of pages: the list of all pages of the site before any is drawn.
//!
//! In:  `Site`.  Out: [`Draft`]s: the path of every page and the closure that draws it.
//! Not here: the content of a page.
//!
//! The paths of all pages are known before the first is drawn. So a page may ask whether another exists (`Site::has`), and the navigation
//! shows what exists. Pages are drawn on all cores in any order.

use super::file::Page;
use super::index::Site;
use sparkbench_text::error::{Error, Kind};
use sparkbench_verdict::mark::Marker;

/// A kind of page. Adding one is a file and a line in [`super::KINDS`].
pub trait PageKind: Sync {
    /// Every page of this kind that the site has. Cheap: nothing is drawn yet.
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>>;
}

/// How a page is drawn, once all paths are known.
pub(crate) type Draw<'a> = Box<dyn Fn(&Site<'a>) -> Result<DrawnPage, Error> + Send + Sync + 'a>;

/// Inputs of a page, apart from its own path.
pub(crate) type Shows<'a> = Box<dyn Fn(&Site<'a>, &mut Marker) + Send + Sync + 'a>;

/// A page that will be drawn.
pub struct Draft<'a> {
    /// Below the site, ending in `index.html`, except for pages that stand alone (`404.html`).
    pub path: String,
    /// Draws it.
    pub draw: Draw<'a>,
    /// Names everything that the page shows. Absent for a page that is drawn each time.
    pub shows: Option<Shows<'a>>,
}

impl<'a> Draft<'a> {
    /// A page at `path`, drawn by `draw`.
    pub fn new(
        path: impl Into<String>,
        draw: impl Fn(&Site<'a>) -> Result<DrawnPage, Error> + Send + Sync + 'a,
    ) -> Self {
        Self { path: path.into(), draw: Box::new(draw), shows: None }
    }

    /// A page that need not be drawn again while everything that `shows` puts into its marker is the same. Worth it for kinds of which
    /// a site has thousands. What is forgotten here is shown stale while `analyse --watch` runs, so leave nothing out that `draw` reads.
    #[must_use]
    pub fn keyed(mut self, shows: impl Fn(&Site<'a>, &mut Marker) + Send + Sync + 'a) -> Self {
        self.shows = Some(Box::new(shows));
        self
    }
}

/// A drawn page.
#[derive(Debug, Clone, Default)]
pub struct DrawnPage {
    /// The whole document.
    pub html: String,
    /// Further files that belong to the page and are beside it.
    pub files: Vec<Page>,
}

impl DrawnPage {
    /// A page with nothing beside it.
    pub const fn new(html: String) -> Self {
        Self { html, files: Vec::new() }
    }
}

/// A template that cannot be filled is a mistake in this program, told like any other error.
pub(super) fn template_fault(cause: askama::Error) -> Error {
    Error::new(Kind::Archive, "a page could not be rendered").because(cause)
}
