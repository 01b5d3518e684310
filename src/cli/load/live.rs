//! What is seen while a load runs: one line that changes on a terminal, a line now and then elsewhere.
//!
//! In:  [`Live`] moments.  Out: standard error.
//! Not here: results.

use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};

use super::points::Points;
use crate::cli::talk::Talk;
use sparkbench_load::session::{Live, Loaded, Watcher};

/// Steps of the bar.
const STEPS: u64 = 1000;

/// Seconds between two lines where there is no terminal.
const LINE_EVERY_S: f64 = 10.0;

/// See the module.
pub(super) struct ProgressReporter<'a> {
    talk: &'a Talk,
    bar: ProgressBar,
    /// Name of the load that was last spoken of, and when in it.
    said: Mutex<(String, f64)>,
    points: Option<&'a Points<'a>>,
}

impl<'a> ProgressReporter<'a> {
    /// Nothing is shown before the first moment.
    pub(super) fn new(talk: &'a Talk) -> Self {
        let bar = talk.spinner();
        bar.set_length(STEPS);
        Self { talk, bar, said: Mutex::new((String::new(), 0.0)), points: None }
    }

    /// Shows each measured load as soon as it is over.
    pub(super) fn showing(talk: &'a Talk, points: &'a Points<'a>) -> Self {
        let mut speaker = Self::new(talk);
        speaker.points = Some(points);
        speaker
    }
}

impl Drop for ProgressReporter<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for ProgressReporter<'_> {
    fn say(&self, line: &str) {
        self.bar.suspend(|| self.talk.say(line));
    }

    fn warn(&self, line: &str) {
        self.bar.suspend(|| self.talk.warn(line));
    }

    fn measured(&self, loaded: &Loaded) {
        if let Some(points) = self.points {
            self.bar.suspend(|| points.add(loaded));
        }
    }

    fn broken(&self, loaded: &Loaded) {
        if let Some(points) = self.points {
            self.bar.suspend(|| points.broken(loaded));
        }
    }

    fn live(&self, live: &Live) {
        if live.done {
            self.bar.set_style(style(false));
            self.bar.set_message(String::new());
        } else if !self.bar.is_hidden() {
            self.bar.set_style(style(live.share().is_some()));
            self.bar.set_position((live.share().unwrap_or(0.0) * STEPS as f64) as u64);
            self.bar.set_message(line(live));
            self.bar.tick();
        }
        if !self.bar.is_hidden() {
            return;
        }
        let Ok(mut said) = self.said.lock() else { return };
        let new = said.0 != live.name;
        let since = if new { 0.0 } else { said.1 };
        if live.elapsed_s - since >= LINE_EVERY_S {
            *said = (live.name.clone(), live.elapsed_s);
            self.talk.say(&line(live));
        } else if new {
            *said = (live.name.clone(), 0.0);
        }
    }
}

/// A bar where the end is known, and the line beside it.
fn style(bar: bool) -> ProgressStyle {
    let template = if bar { "{bar:20} {wide_msg}" } else { "{wide_msg}" };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// `c8: 120 of 320, about 20 s left, TTFT 52.1 ms, 780 tok/s, 8 in flight, 0 failed, 12 s`: what matters first, since a terminal cuts the end.
fn line(live: &Live) -> String {
    let mut words = vec![match (live.planned, live.planned_s) {
        (Some(planned), _) => format!("{} of {planned}", live.ended),
        (None, Some(planned_s)) => format!("{} ended, {:.0} of {planned_s:.0} s", live.ended, live.elapsed_s),
        (None, None) => format!("{} ended", live.ended),
    }];
    words.extend(live.left_s().map(|left| format!("about {} left", span(left))));
    words.extend(live.ttft_ms.map(|ms| format!("TTFT {ms:.1} ms")));
    words.push(match live.tokens_s {
        Some(rate) => format!("{rate:.0} tok/s"),
        None => format!("{:.0} chunks/s", live.pieces_s),
    });
    words.extend(live.tpot_ms.map(|ms| format!("TPOT {ms:.2} ms")));
    words.push(format!("{} in flight", live.in_flight));
    words.extend((live.waiting > 0).then(|| format!("{} of them waiting to be sent again", live.waiting)));
    words.push(format!("{} failed", live.failed));
    if live.planned.is_some() {
        words.push(format!("{:.0} s", live.elapsed_s));
    }
    let name = if live.name.is_empty() { String::new() } else { format!("{}: ", live.name) };
    format!("{name}{}", words.join(", "))
}

/// `40 s`, `12 min`, `2.5 h`.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_what_was_seen_so_far() {
        let live = Live {
            name: "c8".into(),
            elapsed_s: 12.3,
            planned: Some(320),
            ended: 120,
            in_flight: 8,
            ttft_ms: Some(52.13),
            pieces_s: 780.4,
            ..Live::default()
        };
        let said = "c8: 120 of 320, about 20 s left, TTFT 52.1 ms, 780 chunks/s, 8 in flight, 0 failed, 12 s";
        assert_eq!(line(&live), said);
        let counted = Live { tokens_s: Some(801.6), tpot_ms: Some(9.98), ..live.clone() };
        assert!(line(&counted).contains("TTFT 52.1 ms, 802 tok/s, TPOT 9.98 ms"), "{}", line(&counted));
        let timed = Live { planned: None, planned_s: Some(60.0), name: String::new(), ..live.clone() };
        assert!(line(&timed).starts_with("120 ended, 12 of 60 s, about 48 s left, TTFT"), "{}", line(&timed));
        let waiting = Live { waiting: 2, ..live.clone() };
        assert!(
            line(&waiting).contains("8 in flight, 2 of them waiting to be sent again, 0 failed"),
            "{}",
            line(&waiting)
        );
        // Whichever bound comes first.
        let both = Live { planned_s: Some(15.0), ..live.clone() };
        assert!(line(&both).contains("about 3 s left"), "{}", line(&both));
        // A guess from nothing is none.
        let new = Live { ended: 0, ..live };
        assert!(!line(&new).contains("left"), "{}", line(&new));
        assert_eq!([40.0, 720.0, 9000.0].map(span), ["40 s", "12 min", "2.5 h"]);
    }
}
