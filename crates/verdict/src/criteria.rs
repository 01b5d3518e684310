//! The four quality criteria of the published study (statistics contract, section 8), cell by cell.
//!
//! In:  groups and comparisons of one campaign, the case.  Out: [`Criterion`] rows: pass, fail or not assessed.
//! Not here: verdicts. "Not assessed" is never shown as a pass.

use super::CV_LIMIT_PCT;
use super::case::Case;
use super::distinct::distinct;
use super::number::{count, significant};
use super::report::{Comparison, Criterion, Group};
use sparkbench_model::{Metric, Status, within};

/// Power that a design should have to see a difference of 10 %.
pub(crate) const POWER_WANTED: f64 = 0.8;
/// Largest deviation between two sessions that counts as reproduced, per cent.
pub(crate) const REPRODUCED_WITHIN_PCT: f64 = 5.0;

/// All criteria of one campaign. `everything` holds the groups of all campaigns, where a second session would be found.
pub(crate) fn assess(case: &Case<'_>, everything: &[Group], comparisons: &[Comparison]) -> Vec<Criterion> {
    let mut rows = Vec::new();
    for comparison in comparisons.iter().filter(|c| c.campaign == case.campaign.name && c.primary) {
        rows.push(spread(comparison, everything));
        rows.push(power(comparison));
        rows.push(reproducible(comparison, everything));
    }
    for (model, workload) in case.questions() {
        rows.push(complete(case, model, workload));
    }
    rows.sort_by(|a, b| (&a.model, &a.workload, &a.metric, a.id).cmp(&(&b.model, &b.workload, &b.metric, b.id)));
    rows.dedup_by(|a, b| (&a.model, &a.workload, &a.metric, a.id) == (&b.model, &b.workload, &b.metric, b.id));
    rows
}

fn row(id: &'static str, comparison: &Comparison, outcome: &'static str, because: String) -> Criterion {
    Criterion {
        id,
        model: comparison.model.clone(),
        workload: comparison.workload.clone(),
        metric: Some(comparison.metric.clone()),
        outcome,
        because,
    }
}

fn spread(comparison: &Comparison, groups: &[Group]) -> Criterion {
    let id = "cv_below_5_pct";
    let arms: Vec<&Group> = [&comparison.baseline, &comparison.candidate]
        .into_iter()
        .filter_map(|environment| comparison.arm(environment, groups))
        .collect();
    let cvs: Vec<(&str, f64)> = arms.iter().filter_map(|g| Some((g.environment.as_str(), g.cv_pct?))).collect();
    if cvs.len() < 2 {
        return row(id, comparison, "not_assessed", "an arm has no coefficient of variation".to_owned());
    }
    let said: Vec<String> = cvs.iter().map(|(name, cv)| format!("{name} {} %", significant(*cv, 3))).collect();
    let outcome = if cvs.iter().all(|(_, cv)| *cv < CV_LIMIT_PCT) { "pass" } else { "fail" };
    row(id, comparison, outcome, said.join(", "))
}

fn power(comparison: &Comparison) -> Criterion {
    let id = "power_at_10_pct";
    match comparison.power_at_10pct {
        Some(power) => {
            let outcome = if power >= POWER_WANTED { "pass" } else { "fail" };
            // No power is 1.
            let said = if power >= 0.9995 { "above 0.999".to_owned() } else { significant(power, 3) };
            row(id, comparison, outcome, format!("power {said} to detect 10 %"))
        }
        None => row(id, comparison, "not_assessed", "power needs two arms with spread".to_owned()),
    }
}

/// A second session of a cell is the same cell in another campaign of this analysis. Both arms must reproduce.
fn reproducible(comparison: &Comparison, groups: &[Group]) -> Criterion {
    let id = "reproducible";
    let arms =
        [&comparison.baseline, &comparison.candidate].map(|environment| session(comparison, environment, groups));
    let because = arms.iter().map(|(_, because)| because.as_str()).collect::<Vec<_>>();
    let because = if because[0] == because[1] { because[0].to_owned() } else { because.join("; ") };
    let outcome = match arms.map(|(outcome, _)| outcome) {
        ["pass", "pass"] => "pass",
        ["fail", _] | [_, "fail"] => "fail",
        _ => "not_assessed",
    };
    row(id, comparison, outcome, because)
}

/// One arm in two sessions: outcome and what decided it.
fn session(comparison: &Comparison, environment: &str, groups: &[Group]) -> (&'static str, String) {
    let Some(first) = comparison.arm(environment, groups) else {
        return ("not_assessed", format!("{environment} has no values"));
    };
    let second = groups.iter().find(|g| {
        g.campaign != first.campaign
            && g.model == first.model
            && g.workload == first.workload
            && g.metric == first.metric
            && g.environment == first.environment
    });
    let Some(second) = second else { return ("not_assessed", "one session".to_owned()) };
    let (Some(m1), Some(m2)) = (first.mean, second.mean) else {
        return ("not_assessed", format!("a session of {environment} has no values"));
    };
    if m1 <= 0.0 {
        return ("not_assessed", format!("no ratio of a mean that is not positive in {environment}"));
    }
    let change = 100.0 * (m2 / m1 - 1.0);
    let interval = sparkbench_stats::fieller::ratio_interval(&second.values, &first.values, 0.90);
    let inside = interval.is_some_and(|(low, high)| {
        100.0 * (low - 1.0) >= -REPRODUCED_WITHIN_PCT && 100.0 * (high - 1.0) <= REPRODUCED_WITHIN_PCT
    });
    let said =
        format!("{environment}: {} % between {} and {}", significant(change, 3), first.campaign, second.campaign);
    match (change.abs() <= REPRODUCED_WITHIN_PCT, inside) {
        (true, true) => ("pass", said),
        (true, false) => ("not_assessed", format!("{said}, within {REPRODUCED_WITHIN_PCT} % and not shown")),
        (false, _) => ("fail", said),
    }
}

fn complete(case: &Case<'_>, model: &str, workload: &str) -> Criterion {
    let arms = case.arms(model, workload);
    let mut missing = Vec::new();
    let mut unrecorded = 0;
    for cell in &arms {
        if let Some(planned) = case.planned_repeats()
            && cell.runs.len() != planned as usize
        {
            missing.push(format!("{} has {}, {planned} planned", cell.environment, count(cell.runs.len(), "run")));
        }
        let failed = cell.runs.iter().filter(|run| run.has_failed()).count();
        if failed > 0 {
            missing.push(format!("{} of {} failed", count(failed, "run"), cell.environment));
        }
        unrecorded += cell.runs.iter().filter(|run| run.status == Status::Unrecorded).count();
        let empty: Vec<&str> = distinct(
            cell.runs
                .iter()
                .flat_map(|run| run.readings.iter().filter(|r| !r.value.is_finite()).map(|r| r.metric.as_str()))
                .chain(
                    case.campaign
                        .planned_metrics
                        .iter()
                        .map(String::as_str)
                        .filter(|metric| cell.numbers(metric).len() + failed < cell.runs.len()),
                ),
        );
        if !empty.is_empty() {
            let named =
                |name: &&str| Metric::find(name).map_or_else(|| (*name).to_owned(), |metric| within(&metric.label));
            let empty: Vec<String> = empty.iter().map(named).collect();
            missing.push(format!("{} without {}", cell.environment, empty.join(", ")));
        }
    }
    let (outcome, because) = match (missing.is_empty(), case.planned_repeats()) {
        (false, _) => ("fail", missing.join("; ")),
        (true, Some(_)) if unrecorded > 0 => {
            ("not_assessed", format!("{} without a recorded end", count(unrecorded, "run")))
        }
        (true, Some(planned)) => {
            ("pass", format!("{planned} of {planned} runs in each arm, each ended well with every metric"))
        }
        (true, None) => ("not_assessed", "the campaign does not say how many runs were planned".to_owned()),
    };
    Criterion { id: "complete", model: model.to_owned(), workload: workload.to_owned(), metric: None, outcome, because }
}
