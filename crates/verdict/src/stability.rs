//! The verdict under other defensible choices. A conclusion that changes with the choice is not firm.
//!
//! In:  a judged comparison, its grounds, both arms.  Out: single choices ([`Stability`]) and every combination of method,
//! runs and margin ([`StabilityPanel`]).
//! Not here: the rules, which are the same under every choice (see `grammar`).
//!
//! One thing changes at a time: a p of another test is adjusted among the same p of the other members of its family.

use super::Settings;
use super::compare;
use super::effect::EffectEstimate;
use super::grammar::{self, VerdictInputs};
use super::memory::Round;
use super::method::Design;
use super::report::{
    Adjusted, Comparison, Group, Stability, StabilityCell, StabilityMethod, StabilityPanel, VerdictKind,
};
use sparkbench_model::Metric;
use sparkbench_stats::{self as stats, bootstrap, permutation};

/// Margins of the panel, as factors of the margin of the verdict.
pub const FACTORS: [f64; 3] = [0.5, 1.0, 2.0];

/// Both arms, where both exist.
type Arms<'a> = (&'a Option<Group>, &'a Option<Group>);

/// The choice that the verdict rests on, first among the others.
pub const AS_JUDGED: &str = "as judged";

/// Whether there is a verdict that choices could turn, and the arms it rests on.
fn arms_of<'a>(c: &Comparison, arms: Arms<'a>) -> Option<(&'a Group, &'a Group)> {
    // What forbids a comparison forbids it under every choice, and without a per cent there is no margin to vary.
    if c.verdict.kind == VerdictKind::NotComparable || c.overhead_pct.is_none() {
        return None;
    }
    arms.0.as_ref().zip(arms.1.as_ref())
}

/// A p among the p of the rest of the family, by Holm.
fn adjusted(p: Option<f64>, family: &Adjusted) -> Option<f64> {
    let p = p?;
    let all: Vec<Option<f64>> = std::iter::once(p).chain(family.others.iter().copied()).map(Some).collect();
    stats::adjust::holm(&all).first().copied().flatten()
}

/// Whether an effect shows sameness at a margin, at the level at which its family has to show it.
fn equivalent(effect: &EffectEstimate, margin: f64, c: &Comparison, settings: &Settings) -> bool {
    let factor = c.tost.as_ref().and_then(|tost| Some(tost.p_holm? / tost.p)).filter(|factor| *factor >= 1.0);
    effect.equivalence_p(margin).is_some_and(|p| p * factor.unwrap_or(1.0) < settings.alpha())
}

/// The verdict with one choice changed at a time.
pub fn choices(c: &Comparison, grounds: &VerdictInputs, arms: Arms<'_>, settings: &Settings) -> Vec<Stability> {
    let (Some(_), Some(effect)) = (arms_of(c, arms), c.effect.as_ref()) else { return Vec::new() };
    let mut rows = Vec::new();
    let mut row = |choice: &str, grounds: VerdictInputs| {
        rows.push(Stability { choice: choice.to_owned(), kind: grammar::decide(&grounds).kind });
    };
    let holm = |p: Option<f64>| adjusted(p, &c.p_adjusted);
    row(AS_JUDGED, grounds.clone());
    let tost = c.tost.as_ref().is_some_and(|tost| tost.equivalent);
    row("no adjustment for the family", VerdictInputs { p: c.p, equivalent: tost, ..grounds.clone() });
    if !c.design.is_apart() && c.design != Design::InBlocks {
        let student = c.student_t.as_ref().map(|t| t.p);
        row("Student t instead of Welch", VerdictInputs { p: holm(student), ..grounds.clone() });
        let splits = c.permutation.as_ref().map(|t| t.p);
        row("permutation instead of Welch", VerdictInputs { p: holm(splits), ..grounds.clone() });
    } else {
        let plain = effect.without_design();
        row(
            if c.design == Design::InBlocks { "blocks left aside" } else { "time left aside" },
            VerdictInputs {
                size: plain.size(),
                interval: plain.interval(settings.confidence),
                p: holm(plain.p()),
                equivalent: grounds.margin.is_some_and(|margin| equivalent(&plain, margin, c, settings)),
                ..grounds.clone()
            },
        );
    }
    if let Some(bca) = &c.bootstrap_overhead_pct {
        row("BCa bootstrap interval", VerdictInputs { interval: Some((bca.low, bca.high)), ..grounds.clone() });
    }
    if let Some(log) = c.log_ratio_overhead_pct.filter(|_| c.design != Design::InBlocks) {
        row("log-scale interval", VerdictInputs { interval: Some((log.low, log.high)), ..grounds.clone() });
    }
    let Some(margin) = grounds.margin else { return rows };
    for (name, factor) in [("half the margin", 0.5), ("double the margin", 2.0)] {
        let margin = margin * factor;
        let shown = equivalent(effect, margin, c, settings);
        row(name, VerdictInputs { margin: Some(margin), equivalent: shown, ..grounds.clone() });
    }
    if let Some(without) = &c.without_flagged
        && let (Some(size), Some(effect)) = (without.overhead_pct, &without.effect)
    {
        row(
            "without flagged runs",
            VerdictInputs {
                size: Some(size),
                interval: without.low.zip(without.high),
                p: holm(effect.p()),
                equivalent: equivalent(effect, margin, c, settings),
                ..grounds.clone()
            },
        );
    }
    rows
}

/// Limits in per cent, where the values have any.
type Limits = Option<(f64, f64)>;

/// Slow parts of the readings below: everything that is drawn at random.
#[derive(Debug, Clone, PartialEq)]
pub struct Resampled {
    /// All runs, BCa at twice the level of the test.
    inner: Limits,
    /// Without flagged runs: p by permutation, BCa at the level of the analysis, BCa at twice the level of the test.
    without: Option<(Option<f64>, Limits, Limits)>,
}

/// Results of one choice of runs by every method, made once for all margins.
struct Reading<'a> {
    without_flagged: bool,
    effect: &'a EffectEstimate,
    permutation: Option<f64>,
    /// BCa at the level of the analysis.
    bca: Option<(f64, f64)>,
    /// BCa at twice the level of the test: the one that a reading of sameness uses.
    bca_inner: Option<(f64, f64)>,
}

/// Every combination of method, runs and margin.
pub(super) fn panel(
    c: &Comparison,
    metric: &Metric,
    grounds: &VerdictInputs,
    arms: Arms<'_>,
    round: &Round<'_>,
) -> Option<StabilityPanel> {
    let settings = round.settings;
    let ((a, b), effect) = (arms_of(c, arms)?, c.effect.as_ref()?);
    let margin = grounds.margin?;
    let direction = compare::direction_of(metric);
    let key = format!("{}|{}|{}~{}", c.model, c.metric, c.baseline, c.candidate);
    let bca = |x: &[f64], y: &[f64], confidence: f64, name: &str| {
        let job = bootstrap::Job { confidence, ..settings.job(format!("{key}|{name}")) };
        bootstrap::two_sample(x, y, bootstrap::TwoSample::OverheadPct(direction), &job).map(|l| (l.bca.lo, l.bca.hi))
    };
    let inner = 1.0 - 2.0 * settings.alpha();
    let without = c.without_flagged.as_ref().map(|without| (without, compare::kept(a), compare::kept(b)));
    let (x, y) = without.as_ref().map_or((&[][..], &[][..]), |(_, x, y)| (x.as_slice(), y.as_slice()));
    let resampled = round.resampled(&key, [&a.values, &b.values, x, y], direction, || Resampled {
        // The same draws as for the interval of the verdict.
        inner: bca(&a.values, &b.values, inner, "overhead_pct"),
        without: without.as_ref().map(|(_, x, y)| {
            let job = settings.job(format!("{key}|permutation_without_flagged"));
            (
                permutation::mean_difference(x, y, &job).map(|t| t.p),
                bca(x, y, settings.confidence, "overhead_pct_without_flagged"),
                bca(x, y, inner, "overhead_pct_without_flagged"),
            )
        }),
    });
    let mut readings = vec![Reading {
        without_flagged: false,
        effect,
        permutation: c.permutation.as_ref().map(|t| t.p),
        bca: c.bootstrap_overhead_pct.as_ref().map(|i| (i.low, i.high)),
        bca_inner: resampled.inner,
    }];
    if let Some(((without, ..), (permutation, bca, bca_inner))) = without.zip(resampled.without)
        && let Some(effect) = &without.effect
    {
        readings.push(Reading { without_flagged: true, effect, permutation, bca, bca_inner });
    }
    let mut cells = Vec::new();
    for reading in &readings {
        for method in [StabilityMethod::T, StabilityMethod::Bootstrap, StabilityMethod::Permutation] {
            for margin_factor in FACTORS {
                let margin_pct = margin * margin_factor;
                let grounds = reading.grounds(method, margin_pct, c, grounds, settings);
                cells.push(StabilityCell {
                    method,
                    without_flagged: reading.without_flagged,
                    margin_factor,
                    margin_pct,
                    kind: grammar::decide(&grounds).kind,
                });
            }
        }
    }
    let same = cells.iter().filter(|cell| cell.kind == c.verdict.kind).count();
    Some(StabilityPanel { same, of: cells.len(), cells })
}

impl Reading<'_> {
    /// The grounds of the verdict with these runs, this method and this margin in place of its own.
    fn grounds(
        &self,
        method: StabilityMethod,
        margin: f64,
        c: &Comparison,
        judged: &VerdictInputs,
        settings: &Settings,
    ) -> VerdictInputs {
        let own = self.effect.interval(settings.confidence);
        let (p, interval, shown) = match method {
            StabilityMethod::T => (adjusted(self.effect.p(), &c.p_adjusted), own, None),
            StabilityMethod::Permutation => (adjusted(self.permutation, &c.p_adjusted), own, None),
            // The interval alone decides, so the test never blocks it.
            StabilityMethod::Bootstrap => {
                let within = self.bca_inner.is_some_and(|(low, high)| low > -margin && high < margin);
                (self.bca.map(|_| 0.0), self.bca, Some(within))
            }
        };
        VerdictInputs {
            size: self.effect.size(),
            interval,
            p,
            margin: Some(margin),
            equivalent: shown.unwrap_or_else(|| equivalent(self.effect, margin, c, settings)),
            inner: judged.inner.or(interval),
            ..judged.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::compare::Pair;
    use crate::family::Family;
    use crate::memory::Memory;
    use crate::method::{Layout, Unit};
    use crate::report::OrderReport;
    use crate::{CellValues, family, finish, group};

    fn settings() -> Settings {
        Settings { confidence: 0.95, resamples: 2_000, seed: 42, baseline: None, margins_pct: BTreeMap::new() }
    }

    /// A latency of two environments that took turns, judged at a margin of 2 %.
    fn judged(a: &[f64], b: &[f64]) -> Comparison {
        let (metric, settings) = (Metric::find("e2e_latency_ms").unwrap(), settings());
        let arm = |environment: &str, values: &[f64]| {
            let cell = CellValues {
                campaign: "c".into(),
                model: "m".into(),
                workload: "w".into(),
                environment: environment.into(),
                metric: metric.name.clone(),
                run_ids: (0..values.len()).map(|k| format!("{environment}-{k}")).collect(),
                values: values.to_vec(),
            };
            group::describe(&cell, &metric, &[], &settings, group::OfRequests::Nothing)
        };
        let (a, b) = (arm("native", a), arm("container", b));
        let order = OrderReport {
            model: "m".into(),
            workload: "w".into(),
            kind: "interleaved".into(),
            stretches: 2,
            balanced_share: Some(1.0),
            p_too_few: None,
            sequence: Vec::new(),
        };
        let units = |group: &Group| {
            let unit = |(run, value): (&String, &f64)| Unit {
                run: run.clone(),
                block: None,
                repeat: None,
                started: None,
                value: *value,
            };
            group.run_ids.iter().zip(&group.values).map(unit).collect()
        };
        let layout = Layout::of(units(&a), units(&b));
        let pair = Pair {
            metric: &metric,
            a: &a,
            b: &b,
            order: &order,
            layout: &layout,
            pairs: None,
            margin_pct: 2.0,
            primary: true,
            derived_from: None,
        };
        let mut all = vec![(compare::measure(&pair, &settings), Vec::new())];
        family::adjust(&mut all, Family::EachArm);
        let (comparison, obstacles) = all.remove(0);
        finish::finish(comparison, obstacles, &[a, b], &Memory::none().round(&settings))
    }

    const RUNS: [f64; 10] = [100.0, 100.2, 99.8, 100.1, 99.9, 100.3, 99.7, 100.0, 100.1, 99.9];

    #[test]
    fn a_large_difference_is_slower_under_all_nine_combinations() {
        let slower: Vec<f64> = RUNS.iter().map(|v| v * 1.2).collect();
        let panel = judged(&RUNS, &slower).stability_panel.unwrap();
        assert_eq!((panel.same, panel.of), (9, 9));
        assert!(panel.cells.iter().all(|cell| cell.kind == VerdictKind::Slower && !cell.without_flagged));
        let margins: Vec<f64> = panel.cells[..3].iter().map(|cell| cell.margin_pct).collect();
        assert_eq!(margins, [1.0, 2.0, 4.0]);
        use StabilityMethod::{Bootstrap, Permutation, T};
        assert_eq!(panel.cells.iter().map(|c| c.method).step_by(3).collect::<Vec<_>>(), [T, Bootstrap, Permutation]);
    }

    #[test]
    fn sameness_within_the_margin_is_lost_at_half_of_it_by_every_method() {
        // The 90 % interval of the difference is about 0 to 1.4 %: inside 2 % and 4 %, not inside 1 %.
        let a: Vec<f64> = RUNS.iter().map(|v| 100.0 + (v - 100.0) * 4.5).collect();
        let b: Vec<f64> = a.iter().rev().map(|v| v + 0.7).collect();
        let c = judged(&a, &b);
        assert_eq!(c.verdict.kind, VerdictKind::Equivalent, "{}", c.verdict.text);
        let panel = c.stability_panel.unwrap();
        for cell in &panel.cells {
            let said = if cell.margin_factor < 1.0 { VerdictKind::Inconclusive } else { VerdictKind::Equivalent };
            assert_eq!(cell.kind, said, "{cell:?}");
        }
        assert_eq!((panel.same, panel.of), (6, 9));
    }

    #[test]
    fn a_flagged_run_doubles_the_grid_and_without_it_the_verdict_may_turn() {
        let mut spoilt = RUNS;
        spoilt[4] = 140.0;
        let c = judged(&RUNS, &spoilt);
        assert_eq!(c.verdict.kind, VerdictKind::Inconclusive, "{}", c.verdict.text);
        let panel = c.stability_panel.unwrap();
        assert_eq!(panel.of, 18);
        let without = panel.cells.iter().filter(|cell| cell.without_flagged);
        assert!(without.clone().count() == 9 && without.clone().all(|cell| cell.kind == VerdictKind::Equivalent));
    }

    #[test]
    fn what_cannot_be_compared_has_no_grid() {
        assert!(judged(&RUNS, &[100.0]).stability_panel.is_none());
    }

    #[test]
    fn a_p_is_adjusted_among_the_others_of_its_family() {
        let family = Adjusted { others: vec![0.02, 0.5], ..Adjusted::default() };
        assert_eq!(adjusted(Some(0.01), &family), Some(0.03));
        assert_eq!(adjusted(Some(0.04), &family), Some(0.08));
        assert_eq!(adjusted(None, &family), None);
    }
}
