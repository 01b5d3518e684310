//! Labels that tell the figures of one family apart.
//!
//! In:  the labels of a sample, or of all rows that would have one name.  Out: those that belong to the name of its figure.
//! Not here: reading a sample (see `text::prometheus`).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::sheet;
use sparkbench_text::prometheus::Labels;

/// Labels that part one family into figures of different meaning.
const TELLING: &[&str] = &[
    "finished_reason",
    "reason",
    "position",
    "quantile",
    "status",
    "code",
    "method",
    "handler",
    "type",
    "mode",
    "cache",
    "gpu",
    "generation",
    "le",
];
/// Labels of the parts of a parallel engine: the first part is not named.
const PARTS: &[&str] = &["engine", "tp_rank", "pp_rank", "dp_rank", "rank"];

/// Words of labels that name a machine, a place or a person. They part no figures by name.
const PRIVATE: &[&str] = &[
    "instance",
    "host",
    "hostname",
    "node",
    "nodename",
    "pod",
    "podname",
    "container",
    "namespace",
    "server",
    "ip",
    "address",
    "addr",
    "url",
    "endpoint",
    "uuid",
    "serial",
    "bus",
    "pci",
    "user",
    "key",
];
/// Letters of a value that are shown.
const LONGEST: usize = 60;

/// Labels that stay in the name of a figure.
pub(crate) fn folded(labels: Labels<'_>) -> String {
    let mut words = String::new();
    for (name, value) in labels.iter() {
        let part = PARTS.contains(&name) && value != "0" && !value.is_empty();
        if part || TELLING.contains(&name) {
            let value: String = value.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
            words.push_str(&format!(" {name}={value}"));
        }
    }
    words
}

/// What parts each of these rows from the others: the labels in which they differ (`model=a`). Rows that differ in nothing that may be shown
/// are numbered from the second on.
pub(super) fn apart(rows: &[Labels<'_>]) -> Vec<String> {
    let all: Vec<BTreeMap<&str, String>> = rows
        .iter()
        .map(|labels| {
            let named = labels.iter().filter(|(name, _)| may_part(name));
            named.filter_map(|(name, value)| Some((name, shown(&value)?))).collect()
        })
        .collect();
    let names: BTreeSet<&str> = all.iter().flat_map(|row| row.keys().copied()).collect();
    let first = all.first();
    let differs = |name: &&str| all.iter().any(|row| row.get(*name) != first.and_then(|first| first.get(*name)));
    let telling: Vec<&str> = names.into_iter().filter(differs).collect();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let each = all.iter().map(|row| {
        let words: String =
            telling.iter().filter_map(|name| row.get(*name).map(|value| format!(" {name}={value}"))).collect();
        let nth = seen.entry(words.clone()).or_default();
        *nth += 1;
        if *nth == 1 { words } else { format!("{words} ({nth})") }
    });
    each.collect()
}

/// True for a label that [`folded`] does not know and that names no machine.
fn may_part(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !TELLING.contains(&name.as_str())
        && !PARTS.contains(&name.as_str())
        && !name.split('_').any(|word| PRIVATE.contains(&word))
}

/// A value as it may be shown: no address, and of a path its last part.
fn shown(value: &str) -> Option<String> {
    if value.parse::<IpAddr>().is_ok() || value.parse::<SocketAddr>().is_ok() || value.contains("://") {
        return None;
    }
    Some(sheet::model_id(value)?.chars().filter(|c| !c.is_control()).take(LONGEST).collect())
}
