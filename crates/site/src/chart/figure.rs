//! What every kind of chart does, and its result: the drawing in two layouts, its words, and the table of its values.
//!
//! In:  a closure that draws on a sheet.  Out: [`Figure`].

use super::canvas::{Canvas, NARROW, WIDE, Words};
use super::element::Anchor;
use super::label;

/// Stylesheet of every chart: colours of both themes, dashes, print and forced colours. Embed once per page.
pub const STYLE: &str = include_str!("../../../../static/chart.css");

/// Most marks in one drawing. More are thinned out.
pub(crate) const MARKS: usize = 2_000;

/// Most rows in one drawing. The table has all.
pub(crate) const ROWS: usize = 60;

/// A kind of chart, as the registry knows it.
pub trait Chart: Sync {
    /// Name, also of its fixture and its golden drawing.
    fn name(&self) -> &'static str;
    /// How to read it, for the manual.
    fn manual(&self) -> &'static str;
    /// Draws from JSON in the shape of the chart's own type. Absent fields are empty.
    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error>;
}

/// A drawn chart with everything a page needs to show it accessibly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// `<svg>` element, 760 units wide, also the one to offer for download.
    pub svg: String,
    /// The same for narrow columns, 320 units wide.
    pub narrow: String,
    /// What is shown. Plain text, not escaped.
    pub title: String,
    /// How to read it, how many, extremes. Plain text, not escaped.
    pub desc: String,
    /// The conclusion, for the caption. Plain text as the caller gave it.
    pub finding: Option<String>,
    /// The plotted values, as text.
    pub table: Table,
}

/// The table beside a chart. All cells are plain text, not escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Says what the rows are, with the unit.
    pub caption: String,
    /// Headings. The first column is the row heading.
    pub columns: Vec<String>,
    /// One cell for each column.
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

impl Table {
    /// An empty table.
    pub fn new<const N: usize>(caption: String, columns: [&str; N]) -> Self {
        Self { caption, columns: columns.map(str::to_owned).to_vec(), rows: Vec::new() }
    }

    /// Adds a row. A link that is not allowed is left out.
    pub fn row<const N: usize>(&mut self, cells: [String; N], href: Option<&str>) {
        self.rows.push(Row { cells: cells.to_vec(), href: href.and_then(label::link).map(str::to_owned) });
    }
}

impl Figure {
    /// Both layouts in one element. [`STYLE`] shows the one that fits.
    pub fn inline(&self) -> String {
        format!("<div class=\"chart-box\">{}{}</div>", self.svg, self.narrow)
    }
}

/// An SVG file that carries its stylesheet. Links keep their targets, which are relative to the page they came from.
pub fn standalone(svg: &str) -> String {
    let Some((head, rest)) = svg.split_once('>') else {
        return svg.to_owned();
    };
    let rule = "svg{background:var(--chart-bg)}";
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{head} xmlns=\"http://www.w3.org/2000/svg\"><style>{STYLE}{rule}</style>{rest}\n"
    )
}

/// Shared data of all charts.
#[derive(Debug)]
pub(crate) struct FigureText<'a> {
    /// Unique on the page, as the caller gave it.
    pub id: &'a str,
    /// Title: the subject of the drawing.
    pub title: &'a str,
    /// How to read it.
    pub desc: String,
    /// The conclusion.
    pub finding: &'a Option<String>,
    /// The plotted values.
    pub table: Table,
}

/// Which layouts are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layouts {
    /// One for wide windows and one for narrow ones.
    Both,
    /// The narrow one alone, for drawings that are beside others at every width. There is no file of such a drawing.
    Narrow,
}

impl FigureText<'_> {
    /// Draws both layouts. `draw` gives the height it took, or `None` when there was nothing to draw.
    pub(crate) fn compose(self, draw: impl Fn(&Canvas) -> Option<f64>) -> Figure {
        self.compose_as(Layouts::Both, draw)
    }

    /// Draws the layouts that are asked for.
    pub(crate) fn compose_as(self, layouts: Layouts, draw: impl Fn(&Canvas) -> Option<f64>) -> Figure {
        let id = label::id(self.id);
        let words = Words { id: &id, title: self.title, desc: &self.desc };
        let one = |layout| {
            let canvas = Canvas::new(layout);
            let height = draw(&canvas).unwrap_or_else(|| {
                canvas.text(0.0, 24.0, "No values to draw.", Anchor::Start, "muted", layout.width);
                40.0
            });
            canvas.finish(height, words)
        };
        let svg = if layouts == Layouts::Both { one(WIDE) } else { String::new() };
        let narrow = one(NARROW);
        Figure {
            svg,
            narrow,
            title: label::clean(self.title),
            desc: self.desc,
            finding: self.finding.clone(),
            table: self.table,
        }
    }
}

/// Place in the palette of each label, by first appearance.
pub(crate) fn palette<'a>(labels: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for label in labels {
        if !seen.contains(&label) {
            seen.push(label);
        }
    }
    seen
}

/// Place of a label in a palette.
pub(crate) fn place(palette: &[&str], label: &str) -> usize {
    palette.iter().position(|known| *known == label).unwrap_or(0)
}
