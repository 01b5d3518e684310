//! Tables of cells: a row each, figures with their intervals, every row leading to its source.
//!
//! In:  columns and cells of text.  Out: [`TableSection`], shown by `templates/sheet.html`.
//! Not here: which rows a page has.

use super::link::Link;
use super::number::{self, ABSENT, plain};
use sparkbench_verdict::report::{Estimate, Interval};

/// Names that a cell lists. More are counted.
const MOST_NAMES: usize = 4;

/// A few names, and how many more there are.
pub(super) fn few(names: &[String]) -> String {
    match names {
        [] => "not told".to_owned(),
        names if names.len() <= MOST_NAMES + 1 => names.join(", "),
        names => format!("{} and {} more", names[..MOST_NAMES].join(", "), names.len() - MOST_NAMES),
    }
}

/// Rows that a table shows. The others are in `analysis.json`.
const MOST_ROWS: usize = 400;

/// A table with its heading.
#[derive(Debug, Clone)]
pub(super) struct TableSection {
    /// Anchor.
    pub id: String,
    /// Heading of the section. None where a section has its own.
    pub heading: String,
    /// Notes that a reader needs first.
    pub lead: String,
    /// Name of the table.
    pub caption: String,
    /// From left to right.
    pub columns: Vec<Column>,
    /// One cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that are not shown.
    pub more: usize,
}

impl TableSection {
    /// A table. Rows beyond the limit of a page are counted.
    pub(super) fn new(id: &str, heading: &str, caption: &str, columns: Vec<Column>, mut rows: Vec<Vec<Cell>>) -> Self {
        let more = rows.len().saturating_sub(MOST_ROWS);
        rows.truncate(MOST_ROWS);
        Self {
            id: id.to_owned(),
            heading: heading.to_owned(),
            lead: String::new(),
            caption: caption.to_owned(),
            columns,
            rows,
            more,
        }
    }

    /// With a sentence above it.
    pub(super) fn lead(self, lead: impl Into<String>) -> Self {
        Self { lead: lead.into(), ..self }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Heading.
    pub name: String,
    /// Below the heading, in small.
    pub unit: String,
    /// Numbers are right-aligned.
    pub number: bool,
}

/// A column of numbers.
pub(super) fn figures(name: impl Into<String>, unit: impl Into<String>) -> Column {
    Column { name: name.into(), unit: unit.into(), number: true }
}

/// A column of words.
pub(super) fn words(name: &str) -> Column {
    Column { name: name.to_owned(), unit: String::new(), number: false }
}

#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// Its text, and its link target.
    pub link: Link,
    /// Below it, in small.
    pub sub: String,
    /// Numbers are right-aligned.
    pub number: bool,
    /// Short words that are not to be broken.
    pub short: bool,
}

impl Cell {
    /// Words.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { link: Link { href: None, text: text.into() }, sub: String::new(), number: false, short: false }
    }

    /// A number as text.
    pub(super) fn number(text: impl Into<String>) -> Self {
        Self { number: true, ..Self::text(text) }
    }

    /// A mean with its interval below, or the dash.
    pub(super) fn estimate(found: Option<&Estimate>) -> Self {
        let Some(found) = found else { return Self::number(ABSENT) };
        match found.low.zip(found.high) {
            Some((low, high)) if high > low => {
                let (mean, ends) = number::estimate(found.mean, Some(Interval { low, high }));
                Self::number(mean).under(ends.replace(' ', "\u{a0}"))
            }
            _ if found.n == 1 => Self::number(plain(found.mean)).under("one run"),
            _ => Self::number(plain(found.mean)),
        }
    }

    /// With something in small below.
    pub(super) fn under(self, sub: impl Into<String>) -> Self {
        Self { sub: sub.into(), ..self }
    }

    /// Never broken into lines.
    pub(super) fn short(self) -> Self {
        Self { short: true, ..self }
    }

    /// Leading somewhere.
    pub(super) fn to(self, href: Option<String>) -> Self {
        Self { link: Link { href, ..self.link }, ..self }
    }
}
