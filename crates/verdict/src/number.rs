//! Numbers as sentences print them: digits by the width of the interval, never more than the data carry.
//!
//! In:  values with their interval.  Out: text with `.` as the decimal mark.
//! Not here: units of metrics, grouping of thousands (see `page`).

pub use sparkbench_text::digits::{fixed, signed, significant};
pub use sparkbench_text::plural::{count, list};

/// Coarsest and finest step: the statistics contract prints two significant digits of the half-width, but no finer than 0.1.
const FINEST_STEP_EXPONENT: i32 = -1;

/// Decimals for a value whose interval has this half-width. Finer than 0.1 only where 0.1 would hide on which side of zero an interval lies.
pub fn decimals(low: f64, high: f64) -> usize {
    let half = (high - low) / 2.0;
    if !half.is_finite() || half <= 0.0 {
        return 1;
    }
    let two_digits = half.log10().floor() as i32 - 1;
    let coarse = two_digits.max(FINEST_STEP_EXPONENT);
    let hides_the_side = low * high > 0.0 && low.abs().min(high.abs()) < 0.5 * 10f64.powi(coarse);
    let step = if hides_the_side { two_digits } else { coarse };
    usize::try_from(-step).unwrap_or(0).min(9)
}

/// A p value: four decimals, and "< 0.0001" below that.
pub fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("= {p:.4}") }
}

/// "−0.3 % to +0.1 %": signed ends without the per cent of the first.
pub(crate) fn signed_range(changes: &[f64], places: usize) -> String {
    let low = changes.iter().copied().fold(f64::INFINITY, f64::min);
    let high = changes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = (signed(low, places), signed(high, places));
    if low == high { low } else { format!("{low} to {high}") }
}

/// "0.3" or "0.1 to 0.3", without signs: the words around it carry the side.
pub(crate) fn range(values: &[f64], decimals: usize) -> String {
    let low = values.iter().map(|v| v.abs()).fold(f64::INFINITY, f64::min);
    let high = values.iter().map(|v| v.abs()).fold(0.0, f64::max);
    let (low, high) = (fixed(low, decimals), fixed(high, decimals));
    if low == high { low } else { format!("{low} to {high}") }
}

/// The text with a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_half_width_and_stop_at_a_tenth() {
        for (low, high, expected) in
            [(40.0, 48.0, 1), (20.0, 140.0, 0), (-0.05, 0.65, 1), (0.05, 0.65, 1), (0.01, 0.07, 3)]
        {
            assert_eq!(decimals(low, high), expected, "[{low}, {high}]");
        }
    }

    #[test]
    fn an_interval_that_excludes_zero_is_never_printed_as_touching_it() {
        let (low, high) = (0.012, 0.034);
        assert_eq!(fixed(low, decimals(low, high)), "0.012");
    }

    #[test]
    fn a_p_value_is_never_nought() {
        assert_eq!(p_value(0.00003), "< 0.0001");
    }
}
