//! Boundaries of a test with several looks: for any looks, any spending, one side or two.
//!
//! In:  looks as shares of the planned runs, an error rate.  Out: [`Boundary`], a z and a nominal p for each look.
//! Not here: the tested figure (see [`super::course`]).
//!
//! A two-sided test spends half of its error rate on each side by the same function, and may leave through either. The boundary of a look is
//! a z. The chance to leave here for the first time equals the amount that the function has added since the last look.

use super::spending::Spending;
use super::walk::Walk;
use crate::dist;
use crate::root;

/// Most looks of a design. Work grows with the third power of their number. Two hundred take about a second.
pub const LOOKS_MAX: usize = 200;
/// The z beyond which the chance of a normal value is below the smallest double.
const Z_MAX: f64 = 38.0;
/// How closely a boundary is found, in z.
const TOLERANCE: f64 = 1e-10;

/// One side or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sides {
    /// Only a score above the boundary ends the test.
    One,
    /// A score above it or below its negative does.
    Two,
}

impl Sides {
    /// Their number.
    pub const fn count(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

/// The boundary of a test, look by look.
#[derive(Debug, Clone, PartialEq)]
pub struct Boundary {
    /// One side or two.
    pub sides: Sides,
    /// Shares of the planned runs, rising, at most 1.
    pub times: Vec<f64>,
    /// z at each look. Infinite where nothing that a number can hold is spent.
    pub z: Vec<f64>,
}

impl Boundary {
    /// The boundary for looks at `times`, shares of the planned runs. The last look spends whatever is left of `alpha`.
    ///
    /// `alpha` is the error rate of the whole test, both sides together where there are two. Absent unless the times rise from above 0
    /// to at most 1, are at most [`LOOKS_MAX`], and `alpha` lies inside (0, 1).
    pub fn new(times: &[f64], spending: Spending, alpha: f64, sides: Sides) -> Option<Self> {
        let side = alpha / f64::from(sides.count());
        let mut spent: Vec<f64> = times.iter().map(|t| spending.spent(side, *t)).collect();
        *spent.last_mut()? = side;
        Self::spending(times, &spent, sides)
    }

    /// The boundary that has spent `spent` of one side's error rate up to each look. Absent as [`Boundary::new`], or where it falls.
    pub fn spending(times: &[f64], spent: &[f64], sides: Sides) -> Option<Self> {
        let rising = |values: &[f64]| values.windows(2).all(|pair| pair[0] < pair[1]);
        let within = times.first().is_some_and(|t| *t > 0.0) && times.last().is_some_and(|t| *t <= 1.0 + 1e-12);
        let all = spent.last().is_some_and(|whole| *whole > 0.0 && *whole * f64::from(sides.count()) < 1.0);
        let falls = spent.windows(2).any(|pair| pair[0] > pair[1]);
        if !rising(times) || !within || times.len() > LOOKS_MAX || times.len() != spent.len() || !all || falls {
            return None;
        }
        let mut walk = Walk::new(0.0);
        let (mut z, mut before) = (Vec::with_capacity(times.len()), 0.0);
        for (at, (time, whole)) in times.iter().zip(spent).enumerate() {
            let bound = leaves(&walk, *time, whole - before, at == 0);
            before = *whole;
            z.push(bound);
            if let Some(next) = times.get(at + 1) {
                let high = bound * time.sqrt();
                walk.stay(*time, if sides == Sides::Two { -high } else { f64::NEG_INFINITY }, high, *next);
            }
        }
        Some(Self { sides, times: times.to_vec(), z })
    }

    /// The level at which a test of one look would have this boundary, for each look: of both sides together where there are two.
    pub fn nominal_p(&self) -> Vec<f64> {
        self.z.iter().map(|z| f64::from(self.sides.count()) * dist::normal_sf(*z)).collect()
    }

    /// Walks through the first `looks` looks, and shows `at` the paths before each, its time and its upper end. What it leaves is inside so far.
    pub(super) fn each(&self, looks: usize, drift: f64, mut at: impl FnMut(&Walk, f64, f64)) -> Walk {
        let mut walk = Walk::new(drift);
        for (k, (time, z)) in self.times.iter().zip(&self.z).take(looks).enumerate() {
            let high = z * time.sqrt();
            at(&walk, *time, high);
            if let Some(next) = self.times.get(k + 1) {
                walk.stay(*time, if self.sides == Sides::Two { -high } else { f64::NEG_INFINITY }, high, *next);
            }
        }
        walk
    }
}

/// The z at `time` above which a chance of `chance` lies, of the paths that are inside so far.
fn leaves(walk: &Walk, time: f64, chance: f64, first: bool) -> f64 {
    if chance <= 0.0 {
        return f64::INFINITY;
    }
    if first {
        return -dist::normal_quantile(chance);
    }
    let root = time.sqrt();
    // On a log scale the chance is a smooth falling function of z over its whole range.
    let excess = |z: f64| walk.above(time, z * root).max(f64::MIN_POSITIVE).ln() - chance.ln();
    let (low, high) = ((-Z_MAX, excess(-Z_MAX)), (Z_MAX, excess(Z_MAX)));
    if high.1 > 0.0 { f64::INFINITY } else { root::falling(excess, low, high, TOLERANCE) }
}
