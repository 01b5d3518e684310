//! Numbers as digits for people.
//!
//! In:  values and the precision they deserve.  Out: text with `.` as the decimal mark.
//! Not here: how many digits an interval leaves, units.

/// Between groups of three digits: narrow, and no place to break a line.
pub const THIN: char = '\u{202f}';

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

/// Shortest text with at most `digits` significant digits, trailing zeros removed, no exponent for ordinary sizes.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    trimmed(fixed(value, decimals(value, digits, 12)))
}

/// Decimals that show `value` with so many significant digits, `most` at most.
pub fn decimals(value: f64, digits: usize, most: usize) -> usize {
    // The logarithm of a float is within ±324, so the cast is exact. That of zero becomes the least number.
    let exponent = value.abs().log10().floor() as i32;
    let before = exponent.saturating_add(1);
    usize::try_from(i32::try_from(digits).unwrap_or(i32::MAX).saturating_sub(before)).unwrap_or(0).min(most)
}

/// Without the zeros at the end of its decimals: `38`, not `38.000`.
pub fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Digits of a whole number in groups of three.
pub fn grouped(digits: &str, between: char) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len());
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(between);
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_zero_is_zero() {
        assert_eq!(
            (fixed(-0.04, 1), signed(-0.04, 1), signed(0.04, 1), signed(0.3, 1)),
            ("0.0".into(), "0.0".into(), "0.0".into(), "+0.3".into())
        );
    }

    #[test]
    fn significant_digits_end_without_zeros() {
        assert_eq!(significant(119.708_123, 4), "119.7");
        assert_eq!(significant(128.0, 4), "128");
        assert_eq!((decimals(0.0512, 2, 6), decimals(1e-9, 2, 6), decimals(12_345.0, 2, 6)), (3, 6, 0));
        assert_eq!(decimals(0.0, 2, 6), 6);
    }

    #[test]
    fn groups_are_counted_from_the_end() {
        assert_eq!(["1", "123", "1234", "1234567"].map(|d| grouped(d, ',')), ["1", "123", "1,234", "1,234,567"]);
    }
}
