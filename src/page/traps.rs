//! The page of traps: what each one is, and what it said of each campaign.

use askama::Template;

use super::TrapAbout;
use super::index::{Link, Site, overall, run_href, worst};
use super::kind::{Draft, Drawn, Kind, Rows};
use super::prose;
use super::run::place;
use super::shell::Shell;
use super::template_fault;
use super::words::{self, Badge, counted};
use crate::verdict::report::{Evidence, Subject, TrapReport, TrapStatus};

/// Pieces of evidence of a finding on the page of all traps; the trap's own page has more.
const FEW_EVIDENCE: usize = 8;

/// Pieces of evidence of a finding on the trap's own page; the others stand in the file beside it.
const MOST_EVIDENCE: usize = 100;

/// Where a view stands, and how much it tells.
#[derive(Clone, Copy)]
struct Place<'a> {
    root: &'a str,
    evidence: usize,
}

const LIST: Place<'_> = Place { root: "../", evidence: FEW_EVIDENCE };
const OWN: Place<'_> = Place { root: "../../", evidence: MOST_EVIDENCE };

/// Subjects that could not be evaluated and are still told one by one.
const FEW_UNKNOWN: usize = 2;

#[derive(Template)]
#[template(path = "trap.html")]
struct OwnPage {
    shell: Shell,
    trap: TrapView,
}

#[derive(Template)]
#[template(path = "traps.html")]
struct Page {
    shell: Shell,
    summary: String,
    campaigns: Vec<Link>,
    entries: Vec<TrapView>,
}

struct TrapView {
    id: &'static str,
    /// Its own page, where the site has one.
    href: Option<String>,
    code: Option<&'static str>,
    title: &'static str,
    severity: Badge,
    about: String,
    /// One per campaign, in the order of the columns.
    columns: Vec<Badge>,
    said: Vec<Said>,
}

/// What a trap said of one campaign.
struct Said {
    campaign: Link,
    badge: Badge,
    findings: Vec<FindingView>,
    /// Where nothing could be said, when that is more than a few subjects: folded.
    unknown: Vec<FindingView>,
    /// Each once, however many subjects it stands beside.
    remedies: Vec<String>,
    passed: Option<String>,
}

struct FindingView {
    /// Only where it differs from that of the campaign.
    badge: Option<Badge>,
    severity: Option<Badge>,
    subject: String,
    message: String,
    evidence: Vec<EvidenceView>,
    more: usize,
}

struct EvidenceView {
    text: String,
    run: Option<Link>,
    origin: String,
}

/// Every trap, with what it said.
pub struct Entry;

impl Kind for Entry {
    fn name(&self) -> &'static str {
        "traps"
    }

    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let all = Draft::new("traps/index.html", |site| {
            let rows = Rows { traps: site.analysis.traps.iter().collect(), ..Rows::default() };
            Ok(Drawn::new(page(site).map_err(template_fault)?, rows))
        });
        let own = known(site).into_iter().map(|trap| {
            Draft::new(own_path(trap.id), move |site| {
                let traps = site.analysis.traps.iter().filter(|report| report.id == trap.id).collect();
                Ok(Drawn::new(own(site, &trap).map_err(template_fault)?, Rows { traps, ..Rows::default() }))
            })
        });
        std::iter::once(all).chain(own).collect()
    }
}

fn own_path(id: &str) -> String {
    format!("traps/{id}/index.html")
}

/// Every trap that the program knows, and those that only the analysis does.
fn known(site: &Site<'_>) -> Vec<TrapAbout> {
    let mut known: Vec<TrapAbout> = site.extras.traps.clone();
    for trap in &site.analysis.traps {
        if !known.iter().any(|k| k.id == trap.id) {
            known.push(TrapAbout {
                id: trap.id,
                code: trap.code,
                title: trap.title,
                severity: trap.severity,
                about: String::new(),
            });
        }
    }
    known
}

/// The page at `traps/index.html`.
pub fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let campaigns = site.campaigns();
    let entries: Vec<TrapView> = known(site).iter().map(|trap| view(site, trap, LIST)).collect();
    let fired =
        entries.iter().filter(|e| e.columns.iter().any(|b| b.word == words::trap_status(TrapStatus::Fired).word));
    let summary = format!(
        "{} looked for in {}; {} fired at least once.",
        counted(entries.len(), "trap is", "traps are"),
        counted(campaigns.len(), "campaign", "campaigns"),
        fired.count(),
    );
    Page {
        shell: Shell::new("traps/index.html", "Traps – sparkbench", "traps", site).described(summary.clone()),
        summary,
        campaigns: campaigns
            .iter()
            .map(|c| Link { href: Some(format!("{}c/{}/index.html", LIST.root, c.name)), text: c.title.clone() })
            .collect(),
        entries,
    }
    .render()
}

/// The page at `traps/<id>/index.html`.
fn own(site: &Site<'_>, trap: &TrapAbout) -> Result<String, askama::Error> {
    OwnPage {
        shell: Shell::new(&own_path(trap.id), format!("{} – trap – sparkbench", trap.title), "traps", site)
            .described(format!("{}: why it misleads, how it is found, and what it said here.", trap.title)),
        trap: view(site, trap, OWN),
    }
    .render()
}

fn view(site: &Site<'_>, trap: &TrapAbout, at: Place<'_>) -> TrapView {
    let per_campaign: Vec<(Link, Vec<&TrapReport>)> = site
        .campaigns()
        .iter()
        .map(|c| {
            let link = Link { href: Some(format!("{}c/{}/index.html", at.root, c.name)), text: c.title.clone() };
            (link, site.traps(&c.name).into_iter().filter(|t| t.id == trap.id).collect())
        })
        .collect();
    TrapView {
        id: trap.id,
        href: site.has(&own_path(trap.id)).then(|| format!("{}{}", at.root, own_path(trap.id))),
        code: trap.code,
        title: trap.title,
        severity: words::severity(trap.severity),
        about: prose::html(&trap.about, 2, trap.title),
        columns: per_campaign.iter().map(|(_, reports)| words::trap_status(overall(reports))).collect(),
        said: per_campaign.into_iter().map(|(campaign, reports)| said(site, campaign, &reports, trap, at)).collect(),
    }
}

fn said(site: &Site<'_>, campaign: Link, reports: &[&TrapReport], trap: &TrapAbout, at: Place<'_>) -> Said {
    let status = overall(reports);
    let mut told: Vec<&&TrapReport> = reports.iter().filter(|r| r.status != TrapStatus::Passed).collect();
    told.sort_by_key(|r| (r.status, r.severity));
    let passed: Vec<&&TrapReport> = reports.iter().filter(|r| r.status == TrapStatus::Passed).collect();
    let passed = match passed[..] {
        [] => None,
        [only] => {
            Some(format!("{}{}", prefix(&subject(site, &only.subject)), words::sentence(&only.message, &site.names())))
        }
        _ => Some(format!("Passed on {}.", counted(passed.len(), "subject", "subjects"))),
    };
    // Repeated only where it says something else than the heading.
    let severity = worst(reports).filter(|s| *s != trap.severity).map(words::severity);
    let mut remedies: Vec<String> = Vec::new();
    for report in told.iter().filter(|r| r.status == TrapStatus::Fired && !r.remedy.is_empty()) {
        let remedy = words::sentence(&report.remedy, &site.names());
        if !remedies.contains(&remedy) {
            remedies.push(remedy);
        }
    }
    let (fired, unknown): (Vec<_>, Vec<_>) = told.into_iter().partition(|r| r.status == TrapStatus::Fired);
    let view = |r: &&TrapReport| finding(site, r, status, severity, at);
    let mut findings: Vec<FindingView> = fired.into_iter().map(view).collect();
    let mut unknown: Vec<FindingView> = unknown.into_iter().map(view).collect();
    if unknown.len() <= FEW_UNKNOWN {
        findings.append(&mut unknown);
    }
    Said { campaign, badge: words::trap_status(status), findings, unknown, remedies, passed }
}

fn prefix(subject: &str) -> String {
    if subject.is_empty() { String::new() } else { format!("{subject}: ") }
}

fn finding(
    site: &Site<'_>,
    report: &TrapReport,
    overall: TrapStatus,
    severity: Option<Badge>,
    at: Place<'_>,
) -> FindingView {
    let subject = subject(site, &report.subject);
    // The subject stands before the message; one that begins with it need not say it again.
    let message = report.message.strip_prefix(&prefix(&subject)).unwrap_or(&report.message);
    FindingView {
        badge: (report.status != overall).then(|| words::trap_status(report.status)),
        severity: severity.filter(|_| report.status == TrapStatus::Fired).map(|_| words::severity(report.severity)),
        message: words::typeset(&words::sentence(message, &site.names())),
        subject,
        evidence: report.evidence.iter().take(at.evidence).map(|e| evidence(e, at.root)).collect(),
        more: report.evidence.len().saturating_sub(at.evidence),
    }
}

fn evidence(e: &Evidence, root: &str) -> EvidenceView {
    EvidenceView {
        text: e.text.clone(),
        run: e.run.as_ref().map(|id| Link { href: Some(run_href(root, id)), text: id.clone() }),
        origin: e.origin.as_ref().map_or_else(String::new, |o| {
            let place = place(o);
            if place.is_empty() { o.file.clone() } else { format!("{}, {place}", o.file) }
        }),
    }
}

/// What a finding speaks of, in words; empty for the whole campaign.
pub fn subject(site: &Site<'_>, subject: &Subject) -> String {
    let metric = subject.metric.as_deref().map(words::metric);
    // Where a campaign has one workload, naming it says nothing.
    let workload = subject.workload.as_deref().filter(|_| !site.one_workload(&subject.campaign));
    let parts = [subject.model.as_deref(), workload, subject.environment.as_deref(), metric.as_deref()];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
