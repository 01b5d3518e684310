//! Tables of Markdown and of consoles: cells between upright strokes, found by the header above them.
//!
//! In:  single lines.  Out: rows of named cells.
//! Not here: what a cell means.

use crate::Figure;

/// Limit for cells of a row that are read.
const CELLS: usize = 64;

/// The header that is in force.
#[derive(Debug, Default)]
pub(super) struct Columns {
    header: Vec<String>,
}

impl Columns {
    /// Takes in a line. A line with all of `needed` among its cells (lower case) is a header. Another of as many cells is a row of it,
    /// which is given back.
    pub(super) fn line<'l>(
        &mut self,
        line: &'l str,
        is_header: impl Fn(&[String]) -> bool,
    ) -> Option<Vec<(String, &'l str)>> {
        let cells: Vec<&str> = line.split('|').take(CELLS).map(plain).collect();
        if cells.len() < 4 {
            return None;
        }
        let names: Vec<String> = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
        if is_header(&names) {
            self.header = names;
            return None;
        }
        (cells.len() == self.header.len()).then(|| self.header.iter().cloned().zip(cells).collect())
    }

    /// Forgets the header: a table of another kind began.
    pub(super) fn forget(&mut self) {
        self.header.clear();
    }
}

/// A cell without blanks and emphasis.
fn plain(cell: &str) -> &str {
    cell.trim().trim_matches(['*', '`']).trim()
}

/// The cell of a column.
pub(super) fn cell<'l>(row: &[(String, &'l str)], name: &str) -> Option<&'l str> {
    row.iter().find(|(known, _)| known == name).map(|(_, cell)| *cell).filter(|cell| !cell.is_empty())
}

/// `12505.79 ± 615.87`: mean and deviation, whatever became of the sign on its way.
pub(super) fn pair(cell: &str) -> Option<(Figure, Option<Figure>)> {
    let split = ["±", "+/-", "+-", "\u{fffd}", "�"].iter().find_map(|sign| cell.split_once(sign));
    let (mean, deviation) = split.map_or((cell, None), |(mean, deviation)| (mean, Some(deviation)));
    // A sign that was decoded twice leaves a letter before itself.
    let mean = Figure::parse(mean.trim().trim_end_matches(['Â', '\u{fffd}']).trim())?;
    let deviation = deviation.and_then(|text| Figure::parse(text.trim().trim_start_matches('\u{fffd}').trim()));
    mean.value.is_finite().then_some((mean, deviation.filter(|figure| figure.value.is_finite())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_read_whatever_became_of_its_sign() {
        for text in ["178.10 ± 0.95", "178.10 Â± 0.95", "178.10 \u{fffd} 0.95", "178.10 +/- 0.95", "178.10±0.95"] {
            let (mean, deviation) = pair(text).unwrap();
            assert_eq!((mean.value, mean.decimals, deviation.unwrap().value), (178.1, Some(2), 0.95), "{text}");
        }
        assert_eq!(pair("178.10").unwrap().1, None);
        assert_eq!(pair("1,178.10 ± 2"), None);
        assert_eq!(pair(""), None);
    }

    #[test]
    fn a_prefix_of_a_launcher_is_a_cell_of_header_and_rows_alike() {
        let mut columns = Columns::default();
        let is_header = |names: &[String]| names.iter().any(|name| name == "test");
        assert_eq!(columns.line("bench-1  | | model | test | t/s |", is_header), None);
        let row = columns.line("bench-1  | | **m** | pp512 | 1.00 ± 0.10 |", is_header).unwrap();
        assert_eq!((cell(&row, "model"), cell(&row, "t/s")), (Some("m"), Some("1.00 ± 0.10")));
        assert_eq!(columns.line("| other | table |", is_header), None);
    }
}
