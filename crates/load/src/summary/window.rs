//! How many requests were in flight over time, and the window in which they reached the target.
//!
//! In:  beginning and end of each request, a target.  Out: [`Flight`], the steady [`Window`].
//! Not here: the figures inside it.
//!
//! Time is cut into [`BINS`] equal bins, each with the exact mean of its requests in flight. The window goes from the first to the last bin
//! that reaches the target, so it begins and ends between two bins. On a run of ten minutes that is exact within 10 ms.

use sparkbench_host::net::Ns;

/// Bins of a run: 1 MB, and a resolution of 15 millionths of the run.
const BINS: usize = 65_536;
/// Share of the target that counts as reached. Other tools with such a window use the same share. A free slot is filled within microseconds,
/// so a closed loop that is not starving stays above it.
pub const REACHED: f64 = 0.95;

/// See the module.
#[derive(Debug)]
pub(super) struct Flight {
    from: Ns,
    to: Ns,
    width: Ns,
    /// Change of the number in flight within a bin.
    change: Vec<i64>,
    /// Contribution of beginnings and ends within the bin to its own integral, nanoseconds.
    area: Vec<i64>,
    /// Integral over all, nanoseconds.
    total: u128,
}

/// A part of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Beginning.
    pub from: Ns,
    pub to: Ns,
    /// Share of it in which the target was reached.
    pub share: f64,
    /// Mean in flight.
    pub mean: f64,
}

impl Window {
    pub fn seconds(&self) -> f64 {
        self.to.saturating_sub(self.from) as f64 / 1e9
    }

    /// Share of the time from `from` to `to` that lies in it, from 0 to 1. Two equal moments lie in it whole or not at all.
    pub fn part(&self, from: Ns, to: Ns) -> f64 {
        if to <= from {
            return if self.holds(to) { 1.0 } else { 0.0 };
        }
        to.min(self.to).saturating_sub(from.max(self.from)) as f64 / (to - from) as f64
    }

    /// Whether a moment lies in it, the ends included: a run that is steady to its last piece has that piece too.
    pub fn holds(&self, at: Ns) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

impl Flight {
    /// Nothing in flight between two moments.
    pub(super) fn new(from: Ns, to: Ns) -> Self {
        let width = to.saturating_sub(from).div_ceil(BINS as u64).max(1);
        Self { from, to, width, change: vec![0; BINS], area: vec![0; BINS], total: 0 }
    }

    /// A request was in flight. What lies outside is cut off.
    pub(super) fn add(&mut self, sent: Ns, end: Ns) {
        let last = self.from + self.width * BINS as u64;
        let (sent, end) = (sent.clamp(self.from, last), end.clamp(self.from, last));
        if end <= sent {
            return;
        }
        // The last bin may reach beyond the end.
        self.total += u128::from(end.min(self.to).saturating_sub(sent));
        for (at, sign) in [(sent, 1), (end, -1)] {
            let bin = ((at - self.from) / self.width) as usize;
            if let (Some(change), Some(area)) = (self.change.get_mut(bin), self.area.get_mut(bin)) {
                *change += sign;
                let rest = self.width - (at - self.from) % self.width;
                *area += sign * rest.cast_signed();
            }
        }
    }

    /// Mean in flight over the first nanoseconds.
    pub(super) fn mean(&self, span: Ns) -> Option<f64> {
        (span > 0).then(|| self.total as f64 / span as f64)
    }

    /// The window that reaches `target`, nothing of it later than `until`.
    pub(super) fn steady(&self, target: f64, until: Ns) -> Option<Window> {
        let means = || {
            let mut level = 0_i64;
            self.change.iter().zip(&self.area).map(move |(change, area)| {
                let mean = level as f64 + *area as f64 / self.width as f64;
                level += change;
                mean
            })
        };
        let bins = until.saturating_sub(self.from).div_ceil(self.width) as usize;
        let enough = |mean: f64| mean >= REACHED * target;
        let first = means().take(bins).position(enough)?;
        // Each mean needs the level before it: from the front alone.
        let last =
            means().take(bins).enumerate().fold(first, |last, (bin, mean)| if enough(mean) { bin } else { last });
        let count = last - first + 1;
        let (mut sum, mut reached) = (0.0, 0_usize);
        for mean in means().skip(first).take(count) {
            sum += mean;
            reached += usize::from(enough(mean));
        }
        Some(Window {
            from: self.from + first as u64 * self.width,
            to: until.min(self.from + (last as u64 + 1) * self.width),
            share: reached as f64 / count as f64,
            mean: sum / count as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_where_the_target_is_reached_and_the_mean_is_exact() {
        // Bins of 10: two requests from 100,000 to 500,005 and one more until the end.
        let end = BINS as u64 * 10;
        let mut flight = Flight::new(0, end);
        flight.add(0, end);
        flight.add(100_000, 500_005);
        let window = flight.steady(2.0, end).unwrap();
        assert_eq!((window.from, window.to, window.mean, window.share), (100_000, 500_000, 2.0, 1.0));
        assert_eq!(flight.mean(end), Some((end + 400_005) as f64 / end as f64));
        // Half a bin more is 1.5 in flight: not 95 % of two, but all of one.
        assert_eq!(flight.steady(1.0, end).unwrap().to, end);
        assert_eq!(flight.steady(2.0, 300_000).unwrap().to, 300_000, "cut");
        assert_eq!(flight.steady(3.0, end), None);
        assert_eq!(flight.mean(0), None);
    }

    #[test]
    fn a_request_is_in_the_window_with_the_share_of_its_time_that_is() {
        let window = Window { from: 100, to: 200, share: 1.0, mean: 1.0 };
        let cases = [
            ((100, 200), 1.0),
            ((0, 300), 1.0 / 3.0),
            ((50, 150), 0.5),
            ((180, 260), 0.25),
            ((0, 100), 0.0),
            ((200, 300), 0.0),
            ((150, 150), 1.0),
            ((99, 99), 0.0),
        ];
        for ((from, to), part) in cases {
            assert_eq!(window.part(from, to), part, "{from} to {to}");
        }
    }

    #[test]
    fn places_that_are_taken_again_at_once_never_come_free() {
        let mut flight = Flight::new(0, 65_536_000);
        for stream in 0..4 {
            for turn in 0..100 {
                let at = turn * 600_000 + stream * 10_000;
                flight.add(at, at + 599_990);
            }
        }
        let window = flight.steady(4.0, 65_536_000).unwrap();
        assert!(window.share == 1.0 && window.mean > 3.999, "{window:?}");
    }
}
