//! Series and their changes as text for a terminal.
//!
//! In:  the reports.  Out: lines.
//! Not here: numbers that the JSON does not have.

use sparkbench_stats::change::LEAST_POINTS;
use sparkbench_verdict::number::{count, significant};
use sparkbench_verdict::report::series::{ChangeReport, PointName, SeriesReport, Turn};

/// Significant digits of a value.
const DIGITS: usize = 4;

/// Outliers and labels that are listed. The rest is counted.
const LISTED: usize = 6;

/// Draws every series: its heading, its changes, its outliers.
pub(super) fn draw(series: &[SeriesReport]) -> String {
    let mut text = String::new();
    for one in series {
        let subject = if one.subject.is_empty() { String::new() } else { format!("{} · ", one.subject) };
        text.push_str(&format!("{subject}{}: {}\n", one.metric, heading(one)));
        for change in &one.change_points {
            text.push_str(&told(one, change));
        }
        for change in &one.within_margin {
            text.push_str(&format!(
                "  {}  {} within the margin of {} %\n",
                place(&change.first_after),
                step(one, change),
                significant(one.margin_pct, 2)
            ));
        }
        let odd: Vec<String> = one
            .outliers
            .iter()
            .take(LISTED)
            .map(|point| format!("{} ({})", place(point), with_unit(point.value, &one.unit)))
            .collect();
        if !odd.is_empty() {
            let more = one.outliers.len().saturating_sub(LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text.push_str(&format!("  odd points: {}{more}\n", odd.join(", ")));
        }
    }
    text
}

fn heading(one: &SeriesReport) -> String {
    let mut parts = vec![count(one.points, "point")];
    if one.points < LEAST_POINTS {
        return format!("{}, too few to show a change (at least {LEAST_POINTS} are needed)", parts.join(""));
    }
    parts.push(match one.change_points.len() {
        0 => "no change".to_owned(),
        n => count(n, "change"),
    });
    if let Some(last) = one.stretches.last() {
        let interval = last.interval.map_or_else(String::new, |(low, high)| {
            format!(" [{}, {}]", significant(low, DIGITS), significant(high, DIGITS))
        });
        parts.push(format!("now {}{interval}", with_unit(last.mean, &one.unit)));
    }
    parts.join(", ")
}

fn told(one: &SeriesReport, change: &ChangeReport) -> String {
    let mut text = format!("  {}  {} {}\n", place(&change.first_after), step(one, change), change.turn.word());
    let (last, first) = match change.turn {
        Turn::Worse => ("last good", "first bad"),
        _ => ("last before", "first after"),
    };
    if change.last_before.name.is_some() || change.first_after.name.is_some() {
        text.push_str(&format!(
            "      {last} {}, {first} {}\n",
            called(&change.last_before),
            called(&change.first_after)
        ));
    }
    let named = |name: &str| name != "commit" && name != "campaign";
    let with: Vec<String> = change
        .changed
        .iter()
        .filter(|label| named(&label.name))
        .take(LISTED)
        .map(|label| format!("{} {} → {}", label.name, label.before, label.after))
        .collect();
    if !with.is_empty() {
        text.push_str(&format!("      changed with it: {}\n", with.join(", ")));
    }
    text
}

/// `12.01 → 14.2 ms (+18 %), p = 0.001,`
fn step(one: &SeriesReport, change: &ChangeReport) -> String {
    let pct =
        change.change_pct.map_or_else(String::new, |pct| format!(" ({}{} %)", sign(pct), significant(pct.abs(), 3)));
    let what = match change.kind {
        "scatter" => "standard deviation ",
        "cycle" => "phase or size of the cycle, mean ",
        _ => "",
    };
    let p = if change.p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {}", significant(change.p, 2)) };
    format!("{what}{} → {}{pct}, {p},", significant(change.before, DIGITS), with_unit(change.after, &one.unit))
}

const fn sign(x: f64) -> &'static str {
    if x < 0.0 { "-" } else { "+" }
}

fn with_unit(value: f64, unit: &str) -> String {
    if unit.is_empty() { significant(value, DIGITS) } else { format!("{} {unit}", significant(value, DIGITS)) }
}

fn place(point: &PointName) -> String {
    if point.time.is_empty() { format!("row {}", point.index) } else { format!("{} (row {})", point.time, point.index) }
}

fn called(point: &PointName) -> &str {
    point.name.as_deref().unwrap_or(&point.time)
}
