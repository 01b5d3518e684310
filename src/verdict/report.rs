//! The analysis as one value: what `site/data/analysis.json` holds and what every page shows.
//!
//! In:  filled by [`super`].  Out: `sparkbench.analysis/1`, serialised with sorted arrays and `null` for absent.
//! Not here: how a number came about (see `stats`), how it is shown (see `page`).

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::model::{Direction, Instant, Origin, Setup, Source, Status};

/// Schema of [`Analysis`].
pub const SCHEMA: &str = "sparkbench.analysis/1";

/// Everything the analysis found.
#[derive(Debug, Clone, Serialize)]
pub struct Analysis {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Which program said it.
    pub tool: Tool,
    /// What was asked for.
    pub settings: Settings,
    /// Every file that was looked at, by path.
    pub inputs: Vec<Input>,
    /// Campaigns, by name.
    pub campaigns: Vec<CampaignReport>,
    /// Runs, by campaign, then start, then id.
    pub runs: Vec<RunReport>,
    /// One cell and metric each.
    pub groups: Vec<Group>,
    /// One pair of environments and metric each.
    pub comparisons: Vec<Comparison>,
    /// One row per trap and subject.
    pub traps: Vec<TrapReport>,
}

/// Name and version of the program.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    /// `sparkbench`.
    pub name: &'static str,
    /// Version of the crate.
    pub version: &'static str,
}

/// Settings of the analysis.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// Two-sided level of every interval.
    pub confidence: f64,
    /// Draws of each bootstrap.
    pub resamples: usize,
    /// Seed of every random draw.
    pub seed: u64,
    /// Environment that others are held against, where all campaigns share it; else each campaign says its own.
    pub baseline: Option<String>,
    /// Margin of every metric, per cent, unless a campaign fixed its own (see [`CampaignReport::margins_pct`]).
    pub margins_pct: BTreeMap<String, f64>,
}

/// One file that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Input {
    /// Below the folder that was given.
    pub path: String,
    /// Format that took it, absent when none did.
    pub format: Option<String>,
    /// SHA-256, absent when the file could not be read whole.
    pub sha256: Option<String>,
    /// Runs that came from it.
    pub runs: usize,
    /// True when something in it was left out.
    pub skipped: bool,
    /// What was left out and why.
    pub reason: Option<String>,
}

/// One campaign: its words, its design, and what its rows support.
#[derive(Debug, Clone, Serialize)]
pub struct CampaignReport {
    /// Slug.
    pub name: String,
    /// For people; the slug when the campaign has none.
    pub title: String,
    /// Question the campaign asks.
    pub question: Option<String>,
    /// Markdown prose of its authors.
    pub prose: Option<String>,
    /// Provenance lines.
    pub provenance: Vec<String>,
    /// Machine label and its name for people.
    pub machine: Option<String>,
    /// Environment others are held against.
    pub baseline: Option<String>,
    /// All environments.
    pub environments: Vec<String>,
    /// All models.
    pub models: Vec<String>,
    /// All workloads.
    pub workloads: Vec<String>,
    /// Primary metrics.
    pub primary: Vec<String>,
    /// Margin of every metric of the campaign, per cent: from the command line, the campaign, or the defaults.
    pub margins_pct: BTreeMap<String, f64>,
    /// Runs found.
    pub runs: usize,
    /// Runs whose status is failed.
    pub failed: usize,
    /// First start.
    pub first_started_utc: Option<Instant>,
    /// Last start.
    pub last_started_utc: Option<Instant>,
    /// How the arms were ordered.
    pub order: Vec<OrderReport>,
    /// The answer: one to three sentences, the first of which is the headline.
    pub headline: Vec<Sentence>,
    /// What the rows support.
    pub supported: Vec<Sentence>,
    /// What they do not.
    pub unsupported: Vec<Sentence>,
    /// The same rows read again as one workload, where the launch path shows that several labels ran one model.
    pub pooled: Vec<Comparison>,
    /// The published figures, recomputed.
    pub published: Vec<PublishedCheck>,
    /// How many published figures reproduce, of how many, in words; absent when none are tabulated.
    pub published_summary: Option<String>,
    /// The seed's success criteria, cell by cell.
    pub criteria: Vec<Criterion>,
    /// SHA-256 over the sorted hashes of the campaign's files.
    pub archive_sha256: String,
}

/// A sentence with the comparisons, traps or groups it rests on.
#[derive(Debug, Clone, Serialize)]
pub struct Sentence {
    /// As shown.
    pub text: String,
    /// Ids it rests on: trap ids, or `model|workload|metric` of comparisons.
    pub because: Vec<String>,
}

/// Order of the arms of one question (statistics contract 6.4).
#[derive(Debug, Clone, Serialize)]
pub struct OrderReport {
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// `interleaved`, `mixed`, `blocked`, or `unknown` without start times.
    pub kind: String,
    /// Maximal stretches of one environment.
    pub stretches: usize,
    /// Share of consecutive windows that hold every environment once.
    pub balanced_share: Option<f64>,
    /// Wald-Wolfowitz lower-tail p, two environments only.
    pub p_too_few: Option<f64>,
    /// Environment labels in order of time.
    pub sequence: Vec<String>,
}

/// A published figure and what the rows give.
#[derive(Debug, Clone, Serialize)]
pub struct PublishedCheck {
    /// Model label.
    pub model: String,
    /// Environment, or `candidate - baseline`.
    pub environment: String,
    /// Contract name.
    pub metric: String,
    /// What was published: `mean`, `sd`, `difference`, `loss_pct`.
    pub statistic: String,
    /// As printed.
    pub printed: String,
    /// Recomputed, all rows.
    pub recomputed: Option<f64>,
    /// Recomputed and rounded to the printed digits.
    pub rounded: Option<String>,
    /// Whether it agrees to the printed digits.
    pub reproduces: bool,
    /// Rows it took.
    pub n: usize,
    /// What must be known: which divisor, more rows than planned.
    pub note: Option<String>,
    /// Where it was published.
    pub source: String,
}

/// One success criterion of statistics contract section 8 for one cell.
#[derive(Debug, Clone, Serialize)]
pub struct Criterion {
    /// `cv_below_5_pct`, `power_at_10_pct`, `reproducible`, `complete`.
    pub id: &'static str,
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// Metric, where it is about one.
    pub metric: Option<String>,
    /// `pass`, `fail` or `not_assessed`.
    pub outcome: &'static str,
    /// What decided it.
    pub because: String,
}

/// One run as the pages show it.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// Unique in the analysis; a slug.
    pub id: String,
    /// Campaign slug.
    pub campaign: String,
    /// Environment label.
    pub environment: String,
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// k-th run of its cell.
    pub repeat: Option<u32>,
    /// Block.
    pub block: Option<u32>,
    /// Launch shared with other rows, if any.
    pub launch: Option<String>,
    /// Start.
    pub started_utc: Option<Instant>,
    /// End.
    pub ended_utc: Option<Instant>,
    /// Outcome.
    pub status: StatusText,
    /// Contract names to values; null where missing or infinite.
    pub metrics: BTreeMap<String, Option<f64>>,
    /// Where each metric stands.
    pub origins: BTreeMap<String, Origin>,
    /// Requests behind each per-request metric.
    pub requests: BTreeMap<String, usize>,
    /// `outlier:modified_z:METRIC`, `first_run:METRIC`, ...
    pub flags: Vec<String>,
    /// Settings and launch facts.
    pub setup: Setup,
    /// Main file.
    pub source: Source,
    /// Other files.
    pub files: Vec<Source>,
}

/// [`Status`] as the contract spells it: `done`, `failed`, `unrecorded`, with the reason kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusText(pub Status);

impl StatusText {
    /// The one word.
    pub const fn word(&self) -> &'static str {
        match self.0 {
            Status::Done => "done",
            Status::Failed(_) => "failed",
            Status::Unrecorded => "unrecorded",
        }
    }
}

impl Serialize for StatusText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// Two ends. A missing end is unbounded or does not exist; the reason stands beside it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// From an ordered pair.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }

    /// Whether a value lies strictly outside.
    pub fn excludes(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }
}

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

/// A bootstrap interval of one sample.
#[derive(Debug, Clone, Serialize)]
pub struct BootstrapReport {
    /// `mean`.
    pub statistic: &'static str,
    /// `bca`, or `percentile` where BCa fell back.
    pub method: String,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Draws.
    pub resamples: usize,
    /// `small_n`, `bca_fallback`, `constant`.
    pub flags: Vec<String>,
}

/// Outliers by the three rules, as run ids. Flagged, never removed.
#[derive(Debug, Clone, Default, Serialize)]
pub struct OutlierReport {
    /// More than three standard deviations from the mean.
    pub three_sigma: Vec<String>,
    /// Modified z over 3.5.
    pub mad: Vec<String>,
    /// Outside the Tukey fences.
    pub tukey: Vec<String>,
    /// False when no value of a sample this size can reach three sigma.
    pub three_sigma_can_fire: bool,
    /// Largest |z| a sample of this size can hold.
    pub z_bound: Option<f64>,
}

/// Drift of one cell in order of time.
#[derive(Debug, Clone, Serialize)]
pub struct DriftReport {
    /// Kendall's tau-b against order.
    pub kendall_tau: Option<f64>,
    /// Mann-Kendall p.
    pub p: Option<f64>,
    /// `exact` or `normal`.
    pub method: Option<String>,
    /// Sen slope over the whole series, per cent of the mean.
    pub drift_pct: Option<f64>,
    /// Sen slope, metric units per run.
    pub sen_slope: Option<f64>,
    /// Lag-1 autocorrelation.
    pub lag1: Option<f64>,
    /// Effective number of runs.
    pub effective_n: Option<f64>,
    /// True when lag-1 exceeds its bound.
    pub autocorrelated: bool,
    /// t-interval recomputed with the effective n, where autocorrelated.
    pub t_interval_effective: Option<Interval>,
}

/// One cell and metric: what its runs say.
#[derive(Debug, Clone, Serialize)]
pub struct Group {
    /// Campaign slug.
    pub campaign: String,
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// Environment label.
    pub environment: String,
    /// Contract name.
    pub metric: String,
    /// Unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Finite values.
    pub n: usize,
    /// Missing values.
    pub n_missing: usize,
    /// Infinite values.
    pub n_infinite: usize,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation, n - 1.
    pub sd: Option<f64>,
    /// Standard error.
    pub se: Option<f64>,
    /// Coefficient of variation, per cent; absent without a true zero.
    pub cv_pct: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Median absolute deviation, unscaled.
    pub mad: Option<f64>,
    /// Interquartile range.
    pub iqr: Option<f64>,
    /// Quantiles, type 7.
    pub p5: Option<f64>,
    /// 25th percentile.
    pub p25: Option<f64>,
    /// 75th percentile.
    pub p75: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Skewness G1.
    pub skewness: Option<f64>,
    /// Shapiro-Wilk p; shown, never used to choose a test.
    pub shapiro_p: Option<f64>,
    /// Student interval of the mean.
    pub t_interval: Option<Interval>,
    /// Bootstrap interval of the mean.
    pub bootstrap: Option<BootstrapReport>,
    /// Order-statistic interval of the median; an end may be unbounded.
    pub median_interval: MedianInterval,
    /// Flagged runs.
    pub outliers: OutlierReport,
    /// Order effects.
    pub drift: DriftReport,
    /// Percentiles of all requests with hierarchical intervals, where the runs have requests.
    pub request_percentiles: Vec<RequestPercentile>,
    /// Reason codes of what is absent: `N1`, `N2`, `constant`, `tail`, ...
    pub flags: Vec<String>,
    /// Run ids in order of time, values beside them; the points of every chart.
    pub run_ids: Vec<String>,
    /// Finite values in the same order.
    pub values: Vec<f64>,
}

/// Order-statistic interval of the median.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct MedianInterval {
    /// Lower end, absent when unbounded.
    pub low: Option<f64>,
    /// Upper end, absent when unbounded.
    pub high: Option<f64>,
    /// Achieved coverage.
    pub coverage: Option<f64>,
}

/// A percentile over all requests of all runs of a cell (statistics contract 3.7).
#[derive(Debug, Clone, Serialize)]
pub struct RequestPercentile {
    /// `p50`, `p95`, `p99`.
    pub percentile: &'static str,
    /// Of the pooled requests.
    pub estimate: f64,
    /// Hierarchical bootstrap, percentile limits; absent with one run.
    pub interval: Option<Interval>,
    /// Median over runs of the per-run percentile.
    pub median_of_runs: f64,
    /// Requests in all.
    pub requests: usize,
    /// Runs.
    pub runs: usize,
    /// `few_runs`, `one_run`, `tail`.
    pub flags: Vec<String>,
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
    /// p.
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
    /// p < alpha.
    pub equivalent: bool,
    /// Smallest margin that would have passed.
    pub smallest_margin_pct: Option<f64>,
}

/// p adjusted for the family.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Adjusted {
    /// Bonferroni.
    pub bonferroni: Option<f64>,
    /// Holm; decides.
    pub holm: Option<f64>,
    /// Benjamini-Hochberg.
    pub benjamini_hochberg: Option<f64>,
    /// What the family is, in words, and its size.
    pub family: String,
    /// Members that were counted.
    pub family_size: usize,
}

/// One pair of environments and one metric.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Campaign slug.
    pub campaign: String,
    /// Model label.
    pub model: String,
    /// Workload label.
    pub workload: String,
    /// Contract name.
    pub metric: String,
    /// Name for people.
    pub label: String,
    /// Unit.
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
    /// Mean of the baseline.
    pub mean_baseline: Option<f64>,
    /// Mean of the candidate.
    pub mean_candidate: Option<f64>,
    /// Candidate - baseline, metric units.
    pub difference: Option<f64>,
    /// Welch interval of the difference, metric units.
    pub difference_ci: Option<Interval>,
    /// Positive: the candidate costs more.
    pub overhead_pct: Option<f64>,
    /// The study's own formula for rates, 100 (baseline - candidate) / baseline.
    pub loss_pct: Option<f64>,
    /// Headline interval (statistics contract 4.6).
    pub overhead_ci: Option<NamedInterval>,
    /// 90 % interval, for the equivalence reading.
    pub overhead_ci90: Option<Interval>,
    /// Fieller.
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
    /// Student.
    pub student_t: Option<TReport>,
    /// Welch; primary.
    pub welch_t: Option<TReport>,
    /// Mann-Whitney.
    pub mann_whitney: Option<UReport>,
    /// Permutation of the mean difference.
    pub permutation: Option<PermutationReport>,
    /// Brown-Forsythe.
    pub brown_forsythe: Option<FReport>,
    /// Cohen's d.
    pub cohens_d: Option<f64>,
    /// Hedges' g.
    pub hedges_g: Option<Effect>,
    /// Cliff's delta.
    pub cliffs_delta: Option<f64>,
    /// Equivalence.
    pub tost: Option<TostReport>,
    /// Power to detect 10 % of the baseline.
    pub power_at_10pct: Option<f64>,
    /// Minimum detectable effect at power 0.8, per cent of the baseline.
    pub mde_pct: Option<f64>,
    /// Smallest equal number of runs per arm with power 0.8 to detect 10 % of the baseline.
    pub runs_needed: Option<u64>,
    /// When inconclusive: runs per arm, interleaved, that would decide about the margin with power 0.8; else absent.
    pub runs_to_decide: Option<u64>,
    /// Adjusted p.
    pub p_adjusted: Adjusted,
    /// Drift allowance, per cent (statistics contract 6.5).
    pub drift_allowance_pct: f64,
    /// Design of the two arms: `interleaved`, `mixed`, `blocked`, `unknown`.
    pub order: String,
    /// The verdict without flagged runs, for the stability panel.
    pub without_flagged: Option<WithoutFlagged>,
    /// The verdict under other choices.
    pub stability: Vec<Stability>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The comparison again with every flagged run left out. For reading beside the headline, never instead of it.
#[derive(Debug, Clone, Serialize)]
pub struct WithoutFlagged {
    /// Runs left out.
    pub left_out: Vec<String>,
    /// Overhead without them.
    pub overhead_pct: Option<f64>,
    /// Fieller interval without them.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// One cell of the stability panel.
#[derive(Debug, Clone, Serialize)]
pub struct Stability {
    /// What was changed: `half margin`, `permutation instead of Welch`, ...
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
    /// As the contract spells it.
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
    /// The sentence, caveats included.
    pub text: String,
    /// Reason codes: `P1`, `N2`, `D1`, `O0`, ...
    pub reasons: Vec<String>,
    /// The obstacles of rule 1 in words, each with its code; empty for other kinds.
    pub because: Vec<String>,
    /// Caveats, in their order.
    pub caveats: Vec<String>,
}

/// Severity of a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The cell cannot be compared.
    Error,
    /// Believe with care.
    Warning,
    /// Worth knowing.
    Note,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrapStatus {
    /// The trap is there.
    Fired,
    /// It was looked for with all that is needed, and is not there.
    Passed,
    /// Something was missing; the message says what.
    NotEvaluated,
}

/// What a trap speaks of. Absent fields mean "all of them".
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// Campaign slug.
    pub campaign: String,
    /// Model label.
    pub model: Option<String>,
    /// Workload label.
    pub workload: Option<String>,
    /// Environment label.
    pub environment: Option<String>,
    /// Metric.
    pub metric: Option<String>,
}

/// A piece of evidence: a sentence with the figure, and the run or file it comes from.
#[derive(Debug, Clone, Serialize)]
pub struct Evidence {
    /// What was seen.
    pub text: String,
    /// Run it was seen in.
    pub run: Option<String>,
    /// Where it stands.
    pub origin: Option<Origin>,
}

impl Evidence {
    /// Evidence in words only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), run: None, origin: None }
    }

    /// Evidence from one run.
    pub fn run(text: impl Into<String>, run: impl Into<String>) -> Self {
        Self { text: text.into(), run: Some(run.into()), origin: None }
    }
}

/// One trap about one subject.
#[derive(Debug, Clone, Serialize)]
pub struct TrapReport {
    /// Contract id, e.g. `weights-exceed-memory`.
    pub id: &'static str,
    /// `P1` to `P17`, where it is one of these.
    pub code: Option<&'static str>,
    /// Name for people.
    pub title: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What came of it.
    pub status: TrapStatus,
    /// What it speaks of.
    pub subject: Subject,
    /// One sentence with the figures.
    pub message: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What to do.
    pub remedy: String,
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
