//! The duration of a plan, and of the rest of it.
//!
//! In:  planned runs, the expected and the observed durations.  Out: [`Estimate`], [`Remaining`], in seconds.
//! Not here: clocks.
//!
//! An estimate says how much of it is a guess. Waiting for a GPU to cool beyond the least pause is not included, because it is unknown beforehand.

use std::collections::BTreeMap;

use super::{Cell, Plan};
use sparkbench_archive::manifest::PlannedRun;

/// A run of which nothing is known, seconds. The published study's runs were 13 to 15 minutes apart with pauses of five. So a model load
/// with a short benchmark takes eight to ten. Small workloads take less.
pub const GUESS_S: f64 = 540.0;
/// Overhead of each run around the program itself, seconds: gates read, container made, files hashed and written.
pub const AROUND_S: f64 = 5.0;

/// How long a whole plan takes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    pub runs: usize,
    /// Programs running, seconds.
    pub work_s: f64,
    /// Least pauses between runs, seconds.
    pub pauses_s: f64,
    /// Around the programs, seconds.
    pub around_s: f64,
    /// Runs of which nothing is known. Each counts [`GUESS_S`] in `work_s`.
    pub guessed: usize,
}

impl Estimate {
    /// All of it, seconds.
    pub fn total_s(&self) -> f64 {
        self.work_s + self.pauses_s + self.around_s
    }
}

/// Before the first run. `pause_s` is the least pause before each run but the first. `expected` the seconds that a run is expected to
/// take, where its workload reports it.
pub fn estimate(plan: &Plan, pause_s: f64, expected: &dyn Fn(&PlannedRun) -> Option<f64>) -> Estimate {
    let mut estimate = Estimate {
        runs: plan.runs.len(),
        pauses_s: pause_s * plan.runs.len().saturating_sub(1) as f64,
        around_s: AROUND_S * plan.runs.len() as f64,
        ..Estimate::default()
    };
    for run in &plan.runs {
        let known = sound(expected(run));
        estimate.work_s += known.unwrap_or(GUESS_S);
        estimate.guessed += usize::from(known.is_none());
    }
    estimate
}

/// A run that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed<'a> {
    pub run: &'a PlannedRun,
    /// From the start of its program to the end, seconds.
    pub took_s: f64,
    /// From the end of the run before to its start, seconds. Absent for the first, and after a campaign was taken up again.
    pub pause_s: Option<f64>,
}

/// How long the rest takes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Remaining {
    /// Runs left.
    pub runs: usize,
    /// All of it, seconds.
    pub total_s: f64,
    /// Runs left that rest on observed ones. The others on what was expected, or on a guess.
    pub measured: usize,
    /// Runs left of which nothing is known.
    pub guessed: usize,
}

/// In the middle of a campaign. `left` are the runs still to come, `ended` those that ended well, in any order. Each run left takes as long
/// as the median of its cell so far. Else of its model and workload in any environment. Else what is expected. Else the median of its
/// workload. Else [`GUESS_S`]. Each pause is the median pause so far, else `pause_s`. Values that are no durations (a clock that went back)
/// are left aside.
pub fn remaining(
    left: &[&PlannedRun],
    ended: &[Observed<'_>],
    pause_s: f64,
    expected: &dyn Fn(&PlannedRun) -> Option<f64>,
) -> Remaining {
    let mut by_cell: BTreeMap<Cell, Vec<f64>> = BTreeMap::new();
    let mut by_group: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    let mut by_workload: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut pauses = Vec::new();
    for run in ended {
        if let Some(took) = sound(Some(run.took_s)) {
            by_cell.entry(Cell::of(run.run)).or_default().push(took);
            by_group.entry((&run.run.model, &run.run.workload)).or_default().push(took);
            by_workload.entry(&run.run.workload).or_default().push(took);
        }
        pauses.extend(sound(run.pause_s));
    }
    let pause = median(&mut pauses).unwrap_or(pause_s + AROUND_S);
    let mut remaining = Remaining { runs: left.len(), ..Remaining::default() };
    for run in left {
        let near = by_cell
            .get_mut(&Cell::of(run))
            .and_then(|durations| median(durations))
            .or_else(|| by_group.get_mut(&(run.model.as_str(), run.workload.as_str())).and_then(|d| median(d)));
        let far = || by_workload.get(run.workload.as_str()).and_then(|durations| median(&mut durations.clone()));
        let stated = sound(expected(run));
        let took = match (near, stated) {
            (Some(near), _) => {
                remaining.measured += 1;
                near
            }
            (None, Some(stated)) => stated,
            (None, None) => far().unwrap_or_else(|| {
                remaining.guessed += 1;
                GUESS_S
            }),
        };
        remaining.total_s += took + pause;
    }
    remaining
}

/// A duration that can be one.
fn sound(seconds: Option<f64>) -> Option<f64> {
    seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// `about 14 h 20 min`. `about 40 s` below two minutes.
pub fn about(seconds: f64) -> String {
    if seconds < 120.0 {
        return format!("about {seconds:.0} s");
    }
    let minutes = (seconds / 60.0).round();
    let (hours, minutes) = ((minutes / 60.0).floor(), minutes % 60.0);
    if hours < 1.0 { format!("about {minutes:.0} min") } else { format!("about {hours:.0} h {minutes:02.0} min") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(environment: &str, model: &str, workload: &str) -> PlannedRun {
        PlannedRun {
            environment: environment.to_owned(),
            model: model.to_owned(),
            workload: workload.to_owned(),
            ..PlannedRun::default()
        }
    }

    #[test]
    fn an_estimate_adds_work_pauses_and_what_is_around_and_counts_its_guesses() {
        let plan =
            Plan { runs: vec![run("a", "m", "w"), run("b", "m", "w"), run("a", "m", "x")], left_out: Vec::new() };
        let found = estimate(&plan, 300.0, &|run| (run.workload == "w").then_some(100.0));
        assert_eq!(
            found,
            Estimate { runs: 3, work_s: 200.0 + GUESS_S, pauses_s: 600.0, around_s: 3.0 * AROUND_S, guessed: 1 }
        );
        assert_eq!(estimate(&Plan::default(), 300.0, &|_| None).total_s(), 0.0);
        assert_eq!(estimate(&plan, 0.0, &|_| Some(f64::NAN)).guessed, 3);
    }

    #[test]
    fn the_rest_takes_as_long_as_its_like_took() {
        let (a, b, other) = (run("a", "m", "w"), run("b", "m", "w"), run("a", "n", "w"));
        let strange = run("a", "m", "z");
        let seen = |took_s, pause_s| Observed { run: &a, took_s, pause_s };
        let ended = [seen(10.0, None), seen(30.0, Some(60.0)), seen(20.0, Some(80.0)), seen(-5.0, Some(-1.0))];
        let rest = remaining(&[&a, &b, &other, &strange], &ended, 300.0, &|run| (run.model == "n").then_some(50.0));
        // 20 of its own cell, 20 of its group, 50 as stated, a guess. Four pauses of 70.
        assert_eq!(rest, Remaining { runs: 4, total_s: 20.0 + 20.0 + 50.0 + GUESS_S + 280.0, measured: 2, guessed: 1 });
    }

    #[test]
    fn nothing_left_takes_no_time_and_nothing_seen_is_a_guess() {
        assert_eq!(remaining(&[], &[], 300.0, &|_| None).total_s, 0.0);
        let a = run("a", "m", "w");
        assert_eq!(remaining(&[&a], &[], 300.0, &|_| None).total_s, GUESS_S + 300.0 + AROUND_S);
    }

    #[test]
    fn durations_read_well() {
        for (seconds, text) in [
            (0.0, "about 0 s"),
            (119.4, "about 119 s"),
            (150.0, "about 3 min"),
            (3_599.0, "about 1 h 00 min"),
            (51_600.0, "about 14 h 20 min"),
        ] {
            assert_eq!(about(seconds), text);
        }
    }
}
