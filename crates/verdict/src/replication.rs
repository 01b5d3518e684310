//! One question in several campaigns: one pooled answer, and how much the campaigns differ among themselves.
//!
//! In:  the comparisons, groups and runs of all campaigns.  Out: [`ReplicationReport`]s, none where every question was asked once.
//! Not here: the formulas (see `stats::replication`), drawing.
//!
//! A question is a model, a workload, an engine, a metric, and the names of two arms. Its effect in a campaign is the logarithm of the ratio
//! of the two means. The variance follows from the standard errors of both (delta method). Campaigns whose arms cannot be compared are left
//! out and named. The rules of the verdict are those of a single comparison. It is sameness when the 90 % interval lies within the margin,
//! and a difference when the 95 % interval excludes 0. Otherwise it is open.

use std::collections::BTreeMap;

use super::Settings;
use super::distinct::distinct;
use super::number::{count, significant};
use super::report::{Comparison, Group, Interval, ReplicationReport, ReplicationRow, VerdictKind};
use sparkbench_model::{Direction, Run, within};
use sparkbench_stats::replication::{self, Replication, Study};
use sparkbench_stats::{dist, quantile_sorted, sorted};

/// Below it the spread between campaigns is more than chance makes.
const ALPHA_SPREAD: f64 = 0.05;

/// One arm against another in one campaign.
struct Part<'a> {
    comparison: &'a Comparison,
    study: Study,
    /// Standard deviations of the runs of both arms, per cent of their means.
    runs_pct: [f64; 2],
}

/// Every question that at least two campaigns answer, primary metrics only.
pub(super) fn report(
    comparisons: &[Comparison],
    groups: &[Group],
    runs: &[Run],
    settings: &Settings,
) -> Vec<ReplicationReport> {
    let mut questions: BTreeMap<([&str; 5], Vec<String>), Vec<&Comparison>> = BTreeMap::new();
    for c in comparisons.iter().filter(|c| c.primary && c.derived_from.is_none()) {
        let key = [&c.model, &c.workload, &c.metric, &c.baseline, &c.candidate].map(String::as_str);
        questions.entry((key, engines(c, runs))).or_default().push(c);
    }
    let asked_twice = questions.into_values().filter(|asked| asked.len() > 1);
    asked_twice.filter_map(|asked| one(&asked, groups, runs, settings)).collect()
}

/// Engines of both arms. Another engine is another question.
fn engines(c: &Comparison, runs: &[Run]) -> Vec<String> {
    let own =
        runs.iter().filter(|run| run.campaign == c.campaign && run.model == c.model && run.workload == c.workload);
    distinct(own.filter_map(|run| Some(run.setup.engine.as_ref()?.to_lowercase())))
}

fn one(asked: &[&Comparison], groups: &[Group], runs: &[Run], settings: &Settings) -> Option<ReplicationReport> {
    let fit = |c: &&&Comparison| c.verdict.kind != VerdictKind::NotComparable;
    let parts: Vec<Part<'_>> = asked.iter().filter(fit).filter_map(|c| part(c, groups)).collect();
    let studies: Vec<Study> = parts.iter().map(|part| part.study).collect();
    let pooled = replication::pool(&studies, settings.confidence)?;
    let narrow = replication::pool(&studies, 1.0 - 2.0 * settings.alpha())?;
    let first = parts.first()?.comparison;
    let margin_pct =
        parts.iter().filter_map(|p| Some(p.comparison.tost.as_ref()?.margin_pct)).fold(f64::INFINITY, f64::min);
    let machine = |campaign: &str| runs.iter().find(|run| run.campaign == campaign)?.setup.machine.clone();
    let rows = parts.iter().zip(&pooled.weights).map(|(part, &weight)| ReplicationRow {
        campaign: part.comparison.campaign.clone(),
        machine: machine(&part.comparison.campaign),
        change_pct: pct(part.study.effect),
        interval: alone(part, settings.confidence),
        weight,
    });
    let rows: Vec<ReplicationRow> = rows.collect();
    let left_out = asked.iter().filter(|c| parts.iter().all(|part| part.comparison.campaign != c.campaign));
    let kind = kind(&pooled, &narrow, margin_pct, first.direction);
    let runs_pct = quantile_sorted(&sorted(&parts.iter().flat_map(|part| part.runs_pct).collect::<Vec<_>>()), 0.5);
    let between_pct = pct(pooled.tau2.sqrt());
    Some(ReplicationReport {
        model: first.model.clone(),
        workload: first.workload.clone(),
        metric: first.metric.clone(),
        label: first.label.clone(),
        direction: first.direction,
        baseline: first.baseline.clone(),
        candidate: first.candidate.clone(),
        left_out: left_out.map(|c| c.campaign.clone()).collect(),
        change_pct: pct(pooled.estimate),
        interval: interval(pooled.interval),
        prediction: pooled.prediction.map(interval),
        tau2: pooled.tau2,
        tau2_dersimonian_laird: pooled.tau2_dl,
        between_pct,
        runs_pct,
        i2_pct: pooled.i2_pct,
        q: pooled.q,
        q_p: pooled.q_p,
        margin_pct,
        kind,
        said: said(first, [&pooled, &narrow], kind, (margin_pct, settings)),
        spread: spread(&rows, &pooled, between_pct, runs_pct),
        campaigns: rows,
    })
}

/// Effect and variance of a campaign. `None` without two means above 0 and their standard errors.
fn part<'a>(c: &'a Comparison, groups: &[Group]) -> Option<Part<'a>> {
    let arm = |environment: &str| {
        let group = c.arm(environment, groups)?;
        let (mean, sd) = (group.mean.filter(|mean| *mean > 0.0)?, group.sd.filter(|sd| *sd > 0.0)?);
        Some((mean, sd / mean, (sd / mean).powi(2) / group.n as f64))
    };
    let (base, base_cv, base_variance) = arm(&c.baseline)?;
    let (candidate, candidate_cv, candidate_variance) = arm(&c.candidate)?;
    Some(Part {
        comparison: c,
        study: Study { effect: (candidate / base).ln(), variance: base_variance + candidate_variance },
        runs_pct: [100.0 * base_cv, 100.0 * candidate_cv],
    })
}

/// The interval of one campaign on the scale of the pooled answer.
fn alone(part: &Part<'_>, confidence: f64) -> Interval {
    let df = (part.comparison.n_baseline + part.comparison.n_candidate) as f64 - 2.0;
    let half = dist::t_quantile(0.5 + 0.5 * confidence, df.max(1.0)) * part.study.variance.sqrt();
    interval((part.study.effect - half, part.study.effect + half))
}

/// A change on the scale of logarithms as per cent.
fn pct(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

fn interval((low, high): (f64, f64)) -> Interval {
    Interval::new(pct(low), pct(high))
}

fn kind(pooled: &Replication, narrow: &Replication, margin_pct: f64, direction: Direction) -> VerdictKind {
    let margin = (margin_pct / 100.0).ln_1p();
    if margin.is_finite() && narrow.interval.0 > -margin && narrow.interval.1 < margin {
        return VerdictKind::Equivalent;
    }
    if pooled.interval.0 <= 0.0 && pooled.interval.1 >= 0.0 {
        return VerdictKind::Inconclusive;
    }
    match (direction, pooled.estimate > 0.0) {
        (Direction::LowerIsBetter, true) | (Direction::HigherIsBetter, false) => VerdictKind::Slower,
        (Direction::LowerIsBetter, false) | (Direction::HigherIsBetter, true) => VerdictKind::Faster,
        (Direction::Neutral, true) => VerdictKind::More,
        (Direction::Neutral, false) => VerdictKind::Less,
    }
}

/// `Over 4 campaigns, container has 2.1 % more time to first token than native (1.2 to 3.0 %).`
fn said(
    c: &Comparison,
    [pooled, narrow]: [&Replication; 2],
    kind: VerdictKind,
    (margin_pct, settings): (f64, &Settings),
) -> String {
    let (label, over) = (within(&c.label), format!("Over {}", count(pooled.k, "campaign")));
    let (low, high) = (pct(pooled.interval.0), pct(pooled.interval.1));
    let range = format!("{} to {} %", significant(low, 2), significant(high, 2));
    match kind {
        // With the interval that decided it, which ends within the margin.
        VerdictKind::Equivalent => format!(
            "{over}, {label} of {} and {} is the same within {} % ({} % interval {} to {} %).",
            c.candidate,
            c.baseline,
            significant(margin_pct, 2),
            significant(100.0 * (1.0 - 2.0 * settings.alpha()), 3),
            significant(pct(narrow.interval.0), 2),
            significant(pct(narrow.interval.1), 2)
        ),
        VerdictKind::Inconclusive | VerdictKind::NotComparable => {
            format!("{over}, no difference in {label} between {} and {} is shown ({range}).", c.candidate, c.baseline)
        }
        _ => {
            let change = pct(pooled.estimate);
            let more = if change > 0.0 { "more" } else { "less" };
            format!(
                "{over}, {} has {} % {more} {label} than {} ({range}).",
                c.candidate,
                significant(change.abs(), 2),
                c.baseline
            )
        }
    }
}

/// Whether machines, or campaigns of one machine, differ more than runs do.
fn spread(rows: &[ReplicationRow], pooled: &Replication, between_pct: f64, runs_pct: f64) -> String {
    let machines: Vec<&String> = distinct(rows.iter().filter_map(|row| row.machine.as_ref()));
    let who = if machines.len() > 1 { "Machines" } else { "Campaigns" };
    if pooled.q_p >= ALPHA_SPREAD || pooled.tau2 == 0.0 {
        return format!(
            "{who} differ no more than their runs explain (I² {} %, p = {}).",
            significant(pooled.i2_pct, 2),
            significant(pooled.q_p, 2)
        );
    }
    let more = if between_pct > runs_pct { "more" } else { "less" };
    format!(
        "{who} differ {more} than runs do: the change varies by {} % between them, a single run by {} % (standard deviations, I² {} %).",
        significant(between_pct, 2),
        significant(runs_pct, 2),
        significant(pooled.i2_pct, 2)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(machine: &str) -> ReplicationRow {
        ReplicationRow {
            campaign: String::new(),
            machine: Some(machine.to_owned()),
            change_pct: 0.0,
            interval: Interval::new(-1.0, 1.0),
            weight: 0.5,
        }
    }

    fn pooled(effects: &[f64], sd: f64, confidence: f64) -> Replication {
        let studies: Vec<Study> = effects.iter().map(|&effect| Study { effect, variance: sd * sd }).collect();
        replication::pool(&studies, confidence).unwrap()
    }

    #[test]
    fn the_rules_of_a_single_comparison_judge_the_pooled_answer() {
        let judged = |effects: &[f64], margin: f64| {
            let (wide, narrow) = (pooled(effects, 0.005, 0.95), pooled(effects, 0.005, 0.90));
            kind(&wide, &narrow, margin, Direction::LowerIsBetter)
        };
        assert_eq!(judged(&[0.001, -0.002, 0.002, 0.0], 2.0), VerdictKind::Equivalent);
        assert_eq!(judged(&[0.050, 0.052, 0.048, 0.051], 2.0), VerdictKind::Slower);
        assert_eq!(judged(&[-0.050, -0.052, -0.048, -0.051], 2.0), VerdictKind::Faster);
        assert_eq!(judged(&[0.10, -0.09, 0.05, -0.04], 2.0), VerdictKind::Inconclusive);
    }

    #[test]
    fn a_sentence_says_whether_machines_differ_more_than_runs() {
        let apart = pooled(&[0.01, 0.05, 0.09], 0.002, 0.95);
        let said = spread(&[row("a"), row("b")], &apart, pct(apart.tau2.sqrt()), 0.4);
        assert!(
            said.starts_with("Machines differ more than runs do: the change varies by 4.1 % between them"),
            "{said}"
        );
        let alike = pooled(&[0.050, 0.051, 0.049], 0.01, 0.95);
        let said = spread(&[row("a"), row("a")], &alike, 0.0, 0.4);
        assert!(said.starts_with("Campaigns differ no more than their runs explain"), "{said}");
    }
}
