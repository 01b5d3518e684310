//! Atom feeds: what is new on the site, for readers who come back.
//!
//! In:  campaigns, corrections and steps of history.  Out: `feed.xml`, and the feed beside the history.
//! Not here: when something was published. Pages know no clock: times are those of the runs, and of corrections the days that their authors give.
//!
//! Source: RFC 4287.

use std::fmt::Write as _;

use super::super::index::Site;
use super::super::stamp;
use super::super::{Page, history, labels};
use crate::chart::xml;
use sparkbench_model::{Correction, Instant};
use sparkbench_text::hash::hash;

/// The feed of the whole site.
pub(crate) const PATH: &str = "feed.xml";

/// Entries of a feed, the newest first.
const MOST_ENTRIES: usize = 50;

/// One entry.
pub(crate) struct News {
    /// When it happened.
    pub at: Option<Instant>,
    /// Its subject, in words that are unique and stay when the page changes.
    pub name: String,
    /// The page about it, below the site.
    pub path: String,
    /// The place on that page, which is part of its absolute id where the site has an address. Without one, by `name`.
    pub anchor: Option<String>,
    /// One line.
    pub title: String,
    /// The sentences.
    pub text: String,
}

/// Campaigns with their answers, what their authors corrected, and the steps of the history.
pub(crate) fn of_site(site: &Site<'_>) -> Page {
    let mut news = history::news(site);
    for c in site.campaigns() {
        let answer: Vec<&str> = c.headline.iter().map(|sentence| sentence.text.as_str()).collect();
        let runs = labels::counted(c.runs, "run", "runs");
        news.push(News {
            at: c.last_started_utc,
            name: format!("{}\n{}", c.name, c.archive_sha256),
            path: format!("c/{}/index.html", c.name),
            anchor: None,
            title: format!("{} ({runs})", c.title),
            text: if answer.is_empty() { format!("{runs}. Nothing is compared.") } else { answer.join(" ") },
        });
        for correction in c.study.iter().flat_map(|study| &study.corrections) {
            news.push(News {
                at: Instant::parse(&format!("{}T00:00:00Z", correction.date)),
                name: format!("{}\n{}\n{}", c.name, correction.date, correction.text),
                path: "changelog/index.html".to_owned(),
                anchor: Some(self::correction(&c.name, correction)),
                title: format!("Correction: {}", c.title),
                text: correction.text.clone(),
            });
        }
    }
    atom(site, "Campaigns, corrections and changes of this site", "index.html", PATH, news)
}

/// Address of a correction on the page of versions. Stays when others are added.
pub(crate) fn correction(campaign: &str, correction: &Correction) -> String {
    let hash = hash([campaign, &correction.date, &correction.text].join("\n").as_bytes());
    format!("correction-{}", hash.get(..8).unwrap_or_default())
}

/// A feed at `own` of what the page at `page` and others tell.
pub(crate) fn atom(site: &Site<'_>, title: &str, page: &str, own: &str, mut news: Vec<News>) -> Page {
    news.sort_by(|a, b| {
        b.at.cmp(&a.at).then_with(|| (&a.path, &a.anchor, &a.name).cmp(&(&b.path, &b.anchor, &b.name)))
    });
    let time = |at: Option<Instant>| at.map_or_else(never, Instant::iso);
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    // Writing to a string cannot fail. Paths and addresses have no letter that XML takes for its own.
    let _ = writeln!(out, "<title>{}</title>", xml(title));
    let address = site.address(page);
    let archives: Vec<&str> = site.analysis.campaigns.iter().map(|c| c.archive_sha256.as_str()).collect();
    let id = address.clone().unwrap_or_else(|| urn(&format!("{own}\n{}", archives.join("\n"))));
    let _ = writeln!(out, "<id>{id}</id>");
    let _ = writeln!(out, "<updated>{}</updated>", time(news.first().and_then(|n| n.at)));
    out.push_str("<author><name>sparkbench</name></author>\n");
    if let Some(own) = site.address(own) {
        let _ = writeln!(out, "<link rel=\"self\" type=\"application/atom+xml\" href=\"{own}\"/>");
    }
    let root = stamp::root(own);
    let there = address.unwrap_or_else(|| format!("{root}{page}"));
    let _ = writeln!(out, "<link rel=\"alternate\" type=\"text/html\" href=\"{there}\"/>");
    for n in news.iter().take(MOST_ENTRIES) {
        let place = n.anchor.as_ref().map_or_else(String::new, |anchor| format!("#{anchor}"));
        let whole = site.address(&n.path).map(|address| format!("{address}{place}"));
        let _ = writeln!(
            out,
            "<entry>\n<title>{}</title>\n<id>{}</id>\n<updated>{}</updated>\n<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n\
             <summary>{}</summary>\n</entry>",
            xml(&n.title),
            whole.clone().unwrap_or_else(|| urn(&n.name)),
            time(n.at),
            whole.unwrap_or_else(|| format!("{root}{}{place}", n.path)),
            xml(&n.text),
        );
    }
    out.push_str("</feed>\n");
    Page::new(own, out)
}

/// Where nothing of a feed has a time.
fn never() -> String {
    "1970-01-01T00:00:00Z".into()
}

/// A name that follows from what it names: a UUID of version 8, whose digits are those of a hash.
fn urn(of: &str) -> String {
    let hash = hash(of.as_bytes());
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("urn:uuid:{}-{}-8{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_what_they_name_and_have_the_form_of_their_kind() {
        let one = urn("a");
        assert_eq!(one.len(), "urn:uuid:".len() + 36);
        assert!(one == urn("a") && one != urn("b"));
        assert_eq!(one.split('-').nth(2).map(|part| part.starts_with('8')), Some(true));
    }
}
