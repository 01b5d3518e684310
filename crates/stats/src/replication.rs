//! One answer from several studies of one question: random effects, and how much the studies differ among themselves.
//!
//! In:  an estimate and its variance from each study (a campaign, a machine).
//! Out: [`Replication`]: pooled estimate with two intervals, prediction interval, tau², I², Q and its p-value, the weight of each study.
//! Not here: which studies ask the same question, words like "slower" (see `verdict`).
//!
//! The true effects of the studies are taken for draws from a normal distribution with variance tau². tau² is estimated by Paule and Mandel's
//! method: the value at which the weighted sum of squares equals its expectation. The interval of the mean is that of Hartung, Knapp, Sidik and
//! Jonkman with Student's t. With few studies it holds its level where the normal interval does not. It is never made narrower than the normal one
//! by studies that happen to agree: the factor of the variance is at least 1.
//!
//! Source: Paule and Mandel, *J. Res. NBS* 87 (1982). DerSimonian and Laird, *Control. Clin. Trials* 7 (1986). Hartung and Knapp, *Stat. Med.* 20
//! (2001). Sidik and Jonkman, *Stat. Med.* 21 (2002). Röver, Knapp and Friede, *BMC Med. Res. Methodol.* 15 (2015), for the least factor. Higgins,
//! Thompson and Spiegelhalter, *JRSS A* 172 (2009), for the prediction interval. Higgins and Thompson, *Stat. Med.* 21 (2002), for I².

use serde::Serialize;
use statrs::function::gamma::gamma_ur;

use super::dist::t_quantile;

/// Steps of the search for tau². A bisection of 200 steps reaches the last bit from any bracket of doubles.
const STEPS: usize = 200;

/// Result of one study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Study {
    /// Its estimate.
    pub effect: f64,
    /// Variance of the estimate. Above 0.
    pub variance: f64,
}

/// Joint result of several studies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replication {
    /// Studies.
    pub k: usize,
    /// Mean of the true effects.
    pub estimate: f64,
    /// Standard error of the mean by Hartung, Knapp, Sidik and Jonkman, its factor at least 1.
    pub standard_error: f64,
    /// Interval of the mean.
    pub interval: (f64, f64),
    /// Where the true effect of one more study would lie. `None` below three studies.
    pub prediction: Option<(f64, f64)>,
    /// Variance between the true effects, by Paule and Mandel.
    pub tau2: f64,
    /// The same by DerSimonian and Laird.
    pub tau2_dl: f64,
    /// Share of the spread between the estimates that is no chance, per cent, from Q.
    pub i2_pct: f64,
    /// Cochran's Q.
    pub q: f64,
    /// Its p-value: how often studies of one true effect differ by as much.
    pub q_p: f64,
    /// Factor of the variance before its floor of 1.
    pub hksj_factor: f64,
    /// Mean under one true effect, and its standard error.
    pub fixed: (f64, f64),
    /// Share of each study in the mean, in their order. The sum is 1.
    pub weights: Vec<f64>,
}

/// Pools studies. `None` for fewer than two, or an effect or variance that is not finite or a variance that is not above 0.
///
/// `confidence`: two-sided level of both intervals, strictly inside (0, 1).
pub fn pool(studies: &[Study], confidence: f64) -> Option<Replication> {
    let k = studies.len();
    let sound = |s: &Study| s.effect.is_finite() && s.variance.is_finite() && s.variance > 0.0;
    if k < 2 || !studies.iter().all(sound) {
        return None;
    }
    let df = (k - 1) as f64;
    let (fixed, fixed_weight) = mean(studies, 0.0);
    let q = squares(studies, 0.0);
    // Variances at the ends of the range of numbers leave no weight that is one.
    if !(q.is_finite() && fixed.is_finite() && fixed_weight.is_finite()) {
        return None;
    }
    let tau2 = paule_mandel(studies, df);
    let (estimate, weight) = mean(studies, tau2);
    let hksj_factor = squares(studies, tau2) / df;
    let standard_error = (hksj_factor.max(1.0) / weight).sqrt();
    let level = 0.5 + 0.5 * confidence;
    let half = t_quantile(level, df) * standard_error;
    let prediction = (k > 2).then(|| {
        let half = t_quantile(level, df - 1.0) * (tau2 + standard_error * standard_error).sqrt();
        (estimate - half, estimate + half)
    });
    let squared: f64 = studies.iter().map(|s| s.variance.powi(-2)).sum();
    Some(Replication {
        k,
        estimate,
        standard_error,
        interval: (estimate - half, estimate + half),
        prediction,
        tau2,
        tau2_dl: ((q - df) / (fixed_weight - squared / fixed_weight)).max(0.0),
        i2_pct: if q > 0.0 { (100.0 * (q - df) / q).max(0.0) } else { 0.0 },
        q,
        // Studies that agree wholly: the function is not defined at 0.
        q_p: if q > 0.0 { gamma_ur(0.5 * df, 0.5 * q) } else { 1.0 },
        hksj_factor,
        fixed: (fixed, fixed_weight.sqrt().recip()),
        weights: studies.iter().map(|s| 1.0 / (s.variance + tau2) / weight).collect(),
    })
}

/// Weighted mean and the sum of the weights, with weights 1 / (variance + tau²).
fn mean(studies: &[Study], tau2: f64) -> (f64, f64) {
    let weight: f64 = studies.iter().map(|s| 1.0 / (s.variance + tau2)).sum();
    let sum: f64 = studies.iter().map(|s| s.effect / (s.variance + tau2)).sum();
    (sum / weight, weight)
}

/// Weighted squares about that mean.
fn squares(studies: &[Study], tau2: f64) -> f64 {
    let (mean, _) = mean(studies, tau2);
    studies.iter().map(|s| (s.effect - mean).powi(2) / (s.variance + tau2)).sum()
}

/// The tau² at which the weighted squares equal their expectation, or 0 where they are smaller without any.
fn paule_mandel(studies: &[Study], df: f64) -> f64 {
    if squares(studies, 0.0) <= df {
        return 0.0;
    }
    let (low, high) =
        studies.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), s| (a.min(s.effect), b.max(s.effect)));
    // At k times the squared range the weighted squares are below k (range²) / (k range²) = 1.
    let (mut below, mut above) = (0.0, studies.len() as f64 * (high - low).powi(2));
    for _ in 0..STEPS {
        let middle = 0.5 * (below + above);
        if squares(studies, middle) > df { below = middle } else { above = middle }
    }
    0.5 * (below + above)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn studies(effects: &[f64], variances: &[f64]) -> Vec<Study> {
        effects.iter().zip(variances).map(|(&effect, &variance)| Study { effect, variance }).collect()
    }

    fn close(name: &str, ours: f64, theirs: f64) {
        assert!((ours - theirs).abs() <= 1e-6 * theirs.abs().max(1.0), "{name}: {ours} against {theirs}");
    }

    #[test]
    fn studies_that_agree_wholly_or_have_no_weight_end_in_no_panic() {
        let same = pool(&studies(&[2.0, 2.0, 2.0], &[0.1, 0.1, 0.1]), 0.95).unwrap();
        assert_eq!((same.q_p, same.tau2, same.i2_pct), (1.0, 0.0, 0.0));
        close("estimate", same.estimate, 2.0);
        assert!(pool(&studies(&[1.0, 1.0], &[f64::MIN_POSITIVE * f64::EPSILON, 1.0]), 0.95).is_none());
        assert!(pool(&studies(&[1e300, -1e300], &[1e-300, 1e-300]), 0.95).is_none());
    }

    /// Figures of `combine_effects(..., method_re="iterated", use_t=True)` of statsmodels 0.15.0. Tau² of DerSimonian and Laird from
    /// `method_re="dl"`. statsmodels gives negative tau² and I² where ours are 0, and its HKSJ variance has no least factor.
    #[test]
    fn figures_are_those_of_statsmodels() {
        // Log risk ratios of thirteen trials: Colditz et al., JAMA 271 (1994), as tabulated for the package metafor, to four digits.
        let trials = studies(
            &[
                -0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394,
                0.4459, -0.0173,
            ],
            &[0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714],
        );
        let ours = pool(&trials, 0.95).unwrap();
        close("estimate", ours.estimate, -0.714_970_305_440_006_3);
        close("standard error", ours.standard_error, 0.180_894_533_371_462_6);
        close("interval", ours.interval.0, -1.109_105_635_566_415_7);
        close("interval", ours.interval.1, -0.320_834_975_313_596_8);
        close("tau2", ours.tau2, 0.318_082_439_873_957_6);
        close("tau2_dl", ours.tau2_dl, 0.308_395_570_858_314_04);
        close("i2", ours.i2_pct, 92.095_638_505_498_8);
        close("q", ours.q, 151.814_918_985_835_56);
        close("q_p", ours.q_p, 2.427_859_498_990_459_6e-26);
        close("fixed", ours.fixed.0, -0.432_137_240_066_287_95);
        close("fixed", ours.fixed.1, 0.040_571_432_461_832_16);
        close("weight", ours.weights[0], 0.050_836_919_226_823_43);
        close("weights", ours.weights.iter().sum(), 1.0);
        assert!(ours.q_p > 0.0, "as small as it is");

        let nightly = studies(&[100.2, 103.9, 98.7, 101.1, 104.4], &[0.09, 0.16, 0.04, 0.25, 0.36]);
        let ours = pool(&nightly, 0.95).unwrap();
        close("estimate", ours.estimate, 101.627_935_080_793_36);
        close("tau2", ours.tau2, 5.760_904_381_001_95);
        close("tau2_dl", ours.tau2_dl, 5.824_000_481_235_819);
        close("interval", ours.interval.0, 98.602_064_025_135_46);
        close("interval", ours.interval.1, 104.653_806_136_451_27);
        // By hand: t(0.975, 3) sqrt(tau² + se²) = 3.182446 x sqrt(5.760904 + 1.187743).
        close(
            "prediction",
            ours.prediction.unwrap().1 - ours.estimate,
            3.182_446_305_284_263_5 * 6.948_647_866_f64.sqrt(),
        );
    }

    #[test]
    fn studies_that_agree_by_chance_do_not_make_the_interval_narrower() {
        let ours = pool(&studies(&[1.02, 0.98, 1.01, 1.00], &[0.04, 0.05, 0.03, 0.06]), 0.95).unwrap();
        close("estimate", ours.estimate, 1.004_561_403_508_772);
        close("factor", ours.hksj_factor, 0.006_452_241_715_399_621_5);
        // The interval of one true effect with Student's t, from statsmodels.
        close("interval", ours.interval.0, 0.678_049_301_919_325_4);
        assert_eq!((ours.tau2, ours.tau2_dl, ours.i2_pct), (0.0, 0.0, 0.0));
        close("q_p", ours.q_p, 0.999_287_891_661_307_3);
    }

    #[test]
    fn two_studies_have_an_interval_and_no_prediction() {
        let ours = pool(&studies(&[10.0, 12.0], &[0.25, 0.36]), 0.95).unwrap();
        // By hand: (2² - 0.61) / 2.
        close("tau2", ours.tau2, 1.695);
        close("interval", ours.interval.0, -1.728_899_293_819_392_6);
        assert_eq!(ours.prediction, None);
    }

    #[test]
    fn what_cannot_be_pooled_is_absent() {
        assert_eq!(pool(&studies(&[1.0], &[0.1]), 0.95), None);
        assert_eq!(pool(&studies(&[1.0, 2.0], &[0.1, 0.0]), 0.95), None);
        assert_eq!(pool(&studies(&[1.0, f64::NAN], &[0.1, 0.1]), 0.95), None);
    }

    #[test]
    fn scale_and_order_do_not_matter() {
        let a = pool(&studies(&[1.0, 2.0, 4.0], &[0.1, 0.2, 0.3]), 0.95).unwrap();
        let b = pool(&studies(&[40.0, 10.0, 20.0], &[30.0, 10.0, 20.0]), 0.95).unwrap();
        close("estimate", b.estimate, 10.0 * a.estimate);
        close("tau2", b.tau2, 100.0 * a.tau2);
        close("i2", b.i2_pct, a.i2_pct);
    }
}
