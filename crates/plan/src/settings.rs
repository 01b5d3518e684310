//! A table of the suite as typed, with the line of every key. The owner of the keys reads it.
//!
//! In:  a TOML table with spans.  Out: [`Settings`], and a [`Reader`] that takes keys by name and type.
//! Not here: which keys there are.
//!
//! An unread key is a fault, so that a typing error is never silently ignored.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Fault, Faults};
use sparkbench_text::nearest::did_you_mean;

/// A value with the line it is on.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// From 1.
    pub line: usize,
    /// Without spans. Nested tables are read with [`Reader::table`].
    pub value: Value,
}

/// Content of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    /// A whole number.
    Whole(i64),
    /// Any number with a point.
    Number(f64),
    /// `true` or `false`.
    Switch(bool),
    List(Vec<Entry>),
    Table(Settings),
}

impl Value {
    /// The same as JSON: what is sent to a server as it stands.
    pub fn json(&self) -> Json {
        match self {
            Self::Text(text) => Json::from(text.clone()),
            Self::Whole(number) => Json::from(*number),
            Self::Number(number) => Json::from(*number),
            Self::Switch(switch) => Json::from(*switch),
            Self::List(items) => items.iter().map(|item| item.value.json()).collect(),
            Self::Table(table) => {
                table.entries.iter().map(|(name, entry)| (name.clone(), entry.value.json())).collect()
            }
        }
    }

    /// The number, of either kind and finite.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Number(number) if number.is_finite() => Some(*number),
            _ => None,
        }
    }

    /// Its type, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Whole(_) => "a whole number",
            Self::Number(number) if number.is_finite() => "a number",
            Self::Number(_) => "a number without end",
            Self::Switch(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// One table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    /// Path of the table, e.g. `environments.docker`. Empty for the whole file.
    pub path: String,
    /// Line on which it begins.
    pub line: usize,
    /// Its keys.
    pub entries: BTreeMap<String, Entry>,
}

impl Settings {
    /// Converts a parsed table. `text` is the file, for the lines. Dates become text.
    pub fn from_toml(path: &str, line: usize, table: &DeTable<'_>, text: &str) -> Self {
        let mut entries = BTreeMap::new();
        for (key, value) in table {
            let name = key.get_ref().to_string();
            let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let line = line_of(text, key.span().start);
            entries.insert(name, Entry { line, value: convert(&below, value, text) });
        }
        Self { path: path.to_owned(), line, entries }
    }

    /// Line of a key of a table below.
    pub fn line_below(&self, table: &str, key: &str) -> Option<usize> {
        match &self.entries.get(table)?.value {
            Value::Table(below) => below.entries.get(key).map(|entry| entry.line),
            _ => None,
        }
    }

    /// Begins to take keys. [`Reader::finish`] must follow.
    pub fn reader<'a>(&'a self, faults: &'a mut Faults) -> Reader<'a> {
        Reader { settings: self, faults, asked: BTreeSet::new() }
    }
}

/// Line of a byte offset, from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

fn convert(path: &str, value: &Spanned<DeValue<'_>>, text: &str) -> Value {
    let line = line_of(text, value.span().start);
    match value.get_ref() {
        DeValue::String(words) => Value::Text(words.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::Text(number.to_string()), Value::Whole),
        DeValue::Float(number) => {
            number.as_str().parse().map_or_else(|_| Value::Text(number.to_string()), Value::Number)
        }
        DeValue::Boolean(switch) => Value::Switch(*switch),
        DeValue::Datetime(moment) => Value::Text(moment.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .enumerate()
                .map(|(at, item)| Entry {
                    line: line_of(text, item.span().start),
                    value: convert(&format!("{path}[{at}]"), item, text),
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(Settings::from_toml(path, line, table, text)),
    }
}

/// Takes keys from a table. What does not fit goes to the faults, and reading goes on.
pub struct Reader<'a> {
    settings: &'a Settings,
    faults: &'a mut Faults,
    asked: BTreeSet<&'static str>,
}

impl<'a> Reader<'a> {
    /// Adds a fault of the caller's about a key. The line is that of the key, else of the table.
    pub fn fault(&mut self, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
        let line = self.settings.entries.get(key).map_or(self.settings.line, |entry| entry.line);
        self.faults.add(Some(line), self.full(key), what, remedy);
    }

    /// A remark in the form of a fault. Added to no list.
    pub fn warning(&self, key: &str, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        let line = self.settings.entries.get(key).map_or(self.settings.line, |entry| entry.line);
        Fault { line: Some(line), key: self.full(key), what: what.into(), remedy: remedy.into() }
    }

    /// True when the key exists, with any value. Counts as read.
    pub fn has(&mut self, key: &'static str) -> bool {
        self.take(key).is_some()
    }

    /// True when the key holds a list, for keys that take a word or a list. Counts as asked for.
    pub fn is_list(&mut self, key: &'static str) -> bool {
        self.take(key).is_some_and(|entry| matches!(entry.value, Value::List(_)))
    }

    /// Text, if there.
    pub fn text(&mut self, key: &'static str) -> Option<String> {
        let entry = self.take(key)?;
        match &entry.value {
            Value::Text(text) => Some(text.clone()),
            other => self.wrong(key, "text", other),
        }
    }

    /// Text, or a number as written, or a list of either as a text with commas. It serves keys that take `128` as well as `"100-200"`, and
    /// `[1, 2, 4]` as well as `"1..128"`.
    pub fn words(&mut self, key: &'static str) -> Option<String> {
        let entry = self.take(key)?;
        let one = |value: &Value| match value {
            Value::Text(text) => Some(text.clone()),
            Value::Whole(number) => Some(number.to_string()),
            Value::Number(number) if number.is_finite() => Some(number.to_string()),
            _ => None,
        };
        let words = match &entry.value {
            Value::List(items) => items.iter().map(|item| one(&item.value)).collect::<Option<Vec<_>>>(),
            other => one(other).map(|word| vec![word]),
        };
        match words {
            Some(words) => Some(words.join(",")),
            None => self.wrong(key, "a text, a number or a list of them", &entry.value),
        }
    }

    /// Text that must be there and not empty.
    pub fn required_text(&mut self, key: &'static str, remedy: &str) -> Option<String> {
        if self.take(key).is_none() {
            self.fault(key, "is missing", remedy);
            return None;
        }
        let text = self.text(key)?;
        if text.trim().is_empty() {
            self.fault(key, "is empty", remedy);
            return None;
        }
        Some(text)
    }

    /// A finite number of either kind.
    pub fn number(&mut self, key: &'static str) -> Option<f64> {
        let entry = self.take(key)?;
        match &entry.value {
            Value::Whole(number) => Some(*number as f64),
            Value::Number(number) if number.is_finite() => Some(*number),
            other => self.wrong(key, "a number", other),
        }
    }

    /// A number within a range, both ends allowed.
    pub fn number_within(&mut self, key: &'static str, low: f64, high: f64) -> Option<f64> {
        let number = self.number(key)?;
        if (low..=high).contains(&number) {
            return Some(number);
        }
        let remedy = if high.is_finite() {
            format!("give a number from {low} to {high}")
        } else {
            format!("give a number of at least {low}")
        };
        self.fault(key, format!("is {number}"), remedy);
        None
    }

    /// A number within a range, or `false` for "no such limit". Outer absence: not given, or a fault.
    pub fn number_or_off(&mut self, key: &'static str, low: f64, high: f64) -> Option<Option<f64>> {
        match &self.take(key)?.value {
            Value::Switch(false) => Some(None),
            Value::Switch(true) => {
                self.fault(key, "is true, which is not a limit", "give a number, or false to turn it off");
                None
            }
            Value::Whole(_) | Value::Number(_) => self.number_within(key, low, high).map(Some),
            other => self.wrong(key, "a number, or false to turn it off", other),
        }
    }

    /// A whole number within a range, both ends allowed.
    pub fn whole_within(&mut self, key: &'static str, low: i64, high: i64) -> Option<i64> {
        let entry = self.take(key)?;
        match &entry.value {
            Value::Whole(number) if (low..=high).contains(number) => Some(*number),
            Value::Whole(number) => {
                let what = format!("is {number}");
                self.fault(key, what, format!("give a whole number from {low} to {high}"));
                None
            }
            other => self.wrong(key, "a whole number", other),
        }
    }

    /// `true` or `false`.
    pub fn switch(&mut self, key: &'static str) -> Option<bool> {
        let entry = self.take(key)?;
        match &entry.value {
            Value::Switch(switch) => Some(*switch),
            other => self.wrong(key, "true or false", other),
        }
    }

    /// One word of a list of known ones.
    pub fn choice(&mut self, key: &'static str, known: &[&str]) -> Option<String> {
        let word = self.text(key)?;
        if known.contains(&word.as_str()) {
            return Some(word);
        }
        let remedy = format!("{}one of: {}", did_you_mean(&word, known.iter().copied()), known.join(", "));
        self.fault(key, format!("is \"{word}\""), remedy);
        None
    }

    /// A list of texts. Absent is an empty list.
    pub fn texts(&mut self, key: &'static str) -> Vec<String> {
        let Some(entry) = self.take(key) else { return Vec::new() };
        let Value::List(items) = &entry.value else {
            self.wrong::<()>(key, "a list of texts", &entry.value);
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match &item.value {
                Value::Text(text) => texts.push(text.clone()),
                other => self.faults.add(
                    Some(item.line),
                    self.full(key),
                    format!("holds {}", other.kind()),
                    "put each entry in quotes",
                ),
            }
        }
        texts
    }

    /// A list of numbers. Absent is an empty list.
    pub fn numbers(&mut self, key: &'static str) -> Vec<f64> {
        let Some(entry) = self.take(key) else { return Vec::new() };
        let Value::List(items) = &entry.value else {
            self.wrong::<()>(key, "a list of numbers", &entry.value);
            return Vec::new();
        };
        let mut numbers = Vec::new();
        for item in items {
            match &item.value {
                Value::Whole(number) => numbers.push(*number as f64),
                Value::Number(number) if number.is_finite() => numbers.push(*number),
                other => {
                    self.faults.add(
                        Some(item.line),
                        self.full(key),
                        format!("holds {}", other.kind()),
                        "give numbers only",
                    );
                }
            }
        }
        numbers
    }

    /// A table of texts. Numbers and switches are taken as they are written. Absent is an empty table.
    pub fn text_table(&mut self, key: &'static str) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        let Some(table) = self.table(key) else { return texts };
        for (name, entry) in &table.entries {
            let text = match &entry.value {
                Value::Text(text) => text.clone(),
                Value::Whole(number) => number.to_string(),
                Value::Number(number) => number.to_string(),
                Value::Switch(switch) => switch.to_string(),
                other => {
                    let what = format!("holds {}", other.kind());
                    self.faults.add(Some(entry.line), format!("{}.{name}", self.full(key)), what, "give a text");
                    continue;
                }
            };
            texts.insert(name.clone(), text);
        }
        texts
    }

    /// A table below, to be read with a reader of its own.
    pub fn table(&mut self, key: &'static str) -> Option<&'a Settings> {
        let entry = self.take(key)?;
        match &entry.value {
            Value::Table(table) => Some(table),
            other => self.wrong(key, "a table", other),
        }
    }

    /// A list of tables (`[[key]]`). Absent is an empty list.
    pub fn tables(&mut self, key: &'static str) -> Vec<&'a Settings> {
        let Some(entry) = self.take(key) else { return Vec::new() };
        let Value::List(items) = &entry.value else {
            self.wrong::<()>(key, "a list of tables", &entry.value);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for item in items {
            match &item.value {
                Value::Table(table) => tables.push(table),
                other => {
                    let what = format!("holds {}", other.kind());
                    self.faults.add(
                        Some(item.line),
                        self.full(key),
                        what,
                        format!("write [[{}]] above it", self.full(key)),
                    );
                }
            }
        }
        tables
    }

    /// Begins to take the keys of a table below, with the same faults. [`Reader::finish`] must follow.
    pub fn below<'b>(&'b mut self, table: &'b Settings) -> Reader<'b> {
        Reader { settings: table, faults: self.faults, asked: BTreeSet::new() }
    }

    /// Counts the keys as known, although they are not read here.
    pub fn ignore(&mut self, keys: &[&'static str]) {
        self.asked.extend(keys);
    }

    /// Every unread key is a fault.
    pub fn finish(self) {
        for (key, entry) in &self.settings.entries {
            if !self.asked.contains(key.as_str()) {
                let known: Vec<&str> = self.asked.iter().copied().collect();
                // The list is long, and of no use beside the word that was meant.
                let near = did_you_mean(key, known.iter().copied());
                let remedy = if near.is_empty() {
                    format!("known here: {}", known.join(", "))
                } else {
                    near.trim_end().to_owned()
                };
                self.faults.add(Some(entry.line), self.full(key), "is not a key of this table", remedy);
            }
        }
    }

    fn take(&mut self, key: &'static str) -> Option<&'a Entry> {
        self.asked.insert(key);
        self.settings.entries.get(key)
    }

    fn full(&self, key: &str) -> String {
        if self.settings.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.settings.path) }
    }

    fn wrong<T>(&mut self, key: &str, expected: &str, found: &Value) -> Option<T> {
        self.fault(key, format!("holds {}", found.kind()), format!("give {expected}"));
        None
    }
}
