//! The course of runs over time: windows, periods in which the clock was held down, ranges of telemetry, requests at once.
//!
//! In:  a study.  Out: [`Courses`].
//! Not here: figures of runs (see `telemetry`), drawing.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::Study;
use super::report::{
    CampaignCourse, CourseReport, Courses, GridReport, GridRow, HeldReport, InFlightReport, NodeReport, QuantityReport,
    WindowReport,
};
use super::telemetry::{self, SLOWDOWN_BITS, Window};
use sparkbench_model::{Campaign, MissingReason, MissingRun, Node, Run, Sample, Span};
use sparkbench_stats::mean;

/// Reasons that are shown: slowdowns, and the power cap, which holds many small machines down all the time.
const SHOWN_BITS: u64 = SLOWDOWN_BITS | 0x04;

/// Most columns of a grid: each is still wide enough to see on a phone.
const COLUMNS: f64 = 48.0;

/// Lengths that a column may have, seconds. Beyond them whole hours.
const STEPS_S: &[f64] = &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0];

/// A quantity of a sample.
type Quantity = (&'static str, fn(&Sample) -> Option<f64>);

/// Every quantity of which a range is reported.
const QUANTITIES: &[Quantity] = &[
    ("sm_clock_mhz", |s| s.sm_clock_mhz),
    ("power_w", |s| s.power_w),
    ("gpu_c", |s| s.gpu_c),
    ("gpu_util_pct", |s| s.gpu_util_pct),
    ("memory_used_mib", |s| s.memory_used_mib),
    ("host_memory_used_mib", |s| s.host_memory_used_mib),
    ("host_memory_available_mib", |s| s.host_memory_available_mib),
    ("host_swap_used_mib", |s| s.host_swap_used_mib),
];

/// Everything known of how the runs went.
pub fn of(study: &Study) -> Courses {
    let campaigns = study.campaigns.iter().map(|campaign| {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        CampaignCourse {
            campaign: campaign.name.clone(),
            planned: campaign.planned_runs,
            missing_runs: missed(campaign),
            losses: campaign.losses.clone(),
            utilisation: grid("gpu_util_pct", &own, |s| s.gpu_util_pct),
        }
    });
    Courses {
        runs: study.runs.par_iter().zip(telemetry::shared(&study.runs)).filter_map(|(run, n)| of_run(run, n)).collect(),
        campaigns: campaigns
            .filter(|c| !c.missing_runs.is_empty() || !c.losses.is_empty() || c.utilisation.is_some())
            .collect(),
    }
}

/// Planned runs that are missed. A campaign that ended at a look of its design needed no more of them.
fn missed(campaign: &Campaign) -> Vec<MissingRun> {
    let not_needed = |run: &&MissingRun| campaign.design.is_some() && run.gone == MissingReason::Skipped;
    campaign.missing_runs.iter().filter(|run| !not_needed(run)).cloned().collect()
}

fn of_run(run: &Run, launch_runs: usize) -> Option<CourseReport> {
    let window = telemetry::window(run);
    let course = &run.course;
    let report = CourseReport {
        run: run.id.clone(),
        launch_runs,
        first_sample_utc: run.telemetry.first().map(|sample| sample.at),
        held: window.as_ref().and_then(|window| held(run, window)),
        window: window.map(|w| WindowReport { from_s: w.from, to_s: w.to, cut: w.cut.words() }),
        quantities: QUANTITIES.iter().filter_map(|quantity| range(&run.telemetry, *quantity)).collect(),
        gates: course.gates.clone(),
        watched: course.watched.clone(),
        in_flight: flights(&course.requests),
        nodes: course.nodes.iter().map(of_node).collect(),
    };
    let empty = report.quantities.is_empty()
        && report.gates.is_empty()
        && report.watched.is_empty()
        && report.in_flight.is_none()
        && report.nodes.is_empty();
    (!empty).then_some(report)
}

fn of_node(node: &Node) -> NodeReport {
    NodeReport {
        name: node.name.clone(),
        rank: node.rank,
        command: node.command.join(" "),
        failure: node.failure.clone(),
        quantities: QUANTITIES.iter().filter_map(|quantity| range(&node.telemetry, *quantity)).collect(),
        gates: node.gates.clone(),
        watched: node.watched.clone(),
        clock_ahead_ms: node.wall_ahead_s().map(|seconds| seconds * 1000.0),
        clock_bound_ms: node.bound_s().map(|seconds| seconds * 1000.0),
    }
}

fn held(run: &Run, window: &Window) -> Option<Vec<HeldReport>> {
    let stretches = telemetry::intervals(run, window, SHOWN_BITS)?;
    let of = |(from, to): (f64, f64)| {
        let inside = run.telemetry.iter().filter(|s| (from..=to).contains(&window.time(s)));
        let bits = inside.filter_map(|s| s.throttle_bits).fold(0, |all, bits| all | bits);
        HeldReport { from_s: from, to_s: to, reasons: telemetry::reasons(bits & SHOWN_BITS) }
    };
    Some(stretches.into_iter().map(of).collect())
}

fn range(samples: &[Sample], (name, read): Quantity) -> Option<QuantityReport> {
    let values: Vec<f64> = samples.iter().filter_map(read).filter(|value| value.is_finite()).collect();
    let (least, greatest) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    (!values.is_empty()).then(|| QuantityReport { name, n: values.len(), least, mean: mean(&values), greatest })
}

/// How many requests are on their way after each moment at which one was sent or ended, in order of time.
///
/// A request without an end counts as ended when it was sent, because its duration is unknown.
pub fn in_flight(requests: &[Span]) -> Vec<(f64, usize)> {
    let mut events: Vec<(f64, isize)> = Vec::with_capacity(2 * requests.len());
    for (from, to) in
        requests.iter().filter_map(|span| Some((span.sent_s, span.end_s.filter(|end| *end >= span.sent_s)?)))
    {
        events.push((from, 1));
        events.push((to, -1));
    }
    // Of one moment the ends come first: one that follows another is not beside it.
    events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut steps: Vec<(f64, usize)> = Vec::new();
    let mut now = 0_isize;
    for (at, change) in events {
        now += change;
        let count = usize::try_from(now).unwrap_or(0);
        match steps.last_mut() {
            Some(last) if last.0 == at => last.1 = count,
            _ => steps.push((at, count)),
        }
    }
    steps
}

fn flights(requests: &[Span]) -> Option<InFlightReport> {
    let steps = in_flight(requests);
    let (first, last) = (steps.first()?.0, steps.last()?.0);
    let area: f64 = steps.windows(2).map(|pair| (pair[1].0 - pair[0].0) * pair[0].1 as f64).sum();
    Some(InFlightReport {
        requests: requests.len(),
        failed: requests.iter().filter(|span| !span.answered).count(),
        greatest: steps.iter().map(|(_, count)| *count).max().unwrap_or(0),
        mean: if last > first { area / (last - first) } else { 0.0 },
    })
}

/// A quantity over time, a row for each launch that has it.
fn grid(name: &'static str, runs: &[&Run], read: fn(&Sample) -> Option<f64>) -> Option<GridReport> {
    let mut seen = BTreeSet::new();
    // Its first run, how many share it, and its samples.
    type Launch<'a> = (&'a Run, usize, Vec<(f64, f64)>);
    let mut launches: Vec<Launch<'_>> = Vec::new();
    for run in runs {
        // Runs of one launch carry the same samples: one row stands for them.
        let shared =
            runs.iter().filter(|o| o.together.is_some() && o.together == run.together && o.telemetry == run.telemetry);
        let count = shared.count().max(1);
        if count > 1 && !seen.insert(run.together.as_deref()) {
            continue;
        }
        let Some(first) = run.telemetry.first() else { continue };
        // Seconds of the run where its clock is that of the samples, else of the samples themselves.
        let zero = run
            .started
            .filter(|start| !first.at.is_relative() && run.telemetry.last().is_some_and(|last| last.at >= *start));
        let zero = zero.filter(|start| first.at.seconds_since(*start).abs() < 3_600.0).unwrap_or(first.at);
        let points =
            run.telemetry.iter().filter_map(|s| Some((s.at.seconds_since(zero), read(s).filter(|v| v.is_finite())?)));
        let points: Vec<(f64, f64)> = points.filter(|(at, _)| *at >= 0.0).collect();
        if !points.is_empty() {
            launches.push((run, count, points));
        }
    }
    let longest = launches.iter().flat_map(|(_, _, points)| points.last()).map(|(at, _)| *at).fold(0.0, f64::max);
    if launches.is_empty() {
        return None;
    }
    let step_s = STEPS_S
        .iter()
        .copied()
        .find(|step| longest / step < COLUMNS)
        .unwrap_or_else(|| (longest / COLUMNS / 3_600.0).ceil() * 3_600.0);
    let rows = launches.into_iter().map(|(run, runs, points)| GridRow {
        run: run.id.clone(),
        runs,
        means: columns(&points, step_s),
    });
    Some(GridReport { name, step_s, rows: rows.collect() })
}

fn columns(points: &[(f64, f64)], step: f64) -> Vec<Option<f64>> {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for (at, value) in points {
        // Below the number of columns, for `step` was chosen from the longest. The bound holds for any caller.
        let place = ((at / step) as usize).min(COLUMNS as usize);
        if columns.len() <= place {
            columns.resize(place + 1, Vec::new());
        }
        columns[place].push(*value);
    }
    columns.iter().map(|values| (!values.is_empty()).then(|| mean(values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;
    use sparkbench_model::Instant;

    fn span(sent_s: f64, end_s: Option<f64>) -> Span {
        Span { sent_s, first_token_s: None, end_s, answered: end_s.is_some() }
    }

    #[test]
    fn requests_at_once_are_counted_by_hand() {
        let spans = [span(0.0, Some(4.0)), span(1.0, Some(3.0)), span(3.0, Some(5.0)), span(2.0, None)];
        assert_eq!(in_flight(&spans), [(0.0, 1), (1.0, 2), (3.0, 2), (4.0, 1), (5.0, 0)]);
        let told = flights(&spans).unwrap();
        assert_eq!((told.requests, told.failed, told.greatest), (4, 1, 2));
        // 1 x 1 s + 2 x 2 s + 2 x 1 s + 1 x 1 s over 5 s.
        assert!((told.mean - 8.0 / 5.0).abs() < 1e-12);
        assert_eq!((flights(&[]), flights(&[span(1.0, None)])), (None, None));
    }

    #[test]
    fn a_grid_has_a_row_a_launch_and_holes_where_no_sample_is() {
        let sampled = |id: &str, seconds: &[(i64, f64)]| {
            let mut run = run(id);
            run.started = Some(Instant(1_700_000_000_000));
            run.telemetry = seconds
                .iter()
                .map(|(at, util)| Sample {
                    gpu_util_pct: Some(*util),
                    ..Sample::new(Instant(1_700_000_000_000 + at * 1_000))
                })
                .collect();
            run
        };
        let mut one = sampled("a", &[(0, 10.0), (0, 30.0), (110, 90.0)]);
        one.together = Some("l".into());
        let mut two = one.clone();
        two.id = "b".into();
        let other = sampled("c", &[(2, 50.0)]);
        let none = run("d");
        let grid = grid("gpu_util_pct", &[&one, &two, &other, &none], |s| s.gpu_util_pct).unwrap();
        assert_eq!(grid.step_s, 5.0);
        let rows: Vec<(&str, usize, usize)> =
            grid.rows.iter().map(|r| (r.run.as_str(), r.runs, r.means.len())).collect();
        assert_eq!(rows, [("a", 2, 23), ("c", 1, 1)]);
        assert_eq!(
            (grid.rows[0].means[0], grid.rows[0].means[1], grid.rows[1].means[0]),
            (Some(20.0), None, Some(50.0))
        );
    }

    #[test]
    fn a_run_of_which_nothing_is_known_has_no_row() {
        assert!(of_run(&run("a"), 1).is_none());
    }
}
