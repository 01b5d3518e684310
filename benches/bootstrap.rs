//! Times the bootstrap on fixed cases and prints one line per case.
//!
//! In:  an optional file of rival timings, `name<TAB>milliseconds` a line, as `rivals.py` and `rival.c` print them.
//! Out: on stdout `name<TAB>milliseconds<TAB>algorithm`; the ratios are `run.sh`'s work.
//! Not here: assertions. A machine that is busy is not a fault of the code.
//!
//! A plain program instead of a framework: the rivals are programs too, and all must print the same table.

use sparkbench::stats::bootstrap::{Draws, Job, Statistic, TwoSample, one_sample, one_sample_by, two_sample};
use sparkbench::stats::{hierarchical, permutation};
use std::hint::black_box;
use std::time::Instant;

/// Repetitions of a case: at least this many, and more until [`ENOUGH_MS`] have passed.
const AT_LEAST: usize = 3;
/// Time after which a case has been repeated enough.
const ENOUGH_MS: f64 = 300.0;

fn main() {
    // `cargo bench` passes `--bench`. Anything else selects cases by a part of their name.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let all = std::thread::available_parallelism().map_or(1, |n| n.get());
    let measure = |name: &str, algorithm: &str, run: &dyn Fn(usize)| {
        for (label, threads) in [("1", 1), ("all", 0)] {
            let full = format!("{name} threads={label}");
            if (threads == 0 && all == 1) || !(wanted.is_empty() || wanted.iter().any(|w| full.contains(w.as_str()))) {
                continue;
            }
            println!("{full}\t{:.3}\tsparkbench: {algorithm}", median_ms(&|| run(threads)));
        }
    };

    for n in [30, 1_000, 50_000] {
        let values = sample(n);
        measure(&format!("bca-mean n={n}"), "index resampling, percentile + basic + BCa + studentised", &|threads| {
            black_box(one_sample(&values, Statistic::Mean, &job(threads)));
        });
    }
    for n in [1_000, 50_000] {
        let values = sample(n);
        for (way, draws) in [("indices", Draws::Index), ("ranks", Draws::Rank)] {
            let algorithm = match draws {
                Draws::Index => "every index drawn, selection among words",
                Draws::Rank => "order statistics from Beta variates",
            };
            measure(&format!("p99-by-{way} n={n}"), algorithm, &|threads| {
                black_box(one_sample_by(&values, Statistic::P99, &job(threads), draws));
            });
        }
        measure(&format!("median-by-indices n={n}"), "every index drawn, selection among words", &|threads| {
            black_box(one_sample_by(&values, Statistic::Median, &job(threads), Draws::Index));
        });
    }
    let (a, b) = (sample(30), sample(31));
    measure("bca-difference n=30+31", "index resampling of both arms", &|threads| {
        black_box(two_sample(&a, &b, TwoSample::Difference, &job(threads)));
    });
    let runs: Vec<Vec<f64>> = (0..30).map(|r| sample(1_000).iter().map(|v| v + f64::from(r)).collect()).collect();
    measure("hierarchical-p99 30x1000", "every index drawn, selection among pooled ranks", &|threads| {
        black_box(hierarchical::percentiles(&runs, &[0.99], &job(threads)));
    });
    measure("hierarchical-p50+p95+p99 30x1000", "the same draws, three percentiles from one pass", &|threads| {
        black_box(hierarchical::percentiles(&runs, &[0.5, 0.95, 0.99], &job(threads)));
    });
    let (a, b) = (sample(50), sample(51));
    measure("permutation n=50+51", "99,999 Fisher-Yates splits", &|threads| {
        black_box(permutation::mean_difference(&a, &b, &job(threads)));
    });
    measure("permutation n=10+10", "all 184,756 splits", &|threads| {
        black_box(permutation::mean_difference(&a[..10], &b[..10], &job(threads)));
    });
}

fn job(threads: usize) -> Job {
    Job { seed: 42, key: "bench|ttft_ms|native|statistic".into(), resamples: 10_000, confidence: 0.95, threads }
}

/// Latencies with a long tail, the same in `rivals.py` and `rival.c`: -100 ln of the fractions of the golden ratio.
fn sample(n: usize) -> Vec<f64> {
    (1..=n).map(|i| -100.0 * (1.0 - (i as f64 * 0.618_033_988_749_894_9).fract()).ln()).collect()
}

fn median_ms(run: &dyn Fn()) -> f64 {
    run();
    let started = Instant::now();
    let mut times = Vec::new();
    while times.len() < AT_LEAST || started.elapsed().as_secs_f64() * 1e3 < ENOUGH_MS {
        let start = Instant::now();
        run();
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
