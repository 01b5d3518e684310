//! One metric of a cell over several campaigns.
//!
//! In:  the history of a cell.  Out: a drawing.
//! Not here: what moved between campaigns (see `verdict::history`).

use super::{FigureView, ends};
use crate::chart::spread::{self, Facet, Spread};
use crate::model::within;
use crate::verdict::report::{HistoryFigure, HistoryPoint, HistoryReport};

/// Campaigns side by side in one drawing; of more the newest are drawn and the table beside it has all.
const MOST_CAMPAIGNS: usize = 6;

/// One metric of a cell over several campaigns in order of time: every run, with mean and interval.
pub fn history(id: &str, history: &HistoryReport, metric: &str, finding: &str) -> Option<FigureView> {
    let from = history.points.len().saturating_sub(MOST_CAMPAIGNS);
    let drawn = history.points.get(from..)?.iter().filter_map(|point| {
        let figure = point.figures.iter().find(|f| f.metric == metric && !f.values.is_empty())?;
        Some((point, figure))
    });
    let drawn: Vec<_> = drawn.collect();
    let (_, first) = drawn.first()?;
    let arm = |(point, figure): &(&HistoryPoint, &HistoryFigure)| spread::Arm {
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
