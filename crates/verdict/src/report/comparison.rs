//! One pair of environments and one metric: every estimate of the difference, and the verdict.
//!
//! In:  filled by the judge and the traps.  Out: JSON with the same names.
//! Not here: how a number came about, how it is shown.

use std::ops::{Deref, DerefMut};

use serde::{Serialize, Serializer};

use super::{Group, Interval, PairsReport, SequentialReport, ShiftReport, StabilityPanel};
use crate::effect::EffectEstimate;
use crate::method::Design;
use sparkbench_model::Direction;
use sparkbench_stats as stats;

/// An interval and how it was made.
#[derive(Debug, Clone, Serialize)]
pub struct NamedInterval {
    /// `fieller`, `bca`, `percentile`, ...
    pub method: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// t, degrees of freedom, p. `t` may be "inf".
#[derive(Debug, Clone, Serialize)]
pub struct TReport {
    /// Statistic.
    #[serde(serialize_with = "finite_or_text")]
    pub t: f64,
    /// Degrees of freedom.
    #[serde(serialize_with = "finite_or_text")]
    pub df: f64,
    /// Two-sided p.
    pub p: f64,
}

/// U and p.
#[derive(Debug, Clone, Serialize)]
pub struct UReport {
    /// Pairs in which the candidate is greater, plus half the ties.
    pub u: f64,
    /// Two-sided p.
    pub p: f64,
    /// `exact` or `normal`.
    pub method: String,
}

/// W and p.
#[derive(Debug, Clone, Serialize)]
pub struct WReport {
    /// Sum of ranks of positive differences.
    pub w: f64,
    /// Two-sided p.
    pub p: f64,
    /// `exact` or `normal`.
    pub method: String,
}

/// Permutation p.
#[derive(Debug, Clone, Serialize)]
pub struct PermutationReport {
    /// Two-sided p.
    pub p: f64,
    /// True when every split was counted.
    pub exact: bool,
    /// Splits or draws.
    pub count: u64,
}

/// Brown-Forsythe test of equal variance.
#[derive(Debug, Clone, Serialize)]
pub struct FReport {
    /// Statistic.
    #[serde(serialize_with = "finite_or_text")]
    pub f: f64,
    pub p: f64,
}

/// A value with its interval.
#[derive(Debug, Clone, Serialize)]
pub struct Effect {
    /// Estimate.
    pub value: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Equivalence by two one-sided tests.
#[derive(Debug, Clone, Serialize)]
pub struct TostReport {
    /// Margin, per cent of the baseline mean.
    pub margin_pct: f64,
    /// Larger of the two p.
    pub p: f64,
    /// p < alpha, before any adjustment.
    pub equivalent: bool,
    /// p among those of the family, by Holm. Decides.
    pub p_holm: Option<f64>,
    /// Smallest margin that would have passed, before any adjustment.
    pub smallest_margin_pct: Option<f64>,
}

/// What a comparison is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// One model and workload.
    Load,
    /// The mean over all models and workloads that both arms have: the answer of the campaign.
    AllLoads,
}

/// Whether an arm departs more under one load than under another.
#[derive(Debug, Clone, Serialize)]
pub struct InteractionReport {
    /// Statistic of arm by load against arm by load by block.
    #[serde(serialize_with = "finite_or_text")]
    pub f: f64,
    pub df1: f64,
    pub df2: f64,
    pub p: f64,
    /// The load whose difference departs most from the mean of the others.
    pub departs_most: String,
    /// Overhead of the load that has the least, and of the one that has the most, per cent. Absent where no per cent exists.
    pub range_pct: Option<Interval>,
}

/// How many more blocks decide, and how surely.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PromiseReport {
    /// More blocks, or more runs of each arm where there are none.
    pub blocks: u64,
    /// How long they take at the pace of those that were made.
    pub hours: Option<f64>,
    /// That they decide.
    pub probability: f64,
}

/// The interval that a verdict rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct IntervalOfVerdict {
    /// Its confidence, 0 to 1. 0.95 for a difference, 0.9 for sameness, more where a family is adjusted.
    pub level: f64,
    /// Overhead in per cent, or the difference.
    pub low: f64,
    pub high: f64,
}

/// p adjusted for the family.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Adjusted {
    pub bonferroni: Option<f64>,
    /// Holm. Decides.
    pub holm: Option<f64>,
    pub benjamini_hochberg: Option<f64>,
    /// Description of the family in words, and its size.
    pub family: String,
    /// Members that were counted.
    pub family_size: usize,
    /// The p of the other members, for the same family under another choice.
    #[serde(skip)]
    pub others: Vec<f64>,
}

/// One pair of environments and one metric.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Campaign slug.
    pub campaign: String,
    #[serde(serialize_with = "null_if_empty")]
    pub model: String,
    /// Empty, and null in JSON, in a row of all loads.
    #[serde(serialize_with = "null_if_empty")]
    pub workload: String,
    pub scope: Scope,
    /// Workloads of a row of all loads, with the model where there are several.
    pub loads: Vec<String>,
    /// Contract name.
    pub metric: String,
    /// Name for people.
    pub label: String,
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Whether the metric belongs to the family the headline is about.
    pub primary: bool,
    /// Set where the metric is a function of another: its name.
    pub derived_from: Option<String>,
    /// Baseline environment.
    pub baseline: String,
    /// Candidate environment.
    pub candidate: String,
    /// Runs with a finite value.
    pub n_baseline: usize,
    /// Runs with a finite value.
    pub n_candidate: usize,
    /// Whether the design allows pairs.
    pub paired: bool,
    pub mean_baseline: Option<f64>,
    pub mean_candidate: Option<f64>,
    /// Candidate - baseline, metric units.
    pub difference: Option<f64>,
    /// Welch interval of the difference, metric units.
    pub difference_ci: Option<Interval>,
    /// Positive: the candidate costs more.
    pub overhead_pct: Option<f64>,
    /// The change of the metric itself, per cent of the baseline: positive is more. For a rate that rises it is positive, while the overhead
    /// is negative.
    pub change_pct: Option<f64>,
    /// The headline interval of the overhead as a change.
    pub change_ci: Option<Interval>,
    /// Mean of the candidate over that of the baseline. Absent where no per cent exists.
    pub ratio: Option<f64>,
    /// The study's own formula for rates, 100 (baseline - candidate) / baseline.
    pub loss_pct: Option<f64>,
    /// Headline interval (statistics contract 4.6).
    pub overhead_ci: Option<NamedInterval>,
    /// 90 % interval, for the equivalence reading.
    pub overhead_ci90: Option<Interval>,
    pub fieller_overhead_pct: Option<Interval>,
    /// BCa of the ratio.
    pub bootstrap_overhead_pct: Option<NamedInterval>,
    /// `small_n`, `bca_fallback`.
    pub bootstrap_flags: Vec<String>,
    /// Welch on logs, as a per cent.
    pub log_ratio_overhead_pct: Option<Interval>,
    /// Paired t, where interleaved.
    pub paired_t: Option<TReport>,
    /// Wilcoxon signed rank, where interleaved.
    pub wilcoxon: Option<WReport>,
    pub student_t: Option<TReport>,
    /// Welch. Primary.
    pub welch_t: Option<TReport>,
    pub mann_whitney: Option<UReport>,
    /// Permutation of the mean difference.
    pub permutation: Option<PermutationReport>,
    pub brown_forsythe: Option<FReport>,
    pub cohens_d: Option<f64>,
    pub hedges_g: Option<Effect>,
    pub cliffs_delta: Option<f64>,
    /// Equivalence.
    pub tost: Option<TostReport>,
    /// Power to detect 10 % of the baseline.
    pub power_at_10pct: Option<f64>,
    /// Minimum detectable effect at power 0.8, per cent of the baseline.
    pub mde_pct: Option<f64>,
    /// Smallest equal number of runs per arm with power 0.8 to detect 10 % of the baseline.
    pub runs_needed: Option<u64>,
    /// When the answer is open: what would decide it. Absent for rows of single loads beside one of all loads.
    pub promise: Option<PromiseReport>,
    /// p of the deciding test, before any adjustment.
    pub p: Option<f64>,
    /// The deciding test in words.
    pub test: &'static str,
    pub p_adjusted: Adjusted,
    /// Interval that the verdict rests on.
    pub interval_of_verdict: Option<IntervalOfVerdict>,
    /// Metric that is judged in its place, where both are one measurement.
    pub counted_with: Option<String>,
    /// Whether the difference depends on the load. Rows of all loads in blocks alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction: Option<InteractionReport>,
    /// How the runs of the two arms lie in time. Decides the method.
    pub design: Design,
    /// Order of the runs: `interleaved`, `mixed`, `blocked`, `unknown`.
    pub order: String,
    /// The verdict without flagged runs, for the stability panel.
    pub without_flagged: Option<WithoutFlagged>,
    /// The verdict under other choices, one at a time.
    pub stability: Vec<Stability>,
    /// The verdict under every combination of method, runs and margin. Absent where nothing could be compared, or no per cent exists.
    pub stability_panel: Option<StabilityPanel>,
    /// Runs of a design with blocks, pair by pair. Absent without one.
    pub pairs: Option<PairsReport>,
    /// Where in the distribution of the requests the arms differ. Absent where the runs keep no requests.
    pub shift: Option<ShiftReport>,
    /// Look by look, where the campaign looks at its figures while they come in. Absent for a fixed number of repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialReport>,
    pub verdict: Verdict,
    /// The estimate that decides, for readings at other levels and margins.
    #[serde(skip)]
    pub effect: Option<EffectEstimate>,
    /// Whether it answers the question of its campaign: all loads, or the only one, of a metric that is counted.
    #[serde(skip)]
    pub is_answer: bool,
}

/// Every comparison: those of single loads, and beside them those of all loads, which come first in JSON.
#[derive(Debug, Clone, Default)]
pub struct Comparisons {
    /// One an arm and metric: the answers.
    pub all_loads: Vec<Comparison>,
    /// One an arm, metric and load.
    pub loads: Vec<Comparison>,
}

impl Comparisons {
    /// All of them, the answers first.
    pub fn all(&self) -> impl Iterator<Item = &Comparison> {
        self.all_loads.iter().chain(&self.loads)
    }

    /// Rows that answer the question of a campaign: those of all loads, else those of its only load.
    pub fn answers<'a>(&'a self, campaign: &'a str) -> impl Iterator<Item = &'a Comparison> {
        self.all().filter(move |c| c.is_answer && c.campaign == campaign)
    }
}

impl FromIterator<Comparison> for Comparisons {
    fn from_iter<I: IntoIterator<Item = Comparison>>(rows: I) -> Self {
        let (all_loads, loads) = rows.into_iter().partition(|row| row.scope == Scope::AllLoads);
        Self { all_loads, loads }
    }
}

impl Deref for Comparisons {
    type Target = Vec<Comparison>;

    fn deref(&self) -> &Self::Target {
        &self.loads
    }
}

impl DerefMut for Comparisons {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.loads
    }
}

impl Serialize for Comparisons {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all())
    }
}

impl Comparison {
    /// As a sentence names what it rests on: model, workload and metric.
    pub(crate) fn ident(&self) -> String {
        format!("{}|{}|{}", self.model, self.workload, self.metric)
    }

    /// The estimates of one of its two environments.
    pub(crate) fn arm<'g>(&self, environment: &str, groups: &'g [Group]) -> Option<&'g Group> {
        groups.iter().find(|g| {
            g.campaign == self.campaign
                && g.model == self.model
                && g.workload == self.workload
                && g.metric == self.metric
                && g.environment == environment
        })
    }

    /// An overhead of this metric, per cent, as the change of the metric itself.
    pub fn change_of(&self, overhead_pct: f64) -> Option<f64> {
        stats::overhead::change_pct(overhead_pct, self.scale())
    }

    /// An interval of the overhead as one of the change.
    pub fn change_within(&self, overhead: Interval) -> Option<Interval> {
        let ends = stats::overhead::change_interval((overhead.low, overhead.high), self.scale());
        ends.map(|(low, high)| Interval::new(low, high))
    }

    fn scale(&self) -> stats::Direction {
        match self.direction {
            Direction::LowerIsBetter => stats::Direction::LowerIsBetter,
            Direction::HigherIsBetter => stats::Direction::HigherIsBetter,
            Direction::Neutral => stats::Direction::Neutral,
        }
    }
}

/// The comparison again with every flagged run left out. For reading beside the headline, never instead of it.
#[derive(Debug, Clone, Serialize)]
pub struct WithoutFlagged {
    /// Runs left out.
    pub left_out: Vec<String>,
    /// Overhead without them.
    pub overhead_pct: Option<f64>,
    /// Its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The estimate itself.
    #[serde(skip)]
    pub effect: Option<EffectEstimate>,
}

/// One cell of the stability panel.
#[derive(Debug, Clone, Serialize)]
pub struct Stability {
    /// The changed choice: `half margin`, `permutation instead of Welch`, ...
    pub choice: String,
    /// Verdict kind under it.
    pub kind: VerdictKind,
}

/// Verdict kinds of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Candidate worse, rule 2.
    Slower,
    /// Candidate better, rule 2.
    Faster,
    /// Candidate more, rule 2, neutral metric.
    More,
    /// Candidate less, rule 2, neutral metric.
    Less,
    /// Rule 3.
    Equivalent,
    /// Rule 4.
    Inconclusive,
    /// Rule 1.
    NotComparable,
}

impl VerdictKind {
    /// Whether a difference is shown, whichever way it goes.
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Slower | Self::Faster | Self::More | Self::Less)
    }

    /// Name in the contracts.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::More => "more",
            Self::Less => "less",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
            Self::NotComparable => "not_comparable",
        }
    }
}

/// A verdict in words with its reasons.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// Which rule.
    pub kind: VerdictKind,
    /// One line, as a person would say it: no codes, no caveats, no full stop.
    pub said: String,
    /// The next step, or how far a single run can be believed. Absent where the comparison is decided.
    pub advice: Option<String>,
    /// The sentence in full, test and caveats included.
    pub text: String,
    /// Reason codes: `P1`, `N2`, `D1`, `O0`, ...
    pub reasons: Vec<String>,
    /// The obstacles of rule 1 in words, each with its code. Empty for other kinds.
    pub because: Vec<String>,
    /// Caveats, in their order.
    pub caveats: Vec<String>,
}

impl Verdict {
    /// Whether only the number of runs forbids a verdict. Then a ratio of single runs is there, with advice on its reliability.
    pub fn is_once(&self) -> bool {
        self.kind == VerdictKind::NotComparable && self.advice.is_some()
    }

    /// The kind in words for people.
    pub fn word(&self) -> &'static str {
        match self.kind {
            VerdictKind::NotComparable if self.is_once() => "single runs",
            VerdictKind::NotComparable => "not comparable",
            kind => kind.word(),
        }
    }
}

/// Finite as a number, infinite as the strings of statistics contract 1.4.
fn finite_or_text<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else if value.is_nan() {
        serializer.serialize_none()
    } else if *value > 0.0 {
        serializer.serialize_str("inf")
    } else {
        serializer.serialize_str("-inf")
    }
}

/// A name that there is none of is null.
fn null_if_empty<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
    if name.is_empty() { serializer.serialize_none() } else { serializer.serialize_str(name) }
}
