//! `load --resume`: the loads of a sweep that an earlier process finished.
//!
//! In:  the file of `--json`, the loads that are asked for now.  Out: [`Kept`], or an error that names what is asked for otherwise.
//! Not here: archives, whose runs are kept by their journal (see `archive`), comparing one load (see `load::session::earlier`).
//!
//! The file is written anew after each load, so it holds every finished one. A load that was stopped or is not valid is no figure: it is
//! measured again, and stays in the file until then.

use std::path::Path;

use serde_json::Value;

use super::plan::Loads;
use crate::cli::talk::Talk;
use sparkbench_archive::shown;
use sparkbench_load::session::Session;
use sparkbench_load::session::earlier::SettingChange;
use sparkbench_load::session::passes::RepeatedLoad;
use sparkbench_load::summary::SCHEMA;
use sparkbench_load::summary::cells;
use sparkbench_text::error::Error;

/// Loads that are there already, by their names.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    /// Finished ones, which are not measured again.
    pub loads: Vec<(String, Value)>,
    /// Those that have no figures, which are replaced when they are measured.
    pub stale: Vec<(String, Value)>,
}

impl Kept {
    /// Takes from a file what was asked for as it is now. Nothing where there is no file yet.
    ///
    /// # Errors
    /// Of usage, where it holds a load that was asked for otherwise. Of an archive, where it cannot be read.
    pub(super) fn read(path: &Path, session: &Session<'_>, plan: &Loads) -> Result<Self, Error> {
        let Some(summaries) = summaries(path)? else { return Ok(Self::default()) };
        let mut cells = if plan.seeks_points() { Vec::new() } else { plan.cells(session.known().most_tokens())?.0 };
        let mut kept = Self::default();
        let mut others = Differences::default();
        for summary in summaries {
            if let Some(point) = plan.searched(&summary)
                && !cells.iter().any(|cell| cell.name == point.name)
            {
                cells.push(point);
            }
            kept.take(summary, &mut cells, session, &mut others)?;
        }
        others.into_result(
            &format!("'{}'", shown(path)),
            "give the settings of then, or write another file with --json FILE",
        )?;
        Ok(kept)
    }

    /// One summary, as a pass of the cell that it is of.
    fn take(
        &mut self,
        summary: Value,
        cells: &mut [RepeatedLoad],
        session: &Session<'_>,
        others: &mut Differences,
    ) -> Result<(), Error> {
        let valid = summary["valid"] == true;
        let mut nearest: Option<(bool, Vec<SettingChange>, &str)> = None;
        for cell in cells {
            let asked = session.asked(&cell.settings)?;
            let found = asked.differences(&summary);
            if found.is_empty() && cell.kept < cell.passes {
                let name = cell.pass(cell.kept);
                if valid {
                    cell.kept += 1;
                    self.loads.push((name, summary));
                } else {
                    self.stale.push((name, summary));
                }
                return Ok(());
            }
            if found.is_empty() {
                // More passes than are asked for now.
                nearest = Some((true, Vec::new(), cell.name.as_str()));
                continue;
            }
            let elsewhere = !asked.is_point_of(&summary);
            let nearer =
                nearest.as_ref().is_none_or(|(other, known, _)| (elsewhere, found.len()) < (*other, known.len()));
            if nearer {
                nearest = Some((elsewhere, found, cell.name.as_str()));
            }
        }
        match nearest {
            Some((false, found, name)) => found.into_iter().for_each(|one| others.add(name, one)),
            _ if !valid => {}
            _ => others.surplus.push(point_of(&summary)),
        }
        Ok(())
    }

    /// The summary of a load.
    pub(super) fn summary(&self, name: &str) -> Option<&Value> {
        self.loads.iter().find(|(known, _)| known == name).map(|(_, summary)| summary)
    }

    /// Takes what is kept out of what is measured. `ends`: nothing behind a cell in which requests failed is measured.
    pub(super) fn leave_out(&self, cells: &mut Vec<RepeatedLoad>, ends: bool) {
        let of = |cell: &RepeatedLoad| {
            self.loads.iter().filter(|(name, _)| cells::of(name) == cells::of(&cell.pass(0))).count()
        };
        for cell in cells.iter_mut() {
            cell.kept = u32::try_from(of(cell)).unwrap_or(u32::MAX).min(cell.passes);
        }
        let failed = |cell: &RepeatedLoad| {
            self.summary(&cell.pass(0)).is_some_and(|summary| summary["failed"].as_u64().unwrap_or(0) > 0)
        };
        if let Some(last) = cells.iter().position(failed).filter(|_| ends) {
            cells.truncate(last + 1);
        }
    }

    /// Says what is kept.
    pub(super) fn tell(&self, path: &Path, talk: &Talk) {
        let file = shown(path);
        talk.say(&match self.loads.len() {
            0 => format!("'{file}' has no finished load, so all are measured"),
            1 => format!("'{file}' has 1 finished load, which is not measured again"),
            many => format!("'{file}' has {many} finished loads, which are not measured again"),
        });
        for (name, _) in &self.stale {
            talk.say(&format!("{name} was not finished, or is not valid: it is measured again"));
        }
    }
}

/// The summaries of a file. Nothing where it does not exist.
fn summaries(path: &Path) -> Result<Option<Vec<Value>>, Error> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::archive(format!("cannot read '{}'", shown(path))).because(cause)),
    };
    let wrong = || {
        Error::usage(format!("'{}' holds no loads to continue with", shown(path)))
            .hint("name the file that --json wrote, or leave out --resume to replace it")
    };
    let list = match serde_json::from_str(&text) {
        Ok(Value::Array(list)) => list,
        Ok(one @ Value::Object(_)) => vec![one],
        _ => return Err(wrong()),
    };
    if list.iter().any(|summary| summary["schema"] != SCHEMA) {
        return Err(wrong());
    }
    Ok(Some(list))
}

/// `concurrency 8`: the point of a summary.
fn point_of(summary: &Value) -> String {
    let settings = &summary["settings"];
    let said = |key: &str, word: &str| {
        let value = &settings[key];
        (!value.is_null())
            .then(|| format!("{word} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    };
    let point = said("concurrency", "concurrency").or_else(|| said("rate_req_s", "rate"));
    point.unwrap_or_else(|| "a load".to_owned())
}

/// Settings that are other ones, each with the loads that have it.
#[derive(Debug, Default)]
pub(super) struct Differences {
    settings: Vec<(String, Vec<String>)>,
    /// Loads that are not asked for now.
    pub surplus: Vec<String>,
}

impl Differences {
    /// One of a load.
    pub(super) fn add(&mut self, load: &str, SettingChange { setting, was, now }: SettingChange) {
        let said = format!("{setting} was {was} and is {now} now");
        match self.settings.iter_mut().find(|(known, _)| *known == said) {
            Some((_, loads)) => loads.push(load.to_owned()),
            None => self.settings.push((said, vec![load.to_owned()])),
        }
    }

    /// An error where there is one. `what` was measured with the other settings.
    ///
    /// # Errors
    /// Of usage, with each setting.
    pub(super) fn into_result(self, what: &str, remedy: &str) -> Result<(), Error> {
        let named = |(said, mut loads): (String, Vec<String>)| {
            loads.retain(|load| !load.is_empty());
            loads.dedup();
            if loads.is_empty() { said } else { format!("{said} ({})", loads.join(", ")) }
        };
        let mut lines: Vec<String> = self.settings.into_iter().map(named).collect();
        if !self.surplus.is_empty() {
            lines.push(format!("it has a load that is not asked for now: {}", self.surplus.join(", ")));
        }
        if lines.is_empty() {
            return Ok(());
        }
        Err(Error::usage(format!("{what} was measured with other settings")).detail(lines.join("; ")).hint(remedy))
    }
}
