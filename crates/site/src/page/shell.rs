//! Shared by every page: its place in the site, its head, its style.
//!
//! In:  a path and a title.  Out: [`Shell`], which `templates/layout.html` turns into head, header and footer.
//! Not here: the content of a page.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::file::Page;
use super::index::Site;
use super::stamp::{self, Stamp};
use sparkbench_text::escape::base64;
use sparkbench_text::hash::hash;
use sparkbench_verdict::mark::Marker;

/// The style sheet, without its comments.
static CSS: LazyLock<String> = LazyLock::new(|| {
    let site = with_chosen_dark(include_str!("../../../../static/site.css"));
    strip_comments(&format!("{site}\n{}", crate::chart::STYLE))
});

/// The script, without its whole-line comments.
static JS: LazyLock<String> = LazyLock::new(|| {
    let lines = include_str!("../../../../static/site.js").lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).collect::<Vec<_>>().join("\n")
});

/// Policy of a page that stands alone: the one style sheet and the one script in it, pictures inside the page itself, and nothing else.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    policy(
        &format!("'sha256-{}'", base64(Sha256::digest(CSS.as_bytes()))),
        &format!("'sha256-{}'", base64(Sha256::digest(JS.as_bytes()))),
    )
});

/// Policy of a page of a site: style sheets and scripts that lie beside it as files, and nothing in the page itself. `'self'` names no file
/// where a page is opened from disk, and `file:` names none where a server sent it. A hash cannot take their place: browsers compare it with
/// the bytes of a file only where a server sent them.
static SHARED_POLICY: LazyLock<String> = LazyLock::new(|| policy("'self' file:", "'self' file:"));

fn policy(styles: &str, scripts: &str) -> String {
    format!(
        "default-src 'none'; style-src {styles}; script-src {scripts}; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Paths of the style sheet and of the script below the site. Each name holds the head of its hash, so a page that a browser or a proxy kept
/// never meets those of another version.
static SHARED: LazyLock<[String; 2]> = LazyLock::new(|| {
    let path = |text: &str, ending: &str| format!("assets/site-{}.{ending}", &hash(text.as_bytes())[..12]);
    [path(&CSS, "css"), path(&JS, "js")]
});

/// The style sheet and the script as files of the site.
pub(super) fn files() -> [Page; 2] {
    let [css, js] = &*SHARED;
    [Page::new(css.clone(), CSS.as_bytes()), Page::new(js.clone(), JS.as_bytes())]
}

/// Head and surroundings of one page.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    /// Unique in the site.
    pub title: String,
    /// One sentence for search engines and link previews.
    pub description: String,
    /// The way back to the site's folder: empty, `../` or `../../`.
    pub root: String,
    /// Which entry of the navigation this page belongs to.
    pub section: &'static str,
    /// Pages that the head of every page leads to: section, address below the root, name.
    pub nav: Vec<&'static Way>,
    /// Whether the site has a glossary.
    pub glossary: bool,
    /// Name and version of the program.
    pub tool: String,
    /// The absolute address of the page, where the site has one.
    pub canonical: Option<String>,
    /// Description of the page for search engines: JSON-LD without text that could end its element.
    pub dataset: Option<String>,
    /// Its version and its archives.
    pub stamp: Stamp,
    /// The policy of a page of the site, as one line.
    pub shared_policy: &'static str,
    /// Paths of style sheet and script below the site.
    pub shared: &'static [String; 2],
    /// The policy of a page that stands alone.
    pub policy: &'static str,
    /// The style sheet, for a page that stands alone.
    pub css: &'static str,
    /// The script, for a page that stands alone.
    pub js: &'static str,
}

/// An entry of the navigation.
#[derive(Debug)]
pub(super) struct Way {
    /// The section it stands for.
    pub section: &'static str,
    /// Below the root.
    pub path: &'static str,
    /// Its name.
    pub name: &'static str,
}

/// Link targets in the head of a page, where the site has them.
const NAV: &[Way] = &[
    Way { section: "front", path: "index.html", name: "Results" },
    Way { section: "machines", path: "p/index.html", name: "Machines" },
    Way { section: "models", path: "m/index.html", name: "Models" },
    Way { section: "engines", path: "engines/index.html", name: "Engines" },
    Way { section: "agreement", path: "agreement/index.html", name: "Clients" },
    Way { section: "cost", path: "cost/index.html", name: "Cost" },
    Way { section: "history", path: "history/index.html", name: "History" },
    Way { section: "traps", path: "traps/index.html", name: "Checks" },
    Way { section: "method", path: "method/index.html", name: "Method" },
    Way { section: "data", path: "data/index.html", name: "Data" },
    Way { section: "docs", path: super::docs::HOME, name: "Manual" },
];

impl Shell {
    /// The surroundings of the page at `path`.
    pub(super) fn new(path: &str, title: impl Into<String>, section: &'static str, site: &Site<'_>) -> Self {
        let title = title.into();
        let tool = &site.analysis.tool;
        Self {
            description: title.clone(),
            title,
            root: stamp::root(path),
            section,
            glossary: site.has("glossary/index.html"),
            nav: NAV.iter().filter(|way| site.has(way.path)).collect(),
            tool: format!("{} {}", tool.name, tool.version),
            canonical: site.address(path),
            dataset: None,
            stamp: Stamp::new(path, site),
            shared_policy: SHARED_POLICY.as_str(),
            shared: &SHARED,
            policy: POLICY.as_str(),
            css: CSS.as_str(),
            js: JS.as_str(),
        }
    }

    /// Inputs of [`Shell::new`] from the site without the stamp. Pages are kept while they are the same.
    pub(super) fn shows(site: &Site<'_>, marker: &mut Marker) {
        marker.text(site.analysis.tool.name).text(site.analysis.tool.version);
        marker.json(&NAV.iter().map(|way| site.has(way.path)).collect::<Vec<_>>());
        marker.json(&(site.has("glossary/index.html"), site.address("index.html")));
        marker.json(&site.analysis.campaigns.iter().map(|c| (&c.name, &c.title)).collect::<Vec<_>>());
    }

    /// With a sentence for those who only see the link.
    #[must_use]
    pub(super) fn described(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// With a description for search engines.
    #[must_use]
    pub(super) fn with_dataset(mut self, block: String) -> Self {
        self.dataset = Some(block);
        self
    }

    /// For `aria-current` in the navigation.
    pub(super) fn is(&self, section: &str) -> bool {
        self.section == section
    }
}

/// The dark palette once more, for readers who choose it where their system is light: written once, in the media query.
fn with_chosen_dark(css: &str) -> String {
    const SYSTEM: &str = "@media (prefers-color-scheme: dark) {\n  :root:not([data-theme=\"light\"]) {";
    let Some((before, rest)) = css.split_once(SYSTEM) else { return css.to_owned() };
    let Some((palette, after)) = rest.split_once("  }\n}\n") else { return css.to_owned() };
    format!("{before}{SYSTEM}{palette}  }}\n}}\n:root[data-theme=\"dark\"] {{{palette}}}\n{after}")
}

/// Policy, style sheet and script, for a page that belongs to no site.
pub(super) fn dress() -> (&'static str, &'static str, &'static str) {
    (POLICY.as_str(), CSS.as_str(), JS.as_str())
}

fn strip_comments(css: &str) -> String {
    let mut out = String::with_capacity(css.len());
    let mut rest = css;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, tail)| tail);
    }
    out.push_str(rest);
    let lines: Vec<_> = out.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_theme_has_the_palette_of_the_system() {
        let palette = |head: &str| CSS.split_once(head).unwrap().1.split_once('}').unwrap().0.trim().to_owned();
        let system = palette("@media (prefers-color-scheme: dark) {\n:root:not([data-theme=\"light\"]) {");
        assert!(system.contains("--paper:") && system.contains("color-scheme: dark"));
        assert_eq!(palette(":root[data-theme=\"dark\"] {"), system);
    }

    #[test]
    fn the_script_is_small_and_neither_fetches_nor_makes_markup_of_text() {
        for word in [
            "</",
            "<!--",
            "eval",
            "Function(",
            "fetch",
            "XMLHttpRequest",
            "import",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "http:",
            "https:",
            "setTimeout",
            "\"on",
            "\"style\"",
            "/*",
        ] {
            let found = JS.replace("http://www.w3.org/2000/svg", "").contains(word);
            assert!(!found, "{word}");
        }
        assert!(JS.starts_with("(function () {\n\"use strict\";"), "its names are its own");
        assert!(JS.len() < 15_000, "{} bytes", JS.len());
    }

    #[test]
    fn the_style_sheet_asks_nothing_of_anyone() {
        for word in ["url(", "@import", "//", "</"] {
            assert!(!CSS.contains(word), "{word}");
        }
    }
}
