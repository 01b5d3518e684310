//! The last step of a comparison: verdict, caveats, what would decide it, and the verdict under other choices.
//!
//! In:  a comparison with its adjusted p and its obstacles.  Out: the same with its verdict.
//! Not here: the rules (see `grammar`).

use super::compare;
use super::grammar::{self, Decision, Incomparability, VerdictInputs, said};
use super::memory::Round;
use super::method::Design;
use super::number::{fixed, significant};
use super::report::{Comparison, Group, IntervalOfVerdict, SequentialReport, Verdict, VerdictKind};
use super::{CV_LIMIT_PCT, Settings, promise, sequential, stability};
use sparkbench_model::{Direction, Metric};
use sparkbench_stats::bootstrap;

/// Verdict, caveats, promise, stability: the last step of one comparison.
pub(super) fn finish(
    mut c: Comparison,
    obstacles: Vec<Incomparability>,
    groups: &[Group],
    round: &Round<'_>,
) -> Comparison {
    let settings = round.settings;
    let Some(metric) = Metric::find(&c.metric) else { return c };
    let (a, b) = (c.arm(&c.baseline, groups).cloned(), c.arm(&c.candidate, groups).cloned());
    let margin = c.tost.as_ref().map(|t| t.margin_pct);
    let grounds = grounds(&c, &metric, obstacles, settings);
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
    if c.design == Design::Unknown {
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
        caveats.extend(self::caveats(&c, decision.kind, (&a, &b)));
        if !second_session(&c, groups) {
            caveats.push("one session".to_owned());
        }
        // What the pairing saw of settings and definitions.
        caveats.append(&mut c.verdict.caveats);
    }
    c.interval_of_verdict = interval_of_verdict(decision.kind, &grounds, settings);
    if decision.kind == VerdictKind::Inconclusive && c.sequential.is_none() && c.is_answer {
        c.promise = promise::of(&c, settings);
    }
    let said_by_looks = decision.statement.clone();
    let mut text = decision.statement;
    if let Some(promise) = &c.promise {
        text.push_str(&format!("; {}", promise::text(promise, c.design)));
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

fn grounds(c: &Comparison, metric: &Metric, obstacles: Vec<Incomparability>, settings: &Settings) -> VerdictInputs {
    let tost = c.tost.as_ref();
    let interval = if metric.ratio_scale {
        c.overhead_ci.as_ref().map(|i| (i.low, i.high))
    } else {
        c.difference_ci.map(|i| (i.low, i.high))
    };
    // Among several, sameness is shown at the level at which this one had to show it.
    let inner_level = tost.and_then(|t| Some((t.p, t.p_holm?))).filter(|(p, holm)| *p > 0.0 && holm > p);
    let inner_level = 1.0 - 2.0 * settings.alpha() * inner_level.map_or(1.0, |(p, holm)| p / holm);
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
        test: c.test.to_owned(),
        family: c.p_adjusted.family_size,
        alpha: settings.alpha(),
        margin: tost.map(|t| t.margin_pct),
        equivalent: tost.and_then(|t| t.p_holm).is_some_and(|p| p < settings.alpha()),
        inner: c.effect.as_ref().and_then(|effect| effect.interval(inner_level)),
        inner_level,
    }
}

/// The interval that decided, or that left it open.
fn interval_of_verdict(kind: VerdictKind, grounds: &VerdictInputs, settings: &Settings) -> Option<IntervalOfVerdict> {
    let (level, ends) = match kind {
        VerdictKind::NotComparable => return None,
        VerdictKind::Equivalent => (grounds.inner_level, grounds.inner),
        _ => (settings.confidence, grounds.interval),
    };
    ends.map(|(low, high)| IntervalOfVerdict { level, low, high })
}

/// Caveats in the order of the contract, each when it applies.
fn caveats(c: &Comparison, kind: VerdictKind, arms: Arms<'_>) -> Vec<String> {
    let mut said = Vec::new();
    match c.design {
        Design::OneAfterTheOther => {
            said.push("the arms ran one after the other, which costs four times the runs".to_owned())
        }
        Design::Mixed => said.push("the arms took turns in part only, which costs more runs".to_owned()),
        Design::Unknown => said.push("the order of the runs is not known".to_owned()),
        Design::InBlocks | Design::Interleaved | Design::OverTime => {}
    }
    let (a, b) = (c.n_baseline, c.n_candidate);
    if a.min(b) < bootstrap::SMALL_N {
        let n = if a == b { format!("n = {a}") } else { format!("n = {a} and {b}") };
        said.push(format!("{n}, below {}", bootstrap::SMALL_N));
    }
    said.extend(spread(c, kind).map(str::to_owned));
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
    said
}

/// What skewed figures do to the tests of arms without blocks (statistics contract, section 9). The spread of a few runs says little about
/// that of many. So a difference of few runs is told as well, and so are numbers far apart.
fn spread(c: &Comparison, kind: VerdictKind) -> Option<&'static str> {
    if c.design == Design::InBlocks {
        return None;
    }
    let unlike = c.brown_forsythe.as_ref().is_some_and(|test| test.p < 0.05);
    let (least, most) = (c.n_baseline.min(c.n_candidate), c.n_baseline.max(c.n_candidate));
    match (unlike, least == most) {
        (true, true) => Some("unequal spread: differences are found too often (variance-differs)"),
        (true, false) => {
            Some("unequal spread and unequal numbers of runs: differences are found too often (variance-differs)")
        }
        (false, _) if least > 1 && least < bootstrap::SMALL_N && most >= 2 * least => {
            Some("unequal numbers of runs: if spreads differ too, differences are found too often (variance-differs)")
        }
        (false, _) if least > 1 && least < bootstrap::SMALL_N && kind.is_difference() => Some(
            "so few runs hardly show their spread: if spreads differ, differences are found too often (variance-differs)",
        ),
        (false, _) => None,
    }
}

/// A second session of a cell is the same cell in another campaign of this analysis.
fn second_session(c: &Comparison, groups: &[Group]) -> bool {
    groups.iter().any(|g| {
        g.campaign != c.campaign
            && (&g.model, &g.workload, &g.metric) == (&c.model, &c.workload, &c.metric)
            && (g.environment == c.baseline || g.environment == c.candidate)
    })
}
