//! Has it changed? Cells that several campaigns measured, with what is said of each step, and a feed of these.
//!
//! In:  the history of the analysis.  Out: `history/index.html` and `history/feed.xml`; nothing where no cell occurs twice.
//! Not here: any verdict; they stand in the analysis.

use std::fmt::Write as _;

use askama::Template;

use super::comparison::RowView;
use super::data::hex;
use super::figure::{self, FigureView};
use super::index::{Site, slug};
use super::kind::{Draft, Drawn, Kind, Rows};
use super::number::{self, ABSENT};
use super::shell::Shell;
use super::words::{self, Badge};
use super::{Page, template_fault};
use crate::model::{Instant, within};
use crate::verdict::report::{Comparison, HistoryFigure, HistoryReport, HistoryStep};

/// Where the page lies.
const PATH: &str = "history/index.html";

/// The feed beside it.
const FEED: &str = "history/feed.xml";

/// Steps that the feed tells, the newest first.
const MOST_ENTRIES: usize = 50;

#[derive(Template)]
#[template(path = "history.html")]
struct View {
    shell: Shell,
    cells: Vec<CellView>,
}

struct CellView {
    id: String,
    heading: String,
    about: String,
    metrics: Vec<MetricView>,
    steps: Vec<StepView>,
}

struct MetricView {
    label: String,
    unit: &'static str,
    region: String,
    figure: Option<FigureView>,
    rows: Vec<PointView>,
}

struct PointView {
    href: String,
    campaign: String,
    days: String,
    mean: String,
    interval: String,
    n: usize,
    badge: Option<Badge>,
    overhead: String,
    overhead_ci: String,
    versions: String,
}

struct StepView {
    id: String,
    heading: String,
    changed: Vec<String>,
    said: Vec<(Badge, String, String)>,
}

/// The page of history.
pub struct Entry;

impl Kind for Entry {
    fn name(&self) -> &'static str {
        "history"
    }

    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        if site.analysis.history.is_empty() {
            return Vec::new();
        }
        vec![Draft::new(PATH, |site| {
            let rows = Rows { history: site.analysis.history.iter().collect(), ..Rows::default() };
            let mut drawn = Drawn::new(page(site).map_err(template_fault)?, rows);
            drawn.files.push(Page::new(FEED, feed(site)));
            Ok(drawn)
        })]
    }
}

fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let shell = Shell::new(PATH, "History – sparkbench", "history", site).described(
        "What several campaigns measured alike, in order of time, with the verdict from each campaign to the next.",
    );
    let cells = site.analysis.history.iter().enumerate().map(|(k, history)| cell(site, k, history)).collect();
    View { shell, cells }.render()
}

fn cell(site: &Site<'_>, k: usize, history: &HistoryReport) -> CellView {
    let mut about: Vec<String> = history.machine.iter().map(|m| site.machine(m)).collect();
    about.extend(history.engine.clone());
    about.push(words::counted(history.points.len(), "campaign", "campaigns"));
    CellView {
        id: format!("cell-{}", k + 1),
        heading: heading(history),
        about: about.join(" · "),
        metrics: history.metrics.iter().filter_map(|metric| followed(site, k, history, metric)).collect(),
        steps: history.steps.iter().map(|step| step_view(history, step)).collect(),
    }
}

fn heading(history: &HistoryReport) -> String {
    let parts = [&history.model, &history.workload, &history.environment];
    parts.iter().filter(|part| !part.is_empty()).map(|part| part.as_str()).collect::<Vec<_>>().join(" · ")
}

fn followed(site: &Site<'_>, k: usize, history: &HistoryReport, metric: &str) -> Option<MetricView> {
    let first = history.points.iter().flat_map(|p| &p.figures).find(|f| f.metric == metric)?;
    let rows = history
        .points
        .iter()
        .map(|point| {
            let figure = point.figures.iter().find(|f| f.metric == metric);
            let step = history.steps.iter().find(|step| step.to == point.campaign);
            let comparison = step.and_then(|step| step.comparisons.iter().find(|c| c.metric == metric));
            let row = comparison.map(|c| RowView::new("", c));
            PointView {
                href: format!("../c/{}/index.html", point.campaign),
                campaign: point.campaign.clone(),
                days: words::days(point.first_started_utc, point.last_started_utc).unwrap_or_else(|| ABSENT.into()),
                mean: figure.map_or_else(|| ABSENT.to_owned(), mean),
                interval: figure.and_then(|f| f.interval).map_or_else(String::new, number::interval),
                n: figure.map_or(0, |f| f.n),
                badge: comparison.map(|c| words::verdict(c.verdict.kind)),
                overhead: row.as_ref().map_or_else(String::new, |r| r.overhead.clone()),
                overhead_ci: row.map_or_else(String::new, |r| r.overhead_ci),
                versions: point.versions.iter().map(|(n, v)| format!("{n} {v}")).collect::<Vec<_>>().join("; "),
            }
        })
        .collect();
    Some(MetricView {
        label: first.label.clone(),
        unit: first.unit,
        region: format!("{}, {} ({})", first.label, heading(history), k + 1),
        figure: figure::history(
            &slug(&["history", &(k + 1).to_string(), metric]),
            history,
            metric,
            &finding(site, history, metric),
        ),
        rows,
    })
}

fn mean(figure: &HistoryFigure) -> String {
    match (figure.mean, figure.interval) {
        (Some(mean), Some(ci)) => number::fixed(mean, number::decimals((ci.high - ci.low) / 2.0)),
        (mean, _) => number::plain_or(mean),
    }
}

/// What the steps say of a metric, newest last.
fn finding(site: &Site<'_>, history: &HistoryReport, metric: &str) -> String {
    let title = |name: &str| {
        let campaign = site.analysis.campaigns.iter().find(|c| c.name == name);
        campaign.map_or_else(|| name.to_owned(), |c| c.name.clone())
    };
    let said = history.steps.iter().filter_map(|step| {
        let c = step.comparisons.iter().find(|c| c.metric == metric)?;
        Some(format!("{} against {}: {}", title(&step.to), title(&step.from), words::verdict(c.verdict.kind).word))
    });
    let said: Vec<String> = said.collect();
    format!("{}.", said.join("; "))
}

fn step_view(history: &HistoryReport, step: &HistoryStep) -> StepView {
    StepView {
        id: anchor(history, step),
        heading: format!("{} after {}", step.to, step.from),
        changed: step.changed.iter().map(|(name, was, is)| format!("{name} {was} → {is}")).collect(),
        said: step
            .comparisons
            .iter()
            .map(|c| (words::verdict(c.verdict.kind), c.label.clone(), words::typeset(&c.verdict.text)))
            .collect(),
    }
}

/// Names the step for good: by what it holds, not by its place on the page, since a feed must not call another step by this name later.
fn anchor(history: &HistoryReport, step: &HistoryStep) -> String {
    let absent = String::new();
    let rest = [history.machine.as_ref(), history.engine.as_ref(), Some(&step.from)]
        .map(|part| part.unwrap_or(&absent).as_str());
    let hash = hex(rest.join("\n").as_bytes());
    slug(&[&history.model, &history.workload, &history.environment, &step.to, hash.get(..8).unwrap_or_default()])
}

/// One entry a step, the newest first. Times are those of the runs: pages know no clock.
fn feed(site: &Site<'_>) -> String {
    let mut entries: Vec<(Option<Instant>, String, String)> = Vec::new();
    for history in &site.analysis.history {
        for step in &history.steps {
            let after = history.points.iter().find(|p| p.campaign == step.to);
            let at = after.and_then(|p| p.last_started_utc);
            let anchor = anchor(history, step);
            let told = entry(site, history, step, at, &anchor);
            entries.push((at, anchor, told));
        }
    }
    entries.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let updated = entries.first().and_then(|(at, ..)| *at).map_or_else(never, |at| at.iso());
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
    out.push_str("<title>History of these measurements</title>\n");
    let page = site.address(PATH);
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<id>{}</id>", page.clone().unwrap_or_else(|| urn("history")));
    let _ = writeln!(out, "<updated>{updated}</updated>");
    out.push_str("<author><name>sparkbench</name></author>\n");
    if let Some(own) = site.address(FEED) {
        let _ = writeln!(out, "<link rel=\"self\" type=\"application/atom+xml\" href=\"{own}\"/>");
    }
    let _ = writeln!(
        out,
        "<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>",
        page.unwrap_or_else(|| "index.html".into())
    );
    entries.iter().take(MOST_ENTRIES).for_each(|(.., entry)| out.push_str(entry));
    out.push_str("</feed>\n");
    out
}

fn entry(site: &Site<'_>, history: &HistoryReport, step: &HistoryStep, at: Option<Instant>, anchor: &str) -> String {
    let hash = |name: &str| {
        let campaign = site.analysis.campaigns.iter().find(|c| c.name == name);
        campaign.map_or_else(String::new, |c| c.archive_sha256.clone())
    };
    // The same two archives and the same cell are the same entry, wherever it stands on the page.
    let id =
        urn(&[&hash(&step.from), &hash(&step.to), &heading(history), &history.machine.clone().unwrap_or_default()]
            .map(String::as_str)
            .join("\n"));
    let link = site.address(PATH).map_or_else(|| format!("index.html#{anchor}"), |page| format!("{page}#{anchor}"));
    let verdicts: Vec<String> = step.comparisons.iter().map(short).collect();
    let mut text: Vec<String> = step.changed.iter().map(|(n, was, is)| format!("{n} {was} to {is}.")).collect();
    text.extend(step.comparisons.iter().map(|c| format!("{}: {}", c.label, c.verdict.text)));
    format!(
        "<entry>\n<title>{}</title>\n<id>{}</id>\n<updated>{}</updated>\n<link rel=\"alternate\" type=\"text/html\" href=\"{link}\"/>\n\
         <summary>{}</summary>\n</entry>\n",
        xml(&format!("{}, {} after {}: {}", heading(history), step.to, step.from, verdicts.join(", "))),
        if site.extras.publication.base_url.is_some() { link.clone() } else { id },
        at.map_or_else(never, |at| at.iso()),
        xml(&text.join(" ")),
    )
}

fn short(c: &Comparison) -> String {
    format!("{} {}", within(&c.label), words::verdict(c.verdict.kind).word)
}

/// Where no run of a feed has a time; the cells of a history always have one.
fn never() -> String {
    "1970-01-01T00:00:00Z".into()
}

/// A name that follows from what it names: a UUID of version 8, whose digits are those of a hash.
fn urn(of: &str) -> String {
    let hash = hex(of.as_bytes());
    let part = |from: usize, to: usize| hash.get(from..to).unwrap_or_default();
    format!("urn:uuid:{}-{}-8{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// Text as XML; letters that XML cannot hold are gone.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            other => out.push(other),
        }
    }
    out
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

    #[test]
    fn text_of_others_cannot_end_an_element() {
        assert_eq!(xml("a<b>&\"\u{0}\u{ffff}"), "a&lt;b&gt;&amp;&quot;");
    }
}
