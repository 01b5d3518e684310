//! The course of one run: its marks on the time axis, its gates, its requests, the end of its logs.
//!
//! In:  [`CourseReport`], spans, raw files.  Out: views for the page of the run.
//! Not here: any number that the analysis does not hold.

use super::figure::FigureView;
use super::index::Site;
use super::labels::Badge;
use super::number;
use crate::chart::RequestTimeline;
use crate::chart::request_timeline::RequestBar;
use crate::chart::series::{Event, Stretch};
use sparkbench_model::{Finding, Instant, Level, RawText, Span};
use sparkbench_verdict::course::in_flight;
use sparkbench_verdict::report::{CourseReport, RunReport};

/// Logs of which the end is shown.
const TAILS: usize = 4;

/// One reading of a gate or a watchdog.
pub(super) struct GateRow {
    pub gate: String,
    /// The consequence.
    pub badge: Badge,
    /// The reading.
    pub reading: String,
    pub limit: String,
    /// Time of the day.
    pub when: String,
    pub remedy: String,
}

/// The end of a log.
pub(super) struct Tail {
    /// The log.
    pub file: String,
    /// Its last lines.
    pub text: String,
}

/// Readings before the run, then those of the watchdogs.
pub(super) fn gates(course: &CourseReport) -> Vec<GateRow> {
    course.gates.iter().chain(&course.watched).map(gate).collect()
}

fn gate(found: &Finding) -> GateRow {
    let badge = match found.level {
        Level::Passed => Badge { class: "o-pass", glyph: "✓", word: "passed" },
        Level::NotAvailable => Badge { class: "o-none", glyph: "·", word: "not available" },
        Level::Warned => Badge { class: "s-warning", glyph: "!", word: "warned" },
        Level::Refused => Badge { class: "s-error", glyph: "×", word: "refused" },
    };
    let at = found.at_utc.as_deref().and_then(Instant::parse);
    GateRow {
        gate: found.gate.clone(),
        badge,
        reading: found.reading.clone(),
        limit: found.limit.clone().unwrap_or_default(),
        when: at.map_or_else(String::new, super::labels::moment_bare),
        remedy: found.remedy.clone().unwrap_or_default(),
    }
}

/// What the telemetry shows, in one sentence.
pub(super) fn finding(course: &CourseReport) -> Option<String> {
    let held = course.held.as_ref()?;
    if held.is_empty() {
        return Some("The clock was never held down in the measured window.".into());
    }
    let mut reasons: Vec<&str> = held.iter().flat_map(|h| h.reasons.iter().copied()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let stretches = if held.len() == 1 { "one stretch".to_owned() } else { format!("{} stretches", held.len()) };
    Some(format!("The clock was held down in {stretches} of the measured window: {}.", reasons.join(", ")))
}

/// Moments of the gates as marks on the axis. Readings of one moment are one mark.
pub(super) fn events(course: &CourseReport, zero: Instant) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    if zero.is_relative() {
        return events;
    }
    for (found, label) in
        course.gates.iter().map(|g| (g, "Gates read")).chain(course.watched.iter().map(|g| (g, "watchdogs read")))
    {
        let Some(at) = found.at_utc.as_deref().and_then(Instant::parse) else { continue };
        let at = at.seconds_since(zero);
        // Readings of one round lie some milliseconds apart.
        if events.last().is_none_or(|last| last.label != label || at - last.at > 1.0) {
            events.push(Event { at, label: label.to_owned() });
        }
    }
    events
}

/// Periods in which the clock was held down.
pub(super) fn held(course: &CourseReport) -> Vec<Stretch> {
    let held = course.held.iter().flatten();
    held.map(|h| Stretch { from: h.from_s, to: h.to_s, label: h.reasons.join(", ") }).collect()
}

/// Requests of a run over time.
pub(super) fn requests(id: &str, spans: &[Span], course: Option<&CourseReport>) -> Option<FigureView> {
    let zero = spans.iter().map(|span| span.sent_s).fold(f64::INFINITY, f64::min);
    if spans.len() < 2 || !zero.is_finite() {
        return None;
    }
    let mut bars: Vec<RequestBar> = spans
        .iter()
        .map(|span| RequestBar {
            sent: span.sent_s - zero,
            first: span.first_token_s.map(|at| at - zero),
            end: span.end_s.map(|at| at - zero),
            failed: !span.answered,
        })
        .collect();
    bars.sort_by(|a, b| a.sent.total_cmp(&b.sent));
    let told = course.and_then(|course| course.in_flight.as_ref());
    let chart = RequestTimeline {
        title: "Requests of this run over time".into(),
        finding: told.map(|told| {
            let failed = if told.failed > 0 {
                format!(", {} of which failed", number::count(told.failed as u64))
            } else {
                String::new()
            };
            format!(
                "{} measured requests{failed}. At most {} were on their way at once, {} on average.",
                number::count(told.requests as u64),
                number::count(told.greatest as u64),
                number::plain(told.mean)
            )
        }),
        x_axis: "seconds since the first was sent".into(),
        requests: bars,
        in_flight: in_flight(spans).into_iter().map(|(at, count)| (at - zero, count as f64)).collect(),
    };
    Some(FigureView::compact(id, chart.draw(id)))
}

/// The last lines of the logs of a run.
pub(super) fn tails(site: &Site<'_>, run: &RunReport) -> Vec<Tail> {
    let is_log = |file: &str| [".log", ".out", ".err", ".txt", ".log.gz"].iter().any(|ending| file.ends_with(ending));
    let logs = site.places.texts(&run.id).filter(|text| is_log(&text.file) && !text.rows.is_empty());
    logs.take(TAILS)
        .map(|text| {
            let rows = &text.rows[text.rows.len().saturating_sub(RawText::TAIL)..];
            let last: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
            Tail { file: text.file.clone(), text: last.join("\n") }
        })
        .collect()
}
