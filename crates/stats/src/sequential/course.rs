//! One comparison look by look: the test of the fixed design, and its result at the level of the look.
//!
//! In:  values of two arms in whole blocks, levels.  Out: [`Look`] after [`Look`].
//! Not here: levels (see [`super::design`]), several comparisons at once (see [`super::family`]).
//!
//! A boundary on the normal scale becomes the level at which a test of one look would have it. The paired t of whole blocks, with its degrees
//! of freedom, is compared with that level. So a few runs are not treated as if their spread were known.
//!
//! The interval of a look is the repeated confidence interval: the interval of the fixed design at the level of the look. All of them
//! together cover the truth at the level of the design, whenever and for whatever reason one stops.
//!
//! Source: Jennison and Turnbull, *Group Sequential Methods* (2000), 4.4 (significance levels) and chapter 9 (repeated intervals).

use super::boundary::Boundary;
use super::stagewise;
use crate::contrast::Contrast;
use crate::overhead::{self, Direction};
use crate::{self as stats, blocks, dist};

/// Result of a look at a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// The arms differ.
    Difference,
    /// They differ by less than the margin.
    Equivalence,
    /// Neither is shown, and another look follows.
    GoOn,
    /// Neither is shown at the last look.
    Undecided,
}

impl Call {
    /// Whether it ends the comparison before the last look.
    pub const fn decides(self) -> bool {
        matches!(self, Self::Difference | Self::Equivalence)
    }
}

/// Two arms, and what decides about them.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// Baseline, one value a whole block, in order of time.
    pub a: &'a [f64],
    /// Candidate, likewise.
    pub b: &'a [f64],
    /// Whole blocks that the pair has at each look that was reached. It may be fewer than planned, and then stands still.
    pub blocks: &'a [usize],
    /// Which way is better, and whether a per cent exists.
    pub direction: Direction,
    /// Margin of equivalence, per cent of the baseline. Absent where no per cent exists.
    pub margin_pct: Option<f64>,
}

/// One look.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Which one of the plan, from 1.
    pub look: usize,
    /// Whole blocks.
    pub n: usize,
    /// Share of the blocks of the plan.
    pub information: f64,
    /// Boundary of the test of a difference, on the normal scale.
    pub z_boundary: f64,
    /// The level that follows for a test of one look, two-sided.
    pub nominal_p: f64,
    /// Level of each one-sided test of equivalence.
    pub equivalence_level: f64,
    /// p of the paired t of all blocks so far.
    pub p: f64,
    /// The same as a normal score, with the sign of the difference. Infinite for a p of 0.
    pub z: f64,
    /// Larger p of the two one-sided tests. Absent without a margin.
    pub equivalence_p: Option<f64>,
    /// Means of the arms so far.
    pub means: (f64, f64),
    /// Mean difference of the blocks so far, of the logarithms where all values have one.
    pub estimate: f64,
    /// Overhead so far, per cent.
    pub overhead_pct: Option<f64>,
    /// Repeated confidence interval of the overhead, per cent. Absent where it is unbounded or no per cent exists.
    pub repeated_pct: Option<(f64, f64)>,
    /// Repeated confidence interval of the difference, in the unit of the values. Absent where it is unbounded.
    pub repeated: Option<(f64, f64)>,
    pub call: Call,
}

/// A look at the first `n` blocks, at these levels. Absent below two blocks.
pub(super) fn look(pair: &Pair<'_>, n: usize, (nominal_p, equivalence_level): (f64, f64)) -> Option<Look> {
    let (a, b) = (pair.a.get(..n)?, pair.b.get(..n)?);
    let found = contrast(pair, n)?;
    let per_cent = pair.direction != Direction::DifferenceOnly && pair.has_logs();
    let p = found.p();
    let ends = found.interval_at(nominal_p);
    let plain: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let equivalence_p = pair.limits().map(|(low, high)| found.equivalence_p(low, high));
    let call = if p < nominal_p {
        Call::Difference
    } else if equivalence_p.is_some_and(|p| p < equivalence_level) {
        Call::Equivalence
    } else {
        Call::GoOn
    };
    Some(Look {
        look: 0,
        n,
        information: 0.0,
        z_boundary: 0.0,
        nominal_p,
        equivalence_level,
        p,
        z: found.estimate.signum() * -dist::normal_quantile(0.5 * p),
        equivalence_p,
        means: (stats::mean(a), stats::mean(b)),
        estimate: found.estimate,
        overhead_pct: per_cent.then(|| overhead::from_scale(found.estimate, pair.direction)),
        repeated_pct: ends.filter(|_| per_cent).and_then(|ends| overhead::interval_from_scale(ends, pair.direction)),
        repeated: blocks::paired(&plain).and_then(|plain| plain.interval_at(nominal_p)),
        call,
    })
}

/// The mean difference of the first `n` blocks, on the scale of comparisons in blocks.
pub(super) fn contrast(pair: &Pair<'_>, n: usize) -> Option<Contrast> {
    let direction = if pair.has_logs() { pair.direction } else { Direction::DifferenceOnly };
    let (a, b) = (pair.a.get(..n)?, pair.b.get(..n)?);
    let on_scale = |value: f64| overhead::on_scale(value, direction);
    blocks::paired(&a.iter().zip(b).map(|(a, b)| on_scale(*b) - on_scale(*a)).collect::<Vec<_>>())
}

impl Pair<'_> {
    /// Whether every value has a logarithm.
    fn has_logs(&self) -> bool {
        self.a.iter().chain(self.b).all(|value| *value > 0.0)
    }

    /// The margin on the scale of the contrast. Absent where no per cent exists.
    pub(super) fn limits(&self) -> Option<(f64, f64)> {
        let margin = self.margin_pct.filter(|margin| *margin > 0.0 && self.has_logs())?;
        overhead::limits(margin, self.direction)
    }
}

impl Look {
    /// The p-value by stagewise ordering. `at` is the place of this look among those of the boundary, from 0.
    pub fn stagewise_p(&self, boundary: &Boundary, at: usize) -> Option<f64> {
        stagewise::p(boundary, at, self.z)
    }

    /// The median-unbiased estimate of the overhead, per cent. Absent where no per cent exists. Without any spread the estimate itself.
    pub fn median_unbiased_pct(&self, boundary: &Boundary, at: usize, direction: Direction) -> Option<f64> {
        self.overhead_pct?;
        if self.z == 0.0 || self.z.is_infinite() {
            return self.overhead_pct;
        }
        let plain = self.z / boundary.times.get(at)?.sqrt();
        let share = stagewise::median_unbiased(boundary, at, self.z)? / plain;
        Some(overhead::from_scale(self.estimate * share, direction))
    }
}
