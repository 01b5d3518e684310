//! One line of a reading: cells in the order in which they were asked for.
//!
//! In:  a line and the columns asked for.  Out: [`Line`], a reading of one GPU, or what else the line is.
//! Not here: waiting for lines, choosing columns.

use super::cell;
use super::columns::Column;
use crate::gpu::{GpuSample, Missing};
use sparkbench_model::Instant;

/// Kind of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A reading of our GPU, and the driver's own time, zone unknown, where it could be read.
    Reading(Box<GpuSample>, Option<Instant>),
    /// A reading of another GPU.
    Other,
    /// Nothing, or a header.
    Blank,
    /// Words to a person, or a line that was cut short.
    Words(String),
}

/// Reads a line. Fields that the driver refused go to `missing`.
pub fn read(line: &str, columns: &[(Column, String)], index: u32, missing: &mut Missing) -> Line {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if line.trim().is_empty() || columns.first().is_some_and(|(_, name)| cells.first() == Some(&name.as_str())) {
        return Line::Blank;
    }
    if cells.len() != columns.len() || cells.len() == 1 {
        return Line::Words(line.trim().to_owned());
    }
    let of =
        |wanted: Column| columns.iter().position(|(column, _)| *column == wanted).and_then(|place| cells.get(place));
    // The index comes last: a line that was cut short has lost it.
    match of(Column::Index).map(|cell| cell.parse::<u32>()) {
        Some(Ok(number)) if number != index => return Line::Other,
        Some(Err(_)) => return Line::Words(line.trim().to_owned()),
        _ => {}
    }
    let mut sample = GpuSample::default();
    let mut time = None;
    for ((column, _), text) in columns.iter().zip(&cells) {
        let field = column.field();
        let mut figure = || missing.take(field, cell::figure(text));
        match column {
            Column::Index => {}
            Column::Time => time = Instant::parse(text),
            Column::Util => sample.util_pct = figure(),
            Column::Power => sample.power_w = figure(),
            Column::PowerInstant => sample.power_instant_w = figure(),
            Column::Temperature => sample.temp_c = figure(),
            Column::SmClock => sample.sm_clock_mhz = figure(),
            Column::MemoryClock => sample.memory_clock_mhz = figure(),
            Column::MemoryUsed => sample.memory_used_mib = figure(),
            Column::State => sample.pstate = missing.take(field, cell::state(text)),
            Column::Throttle => sample.throttle_bits = missing.take(field, cell::bits(text)),
        }
    }
    Line::Reading(Box::new(sample), time)
}

/// Zones of the world differ from UTC by whole quarters of an hour.
const QUARTER_MS: i64 = 15 * 60 * 1000;
/// A reading that seems to come from the future by less than this was taken before the wall clock was set back.
const AHEAD_MS: i64 = 60 * 1000;

/// Age of a reading, milliseconds, from the driver's time in an unknown zone and our own in UTC.
///
/// The difference is rounded to the nearest quarter of an hour to find the zone, so ages up to 14 minutes can be measured. Absent when the
/// clock was set between the two.
pub fn age_ms(driver: Instant, now: Instant) -> Option<f64> {
    let age = now.0.checked_sub(driver.0)?.rem_euclid(QUARTER_MS);
    (age < QUARTER_MS - AHEAD_MS).then_some(age as f64)
}

#[cfg(test)]
mod tests {
    use super::super::columns::{choose, known};
    use super::*;

    const HELP: &str = include_str!("../../../../../tests/fixtures/nvidia-smi/h200/help-query-gpu.txt");

    fn columns() -> Vec<(Column, String)> {
        choose(&known(HELP)).columns
    }

    fn reading(line: &str) -> (GpuSample, Missing) {
        let mut missing = Missing::default();
        match read(line, &columns(), 0, &mut missing) {
            Line::Reading(sample, time) => {
                assert_eq!(time.unwrap().iso(), "2026-11-20T23:43:30.552Z");
                (*sample, missing)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_line_of_a_discrete_gpu_fills_every_field() {
        let (sample, missing) =
            reading("2026/11/20 23:43:30.552, 95, 405.68, 411.02, 61, 1980, 3201, 2412, P0, 0x0000000000000004, 0");
        let expected = GpuSample {
            util_pct: Some(95.0),
            power_w: Some(405.68),
            power_instant_w: Some(411.02),
            temp_c: Some(61.0),
            sm_clock_mhz: Some(1980.0),
            memory_clock_mhz: Some(3201.0),
            memory_used_mib: Some(2412.0),
            pstate: Some(0),
            throttle_bits: Some(4),
            ..GpuSample::default()
        };
        assert_eq!(sample, expected);
        assert!(missing.reasons().is_empty());
    }

    #[test]
    fn a_gpu_with_unified_memory_reports_no_memory_and_says_so() {
        let (sample, missing) =
            reading("2026/11/20 23:43:30.552, 0, 4.12, [N/A], 38, 208, [N/A], [N/A], P8, 0x0000000000000001, 0");
        assert_eq!((sample.memory_used_mib, sample.memory_clock_mhz, sample.power_w), (None, None, Some(4.12)));
        assert_eq!(sample.pstate, Some(8));
        let fields: Vec<String> = missing.reasons().into_keys().collect();
        assert_eq!(fields, ["memory_clock_mhz", "memory_used_mib", "power_instant_w"]);
    }

    #[test]
    fn other_gpus_headers_and_words_are_told_apart() {
        let mut missing = Missing::default();
        let mut kind = |line: &str| read(line, &columns(), 0, &mut missing);
        assert_eq!(kind("2026/11/20 23:43:30.552, 0, 4, 4, 38, 208, 1, 1, P8, 0x1, 1"), Line::Other);
        assert_eq!(kind("   "), Line::Blank);
        assert_eq!(kind("timestamp, index, utilization.gpu [%], power.draw [W]"), Line::Blank);
        for words in [
            "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error",
            "No devices were found",
            "2026/11/20 23:43:30.552, 95, 405.6",
            "2026/11/20 23:43:30.552, 0, 4, 4, 38, 208, 1, 1, P8, 0x1,",
        ] {
            assert_eq!(kind(words), Line::Words(words.to_owned()));
        }
        assert!(missing.reasons().is_empty());
    }

    #[test]
    fn the_age_of_a_reading_does_not_depend_on_the_zone() {
        let now = Instant::parse("2026-11-20T22:43:31.052Z").unwrap();
        let driver = |text: &str| Instant::parse(text).unwrap();
        assert_eq!(age_ms(driver("2026/11/20 22:43:30.552"), now), Some(500.0), "UTC");
        assert_eq!(age_ms(driver("2026/11/20 23:43:30.552"), now), Some(500.0), "Berlin");
        assert_eq!(age_ms(driver("2026/11/21 04:28:30.552"), now), Some(500.0), "Kathmandu");
        assert_eq!(age_ms(driver("2026/11/20 17:40:31.052"), now), Some(180_000.0), "New York, an old one");
        assert_eq!(age_ms(driver("2026/11/20 22:43:33.000"), now), None, "the clock was set back");
    }
}
