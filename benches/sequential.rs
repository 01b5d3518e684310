//! Simulates campaigns that stop by several rules, and prints how often each is wrong and what it saves.
//!
//! In:  parts of the names of cases, none for all; `SPARKBENCH_CAMPAIGNS` for their number.
//! Out: Markdown tables on standard output. The ones of the manual and of benches/README.md are made by this program.
//! Not here: assertions. The tests of `stats::sequential` hold the level to its limit with fewer campaigns.
//!
//! Every decision of our rules is made by `stats::sequential::decide`, the code that judges campaigns. Each arm has values around 100 with a
//! standard deviation of 1, so the effect of a case is a per cent and the margin is 2 %. The same campaigns are stopped by every rule.

use rayon::prelude::*;
use sparkbench::stats::random::{Stream, job_base};
use sparkbench::stats::sequential::{Call, Design, Known, Look, Pair, Spending, decide};
use sparkbench::stats::{self, Direction, dist};

/// Campaigns a case and rule.
const CAMPAIGNS: usize = 10_000;
/// Campaigns that one thread takes at a time.
const CHUNK: usize = 250;
/// Blocks of the plan.
const MOST: usize = 30;
/// Looks of the plan.
const LOOKS: [usize; 5] = [5, 8, 12, 20, 30];
/// Margin of equivalence, per cent.
const MARGIN: f64 = 2.0;
/// Error rate of everything here.
const ALPHA: f64 = 0.05;
/// Autocorrelation of neighbouring runs in the correlated cases.
const CORRELATION: f64 = 0.5;
/// Drift over the whole campaign, per cent, in the drifting cases.
const DRIFT: f64 = 3.0;
/// First run after which the rules of other tools may stop.
const OTHERS_FROM: usize = 3;
/// Width of a 95 % interval at which they stop, in units of the true standard deviation. And the CV at which they stop, likewise. Such
/// thresholds are set by hand, near what the figures usually show.
const OTHERS_WIDTH: f64 = 2.0;
const OTHERS_CV: f64 = 1.0;
/// Campaigns whose median-unbiased estimate is computed: each takes a search.
const ESTIMATED: usize = 2_000;

/// What is added to the mean of a run.
#[derive(Clone, Copy, PartialEq)]
enum Noise {
    /// Independent, normal.
    Normal,
    /// Independent, exponential: skewness 2.
    Skewed,
    /// Normal, each run close to the one before it.
    Correlated,
    /// Normal with a steady rise over the campaign.
    Drifting,
    /// The same, where all runs of one arm come before those of the other.
    Blocked,
}

struct Case {
    name: &'static str,
    noise: Noise,
    effect: f64,
    spread: f64,
}

const CASES: &[Case] = &[
    Case { name: "identical, normal", noise: Noise::Normal, effect: 0.0, spread: 1.0 },
    Case { name: "half the margin, normal", noise: Noise::Normal, effect: 1.0, spread: 1.0 },
    Case { name: "at the margin, normal", noise: Noise::Normal, effect: 2.0, spread: 1.0 },
    Case { name: "twice the margin, normal", noise: Noise::Normal, effect: 4.0, spread: 1.0 },
    Case { name: "identical, wide normal (CV 5 %)", noise: Noise::Normal, effect: 0.0, spread: 5.0 },
    Case { name: "at the margin, wide normal (CV 5 %)", noise: Noise::Normal, effect: 2.0, spread: 5.0 },
    Case { name: "identical, skewed", noise: Noise::Skewed, effect: 0.0, spread: 1.0 },
    Case { name: "at the margin, skewed", noise: Noise::Skewed, effect: 2.0, spread: 1.0 },
    Case { name: "twice the margin, skewed", noise: Noise::Skewed, effect: 4.0, spread: 1.0 },
    Case { name: "identical, autocorrelated", noise: Noise::Correlated, effect: 0.0, spread: 1.0 },
    Case { name: "at the margin, autocorrelated", noise: Noise::Correlated, effect: 2.0, spread: 1.0 },
    Case { name: "identical, drifting, interleaved", noise: Noise::Drifting, effect: 0.0, spread: 1.0 },
    Case { name: "at the margin, drifting, interleaved", noise: Noise::Drifting, effect: 2.0, spread: 1.0 },
    Case { name: "identical, drifting, one arm after the other", noise: Noise::Blocked, effect: 0.0, spread: 1.0 },
];

/// How a campaign ended.
#[derive(Clone, Copy)]
struct End {
    blocks: usize,
    call: Call,
    /// Sign of the difference.
    up: bool,
    /// The interval that the rule shows at its end holds the truth.
    covers: bool,
}

#[derive(Clone, Copy)]
enum Rule {
    Sequential(Spending),
    Fixed,
    NaiveLooks,
    NaiveEvery,
    Width,
    Cv,
}

const RULES: &[(&str, Rule)] = &[
    ("sequential, O'Brien-Fleming type", Rule::Sequential(Spending::ObrienFleming)),
    ("sequential, Pocock type", Rule::Sequential(Spending::Pocock)),
    ("fixed, 30 blocks", Rule::Fixed),
    ("plain tests at the same five looks", Rule::NaiveLooks),
    ("plain tests after every block", Rule::NaiveEvery),
    ("stop when 95 % intervals are narrow", Rule::Width),
    ("stop when the CV is small", Rule::Cv),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str()));
    let campaigns = std::env::var("SPARKBENCH_CAMPAIGNS").ok().and_then(|n| n.parse().ok()).unwrap_or(CAMPAIGNS);
    println!(
        "{campaigns} campaigns a case, looks at {LOOKS:?} blocks, margin {MARGIN} %, alpha {ALPHA}. ± is two standard errors.\n"
    );
    for case in CASES.iter().filter(|case| is_wanted(case.name)) {
        table(case, campaigns);
    }
    if is_wanted("levels") {
        levels(campaigns);
    }
    if is_wanted("family") {
        family(campaigns);
    }
    if is_wanted("estimates") {
        estimates(campaigns.min(ESTIMATED));
    }
}

/// One case under every rule.
fn table(case: &Case, campaigns: usize) {
    println!("**{}**\n", case.name);
    println!(
        "| rule | wrong difference | wrong sameness | difference | same | undecided | blocks | runs saved | interval covers |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (name, rule) in RULES {
        let ends: Vec<End> = each(campaigns, case, |a, b, known| end(*rule, a, b, case, known));
        let share = |of: &dyn Fn(&End) -> bool| ends.iter().filter(|end| of(end)).count() as f64 / campaigns as f64;
        let difference = |end: &End| end.call == Call::Difference;
        let same = |end: &End| end.call == Call::Equivalence;
        let wrong = share(&|end| difference(end) && (case.effect == 0.0 || !end.up));
        let wrong_same = share(&|end| same(end) && case.effect >= MARGIN);
        let blocks = ends.iter().map(|end| end.blocks as f64).sum::<f64>() / campaigns as f64;
        println!(
            "| {name} | {} | {} | {:.1} % | {:.1} % | {:.1} % | {blocks:.1} | {:.0} % | {:.1} % |",
            rate(wrong, campaigns),
            if case.effect >= MARGIN { rate(wrong_same, campaigns) } else { "–".to_owned() },
            100.0 * share(&difference),
            100.0 * share(&same),
            100.0 * share(&|end| !difference(end) && !same(end)),
            100.0 * (1.0 - blocks / MOST as f64),
            100.0 * share(&|end| end.covers),
        );
    }
    println!();
}

fn rate(share: f64, campaigns: usize) -> String {
    let error = 200.0 * (share * (1.0 - share) / campaigns as f64).sqrt();
    format!("{:.2} ± {error:.2} %", 100.0 * share)
}

/// Every campaign of a case, in parallel. The same numbers for any number of threads.
fn each<T: Send>(campaigns: usize, case: &Case, of: impl Fn(&[f64], &[f64], &mut Known) -> T + Sync) -> Vec<T> {
    let base = job_base(42, case.name);
    let chunks: Vec<Vec<T>> = (0..campaigns.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut known = Known::default();
            (chunk * CHUNK..campaigns.min((chunk + 1) * CHUNK))
                .map(|k| {
                    let (a, b) = campaign(case, &mut Stream::new(base, k as u64));
                    of(&a, &b, &mut known)
                })
                .collect()
        })
        .collect();
    chunks.into_iter().flatten().collect()
}

fn uniform(stream: &mut Stream) -> f64 {
    ((stream.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Both arms of a campaign, block by block. Within a block the arms take turns in going first.
fn campaign(case: &Case, stream: &mut Stream) -> (Vec<f64>, Vec<f64>) {
    let mut before = dist::normal_quantile(uniform(stream));
    let noise: Vec<f64> = (0..2 * MOST)
        .map(|place| {
            let u = uniform(stream);
            match case.noise {
                Noise::Skewed => -u.ln() - 1.0,
                Noise::Correlated => {
                    let fresh = (1.0 - CORRELATION * CORRELATION).sqrt() * dist::normal_quantile(u);
                    before = CORRELATION * before + fresh;
                    before
                }
                Noise::Normal => dist::normal_quantile(u),
                Noise::Drifting | Noise::Blocked => dist::normal_quantile(u) + DRIFT * place as f64 / (2 * MOST) as f64,
            }
        })
        .collect();
    let place = |block: usize, arm: usize| match case.noise {
        Noise::Blocked => arm * MOST + block,
        _ => 2 * block + usize::from((block.is_multiple_of(2)) == (arm == 1)),
    };
    let arm = |arm: usize, mean: f64| (0..MOST).map(|k| mean + case.spread * noise[place(k, arm)]).collect();
    (arm(0, 100.0), arm(1, 100.0 + case.effect))
}

fn pair<'a>(a: &'a [f64], b: &'a [f64], blocks: &'a [usize]) -> Pair<'a> {
    Pair { a, b, blocks, direction: Direction::LowerIsBetter, margin_pct: Some(MARGIN) }
}

fn end(rule: Rule, a: &[f64], b: &[f64], case: &Case, known: &mut Known) -> End {
    match rule {
        Rule::Sequential(spending) => {
            let design = Design::new(&LOOKS, spending, ALPHA).expect("a design");
            let courses = decide(&[pair(a, b, &LOOKS)], &design, 1, known);
            by_look(courses[0].counts().expect("a look"), case)
        }
        Rule::Fixed => plain(a, b, MOST, case),
        Rule::NaiveLooks => first(LOOKS.iter().copied(), a, b, case, |end, _| end.call != Call::Undecided),
        Rule::NaiveEvery => first(LOOKS[0]..=MOST, a, b, case, |end, _| end.call != Call::Undecided),
        Rule::Width => first(OTHERS_FROM..=MOST, a, b, case, |_, n| {
            [&a[..n], &b[..n]].iter().all(|arm| 100.0 * width(arm) < OTHERS_WIDTH * case.spread * stats::mean(arm))
        }),
        Rule::Cv => first(OTHERS_FROM..=MOST, a, b, case, |_, n| {
            [&a[..n], &b[..n]]
                .iter()
                .all(|arm| 100.0 * stats::sd(arm).unwrap_or(0.0) < OTHERS_CV * case.spread * stats::mean(arm))
        }),
    }
}

fn by_look(look: &Look, case: &Case) -> End {
    let covers = look.repeated_pct.is_none_or(|(low, high)| low <= case.effect && case.effect <= high);
    End { blocks: look.n, call: look.call, up: look.means.1 > look.means.0, covers }
}

/// Width of the 95 % interval of a mean.
fn width(arm: &[f64]) -> f64 {
    let n = arm.len() as f64;
    2.0 * dist::t_quantile(0.975, n - 1.0) * stats::sd(arm).unwrap_or(0.0) / n.sqrt()
}

/// What the fixed tests say of the first blocks, as if nobody had looked before.
fn plain(a: &[f64], b: &[f64], n: usize, case: &Case) -> End {
    let (a, b) = (&a[..n], &b[..n]);
    let p = stats::welch(a, b, 0.95).expect("two arms").p;
    let (low, high) = stats::fieller::overhead_pct(a, b, Direction::LowerIsBetter, 0.95)
        .unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let same = stats::tost(a, b, MARGIN, 0.95).is_some_and(|t| t.equivalent);
    let call = if p < ALPHA && (low > 0.0 || high < 0.0) {
        Call::Difference
    } else if same {
        Call::Equivalence
    } else {
        Call::Undecided
    };
    End { blocks: n, call, up: stats::mean(b) > stats::mean(a), covers: low <= case.effect && case.effect <= high }
}

/// The first of these blocks at which the rule stops, else the last.
fn first(
    blocks: impl Iterator<Item = usize>,
    a: &[f64],
    b: &[f64],
    case: &Case,
    stops: impl Fn(&End, usize) -> bool,
) -> End {
    let mut last = None;
    for n in blocks {
        let end = plain(a, b, n, case);
        if stops(&end, n) {
            return end;
        }
        last = Some(end);
    }
    last.unwrap_or_else(|| plain(a, b, MOST, case))
}

/// How often identical arms are called different at each look, against what was spent there: the level of few runs.
fn levels(campaigns: usize) {
    println!(
        "**Level by look, identical arms** (share of campaigns called different at each look, in brackets what the design spends there)\n"
    );
    println!("| noise | spending | share at each look of n blocks | in all |\n| --- | --- | --- | ---: |");
    for (noise, name) in [(Noise::Normal, "normal"), (Noise::Skewed, "skewed")] {
        for (looks, spending) in [
            (&LOOKS[..], Spending::ObrienFleming),
            (&LOOKS[..], Spending::Pocock),
            (&LOOKS[..], Spending::Linear),
            (&[5, 6, 7, 8, 9, 10][..], Spending::Pocock),
            (&[3, 4, 5][..], Spending::Pocock),
            (&[2, 3, 4][..], Spending::Pocock),
        ] {
            let case = Case { name: "levels", noise, effect: 0.0, spread: 1.0 };
            let design = Design::new(looks, spending, ALPHA).expect("a design");
            let most = design.blocks() as f64;
            let at: Vec<Option<usize>> = each(campaigns, &case, |a, b, known| {
                let pair = Pair { margin_pct: None, ..pair(a, b, looks) };
                decide(&[pair], &design, 1, known)[0].decided
            });
            let mut before = 0.0;
            let cells: Vec<String> = looks
                .iter()
                .enumerate()
                .map(|(k, n)| {
                    let spent = 2.0 * spending.spent(0.5 * ALPHA, *n as f64 / most);
                    let here = at.iter().filter(|at| **at == Some(k)).count() as f64 / campaigns as f64;
                    let cell = format!("n = {n}: {:.2} % ({:.2} %)", 100.0 * here, 100.0 * (spent - before));
                    before = spent;
                    cell
                })
                .collect();
            let all = at.iter().filter(|at| at.is_some()).count() as f64 / campaigns as f64;
            println!("| {name} | {} | {} | {} |", spending.name(), cells.join(", "), rate(all, campaigns));
        }
    }
    println!();
}

/// Three comparisons that share one error rate, none of which differs: how often any is called different.
fn family(campaigns: usize) {
    let case = Case { name: "family", noise: Noise::Normal, effect: 0.0, spread: 1.0 };
    for spending in [Spending::ObrienFleming, Spending::Pocock] {
        let design = Design::new(&LOOKS, spending, ALPHA).expect("a design");
        // Three baselines and candidates of one draw each: the further draws are streams of their own.
        let wrong: Vec<bool> = each(campaigns, &case, |a, b, known| {
            let mut stream = Stream::new(job_base(a[0].to_bits() ^ b[0].to_bits(), "family"), 0);
            let more: Vec<(Vec<f64>, Vec<f64>)> = (0..2).map(|_| campaign(&case, &mut stream)).collect();
            let bare = |a, b| Pair { margin_pct: None, ..pair(a, b, &LOOKS) };
            let pairs = [bare(a, b), bare(&more[0].0, &more[0].1), bare(&more[1].0, &more[1].1)];
            decide(&pairs, &design, 3, known).iter().any(|course| course.decided.is_some())
        });
        let share = wrong.iter().filter(|wrong| **wrong).count() as f64 / campaigns as f64;
        println!("- a family of three, {}: any wrong difference in {}", spending.name(), rate(share, campaigns));
    }
    println!();
}

/// How often the estimates after a stop lie above the truth, and how far off they are on average.
fn estimates(campaigns: usize) {
    println!("**Estimates after a stop** ({campaigns} campaigns each)\n");
    println!(
        "| effect | spending | plain above the truth | plain, mean error | median-unbiased above the truth | its mean error |"
    );
    println!("| ---: | --- | ---: | ---: | ---: | ---: |");
    for effect in [0.5, 1.0, 2.0] {
        for spending in [Spending::ObrienFleming, Spending::Pocock] {
            let case = Case { name: "estimates", noise: Noise::Normal, effect, spread: 1.0 };
            let design = Design::new(&LOOKS, spending, ALPHA).expect("a design");
            let errors: Vec<(f64, f64)> = each(campaigns, &case, |a, b, known| {
                // Without a margin: equivalence stops for another reason, and the ordering does not count it.
                let pair = Pair { margin_pct: None, ..pair(a, b, &LOOKS) };
                let course = decide(&[pair], &design, 1, known).remove(0);
                let plain = course.counts().and_then(|look| look.overhead_pct).unwrap_or(f64::NAN);
                let median = course.median_unbiased_pct(Direction::LowerIsBetter).unwrap_or(f64::NAN);
                (plain - effect, median - effect)
            });
            let above = |of: &dyn Fn(&(f64, f64)) -> f64| errors.iter().filter(|e| of(e) > 0.0).count() as f64;
            let mean = |of: &dyn Fn(&(f64, f64)) -> f64| errors.iter().map(of).sum::<f64>() / campaigns as f64;
            println!(
                "| {effect} % | {} | {} | {:+.3} | {} | {:+.3} |",
                spending.name(),
                rate(above(&|e| e.0) / campaigns as f64, campaigns),
                mean(&|e| e.0),
                rate(above(&|e| e.1) / campaigns as f64, campaigns),
                mean(&|e| e.1),
            );
        }
    }
}
