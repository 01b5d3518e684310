//! Boundaries against published values and against two other methods. Decisions against cases worked by hand.

use super::*;
use crate::dist;
use crate::overhead::Direction;
use crate::random::{Stream, job_base};

fn times(looks: &[usize]) -> Vec<f64> {
    let last = *looks.last().unwrap() as f64;
    looks.iter().map(|n| *n as f64 / last).collect()
}

fn z(looks: &[usize], spending: Spending, alpha: f64, sides: Sides) -> Vec<f64> {
    Boundary::new(&times(looks), spending, alpha, sides).unwrap().z
}

fn close(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (x, y) in found.iter().zip(expected) {
        assert!((x - y).abs() < within, "{found:?} against {expected:?}");
    }
}

#[test]
fn published_boundaries_agree_to_four_digits() {
    // Five equal looks, two-sided 0.05: as gsDesign and rpact print them.
    let five = [1, 2, 3, 4, 5];
    close(&z(&five, Spending::ObrienFleming, 0.05, Sides::Two), &[4.8769, 3.3570, 2.6803, 2.2898, 2.0310], 6e-5);
    close(&z(&five, Spending::Pocock, 0.05, Sides::Two), &[2.4380, 2.4268, 2.4102, 2.3966, 2.3860], 6e-5);
    // Two, three and four equal looks: Jennison and Turnbull (2000), and gsDesign.
    close(&z(&[1, 2], Spending::ObrienFleming, 0.05, Sides::Two), &[2.9626, 1.9686], 6e-5);
    close(&z(&[1, 2, 3], Spending::ObrienFleming, 0.05, Sides::Two), &[3.7103, 2.5114, 1.9930], 6e-5);
    close(&z(&[1, 2, 3, 4], Spending::ObrienFleming, 0.05, Sides::Two), &[4.3326, 2.9631, 2.3590, 2.0141], 6e-5);
}

/// Looks, spending, alpha, sides, z.
type Reference = (&'static [usize], Spending, f64, Sides, &'static [f64]);

/// By integrals of the multivariate normal density over the region in which nothing has ended, and a root in its last limit. They use
/// `scipy.stats.multivariate_normal.cdf(..., lower_limit=...)` of SciPy 1.17.1 (Genz's quasi-Monte-Carlo method) and `brentq`.
const REFERENCES: &[Reference] = &[
    (&[1, 2, 3, 4, 5], Spending::ObrienFleming, 0.05, Sides::Two, &[4.87688, 3.35701, 2.68028, 2.28982, 2.03103]),
    (&[1, 2, 3, 4, 5], Spending::Pocock, 0.05, Sides::Two, &[2.43798, 2.42681, 2.41019, 2.39665, 2.38598]),
    (&[1, 2, 3, 4, 5], Spending::Linear, 0.05, Sides::Two, &[2.57583, 2.49197, 2.41083, 2.33914, 2.27551]),
    (&[5, 8, 12, 20, 30], Spending::ObrienFleming, 0.05, Sides::Two, &[5.36656, 4.18588, 3.36038, 2.51715, 1.99344]),
    (&[5, 8, 12, 20, 30], Spending::ObrienFleming, 0.05, Sides::One, &[4.66021, 3.62089, 2.89559, 2.15094, 1.69575]),
    (&[5, 8, 12, 20, 30], Spending::ObrienFleming, 0.01, Sides::Two, &[6.77631, 5.31088, 4.28722, 3.24707, 2.58937]),
    (&[5, 8, 12, 20, 30], Spending::ObrienFleming, 0.1, Sides::One, &[3.86300, 2.98306, 2.37246, 1.73905, 1.36168]),
    (&[5, 8, 12, 20, 30], Spending::Pocock, 0.05, Sides::Two, &[2.49512, 2.57704, 2.51309, 2.36898, 2.31449]),
    (&[5, 8, 12, 20, 30], Spending::Pocock, 0.05, Sides::One, &[2.23858, 2.30548, 2.23004, 2.07051, 2.00149]),
    (&[5, 8, 12, 20, 30], Spending::Pocock, 0.01, Sides::Two, &[3.02113, 3.12321, 3.07480, 2.95197, 2.91694]),
    (&[5, 8, 12, 20, 30], Spending::Pocock, 0.1, Sides::One, &[1.95684, 2.00190, 1.90933, 1.72644, 1.63467]),
    (&[5, 8, 12, 20, 30], Spending::Linear, 0.05, Sides::Two, &[2.63826, 2.67539, 2.56802, 2.35325, 2.21311]),
    (&[5, 8, 12, 20, 30], Spending::Linear, 0.05, Sides::One, &[2.39398, 2.41604, 2.29510, 2.05918, 1.89590]),
    (&[5, 8, 12, 20, 30], Spending::Linear, 0.01, Sides::Two, &[3.14398, 3.20268, 3.11532, 2.93182, 2.82460]),
    (&[5, 8, 12, 20, 30], Spending::Linear, 0.1, Sides::One, &[2.12805, 2.12911, 1.98907, 1.72292, 1.52515]),
    (&[3, 4, 10], Spending::ObrienFleming, 0.05, Sides::Two, &[3.92857, 3.36705, 1.96230]),
    (&[3, 4, 10], Spending::ObrienFleming, 0.05, Sides::One, &[3.39295, 2.90596, 1.65114]),
    (&[3, 4, 10], Spending::ObrienFleming, 0.01, Sides::Two, &[4.99273, 4.28933, 2.57606]),
    (&[3, 4, 10], Spending::ObrienFleming, 0.1, Sides::One, &[2.78545, 2.38765, 1.29855]),
    (&[3, 4, 10], Spending::Pocock, 0.05, Sides::Two, &[2.31184, 2.48977, 2.17771]),
    (&[3, 4, 10], Spending::Pocock, 0.05, Sides::One, &[2.03776, 2.20233, 1.86532]),
    (&[3, 4, 10], Spending::Pocock, 0.01, Sides::Two, &[2.86597, 3.06140, 2.78154]),
    (&[3, 4, 10], Spending::Pocock, 0.1, Sides::One, &[1.73271, 1.87748, 1.50091]),
    (&[3, 4, 10], Spending::Linear, 0.05, Sides::Two, &[2.43238, 2.55408, 2.10517]),
    (&[3, 4, 10], Spending::Linear, 0.05, Sides::One, &[2.17009, 2.27754, 1.79008]),
    (&[3, 4, 10], Spending::Linear, 0.01, Sides::Two, &[2.96774, 3.10948, 2.71532]),
    (&[3, 4, 10], Spending::Linear, 0.1, Sides::One, &[1.88079, 1.96804, 1.42344]),
];

#[test]
fn boundaries_agree_with_integrals_of_the_multivariate_normal() {
    for (looks, spending, alpha, sides, expected) in REFERENCES {
        close(&z(looks, *spending, *alpha, *sides), expected, 2e-4);
    }
}

/// A standard normal value: a uniform draw through the quantile function.
fn normal(stream: &mut Stream) -> f64 {
    let uniform = ((stream.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    dist::normal_quantile(uniform)
}

#[test]
fn simulated_scores_leave_as_often_as_was_spent() {
    const PATHS: usize = 200_000;
    let looks = [5, 8, 12, 20, 30];
    for (spending, sides, alpha) in [
        (Spending::ObrienFleming, Sides::Two, 0.05),
        (Spending::Pocock, Sides::Two, 0.05),
        (Spending::Linear, Sides::One, 0.1),
    ] {
        let boundary = Boundary::new(&times(&looks), spending, alpha, sides).unwrap();
        let mut stream = Stream::new(job_base(42, &format!("sequential|{}", spending.word())), 0);
        let mut left = vec![0usize; looks.len()];
        for _ in 0..PATHS {
            let (mut score, mut before) = (0.0, 0.0);
            for (k, (time, z)) in boundary.times.iter().zip(&boundary.z).enumerate() {
                score += normal(&mut stream) * (time - before).sqrt();
                before = *time;
                let out = z * time.sqrt();
                if score > out || sides == Sides::Two && score < -out {
                    left[k] += 1;
                    break;
                }
            }
        }
        let side = alpha / f64::from(sides.count());
        let mut spent = 0.0;
        for (k, time) in boundary.times.iter().enumerate() {
            let here = f64::from(sides.count()) * (spending.spent(side, *time) - spent);
            spent = spending.spent(side, *time);
            let share = left[k] as f64 / PATHS as f64;
            let error = 4.0 * (here.max(1e-6) / PATHS as f64).sqrt();
            assert!((share - here).abs() < error, "{spending:?}, look {}: {share} against {here}", k + 1);
        }
    }
}

/// Chance to leave upwards at each look for the first time, where nothing drifts.
fn leaves_above(boundary: &Boundary) -> Vec<f64> {
    let mut chances = Vec::with_capacity(boundary.z.len());
    boundary.each(boundary.z.len(), 0.0, |walk, time, high| chances.push(walk.above(time, high)));
    chances
}

#[test]
fn what_leaves_at_each_look_is_what_was_spent_there() {
    for spending in Spending::ALL {
        let boundary = Boundary::new(&times(&[5, 8, 12, 20, 30]), spending, 0.05, Sides::Two).unwrap();
        let whole: f64 = leaves_above(&boundary).iter().sum();
        assert!((whole - 0.025).abs() < 1e-9, "{spending:?}: {whole}");
    }
}

#[test]
fn one_look_is_the_fixed_test() {
    close(&z(&[30], Spending::Pocock, 0.05, Sides::Two), &[1.959_964], 1e-6);
    close(&z(&[30], Spending::Pocock, 0.05, Sides::One), &[1.644_854], 1e-6);
}

#[test]
fn many_looks_and_small_rates_keep_their_digits() {
    // Every block from 2 to 30: the level must still be kept, and no boundary rises where spending is steady.
    let looks: Vec<usize> = (2..=30).collect();
    let boundary = Boundary::new(&times(&looks), Spending::ObrienFleming, 0.05 / 20.0, Sides::Two).unwrap();
    assert!(boundary.z.windows(2).all(|pair| pair[0] > pair[1]), "{:?}", boundary.z);
    let whole: f64 = leaves_above(&boundary).iter().sum();
    assert!((whole - 0.05 / 40.0).abs() < 1e-9, "{whole}");
}

#[test]
fn times_that_do_not_rise_and_rates_that_are_none_have_no_boundary() {
    let of = |times: &[f64], alpha: f64| Boundary::new(times, Spending::Linear, alpha, Sides::Two);
    assert_eq!(of(&[], 0.05), None);
    assert_eq!(of(&[0.5, 0.5, 1.0], 0.05), None);
    assert_eq!(of(&[0.0, 1.0], 0.05), None);
    assert_eq!(of(&[0.5, 1.2], 0.05), None);
    assert_eq!(of(&[0.5, 1.0], 0.0), None);
    assert_eq!(of(&[0.5, 1.0], 1.0), None);
}

#[test]
fn the_p_by_stages_is_the_plain_one_at_the_first_look_and_counts_earlier_exits_later() {
    let boundary = Boundary::new(&times(&[1, 2, 3, 4, 5]), Spending::ObrienFleming, 0.05, Sides::Two).unwrap();
    let plain = |z: f64| 2.0 * dist::normal_sf(z);
    assert!((stagewise::p(&boundary, 0, 2.2).unwrap() - plain(2.2)).abs() < 1e-12);
    // At the boundary of a look the p is what has been spent up to there, on both sides.
    for look in 0..5 {
        let spent = 2.0 * Spending::ObrienFleming.spent(0.025, boundary.times[look]);
        let p = stagewise::p(&boundary, look, boundary.z[look]).unwrap();
        assert!((p - spent).abs() < 1e-9, "look {look}: {p} against {spent}");
        let mirrored = stagewise::p(&boundary, look, -boundary.z[look]).unwrap();
        assert!((p - mirrored).abs() < 1e-12);
    }
    assert!((stagewise::p(&boundary, 4, 0.0).unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(stagewise::p(&boundary, 7, 1.0), None);
}

#[test]
fn the_estimate_after_a_stop_lies_nearer_to_zero_and_half_of_all_lie_above_the_truth() {
    const CAMPAIGNS: usize = 4_000;
    let boundary = Boundary::new(&times(&[5, 8, 12, 20, 30]), Spending::Pocock, 0.05, Sides::Two).unwrap();
    let plain = 3.0 / boundary.times[1].sqrt();
    let shrunk = stagewise::median_unbiased(&boundary, 1, 3.0).unwrap();
    assert!(shrunk > 0.0 && shrunk < plain, "{shrunk} against {plain}");
    let opposite = stagewise::median_unbiased(&boundary, 1, -3.0).unwrap();
    assert!((shrunk + opposite).abs() < 1e-6);
    assert_eq!(stagewise::median_unbiased(&boundary, 0, 2.5), Some(2.5 / boundary.times[0].sqrt()));

    let truth = 2.5;
    let mut stream = Stream::new(job_base(42, "sequential|median"), 0);
    let (mut over, mut plainly_over) = (0usize, 0usize);
    for _ in 0..CAMPAIGNS {
        let (mut score, mut before, mut at) = (0.0, 0.0, 0);
        for (k, (time, z)) in boundary.times.iter().zip(&boundary.z).enumerate() {
            score += truth * (time - before) + normal(&mut stream) * (time - before).sqrt();
            (before, at) = (*time, k);
            if f64::abs(score) > z * time.sqrt() {
                break;
            }
        }
        let score_z = score / boundary.times[at].sqrt();
        over += usize::from(stagewise::median_unbiased(&boundary, at, score_z).unwrap() > truth);
        plainly_over += usize::from(score / boundary.times[at] > truth);
    }
    let share = |count: usize| count as f64 / CAMPAIGNS as f64;
    assert!((share(over) - 0.5).abs() < 3.0 * 0.5 / (CAMPAIGNS as f64).sqrt(), "{}", share(over));
    assert!(share(plainly_over) > 0.53, "the plain estimate is too large more often: {}", share(plainly_over));
}

fn design(looks: &[usize]) -> Design {
    Design::new(looks, Spending::ObrienFleming, 0.05).unwrap()
}

/// Two arms of `blocks` blocks around 100, the candidate higher by `shift`, with a fixed pattern of spread.
fn arms(blocks: usize, shift: f64, spread: f64) -> (Vec<f64>, Vec<f64>) {
    const PATTERN: [f64; 6] = [-1.1, 0.4, 1.2, -0.6, 0.9, -0.8];
    let at = |k: usize| spread * PATTERN[k % PATTERN.len()];
    ((0..blocks).map(|k| 100.0 + at(k)).collect(), (0..blocks).map(|k| 100.0 + shift + at(k + 2)).collect())
}

fn pair<'a>(arms: &'a (Vec<f64>, Vec<f64>), blocks: &'a [usize]) -> Pair<'a> {
    Pair { a: &arms.0, b: &arms.1, blocks, direction: Direction::LowerIsBetter, margin_pct: Some(2.0) }
}

#[test]
fn a_large_difference_is_decided_early_and_a_small_one_ends_equivalent() {
    let (looks, design) = ([5, 8, 12, 20, 30], design(&[5, 8, 12, 20, 30]));
    let large = arms(30, 12.0, 0.1);
    let course = &decide(&[pair(&large, &looks)], &design, 1, &mut Known::default())[0];
    let at = course.counts().unwrap();
    assert_eq!((at.call, at.look, at.n), (Call::Difference, 1, 5));
    let (low, high) = at.repeated_pct.unwrap();
    let fixed = course::contrast(&pair(&large, &looks), 5).unwrap().interval(0.95);
    let (fixed_low, fixed_high) = crate::overhead::interval_from_scale(fixed, Direction::LowerIsBetter).unwrap();
    assert!(low < fixed_low && fixed_high < high && low > 0.0, "the repeated interval is the wider one");
    assert!(course.stagewise_p().unwrap() < 0.001);
    assert_eq!(course.looks.len(), 5, "later looks are shown");

    let same = arms(30, 0.1, 0.5);
    let course = &decide(&[pair(&same, &looks)], &design, 1, &mut Known::default())[0];
    assert_eq!(course.counts().map(|look| look.call), Some(Call::Equivalence));
    assert!(course.decided.unwrap() < 4);
}

#[test]
fn what_nothing_shows_goes_on_and_ends_undecided() {
    let (looks, design) = ([5, 8, 12], design(&[5, 8, 12]));
    let wide = arms(12, 1.0, 8.0);
    let course = &decide(&[pair(&wide, &looks[..1])], &design, 1, &mut Known::default())[0];
    assert_eq!(course.counts().map(|look| look.call), Some(Call::GoOn));
    let course = &decide(&[pair(&wide, &looks)], &design, 1, &mut Known::default())[0];
    assert_eq!(course.counts().map(|look| (look.call, look.look)), Some((Call::Undecided, 3)));
    assert_eq!((course.decided, course.hopeless), (None, false), "nothing is left that could be without prospects");
}

#[test]
fn a_comparison_without_prospects_is_known_as_one() {
    // 20 of 24 blocks, spread far above the margin, and next to no difference.
    let (looks, design) = ([5, 20, 24], design(&[5, 20, 24]));
    let wide = arms(24, 0.3, 8.0);
    let of = |reached: usize| decide(&[pair(&wide, &looks[..reached])], &design, 1, &mut Known::default())[0].hopeless;
    assert!(!of(1), "at the first look anything may still come");
    assert!(of(2));
}

#[test]
fn a_look_without_a_new_block_is_none_and_the_last_one_spends_what_is_left() {
    let design = design(&[5, 8, 12]);
    let wide = arms(12, 1.0, 8.0);
    // Three blocks were lost between the first and the second look.
    let blocks = [5, 5, 9];
    let course = &decide(&[pair(&wide, &blocks)], &design, 1, &mut Known::default())[0];
    assert_eq!(course.looks.iter().map(|look| (look.look, look.n)).collect::<Vec<_>>(), [(1, 5), (3, 9)]);
    assert_eq!(course.looks[1].information, 0.75);
    let expected =
        Boundary::spending(&[5.0 / 12.0, 0.75], &[Spending::ObrienFleming.spent(0.025, 5.0 / 12.0), 0.025], Sides::Two);
    assert_eq!(course.looks[1].z_boundary, expected.unwrap().z[1]);
}

#[test]
fn a_family_shares_its_rate_and_hands_it_on_at_the_last_look_alone() {
    let (looks, design) = ([5, 8, 12], design(&[5, 8, 12]));
    let (clear, wide) = (arms(12, 12.0, 0.5), arms(12, 1.0, 8.0));
    let alone = decide(&[pair(&wide, &looks)], &design, 1, &mut Known::default());
    let both = decide(&[pair(&clear, &looks), pair(&wide, &looks)], &design, 2, &mut Known::default());
    assert_eq!(both[0].counts().map(|look| look.call), Some(Call::Difference));
    let at = |courses: &[Course], pair: usize, look: usize| courses[pair].looks[look].z_boundary;
    assert!(at(&both, 1, 0) > at(&alone, 0, 0) && at(&both, 1, 1) > at(&alone, 0, 1));
    // Of two, one was declared: at the last look the other is compared with a level between its own share and the whole.
    let shared = Boundary::new(&times(&looks), Spending::ObrienFleming, 0.025, Sides::Two).unwrap().z[2];
    assert!(at(&both, 1, 2) <= shared);
    // One that passes only with what was handed on: its p lies between the two levels of the last look.
    let levels = |share: usize| Levels::new(&design, &looks, true, 2, share).unwrap().difference_p[2];
    let (strict, handed_on) = (levels(2), levels(1));
    assert!(strict < handed_on && handed_on < 0.05);
    let between = (1..400)
        .map(|k| arms(12, f64::from(k) * 0.01, 1.0))
        .find(|arms| {
            let p = crate::sequential::course::contrast(&pair(arms, &looks), 12).unwrap().p();
            p > strict * 1.02 && p < handed_on * 0.98
        })
        .expect("a shift whose p lies between");
    let tight = |pair: Pair<'static>| Pair { margin_pct: None, ..pair };
    let between: &'static (Vec<f64>, Vec<f64>) = Box::leak(Box::new(between));
    let clear: &'static (Vec<f64>, Vec<f64>) = Box::leak(Box::new(clear));
    let looks: &'static [usize] = &[5, 8, 12];
    let with = decide(&[tight(pair(clear, looks)), tight(pair(between, looks))], &design, 2, &mut Known::default());
    assert_eq!(with[1].counts().map(|look| look.call), Some(Call::Difference), "handed on");
    let without = decide(&[tight(pair(between, looks))], &design, 2, &mut Known::default());
    assert_eq!(without[0].counts().map(|look| look.call), Some(Call::Undecided), "nothing was handed on");
}

#[test]
fn usual_looks_stand_closer_together_early() {
    assert_eq!(Design::usual_looks(5, 30), [5, 8, 12, 19, 30]);
    assert_eq!(Design::usual_looks(3, 4), [3, 4]);
    assert_eq!(Design::usual_looks(6, 6), [6]);
    assert_eq!(Design::new(&[1, 5], Spending::Linear, 0.05), Err(InvalidDesign::TooEarly));
    assert_eq!(Design::new(&[5, 5], Spending::Linear, 0.05), Err(InvalidDesign::NotRising));
    assert_eq!(Design::new(&[], Spending::Linear, 0.05), Err(InvalidDesign::NoLook));
    assert_eq!(Design::new(&[5], Spending::Linear, 0.7), Err(InvalidDesign::Alpha));
    assert_eq!(design(&[5, 8, 12]).reached(9), 2);
}

/// Share of campaigns with identical arms that are called different, with independent figures of this shape.
fn wrong(looks: &[usize], spending: Spending, campaigns: u64, shape: fn(f64) -> f64) -> f64 {
    let design = Design::new(looks, spending, 0.05).unwrap();
    let mut known = Known::default();
    let key = format!("sequential|level|{}|{looks:?}", spending.word());
    let mut count = 0;
    for campaign in 0..campaigns {
        let mut stream = Stream::new(job_base(42, &key), campaign);
        let mut arm = || -> Vec<f64> {
            let uniform = |stream: &mut Stream| ((stream.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            (0..design.blocks()).map(|_| 100.0 + shape(uniform(&mut stream))).collect()
        };
        let arms = (arm(), arm());
        let pair = Pair { margin_pct: None, ..pair(&arms, looks) };
        count += usize::from(decide(&[pair], &design, 1, &mut known)[0].decided.is_some());
    }
    count as f64 / campaigns as f64
}

#[test]
fn the_level_is_kept_from_five_blocks_on() {
    const CAMPAIGNS: u64 = 4_000;
    let limit = 0.05 + 2.0 * (0.05_f64 * 0.95 / CAMPAIGNS as f64).sqrt();
    let skewed = |uniform: f64| -uniform.ln() - 1.0;
    for (looks, spending) in [
        (&[5, 8, 12, 20, 30][..], Spending::ObrienFleming),
        (&[5, 8, 12, 20, 30][..], Spending::Linear),
        (&[5, 6, 7, 8, 9, 10][..], Spending::Pocock),
        (&[5][..], Spending::Pocock),
    ] {
        for (name, shape) in [("normal", dist::normal_quantile as fn(f64) -> f64), ("skewed", skewed)] {
            let share = wrong(looks, spending, CAMPAIGNS, shape);
            assert!(share <= limit, "{name}, {spending:?} at {looks:?}: {share}");
            assert!(share > 0.01, "{name}, {spending:?} at {looks:?}: {share}, a test that never fires");
        }
    }
}
