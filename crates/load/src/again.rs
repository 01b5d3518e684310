//! When something that was refused for now is sent again: requests of a load, and questions before it.
//!
//! In:  `Retry-After`, how often it was sent again, the time limit of a request.  Out: [`ResendWait`].
//! Not here: sending (see `engine` and `session`), whether it is sent again at all.

use sparkbench_host::net::Ns;

/// Longest wait that `Retry-After` is believed, seconds.
const RETRY_AFTER_MAX: u64 = 60;
/// Wait before something is sent again where the server says nothing, ns. It doubles.
const RETRY_WAIT: Ns = 250_000_000;

/// A wait before something is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResendWait {
    /// Its length. Never longer than the time limit of a request.
    pub ns: Ns,
    /// What the server asked for, seconds.
    asked_s: Option<u64>,
}

impl ResendWait {
    /// Before the sending number `times` after the first, counted from 1.
    pub(crate) fn before(times: u32, retry_after: Option<&str>, timeout: Ns) -> Self {
        let asked_s: Option<u64> = retry_after.and_then(|text| text.trim().parse().ok());
        let wait =
            asked_s.map_or(RETRY_WAIT << times.min(8) >> 1, |seconds| seconds.min(RETRY_AFTER_MAX) * 1_000_000_000);
        Self { ns: wait.min(timeout), asked_s }
    }

    /// `in 5 s (it asks for 30 s, and a wait is at most --timeout and at most 60 s)`, as the end of a sentence about the server.
    pub(crate) fn words(self) -> String {
        let seconds = self.ns as f64 / 1e9;
        match self.asked_s.filter(|asked| *asked as f64 > seconds) {
            Some(asked) => format!(
                "in {seconds} s (it asks for {asked} s, and a wait is at most --timeout and at most {RETRY_AFTER_MAX} s)"
            ),
            None => format!("in {seconds} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Ns = 1_000_000_000;

    #[test]
    fn a_wait_is_what_the_server_asks_for_and_never_longer_than_the_time_limit() {
        for (times, asked, timeout, expected) in [
            (1, None, 600, SECOND / 4),
            (2, None, 600, SECOND / 2),
            (9, None, 600, 32 * SECOND),
            (9, None, 5, 5 * SECOND),
            (1, Some("3"), 600, 3 * SECOND),
            (1, Some("0"), 600, 0),
            (1, Some(" 30 "), 5, 5 * SECOND),
            (1, Some("7200"), 600, 60 * SECOND),
            (1, Some("soon"), 600, SECOND / 4),
        ] {
            assert_eq!(ResendWait::before(times, asked, timeout * SECOND).ns, expected, "{times} {asked:?} {timeout}");
        }
    }

    #[test]
    fn a_wait_that_is_shorter_than_what_was_asked_for_says_so() {
        assert_eq!(ResendWait::before(1, Some("3"), 5 * SECOND).words(), "in 3 s");
        let words = ResendWait::before(1, Some("30"), 5 * SECOND).words();
        assert_eq!(words, "in 5 s (it asks for 30 s, and a wait is at most --timeout and at most 60 s)");
    }
}
