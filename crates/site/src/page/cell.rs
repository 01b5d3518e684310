//! The page of one model and workload: the reasons for its verdicts.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;

use super::across::{self, About};
use super::campaign::{self, GroupView, OrderView};
use super::cell_figures;
use super::comparison::{Account, RowView, in_short};
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::{self, FigureView};
use super::index::Site;
use super::labels::{self, Badge};
use super::link::{Link, run_href};
use super::number::{ABSENT, plain, plain_or};
use super::pair::{self, Anchored, QuestionView, VerdictView};
use super::shell::Shell;
use super::stable::GridView;
use crate::chart::spread::BOX_FROM;
use sparkbench_model::Metric;
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::report::across::Place;
use sparkbench_verdict::report::{CampaignReport, Comparison, Group, RunReport};

const ROOT: &str = "../../../../";

/// Metrics beyond the primary ones whose runs are drawn in order of time.
const MOST_OTHERS: usize = 24;

/// Metrics drawn in full where a campaign names no primary one.
const FEW: usize = 3;

#[derive(Template)]
#[template(path = "cell.html")]
struct Page {
    shell: Shell,
    campaign: Link,
    pairs: Vec<Link>,
    /// Pages of its model and its machine.
    abouts: Vec<About>,
    name: String,
    said: Vec<VerdictView>,
    questions: Vec<QuestionView>,
    grids: Vec<GridView>,
    other_grids: Vec<GridView>,
    order: Option<OrderView>,
    orders: Vec<FigureView>,
    other_orders: Vec<FigureView>,
    slopes: Vec<FigureView>,
    boxes: Vec<FigureView>,
    few: Option<String>,
    bars: Vec<FigureView>,
    requests: Vec<(String, Vec<FigureView>)>,
    groups: Vec<GroupView>,
    run_metrics: Vec<String>,
    runs: Vec<RunView>,
    confidence: String,
}

/// One run with all its figures.
struct RunView {
    href: String,
    id: String,
    environment: String,
    repeat: String,
    block: String,
    started: String,
    /// Absent where the run is simply done.
    badge: Option<Badge>,
    /// A figure for each metric. The page of the run leads to the line of each.
    values: Vec<String>,
    flags: String,
}

/// Parts of the page.
struct CellOf<'s, 'a> {
    campaign: &'a CampaignReport,
    model: String,
    workload: String,
    runs: Vec<&'a RunReport>,
    groups: Vec<&'a Group>,
    comparisons: Vec<Anchored<'s, 'a>>,
}

/// One page for each model and workload.
pub(super) struct CellPage;

impl PageKind for CellPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let mut drafts = Vec::new();
        for ([campaign, model, workload], path) in site.cell_pages() {
            let Some(report) = site.analysis.campaigns.iter().find(|c| c.name == campaign) else { continue };
            let (model, workload, own) = (model.to_owned(), workload.to_owned(), path.to_owned());
            drafts.push(Draft::new(path, move |site| {
                let of = CellOf::new(site, report, &model, &workload);
                Ok(DrawnPage::new(page(site, &own, &of).map_err(template_fault)?))
            }));
        }
        drafts
    }
}

impl<'s, 'a> CellOf<'s, 'a> {
    fn new(site: &'s Site<'a>, campaign: &'a CampaignReport, model: &str, workload: &str) -> Self {
        let mut comparisons: Vec<Anchored<'s, 'a>> = site
            .comparisons(&campaign.name)
            .into_iter()
            .filter(|(_, c)| c.model == model && c.workload == workload)
            .collect();
        pair::sort(&mut comparisons);
        let runs = site.runs(&campaign.name).into_iter().filter(|r| r.model == model && r.workload == workload);
        let groups = site.groups(&campaign.name).into_iter().filter(|g| g.model == model && g.workload == workload);
        let mut groups = campaign::arms(campaign, groups);
        groups.sort_by_key(|g| (!campaign.primary.contains(&g.metric), campaign::rank(&g.metric), g.metric.clone()));
        Self {
            campaign,
            model: model.to_owned(),
            workload: workload.to_owned(),
            runs: runs.collect(),
            groups,
            comparisons,
        }
    }

    /// Metrics in the order of the page: the primary ones first.
    fn metrics(&self) -> Vec<&'a str> {
        let mut names: Vec<&'a str> = self.groups.iter().map(|g| g.metric.as_str()).collect();
        names.dedup();
        names
    }

    /// Metrics drawn in full, and the others.
    fn shown(&self) -> (Vec<&'a str>, Vec<&'a str>) {
        let (primary, others): (Vec<_>, Vec<_>) =
            self.metrics().into_iter().partition(|m| self.campaign.primary.iter().any(|p| p == m));
        if primary.is_empty() {
            let mut others = others;
            let rest = others.split_off(others.len().min(FEW));
            return (others, rest);
        }
        (primary, others)
    }

    /// Whether a metric is a percentile that the campaign does not ask for. Such a one has its row in every table, and no chart and account:
    /// those of its mean say nearly the same.
    fn is_detail(&self, metric: &str) -> bool {
        let is_tail = Metric::find(metric).is_some_and(|m| m.base() != metric);
        is_tail && !self.campaign.primary.iter().any(|primary| primary == metric)
    }

    /// Groups of a metric that have a value, the baseline first.
    fn arms(&self, metric: &str) -> Vec<&'a Group> {
        self.groups.iter().copied().filter(|g| g.metric == metric && !g.values.is_empty()).collect()
    }

    /// Environments, the baseline first.
    fn environments(&self) -> Vec<&'a str> {
        let all: BTreeSet<&'a str> = self.runs.iter().map(|r| r.environment.as_str()).collect();
        let mut all: Vec<&'a str> = all.into_iter().collect();
        all.sort_by_key(|e| (Some(*e) != self.campaign.baseline.as_deref(), *e));
        all
    }
}

fn page(site: &Site<'_>, path: &str, of: &CellOf<'_, '_>) -> Result<String, askama::Error> {
    let campaign = of.campaign;
    let name = if of.workload.is_empty() { of.model.clone() } else { format!("{} · {}", of.model, of.workload) };
    let told = pair::told(&of.comparisons);
    let title = format!("Why that verdict? {name} – {} – sparkbench", campaign.name);
    let description = told.first().map_or_else(|| title.clone(), |(_, c)| format!("{}: {}.", c.label, c.verdict.said));
    let several = of.environments().len() > 2;
    let subject = |c: &Comparison| match several {
        true => format!("{}, {} against {}", c.label, c.candidate, c.baseline),
        false => c.label.clone(),
    };
    let (full, mut others) = of.shown();
    others.retain(|metric| !of.is_detail(metric));
    let (run_metrics, runs) = runs(of);
    let place =
        |p: &&Place| p.cell.campaign == campaign.name && p.cell.model == of.model && p.cell.workload == of.workload;
    let grids = |which: &dyn Fn(&Comparison) -> bool| -> Vec<GridView> {
        let members = of.comparisons.iter().filter(|(_, c)| which(c));
        members
            .map(|(anchor, c)| GridView::new(format!("steady-{anchor}"), subject(c), format!("#{anchor}"), c))
            .collect()
    };
    Page {
        shell: Shell::new(path, title, "campaign", site).described(description),
        campaign: Link { href: Some(format!("{ROOT}c/{}/index.html", campaign.name)), text: campaign.title.clone() },
        pairs: pairs(site, of),
        abouts: across::abouts(site, ROOT, site.analysis.across.places.iter().filter(place)),
        said: told
            .iter()
            .map(|(anchor, c)| VerdictView {
                badge: labels::judged(c),
                subject: format!("{}:", subject(c)),
                href: format!("#{anchor}"),
                text: in_short(c),
                caveats: c.verdict.caveats.len(),
            })
            .collect(),
        questions: questions(of, &full),
        grids: grids(&|c| full.contains(&c.metric.as_str())),
        // A missing comparison is reported once above. Only a grid is worth unfolding.
        other_grids: grids(&|c| others.contains(&c.metric.as_str()) && c.stability_panel.is_some()),
        order: campaign::order(campaign, &of.model, &of.workload),
        orders: orders(site, of, &full, false),
        other_orders: orders(site, of, &others[..others.len().min(MOST_OTHERS)], true),
        slopes: slopes(site, of, &full),
        boxes: full.iter().filter_map(|metric| boxes(site, of, metric)).collect(),
        few: few(of, &full),
        bars: full
            .iter()
            .filter_map(|metric| {
                let comparisons: Vec<&Comparison> = of.comparisons.iter().map(|(_, c)| *c).collect();
                cell_figures::means(site, &anchor_of(&["mean", metric]), &of.arms(metric), &comparisons)
            })
            .collect(),
        requests: requests(site, of),
        groups: of.groups.iter().map(|g| campaign::group(site, ROOT, campaign, g, "#runs".to_owned())).collect(),
        run_metrics,
        runs,
        confidence: format!("{} %", plain(100.0 * site.analysis.settings.confidence)),
        name,
    }
    .render()
}

/// The pages of the pairs that are compared here.
fn pairs(site: &Site<'_>, of: &CellOf<'_, '_>) -> Vec<Link> {
    let named: BTreeSet<(&str, &str)> =
        of.comparisons.iter().map(|(_, c)| (c.baseline.as_str(), c.candidate.as_str())).collect();
    named
        .into_iter()
        .filter_map(|(baseline, candidate)| {
            let path = site.pair(&of.campaign.name, baseline, candidate)?;
            Some(Link { href: Some(format!("{ROOT}{path}")), text: format!("{candidate} against {baseline}") })
        })
        .collect()
}

fn questions(of: &CellOf<'_, '_>, full: &[&str]) -> Vec<QuestionView> {
    let mut keyed: BTreeMap<[&str; 2], Vec<Anchored<'_, '_>>> = BTreeMap::new();
    for (anchor, c) in &of.comparisons {
        keyed.entry([&c.candidate, &c.baseline]).or_default().push((anchor, c));
    }
    let mut taken = BTreeSet::new();
    keyed
        .into_iter()
        .map(|([candidate, baseline], members)| {
            let name = format!("{candidate} against {baseline}");
            let mut id = anchor_of(&["q", candidate, baseline]);
            while !taken.insert(id.clone()) {
                id.push('x');
            }
            let (shown, folded): (Vec<Anchored<'_, '_>>, Vec<_>) =
                members.into_iter().partition(|(_, c)| full.contains(&c.metric.as_str()));
            let told = |c: &Comparison| full.contains(&c.metric.as_str()) || !of.is_detail(&c.metric);
            let row = |(anchor, c): &Anchored<'_, '_>| RowView { accounted: told(c), ..RowView::new(anchor, c) };
            let rows = |of: &[Anchored<'_, '_>]| of.iter().map(row).collect();
            let accounts = |of: &[Anchored<'_, '_>]| {
                of.iter().filter(|(_, c)| told(c)).map(|(anchor, c)| Account::new(anchor, c)).collect()
            };
            QuestionView {
                id,
                heading: name.clone(),
                name,
                baseline: baseline.to_owned(),
                candidate: candidate.to_owned(),
                base: String::new(),
                linked: false,
                rows: rows(&shown),
                accounts: accounts(&shown),
                other_rows: rows(&folded),
                other_accounts: accounts(&folded),
            }
        })
        .collect()
}

fn orders(site: &Site<'_>, of: &CellOf<'_, '_>, metrics: &[&str], compact: bool) -> Vec<FigureView> {
    metrics
        .iter()
        .filter_map(|metric| {
            figure::run_order(site, &anchor_of(&["order", metric]), &of.arms(metric), &of.runs, ROOT, compact)
        })
        .collect()
}

/// Pairs of the metrics drawn in full, every candidate.
fn slopes(site: &Site<'_>, of: &CellOf<'_, '_>, metrics: &[&str]) -> Vec<FigureView> {
    of.comparisons
        .iter()
        .filter(|(_, c)| metrics.contains(&c.metric.as_str()))
        .filter_map(|(anchor, c)| cell_figures::slope(site, &format!("slope-{anchor}"), ROOT, c))
        .collect()
}

fn boxes(site: &Site<'_>, of: &CellOf<'_, '_>, metric: &str) -> Option<FigureView> {
    let arms = of.arms(metric);
    let mut view = figure::spread(site, &anchor_of(&["box", metric]), &arms)?;
    view.finding = cell_figures::spread_finding(&arms);
    Some(view)
}

/// Shown instead of a box where there are few runs.
fn few(of: &CellOf<'_, '_>, metrics: &[&str]) -> Option<String> {
    let short = of.groups.iter().any(|g| metrics.contains(&g.metric.as_str()) && (1..BOX_FROM).contains(&g.n));
    short.then(|| {
        format!(
            "Fewer than {BOX_FROM} runs carry no quartiles: there the mean and its interval stand in place of a box."
        )
    })
}

/// Distribution and shift of every metric that requests keep.
fn requests(site: &Site<'_>, of: &CellOf<'_, '_>) -> Vec<(String, Vec<FigureView>)> {
    let environments = of.environments();
    cell_figures::request_metrics(site.extras, &of.runs)
        .iter()
        .map(|metric| {
            let shifts: Vec<Anchored<'_, '_>> =
                of.comparisons.iter().copied().filter(|(_, c)| &c.metric == metric && c.shift.is_some()).collect();
            let first = shifts.first().map(|(_, c)| *c);
            let id = anchor_of(&["requests", metric]);
            let ecdf = cell_figures::requests(site, &id, metric, &environments, &of.runs, &of.arms(metric), first);
            let shifts = shifts.iter().map(|(anchor, c)| cell_figures::shift(site, &format!("shift-{anchor}"), c));
            (labels::metric(metric), std::iter::once(Some(ecdf)).chain(shifts).flatten().collect::<Vec<FigureView>>())
        })
        .filter(|(_, figures)| !figures.is_empty())
        .collect()
}

/// Columns and rows of the list of runs: every metric that any of them reports.
fn runs(of: &CellOf<'_, '_>) -> (Vec<String>, Vec<RunView>) {
    let reported: BTreeSet<&String> = of.runs.iter().flat_map(|r| r.metrics.keys()).collect();
    let mut metrics: Vec<&String> = reported.into_iter().collect();
    metrics.sort_by_key(|m| (!of.campaign.primary.contains(m), campaign::rank(m), (*m).clone()));
    let views = of.runs.iter().map(|run| RunView {
        href: run_href(ROOT, &run.id),
        id: run.id.clone(),
        environment: run.environment.clone(),
        repeat: run.repeat.map_or_else(|| ABSENT.to_owned(), |k| k.to_string()),
        block: run.block.map_or_else(|| ABSENT.to_owned(), |k| k.to_string()),
        started: run.started_utc.map_or_else(|| ABSENT.to_owned(), labels::moment_bare),
        badge: Some(run.status.word()).filter(|word| *word != "done").map(labels::run_status),
        values: metrics.iter().map(|m| plain_or(run.metrics.get(*m).copied().flatten())).collect(),
        flags: run.flags.iter().map(|f| labels::flag(f)).collect::<Vec<_>>().join(" · "),
    });
    let views = views.collect();
    (metrics.iter().map(|m| campaign::with_unit(m)).collect(), views)
}
