//! Numbers as sentences print them: digits by the width of the interval, never more than the data carry.
//!
//! In:  values with their interval.  Out: text with `.` as the decimal mark.
//! Not here: units of metrics, grouping of thousands (see `page`).

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

/// `value` with a fixed number of decimals, never "-0".
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.to_owned(),
        _ => text,
    }
}

/// Like [`fixed`], with a plus sign before positive values.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if value > 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) { format!("+{text}") } else { text }
}

/// A p value: four decimals, and "< 0.0001" below that.
pub fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("= {p:.4}") }
}

/// Shortest text with at most `digits` significant digits, trailing zeros removed, no exponent for ordinary sizes.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let exponent = value.abs().log10().floor() as i32;
    let decimals = usize::try_from(i32::try_from(digits).unwrap_or(6) - 1 - exponent).unwrap_or(0).min(12);
    let text = fixed(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `1 run`, `2 runs`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [init @ .., last] => {
            format!("{} and {}", init.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", "), last.as_ref())
        }
    }
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
    fn minus_zero_is_zero() {
        assert_eq!(
            (fixed(-0.04, 1), signed(-0.04, 1), signed(0.04, 1), signed(0.3, 1)),
            ("0.0".into(), "0.0".into(), "0.0".into(), "+0.3".into())
        );
    }

    #[test]
    fn lists_read_as_a_person_would_say_them() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(p_value(0.00003), "< 0.0001");
        assert_eq!(significant(119.708_123, 4), "119.7");
        assert_eq!(significant(128.0, 4), "128");
    }
}
