use super::*;

/// One percentile alone.
fn percentile(runs: &[Vec<f64>], p: f64, job: &Job) -> Option<Hierarchical> {
    percentiles(runs, &[p], job)?.pop()
}

fn job(resamples: usize, threads: usize) -> Job {
    Job { seed: 42, key: "m|ttft_ms|native|p99".into(), resamples, confidence: 0.95, threads }
}

/// Runs of the given sizes with a spread between runs and ties among requests.
fn runs(sizes: &[usize]) -> Vec<Vec<f64>> {
    let mut stream = Stream::new(77, 0);
    let between: Vec<f64> = sizes.iter().map(|_| 20.0 * stream.uniform()).collect();
    sizes
        .iter()
        .zip(between)
        .map(|(&n, shift)| (0..n).map(|_| (shift - 10.0 * stream.uniform().ln()).floor()).collect())
        .collect()
}

/// The contract read aloud, on values: draw runs, draw requests, pool, sort, interpolate.
fn literal(sorted: &[Vec<f64>], p: f64, base: u64, b: u64) -> f64 {
    let mut stream = Stream::new(base, b);
    let picks: Vec<usize> = sorted.iter().map(|_| stream.index(sorted.len())).collect();
    let mut drawn: Vec<f64> = Vec::new();
    for pick in picks {
        for _ in 0..sorted[pick].len() {
            drawn.push(sorted[pick][stream.index(sorted[pick].len())]);
        }
    }
    drawn.sort_by(f64::total_cmp);
    let h = (drawn.len() - 1) as f64 * p;
    let k = h.floor() as usize;
    if k + 1 < drawn.len() { drawn[k] + (h - k as f64) * (drawn[k + 1] - drawn[k]) } else { drawn[k] }
}

#[test]
fn windowed_draws_have_the_bits_of_the_literal_reading() {
    let shapes: [&[usize]; 6] = [&[1, 1], &[3, 5, 2], &[40; 30], &[1_000, 1, 7, 513, 2_000], &[600; 3], &[2; 700]];
    // Alone, two, three far apart, three whose windows overlap, more than go together, in no order.
    let levels: [&[f64]; 8] = [
        &[0.5],
        &[0.99],
        &[0.0],
        &[1.0],
        &[0.99, 0.5],
        &[0.5, 0.95, 0.99],
        &[0.52, 0.5, 0.51],
        &[1.0, 0.5, 0.0, 0.5, 0.95],
    ];
    for sizes in shapes {
        let sorted = sorted_runs(&runs(sizes), &[0.5], &job(999, 1)).unwrap();
        let pooled = Pooled::new(&sorted).unwrap();
        let base = job_base(42, &job(1, 1).key);
        for ps in levels {
            let fast = draws(&pooled, ps, &job(61, 1));
            assert_eq!(fast.len(), ps.len());
            for (draws, &p) in fast.iter().zip(ps) {
                assert_eq!(draws.len(), 61);
                for (b, draw) in draws.iter().enumerate() {
                    assert_eq!(
                        draw.to_bits(),
                        literal(&sorted, p, base, b as u64).to_bits(),
                        "{sizes:?}, p = {p} of {ps:?}, resample {b}"
                    );
                }
            }
        }
    }
}

#[test]
fn resamples_that_miss_their_window_are_drawn_again() {
    let sorted = sorted_runs(&runs(&[300; 6]), &[0.5], &job(999, 1)).unwrap();
    let pooled = Pooled::new(&sorted).unwrap();
    let cuts = Cuts::new(&pooled);
    let ps = [0.5, 0.51, 0.99];
    let mut out = [[0.0; 3]; 32];
    widest(Windowed { pooled: &pooled, cuts: &cuts, ps, base: 9, first: 0, out: &mut out, reach: 0.0 });
    for (b, draws) in out.iter().enumerate() {
        assert_eq!(*draws, ps.map(|p| literal(&sorted, p, 9, b as u64)), "resample {b}");
    }
}

#[test]
fn several_percentiles_are_what_each_is_alone_on_any_number_of_threads() {
    let input = runs(&[200, 150, 300, 20, 250, 100]);
    let ps = [0.99, 0.5, 0.95, 0.5];
    let alone: Vec<Hierarchical> = ps.iter().map(|&p| percentile(&input, p, &job(1_501, 1)).unwrap()).collect();
    for threads in [0, 1, 2, 3, 5] {
        assert_eq!(percentiles(&input, &ps, &job(1_501, threads)).unwrap(), alone, "{threads} threads");
    }
    assert_eq!(percentiles(&input, &[], &job(999, 1)), Some(Vec::new()));
    assert_eq!(percentiles(&input, &[0.5, 1.5], &job(999, 1)), None);
}

#[test]
fn order_of_runs_requests_and_number_of_threads_do_not_matter() {
    let mut input = runs(&[200, 150, 300, 20, 250, 100]);
    let one = percentile(&input, 0.95, &job(999, 1)).unwrap();
    input.reverse();
    input.iter_mut().for_each(|run| run.reverse());
    for threads in [0, 1, 2, 3] {
        assert_eq!(percentile(&input, 0.95, &job(999, threads)).unwrap(), one);
    }
    assert!(one.lo <= one.estimate && one.estimate <= one.hi);
}

#[test]
fn the_interval_knows_that_runs_differ() {
    // Ten runs at levels 0, 10, ..., 90 with hardly any spread inside. The median of all requests is known only as well as the levels.
    let input: Vec<Vec<f64>> =
        (0..10).map(|r| (0..100).map(|i| f64::from(r) * 10.0 + f64::from(i) * 0.01).collect()).collect();
    let pooled: Vec<f64> = input.concat();
    let nested = percentile(&input, 0.5, &job(2_000, 1)).unwrap();
    let flat = crate::bootstrap::one_sample(&pooled, crate::bootstrap::Statistic::Median, &job(2_000, 1)).unwrap();
    assert!(nested.hi - nested.lo > 3.0 * (flat.percentile.hi - flat.percentile.lo));
}

#[test]
fn what_cannot_be_said_is_absent_and_what_is_weak_is_flagged() {
    assert_eq!(percentile(&[], 0.5, &job(999, 1)), None);
    assert_eq!(percentile(&[vec![1.0, 2.0, 3.0]], 0.5, &job(999, 1)), None);
    assert_eq!(percentile(&[vec![1.0, 2.0], vec![]], 0.5, &job(999, 1)), None);
    assert_eq!(percentile(&[vec![1.0, 2.0], vec![f64::NAN]], 0.5, &job(999, 1)), None);
    let weak = percentile(&[vec![1.0, 2.0], vec![], vec![4.0]], 0.5, &job(999, 1)).unwrap();
    assert_eq!((weak.flags, weak.estimate, weak.median_of_runs), (vec![FLAG_FEW_RUNS, FLAG_EMPTY_RUN], 2.0, 2.75));
    let constant = percentile(&vec![vec![5.0; 3]; 6], 0.99, &job(999, 1)).unwrap();
    assert_eq!((constant.lo, constant.hi, constant.flags), (5.0, 5.0, vec![FLAG_CONSTANT]));
}

#[test]
fn few_runs_are_no_bootstrap_and_few_requests_no_interval() {
    assert_eq!(Estimand::of(&[40; 5], 0.99), None);
    assert_eq!(Estimand::of(&[1_000; 5], 0.99), Some(Estimand::MeanOfRuns));
    // One run that does not carry the percentile cannot be part of their mean.
    assert_eq!(Estimand::of(&[1_000, 1_000, 499], 0.99), None);
    assert_eq!(Estimand::of(&[1_000], 0.99), None);
    assert_eq!(Estimand::of(&[50; 10], 0.99), Some(Estimand::AllRequests));
    assert_eq!(Estimand::of(&[49; 10], 0.99), None);
}
