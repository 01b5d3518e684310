//! The whole report in one file: the pages of the site as parts of one document.
//!
//! In:  our own finished pages, by path.  Out: one HTML document that needs nothing beside it.
//! Not here: what the pages say. Only addresses, ids and heading levels of a page change.
//!
//! The rewriting reads tags of our own templates: lower-case names, attributes in double quotes, every `<` in text escaped. It is no parser
//! for foreign HTML. The words of other people reach a page as text only.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::front;
use super::index::Site;
use super::publish::Version;
use super::shell::Shell;
use sparkbench_text::error::{Error, Kind};

#[derive(Template)]
#[template(path = "single.html")]
struct Document {
    shell: Shell,
    parts: Vec<Part>,
    /// Version of this page. Absent for a report by itself.
    version: Option<String>,
}

/// A page as a part of the document.
struct Part {
    id: String,
    name: String,
    html: String,
}

/// A page that becomes a part.
#[derive(Debug)]
pub(super) struct Source {
    /// In the site: `traps/index.html`.
    pub path: String,
    /// For the navigation, and to distinguish regions of like names.
    pub name: String,
    /// The whole page.
    pub html: String,
}

/// Joins the pages. The first one keeps its heading, those of the others step down by one. The page of a version says that it is one.
pub(super) fn document(site: &Site<'_>, sources: &[Source], version: Option<&Version>) -> Result<Vec<u8>, Error> {
    let ids: BTreeMap<&str, String> =
        sources.iter().enumerate().map(|(k, source)| (source.path.as_str(), format!("p{k}"))).collect();
    let listed: BTreeSet<&str> = site.analysis.runs.iter().map(|run| run.id.as_str()).collect();
    let parts = sources
        .iter()
        .enumerate()
        .map(|(k, source)| {
            let rewrite = Rewrite { source, own: format!("p{k}"), parts: &ids, runs: &listed, first: k == 0 };
            let html = inside(&source.html).and_then(|html| rewrite.html(html)).ok_or_else(|| {
                Error::new(Kind::Archive, format!("the page '{}' cannot become part of one file", source.path))
            })?;
            Ok(Part { id: rewrite.own, name: source.name.clone(), html })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let title = front::heading(site);
    let version = version.map(|version| version.name().to_owned());
    let title = version.as_ref().map_or_else(|| title.clone(), |name| format!("{title}, version {name}"));
    let shell = Shell::new("index.html", format!("{title} – sparkbench"), "front", site);
    Document { shell, parts, version }.render().map(String::into_bytes).map_err(super::draft::template_fault)
}

/// Content between the tags of `main`.
fn inside(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("<main ")?;
    let (_, rest) = rest.split_once('>')?;
    rest.rsplit_once("</main>").map(|(html, _)| html)
}

/// How one page is changed.
struct Rewrite<'a> {
    source: &'a Source,
    /// Id of the part, and the beginning of all ids in it.
    own: String,
    /// Ids of the parts by path.
    parts: &'a BTreeMap<&'a str, String>,
    runs: &'a BTreeSet<&'a str>,
    first: bool,
}

/// Where a link of the site leads in the document.
enum Way {
    /// An anchor, a web address or a mail address.
    To(String),
    /// The page of a run.
    Run(String),
    /// Nowhere: the file is not in the document.
    Gone,
}

impl Rewrite<'_> {
    /// The page with every tag rewritten. `None` when it is not of the shape that our templates have.
    fn html(&self, html: &str) -> Option<String> {
        let mut out = String::with_capacity(html.len() + html.len() / 8);
        // What each open link became, and whether we are in the list of runs or in a drawing.
        let mut links: Vec<&'static str> = Vec::new();
        let (mut in_runs, mut in_drawing) = (false, false);
        let mut rest = html;
        while let Some((text, tail)) = rest.split_once('<') {
            let (tag, tail) = split_tag(tail)?;
            out.push_str(text);
            rest = tail;
            let (name, attributes) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
            match name {
                "/a" => {
                    out.push_str(&format!("</{}>", links.pop()?));
                    continue;
                }
                "svg" | "/svg" => in_drawing = name == "svg",
                "/table" => in_runs = false,
                "table" => in_runs = attributes.contains("runs\""),
                "a" => {
                    let plain = if in_drawing { "g" } else { "span" };
                    let became = self.link(attributes, in_runs, plain, &mut out)?;
                    links.push(became);
                    continue;
                }
                _ => {}
            }
            out.push('<');
            out.push_str(&self.lower(name));
            let region = name == "nav" || attributes.contains("role=\"region\"");
            for (key, value) in pairs(attributes)? {
                match (key, value) {
                    ("id", Some(id)) => push(&mut out, key, &self.id(id)),
                    ("aria-labelledby" | "aria-describedby", Some(ids)) => {
                        let ids: Vec<String> = ids.split_whitespace().map(|id| self.id(id)).collect();
                        push(&mut out, key, &ids.join(" "));
                    }
                    ("aria-label", Some(label)) if region && !self.first => {
                        push(&mut out, key, &format!("{label}, {}", escaped(&self.source.name)));
                    }
                    (key, Some(value)) => push(&mut out, key, value),
                    (key, None) => {
                        out.push(' ');
                        out.push_str(key);
                    }
                }
            }
            if attributes.ends_with('/') || name.ends_with('/') {
                out.push('/');
            }
            out.push('>');
        }
        out.push_str(rest);
        Some(out)
    }

    /// Opens what a link becomes: a link within the document, an anchor in the list of runs, or plain text.
    fn link(&self, attributes: &str, in_runs: bool, plain: &'static str, out: &mut String) -> Option<&'static str> {
        let pairs = pairs(attributes)?;
        let href = pairs.iter().find(|(key, _)| *key == "href").and_then(|(_, value)| *value)?;
        match self.way(href) {
            // The name of the run. Its figures lead to their lines, which are on its own page.
            Way::Run(id) if in_runs && !href.contains('#') => {
                out.push_str(&format!("<span id=\"run-{id}\">"));
                return Some("span");
            }
            Way::Run(_) if in_runs => {
                out.push_str(&format!("<{plain}>"));
                return Some(plain);
            }
            Way::To(_) | Way::Run(_) => {}
            Way::Gone => {
                out.push_str(&format!("<{plain}>"));
                return Some(plain);
            }
        }
        out.push_str("<a");
        for (key, value) in pairs {
            match (key, value) {
                ("href", Some(href)) => match self.way(href) {
                    Way::To(href) => push(out, key, &href),
                    Way::Run(id) => push(out, key, &format!("#run-{id}")),
                    Way::Gone => {}
                },
                ("id", Some(id)) => push(out, key, &self.id(id)),
                ("download" | "rel", _) | (_, None) => {}
                (key, Some(value)) => push(out, key, value),
            }
        }
        out.push('>');
        Some("a")
    }

    /// An id, or the target of an anchor, of this page.
    fn id(&self, id: &str) -> String {
        format!("{}-{id}", self.own)
    }

    fn way(&self, href: &str) -> Way {
        if href.starts_with("https://") || href.starts_with("http://") || href.starts_with("mailto:") {
            return Way::To(href.to_owned());
        }
        let (path, anchor) = href.split_once('#').map_or((href, None), |(path, anchor)| (path, Some(anchor)));
        let target = if path.is_empty() { self.source.path.clone() } else { joined(&self.source.path, path) };
        if let Some(part) = self.parts.get(target.as_str()) {
            // The main element of a page is the part itself here.
            return Way::To(match anchor.filter(|a| !a.is_empty() && *a != "main") {
                Some(anchor) => format!("#{part}-{anchor}"),
                None => format!("#{part}"),
            });
        }
        let run = target.strip_prefix("r/").and_then(|rest| rest.strip_suffix("/index.html"));
        match run.filter(|id| self.runs.contains(id)) {
            Some(id) => Way::Run(id.to_owned()),
            None => Way::Gone,
        }
    }

    /// Headings of all parts but the first are one level lower: the document has one of the first level.
    fn lower(&self, name: &str) -> String {
        let (slash, bare) = name.strip_prefix('/').map_or(("", name), |bare| ("/", bare));
        let level = bare.strip_prefix('h').and_then(|digit| digit.parse::<u8>().ok());
        match level.filter(|_| !self.first) {
            Some(level) => format!("{slash}h{}", (level + 1).min(6)),
            None => name.trim_end_matches('/').to_owned(),
        }
    }
}

/// The tag up to its end, which is not within quotes, and what follows it.
fn split_tag(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'>' if !quoted => return Some((text.get(..at)?, text.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}

/// Attributes in their order. One without a value has `None`.
fn pairs(attributes: &str) -> Option<Vec<(&str, Option<&str>)>> {
    let mut pairs = Vec::new();
    let mut rest = attributes.trim().trim_end_matches('/').trim_end();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (key, tail) = rest.split_at(end);
        if let Some(quoted) = tail.strip_prefix("=\"") {
            let (value, tail) = quoted.split_once('"')?;
            pairs.push((key, Some(value)));
            rest = tail.trim_start();
        } else if tail.starts_with('=') {
            return None;
        } else {
            pairs.push((key, None));
            rest = tail.trim_start();
        }
    }
    Some(pairs)
}

/// A link of the page at `from`, as a path of the site.
fn joined(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Appends an attribute whose value is already safe.
fn push(out: &mut String, key: &str, value: &str) {
    out.push(' ');
    out.push_str(key);
    out.push_str("=\"");
    out.push_str(value);
    out.push('"');
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(path: &str, html: &str) -> String {
        let source = Source { path: path.into(), name: "A & \"B\"".into(), html: String::new() };
        let parts = BTreeMap::from([
            ("index.html", "p0".to_owned()),
            ("c/a/index.html", "p1".into()),
            ("traps/index.html", "p2".into()),
        ]);
        let runs = BTreeSet::from(["r1"]);
        let first = path == "index.html";
        let own = parts[path].clone();
        Rewrite { source: &source, own, parts: &parts, runs: &runs, first }.html(html).unwrap()
    }

    #[test]
    fn links_lead_to_parts_rows_or_nowhere() {
        let at = |html| rewritten("c/a/index.html", html);
        assert_eq!(at("<a href=\"#x\">a</a>"), "<a href=\"#p1-x\">a</a>");
        assert_eq!(at("<a href=\"../../traps/index.html#drift\">a</a>"), "<a href=\"#p2-drift\">a</a>");
        assert_eq!(at("<a href=\"../../index.html\">a</a>"), "<a href=\"#p0\">a</a>");
        assert_eq!(at("<a href=\"#main\">a</a>"), "<a href=\"#p1\">a</a>");
        assert_eq!(at("<a href=\"../../r/r1/index.html\">r1</a>"), "<a href=\"#run-r1\">r1</a>");
        assert_eq!(at("<a href=\"../../data/x.csv\" download>x</a>"), "<span>x</span>");
        assert_eq!(at("<a href=\"https://example.org/?a=1\">x</a>"), "<a href=\"https://example.org/?a=1\">x</a>");
        assert_eq!(
            at("<table class=\"dense runs\"><a href=\"../../r/r1/index.html\">r1</a></table>"),
            "<table class=\"dense runs\"><span id=\"run-r1\">r1</span></table>"
        );
    }

    #[test]
    fn ids_get_their_part_and_headings_step_down() {
        let at = |html| rewritten("c/a/index.html", html);
        assert_eq!(at("<h1 id=\"t\">x</h1><br><hr/>"), "<h2 id=\"p1-t\">x</h2><br><hr/>");
        assert_eq!(at("<p aria-labelledby=\"a b\">x > y</p>"), "<p aria-labelledby=\"p1-a p1-b\">x > y</p>");
        assert_eq!(
            at("<div role=\"region\" aria-label=\"Runs\"></div>"),
            "<div role=\"region\" aria-label=\"Runs, A &amp; &quot;B&quot;\"></div>"
        );
        assert_eq!(rewritten("index.html", "<h1>x</h1>"), "<h1>x</h1>");
    }
}
