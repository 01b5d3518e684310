//! When something that was refused for now is sent again: requests of a load, and questions before it.
//!
//! In:  `Retry-After`, how often it was sent again, the time limit of a request, the wall clock.  Out: [`ResendWait`].
//! Not here: sending (see `engine` and `session`), whether it is sent again at all.

use sparkbench_host::net::Ns;

/// Longest wait that `Retry-After` is believed, seconds.
const RETRY_AFTER_MAX: f64 = 60.0;
/// Wait before something is sent again where the server says nothing, ns. It doubles.
const RETRY_WAIT: Ns = 250_000_000;

/// A wait before something is sent again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ResendWait {
    /// Its length. Never longer than the time limit of a request.
    pub ns: Ns,
    /// What the server asked for, seconds.
    asked_s: Option<f64>,
}

impl ResendWait {
    /// Before the sending number `times` after the first, counted from 1. `now_s` is the wall clock, seconds since 1970.
    pub(crate) fn before(times: u32, retry_after: Option<&str>, timeout: Ns, now_s: f64) -> Self {
        let asked_s = retry_after.and_then(|text| asked(text, now_s));
        let wait = asked_s.map_or(RETRY_WAIT << times.min(8) >> 1, bounded);
        Self { ns: wait.min(timeout), asked_s }
    }

    /// `in 5 s (it asks for 30 s, and a wait is at most --timeout and at most 60 s)`, as the end of a sentence about the server.
    pub(crate) fn words(self) -> String {
        let seconds = self.ns as f64 / 1e9;
        match self.asked_s.map(|asked| (asked * 1e3).round() / 1e3).filter(|asked| *asked > seconds) {
            Some(asked) => format!(
                "in {seconds} s (it asks for {asked} s, and a wait is at most --timeout and at most {RETRY_AFTER_MAX} s)"
            ),
            None => format!("in {seconds} s"),
        }
    }
}

/// The wait that a server asks for, ns, as long as it is believed. Absent where it asks for none that can be understood.
pub(crate) fn asked_wait(retry_after: &str, now_s: f64) -> Option<Ns> {
    asked(retry_after, now_s).map(bounded)
}

/// To the millisecond.
fn bounded(seconds: f64) -> Ns {
    (seconds.min(RETRY_AFTER_MAX) * 1e3).round() as Ns * 1_000_000
}

/// What `Retry-After` asks for, seconds: a number, or the time until a date (RFC 9110, 10.2.3). A number should be whole, and some servers
/// give a fraction. A date that has passed asks for no wait.
fn asked(text: &str, now_s: f64) -> Option<f64> {
    let text = text.trim();
    let number = || text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    number().or_else(|| Some((date(text)? as f64 - now_s).max(0.0)))
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A date of HTTP in any of its three forms (RFC 9110, 5.6.7), as seconds since 1970. The name of the day is not looked at.
///
/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`
fn date(text: &str) -> Option<i64> {
    let mut words = text.split([' ', ',', '-']).filter(|word| !word.is_empty());
    words.next().filter(|day| day.chars().all(|letter| letter.is_ascii_alphabetic()))?;
    let (mut month, mut clock, mut numbers) = (None, None, Vec::new());
    for word in words {
        if let Some(place) = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(word)) {
            month = Some(place as i64 + 1);
        } else if word.contains(':') {
            clock = Some(word);
        } else if let Ok(number) = word.parse::<u16>() {
            numbers.push(i64::from(number));
        } else if !word.eq_ignore_ascii_case("gmt") && !word.eq_ignore_ascii_case("utc") {
            return None;
        }
    }
    let [day @ 1..=31, year] = numbers[..] else { return None };
    // Two digits of the year are of this century or of the end of the last one.
    let year = if year < 70 {
        year + 2000
    } else if year < 100 {
        year + 1900
    } else {
        year
    };
    let parts: Vec<i64> =
        clock?.split(':').map(|part| part.parse::<u8>().map(i64::from)).collect::<Result<_, _>>().ok()?;
    let [hour @ 0..24, minute @ 0..60, second @ 0..=60] = parts[..] else { return None };
    Some(days(year, month?, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar (Howard Hinnant, `days_from_civil`). The year begins in March, so that the leap
/// day is its last.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Ns = 1_000_000_000;
    /// Sunday, 6 November 1994, 08:49:37.
    const THEN: f64 = 784_111_777.0;

    #[test]
    fn a_wait_is_what_the_server_asks_for_and_never_longer_than_the_time_limit() {
        for (times, asked, timeout, expected) in [
            (1, None, 600, SECOND / 4),
            (2, None, 600, SECOND / 2),
            (9, None, 600, 32 * SECOND),
            (9, None, 5, 5 * SECOND),
            (1, Some("3"), 600, 3 * SECOND),
            (1, Some("0"), 600, 0),
            (1, Some("1.5"), 600, 3 * SECOND / 2),
            (1, Some("0.0625"), 600, 63 * SECOND / 1000),
            (1, Some(" 30 "), 5, 5 * SECOND),
            (1, Some("7200"), 600, 60 * SECOND),
            (1, Some("1e300"), 600, 60 * SECOND),
            (1, Some("Sun, 06 Nov 1994 08:49:41 GMT"), 600, 4 * SECOND),
            (1, Some("Sun, 06 Nov 1994 08:49:30 GMT"), 600, 0),
            (1, Some("Mon, 07 Nov 1994 08:49:37 GMT"), 600, 60 * SECOND),
            (1, Some("soon"), 600, SECOND / 4),
            (1, Some("-3"), 600, SECOND / 4),
            (1, Some("inf"), 600, SECOND / 4),
            (1, Some("NaN"), 600, SECOND / 4),
        ] {
            let wait = ResendWait::before(times, asked, timeout * SECOND, THEN);
            assert_eq!(wait.ns, expected, "{times} {asked:?} {timeout}");
        }
        assert_eq!((asked_wait("2.5", THEN), asked_wait("later", THEN)), (Some(5 * SECOND / 2), None));
    }

    #[test]
    fn a_wait_that_is_shorter_than_what_was_asked_for_says_so() {
        let words = |asked: &str| ResendWait::before(1, Some(asked), 5 * SECOND, THEN).words();
        assert_eq!(words("3"), "in 3 s");
        assert_eq!(words("30"), "in 5 s (it asks for 30 s, and a wait is at most --timeout and at most 60 s)");
        assert_eq!(
            words("Sun, 06 Nov 1994 08:50:37 GMT"),
            "in 5 s (it asks for 60 s, and a wait is at most --timeout and at most 60 s)"
        );
    }

    #[test]
    fn a_date_is_read_in_each_of_its_forms() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "sun, 6 nov 1994 08:49:37 gmt",
        ] {
            assert_eq!(date(text), Some(THEN as i64), "{text}");
        }
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(date("Thu, 29 Feb 2024 23:59:60 GMT"), Some(1_709_251_200));
        assert_eq!(date("Tue, 01 Mar 2033 00:00:00 GMT"), Some(1_993_248_000));
        for text in [
            "",
            "Sun",
            "06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:49:37 PST",
            "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sun, 06 1994 08:49:37 GMT",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }
}
