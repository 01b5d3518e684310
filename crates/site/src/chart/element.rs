//! Elements plotters does not have: marks with shape, ring, link and title, crowds of marks, and labels.
//!
//! In:  places in the coordinates of an area, and styles.  Out: calls on our backend.

use plotters::element::{Drawable, PointCollection};
use plotters_backend::{BackendCoord, DrawingBackend, DrawingErrorKind};
use std::fmt::Write as _;

use super::ink::Ink;
use super::label;
use super::svg::{STEPS, Svg, pixels};

/// Error of the backend, for signatures.
type Fault = DrawingErrorKind<<Svg as DrawingBackend>::ErrorType>;

/// Shape of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    /// Triangle, point up.
    Up,
    Diamond,
    /// Triangle, point down.
    Down,
    /// Plus sign with body.
    Cross,
    /// Triangle, point right.
    Right,
    /// Triangle, point left.
    Left,
}

impl Shape {
    /// Shape of the n-th series. The first six differ.
    pub fn of_series(n: usize) -> Self {
        [Self::Circle, Self::Square, Self::Up, Self::Diamond, Self::Down, Self::Cross][n % super::ink::SERIES]
    }

    /// Closed path around a centre, in steps. Areas are about equal for one radius.
    fn data(self, (x, y): BackendCoord, radius: f64) -> String {
        let r = |k: f64| libm::round(radius * STEPS * k) as i32;
        let at = |dx: i32, dy: i32| format!("M{} {}", pixels(x + dx), pixels(y + dy));
        let lines = |parts: &[(i32, i32)]| {
            parts.iter().fold(String::new(), |mut out, (dx, dy)| {
                let _ = write!(out, "l{} {}", pixels(*dx), pixels(*dy));
                out
            }) + "z"
        };
        match self {
            Self::Circle => {
                let (radius, across) = (pixels(r(1.0)), pixels(2 * r(1.0)));
                let arc = format!("a{radius} {radius} 0 1 1 ");
                format!("{}{arc}{across} 0{arc}-{across} 0z", at(-r(1.0), 0))
            }
            Self::Square => {
                let s = r(0.89);
                format!("{}h{}v{}h-{}z", at(-s, -s), pixels(2 * s), pixels(2 * s), pixels(2 * s))
            }
            Self::Diamond => {
                let s = r(1.25);
                at(0, -s) + &lines(&[(s, s), (-s, s), (-s, -s)])
            }
            Self::Up | Self::Down => {
                let (h, w) = if self == Self::Up { (r(1.2), r(1.2)) } else { (-r(1.2), r(1.2)) };
                at(0, -h) + &lines(&[(w, 2 * h - h / 5), (-2 * w, 0)])
            }
            Self::Right | Self::Left => {
                let (w, h) = if self == Self::Right { (r(1.2), r(1.2)) } else { (-r(1.2), r(1.2)) };
                at(w, 0) + &lines(&[(-(2 * w - w / 5), h), (0, -2 * h)])
            }
            Self::Cross => {
                let (a, b) = (r(0.42), r(0.85));
                at(-a, -a - b)
                    + &lines(&[
                        (2 * a, 0),
                        (0, b),
                        (b, 0),
                        (0, 2 * a),
                        (-b, 0),
                        (0, b),
                        (-2 * a, 0),
                        (0, -b),
                        (-b, 0),
                        (0, -2 * a),
                        (b, 0),
                    ])
            }
        }
    }
}

/// One mark.
#[derive(Debug, Clone)]
pub struct Mark<'a> {
    /// Place.
    pub at: (f64, f64),
    pub shape: Shape,
    /// Colour and whether it is full or hollow.
    pub ink: Ink,
    /// Radius of a circle of the same area, in pixels.
    pub radius: f64,
    /// Set off by a ring.
    pub ringed: bool,
    /// Name for the tooltip and for the link. Empty for none.
    pub note: &'a str,
    /// Where it leads.
    pub href: Option<&'a str>,
    /// Radius of the area that can be clicked, in pixels.
    pub reach: f64,
}

impl<'a> PointCollection<'a, (f64, f64)> for &'a Mark<'_> {
    type Point = &'a (f64, f64);
    type IntoIter = std::iter::Once<&'a (f64, f64)>;
    fn point_iter(self) -> Self::IntoIter {
        std::iter::once(&self.at)
    }
}

impl Drawable<Svg> for Mark<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(&self, places: I, backend: &mut Svg, _: (u32, u32)) -> Result<(), Fault> {
        for place in places {
            let mut shapes = String::new();
            if self.ringed {
                let ring = Shape::Circle.data(place, self.radius + 4.0);
                let _ = write!(shapes, "<path class=\"ink line\" d=\"{ring}\"/>");
            }
            let _ = write!(
                shapes,
                "<path class=\"{}\" d=\"{}\"/>",
                self.ink.classes(),
                self.shape.data(place, self.radius)
            );
            let note = label::escape(self.note);
            let title = if note.is_empty() { String::new() } else { format!("<title>{note}</title>") };
            match self.href.and_then(label::link) {
                Some(href) => {
                    let hit = Shape::Circle.data(place, self.reach.max(self.radius));
                    let href = label::xml(href);
                    backend.link(&format!(
                        "<a href=\"{href}\" aria-label=\"{note}\">{title}<path class=\"hit\" d=\"{hit}\"/>{shapes}</a>"
                    ));
                }
                None if title.is_empty() => backend.draw(&shapes),
                None => backend.draw(&format!("<g>{title}{shapes}</g>")),
            }
        }
        Ok(())
    }
}

/// Many marks of one look, as one path.
#[derive(Debug, Clone)]
pub struct MarkGroup {
    /// Places.
    pub at: Vec<(f64, f64)>,
    /// Shape of all.
    pub shape: Shape,
    /// Colour of all.
    pub ink: Ink,
    /// Radius in pixels.
    pub radius: f64,
}

impl<'a> PointCollection<'a, (f64, f64)> for &'a MarkGroup {
    type Point = &'a (f64, f64);
    type IntoIter = std::slice::Iter<'a, (f64, f64)>;
    fn point_iter(self) -> Self::IntoIter {
        self.at.iter()
    }
}

impl Drawable<Svg> for MarkGroup {
    fn draw<I: Iterator<Item = BackendCoord>>(&self, places: I, backend: &mut Svg, _: (u32, u32)) -> Result<(), Fault> {
        if self.shape == Shape::Circle {
            // Round caps on strokes of no length are circles at a third of the bytes.
            let data: String = places.map(|(x, y)| format!("M{} {}h0", pixels(x), pixels(y))).collect();
            let across = pixels(libm::round(self.radius * 2.0 * STEPS) as i32);
            if !data.is_empty() {
                backend.draw(&format!(
                    "<path class=\"{} dots\" stroke-width=\"{across}\" d=\"{data}\"/>",
                    self.ink.0.class()
                ));
            }
            return Ok(());
        }
        let data: String = places.map(|place| self.shape.data(place, self.radius)).collect();
        if !data.is_empty() {
            backend.draw(&format!("<path class=\"{}\" d=\"{data}\"/>", self.ink.classes()));
        }
        Ok(())
    }
}

/// Position of a text relative to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Begins there.
    Start,
    /// Is centred there.
    Middle,
    /// Ends there.
    End,
}

/// One line of text. Its place is the baseline.
#[derive(Debug, Clone)]
pub struct Label<'a> {
    /// Place.
    pub at: (f64, f64),
    /// As shown, already cut to fit.
    pub text: &'a str,
    /// The whole text where it was cut. Empty otherwise.
    pub whole: &'a str,
    /// Alignment.
    pub anchor: Anchor,
    /// Classes: `muted`, `strong`, `linked`, or empty.
    pub class: &'a str,
}

impl<'a> PointCollection<'a, (f64, f64)> for &'a Label<'_> {
    type Point = &'a (f64, f64);
    type IntoIter = std::iter::Once<&'a (f64, f64)>;
    fn point_iter(self) -> Self::IntoIter {
        std::iter::once(&self.at)
    }
}

impl Drawable<Svg> for Label<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(&self, places: I, backend: &mut Svg, _: (u32, u32)) -> Result<(), Fault> {
        let anchor = match self.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = if self.class.is_empty() { String::new() } else { format!(" class=\"{}\"", self.class) };
        let title =
            if self.whole.is_empty() { String::new() } else { format!("<title>{}</title>", label::escape(self.whole)) };
        for (x, y) in places {
            backend.draw(&format!(
                "<text{class} x=\"{}\" y=\"{}\"{anchor}>{title}{}</text>",
                pixels(x),
                pixels(y),
                label::escape(self.text)
            ));
        }
        Ok(())
    }
}

/// Target area between two opposite corners. It is invisible.
fn hit(a: BackendCoord, b: BackendCoord) -> String {
    format!(
        "<rect class=\"hit\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
        pixels(a.0.min(b.0)),
        pixels(a.1.min(b.1)),
        pixels((a.0 - b.0).abs()),
        pixels((a.1 - b.1).abs())
    )
}

/// A rectangle that links, without a look of its own until hovered or focused.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// Two opposite corners.
    pub corners: [(f64, f64); 2],
    /// Where it leads.
    pub href: &'a str,
    pub note: &'a str,
}

impl<'a> PointCollection<'a, (f64, f64)> for &'a Target<'_> {
    type Point = &'a (f64, f64);
    type IntoIter = std::slice::Iter<'a, (f64, f64)>;
    fn point_iter(self) -> Self::IntoIter {
        self.corners.iter()
    }
}

impl Drawable<Svg> for Target<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut places: I,
        backend: &mut Svg,
        _: (u32, u32),
    ) -> Result<(), Fault> {
        let (Some(a), Some(b), Some(href)) = (places.next(), places.next(), label::link(self.href)) else {
            return Ok(());
        };
        let note = label::escape(self.note);
        backend.link(&format!(
            "<a href=\"{}\" aria-label=\"{note}\"><title>{note}</title>{}</a>",
            label::xml(href),
            hit(a, b)
        ));
        Ok(())
    }
}

/// A rectangle that says what is drawn there, for who points at it: curves have no marks of their own.
#[derive(Debug, Clone)]
pub struct Reading<'a> {
    /// Two opposite corners.
    pub corners: [(f64, f64); 2],
    /// The value there.
    pub note: &'a str,
}

impl<'a> PointCollection<'a, (f64, f64)> for &'a Reading<'_> {
    type Point = &'a (f64, f64);
    type IntoIter = std::slice::Iter<'a, (f64, f64)>;
    fn point_iter(self) -> Self::IntoIter {
        self.corners.iter()
    }
}

impl Drawable<Svg> for Reading<'_> {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        mut places: I,
        backend: &mut Svg,
        _: (u32, u32),
    ) -> Result<(), Fault> {
        if let (Some(a), Some(b)) = (places.next(), places.next()) {
            backend.draw(&format!("<g><title>{}</title>{}</g>", label::escape(self.note), hit(a, b)));
        }
        Ok(())
    }
}
