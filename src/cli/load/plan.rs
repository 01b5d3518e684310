//! Which loads were asked for: one, the points of a sweep, the cells of a matrix, a search.
//!
//! In:  [`LoadArgs`].  Out: [`Loads`].
//! Not here: one load (see `load::session`), the steps of a search (see `load::sweep`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use toml::{Table, Value};

use super::args::LoadArgs;
use super::resume::Kept;
use crate::cli::outcome::Outcome;
use crate::cli::stdout::print;
use crate::cli::talk::Talk;
use sparkbench_host::Host;
use sparkbench_load::matrix;
use sparkbench_load::plan::{Plan, PlanInput};
use sparkbench_load::session::passes::{RepeatedLoad, point};
use sparkbench_load::session::search::{self, Searched};
use sparkbench_load::session::{Session, Watcher, gauge};
use sparkbench_load::settings::{Preset, Settings, Shape, Word, Work};
use sparkbench_load::suite::{self, bounded};
use sparkbench_load::sweep::Search;
use sparkbench_text::error::Error;

/// See the module.
pub(super) struct Loads {
    /// What all of them share.
    pub settings: Settings,
    kind: Kind,
    /// Measured passes where the user says how many.
    repeats: Option<u32>,
    calibrate: bool,
}

enum Kind {
    Cells(Vec<RepeatedLoad>),
    Matrix(Preset),
    Search(Search),
}

impl Loads {
    /// Reads them from the arguments.
    ///
    /// # Errors
    /// Of usage.
    pub(super) fn read(args: &LoadArgs) -> Result<Self, Error> {
        let args = &args.as_meant()?;
        let settings = args.settings()?;
        let shapes = args.shapes()?;
        let conversations = matches!(settings.work, Work::Conversations(_));
        let kind = if let Some(set) = args.matrix {
            Kind::Matrix(set)
        } else if args.saturation.is_some() {
            Kind::Search(Search::over(&shapes)?)
        } else if conversations {
            Kind::Cells(vec![RepeatedLoad::once("", settings.clone())])
        } else {
            let several = shapes.len() > 1;
            let cell = |shape| {
                let name = if several { point(&shape) } else { String::new() };
                let mut settings = Settings { shape, requests: args.requests, ..settings.clone() };
                bounded(&mut settings);
                RepeatedLoad::once(name, settings)
            };
            Kind::Cells(shapes.into_iter().map(cell).collect())
        };
        // A matrix has a count for each of its concurrencies unless the user gives one.
        let requests = if matches!(kind, Kind::Cells(_)) { settings.requests } else { args.requests };
        let repeats = args.repeats.map(|repeats| repeats.max(1));
        Ok(Self { settings: Settings { requests, ..settings }, kind, repeats, calibrate: args.calibrate.is_some() })
    }

    /// In their order, and what does not fit into a server of so many tokens.
    ///
    /// # Errors
    /// Of usage, when a matrix cannot be made of the options, or a search has no cells beforehand.
    pub(super) fn cells(&self, most: Option<u64>) -> Result<(Vec<RepeatedLoad>, Vec<String>), Error> {
        let (mut cells, skipped) = match &self.kind {
            Kind::Cells(cells) => (cells.clone(), Vec::new()),
            Kind::Matrix(preset) => {
                let most = most.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
                let made = matrix::cells(*preset, &self.settings, most)?;
                let skipped = made.skipped.iter().map(|cell| format!("{} is skipped: {}", cell.name, cell.because));
                let cell = |cell: &matrix::MatrixCell| RepeatedLoad {
                    warmups: cell.passes.0,
                    passes: cell.passes.1,
                    // Whole passes warm up.
                    ..RepeatedLoad::once(
                        cell.name.clone(),
                        Settings { warmup: cell.settings.warmup.or(Some(0)), ..cell.settings.clone() },
                    )
                };
                (made.cells.iter().map(cell).collect(), skipped.collect())
            }
            Kind::Search(_) => {
                return Err(Error::usage("a search chooses its points while it runs, so it has no plan beforehand")
                    .hint("name the points instead, such as --concurrency 1..128"));
            }
        };
        for cell in &mut cells {
            cell.passes = self.repeats.unwrap_or(cell.passes);
        }
        Ok((cells, skipped))
    }

    /// Names of all loads in their order. A search has none beforehand.
    ///
    /// # Errors
    /// As [`Loads::cells`].
    pub(super) fn names(&self, most: Option<u64>) -> Result<Vec<String>, Error> {
        if self.seeks_points() {
            return Ok(Vec::new());
        }
        let (cells, _) = self.cells(most)?;
        Ok(cells.iter().flat_map(|cell| (0..cell.passes).map(|pass| cell.pass(pass))).collect())
    }

    /// Measured passes of each cell.
    pub(super) fn repeats(&self) -> u32 {
        self.repeats.unwrap_or(if matches!(self.kind, Kind::Matrix(_)) { matrix::MEASURED_PASSES } else { 1 })
    }

    /// The load that a search would make of the point of a summary. Absent for other loads, and where the summary names no such point.
    pub(super) fn searched(&self, summary: &serde_json::Value) -> Option<RepeatedLoad> {
        let Kind::Search(_) = &self.kind else { return None };
        let key = if matches!(self.settings.shape, Shape::Open { .. }) { "rate_req_s" } else { "concurrency" };
        let value = &summary["settings"][key];
        let value = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
        let (settings, _) = search::at(&self.settings, value);
        Some(RepeatedLoad::once(point(&settings.shape), settings))
    }

    /// Whether the points are known only while the loads run.
    pub(super) fn seeks_points(&self) -> bool {
        matches!(self.kind, Kind::Search(_))
    }

    /// Whether each load is a point by itself, which needs none of the others.
    pub(super) fn stands_apart(&self) -> bool {
        matches!(&self.kind, Kind::Cells(cells) if cells.len() > 1)
    }

    /// The loads as tables of a suite, by their names. The only one has none.
    pub(super) fn tables(&self) -> Vec<(String, Table)> {
        let mut table = suite::write(&self.settings);
        match &self.kind {
            Kind::Cells(cells) => {
                return cells.iter().map(|cell| (cell.name.clone(), suite::write(&cell.settings))).collect();
            }
            Kind::Matrix(preset) => {
                suite::own_keys(*preset).iter().for_each(|key| drop(table.remove(*key)));
                table.insert("matrix".into(), Value::String(preset.word().into()));
            }
            Kind::Search(search) => {
                match &self.settings.shape {
                    Shape::Open { .. } => {
                        table.insert("rate".into(), Value::String(format!("{},{}", search.from, search.to)));
                    }
                    _ => {
                        table.insert("concurrency".into(), Value::String(format!("{}..{}", search.from, search.to)));
                    }
                }
                table.insert("saturation".into(), Value::Boolean(true));
            }
        }
        vec![(String::new(), table)]
    }

    /// Prints the plan of each, one request a line.
    ///
    /// # Errors
    /// When a file cannot be read, or the settings make no plan.
    pub(super) fn print(&self, talk: &Talk) -> Result<Outcome, Error> {
        for cell in self.cells(None)?.0 {
            let plan = Plan::new(&cell.settings, &PlanInput::read(&cell.settings)?)?;
            let mut text = Vec::new();
            let end = cell.settings.duration_s.map(|seconds| (seconds * 1e9) as u64);
            if let (Some(seconds), Shape::Closed { .. }) = (cell.settings.duration_s, &cell.settings.shape) {
                talk.say(&format!(
                    "in a closed loop, the speed of the server decides how many of these requests are sent in {seconds} s"
                ));
            }
            plan.write_before(end.unwrap_or(u64::MAX), &mut text)
                .map_err(|cause| Error::archive("cannot write the plan").because(cause))?;
            print(&String::from_utf8_lossy(&text))?;
        }
        Ok(Outcome::Done)
    }

    /// Whether each load is one of a row.
    pub(super) fn several(&self) -> bool {
        match &self.kind {
            Kind::Cells(cells) => cells.len() > 1 || self.repeats.is_some_and(|repeats| repeats > 1),
            Kind::Matrix(_) | Kind::Search(_) => true,
        }
    }

    /// Whether a point that the server cannot carry is a finding and no fault.
    pub(super) fn seeks_limits(&self) -> bool {
        match &self.kind {
            Kind::Cells(_) => false,
            Kind::Matrix(preset) => preset.ends_when_refused(),
            Kind::Search(_) => true,
        }
    }

    /// Does those that are not kept.
    ///
    /// # Errors
    /// As [`Session::all`].
    pub(super) fn measure(
        &self,
        host: &Arc<dyn Host>,
        session: &Session<'_>,
        folder: &Path,
        watcher: &dyn Watcher,
        stop: &Arc<AtomicBool>,
        kept: &Kept,
    ) -> Result<Searched, Error> {
        if let Kind::Search(search) = &self.kind {
            return session.search(search, &self.settings, folder, &|name| kept.summary(name).cloned());
        }
        let (mut cells, skipped) = self.cells(session.known().most_tokens())?;
        skipped.iter().for_each(|line| watcher.warn(line));
        let ends = matches!(self.kind, Kind::Matrix(_)) && self.seeks_limits();
        kept.leave_out(&mut cells, ends);
        if self.calibrate {
            for (at, cell) in (0..).zip(&mut cells).filter(|(_, cell)| cell.kept < cell.passes) {
                let folder = folder.join(format!("calibration-{at}"));
                cell.calibration = Some(gauge::calibrate(host, &cell.settings, &folder, watcher, stop)?);
            }
        }
        let loaded = session.all(&cells, folder, &|done| !ends || done.summary.failed == 0)?;
        Ok(Searched { loaded, found: None })
    }
}
