//! From draws of a statistic to its intervals.
//!
//! In:  the B values of a statistic, its estimate and the acceleration from the jackknife.
//! Out: percentile, basic and BCa limits.
//! Not here: how the values were drawn (`means`, `quantiles`, `rank`).
//!
//! Source: Efron, JASA 82 (1987). Efron and Tibshirani (1993), 14.3.

use super::normal::{normal_cdf, normal_quantile};
use super::selection::quantiles;
use super::{FLAG_BCA_FALLBACK, Job, Limits};

/// Inputs of the limits from a statistic besides its draws.
pub(crate) struct Centre {
    /// The statistic of the sample itself.
    pub(crate) estimate: f64,
    /// Draws within this distance of the estimate differ by rounding only and count as equal to it. Zero for statistics that pick values.
    /// Without it the order in which a mean adds its values would decide ties. For n = 3 ties are a fifth of all draws, and limits would not
    /// follow a change of unit.
    pub(crate) tie: f64,
    /// Acceleration. `None` when a leave-one-out value does not exist.
    pub(crate) acceleration: Option<f64>,
}

/// The three intervals of every bootstrapped statistic.
pub(crate) struct Three {
    pub(crate) percentile: Limits,
    pub(crate) basic: Limits,
    pub(crate) bca: Limits,
}

/// Percentile, basic and BCa limits. Rearranges `draws`. Time O(B).
pub(crate) fn three(draws: &mut [f64], centre: &Centre, job: &Job, flags: &[&'static str]) -> Three {
    let levels = job.levels();
    let adjusted = bca_levels(draws, centre, levels);
    let [low, high] = levels;
    let [bca_low, bca_high] = adjusted.unwrap_or(levels);
    let [lo, hi, bca_lo, bca_hi] = quantiles(draws, [low, high, bca_low, bca_high]);
    let mut bca = Limits::new("bca", [bca_lo, bca_hi], flags);
    if adjusted.is_none() {
        bca.flags.push(FLAG_BCA_FALLBACK);
    }
    let twice = 2.0 * centre.estimate;
    Three {
        percentile: Limits::new("percentile", [lo, hi], flags),
        basic: Limits::new("basic", [twice - hi, twice - lo], flags),
        bca,
    }
}

/// The intervals of a statistic that cannot vary.
pub(crate) fn points(at: f64, flags: &[&'static str]) -> Three {
    Three {
        percentile: Limits::point("percentile", at, flags),
        basic: Limits::point("basic", at, flags),
        bca: Limits::point("bca", at, flags),
    }
}

/// The levels that BCa reads instead of the plain ones. `None` where the adjustment does not exist. Then all draws are on one side of the
/// estimate, there is no jackknife, or the acceleration is too large for the formula.
fn bca_levels(draws: &[f64], centre: &Centre, levels: [f64; 2]) -> Option<[f64; 2]> {
    let acceleration = centre.acceleration?;
    let (under, over) = (centre.estimate - centre.tie, centre.estimate + centre.tie);
    let below = draws.iter().filter(|&&b| b < under).count();
    let not_above = draws.iter().filter(|&&b| b <= over).count();
    if below + not_above == 0 || below + not_above == 2 * draws.len() {
        return None;
    }
    let z0 = normal_quantile((below + not_above) as f64 / (2 * draws.len()) as f64);
    let shifted = levels.map(|level| z0 + normal_quantile(level));
    let stretch = shifted.map(|z| 1.0 - acceleration * z);
    if stretch.iter().any(|&s| s <= 0.0) {
        return None;
    }
    Some([0, 1].map(|i| normal_cdf(z0 + shifted[i] / stretch[i])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job { seed: 42, key: "k".into(), resamples: 999, confidence: 0.95, threads: 1 }
    }

    fn centre(estimate: f64, acceleration: Option<f64>) -> Centre {
        Centre { estimate, tie: 0.0, acceleration }
    }

    #[test]
    fn limits_of_the_numbers_one_to_999_are_worked_by_hand() {
        let mut draws: Vec<f64> = (1..=999).map(f64::from).collect();
        let three = three(&mut draws, &centre(500.0, Some(0.0)), &job(), &[]);
        // h = 998 * 0.025 = 24.95, so the limit is 1 + 24.95. No bias and no acceleration leave BCa the same.
        assert!((three.percentile.lo - 25.95).abs() < 1e-9 && (three.percentile.hi - 974.05).abs() < 1e-9);
        assert!((three.basic.lo - 25.95).abs() < 1e-9 && (three.basic.hi - 974.05).abs() < 1e-9);
        assert!((three.bca.lo - 25.95).abs() < 1e-9 && (three.bca.hi - 974.05).abs() < 1e-9);
    }

    #[test]
    fn bca_levels_follow_the_formula() {
        // 158.655 % of 1000 draws below: z0 = -1 to six digits. A = 0.1.
        let draws: Vec<f64> = (0..1_000_000).map(f64::from).collect();
        let [lo, hi] = bca_levels(&draws, &centre(158_655.0 - 0.5, Some(0.1)), [0.025, 0.975]).unwrap();
        // Phi(-1 - 2.95996/1.295996) and Phi(-1 + 0.95996/0.904004), by hand from a table.
        assert!((lo - 0.000_511_85).abs() < 1e-8, "{lo}");
        assert!((hi - 0.524_680_0).abs() < 1e-5, "{hi}");
    }

    #[test]
    fn draws_on_one_side_fall_back_to_the_percentile_limits() {
        for (estimate, acceleration) in [(0.0, Some(0.0)), (1_000.0, Some(0.0)), (500.0, None), (500.0, Some(0.6))] {
            let mut draws: Vec<f64> = (1..=999).map(f64::from).collect();
            let three = three(&mut draws, &centre(estimate, acceleration), &job(), &["small_n"]);
            assert_eq!(three.bca.flags, ["small_n", FLAG_BCA_FALLBACK]);
            assert_eq!((three.bca.lo, three.bca.hi), (three.percentile.lo, three.percentile.hi));
        }
    }
}
