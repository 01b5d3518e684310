//! Which factors can be told apart in these runs, and which meet.
//!
//! In:  a table of levels and the factor that is asked about.  Out: the strata, what changes along with the treatment, aliases.
//! Not here: names of cells (see `cells`).

use std::collections::HashMap;

use sparkbench_model::{Setting, SettingKind};

use super::table::{Table, rank};

/// The runs parted for one treatment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parted {
    /// Factors within whose levels the treatment is compared.
    pub strata: Vec<String>,
    /// Treatments that change with the treatment in some stratum, so that nobody can tell them apart there.
    pub with: Vec<String>,
    /// Share of the strata in which two levels of the treatment meet.
    pub shared: f64,
}

impl Parted {
    /// Whether two levels of the treatment meet in any stratum.
    pub(crate) fn meets(&self) -> bool {
        self.shared > 0.0
    }
}

/// Parts the runs for a treatment. What stands in `kept` is a stratum in any case. Every load axis is a stratum. So is every other factor, unless the treatment and the strata determine it:
/// then it parts no two runs that they leave together.
pub(crate) fn part(table: &Table, treatment: &str, kept: &[&str]) -> Parted {
    let groups = aliases(table);
    // Of settings that go together one to one, one parts the runs as well as all.
    let own = groups.iter().find(|group| group.iter().any(|name| name == treatment));
    let is_own = |group: &&Vec<String>| own.is_some_and(|own| own == *group);
    let firsts = groups
        .iter()
        .filter(|group| !is_own(group))
        .filter_map(|group| group.iter().find(|name| kept.contains(&name.as_str())).or_else(|| group.first()).cloned());
    let mut strata: Vec<String> = firsts.collect();
    strata
        .extend(own.into_iter().flatten().filter(|name| kept.contains(&name.as_str()) && *name != treatment).cloned());
    let mut others: Vec<String> =
        strata.iter().filter(|name| Setting::kind_of(name) == SettingKind::Treatment).cloned().collect();
    others.retain(|name| !kept.contains(&name.as_str()));
    // The last of the order goes first, so that what has a name of its own parts the runs.
    others.sort_by_key(|name| std::cmp::Reverse(rank(name)));
    let mut keys = Keys::of(table, strata.iter().map(String::as_str).chain([treatment]));
    let mut determined = Vec::new();
    for name in others {
        keys.without(table, &name);
        if keys.determine(table, &name) {
            strata.retain(|other| *other != name);
            determined.push(name);
        } else {
            keys.with(table, &name);
        }
    }
    keys.without(table, treatment);
    let shared = keys.shared(table, treatment);
    let mut with: Vec<String> = determined.into_iter().filter(|name| changes(table, &keys, treatment, name)).collect();
    let along = |name: &String| groups.iter().find(|group| group.contains(name)).into_iter().flatten().cloned();
    with = with
        .iter()
        .flat_map(along)
        .chain(own.into_iter().flatten().filter(|name| *name != treatment).cloned())
        .collect();
    with.retain(|name| !strata.contains(name));
    with.sort_by_key(|name| rank(name));
    Parted { strata, with, shared }
}

/// A key for each row: the sum of a number for each level that it has, so that a column is added or taken away in one pass. Of 128 bits, so that
/// no two rows that differ share one.
struct Keys(Vec<u128>);

impl Keys {
    fn of<'n>(table: &Table, names: impl Iterator<Item = &'n str>) -> Self {
        let mut keys = Self(vec![0; table.rows]);
        names.for_each(|name| keys.with(table, name));
        keys
    }

    fn with(&mut self, table: &Table, name: &str) {
        self.each(table, name, u128::wrapping_add);
    }

    fn without(&mut self, table: &Table, name: &str) {
        self.each(table, name, u128::wrapping_sub);
    }

    fn each(&mut self, table: &Table, name: &str, change: fn(u128, u128) -> u128) {
        let Some(column) = table.columns.get(name) else { return };
        let seed = name
            .bytes()
            .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| mix(hash ^ u128::from(byte)));
        for (key, id) in self.0.iter_mut().zip(&column.ids) {
            *key = change(*key, mix(seed ^ u128::from(*id)));
        }
    }

    /// True where rows of one key agree on a setting.
    fn determine(&self, table: &Table, name: &str) -> bool {
        let Some(column) = table.columns.get(name) else { return true };
        let mut seen: HashMap<u128, u32> = HashMap::with_capacity(self.0.len());
        self.0.iter().zip(&column.ids).all(|(key, id)| *seen.entry(*key).or_insert(*id) == *id)
    }

    /// Share of the keys whose rows differ in a setting.
    fn shared(&self, table: &Table, name: &str) -> f64 {
        let Some(column) = table.columns.get(name) else { return 0.0 };
        let mut seen: HashMap<u128, (u32, bool)> = HashMap::with_capacity(self.0.len());
        for (key, id) in self.0.iter().zip(&column.ids) {
            let first = seen.entry(*key).or_insert((*id, false));
            first.1 |= first.0 != *id;
        }
        seen.values().filter(|(_, differ)| *differ).count() as f64 / seen.len().max(1) as f64
    }
}

/// Spreads the bits of a number: FNV's 128-bit prime, twice, with the high half folded in between.
fn mix(value: u128) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let once = value.wrapping_mul(PRIME) ^ (value.wrapping_mul(PRIME) >> 67);
    let twice = once.wrapping_mul(PRIME.wrapping_mul(PRIME) | 1);
    twice ^ (twice >> 59)
}

/// True where a setting has two levels in a stratum in which the treatment has two as well.
fn changes(table: &Table, strata: &Keys, treatment: &str, name: &str) -> bool {
    let (Some(treatments), Some(levels)) = (table.columns.get(treatment), table.columns.get(name)) else {
        return false;
    };
    let mut seen: HashMap<u128, (u32, bool, u32, bool)> = HashMap::new();
    for ((key, arm), level) in strata.0.iter().zip(&treatments.ids).zip(&levels.ids) {
        let first = seen.entry(*key).or_insert((*arm, false, *level, false));
        first.1 |= first.0 != *arm;
        first.3 |= first.2 != *level;
    }
    seen.values().any(|(_, arms, _, levels)| *arms && *levels)
}

/// Factors whose levels go together one to one, in groups. The first of a group gives it its name. Groups are in the order of asking.
pub(crate) fn aliases(table: &Table) -> Vec<Vec<String>> {
    // Levels are numbered in the order of the runs, so columns that go together have the same numbers.
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut places: HashMap<(bool, &[u32]), usize> = HashMap::new();
    for name in table.names() {
        let Some(column) = table.columns.get(&name) else { continue };
        let is_load = Setting::kind_of(&name) == SettingKind::Load;
        match places.get(&(is_load, column.ids.as_slice())).and_then(|place| groups.get_mut(*place)) {
            Some(group) => group.push(name),
            None => {
                places.insert((is_load, column.ids.as_slice()), groups.len());
                groups.push(vec![name]);
            }
        }
    }
    // Models that differ in more than their precisions are what differs most.
    for group in &mut groups {
        let place = |wanted: &str| group.iter().position(|name| name == wanted);
        if let (Some(quantisation), Some(model)) = (place("quantisation"), place("model")) {
            group.swap(quantisation, model);
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
        assert_eq!(parted.shared, 1.0);
        assert_eq!(
            aliases(&found),
            [vec!["engine_version".to_owned(), "quantisation".into()], vec!["file".into()], vec!["concurrency".into()]]
        );
    }

    #[test]
    fn other_models_in_other_precisions_are_models() {
        let found = table(&[
            &[("model", "gemma-Q4_K_S"), ("quantisation", "Q4_K_S")],
            &[("model", "qwen-Q8_0"), ("quantisation", "Q8_0")],
        ]);
        assert_eq!(aliases(&found), [vec!["model".to_owned(), "quantisation".into()]]);
    }

    #[test]
    fn levels_that_never_share_a_load_do_not_meet() {
        let found = table(&[
            &[("quantisation", "bf16"), ("concurrency", "1")],
            &[("quantisation", "fp8"), ("concurrency", "8")],
        ]);
        assert_eq!(part(&found, "quantisation", &[]).shared, 0.0);
    }

    #[test]
    fn a_crossed_setting_is_a_stratum() {
        let found = table(&[
            &[("backend", "rocm"), ("fa", "on")],
            &[("backend", "rocm"), ("fa", "off")],
            &[("backend", "vulkan"), ("fa", "on")],
            &[("backend", "vulkan"), ("fa", "off")],
        ]);
        assert_eq!(part(&found, "backend", &[]), Parted { strata: vec!["fa".into()], with: vec![], shared: 1.0 });
    }
}
