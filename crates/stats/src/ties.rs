//! Ranks of values with ties.
//!
//! In:  values.  Out: midranks and the tie correction of rank tests.
//! Not here: the tests.

/// Midranks (from 1) in the order of the input, and the sum of t^3 - t over groups of t tied values.
pub(crate) fn midranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut by_value: Vec<usize> = (0..values.len()).collect();
    by_value.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let (mut ranks, mut ties, mut before) = (vec![0.0; values.len()], 0.0, 0.0);
    for group in by_value.chunk_by(|&i, &j| values[i] == values[j]) {
        let t = group.len() as f64;
        for &i in group {
            ranks[i] = before + 0.5 * (t + 1.0);
        }
        ties += t * t * t - t;
        before += t;
    }
    (ranks, ties)
}

/// Sizes of groups of equal values in an ascending sample, groups of one included.
pub(crate) fn groups(sorted: &[f64]) -> impl Iterator<Item = usize> {
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len)
}
