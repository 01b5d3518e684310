//! What must hold whatever the data: order, shift, scale, exchange of the arms, and how often intervals hold the truth.

use sparkbench::stats::random::{Stream, job_base};
use sparkbench::stats::{self, Direction, Sample, dist, fieller, quantile_interval, sorted};

const CONFIDENCE: f64 = 0.95;

/// Seeded uniform numbers inside (0, 1).
struct Uniform(Stream);

impl Uniform {
    fn new(name: &str, trial: u64) -> Self {
        Self(Stream::new(job_base(42, name), trial))
    }

    fn next(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn sample(&mut self, n: usize, quantile: fn(f64) -> f64) -> Vec<f64> {
        (0..n).map(|_| quantile(self.next())).collect()
    }
}

fn normal(p: f64) -> f64 {
    50.0 + 4.0 * dist::normal_quantile(p)
}

fn lognormal(p: f64) -> f64 {
    (0.8 * dist::normal_quantile(p)).exp()
}

fn exponential(p: f64) -> f64 {
    -(1.0 - p).ln()
}

fn arms() -> Vec<(Vec<f64>, Vec<f64>)> {
    [(2, 2), (3, 5), (10, 10), (30, 40), (200, 60)]
        .into_iter()
        .enumerate()
        .map(|(trial, (na, nb))| {
            let mut uniform = Uniform::new("arms", trial as u64);
            (uniform.sample(na, normal), uniform.sample(nb, normal))
        })
        .collect()
}

#[track_caller]
fn near(x: f64, y: f64, scale: f64) {
    assert!((x - y).abs() <= 1e-9 * scale.max(y.abs()), "{x} is not {y}");
}

#[test]
fn the_order_of_the_input_does_not_matter() {
    for (a, b) in arms() {
        let (turned_a, turned_b) = (a.iter().rev().copied().collect::<Vec<_>>(), sorted(&b));
        let (x, y) =
            (stats::welch(&a, &b, CONFIDENCE).unwrap(), stats::welch(&turned_a, &turned_b, CONFIDENCE).unwrap());
        near(x.t, y.t, 1e-3);
        near(x.p, y.p, 1e-9);
        assert_eq!(stats::mann_whitney(&a, &b), stats::mann_whitney(&turned_a, &turned_b));
        let (d, e) = (
            stats::describe(&Sample::new(a.iter().copied()), CONFIDENCE),
            stats::describe(&Sample::new(turned_a), CONFIDENCE),
        );
        near(d.mean.unwrap(), e.mean.unwrap(), 1.0);
        assert_eq!((d.p25, d.p99, d.mad), (e.p25, e.p99, e.mad));
    }
}

#[test]
fn shifting_shifts_and_scaling_scales() {
    for (a, b) in arms() {
        let map = |values: &[f64], f: fn(f64) -> f64| values.iter().map(|x| f(*x)).collect::<Vec<f64>>();
        let plain = stats::welch(&a, &b, CONFIDENCE).unwrap();
        let shifted = stats::welch(&map(&a, |x| x + 1000.0), &map(&b, |x| x + 1000.0), CONFIDENCE).unwrap();
        let scaled = stats::welch(&map(&a, |x| x * 8.0), &map(&b, |x| x * 8.0), CONFIDENCE).unwrap();
        near(shifted.t, plain.t, 1.0);
        near(shifted.diff_lo, plain.diff_lo, 1000.0);
        assert_eq!((scaled.t, scaled.p, scaled.diff_hi), (plain.t, plain.p, 8.0 * plain.diff_hi));
        let interval = stats::descriptive::t_interval(&a, None, CONFIDENCE).unwrap();
        let moved = stats::descriptive::t_interval(&map(&a, |x| x + 1000.0), None, CONFIDENCE).unwrap();
        near(moved.0, interval.0 + 1000.0, 1.0);
        let ratio = fieller::overhead_pct(&a, &b, Direction::LowerIsBetter, CONFIDENCE);
        let same =
            fieller::overhead_pct(&map(&a, |x| x * 8.0), &map(&b, |x| x * 8.0), Direction::LowerIsBetter, CONFIDENCE);
        assert_eq!(ratio, same);
        assert_eq!(stats::shapiro(&a), stats::shapiro(&map(&a, |x| x * 8.0)));
    }
}

#[test]
fn exchanging_the_arms_turns_the_signs() {
    for (a, b) in arms() {
        let (x, y) = (stats::welch(&a, &b, CONFIDENCE).unwrap(), stats::welch(&b, &a, CONFIDENCE).unwrap());
        assert_eq!((x.t, x.diff_lo, x.p), (-y.t, -y.diff_hi, y.p));
        let (x, y) = (stats::hedges_g(&a, &b, CONFIDENCE).unwrap(), stats::hedges_g(&b, &a, CONFIDENCE).unwrap());
        near(x.g, -y.g, 1e-6);
        near(x.lo, -y.hi, 1e-2);
        assert!(x.lo < x.g && x.g < x.hi);
        assert_eq!(stats::cliff_delta(&a, &b), stats::cliff_delta(&b, &a).map(|d| -d));
        near(stats::mann_whitney(&a, &b).unwrap().p, stats::mann_whitney(&b, &a).unwrap().p, 1e-9);
        let (low, high) = fieller::ratio_interval(&a, &b, CONFIDENCE).unwrap();
        let ratio = stats::mean(&a) / stats::mean(&b);
        assert!(low < ratio && ratio < high);
    }
}

#[test]
fn equivalence_is_the_ninety_per_cent_interval_inside_the_margin() {
    for (a, b) in arms() {
        let ninety = stats::welch(&a, &b, 0.9).unwrap();
        let smallest = stats::smallest_margin_pct(&a, &b, CONFIDENCE).unwrap();
        for margin in [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0, 0.999 * smallest, 1.001 * smallest] {
            let test = stats::tost(&a, &b, margin, CONFIDENCE).unwrap();
            let inside = -test.delta < ninety.diff_lo && ninety.diff_hi < test.delta;
            assert_eq!((test.equivalent, test.p < 0.05), (inside, margin > smallest), "margin {margin}");
        }
        assert!(!stats::tost(&a, &a, 0.0, CONFIDENCE).unwrap().equivalent);
        assert!(!stats::tost(&a, &a, -1.0, CONFIDENCE).unwrap().equivalent);
    }
}

/// Printed, not assumed. The bands are what theory and the simulations of the literature allow, widened by four standard errors.
#[test]
fn intervals_hold_the_truth_as_often_as_they_should() {
    const TRIALS: u64 = 2000;
    type Law = (&'static str, fn(f64) -> f64, f64, f64);
    let laws: [Law; 3] = [
        ("normal", normal, 50.0, 50.0),
        ("lognormal", lognormal, (0.32_f64).exp(), 1.0),
        ("exponential", exponential, 1.0, std::f64::consts::LN_2),
    ];
    println!("{:12} {:>4} {:>8} {:>8} {:>8} {:>9}", "law", "n", "t", "median", "Fieller", "log ratio");
    for (name, quantile, mean, median) in laws {
        for n in [10, 30, 200] {
            let mut held = [0_u32; 4];
            for trial in 0..TRIALS {
                let mut uniform = Uniform::new(&format!("coverage {name} {n}"), trial);
                let (a, b) = (uniform.sample(n, quantile), uniform.sample(n, quantile));
                let within = |limits: Option<(f64, f64)>, truth: f64| {
                    limits.is_some_and(|(low, high)| low <= truth && truth <= high)
                };
                let order = quantile_interval(&sorted(&a), 0.5, CONFIDENCE);
                let found = [
                    within(stats::descriptive::t_interval(&a, None, CONFIDENCE), mean),
                    within(order.lo.zip(order.hi), median),
                    within(fieller::ratio_interval(&b, &a, CONFIDENCE), 1.0),
                    within(stats::log_ratio_overhead_pct(&a, &b, Direction::LowerIsBetter, CONFIDENCE), 0.0),
                ];
                for (count, found) in held.iter_mut().zip(found) {
                    *count += u32::from(found);
                }
            }
            let share = held.map(|count| f64::from(count) / TRIALS as f64);
            println!("{name:12} {n:>4} {:>8.3} {:>8.3} {:>8.3} {:>9.3}", share[0], share[1], share[2], share[3]);
            // Four standard errors at 95 % are 0.0195. The t-interval of a skewed law is known to be short for small n.
            let least_t = if name == "normal" || n == 200 { 0.92 } else { 0.86 };
            assert!(share[0] >= least_t && share[0] <= 0.97, "{name} {n}: t {}", share[0]);
            assert!(
                share[1] >= 0.93,
                "{name} {n}: the order-statistic interval is never below its level, found {}",
                share[1]
            );
            assert!(share[2] >= 0.92 && share[2] <= 0.985, "{name} {n}: Fieller {}", share[2]);
            assert!(share[3] >= 0.93 && share[3] <= 0.975, "{name} {n}: log ratio {}", share[3]);
        }
    }
}

#[test]
fn two_hundred_thousand_values_are_no_trouble() {
    let mut uniform = Uniform::new("many", 0);
    let values = uniform.sample(200_000, normal);
    let d = stats::describe(&Sample::new(values.iter().copied()), CONFIDENCE);
    near(d.mean.unwrap(), 50.0, 1e8);
    assert!((d.sd.unwrap() - 4.0).abs() < 0.05);
    let trend = stats::drift(&values, CONFIDENCE).unwrap();
    assert!(trend.p > 1e-4 && trend.sen_slope.abs() < 1e-6);
    let interval = quantile_interval(&sorted(&values), 0.99, CONFIDENCE);
    assert!(interval.coverage >= 0.95 && interval.coverage < 0.953);
    assert_eq!(stats::mann_whitney(&values, &values).map(|t| t.p), Some(1.0));
}
