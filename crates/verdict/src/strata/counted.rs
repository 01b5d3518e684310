//! Which runs a headline may rest on: those that came to their end, whose load is valid, and with which the server kept up.
//!
//! In:  a run.  Out: why it does not count, and whether the server kept up.
//! Not here: traps, which say the same beside the figures.

use crate::case::Cell;
use crate::course::in_flight;
use crate::number::significant;
use sparkbench_model::{Run, Span, Status, known_extra};
use sparkbench_stats::{drift, mean};

/// A server that answers less than this share of the rate that is asked for falls behind. The rest is the end of a load, when nothing more
/// is sent.
const LEAST_SHARE: f64 = 0.95;
/// Rates from which "all at once" is meant (as in `across::placed_cell`).
const UNLIMITED_REQ_S: f64 = 100_000.0;
/// A load of which most requests failed measures the failure.
const MOST_FAILED: f64 = 0.5;
/// Equal parts of a load in which the queue is looked at: twice what a test of a trend needs at least.
const SLICES: usize = 16;
/// Level at which the queue is said to grow.
const ALPHA: f64 = 0.01;
/// A queue that grows by less over a load is no matter, per cent of its mean.
const GROWTH_PCT: f64 = 25.0;

/// Names of the duration of a load, seconds.
const DURATION_S: &[&str] = &["duration", "duration_s", "benchmark_duration", "benchmark_duration_s"];

/// Why a run enters no headline, in words that follow "because".
pub(crate) fn fault(run: &Run) -> Option<String> {
    if let Status::Failed(how) = &run.status {
        return Some(if how.is_empty() { "it failed".to_owned() } else { format!("it failed: {how}") });
    }
    if let Some(why) = known_extra::text(run, known_extra::INVALID).filter(|why| !why.is_empty()) {
        return Some(format!("its load is not valid: {why}"));
    }
    let answered = known_extra::number(run, known_extra::ANSWERED_REQUESTS)?;
    let failed = known_extra::number(run, known_extra::FAILED_REQUESTS)?;
    let all = answered + failed;
    (failed > 0.0 && failed > MOST_FAILED * all).then(|| {
        format!("its load is not valid: {} of {} requests failed", significant(failed, 9), significant(all, 9))
    })
}

/// Runs of a cell that count.
pub(crate) fn runs<'c, 'a>(cell: &'c Cell<'a>) -> impl Iterator<Item = &'a Run> + use<'c, 'a> {
    cell.runs.iter().copied().filter(|run| fault(run).is_none())
}

/// Whether the server kept up with the load of a cell. Absent where nothing tells. Of several runs most decide.
pub(crate) fn keeps_up(cell: &Cell<'_>) -> Option<bool> {
    let known: Vec<bool> = runs(cell).filter_map(run_keeps_up).collect();
    let behind = known.iter().filter(|kept| !**kept).count();
    (!known.is_empty()).then(|| 2 * behind < known.len())
}

/// A queue that grows decides. So does a rate that is reached or not. What is missing decides nothing.
fn run_keeps_up(run: &Run) -> Option<bool> {
    if queue_grows(&run.course.requests) == Some(true) {
        return Some(false);
    }
    let asked = run.setup.request_rate.filter(|rate| *rate > 0.0 && *rate < UNLIMITED_REQ_S)?;
    let achieved = match run.course.requests.is_empty() {
        true => of_summary(run)?,
        false => of_requests(&run.course.requests)?,
    };
    Some(achieved >= LEAST_SHARE * asked)
}

/// Requests a second that were answered, without the time that the first and the last ones take alone.
fn of_summary(run: &Run) -> Option<f64> {
    let completed = known_extra::number(run, known_extra::ANSWERED_REQUESTS)?;
    let time = known_extra::number(run, DURATION_S)? - run.value("e2e_latency_ms")? / 1000.0;
    (time > 0.0).then(|| completed / time)
}

/// Answers between the first send and one mean latency after it, and the last send, over that time.
fn of_requests(requests: &[Span]) -> Option<f64> {
    let answered: Vec<(f64, f64)> =
        requests.iter().filter(|span| span.answered).filter_map(|span| Some((span.sent_s, span.end_s?))).collect();
    let latencies: Vec<f64> = answered.iter().map(|(sent, end)| end - sent).collect();
    let sends = || requests.iter().map(|span| span.sent_s);
    let (first, last) = (sends().fold(f64::INFINITY, f64::min), sends().fold(f64::NEG_INFINITY, f64::max));
    if answered.is_empty() {
        return None;
    }
    let from = first + mean(&latencies);
    let inside = answered.iter().filter(|(_, end)| (from..=last).contains(end)).count();
    (last > from).then(|| inside as f64 / (last - from))
}

/// Whether requests on their way and the wait for the first token both rise until the last send. Absent for too few requests.
fn queue_grows(requests: &[Span]) -> Option<bool> {
    let sends = || requests.iter().map(|span| span.sent_s);
    let (first, last) = (sends().fold(f64::INFINITY, f64::min), sends().fold(f64::NEG_INFINITY, f64::max));
    let width = (last - first) / SLICES as f64;
    if requests.len() < 2 * SLICES || !width.is_finite() || width <= 0.0 {
        return None;
    }
    let steps = in_flight(requests);
    let (mut flying, mut waits) = (Vec::new(), Vec::new());
    for slice in 0..SLICES {
        let from = first + slice as f64 * width;
        let of_slice = requests.iter().filter(|span| (from..from + width).contains(&span.sent_s));
        let ttft: Vec<f64> = of_slice.filter_map(|span| Some(span.first_token_s? - span.sent_s)).collect();
        if ttft.is_empty() {
            return None;
        }
        waits.push(mean(&ttft));
        let before = steps.iter().take_while(|(at, _)| *at <= from + width / 2.0).last();
        flying.push(before.map_or(0.0, |(_, count)| *count as f64));
    }
    Some(grows(&flying) && grows(&waits))
}

fn grows(values: &[f64]) -> bool {
    drift(values, 1.0 - ALPHA)
        .is_some_and(|found| found.s > 0 && found.p < ALPHA && found.drift_pct.is_some_and(|pct| pct > GROWTH_PCT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::measured;
    use sparkbench_model::{Extra, Origin, Setup};

    fn load(rate: f64, completed: f64, seconds: f64, latency_ms: f64) -> Run {
        let setup = Setup { request_rate: Some(rate), ..Setup::default() };
        let mut run = measured("a", setup, &[("e2e_latency_ms", latency_ms)]);
        let origin = Origin { file: "a".into(), line: None, field: None, rule: "test" };
        run.extras = vec![
            Extra::number("completed", "", completed, None, origin.clone()),
            Extra::number("duration", "s", seconds, None, origin),
        ];
        run
    }

    #[test]
    fn a_rate_that_is_reached_while_requests_are_sent_is_kept_up_with() {
        // 125 requests at 0.5 a second last 250 s, and the last ones 97 s more: 125 / (309.4 - 97.4) is 0.59.
        assert_eq!(run_keeps_up(&load(0.5, 125.0, 309.4, 97_400.0)), Some(true));
        // 250 / (461 - 170) is 0.86 of 1 a second.
        assert_eq!(run_keeps_up(&load(1.0, 250.0, 461.0, 170_000.0)), Some(false));
    }

    #[test]
    fn what_is_missing_decides_nothing() {
        assert_eq!(run_keeps_up(&load(f64::INFINITY, 10.0, 100.0, 10.0)), None);
        assert_eq!(run_keeps_up(&load(1.0, 10.0, 1.0, 2_000.0)), None, "no time is left");
        let mut without = load(1.0, 10.0, 100.0, 10.0);
        without.extras.clear();
        assert_eq!(run_keeps_up(&without), None);
    }

    #[test]
    fn a_queue_that_grows_is_seen_in_the_requests_and_a_steady_one_is_none() {
        let spans = |wait: fn(f64) -> f64| -> Vec<Span> {
            let one = |k: u32| {
                let sent_s = f64::from(k);
                let first = sent_s + wait(sent_s);
                Span { sent_s, first_token_s: Some(first), end_s: Some(first + 1.0), answered: true }
            };
            (0..160).map(one).collect()
        };
        assert_eq!(queue_grows(&spans(|at| 0.5 + at / 4.0)), Some(true));
        assert_eq!(queue_grows(&spans(|_| 0.5)), Some(false));
        assert_eq!(queue_grows(&[]), None);
        let mut run = load(1.0, 1.0, 1.0, 1.0);
        run.course.requests = spans(|_| 0.5);
        assert_eq!(run_keeps_up(&run), Some(true), "1 request a second is answered a second");
        run.setup.request_rate = Some(1.2);
        assert_eq!(run_keeps_up(&run), Some(false));
        run.course.requests = spans(|at| 0.5 + at / 4.0);
        run.setup.request_rate = None;
        assert_eq!(run_keeps_up(&run), Some(false), "without a rate the queue decides");
    }

    #[test]
    fn a_run_that_failed_and_a_load_that_most_requests_left_say_why_they_do_not_count() {
        let mut run = load(1.0, 4.0, 10.0, 10.0);
        assert_eq!(fault(&run), None);
        let origin = run.extras[0].origin.clone();
        run.extras.push(Extra::number("failed", "", 6.0, None, origin));
        assert_eq!(fault(&run).as_deref(), Some("its load is not valid: 6 of 10 requests failed"));
        run.status = Status::Failed("exit status 1".into());
        assert_eq!(fault(&run).as_deref(), Some("it failed: exit status 1"));
    }
}
