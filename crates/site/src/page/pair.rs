//! The page of one pair of environments: verdicts, the forest plot of every metric, and how firm the verdicts are.

use std::collections::BTreeMap;

use askama::Template;

use super::campaign::{cell, rank};
use super::comparison::{Account, RowView, in_short};
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::{self, FigureView};
use super::index::Site;
use super::labels::{self, Badge};
use super::link::Link;
use super::number::plain;
use super::shell::Shell;
use super::stable::GridView;
use sparkbench_model::within;
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::report::{CampaignReport, Comparison};

const ROOT: &str = "../../../";

/// Rows of one forest plot. More go into a further drawing, so that each stays legible and light.
const ROWS: usize = 36;

/// Grids of other choices that the page shows. Those of further metrics are on the pages of their cells.
const GRIDS: usize = 12;

#[derive(Template)]
#[template(path = "pair.html")]
struct Page {
    shell: Shell,
    campaign: Link,
    baseline: String,
    candidate: String,
    count: String,
    tally: Vec<(Badge, usize)>,
    /// The part of it that no chart shows.
    undrawn: Option<String>,
    said: Vec<VerdictView>,
    forests: Vec<FigureView>,
    /// The course over looks of each primary metric, where the campaign looks at its figures.
    looks: Vec<FigureView>,
    questions: Vec<QuestionView>,
    grids: Vec<GridView>,
    rest: Option<String>,
    confidence: String,
}

/// The verdict of one comparison in words.
pub(super) struct VerdictView {
    /// Verdict.
    pub badge: Badge,
    pub subject: String,
    /// Where it is reported in full.
    pub href: String,
    /// The line of the verdict.
    pub text: String,
    /// Number of caveats in the full account.
    pub caveats: usize,
}

/// Every metric of one model, workload and pair of environments.
pub(super) struct QuestionView {
    /// Anchor.
    pub id: String,
    /// Heading.
    pub name: String,
    /// Name of the table, unique on the page.
    pub heading: String,
    /// Environment.
    pub baseline: String,
    /// Environment.
    pub candidate: String,
    /// The page its anchors are on. Empty for this page.
    pub base: String,
    /// Whether that is another page.
    pub linked: bool,
    /// Primary metrics first.
    pub rows: Vec<RowView>,
    /// Every estimate and test of each, where they are on this page.
    pub accounts: Vec<Account>,
    /// Metrics that are folded away.
    pub other_rows: Vec<RowView>,
    /// The parts that belong to these.
    pub other_accounts: Vec<Account>,
}

/// A comparison with its anchor.
pub(super) type Anchored<'s, 'a> = (&'s str, &'a Comparison);

/// One page for each pair.
pub(super) struct PairPage;

impl PageKind for PairPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let mut drafts = Vec::new();
        for ([campaign, baseline, candidate], path) in site.pair_pages() {
            let Some(report) = site.analysis.campaigns.iter().find(|c| c.name == campaign) else { continue };
            let (baseline, candidate) = (baseline.to_owned(), candidate.to_owned());
            let own = path.to_owned();
            drafts.push(Draft::new(path, move |site| {
                let members = of_pair(site, report, &baseline, &candidate);
                let html = page(site, report, &own, (&baseline, &candidate), &members).map_err(template_fault)?;
                Ok(DrawnPage::new(html))
            }));
        }
        drafts
    }
}

/// Comparisons of a pair, primary metrics first.
fn of_pair<'s, 'a>(
    site: &'s Site<'a>,
    campaign: &CampaignReport,
    baseline: &str,
    candidate: &str,
) -> Vec<Anchored<'s, 'a>> {
    let mut members: Vec<_> = site
        .comparisons(&campaign.name)
        .into_iter()
        .filter(|(_, c)| c.baseline == baseline && c.candidate == candidate)
        .collect();
    sort(&mut members);
    members
}

/// Primary metrics first, then in the order of the catalogue, then by model and workload.
pub(super) fn sort(members: &mut [Anchored<'_, '_>]) {
    members.sort_by_key(|(_, c)| {
        (!c.primary, rank(&c.metric), c.metric.clone(), c.model.clone(), c.workload.clone(), c.candidate.clone())
    });
}

/// How many comparisons have no change in per cent, and so no place in a chart.
fn undrawn(members: &[(&str, &Comparison)]) -> Option<String> {
    let n = members.iter().filter(|(_, c)| !figure::has_per_cent(c)).count();
    (n > 0).then(|| {
        format!(
            "{} no change in per cent, for want of values or because temperatures and shares have none. No margin applies, so none of these \
             is ever equivalent, and no chart shows them.",
            labels::counted(n, "has", "have")
        )
    })
}

fn page(
    site: &Site<'_>,
    campaign: &CampaignReport,
    path: &str,
    (baseline, candidate): (&str, &str),
    members: &[Anchored<'_, '_>],
) -> Result<String, askama::Error> {
    let account = |anchor: &str, c: &Comparison| site.account(ROOT, anchor, c);
    let title = format!("{candidate} against {baseline} – {} – sparkbench", campaign.name);
    let told = told(members);
    let description = told.first().map_or_else(|| title.clone(), |(_, c)| format!("{}: {}.", c.label, c.verdict.said));
    let subject = |c: &Comparison| format!("{}, {}:", cell(campaign, &c.model, &c.workload), within(&c.label));
    let grids: Vec<GridView> = told
        .iter()
        .take(GRIDS)
        .map(|(anchor, c)| {
            let heading = format!("{}, {}", cell(campaign, &c.model, &c.workload), within(&c.label));
            GridView::new(format!("steady-{anchor}"), heading, account(anchor, c), c)
        })
        .collect();
    Page {
        shell: Shell::new(path, title, "campaign", site).described(description),
        campaign: Link {
            href: Some(format!("{ROOT}c/{}/index.html", campaign.name)),
            text: campaign.title.clone(),
        },
        count: labels::counted(members.len(), "comparison", "comparisons"),
        tally: figure::tally(members),
        undrawn: undrawn(members),
        said: told
            .iter()
            .map(|(anchor, c)| VerdictView {
                badge: labels::judged(c),
                subject: subject(c),
                href: account(anchor, c),
                text: in_short(c),
                caveats: c.verdict.caveats.len(),
            })
            .collect(),
        forests: forests(campaign, (baseline, candidate), members, &account),
        looks: told
            .iter()
            .filter_map(|(anchor, c)| {
                let heading = format!("{}, {}", cell(campaign, &c.model, &c.workload), within(&c.label));
                figure::over_looks(&format!("looks-{anchor}"), &heading, c)
            })
            .collect(),
        questions: questions(site, campaign, members),
        rest: (members.len() > grids.len()).then(|| {
            "The grids of the other metrics stand on the pages of their models. How many choices agree stands in the tables above.".into()
        }),
        grids,
        confidence: format!("{} %", plain(100.0 * site.analysis.settings.confidence)),
        baseline: baseline.to_owned(),
        candidate: candidate.to_owned(),
    }
    .render()
}

/// Metrics of the page's text: the primary ones, or the first few where the campaign names none.
pub(super) fn told<'s, 'a>(members: &[Anchored<'s, 'a>]) -> Vec<Anchored<'s, 'a>> {
    const FEW: usize = 3;
    let primary: Vec<Anchored<'s, 'a>> = members.iter().copied().filter(|(_, c)| c.primary).collect();
    if primary.is_empty() { members.iter().copied().take(FEW).collect() } else { primary }
}

/// Every metric, the primary ones in the first drawing. A metric is not torn apart where it fits one drawing.
fn forests(
    campaign: &CampaignReport,
    (baseline, candidate): (&str, &str),
    members: &[Anchored<'_, '_>],
    href: &dyn Fn(&str, &Comparison) -> String,
) -> Vec<FigureView> {
    let drawn: Vec<Anchored<'_, '_>> = members.iter().copied().filter(|(_, c)| figure::has_per_cent(c)).collect();
    let mut parts: Vec<Vec<Anchored<'_, '_>>> = Vec::new();
    for metric in drawn.chunk_by(|a, b| a.1.metric == b.1.metric) {
        let primary = metric.first().is_some_and(|(_, c)| c.primary);
        let fits = |part: &Vec<Anchored<'_, '_>>| {
            part.len() + metric.len() <= ROWS && part.first().is_some_and(|(_, c)| c.primary == primary)
        };
        match parts.last_mut().filter(|part| fits(part)) {
            Some(part) => part.extend(metric),
            None => parts.extend(metric.chunks(ROWS).map(<[_]>::to_vec)),
        }
    }
    let several = parts.len() > 1;
    parts
        .iter()
        .enumerate()
        .filter_map(|(k, part)| {
            let about = match (several, part.first().is_some_and(|(_, c)| c.primary)) {
                (false, _) => "",
                (true, true) => ", primary metrics",
                (true, false) => ", further metrics",
            };
            let number = if k > 1 { format!(" ({k})") } else { String::new() };
            let title = format!("{candidate} against {baseline}: change of each metric{about}{number}");
            figure::forest_to(&format!("forest-{k}"), &title, campaign, part, href)
        })
        .collect()
}

fn questions(site: &Site<'_>, campaign: &CampaignReport, members: &[Anchored<'_, '_>]) -> Vec<QuestionView> {
    let mut keyed: BTreeMap<[&str; 2], Vec<Anchored<'_, '_>>> = BTreeMap::new();
    for (anchor, c) in members {
        keyed.entry([&c.model, &c.workload]).or_default().push((anchor, c));
    }
    let mut taken = std::collections::BTreeSet::new();
    keyed
        .into_iter()
        .filter_map(|([model, workload], members)| {
            let (_, first) = members.first().copied()?;
            let path = site.cell(&campaign.name, model, workload);
            let base =
                path.map_or_else(|| format!("{ROOT}c/{}/index.html", campaign.name), |path| format!("{ROOT}{path}"));
            let name = cell(campaign, model, workload);
            let mut id = anchor_of(&["q", model, workload]);
            while !taken.insert(id.clone()) {
                id.push('x');
            }
            Some(QuestionView {
                id,
                heading: name.clone(),
                name,
                baseline: first.baseline.clone(),
                candidate: first.candidate.clone(),
                linked: path.is_some(),
                base,
                rows: members.iter().map(|(anchor, c)| RowView::new(anchor, c)).collect(),
                accounts: Vec::new(),
                other_rows: Vec::new(),
                other_accounts: Vec::new(),
            })
        })
        .collect()
}
