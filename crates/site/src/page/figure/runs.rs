//! Runs of a metric: in order of time, and by environment.
//!
//! In:  groups with the values of their runs.  Out: drawings, and the order of the arms in words.
//! Not here: campaign beside campaign (see `history`).

use std::collections::BTreeMap;

use super::{FigureView, MOST_DRAWN, ends};
use crate::chart::run_order::{Drift, Run, RunOrder, RunOrderArm};
use crate::chart::spread::{self, Facet, Spread};
use crate::page::index::Site;
use crate::page::labels;
use crate::page::link::{Link, run_href};
use crate::page::number;
use sparkbench_model::within;
use sparkbench_verdict::report::{Group, RunReport};

/// Runs listed beside their chart. More are listed once, in the list of runs of the page.
const MOST_RUNS: usize = 40;

/// Runs of one model and workload in order of time.
pub(crate) fn run_order(
    site: &Site<'_>,
    id: &str,
    groups: &[&Group],
    runs: &[&RunReport],
    root: &str,
    compact: bool,
) -> Option<FigureView> {
    let first = groups.first()?;
    let position: BTreeMap<&str, usize> = runs.iter().enumerate().map(|(k, run)| (run.id.as_str(), k + 1)).collect();
    let order = site
        .analysis
        .campaigns
        .iter()
        .find(|c| c.name == first.campaign)
        .and_then(|c| c.order.iter().find(|o| o.model == first.model && o.workload == first.workload));
    let alpha = 1.0 - site.analysis.settings.confidence;
    let interleaved = order.is_some_and(|o| o.kind == "interleaved");
    let arms = groups
        .iter()
        .map(|group| {
            let marks: Vec<Run> = group
                .run_ids
                .iter()
                .zip(&group.values)
                .filter_map(|(run_id, value)| {
                    let run = site.run(run_id)?;
                    Some(Run {
                        label: run_id.clone(),
                        x: *position.get(run_id.as_str())? as f64,
                        y: *value,
                        block: run.block,
                        flagged: run.flags.iter().any(|f| f.starts_with("outlier:") && f.ends_with(&group.metric)),
                        href: Some(run_href(root, run_id)),
                    })
                })
                .collect();
            // The slope is per run of the arm. On the axis, runs of an interleaved arm are further apart.
            let step = match (marks.first(), marks.last()) {
                (Some(a), Some(b)) if marks.len() > 1 => (b.x - a.x) / (marks.len() - 1) as f64,
                _ => 1.0,
            };
            // A line through runs that show no trend would suggest one. The table of groups has every slope.
            let shown = step > 0.0 && group.drift.p.is_some_and(|p| p < alpha);
            let drift =
                group.drift.sen_slope.filter(|_| shown).map(|slope| Drift { slope: slope / step, p: group.drift.p });
            RunOrderArm { label: group.environment.clone(), runs: marks, drift }
        })
        .collect();
    let mut findings: Vec<String> = Vec::new();
    if let Some(order) = order {
        findings.push(order_sentence(&order.kind, &order.sequence));
    }
    for group in groups {
        if let (Some(drift), Some(p)) = (group.drift.drift_pct, group.drift.p.filter(|p| *p < alpha)) {
            findings.push(format!(
                "Over its {} runs {} moves by {} % (Mann-Kendall p {}).",
                group.n,
                group.environment,
                number::signed(drift, number::decimals(drift)),
                p_phrase(p)
            ));
        }
    }
    let chart = RunOrder {
        title: format!("{} of {} in order of start", labels::metric(&first.metric), subject(site, first)),
        finding: (!findings.is_empty()).then(|| findings.join(" ")),
        axis: within(&labels::metric(&first.metric)),
        unit: first.unit.to_owned(),
        x_axis: "order of start".into(),
        x_step: "run".into(),
        noun: "run".into(),
        interleaved,
        arms,
    };
    let draw = || {
        let figure = chart.draw(id);
        let listed = figure.table.rows.len();
        let mut view = if compact { FigureView::compact(id, figure) } else { FigureView::new(id, figure) };
        if listed > MOST_RUNS {
            view.table = None;
            view.elsewhere = Some(Link { href: Some("#runs".into()), text: "the list of runs".into() });
        }
        view
    };
    Some(site.figure_kept(|marker| _ = marker.text(id).count(u64::from(compact)).debug(&chart), draw))
}

/// Every run of one metric by environment, one facet per model and workload.
pub(crate) fn spread(site: &Site<'_>, id: &str, groups: &[&Group]) -> Option<FigureView> {
    let first = groups.first()?;
    let mut facets: Vec<Facet> = Vec::new();
    for group in groups.iter().filter(|g| !g.values.is_empty()) {
        let heading = subject(site, group);
        let arm = spread::SpreadArm {
            label: group.environment.clone(),
            values: group.values.clone(),
            mean: group.mean,
            interval: group.t_interval.map(ends),
            quartiles: match (group.p25, group.median, group.p75) {
                (Some(low), Some(middle), Some(high)) => Some((low, middle, high)),
                _ => None,
            },
            href: None,
        };
        match facets.iter_mut().find(|f| f.heading == heading) {
            Some(facet) => facet.arms.push(arm),
            None => facets.push(Facet { heading, arms: vec![arm] }),
        }
    }
    if facets.is_empty() {
        return None;
    }
    let chart = Spread {
        title: format!("{}: every run, by environment", labels::metric(&first.metric)),
        finding: Some(least_and_most(site, groups)),
        axis: within(&labels::metric(&first.metric)),
        unit: first.unit.to_owned(),
        facets,
    };
    // Two drawings of a crowd weigh more than they show.
    let crowd = groups.iter().map(|group| group.values.len()).sum::<usize>() > MOST_DRAWN;
    let draw = || match crowd {
        true => FigureView::compact(id, chart.draw(id)),
        false => FigureView::new(id, chart.draw(id)),
    };
    Some(site.figure_kept(|marker| _ = marker.text(id).count(u64::from(crowd)).debug(&chart), draw))
}

/// How far the runs of the quietest and of the widest group scatter.
fn least_and_most(site: &Site<'_>, groups: &[&Group]) -> String {
    let mut all: Vec<(f64, &Group)> = groups.iter().filter_map(|group| Some((group.cv_pct?, *group))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let whose = |(cv, group): &(f64, &Group)| {
        format!(
            "{}\u{202f}% ({} in {})",
            number::fixed(*cv, number::decimals(*cv)),
            subject(site, group),
            group.environment
        )
    };
    match all.as_slice() {
        [] => "No group has two runs, so nothing is known of their spread.".to_owned(),
        [only] => format!("The runs spread by {} (standard deviation over mean).", whose(only)),
        [least, .., most] if least.0 < most.0 => {
            format!("The runs of a group spread by {} to {} (standard deviation over mean).", whose(least), whose(most))
        }
        [first, ..] => {
            format!(
                "The runs of every group spread by {}\u{202f}% (standard deviation over mean).",
                number::fixed(first.0, number::decimals(first.0))
            )
        }
    }
}

/// The order of the arms as a sentence.
pub(crate) fn order_sentence(kind: &str, sequence: &[String]) -> String {
    let stretches = stretches(sequence);
    match (kind, &stretches[..]) {
        ("blocked", [(first, n), (second, m)]) => {
            format!("All {n} {first} runs came before all {m} {second} runs.")
        }
        ("interleaved", _) => "The environments took turns.".into(),
        ("mixed", _) => {
            let changes = labels::counted(stretches.len().saturating_sub(1), "time", "times");
            format!("The environments did not take turns evenly: they changed {changes} in {} runs.", sequence.len())
        }
        ("unknown", _) => "The order of the runs is not recorded.".into(),
        (other, _) => format!("Order of the runs: {other}."),
    }
}

/// Maximal sequences of one label, with their lengths.
pub(crate) fn stretches(sequence: &[String]) -> Vec<(&str, usize)> {
    let mut out: Vec<(&str, usize)> = Vec::new();
    for label in sequence {
        match out.last_mut() {
            Some((last, n)) if *last == label.as_str() => *n += 1,
            _ => out.push((label, 1)),
        }
    }
    out
}

fn subject(site: &Site<'_>, group: &Group) -> String {
    if site.one_workload(&group.campaign) {
        group.model.clone()
    } else {
        format!("{} · {}", group.model, group.workload)
    }
}

fn p_phrase(p: f64) -> String {
    let text = number::p(p);
    if text.starts_with('<') { text } else { format!("= {text}") }
}
