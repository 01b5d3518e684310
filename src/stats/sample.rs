//! Means.

/// Neumaier mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for &value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    (!values.is_empty()).then(|| (sum + lost) / values.len() as f64)
}
