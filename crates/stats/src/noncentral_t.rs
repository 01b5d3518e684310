//! Noncentral t distribution, for any t and any noncentrality.
//!
//! In:  t, degrees of freedom, noncentrality.  Out: tail probabilities, and the noncentrality at which t is a given quantile.
//! Not here: its uses (see [`super::effect`] and [`super::power`]).
//!
//! P(T <= t) is the mean of Phi(t s - nc) over s = chi_df / sqrt(df). For |t| above 37 the usual series lose all digits, and common
//! libraries give NaN. The integral is not affected. It is taken panel by panel with a Gauss-Legendre rule, and panels end where the normal
//! factor turns over. It is divided by the integral of the density by the same rule, so that no gamma function enters.
//!
//! Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 2 (1995), 31.

use super::dist::{normal_cdf, normal_sf};

/// P(T <= t).
pub fn cdf(t: f64, df: f64, nc: f64) -> f64 {
    if t.is_infinite() {
        return if t > 0.0 { 1.0 } else { 0.0 };
    }
    expect_over_scale(df, turning_points(t, nc), |s| normal_cdf(t * s - nc))
}

/// P(T > t).
pub fn sf(t: f64, df: f64, nc: f64) -> f64 {
    if t.is_infinite() {
        return if t > 0.0 { 0.0 } else { 1.0 };
    }
    expect_over_scale(df, turning_points(t, nc), |s| normal_sf(t * s - nc))
}

/// The noncentrality for which P(T <= t) = `p`. It falls as `p` rises. Absent when the search fails (t not finite).
pub fn noncentrality(t: f64, df: f64, p: f64) -> Option<f64> {
    if !(t.is_finite() && p > 0.0 && p < 1.0) {
        return None;
    }
    // Near t - z sqrt(1 + t^2 / (2 df)). Start there and widen until the root is enclosed.
    let spread = (1.0 + t * t / (2.0 * df)).sqrt();
    let excess = |nc: f64| cdf(t, df, nc) - p;
    let (mut low, mut high) = (t - 4.0 * spread, t + 4.0 * spread);
    let mut width = 4.0 * spread;
    for _ in 0..60 {
        let (at_low, at_high) = (excess(low), excess(high));
        if at_low >= 0.0 && at_high <= 0.0 {
            return Some(super::root::falling(excess, (low, at_low), (high, at_high), 1e-13 * (1.0 + t.abs())));
        }
        width *= 2.0;
        if at_low < 0.0 {
            low -= width;
        }
        if at_high > 0.0 {
            high += width;
        }
    }
    None
}

/// Where Phi(t s - nc) begins, passes its middle and ends its rise.
fn turning_points(t: f64, nc: f64) -> [f64; 5] {
    [-9.0, -3.0, 0.0, 3.0, 9.0].map(|z| (nc + z) / t)
}

/// Mean of `value(s)` over s = chi_df / sqrt(df). `breaks` are points between which `value` is smooth, in any order.
pub(crate) fn expect_over_scale<const N: usize>(df: f64, breaks: [f64; N], value: impl Fn(f64) -> f64) -> f64 {
    let (low, high) = range(df);
    let sd = (1.0 / (2.0 * df)).sqrt();
    let panels = ((high - low) / (0.75 * sd)).ceil().max(8.0) as usize;
    let mut edges: Vec<f64> = (0..=panels).map(|i| low + (high - low) * i as f64 / panels as f64).collect();
    edges.extend(breaks.into_iter().filter(|s| *s > low && *s < high));
    edges.sort_unstable_by(f64::total_cmp);
    let (mut weighted, mut mass) = (0.0, 0.0);
    for edge in edges.windows(2) {
        let (half, centre) = (0.5 * (edge[1] - edge[0]), 0.5 * (edge[0] + edge[1]));
        for &(node, weight) in &NODES {
            for s in [centre - half * node, centre + half * node] {
                let density = weight * half * log_density(s, df).exp();
                mass += density;
                weighted += density * value(s);
            }
        }
    }
    weighted / mass
}

/// Logarithm of the density of s up to a constant, 0 at its mode.
fn log_density(s: f64, df: f64) -> f64 {
    if df < 2.0 {
        return (df - 1.0) * s.ln() - 0.5 * df * s * s;
    }
    // With s = mode (1 + e): (df - 1) (ln(1 + e) - e - e^2 / 2), which stays exact for any df.
    let e = s / ((df - 1.0) / df).sqrt() - 1.0;
    (df - 1.0) * (e.ln_1p() - e - 0.5 * e * e)
}

/// Where the density exceeds e^-90 of its mode: what is outside cannot be seen in any digit.
fn range(df: f64) -> (f64, f64) {
    const DEPTH: f64 = 90.0;
    let mode = ((df - 1.0).max(0.0) / df).sqrt();
    // Above the mode the logarithm falls faster than -(df - 1) e^2 / 2 and faster than -df (s - mode)^2 / 2.
    let high = mode + (2.0 * DEPTH / df).sqrt();
    // Below it falls faster than -(df - 1) e^2. Where that reaches past 0 the whole way down is kept.
    let low = if df < 2.0 { 0.0 } else { (mode * (1.0 - (DEPTH / (df - 1.0)).sqrt())).max(0.0) };
    (low, high)
}

/// Positive nodes and weights of the 16-point Gauss-Legendre rule on [-1, 1].
const NODES: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
];
