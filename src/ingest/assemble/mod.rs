//! Assembles the contents of files: details to their runs, labels to runs that lack them, runs to campaigns.
//!
//! In:  one look per file.  Out: [`Intake`].
//! Not here: any format.
//!
//! A campaign's folder is the nearest one upwards that holds `labels.toml` or `campaign.json`, else the folder of the file itself.
//! Files of one launch share the folder of a `run.json`, or else the beginning of their names.

mod copies;
mod finish;
mod join;
mod merge;
mod place;
mod server;
mod shards;
mod times;

use std::collections::{BTreeMap, BTreeSet};

use self::finish::finish;
use self::join::join;
use self::place::{home_of, key_of};
use super::belong::Places;
use super::labels::Labels;
use super::look::Look;
use super::{Given, Intake, Options, PartialRun, Record, custom, folders, report, words};
use crate::archive::manifest::RUN_FILE;
use crate::archive::{self, Discovery};
use crate::error::Error;
use crate::model::{Campaign, Facts, Outcome, PublishedCell};

/// Known facts of one folder that is a campaign.
#[derive(Default)]
pub(super) struct Home {
    /// From `labels.toml`, with the file's number. None for labels from the command line.
    pub labels: Option<(Option<usize>, Labels)>,
    /// From `campaign.json`.
    pub campaign: Option<Campaign>,
    /// From its journal.
    pub outcomes: Vec<Outcome>,
    /// From tables of published figures.
    pub published: Vec<PublishedCell>,
}

/// A run on its way: the partial run, and the numbers of the files it came from.
pub(super) struct Draft {
    pub partial: PartialRun,
    pub home: String,
    pub main: usize,
    /// Further files, each with the rule by which it belongs to the run.
    pub others: Vec<(usize, String)>,
    pub launch: Option<String>,
    /// Whether it only shows a machine (telemetry, a snapshot of the GPU): nothing was measured beside it.
    pub shown_only: bool,
}

impl Draft {
    /// Notes a further file, once.
    fn take(&mut self, number: usize, rule: &str) {
        if number != self.main && self.others.iter().all(|(other, _)| *other != number) {
            self.others.push((number, rule.to_owned()));
        }
    }
}

/// See the module.
pub(super) fn assemble(
    found: &Discovery,
    looks: Vec<Look>,
    belong: &Places,
    given: Given,
    options: &Options,
) -> Result<Intake, Error> {
    let mut report = report::Report::new(found, &looks);
    let mut homes: BTreeMap<String, Home> = BTreeMap::new();
    let mut facts = Facts::default();
    let mut partials: Vec<(usize, PartialRun)> = Vec::new();
    let mut published: Vec<(usize, Vec<PublishedCell>)> = Vec::new();
    let mut metrics = custom::Places::default();
    for (number, (file, look)) in found.files.iter().zip(looks).enumerate() {
        let parsed = match look.outcome {
            Ok(parsed) => parsed,
            Err(error) => {
                report.leave_out(number, &error);
                continue;
            }
        };
        parsed.left_out.iter().for_each(|error| report.leave_out(number, error));
        parsed.notes.into_iter().for_each(|note| report.note(number, note));
        for record in parsed.records {
            match record {
                Record::Run(partial) => partials.push((number, *partial)),
                Record::Facts(more) => facts.extend(more),
                Record::Metrics(definitions) => metrics.add(file.folder(), definitions),
                Record::Journal(outcomes) => {
                    homes.entry(file.folder().to_owned()).or_default().outcomes.extend(outcomes)
                }
                Record::Published(cells) => published.push((number, cells)),
                Record::Labels(labels) => {
                    let home = homes.entry(file.folder().to_owned()).or_default();
                    if home.labels.is_some() {
                        report.leave_out(number, &Error::archive("a second file of labels in one folder is left out"));
                    } else {
                        home.labels = Some((Some(number), *labels));
                    }
                }
                Record::Campaign(campaign) => {
                    let home = homes.entry(file.folder().to_owned()).or_default();
                    if home.campaign.is_some() {
                        report.leave_out(number, &Error::archive("a second campaign in one folder is left out"));
                    } else {
                        home.campaign = Some(*campaign);
                    }
                }
            }
        }
    }
    let bases: BTreeSet<&str> = found.files.iter().map(|file| file.base.as_str()).collect();
    for base in bases {
        if let Some(labels) = &given.labels {
            homes.entry(base.to_owned()).or_default().labels = Some((None, labels.clone()));
        }
        metrics.add(base, given.metrics.clone().unwrap_or_default());
    }
    let run_folders: BTreeSet<&str> =
        found.files.iter().filter(|f| f.path.rsplit('/').next() == Some(RUN_FILE)).map(|f| f.folder()).collect();
    // Files below a run's folder, however deep, lie where the run lies.
    let folders = || found.files.iter().enumerate().map(|(n, file)| belong.owner(n).unwrap_or_else(|| file.folder()));
    let places: Vec<String> = folders().map(|folder| home_of(folder, &homes, &run_folders)).collect();
    for (number, cells) in published {
        if let Some(place) = places.get(number) {
            homes.entry(place.clone()).or_default().published.extend(cells);
        }
    }
    let key = |(number, file): (usize, &archive::Found)| {
        belong.owner(number).map_or_else(|| key_of(&file.path, &run_folders), |owner| format!("{owner}/"))
    };
    let keys: Vec<String> = found.files.iter().enumerate().map(key).collect();
    let drafts = join(found, partials, &keys, &places, &mut report);
    let mut drafts = shards::gather(drafts, &mut homes, &mut report);
    if options.arms_by_folder {
        folders::name_arms(found, &mut drafts, &mut report);
    }
    words::apply(found, &homes, &mut drafts, &mut report);
    folders::gather(found, &mut homes, &mut drafts, options.arms_by_folder);
    let campaigns = words::campaigns(found, &homes, &metrics, &drafts, &mut report)?;
    finish(found, drafts, campaigns, facts, report, options)
}
