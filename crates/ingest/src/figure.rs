//! One printed number: its value and the digits behind its point.
//!
//! In:  text of a cell or of a JSON number.  Out: [`Figure`], or nothing when the text is no number.
//! Not here: units.
//!
//! Missing is NaN and infinite is infinite, as `statistics.md` 1.2 wants them kept apart. Locale commas and thousands separators are
//! refused: `1,234` is one number in one country and another in the next.

use sparkbench_model::{Origin, Reading};

/// A value as printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// NaN where the source says "missing".
    pub value: f64,
    /// Digits after the point. Absent for missing, infinite and scientific notation.
    pub decimals: Option<u8>,
}

/// From the unit of a file to the unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// The same unit.
    One,
    /// From seconds to milliseconds. The digits behind the point move.
    Seconds,
    /// From a unit that another key or the file names. Such files hold computed values in full, so no digits are counted.
    Times(f64),
}

/// Words that stand for a missing value, lower case: those of nvidia-smi, of the tools read here, and of spreadsheets.
const MISSING: &[&str] = &[
    "",
    "-",
    "n/a",
    "[n/a]",
    "na",
    "#n/a",
    "nan",
    "null",
    "none",
    "[not supported]",
    "not supported",
    "[unknown error]",
    "[gpu requires reset]",
    "[insufficient permissions]",
];

impl Figure {
    /// Words of a source for a missing value.
    pub const MISSING: Self = Self { value: f64::NAN, decimals: None };

    /// Reads a cell. `None` when it is neither a number nor a word for a missing or an infinite one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if is_missing(text) {
            return Some(Self::MISSING);
        }
        let lower = text.to_ascii_lowercase();
        let (sign, word) = match lower.as_bytes().first() {
            Some(b'-') => (-1.0, lower.get(1..)?),
            Some(b'+') => (1.0, lower.get(1..)?),
            _ => (1.0, lower.as_str()),
        };
        if matches!(word, "inf" | "infinity") {
            return Some(Self { value: sign * f64::INFINITY, decimals: None });
        }
        // The standard parser takes every spelling of "nan" and "infinity". Digits are all that may follow here.
        if !word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'+' | b'-')) {
            return None;
        }
        let value: f64 = lower.parse().ok()?;
        let decimals = match lower.split_once('.') {
            _ if lower.contains('e') => None,
            Some((_, digits)) => u8::try_from(digits.len()).ok(),
            None => Some(0),
        };
        // A number too large for f64 is no infinity that the source reported.
        value.is_finite().then_some(Self { value, decimals })
    }

    /// What was computed has no digits of its own.
    pub(crate) fn computed(value: f64) -> Self {
        Self { value, decimals: None }
    }

    /// As a metric of a run.
    pub(crate) fn reading(self, metric: impl Into<String>, origin: Origin) -> Reading {
        Reading { metric: metric.into(), value: self.value, decimals: self.decimals, origin }
    }

    /// In the unit of the metric.
    pub(crate) fn scaled(self, scale: Scale) -> Self {
        match scale {
            Scale::One => self,
            Scale::Seconds => {
                let decimals = self.decimals.map(|digits| digits.saturating_sub(3));
                Self { value: self.value * 1000.0, decimals }
            }
            Scale::Times(factor) if (factor - 1.0).abs() < f64::EPSILON => self,
            Scale::Times(factor) => Self::computed(self.value * factor),
        }
    }

    /// The value where there is a finite one.
    pub fn finite(self) -> Option<f64> {
        self.value.is_finite().then_some(self.value)
    }
}

/// True for the words of [`MISSING`], case aside.
pub(super) fn is_missing(text: &str) -> bool {
    MISSING.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A cell as it may be quoted in a message: control characters shown, long text cut.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    sparkbench_text::excerpt::excerpt(text.chars().map(printable), LONGEST)
}

/// True for `1,234` and `1,234,567.8`: groups of three behind each comma.
pub(super) fn thousands(text: &str) -> bool {
    let whole = text.split('.').next().unwrap_or(text);
    let mut groups = whole.trim_start_matches(['-', '+']).split(',');
    let head = groups.next().unwrap_or_default();
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = groups.peekable();
    rest.peek().is_some()
        && (1..=3).contains(&head.len())
        && is_digits(head)
        && rest.all(|group| group.len() == 3 && is_digits(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_behind_the_point_are_kept_as_printed() {
        for (text, value, decimals) in [
            ("119.1443", 119.1443, Some(4)),
            ("70.10", 70.1, Some(2)),
            ("44", 44.0, Some(0)),
            ("-0.5", -0.5, Some(1)),
            ("1.4117E+17", 1.4117e17, None),
            (" 7. ", 7.0, Some(0)),
        ] {
            assert_eq!(Figure::parse(text), Some(Figure { value, decimals }), "{text}");
        }
    }

    #[test]
    fn missing_and_infinite_are_two_things() {
        for text in ["", "NaN", "[N/A]", "n/a", "null", " - ", "[Not Supported]"] {
            assert!(Figure::parse(text).unwrap().value.is_nan(), "{text}");
        }
        assert_eq!(Figure::parse("Infinity").unwrap().value, f64::INFINITY);
        assert_eq!(Figure::parse("-inf").unwrap().value, f64::NEG_INFINITY);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["1,234", "12 %", "0x10", "1_000", "hot", "1e999", "--1", "e", ".", "+"] {
            assert_eq!(Figure::parse(text), None, "{text}");
        }
    }
}
