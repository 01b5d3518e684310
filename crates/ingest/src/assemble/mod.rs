//! Assembles the contents of files: details to their runs, labels to runs that lack them, runs to campaigns.
//!
//! In:  one look per file.  Out: [`Intake`].
//! Not here: any format.
//!
//! A campaign's folder is the nearest one upwards that holds `labels.toml`, `campaign.json`, a `study.md` or a table of runs with environments,
//! else what was given on the command line.
//! Files of one launch share the folder of a `run.json`, or else the beginning of their names.

mod copies;
mod draft;
mod finish;
mod join;
mod launches;
mod merge;
mod place;
mod server;
mod shards;
mod times;

use std::collections::{BTreeMap, BTreeSet};

use self::draft::Told;
pub(super) use self::draft::{Draft, Home};
use self::finish::finish;
use self::join::join;
use self::place::{home_of, key_of};
use super::file_report::FileReport;
use super::format::Look;
use super::given::Given;
use super::labels::Labels;
use super::places::Places;
use super::{Intake, Options, PartialRun, Record, custom, labelling};
use sparkbench_archive::manifest::RUN_FILE;
use sparkbench_archive::{self as archive, Discovery};
use sparkbench_model::{Facts, LocalFacts, PublishedCell};
use sparkbench_text::error::Error;

/// See the module.
pub(super) fn assemble(
    found: &Discovery,
    looks: Vec<Look>,
    belong: &Places,
    given: Given,
    options: &Options,
) -> Result<Intake, Error> {
    let mut report = FileReport::new(found, &looks);
    let mut homes: BTreeMap<String, Home> = BTreeMap::new();
    let mut facts: Vec<(usize, Facts)> = Vec::new();
    let recorded = archive::check_recorded(found, &|number| looks.get(number)?.sha256.as_deref());
    let mut partials: Vec<(usize, PartialRun)> = Vec::new();
    let mut published: Vec<(usize, Vec<PublishedCell>)> = Vec::new();
    let mut metrics = custom::DefinitionsByFolder::default();
    for (number, (file, look)) in found.files.iter().zip(looks).enumerate() {
        let parsed = match look.outcome {
            Ok(parsed) => parsed,
            Err(error) => {
                report.refuse(number, error);
                continue;
            }
        };
        parsed.left_out.iter().for_each(|error| report.leave_out(number, error));
        parsed.notes.into_iter().for_each(|note| report.note(number, note));
        for record in parsed.records {
            match record {
                Record::Run(partial) => {
                    if partial.declared && !file.alone {
                        homes.entry(file.folder().to_owned()).or_default().stands = true;
                    }
                    partials.push((number, *partial));
                }
                Record::Facts(more) => facts.push((number, *more)),
                Record::Metrics(definitions) => metrics.add(file.folder(), definitions),
                Record::Journal(outcomes) => {
                    homes.entry(file.folder().to_owned()).or_default().outcomes.extend(outcomes)
                }
                Record::Losses(lost) => {
                    report.lost(number, &lost);
                    homes.entry(file.folder().to_owned()).or_default().losses.extend(lost);
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
    for file in found.files.iter().filter(|file| labelling::is_study(file)) {
        homes.entry(file.folder().to_owned()).or_default().stands = true;
    }
    let bases: BTreeSet<&str> = found.files.iter().map(|file| file.base.as_str()).collect();
    for base in bases {
        if let Some(labels) = &given.labels {
            homes.entry(base.to_owned()).or_default().labels = Some((None, labels.clone()));
        }
        metrics.add(base, given.metrics.clone().unwrap_or_default());
    }
    let facts = local(found, facts, &homes, given.facts, options);
    let run_folders: BTreeSet<&str> =
        found.files.iter().filter(|f| f.path.rsplit('/').next() == Some(RUN_FILE)).map(|f| f.folder()).collect();
    // Files below a run's folder, however deep, lie where the run lies.
    let folders = || found.files.iter().enumerate().map(|(n, file)| belong.owner(n).unwrap_or_else(|| file.folder()));
    let places: Vec<String> = folders()
        .zip(&found.files)
        .map(|(folder, file)| {
            let given = if options.campaign_per_folder && !file.alone { folder } else { "" };
            home_of(folder, given, &homes, &run_folders)
        })
        .collect();
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
    labelling::apply(found, &homes, &mut drafts, &mut report);
    // Archives of ours, whole or with no more than the folders of their runs: the suite says what a cell is.
    let of_runs = found.files.iter().zip(&places).filter(|(file, _)| run_folders.contains(file.folder()));
    let of_tables = drafts.iter().filter(|draft| draft.partial.declared).map(|draft| &draft.home);
    let of_campaigns = homes.iter().filter(|(_, home)| home.campaign.is_some()).map(|(folder, _)| folder);
    let declared: BTreeSet<String> =
        of_runs.map(|(_, place)| place).chain(of_tables).chain(of_campaigns).cloned().collect();
    let campaigns = labelling::campaigns(found, &homes, &metrics, &drafts, &mut report)?;
    finish(found, drafts, campaigns, Told { facts, recorded, declared }, report, options)
}

/// The facts of all files, with whether each comes before what ships. That of the command line first. Where it lies among the results too it is
/// not read twice.
fn local(
    found: &Discovery,
    facts: Vec<(usize, Facts)>,
    homes: &BTreeMap<String, Home>,
    given: Option<LocalFacts>,
    options: &Options,
) -> Vec<LocalFacts> {
    let named = options.facts.as_deref().and_then(|path| path.canonicalize().ok());
    let of_file = |(number, facts): (usize, Facts)| {
        let file = found.files.get(number)?;
        let is_named = named.is_some() && file.disk.canonicalize().ok() == named;
        (!is_named).then(|| LocalFacts { file: file.path.clone(), facts, wins: allows_facts(homes, file.folder()) })
    };
    given.into_iter().chain(facts.into_iter().filter_map(of_file)).collect()
}

/// Whether the nearest labels upwards that speak of facts let those of a folder come first.
fn allows_facts(homes: &BTreeMap<String, Home>, folder: &str) -> bool {
    let mut at = folder;
    loop {
        let labels = homes.get(at).and_then(|home| home.labels.as_ref());
        if let Some(said) = labels.and_then(|(_, labels)| labels.facts.as_deref()) {
            return said == Labels::LOCAL;
        }
        match at.rsplit_once('/') {
            Some((up, _)) => at = up,
            None if at.is_empty() => return false,
            None => at = "",
        }
    }
}
