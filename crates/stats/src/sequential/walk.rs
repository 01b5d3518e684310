//! The score process between two looks: its chance to exceed a value after staying inside all earlier boundaries.
//!
//! In:  times from 0 to 1, boundaries, a drift.  Out: probabilities.
//! Not here: where the boundaries come from (see [`super::boundary`]).
//!
//! The score at time t is that of Brownian motion: its mean is `drift` times t and its variance is t. The density of the paths that are
//! still inside is kept at nodes. It is carried from look to look by Gauss-Legendre integration with eight nodes a panel. No panel is wider
//! than the step of the process, so the integrand is smooth in each. Errors are far below 1e-8.
//!
//! Source: Armitage, McPherson and Rowe, *JRSS A* 132 (1969). Jennison and Turnbull, *Group Sequential Methods* (2000), chapter 19.

use crate::dist::normal_sf;

/// Nodes of Gauss-Legendre quadrature on (-1, 1), the positive half, with their weights. Source: Abramowitz and Stegun, table 25.4.
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_2, 0.101_228_536_290_376_26),
];

/// Where an open side is cut, in standard deviations: beyond lies less than 1e-18 of the paths.
const OPEN: f64 = 9.0;
/// Where a boundary is cut that no double can tell from none: beyond lies less than the smallest double.
const FAR: f64 = 38.0;
/// Exponents from here on give exactly 0. The exponential is not asked.
const VANISHED: f64 = 745.0;

/// The paths that are still inside all boundaries.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    drift: f64,
    time: f64,
    /// Places, and the probability at each.
    nodes: Vec<(f64, f64)>,
}

impl Walk {
    /// All paths, at time 0.
    pub(super) fn new(drift: f64) -> Self {
        Self { drift, time: 0.0, nodes: vec![(0.0, 1.0)] }
    }

    /// Probability that a path is inside so far and above `place` at `time`, which is later than the last look.
    pub(super) fn above(&self, time: f64, place: f64) -> f64 {
        let step = time - self.time;
        let (shift, sd) = (self.drift * step, step.sqrt());
        self.nodes.iter().map(|(x, mass)| mass * normal_sf((place - x - shift) / sd)).sum()
    }

    /// The same for below: the other half of everything, for the tests.
    #[cfg(test)]
    pub(super) fn below(&self, time: f64, place: f64) -> f64 {
        let step = time - self.time;
        let (shift, sd) = (self.drift * step, step.sqrt());
        self.nodes.iter().map(|(x, mass)| mass * normal_sf((x + shift - place) / sd)).sum()
    }

    /// Goes on to `time` and keeps the paths between `low` and `high`. Either may be infinite. `next` is the time of the look after it.
    pub(super) fn stay(&mut self, time: f64, low: f64, high: f64, next: f64) {
        let step = time - self.time;
        let (shift, sd) = (self.drift * step, step.sqrt());
        let root = time.sqrt();
        let centre = self.drift * time;
        // Without a drift a boundary far out is kept whole: what lies beyond decides how small the next step of spending is.
        let reach = if self.drift == 0.0 { FAR } else { OPEN };
        let cut = |end: f64, side: f64| if end.is_finite() { end } else { centre + side * OPEN * root };
        let low = cut(low, -1.0).max(centre - reach * root);
        let high = cut(high, 1.0).min(centre + reach * root);
        let mut nodes = Vec::new();
        if low < high {
            let widest = sd.min((next - time).max(1e-9).sqrt());
            let panels = ((high - low) / widest).ceil().max(1.0);
            let half = 0.5 * (high - low) / panels;
            for panel in 0..panels as usize {
                let middle = low + half * (2.0 * panel as f64 + 1.0);
                for (node, weight) in GAUSS.iter().flat_map(|(x, w)| [(-x, w), (*x, w)]) {
                    let x = middle + half * node;
                    nodes.push((x, half * weight * self.density(x - shift, sd)));
                }
            }
        }
        self.nodes = nodes;
        self.time = time;
    }

    fn density(&self, place: f64, sd: f64) -> f64 {
        let scale = 1.0 / (sd * (2.0 * std::f64::consts::PI).sqrt());
        let sum: f64 = self
            .nodes
            .iter()
            .map(|(x, mass)| {
                let z = (place - x) / sd;
                let exponent = 0.5 * z * z;
                if exponent < VANISHED { mass * (-exponent).exp() } else { 0.0 }
            })
            .sum();
        scale * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_no_boundary_stops_are_normal_at_every_time() {
        for drift in [0.0, 1.7, -4.0] {
            let mut walk = Walk::new(drift);
            for (time, next) in [(0.1, 0.35), (0.35, 0.4), (0.4, 1.0)] {
                walk.stay(time, f64::NEG_INFINITY, f64::INFINITY, next);
            }
            for place in [-3.0, 0.0, 0.8, 2.5] {
                let expected = normal_sf(place - drift);
                assert!((walk.above(1.0, place) - expected).abs() < 1e-12, "{drift}, {place}");
                assert!((walk.below(1.0, place) - (1.0 - expected)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn what_leaves_and_what_stays_is_everything() {
        let mut walk = Walk::new(0.6);
        let mut gone = 0.0;
        let looks = [(0.2, 1.1), (0.5, 0.9), (0.9, 1.3)];
        for (at, (time, bound)) in looks.into_iter().enumerate() {
            gone += walk.above(time, bound) + walk.below(time, -bound);
            let next = looks.get(at + 1).map_or(1.0, |(time, _)| *time);
            walk.stay(time, -bound, bound, next);
        }
        let rest = walk.above(1.0, 0.0) + walk.below(1.0, 0.0);
        assert!((gone + rest - 1.0).abs() < 1e-12, "{}", gone + rest);
    }
}
