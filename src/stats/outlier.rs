//! Three outlier rules that flag and never delete.
//!
//! In:  values of one arm.  Out: [`Outliers`], indices into the input.
//! Not here: any removal.
//!
//! Source: Shiffler, *Am. Stat.* 42 (1988); Iglewicz and Hoaglin, *How to Detect and Handle Outliers* (1993); Tukey (1977).

/// |z| above this is flagged by the 3 sigma rule.
pub const SIGMA: f64 = 3.0;
/// |modified z| above this is flagged (Iglewicz and Hoaglin's recommendation).
pub const MODIFIED_Z: f64 = 3.5;
/// Tukey's fences lie this many interquartile ranges outside the quartiles.
pub const FENCE: f64 = 1.5;

/// What each rule flags, as indices into the input in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct Outliers {
    /// |x - mean| / sd > 3.
    pub three_sigma: Vec<usize>,
    /// |modified z| > 3.5.
    pub modified_z: Vec<usize>,
    /// Outside Tukey's fences.
    pub tukey: Vec<usize>,
    /// Largest |x - mean| / sd; constant: absent.
    pub max_abs_z: Option<f64>,
    /// Largest |modified z|; absent when more than its denominators are 0.
    pub max_abs_modified_z: Option<f64>,
    /// Largest |z| that n values can have, (n - 1) / sqrt(n).
    pub z_bound: f64,
    /// False when the bound does not exceed 3 (n <= 10): the rule can never flag anything.
    pub three_sigma_can_fire: bool,
}

/// The rule behind a share of flagged runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// 3 sigma.
    ThreeSigma,
    /// Modified z.
    ModifiedZ,
}

impl Outliers {
    /// Share of flagged runs for the seed's "re-run above 5 %": by 3 sigma where that can fire, else by modified z.
    pub fn share(&self, n: usize) -> (Rule, f64) {
        let (rule, flagged) = if self.three_sigma_can_fire {
            (Rule::ThreeSigma, self.three_sigma.len())
        } else {
            (Rule::ModifiedZ, self.modified_z.len())
        };
        (rule, flagged as f64 / n as f64)
    }
}

/// Applies the three rules. Fewer than three values: absent.
pub fn outliers(values: &[f64]) -> Option<Outliers> {
    let _ = values;
    todo!()
}

/// Tukey's fences of ascending values. Empty: absent.
pub fn fences(sorted: &[f64]) -> Option<(f64, f64)> {
    let _ = sorted;
    todo!()
}
