//! Runs on one machine must not overlap, and their starts must leave room for pause and work (P16).
//!
//! In:  start and end times, the stated pause, requests, tokens and rate.  Out: one finding for each cell involved, else one for each campaign.
//! Not here: whether a run's own figures fit its own time (see `work_time`).

mod zones;

use std::collections::BTreeMap;

use self::zones::Zones;
use super::declaration::{Theme, Trap};
use super::finding::Finding;
use crate::case::Case;
use crate::number::{count, significant};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_model::{Instant, LooseStart, Run};
use sparkbench_stats as stats;

/// Start stamps are whole seconds in several formats.
pub(super) const STAMP_S: f64 = 1.0;
/// The same for stamps whose seconds are 0: several sources give no seconds.
const MINUTE_S: f64 = 60.0;
/// Share by which the needed time may be overestimated, because rates are rounded and averaged.
pub(super) const WORK_TOLERANCE: f64 = 0.05;

pub(super) struct RunsOverlap;

/// One launch: its runs, and when it ran.
#[derive(Clone)]
struct Launch<'a> {
    runs: Vec<&'a Run>,
    started: Instant,
    ended: Option<Instant>,
    /// What the source of its start leaves open.
    loose: Option<LooseStart>,
}

impl<'a> Launch<'a> {
    /// The tool whose clock wrote its times, where these name no zone.
    fn tool(&self) -> Option<&'a str> {
        let run = self.runs.first().filter(|_| self.loose == Some(LooseStart::Zone))?;
        Some(run.setup.tool.as_deref().unwrap_or(&run.source.format))
    }
}

/// Two launches that cannot both be true, with the sentence.
struct Clash<'l, 'a> {
    before: &'l Launch<'a>,
    after: &'l Launch<'a>,
    text: String,
}

impl Clash<'_, '_> {
    /// Whether one start stands in the name of a file, which may say when something else began.
    fn is_named(&self) -> bool {
        [self.before, self.after].iter().any(|launch| launch.loose == Some(LooseStart::Name))
    }
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
             to the pause. Workloads of one launch rightly share their times and count as one. Starts that stand in names of files prove no \
             overlap, and stamps without seconds are taken to the minute. Where two tools name no zone and a shift by hours of one of \
             them ends every overlap between them, that is a note. When the check passes, its evidence \
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
        let zones = Zones::of(case, &launches);
        let launches = zones.as_ref().map_or(launches, |zones| zones.launches.clone());
        let all = clashes(case, &launches);
        let (doubtful, clashes): (Vec<_>, Vec<_>) = all.into_iter().partition(Clash::is_named);
        let mut findings = match (clashes.is_empty(), doubtful.len()) {
            (true, 0) => vec![calm(case, &launches, ends)],
            (true, named) => {
                let message = format!(
                    "{} of starts in names of files. Such a name may say when something else began",
                    count(named, "overlap")
                );
                vec![Finding::not_evaluated(Subject::of(case), message)]
            }
            (false, _) => say(case, &clashes),
        };
        findings.extend(zones.map(|zones| zones.note(case)));
        findings
    }
}

/// The launches of a campaign, in order of time. Runs of one file with one start are of one launch: the stamp is that of the file.
fn launches<'a>(case: &Case<'a>) -> Vec<Launch<'a>> {
    let mut by_launch: BTreeMap<(&str, Option<Instant>), Vec<&'a Run>> = BTreeMap::new();
    for run in &case.runs {
        let key = match (&run.together, run.started) {
            (Some(launch), _) => (launch.as_str(), None),
            (None, Some(_)) => (run.source.path.as_str(), run.started),
            (None, None) => continue,
        };
        by_launch.entry(key).or_default().push(run);
    }
    let mut launches: Vec<Launch<'a>> = by_launch
        .into_values()
        .filter_map(|runs| {
            let first = runs.iter().filter(|run| run.started.is_some()).min_by_key(|run| run.started)?;
            let (started, loose) = (first.started?, first.loose_start());
            let ended = runs.iter().filter_map(|run| run.ended).max();
            Some(Launch { runs, started, ended, loose })
        })
        .collect();
    sort(&mut launches);
    launches
}

fn sort(launches: &mut [Launch<'_>]) {
    launches.sort_by(|a, b| a.started.cmp(&b.started).then_with(|| a.runs[0].id.cmp(&b.runs[0].id)));
}

/// How exact a stamp is.
fn exact_s(at: Instant) -> f64 {
    if at.0 % 60_000 == 0 { MINUTE_S } else { STAMP_S }
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

/// Pairs of launches that cannot both be true.
fn clashes<'l, 'a>(case: &Case<'_>, launches: &'l [Launch<'a>]) -> Vec<Clash<'l, 'a>> {
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
        if overlap > exact_s(after.started).max(latest.ended.map_or(STAMP_S, exact_s)) {
            let text = format!("started {} s before {} ended", significant(overlap, 4), latest.runs[0].id);
            clashes.push(Clash { before: latest, after, text });
        } else if gap + exact_s(after.started).max(exact_s(before.started)) < needed {
            let text = format!(
                "started {} s after {}, which with its pause needs {} s",
                significant(gap, 4),
                before.runs[0].id,
                significant(needed, 4)
            );
            clashes.push(Clash { before, after, text });
        }
    }
    clashes
}

/// A finding for each cell that has a hand in it, so that every verdict about it hears of it.
fn say(case: &Case<'_>, clashes: &[Clash<'_, '_>]) -> Vec<Finding> {
    let mut cells: BTreeMap<Subject, Vec<Evidence>> = BTreeMap::new();
    for Clash { before, after, text } in clashes {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TrapStatus;
    use crate::testing::run;
    use sparkbench_model::{Campaign, Course, Facts, Setup, Source};

    /// A run of a tool from a file, with its times of one day.
    fn made(path: &str, tool: &str, from: &str, to: Option<&str>, loose: Option<LooseStart>) -> Run {
        let at = |time: &str| Instant::parse(&format!("2026-08-14T{time}Z")).unwrap();
        Run {
            started: Some(at(from)),
            ended: to.map(at),
            course: Course { loose_start: loose.map(|loose| (at(from), loose)), ..Course::default() },
            setup: Setup { tool: Some(tool.to_owned()), ..Setup::default() },
            source: Source { path: path.to_owned(), ..Source::default() },
            ..run(&format!("{path}-{from}"))
        }
    }

    fn look(runs: &[Run]) -> Vec<(TrapStatus, Option<Severity>, String)> {
        let (campaign, facts) = (Campaign::default(), Facts::default());
        let found = RunsOverlap.check(&Case::of_runs(&campaign, runs.iter().collect(), &facts));
        found.into_iter().map(|finding| (finding.status, finding.severity, finding.message)).collect()
    }

    const LOCAL: Option<LooseStart> = Some(LooseStart::Zone);

    /// Issue 32: 82 of 83 errors of one owner's folder were this. The times are those of his files.
    #[test]
    fn tools_that_overlap_because_one_writes_another_zone_are_a_note() {
        let chat = |from| made("fp8/01-chat.log", "llama-benchy", from, None, LOCAL);
        let serve = |path: &str, from, to| made(path, "vllm-bench-serve", from, Some(to), LOCAL);
        let runs = [
            chat("14:34:20"),
            made("fp8/02-rag-8k.log", "llama-benchy", "14:43:30", None, LOCAL),
            made("fp8/06-stress.log", "llama-benchy", "15:49:59", None, LOCAL),
            serve("fp8/07-office.json", "13:59:59", "14:11:51"),
            serve("fp8/09-reasoning.json", "14:26:03", "14:40:30"),
            serve("fp8/11-rate-1.0.json", "15:40:50", "15:51:00"),
        ];
        let found = look(&runs);
        assert_eq!(found[0].0, TrapStatus::Passed, "{found:?}");
        assert_eq!((found[1].0, found[1].1), (TrapStatus::Fired, Some(Severity::Note)));
        let said =
            "the times of vllm-bench-serve seem to be of another time zone, 2 hours behind those of llama-benchy";
        assert!(found[1].2.starts_with(said), "{}", found[1].2);
        // With its zone in the files it is what it looks like.
        let named: Vec<Run> = runs.iter().cloned().map(|run| Run { course: Course::default(), ..run }).collect();
        assert_eq!((look(&named)[0].0, look(&named)[0].1), (TrapStatus::Fired, None));
        // No zone helps a tool that overlaps itself.
        let twice = look(&[serve("a.json", "10:00:00", "10:30:00"), serve("b.json", "10:10:00", "10:40:00")]);
        assert_eq!((twice.len(), twice[0].0, twice[0].1), (1, TrapStatus::Fired, None), "{twice:?}");
    }

    #[test]
    fn a_start_in_a_name_or_to_the_minute_proves_no_overlap() {
        let one = |path: &str, from, to, loose| made(path, "t", from, Some(to), loose);
        let named = Some(LooseStart::Name);
        for (runs, status) in [
            ([one("a", "10:00:01", "10:05:01", None), one("b", "10:04:01", "10:08:01", None)], TrapStatus::Fired),
            (
                [one("a", "10:00:01", "10:05:01", None), one("b", "10:04:01", "10:08:01", named)],
                TrapStatus::NotEvaluated,
            ),
            (
                [one("a", "10:00:01", "10:05:01", None), one("b", "10:04:02", "10:08:01", named)],
                TrapStatus::NotEvaluated,
            ),
            ([one("a", "10:00:01", "10:05:01", None), one("b", "10:05:00", "10:08:01", None)], TrapStatus::Passed),
            ([one("a", "10:00:01", "10:05:40", None), one("b", "10:05:00", "10:08:01", None)], TrapStatus::Passed),
            ([one("a", "10:00:01", "10:05:40", None), one("b", "10:05:30", "10:08:01", None)], TrapStatus::Fired),
            (
                [one("a", "10:00:01", "10:05:40", None), one("a", "10:00:01", "10:08:01", None)],
                TrapStatus::NotEvaluated,
            ),
        ] {
            assert_eq!(look(&runs)[0].0, status, "{:?}", look(&runs));
        }
    }
}
