//! Clients of one server held against each other: how far apart they are when they measure the same thing.
//!
//! In:  spots of all campaigns.  Out: [`AgreementTable`]s, one for each server that several clients measured.
//! Not here: the formulas (see `stats::agreement`), drawing.
//!
//! A pair is a run of a client and one of the reference in the same round and under the same load. Differences are taken as logarithms of
//! the ratio, because latencies grow with load and so do their differences. Where a campaign says what is true (a server that was told
//! how fast to be), every client is held against that too.

use std::collections::{BTreeMap, BTreeSet};

use super::{Spot, clusters, slug, unique};
use crate::model::known_extra;
use crate::model::{Metric, Run, Status};
use crate::stats::{self, agreement};
use crate::verdict::definitions::{self, Held};
use crate::verdict::memory::Round;
use crate::verdict::number::{decimals, fixed, list, signed};
use crate::verdict::report::across::{
    Agreeing, AgreementClient, AgreementMetric, AgreementPair, AgreementPoint, AgreementTable, Ranged,
};
use crate::verdict::{estimate, pairing};

/// Metrics that clients are held against each other by.
const METRICS: [&str; 6] =
    ["output_throughput_tok_s", "request_throughput_req_s", "ttft_ms", "tpot_ms", "itl_ms", "e2e_latency_ms"];

/// What stands for the truth among the names of clients.
pub const TRUTH: &str = "truth";

/// Held to be the reference where no campaign names one: the client that comes with the engine.
const REFERENCES: [&str; 2] = ["vllm-bench-serve", "sglang-bench-serving"];

/// A run beside what it is held against.
struct Pair<'a> {
    workload: &'a str,
    round: u32,
    a: Option<&'a Run>,
    b: &'a Run,
    from: f64,
    to: f64,
}

/// A table for each server that two clients measured in one campaign.
pub(in crate::verdict) fn tables(spots: &[Spot<'_, '_>], round: &Round<'_>) -> Vec<AgreementTable> {
    let mut found: BTreeMap<_, Vec<&Spot<'_, '_>>> = BTreeMap::new();
    for spot in spots.iter().filter(|spot| tool(spot).is_some()) {
        let place = &spot.place;
        let key = (&place.cell.campaign, &place.cell.model, place.machine.as_deref(), place.devices.to_bits());
        found.entry(key).or_default().push(spot);
    }
    let mut taken = BTreeSet::new();
    let tables = found
        .into_values()
        .filter(|spots| spots.iter().filter_map(|spot| tool(spot)).collect::<BTreeSet<_>>().len() >= 2);
    tables.filter_map(|spots| table(&spots, &mut taken, round)).collect()
}

/// The client of a cell; absent where its runs name none or several.
fn tool<'a>(spot: &Spot<'_, 'a>) -> Option<&'a str> {
    let mut tools = spot.cell.runs.iter().map(|run| run.setup.tool.as_deref());
    let first = tools.next()??;
    tools.all(|tool| tool == Some(first)).then_some(first)
}

/// Cells by the label of their client: its name, with the environment where one client stands in several.
fn by_client<'s, 'c, 'a>(spots: &[&'s Spot<'c, 'a>]) -> BTreeMap<String, Vec<&'s Spot<'c, 'a>>> {
    let mut environments: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for spot in spots {
        environments.entry(tool(spot).unwrap_or_default()).or_default().insert(spot.cell.environment);
    }
    let mut clients: BTreeMap<String, Vec<&Spot<'_, '_>>> = BTreeMap::new();
    for spot in spots {
        let name = tool(spot).unwrap_or_default();
        let several = environments.get(name).is_some_and(|all| all.len() > 1);
        let label = if several { format!("{name}, {}", spot.cell.environment) } else { name.to_owned() };
        clients.entry(label).or_default().push(spot);
    }
    clients
}

fn table(spots: &[&Spot<'_, '_>], taken: &mut BTreeSet<String>, round: &Round<'_>) -> Option<AgreementTable> {
    let settings = round.settings;
    let clients = by_client(spots);
    let first = spots.first()?;
    let campaign = first.case.campaign;
    let loads = loads(spots);
    let reference = reference(&clients, campaign.baseline.as_deref());
    let metrics: Vec<AgreementMetric> = METRICS
        .into_iter()
        .filter_map(Metric::find)
        .filter_map(|metric| {
            let margin_pct = pairing::margin_of(&metric, campaign, settings);
            let held = |against: &str| -> Vec<AgreementPair> {
                let others = clients.iter().filter(|(label, _)| label.as_str() != against);
                others
                    .filter_map(|(label, own)| {
                        let base = clients.get(against).map(Vec::as_slice);
                        let truth = campaign.truth.get(&metric.name).copied().filter(|_| against == TRUTH);
                        let pairs = pairs(own, base, truth, &loads, &metric.name);
                        let differ = base.and_then(|base| definition(own, base, &metric));
                        pair((label, against), &pairs, differ, margin_pct, round)
                    })
                    .collect()
            };
            let known = campaign.truth.contains_key(&metric.name);
            let pairs: Vec<AgreementPair> =
                known.then_some(TRUTH).into_iter().chain(reference.as_deref()).flat_map(held).collect();
            (!pairs.is_empty()).then(|| AgreementMetric {
                metric: metric.name.clone(),
                label: metric.label.clone(),
                unit: metric.unit,
                margin_pct,
                truth: campaign.truth.get(&metric.name).copied(),
                pairs,
            })
        })
        .collect();
    if metrics.is_empty() {
        return None;
    }
    let place = &first.place;
    Some(AgreementTable {
        id: unique(taken, slug(&[&place.cell.campaign, &place.cell.model])),
        campaign: place.cell.campaign.clone(),
        model: place.cell.model.clone(),
        machine: place.machine.clone(),
        machine_title: place.machine_title.clone(),
        engine: spots.iter().find_map(|spot| spot.place.engine.clone()),
        engine_version: spots.iter().find_map(|spot| spot.place.engine_version.clone()),
        reference,
        clients: clients.iter().map(|(label, own)| client(label, own, round)).collect(),
        metrics,
    })
}

/// The client that others are held against: the baseline of the campaign where that is one, else the one that comes with the engine.
fn reference(clients: &BTreeMap<String, Vec<&Spot<'_, '_>>>, baseline: Option<&str>) -> Option<String> {
    let named = |label: &&String| {
        baseline.is_some_and(|name| {
            label.as_str() == name
                || clients.get(*label).is_some_and(|own| own.iter().all(|spot| spot.cell.environment == name))
        })
    };
    let own = |label: &&String| REFERENCES.iter().any(|name| label.split(',').next() == Some(name));
    clients.keys().find(named).or_else(|| clients.keys().find(own)).or_else(|| clients.keys().next()).cloned()
}

/// The load of each cell under a number: the label of the workload where all clients share the labels, else what was asked for.
fn loads(spots: &[&Spot<'_, '_>]) -> BTreeMap<(String, String), usize> {
    let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for spot in spots {
        labels.entry(tool(spot).unwrap_or_default()).or_default().insert(spot.cell.workload);
    }
    let shared = labels.values().collect::<BTreeSet<_>>().len() == 1;
    let osl = clusters(&spots.iter().map(|spot| spot.place.osl).collect::<Vec<_>>());
    let mut numbers = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (spot, osl) in spots.iter().zip(osl) {
        let place = &spot.place;
        let bits = |value: Option<f64>| value.map(f64::to_bits);
        let key = match shared {
            true => (spot.cell.workload.to_owned(), None, None, None),
            false => (String::new(), bits(place.batch), bits(place.request_rate), osl),
        };
        let next = numbers.len();
        let number = *numbers.entry(key).or_insert(next);
        found.insert((spot.cell.environment.to_owned(), spot.cell.workload.to_owned()), number);
    }
    found
}

/// The round of a run: its block, else which of its cell it is.
fn round_of(run: &Run, place: usize) -> u32 {
    run.block.or(run.repeat).unwrap_or_else(|| u32::try_from(place + 1).unwrap_or(u32::MAX))
}

/// Every run of a client with the run of the reference in the same round and under the same load, or with the truth.
fn pairs<'a>(
    own: &[&Spot<'_, 'a>],
    base: Option<&[&Spot<'_, 'a>]>,
    truth: Option<f64>,
    loads: &BTreeMap<(String, String), usize>,
    metric: &str,
) -> Vec<Pair<'a>> {
    let load =
        |spot: &Spot<'_, '_>| loads.get(&(spot.cell.environment.to_owned(), spot.cell.workload.to_owned())).copied();
    let usable = |run: &&Run| !matches!(run.status, Status::Failed(_));
    let mut known: BTreeMap<(usize, u32), &'a Run> = BTreeMap::new();
    for spot in base.unwrap_or_default() {
        for (place, run) in spot.cell.runs.iter().copied().enumerate().filter(|(_, run)| usable(run)) {
            if let Some(load) = load(spot) {
                known.entry((load, round_of(run, place))).or_insert(run);
            }
        }
    }
    let mut found = Vec::new();
    for spot in own {
        let Some(load) = load(spot) else { continue };
        for (place, run) in spot.cell.runs.iter().copied().enumerate().filter(|(_, run)| usable(run)) {
            let round = round_of(run, place);
            let beside = known.get(&(load, round)).copied();
            let from = truth.or_else(|| beside?.value(metric));
            if let Some((from, to)) = from.zip(run.value(metric)).filter(|(from, to)| *from > 0.0 && *to > 0.0) {
                found.push(Pair {
                    workload: spot.cell.workload,
                    round,
                    a: beside.filter(|_| truth.is_none()),
                    b: run,
                    from,
                    to,
                });
            }
        }
    }
    found.sort_by_key(|pair| (pair.workload, pair.round));
    found
}

/// Why two clients do not mean the same by a metric, where their definitions are known to differ.
fn definition(own: &[&Spot<'_, '_>], base: &[&Spot<'_, '_>], metric: &Metric) -> Option<String> {
    let (own, base) = (own.first()?, base.first()?);
    match definitions::hold(base.cell, own.cell, metric)? {
        Held::Same => None,
        Held::Alike(why) | Held::Unknown(why) | Held::Differ(why) => Some(why),
    }
}

fn pair(
    (client, against): (&str, &str),
    pairs: &[Pair<'_>],
    differ: Option<String>,
    margin_pct: f64,
    round: &Round<'_>,
) -> Option<AgreementPair> {
    let confidence = round.settings.confidence;
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut by_load: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        let difference = (pair.to / pair.from).ln();
        rounds.entry(pair.round).or_default().push(difference);
        by_load.entry(pair.workload).or_default().push(difference);
    }
    let all: Vec<f64> = rounds.values().flatten().copied().collect();
    if all.is_empty() {
        return None;
    }
    let pct = |log: f64| 100.0 * log.exp_m1();
    let groups: Vec<Vec<f64>> = rounds.into_values().collect();
    let found = agreement(&groups, confidence);
    let spread =
        |bounded: agreement::Bounded| Ranged { value: pct(bounded.value), low: pct(bounded.lo), high: pct(bounded.hi) };
    let loads = by_load
        .iter()
        .filter_map(|(workload, logs)| {
            let about = estimate::of(logs, confidence)?;
            let interval = about.low.zip(about.high).unwrap_or((about.mean, about.mean));
            Some((
                (*workload).to_owned(),
                Ranged { value: pct(about.mean), low: pct(interval.0), high: pct(interval.1) },
            ))
        })
        .collect();
    let mut told = AgreementPair {
        client: client.to_owned(),
        against: against.to_owned(),
        rounds: groups.len(),
        pairs: all.len(),
        bias_pct: found.map_or_else(|| pct(stats::mean(&all)), |found| pct(found.bias.value)),
        bias: found.map(|found| spread(found.bias)),
        lower: found.map(|found| spread(found.lower)),
        upper: found.map(|found| spread(found.upper)),
        kind: Agreeing::Undecided,
        sentence: String::new(),
        definition: differ,
        by_load: loads,
        points: pairs
            .iter()
            .map(|pair| AgreementPoint {
                workload: pair.workload.to_owned(),
                round: pair.round,
                reference_run: pair.a.map(|run| run.id.clone()),
                run: pair.b.id.clone(),
                mean: (pair.from * pair.to).sqrt(),
                difference_pct: pct((pair.to / pair.from).ln()),
            })
            .collect(),
    };
    told.kind = kind(&told, margin_pct);
    told.sentence = sentence(&told, margin_pct);
    Some(told)
}

/// What two clients are to each other.
fn kind(pair: &AgreementPair, margin_pct: f64) -> Agreeing {
    let Some(((bias, lower), upper)) = pair.bias.zip(pair.lower).zip(pair.upper) else { return Agreeing::Undecided };
    if lower.low >= -margin_pct && upper.high <= margin_pct {
        Agreeing::Interchangeable
    } else if bias.low >= -margin_pct && bias.high <= margin_pct {
        Agreeing::OnAverage
    } else if bias.low > margin_pct || bias.high < -margin_pct {
        Agreeing::Apart
    } else {
        Agreeing::Undecided
    }
}

fn sentence(pair: &AgreementPair, margin_pct: f64) -> String {
    let AgreementPair { client, against, .. } = pair;
    let margin = fixed(margin_pct, usize::from(margin_pct.fract() != 0.0));
    let Some(((bias, lower), upper)) = pair.bias.zip(pair.lower).zip(pair.upper) else {
        let shown = signed(pair.bias_pct, 1);
        return format!(
            "{client} differs from {against} by {shown} %, in one round. A single round does not show how much rounds differ."
        );
    };
    let digits = decimals(bias.low, bias.high);
    let shown = format!("{} to {} %", signed(bias.low, digits), signed(bias.high, digits));
    let digits = decimals(lower.value, upper.value);
    let single = format!("{} to {} %", signed(lower.value, digits), signed(upper.value, digits));
    match pair.kind {
        Agreeing::Interchangeable => format!(
            "{client} and {against} can stand for each other: 95 of 100 single runs differ by {single}, within the margin of {margin} %."
        ),
        Agreeing::OnAverage => format!(
            "Means of {client} may be compared with {against}: they differ by {shown}. Single runs may not: 95 of 100 differ by {single}, and the margin is {margin} %."
        ),
        Agreeing::Apart => format!(
            "{client} may not be compared with {against}: it differs by {shown} on average, more than the margin of {margin} %."
        ),
        Agreeing::Undecided => format!(
            "Whether {client} may be compared with {against} is undecided: it differs by {shown} on average, and the margin is {margin} %."
        ),
    }
}

/// What is known of a client itself.
fn client(label: &str, own: &[&Spot<'_, '_>], round: &Round<'_>) -> AgreementClient {
    let confidence = round.settings.confidence;
    let runs: Vec<&Run> = own.iter().flat_map(|spot| spot.cell.runs.iter().copied()).collect();
    let of = |value: &dyn Fn(&Run) -> Option<f64>| {
        estimate::of(&runs.iter().filter_map(|run| value(run)).collect::<Vec<_>>(), confidence)
    };
    let mut versions: Vec<&str> = runs.iter().filter_map(|run| run.setup.tool_version.as_deref()).collect();
    versions.sort_unstable();
    versions.dedup();
    AgreementClient {
        label: label.to_owned(),
        environment: own.first().map(|spot| spot.cell.environment.to_owned()).unwrap_or_default(),
        version: (!versions.is_empty()).then(|| list(&versions)),
        runs: runs.len(),
        failed: runs.iter().filter(|run| matches!(run.status, Status::Failed(_))).count(),
        isl: of(&|run| run.setup.isl),
        osl: of(&|run| run.setup.osl),
        cpu_s_per_1k_tok: of(&cpu_per_1k),
    }
}

/// Processor time of the client's processes for 1,000 output tokens, seconds; absent where the run also holds the server, or names no
/// number of tokens.
fn cpu_per_1k(run: &Run) -> Option<f64> {
    let spent = known_extra::number(run, &[known_extra::PROCESSOR_S])?;
    let tokens = run.setup.requests? * run.setup.osl?;
    (tokens > 0.0).then(|| 1000.0 * spent / tokens)
}
