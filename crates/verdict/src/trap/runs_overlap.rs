//! Runs on one machine must not overlap, and their starts must leave room for pause and work (P16).
//!
//! In:  start and end times, the stated pause, requests, tokens and rate.  Out: one finding for each cell involved, else one for each campaign.
//! Not here: whether a run's own figures fit its own time (see `work_time`).

use std::collections::BTreeMap;

use super::declaration::{Theme, Trap};
use super::finding::Finding;
use crate::case::Case;
use crate::number::{count, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{Instant, Run};
use sparkbench_stats as stats;

/// Start stamps are whole seconds in several formats.
pub(super) const STAMP_S: f64 = 1.0;
/// Share by which the needed time may be overestimated, because rates are rounded and averaged.
pub(super) const WORK_TOLERANCE: f64 = 0.05;

pub(super) struct RunsOverlap;

/// One launch: its runs, and when it ran.
struct Launch<'a> {
    runs: Vec<&'a Run>,
    started: Instant,
    ended: Option<Instant>,
}

impl Trap for RunsOverlap {
    fn id(&self) -> &'static str {
        "runs-overlap"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P16")
    }
    fn title(&self) -> &'static str {
        "Runs overlap in time"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Order
    }
    fn about(&self) -> String {
        format!(
            "Two runs were on the machine at once.\n\n\
             Two runs at once share the memory bandwidth. Neither measures what it says.\n\n\
             The check puts all launches of a campaign in order. It fires when one starts more than {STAMP_S} s before the one \
             before it ended. It also fires when the time between two starts is shorter than the stated pause. Where no end is \
             recorded, the earlier launch's work at its own reported rate (requests x output tokens / rate, less {:.0} %) is added \
             to the pause. Workloads of one launch rightly share their times and count as one. When the check passes, its evidence \
             lists the median time from start to start of each model and environment. A longer cycle in one of them is time that no \
             table of rates contains.\n\n\
             Lock the machine for the whole campaign.",
            100.0 * WORK_TOLERANCE
        )
    }
    fn undermines(&self) -> &'static str {
        "that each run had the machine to itself"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let launches = launches(case);
        if launches.len() < 2 {
            let message = format!(
                "needs start times of at least two launches. There {} {}",
                if launches.len() == 1 { "is" } else { "are" },
                launches.len()
            );
            return vec![Finding::not_evaluated(Subject::of(case), message)];
        }
        let ends = launches.iter().any(|l| l.ended.is_some());
        let needs = launches.iter().any(|l| needed(case, l) > 0.0);
        if !ends && !needs {
            return vec![Finding::not_evaluated(
                Subject::of(case),
                "no end times, no stated pause, and no request count with output length and rate",
            )];
        }
        let clashes = clashes(case, &launches);
        if clashes.is_empty() { vec![calm(case, &launches, ends)] } else { say(case, &clashes) }
    }
}

fn launches<'a>(case: &Case<'a>) -> Vec<Launch<'a>> {
    let mut by_launch: BTreeMap<&str, Vec<&'a Run>> = BTreeMap::new();
    for run in &case.runs {
        by_launch.entry(run.launch.as_deref().unwrap_or(&run.id)).or_default().push(run);
    }
    let mut launches: Vec<Launch<'a>> = by_launch
        .into_values()
        .filter_map(|runs| {
            let started = runs.iter().filter_map(|run| run.started).min()?;
            let ended = runs.iter().filter_map(|run| run.ended).max();
            Some(Launch { runs, started, ended })
        })
        .collect();
    launches.sort_by(|a, b| a.started.cmp(&b.started).then_with(|| a.runs[0].id.cmp(&b.runs[0].id)));
    launches
}

/// Seconds that the work of one launch takes at its own rates.
fn work(launch: &Launch<'_>) -> f64 {
    let of = |run: &&Run| {
        let rate = run.value("output_throughput_tok_s").filter(|rate| *rate > 0.0)?;
        Some(run.setup.requests? * run.setup.osl? / rate)
    };
    launch.runs.iter().filter_map(of).sum()
}

/// Least time from this start to the next. A recorded end says more than a rate, which may be that of something else than the whole run.
fn needed(case: &Case<'_>, launch: &Launch<'_>) -> f64 {
    let work = if launch.ended.is_some() { 0.0 } else { work(launch) * (1.0 - WORK_TOLERANCE) };
    case.campaign.cooldown_s.unwrap_or(0.0).max(0.0) + work
}

/// Pairs of launches that cannot both be true, with the sentence.
fn clashes<'l, 'a>(case: &Case<'_>, launches: &'l [Launch<'a>]) -> Vec<(&'l Launch<'a>, &'l Launch<'a>, String)> {
    let mut clashes = Vec::new();
    let mut latest = &launches[0];
    for pair in launches.windows(2) {
        let [before, after] = pair else { continue };
        if before.ended > latest.ended {
            latest = before;
        }
        let overlap = latest.ended.map_or(f64::NEG_INFINITY, |end| end.seconds_since(after.started));
        let gap = after.started.seconds_since(before.started);
        let needed = needed(case, before);
        if overlap > STAMP_S {
            clashes.push((
                latest,
                after,
                format!("started {} s before {} ended", significant(overlap, 4), latest.runs[0].id),
            ));
        } else if gap + STAMP_S < needed {
            let message = format!(
                "started {} s after {}, which with its pause needs {} s",
                significant(gap, 4),
                before.runs[0].id,
                significant(needed, 4)
            );
            clashes.push((before, after, message));
        }
    }
    clashes
}

/// A finding for each cell that has a hand in it, so that every verdict about it hears of it.
fn say(case: &Case<'_>, clashes: &[(&Launch<'_>, &Launch<'_>, String)]) -> Vec<Finding> {
    let mut cells: BTreeMap<Subject, Vec<Evidence>> = BTreeMap::new();
    for (before, after, text) in clashes {
        for run in before.runs.iter().chain(&after.runs) {
            let subject = Subject {
                environment: Some(run.environment.clone()),
                ..Subject::question(case, &run.model, &run.workload)
            };
            let rows = cells.entry(subject).or_default();
            let id = &after.runs[0].id;
            if !rows.iter().any(|row| row.run.as_ref() == Some(id)) {
                rows.push(Evidence::run(text.clone(), id.clone()));
            }
        }
    }
    cells
        .into_iter()
        .map(|(subject, rows)| {
            let cell = [&subject.model, &subject.environment].map(|part| part.as_deref().unwrap_or_default());
            let message =
                format!("{} in {} takes part in {} of runs in time", cell[0], cell[1], count(rows.len(), "overlap"));
            Finding::fired(subject, message)
                .evidence(rows)
                .remedy("collect these cells again with nothing else on the machine")
        })
        .collect()
}

/// Nothing overlaps. What the cycle of each environment is.
fn calm(case: &Case<'_>, launches: &[Launch<'_>], ends: bool) -> Finding {
    let gaps: Vec<f64> = launches.windows(2).map(|pair| pair[1].started.seconds_since(pair[0].started)).collect();
    let least = gaps.iter().copied().fold(f64::INFINITY, f64::min);
    let most = launches.iter().map(|l| needed(case, l)).fold(0.0, f64::max);
    let held = match (ends, most > 0.0) {
        (true, true) => format!(
            "No launch starts before the one before it ended, and none needs more than {} s",
            significant(most, 4)
        ),
        (true, false) => "No launch starts before the one before it ended".to_owned(),
        _ => format!("No launch needs more than {} s. Ends are not recorded", significant(most, 4)),
    };
    let uncounted = launches.iter().filter(|l| work(l) == 0.0).count();
    let held = match uncounted {
        0 => held,
        n if n == launches.len() && !ends => format!(
            "Only the stated pause of {} s could be held against that: neither ends nor requests and lengths are recorded in the runs",
            significant(most, 4)
        ),
        n => format!(
            "{held}. The work of {n} of {} launches is not counted, because requests or lengths are not recorded",
            launches.len()
        ),
    };
    let message = format!("starts are {} s and more apart. {held}", significant(least, 5));
    Finding::passed(Subject::of(case), message).evidence(cycles(case, launches))
}

/// Median time from start to start inside an unbroken sequence of one model and environment.
fn cycles(case: &Case<'_>, launches: &[Launch<'_>]) -> Vec<Evidence> {
    let mut by_arm: BTreeMap<(&str, bool, &str), Vec<f64>> = BTreeMap::new();
    for pair in launches.windows(2) {
        let (before, after) = (pair[0].runs[0], pair[1].runs[0]);
        if before.model == after.model && before.environment == after.environment {
            let candidate = Some(before.environment.as_str()) != case.baseline;
            by_arm
                .entry((&before.model, candidate, &before.environment))
                .or_default()
                .push(pair[1].started.seconds_since(pair[0].started));
        }
    }
    let medians: Vec<((&str, bool, &str), f64, usize)> = by_arm
        .into_iter()
        .map(|(arm, mut gaps)| {
            gaps.sort_by(f64::total_cmp);
            (arm, stats::quantile_sorted(&gaps, 0.5), gaps.len())
        })
        .collect();
    medians
        .iter()
        .map(|((model, candidate, environment), median, n)| {
            let base = medians.iter().find(|((m, c, _), _, _)| m == model && !c);
            let against = match base {
                Some(((_, _, name), other, _)) if *candidate => {
                    let side = if median >= other { "longer" } else { "shorter" };
                    format!(", {} s {side} than in {name}", significant((median - other).abs(), 4))
                }
                _ => String::new(),
            };
            Evidence::text(format!(
                "{model} in {environment}: median {} s from start to start over {}{against}",
                significant(*median, 5),
                count(*n, "cycle")
            ))
        })
        .collect()
}
