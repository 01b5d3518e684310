//! Joins the pieces of each launch to runs, by name, by folder, and by time.
//!
//! In:  pieces with the keys of their launches.  Out: [`Draft`]s.
//! Not here: what one run takes from a detail (see `merge`), runs that are there twice (see `copies`).

use std::collections::BTreeMap;

use super::Draft;
use super::copies::copies;
use super::merge::{falls_short, merge};
use super::server::belongs;
use crate::archive::{self, Discovery};
use crate::ingest::{Piece, ServerState, Standing, report, slug};
use crate::model::Status;

/// Joins the pieces of each launch. Drafts stand in the order of their main files.
pub(super) fn join(
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
        let launch = (parts.len() > 1).then(|| slug(key.rsplit('/').find(|part| !part.is_empty()).unwrap_or(key)));
        for (number, piece) in parts {
            let mut run = draft(number, piece);
            run.launch.clone_from(&launch);
            let own = run.piece.part.clone();
            for (other, detail) in details.iter().filter(|(_, detail)| detail.part.is_none() || detail.part == own) {
                if falls_short(&run.piece, detail) {
                    let count = |piece: &Piece| piece.setup.requests.unwrap_or(0.0);
                    let what = format!(
                        "holds {} requests where the summary beside it says {}: no figure is taken from it",
                        count(detail),
                        count(&run.piece)
                    );
                    let file = found.files.get(*other).map_or("a file", |file| file.path.as_str());
                    report.warn(format!("{file}: {what}"));
                    report.note(*other, what);
                    if *other != number && !run.others.contains(other) {
                        run.others.push(*other);
                    }
                    continue;
                }
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
    for (number, piece) in beside.iter().filter(|(_, piece)| piece.server != Some(ServerState::NeverUp)) {
        *count.entry((folder(*number), rule_of(piece))).or_default() += 1;
    }
    let runs = drafts.len();
    for (number, piece) in beside {
        let place = folder(number);
        let inside = |at: &str| {
            at == place || place.is_empty() || at.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
        };
        let near: Vec<&Draft> = drafts.iter().take(runs).filter(|run| inside(folder(run.main))).collect();
        let alone = count.get(&(place, rule_of(&piece))).is_none_or(|count| *count == 1);
        let verdicts = belongs(number, &piece, &near);
        let whole = near.len();
        let places: Vec<usize> =
            (0..runs).filter(|at| drafts.get(*at).is_some_and(|run| inside(folder(run.main)))).collect();
        let joined: Vec<usize> =
            places.into_iter().zip(&verdicts).filter(|(_, why)| why.is_ok()).map(|(at, _)| at).collect();
        if joined.is_empty() || !alone {
            if !alone && whole > 0 {
                report.note(
                    number,
                    "several of its kind lie in this folder, so which run it speaks of is not known".to_owned(),
                );
            } else if let Some(Err(why)) = verdicts.iter().find(|why| why.is_err()) {
                report.note(number, format!("joined to no run of its folder: {why}"));
            }
            if piece.readings.is_empty() && piece.series.is_empty() && piece.status.is_none() {
                report.orphan(number, &piece);
            } else {
                drafts.push(draft(number, piece));
            }
            continue;
        }
        if piece.server.is_some() {
            let why = verdicts.iter().find_map(|why| why.as_ref().ok()).copied().unwrap_or_default();
            report.note(number, format!("joined to {} of {whole} runs of its folder: {why}", joined.len()));
        }
        for at in joined {
            let Some(run) = drafts.get_mut(at) else { continue };
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
