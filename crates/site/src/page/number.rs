//! Numbers as people read them: few digits, aligned, with a real minus sign.
//!
//! In:  finite or absent values.  Out: text without markup.
//! Not here: units, and files for machines, which keep every digit.

use sparkbench_text::digits::{self, THIN, grouped, trimmed};
use sparkbench_verdict::report::Interval;

/// Shown where a number does not exist.
pub(super) const ABSENT: &str = "–";

/// Most decimals that a page shows.
const MOST_DECIMALS: usize = 6;

/// Digits of a number that has no interval to say how many are meant.
const PLAIN_DIGITS: usize = 5;

/// Below this a p-value is only said to be below it.
const LEAST_P: f64 = 0.0001;

/// Decimals that leave two significant digits of an interval's half-width.
pub(super) fn decimals(half_width: f64) -> usize {
    significant_decimals(half_width, 2)
}

/// With a fixed number of decimals, groups of three, `−` for minus. No `−0.0`.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "∞".into() } else { "−∞".into() };
    }
    if value.is_nan() {
        return ABSENT.into();
    }
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, part) = digits.split_once('.').map_or((digits.as_str(), None), |(w, p)| (w, Some(p)));
    let mut text = String::with_capacity(digits.len() + 8);
    if value < 0.0 && digits.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        text.push('−');
    }
    text.push_str(&grouped(whole, THIN));
    if let Some(part) = part {
        text.push('.');
        text.push_str(part);
    }
    text
}

/// Like [`fixed`], with a plus sign where it is positive.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let zero = !text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if value > 0.0 && (!zero || value.is_infinite()) { format!("+{text}") } else { text }
}

/// Five significant digits, for a figure without an interval.
pub(super) fn plain(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{value:.2e}").replace('-', "−");
    }
    let text = fixed(value, significant_decimals(value, PLAIN_DIGITS));
    // Trailing zeros of a plain figure are noise: `38`, not `38.000`.
    trimmed(text)
}

/// Two figures that are compared, with the same decimals: five significant digits of the greater, fewer where both end in noughts.
pub(super) fn beside(a: f64, b: f64) -> (String, String) {
    let told = |value: f64| plain(value).split_once('.').map_or(0, |(_, part)| part.len());
    let places = told(a).max(told(b)).min(significant_decimals(a.abs().max(b.abs()), PLAIN_DIGITS));
    (fixed(a, places), fixed(b, places))
}

/// [`plain`], or the dash.
pub(super) fn plain_or(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), plain)
}

/// Whole numbers whole with groups, others with five significant digits.
pub(super) fn fixed_or_plain(value: f64) -> String {
    if value.fract() == 0.0 { fixed(value, 0) } else { plain(value) }
}

/// Decimals of values that do not spread: three significant digits, and never fewer than two.
pub(super) fn decimals_of_constant(value: f64) -> usize {
    significant_decimals(value, 3).max(2)
}

/// Decimals of an interval and of the value beside it: by its half-width, and by the value where it is a point.
fn decimals_about(interval: Interval) -> usize {
    let half_width = (interval.high - interval.low) / 2.0;
    if half_width == 0.0 { decimals_of_constant(interval.low) } else { decimals(half_width) }
}

/// `[0.05, 0.65]` with decimals by its own half-width.
pub(super) fn interval(interval: Interval) -> String {
    ends(interval, decimals_about(interval))
}

/// A mean and its interval with the same decimals, so that neither says more than the other.
pub(super) fn estimate(mean: f64, about: Option<Interval>) -> (String, String) {
    about.map_or_else(|| (plain(mean), String::new()), |ci| (fixed(mean, decimals_about(ci)), interval(ci)))
}

/// `[0.05, 0.65]` with given decimals.
pub(super) fn ends(interval: Interval, decimals: usize) -> String {
    format!("[{}, {}]", fixed(interval.low, decimals), fixed(interval.high, decimals))
}

/// A p-value: two significant digits, never "0".
pub(super) fn p(value: f64) -> String {
    if value.is_nan() {
        ABSENT.into()
    } else if value < LEAST_P {
        "< 0.0001".into()
    } else if value >= 0.0995 {
        format!("{value:.2}")
    } else {
        let decimals = significant_decimals(value, 2);
        format!("{value:.decimals$}")
    }
}

/// [`p`], or the dash.
pub(super) fn p_or(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), p)
}

/// A whole number with groups.
pub(super) fn count(value: u64) -> String {
    grouped(&value.to_string(), THIN)
}

/// Bytes as people say them. Exact below one kilobyte.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

fn significant_decimals(value: f64, digits: usize) -> usize {
    let magnitude = value.abs();
    if !magnitude.is_finite() || magnitude == 0.0 {
        return 2;
    }
    digits::decimals(magnitude, digits, MOST_DECIMALS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_shows_two_digits_of_its_half_width_at_both_ends() {
        assert_eq!(interval(Interval::new(0.0512, 0.6489)), "[0.05, 0.65]");
        assert_eq!(interval(Interval::new(0.003357, 0.003357)), "[0.00336, 0.00336]");
        assert_eq!(interval(Interval::new(-12.34, 31.0)), "[−12, 31]");
        assert_eq!(interval(Interval::new(26.1, 29.4)), "[26.1, 29.4]");
        assert_eq!(interval(Interval::new(1.0, 1.0)), "[1.00, 1.00]");
    }

    #[test]
    fn groups_are_thin_and_minus_is_minus() {
        assert_eq!(fixed(-1_234_567.891, 1), "−1\u{202f}234\u{202f}567.9");
        assert_eq!(fixed(999.0, 0), "999");
        assert_eq!(fixed(-0.0004, 2), "0.00");
        assert_eq!(signed(0.004, 2), "0.00");
        assert_eq!(signed(0.3, 1), "+0.3");
    }

    #[test]
    fn plain_figures_keep_five_digits_and_no_trailing_zeros() {
        assert_eq!(plain(38.0), "38");
        assert_eq!(plain(119.1443), "119.14");
        assert_eq!(plain(0.000_012_3), "1.23e−5");
        assert_eq!(plain(0.0), "0");
    }

    #[test]
    fn figures_beside_each_other_have_as_many_decimals() {
        let said = |a, b| {
            let (a, b) = beside(a, b);
            format!("{a} {b}")
        };
        assert_eq!(said(10.39, 9.8387), "10.390 9.839");
        assert_eq!(said(65.0, 67.0), "65 67");
        assert_eq!(said(355.3, 355.24), "355.30 355.24");
    }

    #[test]
    fn a_p_value_is_never_nought() {
        assert_eq!(p(0.0), "< 0.0001");
        assert_eq!(p(0.01234), "0.012");
        assert_eq!(p(0.25), "0.25");
        assert_eq!(p(1.0), "1.00");
        assert_eq!(p(0.0996), "0.10");
    }
}
