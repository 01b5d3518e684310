//! Numbers of things, and lists of them.
//!
//! In:  how many, and what.  Out: `1 run`, `2 runs`.

/// `1 run`, `2 runs`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `one run`, `2 runs`.
pub fn count_in_words(n: usize, noun: &str) -> String {
    if n == 1 { format!("one {noun}") } else { count(n, noun) }
}

/// The number with the words for one of them or for several: `1 statement is`, `2 statements are`.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [init @ .., last] => {
            format!("{} and {}", init.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_said_otherwise_than_none_and_several() {
        assert_eq!([0, 1, 2].map(|n| count(n, "run")), ["0 runs", "1 run", "2 runs"]);
        assert_eq!([0, 1, 2].map(|n| count_in_words(n, "fault")), ["0 faults", "one fault", "2 faults"]);
        assert_eq!([1, 2].map(|n| counted(n, "loss is", "losses are")), ["1 loss is", "2 losses are"]);
    }

    #[test]
    fn lists_read_as_a_person_would_say_them() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }
}
