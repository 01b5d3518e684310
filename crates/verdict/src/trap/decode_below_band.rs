//! A healthy device decodes above a certain share of its memory limit.
//!
//! In:  shares of the roofline, run by run.  Out: one finding for each model and workload.
//! Not here: shares above 100 % (see `decode_above_roofline`), how a share is made (see `verdict::physics`).

use super::declaration::{Theme, Trap};
use super::finding::{Finding, each_question, place, read};
use crate::case::Case;
use crate::number::{count, list, significant};
use crate::physics::{Basis, PhysicsFacts, Reach};
use crate::report::{Severity, Subject};
use sparkbench_model::Run;

/// Least share of the roofline that a healthy device reaches, per cent. Published figures of one GB10 lie between 56 and 87 for every model,
/// engine and precision. Eager mode, kernels that fall back and stuck clocks lie below 40.
pub(super) const LEAST_HEALTHY_PCT: f64 = 40.0;
/// Most sequences for which that is known. With more of them scheduling, attention and arithmetic take a growing part of each step.
pub(super) const MOST_SEQUENCES: f64 = 8.0;

/// Decode below the healthy band.
pub(super) struct DecodeBelowBand;

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
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        format!(
            "A run decoded far slower than the memory of its machine allows.\n\n\
             Decoding few sequences is bound by memory. Its share of the roofline therefore tells whether machine and software work \
             as they should. Published figures of healthy devices reach 56 to 87 %. Usual causes of less are eager mode, fallback \
             kernels for a missing instruction, and clocks that are stuck without a throttle flag. Others are several runs on one \
             device, or a small model whose launches take longer than its reads.\n\n\
             The check notes runs below {LEAST_HEALTHY_PCT} % with at most {MOST_SEQUENCES} sequences at a time. It counts by time \
             per token or by decode rate. Output throughput includes the prefill, so it can only clear a run, unless outputs are \
             longer than inputs.\n\n\
             Archive a `gpu-probe` beside the runs, and the backend lines of the engine's log."
        )
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        let grounds = PhysicsFacts::of(case);
        each_question(case, |case, model, workload| look(case, &grounds, model, workload))
    }
}

/// Evidence of one run about health.
enum BandCheck {
    Well(f64),
    Slow(f64),
    /// More sequences at a time than [`MOST_SEQUENCES`].
    Many(f64),
    Open(String),
}

fn listen(run: &Run, reach: &Reach) -> BandCheck {
    let longer_out = run.setup.isl.zip(run.setup.osl).is_some_and(|(isl, osl)| isl <= osl);
    if reach.step.batch > MOST_SEQUENCES {
        return BandCheck::Many(reach.step.batch);
    }
    if reach.pct >= LEAST_HEALTHY_PCT {
        BandCheck::Well(reach.pct)
    } else if reach.basis == Basis::Decode || longer_out {
        BandCheck::Slow(reach.pct)
    } else {
        BandCheck::Open("time per token: output throughput holds the prefill too".to_owned())
    }
}

/// Missing facts for runs of many sequences: one entry, however the averages of the runs differ.
fn crowded(batches: &[f64]) -> Option<String> {
    let (least, most) = batches.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), b| (l.min(*b), h.max(*b)));
    let [least, most] = [least, most].map(|batch| significant(batch, 2));
    let ran = if least == most { least } else { format!("{least} to {most}") };
    (!batches.is_empty())
        .then(|| format!("the healthy share for more than {MOST_SEQUENCES} sequences at a time (about {ran} ran)"))
}

fn look(case: &Case<'_>, grounds: &PhysicsFacts<'_, '_>, model: &str, workload: &str) -> Finding {
    let subject = Subject::question(case, model, workload);
    let place = place(case, model, workload);
    let (mut well, mut slow, mut many, mut missing) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in case.runs_by_arm(model, workload) {
        match grounds.reach(run) {
            Ok(reach) => match listen(run, &reach) {
                BandCheck::Well(pct) => well.push(pct),
                BandCheck::Slow(pct) => slow.push((run, pct)),
                BandCheck::Many(batch) => many.push(batch),
                BandCheck::Open(what) => missing.push(what),
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
        .remedy("run 'sparkbench gpu-probe' on the idle machine. Where the probe is far below the data sheet, the device is faulty. Otherwise look for eager mode, a fallback kernel or a larger model")
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
