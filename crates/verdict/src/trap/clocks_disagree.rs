//! Machines of one run whose clocks disagree.
//!
//! In:  offsets of each further machine before and after its run.  Out: one finding for each question.
//! Not here: reading clocks (see `host::meet`), putting samples on the clock of the head (see `ingest`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place};
use crate::case::Case;
use crate::number::{count, list, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{Node, Run};

/// Wall clocks may be so far apart, ms. NTP in one network keeps them within a millisecond or two.
pub(super) const WALL_MS: f64 = 10.0;
/// Largest drift between two good clocks, parts per million. NTP corrects at most 500, and a free quartz drifts by 50.
pub(super) const DRIFT_PPM: f64 = 500.0;
/// An offset that may be wrong by more than this is not known, ms.
pub(super) const BOUND_MS: f64 = 5.0;

/// Clocks of the machines disagree.
pub(super) struct ClocksDisagree;

impl Trap for ClocksDisagree {
    fn id(&self) -> &'static str {
        "clocks-disagree"
    }
    fn title(&self) -> &'static str {
        "The clocks of the machines disagree"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        format!(
            "The clocks of several machines disagree.\n\n\
             A run on several machines is put together from the samples and logs of each. Two clocks that are 50 ms apart put the \
             power of one machine beside the work of another.\n\n\
             The offset of every machine is read before and after each run, from the shortest of many round trips. Samples are \
             moved to the clock of the head by it. The check fires when wall clocks are more than {WALL_MS} ms apart, because lines \
             of two logs can then not be compared. It fires when the offset changed during the run by more than {DRIFT_PPM} \
             millionths of its time, because somebody set a clock. It fires when an offset may be wrong by more than {BOUND_MS} ms.\n\n\
             Run chrony or another NTP client on every machine. Do not set a clock during a campaign."
        )
    }
    fn undermines(&self) -> &'static str {
        "that what happened on one machine and on another happened at the same time"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let runs = case.runs_by_arm(model, workload);
    let all: Vec<(&Run, &Node)> =
        runs.iter().flat_map(|run| run.course.nodes.iter().map(|node| (*run, node))).collect();
    if all.is_empty() {
        return Finding::not_evaluated(subject, format!("{place}: the runs have one machine"));
    }
    let known: Vec<(&Run, &Node)> = all.iter().copied().filter(|(_, node)| node.bound_s().is_some()).collect();
    if known.is_empty() {
        return Finding::not_evaluated(subject, format!("{place}: no offset of a clock is told"));
    }
    let mut rows = Vec::new();
    let mut said: Vec<&str> = Vec::new();
    for (run, node) in &known {
        for (what, words) in faults(run, node) {
            rows.push(Evidence::run(format!("{}: {words}", node.name), run.id.clone()));
            if !said.contains(&what) {
                said.push(what);
            }
        }
    }
    if said.is_empty() {
        let worst = known.iter().filter_map(|(_, node)| node.bound_s()).fold(0.0, f64::max) * 1000.0;
        return Finding::passed(
            subject,
            format!(
                "{place}: {} of further machines agree with the head. Their times are right to {} ms",
                count(known.len(), "clock"),
                significant(worst, 2)
            ),
        );
    }
    let said: Vec<String> = said.into_iter().map(str::to_owned).collect();
    Finding::fired(subject, format!("{place}: {}", list(&said)))
        .evidence(rows)
        .remedy("run chrony on every machine, look with 'sparkbench nodes' whether the column 'clock' is near 0, and repeat these runs")
}

/// Fault of the clocks of a machine in a run, in general and in figures.
fn faults(run: &Run, node: &Node) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    let ms = |seconds: f64| significant(seconds * 1000.0, 3);
    let bound = node.bound_s().unwrap_or(0.0);
    if bound * 1000.0 > BOUND_MS {
        faults.push(("an offset is not known well", format!("its offset may be wrong by {} ms", ms(bound))));
    }
    if let Some(apart) = node.wall_ahead_s().filter(|apart| (apart.abs() - bound) * 1000.0 > WALL_MS) {
        let word = if apart > 0.0 { "ahead of" } else { "behind" };
        faults.push((
            "wall clocks are apart",
            format!("its wall clock is {} ms {word} that of the head", ms(apart.abs())),
        ));
    }
    if let Some((before, after)) = node.clock_before.zip(node.clock_after) {
        let lasted = run.started.zip(run.ended).map_or(0.0, |(from, to)| to.seconds_since(from));
        let may = before.bound_s + after.bound_s + DRIFT_PPM / 1e6 * lasted.max(1.0);
        let moved = [after.ahead_s - before.ahead_s, after.wall_ahead_s - before.wall_ahead_s];
        if let Some(moved) =
            moved.into_iter().filter(|moved| moved.abs() > may).max_by(|a, b| a.abs().total_cmp(&b.abs()))
        {
            let words = format!("its offset moved by {} ms during the run", ms(moved.abs()));
            faults.push(("a clock was set during a run", words));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparkbench_model::ClockOffset;

    fn node(before: (f64, f64, f64), after: (f64, f64, f64)) -> Node {
        let of = |(ahead_s, wall_ahead_s, bound_s)| Some(ClockOffset { ahead_s, wall_ahead_s, bound_s });
        Node { clock_before: of(before), clock_after: of(after), ..Node::default() }
    }

    fn found(node: &Node) -> Vec<&'static str> {
        faults(&crate::testing::run("r"), node).into_iter().map(|(what, _)| what).collect()
    }

    #[test]
    fn clocks_may_start_at_other_moments_and_may_not_be_apart() {
        // A machine that was started 11 days earlier has another monotonic clock, and that is no fault.
        assert!(found(&node((950_400.0, 0.001, 1e-4), (950_400.0, 0.0012, 1e-4))).is_empty());
        assert_eq!(found(&node((0.0, 0.05, 1e-4), (0.0, 0.05, 1e-4))), ["wall clocks are apart"]);
        assert_eq!(found(&node((0.0, 0.0, 1e-4), (0.0, -0.009, 1e-4))), ["a clock was set during a run"]);
        assert_eq!(found(&node((0.0, 0.0, 0.02), (0.0, 0.0, 0.02))), ["an offset is not known well"]);
        assert!(found(&node((0.0, 0.015, 0.004), (0.0, 0.013, 0.004))).is_empty(), "within what is known of it");
    }
}
