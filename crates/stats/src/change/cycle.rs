//! A cycle in a series, and the place where its phase or its size changes.
//!
//! In:  values in order of time.
//! Out: [`Cycle`], the values of the cycle at each point, and the place where another one begins.
//! Not here: whether a cycle explains the series better than changes of level or memory do (see [`super`]).
//!
//! The period is first searched where the periodogram is largest. Then a fine grid around it is searched together with the place of a
//! change. Level, cosine and sine are fitted again for each candidate. A cycle must go round more than twice.
//!
//! Source: Bloomfield, *Fourier Analysis of Time Series* (2000), chapters 2 and 3.

use std::f64::consts::TAU;

/// Longest series that is searched for a cycle: the search takes the square of its length.
pub(super) const MOST_POINTS: usize = 5_000;

/// Fewest points of a series with a cycle.
pub(super) const LEAST_POINTS: usize = 30;

/// Shortest period, points.
const SHORTEST: f64 = 3.0;

/// Rounds that a cycle makes at least.
const ROUNDS: f64 = 2.2;

/// Places on the grid about the largest value of the periodogram, to each side.
const GRID: i32 = 12;

/// Width of that grid to each side, in steps of the periodogram.
const WIDTH: f64 = 1.5;

/// Times that the step of the period is halved after the grid.
const HALVINGS: usize = 6;

/// Fewest points beside a change of the cycle.
const LEAST_BESIDE: usize = 12;

/// A level and a cycle, which may change once.
#[derive(Debug, Clone)]
pub(super) struct Cycle {
    /// Sum of the squares about the fit.
    pub squares: f64,
    /// The cycle without the level, for each point.
    pub wave: Vec<f64>,
    /// Index at which another phase or size begins.
    pub split: Option<usize>,
}

/// Sums of the normal equations for 1, cosine and sine, and of the squares.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    n: f64,
    c: f64,
    s: f64,
    cc: f64,
    cs: f64,
    ss: f64,
    x: f64,
    xc: f64,
    xs: f64,
    xx: f64,
}

impl Sums {
    fn with(self, x: f64, c: f64, s: f64) -> Self {
        Self {
            n: self.n + 1.0,
            c: self.c + c,
            s: self.s + s,
            cc: self.cc + c * c,
            cs: self.cs + c * s,
            ss: self.ss + s * s,
            x: self.x + x,
            xc: self.xc + x * c,
            xs: self.xs + x * s,
            xx: self.xx + x * x,
        }
    }

    fn less(self, other: Self) -> Self {
        Self {
            n: self.n - other.n,
            c: self.c - other.c,
            s: self.s - other.s,
            cc: self.cc - other.cc,
            cs: self.cs - other.cs,
            ss: self.ss - other.ss,
            x: self.x - other.x,
            xc: self.xc - other.xc,
            xs: self.xs - other.xs,
            xx: self.xx - other.xx,
        }
    }

    /// Cosine, sine, and the squares that the fit leaves. `None` where the equations are not independent.
    fn fit(self) -> Option<(f64, f64, f64)> {
        let (cc, cs, ss) = (
            self.cc - self.c * self.c / self.n,
            self.cs - self.c * self.s / self.n,
            self.ss - self.s * self.s / self.n,
        );
        let (xc, xs, xx) = (
            self.xc - self.x * self.c / self.n,
            self.xs - self.x * self.s / self.n,
            self.xx - self.x * self.x / self.n,
        );
        let determinant = cc * ss - cs * cs;
        if determinant <= 1e-6 * cc * ss {
            return None;
        }
        let (a, b) = ((xc * ss - xs * cs) / determinant, (xs * cc - xc * cs) / determinant);
        Some((a, b, (xx - a * xc - b * xs).max(0.0)))
    }
}

/// The best cycle without and with a change. `None` for a series too short, too long, or without any spread.
pub(super) fn search(values: &[f64]) -> Option<[Cycle; 2]> {
    let n = values.len();
    if !(LEAST_POINTS..=MOST_POINTS).contains(&n) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let centred: Vec<f64> = values.iter().map(|x| x - mean).collect();
    if centred.iter().all(|x| *x == 0.0) {
        return None;
    }
    // In rounds over the whole series.
    let (first, last) = (ROUNDS, n as f64 / SHORTEST);
    let power = |rounds: f64| {
        let (mut a, mut b) = (0.0, 0.0);
        let step = (TAU * rounds / n as f64).sin_cos();
        let (mut s, mut c) = (0.0, 1.0);
        for x in &centred {
            a += x * c;
            b += x * s;
            (s, c) = (s * step.1 + c * step.0, c * step.1 - s * step.0);
        }
        a * a + b * b
    };
    // Half steps, since a change of phase divides one line into two beside each other.
    let mut peak = (0.0, first);
    for k in 0.. {
        let rounds = first + 0.5 * f64::from(k);
        if rounds > last {
            break;
        }
        let here = power(rounds);
        if here > peak.0 {
            peak = (here, rounds);
        }
    }
    let mut best: [Option<Fit>; 2] = [None, None];
    for k in -GRID..=GRID {
        try_period(&centred, (peak.1 + WIDTH * f64::from(k) / f64::from(GRID)).clamp(first, last), &mut best);
    }
    // Each of the two fits has its own best period, which halving steps come close to.
    let mut step = 0.5 * WIDTH / f64::from(GRID);
    for _ in 0..HALVINGS {
        for at in 0..best.len() {
            for to in [-step, step] {
                let Some((_, rounds, _)) = best[at] else { continue };
                try_period(&centred, (rounds + to).clamp(first, last), &mut best);
            }
        }
        step *= 0.5;
    }
    let [without, with] = best;
    Some([made(&centred, without?, None), made(&centred, with?, with.map(|(_, _, split)| split))])
}

/// Squares that are left, rounds over the series, and the place of a change.
type Fit = (f64, f64, usize);

/// Fits without and with a change at one period. The better ones stay.
fn try_period(values: &[f64], rounds: f64, best: &mut [Option<Fit>; 2]) {
    let n = values.len();
    let sums = sums(values, rounds);
    let whole = sums[n];
    let mut take = |at: usize, squares: f64, split: usize| {
        if best[at].is_none_or(|(least, _, _)| squares < least) {
            best[at] = Some((squares, rounds, split));
        }
    };
    if let Some((_, _, squares)) = whole.fit() {
        take(0, squares, n);
    }
    for (split, &left) in sums.iter().enumerate().take(n + 1 - LEAST_BESIDE).skip(LEAST_BESIDE) {
        let right = whole.less(left);
        if let (Some((_, _, left)), Some((_, _, right))) = (left.fit(), right.fit()) {
            take(1, left + right, split);
        }
    }
}

/// Sums up to each place.
fn sums(values: &[f64], rounds: f64) -> Vec<Sums> {
    let mut sums = Vec::with_capacity(values.len() + 1);
    let mut sum = Sums::default();
    sums.push(sum);
    for (i, x) in values.iter().enumerate() {
        let (s, c) = (TAU * rounds * i as f64 / values.len() as f64).sin_cos();
        sum = sum.with(*x, c, s);
        sums.push(sum);
    }
    sums
}

/// The wave of a fit.
fn made(values: &[f64], (squares, rounds, at): (f64, f64, usize), split: Option<usize>) -> Cycle {
    let n = values.len();
    let sums = sums(values, rounds);
    let left = sums[at.min(n)].fit();
    let right = sums[n].less(sums[at.min(n)]).fit();
    let wave = (0..n).map(|i| {
        let (a, b, _) = (if i < at { left } else { right }).unwrap_or_default();
        let (s, c) = (TAU * rounds * i as f64 / n as f64).sin_cos();
        a * c + b * s
    });
    Cycle { squares, wave: wave.collect(), split }
}
