//! An axis for plotters: linear or logarithmic, with ticks at round numbers.
//!
//! In:  values, or ends.  Out: [`Axis`], a `Ranged` coordinate, and the text of its ticks.
//!
//! Source of the tick rule: P. S. Heckbert, "Nice numbers for graph labels", *Graphics Gems* (1990).

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::number;

/// Share of the span left free at each end, so that no mark sits on the frame.
const MARGIN: f64 = 0.06;

/// A scale from a low to a high end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Logarithmic with ticks at powers of two.
    twos: bool,
    /// Linear with ticks at whole numbers.
    whole: bool,
}

impl Axis {
    /// Exactly these ends. Equal or unusable ones are widened.
    pub(crate) fn exact(low: f64, high: f64) -> Self {
        if !(number::usable(low) && number::usable(high)) {
            return Self { low: 0.0, high: 1.0, log: false, twos: false, whole: false };
        }
        if low < high && (high - low) > low.abs().max(high.abs()) * 1e-9 {
            return Self { low, high, log: false, twos: false, whole: false };
        }
        // All values equal: a window around them, one per cent either way, so that they are in the middle.
        let half = if low == 0.0 { 1.0 } else { low.abs() * 0.01 };
        Self { low: low - half, high: high + half, log: false, twos: false, whole: false }
    }

    /// Around usable values with a margin. `None` when there is none.
    pub(crate) fn around(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (low, high) = extent(values)?;
        let pad = (high - low) * MARGIN;
        Some(Self::exact(low - pad, high + pad))
    }

    /// The same for numbers of things, between which nothing lies: there is no tick at a fraction.
    pub(crate) fn around_whole(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        Some(Self { whole: true, ..Self::around(values)? })
    }

    /// From zero to a little above the largest usable value.
    pub(crate) fn from_zero(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (low, high) = extent(values.into_iter().chain([0.0]))?;
        Some(Self::exact(low * (1.0 + MARGIN), if high > 0.0 { high * (1.0 + MARGIN) } else { 0.0 }))
    }

    /// Logarithmic around usable values above zero. `None` when one is not.
    pub(crate) fn log_around(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (low, high) = extent(values)?;
        if low <= 0.0 {
            return None;
        }
        let factor = libm::pow(high / low, MARGIN).max(1.02);
        Some(Self { low: low / factor, high: high * factor, log: true, twos: false, whole: false })
    }

    /// The same with a tick at every doubling, for batch sizes and the like.
    pub(crate) fn log2_around(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        Some(Self { twos: true, ..Self::log_around(values)? })
    }

    /// Lower end.
    pub(crate) const fn low(&self) -> f64 {
        self.low
    }

    /// Upper end.
    pub(crate) const fn high(&self) -> f64 {
        self.high
    }

    /// Place of a value between 0 and 1. Beyond the ends it is held at the end.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let at = |v: f64| if self.log { libm::log10(v.max(f64::MIN_POSITIVE)) } else { v };
        ((at(value) - at(self.low)) / (at(self.high) - at(self.low))).clamp(0.0, 1.0)
    }

    /// Round numbers within the axis, about as many as asked for, each with its text.
    pub(crate) fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        if self.twos {
            let ticks = self.doublings(count.max(2));
            if ticks.len() >= 2 {
                return ticks.into_iter().map(|v| (v, number::significant(v, 6))).collect();
            }
        }
        if self.log {
            let ticks = self.log_ticks(count.max(2));
            // Less than a decade: round steps on the logarithmic scale serve better. Over several they would crowd at one end.
            if ticks.len() >= 4 || (ticks.len() >= 2 && self.high / self.low >= 100.0) {
                return ticks.into_iter().map(|v| (v, number::significant(v, 1))).collect();
            }
        }
        let mut step = round_step((self.high - self.low) / count.max(1) as f64);
        // Two ticks at least make a scale. Three where there is room.
        let mut tries = 0;
        while tries < 4 && count >= 3 && libm::floor(self.high / step + 1e-9) - libm::ceil(self.low / step - 1e-9) < 2.0
        {
            step = round_step(step / 2.6);
            tries += 1;
        }
        if self.whole {
            step = step.max(1.0);
        }
        let decimals = (-libm::floor(libm::log10(step) + 1e-9)).clamp(0.0, 9.0) as usize;
        let (first, last) = (libm::ceil(self.low / step - 1e-9), libm::floor(self.high / step + 1e-9));
        let mut ticks = Vec::new();
        let mut at = first;
        while at <= last && ticks.len() < 64 {
            ticks.push((at * step, number::fixed(at * step, decimals)));
            at += 1.0;
        }
        ticks
    }

    /// Powers of two, or every second, third ... of them when these are too many.
    fn doublings(&self, count: usize) -> Vec<f64> {
        let first = libm::ceil(libm::log2(self.low)) as i32;
        let last = libm::floor(libm::log2(self.high)) as i32;
        let all: Vec<f64> = (first..=last).map(|k| libm::exp2(f64::from(k))).collect();
        let skip = all.len().div_ceil(count + 4).max(1);
        all.into_iter().step_by(skip).collect()
    }

    /// 1, 2 and 5 of each decade, or only the decades when these are too many.
    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let decades = libm::floor(libm::log10(self.low)) as i32..=libm::ceil(libm::log10(self.high)) as i32;
        let all = |leaders: &[f64]| -> Vec<f64> {
            let within = |v: &f64| *v >= self.low && *v <= self.high;
            decades
                .clone()
                .flat_map(|d| leaders.iter().map(move |l| l * libm::pow(10.0, f64::from(d))))
                .filter(within)
                .collect()
        };
        let full = all(&[1.0, 2.0, 5.0]);
        if full.len() <= count + 1 {
            return full;
        }
        let tens = all(&[1.0]);
        let skip = tens.len().div_ceil(count).max(1);
        tens.into_iter().step_by(skip).collect()
    }
}

/// Smallest and largest usable value.
pub(super) fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .into_iter()
        .filter(|v| number::usable(*v))
        .fold(None, |ends, v| Some(ends.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v)))))
}

/// 1, 2 or 5 times a power of ten, the nearest at or above.
fn round_step(raw: f64) -> f64 {
    if !(raw.is_finite() && raw > 0.0) {
        return 1.0;
    }
    let power = libm::pow(10.0, libm::floor(libm::log10(raw)));
    let lead = raw / power;
    let nice = [1.0, 2.0, 5.0].into_iter().find(|n| lead <= n * 1.000_001).unwrap_or(10.0);
    nice * power
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let span = f64::from(limit.1) - f64::from(limit.0);
        limit.0 + libm::round(self.share(*value) * span) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.max_num_points()).into_iter().map(|(value, _)| value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        number::significant(*value, 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_carry_the_decimals_they_need() {
        let text: Vec<_> = Axis::exact(-0.31, 0.92).ticks(5).into_iter().map(|(_, t)| t).collect();
        assert_eq!(text, ["−0.2", "0.0", "0.2", "0.4", "0.6", "0.8"]);
        let text: Vec<_> = Axis::exact(118.9, 120.9).ticks(5).into_iter().map(|(_, t)| t).collect();
        assert_eq!(text, ["119.0", "119.5", "120.0", "120.5"]);
    }

    #[test]
    fn equal_values_stand_in_the_middle() {
        let axis = Axis::around([70.0, 70.0]).unwrap();
        assert!((axis.share(70.0) - 0.5).abs() < 1e-9);
        assert!(axis.ticks(4).len() >= 2);
    }

    #[test]
    fn between_the_second_and_the_third_of_something_there_is_no_tick() {
        let texts = |last: u32| -> Vec<_> {
            let axis = Axis::around_whole((1..=last).map(f64::from)).unwrap();
            axis.ticks(5).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(1), ["1"]);
        assert_eq!(texts(3), ["1", "2", "3"]);
        assert_eq!(texts(40), ["0", "10", "20", "30", "40"]);
    }

    #[test]
    fn values_that_cannot_be_drawn_do_not_stretch_the_axis() {
        let axis = Axis::around([1.0, f64::NAN, f64::INFINITY, 1e300, 2.0]).unwrap();
        assert!(axis.low() > 0.9 && axis.high() < 2.1);
        assert!(Axis::around([f64::NAN]).is_none());
    }

    #[test]
    fn a_logarithm_needs_values_above_zero() {
        assert!(Axis::log_around([0.0, 1.0]).is_none());
        let ticks: Vec<_> = Axis::log_around([3.0, 900.0]).unwrap().ticks(9).into_iter().map(|(v, _)| v).collect();
        assert_eq!(ticks, [5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
    }

    #[test]
    fn an_axis_over_decades_has_its_ticks_at_decades_even_when_few_fit() {
        let ticks: Vec<_> = Axis::log_around([0.3, 900.0]).unwrap().ticks(4).into_iter().map(|(_, t)| t).collect();
        assert_eq!(ticks, ["1", "10", "100", "1000"]);
    }

    #[test]
    fn an_axis_of_loads_has_a_tick_at_every_doubling() {
        let ticks = |axis: Axis, count| axis.ticks(count).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(ticks(Axis::log2_around([1.0, 64.0]).unwrap(), 8), ["1", "2", "4", "8", "16", "32", "64"]);
        assert_eq!(ticks(Axis::log2_around([0.25, 2.0]).unwrap(), 8), ["0.25", "0.5", "1", "2"]);
        assert!(ticks(Axis::log2_around([1.0, 1e6]).unwrap(), 6).len() <= 10);
        // Between two doublings round numbers serve.
        assert!(ticks(Axis::log2_around([25.0, 25.0]).unwrap(), 6).len() >= 2);
    }

    #[test]
    fn every_axis_has_finitely_many_ticks_inside_it() {
        for (low, high) in [(0.0, 1e-12), (-1e90, 1e90), (1e15, 1e15 + 1.0), (5.0, 5.0), (f64::NAN, 1.0)] {
            let axis = Axis::exact(low, high);
            assert!(axis.ticks(6).len() <= 64);
        }
    }
}
