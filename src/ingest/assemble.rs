//! Puts together what the files said: details to their runs, labels to what lacks them, runs to campaigns.
//!
//! In:  one look per file.  Out: [`Intake`].
//! Not here: any format.
//!
//! A campaign's folder is the nearest one upwards that holds `labels.toml` or `campaign.json`, else the folder of the file itself.
//! Files of one launch share the folder of a `run.json`, or else the beginning of their names.

use std::collections::{BTreeMap, BTreeSet};

use super::belong::Places;
use super::labels::Labels;
use super::look::Look;
use super::{Intake, Piece, Record, Standing, arms, ask, name, report, words};
use crate::archive::manifest::{RUN_FILE, RUNS_FOLDER};
use crate::archive::{self, Discovery};
use crate::error::Error;
use crate::model::{Campaign, Facts, PublishedCell, Run, Source, Status};

/// Endings of names that part the files of one launch, the extension aside.
const ROLES: &[&str] = &[
    "_metadata",
    "_gpu",
    "-gpu",
    ".gpu",
    "_telemetry",
    "-telemetry",
    ".telemetry",
    "_nvidia_smi",
    "_dmon",
    ".boxstate",
    "_hostmem",
    ".report",
    "_aiperf",
    "_genai_perf",
    "_console",
];

/// What is known of one folder that is a campaign.
#[derive(Default)]
pub(super) struct Home {
    /// From `labels.toml`, with the file's number; none for labels from the command line.
    pub labels: Option<(Option<usize>, Labels)>,
    /// From `campaign.json`.
    pub campaign: Option<Campaign>,
    /// From tables of published figures.
    pub published: Vec<PublishedCell>,
}

/// A run on its way: the piece, and the numbers of the files it came from.
pub(super) struct Draft {
    pub piece: Piece,
    pub home: String,
    pub main: usize,
    pub others: Vec<usize>,
    pub launch: Option<String>,
}

/// See the module.
pub(super) fn assemble(found: &Discovery, looks: Vec<Look>, belong: &Places, given: Option<Labels>) -> Intake {
    let mut report = report::Report::new(found, &looks);
    let mut homes: BTreeMap<String, Home> = BTreeMap::new();
    let mut facts = Facts::default();
    let mut pieces: Vec<(usize, Piece)> = Vec::new();
    let mut published: Vec<(usize, Vec<PublishedCell>)> = Vec::new();
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
                Record::Piece(piece) => pieces.push((number, *piece)),
                Record::Facts(more) => facts.extend(more),
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
    if let Some(labels) = given {
        let bases: BTreeSet<&str> = found.files.iter().map(|file| file.base.as_str()).collect();
        for base in bases {
            homes.entry(base.to_owned()).or_default().labels = Some((None, labels.clone()));
        }
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
    let mut drafts = join(found, pieces, &keys, &places, &mut report);
    words::apply(found, &homes, &mut drafts, &mut report);
    let campaigns = words::campaigns(found, &homes, &drafts, &mut report);
    finish(found, drafts, campaigns, facts, report)
}

fn home_of(folder: &str, homes: &BTreeMap<String, Home>, run_folders: &BTreeSet<&str>) -> String {
    let mut at = folder;
    loop {
        if homes.get(at).is_some_and(|home| home.labels.is_some() || home.campaign.is_some()) {
            return at.to_owned();
        }
        match at.rsplit_once('/') {
            Some((up, _)) => at = up,
            None if at.is_empty() => break,
            None => at = "",
        }
    }
    // Runs of an archive without its campaign file still are of one campaign.
    match folder.rsplit_once('/') {
        Some((up, _)) if run_folders.contains(folder) => {
            up.strip_suffix(RUNS_FOLDER).map_or(up, |rest| rest.trim_end_matches('/')).to_owned()
        }
        _ => folder.to_owned(),
    }
}

/// What the files of one launch have in common.
fn key_of(path: &str, run_folders: &BTreeSet<&str>) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if run_folders.contains(folder) {
        return format!("{folder}/");
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = ROLES.iter().find_map(|role| stem.strip_suffix(role)).unwrap_or(stem);
    format!("{folder}/{stem}")
}

/// Joins the pieces of each launch. Drafts stand in the order of their main files.
fn join(
    found: &Discovery,
    pieces: Vec<(usize, Piece)>,
    keys: &[String],
    places: &[String],
    report: &mut report::Report,
) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut launches: BTreeMap<&str, Vec<(usize, Piece)>> = BTreeMap::new();
    let mut beside: Vec<(usize, Piece)> = Vec::new();
    let mut strays: Vec<(usize, Piece)> = Vec::new();
    let draft = |main: usize, piece: Piece| Draft {
        piece,
        home: places.get(main).cloned().unwrap_or_default(),
        main,
        others: Vec::new(),
        launch: None,
    };
    for (number, piece) in pieces {
        match keys.get(number) {
            _ if piece.standing == Standing::Beside => beside.push((number, piece)),
            Some(key) if piece.standing != Standing::Alone => launches.entry(key).or_default().push((number, piece)),
            _ => drafts.push(draft(number, piece)),
        }
    }
    for (key, mut parts) in launches {
        let rank = |standing: Standing| match standing {
            Standing::Alone | Standing::Body => 0,
            Standing::Base => 1,
            Standing::Trace => 2,
            Standing::Detail | Standing::Beside => 3,
        };
        parts.sort_by_key(|(_, piece)| rank(piece.standing));
        let bodies = parts.iter().filter(|(_, piece)| piece.standing == Standing::Body).count();
        let stands = parts.first().is_some_and(|(_, piece)| piece.standing != Standing::Detail);
        if !stands {
            for (number, piece) in parts {
                if piece.telemetry.len() > 1 { strays.push((number, piece)) } else { report.orphan(number, &piece) }
            }
            continue;
        }
        let details = parts.split_off(bodies.max(1).min(parts.len()));
        let launch =
            (parts.len() > 1).then(|| super::slug(key.rsplit('/').find(|part| !part.is_empty()).unwrap_or(key)));
        for (number, piece) in parts {
            let mut run = draft(number, piece);
            run.launch.clone_from(&launch);
            let own = run.piece.part.clone();
            for (other, detail) in details.iter().filter(|(_, detail)| detail.part.is_none() || detail.part == own) {
                for (field, ours, theirs) in merge(&mut run.piece, detail) {
                    report.note(*other, format!("says {field} '{theirs}' where the result beside it says '{ours}'"));
                }
                if *other != number && !run.others.contains(other) {
                    run.others.push(*other);
                }
            }
            if let (Some(part), Some(workload)) = (&run.piece.part, &mut run.piece.workload) {
                *workload = format!("{workload}-{part}");
            }
            if run.launch.is_some() {
                // One launch, several runs: its name alone would be one id for all.
                run.piece.id =
                    run.piece.id.zip(run.piece.workload.as_ref()).map(|(id, workload)| format!("{id}_{workload}"));
            }
            drafts.push(run);
        }
    }
    drafts.sort_by_key(|draft| draft.main);
    companions(beside, found, &mut drafts, draft, report);
    by_time(strays, found, &mut drafts, report);
    copies(&mut drafts, found, report);
    drafts
}

/// Gives what speaks of a whole folder to the runs in it.
fn companions(
    beside: Vec<(usize, Piece)>,
    found: &Discovery,
    drafts: &mut Vec<Draft>,
    draft: impl Fn(usize, Piece) -> Draft,
    report: &mut report::Report,
) {
    let folder = |number: usize| found.files.get(number).map_or("", archive::Found::folder);
    let mut count: BTreeMap<(&str, Option<&'static str>), usize> = BTreeMap::new();
    for (number, piece) in &beside {
        *count.entry((folder(*number), rule_of(piece))).or_default() += 1;
    }
    let runs = drafts.len();
    for (number, piece) in beside {
        let place = folder(number);
        let inside = |at: &str| {
            at == place || place.is_empty() || at.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
        };
        let mut others = drafts.iter_mut().take(runs).filter(|run| inside(folder(run.main))).peekable();
        let alone = count.get(&(place, rule_of(&piece))).is_some_and(|count| *count == 1);
        if others.peek().is_none() || !alone {
            if others.peek().is_some() {
                report.note(
                    number,
                    "several of its kind lie in this folder, so which run it speaks of is not known".to_owned(),
                );
            }
            drop(others);
            if piece.readings.is_empty() && piece.series.is_empty() && piece.status.is_none() {
                report.orphan(number, &piece);
            } else {
                drafts.push(draft(number, piece));
            }
            continue;
        }
        for run in others {
            // What a server answered over its life are not the requests of one run, and a run that came to its end did so although
            // the server died after it.
            let mut said = Piece { series: Vec::new(), ..piece.clone() };
            if run.piece.status == Some(Status::Done) {
                said.status = None;
            }
            for (field, ours, theirs) in merge(&mut run.piece, &said) {
                report.note(number, format!("says {field} '{theirs}' where a result in its folder says '{ours}'"));
            }
            if !run.others.contains(&number) {
                run.others.push(number);
            }
        }
    }
    drafts.sort_by_key(|draft| draft.main);
}

/// Gives telemetry that lies beside no result of its name to the runs of its folder that were made in its time; with seconds elapsed only, to
/// the one run of its folder, where there is one run and one such file.
fn by_time(strays: Vec<(usize, Piece)>, found: &Discovery, drafts: &mut [Draft], report: &mut report::Report) {
    let folder = |number: usize| found.files.get(number).map_or("", archive::Found::folder);
    let places: Vec<&str> = strays.iter().map(|(number, _)| folder(*number)).collect();
    for (number, piece) in strays {
        let place = folder(number);
        let (Some(first), Some(last)) = (piece.telemetry.first(), piece.telemetry.last()) else { continue };
        let (first, last) = (first.at, last.at);
        let alone = places.iter().filter(|other| **other == place).count() == 1
            && drafts.iter().filter(|run| folder(run.main) == place).count() == 1;
        let below = |at: &str| {
            place.is_empty() || at == place || at.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
        };
        let mut joined = 0;
        for run in drafts.iter_mut().filter(|run| run.piece.telemetry.is_empty() && below(folder(run.main))) {
            let at = folder(run.main);
            let meets = run.piece.started.zip(run.piece.ended).is_some_and(|(from, to)| from < last && to > first);
            if meets && !first.is_relative() || first.is_relative() && alone && at == place {
                merge(&mut run.piece, &piece);
                if !run.others.contains(&number) {
                    run.others.push(number);
                }
                joined += 1;
            }
        }
        if joined == 0 {
            report.orphan(number, &piece);
        } else {
            let runs = if joined == 1 { "1 run".to_owned() } else { format!("{joined} runs") };
            report.note(number, format!("joins {runs} of its folder by time"));
        }
    }
}

/// What tells the kinds of companions of one folder apart.
fn rule_of(piece: &Piece) -> Option<&'static str> {
    let reading = piece.readings.first().map(|reading| reading.origin.rule);
    reading.or_else(|| piece.extras.first().map(|extra| extra.origin.rule))
}

/// Keeps of each run that was copied the fullest: a result before a console, then the one with more figures, then the first. Runs that are
/// known to have started at different moments are no copies, however alike their figures are.
fn copies(drafts: &mut Vec<Draft>, found: &Discovery, report: &mut report::Report) {
    let path = |number: usize| found.files.get(number).map_or("", |file| file.path.as_str());
    // A console prints fewer digits than a file holds; its figures stand in lines and not in fields.
    let printed = |piece: &Piece| piece.readings.first().is_some_and(|reading| reading.origin.field.is_none());
    let rank = |place: usize, draft: &Draft| {
        let piece = &draft.piece;
        let figures = piece.readings.len() + piece.series.len() + piece.extras.len();
        let console = matches!(piece.standing, Standing::Trace | Standing::Beside) || printed(piece);
        (console, usize::MAX - figures, draft.main, place)
    };
    let mut order: Vec<_> = drafts.iter().enumerate().map(|(place, draft)| (rank(place, draft), place)).collect();
    order.sort_unstable();
    let mut kept: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    let mut gone: BTreeMap<usize, usize> = BTreeMap::new();
    for (_, place) in order {
        let Some(draft) = drafts.get(place) else { continue };
        let Some(mark) = &draft.piece.fingerprint else { continue };
        let known = kept.entry((draft.home.as_str(), mark.as_str())).or_default();
        let same = |other: &&usize| {
            let other = drafts.get(**other).and_then(|other| other.piece.started);
            draft.piece.started.is_none() || other.is_none() || draft.piece.started == other
        };
        match known.iter().find(same) {
            Some(original) => {
                gone.insert(place, drafts.get(*original).map_or(draft.main, |original| original.main));
            }
            None => known.push(place),
        }
    }
    let mut place = 0;
    drafts.retain(|draft| {
        let original = gone.get(&place);
        place += 1;
        let Some(original) = original else { return true };
        let word =
            if *original == draft.main { "further up".to_owned() } else { format!("from '{}'", path(*original)) };
        report.note(draft.main, format!("a copy of a run that is read {word}; it is not counted twice"));
        false
    });
    // A summary of many runs may lie above the folders of the runs that it repeats.
    let below: Vec<(String, String, usize)> = drafts
        .iter()
        .filter(|draft| draft.piece.standing != Standing::Alone)
        .filter_map(|draft| Some((draft.piece.fingerprint.clone()?, draft.home.clone(), draft.main)))
        .collect();
    drafts.retain(|draft| {
        let is_below = |home: &str| {
            home.strip_prefix(&draft.home)
                .is_some_and(|rest| rest.starts_with('/') || (draft.home.is_empty() && !rest.is_empty()))
        };
        let same =
            below.iter().find(|(mark, home, _)| Some(mark) == draft.piece.fingerprint.as_ref() && is_below(home));
        let Some((_, _, kept)) = same.filter(|_| draft.piece.standing == Standing::Alone) else { return true };
        report
            .note(draft.main, format!("a copy of a run that is read from '{}'; it is not counted twice", path(*kept)));
        false
    });
}

/// Fills what a run lacks from a detail; gives the labels on which the two disagree: field, kept, passed over.
fn merge(run: &mut Piece, detail: &Piece) -> Vec<(&'static str, String, String)> {
    let mut unlike = Vec::new();
    macro_rules! fill {
        ($($field:ident),*; $($set:ident),*) => {
            $(if run.$field.is_none() { run.$field.clone_from(&detail.$field); })*
            $(if run.setup.$set.is_none() { run.setup.$set.clone_from(&detail.setup.$set); })*
        };
    }
    for (name, ours, theirs) in [
        ("environment", &run.environment, &detail.environment),
        ("model", &run.model, &detail.model),
        ("workload", &run.workload, &detail.workload),
    ] {
        if let (Some(ours), Some(theirs)) = (ours, theirs)
            && ours != theirs
        {
            unlike.push((name, ours.clone(), theirs.clone()));
        }
    }
    fill!(campaign, id, environment, model, workload, repeat, block, position, started, ended, measured;
          model_id, model_served, machine, engine, engine_version, quantisation, batch, isl, osl, requests, parameters,
          device_memory_gib, model_memory_gib, start_temp_c, end_temp_c, exit_code,
          tool, tool_version, request_rate, max_model_len, memory_utilisation, kv_dtype, speculative, prefix_cache, parallel);
    for (name, value) in &detail.setup.more {
        run.setup.more.entry(name.clone()).or_insert_with(|| value.clone());
    }
    for extra in &detail.extras {
        if run.extras.iter().all(|ours| ours.name != extra.name || ours.origin.rule != extra.origin.rule) {
            run.extras.push(extra.clone());
        }
    }
    // A log without its result block, or requests that all failed, outweigh an exit code of 0.
    match (&run.status, &detail.status) {
        (None, Some(_)) | (Some(Status::Done | Status::Unrecorded), Some(Status::Failed(_))) => {
            run.status.clone_from(&detail.status)
        }
        _ => {}
    }
    for reading in &detail.readings {
        match run.readings.iter_mut().find(|ours| ours.metric == reading.metric) {
            Some(ours) if ours.value.is_nan() => *ours = reading.clone(),
            Some(_) => {}
            None => run.readings.push(reading.clone()),
        }
    }
    for series in &detail.series {
        if run.series.iter().all(|ours| ours.metric != series.metric) {
            run.series.push(series.clone());
        }
    }
    if run.telemetry.is_empty() {
        run.telemetry.clone_from(&detail.telemetry);
    }
    unlike
}

/// Names the runs, sorts them, and closes the report.
fn finish(
    found: &Discovery,
    drafts: Vec<Draft>,
    campaigns: words::Campaigns,
    facts: Facts,
    mut report: report::Report,
) -> Intake {
    let mut ids = name::Ids::default();
    let mut runs: Vec<Run> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let (id, note) = ids.give(&draft.piece);
        if let Some(note) = note {
            report.note(draft.main, note);
        }
        report.count_run(draft.main, &draft.others);
        let campaign = campaigns.slug_of(&draft.home, draft.piece.campaign.as_deref()).to_owned();
        let source = report.source(draft.main);
        let files: Vec<Source> = draft.others.iter().map(|number| report.source(*number)).collect();
        let piece = draft.piece;
        runs.push(Run {
            id,
            campaign,
            environment: piece.environment.unwrap_or_else(|| name::UNLABELLED.to_owned()),
            model: piece.model.unwrap_or_else(|| name::UNLABELLED.to_owned()),
            workload: piece.workload.unwrap_or_else(|| name::ONE_WORKLOAD.to_owned()),
            repeat: piece.repeat,
            block: piece.block,
            position: piece.position,
            launch: draft.launch,
            started: piece.started,
            ended: piece.ended,
            measured: piece.measured,
            status: piece.status.unwrap_or(Status::Unrecorded),
            readings: piece.readings,
            series: piece.series,
            extras: piece.extras,
            telemetry: piece.telemetry,
            setup: piece.setup,
            source,
            files,
        });
    }
    runs.sort_by(|a, b| {
        (&a.campaign, a.started.is_none(), a.started).cmp(&(&b.campaign, b.started.is_none(), b.started))
    });
    let mut campaigns = campaigns.into_list();
    let ask = ask::ask(&runs, &campaigns, |path| found.get(path));
    arms::sort_out(&mut runs, &campaigns);
    for campaign in &mut campaigns {
        campaign.archive_sha256 = archive_hash(runs.iter().filter(|run| run.campaign == campaign.name));
    }
    Intake { campaigns, runs, facts, inputs: report.into_inputs(), ask }
}

/// One hash for the files of a campaign's runs: that of their hashes, sorted, one a line. Names do not enter, so a renamed folder is the same archive.
fn archive_hash<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let hashes: BTreeSet<&str> =
        runs.flat_map(|run| std::iter::once(&run.source).chain(&run.files)).map(|file| file.sha256.as_str()).collect();
    archive::hash(hashes.into_iter().map(|hash| format!("{hash}\n")).collect::<String>().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_launch_have_one_key() {
        let none = BTreeSet::new();
        let keys: BTreeSet<String> =
            ["a/n_m_iter1_x.json", "a/n_m_iter1_x.log", "a/n_m_iter1_x_gpu.csv", "a/n_m_iter1_x_metadata.json"]
                .iter()
                .map(|path| key_of(path, &none))
                .collect();
        assert_eq!(keys.len(), 1, "{keys:?}");
        let runs = BTreeSet::from(["c/runs/r1"]);
        assert_eq!(key_of("c/runs/r1/run.json", &runs), key_of("c/runs/r1/anything.log", &runs));
    }

    #[test]
    fn the_nearest_labelled_folder_upwards_is_the_campaign() {
        let labelled = || Home { campaign: Some(Campaign::default()), ..Home::default() };
        let homes = BTreeMap::from([("a".to_owned(), labelled()), ("a/b/c".to_owned(), labelled())]);
        let runs = BTreeSet::from(["x/runs/r1"]);
        for (folder, home) in [("a/b", "a"), ("a/b/c/d", "a/b/c"), ("z/y", "z/y"), ("", ""), ("x/runs/r1", "x")] {
            assert_eq!(home_of(folder, &homes, &runs), home, "{folder}");
        }
    }
}
