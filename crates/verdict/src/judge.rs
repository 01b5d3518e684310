//! The method: cases, groups, comparisons, families, verdicts, conclusions.
//!
//! In:  a [`Study`] and the values of its cells.  Out: the whole [`Analysis`].
//! Not here: any formula (see `stats`), any rule of the grammar (see `grammar`), any trap (see `trap`).

mod campaign;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::calibration;
use super::case::Case;
use super::cost;
use super::course;
use super::distinct::distinct;
use super::family::{self, Family};
use super::grammar::Incomparability;
use super::layout::lay_out;
use super::memory::{Memory, Round};
use super::physics;
use super::reference;
use super::report::{
    Across, Analysis, Asked, CampaignReport, Comparison, Comparisons, FactsReport, Group, LocalTable, SCHEMA,
    SettingsReport, Tool,
};
use super::trap;
use super::{
    CellValues, Settings, Study, across, all_loads, conclusion, finish, history, measured, next, pairing, pool,
    replication, sequential,
};
use sparkbench_model::{Facts, Metric, Run};

/// Judges everything. `step` is called once for each campaign that is done.
#[allow(dead_code, reason = "for tests, which judge once")]
pub fn judge(study: &Study, cells: &[CellValues], settings: &Settings, step: &(dyn Fn(&str) + Sync)) -> Analysis {
    again(study, cells, settings, &mut Memory::none(), step)
}

/// Like [`judge`], and computes only what `memory` does not hold. The judgement is the same.
pub fn again(
    study: &Study,
    cells: &[CellValues],
    settings: &Settings,
    memory: &mut Memory,
    step: &(dyn Fn(&str) + Sync),
) -> Analysis {
    let analysis = round(study, cells, &memory.round(settings), step);
    memory.turn();
    analysis
}

fn round(study: &Study, cells: &[CellValues], round: &Round<'_>, step: &(dyn Fn(&str) + Sync)) -> Analysis {
    let groups = describe(study, cells, round);
    let mut analysis = without_campaigns(study, &groups, round);
    let mut cases = Vec::new();
    for campaign in &study.campaigns {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        if own.is_empty() {
            continue;
        }
        let case = lay_out(campaign, own, &study.facts, round.settings);
        add_campaign(&mut analysis, &case, &groups, round);
        cases.push(case);
        step(&campaign.name);
    }
    add_across(&mut analysis, study, &cases, &groups, round);
    analysis.groups = groups;
    analysis
}

/// Estimates of every cell, by campaign, question, metric and environment.
fn describe(study: &Study, cells: &[CellValues], round: &Round<'_>) -> Vec<Group> {
    let runs: BTreeMap<&str, &Run> = study.runs.iter().map(|run| (run.id.as_str(), run)).collect();
    let mut groups: Vec<Group> = cells
        .par_iter()
        .with_max_len(1)
        .filter_map(|cell| {
            let metric = Metric::find(&cell.metric)?;
            let of_cell: Vec<&Run> = cell.run_ids.iter().filter_map(|id| runs.get(id.as_str()).copied()).collect();
            Some(round.describe(cell, &metric, &of_cell))
        })
        .collect();
    groups.sort_by(|a, b| key_of(a).cmp(&key_of(b)));
    groups
}

/// The analysis before any campaign is judged: settings, runs, facts, and what is seen over time.
fn without_campaigns(study: &Study, groups: &[Group], round: &Round<'_>) -> Analysis {
    let settings = round.settings;
    Analysis {
        schema: SCHEMA,
        tool: Tool { name: "sparkbench", version: env!("CARGO_PKG_VERSION") },
        settings: SettingsReport {
            confidence: settings.confidence,
            resamples: settings.resamples,
            seed: settings.seed,
            baseline: settings.baseline.clone(),
            margins_pct: groups
                .iter()
                .filter_map(|g| Metric::find(&g.metric))
                .map(|m| {
                    let given = settings.margins_pct.get(&m.name).or_else(|| settings.margins_pct.get(m.base()));
                    let margin = given.copied().unwrap_or(m.margin_pct);
                    (m.name, margin)
                })
                .collect(),
            asked: Asked {
                baseline: settings.baseline.clone(),
                margins_pct: settings.margins_pct.clone(),
                ..Asked::default()
            },
        },
        inputs: study.inputs.clone(),
        campaigns: Vec::new(),
        runs: study
            .runs
            .par_iter()
            .map(|run| run::report(run, groups, run::altered_of(run, &study.campaigns)))
            .collect(),
        groups: Vec::new(),
        comparisons: Comparisons::default(),
        traps: Vec::new(),
        physics: Vec::new(),
        costs: Vec::new(),
        best_batches: Vec::new(),
        machines: Vec::new(),
        calibration: Vec::new(),
        references: Vec::new(),
        across: Across::default(),
        courses: course::of(study),
        history: history::report(study, round),
        replications: Vec::new(),
        facts: facts_of(&study.facts),
        to_compare: None,
    }
}

/// Judges one campaign.
fn add_campaign(analysis: &mut Analysis, case: &Case<'_>, groups: &[Group], round: &Round<'_>) {
    let derived = case.derived();
    let traps = trap::look(case);
    let mut rows = pairing::compare_all(case, groups, derived, &traps, round);
    all_loads::count_once(case, &mut rows);
    let (mut answers, means) = split(all_loads::compare_all(case, &rows, round));
    // Where there is one load, it is the answer.
    let alone = answers.is_empty();
    let is_one_load = distinct(rows.iter().map(|(c, _)| (c.model.as_str(), c.workload.as_str()))).len() == 1;
    rows.iter_mut().for_each(|(c, _)| c.is_answer = alone && c.primary && c.counted_with.is_none());
    answers.iter_mut().for_each(|(c, _)| c.is_answer = c.counted_with.is_none());
    let of_loads = if is_one_load { Family::AllArms } else { Family::EachArm };
    for (rows, groups, family) in [(&mut rows, groups, of_loads), (&mut answers, means.as_slice(), Family::AllArms)] {
        family::adjust(rows, family);
        sequential::attach(rows, case, groups, family);
    }
    let finish = |rows: Vec<(Comparison, Vec<Incomparability>)>, groups: &[Group]| -> Vec<Comparison> {
        let each = rows.into_par_iter().with_max_len(1);
        let mut done: Vec<Comparison> =
            each.map(|(c, obstacles)| finish::finish(c, obstacles, groups, round)).collect();
        sort(&mut done);
        done
    };
    let comparisons = Comparisons { all_loads: finish(answers, &means), loads: finish(rows, groups) };
    let pooled = pool::pool(case, derived, round);
    let report = campaign::report(case, groups, &comparisons, pooled, &traps, derived, round.settings);
    analysis.calibration.extend(calibration::of(&report, groups, round));
    analysis.campaigns.push(report);
    analysis.comparisons.all_loads.extend(comparisons.all_loads);
    analysis.comparisons.extend(comparisons.loads);
    analysis.traps.extend(traps);
    analysis.physics.extend(physics::report(case, round.settings));
    analysis.costs.extend(cost::report(case, round.settings));
}

/// Rows apart from the groups that they rest on.
fn split(rows: Vec<(Comparison, [Group; 2])>) -> (Vec<(Comparison, Vec<Incomparability>)>, Vec<Group>) {
    let (rows, groups): (Vec<Comparison>, Vec<[Group; 2]>) = rows.into_iter().unzip();
    (rows.into_iter().map(|c| (c, Vec::new())).collect(), groups.into_iter().flatten().collect())
}

/// What takes all campaigns: cells side by side, answers and next steps, costs of machines.
fn add_across(analysis: &mut Analysis, study: &Study, cases: &[Case<'_>], groups: &[Group], round: &Round<'_>) {
    let settings = round.settings;
    analysis.across = across::report(cases, round);
    across::agreement::lead(&mut analysis.campaigns, &analysis.across.agreements);
    for case in cases {
        let name = &case.campaign.name;
        let Some(report) = analysis.campaigns.iter_mut().find(|report| report.name == *name) else { continue };
        let own: Vec<&Comparison> = analysis.comparisons.iter().filter(|c| c.campaign == *name).collect();
        report.ranking = conclusion::design::ranking(case, &own, settings);
        let mut answer = conclusion::design::answer(case, &own, settings);
        // Where anything is compared, the verdicts are the results, unless they have no sentence.
        let nothing_said = answer.is_none() && report.headline.is_empty();
        if own.is_empty() || nothing_said {
            let rows = measured::rows(case, &analysis.across.places, &analysis.costs, groups);
            answer = answer.or_else(|| Some(conclusion::design::of_rows(case, &rows)));
            report.measured = rows;
        }
        if let Some(answer) = answer {
            conclusion::design::put(report, answer);
        }
    }
    let ranked =
        analysis.campaigns.iter().filter(|report| !report.ranking.is_empty()).map(|report| report.name.as_str());
    let compared: BTreeSet<&str> = analysis.comparisons.iter().map(|c| c.campaign.as_str()).chain(ranked).collect();
    analysis.to_compare = next::to_compare(study, &compared);
    conclusion::answer::give(analysis);
    next::give(analysis, settings);
    analysis.campaigns.iter_mut().for_each(conclusion::short::give);
    analysis.best_batches = cost::best_batches(&analysis.costs, &study.facts.limits);
    analysis.machines = cost::machine_against_machine(&analysis.costs, settings);
    analysis.references = reference::beside(&study.facts, &analysis.costs);
    analysis.settings.baseline = settings.baseline.clone().or_else(|| common_baseline(&analysis.campaigns));
    analysis.replications = replication::report(&analysis.comparisons, groups, &study.runs, settings);
}

/// The baseline that all campaigns share. Absent where they differ.
fn common_baseline(campaigns: &[CampaignReport]) -> Option<String> {
    let (first, rest) = campaigns.split_first()?;
    rest.iter().all(|c| c.baseline == first.baseline).then(|| first.baseline.clone()).flatten()
}

fn key_of(group: &Group) -> (&str, &str, &str, usize, &str, &str) {
    let rank = Metric::find(&group.metric).map_or(usize::MAX, |m| m.rank());
    (&group.campaign, &group.model, &group.workload, rank, &group.metric, &group.environment)
}

/// By question, primary metrics first, then by cell and catalogue.
fn sort(comparisons: &mut [Comparison]) {
    let rank = |c: &Comparison| Metric::find(&c.metric).map_or(usize::MAX, |m| m.rank());
    comparisons.sort_by(|a, b| {
        (&a.candidate, !a.primary, &a.model, &a.workload, rank(a), &a.metric).cmp(&(
            &b.candidate,
            !b.primary,
            &b.model,
            &b.workload,
            rank(b),
            &b.metric,
        ))
    });
}

/// Tables of facts that do not ship, and what they contradict.
fn facts_of(facts: &Facts) -> FactsReport {
    let local = |table, key: &String, machine: Option<&String>, file: &Option<String>| {
        Some(LocalTable { table, key: key.clone(), machine: machine.cloned(), file: file.clone()? })
    };
    let machines = facts.machines.iter().filter_map(|(key, m)| local("machines", key, Some(key), &m.from));
    let models = facts.models.iter().filter_map(|(key, m)| local("models", key, None, &m.from));
    let prices = facts.prices.iter().filter_map(|(key, p)| local("prices", key, Some(&p.machine), &p.from));
    let references = facts.references.iter().filter_map(|(key, r)| local("references", key, Some(&r.machine), &r.from));
    FactsReport {
        local: machines.chain(models).chain(prices).chain(references).collect(),
        conflicts: facts.conflicts.clone(),
    }
}
