//! Clocks of logs that look like network addresses.
//!
//! In:  lines.  Out: whether four numbers with dots are a time.
//! Not here: addresses (see `shapes`), replacing.
//!
//! llama.cpp prints minutes, seconds, milliseconds and microseconds since its start, `10.12.118.200 I slot ...` (`common/log.cpp`). A text may
//! hold a list of machines too. So a time is believed only with the letter of its level behind it, or between two times of the same clock
//! that cannot be addresses. A time that is masked costs little. An address that is not masked is published.

/// Letters of levels: debug, information, warning, error.
const LEVELS: &[u8] = b"DIWE";

/// Signs that a launcher puts between its own words and the line: those of compose and of the journal.
const LAUNCHERS: &[&str] = &["| ", "]: "];

/// Letters behind the level within which the part of the program is named, with a colon.
const PART: usize = 60;

/// Most times in a row that may be addresses. A clock shows one in fifty lines.
const DOUBTFUL: usize = 3;

/// Minutes, seconds, milliseconds and microseconds as a clock writes them.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    /// Bytes of it.
    length: usize,
    micros: u64,
    /// No address has such numbers.
    sure: bool,
}

/// Whether the four numbers at a place are a time: first in their line, the letter of a level and a part of the program behind them.
pub(super) fn is_time(text: &str, start: usize, end: usize) -> bool {
    let from = text.get(..start).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |at| at + 1);
    let rest = text.get(from..).unwrap_or_default();
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let (Some(value), Some(before), Some(behind)) =
        (text.get(start..end), text.get(from..start), line.get(end.saturating_sub(from)..))
    else {
        return false;
    };
    let first = before.trim().is_empty() || LAUNCHERS.iter().any(|sign| before.ends_with(sign));
    let levelled = matches!(behind.as_bytes(), [b' ', level, b' ', ..] if LEVELS.contains(level))
        && behind.chars().take(PART).any(|c| c == ':');
    // What is named a second time is more than the time of a line.
    first && levelled && stamp(value).is_some() && line.matches(value).count() == 1
}

/// How many bytes in front of each row are a clock, as far as its neighbours prove it.
pub(super) fn proven(rows: &[&str]) -> Vec<usize> {
    let mut lengths = vec![0; rows.len()];
    // The last sure time, and the doubtful ones since.
    let mut last: Option<u64> = None;
    let mut waiting: Vec<(usize, Stamp)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let Some(stamp) = stamp(row.split([' ', '\t']).next().unwrap_or_default()) else { continue };
        if !stamp.sure {
            waiting.push((place, stamp));
            continue;
        }
        let doubtful = std::mem::take(&mut waiting);
        let times = last.into_iter().chain(doubtful.iter().map(|(_, stamp)| stamp.micros)).chain([stamp.micros]);
        if last.is_some() && doubtful.len() <= DOUBTFUL && times.is_sorted() {
            for (place, stamp) in doubtful {
                if let Some(length) = lengths.get_mut(place) {
                    *length = stamp.length;
                }
            }
        }
        last = Some(stamp.micros);
    }
    lengths
}

/// One word as such a time.
fn stamp(word: &str) -> Option<Stamp> {
    let parts: Vec<&str> = word.split('.').collect();
    let [minutes, seconds, millis, micros] = parts.as_slice() else { return None };
    let digits = parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !digits || minutes.len() > 6 || (seconds.len(), millis.len(), micros.len()) != (2, 3, 3) {
        return None;
    }
    let number = |part: &str| part.parse::<u64>().ok();
    let seconds_of_it = number(seconds).filter(|seconds| *seconds < 60)?;
    let whole = number(minutes)? * 60 + seconds_of_it;
    let of_address = |part: &&str| part.parse::<u8>().is_ok() && (part.len() == 1 || !part.starts_with('0'));
    Some(Stamp {
        length: word.len(),
        micros: (whole * 1_000 + number(millis)?) * 1_000 + number(micros)?,
        sure: !parts.iter().all(of_address),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> bool {
        let start = text.find("10.12.118.200").unwrap();
        is_time(text, start, start + "10.12.118.200".len())
    }

    #[test]
    fn a_time_with_the_letter_of_its_level_is_no_address() {
        for text in [
            "10.12.118.200 I slot print_timing: id  0 | task 0 | prompt eval time =    1220.04 ms",
            "10.12.118.199 I srv  init: x\n10.12.118.200 W srv  update: y\n",
            "server-1  | 10.12.118.200 E srv  send: no slot",
            "Nov 28 11:18:29 box llama[7]: 10.12.118.200 D que  post: new task",
        ] {
            assert!(found(text), "{text}");
        }
        for text in [
            "10.12.118.200",
            "10.12.118.200 node1",
            "10.12.118.200 I rebooted it",
            "10.12.118.200 - - [28/Nov/2026] \"GET /v1\" 200",
            "listening on 10.12.118.200 I srv  init: x",
            "http://10.12.118.200 I srv  init: x",
            "10.12.118.200 I srv  listening: http://10.12.118.200:8000",
        ] {
            assert!(!found(text), "{text}");
        }
        let text = "10.120.118.200 I srv  init: x";
        assert!(!is_time(text, 0, "10.120.118.200".len()), "no clock shows 120 seconds");
    }

    #[test]
    fn a_time_between_two_of_its_clock_is_no_address() {
        assert_eq!(proven(&["10.12.118.190", "text", "10.12.300.000 x"]), [0, 0, 0]);
        assert_eq!(proven(&["9.02.797.324 a", "10.12.118.200 b", "more", "10.12.118.900 c"]), [0, 13, 0, 0]);
        // The clock goes back, nothing follows it, or there are as many as in a list of machines.
        assert_eq!(proven(&["11.02.797.324 a", "10.12.118.200 b", "12.00.000.000 c"]), [0, 0, 0]);
        assert_eq!(proven(&["9.02.797.324 a", "10.12.118.200 b", "10.12.118.201 c"]), [0, 0, 0]);
        let list =
            ["9.02.797.324", "10.12.118.200", "10.12.118.201", "10.12.118.202", "10.12.118.203", "11.00.000.000"];
        assert_eq!(proven(&list), [0; 6]);
    }
}
