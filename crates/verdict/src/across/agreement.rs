//! Clients of one server compared with each other: how far apart they are when they measure the same thing.
//!
//! In:  spots of all campaigns.  Out: [`AgreementTable`]s, one for each server that several clients measured.
//! Not here: the formulas (see `stats::agreement`), drawing.
//!
//! A pair is a run of a client and one of the reference in the same round and under the same load. Differences are taken as logarithms of
//! the ratio, because latencies grow with load and so do their differences. Where a campaign says what is true (a server that was told
//! how fast to be), every client is compared with that too.

use std::collections::{BTreeMap, BTreeSet};

use super::naming::{slug, unique};
use super::placed_cell::PlacedCell;
use super::shape::clusters;
use crate::definitions::{self, DefinitionCheck};
use crate::distinct::distinct;
use crate::memory::Round;
use crate::number::{decimals, fixed, list, signed};
use crate::report::across::{
    Agreeing, AgreementClient, AgreementMetric, AgreementPair, AgreementPoint, AgreementTable, Place, Ranged,
};
use crate::report::{CampaignReport, Sentence};
use crate::{estimate, pairing};
use sparkbench_model::known_extra;
use sparkbench_model::{Metric, Run};
use sparkbench_stats::{self as stats, agreement};
use sparkbench_text::plural::counted;

/// Metrics that clients are compared with each other by.
const METRICS: [&str; 6] =
    ["output_throughput_tok_s", "request_throughput_req_s", "ttft_ms", "tpot_ms", "itl_ms", "e2e_latency_ms"];

/// Name of the truth among the clients.
pub const TRUTH: &str = "truth";

/// Held to be the reference where no campaign names one: the client that comes with the engine.
const REFERENCES: [&str; 2] = ["vllm-bench-serve", "sglang-bench-serving"];

/// A run beside what it is compared with.
struct Pair<'a> {
    workload: &'a str,
    round: u32,
    a: Option<&'a Run>,
    b: &'a Run,
    from: f64,
    to: f64,
}

/// A table for each server that two clients measured in one campaign.
pub(crate) fn tables(spots: &[PlacedCell<'_, '_>], round: &Round<'_>) -> Vec<AgreementTable> {
    let mut found: BTreeMap<_, Vec<&PlacedCell<'_, '_>>> = BTreeMap::new();
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

/// Puts what the tables say into the answers of their campaigns. Where the arms are the clients themselves, this is the whole answer. The
/// results of single arms follow on the page of the campaign.
pub(crate) fn lead(campaigns: &mut [CampaignReport], tables: &[AgreementTable]) {
    for campaign in campaigns {
        let own: Vec<&AgreementTable> = tables.iter().filter(|table| table.campaign == campaign.name).collect();
        let sentences: Vec<Sentence> = own
            .iter()
            .flat_map(|table| table.said.iter().map(|text| (text, format!("{}{}", Sentence::AGREEMENT, table.id))))
            .map(|(text, id)| Sentence { text: text.clone(), caveats: Vec::new(), because: vec![id] })
            .collect();
        let first = campaign.hypotheses.len().min(campaign.headline.len());
        if !sentences.is_empty() && own.iter().all(|table| arms_are_clients(campaign, table)) {
            // What rests on checks alone takes a verdict away.
            let (given, taken): (Vec<_>, Vec<_>) = campaign.headline.split_off(first).into_iter().partition(is_of_rows);
            let new = given.into_iter().filter(|sentence| !campaign.supported.contains(sentence)).collect::<Vec<_>>();
            campaign.supported.extend(new);
            campaign.unsupported.splice(0..0, taken);
        }
        campaign.headline.splice(first..first, sentences);
    }
}

/// Whether a sentence rests on comparisons, and not on checks.
fn is_of_rows(sentence: &Sentence) -> bool {
    sentence.because.iter().any(|id| id.contains('|'))
}

/// Each environment is one client, and no client has two environments.
fn arms_are_clients(campaign: &CampaignReport, table: &AgreementTable) -> bool {
    let own: BTreeSet<&str> = table.clients.iter().map(|client| client.environment.as_str()).collect();
    let plain = |client: &AgreementClient| !client.label.ends_with(&format!(", {}", client.environment));
    own.len() == table.clients.len() && own.len() == campaign.environments.len() && table.clients.iter().all(plain)
}

/// The client of a cell. Absent where its runs name none or several.
fn tool<'a>(spot: &PlacedCell<'_, 'a>) -> Option<&'a str> {
    let mut tools = spot.cell.runs.iter().map(|run| run.setup.tool.as_deref());
    let first = tools.next()??;
    tools.all(|tool| tool == Some(first)).then_some(first)
}

/// Cells by the label of their client: its name, with the environment where one client has several.
fn by_client<'s, 'c, 'a>(spots: &[&'s PlacedCell<'c, 'a>]) -> BTreeMap<String, Vec<&'s PlacedCell<'c, 'a>>> {
    let mut environments: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for spot in spots {
        environments.entry(tool(spot).unwrap_or_default()).or_default().insert(spot.cell.environment);
    }
    let mut clients: BTreeMap<String, Vec<&PlacedCell<'_, '_>>> = BTreeMap::new();
    for spot in spots {
        let name = tool(spot).unwrap_or_default();
        let several = environments.get(name).is_some_and(|all| all.len() > 1);
        let label = if several { format!("{name}, {}", spot.cell.environment) } else { name.to_owned() };
        clients.entry(label).or_default().push(spot);
    }
    clients
}

fn table(spots: &[&PlacedCell<'_, '_>], taken: &mut BTreeSet<String>, round: &Round<'_>) -> Option<AgreementTable> {
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
        engine: all_say(&clients, |place| place.engine.as_deref()),
        engine_version: all_say(&clients, |place| place.engine_version.as_deref()),
        clients: clients.iter().map(|(label, own)| client(label, own, round)).collect(),
        said: [Some(TRUTH), reference.as_deref()].into_iter().flatten().filter_map(|one| said(one, &metrics)).collect(),
        reference,
        metrics,
    })
}

/// Values that all clients agree on. Some clients report as engine only the protocol that they were set to use.
fn all_say<'a>(
    clients: &'a BTreeMap<String, Vec<&PlacedCell<'_, '_>>>,
    what: impl Fn(&'a Place) -> Option<&'a str>,
) -> Option<String> {
    let mut said = clients.values().flatten().map(|spot| what(&spot.place));
    let first = said.next()??;
    said.all(|other| other == Some(first)).then(|| first.to_owned())
}

/// The client that others are compared with: the baseline of the campaign where that is one, else the one that comes with the engine.
fn reference(clients: &BTreeMap<String, Vec<&PlacedCell<'_, '_>>>, baseline: Option<&str>) -> Option<String> {
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
fn loads(spots: &[&PlacedCell<'_, '_>]) -> BTreeMap<(String, String), usize> {
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

/// Key that a run shares with its partner: its block, else its number in the cell.
fn block_of(run: &Run, place: usize) -> u32 {
    run.block.or(run.repeat).unwrap_or_else(|| u32::try_from(place + 1).unwrap_or(u32::MAX))
}

/// The round of a run over all loads: which of its cell it is. A block of a plan holds one load, so a round is a block of each.
fn round_of(run: &Run, place: usize) -> u32 {
    run.repeat.unwrap_or_else(|| block_of(run, place))
}

/// Every run of a client with the run of the reference in the same round and under the same load, or with the truth.
fn pairs<'a>(
    own: &[&PlacedCell<'_, 'a>],
    base: Option<&[&PlacedCell<'_, 'a>]>,
    truth: Option<f64>,
    loads: &BTreeMap<(String, String), usize>,
    metric: &str,
) -> Vec<Pair<'a>> {
    let load = |spot: &PlacedCell<'_, '_>| {
        loads.get(&(spot.cell.environment.to_owned(), spot.cell.workload.to_owned())).copied()
    };
    let usable = |run: &&Run| !run.has_failed();
    let mut known: BTreeMap<(usize, u32), &'a Run> = BTreeMap::new();
    for spot in base.unwrap_or_default() {
        for (place, run) in spot.cell.runs.iter().copied().enumerate().filter(|(_, run)| usable(run)) {
            if let Some(load) = load(spot) {
                known.entry((load, block_of(run, place))).or_insert(run);
            }
        }
    }
    let mut found = Vec::new();
    for spot in own {
        let Some(load) = load(spot) else { continue };
        for (place, run) in spot.cell.runs.iter().copied().enumerate().filter(|(_, run)| usable(run)) {
            let beside = known.get(&(load, block_of(run, place))).copied();
            let from = truth.or_else(|| beside?.value(metric));
            if let Some((from, to)) = from.zip(run.value(metric)).filter(|(from, to)| *from > 0.0 && *to > 0.0) {
                found.push(Pair {
                    workload: spot.cell.workload,
                    round: round_of(run, place),
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
fn definition(own: &[&PlacedCell<'_, '_>], base: &[&PlacedCell<'_, '_>], metric: &Metric) -> Option<String> {
    let (own, base) = (own.first()?, base.first()?);
    match definitions::hold(base.cell, own.cell, metric)? {
        DefinitionCheck::Same => None,
        DefinitionCheck::Alike(why) | DefinitionCheck::Unknown(why) | DefinitionCheck::Differ(why) => Some(why),
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
    told.sentence = if against == TRUTH { off_by(&told, margin_pct) } else { sentence(&told, margin_pct) };
    Some(told)
}

/// Relation of two clients.
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

fn range(low: f64, high: f64) -> String {
    let digits = decimals(low, high);
    format!("{} to {} %", signed(low, digits), signed(high, digits))
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
    let (shown, single) = (range(bias.low, bias.high), range(lower.value, upper.value));
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

/// A client against the truth.
fn off_by(pair: &AgreementPair, margin_pct: f64) -> String {
    let client = &pair.client;
    let margin = fixed(margin_pct, usize::from(margin_pct.fract() != 0.0));
    let Some(((bias, lower), upper)) = pair.bias.zip(pair.lower).zip(pair.upper) else {
        let shown = signed(pair.bias_pct, 1);
        return format!(
            "{client} is off by {shown} %, in one round. A single round does not show how much rounds differ."
        );
    };
    let (mean, single) = (range(bias.low, bias.high), range(lower.value, upper.value));
    match pair.kind {
        Agreeing::Interchangeable => {
            format!("{client} is right: 95 of 100 single runs are off by {single}, within the margin of {margin} %.")
        }
        Agreeing::OnAverage => format!(
            "{client} is right on average: off by {mean}. Single runs are not: 95 of 100 are off by {single}, and the margin is {margin} %."
        ),
        Agreeing::Apart => format!("{client} is off by {mean} on average, more than the margin of {margin} %."),
        Agreeing::Undecided => {
            format!(
                "Whether {client} is right is undecided: it is off by {mean} on average, and the margin is {margin} %."
            )
        }
    }
}

/// All pairs against one in short: how many agree, and which is farthest away.
fn said(against: &str, metrics: &[AgreementMetric]) -> Option<String> {
    let all: Vec<(&AgreementMetric, &AgreementPair)> = metrics
        .iter()
        .flat_map(|metric| metric.pairs.iter().map(move |pair| (metric, pair)))
        .filter(|(_, pair)| pair.against == against)
        .collect();
    let (metric, farthest) = all.iter().max_by(|a, b| {
        let far = |pair: &AgreementPair| (1.0 + pair.bias_pct / 100.0).ln().abs();
        far(a.1).total_cmp(&far(b.1))
    })?;
    let named = |kind: Agreeing, (one, many): (&str, &str)| {
        let count = all.iter().filter(|(_, pair)| pair.kind == kind).count();
        (count > 0).then(|| counted(count, one, many))
    };
    let (each, average, apart) = match against {
        TRUTH => (
            ("is right in each run", "are right in each run"),
            ("is right on average", "are right on average"),
            ("is off by more than the margin", "are off by more than the margin"),
        ),
        _ => (
            ("agrees in each run", "agree in each run"),
            ("agrees on average", "agree on average"),
            ("differs by more than the margin", "differ by more than the margin"),
        ),
    };
    let parts: Vec<String> = [
        named(Agreeing::Interchangeable, each),
        named(Agreeing::OnAverage, average),
        named(Agreeing::Apart, apart),
        named(Agreeing::Undecided, ("is undecided", "are undecided")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let clients = all.iter().map(|(_, pair)| pair.client.as_str()).collect::<BTreeSet<_>>().len();
    let (whose, whom) = match against {
        TRUTH => (format!("of {clients} load clients"), "the truth"),
        name => (format!("that {clients} load clients share with {name}"), name),
    };
    let far = signed(farthest.bias_pct, usize::from(farthest.bias_pct.abs() < 10.0));
    Some(format!(
        "Of {} figures {whose}, {}. Farthest from {whom}: {} by {}, {far} %.",
        all.len(),
        list(&parts),
        sparkbench_model::within(&metric.label),
        farthest.client
    ))
}

/// Known facts of a client itself.
fn client(label: &str, own: &[&PlacedCell<'_, '_>], round: &Round<'_>) -> AgreementClient {
    let confidence = round.settings.confidence;
    let runs: Vec<&Run> = own.iter().flat_map(|spot| spot.cell.runs.iter().copied()).collect();
    let of = |value: &dyn Fn(&Run) -> Option<f64>| {
        estimate::of(&runs.iter().filter_map(|run| value(run)).collect::<Vec<_>>(), confidence)
    };
    let versions: Vec<&str> = distinct(runs.iter().filter_map(|run| run.setup.tool_version.as_deref()));
    AgreementClient {
        label: label.to_owned(),
        environment: own.first().map(|spot| spot.cell.environment.to_owned()).unwrap_or_default(),
        version: (!versions.is_empty()).then(|| list(&versions)),
        runs: runs.len(),
        failed: runs.iter().filter(|run| run.has_failed()).count(),
        isl: of(&|run| run.setup.isl),
        osl: of(&|run| run.setup.osl),
        cpu_s_per_1k_tok: estimate::of(&cpu_per_1k(own), confidence),
    }
}

/// Processor time of the client's processes for 1,000 output tokens, in seconds, in each round over all loads. A mean over runs would give
/// the run with the fewest tokens the most weight. A run that also holds the server, or names no number of tokens, is left out.
fn cpu_per_1k(own: &[&PlacedCell<'_, '_>]) -> Vec<f64> {
    let mut rounds: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for spot in own {
        for (place, run) in spot.cell.runs.iter().enumerate() {
            let spent = known_extra::number(run, &[known_extra::PROCESSOR_S]);
            let tokens = run.setup.requests.zip(run.setup.osl).map(|(requests, osl)| requests * osl);
            if let Some((spent, tokens)) = spent.zip(tokens.filter(|tokens| *tokens > 0.0)) {
                let sums = rounds.entry(round_of(run, place)).or_default();
                *sums = (sums.0 + spent, sums.1 + tokens);
            }
        }
    }
    rounds.into_values().map(|(spent, tokens)| 1000.0 * spent / tokens).collect()
}
