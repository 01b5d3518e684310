//! One comparison look by look: the test of the fixed design, and its result at the level of the look.
//!
//! In:  values of two arms in whole blocks, levels.  Out: [`Look`] after [`Look`].
//! Not here: levels (see [`super::design`]), several comparisons at once (see [`super::family`]).
//!
//! A boundary on the normal scale becomes the level at which a test of one look would have it. Welch's test, with its degrees of freedom,
//! is compared with that level. So a few runs are not treated as if their spread were known.
//!
//! The interval of a look is the repeated confidence interval: the interval of the fixed design at the level of the look. All of them
//! together cover the truth at the level of the design, whenever and for whatever reason one stops.
//!
//! Source: Jennison and Turnbull, *Group Sequential Methods* (2000), 4.4 (significance levels) and chapter 9 (repeated intervals).

use super::boundary::Boundary;
use super::stagewise;
use crate::overhead::Direction;
use crate::{self as stats, dist, fieller, student};

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
    /// p of Welch's test on all values so far.
    pub p: f64,
    /// The same as a normal score, with the sign of the difference. Infinite for a p of 0.
    pub z: f64,
    /// Larger p of the two one-sided tests. Absent without a margin.
    pub equivalence_p: Option<f64>,
    /// Means of the arms so far.
    pub means: (f64, f64),
    /// Overhead so far, per cent.
    pub overhead_pct: Option<f64>,
    /// Repeated confidence interval of the overhead, per cent. Absent where it is unbounded or no per cent exists.
    pub repeated_pct: Option<(f64, f64)>,
    /// Repeated confidence interval of the difference, in the unit of the values. Absent where it is unbounded.
    pub repeated: Option<(f64, f64)>,
    pub call: Call,
}

/// A look at the first `n` blocks, at these levels. Absent where an arm has fewer than two values.
pub(super) fn look(pair: &Pair<'_>, n: usize, (nominal_p, equivalence_level): (f64, f64)) -> Option<Look> {
    let (a, b) = (pair.a.get(..n)?, pair.b.get(..n)?);
    let difference = student::contrast(a, b)?;
    let p = difference.p();
    let (mean_a, mean_b) = (stats::mean(a), stats::mean(b));
    let overhead_pct = stats::overhead_pct(mean_a, mean_b, pair.direction);
    let repeated_pct = fieller::overhead_pct_at(a, b, pair.direction, nominal_p);
    let repeated = difference.interval_at(nominal_p);
    let per_cent = pair.direction != Direction::DifferenceOnly;
    let interval = if per_cent { repeated_pct } else { repeated };
    let excludes_zero = interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
    let margin = pair.margin_pct.filter(|_| per_cent);
    let equivalence = margin.and_then(|margin| stats::tost(a, b, margin, 0.95));
    let call = if p < nominal_p && excludes_zero {
        Call::Difference
    } else if equivalence.is_some_and(|test| test.delta > 0.0 && test.p < equivalence_level) {
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
        z: (mean_b - mean_a).signum() * -dist::normal_quantile(0.5 * p),
        equivalence_p: equivalence.map(|test| test.p),
        means: (mean_a, mean_b),
        overhead_pct,
        repeated_pct,
        repeated,
        call,
    })
}

impl Look {
    /// The p-value by stagewise ordering. `at` is the place of this look among those of the boundary, from 0.
    pub fn stagewise_p(&self, boundary: &Boundary, at: usize) -> Option<f64> {
        stagewise::p(boundary, at, self.z)
    }

    /// The median-unbiased estimate of the difference, in the unit of the values. Without any spread the difference itself.
    pub fn median_unbiased(&self, boundary: &Boundary, at: usize) -> Option<f64> {
        let difference = self.means.1 - self.means.0;
        if self.z == 0.0 || self.z.is_infinite() {
            return Some(difference);
        }
        let plain = self.z / boundary.times.get(at)?.sqrt();
        Some(difference * (stagewise::median_unbiased(boundary, at, self.z)? / plain))
    }

    /// The same as an overhead, per cent. Absent where no per cent exists.
    pub fn median_unbiased_pct(&self, boundary: &Boundary, at: usize, direction: Direction) -> Option<f64> {
        stats::overhead_pct(self.means.0, self.means.0 + self.median_unbiased(boundary, at)?, direction)
    }
}
