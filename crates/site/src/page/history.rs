//! Has it changed? Cells that several campaigns measured, with a verdict for each step, and a feed of these.
//!
//! In:  the history of the analysis.  Out: `history/index.html` and `history/feed.xml`, or nothing where no cell occurs twice.
//! Not here: verdicts, which are part of the analysis.

use askama::Template;

use super::comparison::{RowView, in_short};
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::{self, FigureView};
use super::index::Site;
use super::labels::{self, Badge};
use super::number::{self, ABSENT};
use super::publish::feed::{self, News};
use super::shell::Shell;
use sparkbench_model::within;
use sparkbench_text::hash::hash;
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::change::LEAST_POINTS;
use sparkbench_verdict::report::series::{ChangeReport, PointName, SeriesReport, StretchReport, Turn};
use sparkbench_verdict::report::{
    Comparison, HistoryFigure, HistoryReport, HistoryStep, Interval, ReplicationReport, ReplicationRow,
};

/// Campaigns in the table of a metric. All of them are in the files of the page.
const MOST_ROWS: usize = 60;

/// Where the page lies.
const PATH: &str = "history/index.html";

/// The feed beside it.
const FEED: &str = "history/feed.xml";

#[derive(Template)]
#[template(path = "history.html")]
struct View {
    shell: Shell,
    cells: Vec<CellView>,
    questions: Vec<QuestionView>,
}

/// A question that several campaigns asked.
struct QuestionView {
    id: String,
    heading: String,
    badge: Badge,
    said: String,
    spread: String,
    left_out: Option<String>,
    region: String,
    figure: Option<FigureView>,
    rows: Vec<ReplicatedView>,
}

struct ReplicatedView {
    name: String,
    href: Option<String>,
    machine: String,
    change: String,
    interval: String,
    weight: String,
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
    /// Result of the whole series, in a sentence.
    found: String,
    changes: Vec<ChangeView>,
    stretches: Vec<StretchView>,
    rows: Vec<PointView>,
    /// Said where the table does not hold all campaigns.
    more: Option<String>,
}

struct ChangeView {
    campaign: String,
    href: String,
    when: String,
    word: &'static str,
    before: String,
    after: String,
    change: String,
    p: String,
    reasons: String,
}

struct StretchView {
    from: String,
    to: String,
    n: usize,
    mean: String,
    interval: String,
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
pub(super) struct HistoryPage;

impl PageKind for HistoryPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        if site.analysis.history.is_empty() && site.analysis.replications.is_empty() {
            return Vec::new();
        }
        vec![Draft::new(PATH, |site| {
            let mut drawn = DrawnPage::new(page(site).map_err(template_fault)?);
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
    let questions = site.analysis.replications.iter().enumerate().map(|(k, one)| question(site, k, one)).collect();
    View { shell, cells, questions }.render()
}

/// A change in per cent with its interval, in the decimals of the interval.
fn changed(change_pct: f64, interval: Interval) -> (String, String) {
    let decimals = number::decimals(0.5 * (interval.high - interval.low));
    (format!("{} %", number::signed(change_pct, decimals)), number::ends(interval, decimals))
}

fn question(site: &Site<'_>, k: usize, one: &ReplicationReport) -> QuestionView {
    let row = |row: &ReplicationRow| {
        let (change, interval) = changed(row.change_pct, row.interval);
        ReplicatedView {
            name: row.campaign.clone(),
            href: Some(format!("../c/{}/index.html", row.campaign)),
            machine: row.machine.as_ref().map_or_else(|| ABSENT.to_owned(), |m| site.machine(m)),
            change,
            interval,
            weight: format!("{} %", number::fixed(100.0 * row.weight, 0)),
        }
    };
    let sum = |name: &str, estimate: f64, interval: Interval| {
        let (change, interval) = changed(estimate, interval);
        ReplicatedView {
            name: name.to_owned(),
            href: None,
            machine: String::new(),
            change,
            interval,
            weight: String::new(),
        }
    };
    let mut rows: Vec<ReplicatedView> = one.campaigns.iter().map(row).collect();
    rows.push(sum("All of them", one.change_pct, one.interval));
    rows.extend(one.prediction.map(|prediction| sum("One more campaign would lie in", one.change_pct, prediction)));
    let parts = [&one.model, &one.workload].into_iter().filter(|part| !part.is_empty()).map(String::as_str);
    let heading = format!(
        "{}: {} of {} against {}",
        parts.collect::<Vec<_>>().join(" · "),
        within(&one.label),
        one.candidate,
        one.baseline
    );
    QuestionView {
        id: format!("question-{}", k + 1),
        badge: labels::verdict(one.kind),
        said: one.said.clone(),
        spread: one.spread.clone(),
        left_out: (!one.left_out.is_empty())
            .then(|| format!("Left out, since their arms cannot be compared: {}.", one.left_out.join(", "))),
        region: format!("{heading} ({})", k + 1),
        figure: figure::replication(&anchor_of(&["question", &(k + 1).to_string(), &one.metric]), one, &heading),
        heading,
        rows,
    }
}

fn cell(site: &Site<'_>, k: usize, history: &HistoryReport) -> CellView {
    let mut about: Vec<String> = history.machine.iter().map(|m| site.machine(m)).collect();
    about.extend(history.engine.clone());
    about.push(labels::counted(history.points.len(), "campaign", "campaigns"));
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
    let skipped = history.points.len().saturating_sub(MOST_ROWS);
    let rows = history.points[skipped..]
        .iter()
        .map(|point| {
            let figure = point.figures.iter().find(|f| f.metric == metric);
            let step = history.steps.iter().find(|step| step.to == point.campaign);
            let comparison = step.and_then(|step| step.comparisons.iter().find(|c| c.metric == metric));
            let row = comparison.map(|c| RowView::new("", c));
            PointView {
                href: format!("../c/{}/index.html", point.campaign),
                campaign: point.campaign.clone(),
                days: labels::days(point.first_started_utc, point.last_started_utc).unwrap_or_else(|| ABSENT.into()),
                mean: figure.map_or_else(|| ABSENT.to_owned(), mean),
                interval: figure.and_then(|f| f.interval).map_or_else(String::new, number::interval),
                n: figure.map_or(0, |f| f.n),
                badge: comparison.map(labels::judged),
                change: row.as_ref().map_or_else(String::new, |r| r.change.clone()),
                change_ci: row.map_or_else(String::new, |r| r.change_ci),
                versions: point.versions.iter().map(|(n, v)| format!("{n} {v}")).collect::<Vec<_>>().join("; "),
            }
        })
        .collect();
    let series = history.series.iter().find(|series| series.metric == metric);
    Some(MetricView {
        found: series.map_or_else(String::new, whole),
        changes: series.map_or_else(Vec::new, |series| {
            let told = series.change_points.iter().map(|change| (change, false));
            let small = series.within_margin.iter().map(|change| (change, true));
            let mut all: Vec<_> = told.chain(small).collect();
            all.sort_by_key(|(change, _)| change.index);
            all.into_iter().map(|(change, small)| change_view(change, small)).collect()
        }),
        stretches: series.filter(|s| s.stretches.len() > 1).map_or_else(Vec::new, |series| {
            series.stretches.iter().map(|stretch| stretch_view(history, stretch)).collect()
        }),
        more: (skipped > 0).then(|| {
            format!(
                "The newest {MOST_ROWS} of {} campaigns. The files of this page hold all of them.",
                history.points.len()
            )
        }),
        label: first.label.clone(),
        unit: first.unit,
        region: format!("{}, {} ({})", first.label, heading(history), k + 1),
        figure: figure::history(
            &anchor_of(&["history", &(k + 1).to_string(), metric]),
            history,
            metric,
            &finding(site, history, metric),
        ),
        rows,
    })
}

/// The changes of a series in one sentence.
fn whole(series: &SeriesReport) -> String {
    if series.points < LEAST_POINTS {
        return format!("Changes are looked for from {LEAST_POINTS} campaigns on.");
    }
    let changes = match series.change_points.len() {
        0 => "No change".to_owned(),
        n => labels::counted(n, "change", "changes"),
    };
    let odd = match series.outliers.len() {
        0 => String::new(),
        n => format!(" {}.", labels::counted(n, "single odd campaign", "single odd campaigns")),
    };
    let memory = if series.autocorrelation > 0.0 {
        format!(" The noise has memory (autocorrelation {}).", number::fixed(series.autocorrelation, 2))
    } else {
        String::new()
    };
    format!(
        "{changes} beyond the margin of {} % in {}.{odd}{memory}",
        number::plain(series.margin_pct),
        labels::counted(series.points, "campaign", "campaigns")
    )
}

fn change_view(change: &ChangeReport, small: bool) -> ChangeView {
    let name = |point: &PointName| point.name.clone().unwrap_or_else(|| point.time.clone());
    let (before, after) = number::beside(change.before, change.after);
    let mut reasons: Vec<String> =
        change.changed.iter().map(|label| format!("{} {} → {}", label.name, label.before, label.after)).collect();
    if reasons.is_empty() {
        reasons.push("nothing that both campaigns record".to_owned());
    }
    ChangeView {
        href: format!("../c/{}/index.html", name(&change.first_after)),
        campaign: name(&change.first_after),
        when: format!("after {}", name(&change.last_before)),
        word: match (small, change.kind) {
            (true, _) => "within the margin",
            (_, "cycle") => "another cycle",
            (_, "scatter") => {
                if change.turn == Turn::Worse {
                    "more scatter"
                } else {
                    "less scatter"
                }
            }
            _ => change.turn.word(),
        },
        before,
        after,
        change: change.change_pct.map_or_else(String::new, |pct| format!("{} %", number::signed(pct, 1))),
        p: number::p(change.p),
        reasons: reasons.join(" · "),
    }
}

fn stretch_view(history: &HistoryReport, stretch: &StretchReport) -> StretchView {
    let name = |row: usize| history.points.get(row).map_or_else(String::new, |point| point.campaign.clone());
    let interval = stretch.interval.map(|(low, high)| Interval { low, high });
    let (mean, _) = number::estimate(stretch.mean, interval);
    StretchView {
        from: name(stretch.from),
        to: name(stretch.to),
        n: stretch.n,
        mean,
        interval: interval.map_or_else(String::new, number::interval),
    }
}

fn mean(figure: &HistoryFigure) -> String {
    figure.mean.map_or_else(|| number::plain_or(None), |mean| number::estimate(mean, figure.interval).0)
}

/// Result of the whole series, or, without a series, of the steps, newest last.
fn finding(site: &Site<'_>, history: &HistoryReport, metric: &str) -> String {
    if let Some(series) = history.series.iter().find(|s| s.metric == metric && s.points >= LEAST_POINTS) {
        return whole(series);
    }
    let title = |name: &str| {
        let campaign = site.analysis.campaigns.iter().find(|c| c.name == name);
        campaign.map_or_else(|| name.to_owned(), |c| c.name.clone())
    };
    let said = history.steps.iter().filter_map(|step| {
        let c = step.comparisons.iter().find(|c| c.metric == metric)?;
        Some(format!("{} against {}: {}", title(&step.to), title(&step.from), labels::judged(c).word))
    });
    let said: Vec<String> = said.collect();
    format!("{}.", said.join(", "))
}

fn step_view(history: &HistoryReport, step: &HistoryStep) -> StepView {
    StepView {
        id: anchor(history, step),
        heading: format!("{} after {}", step.to, step.from),
        changed: step.changed.iter().map(|(name, was, is)| format!("{name} {was} → {is}")).collect(),
        said: step.comparisons.iter().map(|c| (labels::judged(c), c.label.clone(), in_short(c))).collect(),
    }
}

/// A lasting name of the step by its content. It is not its place on the page, since a feed must not call another step by this name later.
fn anchor(history: &HistoryReport, step: &HistoryStep) -> String {
    let absent = String::new();
    let rest = [history.machine.as_ref(), history.engine.as_ref(), Some(&step.from)]
        .map(|part| part.unwrap_or(&absent).as_str());
    let hash = hash(rest.join("\n").as_bytes());
    anchor_of(&[&history.model, &history.workload, &history.environment, &step.to, hash.get(..8).unwrap_or_default()])
}

/// Entry of a feed for every step.
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
        // The same two archives and the same cell are the same entry, wherever it is on the page.
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
    format!("{} {}", within(&c.label), labels::judged(c).word)
}
