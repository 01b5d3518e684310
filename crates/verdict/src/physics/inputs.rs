//! Inputs of the physical checks of a campaign: memory, bytes a step, bandwidth.
//!
//! In:  the facts, the campaign's labels, what the engines print.  Out: figures with the words that say where they come from.
//! Not here: judgement.

use crate::case::{Case, Cell};
use crate::number::{count, significant};
use sparkbench_model::{ExtraValue, ModelFacts, Run};

/// Bytes of a GiB.
pub(crate) const GIB: f64 = 1_073_741_824.0;
/// Bytes of a GB.
pub(crate) const GB: f64 = 1e9;

/// Bits of a weight by precision, with the scales of the block formats. NVFP4 adds an 8-bit scale for 16 weights, and MXFP4 one for 32. Q8_0
/// and Q4_0 add one of 16 bits for 32. Where group sizes vary the scales are left out, so the bits are a lower bound.
const BITS: &[(&str, f64)] = &[
    ("nvfp4", 4.5),
    ("mxfp4", 4.25),
    ("bf16", 16.0),
    ("bfloat16", 16.0),
    ("fp16", 16.0),
    ("float16", 16.0),
    ("f16", 16.0),
    ("half", 16.0),
    ("fp32", 32.0),
    ("float32", 32.0),
    ("f32", 32.0),
    ("fp8", 8.0),
    ("int8", 8.0),
    ("w8a8", 8.0),
    ("w8a16", 8.0),
    ("q8_0", 8.5),
    ("q4_0", 4.5),
    ("int4", 4.0),
    ("w4a16", 4.0),
];

/// A figure and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Known {
    /// The figure.
    pub value: f64,
    /// Source, to follow it in brackets.
    pub source: String,
}

impl Known {
    fn new(value: f64, source: impl Into<String>) -> Self {
        Self { value, source: source.into() }
    }
}

/// Bits of one weight. `None` for a precision that is not in the table.
pub(crate) fn bits(precision: &str) -> Option<f64> {
    let precision = precision.to_lowercase();
    BITS.iter().find(|(name, _)| precision.contains(name)).map(|(_, bits)| *bits)
}

/// Stated precision of a label's runs.
pub(crate) fn precision<'a>(case: &'a Case<'_>, model: &'a str) -> Option<&'a str> {
    let label = case.campaign.models.get(model).and_then(|m| m.quantisation.as_deref());
    label.or_else(|| runs(case, model).find_map(|run| run.setup.quantisation.as_deref()))
}

fn runs<'c>(case: &'c Case<'_>, model: &'c str) -> impl Iterator<Item = &'c Run> {
    case.runs.iter().copied().filter(move |run| run.model == model)
}

/// Facts of a model, unless the runs use another precision than the facts. Then the bytes differ.
pub(crate) fn facts<'a>(case: &Case<'a>, model: &str) -> Option<&'a ModelFacts> {
    let packed = || runs(case, model).any(is_packed);
    case.model(model).filter(|known| speaks_of(known, precision(case, model)) && !(is_mixed(known) && packed()))
}

/// Whether the facts are of a checkpoint with experts at few bits and everything else at more: other builds keep the rest narrower.
pub(crate) fn is_mixed(known: &ModelFacts) -> bool {
    known.quantisation.as_deref().and_then(bits).is_some_and(|bits| known.is_mixed(bits))
}

/// Whether a run used a packed file of llama.cpp or of what is built on it, which keeps layers at bits of its own.
pub(crate) fn is_packed(run: &Run) -> bool {
    let named = |text: &Option<String>, signs: &[&str]| {
        text.as_deref().map(str::to_lowercase).is_some_and(|text| signs.iter().any(|sign| text.contains(sign)))
    };
    named(&run.setup.engine, &["llama.cpp", "llama-", "llamacpp", "ollama"])
        || named(&run.setup.tool, &["llama-bench", "llama-server", "llamacpp"])
        || named(&run.setup.quantisation, &["gguf"])
}

/// The least that a step can read of a mixed model: every layer at the bits of its experts. Some builds of engines do keep it so.
pub(crate) fn least_step_bytes(case: &Case<'_>, model: &str, batch: f64) -> Option<f64> {
    let known = case.model(model).filter(|known| is_mixed(known))?;
    let name = known.quantisation.as_deref()?;
    let bits = bits(name)?;
    known.with_rest_at(name, bits, bits)?.bytes_per_step(batch)
}

/// Whether the bytes of the facts are those of a precision. One that is not in the table agrees with its own name only.
pub(crate) fn speaks_of(known: &ModelFacts, used: Option<&str>) -> bool {
    match (used, known.quantisation.as_deref()) {
        (Some(used), Some(own)) => match (bits(used), bits(own)) {
            (Some(used), Some(own)) => used == own,
            _ => used.eq_ignore_ascii_case(own),
        },
        _ => true,
    }
}

/// Bytes of the weights of the model that a label names: from the facts, else parameters times bits.
pub(crate) fn claimed_weights(case: &Case<'_>, model: &str) -> Option<Known> {
    if let Some(bytes) = facts(case, model).and_then(|known| known.weight_bytes) {
        return Some(Known::new(bytes, "model facts"));
    }
    let parameters = runs(case, model)
        .find_map(|run| run.setup.parameters)
        .or_else(|| case.model(model).and_then(|known| known.parameters))?;
    let bits = precision(case, model).and_then(bits)?;
    Some(Known::new(
        parameters * bits / 8.0,
        format!("{} parameters of {} bits", significant(parameters, 5), significant(bits, 3)),
    ))
}

/// Bytes of the weights that ran: what the engine printed, else what the label claims.
pub(crate) fn loaded_weights(case: &Case<'_>, model: &str) -> Option<Known> {
    let printed =
        runs(case, model).find_map(|run| run.setup.model_memory_gib.or_else(|| run.value("model_memory_gib")));
    printed.map(|gib| Known::new(gib * GIB, "printed by the engine")).or_else(|| claimed_weights(case, model))
}

/// Missing facts where [`claimed_weights`] is absent.
pub(crate) fn missing_weights(case: &Case<'_>, model: &str) -> String {
    match case.model_id(model) {
        Some(id) => format!("no facts about the model id '{id}', and no parameter count with a known precision"),
        None => "no model id, and no parameter count with a known precision".to_owned(),
    }
}

/// Names that the files use for the machine.
pub(crate) fn machine_names<'c>(case: &'c Case<'_>) -> impl Iterator<Item = &'c str> {
    case.campaign.machine.as_deref().into_iter().chain(case.runs.iter().filter_map(|run| run.setup.machine.as_deref()))
}

/// Number of devices in the machine's name: `8x H100`, `H100 x8`, `8xH100`. One where the name has no number.
pub(crate) fn devices(case: &Case<'_>) -> f64 {
    machine_names(case).filter_map(multiplier).fold(1.0, f64::max)
}

/// The number of devices in a machine's name.
pub(crate) fn multiplier(name: &str) -> Option<f64> {
    name.split(|c: char| c.is_whitespace() || "_-,()".contains(c)).find_map(|word| {
        let word = word.to_lowercase().replace('×', "x");
        let (front, back) = word.split_once('x')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match (digits(front), digits(back)) {
            (true, _) => front.parse().ok(),
            (false, true) if front.is_empty() => back.parse().ok(),
            _ => None,
        }
    })
}

/// Memory that the model can use, bytes: as the engine saw it, else from the facts.
pub(crate) fn memory(case: &Case<'_>) -> Option<Known> {
    let seen = case.runs.iter().filter_map(|run| run.setup.device_memory_gib).fold(f64::NAN, f64::max);
    if seen.is_finite() {
        return Some(Known::new(devices(case) * seen * GIB, "device memory printed by the runs"));
    }
    let known = case.machine()?;
    Some(Known::new(devices(case) * known.memory_gib? * GIB, known.title.clone()))
}

/// Peak memory bandwidth, bytes a second.
pub(crate) fn bandwidth(case: &Case<'_>) -> Option<Known> {
    let known = case.machine()?;
    Some(Known::new(devices(case) * known.bandwidth_gb_s? * GB, known.title.clone()))
}

/// Missing facts where a figure of the machine is absent.
pub(crate) fn missing_machine(case: &Case<'_>, figure: &str) -> String {
    match (case.machine(), machine_names(case).next()) {
        (Some(known), _) => format!("no {figure} in the facts about {}", known.title),
        (None, Some(name)) => format!("no facts about the machine '{name}'"),
        (None, None) => "no name of the machine".to_owned(),
    }
}

/// Bytes that one decode step of a batch must read.
pub(crate) fn step_bytes(case: &Case<'_>, model: &str, batch: f64) -> Option<f64> {
    match facts(case, model) {
        Some(known) => known.bytes_per_step(batch),
        // A mixture of experts reads less than its weights, so parameters alone are no lower bound for an unknown model. Of a known one
        // everything is taken at the bits of its matrices: the least that a step can read.
        None => {
            if let Some(least) = least_step_bytes(case, model, batch) {
                return Some(least);
            }
            let (known, used) = (case.model(model)?, precision(case, model)?);
            let bits = bits(used)?;
            known.at_precision(used, bits, bits)?.bytes_per_step(batch)
        }
    }
}

/// The fastest rate at which a run claims to have made output tokens, tok/s, and the metric that says so. Output throughput includes the
/// prefill and is therefore never above the decode rate: a limit that it breaks is broken.
pub(crate) fn decode_rate(run: &Run) -> Option<(&'static str, f64)> {
    ["decode_tok_s", "output_throughput_tok_s"]
        .into_iter()
        .filter_map(|metric| Some((metric, run.value(metric)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Tokens that come out of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Accepted {
    /// One: nothing is speculated.
    One,
    /// The mean that the run reports.
    Mean(f64),
    /// Tokens are speculated, and how many are accepted is not said.
    Unknown,
}

impl Accepted {
    /// The mean, where it is known.
    pub(crate) const fn tokens(self) -> Option<f64> {
        match self {
            Self::One => Some(1.0),
            Self::Mean(tokens) => Some(tokens),
            Self::Unknown => None,
        }
    }
}

/// Name of missing mean lengths.
pub(crate) const MISSING_ACCEPTED: &str = "the mean accepted length of its speculative decoding";

/// Mean tokens of a step, bonus token included, as engines count them (`Mean acceptance length`, `accept len`, `[AL] AVERAGE`).
pub(crate) fn accepted(run: &Run) -> Accepted {
    let said = run.setup.speculative.as_deref().map(str::to_lowercase);
    if said.as_deref().is_some_and(|said| ["off", "none", "false", "no", ""].contains(&said.trim())) {
        return Accepted::One;
    }
    let mean = run.extras.iter().find_map(|extra| match extra.value {
        ExtraValue::Number(value) if value >= 1.0 && value.is_finite() && is_accepted_length(&extra.name) => {
            Some(value)
        }
        _ => None,
    });
    match (mean, said) {
        (Some(mean), _) => Accepted::Mean(mean),
        (None, Some(_)) => Accepted::Unknown,
        (None, None) => Accepted::One,
    }
}

/// `acceptance_length`, `Mean acceptance length`, `spec_decode_acceptance_length`, `accept len`. No percentile, spread or rate of it.
fn is_accepted_length(name: &str) -> bool {
    let words: Vec<String> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect();
    let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let statistic = |word: &String| {
        let digits = word.strip_prefix('p').unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    any(&["acceptance", "accept", "accepted"])
        && any(&["length", "len"])
        && !any(&["min", "minimum", "max", "maximum", "std", "stdev", "median", "rate"])
        && !words.iter().any(statistic)
}

/// Share of the roofline that a cell claims at most, with the run. `None` without facts, batch or rate.
pub(crate) fn roofline<'a>(case: &Case<'_>, cell: &Cell<'a>) -> Option<RooflineClaims<'a>> {
    let batch = case.batch(cell.model, cell.workload)?;
    let bytes = step_bytes(case, cell.model, batch)?;
    let limit = batch * bandwidth(case)?.value / bytes;
    let rates: Vec<(&Run, &'static str, f64)> = cell
        .runs
        .iter()
        .filter_map(|run| {
            let (metric, rate) = decode_rate(run)?;
            // Several tokens of one step read the weights once: what counts is steps.
            Some((*run, metric, rate / accepted(run).tokens()?))
        })
        .collect();
    (!rates.is_empty()).then_some(RooflineClaims { batch, bytes, limit, rates })
}

/// The limit from bandwidth and the claims of the runs of one cell.
#[derive(Debug, Clone)]
pub(crate) struct RooflineClaims<'a> {
    /// Sequences served together.
    pub batch: f64,
    /// Bytes a step.
    pub bytes: f64,
    /// Output tokens a second that bandwidth allows.
    pub limit: f64,
    /// Runs with the metric and the rate they claim.
    pub rates: Vec<(&'a Run, &'static str, f64)>,
}

/// Bytes as people say them: GB, and GiB beside it.
pub(crate) fn gigabytes(bytes: f64) -> String {
    format!("{} GB = {} GiB", significant(bytes / GB, 4), significant(bytes / GIB, 4))
}

/// `20 runs` or `7 of 20 runs`.
pub(crate) fn share(hits: usize, of: usize) -> String {
    if hits == of { format!("all {}", count(of, "run")) } else { format!("{hits} of {}", count(of, "run")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_name_says_how_many_devices_it_has() {
        for (name, expected) in [
            ("8x H100", Some(8.0)),
            ("8xH100-SXM", Some(8.0)),
            ("NVIDIA H100 x4", Some(4.0)),
            ("2 × L4", None),
            ("NVIDIA GX10", None),
            ("NVIDIA GB10", None),
            ("max", None),
        ] {
            assert_eq!(multiplier(name), expected, "{name}");
        }
    }

    #[test]
    fn an_accepted_length_is_a_mean_and_no_percentile_or_rate() {
        for name in [
            "Mean acceptance length",
            "acceptance_length",
            "spec_decode_acceptance_length",
            "accept len",
            "mean_accepted_length",
        ] {
            assert!(is_accepted_length(name), "{name}");
        }
        for name in ["acceptance_length_p90", "acceptance_rate", "max accept length", "length", "Draft acceptance rate"]
        {
            assert!(!is_accepted_length(name), "{name}");
        }
    }

    #[test]
    fn facts_of_one_precision_say_nothing_about_an_unknown_one() {
        let known = ModelFacts { quantisation: Some("bf16".into()), ..ModelFacts::default() };
        assert!(speaks_of(&known, None) && speaks_of(&known, Some("float16")));
        assert!(!speaks_of(&known, Some("Q4_K_M")) && !speaks_of(&known, Some("fp8")));
    }

    #[test]
    fn block_formats_count_their_scales() {
        assert_eq!(bits("NVFP4"), Some(4.5));
        assert_eq!(bits("torch.bfloat16"), Some(16.0));
        assert_eq!(bits("Q4_K_M"), None);
    }
}
