//! Integral and mean of a sampled quantity over a window of time, with gaps that are not bridged.
//!
//! In:  ascending times and finite values beside them, a window.  Out: [`Integral`], with the share of the window that samples cover.
//! Not here: which samples belong to what, units, thresholds of coverage.
//!
//! Between two samples the quantity is taken to run straight (trapezoid rule). A step longer than [`GAP_FACTOR`] times the median step is a
//! gap. Its content is unknown, so nothing is made up. `covered` reports the part left out. A caller that scales the mean up to the whole
//! window says so.

use super::quantile::{quantile_sorted, sorted};

/// A step this many times longer than the median one is a gap. Samplers are late by one or two turns on a loaded machine. Five in a row are
/// an outage.
pub const GAP_FACTOR: f64 = 5.0;

/// A quantity over a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Integral {
    /// Quantity times time, over what is covered.
    pub value: f64,
    /// The same by time: the mean over what is covered.
    pub mean: f64,
    /// Time that is covered.
    pub covered: f64,
    /// Length of the window.
    pub window: f64,
    /// Samples within the window.
    pub n: usize,
    /// Gaps that touch the window.
    pub gaps: usize,
}

impl Integral {
    /// Share of the window that is covered, 0 to 1.
    pub fn coverage(&self) -> f64 {
        (self.covered / self.window).min(1.0)
    }
}

/// Median step between ascending times. None of fewer than two.
pub fn median_step(times: &[f64]) -> Option<f64> {
    let steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0).collect();
    (!steps.is_empty()).then(|| quantile_sorted(&sorted(&steps), 0.5))
}

/// Integral by the trapezoid rule over `from..to`. Nothing without two samples that have some time of the window between them. `O(n log n)`.
///
/// - `times`: ascending. Equal ones add nothing.
/// - The ends of the window are interpolated between the samples around them. Beyond the first and the last sample nothing is known.
pub fn trapezoid(times: &[f64], values: &[f64], from: f64, to: f64) -> Option<Integral> {
    let longest = median_step(times)? * GAP_FACTOR;
    let (mut value, mut covered, mut gaps) = (0.0, 0.0, 0);
    for (t, v) in times.windows(2).zip(values.windows(2)) {
        let (left, right) = (t[0].max(from), t[1].min(to));
        let step = t[1] - t[0];
        if right <= left || step <= 0.0 {
            continue;
        }
        if step > longest {
            gaps += 1;
            continue;
        }
        let at = |time: f64| v[0] + (v[1] - v[0]) * ((time - t[0]) / step);
        value += (at(left) + at(right)) / 2.0 * (right - left);
        covered += right - left;
    }
    let n = times.iter().filter(|time| (from..=to).contains(*time)).count();
    (covered > 0.0).then(|| Integral { value, mean: value / covered, covered, window: to - from, n, gaps })
}

/// Increase of a counter over `from..to`: a counter knows what happened in a gap, but not across a reset.
///
/// A step back is a reset (a driver that was reloaded) and counts as a gap. A wrap cannot be told from it. `mean` is the rate.
pub fn increase(times: &[f64], counts: &[f64], from: f64, to: f64) -> Option<Integral> {
    let (mut value, mut covered, mut gaps) = (0.0, 0.0, 0);
    for (t, c) in times.windows(2).zip(counts.windows(2)) {
        let (left, right) = (t[0].max(from), t[1].min(to));
        let step = t[1] - t[0];
        if right <= left || step <= 0.0 {
            continue;
        }
        if c[1] < c[0] {
            gaps += 1;
            continue;
        }
        value += (c[1] - c[0]) * ((right - left) / step);
        covered += right - left;
    }
    let n = times.iter().filter(|time| (from..=to).contains(*time)).count();
    (covered > 0.0).then(|| Integral { value, mean: value / covered, covered, window: to - from, n, gaps })
}

/// Readings that are new: those that differ from the one before, or come at least `refresh` after the last new one.
///
/// A driver that refreshes a value every second and is asked four times a second gives each value four times. The mean does not mind.
/// Callers that count readings do.
pub fn fresh(times: &[f64], values: &[f64], refresh: f64) -> usize {
    let mut last: Option<(f64, f64)> = None;
    let mut n = 0;
    for (time, value) in times.iter().zip(values) {
        if last.is_none_or(|(at, known)| known != *value || time - at >= refresh) {
            n += 1;
            last = Some((*time, *value));
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_has_its_area_and_the_window_cuts_between_samples() {
        let (times, watts) = ([0.0, 1.0, 2.0, 3.0], [0.0, 10.0, 20.0, 30.0]);
        let whole = trapezoid(&times, &watts, 0.0, 3.0).unwrap();
        assert_eq!((whole.value, whole.mean, whole.coverage(), whole.n), (45.0, 15.0, 1.0, 4));
        let part = trapezoid(&times, &watts, 0.5, 1.5).unwrap();
        assert_eq!((part.value, part.mean, part.n), (10.0, 10.0, 1));
    }

    #[test]
    fn a_gap_is_not_bridged_and_a_late_sample_is() {
        let times = [0.0, 1.0, 2.0, 3.0, 20.0, 21.0, 22.0, 23.0];
        let watts = [10.0; 8];
        let found = trapezoid(&times, &watts, 0.0, 23.0).unwrap();
        assert_eq!((found.value, found.covered, found.gaps), (60.0, 6.0, 1));
        assert!((found.coverage() - 6.0 / 23.0).abs() < 1e-12);
        let late = trapezoid(&[0.0, 1.0, 2.0, 5.0, 6.0], &[10.0; 5], 0.0, 6.0).unwrap();
        assert_eq!((late.covered, late.gaps), (6.0, 0));
    }

    #[test]
    fn beyond_the_samples_nothing_is_known() {
        let found = trapezoid(&[10.0, 11.0], &[5.0, 5.0], 0.0, 20.0).unwrap();
        assert_eq!((found.covered, found.coverage()), (1.0, 0.05));
        assert_eq!(trapezoid(&[10.0, 11.0], &[5.0, 5.0], 0.0, 9.0), None);
        assert_eq!(trapezoid(&[1.0], &[5.0], 0.0, 9.0), None);
        assert_eq!(trapezoid(&[1.0, 1.0], &[5.0, 6.0], 0.0, 9.0), None);
    }

    #[test]
    fn a_counter_knows_its_gaps_and_loses_only_its_resets() {
        let times = [0.0, 1.0, 30.0, 31.0, 32.0];
        let joules = [100.0, 110.0, 400.0, 5.0, 15.0];
        let found = increase(&times, &joules, 0.0, 32.0).unwrap();
        assert_eq!((found.value, found.covered, found.gaps), (310.0, 31.0, 1));
        let cut = increase(&times, &joules, 0.5, 1.0).unwrap();
        assert_eq!((cut.value, cut.mean), (5.0, 10.0));
    }

    #[test]
    fn repeats_of_one_refresh_are_one_reading() {
        let times: Vec<f64> = (0..8).map(|k| f64::from(k) * 0.25).collect();
        assert_eq!(fresh(&times, &[1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0], 1.0), 2);
        assert_eq!(fresh(&times, &[1.0; 8], 1.0), 2, "the same value a second later is a new reading");
        assert_eq!(fresh(&[], &[], 1.0), 0);
    }
}
