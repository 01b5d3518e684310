//! First-run effect: is the first run after a change of arm or model unlike the others of its arm?
//!
//! In:  cell numbers (arm x model) and values in order of time.  Out: positions of the runs to flag.
//! Not here: why (a cold page cache, a cold chip), and any removal.

/// Positions whose cell differs from the one before and whose value lies outside Tukey's fences of the cell's *other* runs.
///
/// The first run of all counts as a change. NaN values are skipped. A cell with fewer than three other values is not judged.
pub fn first_run_effects(cells: &[usize], values: &[f64]) -> Vec<usize> {
    let _ = (cells, values);
    todo!()
}
