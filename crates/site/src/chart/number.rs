//! Numbers as text: few digits, the same on every machine.
//!
//! In:  values and the precision they deserve.  Out: text with a real minus sign and grouped thousands.

use sparkbench_text::digits::{THIN, grouped, trimmed};

/// Values that can be drawn: finite, and neither so large nor so small that spans and ratios leave what `f64` can hold.
pub(super) fn usable(value: f64) -> bool {
    value == 0.0 || (1e-100..1e100).contains(&value.abs())
}

/// The interval, when both ends can be drawn and are in order.
pub(super) fn usable_pair(pair: Option<(f64, f64)>) -> Option<(f64, f64)> {
    pair.filter(|(low, high)| usable(*low) && usable(*high) && low <= high)
}

/// `a to b` for a cell of a table, each end as `show` writes it. `none` without an interval that can be drawn.
pub(super) fn ends(pair: Option<(f64, f64)>, show: impl Fn(f64) -> String) -> String {
    usable_pair(pair).map_or_else(|| "none".to_owned(), |(low, high)| format!("{} to {}", show(low), show(high)))
}

/// With a fixed number of decimals. Never `−0`.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "not finite".to_owned();
    }
    if value.abs() >= 1e9 {
        return short_exponent(value);
    }
    let text = format!("{value:.decimals$}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("−", rest));
    let sign = if digits.bytes().all(|b| b == b'0' || b == b'.') { "" } else { sign };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = sign.to_owned();
    if whole.len() > 4 {
        out.push_str(&grouped(whole, THIN));
    } else {
        out.push_str(whole);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// With about this many significant digits, all digits left of the point, and no trailing zeros.
pub(super) fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.is_finite() && value.abs() < 1e-6 {
        return short_exponent(value);
    }
    let text = fixed(value, decimals_for(value.abs(), digits));
    if text.contains('e') { text } else { trimmed(text) }
}

/// Decimals that show a magnitude with this many significant digits.
pub(super) fn decimals_for(magnitude: f64, digits: i32) -> usize {
    if !(magnitude.is_finite() && magnitude > 0.0) {
        return 0;
    }
    let exponent = libm::floor(libm::log10(magnitude)) as i32;
    (digits - 1 - exponent).clamp(0, 9) as usize
}

/// With the sign written out, as differences are.
pub(super) fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let plain = text.bytes().all(|b| b == b'0' || b == b'.');
    if value > 0.0 && !plain { format!("+{text}") } else { text }
}

/// Decimals for an estimate with an interval: two digits of the half-width (and never absurdly many).
pub(super) fn decimals_of_interval(low: f64, high: f64) -> usize {
    decimals_for((high - low) / 2.0, 2).min(6)
}

/// A p-value as people write it.
pub(super) fn p_value(p: f64) -> String {
    match p {
        p if !p.is_finite() => "p not known".to_owned(),
        p if p < 0.001 => "p < 0.001".to_owned(),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}

/// A value and its unit, which stay on one line. `%` and the like are set off by a narrow space, of which some fonts make almost nothing
/// before letters.
pub(super) fn with_unit(number: &str, unit: &str) -> String {
    match unit.chars().next() {
        None => number.to_owned(),
        Some(first) if first.is_alphabetic() => format!("{number}\u{a0}{unit}"),
        Some(_) => format!("{number}\u{202f}{unit}"),
    }
}

/// `name, unit`.
pub(super) fn axis_name(name: &str, unit: &str) -> String {
    match (name.is_empty(), unit.is_empty()) {
        (true, _) => unit.to_owned(),
        (_, true) => name.to_owned(),
        _ => format!("{name}, {unit}"),
    }
}

/// Scientific notation for what is too large or too small to write out.
fn short_exponent(value: f64) -> String {
    format!("{value:.2e}").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        assert_eq!(fixed(-0.04, 1), "0.0");
        assert_eq!(fixed(-1234.5, 1), "−1234.5");
        assert_eq!(fixed(1_234_567.0, 0), "1\u{202f}234\u{202f}567");
        assert_eq!(significant(119.137, 4), "119.1");
        assert_eq!(significant(0.031_27, 3), "0.0313");
        assert_eq!(significant(450.0, 4), "450");
        assert_eq!(significant(3e-9, 3), "3.00e−9");
        assert_eq!(signed(0.31, 2), "+0.31");
        assert_eq!(signed(0.0, 2), "0.00");
        assert_eq!(p_value(0.0004), "p < 0.001");
        assert_eq!(decimals_of_interval(-0.1, 0.6), 2);
        assert_eq!(with_unit("2", "tok/s"), "2\u{a0}tok/s");
        assert_eq!(with_unit("2", "%"), "2\u{202f}%");
        assert_eq!(with_unit("2", ""), "2");
    }

    #[test]
    fn what_is_not_finite_says_so_and_cannot_be_drawn() {
        assert_eq!(fixed(f64::NAN, 2), "not finite");
        assert!(!usable(f64::INFINITY) && !usable(1e200) && usable(-5.0));
        assert_eq!(usable_pair(Some((2.0, 1.0))), None);
    }
}
