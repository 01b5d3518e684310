//! One question that several campaigns asked, and their one answer.
//!
//! In:  filled by `verdict::replication`.  Out: JSON with the same names.
//! Not here: how the campaigns are pooled (see `stats::replication`).

use serde::Serialize;

use super::{Interval, VerdictKind};
use sparkbench_model::Direction;

/// One question over several campaigns. Effects are changes of the metric, per cent of the baseline: positive is more.
#[derive(Debug, Clone, Serialize)]
pub struct ReplicationReport {
    pub model: String,
    pub workload: String,
    /// Contract name.
    pub metric: String,
    /// Name for people.
    pub label: String,
    /// Which way is better.
    pub direction: Direction,
    /// Baseline environment.
    pub baseline: String,
    /// Candidate environment.
    pub candidate: String,
    /// Campaigns, by name.
    pub campaigns: Vec<ReplicationRow>,
    /// Campaigns that were left out since their arms cannot be compared.
    pub left_out: Vec<String>,
    /// Pooled change, per cent.
    pub change_pct: f64,
    /// Its interval by Hartung, Knapp, Sidik and Jonkman.
    pub interval: Interval,
    /// Where the change of one more campaign would lie. Absent below three campaigns.
    pub prediction: Option<Interval>,
    /// Variance of the true effects on the scale of logarithms, by Paule and Mandel.
    pub tau2: f64,
    /// The same by DerSimonian and Laird.
    pub tau2_dersimonian_laird: f64,
    /// Standard deviation of the true effects between campaigns, per cent.
    pub between_pct: f64,
    /// Standard deviation from run to run, per cent: the median over the arms of the campaigns.
    pub runs_pct: f64,
    /// Share of the spread between the estimates that is no chance, per cent.
    pub i2_pct: f64,
    /// Cochran's Q.
    pub q: f64,
    /// Its p-value.
    pub q_p: f64,
    /// Margin of equivalence, per cent: the smallest of the campaigns.
    pub margin_pct: f64,
    /// The verdict over all campaigns.
    pub kind: VerdictKind,
    /// The verdict in a sentence.
    pub said: String,
    /// Whether machines, or campaigns, differ more than runs do, in a sentence.
    pub spread: String,
}

/// One campaign of a question.
#[derive(Debug, Clone, Serialize)]
pub struct ReplicationRow {
    /// Campaign slug.
    pub campaign: String,
    /// Machine, where it is known.
    pub machine: Option<String>,
    /// Change, per cent.
    pub change_pct: f64,
    /// Interval of this campaign alone.
    pub interval: Interval,
    /// Share in the pooled answer, 0 to 1.
    pub weight: f64,
}
