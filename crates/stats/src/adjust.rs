//! p-values adjusted for a stated family: Bonferroni, Holm, Benjamini-Hochberg.
//!
//! In:  p-values in any order. Absent ones are not members of the family.
//! Out: adjusted p in the order of the input, monotone and capped at 1. Absent stays absent.
//! Not here: which tests form a family.
//!
//! Source: Holm, *Scand. J. Stat.* 6 (1979). Benjamini and Hochberg, *JRSS B* 57 (1995).

/// Every p times the size of the family.
pub fn bonferroni(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let family = p.iter().flatten().count() as f64;
    p.iter().map(|p| p.map(|p| (p * family).min(1.0))).collect()
}

/// Holm's step-down method.
pub fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let ranked = ranked(p);
    let (mut adjusted, mut floor) = (vec![None; p.len()], 0.0_f64);
    for (rank, &(index, value)) in ranked.iter().enumerate() {
        floor = floor.max(value * (ranked.len() - rank) as f64).min(1.0);
        adjusted[index] = Some(floor);
    }
    adjusted
}

/// Benjamini and Hochberg's step-up method.
pub fn benjamini_hochberg(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let ranked = ranked(p);
    let (mut adjusted, mut ceiling) = (vec![None; p.len()], 1.0_f64);
    for (rank, &(index, value)) in ranked.iter().enumerate().rev() {
        ceiling = ceiling.min(value * ranked.len() as f64 / (rank + 1) as f64);
        adjusted[index] = Some(ceiling);
    }
    adjusted
}

/// Members of the family with their place in the input, smallest p first.
fn ranked(p: &[Option<f64>]) -> Vec<(usize, f64)> {
    let mut members: Vec<_> = p.iter().enumerate().filter_map(|(i, p)| Some((i, (*p)?))).collect();
    members.sort_by(|a, b| a.1.total_cmp(&b.1));
    members
}
