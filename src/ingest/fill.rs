//! Fills a run from a JSON document of another tool: metrics, other figures, settings.
//!
//! In:  places of a document, and what each means.  Out: a [`PartialRun`], with the place of every figure.
//! Not here: what a key means (see the formats).
//!
//! Settings of other tools hold addresses, keys, prompts and paths beside the settings that distinguish runs. What is taken from them is therefore
//! narrow: numbers, truth values, and short words under a name that promises nothing private.

use super::at::At;
use super::json::Kind;
use super::{List, Parsed, PartialRun, Record, SourceFile};
use crate::error::Error;
use crate::model::{Extra, ExtraValue, Metric, Origin, Reading, Series};

/// Longest list of numbers that is shown one by one. A longer one is kept as a list.
const ONE_BY_ONE: usize = 64;
/// Most settings that are kept of one run.
const SETTINGS: usize = 400;
/// Longest word of a setting.
const LONGEST_WORD: usize = 80;

/// Parts of names that may hold something private.
const PRIVATE: &[&str] =
    &["secret", "passw", "api_key", "apikey", "authorization", "bearer", "credential", "api_routes"];
/// Parts of names under which a word is not taken, though a number may be.
const UNTOLD: &[&str] = &[
    "key",
    "token",
    "url",
    "target",
    "host",
    "header",
    "path",
    "dir",
    "file",
    "command",
    "cmd",
    "prompt",
    "uuid",
    "serial",
    "user",
    "email",
    "session",
    "id",
    "text",
    "content",
    "message",
    "label",
    "endpoint_name",
    "address",
    "namespace",
    "str",
    "route",
    "output_artifact",
];

/// A partial run on its way, and what went wrong.
pub(super) struct Fill<'f, 'i> {
    file: &'f SourceFile<'i>,
    /// Name of the rule for what the file says.
    pub rule: &'static str,
    /// Name of the rule for what is computed from it.
    pub derived: &'static str,
    /// The known facts so far.
    pub partial: PartialRun,
    line: Option<u64>,
    columns: bool,
    left_out: Vec<Error>,
    notes: Vec<String>,
    lists: Vec<List>,
}

impl<'f, 'i> Fill<'f, 'i> {
    /// Nothing known yet.
    pub fn new(file: &'f SourceFile<'i>, rule: &'static str, derived: &'static str) -> Self {
        Self {
            file,
            rule,
            derived,
            partial: PartialRun::default(),
            line: None,
            columns: false,
            left_out: Vec::new(),
            notes: Vec::new(),
            lists: Vec::new(),
        }
    }

    /// For a document that is one line of a file.
    pub fn on_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// For a document that was a row: places are columns.
    pub fn by_column(mut self) -> Self {
        self.columns = true;
        self
    }

    /// Where a place is, as seen by a rule.
    pub fn origin(&self, at: &At<'_>, rule: &'static str) -> Origin {
        let pointer = at.pointer();
        // The name of a column is unchanged, followed by the place in a list.
        let field =
            if self.columns { pointer.trim_start_matches('/').replace("~1", "/").replace("~0", "~") } else { pointer };
        self.file.origin(self.line_of(at), Some(field), rule)
    }

    fn line_of(&self, at: &At<'_>) -> Option<u64> {
        self.line.or(Some(at.node.line.into()))
    }

    /// A metric as the file has it. Null is not measured. Gives the value.
    pub fn metric(&mut self, metric: &str, at: &At<'_>) -> Option<f64> {
        self.scaled(metric, at, 1.0)
    }

    /// A metric in another unit: the figure times `factor`.
    pub fn scaled(&mut self, metric: &str, at: &At<'_>, factor: f64) -> Option<f64> {
        let figure = match at.figure() {
            Ok(figure) if figure.value.is_nan() => return None,
            Ok(figure) => figure,
            Err(error) => {
                self.left_out.push(error);
                return None;
            }
        };
        let origin = self.origin(at, self.rule);
        let exact = (factor - 1.0).abs() < f64::EPSILON;
        let value = if exact { figure.value } else { figure.value * factor };
        let decimals = if exact { figure.decimals } else { None };
        self.push(Reading { metric: metric.to_owned(), value, decimals, origin });
        Some(value)
    }

    /// A metric computed from figures of the file, the first of which is at `at`.
    pub fn derive(&mut self, metric: &str, value: f64, at: &At<'_>) {
        if value.is_finite() {
            let origin = self.origin(at, self.derived);
            self.push(Reading { metric: metric.to_owned(), value, decimals: None, origin });
        }
    }

    /// Of two figures for one metric the first counts.
    fn push(&mut self, reading: Reading) {
        debug_assert!(Metric::of_catalogue(&reading.metric).is_some(), "{}", reading.metric);
        if self.partial.readings.iter().all(|known| known.metric != reading.metric) {
            self.partial.readings.push(reading);
        }
    }

    /// A figure that is not one of our metrics. Null is nothing.
    pub fn extra(&mut self, name: &str, unit: &str, at: &At<'_>, why: Option<&'static str>) {
        match at.figure() {
            Ok(figure) if figure.value.is_nan() => {}
            Ok(figure) => {
                let value = if figure.value.is_finite() {
                    ExtraValue::Number(figure.value)
                } else {
                    ExtraValue::Text(if figure.value > 0.0 { "inf" } else { "-inf" }.to_owned())
                };
                self.put_extra(name, unit, value, at, why, self.rule);
            }
            Err(error) => self.left_out.push(error),
        }
    }

    fn put_extra(
        &mut self,
        name: &str,
        unit: &str,
        value: ExtraValue,
        at: &At<'_>,
        why: Option<&'static str>,
        rule: &'static str,
    ) {
        let origin = self.origin(at, rule);
        self.partial.extras.push(Extra { name: name.to_owned(), unit: unit.to_owned(), value, why, origin });
    }

    /// Every number at or below a place, as extras under their way from there. Words and truth values are skipped.
    pub fn numbers(&mut self, name: &str, at: &At<'_>, why: Option<&'static str>) {
        self.numbers_as(name, "", at, why);
    }

    /// The same in one unit. Without one it is that of the name.
    pub fn numbers_as(&mut self, name: &str, unit: &str, at: &At<'_>, why: Option<&'static str>) {
        match &at.node.kind {
            Kind::Number(_) => self.extra(name, if unit.is_empty() { unit_of(name) } else { unit }, at, why),
            Kind::Map(_) => {
                for (key, inner) in at.entries().into_iter().flatten() {
                    self.numbers_as(&format!("{name}.{}", slug_key(key)), unit, &inner, why);
                }
            }
            Kind::List(items) => {
                let plain = items.iter().all(|item| matches!(item.kind, Kind::Number(_) | Kind::Null));
                if plain && items.len() > ONE_BY_ONE {
                    self.list(name, at);
                    return;
                }
                for (place, inner) in at.items().into_iter().flatten().enumerate() {
                    self.numbers_as(&format!("{name}.{place}"), unit, &inner, why);
                }
            }
            _ => {}
        }
    }

    /// A list of values that is not one of our metrics.
    pub fn list(&mut self, name: &str, at: &At<'_>) {
        match values(at) {
            Ok(values) if !values.is_empty() => self.named_list(name, values),
            Ok(_) => {}
            Err(error) => self.left_out.push(error),
        }
    }

    /// The same, with the values available.
    pub fn named_list(&mut self, name: &str, values: Vec<f64>) {
        self.lists.push(List { part: self.partial.part.clone(), name: name.to_owned(), values });
    }

    /// A list of values of one metric, each times `factor`. `computed` says that the metric is computed from them.
    pub fn series(&mut self, metric: &str, at: &At<'_>, factor: f64, computed: bool) {
        match values(at) {
            Ok(mut values) if !values.is_empty() => {
                values.iter_mut().for_each(|value| *value *= factor);
                let rule = if computed { self.derived } else { self.rule };
                let origin = self.origin(at, rule);
                self.partial.series.push(Series { metric: metric.to_owned(), values, origin });
            }
            Ok(_) => {}
            Err(error) => self.left_out.push(error),
        }
    }

    /// A series with its values available, which are at `at`.
    pub fn named_series(&mut self, metric: &str, values: Vec<f64>, at: &At<'_>) {
        let origin = self.origin(at, self.rule);
        self.partial.series.push(Series { metric: metric.to_owned(), values, origin });
    }

    /// Takes the settings at or below a place under `name`. See the module for what is taken.
    pub fn settings(&mut self, name: &str, at: &At<'_>) {
        let lower = name.to_ascii_lowercase();
        let last = lower.rsplit('.').find(|part| part.parse::<u32>().is_err()).unwrap_or_default();
        if PRIVATE.iter().any(|part| lower.contains(part)) || self.partial.setup.more.len() >= SETTINGS {
            return;
        }
        let word = match &at.node.kind {
            Kind::Null | Kind::Packed(_) => return,
            Kind::Bool(value) => value.to_string(),
            Kind::Number(digits) => (*digits).to_owned(),
            Kind::Text(text) if is_tellable(text) && !UNTOLD.iter().any(|part| hides(last, part)) => text.to_string(),
            Kind::Text(_) => return,
            Kind::Map(_) => {
                for (key, inner) in at.entries().into_iter().flatten() {
                    self.settings(&join(name, &slug_key(key)), &inner);
                }
                return;
            }
            Kind::List(items) => {
                // A list of two, the first a word, is a name and its value.
                if let [first, second] = items.as_slice()
                    && let Kind::Text(key) = &first.kind
                    && matches!(second.kind, Kind::Bool(_) | Kind::Number(_))
                {
                    if let Some(inner) = at.items().into_iter().flatten().nth(1) {
                        let parent = name.rsplit_once('.').map_or(name, |(parent, _)| parent);
                        self.settings(&join(parent, &slug_key(key)), &inner);
                    }
                    return;
                }
                if items.len() <= ONE_BY_ONE {
                    for (place, inner) in at.items().into_iter().flatten().enumerate() {
                        self.settings(&join(name, &place.to_string()), &inner);
                    }
                }
                return;
            }
        };
        self.partial.setup.more.entry(name.to_owned()).or_insert(word);
    }

    /// Something a reader should know.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds the partial run and everything said of it.
    pub fn finish(self, parsed: &mut Parsed) {
        parsed.left_out.extend(self.left_out);
        for note in self.notes {
            if !parsed.notes.contains(&note) {
                parsed.notes.push(note);
            }
        }
        parsed.lists.extend(self.lists);
        parsed.records.push(Record::Run(Box::new(self.partial)));
    }
}

/// The numbers of a list, missing as NaN.
pub(super) fn values(at: &At<'_>) -> Result<Vec<f64>, Error> {
    at.items()?.map(|item| item.figure().map(|figure| figure.value)).collect()
}

/// The value at the end of a path.
pub(super) fn find<'a>(at: &'a At<'a>, path: &[&'a str], then: &mut dyn FnMut(&At<'_>)) -> bool {
    match path.split_first() {
        None => {
            then(at);
            true
        }
        Some((name, rest)) => at.get(name).is_some_and(|inner| find(&inner, rest, then)),
    }
}

/// A finite number at the end of a path.
pub(super) fn number_at(at: &At<'_>, path: &[&str]) -> Option<f64> {
    let mut found = None;
    find(at, path, &mut |at| found = at.figure().ok().and_then(super::Figure::finite));
    found
}

/// A word at the end of a path that is not empty. Of a list, the first.
pub(super) fn text_at(at: &At<'_>, path: &[&str]) -> Option<String> {
    let mut found = None;
    find(at, path, &mut |at| {
        let first = at.items().ok().and_then(|mut items| items.next().and_then(|item| owned(&item)));
        found = owned(at).or(first);
    });
    found.filter(|text| !text.trim().is_empty())
}

fn owned(at: &At<'_>) -> Option<String> {
    at.text().ok().flatten().map(str::to_owned)
}

/// The last part of a model's id. Nothing of a folder's path but its last part.
pub(super) fn short_model(id: &str) -> String {
    let id = id.trim().trim_end_matches(['/', '\\']);
    id.rsplit(['/', '\\']).next().unwrap_or(id).to_owned()
}

/// A model's id where it is one, and of a path on some machine only its last part.
pub(super) fn model_id(id: &str) -> String {
    let id = id.trim();
    let is_path = id.starts_with(['/', '.', '~']) || id.contains(['\\', ':']) || id.matches('/').count() > 1;
    if is_path { short_model(id) } else { id.to_owned() }
}

/// `random-1024-128-c32`: the known settings that distinguish cells. `None` without any.
pub(super) fn cell(data: Option<&str>, isl: Option<f64>, osl: Option<f64>, load: Option<String>) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(data.map(super::slug));
    match (isl, osl) {
        (Some(isl), Some(osl)) => parts.push(format!("{}-{}", short(isl), short(osl))),
        (Some(isl), None) => parts.push(format!("isl{}", short(isl))),
        (None, Some(osl)) => parts.push(format!("osl{}", short(osl))),
        (None, None) => {}
    }
    parts.extend(load);
    (!parts.is_empty()).then(|| parts.join("-"))
}

/// `c32` of a limit of concurrency, `r4` or `r1.55` of a rate.
pub(super) fn load(concurrency: Option<f64>, rate: Option<f64>) -> Option<String> {
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0).map(|rate| format!("r{}", short(rate)));
    let concurrency = concurrency.filter(|n| *n > 0.0).map(|n| format!("c{}", short(n)));
    match (rate, concurrency) {
        (Some(rate), Some(limit)) => Some(format!("{rate}-{limit}")),
        (rate, limit) => rate.or(limit),
    }
}

/// At most two digits behind the point, and none that say nothing.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn join(name: &str, key: &str) -> String {
    if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") }
}

/// A key as part of a name: short, and nothing that could be an address.
fn slug_key(key: &str) -> String {
    const LONGEST: usize = 60;
    key.chars().take(LONGEST).map(|c| if c.is_alphanumeric() || "_-+%".contains(c) { c } else { '_' }).collect()
}

/// The part of a name: whole words for short ones, so that `monkey` is no key.
fn hides(name: &str, part: &str) -> bool {
    if name.contains("tokenizer") {
        return false;
    }
    if part.len() <= 4 {
        name.split(['_', '-']).any(|word| word.trim_end_matches('s') == part)
    } else {
        name.contains(part)
    }
}

/// An informative word without private content: short, and no path, address or text.
fn is_tellable(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= LONGEST_WORD
        && !text.starts_with(['/', '.', '~'])
        && text.matches(' ').count() <= 3
        && text.matches('/').count() <= 1
        && text.chars().all(|c| c.is_alphanumeric() || " _-+./,=%".contains(c))
        && !["hf_", "sk-", "nvapi-"].iter().any(|start| text.starts_with(start))
}

/// The unit that a name ends in.
fn unit_of(name: &str) -> &'static str {
    const ENDINGS: &[(&str, &str)] = &[("_ms", "ms"), ("_ns", "ns"), ("_seconds", "s"), ("_sec", "s"), ("_pct", "%")];
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    #[test]
    fn settings_give_nobody_away() {
        let text = r#"{"model": "org/m", "url": "http://10.0.0.1:80", "api_key": 5, "target": "box", "stream": true,
            "extra": [["min_tokens", 200], ["api_key", 7]], "cli_command": "x --key 1", "rate": 1.50, "mode": "constant",
            "tokenizer": {"model": "/home/me/tok", "kind": "auto"}, "deep": {"max_tokens": 3}, "note": "a b c d e f g"}"#;
        let node = json::parse(text).unwrap();
        let mut input: &[u8] = b"";
        let file = SourceFile::new("f", 0, &mut input);
        let mut fill = Fill::new(&file, "r", "r.derived");
        fill.settings("", &At::root(&node));
        let known: Vec<String> =
            fill.partial.setup.more.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            known,
            [
                "deep.max_tokens=3",
                "extra.min_tokens=200",
                "mode=constant",
                "model=org/m",
                "rate=1.50",
                "stream=true",
                "tokenizer.kind=auto"
            ]
        );
    }

    #[test]
    fn a_path_is_no_model_id() {
        for (id, model, full) in [
            ("Qwen/Qwen3-0.6B", "Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
            ("/models/me/llama/", "llama", "llama"),
            ("C:\\models\\m.gguf", "m.gguf", "m.gguf"),
            ("m", "m", "m"),
        ] {
            assert_eq!((short_model(id).as_str(), model_id(id).as_str()), (model, full));
        }
    }

    #[test]
    fn cells_are_named_by_what_tells_them_apart() {
        assert_eq!(
            cell(Some("random"), Some(1024.0), Some(128.0), load(Some(32.0), None)).unwrap(),
            "random-1024-128-c32"
        );
        assert_eq!(cell(None, None, None, load(None, Some(1.5481))).unwrap(), "r1.55");
        assert_eq!(cell(None, None, None, load(None, Some(f64::INFINITY))), None);
    }
}
