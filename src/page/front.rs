//! The front page: for each campaign its question, the answer, one chart, and what could change the answer.

use askama::Template;

use super::alone::{self, Alone};
use super::badge;
use super::campaign::cell;
use super::comparison::RowView;
use super::figure::{self, FigureView};
use super::index::{Site, SourceLink, by_trap, overall, trap_href, worst};
use super::kind::{AcrossRows, Draft, Drawn, Kind, Rows};
use super::publish::{cite, versions};
use super::shell::Shell;
use super::template_fault;
use super::words::{self, Badge, counted};
use crate::model::within;
use crate::verdict::number::list;
use crate::verdict::report::{
    CampaignReport, Comparison, HypothesisReport, Outcome, Sentence, Severity, TrapReport, TrapStatus, VerdictKind,
    lead_and_more,
};
use crate::verdict::trap;

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
    /// What was measured, where nothing is compared.
    alone: Option<Alone>,
    /// Caveats of the answer, the gravest first.
    doubts: Vec<TrapChip>,
    /// All checks in one line.
    checks: String,
    provenance: Vec<Fact>,
}

/// Number of caveats beside an answer. Nobody reads more, and the page of the campaign has all.
const MOST_DOUBTS: usize = 3;

/// Notes that limit what any answer is worth: how few runs and machines there are.
const LIMITS: [&str; 2] = ["small-n", "single-setup"];

/// Rows of a campaign without comparisons that the front page shows. The page of the campaign has more.
const MOST_MEASURED: usize = 30;

/// One pair of single runs.
pub struct Single {
    /// Model, workload and arms.
    pub heading: String,
    pub baseline: String,
    pub candidate: String,
    /// A metric each.
    pub rows: Vec<RowView>,
}

/// The tables of a campaign whose comparisons are all of single runs. None where there is any verdict.
pub fn singles(campaign: &CampaignReport, comparisons: &[(&str, &Comparison)]) -> Vec<Single> {
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

/// The expectation before the first run, and the outcome.
pub struct HypothesisView {
    /// In the words of the authors.
    pub claim: String,
    /// Their expectation.
    pub expected: String,
    /// Result of the comparisons.
    pub found: String,
    /// Its outcome.
    pub badge: Badge,
    /// Address of the comparisons.
    pub because: Vec<SourceLink>,
}

/// The hypotheses of a campaign, in its order.
pub fn hypotheses(site: &Site<'_>, root: &str, campaign: &CampaignReport) -> Vec<HypothesisView> {
    let view = |h: &HypothesisReport| HypothesisView {
        claim: words::typeset(&h.claim),
        expected: words::typeset(&words::sentence(&h.expected, &site.names())),
        found: words::typeset(&h.found),
        badge: words::hypothesis(h.outcome),
        because: site.grounds(root, &campaign.name, &h.because),
    };
    campaign.hypotheses.iter().map(view).collect()
}

pub struct CampaignAnswer {
    /// In one sentence.
    pub answer: Option<String>,
    /// The rest of the headline's sentence that begins with it.
    pub more: String,
    /// Address of the reasons for that sentence.
    pub because: Vec<SourceLink>,
    /// The headline without that sentence, and without those of the table of hypotheses.
    pub rest: Vec<SentenceView>,
    /// Caveats, under the beginning of the sentence that they qualify.
    pub caveats: Vec<(String, Vec<String>)>,
    /// How many.
    pub count: usize,
}

/// A sentence and what it rests on.
pub struct SentenceView {
    /// As `verdict` words it.
    pub text: String,
    /// Its caveats.
    pub caveats: Vec<String>,
    /// Address of its reasons.
    pub because: Vec<SourceLink>,
}

impl SentenceView {
    /// Its first sentence, which can be quoted alone.
    pub fn lead(&self) -> &str {
        lead_and_more(&self.text).0
    }

    /// Text after it. May be empty.
    pub fn more(&self) -> &str {
        lead_and_more(&self.text).1
    }
}

/// A term and what stands for it.
pub struct Fact {
    pub term: String,
    pub value: String,
    /// Set in the monospaced face: hashes, commands.
    pub code: bool,
}

/// Traps that fired, each a link, and how many were looked for.
pub struct TrapStrip {
    /// Findings that are particular to these data, the worst first.
    pub fired: Vec<TrapChip>,
    /// Findings that few runs or requests cause by themselves.
    pub general: Vec<TrapChip>,
    /// The same in one line.
    pub general_line: String,
    /// `23 checks: 9 found something, 12 passed, 2 could not be evaluated.`
    pub line: String,
}

/// One trap that fired.
pub struct TrapChip {
    /// Its place on the traps page.
    pub href: String,
    /// Severity.
    pub badge: Badge,
    /// Name for people.
    pub title: String,
    /// Subjects it fired on with this severity.
    pub times: usize,
    /// Subjects it fired on with a lesser one: `4 warnings`.
    pub lesser: String,
}

impl Fact {
    /// Plain text.
    pub fn new(term: &str, value: impl Into<String>) -> Self {
        Self { term: term.into(), value: value.into(), code: false }
    }

    /// For the eye of a machine.
    pub fn code(term: &str, value: impl Into<String>) -> Self {
        Self { term: term.into(), value: value.into(), code: true }
    }
}

/// The front page.
pub struct Entry;

impl Kind for Entry {
    fn drafts<'a>(&self, _: &Site<'a>) -> Vec<Draft<'a>> {
        vec![Draft::new("index.html", |site| {
            let campaigns = site.campaigns();
            let comparisons = site.analysis.comparisons.iter().filter(|c| c.primary).collect();
            let alone: Vec<&CampaignReport> = campaigns.iter().filter(|c| !c.measured.is_empty()).copied().collect();
            let sweeps = site.analysis.across.sweeps.iter().filter(|s| alone.iter().any(|c| alone::is_of(s, c)));
            let across = AcrossRows { sweeps: sweeps.collect(), ..AcrossRows::default() };
            let rows = Rows { campaigns, comparisons, across, ..Rows::default() };
            Ok(Drawn::new(page(site).map_err(template_fault)?, rows))
        })]
    }
}

/// The page at `index.html`.
pub fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let campaigns = site.campaigns();
    let single = campaigns.len() == 1;
    let heading = heading(site);
    let intro = (!single).then(|| {
        format!(
            "{} with {}, the newest first{}. What could change an answer stands beside it.",
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
        shell,
        heading,
        intro,
        cite_text: citation.text,
        cite_bibtex: citation.bibtex,
    }
    .render()
}

/// Subject of the site: the question of its campaign, or of all of them.
pub fn heading(site: &Site<'_>) -> String {
    match site.campaigns()[..] {
        [only] => only.question.clone().unwrap_or_else(|| only.title.clone()),
        _ => "What these measurements support".into(),
    }
}

fn card(site: &Site<'_>, campaign: &CampaignReport) -> Card {
    let comparisons = site.comparisons(&campaign.name);
    let primary: Vec<(&str, &Comparison)> = comparisons.iter().copied().filter(|(_, c)| c.primary).collect();
    let shown = if primary.is_empty() { comparisons } else { primary };
    let id = super::index::slug(&["c", &campaign.name]);
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
        // Two campaigns may share the title of their chart. The box around its numbers needs a name of its own. Clients are no arms of which
        // one is faster: their page has the tables.
        forest: (!site.analysis.is_about_clients(campaign))
            .then(|| {
                let shown = first_metric(campaign, &shown);
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
pub fn eyebrow(site: &Site<'_>, campaign: &CampaignReport) -> String {
    let mut parts = vec![campaign.title.clone()];
    parts.extend(words::days(campaign.first_started_utc, campaign.last_started_utc));
    parts.extend(campaign.machine.as_deref().map(|m| site.machine(m)));
    parts.push(counted(campaign.runs, "run", "runs"));
    if campaign.failed > 0 {
        parts.push(format!("{} failed", campaign.failed));
    }
    parts.join(" · ")
}

/// "Of 3 expectations, 2 hold in part and 1 is undecided."
fn expected(campaign: &CampaignReport) -> Option<String> {
    let mut counts: Vec<(Outcome, usize)> = Vec::new();
    for hypothesis in &campaign.hypotheses {
        match counts.iter_mut().find(|(outcome, _)| *outcome == hypothesis.outcome) {
            Some((_, n)) => *n += 1,
            None => counts.push((hypothesis.outcome, 1)),
        }
    }
    let parts: Vec<String> = counts.iter().map(|(outcome, n)| counted_outcome(*outcome, *n)).collect();
    let what = if campaign.hypotheses.len() == 1 { "expectation" } else { "expectations" };
    (!parts.is_empty()).then(|| format!("Of {} {what}, {}.", campaign.hypotheses.len(), list(&parts)))
}

fn counted_outcome(outcome: Outcome, n: usize) -> String {
    let (one, more) = match outcome {
        Outcome::Holds => ("holds", "hold"),
        Outcome::HoldsInPart => ("holds in part", "hold in part"),
        Outcome::DoesNotHold => ("does not hold", "do not hold"),
        Outcome::Undecided => ("is undecided", "are undecided"),
        Outcome::NotMeasured => ("was not measured", "were not measured"),
        Outcome::NoExpectation => ("names no outcome", "name no outcome"),
    };
    format!("{n} {}", if n == 1 { one } else { more })
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
pub fn forest_title(campaign: &CampaignReport, metric: Option<&str>) -> String {
    let others: Vec<&str> =
        campaign.environments.iter().map(String::as_str).filter(|e| Some(*e) != campaign.baseline.as_deref()).collect();
    match (&campaign.baseline, others.is_empty()) {
        (Some(baseline), false) => {
            format!("{} against {baseline}: {}", others.join(", "), metric.unwrap_or("change of each metric"))
        }
        _ => "Change by model and metric".into(),
    }
}

/// The headline of a campaign with its grounds.
pub fn said(site: &Site<'_>, root: &str, campaign: &CampaignReport) -> CampaignAnswer {
    let all = sentences(site, root, campaign, &campaign.headline);
    // A point within a number ends no sentence.
    let head = |text: &str| {
        let end = [": ", ". "].iter().filter_map(|mark| text.find(mark)).min();
        end.map_or_else(|| text.trim_end_matches('.'), |end| &text[..end]).to_owned()
    };
    let caveats: Vec<(String, Vec<String>)> =
        all.iter().filter(|s| !s.caveats.is_empty()).map(|s| (head(&s.text), s.caveats.clone())).collect();
    let count = caveats.iter().map(|(_, own)| own.len()).sum();
    let answer = campaign.answer.as_deref().map(|text| words::typeset(&words::sentence(text, &site.names())));
    // The table of hypotheses holds the first of them.
    let mut rest: Vec<SentenceView> = all.into_iter().skip(campaign.hypotheses.len()).collect();
    let same = rest.iter().position(|sentence| Some(sentence.lead()) == answer.as_deref());
    let (more, because) = same.map_or_else(Default::default, |at| {
        let own = rest.remove(at);
        (own.more().to_owned(), own.because)
    });
    CampaignAnswer { answer, more, because, rest, caveats, count }
}

/// Sentences with links to what they rest on.
pub fn sentences(site: &Site<'_>, root: &str, campaign: &CampaignReport, from: &[Sentence]) -> Vec<SentenceView> {
    from.iter()
        .map(|sentence| SentenceView {
            text: words::typeset(&words::sentence(&under_heading(&sentence.text), &site.names())),
            caveats: sentence.caveats.iter().map(|caveat| words::typeset(caveat)).collect(),
            because: site.grounds(root, &campaign.name, &sentence.because),
        })
        .collect()
}

/// The list of what is not supported says so above. Its sentences need not say it again.
fn under_heading(text: &str) -> String {
    let Some(rest) = text.strip_prefix("Not supported: ") else { return text.to_owned() };
    let mut letters = rest.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The caveats strip.
pub fn strip(root: &str, traps: &[&TrapReport]) -> TrapStrip {
    let grouped = by_trap(traps);
    let mut fired: Vec<_> = grouped
        .iter()
        .filter_map(|(id, reports)| {
            let severity = worst(reports)?;
            // An error is never counted away.
            let is_general = trap::is_general(id) && severity != Severity::Error;
            let chip = chip(root, id, severity, reports);
            Some((severity, is_general, reports.iter().filter(|r| r.status == TrapStatus::Fired).count(), chip))
        })
        .collect();
    fired.sort_by_key(|(severity, ..)| *severity);
    let (general, special): (Vec<_>, Vec<_>) = fired.into_iter().partition(|(_, is_general, ..)| *is_general);
    let findings: usize = general.iter().map(|(.., times, _)| times).sum();
    let general_line = format!(
        "{} found only that there are few runs, requests or machines ({})",
        counted(
            general.len(),
            if special.is_empty() { "check" } else { "more check" },
            if special.is_empty() { "checks" } else { "more checks" }
        ),
        counted(findings, "finding", "findings"),
    );
    let chips = |of: Vec<(Severity, bool, usize, TrapChip)>| of.into_iter().map(|(.., chip)| chip).collect();
    let count = |status| grouped.iter().filter(|(_, reports)| overall(reports) == status).count();
    let line = format!(
        "{}: {} found something, {} passed, {} could not be evaluated.",
        counted(grouped.len(), "check", "checks"),
        count(TrapStatus::Fired),
        count(TrapStatus::Passed),
        count(TrapStatus::NotEvaluated),
    );
    TrapStrip { fired: chips(special), general: chips(general), general_line, line }
}

/// A trap that fired, at its worst.
fn chip(root: &str, id: &str, severity: Severity, reports: &[&TrapReport]) -> TrapChip {
    let count = |as_severe| reports.iter().filter(|r| r.status == TrapStatus::Fired && r.severity == as_severe).count();
    let lesser: Vec<String> = [(Severity::Warning, "warning", "warnings"), (Severity::Note, "note", "notes")]
        .into_iter()
        .map(|(lesser, one, many)| (if lesser > severity { count(lesser) } else { 0 }, one, many))
        .filter(|(times, ..)| *times > 0)
        .map(|(times, one, many)| counted(times, one, many))
        .collect();
    TrapChip {
        href: trap_href(root, id),
        badge: words::severity(severity),
        title: reports.first().map_or(id, |report| report.title).to_owned(),
        times: count(severity),
        lesser: lesser.join(", "),
    }
}

/// Caveats beyond those in the answer: first those that leave the cause of a difference open, then the gravest.
fn doubts(root: &str, campaign: &CampaignReport, traps: &[&TrapReport]) -> Vec<TrapChip> {
    let told = |id: &str| campaign.headline.iter().flat_map(|s| &s.because).any(|because| because == id);
    let opens = |id: &str| {
        let trap = trap::TRAPS.iter().find(|trap| trap.id() == id);
        trap.is_some_and(|trap| campaign.primary.iter().any(|metric| trap.leaves_cause_open(metric)))
    };
    let mut found: Vec<(bool, Severity, TrapChip)> = by_trap(traps)
        .into_iter()
        .filter(|(id, _)| !told(id))
        .filter_map(|(id, reports)| {
            let severity = worst(&reports)?;
            let open = opens(id);
            let weighs = open || severity != Severity::Note || LIMITS.contains(&id);
            weighs.then(|| (!open, severity, chip(root, id, severity, &reports)))
        })
        .collect();
    found.sort_by_key(|(closed, severity, _)| (*closed, *severity));
    found.into_iter().take(MOST_DOUBTS).map(|(.., chip)| chip).collect()
}

/// Machine, days, engine and source: what a reader of the answer wants to know of its origin.
fn origin(site: &Site<'_>, campaign: &CampaignReport) -> Vec<Fact> {
    // What a suite left out on purpose belongs to the page of the campaign.
    let source = |line: &&String| !line.starts_with("Not planned: ");
    let lines: Vec<&String> = campaign.provenance.iter().filter(source).collect();
    facts(site, campaign, &lines).into_iter().filter(|fact| !fact.code && fact.term != ANALYSED).collect()
}

/// Term of the program in the provenance.
const ANALYSED: &str = "Analysed with";

/// Where a campaign comes from.
pub fn provenance(site: &Site<'_>, campaign: &CampaignReport) -> Vec<Fact> {
    facts(site, campaign, &campaign.provenance.iter().collect::<Vec<_>>())
}

fn facts(site: &Site<'_>, campaign: &CampaignReport, lines: &[&String]) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(machine) = &campaign.machine {
        facts.push(Fact::new("Machine", site.machine(machine)));
    }
    if let Some(days) = words::days(campaign.first_started_utc, campaign.last_started_utc) {
        facts.push(Fact::new("Measured", days));
    }
    let mut engines: Vec<String> = site
        .runs(&campaign.name)
        .iter()
        .filter_map(|r| {
            let engine = r.setup.engine.clone()?;
            Some(r.setup.engine_version.as_ref().map_or(engine.clone(), |version| format!("{engine} {version}")))
        })
        .collect();
    if site.analysis.is_about_clients(campaign) {
        // One client of several may name the protocol that it was told to speak.
        let tables = site.analysis.across.agreements.iter().filter(|table| table.campaign == campaign.name);
        engines = tables.filter_map(|table| table.engine.clone()).collect();
    }
    engines.sort();
    engines.dedup();
    if !engines.is_empty() {
        facts.push(Fact::new("Engine", engines.join(", ")));
    }
    if !lines.is_empty() {
        let source: Vec<&str> = lines.iter().map(|line| line.as_str()).collect();
        facts.push(Fact::new("Source", source.join(". ")));
    }
    facts.push(Fact::code("Archive SHA-256", campaign.archive_sha256.clone()));
    facts.push(Fact::new(ANALYSED, format!("{} {}", site.analysis.tool.name, site.analysis.tool.version)));
    facts
}
