//! When did a series change? Changes of its level and of its scatter, each with a p-value, and odd points that are no changes.
//!
//! In:  one [`Point`] a measurement, in order of time.
//! Out: [`Segmentation`]: changes, outliers, and the segments between changes of level.
//! Not here: files, what changed in the world at the same time, words like "slower" (see `verdict`).
//!
//! The steps are:
//! 1. Noise is measured from differences of near points, which hardly notice a change of level. Single odd points are set aside.
//! 2. Candidates are the cheapest partition of the series into levels (`partition`).
//! 3. A permutation test over the whole series says whether there is any change. Then the weakest candidate goes until all that are left are
//!    significant against their neighbours (`significance`, `segments`).
//! 4. Steps 2 and 3 are done twice: for independent noise, and for noise with memory, which is whitened first. The Bayesian information
//!    criterion says which of the two explains the series.
//! 5. Distances from the level are searched for changes of scatter in the same way.
//!
//! A change counts when it is supported, larger than the margin, and persistent. A level has at least two points, and a single odd point is
//! an outlier.
//!
//! Source: Matteson and James, *JASA* 109 (2014), E-divisive. Fleming et al., *ICPE* (2023), weak and strong candidates. Chakar et al., *Bernoulli*
//! 23 (2017), whitening by an autocorrelation that changes of level do not sway. Zhang and Siegmund, *Biometrics* 63 (2007), the penalty of three
//! log n for a change.

mod cycle;
mod noise;
mod partition;
mod segments;
mod significance;

use self::segments::{ALPHA_SERIES, Cut};
use super::dist::{t_quantile, t_two_sided};
use super::quantile::{quantile_sorted, sorted};
use super::sample;

/// Fewest points in which a change can be seen.
pub const LEAST_POINTS: usize = 5;

/// Fewest points that tell anything about the memory of the noise.
const LEAST_FOR_MEMORY: usize = 20;

/// Level of the first look at the scatter, which only has to find what would spoil the search for levels.
const ALPHA_FIRST_SCATTER: f64 = 0.002;

/// Level of each change of scatter.
const ALPHA_SCATTER: f64 = 0.003;

/// Least factor between two scatters that is worth telling.
pub const SCATTER_FACTOR: f64 = 1.5;

/// Changes of level and of scatter within this many points are one change.
const SAME_PLACE: usize = 3;

/// Penalty of a change in the choice between noise with and without memory: this times log n.
const PENALTY_OF_CHANGE: f64 = 3.0;

/// Values beyond it, or below its inverse, are searched in units of the largest.
const FAR: f64 = 1e100;

/// Noise below this share of the range is rounding.
const ROUNDING: f64 = 1e-5;

/// Two-sided level of the interval of a segment.
const CONFIDENCE: f64 = 0.95;

/// One measurement of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Its value. Finite.
    pub value: f64,
    /// Standard error of the value, where it is a mean of several runs.
    pub standard_error: Option<f64>,
}

impl From<f64> for Point {
    fn from(value: f64) -> Self {
        Self { value, standard_error: None }
    }
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The mean.
    Level,
    /// The standard deviation.
    Scatter,
    /// Phase or size of a cycle.
    Cycle,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Index of the first point after the change.
    pub index: usize,
    /// What changed.
    pub kind: Kind,
    /// Mean before, or for a change of scatter the standard deviation before. From the change before to this one, without outliers.
    pub before: f64,
    /// The same after.
    pub after: f64,
    /// 100 (after / before - 1), where before is above 0.
    pub change_pct: Option<f64>,
    /// How often chance alone makes a change look so large, the choice of its place included.
    pub p: f64,
}

/// Points between two changes of level.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Index of its first point.
    pub from: usize,
    /// Index after its last point.
    pub to: usize,
    /// Mean without outliers.
    pub mean: f64,
    /// Standard deviation without outliers. Absent for one point.
    pub sd: Option<f64>,
    /// Student interval of the mean at 95 %, as wide as the autocorrelation asks for.
    pub interval: Option<(f64, f64)>,
}

/// A series as segments.
#[derive(Debug, Clone, PartialEq)]
pub struct Segmentation {
    /// Changes beyond the margin, by index.
    pub changes: Vec<Change>,
    /// Changes that are supported and within the margin.
    pub within_margin: Vec<Change>,
    /// Indices of odd points that are no level.
    pub outliers: Vec<usize>,
    /// Segments of one level, in order. They cover the series. A change within the margin ends one as well.
    pub stretches: Vec<Stretch>,
    /// Lag-1 autocorrelation of the noise that the search reckoned with. 0 for independent noise.
    pub autocorrelation: f64,
}

/// Course of a series, from its points in order of time.
///
/// `margin_pct`: a change of level within it is reported separately. Fewer than [`LEAST_POINTS`] points show no change. `None` for a value
/// that is not finite. The same seed gives the same result. Time `O(n²)`, well below a second for 10,000 points.
pub fn segment(points: &[Point], margin_pct: f64, seed: u64) -> Option<Segmentation> {
    if points.iter().any(|point| !point.value.is_finite()) {
        return None;
    }
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    if values.len() < LEAST_POINTS {
        return Some(told(&values, &[], Vec::new(), Vec::new(), Vec::new(), 0.0, margin_pct));
    }
    // Squares of values far from 1 would leave the range of numbers.
    let largest = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let unit = if largest > FAR || (largest > 0.0 && largest < 1.0 / FAR) { largest } else { 1.0 };
    let errors: Vec<f64> = points.iter().map(|point| point.standard_error.unwrap_or(0.0) / unit).collect();
    let searched: Vec<f64> = values.iter().map(|x| x / unit).collect();
    let plain = Searched::new(&searched, &errors, seed);
    let cycle = plain.cycle(&searched);
    let (best, cycles) = match &cycle {
        Some((wave, cut)) => {
            // What is left without the cycle is searched like any series.
            let level: Vec<f64> = searched.iter().zip(wave).map(|(x, wave)| x - wave).collect();
            (Searched::new(&level, &errors, seed), cut.iter().copied().collect())
        }
        None => (plain, Vec::new()),
    };
    let Searched { series, levels, autocorrelation, .. } = best;
    let scatters = series.scatters(&levels, autocorrelation, seed);
    Some(told(&values, &levels, scatters, cycles, series.outliers, autocorrelation, margin_pct))
}

/// A series and the levels that explain it best.
struct Searched {
    series: Series,
    levels: Vec<Cut>,
    autocorrelation: f64,
    /// Bayesian information criterion of these levels.
    cost: f64,
}

impl Searched {
    fn new(values: &[f64], errors: &[f64], seed: u64) -> Self {
        let series = Series::new(values, errors, seed);
        let (cost, levels, autocorrelation) = series.levels(seed);
        Self { series, levels, autocorrelation, cost }
    }

    /// A cycle that explains the series better than these levels do, and the place where it changes. All `values` are searched, because the
    /// peaks of a cycle look like odd points.
    fn cycle(&self, values: &[f64]) -> Option<(Vec<f64>, Option<Cut>)> {
        let sigmas = &self.series.sigmas;
        let even = sigmas.windows(2).all(|pair| pair[0] == pair[1]);
        let [without, with] = cycle::search(values).filter(|_| even)?;
        let n = sigmas.len() as f64;
        let floor = (self.series.floor * self.series.floor).max(f64::MIN_POSITIVE);
        let cost = |squares: f64, parameters: f64| {
            n * ((squares / n).max(floor) / (sigmas[0] * sigmas[0])).ln() + parameters * n.ln()
        };
        let (whole, parted) = (
            cost(without.squares, PARAMETERS_OF_CYCLE),
            cost(with.squares, PARAMETERS_OF_CYCLE + PARAMETERS_OF_NEW_CYCLE),
        );
        if whole.min(parted) > self.cost - CLEARLY {
            return None;
        }
        if whole <= parted {
            return Some((without.wave, None));
        }
        // An F test of level, cosine and sine on one side, times the places that the change could have had.
        let df = n - 7.0;
        let f = (without.squares - with.squares) / 3.0 / (with.squares.max(n * floor) / df);
        let p = (n * f_tail(f, df)).min(1.0);
        let cut = with.split.filter(|_| p <= ALPHA_SERIES).map(|index| Cut { index, p });
        Some((if cut.is_some() { with.wave } else { without.wave }, cut))
    }
}

/// P(F > f) with 3 and `df` degrees of freedom, bounded from above. The statistic is at most three times the largest of three squares of t.
fn f_tail(f: f64, df: f64) -> f64 {
    (3.0 * t_two_sided(f.sqrt(), df)).min(1.0)
}

/// A difference of the criterion that is very strong evidence: Kass and Raftery, *JASA* 90 (1995).
const CLEARLY: f64 = 10.0;

/// Parameters of a cycle in the criterion: period, cosine, sine.
const PARAMETERS_OF_CYCLE: f64 = 3.0;

/// Parameters of another cycle from some place on: place, level, cosine, sine, and one more as for a change of level.
const PARAMETERS_OF_NEW_CYCLE: f64 = 5.0;

/// A series whose noise is known.
struct Series {
    /// Values, outliers replaced by the median of their neighbours.
    clean: Vec<f64>,
    /// Standard deviation of the noise at each point.
    sigmas: Vec<f64>,
    outliers: Vec<usize>,
    /// Standard deviations below this are rounding.
    floor: f64,
}

impl Series {
    fn new(values: &[f64], errors: &[f64], seed: u64) -> Self {
        let n = values.len();
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
        let floor = (ROUNDING * (high - low)).max(f64::MIN_POSITIVE);
        // No point is known better than its own runs say.
        let errors: Vec<f64> = errors.iter().map(|error| error.max(floor)).collect();
        let everywhere = |sigma: f64| errors.iter().map(|error| error.max(sigma)).collect::<Vec<f64>>();
        let mut sigmas = everywhere(noise::sigma(values));
        let mut outliers = noise::outliers(values, &sigmas);
        if noise::too_many(outliers.len(), n) {
            sigmas = everywhere(noise::sigma_of_all(values));
            outliers = noise::outliers(values, &sigmas);
        }
        let mut clean = without(values, &outliers);
        // Distances within pairs that share no point are independent.
        let steps: Vec<f64> = clean.chunks_exact(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let cuts = segments::scatters(&steps, ALPHA_FIRST_SCATTER, seed, "steps");
        if !cuts.is_empty() {
            let starts: Vec<usize> = cuts.iter().map(|cut| 2 * cut.index).collect();
            for (from, to) in parts(&starts, n) {
                let own = noise::sigma(&values[from..to]);
                for i in from..to {
                    sigmas[i] = errors[i].max(own);
                }
            }
            outliers = noise::outliers(values, &sigmas);
            clean = without(values, &outliers);
        }
        Self { clean, sigmas, outliers, floor }
    }

    /// Changes of level and the autocorrelation of the noise that explain the series best, with their cost before them.
    fn levels(&self, seed: u64) -> (f64, Vec<Cut>, f64) {
        let n = self.clean.len();
        let independent = segments::levels(&self.clean, &self.sigmas, seed);
        let mut best = (self.cost(&independent, 0.0), independent.clone(), 0.0);
        let plain = noise::sigma(&self.clean);
        if n < LEAST_FOR_MEMORY || plain <= self.floor {
            return best;
        }
        // One level, and all that looks like changes is memory.
        let steady = self.memory(&[]);
        let cost = self.cost(&[], steady);
        if cost < best.0 {
            best = (cost, Vec::new(), steady);
        }
        let mut rho = noise::autocorrelation(&self.clean).unwrap_or(0.0).max(self.memory(&independent));
        // What is left of noise without memory is below this in nineteen of twenty series.
        let bar = 1.645 / (n as f64).sqrt();
        for _ in 0..MEMORY_ROUNDS {
            if rho < bar {
                break;
            }
            let white = whitened(&self.clean, rho);
            let scale = noise::sigma(&white).max(self.floor) / plain;
            let sigmas: Vec<f64> = self.sigmas.iter().map(|s| s * scale).collect();
            let cuts = segments::levels(&white, &sigmas, seed);
            let cost = self.cost(&cuts, rho);
            let next = self.memory(&cuts);
            if cost < best.0 {
                best = (cost, cuts, rho);
            }
            if (next - rho).abs() < MEMORY_STEADY {
                break;
            }
            rho = next;
        }
        best
    }

    /// Distances from the level in units of the noise, one segment after another.
    fn residuals(&self, levels: &[Cut]) -> Vec<f64> {
        let starts: Vec<usize> = levels.iter().map(|cut| cut.index).collect();
        let mut residuals = Vec::with_capacity(self.clean.len());
        for (from, to) in parts(&starts, self.clean.len()) {
            let mean = sample::mean(&self.clean[from..to]);
            residuals.extend((from..to).map(|i| (self.clean[i] - mean) / self.sigmas[i]));
        }
        residuals
    }

    /// Lag-1 autocorrelation about the levels, corrected for the means that were taken from the same points.
    fn memory(&self, levels: &[Cut]) -> f64 {
        let residuals = self.residuals(levels);
        let squares: f64 = residuals.iter().map(|r| r * r).sum();
        if squares <= 0.0 {
            return 0.0;
        }
        let mut lagged = 0.0;
        for i in 1..residuals.len() {
            if levels.binary_search_by_key(&i, |cut| cut.index).is_err() {
                lagged += residuals[i] * residuals[i - 1];
            }
        }
        let r = lagged / squares;
        (r + (1.0 + 3.0 * r) * (levels.len() + 1) as f64 / residuals.len() as f64).clamp(0.0, noise::MOST_MEMORY)
    }

    /// Bayesian information criterion of levels with noise of autocorrelation `rho`.
    fn cost(&self, levels: &[Cut], rho: f64) -> f64 {
        let n = self.clean.len() as f64;
        let innovations: f64 = innovations(&self.residuals(levels), rho).iter().map(|e| e * e).sum();
        let memory = if rho > 0.0 { 1.0 } else { 0.0 };
        n * (innovations / n).max(f64::MIN_POSITIVE).ln() + (PENALTY_OF_CHANGE * levels.len() as f64 + memory) * n.ln()
    }

    /// Changes of scatter about the levels, those beside a change of level left out.
    fn scatters(&self, levels: &[Cut], rho: f64, seed: u64) -> Vec<Cut> {
        let starts: Vec<usize> = levels.iter().map(|cut| cut.index).collect();
        let mut distances = Vec::with_capacity(self.clean.len());
        for (from, to) in parts(&starts, self.clean.len()) {
            let mean = sample::mean(&self.clean[from..to]);
            distances.extend(self.clean[from..to].iter().map(|x| x - mean));
        }
        let distances = innovations(&distances, rho);
        let kept: Vec<usize> = (0..distances.len()).filter(|i| self.outliers.binary_search(i).is_err()).collect();
        let kept_distances: Vec<f64> = kept.iter().map(|&i| distances[i].abs()).collect();
        if kept_distances.iter().all(|d| *d <= self.floor) {
            return Vec::new();
        }
        let cuts = segments::scatters(&kept_distances, ALPHA_SCATTER, seed, "scatter");
        cuts.into_iter()
            .map(|cut| Cut { index: kept[cut.index], p: cut.p })
            .filter(|cut| levels.iter().all(|level| level.index.abs_diff(cut.index) > SAME_PLACE))
            .collect()
    }
}

/// Times that the autocorrelation is taken again from the rest about the levels.
const MEMORY_ROUNDS: usize = 3;

/// A change of the autocorrelation that makes no difference.
const MEMORY_STEADY: f64 = 0.05;

/// `0..n`, cut at `starts`.
fn parts(starts: &[usize], n: usize) -> Vec<(usize, usize)> {
    let from = std::iter::once(0).chain(starts.iter().copied());
    let to = starts.iter().copied().chain([n]);
    from.zip(to).collect()
}

/// Values with each outlier replaced by the median of up to two others on each side.
fn without(values: &[f64], outliers: &[usize]) -> Vec<f64> {
    let mut clean = values.to_vec();
    let fine = |i: &usize| outliers.binary_search(i).is_err();
    for &odd in outliers {
        let before = (0..odd).rev().filter(fine).take(2);
        let after = (odd + 1..values.len()).filter(fine).take(2);
        let around: Vec<f64> = before.chain(after).map(|i| values[i]).collect();
        if !around.is_empty() {
            clean[odd] = quantile_sorted(&sorted(&around), 0.5);
        }
    }
    clean
}

/// Values without the part that the value before explains, scaled so that levels stay what they are.
fn whitened(values: &[f64], rho: f64) -> Vec<f64> {
    let first = values.first().copied();
    first.into_iter().chain(values.windows(2).map(|pair| (pair[1] - rho * pair[0]) / (1.0 - rho))).collect()
}

/// The part that the previous residual does not explain.
fn innovations(residuals: &[f64], rho: f64) -> Vec<f64> {
    let first = residuals.first().map(|r| r * (1.0 - rho * rho).sqrt());
    first.into_iter().chain(residuals.windows(2).map(|pair| pair[1] - rho * pair[0])).collect()
}

/// Figures of what was found.
fn told(
    values: &[f64],
    levels: &[Cut],
    scatters: Vec<Cut>,
    cycles: Vec<Cut>,
    outliers: Vec<usize>,
    autocorrelation: f64,
    margin_pct: f64,
) -> Segmentation {
    let n = values.len();
    let starts: Vec<usize> = levels.iter().map(|cut| cut.index).collect();
    let kept = |from: usize, to: usize| -> Vec<f64> {
        let fine: Vec<f64> = (from..to).filter(|i| outliers.binary_search(i).is_err()).map(|i| values[i]).collect();
        // Nothing but outliers: then they are what there is.
        if fine.is_empty() { values[from..to].to_vec() } else { fine }
    };
    let stretches: Vec<Stretch> = if n == 0 {
        Vec::new()
    } else {
        parts(&starts, n).into_iter().map(|(from, to)| stretch(from, to, &kept(from, to), autocorrelation)).collect()
    };
    let mut changes: Vec<Change> = levels
        .iter()
        .zip(stretches.windows(2))
        .map(|(cut, pair)| change(cut, Kind::Level, pair[0].mean, pair[1].mean))
        .collect();
    let about: Vec<f64> = stretches.iter().flat_map(|s| (s.from..s.to).map(|i| values[i] - s.mean)).collect();
    let spreads: Vec<f64> = parts(&scatters.iter().map(|cut| cut.index).collect::<Vec<_>>(), n)
        .into_iter()
        .map(|(from, to)| {
            let own: Vec<f64> =
                (from..to).filter(|i| outliers.binary_search(i).is_err()).map(|i| about[i] * about[i]).collect();
            (own.iter().sum::<f64>() / own.len().max(1) as f64).sqrt()
        })
        .collect();
    let wide = |pair: &[f64]| pair[0].max(pair[1]) >= SCATTER_FACTOR * pair[0].min(pair[1]);
    let told = scatters.iter().zip(spreads.windows(2)).filter(|(_, pair)| wide(pair));
    changes.extend(told.map(|(cut, pair)| change(cut, Kind::Scatter, pair[0], pair[1])));
    for cut in &cycles {
        // The level is what it was: what changed is when the cycle has its turn, or how far it goes.
        let beside = |from: usize, to: usize| sample::mean(&values[from..to]);
        let near = changes.iter().any(|change| change.index.abs_diff(cut.index) <= SAME_PLACE);
        if !near {
            changes.push(change(cut, Kind::Cycle, beside(0, cut.index), beside(cut.index, n)));
        }
    }
    changes.sort_by_key(|change| change.index);
    let within =
        |change: &Change| change.kind == Kind::Level && change.change_pct.is_some_and(|pct| pct.abs() <= margin_pct);
    let (within_margin, changes) = changes.into_iter().partition(within);
    Segmentation { changes, within_margin, outliers, stretches, autocorrelation }
}

fn change(cut: &Cut, kind: Kind, before: f64, after: f64) -> Change {
    let change_pct = (before > 0.0).then(|| 100.0 * (after / before - 1.0)).filter(|pct| pct.is_finite());
    Change { index: cut.index, kind, before, after, change_pct, p: cut.p }
}

fn stretch(from: usize, to: usize, kept: &[f64], rho: f64) -> Stretch {
    let mean = sample::mean(kept);
    let sd = sample::sd(kept);
    let n = kept.len() as f64;
    let effective = n * (1.0 - rho) / (1.0 + rho);
    let interval = sd.filter(|_| effective > 1.0).map(|sd| {
        let half = t_quantile(0.5 + CONFIDENCE / 2.0, effective - 1.0) * sd / effective.sqrt();
        (mean - half, mean + half)
    });
    Stretch { from, to, mean, sd, interval }
}

#[cfg(test)]
mod tests;
