//! The manual as pages of the site, so that it is at hand where there is no network.
//!
//! In:  `docs/*.md`, compiled into the program.  Out: `docs/index.html` and `docs/<name>/index.html`, in the order of the index.
//! Not here: the words of the manual; notes of design, which are for those who change the program.
//!
//! A page has the address of its file: `docs/load.md#files` in the repository is `docs/load/index.html#files` on the site.

mod anchor;
mod render;

use askama::Template;

use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::index::Site;
use super::link::Link;
use super::shell::Shell;
use render::Text;

/// A page of the manual.
pub(super) struct Chapter {
    /// Its file without the ending.
    name: &'static str,
    /// The heading of the index below which it stands.
    part: &'static str,
    text: &'static str,
}

/// Reads the files of the names below each heading.
macro_rules! chapters {
    ($($part:literal: [$($name:literal),* $(,)?]),* $(,)?) => {
        &[$($(Chapter { name: $name, part: $part, text: include_str!(concat!("../../../../../docs/", $name, ".md")) }),*),*]
    };
}

/// Every page, in the order of the index. A test compares this list with the index and with the folder.
static MANUAL: &[Chapter] = chapters! {
    "Tutorials": [
        "analyse-a-folder",
        "compare-two-folders",
        "measure-a-server",
        "does-docker-cost-anything",
        "metrics",
        "publish-with-github-pages",
    ],
    "Guides": [
        "collect",
        "sequential",
        "cluster",
        "history",
        "table",
        "agreement",
        "watch",
        "study",
        "publishing",
    ],
    "Reference": [
        "commands",
        "site",
        "suite",
        "environments",
        "workloads",
        "gates",
        "telemetry",
        "gpu-probe",
        "load",
        "load-figures",
        "what-servers-do",
        "archive",
        "settings",
        "formats",
        "definitions",
        "physics-and-cost",
        "downloads",
        "campaigns",
        "limits",
    ],
};

const INDEX: &str = include_str!("../../../../../docs/README.md");

/// Where the index lies.
pub(super) const HOME: &str = "docs/index.html";

/// Drawings that pages show, by the address that the Markdown gives them.
static DRAWINGS: &[(&str, &str)] = &[("sequential.svg", include_str!("../../../../../docs/sequential.svg"))];

/// Checks of which a page of the manual says more than the page of the check can.
const CHECKS: &[(&str, &str)] = &[
    ("client-limited", "load"),
    ("clocks-disagree", "cluster"),
    ("decode-above-roofline", "physics-and-cost"),
    ("definition-differs", "definitions"),
    ("link-below-promise", "cluster"),
    ("stopped-early", "sequential"),
    ("swap-used", "gates"),
    ("throttled", "gates"),
    ("weights-exceed-memory", "physics-and-cost"),
];

#[derive(Template)]
#[template(path = "docs.html")]
struct Page {
    shell: Shell,
    /// Empty for the index.
    part: &'static str,
    text: Text,
    previous: Option<(String, String)>,
    next: Option<(String, String)>,
}

/// The index and every page of the manual.
pub(super) struct DocsPage;

impl PageKind for DocsPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        let index =
            Draft::new(HOME, |site| Ok(DrawnPage::new(index(site).map_err(template_fault)?))).keyed(Shell::shows);
        let pages = (0..MANUAL.len()).zip(MANUAL).map(|(at, chapter)| {
            Draft::new(path(chapter), move |site| Ok(DrawnPage::new(page(site, at, chapter).map_err(template_fault)?)))
                .keyed(Shell::shows)
        });
        std::iter::once(index).chain(pages).collect()
    }
}

/// The page of the manual that says more of a check, as a link from a page with this root.
pub(super) fn of_check(site: &Site<'_>, root: &str, id: &str) -> Option<Link> {
    let (_, name) = CHECKS.iter().find(|(check, _)| *check == id)?;
    let chapter = MANUAL.iter().find(|chapter| chapter.name == *name)?;
    let path = path(chapter);
    site.has(&path).then(|| Link { href: Some(format!("{root}{path}")), text: render::title(chapter.text) })
}

fn path(chapter: &Chapter) -> String {
    format!("docs/{}/index.html", chapter.name)
}

fn index(site: &Site<'_>) -> Result<String, askama::Error> {
    let text = Text::new(INDEX, "");
    Page {
        shell: Shell::new(HOME, format!("{} – sparkbench", text.title), "docs", site).described(&text.description),
        part: "",
        text,
        previous: None,
        next: MANUAL.first().map(|chapter| turn("", chapter)),
    }
    .render()
}

fn page(site: &Site<'_>, at: usize, chapter: &Chapter) -> Result<String, askama::Error> {
    let root = "../";
    let text = Text::new(chapter.text, root);
    let before = at.checked_sub(1).and_then(|before| MANUAL.get(before));
    Page {
        shell: Shell::new(&path(chapter), format!("{} – manual – sparkbench", text.title), "docs", site)
            .described(&text.description),
        part: chapter.part,
        text,
        previous: Some(match before {
            Some(before) => turn(root, before),
            None => (format!("{root}index.html"), render::title(INDEX)),
        }),
        next: MANUAL.get(at + 1).map(|after| turn(root, after)),
    }
    .render()
}

/// Address and title of a page, from one whose way to the index is `root`.
fn turn(root: &str, chapter: &Chapter) -> (String, String) {
    (format!("{root}{}/index.html", chapter.name), render::title(chapter.text))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_manual_is_a_page_in_the_order_of_the_index() {
        let mut wanted = Vec::new();
        let mut part = "";
        for line in INDEX.lines() {
            part = line.strip_prefix("## ").unwrap_or(part);
            let name = line.rsplit_once("](").and_then(|(_, link)| link.strip_suffix(".md) |"));
            wanted.extend(name.map(|name| (part, name)));
        }
        let listed: Vec<(&str, &str)> = MANUAL.iter().map(|chapter| (chapter.part, chapter.name)).collect();
        assert_eq!(listed, wanted, "docs/README.md and src/page/docs/mod.rs list the same pages");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let files = std::fs::read_dir(folder).expect("the manual").map(|entry| entry.expect("a file").file_name());
        let mut files: Vec<String> =
            files.filter_map(|name| Some(name.to_str()?.strip_suffix(".md")?.to_owned())).collect();
        files.sort_unstable();
        let mut names: Vec<&str> = MANUAL.iter().map(|chapter| chapter.name).chain(["README"]).collect();
        names.sort_unstable();
        assert_eq!(files, names, "docs/README.md and src/page/docs/mod.rs list every file of docs/");
    }

    #[test]
    fn checks_name_pages_that_there_are() {
        for (check, name) in CHECKS {
            assert!(MANUAL.iter().any(|chapter| chapter.name == *name), "{check}: {name}");
        }
    }
}
