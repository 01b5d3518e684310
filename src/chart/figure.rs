//! What a chart hands over.

/// Stylesheet of every chart: colours of both themes, dashes, print and forced colours. Embed once per page.
pub const STYLE: &str = include_str!("../../static/chart.css");

/// A drawn chart with everything a page needs to show it accessibly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// `<svg>` element, 760 units wide, also the one to offer for download (see [`Figure::download`]).
    pub svg: String,
    /// The same for narrow columns, 320 units wide.
    pub narrow: String,
    /// What is shown; plain text, not escaped.
    pub title: String,
    /// How to read it, how many, extremes; plain text, not escaped.
    pub desc: String,
    /// The conclusion, for the caption; plain text as the caller gave it.
    pub finding: Option<String>,
    /// What is plotted, as text.
    pub table: Table,
}

/// The table beside a chart; all cells are plain text, not escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Says what the rows are, with the unit.
    pub caption: String,
    /// Headings; the first column is the row heading.
    pub columns: Vec<String>,
    /// As many cells as columns.
    pub rows: Vec<Row>,
}

/// One row of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Cells, one per column.
    pub cells: Vec<String>,
    /// Where the mark of this row links to.
    pub href: Option<String>,
}

impl Figure {
    /// Both layouts in one element; [`STYLE`] shows the one that fits.
    pub fn inline(&self) -> String {
        format!("<div class=\"chart-box\">{}{}</div>", self.svg, self.narrow)
    }

    /// The wide layout as a file of its own.
    pub fn download(&self) -> String {
        standalone(&self.svg)
    }
}

/// An SVG file that carries its stylesheet.
pub fn standalone(svg: &str) -> String {
    svg.to_owned()
}
