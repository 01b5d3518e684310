//! A healthy device decodes at more than a certain share of what its memory allows.
//!
//! In:  shares of the roofline, run by run.  Out: one finding a model and workload.
//! Not here: shares above 100 % (see `decode_above_roofline`), how a share comes about (see `verdict::physics`).

use super::finding::{or_missing, place, read};
use super::{Finding, Trap};
use crate::model::Run;
use crate::verdict::case::Case;
use crate::verdict::number::{count, list, significant};
use crate::verdict::physics::{Basis, Grounds, Reach};
use crate::verdict::report::{Severity, Subject};

/// Least share of the roofline, per cent, that a healthy device reaches: published figures of one GB10 lie between 56 and 87 for every
/// model, engine and precision; eager mode, kernels that fall back and stuck clocks lie below 40.
pub const LEAST_HEALTHY_PCT: f64 = 40.0;
/// Most sequences for which that is known. With more of them scheduling, attention and arithmetic take a growing part of each step.
pub const MOST_SEQUENCES: f64 = 8.0;

/// Decode below the healthy band.
pub struct DecodeBelowBand;

impl Trap for DecodeBelowBand {
    fn id(&self) -> &'static str {
        "decode-below-healthy"
    }
    fn title(&self) -> &'static str {
        "Decode is slower than a healthy device"
    }
    fn severity(&self) -> Severity {
        Severity::Note
    }
    fn about(&self) -> String {
        format!(
            "Decoding few sequences is bound by memory, so its share of the roofline says whether machine and software are well. Published figures \
             of healthy devices reach 56 to 87 %. The check notes runs below {LEAST_HEALTHY_PCT} % with at most {MOST_SEQUENCES} sequences at a time, \
             counted by time per token or decode rate; output throughput holds the prefill as well and can only clear a run, unless outputs are \
             longer than inputs. Usual causes are eager mode, kernels that fall back for want of an instruction, clocks that are stuck without \
             a throttle flag, several runs on one device, or a small model whose launches take longer than its reads. To avoid it, archive a \
             `gpu-probe` beside the runs and the backend lines of the engine's log."
        )
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let grounds = Grounds::of(case);
        let findings =
            case.questions().into_iter().map(|(model, workload)| look(case, &grounds, model, workload)).collect();
        or_missing(findings, case, "the campaign has no runs")
    }
}

/// What one run says about health.
enum Said {
    Well(f64),
    Slow(f64),
    /// More sequences at a time than [`MOST_SEQUENCES`].
    Many(f64),
    Open(String),
}

fn listen(run: &Run, reach: &Reach) -> Said {
    let longer_out = run.setup.isl.zip(run.setup.osl).is_some_and(|(isl, osl)| isl <= osl);
    if reach.step.batch > MOST_SEQUENCES {
        return Said::Many(reach.step.batch);
    }
    if reach.pct >= LEAST_HEALTHY_PCT {
        Said::Well(reach.pct)
    } else if reach.basis == Basis::Decode || longer_out {
        Said::Slow(reach.pct)
    } else {
        Said::Open("time per token: output throughput holds the prefill too".to_owned())
    }
}

/// What is missing for runs of many sequences: one lack, however the averages of the runs differ.
fn crowded(batches: &[f64]) -> Option<String> {
    let (least, most) = batches.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), b| (l.min(*b), h.max(*b)));
    let [least, most] = [least, most].map(|batch| significant(batch, 2));
    let ran = if least == most { least } else { format!("{least} to {most}") };
    (!batches.is_empty())
        .then(|| format!("the healthy share for more than {MOST_SEQUENCES} sequences at a time (about {ran} ran)"))
}

fn look(case: &Case<'_>, grounds: &Grounds<'_, '_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let (mut well, mut slow, mut many, mut missing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in case.arms(model, workload).into_iter().flat_map(|cell| cell.runs.iter().copied()) {
        match grounds.reach(run) {
            Ok(reach) => match listen(run, &reach) {
                Said::Well(pct) => well.push(pct),
                Said::Slow(pct) => slow.push((run, pct)),
                Said::Many(batch) => many.push(batch),
                Said::Open(what) => missing.push(what),
            },
            Err(what) => missing.extend(what),
        }
    }
    let judged = well.len() + slow.len();
    if judged == 0 {
        missing.extend(crowded(&many));
        missing.sort_unstable();
        missing.dedup();
        return Finding::not_evaluated(subject, format!("{place}: missing {}", list(&missing)));
    }
    if slow.is_empty() {
        let least = well.iter().copied().fold(f64::INFINITY, f64::min);
        let message =
            format!("{place}: {} reach at least {} % of the roofline", count(judged, "run"), significant(least, 3));
        return Finding::passed(subject, message);
    }
    let least = slow.iter().map(|(_, pct)| *pct).fold(f64::INFINITY, f64::min);
    let message = format!(
        "{place}: {} of {} stay below {LEAST_HEALTHY_PCT} % of what memory allows, the slowest at {} %",
        slow.len(),
        count(judged, "run"),
        significant(least, 3)
    );
    Finding::fired(subject, message)
        .evidence(slow.into_iter().map(|(run, pct)| {
            let metric = ["tpot_ms", "decode_tok_s", "output_throughput_tok_s"]
                .into_iter()
                .find(|metric| run.reading(metric).is_some())
                .unwrap_or("output_throughput_tok_s");
            read(run, metric, format!("{} % of the roofline", significant(pct, 3)))
        }))
        .remedy("run 'sparkbench gpu-probe' on the idle machine: a probe far below its nominal figures is a sick device, a healthy one points at eager mode, a fallback kernel or the size of the model")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lack_is_named_once_however_the_averages_differ() {
        assert_eq!(crowded(&[]), None);
        for (batches, ran) in [(&[14.41, 14.44, 14.42][..], "about 14 ran"), (&[16.0, 64.0][..], "about 16 to 64 ran")]
        {
            let text = crowded(batches).unwrap();
            assert_eq!(text, format!("the healthy share for more than 8 sequences at a time ({ran})"));
        }
    }
}
