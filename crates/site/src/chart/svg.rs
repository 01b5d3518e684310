//! Our SVG backend for plotters: classes instead of colours, links and titles around marks, compact numbers.
//!
//! In:  plotters' drawing calls, in tenths of a pixel (plotters counts in whole numbers), and our own elements' calls.
//! Out: the inside of an `<svg>` element in two layers: the drawing, and the links.
//! Not here: layout, and the frame around it (see [`super::canvas`]).
//!
//! Source: `plotters_backend::DrawingBackend`, version 0.3.

use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::{self, Write as _};
use std::rc::Rc;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind};

use super::{ink, label};

/// Steps per pixel.
pub(super) const STEPS: f64 = 10.0;

/// Bytes after which nothing more is drawn. The frame, title and description take the rest of 60 kB.
pub(super) const BODY_LIMIT: usize = 55_000;

/// The drawing so far.
#[derive(Debug, Default)]
pub struct Document {
    /// Shapes and texts.
    pub body: String,
    /// Links with what belongs to them, above the body.
    pub links: String,
    /// Set once something was left out for size.
    pub full: bool,
}

impl Document {
    /// Adds to the body, or marks the document full.
    pub fn draw(&mut self, element: &str) {
        if self.room(element) {
            self.body.push_str(element);
        }
    }

    /// Adds a link, or marks the document full.
    pub fn link(&mut self, element: &str) {
        if self.room(element) {
            self.links.push_str(element);
        }
    }

    /// True while there is room for this much more.
    fn room(&mut self, element: &str) -> bool {
        if self.body.len() + self.links.len() + element.len() > BODY_LIMIT {
            self.full = true;
        }
        !self.full
    }
}

/// The backend. Clones of its document see what it draws.
#[derive(Debug)]
pub struct Svg {
    document: Rc<RefCell<Document>>,
    size: (u32, u32),
}

/// Result of every call: nothing here can fail.
pub(super) type DrawResult = Result<(), DrawingErrorKind<Infallible>>;

impl Svg {
    /// A backend with a size in pixels that draws into the document.
    pub fn new(document: Rc<RefCell<Document>>, width: f64, height: f64) -> Self {
        let steps = |v: f64| libm::round(v.clamp(0.0, 1e6) * STEPS) as u32;
        Self { document, size: (steps(width), steps(height)) }
    }

    /// Draws an element as written.
    pub fn draw(&mut self, element: &str) {
        self.document.borrow_mut().draw(element);
    }

    /// Adds a link as written.
    pub fn link(&mut self, element: &str) {
        self.document.borrow_mut().link(element);
    }

    /// A `<path>` in the classes of a colour.
    fn path(&mut self, data: &str, color: BackendColor) {
        let (hue, pen) = ink::classes(color.rgb);
        self.draw(&format!("<path class=\"{hue} {pen}\" d=\"{data}\"/>"));
    }
}

/// Tenths of a pixel, written as pixels without a trailing zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pixels(i32);

impl fmt::Display for Pixels {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 10, (self.0 % 10).abs());
        let sign = if self.0 < 0 && whole == 0 && rest != 0 { "-" } else { "" };
        if rest == 0 { write!(to, "{whole}") } else { write!(to, "{sign}{whole}.{rest}") }
    }
}

/// Tenths of a pixel as pixels.
pub(super) const fn pixels(steps: i32) -> Pixels {
    Pixels(steps)
}

/// Path data through the points: absolute at first, relative after, which is shorter and exact in whole steps.
pub(super) fn path_data(points: impl IntoIterator<Item = BackendCoord>) -> String {
    let mut out = String::new();
    let mut last: Option<BackendCoord> = None;
    for (x, y) in points {
        match last {
            None => drop(write!(out, "M{} {}", pixels(x), pixels(y))),
            Some((px, py)) if (px, py) == (x, y) => {}
            Some((px, py)) if py == y => drop(write!(out, "h{}", pixels(x - px))),
            Some((px, py)) if px == x => drop(write!(out, "v{}", pixels(y - py))),
            Some((px, py)) => drop(write!(out, "l{} {}", pixels(x - px), pixels(y - py))),
        }
        last = Some((x, y));
    }
    out
}

impl DrawingBackend for Svg {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> DrawResult {
        Ok(())
    }

    fn present(&mut self) -> DrawResult {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> DrawResult {
        self.path(&format!("M{} {}h.1", pixels(x), pixels(y)), color);
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> DrawResult {
        self.path(&path_data([from, to]), style.color());
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(&mut self, a: BackendCoord, b: BackendCoord, style: &S, _fill: bool) -> DrawResult {
        let (left, right, top, bottom) = (a.0.min(b.0), a.0.max(b.0), a.1.min(b.1), a.1.max(b.1));
        let (w, h) = (pixels(right - left), pixels(bottom - top));
        self.path(&format!("M{} {}h{w}v{h}h-{w}z", pixels(left), pixels(top)), style.color());
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> DrawResult {
        self.path(&path_data(path), style.color());
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        _fill: bool,
    ) -> DrawResult {
        let (hue, pen) = ink::classes(style.color().rgb);
        let r = pixels(i32::try_from(radius).unwrap_or(0));
        self.draw(&format!(
            "<circle class=\"{hue} {pen}\" cx=\"{}\" cy=\"{}\" r=\"{r}\"/>",
            pixels(center.0),
            pixels(center.1)
        ));
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        points: I,
        style: &S,
    ) -> DrawResult {
        self.path(&format!("{}z", path_data(points)), style.color());
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, content: &str, style: &T, pos: BackendCoord) -> DrawResult {
        let (hue, _) = ink::classes(style.color().rgb);
        let anchor = match style.anchor().h_pos {
            HPos::Left => "",
            HPos::Center => " text-anchor=\"middle\"",
            HPos::Right => " text-anchor=\"end\"",
        };
        // 0.7 of the size is the height of capitals.
        let drop = style.size()
            * match style.anchor().v_pos {
                VPos::Top => 0.7,
                VPos::Center => 0.35,
                VPos::Bottom => 0.0,
            };
        let y = pos.1 + libm::round(drop) as i32;
        self.draw(&format!(
            "<text class=\"{hue}\" x=\"{}\" y=\"{}\"{anchor}>{}</text>",
            pixels(pos.0),
            pixels(y),
            label::escape(content)
        ));
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        content: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        Ok((libm::ceil(label::width(content, style.size())) as u32, libm::ceil(style.size()) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_written_as_pixels_with_one_decimal_at_most() {
        let cases = [(0, "0"), (10, "1"), (-5, "-0.5"), (-15, "-1.5"), (1234, "123.4"), (-20, "-2")];
        for (steps, text) in cases {
            assert_eq!(pixels(steps).to_string(), text);
        }
    }

    #[test]
    fn paths_are_relative_after_their_start() {
        assert_eq!(path_data([(10, 10), (20, 10), (20, 30), (20, 30), (15, 25)]), "M1 1h1v2l-0.5 -0.5");
    }

    #[test]
    fn a_full_document_takes_nothing_more() {
        let mut document = Document::default();
        document.draw(&"x".repeat(BODY_LIMIT));
        document.draw("y");
        document.link("z");
        assert!(document.full && document.links.is_empty() && document.body.len() == BODY_LIMIT);
    }
}
