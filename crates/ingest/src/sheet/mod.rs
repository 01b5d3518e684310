//! One result object becomes a partial run. A format says what its keys mean, and the sheet takes the values.
//!
//! In:  places of a document.  Out: [`Sheet`]: a partial run, the place of every figure, and the faults of its parts.
//! Not here: which key of which tool is which metric (see the formats).

mod names;
mod nested;
#[cfg(test)]
mod tests;
mod values;

use super::at::At;
use super::figure::Figure;
use super::{JoinRole, List, Parsed, PartialRun, Record, SourceFile};
use sparkbench_model::{Extra, ExtraValue, Metric, Origin, Series};
use sparkbench_text::error::{Error, Place};

pub(super) use super::figure::Scale;
pub(super) use names::{cell, last_part, load, model_id, outcome, short};
pub(super) use values::{
    STATISTICS, bool_at, find, number_at, plain, raw_at, scalar, suffix, text_at, unit_of, values,
};

/// Why a time per token of zero is no measurement.
const NO_FURTHER: &str = "an answer of one token, or in one piece, has no time per further token";
/// Why an infinite figure is no metric.
const INFINITE: &str = "infinite is no measurement";
/// Limit for the extras of one run.
const EXTRAS: usize = 16_384;
/// Most runs of one file: above every sweep, below what would fill the memory.
pub(super) const RUNS: usize = 65_536;

/// A figure that is not among our metrics: key or name, unit, why.
pub(super) type ExtraOf<'k> = (&'k str, &'k str, Option<&'static str>);

/// Where the places of a document are in the file.
#[derive(Debug, Clone, Copy)]
enum Lines {
    /// Below so many lines of the file.
    Below(u64),
    /// All in one row, on this line. The names at the top are columns.
    Row(u64),
}

/// See the module.
pub(super) struct Sheet<'a, 'f> {
    file: &'a SourceFile<'f>,
    /// Rule of what is read.
    rule: &'static str,
    /// Rule of what is computed from other figures of the file.
    derived: &'static str,
    lines: Lines,
    zero_tpot: bool,
    /// The result.
    pub partial: PartialRun,
    left_out: Vec<Error>,
    notes: Vec<String>,
    lists: Vec<List>,
    leaves: usize,
}

impl<'a, 'f> Sheet<'a, 'f> {
    /// An empty sheet for a document that begins with the file.
    pub(super) fn new(file: &'a SourceFile<'f>, rule: &'static str, derived: &'static str) -> Self {
        Self {
            file,
            rule,
            derived,
            lines: Lines::Below(0),
            zero_tpot: false,
            partial: PartialRun::default(),
            left_out: Vec::new(),
            notes: Vec::new(),
            lists: Vec::new(),
            leaves: 0,
        }
    }

    /// For a document with so many lines of the file above it.
    pub(super) fn below(mut self, lines: u64) -> Self {
        self.lines = Lines::Below(lines);
        self
    }

    /// For a document that was a row of a table.
    pub(super) fn row(mut self, line: u64) -> Self {
        self.lines = Lines::Row(line);
        self
    }

    /// For a tool that leaves answers of one token out of its time per token. Its zeros are answers whose tokens came at once.
    pub(super) fn with_zero_tpot(mut self) -> Self {
        self.zero_tpot = true;
        self
    }

    /// Hands over what is wrong and worth knowing. Gives the partial run.
    pub(super) fn into(self, parsed: &mut Parsed) -> PartialRun {
        parsed.left_out.extend(self.left_out);
        for note in self.notes {
            if !parsed.notes.contains(&note) {
                parsed.notes.push(note);
            }
        }
        parsed.lists.extend(self.lists);
        self.partial
    }

    /// The same, where the partial run is a record as it is.
    pub(super) fn finish(self, parsed: &mut Parsed) {
        let partial = self.into(parsed);
        parsed.records.push(Record::Run(Box::new(partial)));
    }

    fn origin(&self, at: &At<'_>, rule: &'static str) -> Origin {
        match self.lines {
            Lines::Below(above) => self.file.origin(Some(above + u64::from(at.node.line)), Some(at.pointer()), rule),
            Lines::Row(line) => self.file.origin(Some(line), Some(column(&at.pointer())), rule),
        }
    }

    /// The number at a place: none for missing and infinite ones. What is no number is left out and named.
    pub(super) fn number(&mut self, at: &At<'_>) -> Option<f64> {
        match at.figure() {
            Ok(figure) => figure.finite(),
            Err(error) => {
                self.wrong(error);
                None
            }
        }
    }

    /// Leaves something out, with its line counted from the beginning of the file.
    pub(super) fn wrong(&mut self, error: Error) {
        self.left_out.push(match self.lines {
            Lines::Below(above) => moved(error, above),
            Lines::Row(line) => in_row(error, line),
        });
    }

    /// Takes a metric in the unit of the file. Gives its value, and nothing when none is there or another key was first.
    pub(super) fn metric(&mut self, at: &At<'_>, metric: &str) -> Option<f64> {
        self.scaled(at, metric, Scale::One)
    }

    /// Takes a metric that the file has in another unit.
    pub(super) fn scaled(&mut self, at: &At<'_>, metric: &str, scale: Scale) -> Option<f64> {
        debug_assert!(Metric::of_catalogue(metric).is_some(), "{metric}");
        let figure = match at.figure() {
            Ok(figure) if figure.value.is_finite() => figure,
            // Of a missing one nothing is kept.
            Ok(_) => {
                self.extra(at, metric, "", Some(INFINITE));
                return None;
            }
            Err(error) => {
                self.wrong(error);
                return None;
            }
        };
        let figure = figure.scaled(scale);
        let value = figure.value;
        // Most tools write zero where an answer had no further token.
        if metric.starts_with("tpot_ms") && value <= 0.0 && !self.zero_tpot {
            self.put_extra(at, metric, "ms", ExtraValue::Number(value), Some(NO_FURTHER));
            return None;
        }
        let reading = figure.reading(metric, self.origin(at, self.rule));
        match self.partial.readings.iter_mut().find(|ours| ours.metric == metric) {
            // Of equal keys the last counts.
            Some(ours) if ours.origin.field == reading.origin.field => *ours = reading,
            Some(_) => return None,
            None => self.partial.readings.push(reading),
        }
        Some(value)
    }

    /// Takes the metrics of a table of keys. Gives the keys that were taken.
    pub(super) fn rates<'k>(&mut self, at: &At<'_>, table: &[(&'k str, &str)]) -> Vec<&'k str> {
        let mut taken = Vec::new();
        for (key, metric) in table {
            if at.get(key).is_some_and(|at| self.metric(&at, metric).is_some()) {
                taken.push(*key);
            }
        }
        taken
    }

    /// Takes the statistics of one distribution. Those that a metric has are metrics, the others are extras such as `ttft_p75`. Without a
    /// metric all are extras.
    pub(super) fn statistics(&mut self, at: &At<'_>, metric: Option<(&str, Scale)>, (name, unit, why): ExtraOf<'_>) {
        for (statistic, value) in at.entries().into_iter().flatten() {
            match metric.zip(suffix(statistic)) {
                Some(((metric, scale), suffix)) => {
                    self.scaled(&value, &format!("{metric}{suffix}"), scale);
                }
                None => self.extra(&value, &format!("{name}_{statistic}"), unit, why),
            }
        }
    }

    /// Takes a metric that is computed from other figures of the file. `at` is what it belongs to.
    pub(super) fn derive(&mut self, at: &At<'_>, metric: &str, value: f64) {
        if value.is_finite() && self.reading(metric).is_none() {
            let origin = self.origin(at, self.derived);
            self.partial.readings.push(Figure::computed(value).reading(metric, origin));
        }
    }

    /// A metric that was taken.
    pub(super) fn reading(&self, metric: &str) -> Option<f64> {
        self.partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
    }

    /// Takes a figure that is not one of our metrics. Null is nothing, and infinite is a word.
    pub(super) fn extra(&mut self, at: &At<'_>, name: &str, unit: &str, why: Option<&'static str>) {
        match at.figure() {
            Ok(figure) if figure.value.is_nan() => {}
            Ok(figure) => {
                let value = if figure.value.is_finite() {
                    ExtraValue::Number(figure.value)
                } else {
                    ExtraValue::Text(if figure.value > 0.0 { "inf" } else { "-inf" }.to_owned())
                };
                self.put_extra(at, name, unit, value, why);
            }
            Err(error) => self.wrong(error),
        }
    }

    fn put_extra(&mut self, at: &At<'_>, name: &str, unit: &str, value: ExtraValue, why: Option<&'static str>) {
        if self.partial.extras.len() < EXTRAS {
            let origin = self.origin(at, self.rule);
            self.partial.extras.push(Extra { name: name.to_owned(), unit: unit.to_owned(), value, why, origin });
        }
    }

    /// Takes the figures of a table of keys.
    pub(super) fn extras(&mut self, at: &At<'_>, table: &[ExtraOf<'_>]) {
        for (key, unit, why) in table {
            if let Some(at) = at.get(key) {
                self.extra(&at, key, unit, *why);
            }
        }
    }

    /// Takes per-request values at a place, or computed from it.
    pub(super) fn series(&mut self, at: &At<'_>, metric: &str, values: Vec<f64>, derived: bool) {
        if values.iter().any(|value| value.is_finite()) {
            let origin = self.origin(at, if derived { self.derived } else { self.rule });
            self.partial.series.push(Series { metric: metric.to_owned(), values, origin });
        }
    }

    /// Takes the list at a place as values of a metric, each times `factor`.
    pub(super) fn series_at(&mut self, at: &At<'_>, metric: &str, factor: f64, derived: bool) {
        match values(at) {
            Ok(values) => self.series(at, metric, values.iter().map(|value| value * factor).collect(), derived),
            Err(error) => self.wrong(error),
        }
    }

    /// Takes values that are none of our metrics.
    pub(super) fn list(&mut self, name: &str, values: Vec<f64>) {
        if values.iter().any(|value| value.is_finite()) {
            self.lists.push(List { part: self.partial.part.clone(), name: name.to_owned(), values });
        }
    }

    /// Takes the list at a place as values that are none of our metrics.
    pub(super) fn list_at(&mut self, at: &At<'_>, name: &str) {
        match values(at) {
            Ok(values) => self.list(name, values),
            Err(error) => self.wrong(error),
        }
    }

    /// Something a reader should know.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Says how many requests failed, if any did.
    pub(super) fn failures(&mut self, failed: f64, all: f64) {
        if failed > 0.0 {
            self.note(format!("{failed} of {all} requests failed. They are excluded from latencies"));
        }
    }

    /// Takes the model by its id or its path.
    pub(super) fn model(&mut self, id: &str) {
        if let Some(id) = model_id(id) {
            self.partial.model = Some(last_part(&id).to_owned());
            self.partial.setup.model_id = Some(id);
        }
    }
}

/// Makes records of the runs of one file. One run joins the files beside it under the same name. Of several it would be unclear which.
pub(super) fn records(partials: Vec<PartialRun>, parsed: &mut Parsed) {
    if partials.len() >= RUNS {
        parsed.notes.push(format!("the file holds more than {RUNS} runs. The others are skipped"));
    }
    let join_role = if partials.len() == 1 { JoinRole::Base } else { JoinRole::Alone };
    for partial in partials {
        parsed.records.push(Record::Run(Box::new(PartialRun { join_role, ..partial })));
    }
}

/// An error with its line counted from the beginning of the file.
pub(super) fn moved(mut error: Error, above: u64) -> Error {
    error.place = match error.place {
        Some(Place::Line(line)) => Some(Place::Line(line + above)),
        Some(Place::LineField(line, field)) => Some(Place::LineField(line + above, field)),
        other => other,
    };
    error
}

/// An error with the line and the column of the row it is in.
fn in_row(mut error: Error, row: u64) -> Error {
    error.place = match error.place {
        Some(Place::Line(_)) => Some(Place::Line(row)),
        Some(Place::LineField(_, field)) => Some(Place::LineField(row, column(&field))),
        other => other,
    };
    error
}

/// The name of a column, unchanged, followed by the place in a list.
fn column(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace("~1", "/").replace("~0", "~")
}
