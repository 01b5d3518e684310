//! A page of the manual from Markdown to HTML.
//!
//! In:  the Markdown, and the way from its page to the index.  Out: [`Text`]: title, lead, headings, and the rest.
//! Not here: what stands around it.
//!
//! Links between files of the manual lead to their pages. Links to other files of the repository become plain text, since the site does not
//! have these files. Raw HTML is text, and so is every quote, so that nothing in an example can be taken for an address of the page.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::anchor::Anchors;
use super::{DRAWINGS, INDEX, MANUAL};
use crate::page::prose::frame_tables;
use crate::page::study::safe;

/// A page of the manual.
#[derive(Debug)]
pub(super) struct Text {
    /// The first heading as plain text.
    pub title: String,
    /// The first heading as HTML, and its name.
    pub heading: String,
    pub anchor: String,
    /// The first sentence as plain text.
    pub description: String,
    /// The first paragraph as HTML, without its element.
    pub lead: String,
    /// Names and words of the headings below the first.
    pub parts: Vec<(String, String)>,
    /// Everything else.
    pub html: String,
}

impl Text {
    /// Renders a page that begins with its title and one paragraph.
    pub(super) fn new(markdown: &str, root: &str) -> Self {
        let events = events(markdown);
        let (head, rest) = match events.split_first() {
            Some((Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }), rest)) => inside(rest),
            _ => (&[][..], &events[..]),
        };
        let (lead, rest) = match rest.split_first() {
            Some((Event::Start(Tag::Paragraph), rest)) => inside(rest),
            _ => (&[][..], rest),
        };
        let title = plain(head);
        let mut writer = Writer { root, title: &title, anchors: Anchors::default(), parts: Vec::new(), examples: 0 };
        let anchor = writer.anchors.next(&title);
        let (heading, lead_html) = (writer.html(head), writer.html(lead));
        let html = frame_tables(&aligned(&writer.html(rest)), &title);
        Self {
            heading,
            anchor,
            description: first_sentence(&plain(lead)),
            lead: lead_html,
            parts: writer.parts,
            html,
            title,
        }
    }
}

/// The title of a page as plain text.
pub(super) fn title(markdown: &str) -> String {
    let line = markdown.lines().next().unwrap_or_default();
    plain(&events(line))
}

fn events(markdown: &str) -> Vec<Event<'_>> {
    Parser::new_ext(markdown, Options::ENABLE_TABLES).collect()
}

/// What stands before the end of the element that has just begun, and what follows that end.
fn inside<'e, 'm>(events: &'e [Event<'m>]) -> (&'e [Event<'m>], &'e [Event<'m>]) {
    let mut depth = 1;
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (events.get(..at).unwrap_or_default(), events.get(at + 1..).unwrap_or_default());
        }
    }
    (events, &[])
}

/// Columns of figures by their class: a style of its own is forbidden by the policy of the page. No text has a quote that is not escaped.
fn aligned(html: &str) -> String {
    const RIGHT: &str = " style=\"text-align: right\"";
    html.replace(&format!("<th{RIGHT}>"), "<th scope=\"col\" class=\"num\">").replace(RIGHT, " class=\"num\"")
}

/// The words alone.
fn plain(events: &[Event<'_>]) -> String {
    let words = events.iter().map(|event| match event {
        Event::Text(text) => typeset(text),
        Event::Code(text) => text.to_string(),
        Event::SoftBreak | Event::HardBreak => " ".to_owned(),
        _ => String::new(),
    });
    words.collect()
}

/// Up to the first full stop or question mark that a space or the end follows.
fn first_sentence(text: &str) -> String {
    let mut stops = text.match_indices(['.', '?']).map(|(at, _)| text.split_at(at + 1));
    stops.find(|(_, after)| after.is_empty() || after.starts_with(' ')).map_or(text, |(first, _)| first).to_owned()
}

/// An apostrophe as the rest of the site prints it. Other signs stay: an option begins with two hyphens.
fn typeset(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = 'x';
    while let Some(c) = letters.next() {
        let within = before.is_alphanumeric() && letters.peek().is_some_and(|next| next.is_alphabetic());
        out.push(if c == '\'' && within { '’' } else { c });
        before = c;
    }
    out
}

/// Where a link of the manual leads from a page with this root. Nowhere where the site does not have the file.
fn way(root: &str, to: &str) -> Option<String> {
    if ["https://", "http://", "mailto:", "#"].iter().any(|start| to.starts_with(start)) {
        return Some(to.to_owned());
    }
    let (file, fragment) = to.split_once('#').map_or((to, None), |(file, fragment)| (file, Some(fragment)));
    let name = file.strip_suffix(".md")?;
    let page = match name {
        "README" => format!("{root}index.html"),
        name => format!("{root}{}/index.html", MANUAL.iter().find(|chapter| chapter.name == name)?.name),
    };
    Some(fragment.map_or_else(|| page.clone(), |fragment| format!("{page}#{fragment}")))
}

/// The title of the page that a link names by its file: `[load.md](load.md)`.
fn named_by_file(to: &str, words: &str) -> Option<String> {
    let name = to.split('#').next().filter(|file| *file == words)?.strip_suffix(".md")?;
    let text = MANUAL.iter().find(|chapter| chapter.name == name).map(|chapter| chapter.text);
    text.or_else(|| (name == "README").then_some(INDEX)).map(title)
}

/// A drawing of ours without its own sheet: that of the page has the same rules, and follows the theme that a reader chose.
fn drawing(file: &str) -> Option<String> {
    let (_, svg) = DRAWINGS.iter().find(|(name, _)| *name == file)?;
    let svg = svg.get(svg.find("<svg")?..)?.trim_end();
    let Some((before, rest)) = svg.split_once("<style>") else { return Some(svg.to_owned()) };
    rest.split_once("</style>").map(|(_, after)| format!("{before}{after}"))
}

struct Writer<'a> {
    root: &'a str,
    title: &'a str,
    anchors: Anchors,
    parts: Vec<(String, String)>,
    /// Examples of code so far.
    examples: usize,
}

impl Writer<'_> {
    fn html(&mut self, events: &[Event<'_>]) -> String {
        let mut out = String::new();
        html::push_html(&mut out, self.events(events).into_iter());
        out
    }

    fn events<'m>(&mut self, events: &[Event<'m>]) -> Vec<Event<'m>> {
        let mut out: Vec<Event<'m>> = Vec::with_capacity(events.len());
        let mut rest = events;
        while let Some((event, after)) = rest.split_first() {
            rest = after;
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let (words, after) = inside(after);
                    rest = after;
                    self.heading(*level, words, &mut out);
                }
                Event::Start(Tag::CodeBlock(_)) => {
                    let (text, after) = inside(after);
                    rest = after;
                    out.push(markup(self.example(&plain_code(text))));
                }
                Event::Start(Tag::Paragraph) => match picture_alone(after) {
                    Some((svg, alt, after)) => {
                        rest = after;
                        out.push(markup(format!(
                            "<div class=\"drawing scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{svg}</div>\n",
                            safe(&alt)
                        )));
                    }
                    None => out.push(event.clone()),
                },
                Event::Start(Tag::Image { .. }) => {
                    let (alt, after) = inside(after);
                    rest = after;
                    out.push(markup(safe(&plain(alt))));
                }
                Event::Start(Tag::Link { dest_url, .. }) => {
                    let (words, after) = inside(after);
                    rest = after;
                    self.link(dest_url, words, &mut out);
                }
                Event::Start(Tag::HtmlBlock) | Event::End(TagEnd::HtmlBlock) => {}
                Event::Text(text) => out.push(markup(safe(&typeset(text)))),
                Event::Html(text) | Event::InlineHtml(text) => out.push(markup(safe(text))),
                Event::Code(text) => out.push(markup(format!("<code>{}</code>", safe(text)))),
                other => out.push(other.clone()),
            }
        }
        out
    }

    /// A heading is a link to itself: its address can be copied from it.
    fn heading<'m>(&mut self, level: HeadingLevel, words: &[Event<'m>], out: &mut Vec<Event<'m>>) {
        let title = plain(words);
        let anchor = self.anchors.next(&title);
        out.push(markup(format!("<{level} id=\"{anchor}\"><a class=\"quiet\" href=\"#{anchor}\">")));
        let is_link = |event: &Event<'_>| matches!(event, Event::Start(Tag::Link { .. }) | Event::End(TagEnd::Link));
        let words: Vec<Event<'m>> = words.iter().filter(|event| !is_link(event)).cloned().collect();
        out.extend(self.events(&words));
        out.push(markup(format!("</a></{level}>\n")));
        if level == HeadingLevel::H2 {
            self.parts.push((anchor, title));
        }
    }

    fn link<'m>(&mut self, to: &str, words: &[Event<'m>], out: &mut Vec<Event<'m>>) {
        let Some(href) = way(self.root, to) else {
            out.extend(self.events(words));
            return;
        };
        out.push(markup(format!("<a href=\"{}\">", safe(&href))));
        match named_by_file(to, &plain(words)) {
            Some(title) => out.push(markup(safe(&title))),
            None => out.extend(self.events(words)),
        }
        out.push(markup("</a>".to_owned()));
    }

    /// A block of code, which may be wider than a phone: it scrolls, and the keyboard reaches it.
    fn example(&mut self, code: &str) -> String {
        self.examples += 1;
        format!(
            "<pre class=\"code\" tabindex=\"0\" role=\"region\" aria-label=\"Example {}: {}\">{}</pre>\n",
            self.examples,
            safe(self.title),
            safe(code.trim_end_matches('\n'))
        )
    }
}

/// Markup that is ready.
fn markup<'m>(html: String) -> Event<'m> {
    Event::InlineHtml(html.into())
}

/// The text of a block of code as it is.
fn plain_code(events: &[Event<'_>]) -> String {
    events.iter().map(|event| if let Event::Text(text) = event { text.as_ref() } else { "" }).collect()
}

/// A paragraph that is one drawing of ours: the drawing, its words, and what follows the paragraph.
fn picture_alone<'e, 'm>(events: &'e [Event<'m>]) -> Option<(String, String, &'e [Event<'m>])> {
    let (Event::Start(Tag::Image { dest_url, .. }), rest) = events.split_first()? else { return None };
    let (alt, rest) = inside(rest);
    let (Event::End(TagEnd::Paragraph), rest) = rest.split_first()? else { return None };
    Some((drawing(dest_url)?, plain(alt), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(markdown: &str) -> String {
        Text::new(&format!("# A page\n\nIts lead.\n\n{markdown}"), "../").html.trim().to_owned()
    }

    #[test]
    fn a_page_is_a_title_a_lead_headings_and_the_rest() {
        let text =
            Text::new("# The `load` verb\n\nIt *sends*. Then it waits.\n\n## Next\n\nx\n\n### Deep\n\n## Next\n", "");
        assert_eq!((text.title.as_str(), text.anchor.as_str()), ("The load verb", "the-load-verb"));
        assert_eq!(text.heading, "The <code>load</code> verb");
        assert_eq!((text.lead.as_str(), text.description.as_str()), ("It <em>sends</em>. Then it waits.", "It sends."));
        assert_eq!(text.parts, [("next".to_owned(), "Next".to_owned()), ("next-1".to_owned(), "Next".to_owned())]);
        assert!(
            text.html.starts_with("<h2 id=\"next\"><a class=\"quiet\" href=\"#next\">Next</a></h2>\n<p>x</p>"),
            "{text:?}"
        );
        assert!(text.html.contains("<h3 id=\"deep\">"), "{text:?}");
    }

    #[test]
    fn links_lead_to_pages_of_the_manual_or_the_web_or_are_text() {
        for (markdown, wanted) in [
            ("[a](load.md)", "<a href=\"../load/index.html\">a</a>"),
            ("[a](load.md#files)", "<a href=\"../load/index.html#files\">a</a>"),
            ("[load.md](load.md)", "<a href=\"../load/index.html\">Load</a>"),
            ("[a](#files)", "<a href=\"#files\">a</a>"),
            ("[a](README.md)", "<a href=\"../index.html\">a</a>"),
            ("[a](https://example.org/?a=1&b=2)", "<a href=\"https://example.org/?a=1&amp;b=2\">a</a>"),
            ("[`a`](../README.md)", "<code>a</code>"),
            ("[a](design/0003-build.md)", "a"),
            ("[a](javascript:alert(1))", "a"),
            ("![a](screenshot.png)", "a"),
        ] {
            assert_eq!(html(markdown), format!("<p>{wanted}</p>"), "{markdown}");
        }
    }

    #[test]
    fn code_scrolls_and_every_sign_in_it_is_text() {
        assert_eq!(
            html("```toml\nurl = \"http://<host>\"  # 'a' & b\n```"),
            "<pre class=\"code\" tabindex=\"0\" role=\"region\" aria-label=\"Example 1: A page\">\
             url = &quot;http://&lt;host&gt;&quot;  # 'a' &amp; b</pre>"
        );
        assert_eq!(html("a `\"b\"` <i>c</i>"), "<p>a <code>&quot;b&quot;</code> &lt;i&gt;c&lt;/i&gt;</p>");
        assert_eq!(html("sparkbench's `--until`'s don't --x"), "<p>sparkbench’s <code>--until</code>’s don’t --x</p>");
    }

    #[test]
    fn tables_scroll_and_have_no_style_of_their_own() {
        let table = html("| a | b |\n|---|---:|\n| 1 | 2 |");
        assert!(
            table.starts_with("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table 1: A page\">"),
            "{table}"
        );
        assert!(table.contains("<th scope=\"col\" class=\"num\">b</th>") && table.contains("<td class=\"num\">2</td>"));
        assert!(!table.contains("style"), "{table}");
    }

    #[test]
    fn a_drawing_stands_in_the_page_and_takes_its_colours_from_it() {
        let drawn = html("![How it goes](sequential.svg)");
        assert!(
            drawn.starts_with("<div class=\"drawing scroll\"") && drawn.contains("aria-label=\"How it goes\"><svg "),
            "{drawn:.200}"
        );
        assert!(!drawn.contains("<style") && drawn.ends_with("</svg></div>"), "{drawn:.200}");
    }

    #[test]
    fn the_first_sentence_ends_at_its_stop() {
        for (text, first) in [
            ("It reads `a.b`. Then more.", "It reads `a.b`."),
            ("Is it fast? Yes.", "Is it fast?"),
            ("Version 1.2 is out", "Version 1.2 is out"),
        ] {
            assert_eq!(first_sentence(text), first);
        }
    }
}
