//! Does the machine remember? Trend and serial correlation of runs in order of time.
//!
//! In:  values in order of time.  Out: [`Drift`].
//! Not here: timestamps (the order is given), the verdict's allowance for drift (see [`super::order()`]).
//!
//! Source: Mann, *Econometrica* 13 (1945). Sen, *JASA* 63 (1968).

use std::sync::OnceLock;

use super::descriptive::t_interval;
use super::quantile::sorted;
use super::sample::{is_constant, sum};
use super::{Method, dist, exact_null, sen, ties};

/// Up to this many values the null distribution of S is exact.
const EXACT_UP_TO: usize = 50;

/// The exact null distribution for up to [`EXACT_UP_TO`] values. One takes as long as all else here, and a campaign asks for the same ones
/// again and again.
fn null_of(n: usize) -> &'static [f64] {
    static TABLES: [OnceLock<Vec<f64>>; EXACT_UP_TO + 1] = [const { OnceLock::new() }; EXACT_UP_TO + 1];
    TABLES.get(n).map_or(&[], |table| table.get_or_init(|| exact_null::inversions(n)))
}
/// Lag-1 correlation of independent values exceeds this over sqrt(n) once in forty.
pub const Z_975: f64 = 1.96;

/// Trend, slope and lag-1 correlation of one sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Values.
    pub n: usize,
    /// Mann-Kendall S: rising pairs minus falling pairs.
    pub s: i64,
    /// S in standard deviations, tie-corrected, with continuity correction.
    pub z: f64,
    /// Two-sided p of no trend.
    pub p: f64,
    /// `Exact` without ties and up to 50 values, else `Normal`.
    pub method: Method,
    /// Kendall's tau-b between value and time.
    pub tau_b: f64,
    /// Median slope over all pairs, unit per run.
    pub sen_slope: f64,
    /// 100 slope (n - 1) / mean: the trend over the whole sequence. Mean 0: absent.
    pub drift_pct: Option<f64>,
    /// Lag-1 autocorrelation.
    pub lag1: f64,
    /// Effective number of independent values, 1 to n. N when lag-1 is not positive.
    pub n_eff: f64,
    /// lag-1 above 1.96 / sqrt(n).
    pub autocorrelated: bool,
    /// t-interval of the mean with `n_eff` for n. Only when autocorrelated, and then absent when n_eff < 2.
    pub t_interval_eff: Option<(f64, f64)>,
}

/// Looks for drift. Fewer than three values or constant: absent. `O(n log n)` beyond a few thousand values.
pub fn drift(values: &[f64], confidence: f64) -> Option<Drift> {
    if values.len() < 3 || is_constant(values) {
        return None;
    }
    let n = values.len() as f64;
    let (mut pairs_tied, mut tie_sum) = (0_i64, 0.0);
    for t in ties::groups(&sorted(values)) {
        pairs_tied += (t * (t - 1) / 2) as i64;
        let t = t as f64;
        tie_sum += t * (t - 1.0) * (2.0 * t + 5.0);
    }
    let pairs = (values.len() * (values.len() - 1) / 2) as i64;
    let falling = falling_pairs(values);
    let s = pairs - pairs_tied - 2 * falling;
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - tie_sum) / 18.0;
    let z = (s - s.signum()) as f64 / variance.sqrt();
    let (p, method) = if pairs_tied == 0 && values.len() <= EXACT_UP_TO {
        (exact_null::two_sided(null_of(values.len()), falling as usize), Method::Exact)
    } else {
        (2.0 * dist::normal_sf(z.abs()), Method::Normal)
    };
    let mean = super::mean(values);
    let sen_slope = sen::slope(values);
    let lag1 = lag1(values, mean);
    let n_eff = if lag1 > 0.0 { (n * (1.0 - lag1) / (1.0 + lag1)).clamp(1.0, n) } else { n };
    let autocorrelated = lag1 > Z_975 / n.sqrt();
    Some(Drift {
        n: values.len(),
        s,
        z,
        p,
        method,
        tau_b: s as f64 / (pairs as f64 * (pairs - pairs_tied) as f64).sqrt(),
        sen_slope,
        drift_pct: Some(100.0 * sen_slope * (n - 1.0) / mean).filter(|pct| pct.is_finite()),
        lag1,
        n_eff,
        autocorrelated,
        t_interval_eff: if autocorrelated { t_interval(values, Some(n_eff), confidence) } else { None },
    })
}

/// Sum of products of neighbouring deviations over the sum of their squares. Not constant.
fn lag1(values: &[f64], mean: f64) -> f64 {
    let scale = values.iter().map(|x| (x - mean).abs()).fold(0.0, f64::max);
    let d: Vec<f64> = values.iter().map(|x| (x - mean) / scale).collect();
    sum(d.windows(2).map(|w| w[0] * w[1])) / sum(d.iter().map(|d| d * d))
}

/// Pairs i < j with x_j < x_i, by merge sort.
pub(super) fn falling_pairs(values: &[f64]) -> i64 {
    let mut work = values.to_vec();
    let mut buffer = work.clone();
    count_falling(&mut work, &mut buffer)
}

fn count_falling(values: &mut [f64], buffer: &mut [f64]) -> i64 {
    let n = values.len();
    if n < 2 {
        return 0;
    }
    let (left, right) = values.split_at_mut(n / 2);
    let (left_buffer, right_buffer) = buffer.split_at_mut(n / 2);
    let mut count = count_falling(left, left_buffer) + count_falling(right, right_buffer);
    let (mut i, mut j) = (0, 0);
    for slot in buffer.iter_mut() {
        if j == right.len() || (i < left.len() && left[i] <= right[j]) {
            *slot = left[i];
            i += 1;
        } else {
            // All that is left on the left is larger than this one.
            count += (left.len() - i) as i64;
            *slot = right[j];
            j += 1;
        }
    }
    values.copy_from_slice(buffer);
    count
}
