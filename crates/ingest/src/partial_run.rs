//! What one file says about one run.
//!
//! In:  nothing.  Out: [`PartialRun`], and how it becomes a run.
//! Not here: joining several (see `assemble`).

use std::collections::BTreeMap;

use serde::Serialize;

use sparkbench_model::{Course, Extra, Instant, LooseStart, Reading, Sample, Series, SettingOrigin, Setup, Status};

/// Facts about the server from its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// It came up, or nothing in the log speaks against it.
    Served,
    /// It ended before it came up.
    NeverUp,
}

/// How a [`PartialRun`] becomes a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinRole {
    /// A run for itself. Nothing joins it.
    #[default]
    Alone,
    /// A run. Details of the same launch join it.
    Body,
    /// Joins the bodies of its launch. A run of its own when there are none.
    Base,
    /// Joins the bodies or the base of its launch. A run of its own when there are neither.
    Trace,
    /// Joins the runs of its launch and is nothing without them.
    Detail,
    /// Describes all runs whose files lie in its folder or below, and joins them as a detail. Examples are the log of the server and a sheet
    /// of settings. It is a run of its own where there are no others and it has a figure. Two of one format in one folder join no run,
    /// because it is unclear which belongs where.
    #[serde(rename = "beside")]
    WholeFolder,
}

/// Data of one file about one run. Everything may be absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartialRun {
    /// How it becomes a run.
    pub join_role: JoinRole,
    /// For the log of a server: whether it came up, where the log shows it. Absent for everything else.
    pub server: Option<ServerState>,
    /// Campaign that the row itself names.
    pub campaign: Option<String>,
    /// Id that the source gives the run.
    pub id: Option<String>,
    pub environment: Option<String>,
    pub model: Option<String>,
    pub workload: Option<String>,
    /// Test of a launch that makes several: the run's workload becomes `WORKLOAD-TEST`. A detail with one joins that test alone.
    pub part: Option<String>,
    /// The k-th run of its cell.
    pub repeat: Option<u32>,
    /// Group of runs close in time.
    pub block: Option<u32>,
    /// Place in the order of execution.
    pub position: Option<u32>,
    /// Start of the engine, as a number of the archive.
    pub launch: Option<u32>,
    pub started: Option<Instant>,
    pub ended: Option<Instant>,
    /// The period in which a load measured.
    pub measured: Option<(Instant, Instant)>,
    /// Outcome, where the source says one.
    pub status: Option<Status>,
    /// Whole-run figures.
    pub readings: Vec<Reading>,
    /// Per-request figures.
    pub series: Vec<Series>,
    /// Figures that are not among our metrics.
    pub extras: Vec<Extra>,
    pub telemetry: Vec<Sample>,
    /// Events beside the figures.
    pub course: Course,
    pub setup: Setup,
    /// Whether it says itself what its cell is: a row of a table with the columns of the contract.
    pub declared: bool,
    /// Settings that a label or the name of a file says, and not the file itself.
    pub named: BTreeMap<&'static str, SettingOrigin>,
    /// Mark that is the same in every copy of this run. Copies are a summary that repeats the runs of a sweep, or a console block beside the
    /// JSON. Of runs with one mark in one campaign only the fullest is kept, and the others are reported as copies. Two with different
    /// starts are two runs.
    pub fingerprint: Option<String>,
    /// Which part of a plan it is, where several clients loaded apart.
    pub share: Option<Share>,
}

impl PartialRun {
    /// Whether another record of the same file is this one once more: no setting differs, and every figure is the same.
    pub(crate) fn repeats(&self, other: &Self) -> bool {
        let unlike =
            |ours: Option<f64>, theirs: Option<f64>| ours.zip(theirs).is_some_and(|(ours, theirs)| ours != theirs);
        let (ours, theirs) = (&self.setup, &other.setup);
        let figures = |run: &Self| -> Vec<(String, u64)> {
            run.readings.iter().map(|reading| (reading.metric.clone(), reading.value.to_bits())).collect()
        };
        self.fingerprint.is_some()
            && (&self.fingerprint, self.started) == (&other.fingerprint, other.started)
            && !unlike(ours.batch, theirs.batch)
            && !unlike(ours.request_rate, theirs.request_rate)
            && figures(self) == figures(other)
    }

    /// The start, as a text of a file gives it. That it names no zone is kept with it.
    pub(crate) fn started_as(&mut self, text: &str) {
        let at = Instant::parse(text);
        if Instant::names_zone(text) { self.started = at } else { self.started_somewhere(at) }
    }

    /// The start by a clock whose zone nobody names.
    pub(crate) fn started_somewhere(&mut self, at: Option<Instant>) {
        self.started = at;
        self.course.loose_start = at.map(|at| (at, LooseStart::Zone));
    }
}

/// One client's part of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of the client, from 0.
    pub rank: u32,
    /// Clients in all.
    pub world: u32,
    /// Hash of the plan.
    pub plan: String,
    /// From when the times of its requests count.
    pub started: Option<Instant>,
}
