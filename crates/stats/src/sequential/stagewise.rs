//! Inference about an effect after a test has stopped: a p-value and an estimate that account for the looks.
//!
//! In:  a boundary, the look that the test has reached, its z there.  Out: p by stagewise ordering, the median-unbiased drift.
//! Not here: repeated intervals (see [`super::course`]).
//!
//! Outcomes are ordered by stages. Leaving upwards at an earlier look is more than leaving upwards at a later one. Within a look the larger
//! z is more. The p-value is the chance of an outcome at least as far out. The estimate is the drift under which an outcome above ours and
//! one below it are equally likely. A test that stopped because its estimate was large has on average too large an estimate. This one is too
//! large as often as it is too small.
//!
//! Stops for equivalence or futility are left out of the ordering, as if the test had gone on there. That keeps the p-value valid.
//!
//! Source: Siegmund, *Biometrika* 65 (1978). Jennison and Turnbull (2000), sections 8.2 to 8.5.

use super::boundary::{Boundary, Sides};
use crate::root;

/// How closely the drift is found, relative to the step in which it is searched.
const TOLERANCE: f64 = 1e-9;
/// Steps in which a bracket is widened before the search gives up.
const WIDENINGS: usize = 60;

/// Chance of an outcome at least as high as `z` at look `look` (from 0). The score drifts by `drift` in the whole time.
///
/// Absent where the boundary has no such look, or `z` is not a number.
pub(crate) fn upper_p(boundary: &Boundary, look: usize, z: f64, drift: f64) -> Option<f64> {
    let time = *boundary.times.get(look).filter(|_| !z.is_nan())?;
    let mut gone = 0.0;
    let walk = boundary.each(look, drift, |walk, time, high| gone += walk.above(time, high));
    Some((gone + walk.above(time, z * time.sqrt())).clamp(0.0, 1.0))
}

/// Chance of an outcome at least as high as `z` at look `look` (from 0). The score drifts by `drift` in the whole time. A one-sided test has
/// no lower side to leave by, so only the last step counts against it.
pub(crate) fn lower_p(boundary: &Boundary, look: usize, z: f64, drift: f64) -> Option<f64> {
    match boundary.sides {
        Sides::Two => upper_p(boundary, look, -z, -drift),
        Sides::One => upper_p(boundary, look, z, drift).map(|p| 1.0 - p),
    }
}

/// The p-value by stagewise ordering: two-sided, or that of the one side. Absent as [`upper_p`].
pub(crate) fn p(boundary: &Boundary, look: usize, z: f64) -> Option<f64> {
    let above = upper_p(boundary, look, z, 0.0)?;
    match boundary.sides {
        Sides::One => Some(above),
        Sides::Two => Some((2.0 * above.min(lower_p(boundary, look, z, 0.0)?)).min(1.0)),
    }
}

/// The drift of the whole time under which an outcome above ours is as likely as one below it.
///
/// At the first look this is the plain estimate, z divided by the square root of the time. Absent as [`upper_p`], and for an infinite z.
pub(crate) fn median_unbiased(boundary: &Boundary, look: usize, z: f64) -> Option<f64> {
    let time = *boundary.times.get(look).filter(|_| z.is_finite())?;
    let plain = z / time.sqrt();
    if look == 0 {
        return Some(plain);
    }
    let first = *boundary.times.first()?;
    // Falls with the drift, as the search wants it.
    let lacking = |drift: f64| upper_p(boundary, look, z, drift).map_or(0.0, |p| 0.5 - p);
    let step = 1.0 / first.sqrt();
    let (mut low, mut high) = (plain - step, plain + step);
    let (mut at_low, mut at_high) = (lacking(low), lacking(high));
    for _ in 0..WIDENINGS {
        if at_low < 0.0 {
            (high, at_high) = (low, at_low);
            low -= step;
            at_low = lacking(low);
        } else if at_high > 0.0 {
            (low, at_low) = (high, at_high);
            high += step;
            at_high = lacking(high);
        } else {
            break;
        }
    }
    (at_low >= 0.0 && at_high <= 0.0).then(|| root::falling(lacking, (low, at_low), (high, at_high), TOLERANCE * step))
}
