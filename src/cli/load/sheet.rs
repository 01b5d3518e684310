//! The page of a load or of several: which figures stand where on it.
//!
//! In:  names and summaries as JSON.  Out: HTML of one file.
//! Not here: how it looks (see `page::loads`), formulas.

use serde_json::Value;

use sparkbench_load::summary::cells::{self, CellPasses};
use sparkbench_load::summary::{export, points};
use sparkbench_site::chart::Sweep;
use sparkbench_site::chart::sweep::{SweepLine, SweepPoint};
use sparkbench_site::page::loads::{self, LoadTable, Loads};
use sparkbench_text::error::Error;

/// The page.
///
/// # Errors
/// When it cannot be drawn.
pub(super) fn html(loads: &[(String, Value)]) -> Result<String, Error> {
    let facts = export::facts(loads);
    let fact = |name: &str| facts.iter().find(|(found, _)| *found == name).map(|(_, value)| value.clone());
    let title = match fact("Model") {
        Some(model) if loads.len() == 1 => format!("Load of {model}"),
        Some(model) => format!("Loads of {model}"),
        None => "Loads".to_owned(),
    };
    let (heads, rows) = points::cells(loads);
    let mut tables = vec![LoadTable { heading: "Loads, latencies in ms".to_owned(), heads, rows }];
    let mut notes = Vec::new();
    if let [(_, only)] = loads {
        let (heads, rows) = export::figures(only);
        tables.push(LoadTable { heading: "Figures of requests".to_owned(), heads, rows });
        notes.extend(only["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    }
    notes.extend(loads.iter().filter_map(points::limit));
    notes.extend(loads.iter().filter_map(points::fault));
    loads::loads(&Loads {
        title,
        tool: fact("Measured with").unwrap_or_default(),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        tables,
        chart: chart(&cells::group(loads)),
        notes,
    })
}

/// Output tokens per second by concurrency, or by rate: of loads that differ in it.
fn chart(cells: &[CellPasses]) -> Option<Sweep> {
    let (pointer, x_axis) = [("/settings/concurrency", "concurrency"), ("/settings/rate_req_s", "requests per second")]
        .into_iter()
        .find(|(pointer, _)| cells.iter().all(|cell| cell.across(pointer).is_some()))?;
    let mut found: Vec<SweepPoint> = cells
        .iter()
        .filter_map(|cell| {
            let rate = cell.across("/output_throughput_tok_s")?;
            Some(SweepPoint {
                x: cell.across(pointer)?.mean,
                y: rate.mean,
                n: cell.passes.len(),
                ..SweepPoint::default()
            })
        })
        .collect();
    found.sort_by(|one, other| one.x.total_cmp(&other.x));
    // Cells that differ in their lengths and share a concurrency are no curve.
    let several = found.len() > 1 && found.windows(2).all(|pair| pair[0].x < pair[1].x);
    several.then(|| Sweep {
        title: format!("Output throughput by {x_axis}"),
        x_axis: x_axis.to_owned(),
        axis: "Output throughput".to_owned(),
        unit: "tok/s".to_owned(),
        lines: vec![SweepLine { label: "output throughput".to_owned(), points: found }],
        ..Sweep::default()
    })
}
