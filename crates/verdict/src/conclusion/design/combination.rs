//! Several treatments: the best combination of their levels, and which of them matters most.
//!
//! In:  strata in which more than what is compared varies for the same work.  Out: sentences.
//! Not here: one treatment (see `treatment`), whether a difference is shown.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{self, figure, surroundings};
use crate::Settings;
use crate::case::Case;
use crate::number::{capital, fixed};
use crate::report::Sentence;
use crate::strata::rank::{Measure, Ranked, ranked};
use crate::strata::{Key, Stratum};
use sparkbench_model::{Factor, Setting, SettingKind, Taken, within};
use sparkbench_stats::mean;

/// What nobody chooses to be faster: other work, other machines, other clients, and where files lie.
const NO_CHOICES: [&str; 6] = ["model", "gpu", "tool", "tool_version", "folder", "file"];
/// A combination is the best of more than this many. Two are a comparison.
const LEAST: usize = 3;

/// One combination: its level of each factor, and its figure.
struct Combination<'a> {
    levels: Vec<String>,
    arm: Ranked<'a>,
}

/// The best combination and the factor that matters most. Absent where somebody asked about one factor, and where one alone varies for the
/// same work.
pub(super) fn sentences<'a>(
    case: &Case<'a>,
    strata: &[&Stratum<'_, 'a>],
    measure_of: impl Fn(&Stratum<'_, 'a>) -> Option<Measure>,
    settings: &Settings,
) -> Option<[Sentence; 2]> {
    let asked = case.campaign.asked.as_ref().filter(|asked| asked.taken == Taken::Default)?;
    let is_choice = |name: &str| !NO_CHOICES.contains(&name);
    let others: Vec<&str> = asked.others.iter().map(String::as_str).filter(|name| is_choice(name)).collect();
    if others.is_empty() || !is_choice(&asked.factor) {
        return None;
    }
    // What follows from these is no other work: the number of GPUs beside the names of them.
    let follows = |factor: &Factor| {
        let mut seen = BTreeMap::new();
        factor.kind == SettingKind::Treatment
            && is_choice(&factor.name)
            && strata.iter().all(|stratum| {
                let own = stratum.level(&factor.name);
                let chosen: Vec<Option<String>> = others.iter().map(|name| stratum.level(name)).collect();
                *seen.entry(chosen).or_insert_with(|| own.clone()) == own
            })
    };
    let is_other = |factor: &Factor| others.contains(&factor.name.as_str()) || follows(factor);
    let mut works: BTreeMap<Key<'a>, Vec<&Stratum<'_, 'a>>> = BTreeMap::new();
    for stratum in strata {
        works.entry(stratum.key_without(case.campaign, is_other)).or_default().push(stratum);
    }
    let most = works.values().map(Vec::len).max().filter(|most| *most > 1)?;
    let work = works.into_values().find(|work| work.len() == most)?;
    let first = *work.first()?;
    let measure = work.iter().find_map(|stratum| measure_of(stratum)).filter(Measure::is_speed)?;
    let names: Vec<&str> = std::iter::once(asked.factor.as_str()).chain(others).collect();
    let found: Vec<Combination<'a>> = work
        .iter()
        .flat_map(|stratum| ranked(stratum, &measure, settings.confidence).into_iter().map(|arm| (*stratum, arm)))
        .map(|(stratum, arm)| {
            let level = |name: &&str| stratum.level(name).unwrap_or_default();
            let levels = std::iter::once(arm.arm.to_owned()).chain(names.iter().skip(1).map(level)).collect();
            Combination { levels, arm }
        })
        .collect();
    let varying: Vec<usize> = (0..names.len()).filter(|at| levels(&found, *at).len() > 1).collect();
    if found.len() < LEAST || varying.len() < 2 {
        return None;
    }
    let is_better = |a: &Combination<'a>, b: &Combination<'a>| measure.is_better(a.arm.figure.mean, b.arm.figure.mean);
    let best = found.iter().reduce(|best, one| if is_better(one, best) { one } else { best })?;
    let arms: Vec<Ranked<'a>> = found.iter().map(|one| one.arm.clone()).collect();
    let spelled = |at: &usize| Some(words::spelled(best.levels.get(*at)?, names.get(*at)?));
    let chosen: Vec<String> = varying.iter().filter_map(spelled).collect();
    let text = format!(
        "The best of {} combinations is {}: {} {} {}{}{}.",
        found.len(),
        chosen.join(", "),
        figure(best.arm.figure.mean),
        measure.unit,
        within(&measure.label),
        surroundings(case.campaign, first, None),
        words::runs(&arms)
    );
    let mut effects: Vec<(&str, Effect<'_>)> =
        varying.iter().filter_map(|at| Some((*names.get(*at)?, effect(&found, *at, &measure)?))).collect();
    effects.sort_by(|a, b| b.1.ratio.total_cmp(&a.1.ratio));
    let ((top, most), (next, less)) = (effects.first()?, effects.get(1)?);
    let matters = format!(
        "{} matters most: {} is {} times as fast as {} on average. For {} the same ratio is {}.",
        capital(&Setting::label_of(top)),
        words::spelled(most.best, top),
        fixed(most.ratio, 2),
        words::spelled(most.worst, top),
        Setting::label_of(next),
        fixed(less.ratio, 2)
    );
    let plain = |text: String| Sentence { text, caveats: Vec::new(), because: Vec::new() };
    Some([plain(text), plain(matters)])
}

fn levels<'f>(found: &'f [Combination<'_>], at: usize) -> BTreeSet<&'f String> {
    found.iter().filter_map(|one| one.levels.get(at)).collect()
}

/// The levels of one factor that are farthest apart.
struct Effect<'f> {
    best: &'f str,
    worst: &'f str,
    /// Geometric mean of best over worst, where all other factors are the same.
    ratio: f64,
}

/// How far apart the levels of one factor are: over all pairs of levels, the two that differ most.
fn effect<'f>(found: &'f [Combination<'_>], at: usize, measure: &Measure) -> Option<Effect<'f>> {
    let level = |one: &'f Combination<'_>| one.levels.get(at).map(String::as_str);
    let rest = |one: &Combination<'_>| -> Vec<String> {
        one.levels.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, level)| level.clone()).collect()
    };
    let mut pairs: BTreeMap<(&'f str, &'f str), Vec<f64>> = BTreeMap::new();
    for (a, b) in found.iter().flat_map(|a| found.iter().map(move |b| (a, b))).filter(|(a, b)| rest(a) == rest(b)) {
        if let (Some(one), Some(other)) = (level(a), level(b))
            && one != other
        {
            let (own, beside) = (a.arm.figure.mean, b.arm.figure.mean);
            let apart = (own / beside).ln().abs();
            pairs.entry((one, other)).or_default().push(if measure.is_better(own, beside) { apart } else { -apart });
        }
    }
    let means = pairs.into_iter().map(|((best, worst), logs)| Effect { best, worst, ratio: mean(&logs).exp() });
    means.reduce(|most, one| if one.ratio > most.ratio { one } else { most })
}
