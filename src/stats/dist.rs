//! Normal, t and binomial probabilities.

/// Upper tail of the standard normal.
pub fn normal_sf(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}
