//! Link targets of the names of models and machines.
//!
//! In:  the summaries of models and machines.  Out: paths and links.
//! Not here: the pages at their ends (see `model`, `machine`).

use std::collections::{BTreeMap, BTreeSet};

use super::NOT_NAMED;
use crate::page::index::Site;
use crate::page::link::Link;
use sparkbench_text::escape::file_name;
use sparkbench_text::slug::anchor_of;
use sparkbench_verdict::report::across::{Place, Summary};

/// Paths of the pages of models or machines by name. Names that share a slug are numbered in their order.
pub(crate) fn paths(folder: &str, summaries: &[Summary]) -> BTreeMap<Option<String>, String> {
    let mut taken = BTreeSet::new();
    let mut paths = BTreeMap::new();
    for summary in summaries {
        let base =
            summary.name.as_deref().map_or_else(|| "not-named".to_owned(), |name| file_name(&anchor_of(&[name])));
        let mut path = format!("{folder}/{base}/index.html");
        let mut k = 2;
        while !taken.insert(path.clone()) {
            path = format!("{folder}/{base}-{k}/index.html");
            k += 1;
        }
        paths.insert(summary.name.clone(), path);
    }
    paths
}

/// Where names of models and machines lead.
#[derive(Debug)]
pub(crate) struct Ways {
    models: BTreeMap<Option<String>, String>,
    machines: BTreeMap<Option<String>, String>,
    titles: BTreeMap<String, String>,
}

impl Ways {
    /// Of the whole site.
    pub(crate) fn of(site: &Site<'_>) -> Self {
        let across = &site.analysis.across;
        let titles = across.machine_summaries.iter();
        Self {
            models: paths("m", &across.model_summaries),
            machines: paths("p", &across.machine_summaries),
            titles: titles.filter_map(|s| Some((s.name.clone()?, s.title.clone()?))).collect(),
        }
    }

    /// The page of a model.
    pub(crate) fn model(&self, site: &Site<'_>, root: &str, label: &str) -> Link {
        let path = self.models.get(&Some(label.to_owned())).filter(|path| site.has(path));
        Link { href: path.map(|path| format!("{root}{path}")), text: label.to_owned() }
    }

    /// The page of a machine.
    pub(crate) fn machine(&self, site: &Site<'_>, root: &str, key: Option<&str>) -> Link {
        let path = self.machines.get(&key.map(str::to_owned)).filter(|path| site.has(path));
        let text = key.map_or(NOT_NAMED, |key| self.titles.get(key).map_or(key, String::as_str));
        Link { href: path.map(|path| format!("{root}{path}")), text: text.to_owned() }
    }
}

/// Links to the pages of what cells have in common.
#[derive(Debug)]
pub(crate) struct About {
    /// Their kind: `Models`.
    pub what: &'static str,
    /// The first few.
    pub links: Vec<Link>,
    /// How many there are beyond these.
    pub more: usize,
}

/// Pages of the models and machines of some cells, where the site has them. Each once, in the order of the cells.
pub(crate) fn abouts<'a>(site: &Site<'_>, root: &str, places: impl Iterator<Item = &'a Place> + Clone) -> Vec<About> {
    const MOST: usize = 12;
    let ways = Ways::of(site);
    let models = places.clone().map(|place| ways.model(site, root, &place.cell.model));
    let machines = places.map(|place| ways.machine(site, root, place.machine.as_deref()));
    let kinds: [(&[&'static str; 2], Vec<Link>); 2] =
        [(&["Model", "Models"], models.collect()), (&["Machine", "Machines"], machines.collect())];
    let about = |([one, several], found): (&[&'static str; 2], Vec<Link>)| {
        let mut links: Vec<Link> = Vec::new();
        for mut link in found.into_iter().filter(|link| link.href.is_some()) {
            // The word before it says of what.
            if link.text == NOT_NAMED {
                link.text = "not named".to_owned();
            }
            if !links.contains(&link) {
                links.push(link);
            }
        }
        let (what, more) = (if links.len() == 1 { one } else { several }, links.len().saturating_sub(MOST));
        links.truncate(MOST);
        About { what, links, more }
    };
    kinds.into_iter().map(about).filter(|about| !about.links.is_empty()).collect()
}
