//! A KV cache that is a straight line of the memory in use was computed from it, not measured (P7).
//!
//! In:  [`Case::derived`].  Out: one finding for each column.
//! Not here: how it is found (see `columns`), what the memory column holds (see `memory_scope`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, named};
use crate::case::Case;
use crate::columns::{AFFINE, CHANCE, Derived, MIN_ROWS, Relation, SPREAD_OVER_ROUNDING};
use crate::number::significant;
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::Metric;

/// A straight line of another column.
pub(super) struct AffineColumns;

impl Trap for AffineColumns {
    fn id(&self) -> &'static str {
        AFFINE
    }
    fn code(&self) -> Option<&'static str> {
        Some("P7")
    }
    fn title(&self) -> &'static str {
        "A column computed from another"
    }
    fn severity(&self) -> Severity {
        Severity::Note
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        format!(
            "One column of figures is a straight line of another.\n\n\
             An inference engine sizes its KV cache by a formula: a fraction of the memory that is free after loading. A smaller \
             cache in one environment is then no finding of its own. It restates how much memory was in use.\n\n\
             The check fits `a + b x` by least squares to each pair of columns. It fires when no row lies farther from the line \
             than the rounding of both columns allows. This takes at least {MIN_ROWS} distinct values that vary by at least \
             {SPREAD_OVER_ROUNDING} times their rounding. Independent columns must do the same less often than {CHANCE:e}. The \
             slope is the engine's fraction, and the intercept gives the total it saw.\n\n\
             Fix the size of the cache. Otherwise report only the memory it was computed from."
        )
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let findings: Vec<Finding> = case.derived().iter().filter_map(|derived| say(case, derived)).collect();
        if findings.is_empty() { vec![nothing(case)] } else { findings }
    }
}

fn nothing(case: &Case<'_>) -> Finding {
    let varying = case.metrics().into_iter().filter(|name| case.distinct_values(name) >= MIN_ROWS).count();
    let subject = Subject::of(case);
    if varying < 2 {
        let message = format!("needs two columns with at least {MIN_ROWS} distinct values. There is {varying}");
        return Finding::not_evaluated(subject, message);
    }
    Finding::passed(
        subject,
        format!("no straight line joins any two of {varying} varying columns within their rounding"),
    )
}

fn say(case: &Case<'_>, derived: &Derived) -> Option<Finding> {
    let Relation::Affine { slope, intercept, residual } = derived.relation else { return None };
    let from = derived.from.first()?;
    let unit = Metric::find(&derived.column).map_or("", |m| m.unit);
    let message = format!(
        "{} is a straight line of {} in all {} rows: {}, largest residual {} {unit}",
        named(&derived.column),
        named(from),
        derived.rows,
        derived.rule,
        significant(residual, 2)
    );
    let mut evidence = vec![Evidence::text(format!(
        "slope {}, intercept {} {unit}, zero at {} {}",
        significant(slope, 5),
        significant(intercept, 6),
        significant(-intercept / slope, 6),
        Metric::find(from).map_or("", |m| m.unit)
    ))];
    if let Some(run) = case.runs.iter().find(|run| run.value(&derived.column).is_some() && run.value(from).is_some()) {
        let pair = [&derived.column, from]
            .map(|name| format!("{name} {}", run.value(name).map_or_else(String::new, |v| significant(v, 7))));
        evidence.push(Evidence::run(pair.join(", "), run.id.clone()));
    }
    Some(Finding::fired(Subject::of(case).with_metric(&derived.column), message).evidence(evidence).remedy(format!(
        "read {} and {} as one measurement. Fix the size of the first by hand to make them two",
        named(&derived.column),
        named(from)
    )))
}
