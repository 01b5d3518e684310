//! Across cells and campaigns: groups of cells, and their comparison side by side.
//!
//! In:  the laid-out campaigns.  Out: [`Across`], arrays of the analysis.
//! Not here: formulas (see `stats`), drawing (see `chart`), the verdict on a pair of environments (see `judge`).
//!
//! Cells are put side by side by what was asked of them: model, machine, precision, lengths, load. What is put side by side is not thereby
//! compared: a verdict needs the rules of `alike` and `definitions`, which `engines` applies.

pub mod agreement;
mod engines;
mod frontier;
mod grid;
mod memory;
mod naming;
mod placed_cell;
mod rooflines;
pub(crate) mod shape;
mod summary;
mod sweep;
#[cfg(test)]
mod tests;

use super::case::Case;
use super::memory::Round;
use super::report::Across;
use super::report::across::Place;

use placed_cell::PlacedCell;

/// Everything across the campaigns.
pub(super) fn report(cases: &[Case<'_>], round: &Round<'_>) -> Across {
    let settings = round.settings;
    let spots: Vec<PlacedCell<'_, '_>> = cases.iter().flat_map(|case| placed_cell::of(case, settings)).collect();
    let places: Vec<&Place> = spots.iter().map(|spot| &spot.place).collect();
    let shapes = shape::shapes(&places);
    let sweeps = sweep::sweeps(&spots, &shapes, settings);
    Across {
        model_summaries: summary::models(&places),
        machine_summaries: summary::machines(&places),
        frontiers: frontier::frontiers(&sweeps, &spots),
        sweeps,
        grids: grid::grids(&spots),
        rooflines: rooflines::rooflines(cases, settings),
        memory_stacks: cases.iter().flat_map(|case| memory::stacks(case, settings)).collect(),
        engines: engines::tables(&spots, round),
        agreements: agreement::tables(&spots, round),
        places: spots.into_iter().map(|spot| spot.place).collect(),
    }
}
