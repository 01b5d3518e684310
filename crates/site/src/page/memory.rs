//! Pages kept from before: a long-running program draws only the pages that have changed.
//!
//! In:  a draft and its data.  Out: its [`HashedPage`]s, drawn now or kept from before. Both are the same.
//! Not here: which pages can be kept. A draft names everything that it shows ([`Draft::keyed`]). A draft that does not is drawn each time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use askama::Template as _;

use super::draft::{Draft, template_fault};
use super::figure::FigureView;
use super::file::{HashedPage, Page};
use super::index::Site;
use super::publish::Version;
use super::stamp::{self, Stamp};
use super::{save, settle};
use sparkbench_text::error::Error;
use sparkbench_verdict::RoundCache;
use sparkbench_verdict::mark::{Mark, Marker};

/// A page with the files beside it, under the mark of what it shows.
type CachedPage = (Mark, Vec<Arc<HashedPage>>);

/// Parts made from the whole site, which take longer than the pages that one run changes.
#[derive(Debug, Clone)]
pub(super) struct Late {
    /// The version that the site said it is.
    pub version: Version,
    /// The files of that version.
    pub frozen: Vec<Arc<HashedPage>>,
}

/// Pages of before, by path.
#[derive(Debug, Default)]
pub struct Memory {
    before: BTreeMap<String, CachedPage>,
    now: Mutex<BTreeMap<String, CachedPage>>,
    late: Option<Late>,
    /// Drawings on redrawn pages, by the mark of their content. One readjusted p-value changes the page of every cell and none of
    /// its drawings.
    figures: RoundCache<Arc<FigureView>>,
}

impl Memory {
    /// The drawings of before.
    pub(super) const fn figures(&self) -> &RoundCache<Arc<FigureView>> {
        &self.figures
    }

    /// The page of a draft with the files beside it. A kept page keeps its stamp unless `stamped`.
    pub(super) fn draw<'a>(
        &self,
        site: &Site<'a>,
        draft: &Draft<'a>,
        stamped: bool,
    ) -> Result<Vec<Arc<HashedPage>>, Error> {
        let Some(shows) = &draft.shows else { return draw(site, draft) };
        let mut marker = Marker::default();
        shows(site, &mut marker);
        let mark = marker.finish();
        let sheets = match self.before.get(&draft.path) {
            Some((before, sheets)) if *before == mark && stamped => stamp_anew(site, &draft.path, sheets)?,
            Some((before, sheets)) if *before == mark => sheets.clone(),
            _ => draw(site, draft)?,
        };
        // A thread that panicked while it held the lock left a map that is whole: inserting is all that is done under it.
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.insert(draft.path.clone(), (mark, sheets.clone()));
        Ok(sheets)
    }

    /// Slow parts, as made last.
    pub(super) fn late(&self) -> Option<&Late> {
        self.late.as_ref()
    }

    /// Notes what takes long.
    pub(super) fn keep_late(&mut self, late: Late) {
        self.late = Some(late);
    }

    /// Ends a round: pages that it did not have are forgotten.
    pub(super) fn turn(&mut self) {
        self.before = std::mem::take(self.now.get_mut().unwrap_or_else(PoisonError::into_inner));
        self.figures.turn();
    }
}

/// A page as it was drawn before, with the version and the archives of today in its foot.
fn stamp_anew(site: &Site<'_>, path: &str, sheets: &[Arc<HashedPage>]) -> Result<Vec<Arc<HashedPage>>, Error> {
    let stamp = Stamp::new(path, site).render().map_err(template_fault)?;
    let anew =
        |sheet: &Arc<HashedPage>| match stamp::anew(&sheet.page.bytes, &stamp).filter(|_| sheet.page.path == path) {
            Some(bytes) => HashedPage::new(Page::new(path, bytes)),
            None => Arc::clone(sheet),
        };
    Ok(sheets.iter().map(anew).collect())
}

/// Draws a page, with the files beside it.
pub(super) fn draw<'a>(site: &Site<'a>, draft: &Draft<'a>) -> Result<Vec<Arc<HashedPage>>, Error> {
    let drawn = (draft.draw)(site)?;
    let (html, figures) = match save::wanted(&draft.path) {
        true => save::figures(&draft.path, &drawn.html),
        false => (drawn.html, Vec::new()),
    };
    let mut pages = vec![Page::new(draft.path.clone(), settle::page(html))];
    pages.extend(figures);
    pages.extend(drawn.files);
    Ok(pages.into_iter().map(HashedPage::new).collect())
}
