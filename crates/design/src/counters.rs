//! Words of paths that nobody chose: counters, seeds, hashes, dates and times.
//!
//! In:  words of a name.  Out: the same without them.
//! Not here: words that a setting says (see `words`).

/// Words before a number that count runs. Nothing else does: `v1`, `gpu0` and `test1` are words.
const COUNTERS: &[&str] =
    &["run", "r", "rep", "repeat", "iter", "iteration", "trial", "try", "pass", "attempt", "seed"];
/// Words that say what kind of file it is.
const KINDS: &[&str] = &[
    "bench",
    "benchmark",
    "benchmarks",
    "benchmarking",
    "result",
    "results",
    "output",
    "outputs",
    "out",
    "report",
    "reports",
    "summary",
    "metrics",
    "raw",
    "data",
    "log",
    "logs",
    "profile",
    "export",
];
/// Fewest letters of a hash.
const HASH: usize = 7;

/// Words of a name without counters, seeds, hashes, dates, times and kinds of files. Bare numbers stay.
pub(crate) fn without(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let rest = words.get(at..).unwrap_or_default();
        let gone = dated(rest).max(counted(rest)).max(usize::from(is_noise(word)));
        if gone == 0 {
            kept.push(word.clone());
        }
        at += gone.max(1);
    }
    kept
}

/// Words at the start that count: `run3`, `iter 12`, `00001 of 00005`.
fn counted(words: &[String]) -> usize {
    let number = |word: Option<&String>| word.is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(first) = words.first() else { return 0 };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    if COUNTERS.contains(&stem) && stem.len() < first.len() {
        return 1;
    }
    if COUNTERS.contains(&first.as_str()) && number(words.get(1)) {
        return 2;
    }
    let part = number(words.first()) && words.get(1).is_some_and(|word| word == "of") && number(words.get(2));
    if part { 3 } else { 0 }
}

/// Words at the start that are a date or a moment.
fn dated(words: &[String]) -> usize {
    let digits = |place: usize, length: usize| {
        words.get(place).is_some_and(|word| word.len() == length && word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let within = |place: usize, low: u32, high: u32| {
        words.get(place).and_then(|word| word.parse::<u32>().ok()).is_some_and(|value| (low..=high).contains(&value))
    };
    let year = |place: usize| digits(place, 4) && within(place, 2000, 2099);
    let day = |a: usize, b: usize| digits(a, 2) && digits(b, 2) && within(a, 1, 31) && within(b, 1, 31);
    let taken = if year(0) && day(1, 2) || day(0, 1) && year(2) {
        3
    } else if words.first().is_some_and(|word| is_moment(word)) {
        1
    } else {
        return 0;
    };
    // A time of day behind the date: `143639`, `14 36 39`, `T143639Z`.
    if digits(taken, 6) && within(taken, 0, 235_959) || digits(taken, 4) && within(taken, 0, 2359) {
        taken + 1
    } else if digits(taken, 2) && digits(taken + 1, 2) && within(taken, 0, 23) && within(taken + 1, 0, 59) {
        taken + 2 + usize::from(digits(taken + 2, 2))
    } else {
        taken
    }
}

/// `20251211`, `20251211t143639z`, seconds or milliseconds since 1970.
fn is_moment(word: &str) -> bool {
    let (date, rest) = word.split_at_checked(8).unwrap_or((word, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = rest.trim_start_matches('t').trim_end_matches('z');
    let is_date = date.len() == 8
        && digits(date)
        && (date.starts_with("20") || date.starts_with("19"))
        && (rest.is_empty() || digits(rest) && [4, 6].contains(&rest.len()));
    let since_1970 = digits(word)
        && [10, 13].contains(&word.len())
        && (word.starts_with("16") || word.starts_with("17") || word.starts_with("18"));
    is_date || since_1970
}

fn is_noise(word: &str) -> bool {
    KINDS.contains(&word) || is_hash(word)
}

/// Hexadecimal digits with letters among them, or a mixture that nobody would type.
fn is_hash(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let hexadecimal = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    hexadecimal && word.len() >= HASH && letters > 0 && digits > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str) -> Vec<String> {
        without(name.split(' ').map(str::to_owned).collect())
    }

    #[test]
    fn counters_dates_and_hashes_are_nobodys_choice() {
        for name in [
            "run1",
            "run 12",
            "rep3",
            "seed42",
            "20251211 143639",
            "2025 09 29 06 36 59",
            "09 01 2026",
            "20251211t143639z",
            "1764339600",
            "00001 of 00005",
            "3f9c2ab81d",
            "benchmark results",
        ] {
            assert_eq!(kept(name), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn words_that_a_person_chose_stay() {
        for name in ["before", "v1", "gpu0", "test1", "0821", "1 2", "vulkan radv", "lhl tune tile", "facade", "decade"]
        {
            assert_eq!(kept(name).join(" "), name);
        }
    }
}
