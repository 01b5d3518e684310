//! Names the runs, sorts them, settles the campaigns, and closes the report.
//!
//! In:  drafts and campaigns.  Out: [`Intake`].
//! Not here: the names themselves (see `ingest::name`).

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Draft, Told};
use crate::file_report::FileReport;
use crate::{Intake, Options, ask, custom, labelling, missing_runs, name, nameless};
use sparkbench_archive::{self as archive, Discovery, Recorded};
use sparkbench_design as design;
use sparkbench_model::{Campaign, Run, SettingOrigin, Source, Status};
use sparkbench_text::error::Error;
use sparkbench_text::nearest::did_you_mean;
use sparkbench_text::plural::counted;

/// Names the runs, sorts them, works out the metrics that were defined, and closes the report.
///
/// # Errors
/// Facts that come with the program and cannot be read.
pub(super) fn finish(
    found: &Discovery,
    drafts: Vec<Draft>,
    campaigns: labelling::Campaigns,
    told: Told,
    mut report: FileReport,
    options: &Options,
) -> Result<Intake, Error> {
    let mut ids = name::Ids::default();
    let mut runs: Vec<Run> = Vec::with_capacity(drafts.len());
    // Nobody needs to be asked for the environment of what was not measured.
    let mut shown_only: BTreeSet<String> = BTreeSet::new();
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    for draft in drafts {
        let (id, note) = ids.give(&draft.partial);
        if let Some(note) = note {
            report.note(draft.main, note);
        }
        report.count_run(draft.main, draft.others.iter().map(|(number, _)| *number));
        let campaign = campaigns.slug_of(&draft.home, draft.partial.campaign.as_deref()).to_owned();
        let source = report.source(draft.main);
        let joined = |(number, rule): (usize, String)| Source { joined: Some(rule), ..report.source(number) };
        let files: Vec<Source> = draft.others.into_iter().map(joined).collect();
        if draft.shown_only {
            shown_only.insert(id.clone());
        }
        let partial = draft.partial;
        let place = Place {
            below: below(&source.path, &draft.home),
            declared: told.declared.contains(&draft.home),
            labelled: partial.named.get("environment") == Some(&SettingOrigin::Label),
        };
        places.insert(id.clone(), place);
        let mut run = Run {
            id,
            campaign,
            environment: partial.environment.unwrap_or_else(|| name::UNLABELLED.to_owned()),
            model: partial.model.unwrap_or_else(|| name::UNLABELLED.to_owned()),
            workload: partial.workload.unwrap_or_else(|| name::ONE_WORKLOAD.to_owned()),
            repeat: partial.repeat,
            block: partial.block,
            position: partial.position,
            launch: partial.launch,
            together: draft.together,
            started: partial.started,
            ended: partial.ended,
            measured: partial.measured,
            status: partial.status.unwrap_or(Status::Unrecorded),
            readings: partial.readings,
            series: partial.series,
            extras: partial.extras,
            telemetry: partial.telemetry,
            course: partial.course,
            setup: partial.setup,
            settings: Default::default(),
            cell: String::new(),
            source,
            files,
        };
        run.settings = design::fill(&run, &partial.named);
        runs.push(run);
    }
    runs.sort_by(|a, b| {
        (&a.campaign, a.started.is_none(), a.started).cmp(&(&b.campaign, b.started.is_none(), b.started))
    });
    super::launches::number(&mut runs);
    let mut campaigns = campaigns.into_list();
    nameless::name(&mut runs, &mut campaigns);
    keep(&mut runs, options)?;
    campaigns.retain(|campaign| options.keep.is_empty() || runs.iter().any(|run| run.campaign == campaign.name));
    asked_for(&runs, &campaigns, options, &mut report)?;
    for campaign in &mut campaigns {
        lay_out(campaign, &mut runs, &places, &shown_only, options);
    }
    let measured = runs.iter().filter(|run| !shown_only.contains(&run.id));
    let ask = ask::ask(measured, &campaigns, |path| found.get(path));
    for campaign in &mut campaigns {
        missing_runs::settle(campaign, &runs);
        campaign.archive_sha256 = archive_hash(runs.iter().filter(|run| run.campaign == campaign.name));
    }
    let Told { facts, recorded, .. } = told;
    note_recorded(&recorded, &runs, &mut campaigns, &mut report);
    custom::apply(found, &mut runs, &mut campaigns, &facts, options.derive, &mut report)?;
    let warnings = report.warnings();
    let measured = runs.len() > shown_only.len();
    let refused = report.take_refused();
    Ok(Intake { campaigns, runs, facts, inputs: report.into_inputs(), refused, ask, warnings, measured })
}

/// Refuses a setting that no run says where the command line asks about it, and warns where labels do: most likely a slip of the pen.
fn asked_for(runs: &[Run], campaigns: &[Campaign], options: &Options, report: &mut FileReport) -> Result<(), Error> {
    let unknown = |wanted: &str, own: &[&Run]| {
        let wanted = design::named(wanted);
        let known: BTreeSet<&str> = own.iter().flat_map(|run| run.settings.keys().map(String::as_str)).collect();
        // Words of names become settings later, and an environment may be what labels are asked for.
        let is_later = ["environment", "folder", "file"].contains(&wanted.as_str());
        (!is_later && !known.contains(wanted.as_str())).then(|| {
            let near = did_you_mean(&wanted, known.iter().copied());
            (wanted, format!("{near}The runs have: {}", known.into_iter().collect::<Vec<_>>().join(", ")))
        })
    };
    if let Some(wanted) = &options.compare_by {
        let own: Vec<&Run> = runs.iter().collect();
        return match unknown(wanted, &own) {
            Some((name, known)) if name.is_empty() && !own.is_empty() => {
                Err(Error::usage("--compare-by takes the name of a setting").detail(known))
            }
            Some((name, known)) if !own.is_empty() => {
                Err(Error::usage(format!("--compare-by {name}: no run says that setting")).detail(known))
            }
            _ => Ok(()),
        };
    }
    for campaign in campaigns {
        let own: Vec<&Run> = runs.iter().filter(|run| run.campaign == campaign.name).collect();
        if let Some((name, known)) = campaign.compare_by.as_deref().and_then(|wanted| unknown(wanted, &own)) {
            report.warn(format!("compare_by = \"{name}\" of {}: no run says that setting. {known}", campaign.name));
        }
    }
    Ok(())
}

/// Keeps the runs that somebody asks about.
fn keep(runs: &mut Vec<Run>, options: &Options) -> Result<(), Error> {
    let before = runs.len();
    design::keep(runs, &options.keep).map_err(|why| Error::usage(format!("--where: {why}")))?;
    if runs.is_empty() && before > 0 {
        return Err(Error::usage(format!("--where leaves none of {}", counted(before, "run", "runs")))
            .hint("'sparkbench table PATH' shows the settings of each run"));
    }
    Ok(())
}

/// Where a run comes from.
struct Place {
    /// Path of its main file below the folder of its campaign.
    below: String,
    /// Whether it says itself what its cell is.
    declared: bool,
    /// Whether a person says its environment: what else stands in its name is then no level.
    labelled: bool,
}

/// A path below a folder.
fn below(path: &str, folder: &str) -> String {
    path.strip_prefix(folder).map_or(path, |rest| rest.trim_start_matches('/')).to_owned()
}

/// Sorts the runs of one campaign into cells.
fn lay_out(
    campaign: &mut Campaign,
    runs: &mut [Run],
    places: &BTreeMap<String, Place>,
    shown_only: &BTreeSet<String>,
    options: &Options,
) {
    let mut own: Vec<&mut Run> =
        runs.iter_mut().filter(|run| run.campaign == campaign.name && !shown_only.contains(&run.id)).collect();
    let all = |of: fn(&Place) -> bool| own.iter().all(|run| places.get(&run.id).is_some_and(of));
    let (declared, labelled) =
        (all(|place| place.declared), own.iter().any(|run| places.get(&run.id).is_some_and(|place| place.labelled)));
    // The labels of runs may have changed since they were read: a model of no name is called after the one that answered.
    for run in &mut own {
        if let Some(model) = run.settings.get_mut("model") {
            model.value.clone_from(&run.model);
        }
    }
    if !declared && !labelled {
        let mut placed: Vec<design::Placed<'_, '_>> = own
            .iter_mut()
            .filter_map(|run| {
                let below = places.get(&run.id)?.below.as_str();
                Some((&mut **run, below))
            })
            .collect();
        design::words(&mut placed);
    }
    let by_folder = options.arms_by_folder && own.iter().any(|run| run.settings.contains_key("folder"));
    let compare_by = options.compare_by.as_deref().or(by_folder.then_some("folder"));
    design::lay_out(campaign, &mut own, design::Asked { compare_by, declared, ..design::Asked::default() });
}

/// Notes files that are not what was recorded of them: at the campaigns of the runs that they are of, else at those with runs in the folder
/// that the record speaks of.
fn note_recorded(recorded: &Recorded, runs: &[Run], campaigns: &mut [Campaign], report: &mut FileReport) {
    for campaign in &mut *campaigns {
        let own = runs.iter().filter(|run| run.campaign == campaign.name);
        let files = own.flat_map(|run| std::iter::once(&run.source).chain(&run.files));
        let paths: BTreeSet<&str> = files.map(|file| file.path.as_str()).collect();
        campaign.recorded_files = paths.iter().filter(|path| recorded.held.contains(**path)).count();
    }
    for altered in &recorded.altered {
        let mut of: BTreeSet<&str> = runs
            .iter()
            .filter(|run| altered.concerns(&run.source, &run.files))
            .map(|run| run.campaign.as_str())
            .collect();
        if of.is_empty() {
            of = runs.iter().filter(|run| altered.is_near(&run.source.path)).map(|run| run.campaign.as_str()).collect();
        }
        for campaign in campaigns.iter_mut().filter(|campaign| of.contains(campaign.name.as_str())) {
            campaign.altered.push(altered.clone());
        }
        report.altered(altered);
    }
}

/// One hash for the files of a campaign's runs: that of their hashes, sorted, one a line. Names are left out, so a renamed folder is the
/// same archive.
fn archive_hash<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let hashes: BTreeSet<&str> =
        runs.flat_map(|run| std::iter::once(&run.source).chain(&run.files)).map(|file| file.sha256.as_str()).collect();
    archive::hash(hashes.into_iter().map(|hash| format!("{hash}\n")).collect::<String>().as_bytes())
}
