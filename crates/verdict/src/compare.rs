//! Two arms of one cell and metric: every estimate of their difference.
//!
//! In:  two groups with their samples, the order of their runs.  Out: [`Comparison`] without family and verdict.
//! Not here: adjustment for the family and the choice of words (see `judge` and `grammar`).

use super::Settings;
use super::effect::EffectEstimate;
use super::method::Layout;
use super::report::{
    Adjusted, Comparison, Effect, FReport, Group, Interval, NamedInterval, OrderReport, PairRow, PermutationReport,
    Scope, Stability, TReport, TostReport, UReport, Verdict, VerdictKind, WReport, WithoutFlagged,
};
use sparkbench_model::{Direction, Metric};
use sparkbench_stats::{self as stats, bootstrap, permutation};

/// Inputs of a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    /// Metric of both.
    pub metric: &'a Metric,
    /// Baseline arm.
    pub a: &'a Group,
    /// Candidate arm.
    pub b: &'a Group,
    /// Order of the runs of these two arms.
    pub order: &'a OrderReport,
    /// How the runs lie in time, which decides the method.
    pub layout: &'a Layout,
    /// Pairs of runs in order, where the design has them.
    pub pairs: Option<&'a [PairRow]>,
    /// Margin, per cent.
    pub margin_pct: f64,
    /// Whether the metric is primary.
    pub primary: bool,
    /// Metric it is a function of.
    pub derived_from: Option<&'a str>,
}

/// Direction in the words of `stats`, which knows a fourth kind: no per cent at all.
pub(crate) fn direction_of(metric: &Metric) -> stats::Direction {
    if !metric.ratio_scale {
        return stats::Direction::DifferenceOnly;
    }
    match metric.direction {
        Direction::LowerIsBetter => stats::Direction::LowerIsBetter,
        Direction::HigherIsBetter => stats::Direction::HigherIsBetter,
        Direction::Neutral => stats::Direction::Neutral,
    }
}

/// Everything that can be said in numbers. Family and verdict are filled in later, when all comparisons are known.
pub(crate) fn measure(pair: &Pair<'_>, settings: &Settings) -> Comparison {
    let (a, b) = (pair.a.values.as_slice(), pair.b.values.as_slice());
    let confidence = settings.confidence;
    let direction = direction_of(pair.metric);
    let per_cent = pair.metric.ratio_scale;
    let fieller = stats::fieller::overhead_pct(a, b, direction, confidence);
    let bca = bca(pair, direction, settings);
    let welch = stats::student::welch(a, b, confidence);
    let means = pair.a.mean.zip(pair.b.mean);
    let effect = EffectEstimate::of(pair.layout.clone(), direction, &settings.job(key(pair, "studentised")));
    let ends = effect.interval(confidence);
    let headline = ends.filter(|_| per_cent);
    let overhead = effect.size().filter(|_| per_cent);
    let change = overhead.and_then(|overhead| stats::overhead::change_pct(overhead, direction));
    let inner = effect.interval(1.0 - 2.0 * (1.0 - confidence)).filter(|_| per_cent);
    let equivalence = effect.equivalence_p(pair.margin_pct);
    Comparison {
        campaign: pair.a.campaign.clone(),
        model: pair.a.model.clone(),
        workload: pair.a.workload.clone(),
        metric: pair.metric.name.clone(),
        label: pair.metric.label.clone(),
        unit: pair.metric.unit,
        direction: pair.metric.direction,
        primary: pair.primary,
        derived_from: pair.derived_from.map(str::to_owned),
        baseline: pair.a.environment.clone(),
        candidate: pair.b.environment.clone(),
        n_baseline: pair.a.n,
        n_candidate: pair.b.n,
        paired: pair.pairs.is_some(),
        mean_baseline: pair.a.mean,
        mean_candidate: pair.b.mean,
        difference: means.map(|(a, b)| b - a),
        difference_ci: match ends {
            // Without a per cent the method of the design is that of the difference itself.
            Some((low, high)) if !per_cent => Some(Interval::new(low, high)),
            _ => welch.as_ref().map(|w| Interval::new(w.diff_lo, w.diff_hi)),
        },
        overhead_pct: overhead,
        change_pct: change,
        change_ci: headline
            .and_then(|ends| stats::overhead::change_interval(ends, direction))
            .map(|(low, high)| Interval::new(low, high)),
        ratio: change.map(|change| 1.0 + change / 100.0),
        loss_pct: means
            .filter(|(a, _)| per_cent && pair.metric.direction == Direction::HigherIsBetter && *a > 0.0)
            .map(|(a, b)| 100.0 * (a - b) / a),
        overhead_ci: headline.map(|(low, high)| NamedInterval { method: effect.method().to_owned(), low, high }),
        overhead_ci90: inner.map(|(low, high)| Interval::new(low, high)),
        fieller_overhead_pct: fieller.map(|(low, high)| Interval::new(low, high)),
        bootstrap_flags: bca.as_ref().map(|l| l.flags.iter().map(|f| (*f).to_owned()).collect()).unwrap_or_default(),
        bootstrap_overhead_pct: bca.map(|l| NamedInterval { method: l.method.to_owned(), low: l.lo, high: l.hi }),
        log_ratio_overhead_pct: stats::overhead::log_ratio_overhead_pct(a, b, direction, confidence)
            .map(|(low, high)| Interval::new(low, high)),
        paired_t: paired_t(pair, confidence),
        wilcoxon: wilcoxon(pair),
        student_t: stats::student::student(a, b, confidence).map(|t| TReport { t: t.t, df: t.df, p: t.p }),
        welch_t: welch.map(|t| TReport { t: t.t, df: t.df, p: t.p }),
        mann_whitney: stats::mann_whitney(a, b).map(|u| UReport { u: u.u, p: u.p, method: u.method.word().to_owned() }),
        permutation: permutation::mean_difference(a, b, &settings.job(key(pair, "permutation")))
            .map(|p| PermutationReport { p: p.p, exact: p.exact, count: p.count }),
        brown_forsythe: stats::brown_forsythe(a, b).map(|f| FReport { f: f.f, p: f.p }),
        cohens_d: stats::effect::cohen_d(a, b),
        hedges_g: stats::effect::hedges_g(a, b, confidence).map(|g| Effect {
            value: g.g,
            low: Some(g.lo),
            high: Some(g.hi),
        }),
        cliffs_delta: stats::effect::cliff_delta(a, b),
        tost: equivalence.map(|p| TostReport {
            margin_pct: pair.margin_pct,
            p,
            equivalent: p < settings.alpha(),
            p_holm: None,
            smallest_margin_pct: effect.smallest_margin_pct(confidence),
        }),
        power_at_10pct: per_cent.then(|| stats::power::power_at_pct(a, b, 10.0, confidence)).flatten(),
        mde_pct: per_cent.then(|| stats::power::mde_pct(a, b, stats::power::TARGET_POWER, confidence)).flatten(),
        runs_needed: per_cent
            .then(|| stats::power::n_per_arm_for_pct(a, b, 10.0, stats::power::TARGET_POWER, confidence))
            .flatten(),
        promise: None,
        p: effect.p(),
        test: effect.test(),
        p_adjusted: Adjusted::default(),
        interval_of_verdict: None,
        counted_with: None,
        scope: Scope::Load,
        loads: Vec::new(),
        interaction: None,
        design: pair.layout.design,
        order: pair.order.kind.clone(),
        without_flagged: without_flagged(pair, direction, settings),
        stability: Vec::<Stability>::new(),
        stability_panel: None,
        pairs: None,
        shift: None,
        sequential: None,
        effect: Some(effect),
        is_answer: false,
        verdict: Verdict {
            kind: VerdictKind::Inconclusive,
            said: String::new(),
            advice: None,
            text: String::new(),
            reasons: Vec::new(),
            because: Vec::new(),
            caveats: Vec::new(),
        },
    }
}

fn key(pair: &Pair<'_>, statistic: &str) -> String {
    format!("{}|{}|{}~{}|{statistic}", pair.a.model, pair.metric.name, pair.a.environment, pair.b.environment)
}

fn bca(pair: &Pair<'_>, direction: stats::Direction, settings: &Settings) -> Option<bootstrap::Limits> {
    let job = settings.job(key(pair, "overhead_pct"));
    let all =
        bootstrap::two_sample(&pair.a.values, &pair.b.values, bootstrap::TwoSample::OverheadPct(direction), &job)?;
    Some(all.bca)
}

fn differences(pair: &Pair<'_>) -> Option<Vec<f64>> {
    Some(pair.pairs?.iter().map(|row| row.difference).collect())
}

fn paired_t(pair: &Pair<'_>, confidence: f64) -> Option<TReport> {
    stats::student::paired(&differences(pair)?, confidence).map(|t| TReport { t: t.t, df: t.df, p: t.p })
}

fn wilcoxon(pair: &Pair<'_>) -> Option<WReport> {
    stats::wilcoxon(&differences(pair)?).map(|w| WReport { w: w.w_plus, p: w.p, method: w.method.word().to_owned() })
}

/// Flagged by the modified z or by Tukey's fences. The three-sigma rule is left to those who can use it: below n = 11 it never fires.
pub(crate) fn flagged(group: &Group) -> Vec<&str> {
    group
        .run_ids
        .iter()
        .map(String::as_str)
        .filter(|id| group.outliers.mad.iter().chain(&group.outliers.tukey).any(|flagged| flagged == id))
        .collect()
}

/// The values of a group without its flagged runs.
pub(crate) fn kept(group: &Group) -> Vec<f64> {
    let out = flagged(group);
    group.run_ids.iter().zip(&group.values).filter(|(id, _)| !out.contains(&id.as_str())).map(|(_, v)| *v).collect()
}

fn without_flagged(pair: &Pair<'_>, direction: stats::Direction, settings: &Settings) -> Option<WithoutFlagged> {
    let left_out: Vec<&str> = flagged(pair.a).into_iter().chain(flagged(pair.b)).collect();
    if left_out.is_empty() {
        return None;
    }
    let layout = pair.layout.without(&left_out);
    let effect = EffectEstimate::of(layout, direction, &settings.job(key(pair, "studentised_without_flagged")));
    let interval = effect.interval(settings.confidence).filter(|_| pair.metric.ratio_scale);
    Some(WithoutFlagged {
        left_out: left_out.into_iter().map(str::to_owned).collect(),
        overhead_pct: effect.size().filter(|_| pair.metric.ratio_scale),
        low: interval.map(|i| i.0),
        high: interval.map(|i| i.1),
        effect: Some(effect),
    })
}
