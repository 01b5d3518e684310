//! The cost of tokens: one row for each cell, the best batch size, machine against machine.
//!
//! In:  cells, facts.  Out: [`CostReport`]s and what follows from several of them.
//! Not here: the formulas (see `stats::economy`), which price is whose (see `price`).
//!
//! Cost is price over throughput, so its interval is that of the throughput turned round: nothing is drawn or tested twice. Failed runs
//! and failed requests made no tokens and are in no rate. The hour that they took is in it.

use std::collections::BTreeMap;

use super::case::{Case, Cell};
use super::physics::PhysicsFacts;
use super::report::{
    ApartReport, BestBatch, Choice, CostReport, Estimate, Excluded, MachineRow, MachineTable, OtherPrice,
};
use super::{Settings, estimate, number, price};
use sparkbench_model::{LimitFacts, Run};
use sparkbench_stats::{self as stats, economy};

/// Highest time per output token where a user sets none, ms: the limit of MLPerf Inference for a Llama 2 70B server (p99).
pub(crate) const LIMIT_TPOT_MS: f64 = 200.0;
/// Highest time to first token where a user sets none, ms: from the same rules.
pub(crate) const LIMIT_TTFT_MS: f64 = 2000.0;

/// A row for each cell that measures output.
pub(crate) fn report(case: &Case<'_>, settings: &Settings) -> Vec<CostReport> {
    let grounds = PhysicsFacts::of(case);
    case.cells.iter().filter_map(|cell| row(case, &grounds, cell, settings)).collect()
}

fn row<'a>(
    case: &Case<'a>,
    grounds: &PhysicsFacts<'_, 'a>,
    cell: &Cell<'a>,
    settings: &Settings,
) -> Option<CostReport> {
    let has = |run: &&Run| run.value("output_throughput_tok_s").is_some_and(|rate| rate > 0.0);
    let runs: Vec<&Run> = cell.runs.iter().copied().filter(has).filter(|run| !run.has_failed()).collect();
    let first = *runs.first()?;
    let each = |value: &dyn Fn(&Run) -> Option<f64>| -> Option<Estimate> {
        estimate::of(&runs.iter().filter_map(|run| value(run)).collect::<Vec<f64>>(), settings.confidence)
    };
    let metric = |name: &str| each(&|run| run.value(name));
    let rates: Vec<f64> = runs.iter().filter_map(|run| run.value("output_throughput_tok_s")).collect();
    let output = estimate::of(&rates, settings.confidence);
    let input_of = |run: &Run| {
        let input = run.value("total_throughput_tok_s")? - run.value("output_throughput_tok_s")?;
        (input > 0.0).then_some(input)
    };
    let input = each(&input_of);
    let total = metric("total_throughput_tok_s");
    let machine = grounds.machine(first);
    let devices = grounds.devices(first);
    let bills = machine.map(|(key, _)| price::fitting(case.facts, key, devices, first)).unwrap_or_default();
    let (bill, others) = bills.split_first().map_or((None, &[][..]), |(bill, others)| (Some(bill), others));
    let cost = |rate: &Option<Estimate>| estimate::cost(bill?.usd_per_hour, rate.as_ref()?);
    let apart = bill.zip(input.zip(output)).and_then(|(bill, (input, output))| {
        let weight = bill.output_weight();
        let (input, output) = economy::priced_apart(bill.usd_per_hour, input.mean, output.mean, weight)?;
        Some(ApartReport { output_weight: weight, usd_per_million_input: input, usd_per_million_output: output })
    });
    let per_watt = |run: &Run| {
        let power = run.value("power_w").filter(|watts| *watts > 0.0)?;
        Some(run.value("output_throughput_tok_s")? / power)
    };
    let per_joule = |run: &Run| run.value("energy_j_per_token").filter(|j| *j > 0.0).map(|j| 1.0 / j);
    let slow = |name: &str| metric(&format!("{name}_p99")).or_else(|| metric(name));
    let named = case.machine_name(first);
    Some(CostReport {
        campaign: first.campaign.clone(),
        model: cell.model.to_owned(),
        workload: cell.workload.to_owned(),
        environment: cell.environment.to_owned(),
        model_id: first
            .setup
            .model_id
            .clone()
            .or_else(|| case.campaign.models.get(cell.model).and_then(|model| model.id.clone())),
        machine: machine.map(|(key, _)| key.to_owned()),
        machine_title: machine.map(|(_, known)| known.title.clone()).or_else(|| named.map(str::to_owned)),
        devices,
        engine: first.setup.engine.clone(),
        quantisation: grounds.precision(first).map(str::to_owned),
        batch: runs
            .iter()
            .find_map(|run| run.setup.batch)
            .or_else(|| case.campaign.models.get(cell.model).and_then(|model| model.batch)),
        isl: first.setup.isl,
        osl: first.setup.osl,
        usd_per_million_output: cost(&output),
        usd_per_million_input: cost(&input),
        usd_per_million_total: cost(&total),
        apart,
        output_tokens_per_usd: bill
            .zip(output.as_ref())
            .map(|(bill, rate)| estimate::times(rate, 3600.0 / bill.usd_per_hour)),
        output_tok_s: output,
        input_tok_s: input,
        tpot_ms: slow("tpot_ms"),
        ttft_ms: slow("ttft_ms"),
        price: bill.map(price::Bill::report),
        power_w: metric("power_w"),
        tok_s_per_w: each(&per_watt),
        output_tokens_per_j: each(&per_joule),
        other_prices: others
            .iter()
            .map(|other| OtherPrice {
                price: other.report(),
                usd_per_million_output: output.as_ref().and_then(|rate| estimate::cost(other.usd_per_hour, rate)),
            })
            .collect(),
        missing: missing(machine.map(|(_, known)| known.title.as_str()), named, bill, input.is_some(), &runs),
        rates,
    })
}

/// What a row cannot say, and why: of a machine by its title in the facts, and by its name.
fn missing(
    known: Option<&str>,
    named: Option<&str>,
    bill: Option<&price::Bill<'_>>,
    has_input: bool,
    runs: &[&Run],
) -> Vec<String> {
    let mut missing = Vec::new();
    match (known, named, bill) {
        (None, Some(name), _) => missing.push(format!("no facts about the machine '{name}', so no price")),
        (None, None, _) => missing.push("no name of the machine, so no price".to_owned()),
        (Some(title), _, None) => missing.push(format!("no price of {} in the list", title)),
        _ => {}
    }
    if !has_input {
        missing.push("no input tokens a second: the runs report no total throughput".to_owned());
    }
    if !runs.iter().any(|run| run.value("power_w").is_some() || run.value("energy_j_per_token").is_some()) {
        let sampled = runs.iter().any(|run| run.telemetry.iter().any(|sample| sample.power_w.is_some()));
        missing.push(if sampled { "no power by run" } else { "no power and no energy" }.to_owned());
    }
    missing
}

/// The best batch size of every shape of requests that was measured with several.
pub(crate) fn best_batches(costs: &[CostReport], limits: &LimitFacts) -> Vec<BestBatch> {
    let tpot = limits.tpot_ms.unwrap_or(LIMIT_TPOT_MS);
    let ttft = limits.ttft_ms.unwrap_or(LIMIT_TTFT_MS);
    let mut shapes: BTreeMap<_, Vec<(f64, &CostReport)>> = BTreeMap::new();
    for cost in costs {
        let (Some(isl), Some(osl), Some(batch)) = (cost.isl, cost.osl, cost.batch) else { continue };
        // Lengths are whole numbers of tokens, or means of them: rounded they are a key.
        let key = (
            (&cost.campaign, &cost.model, &cost.environment),
            (&cost.machine_title, &cost.quantisation, &cost.engine),
            (isl.round() as u64, osl.round() as u64),
        );
        shapes.entry(key).or_default().push((batch, cost));
    }
    let mut found = Vec::new();
    for (((campaign, model, environment), (machine, ..), (isl, osl)), mut cells) in shapes {
        cells.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.workload.cmp(&b.1.workload)));
        let mut batches: Vec<f64> = cells.iter().map(|(batch, _)| *batch).collect();
        batches.dedup();
        if batches.len() < 2 {
            continue;
        }
        let mut excluded = Vec::new();
        let mut kept = Vec::new();
        for (batch, cell) in &cells {
            match beyond(cell, tpot, ttft) {
                Some(why) => excluded.push(Excluded { batch: *batch, why }),
                None => kept.push((*batch, *cell)),
            }
        }
        let rate = |cell: &CostReport| cell.output_tok_s;
        let cost = |cell: &CostReport| cell.usd_per_million_output;
        found.push(BestBatch {
            campaign: campaign.clone(),
            model: model.clone(),
            environment: environment.clone(),
            machine: machine.clone(),
            isl: isl as f64,
            osl: osl as f64,
            by_throughput: choose(&cells, rate, true),
            by_cost: choose(&cells, cost, false),
            within_limits: choose(&kept, cost, false).or_else(|| choose(&kept, rate, true)),
            limit_tpot_ms: tpot,
            limit_ttft_ms: ttft,
            batches,
            excluded,
        });
    }
    found
}

/// Why a cell does not keep the limits. Nothing when it does. A latency that was not measured keeps no limit.
fn beyond(cell: &CostReport, tpot: f64, ttft: f64) -> Option<String> {
    let look = |name: &str, found: Option<Estimate>, limit: f64| match found {
        None => Some(format!("{name} was not measured")),
        Some(found) if found.mean > limit => Some(format!("{name} is {} ms", number::significant(found.mean, 4))),
        Some(_) => None,
    };
    let whys: Vec<String> =
        [look("TPOT", cell.tpot_ms, tpot), look("TTFT", cell.ttft_ms, ttft)].into_iter().flatten().collect();
    (!whys.is_empty()).then(|| number::list(&whys))
}

fn choose(cells: &[(f64, &CostReport)], value: impl Fn(&CostReport) -> Option<Estimate>, most: bool) -> Option<Choice> {
    let valued: Vec<(f64, &CostReport, Estimate)> =
        cells.iter().filter_map(|(batch, cell)| Some((*batch, *cell, value(cell)?))).collect();
    let (batch, cell, best) = valued.iter().copied().reduce(|a, b| {
        let better = if most { b.2.mean > a.2.mean } else { b.2.mean < a.2.mean };
        if better { b } else { a }
    })?;
    let not_told_apart =
        valued.iter().filter(|(other, _, v)| *other != batch && v.overlaps(&best)).map(|(other, ..)| *other).collect();
    Some(Choice { batch, workload: cell.workload.clone(), value: best, not_told_apart })
}

/// Tables of the same model, precision and shape of requests on several machines.
pub(crate) fn machine_against_machine(costs: &[CostReport], settings: &Settings) -> Vec<MachineTable> {
    let mut shapes: BTreeMap<_, Vec<&CostReport>> = BTreeMap::new();
    for cost in costs {
        let (Some(isl), Some(osl), Some(batch)) = (cost.isl, cost.osl, cost.batch) else { continue };
        if cost.machine_title.is_none() || cost.output_tok_s.is_none() {
            continue;
        }
        let model = cost.model_id.as_ref().unwrap_or(&cost.model);
        let precision = cost.quantisation.as_deref().map(str::to_lowercase);
        let key = (model, precision, isl.round() as u64, osl.round() as u64, batch.round() as u64);
        shapes.entry(key).or_default().push(cost);
    }
    let several = |cells: &[&CostReport]| {
        let key = |cell: &CostReport| (cell.machine_title.clone(), cell.devices.to_bits());
        cells.first().is_some_and(|first| cells.iter().any(|cell| key(cell) != key(first)))
    };
    shapes
        .into_iter()
        .filter(|(_, cells)| several(cells))
        .map(|((model, quantisation, isl, osl, batch), cells)| MachineTable {
            model: model.clone(),
            quantisation,
            isl: isl as f64,
            osl: osl as f64,
            batch: batch as f64,
            rows: rows(cells, settings),
        })
        .collect()
}

fn rows(mut cells: Vec<&CostReport>, settings: &Settings) -> Vec<MachineRow> {
    let cost = |cell: &CostReport| cell.usd_per_million_output.map_or(f64::INFINITY, |cost| cost.mean);
    let rate = |cell: &CostReport| cell.output_tok_s.map_or(0.0, |rate| rate.mean);
    cells.sort_by(|a, b| cost(a).total_cmp(&cost(b)).then_with(|| rate(b).total_cmp(&rate(a))));
    let best = cells.first().copied();
    cells
        .iter()
        .filter_map(|cell| {
            Some(MachineRow {
                machine: cell.machine_title.clone()?,
                devices: cell.devices,
                campaign: cell.campaign.clone(),
                workload: cell.workload.clone(),
                environment: cell.environment.clone(),
                output_tok_s: cell.output_tok_s?,
                usd_per_million_output: cell.usd_per_million_output,
                cost_ratio: best.and_then(|best| ratio(cell, best, settings.confidence)),
            })
        })
        .collect()
}

/// Cost of a cell over that of another: the prices' ratio times the inverse ratio of the rates, with Fieller's interval.
fn ratio(cell: &CostReport, best: &CostReport, confidence: f64) -> Option<Estimate> {
    let prices = match (&cell.price, &best.price) {
        (Some(own), Some(best)) => own.usd_per_hour / best.usd_per_hour,
        (None, None) => 1.0,
        _ => return None,
    };
    let mean = prices * best.output_tok_s?.mean / cell.output_tok_s?.mean;
    let same = std::ptr::eq(cell, best);
    let limits = (!same).then(|| stats::ratio_interval(&best.rates, &cell.rates, confidence)).flatten();
    let n = cell.rates.len().min(best.rates.len());
    Some(Estimate { n, mean, low: limits.map(|l| prices * l.0), high: limits.map(|l| prices * l.1) })
}

#[cfg(test)]
mod tests;
