//! The manual on the site: every page of `docs/` is there, in the order of its index, and every link leads where it leads in the repository.

#![cfg(feature = "page")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use crate::support::{sample_analysis, site_check};
use sparkbench::page;

/// Every file of a site, by path.
static SITE: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let pages = page::render(&sample_analysis::analysis(), &sample_analysis::extras()).expect("a site");
    let texts = pages.into_iter().filter_map(|page| Some((page.path, String::from_utf8(page.bytes).ok()?)));
    texts.collect()
});

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files of the manual by name, without their ending.
fn manual() -> BTreeMap<String, String> {
    let files = std::fs::read_dir(root().join("docs")).expect("docs/").map(|entry| entry.expect("an entry").path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
    files
        .map(|path| {
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
            (name, std::fs::read_to_string(&path).expect("a page of the manual"))
        })
        .collect()
}

/// Where a page of the manual lies on the site.
fn place(name: &str) -> String {
    if name == "README" { "docs/index.html".to_owned() } else { format!("docs/{name}/index.html") }
}

fn page_of(name: &str) -> &'static str {
    SITE.get(&place(name)).unwrap_or_else(|| panic!("no page of docs/{name}.md"))
}

/// What stands between two marks, each time.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Vec<&'t str> {
    text.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

/// Where the links of a page of Markdown lead, examples left out.
fn links(markdown: &str) -> Vec<&str> {
    let prose = markdown.split("```").step_by(2);
    prose.flat_map(|part| between(part, "](", ")")).collect()
}

#[test]
fn every_page_of_the_manual_is_on_the_site_and_nothing_else_is() {
    let wanted: BTreeSet<String> = manual().keys().map(|name| place(name)).collect();
    let found: BTreeSet<String> =
        SITE.keys().filter(|path| path.starts_with("docs/") && path.ends_with(".html")).cloned().collect();
    assert_eq!(found, wanted);
    for name in manual().keys() {
        let html = page_of(name);
        assert!(html.contains("<a href=\"../") && html.contains(">Manual</a>"), "{name}: no way to the manual");
        assert_eq!(html.matches("aria-current=\"page\"").count(), 1, "{name}");
    }
}

#[test]
fn every_link_and_fragment_leads_somewhere() {
    let files = SITE.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes())).collect();
    let faults = site_check::faults(&files);
    let ours: Vec<&String> = faults.iter().filter(|fault| fault.starts_with("docs/")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn the_index_gives_the_order_in_which_pages_follow_each_other() {
    let text = &manual()["README"];
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let order: Vec<&str> = rows.flat_map(links).filter_map(|link| link.strip_suffix(".md")).collect();
    assert_eq!(order.len(), manual().len() - 1, "the index lists every page once: {order:?}");
    let mut walked = Vec::new();
    let mut at = "README".to_owned();
    while let [next] = between(page_of(&at), "<a rel=\"next\" class=\"next\" href=\"", "\"")[..] {
        let name = next.trim_start_matches("../").trim_end_matches("/index.html").to_owned();
        let back = between(page_of(&name), "<a rel=\"prev\" href=\"", "\"");
        let before = if at == "README" { "../index.html".to_owned() } else { format!("../{at}/index.html") };
        assert_eq!(back, [before], "{name} leads back to {at}");
        walked.push(name.clone());
        at = name;
    }
    assert_eq!(walked, order);
}

#[test]
fn a_link_of_the_manual_leads_to_the_same_place_on_the_site_or_is_plain_text() {
    let manual = manual();
    let mut counted = (0, 0, 0);
    for (name, text) in &manual {
        let html = page_of(name);
        let root = if name == "README" { "" } else { "../" };
        for link in links(text) {
            let (file, fragment) = link.split_once('#').map_or((link, ""), |(file, fragment)| (file, fragment));
            if link.starts_with("http") || link.starts_with('#') {
                assert!(html.contains(&format!("<a href=\"{link}\"")), "{name}: {link}");
                counted.0 += 1;
            } else if let Some(page) = file.strip_suffix(".md").filter(|page| manual.contains_key(*page)) {
                let there = place(page).replacen("docs/", root, 1);
                let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
                assert!(html.contains(&format!("<a href=\"{there}{fragment}\"")), "{name}: {link}");
                counted.1 += 1;
            } else {
                assert!(root_has(file), "{name}: {link} is not in the repository");
                let leads = between(html, " href=\"", "\"");
                assert!(!leads.iter().any(|href| href.contains(file)), "{name}: {link} is not on the site");
                counted.2 += 1;
            }
        }
    }
    assert!(counted.0 > 3 && counted.1 > 60 && counted.2 > 3, "{counted:?}");
}

/// Whether a file that `docs/` names is in the repository.
fn root_has(file: &str) -> bool {
    root().join("docs").join(file).exists()
}

#[test]
fn a_page_begins_with_its_title_a_lead_and_its_contents() {
    for (name, text) in manual() {
        let html = page_of(&name);
        let title = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("a title").replace('`', "");
        let shown = between(html, "<title>", "</title>").concat().replace("&#39;", "'").replace('’', "'");
        assert!(shown.starts_with(&title), "{name}: {shown}");
        let lead = between(html, "<p class=\"lead\">", "</p>");
        assert!(lead.len() == 1 && lead[0].len() > 40, "{name} begins with a paragraph: {lead:?}");
        let description = between(html, "<meta name=\"description\" content=\"", "\"");
        assert!(description.iter().all(|said| said.ends_with(['.', '?'])), "{name}: {description:?}");
        let contents = between(html, "<nav class=\"toc\"", "</nav>");
        let listed = contents.first().map_or(0, |contents| contents.matches("<a href=\"#").count());
        let headings = text.split("```").step_by(2).flat_map(str::lines).filter(|line| line.starts_with("## "));
        assert_eq!(listed, headings.count(), "{name}");
    }
}

#[test]
fn examples_and_tables_scroll_where_the_keyboard_reaches_them() {
    for name in manual().keys() {
        let html = page_of(name);
        let main = between(html, "<main ", "</main>")[0];
        for open in ["<pre", "<table"] {
            for (at, _) in main.match_indices(open) {
                let start = main[..at].rfind("<div class=\"scroll").unwrap_or(0);
                let tag = if open == "<pre" { &main[at..] } else { &main[start..at] };
                let tag = tag.split('>').next().unwrap_or_default();
                assert!(tag.contains("tabindex=\"0\" role=\"region\" aria-label=\""), "{name}: {tag}");
            }
        }
    }
}
