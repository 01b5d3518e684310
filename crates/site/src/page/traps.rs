//! The page of traps: each trap, and its result for each campaign.

use askama::Template;

use super::TrapAbout;
use super::docs;
use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::index::{Site, overall};
use super::labels::{self, Badge, counted};
use super::link::{Link, run_href};
use super::prose;
use super::run::place;
use super::shell::Shell;
use sparkbench_verdict::report::{Evidence, Subject, TrapReport, TrapStatus};

/// Pieces of evidence of a finding on the page of all traps. The trap's own page has more.
const FEW_EVIDENCE: usize = 8;

/// Pieces of evidence of a finding on the trap's own page. The others are in `analysis.json`.
const MOST_EVIDENCE: usize = 100;

/// Place of a view, and how much it shows.
#[derive(Clone, Copy)]
struct Place<'a> {
    root: &'a str,
    evidence: usize,
}

const LIST: Place<'_> = Place { root: "../", evidence: FEW_EVIDENCE };
const OWN: Place<'_> = Place { root: "../../", evidence: MOST_EVIDENCE };

/// Separator of the parts of a subject.
const PART: &str = " · ";

/// Heads of the paragraphs that explain a trap, behind the first one, which says what it is.
const HEADS: [&str; 3] = ["Why it matters", "How it is checked", "How to avoid it"];

/// Subjects that could not be evaluated and are still told one by one.
const FEW_UNKNOWN: usize = 2;

/// Findings of one campaign that a page shows open.
const OPEN_FINDINGS: usize = 3;

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
    /// What it is, in a sentence. Empty without an explanation.
    what: String,
    /// Why it matters, how it is checked and how to avoid it, as HTML.
    about: String,
    /// The page of the manual that says more.
    manual: Option<Link>,
    /// One per campaign, in the order of the columns.
    columns: Vec<Badge>,
    said: Vec<CampaignFindings>,
}

impl TrapView {
    /// "fired in 2 campaigns, passed in 3".
    fn results(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for told in &self.said {
            match counts.iter_mut().find(|(word, _)| *word == told.badge.word) {
                Some((_, n)) => *n += 1,
                None => counts.push((told.badge.word, 1)),
            }
        }
        let mut parts = counts.into_iter();
        let first = parts.next().map(|(word, n)| format!("{word} in {}", counted(n, "campaign", "campaigns")));
        first.into_iter().chain(parts.map(|(word, n)| format!("{word} in {n}"))).collect::<Vec<_>>().join(", ")
    }
}

/// Result of a trap for one campaign.
struct CampaignFindings {
    campaign: Link,
    badge: Badge,
    /// Fired traps, then those that could not be evaluated where they are few, then passed ones.
    findings: Vec<FindingView>,
    /// Where nothing could be said, when that is more than a few subjects: folded.
    unknown: Vec<FindingView>,
    /// The remedy, where all fired findings share it.
    remedy: Option<String>,
}

struct FindingView {
    /// Only where it differs from that of the campaign.
    badge: Option<Badge>,
    severity: Option<Badge>,
    /// Empty for the whole campaign.
    subject: String,
    /// Whether the subject is before the message, which does not say it by itself.
    led: bool,
    /// Passed checks are shown less prominently.
    quiet: bool,
    message: String,
    evidence: Vec<EvidenceView>,
    more: usize,
    /// The remedy, where it differs between fired findings. Else empty.
    remedy: String,
}

struct EvidenceView {
    text: String,
    run: Option<Link>,
    origin: String,
}

/// Every trap, with what it said.
pub(super) struct TrapsPage;

impl PageKind for TrapsPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let all = Draft::new("traps/index.html", |site| Ok(DrawnPage::new(page(site).map_err(template_fault)?)));
        let own = known(site).into_iter().map(|trap| {
            Draft::new(own_path(trap.id), move |site| Ok(DrawnPage::new(own(site, &trap).map_err(template_fault)?)))
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
pub(super) fn page(site: &Site<'_>) -> Result<String, askama::Error> {
    let campaigns = site.campaigns();
    let entries: Vec<TrapView> = known(site).iter().map(|trap| view(site, trap, LIST)).collect();
    let fired =
        entries.iter().filter(|e| e.columns.iter().any(|b| b.word == labels::trap_status(TrapStatus::Fired).word));
    let summary = format!(
        "{} in {}: {} found something.",
        counted(entries.len(), "check", "checks"),
        counted(campaigns.len(), "campaign", "campaigns"),
        fired.count(),
    );
    Page {
        shell: Shell::new("traps/index.html", "Checks – sparkbench", "traps", site).described(summary.clone()),
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
        shell: Shell::new(&own_path(trap.id), format!("{} – checks – sparkbench", trap.title), "traps", site)
            .described(format!(
                "{}: why it matters, how it is checked, how to avoid it, and what the check found here.",
                trap.title
            )),
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
    let (what, about) = explained(trap);
    TrapView {
        id: trap.id,
        href: site.has(&own_path(trap.id)).then(|| format!("{}{}", at.root, own_path(trap.id))),
        code: trap.code,
        title: trap.title,
        severity: labels::severity(trap.severity),
        what,
        about,
        manual: docs::of_check(site, at.root, trap.id),
        columns: per_campaign.iter().map(|(_, reports)| labels::trap_status(overall(reports))).collect(),
        said: per_campaign.into_iter().map(|(campaign, reports)| said(site, campaign, &reports, trap, at)).collect(),
    }
}

/// What a trap is, and the rest of its explanation with a head at each paragraph.
fn explained(trap: &TrapAbout) -> (String, String) {
    let (what, rest) = trap.about.split_once("\n\n").unwrap_or(("", &trap.about));
    let headed: Vec<String> =
        rest.split("\n\n").zip(HEADS).map(|(paragraph, head)| format!("**{head}.** {paragraph}")).collect();
    let markdown = if what.is_empty() { rest.to_owned() } else { headed.join("\n\n") };
    (what.to_owned(), prose::html(&markdown, 2, trap.title))
}

fn said(site: &Site<'_>, campaign: Link, reports: &[&TrapReport], trap: &TrapAbout, at: Place<'_>) -> CampaignFindings {
    let status = overall(reports);
    let mut told: Vec<&&TrapReport> = reports.iter().filter(|r| r.status != TrapStatus::Passed).collect();
    told.sort_by_key(|r| (r.status, r.severity));
    let passed: Vec<&&TrapReport> = reports.iter().filter(|r| r.status == TrapStatus::Passed).collect();
    let (fired, unknown): (Vec<&&TrapReport>, Vec<&&TrapReport>) =
        told.into_iter().partition(|r| r.status == TrapStatus::Fired);
    let mut remedies: Vec<String> = fired.iter().map(|r| remedy(site, r)).filter(|text| !text.is_empty()).collect();
    remedies.sort_unstable();
    remedies.dedup();
    // A common one appears once, below them. One of several appears below its own subject.
    let shared = if remedies.len() == 1 { remedies.pop() } else { None };
    // Repeated only where one of them is something else than the heading says.
    let mixed = fired.iter().any(|r| r.severity != trap.severity);
    let view = |r: &&TrapReport| finding(site, r, status, mixed, at);
    let mut findings: Vec<FindingView> = fired.into_iter().map(view).collect();
    if shared.is_some() {
        findings.iter_mut().for_each(|finding| finding.remedy.clear());
    }
    let mut unknown: Vec<FindingView> = unknown.into_iter().map(view).collect();
    if unknown.len() <= FEW_UNKNOWN {
        findings.append(&mut unknown);
    }
    match passed[..] {
        [] => {}
        [only] => findings.push(view(only)),
        _ => findings.push(several_passed(passed.len(), status)),
    }
    CampaignFindings { campaign, badge: labels::trap_status(status), findings, unknown, remedy: shared }
}

/// Subjects that passed, as one line: their number.
fn several_passed(n: usize, overall: TrapStatus) -> FindingView {
    let message = if overall == TrapStatus::Passed {
        format!("Passed on {}.", counted(n, "subject", "subjects"))
    } else {
        format!("{}.", counted(n, "other subject", "other subjects"))
    };
    FindingView {
        badge: (overall != TrapStatus::Passed).then(|| labels::trap_status(TrapStatus::Passed)),
        severity: None,
        subject: String::new(),
        led: false,
        quiet: true,
        message,
        evidence: Vec::new(),
        more: 0,
        remedy: String::new(),
    }
}

/// The remedy for fired findings, as a sentence.
fn remedy(site: &Site<'_>, report: &TrapReport) -> String {
    if report.status == TrapStatus::Fired {
        set(&labels::sentence(&report.remedy, &site.names()))
    } else {
        String::new()
    }
}

/// Text of the rules as this page prints it: numbers as on every page, and the apostrophe of the prose beside it.
fn set(text: &str) -> String {
    let text = labels::typeset(text);
    let mut out = String::with_capacity(text.len() + 8);
    let mut letters = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = letters.next() {
        let within = before.is_alphanumeric() && letters.peek().is_some_and(|next| next.is_alphabetic());
        out.push(if c == '\'' && within { '’' } else { c });
        before = c;
    }
    out
}

/// Whether a subject must precede a message, and the message. Many messages begin with the words of their subject: closed by a colon
/// they are taken off, since the subject says them. Within the sentence they stay and the subject would be said twice.
pub(super) fn led<'m>(subject: &str, message: &'m str) -> (bool, &'m str) {
    if subject.is_empty() {
        return (false, message);
    }
    let mut parts: Vec<&str> = subject.split(PART).collect();
    let mut rest = message;
    while !parts.is_empty() {
        let open = [", ", " in ", " of "].into_iter().find_map(|join| rest.strip_prefix(join)).unwrap_or(rest);
        let cut = parts.iter().enumerate().filter_map(|(at, part)| Some((at, after(open, part)?)));
        // The longest of several that fit: one name may begin another.
        let Some((at, behind)) = cut.min_by_key(|(_, behind)| behind.len()) else { return (true, message) };
        parts.swap_remove(at);
        rest = behind;
    }
    rest.strip_prefix(": ").map_or((false, message), |said| (true, said))
}

/// What follows a part of a subject at the start of a text. A metric begins there with a small letter.
fn after<'m>(text: &'m str, part: &str) -> Option<&'m str> {
    let (head, rest) = text.split_at_checked(part.len())?;
    let whole = rest.is_empty() || rest.starts_with([' ', ',', ':']);
    (whole && head.eq_ignore_ascii_case(part)).then_some(rest)
}

fn finding(site: &Site<'_>, report: &TrapReport, overall: TrapStatus, mixed: bool, at: Place<'_>) -> FindingView {
    let subject = subject(site, &report.subject);
    let (led, message) = led(&subject, &report.message);
    FindingView {
        badge: (report.status != overall).then(|| labels::trap_status(report.status)),
        severity: (mixed && report.status == TrapStatus::Fired).then(|| labels::severity(report.severity)),
        message: set(&labels::sentence(message, &site.names())),
        subject,
        led,
        quiet: report.status == TrapStatus::Passed,
        evidence: report.evidence.iter().take(at.evidence).map(|e| evidence(e, at.root)).collect(),
        more: report.evidence.len().saturating_sub(at.evidence),
        remedy: remedy(site, report),
    }
}

fn evidence(e: &Evidence, root: &str) -> EvidenceView {
    EvidenceView {
        // As it is: it may quote a line of a file.
        text: e.text.clone(),
        run: e.run.as_ref().map(|id| Link { href: Some(run_href(root, id)), text: id.clone() }),
        origin: e.origin.as_ref().map_or_else(String::new, |o| {
            let place = place(o);
            if place.is_empty() { o.file.clone() } else { format!("{}, {place}", o.file) }
        }),
    }
}

/// The subject of a finding, in words. Empty for the whole campaign.
pub(super) fn subject(site: &Site<'_>, subject: &Subject) -> String {
    let metric = subject.metric.as_deref().map(labels::metric);
    // Where a campaign has one workload, naming it says nothing.
    let workload = subject.workload.as_deref().filter(|_| !site.one_workload(&subject.campaign));
    let parts = [subject.model.as_deref(), workload, subject.environment.as_deref(), metric.as_deref()];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_said_once() {
        for (subject, message, said) in [
            ("llama1b", "llama1b: all 42 runs ran it", (true, "all 42 runs ran it")),
            ("llama1b · T1", "llama1b, T1: 14 runs", (true, "14 runs")),
            ("llama1b · T1 · chroot", "llama1b, T1 in chroot: no load", (true, "no load")),
            ("m · container", "m, container beside native: 3 %", (false, "m, container beside native: 3 %")),
            ("m · native", "m in native has 4 runs", (false, "m in native has 4 runs")),
            ("KV cache", "KV cache is a line", (false, "KV cache is a line")),
            ("Peak memory", "peak memory takes 2 values", (false, "peak memory takes 2 values")),
            ("m · native · Peak memory", "peak memory of m in native: each", (true, "each")),
            ("m · 128 in, 64 out", "m, 128 in, 64 out: few", (true, "few")),
            ("qwen · qwen 7b", "qwen 7b in qwen: x", (true, "x")),
            ("m · native", "m alone is slow", (true, "m alone is slow")),
            ("m", "model: x", (true, "model: x")),
            ("m", "no arm has a trend", (true, "no arm has a trend")),
            ("é", "e: x", (true, "e: x")),
            ("", "m: x", (false, "m: x")),
        ] {
            assert_eq!(led(subject, message), said, "{subject}, {message}");
        }
    }

    #[test]
    fn an_apostrophe_is_that_of_prose_and_quotes_stay() {
        assert_eq!(
            set("no arm's runs; tau-b -0.82, '--lock' and 'a b'"),
            "no arm’s runs; tau-b −0.82, '--lock' and 'a b'"
        );
    }
}
