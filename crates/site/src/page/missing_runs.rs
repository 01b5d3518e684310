//! Planned runs without a result: each has a page that says what happened and why.
//!
//! In:  the missing runs of the campaigns.  Out: one page for each, at the address that its result would have had.
//! Not here: failed runs, which have a result and a page like any other.

use askama::Template;

use super::draft::{Draft, DrawnPage, PageKind, template_fault};
use super::front::Fact;
use super::index::Site;
use super::labels::{Badge, counted};
use super::link::Link;
use super::shell::Shell;
use sparkbench_model::{Loss, MissingReason, MissingRun};
use sparkbench_text::escape::file_name;
use sparkbench_verdict::report::CampaignCourse;

const ROOT: &str = "../../";

#[derive(Template)]
#[template(path = "missing_runs.html")]
struct Page {
    shell: Shell,
    campaign: Link,
    id: String,
    badge: Badge,
    eyebrow: String,
    why: String,
    facts: Vec<Fact>,
}

/// A row of the campaign's list.
pub(super) struct MissingRunRow {
    /// Its page, where it has one.
    pub link: Link,
    pub environment: String,
    pub model: String,
    pub workload: String,
    pub repeat: String,
    /// Its outcome.
    pub badge: Badge,
    pub why: String,
}

/// Runs that the owners of archives gave up as lost, for the front page.
pub(super) struct LostRuns {
    /// How many there are.
    pub line: String,
    /// Campaigns of the most, each with its number of them.
    pub campaigns: Vec<(Link, usize)>,
    /// Campaigns that are not named.
    pub more: usize,
}

/// Parts of archives that were given up and are no lost runs, for the front page. What was measured again looks like any other run.
pub(super) struct Losses {
    /// How many there are.
    pub line: String,
    /// The first ones, each with its campaign.
    pub named: Vec<(Link, String)>,
    /// Those that are not named.
    pub more: usize,
}

/// Campaigns that the front page names.
const MOST_LOST: usize = 6;
/// Losses that it names.
const MOST_NAMED: usize = 3;

/// The lost runs of all campaigns. None without any.
pub(super) fn lost(site: &Site<'_>) -> Option<LostRuns> {
    let lost_of = |runs: &[MissingRun]| runs.iter().filter(|run| run.gone == MissingReason::Lost).count();
    let mut campaigns: Vec<(Link, usize)> = Vec::new();
    for course in &site.analysis.courses.campaigns {
        let number = lost_of(&course.missing_runs);
        if number == 0 {
            continue;
        }
        campaigns.push((link_to(site, &course.campaign, "#unmade"), number));
    }
    campaigns.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let all: usize = campaigns.iter().map(|(_, number)| number).sum();
    let more = campaigns.len().saturating_sub(MOST_LOST);
    campaigns.truncate(MOST_LOST);
    (all > 0).then(|| LostRuns {
        line: counted(all, "run is lost and enters no figure", "runs are lost and enter no figure"),
        campaigns,
        more,
    })
}

/// The losses of all campaigns apart from lost runs. None without any.
pub(super) fn losses(site: &Site<'_>) -> Option<Losses> {
    let of_campaign = |course: &CampaignCourse| {
        let link = |loss: &Loss| (link_to(site, &course.campaign, ""), loss.to_string());
        course.losses.iter().map(link).collect::<Vec<_>>()
    };
    let mut named: Vec<(Link, String)> = site.analysis.courses.campaigns.iter().flat_map(of_campaign).collect();
    let all = named.len();
    named.truncate(MOST_NAMED);
    (all > 0).then(|| Losses {
        line: counted(all, "part of an archive is given up as lost", "parts of archives are given up as lost"),
        named,
        more: all.saturating_sub(MOST_NAMED),
    })
}

/// Its page, where a campaign has one, from the front page.
fn link_to(site: &Site<'_>, campaign: &str, anchor: &str) -> Link {
    let known = site.analysis.campaigns.iter().find(|known| known.name == campaign);
    Link {
        href: known.map(|known| format!("c/{}/index.html{anchor}", known.name)),
        text: known.map_or(campaign, |known| known.title.as_str()).to_owned(),
    }
}

/// One page for each missing run.
pub(super) struct MissingRunsPage;

impl PageKind for MissingRunsPage {
    fn drafts<'a>(&self, site: &Site<'a>) -> Vec<Draft<'a>> {
        let mut drafts: Vec<Draft<'a>> = Vec::new();
        let known = |name: &str| site.analysis.campaigns.iter().any(|campaign| campaign.name == name);
        for course in site.analysis.courses.campaigns.iter().filter(|course| known(&course.campaign)) {
            for run in &course.missing_runs {
                let path = path(&run.id);
                if may_have_page(site, run) && drafts.iter().all(|draft| !draft.path.eq_ignore_ascii_case(&path)) {
                    drafts.push(Draft::new(path, move |site| {
                        Ok(DrawnPage::new(page(site, &course.campaign, run).map_err(template_fault)?))
                    }));
                }
            }
        }
        drafts
    }
}

fn path(id: &str) -> String {
    format!("r/{}/index.html", file_name(id))
}

/// The address must be a plain name, and no result may have it.
fn may_have_page(site: &Site<'_>, run: &MissingRun) -> bool {
    let plain = !run.id.is_empty()
        && !run.id.starts_with('.')
        && run.id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    plain && site.analysis.runs.iter().all(|other| !other.id.eq_ignore_ascii_case(&run.id))
}

/// Outcome of a run, as a badge.
fn badge(gone: MissingReason) -> Badge {
    let (class, glyph) = match gone {
        MissingReason::Skipped => ("s-warning", "»"),
        MissingReason::Interrupted => ("s-error", "×"),
        MissingReason::Unreadable => ("s-error", "?"),
        MissingReason::Lost => ("s-error", "!"),
        MissingReason::NotRun => ("t-unknown", "–"),
    };
    Badge { class, glyph, word: gone.words() }
}

/// The missing runs of a campaign, for its list.
pub(super) fn rows(site: &Site<'_>, root: &str, campaign: &str) -> Vec<MissingRunRow> {
    let missing_runs = site.campaign_course(campaign).map_or(&[][..], |course| &course.missing_runs);
    missing_runs
        .iter()
        .map(|run| MissingRunRow {
            link: Link {
                href: (may_have_page(site, run) && site.has(&path(&run.id)))
                    .then(|| format!("{root}{}", path(&run.id))),
                text: run.id.clone(),
            },
            environment: run.environment.clone(),
            model: run.model.clone(),
            workload: run.workload.clone(),
            repeat: run.repeat.map_or_else(|| super::number::ABSENT.to_owned(), |k| k.to_string()),
            badge: badge(run.gone),
            why: run.why.clone(),
        })
        .collect()
}

fn page(site: &Site<'_>, campaign: &str, run: &MissingRun) -> Result<String, askama::Error> {
    let title = site.analysis.campaigns.iter().find(|c| c.name == campaign).map_or(campaign, |c| c.title.as_str());
    let mut eyebrow = vec![run.environment.clone(), run.model.clone(), run.workload.clone()];
    eyebrow.retain(|part| !part.is_empty());
    let mut facts = vec![
        Fact::new("Environment", run.environment.clone()),
        Fact::new("Model", run.model.clone()),
        Fact::new("Workload", run.workload.clone()),
    ];
    facts.extend(run.repeat.map(|k| Fact::new("Repeat", k.to_string())));
    facts.extend(run.position.map(|k| Fact::new("Place in the plan", k.to_string())));
    Page {
        shell: Shell::new(&path(&run.id), format!("Run {}, {} – sparkbench", run.id, run.gone.words()), "run", site)
            .described(format!("Run {} of {title} was planned and has no result.", run.id)),
        campaign: Link { href: Some(format!("{ROOT}c/{campaign}/index.html")), text: title.to_owned() },
        id: run.id.clone(),
        badge: badge(run.gone),
        eyebrow: eyebrow.join(" · "),
        why: run.why.clone(),
        facts,
    }
    .render()
}
