//! The authors' text with figures and numbers by reference, so that it cannot drift from the data.
//!
//! In:  Markdown with `{{ kind: words }}`, the analysis.  Out: HTML, or every reference that means nothing, with its line.
//! Not here: the replacement of a reference (see [`resolve`]), finding its row (see [`pick`]).

mod pick;
pub(crate) mod resolve;

use std::collections::BTreeMap;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};

use self::pick::Fault;
use self::resolve::Resolved;
use super::index::Site;
use super::prose;
use sparkbench_text::error::{Error, Place};
use sparkbench_verdict::report::CampaignReport;

/// Stand in the Markdown for the reference of a number while it is parsed: private characters, which the text of an author loses.
const OPEN: char = '\u{e000}';
const CLOSE: char = '\u{e001}';

/// Name of the text in the names of its tables.
const NAME: &str = "the authors' words";

/// Faults told in full. The rest is counted.
const MOST_TOLD: usize = 8;

/// A reference as written.
struct Reference<'t> {
    inside: &'t str,
    /// In the text, from 0.
    line: u64,
}

/// The text of every campaign that has one, by name.
///
/// # Errors
/// A reference to something absent or ambiguous, or in a place where a reference is not allowed.
pub(super) fn weave_all(site: &Site<'_>) -> Result<BTreeMap<String, String>, Error> {
    let mut woven = BTreeMap::new();
    for campaign in &site.analysis.campaigns {
        let html = match (&campaign.study, &campaign.prose) {
            (Some(paper), _) if paper.text.trim().is_empty() => continue,
            (Some(paper), _) => {
                weave(site, campaign, &paper.text).map_err(|faults| error(&paper.path, paper.line, faults))?
            }
            (None, Some(text)) => prose::html(text, 2, NAME),
            (None, None) => continue,
        };
        woven.insert(campaign.name.clone(), html);
    }
    Ok(woven)
}

/// All faults as one error, so that an author mends them in one go.
fn error(path: &str, first: u64, faults: Vec<(u64, String, Fault)>) -> Error {
    let mut told: Vec<String> = faults
        .iter()
        .take(MOST_TOLD)
        .map(|(line, what, fault)| format!("line {}: {what}: {}; {}", first + line, fault.what, fault.hint))
        .collect();
    // The place says the line of the first.
    if let Some(told) = told.first_mut() {
        *told = told.split_once(": ").map_or_else(String::new, |(_, rest)| rest.to_owned());
    }
    if faults.len() > MOST_TOLD {
        told.push(format!("and {} more", faults.len() - MOST_TOLD));
    }
    let line = faults.first().map_or(first, |(line, ..)| first + line);
    Error::archive(format!(
        "'{path}' has {} that cannot be filled",
        super::labels::counted(faults.len(), "reference", "references")
    ))
    .at(Place::Line(line))
    .detail(told.join("\n         "))
    .hint("docs/study.md lists what can be referred to; `\\{{` shows the braces themselves")
}

type Faults = Vec<(u64, String, Fault)>;

/// Markdown to HTML with every reference filled.
fn weave(site: &Site<'_>, campaign: &CampaignReport, text: &str) -> Result<String, Faults> {
    let (marked, references, mut faults) = mark(text);
    let mut weaver =
        Weaver { site, campaign, references: &references, faults: Vec::new(), events: Vec::new(), figures: Vec::new() };
    let options = Options::ENABLE_TABLES | Options::ENABLE_SMART_PUNCTUATION;
    let deeper = prose::deeper(&marked, 2);
    let events: Vec<Event<'_>> = Parser::new_ext(&marked, options).filter_map(|e| prose::tame(e, deeper)).collect();
    weaver.take(events);
    faults.extend(weaver.faults);
    if !faults.is_empty() {
        faults.sort_by_key(|(line, ..)| *line);
        return Err(faults);
    }
    let mut out = String::new();
    html::push_html(&mut out, weaver.events.into_iter());
    // Figures come in last: their own tables have their frames already.
    let figures = weaver.figures.iter().enumerate();
    Ok(figures
        .fold(prose::frame_tables(&out, NAME), |html, (k, figure)| html.replace(&format!("{OPEN}{k}{CLOSE}"), figure)))
}

/// The text with a mark in place of every reference.
fn mark(text: &str) -> (String, Vec<Reference<'_>>, Faults) {
    let mut marked = String::with_capacity(text.len());
    let (mut references, mut faults) = (Vec::new(), Vec::new());
    let mut line = 0;
    let mut rest = text;
    let pass = |part: &str, marked: &mut String| {
        marked.extend(part.chars().map(|c| if c == OPEN || c == CLOSE { '\u{fffd}' } else { c }));
        part.matches('\n').count() as u64
    };
    while let Some((before, after)) = rest.split_once("{{") {
        if let Some(before) = before.strip_suffix('\\') {
            line += pass(before, &mut marked);
            marked.push_str("{{");
            rest = after;
            continue;
        }
        line += pass(before, &mut marked);
        let Some((inside, tail)) = after.split_once("}}").filter(|(inside, _)| !inside.contains('\n')) else {
            let fault = Fault::new("it is not closed on its line", "end it with }}");
            faults.push((line, "{{".to_owned(), fault));
            rest = after;
            continue;
        };
        marked.push_str(&format!("{OPEN}{}{CLOSE}", references.len()));
        references.push(Reference { inside: inside.trim(), line });
        rest = tail;
    }
    pass(rest, &mut marked);
    (marked, references, faults)
}

struct Weaver<'w, 't, 's> {
    site: &'w Site<'s>,
    campaign: &'w CampaignReport,
    references: &'w [Reference<'t>],
    faults: Faults,
    events: Vec<Event<'w>>,
    figures: Vec<String>,
}

impl<'w> Weaver<'w, '_, '_> {
    fn take(&mut self, events: Vec<Event<'w>>) {
        let (mut in_code, mut in_link) = (false, 0_usize);
        let mut events = merged(events).into_iter().peekable();
        while let Some(event) = events.next() {
            match &event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Start(Tag::Link { dest_url, title, .. }) => {
                    in_link += 1;
                    self.refuse(dest_url, "in the address of a link");
                    self.refuse(title, "in the title of a link");
                }
                Event::End(TagEnd::Link) => in_link = in_link.saturating_sub(1),
                Event::Start(Tag::Paragraph) => {
                    // A paragraph that is one reference to a chart becomes the figure.
                    if let Some(Event::Text(text)) = events.peek()
                        && let Some(reference) = alone(self.references, text)
                        && kind(reference.inside) == "chart"
                    {
                        let id = format!("said-{}", self.events.len());
                        self.figure(reference, &id);
                        // The text and the end of the paragraph.
                        events.next();
                        events.next();
                        continue;
                    }
                }
                Event::Code(text) => {
                    let plain = self.literal(text);
                    self.events.push(Event::Code(plain.into()));
                    continue;
                }
                Event::Text(text) if in_code => {
                    let plain = self.literal(text);
                    self.events.push(Event::Text(plain.into()));
                    continue;
                }
                Event::Text(text) if text.contains(OPEN) => {
                    let text = text.to_string();
                    self.words(&text, in_link > 0);
                    continue;
                }
                _ => {}
            }
            self.events.push(event);
        }
    }

    fn fault(&mut self, reference: &Reference<'_>, fault: Fault) {
        self.faults.push((reference.line, format!("{{{{ {} }}}}", reference.inside), fault));
    }

    /// A place where a reference is not allowed.
    fn refuse(&mut self, text: &str, place: &str) {
        let marks = text.split(OPEN).skip(1).filter_map(|part| part.split_once(CLOSE)?.0.parse::<usize>().ok());
        let references = self.references;
        for reference in marks.filter_map(|number| references.get(number)) {
            self.fault(reference, Fault::new(format!("it stands {place}"), "write it in the text"));
        }
    }

    /// Code shows the reference itself.
    fn literal(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            out.push_str(before);
            let Some((number, tail)) = after.split_once(CLOSE) else { break };
            if let Some(reference) = number.parse::<usize>().ok().and_then(|n| self.references.get(n)) {
                out.push_str(&format!("{{{{ {} }}}}", reference.inside));
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }

    fn figure(&mut self, reference: &Reference<'_>, id: &str) {
        match resolve::resolve(self.site, self.campaign, reference.inside, id) {
            Ok(Resolved::Figure(html)) => {
                self.events.push(Event::Html(format!("{OPEN}{}{CLOSE}\n", self.figures.len()).into()));
                self.figures.push(html);
            }
            Ok(Resolved::Words { .. }) => {}
            Err(fault) => self.fault(reference, fault),
        }
    }

    /// Text with references in it.
    fn words(&mut self, text: &str, in_link: bool) {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let Some((number, tail)) = after.split_once(CLOSE) else { break };
            if !before.is_empty() {
                self.events.push(Event::Text(before.to_owned().into()));
            }
            if let Some(reference) = number.parse::<usize>().ok().and_then(|n| self.references.get(n)) {
                self.word(reference, in_link);
            }
            rest = tail;
        }
        self.events.push(Event::Text(rest.to_owned().into()));
    }

    fn word(&mut self, reference: &Reference<'_>, in_link: bool) {
        if kind(reference.inside) == "chart" {
            let fault =
                Fault::new("a chart within a sentence", "put it on a line of its own, with empty lines around it");
            return self.fault(reference, fault);
        }
        match resolve::resolve(self.site, self.campaign, reference.inside, "") {
            Ok(Resolved::Words { text, href, title }) => {
                let text = safe(&text);
                let html = match href.filter(|_| !in_link) {
                    Some(href) => {
                        format!("<a class=\"ref\" href=\"{}\" title=\"{}\">{text}</a>", safe(&href), safe(&title))
                    }
                    None => format!("<span class=\"ref\">{text}</span>"),
                };
                self.events.push(Event::InlineHtml(html.into()));
            }
            Ok(Resolved::Figure(_)) => {}
            Err(fault) => self.fault(reference, fault),
        }
    }
}

/// The reference that a text is, with nothing around it.
fn alone<'r, 't>(references: &'r [Reference<'t>], text: &str) -> Option<&'r Reference<'t>> {
    let number = text.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    references.get(number.parse::<usize>().ok()?)
}

/// Neighbouring texts as one, since a parser may cut anywhere.
fn merged(events: Vec<Event<'_>>) -> Vec<Event<'_>> {
    let mut out: Vec<Event<'_>> = Vec::with_capacity(events.len());
    for event in events {
        match (out.last_mut(), event) {
            (Some(Event::Text(last)), Event::Text(more)) => *last = format!("{last}{more}").into(),
            (_, event) => out.push(event),
        }
    }
    out
}

fn kind(inside: &str) -> &str {
    inside.split(':').next().unwrap_or("").trim()
}

/// Text as HTML, in an element or in a quoted attribute.
pub(super) fn safe(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
        out
    })
}
