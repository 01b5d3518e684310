//! The state of a campaign as text.
//!
//! In:  a [`View`].  Out: a table for people, one line for logs.
//! Not here: working anything out.

use std::fmt::Write as _;

use super::view::{Counts, Current, Reason, Row, State, View};
use sparkbench_plan::estimate::about;
use sparkbench_text::table;

/// Reasons shown at most. The others are counted. All of them stand in the JSON.
const MOST_REASONS: usize = 10;
/// Columns of telemetry worth a word: name, what stands before it, unit.
const TELEMETRY: &[(&str, &str, &str)] = &[
    ("gpu_c", "GPU ", " C"),
    ("power_w", "", " W"),
    ("sm_clock_mhz", "SM ", " MHz"),
    ("gpu_util_pct", "", " %"),
    ("memory_available_mib", "available ", " MiB"),
];

/// One line without anything that changes with every second.
pub(super) fn line(view: &View) -> String {
    let counts = &view.runs;
    let mut text =
        format!("{}: {}, {} of {} runs done", clean(&view.campaign), state(view.state), counts.done, counts.planned);
    let parts = [(counts.failed, "failed"), (counts.skipped, "skipped"), (counts.lost, "lost"), (counts.left, "left")];
    for (number, word) in parts {
        if number > 0 {
            let _ = write!(text, ", {number} {word}");
        }
    }
    if let Some(current) = &view.current {
        let _ = write!(text, ", now {}", named(current));
    }
    text
}

/// The same with its moment and the time left.
pub(super) fn stamped(view: &View) -> String {
    let left = view.left.as_ref().map_or_else(String::new, |left| format!(", {} left", about(left.seconds)));
    format!("{} {}{left}", view.at_utc.iso(), line(view))
}

/// Everything.
pub(super) fn table(view: &View) -> String {
    let mut text = format!("{}\n", line(view));
    when(view, &mut text);
    if let Some(current) = &view.current {
        now(view, current, &mut text);
    } else if let Some(next) = &view.next {
        let _ = writeln!(text, "next: {}", clean(next));
    }
    if !view.cells.is_empty() {
        text.push('\n');
        grid(&cells(view), &mut text);
        let _ = writeln!(text, "{}", figures(view));
    }
    for run in &view.last_runs {
        let shown = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.0}"));
        let _ = writeln!(text, "GPU {} C -> {} C in {}", shown(run.start_c), shown(run.end_c), clean(&run.run));
    }
    reasons("failed", &view.failures, &mut text);
    match view.looks.as_ref().and_then(|looks| looks.ended.as_ref()) {
        // Each of them has the same reason, which stands there once.
        Some(_) => {}
        None => reasons("skipped", &view.skipped, &mut text),
    }
    reasons("lost", &view.lost, &mut text);
    for note in &view.notes {
        let _ = writeln!(text, "note: {}", clean(note));
    }
    text
}

/// What the figures are worth, and when they are looked at.
fn figures(view: &View) -> String {
    if view.metrics.is_empty() {
        return "no figures yet".to_owned();
    }
    let Some(looks) = &view.looks else {
        return if view.state == State::Complete {
            "means of the runs, without verdict".to_owned()
        } else if view.preliminary {
            "means of the runs done, preliminary and without verdict. Finish the plan before you judge".to_owned()
        } else {
            "means of the runs done, preliminary and without verdict".to_owned()
        };
    };
    let next = usize::try_from(looks.taken).ok().and_then(|taken| looks.at_blocks.get(taken));
    match (&looks.ended, next) {
        (Some(why), _) => ended(why, view),
        (None, Some(next)) => format!(
            "means of the runs done, preliminary and without verdict. Looks: {} of {} done, the next at {next} blocks",
            looks.taken,
            looks.at_blocks.len()
        ),
        (None, None) => format!("all {} looks are done", looks.at_blocks.len()),
    }
}

/// Why a campaign ended at a look, and what has been lost of it since.
fn ended(why: &str, view: &View) -> String {
    let s = |count: usize| if count == 1 { " was" } else { "s were" };
    let saved = view.skipped.len();
    let text = format!("{}. {saved} run{} not needed", clean(why), s(saved));
    match view.runs.lost {
        0 => text,
        lost => format!("{text}. {lost} run{} lost after that look and will not be measured again", s(lost)),
    }
}

fn when(view: &View, text: &mut String) {
    let mut parts = Vec::new();
    if let Some(begun) = view.begun_utc {
        parts.push(format!("started {}", begun.iso()));
    }
    parts.extend(view.elapsed_s.map(|seconds| match view.state {
        State::Complete => format!("took {}", span(seconds)),
        _ => format!("{} so far", span(seconds)),
    }));
    if let Some(left) = &view.left {
        let guess = match (left.measured, left.guessed) {
            (_, 0) => "",
            (0, _) => " (a guess: no run of these cells has ended yet)",
            _ => " (in part a guess)",
        };
        parts.push(format!("{} left{guess}", about(left.seconds)));
    }
    parts.push(if view.sealed { "sealed".to_owned() } else { "not sealed".to_owned() });
    let _ = writeln!(text, "{}", parts.join(", "));
}

fn now(view: &View, current: &Current, text: &mut String) {
    let word = if view.state == State::BrokenOff { "interrupted" } else { "now" };
    let since = match (view.state, current.for_s, current.since_utc) {
        (State::BrokenOff, _, Some(since)) => format!(", started {}", since.iso()),
        (_, Some(seconds), _) => format!(", for {}", span(seconds)),
        _ => String::new(),
    };
    let readings: Vec<String> = TELEMETRY
        .iter()
        .filter_map(|(name, before, unit)| {
            current.telemetry.get(*name).map(|value| format!("{before}{}{unit}", clean(value)))
        })
        .collect();
    let readings = if readings.is_empty() { String::new() } else { format!(", {}", readings.join(", ")) };
    let _ = writeln!(text, "{word}: {}{since}{readings}", named(current));
}

fn named(current: &Current) -> String {
    match &current.planned {
        Some(planned) => {
            let repeat = planned.repeat.map_or_else(String::new, |repeat| format!(", repeat {repeat}"));
            format!(
                "{} ({}, {}, {}{repeat})",
                clean(&current.run),
                clean(&planned.environment),
                clean(&planned.model),
                clean(&planned.workload)
            )
        }
        None => clean(&current.run),
    }
}

const fn state(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::BetweenRuns => "between two runs",
        State::BrokenOff => "interrupted",
        State::Stopped => "stopped",
        State::Unknown => "not complete",
        State::Complete => "complete",
    }
}

/// Heads and rows. The first three columns to the left, the others to the right.
fn cells(view: &View) -> Vec<Vec<String>> {
    let mut head: Vec<String> =
        ["environment", "model", "workload", "done", "running", "failed", "skipped", "left", "of"]
            .map(str::to_owned)
            .into();
    let (lost, interrupted) = (view.runs.lost > 0, view.runs.interrupted > 0);
    if lost {
        head.push("lost".to_owned());
    }
    if interrupted {
        head.push("interrupted".to_owned());
    }
    head.extend(view.metrics.iter().cloned());
    let row = |row: &Row| {
        let mut cells: Vec<String> = [&row.environment, &row.model, &row.workload].map(|name| clean(name)).into();
        cells.extend(numbers(row.runs.as_ref(), lost, interrupted));
        cells.extend(row.figures.iter().map(|figure| match figure.mean {
            Some(mean) => format!("{} {} (n {})", short(mean), figure.unit, figure.n),
            None => "-".to_owned(),
        }));
        cells
    };
    std::iter::once(head).chain(view.cells.iter().map(row)).collect()
}

/// Counts of a row. Two columns are there only where a row has something in them.
fn numbers(counts: Option<&Counts>, with_lost: bool, with_interrupted: bool) -> Vec<String> {
    let cell = |count: fn(&Counts) -> usize| counts.map_or_else(String::new, |counts| count(counts).to_string());
    let mut cells = vec![
        cell(|counts| counts.done),
        cell(|counts| counts.running),
        cell(|counts| counts.failed),
        cell(|counts| counts.skipped),
        cell(|counts| counts.left),
        cell(|counts| counts.planned),
    ];
    cells.extend(with_lost.then(|| cell(|counts| counts.lost)));
    cells.extend(with_interrupted.then(|| cell(|counts| counts.interrupted)));
    cells
}

fn grid(rows: &[Vec<String>], text: &mut String) {
    let widths = table::widths(rows);
    for row in rows {
        let _ = writeln!(text, "{}", table::line(row, &widths, 3));
    }
}

fn reasons(word: &str, list: &[Reason], text: &mut String) {
    for reason in list.iter().take(MOST_REASONS) {
        let _ = writeln!(text, "{word}: {}: {}", clean(&reason.run), clean(&reason.why));
    }
    if list.len() > MOST_REASONS {
        let _ = writeln!(text, "{word}: and {} more (--json lists them all)", list.len() - MOST_REASONS);
    }
}

/// Four significant digits: figures are preliminary.
fn short(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        format!("{value:.0}")
    } else if size >= 100.0 {
        format!("{value:.1}")
    } else if size >= 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

/// `45 s`, `12 min 03 s`, `3 h 07 min`.
fn span(seconds: f64) -> String {
    // Below 10^15 by the clamp, so the cast keeps the value.
    let whole = seconds.clamp(0.0, 1e15) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

/// Names and reasons come from files: no control character of theirs reaches the terminal.
fn clean(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || turns(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_figures_read_well() {
        assert_eq!(
            [0.4, 59.0, 61.0, 3600.0, 90_061.0].map(span),
            ["0 s", "59 s", "1 min 01 s", "1 h 00 min", "25 h 01 min"]
        );
        assert_eq!([119.26, 1234.5, 12.346, 0.51239, -3.0].map(short), ["119.3", "1234", "12.35", "0.512", "-3.000"]);
    }

    #[test]
    fn no_control_character_reaches_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\u{202e}c\n"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}");
    }
}
