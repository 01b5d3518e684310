//! A moment in Coordinated Universal Time, to the millisecond.
//!
//! In:  text as the formats write it.  Out: [`Instant`].
//! Not here: clocks. Nothing in this file knows what time it is now.

use serde::{Serialize, Serializer};

/// Milliseconds since 1970-01-01T00:00:00Z. Sources without a zone are taken as UTC, which is harmless as long as one campaign uses one zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub i64);

impl Instant {
    /// Reads `20251109_022626`, the stamp of the flat layout.
    pub fn from_stamp(text: &str) -> Option<Self> {
        let (date, time) = text.split_once('_')?;
        if date.len() != 8 || time.len() != 6 || !date.is_ascii() || !time.is_ascii() {
            return None;
        }
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<i16>().ok()).flatten();
        let date = jiff::civil::Date::new(
            digits(&date[..4])?,
            i8::try_from(digits(&date[4..6])?).ok()?,
            i8::try_from(digits(&date[6..])?).ok()?,
        )
        .ok()?;
        let time = jiff::civil::Time::new(
            i8::try_from(digits(&time[..2])?).ok()?,
            i8::try_from(digits(&time[2..4])?).ok()?,
            i8::try_from(digits(&time[4..])?).ok()?,
            0,
        )
        .ok()?;
        Self::from_civil(date.to_datetime(time))
    }

    /// Reads ISO 8601 with or without a zone, `2026-11-20T23:45:33Z`, `2026-11-20 23:45:33`, or a stamp.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(stamp) = Self::from_stamp(text) {
            return Some(stamp);
        }
        if let Ok(zoned) = text.parse::<jiff::Timestamp>() {
            return Some(Self(zoned.as_millisecond()));
        }
        let slashed = text.replace('/', "-");
        slashed.parse::<jiff::civil::DateTime>().ok().and_then(Self::from_civil)
    }

    /// Whether a text says of which zone its time is. Without that it is taken as UTC.
    pub fn names_zone(text: &str) -> bool {
        text.trim().parse::<jiff::Timestamp>().is_ok()
    }

    /// From fractional seconds since the epoch. Absent when out of range.
    pub fn from_unix_seconds(seconds: f64) -> Option<Self> {
        // ±100,000 years is ample and keeps the cast exact.
        (seconds.is_finite() && seconds.abs() < 3.2e12).then(|| Self((seconds * 1000.0).round() as i64))
    }

    /// Whole and fractional seconds from `earlier` to here. Negative when the clock went back.
    pub fn seconds_since(self, earlier: Self) -> f64 {
        (self.0 - earlier.0) as f64 / 1000.0
    }

    /// This moment minus some seconds, to the millisecond.
    #[must_use]
    pub fn earlier(self, seconds: f64) -> Self {
        Self(self.0.saturating_sub((seconds * 1000.0).round() as i64))
    }

    /// True when this counts from a start that a source chose (seconds elapsed), not from 1970: nothing here was measured before 1980.
    pub const fn is_relative(self) -> bool {
        const TEN_YEARS_MS: i64 = 10 * 365 * 86_400_000;
        self.0 < TEN_YEARS_MS
    }

    fn from_civil(moment: jiff::civil::DateTime) -> Option<Self> {
        let zoned = moment.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Self(zoned.timestamp().as_millisecond()))
    }

    /// `2026-11-20T23:45:33Z`, with milliseconds only when there are any.
    pub fn iso(self) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) if self.0 % 1000 == 0 => moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            Ok(moment) => moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            Err(_) => String::new(),
        }
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.iso())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_and_iso_texts_name_the_same_moment() {
        let stamp = Instant::parse("20251109_022626").unwrap();
        assert_eq!(stamp, Instant::parse("2025-11-09T02:26:26Z").unwrap());
        assert_eq!(stamp, Instant::parse("2025/11/09 02:26:26").unwrap());
        assert_eq!(stamp.iso(), "2025-11-09T02:26:26Z");
    }

    #[test]
    fn a_zone_is_named_by_a_letter_or_by_hours_and_by_no_stamp() {
        for (text, named) in [
            ("2026-01-01T10:00:00Z", true),
            ("2026-01-01 10:00:00+02:00", true),
            ("2026-01-01T10:00:00", false),
            ("2026-01-01 10:00:00", false),
            ("20260101_100000", false),
        ] {
            assert_eq!(Instant::names_zone(text), named, "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_moment() {
        for text in ["", "20251399_022626", "2025-11-09T99:00:00Z", "yesterday", "２０２５1109_022626"] {
            assert_eq!(Instant::parse(text), None, "{text}");
        }
    }
}
