//! The page of one campaign: question, answer, every comparison, every group, every run.
//!
//! In:  a campaign and what belongs to it.  Out: `c/<campaign>/index.html`.
//! Not here: its questions (see `question`), the order of its arms (see `order`), the rows of its groups (see `group`).

mod group;
mod label;
mod order;
mod question;

use std::collections::BTreeMap;

use askama::Template;

pub(super) use self::group::{GroupView, group};
pub(super) use self::order::{OrderView, order};
pub(super) use self::question::arms;

use self::group::{PercentileView, percentiles, runs_of};
use self::question::{Question, over_all_loads, pooled, questions, spreads};
use super::across::{self, About};
use super::agreement;
use super::alone::Alone;
use super::badge::{self, Embed};
use super::comparison::{self, RowView};
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::figure::{self, FigureView};
use super::front::{self, CampaignAnswer, Fact, HypothesisView, SentenceView, TrapStrip};
use super::index::Site;
use super::labels::{self, ALL_LOADS, Badge};
use super::link::{Link, run_href};
use super::missing_runs::{self, MissingRunRow};
use super::number::{self, ABSENT, plain, plain_or};
use super::publish::{cite, dataset};
use super::shell::Shell;
use super::table::TableSection;
use super::telemetry;
use sparkbench_model::{Metric, within};
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::report::{CampaignReport, Comparison, Criterion, Essential, Group, RunReport, Sentence};
use sparkbench_verdict::trap::{self, Theme};

const ROOT: &str = "../../";

/// Level below which the loads are said to differ among themselves.
const INTERACTION: f64 = 0.05;

#[derive(Template)]
#[template(path = "campaign.html")]
struct Page {
    shell: Shell,
    /// The picture that stands for the page where its address is shared.
    card: Option<String>,
    eyebrow: String,
    title: String,
    question: Option<String>,
    said: CampaignAnswer,
    hypotheses: Vec<HypothesisView>,
    /// The first points that support the answer, and the others.
    supported: Vec<SentenceView>,
    /// Caveat that several points have and no other, said once below them.
    shared_caveat: Option<String>,
    further: Vec<SentenceView>,
    /// The headline has everything that is supported.
    all_above: bool,
    unsupported: Vec<Doubt>,
    /// What would make the answer surer.
    next: Vec<SentenceView>,
    strip: TrapStrip,
    forest: Option<FigureView>,
    /// Load clients beside each other, where the campaign is about these.
    agreement: Vec<TableSection>,
    /// What was measured, where nothing is compared.
    alone: Option<Alone>,
    pairs: Vec<Link>,
    /// Pages of its models and machines.
    abouts: Vec<About>,
    cells: Vec<Link>,
    questions: Vec<Question>,
    /// What the answers are held against.
    baseline_name: String,
    /// Answers over all loads in short, and with every estimate.
    answers: Vec<AnswerRow>,
    all_loads: Vec<Question>,
    pooled: Vec<Question>,
    spreads: Vec<FigureView>,
    published: Vec<Published>,
    published_summary: Option<String>,
    criteria: Vec<CriterionView>,
    /// How many of the criteria were met.
    criteria_line: String,
    compare_by: Option<String>,
    essential_heads: Vec<(String, &'static str)>,
    essentials: Vec<EssentialView>,
    groups: Vec<GroupView>,
    other_groups: Vec<GroupView>,
    percentiles: Vec<PercentileView>,
    run_metrics: Vec<String>,
    runs: Vec<RunRow>,
    missing_runs: Vec<MissingRunRow>,
    /// Runs of the plan.
    planned: usize,
    telemetry: Option<String>,
    /// Whether values lead anywhere: in the report as one file they do not.
    linked: bool,
    prose: Option<String>,
    byline: Option<String>,
    cite_text: String,
    cite_bibtex: String,
    facts: Vec<Fact>,
    models: Vec<(String, String)>,
    /// Labels of workloads and what they stand for.
    workloads: Vec<(String, String)>,
    embed: Option<Embed>,
    confidence: String,
}

/// Points of support that a page shows open.
const MOST_POINTS: usize = 5;

/// Conclusions of one kind that the rows do not support.
struct Doubt {
    name: &'static str,
    /// Summary of the points.
    text: &'static str,
    points: Vec<SentenceView>,
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

/// `12 of 30 met, 6 not met, 12 not assessed`
fn criteria_line(criteria: &[Criterion]) -> String {
    let count = |outcome: &str| criteria.iter().filter(|c| c.outcome == outcome).count();
    let (met, failed) = (count("pass"), count("fail"));
    // Of single runs that is all that can be asked, and it is no quality of a study.
    if !criteria.is_empty() && criteria.iter().all(|c| c.id == "complete") {
        let there = if failed == 0 { "every planned run is there" } else { "runs are missing" };
        return format!("{there}, spread and power cannot be judged without repeats");
    }
    let mut line = format!("{met} of {} met", criteria.len());
    for (n, what) in [(failed, "not met"), (criteria.len() - met - failed, "not assessed")] {
        if n > 0 {
            line.push_str(&format!(", {n} {what}"));
        }
    }
    line
}

/// The five figures of one cell.
struct EssentialView {
    cell: String,
    environment: String,
    /// Mean, interval and count. Or nothing, and why.
    figures: Vec<Result<(String, String, usize), String>>,
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
    /// Each leads to the line it was read from, or to its row on the page of the run.
    values: Vec<Link>,
    flags: String,
}

/// One page for each campaign.
pub(super) struct CampaignPage;

impl PageKind for CampaignPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let draft = |campaign: &'a CampaignReport| {
            Draft::new(format!("c/{}/index.html", campaign.name), move |site| {
                let html = page(site, campaign).map_err(template_fault)?;
                let files = badge::file(site, campaign).into_iter().chain(badge::card(site, campaign)?).collect();
                Ok(DrawnPage { html, files })
            })
        };
        site.analysis.campaigns.iter().map(draft).collect()
    }
}

/// The page at `c/<campaign>/index.html`.
pub(super) fn page(site: &Site<'_>, campaign: &CampaignReport) -> Result<String, askama::Error> {
    let path = format!("c/{}/index.html", campaign.name);
    let comparisons = site.comparisons(&campaign.name);
    let primary: Vec<(&str, &Comparison)> = comparisons.iter().copied().filter(|(_, c)| c.primary).collect();
    let groups = site.groups(&campaign.name);
    let runs = site.runs(&campaign.name);
    let run_metrics = shown_metrics(campaign, &runs);
    // The metrics that the campaign is about in full, the others in short. Where it names none, all are alike.
    let (groups_in_full, other_groups): (Vec<&Group>, Vec<&Group>) =
        groups.iter().copied().partition(|g| campaign.primary.is_empty() || campaign.primary.contains(&g.metric));
    let description = campaign.answer.clone().unwrap_or_else(|| campaign.title.clone());
    let shell = Shell::new(&path, format!("{} – campaign – sparkbench", campaign.title), "campaign", site)
        .described(description)
        .with_dataset(dataset::block(site, campaign));
    let citation = cite::of_campaign(site, campaign);
    let mut supported = front::sentences(site, ROOT, campaign, &below(campaign));
    let shared_caveat = front::said_once(&mut supported);
    Page {
        shell,
        card: badge::card_address(site, campaign),
        eyebrow: front::eyebrow(site, campaign),
        title: campaign.title.clone(),
        question: campaign.question.clone(),
        said: front::said(site, ROOT, campaign),
        hypotheses: front::hypotheses(site, ROOT, campaign),
        further: if supported.len() > MOST_POINTS { supported.split_off(MOST_POINTS) } else { Vec::new() },
        supported,
        shared_caveat: shared_caveat.map(|caveat| labels::sentence(&caveat, &site.names())),
        all_above: !campaign.supported.is_empty() && below(campaign).is_empty(),
        unsupported: doubts(site, campaign),
        next: front::sentences(site, ROOT, campaign, &campaign.next),
        strip: front::strip(ROOT, &site.traps(&campaign.name)),
        // Clients are no environments of which one is faster. How far apart they are is their overview.
        forest: (!site.analysis.is_about_clients(campaign))
            .then(|| {
                let shown = if primary.is_empty() { comparisons.clone() } else { primary.clone() };
                let shown = front::with_all_loads(site, campaign, shown);
                figure::forest("forest", &front::forest_title(campaign, None), campaign, &shown, ROOT)
            })
            .flatten(),
        agreement: agreement::at_a_glance(site, ROOT, campaign),
        alone: Alone::of(site, ROOT, campaign, "measured", usize::MAX),
        pairs: pairs(site, campaign),
        abouts: across::abouts(
            site,
            ROOT,
            site.analysis.across.places.iter().filter(|place| place.cell.campaign == campaign.name),
        ),
        cells: cells(site, campaign),
        questions: questions(site, campaign, &comparisons, &groups, &runs),
        baseline_name: campaign.baseline.clone().unwrap_or_default(),
        answers: answers(site, campaign),
        all_loads: over_all_loads(site, campaign),
        pooled: pooled(campaign),
        spreads: spreads(site, campaign, &groups),
        published: campaign.published.iter().map(published).collect(),
        published_summary: campaign
            .published_summary
            .as_deref()
            .map(|text| labels::typeset(&labels::sentence(text, &site.names()))),
        criteria_line: criteria_line(&campaign.criteria),
        criteria: campaign
            .criteria
            .iter()
            .map(|c| CriterionView {
                name: labels::criterion(c.id),
                cell: cell(campaign, &c.model, &c.workload),
                metric: c.metric.as_deref().map_or_else(String::new, labels::metric),
                badge: labels::outcome(c.outcome),
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
        groups: groups_in_full.into_iter().map(|g| group(site, ROOT, campaign, g, runs_of(site, g))).collect(),
        other_groups: other_groups.into_iter().map(|g| group(site, ROOT, campaign, g, runs_of(site, g))).collect(),
        runs: runs.iter().map(|r| run_row(site, r, &run_metrics)).collect(),
        linked: site.has(&format!("c/{}/index.html", campaign.name)),
        planned: site.campaign_course(&campaign.name).map_or(0, |course| course.planned),
        missing_runs: missing_runs::rows(site, ROOT, &campaign.name),
        telemetry: Some(telemetry::path(&campaign.name))
            .filter(|path| site.has(path))
            .map(|path| format!("{ROOT}{path}")),
        run_metrics: run_metrics.iter().map(|m| with_unit(m)).collect(),
        prose: site.prose.get(&campaign.name).cloned(),
        byline: byline(campaign),
        cite_text: citation.text,
        cite_bibtex: citation.bibtex,
        facts: front::provenance(site, campaign),
        models: campaign
            .models
            .iter()
            .filter_map(|label| Some((label.clone(), site.model_title(label)?.to_owned())))
            .collect(),
        workloads: label::workloads(site, campaign),
        embed: badge::embed(site, campaign),
        confidence: format!("{} %", plain(100.0 * site.analysis.settings.confidence)),
    }
    .render()
}

/// Who measured, who wrote, under which licence.
fn byline(campaign: &CampaignReport) -> Option<String> {
    let study = campaign.study.as_ref()?;
    let mut parts = Vec::new();
    if !study.authors.is_empty() {
        let names: Vec<String> = study.authors.iter().map(|a| a.shown()).collect();
        let names = names.join(", ");
        let names = names.strip_prefix("The ").map_or_else(|| names.clone(), |rest| format!("the {rest}"));
        parts.push(format!("Measured by {names}."));
    }
    parts.extend(study.text_by.as_ref().map(|by| format!("Text by {by}.")));
    parts.extend(study.licence.as_ref().map(|licence| format!("Licence of the data: {licence}.")));
    parts.extend(study.date.as_ref().map(|date| format!("Published {date}.")));
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn essential(campaign: &CampaignReport, row: &Essential) -> EssentialView {
    let figures = row.cells.iter().map(|c| match (c.mean, &c.empty) {
        (Some(mean), None) => {
            let (mean, interval) = number::estimate(mean, c.interval);
            Ok((mean, interval, c.n))
        }
        (_, why) => Err(why.clone().unwrap_or_else(|| "not reported".to_owned())),
    });
    EssentialView {
        cell: cell(campaign, &row.model, &row.workload),
        environment: row.environment.clone(),
        figures: figures.collect(),
    }
}

/// The pages of the pairs of environments that are compared.
fn pairs(site: &Site<'_>, campaign: &CampaignReport) -> Vec<Link> {
    site.pair_pages()
        .filter(|([name, ..], path)| *name == campaign.name && site.has(path))
        .map(|([_, baseline, candidate], path)| Link {
            href: Some(format!("{ROOT}{path}")),
            text: format!("{candidate} against {baseline}"),
        })
        .collect()
}

/// Sentences that the rows support, below the headline and beyond it.
fn below(campaign: &CampaignReport) -> Vec<Sentence> {
    let said = |sentence: &&Sentence| campaign.headline.iter().any(|above| above.text == sentence.text);
    campaign.supported.iter().filter(|sentence| !said(sentence)).cloned().collect()
}

/// Conclusions that the rows do not support, by subject.
fn doubts(site: &Site<'_>, campaign: &CampaignReport) -> Vec<Doubt> {
    let mut themes: BTreeMap<Option<Theme>, Vec<Sentence>> = BTreeMap::new();
    for sentence in &campaign.unsupported {
        let theme = sentence.because.first().and_then(|id| trap::find(id)).map(|trap| trap.theme());
        themes.entry(theme).or_default().push(sentence.clone());
    }
    let doubt = |(theme, sentences): (Option<Theme>, Vec<Sentence>)| Doubt {
        name: theme.map_or("Other", Theme::name),
        text: theme.map_or("Further statements that the rows do not support.", Theme::doubt),
        points: front::sentences(site, ROOT, campaign, &sentences),
    };
    themes.into_iter().map(doubt).collect()
}

/// The pages of the models and workloads.
fn cells(site: &Site<'_>, campaign: &CampaignReport) -> Vec<Link> {
    site.cell_pages()
        .filter(|([name, ..], path)| *name == campaign.name && site.has(path))
        .map(|([_, model, workload], path)| Link {
            href: Some(format!("{ROOT}{path}")),
            text: cell(campaign, model, workload),
        })
        .collect()
}

fn published(check: &sparkbench_verdict::report::PublishedCheck) -> Published {
    Published {
        model: check.model.clone(),
        environment: check.environment.clone(),
        metric: labels::metric(&check.metric),
        statistic: labels::statistic(&check.statistic),
        printed: labels::typeset(&check.printed),
        recomputed: check.rounded.clone().unwrap_or_else(|| ABSENT.into()),
        full: plain_or(check.recomputed),
        n: check.n,
        badge: if check.reproduces {
            Badge { class: "o-pass", glyph: "✓", word: "reproduces" }
        } else {
            Badge { class: "o-fail", glyph: "×", word: "does not" }
        },
        note: labels::typeset(check.note.as_deref().unwrap_or_default()),
        source: check.source.clone(),
    }
}

fn run_row(site: &Site<'_>, run: &RunReport, metrics: &[String]) -> RunRow {
    RunRow {
        href: run_href(ROOT, &run.id),
        id: run.id.clone(),
        environment: run.environment.clone(),
        model: run.model.clone(),
        workload: run.workload.clone(),
        repeat: run.repeat.map_or_else(|| ABSENT.to_owned(), |k| k.to_string()),
        started: run.started_utc.map_or_else(|| ABSENT.to_owned(), labels::moment_bare),
        badge: Some(run.status.word()).filter(|word| *word != "done").map(labels::run_status),
        values: metrics
            .iter()
            .map(|m| Link { href: site.figure(ROOT, run, m), text: plain_or(run.metrics.get(m).copied().flatten()) })
            .collect(),
        flags: run.flags.iter().map(|f| labels::flag(f)).collect::<Vec<_>>().join(" · "),
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

pub(super) fn with_unit(metric: &str) -> String {
    let unit = labels::unit(metric);
    if unit.is_empty() { labels::metric(metric) } else { format!("{}, {unit}", labels::metric(metric)) }
}

pub(super) fn cell(campaign: &CampaignReport, model: &str, workload: &str) -> String {
    if workload.is_empty() || workload == model || campaign.workloads.len() <= 1 {
        model.to_owned()
    } else {
        format!("{model} · {workload}")
    }
}

/// An answer over all loads in one row.
struct AnswerRow {
    /// Where every estimate of it is.
    href: String,
    candidate: String,
    label: String,
    /// How many loads it is about.
    loads: usize,
    change: String,
    change_ci: String,
    badge: Badge,
    said: String,
    /// Whether the loads differ among themselves, or that another metric is judged in its place.
    remark: Option<String>,
}

fn answers(site: &Site<'_>, campaign: &CampaignReport) -> Vec<AnswerRow> {
    let row = |c: &&Comparison| {
        let anchor = anchor_of(&[ALL_LOADS, &c.model, &c.workload, &c.metric, &c.candidate]);
        let view = RowView::new(&anchor, c);
        let differs = c.interaction.as_ref().filter(|found| found.p < INTERACTION);
        let differs = differs.map(|found| {
            let range = found.range_pct.and_then(|range| c.change_within(range)).map_or_else(String::new, |range| {
                format!(", from {} to {} %", number::signed(range.low, 1), number::signed(range.high, 1))
            });
            format!("The loads differ{range}: {} departs most.", found.departs_most)
        });
        let counted = c.counted_with.as_deref().map(|other| {
            format!("One measurement with {}, which is judged in its place.", within(&labels::metric(other)))
        });
        AnswerRow {
            href: format!("#{anchor}"),
            candidate: c.candidate.clone(),
            label: c.label.clone(),
            loads: c.loads.len(),
            change: view.change,
            change_ci: view.change_ci,
            badge: view.badge,
            said: comparison::in_short(c),
            remark: counted.or(differs),
        }
    };
    site.all_loads(&campaign.name).iter().map(row).collect()
}

pub(super) fn rank(metric: &str) -> usize {
    Metric::find(metric).map_or(usize::MAX, |m| m.rank())
}
