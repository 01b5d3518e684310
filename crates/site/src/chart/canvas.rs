//! The sheet a chart is drawn on: two layouts, text, axes, legends, and the frame with title and description.
//!
//! In:  places in pixels, y downwards, and frames with axes.  Out: an `<svg>` element.
//! Not here: the design of a particular chart.

use std::cell::RefCell;
use std::rc::Rc;

use plotters::coord::cartesian::Cartesian2d;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Drawable, PathElement, PointCollection, Polygon, Rectangle};

use super::axis::Axis;
use super::element::{Anchor, Label, Mark, MarkGroup, Reading, Shape, Target};
use super::ink::{Hue, Ink, Pen};
use super::label;
use super::svg::{Document, STEPS, Svg};

/// A drawing area with a coordinate system.
pub(super) type Plane = DrawingArea<Svg, Cartesian2d<Axis, Axis>>;

/// Tallest drawing. What lies below is not seen.
const TALLEST: f64 = 20_000.0;

/// Bold letters are about this much wider.
const BOLD: f64 = 1.07;

/// Width and text size of a drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Layout {
    /// Units across.
    pub width: f64,
    /// Font size.
    pub size: f64,
    /// True where labels are above their marks and not beside them.
    pub narrow: bool,
}

/// For 704 CSS px and more, where its text is 12 px.
pub(super) const WIDE: Layout = Layout { width: 760.0, size: 13.0, narrow: false };

/// For less: 12 px text from 275 CSS px up, which a 320 px screen has between its paddings.
pub(super) const NARROW: Layout = Layout { width: 320.0, size: 14.0, narrow: true };

/// Where a drawing is made.
pub(crate) struct Canvas {
    /// Which layout.
    pub layout: Layout,
    document: Rc<RefCell<Document>>,
    sheet: Plane,
}

/// A rectangle in pixels with an axis each way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Extent to the right.
    pub width: f64,
    /// Extent downwards.
    pub height: f64,
    /// Left to right.
    pub x: Axis,
    /// Bottom to top.
    pub y: Axis,
}

impl Frame {
    /// Right edge.
    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Bottom edge.
    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Ticks of the x axis, as many as have room.
    pub(crate) fn x_ticks(&self) -> Vec<(f64, String)> {
        self.x.ticks((self.width / 75.0).clamp(3.0, 8.0) as usize)
    }

    /// Pixel of a value of the x axis.
    pub(crate) fn px(&self, value: f64) -> f64 {
        self.left + self.x.share(value) * self.width
    }

    /// Pixel of a value of the y axis.
    pub(crate) fn py(&self, value: f64) -> f64 {
        self.bottom() - self.y.share(value) * self.height
    }
}

/// Description of the drawing, for the frame around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a> {
    /// Unique on the page, already safe.
    pub id: &'a str,
    /// For `<title>`.
    pub title: &'a str,
    /// For `<desc>`.
    pub desc: &'a str,
}

impl Canvas {
    /// An empty sheet.
    pub(crate) fn new(layout: Layout) -> Self {
        let document = Rc::new(RefCell::new(Document::default()));
        let svg = Svg::new(Rc::clone(&document), layout.width, TALLEST);
        let (w, h) = (steps(layout.width), steps(TALLEST));
        let pixels =
            Cartesian2d::<Axis, Axis>::new(Axis::exact(0.0, layout.width), Axis::exact(0.0, TALLEST), (0..w, 0..h));
        Self { layout, document, sheet: svg.into_drawing_area().apply_coord_spec(pixels) }
    }

    /// Height of a line of text.
    pub(crate) fn line_height(&self) -> f64 {
        libm::round(self.layout.size * 1.45)
    }

    /// The drawing area of a frame, with its axes.
    pub(crate) fn plane(&self, frame: &Frame) -> Plane {
        let x = steps(frame.left)..steps(frame.right());
        let y = steps(frame.bottom())..steps(frame.top);
        self.sheet.strip_coord_spec().apply_coord_spec(Cartesian2d::<Axis, Axis>::new(frame.x, frame.y, (x, y)))
    }

    /// Draws an element on a plane.
    pub(crate) fn put<E>(&self, plane: &Plane, element: &E)
    where
        E: Drawable<Svg>,
        for<'b> &'b E: PointCollection<'b, (f64, f64)>,
    {
        if plane.draw(element).is_err() {
            // The backend cannot fail. Should plotters refuse, the description says that something is missing.
            self.document.borrow_mut().full = true;
        }
    }

    /// A line through points in pixels.
    pub(crate) fn line(&self, points: &[(f64, f64)], hue: Hue, pen: Pen) {
        self.put(&self.sheet, &PathElement::new(points.to_vec(), Ink(hue, pen)));
    }

    /// A filled area between points in pixels.
    pub(crate) fn polygon(&self, points: Vec<(f64, f64)>, hue: Hue, pen: Pen) {
        self.put(&self.sheet, &Polygon::new(points, Ink(hue, pen)));
    }

    /// A filled rectangle in pixels.
    pub(crate) fn area(&self, left: f64, top: f64, width: f64, height: f64, hue: Hue, pen: Pen) {
        if width > 0.0 && height > 0.0 {
            self.put(&self.sheet, &Rectangle::new([(left, top), (left + width, top + height)], Ink(hue, pen)));
        }
    }

    /// A mark in pixels without a note.
    pub(crate) fn glyph(&self, x: f64, y: f64, shape: Shape, ink: Ink, radius: f64) {
        let mark = Mark { at: (x, y), shape, ink, radius, ringed: false, note: "", href: None, reach: radius };
        self.put(&self.sheet, &mark);
    }

    /// A mark in pixels.
    pub(crate) fn mark(&self, mark: &Mark) {
        self.put(&self.sheet, mark);
    }

    /// Many marks in pixels.
    pub(crate) fn crowd(&self, crowd: &MarkGroup) {
        self.put(&self.sheet, crowd);
    }

    /// A linking rectangle in pixels.
    pub(crate) fn target(&self, left: f64, top: f64, width: f64, height: f64, href: &str, note: &str) {
        self.put(&self.sheet, &Target { corners: [(left, top), (left + width, top + height)], href, note });
    }

    /// A rectangle in pixels that is read out by its note and has no look of its own.
    pub(crate) fn reading(&self, left: f64, top: f64, width: f64, height: f64, note: &str) {
        if width > 0.0 && height > 0.0 {
            self.put(&self.sheet, &Reading { corners: [(left, top), (left + width, top + height)], note });
        }
    }

    /// A line of text on its baseline, cut to the room it has. Gives the width it takes.
    pub(crate) fn text(&self, x: f64, y: f64, content: &str, anchor: Anchor, class: &str, room: f64) -> f64 {
        let size = if class.contains("strong") { self.layout.size * BOLD } else { self.layout.size };
        let shown = label::fit(content, size, room);
        let whole = if shown.ends_with('…') { content } else { "" };
        self.put(&self.sheet, &Label { at: (x, y), text: &shown, whole, anchor, class });
        label::width(&shown, size)
    }

    /// The label of a row, cut so that it stays apart from those of the other rows.
    pub(crate) fn label(&self, (x, y): (f64, f64), content: &str, others: &[&str], class: &str, room: f64) -> f64 {
        let size = if class.contains("strong") { self.layout.size * BOLD } else { self.layout.size };
        let shown = label::fit_apart(content, others, size, room);
        let whole = if shown.contains('…') { content } else { "" };
        self.put(&self.sheet, &Label { at: (x, y), text: &shown, whole, anchor: Anchor::Start, class });
        label::width(&shown, size)
    }

    /// Width of a text in this layout.
    pub(crate) fn width_of(&self, content: &str) -> f64 {
        label::width(&label::clean(content), self.layout.size)
    }

    /// Width of a text in bold.
    pub(crate) fn width_of_strong(&self, content: &str) -> f64 {
        self.width_of(content) * BOLD + 1.0
    }

    /// Text broken into lines from a top edge. Gives the bottom edge.
    pub(crate) fn paragraph(&self, left: f64, top: f64, content: &str, class: &str, room: f64) -> f64 {
        let letters = if class.contains("strong") { self.layout.size * BOLD } else { self.layout.size };
        label::wrap(content, letters, room).iter().fold(top, |y, line| {
            self.text(left, y + self.layout.size, line, Anchor::Start, class, room);
            y + self.line_height()
        })
    }

    /// Grid, ticks and name of an x axis below a frame. Gives the bottom edge.
    pub(crate) fn x_axis(&self, frame: &Frame, name: &str, grid: bool) -> f64 {
        let bottom = frame.bottom();
        let mut free = f64::NEG_INFINITY;
        for (value, label) in frame.x_ticks() {
            let x = frame.px(value);
            if grid {
                self.line(&[(x, frame.top), (x, bottom)], Hue::Grid, Pen::Hair);
            }
            let width = self.width_of(&label);
            let middle = x.clamp(width / 2.0, (self.layout.width - width / 2.0).max(width / 2.0));
            if middle - width / 2.0 > free {
                self.line(&[(x, bottom), (x, bottom + 4.0)], Hue::Axis, Pen::Hair);
                self.text(middle, bottom + 6.0 + self.layout.size, &label, Anchor::Middle, "muted", f64::INFINITY);
                free = middle + width / 2.0 + 8.0;
            }
        }
        self.line(&[(frame.left, bottom), (frame.right(), bottom)], Hue::Axis, Pen::Hair);
        let below = bottom + 6.0 + self.line_height();
        if name.is_empty() {
            return below + 2.0;
        }
        let width = self.width_of(name).min(self.layout.width);
        if width <= frame.width {
            self.text(frame.right(), below + self.layout.size, name, Anchor::End, "muted", frame.width);
            return below + self.line_height() + 2.0;
        }
        self.paragraph(0.0, below, name, "muted", self.layout.width) + 2.0
    }

    /// Room that the tick texts of a y axis need, with their gap.
    pub(crate) fn y_room(&self, axis: Axis, count: usize) -> f64 {
        axis.ticks(count).iter().map(|(_, label)| self.width_of(label)).fold(0.0, f64::max) + 8.0
    }

    /// Grid and tick texts of a y axis left of a frame.
    pub(crate) fn y_axis(&self, frame: &Frame, count: usize) {
        let ticks = frame.y.ticks(count);
        // Round steps may be more than were asked for: texts keep a line's distance, at even steps.
        let places = || ticks.iter().map(|(value, _)| frame.py(*value));
        let nearest = places().zip(places().skip(1)).map(|(a, b)| (a - b).abs()).fold(f64::INFINITY, f64::min);
        let every = (libm::ceil(self.layout.size * 1.1 / nearest.max(1.0)) as usize).max(1);
        for (value, label) in ticks.iter().step_by(every) {
            let y = frame.py(*value);
            self.line(&[(frame.left, y), (frame.right(), y)], Hue::Grid, Pen::Hair);
            self.text(frame.left - 8.0, y + self.layout.size * 0.35, label, Anchor::End, "muted", f64::INFINITY);
        }
    }

    /// Names of series beside their marks, flowing over lines. Gives the bottom edge. `lines` shows the dash as well.
    pub(crate) fn legend(&self, left: f64, top: f64, items: &[(usize, String)], lines: bool) -> f64 {
        let swatch = if lines { 30.0 } else { 16.0 };
        let (mut x, mut y) = (left, top);
        for (series, label) in items {
            let room = self.layout.width - left - swatch;
            let width = swatch + self.width_of(label).min(room);
            if x > left && x + width > self.layout.width {
                x = left;
                y += self.line_height();
            }
            let middle = y + self.layout.size * 0.62;
            if lines {
                self.line(&[(x, middle), (x + 24.0, middle)], Hue::Series(*series), Pen::Curve);
            } else {
                self.glyph(x + 6.0, middle, Shape::of_series(*series), Ink(Hue::Series(*series), Pen::Solid), 4.5);
            }
            self.text(x + swatch, y + self.layout.size, label, Anchor::Start, "", room);
            x += width + 18.0;
        }
        y + self.line_height()
    }

    /// The `<svg>` element of a drawing as small as a word: no description element, its name says all.
    pub(crate) fn finish_small(self, height: f64, class: &str, words: Words) -> String {
        let document = self.document.borrow();
        let (w, id) = (self.layout.width, words.id);
        let name =
            if words.title.is_empty() { words.desc.to_owned() } else { format!("{}: {}", words.title, words.desc) };
        format!(
            "<svg class=\"{class}\" role=\"img\" aria-labelledby=\"{id}-t\" focusable=\"false\" viewBox=\"0 0 {w} {height}\" \
             width=\"{w}\" height=\"{height}\"><title id=\"{id}-t\">{}</title>{}</svg>",
            label::escape(&name),
            document.body
        )
    }

    /// The `<svg>` element.
    pub(crate) fn finish(self, height: f64, words: Words) -> String {
        let Words { id, title, desc } = words;
        let document = self.document.borrow();
        let class = if self.layout.narrow { "narrow" } else { "wide" };
        let suffix = if self.layout.narrow { "-n" } else { "" };
        let linked = !document.links.is_empty();
        let role = if linked { "group" } else { "img" };
        let (open, close) = if linked { ("<g aria-hidden=\"true\">", "</g>") } else { ("", "") };
        let more = if document.full { " Not everything fits the drawing; the table holds all." } else { "" };
        let (w, h) = (self.layout.width, libm::ceil(height.clamp(1.0, TALLEST)));
        format!(
            "<svg class=\"chart {class}\" role=\"{role}\" aria-labelledby=\"{id}{suffix}-t {id}{suffix}-d\" focusable=\"false\" \
             viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" font-size=\"{size}\"><title id=\"{id}{suffix}-t\">{title}</title>\
             <desc id=\"{id}{suffix}-d\">{desc}{more}</desc>{open}{body}{close}{links}</svg>",
            size = self.layout.size,
            title = label::escape(title),
            desc = label::escape_to(desc, label::PROSE),
            body = document.body,
            links = document.links,
        )
    }
}

/// Pixels as plotters' whole steps.
fn steps(pixels: f64) -> i32 {
    libm::round(pixels.clamp(-TALLEST, TALLEST) * STEPS) as i32
}
