//! A table as a text for people.
//!
//! In:  the table, the width of the terminal.  Out: lines.
//! Not here: any number that the table does not have.

use crate::cli::talk::wrap;
use sparkbench_frame::{Cell, Role, Table};
use sparkbench_text::digits::significant;
use sparkbench_text::error::Error;
use sparkbench_text::plural::count;
use sparkbench_text::table::{line, lines, widths};

/// Significant digits of a figure. Files have all of them.
const DIGITS: usize = 5;

/// Between two columns.
const GAP: usize = 2;

/// Tenths of the width for what tells the rows apart. The rest is for figures.
const KEYS_OF_TEN: usize = 6;

/// Columns that stand behind the figures where there is room: labels and settings tell people more.
const LAST: [&str; 4] = ["id", "started_utc", "launch", "cell"];

/// A column, laid out.
struct Drawn<'t> {
    name: &'t str,
    role: Role,
    is_word: bool,
    cells: Vec<String>,
}

impl Drawn<'_> {
    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(self.name.chars().count())
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(String::is_empty)
    }

    /// The one level of all rows.
    fn level(&self) -> Option<&str> {
        let first = self.cells.first().filter(|first| !first.is_empty())?;
        self.cells.iter().all(|cell| cell == first).then_some(first)
    }
}

/// Every column with every row. Mean and interval of a group are one column.
///
/// # Errors
/// When polars cannot read it.
pub(super) fn whole(table: &Table) -> Result<String, Error> {
    Ok(drawn(&folded(columns(table)?).iter().collect::<Vec<_>>()))
}

/// What tells the rows apart, and as many metrics as there is room for. What all rows share stands above, once.
///
/// # Errors
/// When polars cannot read it.
pub(super) fn fitted(table: &Table, width: usize) -> Result<String, Error> {
    let columns = folded(columns(table)?);
    let is_shared = |column: &Drawn<'_>| column.role != Role::Metric && column.name != "id" && column.level().is_some();
    let mut text = String::new();
    let shared: Vec<String> = columns
        .iter()
        .filter(|column| column.role != Role::Source && is_shared(column))
        .filter_map(|column| Some(format!("{} {}", column.name, column.level()?)))
        .collect();
    if !shared.is_empty() {
        let above = format!("in {}: {}", count(table.height(), "row"), shared.join(", "));
        text.push_str(&wrap(&above, width).join("\n"));
        text.push_str("\n\n");
    }
    let has_place = |column: &&Drawn<'_>| column.role != Role::Source && !column.is_empty() && !is_shared(column);
    let (metrics, others): (Vec<&Drawn<'_>>, Vec<&Drawn<'_>>) =
        columns.iter().filter(has_place).partition(|column| column.role == Role::Metric);
    let (last, keys): (Vec<&Drawn<'_>>, Vec<&Drawn<'_>>) =
        others.into_iter().partition(|column| LAST.contains(&column.name));
    let all = keys.len() + metrics.len() + last.len();
    let mut shown: Vec<&Drawn<'_>> = Vec::new();
    let mut used = 0;
    let for_keys = if metrics.is_empty() { width } else { width * KEYS_OF_TEN / 10 };
    for (part, most) in [(keys, for_keys), (metrics, width), (last, width)] {
        for column in part {
            let wide = column.width() + if shown.is_empty() { 0 } else { GAP };
            // One column stands there however wide it is. Behind the first that has no room, none of its part follows: they have an order.
            if !shown.is_empty() && used + wide > most {
                break;
            }
            used += wide;
            shown.push(column);
        }
    }
    text.push_str(&drawn(&shown));
    let rows = count(table.height(), "row");
    text.push_str(&match all - shown.len() {
        0 => format!("{rows}\n"),
        more => format!("{rows}, {}. --columns '?' lists them, -o FILE writes them\n", count(more, "more column")),
    });
    Ok(text)
}

/// Mean, half of its interval and n of each metric of a table of groups as one cell. Where the number of runs has a column, n is told where it
/// is another one.
fn folded(columns: Vec<Drawn<'_>>) -> Vec<Drawn<'_>> {
    let of = |name: &str| columns.iter().find(|column| column.name == name).map(|column| column.cells.clone());
    let runs = of("runs");
    let mut folded: Vec<Drawn<'_>> = Vec::new();
    for column in &columns {
        let metric = column.name.strip_suffix("_mean").map(|metric| {
            let other = |end: &str| of(&format!("{metric}_{end}"));
            (metric, other("n"), other("half_width"))
        });
        if let Some((name, Some(n), Some(half))) = metric {
            let cells = column.cells.iter().zip(n.iter().zip(&half)).enumerate().map(|(row, (mean, (n, half)))| {
                let half = if half.is_empty() { String::new() } else { format!(" ± {half}") };
                let is_said = runs.as_ref().and_then(|runs| runs.get(row)) == Some(n);
                let n = if is_said || mean.is_empty() { String::new() } else { format!(" (n {n})") };
                format!("{mean}{half}{n}")
            });
            folded.push(Drawn { name, role: column.role, is_word: false, cells: cells.collect() });
        } else if !folded.iter().any(|done| {
            let end = column.name.strip_prefix(done.name).and_then(|end| end.strip_prefix('_'));
            end.is_some_and(|end| matches!(end, "n" | "sd" | "half_width"))
        }) {
            folded.push(Drawn {
                name: column.name,
                role: column.role,
                is_word: column.is_word,
                cells: column.cells.clone(),
            });
        }
    }
    folded
}

/// Every column with its type, unit and meaning.
pub(super) fn list(table: &Table) -> String {
    let mut rows = vec![["column", "type", "unit", "meaning"].map(str::to_owned).to_vec()];
    rows.extend(table.columns().iter().map(|column| {
        let meaning = &column.meaning;
        [&column.name, meaning.kind.word(), meaning.unit, &meaning.about].map(clean).to_vec()
    }));
    lines(&rows).lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn columns(table: &Table) -> Result<Vec<Drawn<'_>>, Error> {
    let column = |column: &'_ sparkbench_frame::TableColumn| -> Result<(bool, Vec<String>), Error> {
        let cells = table.cells(&column.name)?;
        let is_word = cells.iter().any(|cell| matches!(cell, Cell::Text(_)));
        let text = |cell: &Cell| match cell {
            Cell::Number(value) => significant(*value, DIGITS),
            cell => clean(&cell.text()),
        };
        Ok((is_word, cells.iter().map(text).collect()))
    };
    let drawn = table.columns().iter().map(|of| {
        let (is_word, cells) = column(of)?;
        Ok(Drawn { name: &of.name, role: of.role, is_word, cells })
    });
    drawn.collect()
}

fn drawn(columns: &[&Drawn<'_>]) -> String {
    let height = columns.first().map_or(0, |column| column.cells.len());
    let mut rows = vec![columns.iter().map(|column| clean(column.name)).collect::<Vec<String>>()];
    let row = |at: usize| columns.iter().map(|column| column.cells.get(at).cloned().unwrap_or_default()).collect();
    rows.extend((0..height).map(row));
    let widths = widths(&rows);
    let left = columns.iter().take_while(|column| column.is_word).count();
    rows.iter().map(|row| line(row, &widths, left) + "\n").collect()
}

/// Names and levels come from files: no control character of theirs reaches the terminal.
fn clean(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || turns(c) { '\u{fffd}' } else { c }).collect()
}
