//! Whether launches of two tools overlap only because their times are of different zones.
//!
//! In:  launches, some of whose times name no zone.  Out: [`Zones`]: the launches with their times set right, and a note.
//! Not here: what an overlap is (see the module above).

use std::collections::{BTreeMap, BTreeSet};

use super::super::finding::Finding;
use super::{Clash, Launch, clashes, sort};
use crate::case::Case;
use crate::number::{list, significant};
use crate::report::{Severity, Subject};
use sparkbench_model::Instant;

/// Farthest zone from UTC, minutes.
const FARTHEST_MIN: i64 = 14 * 60;
/// Zones that lie half an hour between two others, minutes from UTC. By fewer minutes no clock of a machine is off.
const HALF_HOURS_MIN: &[i64] = &[210, 270, 330, 390, 570, 630];
/// Digits of a number in front of the name of a file. With more it is a date.
const DIGITS: usize = 3;

/// Tools whose times are of another zone than those of the others.
pub(super) struct Zones<'a> {
    /// All launches, with these times set right.
    pub(super) launches: Vec<Launch<'a>>,
    /// The tools that were moved.
    moved: Vec<&'a str>,
    /// The others. Empty where only times of a named zone are left.
    others: Vec<&'a str>,
    /// By how much, minutes.
    minutes: i64,
}

impl<'a> Zones<'a> {
    /// The least that has to be assumed so that no tool overlaps another one. None where none does, and where nothing helps.
    pub(super) fn of(case: &Case<'a>, launches: &[Launch<'a>]) -> Option<Self> {
        let clash = |launches: &[Launch<'a>]| {
            let across = |clash: &Clash<'_, 'a>| clash.before.tool() != clash.after.tool() && !clash.is_named();
            clashes(case, launches).iter().any(across)
        };
        let tools: BTreeSet<&'a str> = launches.iter().filter_map(Launch::tool).collect();
        if tools.is_empty() || !clash(launches) {
            return None;
        }
        let mut together: Vec<Vec<&'a str>> = tools.iter().map(|tool| vec![*tool]).collect();
        if tools.len() > 1 && launches.iter().any(|launch| launch.tool().is_none()) {
            together.push(tools.iter().copied().collect());
        }
        let hours = (1..=FARTHEST_MIN / 60).map(|hours| hours * 60).chain(HALF_HOURS_MIN.iter().copied());
        let mut found: Vec<(usize, i64, bool, Self)> = Vec::new();
        for minutes in hours.flat_map(|minutes| [minutes, -minutes]) {
            for moved in &together {
                let shifted = shifted(launches, moved, minutes);
                if !clash(&shifted) {
                    let others = tools.iter().copied().filter(|tool| !moved.contains(tool)).collect();
                    let zones = Self { launches: shifted, moved: moved.clone(), others, minutes };
                    found.push((against_names(&zones.launches), minutes.abs(), minutes < 0, zones));
                }
            }
        }
        found.into_iter().min_by_key(|(names, far, ahead, _)| (*names, *far, *ahead)).map(|(.., zones)| zones)
    }

    pub(super) fn note(&self, case: &Case<'_>) -> Finding {
        let hours = significant(self.minutes.abs() as f64 / 60.0, 3);
        let hours = if hours == "1" { "1 hour".to_owned() } else { format!("{hours} hours") };
        let side = if self.minutes > 0 { "behind" } else { "ahead of" };
        let others = if self.others.is_empty() { "UTC".to_owned() } else { format!("those of {}", list(&self.others)) };
        let message = format!(
            "the times of {} seem to be of another time zone, {hours} {side} {others}. The files name no zone. With this set right no tool \
             overlaps another",
            list(&self.moved)
        );
        Finding::fired(Subject::of(case), message)
            .severity(Severity::Note)
            .remedy("run all tools with TZ=UTC, or give started_utc in labels.toml")
    }
}

/// The launches with those of some tools so many minutes later.
fn shifted<'a>(launches: &[Launch<'a>], tools: &[&str], minutes: i64) -> Vec<Launch<'a>> {
    let later = |at: Instant| Instant(at.0.saturating_add(minutes * 60_000));
    let mut launches = launches.to_vec();
    for launch in launches.iter_mut().filter(|launch| launch.tool().is_some_and(|tool| tools.contains(&tool))) {
        launch.started = later(launch.started);
        launch.ended = launch.ended.map(later);
    }
    sort(&mut launches);
    launches
}

/// How often a file with a higher number in front of its name began before the one with the number below it. Scripts that number their
/// steps run them in that order.
fn against_names(launches: &[Launch<'_>]) -> usize {
    let mut by_folder: BTreeMap<&str, Vec<(u32, Instant)>> = BTreeMap::new();
    for launch in launches {
        let path = launch.runs.first().map_or("", |run| run.source.path.as_str());
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let digits = name.len() - name.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        if let Some(number) =
            name.get(..digits).filter(|digits| digits.len() <= DIGITS).and_then(|digits| digits.parse().ok())
        {
            by_folder.entry(folder).or_default().push((number, launch.started));
        }
    }
    let folders = by_folder.into_values().map(|mut files| {
        files.sort_unstable();
        files.windows(2).filter(|pair| pair[1].1 < pair[0].1).count()
    });
    folders.sum()
}
