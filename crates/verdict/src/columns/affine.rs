//! Straight lines: `a + b x` within the rounding of both columns (rule P7).
//!
//! In:  two columns.  Out: [`Derived`], where every row lies on the line.
//! Not here: products, the choice of columns.

use super::column::Column;
use super::{CHANCE, Derived, MIN_ROWS, Relation, SPREAD_OVER_ROUNDING};
use crate::number::significant;

/// `y = a + b x` over all runs that have both, residuals within the rounding of both columns.
pub(super) fn affine(runs: usize, y: &Column, x: &Column) -> Option<Derived> {
    let rows: Vec<usize> = (0..runs).filter(|i| y.values[*i].is_some() && x.values[*i].is_some()).collect();
    if rows.len() < MIN_ROWS || x.distinct(&rows) < MIN_ROWS || y.distinct(&rows) < MIN_ROWS {
        return None;
    }
    let spread = x.spread(&rows).min(y.spread(&rows));
    // Two numbers are fitted, so two rows carry no information.
    let chance = (4.0 / spread.max(1.0)).min(1.0).powi(i32::try_from(rows.len()).unwrap_or(i32::MAX) - 2);
    if spread < SPREAD_OVER_ROUNDING || chance > CHANCE {
        return None;
    }
    let points: Vec<(f64, f64)> = rows.iter().filter_map(|i| x.values[*i].zip(y.values[*i])).collect();
    let (intercept, slope) = line(&points)?;
    let residual = points.iter().map(|(x, y)| (y - intercept - slope * x).abs()).fold(0.0, f64::max);
    let allowed = points.iter().map(|(a, b)| y.error(*b) + slope.abs() * x.error(*a)).fold(f64::INFINITY, f64::min);
    (residual <= allowed && slope != 0.0).then(|| {
        let digits = |v: f64| significant(v, 6);
        let rule = if slope < 0.0 && intercept > 0.0 {
            format!("{} = {} x ({} - {})", y.name, significant(-slope, 4), digits(-intercept / slope), x.name)
        } else {
            format!(
                "{} = {} {} {} x {}",
                y.name,
                digits(intercept),
                if slope < 0.0 { "-" } else { "+" },
                significant(slope.abs(), 4),
                x.name
            )
        };
        let relation = Relation::Affine { slope, intercept, residual };
        let n = rows.len();
        Derived {
            column: y.name.clone(),
            from: vec![x.name.clone()],
            rule,
            relation,
            rows: n,
            matching: n,
            exceptions: Vec::new(),
        }
    })
}

/// Least squares about the means. `None` without spread.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let (sxx, sxy) =
        points.iter().fold((0.0, 0.0), |(xx, xy), (x, y)| (xx + (x - mx) * (x - mx), xy + (x - mx) * (y - my)));
    let slope = (sxx > 0.0).then(|| sxy / sxx)?;
    Some((my - slope * mx, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_exact_points_is_found_exactly() {
        assert_eq!(line(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), Some((1.0, 2.0)));
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
