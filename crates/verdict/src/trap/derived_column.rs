//! A column that is a product or ratio of others is not a further measurement (P5).
//!
//! In:  [`Case::derived`].  Out: one finding for each derived column.
//! Not here: how it is found (see `columns`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, named};
use crate::case::Case;
use crate::columns::{CHANCE, Derived, MATCHING_SHARE, MIN_ROWS, PRODUCT, Relation, SPREAD_OVER_ROUNDING};
use crate::number::{list, significant};
use crate::report::{Evidence, Severity, Subject};

/// A product or ratio of other columns.
pub(super) struct DerivedColumn;

impl Trap for DerivedColumn {
    fn id(&self) -> &'static str {
        PRODUCT
    }
    fn code(&self) -> Option<&'static str> {
        Some("P5")
    }
    fn title(&self) -> &'static str {
        "One measurement in two columns"
    }
    fn severity(&self) -> Severity {
        Severity::Note
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        format!(
            "One column is another column times a constant.\n\n\
             A table with requests per second and tokens per second looks like two confirmations of one result. When every request \
             makes the same number of tokens, the second column is the first times a constant. It confirms nothing.\n\n\
             The check looks for columns that equal a constant times another or over another. It also looks for a product or ratio \
             of two others. The relation must hold in at least {:.0} % of at least {MIN_ROWS} rows. A printed value stands for half \
             a unit of its last place on either side. A column must vary by at least {SPREAD_OVER_ROUNDING} times its rounding, and \
             independent columns must show the relation less often than {CHANCE:e}. Such a column is left out of the family of \
             tests.\n\n\
             Publish one of the two columns, and say how the other follows from it.",
            100.0 * MATCHING_SHARE
        )
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let found: Vec<&Derived> = case.derived().iter().filter(|d| d.relation == Relation::Product).collect();
        if found.is_empty() {
            return vec![nothing(case)];
        }
        found.iter().map(|derived| say(case, derived)).collect()
    }
}

fn nothing(case: &Case<'_>) -> Finding {
    let columns = case.metrics().len();
    if columns < 2 || case.runs.len() < MIN_ROWS {
        let message =
            format!("needs at least two metrics and {MIN_ROWS} runs. There are {columns} and {}", case.runs.len());
        return Finding::not_evaluated(Subject::of(case), message);
    }
    Finding::passed(
        Subject::of(case),
        format!("none of {columns} columns is a product or ratio of others to the printed digit"),
    )
}

fn say(case: &Case<'_>, derived: &Derived) -> Finding {
    let from: Vec<String> = derived.from.iter().map(|name| named(name)).collect();
    let message = format!(
        "{} follows from {} in {} of {} rows: {}",
        named(&derived.column),
        list(&from),
        derived.matching,
        derived.rows,
        derived.rule
    );
    let example = case.runs.iter().find_map(|run| {
        let parts: Option<Vec<String>> = std::iter::once(&derived.column)
            .chain(&derived.from)
            .map(|name| Some(format!("{name} {}", significant(run.value(name)?, 9))))
            .collect();
        Some(Evidence::run(list(&parts?), run.id.clone()))
    });
    let exceptions = derived.exceptions.iter().map(|id| Evidence::run("the relation does not hold here", id.clone()));
    Finding::fired(Subject::of(case).with_metric(&derived.column), message)
        .evidence(example.into_iter().chain(exceptions))
        .remedy(format!(
            "count {} and {} as one measurement. The family of tests leaves the first out",
            named(&derived.column),
            list(&from)
        ))
}
