//! Families of tests: which comparisons are adjusted together.
//!
//! In:  measured comparisons of one campaign.  Out: the same with adjusted p.
//! Not here: the adjustments themselves (see `stats::adjust`).

use super::distinct::distinct;
use super::grammar::Incomparability;
use super::report::{Adjusted, Comparison};
use sparkbench_stats as stats;

/// Adjusts the deciding p within its family: the primary metrics of all models and workloads of one question A against B.
/// Other metrics form an exploratory family of their own. A derived column is no member: it takes what its source got.
pub(crate) fn adjust(comparisons: &mut [(Comparison, Vec<Incomparability>)]) {
    let questions: Vec<(String, String)> =
        distinct(comparisons.iter().map(|(c, _)| (c.baseline.clone(), c.candidate.clone())));
    for (baseline, candidate) in questions {
        for primary in [true, false] {
            let members: Vec<usize> = (0..comparisons.len())
                .filter(|i| {
                    let c = &comparisons[*i].0;
                    c.baseline == baseline
                        && c.candidate == candidate
                        && c.primary == primary
                        && c.derived_from.is_none()
                })
                .collect();
            let p: Vec<Option<f64>> = members.iter().map(|i| comparisons[*i].0.welch_t.as_ref().map(|w| w.p)).collect();
            let size = p.iter().flatten().count();
            let (bonferroni, holm, bh) =
                (stats::adjust::bonferroni(&p), stats::adjust::holm(&p), stats::adjust::benjamini_hochberg(&p));
            let kind = if primary { "primary metrics" } else { "exploratory metrics" };
            for (place, index) in members.iter().enumerate() {
                comparisons[*index].0.p_adjusted = Adjusted {
                    bonferroni: bonferroni[place],
                    holm: holm[place],
                    benjamini_hochberg: bh[place],
                    family: format!("{kind} of all models and workloads, {candidate} against {baseline}"),
                    family_size: size,
                    others: p.iter().enumerate().filter(|(k, _)| *k != place).filter_map(|(_, p)| *p).collect(),
                };
            }
        }
        let adjusted: Vec<(String, String, String, Adjusted)> = comparisons
            .iter()
            .filter(|(c, _)| c.baseline == baseline && c.candidate == candidate && c.derived_from.is_none())
            .map(|(c, _)| (c.model.clone(), c.workload.clone(), c.metric.clone(), c.p_adjusted.clone()))
            .collect();
        let parents: Vec<(String, String, String, String)> = comparisons
            .iter()
            .filter(|(c, _)| c.baseline == baseline && c.candidate == candidate)
            .filter_map(|(c, _)| Some((c.model.clone(), c.workload.clone(), c.metric.clone(), c.derived_from.clone()?)))
            .collect();
        for (c, _) in comparisons.iter_mut().filter(|(c, _)| c.baseline == baseline && c.candidate == candidate) {
            let Some(mut from) = c.derived_from.clone() else { continue };
            // A function of a function shares the p of the first of the chain. No chain is longer than the number of functions.
            for _ in 0..parents.len() {
                match parents.iter().find(|(m, w, metric, _)| *m == c.model && *w == c.workload && *metric == from) {
                    Some((.., parent)) => from.clone_from(parent),
                    None => break,
                }
            }
            let source = adjusted.iter().find(|(m, w, metric, _)| *m == c.model && *w == c.workload && *metric == from);
            c.p_adjusted = Adjusted {
                family: format!("not a member: a function of {from}, whose adjusted p it shares"),
                ..source.map(|(.., a)| a.clone()).unwrap_or_default()
            };
        }
    }
}
