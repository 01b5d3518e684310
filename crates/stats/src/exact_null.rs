//! Exact null distributions of the rank statistics: U, signed rank, inversions.
//!
//! In:  sizes without ties.  Out: probabilities of 0, 1, 2, ...
//! Not here: the statistics, and the normal approximations beyond these sizes.
//!
//! Every distribution is built from means of shifted distributions: only positive terms, no count that could overflow, so the last
//! tail keeps its digits.

/// Probabilities of the Mann-Whitney U for arms of `m` and `n` without ties. `O(m^2 n^2)`.
pub(crate) fn u_statistic(m: usize, n: usize) -> Vec<f64> {
    // The largest of i + j values comes from the first arm with probability i / (i + j). It then beats all j of the second.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        let mut next: Vec<Vec<f64>> = Vec::with_capacity(n + 1);
        next.push(vec![1.0]);
        for j in 1..=n {
            let mut p = vec![0.0; i * j + 1];
            let first = i as f64 / (i + j) as f64;
            for (u, q) in row[j].iter().enumerate() {
                p[u + j] += first * q;
            }
            for (u, q) in next[j - 1].iter().enumerate() {
                p[u] += (1.0 - first) * q;
            }
            next.push(p);
        }
        row = next;
    }
    row.pop().unwrap_or_default()
}

/// Probabilities of the sum of positive ranks of `n` differences without ties and zeros.
pub(crate) fn signed_rank(n: usize) -> Vec<f64> {
    let mut p = vec![1.0];
    for rank in 1..=n {
        let mut next = vec![0.0; p.len() + rank];
        for (w, q) in p.iter().enumerate() {
            next[w] += 0.5 * q;
            next[w + rank] += 0.5 * q;
        }
        p = next;
    }
    p
}

/// Probabilities of the number of inversions of a random order of `n` values.
pub(crate) fn inversions(n: usize) -> Vec<f64> {
    let mut p = vec![1.0];
    for k in 2..=n {
        // The k-th value is before 0 to k - 1 of the others, each equally likely.
        let mut next = vec![0.0; p.len() + k - 1];
        for (inversions, q) in p.iter().enumerate() {
            for added in 0..k {
                next[inversions + added] += q / k as f64;
            }
        }
        p = next;
    }
    p
}

/// Twice the smaller tail at `k`, at most 1.
pub(crate) fn two_sided(p: &[f64], k: usize) -> f64 {
    let k = k.min(p.len() - 1);
    let lower: f64 = p[..=k].iter().sum();
    let upper: f64 = p[k..].iter().rev().sum();
    (2.0 * lower.min(upper)).min(1.0)
}
