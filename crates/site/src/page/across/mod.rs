//! Shared by the pages of models, machines and engines: addresses, charts across cells, the table of everything measured.
//!
//! In:  the arrays across cells.  Out: `FigureView`s, `TableSection`s, addresses.
//! Not here: any number.

mod cells;
mod charts;
mod measured;
mod ways;

pub(super) use self::cells::Cells;
pub(super) use self::charts::{frontier_figure, grid_figure, memory_figure, roofline_figure, sweep_figure};
pub(super) use self::measured::{RunList, measured, run_lists};
pub(super) use self::ways::{About, Ways, abouts, paths};

use super::number::{fixed, plain};

/// Name of a machine that no file names.
pub(super) const NOT_NAMED: &str = "Machine not named";

/// `2 × NVIDIA H100`.
pub(super) fn several(title: &str, devices: f64) -> String {
    if devices > 1.0 { format!("{} × {title}", plain(devices)) } else { title.to_owned() }
}

/// `512 in, 128 out`. What is not known is left out.
pub(super) fn lengths(isl: Option<f64>, osl: Option<f64>) -> String {
    let part = |length: Option<f64>, way: &str| length.map(|tokens| format!("{} {way}", fixed(tokens, 0)));
    let parts: Vec<String> = [part(isl, "in"), part(osl, "out")].into_iter().flatten().collect();
    if parts.is_empty() { "lengths not known".to_owned() } else { parts.join(", ") }
}

/// `batch 16`, `at most 16, 4 req/s`.
pub(super) fn load(batch: Option<f64>, rate: Option<f64>) -> String {
    match (batch, rate) {
        (Some(batch), Some(rate)) => format!("at most {}, {} req/s", plain(batch), plain(rate)),
        (Some(batch), None) => format!("batch {}", plain(batch)),
        (None, Some(rate)) => format!("{} req/s", plain(rate)),
        (None, None) => "load not known".to_owned(),
    }
}

/// Existing parts, joined by commas.
pub(super) fn joined<'p>(parts: impl IntoIterator<Item = Option<&'p str>>) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
