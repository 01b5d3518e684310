//! Tables on a terminal.
//!
//! In:  rows of cells.  Out: lines whose columns stand below each other.

use std::fmt::Write as _;

/// Width of each column in characters: that of its longest cell. A row of fewer cells ends as it likes: its last cell is a sentence and
/// takes no part.
pub fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let whole = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |at: usize| {
        rows.iter().filter(move |row| row.len() == whole || at + 1 < row.len()).filter_map(move |row| row.get(at))
    };
    (0..whole).map(|at| cells(at).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect()
}

/// A row as a line without its end: two blanks between columns, the first `left` of them flush left, the others flush right.
pub fn line(row: &[String], widths: &[usize], left: usize) -> String {
    let mut line = String::new();
    for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
        let gap = if at == 0 { "" } else { "  " };
        // Writing to a string cannot fail.
        let _ = if at < left { write!(line, "{gap}{cell:<width$}") } else { write!(line, "{gap}{cell:>width$}") };
    }
    line.truncate(line.trim_end().len());
    line
}

/// Rows as lines, every column flush left.
pub fn lines(rows: &[Vec<String>]) -> String {
    let widths = widths(rows);
    rows.iter().map(|row| line(row, &widths, usize::MAX) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn a_column_is_as_wide_as_its_longest_cell_and_a_sentence_at_the_end_of_a_short_row_is_not_counted() {
        let rows = [row(&["name", "n", "why"]), row(&["a", "12"]), row(&["b", "a sentence"])];
        assert_eq!(lines(&rows), "name  n  why\na     12\nb     a sentence\n");
        assert_eq!(line(&row(&["ä", "1", ""]), &[2, 3, 4], 1), "ä     1");
    }
}
