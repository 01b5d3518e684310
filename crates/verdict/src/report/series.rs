//! A series over time with its changes, and the newest point against the last stable period.
//!
//! In:  filled by `verdict::change`.  Out: JSON with the same names, because scripts rely on them.
//! Not here: how a change is found.

use serde::Serialize;

use sparkbench_model::Direction;

/// One metric over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesReport {
    /// What was measured. Empty where the source has one subject.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Metric, as the source names it.
    pub metric: String,
    /// Unit. Empty where the source gives none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which way is better, where it is known.
    pub direction: Option<Direction>,
    /// Number of points with a value.
    pub points: usize,
    /// Margin, per cent. A change of level within it is reported separately.
    pub margin_pct: f64,
    /// Lag-1 autocorrelation that the search reckoned with.
    pub autocorrelation: f64,
    /// Changes beyond the margin, in order of time.
    pub change_points: Vec<ChangeReport>,
    /// Changes that are supported and within the margin.
    pub within_margin: Vec<ChangeReport>,
    /// Single odd points.
    pub outliers: Vec<PointName>,
    /// Periods of one level, in order of time.
    pub stretches: Vec<StretchReport>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeReport {
    /// Row of the first point after the change, counted from 0.
    pub index: usize,
    /// Its time, as the source writes it.
    pub time: String,
    /// `level`, `scatter`, or `cycle`.
    pub kind: &'static str,
    /// Mean before. For a change of scatter the standard deviation.
    pub before: f64,
    /// The same after.
    pub after: f64,
    /// Per cent of `before`. Absent where `before` is not above 0.
    pub change_pct: Option<f64>,
    /// p-value, the choice of the place included.
    pub p: f64,
    /// Which way it went.
    pub turn: Turn,
    /// Last point before the change: the last good one where it went worse.
    pub last_before: PointName,
    /// First point after the change: the first bad one where it went worse.
    pub first_after: PointName,
    /// Labels that differ between these two points.
    pub changed: Vec<LabelChange>,
}

/// Which way something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// Against the direction of the metric, or more scatter.
    Worse,
    /// With it, or less scatter.
    Better,
    /// Up, where no direction is known.
    More,
    /// Down, where no direction is known.
    Less,
    /// Another phase or size of a cycle.
    Different,
}

impl Turn {
    /// Name in the contracts.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::More => "more",
            Self::Less => "less",
            Self::Different => "different",
        }
    }
}

/// A point by its place and its names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointName {
    /// Row, counted from 0.
    pub index: usize,
    /// Time, as the source writes it.
    pub time: String,
    /// Campaign or commit, where it has one.
    pub name: Option<String>,
    pub value: f64,
}

/// A label before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LabelChange {
    /// Which one.
    pub name: String,
    pub before: String,
    pub after: String,
}

/// A period of one level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StretchReport {
    /// Row of the first point.
    pub from: usize,
    /// Row of the last point.
    pub to: usize,
    /// Points.
    pub n: usize,
    /// Mean without outliers.
    pub mean: f64,
    /// Standard deviation without outliers.
    pub sd: Option<f64>,
    /// 95 % interval of the mean.
    pub interval: Option<(f64, f64)>,
}

/// The newest point against the last stable period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewestReport {
    /// The measurements.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Metric, as the source names it.
    pub metric: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Which way is better, where it is known.
    pub direction: Option<Direction>,
    /// Margin, per cent of the mean of the period.
    pub margin_pct: f64,
    /// The newest point.
    pub newest: PointName,
    pub stretch: StretchReport,
    /// First point of the period.
    pub first: PointName,
    /// Last point of the period.
    pub last: PointName,
    /// Where another point of the period would lie, with 95 % confidence.
    pub prediction: (f64, f64),
    /// Newest against the mean of the period, per cent.
    pub change_pct: Option<f64>,
    /// The consequence.
    pub kind: NewestKind,
    /// Which way the newest point lies.
    pub turn: Turn,
    /// Labels that differ between the last point of the period and the newest.
    pub changed: Vec<LabelChange>,
}

/// Consequence for the newest point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NewestKind {
    /// Worse, beyond the margin and beyond what the period scatters.
    Worse,
    /// Better, beyond both.
    Better,
    /// Beyond both, for a metric without a direction.
    Moved,
    /// Within the margin, or where the period could have had it and scatters less than the margin.
    Steady,
    /// The period is too short or scatters too much.
    Undecided,
}
