//! Charts on pages: which values of the analysis go into which chart.
//!
//! In:  comparisons, groups, runs, telemetry.  Out: [`FigureView`], a drawing with caption and table.
//! Not here: drawing (see `chart`), numbers that the analysis does not hold.

use std::collections::BTreeMap;

use super::index::{Site, run_href};
use super::number;
use super::words;
use crate::chart::forest::{Forest, Kind, Panel};
use crate::chart::run_order::{Arm, Drift, Run, RunOrder};
use crate::chart::series::{Line, Track};
use crate::chart::spread::{self, Facet, Spread};
use crate::chart::{Ecdf, Figure, Series, Table, ecdf, forest};
use crate::model::{Direction, Sample};
use crate::verdict::report::{CampaignReport, Comparison, Group, Interval, RunReport};

/// A drawn chart as a template shows it.
#[derive(Debug, Clone)]
pub struct FigureView {
    /// Unique on the page.
    pub id: String,
    /// Both layouts of the drawing; markup of our own making, everything foreign in it escaped.
    pub inline: String,
    /// What is shown.
    pub title: String,
    /// The conclusion, where there is one.
    pub finding: Option<String>,
    /// How to read it.
    pub desc: String,
    /// Every plotted number.
    pub table: Table,
    /// Name of the box around the numbers, unique on the page.
    pub region: String,
    /// Verdicts with their counts, beside the caption of a forest plot.
    pub tally: Vec<(words::Badge, usize)>,
}

impl FigureView {
    fn new(id: &str, figure: Figure) -> Self {
        Self {
            id: id.to_owned(),
            inline: figure.inline(),
            region: figure.title.clone(),
            tally: Vec::new(),
            title: figure.title,
            finding: figure.finding,
            desc: figure.desc,
            table: figure.table,
        }
    }
}

/// Overheads with their intervals and margins; one panel per metric and pair of environments. Metrics without a true
/// zero have no per cent and are left to the tables.
pub fn forest(
    id: &str,
    title: &str,
    campaign: &CampaignReport,
    comparisons: &[(&str, &Comparison)],
    root: &str,
) -> Option<FigureView> {
    let mut panels: Vec<Panel> = Vec::new();
    let several_pairs = campaign.environments.len() > 2;
    for (anchor, c) in comparisons.iter().filter(|(_, c)| has_per_cent(c)) {
        let way = match c.direction {
            Direction::Neutral => "right: more",
            _ => "right: costs more",
        };
        let pair = if several_pairs { format!(", {} against {}", c.candidate, c.baseline) } else { String::new() };
        let heading = format!("{}{pair} ({way})", c.label);
        let label =
            if campaign.workloads.len() > 1 { format!("{} · {}", c.model, c.workload) } else { c.model.clone() };
        let row = forest::Comparison {
            label,
            group: None,
            estimate: c.overhead_pct,
            interval: c.overhead_ci.as_ref().map(|i| (i.low, i.high)),
            inner: c.overhead_ci90.map(ends),
            margin: c.tost.as_ref().map(|t| t.margin_pct),
            verdict: words::verdict(c.verdict.kind).word.to_owned(),
            kind: Kind::from_word(c.verdict.kind.word()).unwrap_or_default(),
            href: Some(format!("{root}c/{}/index.html#{anchor}", campaign.name)),
        };
        match panels.iter_mut().find(|p| p.heading == heading) {
            Some(panel) => panel.rows.push(row),
            None => panels.push(Panel { heading, rows: vec![row] }),
        }
    }
    if panels.is_empty() {
        return None;
    }
    let against = campaign.baseline.as_deref().unwrap_or("the baseline");
    let chart = Forest {
        title: title.to_owned(),
        finding: None,
        axis: format!("overhead against {against}, %"),
        unit: "%".into(),
        panels,
    };
    let mut view = FigureView::new(id, chart.draw(id));
    view.tally = tally(comparisons);
    Some(view)
}

/// Runs of one model and workload in order of time.
pub fn run_order(site: &Site<'_>, id: &str, groups: &[&Group], runs: &[&RunReport], root: &str) -> Option<FigureView> {
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
            // The slope is per run of the arm; on the axis, runs of an interleaved arm stand further apart.
            let step = match (marks.first(), marks.last()) {
                (Some(a), Some(b)) if marks.len() > 1 => (b.x - a.x) / (marks.len() - 1) as f64,
                _ => 1.0,
            };
            // A line through runs that show no trend would suggest one; the table of groups has every slope.
            let shown = step > 0.0 && group.drift.p.is_some_and(|p| p < alpha);
            let drift =
                group.drift.sen_slope.filter(|_| shown).map(|slope| Drift { slope: slope / step, p: group.drift.p });
            Arm { label: group.environment.clone(), runs: marks, drift }
        })
        .collect();
    let mut findings: Vec<String> = Vec::new();
    if let Some(order) = order {
        findings.push(order_sentence(&order.kind, &order.sequence));
    }
    for group in groups {
        if let (Some(drift), Some(p)) = (group.drift.drift_pct, group.drift.p.filter(|p| *p < alpha)) {
            findings.push(format!(
                "{} moves by {} % over its {} runs (Mann-Kendall p {}).",
                group.environment,
                number::signed(drift, number::decimals(drift)),
                group.n,
                p_phrase(p)
            ));
        }
    }
    let chart = RunOrder {
        title: format!("{} of {} in order of start", words::metric(&first.metric), subject(site, first)),
        finding: (!findings.is_empty()).then(|| findings.join(" ")),
        axis: words::metric(&first.metric).to_lowercase(),
        unit: first.unit.to_owned(),
        x_axis: "order of start".into(),
        x_step: "run".into(),
        interleaved,
        arms,
    };
    Some(FigureView::new(id, chart.draw(id)))
}

/// Every run of one metric by environment, one facet per model and workload.
pub fn spread(site: &Site<'_>, id: &str, groups: &[&Group]) -> Option<FigureView> {
    let first = groups.first()?;
    let mut facets: Vec<Facet> = Vec::new();
    for group in groups.iter().filter(|g| !g.values.is_empty()) {
        let heading = subject(site, group);
        let arm = spread::Arm {
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
        title: format!("{}: every run, by environment", words::metric(&first.metric)),
        finding: None,
        axis: words::metric(&first.metric).to_lowercase(),
        unit: first.unit.to_owned(),
        facets,
    };
    Some(FigureView::new(id, chart.draw(id)))
}

/// Requests of one run: their distribution.
pub fn distribution(id: &str, metric: &str, run: &RunReport, values: &[f64]) -> Option<FigureView> {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    if finite.len() < 2 {
        return None;
    }
    let chart = Ecdf {
        title: format!("{} of the requests of this run", words::metric(metric)),
        finding: None,
        axis: words::metric(metric).to_lowercase(),
        unit: words::unit(metric).to_owned(),
        log_x: false,
        curves: vec![ecdf::Curve { label: run.environment.clone(), values: finite }],
    };
    Some(FigureView::new(id, chart.draw(id)))
}

/// Requests of one run in the order they were measured.
pub fn sequence(id: &str, metric: &str, run: &RunReport, values: &[f64]) -> Option<FigureView> {
    if values.iter().filter(|v| v.is_finite()).count() < 2 {
        return None;
    }
    let runs = values
        .iter()
        .enumerate()
        .filter(|(_, value)| value.is_finite())
        .map(|(k, value)| Run { label: format!("request {}", k + 1), x: (k + 1) as f64, y: *value, ..Run::default() })
        .collect();
    let chart = RunOrder {
        title: format!("{} in the order of the requests", words::metric(metric)),
        finding: None,
        axis: words::metric(metric).to_lowercase(),
        unit: words::unit(metric).to_owned(),
        x_axis: "request".into(),
        x_step: "request".into(),
        interleaved: false,
        arms: vec![Arm { label: run.environment.clone(), runs, drift: None }],
    };
    Some(FigureView::new(id, chart.draw(id)))
}

/// Telemetry of one run as small multiples.
pub fn telemetry(id: &str, run: &RunReport, samples: &[Sample]) -> Option<FigureView> {
    type Reading = fn(&Sample) -> Option<f64>;
    let first = samples.first()?;
    let quantities: [(&str, &str, Reading); 5] = [
        ("GPU utilisation", "%", |s| s.gpu_util_pct),
        ("Power", "W", |s| s.power_w),
        ("GPU temperature", "°C", |s| s.gpu_c),
        ("SM clock", "MHz", |s| s.sm_clock_mhz),
        ("GPU memory in use", "MiB", |s| s.memory_used_mib),
    ];
    let samples = thin(samples);
    let tracks: Vec<Track> = quantities
        .into_iter()
        .filter(|(_, _, read)| samples.iter().any(|s| read(s).is_some()))
        .map(|(label, unit, read)| Track {
            label: label.into(),
            unit: unit.into(),
            lines: vec![Line {
                label: String::new(),
                points: samples.iter().map(|s| (s.at.seconds_since(first.at), read(s))).collect(),
            }],
        })
        .collect();
    if tracks.is_empty() {
        return None;
    }
    let window = match (run.started_utc, run.ended_utc) {
        (Some(start), Some(end)) => Some((start.seconds_since(first.at), end.seconds_since(first.at))),
        _ => None,
    };
    let chart = Series {
        title: "GPU telemetry of this run".into(),
        finding: None,
        x_axis: "seconds since the first sample".into(),
        window,
        tracks,
    };
    Some(FigureView::new(id, chart.draw(id)))
}

/// Points that a chart and its table can show; a finer series stands in the archive.
const MOST_SAMPLES: usize = 400;

fn thin(samples: &[Sample]) -> Vec<&Sample> {
    let step = samples.len().div_ceil(MOST_SAMPLES).max(1);
    samples.iter().step_by(step).collect()
}

/// Verdict kinds with their counts, in the order of the contract.
fn tally(comparisons: &[(&str, &Comparison)]) -> Vec<(words::Badge, usize)> {
    let mut counts = BTreeMap::new();
    for (_, comparison) in comparisons {
        *counts.entry(comparison.verdict.kind).or_insert(0_usize) += 1;
    }
    counts.into_iter().map(|(kind, n)| (words::verdict(kind), n)).collect()
}

/// The order of the arms as a sentence.
pub fn order_sentence(kind: &str, sequence: &[String]) -> String {
    let stretches = stretches(sequence);
    match (kind, &stretches[..]) {
        ("blocked", [(first, n), (second, m)]) => {
            format!("All {n} {first} runs came before all {m} {second} runs.")
        }
        ("interleaved", _) => "The environments took turns.".into(),
        ("mixed", _) => format!("The environments took turns only in part: {} stretches.", stretches.len()),
        ("unknown", _) => "The order of the runs is not recorded.".into(),
        (other, _) => format!("Order of the runs: {other}."),
    }
}

/// Maximal stretches of one label, with their lengths.
pub fn stretches(sequence: &[String]) -> Vec<(&str, usize)> {
    let mut out: Vec<(&str, usize)> = Vec::new();
    for label in sequence {
        match out.last_mut() {
            Some((last, n)) if *last == label.as_str() => *n += 1,
            _ => out.push((label, 1)),
        }
    }
    out
}

fn has_per_cent(c: &Comparison) -> bool {
    c.overhead_pct.is_some() || c.derived_from.is_none() && c.primary
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

const fn ends(interval: Interval) -> (f64, f64) {
    (interval.low, interval.high)
}
