//! Agreement of two ways to measure the same thing: the mean difference, and the limits between which 95 of 100 differences lie.
//!
//! In:  differences in groups (rounds), several of each.  Out: [`Agreement`].
//! Not here: forming the differences, logarithms.
//!
//! Differences of one round are alike, because the machine was in one state. So a round is a random effect. The variance of a single
//! difference is the variance of the means of rounds plus a share of the variance within rounds. That share is what such a mean has averaged
//! away. The limits' own intervals are made of those of the mean and of the variance.
//!
//! Sources: Bland and Altman, *Lancet* 327 (1986). *Statistical Methods in Medical Research* 8 (1999), section 5. Intervals: Zou,
//! *Statistical Methods in Medical Research* 22 (2013). Zou takes the normal quantile for the mean. Student's is used here, because ten
//! rounds are few.

use super::dist;

/// Share of the differences that the limits are to hold.
pub const HELD: f64 = 0.95;

/// A figure with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// Mean difference and limits of agreement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Rounds.
    pub groups: usize,
    /// Differences.
    pub n: usize,
    /// Mean of the means of the rounds.
    pub bias: Bounded,
    /// Standard deviation of a single difference.
    pub sd: f64,
    /// Lower limit of agreement.
    pub lower: Bounded,
    /// Upper limit of agreement.
    pub upper: Bounded,
}

/// Mean difference and limits of agreement. Empty groups are left out. Fewer than two others: absent.
pub fn agreement(groups: &[Vec<f64>], confidence: f64) -> Option<Agreement> {
    let groups: Vec<&[f64]> = groups.iter().map(Vec::as_slice).filter(|group| !group.is_empty()).collect();
    let means: Vec<f64> = groups.iter().map(|group| super::mean(group)).collect();
    let (count, n) = (groups.len() as f64, groups.iter().map(|group| group.len()).sum::<usize>());
    let between = super::sd(&means)?.powi(2);
    let within_df = (n - groups.len()) as f64;
    let squares: f64 =
        groups.iter().zip(&means).flat_map(|(group, mean)| group.iter().map(move |d| (d - mean).powi(2))).sum();
    let within = if within_df > 0.0 { squares / within_df } else { 0.0 };
    let harmonic = count / groups.iter().map(|group| 1.0 / group.len() as f64).sum::<f64>();
    let averaged = (1.0 - 1.0 / harmonic) * within;
    let variance = between + averaged;
    let (sd, bias) = (variance.sqrt(), super::mean(&means));

    let tail = 0.5 * (1.0 - confidence);
    let z = dist::normal_quantile(0.5 + 0.5 * HELD);
    let half = dist::t_quantile(1.0 - tail, count - 1.0) * (between / count).sqrt();
    // How far the interval of each part of the variance goes from it: down for the upper quantile, up for the lower one.
    let away =
        |part: f64, df: f64, p: f64| if df > 0.0 { part * (df / dist::chi_squared_quantile(p, df) - 1.0) } else { 0.0 };
    let far = |p: f64| away(between, count - 1.0, p).hypot(away(averaged, within_df, p));
    let least = (variance - far(1.0 - tail)).max(0.0).sqrt();
    let most = (variance + far(tail)).sqrt();
    let (inner, outer) = (half.hypot(z * (sd - least)), half.hypot(z * (most - sd)));
    Some(Agreement {
        groups: groups.len(),
        n,
        bias: Bounded { value: bias, lo: bias - half, hi: bias + half },
        sd,
        lower: Bounded { value: bias - z * sd, lo: bias - z * sd - outer, hi: bias - z * sd + inner },
        upper: Bounded { value: bias + z * sd, lo: bias + z * sd - inner, hi: bias + z * sd + outer },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_difference_a_round_is_the_plain_analysis() {
        let found = agreement(&[vec![1.0], vec![3.0], vec![2.0], vec![6.0]], 0.95).unwrap();
        let sd = (14.0_f64 / 3.0).sqrt();
        assert_eq!((found.groups, found.n, found.bias.value), (4, 4, 3.0));
        assert!((found.sd - sd).abs() < 1e-12);
        assert!((found.upper.value - (3.0 + 1.959_963_984_540_054 * sd)).abs() < 1e-9);
        assert!(
            found.upper.hi - found.upper.value > found.upper.value - found.upper.lo,
            "a spread is bounded better from below"
        );
        assert!((found.lower.value - found.lower.lo - (found.upper.hi - found.upper.value)).abs() < 1e-12);
    }

    #[test]
    fn rounds_that_differ_by_nothing_leave_the_spread_within_them() {
        let found = agreement(&[vec![-1.0, 1.0], vec![1.0, -1.0], vec![-1.0, 1.0]], 0.95).unwrap();
        // Squares 6 over 3 degrees of freedom, half of it averaged away in a mean of two.
        assert!((found.sd - 1.0).abs() < 1e-12);
        assert_eq!(found.bias, Bounded { value: 0.0, lo: 0.0, hi: 0.0 });
    }

    #[test]
    fn no_spread_gives_limits_at_the_bias_and_one_round_gives_nothing() {
        let found = agreement(&[vec![2.0, 2.0], vec![2.0], Vec::new()], 0.95).unwrap();
        let exact = Bounded { value: 2.0, lo: 2.0, hi: 2.0 };
        assert_eq!((found.groups, found.n, found.bias, found.lower, found.upper), (2, 3, exact, exact, exact));
        assert_eq!(agreement(&[vec![1.0, 2.0]], 0.95), None);
        assert_eq!(agreement(&[], 0.95), None);
    }
}
