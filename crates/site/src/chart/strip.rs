//! A strip of dots the height of a text line, for table cells.

use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::canvas::{Canvas, Layout};
use super::canvas::{Frame, Words};
use super::element::{MarkGroup, Shape};
use super::figure::{Figure, Table};
use super::ink::{Hue, Ink, Pen};
use super::{label, number};
use sparkbench_text::plural::count;

/// Size of a strip in pixels.
const SIZE: (f64, f64) = (96.0, 20.0);

/// Most dots in a strip. More would only be a smear.
const DOTS: usize = 100;

/// Values within a range.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Strip {
    /// Description of the values. Read out, not shown.
    pub title: String,
    /// Unit of the values.
    pub unit: String,
    /// Left and right end. Absent: the range of the values. Give the same to every strip of one column.
    pub range: Option<(f64, f64)>,
    /// Shaded segment, for example an interval.
    pub band: Option<(f64, f64)>,
    /// Emphasised value, for example the mean.
    pub mark: Option<f64>,
    /// One per run.
    pub values: Vec<f64>,
    /// Place in the palette, 0 for the baseline.
    pub series: usize,
}

impl Strip {
    /// Draws it. `id` is unique on the page. Both layouts of the figure are the same.
    pub fn draw(&self, id: &str) -> Figure {
        let values: Vec<f64> = self.values.iter().copied().filter(|v| number::usable(*v)).collect();
        let canvas = Canvas::new(Layout { width: SIZE.0, size: 12.0, narrow: false });
        let axis = number::usable_pair(self.range).map(|(low, high)| Axis::exact(low, high));
        if let Some(x) = axis.or_else(|| Axis::around(values.iter().copied())) {
            let frame =
                Frame { left: 4.0, top: 2.0, width: SIZE.0 - 8.0, height: SIZE.1 - 4.0, x, y: Axis::exact(0.0, 1.0) };
            self.strip(&canvas, &frame, &values);
        }
        let desc = self.desc(&values);
        let svg =
            canvas.finish_small(SIZE.1, "chart-strip", Words { id: &label::id(id), title: &self.title, desc: &desc });
        let mut table = Table::new(self.title.clone(), ["Value"]);
        for value in &values {
            table.row([number::with_unit(&number::significant(*value, 5), &self.unit)], None);
        }
        Figure { narrow: svg.clone(), svg, title: label::clean(&self.title), desc, finding: None, table }
    }

    /// Line, band, dots and mark.
    fn strip(&self, canvas: &Canvas, frame: &Frame, values: &[f64]) {
        let middle = SIZE.1 / 2.0;
        if let Some((low, high)) = number::usable_pair(self.band) {
            canvas.area(frame.px(low), 3.0, frame.px(high) - frame.px(low), SIZE.1 - 6.0, Hue::Band, Pen::Tint);
        }
        canvas.line(&[(frame.left, middle), (frame.right(), middle)], Hue::Axis, Pen::Line);
        let thin = values.len().div_ceil(DOTS).max(1);
        let at = values.iter().step_by(thin).map(|v| (frame.px(*v), middle)).collect();
        let ink = Ink(Hue::Series(self.series), Pen::Solid);
        canvas.crowd(&MarkGroup { at, shape: Shape::of_series(self.series), ink, radius: 2.6 });
        if let Some(mark) = self.mark.filter(|m| number::usable(*m)) {
            let x = frame.px(mark);
            canvas.line(&[(x, 2.0), (x, SIZE.1 - 2.0)], Hue::Ink, Pen::Line);
        }
    }

    /// In words.
    fn desc(&self, values: &[f64]) -> String {
        let show = |v: f64| number::with_unit(&number::significant(v, 4), &self.unit);
        let Some((low, high)) = super::axis::extent(values.iter().copied()) else {
            return "No values.".to_owned();
        };
        let mark =
            self.mark.filter(|m| number::usable(*m)).map_or_else(String::new, |m| format!(", marked at {}", show(m)));
        format!("{} from {} to {}{mark}.", count(values.len(), "value"), show(low), show(high))
    }
}

/// Its line in the registry.
#[derive(Debug)]
pub(crate) struct StripChart;

impl super::Chart for StripChart {
    fn name(&self) -> &'static str {
        "strip"
    }

    fn manual(&self) -> &'static str {
        "Dots of all runs between the ends of the column's common scale. The upright bar is the mean, and the shade its interval."
    }

    fn draw_json(&self, json: &str, id: &str) -> Result<Figure, serde_json::Error> {
        Ok(serde_json::from_str::<Strip>(json)?.draw(id))
    }
}
