//! Rows of `--format=csv,noheader`: columns inferred from their units and shape.
//!
//! In:  the cells of the first row.  Out: whether it is such a row, and the meaning of each column.
//! Not here: guesses. A value that could be two fields is neither.

use crate::telemetry::cell;
use crate::telemetry::column::Column;
use sparkbench_model::Instant;

/// True for a row as `--format=csv,noheader` prints it: a time in front or units behind the figures, and only such cells.
pub(super) fn is_bare(cells: &[&str]) -> bool {
    let unit = |cell: &&str| matches!(cell::figure(cell), Some((_, "%" | "W" | "MHz" | "MiB")));
    let stamped = cells.first().is_some_and(|cell| is_stamp(cell));
    let units = cells.iter().filter(|cell| unit(cell)).count();
    let rest = cells.iter().skip(usize::from(stamped)).all(|cell| {
        cell::figure(cell).is_some()
            || cell::bits(cell).is_some()
            || cell::state(cell).is_some()
            || cell.starts_with("NVIDIA ")
            || cell.starts_with("Tesla ")
            || cell.ends_with("Active")
    });
    rest && ((stamped && cells.len() > 1) || units >= 2)
}

/// `2026/09/25 03:21:37.942`, the stamp of nvidia-smi alone.
fn is_stamp(cell: &str) -> bool {
    let bytes = cell.as_bytes();
    bytes.len() == 23 && bytes.get(4) == Some(&b'/') && bytes.get(19) == Some(&b'.') && Instant::parse(cell).is_some()
}

/// Columns of a row without a header, by units and shape.
pub(super) fn inferred(cells: &[&str]) -> Vec<Option<Column>> {
    let unit_of = |cell: &&str| cell::figure(cell).map_or("", |(_, unit)| unit);
    let alone = |unit: &str| cells.iter().filter(|cell| unit_of(cell) == unit).count() == 1;
    // Without any unit (`nounits`) a bare number may be anything.
    let units = cells.iter().any(|cell| !unit_of(cell).is_empty());
    let whole = |cell: &&str| units && !cell.is_empty() && cell.bytes().all(|b| b.is_ascii_digit());
    let wholes: Vec<usize> = cells.iter().enumerate().filter(|(_, cell)| whole(cell)).map(|(place, _)| place).collect();
    let index = match wholes.as_slice() {
        [first, _] if *first <= 1 && cells.get(*first).is_some_and(|cell| cell.len() <= 2) => Some(*first),
        _ => None,
    };
    let temperature = match (wholes.as_slice(), index) {
        ([only], _) | ([_, only], Some(_)) => Some(*only),
        _ => None,
    };
    cells
        .iter()
        .enumerate()
        .map(|(place, cell)| match unit_of(cell) {
            "W" if alone("W") => Some(Column::Power),
            "MHz" if alone("MHz") => Some(Column::SmClock),
            "%" if alone("%") => Some(Column::Util),
            "MiB" if alone("MiB") => Some(Column::Memory),
            "" if is_stamp(cell) => Some(Column::Time),
            "" if cell.starts_with("0x") && cell.len() == 18 => Some(Column::Throttle),
            "" if cell.starts_with('P') && cell::state(cell).is_some() => Some(Column::State),
            "" if cell.starts_with("NVIDIA ") || cell.starts_with("Tesla ") => Some(Column::Name),
            "" if index == Some(place) => Some(Column::Gpu),
            "" if temperature == Some(place) => Some(Column::Temperature),
            _ => None,
        })
        .collect()
}
