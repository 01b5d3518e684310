//! The front page: for each campaign its question, the answer, one chart, and what could change the answer.

mod answer;
mod checks;
mod provenance;

use askama::Template;

use super::agreement;
use super::alone::Alone;
use super::altered::{self, AlteredFiles};
use super::badge;
use super::campaign::cell;
use super::comparison::RowView;
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::{self, FigureView};
use super::index::Site;
use super::labels::{self, ALL_LOADS, counted};
use super::missing_runs::{self, Losses, LostRuns};
use super::publish::{cite, versions};
use super::shell::Shell;
use super::table::TableSection;
use sparkbench_model::within;
use sparkbench_verdict::report::{CampaignReport, Comparison, VerdictKind};

pub(super) use answer::{CampaignAnswer, HypothesisView, SentenceView, hypotheses, said, said_once, sentences};
pub(super) use checks::{TrapStrip, strip};
pub(super) use provenance::{Fact, provenance};

use answer::expected;
use checks::{TrapChip, doubts};
use provenance::origin;

#[derive(Template)]
#[template(path = "front.html")]
struct Front {
    shell: Shell,
    /// The picture of the newest campaign, for where the address is shared.
    card: Option<String>,
    heading: String,
    intro: Option<String>,
    /// What to add where nothing is compared.
    to_compare: Option<String>,
    /// Files that are not what was recorded of them.
    altered: Option<AlteredFiles>,
    /// Runs that were given up.
    lost: Option<LostRuns>,
    /// What else was given up.
    losses: Option<Losses>,
    cards: Vec<Card>,
    downloads: Vec<(&'static str, String, String)>,
    /// Path and address of this version.
    permalink: Option<(String, String)>,
    /// Numbers and paths of the versions beside it, the newest first.
    earlier: Vec<(u64, String)>,
    cff: bool,
    cite_text: String,
    cite_bibtex: String,
    reproduce: String,
}

/// One campaign on the front page.
struct Card {
    id: String,
    href: String,
    eyebrow: String,
    question: String,
    said: CampaignAnswer,
    /// How many of the expectations held, where there were any.
    expected: Option<String>,
    /// Figures of single runs beside each other, where there is nothing but these.
    singles: Vec<Single>,
    forest: Option<FigureView>,
    /// Load clients beside each other, where the campaign is about these.
    agreement: Option<TableSection>,
    /// What was measured, where nothing is compared.
    alone: Option<Alone>,
    /// Caveats of the answer, the gravest first.
    doubts: Vec<TrapChip>,
    /// All checks in one line.
    checks: String,
    provenance: Vec<Fact>,
}

/// Rows of a campaign without comparisons that the front page shows. The page of the campaign has more.
const MOST_MEASURED: usize = 30;

/// One pair of single runs.
pub(super) struct Single {
    /// Model, workload and arms.
    pub heading: String,
    pub baseline: String,
    pub candidate: String,
    /// A metric each.
    pub rows: Vec<RowView>,
}

/// The tables of a campaign whose comparisons are all of single runs. None where there is any verdict.
pub(super) fn singles(campaign: &CampaignReport, comparisons: &[(&str, &Comparison)]) -> Vec<Single> {
    if !comparisons.iter().all(|(_, c)| c.verdict.is_once()) {
        return Vec::new();
    }
    let mut tables: Vec<Single> = Vec::new();
    for (anchor, c) in comparisons {
        let pair = format!("{} against {}", c.candidate, c.baseline);
        let heading = format!("{}: {pair}", cell(campaign, &c.model, &c.workload));
        let row = RowView::new(anchor, c);
        match tables.iter_mut().find(|table| table.heading == heading) {
            Some(table) => table.rows.push(row),
            None => tables.push(Single {
                heading,
                baseline: c.baseline.clone(),
                candidate: c.candidate.clone(),
                rows: vec![row],
            }),
        }
    }
    tables
}

/// The front page.
pub(super) struct FrontPage;

impl PageKind for FrontPage {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("index.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)))]
    }
}

/// The page at `index.html`.
pub(super) fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let campaigns = site.campaigns();
    let single = campaigns.len() == 1;
    let heading = heading(site);
    let intro = (!single).then(|| {
        format!(
            "{} with {}, the newest first{}. What could change an answer is listed with it.",
            counted(campaigns.len(), "campaign", "campaigns"),
            counted(site.analysis.runs.len(), "run", "runs"),
            if campaigns.iter().any(|campaign| site.analysis.is_about_clients(campaign)) {
                ", those about load clients last"
            } else {
                ""
            },
        )
    });
    let description = campaigns.first().and_then(|c| c.answer.clone()).unwrap_or_else(|| heading.clone());
    let shell = Shell::new("index.html", format!("{heading} – sparkbench"), "front", site).described(description);
    let citation = cite::of_site(site);
    let version = &site.version;
    let published = site.has(&version.path());
    Front {
        card: campaigns.first().and_then(|campaign| badge::card_address(site, campaign)),
        cards: campaigns.iter().map(|c| card(site, c)).collect(),
        downloads: site
            .downloads
            .iter()
            .map(|file| (super::data::about(&file.path), file.path.clone(), super::number::size(file.size)))
            .collect(),
        reproduce: site.extras.reproduce.clone(),
        permalink: published.then(|| {
            (version.path(), site.address(&version.path()).unwrap_or_else(|| format!("v/{}/", version.name())))
        }),
        earlier: if published {
            versions::all(site)
                .into_iter()
                .filter(|v| v.number != version.number)
                .rev()
                .map(|v| (v.number, v.path()))
                .collect()
        } else {
            Vec::new()
        },
        cff: published && cite::cff(site).is_some(),
        to_compare: site.analysis.to_compare.clone(),
        altered: altered::files(site.analysis.altered().into_iter()),
        lost: missing_runs::lost(site),
        losses: missing_runs::losses(site),
        shell,
        heading,
        intro,
        cite_text: citation.text,
        cite_bibtex: citation.bibtex,
    }
    .render()
}

/// Subject of the site: the question of its campaign, or of all of them.
pub(super) fn heading(site: &Site<'_>) -> String {
    match site.campaigns()[..] {
        [only] => only.question.clone().unwrap_or_else(|| only.title.clone()),
        _ => "What these measurements support".into(),
    }
}

fn card(site: &Site<'_>, campaign: &CampaignReport) -> Card {
    let comparisons = site.comparisons(&campaign.name);
    let primary: Vec<(&str, &Comparison)> = comparisons.iter().copied().filter(|(_, c)| c.primary).collect();
    let shown = if primary.is_empty() { comparisons } else { primary };
    let id = sparkbench_text::slug::anchor_of(&["c", &campaign.name]);
    let answer = said(site, "", campaign);
    Card {
        href: format!("c/{}/index.html", campaign.name),
        eyebrow: eyebrow(site, campaign),
        question: campaign.question.clone().unwrap_or_else(|| campaign.title.clone()),
        said: CampaignAnswer {
            // Where there are no verdicts, the sentences are few and say what was measured.
            rest: if site.analysis.has_verdicts(campaign) { Vec::new() } else { answer.rest },
            ..answer
        },
        expected: expected(campaign),
        singles: singles(campaign, &shown),
        alone: Alone::of(site, "", campaign, &format!("{id}-measured"), MOST_MEASURED),
        // Clients are no environments of which one is faster. How far apart they are is their chart.
        agreement: agreement::at_a_glance(site, "", campaign).into_iter().next(),
        // Two campaigns may share the title of their chart. The box around its numbers needs a name of its own.
        forest: (!site.analysis.is_about_clients(campaign))
            .then(|| {
                let shown = with_all_loads(site, campaign, first_metric(campaign, &shown));
                let title = forest_title(campaign, shown.first().map(|(_, c)| within(&c.label)).as_deref());
                figure::forest(&format!("{id}-forest"), &title, campaign, &shown, "")
            })
            .flatten()
            .map(|mut figure| {
                figure.region = format!("{}, campaign {}", figure.title, campaign.name);
                figure
            }),
        doubts: doubts("", campaign, &site.traps(&campaign.name)),
        checks: strip("", &site.traps(&campaign.name)).line,
        provenance: origin(site, campaign),
        id,
    }
}

/// Title, days, machine and size of a campaign in one line.
pub(super) fn eyebrow(site: &Site<'_>, campaign: &CampaignReport) -> String {
    let mut parts = vec![campaign.title.clone()];
    parts.extend(labels::days(campaign.first_started_utc, campaign.last_started_utc));
    parts.extend(campaign.machine.as_deref().map(|m| site.machine(m)));
    parts.push(counted(campaign.runs, "run", "runs"));
    if campaign.failed > 0 {
        parts.push(format!("{} failed", campaign.failed));
    }
    parts.join(" · ")
}

/// Comparisons of loads with the answers of the same metrics before them.
pub(super) fn with_all_loads<'a>(
    site: &Site<'a>,
    campaign: &CampaignReport,
    shown: Vec<(&'a str, &'a Comparison)>,
) -> Vec<(&'a str, &'a Comparison)> {
    let answers = site.all_loads(&campaign.name).into_iter();
    let of_shown = answers.filter(|c| shown.iter().any(|(_, other)| other.metric == c.metric));
    of_shown.map(|c| (ALL_LOADS, c)).chain(shown.iter().copied()).collect()
}

/// What the chart of the front page shows: the first of the primary metrics, or the first that has a chart at all. The page of the campaign
/// has the others.
fn first_metric<'c>(campaign: &CampaignReport, shown: &[(&'c str, &'c Comparison)]) -> Vec<(&'c str, &'c Comparison)> {
    let rank = |c: &Comparison| campaign.primary.iter().position(|name| *name == c.metric).unwrap_or(usize::MAX);
    let differs = |c: &Comparison| {
        !matches!(c.verdict.kind, VerdictKind::Equivalent | VerdictKind::Inconclusive | VerdictKind::NotComparable)
    };
    let with_chart = || shown.iter().filter(|(_, c)| figure::has_per_cent(c));
    let first = with_chart().filter(|(_, c)| differs(c)).min_by_key(|(_, c)| rank(c));
    let Some((_, first)) = first.or_else(|| with_chart().min_by_key(|(_, c)| rank(c))) else { return Vec::new() };
    shown.iter().filter(|(_, c)| c.metric == first.metric).copied().collect()
}

/// Title of the forest plot of a campaign, over one metric or over all.
pub(super) fn forest_title(campaign: &CampaignReport, metric: Option<&str>) -> String {
    let others: Vec<&str> =
        campaign.environments.iter().map(String::as_str).filter(|e| Some(*e) != campaign.baseline.as_deref()).collect();
    match (&campaign.baseline, others.is_empty()) {
        (Some(baseline), false) => {
            format!("{} against {baseline}: {}", others.join(", "), metric.unwrap_or("change of each metric"))
        }
        _ => "Change by model and metric".into(),
    }
}
