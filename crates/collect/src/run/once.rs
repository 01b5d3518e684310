//! Things asked or made once for a campaign, before the first run that needs them: options of a program's version, a dataset.
//!
//! In:  the remaining runs.  Out: `probes/<environment>-<workload>/` and `prepared/<workload>-<model>/` in the archive, hashed in the
//! journal, and [`Once`], the part for one run.
//! Not here: the queries themselves (see `workload`).
//!
//! Every arm gets the same bytes, and no arm pays for making them. A probe before every run of one arm only would be a difference between
//! the arms. They are kept in the archive, so a resumed campaign uses the same ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::collector::Collector;
use super::folder::{make_folder, write_asset};
use super::mounts::{self, Before};
use super::observed::LOOK;
use crate::env::{Invocation, Place};
use crate::workload::{self, WORK_FOLDER, Workload};
use sparkbench_archive::journal::Event;
use sparkbench_archive::manifest::PlannedRun;
use sparkbench_archive::writer::Extra;
use sparkbench_archive::{FileName, disk, shown};
use sparkbench_text::error::{Error, Kind};
use sparkbench_text::slug::slug;

/// Ends a probe or a preparation that does not end by itself: a dataset of a few hundred prompts takes a minute.
const LIMIT: Duration = Duration::from_secs(1800);

/// The part for one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Once {
    /// Standard output and error of the probe in its environment.
    pub(super) probed: Option<String>,
    /// Names of the prepared files, below the run's own folder.
    pub(super) prepared: Vec<FileName>,
    /// Where the prepared files lie.
    folder: Option<PathBuf>,
}

/// Archived parts that are not runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Probe,
    Preparation,
}

impl What {
    const fn word(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Preparation => "preparation",
        }
    }

    /// Its place in the archive.
    fn of(self, planned: &PlannedRun) -> Extra {
        let workload = planned.workload.clone();
        match self {
            Self::Probe => Extra::Probe { environment: planned.environment.clone(), workload },
            Self::Preparation => Extra::Prepared { workload, model: planned.model.clone() },
        }
    }

    fn invocation(
        self,
        workload: &dyn Workload,
        cell: &workload::Cell<'_>,
        inside: &Path,
    ) -> Result<Option<Invocation>, Error> {
        match self {
            Self::Probe => Ok(workload.probe(cell, inside)),
            Self::Preparation => workload.prepare(cell, inside),
        }
        .map(|made| made.map(|made| Invocation { model_path: cell.model.path.clone(), ..made }))
    }
}

impl Collector<'_> {
    /// Probes and prepares what the runs need and the archive does not have yet.
    ///
    /// # Errors
    /// When a probe or a preparation fails: no run of that workload could succeed. Of workload, with the end of its output.
    pub(super) fn once(&mut self, left: &[PlannedRun]) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        for planned in left {
            if self.host.interrupted() {
                return Ok(());
            }
            if seen.insert((planned.environment.clone(), planned.workload.clone())) {
                self.extra(planned, What::Probe)?;
            }
        }
        let mut seen = BTreeSet::new();
        for planned in left {
            if self.host.interrupted() {
                return Ok(());
            }
            if seen.insert((planned.workload.clone(), planned.model.clone())) {
                self.extra(planned, What::Preparation)?;
            }
        }
        Ok(())
    }

    /// Runs one invocation that is no run, in a folder of its own, unless the archive has it or the workload wants none.
    fn extra(&mut self, planned: &PlannedRun, what: What) -> Result<(), Error> {
        let extra = &what.of(planned);
        if self.writer.extra(extra).is_some() {
            return Ok(());
        }
        let experiment = self.experiment;
        let missing =
            || Error::archive(format!("the plan names a cell that the suite does not have: '{}'", planned.id));
        let (_, workload) = experiment.workload(&planned.workload).ok_or_else(missing)?;
        let environment = experiment.environment(&planned.environment).ok_or_else(missing)?;
        let model = experiment.model(&planned.model).ok_or_else(missing)?;
        let once = self.once_of(planned)?;
        let mut place = Place {
            archive_id: self.archive_id.clone(),
            run_id: slug(&format!("{} {}", what.word(), planned.id)),
            folder: PathBuf::new(),
            work: PathBuf::new(),
            grace_s: experiment.suite.watchdogs.grace_s,
        };
        let placement = self.placement().clone();
        let cell = workload::Cell {
            model,
            probed: once.probed.as_deref(),
            prepared: &[],
            repeat: 1,
            seed: experiment.suite.seed,
            own_program: None,
            placement: &placement,
        };
        // Asked twice: the path inside may depend on a folder that is only made when something is to be put into it.
        if what.invocation(workload, &cell, &environment.work(&place))?.is_none() {
            return Ok(());
        }
        place.folder = self.writer.begin_extra(extra)?;
        place.work = place.folder.join(WORK_FOLDER);
        let inside = environment.work(&place);
        make_folder(&place.work)?;
        for (name, bytes) in workload.assets(&cell)? {
            write_asset(&place.work, &name, &bytes)?;
        }
        let Some(invocation) = what.invocation(workload, &cell, &inside)? else { return Ok(()) };
        self.watcher.say(&format!("{}: {}", what.word(), invocation.argv.join(" ")));
        let before = Before::look(self.host.as_ref(), &place.folder, self.writer.folder());
        let job = environment.wrap(self.host.as_ref(), &invocation, &place)?;
        let mut launched = match self.host.launch(&job) {
            Ok(launched) => launched,
            Err(error) => {
                // What the environment made ready has no guard that would take it down.
                environment.sweep(self.host.as_ref(), &self.archive_id)?;
                self.writer.interrupt_extra(extra, &error.in_a_line())?;
                return Err(error);
            }
        };
        let limit = self.host.monotonic() + LIMIT;
        let ended = loop {
            if let Some(ended) = launched.wait(LOOK)? {
                break ended;
            }
            if self.host.interrupted() || self.host.monotonic() > limit {
                break launched.end("it took too long, or a signal asked to stop")?;
            }
        };
        let examined = environment.examine(self.host.as_ref(), &invocation, &place, &ended);
        let lost = launched.close()?.lost;
        let undone = mounts::undo(self.host.as_ref(), &before);
        undone.tell(&place.run_id, self.watcher);
        if undone.may_hide() {
            self.writer.expect_there().map_err(|error| undone.explain(error))?;
        }
        let swept = undone.taken(&place.run_id);
        if !swept.is_empty() {
            // It has no record of its own.
            self.writer.log(Event::Swept { what: swept })?;
        }
        if lost.is_some() {
            environment.sweep(self.host.as_ref(), &self.archive_id)?;
        }
        let code = examined?.code.or(ended.code);
        if code == Some(0) && lost.is_none() {
            return self.writer.finish_extra(extra).map(|_| ());
        }
        if self.host.interrupted() {
            return self.writer.interrupt_extra(extra, "a signal asked to stop").map(|_| ());
        }
        let printed = || last_line(&place.stderr()).or_else(|| last_line(&place.stdout()));
        let complaint = lost.or_else(printed).unwrap_or_default();
        let folder = self.writer.interrupt_extra(extra, &complaint)?;
        Err(Error::new(
            Kind::Workload,
            format!("the {} of '{}' failed in '{}'", what.word(), planned.workload, planned.environment),
        )
        .detail(complaint)
        .hint(format!("read its output in '{}'", shown(&self.writer.folder().join(folder)))))
    }

    /// A run's part of the probes and preparations in the archive.
    pub(super) fn once_of(&self, planned: &PlannedRun) -> Result<Once, Error> {
        let mut once = Once::default();
        let unreadable = |path: &Path, cause: std::io::Error| {
            Error::archive(format!("cannot read '{}'", shown(path))).because(cause)
        };
        if let Some(folder) = self.writer.extra(&What::Probe.of(planned)) {
            let mut text = String::new();
            for name in [Place::STDOUT, Place::STDERR] {
                let path = folder.join(name);
                let bytes = disk::read_plain(&path).map_err(|cause| unreadable(&path, cause))?;
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
            once.probed = Some(text);
        }
        if let Some(folder) = self.writer.extra(&What::Preparation.of(planned)) {
            let folder = folder.join(WORK_FOLDER);
            // A preparation that left no file left no folder either.
            if folder.exists() {
                once.prepared = disk::tree(&folder).map_err(|cause| unreadable(&folder, cause))?.files;
            }
            once.folder = Some(folder);
        }
        Ok(once)
    }

    /// Puts the prepared files into a run's own folder, which is made.
    pub(super) fn once_into(&self, once: &Once, work: &Path) -> Result<(), Error> {
        make_folder(work)?;
        let Some(from) = &once.folder else { return Ok(()) };
        for name in &once.prepared {
            let to = work.join(name);
            let copied = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(from.join(name), &to));
            copied.map_err(|cause| Error::archive(format!("cannot write '{}'", shown(&to))).because(cause))?;
        }
        Ok(())
    }
}

/// The last line of a file that is not empty. Nothing when it cannot be read.
fn last_line(path: &Path) -> Option<String> {
    let text = disk::read_plain(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
