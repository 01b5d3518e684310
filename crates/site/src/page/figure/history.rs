//! One metric of a cell over several campaigns.
//!
//! In:  the history of a cell.  Out: a drawing.
//! Not here: what moved between campaigns (see `verdict::history`).

use super::{FigureView, ends};
use crate::chart::Series;
use crate::chart::VerdictMark;
use crate::chart::forest::{self, Forest, Panel};
use crate::chart::series::{Event, SeriesLine, Track};
use crate::chart::spread::{self, Facet, Spread};
use crate::chart::thin::{extremes, stretch};
use sparkbench_model::within;
use sparkbench_verdict::report::{HistoryFigure, HistoryPoint, HistoryReport, Interval, ReplicationReport};

/// Means in one drawing.
const MOST_POINTS: usize = 1_200;

/// Campaigns side by side in one drawing. Of more the newest are drawn and the table beside it has all.
const MOST_CAMPAIGNS: usize = 6;

/// One question: a row for each campaign, then the pooled answer, then where one more campaign would lie.
pub(crate) fn replication(id: &str, one: &ReplicationReport, heading: &str) -> Option<FigureView> {
    let row = |label: &str, estimate: f64, interval: Interval| forest::Comparison {
        label: label.to_owned(),
        estimate: Some(estimate),
        interval: Some(ends(interval)),
        margin: Some(one.margin_pct).filter(|margin| margin.is_finite()),
        kind: VerdictMark::Inconclusive,
        ..forest::Comparison::default()
    };
    let mut rows: Vec<forest::Comparison> = one
        .campaigns
        .iter()
        .map(|campaign| forest::Comparison {
            group: campaign.machine.clone(),
            href: Some(format!("../c/{}/index.html", campaign.campaign)),
            ..row(&campaign.campaign, campaign.change_pct, campaign.interval)
        })
        .collect();
    rows.push(forest::Comparison {
        kind: VerdictMark::from_word(one.kind.word()).unwrap_or_default(),
        verdict: one.kind.word().to_owned(),
        ..row("all of them", one.change_pct, one.interval)
    });
    rows.extend(one.prediction.map(|prediction| row("one more campaign", one.change_pct, prediction)));
    let chart = Forest {
        title: heading.to_owned(),
        finding: Some(one.spread.clone()),
        axis: format!("change against {}, %", one.baseline),
        unit: "%".into(),
        panels: vec![Panel { heading: one.label.clone(), rows }],
    };
    Some(FigureView::new(id, chart.draw(id)))
}

/// One metric of a cell over many campaigns: a mean each, the level of every period, and a line where it changed. Of every period of campaigns
/// the least and the greatest are drawn, so that thousands of them have room.
fn over_time(id: &str, history: &HistoryReport, metric: &str, finding: &str) -> Option<FigureView> {
    let figure = |point: &HistoryPoint| point.figures.iter().find(|f| f.metric == metric)?.mean;
    let first = history.points.iter().flat_map(|p| &p.figures).find(|f| f.metric == metric)?;
    let means: Vec<(f64, f64)> =
        history.points.iter().enumerate().filter_map(|(at, point)| Some((at as f64 + 1.0, figure(point)?))).collect();
    let drawn = extremes(&means, stretch(means.len(), MOST_POINTS));
    let series = history.series.iter().find(|series| series.metric == metric);
    let levels = series.map_or(&[][..], |series| series.stretches.as_slice());
    let level: Vec<(f64, Option<f64>)> = levels
        .iter()
        .flat_map(|stretch| {
            let (from, to) = (stretch.from as f64 + 1.0, stretch.to as f64 + 1.0);
            // A gap between two periods: the level jumps, it does not slope.
            [(from, Some(stretch.mean)), (to, Some(stretch.mean)), (to + 0.5, None)]
        })
        .collect();
    let changes = series.map_or(&[][..], |series| series.change_points.as_slice());
    let chart = Series {
        title: format!("{} of {} over {} campaigns", first.label, history.model, history.points.len()),
        finding: Some(finding.to_owned()),
        x_axis: "campaign, counted from the oldest".to_owned(),
        window: None,
        events: changes
            .iter()
            .map(|change| Event { at: change.index as f64 + 1.0, label: "a change".to_owned() })
            .collect(),
        held: Vec::new(),
        tracks: vec![Track {
            label: first.label.clone(),
            unit: first.unit.to_owned(),
            lines: vec![
                SeriesLine {
                    label: "mean of each campaign".to_owned(),
                    points: drawn.into_iter().map(|(at, mean)| (at, Some(mean))).collect(),
                },
                SeriesLine { label: "level".to_owned(), points: level },
            ],
        }],
    };
    Some(FigureView::new(id, chart.draw(id)))
}

/// One metric of a cell over several campaigns in order of time: every run, with mean and interval. Of many campaigns their means and levels.
pub(crate) fn history(id: &str, history: &HistoryReport, metric: &str, finding: &str) -> Option<FigureView> {
    if history.points.len() > MOST_CAMPAIGNS && !history.series.is_empty() {
        return over_time(id, history, metric, finding);
    }
    let from = history.points.len().saturating_sub(MOST_CAMPAIGNS);
    let drawn = history.points.get(from..)?.iter().filter_map(|point| {
        let figure = point.figures.iter().find(|f| f.metric == metric && !f.values.is_empty())?;
        Some((point, figure))
    });
    let drawn: Vec<_> = drawn.collect();
    let (_, first) = drawn.first()?;
    let arm = |(point, figure): &(&HistoryPoint, &HistoryFigure)| spread::SpreadArm {
        label: point.campaign.clone(),
        values: figure.values.clone(),
        mean: figure.mean,
        interval: figure.interval.map(ends),
        quartiles: None,
        href: Some(format!("../c/{}/index.html", point.campaign)),
    };
    let subject: Vec<&str> = [&history.model, &history.workload, &history.environment]
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(String::as_str)
        .collect();
    let chart = Spread {
        title: format!("{} of {} by campaign, the oldest first", first.label, subject.join(", ")),
        finding: Some(finding.to_owned()),
        axis: within(&first.label),
        unit: first.unit.to_owned(),
        facets: vec![Facet { heading: String::new(), arms: drawn.iter().map(arm).collect() }],
    };
    let mut view = FigureView::new(id, chart.draw(id));
    if from > 0 {
        view.note = Some(format!("Drawn: the newest {MOST_CAMPAIGNS} of {} campaigns.", history.points.len()));
    }
    Some(view)
}
