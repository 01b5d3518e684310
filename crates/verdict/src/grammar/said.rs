//! One spoken line for each comparison, and the next step where nothing is decided.
//!
//! In:  a comparison with its estimates, and the rule that held.  Out: [`said`], [`advice`].
//! Not here: the rules, the caveats.
//!
//! A rate is given as a ratio of rates and a time as a ratio of times, both candidate over baseline. Nobody has to turn an overhead of
//! a throughput round in the head.

use super::Incomparability;
use crate::number::{count, decimals, fixed, significant};
use crate::promise;
use crate::report::{Comparison, VerdictKind};
use sparkbench_model::{Direction, Metric, within};

/// Fewest runs per arm from which an exact test can reach p < 0.05. With three and three runs the most extreme order has p = 0.1.
pub(crate) const LEAST_RUNS: usize = 4;

/// Most decimals of a ratio.
const FINEST: usize = 4;

/// The line of a comparison. It begins with a small letter or a name, and has no full stop.
pub(crate) fn said(
    c: &Comparison,
    metric: &Metric,
    kind: VerdictKind,
    within_margin: bool,
    obstacles: &[Incomparability],
) -> String {
    let (a, b) = (&c.baseline, &c.candidate);
    match kind {
        VerdictKind::Slower | VerdictKind::Faster | VerdictKind::More | VerdictKind::Less => {
            let small = c.tost.as_ref().filter(|_| within_margin);
            let small =
                small.map_or_else(String::new, |t| format!(", less than the margin of {}", percent(t.margin_pct)));
            format!("{}{small}", difference(c, metric))
        }
        VerdictKind::Equivalent => {
            let margin = c.tost.as_ref().map_or(0.0, |t| t.margin_pct);
            format!("no difference larger than {} between {a} and {b}", percent(margin))
        }
        VerdictKind::Inconclusive => {
            // An interval that leaves zero out beside "undecided" is explained in its place.
            let beyond = c.change_ci.is_some_and(|ci| ci.low > 0.0 || ci.high < 0.0);
            let open = match c.p_adjusted.family_size {
                family if beyond && family > 1 => {
                    format!("undecided once adjusted for {}", count(family, "comparison"))
                }
                _ => "undecided".to_owned(),
            };
            match (more(c), largest(c)) {
                (Some(more), Some(most)) => format!("{open}: {more} (could be up to {most})"),
                (Some(more), None) => format!("{open}: {more}"),
                (None, Some(most)) => format!("{open}: the difference could be up to {most}"),
                (None, None) => format!("{open}: the runs set no bound on the difference"),
            }
        }
        VerdictKind::NotComparable if is_once(c, obstacles) => {
            let runs = match (c.n_baseline, c.n_candidate) {
                (1, 1) => "in one run each".to_owned(),
                (x, y) => format!("with {} of {b} and {x} of {a}", count(y, "run")),
            };
            let figures = c.mean_baseline.zip(c.mean_candidate);
            let figures = figures.map_or_else(String::new, |(x, y)| {
                format!(" ({} against {} {})", significant(y, 4), significant(x, 4), c.unit)
            });
            format!("{}, {runs}{figures}", difference(c, metric))
        }
        VerdictKind::NotComparable => {
            // Few runs alone would not forbid it, so that reason is the last.
            let (few, grave): (Vec<_>, Vec<_>) = obstacles.iter().partition(|o| o.code == FEW_RUNS);
            let mut reasons = grave.into_iter().chain(few).map(|o| plain(&o.because));
            let first = reasons.next().unwrap_or_else(|| "no reason is recorded".to_owned());
            let rest = match reasons.count() {
                0 => String::new(),
                more => format!(" (and {})", count(more, "more reason")),
            };
            format!("{a} and {b} cannot be compared: {first}{rest}")
        }
    }
}

/// The next step, or how far one run can be believed. `None` where the comparison is decided.
pub(crate) fn advice(c: &Comparison, kind: VerdictKind, obstacles: &[Incomparability]) -> Option<String> {
    if kind == VerdictKind::Inconclusive {
        let measure = |promise| format!("Measure {}, taking turns.", promise::amount(promise, c.design));
        let apart = "Let the arms take turns: one after the other costs four times the runs.";
        return c.promise.as_ref().map(measure).or_else(|| c.design.is_apart().then(|| apart.to_owned()));
    }
    if kind != VerdictKind::NotComparable || !is_once(c, obstacles) {
        return None;
    }
    let margin = Metric::find(&c.metric).map(|metric| metric.margin_pct);
    let small = margin.filter(|margin| c.change_pct.is_some_and(|change| change.abs() < *margin));
    let far = match small {
        Some(margin) => format!("A difference within the margin of {} shows nothing yet.", percent(margin)),
        None => "Believe the difference only if repeats of one arm lie much closer together.".to_owned(),
    };
    Some(format!(
        "A single run does not show how much runs differ by themselves. {far} {LEAST_RUNS} runs per arm, taking turns, can show more."
    ))
}

/// Whether the number of runs is the only thing that forbids a verdict, and both arms have a figure.
pub(crate) fn is_once(c: &Comparison, obstacles: &[Incomparability]) -> bool {
    let by_number = |o: &Incomparability| o.code == FEW_RUNS;
    !obstacles.is_empty() && obstacles.iter().all(by_number) && (c.change_pct.is_some() || c.difference.is_some())
}

/// Code of too few runs.
const FEW_RUNS: &str = "N1";

/// "8 more blocks (3 h) decide it with probability 0.8". Absent where nothing can be promised.
pub(crate) fn more(c: &Comparison) -> Option<String> {
    Some(promise::text(c.promise.as_ref()?, c.design))
}

/// The largest differences that the interval allows: `5.6 % less or 3.5 % more`, or in the unit where there is no per cent.
pub(crate) fn largest(c: &Comparison) -> Option<String> {
    match (c.change_ci, c.difference_ci) {
        (Some(_), _) => sides(&[c]),
        (None, Some(ci)) if c.overhead_pct.is_none() => between(c, -ci.low, ci.high, decimals(ci.low, ci.high), c.unit),
        _ => None,
    }
}

/// The same over several comparisons of one metric: the furthest on each side.
pub(crate) fn sides(own: &[&Comparison]) -> Option<String> {
    let reach = |c: &&Comparison| {
        let ci = c.change_ci?;
        Some((-ci.low, ci.high, decimals(ci.low, ci.high)))
    };
    let far = |(down, up, _): &(f64, f64, usize)| down.max(*up);
    let reaches: Vec<(f64, f64, usize)> = own.iter().filter_map(reach).collect();
    let places = reaches.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?.2;
    let down = reaches.iter().map(|(down, ..)| *down).fold(0.0, f64::max);
    let up = reaches.iter().map(|(_, up, _)| *up).fold(0.0, f64::max);
    between(own.first()?, down, up, places, "%")
}

/// Whether more of it is longer, and not more.
pub(crate) fn is_time(c: &Comparison) -> bool {
    c.direction == Direction::LowerIsBetter && matches!(c.unit, "ms" | "s")
}

/// `5.6 % shorter or 3.5 % longer`, the larger first. A side that rounds to nothing is not named, unless both do.
fn between(c: &Comparison, down: f64, up: f64, places: usize, unit: &str) -> Option<String> {
    let (less, more) = if is_time(c) { ("shorter", "longer") } else { ("less", "more") };
    let mut sides = [(down, less), (up, more)];
    sides.sort_by(|a, b| b.0.total_cmp(&a.0));
    let hidden = |most: f64| most < 0.5 * 10f64.powi(-i32::try_from(places).unwrap_or(0));
    let [(most, _), _] = sides;
    if !most.is_finite() {
        return None;
    }
    let shown = sides.iter().filter(|(side, _)| if hidden(most) { *side > 0.0 } else { !hidden(*side) });
    let print = |side: f64| if hidden(side) { significant(side, 2) } else { fixed(side, places) };
    let shown: Vec<(String, &str)> = shown.map(|(side, word)| (print(*side), *word)).collect();
    if let [(one, less), (other, more)] = shown.as_slice()
        && one == other
    {
        return Some(format!("{one} {unit} {less} or {more}"));
    }
    let shown: Vec<String> = shown.into_iter().map(|(side, word)| format!("{side} {unit} {word}")).collect();
    Some(if shown.is_empty() { format!("{} {unit}", fixed(0.0, places)) } else { shown.join(" or ") })
}

/// How the two arms differ, in the words of the metric, with the interval where there is one.
fn difference(c: &Comparison, metric: &Metric) -> String {
    let (a, b) = (&c.baseline, &c.candidate);
    let label = within(&c.label);
    let Some(change) = c.change_pct else {
        return apart(c);
    };
    let ends = c.change_ci.map(|ci| (ci.low, ci.high));
    if metric.direction == Direction::Neutral {
        let places = ends.map_or(1, |(low, high)| decimals(low, high));
        let word = if change < 0.0 { "less" } else { "more" };
        let ends = ends.map(|(low, high)| if change < 0.0 { (-high, -low) } else { (low, high) });
        let ends = ends
            .map_or_else(String::new, |(low, high)| format!(" ({} to {} %)", fixed(low, places), fixed(high, places)));
        return format!("{b} has {} % {word} {label} than {a}{ends}", fixed(change.abs(), places));
    }
    let ratio = ratio(change, ends);
    match kind_of(metric) {
        Kind::Rate => format!("{b} is {} times as fast as {a}{}", ratio.0, ratio.1),
        Kind::Time => format!("{b} takes {} times as long as {a}{}", ratio.0, ratio.1),
        Kind::Cost => format!("{b} has {} times the {label} of {a}{}", ratio.0, ratio.1),
    }
}

/// A difference without a per cent, in its unit.
fn apart(c: &Comparison) -> String {
    let size = c.difference.unwrap_or(0.0);
    let word = if size < 0.0 { "lower" } else { "higher" };
    let places = c.difference_ci.map_or(1, |ci| decimals(ci.low, ci.high));
    let ends = c.difference_ci.map(|ci| if size < 0.0 { (-ci.high, -ci.low) } else { (ci.low, ci.high) });
    let ends =
        ends.map_or_else(String::new, |(low, high)| format!(" ({} to {})", fixed(low, places), fixed(high, places)));
    let (label, unit) = (within(&c.label), c.unit);
    format!(
        "the {label} of {} is {} {unit} {word} than that of {}{ends}",
        c.candidate,
        fixed(size.abs(), places),
        c.baseline
    )
}

enum Kind {
    Rate,
    Time,
    Cost,
}

fn kind_of(metric: &Metric) -> Kind {
    match metric.unit {
        "ms" | "s" => Kind::Time,
        unit if unit.ends_with("/s") => Kind::Rate,
        _ => Kind::Cost,
    }
}

/// The ratio that belongs to a change, and its interval in brackets. Two decimals, and more where two would hide on which side of 1 a number
/// is. Ends that would be one number have more too.
fn ratio(change: f64, ends: Option<(f64, f64)>) -> (String, String) {
    let of = |change: f64| 1.0 + change / 100.0;
    let text = |change: f64, places: usize| fixed(of(change), if of(change) >= 10.0 { 1 } else { places });
    let is_hidden =
        |change: f64, places: usize| change != 0.0 && (change / 100.0).abs() < 0.5 * 10f64.powi(-(places as i32));
    let least = |fits: &dyn Fn(usize) -> bool| (2..FINEST).find(|places| fits(*places)).unwrap_or(FINEST);
    let Some((low, high)) = ends else {
        return (text(change, least(&|places| !is_hidden(change, places))), String::new());
    };
    let crosses = low <= 0.0 && high >= 0.0;
    let own = least(&|places| crosses || !is_hidden(change, places));
    let outer = least(&|places| {
        let apart = low == high || text(low, places) != text(high, places);
        apart && (crosses || !(is_hidden(low, places) || is_hidden(high, places)))
    });
    let outer = outer.max(own);
    (text(change, own), format!(" ({} to {})", text(low, outer), text(high, outer)))
}

fn percent(value: f64) -> String {
    format!("{} %", significant(value, 3))
}

/// A reason without its code in brackets.
fn plain(because: &str) -> String {
    match because.rsplit_once(" (") {
        Some((text, code)) if code.ends_with(')') && !code.contains(' ') => text.to_owned(),
        _ => because.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Design;
    use crate::report::{Interval, PromiseReport, TostReport};
    use crate::testing::comparison;

    fn metric(name: &str) -> Metric {
        Metric::find(name).unwrap()
    }

    fn told(name: &str, change: f64, ends: (f64, f64), kind: VerdictKind) -> String {
        let metric = metric(name);
        let mut c = comparison(&metric);
        c.change_pct = Some(change);
        c.change_ci = Some(Interval::new(ends.0, ends.1));
        said(&c, &metric, kind, false, &[])
    }

    #[test]
    fn a_difference_is_told_as_people_say_it() {
        use VerdictKind::{Faster, Less, More, Slower};
        for (name, change, ends, kind, line) in [
            (
                "output_throughput_tok_s",
                4.0,
                (1.0, 7.0),
                Faster,
                "docker is 1.04 times as fast as native (1.01 to 1.07)",
            ),
            (
                "output_throughput_tok_s",
                77.0,
                (70.0, 84.0),
                Faster,
                "docker is 1.77 times as fast as native (1.70 to 1.84)",
            ),
            (
                "output_throughput_tok_s",
                -8.0,
                (-9.0, -7.0),
                Slower,
                "docker is 0.92 times as fast as native (0.91 to 0.93)",
            ),
            (
                "output_throughput_tok_s",
                0.3,
                (0.1, 0.5),
                Faster,
                "docker is 1.003 times as fast as native (1.001 to 1.005)",
            ),
            (
                "output_throughput_tok_s",
                4.1,
                (3.8, 4.3),
                Faster,
                "docker is 1.04 times as fast as native (1.038 to 1.043)",
            ),
            ("ttft_ms", 43.0, (40.0, 46.0), Slower, "docker takes 1.43 times as long as native (1.40 to 1.46)"),
            (
                "energy_j_per_token",
                10.0,
                (8.0, 12.0),
                Slower,
                "docker has 1.10 times the energy per token of native (1.08 to 1.12)",
            ),
            (
                "peak_memory_gib",
                43.7,
                (41.7, 45.8),
                More,
                "docker has 43.7 % more peak memory than native (41.7 to 45.8 %)",
            ),
            (
                "peak_memory_gib",
                -10.0,
                (-12.0, -8.0),
                Less,
                "docker has 10.0 % less peak memory than native (8.0 to 12.0 %)",
            ),
        ] {
            assert_eq!(told(name, change, ends, kind), line);
        }
    }

    #[test]
    fn what_is_undecided_says_what_would_decide_it_where_that_can_be_promised() {
        let metric = metric("e2e_latency_ms");
        let mut c = comparison(&metric);
        c.change_ci = Some(Interval::new(-5.6, 3.0));
        let line = |c: &Comparison| said(c, &metric, VerdictKind::Inconclusive, false, &[]);
        assert_eq!(line(&c), "undecided: the difference could be up to 5.6 % shorter or 3.0 % longer");
        c.promise = Some(PromiseReport { blocks: 9, hours: Some(0.5), probability: 0.834 });
        c.design = Design::InBlocks;
        assert_eq!(
            line(&c),
            "undecided: 9 more blocks (30 min) decide it with probability 0.83 (could be up to 5.6 % shorter or 3.0 % longer)"
        );
        c.design = Design::Interleaved;
        assert!(line(&c).starts_with("undecided: 9 more runs of each arm (30 min) decide"), "{}", line(&c));
    }

    #[test]
    fn equivalence_names_its_margin() {
        let metric = metric("e2e_latency_ms");
        let mut c = comparison(&metric);
        let (p, equivalent) = (0.01, true);
        let none = None;
        c.tost = Some(TostReport { margin_pct: 2.0, p, equivalent, p_holm: none, smallest_margin_pct: none });
        let line = said(&c, &metric, VerdictKind::Equivalent, false, &[]);
        assert_eq!(line, "no difference larger than 2 % between native and docker");
    }

    #[test]
    fn one_run_each_gives_the_ratio_and_how_far_it_can_be_believed() {
        let metric = metric("output_throughput_tok_s");
        let mut c = comparison(&metric);
        (c.n_baseline, c.n_candidate, c.change_pct) = (1, 1, Some(55.3));
        let obstacle =
            |code: &str, because: &str| Incomparability { code: code.into(), trap: None, because: because.into() };
        let once = [obstacle("N1", "native has a single run (N1)")];
        let kind = VerdictKind::NotComparable;
        assert_eq!(said(&c, &metric, kind, false, &once), "docker is 1.55 times as fast as native, in one run each");
        let advice_of = |obstacles: &[Incomparability]| advice(&c, kind, obstacles);
        let advice = advice_of(&once).unwrap();
        assert!(advice.contains("much closer together") && advice.contains("4 runs per arm"), "{advice}");
        let both = [obstacle("C2", "the quantisation differs: bf16 against fp8 (C2)"), once[0].clone()];
        assert_eq!(
            said(&c, &metric, kind, false, &both),
            "native and docker cannot be compared: the quantisation differs: bf16 against fp8 (and 1 more reason)"
        );
        assert_eq!(advice_of(&both), None);
    }
}
