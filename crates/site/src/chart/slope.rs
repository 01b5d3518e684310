//! Pairs of runs: the change of each pair from one environment to the other, and the differences with their mean.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::axis::{Axis, extent};
use super::canvas::{Canvas, Frame};
use super::element::{Anchor, Mark, MarkGroup, Shape};
use super::figure::{Figure, FigureText, Table};
use super::ink::{Hue, Ink, Pen};
use super::number;
use sparkbench_text::plural::count;

/// Most pairs whose runs are drawn one by one with link and title. Beyond it they are a crowd and the table holds the links.
const LINKED: usize = 40;

/// Most pairs that are drawn. Of more, every k-th, and the table has all.
const DRAWN: usize = 400;

/// Pairs of values of one metric.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Slope {
    /// Title: the subject of the drawing.
    pub title: String,
    /// The conclusion, for the caption.
    pub finding: Option<String>,
    /// Name of the value.
    pub axis: String,
    /// Unit of the value.
    pub unit: String,
    /// Environment on the left: the baseline.
    pub from: String,
    /// Environment on the right.
    pub to: String,
    /// In order of time.
    pub pairs: Vec<Pair>,
    /// Mean of the differences, as published.
    pub mean: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
}

/// Two runs that belong together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pair {
    /// For example `block 3`.
    pub label: String,
    /// Value on the left.
    pub from: f64,
    /// Value on the right.
    pub to: f64,
    /// Right minus left, as published.
    pub difference: f64,
    /// Page of the run on the left.
    pub from_href: Option<String>,
    /// Page of the run on the right.
    pub to_href: Option<String>,
}

impl Pair {
    /// True when it has a place.
    fn drawn(&self) -> bool {
        [self.from, self.to, self.difference].into_iter().all(number::usable)
    }
}

impl Slope {
    /// Draws it. `id` is unique on the page.
    pub fn draw(&self, id: &str) -> Figure {
        FigureText { id, title: &self.title, desc: self.desc(), finding: &self.finding, table: self.table() }.compose(
            |canvas| {
                let values = Axis::around(self.drawn().flat_map(|p| [p.from, p.to]))?;
                let ends = number::usable_pair(self.interval).into_iter().flat_map(|(low, high)| [low, high]);
                let differences = Axis::around(self.drawn().map(|p| p.difference).chain(ends).chain([0.0]))?;
                Some(self.sheet(canvas, values, differences))
            },
        )
    }

    /// Pairs that have a place.
    fn drawn(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|pair| pair.drawn())
    }

    /// Both panels: side by side, or one below the other. Gives the height.
    fn sheet(&self, canvas: &Canvas, values: Axis, differences: Axis) -> f64 {
        let narrow = canvas.layout.narrow;
        let full = canvas.layout.width;
        let height = if narrow { 210.0 } else { 260.0 };
        let step = self.pairs.len().div_ceil(DRAWN).max(1);
        let pairs: Vec<&Pair> = self.drawn().step_by(step).collect();
        let name = number::axis_name(&self.axis, &self.unit);
        let half = if narrow { full } else { full * 0.46 };
        let bottom = self.slopes(canvas, values, &pairs, (&name, half, height));
        let (left, top) = if narrow { (0.0, bottom + 14.0) } else { (full * 0.54, 0.0) };
        let end = self.differences(canvas, differences, &pairs, (left, top, full - left, height));
        let words = if self.mean.is_some_and(number::usable) {
            "Lines join the two runs of a pair. Triangle: that pair's difference, up where the candidate is higher. Diamond: mean difference, with the 95\u{a0}% interval of pairs. The line at 0 is no difference; the scale of the values does not start at zero."
        } else {
            "Lines join the two runs of a pair. The line at 0 is no difference."
        };
        canvas.paragraph(0.0, bottom.max(end) + 4.0, words, "muted", full) + 4.0
    }

    /// The left panel: one line for each pair. Gives the bottom edge.
    fn slopes(&self, canvas: &Canvas, y: Axis, pairs: &[&Pair], (name, width, height): (&str, f64, f64)) -> f64 {
        canvas.text(0.0, canvas.layout.size, name, Anchor::Start, "muted", width);
        let top = canvas.line_height() + 8.0;
        let left = canvas.y_room(y, 5);
        let frame = Frame { left, top, width: width - left, height, x: Axis::exact(0.0, 1.0), y };
        canvas.y_axis(&frame, 5);
        let places = [frame.px(0.16), frame.px(0.84)];
        for x in places {
            canvas.line(&[(x, frame.top), (x, frame.bottom())], Hue::Axis, Pen::Hair);
        }
        for pair in pairs {
            canvas.line(&[(places[0], frame.py(pair.from)), (places[1], frame.py(pair.to))], Hue::Muted, Pen::Hair);
        }
        let sides = [(&self.from, 0_usize), (&self.to, 1)];
        for ((label, series), x) in sides.into_iter().zip(places) {
            let ink = Ink(Hue::Series(series), Pen::Solid);
            let shape = Shape::of_series(series);
            let value = |pair: &Pair| if series == 0 { pair.from } else { pair.to };
            if pairs.len() > LINKED {
                let at = pairs.iter().map(|pair| (x, frame.py(value(pair)))).collect();
                canvas.crowd(&MarkGroup { at, shape, ink, radius: 2.8 });
            } else {
                for pair in pairs {
                    let shown = number::with_unit(&number::significant(value(pair), 5), &self.unit);
                    let note = format!("{}, {label}: {shown}", pair.label);
                    let href = if series == 0 { pair.from_href.as_deref() } else { pair.to_href.as_deref() };
                    let at = (x, frame.py(value(pair)));
                    canvas.mark(&Mark { at, shape, ink, radius: 4.2, ringed: false, note: &note, href, reach: 8.0 });
                }
            }
            let room = frame.width * 0.5;
            let half = (canvas.width_of(label).min(room)) / 2.0;
            let middle = (x + 7.0).clamp(half + 8.0, (width - half).max(half + 8.0));
            let base = frame.bottom() + 6.0 + canvas.layout.size;
            canvas.glyph(middle - half - 5.0, base - canvas.layout.size * 0.36, shape, ink, 4.2);
            canvas.text(middle + 3.0, base, label, Anchor::Middle, "", room);
        }
        frame.bottom() + 8.0 + canvas.line_height()
    }

    /// The right panel: the differences in order, their mean at the end. Gives the bottom edge.
    fn differences(
        &self,
        canvas: &Canvas,
        y: Axis,
        pairs: &[&Pair],
        (from, top, width, height): (f64, f64, f64, f64),
    ) -> f64 {
        let name = number::axis_name("difference", &self.unit);
        canvas.text(from, top + canvas.layout.size, &name, Anchor::Start, "muted", width);
        let top = top + canvas.line_height() + 8.0;
        let left = from + canvas.y_room(y, 5);
        let x = Axis::exact(0.0, pairs.len() as f64 + 1.5);
        let frame = Frame { left, top, width: from + width - left - 4.0, height, x, y };
        canvas.y_axis(&frame, 5);
        let zero = frame.py(0.0);
        canvas.line(&[(frame.left, zero), (frame.right(), zero)], Hue::Ink, Pen::Line);
        let radius = if pairs.len() > LINKED { 2.8 } else { 4.2 };
        let place = |(k, pair): (usize, &&Pair)| (frame.px(k as f64 + 0.75), frame.py(pair.difference));
        // Up and down differ in shape: the count of each is the sign test a reader makes by eye.
        for (side, shape) in
            [(Ordering::Greater, Shape::Up), (Ordering::Less, Shape::Down), (Ordering::Equal, Shape::Circle)]
        {
            let of_side = |(_, pair): &(usize, &&Pair)| pair.difference.partial_cmp(&0.0) == Some(side);
            let at = pairs.iter().enumerate().filter(of_side).map(place).collect();
            canvas.crowd(&MarkGroup { at, shape, ink: Ink(Hue::Series(1), Pen::Solid), radius });
        }
        let end = frame.px(pairs.len() as f64 + 0.9);
        if let Some((low, high)) = number::usable_pair(self.interval) {
            canvas.line(&[(end, frame.py(low)), (end, frame.py(high))], Hue::Ink, Pen::Line);
            for value in [low, high] {
                canvas.line(&[(end - 4.0, frame.py(value)), (end + 4.0, frame.py(value))], Hue::Ink, Pen::Line);
            }
        }
        if let Some(mean) = self.mean.filter(|mean| number::usable(*mean)) {
            canvas.glyph(end, frame.py(mean), Shape::Diamond, Ink(Hue::Ink, Pen::Solid), 5.0);
        }
        let base = frame.bottom() + 6.0 + canvas.layout.size;
        canvas.text(frame.left, base, "pairs in order of time", Anchor::Start, "muted", frame.width * 0.75);
        canvas.text(frame.right(), base, "mean", Anchor::End, "", frame.width * 0.25);
        frame.bottom() + 8.0 + canvas.line_height()
    }

    /// Description for those who do not see the drawing.
    fn desc(&self) -> String {
        let drawn = self.drawn().count();
        let mut text = format!("{} of {} and {}. ", count(drawn, "pair"), self.from, self.to);
        let up = self.drawn().filter(|p| p.difference > 0.0).count();
        let down = self.drawn().filter(|p| p.difference < 0.0).count();
        text.push_str(&format!("{} is above in {up} and below in {down}. ", self.to));
        if let Some((low, high)) = extent(self.drawn().map(|p| p.difference)) {
            let show = |v: f64| number::with_unit(&number::signed(v, number::decimals_for(v.abs(), 3)), &self.unit);
            text.push_str(&format!("Differences from {} to {}. ", show(low), show(high)));
        }
        if drawn < self.pairs.len() {
            text.push_str(&format!("{} without a finite value left out. ", count(self.pairs.len() - drawn, "pair")));
        }
        text.push_str("The scales do not start at zero.");
        text
    }

    /// Every number.
    fn table(&self) -> Table {
        let caption = format!("{}: {}", self.title, number::axis_name(&self.axis, &self.unit));
        let head = ["Pair", self.from.as_str(), self.to.as_str(), "Difference"];
        let mut table = Table::new(caption, head);
        for pair in &self.pairs {
            let show = |v: f64| number::significant(v, 6);
            let difference = number::signed(pair.difference, number::decimals_for(pair.difference.abs(), 3));
            table.row([pair.label.clone(), show(pair.from), show(pair.to), difference], pair.to_href.as_deref());
        }
        if let Some(mean) = self.mean {
            let digits = number::usable_pair(self.interval).map_or_else(
                || number::decimals_for(mean.abs(), 3),
                |(low, high)| number::decimals_of_interval(low, high),
            );
            let ends = number::usable_pair(self.interval).map_or_else(
                || "no interval".to_owned(),
                |(low, high)| format!("{} to {}", number::signed(low, digits), number::signed(high, digits)),
            );
            table.row(["mean difference".to_owned(), String::new(), ends, number::signed(mean, digits)], None);
        }
        table
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub struct SlopeChart;

impl super::Chart for SlopeChart {
    fn name(&self) -> &'static str {
        "slope"
    }

    fn manual(&self) -> &'static str {
        "Each line joins the two runs of one block, the baseline left and the other environment right. Lines that mostly tilt one way suggest a difference. The interval beside them tells whether there is one. Beside the lines are the differences in order of time. The diamond is their mean, with its 95 % interval against the line at zero."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Slope>(json)?.draw(id))
    }
}
