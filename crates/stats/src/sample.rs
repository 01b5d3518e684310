//! Finite values in order of time, and the two sums everything else rests on.
//!
//! In:  values as parsed.  Out: [`Sample`], and [`mean`] and [`sd`] over finite values.
//! Not here: units, names, the decision what an infinite value means for a comparison (see `verdict`).
//!
//! Means use Neumaier's compensated sum, standard deviations the corrected two-pass formula about that mean. The textbook "sum of squares
//! minus square of sum" loses every digit when mean / sd is large. For throughput it is about 300 at a CV of 0.3 %.
//!
//! Source: Neumaier, ZAMM 54 (1974). Chan, Golub and LeVeque, Am. Stat. 37 (1983).

/// Values of one metric, in order of time. Only finite ones are kept, the others are counted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
    n_missing: usize,
    n_infinite: usize,
}

impl Sample {
    /// Sorts values into finite (kept, in order), missing (NaN) and infinite (both counted). Nothing else is ever dropped.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sample = Self::default();
        for value in values {
            if value.is_nan() {
                sample.n_missing += 1;
            } else if value.is_infinite() {
                sample.n_infinite += 1;
            } else {
                // -0.0 equals 0.0 everywhere. Adding 0.0 turns the one into the other so that sorting agrees.
                sample.values.push(value + 0.0);
            }
        }
        sample
    }

    /// The finite values in order of time.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of finite values: the `n` of every result.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True when no finite value is there.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Values that were null or NaN.
    pub const fn n_missing(&self) -> usize {
        self.n_missing
    }

    /// Values that were infinite.
    pub const fn n_infinite(&self) -> usize {
        self.n_infinite
    }
}

/// Neumaier's compensated sum. Infinite only when the true sum overflows on the way.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0_f64);
    for x in values {
        let next = total + x;
        lost += if total.abs() >= x.abs() { (total - next) + x } else { (x - next) + total };
        total = next;
    }
    // After an overflow `lost` is NaN. The infinite total is the honest answer.
    if total.is_finite() { total + lost } else { total }
}

/// Arithmetic mean. Empty: NaN, so callers ask for `n` first. Constant values give that value exactly.
pub fn mean(values: &[f64]) -> f64 {
    let Some(&first) = values.first() else { return f64::NAN };
    if is_constant(values) {
        return first;
    }
    let n = values.len() as f64;
    let total = sum(values.iter().copied());
    if total.is_finite() { total / n } else { sum(values.iter().map(|x| x / n)) }
}

/// Standard deviation with n - 1. Fewer than two values have none. Constant values give 0 exactly.
pub fn sd(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    if is_constant(values) {
        return Some(0.0);
    }
    let (scale, ss) = scaled_squares(values, mean(values));
    Some(scale * (ss / (values.len() - 1) as f64).sqrt())
}

/// Whether all values are the same number. Empty: true.
pub fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|w| w[0] == w[1])
}

/// Sum of squares about `centre`, corrected for the rounding of the centre, in units of the returned scale squared.
///
/// The scale is a power of two and 1 unless squares would overflow or vanish, so it costs no digit.
fn scaled_squares(values: &[f64], centre: f64) -> (f64, f64) {
    let largest = values.iter().map(|x| (x - centre).abs()).fold(0.0, f64::max);
    let scale = if (1e-120..1e120).contains(&largest) { 1.0 } else { largest.log2().floor().exp2() };
    let deviations = || values.iter().map(|x| (x - centre) / scale);
    let drift = sum(deviations());
    let ss = sum(deviations().map(|d| d * d)) - drift * drift / values.len() as f64;
    (scale, ss.max(0.0))
}
