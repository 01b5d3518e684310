//! Positions of the rows of a forest plot, and their drawing.
//!
//! In:  [`Forest`].  Out: [`Figure`].
//! Not here: the words and the table (see [`super`]).

use super::super::axis::Axis;
use super::super::canvas::{Canvas, Frame};
use super::super::element::{Anchor, Shape};
use super::super::figure::{Figure, FigureText, ROWS};
use super::super::ink::{Hue, Ink, Pen};
use super::super::number;
use super::{Comparison, Forest, Panel};

/// Room for sans-serif fonts that are wider than Helvetica, such as DejaVu Sans: its digits are 1.14 times as wide.
const WIDER: f64 = 1.1;

/// Columns of a layout, in pixels from the left.
struct Columns {
    /// Left edge of the plot.
    plot: f64,
    width: f64,
    /// Left edge of the numbers.
    value: f64,
    /// Left edge of the verdict.
    verdict: f64,
    /// Height of a row.
    row: f64,
    /// Middle of the mark below the top of the row.
    lane: f64,
}

impl Columns {
    /// Wide: label, plot, numbers, verdict side by side. Narrow: words above the plot.
    fn of(canvas: &Canvas, forest: &Forest) -> Self {
        let rows = || forest.panels.iter().flat_map(|p| &p.rows);
        let widest =
            |text: &dyn Fn(&Comparison) -> String| rows().map(|r| canvas.width_of(&text(r))).fold(0.0, f64::max);
        let full = canvas.layout.width;
        if canvas.layout.narrow {
            let row = 2.0 * canvas.line_height() + 28.0;
            return Self { plot: 8.0, width: full - 16.0, value: full, verdict: 0.0, row, lane: row - 16.0 };
        }
        // Headings of groups are in the column of the labels: behind them there is the plot.
        let heading = widest(&|r| r.group.clone().unwrap_or_default());
        let label = widest(&|r| r.label.clone()).max(heading).clamp(60.0, 190.0);
        let value = (WIDER * widest(&|r| r.value(&forest.unit))).clamp(60.0, 190.0);
        let verdict = WIDER * rows().map(|r| canvas.width_of_strong(&r.verdict)).fold(0.0, f64::max);
        let verdict = verdict.clamp(60.0, 180.0);
        let plot = label + 20.0;
        let width = full - plot - value - verdict - 36.0;
        Self {
            plot,
            width,
            value: plot + width + 20.0,
            verdict: plot + width + 20.0 + value + 16.0,
            row: 28.0,
            lane: 14.0,
        }
    }
}

impl Forest {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let columns = Columns::of(canvas, self);
                let mut left = ROWS;
                let mut y = 0.0;
                for panel in self.panels.iter().filter(|p| !p.rows.is_empty()) {
                    if left > 0 {
                        y = self.panel(canvas, &columns, panel, y, &mut left);
                    }
                }
                (y > 0.0).then(|| self.key(canvas, y))
            },
        )
    }

    /// One panel from a top edge. Gives the bottom edge.
    fn panel(&self, canvas: &Canvas, columns: &Columns, panel: &Panel, top: f64, left: &mut usize) -> f64 {
        let step = canvas.line_height();
        let mut y = top;
        if !panel.heading.is_empty() {
            y = canvas.paragraph(0.0, y, &panel.heading, "strong", canvas.layout.width) + 4.0;
        }
        let rows = &panel.rows[..panel.rows.len().min(*left)];
        *left -= rows.len();
        // Tops first: the band and the zero line lie beneath every row.
        let mut tops = Vec::with_capacity(rows.len());
        let mut group = None;
        for row in rows {
            if row.group.is_some() && row.group != group {
                group.clone_from(&row.group);
                y += step;
            }
            tops.push(y);
            y += columns.row;
        }
        let Some(axis) = panel.axis() else {
            self.rows(canvas, columns, rows, &tops, None);
            return y + 10.0;
        };
        let first = tops.first().copied().unwrap_or(y);
        let frame = Frame {
            left: columns.plot,
            top: first,
            width: columns.width,
            height: y - first,
            x: axis,
            y: Axis::exact(0.0, 1.0),
        };
        for (row, top) in rows.iter().zip(&tops) {
            if let Some(margin) = row.margin.filter(|m| number::usable(*m) && *m > 0.0 && row.drawn().is_some()) {
                let (a, b) = (frame.px(-margin), frame.px(margin));
                let (top, height) =
                    if canvas.layout.narrow { (top + columns.lane - 12.0, 24.0) } else { (*top, columns.row) };
                canvas.area(a, top, b - a, height, Hue::Band, Pen::Tint);
            }
        }
        let bottom = canvas.x_axis(&frame, "", !canvas.layout.narrow);
        let zero = frame.px(0.0);
        if canvas.layout.narrow {
            for (_, top) in rows.iter().zip(&tops).filter(|(row, _)| row.drawn().is_some()) {
                canvas.line(
                    &[(zero, top + columns.lane - 12.0), (zero, top + columns.lane + 12.0)],
                    Hue::Axis,
                    Pen::Line,
                );
            }
        } else {
            canvas.line(&[(zero, frame.top), (zero, frame.bottom())], Hue::Axis, Pen::Line);
        }
        self.rows(canvas, columns, rows, &tops, Some(&frame));
        bottom + 12.0
    }

    /// Words and marks of rows.
    fn rows(&self, canvas: &Canvas, columns: &Columns, rows: &[Comparison], tops: &[f64], frame: Option<&Frame>) {
        let step = canvas.line_height();
        let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
        let mut group = None;
        for (row, &top) in rows.iter().zip(tops) {
            if row.group.is_some() && row.group != group {
                group.clone_from(&row.group);
                let heading = row.group.as_deref().unwrap_or_default();
                canvas.text(
                    0.0,
                    top - step + canvas.layout.size + 1.0,
                    heading,
                    Anchor::Start,
                    "muted",
                    if canvas.layout.narrow { canvas.layout.width } else { columns.plot - 8.0 },
                );
            }
            let linked = if row.href.is_some() { "linked" } else { "" };
            let value = row.value(&self.unit);
            if canvas.layout.narrow {
                let used = (WIDER * canvas.width_of(&value)).min(canvas.layout.width * 0.62);
                let base = top + canvas.layout.size + 2.0;
                canvas.label((0.0, base), &row.label, &labels, linked, canvas.layout.width);
                canvas.text(0.0, base + step, &row.verdict, Anchor::Start, "strong", canvas.layout.width - used - 10.0);
                canvas.text(canvas.layout.width, base + step, &value, Anchor::End, "", canvas.layout.width * 0.62);
            } else {
                let base = top + columns.lane + canvas.layout.size * 0.36;
                canvas.label((0.0, base), &row.label, &labels, linked, columns.plot - 16.0);
                canvas.text(columns.value, base, &value, Anchor::Start, "", columns.verdict - columns.value - 10.0);
                canvas.text(
                    columns.verdict,
                    base,
                    &row.verdict,
                    Anchor::Start,
                    "strong",
                    canvas.layout.width - columns.verdict,
                );
            }
            if let Some(frame) = frame {
                mark(canvas, frame, row, top + columns.lane);
            }
            if let Some(href) = &row.href {
                canvas.target(0.0, top, canvas.layout.width, columns.row, href, &self.note(row));
            }
        }
    }

    /// Legend of the strokes, and of x.
    fn key(&self, canvas: &Canvas, top: f64) -> f64 {
        let mut text = if self.axis.is_empty() { String::new() } else { format!("x: {}. ", self.axis) };
        let rows = || self.panels.iter().flat_map(|p| &p.rows).filter(|r| r.drawn().is_some());
        if rows().any(|r| r.interval.is_some()) {
            text.push_str("Thin line: 95\u{a0}% interval. ");
        }
        if rows().any(|r| r.inner.is_some()) {
            text.push_str("Thick line: 90\u{a0}% interval. ");
        }
        if rows().any(|r| r.margin.is_some()) {
            text.push_str(match rows().any(|r| r.inner.is_some()) {
                true => "Shaded: the margin. Where the thick line lies within it, both count as the same, of several loads once adjusted for their number. ",
                false => "Shaded: margin within which both count as the same. ",
            });
        }
        if rows().any(|r| r.interval.is_none()) {
            text.push_str("Hollow without a line: no interval. ");
        }
        let has = |shape: Shape| rows().any(|r| r.look().0 == shape);
        let marks = [
            (has(Shape::Diamond), "Diamond: equivalent. "),
            (has(Shape::Circle), "Circle: inconclusive. "),
            (has(Shape::Right) || has(Shape::Left), "Triangle: a difference. "),
            (self.panels.iter().any(Panel::goes_on), "Arrow at the edge: the interval goes on. "),
        ];
        text.extend(marks.iter().filter(|(drawn, _)| *drawn).map(|(_, word)| *word));
        canvas.paragraph(0.0, top, text.trim(), "muted", canvas.layout.width / WIDER) + 4.0
    }
}

/// Intervals and mark of one row in its lane. Ends beyond the axis become arrows.
fn mark(canvas: &Canvas, frame: &Frame, row: &Comparison, y: f64) {
    let Some(estimate) = row.drawn() else {
        return;
    };
    let hue = Hue::Verdict(row.kind);
    if let Some((low, high)) = number::usable_pair(row.interval) {
        canvas.line(&[(frame.px(low), y), (frame.px(high), y)], hue, Pen::Line);
        if low < frame.x.low() {
            canvas.glyph(frame.left, y, Shape::Left, Ink(hue, Pen::Solid), 3.5);
        }
        if high > frame.x.high() {
            canvas.glyph(frame.right(), y, Shape::Right, Ink(hue, Pen::Solid), 3.5);
        }
    }
    if let Some((low, high)) = number::usable_pair(row.inner) {
        canvas.line(&[(frame.px(low), y), (frame.px(high), y)], hue, Pen::Thick);
    }
    let (shape, ink) = row.look();
    canvas.glyph(frame.px(estimate), y, shape, ink, 5.0);
}
