//! Pixels: outlines of letters filled with smooth edges, and a PNG of them.
//!
//! In:  text, rectangles, colours.  Out: the bytes of a PNG.
//! Not here: the design of the picture (see `card`).
//!
//! Previews of links show no SVG, so one picture of the site must be pixels. It is drawn from outlines that the program carries. No font of
//! the machine is read, so the same words give the same bytes. Coverage of a pixel is the exact area below each edge, summed along its row,
//! the method of `font-rs` (Raph Levien, 2016).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::LazyLock;

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

/// Straight pieces of one curve: letters here are at most some 70 pixels high.
const PIECES: u8 = 6;

/// Steps from the ground to a colour at the edge of a letter.
const LEVELS: f32 = 15.0;

/// An outline: advance in thousandths of the em, and closed contours with y upwards.
struct Glyph {
    advance: f32,
    contours: Vec<Vec<(f32, f32)>>,
}

static GLYPHS: LazyLock<BTreeMap<char, Glyph>> = LazyLock::new(|| {
    include_str!("../../../../static/card.glyphs")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(glyph)
        .collect()
});

/// One line of the file: code point, advance, path.
fn glyph(line: &str) -> Option<(char, Glyph)> {
    let mut parts = line.splitn(3, ' ');
    let character = char::from_u32(u32::from_str_radix(parts.next()?, 16).ok()?)?;
    let advance = parts.next()?.parse().ok()?;
    Some((character, Glyph { advance, contours: contours(parts.next().unwrap_or_default()) }))
}

fn contours(path: &str) -> Vec<Vec<(f32, f32)>> {
    let mut all: Vec<Vec<(f32, f32)>> = Vec::new();
    let mut at = (0.0, 0.0);
    let commands = path.match_indices(|c: char| c.is_ascii_alphabetic()).map(|(k, _)| k);
    for start in commands {
        let rest = &path[start..];
        let numbers = rest[1..].split(|c: char| c.is_ascii_alphabetic()).next().unwrap_or_default();
        let n: Vec<f32> = numbers.split(',').filter_map(|n| n.parse().ok()).collect();
        match (&rest[..1], &n[..]) {
            ("m", [x, y]) => {
                at = (at.0 + x, at.1 + y);
                all.push(vec![at]);
            }
            ("l", [x, y]) => {
                at = (at.0 + x, at.1 + y);
                all.last_mut().into_iter().for_each(|contour| contour.push(at));
            }
            ("q", [cx, cy, x, y]) => {
                let (from, control, to) = (at, (at.0 + cx, at.1 + cy), (at.0 + x, at.1 + y));
                let point = |k: u8| {
                    let t = f32::from(k) / f32::from(PIECES);
                    let mix = |a: f32, b: f32, c: f32| (1.0 - t) * ((1.0 - t) * a + 2.0 * t * b) + t * t * c;
                    (mix(from.0, control.0, to.0), mix(from.1, control.1, to.1))
                };
                all.last_mut().into_iter().for_each(|contour| contour.extend((1..=PIECES).map(point)));
                at = to;
            }
            _ => {}
        }
    }
    all
}

/// The outline of a character. Of one that is not among them, that of a question mark.
fn outline(c: char) -> Option<&'static Glyph> {
    GLYPHS.get(&c).or_else(|| GLYPHS.get(&'?'))
}

/// Width of a text in pixels at a font size.
pub(super) fn width(text: &str, size: f32) -> f32 {
    text.chars().filter_map(outline).map(|glyph| glyph.advance).sum::<f32>() * size / 1000.0
}

/// Words in lines no wider than this. What does not fit the last line ends in an ellipsis.
pub(super) fn wrap(text: &str, size: f32, widest: f32, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let joined = lines.last().map(|line| format!("{line} {word}"));
        match (joined, lines.last_mut()) {
            (Some(joined), Some(line)) if width(&joined, size) <= widest => *line = joined,
            _ => lines.push(word.to_owned()),
        }
    }
    let cut = lines.len() > most;
    lines.truncate(most);
    let last = lines.len().saturating_sub(1);
    for (k, line) in lines.iter_mut().enumerate() {
        let mut shortened = cut && k == last;
        while width(line, size) > widest || shortened && width(&format!("{line}…"), size) > widest {
            shortened = true;
            // By whole words where there are several.
            match line.rfind(' ') {
                Some(end) => line.truncate(end),
                None if line.pop().is_none() => break,
                None => {}
            }
        }
        if shortened {
            let end = line.trim_end_matches([' ', ',', ';', '.', '(']).len();
            line.truncate(end);
            line.push('…');
        }
    }
    lines
}

/// A picture that is being drawn.
pub(super) struct Bitmap {
    wide: usize,
    high: usize,
    pixels: Vec<u8>,
}

impl Bitmap {
    /// All of one colour.
    pub(super) fn new(wide: usize, high: usize, ground: Colour) -> Self {
        Self { wide, high, pixels: ground.repeat(wide * high) }
    }

    /// Fills a rectangle of whole pixels.
    pub(super) fn rectangle(&mut self, (left, top): (usize, usize), (wide, high): (usize, usize), colour: Colour) {
        for y in top..(top + high).min(self.high) {
            for x in left..(left + wide).min(self.wide) {
                self.mix(x, y, colour, 1.0);
            }
        }
    }

    /// Writes a text whose base line begins at `x`, `y`.
    pub(super) fn text(&mut self, (x, y): (f32, f32), size: f32, colour: Colour, text: &str) {
        let mut pen = x;
        for glyph in text.chars().filter_map(outline) {
            self.fill(glyph, (pen, y), size / 1000.0, colour);
            pen += glyph.advance * size / 1000.0;
        }
    }

    fn mix(&mut self, x: usize, y: usize, colour: Colour, share: f32) {
        let at = 3 * (y * self.wide + x);
        let Some(pixel) = self.pixels.get_mut(at..at + 3) else { return };
        for (own, new) in pixel.iter_mut().zip(colour) {
            let mixed = f32::from(*own) + (f32::from(new) - f32::from(*own)) * share;
            *own = (mixed + 0.5) as u8;
        }
    }

    fn fill(&mut self, glyph: &Glyph, (x, y): (f32, f32), scale: f32, colour: Colour) {
        let place = |(px, py): (f32, f32)| (x + px * scale, y - py * scale);
        let points = || glyph.contours.iter().flatten().copied().map(place);
        let least = points().fold((f32::MAX, f32::MAX), |a, b| (a.0.min(b.0), a.1.min(b.1)));
        let most = points().fold((f32::MIN, f32::MIN), |a, b| (a.0.max(b.0), a.1.max(b.1)));
        if least.0 > most.0 {
            return;
        }
        let (left, top) = (least.0.floor(), least.1.floor());
        let (wide, high) = ((most.0 - left).ceil() as usize + 2, (most.1 - top).ceil() as usize + 1);
        let mut cover = Cover { wide, high, area: vec![0.0; wide * high] };
        for contour in &glyph.contours {
            let ends = contour.iter().skip(1).chain(contour.first());
            for (from, to) in contour.iter().zip(ends) {
                let (from, to) = (place(*from), place(*to));
                cover.edge((from.0 - left, from.1 - top), (to.0 - left, to.1 - top));
            }
        }
        for row in 0..high {
            let mut sum = 0.0;
            for column in 0..wide {
                sum += cover.area[row * wide + column];
                let (px, py) = (left + column as f32, top + row as f32);
                let inside = px >= 0.0 && py >= 0.0 && (px as usize) < self.wide && (py as usize) < self.high;
                if inside && sum.abs() > 0.002 {
                    // In few steps: the eye sees no more, and the picture is a third as heavy.
                    let share = (sum.abs().min(1.0) * LEVELS + 0.5).floor() / LEVELS;
                    self.mix(px as usize, py as usize, colour, share);
                }
            }
        }
    }

    /// As a PNG: a byte a pixel with a palette where that holds every colour, else a byte a channel. Every row as it is.
    pub(super) fn png(&self) -> std::io::Result<Vec<u8>> {
        let colours: BTreeSet<&[u8]> = self.pixels.chunks(3).collect();
        let few = colours.len() <= 256;
        let places: BTreeMap<&[u8], u8> = colours.iter().copied().zip(0..=u8::MAX).collect();
        let mut rows = Vec::with_capacity(self.pixels.len() + self.high);
        for row in self.pixels.chunks(3 * self.wide) {
            rows.push(0);
            if few {
                rows.extend(row.chunks(3).filter_map(|pixel| places.get(pixel)));
            } else {
                rows.extend_from_slice(row);
            }
        }
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(&rows)?;
        let mut head = Vec::new();
        head.extend((self.wide as u32).to_be_bytes());
        head.extend((self.high as u32).to_be_bytes());
        head.extend([8, if few { 3 } else { 2 }, 0, 0, 0]);
        let palette = if few { Some((b"PLTE", colours.into_iter().flatten().copied().collect())) } else { None };
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        let parts = [(b"IDAT", packed.finish()?), (b"IEND", Vec::new())];
        for (name, data) in std::iter::once((b"IHDR", head)).chain(palette).chain(parts) {
            let mut sum = flate2::Crc::new();
            sum.update(name);
            sum.update(&data);
            out.extend((data.len() as u32).to_be_bytes());
            out.extend_from_slice(name);
            out.extend_from_slice(&data);
            out.extend(sum.sum().to_be_bytes());
        }
        Ok(out)
    }
}

/// Signed area to the right of edges, one value for each pixel.
struct Cover {
    wide: usize,
    high: usize,
    area: Vec<f32>,
}

impl Cover {
    fn add(&mut self, row: usize, column: f32, value: f32) {
        let column = column as usize;
        if column < self.wide
            && let Some(area) = self.area.get_mut(row * self.wide + column)
        {
            *area += value;
        }
    }

    fn edge(&mut self, a: (f32, f32), b: (f32, f32)) {
        let (way, a, b) = if a.1 <= b.1 { (1.0, a, b) } else { (-1.0, b, a) };
        if a.1 >= b.1 {
            return;
        }
        let slope = (b.0 - a.0) / (b.1 - a.1);
        let mut x = a.0;
        for row in a.1 as usize..(b.1.ceil() as usize).min(self.high) {
            let (top, bottom) = ((row as f32).max(a.1), (row as f32 + 1.0).min(b.1));
            let next = x + slope * (bottom - top);
            let height = way * (bottom - top);
            let (low, high) = if x < next { (x, next) } else { (next, x) };
            let (first, last) = (low.floor(), high.ceil());
            if last <= first + 1.0 {
                // Within one pixel: a trapezium, the rest of its height reaches all pixels to the right.
                let middle = 0.5 * (x + next) - first;
                self.add(row, first, height * (1.0 - middle));
                self.add(row, first + 1.0, height * middle);
            } else {
                // Over several: what the edge has covered up to the right side of each pixel, by the integral of its height.
                let per = 1.0 / (high - low);
                let covered = |right: f32| {
                    let reach = (right.min(high) - low).max(0.0);
                    0.5 * reach * reach * per + (right - high).max(0.0)
                };
                let (mut before, mut total, mut column) = (0.0, 0.0, first);
                while column < last {
                    let sum = covered(column + 1.0);
                    let own = sum - before;
                    self.add(row, column, height * (own - total));
                    total = own;
                    before = sum;
                    column += 1.0;
                }
                self.add(row, last, height * (1.0 - total));
            }
            x = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ink(canvas: &Bitmap) -> f64 {
        canvas.pixels.chunks(3).map(|p| f64::from(255 - p[0]) / 255.0).sum()
    }

    fn drawn(contour: Vec<(f32, f32)>) -> Bitmap {
        let mut canvas = Bitmap::new(40, 40, [255; 3]);
        canvas.fill(&Glyph { advance: 0.0, contours: vec![contour] }, (5.25, 30.5), 1.0, [0; 3]);
        canvas
    }

    #[test]
    fn ink_is_the_area_of_the_outline_wherever_it_lies() {
        let cases = [
            (vec![(0.0, 0.0), (10.0, 0.0), (10.0, 7.0), (0.0, 7.0)], 70.0),
            (vec![(0.3, 0.2), (12.1, 0.2), (12.1, 9.6)], 0.5 * 11.8 * 9.4),
            (vec![(0.0, 0.0), (25.0, 0.5), (25.0, 1.5), (0.0, 1.0)], 25.0),
        ];
        for (contour, area) in cases {
            let found = ink(&drawn(contour));
            assert!((found - area).abs() < 0.02 * area, "{found} of {area}");
        }
    }

    #[test]
    fn every_printable_letter_has_an_outline_and_a_hole_is_one() {
        for c in (' '..='~').chain("–…·−±×≈≤≥ä".chars()) {
            assert!(GLYPHS.contains_key(&c), "{c:?}");
        }
        let mut canvas = Bitmap::new(100, 100, [255; 3]);
        canvas.text((10.0, 80.0), 100.0, [0; 3], "o");
        assert_eq!(canvas.pixels[3 * (52 * 100 + 38)], 255, "the middle of an o is empty");
    }

    #[test]
    fn words_stay_within_their_width_and_a_cut_is_seen() {
        let text = "one two three four five six seven eight";
        let lines = wrap(text, 30.0, 200.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends_with('…'), "{lines:?}");
        assert!(wrap(&"w".repeat(200), 30.0, 200.0, 3).iter().all(|l| width(l, 30.0) <= 200.0));
        assert_eq!(wrap(text, 30.0, 10_000.0, 2), [text]);
        assert!(wrap("", 30.0, 100.0, 2).is_empty());
    }

    #[test]
    fn the_file_is_a_png_of_its_size() {
        let bytes = Bitmap::new(3, 2, [1, 2, 3]).png().unwrap();
        assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(bytes[16..24], [0, 0, 0, 3, 0, 0, 0, 2]);
        // The check sum of an empty closing chunk is known.
        assert!(bytes.ends_with(&[0xae, 0x42, 0x60, 0x82]));
    }
}
