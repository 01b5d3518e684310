//! A 3 sigma rule that can never flag anything.
//!
//! In:  runs of each cell.  Out: one finding for each question.
//! Not here: rules that can (see `stats::outlier`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place};
use crate::case::Case;
use crate::number::{count, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_stats::outlier::{MODIFIED_Z, SIGMA};

/// The 3 sigma rule cannot fire.
pub(super) struct OutlierRuleCannotFire;

/// Largest |x - mean| / sd that n values can have.
pub(super) fn bound(n: usize) -> f64 {
    if n == 0 { 0.0 } else { (n as f64 - 1.0) / (n as f64).sqrt() }
}

/// Fewest values of which one can lie beyond [`SIGMA`].
pub(super) fn least() -> usize {
    (1..).find(|n| bound(*n) > SIGMA).unwrap_or(usize::MAX)
}

impl Trap for OutlierRuleCannotFire {
    fn id(&self) -> &'static str {
        "outlier-rule-cannot-fire"
    }
    fn title(&self) -> &'static str {
        "An outlier rule that cannot fire"
    }
    fn severity(&self) -> Severity {
        Severity::Note
    }
    fn theme(&self) -> Theme {
        Theme::Counts
    }
    fn about(&self) -> String {
        format!(
            "The usual rule for outliers can find none in so few runs.\n\n\
             \"No run lies beyond {SIGMA} standard deviations\" sounds like a check that was passed. But an extreme value also \
             widens the standard deviation. Among n values none can lie farther than (n - 1) / sqrt(n) standard deviations from the \
             mean. At ten values that is {}, so the rule says \"no outliers\" for every sample of ten.\n\n\
             The check fires when an arm has fewer than {} runs.\n\n\
             Use rules that resist the outlier. One is the distance from the median in units of the median distance, scaled to a \
             standard deviation (beyond {MODIFIED_Z}). The other is Tukey's fences. Both are applied to every arm, and both only \
             flag.",
            significant(bound(10), 4),
            least()
        )
    }
    fn is_general(&self) -> bool {
        // That a rule cannot fire follows from the number of runs alone.
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let arms = case.arms(model, workload);
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let mute: Vec<_> = arms.iter().filter(|cell| bound(cell.runs.len()) <= SIGMA).collect();
    let Some(smallest) = mute.iter().map(|cell| cell.runs.len()).min() else {
        return Finding::passed(
            subject,
            format!("{place}: every arm has at least {} runs, so one beyond {SIGMA} sigma could be seen", least()),
        );
    };
    let message = format!(
        "{place}: the {SIGMA} sigma rule cannot fire at n = {smallest}, where no value lies beyond {} standard deviations. \"0 outliers\" would say nothing",
        significant(bound(smallest), 4)
    );
    let rows = mute.iter().map(|cell| {
        Evidence::text(format!(
            "{}: {}, at most {} standard deviations",
            cell.environment,
            count(cell.runs.len(), "run"),
            significant(bound(cell.runs.len()), 4)
        ))
    });
    Finding::fired(subject, message)
        .evidence(rows)
        .remedy("use the modified z score or Tukey's fences, which flag runs on the page of each model and workload")
}
