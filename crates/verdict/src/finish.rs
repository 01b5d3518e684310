//! The last step of a comparison: allowance for drift, verdict, caveats, and the verdict under other choices.
//!
//! In:  a comparison with its adjusted p and its obstacles.  Out: the same with its verdict.
//! Not here: the rules (see `grammar`).

use super::compare;
use super::grammar::{self, Decision, Incomparability, VerdictInputs, said};
use super::group::{FEW_REQUESTS, REQUESTS_FOR_P99};
use super::memory::Round;
use super::number::{fixed, significant};
use super::report::{Comparison, Group, SequentialReport, Verdict, VerdictKind};
use super::{CV_LIMIT_PCT, Settings, order, sequential, stability};
use sparkbench_model::{Direction, Metric};
use sparkbench_stats::{self as stats, bootstrap};

/// Drift, verdict, caveats, stability: the last step of one comparison.
pub(super) fn finish(
    mut c: Comparison,
    mut obstacles: Vec<Incomparability>,
    groups: &[Group],
    round: &Round<'_>,
) -> Comparison {
    let settings = round.settings;
    let Some(metric) = Metric::find(&c.metric) else { return c };
    let (a, b) = (c.arm(&c.baseline, groups).cloned(), c.arm(&c.candidate, groups).cloned());
    let (drift, drifting) = match (&a, &b) {
        (Some(a), Some(b)) => order::drift_allowance(&c.order, a, b, metric.ratio_scale),
        _ => (0.0, None),
    };
    c.drift_allowance_pct = if metric.ratio_scale { drift } else { 0.0 };
    if let Some(tost) = &mut c.tost {
        tost.smallest_margin_with_drift_pct = tost.smallest_margin_pct.map(|margin| margin + c.drift_allowance_pct);
    }
    let size = if metric.ratio_scale { c.overhead_pct } else { c.difference };
    let margin = c.tost.as_ref().map(|t| t.margin_pct);
    obstacles.extend(grammar::drifts(&c.order, drift, size, margin, drifting.as_deref()));
    let grounds = grounds(&c, &metric, obstacles, drift, (&a, &b), settings);
    let decision = match &c.sequential {
        // Of a campaign that looks at its figures the looks decide: the same rules, at the level of each look.
        Some(looks) if grounds.obstacles.is_empty() => by_looks(&c, looks, &metric),
        _ => grammar::decide(&grounds),
    };
    let mut reasons: Vec<String> = Vec::new();
    for code in grounds.obstacles.iter().flat_map(|o| [Some(o.code.as_str()), o.trap]).flatten() {
        if !reasons.iter().any(|known| known == code) {
            reasons.push(code.to_owned());
        }
    }
    if c.order == "unknown" {
        reasons.push("O0".to_owned());
    }
    let because = grounds.obstacles.iter().map(|o| o.because.clone()).collect();
    let mut caveats = Vec::new();
    // Without values on both sides there is nothing that a caveat could qualify.
    if c.n_baseline > 0 && c.n_candidate > 0 {
        if decision.within_margin {
            caveats.push(format!("detectable but within the {}% margin", significant(margin.unwrap_or(0.0), 3)));
        }
        if c.sequential.is_some() {
            caveats.push(sequential::CAVEAT.to_owned());
        }
        caveats.extend(self::caveats(&c, drift, drifting.as_deref(), (&a, &b)));
        if !second_session(&c, groups) {
            caveats.push("one session".to_owned());
        }
        // What the pairing saw of settings and definitions.
        caveats.append(&mut c.verdict.caveats);
    }
    if decision.kind == VerdictKind::Inconclusive
        && c.sequential.is_none()
        && let (Some(a), Some(b), Some(margin)) = (&a, &b, margin)
    {
        let interval = grounds.interval.zip(grounds.size);
        c.runs_to_decide = interval.and_then(|(interval, size)| {
            stats::power::runs_to_settle((&a.values, &b.values), margin, size, interval, settings.confidence)
        });
    }
    let said_by_looks = decision.statement.clone();
    let mut text = decision.statement;
    if let Some(runs) = c.runs_to_decide {
        text.push_str(&format!(
            "; about {runs} interleaved runs per arm would decide at the {}% margin",
            significant(margin.unwrap_or(0.0), 3)
        ));
    }
    for caveat in &caveats {
        text.push_str("; ");
        text.push_str(caveat);
    }
    text.push('.');
    if c.sequential.is_some() && grounds.obstacles.is_empty() {
        let advice = c.sequential.as_ref().and_then(sequential::advice);
        c.verdict = Verdict { kind: decision.kind, said: said_by_looks, advice, text, reasons, because, caveats };
        // Another test or another margin would have stopped the campaign at another run: what they say of these runs is no check.
        return c;
    }
    let line = said::said(&c, &metric, decision.kind, decision.within_margin, &grounds.obstacles);
    let advice = said::advice(&c, decision.kind, &grounds.obstacles);
    c.verdict = Verdict { kind: decision.kind, said: line, advice, text, reasons, because, caveats };
    c.stability = stability::choices(&c, &grounds, (&a, &b), settings);
    c.stability_panel = stability::panel(&c, &metric, &grounds, (&a, &b), round);
    c
}

/// The decision of the look that counts.
fn by_looks(c: &Comparison, looks: &SequentialReport, metric: &Metric) -> Decision {
    let kind = sequential::kind(looks.decision);
    let differs = looks.decision.decides() && kind != VerdictKind::Equivalent;
    let at = looks.looks.iter().find(|look| look.look == looks.look);
    let equivalent = at.is_some_and(|look| look.equivalence_p.is_some_and(|p| p < look.equivalence_nominal_p));
    let names = (c.baseline.as_str(), c.candidate.as_str());
    let statement = sequential::sentence(looks, names, compare::direction_of(metric), metric.unit);
    Decision { kind, statement, within_margin: differs && equivalent }
}

type Arms<'a> = (&'a Option<Group>, &'a Option<Group>);

fn grounds(
    c: &Comparison,
    metric: &Metric,
    obstacles: Vec<Incomparability>,
    drift: f64,
    arms: Arms<'_>,
    settings: &Settings,
) -> VerdictInputs {
    let margin = c.tost.as_ref().map(|t| t.margin_pct);
    let equivalent_at = |margin: f64| match arms {
        (Some(a), Some(b)) if margin > 0.0 => {
            stats::tost::tost(&a.values, &b.values, margin, settings.confidence).is_some_and(|t| t.equivalent)
        }
        _ => false,
    };
    let interval = if metric.ratio_scale {
        c.overhead_ci.as_ref().map(|i| (i.low, i.high))
    } else {
        c.difference_ci.map(|i| (i.low, i.high))
    };
    VerdictInputs {
        baseline: c.baseline.clone(),
        candidate: c.candidate.clone(),
        // Without a true zero there is no better or worse per cent: the sentence says more or less, in the unit.
        direction: if metric.ratio_scale { c.direction } else { Direction::Neutral },
        unit: if metric.ratio_scale { "%".to_owned() } else { metric.unit.to_owned() },
        obstacles,
        size: if metric.ratio_scale { c.overhead_pct } else { c.difference },
        interval,
        p: c.p_adjusted.holm,
        test: "Welch".to_owned(),
        family: c.p_adjusted.family_size,
        alpha: settings.alpha(),
        margin,
        equivalent_at_margin: margin.is_some_and(equivalent_at),
        equivalent_less_drift: margin.is_some_and(|m| equivalent_at(m - drift)),
        drift,
    }
}

/// Caveats in the order of the contract, each when it applies.
fn caveats(c: &Comparison, drift: f64, drifting: Option<&str>, arms: Arms<'_>) -> Vec<String> {
    let mut said = Vec::new();
    match c.order.as_str() {
        "blocked" => said.push("arms were run one after the other".to_owned()),
        "mixed" => said.push("arms were not interleaved".to_owned()),
        "unknown" => said.push("the order of the runs is not known".to_owned()),
        _ => {}
    }
    if drift > 0.0 {
        let unit = if c.tost.is_some() || c.overhead_pct.is_some() { "%".to_owned() } else { format!(" {}", c.unit) };
        let size = if c.overhead_pct.is_some() { c.overhead_pct } else { c.difference };
        let larger = if size.is_some_and(|size| drift > size.abs()) { ", more than the difference" } else { "" };
        said.push(format!("drift of {}{unit} in {}{larger}", fixed(drift, 1), drifting.unwrap_or("an arm")));
    }
    let (a, b) = (c.n_baseline, c.n_candidate);
    if a.min(b) < bootstrap::SMALL_N {
        let n = if a == b { format!("n = {a}") } else { format!("n = {a} and {b}") };
        said.push(format!("{n}, below {}", bootstrap::SMALL_N));
    }
    if let (Some(f), Some(bca)) = (c.fieller_overhead_pct, &c.bootstrap_overhead_pct)
        && f.excludes(0.0) != (bca.low > 0.0 || bca.high < 0.0)
    {
        said.push("BCa and Fieller disagree on 0".to_owned());
    }
    if let (Some(welch), Some(permutation)) = (&c.welch_t, &c.permutation)
        && (welch.p < 0.05) != (permutation.p < 0.05)
    {
        said.push("Welch and permutation disagree at 0.05".to_owned());
    }
    let mut flagged = 0;
    for group in [arms.0, arms.1].into_iter().flatten() {
        if let Some(cv) = group.cv_pct.filter(|cv| *cv > CV_LIMIT_PCT) {
            said.push(format!("CV of {}% over {CV_LIMIT_PCT}% in {}", fixed(cv, 1), group.environment));
        }
        flagged += compare::flagged(group).len();
    }
    match flagged {
        0 => {}
        1 => said.push("1 flagged outlier".to_owned()),
        k => said.push(format!("{k} flagged outliers")),
    }
    if c.metric.ends_with("_p99")
        && [arms.0, arms.1].into_iter().flatten().any(|g| g.flags.iter().any(|f| f == FEW_REQUESTS))
    {
        said.push(format!("p99 from n < {REQUESTS_FOR_P99}"));
    }
    said
}

/// A second session of a cell is the same cell in another campaign of this analysis.
fn second_session(c: &Comparison, groups: &[Group]) -> bool {
    groups.iter().any(|g| {
        g.campaign != c.campaign
            && (&g.model, &g.workload, &g.metric) == (&c.model, &c.workload, &c.metric)
            && (g.environment == c.baseline || g.environment == c.candidate)
    })
}
