//! Who is where: the analysis by campaign, and the address of everything a page may link to.
//!
//! In:  the analysis and the extras.  Out: [`Site`], read by every page.
//! Not here: text, markup.

use std::collections::{BTreeMap, BTreeSet};

use super::Extras;
use crate::error::Error;
use crate::verdict::report::{
    Analysis, CampaignReport, Comparison, Group, RunReport, Severity, TrapReport, TrapStatus,
};

/// A link, or text where there is nowhere to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Relative to the page it stands on.
    pub href: Option<String>,
    /// What is shown.
    pub text: String,
}

/// What a sentence rests on: a link with a name that is short beside its sentence and one that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// Where it stands, with its whole name.
    pub link: Link,
    /// Shown in small beside the sentence.
    pub short: String,
}

/// The analysis with its addresses.
#[derive(Debug)]
pub struct Site<'a> {
    /// What was found.
    pub analysis: &'a Analysis,
    /// What is not in it.
    pub extras: &'a Extras,
    anchors: Vec<String>,
    runs: BTreeMap<&'a str, &'a RunReport>,
}

impl<'a> Site<'a> {
    /// Fails when a name that becomes part of a path is no plain name, or is taken twice.
    pub fn new(analysis: &'a Analysis, extras: &'a Extras) -> Result<Self, Error> {
        unique_names("campaign", analysis.campaigns.iter().map(|c| c.name.as_str()))?;
        unique_names("run", analysis.runs.iter().map(|r| r.id.as_str()))?;
        let mut taken = BTreeSet::new();
        let anchors = analysis
            .comparisons
            .iter()
            .map(|c| {
                let base = slug(&[&c.model, &c.workload, &c.metric, &c.candidate]);
                let mut anchor = base.clone();
                let mut k = 2;
                while !taken.insert((c.campaign.clone(), anchor.clone())) {
                    anchor = format!("{base}-{k}");
                    k += 1;
                }
                anchor
            })
            .collect();
        let runs = analysis.runs.iter().map(|run| (run.id.as_str(), run)).collect();
        Ok(Self { analysis, extras, anchors, runs })
    }

    /// Campaigns, the newest first, those without any start time last.
    pub fn campaigns(&self) -> Vec<&'a CampaignReport> {
        let mut campaigns: Vec<_> = self.analysis.campaigns.iter().collect();
        campaigns.sort_by(|a, b| b.last_started_utc.cmp(&a.last_started_utc).then_with(|| a.name.cmp(&b.name)));
        campaigns
    }

    /// Comparisons of a campaign, each with its anchor on the campaign's page.
    pub fn comparisons(&self, campaign: &str) -> Vec<(&str, &'a Comparison)> {
        let pairs = self.anchors.iter().map(String::as_str).zip(&self.analysis.comparisons);
        pairs.filter(|(_, c)| c.campaign == campaign).collect()
    }

    /// Runs of a campaign in order of time.
    pub fn runs(&self, campaign: &str) -> Vec<&'a RunReport> {
        self.analysis.runs.iter().filter(|r| r.campaign == campaign).collect()
    }

    /// One run.
    pub fn run(&self, id: &str) -> Option<&'a RunReport> {
        self.runs.get(id).copied()
    }

    /// Groups of a campaign.
    pub fn groups(&self, campaign: &str) -> Vec<&'a Group> {
        self.analysis.groups.iter().filter(|g| g.campaign == campaign).collect()
    }

    /// Traps of a campaign.
    pub fn traps(&self, campaign: &str) -> Vec<&'a TrapReport> {
        self.analysis.traps.iter().filter(|t| t.subject.campaign == campaign).collect()
    }

    /// Name for people of a machine label.
    pub fn machine(&self, label: &str) -> String {
        self.extras.machine_titles.get(label).cloned().unwrap_or_else(|| label.to_owned())
    }

    /// Name for people of a model label, where there is one.
    pub fn model_title(&self, label: &str) -> Option<&'a str> {
        self.extras.model_titles.get(label).map(String::as_str).filter(|title| *title != label)
    }

    /// Addresses of what a sentence rests on, each once. An id is that of a trap, or `model|workload|metric`, or names a
    /// part of the campaign's page. Short names of comparisons hold what tells them apart in this sentence.
    pub fn grounds(&self, root: &str, campaign: &str, ids: &[String]) -> Vec<Ground> {
        let comparisons: Vec<Vec<&str>> = ids.iter().map(|id| id.split('|').collect()).collect();
        let varies = |part: usize| {
            let mut seen = comparisons.iter().filter(|key| key.len() >= 3).map(|key| key[part]);
            seen.next().is_some_and(|first| seen.any(|other| other != first))
        };
        let parts: Vec<usize> = (0..3).filter(|part| varies(*part)).collect();
        let mut grounds: Vec<Ground> = Vec::new();
        for (id, key) in ids.iter().zip(&comparisons) {
            let link = self.because(root, campaign, id);
            if grounds.iter().any(|g| g.link == link) {
                continue;
            }
            let name = |part: &usize| match part {
                2 => super::words::metric(key[2]).to_lowercase(),
                _ => key[*part].to_owned(),
            };
            let short = match (key.len() >= 3, parts.is_empty()) {
                (true, true) => "the comparison".into(),
                (true, false) => parts.iter().map(name).collect::<Vec<_>>().join(", "),
                (false, _) => self.trap(id).map_or_else(|| link.text.clone(), |(_, _, title)| lower_first(title)),
            };
            grounds.push(Ground { link, short });
        }
        grounds
    }

    /// Id, code and title of a trap by its id or its code.
    fn trap(&self, id: &str) -> Option<(&'static str, Option<&'static str>, &'static str)> {
        let known = self.extras.traps.iter().map(|t| (t.id, t.code, t.title));
        let told = self.analysis.traps.iter().map(|t| (t.id, t.code, t.title));
        known.chain(told).find(|(own, code, _)| *own == id || *code == Some(id))
    }

    /// The address of what a sentence rests on.
    fn because(&self, root: &str, campaign: &str, id: &str) -> Link {
        if let Some((id, _, title)) = self.trap(id) {
            return Link { href: Some(trap_href(root, id)), text: title.to_owned() };
        }
        let part = match id {
            "published" => Some("published figures"),
            "criteria" => Some("success criteria"),
            _ => None,
        };
        if let Some(text) = part {
            return Link { href: Some(format!("{root}c/{campaign}/index.html#{id}")), text: text.into() };
        }
        let key: Vec<&str> = id.split('|').collect();
        if let [model, workload, metric, ..] = key[..] {
            let found = self
                .comparisons(campaign)
                .into_iter()
                .find(|(_, c)| c.model == model && c.workload == workload && c.metric == metric);
            if let Some((anchor, comparison)) = found {
                let text = if comparison.workload.is_empty() || self.one_workload(campaign) {
                    format!("{}, {}", comparison.model, comparison.label.to_lowercase())
                } else {
                    format!("{} {}, {}", comparison.model, comparison.workload, comparison.label.to_lowercase())
                };
                return Link { href: Some(format!("{root}c/{campaign}/index.html#{anchor}")), text };
            }
        }
        Link { href: None, text: id.replace('|', ", ") }
    }

    /// Labels of models, workloads and environments: names that keep their spelling at the head of a sentence.
    pub fn names(&self) -> BTreeSet<&'a str> {
        let campaigns = self.analysis.campaigns.iter();
        campaigns.flat_map(|c| c.models.iter().chain(&c.workloads).chain(&c.environments)).map(String::as_str).collect()
    }

    /// True when naming the workload would say nothing.
    pub fn one_workload(&self, campaign: &str) -> bool {
        self.analysis.campaigns.iter().any(|c| c.name == campaign && c.workloads.len() <= 1)
    }
}

/// Traps by id in their first order, with every report about them.
pub fn by_trap<'a>(traps: &[&'a TrapReport]) -> Vec<(&'static str, Vec<&'a TrapReport>)> {
    let mut grouped: Vec<(&'static str, Vec<&TrapReport>)> = Vec::new();
    for trap in traps {
        match grouped.iter_mut().find(|(id, _)| *id == trap.id) {
            Some((_, members)) => members.push(trap),
            None => grouped.push((trap.id, vec![trap])),
        }
    }
    grouped
}

/// What came of a trap over all its subjects: fired beats not evaluated beats passed.
pub fn overall(reports: &[&TrapReport]) -> TrapStatus {
    let has = |status| reports.iter().any(|r| r.status == status);
    if has(TrapStatus::Fired) {
        TrapStatus::Fired
    } else if has(TrapStatus::NotEvaluated) || reports.is_empty() {
        TrapStatus::NotEvaluated
    } else {
        TrapStatus::Passed
    }
}

/// The worst severity among those that fired.
pub fn worst(reports: &[&TrapReport]) -> Option<Severity> {
    reports.iter().filter(|r| r.status == TrapStatus::Fired).map(|r| r.severity).min()
}

/// A title within a line; abbreviations stay as they are.
fn lower_first(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.as_str()) {
        (Some(first), rest) if rest.starts_with(char::is_lowercase) || rest.starts_with(' ') => {
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => title.to_owned(),
    }
}

/// The address of a trap.
pub fn trap_href(root: &str, id: &str) -> String {
    format!("{root}traps/index.html#{id}")
}

/// The address of a run.
pub fn run_href(root: &str, id: &str) -> String {
    format!("{root}r/{id}/index.html")
}

/// Lower-case letters, digits and single hyphens: an anchor that needs no escaping.
pub fn slug(parts: &[&str]) -> String {
    let mut out = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        for c in part.chars() {
            if c.is_ascii_alphanumeric() || c == '_' {
                out.push(c.to_ascii_lowercase());
            } else if !out.ends_with('-') && !out.is_empty() {
                out.push('-');
            }
        }
    }
    let out = out.trim_end_matches('-');
    // An identifier of a page must not be empty and reads best when it starts with a letter.
    if out.starts_with(|c: char| c.is_ascii_alphabetic()) { out.to_owned() } else { format!("x-{out}") }
}

fn unique_names<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for name in names {
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if !plain || name.is_empty() || name.starts_with('.') {
            return Err(Error::archive(format!("the {what} name '{name}' cannot become a path of the site"))
                .detail("expected letters, digits, '.', '_' and '-', not starting with '.'"));
        }
        // Two names that differ in case only are one folder on some disks.
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(Error::archive(format!("two {what}s share the name '{name}'")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_site_are_refused() {
        for name in ["", "..", ".hidden", "a/b", "a\\b", "<script>", "a b", "é"] {
            assert!(unique_names("run", [name].into_iter()).is_err(), "{name}");
        }
        assert!(unique_names("run", ["a", "b", "native_x-1.2"].into_iter()).is_ok());
        assert!(unique_names("run", ["a", "A"].into_iter()).is_err());
    }

    #[test]
    fn slugs_are_plain_and_never_empty() {
        assert_eq!(slug(&["Qwen 2.5/72B", "", "ttft_ms"]), "qwen-2-5-72b-ttft_ms");
        assert_eq!(slug(&["72b"]), "x-72b");
        assert_eq!(slug(&["<>"]), "x-");
    }
}
