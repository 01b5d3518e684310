//! Everything from one plan: the question, the promises, and what others published about it.
//!
//! In:  nothing.  Out: [`Campaign`], filled by `ingest` from `campaign.json` or `labels.toml`.
//! Not here: runs, verdicts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Paper;
use super::altered::Altered;
use super::course::{Loss, MissingRun};
use super::custom::CustomMetric;
use super::factor::{AskedFactor, Factor};
use super::facts::FactConflict;
use super::node::MeasuredLink;

/// A campaign's own words and promises.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Campaign {
    /// Slug, unique within the analysis. The name of its folder unless labelled otherwise.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// The one question it was made to answer.
    pub question: Option<String>,
    /// Markdown prose of its authors.
    pub prose: Option<String>,
    /// Who its authors are and how it is cited, with the text that takes the place of `prose`: its `study.md`.
    pub study: Option<Paper>,
    /// Machine label, a key of the machine facts.
    pub machine: Option<String>,
    /// Label that distinguishes the arms where it is not the environment: the name of a setting. The runs then carry its value as
    /// their environment, and their own environment among their settings.
    pub compare_by: Option<String>,
    /// Whether its runs say themselves what a cell is: an archive of ours.
    #[serde(skip)]
    pub declared: bool,
    /// Settings that vary, in the order in which they are asked about, load axes last.
    #[serde(skip)]
    pub factors: Vec<Factor>,
    /// The factor that is compared. Absent where no treatment varies.
    #[serde(skip)]
    pub asked: Option<AskedFactor>,
    /// Environment others are compared with.
    pub baseline: Option<String>,
    /// Figures that are true by construction, by metric: those of a server that was told how fast to be.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub truth: BTreeMap<String, f64>,
    /// Primary metrics, the members of the family of tests. Empty: chosen by the default rule.
    pub primary: Vec<String>,
    /// Equivalence margins fixed by the campaign, per cent.
    pub margins_pct: BTreeMap<String, f64>,
    /// The authors' expectations before the first run, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hypotheses: Vec<Hypothesis>,
    /// When the campaign looks at its figures, where it does. Absent for a fixed number of repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub design: Option<SequentialDesign>,
    /// Runs planned per cell.
    pub planned_repeats: Option<u32>,
    /// Least pause between the end of a run and the start of the next, seconds, as stated.
    pub cooldown_s: Option<f64>,
    /// Highest start temperature allowed by the campaign's gate, degrees Celsius.
    pub start_temp_limit_c: Option<f64>,
    /// Model labels and what is known of them here.
    pub models: BTreeMap<String, ModelLabel>,
    /// Metrics which the campaign's files promise for each run.
    pub planned_metrics: Vec<String>,
    /// Metrics that the campaign defines, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, CustomMetric>,
    /// Statements of the campaign that its files can confirm or refute.
    pub stated: Vec<Stated>,
    /// Figures that were published about it.
    pub published: Vec<PublishedCell>,
    /// Links between the machines of a campaign over several, as they were measured before the first run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<MeasuredLink>,
    /// Where it comes from: address, commit, licence, as one line of text each.
    pub provenance: Vec<String>,
    /// Runs of the plan. 0 where no plan is known.
    pub planned_runs: usize,
    /// Planned runs that are not among the runs, in the order of the plan.
    #[serde(rename = "unmade")]
    pub missing_runs: Vec<MissingRun>,
    /// What was given up as lost in its archive, apart from runs that are among the missing ones. Lost runs were measured again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<Loss>,
    /// SHA-256 over the sorted SHA-256 sums of the files its runs came from. Empty until the intake is complete.
    pub archive_sha256: String,
    /// Files whose hash was held against one that was recorded beside them.
    #[serde(skip)]
    pub recorded_files: usize,
    /// Files of it that are not what was recorded of them.
    #[serde(skip)]
    pub altered: Vec<Altered>,
    /// Files of facts beside those that ship.
    #[serde(skip)]
    pub facts_files: usize,
    /// Facts of its machine and models on which files contradict the shipped ones or each other.
    #[serde(skip)]
    pub fact_conflicts: Vec<FactConflict>,
}

impl Campaign {
    /// Model label of a campaign whose arms are models.
    pub const EVERY_MODEL: &str = "every model";
    /// Model label of a suite that names none.
    pub const NO_MODEL: &str = "none";
    /// Stands for an environment or a model that neither a file nor a label names.
    pub const UNLABELLED: &str = "unlabelled";
    /// Key among a run's further settings that holds its own environment where another label is compared.
    pub const ENVIRONMENT_KEY: &str = "environment";
}

/// The design of a campaign that stops when it is decided, fixed before the first run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SequentialDesign {
    /// [`SequentialDesign::KIND`].
    pub kind: String,
    /// Spending function: `obf`, `pocock` or `linear`.
    pub spending: String,
    /// Error rate of each family of comparisons, both sides together.
    pub alpha: f64,
    /// Whole blocks at each look, rising. The last one ends the campaign.
    pub looks: Vec<u32>,
    /// Action when no remaining look can decide: [`SequentialDesign::STOP`] or [`SequentialDesign::GO_ON`].
    pub futility: String,
}

impl SequentialDesign {
    /// The only kind so far.
    pub const KIND: &'static str = "group-sequential";
    /// Stop without a decision.
    pub const STOP: &'static str = "stop";
    /// Go on to the last look.
    pub const GO_ON: &'static str = "go-on";

    /// Spending functions, as archives spell them.
    pub const SPENDING: [&'static str; 3] = ["obf", "pocock", "linear"];
    /// Fewest blocks of the first look: an arm of one run has no spread.
    pub const FIRST_LOOK_MIN: u32 = 2;

    /// Its fault, where it has one.
    pub fn fault(&self) -> Option<String> {
        let rises = self.looks.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
        if self.kind != Self::KIND {
            Some(format!("expected kind \"{}\", found \"{}\"", Self::KIND, self.kind))
        } else if !Self::SPENDING.contains(&self.spending.as_str()) {
            Some(format!("expected spending {}, found \"{}\"", Self::SPENDING.join(", "), self.spending))
        } else if !(self.alpha > 0.0 && self.alpha <= 0.5) {
            Some(format!("expected alpha above 0 and at most 0.5, found {}", self.alpha))
        } else if self.looks.first().is_none_or(|first| *first < Self::FIRST_LOOK_MIN) || !rises {
            Some(format!("expected looks that rise from at least {}, found {:?}", Self::FIRST_LOOK_MIN, self.looks))
        } else if ![Self::STOP, Self::GO_ON].contains(&self.futility.as_str()) {
            Some(format!("expected futility \"{}\" or \"{}\", found \"{}\"", Self::STOP, Self::GO_ON, self.futility))
        } else {
            None
        }
    }

    /// Blocks of the whole plan.
    pub fn blocks(&self) -> u32 {
        self.looks.last().copied().unwrap_or(0)
    }

    /// `obf spending, two-sided alpha 0.05, looks after 5, 8 and 12 blocks`, for people.
    pub fn words(&self) -> String {
        let looks: Vec<String> = self.looks.iter().map(ToString::to_string).collect();
        let looks = match looks.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            [init @ .., last] => format!("{} and {last}", init.join(", ")),
        };
        format!("looks after {looks} blocks, {} spending, alpha {}", self.spending, self.alpha)
    }
}

/// A statement that a campaign sets out to test.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Hypothesis {
    /// In words.
    pub claim: String,
    /// Metric that decides. The primary ones where it names none.
    pub metric: Option<String>,
    /// Environment to compare with. The baseline of the campaign where it names none.
    pub baseline: Option<String>,
    /// Environment under question. Every other one where it names none.
    pub candidate: Option<String>,
    /// Verdict expected, as the analysis spells it.
    pub expect: Option<String>,
    /// Margin, per cent.
    pub margin_pct: Option<f64>,
}

/// Statements of a campaign about one of its model labels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelLabel {
    /// Model id, a key of the model facts.
    pub id: Option<String>,
    /// Name for people.
    pub title: Option<String>,
    /// Precision as served, e.g. `bf16`, `mxfp4`.
    pub quantisation: Option<String>,
    /// Id that the launch path used, where it is known to differ from what was asked.
    pub launched_id: Option<String>,
    /// Where `launched_id` is seen.
    pub launched_source: Option<String>,
    /// Batch limit of the run.
    pub batch: Option<f64>,
}

/// What a [`Stated`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatedKind {
    /// Requests per run.
    Requests,
    /// Unit of a figure.
    Unit,
    /// Name or architecture of the hardware.
    Hardware,
    /// Number of runs.
    Runs,
    /// Anything else.
    Other,
}

/// One statement, and what the files or logs show instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stated {
    /// Its subject.
    pub about: StatedKind,
    /// The statement, as data: a number, a name or a unit.
    pub said: String,
    /// Where it was said.
    pub said_in: String,
    /// What configuration or logs show.
    pub found: String,
    /// Where that is seen.
    pub found_in: String,
}

/// One published figure, to be recomputed from the rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PublishedCell {
    pub model: String,
    /// Environment label. For differences the candidate.
    pub environment: String,
    /// Other environment, for differences.
    pub against: Option<String>,
    /// Contract name of the metric.
    pub metric: String,
    /// `mean`, `sd`, `difference` (candidate - baseline) or `loss_pct` (100 (baseline - candidate) / baseline).
    pub statistic: String,
    /// As printed, sign included. The digits printed decide how closely it must agree.
    pub printed: String,
    /// Table and document.
    pub source: String,
}
