//! Has it changed? Cells that several campaigns measured, with what is said of each step, and a feed of these.
//!
//! In:  the history of the analysis.  Out: `history/index.html` and `history/feed.xml`; nothing where no cell occurs twice.
//! Not here: any verdict; they stand in the analysis.

use askama::Template;

use super::comparison::{RowView, in_short};
use super::data::hex;
use super::figure::{self, FigureView};
use super::index::{Site, slug};
use super::kind::{Draft, Drawn, Kind, Rows};
use super::number::{self, ABSENT};
use super::publish::feed::{self, News};
use super::shell::Shell;
use super::template_fault;
use super::words::{self, Badge};
use crate::model::within;
use crate::verdict::report::{Comparison, HistoryFigure, HistoryReport, HistoryStep};

/// Where the page lies.
const PATH: &str = "history/index.html";

/// The feed beside it.
const FEED: &str = "history/feed.xml";

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
    change: String,
    change_ci: String,
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
            drawn.files.push(feed::atom(site, "History of these measurements", PATH, FEED, news(site)));
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
                badge: comparison.map(words::judged),
                change: row.as_ref().map_or_else(String::new, |r| r.change.clone()),
                change_ci: row.map_or_else(String::new, |r| r.change_ci),
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
    figure.mean.map_or_else(|| number::plain_or(None), |mean| number::estimate(mean, figure.interval).0)
}

/// What the steps say of a metric, newest last.
fn finding(site: &Site<'_>, history: &HistoryReport, metric: &str) -> String {
    let title = |name: &str| {
        let campaign = site.analysis.campaigns.iter().find(|c| c.name == name);
        campaign.map_or_else(|| name.to_owned(), |c| c.name.clone())
    };
    let said = history.steps.iter().filter_map(|step| {
        let c = step.comparisons.iter().find(|c| c.metric == metric)?;
        Some(format!("{} against {}: {}", title(&step.to), title(&step.from), words::judged(c).word))
    });
    let said: Vec<String> = said.collect();
    format!("{}.", said.join("; "))
}

fn step_view(history: &HistoryReport, step: &HistoryStep) -> StepView {
    StepView {
        id: anchor(history, step),
        heading: format!("{} after {}", step.to, step.from),
        changed: step.changed.iter().map(|(name, was, is)| format!("{name} {was} → {is}")).collect(),
        said: step.comparisons.iter().map(|c| (words::judged(c), c.label.clone(), in_short(c))).collect(),
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

/// What a feed tells of every step.
pub(super) fn news(site: &Site<'_>) -> Vec<News> {
    let cells = site.analysis.history.iter();
    cells.flat_map(|history| history.steps.iter().map(move |step| told(site, history, step))).collect()
}

fn told(site: &Site<'_>, history: &HistoryReport, step: &HistoryStep) -> News {
    let hash = |name: &str| {
        let campaign = site.analysis.campaigns.iter().find(|c| c.name == name);
        campaign.map_or_else(String::new, |c| c.archive_sha256.clone())
    };
    let verdicts: Vec<String> = step.comparisons.iter().map(short).collect();
    let mut text: Vec<String> = step.changed.iter().map(|(n, was, is)| format!("{n} {was} to {is}.")).collect();
    text.extend(step.comparisons.iter().map(|c| format!("{}: {}.", c.label, c.verdict.said)));
    News {
        at: history.points.iter().find(|p| p.campaign == step.to).and_then(|p| p.last_started_utc),
        // The same two archives and the same cell are the same entry, wherever it stands on the page.
        name: [&hash(&step.from), &hash(&step.to), &heading(history), &history.machine.clone().unwrap_or_default()]
            .map(String::as_str)
            .join("\n"),
        path: PATH.to_owned(),
        anchor: Some(anchor(history, step)),
        title: format!("{}, {} after {}: {}", heading(history), step.to, step.from, verdicts.join(", ")),
        text: text.join(" "),
    }
}

fn short(c: &Comparison) -> String {
    format!("{} {}", within(&c.label), words::judged(c).word)
}
