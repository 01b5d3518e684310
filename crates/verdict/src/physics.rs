//! The limits of each run from memory and arithmetic, and the share that the run reaches.
//!
//! In:  runs with the facts of their machine and model.  Out: [`Reach`] a run, [`PhysicsReport`] a cell.
//! Not here: the formulas (see `stats::roofline`), judgement (see `trap::decode_above_roofline`, `trap::decode_below_band`).
//!
//! How many sequences decode together is known from Little's law where a run reports both its rate and its time per token. A limit of
//! concurrency is an upper bound of it, and alone gives a share that is too low rather than too high.

pub(crate) mod inputs;

use std::collections::BTreeMap;

use super::case::{Case, Cell};
use super::report::{Estimate, KvReport, PhysicsReport};
use super::{Settings, estimate};
use sparkbench_model::{MachineFacts, ModelFacts, Run};
use sparkbench_stats::roofline::{Share, Step, kv_room, sequences};

use inputs::{
    Accepted, GB, GIB, MISSING_ACCEPTED, accepted, bits, claimed_weights, is_mixed, is_packed, machine_names,
    multiplier, precision, speaks_of,
};

/// Bits of a value of the KV cache, unless the run says otherwise.
const KV_BITS: f64 = 16.0;
/// Bits of the input embedding and the output head in most quantised checkpoints.
const OUTER_BITS: f64 = 16.0;
/// Bits of everything but the experts in packed files of models with narrow experts: Q8_0, scales included.
const PACKED_REST_BITS: f64 = 8.5;
/// Operations of a TFLOP.
const TERA: f64 = 1e12;

/// Which rate a share rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Decoding alone: time per token, or the decode rate of one sequence.
    Decode,
    /// Output over the whole run, prefill, ramp and tail included: a lower bound of the decode rate.
    Output,
}

impl Basis {
    /// Name in `analysis.json`.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Output => "output_throughput",
        }
    }
}

/// How far one run gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reach {
    /// The step that its sequences share.
    pub step: Step,
    /// Mean context of a sequence while it decodes, tokens. Absent where lengths are unknown, and then no cache is read.
    pub context: Option<f64>,
    /// Output tokens a second.
    pub rate: f64,
    /// What the rate is.
    pub basis: Basis,
    /// Ceiling by the nominal bandwidth, tok/s.
    pub memory_bound: f64,
    /// Ceiling by the nominal peak of arithmetic, tok/s, where it is known.
    pub compute_bound: Option<f64>,
    /// Format of that arithmetic.
    pub arithmetic: Option<&'static str>,
    /// Share of the lower ceiling, per cent.
    pub pct: f64,
    /// Share of the ceiling that measured bandwidth and arithmetic give, per cent, where a probe lies in the campaign.
    pub measured_pct: Option<f64>,
}

/// Known facts of the machine and the models of a campaign, looked up once.
#[derive(Debug)]
pub(crate) struct PhysicsFacts<'c, 'a> {
    case: &'c Case<'a>,
    models: BTreeMap<&'a str, Option<&'a ModelFacts>>,
    precisions: BTreeMap<&'a str, Option<String>>,
    machine: Option<(&'a str, &'a MachineFacts)>,
    /// Bytes a second, measured by a probe in this campaign.
    pub measured_bandwidth: Option<f64>,
    measured_flops: Option<f64>,
}

impl<'c, 'a> PhysicsFacts<'c, 'a> {
    /// Looks everything up.
    pub(crate) fn of(case: &'c Case<'a>) -> Self {
        let mut labels: Vec<&'a str> = case.cells.iter().map(|cell| cell.model).collect();
        labels.dedup();
        let mean = |metric: &str| {
            let values: Vec<f64> = case.runs.iter().filter_map(|run| run.value(metric)).filter(|v| *v > 0.0).collect();
            (!values.is_empty()).then(|| sparkbench_stats::mean(&values))
        };
        Self {
            models: labels.iter().map(|label| (*label, case.model(label))).collect(),
            precisions: labels.iter().map(|label| (*label, precision(case, label).map(str::to_owned))).collect(),
            machine: machine_names(case).find_map(|name| case.facts.machine_entry(name)),
            measured_bandwidth: mean("memory_bandwidth_gb_s").map(|gb| gb * GB),
            measured_flops: mean("gemm_tflops").map(|tera| tera * TERA),
            case,
        }
    }

    /// The machine of a run: the one it names, else the campaign's.
    pub(crate) fn machine(&self, run: &Run) -> Option<(&'a str, &'a MachineFacts)> {
        run.setup.machine.as_deref().and_then(|name| self.case.facts.machine_entry(name)).or(self.machine)
    }

    /// Devices that a run works on: by the machine's name, and by how the model is split.
    pub(crate) fn devices(&self, run: &Run) -> f64 {
        let name = self.case.machine_name(run);
        let parted = run.setup.parallel.as_deref().map_or(1.0, parts);
        name.and_then(multiplier).unwrap_or(1.0).max(parted)
    }

    /// TFLOP/s of one device, measured by a probe in this campaign.
    pub(crate) fn measured_tflops(&self) -> Option<f64> {
        self.measured_flops.map(|flops| flops / TERA)
    }

    /// Precision of a run's weights, as stated.
    pub(crate) fn precision(&self, run: &'a Run) -> Option<&str> {
        let own = run.setup.quantisation.as_deref();
        own.or_else(|| self.precisions.get(run.model.as_str()).and_then(|p| p.as_deref()))
    }

    /// Facts of the model at the precision that is served.
    ///
    /// # Errors
    /// The missing facts, in words.
    pub(crate) fn served(&self, run: &'a Run) -> Result<ModelFacts, String> {
        let by_id = run.setup.model_id.as_deref().and_then(|id| self.case.facts.model(id));
        let Some(known) = by_id.or_else(|| self.models.get(run.model.as_str()).copied().flatten()) else {
            return Err(match run.setup.model_id.as_deref() {
                Some(id) => format!("facts about the model '{id}'"),
                None => "the model's id, or facts about it".to_owned(),
            });
        };
        let used = self.precision(run);
        if speaks_of(known, used) {
            let packed = is_packed(run) && is_mixed(known);
            let own = known.quantisation.as_deref().unwrap_or_default();
            let repacked = || known.with_rest_at(own, bits(own)?, PACKED_REST_BITS);
            return Ok(packed.then(repacked).flatten().unwrap_or_else(|| known.clone()));
        }
        let name = used.unwrap_or_default();
        let Some(bits) = bits(name) else { return Err(format!("the bits of a weight at '{name}'")) };
        known.at_precision(name, bits, OUTER_BITS).ok_or_else(|| format!("the bytes of {} at '{name}'", known.title))
    }

    /// How far a run gets.
    ///
    /// # Errors
    /// Everything that is missing, in words.
    pub(crate) fn reach(&self, run: &'a Run) -> Result<Reach, Vec<String>> {
        let mut missing = Vec::new();
        let model = self.served(run).map_err(|what| missing.push(what)).ok();
        let limit = run.setup.batch.or_else(|| self.case.campaign.models.get(&run.model).and_then(|m| m.batch));
        let limit = limit.filter(|batch| *batch >= 1.0 && batch.is_finite());
        let rate = rate(run, limit);
        if rate.is_none() {
            missing.push(
                if limit.is_none() { "the batch or concurrency, or time per token" } else { "an output rate" }
                    .to_owned(),
            );
        }
        let machine = self.machine(run);
        let bandwidth = machine.and_then(|(_, m)| m.bandwidth_gb_s);
        if bandwidth.is_none() {
            missing.push(match (machine, self.case.machine_name(run)) {
                (Some((_, known)), _) => format!("the memory bandwidth of {}", known.title),
                (None, Some(name)) => format!("facts about the machine '{name}'"),
                (None, None) => "the name of the machine".to_owned(),
            });
        }
        let tokens = match accepted(run) {
            Accepted::Unknown => {
                missing.push(MISSING_ACCEPTED.to_owned());
                None
            }
            known => known.tokens(),
        };
        let weights = rate.as_ref().zip(model.as_ref()).and_then(|((_, batch, _), m)| m.bytes_per_step(*batch));
        if weights.is_none() && missing.is_empty() {
            missing.push("the bytes of the model's weights".to_owned());
        }
        match (model, rate, machine, bandwidth, tokens, weights) {
            (
                Some(model),
                Some((rate, batch, basis)),
                Some((_, machine)),
                Some(bandwidth),
                Some(tokens),
                Some(weights),
            ) => {
                let context = context(run);
                let kv_bits = run.setup.kv_dtype.as_deref().and_then(bits).unwrap_or(KV_BITS);
                let kv_bytes = context.and_then(|context| model.kv_bytes_read(context, kv_bits)).unwrap_or(0.0);
                let step = Step { batch, weight_bytes: weights, kv_bytes, tokens };
                let devices = self.devices(run);
                let weight_bits = model.quantisation.as_deref().and_then(bits).unwrap_or(KV_BITS);
                let active = model.active_parameters();
                let compute = |flops: Option<f64>| Some(step.compute_bound(devices * flops?, active?));
                let (peak, arithmetic) = peak(machine, weight_bits).unzip();
                let compute_bound = compute(peak);
                let memory_bound = step.memory_bound(devices * bandwidth * GB);
                let measured_pct = self.measured_bandwidth.map(|measured| {
                    // A probe multiplies at 16 bits. It says nothing about narrower formats.
                    let compute = compute(self.measured_flops.filter(|_| weight_bits >= KV_BITS));
                    share(rate, step.memory_bound(devices * measured), compute)
                });
                let pct = share(rate, memory_bound, compute_bound);
                Ok(Reach { step, context, rate, basis, memory_bound, compute_bound, arithmetic, pct, measured_pct })
            }
            _ => Err(missing),
        }
    }

    /// Room for a KV cache by the settings of a run, against what it reports.
    fn kv(&self, run: &'a Run) -> Option<KvReport> {
        let utilisation = run.setup.memory_utilisation.filter(|share| *share > 0.0 && *share <= 1.0)?;
        let machine = self.machine(run).and_then(|(_, m)| m.memory_gib);
        let memory = self.devices(run) * run.setup.device_memory_gib.or(machine)? * GIB;
        let printed = run.setup.model_memory_gib.or_else(|| run.value("model_memory_gib")).map(|gib| gib * GIB);
        let weights = printed.or_else(|| claimed_weights(self.case, &run.model).map(|known| known.value))?;
        let engine = run.setup.engine.as_deref().or(run.setup.tool.as_deref()).unwrap_or_default().to_lowercase();
        let of_free = ["tensorrt", "trtllm", "trt-llm"].iter().any(|name| engine.contains(name));
        let kind = if of_free { Share::OfFree } else { Share::OfDevice };
        let room = kv_room(memory, utilisation, weights, kind);
        let kv_bits = run.setup.kv_dtype.as_deref().and_then(bits).unwrap_or(KV_BITS);
        let per_token = self.served(run).ok().and_then(|model| model.kv_bytes_read(1.0, kv_bits));
        Some(KvReport {
            formula: if of_free { "(memory - weights) x share" } else { "memory x share - weights" },
            expected_gib: room / GIB,
            expected_tokens: per_token.filter(|bytes| *bytes > 0.0).map(|bytes| (room / bytes).floor()),
            reported_gib: run.value("kv_cache_gib"),
            reported_tokens: run.value("kv_cache_tokens"),
        })
    }
}

/// Rate, sequences that share a step, and what the rate is.
fn rate(run: &Run, limit: Option<f64>) -> Option<(f64, f64, Basis)> {
    let positive = |metric: &str| run.value(metric).filter(|v| *v > 0.0);
    let (output, tpot, decode) = (positive("output_throughput_tok_s"), positive("tpot_ms"), positive("decode_tok_s"));
    match (output, tpot, decode, limit) {
        (Some(output), Some(tpot), _, limit) => {
            let batch = sequences(output, tpot, limit);
            let rate = batch * 1000.0 / tpot;
            // By rate and time, the number of sequences explains the output, unless a limit allows fewer.
            let basis = if (rate / output - 1.0).abs() < 1e-9 { Basis::Output } else { Basis::Decode };
            Some((rate, batch, basis))
        }
        (None, Some(tpot), None, Some(limit)) => Some((limit * 1000.0 / tpot, limit, Basis::Decode)),
        (_, _, Some(decode), Some(limit)) if limit <= 1.0 => Some((decode, 1.0, Basis::Decode)),
        (output, _, decode, Some(limit)) => {
            let best = output.into_iter().chain(decode).fold(f64::NAN, f64::max);
            best.is_finite().then_some((best, limit, Basis::Output))
        }
        _ => None,
    }
}

/// Mean context while decoding: the input, and half of the output.
fn context(run: &Run) -> Option<f64> {
    Some(run.setup.isl? + run.setup.osl? / 2.0)
}

/// Peak of dense arithmetic, operations a second, and its format: that of the weights, else the next wider one.
fn peak(machine: &MachineFacts, weight_bits: f64) -> Option<(f64, &'static str)> {
    let formats = [
        ("FP4", machine.fp4_tflops.filter(|_| weight_bits < 8.0)),
        ("FP8", machine.fp8_tflops.filter(|_| weight_bits < KV_BITS)),
        ("BF16", machine.bf16_tflops),
    ];
    formats.into_iter().find_map(|(format, tera)| Some((tera? * TERA, format)))
}

fn share(rate: f64, memory_bound: f64, compute_bound: Option<f64>) -> f64 {
    100.0 * rate / compute_bound.map_or(memory_bound, |compute| compute.min(memory_bound))
}

/// Devices that a model is split over: `tp2 pp1` is two.
pub(crate) fn parts(parallel: &str) -> f64 {
    let word = |word: &str| {
        let digits = word.strip_prefix("tp").or_else(|| word.strip_prefix("pp"))?;
        digits.parse::<f64>().ok().filter(|n| *n >= 1.0)
    };
    parallel.to_lowercase().split_whitespace().filter_map(word).product::<f64>().max(1.0)
}

/// A row for each cell that measures output.
pub(crate) fn report(case: &Case<'_>, settings: &Settings) -> Vec<PhysicsReport> {
    let grounds = PhysicsFacts::of(case);
    case.cells.iter().filter_map(|cell| row(&grounds, cell, settings)).collect()
}

fn row(grounds: &PhysicsFacts<'_, '_>, cell: &Cell<'_>, settings: &Settings) -> Option<PhysicsReport> {
    let decodes =
        |run: &&Run| ["output_throughput_tok_s", "decode_tok_s", "tpot_ms"].iter().any(|m| run.value(m).is_some());
    let runs: Vec<&Run> = cell.runs.iter().copied().filter(decodes).collect();
    let first = *runs.first()?;
    let reaches: Vec<Result<Reach, Vec<String>>> = runs.iter().map(|run| grounds.reach(run)).collect();
    let known: Vec<Reach> = reaches.iter().filter_map(|r| r.as_ref().ok().copied()).collect();
    let one = known.first();
    let machine = grounds.machine(first);
    let of = |value: fn(&Reach) -> Option<f64>| -> Option<Estimate> {
        estimate::of(&known.iter().filter_map(value).collect::<Vec<f64>>(), settings.confidence)
    };
    Some(PhysicsReport {
        campaign: first.campaign.clone(),
        model: cell.model.to_owned(),
        workload: cell.workload.to_owned(),
        environment: cell.environment.to_owned(),
        machine: machine.map(|(_, m)| m.title.clone()),
        devices: grounds.devices(first),
        quantisation: grounds.precision(first).map(str::to_owned),
        sequences: one.map(|r| r.step.batch),
        context_tokens: one.and_then(|r| r.context),
        weight_bytes_per_step: one.map(|r| r.step.weight_bytes),
        kv_bytes_per_step: one.filter(|r| r.context.is_some()).map(|r| r.step.batch * r.step.kv_bytes),
        tokens_per_step: one.map(|r| r.step.tokens),
        steps_per_second: one.map(|r| r.step.steps_per_second(r.rate)),
        rate_tok_s: of(|r| Some(r.rate)),
        basis: one.map(|r| r.basis.word()),
        bandwidth_gb_s: machine.and_then(|(_, m)| m.bandwidth_gb_s),
        measured_bandwidth_gb_s: grounds.measured_bandwidth.map(|bytes| bytes / GB),
        memory_bound_tok_s: one.map(|r| r.memory_bound),
        compute_bound_tok_s: one.and_then(|r| r.compute_bound),
        roofline_pct: of(|r| Some(r.pct)),
        measured_roofline_pct: of(|r| r.measured_pct),
        kv: runs.iter().find_map(|run| grounds.kv(run)),
        missing: reaches.into_iter().find_map(Result::err).filter(|_| known.is_empty()).unwrap_or_default(),
    })
}
