//! Published measurements of a GPU when it was healthy and when its clock was stuck.
//!
//! In:  the name of a GPU, a rate.  Out: a state in words with both figures and their source, or nothing without published figures.
//! Not here: measuring, stopping a campaign.

use serde::Serialize;

/// Two published figures of one GPU.
struct Known {
    /// Part of the name that CUDA gives.
    name: &'static str,
    healthy_tflops: f64,
    stuck_tflops: f64,
    source: &'static str,
}

/// BF16 matrix products.
const KNOWN: &[Known] = &[Known {
    name: "GB10",
    healthy_tflops: 91.6,
    stuck_tflops: 36.5,
    source: "Blackwellboy/model-serving-minefield, trap 124: BF16 product in PyTorch on a DGX Spark, healthy and stuck",
}];

/// The measured rate relative to the published ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Health {
    /// `healthy` or `slow`.
    pub state: &'static str,
    /// Measured BF16 rate, TFLOP/s.
    pub bf16_tflops: f64,
    /// Published rate of a healthy one.
    pub healthy_tflops: f64,
    /// Published rate of one whose clock was stuck.
    pub stuck_tflops: f64,
    /// At or above is healthy: as many times the stuck rate as the healthy one is times it.
    pub limit_tflops: f64,
    /// Of both figures.
    pub source: &'static str,
}

/// Judges a BF16 rate of a GPU. Nothing for a GPU of which no such figures are published.
pub(crate) fn health(name: &str, bf16_tflops: f64) -> Option<Health> {
    let known = KNOWN.iter().find(|known| name.contains(known.name))?;
    let limit_tflops = (known.healthy_tflops * known.stuck_tflops).sqrt();
    Some(Health {
        state: if bf16_tflops >= limit_tflops { "healthy" } else { "slow" },
        bf16_tflops,
        healthy_tflops: known.healthy_tflops,
        stuck_tflops: known.stuck_tflops,
        limit_tflops,
        source: known.source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_figures_of_a_healthy_and_a_stuck_gb10_are_told_apart() {
        assert_eq!(health("NVIDIA GB10", 91.6).unwrap().state, "healthy");
        assert_eq!(health("NVIDIA GB10", 36.5).unwrap().state, "slow");
        assert!((57.0..58.0).contains(&health("NVIDIA GB10", 1.0).unwrap().limit_tflops));
    }

    #[test]
    fn a_gpu_without_published_figures_is_not_judged() {
        assert_eq!(health("NVIDIA H200", 700.0), None);
    }
}
