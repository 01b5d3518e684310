//! Output by input and output length.
//!
//! In:  spots.  Out: [`Grid`]s.
//! Not here: drawing.

use std::collections::{BTreeMap, BTreeSet};

use super::naming::{slug, unique};
use super::placed_cell::PlacedCell;
use super::shape::clusters;
use crate::number::{count, significant};
use crate::report::across::{Grid, Square};

/// Grids with two squares or more: one square is a row of the table.
pub(crate) fn grids(spots: &[PlacedCell<'_, '_>]) -> Vec<Grid> {
    let mut found: BTreeMap<_, Vec<&PlacedCell<'_, '_>>> = BTreeMap::new();
    for spot in spots {
        let p = &spot.place;
        // A length of zero is prompt or output alone, which is another question.
        let whole = p.isl.is_some_and(|isl| isl > 0.0) && p.osl.is_some_and(|osl| osl > 0.0);
        if !whole || p.output_tok_s.is_none() || p.request_rate.is_some() {
            continue;
        }
        let machine = (p.machine.as_deref(), p.devices.to_bits());
        let what = (&p.cell.model, p.quantisation.as_deref(), p.engine.as_deref());
        found.entry((machine, what, (&p.cell.campaign, &p.cell.environment))).or_default().push(spot);
    }
    let mut taken: BTreeMap<Option<&str>, BTreeSet<String>> = BTreeMap::new();
    let mut grids = Vec::new();
    for (((machine, _), (model, quantisation, engine), (campaign, environment)), spots) in found {
        let (isl, rows) = axis(&spots.iter().map(|s| s.place.isl).collect::<Vec<_>>());
        let (osl, columns) = axis(&spots.iter().map(|s| s.place.osl).collect::<Vec<_>>());
        let mut squares: BTreeMap<(usize, usize), Vec<&PlacedCell<'_, '_>>> = BTreeMap::new();
        for (k, spot) in spots.iter().enumerate() {
            if let (Some(row), Some(column)) = (rows[k], columns[k]) {
                squares.entry((row, column)).or_default().push(spot);
            }
        }
        if squares.len() < 2 {
            continue;
        }
        let squares: Vec<Square> = squares
            .into_iter()
            .filter_map(|((row, column), cells)| {
                let rate =
                    |spot: &PlacedCell<'_, '_>| spot.place.output_tok_s.map_or(f64::NEG_INFINITY, |rate| rate.mean);
                let best = cells.iter().copied().reduce(|a, b| if rate(b) > rate(a) { b } else { a })?;
                Some(Square {
                    isl: isl[row],
                    osl: osl[column],
                    workload: best.place.cell.workload.clone(),
                    batch: best.place.batch,
                    loads: cells.len(),
                    output_tok_s: best.place.output_tok_s?,
                })
            })
            .collect();
        let first = &spots[0].place;
        let base = slug(&[model, quantisation.unwrap_or(""), engine.unwrap_or(""), campaign, environment]);
        grids.push(Grid {
            id: unique(taken.entry(machine).or_default(), base),
            machine: first.machine.clone(),
            machine_title: first.machine_title.clone(),
            devices: first.devices,
            model: model.clone(),
            quantisation: first.quantisation.clone(),
            engine: first.engine.clone(),
            campaign: campaign.clone(),
            environment: environment.clone(),
            finding: finding(&squares, isl.len() * osl.len()),
            isl,
            osl,
            squares,
        });
    }
    grids
}

/// Lengths that are distinguished, each the mean of its cluster, and the place of each value among them.
fn axis(values: &[Option<f64>]) -> (Vec<f64>, Vec<Option<usize>>) {
    let places = clusters(values);
    let most = places.iter().flatten().max().map_or(0, |last| last + 1);
    let ends = (0..most)
        .map(|k| {
            let members: Vec<f64> =
                values.iter().zip(&places).filter(|(_, p)| **p == Some(k)).filter_map(|(v, _)| *v).collect();
            sparkbench_stats::mean(&members).round()
        })
        .collect();
    (ends, places)
}

fn finding(squares: &[Square], all: usize) -> String {
    let by = |a: &&Square, b: &&Square| a.output_tok_s.mean.total_cmp(&b.output_tok_s.mean);
    let (Some(low), Some(high)) = (squares.iter().min_by(by), squares.iter().max_by(by)) else { return String::new() };
    let said = |s: &Square| {
        let batch = s.batch.map_or(String::new(), |batch| format!(", batch {}", significant(batch, 6)));
        format!("{} tok/s ({} in, {} out{batch})", significant(s.output_tok_s.mean, 4), s.isl, s.osl)
    };
    let single = squares.iter().filter(|s| s.output_tok_s.n == 1).count();
    let mut text = format!("Output runs from {} to {}.", said(low), said(high));
    if single > 0 {
        text.push_str(&format!(" {} of a single run.", count(single, "square")));
    }
    if squares.len() < all {
        text.push_str(&format!(" {} of {all} pairs of lengths were not measured.", all - squares.len()));
    }
    text
}
