//! The footer of a page: the version of the site, and the archives behind the page with their hashes.
//!
//! In:  the site and the path of a page.  Out: [`Stamp`], written by the layout, and set again in a page that was kept.
//! Not here: the rest of the foot.
//!
//! One run more gives every page another version and another archive, and changes nothing else on most of them. So the stamp can be
//! changed in a finished page, and a page that is kept is not drawn again for it.

use askama::Template;

use super::index::Site;

/// The element as the template writes it. Text of others has no `<` of its own, so no page has it twice.
const OPEN: &str = "<div class=\"stamp\">";
const CLOSE: &str = "</div>";

/// Archives named in the foot of a page at most. Of more the page of data has the hashes.
const MOST_ARCHIVES: usize = 3;

/// Version and archives of one page.
#[derive(Debug, Clone, Template)]
#[template(path = "stamp.html")]
pub(super) struct Stamp {
    /// The way back to the site's folder.
    root: String,
    /// Name and path of this version, where the site has its page.
    version: Option<(String, String)>,
    /// Archives that the page rests on, with their hashes.
    archives: Vec<(String, String)>,
}

impl Stamp {
    /// The stamp of the page at `path`.
    pub(super) fn new(path: &str, site: &Site<'_>) -> Self {
        Self {
            root: root(path),
            version: Some(&site.version).filter(|v| site.has(&v.path())).map(|v| (v.name().to_owned(), v.path())),
            archives: archives(path, site),
        }
    }
}

/// The way from a page back to the site's folder: empty, `../` or `../../`.
pub(super) fn root(path: &str) -> String {
    "../".repeat(path.matches('/').count())
}

/// A finished page with another stamp. `None` where it has none or says this already.
pub(super) fn anew(html: &[u8], stamp: &str) -> Option<Vec<u8>> {
    let html = std::str::from_utf8(html).ok()?;
    let from = html.rfind(OPEN)?;
    let to = from + html[from..].find(CLOSE)? + CLOSE.len();
    (&html[from..to] != stamp).then(|| [&html[..from], stamp, &html[to..]].concat().into_bytes())
}

/// The archive that a page is about, by its path, or all of the site where they are few.
fn archives(path: &str, site: &Site<'_>) -> Vec<(String, String)> {
    let mut parts = path.split('/');
    let own = match (parts.next(), parts.next()) {
        (Some("c"), Some(campaign)) => Some(campaign),
        (Some("r"), Some(run)) => site.run(run).map(|run| run.campaign.as_str()),
        _ => None,
    };
    let campaigns = || site.analysis.campaigns.iter().filter(|c| own.is_none_or(|own| c.name == own));
    if campaigns().count() > MOST_ARCHIVES {
        return Vec::new();
    }
    let one = campaigns().count() == 1;
    let of = |name: &str| if one { "Archive".to_owned() } else { format!("Archive of {name}") };
    campaigns().map(|c| (of(&c.name), c.archive_sha256.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(name: &str) -> String {
        let version = Some((name.to_owned(), format!("v/{name}/index.html")));
        Stamp { root: "../".into(), version, archives: vec![("Archive".into(), name.repeat(2))] }.render().unwrap()
    }

    #[test]
    fn a_page_gets_another_stamp_and_stays_what_it_is_otherwise() {
        let page =
            |name: &str| format!("<main>&lt;div class=\"stamp\"&gt;</main><footer>{}\n</div></footer>", stamp(name));
        assert_eq!(anew(page("a").as_bytes(), &stamp("b")), Some(page("b").into_bytes()));
        assert_eq!(anew(page("a").as_bytes(), &stamp("a")), None);
        assert_eq!(anew(b"<main></main>", &stamp("a")), None);
    }
}
