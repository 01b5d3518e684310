//! Markdown to HTML, and thresholds into prose.
//!
//! In:  prose of ours with `{{names}}`, prose of authors without.  Out: HTML without a tag that the prose did not earn.
//! Not here: pages.

use std::collections::BTreeMap;

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd, html};

use sparkbench_text::error::{Error, Kind, Place};

/// Names that our prose may quote and `Extras::constants` must hold. Settings and margins are known without it.
#[allow(dead_code, reason = "for tests, which hold the prose against the constants")]
pub const CONSTANTS: &[&str] = &[
    "agreement_z",
    "autocorrelation_z",
    "bca_from_n",
    "cv_limit_pct",
    "exact_permutations",
    "exact_rank_n",
    "interleaved_share",
    "modified_z",
    "permutation_draws",
    "power_effect_pct",
    "power_target",
    "three_sigma",
    "tukey_fence",
];

/// Ours: every `{{name}}` becomes its value. An unknown name is an error, so that text cannot drift from code.
pub(super) fn fill(prose: &str, values: &BTreeMap<String, String>, name: &str) -> Result<String, Error> {
    let mut filled = String::with_capacity(prose.len());
    let mut rest = prose;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((key, tail)) = after.split_once("}}") else {
            return Err(Error::new(Kind::Usage, format!("prose '{name}' opens a reference it never closes")));
        };
        let value = values.get(key.trim()).ok_or_else(|| {
            Error::new(Kind::Usage, format!("prose '{name}' quotes a threshold that nobody supplied"))
                .at(Place::Field(key.trim().to_owned()))
        })?;
        filled.push_str(before);
        filled.push_str(value);
        rest = tail;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// To HTML. Raw HTML of the author is shown as text. Links lead only to the web, to mail or within the site.
/// Pictures become links, since no page asks for anything elsewhere. Headings start below `level`. `name` says of which
/// text its tables are.
pub(super) fn html(markdown: &str, level: u8, name: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_SMART_PUNCTUATION;
    let events = Parser::new_ext(markdown, options).filter_map(|event| tame(event, deeper(markdown, level)));
    let mut out = String::new();
    html::push_html(&mut out, events);
    frame_tables(&out, name)
}

/// A table may be wider than a phone: each scrolls in its own box, which the keyboard reaches.
pub(super) fn frame_tables(html: &str, name: &str) -> String {
    let mut name_safe = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '<' => name_safe.push_str("&lt;"),
            '&' => name_safe.push_str("&amp;"),
            '"' => name_safe.push_str("&quot;"),
            other => name_safe.push(other),
        }
    }
    let mut out = String::with_capacity(html.len());
    for (k, part) in html.split("<table>").enumerate() {
        if k > 0 {
            out.push_str(&format!(
                "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table {k}: {name_safe}\"><table>\
                 <caption class=\"sr\">Table {k}: {name_safe}</caption>"
            ));
        }
        out.push_str(part);
    }
    out.replace("</table>", "</table></div>").replace("<th>", "<th scope=\"col\">")
}

pub(super) fn tame(event: Event<'_>, level: i8) -> Option<Event<'_>> {
    Some(match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => return None,
        Event::Start(Tag::Heading { level: own, classes, attrs, .. }) => {
            Event::Start(Tag::Heading { level: below(own, level), id: None, classes, attrs })
        }
        Event::End(TagEnd::Heading(own)) => Event::End(TagEnd::Heading(below(own, level))),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: harmless(dest_url), title, id })
        }
        Event::Start(Tag::Image { dest_url, title, id, .. }) => {
            Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url: harmless(dest_url), title, id })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    })
}

/// `javascript:` and its kin lead nowhere.
fn harmless(url: CowStr<'_>) -> CowStr<'_> {
    let clean: String = url.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    let lower = clean.to_ascii_lowercase();
    let known = ["https://", "http://", "mailto:", "#"].iter().any(|scheme| lower.starts_with(scheme));
    if known { url } else { CowStr::Borrowed("#main") }
}

/// How many levels to lower the headings of a text, so that the highest follows one of `level`. Authors begin with `#` or with `##`.
pub(super) fn deeper(markdown: &str, level: u8) -> i8 {
    let highest = Parser::new(markdown)
        .filter_map(|event| match event {
            Event::Start(Tag::Heading { level, .. }) => Some(level as i8),
            _ => None,
        })
        .min();
    // Levels are 1 to 6.
    level.min(6) as i8 + 1 - highest.unwrap_or(1)
}

fn below(own: HeadingLevel, deeper: i8) -> HeadingLevel {
    let level = (own as i8).saturating_add(deeper).clamp(1, 6);
    HeadingLevel::try_from(level as usize).unwrap_or(HeadingLevel::H6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_html_of_an_author_is_text() {
        let out = html("a <script>alert(1)</script> b\n\n<img src=x onerror=alert(1)>\n", 1, "x");
        assert!(!out.contains("<script") && !out.contains("<img"), "{out}");
        assert!(out.contains("&lt;script&gt;"), "{out}");
    }

    #[test]
    fn links_lead_to_the_web_or_nowhere_and_pictures_are_links() {
        let out = html(
            "[x](javascript:alert(1)) [y](https://example.org) ![p](https://example.org/p.png) [z](../../etc)",
            1,
            "x",
        );
        assert!(!out.contains("javascript") && !out.contains("<img") && !out.contains("etc"), "{out}");
        assert!(
            out.contains("href=\"https://example.org\"") && out.contains("href=\"https://example.org/p.png\""),
            "{out}"
        );
    }

    #[test]
    fn headings_of_prose_stand_below_those_of_the_page() {
        assert_eq!(html("# One", 1, "x").trim(), "<h2>One</h2>");
        assert_eq!(html("## Two\n\n##### Five", 3, "x").trim(), "<h4>Two</h4>\n<h6>Five</h6>");
    }

    #[test]
    fn an_unknown_threshold_is_an_error_that_names_it() {
        let values = BTreeMap::from([("n".to_owned(), "20".to_owned())]);
        assert_eq!(fill("below {{n}} and {{ n }}", &values, "x").unwrap(), "below 20 and 20");
        let error = fill("{{m}}", &values, "x").unwrap_err();
        assert_eq!(error.place, Some(Place::Field("m".into())));
        assert!(fill("{{m", &values, "x").is_err());
    }
}
