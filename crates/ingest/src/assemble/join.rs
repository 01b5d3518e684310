//! Joins the partial runs of each launch to runs, by name, by folder, and by time.
//!
//! In:  partial runs with the keys of their launches.  Out: [`Draft`]s.
//! Not here: what one run takes from a detail (see `merge`), runs that are there twice (see `copies`).

pub(super) mod named;

use std::collections::BTreeMap;

use self::named::{Names, Shared};
use super::copies::copies;
use super::draft::Draft;
use super::merge::{falls_short, merge};
use super::server::belongs;
use super::times;
use crate::file_report::FileReport;
use crate::{JoinRole, PartialRun, ServerState};
use sparkbench_archive::manifest::NODES_FOLDER;
use sparkbench_archive::{self as archive, Discovery};
use sparkbench_model::{Instant, Status};
use sparkbench_text::plural::counted;
use sparkbench_text::slug::slug;

/// Joins the partial runs of each launch. Drafts are in the order of their main files.
pub(super) fn join(
    found: &Discovery,
    partials: Vec<(usize, PartialRun)>,
    keys: &[String],
    places: &[String],
    report: &mut FileReport,
) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut launches: BTreeMap<&str, Vec<(usize, PartialRun)>> = BTreeMap::new();
    let mut beside: Vec<(usize, PartialRun)> = Vec::new();
    let mut strays: Vec<Stray> = Vec::new();
    let draft = |main: usize, partial: PartialRun| Draft {
        partial,
        home: places.get(main).cloned().unwrap_or_default(),
        main,
        others: Vec::new(),
        together: None,
        shown_only: false,
    };
    for (number, partial) in partials {
        match keys.get(number) {
            _ if partial.join_role == JoinRole::WholeFolder => beside.push((number, partial)),
            Some(key) if partial.join_role != JoinRole::Alone => {
                launches.entry(key).or_default().push((number, partial))
            }
            _ => drafts.push(draft(number, partial)),
        }
    }
    let name_of = |key: &str| slug(key.rsplit('/').find(|part| !part.is_empty()).unwrap_or(key));
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    launches.keys().for_each(|key| *named.entry(name_of(key)).or_default() += 1);
    for (key, mut parts) in launches {
        let rank = |join_role: JoinRole| match join_role {
            JoinRole::Alone | JoinRole::Body => 0,
            JoinRole::Base => 1,
            JoinRole::Trace => 2,
            JoinRole::Detail | JoinRole::WholeFolder => 3,
        };
        parts.sort_by_key(|(_, partial)| rank(partial.join_role));
        let bodies = parts.iter().filter(|(_, partial)| partial.join_role == JoinRole::Body).count();
        let stands = parts.first().is_some_and(|(_, partial)| partial.join_role != JoinRole::Detail);
        if !stands {
            strays.extend(parts.into_iter().map(|(number, partial)| Stray { number, partial, why: None }));
            continue;
        }
        let mut details = parts.split_off(bodies.max(1).min(parts.len()));
        // What else is known of the run says when it was made, and with that which telemetry is its own.
        details.sort_by_key(|(_, partial)| !partial.telemetry.is_empty());
        let mut refused: BTreeMap<usize, Option<String>> = BTreeMap::new();
        // Launches in two folders may have one name.
        let is_alone = named.get(&name_of(key)).is_none_or(|launches| *launches == 1);
        let together = (parts.len() > 1).then(|| if is_alone { name_of(key) } else { slug(key) });
        for (number, partial) in parts {
            let mut run = draft(number, partial);
            run.together.clone_from(&together);
            let own = run.partial.part.clone();
            for (other, detail) in details.iter().filter(|(_, detail)| detail.part.is_none() || detail.part == own) {
                let path = found.files.get(*other).map_or("", |file| file.path.as_str());
                if let Some(name) = machine_of(path, key) {
                    let rule = on_machine(&mut run.partial, name, detail);
                    run.take(*other, &rule);
                    continue;
                }
                if falls_short(&run.partial, detail) {
                    let count = |partial: &PartialRun| partial.setup.requests.unwrap_or(0.0);
                    let what = format!(
                        "holds {} requests where the summary beside it says {}: no figure is taken from it",
                        count(detail),
                        count(&run.partial)
                    );
                    report.warn_of(*other, &what);
                    report.note(*other, what);
                    run.take(*other, "it has the name of the result, which says more than it");
                    continue;
                }
                // A collector of ours lists every file of the run in its folder.
                let rule = match key.ends_with('/') {
                    true => Ok("it lies in the folder of the run".to_owned()),
                    false => times::of_name(&run.partial, detail, Shared::Stem.rule()),
                };
                let rule = match rule {
                    Ok(rule) => rule,
                    Err(why) => {
                        refused.entry(*other).or_insert(Some(why));
                        continue;
                    }
                };
                refused.insert(*other, None);
                for (field, ours, theirs) in merge(&mut run.partial, detail) {
                    report.note(*other, format!("says {field} '{theirs}' where the result beside it says '{ours}'"));
                }
                run.take(*other, &rule);
            }
            if let (Some(part), Some(workload)) = (&run.partial.part, &mut run.partial.workload) {
                *workload = format!("{workload}-{part}");
            }
            if run.together.is_some() {
                // One launch, several runs: its name alone would be one id for all.
                run.partial.id =
                    run.partial.id.zip(run.partial.workload.as_ref()).map(|(id, workload)| format!("{id}_{workload}"));
            }
            drafts.push(run);
        }
        for (number, partial) in details {
            if let Some(why) = refused.remove(&number).flatten() {
                strays.push(Stray { number, partial, why: Some(why) });
            }
        }
    }
    drafts.sort_by_key(|draft| draft.main);
    let mut left = companions(beside, found, &mut drafts, draft, report);
    left.extend(by_time(strays, found, &mut drafts, report));
    // Beside results it would be judged as one of them. Without results it is all there is to show.
    let measured = drafts.iter().any(|draft| draft.partial.server.is_none());
    for Stray { number, mut partial, why } in left {
        let why = why.unwrap_or_default();
        let shows = partial.series.is_empty() && !(partial.telemetry.is_empty() && partial.extras.is_empty());
        if measured || !shows {
            report.orphan(number, &partial, &why);
            continue;
        }
        report.joined_to_none(number, &format!("{why} (shown by itself)"));
        if let Some((first, last)) = times::span(&partial) {
            partial.started = partial.started.or(Some(first));
            partial.ended = partial.ended.or(Some(last));
        }
        let name = keys.get(number).and_then(|key| key.rsplit('/').find(|part| !part.is_empty())).map(slug);
        // Two files are not repeats of each other, because nothing shows that the machine did the same in both.
        partial.workload = partial.workload.or_else(|| name.clone());
        partial.id = partial.id.or(name);
        drafts.push(Draft { shown_only: true, ..draft(number, partial) });
    }
    drafts.sort_by_key(|draft| draft.main);
    copies(&mut drafts, found, report);
    drafts
}

/// A partial run that has no run yet.
struct Stray {
    number: usize,
    partial: PartialRun,
    /// Why it is not of the run that it seemed to be of.
    why: Option<String>,
}

/// What names that are told apart by nothing have in common.
type LikeName<'a> = (&'a str, Option<&'static str>, Option<Vec<usize>>);

/// Gives files about a whole folder to the runs in it. Returns those that belong to no run and have no figure of a run.
fn companions(
    beside: Vec<(usize, PartialRun)>,
    found: &Discovery,
    drafts: &mut Vec<Draft>,
    draft: impl Fn(usize, PartialRun) -> Draft,
    report: &mut FileReport,
) -> Vec<Stray> {
    let mut left = Vec::new();
    let folder = |number: usize| found.files.get(number).map_or("", archive::Found::folder);
    // `01-server.log` is of the runs of `01-chat.json`, and of no others.
    let path = |number: usize| found.files.get(number).map_or("", |file| file.path.as_str());
    let mains: Vec<usize> = drafts.iter().map(|run| run.main).collect();
    let names = Names::of(mains.iter().map(|main| path(*main)));
    let own = |number: usize| -> Option<Vec<usize>> {
        let others = |runs: &[usize]| -> Vec<usize> {
            runs.iter().copied().filter(|at| mains.get(*at) != Some(&number)).collect()
        };
        let pointed = names.points_to(path(number)).map(|(_, runs)| others(runs)).filter(|runs| !runs.is_empty());
        pointed.or_else(|| Some(others(&names.begun_by(path(number)))).filter(|runs| !runs.is_empty()))
    };
    let mut count: BTreeMap<LikeName<'_>, usize> = BTreeMap::new();
    for (number, partial) in beside.iter().filter(|(_, partial)| partial.server != Some(ServerState::NeverUp)) {
        *count.entry((folder(*number), rule_of(partial), own(*number))).or_default() += 1;
    }
    let runs = drafts.len();
    for (number, partial) in beside {
        let place = folder(number);
        let own = own(number);
        let is_near = |at: &usize, run: &Draft| match &own {
            Some(runs) => run.main == number || runs.contains(at),
            None => inside(folder(run.main), place),
        };
        let near: Vec<(usize, &Draft)> =
            drafts.iter().take(runs).enumerate().filter(|(at, run)| is_near(at, run)).collect();
        let alone = count.get(&(place, rule_of(&partial), own.clone())).is_none_or(|count| *count == 1);
        let verdicts = belongs(number, &partial, &near.iter().map(|(_, run)| *run).collect::<Vec<_>>());
        let whole = near.len();
        let joined: Vec<(usize, &str)> =
            near.iter().zip(&verdicts).filter_map(|((at, _), why)| Some((*at, *why.as_ref().ok()?))).collect();
        let refused = verdicts.iter().find_map(|why| why.as_ref().err());
        if joined.is_empty() || !alone {
            let why = match refused {
                _ if !alone && whole > 0 => {
                    Some("several of its kind lie in this folder, so which run it speaks of is not known")
                }
                Some(why) => Some(why.as_str()),
                None => None,
            };
            if partial.readings.is_empty() && partial.series.is_empty() && partial.status.is_none() {
                let why = why.unwrap_or(NO_RUN).to_owned();
                left.push(Stray { number, partial, why: Some(why) });
            } else {
                if let Some(why) = why {
                    report.joined_to_none(number, why);
                }
                drafts.push(draft(number, partial));
            }
            continue;
        }
        let why = joined.first().map_or("", |(_, why)| why);
        let not = refused.map_or_else(String::new, |why| format!(", not to the others: {why}"));
        report.note(number, format!("joined to {} of {whole} runs of its folder: {why}{not}", joined.len()));
        for (at, why) in joined {
            let Some(run) = drafts.get_mut(at) else { continue };
            // Answers over the life of a server are not the requests of one run. And a run that ended well stays so even if the server died
            // after it.
            let mut said = PartialRun { series: Vec::new(), ..partial.clone() };
            if run.partial.status == Some(Status::Done) {
                said.status = None;
            }
            for (field, ours, theirs) in merge(&mut run.partial, &said) {
                report.note(number, format!("says {field} '{theirs}' where a result in its folder says '{ours}'"));
            }
            run.take(number, why);
        }
    }
    drafts.sort_by_key(|draft| draft.main);
    left
}

/// The further machine whose folder below a run's own (`key`) holds a file.
fn machine_of<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    let below = path.strip_prefix(key).filter(|_| key.ends_with('/'))?;
    below.strip_prefix(NODES_FOLDER)?.strip_prefix('/')?.split_once('/').map(|(name, _)| name)
}

/// Samples of a further machine go to it, on the clock of the head. No other figure of it is one of the run. Gives the rule.
fn on_machine(run: &mut PartialRun, name: &str, detail: &PartialRun) -> String {
    if let Some(node) = run.course.nodes.iter_mut().find(|node| node.name == name)
        && !detail.telemetry.is_empty()
    {
        let ahead_s = node.wall_ahead_s().unwrap_or(0.0);
        node.telemetry.clone_from(&detail.telemetry);
        for sample in node.telemetry.iter_mut().filter(|sample| !sample.at.is_relative()) {
            sample.at = sample.at.earlier(ahead_s);
        }
        return format!("it was sampled on {name} while the run was made");
    }
    format!("it lies in the folder of {name} below that of the run")
}

/// Why a file beside which nothing lies has no run.
const NO_RUN: &str = "no result lies in the same folder or below it";

/// Whether a folder is the place or is below it.
fn inside(folder: &str, place: &str) -> bool {
    place.is_empty() || folder.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Gives telemetry that is beside no result of its name to the run that its name points to, else to the runs of its folder that were made in
/// its time. Seconds elapsed have no time: they go to the one run of their folder, where there is one run and one such file. Returns what
/// belongs to no run, with the reason.
fn by_time(strays: Vec<Stray>, found: &Discovery, drafts: &mut [Draft], report: &mut FileReport) -> Vec<Stray> {
    let folder = |number: usize| found.files.get(number).map_or("", archive::Found::folder);
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for stray in strays.iter().filter(|stray| stray.partial.telemetry.len() > 1) {
        *files.entry(folder(stray.number)).or_default() += 1;
    }
    let path = |number: usize| found.files.get(number).map_or("", |file| file.path.as_str());
    let mains: Vec<usize> = drafts.iter().map(|run| run.main).collect();
    let names = Names::of(mains.into_iter().map(path));
    let mut left = Vec::new();
    for Stray { number, partial, why } in strays {
        let place = folder(number);
        let near = || drafts.iter().filter(|run| inside(folder(run.main), place));
        let here = near().filter(|run| folder(run.main) == place).count();
        let beside = files.get(place).copied().unwrap_or_default();
        let (runs, whole) = (|count: usize| counted(count, "run", "runs"), near().count());
        let meets = |run: &Draft, (first, last): (Instant, Instant)| {
            run.partial.started.zip(run.partial.ended).is_some_and(|(from, to)| from < last && to > first)
        };
        let dated = times::span(&partial);
        let pointed = names.points_to(path(number));
        let by_name = pointed.filter(|(_, runs)| runs.len() == 1).and_then(|(shared, runs)| {
            let run = drafts.get(*runs.first()?)?;
            Some((runs.to_vec(), times::of_name(&run.partial, &partial, shared.rule()).ok()?))
        });
        // Which runs, by which rule. Or why none.
        let verdict: Result<(Vec<usize>, String), String> = match (partial.telemetry.len(), dated) {
            (0 | 2.., _) if by_name.is_some() => by_name.ok_or_else(String::new),
            (0, _) if !partial.series.is_empty() => Err("no result of the same name lies beside it".to_owned()),
            // One row cannot be a record of a run.
            (0 | 1, _) => {
                Err("it is one look at the machine, and no result of the same name lies beside it".to_owned())
            }
            _ if whole == 0 => Err(NO_RUN.to_owned()),
            (_, None) if here == 1 && beside == 1 => Ok((
                drafts.iter().enumerate().filter(|(_, run)| folder(run.main) == place).map(|(at, _)| at).collect(),
                "it is the only telemetry in the folder of the only run".to_owned(),
            )),
            (_, None) => Err(match pointed {
                Some((shared, several)) => format!(
                    "it counts seconds from its own start, and its {} is that of {}",
                    shared.word(),
                    runs(several.len())
                ),
                None => format!(
                    "it counts seconds from its own start, and its folder holds {} and {} of telemetry",
                    runs(here),
                    counted(beside, "file", "files")
                ),
            }),
            (_, Some(span)) => {
                let at = drafts.iter().enumerate().filter(|(_, run)| inside(folder(run.main), place));
                let meeting: Vec<usize> = at.filter(|(_, run)| meets(run, span)).map(|(at, _)| at).collect();
                let said = near().filter(|run| run.partial.started.zip(run.partial.ended).is_some()).count();
                match meeting.is_empty() {
                    false => Ok((meeting, "it was sampled while the run was made".to_owned())),
                    true if said == 0 => Err(match whole {
                        1 => "the one run of its folder does not say when it was made".to_owned(),
                        _ => format!("the {} of its folder do not say when they were made", runs(whole)),
                    }),
                    true => Err(format!(
                        "it was sampled from {} to {}, and no run of its folder was made in that time",
                        span.0.iso(),
                        span.1.iso()
                    )),
                }
            }
        };
        let verdict = verdict.and_then(|(meeting, rule)| {
            let none = partial.telemetry.is_empty();
            let free = |at: &usize| drafts.get(*at).is_some_and(|run| none || run.partial.telemetry.is_empty());
            let free: Vec<usize> = meeting.into_iter().filter(free).collect();
            match free.is_empty() {
                true => Err("the runs made in its time have telemetry of their own".to_owned()),
                false => Ok((free, rule)),
            }
        });
        match verdict {
            Ok((joined, rule)) => {
                let count = joined.len();
                for at in joined {
                    let Some(run) = drafts.get_mut(at) else { continue };
                    merge(&mut run.partial, &partial);
                    run.take(number, &rule);
                }
                report.note(number, format!("joined to {count} of {} of its folder: {rule}", runs(whole)));
            }
            Err(reason) => left.push(Stray { number, partial, why: Some(why.unwrap_or(reason)) }),
        }
    }
    left
}

/// Distinguishes the kinds of companions of one folder.
fn rule_of(partial: &PartialRun) -> Option<&'static str> {
    let reading = partial.readings.first().map(|reading| reading.origin.rule);
    reading.or_else(|| partial.extras.first().map(|extra| extra.origin.rule))
}
