//! Strata: cells of a campaign that differ in nothing but the arm, and how strata lie along one load.
//!
//! In:  a case whose runs have settings.  Out: [`Stratum`]s, and [`Series`] of them.
//! Not here: which settings vary (see the crate `design`), which arm is the best (see `rank`), sentences.

pub(crate) mod counted;
pub(crate) mod rank;

use std::collections::BTreeMap;

use super::case::{Case, Cell};
use sparkbench_model::{Campaign, Factor, Run, Setting};

/// Loads along which one looks first, where several vary. How many at once comes before how long.
const AXES: [&str; 7] = ["concurrency", "request_rate", "requests", "depth", "turns", "isl", "osl"];

/// Which part of a request a test measures. llama-bench measures each alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Input without output.
    Prefill,
    /// Output without input.
    Decode,
    Both,
}

/// Cells of one model and workload, a cell an arm.
#[derive(Debug)]
pub(crate) struct Stratum<'c, 'a> {
    pub model: &'a str,
    pub workload: &'a str,
    pub cells: Vec<&'c Cell<'a>>,
}

/// Where a stratum lies: its model, and its level of each factor but some. Lower levels come first.
pub(crate) type Key<'a> = (&'a str, Vec<(usize, String)>);

impl Stratum<'_, '_> {
    /// The level of a setting. All runs of a stratum have the same, unless it is what tells the arms apart.
    pub(crate) fn level(&self, setting: &str) -> Option<String> {
        self.cells.iter().flat_map(|cell| &cell.runs).find_map(|run| level(run, setting))
    }

    /// The same as a number. Absent for words and for a rate without a limit.
    pub(crate) fn number(&self, setting: &str) -> Option<f64> {
        self.level(setting)?.parse::<f64>().ok().filter(|value| value.is_finite())
    }

    /// Which part of a request it measures.
    pub(crate) fn part(&self) -> Part {
        match (self.number("isl"), self.number("osl")) {
            (Some(input), Some(output)) if input > 0.0 && output == 0.0 => Part::Prefill,
            (Some(input), Some(output)) if input == 0.0 && output > 0.0 => Part::Decode,
            _ => Part::Both,
        }
    }
}

impl<'c, 'a> Stratum<'c, 'a> {
    /// The same with some of its arms.
    pub(crate) fn kept(&self, is_kept: impl Fn(&str) -> bool) -> Stratum<'c, 'a> {
        let cells = self.cells.iter().filter(|cell| is_kept(cell.environment)).copied().collect();
        Stratum { model: self.model, workload: self.workload, cells }
    }

    /// Where it lies, beside a load along which it is one of several.
    pub(crate) fn key(&self, campaign: &Campaign, along: Option<(&str, f64)>) -> Key<'a> {
        let is_load = |factor: &Factor| {
            let Some((axis, _)) = along else { return false };
            // Who sends more at once sends more in all. That is no other work.
            names(factor, axis) || (factor.name == "requests" && LOADS.contains(&axis))
        };
        let place = |factor: &Factor| {
            let Some(level) = self.level(&factor.name) else { return (0, String::new()) };
            if let (true, Some((_, number))) = (factor.name == "workload", along) {
                return (1, without_level(&level, number));
            }
            // A level under another spelling than the first one stands for itself.
            let known = factor.levels.iter().position(|known| *known == level);
            known.map_or((usize::MAX, level), |place| (place + 1, String::new()))
        };
        let factors = of_strata(campaign).filter(|factor| !is_load(factor));
        (self.model, factors.map(place).collect())
    }

    /// Where it lies without some factors, with which alone it says the same work.
    pub(crate) fn key_without(&self, campaign: &Campaign, left_out: impl Fn(&Factor) -> bool) -> Key<'a> {
        let factors = of_strata(campaign).filter(|factor| !left_out(factor));
        let level = |factor: &Factor| {
            let level = self.level(&factor.name).unwrap_or_default();
            // A label of the work may say on how many GPUs it was done.
            match self.number("gpus").filter(|_| factor.name == "workload") {
                Some(gpus) => without_level(&level, gpus),
                None => level,
            }
        };
        (self.model, factors.map(|factor| (0, level(factor))).collect())
    }
}

/// Factors that part strata: all but what is compared and what changes with it.
pub(crate) fn of_strata(campaign: &Campaign) -> impl Iterator<Item = &Factor> {
    let asked = campaign.asked.as_ref().map(|asked| asked.factor.as_str());
    let own = campaign.factors.iter().find(move |factor| asked == Some(factor.name.as_str()));
    campaign.factors.iter().filter(move |factor| own.is_none_or(|own| !names(own, &factor.name)))
}

/// A label of the work without the words that say a load: `750-150-c2` at a load of 2 is `750-150`.
fn without_level(label: &str, level: f64) -> String {
    let words = label.split(|c: char| !(c.is_alphanumeric() || c == '.'));
    let is_load = |word: &str| {
        let digits = word.trim_start_matches(|c: char| c.is_alphabetic());
        digits.parse::<f64>().is_ok_and(|number| number == level)
    };
    words.filter(|word| !word.is_empty() && !is_load(word)).collect::<Vec<_>>().join("-")
}

/// Whether the settings of a case were laid out. Cases that a test makes by hand, and older ones, have none.
pub(crate) fn is_laid_out(case: &Case<'_>) -> bool {
    let campaign = case.campaign;
    campaign.asked.is_some() || !campaign.factors.is_empty() || case.runs.iter().any(|run| !run.cell.is_empty())
}

/// Every stratum, by model and workload.
pub(crate) fn of<'c, 'a>(case: &'c Case<'a>) -> Vec<Stratum<'c, 'a>> {
    let mut found: BTreeMap<(&'a str, &'a str), Vec<&'c Cell<'a>>> = BTreeMap::new();
    for cell in &case.cells {
        found.entry((cell.model, cell.workload)).or_default().push(cell);
    }
    found.into_iter().map(|((model, workload), cells)| Stratum { model, workload, cells }).collect()
}

/// The level of a setting in a run.
pub(crate) fn level(run: &Run, setting: &str) -> Option<String> {
    match run.settings.get(setting) {
        Some(found) => Some(found.value.clone()),
        None if run.settings.is_empty() => (Setting::find(setting)?.of)(run),
        None => None,
    }
}

/// Whether a factor is this setting, or goes together with it.
pub(crate) fn names(factor: &Factor, setting: &str) -> bool {
    factor.name == setting || factor.aliased_with.iter().any(|name| name == setting)
}

/// Strata that differ in one load alone, from the least of it to the greatest.
#[derive(Debug)]
pub(crate) struct Series<'s, 'c, 'a> {
    /// Name of the setting.
    pub axis: &'static str,
    pub points: Vec<(f64, &'s Stratum<'c, 'a>)>,
    /// Number of series like this one, with other levels of the other factors.
    pub of: usize,
}

impl<'s, 'c, 'a> Series<'s, 'c, 'a> {
    pub(crate) fn first(&self) -> Option<(f64, &'s Stratum<'c, 'a>)> {
        self.points.first().copied()
    }

    pub(crate) fn last(&self) -> Option<(f64, &'s Stratum<'c, 'a>)> {
        self.points.last().copied()
    }
}

/// The longest series along the first of the loads that varies. Of equal ones that with the least levels of everything else.
pub(crate) fn series<'s, 'c, 'a>(
    campaign: &Campaign,
    strata: &[&'s Stratum<'c, 'a>],
    axes: &[&str],
) -> Option<Series<'s, 'c, 'a>> {
    AXES.iter().filter(|axis| axes.contains(axis)).find_map(|axis| along(campaign, strata, axis))
}

/// How much is asked for at once.
pub(crate) const LOADS: &[&str] = &["concurrency", "request_rate", "requests"];
/// How much lies in the context.
pub(crate) const LENGTHS: &[&str] = &["depth", "turns", "isl", "osl"];

fn along<'s, 'c, 'a>(
    campaign: &Campaign,
    strata: &[&'s Stratum<'c, 'a>],
    axis: &'static str,
) -> Option<Series<'s, 'c, 'a>> {
    let mut found: BTreeMap<Key<'a>, Vec<(f64, &'s Stratum<'c, 'a>)>> = BTreeMap::new();
    for stratum in strata {
        // Who says no depth starts from an empty context.
        let empty = || (axis == "depth" && stratum.level(axis).is_none()).then_some(0.0);
        let Some(level) = stratum.number(axis).or_else(empty) else { continue };
        found.entry(stratum.key(campaign, Some((axis, level)))).or_default().push((level, *stratum));
    }
    for points in found.values_mut() {
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.workload.cmp(b.1.workload)));
        points.dedup_by(|a, b| a.0 == b.0);
    }
    found.retain(|_, points| points.len() > 1);
    let of = found.len();
    let longest = found.values().map(Vec::len).max()?;
    let points = found.into_values().find(|points| points.len() == longest)?;
    Some(Series { axis, points, of })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_same_work_without_the_words_that_say_its_load() {
        assert_eq!(without_level("750-150-c2", 2.0), "750-150");
        assert_eq!(without_level("gb10-mtp-ctx6144", 6144.0), "gb10-mtp");
        assert_eq!(without_level("random-r0.5", 0.5), "random");
        assert_eq!(without_level("sharegpt", 8.0), "sharegpt");
    }
}
