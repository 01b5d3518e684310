//! One result object becomes a partial run. Each value is taken by name, and the rest is kept as an extra or a setting.
//!
//! In:  places in a tree.  Out: [`Sheet`]: a partial run, and the faults of its parts.
//! Not here: which key of which tool is which metric.

mod words;

use super::at::At;
use super::json::Kind;
use super::{JoinRole, Parsed, PartialRun, Record, SourceFile};
use crate::error::{Error, Place};
use crate::model::{Extra, ExtraValue, Origin, Reading, Series};

pub(super) use words::{bool_at, last_part, number_at, plain, scalar, short, suffix, text_at, unit_of};

use words::private;

/// Why a time per token of zero is no measurement.
const NO_FURTHER: &str = "an answer of one token, or in one piece, has no time per further token";
/// Limit for unread leaves that are kept. A file with more is not a result.
const LEAVES: usize = 4096;
/// Limit for the extras of one run.
const EXTRAS: usize = 16_384;
/// Most runs of one file: above every sweep, below what would fill the memory.
pub(super) const RUNS: usize = 65_536;

/// See the module.
pub(super) struct Sheet<'a, 'f> {
    /// The file, for origins.
    pub file: &'a SourceFile<'f>,
    /// Rule of what is read.
    pub rule: &'static str,
    /// Rule of what is computed from other figures of the file.
    pub derived: &'static str,
    /// Lines of the file above the document.
    pub above: u64,
    /// The result.
    pub partial: PartialRun,
    /// Goes to [`Parsed::left_out`].
    pub left_out: Vec<Error>,
    /// Goes to [`Parsed::notes`].
    pub notes: Vec<String>,
    leaves: usize,
}

impl<'a, 'f> Sheet<'a, 'f> {
    /// An empty sheet.
    pub fn new(file: &'a SourceFile<'f>, rule: &'static str, derived: &'static str) -> Self {
        let (left_out, notes) = (Vec::new(), Vec::new());
        Self { file, rule, derived, above: 0, partial: PartialRun::default(), left_out, notes, leaves: 0 }
    }

    /// Hands over what is wrong and worth knowing. Gives the partial run.
    pub fn into(self, parsed: &mut Parsed) -> PartialRun {
        parsed.left_out.extend(self.left_out);
        for note in self.notes {
            if !parsed.notes.contains(&note) {
                parsed.notes.push(note);
            }
        }
        self.partial
    }

    /// Where a value is.
    pub fn origin(&self, at: &At<'_>) -> Origin {
        self.file.origin(Some(self.above + u64::from(at.node.line)), Some(at.pointer()), self.rule)
    }

    /// The number at a place: none for missing and infinite ones. What is no number is left out and named.
    pub fn number(&mut self, at: &At<'_>) -> Option<f64> {
        match at.figure() {
            Ok(figure) => figure.finite(),
            Err(error) => {
                self.wrong(error);
                None
            }
        }
    }

    fn wrong(&mut self, error: Error) {
        self.left_out.push(moved(error, self.above));
    }

    /// Takes a metric, `scale` times what is written. False when nothing is there, or another key was first.
    pub fn metric(&mut self, at: &At<'_>, metric: &str, scale: f64) -> bool {
        let figure = match at.figure() {
            Ok(figure) if figure.value.is_finite() => figure,
            Ok(_) => return false,
            Err(error) => {
                self.wrong(error);
                return false;
            }
        };
        // Tools write zero where an answer had no further token.
        if metric.starts_with("tpot_ms") && figure.value <= 0.0 {
            self.extra(at, metric, if scale == 1.0 { "ms" } else { "s" }, Some(NO_FURTHER));
            return false;
        }
        // Digits behind the point move with a power of ten.
        let shift = if scale == 1.0 { 0 } else { 3 };
        let decimals = figure.decimals.map(|digits| digits.saturating_sub(shift));
        let origin = self.origin(at);
        let reading = Reading { metric: metric.to_owned(), value: figure.value * scale, decimals, origin };
        match self.partial.readings.iter_mut().find(|ours| ours.metric == metric) {
            // Of equal keys the last counts.
            Some(ours) if ours.origin.field == reading.origin.field => *ours = reading,
            Some(_) => return false,
            None => self.partial.readings.push(reading),
        }
        true
    }

    /// Takes a metric that is computed from other figures of the file. `at` is what it belongs to.
    pub fn derive(&mut self, at: &At<'_>, metric: &str, value: f64) {
        if value.is_finite() && self.reading(metric).is_none() {
            let origin = Origin { rule: self.derived, ..self.origin(at) };
            self.partial.readings.push(Reading { metric: metric.to_owned(), value, decimals: None, origin });
        }
    }

    /// A metric that was taken.
    pub fn reading(&self, metric: &str) -> Option<f64> {
        self.partial.readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value)
    }

    /// Takes a figure that is not one of our metrics.
    pub fn extra(&mut self, at: &At<'_>, name: &str, unit: &str, why: Option<&'static str>) {
        if self.partial.extras.len() >= EXTRAS {
            return;
        }
        if let Some(value) = self.number(at) {
            let origin = self.origin(at);
            let (name, unit, value) = (name.to_owned(), unit.to_owned(), ExtraValue::Number(value));
            self.partial.extras.push(Extra { name, unit, value, why, origin });
        }
    }

    /// Takes per-request values at a place, or computed from it.
    pub fn series(&mut self, at: &At<'_>, metric: &str, values: Vec<f64>, derived: bool) {
        if values.iter().any(|value| value.is_finite()) {
            let origin = self.origin(at);
            let origin = if derived { Origin { rule: self.derived, ..origin } } else { origin };
            self.partial.series.push(Series { metric: metric.to_owned(), values, origin });
        }
    }

    /// Keeps a setting under a name of the source.
    pub fn setting(&mut self, name: &str, value: impl Into<String>) {
        self.partial.setup.more.entry(name.to_owned()).or_insert_with(|| value.into());
    }

    /// Keeps the scalar or the short list at a place as a setting. Nothing of `null`.
    pub fn setting_at(&mut self, at: &At<'_>, name: &str) {
        if let Some(value) = scalar(at) {
            self.setting(name, value);
        }
    }

    /// Keeps unread values: numbers as extras, words as settings, nested names joined by a point. `taken` are the keys that were
    /// asked for, or that are skipped on purpose.
    pub fn rest(&mut self, at: &At<'_>, taken: &[&str], why: Option<&'static str>) {
        let Ok(entries) = at.entries() else { return };
        for (key, place) in entries.filter(|(key, _)| !taken.contains(key)) {
            self.leaf(&place, key, why);
        }
    }

    /// The same for one place.
    pub fn leaf(&mut self, at: &At<'_>, name: &str, why: Option<&'static str>) {
        self.leaves += 1;
        if self.leaves == LEAVES {
            self.notes.push(format!("more than {LEAVES} values that are not metrics. The others are skipped"));
        }
        if self.leaves >= LEAVES {
            return;
        }
        match &at.node.kind {
            Kind::Null | Kind::Packed(_) => {}
            Kind::Number(_) => {
                let (name, unit) = unit_of(name);
                self.extra(at, name, unit, why);
            }
            Kind::Text(_) | Kind::Bool(_) if private(name) => {}
            Kind::Text(_) | Kind::Bool(_) => self.setting_at(at, name),
            Kind::Map(_) => {
                for (key, place) in at.entries().into_iter().flatten() {
                    self.leaf(&place, &format!("{name}.{key}"), why);
                }
            }
            Kind::List(_) if private(name) => {}
            Kind::List(_) => match scalar(at) {
                Some(text) => self.setting(name, text),
                None => {
                    for (place, item) in at.items().into_iter().flatten().enumerate() {
                        self.leaf(&item, &format!("{name}.{place}"), why);
                    }
                }
            },
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

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    #[test]
    fn what_nobody_asked_for_is_kept_and_secrets_are_not() {
        let node = json::parse(
            "{\"a_ms\": 1.5, \"b\": {\"c\": 2, \"api_key\": \"sk\", \"kind\": \"x\"}, \"base_url\": \"http://h\", \"l\": [1, 2],\n\
             \"m\": [{\"q\": 3}], \"none\": null, \"home\": \"/root/x\", \"taken\": 9}",
        )
        .unwrap();
        let mut input: &[u8] = b"";
        let file = SourceFile::new("f.json", 0, &mut input);
        let mut sheet = Sheet::new(&file, "r", "r.derived");
        sheet.rest(&At::root(&node), &["taken"], None);
        let extras: Vec<(&str, &str)> =
            sheet.partial.extras.iter().map(|e| (e.name.as_str(), e.unit.as_str())).collect();
        assert_eq!(extras, [("a", "ms"), ("b.c", ""), ("m.0.q", "")]);
        let more: Vec<(&str, &str)> =
            sheet.partial.setup.more.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(more, [("b.kind", "x"), ("l", "1 2")]);
        assert_eq!(sheet.partial.extras[2].origin.line, Some(2));
    }

    #[test]
    fn endings_say_units_and_the_longest_wins() {
        assert_eq!(unit_of("mean_input_throughput_tokens_per_s"), ("mean_input_throughput", "tok/s"));
        assert_eq!(unit_of("std_ttft_ms"), ("std_ttft", "ms"));
        assert_eq!(unit_of("completed"), ("completed", ""));
        assert_eq!(last_part("/workspace/m/"), "m");
    }
}
