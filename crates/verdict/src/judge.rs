//! The method: cases, groups, comparisons, families, verdicts, conclusions.
//!
//! In:  a [`Study`] and the values of its cells.  Out: the whole [`Analysis`].
//! Not here: any formula (see `stats`), any rule of the grammar (see `grammar`), any trap (see `trap`).

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::calibration;
use super::case::{Case, Cell};
use super::columns::{self, Derived};
use super::cost;
use super::course;
use super::memory::{Memory, Round};
use super::physics;
use super::reference;
use super::report::{
    Analysis, Asked, CampaignReport, Comparison, FactsReport, Group, LocalTable, RunReport, SCHEMA,
    Settings as SettingsReport, StatusText, Tool, TrapReport,
};
use super::trap;
use super::{
    CellValues, Settings, Study, across, conclusion, criteria, essential, family, finish, history, measured, next,
    order, pairing, pool, published, replication, sequential,
};
use sparkbench_model::{Altered, Campaign, Facts, Metric, Run, Status, known_extra};

/// Primary metrics a campaign has at most when it names none.
const MOST_PRIMARY: usize = 3;
/// Chosen in this order when a campaign names none.
const PRIMARY_ORDER: &[&str] = &[
    "output_throughput_tok_s",
    "e2e_latency_ms",
    "ttft_ms",
    "tpot_ms",
    "request_throughput_req_s",
    "decode_tok_s",
    "peak_memory_gib",
    "gemm_tflops",
    "memory_bandwidth_gb_s",
    "model_load_s",
];

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
    let settings = round.settings;
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

    let mut analysis = Analysis {
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
        runs: study.runs.par_iter().map(|run| show_run(run, &groups, altered_of(run, &study.campaigns))).collect(),
        groups: Vec::new(),
        comparisons: Vec::new(),
        traps: Vec::new(),
        physics: Vec::new(),
        costs: Vec::new(),
        best_batches: Vec::new(),
        machines: Vec::new(),
        calibration: Vec::new(),
        references: Vec::new(),
        across: super::report::Across::default(),
        courses: course::of(study),
        history: history::report(study, round),
        replications: Vec::new(),
        facts: facts_of(&study.facts),
        to_compare: None,
    };
    let mut cases = Vec::new();
    for campaign in &study.campaigns {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        if own.is_empty() {
            continue;
        }
        let case = lay_out(campaign, own, &study.facts, settings);
        let derived = case.derived();
        let traps = trap::look(&case);
        let mut comparisons = pairing::compare_all(&case, &groups, derived, &traps, round);
        family::adjust(&mut comparisons);
        sequential::attach(&mut comparisons, &case, &groups);
        let mut comparisons: Vec<Comparison> = comparisons
            .into_par_iter()
            .with_max_len(1)
            .map(|(c, obstacles)| finish::finish(c, obstacles, &groups, round))
            .collect();
        sort(&mut comparisons);
        let pooled = pool::pool(&case, derived, round);
        let report = report_campaign(&case, &groups, &comparisons, pooled, &traps, derived, settings);
        analysis.calibration.extend(calibration::of(&report, &groups, round));
        analysis.campaigns.push(report);
        analysis.comparisons.extend(comparisons);
        analysis.traps.extend(traps);
        analysis.physics.extend(physics::report(&case, settings));
        analysis.costs.extend(cost::report(&case, settings));
        cases.push(case);
        step(&campaign.name);
    }
    analysis.to_compare = next::to_compare(study, !analysis.comparisons.is_empty());
    analysis.across = across::report(&cases, round);
    across::agreement::lead(&mut analysis.campaigns, &analysis.across.agreements);
    for case in &cases {
        let name = &case.campaign.name;
        let report = analysis.campaigns.iter_mut().find(|report| report.name == *name);
        // Where anything is compared, the verdicts are the answer.
        let Some(report) = report.filter(|_| !analysis.comparisons.iter().any(|c| c.campaign == *name)) else {
            continue;
        };
        report.measured = measured::rows(case, &analysis.across.places, &analysis.costs, &groups);
        report.headline.extend(measured::sentences(&report.measured));
    }
    conclusion::answer::give(&mut analysis);
    next::give(&mut analysis);
    analysis.best_batches = cost::best_batches(&analysis.costs, &study.facts.limits);
    analysis.machines = cost::machine_against_machine(&analysis.costs, settings);
    analysis.references = reference::beside(&study.facts, &analysis.costs);
    analysis.settings.baseline = settings.baseline.clone().or_else(|| common_baseline(&analysis.campaigns));
    analysis.replications = replication::report(&analysis.comparisons, &groups, &study.runs, settings);
    analysis.groups = groups;
    analysis
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

/// Place of a metric where a campaign names none: those it would choose first, then the others by the catalogue.
pub fn place(metric: &str) -> (usize, usize) {
    let chosen = PRIMARY_ORDER.iter().position(|name| *name == metric).unwrap_or(usize::MAX);
    (chosen, Metric::find(metric).map_or(usize::MAX, |m| m.rank()))
}

/// Sorts the runs of a campaign into cells and picks baseline and primary metrics.
pub fn lay_out<'a>(
    campaign: &'a sparkbench_model::Campaign,
    runs: Vec<&'a Run>,
    facts: &'a Facts,
    settings: &'a Settings,
) -> Case<'a> {
    let mut case = Case::of_runs(campaign, runs, facts);
    let environments: Vec<&str> = {
        let mut names: Vec<&str> = case.cells.iter().map(|c| c.environment).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let has = |name: &Option<String>| name.as_deref().and_then(|n| environments.iter().find(|e| **e == n).copied());
    case.baseline = has(&settings.baseline)
        .or_else(|| has(&campaign.baseline))
        .or_else(|| environments.iter().find(|e| **e == "native").copied())
        .or_else(|| environments.first().copied());
    case.primary.clone_from(&campaign.primary);
    if case.primary.is_empty() {
        // A first choice without knowledge of derived columns. A column that is a function of another adds nothing.
        let derived: Vec<String> =
            columns::derived(&case.reported(), &case.runs, &[]).into_iter().map(|d| d.column).collect();
        case.primary = PRIMARY_ORDER
            .iter()
            .filter(|name| case.cells.iter().any(|cell| !cell.numbers(name).is_empty()))
            .filter(|name| !derived.iter().any(|d| d == *name))
            .take(MOST_PRIMARY)
            .map(|name| (*name).to_owned())
            .collect();
    }
    case
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

/// Files of a run that are not what was recorded of them.
fn altered_of<'a>(run: &'a Run, campaigns: &'a [Campaign]) -> impl Iterator<Item = &'a Altered> {
    let own = campaigns.iter().filter(move |campaign| campaign.name == run.campaign);
    own.flat_map(|campaign| &campaign.altered).filter(move |altered| altered.concerns(&run.source, &run.files))
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

fn show_run<'a>(run: &Run, groups: &[Group], altered: impl Iterator<Item = &'a Altered>) -> RunReport {
    let mut flags = Vec::new();
    for group in groups.iter().filter(|g| {
        g.campaign == run.campaign
            && g.model == run.model
            && g.workload == run.workload
            && g.environment == run.environment
    }) {
        for (rule, ids) in [
            ("three_sigma", &group.outliers.three_sigma),
            ("modified_z", &group.outliers.mad),
            ("tukey", &group.outliers.tukey),
        ] {
            if ids.contains(&run.id) {
                flags.push(format!("outlier:{rule}:{}", group.metric));
            }
        }
    }
    if let Status::Failed(reason) = &run.status {
        flags.push(format!("failed:{reason}"));
    }
    if let Some(why) = known_extra::text(run, known_extra::INVALID) {
        flags.push(format!("invalid:{why}"));
    }
    flags.extend(altered.map(|altered| format!("altered:{}:{}", altered.kind.word(), altered.path)));
    flags.sort_unstable();
    RunReport {
        id: run.id.clone(),
        campaign: run.campaign.clone(),
        environment: run.environment.clone(),
        model: run.model.clone(),
        workload: run.workload.clone(),
        repeat: run.repeat,
        block: run.block,
        launch: run.launch.clone(),
        started_utc: run.started,
        ended_utc: run.ended,
        status: StatusText(run.status.clone()),
        metrics: run.readings.iter().map(|r| (r.metric.clone(), Some(r.value).filter(|v| v.is_finite()))).collect(),
        origins: run.readings.iter().map(|r| (r.metric.clone(), r.origin.clone())).collect(),
        requests: run.series.iter().map(|s| (s.metric.clone(), s.values.len())).collect(),
        flags,
        extras: run.extras.clone(),
        setup: run.setup.clone(),
        source: run.source.clone(),
        files: run.files.clone(),
    }
}

fn report_campaign(
    case: &Case<'_>,
    groups: &[Group],
    comparisons: &[Comparison],
    pooled: Vec<Comparison>,
    traps: &[TrapReport],
    derived: &[Derived],
    settings: &Settings,
) -> CampaignReport {
    let campaign = case.campaign;
    let names = |of: fn(&Cell<'_>) -> String| {
        let mut names: Vec<String> = case.cells.iter().map(of).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let mut starts: Vec<_> = case.runs.iter().filter_map(|run| run.started).collect();
    starts.sort_unstable();
    let checks = published::check(campaign, groups);
    let said = conclusion::conclude(case, groups, comparisons, &pooled, traps, derived, &checks);
    CampaignReport {
        name: campaign.name.clone(),
        title: campaign.title.clone().unwrap_or_else(|| campaign.name.clone()),
        question: campaign.question.clone(),
        prose: campaign.prose.clone(),
        study: campaign.study.clone(),
        provenance: campaign.provenance.clone(),
        machine: case.machine().map(|m| m.title.clone()).or_else(|| campaign.machine.clone()),
        baseline: case.baseline.map(str::to_owned),
        environments: names(|c| c.environment.to_owned()),
        models: names(|c| c.model.to_owned()),
        workloads: names(|c| c.workload.to_owned()),
        primary: case.primary.clone(),
        margins_pct: case
            .metrics()
            .into_iter()
            .filter_map(Metric::find)
            .map(|m| (m.name.clone(), pairing::margin_of(&m, campaign, settings)))
            .collect(),
        metrics: campaign.metrics.clone(),
        runs: case.runs.len(),
        failed: case.runs.iter().filter(|run| matches!(run.status, Status::Failed(_))).count(),
        first_started_utc: starts.first().copied(),
        last_started_utc: starts.last().copied(),
        order: case
            .questions()
            .into_iter()
            .map(|(model, workload)| {
                let runs: Vec<&Run> =
                    case.runs.iter().filter(|r| r.model == model && r.workload == workload).copied().collect();
                order::of(model, workload, &runs)
            })
            .collect(),
        hypotheses: said.hypotheses,
        answer: None,
        headline: said.headline,
        supported: said.supported,
        unsupported: said.unsupported,
        next: Vec::new(),
        pooled,
        published_summary: published::summary(&checks),
        published: checks,
        criteria: criteria::assess(case, groups, comparisons),
        compare_by: campaign.compare_by.clone(),
        essentials: essential::rows(case, groups),
        measured: Vec::new(),
        archive_sha256: campaign.archive_sha256.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{reading, run};
    use sparkbench_model::{Extra, ExtraValue};

    #[test]
    fn a_result_that_its_tool_calls_invalid_is_marked() {
        let mut run = run("a");
        assert!(show_run(&run, &[], std::iter::empty()).flags.is_empty());
        run.extras.push(Extra {
            name: known_extra::INVALID.to_owned(),
            unit: String::new(),
            value: ExtraValue::Text("not met: min duration".to_owned()),
            why: None,
            origin: reading("ttft_ms", 1.0).origin,
        });
        assert_eq!(show_run(&run, &[], std::iter::empty()).flags, ["invalid:not met: min duration"]);
    }
}
