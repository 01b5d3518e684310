//! The method: cases, groups, comparisons, families, verdicts, conclusions.
//!
//! In:  a [`Study`] and the values of its cells.  Out: the whole [`Analysis`].
//! Not here: any formula (see `stats`), any rule of the grammar (see `grammar`), any trap (see `trap`).

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::case::{Case, Cell};
use super::compare::{self, Pair};
use super::grammar::{self, Grounds, Obstacle};
use super::number::{fixed, significant};
use super::report::{
    Adjusted, Analysis, CampaignReport, Comparison, Group, OrderReport, RunReport, SCHEMA, Settings as Said, Severity,
    Stability, StatusText, Tool, TrapReport, TrapStatus, VerdictKind,
};
use super::trap::{self, Derived};
use super::{CV_LIMIT_PCT, CellValues, Settings, Study, conclusion, criteria, group, order, published};
use crate::model::{Direction, Facts, Metric, Run, Status};
use crate::stats::{self, bootstrap};

/// Requests below which a p99 is an interpolation towards the maximum.
const REQUESTS_FOR_P99: usize = 100;
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
pub fn judge(study: &Study, cells: &[CellValues], settings: &Settings, step: &(dyn Fn(&str) + Sync)) -> Analysis {
    let runs: BTreeMap<&str, &Run> = study.runs.iter().map(|run| (run.id.as_str(), run)).collect();
    let mut groups: Vec<Group> = cells
        .par_iter()
        .filter_map(|cell| {
            let metric = Metric::find(&cell.metric)?;
            let of_cell: Vec<&Run> = cell.run_ids.iter().filter_map(|id| runs.get(id.as_str()).copied()).collect();
            Some(group::describe(cell, &metric, &of_cell, settings))
        })
        .collect();
    groups.sort_by(|a, b| key_of(a).cmp(&key_of(b)));

    let mut analysis = Analysis {
        schema: SCHEMA,
        tool: Tool { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
        settings: Said {
            confidence: settings.confidence,
            resamples: settings.resamples,
            seed: settings.seed,
            baseline: settings.baseline.clone(),
            margins_pct: settings.margins_pct.clone(),
        },
        inputs: study.inputs.clone(),
        campaigns: Vec::new(),
        runs: study.runs.iter().map(|run| show_run(run, &groups)).collect(),
        groups: Vec::new(),
        comparisons: Vec::new(),
        traps: Vec::new(),
    };
    for campaign in &study.campaigns {
        let own: Vec<&Run> = study.runs.iter().filter(|run| run.campaign == campaign.name).collect();
        if own.is_empty() {
            continue;
        }
        let case = lay_out(campaign, own, &study.facts, settings);
        let derived = trap::derived_columns(&case);
        let traps = trap::look(&case);
        let mut comparisons = compare_all(&case, &groups, &derived, &traps, settings);
        let pooled = conclusion::pool(&case, &derived, settings);
        let report = report_campaign(&case, &groups, &mut comparisons, pooled, &traps, &derived);
        analysis.campaigns.push(report);
        analysis.comparisons.extend(comparisons);
        analysis.traps.extend(traps);
        step(&campaign.name);
    }
    analysis.groups = groups;
    analysis
}

fn key_of(group: &Group) -> (&str, &str, &str, usize, &str, &str) {
    let rank = Metric::find(&group.metric).map_or(usize::MAX, |m| m.rank());
    (&group.campaign, &group.model, &group.workload, rank, &group.metric, &group.environment)
}

/// Sorts the runs of a campaign into cells and picks baseline and primary metrics.
pub fn lay_out<'a>(
    campaign: &'a crate::model::Campaign,
    mut runs: Vec<&'a Run>,
    facts: &'a Facts,
    settings: &'a Settings,
) -> Case<'a> {
    // Stable: ties and missing starts keep the order of the archive.
    runs.sort_by_key(|run| (run.started.is_none(), run.started));
    let mut cells: BTreeMap<(&str, &str, &str), Vec<&Run>> = BTreeMap::new();
    for run in &runs {
        cells.entry((&run.model, &run.workload, &run.environment)).or_default().push(run);
    }
    let cells: Vec<Cell<'a>> = cells
        .into_iter()
        .map(|((model, workload, environment), runs)| Cell { model, workload, environment, runs })
        .collect();
    let environments: Vec<&str> = {
        let mut names: Vec<&str> = cells.iter().map(|c| c.environment).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let has = |name: &Option<String>| name.as_deref().and_then(|n| environments.iter().find(|e| **e == n).copied());
    let baseline = has(&settings.baseline)
        .or_else(|| has(&campaign.baseline))
        .or_else(|| environments.iter().find(|e| **e == "native").copied())
        .or_else(|| environments.first().copied());
    let mut case = Case { campaign, runs, cells, facts, baseline, primary: campaign.primary.clone() };
    if case.primary.is_empty() {
        // A first choice without knowledge of derived columns; a column that is a function of another adds nothing.
        let derived: Vec<String> = trap::derived_columns(&case).into_iter().map(|d| d.column).collect();
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

fn margin_of(metric: &Metric, campaign: &crate::model::Campaign, settings: &Settings) -> f64 {
    let given =
        |margins: &BTreeMap<String, f64>| margins.get(&metric.name).or_else(|| margins.get(metric.base())).copied();
    given(&settings.margins_pct).or_else(|| given(&campaign.margins_pct)).unwrap_or(metric.margin_pct)
}

/// Every baseline-candidate pair of environments, every metric.
fn compare_all(
    case: &Case<'_>,
    groups: &[Group],
    derived: &[Derived],
    traps: &[TrapReport],
    settings: &Settings,
) -> Vec<Comparison> {
    let mut jobs = Vec::new();
    for (model, workload) in case.questions() {
        let arms = case.arms(model, workload);
        let Some((base, candidates)) = arms.split_first().filter(|(base, _)| Some(base.environment) == case.baseline)
        else {
            continue;
        };
        for candidate in candidates {
            let runs: Vec<&Run> = case
                .runs
                .iter()
                .filter(|r| r.model == model && r.workload == workload)
                .filter(|r| r.environment == base.environment || r.environment == candidate.environment)
                .copied()
                .collect();
            let order = order::of(model, workload, &runs);
            jobs.push((*base, *candidate, runs, order));
        }
    }
    let mut comparisons: Vec<(Comparison, Vec<Obstacle>)> = jobs
        .par_iter()
        .flat_map_iter(|(base, candidate, runs, order)| {
            measured_metrics(case, base, candidate).into_iter().map(move |metric| {
                let find = |cell: &Cell<'_>| {
                    groups.iter().find(|g| {
                        g.campaign == case.campaign.name
                            && g.model == cell.model
                            && g.workload == cell.workload
                            && g.environment == cell.environment
                            && g.metric == metric.name
                    })
                };
                let (empty_a, empty_b);
                let a = match find(base) {
                    Some(group) => group,
                    None => {
                        empty_a = empty_group(case, base, &metric, settings);
                        &empty_a
                    }
                };
                let b = match find(candidate) {
                    Some(group) => group,
                    None => {
                        empty_b = empty_group(case, candidate, &metric, settings);
                        &empty_b
                    }
                };
                let pairs = order::pairs(order, runs, base.environment, &metric.name);
                let pair = Pair {
                    metric: &metric,
                    a,
                    b,
                    order,
                    pairs: pairs.as_deref(),
                    margin_pct: margin_of(&metric, case.campaign, settings),
                    primary: case.primary.contains(&metric.name),
                    derived_from: derived
                        .iter()
                        .find(|d| d.column == metric.name)
                        .and_then(|d| d.from.first())
                        .map(String::as_str),
                };
                let comparison = compare::measure(&pair, settings);
                let obstacles = obstacles(&pair, base, candidate, traps);
                (comparison, obstacles)
            })
        })
        .collect();
    adjust(&mut comparisons);
    let mut done: Vec<Comparison> = comparisons
        .into_iter()
        .map(|(comparison, obstacles)| finish(comparison, obstacles, groups, settings))
        .collect();
    done.sort_by(|a, b| {
        let rank = |c: &Comparison| Metric::find(&c.metric).map_or(usize::MAX, |m| m.rank());
        (&a.campaign, &a.candidate, !a.primary, &a.model, &a.workload, rank(a), &a.metric).cmp(&(
            &b.campaign,
            &b.candidate,
            !b.primary,
            &b.model,
            &b.workload,
            rank(b),
            &b.metric,
        ))
    });
    done
}

/// Metrics that either arm reports, even if every value is missing: a promised column that holds nothing is worth a row.
fn measured_metrics(case: &Case<'_>, a: &Cell<'_>, b: &Cell<'_>) -> Vec<Metric> {
    let mut names: Vec<&str> = a
        .runs
        .iter()
        .chain(&b.runs)
        .flat_map(|run| run.readings.iter().map(|r| r.metric.as_str()))
        .chain(case.campaign.planned_metrics.iter().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(Metric::find).collect()
}

fn empty_group(case: &Case<'_>, cell: &Cell<'_>, metric: &Metric, settings: &Settings) -> Group {
    let values = CellValues {
        campaign: case.campaign.name.clone(),
        model: cell.model.to_owned(),
        workload: cell.workload.to_owned(),
        environment: cell.environment.to_owned(),
        metric: metric.name.clone(),
        run_ids: Vec::new(),
        values: Vec::new(),
    };
    group::describe(&values, metric, &[], settings)
}

/// Rule 1 of the grammar, but for the drift, which needs the size of the difference.
fn obstacles(pair: &Pair<'_>, a: &Cell<'_>, b: &Cell<'_>, traps: &[TrapReport]) -> Vec<Obstacle> {
    let mut found: Vec<Obstacle> = Vec::new();
    let mut add = |code: &str, because: String| {
        if !found.iter().any(|o| o.code == code) {
            found.push(Obstacle { code: code.to_owned(), because });
        }
    };
    for trap in traps.iter().filter(|t| t.status == TrapStatus::Fired && t.severity == Severity::Error) {
        let subject = &trap.subject;
        let about = |field: &Option<String>, value: &str| field.as_deref().is_none_or(|f| f == value);
        let arm = subject.environment.as_deref().is_none_or(|e| e == a.environment || e == b.environment);
        if about(&subject.model, a.model)
            && about(&subject.workload, a.workload)
            && about(&subject.metric, &pair.metric.name)
            && arm
        {
            let code = trap.code.unwrap_or(trap.id);
            add(code, format!("{} ({code})", lower_first(trap.title)));
        }
    }
    for arm in [pair.a, pair.b] {
        let name = &arm.environment;
        if arm.n_infinite > 0 {
            add("N3", format!("{name} holds infinite values (N3)"));
        }
        match arm.n {
            0 => add("N2", format!("{name} has no value of this metric (N2)")),
            1 => add("N1", format!("{name} has a single run (N1)")),
            _ => {}
        }
        if pair.metric.is_positive() && arm.mean.is_some_and(|mean| mean <= 0.0) {
            add("N4", format!("the mean of {name} is not positive (N4)"));
        }
    }
    for (code, what, differ) in settings_that_differ(a, b) {
        add(code, format!("the {what} differs: {differ} ({code})"));
    }
    found
}

/// Settings that must agree for two environments to be comparable. A setting that either arm does not tell is not held against it.
fn settings_that_differ(a: &Cell<'_>, b: &Cell<'_>) -> Vec<(&'static str, &'static str, String)> {
    type Field = fn(&Run) -> Option<String>;
    const FIELDS: &[(&str, &str, Field)] = &[
        ("C1", "model", |r| r.setup.model_served.clone().or_else(|| r.setup.model_id.clone())),
        ("C2", "quantisation", |r| r.setup.quantisation.clone()),
        ("C3", "input length", |r| r.setup.isl.map(|v| v.to_string())),
        ("C3", "output length", |r| r.setup.osl.map(|v| v.to_string())),
        ("C3", "number of requests", |r| r.setup.requests.map(|v| v.to_string())),
        ("C4", "engine", |r| r.setup.engine.clone()),
        ("C4", "engine version", |r| r.setup.engine_version.clone()),
        ("C5", "batch limit", |r| r.setup.batch.map(|v| v.to_string())),
    ];
    let set = |cell: &Cell<'_>, field: Field| -> Vec<String> {
        let mut values: Vec<String> = cell.runs.iter().filter_map(|run| field(run)).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    FIELDS
        .iter()
        .filter_map(|(code, what, field)| {
            let (left, right) = (set(a, *field), set(b, *field));
            (!left.is_empty() && !right.is_empty() && left != right)
                .then(|| (*code, *what, format!("{} against {}", left.join(", "), right.join(", "))))
        })
        .collect()
}

/// "P1 title" in the middle of a sentence.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        // An abbreviation such as "KV" keeps its capitals.
        (Some(first), Some(second)) if first.is_uppercase() && !second.is_uppercase() => {
            first.to_lowercase().chain(std::iter::once(second)).chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// Adjusts the deciding p within its family: the primary metrics of all models and workloads of one question A against B.
/// Other metrics form an exploratory family of their own. A derived column is no member: it takes what its source got.
pub(super) fn adjust(comparisons: &mut [(Comparison, Vec<Obstacle>)]) {
    let mut questions: Vec<(String, String)> =
        comparisons.iter().map(|(c, _)| (c.baseline.clone(), c.candidate.clone())).collect();
    questions.sort_unstable();
    questions.dedup();
    for (baseline, candidate) in questions {
        for primary in [true, false] {
            let members: Vec<usize> = (0..comparisons.len())
                .filter(|i| {
                    let c = &comparisons[*i].0;
                    c.baseline == baseline
                        && c.candidate == candidate
                        && c.primary == primary
                        && c.derived_from.is_none()
                })
                .collect();
            let p: Vec<Option<f64>> = members.iter().map(|i| comparisons[*i].0.welch_t.as_ref().map(|w| w.p)).collect();
            let size = p.iter().flatten().count();
            let (bonferroni, holm, bh) =
                (stats::adjust::bonferroni(&p), stats::adjust::holm(&p), stats::adjust::benjamini_hochberg(&p));
            let kind = if primary { "primary metrics" } else { "exploratory metrics" };
            for (place, index) in members.iter().enumerate() {
                comparisons[*index].0.p_adjusted = Adjusted {
                    bonferroni: bonferroni[place],
                    holm: holm[place],
                    benjamini_hochberg: bh[place],
                    family: format!("{kind} of all models and workloads, {candidate} against {baseline}"),
                    family_size: size,
                };
            }
        }
        let adjusted: Vec<(String, String, String, Adjusted)> = comparisons
            .iter()
            .filter(|(c, _)| c.baseline == baseline && c.candidate == candidate && c.derived_from.is_none())
            .map(|(c, _)| (c.model.clone(), c.workload.clone(), c.metric.clone(), c.p_adjusted.clone()))
            .collect();
        for (c, _) in comparisons.iter_mut().filter(|(c, _)| c.baseline == baseline && c.candidate == candidate) {
            let Some(from) = c.derived_from.clone() else { continue };
            let source = adjusted.iter().find(|(m, w, metric, _)| *m == c.model && *w == c.workload && *metric == from);
            c.p_adjusted = Adjusted {
                family: format!("not a member: a function of {from}, whose adjusted p it shares"),
                ..source.map(|(.., a)| a.clone()).unwrap_or_default()
            };
        }
    }
}

/// Drift, verdict, caveats, stability: the last step of one comparison.
pub(super) fn finish(
    mut c: Comparison,
    mut obstacles: Vec<Obstacle>,
    groups: &[Group],
    settings: &Settings,
) -> Comparison {
    let Some(metric) = Metric::find(&c.metric) else { return c };
    let arm = |environment: &str| {
        groups.iter().find(|g| {
            g.campaign == c.campaign
                && g.model == c.model
                && g.workload == c.workload
                && g.metric == c.metric
                && g.environment == environment
        })
    };
    let (a, b) = (arm(&c.baseline).cloned(), arm(&c.candidate).cloned());
    let order = OrderReport {
        model: c.model.clone(),
        workload: c.workload.clone(),
        kind: c.order.clone(),
        stretches: 0,
        balanced_share: None,
        p_too_few: None,
        sequence: Vec::new(),
    };
    let (drift, drifting) = match (&a, &b) {
        (Some(a), Some(b)) => order::drift_allowance(&order, a, b, metric.ratio_scale),
        _ => (0.0, None),
    };
    c.drift_allowance_pct = if metric.ratio_scale { drift } else { 0.0 };
    let size = if metric.ratio_scale { c.overhead_pct } else { c.difference };
    let margin = c.tost.as_ref().map(|t| t.margin_pct);
    if (c.order == "blocked" || c.order == "mixed")
        && drift > 0.0
        && let (Some(size), Some(margin)) = (size, margin)
        && drift >= size.abs().max(margin)
    {
        obstacles.push(Obstacle {
            code: "D1".to_owned(),
            because: format!(
                "the runs were not interleaved and {} drifts by {}%, more than the difference and the margin (D1)",
                drifting.as_deref().unwrap_or("an arm"),
                fixed(drift, 1)
            ),
        });
    }
    let grounds = grounds(&c, &metric, obstacles, drift, (&a, &b), settings);
    let decision = grammar::decide(&grounds);
    let mut reasons: Vec<String> = grounds.obstacles.iter().map(|o| o.code.clone()).collect();
    if c.order == "unknown" {
        reasons.push("O0".to_owned());
    }
    let mut caveats = Vec::new();
    if decision.kind != VerdictKind::NotComparable {
        if decision.within_margin {
            caveats.push(format!("detectable but within the {}% margin", significant(margin.unwrap_or(0.0), 3)));
        }
        caveats.extend(self::caveats(&c, drift, drifting.as_deref(), (&a, &b)));
        if !second_session(&c, groups) {
            caveats.push("one session".to_owned());
        }
    }
    if decision.kind == VerdictKind::Inconclusive
        && let (Some(a), Some(b), Some(margin)) = (&a, &b, margin)
    {
        c.runs_to_decide = stats::power::runs_to_decide(&a.values, &b.values, margin, settings.confidence);
    }
    let mut text = decision.statement;
    if let Some(runs) = c.runs_to_decide {
        text.push_str(&format!(
            "; about {runs} interleaved runs per arm would decide at the {}% margin",
            significant(margin.unwrap_or(0.0), 3)
        ));
    }
    for caveat in &caveats {
        text.push_str("; ");
        text.push_str(caveat);
    }
    text.push('.');
    c.verdict = super::report::Verdict { kind: decision.kind, text, reasons, caveats };
    c.stability = stability(&c, &grounds, (&a, &b), settings);
    c
}

type Arms<'a> = (&'a Option<Group>, &'a Option<Group>);

fn grounds(
    c: &Comparison,
    metric: &Metric,
    obstacles: Vec<Obstacle>,
    drift: f64,
    arms: Arms<'_>,
    settings: &Settings,
) -> Grounds {
    let margin = c.tost.as_ref().map(|t| t.margin_pct);
    let equivalent_at = |margin: f64| match arms {
        (Some(a), Some(b)) if margin > 0.0 => {
            stats::tost::tost(&a.values, &b.values, margin, settings.confidence).is_some_and(|t| t.equivalent)
        }
        _ => false,
    };
    let interval = if metric.ratio_scale {
        c.overhead_ci.as_ref().map(|i| (i.low, i.high))
    } else {
        c.difference_ci.map(|i| (i.low, i.high))
    };
    Grounds {
        baseline: c.baseline.clone(),
        candidate: c.candidate.clone(),
        // Without a true zero there is no better or worse per cent: the sentence says more or less, in the unit.
        direction: if metric.ratio_scale { c.direction } else { Direction::Neutral },
        unit: if metric.ratio_scale { "%".to_owned() } else { metric.unit.to_owned() },
        obstacles,
        size: if metric.ratio_scale { c.overhead_pct } else { c.difference },
        interval,
        p: c.p_adjusted.holm,
        test: "Welch".to_owned(),
        family: c.p_adjusted.family_size,
        alpha: settings.alpha(),
        margin,
        equivalent_at_margin: margin.is_some_and(equivalent_at),
        equivalent_less_drift: margin.is_some_and(|m| equivalent_at(m - drift)),
        drift,
    }
}

/// Caveats in the order of the contract, each when it applies.
fn caveats(c: &Comparison, drift: f64, drifting: Option<&str>, arms: Arms<'_>) -> Vec<String> {
    let mut said = Vec::new();
    match c.order.as_str() {
        "blocked" => said.push("arms were run one after the other".to_owned()),
        "mixed" => said.push("arms were not interleaved".to_owned()),
        "unknown" => said.push("the order of the runs is not known".to_owned()),
        _ => {}
    }
    if drift > 0.0 {
        let unit = if c.tost.is_some() || c.overhead_pct.is_some() { "%".to_owned() } else { format!(" {}", c.unit) };
        let size = if c.overhead_pct.is_some() { c.overhead_pct } else { c.difference };
        let larger = if size.is_some_and(|size| drift > size.abs()) { ", more than the difference" } else { "" };
        said.push(format!("drift of {}{unit} in {}{larger}", fixed(drift, 1), drifting.unwrap_or("an arm")));
    }
    let (a, b) = (c.n_baseline, c.n_candidate);
    if a.min(b) < bootstrap::SMALL_N {
        let n = if a == b { format!("n = {a}") } else { format!("n = {a} and {b}") };
        said.push(format!("{n}, below {}", bootstrap::SMALL_N));
    }
    if let (Some(f), Some(bca)) = (c.fieller_overhead_pct, &c.bootstrap_overhead_pct)
        && f.excludes(0.0) != (bca.low > 0.0 || bca.high < 0.0)
    {
        said.push("BCa and Fieller disagree on 0".to_owned());
    }
    if let (Some(welch), Some(permutation)) = (&c.welch_t, &c.permutation)
        && (welch.p < 0.05) != (permutation.p < 0.05)
    {
        said.push("Welch and permutation disagree at 0.05".to_owned());
    }
    let mut flagged = 0;
    for group in [arms.0, arms.1].into_iter().flatten() {
        if let Some(cv) = group.cv_pct.filter(|cv| *cv > CV_LIMIT_PCT) {
            said.push(format!("CV of {}% over {CV_LIMIT_PCT}% in {}", fixed(cv, 1), group.environment));
        }
        flagged += compare::flagged(group).len();
    }
    match flagged {
        0 => {}
        1 => said.push("1 flagged outlier".to_owned()),
        k => said.push(format!("{k} flagged outliers")),
    }
    if c.metric.ends_with("_p99")
        && [arms.0, arms.1].into_iter().flatten().any(|g| g.flags.iter().any(|f| f == "few_requests"))
    {
        said.push(format!("p99 from n < {REQUESTS_FOR_P99}"));
    }
    said
}

/// A second session of a cell is the same cell in another campaign of this analysis.
fn second_session(c: &Comparison, groups: &[Group]) -> bool {
    groups.iter().any(|g| {
        g.campaign != c.campaign
            && (&g.model, &g.workload, &g.metric) == (&c.model, &c.workload, &c.metric)
            && (g.environment == c.baseline || g.environment == c.candidate)
    })
}

/// The verdict under other defensible choices: a conclusion that turns with the choice is not a firm one.
fn stability(c: &Comparison, grounds: &Grounds, arms: Arms<'_>, settings: &Settings) -> Vec<Stability> {
    let (Some(a), Some(b)) = arms else { return Vec::new() };
    if c.verdict.kind == VerdictKind::NotComparable || c.overhead_pct.is_none() {
        return Vec::new();
    }
    let equivalent = |x: &[f64], y: &[f64], margin: f64| {
        margin > 0.0 && stats::tost::tost(x, y, margin, settings.confidence).is_some_and(|t| t.equivalent)
    };
    let mut rows = Vec::new();
    let mut row = |choice: &str, grounds: Grounds| {
        rows.push(Stability { choice: choice.to_owned(), kind: grammar::decide(&grounds).kind });
    };
    row("as judged", grounds.clone());
    row("no adjustment for the family", Grounds { p: c.welch_t.as_ref().map(|t| t.p), ..grounds.clone() });
    row("Student t instead of Welch", Grounds { p: c.student_t.as_ref().map(|t| t.p), ..grounds.clone() });
    row("permutation instead of Welch", Grounds { p: c.permutation.as_ref().map(|t| t.p), ..grounds.clone() });
    if let Some(bca) = &c.bootstrap_overhead_pct {
        row("BCa bootstrap interval", Grounds { interval: Some((bca.low, bca.high)), ..grounds.clone() });
    }
    if let Some(log) = c.log_ratio_overhead_pct {
        row("log-scale interval", Grounds { interval: Some((log.low, log.high)), ..grounds.clone() });
    }
    if let (Some(t), Some(_)) = (&c.paired_t, &c.wilcoxon) {
        row("paired by block", Grounds { p: Some(t.p), ..grounds.clone() });
    }
    if let Some(margin) = grounds.margin {
        for (name, factor) in [("half the margin", 0.5), ("double the margin", 2.0)] {
            let m = margin * factor;
            row(
                name,
                Grounds {
                    margin: Some(m),
                    equivalent_at_margin: equivalent(&a.values, &b.values, m),
                    equivalent_less_drift: equivalent(&a.values, &b.values, m - grounds.drift),
                    ..grounds.clone()
                },
            );
        }
        if let Some(without) = &c.without_flagged
            && let Some(size) = without.overhead_pct
        {
            let (x, y) = (compare::kept(a), compare::kept(b));
            row(
                "without flagged runs",
                Grounds {
                    size: Some(size),
                    interval: without.low.zip(without.high),
                    p: stats::student::welch(&x, &y, settings.confidence).map(|t| t.p),
                    equivalent_at_margin: equivalent(&x, &y, margin),
                    equivalent_less_drift: equivalent(&x, &y, margin - grounds.drift),
                    ..grounds.clone()
                },
            );
        }
    }
    rows
}

fn show_run(run: &Run, groups: &[Group]) -> RunReport {
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
        setup: run.setup.clone(),
        source: run.source.clone(),
        files: run.files.clone(),
    }
}

fn report_campaign(
    case: &Case<'_>,
    groups: &[Group],
    comparisons: &mut [Comparison],
    pooled: Vec<Comparison>,
    traps: &[TrapReport],
    derived: &[Derived],
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
        provenance: campaign.provenance.clone(),
        machine: case.machine().map(|m| m.title.clone()).or_else(|| campaign.machine.clone()),
        baseline: case.baseline.map(str::to_owned),
        environments: names(|c| c.environment.to_owned()),
        models: names(|c| c.model.to_owned()),
        workloads: names(|c| c.workload.to_owned()),
        primary: case.primary.clone(),
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
        headline: said.headline,
        supported: said.supported,
        unsupported: said.unsupported,
        pooled,
        published_summary: published::summary(&checks),
        published: checks,
        criteria: criteria::assess(case, groups, comparisons),
        archive_sha256: campaign.archive_sha256.clone(),
    }
}
