//! Comparison of two arms within complete blocks, and of loads within arms.
//!
//! In:  one difference a block, on the scale of the comparison.  Out: [`Contrast`], [`Interaction`].
//! Not here: which runs are a block, and which design has blocks (see `verdict`).
//!
//! Launches of one block are alike, so their difference has less spread than either. The pair alone decides. Where the arms kept one order
//! in all blocks, a straight drift adds the same to every difference. The slope of the block means says how much.
//!
//! Source: Satterthwaite, *Biometrics Bull.* 2 (1946), for degrees of freedom. Fisher, *The Design of Experiments* (1935), for blocks.

use super::contrast::Contrast;
use super::dist;
use super::sample::{mean, sd, sum};

/// Mean sign of the positions from which on the arms kept one order.
const ONE_ORDER: f64 = 0.8;

/// Fewest blocks that have a slope with a standard error.
const LEAST_FOR_SLOPE: usize = 3;

/// Size of a correlation above which two metrics may be one measurement.
const ONE_MEASUREMENT: f64 = 0.99;

/// How far the slope between them may be from 1 in size.
const ONE_SLOPE: f64 = 0.02;

/// One complete block of two arms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Candidate minus baseline.
    pub difference: f64,
    /// Mean of the block.
    pub mean: f64,
    /// Position of the candidate minus that of the baseline, over the arms of the block. With two arms 0.5 or -0.5. Unknown: 0.
    pub lead: f64,
}

/// The mean difference. Fewer than two blocks: absent.
pub fn paired(differences: &[f64]) -> Option<Contrast> {
    let n = differences.len() as f64;
    let contrast = Contrast { estimate: mean(differences), se: sd(differences)? / n.sqrt(), df: n - 1.0 };
    Some(contrast.clear_of_rounding(largest(differences.iter().copied())))
}

/// The same for blocks in order of time. A fixed order of the arms is corrected by the slope of the block means.
///
/// From three blocks on, where the mean sign of the lead is 0.8 or more in size. The variance of the correction is added.
pub fn in_blocks(blocks: &[Block]) -> Option<Contrast> {
    let differences: Vec<f64> = blocks.iter().map(|block| block.difference).collect();
    let plain = paired(&differences)?;
    let n = blocks.len();
    let signs = blocks.iter().map(|block| if block.lead == 0.0 { 0.0 } else { block.lead.signum() });
    if n < LEAST_FOR_SLOPE || (sum(signs) / n as f64).abs() < ONE_ORDER {
        return Some(plain);
    }
    let lead = sum(blocks.iter().map(|block| block.lead)) / n as f64;
    let points: Vec<(f64, f64)> = blocks.iter().enumerate().map(|(i, block)| (i as f64, block.mean)).collect();
    let slope = slope(&points)?;
    let (own, added) = (plain.se * plain.se, (lead * slope.se).powi(2));
    let spread = own + added;
    let df = if spread > 0.0 { spread * spread / (own * own / plain.df + added * added / slope.df) } else { plain.df };
    let corrected = Contrast { estimate: plain.estimate - lead * slope.estimate, se: spread.sqrt(), df };
    Some(corrected.clear_of_rounding(largest(blocks.iter().flat_map(|block| [block.difference, block.mean]))))
}

/// Slope of a straight line through at least three points, with its standard error. All at one place: absent.
fn slope(points: &[(f64, f64)]) -> Option<Contrast> {
    let n = points.len() as f64;
    let centre = |of: fn(&(f64, f64)) -> f64| mean(&points.iter().map(of).collect::<Vec<_>>());
    let (x0, y0) = (centre(|point| point.0), centre(|point| point.1));
    let sxx = sum(points.iter().map(|(x, _)| (x - x0).powi(2)));
    if sxx <= 0.0 {
        return None;
    }
    let estimate = sum(points.iter().map(|(x, y)| (x - x0) * (y - y0))) / sxx;
    let left = sum(points.iter().map(|(x, y)| (y - y0 - estimate * (x - x0)).powi(2)));
    Some(Contrast { estimate, se: (left / (n - 2.0) / sxx).sqrt(), df: n - 2.0 })
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |most, x| most.max(x.abs()))
}

/// Whether the difference of two arms is another one at another load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interaction {
    /// Mean square of the loads over that of what is left. Infinite where nothing is left.
    pub f: f64,
    /// Loads less one.
    pub df1: f64,
    /// Loads less one, times blocks less one.
    pub df2: f64,
    /// p of one difference at all loads.
    pub p: f64,
    /// Column whose mean departs most from the mean of the others.
    pub departs_most: usize,
}

/// F test of arm by load against arm by load by block. Rows are blocks, columns are loads.
///
/// Fewer than two of either, rows of unequal length, or no difference between any two: absent.
pub fn interaction(differences: &[Vec<f64>]) -> Option<Interaction> {
    let (blocks, loads) = (differences.len(), differences.first()?.len());
    if blocks < 2 || loads < 2 || differences.iter().any(|row| row.len() != loads) {
        return None;
    }
    let columns: Vec<f64> =
        (0..loads).map(|load| mean(&differences.iter().map(|row| row[load]).collect::<Vec<_>>())).collect();
    let grand = mean(&columns);
    let departure = |load: usize| (columns[load] - grand).abs();
    let departs_most = (1..loads).fold(0, |most, load| if departure(load) > departure(most) { load } else { most });
    let between = blocks as f64 * sum(columns.iter().map(|column| (column - grand).powi(2)));
    let left = sum(differences.iter().flat_map(|row| {
        let own = mean(row) - grand;
        row.iter().zip(&columns).map(move |(d, column)| (d - own - column).powi(2))
    }));
    let (df1, df2) = ((loads - 1) as f64, ((loads - 1) * (blocks - 1)) as f64);
    // Squares that rounding alone makes are none.
    let cells = (blocks * loads) as f64;
    let rounding = cells * (8.0 * f64::EPSILON * largest(differences.iter().flatten().copied())).powi(2);
    let clear = |squares: f64| if squares <= rounding { 0.0 } else { squares };
    let (between, left) = (clear(between), clear(left));
    if between == 0.0 && left == 0.0 {
        return None;
    }
    let f = (between / df1) / (left / df2);
    Some(Interaction { f, df1, df2, p: dist::f_sf(f, df1, df2), departs_most })
}

/// Whether two metrics are one measurement, from the residuals of their logarithms within arms, in one order.
///
/// Their correlation is above 0.99 in size, and the line between them has a slope within 2 % of 1 or -1. The line is the one that does not
/// prefer either: its slope is the ratio of the standard deviations. Fewer than three, or no spread: no.
pub fn is_one_measurement(x: &[f64], y: &[f64]) -> bool {
    let n = x.len();
    if n < 3 || n != y.len() {
        return false;
    }
    let (Some(sx), Some(sy)) = (sd(x), sd(y)) else { return false };
    let (mx, my) = (mean(x), mean(y));
    let correlation = sum(x.iter().zip(y).map(|(x, y)| (x - mx) / sx * ((y - my) / sy))) / (n - 1) as f64;
    correlation.abs() > ONE_MEASUREMENT && (sy / sx - 1.0).abs() <= ONE_SLOPE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-9 * want.abs(), "{got} {want}");
    }

    fn blocks(differences: &[f64], means: &[f64], leads: &[f64]) -> Vec<Block> {
        let rows = differences.iter().zip(means).zip(leads);
        rows.map(|((&difference, &mean), &lead)| Block { difference, mean, lead }).collect()
    }

    const DIFFERENCES: [f64; 5] = [0.031, 0.012, 0.025, 0.019, 0.04];
    const MEANS: [f64; 5] = [4.60, 4.623, 4.631, 4.652, 4.66];

    // SciPy 1.17.1, ttest_1samp.
    #[test]
    fn paired_is_the_t_test_of_the_differences() {
        let contrast = paired(&DIFFERENCES).unwrap();
        close(contrast.estimate, 0.0254);
        close(contrast.se, 0.004_822_862_220_714_997);
        close(contrast.p(), 0.006_226_579_619_975_019);
        assert_eq!(contrast.df, 4.0);
        assert_eq!([paired(&[]), paired(&[0.1])], [None, None]);
    }

    // NumPy 2.4.6, and SciPy 1.17.1 linregress for the slope and its standard error.
    #[test]
    fn one_order_in_all_blocks_is_corrected_by_the_slope_of_their_means() {
        let contrast = in_blocks(&blocks(&DIFFERENCES, &MEANS, &[0.5; 5])).unwrap();
        close(contrast.estimate, 0.017_95);
        close(contrast.se, 0.004_876_730_462_102_661);
        close(contrast.df, 4.178_914_468_151_555);
        // The baseline ran second, so the drift has hidden as much.
        let contrast = in_blocks(&blocks(&DIFFERENCES, &MEANS, &[-0.5; 5])).unwrap();
        close(contrast.estimate, 0.0254 + 0.007_45);
    }

    #[test]
    fn orders_that_changed_or_that_nobody_knows_are_not_corrected() {
        let plain = paired(&DIFFERENCES);
        for leads in [[0.5, -0.5, 0.5, 0.5, 0.5], [0.0; 5], [0.5, 0.5, 0.5, -0.5, -0.5]] {
            assert_eq!(in_blocks(&blocks(&DIFFERENCES, &MEANS, &leads)), plain);
        }
        assert_eq!(in_blocks(&blocks(&DIFFERENCES[..2], &MEANS, &[0.5; 5])), paired(&DIFFERENCES[..2]));
    }

    #[test]
    fn a_straight_drift_alone_is_no_difference() {
        // The second arm of each block is half a block later.
        let at = |i: usize| 4.6 + 0.02 * i as f64;
        let means: Vec<f64> = (0..9).map(|i| at(i) + 0.005).collect();
        let contrast = in_blocks(&blocks(&[0.01; 9], &means, &[0.5; 9])).unwrap();
        assert_eq!((contrast.estimate, contrast.p()), (0.0, 1.0));
    }

    // statsmodels 0.15.0: anova_lm of ols("d ~ C(block) + C(load)"), as AnovaRM has it too.
    #[test]
    fn the_interaction_is_that_of_statsmodels() {
        let rows = [
            vec![0.021, 0.034, 0.012],
            vec![0.018, 0.041, 0.009],
            vec![0.025, 0.029, 0.017],
            vec![0.011, 0.052, 0.014],
            vec![0.03, 0.037, 0.002],
        ];
        let found = interaction(&rows).unwrap();
        close(found.f, 12.822_995_461_422_083);
        close(found.p, 0.003_196_146_328_202_314_3);
        assert_eq!((found.df1, found.df2, found.departs_most), (2.0, 8.0, 1));
    }

    #[test]
    fn one_difference_at_all_loads_is_no_interaction() {
        // Each block has its own difference, the same at each load but for rounding.
        let rows: Vec<Vec<f64>> = [0.1, 0.3, -0.2].map(|d: f64| vec![d, d + 0.1 - 0.1, d]).to_vec();
        assert_eq!(interaction(&rows), None);
        let apart: Vec<Vec<f64>> = [0.1, 0.3, -0.2].map(|d: f64| vec![d, d, d + 0.5]).to_vec();
        let found = interaction(&apart).unwrap();
        assert_eq!((found.f, found.p, found.departs_most), (f64::INFINITY, 0.0, 2));
    }

    #[test]
    fn an_interaction_needs_two_blocks_and_two_loads_that_are_complete() {
        assert_eq!(interaction(&[]), None);
        assert_eq!(interaction(&[vec![0.1, 0.2]]), None);
        assert_eq!(interaction(&[vec![0.1], vec![0.2]]), None);
        assert_eq!(interaction(&[vec![0.1, 0.2], vec![0.2]]), None);
    }

    #[test]
    fn two_metrics_are_one_where_both_correlation_and_slope_say_so() {
        let x: Vec<f64> = (0..20).map(|i| (f64::from(i) * 2.399).sin() * 0.02).collect();
        let of = |slope: f64, noise: f64| -> Vec<f64> {
            x.iter().enumerate().map(|(i, x)| slope * x + noise * (i as f64 * 1.7).cos()).collect()
        };
        for (slope, noise, one) in
            [(1.0, 0.0, true), (-1.0, 0.001, true), (1.015, 0.0, true), (1.03, 0.0, false), (-0.5, 0.0, false)]
        {
            assert_eq!(is_one_measurement(&x, &of(slope, noise)), one, "{slope} {noise}");
            assert_eq!(is_one_measurement(&of(slope, noise), &x), one, "{slope} {noise}, the other way");
        }
        assert!(!is_one_measurement(&x, &of(1.0, 0.01)));
        assert!(!is_one_measurement(&x, &[0.0; 20]));
        assert!(!is_one_measurement(&x[..2], &x[..2]) && !is_one_measurement(&x, &x[..3]));
    }
}
