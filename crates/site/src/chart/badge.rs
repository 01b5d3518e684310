//! A badge: two short texts side by side, for a README or a page of another project.
//!
//! In:  two texts and a tone.  Out: an SVG that stands alone and asks nothing of anybody.
//! Not here: its text.
//!
//! It is shown as a picture on a page that we do not know, light or dark, so it brings its own grounds. White on each of them has a contrast
//! of at least 4.5 (WCAG 2.2, 1.4.3). The text says everything that the colour says.

use super::label::{escape, fit, width};

/// Height, font size and room beside a text.
const HEIGHT: f64 = 20.0;
const SIZE: f64 = 11.0;
const ROOM: f64 = 7.0;
/// Width of one side at most: names can be of any length.
const WIDEST: f64 = 420.0;
/// Ground of the first text.
const GROUND: &str = "#3d4450";

/// What the second text means for who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing against it.
    Good,
    /// Something against it.
    Bad,
    /// Not known.
    Open,
    /// Neither.
    Plain,
}

impl Tone {
    const fn ground(self) -> &'static str {
        match self {
            Self::Good => "#1a6b3c",
            Self::Bad => "#a3262a",
            Self::Open => "#7a5200",
            Self::Plain => "#2b5a8c",
        }
    }

    /// The same ground as red, green and blue.
    pub(super) fn colour(self) -> [u8; 3] {
        let part = |at: usize| self.ground().get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        [1, 3, 5].map(|at| part(at).unwrap_or(0))
    }
}

/// The picture.
pub(crate) fn badge(subject: &str, message: &str, tone: Tone) -> String {
    let side = |text: &str| {
        let text = fit(text, SIZE, WIDEST);
        let wide = width(&text, SIZE).ceil();
        (escape(&text), wide)
    };
    let ((left, a), (right, b)) = (side(subject), side(message));
    let (first, second) = (a + 2.0 * ROOM, b + 2.0 * ROOM);
    let all = first + second;
    let base = (HEIGHT + SIZE) / 2.0 - 1.5;
    let whole = format!("{}: {}", escape(subject), escape(message));
    let at = first + ROOM;
    let ground = tone.ground();
    // The text is set to the width that was measured, so that it fits whatever font there is.
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"{HEIGHT}\" viewBox=\"0 0 {all} {HEIGHT}\" role=\"img\" \
         aria-label=\"{whole}\"><title>{whole}</title><desc>A verdict and its interval.</desc>\
         <rect width=\"{first}\" height=\"{HEIGHT}\" fill=\"{GROUND}\"/><rect x=\"{first}\" width=\"{second}\" height=\"{HEIGHT}\" fill=\"{ground}\"/>\
         <g fill=\"#fff\" font-family=\"Helvetica,Arial,sans-serif\" font-size=\"{SIZE}\">\
         <text x=\"{ROOM}\" y=\"{base}\" textLength=\"{a}\" lengthAdjust=\"spacingAndGlyphs\">{left}</text>\
         <text x=\"{at}\" y=\"{base}\" textLength=\"{b}\" lengthAdjust=\"spacingAndGlyphs\">{right}</text></g></svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG 2.2, relative luminance.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn white_can_be_read_on_every_ground() {
        let tones = [Tone::Good, Tone::Bad, Tone::Open, Tone::Plain];
        for ground in tones.map(Tone::ground).into_iter().chain([GROUND]) {
            let contrast = 1.05 / (luminance(ground) + 0.05);
            assert!(contrast >= 4.5, "{ground}: {contrast:.2}");
        }
    }

    #[test]
    fn it_names_itself_stands_alone_and_holds_no_markup_of_others() {
        let svg = badge("docker <script>&\"", "+2.0% (1.0 to 3.0), slower", Tone::Bad);
        assert!(svg.contains("aria-label=\"docker &lt;script&gt;&amp;&quot;: +2.0% (1.0 to 3.0), slower\""), "{svg}");
        assert!(svg.contains("<title>docker &lt;script&gt;"), "{svg}");
        assert_eq!(svg.matches("http").count(), 1, "the name of the format and no address: {svg}");
        for word in ["href", "<style", "<image", "url("] {
            assert!(!svg.contains(word), "{word}");
        }
    }

    #[test]
    fn a_name_of_any_length_fits() {
        let svg = badge(&"long ".repeat(500), "x", Tone::Plain);
        let wide: f64 = svg.split("width=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().parse().unwrap();
        assert!(wide < 2.0 * (WIDEST + 2.0 * ROOM) && svg.len() < 2_000, "{wide}, {} bytes", svg.len());
    }
}
