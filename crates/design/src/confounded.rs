//! Which factors can be told apart in these runs, and which meet.
//!
//! In:  a table of levels and the factor that is asked about.  Out: the strata, what changes along with the treatment, aliases.
//! Not here: names of cells (see `cells`).

use std::collections::{BTreeMap, BTreeSet};

use sparkbench_model::{Setting, SettingKind};

use super::table::{Table, rank};

/// The runs parted for one treatment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parted {
    /// Factors within whose levels the treatment is compared.
    pub strata: Vec<String>,
    /// Treatments that change with the treatment in some stratum, so that nobody can tell them apart there.
    pub with: Vec<String>,
    /// Whether two levels of the treatment meet in any stratum.
    pub meets: bool,
}

/// Parts the runs for a treatment. What stands in `kept` is a stratum in any case. Every load axis is a stratum. So is every other factor, unless the treatment and the strata determine it:
/// then it parts no two runs that they leave together.
pub(crate) fn part(table: &Table, treatment: &str, kept: &[&str]) -> Parted {
    let mut strata: Vec<String> = table.names().into_iter().filter(|name| name != treatment).collect();
    let mut others: Vec<String> =
        strata.iter().filter(|name| Setting::kind_of(name) == SettingKind::Treatment).cloned().collect();
    others.retain(|name| !kept.contains(&name.as_str()));
    // The last of the order goes first, so that what has a name of its own parts the runs.
    others.sort_by_key(|name| std::cmp::Reverse(rank(name)));
    let mut determined = Vec::new();
    for name in others {
        let rest: Vec<String> = strata.iter().filter(|other| **other != name).cloned().collect();
        let by: Vec<&str> = std::iter::once(treatment).chain(rest.iter().map(String::as_str)).collect();
        if determines(table, &by, &name) {
            strata = rest;
            determined.push(name);
        }
    }
    let by: Vec<&str> = strata.iter().map(String::as_str).collect();
    let meets = !determines(table, &by, treatment);
    let mut with: Vec<String> = determined.into_iter().filter(|name| changes(table, &by, treatment, name)).collect();
    with.sort_by_key(|name| rank(name));
    Parted { strata, with, meets }
}

/// True where rows that agree on `by` agree on `name`.
fn determines(table: &Table, by: &[&str], name: &str) -> bool {
    let mut seen: BTreeMap<Vec<Option<&str>>, Option<&str>> = BTreeMap::new();
    (0..table.rows).all(|row| {
        let key = by.iter().map(|by| table.at(by, row)).collect();
        let level = table.at(name, row);
        *seen.entry(key).or_insert(level) == level
    })
}

/// True where a setting has two levels in a stratum in which the treatment has two as well.
fn changes(table: &Table, strata: &[&str], treatment: &str, name: &str) -> bool {
    let mut seen: BTreeMap<Vec<Option<&str>>, (BTreeSet<Option<&str>>, BTreeSet<Option<&str>>)> = BTreeMap::new();
    for row in 0..table.rows {
        let stratum = seen.entry(strata.iter().map(|by| table.at(by, row)).collect()).or_default();
        stratum.0.insert(table.at(treatment, row));
        stratum.1.insert(table.at(name, row));
    }
    seen.values().any(|(treatments, levels)| treatments.len() > 1 && levels.len() > 1)
}

/// Factors whose levels go together one to one, in groups. The first of a group gives it its name. Groups are in the order of asking.
pub(crate) fn aliases(table: &Table) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for name in table.names() {
        let alias = groups.iter_mut().find(|group| {
            group.first().is_some_and(|first| {
                let kinds = Setting::kind_of(first) == Setting::kind_of(&name);
                kinds && determines(table, &[first], &name) && determines(table, &[&name], first)
            })
        });
        match alias {
            Some(group) => group.push(name),
            None => groups.push(vec![name]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::run;
    use sparkbench_model::Run;

    fn table(runs: &[&[(&str, &str)]]) -> Table {
        let runs: Vec<Run> = runs.iter().map(|settings| run(settings)).collect();
        Table::of(&runs.iter().collect::<Vec<_>>(), None, None)
    }

    #[test]
    fn what_goes_along_with_the_treatment_is_no_stratum() {
        let found = table(&[
            &[("quantisation", "bf16"), ("engine_version", "0.19"), ("concurrency", "1"), ("file", "a")],
            &[("quantisation", "bf16"), ("engine_version", "0.19"), ("concurrency", "8"), ("file", "b")],
            &[("quantisation", "fp8"), ("engine_version", "0.26"), ("concurrency", "1"), ("file", "a")],
            &[("quantisation", "fp8"), ("engine_version", "0.26"), ("concurrency", "8"), ("file", "b")],
        ]);
        let parted = part(&found, "quantisation", &[]);
        assert_eq!(parted.strata, ["concurrency"]);
        assert_eq!(parted.with, ["engine_version"], "the file follows from the concurrency");
        assert!(parted.meets);
        assert_eq!(
            aliases(&found),
            [vec!["engine_version".to_owned(), "quantisation".into()], vec!["file".into()], vec!["concurrency".into()]]
        );
    }

    #[test]
    fn levels_that_never_share_a_load_do_not_meet() {
        let found = table(&[
            &[("quantisation", "bf16"), ("concurrency", "1")],
            &[("quantisation", "fp8"), ("concurrency", "8")],
        ]);
        assert!(!part(&found, "quantisation", &[]).meets);
    }

    #[test]
    fn a_crossed_setting_is_a_stratum() {
        let found = table(&[
            &[("backend", "rocm"), ("fa", "on")],
            &[("backend", "rocm"), ("fa", "off")],
            &[("backend", "vulkan"), ("fa", "on")],
            &[("backend", "vulkan"), ("fa", "off")],
        ]);
        assert_eq!(part(&found, "backend", &[]), Parted { strata: vec!["fa".into()], with: vec![], meets: true });
    }
}
