//! How often bootstrap intervals that claim 95 % hold the truth.
//!
//! Draws samples of a known law again and again and counts. Prints one table; `docs` and pages may quote it, with n.
//!
//! ```text
//! cargo run --release --no-default-features --features examples --example bootstrap_coverage [samples] [resamples]
//! ```

use rayon::prelude::*;
use sparkbench::stats::bootstrap::{Job, Limits, Statistic, one_sample};
use sparkbench::stats::random::{Stream, job_base};

/// A law, its mean and its median.
struct Law {
    name: &'static str,
    draw: fn(&mut Stream) -> f64,
    mean: f64,
    median: f64,
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|a| a.parse::<usize>().ok());
    let samples = arguments.next().unwrap_or(4_000);
    let resamples = arguments.next().unwrap_or(1_999);
    let laws = [
        Law { name: "normal", draw: normal, mean: 0.0, median: 0.0 },
        Law { name: "lognormal", draw: |s| normal(s).exp(), mean: 0.5f64.exp(), median: 1.0 },
        Law { name: "exponential", draw: |s| -s.uniform().ln(), mean: 1.0, median: std::f64::consts::LN_2 },
    ];
    let error = 100.0 * (0.95 * 0.05 / samples as f64).sqrt();
    println!(
        "Per cent of {samples} samples whose 95 % interval holds the truth ({resamples} resamples; standard error {error:.1})\n"
    );
    println!("| law | statistic | n | percentile | basic | BCa | studentised |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    for law in &laws {
        for (statistic, label, truth) in
            [(Statistic::Mean, "mean", law.mean), (Statistic::Median, "median", law.median)]
        {
            for n in [10, 30, 200] {
                let cells = coverage(law, statistic, truth, n, samples, resamples);
                println!("| {} | {label} | {n} | {} |", law.name, cells.join(" | "));
            }
        }
    }
}

/// One cell per interval; a dash where a sample had none.
fn coverage(law: &Law, statistic: Statistic, truth: f64, n: usize, samples: usize, resamples: usize) -> [String; 4] {
    let base = job_base(42, &format!("coverage|{}|{n}", law.name));
    let held: Vec<[Option<bool>; 4]> = (0..samples as u64)
        .into_par_iter()
        .filter_map(|i| {
            let mut stream = Stream::new(base, i);
            let values: Vec<f64> = (0..n).map(|_| (law.draw)(&mut stream)).collect();
            let job = Job { seed: i, key: "coverage".into(), resamples, confidence: 0.95, threads: 1 };
            let got = one_sample(&values, statistic, &job)?;
            let holds = |l: &Limits| l.lo <= truth && truth <= l.hi;
            let studentised = got.studentised.as_ref().map(holds);
            Some([Some(holds(&got.percentile)), Some(holds(&got.basic)), Some(holds(&got.bca)), studentised])
        })
        .collect();
    std::array::from_fn(|method| {
        let known: Vec<bool> = held.iter().filter_map(|row| row[method]).collect();
        let hits = known.iter().filter(|&&hit| hit).count();
        if known.is_empty() { "-".into() } else { format!("{:.1}", 100.0 * hits as f64 / known.len() as f64) }
    })
}

/// Box and Muller: one of the pair.
fn normal(stream: &mut Stream) -> f64 {
    (-2.0 * stream.uniform().ln()).sqrt() * (std::f64::consts::TAU * stream.uniform()).cos()
}
