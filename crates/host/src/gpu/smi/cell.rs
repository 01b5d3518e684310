//! One cell of what `nvidia-smi` prints: a figure, or the reason why there is none.
//!
//! In:  the text between two commas.  Out: a value, or a reason in words.
//! Not here: which column it is of.
//!
//! Seen: 535 to 580, and the forms that other readers of the same output report (`[N/A]`, `ERR!`, words of deprecation).

/// Words in place of a figure, without brackets and in small letters. Anything else in brackets counts too.
const REFUSALS: &[&str] = &[
    "n/a",
    "not supported",
    "not available",
    "not found",
    "unknown error",
    "unknown",
    "err!",
    "no data",
    "gpu requires reset",
    "gpu is lost",
    "insufficient permissions",
    "requested functionality has been deprecated",
    "",
];

/// Units that stay behind a figure where a version does not know `nounits`.
const UNITS: &[&str] = &["%", "W", "MHz", "MiB", "C", "us", "mJ"];

/// The text, or why there is none.
pub fn text(cell: &str) -> Result<&str, String> {
    let cell = cell.trim();
    let bracketed = cell.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let word = bracketed.unwrap_or(cell).trim();
    if bracketed.is_none() && !REFUSALS.contains(&word.to_ascii_lowercase().as_str()) {
        return Ok(cell);
    }
    Err(if word.is_empty() { "the cell is empty".to_owned() } else { format!("the driver answers '{word}'") })
}

/// A finite figure, with or without its unit, with or without separators of thousands.
pub fn figure(cell: &str) -> Result<f64, String> {
    let text = text(cell)?;
    let number = UNITS.iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text).trim();
    let number: String = number.chars().filter(|letter| *letter != ',').collect();
    // Rust also reads "inf" and "nan". A driver that prints those has no figure.
    number.parse().ok().filter(|figure: &f64| figure.is_finite()).ok_or_else(|| unread(text))
}

/// Bits, as `0x0000000000000004` or in decimal.
pub(crate) fn bits(cell: &str) -> Result<u64, String> {
    let text = text(cell)?;
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    hex.map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16)).map_err(|_| unread(text))
}

/// A performance state, `P0` to `P15`.
pub(crate) fn state(cell: &str) -> Result<u32, String> {
    let text = text(cell)?;
    let number = text.strip_prefix('P').and_then(|digits| digits.parse().ok());
    number.filter(|number| *number <= 15).ok_or_else(|| unread(text))
}

/// `Enabled` or `Disabled`, `Yes` or `No`.
pub(crate) fn switch(cell: &str) -> Result<bool, String> {
    match text(cell)? {
        "Enabled" | "Yes" | "On" => Ok(true),
        "Disabled" | "No" | "Off" => Ok(false),
        other => Err(unread(other)),
    }
}

fn unread(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    format!("the driver answers '{start}', which is not a figure")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_refusing_is_absent_with_its_reason() {
        for cell in [
            "[N/A]",
            "N/A",
            " [Not Supported] ",
            "Not Supported",
            "[Unknown Error]",
            "ERR!",
            "[GPU requires reset]",
            "[GPU is lost]",
            "Requested functionality has been deprecated",
            "[Requested functionality has been deprecated]",
            "[Insufficient Permissions]",
            "[Something new]",
            "",
        ] {
            let reason = figure(cell).unwrap_err();
            assert!(reason.starts_with("the driver answers '") || reason == "the cell is empty", "{cell}: {reason}");
            assert!(!reason.contains('['), "{reason}");
            assert!(
                text(cell).is_err() && bits(cell).is_err() && state(cell).is_err() && switch(cell).is_err(),
                "{cell}"
            );
        }
        assert_eq!(figure("[N/A]").unwrap_err(), "the driver answers 'N/A'");
    }

    #[test]
    fn figures_are_read_with_and_without_units_and_thousands() {
        for (cell, value) in [
            ("75.86", 75.86),
            (" 75.86 W", 75.86),
            ("0 %", 0.0),
            ("143,771 MiB", 143_771.0),
            ("345 MHz", 345.0),
            ("-8 C", -8.0),
        ] {
            assert_eq!(figure(cell), Ok(value), "{cell}");
        }
        for cell in ["hot", "nan", "inf", "1e999", "0x10", "12 furlongs"] {
            assert!(figure(cell).unwrap_err().ends_with("which is not a figure"), "{cell}");
        }
    }

    #[test]
    fn bits_states_and_switches_have_their_own_forms() {
        assert_eq!((bits("0x0000000000000044"), bits("4")), (Ok(0x44), Ok(4)));
        assert!(bits("0xzz").is_err() && bits("Not Active").is_err());
        assert_eq!((state("P0"), state("P15")), (Ok(0), Ok(15)));
        assert!(state("P16").is_err() && state("0").is_err() && state("P").is_err());
        assert_eq!((switch("Enabled"), switch("Off")), (Ok(true), Ok(false)));
        assert!(switch("Perhaps").is_err());
    }
}
