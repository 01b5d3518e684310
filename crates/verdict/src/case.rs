//! One campaign prepared for judging: runs by cell, in order of time, with the facts beside them.
//!
//! In:  a campaign, its runs, the facts.  Out: [`Case`], read by traps and by the judge.
//! Not here: formulas, sentences.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::columns::{self, Derived};
use super::distinct::distinct;
use sparkbench_model::{Campaign, Facts, MachineFacts, MissingReason, ModelFacts, Run};

/// Runs of one environment x model x workload in order of time.
#[derive(Debug)]
pub struct Cell<'a> {
    pub model: &'a str,
    pub workload: &'a str,
    pub environment: &'a str,
    /// By start, ties by the order of the archive. Runs without a start last, in the order of the archive.
    pub runs: Vec<&'a Run>,
}

impl<'a> Cell<'a> {
    /// Finite values of a metric in order of time, each with its run. A run that failed is no repeat.
    pub fn values(&self, metric: &str) -> Vec<(&'a Run, f64)> {
        let done = self.runs.iter().filter(|run| !run.has_failed());
        done.filter_map(|run| Some((*run, run.value(metric)?))).collect()
    }

    /// The same without the runs.
    pub fn numbers(&self, metric: &str) -> Vec<f64> {
        self.values(metric).into_iter().map(|(_, value)| value).collect()
    }

    /// The value on which all runs that state it agree. Several words are joined.
    pub(crate) fn stated(&self, of: impl Fn(&Run) -> Option<String>) -> Option<String> {
        let values: Vec<String> = distinct(self.runs.iter().filter_map(|run| of(run)));
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// One campaign, ready to be judged.
#[derive(Debug)]
pub struct Case<'a> {
    /// Its words and promises.
    pub campaign: &'a Campaign,
    /// All its runs in order of time.
    pub runs: Vec<&'a Run>,
    /// Cells by model, workload, environment.
    pub cells: Vec<Cell<'a>>,
    /// Machines and models.
    pub facts: &'a Facts,
    /// Environment that others are compared with.
    pub baseline: Option<&'a str>,
    /// Primary metrics of the campaign, already chosen.
    pub primary: Vec<String>,
    /// Whether its arms are two moments of one setting.
    pub over_time: bool,
    derived: OnceLock<Vec<Derived>>,
}

/// Rules by which this program computes a metric from others: such a column is no measurement of its own.
pub const COMPUTED: &[&str] = &["roofline.derived", "cost.derived"];

impl<'a> Case<'a> {
    /// Runs sorted into cells, without a baseline or primary metrics: enough to look facts up.
    pub fn of_runs(campaign: &'a Campaign, mut runs: Vec<&'a Run>, facts: &'a Facts) -> Self {
        // Stable: ties and missing starts keep the order of the archive.
        runs.sort_by_key(|run| (run.started.is_none(), run.started));
        let mut cells: BTreeMap<(&str, &str, &str), Vec<&Run>> = BTreeMap::new();
        for run in &runs {
            cells.entry((&run.model, &run.workload, &run.environment)).or_default().push(run);
        }
        let cells: Vec<Cell<'a>> = cells
            .into_iter()
            .map(|((model, workload, environment), runs)| Cell { model, workload, environment, runs })
            .collect();
        Case {
            campaign,
            runs,
            cells,
            facts,
            baseline: None,
            primary: Vec::new(),
            over_time: false,
            derived: OnceLock::new(),
        }
    }

    /// Columns that are functions of others, looked for once. To be asked when the primary metrics are chosen: they say which column is kept.
    pub fn derived(&self) -> &[Derived] {
        self.derived.get_or_init(|| columns::derived(&self.reported(), &self.runs, &self.primary))
    }

    /// Cells of one model and workload, the baseline first, then by name.
    pub fn arms(&self, model: &str, workload: &str) -> Vec<&Cell<'a>> {
        let mut arms: Vec<_> = self.cells.iter().filter(|c| c.model == model && c.workload == workload).collect();
        arms.sort_by_key(|c| (Some(c.environment) != self.baseline, c.environment));
        arms
    }

    /// Runs of one model and workload, those of the baseline first, each arm in order of time.
    pub(crate) fn runs_by_arm(&self, model: &str, workload: &str) -> Vec<&'a Run> {
        self.arms(model, workload).into_iter().flat_map(|cell| cell.runs.iter().copied()).collect()
    }

    /// Runs of one model and workload in order of time.
    pub(crate) fn runs_of(&self, model: &str, workload: &str) -> Vec<&'a Run> {
        self.runs.iter().copied().filter(|run| run.model == model && run.workload == workload).collect()
    }

    /// Models, in order, each once.
    pub(crate) fn models(&self) -> Vec<&'a str> {
        distinct(self.cells.iter().map(|cell| cell.model))
    }

    /// Number of different values of a metric.
    pub(crate) fn distinct_values(&self, metric: &str) -> usize {
        distinct(self.runs.iter().filter_map(|run| run.value(metric)).map(f64::to_bits)).len()
    }

    /// Model and workload pairs, in order, each once.
    pub fn questions(&self) -> Vec<(&'a str, &'a str)> {
        distinct(self.cells.iter().map(|c| (c.model, c.workload)))
    }

    /// Metric names that any run of the campaign reports, each once, sorted.
    pub fn metrics(&self) -> Vec<&'a str> {
        distinct(self.runs.iter().flat_map(|run| run.readings.iter().map(|r| r.metric.as_str())))
    }

    /// The same without the columns that this program computed from others.
    pub fn reported(&self) -> Vec<&'a str> {
        let readings = self.runs.iter().flat_map(|run| run.readings.iter());
        distinct(readings.filter(|r| !COMPUTED.contains(&r.origin.rule)).map(|r| r.metric.as_str()))
    }

    /// Facts of the machine, from the campaign's label or from what the runs print.
    pub fn machine(&self) -> Option<&'a MachineFacts> {
        let label = self.campaign.machine.as_deref();
        label
            .and_then(|name| self.facts.machine(name))
            .or_else(|| self.runs.iter().find_map(|run| self.facts.machine(run.setup.machine.as_deref()?)))
    }

    /// Name of the machine of a run: the one it prints, else the campaign's label.
    pub(crate) fn machine_name<'r>(&'r self, run: &'r Run) -> Option<&'r str> {
        run.setup.machine.as_deref().or(self.campaign.machine.as_deref())
    }

    /// Facts of the model behind a label, by the id that was asked for. None where models are what the arms compare.
    pub fn model(&self, label: &str) -> Option<&'a ModelFacts> {
        // One label has several checkpoints there. Each run names its own.
        if matches!(self.campaign.compare_by.as_deref(), Some("model" | "quantisation")) {
            return None;
        }
        self.facts.model(self.model_id(label)?)
    }

    /// The id that was asked for under a label, from the campaign, else from the runs.
    pub(crate) fn model_id(&self, label: &str) -> Option<&'a str> {
        let of_label = self.campaign.models.get(label).and_then(|m| m.id.as_deref());
        of_label.or_else(|| self.runs.iter().filter(|r| r.model == label).find_map(|r| r.setup.model_id.as_deref()))
    }

    /// Runs planned per cell: of a campaign that ended at a look, those up to the look. Absent where no plan says it.
    pub fn planned_repeats(&self) -> Option<u32> {
        let ended = self.campaign.design.is_some()
            && self.campaign.missing_runs.iter().any(|run| run.gone == MissingReason::Skipped);
        let made = self.runs.iter().filter_map(|run| run.repeat).max();
        made.filter(|_| ended).or(self.campaign.planned_repeats)
    }

    /// Batch of a model's runs, from the runs, else from the campaign.
    pub fn batch(&self, label: &str, workload: &str) -> Option<f64> {
        self.runs
            .iter()
            .filter(|r| r.model == label && r.workload == workload)
            .find_map(|r| r.setup.batch)
            .or_else(|| self.campaign.models.get(label).and_then(|m| m.batch))
    }
}
