//! Families of tests: which comparisons are adjusted together.
//!
//! In:  measured comparisons of one campaign.  Out: the same with adjusted p, of single loads also for sameness.
//! Not here: the adjustments themselves (see `stats::adjust`).

use std::collections::BTreeMap;

use super::grammar::Incomparability;
use super::report::{Adjusted, Comparison};
use sparkbench_stats::adjust;

/// What is one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// All loads of one arm: which of them differ.
    EachArm,
    /// All arms: the answer of the campaign.
    AllArms,
}

/// A comparison within its family: model, workload, metric, candidate.
type Place = (String, String, String, String);

/// Adjusts the deciding p within its family: the primary metrics that are counted, by the rule of the family. Other metrics form an
/// exploratory family of their own. A column that is a function of another, or the same measurement, is no member: it takes what its source
/// got.
pub(crate) fn adjust(comparisons: &mut [(Comparison, Vec<Incomparability>)], family: Family) {
    let mut families: BTreeMap<(String, Option<String>, bool), Vec<usize>> = BTreeMap::new();
    for (index, (c, _)) in comparisons.iter().enumerate().filter(|(_, (c, _))| source_of(c).is_none()) {
        let candidate = (family == Family::EachArm).then(|| c.candidate.clone());
        families.entry((c.baseline.clone(), candidate, c.primary)).or_default().push(index);
    }
    let mut known: BTreeMap<Place, (Adjusted, Option<f64>)> = BTreeMap::new();
    for ((baseline, candidate, primary), members) in families {
        let own: Vec<&Comparison> = members.iter().filter_map(|i| comparisons.get(*i)).map(|(c, _)| c).collect();
        let p: Vec<Option<f64>> = own.iter().map(|c| c.p).collect();
        let same: Vec<Option<f64>> = own.iter().map(|c| c.tost.as_ref().map(|tost| tost.p)).collect();
        // An answer is asked for by itself. Which of many loads are the same is picked out after looking.
        let same = if family == Family::EachArm { adjust::holm(&same) } else { same };
        let adjusted = (adjust::bonferroni(&p), adjust::holm(&p), adjust::benjamini_hochberg(&p), same);
        let metrics = if primary { "primary metrics" } else { "exploratory metrics" };
        let words = match (family, candidate) {
            (Family::EachArm, Some(candidate)) => {
                format!("{metrics} of all models and workloads, {candidate} against {baseline}")
            }
            _ => format!("{metrics} of all arms against {baseline}"),
        };
        let size = p.iter().flatten().count();
        for (place, c) in own.iter().enumerate() {
            let at = |of: &[Option<f64>]| of.get(place).copied().flatten();
            let others = p.iter().enumerate().filter(|(k, _)| *k != place).filter_map(|(_, p)| *p).collect();
            let found = Adjusted {
                bonferroni: at(&adjusted.0),
                holm: at(&adjusted.1),
                benjamini_hochberg: at(&adjusted.2),
                family: words.clone(),
                family_size: size,
                others,
            };
            known.insert(place_of(c, &c.metric), (found, at(&adjusted.3)));
        }
    }
    let sources: BTreeMap<Place, String> =
        comparisons.iter().filter_map(|(c, _)| Some((place_of(c, &c.metric), source_of(c)?.to_owned()))).collect();
    for (c, _) in comparisons {
        let Some((mut from, is_same)) = source_of(c).map(|from| (from.to_owned(), c.counted_with.is_some())) else {
            give(c, known.get(&place_of(c, &c.metric)).cloned().unwrap_or_default());
            continue;
        };
        // A function of a function shares the p of the first of the chain. No chain is longer than the number of functions.
        for _ in 0..sources.len() {
            match sources.get(&place_of(c, &from)) {
                Some(parent) => from.clone_from(parent),
                None => break,
            }
        }
        let (adjusted, same) = known.get(&place_of(c, &from)).cloned().unwrap_or_default();
        let what = if is_same { "the same measurement as" } else { "a function of" };
        let family = format!("not a member: {what} {from}, whose adjusted p it shares");
        give(c, (Adjusted { family, ..adjusted }, same));
    }
}

/// The metric that is judged in the place of this one.
fn source_of(c: &Comparison) -> Option<&str> {
    c.derived_from.as_deref().or(c.counted_with.as_deref())
}

fn place_of(c: &Comparison, metric: &str) -> Place {
    (c.model.clone(), c.workload.clone(), metric.to_owned(), c.candidate.clone())
}

fn give(c: &mut Comparison, (adjusted, same): (Adjusted, Option<f64>)) {
    c.p_adjusted = adjusted;
    if let Some(tost) = &mut c.tost {
        tost.p_holm = same;
    }
}
