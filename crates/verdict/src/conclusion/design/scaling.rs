//! One load and no treatment: up to where throughput grows, what a user waits there, and up to where the server keeps up.
//!
//! In:  strata that differ in a load.  Out: [`DesignAnswer`].
//! Not here: sweeps beside each other (see `across::sweep`).

use super::words::{figure, load, place, surroundings};
use super::{DesignAnswer, SINGLE};
use crate::Settings;
use crate::case::{Case, Cell};
use crate::report::{Estimate, Sentence};
use crate::strata::rank::{Measure, figure as mean_of};
use crate::strata::{LOADS, Series, Stratum, counted, series};
use sparkbench_model::{Campaign, within};

/// Throughput within this of the best is as good: what `load` takes for growth that does not pay.
const NEAR: f64 = 0.05;

/// Throughput, in this order as far as it is measured.
const THROUGHPUT: [&str; 3] = ["output_throughput_tok_s", "total_throughput_tok_s", "request_throughput_req_s"];
/// What a user waits, in this order.
const WAIT: [(&str, &str); 2] = [("ttft_ms", "for the first token"), ("e2e_latency_ms", "for a whole answer")];

/// A load with its figures.
struct Point {
    level: f64,
    throughput: Estimate,
    wait: Option<(f64, &'static str)>,
    keeps_up: Option<bool>,
}

/// Absent where fewer than two loads have a throughput.
pub(super) fn answer(case: &Case<'_>, all: &[Stratum<'_, '_>], settings: &Settings) -> Option<DesignAnswer> {
    let strata: Vec<&Stratum<'_, '_>> = all.iter().collect();
    let found = series(case.campaign, &strata, LOADS)?;
    let measure =
        THROUGHPUT.into_iter().filter_map(Measure::find).find(|measure| points(&found, measure, settings).len() > 1)?;
    let points = points(&found, &measure, settings);
    let kept: Vec<&Point> = points.iter().filter(|point| point.keeps_up != Some(false)).collect();
    let lead = if kept.is_empty() {
        overloaded(&found, &points)?
    } else {
        said(case.campaign, &found, &measure, &kept, &points)
    };
    let single = points.iter().all(|point| point.throughput.n == 1);
    let mut caveats: Vec<String> = Vec::new();
    caveats.extend(single.then(|| SINGLE.to_owned()));
    if found.of > 1 {
        caveats.push(format!("the same load was varied for {} kinds of work. This is the longest", found.of));
    }
    Some(DesignAnswer { lead: vec![Sentence { text: lead, caveats, because: Vec::new() }], further: Vec::new() })
}

fn points(found: &Series<'_, '_, '_>, measure: &Measure, settings: &Settings) -> Vec<Point> {
    let of = |cell: &Cell<'_>, name: &str| {
        Measure::find(name).and_then(|measure| mean_of(cell, &measure, settings.confidence)).map(|found| found.mean)
    };
    let point = |(level, stratum): &(f64, &Stratum<'_, '_>)| {
        let cell = stratum.cells.first()?;
        Some(Point {
            level: *level,
            throughput: mean_of(cell, measure, settings.confidence)?,
            wait: WAIT.into_iter().find_map(|(name, words)| Some((of(cell, name)?, words))),
            keeps_up: counted::keeps_up(cell),
        })
    };
    found.points.iter().filter_map(point).collect()
}

/// The least load that comes as near to the best throughput as matters.
fn knee<'p>(kept: &[&'p Point]) -> Option<&'p Point> {
    let most = kept.iter().map(|point| point.throughput.mean).fold(0.0, f64::max);
    kept.iter().find(|point| point.throughput.mean >= (1.0 - NEAR) * most).copied()
}

fn said(campaign: &Campaign, found: &Series<'_, '_, '_>, measure: &Measure, kept: &[&Point], all: &[Point]) -> String {
    let (Some(first), Some(knee)) = (kept.first(), knee(kept)) else { return String::new() };
    let rate = |point: &Point| format!("{} {}", figure(point.throughput.mean), measure.unit);
    let wait = |who: &str| {
        knee.wait.map_or_else(String::new, |(ms, what)| format!(", and {who} waits {} ms {what}", figure(ms)))
    };
    let others =
        found.first().map_or_else(String::new, |(_, stratum)| surroundings(campaign, stratum, Some(found.axis)));
    let label = within(&measure.label);
    let behind = all.iter().find(|point| point.keeps_up == Some(false));
    let axis = found.axis;
    if axis == "request_rate" {
        let last = kept.last().unwrap_or(first);
        let wait =
            last.wait.map_or_else(String::new, |(ms, what)| format!(", and a request waits {} ms {what}", figure(ms)));
        return match behind {
            Some(behind) if behind.level > last.level => format!(
                "The server keeps up with {}{others}: {} {label}{wait}. {} it falls behind.",
                load(axis, last.level),
                rate(last),
                crate::number::capital(&place(axis, behind.level))
            ),
            _ if last.keeps_up == Some(true) => format!(
                "The server keeps up with every rate, the highest of {}{others}: {} {label} there{wait}.",
                load(axis, last.level),
                rate(last)
            ),
            _ => format!(
                "{}{others} the {label} is {}{wait}.",
                crate::number::capital(&place(axis, last.level)),
                rate(last)
            ),
        };
    }
    let who = if axis == "concurrency" { "a user" } else { "a request" };
    let last = kept.last().is_some_and(|last| last.level == knee.level);
    if knee.level == first.level {
        let label = crate::number::capital(&label);
        return format!(
            "{label}{others} is highest {}: {}{}. More at once does not pay.",
            place(axis, knee.level),
            rate(knee),
            wait(who)
        );
    }
    let from = format!("from {} {} to {}", figure(first.throughput.mean), place(axis, first.level), rate(knee));
    if last {
        return format!(
            "{}{others} grows up to the most that was tried, {}: {from}{}.",
            crate::number::capital(&label),
            load(axis, knee.level),
            wait(who)
        );
    }
    format!("{}{others} grows up to {}: {from}{}.", crate::number::capital(&label), load(axis, knee.level), wait(who))
}

/// Every load is too much.
fn overloaded(found: &Series<'_, '_, '_>, points: &[Point]) -> Option<String> {
    let least = points.first()?;
    Some(format!("The server keeps up with none of the loads, not even with {}.", load(found.axis, least.level)))
}
