//! SM clocks that move within a run, between repeats, or between environments, and clocks that are stuck low.
//!
//! In:  telemetry and mean clocks of the runs.  Out: one finding for each question.
//! Not here: the reasons that a driver gives (see `throttled`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place, read};
use crate::case::{Case, Cell};
use crate::number::{list, significant};
use crate::report::{Evidence, Severity, Subject};
use crate::telemetry;
use sparkbench_model::Run;
use sparkbench_stats as stats;

const METRIC: &str = "sm_clock_mhz";
/// A sample at work so far below the run's median clock is a dip, per cent. Boost clocks of data-centre GPUs wander by 8 % under load.
pub(super) const DIP_PCT: f64 = 10.0;
/// Share of the samples at work that may be dips, per cent.
pub(super) const DIPS_PCT: f64 = 5.0;
/// Largest difference between repeats of one cell in their mean clock, per cent of the median.
pub(super) const REPEATS_PCT: f64 = 3.0;
/// Largest difference between environments in their mean clock, per cent of the baseline: the margin of a rate.
pub(super) const ARMS_PCT: f64 = sparkbench_model::metric::MARGIN_RATE_PCT;

pub(super) struct ClockUnstable;

impl Trap for ClockUnstable {
    fn id(&self) -> &'static str {
        "clock-unstable"
    }
    fn title(&self) -> &'static str {
        "The clock is not the same"
    }
    fn severity(&self) -> Severity {
        Severity::Warning
    }
    fn theme(&self) -> Theme {
        Theme::Machine
    }
    fn about(&self) -> String {
        format!(
            "The clock of the GPU changed while it worked, or differs between runs.\n\n\
             Work bound by arithmetic follows the clock, so runs at different clocks measure the clock. Some machines get stuck at \
             a third of their clock in their fastest state, cool and without a reported reason. Only unplugging them helps.\n\n\
             The check looks at samples at work, which means {} % utilisation and more. It fires in four cases. More than \
             {DIPS_PCT} % of a run's samples lie more than {DIP_PCT} % below the run's median clock. Repeats of a cell differ by \
             more than {REPEATS_PCT} % in their mean clock. An environment differs from the baseline by more than {ARMS_PCT} %. A \
             machine works below the clock at which its facts call it stuck.\n\n\
             Lock the clock and check it under load before each run. Alternate the environments.",
            telemetry::BUSY_PCT
        )
    }
    fn undermines(&self) -> &'static str {
        "that all runs had one clock"
    }
    fn leaves_cause_open(&self, _metric: &str) -> bool {
        true
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let arms = case.arms(model, workload);
    let (mut said, mut rows, mut clean) = (Vec::new(), Vec::new(), Vec::new());
    let mut means: Vec<(&str, f64)> = Vec::new();
    for cell in &arms {
        let clocks: Vec<(&Run, f64)> = cell.runs.iter().filter_map(|run| Some((*run, clock(run)?))).collect();
        let numbers: Vec<f64> = clocks.iter().map(|(_, clock)| *clock).collect();
        if numbers.is_empty() {
            continue;
        }
        let mean = stats::mean(&numbers);
        means.push((cell.environment, mean));
        clean.push(Evidence::text(format!(
            "{}: mean clock {} MHz over {} runs",
            cell.environment,
            significant(mean, 4),
            numbers.len()
        )));
        repeats(cell, &clocks, &mut said, &mut rows);
        dips(cell, &mut said, &mut rows);
        if let Some(limit) = case.machine().and_then(|machine| machine.stuck_clock_mhz) {
            stuck(cell, &clocks, limit, &mut said, &mut rows);
        }
    }
    if means.is_empty() {
        return Finding::not_evaluated(
            subject,
            format!("{place}: no clock is told, neither by telemetry nor by the source"),
        );
    }
    if let [(base, reference), others @ ..] = means.as_slice() {
        for (other, mean) in others {
            let apart = 100.0 * (mean / reference - 1.0);
            if apart.abs() > ARMS_PCT {
                said.push(format!(
                    "{other} runs at a mean clock {} % {} than {base}",
                    significant(apart.abs(), 2),
                    if apart < 0.0 { "lower" } else { "higher" }
                ));
            }
        }
    }
    if said.is_empty() {
        return Finding::passed(
            subject,
            format!("{place}: clocks at work agree within runs, between repeats ({REPEATS_PCT} %) and between environments ({ARMS_PCT} %)"),
        )
        .evidence(clean);
    }
    Finding::fired(subject, format!("{place}: {}", list(&said)))
        .evidence(clean.into_iter().chain(rows))
        .remedy("lock the clock ('nvidia-smi -lgc'), look at it under load before each run, and repeat these runs. A clock stuck low ends only with the machine unplugged")
}

/// Mean clock at work: as the run reports it, else by its telemetry.
fn clock(run: &Run) -> Option<f64> {
    run.value(METRIC).or_else(|| Some(telemetry::busy_clock(run, &telemetry::window(run)?)?.0))
}

fn repeats(cell: &Cell<'_>, clocks: &[(&Run, f64)], said: &mut Vec<String>, rows: &mut Vec<Evidence>) {
    let numbers = stats::sorted(&clocks.iter().map(|(_, clock)| *clock).collect::<Vec<f64>>());
    let [least, .., greatest] = numbers.as_slice() else { return };
    let spread = 100.0 * (greatest - least) / stats::quantile_sorted(&numbers, 0.5);
    if spread > REPEATS_PCT {
        said.push(format!(
            "repeats in {} differ by {} % in their mean clock",
            cell.environment,
            significant(spread, 2)
        ));
        rows.extend(clocks.iter().map(|(run, clock)| read(run, METRIC, format!("{} MHz", significant(*clock, 4)))));
    }
}

fn dips(cell: &Cell<'_>, said: &mut Vec<String>, rows: &mut Vec<Evidence>) {
    let mut hit = 0;
    for run in &cell.runs {
        let Some(window) = telemetry::window(run) else { continue };
        let clocks = telemetry::busy_clocks(run, &window);
        if clocks.len() < telemetry::LEAST_READINGS {
            continue;
        }
        let median = stats::quantile_sorted(&stats::sorted(&clocks), 0.5);
        let low = clocks.iter().filter(|clock| **clock < median * (1.0 - DIP_PCT / 100.0)).count();
        let share = 100.0 * low as f64 / clocks.len() as f64;
        if share > DIPS_PCT {
            hit += 1;
            rows.push(Evidence::run(
                format!(
                    "{} % of {} samples at work lie {DIP_PCT} % and more below {} MHz",
                    significant(share, 2),
                    clocks.len(),
                    significant(median, 4)
                ),
                run.id.clone(),
            ));
        }
    }
    if hit > 0 {
        said.push(format!("the clock dips within {hit} of {} runs in {}", cell.runs.len(), cell.environment));
    }
}

fn stuck(cell: &Cell<'_>, clocks: &[(&Run, f64)], limit: f64, said: &mut Vec<String>, rows: &mut Vec<Evidence>) {
    let low: Vec<&(&Run, f64)> = clocks.iter().filter(|(_, clock)| *clock < limit).collect();
    if !low.is_empty() {
        said.push(format!("{} of {} runs in {} work below {limit} MHz", low.len(), clocks.len(), cell.environment));
        rows.extend(low.iter().map(|(run, clock)| read(run, METRIC, format!("{} MHz", significant(*clock, 4)))));
    }
}
