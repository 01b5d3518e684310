//! The page of one campaign: question, answer, every comparison, every group, every run.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::comparison::{Account, Brief, RowView};
use super::figure::{self, FigureView};
use super::front::{self, Fact, Said, SentenceView, TrapStrip};
use super::index::{Link, Site, run_href, slug};
use super::number::{self, ABSENT, decimals, fixed, plain, plain_or, signed};
use super::prose;
use super::shell::Shell;
use super::words::{self, Badge};
use crate::model::Metric;
use crate::verdict::report::{CampaignReport, Comparison, Essential, Group, RunReport};

const ROOT: &str = "../../";

/// Charts of runs in order that a page shows at full width; more stand side by side, small.
const MOST_WIDE: usize = 6;

/// Comparisons told in full where a campaign names no primary metric.
const FEW_IN_FULL: usize = 3;

#[derive(Template)]
#[template(path = "campaign.html")]
struct Page {
    shell: Shell,
    eyebrow: String,
    title: String,
    question: Option<String>,
    said: Said,
    supported: Vec<SentenceView>,
    unsupported: Vec<SentenceView>,
    strip: TrapStrip,
    forest: Option<FigureView>,
    questions: Vec<Question>,
    pooled: Vec<Question>,
    spreads: Vec<FigureView>,
    published: Vec<Published>,
    published_summary: Option<String>,
    criteria: Vec<CriterionView>,
    compare_by: Option<String>,
    essential_heads: Vec<(String, &'static str)>,
    essentials: Vec<EssentialView>,
    groups: Vec<GroupView>,
    other_groups: Vec<GroupView>,
    percentiles: Vec<PercentileView>,
    run_metrics: Vec<String>,
    runs: Vec<RunRow>,
    prose: Option<String>,
    facts: Vec<Fact>,
    models: Vec<(String, String)>,
    confidence: String,
}

/// One model, workload and pair of environments.
struct Question {
    id: String,
    heading: String,
    baseline: String,
    candidate: String,
    rows: Vec<RowView>,
    other_rows: Vec<RowView>,
    accounts: Vec<Account>,
    briefs: Vec<Brief>,
    order: Option<OrderView>,
    figures: Vec<FigureView>,
    /// Small drawings side by side.
    grid: bool,
}

/// The order of the arms.
struct OrderView {
    sentence: String,
    detail: String,
    cells: Vec<(usize, String)>,
    label: String,
}

struct Published {
    model: String,
    environment: String,
    metric: String,
    statistic: String,
    printed: String,
    recomputed: String,
    full: String,
    n: usize,
    badge: Badge,
    note: String,
    source: String,
}

struct CriterionView {
    name: String,
    cell: String,
    metric: String,
    badge: Badge,
    because: String,
}

/// The five figures of one cell.
struct EssentialView {
    cell: String,
    environment: String,
    /// Mean, interval and count; or nothing, and why.
    figures: Vec<Result<(String, String, usize), String>>,
}

struct GroupView {
    cell: String,
    environment: String,
    metric: String,
    unit: &'static str,
    n: String,
    mean: String,
    interval: String,
    sd: String,
    cv: String,
    median: String,
    median_interval: String,
    range: String,
    tails: String,
    shape: String,
    drift: String,
    lag: String,
    outliers: Vec<Link>,
    flags: String,
}

struct PercentileView {
    cell: String,
    environment: String,
    metric: String,
    percentile: &'static str,
    estimate: String,
    interval: String,
    of_runs: String,
    requests: String,
    runs: usize,
    flags: String,
}

struct RunRow {
    href: String,
    id: String,
    environment: String,
    model: String,
    workload: String,
    repeat: String,
    started: String,
    /// Absent where the run is simply done.
    badge: Option<Badge>,
    values: Vec<String>,
    flags: String,
}

/// The page at `c/<campaign>/index.html`.
pub fn page(site: &Site<'_>, campaign: &CampaignReport) -> Result<String, askama::Error> {
    let path = format!("c/{}/index.html", campaign.name);
    let comparisons = site.comparisons(&campaign.name);
    let primary: Vec<(&str, &Comparison)> = comparisons.iter().copied().filter(|(_, c)| c.primary).collect();
    let groups = site.groups(&campaign.name);
    let runs = site.runs(&campaign.name);
    let run_metrics = shown_metrics(campaign, &runs);
    // The metrics that the campaign is about in full, the others in short; where it names none, all are alike.
    let (groups_in_full, other_groups): (Vec<&Group>, Vec<&Group>) =
        groups.iter().copied().partition(|g| campaign.primary.is_empty() || campaign.primary.contains(&g.metric));
    let description = campaign.headline.first().map_or_else(|| campaign.title.clone(), |s| s.text.clone());
    let shell =
        Shell::new(&path, format!("{} – campaign – sparkbench", campaign.title), "campaign", &site.analysis.tool)
            .described(description);
    Page {
        shell,
        eyebrow: front::eyebrow(site, campaign),
        title: campaign.title.clone(),
        question: campaign.question.clone(),
        said: front::said(site, ROOT, campaign),
        supported: front::sentences(site, ROOT, campaign, &campaign.supported),
        unsupported: front::sentences(site, ROOT, campaign, &campaign.unsupported),
        strip: front::strip(ROOT, &site.traps(&campaign.name)),
        forest: figure::forest(
            "forest",
            &front::forest_title(campaign),
            campaign,
            if primary.is_empty() { &comparisons } else { &primary },
            ROOT,
        ),
        questions: questions(site, campaign, &comparisons, &groups, &runs),
        pooled: pooled(campaign),
        spreads: spreads(site, campaign, &groups),
        published: campaign.published.iter().map(published).collect(),
        published_summary: campaign.published_summary.clone(),
        criteria: campaign
            .criteria
            .iter()
            .map(|c| CriterionView {
                name: words::criterion(c.id),
                cell: cell(campaign, &c.model, &c.workload),
                metric: c.metric.as_deref().map_or_else(String::new, words::metric),
                badge: words::outcome(c.outcome),
                because: c.because.clone(),
            })
            .collect(),
        compare_by: campaign.compare_by.clone(),
        essential_heads: campaign
            .essentials
            .first()
            .map(|row| row.cells.iter().map(|c| (c.label.clone(), c.unit)).collect())
            .unwrap_or_default(),
        essentials: campaign.essentials.iter().map(|row| essential(campaign, row)).collect(),
        percentiles: groups.iter().flat_map(|g| percentiles(campaign, g)).collect(),
        groups: groups_in_full.into_iter().map(|g| group(campaign, g)).collect(),
        other_groups: other_groups.into_iter().map(|g| group(campaign, g)).collect(),
        runs: runs.iter().map(|r| run_row(r, &run_metrics)).collect(),
        run_metrics: run_metrics.iter().map(|m| with_unit(m)).collect(),
        prose: campaign.prose.as_deref().map(|text| prose::html(text, 2, "the authors' words")),
        facts: front::provenance(site, campaign),
        models: campaign
            .models
            .iter()
            .filter_map(|label| Some((label.clone(), site.model_title(label)?.to_owned())))
            .collect(),
        confidence: format!("{} %", plain(100.0 * site.analysis.settings.confidence)),
    }
    .render()
}

fn essential(campaign: &CampaignReport, row: &Essential) -> EssentialView {
    let figures = row.cells.iter().map(|c| match (c.mean, &c.empty) {
        (Some(mean), None) => Ok((plain(mean), c.interval.map_or_else(String::new, number::interval), c.n)),
        (_, why) => Err(why.clone().unwrap_or_else(|| "not reported".to_owned())),
    });
    EssentialView {
        cell: cell(campaign, &row.model, &row.workload),
        environment: row.environment.clone(),
        figures: figures.collect(),
    }
}

fn questions(
    site: &Site<'_>,
    campaign: &CampaignReport,
    comparisons: &[(&str, &Comparison)],
    groups: &[&Group],
    runs: &[&RunReport],
) -> Vec<Question> {
    // Model, workload, candidate, baseline.
    let mut keyed: BTreeMap<[&str; 4], Vec<(&str, &Comparison)>> = BTreeMap::new();
    for (anchor, c) in comparisons {
        keyed.entry([&c.model, &c.workload, &c.candidate, &c.baseline]).or_default().push((*anchor, *c));
    }
    let mut drawn: Vec<(&str, &str)> = Vec::new();
    let cells: BTreeSet<[&str; 2]> = keyed.keys().map(|[model, workload, ..]| [*model, *workload]).collect();
    let grid = cells.len() * campaign.primary.len() > MOST_WIDE;
    keyed
        .into_iter()
        .map(|([model, workload, candidate, baseline], mut members)| {
            // Primary metrics first, then in the order of the catalogue.
            members.sort_by_key(|(_, c)| (!c.primary, rank(&c.metric), c.metric.clone()));
            // A second candidate shares the drawings of its model with the first: they show every environment.
            let first_of_model = !drawn.contains(&(model, workload));
            drawn.push((model, workload));
            let id = slug(&["q", model, workload, candidate]);
            let figures = if first_of_model {
                order_figures(site, campaign, (&id, grid), (model, workload), groups, runs)
            } else {
                Vec::new()
            };
            let (full, short): (Vec<_>, Vec<_>) =
                members.iter().enumerate().partition(|(k, (_, c))| in_full(campaign, *k, c));
            Question {
                heading: format!("{}: {candidate} against {baseline}", cell(campaign, model, workload)),
                baseline: baseline.to_owned(),
                candidate: candidate.to_owned(),
                rows: full.iter().map(|(_, (anchor, c))| RowView::new(anchor, c)).collect(),
                other_rows: short.iter().map(|(_, (anchor, c))| RowView::new(anchor, c)).collect(),
                accounts: full.iter().map(|(_, (anchor, c))| Account::new(anchor, c)).collect(),
                briefs: short.iter().map(|(_, (anchor, c))| Brief::new(anchor, c)).collect(),
                grid,
                order: order(campaign, model, workload).filter(|_| first_of_model),
                figures,
                id,
            }
        })
        .collect()
}

/// Whether a comparison has its whole account on the page; the others are told in short, and whole in the files.
fn in_full(campaign: &CampaignReport, place: usize, c: &Comparison) -> bool {
    c.primary || campaign.primary.is_empty() && place < FEW_IN_FULL
}

/// The rows read again as one workload, where the launch path shows that several labels ran one model.
fn pooled(campaign: &CampaignReport) -> Vec<Question> {
    let mut keyed: BTreeMap<[&str; 4], Vec<&Comparison>> = BTreeMap::new();
    for c in &campaign.pooled {
        keyed.entry([&c.model, &c.workload, &c.candidate, &c.baseline]).or_default().push(c);
    }
    let mut anchors = BTreeSet::new();
    keyed
        .into_iter()
        .map(|([model, workload, candidate, baseline], members)| {
            let anchored: Vec<(String, &Comparison)> = members
                .into_iter()
                .map(|c| {
                    let base = slug(&["pooled", &c.model, &c.workload, &c.metric, &c.candidate]);
                    let mut anchor = base.clone();
                    while !anchors.insert(anchor.clone()) {
                        anchor.push('x');
                    }
                    (anchor, c)
                })
                .collect();
            Question {
                id: slug(&["pooled", "q", model, workload, candidate]),
                heading: format!(
                    "As one workload, {}: {candidate} against {baseline}",
                    cell(campaign, model, workload)
                ),
                baseline: baseline.to_owned(),
                candidate: candidate.to_owned(),
                rows: anchored.iter().map(|(anchor, c)| RowView::new(anchor, c)).collect(),
                accounts: anchored.iter().map(|(anchor, c)| Account::new(anchor, c)).collect(),
                other_rows: Vec::new(),
                briefs: Vec::new(),
                grid: false,
                order: None,
                figures: Vec::new(),
            }
        })
        .collect()
}

fn order_figures(
    site: &Site<'_>,
    campaign: &CampaignReport,
    (id, compact): (&str, bool),
    (model, workload): (&str, &str),
    groups: &[&Group],
    runs: &[&RunReport],
) -> Vec<FigureView> {
    let runs: Vec<&RunReport> = runs.iter().copied().filter(|r| r.model == model && r.workload == workload).collect();
    campaign
        .primary
        .iter()
        .filter_map(|metric| {
            let members = arms(
                campaign,
                groups.iter().copied().filter(|g| {
                    g.model == model && g.workload == workload && &g.metric == metric && !g.values.is_empty()
                }),
            );
            figure::run_order(site, &slug(&[id, "order", metric]), &members, &runs, ROOT, compact)
        })
        .collect()
}

fn spreads(site: &Site<'_>, campaign: &CampaignReport, groups: &[&Group]) -> Vec<FigureView> {
    campaign
        .primary
        .iter()
        .filter_map(|metric| {
            let members = arms(campaign, groups.iter().copied().filter(|g| &g.metric == metric));
            figure::spread(site, &slug(&["spread", metric]), &members)
        })
        .collect()
}

/// The baseline first within each cell, so that colours mean the same in every chart.
fn arms<'a>(campaign: &CampaignReport, groups: impl Iterator<Item = &'a Group>) -> Vec<&'a Group> {
    let mut members: Vec<&Group> = groups.collect();
    members.sort_by_key(|g| {
        (&g.model, &g.workload, Some(g.environment.as_str()) != campaign.baseline.as_deref(), &g.environment)
    });
    members
}

fn order(campaign: &CampaignReport, model: &str, workload: &str) -> Option<OrderView> {
    let order = campaign.order.iter().find(|o| o.model == model && o.workload == workload)?;
    let mut detail = Vec::new();
    if let Some(share) = order.balanced_share {
        detail.push(format!("{} % of neighbouring windows hold every environment once", fixed(100.0 * share, 0)));
    }
    if let Some(p) = order.p_too_few {
        detail.push(format!("p of so few stretches in a random order: {}", number::p(p)));
    }
    let stretches = figure::stretches(&order.sequence);
    let label = stretches.iter().map(|(name, n)| format!("{n} {name}")).collect::<Vec<_>>().join(", then ");
    let cells = order
        .sequence
        .iter()
        .map(|name| {
            let place = environments(campaign).iter().position(|e| *e == name).unwrap_or(0);
            (place.min(5), name.chars().next().unwrap_or('?').to_uppercase().to_string())
        })
        .collect();
    Some(OrderView {
        sentence: figure::order_sentence(&order.kind, &order.sequence),
        detail: detail.join("; "),
        cells,
        label,
    })
}

/// The baseline, then the others by name: the order of the palette.
fn environments(campaign: &CampaignReport) -> Vec<&String> {
    let mut all: Vec<&String> = campaign.environments.iter().collect();
    all.sort_by_key(|e| (Some(e.as_str()) != campaign.baseline.as_deref(), e.as_str()));
    all
}

fn published(check: &crate::verdict::report::PublishedCheck) -> Published {
    Published {
        model: check.model.clone(),
        environment: check.environment.clone(),
        metric: words::metric(&check.metric),
        statistic: words::statistic(&check.statistic),
        printed: check.printed.clone(),
        recomputed: check.rounded.clone().unwrap_or_else(|| ABSENT.into()),
        full: plain_or(check.recomputed),
        n: check.n,
        badge: if check.reproduces {
            Badge { class: "o-pass", glyph: "✓", word: "reproduces" }
        } else {
            Badge { class: "o-fail", glyph: "×", word: "does not" }
        },
        note: check.note.clone().unwrap_or_default(),
        source: check.source.clone(),
    }
}

fn group(campaign: &CampaignReport, g: &Group) -> GroupView {
    let digits = g.t_interval.map_or_else(|| g.sd.map_or(2, decimals), |ci| decimals((ci.high - ci.low) / 2.0));
    let show = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), |v| fixed(v, digits));
    let mut n = g.n.to_string();
    if g.n_missing > 0 {
        n.push_str(&format!(" ({} missing)", g.n_missing));
    }
    if g.n_infinite > 0 {
        n.push_str(&format!(" ({} infinite)", g.n_infinite));
    }
    let end = |value: Option<f64>| value.map_or_else(|| "unbounded".to_owned(), |v| fixed(v, digits));
    let interval = g.median_interval;
    let median_interval = if interval.low.is_none() && interval.high.is_none() {
        String::new()
    } else {
        format!("[{}, {}]", end(interval.low), end(interval.high))
    };
    let drift = match (g.drift.drift_pct, g.drift.p) {
        (Some(percent), Some(p)) => format!("{} % (p {})", signed(percent, decimals(percent)), number::p(p)),
        (Some(percent), None) => format!("{} %", signed(percent, decimals(percent))),
        _ => ABSENT.into(),
    };
    let lag = match (g.drift.lag1, g.drift.effective_n) {
        (Some(r), Some(n)) => format!("{} → {}", fixed(r, 2), fixed(n, 1)),
        _ => ABSENT.into(),
    };
    let mut outliers: Vec<&String> =
        g.outliers.mad.iter().chain(&g.outliers.tukey).chain(&g.outliers.three_sigma).collect();
    outliers.sort();
    outliers.dedup();
    let mut flags: Vec<String> = g.flags.iter().map(|f| words::flag(f)).collect();
    if g.drift.autocorrelated {
        flags.push("neighbouring runs are alike".into());
    }
    if !g.outliers.three_sigma_can_fire && g.n >= 3 {
        flags.push(format!("3 sigma cannot fire at n = {}", g.n));
    }
    GroupView {
        cell: cell(campaign, &g.model, &g.workload),
        environment: g.environment.clone(),
        metric: words::metric(&g.metric),
        unit: g.unit,
        n,
        mean: show(g.mean),
        interval: g.t_interval.map_or_else(String::new, |ci| number::ends(ci, digits)),
        sd: g.sd.map_or_else(|| ABSENT.to_owned(), |sd| fixed(sd, decimals(sd))),
        cv: g.cv_pct.map_or_else(|| ABSENT.to_owned(), |cv| fixed(cv, decimals(cv))),
        median: show(g.median),
        median_interval,
        range: format!("{} to {}", show(g.min), show(g.max)),
        tails: format!("{} to {}", show(g.p5), show(g.p95)),
        shape: match (g.skewness, g.shapiro_p) {
            (Some(skew), Some(p)) => format!("{}; {}", fixed(skew, 2), number::p(p)),
            (Some(skew), None) => fixed(skew, 2),
            _ => ABSENT.into(),
        },
        drift,
        lag,
        outliers: outliers.into_iter().map(|id| Link { href: Some(run_href(ROOT, id)), text: id.clone() }).collect(),
        flags: flags.join("; "),
    }
}

fn percentiles(campaign: &CampaignReport, g: &Group) -> Vec<PercentileView> {
    g.request_percentiles
        .iter()
        .map(|p| {
            let digits = p.interval.map_or_else(|| decimals(p.estimate), |ci| decimals((ci.high - ci.low) / 2.0));
            PercentileView {
                cell: cell(campaign, &g.model, &g.workload),
                environment: g.environment.clone(),
                metric: with_unit(&g.metric),
                percentile: p.percentile,
                estimate: fixed(p.estimate, digits),
                interval: p.interval.map_or_else(|| ABSENT.to_owned(), |ci| number::ends(ci, digits)),
                of_runs: fixed(p.median_of_runs, digits),
                requests: number::count(p.requests as u64),
                runs: p.runs,
                flags: p.flags.iter().map(|f| words::flag(f)).collect::<Vec<_>>().join("; "),
            }
        })
        .collect()
}

fn run_row(run: &RunReport, metrics: &[String]) -> RunRow {
    RunRow {
        href: run_href(ROOT, &run.id),
        id: run.id.clone(),
        environment: run.environment.clone(),
        model: run.model.clone(),
        workload: run.workload.clone(),
        repeat: run.repeat.map_or_else(|| ABSENT.to_owned(), |k| k.to_string()),
        started: run.started_utc.map_or_else(|| ABSENT.to_owned(), words::moment_bare),
        badge: Some(run.status.word()).filter(|word| *word != "done").map(words::run_status),
        values: metrics.iter().map(|m| plain_or(run.metrics.get(m).copied().flatten())).collect(),
        flags: run.flags.iter().map(|f| words::flag(f)).collect::<Vec<_>>().join("; "),
    }
}

/// Columns of the list of runs: the primary metrics, else the first few that any run reports.
fn shown_metrics(campaign: &CampaignReport, runs: &[&RunReport]) -> Vec<String> {
    const MOST: usize = 3;
    if !campaign.primary.is_empty() {
        return campaign.primary.clone();
    }
    let mut names: Vec<String> = runs.iter().flat_map(|r| r.metrics.keys().cloned()).collect();
    names.sort_by_key(|name| (rank(name), name.clone()));
    names.dedup();
    names.truncate(MOST);
    names
}

fn with_unit(metric: &str) -> String {
    let unit = words::unit(metric);
    if unit.is_empty() { words::metric(metric) } else { format!("{}, {unit}", words::metric(metric)) }
}

fn cell(campaign: &CampaignReport, model: &str, workload: &str) -> String {
    if workload.is_empty() || campaign.workloads.len() <= 1 {
        model.to_owned()
    } else {
        format!("{model} · {workload}")
    }
}

fn rank(metric: &str) -> usize {
    Metric::find(metric).map_or(usize::MAX, |m| m.rank())
}
