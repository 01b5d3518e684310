//! Words of the answers by design: a load, an arm, a figure, and arms in order.
//!
//! In:  levels, ranked arms.  Out: parts of sentences.
//! Not here: which of them are said (see the modules beside).

use crate::measured::lengths;
use crate::number::{capital, count, fixed, list, significant};
use crate::strata::Stratum;
use crate::strata::rank::{Measure, Ranked};
use sparkbench_model::{Campaign, Direction, Setting, within};

/// Digits of a figure of a sentence: as many as single runs are worth.
const DIGITS: usize = 3;
/// Arms that a ranking names. More are counted.
const MOST_NAMED: usize = 4;
/// A ratio nearer to one than this is told as a distance, per cent.
const NEAR_PCT: f64 = 0.5;
/// Levels that mean nothing without the name of their setting.
const BARE: [&str; 9] = ["on", "off", "default", "none", "true", "false", "yes", "no", "unknown"];

/// A figure without its unit.
pub(super) fn figure(value: f64) -> String {
    significant(value, DIGITS)
}

/// "for one user", "at 0.5 requests a second", "at a depth of 4096".
pub(super) fn place(axis: &str, level: f64) -> String {
    let shown = significant(level, 6);
    match (axis, level) {
        ("concurrency", 1.0) => "for one user".to_owned(),
        ("concurrency", _) => format!("for {shown} users"),
        ("request_rate", 1.0) => "at 1 request a second".to_owned(),
        ("request_rate", _) => format!("at {shown} requests a second"),
        ("requests", _) => format!("with {shown} requests at once"),
        ("depth", _) => format!("at a depth of {shown}"),
        ("isl", _) => format!("with {shown} tokens in"),
        ("osl", _) => format!("with {shown} tokens out"),
        ("turns", 1.0) => "with one turn".to_owned(),
        _ => format!("with {shown} {axis}"),
    }
}

/// "5 users", "0.5 requests a second": a load as an object.
pub(super) fn load(axis: &str, level: f64) -> String {
    let shown = significant(level, 6);
    let one = level == 1.0;
    match axis {
        "concurrency" => format!("{} {}", if one { "one" } else { &shown }, if one { "user" } else { "users" }),
        "request_rate" => format!("{shown} {} a second", if one { "request" } else { "requests" }),
        _ => format!("{shown} {} at once", if one { "request" } else { "requests" }),
    }
}

/// An arm by its name, or with the name of its setting where the level alone says nothing.
pub(super) fn arm(name: &str, campaign: &Campaign) -> String {
    campaign.asked.as_ref().map_or_else(|| name.to_owned(), |asked| spelled(name, &asked.factor))
}

/// A level, with the name of its setting where it says nothing alone.
pub(super) fn spelled(level: &str, setting: &str) -> String {
    let bare = level.parse::<f64>().is_ok() || BARE.contains(&level.to_lowercase().as_str());
    if bare { format!("{} {level}", Setting::label_of(setting)) } else { level.to_owned() }
}

/// Part of the work that varies elsewhere in the campaign, beside the load: " with 1024 tokens in and 128 out", " of model".
pub(super) fn surroundings(campaign: &Campaign, stratum: &Stratum<'_, '_>, axis: Option<&str>) -> String {
    let varies = |setting: &str| {
        axis != Some(setting) && crate::strata::of_strata(campaign).any(|factor| crate::strata::names(factor, setting))
    };
    let mut said = String::new();
    let has_model = ![Campaign::EVERY_MODEL, Campaign::UNLABELLED, Campaign::NO_MODEL].contains(&stratum.model);
    if has_model && varies("model") {
        said.push_str(&format!(" of {}", stratum.model));
    }
    said.push_str(&work(campaign, stratum, axis));
    for setting in ["depth", "turns", "concurrency", "request_rate"] {
        if let (true, Some(level)) = (varies(setting), stratum.number(setting)) {
            said.push_str(&format!(" {}", place(setting, level)));
        }
    }
    // Along a load the label of the work says the load again.
    if said.is_empty() && axis.is_none() && varies("workload") {
        said.push_str(&stratum.level("workload").map_or_else(String::new, |level| format!(" in {level}")));
    }
    said
}

/// The lengths where they vary elsewhere in the campaign: " with 1024 tokens in and 128 out".
pub(super) fn work(campaign: &Campaign, stratum: &Stratum<'_, '_>, axis: Option<&str>) -> String {
    let varies = |setting: &str| {
        axis != Some(setting) && crate::strata::of_strata(campaign).any(|factor| crate::strata::names(factor, setting))
    };
    let tokens = |setting: &str| stratum.number(setting).and_then(crate::measured::tokens);
    let said = lengths(tokens("isl"), tokens("osl")).filter(|_| varies("isl") || varies("osl"));
    said.map_or_else(String::new, |lengths| format!(" with {lengths}"))
}

/// The number of runs behind some figures. Each alone: ", in one run each".
pub(super) fn runs(arms: &[Ranked<'_>]) -> String {
    let least = arms.iter().map(|arm| arm.figure.n).min().unwrap_or(0);
    let most = arms.iter().map(|arm| arm.figure.n).max().unwrap_or(0);
    match (least, most) {
        (1, 1) => ", in one run each".to_owned(),
        (1, most) => format!(", in 1 to {most} runs each"),
        _ => String::new(),
    }
}

/// Two decimals, and fewer of what is large.
fn ratio(value: f64) -> String {
    fixed(value, if value >= 10.0 { 1 } else { 2 })
}

/// Arms in order, as one sentence. `place` begins it, and `at` follows the first figure.
pub(super) fn ranking(campaign: &Campaign, measure: &Measure, arms: &[Ranked<'_>], place: &str, at: &str) -> String {
    let Some((best, others)) = arms.split_first() else { return String::new() };
    let name = |one: &Ranked<'_>| arm(one.arm, campaign);
    let (runs, label) = (runs(arms), within(&measure.label));
    let first = format!("{} {} {label}{at}", figure(best.figure.mean), measure.unit);
    let body = match (others, measure.direction) {
        (_, Direction::Neutral) if arms.len() > MOST_NAMED => {
            let by_size = |a: &&Ranked<'_>, b: &&Ranked<'_>| a.figure.mean.total_cmp(&b.figure.mean);
            let ends = (arms.iter().min_by(by_size).unwrap_or(best), arms.iter().max_by(by_size).unwrap_or(best));
            let end = |one: &Ranked<'_>| format!("{} {} with {}", figure(one.figure.mean), measure.unit, name(one));
            format!("{label}{at} goes from {} to {}, over {} levels{runs}", end(ends.0), end(ends.1), arms.len())
        }
        (_, Direction::Neutral) => {
            let each: Vec<String> =
                others.iter().map(|one| format!("{} with {}", figure(one.figure.mean), one.arm)).collect();
            format!(
                "{label}{at} is {} {} with {}, {}{runs}",
                figure(best.figure.mean),
                measure.unit,
                name(best),
                list(&each)
            )
        }
        ([other], _) => {
            let gain = 1.0 / other.ratio;
            let apart_pct = 100.0 * (gain - 1.0).abs();
            let figures = format!(
                "{} against {} {} {label}{at}",
                figure(best.figure.mean),
                figure(other.figure.mean),
                measure.unit
            );
            let (a, b) = (name(best), name(other));
            if apart_pct == 0.0 {
                format!("{a} and {b} read the same{runs}: {first}")
            } else if apart_pct < NEAR_PCT {
                format!("{a} and {b} lie within {} % of each other{runs}: {figures}", significant(apart_pct, 1))
            } else if measure.is_speed() {
                format!("{a} is {} times as fast as {b}{runs}: {figures}", ratio(gain))
            } else if measure.direction == Direction::HigherIsBetter {
                format!("{a} has {} times the {label} of {b}{runs}: {figures}", ratio(gain))
            } else {
                format!("{a} has {} times the {label} of {b}{runs}: {figures}", ratio(other.ratio))
            }
        }
        _ => {
            let end = match measure.direction {
                _ if measure.is_speed() => "is fastest".to_owned(),
                Direction::LowerIsBetter => format!("has the lowest {label}"),
                _ => format!("has the highest {label}"),
            };
            let shown = if others.len() + 1 > MOST_NAMED { MOST_NAMED - 2 } else { others.len() };
            let mut each: Vec<String> = others
                .iter()
                .take(shown)
                .map(|one| format!("{} with {} ({} times)", name(one), figure(one.figure.mean), ratio(one.ratio)))
                .collect();
            if let Some(last) = others.last().filter(|_| shown < others.len()) {
                let more = count(others.len() - shown, "other");
                each.push(format!("{more} down to {} ({} times)", figure(last.figure.mean), ratio(last.ratio)));
            }
            format!("{} {end}{runs}: {first}. Then come {}", name(best), list(&each))
        }
    };
    if place.is_empty() { format!("{body}.") } else { format!("{} {body}.", capital(place)) }
}
