//! The index: the analysis by campaign, and the address of everything a page may link to.
//!
//! In:  the analysis and the extras.  Out: [`Site`], read by every page.
//! Not here: text, markup.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::address::Addresses;
use super::extras::Extras;
use super::figure::FigureView;
use super::file::{Download, HashedPage};
use super::labels::{ALL_LOADS, place};
use super::link::{Link, SourceLink, run_href, trap_href};
use super::places::Places;
use super::publish::version::{self, Version};
use sparkbench_model::within;
use sparkbench_text::error::Error;
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::RoundCache;
use sparkbench_verdict::mark::Marker;
use sparkbench_verdict::report::{
    Analysis, CampaignCourse, CampaignReport, Comparison, CourseReport, Group, Input, RunReport, Sentence, Severity,
    TrapReport, TrapStatus,
};

/// The analysis with its addresses.
#[derive(Debug)]
pub struct Site<'a> {
    /// The result.
    pub analysis: &'a Analysis,
    /// Data outside it.
    pub extras: &'a Extras,
    /// Files for machines, by path, without the list of hashes, which covers the pages too.
    pub downloads: Vec<Download>,
    /// Pages of pairs and cells.
    pub(super) addresses: Addresses,
    /// The authors' text of each campaign that has one, as HTML.
    pub prose: BTreeMap<String, String>,
    /// This version of the site.
    pub version: Version,
    anchors: Vec<String>,
    groups: BTreeMap<[&'a str; 5], String>,
    runs: BTreeMap<&'a str, &'a RunReport>,
    inputs: BTreeMap<&'a str, &'a Input>,
    courses: BTreeMap<&'a str, &'a CourseReport>,
    paths: BTreeSet<String>,
    /// Where figures were read.
    pub places: Places<'a>,
    /// Drawings of before. None for a program that draws once.
    pub(super) figures: Option<&'a RoundCache<Arc<FigureView>>>,
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
                let base = anchor_of(&[&c.model, &c.workload, &c.metric, &c.candidate]);
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
        let inputs = analysis.inputs.iter().map(|input| (input.path.as_str(), input)).collect();
        let courses = analysis.courses.runs.iter().map(|course| (course.run.as_str(), course)).collect();
        let addresses = Addresses::of(analysis);
        let places = Places::new(&extras.logs, &analysis.runs);
        let groups = group_anchors(&analysis.groups);
        let (downloads, prose, paths) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        let version = Version::default();
        Ok(Self {
            analysis,
            extras,
            downloads,
            prose,
            version,
            addresses,
            anchors,
            groups,
            runs,
            inputs,
            courses,
            paths,
            places,
            figures: None,
        })
    }

    /// A drawing, or the same from before. `shows` names everything that `draw` reads. What is forgotten there is shown stale while
    /// `analyse --watch` runs.
    pub(super) fn figure_kept(&self, shows: impl FnOnce(&mut Marker), draw: impl FnOnce() -> FigureView) -> FigureView {
        let Some(figures) = self.figures else { return draw() };
        let mut marker = Marker::default();
        shows(&mut marker);
        Arc::unwrap_or_clone(figures.get(marker.finish(), || Arc::new(draw())))
    }

    /// Notes the files for machines, whose hash names the version.
    pub fn listed(&mut self, files: &[Arc<HashedPage>]) {
        self.relist(files.iter().map(|file| Download::of(file)).collect());
    }

    /// Like [`Self::listed`], by what is known of them.
    pub fn relist(&mut self, downloads: Vec<Download>) {
        self.downloads = downloads;
        self.version = version::of(self.analysis, &self.downloads, &self.extras.publication.earlier);
    }

    /// Notes the paths of all pages.
    pub fn pages(&mut self, paths: impl Iterator<Item = String>) {
        self.paths = paths.collect();
    }

    /// Whether the site has a page at this path: `cost/index.html`. In the report as one file, which has other addresses,
    /// nothing is promised beyond the content of that file.
    pub fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Every pair of environments with its path: campaign, baseline, candidate.
    pub fn pair_pages(&self) -> impl Iterator<Item = ([&str; 3], &str)> {
        self.addresses.pairs.iter().map(|(key, path)| (key.each_ref().map(String::as_str), path.as_str()))
    }

    /// Every cell with its path: campaign, model, workload.
    pub fn cell_pages(&self) -> impl Iterator<Item = ([&str; 3], &str)> {
        self.addresses.cells.iter().map(|(key, path)| (key.each_ref().map(String::as_str), path.as_str()))
    }

    /// The page of a model and workload, below the site.
    pub fn cell(&self, campaign: &str, model: &str, workload: &str) -> Option<&str> {
        let key = [campaign.to_owned(), model.to_owned(), workload.to_owned()];
        self.addresses.cells.get(&key).map(String::as_str).filter(|path| self.has(path))
    }

    /// The page of a pair of environments, below the site.
    pub fn pair(&self, campaign: &str, baseline: &str, candidate: &str) -> Option<&str> {
        let key = [campaign.to_owned(), baseline.to_owned(), candidate.to_owned()];
        self.addresses.pairs.get(&key).map(String::as_str).filter(|path| self.has(path))
    }

    /// Where a comparison is reported in full: on the page of its cell, else on that of its campaign.
    pub fn account(&self, root: &str, anchor: &str, c: &Comparison) -> String {
        match self.cell(&c.campaign, &c.model, &c.workload) {
            Some(path) => format!("{root}{path}#{anchor}"),
            None => format!("{root}c/{}/index.html#{anchor}", c.campaign),
        }
    }

    /// A file that was read, or left out.
    pub fn input(&self, path: &str) -> Option<&'a Input> {
        self.inputs.get(path).copied()
    }

    /// Paths of the files below a folder, which ends in `/`.
    pub fn inputs_below(&self, folder: &str) -> impl Iterator<Item = &'a str> {
        let from = (Bound::Included(folder), Bound::Unbounded);
        self.inputs.range::<str, _>(from).map(|(path, _)| *path).take_while(move |path| path.starts_with(folder))
    }

    /// How a run went over time.
    pub fn course(&self, run: &str) -> Option<&'a CourseReport> {
        self.courses.get(run).copied()
    }

    /// Grid and missing runs of a campaign.
    pub fn campaign_course(&self, campaign: &str) -> Option<&'a CampaignCourse> {
        self.analysis.courses.campaigns.iter().find(|course| course.campaign == campaign)
    }

    /// Where a figure of a run leads: to the line it was read from, else to its row on the page of the run.
    pub fn figure(&self, root: &str, run: &RunReport, metric: &str) -> Option<String> {
        let origin = run.origins.get(metric)?;
        let exact = origin.line.is_some() || origin.field.as_ref().is_some_and(|field| field.starts_with('/'));
        let line = if exact { self.places.anchor(&run.id, origin) } else { None };
        let line = line.map(|anchor| format!("{}#{anchor}", run_href(root, &run.id)));
        line.or_else(|| {
            let told = run.metrics.contains_key(metric) && self.has(&format!("r/{}/index.html", run.id));
            told.then(|| format!("{}#{metric}", run_href(root, &run.id)))
        })
    }

    /// Every page, by path.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// Campaigns, the newest first, those without any start time and those about load clients last.
    pub fn campaigns(&self) -> Vec<&'a CampaignReport> {
        self.analysis.newest_first()
    }

    /// Comparisons of a campaign, each with its anchor on the campaign's page.
    pub fn comparisons(&self, campaign: &str) -> Vec<(&str, &'a Comparison)> {
        let pairs = self.anchors.iter().map(String::as_str).zip(self.analysis.comparisons.iter());
        pairs.filter(|(_, c)| c.campaign == campaign).collect()
    }

    /// Answers of a campaign over all its loads.
    pub fn all_loads(&self, campaign: &str) -> Vec<&'a Comparison> {
        self.analysis.comparisons.all_loads.iter().filter(|c| c.campaign == campaign).collect()
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

    /// The anchor of a group on the page of its campaign.
    pub fn group_anchor<'s>(&'s self, group: &'s Group) -> &'s str {
        self.groups.get(&group_key(group)).map_or("groups", String::as_str)
    }

    /// Traps of a campaign.
    pub fn traps(&self, campaign: &str) -> Vec<&'a TrapReport> {
        self.analysis.traps.iter().filter(|t| t.subject.campaign == campaign).collect()
    }

    /// Traps of severity error that fired on cells of a model in a campaign, or on the whole campaign. The labels of its figures may be
    /// wrong.
    pub fn errors(&self, campaign: &str, model: &str) -> Vec<&'a TrapReport> {
        let mut found = self.traps(campaign);
        found.retain(|t| {
            let is_ours = t.subject.model.as_deref().is_none_or(|of| of == model);
            t.status == TrapStatus::Fired && t.severity == Severity::Error && is_ours
        });
        found
    }

    /// [`Self::errors`] in a few words: `error: Weights exceed the memory, and 3 more`. Empty where there is none.
    pub fn doubt(&self, campaign: &str, model: &str) -> String {
        let titles: BTreeSet<&str> = self.errors(campaign, model).iter().map(|t| t.title).collect();
        match titles.first() {
            None => String::new(),
            Some(only) if titles.len() == 1 => format!("error: {only}"),
            Some(first) => format!("error: {first}, and {} more", titles.len() - 1),
        }
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
    /// part of the campaign's page. Short names of comparisons hold their differences in this sentence.
    pub fn grounds(&self, root: &str, campaign: &str, ids: &[String]) -> Vec<SourceLink> {
        let comparisons: Vec<Vec<&str>> = ids.iter().map(|id| id.split('|').collect()).collect();
        let varies = |part: usize| {
            let mut seen = comparisons.iter().filter(|key| key.len() >= 3).map(|key| key[part]);
            seen.next().is_some_and(|first| seen.any(|other| other != first))
        };
        let parts: Vec<usize> = (0..3).filter(|part| varies(*part)).collect();
        let mut grounds: Vec<SourceLink> = Vec::new();
        for (id, key) in ids.iter().zip(&comparisons) {
            let link = self.because(root, campaign, id);
            if grounds.iter().any(|g| g.link == link) {
                continue;
            }
            let name = |part: &usize| match part {
                2 => within(&super::labels::metric(key[2])),
                _ => key[*part].to_owned(),
            };
            let short = match (key.len() >= 3, parts.is_empty()) {
                (true, true) => "the comparison".into(),
                (true, false) => parts.iter().map(name).collect::<Vec<_>>().join(", "),
                (false, _) => self.trap(id).map_or_else(|| link.text.clone(), |(_, _, title)| within(title)),
            };
            grounds.push(SourceLink { link, short });
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
            "criteria" => Some("quality of the study"),
            _ => None,
        };
        if let Some(text) = part {
            return Link { href: Some(format!("{root}c/{campaign}/index.html#{id}")), text: text.into() };
        }
        if let Some(table) = id.strip_prefix(Sentence::AGREEMENT) {
            let href = format!("{root}agreement/index.html#{table}");
            return Link { href: Some(href), text: "agreement of clients".into() };
        }
        let key: Vec<&str> = id.split('|').collect();
        if let [model, "", metric, ..] = key[..] {
            let found = self.all_loads(campaign).into_iter().find(|c| c.model == model && c.metric == metric);
            if let Some(c) = found {
                let anchor = anchor_of(&[ALL_LOADS, &c.model, &c.workload, &c.metric, &c.candidate]);
                let text = format!("{}, {}", place(c), within(&c.label));
                return Link { href: Some(format!("{root}c/{campaign}/index.html#{anchor}")), text };
            }
        }
        if let [model, workload, metric, ..] = key[..] {
            let found = self
                .comparisons(campaign)
                .into_iter()
                .find(|(_, c)| c.model == model && c.workload == workload && c.metric == metric);
            if let Some((anchor, comparison)) = found {
                let text = if comparison.workload.is_empty() || self.one_workload(campaign) {
                    format!("{}, {}", comparison.model, within(&comparison.label))
                } else {
                    format!("{} {}, {}", comparison.model, comparison.workload, within(&comparison.label))
                };
                return Link { href: Some(format!("{root}c/{campaign}/index.html#{anchor}")), text };
            }
        }
        Link { href: None, text: id.replace('|', ", ") }
    }

    /// Labels of models, workloads and environments: names that keep their spelling at the head of a sentence.
    pub fn names(&self) -> BTreeSet<&'a str> {
        let campaigns = self.analysis.campaigns.iter();
        let own =
            campaigns.flat_map(|c| c.models.iter().chain(&c.workloads).chain(&c.environments)).map(String::as_str);
        let engines = self.analysis.across.engines.iter().flat_map(|table| &table.rows).map(|row| row.engine.as_str());
        own.chain(engines).collect()
    }

    /// True when naming the workload would say nothing.
    pub fn one_workload(&self, campaign: &str) -> bool {
        self.analysis.campaigns.iter().any(|c| c.name == campaign && c.workloads.len() <= 1)
    }
}

fn group_key(g: &Group) -> [&str; 5] {
    [&g.campaign, &g.model, &g.workload, &g.environment, &g.metric]
}

/// An anchor for every group, unique within its campaign.
fn group_anchors(groups: &[Group]) -> BTreeMap<[&str; 5], String> {
    let mut taken = BTreeSet::new();
    let mut anchors = BTreeMap::new();
    for group in groups {
        let base = anchor_of(&["g", &group.model, &group.workload, &group.environment, &group.metric]);
        let mut anchor = base.clone();
        let mut k = 2;
        while !taken.insert((group.campaign.as_str(), anchor.clone())) {
            anchor = format!("{base}-{k}");
            k += 1;
        }
        anchors.insert(group_key(group), anchor);
    }
    anchors
}

/// Traps by id in their first order, with every report about them.
pub(super) fn by_trap<'a>(traps: &[&'a TrapReport]) -> Vec<(&'static str, Vec<&'a TrapReport>)> {
    let mut grouped: Vec<(&'static str, Vec<&TrapReport>)> = Vec::new();
    for trap in traps {
        match grouped.iter_mut().find(|(id, _)| *id == trap.id) {
            Some((_, members)) => members.push(trap),
            None => grouped.push((trap.id, vec![trap])),
        }
    }
    grouped
}

/// Outcome of a trap over all its subjects: fired beats not evaluated beats passed.
pub(super) fn overall(reports: &[&TrapReport]) -> TrapStatus {
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
pub(super) fn worst(reports: &[&TrapReport]) -> Option<Severity> {
    reports.iter().filter(|r| r.status == TrapStatus::Fired).map(|r| r.severity).min()
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
}
