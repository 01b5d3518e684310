//! Decoding cannot be faster than the memory bandwidth allows for reading the weights (P2).
//!
//! In:  output rates, batch, bytes per step, bandwidth.  Out: one finding for each model and workload.
//! Not here: whether a rate below the limit is good.

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place, read};
use crate::case::Case;
use crate::number::{fixed, list, significant};
use crate::physics::inputs::{
    GB, MISSING_ACCEPTED, RooflineClaims, accepted, bandwidth, least_step_bytes, missing_machine, missing_weights,
    roofline, share, step_bytes,
};
use crate::report::{Severity, Subject};

/// A rate may pass the limit by this factor before the check fires: bandwidth is nominal and rates are rounded.
pub(super) const TOLERANCE: f64 = 1.05;

pub(super) struct DecodeAboveRoofline;

impl Trap for DecodeAboveRoofline {
    fn id(&self) -> &'static str {
        "decode-above-roofline"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P2")
    }
    fn title(&self) -> &'static str {
        "Decode is faster than memory allows"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        format!(
            "A run decoded faster than the memory of its machine allows.\n\n\
             Each decode step reads the weights once for the whole batch. A machine that moves `W` bytes a second therefore makes \
             at most `batch x W / bytes per step` tokens a second. Above that the label, the batch or the rate is wrong. The only \
             other cause is that several tokens came out of one step, which must then be stated.\n\n\
             The check fires when a run reports more than {TOLERANCE} times the limit. A dense model reads all its weights. A \
             mixture of E experts with k chosen per token reads the expert share `1 - (1 - k/E)^batch` and everything else. Reads \
             of the KV cache would only lower the limit and are not counted. With speculative decoding the rate is divided by the \
             mean accepted length, so that steps are counted. A model with experts at few bits is read as its first checkpoint \
             stores it. A rate that only a build with every layer at those bits could reach is a warning.\n\n\
             Archive the model id, the precision and the batch limit that the engine prints."
        )
    }
    fn undermines(&self) -> &'static str {
        "the speed reported for this model on this machine"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_question(case, look)
    }
}

fn look(case: &Case<'_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let lines: Vec<RooflineClaims<'_>> =
        case.arms(model, workload).into_iter().filter_map(|cell| roofline(case, cell)).collect();
    let Some(line) = lines.first() else {
        return Finding::not_evaluated(subject, missing(case, model, workload));
    };
    let rates: Vec<_> = lines.iter().flat_map(|l| l.rates.iter().copied()).collect();
    let over: Vec<_> = rates.iter().copied().filter(|(_, _, rate)| *rate > TOLERANCE * line.limit).collect();
    let mean = rates.iter().map(|(_, _, rate)| rate).sum::<f64>() / rates.len() as f64;
    let limit = format!(
        "{} GB a step at {} GB/s allow {} tok/s at batch {}",
        significant(line.bytes / GB, 4),
        significant(bandwidth(case).map_or(f64::NAN, |b| b.value) / GB, 4),
        if line.limit < 100.0 { fixed(line.limit, 1) } else { significant(line.limit, 3) },
        significant(line.batch, 4)
    );
    let place = place(case, model, workload);
    if over.is_empty() {
        let share = significant(100.0 * mean / line.limit, 2);
        return Finding::passed(
            subject,
            format!("{place}: {limit}. {} tok/s are reported on average, {share} % of that", significant(mean, 4)),
        );
    }
    let needed = (mean / line.limit * line.batch).ceil();
    let least = least_step_bytes(case, model, line.batch).map(|bytes| line.limit * line.bytes / bytes);
    let narrow = least.is_some_and(|least| over.iter().all(|(_, _, rate)| *rate <= TOLERANCE * least));
    let reading = if narrow { "; a build that keeps every layer at the bits of the experts could do it" } else { "" };
    let message = format!(
        "{place}: {limit}, yet {} report more, {} tok/s on average, which a batch of at least {} would need{reading}",
        share(over.len(), rates.len()),
        significant(mean, 4),
        significant(needed, 6)
    );
    let severity = if narrow { Severity::Warning } else { Severity::Error };
    Finding::fired(subject, message)
        .severity(severity)
        .evidence(over.into_iter().map(|(run, metric, rate)| read(run, metric, format!("{} tok/s", significant(rate, 6)))))
        .remedy("check in the engine's log which model, precision and batch ran. If tokens were speculated, state the mean accepted length")
}

fn missing(case: &Case<'_>, model: &str, workload: &str) -> String {
    let mut missing = Vec::new();
    let batch = case.batch(model, workload);
    if batch.is_none() {
        missing.push("the batch or concurrency limit".to_owned());
    }
    if step_bytes(case, model, batch.unwrap_or(1.0)).is_none() {
        missing.push(format!("the bytes read per step ({})", missing_weights(case, model)));
    }
    if bandwidth(case).is_none() {
        missing.push(missing_machine(case, "memory bandwidth"));
    }
    if !case
        .arms(model, workload)
        .iter()
        .any(|cell| cell.runs.iter().any(|run| crate::physics::inputs::decode_rate(run).is_some()))
    {
        missing.push("an output rate".to_owned());
    } else if !case
        .arms(model, workload)
        .iter()
        .any(|cell| cell.runs.iter().any(|run| accepted(run).tokens().is_some()))
    {
        missing.push(MISSING_ACCEPTED.to_owned());
    }
    format!("{}: missing {}", place(case, model, workload), list(&missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::builtin;
    use crate::report::TrapStatus;
    use crate::testing::measured;
    use sparkbench_model::{Campaign, Setup};

    #[test]
    fn a_narrower_build_of_a_mixed_model_is_a_warning_and_a_packed_file_has_its_own_limit() {
        let look = |engine: &str, rate: f64| {
            let setup = Setup {
                model_id: Some("openai/gpt-oss-120b".into()),
                machine: Some("NVIDIA GB10".into()),
                engine: Some(engine.into()),
                quantisation: Some("mxfp4".into()),
                batch: Some(1.0),
                ..Setup::default()
            };
            let run = measured("a", setup, &[("decode_tok_s", rate)]);
            let (facts, campaign) = (builtin().unwrap(), Campaign { name: "c".into(), ..Campaign::default() });
            let found = DecodeAboveRoofline.check(&Case::of_runs(&campaign, vec![&run], &facts)).remove(0);
            (found.status, found.severity)
        };
        // Published: 58.8 tok/s of a build with all layers at MXFP4, 59.05 of llama.cpp. The first checkpoint allows 54.6.
        assert_eq!(look("vLLM", 34.0).0, TrapStatus::Passed);
        assert_eq!(look("vLLM", 58.8), (TrapStatus::Fired, Some(Severity::Warning)));
        assert_eq!(look("vLLM", 120.0), (TrapStatus::Fired, Some(Severity::Error)));
        assert_eq!(look("llama.cpp b7486", 59.05).0, TrapStatus::Passed);
    }
}
