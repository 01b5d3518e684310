//! The preview picture of a link to a campaign: question, answer, verdict.
//!
//! In:  four texts and a tone.  Out: a PNG of 1,200 by 630 pixels, the size that previews of links are made for.
//! Not here: its text.

use super::badge::Tone;
use super::raster::{Bitmap, Colour, width, wrap};

/// Size, and the room around the texts.
const WIDE: usize = 1_200;
const HIGH: usize = 630;
const ROOM: f32 = 76.0;

const PAPER: Colour = [0xff, 0xff, 0xff];
const INK: Colour = [0x1a, 0x1d, 0x21];
const SOFT: Colour = [0x56, 0x5d, 0x66];
const MARK: Colour = [0x1d, 0x5a, 0x96];

/// Text of a card.
#[derive(Debug)]
pub(crate) struct Card<'a> {
    /// Which campaign it is, in one line.
    pub about: &'a str,
    pub question: &'a str,
    /// The answer in a sentence.
    pub answer: &'a str,
    /// The verdict in one line, where there is one, and what it means.
    pub verdict: Option<(&'a str, Tone)>,
}

impl Card<'_> {
    /// The picture.
    pub(crate) fn png(&self) -> std::io::Result<Vec<u8>> {
        let mut canvas = Bitmap::new(WIDE, HIGH, PAPER);
        canvas.rectangle((0, 0), (18, HIGH), MARK);
        let inner = WIDE as f32 - 2.0 * ROOM;
        let name = "sparkbench";
        canvas.text((ROOM, 92.0), 30.0, MARK, name);
        let beside = ROOM + width(name, 30.0) + 22.0;
        for line in wrap(self.about, 26.0, WIDE as f32 - ROOM - beside, 1) {
            canvas.text((beside, 92.0), 26.0, SOFT, &line);
        }
        // The largest letters that show the question in three lines.
        let sizes = [60.0_f32, 52.0, 44.0];
        let fits = |size: &&f32| !wrap(self.question, **size, inner, 3).iter().any(|line| line.ends_with('…'));
        let size = sizes.iter().find(fits).copied().unwrap_or(44.0);
        let mut y = 118.0;
        for line in wrap(self.question, size, inner, 3) {
            y += size * 1.18;
            canvas.text((ROOM, y), size, INK, &line);
        }
        y += 22.0;
        let bottom = if self.verdict.is_some() { 512.0 } else { 580.0 };
        let room = ((bottom - y) / 43.0) as usize;
        for line in wrap(&clauses(self.answer, 31.0, inner, room), 31.0, inner, room) {
            y += 43.0;
            canvas.text((ROOM, y), 31.0, SOFT, &line);
        }
        if let Some((verdict, tone)) = self.verdict {
            let fits = |size: &f32| width(verdict, *size) <= inner - 48.0;
            let size = [27.0, 24.0, 21.0].into_iter().find(fits).unwrap_or(21.0);
            let line = wrap(verdict, size, inner - 48.0, 1).join(" ");
            canvas.rectangle((ROOM as usize, 534), (width(&line, size) as usize + 48, 56), tone.colour());
            canvas.text((ROOM + 24.0, 562.0 + size * 0.36), size, PAPER, &line);
        }
        canvas.png()
    }
}

/// The clauses of a sentence from the first that fit the lines. Where not even the first fits, the whole, which is then cut.
fn clauses(sentence: &str, size: f32, widest: f32, lines: usize) -> String {
    if sentence.is_empty() {
        return String::new();
    }
    let parts: Vec<&str> = sentence.trim_end_matches('.').split("; ").collect();
    let taken = |n: &usize| parts.iter().take(*n).copied().collect::<Vec<_>>().join("; ") + ".";
    let fits = |text: &String| wrap(text, size, widest, lines + 1).len() <= lines;
    (1..=parts.len()).rev().map(|n| taken(&n)).find(fits).unwrap_or_else(|| sentence.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_light_picture_whatever_it_says() {
        let long = "What does a container cost on this machine, and does it matter? ".repeat(20);
        for text in ["", "?", long.as_str(), "\u{4e2d}\u{6587} <script>"] {
            let card = Card { about: text, question: text, answer: text, verdict: Some((text, Tone::Bad)) };
            let png = card.png().unwrap();
            assert_eq!(png[16..24], [0, 0, 4, 176, 0, 0, 2, 118]);
            assert!(png.len() < 50_000, "{} bytes", png.len());
            assert_eq!(png, card.png().unwrap());
        }
    }

    #[test]
    fn an_answer_loses_whole_clauses_before_it_is_cut() {
        let text = "No difference is shown; it could be as large as 5 %; more runs would decide.";
        assert_eq!(clauses(text, 30.0, 10_000.0, 1), text);
        assert_eq!(clauses(text, 30.0, 450.0, 1), "No difference is shown.");
        assert_eq!(clauses(text, 30.0, 50.0, 1), text);
    }
}
