//! The verdict grammar: which of four rules holds, and the sentence that says so.
//!
//! In:  the estimates of one comparison as plain values.  Out: kind and statement.
//! Not here: how the estimates were made, which runs they rest on.
//!
//! The first rule that holds picks the statement: not comparable, a difference, equivalence, no difference shown.
//! The absence of significance is never worded as sameness: only equivalence is.

pub(crate) mod said;

use super::number::{decimals, fixed, p_value, significant};
use super::report::VerdictKind;
use sparkbench_model::Direction;
use sparkbench_stats as stats;

/// Everything a verdict rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictInputs {
    pub baseline: String,
    pub candidate: String,
    /// Which way is better.
    pub direction: Direction,
    /// Unit of `size` and `interval`: `%`, or the metric's own unit where no per cent exists.
    pub unit: String,
    /// Rule 1: why the arms cannot be compared, in words, each with its code.
    pub obstacles: Vec<Incomparability>,
    /// Overhead (positive: the candidate costs more), or the difference where no per cent exists.
    pub size: Option<f64>,
    /// Its headline interval.
    pub interval: Option<(f64, f64)>,
    /// p of the deciding test, adjusted for the family.
    pub p: Option<f64>,
    /// Name of the deciding test and the adjustment, e.g. `Welch`.
    pub test: String,
    /// Members of the family.
    pub family: usize,
    /// Significance level.
    pub alpha: f64,
    /// Margin, per cent. Absent where no per cent exists.
    pub margin: Option<f64>,
    /// Whether sameness is shown at `margin`.
    pub equivalent: bool,
    /// Interval that shows it, in `unit`.
    pub inner: Option<(f64, f64)>,
    /// Its confidence, 0 to 1.
    pub inner_level: f64,
}

/// One reason why two arms cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incomparability {
    /// `P1`, `N2`, `C1`, `D1`, ...
    pub code: String,
    /// Trap that reports the same, where one does: a second code.
    pub trap: Option<&'static str>,
    /// Fits after "because".
    pub because: String,
}

/// Result of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Which rule held.
    pub kind: VerdictKind,
    /// The statement, without caveats and without the full stop.
    pub statement: String,
    /// True when rule 2 held although equivalence is shown too.
    pub within_margin: bool,
}

/// Applies the rules in order.
pub(crate) fn decide(grounds: &VerdictInputs) -> Decision {
    if !grounds.obstacles.is_empty() {
        return Decision { kind: VerdictKind::NotComparable, statement: not_comparable(grounds), within_margin: false };
    }
    if let (Some(size), Some((low, high)), Some(p)) = (grounds.size, grounds.interval, grounds.p) {
        let excludes_zero = low > 0.0 || high < 0.0;
        if p < grounds.alpha && excludes_zero {
            let kind = word(grounds.direction, size);
            return Decision {
                kind,
                statement: different(grounds, kind, size, low, high, p),
                within_margin: grounds.equivalent,
            };
        }
    }
    if grounds.equivalent
        && let (Some(size), Some((low, high)), Some(margin)) = (grounds.size, grounds.inner, grounds.margin)
    {
        let (size, low, high) = changed(grounds, size, low, high);
        let places = decimals(low, high);
        let statement = format!(
            "{} and {} are equivalent within {}% ({}%, {}% interval [{}, {}])",
            grounds.baseline,
            grounds.candidate,
            significant(margin, 3),
            fixed(size, places),
            significant(100.0 * grounds.inner_level, 3),
            fixed(low, places),
            fixed(high, places)
        );
        return Decision { kind: VerdictKind::Equivalent, statement, within_margin: false };
    }
    Decision { kind: VerdictKind::Inconclusive, statement: no_difference(grounds), within_margin: false }
}

/// The word of a difference, by the kind of metric.
pub(crate) const fn word(direction: Direction, size: f64) -> VerdictKind {
    match (direction, size > 0.0) {
        (Direction::Neutral, true) => VerdictKind::More,
        (Direction::Neutral, false) => VerdictKind::Less,
        (_, true) => VerdictKind::Slower,
        (_, false) => VerdictKind::Faster,
    }
}

fn not_comparable(grounds: &VerdictInputs) -> String {
    let because: Vec<&str> = grounds.obstacles.iter().map(|o| o.because.as_str()).collect();
    format!("{} and {} are not comparable because {}", grounds.baseline, grounds.candidate, because.join(", "))
}

/// An overhead and its ends as the change of the metric itself: of a rate these are other numbers. Ends that no rate has are left as they are.
fn changed(grounds: &VerdictInputs, size: f64, low: f64, high: f64) -> (f64, f64, f64) {
    if grounds.direction != Direction::HigherIsBetter || grounds.unit != "%" {
        return (size, low, high);
    }
    let scale = stats::Direction::HigherIsBetter;
    let change = stats::overhead::change_pct(size, scale);
    match (change, stats::overhead::change_interval((low, high), scale)) {
        (Some(size), Some((low, high))) => (size, low, high),
        _ => (size, low, high),
    }
}

/// The size is printed without its sign, since the word carries it. The ends turn with it.
fn different(grounds: &VerdictInputs, kind: VerdictKind, size: f64, low: f64, high: f64, p: f64) -> String {
    let (size, low, high) = changed(grounds, size, low, high);
    let places = decimals(low, high);
    let (low, high) = if size < 0.0 { (-high, -low) } else { (low, high) };
    let unit = if grounds.unit == "%" { "%".to_owned() } else { format!(" {}", grounds.unit) };
    let adjusted = if grounds.family > 1 { "Holm p" } else { "p" };
    format!(
        "{} is {}{unit} [{}, {}] {} than {} ({}, {adjusted} {}, family of {})",
        grounds.candidate,
        fixed(size.abs(), places),
        fixed(low, places),
        fixed(high, places),
        kind.word(),
        grounds.baseline,
        grounds.test,
        p_value(p),
        grounds.family,
    )
}

fn no_difference(grounds: &VerdictInputs) -> String {
    let unit = if grounds.unit == "%" { "%".to_owned() } else { format!(" {}", grounds.unit) };
    let bound = match grounds.interval {
        Some((low, high)) => {
            let (_, low, high) = changed(grounds, 0.0, low, high);
            let most = low.abs().max(high.abs());
            let places = decimals(low, high);
            // What the steps of a sentence would print as none at all is not none.
            let hidden = most < 0.5 * 10f64.powi(-i32::try_from(places).unwrap_or(0));
            let most = if hidden { significant(most, 2) } else { fixed(most, places) };
            format!("it could be as large as {most}{unit}")
        }
        None => "the runs set no bound on it".to_owned(),
    };
    format!("no difference shown between {} and {}; {bound}", grounds.baseline, grounds.candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grounds() -> VerdictInputs {
        VerdictInputs {
            baseline: "native".into(),
            candidate: "container".into(),
            direction: Direction::LowerIsBetter,
            unit: "%".into(),
            obstacles: Vec::new(),
            size: Some(12.34),
            interval: Some((10.1, 14.6)),
            p: Some(0.000_01),
            test: "Welch".into(),
            family: 6,
            alpha: 0.05,
            margin: Some(2.0),
            equivalent: false,
            inner: None,
            inner_level: 0.9,
        }
    }

    #[test]
    fn a_difference_names_size_interval_test_and_family() {
        let decision = decide(&grounds());
        assert_eq!(decision.kind, VerdictKind::Slower);
        assert_eq!(
            decision.statement,
            "container is 12.3% [10.1, 14.6] slower than native (Welch, Holm p < 0.0001, family of 6)"
        );
    }

    #[test]
    fn the_word_carries_the_sign_and_the_ends_turn_with_it() {
        let better = VerdictInputs { size: Some(-12.34), interval: Some((-14.6, -10.1)), ..grounds() };
        assert!(decide(&better).statement.starts_with("container is 12.3% [10.1, 14.6] faster than native"));
        let memory = VerdictInputs { direction: Direction::Neutral, ..better };
        assert!(decide(&memory).statement.contains("] less than native"));
    }

    #[test]
    fn a_rate_is_told_by_how_much_more_or_less_there_is_of_it() {
        // 100 against 177 tok/s is an overhead of -43.5 %, which no reader would understand.
        let rate = VerdictInputs {
            direction: Direction::HigherIsBetter,
            size: Some(-43.5),
            interval: Some((-45.0, -42.0)),
            ..grounds()
        };
        let statement = decide(&rate).statement;
        assert!(statement.starts_with("container is 77.0% [72.4, 81.8] faster than native"), "{statement}");
        let slower = VerdictInputs { size: Some(25.0), interval: Some((24.0, 26.0)), ..rate };
        let statement = decide(&slower).statement;
        assert!(statement.starts_with("container is 20.0% [19.4, 20.6] slower than native"), "{statement}");
    }

    #[test]
    fn equivalence_is_claimed_only_when_shown() {
        let same = VerdictInputs {
            size: Some(0.1),
            interval: Some((-0.4, 0.6)),
            p: Some(0.6),
            equivalent: true,
            inner: Some((-0.3, 0.5)),
            ..grounds()
        };
        assert_eq!(
            decide(&same).statement,
            "native and container are equivalent within 2% (0.1%, 90% interval [-0.3, 0.5])"
        );
        assert_eq!(decide(&VerdictInputs { equivalent: false, ..same }).kind, VerdictKind::Inconclusive);
    }

    #[test]
    fn a_bound_below_the_last_place_keeps_its_digits() {
        let of = |low: f64, high: f64| {
            let grounds = VerdictInputs { size: Some(0.0), interval: Some((low, high)), p: Some(0.5), ..grounds() };
            decide(&VerdictInputs { margin: None, ..grounds }).statement
        };
        assert!(of(-0.0041, 0.0089).ends_with("could be as large as 0.0089%"), "{}", of(-0.0041, 0.0089));
        assert!(of(0.0, 0.0).ends_with("could be as large as 0%"), "{}", of(0.0, 0.0));
        assert!(of(-0.31, 0.29).ends_with("could be as large as 0.3%"), "{}", of(-0.31, 0.29));
    }

    #[test]
    fn an_obstacle_comes_before_everything() {
        let obstacle =
            Incomparability { code: "P1".into(), trap: None, because: "the weights do not fit the machine".into() };
        let decision = decide(&VerdictInputs { obstacles: vec![obstacle], ..grounds() });
        assert_eq!(decision.kind, VerdictKind::NotComparable);
        assert_eq!(
            decision.statement,
            "native and container are not comparable because the weights do not fit the machine"
        );
    }
}
