//! Arrival times in an open loop: constant, Poisson or gamma, with an optional ramp to the full rate.
//!
//! In:  a rate, an [`Arrival`], a [`Ramp`], a seed.  Out: [`Arrivals`]: the time of arrival `i`, in any order of asking.
//! Not here: recorded times (see `trace`), the texts (see `text`).
//!
//! Gaps of mean 1 are drawn once from the seed. Their running sum becomes a time through the inverse of the rate's integral. Without a ramp
//! that is a division by the rate. Nothing is rescaled so that the last arrival falls on n / rate, because the gaps would then no longer
//! have the stated distribution. Gaps come in blocks with a stream each, and only the sum before each block is kept. So a time can be asked
//! for in any order, with a thousandth of the memory.
//!
//! With equal gaps the first arrival is at 0. Otherwise it comes after the first gap.
//!
//! Source: Marsaglia and Tsang, *ACM TOMS* 26 (2000), for the gamma. Çinlar, *Introduction to Stochastic Processes* (1975), chapter 4.7,
//! for a rate that changes.

use std::sync::{Mutex, PoisonError};

use super::lengths::normal;
use crate::settings::{Arrival, Ramp};
use sparkbench_stats::random::{Stream, job_base};

/// Gaps with a stream of their own.
const BLOCK: u64 = 1024;

/// Times of an open loop. A pure function of what it was made of: the lock guards sums that are kept, not results.
#[derive(Debug)]
pub(crate) struct Arrivals {
    arrival: Arrival,
    growth: Growth,
    base: u64,
    /// Sum of all gaps before block k.
    sums: Mutex<Vec<f64>>,
}

/// Rate over time: grows from one to another, and stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Growth {
    from: f64,
    to: f64,
    over_s: f64,
    exponential: bool,
}

impl Growth {
    /// Growth of a rate (per second) or a concurrency to `to`. Without a ramp it is `to` from the start.
    pub(crate) fn new(to: f64, ramp: Option<Ramp>) -> Self {
        match ramp {
            Some(ramp) if ramp.over_s > 0.0 => {
                Self { from: ramp.from, to, over_s: ramp.over_s, exponential: ramp.exponential }
            }
            _ => Self { from: to, to, over_s: 0.0, exponential: false },
        }
    }

    /// Value after `t` seconds.
    pub(crate) fn at(&self, t: f64) -> f64 {
        if t >= self.over_s {
            self.to
        } else if self.exponential {
            self.from * libm::exp(libm::log(self.to / self.from) * t / self.over_s)
        } else {
            self.from + (self.to - self.from) * t / self.over_s
        }
    }

    /// Seconds until it has reached `value`. 0 when it has from the start, absent when it never does.
    pub(crate) fn reaches(&self, value: f64) -> Option<f64> {
        if value <= self.from {
            Some(0.0)
        } else if value > self.to {
            None
        } else if self.exponential {
            Some(self.over_s * libm::log(value / self.from) / libm::log(self.to / self.from))
        } else {
            Some(self.over_s * (value - self.from) / (self.to - self.from))
        }
    }

    /// Seconds until the integral of the rate is `sum`.
    fn when(&self, sum: f64) -> f64 {
        let grown = self.integral();
        if sum >= grown {
            return self.over_s + (sum - grown) / self.to;
        }
        if self.exponential {
            let k = libm::log(self.to / self.from) / self.over_s;
            return if k == 0.0 { sum / self.from } else { libm::log1p(k * sum / self.from) / k };
        }
        let a = (self.to - self.from) / (2.0 * self.over_s);
        // The usual formula with its difference of near numbers multiplied out.
        let root = libm::sqrt((self.from * self.from + 4.0 * a * sum).max(0.0));
        if sum <= 0.0 { 0.0 } else { 2.0 * sum / (self.from + root) }
    }

    /// Arrivals during the growth.
    fn integral(&self) -> f64 {
        let ratio = self.to / self.from;
        if self.exponential && ratio != 1.0 {
            (self.to - self.from) * self.over_s / libm::log(ratio)
        } else {
            0.5 * (self.from + self.to) * self.over_s
        }
    }
}

impl Arrivals {
    /// `rate` per second, above 0.
    pub(crate) fn new(arrival: Arrival, rate: f64, ramp: Option<Ramp>, seed: u64) -> Self {
        let base = job_base(seed, "load|arrivals");
        Self { arrival, growth: Growth::new(rate, ramp), base, sums: Mutex::new(vec![0.0]) }
    }

    /// Time of arrival `i`, nanoseconds from the start. In order, or anywhere within a block, at most a block's gaps are redrawn.
    pub(crate) fn at(&self, i: u64) -> u64 {
        if matches!(self.arrival, Arrival::Constant) {
            return nanoseconds(self.growth.when(i as f64));
        }
        let block = i / BLOCK;
        let mut cursor =
            ArrivalCursor { next: block * BLOCK, sum: self.sum_before(block), stream: Stream::new(self.base, block) };
        let mut time = 0;
        while cursor.next <= i {
            time = self.step(&mut cursor);
        }
        time
    }

    /// A reader from arrival `i` on, which draws each gap once.
    pub(crate) fn from(&self, i: u64) -> ArrivalCursor {
        if matches!(self.arrival, Arrival::Constant) {
            return ArrivalCursor { next: i, sum: i as f64, stream: Stream::new(self.base, 0) };
        }
        let block = i / BLOCK;
        let mut cursor =
            ArrivalCursor { next: block * BLOCK, sum: self.sum_before(block), stream: Stream::new(self.base, block) };
        while cursor.next < i {
            self.step(&mut cursor);
        }
        cursor
    }

    /// Time of the cursor's next arrival, nanoseconds from the start.
    pub(crate) fn step(&self, cursor: &mut ArrivalCursor) -> u64 {
        if matches!(self.arrival, Arrival::Constant) {
            cursor.next += 1;
            return nanoseconds(self.growth.when((cursor.next - 1) as f64));
        }
        if cursor.next.is_multiple_of(BLOCK) {
            cursor.stream = Stream::new(self.base, cursor.next / BLOCK);
        }
        cursor.sum += gap(self.arrival, &mut cursor.stream);
        cursor.next += 1;
        nanoseconds(self.growth.when(cursor.sum))
    }

    fn sum_before(&self, block: u64) -> f64 {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        while sums.len() as u64 <= block {
            let mut stream = Stream::new(self.base, sums.len() as u64 - 1);
            // Gap by gap onto the running sum, as a cursor does: sums of floats depend on their order.
            let before = sums.last().copied().unwrap_or(0.0);
            let sum = (0..BLOCK).fold(before, |sum, _| sum + gap(self.arrival, &mut stream));
            sums.push(sum);
        }
        sums.get(block as usize).copied().unwrap_or(0.0)
    }
}

/// Position of a reader of arrivals.
#[derive(Debug, Clone)]
pub(crate) struct ArrivalCursor {
    next: u64,
    sum: f64,
    stream: Stream,
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// A gap of mean 1.
fn gap(arrival: Arrival, stream: &mut Stream) -> f64 {
    match arrival {
        Arrival::Constant => 1.0,
        Arrival::Poisson => -libm::log(stream.uniform()),
        Arrival::Gamma(shape) => gamma(shape, stream) / shape,
    }
}

/// Gamma of a shape, scale 1.
fn gamma(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, stream) * libm::pow(stream.uniform(), 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(stream);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        if libm::log(stream.uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::gaps::{expected, kolmogorov};

    fn gaps(arrivals: &Arrivals, n: u64) -> Vec<f64> {
        let mut cursor = arrivals.from(0);
        let times: Vec<f64> = (0..n).map(|_| arrivals.step(&mut cursor) as f64 / 1e9).collect();
        std::iter::once(times[0]).chain(times.windows(2).map(|pair| pair[1] - pair[0])).collect()
    }

    #[test]
    fn equal_gaps_are_equal() {
        let arrivals = Arrivals::new(Arrival::Constant, 8.0, None, 1);
        assert_eq!([0, 1, 2, 80].map(|i| arrivals.at(i)), [0, 125_000_000, 250_000_000, 10_000_000_000]);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let arrivals = Arrivals::new(Arrival::Poisson, 50.0, None, 42);
        let gaps = gaps(&arrivals, 10_000);
        let mean = sparkbench_stats::mean(&gaps);
        assert!((mean - 0.02).abs() < 4.0 * 0.02 / 100.0, "mean {mean}");
        let test = kolmogorov(&gaps, |gap| 1.0 - (-gap * 50.0f64).exp()).unwrap();
        assert!(test.p > 0.05, "{test:?}");
        // The test itself can say no.
        assert!(kolmogorov(&gaps, |gap| 1.0 - (-gap * 55.0f64).exp()).unwrap().p < 1e-6);
    }

    #[test]
    fn gamma_gaps_have_their_shape() {
        for shape in [0.25, 0.5, 1.0, 4.0] {
            let arrivals = Arrivals::new(Arrival::Gamma(shape), 10.0, None, 3);
            let gaps = gaps(&arrivals, 20_000);
            let (mean, sd) = (sparkbench_stats::mean(&gaps), sparkbench_stats::sd(&gaps).unwrap());
            assert!((mean - 0.1).abs() < 5.0 * sd / 20_000f64.sqrt(), "shape {shape}: mean {mean}");
            let variation = sd / mean;
            assert!((variation - 1.0 / shape.sqrt()).abs() < 0.06 / shape.sqrt(), "shape {shape}: {variation}");
            let test = kolmogorov(&gaps, |gap| expected(Arrival::Gamma(shape), 10.0, gap)).unwrap();
            assert!(test.p > 0.01, "shape {shape}: {test:?}");
        }
    }

    #[test]
    fn times_do_not_depend_on_the_order_of_asking() {
        let (one, other) =
            (Arrivals::new(Arrival::Poisson, 9.0, None, 5), Arrivals::new(Arrival::Poisson, 9.0, None, 5));
        let mut cursor = one.from(0);
        let in_order: Vec<u64> = (0..5_000).map(|_| one.step(&mut cursor)).collect();
        for i in [4_999, 0, 1_023, 1_024, 1_025, 3_000, 2_047] {
            assert_eq!(other.at(i), in_order[i as usize], "{i}");
            assert_eq!(other.step(&mut other.from(i)), in_order[i as usize], "{i}");
        }
    }

    #[test]
    fn a_ramp_brings_as_many_as_its_area() {
        for (from, exponential, area) in
            [(0.0, false, 500.0), (20.0, false, 600.0), (10.0, true, 90.0 * 10.0 / 10f64.ln()), (100.0, true, 1000.0)]
        {
            let ramp = Ramp { from, over_s: 10.0, exponential };
            let arrivals = Arrivals::new(Arrival::Constant, 100.0, Some(ramp), 1);
            let during = (0..3_000).take_while(|i| arrivals.at(*i) < 10_000_000_000).count() as f64;
            assert!((during - area).abs() <= 1.0, "from {from}: {during} of {area}");
            let after = (0..3_000).filter(|i| (10_000_000_000..11_000_000_000).contains(&arrivals.at(*i))).count();
            assert!((99..=101).contains(&after), "{after} a second at the full rate");
            assert!((1..3_000).all(|i| arrivals.at(i) >= arrivals.at(i - 1)));
        }
    }

    #[test]
    fn a_growing_concurrency_says_when_it_grows() {
        let growth = Growth::new(10.0, Some(Ramp { from: 2.0, over_s: 8.0, exponential: false }));
        assert_eq!((growth.at(0.0), growth.at(4.0), growth.at(99.0)), (2.0, 6.0, 10.0));
        assert_eq!((growth.reaches(1.0), growth.reaches(6.0), growth.reaches(11.0)), (Some(0.0), Some(4.0), None));
    }
}
