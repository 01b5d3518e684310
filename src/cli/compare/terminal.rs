//! The verdicts of `compare` on a terminal, and what they decide.
//!
//! In:  the comparisons that are shown, cells of single sides.  Out: text, and the exit code of the gate.
//! Not here: the same for programs (see `machine`) and for pull requests (see `markdown`).

use super::MOST_CELLS;
use crate::cli::outcome::Outcome;
use crate::cli::talk::Talk;
use sparkbench_verdict::number::{count, significant};
use sparkbench_verdict::report::{Comparison, Scope, VerdictKind};

/// Whether it is worse by more than its margin.
pub(super) fn is_beyond(c: &Comparison) -> bool {
    let margin = c.tost.as_ref().map_or(0.0, |t| t.margin_pct);
    c.verdict.kind == VerdictKind::Slower && c.overhead_pct.is_some_and(|x| x > margin)
}

/// A loss beyond the margin in any load refuses. What is open is asked of the answers, and of loads that could not be compared at all.
pub(super) fn gate(shown: &[&Comparison]) -> Outcome {
    let primary = || shown.iter().filter(|c| c.primary);
    if primary().any(|c| is_beyond(c)) {
        Outcome::Refused
    } else if primary().any(|c| is_open(c)) {
        Outcome::Undecided
    } else {
        Outcome::Done
    }
}

/// Each comparison as one line under its name, and beside it what kind of verdict that is. Figures that cannot be compared stand there as
/// well. With `--verbose` the sentence in full and every reason.
pub(super) fn draw(shown: &[&Comparison], alone: &[String], decision: Outcome, talk: &Talk) -> String {
    let mut text = String::new();
    let mut advice: Vec<&str> = Vec::new();
    let mut caveats = 0;
    let several = shown.iter().any(|c| shown.first().is_some_and(|first| first.candidate != c.candidate));
    for c in shown {
        let of = if several { format!("{} · ", c.candidate) } else { String::new() };
        text.push_str(&format!("{of}{} · {}\n", place(c), c.label));
        text.push_str(&format!("  {:<15} {}\n", c.verdict.word(), c.verdict.said));
        let told = c.verdict.kind == VerdictKind::NotComparable && !c.verdict.is_once();
        if let (true, Some(x), Some(y)) = (told, c.mean_baseline, c.mean_candidate) {
            let (x, y) = (significant(x, 4), significant(y, 4));
            text.push_str(&format!(
                "  {:<15} {} {x} {unit}, {} {y} {unit}\n",
                "",
                c.baseline,
                c.candidate,
                unit = c.unit
            ));
        }
        if talk.is_verbose() {
            text.push_str(&format!("  {:<15} {}\n", "in full", c.verdict.text));
        }
        let once = c.verdict.advice.as_deref().filter(|_| c.verdict.is_once());
        advice.extend(once.filter(|text| !advice.contains(text)));
        caveats += c.verdict.caveats.len() + c.verdict.because.len().saturating_sub(1);
    }
    // One sentence is enough: that of the metric shown first.
    if let Some(first) = advice.first() {
        text.push_str(&format!("{first}\n"));
    }
    if caveats > 0 && !talk.is_verbose() {
        text.push_str(&format!("{} and caveats, shown with -v\n", count(caveats, "reason")));
    }
    for line in alone.iter().take(MOST_CELLS) {
        text.push_str(&format!("{line}\n"));
    }
    if alone.len() > MOST_CELLS {
        text.push_str(&format!("{} more in one side only\n", count(alone.len() - MOST_CELLS, "cell")));
    }
    let open = shown.iter().filter(|c| c.primary && is_open(c)).count();
    let primary = shown.iter().filter(|c| c.primary && (c.is_answer || is_forbidden(c))).count();
    text.push_str(&match decision {
        Outcome::Refused => "Worse beyond the margin.\n".to_owned(),
        Outcome::Undecided => format!("No verdict on {open} of {}.\n", count(primary, "primary metric")),
        Outcome::Done => "No regression beyond the margin.\n".to_owned(),
    });
    text
}

/// Model and workload, or how many loads an answer is about.
fn place(c: &Comparison) -> String {
    match c.scope {
        Scope::Load => format!("{} · {}", c.model, c.workload),
        Scope::AllLoads if c.model.is_empty() => format!("all {}", count(c.loads.len(), "load")),
        Scope::AllLoads => format!("{} · all {}", c.model, count(c.loads.len(), "load")),
    }
}

fn is_open(c: &Comparison) -> bool {
    (c.is_answer && c.verdict.kind == VerdictKind::Inconclusive) || is_forbidden(c)
}

fn is_forbidden(c: &Comparison) -> bool {
    c.verdict.kind == VerdictKind::NotComparable
}
