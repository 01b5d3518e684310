//! Makes a site citable: versions that never change, citations, descriptions for machines, addresses.
//!
//! In:  the analysis, the address of the site, the versions already there.  Out: pages and files.
//! Not here: the results on a page.

pub(crate) mod cite;
pub(crate) mod dataset;
pub(crate) mod feed;
pub(crate) mod lost;
pub(crate) mod version;
pub(crate) mod versions;

use super::Page;
use super::index::Site;

pub use version::{Earlier, Version};

/// An address as a site may have it: `https://` or `http://`, a host, no query and no fragment. It ends in a slash from here on.
pub fn base_url(text: &str) -> Option<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    let host = rest.split('/').next().unwrap_or("");
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/:%".contains(&b);
    let whole = !host.is_empty() && rest.bytes().all(plain) && !rest.contains("//") && !rest.contains("/../");
    whole.then(|| if text.ends_with('/') { text.to_owned() } else { format!("{text}/") })
}

impl Site<'_> {
    /// The absolute address of a page, where the site has one. An `index.html` has the address of its folder.
    pub fn address(&self, path: &str) -> Option<String> {
        let base = self.extras.publication.base_url.as_deref()?;
        Some(format!("{base}{}", path.strip_suffix("index.html").unwrap_or(path)))
    }
}

/// Files about the whole site: a list of its pages, its citation, its news.
pub(super) fn files(site: &Site<'_>) -> Vec<Page> {
    let mut files = Vec::new();
    files.extend(cite::cff(site));
    files.extend(sitemap(site));
    files.push(feed::of_site(site));
    files
}

/// Addresses of all pages. A sitemap needs whole addresses, so without one there is none.
fn sitemap(site: &Site<'_>) -> Option<Page> {
    use std::fmt::Write as _;
    site.extras.publication.base_url.as_ref()?;
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    for path in site.paths().filter(|path| path.ends_with("index.html")) {
        // Writing to a string cannot fail. Paths and addresses have no letter that XML takes for its own.
        let _ = writeln!(xml, "<url><loc>{}</loc></url>", site.address(path).unwrap_or_default());
    }
    xml.push_str("</urlset>\n");
    Some(Page::new("sitemap.xml", xml))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_ends_in_a_slash_and_is_nothing_but_an_address() {
        assert_eq!(base_url("https://example.org/bench").as_deref(), Some("https://example.org/bench/"));
        assert_eq!(base_url("http://localhost:8000/").as_deref(), Some("http://localhost:8000/"));
        for wrong in [
            "",
            "example.org",
            "https://",
            "https:///x",
            "https://e.org/?q",
            "https://e.org/#a",
            "ftp://e.org",
            "https://e.org/\"><script>",
            "https://e.org/a//b",
            "javascript:alert(1)",
        ] {
            assert_eq!(base_url(wrong), None, "{wrong}");
        }
    }
}
