//! The page that a server shows for a missing page.
//!
//! In:  the site.  Out: `404.html`.
//! Not here: any other page. It may be shown under any address, so its links are whole where the site's own is known.

use askama::Template;

use super::super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::super::index::Site;
use super::super::shell::Shell;

#[derive(Template)]
#[template(path = "404.html")]
struct Page {
    shell: Shell,
    versions: bool,
}

/// The page for what is not there.
pub(crate) struct LostPage;

impl PageKind for LostPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("404.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)))]
    }
}

fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let mut shell =
        Shell::new("404.html", "Not here – sparkbench", "none", site).described("There is no such page on this site.");
    if let Some(base) = &site.extras.publication.base_url {
        shell.root.clone_from(base);
    }
    // It replaces pages that do not exist and is not listed itself.
    shell.canonical = None;
    Page { shell, versions: site.has("changelog/index.html") }.render()
}
