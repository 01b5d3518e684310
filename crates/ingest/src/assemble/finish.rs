//! Names the runs, sorts them, settles the campaigns, and closes the report.
//!
//! In:  drafts and campaigns.  Out: [`Intake`].
//! Not here: the names themselves (see `ingest::name`).

use std::collections::BTreeSet;

use super::draft::{Draft, Told};
use crate::file_report::FileReport;
use crate::{Intake, Options, arms, ask, custom, labelling, missing_runs, name, nameless};
use sparkbench_archive::{self as archive, Discovery, Recorded};
use sparkbench_model::{Campaign, Run, Source, Status};
use sparkbench_text::error::Error;

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
        runs.push(Run {
            id,
            campaign,
            environment: partial.environment.unwrap_or_else(|| name::UNLABELLED.to_owned()),
            model: partial.model.unwrap_or_else(|| name::UNLABELLED.to_owned()),
            workload: partial.workload.unwrap_or_else(|| name::ONE_WORKLOAD.to_owned()),
            repeat: partial.repeat,
            block: partial.block,
            position: partial.position,
            launch: draft.launch,
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
        });
    }
    runs.sort_by(|a, b| {
        (&a.campaign, a.started.is_none(), a.started).cmp(&(&b.campaign, b.started.is_none(), b.started))
    });
    let mut campaigns = campaigns.into_list();
    if let Some(label) = &options.compare_by {
        campaigns.iter_mut().for_each(|campaign| campaign.compare_by = Some(label.clone()));
    }
    let measured = runs.iter().filter(|run| !shown_only.contains(&run.id));
    let ask = ask::ask(measured, &campaigns, |path| found.get(path));
    nameless::name(&mut runs, &mut campaigns);
    arms::sort_out(&mut runs, &mut campaigns);
    if options.arms_by_folder {
        // Runs are grouped by campaign. Whoever names folders as arms compares them whatever models they hold.
        for own in runs.chunk_by_mut(|a, b| a.campaign == b.campaign) {
            let campaign =
                campaigns.iter_mut().find(|campaign| own.first().is_some_and(|run| run.campaign == campaign.name));
            if let Some(campaign) = campaign.filter(|campaign| campaign.compare_by.is_none()) {
                campaign.compare_by = arms::meet(own).map(str::to_owned);
            }
        }
    }
    if options.arms_by_folder || options.compare_by.is_some() {
        arms::reference(&runs, &mut campaigns);
    }
    for campaign in &mut campaigns {
        missing_runs::settle(campaign, &runs);
        campaign.archive_sha256 = archive_hash(runs.iter().filter(|run| run.campaign == campaign.name));
    }
    let Told { facts, recorded } = told;
    note_recorded(&recorded, &runs, &mut campaigns, &mut report);
    custom::apply(found, &mut runs, &mut campaigns, &facts, options.derive, &mut report)?;
    let warnings = report.warnings();
    let measured = runs.len() > shown_only.len();
    let refused = report.take_refused();
    Ok(Intake { campaigns, runs, facts, inputs: report.into_inputs(), refused, ask, warnings, measured })
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
