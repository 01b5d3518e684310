//! Campaigns with interim looks: each comparison is decided at its own look, by the design of the campaign.
//!
//! In:  comparisons with their groups and runs, the design.  Out: a [`SequentialReport`] beside each comparison.
//! Not here: formulas (see `stats::sequential`), when a campaign looks (see `run`).
//!
//! A look counts whole blocks: repeats of which both arms have a value. A run that failed costs its block. Its information is then missing
//! at that look, and the boundaries follow what is really there.

use std::collections::BTreeMap;

use super::case::Case;
use super::compare::direction_of;
use super::distinct::distinct;
use super::family::Family;
use super::grammar::{self, Incomparability};
use super::number::{decimals, fixed, significant};
use super::report::{
    Comparison, DesignReport, Group, Interval, LookDecision, LookReport, NamedInterval, SequentialReport, VerdictKind,
};
use sparkbench_model::{Campaign, Direction, Metric, MissingReason, MissingRun, Run, SequentialDesign};
use sparkbench_stats::sequential::{self, Call, Course, Design, Known, Look, Pair, Spending};
use sparkbench_stats::{self as stats};

/// The remark beside the figures of the fixed design.
pub const CAVEAT: &str = "p-values and intervals other than the repeated one do not count the looks";

/// The design of a campaign, where it has one that can be used.
pub fn design_of(campaign: &Campaign) -> Option<Design> {
    let SequentialDesign { spending, alpha, looks, .. } = campaign.design.as_ref()?;
    let looks: Vec<usize> = looks.iter().map(|n| *n as usize).collect();
    Design::new(&looks, Spending::of(spending)?, *alpha).ok()
}

/// Rounds of the plan that are over: every run up to this repeat has an outcome. One that nothing could be read of is over too: it costs its
/// block, as a failed one does.
pub fn rounds(case: &Case<'_>) -> u32 {
    let made = case.runs.iter().filter_map(|run| run.repeat).max().unwrap_or(0);
    let is_open = |run: &&MissingRun| matches!(run.gone, MissingReason::NotRun | MissingReason::Interrupted);
    let open = case.campaign.missing_runs.iter().filter(is_open).filter_map(|run| run.repeat).min();
    made.min(open.map_or(u32::MAX, |repeat| repeat.saturating_sub(1)))
}

/// Puts the looks beside each comparison of a sequential campaign. Elsewhere nothing changes. `obstacles` forbid a decision, and do not
/// change the share of the others.
pub(crate) fn attach(
    comparisons: &mut [(Comparison, Vec<Incomparability>)],
    case: &Case<'_>,
    groups: &[Group],
    family: Family,
) {
    let Some(design) = design_of(case.campaign) else { return };
    let reached = design.reached(rounds(case) as usize);
    let mut known = Known::default();
    let key = |c: &Comparison| {
        let candidate = (family == Family::EachArm).then(|| c.candidate.clone());
        (c.baseline.clone(), candidate, c.primary)
    };
    for family in distinct(comparisons.iter().map(|(c, _)| key(c))) {
        let of: Vec<usize> =
            (0..comparisons.len()).filter(|i| comparisons.get(*i).is_some_and(|(c, _)| key(c) == family)).collect();
        let blocks: Vec<Option<Blocks>> = of
            .iter()
            .map(|i| comparisons.get(*i).and_then(|(c, _)| Blocks::of(c, case, groups, &design, reached)))
            .collect();
        let members: Vec<(usize, &Blocks)> =
            of.iter().zip(&blocks).filter_map(|(i, b)| Some((*i, b.as_ref()?))).collect();
        // A column that is a function of another is not a separate member. It is decided at the same share and takes none away.
        let is_own = |index: usize| {
            comparisons.get(index).is_some_and(|(c, _)| c.derived_from.is_none() && c.counted_with.is_none())
        };
        // A comparison that has no value yet counts too: it will want its share at a later look.
        let size = of.iter().filter(|index| is_own(**index)).count().max(1);
        let (own, derived): (Vec<_>, Vec<_>) = members.into_iter().partition(|(index, _)| is_own(*index));
        let mut found: Vec<(usize, SequentialReport)> = Vec::new();
        for part in [own, derived] {
            let pairs: Vec<Pair<'_>> = part.iter().map(|(_, blocks)| blocks.pair()).collect();
            for ((index, blocks), course) in part.iter().zip(decide(&pairs, &design, size, &mut known)) {
                found.extend(report(&course, &design, size, &blocks.pair()).map(|report| (*index, report)));
            }
        }
        for (index, report) in found {
            if let Some((comparison, _)) = comparisons.get_mut(index) {
                show_repeated(comparison, &report);
                comparison.sequential = Some(report);
            }
        }
    }
}

/// The headline interval of a sequential comparison is the repeated one, at the last look that was reached. The others stay beside it under
/// their names.
fn show_repeated(c: &mut Comparison, report: &SequentialReport) {
    let last = report.looks.last().and_then(|look| look.repeated_interval_pct);
    c.overhead_ci = last.map(|i| NamedInterval { method: REPEATED.to_owned(), low: i.low, high: i.high });
    c.change_ci = last.and_then(|i| c.change_within(i));
}

/// Name of the repeated confidence interval among the methods of intervals.
pub const REPEATED: &str = "repeated";

/// Pairs beyond the size of the family are taken in turns of that size. Derived columns may have more pairs than their family has members.
fn decide(pairs: &[Pair<'_>], design: &Design, size: usize, known: &mut Known) -> Vec<Course> {
    pairs.chunks(size).flat_map(|pairs| sequential::decide(pairs, design, size, known)).collect()
}

/// Values of the whole blocks of a comparison.
struct Blocks {
    a: Vec<f64>,
    b: Vec<f64>,
    /// Whole blocks at each look that was reached.
    at: Vec<usize>,
    direction: stats::Direction,
    margin_pct: Option<f64>,
}

impl Blocks {
    fn of(c: &Comparison, case: &Case<'_>, groups: &[Group], design: &Design, reached: usize) -> Option<Self> {
        let metric = Metric::find(&c.metric)?;
        let (a, b) = (c.arm(&c.baseline, groups)?, c.arm(&c.candidate, groups)?);
        let runs: BTreeMap<&str, &Run> = case.runs.iter().map(|run| (run.id.as_str(), *run)).collect();
        let by_repeat = |group: &Group| -> BTreeMap<u32, f64> {
            let ids = group.run_ids.iter().zip(&group.values);
            ids.filter_map(|(id, value)| Some((runs.get(id.as_str())?.repeat?, *value))).collect()
        };
        let (of_a, of_b) = (by_repeat(a), by_repeat(b));
        let whole: Vec<(u32, f64, f64)> =
            of_a.iter().filter_map(|(repeat, a)| Some((*repeat, *a, *of_b.get(repeat)?))).collect();
        let at = design
            .looks()
            .iter()
            .take(reached)
            .map(|look| whole.iter().filter(|(repeat, ..)| *repeat as usize <= *look).count());
        Some(Self {
            at: at.collect(),
            a: whole.iter().map(|(_, a, _)| *a).collect(),
            b: whole.iter().map(|(.., b)| *b).collect(),
            direction: direction_of(&metric),
            margin_pct: c.tost.as_ref().map(|tost| tost.margin_pct),
        })
    }

    fn pair(&self) -> Pair<'_> {
        let Self { a, b, at, direction, margin_pct } = self;
        Pair { a, b, blocks: at, direction: *direction, margin_pct: *margin_pct }
    }
}

/// The looks of one comparison as they are shown. Absent before the first.
pub fn report(course: &Course, design: &Design, family: usize, pair: &Pair<'_>) -> Option<SequentialReport> {
    let counts = course.counts()?;
    let interval = |ends: Option<(f64, f64)>| ends.map(|(low, high)| Interval::new(low, high));
    let finite = |x: f64| x.is_finite().then_some(x);
    Some(SequentialReport {
        look: counts.look,
        n: counts.n,
        information: counts.information,
        z_boundary: finite(counts.z_boundary),
        nominal_p: counts.nominal_p,
        decision: decision(counts, pair.direction),
        repeated_interval_pct: interval(counts.repeated_pct),
        stagewise_p: course.stagewise_p(),
        median_unbiased_pct: course.median_unbiased_pct(pair.direction),
        runs_saved_of_max: design.blocks().saturating_sub(counts.n),
        overhead_pct: counts.overhead_pct,
        repeated_interval: interval(counts.repeated),
        margin_pct: pair.margin_pct,
        without_prospects: course.hopeless,
        design: DesignReport {
            spending: design.spending.word(),
            alpha: design.alpha,
            family,
            looks: design.looks().to_vec(),
        },
        looks: course
            .looks
            .iter()
            .map(|look| LookReport {
                look: look.look,
                n: look.n,
                information: look.information,
                p: look.p,
                z: finite(look.z),
                z_boundary: finite(look.z_boundary),
                nominal_p: look.nominal_p,
                equivalence_p: look.equivalence_p,
                equivalence_nominal_p: look.equivalence_level,
                overhead_pct: look.overhead_pct,
                repeated_interval_pct: interval(look.repeated_pct),
                difference: look.means.1 - look.means.0,
                repeated_interval: interval(look.repeated),
                decision: decision(look, pair.direction),
            })
            .collect(),
    })
}

/// The call of a look in words.
fn decision(look: &Look, direction: stats::Direction) -> LookDecision {
    match look.call {
        Call::GoOn => LookDecision::GoOn,
        Call::Undecided => LookDecision::Inconclusive,
        Call::Equivalence => LookDecision::Equivalent,
        Call::Difference => {
            let difference = look.means.1 - look.means.0;
            let (direction, size) = match direction {
                stats::Direction::LowerIsBetter => (Direction::LowerIsBetter, difference),
                stats::Direction::HigherIsBetter => (Direction::HigherIsBetter, -difference),
                stats::Direction::Neutral | stats::Direction::DifferenceOnly => (Direction::Neutral, difference),
            };
            match grammar::word(direction, size) {
                VerdictKind::Slower => LookDecision::Slower,
                VerdictKind::Faster => LookDecision::Faster,
                VerdictKind::Less => LookDecision::Less,
                _ => LookDecision::More,
            }
        }
    }
}

/// The next step where nothing is decided. Otherwise `None`.
pub fn advice(report: &SequentialReport) -> Option<String> {
    let next = report.design.looks.get(report.look);
    match (report.decision, next) {
        (LookDecision::GoOn, _) if report.without_prospects => Some(
            "No look that is left can decide this, even under the most favourable course. Plan more blocks.".to_owned(),
        ),
        (LookDecision::GoOn, Some(next)) => Some(format!("Go on: the next look is at {next} blocks.")),
        (LookDecision::Inconclusive, _) => Some(
            "The design is at its end. A new campaign with more blocks can decide it. Adding runs to this one cannot."
                .to_owned(),
        ),
        _ => None,
    }
}

/// The verdict of a decision.
pub const fn kind(decision: LookDecision) -> VerdictKind {
    match decision {
        LookDecision::Slower => VerdictKind::Slower,
        LookDecision::Faster => VerdictKind::Faster,
        LookDecision::More => VerdictKind::More,
        LookDecision::Less => VerdictKind::Less,
        LookDecision::Equivalent => VerdictKind::Equivalent,
        LookDecision::GoOn | LookDecision::Inconclusive => VerdictKind::Inconclusive,
    }
}

/// The sentence of a comparison: what was decided, with its repeated interval, and at which look. No full stop.
///
/// `scale` says how an overhead is printed: a rate by the change of the rate. `unit` is that of the difference, for metrics without a per cent.
pub fn sentence(report: &SequentialReport, (a, b): (&str, &str), scale: stats::Direction, unit: &str) -> String {
    let when = format!(
        "look {} of {} with {} of {} blocks",
        report.look,
        report.design.looks.len(),
        report.n,
        report.blocks()
    );
    let interval = told(report, scale);
    let level = significant(report.confidence_pct(), 3);
    let sign = if interval.as_ref().is_some_and(|told| told.per_cent) {
        " %".to_owned()
    } else {
        format!(" {unit}").trim_end().to_owned()
    };
    let ends = |told: &ShownEffect| {
        told.ends.map_or_else(
            || format!("the repeated {level} % interval has no end"),
            |(low, high)| {
                format!("repeated {level} % interval {} to {}", fixed(low, told.places), fixed(high, told.places))
            },
        )
    };
    match (report.decision, interval) {
        (LookDecision::GoOn, Some(told)) => {
            format!("nothing is decided between {a} and {b} yet ({}{sign}), {when}", ends(&told))
        }
        (LookDecision::Inconclusive, Some(told)) => {
            format!("no difference shown between {a} and {b} ({}{sign}), undecided at {when}", ends(&told))
        }
        (LookDecision::GoOn | LookDecision::Inconclusive, None) => {
            format!("nothing is decided between {a} and {b}, {when}")
        }
        (LookDecision::Equivalent, told) => {
            let margin = report.margin_pct.map_or_else(String::new, |margin| significant(margin, 3));
            let ends = told.map_or_else(String::new, |told| format!(" ({}{sign})", ends(&told)));
            format!("{a} and {b} are equivalent within {margin} %{ends}, decided at {when}")
        }
        (decision, Some(told)) => {
            let word = decision.words();
            let turned = told.turned();
            format!(
                "{b} is {}{sign} {word} than {a} ({}), decided at {when}",
                fixed(turned.size.abs(), turned.places),
                ends(&turned)
            )
        }
        (decision, None) => format!("{b} is {} than {a}, decided at {when}", decision.words()),
    }
}

/// A size and its ends as printed.
struct ShownEffect {
    size: f64,
    ends: Option<(f64, f64)>,
    places: usize,
    per_cent: bool,
}

impl ShownEffect {
    /// The word carries the sign: ends turn with it.
    fn turned(mut self) -> Self {
        if self.size < 0.0 {
            self.ends = self.ends.map(|(low, high)| (-high, -low));
        }
        self
    }
}

fn told(report: &SequentialReport, scale: stats::Direction) -> Option<ShownEffect> {
    let digits = |ends: Option<(f64, f64)>| ends.map_or(1, |(low, high)| decimals(low, high));
    if let Some(overhead) = report.overhead_pct {
        let size = stats::overhead::change_pct(overhead, scale)?;
        let ends = report.repeated_interval_pct.and_then(|i| stats::overhead::change_interval((i.low, i.high), scale));
        return Some(ShownEffect { size, ends, places: digits(ends), per_cent: true });
    }
    let ends = report.repeated_interval.map(|i| (i.low, i.high))?;
    Some(ShownEffect { size: 0.5 * (ends.0 + ends.1), ends: Some(ends), places: digits(Some(ends)), per_cent: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(decision: LookDecision, overhead_pct: f64, ends: (f64, f64)) -> SequentialReport {
        SequentialReport {
            look: 2,
            n: 8,
            information: 8.0 / 30.0,
            z_boundary: Some(4.19),
            nominal_p: 2.8e-5,
            decision,
            repeated_interval_pct: Some(Interval::new(ends.0, ends.1)),
            stagewise_p: Some(1e-5),
            median_unbiased_pct: Some(overhead_pct),
            runs_saved_of_max: 22,
            overhead_pct: Some(overhead_pct),
            repeated_interval: None,
            margin_pct: Some(2.0),
            without_prospects: false,
            design: DesignReport { spending: "obf", alpha: 0.05, family: 1, looks: vec![5, 8, 12, 20, 30] },
            looks: Vec::new(),
        }
    }

    fn told(decision: LookDecision, overhead: f64, ends: (f64, f64), scale: stats::Direction) -> String {
        sentence(&report(decision, overhead, ends), ("native", "docker"), scale, "ms")
    }

    #[test]
    fn a_decision_names_its_interval_and_its_look() {
        let lower = stats::Direction::LowerIsBetter;
        assert_eq!(
            told(LookDecision::Slower, 3.1, (1.9, 4.3), lower),
            "docker is 3.1 % slower than native (repeated 95 % interval 1.9 to 4.3), decided at look 2 of 5 with 8 of 30 blocks"
        );
        assert_eq!(
            told(LookDecision::Faster, -3.1, (-4.3, -1.9), lower),
            "docker is 3.1 % faster than native (repeated 95 % interval 1.9 to 4.3), decided at look 2 of 5 with 8 of 30 blocks"
        );
        assert_eq!(
            told(LookDecision::Equivalent, 0.1, (-0.8, 1.0), lower),
            "native and docker are equivalent within 2 % (repeated 95 % interval -0.8 to 1.0 %), decided at look 2 of 5 with 8 of 30 blocks"
        );
        let open = told(LookDecision::GoOn, 0.1, (-8.0, 9.0), lower);
        assert!(open.starts_with("nothing is decided between native and docker yet"), "{open}");
    }

    #[test]
    fn a_rate_is_told_by_the_change_of_the_rate() {
        // An overhead of 25 % is a rate of four fifths.
        let said = told(LookDecision::Slower, 25.0, (23.5, 26.6), stats::Direction::HigherIsBetter);
        assert!(
            said.starts_with("docker is 20.0 % slower than native (repeated 95 % interval 19.0 to 21.0)"),
            "{said}"
        );
    }

    #[test]
    fn what_comes_next_is_said_where_nothing_is_decided() {
        let next = |decision| advice(&report(decision, 0.1, (-8.0, 9.0)));
        assert_eq!(next(LookDecision::GoOn).as_deref(), Some("Go on: the next look is at 12 blocks."));
        assert!(next(LookDecision::Inconclusive).unwrap().contains("at its end"));
        assert_eq!(next(LookDecision::Slower), None);
        let hopeless = SequentialReport { without_prospects: true, ..report(LookDecision::GoOn, 0.1, (-8.0, 9.0)) };
        assert!(advice(&hopeless).unwrap().contains("No look that is left"));
    }
}
