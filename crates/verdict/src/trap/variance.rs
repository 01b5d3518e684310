//! Environments whose runs scatter differently.
//!
//! In:  values of the baseline and of each other arm.  Out: one finding for each pair and metric that differ, else one for each question.
//! Not here: the tests that allow for it (Welch, Fieller).

use super::declaration::{Theme, Trap};
use super::finding::{ALPHA, Finding, cell_place, judged, named, or_missing, place, unit};
use crate::case::{Case, Cell};
use crate::number::{count, p_value, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_stats as stats;

pub(super) struct VarianceDiffers;

impl Trap for VarianceDiffers {
    fn id(&self) -> &'static str {
        "variance-differs"
    }
    fn title(&self) -> &'static str {
        "Environments scatter differently"
    }
    fn severity(&self) -> Severity {
        Severity::Note
    }
    fn theme(&self) -> Theme {
        Theme::Order
    }
    fn about(&self) -> String {
        format!(
            "One environment is steadier than the other.\n\n\
             Equal means can hide that one environment is steady and the other is not. Users of a server notice this in the slow \
             requests. Unequal scatter also breaks the pooled t test. The tests used for verdicts (Welch, Fieller) do not assume \
             equal scatter, so this is a note about what else differs.\n\n\
             The check runs the Brown-Forsythe test, an analysis of variance of the distances from the median. It does so for each \
             primary metric of each environment against the baseline. It fires at p < {ALPHA}.\n\n\
             Report the spread and the percentiles beside every mean. Look for what disturbs the unsteady arm."
        )
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        or_missing(
            case.questions().into_iter().flat_map(|(model, workload)| look(case, model, workload)).collect(),
            case,
        )
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Vec<Finding> {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let arms = case.arms(model, workload);
    let [base, others @ ..] = arms.as_slice() else { return Vec::new() };
    if others.is_empty() {
        return vec![Finding::not_evaluated(subject, format!("{place}: only one environment"))];
    }
    let (mut hits, mut clean) = (Vec::new(), Vec::new());
    for metric in judged(case) {
        for other in others {
            let Some(test) = stats::brown_forsythe::brown_forsythe(&base.numbers(metric), &other.numbers(metric))
            else {
                continue;
            };
            let row =
                format!("{}, {} against {}: p {}", named(metric), other.environment, base.environment, p_value(test.p));
            if test.p < ALPHA {
                hits.push(say(case, metric, base, other, test.p))
            } else {
                clean.push(Evidence::text(row))
            }
        }
    }
    if !hits.is_empty() {
        return hits;
    }
    if clean.is_empty() {
        return vec![Finding::not_evaluated(
            subject,
            format!("{place}: no metric with three values and some spread in both environments"),
        )];
    }
    vec![
        Finding::passed(
            subject,
            format!("{place}: scatter differs in none of {} at p < {ALPHA}", count(clean.len(), "comparison")),
        )
        .evidence(clean),
    ]
}

fn say(case: &Case<'_>, metric: &str, base: &Cell<'_>, other: &Cell<'_>, p: f64) -> Finding {
    let sd = |cell: &Cell<'_>| stats::sd(&cell.numbers(metric)).unwrap_or(f64::NAN);
    let (a, b) = (sd(base), sd(other));
    let unit = unit(metric);
    let message = format!(
        "{} of {} scatters {} than in {}: standard deviation {}{unit} against {}{unit} (Brown-Forsythe p {})",
        named(metric),
        cell_place(case, other),
        if b < a { "less" } else { "more" },
        base.environment,
        significant(b, 3),
        significant(a, 3),
        p_value(p)
    );
    let unsteady = if a < b { other.environment } else { base.environment };
    Finding::fired(Subject::cell(case, other).with_metric(metric), message)
        .evidence(
            [base, other]
                .map(|cell| Evidence::text(format!("{}: {}{unit}", cell.environment, values(&cell.numbers(metric))))),
        )
        .remedy(format!(
            "look at the runs of {unsteady} one by one and in order of time. Report spread beside the mean"
        ))
}

fn values(numbers: &[f64]) -> String {
    numbers.iter().take(super::finding::MAX_EVIDENCE).map(|v| significant(*v, 5)).collect::<Vec<_>>().join(", ")
}
