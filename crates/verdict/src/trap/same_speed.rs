//! Models that read very different numbers of bytes per step do not run at the same speed (P3).
//!
//! In:  output throughput of two models in one environment, bytes per step of each.  Out: one finding for each model, workload and environment.
//! Not here: which model ran (see `model_mismatch`).

use super::declaration::{Theme, Trap};
use super::decode_above_roofline;
use super::finding::{ALPHA, Finding, cell_place, each_cell, named};
use crate::case::{Case, Cell};
use crate::number::{list, significant};
use crate::physics::inputs::{GB, roofline, step_bytes};
use crate::report::{Evidence, Severity, Subject};
use sparkbench_stats as stats;

/// Bytes per step that differ by more than this cannot give one speed while decoding waits for memory.
pub(super) const BYTES_RATIO: f64 = 2.0;
/// Speeds within this per cent, by two one-sided tests, count as the same.
pub(super) const SAME_PCT: f64 = 5.0;
/// The memory reading beside it.
const FOOTPRINT: &str = "peak_memory_gib";
/// The rate that is compared.
const METRIC: &str = "output_throughput_tok_s";

pub(super) struct SameSpeedUnlikeModels;

impl Trap for SameSpeedUnlikeModels {
    fn id(&self) -> &'static str {
        "same-speed-unlike-models"
    }
    fn code(&self) -> Option<&'static str> {
        Some("P3")
    }
    fn title(&self) -> &'static str {
        "Unlike models run at one speed"
    }
    fn severity(&self) -> Severity {
        Severity::Error
    }
    fn theme(&self) -> Theme {
        Theme::Labels
    }
    fn about(&self) -> String {
        format!(
            "Two models of very different size ran at one speed.\n\n\
             When decoding waits for memory, a model that reads twice the bytes per step runs at about half the speed. Two such \
             models at equal speed were very likely one model under two labels. Otherwise something else than the model limits them \
             both.\n\n\
             The check takes two models of one environment and workload whose bytes per step differ by more than {BYTES_RATIO} \
             times. It fires when their output throughputs are shown equal within {SAME_PCT} % (two one-sided Welch tests, p < \
             {ALPHA}). Each model of such a pair gets a finding. Where the roofline excludes the speed of only one of the two, that \
             one is the culprit. The other's finding is then a warning.\n\n\
             Archive what the engine says it loaded. Compare the speeds side by side before publishing."
        )
    }
    fn undermines(&self) -> &'static str {
        "any comparison of these models with each other"
    }
    fn check(&self, case: &Case<'_>) -> Vec<Finding> {
        each_cell(case, look)
    }
}

/// One other model in the same environment and workload.
struct Peer<'a> {
    cell: &'a Cell<'a>,
    bytes: f64,
    same: bool,
}

fn look(case: &Case<'_>, cell: &Cell<'_>) -> Finding {
    let subject = Subject::cell(case, cell).with_metric(METRIC);
    let others: Vec<&Cell<'_>> = case
        .cells
        .iter()
        .filter(|c| c.environment == cell.environment && c.workload == cell.workload && c.model != cell.model)
        .collect();
    if others.is_empty() {
        return Finding::not_evaluated(
            subject,
            format!("no second model in {} to hold {} against", cell.environment, cell.model),
        );
    }
    let Some(own) = bytes(case, cell) else {
        return Finding::not_evaluated(
            subject,
            format!("no batch, or no bytes per step in the facts, for {}", cell.model),
        );
    };
    let peers: Vec<Peer<'_>> = others.into_iter().filter_map(|other| peer(case, cell, other)).collect();
    if peers.is_empty() {
        return Finding::not_evaluated(
            subject,
            format!(
                "no other model in {} has bytes per step in the facts and two values of {METRIC}",
                cell.environment
            ),
        );
    }
    let unlike = |p: &Peer<'_>| p.bytes / own > BYTES_RATIO || own / p.bytes > BYTES_RATIO;
    let evidence: Vec<Evidence> = peers.iter().map(|p| Evidence::text(describe(cell, own, p))).collect();
    let hits: Vec<&Peer<'_>> = peers.iter().filter(|p| unlike(p) && p.same).collect();
    if hits.is_empty() {
        let names: Vec<&str> = peers.iter().map(|p| p.cell.model).collect();
        let message = format!(
            "{} of {} is not that of a model of unlike size ({})",
            named(METRIC),
            cell_place(case, cell),
            list(&names)
        );
        return Finding::passed(subject, message).evidence(evidence);
    }
    let pairs: Vec<String> =
        hits.iter().map(|p| format!("{} ({} GB)", p.cell.model, significant(p.bytes / GB, 3))).collect();
    // Of the smaller mean, whichever of the two comes first, so that a pair has one distance.
    let apart = |a: f64, b: f64| (a.max(b) / a.min(b) - 1.0) * 100.0;
    let widest = hits.iter().map(|p| apart(mean(p.cell), mean(cell))).fold(0.0, f64::max);
    // Physics can name the culprit: the roofline excludes the speed of one of the two and allows that of the other.
    let excluded = |c: &Cell<'_>| above(case, c);
    let acquitted = excluded(cell) == Some(false) && hits.iter().all(|p| excluded(p.cell) == Some(true));
    let culprit = match (acquitted, excluded(cell)) {
        (true, _) => format!(
            ". Bandwidth allows that speed for {} and excludes it for {}",
            cell.model,
            list(&hits.iter().map(|p| p.cell.model).collect::<Vec<_>>())
        ),
        (false, Some(true)) => format!(". Bandwidth excludes that speed for {}", cell.model),
        _ => String::new(),
    };
    let message = format!(
        "{} of {} ({} GB a step) is that of {}: means within {} %, equal within {SAME_PCT} %{culprit}",
        named(METRIC),
        cell_place(case, cell),
        significant(own / GB, 3),
        list(&pairs),
        significant(widest, 1)
    );
    let message = message + &footprint(cell, &hits);
    let finding = Finding::fired(subject, message)
        .evidence(evidence)
        .remedy("find out from the engine's log which model ran. If it was one model, read these cells as repeats of one workload");
    if acquitted { finding.severity(Severity::Warning) } else { finding }
}

/// The memory reading of the models at one speed, where it is alike too: unlike weights should leave unlike footprints.
fn footprint(cell: &Cell<'_>, hits: &[&Peer<'_>]) -> String {
    let mut means: Vec<f64> = std::iter::once(cell)
        .chain(hits.iter().map(|p| p.cell))
        .map(|c| c.numbers(FOOTPRINT))
        .filter(|values| !values.is_empty())
        .map(|values| stats::mean(&values))
        .collect();
    means.sort_by(f64::total_cmp);
    match (means.first(), means.last()) {
        (Some(least), Some(most)) if means.len() == hits.len() + 1 && most / least - 1.0 < SAME_PCT / 100.0 => {
            format!(". They have one footprint too, {} to {} GiB in use", significant(*least, 4), significant(*most, 4))
        }
        _ => String::new(),
    }
}

fn bytes(case: &Case<'_>, cell: &Cell<'_>) -> Option<f64> {
    step_bytes(case, cell.model, case.batch(cell.model, cell.workload)?)
}

fn peer<'a>(case: &Case<'_>, cell: &Cell<'_>, other: &'a Cell<'a>) -> Option<Peer<'a>> {
    // The margin is taken of the first arm's mean. Always the same one, so that a pair has one answer.
    let (a, b) = if cell.model < other.model { (cell, other) } else { (other, cell) };
    let test = stats::tost::tost(&a.numbers(METRIC), &b.numbers(METRIC), SAME_PCT, 1.0 - ALPHA)?;
    Some(Peer { cell: other, bytes: bytes(case, other)?, same: test.p < ALPHA })
}

fn mean(cell: &Cell<'_>) -> f64 {
    stats::mean(&cell.numbers(METRIC))
}

/// Whether bandwidth excludes the speed of most runs of a cell. `None` where it cannot be told.
fn above(case: &Case<'_>, cell: &Cell<'_>) -> Option<bool> {
    let line = roofline(case, cell)?;
    let over = line.rates.iter().filter(|(_, _, rate)| *rate > decode_above_roofline::TOLERANCE * line.limit).count();
    Some(2 * over > line.rates.len())
}

fn describe(cell: &Cell<'_>, own: f64, peer: &Peer<'_>) -> String {
    format!(
        "{} {} GB a step, {} tok/s, and {} {} GB a step, {} tok/s: {}",
        cell.model,
        significant(own / GB, 3),
        significant(mean(cell), 5),
        peer.cell.model,
        significant(peer.bytes / GB, 3),
        significant(mean(peer.cell), 5),
        if peer.same { format!("equal within {SAME_PCT} %") } else { format!("not shown equal within {SAME_PCT} %") }
    )
}
