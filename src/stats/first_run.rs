//! First-run effect: is the first run after a change of arm or model unlike the others of its arm?
//!
//! In:  cell numbers (arm x model) and values in order of time.  Out: positions of the runs to flag.
//! Not here: why (a cold page cache, a cold chip), and any removal.

use super::outlier::fences;
use super::quantile::sorted;

/// Other runs that a cell must have before its first run is judged by them, as for any outlier rule.
const MIN_OTHERS: usize = 3;

/// Positions whose cell differs from the one before and whose value lies outside Tukey's fences of the cell's *other* runs.
///
/// The first run of all counts as a change. Values that are not finite are skipped. A cell with fewer than three other values is not
/// judged. `O(changes x n log n)`.
pub fn first_run_effects(cells: &[usize], values: &[f64]) -> Vec<usize> {
    let n = cells.len().min(values.len());
    (0..n)
        .filter(|&i| i == 0 || cells[i] != cells[i - 1])
        .filter(|&i| values[i].is_finite())
        .filter(|&i| {
            let others: Vec<f64> = (0..n)
                .filter(|&j| j != i && cells[j] == cells[i] && values[j].is_finite())
                .map(|j| values[j])
                .collect();
            others.len() >= MIN_OTHERS
                && fences(&sorted(&others)).is_some_and(|(low, high)| !(low..=high).contains(&values[i]))
        })
        .collect()
}
