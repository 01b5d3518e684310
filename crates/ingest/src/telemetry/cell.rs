//! One cell of telemetry: a figure with or without its unit, a mask, a state, a moment.
//!
//! In:  text between two commas.  Out: a value, "missing", or nothing when the text is neither.
//! Not here: which column it is in.
//!
//! `[N/A]` and its relatives are absent, never 0: a GPU with unified memory reports no memory figure, and that is a fact. Anything in
//! brackets is a refusal of the driver, whatever the next version calls it.

use crate::figure::{Figure, is_missing};
use sparkbench_model::Instant;

/// Earliest number that is taken for seconds since 1970 (2001-09-09): smaller ones count from the start of something.
pub(super) const EPOCH_FROM: f64 = 1.0e9;
/// From here on a number counts milliseconds since 1970, and further on microseconds and nanoseconds: 3e11 s is the year 11,500.
const EPOCH_MS_FROM: f64 = 3.0e11;

/// Units that may follow a figure.
const UNITS: &[&str] =
    &["%", "W", "MHz", "MiB", "C", "us", "mJ", "J", "MB", "KB/s", "MB/s", "ms", "s", "KiB", "GiB", "x"];

/// Words for a missing value beyond those of every format, lower case.
const REFUSALS: &[&str] = &[
    "err!",
    "unknown error",
    "gpu is lost",
    "gpu requires reset",
    "insufficient permissions",
    "not available",
    "not found",
    "no data",
    "requested functionality has been deprecated",
];

/// True for every placeholder word in the place of a value.
pub(super) fn is_absent(cell: &str) -> bool {
    let cell = cell.trim();
    is_missing(cell)
        || (cell.starts_with('[') && cell.ends_with(']'))
        || REFUSALS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// A figure and the unit behind it, `405.68 W`, `95 %`, `75C`. [`Figure::MISSING`] for a refusal.
pub(super) fn figure(cell: &str) -> Option<(Figure, &'static str)> {
    let cell = cell.trim();
    if is_absent(cell) {
        return Some((Figure::MISSING, ""));
    }
    if let Some(figure) = Figure::parse(cell) {
        return Some((figure, ""));
    }
    // The longest unit first, so that `MB/s` is not taken for `s`.
    let unit = UNITS.iter().filter(|unit| cell.ends_with(**unit)).max_by_key(|unit| unit.len())?;
    let number = cell.strip_suffix(unit)?.trim_end();
    Figure::parse(number)
        .filter(|figure| !figure.value.is_nan())
        .map(|figure| (figure, if *unit == "C" { "°C" } else { *unit }))
}

/// Bits, as `0x0000000000000004` or in decimal. The outer nothing is nonsense, the inner one a refusal.
pub(super) fn bits(cell: &str) -> Option<Option<u64>> {
    let cell = cell.trim();
    if is_absent(cell) {
        return Some(None);
    }
    let hex = cell.strip_prefix("0x").or_else(|| cell.strip_prefix("0X"));
    hex.map_or_else(|| cell.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok()).map(Some)
}

/// `P0` to `P15`, or the number alone.
pub(super) fn state(cell: &str) -> Option<Option<u8>> {
    let cell = cell.trim();
    if is_absent(cell) {
        return Some(None);
    }
    cell.trim_start_matches(['P', 'p']).parse().ok().filter(|state| *state <= 15).map(Some)
}

/// `Active` or `Not Active`.
pub(super) fn switch(cell: &str) -> Option<Option<bool>> {
    let cell = cell.trim();
    match cell.to_ascii_lowercase().as_str() {
        "active" | "1" | "true" | "yes" => Some(Some(true)),
        "not active" | "0" | "false" | "no" => Some(Some(false)),
        _ => is_absent(cell).then_some(None),
    }
}

/// A moment of any spelling, or seconds since 1970.
pub(super) fn moment(cell: &str) -> Option<Instant> {
    if let Some(moment) = Instant::parse(cell) {
        return Some(moment);
    }
    let mut seconds = Figure::parse(cell)?.finite().filter(|seconds| *seconds >= EPOCH_FROM)?;
    while seconds >= EPOCH_MS_FROM {
        seconds /= 1000.0;
    }
    Instant::from_unix_seconds(seconds)
}

/// `20261120 23:43:31` in two cells, as `nvidia-smi dmon -o DT` prints, or with dashes or slashes.
pub(super) fn date_and_time(date: &str, time: &str) -> Option<Instant> {
    let plain = match (date.get(..4), date.get(4..6), date.get(6..8)) {
        (Some(year), Some(month), Some(day)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{year}-{month}-{day}")
        }
        _ => date.replace('/', "-"),
    };
    Instant::parse(&format!("{plain} {time}"))
}

/// Seconds since midnight of `HH:MM:SS`, with or without a fraction.
pub(super) fn clock(cell: &str) -> Option<f64> {
    let mut parts = cell.trim().split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next()?);
    let whole = |text: &str, below: u32| {
        (text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<u32>().ok())
            .flatten()
            .filter(|number| *number < below)
    };
    let seconds = Figure::parse(seconds)?.finite().filter(|s| (0.0..61.0).contains(s))?;
    parts.next().is_none().then_some(())?;
    Some(f64::from(whole(hours, 24)? * 3600 + whole(minutes, 60)? * 60) + seconds)
}

/// Cells of a line, trimmed, quotes taken off.
pub(super) fn split(line: &str, sign: char) -> Vec<&str> {
    if !line.contains('"') {
        return line.split(sign).map(str::trim).collect();
    }
    let (mut cells, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, letter) in line.char_indices() {
        if letter == '"' {
            quoted = !quoted;
        } else if letter == sign && !quoted {
            cells.push(line.get(start..at).unwrap_or_default());
            start = at + letter.len_utf8();
        }
    }
    cells.push(line.get(start..).unwrap_or_default());
    cells.into_iter().map(|cell| cell.trim().trim_matches('"').trim()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_is_missing_and_nonsense_is_nothing() {
        for cell in [
            "[N/A]",
            "N/A",
            "[Not Supported]",
            "[Unknown Error]",
            "[GPU requires reset]",
            "ERR!",
            "-",
            "",
            "[Something new]",
            "Requested functionality has been deprecated",
        ] {
            assert!(figure(cell).unwrap().0.value.is_nan(), "{cell}");
        }
        for cell in ["hot", "1,234", "N/A W", "0x10"] {
            assert_eq!(figure(cell), None, "{cell}");
        }
        assert_eq!((bits("0x0000000000000044"), bits("N/A"), bits("0xzz")), (Some(Some(0x44)), Some(None), None));
        assert_eq!((state("P8"), state("[N/A]"), state("P99")), (Some(Some(8)), Some(None), None));
    }

    #[test]
    fn a_unit_may_stand_behind_a_figure() {
        for (cell, value, unit) in
            [("405.68 W", 405.68, "W"), ("95 %", 95.0, "%"), ("78C", 78.0, "°C"), ("964 KB/s", 964.0, "KB/s")]
        {
            let (figure, behind) = figure(cell).unwrap();
            assert_eq!((figure.value, behind), (value, unit), "{cell}");
        }
    }

    #[test]
    fn moments_come_as_text_as_seconds_and_in_two_cells() {
        let expected = Instant::parse("2026-11-20T23:43:31Z").unwrap();
        for found in [
            moment("2026/11/20 23:43:31.000"),
            moment("1795218211"),
            moment("1795218211000"),
            date_and_time("20261120", "23:43:31"),
        ] {
            assert_eq!(found, Some(expected));
        }
        assert_eq!((moment("12.5"), moment("soon")), (None, None));
        assert_eq!(
            (clock("00:00:10"), clock("23:59:60.5"), clock("24:00:00"), clock("1:2")),
            (Some(10.0), Some(86_400.5), None, None)
        );
    }

    #[test]
    fn a_sign_within_quotes_parts_nothing() {
        assert_eq!(split("a, \"b, c\" ,d", ','), ["a", "b, c", "d"]);
    }
}
