//! The course of a comparison over the looks of its campaign.
//!
//! In:  a comparison with its looks.  Out: a drawing.
//! Not here: the decision at a look (see `verdict::sequential`).

use super::{FigureView, ends};
use crate::chart::{Looks, looks};
use crate::page::number::plain;
use sparkbench_model::within;
use sparkbench_verdict::report::Comparison;

/// The looks of one comparison. Nothing for a campaign of a fixed number of repeats, or where no per cent exists.
pub(crate) fn over_looks(id: &str, subject: &str, c: &Comparison) -> Option<FigureView> {
    let report = c.sequential.as_ref()?;
    let shown: Vec<looks::Look> = report
        .looks
        .iter()
        .filter_map(|look| {
            Some(looks::Look {
                blocks: look.n as f64,
                estimate: c.change_of(look.overhead_pct?)?,
                interval: look.repeated_interval_pct.and_then(|i| c.change_within(i)).map(ends),
                decision: look.decision.words().to_owned(),
                decides: look.look == report.look && report.is_decided(),
            })
        })
        .collect();
    if shown.is_empty() {
        return None;
    }
    let place =
        format!("look {} of {}, {} of {} blocks", report.look, report.design.looks.len(), report.n, report.blocks());
    let chart = Looks {
        title: format!("{subject}: {} against {} over looks", c.candidate, c.baseline),
        finding: Some(if report.is_decided() {
            format!("Decided at {place}.")
        } else {
            format!("Undecided at {place}.")
        }),
        axis: format!("change of {}", within(&c.label)),
        unit: "%".to_owned(),
        level: format!("{} %", plain(report.confidence_pct())),
        margin: report.margin_pct,
        most: report.blocks() as f64,
        looks: shown,
    };
    Some(FigureView::new(id, chart.draw(id)))
}
