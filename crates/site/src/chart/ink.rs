//! Colours as meanings: the role of a mark instead of its red.
//!
//! In:  a hue and a pen.  Out: a sentinel colour that plotters carries through its elements, and the classes [`super::svg`]
//! writes for it. The stylesheet alone knows what they look like, so one drawing serves every theme.

use plotters::style::{RGBColor, ShapeStyle};

use super::verdict_mark::VerdictMark;

/// Series that can be distinguished by colour, shape and dash. Further ones repeat and should have been facets.
pub(super) const SERIES: usize = 6;

/// Steps of the sequential colours, from least to most.
pub(super) const STEPS: usize = 7;

/// First byte of every sentinel colour.
const MARK: u8 = 0xC5;

/// The drawn element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hue {
    /// Foreground.
    Ink,
    /// Quiet foreground.
    Muted,
    /// Axes.
    Axis,
    /// Grid lines.
    Grid,
    /// Shaded segments.
    Band,
    /// The n-th series of a figure, counted from 0, repeating after [`SERIES`].
    Series(usize),
    Verdict(VerdictMark),
    /// The n-th step of the sequential colours, counted from 0.
    Step(usize),
    /// The page itself.
    Paper,
}

/// How it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pen {
    /// Line of one pixel.
    Hair,
    /// Line that matters.
    Line,
    /// Line of a series, with its dash.
    Curve,
    /// Bar-like line.
    Thick,
    /// Filled area.
    Fill,
    /// Filled mark, set off from what lies beneath.
    Solid,
    /// Outlined mark.
    Hollow,
    /// Faint area.
    Tint,
    /// First of four depths of an area. The last is [`Pen::Fill`].
    Faint,
    /// Second depth.
    Light,
    /// Third depth.
    Deep,
}

/// A hue and a pen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ink(pub Hue, pub Pen);

/// Classes of hues, in the order of [`Ink::code`].
const HUES: [&str; 24] = [
    "ink", "muted", "axis", "grid", "band", "s0", "s1", "s2", "s3", "s4", "s5", "worse", "better", "neutral", "same",
    "unsure", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "paper",
];

/// Classes of pens, in the order of [`Ink::code`].
const PENS: [&str; 11] =
    ["hair", "line", "curve", "thick", "fill", "solid", "hollow", "tint", "faint", "light", "deep"];

impl Hue {
    /// Class of the hue.
    pub fn class(self) -> &'static str {
        HUES[usize::from(self.code())]
    }

    /// Index into [`HUES`].
    fn code(self) -> u8 {
        match self {
            Self::Ink => 0,
            Self::Muted => 1,
            Self::Axis => 2,
            Self::Grid => 3,
            Self::Band => 4,
            // Below SERIES, so it fits. The remainder keeps any caller's count in the palette.
            Self::Series(n) => 5 + (n % SERIES) as u8,
            Self::Verdict(VerdictMark::Slower) => 11,
            Self::Verdict(VerdictMark::Faster) => 12,
            Self::Verdict(VerdictMark::More | VerdictMark::Less) => 13,
            Self::Verdict(VerdictMark::Equivalent) => 14,
            Self::Verdict(VerdictMark::Inconclusive | VerdictMark::NotComparable) => 15,
            Self::Step(n) => 16 + n.min(STEPS - 1) as u8,
            Self::Paper => 23,
        }
    }
}

impl Pen {
    /// Class of the pen.
    pub fn class(self) -> &'static str {
        PENS[usize::from(self.code())]
    }

    /// Index into [`PENS`].
    const fn code(self) -> u8 {
        match self {
            Self::Hair => 0,
            Self::Line => 1,
            Self::Curve => 2,
            Self::Thick => 3,
            Self::Fill => 4,
            Self::Solid => 5,
            Self::Hollow => 6,
            Self::Tint => 7,
            Self::Faint => 8,
            Self::Light => 9,
            Self::Deep => 10,
        }
    }
}

impl Ink {
    /// Sentinel colour for plotters.
    pub fn rgb(self) -> RGBColor {
        RGBColor(MARK, self.0.code(), self.1.code())
    }

    /// `class` attribute's value.
    pub fn classes(self) -> String {
        format!("{} {}", self.0.class(), self.1.class())
    }
}

/// Classes behind a colour that came back from plotters. An unknown colour is plain foreground.
pub(super) fn classes(rgb: (u8, u8, u8)) -> (&'static str, &'static str) {
    let known =
        (rgb.0 == MARK).then(|| Some((*HUES.get(usize::from(rgb.1))?, *PENS.get(usize::from(rgb.2))?))).flatten();
    known.unwrap_or(("ink", "line"))
}

impl From<Ink> for ShapeStyle {
    fn from(ink: Ink) -> Self {
        let filled =
            matches!(ink.1, Pen::Fill | Pen::Solid | Pen::Tint | Pen::Hollow | Pen::Faint | Pen::Light | Pen::Deep);
        let style = Self::from(&ink.rgb());
        if filled { style.filled() } else { style }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentinel_comes_back_as_the_classes_it_stands_for() {
        let ink = Ink(Hue::Series(8), Pen::Tint);
        let RGBColor(r, g, b) = ink.rgb();
        assert_eq!(classes((r, g, b)), ("s2", "tint"));
        assert_eq!(ink.classes(), "s2 tint");
    }

    #[test]
    fn a_colour_of_nobodys_making_is_plain_foreground() {
        assert_eq!(classes((255, 0, 0)), ("ink", "line"));
        assert_eq!(classes((MARK, 200, 0)), ("ink", "line"));
    }
}
