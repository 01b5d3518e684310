//! Normal, Student, F, chi-squared and binomial distributions, to more digits in the tails than a difference from 1 can hold.
//!
//! In:  a statistic and its parameters.  Out: tail probabilities and quantiles.
//! Not here: the noncentral t (see [`super::noncentral_t`]) and null distributions of rank tests.
//!
//! `statrs` supplies the normal quantile. Its Student t stops its continued fraction after a fixed number of terms. It takes the normalising
//! constant from a difference of large logarithms, which cancel for many degrees of freedom. Ours keeps ten digits anywhere (tested against
//! SciPy).
//!
//! Source: Hill, *CACM* 13, algorithm 395 (1970), for many degrees of freedom.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::{gamma_lr, ln_gamma};

/// From here on the expansion about the normal is exact to rounding, and the continued fraction would take hundreds of terms.
const NEARLY_NORMAL_DF: f64 = 1e5;

/// Distribution function of the standard normal.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Upper tail of the standard normal.
pub fn normal_sf(z: f64) -> f64 {
    normal_cdf(-z)
}

/// Quantile of the standard normal. 0 and 1 give the infinities.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let z = Normal::standard().inverse_cdf(p);
    // One Newton step takes the rational approximation to full precision.
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let step = (normal_cdf(z) - p) / density;
    if step.is_finite() { z - step } else { z }
}

/// Quantile of chi-squared with `df` > 0 degrees of freedom. 0 and 1 give 0 and infinity.
///
/// Source: Wilson and Hilferty, *PNAS* 17 (1931), for the first guess. Newton's steps from there.
pub fn chi_squared_quantile(p: f64, df: f64) -> f64 {
    if p.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let (a, ninth) = (0.5 * df, 2.0 / (9.0 * df));
    let mut x = (df * (1.0 - ninth + normal_quantile(p) * ninth.sqrt()).powi(3)).max(1e-3 * df * p);
    for _ in 0..NEWTON_STEPS {
        let half = 0.5 * x;
        let density = 0.5 * ((a - 1.0) * half.ln() - half - ln_gamma(a)).exp();
        let step = (gamma_lr(a, half) - p) / density;
        // Below the mode of a convex density a step may lead to less than nothing.
        let next = if step < x { x - step } else { 0.5 * x };
        if !next.is_finite() || (next - x).abs() <= 1e-15 * x {
            break;
        }
        x = next;
    }
    x
}

/// Far more steps than are taken from that guess.
const NEWTON_STEPS: usize = 60;

/// P(T > t) with `df` > 0 degrees of freedom.
pub fn t_sf(t: f64, df: f64) -> f64 {
    let half = 0.5 * t_two_sided(t, df);
    if t >= 0.0 { half } else { 1.0 - half }
}

/// P(|T| > |t|) with `df` > 0 degrees of freedom. An infinite t gives 0.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    if df >= NEARLY_NORMAL_DF {
        return 2.0 * normal_sf(normal_equivalent(t.abs(), df));
    }
    // I_x(df/2, 1/2) at x = df / (df + t^2), whose logarithm is kept exact for t^2 far below df.
    let (a, b) = (0.5 * df, 0.5);
    let ratio = t * t / df;
    let (log_x, y) = (-ratio.ln_1p(), ratio / (1.0 + ratio));
    let x = 1.0 / (1.0 + ratio);
    if ratio == 0.0 {
        return 1.0;
    }
    incomplete_beta((a, b), (x, log_x), y, ln_beta_half(a))
}

/// P(F > f) with `df1` and `df2` > 0 degrees of freedom. An infinite f gives 0.
pub fn f_sf(f: f64, df1: f64, df2: f64) -> f64 {
    if f.is_nan() || df1.is_nan() || df2.is_nan() {
        return f64::NAN;
    }
    if f <= 0.0 {
        return 1.0;
    }
    if f.is_infinite() {
        return 0.0;
    }
    // I_x(df2/2, df1/2) at x = df2 / (df2 + df1 f).
    let (a, b, ratio) = (0.5 * df2, 0.5 * df1, df1 * f / df2);
    let ln_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    incomplete_beta((a, b), (1.0 / (1.0 + ratio), -ratio.ln_1p()), ratio / (1.0 + ratio), ln_beta)
}

/// I_x(a, b), given x with its logarithm, y = 1 - x, and ln B(a, b).
fn incomplete_beta((a, b): (f64, f64), (x, log_x): (f64, f64), y: f64, ln_beta: f64) -> f64 {
    let log_front = a * log_x + b * y.ln() - ln_beta;
    if x < (a + 1.0) / (a + b + 2.0) {
        (log_front.exp() * beta_fraction(a, b, x) / a).min(1.0)
    } else {
        (1.0 - log_front.exp() * beta_fraction(b, a, y) / b).clamp(0.0, 1.0)
    }
}

/// Quantile of Student's t: the t with P(T <= t) = `p`.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if p.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if p == 0.5 {
        return 0.0;
    }
    let tail = p.min(1.0 - p);
    let t = upper_t(tail, df);
    if p < 0.5 { -t } else { t }
}

/// The normal deviate with the tail of t, for many degrees of freedom.
fn normal_equivalent(t: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return t;
    }
    let a = df - 0.5;
    let b = 48.0 * a * a;
    let y = a * (t * t / df).ln_1p();
    let inner = (((-0.4 * y - 3.3) * y - 24.0) * y - 85.5) / (0.8 * y * y + 100.0 + b) + y + 3.0;
    (inner / b + 1.0) * y.sqrt()
}

/// The t > 0 with P(T > t) = `tail` < 1/2, by Newton steps kept inside a bracket.
///
/// The steps are those of ln P against ln t, which is a straight line where a heavy tail would lead plain Newton astray.
fn upper_t(tail: f64, df: f64) -> f64 {
    let z = normal_quantile(tail).abs().max(1e-12);
    let mut t = z + (z * z * z + z) / (4.0 * df);
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for _ in 0..100 {
        let here = t_sf(t, df);
        if here > tail {
            low = t
        } else {
            high = t
        }
        let newton = t * ((here / tail).ln() * here / (t * t_density(t, df))).exp();
        let next = if newton > low && newton < high {
            newton
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            2.0 * t
        };
        let moved = (next - t).abs();
        t = next;
        // Rounding of the tail moves t by this much anyway.
        if moved <= 1e-14 * t {
            break;
        }
    }
    t
}

fn t_density(t: f64, df: f64) -> f64 {
    (-0.5 * (df + 1.0) * (t * t / df).ln_1p() - ln_beta_half(0.5 * df) - 0.5 * df.ln()).exp()
}

/// ln B(a, 1/2).
fn ln_beta_half(a: f64) -> f64 {
    0.5 * std::f64::consts::PI.ln() - ln_gamma_half_step(a)
}

/// ln Gamma(a + 1/2) - ln Gamma(a).
///
/// For large `a` by its expansion, since two log-gammas of a million cancel to nine digits.
pub(crate) fn ln_gamma_half_step(a: f64) -> f64 {
    if a < 30.0 {
        return libm::lgamma(a + 0.5) - libm::lgamma(a);
    }
    // ln(a) / 2 - 1/(8a) + 1/(192 a^3) - 1/(640 a^5) + 17/(14336 a^7) - ...
    let r = 1.0 / (a * a);
    0.5 * a.ln() + (-0.125 + r * (1.0 / 192.0 + r * (-1.0 / 640.0 + r * 17.0 / 14336.0))) / a
}

/// Continued fraction of the incomplete beta function, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let lift = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / lift(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    // About sqrt(max(a, b)) terms are needed, and a and b stay below half of `NEARLY_NORMAL_DF`.
    for m in 1..5_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / lift(1.0 + even * d);
        c = lift(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / lift(1.0 + odd * d);
        c = lift(1.0 + odd / c);
        let factor = d * c;
        h *= factor;
        if (factor - 1.0).abs() < 4.0 * f64::EPSILON {
            break;
        }
    }
    h
}

/// Cumulative probabilities of Binomial(n, p) around its mode.
///
/// Weights are built from the mode outwards by their ratios and normalised by their sum, so no large logarithms cancel. What lies
/// outside the window has a probability below 1e-300 and is taken as 0.
#[derive(Debug, Clone)]
pub struct Binomial {
    first: usize,
    cumulative: Vec<f64>,
}

impl Binomial {
    /// `p` strictly inside (0, 1). Memory grows with sqrt(n).
    pub fn new(n: usize, p: f64) -> Self {
        let mode = (((n + 1) as f64 * p).floor() as usize).min(n);
        let odds = p / (1.0 - p);
        let mut upper = Vec::new();
        let mut weight = 1.0;
        for k in mode..n {
            weight *= (n - k) as f64 / (k + 1) as f64 * odds;
            if weight < f64::MIN_POSITIVE {
                break;
            }
            upper.push(weight);
        }
        let mut lower = Vec::new();
        weight = 1.0;
        for k in (1..=mode).rev() {
            weight *= k as f64 / ((n - k + 1) as f64 * odds);
            if weight < f64::MIN_POSITIVE {
                break;
            }
            lower.push(weight);
        }
        let first = mode - lower.len();
        let weights = || lower.iter().rev().chain(std::iter::once(&1.0)).chain(&upper).copied();
        let total = super::sample::sum(weights());
        let mut running = 0.0;
        let cumulative = weights()
            .map(|w| {
                running += w / total;
                running
            })
            .collect();
        Self { first, cumulative }
    }

    /// P(X <= k).
    pub fn cdf(&self, k: usize) -> f64 {
        k.checked_sub(self.first).map_or(0.0, |i| self.cumulative.get(i).copied().unwrap_or(1.0).min(1.0))
    }

    /// Smallest k with P(X <= k) >= `level`.
    pub fn quantile(&self, level: f64) -> usize {
        self.first + self.cumulative.partition_point(|&c| c < level).min(self.cumulative.len() - 1)
    }

    /// Number of outcomes k = 0, 1, ... with P(X <= k) <= `level`: the largest l with P(X <= l - 1) <= `level`.
    pub fn last_at_most(&self, level: f64) -> usize {
        // What lies below the window has no probability that a number can hold, and so is not above any level.
        self.first + self.cumulative.partition_point(|&c| c <= level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SciPy 1.17.1, stats.f.sf.
    #[test]
    fn tails_of_f_are_those_of_scipy() {
        for (f, df1, df2, p) in [
            (3.2, 2.0, 8.0, 0.095_259_868_922_420_35),
            (0.4, 5.0, 45.0, 0.846_231_329_367_645_1),
            (60.0, 7.0, 3.0, 0.003_210_280_533_975_363_7),
            (1.01, 1.0, 200.0, 0.316_117_185_610_235_3),
            (25.0, 3.0, 1e4, 4.152_260_210_113_136_4e-16),
            (1e-3, 4.0, 9.0, 0.999_997_560_257_495_6),
        ] {
            assert!((f_sf(f, df1, df2) / p - 1.0).abs() < 1e-9, "{f} {df1} {df2}: {} {p}", f_sf(f, df1, df2));
        }
        assert_eq!([f_sf(0.0, 2.0, 3.0), f_sf(f64::INFINITY, 2.0, 3.0)], [1.0, 0.0]);
    }
}
