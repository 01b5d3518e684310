//! Rows in order of time, each of them once.
//!
//! In:  rows as they stand in a source, with their times as it writes them.  Out: the places of the rows that count, in order of time.
//! Not here: what a row holds.

use std::collections::HashSet;
use std::hash::Hash;

use sparkbench_model::Instant;
use sparkbench_text::plural::counted;

/// Rows that count.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InOrder {
    /// Places in the source, counted from 0, in order of time. Rows of one time keep their order.
    pub rows: Vec<usize>,
    /// What was done to the order, a sentence each.
    pub said: Vec<String>,
}

/// Orders rows by their times. `rows`: what makes two rows copies of each other, and the time. A row without a time has no place, unless no
/// row has one.
pub(super) fn in_order<'a, K: Eq + Hash>(rows: impl IntoIterator<Item = (K, &'a str)>) -> InOrder {
    let mut found = InOrder::default();
    let mut seen = HashSet::new();
    let (mut all, mut kept) = (0, Vec::new());
    for (row, (key, time)) in rows.into_iter().enumerate() {
        all += 1;
        if seen.insert(key) {
            kept.push((row, time));
        }
    }
    if kept.len() < all {
        let copies = counted(all - kept.len(), "copy of a row is", "copies of rows are");
        found.said.push(format!("{copies} counted once"));
    }
    let timed: Vec<(usize, &str)> = kept.iter().copied().filter(|(_, time)| !time.is_empty()).collect();
    if timed.is_empty() {
        found.rows = kept.into_iter().map(|(row, _)| row).collect();
        return found;
    }
    let times = match moments(&timed) {
        Ok(times) => times,
        Err(unlike) => {
            found.said.push(format!("the rows keep their order, because '{unlike}' is not a time like the others (2026-01-31T23:59:59Z, or a number)"));
            found.rows = kept.into_iter().map(|(row, _)| row).collect();
            return found;
        }
    };
    if timed.len() < kept.len() {
        let timeless = counted(kept.len() - timed.len(), "row without a time is", "rows without a time are");
        found.said.push(format!("{timeless} left out"));
    }
    let mut order: Vec<usize> = (0..timed.len()).collect();
    order.sort_by(|a, b| times[*a].total_cmp(&times[*b]));
    if !order.is_sorted() {
        found.said.push("the rows are not in order of time, and were put in order".to_owned());
    }
    found.rows = order.into_iter().map(|at| timed[at].0).collect();
    found
}

/// Times as numbers that have their order: all of them numbers, or all of them moments. Else the first text that is not like those before it.
fn moments<'a>(timed: &[(usize, &'a str)]) -> Result<Vec<f64>, &'a str> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
    // Milliseconds of any year that has four digits are exact.
    let moment = |text: &str| Instant::parse(text).map(|moment| moment.0 as f64);
    let all = |of: &dyn Fn(&str) -> Option<f64>| -> Result<Vec<f64>, usize> {
        timed.iter().enumerate().map(|(at, (_, text))| of(text).ok_or(at)).collect()
    };
    all(&number).or_else(|numbers| all(&moment).map_err(|moments| timed[numbers.max(moments)].1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[&'static str]) -> (Vec<usize>, Vec<String>) {
        let found = in_order(times.iter().enumerate().map(|(row, time)| (row, *time)));
        (found.rows, found.said)
    }

    #[test]
    fn rows_come_in_order_of_time_and_those_of_one_time_keep_theirs() {
        assert_eq!(of(&["2026-01-01", "2026-01-02", "2026-01-02"]), (vec![0, 1, 2], vec![]));
        let (rows, said) =
            of(&["2026-01-03T00:00:00Z", "2026-01-02 12:00:00", "2026-01-03T02:00:00+02:00", "2026-01-01"]);
        assert_eq!(rows, [3, 1, 0, 2]);
        assert_eq!(said, ["the rows are not in order of time, and were put in order"]);
    }

    #[test]
    fn numbers_are_ordered_by_size_and_not_by_their_digits() {
        assert_eq!(of(&["9", "10", "11"]), (vec![0, 1, 2], vec![]));
        assert_eq!(of(&["10", "9", "1e1", "-2.5"]).0, [3, 1, 0, 2]);
        assert_eq!(of(&["20260201_120000", "20260101_120000"]).0, [1, 0]);
    }

    #[test]
    fn times_that_are_none_leave_the_order_of_the_rows() {
        for times in [&["monday", "tuesday"][..], &["2026-01-02", "2026-01-01", "soon"], &["5", "2026-01-01"]] {
            let (rows, said) = of(times);
            assert_eq!(rows, (0..times.len()).collect::<Vec<_>>());
            assert!(said.len() == 1 && said[0].starts_with("the rows keep their order"), "{said:?}");
        }
        assert!(of(&["2026-01-02", "2026-01-01", "soon"]).1[0].contains("'soon'"));
        assert_eq!(of(&["", ""]), (vec![0, 1], vec![]));
    }

    #[test]
    fn a_row_without_a_time_has_no_place_among_others() {
        let (rows, said) = of(&["2", "", "1"]);
        assert_eq!(rows, [2, 0]);
        assert_eq!(said[0], "1 row without a time is left out");
    }

    #[test]
    fn copies_count_once() {
        let found = in_order([("a", "1"), ("b", "2"), ("a", "1"), ("c", "1"), ("a", "1")]);
        assert_eq!(found.rows, [0, 3, 1]);
        assert_eq!(found.said[0], "2 copies of rows are counted once");
    }
}
